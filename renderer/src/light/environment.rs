//! Light from all around: constant, or an image over the directions.
//!
//! Images are square and in the equal-area octahedral layout of [`super::octahedral`]. As in
//! pbrt-v4 the nearest texel counts, without interpolation and with negative values as zero; so the
//! environment is constant on each texel, and so is the density it is sampled with, which is
//! proportional to luminance.

use super::octahedral::{sphere_to_square, square_to_sphere};
use super::{Light, LightError, LightSample, SkyPyramid, weight};
use crate::math::{Cone, Transform, Vec2, Vec3, vec2};
use crate::sampling::warp::{UNIFORM_SPHERE_PDF, uniform_sphere};
use crate::sampling::{Part, PiecewiseConstant2d};
use std::f32::consts::PI;

/// An infinitely distant light around the scene.
#[derive(Clone, Debug)]
pub struct Environment {
    kind: Kind,
    mean: Vec3,
}

#[derive(Clone, Debug)]
enum Kind {
    Constant,
    Image(Box<Image>),
}

#[derive(Clone, Debug)]
struct Image {
    /// Radiance, row by row.
    texels: Vec<Vec3>,
    size: usize,
    world_from_light: Transform,
    light_from_world: Transform,
    /// |det| of the linear part of `world_from_light`.
    determinant: f32,
    /// `None` where all is black.
    distribution: Option<PiecewiseConstant2d>,
}

impl Environment {
    /// The same radiance from every direction, W·sr⁻¹·m⁻².
    pub fn constant(radiance: Vec3) -> Environment {
        Environment { kind: Kind::Constant, mean: radiance }
    }

    /// An image of `size` × `size` linear RGB texels, row by row from the top, times `scale`.
    /// `world_from_light` takes directions of the image to the world; it may stretch.
    ///
    /// *Errors*: not `size²` texels or none at all, too many, a texel that is not finite.
    pub fn image(
        texels: &[Vec3],
        size: usize,
        world_from_light: &Transform,
        scale: f32,
    ) -> Result<Environment, LightError> {
        if texels.is_empty() || size > 1 << 16 || texels.len() != size * size {
            return Err(LightError::NotSquare { texels: texels.len(), size });
        }
        let texels: Vec<Vec3> = texels.iter().map(|t| scale * *t).collect();
        if let Some(i) = texels.iter().position(|t| !t.is_finite()) {
            return Err(LightError::NotFinite { x: i % size, y: i / size });
        }
        let texels: Vec<Vec3> = texels.into_iter().map(|t| t.max(Vec3::ZERO)).collect();
        let mean = texels.iter().map(|t| t.as_dvec3()).sum::<glam::DVec3>() / texels.len() as f64;
        let weights: Vec<f32> = texels.iter().map(|&t| weight(t)).collect();
        let image = Image {
            size,
            world_from_light: *world_from_light,
            light_from_world: world_from_light.inverse(),
            determinant: world_from_light.affine().matrix3.determinant().abs(),
            distribution: PiecewiseConstant2d::new(&weights, size),
            texels,
        };
        Ok(Environment { kind: Kind::Image(Box::new(image)), mean: mean.as_vec3() })
    }

    /// The same with other radiance in place of each.
    pub fn map(&self, radiance: impl Fn(Vec3) -> Vec3) -> Result<Environment, LightError> {
        match &self.kind {
            Kind::Constant => Ok(Environment::constant(radiance(self.mean))),
            Kind::Image(image) => {
                let texels: Vec<Vec3> = image.texels.iter().map(|&t| radiance(t)).collect();
                Environment::image(&texels, image.size, &image.world_from_light, 1.0)
            }
        }
    }

    /// Means of luminance, but at most `most`, over patches of all sizes; `None` if it is not an
    /// image, or black.
    pub fn pyramid(&self, most: f32) -> Option<SkyPyramid> {
        match &self.kind {
            Kind::Image(image) if image.distribution.is_some() && most > 0.0 => {
                Some(SkyPyramid::new(&image.texels, image.size, &image.light_from_world, most))
            }
            _ => None,
        }
    }

