//! A density times coefficients, with emission: pbrt-v4's `uniformgrid` and `nanovdb`.

use super::grid::RangedGrid;
use super::{Field, Grid, MediumPoint, SparseGrid};
use lightbound_math::spectrum::blackbody_radiance;
use lightbound_math::{Aabb, Vec3};

/// A scalar that varies in space.
#[derive(Clone, Debug)]
pub struct Volume(Samples);

/// How a [`Volume`] is stored.
#[derive(Clone, Debug)]
enum Samples {
    Dense(RangedGrid<f32>),
    Sparse(SparseGrid),
}

impl Volume {
    /// Creates the volume of a grid.
    pub fn dense(grid: Grid<f32>) -> Volume {
        Volume(Samples::Dense(RangedGrid::new(grid, |value, _| [value; 2], Vec3::ONE)))
    }

    /// Creates the volume of a sparse grid.
    pub fn sparse(grid: SparseGrid) -> Volume {
        Volume(Samples::Sparse(grid))
    }

    /// Replaces negative values by 0.
    #[must_use]
    pub fn non_negative(self) -> Volume {
        match self.0 {
            Samples::Dense(RangedGrid { grid, .. }) => Volume::dense(grid.map(|x| x.max(0.0))),
            Samples::Sparse(grid) => Volume::sparse(grid.map(|x| x.max(0.0))),
        }
    }

    /// Returns the value at a point.
    #[inline]
    fn value(&self, p: Vec3) -> f32 {
        match &self.0 {
            Samples::Sparse(grid) => grid.value(p),
            Samples::Dense(grid) => grid.grid.value(p),
        }
    }

    /// Returns the least and greatest value in a box, which may be too small and too large.
    pub fn range(&self, b: Aabb) -> [f32; 2] {
        match &self.0 {
            Samples::Sparse(grid) => grid.range(b),
            Samples::Dense(grid) => grid.range(b),
        }
    }
}

/// Light that a medium emits.
#[derive(Clone, Debug)]
pub enum Emission {
    /// A radiance in linear sRGB, times a factor that varies in space.
    Radiance(Vec3, Grid<f32>),
    /// That of a black body with a temperature that varies in space, times a factor.
    BlackBody(Box<BlackBody>, Grid<f32>),
}

/// Temperatures, and the colours of black bodies in their range.
#[derive(Clone, Debug)]
pub struct BlackBody {
    temperature: Volume,
    /// Subtracted from values of `temperature`.
    offset: f32,
    /// Kelvin per unit of `temperature`.
    scale: f32,
    /// Radiance in linear sRGB at equal steps of the logarithm of the temperature, from
    /// [`BlackBody::MIN_KELVIN`] on.
    radiance: Box<[Vec3]>,
    /// Reciprocal of the step.
    steps: f32,
}

impl BlackBody {
    /// Colder matter does not glow, as in pbrt-v4.
    const MIN_KELVIN: f32 = 100.0;

    /// Steps of the table of colours. Up to 10⁵ K, relative errors are below 10⁻³ from 800 K on.
    const STEPS: usize = 2048;

    /// Creates the emission of a black body with (`temperature` − `offset`) · `scale` kelvin in
    /// `bounds`; `None` if it is below 100 K everywhere. The radiance is that of pbrt-v4: the
    /// spectrum has the maximum 1, see [`blackbody_radiance`].
    pub fn new(temperature: Volume, bounds: Aabb, offset: f32, scale: f32) -> Option<BlackBody> {
        let kelvin = temperature.range(bounds).map(|value| (value - offset) * scale);
        let max = kelvin[0].max(kelvin[1]).min(f32::MAX);
        if max.is_nan() || max <= Self::MIN_KELVIN {
            return None;
        }
        let (low, high) = (f64::from(Self::MIN_KELVIN), f64::from(max));
        let step = libm::log(high / low) / Self::STEPS as f64;
        let kelvin = |i: usize| (low * libm::exp(step * i as f64)).min(high);
        let radiance = (0..=Self::STEPS).map(|i| blackbody_radiance(kelvin(i) as f32)).collect();
        Some(BlackBody { temperature, offset, scale, radiance, steps: (1.0 / step) as f32 })
    }

    /// Returns the radiance at a point.
    fn radiance(&self, p: Vec3) -> Vec3 {
        let kelvin = (self.temperature.value(p) - self.offset) * self.scale;
        if kelvin.is_nan() || kelvin <= Self::MIN_KELVIN {
            return Vec3::ZERO;
        }
        let last = self.radiance.len() - 2;
        let x = libm::logf(kelvin / Self::MIN_KELVIN) * self.steps;
        let i = (x as usize).min(last);
        let t = (x - i as f32).min(1.0);
        self.radiance[i].lerp(self.radiance[i + 1], t)
    }
}

/// A field of a density.
#[derive(Clone, Debug)]
pub struct DensityField {
    /// The box of the medium.
    pub bounds: Aabb,
    /// The density, not negative.
    pub density: Volume,
    /// Extinction per unit of density, 1/m.
    pub extinction: Vec3,
    /// Single-scattering albedo.
    pub albedo: Vec3,
    /// Emission, if any.
    pub emission: Option<Emission>,
}

