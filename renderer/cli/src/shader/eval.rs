//! `lightbound shader eval`: evaluates a BRDF for given directions, for example to compare a shader
//! with another implementation.
//!
//! Directions are passed to the shader unchanged, without normalization. Results are printed with
//! enough digits to read back the same float.

use super::csv::InputKind;
use super::evaluator::BrdfEvaluator;
use super::inputs::{InputArgs, InputRows, RowEvaluator, evaluate_table};
use super::{compile, values};
use crate::{Error, Exit};
use lightbound::material::parameters::format_table;
use lightbound_shader::Entry;

const USAGE: &str = "\
lightbound shader eval [OPTIONS] --wi <X,Y,Z> --wo <X,Y,Z> <FILE>
       lightbound shader eval [OPTIONS] --csv <FILE> <FILE>";

const EXAMPLES: &str = "\
Examples:
  lightbound shader eval ward.wgsl --wi 0,0.6,0.8 --wo 0,0,1
  lightbound shader eval ward.wgsl --wi 0,0.6,0.8 --wo 0,0,1 --set kd=0.1,0.2,0.3 --set alpha_x=0.1
  lightbound shader eval ward.wgsl --csv points.csv -o values.csv --set kd.r=0.5
  lightbound shader eval parquet.wgsl --texture wood=w.png --wi 0,0.6,0.8 --wo 0,0,1 --set uv=0.25

A CSV file has the columns wi.x, wi.y, wi.z, wo.x, wo.y, wo.z and any parameters by name:
kd for all components, kd.r or kd.x for one. Empty lines and lines that begin with # are skipped.
The result has the columns brdf.r, brdf.g, brdf.b (1/sr) and s.r, s.g, s.b, the BRDF times the cosine
of wi, with enough digits to read back the same float.";

/// Options of `shader eval`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
#[command(mut_arg("wi", |wi| {
    wi.value_parser(values::parse_direction)
        .help("Direction to the light: a unit vector in the shading frame, with the normal 0,0,1")
}))]
#[command(mut_arg("wo", |wo| {
    wo.value_parser(values::parse_direction).help("Direction to the viewer, in the same frame")
}))]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    let mut results = args.inputs.results()?;
    let job = args.inputs.job(InputKind::Numbers)?;
    let textures = job.textures()?;
    let kernel = compile(&job.shader, Entry::Brdf, &job.settings, args.inputs.source.target())?;
    let mut evaluator = BrdfEvaluator::new(kernel, job.shader.sides(), textures);
    match job.inputs()? {
        InputRows::Table(mut rows) => evaluate_table(&mut rows, &mut evaluator, &mut results)?,
        InputRows::Row(row) => {
            _ = results.write(format_row(&evaluator.evaluate(&[row])[0]).as_bytes())?
        }
    }
    results.finish()?;
    evaluator.warnings.warn();
    Ok(Exit::Success)
}

/// Formats the values of a row.
fn format_row(values: &[f32]) -> String {
    let row = |name: &str, values: &[f32], unit: &str| {
        let values = values.iter().map(|x| format!("{x:?}"));
        [name.to_owned()]
            .into_iter()
            .chain(values)
            .chain([unit.to_owned()])
            .collect::<Vec<String>>()
    };
    let head = ["", "r", "g", "b"].map(str::to_owned).to_vec();
    format_table(&[
        head,
        row("brdf", &values[..3], "1/sr"),
        row("s", &values[3..], "1/sr, with the cosine of wi"),
    ])
}
