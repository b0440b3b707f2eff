//! Time to compile shaders: point shaders by stage, bounding shaders, and shaders with many
//! statements.

mod bounds;
mod length;

use crate::arguments::positive;
use crate::materials;
use crate::report::{print_head, print_machine, print_row};
use length::Statements;
use lightbound_shader::backend::x86::{Code, Isa};
use lightbound_shader::lift::BoundSides;
use lightbound_shader::{Arena, Entry, Settings, Target, passes};
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Time to compile point shaders and bounding shaders
#[derive(clap::Args)]
pub struct Args {
    /// Number of runs; the median is reported
    #[arg(long, default_value_t = 500, value_parser = positive::<usize>)]
    runs: usize,
    /// Numbers of statements of generated shaders
    #[arg(long, value_delimiter = ',', default_values_t = [1000, 10_000],
        value_parser = positive::<usize>)]
    statements: Vec<usize>,
    /// Target of the code [default: the best target of this machine]
    #[arg(long)]
    target: Option<Target>,
}

/// The stages, in order.
const STAGES: [&str; 6] = ["parse, validate", "translate", "optimize", "lower", "emit", "map"];

/// The bound sides of the bounding shaders of materials.
const SIDES: [BoundSides; 2] = [BoundSides::Upper, BoundSides::Both];

/// Limit on the time to measure a generated shader. It is measured at least three times.
const MAX_TIME: Duration = Duration::from_secs(5);

/// Prints the tables.
pub fn run(args: &Args) -> ExitCode {
    let target = args.target.unwrap_or_else(Target::best);
    print_machine();
    print_stages(args, target);
    let isa = target.isa().expect("an x86-64 target");
    // A bounding shader has many variants.
    bounds::print(args.runs.div_ceil(10), isa);
    print_lengths(args, isa);
    ExitCode::SUCCESS
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Prints the times for generated shaders.
fn print_lengths(args: &Args, isa: Isa) {
    println!(
        "\nms for generated shaders in the local frame: to parse and validate WGSL, from WGSL to \
         code for the point shader, and from the point shader to code for upper bounds. Medians of \
         up to {} runs.\n",
        args.runs
    );
    let titles = ["statements", "number", "parse, validate", "point", "optimized", "related"];
    print_head(&titles.map(str::to_owned));
    for (kind, &count) in Statements::ALL
        .iter()
        .flat_map(|kind| args.statements.iter().map(move |count| (kind, count)))
    {
        let source = kind.shader(count);
        let start = Instant::now();
        let mut times = [const { vec![] }; 4];
        for run in 0..args.runs {
            if run >= 3 && start.elapsed() > MAX_TIME {
                break;
            }
            for (times, time) in times.iter_mut().zip(length::measure(&source, isa)) {
                times.push(time);
            }
        }
        let cells = times.map(|times| format!("{:.1}", median(times).as_secs_f64() * 1e3));
        print_row([kind.name().to_owned(), count.to_string()].into_iter().chain(cells));
    }
}

/// Prints the times of the stages for each material.
fn print_stages(args: &Args, target: Target) {
    println!(
        "µs from WGSL text to callable code, target {target}: medians of {} runs, minima in \
         parentheses.\n",
        args.runs
    );
    print_head(
        &["material", "total"].into_iter().chain(STAGES).map(str::to_owned).collect::<Vec<_>>(),
    );
    for (name, source) in materials::ALL {
        let mut runs: Vec<[f64; 7]> =
            (0..args.runs).map(|_| measure(name, source, target)).collect();
        let cells = [6, 0, 1, 2, 3, 4, 5].map(|column| {
            runs.sort_by(|a, b| a[column].total_cmp(&b[column]));
            let (median, min) = (runs[args.runs / 2][column], runs[0][column]);
            if column == 6 {
                format!("**{median:.0}** ({min:.0})")
            } else {
                format!("{median:.0} ({min:.0})")
            }
        });
        print_row([name.to_owned()].into_iter().chain(cells));
    }
}

/// Measures the microseconds of each stage, then of all stages.
fn measure(name: &str, source: &str, target: Target) -> [f64; 7] {
    let start = Instant::now();
    let shader = materials::parse(name, black_box(source));
    let parse_end = start.elapsed();
    let function = shader
        .function(Entry::Integrand, &Settings::default())
        .expect("materials of the library translate");
    let translate_end = start.elapsed();
    let optimized = passes::optimize(&function);
    let optimize_end = start.elapsed();
    let lowered = passes::lower(&optimized);
    let lower_end = start.elapsed();
    let code = Code::compile(&lowered, target.isa().expect("an x86-64 target"));
    let emit_end = start.elapsed();
    black_box(Arena::new().load(&code).expect("memory can be allocated"));
    let map_end = start.elapsed();
    let times = [
        parse_end,
        translate_end - parse_end,
        optimize_end - translate_end,
        lower_end - optimize_end,
        emit_end - lower_end,
        map_end - emit_end,
        map_end,
    ];
    times.map(|time| time.as_secs_f64() * 1e6)
}