impl Field for DensityField {
    fn kind(&self) -> &'static str {
        match &self.density.0 {
            Samples::Dense(_) => "density grid",
            Samples::Sparse(_) => "sparse density grid",
        }
    }

    fn bounds(&self) -> Option<Aabb> {
        Some(self.bounds)
    }

    fn emits(&self) -> bool {
        self.emission.is_some()
    }

    fn extinction(&self) -> Vec3 {
        self.extinction
    }

    fn constant_albedo(&self) -> Option<Vec3> {
        (!self.emits()).then_some(self.albedo)
    }

    fn density_bounds(&self, boxes: &[Aabb], out: &mut Vec<[f32; 2]>) {
        out.clear();
        out.extend(boxes.iter().map(|&b| self.density.range(b)));
    }

    fn evaluate(&self, points: &[Vec3], out: &mut Vec<MediumPoint>) {
        out.clear();
        out.extend(points.iter().map(|&p| {
            let extinction = self.density.value(p) * self.extinction;
            let radiance = match &self.emission {
                None => Vec3::ZERO,
                Some(Emission::Radiance(le, factor)) => factor.value(p) * *le,
                Some(Emission::BlackBody(body, factor)) => factor.value(p) * body.radiance(p),
            };
            let emission = extinction * (1.0 - self.albedo) * radiance;
            MediumPoint { extinction, albedo: self.albedo, emission }
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::sampling::luminance;
    use lightbound_math::vec3;
    use proptest::prelude::*;

    const BOX: Aabb = Aabb { min: vec3(-1.0, 0.0, 2.0), max: vec3(3.0, 1.0, 2.5) };

    fn grid(resolution: [usize; 3], f: impl Fn(usize, usize, usize) -> f32) -> Grid<f32> {
        let [nx, ny, nz] = resolution;
        let voxels =
            (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| [x, y, z])));
        Grid::new(BOX, resolution, voxels.map(|[x, y, z]| f(x, y, z)).collect(), 0.0)
    }

    fn field(density: Grid<f32>) -> DensityField {
        DensityField {
            bounds: density.bounds(),
            density: Volume::dense(density),
            extinction: vec3(1.0, 3.0, 0.7),
            albedo: vec3(0.5, 0.0, 1.0),
            emission: None,
        }
    }

    fn at(field: &DensityField, p: Vec3) -> MediumPoint {
        let mut out = Vec::new();
        field.evaluate(&[p], &mut out);
        out[0]
    }

    #[test]
    fn samples_are_at_the_centres_of_voxels() {
        let field = field(grid([4, 2, 1], |x, y, _| (x + 10 * y) as f32));
        // Voxels have a size of 1 × 0.5 × 0.5.
        let density = |x: f32, y: f32, z: f32| at(&field, vec3(x, y, z)).extinction.x;
        assert_eq!(density(-0.5, 0.25, 2.25), 0.0);
        assert_eq!(density(2.5, 0.75, 2.25), 13.0);
        assert_eq!(density(1.0, 0.25, 2.25), 1.5);
        assert_eq!(density(1.0, 0.5, 2.25), 6.5);
        // Values fade to 0 beyond the outermost samples.
        assert_eq!(density(3.0, 0.75, 2.25), 6.5);
        assert_eq!(density(3.0, 1.0, 2.5), 13.0 / 8.0);
    }

    #[test]
    fn emission_is_absorption_times_radiance() {
        let glow = |emission| DensityField {
            emission: Some(emission),
            ..field(grid([1, 1, 1], |_, _, _| 2.0))
        };
        let factor = grid([1, 1, 1], |_, _, _| 3.0);
        let p = BOX.center();
        let le = vec3(1.0, 0.5, 0.25);
        let emission = at(&glow(Emission::Radiance(le, factor.clone())), p).emission;
        assert_eq!(emission, 2.0 * vec3(0.5, 3.0, 0.0) * 3.0 * le);
        let body = |celsius: f32, offset: f32| {
            let temperature = Volume::dense(grid([1, 1, 1], |_, _, _| celsius));
            BlackBody::new(temperature, BOX, offset, 1.0)
        };
        assert!(body(99.0, 0.0).is_none() && body(101.0, 0.0).is_some());
        for celsius in [700.0, 1234.5, 6000.0, 40000.0] {
            let emission =
                Emission::BlackBody(Box::new(body(celsius, -273.0).unwrap()), factor.clone());
            let emission = at(&glow(emission), p).emission;
            let expected = 2.0 * vec3(0.5, 3.0, 0.0) * 3.0 * blackbody_radiance(celsius + 273.0);
            let error = (emission - expected).length() / expected.length();
            assert!(error < 1e-3, "{celsius}: {emission} {expected}");
            assert!(luminance(emission) > 0.0);
        }
    }

    proptest! {
        #[test]
        fn bounds_contain_all_values(
            resolution in prop::array::uniform3(1usize..9),
            corners in prop::array::uniform3((0.0f32..=1.0, 0.0f32..=1.0)),
            points in prop::collection::vec(prop::array::uniform3(0.0f32..=1.0), 20),
            seed in 0usize..1000,
        ) {
            let hash = |x: usize, y: usize, z: usize| {
                let n = (x * 73 + y * 179 + z * 283 + seed) as u32;
                (n.wrapping_mul(0x9e37_79b9) >> 8) as f32
            };
            let field = field(grid(resolution, hash));
            let size = BOX.max - BOX.min;
            let corner = |pick: fn(f32, f32) -> f32| {
                let unit = Vec3::from_array(corners.map(|(a, b)| pick(a, b)));
                (BOX.min + size * unit).clamp(BOX.min, BOX.max)
            };
            let b = Aabb { min: corner(f32::min), max: corner(f32::max) };
            let mut bounds = Vec::new();
            field.density_bounds(&[b], &mut bounds);
            let [low, high] = bounds[0];
            for unit in points {
                let p = (b.min + (b.max - b.min) * Vec3::from_array(unit)).clamp(b.min, b.max);
                let extinction = at(&field, p).extinction;
                prop_assert!(extinction.cmpge(low * field.extinction).all());
                prop_assert!(extinction.cmple(high * field.extinction).all());
            }
        }
    }
}
