//! The lexer: quoted strings, brackets and words; `#` starts a comment.
//!
//! Tokens borrow from the text. Lines are counted while white space is skipped, so that a
//! [`Location`] is computed only when needed.

use super::shorten;
use crate::diagnostics::{Location, SceneError, Source};
use std::borrow::Cow;
use std::sync::Arc;

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub enum Token<'a> {
    /// A quoted string, without its quotes, escapes resolved.
    Text(Cow<'a, str>),
    /// `[`
    Open,
    /// `]`
    Close,
    /// Anything else up to white space, a quote, a bracket or a comment.
    Word(&'a [u8]),
}

impl Token<'_> {
    /// The token as shown in messages.
    pub fn show(&self) -> String {
        match self {
            Token::Text(text) => format!("the string \"{}\"", shorten(text)),
            Token::Open => "\"[\"".into(),
            Token::Close => "\"]\"".into(),
            Token::Word(word) => format!("\"{}\"", shorten(&String::from_utf8_lossy(word))),
        }
    }
}

/// Start of a token: its offset and line.
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

/// Whether a byte ends a word.
fn ends_word(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'[' | b']' | b'#')
}

impl<'a> Lexer<'a> {
    /// Starts at the beginning of `text`, the content of `source`; a byte-order mark is skipped.
    ///
    /// *Errors*: the text is UTF-16 or compressed.
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

    /// Returns to an earlier mark.
    pub fn rewind(&mut self, mark: Mark) {
        self.position = mark;
    }

    /// The first byte of the next token.
    pub fn peek(&mut self) -> Option<u8> {
        let start = self.mark().offset;
        self.text.get(start).copied()
    }

    /// File, line and column of a mark.
    pub fn location(&self, mark: Mark) -> Location {
        let column =
            u32::try_from(mark.offset - mark.line_start).unwrap_or(u32::MAX).saturating_add(1);
        Location::new(self.source.clone(), mark.line, column)
    }

    /// An error at a mark.
    pub fn error(&self, mark: Mark, message: impl Into<String>) -> SceneError {
        SceneError::at(&self.location(mark), message)
    }

    /// The next token and its start; `None` at the end.
    ///
    /// *Errors*: an unterminated string, an unknown escape sequence, a string that is not UTF-8.
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

    /// The bytes from the current position to the end of the word.
    fn word(&mut self) -> &'a [u8] {
        let rest = &self.text[self.position.offset..];
        let word = &rest[..rest.iter().position(|&b| ends_word(b)).unwrap_or(rest.len())];
        self.position.offset += word.len();
        word
    }

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
                    let error = self.error(mark, "unterminated string: it must end on its line");
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
                (b'\\', Some(&quoted @ (b'\\' | b'\'' | b'"'))) => quoted,
                (b'\\', _) => {
                    let error = self.error(mark, "unknown escape sequence in this string");
                    return Err(error
                        .help("write \\\\ for a backslash, and / to separate folders in a path"));
                }
                (plain, _) => plain,
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
            out.push((token.show(), at.line, at.column));
        }
        Ok(out)
    }

    #[test]
    fn words_strings_brackets_and_comments() {
        let found =
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
        assert_eq!(found, expected.map(|(t, l, c)| (t.to_string(), l, c)));
    }

    #[test]
    fn invalid_text_is_an_error_with_remedy() {
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
    fn bytes_outside_strings_need_not_be_utf8() {
        assert_eq!(tokens(b"# caf\xe9\n\xff").unwrap(), [("\"\u{fffd}\"".to_string(), 2, 1)]);
    }
}
