//! Wrong shaders, and what is said of them: every file in `errors/` is one, and its message is in the snapshot of its family.

use lightbound_shader::{Shader, ShaderError};
use std::collections::BTreeMap;
use std::path::Path;

/// The error as a terminal shows it, without colours.
fn render(error: &ShaderError) -> String {
    let theme = miette::GraphicalTheme::unicode_nocolor();
    let mut text = String::new();
    let handler = miette::GraphicalReportHandler::new_themed(theme).with_width(110).with_links(false);
    handler.render_report(&mut text, error).expect("strings take all text");
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn parse_error(name: &str, text: &str) -> ShaderError {
    match Shader::parse(name, text) {
        Ok(_) => panic!("{name} is accepted"),
        Err(error) => error,
    }
}

/// Asserts that a message speaks neither of naga's inside nor Rust.
fn assert_plain(name: &str, error: &ShaderError) {
    let labels = error.labels.iter().filter_map(|label| label.label());
    for text in labels.chain([error.message.as_str()]).chain(error.help.as_deref()) {
        assert!(!text.trim().is_empty(), "{name}: an empty text");
        let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        let jargon = ["Some", "None", "Handle", "Scalar", "TypeInner", "Naga", "Sint", "Uint", "Expression", "AbstractFloat", "AbstractInt"];
        assert!(!words.any(|word| jargon.contains(&word)), "{name}: {text}");
        let handle = text.match_indices('[').any(|(k, _)| {
            let rest = text[k + 1..].trim_start_matches(|c: char| c.is_ascii_digit());
            rest.len() < text.len() - k - 1 && rest.starts_with(']')
        });
        assert!(!handle, "{name}: a handle in {text}");
        assert!(!text.contains(" { ") || text.contains("`{ }`") || text.contains("`default: { }`"), "{name}: a struct of Rust in {text}");
    }
}

#[test]
fn messages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors");
    let mut families = BTreeMap::<String, String>::new();
    let mut files: Vec<_> = folder.read_dir().expect("the folder is there").map(|entry| entry.expect("it can be read").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "wgsl"));
    files.sort();
    assert!(files.len() > 100, "{} files", files.len());
    for path in files {
        let name = path.file_name().and_then(|name| name.to_str()).expect("names are plain").to_owned();
        let error = parse_error(&name, &std::fs::read_to_string(&path).expect("shaders are text"));
        assert_plain(&name, &error);
        let family = name.split(['_', '.']).next().unwrap_or("").to_owned();
        *families.entry(family).or_default() += &format!("{name}\n{}\n", render(&error));
    }
    for (family, text) in families {
        insta::assert_snapshot!(family, text);
    }
}
