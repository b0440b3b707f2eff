//! Renders scenes given as text.
#![allow(dead_code, reason = "each test program takes its part")]

use lightbound::accel::AccelKind;
use lightbound::film::Picture;
use lightbound::integrator::PathTracer;
use lightbound::render::{RenderOptions, render};
use lightbound::scene::Scene;
use lightbound::scene::build::{Overrides, load};
use lightbound::scene::diagnostics::Diagnostics;
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
