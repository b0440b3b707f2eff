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
use crate::integrator::sample_components::Contribution;
use crate::integrator::shading::ShadingBatch;
use crate::material::Material;
use crate::medium::{ChannelWeights, Tracker, Tracking, TrackingCounts, Walk, WalkCounts};
use crate::scene::Scene;
use lightbound_math::sampling::{RandomStream, power_heuristic};
use lightbound_math::{COLUMN_LEN, Ray, Vec3};
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

/// Rays in media, with buffers.
#[derive(Default)]
pub(super) struct MediaRays<'a> {
    tracker: Tracker<'a>,
    has_interfaces: bool,
    /// Rays on their way, and those that have arrived.
    walks: Vec<Walk>,
    arrived: Vec<Walk>,
    /// Rays that have crossed an interface, and their next hits.
    rays: Vec<Ray>,
    hits: Vec<Hit>,
    /// The hits of shadow rays.
    shadow_hits: Vec<Hit>,
    /// The collision of each path that has one.
    collisions: Vec<Option<Collision>>,
    /// Shadow rays, one for each pending contribution.
    pub shadows: Vec<PendingTransmittance>,
}

/// A collision of a path in a medium.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collision {
    /// Position in render space.
    pub p: Vec3,
    /// Index of the medium.
    pub medium: u32,
}

impl<'a> MediaRays<'a> {
    pub fn new(scene: &Scene) -> MediaRays<'a> {
        MediaRays { has_interfaces: has_interfaces(scene), ..MediaRays::default() }
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
        self.tracker.take_counts()
    }

    /// Tracks all walks, through all interfaces, until they collide, reach a surface, or have value
    /// 0. `hits` are the ends of the first segments.
    fn track(&mut self, scene: &'a Scene, tracking: Tracking, rays: &mut [Ray], hits: &mut [Hit]) {
        self.arrived.clear();
        while !self.walks.is_empty() {
            for walk in &mut self.walks {
                let (ray, hit) = (&rays[walk.index as usize], &hits[walk.index as usize]);
                walk.segment = [ray.tmin, hit.t.min(ray.tmax)];
            }
            self.walks.sort_by_key(|walk| walk.medium);
            for walks in self.walks.chunk_by_mut(|a, b| a.medium == b.medium) {
                if let Some(medium) = scene.media.get(walks[0].medium as usize) {
                    self.tracker.track(medium, tracking, walks, |ray| rays[ray as usize]);
                }
            }
            self.rays.clear();
            let (arrived, crossing) = (&mut self.arrived, &mut self.rays);
            self.walks.retain_mut(|walk| {
                let (ray, hit) = (&mut rays[walk.index as usize], &hits[walk.index as usize]);
                let ends = walk.collision.is_some() || walk.weights.value == Vec3::ZERO;
                if ends || !is_interface(scene, hit) {
                    arrived.push(*walk);
                    return false;
                }
                walk.medium = medium_beyond(scene, hit, ray.d, walk.medium);
                ray.tmin = hit.t.next_up();
                crossing.push(*ray);
                true
            });
            if !self.walks.is_empty() {
                scene.accel.intersect_batch(&self.rays, &mut self.hits);
                for (walk, hit) in self.walks.iter().zip(&self.hits) {
                    hits[walk.index as usize] = *hit;
                }
            }
        }
    }
}

/// Returns whether rays pass through media or interfaces between them.
pub(super) fn has_media(scene: &Scene) -> bool {
    !scene.media.is_empty() || has_interfaces(scene)
}

fn has_interfaces(scene: &Scene) -> bool {
    scene.materials.iter().any(|material| matches!(material, Material::Interface))
}

/// Returns whether a hit is an interface between media.
fn is_interface(scene: &Scene, hit: &Hit) -> bool {
    !hit.is_miss() && {
        let primitive = &scene.geometry.primitives[hit.primitive as usize];
        matches!(scene.materials[primitive.material as usize], Material::Interface)
    }
}

/// Returns the medium on the side of a surface to which `d` points, as in [`Walk::medium`]; `medium`
/// if the surface does not separate media.
fn medium_beyond(scene: &Scene, hit: &Hit, d: Vec3, medium: u32) -> u32 {
    match &scene.geometry.primitives[hit.primitive as usize].media {
        Some(media) => index(media.on_side(scene.geometry.surface(hit, d).ng, d)),
        None => medium,
    }
}

/// Returns the mean over the channels.
fn mean(v: Vec3) -> f32 {
    v.element_sum() * (1.0 / 3.0)
}

/// Converts an optional index to that of [`Walk::medium`].
pub(super) fn index(medium: Option<u32>) -> u32 {
    medium.unwrap_or(Walk::NO_MEDIUM)
}

