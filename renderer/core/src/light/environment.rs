//! Environment lights: a constant radiance, or an image.
//!
//! Images are square and in the equal-area octahedral layout of [`super::octahedral`]. As in
//! pbrt-v4, lookups return the nearest texel, and negative values are replaced by zero. So the
//! radiance is constant on each texel, and so is the sampling density per area of the square.
//!
//! **MIS compensation** (Karlík et al. 2019, *MIS Compensation: Optimizing Sampling Techniques in
//! Multiple Importance Sampling*). BSDF sampling already covers dim regions. Light sampling
//! therefore uses a density proportional to the luminance above a threshold. Dimmer texels and
//! constant environments get density 0, so every estimator must also sample the BSDF.

use super::octahedral::{sphere_to_square, square_to_sphere};
use super::{Light, LightError, LightSample, abs_luminance};
use glam::Mat3;
use lightbound_math::direction_box::{greater, lesser};
use lightbound_math::sampling::warp::UNIFORM_SPHERE_PDF;
use lightbound_math::sampling::{PiecewiseConstant2d, PiecewisePart};
use lightbound_math::{Cone, Transform, Vec2, Vec3, vec2};
use std::f32::consts::PI;
use std::sync::Arc;

/// An infinitely distant light around the scene.
#[derive(Clone, Debug)]
pub struct Environment {
    pub(super) kind: EnvironmentKind,
    mean: Vec3,
}

#[derive(Clone, Debug)]
pub(super) enum EnvironmentKind {
    Constant,
    Image(Box<EnvironmentImage>),
}

#[derive(Clone, Debug)]
pub(super) struct EnvironmentImage {
    /// Row by row.
    pub texels: Arc<[EnvironmentTexel]>,
    size: usize,
    transform: Transform,
    /// The linear part of `transform`.
    render_from_light: Mat3,
    /// The inverse of `render_from_light`.
    light_from_render: Mat3,
    /// |det| of `render_from_light`.
    determinant: f32,
    /// `None` if no texel is above the threshold.
    pub distribution: Option<Arc<PiecewiseConstant2d>>,
    /// Luminance above which light sampling covers radiance.
    threshold: f32,
    /// See [`Environment::sampled_share`].
    sampled_share: f32,
}

/// A texel of an environment image. One access to memory loads radiance and density.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub(super) struct EnvironmentTexel {
    /// W·sr⁻¹·m⁻².
    pub radiance: Vec3,
    /// Density of light sampling per area of the square.
    pub density: f32,
}

/// Threshold of light sampling, relative to the mean luminance of an image; 1 in pbrt-v4. Here,
/// paths branch, and path guiding finds bright directions. The error at equal time,
/// relative to that without compensation, was 0.64 to 0.88 with 0.5, 0.48 to 0.86 with 1, and 0.45
/// to 0.69 with 2.
const THRESHOLD: f64 = 2.0;

impl Environment {
    /// Creates an environment with the same radiance from every direction, W·sr⁻¹·m⁻².
    pub fn constant(radiance: Vec3) -> Environment {
        Environment { kind: EnvironmentKind::Constant, mean: radiance }
    }

