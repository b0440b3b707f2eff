//! `gltf_pbr` as `gltf`.

use super::{Inputs, Surface};
use crate::error::Error;
use crate::scene::GLTF;
use crate::values::Type;

/// 1/(2π).
const FRAC_1_TAU: f64 = 0.15915494309189535;

pub(super) fn surface(i: &mut Inputs) -> Result<Surface, Error> {
    // Opaque, masked and blended.
    let opacity = match i.constant("alpha_mode", Type::Integer, 0.0)? {
        0.0 => None,
        1.0 => {
            let cutoff = i.constant("alpha_cutoff", Type::Float, 0.5)?;
            Some(i.opacity("alpha", Type::Float, Some(cutoff)))
        }
        _ => Some(i.opacity("alpha", Type::Float, None)),
    };
    let emission = Some(i.emission(("emissive", 0.0), &[("emissive_strength", 1.0)]));
    let thickness = i.float("thickness", 0.0)?;
    let thin_walled =
        i.combine("thin_walled", Type::Boolean, &[&thickness], "{0} == 0.0", |v| {
            f64::from(u8::from(v[0] == 0.0))
        })?;
    let transmission = i.float("transmission", 0.0)?;
    if !transmission.is(0.0) && !thickness.is(0.0) {
        i.ignore_unless(
            "attenuation_color",
            Type::Color3,
            1.0,
            "a volume is a medium of the scene",
            "a clear volume",
        )?;
    }
    let dispersion =
        (!transmission.is(0.0)).then(|| i.dispersion(None, Some(("dispersion", 0.0)), &GLTF));
    if let Some(coat) = i.normal("clearcoat_normal") {
        i.g.warn(coat.1, "the coat has the normal of the base", "the normal of the base");
    }
    let anisotropy = i.float("anisotropy_strength", 0.0)?;
    let rotation = i.float("anisotropy_rotation", 0.0)?;
    let rotation = match anisotropy.is(0.0) {
        true => rotation,
        false => {
            let tangent = i.tangent_angle("tangent")?;
            match tangent.is(0.0) {
                true => rotation,
                false => i.turned_angle("rotation", &tangent, &rotation, FRAC_1_TAU)?,
            }
        }
    };
    let values = vec![
        ("base_color", i.color("base_color", 1.0)?),
        ("metallic", i.float("metallic", 1.0)?),
        ("roughness", i.float("roughness", 1.0)?),
        ("ior", i.float("ior", 1.5)?),
        ("specular", i.float("specular", 1.0)?),
        ("specular_color", i.color("specular_color", 1.0)?),
        ("anisotropy", anisotropy),
        ("anisotropy_rotation", rotation),
        ("clearcoat", i.float("clearcoat", 0.0)?),
        ("clearcoat_roughness", i.float("clearcoat_roughness", 0.0)?),
        ("sheen_color", i.color("sheen_color", 0.0)?),
        ("sheen_roughness", i.float("sheen_roughness", 0.0)?),
        ("iridescence", i.float("iridescence", 0.0)?),
        ("iridescence_ior", i.float("iridescence_ior", 1.3)?),
        ("iridescence_thickness", i.float("iridescence_thickness", 100.0)?),
        ("transmission", transmission),
        ("thin_walled", thin_walled),
    ];
    let normal = i.normal("normal");
    Ok(Surface { normal, emission, opacity, dispersion, ..Surface::library("gltf", values) })
}
