//! Curves: strands of hair, fur and grass, swept by a width that varies linearly.
//!
//! As in pbrt-v4, a curve is a chain of Bézier segments or a uniform B-spline, and a ray test
//! projects the control points of a segment to the plane perpendicular to the ray, and subdivides
//! them until they are nearly straight (Nakamaru and Ohno 2002, *Ray Tracing for Curves
//! Primitive*). Where pbrt-v4 interpolates between the ends of the last subdivision, the parameter
//! of the hit is a root, found by bracketing, so that the surface at the hit can be computed again
//! from its coordinates. Arithmetic is in double precision.
//!
//! An element is a piece of a segment, one of 2^`splitdepth`. Long thin pieces would have loose
//! bounding boxes. Control points are stored once per curve, and pieces are not stored at all.

mod bezier;
mod ray_test;

use self::bezier::Bezier;
use self::ray_test::{CurveTest, RayFrame, RibbonNormals};
use super::quadric::ObjectTransform;
use super::{ShapeHit, ShapePoint};
use glam::DVec3;
use lightbound_math::{Aabb, Ray, Transform, Vec2, Vec3};

/// The cross section of curves; pbrt's parameter `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveKind {
    /// A strip that faces each ray.
    Flat,
    /// A strip that faces each ray, with normals that vary across its width like those of a
    /// cylinder.
    Cylinder,
    /// A strip with an orientation that is interpolated between normals.
    Ribbon,
}

/// The basis of control points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveBasis {
    /// Bézier segments that share end points.
    Bezier,
    /// A uniform B-spline.
    BSpline,
}

/// What the curves of a shape have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurveStyle {
    /// Cross section.
    pub kind: CurveKind,
    /// Basis of the control points.
    pub basis: CurveBasis,
    /// Degree of the polynomials, 2 or 3.
    pub degree: u32,
    /// Binary logarithm of the number of elements per segment, at most [`MAX_SPLIT_DEPTH`].
    pub split_depth: u32,
}

/// Maximum of [`CurveStyle::split_depth`].
pub const MAX_SPLIT_DEPTH: u32 = 10;

/// Curves of the same style.
///
/// Surface coordinates are those of pbrt-v4: u goes from 0 to 1 along each segment, v across the
/// width, in the direction ∂p/∂u × n. The position at v is on the strip, also for
/// [`CurveKind::Cylinder`].
#[derive(Clone, Debug)]
pub struct Curves {
    style: CurveStyle,
    /// A transform that distorts or reflects the curves; see [`Curves::transformed`].
    transform: Option<Box<ObjectTransform>>,
    /// Control points of all curves.
    points: Vec<Vec3>,
    segments: Vec<Segment>,
    /// Unit normals at the ends of each segment of a ribbon; empty for other curves.
    normals: Vec<[Vec3; 2]>,
}

/// A segment of a curve.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Index of the first control point.
    first_point: u32,
    /// Widths at both ends.
    widths: [f32; 2],
}

/// Why a curve is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CurveError {
    /// The number of control points does not fit the basis.
    #[error("this curve has {count} control points, but {expected}")]
    Points {
        /// The number of points.
        count: usize,
        /// Description of valid numbers.
        expected: String,
    },
    /// A ribbon has a wrong number of normals.
    #[error(
        "this curve has {count} normals, but a ribbon of {segments} segment(s) has {}",
        segments + 1
    )]
    Normals {
        /// The number of normals.
        count: usize,
        /// The number of segments.
        segments: usize,
    },
    /// A normal of a ribbon has no direction.
    #[error("a normal of this ribbon is zero")]
    ZeroNormal,
    /// A width is negative or not finite.
    #[error("the width of this curve is {0}, expected a finite number of at least 0")]
    Width(f32),
    /// There are more elements than an index can count.
    #[error("there are more than 2³¹ pieces of curves in one shape")]
    TooMany,
}