    /// Creates an environment from an image of `size` × `size` linear RGB texels, row by row from
    /// the top, times `scale`. `render_from_light` transforms directions of the image to render
    /// space; its scale may be nonuniform.
    ///
    /// # Errors
    /// If `size` is 0 or above 65536, the number of texels is not `size`², or a texel is not
    /// finite.
    pub fn image(
        mut texels: Vec<Vec3>,
        size: usize,
        render_from_light: &Transform,
        scale: f32,
    ) -> Result<Environment, LightError> {
        if texels.is_empty() || size > 1 << 16 || texels.len() != size * size {
            return Err(LightError::NotSquare { texels: texels.len(), size });
        }
        // Scaled in place: a large map dominates the memory of a scene.
        for (i, texel) in texels.iter_mut().enumerate() {
            let scaled = scale * *texel;
            if !scaled.is_finite() {
                return Err(LightError::NotFinite { x: i % size, y: i / size });
            }
            *texel = scaled.max(Vec3::ZERO);
        }
        let mean = texels.iter().map(|t| t.as_dvec3()).sum::<glam::DVec3>() / texels.len() as f64;
        let luminances = texels.iter().map(|&t| abs_luminance(t));
        let total: f64 = luminances.clone().map(f64::from).sum();
        let threshold = (THRESHOLD * total / texels.len() as f64) as f32;
        let weights: Vec<f32> =
            luminances.map(|luminance| (luminance - threshold).max(0.0)).collect();
        let sampled: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
        let distribution = PiecewiseConstant2d::new(&weights, size);
        drop(weights);
        let center =
            |i: usize| vec2((i % size) as f32 + 0.5, (i / size) as f32 + 0.5) / size as f32;
        let texels = texels.into_iter().enumerate().map(|(i, radiance)| EnvironmentTexel {
            radiance,
            density: distribution.as_ref().map_or(0.0, |d| d.pdf(center(i))),
        });
        let image = EnvironmentImage {
            size,
            texels: texels.collect(),
            distribution: distribution.map(Arc::new),
            transform: Transform::IDENTITY,
            render_from_light: Mat3::IDENTITY,
            light_from_render: Mat3::IDENTITY,
            determinant: 1.0,
            threshold,
            sampled_share: if sampled > 0.0 { (sampled / total) as f32 } else { 0.0 },
        };
        let image = image.with_transform(render_from_light);
        Ok(Environment { kind: EnvironmentKind::Image(Box::new(image)), mean: mean.as_vec3() })
    }

    /// Returns the environment with another transform from the image to render space.
    pub(super) fn with_transform(&self, render_from_light: &Transform) -> Environment {
        let kind = match &self.kind {
            EnvironmentKind::Constant => EnvironmentKind::Constant,
            EnvironmentKind::Image(image) => EnvironmentKind::Image(Box::new(
                (**image).clone().with_transform(render_from_light),
            )),
        };
        Environment { kind, mean: self.mean }
    }

    /// Returns the environment with a function applied to the radiance of each texel.
    pub fn map(&self, radiance: impl Fn(Vec3) -> Vec3) -> Result<Environment, LightError> {
        match &self.kind {
            EnvironmentKind::Constant => Ok(Environment::constant(radiance(self.mean))),
            EnvironmentKind::Image(image) => {
                let texels: Vec<Vec3> =
                    image.texels.iter().map(|texel| radiance(texel.radiance)).collect();
                Environment::image(texels, image.size, &image.transform, 1.0)
            }
        }
    }

    /// Returns the mean radiance over the directions of the image, or the constant radiance.
    pub fn mean(&self) -> Vec3 {
        self.mean
    }

    /// Returns the radiance from the unit direction `wi`.
    pub fn radiance(&self, wi: Vec3) -> Vec3 {
        match &self.kind {
            EnvironmentKind::Constant => self.mean,
            EnvironmentKind::Image(image) => image.texel(image.locate(wi).0).radiance,
        }
    }

    /// Returns the part of a radiance that light sampling covers: the luminance above the threshold.
    /// The rest is left to BSDF sampling.
    pub fn sampled_radiance(&self, radiance: Vec3) -> Vec3 {
        let EnvironmentKind::Image(image) = &self.kind else { return Vec3::ZERO };
        let luminance = abs_luminance(radiance);
        if luminance > image.threshold {
            radiance * ((luminance - image.threshold) / luminance)
        } else {
            Vec3::ZERO
        }
    }

    /// Returns the fraction of the luminance that light sampling covers.
    pub fn sampled_share(&self) -> f32 {
        match &self.kind {
            EnvironmentKind::Constant => 0.0,
            EnvironmentKind::Image(image) => image.sampled_share,
        }
    }

    /// Returns the density, 1/sr, with which [`Light::sample_li`] samples the unit direction `wi`.
    pub fn pdf_li(&self, wi: Vec3) -> f32 {
        match &self.kind {
            EnvironmentKind::Constant => 0.0,
            EnvironmentKind::Image(image) => {
                let (p, area_per_sr) = image.locate(wi);
                image.texel(p).density * area_per_sr
            }
        }
    }
}

