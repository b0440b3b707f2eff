//! `lightbound shader eval`: a BRDF at given directions, so that anyone can hold a shader against their own implementation.
//!
//! Directions go to the shader as they are given: nothing is normalised. Results are printed with as many digits as give the same
//! float when read.

use super::csv::{Kind, Rows};
use super::evaluator::{Evaluator, OUTPUTS};
use super::files::{Files, Results};
use super::values::{self, Span};
use super::{Source, compile};
use crate::cli::{Error, Exit};
use lightbound::material::parameters::columns;
use lightbound_shader::{Entry, Shader};
use std::io::Write;

const USAGE: &str = "\
lightbound shader eval [OPTIONS] --wi <X,Y,Z> --wo <X,Y,Z> <FILE>
       lightbound shader eval [OPTIONS] --csv <FILE> <FILE>";

const EXAMPLES: &str = "\
Examples:
  lightbound shader eval ward.wgsl --wi 0,0.6,0.8 --wo 0,0,1
  lightbound shader eval ward.wgsl --wi 0,0.6,0.8 --wo 0,0,1 --set kd=0.1,0.2,0.3 --set alpha_x=0.1
  lightbound shader eval ward.wgsl --csv points.csv -o values.csv --set kd.r=0.5
  lightbound shader eval parquet.wgsl --texture wood=wood.png --wi 0,0.6,0.8 --wo 0,0,1 --set uv=0.25,0.5

A CSV file has the columns wi.x, wi.y, wi.z, wo.x, wo.y, wo.z and any parameters by name:
kd for all components, kd.r or kd.x for one. Lines that are empty or begin with # are skipped.
The result has the columns brdf.r, brdf.g, brdf.b (1/sr) and s.r, s.g, s.b, which is the BRDF times
the cosine of wi, with as many digits as give the same float when read.";

/// Options of `shader eval`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// Direction to the light, in the shading frame: unit, the normal is 0,0,1
    #[arg(long, value_name = "X,Y,Z", value_parser = direction, allow_hyphen_values = true, required_unless_present = "csv")]
    wi: Option<[f32; 3]>,

    /// Direction to the viewer, likewise
    #[arg(long, value_name = "X,Y,Z", value_parser = direction, allow_hyphen_values = true, required_unless_present = "csv")]
    wo: Option<[f32; 3]>,

    #[command(flatten)]
    files: Files,
}

/// Parses `X,Y,Z`.
fn direction(text: &str) -> Result<[f32; 3], String> {
    let numbers: Option<Vec<f32>> = text.split(',').map(|s| s.trim().parse().ok()).collect();
    let three = numbers.and_then(|numbers| numbers.try_into().ok());
    three.ok_or_else(|| "expected three numbers, as in 0,0.6,0.8".into())
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    let mut results = args.files.results(&args.source)?;
    let shader = Shader::parse(&args.source.name(), &args.source.read()?)?;
    let (settings, assignments) = args.source.settings(&shader)?;
    let words = values::assign(shader.parameters(), shader.overrides(), &assignments, values::bits)?;
    let textures = args.files.textures(&shader)?;
    let kernel = compile(&shader, Entry::Brdf, &settings, args.source.target())?;
    let mut evaluator = Evaluator::new(kernel, shader.sides(), textures);
    match (&args.files.csv, args.wi, args.wo) {
        (Some(path), ..) => {
            let words: Vec<_> = words.into_iter().map(|word| word.map(Span::from)).collect();
            stream(&mut Rows::open(path, Kind::Numbers, shader.parameters(), &words)?, &mut evaluator, &mut results)?;
        }
        (None, Some(wi), Some(wo)) => {
            let directions = wi.into_iter().chain(wo).map(f32::to_bits);
            let row: Vec<_> = directions.chain(values::all(shader.parameters(), words)?).collect();
            let [values] = evaluator.run(&row)[..] else { unreachable!("a row in, a row out") };
            results.write(single(&values).as_bytes())?;
        }
        (None, ..) => unreachable!("options without --csv have --wi and --wo"),
    }
    results.finish()?;
    evaluator.warn();
    Ok(Exit::Done)
}

/// Evaluates all rows, a batch at a time.
fn stream(rows: &mut Rows, evaluator: &mut Evaluator, results: &mut Results) -> Result<(), Error> {
    /// Enough to hide what a batch costs.
    const BATCH: usize = 4096;
    let mut text = format!("{}\n", OUTPUTS.join(",")).into_bytes();
    loop {
        let words = rows.read(BATCH)?;
        for [r, g, b, sr, sg, sb] in evaluator.run(&words) {
            // `Debug` of floats is the shortest text that reads as the same float.
            writeln!(text, "{r:?},{g:?},{b:?},{sr:?},{sg:?},{sb:?}").expect("memory takes all");
        }
        if !results.write(&text)? || words.is_empty() {
            return Ok(());
        }
        text.clear();
    }
}

/// The values at a point, for readers.
fn single([r, g, b, sr, sg, sb]: &[f32; 6]) -> String {
    let row = |name: &str, values: [&f32; 3], unit: &str| {
        let values = values.map(|x| format!("{x:?}"));
        [name.to_owned()].into_iter().chain(values).chain([unit.to_owned()]).collect::<Vec<String>>()
    };
    let head = ["", "r", "g", "b"].map(str::to_owned).to_vec();
    columns(&[head, row("brdf", [r, g, b], "1/sr"), row("s", [sr, sg, sb], "1/sr, with the cosine of wi")])
}
