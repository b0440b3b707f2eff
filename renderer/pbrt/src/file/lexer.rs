//! The lexer: quoted strings, brackets and words; `#` starts a comment.
//!
//! Tokens borrow from the text. The lexer counts lines while it skips white space, and computes a
//! [`Location`] only on request.

use super::shorten;
use crate::diagnostics::{Location, SceneError, Source};
use std::borrow::Cow;
use std::sync::Arc;

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub enum Token<'a> {
    /// A quoted string, without quotes and with escape sequences resolved.
    Text(Cow<'a, str>),
    /// `[`
    Open,
    /// `]`
    Close,
    /// Anything else up to white space, a quote, a bracket or a comment.
    Word(&'a [u8]),
}

impl Token<'_> {
    /// Describes the token in messages.
    pub fn describe(&self) -> String {
        match self {
            Token::Text(text) => format!("the string \"{}\"", shorten(text)),
            Token::Open => "\"[\"".into(),
            Token::Close => "\"]\"".into(),
            Token::Word(word) => format!("\"{}\"", shorten(&String::from_utf8_lossy(word))),
        }
    }
}

/// A position in the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    offset: usize,
    line: u32,
    line_start: usize,
}

/// Splits a text into tokens.
#[derive(Debug)]
pub struct Lexer<'a> {
    text: &'a [u8],
    source: Arc<Source>,
    position: Mark,
}

/// Returns whether a byte ends a word.
fn ends_word(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'[' | b']' | b'#')
}

impl<'a> Lexer<'a> {
    /// Creates a lexer for `text`, the content of `source`. Skips a byte-order mark; fails if the
    /// text is UTF-16.
    pub fn new(text: &'a [u8], source: Arc<Source>) -> Result<Lexer<'a>, SceneError> {
        let start = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let lexer =
            Lexer { text, source, position: Mark { offset: start, line: 1, line_start: start } };
        if text.starts_with(b"\xfe\xff") || text.starts_with(b"\xff\xfe") {
            let message = format!("{} is encoded as UTF-16", lexer.source.path().display());
            return Err(SceneError::new(message).help("save the file as UTF-8"));
        }
        Ok(lexer)
    }

    /// Skips white space and comments, and returns the start of the next token.
    pub fn mark(&mut self) -> Mark {
        while let Some(&b) = self.text.get(self.position.offset) {
            match b {
                b'\n' => {
                    self.position.offset += 1;
                    self.position.line = self.position.line.saturating_add(1);
                    self.position.line_start = self.position.offset;
                }
                b' ' | b'\t' | b'\r' => self.position.offset += 1,
                b'#' => {
                    let rest = &self.text[self.position.offset..];
                    self.position.offset +=
                        rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                }
                _ => break,
            }
        }
        self.position
    }

    /// Moves back to an earlier position.
    pub fn rewind(&mut self, mark: Mark) {
        self.position = mark;
    }

    /// Returns the first byte of the next token without consuming it.
    pub fn peek(&mut self) -> Option<u8> {
        let start = self.mark().offset;
        self.text.get(start).copied()
    }

    /// Converts a position to file, line and column.
    pub fn location(&self, mark: Mark) -> Location {
        let column =
            u32::try_from(mark.offset - mark.line_start).unwrap_or(u32::MAX).saturating_add(1);
        Location::new(self.source.clone(), mark.line, column)
    }

    /// Creates an error at a position.
    pub fn error(&self, mark: Mark, message: impl Into<String>) -> SceneError {
        SceneError::at(&self.location(mark), message)
    }

    /// Reads the next token and its position; `None` at the end of the text. Fails if a string is
    /// unterminated, has an unknown escape sequence or is not UTF-8.
    pub fn token(&mut self) -> Result<Option<(Token<'a>, Mark)>, SceneError> {
        let mark = self.mark();
        let Some(&first) = self.text.get(mark.offset) else { return Ok(None) };
        let token = match first {
            b'"' => Token::Text(self.string(mark)?),
            b'[' | b']' => {
                self.position.offset += 1;
                if first == b'[' { Token::Open } else { Token::Close }
            }
            _ => Token::Word(self.word()),
        };
        Ok(Some((token, mark)))
    }

    /// Reads up to the end of the word.
    fn word(&mut self) -> &'a [u8] {
        let rest = &self.text[self.position.offset..];
        let word = &rest[..rest.iter().position(|&b| ends_word(b)).unwrap_or(rest.len())];
        self.position.offset += word.len();
        word
    }

