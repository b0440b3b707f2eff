//! Code quality: compares our machine code for the six materials with the code that C compilers
//! generate for the same functions.
//!
//! All candidates run in one process on the same inputs, after a check that their results are
//! bit-identical. A round runs each candidate once over all groups, in turn. The reported time is
//! the minimum over all rounds, so that ratios are stable despite varying clock rates and other
//! load. Static instruction counts exclude padding.

use crate::arguments::{material, positive};
use crate::foreign::{Compiler, ForeignFunction, NO_COMPILER, instructions};
use crate::materials;
use crate::report::{fail, geometric_mean, print_head, print_machine, print_row, targets};
use lightbound_shader::backend::x86::Code;
use lightbound_shader::ir::Function;
use lightbound_shader::testing::same;
use lightbound_shader::{Arena, Batch, Kernel, Target, passes};
use lightbound_study::cost::ticks;
use std::process::ExitCode;

/// Cycles and instructions of compiled materials, compared with C compilers
#[derive(clap::Args)]
pub struct Args {
    /// Number of rounds; the fastest is reported
    #[arg(long, default_value_t = 4000, value_parser = positive::<usize>)]
    rounds: usize,
    /// Materials [default: all]
    #[arg(value_parser = material())]
    materials: Vec<String>,
}

/// Number of SIMD groups in a round, enough for branches and loops to see varied data.
const GROUPS: usize = 64;

/// Prints a table for each target.
pub fn run(args: &Args) -> ExitCode {
    let compilers = Compiler::all();
    if compilers.is_empty() {
        return fail(NO_COMPILER);
    }
    print_machine();
    println!(
        "Ticks of the time-stamp counter per group: the minimum of {} interleaved rounds of \
         {GROUPS} groups.",
        args.rounds
    );
    println!(
        "C is compiled with `-ffp-contract=off -fno-math-errno` for the same target. Ratios are \
         ours ÷ theirs."
    );
    let mut succeeded = true;
    for target in targets() {
        println!("\n{target} ×{}\n", target.lanes());
        let mut titles: Vec<String> =
            ["material", "ticks", "instructions"].map(str::to_owned).to_vec();
        for compiler in &compilers {
            titles.extend([format!("{}: ticks", compiler.name), "instructions".to_owned()]);
        }
        titles.extend(["ticks ÷ best".to_owned(), "instructions ÷ best".to_owned()]);
        print_head(&titles);
        let mut rows = vec![];
        for (name, source) in materials::ALL {
            if args.materials.is_empty() || args.materials.iter().any(|selected| selected == name) {
                match measure(name, source, target, &compilers, args.rounds) {
                    Ok(ratios) => rows.push(ratios),
                    Err(error) => {
                        eprintln!("{name}, {target}: {error}");
                        succeeded = false;
                    }
                }
            }
        }
        if let Some(columns) = rows.first().map(Vec::len) {
            let mean =
                |k| format!("{:.3}", geometric_mean(rows.iter().map(|row: &Vec<f64>| row[k])));
            print_row(
                ["geometric mean".to_owned(), String::new(), String::new()]
                    .into_iter()
                    .chain((0..columns).map(mean)),
            );
        }
    }
    if succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Time and size of code.
#[derive(Clone, Copy)]
struct Cost {
    /// Ticks of the time-stamp counter per group.
    ticks: f64,
    instructions: usize,
}

/// Measures a material, prints its row, and returns the ratios in it.
fn measure(
    name: &str,
    source: &str,
    target: Target,
    compilers: &[Compiler],
    rounds: usize,
) -> Result<Vec<f64>, String> {
    let shader = materials::parse(name, source);
    let function = passes::lower(&materials::point_shader(&shader));
    let inputs = materials::batch(target, &materials::rows(&shader, GROUPS * target.lanes(), 1, 1));
    let kernel =
        Kernel::compile(&Arena::new(), &function, target).map_err(|error| error.to_string())?;
    let foreign: Vec<ForeignFunction> = compilers
        .iter()
        .map(|compiler| compiler.compile(&function, target))
        .collect::<Result<_, _>>()?;
    let mut outputs = Batch::new(target, function.outputs.len(), inputs.rows());
    kernel.run(&[], &inputs, &mut outputs);
    for (other, compiler) in foreign.iter().zip(compilers) {
        let mut theirs = Batch::new(target, function.outputs.len(), inputs.rows());
        other.run(&[], &inputs, &mut theirs);
        compare(&function, &outputs, &theirs)
            .map_err(|error| format!("{}: {error}", compiler.name))?;
    }
    let mut min_ticks = vec![u64::MAX; foreign.len() + 1];
    for _ in 0..rounds {
        let start = ticks();
        kernel.run(&[], &inputs, std::hint::black_box(&mut outputs));
        min_ticks[0] = min_ticks[0].min(ticks() - start);
        for (other, min_ticks) in foreign.iter().zip(&mut min_ticks[1..]) {
            let start = ticks();
            other.run(&[], &inputs, std::hint::black_box(&mut outputs));
            *min_ticks = (*min_ticks).min(ticks() - start);
        }
    }
    let isa = target.isa().expect("an x86-64 target");
    let counts = [Code::compile(&function, isa).counts().total]
        .into_iter()
        .chain(foreign.iter().map(|other| instructions(other.code())));
    let costs: Vec<Cost> = min_ticks
        .iter()
        .zip(counts)
        .map(|(&ticks, instructions)| Cost { ticks: ticks as f64 / GROUPS as f64, instructions })
        .collect();
    Ok(print(name, &costs))
}

/// Prints a row with our cost and its ratios to the compilers' costs. Returns the ratios.
fn print(name: &str, costs: &[Cost]) -> Vec<f64> {
    let (ours, theirs) = (costs[0], &costs[1..]);
    let ratios = |other: &Cost| {
        [ours.ticks / other.ticks, ours.instructions as f64 / other.instructions as f64]
    };
    let mut row: Vec<f64> = theirs.iter().flat_map(ratios).collect();
    if let Some(best) = theirs.iter().min_by(|a, b| a.ticks.total_cmp(&b.ticks)) {
        row.extend(ratios(best));
    }
    let cells = [name.to_owned(), format!("{:.1}", ours.ticks), ours.instructions.to_string()];
    print_row(cells.into_iter().chain(row.iter().map(|ratio| format!("{ratio:.3}"))));
    row
}

/// Checks that results are bit-identical, except for the payloads and signs of NaNs.
pub fn compare(function: &Function, ours: &Batch, theirs: &Batch) -> Result<(), String> {
    for row in 0..ours.rows() {
        for (port, output) in function.outputs.iter().enumerate() {
            let (a, b) = (ours.bits(row, port), theirs.bits(row, port));
            if !same(output.ty, a, b) {
                return Err(format!(
                    "`{}` in row {row} is {b:#010x}, ours is {a:#010x}",
                    output.name
                ));
            }
        }
    }
    Ok(())
}