impl CurveStyle {
    /// Returns the number of segments of a curve with `points` control points.
    ///
    /// # Errors
    /// If the basis does not allow that number.
    pub fn segment_count(&self, points: usize) -> Result<usize, CurveError> {
        let degree = self.degree as usize;
        let (is_valid, segments, rule) = match self.basis {
            CurveBasis::Bezier => (
                points > degree && (points - 1).is_multiple_of(degree),
                points.saturating_sub(1) / degree,
                format!("Bézier curves of degree {degree} have {} + {degree} n", degree + 1),
            ),
            CurveBasis::BSpline => (
                points > degree,
                points.saturating_sub(degree),
                format!("B-splines of degree {degree} have {} or more", degree + 1),
            ),
        };
        match is_valid {
            true => Ok(segments),
            false => Err(CurveError::Points { count: points, expected: rule }),
        }
    }
}

impl Curves {
    /// Creates a shape without curves.
    ///
    /// # Panics
    /// If the degree is neither 2 nor 3, or the split depth exceeds [`MAX_SPLIT_DEPTH`].
    pub fn new(style: CurveStyle) -> Curves {
        assert!((2..=3).contains(&style.degree) && style.split_depth <= MAX_SPLIT_DEPTH);
        let (points, segments, normals) = (Vec::new(), Vec::new(), Vec::new());
        Curves { style, transform: None, points, segments, normals }
    }

    /// Reserves memory for curves with this number of control points and segments in total.
    pub fn reserve(&mut self, points: usize, segments: usize) {
        self.points.reserve_exact(points);
        self.segments.reserve_exact(segments);
        if self.style.kind == CurveKind::Ribbon {
            self.normals.reserve_exact(segments);
        }
    }

    /// Adds a curve with widths at its start and end. `normals` are those of a ribbon at the ends
    /// of its segments; other curves ignore them.
    ///
    /// # Errors
    /// If the numbers of points or normals do not fit, or a width is negative; nothing is added.
    pub fn add(
        &mut self,
        points: &[Vec3],
        normals: &[Vec3],
        widths: [f32; 2],
    ) -> Result<(), CurveError> {
        let count = self.style.segment_count(points.len())?;
        let is_valid = |w: f32| w >= 0.0 && w.is_finite();
        if let Some(&width) = widths.iter().find(|&&w| !is_valid(w)) {
            return Err(CurveError::Width(width));
        }
        let is_ribbon = self.style.kind == CurveKind::Ribbon;
        if is_ribbon && normals.len() != count + 1 {
            return Err(CurveError::Normals { count: normals.len(), segments: count });
        }
        if is_ribbon && normals.iter().any(|n| n.try_normalize().is_none()) {
            return Err(CurveError::ZeroNormal);
        }
        let elements = (self.segments.len() + count) as u64 * u64::from(self.pieces());
        if elements > 1 << 31 || self.points.len() + points.len() > u32::MAX as usize {
            return Err(CurveError::TooMany);
        }
        let step = match self.style.basis {
            CurveBasis::Bezier => self.style.degree,
            CurveBasis::BSpline => 1,
        };
        let first = self.points.len() as u32;
        let width = |k: u32| {
            let [from, to] = widths.map(f64::from);
            (from + (to - from) * f64::from(k) / count as f64) as f32
        };
        self.segments.extend(
            (0..count as u32).map(|k| Segment {
                first_point: first + k * step,
                widths: [width(k), width(k + 1)],
            }),
        );
        self.points.extend(points);
        if is_ribbon {
            self.normals.extend(normals.windows(2).map(|n| [n[0].normalize(), n[1].normalize()]));
        }
        Ok(())
    }

    /// Transforms the curves. Rotations, translations and uniform scales are applied to control
    /// points and widths. Other transforms distort the cross section, and reflections reverse v;
    /// these are kept.
    pub fn transformed(mut self, transform: &Transform) -> Curves {
        let map = match &self.transform {
            Some(own) => own.followed_by(transform),
            None => ObjectTransform::new(transform),
        };
        match map.uniform_scale() {
            Some(scale) if self.transform.is_none() && !transform.swaps_handedness() => {
                for p in &mut self.points {
                    *p = map.point(p.as_dvec3());
                }
                for w in self.segments.iter_mut().flat_map(|segment| &mut segment.widths) {
                    *w = (scale * f64::from(*w)) as f32;
                }
                for n in self.normals.as_flattened_mut() {
                    *n = map.normal(n.as_dvec3());
                }
            }
            _ => self.transform = Some(Box::new(map)),
        }
        self
    }

