//! Surfaces that shine: one element of a shape, with the same radiance everywhere and in all
//! directions.
//!
//! A light is self-contained: it copies the vertices of its element, so that picking one among
//! millions touches nothing else. Triangles and disks are drawn uniformly by area, patches
//! uniformly in (u, v), whole spheres seen from outside by the cone of directions they fill
//! (Shirley et al. 1996, *Monte Carlo Techniques for Direct Lighting Calculations*), other spheres
//! uniformly by area before their transform. [`AreaLight::pdf_li`] is the density of exactly these
//! draws.

use super::facet::Facet;
use super::{Light, LightSample, weight};
use crate::geometry::{BilinearMesh, Disk, OFFSET_ULPS, Primitive, Shape, Sphere};
use crate::math::{Aabb, Cone, Frame, Ray, Vec2, Vec3};
use crate::sampling::warp::{one_minus_cos, uniform_cone, uniform_cone_pdf, uniform_triangle};
use crate::texture::{Lookup, Param};
use glam::BVec3;
use std::f32::consts::PI;

/// Distance by which shadow rays must end off a light's surface, over the largest coordinate of
/// where they start: 4 ulps of 1.
pub(crate) const FAR_OFFSET_ULPS: f32 = 4.0 * f32::EPSILON;

/// One shining element of a primitive in the world.
#[derive(Clone, Debug)]
pub struct AreaLight {
    element: Element,
    le: Vec3,
    area: f32,
    /// Distance by which shadow rays from nearby must end off the surface; as
    /// [`crate::geometry::Surface::offset`], but in one measure.
    offset: f32,
    two_sided: bool,
    flip: bool,
    opacity: Opacity,
}

#[derive(Clone, Debug)]
enum Element {
    Triangle(Facet),
    Patch(Box<BilinearMesh>),
    Sphere { sphere: Box<Sphere>, ball: Option<Ball> },
    Disk(Box<Disk>),
}

/// A whole sphere in world space.
#[derive(Clone, Copy, Debug)]
struct Ball {
    center: Vec3,
    radius: f32,
}

/// How much of the light there is for rays to hit.
#[derive(Clone, Debug)]
enum Opacity {
    Full,
    /// By a texture over the element.
    Masked(Box<(Shape, Param)>),
    /// No ray meets the surface, yet it shines: pbrt's meaning of a constant alpha of 0 on a light.
    Invisible,
}

/// A point drawn on the light: position, unit normal of the front, and from where it is seen, unit
/// direction and density per steradian.
pub(super) struct Drawn {
    pub p: Vec3,
    pub n: Vec3,
    pub wi: Vec3,
    pub pdf: f32,
}

impl Drawn {
    /// Of a position, its normal and its density per m². The density may be 0, infinite or NaN
    /// where the light is seen from its own plane, or too near or far.
    #[inline(always)]
    pub fn towards(from: Vec3, (p, n, by_area): (Vec3, Vec3, f32)) -> Drawn {
        let d = p - from;
        let distance2 = d.length_squared();
        let wi = d * (1.0 / distance2.sqrt());
        Drawn { p, n, wi, pdf: by_area * distance2 / n.dot(wi).abs() }
    }
}

/// What leaves a light.
pub(super) struct Emission {
    /// Radiance, W·sr⁻¹·m⁻².
    pub le: Vec3,
    /// Distance by which shadow rays from nearby must end off the surface.
    pub offset: f32,
    /// −1 where light leaves the back, else 1.
    pub side: f32,
    /// Whether it leaves both.
    pub both: bool,
}

impl Emission {
    /// Radiance that arrives from a point that was drawn, 0 where none does or the density is no
    /// number, and where shadow rays end.
    #[inline(always)]
    pub fn arriving(&self, from: Vec3, &Drawn { p, n, wi, pdf }: &Drawn) -> (Vec3, Vec3) {
        let cosine = n.dot(wi);
        let arrives = (self.both | (self.side * cosine < 0.0)) & (pdf > 0.0) & pdf.is_finite();
        // The ray's direction is rounded as coarsely as the point that it leaves from, however
        // small the light.
        let offset = self.offset + FAR_OFFSET_ULPS * from.abs().max_element();
        (Vec3::select(BVec3::splat(arrives), self.le, Vec3::ZERO), p + n * offset.copysign(-cosine))
    }
}

