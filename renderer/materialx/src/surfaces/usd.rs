//! `UsdPreviewSurface` as the shader `usd_preview_surface`, which has the names of its inputs.

use super::{Inputs, Surface};
use crate::error::Error;
use crate::values::{Term, Type};

use Type::Float;

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
    let transparency = match is_glass {
        true => {
            let opacity = i.float("opacity", 1.0)?;
            i.combine("transparency", Float, &[&opacity], "1.0 - {0}", |v| 1.0 - v[0])?
        }
        false => Term::float(0.0),
    };
    let workflow = i.get("useSpecularWorkflow", Type::Integer, &[0.0])?;
    let Some(uses_specular) = workflow.number() else {
        let element = i.element("useSpecularWorkflow");
        return Err(i.g.document.error(
            element,
            "useSpecularWorkflow must be constant",
            "give it the value 0 or 1",
        ));
    };
    let uses_specular = f64::from(u8::from(uses_specular != 0.0));
    let values = vec![
        ("diffuseColor", i.color("diffuseColor", 0.18)?),
        ("useSpecularWorkflow", Term::constant(Type::Boolean, &[uses_specular])),
        ("specularColor", i.color("specularColor", 0.0)?),
        ("metallic", i.float("metallic", 0.0)?),
        ("roughness", i.float("roughness", 0.5)?),
        ("clearcoat", i.float("clearcoat", 0.0)?),
        ("clearcoatRoughness", i.float("clearcoatRoughness", 0.01)?),
        ("transparency", transparency),
        ("ior", i.float("ior", 1.5)?),
    ];
    let normal = i.normal("normal");
    let surface = Surface::of_shader("usd_preview_surface", values);
    Ok(Surface { normal, emission, opacity: cutout, ..surface })
}
