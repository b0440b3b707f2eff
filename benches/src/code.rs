//! Code quality: our machine code for the six materials against C compilers' code for the same
//! functions.
//!
//! All candidates run in one process on the same inputs, after a check that their results have the
//! same bits. A round runs each candidate once over all groups, in turn. The minimum time of a
//! candidate over all rounds counts, so that ratios are stable despite varying clock rates and
//! other load. Static instructions are those of the function without padding.

use crate::arguments::{material, positive};
use crate::foreign::{Compiler, Foreign, NO_COMPILER, instructions};
use crate::materials;
use crate::report::{fail, geometric_mean, print_head, print_machine, print_row, targets};
use lightbound_shader::backend::x86::Code;
use lightbound_shader::ir::Function;
use lightbound_shader::testing::same;
use lightbound_shader::{Arena, Batch, Kernel, Target, passes};
use lightbound_study::cost::ticks;
use std::process::ExitCode;

/// Cycles and instructions of compiled materials, against C compilers
#[derive(clap::Args)]
pub struct Args {
    /// Number of rounds; the fastest counts
    #[arg(long, default_value_t = 4000, value_parser = positive::<usize>)]
    rounds: usize,
    /// Materials [default: all]
    #[arg(value_parser = material())]
    materials: Vec<String>,
}

/// Number of SIMD groups in a round: enough for branches and loops to see varied data.
const GROUPS: usize = 64;

/// Prints a table for each target.
pub fn run(args: &Args) -> ExitCode {
    let compilers = Compiler::all();
    if compilers.is_empty() {
        return fail(NO_COMPILER);
    }
    print_machine();
    println!(
        "Ticks of the time-stamp counter per call of one group: the minimum of {} interleaved rounds of {GROUPS} groups.",
        args.rounds
    );
    println!(
        "C is compiled with `-ffp-contract=off -fno-math-errno` for the same target. Ratios are ours ÷ theirs."
    );
    let mut within = true;
    for target in targets() {
        println!("\n{target} ×{}\n", target.lanes());
        let mut titles: Vec<String> =
            ["material", "ticks", "instructions"].map(str::to_owned).to_vec();
        for compiler in &compilers {
            titles.extend([format!("{}: ticks", compiler.name), "instructions".to_owned()]);
        }
        titles.extend(["ticks, to the best".to_owned(), "instructions, to that".to_owned()]);
        print_head(&titles);
        let mut means = vec![];
        for (name, source) in materials::ALL {
            if args.materials.is_empty() || args.materials.iter().any(|wanted| wanted == name) {
                match measure(name, source, target, &compilers, args.rounds) {
                    Ok(ratios) => means.push(ratios),
                    Err(error) => {
                        eprintln!("{name}, {target}: {error}");
                        within = false;
                    }
                }
            }
        }
        if let Some(columns) = means.first().map(Vec::len) {
            let mean =
                |k| format!("{:.3}", geometric_mean(means.iter().map(|row: &Vec<f64>| row[k])));
            print_row(
                ["geometric mean".to_owned(), String::new(), String::new()]
                    .into_iter()
                    .chain((0..columns).map(mean)),
            );
        }
    }
    if within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Time and size of code.
#[derive(Clone, Copy)]
struct Figures {
    ticks: f64,
    instructions: usize,
}

/// Prints a row and returns its ratios.
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
    let foreign: Vec<Foreign> = compilers
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
    let mut least = vec![u64::MAX; foreign.len() + 1];
    for _ in 0..rounds {
        let start = ticks();
        kernel.run(&[], &inputs, std::hint::black_box(&mut outputs));
        least[0] = least[0].min(ticks() - start);
        for (other, least) in foreign.iter().zip(&mut least[1..]) {
            let start = ticks();
            other.run(&[], &inputs, std::hint::black_box(&mut outputs));
            *least = (*least).min(ticks() - start);
        }
    }
    let isa = target.isa().expect("a target of x86-64");
    let counts = [Code::compile(&function, isa).counts().total]
        .into_iter()
        .chain(foreign.iter().map(|other| instructions(other.code())));
    let figures: Vec<Figures> = least
        .iter()
        .zip(counts)
        .map(|(&least, instructions)| Figures { ticks: least as f64 / GROUPS as f64, instructions })
        .collect();
    Ok(print(name, &figures))
}

/// Prints our figures and the ratios to theirs.
fn print(name: &str, figures: &[Figures]) -> Vec<f64> {
    let (ours, theirs) = (figures[0], &figures[1..]);
    let ratios = |other: &Figures| {
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

/// Checks that all bits are equal, except for payloads and signs of NaN.
pub fn compare(function: &Function, ours: &Batch, theirs: &Batch) -> Result<(), String> {
    for row in 0..ours.rows() {
        for (port, output) in function.outputs.iter().enumerate() {
            let (a, b) = (ours.bits(row, port), theirs.bits(row, port));
            if !same(output.ty, a, b) {
                return Err(format!(
                    "`{}` of row {row} is {b:#010x} where ours is {a:#010x}",
                    output.name
                ));
            }
        }
    }
    Ok(())
}