/// A direction of an environment light; see [`Environment::direction_at`].
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentDirection {
    /// Unit direction to the light.
    pub wi: Vec3,
    /// Radiance, W·sr⁻¹·m⁻².
    pub radiance: Vec3,
    /// Solid angle per unit of the square, sr.
    pub jacobian: f32,
}

/// Number of sampled positions on each side of a rectangle, to compute its cone.
const BORDER_STEPS: usize = 8;

/// Maximum angular speed of the octahedral map: radians per unit of length along an axis of the
/// square.
///
/// Within a quadrant r = u + v is the distance from the pole, for u, v in [0, 1], and w = v − u.
/// Then z = 1 − r² and φ = π/4 (1 + w/r) give dθ = 2 dr / √y and sin θ dφ = π/4 √y (dw − (w/r) dr),
/// with y = 2 − r² in [1, 2]. Along an axis |dr| = |dw|, so with |w| ≤ r the square of the speed is
/// at most 4/y + π²/4 y. This is convex and has its maximum at y = 2, where the speed is
/// √(2 + π²/2); per unit of the square it is twice that.
const MAX_BORDER_SPEED: f64 = 5.27;

/// Slack for rounding errors: of directions, in radians, and of positions in the square.
const CONE_SLACK: f32 = 4e-6;

impl Environment {
    /// Maps a position in the unit square to a direction, by the octahedral map and the light's
    /// transform to render space. The square covers each direction once.
    pub fn direction_at(&self, p: Vec2) -> EnvironmentDirection {
        match &self.kind {
            EnvironmentKind::Constant => EnvironmentDirection {
                wi: square_to_sphere(p),
                radiance: self.mean,
                jacobian: 4.0 * PI,
            },
            EnvironmentKind::Image(image) => {
                let (wi, area_per_sr) = image.direction(p);
                EnvironmentDirection {
                    wi,
                    radiance: image.texel(p).radiance,
                    jacobian: 1.0 / area_per_sr,
                }
            }
        }
    }

    /// Returns a cone around `axis` that contains all directions of a rectangle of the square,
    /// including their rounding errors.
    ///
    /// The border of the rectangle is sampled at regular steps. Between samples, directions turn no
    /// faster than `MAX_BORDER_SPEED` times the factor by which the light's transform enlarges
    /// angles. If the border of a connected region lies in the cone, either the region also lies in
    /// the cone, or it contains the rest of the sphere, including the direction opposite to the
    /// axis.
    pub fn cone(&self, axis: Vec3, lo: Vec2, hi: Vec2) -> Cone {
        let opposite = self.square_position(-axis);
        if opposite.cmpge(lo - CONE_SLACK).all() && opposite.cmple(hi + CONE_SLACK).all() {
            return Cone { axis, ..Cone::SPHERE };
        }
        let unit = axis.as_dvec3().normalize();
        let mut max_angle = 0.0f64;
        let corners = [lo, Vec2::new(hi.x, lo.y), hi, Vec2::new(lo.x, hi.y), lo];
        for edge in corners.windows(2) {
            for i in 0..BORDER_STEPS {
                let at = edge[0].lerp(edge[1], (i as f32 + 0.5) / BORDER_STEPS as f32);
                let d = self.direction_at(at).wi.as_dvec3().normalize();
                max_angle = max_angle.max(2.0 * libm::asin(0.5 * d.distance(unit)));
            }
        }
        let step = f64::from((hi - lo).max_element()) / BORDER_STEPS as f64;
        Cone::from_angle(
            axis,
            max_angle + 0.5 * step * MAX_BORDER_SPEED * self.distortion() + f64::from(CONE_SLACK),
        )
    }

    /// Returns a sampler for a rectangle of the unit square; `None` if light sampling samples
    /// nothing there. `first` and `end` (exclusive) are texels, as column and row.
    pub fn part(&self, first: [u32; 2], end: [u32; 2]) -> Option<PiecewisePart> {
        let EnvironmentKind::Image(image) = &self.kind else { return None };
        let [columns, rows] = [0, 1].map(|axis| first[axis] as usize..end[axis] as usize);
        image.distribution.as_ref()?.part(columns, rows)
    }

