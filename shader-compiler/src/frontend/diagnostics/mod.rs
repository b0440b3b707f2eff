//! naga's errors, rephrased for authors of shaders.
//!
//! The parser's errors are plain text, recognized by their wording. They are rephrased if they
//! mention naga's internals, do not quote the faulty text, or point at the wrong location. The
//! validator's errors are structured; their handles into the module yield names and types. Other
//! messages pass through, without handles.

mod images;
mod parser;
mod validator;

pub(in crate::frontend) use parser::parse_error;
pub(in crate::frontend) use validator::validation_error;

use naga::{Handle, Module, TypeInner};

/// Formats a type in WGSL syntax.
pub(super) fn type_name(module: &Module, ty: Handle<naga::Type>) -> String {
    clean_message(&naga::common::DiagnosticDisplay((ty, module.to_ctx())).to_string())
}

fn inner_name(module: &Module, inner: &TypeInner) -> String {
    clean_message(
        &naga::common::DiagnosticDisplay((
            &naga::proc::TypeResolution::Value(inner.clone()),
            module.to_ctx(),
        ))
        .to_string(),
    )
}

/// Replaces naga's type names by WGSL's short ones, and removes handles.
fn clean_message(text: &str) -> String {
    let mut text =
        text.replace("{AbstractFloat}", "abstract-float").replace("{AbstractInt}", "abstract-int");
    for (long, short) in [("<f32>", "f"), ("<i32>", "i"), ("<u32>", "u")] {
        for n in 2..=4 {
            text = text.replace(&format!("vec{n}{long}"), &format!("vec{n}{short}"));
            if short == "f" {
                for m in 2..=4 {
                    text = text.replace(&format!("mat{n}x{m}{long}"), &format!("mat{n}x{m}f"));
                }
            }
        }
    }
    // `[12]` is a handle.
    let mut clean = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find('[') {
        let digits = rest[start + 1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
        let end = start + 1 + digits;
        if digits > 0 && rest[end..].starts_with(']') {
            clean += rest[..start].trim_end();
            rest = &rest[end + 1..];
        } else {
            clean += &rest[..end];
            rest = &rest[end..];
        }
    }
    clean + rest
}

/// Formats a list of words in backticks; the conjunction, `and` or `or`, joins the last two.
pub(super) fn list(words: &[&str], conjunction: &str) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match &quoted[..] {
        [init @ .., last] if !init.is_empty() => {
            format!("{} {conjunction} {last}", init.join(", "))
        }
        _ => quoted.join(""),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if !chars.as_str().starts_with(char::is_uppercase) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

/// Returns an unrecognized message of naga, or a generic one if it contains Rust syntax.
fn presentable(message: &str) -> String {
    let is_internal = message.contains(['{', '('])
        || message.contains("::")
        || message.contains("naga")
        || message.contains("Naga");
    if is_internal || message.is_empty() {
        "this is not valid WGSL".to_owned()
    } else {
        lower_first(message)
    }
}

/// Help for converting a value from one type to another.
fn conversion(found: &str, expected: &str) -> Option<String> {
    let scalar =
        |ty: &str| matches!(ty, "f32" | "i32" | "u32" | "bool" | "abstract-float" | "abstract-int");
    let width = |ty: &str| ty.strip_prefix("vec").and_then(|rest| rest.chars().next());
    if expected.contains("abstract") {
        return None;
    }
    if scalar(found) && (scalar(expected) || width(expected).is_some())
        || width(found).is_some() && width(found) == width(expected)
    {
        return Some(format!("write `{expected}(…)`, since WGSL has no implicit conversions"));
    }
    if expected.starts_with("ptr<") {
        return Some("pass a pointer to a variable, `&name`".to_owned());
    }
    None
}
