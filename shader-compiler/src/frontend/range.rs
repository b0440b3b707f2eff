//! What doc comments say: ranges and defaults of parameters, and the sides of a material.
//!
//! ```wgsl
//! //! sides: both
//!
//! struct Material {
//!     /// Specular exponent. range: [1, 10000], default: 50
//!     exponent: f32,
//!     /// Tint. range: [0, 1], default: (1, 0.9, 0.8)
//!     tint: vec3f,
//!     /// Slope, downwards. range: (-inf, 0)
//!     slope: f32,
//! }
//! ```
//!
//! A round bracket leaves an end out; the range that is kept is closed, and its end the next number
//! of the type. Numbers are decimal; `inf` (or `∞`) and multiples and fractions of `pi` (or `π`)
//! are known. What cannot be read is an error, lest a range that its author relies on be no more
//! than a remark.

use super::outline::Place;
use super::{Parameter, Scalar, ShaderError, Sides, Source};

/// The lines of doc comments without their markers, each with the place where it starts.
fn lines<'a>(text: &'a str, docs: &[Place]) -> Vec<(usize, &'a str)> {
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

/// What a word in a doc comment introduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clause {
    Range,
    Default,
}

impl Clause {
    const ALL: [Clause; 2] = [Clause::Range, Clause::Default];

    fn name(self) -> &'static str {
        match self {
            Clause::Range => "range",
            Clause::Default => "default",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Clause::Range => {
                "a range is written `range: [0, 1]`; `(` and `)` leave an end out, `inf` is no limit"
            }
            Clause::Default => {
                "a default is written `default: 0.5`, or `default: (0.5, 0.2, 0.1)` for a vector"
            }
        }
    }
}

/// A number as it is written, and where.
struct Literal {
    value: Number,
    place: Place,
}

#[derive(Clone, Copy, PartialEq)]
enum Number {
    Float(f64),
    Bool(bool),
}

/// Reads clauses within one line of a comment.
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

    fn spaces(&mut self) {
        self.at = self.end - self.rest().trim_start().len();
    }

    fn skip(&mut self, what: &str) -> bool {
        let found =
            self.rest().get(..what.len()).is_some_and(|start| start.eq_ignore_ascii_case(what));
        self.at += if found { what.len() } else { 0 };
        found
    }

    /// The place of the next word or character.
    fn here(&self) -> Place {
        let rest = self.rest();
        let word = rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+')))
            .unwrap_or(rest.len());
        let length = if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) };
        self.at..self.at + length
    }

    fn error(
        &self,
        place: Place,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> ShaderError {
        self.source.error(message).at(place, label).help(self.clause.help())
    }

    /// The error that what stands here is not what is wanted.
    fn expected(&self, what: &str) -> ShaderError {
        let place = self.here();
        let found = &self.source.text()[place.clone()];
        let found =
            if found.is_empty() { "the end of the line".to_owned() } else { format!("`{found}`") };
        self.error(
            place,
            format!("expected {what}, found {found}"),
            format!("in this {}", self.clause.name()),
        )
    }

    fn digits(&mut self) -> Option<f64> {
        let rest = self.rest();
        let mut before = ' ';
        let exponent =
            |before: char, c: char| matches!(before, 'e' | 'E') && matches!(c, '+' | '-');
        let length = rest
            .find(|c: char| {
                let part = c.is_ascii_digit()
                    || c == '.'
                    || matches!(c, 'e' | 'E') && before.is_ascii_digit()
                    || exponent(before, c);
                before = c;
                !part
            })
            .unwrap_or(rest.len());
        // The full stop of a sentence is not part of the number.
        let within = rest[length..].starts_with([']', ')', ',']);
        let digits = if within { &rest[..length] } else { rest[..length].trim_end_matches('.') };
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
        self.spaces();
        self.skip("*");
        self.spaces();
        if !(self.skip("pi") || self.skip("π")) {
            self.at = at;
            return factor.map(|x| sign * x);
        }
        let divisor = if self.skip("/") { self.digits()? } else { 1.0 };
        Some(sign * factor.unwrap_or(1.0) * std::f64::consts::PI / divisor)
    }

    fn literal(&mut self) -> Result<Literal, ShaderError> {
        self.spaces();
        let (start, word) = (self.at, self.here());
        let value = match &self.source.text()[word.clone()] {
            "true" => Some(Number::Bool(true)),
            "false" => Some(Number::Bool(false)),
            _ => None,
        };
        if let Some(value) = value {
            self.at = word.end;
            return Ok(Literal { value, place: word });
        }
        let number = self.number();
        let more = self.rest().starts_with(|c: char| c.is_alphanumeric() || c == '_');
        match number {
            Some(x) if !more => Ok(Literal { value: Number::Float(x), place: start..self.at }),
            _ => {
                self.at = start;
                Err(self.expected("a number"))
            }
        }
    }

    /// Numbers up to a closing bracket; returns whether that is a square one.
    fn list(&mut self) -> Result<(Vec<Literal>, bool), ShaderError> {
        let mut list = vec![self.literal()?];
        loop {
            self.spaces();
            if self.skip("]") {
                return Ok((list, true));
            }
            if self.skip(")") {
                return Ok((list, false));
            }
            if !self.skip(",") {
                return Err(self.expected("`,` or a closing bracket"));
            }
            list.push(self.literal()?);
        }
    }

    /// What may follow a clause: nothing, or `,`, `;` or `.`.
    fn finish(&mut self) -> Result<(), ShaderError> {
        self.spaces();
        if self.rest().is_empty() || self.skip(",") || self.skip(";") || self.skip(".") {
            return Ok(());
        }
        Err(self.expected(&format!("`,` or the end of the line after the {}", self.clause.name())))
    }
}

