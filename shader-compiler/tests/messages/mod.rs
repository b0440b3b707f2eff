//! Checks of error messages.

use lightbound_shader::ShaderError;

/// Renders the error as in a terminal, without colors.
pub fn render(error: &ShaderError) -> String {
    let theme = miette::GraphicalTheme::unicode_nocolor();
    let mut text = String::new();
    let handler =
        miette::GraphicalReportHandler::new_themed(theme).with_width(110).with_links(false);
    handler.render_report(&mut text, error).expect("strings take all text");
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Finds internals of naga or Rust in a message. `text` is the source of the shader.
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
    let said: Vec<_> =
        labels.chain([error.message.as_str()]).chain(error.help.as_deref()).collect();
    let wrong = |said: &&&str| {
        let mut words = said.split(|c: char| !c.is_alphanumeric() && c != '_');
        let handle = said.match_indices('[').any(|(k, _)| {
            let digits = said[k + 1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
            digits > 0 && said[k + 1 + digits..].starts_with(']')
        });
        said.trim().is_empty()
            || handle
            || words.any(|word| WORDS.contains(&word) && !text.contains(word))
    };
    said.iter().find(wrong).map(|said| (*said).to_owned())
}
