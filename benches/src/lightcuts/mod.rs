//! Lightcuts on scenes with many point lights and one material of the library: cost of cuts against
//! the number of lights, image errors, benefit of bound modes, and time to build trees.
//!
//! Cuts of whole pixels are measured on scenes of this repository, and stochastic cuts against the
//! path tracer. Each is a table with its targets. A small scene is rendered in process at one sample
//! per pixel, or more. CPU times cover rendering only, without loading and building, and are the
//! minimum of interleaved rounds.

mod bounds;
mod build;
mod error;
mod gather;
mod growth;
mod measure;
mod scene;
mod stochastic;

use crate::arguments::{material, positive};
use crate::materials;
use crate::report::print_machine;
use clap::ValueEnum;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Cost, error, bounds and trees of lightcuts, for each material
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Tables to print [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "TABLE")]
    only: Vec<Table>,

    /// Materials to measure [default: all six benchmark materials]
    #[arg(long, value_delimiter = ',', value_parser = material(), value_name = "NAME")]
    materials: Vec<String>,

    /// Numbers of lights, or of samples in the table of whole pixels, instead of the defaults of
    /// each table
    #[arg(long, value_delimiter = ',', value_name = "N")]
    lights: Vec<NonZeroU32>,

    /// Resolution of images
    #[arg(long, value_parser = resolution, default_value = "96x60", value_name = "WxH")]
    resolution: (u32, u32),

    /// Resolution for full sums over many lights, which are slow
    #[arg(long, value_parser = resolution, default_value = "12x7", value_name = "WxH")]
    full_resolution: (u32, u32),

    /// Error limit, relative to the estimate
    #[arg(long, default_value_t = 0.02)]
    error: f32,

    /// Maximum number of clusters in a cut
    #[arg(long, default_value_t = 1000, value_name = "N")]
    max_cut: u32,

    /// Number of rounds; the fastest is reported
    #[arg(long, default_value_t = 3, value_parser = positive::<usize>)]
    rounds: usize,

    /// Number of rendering threads; trees are built on two threads
    #[arg(long, default_value_t = 1, value_parser = positive::<usize>)]
    threads: usize,

    /// Write the scenes to this folder, for `lightbound render`, and measure nothing
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
}

/// The tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Table {
    /// Size and cost of cuts against the number of lights
    Growth,
    /// Errors against full sums
    Error,
    /// Bound modes compared
    Bounds,
    /// Time and memory of building trees
    Build,
    /// Cuts of whole pixels, for scenes of this repository
    Gather,
    /// Stochastic cuts against the path tracer
    Stochastic,
}

impl Table {
    /// Returns the default numbers of lights.
    fn lights(self) -> &'static [u32] {
        match self {
            Table::Growth => &[100, 1000, 10_000, 100_000, 1_000_000],
            Table::Error => &[1000],
            Table::Bounds => &[10_000],
            Table::Build => &[1_000_000],
            Table::Gather => &[4, 16, 64],
            Table::Stochastic => &[1000, 10_000],
        }
    }
}

impl Args {
    fn tables(&self) -> Vec<Table> {
        let selected = |table: &Table| self.only.is_empty() || self.only.contains(table);
        Table::value_variants().iter().copied().filter(selected).collect()
    }

    fn materials(&self) -> Vec<&'static str> {
        let selected = |name: &&str| {
            self.materials.is_empty() || self.materials.iter().any(|selected| selected == name)
        };
        materials::ALL.map(|(name, _)| name).into_iter().filter(selected).collect()
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
        "{w}×{h} pixels, one sample per pixel unless stated, error {}, at most {} clusters, \
         {} thread(s);",
        args.error, args.max_cut, args.threads
    );
    println!("CPU time of rendering, the minimum of {} interleaved rounds.", args.rounds);
    for table in args.tables() {
        println!();
        match table {
            Table::Growth => growth::print(args),
            Table::Error => error::print(args),
            Table::Bounds => bounds::print(args),
            Table::Build => build::print(args),
            Table::Gather => gather::print(args),
            Table::Stochastic => stochastic::print(args),
        }
    }
    ExitCode::SUCCESS
}

/// Writes the scenes of the tables.
fn write(args: &Args, folder: &Path) -> ExitCode {
    let mut sizes: Vec<u32> = args
        .tables()
        .into_iter()
        .filter(|&table| table != Table::Gather)
        .flat_map(|table| args.lights(table))
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    for name in args.materials() {
        for &lights in &sizes {
            let path = folder.join(format!("{name}-{lights}.pbrt"));
            if let Err(error) =
                std::fs::write(&path, scene::scene_text(name, lights, args.resolution))
            {
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

    /// Parses options, with defaults that render quickly.
    pub fn args(options: &[&str]) -> Args {
        let quick = ["", "--resolution", "6x4", "--full-resolution", "2x2", "--rounds", "1"];
        Line::parse_from(quick.iter().chain(options)).args
    }

    #[test]
    fn command_lines_select_tables_materials_and_lights() {
        let all = args(&[]);
        assert_eq!((all.tables().len(), all.materials().len()), (6, 6));
        assert_eq!(all.lights(Table::Error), [1000]);
        let some = args(&["--only", "build,error", "--materials", "ward", "--lights", "7,3"]);
        assert_eq!(
            (some.tables(), some.materials()),
            (vec![Table::Error, Table::Build], vec!["ward"])
        );
        assert_eq!((some.lights(Table::Build), some.resolution), (vec![7, 3], (6, 4)));
        for options in [["--materials", "wool"], ["--resolution", "0x4"], ["--lights", "0"]] {
            let kind = Line::try_parse_from([&[""], &options[..]].concat())
                .err()
                .expect("the command line is invalid")
                .kind();
            assert!(
                matches!(kind, ErrorKind::InvalidValue | ErrorKind::ValueValidation),
                "{options:?}: {kind}"
            );
        }
    }

    #[test]
    fn written_scenes_equal_rendered_scenes() {
        let folder = tempfile::tempdir().expect("a folder can be created");
        let args = args(&["--materials", "fractal", "--lights", "5"]);
        write(&args, folder.path());
        let text = std::fs::read_to_string(folder.path().join("fractal-5.pbrt"))
            .expect("the scene was written");
        assert_eq!(text, scene::scene_text("fractal", 5, (6, 4)));
    }
}
