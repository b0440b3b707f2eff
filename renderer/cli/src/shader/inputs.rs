//! Inputs of `eval` and `bound`: one row from options, or many rows from a CSV file.

use super::SourceArgs;
use super::csv::{CsvRows, InputKind};
use super::files::{FileArgs, Results};
use super::values::{self, ValueError, WordRange};
use crate::Error;
use lightbound_shader::{Settings, Shader, Texture};
use std::io::Write;

/// Options for the inputs of a shader: numbers or intervals.
#[derive(Debug, clap::Args)]
pub struct InputArgs {
    #[command(flatten)]
    pub source: SourceArgs,

    /// Directions to the light, a box in the shading frame: X, Y and Z are numbers or intervals
    /// LO..HI
    #[arg(long, value_name = "X,Y,Z", value_parser = values::parse_direction_box, allow_hyphen_values = true)]
    #[arg(required_unless_present = "csv")]
    wi: Option<[WordRange; 3]>,

    /// Directions to the viewer, in the same form
    #[arg(long, value_name = "X,Y,Z", value_parser = values::parse_direction_box, allow_hyphen_values = true)]
    #[arg(required_unless_present = "csv")]
    wo: Option<[WordRange; 3]>,

    #[command(flatten)]
    files: FileArgs,
}

/// A parsed shader, with the settings and parameter values of the options.
pub struct ShaderJob<'a> {
    args: &'a InputArgs,
    kind: InputKind,
    /// The parsed shader.
    pub shader: Shader,
    /// Values of the shader's overrides.
    pub settings: Settings,
    /// Parameter values from `--set`, or defaults.
    assigned: Vec<Option<WordRange>>,
}

/// The requested inputs.
pub enum InputRows<'a> {
    /// The rows of a CSV file.
    Table(CsvRows<'a>),
    /// One row.
    Row(Vec<WordRange>),
}

impl InputArgs {
    /// Opens the output of results.
    pub fn results(&self) -> Result<Results, Error> {
        self.files.results(&self.source)
    }

    /// Parses the shader and the values given with `--set`.
    pub fn job(&self, kind: InputKind) -> Result<ShaderJob<'_>, Error> {
        let shader = Shader::parse(&self.source.name(), &self.source.read()?)?;
        let (settings, assignments) = self.source.settings(&shader)?;
        let assigned = values::assign(
            shader.parameters(),
            shader.overrides(),
            &assignments,
            |parameter, text| match kind {
                InputKind::Numbers => values::parse_bits(parameter, text).map(WordRange::from),
                InputKind::Intervals => values::parse_range(parameter, text),
            },
        )?;
        Ok(ShaderJob { args: self, kind, shader, settings, assigned })
    }
}

impl ShaderJob<'_> {
    /// The shader's textures.
    pub fn textures(&self) -> Result<Vec<Texture>, Error> {
        self.args.files.textures(&self.shader)
    }

    /// The requested inputs.
    pub fn inputs(&self) -> Result<InputRows<'_>, Error> {
        let parameters = self.shader.parameters();
        match (&self.args.files.csv, self.args.wi, self.args.wo) {
            (Some(path), ..) => Ok(InputRows::Table(CsvRows::open(
                path,
                self.kind,
                parameters,
                &self.assigned,
                &self.args.source.set,
            )?)),
            (None, Some(wi), Some(wo)) => Ok(InputRows::Row(
                [&wi[..], &wo[..], &values::require_all(parameters, self.assigned.clone())?]
                    .concat(),
            )),
            (None, ..) => unreachable!("clap requires --wi and --wo without --csv"),
        }
    }
}

/// Evaluates a shader, or its bounding shader, on rows of inputs.
pub trait RowEvaluator {
    /// Names of the result columns.
    fn columns(&self) -> Vec<String>;

    /// Checks whether a row can be evaluated. The error has the index of the first invalid word.
    fn check(&self, row: &[WordRange]) -> Result<(), (usize, ValueError)>;

    /// Evaluates checked rows; returns a row of results for each.
    fn evaluate(&mut self, rows: &[Vec<WordRange>]) -> Vec<Vec<f32>>;
}

/// Evaluates all rows of a table in batches.
pub fn evaluate_table(
    rows: &mut CsvRows<'_>,
    evaluator: &mut impl RowEvaluator,
    results: &mut Results,
) -> Result<(), Error> {
    /// Rows per batch, enough to amortize its overhead.
    const BATCH: usize = 4096;
    let mut text = format!("{}\n", evaluator.columns().join(",")).into_bytes();
    loop {
        let mut batch = Vec::new();
        while batch.len() < BATCH
            && let Some(row) = rows.row()?
        {
            evaluator.check(&row).map_err(|(word, error)| rows.error(word, &error))?;
            batch.push(row);
        }
        for numbers in evaluator.evaluate(&batch) {
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