/// What a light is at one place of its surface, see [`AreaLight::place`].
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Position.
    pub p: Vec3,
    /// Unit normal of the side that shines; of two, the front.
    pub n: Vec3,
    /// Radiance that leaves it, less what an alpha mask takes away, W·sr⁻¹·m⁻².
    pub radiance: Vec3,
    /// Area per unit of the square, m².
    pub stretch: f32,
}

impl AreaLight {
    /// The light that `element` of `primitive` is; `le` in W·sr⁻¹·m⁻², emitted to the front, or to
    /// both sides.
    ///
    /// The front is the side of [`crate::geometry::Surface::ng`]. Pbrt's power convention: a wanted
    /// power over π times the area ([`Shape::area`]), twice that for two sides, is the luminance of
    /// `le`.
    pub fn new(primitive: &Primitive, element: u32, le: Vec3, two_sided: bool) -> AreaLight {
        let shape = &primitive.shape;
        let (kind, magnitude) = match shape {
            Shape::Mesh(m) => {
                let vertices = m.vertices(element);
                let n = m.face_normal(element);
                let facing = m
                    .vertex_normals(element)
                    .map_or(Vec3::ONE, |ns| Vec3::from_array(ns.map(|v| v.dot(n))));
                let per_area = 1.0 / m.area(element);
                (
                    Element::Triangle(Facet { vertices, n, facing, per_area }),
                    shape.aabb(element).magnitude(),
                )
            }
            Shape::Bilinear(b) => {
                (Element::Patch(Box::new(b.single(element))), shape.aabb(element).magnitude())
            }
            Shape::Sphere(s) => {
                let ball = s.as_ball().map(|(center, radius)| Ball { center, radius });
                (Element::Sphere { sphere: Box::new(s.clone()), ball }, s.magnitude())
            }
            Shape::Disk(d) => (Element::Disk(Box::new(d.clone())), d.magnitude()),
        };
        let opacity = match &primitive.alpha {
            None => Opacity::Full,
            Some(Param::Constant(a)) if a.x >= 1.0 => Opacity::Full,
            Some(Param::Constant(a)) if a.x <= 0.0 => Opacity::Invisible,
            Some(alpha) => Opacity::Masked(Box::new((shape.single(element), alpha.clone()))),
        };
        let (area, offset) = (shape.area(element), OFFSET_ULPS * magnitude);
        AreaLight { element: kind, le, area, offset, two_sided, flip: primitive.flip, opacity }
    }

    /// Radiance that leaves a point with front normal `ng` (as [`crate::geometry::Surface::ng`])
    /// towards `wo`.
    pub fn radiance(&self, ng: Vec3, wo: Vec3) -> Vec3 {
        if self.two_sided || ng.dot(wo) > 0.0 { self.le } else { Vec3::ZERO }
    }

    /// Density per steradian with which [`Light::sample_li`] at `from` draws the direction `wi`,
    /// given that it meets the light at `distance`, where the unit geometric normal is `ng` (of
    /// either side).
    pub fn pdf_li(&self, from: Vec3, wi: Vec3, distance: f32, ng: Vec3) -> f32 {
        if matches!(self.opacity, Opacity::Invisible) {
            return 0.0;
        }
        let by_area = match &self.element {
            Element::Triangle(facet) => facet.per_area,
            Element::Disk(_) => 1.0 / self.area,
            Element::Patch(patch) => patch.patch(0).area_pdf(&Ray::new(from, wi), distance),
            Element::Sphere { sphere, ball } => {
                match ball.as_ref().and_then(|b| b.cone(from, self.offset)) {
                    // The cone is drawn up to its first wall.
                    Some((center, _)) if wi.dot(from + wi * distance - center) > 0.0 => return 0.0,
                    Some((_, one_minus_cos)) => return uniform_cone_pdf(one_minus_cos),
                    None => sphere.area_pdf(ng),
                }
            }
        };
        by_area * distance * distance / ng.dot(wi).abs()
    }

