//! Load-time cost of materials: scenes with many shapes and one shader, with one shared material or
//! with one material per shape.

use crate::arguments::positive;
use crate::report::{print_head, print_machine, print_row};
use lightbound_pbrt::build::{LoadedScene, Overrides, load};
use lightbound_pbrt::diagnostics::Diagnostics;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Time and memory to load scenes with one or with many materials of one shader
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of shapes, and of materials if each shape has its own
    #[arg(long, default_value_t = 10_000, value_parser = positive::<usize>)]
    count: usize,

    /// A shader from the library
    #[arg(long, default_value = "ward.wgsl")]
    shader: String,

    /// Number of loads; the fastest is reported
    #[arg(long, default_value_t = 5, value_parser = positive::<usize>)]
    runs: usize,
}

/// Prints a table.
pub fn run(args: &Args) -> ExitCode {
    let folder = tempfile::tempdir().expect("a folder can be created");
    let path = folder.path().join("scene.pbrt");
    print_machine();
    print_head(&["materials", "shader bindings", "load ms", "peak memory MB"].map(str::to_owned));
    // Starts with few materials, since the peak is measured over the lifetime of the process.
    for per_shape in [false, true] {
        std::fs::write(&path, scene(args, per_shape)).expect("the folder can be written");
        let mut best = Duration::MAX;
        let mut counts = (0, 0);
        for _ in 0..args.runs {
            let start = Instant::now();
            let scene = load_scene(&path).scene;
            best = best.min(start.elapsed());
            counts = (scene.materials.len(), scene.shaders.len());
        }
        let (time, memory) = (best.as_secs_f64() * 1e3, peak_memory_kb() as f64 / 1e3);
        print_row([
            counts.0.to_string(),
            counts.1.to_string(),
            format!("{time:.1}"),
            format!("{memory:.1}"),
        ]);
    }
    ExitCode::SUCCESS
}

/// Returns a scene with a row of spheres, each with its own material or all with the same one.
fn scene(args: &Args, per_shape: bool) -> String {
    let mut text = "Camera \"perspective\"\nWorldBegin\nLightSource \"infinite\"\n".to_owned();
    for k in 0..args.count {
        if per_shape || k == 0 {
            let x = (k + 1) as f64 / args.count as f64;
            let file = &args.shader;
            let _ = writeln!(
                text,
                "Material \"shader\" \"string filename\" \"{file}\" \
                 \"rgb kd\" [{x} 0.5 {x}] \"float ks\" {x}"
            );
        }
        text += "Translate 3 0 0\nShape \"sphere\"\n";
    }
    text
}

fn load_scene(path: &Path) -> LoadedScene {
    load(path, &Overrides::default(), &mut Diagnostics::new(true))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the peak memory of the process so far, in kB.
fn peak_memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("requires Linux");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("the kernel reports the peak");
    line.trim().trim_end_matches(" kB").parse().expect("the peak is a number")
}
