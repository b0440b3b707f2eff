//! Geometric nodes: what is known of the point on the surface.

use crate::document::Id;
use crate::error::Error;
use crate::graph::{Graph, Scope};
use crate::nodes::zero;
use crate::values::{Term, Type};

/// Names of the set of texture coordinates.
const TEXTURE_COORDINATES: [&str; 7] = ["UV0", "st", "uv", "UV", "texcoord", "map1", "UVMap"];

/// A geometric property by its name in definitions.
pub(crate) fn geometric(g: &Graph, name: &str) -> Option<Term> {
    let (ty, text) = match name {
        "UV0" => (Type::Vector2, "p.uv"),
        "Pobject" => (Type::Vector3, "p.object_position"),
        "Pworld" => (Type::Vector3, "p.position"),
        "Nobject" | "Nworld" if g.in_shading_frame => (Type::Vector3, "vec3f(0.0, 0.0, 1.0)"),
        "Nobject" | "Nworld" => (Type::Vector3, "p.normal"),
        "Tobject" | "Tworld" if g.in_shading_frame => (Type::Vector3, "vec3f(1.0, 0.0, 0.0)"),
        "Bobject" | "Bworld" if g.in_shading_frame => (Type::Vector3, "vec3f(0.0, 1.0, 0.0)"),
        _ => return None,
    };
    Some(Term::expression(ty, text))
}

/// Evaluates a node that is geometric; `None` if it is not.
pub(super) fn evaluate(g: &mut Graph, scope: Scope, node: Id) -> Option<Result<Term, Error>> {
    let category = g.document.category(node);
    let evaluated = match category {
        "position" | "normal" | "tangent" | "bitangent" => directional(g, scope, node),
        "texcoord" => texture_coordinates(g, scope, node),
        "geompropvalue" | "UsdPrimvarReader" => property(g, scope, node),
        "geomcolor" => g.declared_type(node).map(|ty| {
            g.warn(node, "colours of vertices are not known to shaders", "white");
            Term::constant(ty, &vec![1.0; ty.size()])
        }),
        "time" | "frame" => {
            let value = if category == "time" { 0.0 } else { 1.0 };
            g.warn(node, format!("<{category}> is constant"), format!("{value}"));
            Ok(Term::float(value))
        }
        "transformpoint" | "transformvector" | "transformnormal" => transformed(g, scope, node),
        _ => return None,
    };
    Some(evaluated)
}

fn directional(g: &mut Graph, scope: Scope, node: Id) -> Result<Term, Error> {
    let document = g.document;
    let category = document.category(node);
    let space = g.string(scope, node, "space")?.map_or("object", |(_, space)| space);
    let name = match (category, space) {
        ("position", "world") => "Pworld",
        ("position", _) => "Pobject",
        ("normal", _) => "Nworld",
        ("tangent", _) => "Tworld",
        _ => "Bworld",
    };
    if category == "normal" && space != "world" && !g.in_shading_frame {
        g.warn(node, "the normal in the space of the object is not known", "that in world space");
    }
    geometric(g, name).ok_or_else(|| {
        document.error(
            node,
            format!("{} is not supported here", document.label(node)),
            "tangents are known only for the normal of a surface",
        )
    })
}

fn texture_coordinates(g: &mut Graph, scope: Scope, node: Id) -> Result<Term, Error> {
    let index = g.string(scope, node, "index")?.map_or("0", |(_, index)| index);
    if index != "0" {
        g.warn(node, "meshes have one set of texture coordinates", "set 0");
    }
    let uv = geometric(g, "UV0").expect("it is known");
    match g.declared_type(node)? {
        Type::Vector3 => g.bind(node, Type::Vector3, format!("vec3f({uv}, 0.0)")),
        _ => Ok(uv),
    }
}

/// A property of the geometry by its name, or its default.
fn property(g: &mut Graph, scope: Scope, node: Id) -> Result<Term, Error> {
    let names = match g.document.category(node) {
        "geompropvalue" => ["geomprop", "default"],
        _ => ["varname", "fallback"],
    };
    let ty = g.declared_type(node)?;
    let name = g.string(scope, node, names[0])?.map_or("", |(_, name)| name);
    if TEXTURE_COORDINATES.contains(&name) && ty == Type::Vector2 {
        return Ok(geometric(g, "UV0").expect("it is known"));
    }
    g.warn(node, format!("the property \"{name}\" of the geometry is not known"), "its default");
    Ok(g.input(scope, node, names[1], ty)?.unwrap_or_else(|| zero(ty)))
}

/// A transformation between spaces, which is none, since object and world are not told apart.
fn transformed(g: &mut Graph, scope: Scope, node: Id) -> Result<Term, Error> {
    let [from, to] = ["fromspace", "tospace"].map(|name| g.string(scope, node, name));
    let [from, to] = [from?, to?].map(|space| space.map_or("", |(_, space)| space));
    if from != to {
        let message = format!("transformations from \"{from}\" to \"{to}\" space are not known");
        g.warn(node, message, "the same coordinates");
    }
    let given = g.input(scope, node, "in", Type::Vector3)?;
    Ok(given.unwrap_or_else(|| zero(Type::Vector3)))
}