    /// The mean radiance over the directions of the image, or of the world where it is the same
    /// from everywhere.
    pub fn mean(&self) -> Vec3 {
        self.mean
    }

    /// Radiance that arrives from the unit direction `wi`.
    pub fn radiance(&self, wi: Vec3) -> Vec3 {
        match &self.kind {
            Kind::Constant => self.mean,
            Kind::Image(image) => image.texel(image.locate(wi).0),
        }
    }

    /// Density per steradian with which [`Light::sample_li`] draws the unit direction `wi`.
    pub fn pdf_li(&self, wi: Vec3) -> f32 {
        match &self.kind {
            Kind::Constant => UNIFORM_SPHERE_PDF,
            Kind::Image(image) => {
                let (p, density) = image.locate(wi);
                image.distribution.as_ref().map_or(0.0, |d| d.pdf(p) * density)
            }
        }
    }
}

/// What an environment is in one direction, see [`Environment::place`].
#[derive(Clone, Copy, Debug)]
pub struct SkyPlace {
    /// Unit direction to it.
    pub wi: Vec3,
    /// Radiance that arrives, W·sr⁻¹·m⁻².
    pub radiance: Vec3,
    /// Solid angle per unit of the square, sr.
    pub stretch: f32,
}

/// A rectangle of the square of an environment that is drawn from alone, see [`Environment::part`].
#[derive(Clone, Debug)]
pub enum SkyPart {
    /// All of it alike.
    Even {
        /// Lower corner.
        lo: Vec2,
        /// Sides.
        size: Vec2,
    },
    /// By the image.
    Image(Part),
}

impl SkyPart {
    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        match self {
            SkyPart::Even { .. } => 0,
            SkyPart::Image(part) => part.bytes(),
        }
    }
}

/// Steps along each side of a rectangle when its cone is sought.
const BORDER_STEPS: usize = 8;

/// Angle, in radians, by which the direction of the octahedral map turns at most per unit along an
/// axis of the square.
///
/// Within a quadrant r = u + v is the distance from the pole, for u, v in [0, 1], and w = v − u.
/// Then z = 1 − r² and φ = π/4 (1 + w/r) give dθ = 2 dr / √y and sin θ dφ = π/4 √y (dw − (w/r) dr),
/// with y = 2 − r² in [1, 2]. Along an axis |dr| = |dw|, so with |w| ≤ r the square of the speed is
/// at most 4/y + π²/4 y, which is convex: largest at y = 2, √(2 + π²/2); twice that per unit of the
/// square.
const BORDER_SPEED: f64 = 5.27;

/// Rounding of directions, radians, and of places in the square.
const CONE_SLACK: f32 = 4e-6;

impl Environment {
    /// The direction that belongs to `p` of the unit square, which covers all directions once: by
    /// the octahedral map, then that of the light into the world.
    pub fn place(&self, p: Vec2) -> SkyPlace {
        match &self.kind {
            Kind::Constant => {
                SkyPlace { wi: square_to_sphere(p), radiance: self.mean, stretch: 4.0 * PI }
            }
            Kind::Image(image) => {
                let wi = image.world_from_light.vector(square_to_sphere(p));
                let length = wi.length();
                SkyPlace {
                    wi: wi / length,
                    radiance: image.texel(p),
                    stretch: 1.0 / image.density(length),
                }
            }
        }
    }

