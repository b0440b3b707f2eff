//! How tight the majorants of a medium are, compared with samples of its density.

use super::Medium;
use lightbound_math::sampling::{hash, unit_float};
use lightbound_math::{Vec3, vec3};

/// Majorants relative to sampled densities. Infinite if all samples are 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tightness {
    /// Mean majorant over the mean density.
    pub mean: f64,
    /// Greatest majorant over the greatest density of all samples.
    pub maximum: f64,
}

/// Strata of samples along each axis.
const STRATA: u32 = 40;

impl Medium {
    /// Compares the majorants with the density at 64,000 stratified positions; `None` for a medium
    /// without a box, which has one majorant.
    pub fn tightness(&self) -> Option<Tightness> {
        let bounds = self.field.bounds()?;
        let size = (bounds.max - bounds.min) / STRATA as f32;
        let point = |i: u32| {
            let [x, y, z] = [i % STRATA, i / STRATA % STRATA, i / STRATA / STRATA];
            let jitter = |axis| unit_float(hash(hash(i, 0x7e11), axis));
            let cell = vec3(x as f32, y as f32, z as f32);
            let p = bounds.min + size * (cell + vec3(jitter(0), jitter(1), jitter(2)));
            p.min(bounds.max)
        };
        let points: Vec<Vec3> = (0..STRATA * STRATA * STRATA).map(point).collect();
        let mut properties = Vec::new();
        self.field.evaluate(&points, &mut properties);
        let unit = self.field.extinction().max_element();
        let densities = properties.iter().map(|point| f64::from(point.extinction.max_element()));
        let (sum, max) = densities.fold((0.0, 0.0), |(sum, max), x| (sum + x, f64::max(max, x)));
        let mean = sum / (points.len() as f64 * f64::from(unit));
        let [_, majorant] = self.majorants.mean_density_range();
        let [_, greatest] = self.majorants.density_range();
        let maximum = f64::from(greatest) * f64::from(unit) / max;
        Some(Tightness { mean: majorant / mean, maximum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrator::medium_testing::Checker;
    use crate::material::ShaderInstance;
    use crate::medium::{Homogeneous, MediumPoint};
    use lightbound_math::Transform;

    #[test]
    fn majorants_are_compared_with_the_mean_and_the_maximum() {
        let medium = |field| {
            let phase = ShaderInstance::new(0, []);
            Medium::new("m".into(), Transform::IDENTITY, field, phase)
        };
        let (extinction, albedo) = (vec3(1.0, 2.0, 0.05), Vec3::ONE);
        let checker = Checker { extinction, albedo, emission: Vec3::ZERO };
        // Bounds of the checker are 0.1 and 2 everywhere, and half of its volume is dense.
        let Tightness { mean, maximum } =
            medium(Box::new(checker)).tightness().expect("it has a box");
        assert!((mean - 2.0 / 1.05).abs() < 0.15 && maximum == 1.0, "{mean} {maximum}");
        let homogeneous = Homogeneous(MediumPoint { extinction, ..MediumPoint::default() });
        assert_eq!(medium(Box::new(homogeneous)).tightness(), None);
    }
}
