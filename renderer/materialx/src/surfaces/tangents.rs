//! Tangents as angles: directions of anisotropy, from the x axis of the shading frame.

use super::Inputs;
use crate::document::Id;
use crate::error::Error;
use crate::graph::{Graph, Scope};
use crate::values::{Term, Type};
use std::f64::consts::TAU;

use Type::Float;

/// The angle of an input that is a tangent, in radians; 0 for the tangent of the surface.
pub(super) fn angle(g: &mut Graph, scope: Scope, node: Id, name: &str) -> Result<Term, Error> {
    let Some(input) = connected(g, node, name) else { return Ok(Term::float(0.0)) };
    if let Some((scope, source)) = g.source(scope, input)? {
        match g.document.category(source) {
            "tangent" => return Ok(Term::float(0.0)),
            "rotate3d" => {
                if let Some(degrees) = turned(g, scope, source)? {
                    // Positive angles turn from y to x.
                    return Ok(Term::float(-(degrees % 360.0).to_radians()));
                }
            }
            _ => {}
        }
    }
    let tangent = g.in_shading_frame(|g| g.value_of(scope, input, Type::Vector3))?;
    match tangent {
        None => Ok(Term::float(0.0)),
        Some(Term { constant: Some(v), .. }) => Ok(Term::float(libm::atan2(v[1], v[0]))),
        Some(tangent) => {
            let tangent = g.bind_as("tangent", node, Type::Vector3, tangent.text)?;
            g.bind_as("angle", node, Float, format!("atan2({tangent}.y, {tangent}.x)"))
        }
    }
}

/// An input that is not the property of the geometry that it is by default.
pub(super) fn connected(g: &Graph, node: Id, name: &str) -> Option<Id> {
    let is_given = |input: &Id| {
        let names = ["value", "nodename", "nodegraph", "interfacename", "output"];
        names.iter().any(|name| g.document.attribute(*input, name).is_some())
    };
    g.document.input(node, name).filter(is_given)
}

/// The angle in degrees by which a node turns the tangent around the normal, if it is constant.
fn turned(g: &mut Graph, scope: Scope, node: Id) -> Result<Option<f64>, Error> {
    let mut is = |name: &str, category: &str| {
        let Some(input) = connected(g, node, name) else { return Ok(false) };
        let source = g.source(scope, input)?;
        Ok::<_, Error>(source.is_some_and(|(_, node)| g.document.category(node) == category))
    };
    if !is("in", "tangent")? || !is("axis", "normal")? {
        return Ok(None);
    }
    let (amount, ..) = g.evaluate_isolated(|g| g.input(scope, node, "amount", Float));
    Ok(match amount? {
        None => Some(0.0),
        Some(amount) => amount.number(),
    })
}

impl Inputs<'_, '_> {
    /// See [`angle`].
    pub(super) fn tangent_angle(&mut self, name: &str) -> Result<Term, Error> {
        angle(self.g, self.scope, self.node, name)
    }

    /// The sum of an angle and of turns of the full circle times a factor, from 0 to a full circle.
    pub(super) fn turned_angle(
        &mut self,
        name: &str,
        angle: &Term,
        turns: &Term,
        factor: f64,
    ) -> Result<Term, Error> {
        if turns.is(0.0) {
            return Ok(angle.clone());
        }
        let text = format!("6.2831855 * fract(0.15915494 * {{0}} + {factor:?} * {{1}})");
        self.combine(name, Float, &[angle, turns], &text, |v| {
            let turns = v[0] / TAU + factor * v[1];
            TAU * (turns - libm::floor(turns))
        })
    }
}
