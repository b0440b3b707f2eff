//! Measures errors and monotonicity of the elementary functions. Prints the table in
//! `shader-compiler/src/math/TABLE.md`, or writes it.

#[path = "../../shader-compiler/tests/math/measure.rs"]
mod measure;

use crate::arguments::positive;
use crate::report::fail;
use clap::builder::PossibleValuesParser;
use lightbound_shader::ir::Op;
use lightbound_shader::jit::Arena;
use lightbound_shader::random::Random;
use lightbound_shader::testing::op_function;
use lightbound_shader::{Batch, Kernel, Target, passes};
use measure::{BLOCK, Findings, Unary};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Errors, violations of monotonicity and ranges of the elementary functions, over all floats
#[derive(clap::Args)]
pub struct Args {
    /// Measure only this function
    #[arg(long, value_parser = functions())]
    function: Option<String>,
    /// Measure only one float in N
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    sample: u32,
    /// Number of input pairs for each function of two arguments
    #[arg(long, default_value_t = 200_000_000, value_parser = positive::<u64>)]
    pairs: u64,
    /// Write the table to this file, shader-compiler/src/math/TABLE.md, instead of printing it;
    /// requires all floats and functions
    #[arg(long, value_name = "FILE", conflicts_with_all = ["function", "sample"])]
    write: Option<PathBuf>,
}

/// Names of all functions, of one and of two arguments.
fn functions() -> PossibleValuesParser {
    let ops =
        measure::functions().into_iter().map(|function| function.op).chain([Op::Pow, Op::Atan2]);
    PossibleValuesParser::new(ops.map(Op::name))
}

/// Measures, and writes or prints the table. Fails if results are not symmetric, are NaN where they
/// should not be, or are not NaN where they should be.
pub fn run(args: &Args) -> ExitCode {
    let wanted = |op: Op| args.function.as_ref().is_none_or(|name| name == op.name());
    let functions: Vec<_> =
        measure::functions().into_iter().filter(|function| wanted(function.op)).collect();
    let mut text =
        format!("# Accuracy and monotonicity of the elementary functions\n\n{}", provenance(args));
    let findings = measure_all(&functions, args.sample as usize);
    if !functions.is_empty() {
        text.push_str(HEAD);
    }
    for (function, found) in functions.iter().zip(&findings) {
        text.push_str(&row(function, found));
    }
    if findings.iter().any(|found| found.part > 0.0) {
        text.push_str(BEYOND);
    }
    for (function, found) in functions.iter().zip(&findings).filter(|(_, found)| found.part > 0.0) {
        let name = function.op.name();
        if function.op == Op::Tan {
            writeln!(text, "- {name}: no bound").expect("writing to a string succeeds");
        } else {
            writeln!(text, "- {name}: 2^{:.2} · \\|x\\|", found.part.log2())
                .expect("writing to a string succeeds");
        }
    }
    let mut faults: u64 = findings.iter().map(|found| found.faults).sum();
    if wanted(Op::Pow) {
        text.push_str(&pow(args.pairs));
    }
    if wanted(Op::Atan2) {
        let (section, wrong) = atan2(args.pairs);
        text.push_str(&section);
        faults += wrong;
    }
    match &args.write {
        None => print!("{text}"),
        Some(path) => {
            if let Err(error) = std::fs::write(path, &text) {
                return fail(&format!("{}: {error}", path.display()));
            }
        }
    }
    if faults == 0 {
        ExitCode::SUCCESS
    } else {
        fail(&format!("{faults} results are wrong: NaN, not NaN, or not symmetric"))
    }
}

