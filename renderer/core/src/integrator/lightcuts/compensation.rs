//! Compensation for clamped virtual lights (Kollig and Keller 2004): rays that find the light lost
//! to clamping. Without compensation, a few of them measure how much was lost.

use super::vertex::{DirectionSample, MediumVertex, PathVertex};
use super::worker::{LightcutsWorker, Path};
use crate::integrator::medium_rays::medium_beyond;
use crate::integrator::mix::resolve_mix;
use crate::integrator::shadow_terminator::soft_factor;
use crate::material::{GRAZING_COSINE, Material, PathWavelength, ShaderInstance};
use lightbound_math::sampling::hash;
use lightbound_math::{Ray, Vec2, Vec3, vec2};

/// Without compensation, rays from one in `MEASUREMENT_INTERVAL` points measure the light that is
/// lost.
const MEASUREMENT_INTERVAL: u32 = 16;

impl LightcutsWorker<'_> {
    /// Returns whether virtual lights may illuminate a vertex of a path. Vertices that compensate have the
    /// depth of the vertices of paths from lights.
    pub(super) fn has_virtual_lights(&self, path: &Path, depth: u32) -> bool {
        let vertices = if path.compensations > 0 { path.compensations } else { depth };
        vertices + 2 <= self.integrator.max_depth
    }

    /// Continues a path with a ray that finds the light lost to clamping.
    pub(super) fn compensate(
        &mut self,
        vertex: &PathVertex<'_>,
        instance: &ShaderInstance,
        path: &Path,
        u: Vec2,
        depth: u32,
    ) {
        let Some(mut path) = self.compensating_path(path, depth) else { return };
        let needs = instance.needs();
        let material = (instance, path.nm);
        let sample = vertex.sample_direction(&mut self.shading, self.scene, material, needs, u);
        let d = vertex.to_world(self.scene, instance, sample.wi);
        if self.has_soft_terminator() {
            path.throughput *= soft_factor(d, vertex.surface.frame.n, vertex.surface.ng);
        }
        path.medium = medium_beyond(self.scene, vertex.hit, d, path.medium);
        let origin = vertex.surface.offset_ray_origin(d);
        self.add_compensating_ray(
            &sample,
            Ray { time: vertex.hit.time, ..Ray::new(origin, d) },
            path,
        );
    }

    /// The same for a path that ends in a medium, `path.medium`.
    pub(super) fn compensate_in_medium(
        &mut self,
        vertex: &MediumVertex<'_>,
        path: &Path,
        (time, u): (f32, Vec2),
        depth: u32,
    ) {
        let Some(path) = self.compensating_path(path, depth) else { return };
        let sample = vertex.sample_direction(&mut self.shading, self.scene, u);
        let d = vertex.surface.frame.to_world(sample.wi);
        self.add_compensating_ray(&sample, Ray { time, ..Ray::new(vertex.surface.p, d) }, path);
    }

    /// Returns the continuation of a path by a ray that finds or measures the light lost to clamping,
    /// without the weight of the direction; `None` if there is none.
    fn compensating_path(&self, path: &Path, depth: u32) -> Option<Path> {
        let indirect = self.integrator.indirect.as_ref()?;
        if !self.has_virtual_lights(path, depth) {
            return None;
        }
        let mut next = Path { compensations: path.compensations + 1, ..*path };
        if !indirect.compensation && !path.is_measurement {
            if !hash(path.key.hash(), depth).is_multiple_of(MEASUREMENT_INTERVAL) {
                return None;
            }
            next.throughput *= MEASUREMENT_INTERVAL as f32;
            next.is_measurement = true;
        }
        if path.compensations == 0 {
            next.first_throughput = next.throughput.abs().max_element();
        }
        Some(next)
    }

    /// Adds the ray in a sampled direction, with the clamp distance as its length.
    fn add_compensating_ray(&mut self, sample: &DirectionSample, ray: Ray, path: Path) {
        let Some(indirect) = &self.integrator.indirect else { return };
        let throughput = path.throughput * sample.s / sample.pdf;
        if sample.pdf <= 0.0 || throughput == Vec3::ZERO {
            return;
        }
        self.next_rays.push(Ray { tmax: indirect.clamp_distance, ..ray });
        self.next_paths.push(Path { throughput, ..path });
    }

    /// Returns whether a path survives at a point that a compensating ray has found: with the
    /// probability that clamping takes the point's light away.
    ///
    /// A ray through media finds several points. So that paths do not multiply, a path with less
    /// throughput than the first of its compensating rays started with also survives in proportion to
    /// it.
    pub(super) fn survives(&self, path: &mut Path, distance: f32, u: f32) -> bool {
        let Some(indirect) = &self.integrator.indirect else { return false };
        let ratio = distance / indirect.clamp_distance;
        let share = 1.0 - ratio * ratio;
        if !self.has_media {
            return u < share;
        }
        let survival = path.throughput.abs().max_element() / path.first_throughput;
        let survival = survival.min(1.0);
        path.throughput /= survival;
        u < share * survival
    }

    /// Adds the light of a surface that a compensating ray hits.
    pub(super) fn process_compensation(&mut self, index: usize, depth: u32) {
        let (scene, hit, ray, mut path) =
            (self.scene, self.hits[index], self.rays[index], self.paths[index]);
        if hit.is_miss() {
            return;
        }
        let mut surface = scene.geometry.surface(&hit, ray.d);
        let [mut lobe_u, u, v, roulette_u] = self.samples.sampler.get4(path.key, 2 * depth + 2);
        if !self.survives(&mut path, surface.p.distance(ray.o), roulette_u) {
            return;
        }
        let material = resolve_mix(scene, &hit, ray.d, &mut lobe_u);
        if let Some(frame) = scene.bumped_frame(&hit, ray.d, &surface, material) {
            surface.frame = frame;
        }
        let wo = surface.frame.local_direction(-ray.d);
        if let Material::Surface { scattering: Some(instance), .. } =
            &scene.materials[material as usize]
            && wo.z.abs() > GRAZING_COSINE
        {
            if instance.dispersive_index().is_some() {
                let (nm, colour) = PathWavelength { nm: path.nm, u: lobe_u }.select();
                (path.nm, path.throughput) = (Some(nm), path.throughput * colour);
            }
            let vertex = PathVertex { hit: &hit, d: ray.d, surface: &surface, wo };
            let has_virtual_lights = self.has_virtual_lights(&path, depth);
            self.add_reflected_light(&vertex, instance, &path, (depth, has_virtual_lights));
            self.compensate(&vertex, instance, &path, vec2(u, v), depth);
        }
    }
}
