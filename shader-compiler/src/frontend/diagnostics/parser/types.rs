//! Values of the wrong type, and arguments of built-in functions.

use super::{ParserError, between, quoted};
use crate::frontend::ShaderError;
use crate::frontend::diagnostics::{conversion, list};

impl ParserError<'_> {
    /// Describes a value of the wrong type.
    pub(super) fn types(&self) -> Option<ShaderError> {
        let message = self.message.as_str();
        let words = quoted(message);
        if message.starts_with("the type of ") {
            let [name, expected, found] = words[..] else { return None };
            let error = self.error(
                format!("`{name}` is declared as `{expected}`, but its value is `{found}`"),
                format!("declared as `{expected}`"),
            );
            return Some(ShaderError { help: conversion(found, expected), ..error });
        }
        if message.starts_with("automatic conversions cannot convert") {
            let [found, expected] = words[..] else { return None };
            let (found, mut expected) = (found.to_owned(), expected.to_owned());
            // naga names the scalar type even if a vector is required.
            if let (Some(vector), Some(letter)) = (found.get(..4), expected.get(..1))
                && vector.starts_with("vec")
                && matches!(&expected[..], "f32" | "i32" | "u32")
            {
                expected = format!("{vector}{letter}");
            }
            let error = self.source.error(format!("expected `{expected}`, found `{found}`"));
            let error = error
                .at(self.location(1), format!("this is `{found}`"))
                .at(self.location(0), format!("`{expected}` is required by this"));
            return Some(ShaderError { help: conversion(&found, &expected), ..error });
        }
        if message.contains("needs a template argument") {
            return Some(self.missing_template());
        }
        if message.starts_with("cannot cast a") {
            let (from, to) = message.strip_prefix("cannot cast a ")?.split_once(" to a ")?;
            return Some(self.error(
                format!("`{from}` cannot be converted to `{to}`"),
                format!("this is `{from}`"),
            ));
        }
        if message.starts_with("the operand of the `*`") {
            return Some(self.error("`*` applies to pointers", "this is not a pointer"));
        }
        if message.starts_with("the operand of the `&`") {
            return Some(
                self.error("`&` applies to variables", "this is a value")
                    .help("declare it with `var`"),
            );
        }
        if message.starts_with("increment/decrement") {
            return Some(
                self.error("`++` and `--` apply to `i32` and `u32`", "this has another type")
                    .help("write `x += 1`"),
            );
        }
        if message.ends_with("is not constructible") {
            let name = self.text(0);
            let error = self.error(
                format!("`{name}` cannot be constructed from these arguments"),
                "in this constructor",
            );
            let columns = name
                .strip_prefix("mat")
                .and_then(|rest| rest.chars().next())
                .filter(char::is_ascii_digit);
            return Some(match columns {
                Some(columns) => error
                    .help(format!("a matrix takes {columns} columns, or all of its components")),
                None => error,
            });
        }
        if message.starts_with("invalid type for constructor component") {
            return Some(self.error(
                "this cannot be a component of a vector or matrix",
                "expected a scalar or a vector",
            ));
        }
        if message.starts_with("invalid `switch` selector") {
            return Some(self.error("`switch` applies to integers", "expected `i32` or `u32`"));
        }
        if message.starts_with("function does not return any value") {
            return Some(
                self.error("this function returns nothing", "a value is expected here")
                    .help("call it as a statement"),
            );
        }
        if message.starts_with("expected an image, but found") {
            let error = self.error(
                format!("`{}` is not a texture", self.text(0)),
                "a texture is expected here",
            );
            return Some(
                error.help("the texture comes first, then the sampler, then the coordinates"),
            );
        }
        if message.starts_with("textureStore can only") {
            return Some(self.error("textures cannot be written", "this texture is read-only"));
        }
        if message.starts_with("textureGather component")
            || message.contains("resolves to a concrete integer scalar")
        {
            let error =
                self.error("expected a constant of type `u32` or `i32`", "not such a constant");
            let before = self.source.text()[..self.location(0).start].trim_end();
            return Some(if before.trim_end_matches('(').trim_end().ends_with("textureGather") {
                let error = self.error("`textureGather` needs a channel", "expected 0, 1, 2 or 3");
                error.help(
                    "its arguments are the channel, the texture, the sampler and the coordinates",
                )
            } else {
                error
            });
        }
        if message.ends_with("cannot be called") {
            return Some(
                self.error(format!("`{}` is not a function", self.text(0)), "called here"),
            );
        }
        if message.starts_with("invalid `switch` case") {
            let error = self.error(
                "a case must be a constant of the type of the `switch` selector",
                "not such a constant",
            );
            return Some(error.help("`0u` is `u32`, `0i` is `i32`, and `0` may be either"));
        }
        if message.starts_with("array element count must be positive") {
            return Some(self.error("an array must have at least one element", "its size"));
        }
        if message.starts_with("unused return value") {
            let error = self.error(
                format!("the result of `{}` is not used", self.text(0)),
                "this call has no other effect",
            );
            return Some(error.help("name it with `let`, or discard it with `_ = …;`"));
        }
        if message.starts_with("invalid left-hand side of assignment") {
            let error = self.error("cannot assign to this", "not a variable");
            return Some(match (self.labels.get(1), self.notes.first()) {
                (Some((location, _)), _) => {
                    let name = &self.source.text()[location.clone()];
                    let error = self.error(format!("cannot assign to `{name}`"), "assigned here");
                    if self.word_before(location) != "let" {
                        let help = format!(
                            "parameters are immutable: copy it to a variable, `var my_{name} = {name};`"
                        );
                        error.at(location.clone(), "a parameter").help(help)
                    } else {
                        error
                            .at(location.clone(), "declared with `let`")
                            .help(format!("declare it with `var {name}`"))
                    }
                }
                (None, Some(_)) => self
                    .error("cannot assign to several components at once", "assigned here")
                    .help("assign them one by one, or construct a new vector"),
                (None, None) => error.help("only variables declared with `var` can be assigned"),
            });
        }
        None
    }

    /// Describes a type without the type of its components, as in GLSL: `vec3`.
    fn missing_template(&self) -> ShaderError {
        let name = self.text(0);
        let help = match name {
            "vec2" | "vec3" | "vec4" => {
                format!("write `{name}f` for floats, `{name}i` or `{name}u` for integers")
            }
            _ if name.starts_with("mat") => format!("write `{name}f`"),
            "array" => "write the type and number of its elements, as in `array<f32, 4>`".into(),
            _ => format!("write it as in `{name}<f32>`"),
        };
        let message = format!("`{name}` lacks the type of its components");
        self.error(message, "WGSL types need it").help(help)
    }

    /// Describes wrong arguments of a function.
    pub(super) fn arguments(&self) -> Option<ShaderError> {
        let message = self.message.as_str();
        if message.starts_with("wrong number of arguments") {
            let expected = between(message, "expected ", ",")?;
            let found = between(message, "found ", "")?;
            // naga's range is half-open.
            let range = expected
                .split_once("..")
                .and_then(|(min, end)| Some((min, end.parse::<u32>().ok()? - 1)));
            let expected =
                range.map_or(expected.to_owned(), |(min, max)| format!("{min} to {max}"));
            let arguments = if expected == "1" { "argument" } else { "arguments" };
            return Some(self.error(
                format!("`{}` takes {expected} {arguments}, but is given {found}", self.text(0)),
                "in this call",
            ));
        }
        if message.starts_with("too many arguments") {
            let max: usize = between(self.notes.first()?, "at most ", " ")?.parse().ok()?;
            let arguments = if max == 1 { "argument" } else { "arguments" };
            let error =
                self.source.error(format!("`{}` takes at most {max} {arguments}", self.text(0)));
            let error =
                error.at(self.location(1), "one too many").at(self.location(0), "in this call");
            return Some(if self.text(0) == "atan" {
                error.help("in WGSL, `atan(y, x)` is written `atan2(y, x)`")
            } else {
                error
            });
        }
        let (is_wrong, is_inconsistent) = (
            message.starts_with("wrong type passed"),
            message.starts_with("inconsistent type passed"),
        );
        if !is_wrong && !is_inconsistent {
            return None;
        }
        let index = between(message, "#", " ")?;
        let (location, label) = self.labels.get(1)?;
        let found = between(label, "has type ", "")?.trim_matches('`');
        let function = self.text(0);
        let allowed: Vec<_> = self
            .notes
            .iter()
            .filter_map(|note| note.strip_prefix("allowed type: "))
            .filter(|ty| is_supported(ty))
            .collect();
        let error =
            self.source.error(format!("argument {index} of `{function}` cannot be `{found}`"));
        // naga locates a name declared with `let` at its value.
        let here = if location.start >= self.location(0).start {
            "this is the argument"
        } else {
            "this is its value"
        };
        let mut error = error
            .at(self.location(0), "in this call")
            .at(location.clone(), format!("{here}, `{found}`"));
        if let (true, Some((other, label))) = (is_inconsistent, self.labels.get(2)) {
            let ty = between(label, "has type ", ",")?;
            error = error.at(other.clone(), format!("with this one, `{ty}`"));
        }
        Some(match allowed[..] {
            [] => error,
            [expected] => match conversion(found, expected) {
                Some(help) => error.help(format!("it must be `{expected}`: {help}")),
                None => error.help(format!("it must be `{expected}`")),
            },
            _ => {
                let types = list(&allowed, "or");
                match conversion(found, "f32") {
                    Some(help) if allowed.contains(&"f32") => {
                        error.help(format!("it may be {types}: {help}"))
                    }
                    _ => error.help(format!("it may be {types}")),
                }
            }
        })
    }
}

/// Whether the compiler supports a type that naga suggests.
fn is_supported(ty: &str) -> bool {
    !["abstract", "16", "64"].iter().any(|part| ty.contains(part))
}