/// Describes how the table was measured.
fn provenance(args: &Args) -> String {
    if args.write.is_some() {
        return "Measured over all floats; written, not edited by hand, by\n\n    cargo run -p lightbound-benches --release -- \
                math --write shader-compiler/src/math/TABLE.md\n\n"
            .to_owned();
    }
    let subject = args.function.as_deref().unwrap_or("all functions");
    let floats = if args.sample == 1 {
        "all floats".to_owned()
    } else {
        format!("one float in {}", args.sample)
    };
    let is_binary = args
        .function
        .as_deref()
        .is_some_and(|name| [Op::Pow, Op::Atan2].iter().any(|op| op.name() == name));
    let inputs = if is_binary { format!("{} pairs", args.pairs) } else { floats };
    format!("Measured for {subject}, over {inputs}.\n")
}

const HEAD: &str = "\
Errors are in ulp of the true result (0.5 would be correctly rounded), for trigonometric functions
where |x| ≤ 8192; `from rounded` is the distance from the correctly rounded result, in floats. A
violation of monotonicity is an input whose result is on the wrong side of an earlier one on the
same monotone piece; its size is cumulative, the distance to the furthest such result, in ulp. An
interval form that evaluates at the endpoints of an interval widens its result by factors
1 ± k · 2⁻²³; `widening` is the least k that makes up for all violations. Results are NaN where
those of the true function are. Operations are basic ones, of the IR.

| function | piece | operations | largest error | at | from rounded | violations | largest | at | widening | least result | largest result |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
";

const BEYOND: &str = "
Beyond |x| = 8192, absolute errors are at most:

";

/// Measures functions in parallel, one function per thread.
fn measure_all(functions: &[Unary], step: usize) -> Vec<Findings> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(vec![None; functions.len()]);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((index, function)) =
                    functions.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed))
                {
                    let start = Instant::now();
                    let mut evaluator = Evaluator::new(function.op);
                    let findings = measure::measure(function, step, &mut |inputs, results| {
                        evaluator.run(&[inputs], results)
                    });
                    eprintln!(
                        "{} in {:.0?}: {}",
                        function.op.name(),
                        start.elapsed(),
                        summary(&findings)
                    );
                    found.lock().expect("no thread panics")[index] = Some(findings);
                }
            });
        }
    });
    found.into_inner().expect("no thread panics").into_iter().flatten().collect()
}

/// One-line summary of the findings, with an example of a fault.
fn summary(found: &Findings) -> String {
    let error = (found.error * 1e3).ceil() / 1e3;
    let wrong = match found.faults {
        0 => String::new(),
        count => format!(", {count} wrong results, for example for {:e}", found.fault_at),
    };
    format!("error at most {error:.3} ulp, {} violations of monotonicity{wrong}", found.violations)
}

/// Compiled code for an operation.
struct Evaluator {
    kernel: Kernel,
    inputs: Batch,
    outputs: Batch,
}

impl Evaluator {
    fn new(op: Op) -> Evaluator {
        let target = Target::best();
        let function = passes::lower(&op_function(op));
        let kernel = Kernel::compile(&Arena::new(), &function, target)
            .expect("the best target is available");
        let inputs = Batch::new(target, op.arity(), BLOCK);
        Evaluator { kernel, inputs, outputs: Batch::new(target, 1, BLOCK) }
    }

    /// Evaluates up to [`BLOCK`] rows. `args` has one slice per argument.
    fn run(&mut self, args: &[&[u32]], results: &mut [u32]) {
        let (lanes, ports) = (self.inputs.lanes(), args.len());
        let words = self.inputs.words_mut();
        for (port, arg) in args.iter().enumerate() {
            for (group, values) in arg.chunks(lanes).enumerate() {
                let at = (group * ports + port) * lanes;
                words[at..at + values.len()].copy_from_slice(values);
            }
        }
        self.kernel.run(&[], &self.inputs, &mut self.outputs);
        results.copy_from_slice(&self.outputs.words()[..results.len()]);
    }
}