impl<'a> Wavefront<'a> {
    /// Moves the paths whose rays have been traced through media to their next vertices.
    pub(super) fn track_paths(&mut self) {
        let (scene, depth) = (self.scene, self.depth);
        let (paths, media) = (&mut self.paths, &mut self.media);
        media.collisions.clear();
        media.collisions.resize(paths.rays.len(), None);
        media.walks.clear();
        for (path, hit) in self.hits.iter().enumerate() {
            let medium = paths.medium[path];
            if medium == Walk::NO_MEDIUM && !is_interface(scene, hit) {
                continue;
            }
            media.walks.push(Walk {
                index: path as u32,
                medium,
                segment: [0.0; 2],
                weights: ChannelWeights::new(paths.throughput(path), paths.channel_densities[path]),
                random: RandomStream::new(
                    &self.samples.sampler,
                    paths.key[path],
                    PATH_SETS.wrapping_add(depth),
                ),
                emission: Vec3::ZERO,
                collision: None,
                counts: WalkCounts::default(),
            });
        }
        media.track(scene, Tracking::Delta, &mut paths.rays, &mut self.hits);
        for walk in &media.arrived {
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
                let ray = &paths.rays[path];
                media.collisions[path] =
                    Some(Collision { p: ray.o + t * ray.d, medium: walk.medium });
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
    }

    /// Traces the shadow rays through media, and multiplies the pending contributions by their
    /// transmittance and their MIS weights.
    pub(super) fn track_shadow_rays(&mut self) {
        let (scene, depth) = (self.scene, self.depth);
        let media = &mut self.media;
        self.blocked.clear();
        media.shadow_hits.clear();
        if media.has_interfaces {
            scene.accel.intersect_batch(&self.shadow_rays, &mut media.shadow_hits);
            let is_blocked = |hit: &Hit| !hit.is_miss() && !is_interface(scene, hit);
            self.blocked.extend(media.shadow_hits.iter().map(is_blocked));
        } else {
            scene.accel.occluded_batch(&self.shadow_rays, &mut self.blocked);
            media.shadow_hits.resize(self.shadow_rays.len(), Hit::MISS);
        }
        media.walks.clear();
        for (index, (blocked, shadow)) in self.blocked.iter().zip(&media.shadows).enumerate() {
            if *blocked {
                continue;
            }
            let path = shadow.path as usize;
            media.walks.push(Walk {
                index: index as u32,
                medium: shadow.medium,
                segment: [0.0; 2],
                weights: ChannelWeights::new(Vec3::ONE, self.paths.channel_densities[path]),
                random: RandomStream::new(
                    &self.samples.sampler,
                    self.paths.key[path],
                    SHADOW_SETS.wrapping_add(depth),
                ),
                emission: Vec3::ZERO,
                collision: None,
                counts: WalkCounts::default(),
            });
        }
        let mut hits = std::mem::take(&mut media.shadow_hits);
        media.track(scene, Tracking::Ratio, &mut self.shadow_rays, &mut hits);
        for Walk { index, weights, .. } in &media.arrived {
            let shadow = *index as usize;
            self.blocked[shadow] = !hits[shadow].is_miss() || weights.value == Vec3::ZERO;
            let pdf_ratio = media.shadows[shadow].pdf_ratio * mean(weights.delta);
            self.pending[shadow].radiance *= weights.value * power_heuristic(1.0, pdf_ratio);
        }
        media.shadow_hits = hits;
        media.shadows.clear();
    }
}

impl<'a> Wavefront<'a> {
    /// Loads paths into a group, with their collisions.
    pub(super) fn load_collisions(&mut self, group: usize, paths: &[u32]) {
        let vertices = &mut self.groups[group];
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
        let vertices = &mut self.groups[group];
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
                self.receivers.push(receiver(
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
    use crate::camera::Camera;
    use crate::geometry::{Shape, Sphere};
    use crate::light::{AnyLight, Environment, PointLight};
    use crate::medium::{Field, Homogeneous, MediumPoint};
    use crate::render::{RenderOptions, render};
    use crate::settings::RenderSettings;
    use crate::{Scene, SceneBuilder};
    use lightbound_math::sampling::{hash, unit_float};
    use lightbound_math::{Aabb, Transform, Vec3, vec3};

    const HENYEY_GREENSTEIN: &str = "//! sides: both\n//! cosine: included\n
        struct Material { g: f32 }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
            let d = 1.0 + m.g * m.g + 2.0 * m.g * dot(wi, wo);
            return vec3f((1.0 - m.g * m.g) / (12.566371 * d * sqrt(d)));
        }";

    /// Cells of density 0.1 and 2, with chromatic albedo and emission.
    #[derive(Clone, Copy, Debug)]
    struct Checker {
        extinction: Vec3,
        albedo: Vec3,
        emission: Vec3,
    }

    impl Checker {
        fn density(p: Vec3) -> f32 {
            let cell = (3.0 * p + 0.5).floor().element_sum();
            if cell.rem_euclid(2.0) == 0.0 { 2.0 } else { 0.1 }
        }
    }

    impl Field for Checker {
        fn bounds(&self) -> Option<Aabb> {
            Some(Aabb { min: Vec3::splat(-1.0), max: Vec3::splat(1.0) })
        }

        fn emits(&self) -> bool {
            self.emission != Vec3::ZERO
        }

        fn extinction(&self) -> Vec3 {
            self.extinction
        }

        fn density_bounds(&self, boxes: &[Aabb], out: &mut Vec<[f32; 2]>) {
            out.clear();
            out.resize(boxes.len(), [0.1, 2.0]);
        }

        fn evaluate(&self, points: &[Vec3], out: &mut Vec<MediumPoint>) {
            out.clear();
            out.extend(points.iter().map(|&p| MediumPoint {
                extinction: self.extinction * Checker::density(p),
                albedo: self.albedo,
                emission: self.emission * Checker::density(p),
            }));
        }
    }

    /// Creates a scene with a sphere of a medium of radius 1 at the origin, seen from z = −3.
    fn sphere(field: Box<dyn Field>, g: f64, light: AnyLight) -> Scene {
        let mut builder = SceneBuilder::new();
        let (g, wgsl) = ([g], HENYEY_GREENSTEIN);
        let phase = ("hg.wgsl", wgsl, &[("g", &g[..])][..]);
        let medium = builder.add_medium("m", Transform::IDENTITY, field, phase).unwrap();
        let sphere = Sphere::full(&Transform::IDENTITY, 1.0).unwrap();
        builder.add_medium_boundary(Shape::Sphere(sphere), None, Some(medium), None);
        builder.add_light(light);
        let camera = Camera::look_at(vec3(0.0, 0.0, -3.0), Vec3::ZERO, Vec3::Y, 1.0, (2, 2));
        builder.build(camera).unwrap()
    }

    /// Returns the mean radiance of all pixels, which look through the centre of the sphere.
    fn radiance(scene: &Scene, max_depth: u32, samples: u32) -> Vec3 {
        let mut settings = RenderSettings::with_resolution(2, 2);
        settings.integrator.max_depth = max_depth;
        settings.sampling.spp = samples;
        let image = render(scene, &settings, &RenderOptions::default()).unwrap().image;
        image.radiance.iter().map(|&rgb| Vec3::from_array(rgb)).sum::<Vec3>() / 4.0
    }

    fn environment(radiance: f32) -> AnyLight {
        AnyLight::Environment(Environment::constant(Vec3::splat(radiance)))
    }

    fn assert_close(value: Vec3, expected: Vec3, tolerance: f32) {
        let error = ((value - expected) / expected).abs().max_element();
        assert!(error < tolerance, "{value} is not {expected}, relative error {error}");
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
    fn single_scattering_of_a_point_light_is_the_integral_along_the_ray() {
        let point = MediumPoint {
            extinction: vec3(0.5, 1.0, 2.0),
            albedo: vec3(0.9, 0.5, 0.3),
            emission: Vec3::ZERO,
        };
        let light = vec3(0.0, 0.5, 0.0);
        let light_source = AnyLight::Point(PointLight::new(light, Vec3::splat(10.0)));
        let scene = sphere(Box::new(Homogeneous(point)), 0.5, light_source);
        let (mut expected, steps) = (Vec3::ZERO, 10_000);
        for step in 0..steps {
            let depth = (step as f32 + 0.5) * 2.0 / steps as f32;
            let p = vec3(0.0, 0.0, depth - 1.0);
            let (wi, distance) = ((light - p).normalize(), (light - p).length());
            let d = 1.25 - 2.0 * 0.5 * wi.z;
            let phase = 0.75 / (12.566_371 * d * d.sqrt());
            let attenuation = (-(depth + distance) * point.extinction).exp();
            let scattering = point.extinction * point.albedo;
            expected += scattering * attenuation * (10.0 * phase / (distance * distance));
        }
        expected *= 2.0 / steps as f32;
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
                let density = Checker::density(p);
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
        let field = Checker {
            extinction: vec3(0.5, 1.0, 3.0),
            albedo: vec3(0.9, 0.5, 0.7),
            emission: vec3(0.3, 0.0, 0.6),
        };
        let scene = sphere(Box::new(field), 0.0, environment(1.0));
        let expected = [0, 1, 2].map(|channel| simulate(&field, channel, 200_000));
        assert_close(radiance(&scene, 100, 8192), Vec3::from_array(expected), 0.02);
    }
}
