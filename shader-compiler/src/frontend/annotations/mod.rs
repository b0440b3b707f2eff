//! Annotations in doc comments: ranges, defaults, lobes and facts of parameters, ranges of texels,
//! and the sides that a material scatters light to.
//!
//! ```wgsl
//! //! sides: both
//!
//! struct Material {
//!     /// Specular exponent. range: [1, 10000], default: 50
//!     exponent: f32,
//!     /// Tint. range: [0, 1], default: (1, 0.9, 0.8)
//!     tint: vec3f,
//!     /// Albedo of the base. range: [0, 1], lobe: diffuse
//!     kd: vec3f,
//!     /// Slope, downwards. range: (-inf, 0)
//!     slope: f32,
//!     /// Direction of the fibres, in functions that are no materials. fact: unit
//!     fibre: vec3f,
//! }
//!
//! /// Luminances. range: [0, 1e4]
//! var sky: texture_2d<f32>;
//! ```
//!
//! A parenthesis excludes an endpoint. The range is stored as a closed one, which ends at the
//! adjacent number of the type. Numbers are decimal, `inf` (or `∞`), or multiples and fractions of
//! `pi` (or `π`). A clause that cannot be parsed is an error, since its author relies on it.
//!
//! The doc comment may also end the line of its member, or the line of the brace before it. Doc
//! comments in the same column on the lines below continue it.

mod clauses;
mod module;
mod unknown;

pub(super) use module::{ModuleDocs, module};
pub(super) use unknown::unknown_clauses;

use super::lexer::SourceRange;
use super::{Parameter, Scalar, ShaderError, Source, VectorFact};
use crate::relations::UNIT_LENGTH_SLACK;
use clauses::{Clause, Literal, Number, RangeClause, clauses, find_clause, lines};

/// Formats a number for messages.
fn format_number(x: f64) -> String {
    if x.is_infinite() {
        if x < 0.0 { "-inf".to_owned() } else { "inf".to_owned() }
    } else {
        format!("{x}")
    }
}

/// The smallest and largest finite values of a type.
fn finite_range(scalar: Scalar) -> [f64; 2] {
    match scalar {
        Scalar::F32 => [f64::from(f32::MIN), f64::from(f32::MAX)],
        Scalar::I32 => [f64::from(i32::MIN), f64::from(i32::MAX)],
        Scalar::U32 => [0.0, f64::from(u32::MAX)],
        Scalar::Bool => [0.0, 1.0],
    }
}

/// Converts a literal to the parameter's type.
fn convert(
    source: &Source,
    clause: Clause,
    scalar: Scalar,
    literal: &Literal,
) -> Result<f64, ShaderError> {
    let error = |message: String| {
        source
            .error(message)
            .at(literal.range.clone(), format!("the parameter is of type `{}`", scalar.name()))
    };
    let x = match (literal.value, scalar) {
        (Number::Bool(b), Scalar::Bool) => return Ok(f64::from(u8::from(b))),
        (Number::Bool(b), _) => return Err(error(format!("expected a number, found `{b}`"))),
        (Number::Float(_), Scalar::Bool) => {
            return Err(error(format!(
                "expected `true` or `false`, found `{}`",
                &source.text()[literal.range.clone()]
            )));
        }
        (Number::Float(x), _) => x,
    };
    if x.is_infinite() && clause == Clause::Range {
        return Ok(x);
    }
    if scalar != Scalar::F32 && x.fract() != 0.0 {
        return Err(error(format!(
            "`{}` is not an integer",
            &source.text()[literal.range.clone()]
        )));
    }
    let [lo, hi] = finite_range(scalar);
    if !(lo..=hi).contains(&x) {
        let help = match clause {
            Clause::Range => "write `inf` or `-inf` if the range is unbounded".to_owned(),
            _ if scalar == Scalar::F32 => {
                format!("`f32` ranges from {lo:e} to {hi:e}")
            }
            _ => format!("`{}` ranges from {lo} to {hi}", scalar.name()),
        };
        return Err(error(format!(
            "`{}` is out of range for the type",
            &source.text()[literal.range.clone()]
        ))
        .help(help));
    }
    Ok(if scalar == Scalar::F32 { f64::from(x as f32) } else { x })
}

/// Returns the closed endpoint that replaces an open one.
fn close(scalar: Scalar, end: f64, is_lower: bool) -> f64 {
    match (scalar, is_lower) {
        (Scalar::F32, true) => f64::from((end as f32).next_up()),
        (Scalar::F32, false) => f64::from((end as f32).next_down()),
        (_, true) => end + 1.0,
        (_, false) => end - 1.0,
    }
}

