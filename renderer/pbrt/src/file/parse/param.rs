//! Parses parameters: `"type name"` and values.

use super::{Name, Parser};
use crate::diagnostics::{Diagnostics, Location, SceneError};
use crate::file::params::{Param, ParamSet, ParamType, Values};
use crate::file::{legacy, shorten};
use lightbound::suggestion::did_you_mean;
use std::sync::Arc;

impl Parser<'_> {
    /// All parameters up to the next directive.
    pub(super) fn params(&mut self, diagnostics: &mut Diagnostics) -> Result<ParamSet, SceneError> {
        let mut params = Vec::new();
        while self.lexer.peek() == Some(b'"') {
            let declaration = self.name("a parameter is declared as \"type name\"")?;
            let Name { text, location } = &declaration;
            let words: Vec<&str> = text.split_ascii_whitespace().collect();
            let &[kind, name] = words.as_slice() else {
                let message = format!(
                    "expected a parameter declared as \"type name\", found \"{}\"",
                    shorten(text)
                );
                return Err(SceneError::at(location, message)
                    .help("such as \"float radius\" or \"string filename\""));
            };
            let kind = param_type(kind, location, diagnostics)?;
            let values = self.param_values(kind, text)?;
            params.push(Arc::new(Param::new(name.to_string(), kind, values, location.clone())));
        }
        Ok(ParamSet::new(params))
    }

    fn param_values(&mut self, kind: ParamType, declaration: &str) -> Result<Values, SceneError> {
        let expected = format!("\"{}\" takes values", shorten(declaration));
        let strings = match kind {
            ParamType::String | ParamType::Texture => true,
            ParamType::Spectrum => self.string_follows(&expected)?,
            _ => false,
        };
        Ok(match kind {
            _ if strings => Values::Strings(self.values(&expected, Self::text)?),
            ParamType::Bool => Values::Bools(self.values(&expected, Self::bool)?),
            ParamType::Integer => Values::Integers(
                self.values(&expected, |p, token, mark, open| p.number(&token, mark, open))?,
            ),
            _ => Values::Numbers(
                self.values(&expected, |p, token, mark, open| p.number(&token, mark, open))?,
            ),
        })
    }

    /// Whether the next value is a string.
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

fn param_type(
    name: &str,
    at: &Location,
    diagnostics: &mut Diagnostics,
) -> Result<ParamType, SceneError> {
    if let Some(kind) = ParamType::from_name(name) {
        return Ok(kind);
    }
    match legacy::param_type(name) {
        Some((new, true)) => {
            let message = format!("parameter type \"{name}\" is from pbrt-v3");
            diagnostics.warn(Some(at), message, format!("\"{new}\", its name in pbrt-v4"))?;
            Ok(ParamType::from_name(new).expect("replacements are types"))
        }
        Some((new, false)) => {
            let error = SceneError::at(at, format!("parameter type \"{name}\" is from pbrt-v3"));
            Err(error.help(format!("write \"{new}\", with linear RGB values")))
        }
        None => {
            let names = ParamType::NAMES.map(|(name, _)| name);
            let error = SceneError::at(at, format!("unknown parameter type \"{}\"", shorten(name)));
            let list = format!("the types are {}", names.join(", "));
            Err(error.help(did_you_mean(name, names, &list)))
        }
    }
}
