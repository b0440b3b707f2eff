//! The module's doc comments: the description of a material, whether it transmits light, and
//! whether its `brdf` includes the cosine.

use super::super::lexer::SourceRange;
use super::super::{Parameter, ShaderError, ShaderKind, Source, SurfaceSides};
use super::clauses::lines;

const HELP: &str = "write `sides: one` for reflection, `sides: both` for reflection and transmission, or \
     `sides: both if a or b` for transmission unless the parameters `a` and `b` are 0";

/// Returns the value in a line `sides: VALUE`, or an empty text if only the colon is missing.
/// `None` for other lines, including sentences that merely start with the word.
fn sides_value(line: &str) -> Option<&str> {
    let name = line.get(..5).filter(|name| name.eq_ignore_ascii_case("sides"))?;
    let rest = line[name.len()..].trim_start();
    match rest.strip_prefix(':') {
        Some(value) => Some(value.trim().trim_end_matches('.')),
        None => (rest.trim_start_matches('=').split_whitespace().count() == 1).then_some(""),
    }
}

/// Returns the value in a line `cosine: VALUE`; `None` for other lines.
fn cosine_value(line: &str) -> Option<&str> {
    let name = line.get(..6).filter(|name| name.eq_ignore_ascii_case("cosine"))?;
    let value = line[name.len()..].trim_start().strip_prefix(':')?;
    Some(value.trim().trim_end_matches('.'))
}

/// The name of the clause in a line, if it contains one.
fn clause_name(line: &str) -> Option<&'static str> {
    match (sides_value(line), cosine_value(line)) {
        (Some(_), _) => Some("sides"),
        (None, Some(_)) => Some("cosine"),
        (None, None) => None,
    }
}

/// What the module's doc comments say.
pub(in crate::frontend) struct ModuleDocs {
    /// The sides that the material scatters light to.
    pub sides: SurfaceSides,
    /// Names of the parameters in `sides: both if …`: if they are 0, the material only reflects.
    pub transmitting: Vec<String>,
    /// Whether `brdf` includes the cosine of `wi`.
    pub includes_cosine: bool,
    /// All other lines.
    pub description: String,
}

/// Parses the value of `sides`, of a shader with these settable parameters: `one`, `both`, or
/// `both if NAME or NAME …`.
fn parse_sides(
    source: &Source,
    value: &str,
    range: &SourceRange,
    settable: &[Parameter],
) -> Result<(SurfaceSides, Vec<String>), ShaderError> {
    let error = |message: String, label: &str, help: String| {
        Err(source.error(message).at(range.clone(), label).help(help))
    };
    let condition = match value {
        "one" => return Ok((SurfaceSides::One, vec![])),
        "both" => return Ok((SurfaceSides::Both, vec![])),
        "" => return error("expected `sides: one` or `sides: both`".into(), "here", HELP.into()),
        _ => value.strip_prefix("both if "),
    };
    let Some(condition) = condition else {
        let message = format!("`sides` is `one` or `both`, not `{value}`");
        return error(message, "unknown value", HELP.into());
    };
    let names: Vec<_> = condition.split(" or ").map(|name| name.trim().to_owned()).collect();
    for name in &names {
        match settable.iter().find(|parameter| parameter.name == *name) {
            Some(Parameter { range: [low, high], .. }) if *low <= 0.0 && *high >= 0.0 => {}
            Some(_) => {
                let message = format!("`{name}` is never 0");
                return error(message, "this condition always holds", "write `sides: both`".into());
            }
            None => {
                let message = format!("scenes set no parameter `{name}`");
                let known: Vec<_> =
                    settable.iter().map(|parameter| format!("`{}`", parameter.name)).collect();
                let help = match &known[..] {
                    [] => "write `sides: both`".into(),
                    _ => format!("name one of {}", known.join(", ")),
                };
                return error(message, "in this condition", help);
            }
        }
    }
    Ok((SurfaceSides::Both, names))
}