    /// Samples incident light from a [part](Self::part), as [`Light::sample_li`] does from the
    /// entire light.
    pub fn sample_part(&self, part: &PiecewisePart, u: Vec2) -> Option<LightSample> {
        let EnvironmentKind::Image(image) = &self.kind else { return None };
        Some(image.light_sample(image.distribution.as_ref()?.sample_part(part, u)))
    }

    /// Returns the density, 1/sr, with which [`Self::sample_part`] samples a unit direction of the
    /// part.
    pub fn part_pdf(&self, part: &PiecewisePart, wi: Vec3) -> f32 {
        let EnvironmentKind::Image(image) = &self.kind else { return 0.0 };
        let (p, area_per_sr) = image.locate(wi);
        image.distribution.as_ref().map_or(0.0, |d| d.part_pdf(part, p) * area_per_sr)
    }

    /// Maps the unit direction `wi` to its position in the unit square.
    pub fn square_position(&self, wi: Vec3) -> Vec2 {
        match &self.kind {
            EnvironmentKind::Constant => sphere_to_square(wi),
            EnvironmentKind::Image(image) => image.locate(wi).0,
        }
    }

    /// Returns an upper bound on the factor by which the light's transform enlarges small angles: a
    /// bound on its condition number.
    fn distortion(&self) -> f64 {
        let EnvironmentKind::Image(image) = &self.kind else { return 1.0 };
        let m = image.render_from_light.as_dmat3();
        // Squared singular values are the eigenvalues of MᵀM. The greatest eigenvalue is at most
        // the greatest absolute column sum.
        let gram = m.transpose() * m;
        let norm = |g: glam::DMat3| {
            [g.x_axis, g.y_axis, g.z_axis]
                .map(|c| c.abs().element_sum())
                .into_iter()
                .fold(0.0, f64::max)
        };
        (norm(gram) * norm(gram.inverse())).sqrt()
    }

    /// Returns the number of texels along a side of the image; `None` for constant environments.
    pub fn resolution(&self) -> Option<usize> {
        match &self.kind {
            EnvironmentKind::Constant => None,
            EnvironmentKind::Image(image) => Some(image.size),
        }
    }
}

impl EnvironmentImage {
    fn with_transform(self, render_from_light: &Transform) -> EnvironmentImage {
        let linear = |transform: &Transform| Mat3::from(transform.affine().matrix3);
        EnvironmentImage {
            transform: *render_from_light,
            render_from_light: linear(render_from_light),
            light_from_render: linear(&render_from_light.inverse()),
            determinant: render_from_light.affine().matrix3.determinant().abs(),
            ..self
        }
    }

    /// Maps the unit direction `wi` to its position in the unit square. Also returns the area of
    /// the square per steradian there.
    #[inline(always)]
    pub fn locate(&self, wi: Vec3) -> (Vec2, f32) {
        let local = self.light_from_render * wi;
        (sphere_to_square(local), self.area_per_sr(1.0 / local.length()))
    }

    /// Maps a position in the unit square to a unit direction, the inverse of
    /// [`locate`](Self::locate). Also returns the area of the square per steradian there.
    #[inline(always)]
    pub fn direction(&self, p: Vec2) -> (Vec3, f32) {
        let wi = self.render_from_light * square_to_sphere(p);
        let length = wi.length();
        (wi / length, self.area_per_sr(length))
    }

    /// Returns the area of the square per steradian in render space: length³ / (4π |det M|), if
    /// `render_from_light` (M) scales the unit direction of the image to `length`.
    #[inline(always)]
    fn area_per_sr(&self, length: f32) -> f32 {
        UNIFORM_SPHERE_PDF * length * length * length / self.determinant
    }

    /// Converts a sampled position and its density per area of the square to a light sample.
    fn light_sample(&self, (p, density): (Vec2, f32)) -> LightSample {
        let (wi, area_per_sr) = self.direction(p);
        let (radiance, pdf) = (self.texel(p).radiance, density * area_per_sr);
        LightSample { wi, target: None, radiance, pdf, delta: false }
    }

    /// Returns the texel at a position in the unit square.
    fn texel(&self, p: Vec2) -> &EnvironmentTexel {
        &self.texels[self.texel_index(p) as usize]
    }

