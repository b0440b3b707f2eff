//! `UsdPreviewSurface` as `gltf`.

use super::{Inputs, Surface};
use crate::error::Error;
use crate::values::{Term, Type};

use Type::{Color3, Float};

pub(super) fn surface(i: &mut Inputs) -> Result<Surface, Error> {
    let emission = Some(i.emission(("emissiveColor", 0.0), &[]));
    i.ignore_unless(
        "displacement",
        Float,
        0.0,
        "a material does not displace the surface",
        "no displacement; give the shape a \"displacement\"",
    )?;
    let mode = i.constant("opacityMode", Type::Integer, 0.0)?;
    let threshold = i.constant("opacityThreshold", Float, 0.0)?;
    let is_glass = mode == 0.0 && threshold == 0.0;
    let cutout = (!is_glass)
        .then(|| i.opacity("opacity", Float, Some(threshold).filter(|&threshold| threshold > 0.0)));
    // What is transparent refracts light; with a threshold or as `presence`, it is cut out.
    let transmission = match is_glass {
        true => {
            let opacity = i.float("opacity", 1.0)?;
            i.combine("transmission", Float, &[&opacity], "1.0 - {0}", |v| 1.0 - v[0])?
        }
        false => Term::float(0.0),
    };
    let diffuse = i.get("diffuseColor", Color3, &[0.18])?;
    let white = Term::constant(Color3, &[1.0]);
    let color = i.mix("color", Color3, &diffuse, &white, &transmission)?;
    let ior = i.float("ior", 1.5)?;
    let workflow = i.get("useSpecularWorkflow", Type::Integer, &[0.0])?;
    let Some(uses_specular) = workflow.number() else {
        let element = i.element("useSpecularWorkflow");
        return Err(i.g.document.error(
            element,
            "useSpecularWorkflow must be constant",
            "give it the value 0 or 1",
        ));
    };
    let (metallic, specular_color) = if uses_specular == 0.0 {
        (i.float("metallic", 0.0)?, white)
    } else {
        // Relative to the reflectance of the index at normal incidence.
        let specular = i.color("specularColor", 0.0)?;
        let relative = i.combine(
            "specular_color",
            Color3,
            &[&specular, &ior],
            "{0} / max(pow(({1} - 1.0) / ({1} + 1.0), 2.0), 1e-4)",
            |v| {
                let root = (v[1] - 1.0) / (v[1] + 1.0);
                v[0] / (root * root).max(1e-4)
            },
        )?;
        (Term::float(0.0), relative)
    };
    let values = vec![
        ("base_color", color),
        ("metallic", metallic),
        ("roughness", i.float("roughness", 0.5)?),
        ("ior", ior),
        ("specular_color", specular_color),
        ("clearcoat", i.float("clearcoat", 0.0)?),
        ("clearcoat_roughness", i.float("clearcoatRoughness", 0.01)?),
        ("transmission", transmission),
        ("thin_walled", Term::constant(Type::Boolean, &[0.0])),
    ];
    let normal = i.normal("normal");
    Ok(Surface { normal, emission, opacity: cutout, ..Surface::library("gltf", values) })
}