    /// A cone around `axis` that holds the directions of all places in a rectangle of the square,
    /// as floats come out.
    ///
    /// The rectangle's border is walked in steps, between which directions turn by no more than
    /// `BORDER_SPEED` allows, times the most by which the light's map into the world enlarges
    /// angles. A connected image whose border lies in the cone lies there itself or holds all of
    /// the rest of the sphere, and so the direction opposite to the axis.
    pub fn cone(&self, axis: Vec3, lo: Vec2, hi: Vec2) -> Cone {
        let behind = self.square_at(-axis);
        if behind.cmpge(lo - CONE_SLACK).all() && behind.cmple(hi + CONE_SLACK).all() {
            return Cone { axis, ..Cone::SPHERE };
        }
        let unit = axis.as_dvec3().normalize();
        let mut widest = 0.0f64;
        let corners = [lo, Vec2::new(hi.x, lo.y), hi, Vec2::new(lo.x, hi.y), lo];
        for edge in corners.windows(2) {
            for i in 0..BORDER_STEPS {
                let at = edge[0].lerp(edge[1], (i as f32 + 0.5) / BORDER_STEPS as f32);
                let d = self.place(at).wi.as_dvec3().normalize();
                widest = widest.max(2.0 * libm::asin(0.5 * d.distance(unit)));
            }
        }
        let step = f64::from((hi - lo).max_element()) / BORDER_STEPS as f64;
        Cone::of_angle(
            axis,
            widest + 0.5 * step * BORDER_SPEED * self.distortion() + f64::from(CONE_SLACK),
        )
    }

    /// A rectangle of the unit square, cut into `side` cells each way, to be drawn from alone;
    /// `side` is the [resolution](Self::resolution) where there is one. `None` where it is dark.
    pub fn part(&self, first: [u32; 2], end: [u32; 2], side: u32) -> Option<SkyPart> {
        match &self.kind {
            Kind::Constant => {
                let [lo, hi] = [first, end].map(|c| vec2(c[0] as f32, c[1] as f32) / side as f32);
                Some(SkyPart::Even { lo, size: hi - lo })
            }
            Kind::Image(image) => {
                let [columns, rows] = [0, 1].map(|axis| first[axis] as usize..end[axis] as usize);
                Some(SkyPart::Image(image.distribution.as_ref()?.part(columns, rows)?))
            }
        }
    }

    /// Draws light of a [part](Self::part), as [`Light::sample_li`] draws of all.
    pub fn sample_part(&self, part: &SkyPart, u: Vec2) -> Option<LightSample> {
        let (wi, radiance, pdf) = match (&self.kind, part) {
            (Kind::Image(image), SkyPart::Image(part)) => {
                image.drawn(image.distribution.as_ref()?.sample_part(part, u))
            }
            (_, SkyPart::Even { lo, size }) => (
                square_to_sphere(*lo + u * *size),
                self.mean,
                UNIFORM_SPHERE_PDF / (size.x * size.y),
            ),
            (Kind::Constant, SkyPart::Image(_)) => unreachable!("the part is of another sky"),
        };
        Some(LightSample { wi, target: None, radiance, pdf, delta: false })
    }

    /// Density per steradian with which [`Self::sample_part`] draws a unit direction of the part.
    pub fn part_pdf(&self, part: &SkyPart, wi: Vec3) -> f32 {
        match (&self.kind, part) {
            (Kind::Image(image), SkyPart::Image(part)) => {
                let (p, density) = image.locate(wi);
                image.distribution.as_ref().map_or(0.0, |d| d.part_pdf(part, p) * density)
            }
            (_, SkyPart::Even { size, .. }) => UNIFORM_SPHERE_PDF / (size.x * size.y),
            (Kind::Constant, SkyPart::Image(_)) => unreachable!("the part is of another sky"),
        }
    }

    /// Where the unit direction `wi` lies in the unit square.
    pub fn square_at(&self, wi: Vec3) -> Vec2 {
        match &self.kind {
            Kind::Constant => sphere_to_square(wi),
            Kind::Image(image) => image.locate(wi).0,
        }
    }

