//! Tokens and doc comments of a shader, with their locations.
//!
//! naga keeps no tokens, but messages about text that it rejects need them, and so does the check
//! of nesting before it runs. The lexer accepts any text; naga rejects text that is not WGSL.
//!
//! The lexer also collects doc comments. naga's `DocComments` have no locations for messages to
//! point at; they omit overrides, and doc comments after an ordinary comment; and naga 30 assigns
//! the comments of struct members to the wrong members (wgpu issue 10249).

use std::ops::Range;

/// Byte range in the text.
pub(super) type SourceRange = Range<usize>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Identifier or keyword.
    Word,
    Number,
    /// `->`, or any other single character.
    Symbol,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub range: SourceRange,
}

/// `/// …` or `/** … */`; with `!` in place of the last `/` or `*`, it documents the module.
#[derive(Clone, Debug)]
pub(super) struct DocComment {
    pub range: SourceRange,
    pub is_module: bool,
    /// Index of the token that follows.
    pub next_token: usize,
    /// Whether the comment ends a line of code, so that it does not document the next declaration.
    /// Comments in the same column on the lines below continue it.
    pub is_trailing: bool,
}

/// Whether a character is a WGSL line break, which ends line comments.
fn is_line_break(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_blank(c: char) -> bool {
    is_line_break(c) || matches!(c, ' ' | '\t' | '\u{200e}' | '\u{200f}')
}

/// Whether a character belongs to a word. Accepts all non-ASCII characters except blanks; naga
/// checks which ones identifiers may contain.
fn is_word(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric() || !c.is_ascii() && !is_blank(c)
}

/// Length of the block comment at the start of `text`. Comments nest; an unclosed one extends to
/// the end.
fn block_comment(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut k) = (1, 2);
    while k < bytes.len() && depth > 0 {
        match bytes.get(k..k + 2) {
            Some(b"*/") => (depth, k) = (depth - 1, k + 2),
            Some(b"/*") => (depth, k) = (depth + 1, k + 2),
            _ => k += 1,
        }
    }
    k
}

/// Length of the number at the start of `text`.
fn number(text: &str) -> usize {
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let mut previous = ' ';
    for (k, c) in text.char_indices() {
        let in_exponent = matches!((hexadecimal, previous), (false, 'e' | 'E') | (true, 'p' | 'P'));
        if !(c.is_ascii_alphanumeric() || c == '.' || in_exponent && matches!(c, '+' | '-')) {
            return k;
        }
        previous = c;
    }
    text.len()
}

/// For a doc comment, returns whether it documents the module; `None` for other comments. As in
/// Rust, `////`, `/***` and `/**/` start ordinary comments.
fn doc_comment(comment: &str) -> Option<bool> {
    if comment.starts_with("//!") || comment.starts_with("/*!") {
        return Some(true);
    }
    let line = comment.starts_with("///") && !comment.starts_with("////");
    let block = comment.starts_with("/**") && !comment.starts_with("/***") && comment.len() > 4;
    (line || block).then_some(false)
}

/// Splits a text into tokens and doc comments.
pub(super) fn lex(text: &str) -> (Vec<Token>, Vec<DocComment>) {
    // Tokens of code have about four characters, with blanks.
    let mut tokens = Vec::<Token>::with_capacity(text.len() / 4);
    let mut docs = Vec::<DocComment>::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = if is_blank(c) {
            (None, c.len_utf8())
        } else if rest.starts_with("//") || rest.starts_with("/*") {
            let length = if rest.starts_with("//") {
                rest.find(is_line_break).unwrap_or(rest.len())
            } else {
                block_comment(rest)
            };
            if let Some(is_module) = doc_comment(&rest[..length]) {
                let (range, next_token) = (at..at + length, tokens.len());
                docs.push(DocComment { range, is_module, next_token, is_trailing: false });
            }
            (None, length)
        } else if c.is_ascii_digit()
            || c == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())
        {
            (Some(TokenKind::Number), number(rest))
        } else if is_word(c) {
            (Some(TokenKind::Word), rest.find(|c| !is_word(c)).unwrap_or(rest.len()))
        } else if rest.starts_with("->") {
            (Some(TokenKind::Symbol), 2)
        } else {
            (Some(TokenKind::Symbol), c.len_utf8())
        };
        if let Some(kind) = kind {
            tokens.push(Token { kind, range: at..at + length });
        }
        at += length;
    }
    for k in 0..docs.len() {
        let doc = &docs[k];
        let previous = tokens[..doc.next_token].last().map(|token| token.range.end);
        let next = tokens.get(doc.next_token).map_or(text.len(), |token| token.range.start);
        let follows_code = previous
            .is_some_and(|previous| !text[previous..doc.range.start].contains(is_line_break));
        let continues = || k > 0 && docs[k - 1].is_trailing && continues(text, &docs[k - 1], doc);
        docs[k].is_trailing =
            (follows_code || continues()) && text[doc.range.end..next].contains(is_line_break);
    }
    (tokens, docs)
}

/// Whether a comment starts in the column of the comment before it, with nothing in between.
fn continues(text: &str, previous: &DocComment, doc: &DocComment) -> bool {
    let column = |doc: &DocComment| {
        text[..doc.range.start].chars().rev().take_while(|&c| !is_line_break(c)).count()
    };
    text[previous.range.end..doc.range.start].chars().all(is_blank)
        && column(previous) == column(doc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_nest_and_words_may_be_unicode() {
        let text = "a/* x /* y */ z */क्ष //b\n->0x1p-2.x /* open";
        let (tokens, docs) = lex(text);
        let spellings: Vec<_> = tokens.iter().map(|token| &text[token.range.clone()]).collect();
        assert_eq!((spellings, docs.len()), (vec!["a", "क्ष", "->", "0x1p-2.x"], 0));
    }

    #[test]
    fn doc_comments_record_next_token_and_is_trailing() {
        let text = "//! a\n/// b\nx, /// c\n//// d\n/***/ /** e */ y, /*! f */\n/**/";
        let docs: Vec<_> = lex(text)
            .1
            .into_iter()
            .map(|doc| {
                let last = text[doc.range].trim_end_matches(" */").chars().next_back();
                (last, doc.is_module, doc.next_token, doc.is_trailing)
            })
            .collect();
        assert_eq!(
            docs,
            [
                (Some('a'), true, 0, false),
                (Some('b'), false, 0, false),
                (Some('c'), false, 2, true),
                (Some('e'), false, 2, false),
                (Some('f'), true, 4, true),
            ]
        );
    }
}
