//! Participating media along the paths from lights.

use super::emission::EmittedRay;
use super::trace::Particle;
use crate::geometry::Hit;
use crate::integrator::medium_rays::{
    MediumRays, has_media, is_interface, medium_at_end, medium_index, separates_media,
};
use crate::medium::{ChannelWeights, Tracking, Walk};
use crate::scene::Scene;
use lightbound_math::{Aabb, Ray, Vec3};

/// What tells the media at lights: they follow from the medium around the camera and the boundaries
/// on the way from there.
#[derive(Clone, Copy)]
pub(super) struct LightMedia {
    /// Position of the camera.
    camera: Vec3,
    /// The medium around the camera, as in [`Walk::medium`].
    at_camera: u32,
    /// The medium around all surfaces.
    outer: u32,
    /// Whether surfaces separate media.
    are_separated: bool,
}

impl LightMedia {
    /// `None` if the scene has no media.
    pub fn new(scene: &Scene) -> Option<LightMedia> {
        has_media(scene).then(|| {
            let at_camera = medium_index(scene.camera_medium);
            let axis = scene.camera.axis(scene.camera.time(0.0));
            LightMedia {
                camera: axis.o,
                at_camera,
                outer: medium_at_end(scene, axis, at_camera),
                are_separated: separates_media(scene),
            }
        })
    }

    /// Returns the medium at the origin of an emitted ray.
    fn at(&self, scene: &Scene, ray: &Ray) -> u32 {
        match self.are_separated {
            true => {
                let from_camera = Ray { time: ray.time, ..Ray::segment(self.camera, ray.o) };
                medium_at_end(scene, from_camera, self.at_camera)
            }
            false => self.at_camera,
        }
    }

    /// Returns the box of the outer medium; empty if it has none.
    pub fn outer_bounds(&self, scene: &Scene) -> Aabb {
        let medium = scene.media.get(self.outer as usize);
        let bounds = medium.and_then(|medium| Some(medium.transform.aabb(medium.field.bounds()?)));
        bounds.unwrap_or(Aabb::EMPTY)
    }
}

/// Tracks particles through media, on one thread. Buffers are reused.
pub(super) struct ParticleMedia<'a> {
    scene: &'a Scene,
    at_lights: LightMedia,
    rays: MediumRays<'a>,
}

impl<'a> ParticleMedia<'a> {
    pub fn new(scene: &'a Scene, at_lights: LightMedia) -> ParticleMedia<'a> {
        ParticleMedia { scene, at_lights, rays: MediumRays::new(scene) }
    }

    /// Sets the medium around the origin of an emitted ray, and multiplies the power by the fraction
    /// of the light that gets there: light from far away passes the outer medium first.
    pub fn enter(&mut self, emitted: &EmittedRay, ray: Ray, particle: &mut Particle) {
        let scene = self.scene;
        if !emitted.is_distant() {
            particle.medium = self.at_lights.at(scene, &ray);
            return;
        }
        particle.medium = self.at_lights.outer;
        let weights = ChannelWeights::new(Vec3::ONE, Vec3::ONE);
        let walk = Walk::new(0, particle.medium, weights, particle.random);
        let (mut back, mut hits) = ([Ray { d: -ray.d, ..ray }], [Hit::MISS]);
        let walks = self.rays.track(scene, Tracking::Ratio, [walk], &mut back, &mut hits, |_| ());
        particle.power *= walks[0].weights.value;
        particle.random = walks[0].random;
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
            let weights = ChannelWeights::new(particle.power, particle.channel_densities);
            Walk::new(index, particle.medium, weights, particle.random)
        });
        let walks: Vec<Walk> = walks.collect();
        for walk in self.rays.track(scene, Tracking::Delta, walks, rays, hits, |_| ()) {
            let particle = &mut particles[walk.index as usize];
            let power = walk.weights.value;
            particle.transmittance = power.abs().max_element() / particle.power.abs().max_element();
            (particle.medium, particle.power, particle.random) = (walk.medium, power, walk.random);
            particle.channel_densities = walk.weights.delta;
            particle.collision = walk.collision;
        }
    }
}
