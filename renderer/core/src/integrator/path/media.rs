//! Paths through participating media (Miller, Georgiev, Jarosz 2019).
//!
//! After rays are traced, a path either collides in a medium or reaches a surface. Interfaces
//! between media are crossed on the way: they scatter no light. Collisions are shaded like hits:
//! the phase function is a shader, and the z axis of its frame is the outgoing direction.
//!
//! Between vertices, the throughput of a path is its value over its density, averaged over the
//! channels that could be the hero (see [`tracking`](crate::medium::Tracker)); the column
//! [`channel_densities`](super::paths::Paths::channel_densities) has the densities of the channels
//! relative to their mean. Emitters that a ray hits through media have MIS weights with the
//! densities of the whole path: that of BSDF sampling is multiplied by the ratio of delta tracking
//! to ratio tracking.

use super::Wavefront;
use super::next_event::receiver;
use super::paths::Paths;
use crate::geometry::Hit;
use crate::integrator::medium_rays::{MediumRays, is_interface, mean, medium_beyond};
use crate::integrator::sample_components::Contribution;
use crate::integrator::shading::ShadingBatch;
use crate::medium::{ChannelWeights, Tracking, TrackingCounts, Walk};
use crate::scene::Scene;
use lightbound_math::sampling::{RandomStream, power_heuristic};
use lightbound_math::{COLUMN_LEN, Vec3};
use lightbound_shader::SurfaceSides;

/// First sets of sampler dimensions of paths and of shadow rays in media, beyond those of any
/// scattering event.
const PATH_SETS: u32 = 0x4000_0000;
const SHADOW_SETS: u32 = 0x8000_0000;

/// A shadow ray through media.
#[derive(Clone, Copy)]
pub(super) struct PendingTransmittance {
    /// As [`Walk::medium`], at the origin of the ray.
    pub medium: u32,
    /// Path whose vertex is the origin of the ray.
    pub path: u32,
    /// Density of BSDF sampling over that of light sampling; 0 for delta lights. Contributions have
    /// no MIS weight yet.
    pub pdf_ratio: f32,
}

/// A collision of a path in a medium.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collision {
    /// Position in render space.
    pub p: Vec3,
    /// Index of the medium.
    pub medium: u32,
}

/// The paths of a wavefront in media.
#[derive(Default)]
pub(super) struct PathMedia<'a> {
    rays: MediumRays<'a>,
    walks: Vec<Walk>,
    /// The collision of each path that has one.
    collisions: Vec<Option<Collision>>,
    /// Shadow rays, one for each pending contribution.
    pub shadows: Vec<PendingTransmittance>,
}

impl PathMedia<'_> {
    pub fn new(scene: &Scene) -> Self {
        PathMedia { rays: MediumRays::new(scene), ..PathMedia::default() }
    }

    /// Returns the collision of a path that did not reach a surface.
    pub fn collision(&self, path: usize) -> Option<Collision> {
        self.collisions.get(path).copied().flatten()
    }

    /// Returns the medium around a ray in direction `d` from the current vertex of a path, as in
    /// [`Walk::medium`].
    pub fn medium_from(
        &self,
        scene: &Scene,
        paths: &Paths,
        hits: &[Hit],
        path: usize,
        d: Vec3,
    ) -> u32 {
        match self.collision(path) {
            Some(collision) => collision.medium,
            None => medium_beyond(scene, &hits[path], d, paths.medium[path]),
        }
    }

    /// Returns and resets the counters of tracking.
    pub fn take_counts(&mut self) -> TrackingCounts {
        self.rays.take_counts()
    }
}

