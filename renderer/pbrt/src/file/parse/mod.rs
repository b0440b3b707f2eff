//! The parser: reads [`Statement`]s in file order.
//!
//! It implements the grammar only: the arguments of each [directive](directive), which are numbers,
//! names or [parameters](param). Brackets around numbers are optional. Unlike in pbrt-v4, a
//! statement ends at the end of its file and cannot continue after an `Include`.

mod directive;
mod param;
#[cfg(test)]
mod tests;
mod values;

pub use super::statement::{
    ActiveTransform, DIRECTIVES, Directive, Entity, Name, Setting, Statement,
};

use super::lexer::{Lexer, Mark, Token};
use crate::diagnostics::{Diagnostics, Location, SceneError, Source};
use std::sync::Arc;

/// Reads a text statement by statement.
#[derive(Debug)]
pub struct Parser<'a> {
    lexer: Lexer<'a>,
}

impl<'a> Parser<'a> {
    /// Creates a parser for `text`, the content of `source`. Fails if the text is UTF-16.
    pub fn new(text: &'a [u8], source: Arc<Source>) -> Result<Parser<'a>, SceneError> {
        Ok(Parser { lexer: Lexer::new(text, source)? })
    }

    /// Returns the current position.
    pub fn location(&mut self) -> Location {
        let mark = self.lexer.mark();
        self.lexer.location(mark)
    }

    /// Parses the next statement; `None` at the end of the text. Warns about deprecated names.
    /// Fails if the text is malformed or uses names from pbrt-v3.
    pub fn next(&mut self, diagnostics: &mut Diagnostics) -> Result<Option<Statement>, SceneError> {
        let Some((token, mark)) = self.lexer.token()? else { return Ok(None) };
        let location = self.lexer.location(mark);
        let Token::Word(bytes) = token else {
            let error =
                self.lexer.error(mark, format!("expected a directive, found {}", token.describe()));
            return Err(error.help(
                "the previous statement may have ended early: check its quotes and brackets",
            ));
        };
        let keyword = DIRECTIVES
            .iter()
            .find(|d| d.as_bytes() == bytes)
            .ok_or_else(|| self.unknown_directive(bytes, mark))?;
        let directive = self.directive(keyword, &location, diagnostics)?;
        Ok(Some(Statement { keyword, directive, location }))
    }

    /// Reads the next token. Fails at the end of the text; `expected` then completes the message.
    fn expect(&mut self, expected: &str) -> Result<(Token<'a>, Mark), SceneError> {
        match self.lexer.token()? {
            Some(token) => Ok(token),
            None => {
                let end = self.lexer.mark();
                let error = self.lexer.error(end, format!("unexpected end of file: {expected}"));
                Err(error.help("is the file truncated?"))
            }
        }
    }

    /// Reads a quoted name.
    fn name(&mut self, expected: &str) -> Result<Name, SceneError> {
        match self.expect(expected)? {
            (Token::Text(text), mark) => {
                Ok(Name { text: text.into_owned(), location: self.lexer.location(mark) })
            }
            (token, mark) => {
                let error =
                    self.lexer.error(mark, format!("{expected}; found {}", token.describe()));
                Err(error.help("put the name in quotes"))
            }
        }
    }
}