/// What is written in the doc comment of a parameter.
#[derive(Default)]
struct Clauses {
    doc: String,
    range: Option<(Range, Place)>,
    default: Option<(Vec<Literal>, Place)>,
}

/// A range as written: its ends, and whether they belong to it.
struct Range {
    ends: [Literal; 2],
    closed: [bool; 2],
}

/// The first clause in a line: what, where its name starts, and where its value.
///
/// `range [0, 1]` and `default = 2` are taken for clauses too, with no place of a value: to tell
/// the author that a colon is missing.
fn find_clause(line: &str) -> Option<(Clause, usize, Option<usize>)> {
    let mut words = line.char_indices().filter(|&(k, c)| {
        let before = line[..k].chars().next_back();
        c.is_alphabetic() && !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    });
    words.find_map(|(start, _)| {
        let clause = Clause::ALL.into_iter().find(|clause| {
            let rest = &line[start..];
            let name = rest
                .get(..clause.name().len())
                .is_some_and(|word| word.eq_ignore_ascii_case(clause.name()));
            name && !rest[clause.name().len()..]
                .starts_with(|c: char| c.is_alphanumeric() || c == '_')
        })?;
        let rest = &line[start + clause.name().len()..];
        let value = rest.trim_start();
        if let Some(value) = value.strip_prefix(':') {
            return Some((clause, start, Some(line.len() - value.len())));
        }
        let looks_meant = match clause {
            Clause::Range => value.starts_with(['[', '(', '=']),
            Clause::Default => {
                value.starts_with('=') || value.starts_with(|c: char| c.is_ascii_digit())
            }
        };
        looks_meant.then_some((clause, start, None))
    })
}