fn row(function: &Unary, found: &Findings) -> String {
    let at = |x: f32, has_example: bool| {
        if has_example { format!("{x:e}") } else { String::from("–") }
    };
    format!(
        "| {} | {} | {} | {:.3} | {} | {} | {} | {} | {} | {} | {:?} | {:?} |\n",
        function.op.name(),
        function.pieces,
        measure::cost(function.op),
        // Rounded up, so that it is an upper bound.
        (found.error * 1e3).ceil() / 1e3,
        at(found.error_at, true),
        found.distance,
        found.violations,
        found.violation,
        at(found.violation_at, found.violation > 0),
        found.widening,
        found.low,
        found.high,
    )
}

/// A uniform number in [low, high).
fn uniform(random: &mut Random, low: f64, high: f64) -> f64 {
    low + (high - low) * (random.bits() >> 11) as f64 / (1u64 << 53) as f64
}

/// Evaluates an operation in parallel, on pairs that `pair` generates. Returns the maxima of `N`
/// figures, which `judge` updates.
fn largest<const N: usize>(
    op: Op,
    pairs: u64,
    pair: impl Fn(&mut Random) -> [f32; 2] + Sync,
    judge: impl Fn([f32; 2], f32, &mut [f64; N]) + Sync,
) -> [f64; N] {
    let next = AtomicUsize::new(0);
    let blocks = pairs.div_ceil(BLOCK as u64) as usize;
    let total = Mutex::new([0.0f64; N]);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut evaluator = Evaluator::new(op);
                let (mut first, mut second, mut results) =
                    (vec![0; BLOCK], vec![0; BLOCK], vec![0; BLOCK]);
                let mut most = [0.0; N];
                loop {
                    let block = next.fetch_add(1, Ordering::Relaxed);
                    if block >= blocks {
                        break;
                    }
                    let mut random = Random::new(block as u64);
                    for i in 0..BLOCK {
                        let [a, b] = pair(&mut random);
                        (first[i], second[i]) = (a.to_bits(), b.to_bits());
                    }
                    evaluator.run(&[&first, &second], &mut results);
                    for i in 0..BLOCK {
                        let args = [f32::from_bits(first[i]), f32::from_bits(second[i])];
                        judge(args, f32::from_bits(results[i]), &mut most);
                    }
                }
                let mut total = total.lock().expect("no thread panics");
                for (total, most) in total.iter_mut().zip(most) {
                    *total = total.max(most);
                }
            });
        }
    });
    total.into_inner().expect("no thread panics")
}

/// Errors of aᵇ by t = |b · log₂ a|. The last figure is the smallest e for which all errors are
/// below 2.5 + e · t.
fn pow(pairs: u64) -> String {
    const BINS: usize = 8;
    let bin = |t: f64| if t < 1.0 { 0 } else { (t.log2() as usize + 1).min(BINS - 1) };
    let pair = |random: &mut Random| {
        // Any base, or one near 1, and an exponent for which the result is likely to be in range.
        let a = match random.bits() % 3 {
            0 => f32::from_bits(uniform(random, 1.0, f32::INFINITY.to_bits() as f64) as u32),
            1 => uniform(random, 0.0, 1.0) as f32,
            _ => (1.0 + uniform(random, -1.0, 1.0) * 2f64.powf(uniform(random, -23.0, 0.0))) as f32,
        };
        let t = uniform(random, -126.0, 128.0) * 2f64.powf(uniform(random, -10.0, 0.0));
        [a, (t / (a as f64).log2()) as f32]
    };
    let judge = |[a, b]: [f32; 2], result: f32, most: &mut [f64; BINS + 1]| {
        let real = core_math::pow(a as f64, b as f64);
        if !(f32::MIN_POSITIVE as f64..2f64.powi(128)).contains(&real) || a == 1.0 {
            return;
        }
        let t = (b as f64 * (a as f64).log2()).abs();
        let error = measure::error(result, real);
        most[bin(t)] = most[bin(t)].max(error);
        most[BINS] = most[BINS].max((error - 2.5) / t.max(1e-3));
    };
    let found = largest(Op::Pow, pairs, pair, judge);
    let mut text = format!(
        "\n## pow\n\naᵇ takes {} operations. Errors over {pairs} random pairs with results of at least 2⁻¹²⁶, in ulp, by t = |b · \
         log₂ a|;\nall are below 2.5 + {:.2} t. Smaller results have an absolute error of at most 2⁻¹²⁷. In a, for fixed b, and in b, \
         for\nfixed a, pow is monotone without violations, as every step is.\n\n| t | largest error |\n|---|--:|\n",
        measure::cost(Op::Pow),
        (found[BINS] * 100.0).ceil() / 100.0,
    );
    for (bin, error) in found[..BINS].iter().enumerate() {
        let from = if bin == 0 { 0 } else { 1 << (bin - 1) };
        writeln!(text, "| {from} to {} | {error:.2} |", 1 << bin)
            .expect("writing to a string succeeds");
    }
    text + &pow_steps()
}

