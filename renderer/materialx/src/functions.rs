//! The functions in WGSL that nodes and surfaces call.
//!
//! Their texts have names that begin with `mx_`, and structs with `Mx`. A program gets those that it
//! uses, and those that they use. A text for a type `T` is written for each type that is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

const SOURCES: [&str; 6] = [
    include_str!("surfaces/bsdfs.wgsl"),
    include_str!("surfaces/fresnel.wgsl"),
    include_str!("surfaces/sampling.wgsl"),
    include_str!("nodes/functions.wgsl"),
    include_str!("nodes/noise.wgsl"),
    include_str!("nodes/images.wgsl"),
];

/// Types that `T` stands for.
const TYPES: [&str; 4] = ["f32", "vec2f", "vec3f", "vec4f"];

/// The name of the type in texts for several types.
const ANY: &str = "T";

/// Texts by names.
static FUNCTIONS: LazyLock<BTreeMap<&'static str, &'static str>> = LazyLock::new(|| {
    let mut functions = BTreeMap::new();
    for source in SOURCES {
        // The first block is the head of the file.
        for text in source.split("\n\n").skip(1) {
            let declaration = text.lines().find(|line| !line.starts_with("//")).unwrap_or_default();
            let name = identifiers(declaration).find(|word| is_function(word));
            functions.insert(name.expect("blocks declare a function or a struct"), text.trim());
        }
    }
    functions
});

/// The words of a text.
pub(crate) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// Whether an expression reads a member of an argument.
pub(crate) fn reads(text: &str, argument: &str, is_member: impl Fn(&str) -> bool) -> bool {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
    words
        .filter_map(|word| {
            let mut parts = word.split('.');
            (parts.next() == Some(argument)).then(|| parts.next()).flatten()
        })
        .any(is_member)
}

/// Whether a name is that of a function or a struct here.
pub(crate) fn is_function(name: &str) -> bool {
    name.starts_with("mx_") || name.starts_with("Mx")
}

/// The texts of the functions that `texts` use, without repetition, callers first.
pub(crate) fn needed<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut pending: Vec<String> = Vec::new();
    let add = |text: &str, seen: &mut BTreeSet<String>, pending: &mut Vec<String>| {
        for name in identifiers(text).filter(|name| is_function(name)) {
            if seen.insert(name.to_owned()) {
                pending.push(name.to_owned());
            }
        }
    };
    texts.for_each(|text| add(text, &mut seen, &mut pending));
    let mut result = Vec::new();
    let mut next = 0;
    while next < pending.len() {
        let text = text(&pending[next]);
        next += 1;
        add(&text, &mut seen, &mut pending);
        result.push(text);
    }
    result
}

/// The text of a function, for the type at the end of its name if there is one for all types.
fn text(name: &str) -> String {
    if let Some(text) = FUNCTIONS.get(name) {
        return (*text).to_owned();
    }
    let (stem, ty) = name.rsplit_once('_').expect("functions for types have their name");
    assert!(TYPES.contains(&ty), "there is no function {name}");
    let text = FUNCTIONS[format!("{stem}_{ANY}").as_str()];
    let mut result = String::new();
    for part in text.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
        let word = part.trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let rest = &part[word.len()..];
        let replaced = match word.strip_suffix(ANY) {
            Some(stem) if stem.is_empty() || stem.ends_with('_') => format!("{stem}{ty}"),
            _ => word.to_owned(),
        };
        result += &replaced;
        result += rest;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::Shader;

    #[test]
    fn all_functions_are_valid() {
        for name in FUNCTIONS.keys() {
            let names: Vec<String> = match name.strip_suffix(ANY).filter(|s| s.ends_with('_')) {
                Some(stem) => TYPES.iter().map(|ty| format!("{stem}{ty}")).collect(),
                None => vec![(*name).to_owned()],
            };
            for name in names {
                let functions = needed([name.as_str()].into_iter()).join("\n\n");
                let text = format!(
                    "{functions}\nfn brdf(wi: vec3f, wo: vec3f) -> vec3f {{ return vec3f(0.1); }}\n"
                );
                let parsed = Shader::parse("functions", &text);
                assert!(parsed.is_ok(), "{name}: {}", parsed.unwrap_err().one_line());
            }
        }
    }

    #[test]
    fn functions_bring_what_they_call() {
        let texts = needed(["x = mx_cellnoise2d(p) + mx_modulo_vec2f(a, b);"].into_iter());
        let names: Vec<_> = texts
            .iter()
            .map(|t| identifiers(t.lines().find(|l| !l.starts_with("//")).unwrap()).nth(1).unwrap())
            .collect();
        assert!(names.contains(&"mx_hash2") && names.contains(&"mx_hash_final"), "{names:?}");
        assert!(
            texts.iter().any(|t| t.starts_with("fn mx_modulo_vec2f(x: vec2f, y: vec2f) -> vec2f"))
        );
    }
}
