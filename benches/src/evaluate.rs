//! Evaluations per second of the six materials, for every target and in scalar Rust.

use crate::arguments::positive;
use crate::materials;
use crate::report::{geometric_mean, print_head, print_machine, print_row, targets};
use crate::scalar;
use glam::Vec3;
use lightbound_shader::{Arena, Batch, Kernel, Target, passes};
use std::process::ExitCode;
use std::time::Instant;

/// Evaluations per second of compiled materials, against scalar Rust
#[derive(clap::Args)]
pub struct Args {
    /// Number of rounds; the fastest is reported
    #[arg(long, default_value_t = 2000, value_parser = positive::<usize>)]
    rounds: usize,
    /// Number of adjacent rows with the same surface point, as if many lights were evaluated for
    /// it; lanes then have equal trip counts
    #[arg(
        long = "alike",
        value_name = "ALIKE",
        default_value_t = 1,
        value_parser = positive::<usize>
    )]
    rows_per_point: usize,
}

/// Evaluations per round: few enough for their inputs to stay in the cache.
const ROWS: usize = 1024;

/// Prints the table.
pub fn run(args: &Args) -> ExitCode {
    print_machine();
    println!(
        "Million evaluations per second on one thread, the best of {} interleaved rounds of \
         {ROWS}.",
        args.rounds
    );
    println!("Adjacent rows with the same surface point: {}.\n", args.rows_per_point);
    let targets = targets();
    let mut titles = vec!["material".to_owned(), "scalar Rust".to_owned()];
    titles.extend(targets.iter().map(|target| format!("{target} ×{}", target.lanes())));
    titles.extend(targets.iter().map(|target| format!("{target} ÷ scalar")));
    titles.push("avx2 ÷ sse".to_owned());
    print_head(&titles);
    let mut ratios = vec![];
    for (name, source) in materials::ALL {
        let rates = measure(name, source, &targets, args);
        let mut row: Vec<f64> = rates[1..].iter().map(|rate| rate / rates[0]).collect();
        let rate =
            |target| targets.iter().position(|&t| t == target).map_or(f64::NAN, |i| rates[i + 1]);
        row.push(rate(Target::Avx2) / rate(Target::Sse));
        print_row(
            [name.to_owned()]
                .into_iter()
                .chain(rates.iter().map(|r| format!("{:.1}", r * 1e-6)))
                .chain(row.iter().map(|r| format!("{r:.2}"))),
        );
        ratios.push(row);
    }
    let means = (0..ratios[0].len())
        .map(|k| format!("{:.2}", geometric_mean(ratios.iter().map(|row| row[k]))));
    print_row(
        ["geometric mean".to_owned()]
            .into_iter()
            .chain(targets.iter().map(|_| String::new()))
            .chain([String::new()])
            .chain(means),
    );
    ExitCode::SUCCESS
}

/// Measures evaluations per second: scalar Rust, then each target.
fn measure(name: &str, source: &str, targets: &[Target], args: &Args) -> Vec<f64> {
    let shader = materials::parse(name, source);
    let lowered = passes::lower(&materials::point_shader(&shader));
    let rows = materials::rows(&shader, ROWS, args.rows_per_point, 1);
    let samples = scalar::samples(name, &rows);
    let mut colours = vec![Vec3::ZERO; ROWS];
    let mut kernels: Vec<(Kernel, Batch, Batch)> = targets
        .iter()
        .map(|&target| {
            let kernel =
                Kernel::compile(&Arena::new(), &lowered, target).expect("the target is available");
            (
                kernel,
                materials::batch(target, &rows),
                Batch::new(target, lowered.outputs.len(), ROWS),
            )
        })
        .collect();
    let mut best = vec![f64::INFINITY; targets.len() + 1];
    for round in 0..args.rounds {
        let start = Instant::now();
        samples.run(std::hint::black_box(&mut colours));
        best[0] = best[0].min(start.elapsed().as_secs_f64());
        for ((kernel, inputs, outputs), best) in kernels.iter_mut().zip(&mut best[1..]) {
            let start = Instant::now();
            kernel.run(&[], inputs, std::hint::black_box(outputs));
            *best = best.min(start.elapsed().as_secs_f64());
        }
        if round == 0 {
            kernels.iter().for_each(|(_, _, outputs)| compare(name, &colours, outputs));
        }
    }
    best.into_iter().map(|seconds| ROWS as f64 / seconds).collect()
}

/// Checks that both results agree, except for rounding errors, which exponents up to 1000 amplify
/// to 1e-3, and except for a few orbits close to the Julia set.
fn compare(name: &str, colours: &[Vec3], outputs: &Batch) {
    let agrees = |row: usize, colour: &Vec3| {
        (0..3).all(|port| {
            (outputs.get(row, port) - colour[port]).abs() <= 1e-3 * colour[port].abs() + 1e-12
        })
    };
    let wrong = colours.iter().enumerate().filter(|&(row, colour)| !agrees(row, colour)).count();
    let allowed = if name == "fractal" { colours.len() / 50 } else { 0 };
    assert!(
        wrong <= allowed,
        "{name}: scalar Rust and compiled code differ on {wrong} of {} rows",
        colours.len()
    );
}