    /// Returns the number of elements per segment.
    fn pieces(&self) -> u32 {
        1 << self.style.split_depth
    }

    pub(super) fn len(&self) -> u32 {
        (self.segments.len() as u32) << self.style.split_depth
    }

    /// Returns the number of segments.
    pub fn segment_count(&self) -> usize {
        self.segments.len()
    }

    /// Returns the segment of an element, and the range of its u.
    fn piece(&self, element: u32) -> (usize, [f64; 2]) {
        let (segment, piece) = (element >> self.style.split_depth, element & (self.pieces() - 1));
        let u = |k: u32| f64::from(k) / f64::from(self.pieces());
        (segment as usize, [u(piece), u(piece + 1)])
    }

    /// Returns the control points of the cubic Bézier curve of a segment.
    fn control_points(&self, segment: usize) -> Bezier {
        let first = self.segments[segment].first_point as usize;
        let p = |k: usize| self.points[first + k].as_dvec3();
        let elevate =
            |a: DVec3, b: DVec3, c: DVec3| [a, (a + 2.0 * b) / 3.0, (2.0 * b + c) / 3.0, c];
        Bezier(match (self.style.basis, self.style.degree) {
            (CurveBasis::Bezier, 2) => elevate(p(0), p(1), p(2)),
            (CurveBasis::Bezier, _) => [p(0), p(1), p(2), p(3)],
            (CurveBasis::BSpline, 2) => elevate(0.5 * (p(0) + p(1)), p(1), 0.5 * (p(1) + p(2))),
            (CurveBasis::BSpline, _) => [
                (p(0) + 4.0 * p(1) + p(2)) / 6.0,
                (2.0 * p(1) + p(2)) / 3.0,
                (p(1) + 2.0 * p(2)) / 3.0,
                (p(1) + 4.0 * p(2) + p(3)) / 6.0,
            ],
        })
    }

    /// Returns the width of a segment at u.
    fn width(&self, segment: usize, u: f64) -> f64 {
        let [from, to] = self.segments[segment].widths.map(f64::from);
        from + (to - from) * u
    }

    /// Returns the normals of a segment; `None` unless the curves are ribbons.
    fn ribbon_normals(&self, segment: usize) -> Option<RibbonNormals> {
        self.normals.get(segment).map(|n| RibbonNormals::new(n.map(|n| n.as_dvec3())))
    }

    /// Returns the bounding box of an element.
    pub(super) fn aabb(&self, element: u32) -> Aabb {
        let (segment, [u0, u1]) = self.piece(element);
        let [min, max] = self.control_points(segment).piece(u0, u1).bounds();
        let half = 0.5 * self.width(segment, u0).max(self.width(segment, u1));
        let (min, max) = (min - half, max + half);
        match &self.transform {
            Some(map) => map.aabb(min, max, None),
            None => {
                let pad = 4.0 * f64::from(f32::EPSILON) * min.abs().max(max.abs()).max_element();
                Aabb { min: (min - pad).as_vec3(), max: (max + pad).as_vec3() }
            }
        }
    }

    /// Returns the approximate area of an element, as pbrt-v4 does: the length of the control
    /// polygon times the mean width.
    pub(super) fn area(&self, element: u32) -> f32 {
        let (segment, [u0, u1]) = self.piece(element);
        let Bezier(p) = self.control_points(segment).piece(u0, u1);
        let length: f64 = p.windows(2).map(|ends| ends[0].distance(ends[1])).sum();
        (length * 0.5 * (self.width(segment, u0) + self.width(segment, u1))) as f32
    }

    /// Returns the direction of a ray in the space of the control points.
    fn local_direction(&self, d: Vec3) -> DVec3 {
        match &self.transform {
            Some(map) => map.local_ray(&Ray::new(Vec3::ZERO, d)).1,
            None => d.as_dvec3(),
        }
    }