    /// As [`Light::sample_li`], but of a light with two sides only that of the front, or of the
    /// back.
    pub fn sample_side(&self, p: Vec3, u: Vec2, front: bool) -> Option<LightSample> {
        self.sample(p, &self.draw(p, u), self.emission(Some(front)))
    }

    /// What leaves it, of both sides that shine perhaps only the front, or the back.
    fn emission(&self, front: Option<bool>) -> Emission {
        let side = if self.flip { -1.0 } else { 1.0 };
        let (side, both) = match front {
            Some(front) if self.two_sided => (if front { side } else { -side }, false),
            _ => (side, self.two_sided),
        };
        Emission { le: self.le, offset: self.offset, side, both }
    }

    /// The triangle that it is, if all of it shines, and what leaves it.
    pub(super) fn facet(&self, front: Option<bool>) -> Option<(&Facet, Emission)> {
        match (&self.element, &self.opacity) {
            (Element::Triangle(facet), Opacity::Full) => Some((facet, self.emission(front))),
            _ => None,
        }
    }

    /// Light that arrives at `p` from a point that was drawn.
    fn sample(&self, p: Vec3, drawn: &Drawn, emission: Emission) -> Option<LightSample> {
        let &Drawn { p: at, n, wi, pdf } = drawn;
        let (radiance, target) = emission.arriving(p, drawn);
        let radiance = radiance * self.opacity(at, n);
        if radiance == Vec3::ZERO {
            return None;
        }
        let target = Some(target);
        Some(match self.opacity {
            Opacity::Invisible => {
                LightSample { wi, target, radiance: radiance / pdf, pdf: 1.0, delta: true }
            }
            _ => LightSample { wi, target, radiance, pdf, delta: false },
        })
    }

    /// Draws a point of the light.
    fn draw(&self, from: Vec3, u: Vec2) -> Drawn {
        if let Element::Sphere { ball: Some(ball), .. } = &self.element
            && let Some((_, one_minus_cos)) = ball.cone(from, self.offset)
        {
            return ball.draw_cone(from, one_minus_cos, u);
        }
        Drawn::towards(from, self.map(u))
    }

    /// The place of the light that belongs to `u` of the unit square, which covers its surface
    /// once.
    pub fn place(&self, u: Vec2) -> Place {
        let (p, n, by_area) = self.map(u);
        Place {
            p,
            n: if self.flip { -n } else { n },
            radiance: self.le * self.opacity(p, n),
            stretch: 1.0 / by_area,
        }
    }

    /// Whether both sides shine.
    pub fn is_two_sided(&self) -> bool {
        self.two_sided
    }

    /// Distance by which shadow rays from nearby must end off the surface.
    pub fn offset(&self) -> f32 {
        self.offset
    }

    /// The place in the middle of a rectangle of the square, with the mean stretch of the rectangle
    /// (by Simpson's rule). For a square on the diagonal along which [`uniform_triangle`] folds,
    /// and so for the whole of a triangle, it is the centroid.
    pub fn middle(&self, lo: Vec2, hi: Vec2) -> Place {
        let folded = matches!(self.element, Element::Triangle(_)) && lo.x == lo.y && hi.x == hi.y;
        let place = self.place(lo + if folded { 2.0 / 3.0 } else { 0.5 } * (hi - lo));
        match self.element {
            Element::Triangle(_) | Element::Disk(_) | Element::Sphere { ball: Some(_), .. } => {
                place
            }
            Element::Patch(_) | Element::Sphere { .. } => {
                let corners = [lo, hi, Vec2::new(lo.x, hi.y), Vec2::new(hi.x, lo.y)];
                let sum: f32 = corners.into_iter().map(|u| 1.0 / self.map(u).2).sum();
                Place { stretch: (8.0 * place.stretch + sum) / 12.0, ..place }
            }
        }
    }

