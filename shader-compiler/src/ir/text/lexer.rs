//! Splits the textual form of a function into tokens.

use super::{begins_name, continues_name, quoted};
use crate::ir::types::Type;
use std::fmt;

/// An error at a byte offset.
pub(super) struct SyntaxError {
    pub(super) at: usize,
    pub(super) message: String,
}

pub(super) type Parsed<T> = Result<T, SyntaxError>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'t> {
    /// `mul`, `wi.x`
    Name(&'t str),
    /// `"a name"`
    Quoted(String),
    /// `%0`, without the percent sign.
    Value(&'t str),
    /// `1.0`, `-3`
    Number(&'t str),
    /// `->`
    Arrow,
    /// `=`, `{`, …
    Symbol(char),
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Name(text) | Token::Number(text) => write!(f, "`{text}`"),
            Token::Quoted(name) => write!(f, "`{}`", quoted(name)),
            Token::Value(name) => write!(f, "`%{name}`"),
            Token::Arrow => f.write_str("`->`"),
            Token::Symbol(c) => write!(f, "`{c}`"),
            Token::End => f.write_str("the end of the text"),
        }
    }
}

pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Lexer<'t> {
        Lexer { text, at: 0 }
    }

    /// The next token and its byte offset.
    pub(super) fn next_token(&mut self) -> Parsed<(usize, Token<'t>)> {
        let text: &'t str = self.text;
        loop {
            let rest = &text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                break;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
        let begin = self.at;
        let rest = &text[begin..];
        let length = |rest: &str, skip: usize, matches: fn(char) -> bool| {
            rest[skip..].find(|c| !matches(c)).map_or(rest.len(), |length| length + skip)
        };
        let mut chars = rest.chars();
        let (token, length) = match (chars.next(), chars.next()) {
            (None, _) => (Token::End, 0),
            (Some('-'), Some('>')) => (Token::Arrow, 2),
            (Some('"'), _) => string(rest, begin)?,
            (Some('%'), _) => {
                let length = length(rest, 1, continues_name);
                (Token::Value(&rest[1..length]), length)
            }
            (Some('0'..='9' | '-' | '.'), _) => {
                // The sign of an exponent is part of the number.
                let mut end = length(rest, 1, continues_name);
                if rest[..end].ends_with(['e', 'E'])
                    && !rest.starts_with("0x")
                    && rest[end..].starts_with(['+', '-'])
                {
                    end = length(rest, end + 1, continues_name);
                }
                (Token::Number(&rest[..end]), end)
            }
            (Some(c), _) if begins_name(c) => {
                let length = length(rest, 0, continues_name);
                (Token::Name(&rest[..length]), length)
            }
            (Some(c @ ('(' | ')' | '{' | '}' | ',' | ':' | '=')), _) => (Token::Symbol(c), 1),
            (Some(c), _) => {
                let message = format!("unexpected character `{}`", c.escape_debug());
                return Err(SyntaxError { at: begin, message });
            }
        };
        self.at += length;
        Ok((begin, token))
    }
}

/// Reads a quoted name; returns it with its length in the text.
fn string(rest: &str, begin: usize) -> Parsed<(Token<'static>, usize)> {
    let mut name = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((index, c)) = chars.next() {
        match c {
            '"' => return Ok((Token::Quoted(name), index + 1)),
            '\\' => name.extend(chars.next().map(|(_, c)| c)),
            c => name.push(c),
        }
    }
    Err(SyntaxError { at: begin, message: "the name has no closing quotation mark".to_owned() })
}

/// Type and bits of a number; `None` if it is malformed or out of range.
pub(super) fn number(text: &str) -> Option<(Type, u32)> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u32::from_str_radix(digits, 16)
            .ok()
            .filter(|_| !digits.starts_with('+'))
            .map(|bits| (Type::I32, bits));
    }
    if matches!(text, "-inf") {
        return Some((Type::F32, f32::NEG_INFINITY.to_bits()));
    }
    if let Ok(integer) = text.parse::<i64>() {
        let fits = (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&integer);
        return fits.then_some((Type::I32, integer as u32));
    }
    // Without this check, `-nan` and `-infinity` would parse as numbers.
    if !text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'))
        || !text.contains(['.', 'e', 'E'])
    {
        return None;
    }
    text.parse::<f32>().ok().filter(|x| x.is_finite()).map(|x| (Type::F32, x.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::super::literal;
    use super::*;

    #[test]
    fn constants_round_trip() {
        for bits in [
            0,
            1,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x3f80_0001,
            0x7f7f_ffff,
            0x0000_0001,
            0x7f80_0000,
            0xff80_0000,
            65535,
            65536,
        ] {
            for ty in [Type::F32, Type::I32] {
                let text = literal(ty, bits);
                let token = match text.as_str() {
                    "nan" => continue,
                    "inf" => Some((Type::F32, f32::INFINITY.to_bits())),
                    _ => number(&text),
                };
                assert_eq!(token, Some((ty, bits)), "{text}");
            }
        }
        for text in [
            "-nan",
            "-infinity",
            "1e40",
            "4294967296",
            "-2147483649",
            "0x123456789",
            "0x",
            "0x+1",
            "1_000",
            "--1",
            "1.0.0",
            "e",
            "-",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