    pub(super) fn intersect(&self, element: u32, ray: &Ray) -> Option<ShapeHit> {
        let (o, d) = match &self.transform {
            Some(map) => map.local_ray(ray),
            None => (ray.o.as_dvec3(), ray.d.as_dvec3()),
        };
        let (segment, [u0, u1]) = self.piece(element);
        let curve = self.control_points(segment).piece(u0, u1);
        let length = d.length();
        let frame = RayFrame::new(o, d / length, curve.0[3] - curve.0[0]);
        let curve = Bezier(curve.0.map(|p| frame.point(p)));
        let normals = self.ribbon_normals(segment);
        let mut test = CurveTest {
            widths: [0.0, 1.0].map(|u| self.width(segment, u)),
            normals: normals.map(|normals| normals.map(|n| frame.vector(n))),
            length,
            ray,
            nearest: None,
        };
        if test.enters(&curve, u0, u1) {
            let max_width = self.width(segment, u0).max(self.width(segment, u1));
            let depth = curve.refinement_depth(max_width);
            // Parts of ribbons must also be nearly flat, so that they meet a ray only once.
            let min_depth = match self.style.kind {
                CurveKind::Ribbon => RIBBON_DEPTH.saturating_sub(self.style.split_depth),
                _ => 0,
            };
            test.recurse(&curve, [u0, u1], depth.max(min_depth));
        }
        test.nearest
    }

    /// Returns the surface at surface coordinates, for a ray of direction `d`, which flat curves
    /// face.
    pub(super) fn point(&self, element: u32, u: f32, v: f32, d: Vec3) -> ShapePoint {
        let (segment, _) = self.piece(element);
        let (u, v) = (f64::from(u), f64::from(v));
        let (center, dpdu) = self.control_points(segment).evaluate(u);
        let width = self.width(segment, u);
        let across = match self.ribbon_normals(segment) {
            Some(normals) => dpdu.cross(normals.at(u)),
            None => self.local_direction(d).cross(dpdu),
        };
        let across = across.try_normalize().unwrap_or_else(|| dpdu.any_orthogonal_vector());
        let facing = across.cross(dpdu).try_normalize().unwrap_or(DVec3::Z);
        let (n, clearance) = match self.style.kind {
            // Rays that leave a flat curve must not meet it again, however it turns to face them.
            CurveKind::Flat => (facing, width),
            CurveKind::Cylinder => {
                let (sin, cos) = libm::sincos((v - 0.5) * std::f64::consts::PI);
                (cos * facing + sin * across, width)
            }
            CurveKind::Ribbon => (facing, 0.0),
        };
        let p = center + (v - 0.5) * width * across;
        let (p, n, dpdu, clearance) = match &self.transform {
            Some(map) => {
                (map.point(p), map.normal(n), map.vector(dpdu), map.vector(clearance * n).length())
            }
            None => (p.as_vec3(), n.as_vec3(), dpdu.as_vec3(), clearance as f32),
        };
        ShapePoint {
            p,
            ng: n,
            ns: n,
            uv: Vec2::new(u as f32, v as f32),
            dpdu,
            magnitude: p.abs().max_element(),
            extent: 0.0,
            clearance,
        }
    }
}

/// Minimum number of subdivisions of a segment of a ribbon, including those of its elements.
const RIBBON_DEPTH: u32 = 5;

#[cfg(test)]
mod tests {
    use super::super::testing::skewed;
    use super::super::{Geometry, Hit, Mesh, Primitive, Shape};
    use super::*;
    use CurveBasis::{BSpline, Bezier as BezierBasis};
    use CurveKind::{Cylinder, Flat, Ribbon};
    use glam::{DAffine3, DQuat, dvec3};
    use lightbound_math::sampling::warp::uniform_sphere;
    use lightbound_math::sampling::{hash, unit_float};
    use lightbound_math::vec3;

    const KINDS: [CurveKind; 3] = [Flat, Cylinder, Ribbon];

    /// Seven control points, which fit every basis and degree.
    const POINTS: [Vec3; 7] = [
        vec3(-2.0, 0.0, 0.0),
        vec3(-1.0, 1.0, 0.3),
        vec3(-0.5, -1.0, 0.9),
        vec3(0.0, 0.0, 0.5),
        vec3(0.5, 1.0, 0.1),
        vec3(1.0, 0.8, -0.5),
        vec3(2.0, 0.0, 0.0),
    ];

