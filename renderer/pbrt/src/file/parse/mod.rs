//! The parser: reads [`Statement`]s in the order of the text.
//!
//! The parser implements only the grammar: which [directive](directive) takes numbers, names or
//! [parameters](param). Numbers may always be bare or in brackets. Unlike in pbrt-v4, a statement
//! ends with its file and does not continue after an `Include`.

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
    /// Starts at the beginning of `text`, the content of `source`.
    ///
    /// *Errors*: the text is UTF-16.
    pub fn new(text: &'a [u8], source: Arc<Source>) -> Result<Parser<'a>, SceneError> {
        Ok(Parser { lexer: Lexer::new(text, source)? })
    }

    /// The current position.
    pub fn location(&mut self) -> Location {
        let mark = self.lexer.mark();
        self.lexer.location(mark)
    }

    /// The next statement; `None` at the end of the text. Warns of deprecated names that are still
    /// accepted.
    ///
    /// *Errors*: the text does not follow the format, or uses names of pbrt-v3.
    pub fn next(&mut self, diagnostics: &mut Diagnostics) -> Result<Option<Statement>, SceneError> {
        let Some((token, mark)) = self.lexer.token()? else { return Ok(None) };
        let location = self.lexer.location(mark);
        let Token::Word(bytes) = token else {
            let error =
                self.lexer.error(mark, format!("expected a directive, found {}", token.show()));
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

    /// The next token; an error at the end of the text.
    fn expect(&mut self, expected: &str) -> Result<(Token<'a>, Mark), SceneError> {
        match self.lexer.token()? {
            Some(found) => Ok(found),
            None => {
                let end = self.lexer.mark();
                let error = self.lexer.error(end, format!("unexpected end of file: {expected}"));
                Err(error.help("is the file truncated?"))
            }
        }
    }

    fn name(&mut self, expected: &str) -> Result<Name, SceneError> {
        match self.expect(expected)? {
            (Token::Text(text), mark) => {
                Ok(Name { text: text.into_owned(), location: self.lexer.location(mark) })
            }
            (token, mark) => {
                let error = self.lexer.error(mark, format!("{expected}; found {}", token.show()));
                Err(error.help("put the name in quotes"))
            }
        }
    }
}
