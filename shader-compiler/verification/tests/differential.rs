//! Machine code for every target must equal the interpreter bit for bit, except for payloads and
//! signs of NaN: each operation, random functions, and all shaders of the repository. `cargo run -p
//! lightbound-benches --release -- differential` runs for longer.

use lightbound_shader::ir::verify::verify;
use lightbound_shader::ir::{Function, Op};
use lightbound_shader::random::Random;
use lightbound_shader::testing::{op_function, random, targets};
use lightbound_shader::{Entry, Settings, Shader, passes};
use lightbound_verification::differential::{RandomFunction, check_all};
use std::path::{Path, PathBuf};

#[test]
fn machine_code_of_operations_equals_the_interpreter() {
    let targets = targets();
    // `any` is valid only in lowered functions.
    for &op in Op::ALL.iter().filter(|&&op| op != Op::Any) {
        let function = op_function(op);
        let rows = random::special_rows(&function.inputs, 2003, op as u64);
        check_all(&function, &targets, &rows).unwrap_or_else(|mismatch| panic!("{mismatch}"));
    }
}

#[test]
fn machine_code_of_random_functions_equals_the_interpreter() {
    let targets = targets();
    for seed in 0..600 {
        let function = RandomFunction::new(seed, None, 17);
        if let Err(failure) = function.check(&targets) {
            panic!("seed {seed}: {failure}\n{}", function.reduced(&targets).function);
        }
    }
}

/// Returns the `*.wgsl` files in a folder, in order; none if the folder does not exist.
fn shaders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "wgsl"))
        .collect();
    paths.sort();
    paths
}

#[test]
fn machine_code_of_shaders_equals_the_interpreter() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A low loop cap, so that some loops reach it.
    let settings = Settings { loop_cap: 200, ..Settings::default() };
    for path in shaders(&root.join("../tests/shaders"))
        .into_iter()
        .chain(shaders(&root.join("../../assets/shaders")))
    {
        let (name, source) = (
            path.display().to_string(),
            std::fs::read_to_string(&path).expect("the file can be read"),
        );
        let shader =
            Shader::parse(&name, &source).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        for entry in [Entry::Integrand, Entry::Brdf] {
            let function = shader
                .function(entry, &settings)
                .unwrap_or_else(|error| panic!("{name}: {error:?}"));
            check_shader(&shader, &function);
        }
        // Some shaders lack these entry points.
        for entry in [Entry::Sample, Entry::Pdf] {
            if let Ok(function) = shader.function(entry, &settings) {
                check_shader(&shader, &function);
            }
        }
    }
}

/// Checks a function of a shader on random and on plausible inputs.
fn check_shader(shader: &Shader, function: &Function) {
    let fail = |stage: &str, error: &dyn std::fmt::Display| {
        panic!("{}, `{}` {stage}: {error}", shader.name(), function.name)
    };
    verify(function).unwrap_or_else(|error| fail("translated", &error));
    let optimized = passes::optimize(function);
    verify(&optimized).unwrap_or_else(|error| fail("optimized", &error));
    let mut rows = random::rows(&function.inputs, 61, 1);
    rows.extend((0..100).map(|seed| plausible_inputs(shader, function, seed)));
    check_all(&optimized, &targets(), &rows).unwrap_or_else(|error| fail("compiled", &error));
}

/// Returns random inputs: directions in [-1, 1]³, and parameters within their ranges.
fn plausible_inputs(shader: &Shader, function: &Function, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    let mut uniform = |low: f64, high: f64| {
        low + (high - low) * (random.below(1 << 24) as f64 / (1 << 24) as f64)
    };
    let words = function.inputs.iter().map(|port| {
        let parameter = shader
            .parameters()
            .iter()
            .find(|parameter| parameter.component_names().any(|name| name == port.name));
        match parameter {
            Some(parameter) => {
                let [low, high] = parameter.range.map(|end| end.clamp(-10.0, 100.0));
                parameter.scalar.bits(uniform(low, high))
            }
            None => (uniform(-1.0, 1.0) as f32).to_bits(),
        }
    });
    words.collect()
}
