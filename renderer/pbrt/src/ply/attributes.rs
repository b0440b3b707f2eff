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
//! their type, or by 255 if they have 32 bits, since programs that write these keep the codes of 8
//! bits. Such colours are decoded from sRGB, as programs store them.

use super::PlyErrorKind;
use super::header::{Element, PropertyType, ScalarType};
use lightbound::geometry::AttributeValues;
use lightbound_image::Encoding;
use lightbound_math::{Vec2, Vec3};

/// An attribute that is being read.
pub(super) struct Column {
    name: String,
    values: Values,
    /// Largest code of each component of a colour or an opacity; `None` for floats and other numbers.
    max: [Option<f32>; 3],
    /// The first vertex with a code that is out of range, the code, and the largest one.
    invalid: Option<(usize, f32, f32)>,
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
        let (values, properties) = match (name, set) {
            ("color", _) => {
                let names = [["red", "green", "blue"], ["r", "g", "b"]];
                let found = names.iter().find_map(|[r, g, b]| Some([find(r)?, find(g)?, find(b)?]));
                let rgb = found?;
                (Values::Colours(rgb, Vec::new()), rgb)
            }
            (_, Some(set)) => {
                let pair = |u: &str, v: &str| {
                    Some([find(&format!("{u}{set}"))?, find(&format!("{v}{set}"))?])
                };
                let uv = pair("u", "v").or_else(|| pair("s", "t"))?;
                (Values::Coordinates(uv, Vec::new()), [uv[0]; 3])
            }
            ("alpha", _) => {
                let alpha = find("alpha").or_else(|| find("a"))?;
                (Values::Numbers(alpha, Vec::new()), [alpha; 3])
            }
            _ => {
                let number = find(name)?;
                (Values::Numbers(number, Vec::new()), [number; 3])
            }
        };
        let max = properties.map(|property| match element.properties[property].ty {
            PropertyType::Scalar(ty) if matches!(name, "color" | "alpha") => ty.max_code(),
            _ => None,
        });
        Some(Column { name: name.into(), values, max, invalid: None })
    }

    /// Adds the value of a vertex, whose properties `get` returns.
    pub fn push(&mut self, get: impl Fn(usize) -> f32) {
        let Column { max, invalid, .. } = self;
        let mut unit = |vertex: usize, i: usize, max: Option<f32>| {
            let Some(max) = max else { return get(i) };
            let code = get(i);
            if !(0.0..=max).contains(&code) {
                invalid.get_or_insert((vertex, code, max));
            }
            code / max
        };
        match &mut self.values {
            Values::Numbers(i, values) => {
                let x = unit(values.len(), *i, max[0]);
                values.push(x);
            }
            Values::Coordinates(uv, values) => values.push(Vec2::from(uv.map(get))),
            Values::Colours(rgb, values) => {
                values.push(Vec3::from_array(std::array::from_fn(|k| {
                    let encoding = if max[k].is_some() { Encoding::Srgb } else { Encoding::Linear };
                    encoding.decode(unit(values.len(), rgb[k], max[k]))
                })));
            }
        }
    }

    /// Returns the name and the values.
    ///
    /// # Errors
    /// If an integer is negative, or above the largest code.
    pub fn finish(self) -> Result<(String, AttributeValues), PlyErrorKind> {
        if let Some((vertex, value, max)) = self.invalid {
            return Err(PlyErrorKind::ColourCode { attribute: self.name, vertex, value, max });
        }
        let values = match self.values {
            Values::Numbers(_, values) => AttributeValues::Numbers(values),
            Values::Coordinates(_, values) => AttributeValues::Coordinates(values),
            Values::Colours(_, values) => AttributeValues::Colours(values),
        };
        Ok((self.name, values))
    }
}

impl ScalarType {
    /// Returns the largest code of a colour of the type; `None` for floats.
    fn max_code(self) -> Option<f32> {
        match self {
            ScalarType::I8 => Some(i8::MAX.into()),
            ScalarType::U8 => Some(u8::MAX.into()),
            ScalarType::I16 => Some(i16::MAX.into()),
            ScalarType::U16 => Some(u16::MAX.into()),
            ScalarType::I32 | ScalarType::U32 => Some(u8::MAX.into()),
            ScalarType::F32 | ScalarType::F64 => None,
        }
    }
}
