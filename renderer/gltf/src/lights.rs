//! Punctual lights (KHR_lights_punctual) as pbrt's `point`, `spot` and `distant`.
//!
//! Intensities are in candela, and illuminances in lux; one of each is one unit of the scene. The
//! range is ignored: light falls off with the squared distance.

use crate::document::{Document, label};
use crate::nodes::{Nodes, node_label};
use crate::schema::Light;
use crate::shapes::{comment, moving};
use crate::view::clean;
use glam::{DAffine3, DMat3, DVec3};
use lightbound_pbrt::SceneError;

/// Largest angle of a cone, with a margin for numbers that were written with few digits.
const MAX_ANGLE: f32 = std::f32::consts::FRAC_PI_2 + 1e-4;

/// Returns the lights of a scene, and whether there are any.
pub(crate) fn translate(
    document: &Document,
    nodes: &Nodes,
) -> Result<(Vec<(String, String)>, bool), SceneError> {
    let lights = &document.root.extensions.lights.lights;
    let mut parts = Vec::new();
    for &node in &nodes.order {
        let Some(reference) = &document.root.nodes[node].extensions.light else { continue };
        let user = node_label(document, node);
        let light = document.get(lights, "light", reference.light, &user)?;
        let element = label("light", reference.light, light.name.as_deref());
        let transforms = nodes.world[node].unwrap_or_default();
        let written = transforms.map(|transform| directive(document, light, &element, transform));
        let text = match written {
            [Err(error), _] | [_, Err(error)] => return Err(error),
            [Ok(start), Ok(end)] if start == end => start,
            [Ok(_), Ok(_)] => {
                let at_origin = directive(document, light, &element, DAffine3::IDENTITY)?;
                let motion = moving(transforms.map(frame));
                format!("AttributeBegin\n{motion}{at_origin}AttributeEnd\n")
            }
        };
        let origin = format!("{}: {element}", document.path.display());
        parts.push((origin, format!("# {}\n{text}\n", comment(&element))));
    }
    let has_lights = !parts.is_empty();
    Ok((parts, has_lights))
}

/// Returns the directive of a light with a transform.
fn directive(
    document: &Document,
    light: &Light,
    element: &str,
    transform: DAffine3,
) -> Result<String, SceneError> {
    let list = |v: DVec3| format!("[{} {} {}]", clean(v.x), clean(v.y), clean(v.z));
    let from = transform.translation;
    let direction = (-transform.matrix3.z_axis).try_normalize().ok_or_else(|| {
        document.error(element, "has a node with a scale of 0").help("give it another scale")
    })?;
    let [r, g, b] = light.color.map(|x| x * light.intensity);
    if ![r, g, b].iter().all(|x| *x >= 0.0 && x.is_finite()) {
        let problem =
            format!("has the intensity {} and the colour {:?}", light.intensity, light.color);
        return Err(document.error(element, problem).help("give numbers from 0 on"));
    }
    let text = match light.kind.as_str() {
        "point" => format!("\"point\" \"rgb I\" [{r} {g} {b}] \"point3 from\" {}", list(from)),
        "spot" => {
            let spot = light.spot.as_ref();
            let outer = spot.map_or(std::f32::consts::FRAC_PI_4, |spot| spot.outer_cone_angle);
            let inner = spot.map_or(0.0, |spot| spot.inner_cone_angle);
            if !(outer > 0.0 && outer <= MAX_ANGLE && (0.0..=outer).contains(&inner)) {
                let problem = format!("has the cone angles {inner} and {outer}");
                let error = document.error(element, problem);
                return Err(error.help("give 0 ≤ innerConeAngle ≤ outerConeAngle ≤ π/2"));
            }
            format!(
                "\"spot\" \"rgb I\" [{r} {g} {b}]\n  \"point3 from\" {} \"point3 to\" {}\n  \
                 \"float coneangle\" {} \"float conedeltaangle\" {}",
                list(from),
                list(from + direction),
                outer.to_degrees(),
                (outer - inner).to_degrees()
            )
        }
        "directional" => format!(
            "\"distant\" \"rgb L\" [{r} {g} {b}]\n  \"point3 from\" {} \"point3 to\" [0 0 0]",
            list(-direction)
        ),
        other => {
            let error = document.error(element, format!("has the type \"{other}\""));
            return Err(error.help("the types are point, spot and directional"));
        }
    };
    Ok(format!("LightSource {text}\n"))
}

/// Returns the transform without scales: lights have a position and a direction, along −z.
fn frame(transform: DAffine3) -> DAffine3 {
    let back = transform.matrix3.z_axis.normalize_or(DVec3::Z);
    let right = transform.matrix3.y_axis.cross(back).try_normalize();
    let right = right.unwrap_or_else(|| back.any_orthonormal_vector());
    DAffine3 {
        matrix3: DMat3::from_cols(right, back.cross(right), back),
        translation: transform.translation,
    }
}