fn check_range(
    source: &Source,
    scalar: Scalar,
    range: &RangeClause,
    location: &SourceRange,
) -> Result<[f64; 2], ShaderError> {
    if scalar == Scalar::Bool {
        let error = source
            .error("a bool has no range")
            .at(location.clone(), "the parameter is of type `bool`");
        return Err(error.help("remove the range"));
    }
    let lo = convert(source, Clause::Range, scalar, &range.endpoints[0])?;
    let hi = convert(source, Clause::Range, scalar, &range.endpoints[1])?;
    if lo > hi {
        let message = format!(
            "the range is empty: {} is greater than {}",
            format_number(lo),
            format_number(hi)
        );
        return Err(source.error(message).at(location.clone(), "the minimum comes first"));
    }
    let closed = [
        if range.closed[0] { lo } else { close(scalar, lo, true) },
        if range.closed[1] { hi } else { close(scalar, hi, false) },
    ];
    // Integers have no infinities.
    let [min, max] = if scalar == Scalar::F32 {
        [f64::NEG_INFINITY, f64::INFINITY]
    } else {
        finite_range(scalar)
    };
    let closed = closed.map(|end| end.clamp(min, max));
    if closed[0] > closed[1] {
        let error = source
            .error("the range is empty")
            .at(location.clone(), "no number lies between the endpoints");
        return Err(error.help("`[` and `]` include the endpoints"));
    }
    Ok(closed)
}

/// Creates a parameter from the annotations in its doc comment.
pub(super) fn parameter(
    source: &Source,
    name: &str,
    docs: &[SourceRange],
    scalar: Scalar,
    size: usize,
) -> Result<Parameter, ShaderError> {
    let clauses = clauses(source, docs)?;
    let range = match &clauses.range {
        Some((range, location)) => check_range(source, scalar, range, location)?,
        None if scalar == Scalar::F32 => [f64::NEG_INFINITY, f64::INFINITY],
        None => finite_range(scalar),
    };
    let default = match &clauses.default {
        Some((literals, location)) => {
            Some(default(source, scalar, size, range, literals, location)?)
        }
        None => None,
    };
    if let Some(location) = &clauses.lobe {
        check_lobe(source, scalar, range, location)?;
    }
    match &clauses.fact {
        Some((VectorFact::Unit, location)) => {
            check_unit(source, scalar, size, default.as_deref(), location)?;
        }
        Some((VectorFact::Sorted, location)) => {
            check_sorted(source, scalar, size, default.as_deref(), location)?;
        }
        None => {}
    }
    let is_diffuse = clauses.lobe.is_some();
    Ok(Parameter {
        name: name.to_owned(),
        doc: clauses.doc,
        scalar,
        size,
        range,
        default,
        is_diffuse,
        fact: clauses.fact.map(|(fact, _)| fact),
    })
}

/// Rejects a unit vector of another type, or with a default that is none.
fn check_unit(
    source: &Source,
    scalar: Scalar,
    size: usize,
    default: Option<&[f64]>,
    location: &SourceRange,
) -> Result<(), ShaderError> {
    if (scalar, size) != (Scalar::F32, 3) {
        let error = source
            .error("only a `vec3f` can be a unit vector")
            .at(location.clone(), "of a parameter of another type");
        return Err(error.help("remove `fact: unit`, or declare a `vec3f`"));
    }
    let squares = default.map_or(1.0, |default| default.iter().map(|x| x * x).sum());
    if (squares - 1.0).abs() <= UNIT_LENGTH_SLACK {
        return Ok(());
    }
    let error = source
        .error(format!("the default is no unit vector: the square of its length is {squares}"))
        .at(location.clone(), "but this says that it is one");
    Err(error.help("divide the default by its length, to seven digits"))
}

/// Rejects a sorted vector of another type, or with a default that is not sorted.
fn check_sorted(
    source: &Source,
    scalar: Scalar,
    size: usize,
    default: Option<&[f64]>,
    location: &SourceRange,
) -> Result<(), ShaderError> {
    if scalar != Scalar::F32 || size < 2 {
        let error = source
            .error("only a vector of `f32` can be sorted")
            .at(location.clone(), "of a parameter of another type");
        return Err(error.help("remove `fact: sorted`, or declare a vector"));
    }
    if default.is_none_or(<[f64]>::is_sorted) {
        return Ok(());
    }
    let error = source
        .error("the components of the default do not ascend")
        .at(location.clone(), "but this says that they do");
    Err(error.help("sort the components of the default"))
}

