//! Helpers for tests of error messages.

use lightbound_shader::ShaderError;

/// Renders an error as in a terminal, without colours.
pub fn render(error: &ShaderError) -> String {
    let theme = miette::GraphicalTheme::unicode_nocolor();
    let mut text = String::new();
    let handler =
        miette::GraphicalReportHandler::new_themed(theme).with_width(110).with_links(false);
    handler.render_report(&mut text, error).expect("writing to a string succeeds");
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Finds a part of an error that is empty or mentions internals of naga or Rust. `text` is the
/// source of the shader, which may contain the same words.
pub fn jargon(error: &ShaderError, text: &str) -> Option<String> {
    const WORDS: [&str; 12] = [
        "Some",
        "None",
        "Handle",
        "Scalar",
        "TypeInner",
        "Naga",
        "Sint",
        "Uint",
        "Expression",
        "AbstractFloat",
        "AbstractInt",
        "VectorSize",
    ];
    let labels = error.labels.iter().filter_map(|label| label.label());
    let parts: Vec<_> =
        labels.chain([error.message.as_str()]).chain(error.help.as_deref()).collect();
    let is_jargon = |part: &&&str| {
        let mut words = part.split(|c: char| !c.is_alphanumeric() && c != '_');
        let has_handle = part.match_indices('[').any(|(k, _)| {
            let digits = part[k + 1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
            digits > 0 && part[k + 1 + digits..].starts_with(']')
        });
        part.trim().is_empty()
            || has_handle
            || words.any(|word| WORDS.contains(&word) && !text.contains(word))
    };
    parts.iter().find(is_jargon).map(|part| (*part).to_owned())
}
