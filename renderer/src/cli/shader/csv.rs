//! Rows of directions and parameters from a CSV file.
//!
//! Cells are numbers and names, so a line is a row: quotes around a cell are dropped, and need not be understood. Reading by lines is
//! what makes the line numbers of errors right after comments and empty lines.

use super::evaluator::DIRECTIONS;
use super::is_stdin;
use super::values::{self, Place};
use crate::cli::Error;
use lightbound_shader::Parameter;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// What a table begins with.
const HEADER: &str = "the first line names the columns: wi.x,wi.y,wi.z,wo.x,wo.y,wo.z,…";

/// A CSV file, read row by row.
pub struct Rows<'a> {
    lines: Lines,
    columns: Vec<Column<'a>>,
    /// The words of a row where it does not say otherwise: directions, then parameters.
    defaults: Vec<u32>,
}

/// What a cell sets.
enum Column<'a> {
    /// A component of a direction.
    Direction(usize),
    /// A parameter or a component of it.
    Parameter(Place<'a>),
}

impl<'a> Rows<'a> {
    /// Opens a file and reads its header. `words` are the parameters' where there is no column for them; the columns and they
    /// together must give every parameter a value.
    pub fn open(path: &Path, parameters: &'a [Parameter], words: &[Option<u32>]) -> Result<Rows<'a>, Error> {
        let mut lines = Lines::open(path)?;
        if !lines.advance()? {
            return Err(lines.wrong("there is no header", HEADER));
        }
        let mut words = words.to_vec();
        let (mut columns, mut taken) = (Vec::new(), vec![false; DIRECTIONS.len() + words.len()]);
        for name in lines.cells() {
            let column = column(name, parameters).map_err(|help| lines.wrong(&format!("unknown column `{name}`"), &help))?;
            for word in column.words() {
                if std::mem::replace(&mut taken[word], true) {
                    return Err(
                        lines.wrong(&format!("column `{name}` sets what an earlier column sets"), "leave one of them out")
                    );
                }
            }
            if let Column::Parameter(place) = &column {
                words[place.words.clone()].fill(Some(0));
            }
            columns.push(column);
        }
        if let Some(missing) = (0..DIRECTIONS.len()).find(|&word| !taken[word]) {
            let help = "directions take the columns wi.x, wi.y, wi.z, wo.x, wo.y and wo.z";
            return Err(lines.wrong(&format!("there is no column `{}`", DIRECTIONS[missing]), help));
        }
        if let Some(name) = values::missing(parameters, &words) {
            let help = format!("it has no default either: add a column, or give one value for all rows with --set {name}=…");
            return Err(lines.wrong(&format!("`{name}` has no value"), &help));
        }
        let defaults = [0; DIRECTIONS.len()].into_iter().chain(words.into_iter().flatten()).collect();
        Ok(Rows { lines, columns, defaults })
    }

    /// The words of the next rows, one row after the other, at most `count` of them; none at the end.
    pub fn read(&mut self, count: usize) -> Result<Vec<u32>, Error> {
        let width = self.defaults.len();
        let mut words = Vec::with_capacity(count * width);
        for _ in 0..count {
            if !self.lines.advance()? {
                break;
            }
            let first = words.len();
            words.extend_from_slice(&self.defaults);
            self.parse(&mut words[first..])?;
        }
        Ok(words)
    }

    /// Parses the line at hand.
    fn parse(&self, row: &mut [u32]) -> Result<(), Error> {
        let mut cells = self.lines.cells();
        for (number, column) in (1..).zip(&self.columns) {
            let wrong = |wrong: values::Wrong| self.lines.wrong(&format!("column {number}: {}", wrong.message), &wrong.help);
            let text = cells.next().ok_or_else(|| self.ragged())?;
            let bits = match column {
                Column::Direction(word) => text.parse().map(f32::to_bits).map_err(|_| {
                    let message = format!("`{}`: `{text}` is not a number", DIRECTIONS[*word]);
                    wrong(values::Wrong { message, help: "write it as in 0.5, -1 or 2e-3".into() })
                })?,
                Column::Parameter(place) => values::bits(place.parameter, text).map_err(wrong)?,
            };
            row[column.words()].fill(bits);
        }
        if cells.next().is_some() { Err(self.ragged()) } else { Ok(()) }
    }

    fn ragged(&self) -> Error {
        let (found, expected) = (self.lines.cells().count(), self.columns.len());
        let message = format!("found {found} cells where the header has {expected}");
        self.lines.wrong(&message, "give each row a cell for each column, parted by commas")
    }
}

impl Column<'_> {
    /// Words of a row.
    fn words(&self) -> std::ops::Range<usize> {
        match self {
            Column::Direction(word) => *word..*word + 1,
            Column::Parameter(place) => DIRECTIONS.len() + place.words.start..DIRECTIONS.len() + place.words.end,
        }
    }
}

/// What a column of this name sets, or the remedy.
fn column<'a>(name: &str, parameters: &'a [Parameter]) -> Result<Column<'a>, String> {
    if let Some(word) = DIRECTIONS.iter().position(|direction| *direction == name) {
        return Ok(Column::Direction(word));
    }
    if let Some(place) = values::find(parameters, name) {
        return Ok(Column::Parameter(place));
    }
    Err(if name.contains(|c: char| c == ';' || c.is_whitespace()) {
        "part columns by commas".into()
    } else if name.parse::<f32>().is_ok() {
        HEADER.into()
    } else {
        values::unknown("column", parameters, &DIRECTIONS, name).help
    })
}

/// Lines that hold something.
struct Lines {
    name: String,
    reader: Box<dyn BufRead>,
    line: String,
    /// Of `line`, from 1.
    number: u64,
}

impl Lines {
    fn open(path: &Path) -> Result<Lines, Error> {
        let (name, reader): (_, Box<dyn BufRead>) = match is_stdin(path) {
            true => ("stdin".into(), Box::new(std::io::stdin().lock())),
            false => {
                let file = File::open(path).map_err(|cause| Error::Data {
                    message: format!("{}: cannot be read ({cause})", path.display()),
                    help: "check that the file exists and is readable".into(),
                })?;
                (path.display().to_string(), Box::new(BufReader::new(file)))
            }
        };
        Ok(Lines { name, reader, line: String::new(), number: 0 })
    }

    /// Goes to the next line that is neither empty nor a comment; false at the end.
    fn advance(&mut self) -> Result<bool, Error> {
        loop {
            self.line.clear();
            self.number += 1;
            match self.reader.read_line(&mut self.line) {
                Ok(0) => return Ok(false),
                Ok(_) => {}
                Err(cause) => return Err(self.wrong(&format!("cannot be read ({cause})"), "save the table as CSV, in UTF-8")),
            }
            // The mark that some programs put before UTF-8.
            if self.line.starts_with('\u{feff}') {
                self.line.remove(0);
            }
            let text = self.line.trim();
            if !text.is_empty() && !text.starts_with('#') {
                return Ok(true);
            }
        }
    }

    /// Cells of the line at hand.
    fn cells(&self) -> impl Iterator<Item = &str> {
        self.line.split(',').map(|cell| {
            let cell = cell.trim();
            cell.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(cell)
        })
    }

    /// An error at the line at hand.
    fn wrong(&self, message: &str, help: &str) -> Error {
        Error::Data { message: format!("{}:{}: {message}", self.name, self.number), help: help.into() }
    }
}
