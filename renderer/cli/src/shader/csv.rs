//! Rows of arguments and parameters from a CSV file: numbers, or intervals with a column for each
//! endpoint.
//!
//! Cells are numbers and names without line breaks, so each line is a row, and quotes around a cell
//! can be dropped. Line numbers in errors count comments and empty lines.

use super::values::{self, ParameterWords, ValueError, WordRange};
use super::{Assignment, is_stdin};
use crate::Error;
use lightbound_shader::{Parameter, Scalar};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::Path;

/// Which values an input may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Numbers only.
    Numbers,
    /// Numbers and intervals; an interval has columns such as `wi.x.lo` and `wi.x.hi`.
    Intervals,
}

/// A CSV file, read row by row.
pub struct CsvRows<'a> {
    lines: Lines,
    /// Names of the words of the arguments.
    arguments: &'a [&'a str],
    columns: Vec<Column<'a>>,
    /// Default values of a row: arguments, then parameters.
    defaults: Vec<WordRange>,
}

/// A column of the table.
struct Column<'a> {
    name: String,
    /// The parameter that the column sets; `None` for a component of an argument.
    parameter: Option<&'a Parameter>,
    /// Indices of the words that the column sets.
    words: Range<usize>,
    /// The endpoint of an interval, 0 or 1; `None` for a number.
    endpoint: Option<usize>,
}

/// Suffixes of columns with endpoints of intervals.
const ENDPOINT_SUFFIXES: [&str; 2] = [".lo", ".hi"];

impl<'a> CsvRows<'a> {
    /// Opens a file and reads its header. `arguments` are the names of the components of the
    /// shader's arguments; `words` are the values of parameters without a column.
    ///
    /// # Errors
    /// If a parameter has no value, or if columns set all components that an option in `set` sets.
    pub fn open(
        path: &Path,
        kind: InputKind,
        arguments: &'a [&'a str],
        parameters: &'a [Parameter],
        words: &[Option<WordRange>],
        set: &[Assignment],
    ) -> Result<CsvRows<'a>, Error> {
        let mut lines = Lines::open(path)?;
        if !lines.advance()? {
            return Err(lines.error("there is no header", &header_help(arguments)));
        }
        let mut words = [&vec![None; arguments.len()], words].concat();
        let mut columns: Vec<Column> = Vec::new();
        for name in lines.cells() {
            let column = column(name, kind, arguments, parameters)
                .map_err(|help| lines.error(&format!("unknown column `{name}`"), &help))?;
            if columns.iter().any(|earlier| earlier.overlaps(&column)) {
                return Err(lines.error(
                    &format!("column `{name}` sets the same value as an earlier column"),
                    "remove one of them",
                ));
            }
            words[column.words.clone()].fill(Some(WordRange {
                endpoints: [0; 2],
                is_interval: column.endpoint.is_some(),
            }));
            columns.push(column);
        }
        for (name, text) in set {
            // Columns may override some components of an option, but not all.
            let column_of = |word: usize| {
                columns.iter().find(|column| column.words.contains(&(arguments.len() + word)))
            };
            let overriding: Option<Vec<_>> = values::find_parameter(parameters, name)
                .and_then(|parameter| parameter.words.map(column_of).collect());
            if let Some(column) = overriding.as_ref().and_then(|columns| columns.first()) {
                let message =
                    format!("column `{}` sets the same value as --set {name}={text}", column.name);
                return Err(lines.error(&message, "remove one of the two"));
            }
        }
        if let Some(column) = columns.iter().find(|column| !column.has_partner(&columns)) {
            let name = &column.name;
            let stem = name.strip_suffix(".lo").or(name.strip_suffix(".hi")).unwrap_or(name);
            let partner = format!("{stem}{}", ENDPOINT_SUFFIXES[1 - column.endpoint.unwrap_or(0)]);
            let help = format!(
                "an interval needs both columns; if the values are single numbers, call the column \
                 `{stem}`"
            );
            return Err(lines
                .error(&format!("there is a column `{name}` but no column `{partner}`"), &help));
        }
        if let Some(missing) = (0..arguments.len()).find(|&word| words[word].is_none()) {
            let help = format!("the table needs the columns {}", arguments.join(", "));
            let message = format!("there is no column `{}`", arguments[missing]);
            return Err(lines.error(&message, &help));
        }
        if let Some(name) = values::first_missing(parameters, &words[arguments.len()..]) {
            let help = format!(
                "it has no default: add a column, or set a value for all rows with --set {name}=…"
            );
            return Err(lines.error(&format!("`{name}` has no value"), &help));
        }
        Ok(CsvRows { lines, arguments, columns, defaults: words.into_iter().flatten().collect() })
    }

    /// Whether each word of a row is an interval.
    pub fn intervals(&self) -> Vec<bool> {
        self.defaults.iter().map(|range| range.is_interval).collect()
    }

    /// The next row; `None` at the end.
    pub fn row(&mut self) -> Result<Option<Vec<WordRange>>, Error> {
        if !self.lines.advance()? {
            return Ok(None);
        }
        let mut row = self.defaults.clone();
        self.parse(&mut row)?;
        Ok(Some(row))
    }

    /// An error at a word of the current row.
    pub fn error(&self, word: usize, error: &ValueError) -> Error {
        match (1..).zip(&self.columns).find(|(_, column)| column.words.contains(&word)) {
            Some((number, _)) => {
                self.lines.error(&format!("column {number}: {}", error.message), &error.help)
            }
            None => error.clone().into(),
        }
    }

    /// Parses the current line.
    fn parse(&self, row: &mut [WordRange]) -> Result<(), Error> {
        let mut cells = self.lines.cells();
        for (number, column) in (1..).zip(&self.columns) {
            let at_column = |error: ValueError| {
                self.lines.error(&format!("column {number}: {}", error.message), &error.help)
            };
            let text = cells.next().ok_or_else(|| self.wrong_cell_count())?;
            let bits = match column.parameter {
                None => values::parse_component(self.arguments[column.words.start], text),
                Some(parameter) => values::parse_bits(parameter, text),
            };
            let bits = bits.map_err(at_column)?;
            for range in &mut row[column.words.clone()] {
                match column.endpoint {
                    Some(endpoint) => range.endpoints[endpoint] = bits,
                    None => range.endpoints = [bits; 2],
                }
            }
        }
        if cells.next().is_some() {
            return Err(self.wrong_cell_count());
        }
        self.check_order(row)
    }

    /// Checks that lower endpoints are not above upper endpoints.
    fn check_order(&self, row: &[WordRange]) -> Result<(), Error> {
        for (number, column) in
            (1..).zip(&self.columns).filter(|(_, column)| column.endpoint == Some(1))
        {
            for word in column.words.clone() {
                if !values::is_ordered(column.scalar(), row[word].endpoints) {
                    let lower =
                        |other: &&Column| other.endpoint == Some(0) && other.words.contains(&word);
                    let lower =
                        self.columns.iter().position(|other| lower(&other)).unwrap_or(number - 1);
                    let text = |k: usize| self.lines.cells().nth(k).unwrap_or_default();
                    let name = column.name.trim_end_matches(".hi");
                    let ValueError { message, help } =
                        values::reversed_endpoints(name, text(lower), text(number - 1));
                    return Err(self.lines.error(&format!("column {number}: {message}"), &help));
                }
            }
        }
        Ok(())
    }

    fn wrong_cell_count(&self) -> Error {
        let (found, expected) = (self.lines.cells().count(), self.columns.len());
        let message = format!("found {found} cells, but the header has {expected}");
        self.lines.error(&message, "each row needs a cell for each column, separated by commas")
    }
}