    /// Returns the index of the texel at a position in the unit square. An image has up to 2³²
    /// texels.
    #[inline(always)]
    pub fn texel_index(&self, p: Vec2) -> u32 {
        let size = self.size as f32;
        texel_cell(p.y, size) * self.size as u32 + texel_cell(p.x, size)
    }
}

/// Returns the cell of x, with [0, 1] divided into `size` cells, at most 2¹⁶. Other numbers are
/// clamped; NaN is in cell 0.
#[inline(always)]
fn texel_cell(x: f32, size: f32) -> u32 {
    // The low bits of the float k + 2²³ are the integer k < 2²³. LLVM vectorises this, but not the
    // saturating `as`.
    const INTEGERS: f32 = (1 << 23) as f32;
    let cell = lesser(greater(x * size, 0.0), size - 1.0).floor();
    (cell + INTEGERS).to_bits() & 0x7f_ffff
}

impl Light for Environment {
    fn sample_li(&self, _p: Vec3, u: Vec2) -> Option<LightSample> {
        let EnvironmentKind::Image(image) = &self.kind else { return None };
        Some(image.light_sample(image.distribution.as_ref()?.sample(u)))
    }

    fn power(&self, scene_radius: f32) -> f32 {
        4.0 * PI * PI * scene_radius * scene_radius * abs_luminance(self.mean)
    }
}

/// Returns the illuminance of an image as pbrt-v4 computes it for the parameter "illuminance":
/// 2π / n² · Σ luminance · cos θ over the texels above the horizon of the image's z axis. Negative
/// values count as 0, as in [`Environment::image`].
///
/// This is half of the integral over the hemisphere (a texel covers 4π / n² steradians). We keep
/// pbrt's factor, so that scenes have the same brightness as in pbrt. For a constant environment
/// pbrt uses the correct value π L, [`CONSTANT_ILLUMINANCE`].
pub fn image_illuminance(texels: &[Vec3], size: usize) -> f32 {
    let mut sum = 0.0;
    for (i, texel) in texels.iter().enumerate() {
        let p = vec2((i % size) as f32 + 0.5, (i / size) as f32 + 0.5) / size as f32;
        sum += f64::from(
            lightbound_math::sampling::luminance(texel.max(Vec3::ZERO))
                * square_to_sphere(p).z.max(0.0),
        );
    }
    (2.0 * std::f64::consts::PI * sum / texels.len().max(1) as f64) as f32
}

