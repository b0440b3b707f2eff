//! `lightbound shader eval`: a BRDF at given directions, so that anyone can hold a shader against their own implementation.
//!
//! Directions go to the shader as they are given: nothing is normalised. Results are printed with as many digits as give the same
//! float when read.

use super::csv::Rows;
use super::evaluator::{Evaluator, OUTPUTS};
use super::values;
use super::{Assignment, Source, assignment, compile, images, is_stdin, output};
use crate::cli::output::to_stdout;
use crate::cli::{Error, Exit};
use lightbound::image::write::save;
use lightbound::material::parameters::columns;
use lightbound::texture::for_shaders::{self, ReadError};
use lightbound_shader::{Entry, Shader, Texture};
use std::io::Write;
use std::path::{Path, PathBuf};

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

    /// Evaluate the rows of a CSV file instead; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["wi", "wo"])]
    csv: Option<PathBuf>,

    /// Image for a texture of the shader: sRGB, repeated, with bilinear look-ups
    #[arg(long, value_name = "NAME=FILE", value_parser = assignment)]
    texture: Vec<Assignment>,

    /// File to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Parses `X,Y,Z`.
fn direction(text: &str) -> Result<[f32; 3], String> {
    let numbers: Option<Vec<f32>> = text.split(',').map(|s| s.trim().parse().ok()).collect();
    let three = numbers.and_then(|numbers| numbers.try_into().ok());
    three.ok_or_else(|| "expected three numbers, as in 0,0.6,0.8".into())
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    let inputs = [Some(&args.source.file), args.csv.as_ref()].into_iter().flatten().map(PathBuf::as_path);
    let inputs = inputs.chain(args.texture.iter().map(|(_, file)| Path::new(file)));
    let output = output(args.output.as_deref(), &inputs.collect::<Vec<_>>())?;
    if is_stdin(&args.source.file) && args.csv.as_deref().is_some_and(is_stdin) {
        return Err(Error::Option {
            message: "shader and rows cannot both come from stdin".into(),
            help: "name a file for one of them".into(),
        });
    }
    let shader = Shader::parse(&args.source.name(), &args.source.read()?)?;
    let (settings, assignments) = args.source.settings(&shader)?;
    let words = values::assign(shader.parameters(), shader.overrides(), &assignments)?;
    let textures = textures(&shader, &args.texture)?;
    let kernel = compile(&shader, Entry::Brdf, &settings, args.source.target())?;
    let mut evaluator = Evaluator::new(kernel, shader.sides(), textures);
    // What goes to a file is held until it is whole, so that it can be saved elsewhere where it cannot be written.
    let mut whole = Vec::new();
    let mut write = |text: &[u8]| match output {
        None => to_stdout(text),
        Some(_) => {
            whole.extend_from_slice(text);
            Ok(true)
        }
    };
    match (&args.csv, args.wi, args.wo) {
        (Some(path), ..) => stream(&mut Rows::open(path, shader.parameters(), &words)?, &mut evaluator, write)?,
        (None, Some(wi), Some(wo)) => {
            let row = row(&shader, wi, wo, &words)?;
            let [values] = evaluator.run(&row)[..] else { unreachable!("a row in, a row out") };
            write(single(&values).as_bytes())?;
        }
        (None, ..) => unreachable!("options without --csv have --wi and --wo"),
    }
    if let Some(output) = output {
        output.write(|path| save(path, &whole))?;
    }
    evaluator.warn();
    Ok(Exit::Done)
}

/// The textures of a shader, read from files.
fn textures(shader: &Shader, given: &[Assignment]) -> Result<Vec<Texture>, Error> {
    let names: Vec<&str> = shader.textures().iter().map(String::as_str).collect();
    if let Some((name, _)) = given.iter().find(|(name, _)| !names.contains(&name.as_str())) {
        return Err(values::unknown("texture", &[], &names, name).into());
    }
    let read = |file: &str| {
        for_shaders::read(Path::new(file)).map_err(|error| match error {
            ReadError::Image(error) => {
                Error::Data { message: error.to_string(), help: "check the path after --texture".into() }
            }
            ReadError::TooLarge(error) => Error::Data { message: format!("{file}: {error}"), help: error.remedy() },
        })
    };
    images(shader, given)?.into_iter().map(read).collect()
}

/// The words of a single evaluation.
fn row(shader: &Shader, wi: [f32; 3], wo: [f32; 3], words: &[Option<u32>]) -> Result<Vec<u32>, Error> {
    if let Some(name) = values::missing(shader.parameters(), words) {
        return Err(values::no_value(&name).into());
    }
    let directions = wi.into_iter().chain(wo).map(f32::to_bits);
    Ok(directions.chain(words.iter().copied().flatten()).collect())
}

/// Evaluates all rows, a batch at a time; `write` takes the text and tells whether anybody wants more of it.
fn stream(
    rows: &mut Rows,
    evaluator: &mut Evaluator,
    mut write: impl FnMut(&[u8]) -> Result<bool, Error>,
) -> Result<(), Error> {
    /// Enough to hide what a batch costs.
    const BATCH: usize = 4096;
    let mut text = format!("{}\n", OUTPUTS.join(",")).into_bytes();
    loop {
        let words = rows.read(BATCH)?;
        for [r, g, b, sr, sg, sb] in evaluator.run(&words) {
            // `Debug` of floats is the shortest text that reads as the same float.
            writeln!(text, "{r:?},{g:?},{b:?},{sr:?},{sg:?},{sb:?}").expect("memory takes all");
        }
        if !write(&text)? || words.is_empty() {
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
