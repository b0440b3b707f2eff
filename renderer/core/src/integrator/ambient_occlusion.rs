//! Ambient occlusion, as in pbrt-v4: the fraction of the hemisphere above a surface that is not
//! blocked within a distance, weighted by the cosine.
//!
//! Materials and lights have no effect: all surfaces are opaque and white. Directions are above the
//! geometric normal on the side of the camera.

use super::mix::resolve_mix;
use super::samples::TileSamples;
use super::{Counts, Integrator, Worker};
use crate::film::{FeatureLayers, Tile};
use crate::geometry::Hit;
use crate::scene::Scene;
use crate::settings::{AmbientOcclusionSettings, RenderSettings};
use lightbound_math::sampling::PathKey;
use lightbound_math::sampling::warp::cosine_hemisphere;
use lightbound_math::{Frame, Ray, Vec3, vec2, vec3};
use std::f32::consts::TAU;
use std::ops::Range;

/// The integrator.
#[derive(Clone, Copy, Debug)]
pub struct AmbientOcclusion(pub AmbientOcclusionSettings);

impl Integrator for AmbientOcclusion {
    fn name(&self) -> &'static str {
        "ambientocclusion"
    }

    fn worker<'a>(
        &'a self,
        scene: &'a Scene,
        settings: &'a RenderSettings,
    ) -> Box<dyn Worker + 'a> {
        let [white] = settings.colour_space.to_srgb(vec![[1.0; 3]])[..] else {
            unreachable!("each colour is converted")
        };
        Box::new(AmbientOcclusionWorker {
            scene,
            settings,
            options: self.0,
            white: white.into(),
            samples: TileSamples::new(scene, settings),
            rays: Vec::new(),
            keys: Vec::new(),
            hits: Vec::new(),
            occlusion_rays: Vec::new(),
            contributions: Vec::new(),
            blocked: Vec::new(),
        })
    }
}

/// The state of one thread.
struct AmbientOcclusionWorker<'a> {
    scene: &'a Scene,
    settings: &'a RenderSettings,
    options: AmbientOcclusionSettings,
    /// Linear sRGB of the white of the image.
    white: Vec3,
    samples: TileSamples<'a>,
    /// Camera rays, with the index and the key of their samples.
    rays: Vec<Ray>,
    keys: Vec<(u32, PathKey)>,
    hits: Vec<Hit>,
    /// Rays into the hemisphere, with the sample and the weight that they have if not blocked.
    occlusion_rays: Vec<Ray>,
    contributions: Vec<(u32, f32)>,
    blocked: Vec<bool>,
}

impl Worker for AmbientOcclusionWorker<'_> {
    fn render_tile(&mut self, samples: Range<u32>, tile: &Tile) -> Counts {
        self.rays.clear();
        self.keys.clear();
        self.samples.start(&samples, tile, |ray, sample, key| {
            self.rays.push(ray);
            self.keys.push((sample, key));
        });
        self.scene.accel.intersect_batch(&self.rays, &mut self.hits);
        self.occlusion_rays.clear();
        self.contributions.clear();
        for index in 0..self.rays.len() {
            if !self.hits[index].is_miss() {
                self.process_hit(index, tile.features());
            }
        }
        self.scene.accel.occluded_batch(&self.occlusion_rays, &mut self.blocked);
        for (&(sample, weight), &blocked) in self.contributions.iter().zip(&self.blocked) {
            if !blocked {
                self.samples.add(sample, weight * self.white);
            }
        }
        let gain = self.settings.gain;
        self.samples.add_to(&mut tile.lock(), |_, weight| weight * gain);
        Counts {
            rays: self.rays.len() as u64,
            shadow_rays: self.occlusion_rays.len() as u64,
            ..Counts::default()
        }
    }
}

impl AmbientOcclusionWorker<'_> {
    /// Samples a direction above a hit, and records the features of the hit.
    fn process_hit(&mut self, index: usize, features: FeatureLayers) {
        let (scene, hit, ray) = (self.scene, self.hits[index], self.rays[index]);
        let (sample, key) = self.keys[index];
        let mut surface = scene.geometry.surface(&hit, ray.d);
        let [u, v, mut lobe_u, _] = self.samples.sampler.get4(key, 1);
        let n = surface.ng * 1f32.copysign(-surface.ng.dot(ray.d));
        let (wi, weight) = if self.options.cosine_sampling {
            (cosine_hemisphere(vec2(u, v)), 1.0)
        } else {
            let (r, phi) = ((1.0 - u * u).max(0.0).sqrt(), TAU * v);
            // The density is 1/2π, and cos/π over the hemisphere integrates to 1.
            (vec3(r * libm::cosf(phi), r * libm::sinf(phi), u), 2.0 * u)
        };
        let d = Frame::from_normal(n).to_world(wi);
        self.occlusion_rays.push(Ray {
            time: ray.time,
            tmax: self.options.max_distance,
            ..Ray::new(surface.offset_ray_origin(d), d)
        });
        self.contributions.push((sample, weight));
        if !features.is_empty() {
            let material = resolve_mix(scene, &hit, ray.d, &mut lobe_u);
            if let Some(frame) = scene.bumped_frame(&hit, ray.d, &surface, material) {
                surface.frame = frame;
            }
            let feature = self.samples.add_features(sample, &hit, &surface);
            *self.samples.albedo_mut(feature) = Vec3::ONE;
        }
    }
}