    /// A box around the positions, and a cone around the normals, of all places of a rectangle of
    /// the square, as floats come out.
    pub fn extent(&self, lo: Vec2, hi: Vec2) -> (Aabb, Cone) {
        let (bounds, cone) = match &self.element {
            Element::Triangle(facet) => triangle_extent(facet, lo, hi),
            Element::Patch(patch) => {
                let (positions, normals) = patch.hull(0, lo, hi);
                let cone = normals.map_or(Cone::SPHERE, |n| Cone::around_hull(n.into_iter()));
                (padded(Aabb::around(positions)), cone)
            }
            Element::Disk(disk) => (disk.extent(lo, hi), Cone::ray(disk.normal())),
            Element::Sphere { sphere, .. } => {
                let (bounds, normals) = sphere.extent(lo, hi);
                (bounds, Cone::around_hull(normals.into_iter()))
            }
        };
        (bounds, if self.flip { Cone { axis: -cone.axis, ..cone } } else { cone })
    }

    /// Centre and radius, where the light is a whole ball without a mask that shines outwards
    /// alone.
    pub fn as_ball(&self) -> Option<(Vec3, f32)> {
        let plain = !self.two_sided && !self.flip && !matches!(self.opacity, Opacity::Masked(_));
        match &self.element {
            Element::Sphere { ball: Some(ball), .. } if plain => Some((ball.center, ball.radius)),
            _ => None,
        }
    }

    /// Whether its normals point to all sides.
    pub fn is_curved(&self) -> bool {
        matches!(self.element, Element::Sphere { .. })
    }

    /// Radiance of its surface, W·sr⁻¹·m⁻².
    pub fn le(&self) -> Vec3 {
        self.le
    }

    /// The surface at `u` of the unit square: position, normal of the front before it is flipped,
    /// density per m² of uniform `u`.
    fn map(&self, u: Vec2) -> (Vec3, Vec3, f32) {
        match &self.element {
            Element::Triangle(facet) => facet.map(u),
            Element::Patch(patch) => {
                let at = patch.point(0, u.x, u.y);
                let n = if at.ns.dot(at.ng) < 0.0 { -at.ng } else { at.ng };
                (at.p, n, 1.0 / patch.patch(0).stretch(u.x, u.y))
            }
            Element::Disk(disk) => (disk.sample_area(u), disk.normal(), 1.0 / self.area),
            Element::Sphere { sphere, .. } => sphere.sample_area(u),
        }
    }

    /// Opacity of the surface at a point with unit normal `n`.
    fn opacity(&self, p: Vec3, n: Vec3) -> f32 {
        let Opacity::Masked(mask) = &self.opacity else { return 1.0 };
        let (shape, alpha) = &**mask;
        // A short ray through the surface finds its coordinates there.
        let reach = 8.0 * self.offset;
        let ray = Ray { o: p + reach * n, tmin: 0.0, d: -reach * n, tmax: 2.0 };
        let Some(hit) = shape.intersect(0, &ray) else { return 0.0 };
        let at = shape.point(0, hit.u, hit.v);
        alpha.float(&Lookup { p: at.p, uv: at.uv }).clamp(0.0, 1.0)
    }
}

impl Light for AreaLight {
    fn sample_li(&self, p: Vec3, u: Vec2) -> Option<LightSample> {
        self.sample(p, &self.draw(p, u), self.emission(None))
    }

    fn power(&self, _scene_radius: f32) -> f32 {
        (if self.two_sided { 2.0 } else { 1.0 }) * PI * self.area * weight(self.le)
    }
}

/// [`AreaLight::extent`] of a triangle. [`uniform_triangle`] is linear on both sides of the
/// diagonal, so the image of a rectangle lies in the hull of the images of its corners and of where
/// it meets the diagonal.
fn triangle_extent(facet: &Facet, lo: Vec2, hi: Vec2) -> (Aabb, Cone) {
    let &Facet { vertices: [p0, p1, p2], n, facing, .. } = facet;
    let diagonal = [lo.max_element(), hi.min_element()];
    let crossings = diagonal.map(|t| Vec2::splat(t).clamp(lo, hi));
    let corners = [lo, hi, Vec2::new(lo.x, hi.y), Vec2::new(hi.x, lo.y)];
    let weights = || {
        corners
            .into_iter()
            .chain(crossings)
            .map(uniform_triangle)
            .map(|b| (1.0 - b.x - b.y, b.x, b.y))
    };
    let bounds = padded(Aabb::around(weights().map(|(w, x, y)| w * p0 + x * p1 + y * p2)));
    let side = |sign: f32| {
        weights()
            .all(|(w, x, y)| sign * (w * facing.x + x * facing.y + y * facing.z) > FACING_SLACK)
    };
    let cone = match (side(1.0), side(-1.0)) {
        (true, _) => Cone::ray(n),
        (_, true) => Cone::ray(-n),
        _ => Cone::SPHERE,
    };
    (bounds, cone)
}

