//! What materials cost at load: scenes of many shapes of one shader, with one material for all or
//! one for each.

use crate::arguments::positive;
use crate::report::{print_head, print_machine, print_row};
use lightbound::scene::build::{Loaded, Overrides, load};
use lightbound::scene::diagnostics::Diagnostics;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Time and memory of loading scenes with few and with many materials of one shader.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shapes, and materials where each has its own
    #[arg(long, default_value_t = 10_000, value_parser = positive::<usize>)]
    count: usize,

    /// Shader of the library
    #[arg(long, default_value = "ward.wgsl")]
    shader: String,

    /// Loads, of which the fastest counts
    #[arg(long, default_value_t = 5, value_parser = positive::<usize>)]
    runs: usize,
}

/// Prints a table.
pub fn run(args: &Args) -> ExitCode {
    let folder = tempfile::tempdir().expect("there is room for a scene");
    let path = folder.path().join("scene.pbrt");
    print_machine();
    print_head(&["materials", "bound shaders", "load ms", "peak memory MB"].map(str::to_owned));
    // From few to many, since the peak is that of the process so far.
    for each in [false, true] {
        std::fs::write(&path, scene(args, each)).expect("the folder can be written");
        let mut best = Duration::MAX;
        let mut facts = (0, 0);
        for _ in 0..args.runs {
            let start = Instant::now();
            let scene = loaded(&path).scene;
            best = best.min(start.elapsed());
            facts = (scene.materials.len(), scene.shaders.len());
        }
        let (time, memory) = (best.as_secs_f64() * 1e3, peak() as f64 / 1e3);
        print_row([
            facts.0.to_string(),
            facts.1.to_string(),
            format!("{time:.1}"),
            format!("{memory:.1}"),
        ]);
    }
    ExitCode::SUCCESS
}

/// Spheres in a row, each with its own material or all with the first one's.
fn scene(args: &Args, each: bool) -> String {
    let mut text = "Camera \"perspective\"\nWorldBegin\nLightSource \"infinite\"\n".to_owned();
    for k in 0..args.count {
        if each || k == 0 {
            let x = (k + 1) as f64 / args.count as f64;
            let file = &args.shader;
            let _ = writeln!(
                text,
                "Material \"shader\" \"string filename\" \"{file}\" \"rgb kd\" [{x} 0.5 {x}] \"float ks\" {x}"
            );
        }
        text += "Translate 3 0 0\nShape \"sphere\"\n";
    }
    text
}

fn loaded(path: &Path) -> Loaded {
    load(path, &Overrides::default(), &mut Diagnostics::new(true))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Greatest memory of the process so far, kB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("the kernel keeps count");
    line.trim().trim_end_matches(" kB").parse().expect("it is a number")
}
