//! Syntax of the clauses in a doc comment: `range: [0, 1], default: 0.5`.

use super::super::lexer::SourceRange;
use super::super::names::closest;
use super::super::{ShaderError, Source, VectorFact};

/// Returns the lines of doc comments without comment markers, each with its position in the text.
pub(super) fn lines<'a>(text: &'a str, docs: &[SourceRange]) -> Vec<(usize, &'a str)> {
    let mut lines = vec![];
    for doc in docs {
        let comment = &text[doc.clone()];
        if comment.starts_with("//") {
            lines.push((doc.start + 3, &comment[3..]));
            continue;
        }
        let inner = comment.strip_suffix("*/").unwrap_or(comment);
        let mut start = doc.start;
        for (k, line) in inner.split('\n').enumerate() {
            let content = if k == 0 {
                &line[3..]
            } else {
                line.trim_start().strip_prefix('*').unwrap_or(line)
            };
            lines.push((start + line.len() - content.len(), content));
            start += line.len() + 1;
        }
    }
    lines
}

/// A clause of an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clause {
    Range,
    Default,
    Lobe,
    Fact,
}

impl Clause {
    pub const ALL: [Clause; 4] = [Clause::Range, Clause::Default, Clause::Lobe, Clause::Fact];

    pub fn name(self) -> &'static str {
        match self {
            Clause::Range => "range",
            Clause::Default => "default",
            Clause::Lobe => "lobe",
            Clause::Fact => "fact",
        }
    }

    pub fn help(self) -> &'static str {
        match self {
            Clause::Range => {
                "a range is written `range: [0, 1]`; `(` and `)` exclude an endpoint, `inf` means unbounded"
            }
            Clause::Default => {
                "a default is written `default: 0.5`, or `default: (0.5, 0.2, 0.1)` for a vector"
            }
            Clause::Lobe => "albedos of the diffuse lobe have `lobe: diffuse`",
            Clause::Fact => {
                "the facts are `fact: unit`, for unit vectors, and `fact: sorted`, for vectors whose \
                 components ascend"
            }
        }
    }
}

/// The value of [`Clause::Lobe`].
const DIFFUSE: &str = "diffuse";

