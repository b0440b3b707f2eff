//! Light of the sky by [products](Product) with the BRDF: how often next-event estimation draws it,
//! and from what.
//!
//! One sky, the image with the greatest power, is taken out of the lights that are chosen among,
//! and drawn of by the point's tree of directions. Which of the two it is, this sky or any other
//! light, is drawn first. The sky is infinitely far, so the density of a direction depends on the
//! direction alone: a path that goes on along one carries it, and nobody goes back to the point.

use super::shading::Shading;
use crate::direction_tree::{Product, ProductSky};
use crate::light::{AnyLight, LightSample, Lights};
use crate::math::{Frame, Vec2, Vec3};
use crate::sampling::ONE_MINUS_EPSILON;
use crate::scene::{LightSampling, PathSettings, SkySampling};

/// How often the sky is drawn where other lights are chosen by trees, which tell nothing of how
/// bright a sky is against them.
const BESIDE_TREES: f32 = 0.5;

/// A sky that is drawn of by products.
#[derive(Debug)]
pub struct SkySampler {
    /// Its number among the lights.
    pub light: u32,
    /// How often it is drawn.
    pub share: f32,
    products: ProductSky,
}

impl SkySampler {
    /// The one of a scene, if settings want it and there is one.
    pub fn of(lights: &Lights, settings: &PathSettings) -> Option<SkySampler> {
        if settings.sky_sampling == SkySampling::Map {
            return None;
        }
        let powers = lights.powers();
        let images = lights.environments().filter(|(_, sky)| sky.resolution().is_some());
        let (light, sky) =
            images.max_by(|(a, _), (b, _)| powers[*a as usize].total_cmp(&powers[*b as usize]))?;
        let shining = powers.iter().filter(|power| **power > 0.0).count();
        let share = match settings.light_sampling {
            _ if shining == 1 => 1.0,
            LightSampling::Uniform => 1.0 / shining as f32,
            LightSampling::Power => {
                let all: f64 = powers.iter().map(|&power| f64::from(power)).sum();
                (f64::from(powers[light as usize]) / all) as f32
            }
            LightSampling::Auto | LightSampling::Tree | LightSampling::MaterialTree => BESIDE_TREES,
        };
        Some(SkySampler { light, share, products: ProductSky::new(sky)? })
    }

    /// What is left of a number in [0, 1) that did not choose the sky: uniform again.
    pub fn rest(&self, pick: f32) -> f32 {
        ((pick - self.share) / (1.0 - self.share)).min(ONE_MINUS_EPSILON)
    }

    /// Draws light at a point, with the density of [`pdf`](Self::pdf).
    pub fn sample(
        &self,
        lights: &Lights,
        shading: &Shading,
        at: SkyPoint,
        u: Vec2,
    ) -> Option<(LightSample, f32)> {
        let light = self.product(lights, shading, at)?.draw(u)?;
        let pdf = self.share * light.pdf;
        (pdf > 0.0).then_some((light, pdf))
    }

    /// Density of a unit direction of the point's frame per steradian, with how often the sky is
    /// drawn.
    pub fn pdf(&self, lights: &Lights, shading: &Shading, at: SkyPoint, wi: Vec3) -> f32 {
        self.product(lights, shading, at).map_or(0.0, |product| self.share * product.pdf(wi))
    }

    fn product<'a>(
        &'a self,
        lights: &'a Lights,
        shading: &'a Shading,
        at: SkyPoint,
    ) -> Option<Product<'a>> {
        let AnyLight::Environment(environment) = &lights.all()[self.light as usize] else {
            return None;
        };
        let SkyPoint { row, frame, side } = at;
        Some(Product::new(
            shading.tree(row)?,
            environment,
            &self.products,
            [frame.t, frame.b, side * frame.n],
        ))
    }
}

/// A point that is shaded.
#[derive(Clone, Copy, Debug)]
pub struct SkyPoint<'a> {
    /// Its number.
    pub row: usize,
    /// The shading frame.
    pub frame: &'a Frame,
    /// −1 where it is mirrored, else 1.
    pub side: f32,
}