/// Errors of the individual steps of pow, from which its error bound follows.
fn pow_steps() -> String {
    // An error in units of u, rounded up.
    let up = |error: f64| (error * f64::from(1 << 24) * 1e4).ceil() / 1e4;
    let [below, zero, above, absolute] = measure::log2_kernel().map(up);
    let (error, [least, most]) = measure::exp2_kernel(1);
    format!(
        "\nThe error bound that relations use is proved from the steps (`power.rs`). Their largest errors, in u = 2⁻²⁴:\n\n\
         | step | over | largest error |\n|---|---|--:|\n\
         | n + log₂ m, n = −1 | all 2²³ mantissas m | {below:.4}, relative |\n\
         | n + log₂ m, n = 0 | all 2²³ mantissas m | {zero:.4}, relative |\n\
         | n + log₂ m, n = 1 | all 2²³ mantissas m | {above:.4}, relative |\n\
         | log₂ m | all 2²³ mantissas m | {absolute:.4}, absolute |\n\
         | 2ˣ, results {least:?} to {most:?} | all floats x in [0, 1] | {:.4}, relative |\n",
        up(error),
    )
}

/// Errors of atan2, and the number of results that are wrongly NaN or wrongly not NaN.
fn atan2(pairs: u64) -> (String, u64) {
    let pair = |random: &mut Random| {
        let length = 2f64.powf(uniform(random, -60.0, 60.0));
        let angle = uniform(random, -std::f64::consts::PI, std::f64::consts::PI)
            * 2f64.powf(-uniform(random, -20.0, 1.0).max(0.0));
        if random.bits().is_multiple_of(4) {
            let bits = random.bits();
            [f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32)]
        } else {
            [(length * angle.sin()) as f32, (length * angle.cos()) as f32]
        }
    };
    let judge = |[y, x]: [f32; 2], result: f32, most: &mut [f64; 3]| {
        let real = core_math::atan2(y as f64, x as f64);
        if real.is_nan() || result.is_nan() {
            most[1] += (real.is_nan() != result.is_nan()) as u64 as f64;
            return;
        }
        most[0] = most[0].max(measure::error(result, real));
        most[2] = most[2].max(result.abs() as f64);
    };
    let found = largest(Op::Atan2, pairs, pair, judge);
    let (violations, violation, widening) = measure::half_turn(1);
    let text = format!(
        "\n## atan2\n\natan2 takes {} operations. The largest error over {pairs} random pairs is {:.3} ulp, the largest result {:?},\n\
         results that are wrongly NaN or not: {}.\n\nApart from its sign, atan2 depends on the octant and on the rounded quotient of the \
         smaller and the larger operand alone. Over\nall quotients, from 0 to π, there are {violations} violations of monotonicity, the \
         largest of {violation} ulp; the widening that makes up for\nthem is {widening}.\n",
        measure::cost(Op::Atan2),
        found[0],
        found[2] as f32,
        found[1],
    );
    (text, found[1] as u64)
}
