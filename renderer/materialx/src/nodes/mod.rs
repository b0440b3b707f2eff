//! Nodes of the standard library as expressions of WGSL.

mod geometry;
mod heights;
mod images;
mod octaves;
mod table;

pub(crate) use geometry::geometric;

use crate::document::Id;
use crate::error::Error;
use crate::graph::{Graph, Scope};
use crate::values::{Term, Type, parse_value};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Inputs and expressions by node, or by node and type.
static ROWS: LazyLock<HashMap<&str, (Vec<Input>, &str)>> = LazyLock::new(|| {
    let row = |&[name, inputs, expression]: &[&'static str; 3]| {
        (name, (inputs.split_whitespace().map(Input::parse).collect(), expression))
    };
    table::TABLE.iter().map(row).collect()
});

/// An input of a node in the table.
struct Input {
    name: &'static str,
    kind: &'static str,
    default: &'static str,
}

impl Input {
    fn parse(text: &'static str) -> Input {
        let (name, rest) = text.split_once(':').expect("inputs have kinds");
        let (kind, default) = rest.split_once('=').expect("inputs have defaults");
        Input { name, kind, default }
    }

    /// Evaluates the input of a node that has a result of type `ty`.
    fn evaluate(&self, g: &mut Graph, scope: Scope, node: Id, ty: Type) -> Result<Term, Error> {
        let fixed = match self.kind {
            "T" => Some(ty),
            "f" => Some(Type::Float),
            "i" => Some(Type::Integer),
            "b" => Some(Type::Boolean),
            "2" => Some(Type::Vector2),
            "3" => Some(Type::Vector3),
            "4" => Some(Type::Vector4),
            "9" => Some(Type::Matrix33),
            "16" => Some(Type::Matrix44),
            _ => None,
        };
        let given = match fixed {
            Some(ty) => g.input(scope, node, self.name, ty)?,
            None => g.any_input(scope, node, self.name)?,
        };
        let given = match (given, self.kind) {
            // Operators take floats with vectors.
            (Some(term), "M") if term.ty == Type::Float && ty.is_vector() => Some(term),
            (Some(term), "M") => {
                let input = g.document.input(node, self.name).expect("it is given");
                Some(g.coerce(input, term, ty)?)
            }
            (given, _) => given,
        };
        if let Some(term) = given {
            return Ok(term);
        }
        let ty = fixed.unwrap_or(match self.kind {
            "M" if !ty.is_vector() => ty,
            _ => Type::Float,
        });
        Ok(match self.default {
            "uv" => geometric(g, "UV0").expect("it is known"),
            "P" => geometric(g, "Pobject").expect("it is known"),
            "N" => geometric(g, "Nworld").expect("it is known"),
            "I" => {
                let n = if ty == Type::Matrix44 { 4 } else { 3 };
                let entry = |i: usize| f64::from(u8::from(i / n == i % n));
                Term::constant(ty, &(0..n * n).map(entry).collect::<Vec<_>>())
            }
            text if text.contains(',') => {
                let ty = if text.matches(',').count() == 3 { Type::Vector4 } else { Type::Vector3 };
                Term::constant(ty, &parse_value(ty, text).expect("defaults are valid"))
            }
            "true" => Term::constant(Type::Boolean, &[1.0]),
            "false" => Term::constant(Type::Boolean, &[0.0]),
            text => {
                let x = text.parse().expect("defaults are valid");
                let size = if ty.is_matrix() { ty.size() } else { 1 };
                Term::constant(ty, &vec![x; size])
            }
        })
    }
}

/// Nodes without an equivalent in a renderer of this kind.
const IMPOSSIBLE: &[(&str, &str)] = &[
    ("viewdirection", "the direction of view is not known where parameters are computed"),
    ("facingratio", "the direction of view is not known where parameters are computed"),
    ("blur", "an image cannot be blurred while it is sampled; blur the file"),
    ("ambientocclusion", "paths find what occludes light; remove the node"),
];

