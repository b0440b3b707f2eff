//! Parses values: numbers, strings and booleans. A single value may omit the brackets.

use super::{DIRECTIVES, Parser};
use crate::diagnostics::SceneError;
use crate::file::legacy;
use crate::file::lexer::{Mark, Token};
use crate::file::params::ParamType;
use std::str::FromStr;

/// A numeric type of the scene format. `inf` and `nan` are out of range.
pub(super) trait Number: FromStr {
    /// Names the type in messages.
    const EXPECTED: &str;
    fn in_range(&self) -> bool;
}

impl Number for f32 {
    const EXPECTED: &str = "a number";
    fn in_range(&self) -> bool {
        self.is_finite()
    }
}

impl Number for f64 {
    const EXPECTED: &str = "a number";
    fn in_range(&self) -> bool {
        self.is_finite()
    }
}

impl Number for i32 {
    const EXPECTED: &str = "an integer";
    fn in_range(&self) -> bool {
        true
    }
}

/// Returns whether a word begins like a number.
pub(super) fn is_numeric(word: &[u8]) -> bool {
    let digits = word.strip_prefix(b"-").or(word.strip_prefix(b"+")).unwrap_or(word);
    digits.first().is_some_and(|b| b.is_ascii_digit() || *b == b'.')
}

/// Returns whether a token begins a directive, the declaration of a parameter, or a list.
fn starts_statement_or_param(token: &Token) -> bool {
    match token {
        Token::Word(word) => {
            let is_legacy = |word| legacy::directive(word).is_some();
            DIRECTIVES.iter().any(|directive| directive.as_bytes() == *word)
                || std::str::from_utf8(word).is_ok_and(is_legacy)
        }
        Token::Text(text) => text.split_once(char::is_whitespace).is_some_and(|(ty, _)| {
            ParamType::from_name(ty).is_some() || legacy::param_type(ty).is_some()
        }),
        Token::Open => true,
        Token::Close => false,
    }
}

impl<'a> Parser<'a> {
    /// Parses exactly `N` numbers, with or without brackets.
    pub(super) fn numbers<const N: usize>(
        &mut self,
        keyword: &str,
    ) -> Result<[f64; N], SceneError> {
        let expected = format!("{keyword} takes {N} numbers");
        let bracketed = self.lexer.peek() == Some(b'[');
        if bracketed {
            self.expect(&expected)?;
        }
        let mut numbers = [0.0; N];
        for (i, slot) in numbers.iter_mut().enumerate() {
            let (token, mark) = self.expect(&expected)?;
            match token {
                Token::Word(bytes) if is_numeric(bytes) => {
                    *slot = self.number(&token, mark, None)?
                }
                token => {
                    let error = self
                        .lexer
                        .error(mark, format!("{expected}, found {i} before {}", token.describe()));
                    return Err(error.help("numbers are written as 1, -2.5 or 3e-4"));
                }
            }
        }
        if bracketed {
            let (token, mark) = self.expect(&expected)?;
            if token != Token::Close {
                let error =
                    self.lexer.error(mark, format!("{expected}, found more: {}", token.describe()));
                return Err(error.help("close the list with \"]\""));
            }
        }
        Ok(numbers)
    }

    /// Parses one value without brackets, or any number of values in brackets.
    pub(super) fn values<T>(
        &mut self,
        expected: &str,
        mut read: impl FnMut(&Self, Token<'a>, Mark, Option<Mark>) -> Result<T, SceneError>,
    ) -> Result<Vec<T>, SceneError> {
        let (token, open) = self.expect(expected)?;
        if token != Token::Open {
            return Ok(vec![read(self, token, open, None)?]);
        }
        let mut values = Vec::new();
        loop {
            match self.lexer.token()? {
                Some((Token::Close, _)) => break,
                Some((token, mark)) => values.push(read(self, token, mark, Some(open))?),
                None => {
                    let error =
                        self.lexer.error(open, format!("this bracket is never closed: {expected}"));
                    return Err(error.help("add the missing \"]\", unless the file is truncated"));
                }
            }
        }
        values.shrink_to_fit();
        Ok(values)
    }

    /// Converts a token to a number. `open` is the position of the opening bracket, if any.
    pub(super) fn number<T: Number>(
        &self,
        token: &Token,
        mark: Mark,
        open: Option<Mark>,
    ) -> Result<T, SceneError> {
        if let Token::Word(bytes) = token
            && is_numeric(bytes)
            && let Some(number) =
                std::str::from_utf8(bytes).ok().and_then(|word| word.parse::<T>().ok())
            && number.in_range()
        {
            return Ok(number);
        }
        Err(self.wrong_type(T::EXPECTED, token, mark, open))
    }

    /// Creates the error for a value of the wrong type, with the likeliest remedy. A directive or
    /// the declaration of a parameter inside brackets suggests a missing closing bracket.
    #[cold]
    fn wrong_type(
        &self,
        expected: &str,
        token: &Token,
        mark: Mark,
        open: Option<Mark>,
    ) -> SceneError {
        let error =
            self.lexer.error(mark, format!("expected {expected}, found {}", token.describe()));
        let word = if let Token::Word(word) = token { *word } else { b"" };
        let parses = std::str::from_utf8(word).is_ok_and(|word| word.parse::<f64>().is_ok());
        let is_number = [f32::EXPECTED, i32::EXPECTED].contains(&expected);
        error.help(match open {
            _ if word.eq_ignore_ascii_case(b"nan") || word.eq_ignore_ascii_case(b"inf") => {
                "numbers must be finite".to_string()
            }
            _ if expected == i32::EXPECTED && parses => {
                "integers have no decimal point and lie between -2147483648 and 2147483647".into()
            }
            _ if parses && expected == f32::EXPECTED => "the number is too large".into(),
            Some(open) if starts_statement_or_param(token) => {
                format!(
                    "is \"]\" missing for the \"[\" on line {}?",
                    self.lexer.location(open).line
                )
            }
            _ if is_number && matches!(token, Token::Text(_)) => {
                format!("write {expected}, without quotes")
            }
            _ => format!("write {expected}"),
        })
    }

    /// Converts a token to a string.
    pub(super) fn text(
        &self,
        token: Token,
        mark: Mark,
        open: Option<Mark>,
    ) -> Result<String, SceneError> {
        match token {
            Token::Text(text) => Ok(text.into_owned()),
            token => Err(self.wrong_type("a quoted string", &token, mark, open)),
        }
    }

    /// Converts a token to a boolean.
    pub(super) fn bool(
        &self,
        token: Token,
        mark: Mark,
        open: Option<Mark>,
    ) -> Result<bool, SceneError> {
        match &token {
            Token::Word(b"true") => Ok(true),
            Token::Word(b"false") => Ok(false),
            Token::Text(text) if text == "true" => Ok(true),
            Token::Text(text) if text == "false" => Ok(false),
            token => Err(self.wrong_type("true or false", token, mark, open)),
        }
    }
}