    fn random(i: u32, k: u32) -> f32 {
        unit_float(hash(hash(31, i), k))
    }

    fn random_vector(i: u32, k: u32) -> Vec3 {
        2.0 * vec3(random(i, k), random(i, k + 1), random(i, k + 2)) - 1.0
    }

    fn style(kind: CurveKind, basis: CurveBasis, degree: u32, split_depth: u32) -> CurveStyle {
        CurveStyle { kind, basis, degree, split_depth }
    }

    /// Returns a curve through [`POINTS`]; a ribbon turns by 40° per segment.
    fn curves(style: CurveStyle, widths: [f32; 2]) -> Curves {
        let mut curves = Curves::new(style);
        let normals = normals(&style, &POINTS);
        curves.add(&POINTS, &normals, widths).unwrap();
        curves
    }

    fn normals(style: &CurveStyle, points: &[Vec3]) -> Vec<Vec3> {
        let count = style.segment_count(points.len()).unwrap();
        let normal = |k| vec3(0.0, libm::sinf(0.7 * k as f32), 3.0 * libm::cosf(0.7 * k as f32));
        (0..=count).map(normal).collect()
    }

    fn straight(kind: CurveKind, width: f32) -> Curves {
        let mut curves = Curves::new(style(kind, BezierBasis, 2, 1));
        let points = [-Vec3::X, Vec3::ZERO, Vec3::X];
        curves.add(&points, &[Vec3::Z, Vec3::Z], [width; 2]).unwrap();
        curves
    }

    /// Returns the nearest hit of all elements.
    fn nearest(curves: &Curves, ray: &Ray) -> Option<(u32, ShapeHit)> {
        let hits = (0..curves.len()).filter_map(|e| Some((e, curves.intersect(e, ray)?)));
        hits.min_by(|(_, a), (_, b)| a.t.total_cmp(&b.t))
    }

    /// Returns a ray towards the curves through [`POINTS`], transformed by `at`.
    fn random_ray(i: u32, at: &Transform) -> Ray {
        let (o, target) = (8.0 * random_vector(i, 0), random_vector(i, 3));
        let target = target * vec3(2.0, 0.8, 0.6);
        let (o, target) = (at.point(o), at.point(target));
        Ray::new(o, 0.4 * (target - o))
    }

    fn all_styles() -> impl Iterator<Item = CurveStyle> {
        KINDS.into_iter().flat_map(|kind| {
            [BezierBasis, BSpline].into_iter().flat_map(move |basis| {
                [2, 3].into_iter().map(move |degree| style(kind, basis, degree, 2))
            })
        })
    }

    fn rotation() -> Transform {
        let rotation = DQuat::from_euler(glam::EulerRot::XYZ, 0.3, 1.0, -0.4);
        let map = DAffine3::from_scale_rotation_translation(
            glam::DVec3::splat(3.0),
            rotation,
            dvec3(5.0, -7.0, 2.0),
        );
        Transform::new(map).unwrap()
    }

    #[test]
    fn hits_lie_on_rays_and_in_boxes() {
        for at in [Transform::IDENTITY, rotation(), skewed()] {
            for style in all_styles() {
                let curves = curves(style, [0.4, 0.1]).transformed(&at);
                let mut hits = 0;
                for i in 0..2000 {
                    let ray = random_ray(i, &at);
                    let Some((element, hit)) = nearest(&curves, &ray) else { continue };
                    hits += 1;
                    let point = curves.point(element, hit.u, hit.v, ray.d);
                    let error = point.p.distance(ray.at(hit.t));
                    assert!(error < 2e-5 * ray.o.length(), "{style:?}, ray {i}: {error}");
                    let bounds = curves.aabb(element);
                    assert!(bounds.min.cmple(point.p).all() && bounds.max.cmpge(point.p).all());
                    assert!((point.ng.length() - 1.0).abs() < 1e-5);
                    assert!(point.ng.dot(point.dpdu.normalize()).abs() < 1e-4, "{style:?}");
                    if style.kind != Ribbon {
                        assert!(point.ng.dot(ray.d) <= 1e-4, "{style:?} turns away");
                    }
                    // The segment starts at `tmin` and ends before `tmax`.
                    let after = Ray { tmin: hit.t.next_up(), ..ray };
                    assert!(nearest(&curves, &after).is_none_or(|(_, next)| next.t > hit.t));
                    assert_eq!(nearest(&curves, &Ray { tmin: hit.t, ..ray }).unwrap().1.t, hit.t);
                    assert_eq!(nearest(&curves, &Ray { tmax: hit.t, ..ray }), None);
                }
                assert!(hits > 50, "{style:?}: {hits}");
            }
        }
    }

