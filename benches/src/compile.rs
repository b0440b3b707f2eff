//! Time from WGSL text to callable code, by stage.

use crate::arguments::positive;
use crate::materials;
use crate::report::{print_head, print_machine, print_row};
use lightbound_shader::backend::x86::Code;
use lightbound_shader::{Arena, Entry, Settings, Target, passes};
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

/// Time from WGSL text to callable code, in a new arena
#[derive(clap::Args)]
pub struct Args {
    /// Number of runs; the median is reported
    #[arg(long, default_value_t = 500, value_parser = positive::<usize>)]
    runs: usize,
    /// Target of the code [default: the best target of this machine]
    #[arg(long)]
    target: Option<Target>,
}

/// The stages, in order.
const STAGES: [&str; 6] = ["parse, validate", "translate", "optimize", "lower", "emit", "map"];

/// Prints the table.
pub fn run(args: &Args) -> ExitCode {
    let target = args.target.unwrap_or_else(Target::best);
    print_machine();
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
    ExitCode::SUCCESS
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
