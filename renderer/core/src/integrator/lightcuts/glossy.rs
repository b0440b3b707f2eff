//! Paths that continue at glossy surfaces.
//!
//! A cut finds the direct light of a glossy surface without noise, but virtual lights render its
//! indirect light badly: few are inside its narrow lobe, and those are bright. They do not show what is
//! behind rough glass either. So paths continue at such surfaces in a sampled direction, which finds all
//! indirect light, and virtual lights do not illuminate them. The next surface has a cut again.
//!
//! Whether a surface is glossy depends on its material and the direction of the path alone, not on
//! the sampled direction, so either way is unbiased.

use super::vertex::PathVertex;
use super::worker::{LightcutsWorker, Path};
use crate::integrator::medium_rays::medium_beyond;
use crate::integrator::shadow_terminator::soft_factor;
use crate::material::ShaderInstance;
use lightbound_math::{Ray, Vec2, Vec3};

/// Least mean density of sampled directions of a glossy surface, 1/sr: for a uniform lobe, the inverse of
/// its solid angle. That of a diffuse surface is 2/(3π).
const MIN_DENSITY: f32 = 1.0;

impl LightcutsWorker<'_> {
    /// Returns whether a path continues at a vertex with a shader.
    pub(super) fn continues_at_lobe(
        &mut self,
        vertex: &PathVertex<'_>,
        instance: &ShaderInstance,
        path: &Path,
        depth: u32,
    ) -> bool {
        if !self.integrator.glossy_paths || depth + 1 >= self.integrator.max_depth {
            return false;
        }
        let material = (instance, path.nm);
        vertex.mean_density(&mut self.shading, self.scene, material) >= MIN_DENSITY
    }

    /// Continues a path in a direction that the shader samples. `probability` is that of continuing
    /// in this way.
    pub(super) fn continue_at_lobe(
        &mut self,
        vertex: &PathVertex<'_>,
        instance: &ShaderInstance,
        path: &Path,
        (probability, u): (f32, Vec2),
    ) {
        let (scene, needs) = (self.scene, instance.needs());
        let material = (instance, path.nm);
        let sample = vertex.sample_direction(&mut self.shading, scene, material, needs, u);
        let mut throughput = path.throughput * sample.s / (sample.pdf * probability);
        if sample.pdf <= 0.0 || throughput == Vec3::ZERO {
            return;
        }
        let d = vertex.to_world(scene, instance, sample.wi);
        if self.has_soft_terminator() {
            throughput *= soft_factor(d, vertex.surface.frame.n, vertex.surface.ng);
        }
        let ray = Ray::new(vertex.surface.offset_ray_origin(d), d);
        let medium = medium_beyond(scene, vertex.hit, d, path.medium);
        self.next_rays.push(Ray { time: vertex.hit.time, ..ray });
        self.next_paths.push(Path { throughput, medium, sees_lights: false, ..*path });
    }
}
