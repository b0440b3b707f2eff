//! Inputs of `eval` and `bound`: one row from options, or many rows from a CSV file.

use super::SourceArgs;
use super::csv::{CsvRows, InputKind};
use super::evaluator::arguments;
use super::files::{FileArgs, Results};
use super::values::{self, ValueError, WordRange};
use crate::Error;
use lightbound_shader::texture::SamplerState;
use lightbound_shader::{Parameter, Scalar, Settings, Shader, ShaderKind, SurfaceSides, Texture};
use std::io::Write;

/// Options for the inputs of a shader: numbers or intervals.
#[derive(Debug, clap::Args)]
pub struct InputArgs {
    #[command(flatten)]
    pub source: SourceArgs,

    /// Directions to the light, a box in the shading frame: X, Y and Z are numbers or intervals
    /// LO..HI
    #[arg(long, value_name = "X,Y,Z", value_parser = values::parse_box, allow_hyphen_values = true)]
    wi: Option<[WordRange; 3]>,

    /// Directions to the viewer, in the same form
    #[arg(long, value_name = "X,Y,Z", value_parser = values::parse_box, allow_hyphen_values = true)]
    wo: Option<[WordRange; 3]>,

    /// Positions in a density, a box in the medium's own space, or the input `p` of a function, in
    /// the same form
    #[arg(long, value_name = "X,Y,Z", value_parser = values::parse_box, allow_hyphen_values = true)]
    p: Option<[WordRange; 3]>,

    /// Any function of the file, instead of the BRDF or the density; all of its inputs are set by
    /// name with --set
    #[arg(long, value_name = "FN")]
    entry: Option<String>,

    #[command(flatten)]
    files: FileArgs,
}

/// A parsed shader, with the settings and parameter values of the options.
pub struct ShaderJob<'a> {
    args: &'a InputArgs,
    kind: InputKind,
    /// The parsed shader.
    pub shader: Shader,
    /// Values of the shader's overrides, and formats of its textures.
    pub settings: Settings,
    /// Values of the shader's arguments, unless they are in a table.
    arguments: Vec<WordRange>,
    /// Inputs that are set by name.
    parameters: Vec<Parameter>,
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
        let shader = self.source.shader(self.entry.as_deref())?;
        let arguments = self.arguments(&shader)?;
        let (settings, assignments) = self.source.settings(&shader)?;
        let parameters = named_inputs(&shader);
        let mut assigned =
            values::assign(&parameters, shader.overrides(), &assignments, |parameter, text| {
                match kind {
                    InputKind::Numbers => values::parse_bits(parameter, text).map(WordRange::from),
                    InputKind::Intervals => values::parse_range(parameter, text),
                }
            })?;
        if let (ShaderKind::Function, Some(p)) = (shader.kind(), self.p) {
            let p_words = values::find_parameter(&parameters, "p");
            let p_words =
                p_words.filter(|p| (p.parameter.scalar, p.words.len()) == (Scalar::F32, 3));
            let Some(position) = p_words else {
                let message = format!("--p: `{}` has no input `p: vec3f`", shader.function_name());
                return Err(Error::option(message, "set inputs by name with --set"));
            };
            for (word, range) in position.words.zip(p) {
                assigned[word] = Some(range);
            }
        }
        Ok(ShaderJob { args: self, kind, shader, settings, arguments, parameters, assigned })
    }

    /// The arguments of a shader, from the options for its kind; empty if they are in a table.
    fn arguments(&self, shader: &Shader) -> Result<Vec<WordRange>, Error> {
        let wrong = |option: &str, help: &str| {
            let (name, kind) = (shader.name(), shader.kind().name());
            Error::option(format!("{option}: {name} is {kind}"), help)
        };
        let given = match shader.kind() {
            ShaderKind::Brdf | ShaderKind::Phase => {
                const HELP: &str = "give directions with --wi X,Y,Z and --wo X,Y,Z";
                if self.p.is_some() {
                    return Err(wrong("--p applies only to densities", HELP));
                }
                self.wi.zip(self.wo).map(|(wi, wo)| [wi, wo].concat()).ok_or(HELP)
            }
            ShaderKind::Density => {
                const HELP: &str = "give a position with --p X,Y,Z";
                if self.wi.is_some() || self.wo.is_some() {
                    return Err(wrong("--wi and --wo do not apply to densities", HELP));
                }
                self.p.map(|p| p.to_vec()).ok_or(HELP)
            }
            ShaderKind::Function => {
                if self.wi.is_some() || self.wo.is_some() {
                    const HELP: &str = "set inputs by name with --set";
                    return Err(wrong("--wi and --wo do not apply to functions", HELP));
                }
                Ok(vec![])
            }
        };
        match given {
            Ok(words) => Ok(words),
            Err(_) if self.files.csv.is_some() => Ok(vec![]),
            Err(help) => {
                Err(wrong("arguments are missing", &format!("{help}, or a table with --csv")))
            }
        }
    }
}

/// The inputs of a shader that are set by name: its parameters, and the arguments of a function.
fn named_inputs(shader: &Shader) -> Vec<Parameter> {
    match shader.kind() {
        ShaderKind::Function => [shader.arguments(), shader.parameters()].concat(),
        _ => shader.parameters().to_vec(),
    }
}

impl ShaderJob<'_> {
    /// The inputs that are set by name, which follow the arguments.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The sides of the material; `None` for a density or a function, which have no directions.
    pub fn sides(&self) -> Option<SurfaceSides> {
        match self.shader.kind() {
            ShaderKind::Brdf | ShaderKind::Phase => Some(self.shader.sides()),
            ShaderKind::Density | ShaderKind::Function => None,
        }
    }

    /// Reads the shader's textures, and sets the settings to their formats.
    pub fn read_textures(&mut self) -> Result<Vec<Texture>, Error> {
        let textures = self.args.files.textures(&self.shader)?;
        let states = textures.iter().map(|texture| texture.state(SamplerState::default()));
        self.settings.textures =
            std::iter::zip(self.shader.textures().iter().cloned(), states).collect();
        Ok(textures)
    }

    /// The requested inputs.
    pub fn inputs(&self) -> Result<InputRows<'_>, Error> {
        let parameters = &self.parameters;
        match &self.args.files.csv {
            Some(path) => Ok(InputRows::Table(CsvRows::open(
                path,
                self.kind,
                arguments(self.shader.kind()),
                parameters,
                &self.assigned,
                &self.args.source.set,
            )?)),
            None => {
                let parameters = values::require_all(parameters, self.assigned.clone())?;
                Ok(InputRows::Row([&self.arguments[..], &parameters].concat()))
            }
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