/// Evaluates an output of a node.
pub(crate) fn evaluate(g: &mut Graph, scope: Scope, node: Id, output: &str) -> Result<Term, Error> {
    let document = g.document;
    let category = document.category(node);
    if let Some(component) =
        category.strip_prefix("separate").and_then(|_| output.strip_prefix("out"))
    {
        let term = required(g, scope, node, "in")?;
        return swizzle(g, node, &term, component);
    }
    if let Some(result) = images::evaluate(g, scope, node, output) {
        return result;
    }
    if let Some(result) = geometry::evaluate(g, scope, node) {
        return result;
    }
    if let Some(result) = heights::evaluate(g, scope, node) {
        return result;
    }
    if let Some((_, reason)) = IMPOSSIBLE.iter().find(|(name, _)| *name == category) {
        let label = document.label(node);
        return Err(document.error(node, format!("{label} is not supported"), *reason));
    }
    if category == "artistic_ior" {
        let mut color = |name, default| {
            let given = g.input(scope, node, name, Type::Color3)?;
            Ok::<_, Error>(given.unwrap_or(Term::constant(Type::Color3, default)))
        };
        let (r, edge) = (
            color("reflectivity", &[0.944, 0.776, 0.373])?,
            color("edge_color", &[0.998, 0.981, 0.751])?,
        );
        let function = if output == "extinction" { "extinction" } else { "ior" };
        return g.bind(node, Type::Color3, format!("mx_artistic_{function}({r}, {edge})"));
    }
    let ty = g.declared_type(node)?;
    match category {
        "constant" => {
            let value = g.input(scope, node, "value", ty)?;
            return Ok(value.unwrap_or_else(|| zero(ty)));
        }
        "convert" => {
            let term = required(g, scope, node, "in")?;
            return convert(g, node, term, ty);
        }
        "extract" => {
            let term = required(g, scope, node, "in")?;
            let index = g.input(scope, node, "index", Type::Integer)?;
            let index = index.unwrap_or(Term::constant(Type::Integer, &[0.0]));
            return match index.number() {
                Some(i) if (0.0..term.ty.size() as f64).contains(&i) && term.ty.is_vector() => {
                    let component = &"xyzw"[i as usize..=i as usize];
                    swizzle(g, node, &term, component)
                }
                None if term.ty.is_vector() => {
                    g.bind(node, Type::Float, format!("{term}[{index}]"))
                }
                _ => Err(document.error(
                    node,
                    format!("{} has no component {index}", term.ty.name()),
                    "correct the index",
                )),
            };
        }
        "swizzle" => {
            let term = required(g, scope, node, "in")?;
            let channels = g.string(scope, node, "channels")?.map_or("", |(_, text)| text);
            let term = swizzle(g, node, &term, channels)?;
            return convert(g, node, term, ty);
        }
        "switch" => return switch(g, scope, node, ty),
        "transformmatrix" => return transform(g, scope, node, ty),
        "ramp" => return ramp(g, scope, node, ty),
        _ => {}
    }
    let by_type = format!("{category}.{}", ty.name());
    let row = ROWS.get(by_type.as_str()).or_else(|| ROWS.get(category));
    let Some((inputs, expression)) = row else {
        return Err(document.error(
            node,
            format!("node {} is not supported", document.label(node)),
            "replace it by other nodes, or define it in the document as a <nodegraph>",
        ));
    };
    if category == "normalmap" {
        check_is_normal(g, node)?;
    }
    let mut terms = Vec::new();
    for input in inputs {
        let term = input.evaluate(g, scope, node, ty)?;
        terms.push(match input.name {
            "octaves" => octaves::limited(g, node, term),
            _ => term,
        });
    }
    // An operator on floats only has a float as its result.
    if ty.is_vector()
        && inputs.iter().all(|input| input.kind == "M")
        && terms.iter().all(|term| term.ty == Type::Float)
        && let Some(first) = terms.first_mut()
    {
        *first = g.coerce(node, first.clone(), ty)?;
    }
    // WGSL evaluates an expression of constants when it is read, and naga cannot evaluate all of them.
    if terms.iter().all(|term| term.constant.is_some())
        && let (Some(term), Some(input)) = (terms.first_mut(), inputs.first())
    {
        *term = g.bind_as(input.name, node, term.ty, term.text.clone())?;
    }
    let mut text = (*expression).replace("{T}", ty.wgsl());
    for (input, term) in inputs.iter().zip(&terms) {
        text = text.replace(&format!("{{{}}}", input.name), &term.text);
    }
    g.bind(node, ty, text)
}

