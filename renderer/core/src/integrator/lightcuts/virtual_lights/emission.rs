//! Rays of light that leave the lights of a scene, sampled from the points of a [`LightTree`].
//!
//! A point is sampled in proportion to its power, and a position on the part of the light that it
//! represents ([`LightTree::sample`]). A ray leaves an area light by the cosine to the normal, a
//! point light uniformly, and a spot light uniformly within its cone. Light from far away passes a
//! disk around the scene.

use crate::light::{FAR_OFFSET_ULPS, Lights, abs_luminance};
use crate::light_tree::{Emission, LightPoint, LightTree};
use lightbound_math::sampling::RandomStream;
use lightbound_math::sampling::warp::{
    cosine_hemisphere, uniform_cone, uniform_disk, uniform_sphere,
};
use lightbound_math::{Aabb, Frame, Ray, Vec2, Vec3, vec2, vec3};
use std::f32::consts::{PI, TAU};

/// Samples rays from the lights of a scene.
pub(super) struct EmissionSampler<'a> {
    lights: &'a Lights,
    tree: &'a LightTree,
    /// Sums of the powers of the points up to each.
    sums: Vec<f64>,
    /// Centre and radius of a ball around the scene.
    center: Vec3,
    radius: f32,
}

/// A ray that leaves a light.
pub(super) struct EmittedRay {
    pub ray: Ray,
    /// Power, W, of the light along the ray: its expectation over all samples is that of all lights.
    pub power: Vec3,
    /// The point that emits the ray.
    source: LightPoint,
}

impl EmittedRay {
    /// Returns whether the light comes from far away.
    pub fn is_distant(&self) -> bool {
        self.source.emission == Emission::Distant
    }
}

impl<'a> EmissionSampler<'a> {
    /// `bounds` is the bounding box of what light from far away illuminates. `None` if no light emits.
    pub fn new(
        lights: &'a Lights,
        tree: &'a LightTree,
        bounds: Aabb,
    ) -> Option<EmissionSampler<'a>> {
        // Without surfaces, light from far away illuminates nothing.
        let bounds = if bounds.is_empty() { Aabb::around([Vec3::ZERO]) } else { bounds };
        let radius = 0.5 * (bounds.max - bounds.min).length();
        let mut sum = 0.0;
        let sums: Vec<f64> = tree
            .points()
            .iter()
            .map(|point| {
                sum += f64::from(abs_luminance(point.intensity) * solid_angle(point, radius));
                sum
            })
            .collect();
        let is_valid = sum > 0.0 && sum.is_finite() && radius.is_finite();
        is_valid.then(|| EmissionSampler { lights, tree, sums, center: bounds.center(), radius })
    }

    /// Samples a ray. `u` in [0, 1) selects the light. `None` if the sampled part of the light is
    /// black.
    pub fn sample(&self, u: f64, random: &mut RandomStream) -> Option<EmittedRay> {
        let total = self.sums[self.sums.len() - 1];
        let index = self.sums.partition_point(|&sum| sum <= u * total).min(self.sums.len() - 1);
        let previous = if index == 0 { 0.0 } else { self.sums[index - 1] };
        let probability = (self.sums[index] - previous) / total;
        let mut pair = || vec2(random.next_float(), random.next_float());
        let (at, direction) = (pair(), pair());
        let point = self.tree.sample(self.lights, index as u32, at);
        let (ray, emission) = self.ray(&point, direction);
        let power = point.intensity * (f64::from(emission) / probability) as f32;
        let is_lit = power != Vec3::ZERO && power.is_finite();
        is_lit.then_some(EmittedRay { ray, power, source: point })
    }

    /// Samples a ray of a point. Returns it with the emission over the density of directions; for
    /// distant lights, with the area that the light passes.
    fn ray(&self, point: &LightPoint, u: Vec2) -> (Ray, f32) {
        match point.emission {
            Emission::Distant => {
                let frame = Frame::from_normal(point.position);
                let Vec2 { x, y } = self.radius * uniform_disk(u);
                let o = self.center + frame.to_world(vec3(x, y, self.radius));
                (Ray::new(o, -point.position), PI * self.radius * self.radius)
            }
            Emission::Omni => {
                let d = uniform_sphere(u);
                (Ray::new(point.position + point.offset * d, d), 4.0 * PI)
            }
            Emission::Cosine => {
                let d = Frame::from_normal(point.axis).to_world(cosine_hemisphere(u));
                let rounding = FAR_OFFSET_ULPS * point.position.abs().max_element();
                (Ray::new(point.position + (point.offset + rounding) * point.axis, d), PI)
            }
            Emission::Spot(falloff) => {
                let one_minus_cos = 1.0 - falloff.cos_end;
                let local = uniform_cone(u, one_minus_cos);
                let d = Frame::from_normal(point.axis).to_world(local);
                (Ray::new(point.position, d), falloff.at(local.z) * TAU * one_minus_cos)
            }
            Emission::Virtual { .. } => unreachable!("virtual lights do not emit by themselves"),
        }
    }

    /// Returns the part of the light that arrives at `p`: that of an image, or 0 behind a portal.
    pub fn mask(&self, emitted: &EmittedRay, p: Vec3) -> f32 {
        let LightPoint { light, stratum, .. } = emitted.source;
        self.lights.mask(light, stratum, p, -emitted.ray.d)
    }
}