impl<'a> Wavefront<'a> {
    /// Moves the paths whose rays have been traced through media to their next vertices.
    pub(super) fn track_paths(&mut self) {
        let (scene, depth, sampler) = (self.scene, self.depth, &self.samples.sampler);
        let (paths, media) = (&mut self.paths, &mut self.media);
        media.collisions.clear();
        media.collisions.resize(paths.rays.len(), None);
        let mut rays = std::mem::take(&mut paths.rays);
        let walks = (0..).zip(&self.hits).filter_map(|(path, hit): (usize, &Hit)| {
            let medium = paths.medium[path];
            (medium != Walk::NO_MEDIUM || is_interface(scene, hit)).then(|| {
                let set = PATH_SETS.wrapping_add(depth);
                let random = RandomStream::new(sampler, paths.key[path], set);
                let densities = paths.channel_densities[path];
                let weights = ChannelWeights::new(paths.throughput(path), densities);
                Walk::new(path as u32, medium, weights, random)
            })
        });
        media.walks.extend(walks);
        let walks = media.walks.drain(..);
        let arrived =
            media.rays.track(scene, Tracking::Delta, walks, &mut rays, &mut self.hits, |_| ());
        for walk in arrived {
            let (path, weights) = (walk.index as usize, &walk.weights);
            paths.medium[path] = walk.medium;
            paths.set_throughput(path, weights.value);
            paths.channel_densities[path] = weights.delta;
            if paths.pdf[path] > 0.0 {
                // Density 0 would mean that light sampling cannot generate the direction.
                let pdf = paths.pdf[path] / mean(weights.ratio);
                paths.pdf[path] = pdf.max(f32::MIN_POSITIVE);
            }
            if let Some(t) = walk.collision {
                let p = rays[path].o + t * rays[path].d;
                media.collisions[path] = Some(Collision { p, medium: walk.medium });
            }
            if let Some(counts) = self.media_counts.get_mut(paths.sample[path] as usize) {
                counts.add(depth, walk.collision.is_some(), walk.counts);
            }
            if walk.emission != Vec3::ZERO {
                self.samples.add(paths.sample[path], walk.emission);
                if let Some(components) = self.samples.components_mut() {
                    components.add(&Contribution {
                        sample: paths.sample[path],
                        radiance: walk.emission,
                        events: depth,
                        diffuse: paths.diffuse.get(path).copied().unwrap_or(Vec3::ZERO),
                        light_group: scene.lights.groups().of_media(),
                    });
                }
            }
        }
        paths.rays = rays;
    }

    /// Traces the shadow rays through media, and multiplies the pending contributions by their
    /// transmittance and their MIS weights.
    pub(super) fn track_shadow_rays(&mut self) {
        let (depth, sampler, paths) = (self.depth, &self.samples.sampler, &self.paths);
        let PathMedia { rays, shadows, .. } = &mut self.media;
        let start = |ray: u32| {
            let PendingTransmittance { medium, path, .. } = shadows[ray as usize];
            let (key, densities) =
                (paths.key[path as usize], paths.channel_densities[path as usize]);
            let random = RandomStream::new(sampler, key, SHADOW_SETS.wrapping_add(depth));
            Walk::new(ray, medium, ChannelWeights::new(Vec3::ONE, densities), random)
        };
        let (shadow_rays, blocked) = (&mut self.shadows.rays, &mut self.shadows.blocked);
        for Walk { index, weights, .. } in
            rays.track_shadow_rays(self.scene, shadow_rays, blocked, start)
        {
            let shadow = *index as usize;
            let pdf_ratio = shadows[shadow].pdf_ratio * mean(weights.delta);
            self.shadows.pending[shadow].radiance *=
                weights.value * power_heuristic(1.0, pdf_ratio);
        }
        shadows.clear();
    }

    /// Loads paths into a group, with their collisions.
    pub(super) fn load_collisions(&mut self, group: usize, paths: &[u32]) {
        let vertices = &mut self.vertices.groups[group];
        vertices.load(&self.paths, paths);
        for (lane, &path) in paths.iter().enumerate() {
            if let Some(collision) = self.media.collision(path as usize) {
                let d = self.paths.rays[path as usize].d;
                vertices.surface.set_medium_point(lane, collision.p, d);
            }
        }
    }

    /// Generates the random numbers of a group of collisions, and sets the phase functions, whose
    /// parameters `batch` collects.
    pub(super) fn prepare_collisions(
        &mut self,
        group: usize,
        batch: &mut ShadingBatch<'_, 'a>,
        depth: u32,
    ) {
        let (scene, sampler) = (self.scene, &self.samples.sampler);
        let vertices = &mut self.vertices.groups[group];
        vertices.set_wo(SurfaceSides::Both);
        sampler.get4_columns(&vertices.key, 2 * depth + 1, &mut vertices.light_u);
        sampler.get4_columns(&vertices.key, 2 * depth + 2, &mut vertices.bsdf_u);
        for lane in 0..vertices.len {
            let path = vertices.path[lane] as usize;
            let Collision { p, medium } =
                self.media.collision(path).expect("the path has a collision");
            let medium = &scene.media[medium as usize];
            vertices.set_material(lane, None, Some((&medium.phase, SurfaceSides::Both)));
            let surface = &vertices.surface;
            batch.set_material(
                group * COLUMN_LEN + lane,
                (&medium.phase, None),
                || surface.lookup(lane),
                surface.frame[2].get(lane),
                || [p + scene.geometry.origin.as_vec3(), medium.transform.inverse().point(p)],
            );
            if self.light_picker.depends_on_point() {
                self.vertices.receivers.push(receiver(
                    &self.light_picker,
                    Some(batch.binding()),
                    Some(&medium.phase),
                    (p, &surface.frame(lane)),
                    -self.paths.rays[path].d,
                    1.0,
                ));
            }
        }
        vertices.set_direction_u(None);
        let [u, v] = &vertices.direction_u.0;
        batch.set_points(group, [u, v], &vertices.wo);
    }
}