    /// The most by which the map into the world enlarges small angles, or more: the ratio of its
    /// greatest stretch to its least.
    fn distortion(&self) -> f64 {
        let Kind::Image(image) = &self.kind else { return 1.0 };
        let column = |c: glam::Vec3A| Vec3::from(c).as_dvec3();
        let m = image.world_from_light.affine().matrix3;
        let m = glam::DMat3::from_cols(column(m.x_axis), column(m.y_axis), column(m.z_axis));
        // Squares of stretches are eigenvalues of MᵀM; the greatest is at most the greatest sum of
        // a column.
        let gram = m.transpose() * m;
        let norm = |g: glam::DMat3| {
            [g.x_axis, g.y_axis, g.z_axis]
                .map(|c| c.abs().element_sum())
                .into_iter()
                .fold(0.0, f64::max)
        };
        (norm(gram) * norm(gram.inverse())).sqrt()
    }

    /// Texels along a side of the unit square; `None` where the radiance is the same from
    /// everywhere.
    pub fn resolution(&self) -> Option<usize> {
        match &self.kind {
            Kind::Constant => None,
            Kind::Image(image) => Some(image.size),
        }
    }
}

impl Image {
    /// Where the world direction `wi` lies in the unit square, and the area of the square per
    /// steradian of the world there.
    fn locate(&self, wi: Vec3) -> (Vec2, f32) {
        let local = self.light_from_world.vector(wi);
        let length = local.length();
        (sphere_to_square(local / length), self.density(1.0 / length))
    }

    /// Area of the square per steradian of the world in a direction whose unit vectors the map
    /// makes `stretch` long: stretch³ / (4π |det M|).
    fn density(&self, stretch: f32) -> f32 {
        UNIFORM_SPHERE_PDF * stretch * stretch * stretch / self.determinant
    }

    /// Direction, radiance and density per steradian of a place that was drawn with a density per
    /// area.
    fn drawn(&self, (p, pdf): (Vec2, f32)) -> (Vec3, Vec3, f32) {
        let wi = self.world_from_light.vector(square_to_sphere(p));
        let stretch = wi.length();
        (wi / stretch, self.texel(p), pdf * self.density(stretch))
    }

    fn texel(&self, p: Vec2) -> Vec3 {
        let cell = |x: f32| ((x * self.size as f32) as usize).min(self.size - 1);
        self.texels[cell(p.y) * self.size + cell(p.x)]
    }
}

impl Light for Environment {
    fn sample_li(&self, _p: Vec3, u: Vec2) -> Option<LightSample> {
        let (wi, radiance, pdf) = match &self.kind {
            Kind::Constant => (uniform_sphere(u), self.mean, UNIFORM_SPHERE_PDF),
            Kind::Image(image) => image.drawn(image.distribution.as_ref()?.sample(u)),
        };
        Some(LightSample { wi, target: None, radiance, pdf, delta: false })
    }

    fn power(&self, scene_radius: f32) -> f32 {
        4.0 * PI * PI * scene_radius * scene_radius * weight(self.mean)
    }
}

/// Illuminance of an image as pbrt-v4 computes it for the parameter "illuminance": 2π / n² · Σ
/// luminance · cos θ over the texels above the horizon of the image's own z.
///
/// This is half of the integral over the hemisphere (a texel has 4π / n² steradian); we keep the
/// factor, so that scenes come out as bright as there. For a constant environment pbrt takes the
/// true π L, [`CONSTANT_ILLUMINANCE`].
pub fn image_illuminance(texels: &[Vec3], size: usize) -> f32 {
    let mut sum = 0.0;
    for (i, texel) in texels.iter().enumerate() {
        let p = vec2((i % size) as f32 + 0.5, (i / size) as f32 + 0.5) / size as f32;
        sum += f64::from(crate::sampling::luminance(*texel) * square_to_sphere(p).z.max(0.0));
    }
    (2.0 * std::f64::consts::PI * sum / texels.len().max(1) as f64) as f32
}

