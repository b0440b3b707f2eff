//! Mixed materials.

use crate::geometry::Hit;
use crate::material::Material;
use crate::scene::Scene;
use lightbound_math::Vec3;
use lightbound_math::sampling::ONE_MINUS_EPSILON;

/// Returns the material at the hit of a ray of direction `d`. At mixed materials, the random number
/// `u` selects one of the two materials and is remapped to [0, 1) for reuse.
pub(super) fn resolve_mix(scene: &Scene, hit: &Hit, d: Vec3, u: &mut f32) -> u32 {
    let mut material = scene.geometry.primitives[hit.primitive as usize].material;
    while let Material::Mix { materials, amount } = &scene.materials[material as usize] {
        let surface = scene.geometry.surface(hit, d);
        let lookup = scene.lookup(hit, d, &surface, amount.needs());
        let amount = amount.float(&lookup).clamp(0.0, 1.0);
        let second = *u < amount;
        material = materials[usize::from(second)];
        *u = if second { *u / amount } else { (*u - amount) / (1.0 - amount) };
        *u = u.min(ONE_MINUS_EPSILON);
    }
    material
}