/// Interpolated cosines this near to 0 do not tell which side is the front.
const FACING_SLACK: f32 = 1e-5;

/// The box, wider by what rounding does to points that are interpolated in it.
fn padded(b: Aabb) -> Aabb {
    let pad = Vec3::splat(16.0 * f32::EPSILON * b.magnitude());
    Aabb { min: b.min - pad, max: b.max + pad }
}

impl Ball {
    /// Centre, and 1 − cos of the half angle of the cone the ball fills from `from`; `None` from
    /// inside or too near to tell.
    fn cone(&self, from: Vec3, offset: f32) -> Option<(Vec3, f32)> {
        let d2 = from.distance_squared(self.center);
        let near = self.radius * (1.0 + 1e-4) + 2.0 * offset;
        (d2 > near * near).then(|| (self.center, one_minus_cos(self.radius * self.radius / d2)))
    }

    /// Draws a direction of that cone; the point is where it first meets the ball.
    fn draw_cone(&self, from: Vec3, one_minus_cos: f32, u: Vec2) -> Drawn {
        let to_center = self.center - from;
        let d = to_center.length();
        let local = uniform_cone(u, one_minus_cos);
        let wi = Frame::from_normal(to_center / d).to_world(local);
        let sin2 = local.x * local.x + local.y * local.y;
        let t = d * local.z - (self.radius * self.radius - d * d * sin2).max(0.0).sqrt();
        let n = (from + t * wi - self.center).normalize();
        Drawn { p: self.center + self.radius * n, n, wi, pdf: uniform_cone_pdf(one_minus_cos) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Geometry, Hit};
    use crate::light::testing::{primitive, surfaces, triangle};
    use crate::math::Transform;
    use crate::sampling::testing::points;
    use crate::texture::Texture;
    use glam::{DAffine3, dvec3};
    use std::sync::Arc;

    const N: u32 = 200_000;

    /// A direction that may meet the light, and its density.
    fn direction(from: Vec3, u: Vec2) -> (Vec3, f32) {
        // All lights lie within 53° around +z from the origin.
        let one_minus_cos = if from == Vec3::ZERO { 0.4 } else { 2.0 };
        (uniform_cone(u, one_minus_cos), uniform_cone_pdf(one_minus_cos))
    }

    fn hit(scene: &Geometry, from: Vec3, wi: Vec3) -> Option<(f32, crate::geometry::Surface)> {
        let h = scene.primitives[0].shape.intersect(0, &Ray::new(from, wi))?;
        let hit = Hit { t: h.t, u: h.u, v: h.v, primitive: 0, element: 0, instance: Hit::NONE };
        Some((h.t, scene.surface(&hit)))
    }

    #[test]
    fn light_and_direction_sampling_agree() {
        for (name, primitive, from) in surfaces() {
            for two_sided in [false, true] {
                let light = AreaLight::new(&primitive, 0, Vec3::ONE, two_sided);
                let scene = Geometry {
                    primitives: vec![primitive.clone()],
                    world: 0..1,
                    ..Geometry::default()
                };
                let (mut by_light, mut by_sphere) = (0.0, 0.0);
                let mut astray = 0;
                for u in points(N, 5) {
                    if let Some(s) = light.sample_li(from, u) {
                        let seen = hit(&scene, from, s.wi).filter(|(t, x)| {
                            let off = s.target.unwrap().distance(x.p);
                            off <= 3.0 * light.offset
                                + 1e-3 * (t + 1.0) * (1.0 - x.ng.dot(s.wi).abs())
                        });
                        if let Some((t, surface)) = seen {
                            by_light += f64::from(s.radiance.x * s.wi.z.abs() / s.pdf);
                            let pdf = light.pdf_li(from, s.wi, t, surface.ng);
                            let agrees = (pdf / s.pdf - 1.0).abs() < 1e-2
                                || surface.ng.dot(s.wi).abs() < 1e-2;
                            astray += u32::from(
                                !agrees || light.radiance(surface.ng, -s.wi) != s.radiance,
                            );
                        }
                    }
                    let (wi, density) = direction(from, u);
                    if let Some((_, surface)) = hit(&scene, from, wi) {
                        by_sphere +=
                            f64::from(light.radiance(surface.ng, -wi).x * wi.z.abs() / density);
                    }
                }
                assert!(by_sphere > 0.0, "{name} shines");
                assert!(
                    (by_light / by_sphere - 1.0).abs() < 0.025,
                    "{name}: {by_light} {by_sphere}"
                );
                assert!(
                    astray < N / 1000,
                    "{name}: {astray} samples disagree with pdf or radiance"
                );
            }
        }
    }

    #[test]
    fn densities_integrate_to_one() {
        // Where every point of the light is seen first: flat ones, and all from inside.
        for (name, primitive, from) in surfaces() {
            let concave = matches!(primitive.shape, Shape::Sphere(_))
                && from == Vec3::ZERO
                && name != "sphere";
            if concave {
                continue;
            }
            let light = AreaLight::new(&primitive, 0, Vec3::ONE, false);
            let scene =
                Geometry { primitives: vec![primitive], world: 0..1, ..Geometry::default() };
            let mass: f64 = points(N, 6)
                .map(|u| direction(from, u))
                .filter_map(|(wi, density)| {
                    hit(&scene, from, wi).map(|(t, s)| light.pdf_li(from, wi, t, s.ng) / density)
                })
                .map(f64::from)
                .sum();
            assert!((mass / f64::from(N) - 1.0).abs() < 0.03, "{name}: {}", mass / f64::from(N));
        }
    }

    /// Irradiance at the origin on a surface that faces +z.
    fn irradiance(light: &AreaLight) -> f64 {
        let sum: f64 = points(N, 7)
            .filter_map(|u| light.sample_li(Vec3::ZERO, u))
            .map(|s| f64::from(s.radiance.x * s.wi.z.max(0.0) / s.pdf))
            .sum();
        sum / f64::from(N)
    }

    #[test]
    fn closed_forms() {
        let pi = std::f64::consts::PI;
        for distance in [1.5, 4.0, 1e4] {
            let at = Transform::new(DAffine3::from_translation(dvec3(0.0, 0.0, distance))).unwrap();
            let ball = AreaLight::new(
                &primitive(Shape::Sphere(Sphere::full(&at, 1.0).unwrap())),
                0,
                Vec3::ONE,
                false,
            );
            let want = pi / (distance * distance);
            assert!((irradiance(&ball) / want - 1.0).abs() < 3e-3, "sphere at {distance}");
            let mut facing = primitive(Shape::Disk(Disk::new(&at, 0.0, 1.0, 0.0, 360.0).unwrap()));
            facing.flip = true;
            let want = pi / (1.0 + distance * distance);
            assert!(
                (irradiance(&AreaLight::new(&facing, 0, Vec3::ONE, false)) / want - 1.0).abs()
                    < 3e-3,
                "disk at {distance}"
            );
        }
        // Lambert: E = L/2 Σ angle of edge × cosine of the edge's plane.
        let Shape::Mesh(m) = triangle(vec![]) else { unreachable!() };
        let v = m.vertices(0).map(|p| p.as_dvec3().normalize());
        let edge = |a: glam::DVec3, b: glam::DVec3| a.angle_between(b) * a.cross(b).normalize().z;
        let want = 0.5 * (edge(v[0], v[1]) + edge(v[1], v[2]) + edge(v[2], v[0])).abs();
        let light = AreaLight::new(&primitive(triangle(vec![])), 0, Vec3::ONE, true);
        assert!((irradiance(&light) / want - 1.0).abs() < 5e-3, "{} {want}", irradiance(&light));
    }

    #[test]
    fn opacity_dims_and_hides() {
        let mut shape = primitive(triangle(vec![]));
        let full = irradiance(&AreaLight::new(&shape, 0, Vec3::ONE, true));
        shape.alpha = Some(Param::Texture(Arc::new(Texture::Constant(Vec3::splat(0.25)))));
        let quarter = irradiance(&AreaLight::new(&shape, 0, Vec3::ONE, true));
        assert!((quarter / full - 0.25).abs() < 1e-3, "{quarter} {full}");
        shape.alpha = Some(Param::from_float(0.0));
        let hidden = AreaLight::new(&shape, 0, Vec3::ONE, true);
        assert!((irradiance(&hidden) / full - 1.0).abs() < 1e-4);
        assert!(hidden.sample_li(Vec3::ZERO, Vec2::splat(0.4)).unwrap().delta);
        assert_eq!(hidden.pdf_li(Vec3::ZERO, Vec3::Z, 2.0, Vec3::Z), 0.0);
    }

    #[test]
    fn absurd_places_yield_nothing() {
        for (name, primitive, _) in surfaces() {
            let light = AreaLight::new(&primitive, 0, Vec3::ONE, true);
            for u in points(1000, 8) {
                for from in [Vec3::splat(f32::NAN), Vec3::INFINITY] {
                    assert!(light.sample_li(from, u).is_none(), "{name} from {from}");
                }
                let Drawn { p, .. } = light.draw(Vec3::ZERO, u);
                if let Some(s) = light.sample_li(p, u) {
                    assert!(
                        s.wi.is_finite() && s.pdf.is_finite() && s.pdf > 0.0,
                        "{name} from itself"
                    );
                }
            }
            assert!(light.power(1.0) > 0.0);
        }
    }

    #[test]
    fn places_cover_the_light_within_their_extents() {
        for (name, primitive, _) in surfaces() {
            let light = AreaLight::new(&primitive, 0, Vec3::ONE, false);
            let mut area = 0.0;
            for (i, r) in points(200, 9).enumerate() {
                // Rectangles of all sizes; the whole first, then halves of the diagonal's squares.
                let size = [1.0, 0.5, 0.25, 0.1, 0.01][i.div_ceil(2).min(4)];
                let lo = if i < 8 { (r / size).floor() * size } else { r * (1.0 - size) };
                let hi = (lo + size).min(Vec2::ONE);
                let (bounds, cone) = light.extent(lo, hi);
                for u in points(100, i as u32) {
                    let place = light.place(lo + u * (hi - lo));
                    assert!(
                        bounds.min.cmple(place.p).all() && bounds.max.cmpge(place.p).all(),
                        "{name}: {} {bounds:?}",
                        place.p
                    );
                    assert!(cone.contains(place.n), "{name}: {} {cone:?}", place.n);
                    area += if i == 0 { place.stretch / 100.0 } else { 0.0 };
                }
                let middle = light.middle(lo, hi);
                assert!(
                    bounds.min.cmple(middle.p).all()
                        && bounds.max.cmpge(middle.p).all()
                        && cone.contains(middle.n),
                    "{name}"
                );
                // Small pieces have small extents.
                if size == 0.01 && !name.contains("sphere") && !name.contains("ellipsoid") {
                    assert!((bounds.max - bounds.min).max_element() < 0.2, "{name} {bounds:?}");
                }
                assert!(
                    size > 0.1
                        || cone.cos > 0.5
                        || name.contains("on a part")
                        || lo.y < 0.1
                        || lo.y > 0.9,
                    "{name} {cone:?}"
                );
            }
            assert!((area / light.area - 1.0).abs() < 0.1, "{name}: {area}");
            let whole = light.middle(Vec2::ZERO, Vec2::ONE).stretch;
            // Six places tell little of an ellipsoid; it is never left whole.
            assert!(
                (whole / light.area - 1.0).abs()
                    < if name.contains("ellipsoid") { 0.4 } else { 0.05 },
                "{name}: {whole}"
            );
        }
    }
}