    /// Reads the quoted string at `mark`.
    fn string(&mut self, mark: Mark) -> Result<Cow<'a, str>, SceneError> {
        let body = &self.text[mark.offset + 1..];
        let mut end = 0;
        let mut escaped = false;
        loop {
            match body.get(end) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    end += 2;
                }
                Some(b'\n') | None => {
                    let error =
                        self.error(mark, "unterminated string: strings must end on the same line");
                    return Err(error.help("close it with a quote (\")"));
                }
                Some(_) => end += 1,
            }
        }
        self.position.offset = mark.offset + end + 2;
        let not_utf8 =
            |_| self.error(mark, "this string is not UTF-8").help("save the file as UTF-8");
        if !escaped {
            return std::str::from_utf8(&body[..end]).map(Cow::Borrowed).map_err(not_utf8);
        }
        let mut out = Vec::with_capacity(end);
        let mut bytes = body[..end].iter();
        while let Some(&b) = bytes.next() {
            out.push(match (b, if b == b'\\' { bytes.next() } else { None }) {
                (b'\\', Some(b'b')) => 8,
                (b'\\', Some(b'f')) => 12,
                (b'\\', Some(b'n')) => b'\n',
                (b'\\', Some(b'r')) => b'\r',
                (b'\\', Some(b't')) => b'\t',
                (b'\\', Some(&escaped @ (b'\\' | b'\'' | b'"'))) => escaped,
                (b'\\', _) => {
                    let error = self.error(mark, "unknown escape sequence in this string");
                    return Err(error
                        .help("write \\\\ for a backslash, and / to separate folders in a path"));
                }
                (unescaped, _) => unescaped,
            });
        }
        String::from_utf8(out).map(Cow::Owned).map_err(|e| not_utf8(e.utf8_error()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &[u8]) -> Result<Vec<(String, u32, u32)>, SceneError> {
        let mut lexer = Lexer::new(text, Source::memory("t", text))?;
        let mut out = Vec::new();
        while let Some((token, mark)) = lexer.token()? {
            let at = lexer.location(mark);
            out.push((token.describe(), at.line, at.column));
        }
        Ok(out)
    }

    #[test]
    fn tokens_have_contents_and_locations() {
        let actual =
            tokens(b"\xef\xbb\xbfShape\"a b\" # c \"d\n\r\n  [1 -2.5e3]# e\n\"q\\\"\\\\\\n\"")
                .unwrap();
        let expected = [
            ("\"Shape\"", 1, 1),
            ("the string \"a b\"", 1, 6),
            ("\"[\"", 3, 3),
            ("\"1\"", 3, 4),
            ("\"-2.5e3\"", 3, 6),
            ("\"]\"", 3, 12),
            ("the string \"q\"\\\n\"", 4, 1),
        ];
        assert_eq!(actual, expected.map(|(t, l, c)| (t.to_string(), l, c)));
    }

    #[test]
    fn invalid_text_is_rejected_with_a_remedy() {
        for (text, part) in [
            (&b"a \"b"[..], "unterminated"),
            (b"a \"b\nc\"", "unterminated"),
            (b"\"b\\", "unterminated"),
            (b"\"C:\\pictures\"", "unknown escape"),
            (b"\"\xff\"", "not UTF-8"),
            (b"\"\\n\xff\"", "not UTF-8"),
            (b"\xff\xfea\0", "UTF-16"),
        ] {
            let error = tokens(text).unwrap_err();
            assert!(error.message().contains(part), "{error}");
            assert!(error.remedy().is_some());
        }
    }

    #[test]
    fn bytes_outside_strings_may_be_invalid_utf8() {
        assert_eq!(tokens(b"# caf\xe9\n\xff").unwrap(), [("\"\u{fffd}\"".to_string(), 2, 1)]);
    }
}
