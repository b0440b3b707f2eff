//! Parameters of the program that are not those of its surface.

use super::Graph;
use crate::attributes::Attribute;
use crate::document::Id;
use crate::error::Error;
use crate::values::{Term, Type, parse_value};

/// Where a parameter of the program gets its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Origin {
    /// An input of a graph.
    Input(Id),
    /// An attribute of vertices.
    Attribute(Attribute),
    /// A constant of the surface.
    Surface,
    /// The tiles of an image.
    Tiles,
}

/// A parameter of the program that is not one of its surface.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub origin: Origin,
    pub name: String,
    pub default: Term,
    pub range: Option<[f64; 2]>,
    pub meaning: String,
}

impl Graph<'_> {
    /// The value of an input of a graph, as a parameter of the program.
    pub(super) fn parameter(&mut self, input: Id) -> Result<Option<Term>, Error> {
        let document = self.document;
        let Some(text) = document.attribute(input, "value") else { return Ok(None) };
        let default = self.value(input, text)?;
        let ty = default.ty;
        if ty.is_matrix() {
            return Ok(Some(default));
        }
        let origin = Origin::Input(input);
        if let Some(known) = self.parameters.iter().find(|known| known.origin == origin) {
            return Ok(Some(Term::expression(ty, format!("m.{}", known.name))));
        }
        let limit = |name| {
            let limits = parse_value(ty, document.attribute(input, name)?).ok()?;
            limits.iter().all(|&x| x == limits[0]).then_some(limits[0])
        };
        let range = match (limit("uimin"), limit("uimax")) {
            (Some(low), Some(high)) => Some([low, high]),
            _ => None,
        };
        let values = default.constant.as_ref().expect("it has a value");
        let range = range.filter(|[low, high]| {
            low < high && ty != Type::Boolean && values.iter().all(|x| (low..=high).contains(&x))
        });
        let title = document.attribute(input, "uiname").unwrap_or_else(|| document.name(input));
        let meaning = format!("{}, of the graph", one_line(title));
        let name = self.names.parameter(document.name(input));
        let term = Term::expression(ty, format!("m.{name}"));
        self.parameters.push(Parameter { origin, name, default, range, meaning });
        Ok(Some(term))
    }

    /// An attribute of vertices, as a parameter with this default.
    pub fn attribute(&mut self, attribute: &str, default: Term, is_required: bool) -> Term {
        let ty = default.ty;
        let values = default.constant.as_ref().expect("the default is constant");
        let mut attribute = Attribute {
            parameter: String::new(),
            name: attribute.to_owned(),
            default: [0, 1, 2].map(|k| values.get(k).copied().unwrap_or(0.0)),
            is_required,
        };
        let is_same = |known: &&Parameter| match &known.origin {
            Origin::Attribute(other) => {
                let unnamed = Attribute { parameter: String::new(), ..other.clone() };
                unnamed == attribute && known.default.ty.size() == ty.size()
            }
            Origin::Input(_) | Origin::Surface | Origin::Tiles => false,
        };
        if let Some(known) = self.parameters.iter().find(is_same) {
            return Term::expression(ty, format!("m.{}", known.name));
        }
        let name = self.names.parameter(&attribute.name);
        let meaning = format!("{}, an attribute of vertices", one_line(&attribute.name));
        attribute.parameter.clone_from(&name);
        let term = Term::expression(ty, format!("m.{name}"));
        let origin = Origin::Attribute(attribute);
        self.parameters.push(Parameter { origin, name, default, range: None, meaning });
        term
    }

    /// A parameter with the tiles of a texture.
    pub(super) fn tiles(&mut self, texture: &str) -> String {
        let name = self.names.parameter(&format!("{texture}_tiles"));
        self.parameters.push(Parameter {
            origin: Origin::Tiles,
            name: name.clone(),
            default: Term::constant(Type::Vector4, &[0.0, 0.0, 1.0, 1.0]),
            range: None,
            meaning: format!("First column, first row, number of columns and number of rows of the tiles of {texture}"),
        });
        name
    }
}

/// Replaces line breaks, which would end a comment.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