#[cfg(test)]
mod tests {
    use crate::Scene;
    use crate::integrator::medium_testing::{
        self, Checker, assert_close, environment, single_scattering, sphere,
    };
    use crate::medium::{Homogeneous, MediumPoint};
    use crate::settings::IntegratorSettings;
    use lightbound_math::sampling::{hash, unit_float};
    use lightbound_math::{Vec3, vec3};

    fn radiance(scene: &Scene, max_depth: u32, samples: u32) -> Vec3 {
        let settings = IntegratorSettings { max_depth, ..IntegratorSettings::default() };
        medium_testing::radiance(scene, settings, samples)
    }

    #[test]
    fn absorption_attenuates_each_channel() {
        let point = MediumPoint { extinction: vec3(0.2, 1.0, 0.0), ..MediumPoint::default() };
        let scene = sphere(Box::new(Homogeneous(point)), 0.0, environment(1.0));
        let expected = Vec3::from_array([0.4f32, 2.0, 0.0].map(|depth| (-depth).exp()));
        assert_close(radiance(&scene, 4, 4096), expected, 0.03);
    }

    #[test]
    fn emission_adds_up_along_the_ray() {
        let point = MediumPoint {
            extinction: vec3(0.2, 1.0, 3.0),
            albedo: Vec3::ZERO,
            emission: vec3(0.2, 1.0, 3.0),
        };
        let scene = sphere(Box::new(Homogeneous(point)), 0.0, environment(0.0));
        let expected = Vec3::from_array([0.4f32, 2.0, 6.0].map(|depth| 1.0 - (-depth).exp()));
        assert_close(radiance(&scene, 4, 4096), expected, 0.03);
    }

    #[test]
    fn scattering_without_absorption_keeps_a_constant_environment() {
        for extinction in [Vec3::ONE, vec3(0.5, 1.0, 3.0)] {
            for g in [0.0, 0.6] {
                let field = Checker { extinction, albedo: Vec3::ONE, emission: Vec3::ZERO };
                let scene = sphere(Box::new(field), g, environment(1.0));
                assert_close(radiance(&scene, 200, 2048), Vec3::ONE, 0.04);
            }
        }
    }

    #[test]
    fn roulette_spares_paths_with_hundreds_of_collisions() {
        let extinction = Vec3::splat(100.0);
        let point = MediumPoint { extinction, albedo: Vec3::ONE, ..MediumPoint::default() };
        let scene = sphere(Box::new(Homogeneous(point)), 0.0, environment(1.0));
        assert_close(radiance(&scene, 100_000, 2048), Vec3::ONE, 0.03);
    }

    #[test]
    fn single_scattering_of_a_point_light_is_the_integral_along_the_ray() {
        let (scene, expected) = single_scattering();
        assert_close(radiance(&scene, 1, 4096), expected, 0.02);
    }

    /// Estimates the light that leaves the sphere towards the camera by analog simulation of one
    /// channel, for a constant environment of radiance 1 and g = 0.
    fn simulate(field: &Checker, channel: usize, walks: u32) -> f32 {
        let mut count = 0;
        let mut unit = move || {
            count += 1;
            unit_float(hash(hash(1, channel as u32), count))
        };
        let majorant = 2.0 * field.extinction[channel];
        let mut sum = 0.0;
        for _ in 0..walks {
            let (mut p, mut d, mut emitted) = (vec3(0.0, 0.0, -1.0), Vec3::Z, 0.0f32);
            loop {
                p += -f32::ln(1.0 - unit()) / majorant * d;
                if p.length_squared() > 1.0 {
                    sum += 1.0 + emitted;
                    break;
                }
                let density = Checker::density(p)[channel];
                emitted += field.emission[channel] * density / majorant;
                if unit() < density / 2.0 {
                    if unit() >= field.albedo[channel] {
                        sum += emitted;
                        break;
                    }
                    let (z, phi): (f32, f32) = (1.0 - 2.0 * unit(), std::f32::consts::TAU * unit());
                    let r = (1.0 - z * z).sqrt();
                    d = vec3(r * phi.cos(), r * phi.sin(), z);
                }
            }
        }
        sum / walks as f32
    }

    #[test]
    fn heterogeneous_chromatic_media_agree_with_analog_simulation() {
        // Without emission, collisions with the minorant are told from those with the residual.
        for emission in [vec3(0.3, 0.0, 0.6), Vec3::ZERO] {
            let extinction = vec3(0.5, 1.0, 3.0);
            let field = Checker { extinction, albedo: vec3(0.9, 0.5, 0.7), emission };
            let scene = sphere(Box::new(field), 0.0, environment(1.0));
            let expected = [0, 1, 2].map(|channel| simulate(&field, channel, 200_000));
            assert_close(radiance(&scene, 100, 8192), Vec3::from_array(expected), 0.02);
        }
    }
}
