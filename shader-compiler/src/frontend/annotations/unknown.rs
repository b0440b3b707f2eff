//! Warnings about clauses with unknown names, such as `rnage: [0, 1]`. They are valid comments, but
//! their author probably relies on them.

use super::super::names::closest;
use super::super::{ShaderError, Source};
use super::clauses::{Clause, lines};

/// Finds words that are followed by a colon and a value, and that resemble the name of a clause
/// that can have such a value, or that have a range as their value.
pub(in crate::frontend) fn unknown_clauses(source: &Source) -> Vec<ShaderError> {
    let mut warnings = vec![];
    for doc in source.docs.iter().filter(|doc| !doc.is_module) {
        for (start, line) in lines(source.text(), std::slice::from_ref(&doc.range)) {
            for (at, word, value) in labelled_values(line) {
                if Clause::ALL.iter().any(|clause| clause.name().eq_ignore_ascii_case(word)) {
                    continue;
                }
                // A range needs a bracket; `Angle: 0 degrees` is prose.
                let has_bracket = value.starts_with(['[', '(']);
                let possible =
                    [Clause::Default].into_iter().chain(has_bracket.then_some(Clause::Range));
                let help = match closest(word, possible.map(Clause::name)) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None if is_range(value) => {
                        "the clauses are `range: [0, 1]` and `default: 0.5`".to_owned()
                    }
                    None => continue,
                };
                let location = start + at..start + at + word.len();
                let error = source.error(format!("`{word}` is not a clause, so it has no effect"));
                warnings.push(error.at(location, "in this doc comment").help(help));
            }
        }
    }
    warnings
}

/// Words that begin with a letter, before a colon and a value: a number, `true`, `false`, or a
/// bracket; with their positions and the text from the value on.
fn labelled_values(line: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    line.match_indices(':').filter_map(|(colon, _)| {
        let before = line[..colon].trim_end();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let word = &before[before.trim_end_matches(is_word).len()..];
        let value = line[colon + 1..].trim_start();
        let is_value = value.starts_with(|c: char| c.is_ascii_digit() || "[(.-−∞π".contains(c))
            || ["true", "false", "inf", "pi"].iter().any(|name| value.starts_with(name));
        (is_value && word.starts_with(char::is_alphabetic))
            .then(|| (before.len() - word.len(), word, value))
    })
}

/// Whether a text begins with a bracket, a number and a comma.
fn is_range(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(['[', '(']) else { return false };
    let Some((first, _)) = rest.split_once(',') else { return false };
    let first = first.trim();
    first.parse::<f64>().is_ok() || ["-inf", "-∞", "∞"].contains(&first)
}

#[cfg(test)]
mod tests {
    use crate::frontend::Shader;

    fn warnings(comment: &str) -> Vec<(String, Option<String>)> {
        let text = format!(
            "struct Material {{\n    /// {comment}\n    k: f32,\n}}\nfn brdf(i: vec3f, o: vec3f, m: Material) -> vec3f {{ return i; }}"
        );
        let shader = Shader::parse("test.wgsl", &text).unwrap_or_else(|e| panic!("{comment}: {e}"));
        let warnings = shader.warnings().iter();
        warnings.map(|warning| (warning.message.clone(), warning.help.clone())).collect()
    }

    #[test]
    fn misspelt_clauses_are_reported_with_a_suggestion() {
        for (comment, word, name) in [
            ("Gloss. rnage: [0, 1]", "rnage", "range"),
            ("Ranges: (0, 1)", "Ranges", "range"),
            ("range: [0, 1], defualt: 0.5", "defualt", "default"),
            ("defaults : true", "defaults", "default"),
        ] {
            let found = warnings(comment);
            let [(message, Some(help))] = &found[..] else { panic!("{comment}: {found:?}") };
            assert!(message.contains(&format!("`{word}`")), "{message}");
            assert_eq!(*help, format!("did you mean `{name}`?"), "{comment}");
        }
        let found = warnings("limits: [0, 1]");
        assert!(found[0].1.as_ref().is_some_and(|help| help.contains("`range: [0, 1]`")));
    }

    #[test]
    fn prose_is_not_reported() {
        for comment in [
            "range: [0, 1], default: 0.5",
            "Weight: 0 is none, 1 is all. range: [0, 1]",
            "See Ward 1992: (4) and (5).",
            "Note: [Walter 2007] differs.",
            "A ranger: defaulted.",
            "Rotation angle: 0 is along x. range: [0, 1]",
            "As in 2010: [0, 1] or more.",
        ] {
            assert_eq!(warnings(comment), [], "{comment}");
        }
    }

    #[test]
    fn warnings_point_at_the_word() {
        let text = "fn brdf(i: vec3f, o: vec3f) -> vec3f { return i; }\n/// rnage: [0, 1]\noverride a = 1.0;";
        let shader = Shader::parse("test.wgsl", text).expect("valid");
        let label = shader.warnings()[0].labels[0].inner();
        assert_eq!(&text[label.offset()..label.offset() + label.len()], "rnage");
    }
}