/// Rejects a diffuse parameter that cannot be 0.
fn check_lobe(
    source: &Source,
    scalar: Scalar,
    [min, max]: [f64; 2],
    location: &SourceRange,
) -> Result<(), ShaderError> {
    if scalar == Scalar::F32 && (min..=max).contains(&0.0) {
        return Ok(());
    }
    let error = source
        .error("an albedo of the diffuse lobe is an `f32` or a vector of them, and can be 0")
        .at(location.clone(), "of this parameter");
    Err(error.help("remove `lobe: diffuse`, or include 0 in the range"))
}

fn default(
    source: &Source,
    scalar: Scalar,
    size: usize,
    range: [f64; 2],
    literals: &[Literal],
    location: &SourceRange,
) -> Result<Vec<f64>, ShaderError> {
    if literals.len() != 1 && literals.len() != size {
        let message =
            format!("the default has {} components, but the parameter has {size}", literals.len());
        let error = source
            .error(message)
            .at(location.clone(), format!("expected {size} numbers, or one for all components"));
        return Err(error.help(Clause::Default.help()));
    }
    let mut values = vec![];
    for literal in literals {
        let x = convert(source, Clause::Default, scalar, literal)?;
        if !(range[0]..=range[1]).contains(&x) {
            let message = format!(
                "the default {} is outside the range from {} to {}",
                format_number(x),
                format_number(range[0]),
                format_number(range[1])
            );
            return Err(source.error(message).at(literal.range.clone(), "outside the range"));
        }
        values.push(x);
    }
    if values.len() < size {
        values = vec![values[0]; size];
    }
    Ok(values)
}

/// Rejects a default and a lobe in the doc comment of an override.
pub(super) fn check_override(source: &Source, docs: &[SourceRange]) -> Result<(), ShaderError> {
    let clauses = clauses(source, docs)?;
    if let Some((_, location)) = clauses.default {
        let error = source
            .error("the default of an override is its initializer")
            .at(location, "a second default");
        return Err(error.help("write the value after the `=` of the declaration"));
    }
    if let Some(location) = clauses.lobe {
        let error = source.error("an override is no albedo").at(location, "for this override");
        return Err(error.help("remove `lobe: diffuse`, or make it a member of `Material`"));
    }
    Ok(())
}

/// The range of texels in the doc comment of a texture.
pub(super) fn texel_range(
    source: &Source,
    docs: &[SourceRange],
) -> Result<Option<[f64; 2]>, ShaderError> {
    let clauses = clauses(source, docs)?;
    if let Some((_, location)) = clauses.default {
        let error = source.error("a texture has no default").at(location, "for this texture");
        return Err(error.help("remove it: the user of the shader sets the image"));
    }
    if let Some(location) = clauses.lobe {
        let error = source.error("a texture is no albedo").at(location, "for this texture");
        return Err(error.help("remove `lobe: diffuse`"));
    }
    if let Some((fact, location)) = clauses.fact {
        let error = source.error("a texture has no facts").at(location, "for this texture");
        return Err(error.help(format!("remove `fact: {}`", fact.name())));
    }
    let range = clauses.range;
    range.map(|(range, location)| check_range(source, Scalar::F32, &range, &location)).transpose()
}

