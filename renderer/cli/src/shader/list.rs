//! `lightbound shader list`: the material library as a table.

use crate::console::terminal_width;
use crate::output::to_stdout;
use crate::{Error, Exit};
use lightbound::material::library::LIBRARY;
use lightbound::material::parameters::format_table;
use lightbound_shader::{Shader, ShaderKind, SurfaceSides};

const EXAMPLES: &str = "\
Examples:
  lightbound shader list
  lightbound shader list | grep bsdf
  lightbound shader check conductor.wgsl

The kind is brdf for reflection, bsdf for materials that scatter light to both sides (`sides: both`),
and phase or density for media.

Shaders of the library work from anywhere by their names: in scenes, as in
  Material \"shader\" \"string filename\" \"ward.wgsl\" \"float alpha_x\" 0.1
and in the commands check, show, specialize, eval, bound and preview. A file of that name takes
precedence.";

/// Greatest number of parameters that are listed by name.
const MAX_NAMES: usize = 20;

/// Options of `shader list`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

/// Runs the command.
pub fn run() -> Result<Exit, Error> {
    let width = terminal_width().unwrap_or(usize::MAX);
    to_stdout(table(width)?.as_bytes())?;
    Ok(Exit::Success)
}

/// Formats a row for each shader, in lines of at most this width unless a word is longer.
fn table(width: usize) -> Result<String, Error> {
    let head =
        ["shader", "kind", "sampler", "parameters", "description"].map(str::to_owned).to_vec();
    let mut rows = vec![head];
    for entry in LIBRARY {
        let shader = Shader::parse(entry.name, entry.text)?;
        let kind = match (shader.kind(), shader.sides()) {
            (ShaderKind::Brdf, SurfaceSides::One) => "brdf",
            (ShaderKind::Brdf, SurfaceSides::Both) => "bsdf",
            (ShaderKind::Phase, _) => "phase",
            (ShaderKind::Density, _) => "density",
            (ShaderKind::Function, _) => "function",
        };
        let sampler = match shader.kind() {
            ShaderKind::Density | ShaderKind::Function => "",
            _ if shader.has_sampler() => "own",
            _ => "bounds",
        };
        let names: Vec<&str> =
            shader.settable().iter().map(|parameter| parameter.name.as_str()).collect();
        let parameters = match names.len() {
            ..=MAX_NAMES => names.join(" "),
            count => format!("{count} parameters"),
        };
        rows.push(
            [entry.name, kind, sampler, &parameters, title(shader.description())]
                .map(|cell| cell.replace('\n', " "))
                .to_vec(),
        );
    }
    Ok(format_table(&wrap_columns(rows, width)))
}

/// The first clause of a description, which names the material.
fn title(description: &str) -> &str {
    let delimiters = [". ", ".\n", ",", ":", ";", " (", "\n\n"];
    let end = delimiters
        .iter()
        .filter_map(|delimiter| description.find(delimiter))
        .min()
        .unwrap_or(description.len());
    description[..end].trim().trim_end_matches('.')
}

/// Wraps the last two columns to fit `width`; wrapped lines become rows.
fn wrap_columns(rows: Vec<Vec<String>>, width: usize) -> Vec<Vec<String>> {
    const MIN_WIDTH: usize = 16;
    let widest =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let fixed = rows[0].len() - 2;
    let available =
        width.saturating_sub((0..fixed).map(|column| widest(column) + 2).sum::<usize>() + 2);
    let first = widest(fixed).min((available / 2).max(MIN_WIDTH));
    let second = available.saturating_sub(first).max(MIN_WIDTH);
    let mut lines = Vec::new();
    for row in &rows {
        let cells = [wrap(&row[fixed], first), wrap(&row[fixed + 1], second)];
        for k in 0..cells[0].len().max(cells[1].len()) {
            let mut line = if k == 0 { row[..fixed].to_vec() } else { vec![String::new(); fixed] };
            line.extend(cells.iter().map(|cell| cell.get(k).cloned().unwrap_or_default()));
            lines.push(line);
        }
    }
    lines
}

/// Wraps text into at least one line of at most `width` characters, unless a word is longer.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_lists_all_shaders() {
        let text = table(usize::MAX).unwrap();
        assert_eq!(text.lines().count(), 1 + LIBRARY.len());
        let ward = text.lines().find(|line| line.starts_with("ward.wgsl ")).unwrap();
        let cells: Vec<&str> =
            ward.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(cells[1], "brdf");
        assert_eq!(cells[3..], ["kd ks alpha_x alpha_y", "Anisotropic Ward with a diffuse term"]);
    }

    #[test]
    fn lines_fit_the_width() {
        let text = table(80).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.lines().count() > 1 + LIBRARY.len());
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("", 7), [""]);
    }

    #[test]
    fn titles_are_the_first_clause() {
        assert_eq!(
            title("Ideal diffuse reflection (Lambert 1760): kd/π."),
            "Ideal diffuse reflection"
        );
        assert_eq!(title("A metal.\n\nMore."), "A metal");
        assert_eq!(title("A metal of 1.5 layers"), "A metal of 1.5 layers");
    }
}
