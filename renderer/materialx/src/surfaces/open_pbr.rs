//! `open_pbr_surface` as `openpbr`, or as `gltf` if it transmits light.

use super::{Inputs, Surface};
use crate::error::Error;
use crate::values::{Term, Type};

/// Floats that `openpbr` has, with the defaults of OpenPBR Surface 1.1.
const FLOATS: [(&str, f64); 20] = [
    ("base_weight", 1.0),
    ("base_diffuse_roughness", 0.0),
    ("base_metalness", 0.0),
    ("specular_weight", 1.0),
    ("specular_roughness", 0.3),
    ("specular_ior", 1.5),
    ("specular_roughness_anisotropy", 0.0),
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
    ("emission_luminance", 0.0),
];

const COLORS: [(&str, f64); 5] = [
    ("base_color", 0.8),
    ("specular_color", 1.0),
    ("subsurface_color", 0.8),
    ("coat_color", 1.0),
    ("fuzz_color", 1.0),
];

pub(super) fn surface(i: &mut Inputs) -> Result<Surface, Error> {
    let opacity = i.float("geometry_opacity", 1.0)?;
    i.ignore_opacity("geometry_opacity", &opacity);
    let normal = i.normal("geometry_normal");
    if let Some(coat) = i.normal("geometry_coat_normal")
        && normal.is_none()
    {
        i.g.warn(coat, "the coat has the normal of the base", "the normal of the base");
    }
    let transmission = i.float("transmission_weight", 0.0)?;
    let metal = ["base_metalness", "specular_roughness"];
    let is_smooth_metal = i.is_smooth_metal(metal, 0.3, &["coat_weight", "fuzz_weight"])?
        && i.float("specular_weight", 1.0)?.is(1.0);
    if !transmission.is(0.0) || is_smooth_metal {
        return refracting(i, transmission).map(|surface| Surface { normal, ..surface });
    }
    let mut values = Vec::new();
    for (name, default) in FLOATS {
        values.push((name, i.float(name, default)?));
    }
    for (name, default) in COLORS {
        values.push((name, i.color(name, default)?));
    }
    values.push(("geometry_thin_walled", i.boolean("geometry_thin_walled")?));
    let value = |name| values.iter().find(|(n, _)| *n == name).expect("it is a value").1.clone();
    let (luminance, subsurface) = (value("emission_luminance"), value("subsurface_weight"));
    let color = i.color("emission_color", 1.0)?;
    i.ignore_emission(&[("emission_luminance", &luminance), ("emission_color", &color)]);
    i.approximate_subsurface("subsurface_weight", &subsurface);
    values.retain(|(name, _)| *name != "emission_luminance");
    Ok(Surface { shader: "openpbr", values, normal })
}

/// A surface that transmits light, or smooth metal: what both models have.
fn refracting(i: &mut Inputs, transmission: Term) -> Result<Surface, Error> {
    let weight = i.float("base_weight", 1.0)?;
    let base = i.color("base_color", 0.8)?;
    let base = i.product("base", Type::Color3, &base, &weight)?;
    let tint = i.color("transmission_color", 1.0)?;
    let color = i.mix("color", Type::Color3, &base, &tint, &transmission)?;
    let (roughness, anisotropy) =
        (i.float("specular_roughness", 0.3)?, i.float("specular_roughness_anisotropy", 0.0)?);
    let specular = i.gltf_anisotropy(&roughness, &anisotropy)?;
    let fuzz = i.float("fuzz_weight", 0.0)?;
    let sheen = i.color("fuzz_color", 1.0)?;
    let sheen = i.product("sheen", Type::Color3, &sheen, &fuzz)?;
    let thin_walled = i.boolean("geometry_thin_walled")?;
    let thickness = i.float("thin_film_thickness", 0.5)?;
    let thickness =
        i.combine("film", Type::Float, &[&thickness], "1000.0 * {0}", |v| 1000.0 * v[0])?;
    if !transmission.is(0.0) {
        let volume = "a volume is a medium of the scene";
        let (depth, scatter) = ("transmission_depth", "transmission_scatter");
        i.ignore_unless(depth, Type::Float, 0.0, volume, "the colour at the surface")?;
        i.ignore_unless(scatter, Type::Color3, 0.0, volume, "no scattering in the volume")?;
        i.ignore_unless(
            "transmission_dispersion_scale",
            Type::Float,
            0.0,
            "light does not disperse in this material",
            "one index of refraction; use pbrt's \"dielectric\"",
        )?;
    }
    let subsurface = i.float("subsurface_weight", 0.0)?;
    i.approximate_subsurface("subsurface_weight", &subsurface);
    let luminance = i.float("emission_luminance", 0.0)?;
    i.ignore_emission(&[("emission_luminance", &luminance)]);
    let values = vec![
        ("base_color", color),
        ("metallic", i.float("base_metalness", 0.0)?),
        ("roughness", specular.roughness),
        ("anisotropy", specular.strength),
        ("ior", i.float("specular_ior", 1.5)?),
        ("specular", i.float("specular_weight", 1.0)?),
        ("specular_color", i.color("specular_color", 1.0)?),
        ("clearcoat", i.float("coat_weight", 0.0)?),
        ("clearcoat_roughness", i.float("coat_roughness", 0.0)?),
        ("sheen_color", sheen),
        ("sheen_roughness", i.float("fuzz_roughness", 0.5)?),
        ("iridescence", i.float("thin_film_weight", 0.0)?),
        ("iridescence_ior", i.float("thin_film_ior", 1.4)?),
        ("iridescence_thickness", thickness),
        ("transmission", transmission),
        ("thin_walled", thin_walled),
    ];
    Ok(Surface { shader: "gltf", values, normal: None })
}