fn clauses(source: &Source, docs: &[Place]) -> Result<Clauses, ShaderError> {
    let mut found = Clauses::default();
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
            cursor.spaces();
            let twice = match clause {
                Clause::Range => {
                    let range = parse_range(&mut cursor)?;
                    found.range.replace((range, name.start..cursor.at)).map(|(_, place)| place)
                }
                Clause::Default => {
                    let default = if cursor.skip("[") || cursor.skip("(") {
                        cursor.list()?.0
                    } else {
                        vec![cursor.literal()?]
                    };
                    found.default.replace((default, name.start..cursor.at)).map(|(_, place)| place)
                }
            };
            if let Some(first) = twice {
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
    found.doc = doc.join("\n").trim().to_owned();
    Ok(found)
}

fn parse_range(cursor: &mut Cursor<'_>) -> Result<Range, ShaderError> {
    let closed = cursor.skip("[");
    if !closed && !cursor.skip("(") {
        return Err(cursor.expected("`[` or `(`"));
    }
    let start = cursor.at - 1;
    let (ends, also_closed) = cursor.list()?;
    let place = start..cursor.at;
    match <[Literal; 2]>::try_from(ends) {
        Ok(ends) => Ok(Range { ends, closed: [closed, also_closed] }),
        Err(ends) => {
            let message = format!("a range has two ends, not {}", ends.len());
            Err(cursor.error(place, message, "the least and the greatest value are wanted"))
        }
    }
}

/// Spelling of a number in messages.
fn spell(x: f64) -> String {
    if x.is_infinite() {
        if x < 0.0 { "-inf".to_owned() } else { "inf".to_owned() }
    } else {
        format!("{x}")
    }
}

/// The numbers of a type that a literal may be.
fn limits(scalar: Scalar) -> [f64; 2] {
    match scalar {
        Scalar::F32 => [f64::from(f32::MIN), f64::from(f32::MAX)],
        Scalar::I32 => [f64::from(i32::MIN), f64::from(i32::MAX)],
        Scalar::U32 => [0.0, f64::from(u32::MAX)],
        Scalar::Bool => [0.0, 1.0],
    }
}

/// A literal as a number of the parameter's type.
fn convert(
    source: &Source,
    clause: Clause,
    scalar: Scalar,
    literal: &Literal,
) -> Result<f64, ShaderError> {
    let error = |message: String| {
        source
            .error(message)
            .at(literal.place.clone(), format!("the parameter is of type `{}`", scalar.name()))
    };
    let x = match (literal.value, scalar) {
        (Number::Bool(b), Scalar::Bool) => return Ok(f64::from(u8::from(b))),
        (Number::Bool(b), _) => return Err(error(format!("expected a number, found `{b}`"))),
        (Number::Float(_), Scalar::Bool) => {
            return Err(error(format!(
                "expected `true` or `false`, found `{}`",
                &source.text()[literal.place.clone()]
            )));
        }
        (Number::Float(x), _) => x,
    };
    if x.is_infinite() && clause == Clause::Range {
        return Ok(x);
    }
    if scalar != Scalar::F32 && x.fract() != 0.0 {
        return Err(error(format!(
            "`{}` is not a whole number",
            &source.text()[literal.place.clone()]
        )));
    }
    let [lo, hi] = limits(scalar);
    if !(lo..=hi).contains(&x) {
        let help = match clause {
            Clause::Range => "write `inf` or `-inf` where there is no limit".to_owned(),
            Clause::Default if scalar == Scalar::F32 => format!("`f32` goes from {lo:e} to {hi:e}"),
            Clause::Default => format!("`{}` goes from {lo} to {hi}", scalar.name()),
        };
        return Err(error(format!(
            "`{}` is beyond the type",
            &source.text()[literal.place.clone()]
        ))
        .help(help));
    }
    Ok(if scalar == Scalar::F32 { f64::from(x as f32) } else { x })
}

/// An end of a range that is closed instead of open.
fn close(scalar: Scalar, end: f64, inwards_is_up: bool) -> f64 {
    match (scalar, inwards_is_up) {
        (Scalar::F32, true) => f64::from((end as f32).next_up()),
        (Scalar::F32, false) => f64::from((end as f32).next_down()),
        (_, true) => end + 1.0,
        (_, false) => end - 1.0,
    }
}

fn check_range(
    source: &Source,
    scalar: Scalar,
    range: &Range,
    place: &Place,
) -> Result<[f64; 2], ShaderError> {
    if scalar == Scalar::Bool {
        let error = source
            .error("a bool has no range")
            .at(place.clone(), "the parameter is of type `bool`");
        return Err(error.help("leave the range out"));
    }
    let lo = convert(source, Clause::Range, scalar, &range.ends[0])?;
    let hi = convert(source, Clause::Range, scalar, &range.ends[1])?;
    if lo > hi {
        let message = format!("the range is empty: {} is greater than {}", spell(lo), spell(hi));
        return Err(source.error(message).at(place.clone(), "the least value comes first"));
    }
    let closed = [
        if range.closed[0] { lo } else { close(scalar, lo, true) },
        if range.closed[1] { hi } else { close(scalar, hi, false) },
    ];
    // Integers have no infinities.
    let [least, greatest] =
        if scalar == Scalar::F32 { [f64::NEG_INFINITY, f64::INFINITY] } else { limits(scalar) };
    let closed = closed.map(|end| end.clamp(least, greatest));
    if closed[0] > closed[1] {
        let error =
            source.error("the range is empty").at(place.clone(), "nothing lies between the ends");
        return Err(error.help("`[` and `]` include the ends"));
    }
    Ok(closed)
}

/// A parameter as its doc comment describes it.
pub(super) fn parameter(
    source: &Source,
    name: &str,
    docs: &[Place],
    scalar: Scalar,
    size: usize,
) -> Result<Parameter, ShaderError> {
    let clauses = clauses(source, docs)?;
    let range = match &clauses.range {
        Some((range, place)) => check_range(source, scalar, range, place)?,
        None if scalar == Scalar::F32 => [f64::NEG_INFINITY, f64::INFINITY],
        None => limits(scalar),
    };
    let default = match &clauses.default {
        Some((literals, place)) => Some(default(source, scalar, size, range, literals, place)?),
        None => None,
    };
    Ok(Parameter { name: name.to_owned(), doc: clauses.doc, scalar, size, range, default })
}

fn default(
    source: &Source,
    scalar: Scalar,
    size: usize,
    range: [f64; 2],
    literals: &[Literal],
    place: &Place,
) -> Result<Vec<f64>, ShaderError> {
    if literals.len() != 1 && literals.len() != size {
        let message =
            format!("the default has {} components, but the parameter has {size}", literals.len());
        let error = source
            .error(message)
            .at(place.clone(), format!("expected {size} numbers, or one for all"));
        return Err(error.help(Clause::Default.help()));
    }
    let mut values = vec![];
    for literal in literals {
        let x = convert(source, Clause::Default, scalar, literal)?;
        if !(range[0]..=range[1]).contains(&x) {
            let message = format!(
                "the default {} is outside of the range from {} to {}",
                spell(x),
                spell(range[0]),
                spell(range[1])
            );
            return Err(source.error(message).at(literal.place.clone(), "outside of the range"));
        }
        values.push(x);
    }
    if values.len() < size {
        values = vec![values[0]; size];
    }
    Ok(values)
}

/// The error that a clause stands where it has no meaning.
pub(super) fn reject_default(source: &Source, docs: &[Place]) -> Result<(), ShaderError> {
    match clauses(source, docs)?.default {
        Some((_, place)) => {
            let error = source
                .error("an override has its default in its declaration")
                .at(place, "this would be a second one");
            Err(error.help("write the value behind the `=` of the declaration"))
        }
        None => Ok(()),
    }
}

/// The error that a range or a default is written where it belongs to nothing.
pub(super) fn reject_stray(source: &Source) -> Result<(), ShaderError> {
    for doc in &source.outline.stray_comments {
        for (start, line) in lines(source.text(), std::slice::from_ref(doc)) {
            if let Some((clause, at, _)) = find_clause(line) {
                let place = start + at..start + at + clause.name().len();
                let error = source
                    .error(format!("this {} belongs to nothing", clause.name()))
                    .at(place, "here");
                return Err(error
                    .help("a doc comment stands on lines of its own, before what it describes"));
            }
        }
    }
    Ok(())
}

/// Sides and description of a material, from the module's docs.
pub(super) fn module(source: &Source, docs: &[Place]) -> Result<(Sides, String), ShaderError> {
    const HELP: &str =
        "write `sides: one` for reflection, `sides: both` for reflection and transmission";
    let mut sides: Option<(Sides, Place)> = None;
    let mut description = vec![];
    for (start, line) in lines(source.text(), docs) {
        let words = line.trim();
        let place = start + line.len() - line.trim_start().len()..start + line.trim_end().len();
        let is_clause = words.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("sides"));
        let rest = if is_clause { words[5..].trim_start() } else { "" };
        let value = match rest.strip_prefix(':') {
            Some(value) => value.trim().trim_end_matches('.'),
            // A sentence may start with the word.
            None if is_clause && rest.trim_start_matches('=').split_whitespace().count() == 1 => "",
            None => {
                description.push(words);
                continue;
            }
        };
        let value = match value {
            "one" => Sides::One,
            "both" => Sides::Both,
            "" => {
                return Err(source
                    .error("expected `sides: one` or `sides: both`")
                    .at(place, "here")
                    .help(HELP));
            }
            other => {
                let message = format!("a material has one side or both, not `{other}`");
                return Err(source.error(message).at(place, "expected `one` or `both`").help(HELP));
            }
        };
        if let Some((_, first)) = sides.replace((value, place.clone())) {
            return Err(source
                .error("the sides are given twice")
                .at(place, "the second time")
                .at(first, "the first time"));
        }
    }
    let description = description.join("\n").trim().to_owned();
    Ok((sides.map_or(Sides::One, |(sides, _)| sides), description))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::Shader;

    /// The parameter of a shader with this comment before a member of this type.
    fn read(comment: &str, ty: &str) -> Result<Parameter, ShaderError> {
        let text = format!(
            "struct Material {{\n{comment}\n    k: {ty},\n}}\nfn brdf(i: vec3f, o: vec3f, m: Material) -> vec3f {{ return i; }}"
        );
        Ok(Shader::parse("test.wgsl", &text)?.parameters()[0].clone())
    }

    #[test]
    fn ranges() {
        let (least, inf) = (f64::from(f32::from_bits(1)), f64::INFINITY);
        let (pi, tenth) = (f64::from(std::f32::consts::PI), f64::from(0.1_f32));
        let below_one = f64::from(1_f32.next_down());
        for (text, lo, hi) in [
            ("[0, 1]", 0.0, 1.0),
            ("[ 0 ,1 ].", 0.0, 1.0),
            ("(0, 1]", least, 1.0),
            ("[0, 1)", 0.0, below_one),
            ("(-1, 0)", -below_one, -least),
            ("[1e-3, 1.5E+3]", f64::from(1e-3_f32), 1500.0),
            ("[.5, 1.]", 0.5, 1.0),
            ("[0, 0.1]", 0.0, tenth),
            ("[-inf, inf]", -inf, inf),
            ("[0, ∞)", 0.0, f64::from(f32::MAX)),
            ("[−π, 2 pi]", -pi, f64::from(std::f32::consts::TAU)),
            ("[0, pi/2];", 0.0, f64::from(std::f32::consts::FRAC_PI_2)),
            ("[3, 3]", 3.0, 3.0),
        ] {
            let parameter = read(&format!("/// Some words. range: {text}"), "vec2f")
                .unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(parameter.range, [lo, hi], "{text}");
            assert_eq!(
                (parameter.doc.as_str(), parameter.size, parameter.default),
                ("Some words.", 2, None)
            );
        }
        for (text, ty, lo, hi) in [
            ("(0, 10)", "i32", 1.0, 9.0),
            ("[-inf, 3]", "i32", f64::from(i32::MIN), 3.0),
            ("[2, inf)", "u32", 2.0, f64::from(u32::MAX)),
        ] {
            assert_eq!(
                read(&format!("/// range: {text}"), ty).expect(text).range,
                [lo, hi],
                "{text}"
            );
        }
        assert_eq!(read("", "u32").expect("no comment").range, [0.0, f64::from(u32::MAX)]);
        assert_eq!(read("", "f32").expect("no comment").range, [-inf, inf]);
        assert_eq!(read("", "bool").expect("no comment").range, [0.0, 1.0]);
        for text in [
            "[0,1",
            "0, 1",
            "[0 1]",
            "[0, 1, 2]",
            "[]",
            "[0, 1] or so",
            "[1, 0]",
            "(1, 1]",
            "[0, 1e39]",
            "[nan, 1]",
            "[0x1, 2]",
            "[0, 1]]",
        ] {
            assert!(read(&format!("/// range: {text}"), "f32").is_err(), "{text}");
        }
    }

    #[test]
    fn defaults() {
        for (text, ty, values) in [
            ("0.5", "f32", &[0.5][..]),
            ("0.5.", "f32", &[0.5]),
            ("-2", "vec3<i32>", &[-2.0, -2.0, -2.0]),
            ("(1, 0.5, 0.25)", "vec3f", &[1.0, 0.5, 0.25]),
            ("[1, 2]", "vec2u", &[1.0, 2.0]),
            ("true", "bool", &[1.0]),
            ("(true, false)", "vec2<bool>", &[1.0, 0.0]),
        ] {
            let parameter = read(&format!("/// default: {text}"), ty)
                .unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(parameter.default.as_deref(), Some(values), "{text}");
        }
        for (text, ty) in [
            ("inf", "f32"),
            ("(1, 2)", "f32"),
            ("true", "f32"),
            ("-1", "u32"),
            ("1e10", "i32"),
            ("", "f32"),
        ] {
            assert!(read(&format!("/// default: {text}"), ty).is_err(), "{text}");
        }
    }

    #[test]
    fn comments_of_several_lines() {
        let block = "/** First line.\n     * Second line, range: [0, 2], which default: 1\n     */";
        let lines = "/// First line.\n///\n/// Second line.\n/// range: [0, 2], default: 1";
        for (comment, doc) in
            [(lines, "First line.\n\nSecond line."), ("/// Range: [0, 2]; Default: 1", "")]
        {
            let parameter =
                read(comment, "f32").unwrap_or_else(|error| panic!("{comment}: {error}"));
            assert_eq!(
                (parameter.range, parameter.default, parameter.doc.as_str()),
                ([0.0, 2.0], Some(vec![1.0]), doc),
                "{comment}"
            );
        }
        let parameter = read(&block.replace(", which", ","), "f32");
        let parameter = parameter.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            (parameter.range, parameter.doc.as_str()),
            ([0.0, 2.0], "First line.\nSecond line")
        );
        assert_eq!(
            read("/// Arranged in a ranger's default order, within range.", "f32")
                .expect("prose")
                .default,
            None
        );
    }

    #[test]
    fn module_comments() {
        let read = |text: &str| {
            Shader::parse(
                "test.wgsl",
                &format!("{text}\nfn brdf(i: vec3f, o: vec3f) -> vec3f {{ return i; }}"),
            )
        };
        let shader =
            read("//! Glass.\n//! Sides: both.\n//!\n//! Sides are many.\n").expect("it is valid");
        assert_eq!(
            (shader.sides(), shader.description()),
            (Sides::Both, "Glass.\n\nSides are many.")
        );
        let shader = read("/*!\n * Metal.\n * sides: one\n */").expect("it is valid");
        assert_eq!((shader.sides(), shader.description()), (Sides::One, "Metal."));
        for text in ["//! sides: two", "//! sides:", "//! sides = both", "//! sides both"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