/// Returns the power of a point for an intensity of 1.
fn solid_angle(point: &LightPoint, radius: f32) -> f32 {
    match point.emission {
        Emission::Omni => 4.0 * PI,
        Emission::Cosine => PI,
        Emission::Spot(falloff) => TAU * (1.0 - 0.5 * (falloff.cos_start + falloff.cos_end)),
        Emission::Distant => PI * radius * radius,
        Emission::Virtual { .. } => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Mesh, Shape};
    use crate::light::testing::{primitive, sample_all};
    use crate::light::{AnyLight, AreaLight, DistantLight, Environment, PointLight, SpotLight};
    use crate::light_tree::PointOptions;
    use crate::light_tree::testing::cube;

    /// Returns the mean irradiance on the square [−1/2, 1/2]² at z = 0, front up, by emitted rays.
    fn mean_irradiance(lights: &Lights, n: u32) -> Vec3 {
        let options = PointOptions { extents: true, ..PointOptions::default() };
        let tree = LightTree::build(lights, cube(), &options);
        let sampler = EmissionSampler::new(lights, &tree, cube()).unwrap();
        let mut sum = glam::DVec3::ZERO;
        for i in 0..n {
            let mut random = RandomStream::from_seed(i);
            let u = (f64::from(i) + 0.5) / f64::from(n);
            let Some(emitted) = sampler.sample(u, &mut random) else { continue };
            let Ray { o, d, .. } = emitted.ray;
            let p = o - d * (o.z / d.z);
            if o.z > 0.0 && d.z < 0.0 && p.x.abs() <= 0.5 && p.y.abs() <= 0.5 {
                sum += emitted.power.as_dvec3() * f64::from(sampler.mask(&emitted, p));
            }
        }
        (sum / f64::from(n)).as_vec3()
    }

    /// Returns the same by light samples.
    fn expected_irradiance(lights: &Lights, n: u32) -> Vec3 {
        let mut sum = glam::DVec3::ZERO;
        for i in 0..n {
            let mut random = RandomStream::from_seed(i ^ 0x5555_0000);
            let mut unit = || random.next_float();
            let x = vec3(unit() - 0.5, unit() - 0.5, 0.0);
            for light in lights.all() {
                if let Some(sample) = sample_all(light, x, vec2(unit(), unit()))
                    && sample.wi.z > 0.0
                {
                    sum += (sample.radiance * (sample.wi.z / sample.pdf)).as_dvec3();
                }
            }
        }
        (sum / f64::from(n)).as_vec3()
    }

    #[test]
    fn emitted_power_is_that_of_the_lights() {
        let square = [(-0.3, -0.3), (-0.3, 0.3), (0.3, 0.3), (0.3, -0.3)];
        let corners = square.map(|(x, y)| vec3(x, y, 0.8)).to_vec();
        let mesh = Mesh::new(corners, vec![[0, 1, 2]], vec![], vec![]).unwrap();
        let area = AreaLight::new(&primitive(Shape::Mesh(mesh)), 0, vec3(3.0, 2.0, 1.0), false);
        let colour = vec3(1.0, 2.0, 4.0);
        let lights = [
            AnyLight::Area(area),
            AnyLight::Point(PointLight::new(vec3(0.1, 0.2, 0.7), colour)),
            AnyLight::Spot(
                SpotLight::new(vec3(0.1, 0.2, 0.9), vec3(0.1, 0.0, -1.0), colour, 40.0, 25.0)
                    .unwrap(),
            ),
            AnyLight::Distant(DistantLight::new(vec3(0.3, 0.1, 1.0), colour).unwrap()),
            AnyLight::Environment(Environment::constant(colour)),
        ];
        for (i, light) in lights.into_iter().enumerate() {
            let lights = Lights::new(vec![light], cube());
            let [expected, mean] =
                [expected_irradiance(&lights, 200_000), mean_irradiance(&lights, 800_000)];
            let error = ((mean - expected) / expected).abs().max_element();
            assert!(expected.min_element() > 0.0 && error < 0.02, "{i}: {mean} {expected}");
        }
    }
}