/// Illuminance from the upper hemisphere of a constant environment, divided by its luminance.
pub const CONSTANT_ILLUMINANCE: f32 = PI;

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use glam::{DAffine3, DQuat, dvec3};
    use lightbound_math::sampling::testing::points;
    use lightbound_math::sampling::warp::uniform_sphere;

    const N: u32 = 100_000;

    #[test]
    fn texel_cells_are_clamped_to_the_image() {
        for size in [1u32, 2, 13, 1 << 16] {
            let cell = |x: f32| texel_cell(x, size as f32);
            for x in [0.0, -0.0, -1e-8, -3.0, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE] {
                assert_eq!(cell(x), 0, "{x} {size}");
            }
            for x in [1.0, 1f32.next_up(), 7.0, f32::INFINITY, 1f32.next_down()] {
                assert_eq!(cell(x), size - 1, "{x} {size}");
            }
            for i in 0..1000 {
                let x = i as f32 / 1000.0;
                assert_eq!(cell(x), (x * size as f32) as u32, "{x} {size}");
            }
        }
    }

    /// Returns bright, dark and black texels.
    pub(in crate::light) fn texels(size: usize) -> Vec<Vec3> {
        let value = |i: usize| {
            if i.is_multiple_of(3) {
                Vec3::ZERO
            } else {
                Vec3::new((i % 7) as f32, (i % 5) as f32, (i % 11) as f32)
            }
        };
        (0..size * size).map(value).collect()
    }

    pub(in crate::light) fn skewed() -> Transform {
        let stretch = DAffine3::from_scale(dvec3(-2.0, 1.0, 0.7));
        Transform::new(DAffine3::from_quat(DQuat::from_rotation_y(0.8)) * stretch).unwrap()
    }

    #[test]
    fn constant_environments_are_left_to_bsdf_sampling() {
        let radiance = Vec3::new(1.0, 2.0, 3.0);
        let env = Environment::constant(radiance);
        assert!(env.sample_li(Vec3::ZERO, Vec2::ZERO).is_none());
        assert_eq!((env.pdf_li(Vec3::Z), env.radiance(Vec3::Z)), (0.0, radiance));
        assert_eq!((env.sampled_share(), env.sampled_radiance(radiance)), (0.0, Vec3::ZERO));
        assert!(env.power(1.0) > 0.0);
    }

    #[test]
    fn light_samples_find_radiance_above_the_threshold() {
        // The mean is 1, so the threshold is 2.
        let mut texels = vec![Vec3::splat(0.5); 16];
        (texels[3], texels[5], texels[6]) = (Vec3::splat(5.0), Vec3::splat(3.0), Vec3::splat(1.5));
        let env = Environment::image(texels.clone(), 4, &Transform::IDENTITY, 1.0).unwrap();
        let center = |i: usize| vec2((i % 4) as f32 + 0.5, (i / 4) as f32 + 0.5) / 4.0;
        for (i, radiance) in texels.into_iter().enumerate() {
            let sampled = env.sampled_radiance(radiance).x;
            assert!((sampled - (radiance.x - THRESHOLD as f32).max(0.0)).abs() < 1e-6, "{i}");
            let density = env.pdf_li(env.direction_at(center(i)).wi) / UNIFORM_SPHERE_PDF;
            assert!((density - sampled * 16.0 / 4.0).abs() < 1e-4, "{i}: {density}");
        }
        assert!((env.sampled_share() - 4.0 / 16.0).abs() < 1e-6);
        let dim = Environment::image(vec![Vec3::ONE; 16], 4, &Transform::IDENTITY, 1.0).unwrap();
        assert!(dim.sample_li(Vec3::ZERO, Vec2::ZERO).is_none() && dim.sampled_share() == 0.0);
    }

    #[test]
    fn image_orientation_matches_pbrt() {
        // pbrt: the centre of the image is the light's +z, the right edge +x, the lower edge (last
        // row) +y, the corners −z.
        let mut texels = vec![Vec3::ZERO; 81];
        for (i, at) in
            [(4 + 4 * 9, 1.0), (8 + 4 * 9, 2.0), (4 + 8 * 9, 3.0), (0, 4.0), (4 * 9, 5.0)]
        {
            texels[i] = Vec3::splat(at);
        }
        let env = Environment::image(texels.clone(), 9, &Transform::IDENTITY, 2.0).unwrap();
        let at = |d: Vec3| env.radiance(d.normalize()).x;
        assert_eq!([at(Vec3::Z), at(Vec3::X), at(Vec3::Y)], [2.0, 4.0, 6.0]);
        assert_eq!([at(Vec3::new(-0.01, -0.01, -1.0)), at(-Vec3::X)], [8.0, 10.0]);
        // Rotates the light's +z to the world's +x.
        let rotation = Transform::new(DAffine3::from_quat(DQuat::from_rotation_y(
            std::f64::consts::FRAC_PI_2,
        )))
        .unwrap();
        let rotated = Environment::image(texels, 9, &rotation, 2.0).unwrap();
        assert_eq!(rotated.radiance(Vec3::X).x, 2.0);
        assert_eq!(rotated.radiance(-Vec3::Z).x, 4.0);
    }

    #[test]
    fn samples_match_pdf_and_radiance() {
        for transform in [Transform::IDENTITY, skewed()] {
            let env = Environment::image(texels(13), 13, &transform, 1.0).unwrap();
            let (mut by_light, mut by_sphere, mut mass, mut mismatches) = (0.0, 0.0, 0.0, 0);
            for u in points(N, 2) {
                let s = env.sample_li(Vec3::ZERO, u).unwrap();
                assert!(s.wi.is_normalized() && s.pdf > 0.0 && s.radiance != Vec3::ZERO);
                // Rounding may move a direction to a neighbouring texel.
                mismatches += u32::from(
                    (env.pdf_li(s.wi) / s.pdf - 1.0).abs() > 1e-3
                        || env.radiance(s.wi) != s.radiance,
                );
                by_light += f64::from(s.radiance.x * s.wi.x.abs() / s.pdf);
                let wi = uniform_sphere(u);
                if env.pdf_li(wi) > 0.0 {
                    by_sphere += f64::from(env.radiance(wi).x * wi.x.abs() / UNIFORM_SPHERE_PDF);
                }
                mass += f64::from(env.pdf_li(wi) / UNIFORM_SPHERE_PDF);
            }
            assert!(mismatches < N / 1000, "{mismatches} samples differ");
            assert!((mass / f64::from(N) - 1.0).abs() < 0.02, "{}", mass / f64::from(N));
            assert!((by_light / by_sphere - 1.0).abs() < 0.02, "{}", by_light / by_sphere);
        }
    }

    #[test]
    fn illuminance_and_power_of_white_images_match_closed_forms() {
        let white = vec![Vec3::ONE; 64 * 64];
        assert!(
            (image_illuminance(&white, 64) - 0.5 * PI).abs() < 0.02,
            "illuminance is not half of π, as in pbrt"
        );
        let env = Environment::image(white, 64, &Transform::IDENTITY, 1.0).unwrap();
        assert!((env.power(2.0) / Environment::constant(Vec3::ONE).power(2.0) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn invalid_images_are_errors() {
        let make = |texels: &[Vec3], size| {
            Environment::image(texels.to_vec(), size, &Transform::IDENTITY, 1.0).map(|_| ())
        };
        assert_eq!(make(&[Vec3::ONE; 6], 2), Err(LightError::NotSquare { texels: 6, size: 2 }));
        assert!(make(&[], 0).is_err());
        let mut texels = vec![-Vec3::ONE; 4];
        assert_eq!(make(&texels, 2), Ok(()), "negative texels are black");
        texels[3].y = f32::INFINITY;
        assert_eq!(make(&texels, 2).unwrap_err(), LightError::NotFinite { x: 1, y: 1 });
        texels[3].y = f32::NAN;
        assert_eq!(make(&texels, 2).unwrap_err(), LightError::NotFinite { x: 1, y: 1 });
        let black = Environment::image(vec![Vec3::ZERO; 4], 2, &Transform::IDENTITY, 1.0).unwrap();
        assert!(black.sample_li(Vec3::ZERO, Vec2::ZERO).is_none());
        assert_eq!((black.pdf_li(Vec3::Z), black.power(1.0)), (0.0, 0.0));
    }

    #[test]
    fn cones_contain_all_directions_of_rectangles_tightly() {
        for transform in [None, Some(Transform::IDENTITY), Some(skewed())] {
            let env = match &transform {
                None => Environment::constant(Vec3::ONE),
                Some(t) => Environment::image(texels(13), 13, t, 1.0).unwrap(),
            };
            let mut solid_angle = 0.0;
            for (i, r) in points(300, 4).enumerate() {
                let size = [1.0, 0.5, 0.2, 0.05, 0.003][i % 5];
                let lo = r * (1.0 - size);
                let at = |u: Vec2| env.direction_at(lo + u * size);
                let cone = env.cone(at(Vec2::splat(0.5)).wi, lo, lo + size);
                let bounds = cone.bounds();
                let mut min_cos = 1.0f32;
                for u in points(100, i as u32).chain([
                    Vec2::ZERO,
                    Vec2::ONE,
                    vec2(0.0, 1.0),
                    vec2(1.0, 0.0),
                ]) {
                    let direction = at(u);
                    assert!(cone.contains(direction.wi), "{lo} {size} {} {cone:?}", direction.wi);
                    assert!(
                        bounds.min.cmple(direction.wi).all()
                            && bounds.max.cmpge(direction.wi).all()
                    );
                    min_cos = min_cos.min(direction.wi.dot(cone.axis));
                    solid_angle += f64::from(if i == 0 { direction.jacobian } else { 0.0 });
                }
                let angle = |cos: f32| cos.clamp(-1.0, 1.0).acos();
                let slack = if transform.is_some_and(|t| t.affine() != Transform::IDENTITY.affine())
                {
                    2.5
                } else {
                    1.35
                };
                assert!(
                    size > 0.2 || angle(cone.cos) < slack * angle(min_cos) + 1e-3,
                    "{size}: {} {min_cos}",
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
