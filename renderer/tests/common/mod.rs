//! Renders scenes given as text.
#![allow(dead_code, reason = "each test program takes its part")]

use lightbound::accel::AccelKind;
use lightbound::film::Picture;
use lightbound::image::write::{write_pfm, write_png};
use lightbound::integrator::PathTracer;
use lightbound::render::{RenderOptions, render};
use lightbound::scene::Scene;
use lightbound::scene::build::{Overrides, load};
use lightbound::scene::diagnostics::Diagnostics;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// No override at all.
pub fn overrides() -> Overrides {
    Overrides { accel: AccelKind::Auto, integrator: None, spp: None, seed: None, resolution: None, crop: None }
}

/// Renders pbrt text; warnings are failures.
pub fn render_text(text: &str, overrides: &Overrides, threads: usize) -> Picture {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("scene.pbrt");
    std::fs::write(&file, text).unwrap();
    let mut diagnostics = Diagnostics::new(true);
    let scene = load(&file, overrides, &mut diagnostics).unwrap_or_else(|e| panic!("{e:?}")).scene;
    draw(&scene, threads)
}

/// Renders a scene as its file says.
pub fn draw(scene: &Scene, threads: usize) -> Picture {
    let stop = AtomicBool::new(false);
    let options = RenderOptions { threads, time_limit: None, features: true, stop: &stop, progress: &|_| () };
    render(scene, &PathTracer { max_depth: scene.integrator.max_depth }, &options).picture
}

/// Writes one file of each kind for scenes to name: a grey ramp `good.png` and `good.pfm`, a triangle `good.ply`, and the index of
/// a glass `good.spd`.
pub fn write_files(folder: &Path) {
    let grey = |n: usize| (0..n).map(|i| [i as f32 / n as f32; 3]).collect::<Vec<_>>();
    write_png(&folder.join("good.png"), 8, 8, &grey(64), 0.0).unwrap();
    write_pfm(&folder.join("good.pfm"), 4, 4, &grey(16)).unwrap();
    let ply = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
               element face 1\nproperty list uchar int vertex_indices\nend_header\n-1 -1 3\n1 -1 3\n0 1 3\n3 0 1 2\n";
    std::fs::write(folder.join("good.ply"), ply).unwrap();
    std::fs::write(folder.join("good.spd"), "# a glass\n300 1.6\n900 1.5\n").unwrap();
}
