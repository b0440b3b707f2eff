//! Participating media along the paths from lights.

use super::emission::EmittedRay;
use super::trace::Particle;
use crate::geometry::Hit;
use crate::integrator::medium_rays::{
    MediumRays, has_media, is_interface, medium_at_infinity, medium_at_origin, medium_index,
};
use crate::medium::{ChannelWeights, Tracking, Walk};
use crate::scene::Scene;
use lightbound_math::sampling::RandomStream;
use lightbound_math::{Ray, Vec3, vec2};

/// Tracks particles through media, on one thread. Buffers are reused.
pub(super) struct ParticleMedia<'a> {
    scene: &'a Scene,
    rays: MediumRays<'a>,
    /// The medium around all surfaces.
    outer: u32,
}

impl<'a> ParticleMedia<'a> {
    /// `None` if the scene has no media.
    pub fn new(scene: &'a Scene) -> Option<ParticleMedia<'a>> {
        has_media(scene).then(|| {
            let camera = scene.camera.ray(vec2(0.5, 0.5), vec2(0.5, 0.5), scene.camera.time(0.0));
            let medium = medium_index(scene.camera_medium);
            let outer = camera.map_or(medium, |at| medium_at_infinity(scene, at.ray, medium));
            ParticleMedia { scene, rays: MediumRays::new(scene), outer }
        })
    }

    /// Returns the medium around the origin of an emitted ray, and the fraction of its light that
    /// gets there: light from far away passes the outer medium first.
    pub fn enter(&mut self, emitted: &EmittedRay, random: RandomStream) -> (u32, Vec3) {
        if !emitted.is_distant() {
            return (medium_at_origin(self.scene, emitted.ray, self.outer), Vec3::ONE);
        }
        let weights = ChannelWeights::new(Vec3::ONE, Vec3::ONE);
        let walk = Walk::new(0, self.outer, weights, random);
        let mut back = [Ray { d: -emitted.ray.d, ..emitted.ray }];
        let (scene, tracking) = (self.scene, Tracking::Ratio);
        let walks = self.rays.track(scene, tracking, [walk], &mut back, &mut [Hit::MISS], |_| ());
        (self.outer, walks[0].weights.value)
    }

    /// Moves particles along their rays through media to their next vertices, and sets where they
    /// collide. `hits` are the first hits, and become those with surfaces that scatter light.
    pub fn cross(&mut self, particles: &mut [Particle], rays: &mut [Ray], hits: &mut [Hit]) {
        let scene = self.scene;
        let passes_media = |&((_, particle), hit): &((u32, &Particle), &Hit)| {
            particle.medium != Walk::NO_MEDIUM || is_interface(scene, hit)
        };
        let walks = (0..).zip(&*particles).zip(&*hits).filter(passes_media);
        let walks = walks.map(|((index, particle), _)| {
            let weights = ChannelWeights::new(particle.power, Vec3::ONE);
            Walk::new(index, particle.medium, weights, particle.random)
        });
        let walks: Vec<Walk> = walks.collect();
        for walk in self.rays.track(scene, Tracking::Delta, walks, rays, hits, |_| ()) {
            let particle = &mut particles[walk.index as usize];
            let power = walk.weights.value;
            particle.transmittance = power.abs().max_element() / particle.power.abs().max_element();
            (particle.medium, particle.power, particle.random) = (walk.medium, power, walk.random);
            particle.collision = walk.collision;
        }
    }
}