/// Illuminance under the upper hemisphere of a constant environment, over its luminance.
pub const CONSTANT_ILLUMINANCE: f32 = PI;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::testing::points;
    use glam::{DAffine3, DQuat, dvec3};

    const N: u32 = 100_000;

    /// Bright, dark and black texels.
    fn texels(size: usize) -> Vec<Vec3> {
        let value = |i: usize| {
            if i.is_multiple_of(3) {
                Vec3::ZERO
            } else {
                Vec3::new((i % 7) as f32, (i % 5) as f32, (i % 11) as f32)
            }
        };
        (0..size * size).map(value).collect()
    }

    fn skewed() -> Transform {
        let stretch = DAffine3::from_scale(dvec3(-2.0, 1.0, 0.7));
        Transform::new(DAffine3::from_quat(DQuat::from_rotation_y(0.8)) * stretch).unwrap()
    }

    #[test]
    fn constant_irradiance() {
        let env = Environment::constant(Vec3::new(1.0, 2.0, 3.0));
        let sum: f64 = points(N, 1)
            .map(|u| {
                let s = env.sample_li(Vec3::ZERO, u).unwrap();
                assert_eq!((s.pdf, s.radiance), (env.pdf_li(s.wi), env.radiance(s.wi)));
                f64::from(s.radiance.x * s.wi.z.max(0.0) / s.pdf)
            })
            .sum();
        assert!((sum / f64::from(N) / std::f64::consts::PI - 1.0).abs() < 0.02);
    }

    #[test]
    fn known_directions() {
        // pbrt: the middle of the image is the light's +z, the right edge +x, the lower edge (last
        // row) +y, the corners −z.
        let mut texels = vec![Vec3::ZERO; 81];
        for (i, at) in
            [(4 + 4 * 9, 1.0), (8 + 4 * 9, 2.0), (4 + 8 * 9, 3.0), (0, 4.0), (4 * 9, 5.0)]
        {
            texels[i] = Vec3::splat(at);
        }
        let env = Environment::image(&texels, 9, &Transform::IDENTITY, 2.0).unwrap();
        let at = |d: Vec3| env.radiance(d.normalize()).x;
        assert_eq!([at(Vec3::Z), at(Vec3::X), at(Vec3::Y)], [2.0, 4.0, 6.0]);
        assert_eq!([at(Vec3::new(-0.01, -0.01, -1.0)), at(-Vec3::X)], [8.0, 10.0]);
        // Turned so that the light's +z is the world's +x.
        let turn = Transform::new(DAffine3::from_quat(DQuat::from_rotation_y(
            std::f64::consts::FRAC_PI_2,
        )))
        .unwrap();
        let turned = Environment::image(&texels, 9, &turn, 2.0).unwrap();
        assert_eq!(turned.radiance(Vec3::X).x, 2.0);
        assert_eq!(turned.radiance(-Vec3::Z).x, 4.0);
    }

    #[test]
    fn samples_follow_their_density() {
        for transform in [Transform::IDENTITY, skewed()] {
            let env = Environment::image(&texels(13), 13, &transform, 1.0).unwrap();
            let (mut by_light, mut by_sphere, mut mass, mut astray) = (0.0, 0.0, 0.0, 0);
            for u in points(N, 2) {
                let s = env.sample_li(Vec3::ZERO, u).unwrap();
                assert!(s.wi.is_normalized() && s.pdf > 0.0 && s.radiance != Vec3::ZERO);
                // Rounding may carry a direction over the border of its texel.
                astray += u32::from(
                    (env.pdf_li(s.wi) / s.pdf - 1.0).abs() > 1e-3
                        || env.radiance(s.wi) != s.radiance,
                );
                by_light += f64::from(s.radiance.x * s.wi.x.abs() / s.pdf);
                let wi = uniform_sphere(u);
                by_sphere += f64::from(env.radiance(wi).x * wi.x.abs() / UNIFORM_SPHERE_PDF);
                mass += f64::from(env.pdf_li(wi) / UNIFORM_SPHERE_PDF);
            }
            assert!(astray < N / 1000, "{astray}");
            assert!((mass / f64::from(N) - 1.0).abs() < 0.02, "{}", mass / f64::from(N));
            assert!((by_light / by_sphere - 1.0).abs() < 0.02, "{}", by_light / by_sphere);
        }
    }

    #[test]
    fn illuminance_and_power() {
        let white = vec![Vec3::ONE; 64 * 64];
        assert!((image_illuminance(&white, 64) - 0.5 * PI).abs() < 0.02, "half, as in pbrt");
        let env = Environment::image(&white, 64, &Transform::IDENTITY, 1.0).unwrap();
        assert!((env.power(2.0) / Environment::constant(Vec3::ONE).power(2.0) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn bad_images_are_named() {
        let make = |texels: &[Vec3], size| {
            Environment::image(texels, size, &Transform::IDENTITY, 1.0).map(|_| ())
        };
        assert_eq!(make(&[Vec3::ONE; 6], 2), Err(LightError::NotSquare { texels: 6, size: 2 }));
        assert!(make(&[], 0).is_err());
        let mut texels = vec![-Vec3::ONE; 4];
        assert_eq!(make(&texels, 2), Ok(()), "negative is black");
        texels[3].y = f32::INFINITY;
        assert_eq!(make(&texels, 2).unwrap_err(), LightError::NotFinite { x: 1, y: 1 });
        texels[3].y = f32::NAN;
        assert_eq!(make(&texels, 2).unwrap_err(), LightError::NotFinite { x: 1, y: 1 });
        let black = Environment::image(&[Vec3::ZERO; 4], 2, &Transform::IDENTITY, 1.0).unwrap();
        assert!(black.sample_li(Vec3::ZERO, Vec2::ZERO).is_none());
        assert_eq!((black.pdf_li(Vec3::Z), black.power(1.0)), (0.0, 0.0));
    }

    #[test]
    fn cones_hold_what_rectangles_show() {
        for transform in [None, Some(Transform::IDENTITY), Some(skewed())] {
            let env = match &transform {
                None => Environment::constant(Vec3::ONE),
                Some(t) => Environment::image(&texels(13), 13, t, 1.0).unwrap(),
            };
            let mut solid_angle = 0.0;
            for (i, r) in points(300, 4).enumerate() {
                let size = [1.0, 0.5, 0.2, 0.05, 0.003][i % 5];
                let lo = r * (1.0 - size);
                let at = |u: Vec2| env.place(lo + u * size);
                let cone = env.cone(at(Vec2::splat(0.5)).wi, lo, lo + size);
                let bounds = cone.bounds();
                let mut needed = 1.0f32;
                for u in points(100, i as u32).chain([
                    Vec2::ZERO,
                    Vec2::ONE,
                    vec2(0.0, 1.0),
                    vec2(1.0, 0.0),
                ]) {
                    let place = at(u);
                    assert!(cone.contains(place.wi), "{lo} {size} {} {cone:?}", place.wi);
                    assert!(bounds.min.cmple(place.wi).all() && bounds.max.cmpge(place.wi).all());
                    needed = needed.min(place.wi.dot(cone.axis));
                    solid_angle += f64::from(if i == 0 { place.stretch } else { 0.0 });
                }
                let angle = |cos: f32| cos.clamp(-1.0, 1.0).acos();
                let slack = if transform.is_some_and(|t| t.affine() != Transform::IDENTITY.affine())
                {
                    2.5
                } else {
                    1.35
                };
                assert!(
                    size > 0.2 || angle(cone.cos) < slack * angle(needed) + 1e-3,
                    "{size}: {} {needed}",
                    cone.cos
                );
            }
            assert!(
                (solid_angle / 104.0 / (4.0 * std::f64::consts::PI) - 1.0).abs() < 0.35,
                "{solid_angle}"
            );
        }
    }
}
