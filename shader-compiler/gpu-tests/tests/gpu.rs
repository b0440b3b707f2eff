//! Programs on the first Vulkan device, which `WGPU_ADAPTER_NAME` may select. Without any, the
//! tests pass with a message.

use lightbound_gpu_tests::{Gpu, Source, Subject, Tally};
use lightbound_shader::Shader;
use lightbound_shader::lift::Options;
use lightbound_shader::random::Random;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The margin of bounds in ulps, the default of `lightbound shader show`.
const ULPS: u32 = 16;

static GPU: LazyLock<Option<Gpu>> = LazyLock::new(|| {
    let gpu = Gpu::new();
    match &gpu {
        Some(gpu) => eprintln!("runs on {}", gpu.name),
        None => eprintln!(
            "skipped: there is no Vulkan device (Debian: apt install mesa-vulkan-drivers)"
        ),
    }
    gpu
});

fn shaders(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = folder.read_dir().expect("the folder is readable");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it is readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "wgsl"));
    paths.sort();
    paths
}

/// Checks all shaders of a folder, except for those that read textures or that loop too long, with
/// this number of members per shader.
fn check(gpu: &Gpu, folder: &str, source: Source, ulps: u32, members: usize) -> Tally {
    const PER_BOX: usize = 64;
    /// Boxes for one call of a program.
    const BOXES: usize = 1 << 13;
    let mut all = Tally::default();
    for (seed, path) in shaders(folder).into_iter().enumerate() {
        let name = path.file_stem().expect("files have names").to_string_lossy();
        let text = std::fs::read_to_string(&path).expect("shaders are readable");
        let shader = Shader::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        // Lavapipe ends a loop after 65535 iterations, one before the compiler's cap.
        if !shader.textures().is_empty() || name == "loop-cap" {
            continue;
        }
        let subject = Subject::new(gpu, &name, &shader, &Options::default(), source, ulps);
        let mut random = Random::new(seed as u64);
        let mut tally = Tally::default();
        let mut boxes = members.div_ceil(PER_BOX);
        while boxes > 0 {
            let batch = boxes.min(BOXES);
            tally.add(subject.check(gpu, &[], &mut random, batch, PER_BOX));
            boxes -= batch;
        }
        println!("{name}: {tally}");
        all.add(tally);
    }
    println!("all, {source:?}, {ulps} ulps: {all}");
    all
}

#[test]
fn library_shaders_are_within_their_bounds() {
    let Some(gpu) = &*GPU else { return };
    let tally = check(gpu, "../../assets/shaders", Source::SpirV, ULPS, 4096);
    assert_eq!(tally.violations, 0, "{tally}");
    assert!(tally.checks > 100_000, "{tally}");
    assert_eq!(tally.distant, 0, "SPIR-V forbids fused operations: {tally}");
    let tally = check(gpu, "../../assets/shaders", Source::Wgsl, ULPS, 1024);
    assert_eq!(tally.violations, 0, "{tally}");
}

#[test]
fn features_of_the_language_are_within_their_bounds() {
    let Some(gpu) = &*GPU else { return };
    let tally = check(gpu, "../tests/shaders", Source::SpirV, ULPS, 1024);
    assert_eq!(tally.violations, 0, "{tally}");
    assert!(tally.checks > 50_000, "{tally}");
}

#[test]
#[ignore = "takes minutes: cargo test --workspace --test gpu -- --ignored --nocapture"]
fn library_shaders_are_within_their_bounds_100_million_times() {
    let gpu = GPU.as_ref().expect("the long test needs a Vulkan device");
    let tally = check(gpu, "../../assets/shaders", Source::SpirV, ULPS, 2_200_000);
    assert_eq!(tally.violations, 0, "{tally}");
    assert!(tally.checks >= 100_000_000, "{tally}");
}
