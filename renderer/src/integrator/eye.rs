//! What integrators do alike for what the eye sees: camera rays, materials at hits, features.

use crate::film::Features;
use crate::geometry::{Hit, Surface};
use crate::material::Material;
use crate::math::{Ray, Vec3, vec2};
use crate::sampling::{ONE_MINUS_EPSILON, PathKey, Sampler};
use crate::scene::Scene;

/// The sampler's first set of four dimensions; each scattering event has two behind it.
const CAMERA_SET: u32 = 0;

/// The ray of a camera sample of pixel (x, y), and the filter's weight.
pub(super) fn camera_ray(
    scene: &Scene,
    sampler: &Sampler,
    key: PathKey,
    x: u32,
    y: u32,
) -> (Ray, f32) {
    let [u0, u1, lens_u, lens_v] = sampler.get4(key, CAMERA_SET);
    let (offset, weight) = scene.filter.sample(vec2(u0, u1));
    let raster = vec2(x as f32 + 0.5, y as f32 + 0.5) + offset;
    (scene.camera.ray(raster, vec2(lens_u, lens_v)), weight)
}

/// The material at a hit, one of two where they are mixed; the number that chose it is as good as
/// new.
pub(super) fn material(scene: &Scene, hit: &Hit, lobe: &mut f32) -> u32 {
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

/// Index of refraction of the side of `wi` over that of `wo`, for a surface with the index `eta`
/// below; 1 where both are on one side.
pub(super) fn eta_ratio(eta: f32, wi: Vec3, wo: Vec3) -> f32 {
    match wi.z * wo.z < 0.0 {
        true if wo.z > 0.0 => eta,
        true => 1.0 / eta,
        false => 1.0,
    }
}

/// What a camera ray saw; its albedo is not known yet.
pub(super) fn seen(scene: &Scene, hit: &Hit, surface: &Surface) -> Features {
    Features {
        albedo: Vec3::ZERO,
        normal: surface.frame.n,
        position: surface.p,
        depth: scene.camera.depth(surface.p),
        material: scene.geometry.primitives[hit.primitive as usize].material + 1,
        object: scene.geometry.object(hit) + 1,
    }
}