/// Checks that a node that makes a normal is connected to that of a surface.
fn check_is_normal(g: &Graph, node: Id) -> Result<(), Error> {
    if g.in_shading_frame {
        return Ok(());
    }
    let message = format!("{} is not connected to the normal of a surface", g.document.label(node));
    Err(g.document.error(node, message, "normals of normal maps have no other use here"))
}

/// An input that a node must have.
fn required(g: &mut Graph, scope: Scope, node: Id, name: &str) -> Result<Term, Error> {
    let missing = |g: &Graph| {
        let label = g.document.label(node);
        g.document.error(node, format!("{label} has no input \"{name}\""), "add the input")
    };
    g.any_input(scope, node, name)?.ok_or_else(|| missing(g))
}

/// Zero of a type.
pub(crate) fn zero(ty: Type) -> Term {
    Term::constant(ty, &vec![0.0; ty.size()])
}

/// Components of a value: `rgba`, `xyzw`, 0 and 1.
pub(crate) fn swizzle(g: &Graph, at: Id, term: &Term, channels: &str) -> Result<Term, Error> {
    let size = term.ty.size();
    let component = |c: char| match c {
        '0' => Some("0.0".to_owned()),
        '1' => Some("1.0".to_owned()),
        _ => {
            let index = "rgba".find(c).or_else(|| "xyzw".find(c)).filter(|&i| i < size)?;
            Some(match size {
                1 => term.text.clone(),
                _ => format!("{}.{}", term.text, &"xyzw"[index..=index]),
            })
        }
    };
    let ty = match channels.chars().count() {
        1 => Some(Type::Float),
        2 => Some(Type::Vector2),
        3 if term.ty.is_colour() => Some(Type::Color3),
        3 => Some(Type::Vector3),
        4 if term.ty.is_colour() => Some(Type::Color4),
        4 => Some(Type::Vector4),
        _ => None,
    };
    let components: Option<Vec<String>> = channels.chars().map(component).collect();
    match (ty, components) {
        (Some(Type::Float), Some(components)) if !term.ty.is_matrix() => {
            Ok(Term::expression(Type::Float, components.concat()))
        }
        (Some(ty), Some(components)) if !term.ty.is_matrix() => {
            Ok(Term::expression(ty, format!("{}({})", ty.wgsl(), components.join(", "))))
        }
        _ => Err(g.document.error(
            at,
            format!("{} has no channels \"{channels}\"", term.ty.name()),
            "name channels that the input has",
        )),
    }
}

/// Converts a value to another type, as the node `convert`.
fn convert(g: &Graph, node: Id, term: Term, ty: Type) -> Result<Term, Error> {
    if term.ty.is_vector() && ty.is_vector() && term.ty.size() != ty.size() {
        let (from, to) = (term.ty.size(), ty.size());
        // Colours get an opacity of 1, and other components are 0.
        let channels = match (from, to) {
            (2, 3) => "xy0",
            (2, 4) => "xy00",
            (3, 4) if term.ty.is_colour() || ty.is_colour() => "xyz1",
            (3, 4) => "xyz0",
            (_, 2) => "xy",
            _ => "xyz",
        };
        let swizzled = swizzle(g, node, &term, channels)?;
        return Ok(Term { ty, ..swizzled });
    }
    match (term.ty, ty) {
        (Type::Integer, Type::Boolean) => Ok(Term::expression(ty, format!("bool({term})"))),
        (Type::Boolean | Type::Integer, _) if ty.is_vector() => {
            let float = g.coerce(node, term, Type::Float)?;
            g.coerce(node, float, ty)
        }
        _ => g.coerce(node, term, ty),
    }
}

/// The number of inputs of `switch` and of colours of `ramp`.
const MAX_CASES: usize = 10;