/// Rejects ranges and defaults in doc comments that are not attached to a declaration.
pub(super) fn reject_stray(source: &Source) -> Result<(), ShaderError> {
    for doc in source.stray_docs() {
        for (start, line) in lines(source.text(), std::slice::from_ref(&doc)) {
            if let Some((clause, at, _)) = find_clause(line) {
                let location = start + at..start + at + clause.name().len();
                let error = source
                    .error(format!("this {} describes no declaration", clause.name()))
                    .at(location, "here");
                return Err(
                    error.help("put the doc comment on lines of its own, before the declaration")
                );
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::Shader;

    /// Parses a shader in which this comment precedes a member of this type.
    fn parse_member(comment: &str, ty: &str) -> Result<Parameter, ShaderError> {
        let text = format!(
            "struct Material {{\n{comment}\n    k: {ty},\n}}\nfn brdf(i: vec3f, o: vec3f, m: Material) -> vec3f {{ return i; }}"
        );
        Ok(Shader::parse("test.wgsl", &text)?.parameters()[0].clone())
    }

    #[test]
    fn ranges_are_parsed_and_closed() {
        let (min_positive, inf) = (f64::from(f32::from_bits(1)), f64::INFINITY);
        let (pi, tenth) = (f64::from(std::f32::consts::PI), f64::from(0.1_f32));
        let below_one = f64::from(1_f32.next_down());
        for (text, lo, hi) in [
            ("[0, 1]", 0.0, 1.0),
            ("[ 0 ,1 ].", 0.0, 1.0),
            ("(0, 1]", min_positive, 1.0),
            ("[0, 1)", 0.0, below_one),
            ("(-1, 0)", -below_one, -min_positive),
            ("[1e-3, 1.5E+3]", f64::from(1e-3_f32), 1500.0),
            ("[.5, 1.]", 0.5, 1.0),
            ("[0, 0.1]", 0.0, tenth),
            ("[-inf, inf]", -inf, inf),
            ("[0, ∞)", 0.0, f64::from(f32::MAX)),
            ("[−π, 2 pi]", -pi, f64::from(std::f32::consts::TAU)),
            ("[0, pi/2];", 0.0, f64::from(std::f32::consts::FRAC_PI_2)),
            ("[3, 3]", 3.0, 3.0),
        ] {
            let parameter = parse_member(&format!("/// Some words. range: {text}"), "vec2f")
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
                parse_member(&format!("/// range: {text}"), ty).expect(text).range,
                [lo, hi],
                "{text}"
            );
        }
        assert_eq!(parse_member("", "u32").expect("no comment").range, [0.0, f64::from(u32::MAX)]);
        assert_eq!(parse_member("", "f32").expect("no comment").range, [-inf, inf]);
        assert_eq!(parse_member("", "bool").expect("no comment").range, [0.0, 1.0]);
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
            assert!(parse_member(&format!("/// range: {text}"), "f32").is_err(), "{text}");
        }
    }

    #[test]
    fn defaults_are_parsed_and_checked() {
        for (text, ty, values) in [
            ("0.5", "f32", &[0.5][..]),
            ("0.5.", "f32", &[0.5]),
            ("-2", "vec3<i32>", &[-2.0, -2.0, -2.0]),
            ("(1, 0.5, 0.25)", "vec3f", &[1.0, 0.5, 0.25]),
            ("[1, 2]", "vec2u", &[1.0, 2.0]),
            ("true", "bool", &[1.0]),
            ("(true, false)", "vec2<bool>", &[1.0, 0.0]),
        ] {
            let parameter = parse_member(&format!("/// default: {text}"), ty)
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
            assert!(parse_member(&format!("/// default: {text}"), ty).is_err(), "{text}");
        }
    }

    #[test]
    fn diffuse_lobes_are_parsed_and_checked() {
        for (comment, is_diffuse, doc) in [
            ("range: [0, 1], lobe: diffuse, default: 0.5", true, ""),
            ("Albedo. Lobe: diffuse", true, "Albedo."),
            ("Width of the lobe: 0 is a mirror.", false, "Width of the lobe: 0 is a mirror."),
            ("Width of the lobe: diffused", false, "Width of the lobe: diffused"),
        ] {
            let parameter = parse_member(&format!("/// {comment}"), "vec3f").expect(comment);
            assert_eq!((parameter.is_diffuse, parameter.doc.as_str()), (is_diffuse, doc));
        }
        for (comment, ty) in [
            ("range: [0.1, 1], lobe: diffuse", "f32"),
            ("lobe: diffuse", "u32"),
            ("lobe: diffuse lobe: diffuse", "f32"),
            ("lobe: diffused", "f32"),
            ("Albedo. lobe: difuse, default: 0.5", "f32"),
        ] {
            assert!(parse_member(&format!("/// {comment}"), ty).is_err(), "{comment}");
        }
    }

    #[test]
    fn ranges_of_texels_are_parsed_and_checked() {
        let parse = |comment: &str| {
            let text = format!(
                "/// {comment}\nvar t: texture_2d<f32>;\nvar u: texture_2d<f32>;\nfn brdf(i: vec3f, o: vec3f) -> vec3f {{ return i; }}"
            );
            Shader::parse("test.wgsl", &text)
        };
        for (comment, range) in [
            ("Albedos.", None),
            ("Heights. range: [-1, 2]", Some([-1.0, 2.0])),
            ("range: [0, inf)", Some([0.0, f64::from(f32::MAX)])),
        ] {
            let shader = parse(comment).unwrap_or_else(|error| panic!("{comment}: {error}"));
            assert_eq!(shader.texel_ranges(), [range, None], "{comment}");
        }
        for comment in [
            "range: [2, 1]",
            "range: [0, 1], default: 0",
            "lobe: diffuse",
            "fact: unit",
            "fact: up",
        ] {
            assert!(parse(comment).is_err(), "{comment}");
        }
    }

    #[test]
    fn clauses_may_span_lines_of_a_comment() {
        let block = "/** First line.\n     * Second line, range: [0, 2], which default: 1\n     */";
        let lines = "/// First line.\n///\n/// Second line.\n/// range: [0, 2], default: 1";
        for (comment, doc) in
            [(lines, "First line.\n\nSecond line."), ("/// Range: [0, 2]; Default: 1", "")]
        {
            let parameter =
                parse_member(comment, "f32").unwrap_or_else(|error| panic!("{comment}: {error}"));
            assert_eq!(
                (parameter.range, parameter.default, parameter.doc.as_str()),
                ([0.0, 2.0], Some(vec![1.0]), doc),
                "{comment}"
            );
        }
        let parameter = parse_member(&block.replace(", which", ","), "f32");
        let parameter = parameter.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            (parameter.range, parameter.doc.as_str()),
            ([0.0, 2.0], "First line.\nSecond line")
        );
        assert_eq!(
            parse_member("/// Arranged in a ranger's default order, within range.", "f32")
                .expect("prose")
                .default,
            None
        );
    }

    #[test]
    fn unknown_facts_are_errors_with_the_known_ones() {
        let error = |comment: &str| {
            let text = format!("fn f(\n  /// {comment}\n  n: vec3f) -> f32 {{ return 1.0; }}");
            Shader::parse_function("test.wgsl", &text, "f").unwrap_err()
        };
        let unti = error("Axis. fact: unti, default: (0, 0, 1)");
        assert_eq!(unti.message, "unknown fact `unti`");
        let label = &unti.labels[0];
        let text = unti.source_code.inner();
        assert_eq!(&text[label.offset()..label.offset() + label.len()], "unti");
        assert_eq!(label.label(), Some("did you mean `unit`?"));
        let help = unti.help.expect("it names the facts");
        assert!(help.contains("`fact: unit`") && help.contains("`fact: sorted`"), "{help}");
        assert_eq!(error("A fact: unity.").message, "unknown fact `unity`");
        assert_eq!(error("fact: Unit").message, "unknown fact `Unit`");
        assert_eq!(error("fact:").message, "expected a fact, found the end of the line");
    }

    #[test]
    fn facts_belong_to_vectors_of_functions_and_match_defaults() {
        let argument = |comment: &str, ty: &str| {
            let text = format!("fn f(/** {comment} */ n: {ty}) -> f32 {{ return 1.0; }}");
            let shader = Shader::parse_function("test.wgsl", &text, "f")?;
            Ok::<_, ShaderError>(shader.arguments()[0].clone())
        };
        let unit = argument("Axis. fact: unit, default: (0.6, 0, 0.8)", "vec3f").unwrap();
        assert!(unit.fact == Some(VectorFact::Unit) && unit.doc == "Axis.");
        let sorted = argument("Distances. Fact: sorted.", "vec2f").unwrap();
        assert!(sorted.fact == Some(VectorFact::Sorted) && sorted.doc == "Distances.");
        let message = |comment: &str, ty: &str| argument(comment, ty).unwrap_err().message;
        assert_eq!(message("fact: unit", "vec2f"), "only a `vec3f` can be a unit vector");
        assert_eq!(
            message("fact: unit, default: (1, 1, 0)", "vec3f"),
            "the default is no unit vector: the square of its length is 2"
        );
        for (comment, ty) in [("fact: sorted", "f32"), ("fact: sorted", "vec2i")] {
            assert_eq!(message(comment, ty), "only a vector of `f32` can be sorted");
        }
        assert_eq!(
            message("fact: sorted, default: (1, 0)", "vec2f"),
            "the components of the default do not ascend"
        );
        assert!(argument("fact: sorted, default: (0, 0)", "vec2f").is_ok());
        assert_eq!(message("fact: unit. fact: unit", "vec3f"), "there are two facts");
        assert_eq!(message("fact: unit, fact: sorted", "vec3f"), "there are two facts");
        assert_eq!(
            parse_member("/// fact: unit", "vec3f").unwrap_err().message,
            "the parameter `k` cannot have a fact"
        );
    }
}
