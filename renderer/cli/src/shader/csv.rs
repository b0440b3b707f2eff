//! Rows of directions and parameters from a CSV file: numbers, or intervals with a column for each
//! endpoint.
//!
//! Cells are numbers and names, so each line is a row, and quotes around a cell can be dropped.
//! Reading line by line gives errors the right line numbers after comments and empty lines.

use super::evaluator::DIRECTIONS;
use super::values::{self, ParameterWords, Span, Wrong};
use super::{Assignment, is_stdin};
use crate::Error;
use lightbound_shader::{Parameter, Scalar};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Help on the header.
const HEADER: &str = "the first line names the columns: wi.x,wi.y,wi.z,wo.x,wo.y,wo.z,…";

/// Kind of values that columns contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers only.
    Numbers,
    /// Numbers and intervals; an interval has columns such as `wi.x.lo` and `wi.x.hi`.
    Intervals,
}

/// A CSV file, read row by row.
pub struct Rows<'a> {
    lines: Lines,
    columns: Vec<Column<'a>>,
    /// Default values of a row: directions, then parameters.
    defaults: Vec<Span>,
}

/// A column of the table.
struct Column<'a> {
    name: String,
    target: Target<'a>,
    /// The endpoint of an interval, 0 or 1; `None` for a number.
    end: Option<usize>,
}

/// The input that a cell sets.
enum Target<'a> {
    /// A component of a direction.
    Direction(usize),
    /// A parameter or one of its components.
    Parameter(ParameterWords<'a>),
}

/// Suffixes of columns with endpoints of intervals.
const ENDS: [&str; 2] = [".lo", ".hi"];

impl<'a> Rows<'a> {
    /// Opens a file and reads its header. `words` are the values of parameters without a column.
    ///
    /// *Errors*: a parameter has no value, or columns set all components of something that an option
    /// in `set` sets.
    pub fn open(
        path: &Path,
        kind: Kind,
        parameters: &'a [Parameter],
        words: &[Option<Span>],
        set: &[Assignment],
    ) -> Result<Rows<'a>, Error> {
        let mut lines = Lines::open(path)?;
        if !lines.advance()? {
            return Err(lines.wrong("there is no header", HEADER));
        }
        let directions = [None; DIRECTIONS.len()].into_iter();
        let mut words: Vec<Option<Span>> = directions.chain(words.iter().copied()).collect();
        let mut columns: Vec<Column> = Vec::new();
        for name in lines.cells() {
            let column = column(name, kind, parameters)
                .map_err(|help| lines.wrong(&format!("unknown column `{name}`"), &help))?;
            if columns.iter().any(|earlier| earlier.overlaps(&column)) {
                return Err(lines.wrong(
                    &format!("column `{name}` sets the same value as an earlier column"),
                    "remove one of them",
                ));
            }
            words[column.words()].fill(Some(Span { ends: [0; 2], interval: column.end.is_some() }));
            columns.push(column);
        }
        for (name, text) in set {
            // Columns may override some components of an option, but not all.
            let gives = |word: usize| {
                columns.iter().find(|column| column.words().contains(&(DIRECTIONS.len() + word)))
            };
            let given: Option<Vec<_>> =
                values::find(parameters, name).and_then(|place| place.words.map(gives).collect());
            if let Some(column) = given.as_ref().and_then(|given| given.first()) {
                let message =
                    format!("column `{}` sets the same value as --set {name}={text}", column.name);
                return Err(lines.wrong(&message, "remove one of the two"));
            }
        }
        if let Some(column) = columns.iter().find(|column| !column.has_partner(&columns)) {
            let name = &column.name;
            let stem = name.strip_suffix(".lo").or(name.strip_suffix(".hi")).unwrap_or(name);
            let partner = format!("{stem}{}", ENDS[1 - column.end.unwrap_or(0)]);
            let help = format!("an interval needs both; a column `{stem}` has numbers");
            return Err(lines
                .wrong(&format!("there is a column `{name}` but no column `{partner}`"), &help));
        }
        if let Some(missing) = (0..DIRECTIONS.len()).find(|&word| words[word].is_none()) {
            let help = "directions need the columns wi.x, wi.y, wi.z, wo.x, wo.y and wo.z";
            return Err(lines.wrong(&format!("there is no column `{}`", DIRECTIONS[missing]), help));
        }
        if let Some(name) = values::missing(parameters, &words[DIRECTIONS.len()..]) {
            let help = format!(
                "it has no default: add a column, or set a value for all rows with --set {name}=…"
            );
            return Err(lines.wrong(&format!("`{name}` has no value"), &help));
        }
        Ok(Rows { lines, columns, defaults: words.into_iter().flatten().collect() })
    }

    /// Whether each word of a row is an interval.
    pub fn intervals(&self) -> Vec<bool> {
        self.defaults.iter().map(|span| span.interval).collect()
    }

    /// The next row; `None` at the end.
    pub fn row(&mut self) -> Result<Option<Vec<Span>>, Error> {
        if !self.lines.advance()? {
            return Ok(None);
        }
        let mut row = self.defaults.clone();
        self.parse(&mut row)?;
        Ok(Some(row))
    }

    /// An error at a word of the current row.
    pub fn wrong(&self, word: usize, wrong: &Wrong) -> Error {
        match (1..).zip(&self.columns).find(|(_, column)| column.words().contains(&word)) {
            Some((number, _)) => {
                self.lines.wrong(&format!("column {number}: {}", wrong.message), &wrong.help)
            }
            None => wrong.clone().into(),
        }
    }

    /// Parses the current line.
    fn parse(&self, row: &mut [Span]) -> Result<(), Error> {
        let mut cells = self.lines.cells();
        for (number, column) in (1..).zip(&self.columns) {
            let wrong = |wrong: Wrong| {
                self.lines.wrong(&format!("column {number}: {}", wrong.message), &wrong.help)
            };
            let text = cells.next().ok_or_else(|| self.ragged())?;
            let bits = match &column.target {
                Target::Direction(word) => values::direction(DIRECTIONS[*word], text),
                Target::Parameter(place) => values::bits(place.parameter, text),
            };
            let bits = bits.map_err(wrong)?;
            for span in &mut row[column.words()] {
                match column.end {
                    Some(end) => span.ends[end] = bits,
                    None => span.ends = [bits; 2],
                }
            }
        }
        if cells.next().is_some() {
            return Err(self.ragged());
        }
        self.in_order(row)
    }

    /// Checks that lower endpoints are not above upper endpoints.
    fn in_order(&self, row: &[Span]) -> Result<(), Error> {
        for (number, column) in (1..).zip(&self.columns).filter(|(_, column)| column.end == Some(1))
        {
            for word in column.words() {
                if !values::in_order(column.scalar(), row[word].ends) {
                    let lower =
                        |other: &&Column| other.end == Some(0) && other.words().contains(&word);
                    let lower =
                        self.columns.iter().position(|other| lower(&other)).unwrap_or(number - 1);
                    let text = |k: usize| self.lines.cells().nth(k).unwrap_or_default();
                    let name = column.name.trim_end_matches(".hi");
                    let Wrong { message, help } =
                        values::reversed(name, text(lower), text(number - 1));
                    return Err(self.lines.wrong(&format!("column {number}: {message}"), &help));
                }
            }
        }
        Ok(())
    }

    fn ragged(&self) -> Error {
        let (found, expected) = (self.lines.cells().count(), self.columns.len());
        let message = format!("found {found} cells, but the header has {expected}");
        self.lines.wrong(&message, "each row needs a cell for each column, separated by commas")
    }
}

