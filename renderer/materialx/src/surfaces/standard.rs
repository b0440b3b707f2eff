//! `standard_surface` as `openpbr`.
//!
//! Roughness, anisotropy, films, coats and the edge of metals are converted so that both models agree
//! where they can: the notes at each formula say how.

use super::{Inputs, Surface, VolumeNames};
use crate::error::Error;
use crate::scene::OPEN_PBR;
use crate::values::{Term, Type};

use Type::{Color3, Float};

pub(super) fn surface(i: &mut Inputs) -> Result<Surface, Error> {
    let opacity = Some(i.opacity("opacity", Color3, None));
    let emission = Some(i.emission(("emission_color", 1.0), &[("emission", 0.0)]));
    let subsurface = i.float("subsurface", 0.0)?;
    i.approximate_subsurface("subsurface", &subsurface);
    let transmission = i.float("transmission", 0.0)?;
    let (mut volume, mut dispersion) = (None, None);
    if !transmission.is(0.0) {
        dispersion = Some(i.dispersion(Some(("transmission_dispersion", 0.0)), None, &OPEN_PBR));
        volume =
            i.volume(&VolumeNames { depth: "transmission_depth", thin_walled: "thin_walled" })?;
        i.ignore_unless(
            "transmission_extra_roughness",
            Float,
            0.0,
            "reflected and transmitted light have the same roughness",
            "specular_roughness for both",
        )?;
    }
    let values = values(i, transmission, subsurface)?;
    let normal = i.normal("normal");
    Ok(Surface {
        normal,
        emission,
        volume,
        opacity,
        dispersion,
        ..Surface::library("openpbr", values)
    })
}

/// The ratio of α along both axes is 1 − a in both models. Standard surface's geometric mean of both
/// is r², and OpenPBR's is r² √(2 (1 − a)/(1 + (1 − a)²)).
fn roughness(i: &mut Inputs, name: &str, r: &Term, anisotropy: &Term) -> Result<Term, Error> {
    if anisotropy.is(0.0) {
        return Ok(r.clone());
    }
    i.combine(
        name,
        Float,
        &[r, anisotropy],
        "{0} * pow((1.0 + pow(1.0 - {1}, 2.0)) / (2.0 * max(1.0 - {1}, 0.02)), 0.25)",
        |v| {
            let ratio = 1.0 - v[1];
            (v[0] * libm::pow((1.0 + ratio * ratio) / (2.0 * ratio.max(0.02)), 0.25)).min(1.0)
        },
    )
}