/// A number and its location.
pub(super) struct Literal {
    pub value: Number,
    pub range: SourceRange,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Number {
    Float(f64),
    Bool(bool),
}

/// Parser of the clauses in one line of a comment.
struct Cursor<'a> {
    source: &'a Source,
    clause: Clause,
    at: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.source.text()[self.at..self.end]
    }

    fn skip_spaces(&mut self) {
        self.at = self.end - self.rest().trim_start().len();
    }

    /// Skips a prefix, ignoring case; returns whether the text starts with it.
    fn skip(&mut self, prefix: &str) -> bool {
        let found =
            self.rest().get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
        self.at += if found { prefix.len() } else { 0 };
        found
    }

    /// The next word or character.
    fn next_word(&self) -> SourceRange {
        let rest = self.rest();
        let word = rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+')))
            .unwrap_or(rest.len());
        let length = if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) };
        self.at..self.at + length
    }

    fn error(
        &self,
        range: SourceRange,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> ShaderError {
        self.source.error(message).at(range, label).help(self.clause.help())
    }

    /// The error for an unexpected word.
    fn unexpected(&self, expected: &str) -> ShaderError {
        let range = self.next_word();
        let found = &self.source.text()[range.clone()];
        let found =
            if found.is_empty() { "the end of the line".to_owned() } else { format!("`{found}`") };
        self.error(
            range,
            format!("expected {expected}, found {found}"),
            format!("in this {}", self.clause.name()),
        )
    }

    fn digits(&mut self) -> Option<f64> {
        let rest = self.rest();
        let mut previous = ' ';
        let is_exponent_sign =
            |previous: char, c: char| matches!(previous, 'e' | 'E') && matches!(c, '+' | '-');
        let length = rest
            .find(|c: char| {
                let in_number = c.is_ascii_digit()
                    || c == '.'
                    || matches!(c, 'e' | 'E') && previous.is_ascii_digit()
                    || is_exponent_sign(previous, c);
                previous = c;
                !in_number
            })
            .unwrap_or(rest.len());
        // A full stop at the end of a sentence is not part of the number.
        let in_list = rest[length..].starts_with([']', ')', ',']);
        let digits = if in_list { &rest[..length] } else { rest[..length].trim_end_matches('.') };
        let value = digits.parse().ok()?;
        self.at += digits.len();
        Some(value)
    }

    /// `-1.5e3`, `inf`, `2 pi`, `-π/2`
    fn number(&mut self) -> Option<f64> {
        let sign = if self.skip("-") || self.skip("−") {
            -1.0
        } else {
            self.skip("+");
            1.0
        };
        if self.skip("infinity") || self.skip("inf") || self.skip("∞") {
            return Some(sign * f64::INFINITY);
        }
        let factor = self.digits();
        let at = self.at;
        self.skip_spaces();
        self.skip("*");
        self.skip_spaces();
        if !(self.skip("pi") || self.skip("π")) {
            self.at = at;
            return factor.map(|x| sign * x);
        }
        let divisor = if self.skip("/") { self.digits()? } else { 1.0 };
        Some(sign * factor.unwrap_or(1.0) * std::f64::consts::PI / divisor)
    }

    fn literal(&mut self) -> Result<Literal, ShaderError> {
        self.skip_spaces();
        let (start, word) = (self.at, self.next_word());
        let value = match &self.source.text()[word.clone()] {
            "true" => Some(Number::Bool(true)),
            "false" => Some(Number::Bool(false)),
            _ => None,
        };
        if let Some(value) = value {
            self.at = word.end;
            return Ok(Literal { value, range: word });
        }
        let number = self.number();
        let continues = self.rest().starts_with(|c: char| c.is_alphanumeric() || c == '_');
        match number {
            Some(x) if !continues => Ok(Literal { value: Number::Float(x), range: start..self.at }),
            _ => {
                self.at = start;
                Err(self.unexpected("a number"))
            }
        }
    }

    /// Numbers up to a closing bracket; also returns whether the bracket is `]`.
    fn list(&mut self) -> Result<(Vec<Literal>, bool), ShaderError> {
        let mut list = vec![self.literal()?];
        loop {
            self.skip_spaces();
            if self.skip("]") {
                return Ok((list, true));
            }
            if self.skip(")") {
                return Ok((list, false));
            }
            if !self.skip(",") {
                return Err(self.unexpected("`,` or a closing bracket"));
            }
            list.push(self.literal()?);
        }
    }

    /// Skips one of several names; returns what it stands for.
    fn one_of<T: Copy>(&mut self, names: &[(&'static str, T)]) -> Result<T, ShaderError> {
        let range = self.next_word();
        // A full stop at the end of a sentence is not part of the name.
        let word = self.source.text()[range.clone()].trim_end_matches('.');
        if let Some((_, value)) = names.iter().find(|(name, _)| *name == word) {
            self.at += word.len();
            return Ok(*value);
        }
        if word.is_empty() {
            return Err(self.unexpected(&format!("a {}", self.clause.name())));
        }
        let message = format!("unknown {} `{word}`", self.clause.name());
        let range = range.start..range.start + word.len();
        let label = match closest(word, names.iter().map(|(name, _)| *name)) {
            Some(name) => format!("did you mean `{name}`?"),
            None => "not one of those that exist".to_owned(),
        };
        Err(self.error(range, message, label))
    }

    /// Expects the end of a clause: `,`, `;`, `.` or the end of the line.
    fn finish(&mut self) -> Result<(), ShaderError> {
        self.skip_spaces();
        if self.rest().is_empty() || self.skip(",") || self.skip(";") || self.skip(".") {
            return Ok(());
        }
        Err(self
            .unexpected(&format!("`,` or the end of the line after the {}", self.clause.name())))
    }
}

/// A parameter's doc comment, split into clauses and text.
#[derive(Default)]
pub(super) struct Clauses {
    /// The text without the clauses.
    pub doc: String,
    pub range: Option<(RangeClause, SourceRange)>,
    pub default: Option<(Vec<Literal>, SourceRange)>,
    /// Location of `lobe: diffuse`.
    pub lobe: Option<SourceRange>,
    /// A fact and its location.
    pub fact: Option<(VectorFact, SourceRange)>,
}

/// A range as written: its endpoints, and whether it includes them.
pub(super) struct RangeClause {
    pub endpoints: [Literal; 2],
    pub closed: [bool; 2],
}

/// Finds the first clause in a line; returns the positions where its name and its value start.
///
/// Also finds `range [0, 1]` and `default = 2`, with `None` for the value, so that the caller can
/// report the missing colon. Within a sentence, a lobe is a clause only with its value: "of the
/// lobe:" is prose, and so is "in fact:".
pub(super) fn find_clause(line: &str) -> Option<(Clause, usize, Option<usize>)> {
    let mut words = line.char_indices().filter(|&(k, c)| {
        let previous = line[..k].chars().next_back();
        c.is_alphabetic() && !previous.is_some_and(|c| c.is_alphanumeric() || c == '_')
    });
    words.find_map(|(start, _)| {
        let clause = Clause::ALL.into_iter().find(|clause| {
            let rest = &line[start..];
            let name = rest
                .get(..clause.name().len())
                .is_some_and(|word| word.eq_ignore_ascii_case(clause.name()));
            let after = rest.get(clause.name().len()..).unwrap_or_default();
            name && !after.starts_with(|c: char| c.is_alphanumeric() || c == '_')
                && match clause {
                    Clause::Range | Clause::Default => true,
                    Clause::Fact => !is_after_in(&line[..start]),
                    Clause::Lobe => has_value(after, DIFFUSE) || begins_clause(&line[..start]),
                }
        })?;
        let rest = &line[start + clause.name().len()..];
        let value = rest.trim_start();
        if let Some(value) = value.strip_prefix(':') {
            return Some((clause, start, Some(line.len() - value.len())));
        }
        let looks_like_clause = match clause {
            Clause::Range => value.starts_with(['[', '(', '=']),
            Clause::Lobe | Clause::Fact => false,
            Clause::Default => {
                value.starts_with('=') || value.starts_with(|c: char| c.is_ascii_digit())
            }
        };
        looks_like_clause.then_some((clause, start, None))
    })
}

/// Whether a clause may begin after this text: at the start of the line, and after punctuation.
fn begins_clause(before: &str) -> bool {
    matches!(before.trim_end().chars().next_back(), None | Some('.' | ',' | ';'))
}

/// Whether the last word is "in".
fn is_after_in(before: &str) -> bool {
    let word = before.split_whitespace().next_back();
    word.is_some_and(|word| word.eq_ignore_ascii_case("in"))
}

/// Returns whether a text begins with a colon and a word.
fn has_value(text: &str, word: &str) -> bool {
    let value = text.trim_start().strip_prefix(':').map(str::trim_start);
    let after = value.and_then(|value| value.strip_prefix(word));
    after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Parses the doc comment of a parameter.
pub(super) fn clauses(source: &Source, docs: &[SourceRange]) -> Result<Clauses, ShaderError> {
    let mut clauses = Clauses::default();
    let mut doc = vec![];
    for (start, line) in lines(source.text(), docs) {
        let end = start + line.len();
        let mut prose = String::new();
        let mut at = start;
        while let Some((clause, name, value)) = find_clause(&source.text()[at..end]) {
            prose += &source.text()[at..at + name];
            let name = at + name..at + name + clause.name().len();
            let Some(value) = value else {
                let message = format!("expected `:` after `{}`", &source.text()[name.clone()]);
                return Err(source.error(message).at(name, "here").help(clause.help()));
            };
            let mut cursor = Cursor { source, clause, at: at + value, end };
            cursor.skip_spaces();
            let first = match clause {
                Clause::Range => {
                    let range = parse_range(&mut cursor)?;
                    clauses.range.replace((range, name.start..cursor.at)).map(|(_, range)| range)
                }
                Clause::Lobe => {
                    cursor.one_of(&[(DIFFUSE, ())])?;
                    clauses.lobe.replace(name.start..cursor.at)
                }
                Clause::Fact => {
                    let facts = VectorFact::ALL.map(|fact| (fact.name(), fact));
                    let fact = cursor.one_of(&facts)?;
                    clauses.fact.replace((fact, name.start..cursor.at)).map(|(_, range)| range)
                }
                Clause::Default => {
                    let default = if cursor.skip("[") || cursor.skip("(") {
                        cursor.list()?.0
                    } else {
                        vec![cursor.literal()?]
                    };
                    clauses
                        .default
                        .replace((default, name.start..cursor.at))
                        .map(|(_, range)| range)
                }
            };
            if let Some(first) = first {
                let message = format!("there are two {}s", clause.name());
                return Err(source
                    .error(message)
                    .at(name.start..cursor.at, "the second")
                    .at(first, "the first"));
            }
            cursor.finish()?;
            at = cursor.at;
        }
        prose += &source.text()[at..end];
        doc.push(prose.trim().trim_end_matches([',', ';']).trim_end().to_owned());
    }
    clauses.doc = doc.join("\n").trim().to_owned();
    Ok(clauses)
}

fn parse_range(cursor: &mut Cursor<'_>) -> Result<RangeClause, ShaderError> {
    let lo_closed = cursor.skip("[");
    if !lo_closed && !cursor.skip("(") {
        return Err(cursor.unexpected("`[` or `(`"));
    }
    let start = cursor.at - 1;
    let (endpoints, hi_closed) = cursor.list()?;
    let range = start..cursor.at;
    match <[Literal; 2]>::try_from(endpoints) {
        Ok(endpoints) => Ok(RangeClause { endpoints, closed: [lo_closed, hi_closed] }),
        Err(endpoints) => {
            let message = format!("a range has two endpoints, not {}", endpoints.len());
            Err(cursor.error(range, message, "expected a minimum and a maximum"))
        }
    }
}
