//! Tables as aligned text or Markdown.

/// A table. The first column has text, the others have numbers.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub title: String,
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Formats the table with its title, followed by an empty line.
    pub fn print(&self, markdown: bool) -> String {
        if markdown { self.markdown() } else { self.text() }
    }

    fn markdown(&self) -> String {
        let line = |cells: &Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rule = format!("|---|{}\n", "--:|".repeat(self.header.len() - 1));
        let rows: String = self.rows.iter().map(line).collect();
        format!("**{}**\n\n{}{rule}{rows}\n", self.title, line(&self.header))
    }

    fn text(&self) -> String {
        let lines = || std::iter::once(&self.header).chain(&self.rows);
        let width = |column: usize| {
            lines().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, &width))| pad(cell, width, column > 0));
            format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
        };
        format!("{}\n{}\n", self.title, lines().map(line).collect::<String>())
    }
}

/// Returns the display width in characters. Combining characters, such as the hats of x̂ and ω̂,
/// have no width.
pub(super) fn width(text: &str) -> usize {
    text.chars().filter(|c| !('\u{300}'..='\u{36f}').contains(c)).count()
}

/// Pads text with spaces to a display width.
pub(super) fn pad(text: &str, to_width: usize, align_right: bool) -> String {
    let space = " ".repeat(to_width.saturating_sub(width(text)));
    if align_right { space + text } else { text.to_owned() + &space }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let table = Table {
            title: "T".into(),
            header: row(["name", "s(x̂, ω̂)"]),
            rows: vec![row(["a", "1.5"])],
        };
        assert_eq!(table.print(false), "T\n  name  s(x̂, ω̂)\n  a         1.5\n\n");
        assert_eq!(table.print(true), "**T**\n\n| name | s(x̂, ω̂) |\n|---|--:|\n| a | 1.5 |\n\n");
    }
}