    #[test]
    fn splitting_does_not_change_hits() {
        for base in all_styles() {
            let split = |split_depth| curves(CurveStyle { split_depth, ..base }, [0.2, 0.3]);
            let (whole, pieces) = (split(0), split(4));
            assert_eq!(16 * whole.len(), pieces.len());
            let mut differing = 0;
            for i in 0..3000 {
                let ray = random_ray(i, &Transform::IDENTITY);
                let (a, b) = (nearest(&whole, &ray), nearest(&pieces, &ray));
                let is_same = match (a, b) {
                    (None, None) => true,
                    (Some((a, x)), Some((b, y))) => {
                        (b >> 4 == a) && (x.t - y.t).abs() + (x.u - y.u).abs() < 1e-5
                    }
                    _ => false,
                };
                differing += u32::from(!is_same);
            }
            // Tight bends may have two nearest points, of which a test finds one.
            assert!(differing <= 6, "{base:?}: {differing}");
        }
    }

    #[test]
    fn pieces_have_tight_boxes() {
        let volume = |depth| -> f32 {
            let curves = curves(style(Flat, BezierBasis, 3, depth), [0.01; 2]);
            (0..curves.len())
                .map(|e| {
                    let b = curves.aabb(e);
                    (b.max - b.min).element_product()
                })
                .sum()
        };
        assert!(volume(3) < 0.05 * volume(0));
    }

    #[test]
    fn coordinates_are_those_of_pbrt() {
        let ray = Ray::new(vec3(0.5, 0.25, 3.0), -Vec3::Z);
        for kind in KINDS {
            let (element, hit) = nearest(&straight(kind, 1.0), &ray).unwrap();
            assert_eq!((element, hit.t, hit.u, hit.v), (1, 3.0, 0.75, 0.25), "{kind:?}");
            let at = straight(kind, 1.0).point(element, hit.u, hit.v, ray.d);
            let half = 0.5f32.sqrt();
            let n = if kind == Cylinder { vec3(0.0, half, half) } else { Vec3::Z };
            assert!((at.p - vec3(0.5, 0.25, 0.0)).length() < 1e-6);
            assert!((at.ng - n).length() < 1e-6 && (at.dpdu - 2.0 * Vec3::X).length() < 1e-6);
            // Ends are flat, and the width is that of the whole strip.
            for (x, y) in [(1.01, 0.0), (-1.01, 0.2), (0.0, 0.51), (0.3, -0.51)] {
                let ray = Ray { o: vec3(x, y, 3.0), ..ray };
                assert_eq!(nearest(&straight(kind, 1.0), &ray), None, "{kind:?} at {x}, {y}");
            }
        }
        // Flat curves face rays from all sides, ribbons do not.
        let side = Ray::new(vec3(0.5, 3.0, 0.25), -Vec3::Y);
        assert_eq!(nearest(&straight(Flat, 1.0), &side).unwrap().1.t, 3.0);
        assert_eq!(nearest(&straight(Ribbon, 1.0), &side), None);
        let oblique = Ray::new(vec3(0.5, 3.0, 3.0), vec3(0.0, -1.0, -1.0));
        assert!((nearest(&straight(Ribbon, 1.0), &oblique).unwrap().1.t - 3.0).abs() < 1e-6);
    }

