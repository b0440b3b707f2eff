//! `lightbound shader eval`: evaluates a BRDF for given directions, a density at a position, or any
//! function, for example to compare a shader with another implementation.
//!
//! Directions are passed to the shader unchanged, without normalization. Results are printed with
//! enough digits to read back the same float.

use super::csv::InputKind;
use super::evaluator::PointEvaluator;
use super::inputs::{InputArgs, InputRows, RowEvaluator, evaluate_table};
use super::{compile, point_shader, values};
use crate::{Error, Exit};
use lightbound::material::parameters::format_table;
use lightbound_shader::{Entry, ShaderKind, medium};

const USAGE: &str = "\
lightbound shader eval [OPTIONS] --wi <X,Y,Z> --wo <X,Y,Z> <FILE>
       lightbound shader eval [OPTIONS] --p <X,Y,Z> <FILE>
       lightbound shader eval [OPTIONS] --entry <FN> <FILE>
       lightbound shader eval [OPTIONS] --csv <FILE> <FILE>";

const EXAMPLES: &str = "\
Examples:
  lightbound shader eval ward.wgsl --wi 0,0.6,0.8 --wo 0,0,1
  lightbound shader eval ward.wgsl --wi 0,0.6,0.8 --wo 0,0,1 --set kd=0.1,0.2,0.3 --set alpha_x=0.1
  lightbound shader eval ward.wgsl --csv points.csv -o values.csv --set kd.r=0.5
  lightbound shader eval parquet.wgsl --texture wood=w.png --wi 0,0.6,0.8 --wo 0,0,1 --set uv=0.25
  lightbound shader eval fog.wgsl --p 0.5,0.1,0.5               the density of a medium
  lightbound shader eval sdf.wgsl --entry torus --set p=1,0,0.5 --set radius=1

A CSV file has the columns wi.x, wi.y, wi.z, wo.x, wo.y, wo.z and any parameters by name:
kd for all components, kd.r or kd.x for one. Empty lines and lines that begin with # are skipped.
The result has the columns brdf.r, brdf.g, brdf.b (1/sr) and s.r, s.g, s.b, the BRDF times the cosine
of wi, with enough digits to read back the same float. For a phase function, it has the column phase.
For a density, the columns are p.x, p.y, p.z, and in the result density, albedo.r and emission.r with the
other channels if the shader has them.
With --entry, the columns are the inputs of the function, and in the result its outputs: the name of
the function, with .x, .y and so on for a vector, or the members of a struct. Booleans are 0 and 1.";

/// Options of `shader eval`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
#[command(mut_arg("wi", |wi| {
    wi.value_parser(values::parse_vector)
        .help("Direction to the light: a unit vector in the shading frame, with the normal 0,0,1")
}))]
#[command(mut_arg("wo", |wo| {
    wo.value_parser(values::parse_vector).help("Direction to the viewer, in the same frame")
}))]
#[command(mut_arg("p", |p| {
    p.value_parser(values::parse_vector)
        .help("Position in a density, in the medium's own space, or the input `p` of a function")
}))]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    let mut results = args.inputs.results()?;
    let mut job = args.inputs.job(InputKind::Numbers)?;
    let textures = job.read_textures()?;
    let function = match job.shader.kind() {
        ShaderKind::Brdf => point_shader(&job.shader, Entry::Brdf, &job.settings)?,
        ShaderKind::Phase => point_shader(&job.shader, Entry::Integrand, &job.settings)?,
        ShaderKind::Density => medium::properties(&job.shader, &job.settings)?,
        ShaderKind::Function => point_shader(&job.shader, Entry::Function, &job.settings)?,
    };
    let kernel = compile(&function, args.inputs.source.target())?;
    let mut evaluator = PointEvaluator::new(kernel, job.shader.kind(), job.sides(), textures);
    match job.inputs()? {
        InputRows::Table(mut rows) => evaluate_table(&mut rows, &mut evaluator, &mut results)?,
        InputRows::Row(row) => {
            let values = evaluator.evaluate(&[row]).remove(0);
            let columns = evaluator.columns();
            let text = match job.shader.kind() {
                ShaderKind::Function => format_values(&columns, &values),
                _ => format_row(&columns, &values),
            };
            results.write(text.as_bytes())?;
        }
    }
    results.finish()?;
    evaluator.warnings.warn();
    Ok(Exit::Success)
}

/// Formats the values of a row: a line for each of them.
fn format_values(columns: &[String], values: &[f32]) -> String {
    let rows = columns.iter().zip(values).map(|(column, x)| vec![column.clone(), format!("{x:?}")]);
    format_table(&rows.collect::<Vec<_>>())
}

/// Formats the values of a row: a line for each function, with the channels in columns.
fn format_row(columns: &[String], values: &[f32]) -> String {
    let head = ["", "r", "g", "b"].map(str::to_owned).to_vec();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (column, x) in columns.iter().zip(values) {
        let function = match column.split_once('.') {
            Some((function, "r")) => {
                if !rows.contains(&head) {
                    rows.push(head.clone());
                }
                function
            }
            Some(_) => "",
            None => column,
        };
        if !function.is_empty() {
            rows.push(vec![function.to_owned()]);
        }
        rows.last_mut().expect("a function begins with its first channel").push(format!("{x:?}"));
    }
    for row in &mut rows {
        match row[0].as_str() {
            "brdf" => row.push("1/sr".into()),
            "s" => row.push("1/sr, with the cosine of wi".into()),
            _ => {}
        }
    }
    format_table(&rows)
}