impl Column<'_> {
    fn scalar(&self) -> Scalar {
        self.parameter.map_or(Scalar::F32, |parameter| parameter.scalar)
    }

    /// Whether both columns set the same value.
    fn overlaps(&self, other: &Column) -> bool {
        let (a, b) = (&self.words, &other.words);
        let same_endpoint =
            self.endpoint.is_none() || other.endpoint.is_none() || self.endpoint == other.endpoint;
        same_endpoint && a.start < b.end && b.start < a.end
    }

    /// Whether the table has the other endpoint of each interval of this column.
    fn has_partner(&self, columns: &[Column]) -> bool {
        let Some(endpoint) = self.endpoint else { return true };
        let has_other_endpoint = |word: usize| {
            columns
                .iter()
                .any(|other| other.endpoint == Some(1 - endpoint) && other.words.contains(&word))
        };
        self.words.clone().all(has_other_endpoint)
    }
}

/// Help for errors in the header.
fn header_help(arguments: &[&str]) -> String {
    format!("the first line names the columns: {},…", arguments.join(","))
}

/// Parses the name of a column. The error is the remedy for an unknown name.
fn column<'a>(
    name: &str,
    kind: InputKind,
    arguments: &[&str],
    parameters: &'a [Parameter],
) -> Result<Column<'a>, String> {
    // Names of parameters contain no dot, and neither `lo` nor `hi` is a component.
    let endpoint = match kind {
        InputKind::Numbers => None,
        InputKind::Intervals => ENDPOINT_SUFFIXES.iter().position(|suffix| name.ends_with(suffix)),
    };
    let stem = endpoint.and_then(|k| name.strip_suffix(ENDPOINT_SUFFIXES[k])).unwrap_or(name);
    let owned = name.to_owned();
    if let Some(word) = arguments.iter().position(|argument| *argument == stem) {
        return Ok(Column { name: owned, parameter: None, words: word..word + 1, endpoint });
    }
    if let Some(ParameterWords { parameter, words }) = values::find_parameter(parameters, stem) {
        let words = arguments.len() + words.start..arguments.len() + words.end;
        return Ok(Column { name: owned, parameter: Some(parameter), words, endpoint });
    }
    Err(if name.contains(|c: char| c == ';' || c.is_whitespace()) {
        "separate columns by commas".into()
    } else if name.parse::<f32>().is_ok() {
        header_help(arguments)
    } else {
        values::unknown_name("column", parameters, arguments, stem).help
    })
}

/// Lines of a file without comments and empty lines.
struct Lines {
    name: String,
    reader: Box<dyn BufRead>,
    line: String,
    /// Number of `line`, from 1.
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

    /// Advances to the next line that is neither empty nor a comment; false at the end.
    fn advance(&mut self) -> Result<bool, Error> {
        loop {
            self.line.clear();
            self.number += 1;
            match self.reader.read_line(&mut self.line) {
                Ok(0) => return Ok(false),
                Ok(_) => {}
                Err(cause) => {
                    return Err(self.error(
                        &format!("cannot be read ({cause})"),
                        "save the table as CSV, in UTF-8",
                    ));
                }
            }
            // The byte order mark that some programs write.
            if self.line.starts_with('\u{feff}') {
                self.line.remove(0);
            }
            let text = self.line.trim();
            if !text.is_empty() && !text.starts_with('#') {
                return Ok(true);
            }
        }
    }

    /// Cells of the current line.
    fn cells(&self) -> impl Iterator<Item = &str> {
        self.line.split(',').map(|cell| {
            let cell = cell.trim();
            cell.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(cell)
        })
    }

    /// An error at the current line.
    fn error(&self, message: &str, help: &str) -> Error {
        Error::Data {
            message: format!("{}:{}: {message}", self.name, self.number),
            help: help.into(),
        }
    }
}
