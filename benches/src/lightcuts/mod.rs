//! Lightcuts on scenes of many point lights, each of one material of the library: what a cut costs
//! as lights become more, how far pictures are off, what kinds of bounds are worth, and how fast
//! trees are built.
//!
//! One table each, with the targets above it. A small scene at one sample per pixel is rendered in
//! process; CPU time is that of rendering, without loading and building, and the least of rounds
//! that take turns counts.

mod bounds;
mod build;
mod error;
mod growth;
mod measure;
mod scene;

use crate::arguments::positive;
use crate::report::print_machine;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Cost, error, bounds and trees of lightcuts, for each material
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Tables to print [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "TABLE")]
    only: Vec<Table>,

    /// Materials of the library [default: all six]
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(scene::names()), value_name = "NAME")]
    materials: Vec<String>,

    /// Numbers of lights, instead of each table's own
    #[arg(long, value_delimiter = ',', value_name = "N")]
    lights: Vec<NonZeroU32>,

    /// Columns and rows of pictures, one sample to a pixel
    #[arg(long, value_parser = resolution, default_value = "96x60", value_name = "WxH")]
    resolution: (u32, u32),

    /// Columns and rows for full sums over so many lights that each takes long
    #[arg(long, value_parser = resolution, default_value = "12x7", value_name = "WxH")]
    full_resolution: (u32, u32),

    /// Limit of the error, as of the estimate
    #[arg(long, default_value_t = 0.02)]
    error: f32,

    /// Most clusters of a cut
    #[arg(long, default_value_t = 1000, value_name = "N")]
    max_cut: u32,

    /// Rounds, of which the fastest counts
    #[arg(long, default_value_t = 3, value_parser = positive::<usize>)]
    rounds: usize,

    /// Threads that render; trees are built on two
    #[arg(long, default_value_t = 1, value_parser = positive::<usize>)]
    threads: usize,

    /// Write the scenes of the tables into this folder, for `lightbound render`, and measure
    /// nothing
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Table {
    /// Size and cost of cuts against the number of lights
    Growth,
    /// Errors against full sums
    Error,
    /// Kinds of bounds against each other
    Bounds,
    /// Time and memory of building trees
    Build,
}

impl Table {
    /// For how many lights it is made where the command line says nothing.
    fn lights(self) -> &'static [u32] {
        match self {
            Table::Growth => &[100, 1000, 10_000, 100_000, 1_000_000],
            Table::Error => &[1000],
            Table::Bounds => &[10_000],
            Table::Build => &[1_000_000],
        }
    }
}

impl Args {
    fn tables(&self) -> Vec<Table> {
        let wanted = |table: &Table| self.only.is_empty() || self.only.contains(table);
        Table::value_variants().iter().copied().filter(wanted).collect()
    }

    fn materials(&self) -> Vec<&'static str> {
        let wanted = |name: &&str| {
            self.materials.is_empty() || self.materials.iter().any(|wanted| wanted == name)
        };
        scene::names().into_iter().filter(wanted).collect()
    }

    fn lights(&self, table: Table) -> Vec<u32> {
        match self.lights.is_empty() {
            true => table.lights().to_vec(),
            false => self.lights.iter().map(|n| n.get()).collect(),
        }
    }
}

/// Parses `WxH`.
fn resolution(text: &str) -> Result<(u32, u32), String> {
    let side = |s: &str| s.parse().ok().filter(|n| (1..=4096).contains(n));
    let parsed = text.split_once('x').and_then(|(w, h)| Some((side(w)?, side(h)?)));
    parsed.ok_or_else(|| "expected columns x rows, each from 1 to 4096, as in 96x60".into())
}

/// Prints the tables.
pub fn run(args: &Args) -> ExitCode {
    if let Some(folder) = &args.write {
        return write(args, folder);
    }
    print_machine();
    let (w, h) = args.resolution;
    println!("`lightbound-benches {}`", std::env::args().skip(1).collect::<Vec<_>>().join(" "));
    println!(
        "{w}×{h} pixels of one sample, error {}, at most {} clusters, {} thread(s);",
        args.error, args.max_cut, args.threads
    );
    println!("CPU time of rendering, the least of {} interleaved rounds.", args.rounds);
    for table in args.tables() {
        println!();
        match table {
            Table::Growth => growth::print(args),
            Table::Error => error::print(args),
            Table::Bounds => bounds::print(args),
            Table::Build => build::print(args),
        }
    }
    ExitCode::SUCCESS
}

/// Writes the scenes that tables are made of.
fn write(args: &Args, folder: &Path) -> ExitCode {
    let mut sizes: Vec<u32> =
        args.tables().into_iter().flat_map(|table| args.lights(table)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for name in args.materials() {
        for &lights in &sizes {
            let path = folder.join(format!("{name}-{lights}.pbrt"));
            if let Err(error) = std::fs::write(&path, scene::text(name, lights, args.resolution)) {
                eprintln!("{}: {error}", path.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Parser, error::ErrorKind};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    /// What a command line says, of pictures that take no time.
    pub fn args(options: &[&str]) -> Args {
        let quick = ["", "--resolution", "6x4", "--full-resolution", "2x2", "--rounds", "1"];
        Line::parse_from(quick.iter().chain(options)).args
    }

    #[test]
    fn command_lines_choose() {
        let all = args(&[]);
        assert_eq!((all.tables().len(), all.materials().len()), (4, 6));
        assert_eq!(all.lights(Table::Error), [1000]);
        let some = args(&["--only", "build,error", "--materials", "ward", "--lights", "7,3"]);
        assert_eq!(
            (some.tables(), some.materials()),
            (vec![Table::Error, Table::Build], vec!["ward"])
        );
        assert_eq!((some.lights(Table::Build), some.resolution), (vec![7, 3], (6, 4)));
        for wrong in [["--materials", "wool"], ["--resolution", "0x4"], ["--lights", "0"]] {
            let kind = Line::try_parse_from([&[""], &wrong[..]].concat())
                .err()
                .expect("it is wrong")
                .kind();
            assert!(
                matches!(kind, ErrorKind::InvalidValue | ErrorKind::ValueValidation),
                "{wrong:?}: {kind}"
            );
        }
    }

    #[test]
    fn scenes_are_written_as_they_are_rendered() {
        let folder = tempfile::tempdir().expect("there is room for a scene");
        let args = args(&["--materials", "fractal", "--lights", "5"]);
        write(&args, folder.path());
        let text =
            std::fs::read_to_string(folder.path().join("fractal-5.pbrt")).expect("it was written");
        assert_eq!(text, scene::text("fractal", 5, (6, 4)));
    }
}
