//! `open_pbr_surface` as `openpbr`.

use super::{Inputs, Surface, VolumeNames, value};
use crate::error::Error;
use crate::scene::OPEN_PBR;
use crate::values::Type;

/// Floats that `openpbr` has, with the defaults of OpenPBR Surface 1.1.
const FLOATS: [(&str, f64); 20] = [
    ("base_weight", 1.0),
    ("base_diffuse_roughness", 0.0),
    ("base_metalness", 0.0),
    ("specular_weight", 1.0),
    ("specular_roughness", 0.3),
    ("specular_ior", 1.5),
    ("specular_roughness_anisotropy", 0.0),
    ("transmission_weight", 0.0),
    ("subsurface_weight", 0.0),
    ("subsurface_scatter_anisotropy", 0.0),
    ("coat_weight", 0.0),
    ("coat_roughness", 0.0),
    ("coat_roughness_anisotropy", 0.0),
    ("coat_ior", 1.6),
    ("coat_darkening", 1.0),
    ("fuzz_weight", 0.0),
    ("fuzz_roughness", 0.5),
    ("thin_film_weight", 0.0),
    ("thin_film_thickness", 0.5),
    ("thin_film_ior", 1.4),
];

const COLORS: [(&str, f64); 6] = [
    ("base_color", 0.8),
    ("specular_color", 1.0),
    ("transmission_color", 1.0),
    ("subsurface_color", 0.8),
    ("coat_color", 1.0),
    ("fuzz_color", 1.0),
];

/// Directions of anisotropy: the angle, the tangent and the strength.
const TANGENTS: [[&str; 3]; 2] = [
    ["geometry_rotation", "geometry_tangent", "specular_roughness_anisotropy"],
    ["geometry_coat_rotation", "geometry_coat_tangent", "coat_roughness_anisotropy"],
];

static VOLUME: VolumeNames = VolumeNames::transmission("geometry_thin_walled");

pub(super) fn surface(i: &mut Inputs) -> Result<Surface, Error> {
    let opacity = Some(i.opacity("geometry_opacity", Type::Float, None));
    let normal = i.normal("geometry_normal");
    let mut values = Vec::new();
    for (name, default) in FLOATS {
        values.push((name, i.float(name, default)?));
    }
    for (name, default) in COLORS {
        values.push((name, i.color(name, default)?));
    }
    values.push(("geometry_thin_walled", i.boolean("geometry_thin_walled")?));
    for [angle, tangent, anisotropy] in TANGENTS {
        if !value(&values, anisotropy).is(0.0) {
            values.push((angle, i.tangent_angle(tangent)?));
        }
    }
    if !value(&values, "coat_weight").is(0.0) {
        let coat_normal = i.coat_normal("geometry_coat_normal", "geometry_normal")?;
        values.push(("geometry_coat_normal", coat_normal));
    }
    let subsurface = value(&values, "subsurface_weight");
    let is_clear = !value(&values, "transmission_weight").is(0.0);
    i.approximate_subsurface("subsurface_weight", &subsurface);
    let volume = is_clear.then(|| i.volume(&VOLUME));
    let dispersion = is_clear.then(|| {
        let abbe_number = ("transmission_dispersion_abbe_number", 20.0);
        i.dispersion(Some(abbe_number), Some(("transmission_dispersion_scale", 0.0)), &OPEN_PBR)
    });
    let emission = Some(i.emission(("emission_color", 1.0), &[("emission_luminance", 0.0)]));
    Ok(Surface {
        normal,
        emission,
        volume,
        opacity,
        dispersion,
        ..Surface::of_shader("openpbr", values)
    })
}
