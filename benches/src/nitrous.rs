//! What generating extensions gain: the benchmarks of Draves 1996, figure 15.
//!
//! `benches/nitrous/README.md` lists the cases. Each is measured in five forms: the general function
//! and its residual functions with and without loops over cycles in machine code of this compiler,
//! and a general and a specialized function in Rust. Then the time for a new set of static values,
//! for these cases and for materials.

use crate::arguments::positive;
use crate::foreign::RustLibrary;
use crate::report::{invalid_input, print_head, print_machine, print_row};
use crate::specialize;
use lightbound_shader::backend::x86::{Code, Isa};
use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges, parameter_bounds};
use lightbound_shader::interval::Bounds;
use lightbound_shader::ir::{Function, Port, Table};
use lightbound_shader::lift::Input;
use lightbound_shader::random::Random;
use lightbound_shader::relations::Axis;
use lightbound_shader::specialize::{
    BindingTime, BindingTimes, Budget, GeneratingExtension, ResidualCache,
};
use lightbound_shader::{Arena, Batch, Entry, Kernel, Settings, Shader, Target, passes};
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What generating extensions gain: nybbles, filters and an interpreter
#[derive(clap::Args)]
pub struct Args {
    /// Target of the code
    #[arg(long, default_value = "avx2")]
    target: Target,
    /// Number of rounds; the median of times to evaluate and the least of times to compile are reported
    #[arg(long, default_value_t = 51, value_parser = positive::<usize>)]
    rounds: usize,
}

/// Number of rows of a batch.
const ROWS: usize = 64;

/// Least time of a measurement; shorter calls are repeated.
const LEAST_TIME: Duration = Duration::from_micros(20);

/// Words of the data, more than any row reads.
const WORDS: usize = 640;

/// Times in the paper on x86, µs: code written with bit pointers or as an interpreter, general and
/// specialized; then code written by hand, general and specialized.
type PaperTimes = [Option<f64>; 4];

