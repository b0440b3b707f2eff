//! Geometric nodes: what is known of the point on the surface.

use crate::document::Id;
use crate::error::Error;
use crate::graph::{Graph, Scope};
use crate::nodes::zero;
use crate::values::{Term, Type};

/// Names of the set of texture coordinates.
const TEXTURE_COORDINATES: [&str; 7] = ["UV0", "st", "uv", "UV", "texcoord", "map1", "UVMap"];

/// Attributes of the colour and the opacity of vertices.
const COLOR: &str = "color";
const ALPHA: &str = "alpha";

/// Attributes of vertices by the names of properties that are called otherwise.
const ATTRIBUTES: [(&str, &str); 2] = [("displayColor", COLOR), ("displayOpacity", ALPHA)];

/// A geometric property by its name in definitions.
pub(crate) fn geometric(g: &Graph, name: &str) -> Option<Term> {
    let (ty, text) = match name {
        "UV0" => (Type::Vector2, g.uv.as_str()),
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
        "geomcolor" => color(g, scope, node),
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
    let uv = match index {
        "0" => geometric(g, "UV0").expect("it is known"),
        _ => g.attribute(&format!("uv{index}"), zero(Type::Vector2), true),
    };
    match g.declared_type(node)? {
        Type::Vector3 => g.bind(node, Type::Vector3, format!("vec3f({uv}, 0.0)")),
        _ => Ok(uv),
    }
}

/// The colour of vertices, with their opacity.
fn color(g: &mut Graph, scope: Scope, node: Id) -> Result<Term, Error> {
    let ty = g.declared_type(node)?;
    let index = g.string(scope, node, "index")?.map_or("0", |(_, index)| index);
    let name = if index == "0" { COLOR.to_owned() } else { format!("{COLOR}{index}") };
    attribute(g, node, &name, zero(ty), true)
}

/// A property of the geometry by its name: an attribute of vertices.
fn property(g: &mut Graph, scope: Scope, node: Id) -> Result<Term, Error> {
    let names = match g.document.category(node) {
        "geompropvalue" => ["geomprop", "default"],
        _ => ["varname", "fallback"],
    };
    let ty = g.declared_type(node)?;
    let name = g.string(scope, node, names[0])?.map_or("", |(_, name)| name);
    if name.is_empty() {
        let message = format!("the property of a vertex needs a name, {}", names[0]);
        return Err(g.document.error(node, message, "name an attribute, such as displayColor"));
    }
    if TEXTURE_COORDINATES.contains(&name) && ty == Type::Vector2 {
        return Ok(geometric(g, "UV0").expect("it is known"));
    }
    let given = g.input(scope, node, names[1], ty)?;
    let is_required = given.is_none();
    let default = match given {
        Some(default) if default.constant.is_none() => {
            let input = g.document.input(node, names[1]).expect("it is given");
            let message = format!("the default of the property \"{name}\" is not constant");
            g.warn(input, message, "0 on shapes without the property");
            zero(ty)
        }
        given => given.unwrap_or_else(|| zero(ty)),
    };
    let of_scene = ATTRIBUTES.iter().find(|(property, _)| *property == name);
    attribute(g, node, of_scene.map_or(name, |(_, attribute)| attribute), default, is_required)
}

/// An attribute of vertices as a value of the type of its default.
fn attribute(
    g: &mut Graph,
    node: Id,
    name: &str,
    default: Term,
    is_required: bool,
) -> Result<Term, Error> {
    let ty = default.ty;
    let values = default.constant.as_ref().expect("defaults are constant");
    let part = |ty, values: &[f64]| Term::constant(ty, values);
    match ty {
        Type::Float | Type::Vector2 | Type::Vector3 | Type::Color3 => {
            Ok(g.attribute(name, default, is_required))
        }
        Type::Integer => {
            let number = g.attribute(name, part(Type::Float, values), is_required);
            Ok(Term::expression(ty, format!("i32(round({number}))")))
        }
        Type::Boolean => {
            let number = g.attribute(name, part(Type::Float, values), is_required);
            Ok(Term::expression(ty, format!("({number} >= 0.5)")))
        }
        Type::Color4 | Type::Vector4 => {
            let xyz = g.attribute(name, part(Type::Color3, &values[..3]), is_required);
            let w = part(Type::Float, &values[3..]);
            let w = if name == COLOR {
                g.attribute(ALPHA, w, false)
            } else {
                let message = "attributes of vertices have at most three components";
                g.warn(node, message, "the fourth component of the default");
                w
            };
            Ok(Term::expression(ty, format!("vec4f({xyz}, {w})")))
        }
        Type::Matrix33 | Type::Matrix44 => Err(g.document.error(
            node,
            format!("vertices have no attributes of type {}", ty.name()),
            "use float, a vector or a colour",
        )),
    }
}

/// A transformation between spaces. Returns the input: object and world space are the same here.
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
