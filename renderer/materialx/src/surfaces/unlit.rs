//! `surface_unlit` as a black `openpbr` that emits light.

use super::{Inputs, Surface};
use crate::error::Error;
use crate::values::{Term, Type};

pub(super) fn surface(i: &mut Inputs) -> Result<Surface, Error> {
    let opacity = Some(i.opacity("opacity", Type::Float, None));
    i.ignore_unless(
        "transmission",
        Type::Float,
        0.0,
        "an unlit surface transmits no light",
        "an opaque surface",
    )?;
    let emission = Some(i.emission(("emission_color", 1.0), &[("emission", 1.0)]));
    let values = vec![("base_weight", Term::float(0.0)), ("specular_weight", Term::float(0.0))];
    Ok(Surface { emission, opacity, ..Surface::of_shader("openpbr", values) })
}