struct Case {
    name: &'static str,
    text: &'static str,
    /// Names and values of static inputs.
    fixed: &'static [(&'static str, i32)],
    /// A dynamic input that is the same in all rows.
    count: Option<(&'static str, i32)>,
    /// The dynamic input that differs from row to row, and its least value.
    dynamic: (&'static str, i32),
    /// The words of the static texture, and the number of words of a texel.
    table: Option<(&'static [u32], usize)>,
    /// The functions in Rust, general and specialized.
    rust: [&'static str; 2],
    paper: PaperTimes,
}

const NYBBLES: &str = include_str!("../nitrous/nybbles.wgsl");
const ELEMENTS: &str = include_str!("../nitrous/elements.wgsl");
const FILTER: &str = include_str!("../nitrous/filter.wgsl");
const INTERPRETER: &str = include_str!("../nitrous/interpreter.wgsl");

const RETURN: u32 = 0;
const RETURN_IF_ZERO: u32 = 1;
const CONSTANT: u32 = 2;
const ADD: u32 = 3;
const SUBTRACT: u32 = 4;
const MULTIPLY: u32 = 5;

#[rustfmt::skip]
const TREE: &[u32] = &[
    MULTIPLY, 1, 0, 0,
    CONSTANT, 2, 0, 3,
    ADD, 3, 0, 2,
    CONSTANT, 2, 0, 7,
    SUBTRACT, 4, 1, 2,
    MULTIPLY, 3, 3, 4,
    CONSTANT, 2, 0, 5,
    ADD, 5, 1, 2,
    CONSTANT, 2, 0, 11,
    SUBTRACT, 4, 0, 2,
    MULTIPLY, 4, 5, 4,
    SUBTRACT, 5, 3, 4,
    ADD, 6, 3, 4,
    MULTIPLY, 5, 5, 6,
    ADD, 5, 5, 1,
    MULTIPLY, 5, 5, 0,
    SUBTRACT, 5, 5, 3,
    RETURN, 5, 0, 0,
];

#[rustfmt::skip]
const EVEN: &[u32] = &[
    CONSTANT, 1, 0, 1,
    RETURN_IF_ZERO, 0, 1, 0,
    SUBTRACT, 0, 0, 1,
    RETURN_IF_ZERO, 0, 2, 0,
    SUBTRACT, 0, 0, 1,
];

#[rustfmt::skip]
const HASH: &[u32] = &[
    CONSTANT, 1, 0, 1,
    CONSTANT, 2, 0, 31,
    RETURN_IF_ZERO, 0, 3, 0,
    MULTIPLY, 3, 3, 2,
    ADD, 3, 3, 0,
    SUBTRACT, 0, 0, 1,
];

/// The cases of `benches/nitrous/README.md`.
const CASES: [Case; 9] = [
    Case {
        name: "nybble 4",
        text: NYBBLES,
        fixed: &[("bits", 4), ("period", 1)],
        count: Some(("groups", 624)),
        dynamic: ("start", 0),
        table: None,
        rust: ["nybbles", "nybbles_4"],
        paper: [Some(12000.0), Some(160.0), Some(380.0), Some(140.0)],
    },
    Case {
        name: "nybble 12",
        text: NYBBLES,
        fixed: &[("bits", 12), ("period", 3)],
        count: Some(("groups", 208)),
        dynamic: ("start", 0),
        table: None,
        rust: ["nybbles", "nybbles_12"],
        paper: [Some(4700.0), Some(77.0), Some(180.0), Some(59.0)],
    },
    Case {
        name: "elements 4",
        text: ELEMENTS,
        fixed: &[("bits", 4)],
        count: Some(("count", 4990)),
        dynamic: ("start", 0),
        table: None,
        rust: ["elements", "elements_4"],
        paper: [None; 4],
    },
    Case {
        name: "elements 12",
        text: ELEMENTS,
        fixed: &[("bits", 12)],
        count: Some(("count", 1660)),
        dynamic: ("start", 0),
        table: None,
        rust: ["elements", "elements_12"],
        paper: [None; 4],
    },
    Case {
        name: "filter 3",
        text: FILTER,
        fixed: &[("taps", 3)],
        count: Some(("groups", 208)),
        dynamic: ("start", 0),
        table: Some((&[2, 5, 2], 1)),
        rust: ["filter", "filter_3"],
        paper: [Some(6500.0), Some(140.0), Some(400.0), Some(45.0)],
    },
    Case {
        name: "filter 7",
        text: FILTER,
        fixed: &[("taps", 7)],
        count: Some(("groups", 89)),
        dynamic: ("start", 0),
        table: Some((&[1, 3, 7, 11, 7, 3, 1], 1)),
        rust: ["filter", "filter_7"],
        paper: [Some(13000.0), Some(380.0), Some(880.0), Some(68.0)],
    },
    Case {
        name: "recur tree",
        text: INTERPRETER,
        fixed: &[("length", 18)],
        count: None,
        dynamic: ("n", 1),
        table: Some((TREE, 4)),
        rust: ["interpreter", "recur_tree"],
        paper: [Some(100.0), Some(2.5), None, None],
    },
    Case {
        name: "recur even",
        text: INTERPRETER,
        fixed: &[("length", 5)],
        count: None,
        dynamic: ("n", 93),
        table: Some((EVEN, 4)),
        rust: ["interpreter", "recur_even"],
        paper: [Some(1900.0), Some(3.7), None, None],
    },
    Case {
        name: "recur hash",
        text: INTERPRETER,
        fixed: &[("length", 6)],
        count: None,
        dynamic: ("n", 93),
        table: Some((HASH, 4)),
        rust: ["interpreter", "recur_hash"],
        paper: [Some(150.0), Some(3.6), None, None],
    },
];

impl Case {
    /// The general function. Its only output is the red channel.
    fn compile(&self) -> Function {
        let shader = Shader::parse(self.name, self.text).unwrap_or_else(|error| panic!("{error}"));
        let function = shader.function(Entry::Brdf, &Settings::default());
        let mut function = function.unwrap_or_else(|error| panic!("{error}"));
        function.outputs.truncate(1);
        function.body.yields.truncate(1);
        passes::optimize(&function)
    }

    fn extension(&self, function: &Function, budget: Budget) -> GeneratingExtension {
        // Integers are in their declared ranges.
        let shader = Shader::parse(self.name, self.text).unwrap_or_else(|error| panic!("{error}"));
        let input = |port: &Port| {
            let parameter = shader.parameters().iter().find(|p| p.name == port.name);
            let declared = |p| parameter_bounds(p, Ranges::Declared);
            let bounds = parameter.map_or(Bounds::all(port.ty), declared);
            Input { interval: false, bounds, axis: None, sorted: None }
        };
        let inputs: Vec<_> = function.inputs.iter().map(input).collect();
        let time = |name: &str| match self.fixed.iter().any(|(fixed, _)| *fixed == name) {
            true => BindingTime::Static,
            false => BindingTime::Dynamic,
        };
        let times = BindingTimes {
            inputs: function.inputs.iter().map(|port| time(&port.name)).collect(),
            // The static texture is declared first.
            tables: self.table.iter().map(|_| BindingTime::Static).collect(),
        };
        GeneratingExtension::new(function, &inputs, times, &[true], budget)
    }

    /// The words of static inputs, in the order of inputs.
    fn static_words(&self, function: &Function) -> Vec<u32> {
        let ports = function.inputs.iter();
        let value = |name: &str| self.fixed.iter().find(|(fixed, _)| *fixed == name);
        ports.filter_map(|port| value(&port.name)).map(|&(_, x)| x as u32).collect()
    }

    /// The images of the textures.
    fn images(&self, words: &[u32]) -> Vec<Vec<u32>> {
        let image = |words: &[u32], size: usize| {
            let mut image = vec![(words.len() / size) as u32, 1, 0, 0];
            for texel in words.chunks(size) {
                image.extend((0..4).map(|k| texel.get(k).copied().unwrap_or(0)));
            }
            image
        };
        let table = self.table.iter().map(|&(words, size)| image(words, size));
        table.chain([image(words, 1)]).collect()
    }

    /// The rows of a batch.
    fn batch(&self, function: &Function, target: Target) -> (Batch, Vec<i32>) {
        let rows: Vec<_> = (0..ROWS as i32).map(|row| self.dynamic.1 + row % 8).collect();
        let mut batch = Batch::new(target, function.inputs.len(), ROWS);
        for (port, Port { name, .. }) in function.inputs.iter().enumerate() {
            let mut fixed = self.fixed.iter().chain(&self.count);
            if *name == self.dynamic.0 {
                rows.iter().enumerate().for_each(|(row, &x)| batch.set_bits(row, port, x as u32));
            } else if let Some(&(_, x)) = fixed.find(|(fixed, _)| fixed == name) {
                batch.fill_port(port, x as u32);
            }
        }
        (batch, rows)
    }
}

/// Prints the tables.
pub fn run(args: &Args) -> ExitCode {
    let Some(isa) = args.target.isa() else {
        return invalid_input("the interpreter has no machine code: choose sse or avx2");
    };
    let cpu = if args.target == Target::Avx2 { "x86-64-v3" } else { "x86-64-v2" };
    let library = match RustLibrary::compile(cpu) {
        Ok(library) => library,
        Err(error) => return invalid_input(&error),
    };
    print_machine();
    println!(
        "ns per row, median of {} rounds of {ROWS} rows, {}; Rust for {cpu}.\n",
        args.rounds, args.target
    );
    print_head(
        &[
            "case",
            "general",
            "residual",
            "without cycles",
            "Rust general",
            "Rust special",
            "general ÷ residual",
            "Rust general ÷ residual",
            "residual ÷ Rust special",
            "paper µs",
            "paper ratios",
        ]
        .map(str::to_owned),
    );
    for case in &CASES {
        let times = evaluation_times(case, &library, args);
        let [general, residual, _, rust_general, rust_special] = times;
        let mut cells = vec![case.name.to_owned()];
        cells.extend(times.map(|time| format!("{time:.1}")));
        cells.push(format!("{:.1}", general / residual));
        cells.push(format!("{:.2}", rust_general / residual));
        cells.push(format!("{:.2}", residual / rust_special));
        let text = |x: Option<f64>| x.map_or("–".to_owned(), |x| x.to_string());
        cells.push(case.paper.map(text).join(", "));
        let ratio = |a: Option<f64>, b: Option<f64>| {
            a.zip(b).map_or("–".to_owned(), |(a, b)| format!("{:.1}", a / b))
        };
        let [interpreter, special, manual, manual_special] = case.paper;
        let ratios =
            [ratio(interpreter, special), ratio(manual, special), ratio(special, manual_special)];
        cells.push(ratios.join(", "));
        print_row(cells);
    }

    println!(
        "\nLeast µs of {} runs: *anew* from WGSL to code of the general function, *new values* from static values to code, and its three parts; *cached* if the cache has the residual function.\n",
        args.rounds
    );
    print_head(
        &[
            "case",
            "instructions",
            "anew",
            "new values",
            "residual",
            "lower",
            "code",
            "new values ÷ anew",
            "cached",
        ]
        .map(str::to_owned),
    );
    for case in &CASES {
        let function = case.compile();
        let extension = case.extension(&function, Budget::default());
        let images = case.images(&[0; WORDS]);
        let tables: Vec<_> = images.iter().map(|image| Table::new(image)).collect();
        let words = case.static_words(&function);
        let anew = || Code::compile(&passes::lower(&case.compile()), isa);
        let mut cells = vec![case.name.to_owned()];
        cells.extend(time_cells(args, anew, || extension.residual(&words, &tables), isa));
        let mut cache = ResidualCache::new(extension, 1);
        cache.residual(&words, &tables);
        let hits = (0..args.rounds).map(|_| {
            let start = Instant::now();
            black_box(cache.residual(&words, &tables));
            start.elapsed()
        });
        cells.push(format!("{:.2}", least(hits)));
        print_row(cells);
    }

    println!(
        "\nThe same for s of materials, with instructions of the specialized function, and µs to specialize and compile it.\n"
    );
    print_head(
        &[
            "case",
            "instructions",
            "anew",
            "new values",
            "residual",
            "lower",
            "code",
            "new values ÷ anew",
            "specialized",
            "µs",
        ]
        .map(str::to_owned),
    );
    for (group, cases) in specialize::cases() {
        for case in cases {
            let mut cells = vec![format!("{}, {group}", case.name)];
            cells.extend(material_cells(&case, args, isa));
            print_row(cells);
        }
    }
    ExitCode::SUCCESS
}

/// ns per row of the forms: general, residual, residual without loops over cycles, and the two in
/// Rust. They must agree.
fn evaluation_times(case: &Case, library: &RustLibrary, args: &Args) -> [f64; 5] {
    let function = case.compile();
    let mut random = Random::new(1);
    let words: Vec<_> = (0..WORDS).map(|_| random.bits() as u32).collect();
    let images = case.images(&words);
    let tables: Vec<_> = images.iter().map(|image| Table::new(image)).collect();
    let residual = |budget: Budget| {
        case.extension(&function, budget).residual(&case.static_words(&function), &tables)
    };
    let without_cycles = residual(Budget { cycle: 1, ..Budget::default() });
    let residual = residual(Budget::default());
    let arena = Arena::new();
    let kernels = [&function, &residual, &without_cycles].map(|function| {
        Kernel::compile(&arena, &passes::lower(function), args.target)
            .unwrap_or_else(|error| panic!("{error}"))
    });
    let (inputs, rows) = case.batch(&function, args.target);
    let mut outputs = Batch::new(args.target, 1, ROWS);
    let rust =
        case.rust.map(|name| library.function(name).unwrap_or_else(|error| panic!("{error}")));
    let mut fixed: Vec<_> = case.fixed.iter().chain(&case.count).map(|&(_, x)| x).collect();
    fixed.resize(fixed.len().max(3), 0);
    let table = case.table.map_or(&[][..], |(words, _)| words);
    let mut results = vec![0; ROWS];
    let mut call = |form: usize| match form {
        0..=2 => kernels[form].run_on(&tables, &inputs, &mut outputs),
        _ => rust[form - 3].run(&fixed, &rows, &words, table, &mut results),
    };
    let repetitions = [0, 1, 2, 3, 4].map(|form| {
        call(form);
        let start = Instant::now();
        call(form);
        (LEAST_TIME.as_secs_f64() / start.elapsed().as_secs_f64().max(1e-9)).ceil() as u32
    });
    let mut times = [const { vec![] }; 5];
    for _ in 0..args.rounds {
        for (form, times) in times.iter_mut().enumerate() {
            let start = Instant::now();
            (0..repetitions[form]).for_each(|_| call(form));
            times.push(start.elapsed() / repetitions[form]);
        }
    }
    let mut check = |form: usize| match form {
        0..=2 => {
            kernels[form].run_on(&tables, &inputs, &mut outputs);
            (0..ROWS).map(|row| outputs.bits(row, 0)).collect::<Vec<_>>()
        }
        _ => {
            rust[form - 3].run(&fixed, &rows, &words, table, &mut results);
            results.clone()
        }
    };
    let expected = check(0);
    (1..5).for_each(|form| assert_eq!(check(form), expected, "{}, form {form}", case.name));
    times.map(|times| 1e9 * median(times).as_secs_f64() / ROWS as f64)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The least time in µs. Other work on the machine only adds to times.
fn least(times: impl IntoIterator<Item = Duration>) -> f64 {
    1e6 * times.into_iter().min().expect("there is a run").as_secs_f64()
}

/// The instructions of a residual function, the times to compile a function anew and to generate
/// code for new static values, and their ratio.
fn time_cells(
    args: &Args,
    anew: impl Fn() -> Code,
    residual: impl Fn() -> Function,
    isa: Isa,
) -> Vec<String> {
    let mut times = [const { vec![] }; 5];
    for _ in 0..args.rounds {
        let start = Instant::now();
        black_box(anew());
        times[0].push(start.elapsed());
        let start = Instant::now();
        let function = residual();
        let generated = start.elapsed();
        let lowered = passes::lower(&function);
        let is_lowered = start.elapsed();
        black_box(Code::compile(&lowered, isa));
        let total = start.elapsed();
        let parts = [total, generated, is_lowered - generated, total - is_lowered];
        std::iter::zip(&mut times[1..], parts).for_each(|(times, part)| times.push(part));
    }
    let instructions = Code::compile(&passes::lower(&residual()), isa).counts().total;
    let times = times.map(least);
    let mut cells = vec![instructions.to_string()];
    cells.extend(times.map(|time| format!("{time:.0}")));
    cells.push(format!("{:.3}", times[1] / times[0]));
    cells
}

fn material_cells(case: &specialize::Case, args: &Args, isa: Isa) -> Vec<String> {
    let settings = Settings::default();
    let integrand = |shader: &Shader| {
        Integrand::new(shader, &settings, Frame::Local).expect("the shader is valid")
    };
    let general = integrand(&case.shader);
    let known = case.known();
    let mut inputs = general.inputs(IntervalInputs::Light, Ranges::Declared);
    let arguments = inputs.len() - known.len();
    // Points may be below a one-sided surface.
    for input in &mut inputs {
        input.axis = input.axis.map(|axis| Axis { above: false, ..axis });
    }
    let constants: Vec<_> = known.iter().map(constant).collect();
    let time = |constant: &Option<u32>| match constant {
        Some(_) => BindingTime::Static,
        None => BindingTime::Dynamic,
    };
    let dynamic = std::iter::repeat_n(BindingTime::Dynamic, arguments);
    let times = BindingTimes {
        inputs: dynamic.chain(constants.iter().map(time)).collect(),
        tables: vec![],
    };
    let words: Vec<_> = constants.iter().copied().flatten().collect();
    let is_signed = vec![false; general.point.outputs.len()];
    let extension =
        GeneratingExtension::new(&general.point, &inputs, times, &is_signed, Budget::default());
    let anew = || {
        let shader = Shader::parse(case.shader.name(), case.shader.text()).expect("it is valid");
        Code::compile(&passes::lower(&integrand(&shader).point), isa)
    };
    let mut cells = time_cells(args, anew, || extension.residual(&words, &[]), isa);
    let special =
        || Code::compile(&passes::lower(&general.clone().specialize(known.clone()).point), isa);
    let times = (0..args.rounds).map(|_| {
        let start = Instant::now();
        black_box(special());
        start.elapsed()
    });
    let time = least(times);
    cells.extend([special().counts().total.to_string(), format!("{time:.0}")]);
    cells
}

/// The only value within bounds, as bits.
fn constant(bounds: &Bounds) -> Option<u32> {
    match bounds {
        Bounds::Float(floats) => (floats.low() == floats.high()).then(|| floats.low().to_bits()),
        Bounds::Int(ints) => {
            let [low, high] = ints.hull()?;
            (low == high).then_some(low as u32)
        }
        Bounds::Bool(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::interpreter;

    #[test]
    fn residual_functions_of_all_cases_equal_the_general_ones() {
        for case in &CASES {
            let function = case.compile();
            let words: Vec<_> = (0..WORDS as u32).map(|k| k.wrapping_mul(0x9e37_79b9)).collect();
            let images = case.images(&words);
            let tables: Vec<_> = images.iter().map(|image| Table::new(image)).collect();
            let residual = case
                .extension(&function, Budget::default())
                .residual(&case.static_words(&function), &tables);
            let (batch, _) = case.batch(&function, Target::Interpreter);
            let mut results = vec![];
            for row in [0, 5] {
                let inputs: Vec<_> = (0..batch.ports()).map(|port| batch.bits(row, port)).collect();
                let run = |function| interpreter::run(function, &tables, &inputs, 1 << 20);
                assert_eq!(run(&residual), run(&function), "{}", case.name);
                results.push(run(&residual));
            }
            assert_ne!(results[0], results[1], "{}", case.name);
        }
    }
}
