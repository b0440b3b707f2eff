//! Attributes of vertices, by the names of their properties.
//!
//! | attribute | properties |
//! |---|---|
//! | `color` | `red`, `green` and `blue`, or `r`, `g` and `b` |
//! | `alpha` | `alpha`, or `a` |
//! | `uv1`, `uv2`, … | `u1` and `v1`, or `s1` and `t1`, and so on |
//! | any other | the property of this name |
//!
//! Floats are linear. Colours and opacities that are integers are divided by the largest integer of
//! their type, and such colours are decoded from sRGB, as programs store them.

use super::header::{Element, PropertyType, ScalarType};
use lightbound::geometry::AttributeValues;
use lightbound_image::Encoding;
use lightbound_math::{Vec2, Vec3};

/// An attribute that is being read.
pub(super) struct Column {
    name: String,
    values: Values,
    /// Largest integer of the type of colours and opacities; `None` for floats and other numbers.
    max: Option<f32>,
}

/// Indices of properties, and the values of vertices.
enum Values {
    Numbers(usize, Vec<f32>),
    Coordinates([usize; 2], Vec<Vec2>),
    Colours([usize; 3], Vec<Vec3>),
}

impl Column {
    /// Finds the properties of an attribute.
    pub fn find(element: &Element, name: &str) -> Option<Column> {
        let find = |name: &str| element.find(name);
        let set = name.strip_prefix("uv").filter(|set| set.parse::<u32>().is_ok());
        let (values, first) = match (name, set) {
            ("color", _) => {
                let names = [["red", "green", "blue"], ["r", "g", "b"]];
                let found = names.iter().find_map(|[r, g, b]| Some([find(r)?, find(g)?, find(b)?]));
                let rgb = found?;
                (Values::Colours(rgb, Vec::new()), rgb[0])
            }
            (_, Some(set)) => {
                let pair = |u: &str, v: &str| {
                    Some([find(&format!("{u}{set}"))?, find(&format!("{v}{set}"))?])
                };
                let uv = pair("u", "v").or_else(|| pair("s", "t"))?;
                (Values::Coordinates(uv, Vec::new()), uv[0])
            }
            ("alpha", _) => {
                let alpha = find("alpha").or_else(|| find("a"))?;
                (Values::Numbers(alpha, Vec::new()), alpha)
            }
            _ => {
                let number = find(name)?;
                (Values::Numbers(number, Vec::new()), number)
            }
        };
        let max = match element.properties[first].ty {
            PropertyType::Scalar(ty) if matches!(name, "color" | "alpha") => ty.max(),
            _ => None,
        };
        Some(Column { name: name.into(), values, max })
    }

    /// Adds the value of a vertex, whose properties `get` returns.
    pub fn push(&mut self, get: impl Fn(usize) -> f32) {
        let max = self.max;
        let unit = |i: usize| max.map_or(get(i), |max| (get(i) / max).clamp(0.0, 1.0));
        let encoding = if max.is_some() { Encoding::Srgb } else { Encoding::Linear };
        match &mut self.values {
            Values::Numbers(i, values) => values.push(unit(*i)),
            Values::Coordinates(uv, values) => values.push(Vec2::from(uv.map(get))),
            Values::Colours(rgb, values) => {
                values.push(Vec3::from(rgb.map(|i| encoding.decode(unit(i)))));
            }
        }
    }

    /// Returns the name and the values.
    pub fn finish(self) -> (String, AttributeValues) {
        let values = match self.values {
            Values::Numbers(_, values) => AttributeValues::Numbers(values),
            Values::Coordinates(_, values) => AttributeValues::Coordinates(values),
            Values::Colours(_, values) => AttributeValues::Colours(values),
        };
        (self.name, values)
    }
}

impl ScalarType {
    /// Returns the largest integer of the type; `None` for floats.
    fn max(self) -> Option<f32> {
        match self {
            ScalarType::I8 => Some(i8::MAX.into()),
            ScalarType::U8 => Some(u8::MAX.into()),
            ScalarType::I16 => Some(i16::MAX.into()),
            ScalarType::U16 => Some(u16::MAX.into()),
            ScalarType::I32 => Some(i32::MAX as f32),
            ScalarType::U32 => Some(u32::MAX as f32),
            ScalarType::F32 | ScalarType::F64 => None,
        }
    }
}
