//! Inputs that `eval` and `bound` take, one row from options or many from a CSV file, and results,
//! which go out row by row.

use super::Source;
use super::csv::{Kind, Rows};
use super::files::{Files, Results};
use super::values::{self, Span, Wrong};
use crate::cli::Error;
use lightbound_shader::{Settings, Shader, Texture};
use std::io::Write;

/// Options that say what a shader is run on: numbers or intervals.
#[derive(Debug, clap::Args)]
pub struct InputArgs {
    #[command(flatten)]
    pub source: Source,

    /// Directions to the light, in the shading frame, as a box: each of X, Y and Z a number or
    /// LO..HI
    #[arg(long, value_name = "X,Y,Z", value_parser = values::three_spans, allow_hyphen_values = true)]
    #[arg(required_unless_present = "csv")]
    wi: Option<[Span; 3]>,

    /// Directions to the viewer, likewise
    #[arg(long, value_name = "X,Y,Z", value_parser = values::three_spans, allow_hyphen_values = true)]
    #[arg(required_unless_present = "csv")]
    wo: Option<[Span; 3]>,

    #[command(flatten)]
    files: Files,
}

/// A shader, and what its parameters are where rows do not say otherwise.
pub struct Job<'a> {
    args: &'a InputArgs,
    kind: Kind,
    pub shader: Shader,
    pub settings: Settings,
    words: Vec<Option<Span>>,
}

/// What is asked for.
pub enum Asked<'a> {
    /// The rows of a table.
    Table(Rows<'a>),
    /// One row.
    Row(Vec<Span>),
}

impl InputArgs {
    /// Where results go.
    pub fn results(&self) -> Result<Results, Error> {
        self.files.results(&self.source)
    }

    /// Reads the shader and what is set.
    pub fn job(&self, kind: Kind) -> Result<Job<'_>, Error> {
        let shader = Shader::parse(&self.source.name(), &self.source.read()?)?;
        let (settings, assignments) = self.source.settings(&shader)?;
        let words = values::assign(
            shader.parameters(),
            shader.overrides(),
            &assignments,
            |parameter, text| match kind {
                Kind::Numbers => values::bits(parameter, text).map(Span::from),
                Kind::Intervals => values::span(parameter, text),
            },
        )?;
        Ok(Job { args: self, kind, shader, settings, words })
    }
}

impl Job<'_> {
    /// The images that the shader reads.
    pub fn textures(&self) -> Result<Vec<Texture>, Error> {
        self.args.files.textures(&self.shader)
    }

    /// The inputs.
    pub fn asked(&self) -> Result<Asked<'_>, Error> {
        let parameters = self.shader.parameters();
        match (&self.args.files.csv, self.args.wi, self.args.wo) {
            (Some(path), ..) => Ok(Asked::Table(Rows::open(
                path,
                self.kind,
                parameters,
                &self.words,
                &self.args.source.set,
            )?)),
            (None, Some(wi), Some(wo)) => Ok(Asked::Row(
                [&wi[..], &wo[..], &values::all(parameters, self.words.clone())?].concat(),
            )),
            (None, ..) => unreachable!("options without --csv have --wi and --wo"),
        }
    }
}

/// What rows are run through.
pub trait Run {
    /// Names of the results.
    fn columns(&self) -> Vec<String>;

    /// Whether a row can be run; else the first word for which it cannot.
    fn check(&self, row: &[Span]) -> Result<(), (usize, Wrong)>;

    /// The results of rows that were checked.
    fn run(&mut self, rows: &[Vec<Span>]) -> Vec<Vec<f32>>;
}

/// Runs all rows, a batch at a time.
pub fn stream(rows: &mut Rows<'_>, run: &mut impl Run, results: &mut Results) -> Result<(), Error> {
    /// Enough to hide what a batch costs.
    const BATCH: usize = 4096;
    let mut text = format!("{}\n", run.columns().join(",")).into_bytes();
    loop {
        let mut batch = Vec::new();
        while batch.len() < BATCH
            && let Some(row) = rows.row()?
        {
            run.check(&row).map_err(|(word, wrong)| rows.wrong(word, &wrong))?;
            batch.push(row);
        }
        for numbers in run.run(&batch) {
            // `Debug` of floats is the shortest text that reads as the same float.
            let cells: Vec<_> = numbers.iter().map(|x| format!("{x:?}")).collect();
            writeln!(text, "{}", cells.join(",")).expect("memory takes all");
        }
        if !results.write(&text)? || batch.is_empty() {
            return Ok(());
        }
        text.clear();
    }
}
