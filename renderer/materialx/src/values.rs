//! Types and values of inputs, and their text in WGSL.

use std::fmt;

/// A type of MaterialX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    Float,
    Integer,
    Boolean,
    Color3,
    Color4,
    Vector2,
    Vector3,
    Vector4,
    Matrix33,
    Matrix44,
}

use Type::{
    Boolean, Color3, Color4, Float, Integer, Matrix33, Matrix44, Vector2, Vector3, Vector4,
};

/// Names of types.
const NAMES: [(&str, Type); 10] = [
    ("float", Float),
    ("integer", Integer),
    ("boolean", Boolean),
    ("color3", Color3),
    ("color4", Color4),
    ("vector2", Vector2),
    ("vector3", Vector3),
    ("vector4", Vector4),
    ("matrix33", Matrix33),
    ("matrix44", Matrix44),
];

impl Type {
    /// Finds a type by its name.
    pub fn parse(name: &str) -> Option<Type> {
        NAMES.iter().find(|(n, _)| *n == name).map(|&(_, ty)| ty)
    }

    /// The name in documents.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|&&(_, ty)| ty == self).expect("all types have names").0
    }

    /// The name in WGSL.
    pub fn wgsl(self) -> &'static str {
        match self {
            Float => "f32",
            Integer => "i32",
            Boolean => "bool",
            Vector2 => "vec2f",
            Color3 | Vector3 => "vec3f",
            Color4 | Vector4 => "vec4f",
            Matrix33 => "mat3x3f",
            Matrix44 => "mat4x4f",
        }
    }

    /// Number of components.
    pub fn size(self) -> usize {
        match self {
            Float | Integer | Boolean => 1,
            Vector2 => 2,
            Color3 | Vector3 => 3,
            Color4 | Vector4 => 4,
            Matrix33 => 9,
            Matrix44 => 16,
        }
    }

    /// Whether it has several components that are floats.
    pub fn is_vector(self) -> bool {
        (2..=4).contains(&self.size())
    }

    pub fn is_colour(self) -> bool {
        matches!(self, Color3 | Color4)
    }

    pub fn is_matrix(self) -> bool {
        matches!(self, Matrix33 | Matrix44)
    }
}

/// A value that a program computes, or a constant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// An expression that needs no parentheses: a name, a literal or a call.
    pub text: String,
    pub ty: Type,
    /// The components, if it is constant.
    pub constant: Option<Vec<f64>>,
}

impl Term {
    /// A constant. A single component stands for all.
    pub fn constant(ty: Type, components: &[f64]) -> Term {
        let components = match *components {
            [one] if !ty.is_matrix() => vec![one; ty.size()],
            _ => components.to_vec(),
        };
        debug_assert_eq!(components.len(), ty.size());
        Term { text: literal(ty, &components), ty, constant: Some(components) }
    }

    /// A float.
    pub fn float(x: f64) -> Term {
        Term::constant(Float, &[x])
    }

    /// An expression, which may be used as an operand.
    pub fn expression(ty: Type, text: impl Into<String>) -> Term {
        Term { text: text.into(), ty, constant: None }
    }

    /// The number, if it is a constant with one component.
    pub fn number(&self) -> Option<f64> {
        match self.constant.as_deref() {
            Some(&[x]) => Some(x),
            _ => None,
        }
    }

    /// Whether it is a constant with all components equal to `x`.
    pub fn is(&self, x: f64) -> bool {
        self.constant.as_ref().is_some_and(|c| c.iter().all(|&component| component == x))
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A number as the shortest text of the same `f32`.
pub(crate) fn number(x: f64) -> String {
    format!("{:?}", x as f32)
}

/// A constant in WGSL.
fn literal(ty: Type, components: &[f64]) -> String {
    match ty {
        Float => number(components[0]),
        Integer => format!("{}", components[0]),
        Boolean => (components[0] != 0.0).to_string(),
        _ if ty.is_vector() && components.iter().all(|&x| x == components[0]) => {
            format!("{}({})", ty.wgsl(), number(components[0]))
        }
        _ => {
            let numbers: Vec<_> = components.iter().map(|&x| number(x)).collect();
            format!("{}({})", ty.wgsl(), numbers.join(", "))
        }
    }
}

/// Reads the text of a value; the error is what is expected.
pub(crate) fn parse_value(ty: Type, text: &str) -> Result<Vec<f64>, String> {
    let parts: Vec<&str> = text
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|part| !part.is_empty())
        .collect();
    let expected = || match ty.size() {
        1 => format!("expected a value of type {}", ty.name()),
        size => format!("expected {size} numbers for type {}", ty.name()),
    };
    let values: Option<Vec<f64>> = parts
        .iter()
        .map(|part| match ty {
            Boolean => match *part {
                "true" | "True" | "1" => Some(1.0),
                "false" | "False" | "0" => Some(0.0),
                _ => None,
            },
            Integer => part.parse::<i32>().ok().map(f64::from),
            _ => part.parse::<f64>().ok().filter(|x| (*x as f32).is_finite()),
        })
        .collect();
    let is_infinite = |part: &&str| part.parse::<f64>().is_ok_and(|x| !(x as f32).is_finite());
    match parts.iter().find(|part| is_infinite(part)) {
        Some(part) => Err(format!("{part} is not a finite number of 32 bits")),
        None => values.filter(|values| values.len() == ty.size()).ok_or_else(expected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_written() {
        let read = |ty, text| parse_value(ty, text).map(|v| Term::constant(ty, &v).text);
        assert_eq!(read(Color3, "0.1, 1 ,2e-3"), Ok("vec3f(0.1, 1.0, 0.002)".into()));
        assert_eq!(read(Vector2, "1 1"), Ok("vec2f(1.0)".into()));
        assert_eq!(read(Integer, "-3"), Ok("-3".into()));
        assert_eq!(read(Boolean, "true"), Ok("true".into()));
        assert_eq!(read(Float, "1, 2"), Err("expected a value of type float".into()));
        assert_eq!(read(Vector3, "1"), Err("expected 3 numbers for type vector3".into()));
        assert_eq!(read(Color3, "1 inf 1"), Err("inf is not a finite number of 32 bits".into()));
        for text in ["nan", "1e99", "", "x"] {
            assert!(read(Float, text).is_err(), "{text}");
        }
    }
}
