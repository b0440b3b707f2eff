//! Compensation for clamped virtual lights (Kollig and Keller 2004): rays that find the light lost
//! to clamping. Without compensation, a few of them measure how much was lost.

use super::vertex::PathVertex;
use super::worker::{LightcutsWorker, Path};
use crate::integrator::mix::resolve_mix;
use crate::integrator::shadow_terminator::soft_factor;
use crate::material::{GRAZING_COSINE, Material, PathWavelength, ShaderInstance};
use lightbound_math::sampling::hash;
use lightbound_math::{Ray, Vec2, Vec3, vec2};

/// Without compensation, rays from one in `MEASUREMENT_INTERVAL` points measure the light that is
/// lost.
const MEASUREMENT_INTERVAL: u32 = 16;

impl LightcutsWorker<'_> {
    /// Returns whether virtual lights illuminate a vertex of a path. Vertices that compensate have the
    /// depth of the surfaces of paths from lights.
    pub(super) fn has_virtual_lights(&self, path: &Path, depth: u32) -> bool {
        let surfaces = if path.compensations > 0 { path.compensations } else { depth };
        surfaces + 2 <= self.integrator.max_depth
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
        let Some(indirect) = &self.integrator.indirect else { return };
        if !self.has_virtual_lights(path, depth) {
            return;
        }
        let is_measured = || hash(path.key.hash(), depth).is_multiple_of(MEASUREMENT_INTERVAL);
        if !(indirect.compensation || path.is_measurement || is_measured()) {
            return;
        }
        let needs = instance.needs();
        let material = (instance, path.nm);
        let sample = vertex.sample_direction(&mut self.shading, self.scene, material, needs, u);
        let d = vertex.to_world(self.scene, instance, sample.wi);
        let mut throughput = path.throughput * sample.s / sample.pdf;
        let mut is_measurement = path.is_measurement;
        if !indirect.compensation && !is_measurement {
            is_measurement = true;
            throughput *= MEASUREMENT_INTERVAL as f32;
        }
        if self.has_soft_terminator() {
            throughput *= soft_factor(d, vertex.surface.frame.n, vertex.surface.ng);
        }
        if sample.pdf <= 0.0 || throughput == Vec3::ZERO {
            return;
        }
        let origin = vertex.surface.offset_ray_origin(d);
        let (time, tmax) = (vertex.hit.time, indirect.clamp_distance);
        self.next_rays.push(Ray { time, tmax, ..Ray::new(origin, d) });
        let compensations = path.compensations + 1;
        self.next_paths.push(Path { throughput, compensations, is_measurement, ..*path });
    }

    /// Adds the light of a surface that a compensating ray hits.
    pub(super) fn process_compensation(&mut self, index: usize, depth: u32) {
        let (scene, hit, ray, mut path) =
            (self.scene, self.hits[index], self.rays[index], self.paths[index]);
        let Some(indirect) = self.integrator.indirect.as_ref().filter(|_| !hit.is_miss()) else {
            return;
        };
        let mut surface = scene.geometry.surface(&hit, ray.d);
        // The share that clamping takes away. It is the probability that the path survives.
        let ratio = surface.p.distance(ray.o) / indirect.clamp_distance;
        let [mut lobe_u, u, v, roulette_u] = self.samples.sampler.get4(path.key, 2 * depth + 2);
        if roulette_u >= 1.0 - ratio * ratio {
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
            self.add_reflected_light(&vertex, instance, &path, depth);
            self.compensate(&vertex, instance, &path, vec2(u, v), depth);
        }
    }
}
