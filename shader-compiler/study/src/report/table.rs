//! Tables as text: aligned for a terminal, or Markdown.

/// A table whose first column is text and whose other columns are numbers.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub title: String,
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Prints the table with its title, followed by an empty line.
    pub fn print(&self, markdown: bool) -> String {
        if markdown { self.markdown() } else { self.text() }
    }

    fn markdown(&self) -> String {
        let line = |cells: &Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rule = format!("|---|{}\n", "--:|".repeat(self.head.len() - 1));
        let rows: String = self.rows.iter().map(line).collect();
        format!("**{}**\n\n{}{rule}{rows}\n", self.title, line(&self.head))
    }

    fn text(&self) -> String {
        let all = || std::iter::once(&self.head).chain(&self.rows);
        let width = |column: usize| {
            all().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, &to))| pad(cell, to, column > 0));
            format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
        };
        format!("{}\n{}\n", self.title, all().map(line).collect::<String>())
    }
}

/// Display width in characters. Combining characters, like the hats of x̂ and ω̂, have no width.
pub(super) fn width(text: &str) -> usize {
    text.chars().filter(|c| !('\u{300}'..='\u{36f}').contains(c)).count()
}

/// Pads with spaces to a display width; numbers are right-aligned.
pub(super) fn pad(text: &str, to: usize, number: bool) -> String {
    let space = " ".repeat(to.saturating_sub(width(text)));
    if number { space + text } else { text.to_owned() + &space }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let table = Table {
            title: "T".into(),
            head: row(["name", "s(x̂, ω̂)"]),
            rows: vec![row(["a", "1.5"])],
        };
        assert_eq!(table.print(false), "T\n  name  s(x̂, ω̂)\n  a         1.5\n\n");
        assert_eq!(table.print(true), "**T**\n\n| name | s(x̂, ω̂) |\n|---|--:|\n| a | 1.5 |\n\n");
    }
}
