//! Parses parameters: `"type name"`, then values.

use super::{Name, Parser};
use crate::diagnostics::{Diagnostics, Location, SceneError};
use crate::file::params::{Param, ParamSet, ParamType, ParamValues};
use crate::file::{legacy, shorten};
use lightbound::suggestion::did_you_mean;
use std::sync::Arc;

impl Parser<'_> {
    /// Parses all parameters up to the next directive.
    pub(super) fn params(&mut self, diagnostics: &mut Diagnostics) -> Result<ParamSet, SceneError> {
        let mut params = Vec::new();
        while self.lexer.peek() == Some(b'"') {
            let declaration = self.name("a parameter is declared as \"type name\"")?;
            let Name { text, location } = &declaration;
            let words: Vec<&str> = text.split_ascii_whitespace().collect();
            let &[type_name, name] = words.as_slice() else {
                let message = format!(
                    "expected a parameter declared as \"type name\", found \"{}\"",
                    shorten(text)
                );
                return Err(SceneError::at(location, message)
                    .help("such as \"float radius\" or \"string filename\""));
            };
            let ty = param_type(type_name, location, diagnostics)?;
            let values = self.param_values(ty, text)?;
            params.push(Arc::new(Param::new(name.to_string(), ty, values, location.clone())));
        }
        Ok(ParamSet::new(params))
    }

    fn param_values(
        &mut self,
        ty: ParamType,
        declaration: &str,
    ) -> Result<ParamValues, SceneError> {
        let expected = format!("\"{}\" takes values", shorten(declaration));
        let is_string = match ty {
            ParamType::String | ParamType::Texture => true,
            ParamType::Spectrum => self.string_follows(&expected)?,
            _ => false,
        };
        Ok(match ty {
            _ if is_string => ParamValues::Strings(self.values(&expected, Self::text)?),
            ParamType::Bool => ParamValues::Bools(self.values(&expected, Self::bool)?),
            ParamType::Integer => ParamValues::Integers(
                self.values(&expected, |p, token, mark, open| p.number(&token, mark, open))?,
            ),
            _ => ParamValues::Floats(
                self.values(&expected, |p, token, mark, open| p.number(&token, mark, open))?,
            ),
        })
    }

    /// Returns whether the next value is a string, without consuming it.
    fn string_follows(&mut self, expected: &str) -> Result<bool, SceneError> {
        let mark = self.lexer.mark();
        if self.lexer.peek() == Some(b'[') {
            self.expect(expected)?;
        }
        let follows = self.lexer.peek() == Some(b'"');
        self.lexer.rewind(mark);
        Ok(follows)
    }
}

/// Parses the type of a parameter. Types from pbrt-v3 give a warning if their values remain valid.
fn param_type(
    name: &str,
    location: &Location,
    diagnostics: &mut Diagnostics,
) -> Result<ParamType, SceneError> {
    if let Some(ty) = ParamType::from_name(name) {
        return Ok(ty);
    }
    match legacy::param_type(name) {
        Some((replacement, true)) => {
            let message = format!("parameter type \"{name}\" is from pbrt-v3");
            diagnostics.warn(
                Some(location),
                message,
                format!("\"{replacement}\", its name in pbrt-v4"),
            )?;
            Ok(ParamType::from_name(replacement).expect("replacements are valid types"))
        }
        Some((replacement, false)) => {
            let error =
                SceneError::at(location, format!("parameter type \"{name}\" is from pbrt-v3"));
            Err(error.help(format!("write \"{replacement}\", with linear RGB values")))
        }
        None => {
            let names = ParamType::NAMES.map(|(name, _)| name);
            let error =
                SceneError::at(location, format!("unknown parameter type \"{}\"", shorten(name)));
            let list = format!("the types are {}", names.join(", "));
            Err(error.help(did_you_mean(name, names, &list)))
        }
    }
}