    #[test]
    fn ribbons_are_surfaces_like_meshes() {
        const N: u32 = 400;
        let ribbon = curves(style(Ribbon, BSpline, 3, 2), [0.3, 0.5]);
        let (mut positions, mut triangles) = (Vec::new(), Vec::new());
        for segment in 0..4 {
            for i in 0..=N {
                for v in [0.0, 1.0] {
                    let u = i as f32 / N as f32;
                    positions.push(ribbon.point(4 * segment, u, v, Vec3::X).p);
                }
                if i < N {
                    let k = positions.len() as u32 - 2;
                    triangles.extend([[k, k + 2, k + 1], [k + 1, k + 2, k + 3]]);
                }
            }
        }
        let mesh = Mesh::new(positions, triangles, vec![], vec![]).unwrap();
        let mut differing = 0;
        for i in 0..1500 {
            let ray = random_ray(i, &Transform::IDENTITY);
            let found = nearest(&ribbon, &ray).map(|(_, hit)| hit.t);
            let hits = (0..mesh.triangles().len() as u32).filter_map(|e| mesh.intersect(e, &ray));
            let expected = hits.map(|hit| hit.t).min_by(f32::total_cmp);
            let is_same = match (found, expected) {
                (Some(a), Some(b)) => (a - b).abs() < 2e-3,
                (a, b) => a.is_none() && b.is_none(),
            };
            differing += u32::from(!is_same);
        }
        assert!(differing <= 8, "{differing} of 1500 rays differ");
    }

    #[test]
    fn splines_are_their_bezier_curves() {
        // A cubic B-spline whose control points are on a line, equally spaced, is that line.
        let line: Vec<Vec3> = (0..6).map(|k| vec3(k as f32, 0.0, 0.0)).collect();
        for degree in [2, 3] {
            let mut spline = Curves::new(style(Flat, BSpline, degree, 0));
            spline.add(&line, &[], [0.1; 2]).unwrap();
            let first = if degree == 2 { 0.5 } else { 1.0 };
            assert_eq!(spline.len(), 6 - degree);
            for k in 0..spline.len() {
                for u in [0.0, 0.3, 1.0] {
                    let p = spline.point(k, u, 0.5, Vec3::Z).p;
                    assert!((p - (first + k as f32 + u) * Vec3::X).length() < 1e-6);
                }
            }
        }
        // Segments of all bases are joined.
        for style in all_styles() {
            let curves = curves(style, [0.1; 2]);
            for k in 1..curves.segment_count() as u32 {
                let before = curves.point(4 * k - 1, 1.0, 0.5, Vec3::Z).p;
                let after = curves.point(4 * k, 0.0, 0.5, Vec3::Z).p;
                assert_eq!(before, after, "{style:?}");
            }
        }
    }

    #[test]
    fn distorting_transforms_act_on_surfaces() {
        let at = skewed();
        let inverse = at.inverse();
        for kind in KINDS {
            let curves = curves(style(kind, BezierBasis, 3, 1), [0.5, 0.2]);
            let transformed = curves.clone().transformed(&at);
            for i in 0..500 {
                let ray = random_ray(i, &at);
                let local = Ray { o: inverse.point(ray.o), d: inverse.vector(ray.d), ..ray };
                let (a, b) = (nearest(&transformed, &ray), nearest(&curves, &local));
                assert_eq!(a.is_some(), b.is_some());
                if let (Some((_, a)), Some((_, b))) = (a, b) {
                    assert!((a.t - b.t).abs() < 1e-4 && (a.u - b.u).abs() < 1e-3);
                }
            }
        }
    }

