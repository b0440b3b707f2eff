//! Parts that both integrators share: camera rays, mixed materials, denoiser features.

use crate::film::Features;
use crate::filter::Filter;
use crate::geometry::{Hit, Surface};
use crate::material::Material;
use crate::scene::Scene;
use lightbound_math::sampling::{ONE_MINUS_EPSILON, PathKey, Sampler};
use lightbound_math::{Ray, Vec3, vec2};

/// Set of four sampler dimensions of the camera ray. Each scattering event uses two later sets.
const CAMERA_SET: u32 = 0;

/// Generates the camera ray of a sample of pixel (x, y); returns it with the filter weight.
pub(super) fn camera_ray(
    scene: &Scene,
    filter: &Filter,
    sampler: &Sampler,
    key: PathKey,
    x: u32,
    y: u32,
) -> (Ray, f32) {
    let [u0, u1, lens_u, lens_v] = sampler.get4(key, CAMERA_SET);
    let (offset, weight) = filter.sample(vec2(u0, u1));
    let raster = vec2(x as f32 + 0.5, y as f32 + 0.5) + offset;
    (scene.camera.ray(raster, vec2(lens_u, lens_v)), weight)
}

/// Returns the material at a hit. At mixed materials the random number `lobe` selects one of two
/// materials and is remapped to [0, 1) for reuse.
pub(super) fn resolve_mix(scene: &Scene, hit: &Hit, lobe: &mut f32) -> u32 {
    let mut material = scene.geometry.primitives[hit.primitive as usize].material;
    while let Material::Mix { materials, amount } = &scene.materials[material as usize] {
        let amount = amount.float(&scene.geometry.surface(hit).lookup()).clamp(0.0, 1.0);
        let second = *lobe < amount;
        material = materials[usize::from(second)];
        *lobe = if second { *lobe / amount } else { (*lobe - amount) / (1.0 - amount) };
        *lobe = lobe.min(ONE_MINUS_EPSILON);
    }
    material
}

/// Returns the refractive index on the side of `wi` divided by that on the side of `wo`, for a
/// surface with index `eta` below it; 1 for reflection.
pub(super) fn eta_ratio(eta: f32, wi: Vec3, wo: Vec3) -> f32 {
    match wi.z * wo.z < 0.0 {
        true if wo.z > 0.0 => eta,
        true => 1.0 / eta,
        false => 1.0,
    }
}

/// Returns the denoiser features of a camera ray's hit. The albedo is set later.
pub(super) fn features(scene: &Scene, hit: &Hit, surface: &Surface) -> Features {
    Features {
        albedo: Vec3::ZERO,
        normal: surface.frame.n,
        position: surface.p,
        depth: scene.camera.depth(surface.p),
        material: scene.geometry.primitives[hit.primitive as usize].material + 1,
        object: scene.geometry.object_id(hit) + 1,
    }
}
