//! Time to compile the bounding shaders of the materials, from their point shaders.

use super::{SIDES, median};
use crate::materials;
use crate::report::{print_head, print_row};
use lightbound_shader::backend::x86::{Code, Isa};
use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges};
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::Options;
use lightbound_shader::relations::Relations;
use lightbound_shader::{Settings, passes};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Prints the median times over all variants that `lightbound bounds` measures.
pub fn print(runs: usize, isa: Isa) {
    println!(
        "\nµs from a point shader to the machine code of its bounding shader: medians of {} \
         variants and {runs} runs.\n",
        2 * SIDES.len() * NAN_MODES.len()
    );
    let titles = ["material", "world, optimized", "related", "local, optimized", "related"];
    print_head(&titles.map(str::to_owned));
    let mut all = [const { vec![] }; 4];
    for (name, source) in materials::ALL {
        let times = [(Frame::World, Ranges::Paper), (Frame::Local, Ranges::Declared)]
            .map(|(frame, ranges)| measure(name, source, frame, ranges, runs, isa));
        let times: [Vec<Duration>; 4] = times
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .try_into()
            .expect("there are two modes in each of two frames");
        for (all, times) in all.iter_mut().zip(&times) {
            all.extend(times);
        }
        print_times(name, times);
    }
    print_times("median", all);
}

fn print_times(name: &str, times: [Vec<Duration>; 4]) {
    let cells = times.map(|times| format!("{:.0}", median(times).as_secs_f64() * 1e6));
    print_row([name.to_owned()].into_iter().chain(cells));
}

const NAN_MODES: [Nan; 2] = [Nan::Propagate, Nan::Ignore];

/// Measures all variants of a material: the median times of optimized and of related ones.
fn measure(
    name: &str,
    source: &str,
    frame: Frame,
    ranges: Ranges,
    runs: usize,
    isa: Isa,
) -> [Vec<Duration>; 2] {
    let integrand = Integrand::new(&materials::parse(name, source), &Settings::default(), frame)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut medians = [vec![], vec![]];
    for intervals in [IntervalInputs::Light, IntervalInputs::All] {
        let inputs = integrand.inputs(intervals, ranges);
        for (sides, nan) in SIDES.into_iter().flat_map(|sides| NAN_MODES.map(|nan| (sides, nan))) {
            let mut times = [vec![], vec![]];
            for _ in 0..runs {
                for (times, relations) in times.iter_mut().zip([Relations::NONE, Relations::all()])
                {
                    let options = Options { sides, nan, relations, ..Options::default() };
                    let start = Instant::now();
                    let lifted = integrand.bound(&inputs, &options);
                    black_box(Code::compile(&passes::lower(&lifted.function), isa));
                    times.push(start.elapsed());
                }
            }
            for (medians, times) in medians.iter_mut().zip(times) {
                medians.push(median(times));
            }
        }
    }
    medians
}