/// `switch`: the input with the number `which`, rounded down, plus one.
fn switch(g: &mut Graph, scope: Scope, node: Id, ty: Type) -> Result<Term, Error> {
    if ty.is_matrix() {
        let document = g.document;
        return Err(document.error(node, "a switch of matrices is not supported", "use vectors"));
    }
    let which = g.input(scope, node, "which", Type::Float)?.unwrap_or(Term::float(0.0));
    let which = g.bind_as("which", node, Type::Float, which.text)?;
    let mut text = zero(ty).text;
    let mut is_first = true;
    for case in (1..=MAX_CASES).rev() {
        let input = g.input(scope, node, &format!("in{case}"), ty)?;
        if input.is_none() && is_first {
            continue;
        }
        is_first = false;
        let value = input.unwrap_or_else(|| zero(ty));
        text = format!("select({text}, {value}, {which} < {case}.0)");
    }
    g.bind(node, ty, text)
}

/// `transformmatrix`: the product of a matrix and a vector, to which 1 is appended if it is shorter.
fn transform(g: &mut Graph, scope: Scope, node: Id, ty: Type) -> Result<Term, Error> {
    let matrix = required(g, scope, node, "mat")?;
    let vector = g.input(scope, node, "in", ty)?.unwrap_or_else(|| zero(ty));
    let vector = g.bind_as("in", node, ty, vector.text)?;
    let text = match (matrix.ty, ty) {
        (Type::Matrix33, Type::Vector2) => format!("({matrix} * vec3f({vector}, 1.0)).xy"),
        (Type::Matrix44, Type::Vector3) => format!("({matrix} * vec4f({vector}, 1.0)).xyz"),
        (Type::Matrix33, Type::Vector3) | (Type::Matrix44, Type::Vector4) => {
            format!("{matrix} * {vector}")
        }
        (found, _) => {
            let message = format!("a {} cannot transform a {}", found.name(), ty.name());
            return Err(g.document.error(node, message, "use a matrix of the size of the vector"));
        }
    };
    g.bind(node, ty, text)
}

/// `ramp`: up to ten colours along a direction.
fn ramp(g: &mut Graph, scope: Scope, node: Id, ty: Type) -> Result<Term, Error> {
    let integer = |g: &mut Graph, name: &str, default: f64| {
        let given = g.input(scope, node, name, Type::Integer)?;
        Ok::<_, Error>(given.unwrap_or(Term::constant(Type::Integer, &[default])))
    };
    let kind = integer(g, "type", 0.0)?;
    let interpolation = integer(g, "interpolation", 1.0)?;
    let count = integer(g, "num_intervals", 2.0)?;
    let Some(count) = count.number().filter(|n| (2.0..=MAX_CASES as f64).contains(n)) else {
        return Err(g.document.error(
            node,
            "the number of intervals of a ramp must be a constant from 2 to 10",
            "give num_intervals a value",
        ));
    };
    let uv = g.input(scope, node, "texcoord", Type::Vector2)?;
    let uv = uv.unwrap_or_else(|| geometric(g, "UV0").expect("it is known"));
    let x = g.bind(node, Type::Float, format!("mx_ramp_coordinate({uv}, {kind})"))?;
    let mut stops = Vec::new();
    for i in 1..=count as usize {
        let position = g.input(scope, node, &format!("interval{i}"), Type::Float)?;
        let color = g.input(scope, node, &format!("color{i}"), Type::Color4)?;
        let white = Term::constant(Type::Color4, &[1.0]);
        let black = Term::constant(Type::Color4, &[0.0, 0.0, 0.0, 1.0]);
        stops.push((
            position.unwrap_or(Term::float(if i == 1 { 0.0 } else { 1.0 })),
            color.unwrap_or(if i == 1 { black } else { white }),
        ));
    }
    let mut result = stops[0].1.clone();
    for pair in stops.windows(2) {
        let [(low, color1), (high, color2)] = pair else { unreachable!("windows of 2") };
        let text = format!(
            "mx_ramp_interval({x}, {low}, {high}, {color1}, {color2}, {interpolation}, {result})"
        );
        result = g.bind(node, Type::Color4, text)?;
    }
    convert(g, node, result, ty)
}