fn values(
    i: &mut Inputs,
    transmission: Term,
    subsurface: Term,
) -> Result<Vec<(&'static str, Term)>, Error> {
    let (weight, base) = (i.float("base", 0.8)?, i.color("base_color", 1.0)?);
    let metalness = i.float("metalness", 0.0)?;
    let specular = i.float("specular", 1.0)?;
    let tint = i.color("specular_color", 1.0)?;
    // The edge of metal is that of an index after Gulbrandsen 2014, here at 82°.
    let (edge_tint, metal_weight) = if metalness.is(0.0) {
        (tint, specular)
    } else {
        let reflectivity = i.product("reflectivity", Color3, &base, &weight)?;
        let edge = i.product("edge", Color3, &tint, &specular)?;
        let edge_tint = i.combine(
            "edge_tint",
            Color3,
            &[&reflectivity, &edge],
            "mx_edge_tint({0}, {1})",
            |v| edge_tint(v[0], v[1]),
        )?;
        let mixed = i.mix("specular_color", Color3, &tint, &edge_tint, &metalness)?;
        let one = Term::float(1.0);
        (mixed, i.mix("specular", Float, &specular, &one, &metalness)?)
    };
    let anisotropy = i.float("specular_anisotropy", 0.0)?;
    let r = i.float("specular_roughness", 0.2)?;
    let coat = i.float("coat", 0.0)?;
    let coat_r = i.float("coat_roughness", 0.1)?;
    let affected = i.float("coat_affect_roughness", 0.0)?;
    let r = match affected.is(0.0) {
        true => r,
        false => i.combine(
            "affected",
            Float,
            &[&r, &affected, &coat, &coat_r],
            "mix({0}, 1.0, {1} * {2} * {3})",
            |v| v[0] + (1.0 - v[0]) * v[1] * v[2] * v[3],
        )?,
    };
    let r = roughness(i, "roughness", &r, &anisotropy)?;
    let coat_anisotropy = i.float("coat_anisotropy", 0.0)?;
    let coat_r = roughness(i, "coat_roughness", &coat_r, &coat_anisotropy)?;
    let geometry_rotation = match anisotropy.is(0.0) && coat_anisotropy.is(0.0) {
        true => Term::float(0.0),
        false => {
            let tangent = i.tangent_angle("tangent")?;
            let names = ["specular_rotation", "coat_rotation"];
            let is_same = i.have_same_source(names)?;
            let mut turned = |name: &str| {
                let rotation = i.float(name, 0.0)?;
                i.turned_angle(name, &tangent, &rotation, -1.0)
            };
            let angle = turned(names[0])?;
            let coat_angle = if is_same { angle.clone() } else { turned(names[1])? };
            i.shared_angle([&anisotropy, &coat_anisotropy], [angle, coat_angle], names[1])
        }
    };
    let (ior, coat_ior) = (i.float("specular_IOR", 1.5)?, i.float("coat_IOR", 1.5)?);
    // OpenPBR's index of the base is relative to the coat, and widened by it: x with
    // mix(x, x/c, weight) = n.
    let ior = match coat.is(0.0) {
        true => ior,
        false => i.combine(
            "ior",
            Float,
            &[&ior, &coat_ior, &coat],
            "max({0}, 1.0) / (1.0 - {2} + {2} / max({1}, 1.0))",
            |v| v[0].max(1.0) / (1.0 - v[2] + v[2] / v[1].max(1.0)),
        )?,
    };
    let film = i.float("thin_film_thickness", 0.0)?;
    let thickness = i.combine("film", Float, &[&film], "0.001 * {0}", |v| 0.001 * v[0])?;
    let has_film = i.combine("has_film", Float, &[&film], "select(0.0, 1.0, {0} > 0.0)", |v| {
        f64::from(u8::from(v[0] > 0.0))
    })?;
    i.ignore_unless("coat_affect_color", Float, 0.0, "a coat does not saturate the base", "0")?;
    let fuzz = i.float("sheen_roughness", 0.3)?;
    // Of MaterialX's translation, by eye.
    let fuzz =
        i.combine("fuzz", Float, &[&fuzz], "pow({0}, 0.4)", |v| libm::pow(v[0].max(0.0), 0.4))?;
    Ok(vec![
        ("base_weight", weight),
        ("base_color", base),
        ("base_diffuse_roughness", i.float("diffuse_roughness", 0.0)?),
        ("base_metalness", metalness),
        ("specular_weight", metal_weight),
        ("specular_color", edge_tint),
        ("specular_roughness", r),
        ("specular_ior", ior),
        ("specular_roughness_anisotropy", anisotropy),
        ("transmission_weight", transmission),
        ("transmission_color", i.color("transmission_color", 1.0)?),
        ("subsurface_weight", subsurface),
        ("subsurface_color", i.color("subsurface_color", 1.0)?),
        ("subsurface_scatter_anisotropy", i.float("subsurface_anisotropy", 0.0)?),
        ("coat_weight", coat),
        ("coat_color", i.color("coat_color", 1.0)?),
        ("coat_roughness", coat_r),
        ("coat_roughness_anisotropy", coat_anisotropy),
        ("coat_ior", coat_ior),
        ("coat_darkening", Term::float(0.0)),
        ("fuzz_weight", i.float("sheen", 0.0)?),
        ("fuzz_color", i.color("sheen_color", 1.0)?),
        ("fuzz_roughness", fuzz),
        ("thin_film_weight", has_film),
        ("thin_film_thickness", thickness),
        ("thin_film_ior", i.float("thin_film_IOR", 1.5)?),
        ("geometry_rotation", geometry_rotation),
        ("geometry_thin_walled", i.boolean("thin_walled")?),
    ])
}

/// The reflectance at 82° of metal with reflectance `r` at normal incidence and edge colour `g`,
/// relative to Schlick's; `mx_edge_tint` in WGSL.
fn edge_tint(r: f64, g: f64) -> f64 {
    let r = r.clamp(0.0, 0.99);
    let root = libm::sqrt(r);
    let (n_max, n_min) = ((1.0 + root) / (1.0 - root), (1.0 - r) / (1.0 + r));
    let n = n_max + (n_min - n_max) * g;
    let k2 = (((n + 1.0) * (n + 1.0) * r - (n - 1.0) * (n - 1.0)) / (1.0 - r)).max(0.0);
    let (c, n2k2) = (1.0 / 7.0, n * n + k2);
    let perpendicular = (n2k2 - 2.0 * n * c + c * c) / (n2k2 + 2.0 * n * c + c * c);
    let parallel = (n2k2 * c * c - 2.0 * n * c + 1.0) / (n2k2 * c * c + 2.0 * n * c + 1.0);
    let schlick = r + (1.0 - r) * libm::pow(6.0 / 7.0, 5.0);
    (0.5 * (perpendicular + parallel) / schlick).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::edge_tint;

    /// The reflectance of a conductor at a cosine.
    fn conductor(n: f64, k2: f64, c: f64) -> f64 {
        let n2k2 = n * n + k2;
        let s = (n2k2 - 2.0 * n * c + c * c) / (n2k2 + 2.0 * n * c + c * c);
        let p = (n2k2 * c * c - 2.0 * n * c + 1.0) / (n2k2 * c * c + 2.0 * n * c + 1.0);
        0.5 * (s + p)
    }

    #[test]
    fn edge_tint_is_that_of_the_metal() {
        // With a black edge, the index is real and its reflectance at normal incidence r.
        let r: f64 = 0.25;
        let n = (1.0 + r.sqrt()) / (1.0 - r.sqrt());
        assert!((conductor(n, 0.0, 1.0) - r).abs() < 1e-12);
        let schlick = r + (1.0 - r) * (6.0f64 / 7.0).powi(5);
        let expected = conductor(n, 0.0, 1.0 / 7.0) / schlick;
        assert!((edge_tint(r, 0.0) - expected).abs() < 1e-12);
        // A perfect mirror has a white edge.
        assert!(edge_tint(1.0, 1.0) > 0.98);
    }
}
