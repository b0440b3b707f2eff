//! Throughput of the path tracer, and the fraction of its time outside ray casting.
//!
//!     cargo bench -p lightbound-benches --bench render -- \
//!         [SCENE.pbrt …] [--resolution N] [--spp N]
//!
//! For each scene and accelerator, prints million camera samples per core-second, rays per sample,
//! nanoseconds per ray and shadow ray, and the fraction of the time outside the accelerator. For
//! the last, the batches of rays of a rendering are recorded and traced again without shading, on
//! the same thread in the same run. One thread; minimum and median of the rounds.

use lightbound::accel::{Accel, AccelKind};
use lightbound::geometry::Hit;
use lightbound::integrator::PathTracer;
use lightbound::render::{RenderOptions, Rendering, render_with};
use lightbound::settings::PathSettings;
use lightbound_math::{Aabb, Ray};
use lightbound_pbrt::build::{LoadedScene, Overrides, load};
use lightbound_pbrt::diagnostics::Diagnostics;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Number of timed rounds.
const ROUNDS: usize = 7;

/// Batches of rays in tracing order.
#[derive(Default)]
struct Recording {
    closest_hit: Vec<Vec<Ray>>,
    any_hit: Vec<Vec<Ray>>,
}

/// Forwards all calls to an accelerator and records the rays.
struct Recorder {
    inner: Arc<dyn Accel>,
    recording: Arc<Mutex<Recording>>,
}

impl Accel for Recorder {
    fn intersect(&self, ray: &Ray) -> Hit {
        self.inner.intersect(ray)
    }
    fn occluded(&self, ray: &Ray) -> bool {
        self.inner.occluded(ray)
    }
    fn intersect_batch(&self, rays: &[Ray], hits: &mut Vec<Hit>) {
        self.recording.lock().unwrap().closest_hit.push(rays.to_vec());
        self.inner.intersect_batch(rays, hits);
    }
    fn occluded_batch(&self, rays: &[Ray], blocked: &mut Vec<bool>) {
        self.recording.lock().unwrap().any_hit.push(rays.to_vec());
        self.inner.occluded_batch(rays, blocked);
    }
    fn bounds(&self) -> Aabb {
        self.inner.bounds()
    }
    fn memory_bytes(&self) -> usize {
        self.inner.memory_bytes()
    }
    fn name(&self) -> &'static str {
        self.inner.name()
    }
}

fn render_once(LoadedScene { scene, settings, .. }: &LoadedScene) -> Rendering {
    let options = RenderOptions { threads: 1, ..RenderOptions::default() };
    let integrator =
        PathTracer::new(scene, settings.integrator.max_depth, &PathSettings::default())
            .expect("the default settings fit every scene");
    render_with(scene, settings, &integrator, &options)
}

/// Runs `work` and returns the elapsed seconds.
fn time(mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn min_and_median(mut seconds: Vec<f64>) -> (f64, f64) {
    seconds.sort_by(f64::total_cmp);
    (seconds[0], seconds[seconds.len() / 2])
}

/// Measures a scene with an accelerator and prints the row.
fn measure(path: &Path, accel: AccelKind, spp: u32, resolution: u32) {
    let overrides = Overrides {
        accel,
        spp: Some(spp),
        seed: Some(1),
        resolution: Some((resolution, resolution)),
        ..Overrides::default()
    };
    let mut loaded = match load(path, &overrides, &mut Diagnostics::new(false)) {
        Ok(loaded) => loaded,
        Err(error) => return println!("{}: {error}", path.display()),
    };
    let recording = Arc::new(Mutex::new(Recording::default()));
    let inner = loaded.scene.accel.clone();
    loaded.scene.accel = Arc::new(Recorder { inner: inner.clone(), recording: recording.clone() });
    let recorded = render_once(&loaded);
    loaded.scene.accel = inner.clone();
    let recording = recording.lock().unwrap();

    let (mut hits, mut blocked) = (Vec::new(), Vec::new());
    let (mut renders, mut closest, mut any) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let rendering = render_once(&loaded);
        assert_eq!(rendering.counts, recorded.counts, "recording changed the rendering");
        renders.push(rendering.cpu.as_secs_f64());
        closest.push(time(|| {
            recording.closest_hit.iter().for_each(|batch| inner.intersect_batch(batch, &mut hits))
        }));
        any.push(time(|| {
            recording.any_hit.iter().for_each(|batch| inner.occluded_batch(batch, &mut blocked))
        }));
    }
    let samples = recorded.camera_samples as f64;
    let ((render, render_median), (closest, _), (any, _)) =
        (min_and_median(renders), min_and_median(closest), min_and_median(any));
    println!(
        "{:<28} {:<8} {:>7.3} {:>7.3} {:>9.2} {:>9.2} {:>9.1} {:>9.1} {:>9.1}%",
        path.parent().and_then(Path::file_name).unwrap_or(path.as_os_str()).to_string_lossy(),
        inner.name(),
        samples / render * 1e-6,
        samples / render_median * 1e-6,
        recorded.counts.rays as f64 / samples,
        recorded.counts.shadow_rays as f64 / samples,
        closest / recorded.counts.rays as f64 * 1e9,
        any / recorded.counts.shadow_rays.max(1) as f64 * 1e9,
        (1.0 - (closest + any) / render) * 100.0,
    );
}

fn main() {
    let (mut scenes, mut resolution, mut spp) = (Vec::new(), 128, 16);
    let mut args = std::env::args().skip(1);
    let number = |text: Option<String>| text.and_then(|t| t.parse().ok()).expect("a number");
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--resolution" => resolution = number(args.next()),
            "--spp" => spp = number(args.next()),
            "--bench" => (),
            _ => scenes.push(PathBuf::from(arg)),
        }
    }
    if scenes.is_empty() {
        let scene_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenes");
        scenes = ["cornell-box", "materials", "skylight", "many-lights", "interior"]
            .map(|s| scene_dir.join(s).join("scene.pbrt"))
            .into();
    }
    println!("one thread, {resolution}² pixels, {spp} samples per pixel, {ROUNDS} rounds");
    println!(
        "{:<28} {:<8} {:>7} {:>7} {:>9} {:>9} {:>9} {:>9} {:>10}",
        "folder",
        "accel",
        "Ms/s",
        "median",
        "rays/smp",
        "shadow/s",
        "ns/ray",
        "ns/shadow",
        "outside"
    );
    for scene in &scenes {
        measure(scene, AccelKind::Builtin, spp, resolution);
        if AccelKind::Embree.is_available() {
            measure(scene, AccelKind::Embree, spp, resolution);
        }
    }
}
