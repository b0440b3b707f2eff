//! Time from WGSL text to callable code, and which stage it goes to.

use crate::arguments::positive;
use crate::materials;
use crate::report::{print_head, print_machine, print_row};
use lightbound_shader::backend::x86::Code;
use lightbound_shader::{Arena, Entry, Settings, Target, passes};
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

/// Time from WGSL text to callable code, in memory of its own
#[derive(clap::Args)]
pub struct Args {
    /// Runs, of which the median counts
    #[arg(long, default_value_t = 500, value_parser = positive::<usize>)]
    runs: usize,
    /// Target of the code [default: the best of this machine]
    #[arg(long)]
    target: Option<Target>,
}

/// What the time goes to, in order.
const STAGES: [&str; 6] = ["parse, validate", "translate", "optimize", "lower", "emit", "map"];

/// Prints the table.
pub fn run(args: &Args) -> ExitCode {
    let target = args.target.unwrap_or_else(Target::best);
    print_machine();
    println!(
        "µs from WGSL text to code that can be called, target {target}: medians of {} runs; least in brackets.\n",
        args.runs
    );
    print_head(
        &["material", "in all"].into_iter().chain(STAGES).map(str::to_owned).collect::<Vec<_>>(),
    );
    for (name, source) in materials::ALL {
        let mut runs: Vec<[f64; 7]> =
            (0..args.runs).map(|_| measure(name, source, target)).collect();
        let cells = [6, 0, 1, 2, 3, 4, 5].map(|column| {
            runs.sort_by(|a, b| a[column].total_cmp(&b[column]));
            let (median, least) = (runs[args.runs / 2][column], runs[0][column]);
            if column == 6 {
                format!("**{median:.0}** ({least:.0})")
            } else {
                format!("{median:.0} ({least:.0})")
            }
        });
        print_row([name.to_owned()].into_iter().chain(cells));
    }
    ExitCode::SUCCESS
}

/// Microseconds of each stage, then of all.
fn measure(name: &str, source: &str, target: Target) -> [f64; 7] {
    let start = Instant::now();
    let shader = materials::parse(name, black_box(source));
    let parsed = start.elapsed();
    let function = shader
        .function(Entry::Shaded, &Settings::default())
        .expect("materials of the library translate");
    let translated = start.elapsed();
    let optimized = passes::optimize(&function);
    let fixed = start.elapsed();
    let lowered = passes::lower(&optimized);
    let ready = start.elapsed();
    let code = Code::compile(&lowered, target);
    let emitted = start.elapsed();
    black_box(Arena::new().load(&code).expect("there is memory"));
    let done = start.elapsed();
    let times = [
        parsed,
        translated - parsed,
        fixed - translated,
        ready - fixed,
        emitted - ready,
        done - emitted,
        done,
    ];
    times.map(|time| time.as_secs_f64() * 1e6)
}
