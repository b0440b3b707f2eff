//! Pictures of implicit surfaces against Fidget (Keeter), which prunes tapes, too, and compiles
//! them to machine code.
//!
//! Both render the same models in one thread: Prospero, 7,866 operations in two dimensions, and
//! others as heightmaps with normals. Runs alternate, and the median of the ratios counts.
//!
//! The models are in the folder `models` of Fidget's repository. Fidget itself is only a dependency
//! with the feature `fidget`; without it, the command measures our side alone.

mod model;
#[cfg(feature = "fidget")]
mod peer;
mod render;

use crate::arguments::positive;
use crate::report::{fail, print_machine};
use lightbound_shader::{FunctionOptions, PrunableFunction};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Render implicit surfaces, and compare times and pictures with Fidget
#[derive(clap::Args)]
pub struct Args {
    /// Folder with Fidget's models
    #[arg(long)]
    models: PathBuf,
    /// Number of runs of each picture
    #[arg(long, default_value_t = 9, value_parser = positive::<usize>)]
    runs: usize,
    /// Only models whose name contains this text
    #[arg(long, default_value = "")]
    only: String,
}

/// The pictures: names of models, sizes, and whether they are flat.
const PICTURES: [(&str, usize, bool); 5] = [
    ("prospero", 1024, true),
    ("prospero", 2048, true),
    ("bear", 512, false),
    ("colonnade", 512, false),
    ("architecture", 512, false),
];

/// What is seen in each pixel: whether it is inside, or its depth.
struct Picture {
    depths: Vec<u32>,
}

/// Our side.
struct Model {
    field: PrunableFunction,
    gradient: Option<PrunableFunction>,
    operations: usize,
}

impl Model {
    fn new(name: &str, text: &str, flat: bool) -> Result<(Model, Duration), String> {
        let start = Instant::now();
        let (source, operations) = model::to_wgsl(text)
            .map_err(|error| format!("{name}:{}: {}", error.line, error.message))?;
        let options = FunctionOptions::default();
        let field = PrunableFunction::compile(name, &source, "field", &options)
            .map_err(|error| error.to_string())?;
        let gradient = if flat {
            None
        } else {
            let options = options.gradient(&["p"]);
            let gradient = PrunableFunction::compile(name, &source, "field", &options);
            Some(gradient.map_err(|error| error.to_string())?)
        };
        Ok((Model { field, gradient, operations }, start.elapsed()))
    }

    fn render(&self, size: usize) -> Picture {
        match &self.gradient {
            None => Picture {
                depths: render::image(&self.field, size).into_iter().map(u32::from).collect(),
            },
            Some(gradient) => {
                let heightmap = render::heightmap(&self.field, gradient, size);
                std::hint::black_box(heightmap.normals);
                Picture { depths: heightmap.depths }
            }
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    print_machine();
    println!("| picture | operations | steps | compile, ms | {}", COLUMNS.0);
    println!("|---|---|---|---|{}", COLUMNS.1);
    let mut found = false;
    for (name, size, flat) in PICTURES {
        let path = args.models.join(format!("{name}.vm"));
        // A model has had two names.
        if !name.contains(&args.only) || !path.exists() {
            continue;
        }
        found = true;
        match picture(args, &path, size, flat) {
            Ok(row) => println!("| {name}, {size}{} | {row}", if flat { "²" } else { "³" }),
            Err(error) => return fail(&error),
        }
    }
    if !found {
        return fail(&format!(
            "there is no model in {}; pass the folder `models` of Fidget's repository",
            args.models.display()
        ));
    }
    ExitCode::SUCCESS
}

/// The other columns of the table.
#[cfg(feature = "fidget")]
const COLUMNS: (&str, &str) = (
    "render, ms | Fidget: compile, ms | render, ms | ratio | pixels that differ | by more than 1 |",
    "---|---|---|---|---|---|",
);
#[cfg(not(feature = "fidget"))]
const COLUMNS: (&str, &str) = ("render, ms |", "---|");

fn milliseconds(duration: Duration) -> String {
    format!("{:.2}", 1e3 * duration.as_secs_f64())
}

#[cfg(not(feature = "fidget"))]
fn picture(args: &Args, path: &Path, size: usize, flat: bool) -> Result<String, String> {
    let (model, compile) = read(path, flat)?;
    let mut times = vec![];
    for _ in 0..args.runs {
        let start = Instant::now();
        std::hint::black_box(model.render(size).depths);
        times.push(start.elapsed());
    }
    times.sort();
    Ok(format!(
        "{} | {} | {} | {} |",
        model.operations,
        model.field.tape().len(),
        milliseconds(compile),
        milliseconds(times[times.len() / 2])
    ))
}

#[cfg(feature = "fidget")]
fn picture(args: &Args, path: &Path, size: usize, flat: bool) -> Result<String, String> {
    let (model, compile) = read(path, flat)?;
    let (peer, peer_compile) = peer::Model::new(&text(path)?)?;
    let (ours, theirs) = (model.render(size).depths, peer.render(size, flat).depths);
    let differing =
        |limit| ours.iter().zip(&theirs).filter(|(a, b)| a.abs_diff(**b) > limit).count();
    let mut runs = vec![];
    for _ in 0..args.runs {
        let start = Instant::now();
        std::hint::black_box(model.render(size).depths);
        let ours = start.elapsed();
        let start = Instant::now();
        std::hint::black_box(peer.render(size, flat).depths);
        runs.push((ours, start.elapsed()));
    }
    let median = |times: &mut dyn Iterator<Item = f64>| {
        let mut times: Vec<_> = times.collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let seconds = |k: usize| median(&mut runs.iter().map(|run| [run.0, run.1][k].as_secs_f64()));
    let ratio = median(&mut runs.iter().map(|run| run.0.as_secs_f64() / run.1.as_secs_f64()));
    Ok(format!(
        "{} | {} | {} | {:.2} | {} | {:.2} | {ratio:.2} | {} | {} |",
        model.operations,
        model.field.tape().len(),
        milliseconds(compile),
        1e3 * seconds(0),
        milliseconds(peer_compile),
        1e3 * seconds(1),
        differing(0),
        differing(1),
    ))
}

fn text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn read(path: &Path, flat: bool) -> Result<(Model, Duration), String> {
    Model::new(&path.display().to_string(), &text(path)?, flat)
}
