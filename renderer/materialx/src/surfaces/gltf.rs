//! `gltf_pbr` as the shader of this name, which has the names of its inputs.

use super::{Inputs, Surface, VolumeNames, Wall, value};
use crate::error::Error;
use crate::scene::GLTF_PBR;
use crate::values::Type;

/// 1/(2π).
const FRAC_1_TAU: f64 = 0.15915494309189535;

const FLOATS: [(&str, f64); 13] = [
    ("metallic", 1.0),
    ("roughness", 1.0),
    ("transmission", 0.0),
    ("specular", 1.0),
    ("ior", 1.5),
    ("iridescence", 0.0),
    ("iridescence_ior", 1.3),
    ("iridescence_thickness", 100.0),
    ("sheen_roughness", 0.0),
    ("clearcoat", 0.0),
    ("clearcoat_roughness", 0.0),
    ("thickness", 0.0),
    ("anisotropy_strength", 0.0),
];

/// The volume below the surface, which the shader does not know.
static ATTENUATION: VolumeNames = VolumeNames {
    depth: "attenuation_distance",
    color: "attenuation_color",
    scattering: None,
    colors_surface: false,
    wall: Wall::NoThickness("thickness"),
};

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
    let mut values = Vec::new();
    for (name, default) in FLOATS {
        values.push((name, i.float(name, default)?));
    }
    for (name, default) in [("base_color", 1.0), ("specular_color", 1.0), ("sheen_color", 0.0)] {
        values.push((name, i.color(name, default)?));
    }
    if !value(&values, "anisotropy_strength").is(0.0) {
        let (tangent, rotation) =
            (i.tangent_angle("tangent")?, i.float("anisotropy_rotation", 0.0)?);
        let angle = match tangent.is(0.0) {
            true => rotation,
            false => i.turned_angle("rotation", &tangent, &rotation, FRAC_1_TAU)?,
        };
        values.push(("anisotropy_rotation", angle));
    }
    if !value(&values, "clearcoat").is(0.0) {
        values.push(("clearcoat_normal", i.coat_normal("clearcoat_normal", "normal")?));
    }
    let (mut dispersion, mut volume) = (None, None);
    if !value(&values, "transmission").is(0.0) {
        volume = Some(i.volume(&ATTENUATION));
    }
    if volume.is_some() && !value(&values, "thickness").is(0.0) {
        dispersion = Some(i.dispersion(None, Some(("dispersion", 0.0)), &GLTF_PBR));
    }
    let normal = i.normal("normal");
    let surface = Surface::of_shader("gltf_pbr", values);
    Ok(Surface { normal, emission, volume, opacity, dispersion, ..surface })
}
