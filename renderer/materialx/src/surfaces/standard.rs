//! `standard_surface` as the shader of this name, which has the names of its inputs.

use super::{Inputs, Surface, VolumeNames, value};
use crate::error::Error;
use crate::scene::STANDARD_SURFACE;
use crate::values::Type;

/// Floats, but for `transmission_depth`, which a volume of the scene sets.
const FLOATS: [(&str, f64); 20] = [
    ("base", 0.8),
    ("diffuse_roughness", 0.0),
    ("metalness", 0.0),
    ("specular", 1.0),
    ("specular_roughness", 0.2),
    ("specular_IOR", 1.5),
    ("specular_anisotropy", 0.0),
    ("transmission", 0.0),
    ("transmission_extra_roughness", 0.0),
    ("subsurface", 0.0),
    ("sheen", 0.0),
    ("sheen_roughness", 0.3),
    ("coat", 0.0),
    ("coat_roughness", 0.1),
    ("coat_anisotropy", 0.0),
    ("coat_IOR", 1.5),
    ("coat_affect_color", 0.0),
    ("coat_affect_roughness", 0.0),
    ("thin_film_thickness", 0.0),
    ("thin_film_IOR", 1.5),
];

const COLORS: [&str; 6] = [
    "base_color",
    "specular_color",
    "transmission_color",
    "subsurface_color",
    "sheen_color",
    "coat_color",
];

/// Directions of anisotropy: the rotation, and the strength.
const ROTATIONS: [[&str; 2]; 2] =
    [["specular_rotation", "specular_anisotropy"], ["coat_rotation", "coat_anisotropy"]];

static VOLUME: VolumeNames = VolumeNames::transmission("thin_walled");

pub(super) fn surface(i: &mut Inputs) -> Result<Surface, Error> {
    let mut values = Vec::new();
    for (name, default) in FLOATS {
        values.push((name, i.float(name, default)?));
    }
    for name in COLORS {
        values.push((name, i.color(name, 1.0)?));
    }
    values.push(("thin_walled", i.boolean("thin_walled")?));
    for [rotation, anisotropy] in ROTATIONS {
        if !value(&values, anisotropy).is(0.0) {
            let (tangent, turns) = (i.tangent_angle("tangent")?, i.float(rotation, 0.0)?);
            values.push((rotation, i.turned_angle(rotation, &tangent, &turns, -1.0)?));
        }
    }
    let coat = value(&values, "coat");
    if !coat.is(0.0) {
        values.push(("coat_normal", i.coat_normal("coat_normal", "normal")?));
    }
    let subsurface = value(&values, "subsurface");
    i.approximate_subsurface("subsurface", &subsurface);
    let (mut volume, mut dispersion) = (None, None);
    if !value(&values, "transmission").is(0.0) {
        let abbe_number = ("transmission_dispersion", 0.0);
        dispersion = Some(i.dispersion(Some(abbe_number), None, &STANDARD_SURFACE));
        volume = Some(i.volume(&VOLUME));
    }
    let normal = i.normal("normal");
    let opacity = Some(i.opacity("opacity", Type::Color3, None));
    let emission = Some(i.emission(("emission_color", 1.0), &[("emission", 0.0)]));
    let surface = Surface::of_shader("standard_surface", values);
    Ok(Surface { normal, emission, volume, opacity, dispersion, ..surface })
}