    #[test]
    fn rays_do_not_meet_the_curve_they_leave() {
        let (group, transform, motion) = (0..1, skewed(), None);
        let instance = super::super::Instance { group: 0, transform, first_light: 0, motion };
        for at in [Transform::IDENTITY, rotation(), skewed()] {
            for kind in KINDS {
                let curves = straight(kind, 0.1).transformed(&at);
                let primitive = Primitive {
                    shape: Shape::Curves(curves.clone()),
                    material: 0,
                    first_light: None,
                    alpha: None,
                    flip: false,
                    media: None,
                };
                let geometry = Geometry {
                    primitives: vec![primitive],
                    groups: vec![group.clone()],
                    instances: vec![instance],
                    ..Geometry::default()
                };
                let mut hits = 0;
                for i in 0..6000 {
                    let v = at.vector(uniform_sphere(Vec2::new(random(i, 0), random(i, 1))));
                    let along = vec3(1.6 * random(i, 2) - 0.8, 0.0, 0.0);
                    let target = at.point(along + 0.07 * random_vector(i, 3));
                    let ray = Ray::new(target - 3.0 * v, v);
                    let Some((element, hit)) = nearest(&curves, &ray) else { continue };
                    hits += 1;
                    let d = uniform_sphere(Vec2::new(random(i, 6), random(i, 7)));
                    let ShapeHit { t, u, v, .. } = hit;
                    let hit = Hit { t, u, v, primitive: 0, element, ..Hit::MISS };
                    let surface = geometry.surface(&hit, ray.d);
                    let next = Ray::new(surface.offset_ray_origin(d), d);
                    assert_eq!(nearest(&curves, &next), None, "{kind:?}, ray {i}");
                    // The same in an instance.
                    let map = &instance.transform;
                    let surface = geometry.surface(&Hit { instance: 0, ..hit }, map.vector(ray.d));
                    let d = map.vector(d);
                    let inverse = map.inverse();
                    let next =
                        Ray::new(inverse.point(surface.offset_ray_origin(d)), inverse.vector(d));
                    assert_eq!(nearest(&curves, &next), None, "{kind:?}, ray {i} in an instance");
                }
                assert!(hits > 1000, "{kind:?}: {hits}");
            }
        }
    }

    #[test]
    fn degenerate_curves_are_harmless() {
        let point = [Vec3::ONE; 4];
        let cusp = [Vec3::ZERO, Vec3::ZERO, Vec3::X, Vec3::X];
        let back = [Vec3::ZERO, Vec3::X, Vec3::X, Vec3::ZERO];
        for kind in KINDS {
            for (points, widths) in
                [(point, [0.1; 2]), (cusp, [0.2; 2]), (cusp, [0.0; 2]), (back, [0.1, 0.0])]
            {
                let mut curves = Curves::new(style(kind, BezierBasis, 3, 1));
                curves.add(&points, &[Vec3::Z, -Vec3::Z], widths).unwrap();
                for i in 0..300 {
                    let (o, target) = (3.0 * random_vector(i, 0), 0.5 * random_vector(i, 3));
                    let mut ray = Ray::new(o, target + 0.5 * Vec3::X - o);
                    if i == 0 {
                        ray = Ray::new(-3.0 * Vec3::X, Vec3::X);
                    }
                    if let Some((element, hit)) = nearest(&curves, &ray) {
                        let at = curves.point(element, hit.u, hit.v, ray.d);
                        assert!(at.p.is_finite() && (at.ng.length() - 1.0).abs() < 1e-5);
                    }
                }
            }
        }
    }

    #[test]
    fn invalid_curves_are_errors() {
        let add = |style: CurveStyle, points: usize, normals: &[Vec3], widths| {
            let error = Curves::new(style).add(&POINTS[..points], normals, widths).unwrap_err();
            error.to_string()
        };
        let bezier = style(Flat, BezierBasis, 3, 3);
        assert_eq!(
            add(bezier, 5, &[], [1.0; 2]),
            "this curve has 5 control points, but Bézier curves of degree 3 have 4 + 3 n"
        );
        assert_eq!(
            add(style(Flat, BSpline, 2, 3), 2, &[], [1.0; 2]),
            "this curve has 2 control points, but B-splines of degree 2 have 3 or more"
        );
        assert_eq!(
            add(bezier, 4, &[], [1.0, -1.0]),
            "the width of this curve is -1, expected a finite number of at least 0"
        );
        let ribbon = style(Ribbon, BezierBasis, 3, 3);
        assert_eq!(
            add(ribbon, 7, &[Vec3::Z], [1.0; 2]),
            "this curve has 1 normals, but a ribbon of 2 segment(s) has 3"
        );
        assert_eq!(
            add(ribbon, 4, &[Vec3::Z, Vec3::ZERO], [1.0; 2]),
            "a normal of this ribbon is zero"
        );
    }
}
