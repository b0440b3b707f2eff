//! Nodes that make normals of heights, by central differences along the texture coordinates.
//!
//! The graph before the node is evaluated at four points around the texture coordinates of the
//! surface. MaterialX has derivatives along pixels instead, with the same result where the height
//! depends on the texture coordinates alone.

use super::zero;
use crate::document::Id;
use crate::error::Error;
use crate::functions::reads;
use crate::graph::{Graph, Origin, Scope};
use crate::values::{Term, Type, number};

/// Distance of the points, in texture coordinates; that of pbrt's bump maps without a footprint.
const STEP: f64 = 0.0005;

/// Evaluates a node that makes a normal of a height; `None` for other nodes.
pub(super) fn evaluate(g: &mut Graph, scope: Scope, node: Id) -> Option<Result<Term, Error>> {
    match g.document.category(node) {
        "heighttonormal" => Some(height_to_normal(g, scope, node)),
        "bump" => Some(bump(g, scope, node)),
        _ => None,
    }
}

fn height_to_normal(g: &mut Graph, scope: Scope, node: Id) -> Result<Term, Error> {
    let scale = g.input(scope, node, "scale", Type::Float)?.unwrap_or(Term::float(1.0));
    encoded_normal(g, scope, node, ["in", "texcoord"], &scale)
}

/// A height as a normal map, whose slopes are scaled.
fn bump(g: &mut Graph, scope: Scope, node: Id) -> Result<Term, Error> {
    super::check_is_normal(g, node)?;
    let normal = encoded_normal(g, scope, node, ["height", ""], &Term::float(1.0))?;
    let scale = g.input(scope, node, "scale", Type::Float)?.unwrap_or(Term::float(1.0));
    g.bind(node, Type::Vector3, format!("mx_normalmap({normal}, vec2f({scale}))"))
}

/// The normal of a height as a colour of a normal map, by the names of the inputs for the height
/// and for its texture coordinates.
fn encoded_normal(
    g: &mut Graph,
    scope: Scope,
    node: Id,
    [height, texcoord]: [&str; 2],
    scale: &Term,
) -> Result<Term, Error> {
    let start = g.statements.len();
    let [hu, hv] = differences(g, scope, node, height, Type::Float)?;
    let is_fixed = |name: &str| {
        let reads = |text: &str| {
            reads(text, "p", |member| member == "position" || member == "object_position")
                || reads(text, "m", |member| member == name)
        };
        g.statements[start..].iter().any(|statement| reads(statement))
    };
    let attributes = g.parameters.iter().filter(|p| matches!(p.origin, Origin::Attribute(_)));
    let mut attributes = attributes.map(|p| p.name.as_str());
    if is_fixed("") || attributes.any(is_fixed) {
        let at = g.document.input(node, height).unwrap_or(node);
        let message = "a height depends on positions or attributes, whose slopes are not known";
        g.warn(at, message, "the slopes along the texture coordinates");
    }
    let [tu, tv] = match g.document.input(node, texcoord) {
        Some(_) => differences(g, scope, node, texcoord, Type::Vector2)?,
        None => [[1.0, 0.0], [0.0, 1.0]].map(|axis| Term::constant(Type::Vector2, &axis)),
    };
    g.bind_as(
        "normal",
        node,
        Type::Vector3,
        format!("mx_heighttonormal(vec3f({tu}, {hu} * {scale}), vec3f({tv}, {hv} * {scale}))"),
    )
}

/// The derivatives of an input along u and v; zeros if the node does not have it.
fn differences(
    g: &mut Graph,
    scope: Scope,
    node: Id,
    name: &str,
    ty: Type,
) -> Result<[Term; 2], Error> {
    let around = g.uv.clone();
    let mut slopes = Vec::new();
    for (axis, x, y) in [("u", STEP, 0.0), ("v", 0.0, STEP)] {
        let mut ends = Vec::new();
        for (end, sign) in [("after", "+"), ("before", "-")] {
            let text = format!("{around} {sign} vec2f({}, {})", number(x), number(y));
            let uv = g.bind_as(&format!("{end}_{axis}"), node, Type::Vector2, text)?;
            ends.push(g.at_uv(uv.text, |g| g.input(scope, node, name, ty))?);
        }
        let [Some(after), Some(before)] = &ends[..] else {
            return Ok([zero(ty), zero(ty)]);
        };
        let text = format!("({after} - {before}) * {}", number(0.5 / STEP));
        slopes.push(g.bind_as(&format!("{name}_d{axis}"), node, ty, text)?);
    }
    let [u, v] = &slopes[..] else { unreachable!("there are two axes") };
    Ok([u.clone(), v.clone()])
}