impl Column<'_> {
    /// Indices of the words that the column sets.
    fn words(&self) -> std::ops::Range<usize> {
        match &self.target {
            Target::Direction(word) => *word..*word + 1,
            Target::Parameter(place) => {
                DIRECTIONS.len() + place.words.start..DIRECTIONS.len() + place.words.end
            }
        }
    }

    fn scalar(&self) -> Scalar {
        match &self.target {
            Target::Direction(_) => Scalar::F32,
            Target::Parameter(place) => place.parameter.scalar,
        }
    }

    /// Whether both columns set the same value.
    fn overlaps(&self, other: &Column) -> bool {
        let (a, b) = (self.words(), other.words());
        let same_end = self.end.is_none() || other.end.is_none() || self.end == other.end;
        same_end && a.start < b.end && b.start < a.end
    }

    /// Whether the table also has the other endpoints, if this column has endpoints.
    fn has_partner(&self, columns: &[Column]) -> bool {
        let Some(end) = self.end else { return true };
        let given = |word: usize| {
            columns.iter().any(|other| other.end == Some(1 - end) && other.words().contains(&word))
        };
        self.words().all(given)
    }
}

/// Parses the name of a column.
///
/// *Errors*: the remedy for an unknown name.
fn column<'a>(name: &str, kind: Kind, parameters: &'a [Parameter]) -> Result<Column<'a>, String> {
    // Names of parameters contain no dot, and neither `lo` nor `hi` is a component.
    let end = match kind {
        Kind::Numbers => None,
        Kind::Intervals => ENDS.iter().position(|end| name.ends_with(end)),
    };
    let stem = end.and_then(|end| name.strip_suffix(ENDS[end])).unwrap_or(name);
    if let Some(word) = DIRECTIONS.iter().position(|direction| *direction == stem) {
        return Ok(Column { name: name.into(), target: Target::Direction(word), end });
    }
    if let Some(place) = values::find(parameters, stem) {
        return Ok(Column { name: name.into(), target: Target::Parameter(place), end });
    }
    Err(if name.contains(|c: char| c == ';' || c.is_whitespace()) {
        "separate columns by commas".into()
    } else if name.parse::<f32>().is_ok() {
        HEADER.into()
    } else {
        values::unknown("column", parameters, &DIRECTIONS, stem).help
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
                    return Err(self.wrong(
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
    fn wrong(&self, message: &str, help: &str) -> Error {
        Error::Data {
            message: format!("{}:{}: {message}", self.name, self.number),
            help: help.into(),
        }
    }
}
