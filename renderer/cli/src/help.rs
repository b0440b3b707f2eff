//! Fits examples and notes below the options to the width of the terminal.
//!
//! clap wraps the text of options. It would also break the lines of examples anywhere and lose
//! their indentation, so they are wrapped here before: paragraphs are filled, commands continue
//! with an indentation after a backslash, and the second column of a table stays a column.

use super::console::terminal_width;
use clap::Command;
use clap::builder::StyledStr;

/// Width without a terminal, and the largest one.
const MAX_WIDTH: usize = 100;

/// Minimum width of a second column; a narrower one moves to the next line.
const MIN_COLUMN: usize = 24;

/// The width of help texts: of the terminal, or of `COLUMNS`.
fn width() -> usize {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|&n| n > 0);
    terminal_width().or_else(columns).unwrap_or(MAX_WIDTH).min(MAX_WIDTH)
}

/// Fits a command and its subcommands to the terminal.
pub fn fit(command: Command) -> Command {
    let width = width();
    fit_to(command.term_width(width), width)
}

fn fit_to(command: Command, width: usize) -> Command {
    let command = match command.get_after_help().map(StyledStr::to_string) {
        Some(text) => command.after_help(wrap(&text, width)),
        None => command,
    };
    command.mut_subcommands(|command| fit_to(command, width))
}

/// Wraps a text of paragraphs and indented lines. Words longer than a line stay whole.
fn wrap(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut paragraph = String::new();
    let text = join_columns(text);
    // A line that ends with a colon is the heading of the indented lines after it.
    let flush = |paragraph: &mut String, lines: &mut Vec<String>| {
        if !paragraph.is_empty() {
            fill(std::mem::take(paragraph).trim(), 0, "", width, lines);
        }
    };
    for line in text.lines() {
        if line.trim().is_empty() {
            flush(&mut paragraph, &mut lines);
            lines.push(String::new());
        } else if line.starts_with(' ') {
            flush(&mut paragraph, &mut lines);
            wrap_line(line, width, &mut lines);
        } else {
            paragraph += " ";
            paragraph += line;
        }
    }
    flush(&mut paragraph, &mut lines);
    lines.join("\n")
}

/// Joins lines that continue the second column of the row before them.
fn join_columns(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        match lines.last_mut() {
            Some(row) if second_column(row) == Some(indent) => {
                row.push(' ');
                row.push_str(line.trim_start());
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

/// Column of the second column of an indented row, if it has one.
fn second_column(row: &str) -> Option<usize> {
    let text = row.trim_start();
    let (_, second) = text.split_once("  ").filter(|_| row.starts_with(' '))?;
    Some(row.chars().count() - second.trim_start().chars().count())
}

/// Wraps an indented line: a command, or a row of a table, each with an optional second column.
fn wrap_line(line: &str, width: usize, lines: &mut Vec<String>) {
    if line.chars().count() <= width {
        lines.push(line.to_owned());
        return;
    }
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let (first, second) = match text.split_once("  ") {
        Some((first, second)) => (first, second.trim_start()),
        None => (text, ""),
    };
    let is_command = first.starts_with("lightbound ") || first.contains("| lightbound ");
    if is_command || second.is_empty() {
        fill(first, indent, if is_command { " \\" } else { "" }, width, lines);
        if !second.is_empty() {
            fill(second, indent + 4, "", width, lines);
        }
        return;
    }
    let column = line.chars().count() - second.chars().count();
    if width < column + MIN_COLUMN {
        fill(first, indent, "", width, lines);
        fill(second, indent + 4, "", width, lines);
        return;
    }
    let start = lines.len();
    fill(second, column, "", width, lines);
    // The continuation lines of the column keep its indentation.
    for line in &mut lines[start + 1..] {
        *line = format!("{:column$}{}", "", line.trim_start());
    }
    let head: String = line.chars().take(column).collect();
    lines[start] = head + lines[start].trim_start();
}

/// Appends the words of a text as lines with an indentation, which grows by 4 after the first line
/// unless it is 0. `end` marks lines that continue.
fn fill(text: &str, indent: usize, end: &str, width: usize, lines: &mut Vec<String>) {
    let next = if indent > 0 { indent + 4 } else { 0 };
    let mut line = " ".repeat(indent);
    let mut is_empty = true;
    for word in text.split_whitespace() {
        let length = line.chars().count() + usize::from(!is_empty) + word.chars().count();
        if !is_empty && length + end.len() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(next)) + end);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    lines.push(line);
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// The help texts of a command and its subcommands.
    fn helps(command: &mut Command) -> Vec<String> {
        let mut texts =
            vec![command.render_long_help().to_string(), command.render_help().to_string()];
        for subcommand in command.get_subcommands_mut() {
            texts.extend(helps(subcommand));
        }
        texts
    }

    #[test]
    fn every_help_text_fits_the_terminal() {
        for width in [60, 80, 100] {
            let mut command = fit_to(crate::Cli::command().term_width(width), width);
            command.build();
            for text in helps(&mut command) {
                // clap does not wrap usages and the names of options.
                let lines = text.lines().filter(|line| !line.contains("Usage:"));
                for line in lines.filter(|line| line.trim_start().contains(' ')) {
                    assert!(line.chars().count() <= width, "{width}: {line}");
                }
            }
        }
    }

    #[test]
    fn paragraphs_commands_and_columns_are_wrapped() {
        let text = "Two lines of a\nparagraph.\n\nExamples:\n  lightbound render scene.pbrt --spp 16 -o a.exr   with a note\n  short\n\nKeys:\n  key        meaning of this key in many words that do not fit";
        let expected = "Two lines of a paragraph.\n\nExamples:\n  lightbound render scene.pbrt --spp 16 \\\n      -o a.exr\n      with a note\n  short\n\nKeys:\n  key        meaning of this key in many\n             words that do not fit";
        assert_eq!(wrap(text, 42), expected);
        let pipe = "  ssh farm cat b.exr | lightbound merge a.exr - -o c.exr";
        let expected = "  ssh farm cat b.exr | lightbound merge \\\n      a.exr - -o c.exr";
        assert_eq!(wrap(pipe, 42), expected);
        // Rows that were broken by hand are one row.
        let row = "Keys:\n  key   one two\n        three four";
        assert_eq!(wrap(row, 100), "Keys:\n  key   one two three four");
    }

    #[test]
    fn narrow_columns_move_below() {
        assert_eq!(
            wrap("  name   a meaning of some length", 26),
            "  name\n      a meaning of some\n          length"
        );
    }
}