/// Parses the module's doc comments of a shader with these settable parameters. The clauses are for
/// BRDFs only: media scatter to both sides, and phase functions include the cosine.
pub(in crate::frontend) fn module(
    source: &Source,
    kind: ShaderKind,
    settable: &[Parameter],
) -> Result<ModuleDocs, ShaderError> {
    let [head, rest] = source.module_docs();
    if kind != ShaderKind::Brdf {
        let mut lines = trimmed_lines(source, &head);
        lines.extend(trimmed_lines(source, &rest));
        for (range, line) in &lines {
            if let Some(clause) = clause_name(line) {
                let error = source.error(format!("`{clause}` is for BRDFs, not {}", kind.name()));
                let help = match kind {
                    ShaderKind::Function => "remove the line: functions have no sides",
                    _ => "remove the line: media have no surface",
                };
                return Err(error.at(range.clone(), "this clause").help(help));
            }
        }
    }
    let mut sides: Option<(SurfaceSides, SourceRange)> = None;
    let mut transmitting = vec![];
    let mut includes_cosine = false;
    let mut description = vec![];
    for (range, line) in trimmed_lines(source, &head) {
        if let Some(value) = cosine_value(line) {
            if value != "included" {
                let error = source.error(format!("`cosine` is `included`, not `{value}`"));
                let help = "remove the line if `brdf` excludes the cosine";
                return Err(error.at(range, "unknown value").help(help));
            }
            includes_cosine = true;
            continue;
        }
        let Some(value) = sides_value(line) else {
            description.push(line);
            continue;
        };
        let (value, names) = parse_sides(source, value, &range, settable)?;
        transmitting = names;
        if let Some((_, first)) = sides.replace((value, range.clone())) {
            let error = source.error("`sides` is given twice");
            return Err(error.at(range, "the second").at(first, "the first"));
        }
    }
    for (range, line) in trimmed_lines(source, &rest) {
        if let Some(name) = clause_name(line) {
            let error = source.error(format!("`{name}` must be given at the top of the file"));
            return Err(error
                .at(range, "too late")
                .help("move this line to the top of the file, before all code"));
        }
    }
    let description = description.join("\n").trim().to_owned();
    let sides = match kind {
        ShaderKind::Brdf => sides.map_or(SurfaceSides::One, |(sides, _)| sides),
        ShaderKind::Phase | ShaderKind::Density | ShaderKind::Function => SurfaceSides::Both,
    };
    includes_cosine |= kind == ShaderKind::Phase;
    Ok(ModuleDocs { sides, transmitting, includes_cosine, description })
}

fn trimmed_lines<'a>(source: &'a Source, docs: &[SourceRange]) -> Vec<(SourceRange, &'a str)> {
    let trim = |(start, line): (usize, &'a str)| {
        let start = start + line.len() - line.trim_start().len();
        (start..start + line.trim().len(), line.trim())
    };
    lines(source.text(), docs).into_iter().map(trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::Shader;

    fn parse(text: &str) -> Result<Shader, ShaderError> {
        let brdf = "fn brdf(i: vec3f, o: vec3f) -> vec3f { return i; }";
        Shader::parse("test.wgsl", &text.replace("BRDF", brdf))
    }

    #[test]
    fn sides_and_description_are_parsed() {
        for (text, sides, description) in [
            (
                "//! Glass.\n//! Sides: both.\n//!\n//! Sides are many.\nBRDF",
                SurfaceSides::Both,
                "Glass.\n\nSides are many.",
            ),
            ("/*!\n * Metal.\n * sides: one\n */BRDF", SurfaceSides::One, "Metal."),
            ("// note\n//! Metal.\nBRDF //! not the material\n", SurfaceSides::One, "Metal."),
        ] {
            let shader = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((shader.sides(), shader.description()), (sides, description));
        }
    }

    #[test]
    fn conditions_of_transmission_are_parsed() {
        let parse = |condition: &str| {
            let text = "struct Material { /** range: [0, 1] */ a: f32, b: bool, \
                        /** range: [1, 2] */ c: vec3f, /** range: [-2, -1] */ e: f32 }
                        fn brdf(i: vec3f, o: vec3f, m: Material) -> vec3f { return i; }";
            Shader::parse("test.wgsl", &format!("//! sides: {condition}\n{text}"))
        };
        for (condition, names) in
            [("both", &[][..]), ("both if a", &["a"]), ("both if b or a.", &["b", "a"])]
        {
            let shader = parse(condition).unwrap_or_else(|error| panic!("{condition}: {error}"));
            assert_eq!(
                (shader.sides(), shader.transmitting()),
                (SurfaceSides::Both, &names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>()[..])
            );
            let reflecting = shader.reflecting();
            assert_eq!(
                (reflecting.sides(), reflecting.transmitting()),
                (SurfaceSides::One, &[][..])
            );
        }
        for condition in
            ["one if a", "both if", "both if a, b", "both if c", "both if d", "both if e"]
        {
            assert!(parse(condition).is_err(), "{condition}");
        }
    }

    #[test]
    fn cosine_clause_is_parsed() {
        let shader = parse("//! cosine: included\n//! Cosine lobes.\nBRDF").unwrap();
        assert_eq!((shader.includes_cosine(), shader.description()), (true, "Cosine lobes."));
        assert!(!parse("BRDF").unwrap().includes_cosine());
        assert!(parse("//! cosine: excluded\nBRDF").is_err());
        assert!(parse("BRDF //! cosine: included").is_err());
    }

    #[test]
    fn invalid_sides_are_rejected() {
        for line in ["sides: two", "sides:", "sides = both", "sides both"] {
            assert!(parse(&format!("//! {line}\nBRDF")).is_err(), "{line}");
        }
        assert!(parse("BRDF //! sides: both").is_err());
    }
}
