//! Inputs of `eval` and `bound`, one row from options or many from a CSV file, and the output of
//! results.

use super::Source;
use super::csv::{Kind, Rows};
use super::files::{Files, Results};
use super::values::{self, Span, Wrong};
use crate::Error;
use lightbound_shader::{Settings, Shader, Texture};
use std::io::Write;

/// Options for the inputs of a shader: numbers or intervals.
#[derive(Debug, clap::Args)]
pub struct InputArgs {
    #[command(flatten)]
    pub source: Source,

    /// Directions to the light, a box in the shading frame: X, Y and Z are numbers or intervals LO..HI
    #[arg(long, value_name = "X,Y,Z", value_parser = values::three_spans, allow_hyphen_values = true)]
    #[arg(required_unless_present = "csv")]
    wi: Option<[Span; 3]>,

    /// Directions to the viewer, in the same form
    #[arg(long, value_name = "X,Y,Z", value_parser = values::three_spans, allow_hyphen_values = true)]
    #[arg(required_unless_present = "csv")]
    wo: Option<[Span; 3]>,

    #[command(flatten)]
    files: Files,
}

/// A parsed shader, with the settings and parameter values of the options.
pub struct Job<'a> {
    args: &'a InputArgs,
    kind: Kind,
    pub shader: Shader,
    pub settings: Settings,
    assigned: Vec<Option<Span>>,
}

/// The requested inputs.
pub enum Inputs<'a> {
    /// The rows of a table.
    Table(Rows<'a>),
    /// One row.
    Row(Vec<Span>),
}

impl InputArgs {
    /// Opens the output of results.
    pub fn results(&self) -> Result<Results, Error> {
        self.files.results(&self.source)
    }

    /// Parses the shader and the values given with `--set`.
    pub fn job(&self, kind: Kind) -> Result<Job<'_>, Error> {
        let shader = Shader::parse(&self.source.name(), &self.source.read()?)?;
        let (settings, assignments) = self.source.settings(&shader)?;
        let assigned = values::assign(
            shader.parameters(),
            shader.overrides(),
            &assignments,
            |parameter, text| match kind {
                Kind::Numbers => values::bits(parameter, text).map(Span::from),
                Kind::Intervals => values::span(parameter, text),
            },
        )?;
        Ok(Job { args: self, kind, shader, settings, assigned })
    }
}

impl Job<'_> {
    /// The shader's textures.
    pub fn textures(&self) -> Result<Vec<Texture>, Error> {
        self.args.files.textures(&self.shader)
    }

    /// The requested inputs.
    pub fn inputs(&self) -> Result<Inputs<'_>, Error> {
        let parameters = self.shader.parameters();
        match (&self.args.files.csv, self.args.wi, self.args.wo) {
            (Some(path), ..) => Ok(Inputs::Table(Rows::open(
                path,
                self.kind,
                parameters,
                &self.assigned,
                &self.args.source.set,
            )?)),
            (None, Some(wi), Some(wo)) => Ok(Inputs::Row(
                [&wi[..], &wo[..], &values::all(parameters, self.assigned.clone())?].concat(),
            )),
            (None, ..) => unreachable!("clap requires --wi and --wo without --csv"),
        }
    }
}

/// Evaluates rows.
pub trait Run {
    /// Names of the results.
    fn columns(&self) -> Vec<String>;

    /// Checks whether a row can be evaluated.
    ///
    /// *Errors*: the index of the first invalid value, and what is wrong.
    fn check(&self, row: &[Span]) -> Result<(), (usize, Wrong)>;

    /// The results of checked rows.
    fn run(&mut self, rows: &[Vec<Span>]) -> Vec<Vec<f32>>;
}

/// Evaluates all rows in batches.
pub fn stream(rows: &mut Rows<'_>, run: &mut impl Run, results: &mut Results) -> Result<(), Error> {
    /// Rows per batch, enough to amortize its overhead.
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
            writeln!(text, "{}", cells.join(",")).expect("writing to memory succeeds");
        }
        if !results.write(&text)? || batch.is_empty() {
            return Ok(());
        }
        text.clear();
    }
}
