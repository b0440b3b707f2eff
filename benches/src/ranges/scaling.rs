//! Time and memory of the analysis on generated functions of increasing size. Each measurement runs
//! in a process of its own, which may overflow its stack or be stopped.

use crate::report::{fail, invalid_input, print_head, print_machine, print_row};
use lightbound_shader::analysis::Bounds;
use lightbound_shader::analysis::conditions::Clips;
use lightbound_shader::analysis::solve::{self, Facts};
use lightbound_shader::interval::Nan;
use lightbound_shader::ir::{Block, Def, Function, If, Loop, Op, Port, Stmt, Type, Value};
use std::fs;
use std::hint::black_box;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Time after which a measurement is stopped.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Number of operations of the smallest functions.
const MIN_OPERATIONS: f64 = 1e3;

/// Nesting depth in the shapes of nested blocks.
const DEPTH: usize = 64;

/// Generates a function of about this many operations.
type Generator = fn(usize) -> Function;

/// The shapes of functions.
const SHAPES: [(&str, Generator); 8] = [
    ("conditions", conditions),
    ("loops", loops),
    ("nested-ifs", |n| nested(n, DEPTH, false)),
    ("nested-loops", |n| nested(n, 8, true)),
    ("component", |n| component(n, n / 8)),
    ("chain", |n| component(n, 1)),
    // One nest of blocks, as deep as there are operations for.
    ("deep-ifs", |n| nested(n, n.div_ceil(OPERATIONS_PER_LEVEL), false)),
    ("deep-loops", |n| nested(n, n.div_ceil(OPERATIONS_PER_LEVEL), true)),
];

/// What is measured of a function.
struct Sample {
    operations: f64,
    /// Seconds of [`solve::run`] without clips.
    solve: f64,
    /// Seconds of [`Clips::find`].
    find: f64,
    /// Seconds of [`solve::run`] with these clips.
    solve_with_clips: f64,
    /// Greatest increase of resident memory in all three, in bytes.
    peak: f64,
}

/// Measures all shapes up to a number of operations, and prints the tables.
pub fn run(max_operations: usize) -> ExitCode {
    print_machine();
    let steps = 2.0 * (max_operations as f64 / MIN_OPERATIONS).log10();
    let sizes: Vec<_> = (0..=steps.round().max(1.0) as i32)
        .map(|k| (MIN_OPERATIONS * 10f64.powf(0.5 * f64::from(k))).round() as usize)
        .collect();
    for (shape, _) in SHAPES {
        println!("## {shape}\n");
        print_head(
            &["operations", "solve, ms", "find clips, ms", "solve with clips, ms", "peak, MB"]
                .map(String::from),
        );
        let mut samples = vec![];
        for &size in &sizes {
            match measure_in_process(shape, size) {
                Ok(sample) => {
                    let times = [sample.solve, sample.find, sample.solve_with_clips];
                    let cells = times.map(|time| format!("{:.2}", 1e3 * time));
                    let peak = format!("{:.1}", 1e-6 * sample.peak);
                    print_row(
                        [format!("{:.0}", sample.operations)]
                            .into_iter()
                            .chain(cells)
                            .chain([peak]),
                    );
                    samples.push(sample);
                }
                Err(reason) => {
                    print_row([size.to_string(), reason].into_iter().chain(vec![String::new(); 3]));
                    break;
                }
            }
        }
        let slope = |of: fn(&Sample) -> f64| {
            let points: Vec<_> =
                samples.iter().map(|sample| (sample.operations.ln(), of(sample).ln())).collect();
            slope(&points).map_or_else(|| "–".to_owned(), |slope| format!("{slope:.2}"))
        };
        println!(
            "\nLog–log slopes: solve {}, find clips {}, solve with clips {}, memory {}.\n",
            slope(|sample| sample.solve),
            slope(|sample| sample.find),
            slope(|sample| sample.solve_with_clips),
            slope(|sample| sample.peak)
        );
    }
    ExitCode::SUCCESS
}

/// The slope of the line through points with the least squares.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let variance: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    (points.len() > 1).then(|| covariance / variance)
}

/// Measures a function in another process. Returns the reason if there is no result.
fn measure_in_process(shape: &str, operations: usize) -> Result<Sample, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(program)
        .args(["ranges", "--scaling", "--single", shape, &operations.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if start.elapsed() < TIMEOUT => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok(None) => {
                // It may just have ended.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("longer than {} s", TIMEOUT.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [operations, solve, find, solve_with_clips, peak] => {
            Ok(Sample { operations, solve, find, solve_with_clips, peak })
        }
        _ => Err(format!("no result: {}", output.status)),
    }
}

/// Measures a function in this process, and prints the numbers of the sample.
pub fn run_single(shape: &str, operations: &str) -> ExitCode {
    let generator = SHAPES.iter().find(|(name, _)| *name == shape);
    let (Some((_, generate)), Ok(operations)) = (generator, operations.parse()) else {
        return invalid_input("expected a shape and a number of operations");
    };
    let function = generate(operations);
    let inputs: Vec<_> = function.inputs.iter().map(|port| Bounds::all(port.ty)).collect();
    let is_interval = vec![false; function.len()];
    let solve =
        |facts: Facts<'_>| solve::run(&function, &is_interval, &inputs, Nan::Suppress, facts);
    let before = memory_before();
    let (solve_time, bounds) = timed(|| solve(Facts::default()));
    let (find_time, clips) = timed(|| Clips::find(&function, &is_interval, &bounds));
    let (solve_with_clips_time, _) =
        timed(|| solve(Facts { clips: Some(&clips), ..Facts::default() }));
    let (Some(before), Some(peak), Some(_)) = (before, status("VmHWM:"), cpu_time()) else {
        return fail("time and memory of this process are unknown: /proc/self is needed");
    };
    let count = count_operations(&function);
    let peak = peak.saturating_sub(before);
    println!("{count} {solve_time} {find_time} {solve_with_clips_time} {peak}");
    // Without the recursion that drops the nested blocks.
    std::process::exit(0);
}

/// Runs a computation repeatedly for a quarter of a second, or a thousand times. Returns the mean
/// time on the CPU in seconds, and the result.
///
/// The system counts this time in ticks of some milliseconds.
fn timed<T>(compute: impl Fn() -> T) -> (f64, T) {
    let start = cpu_time();
    let mut rounds = 0;
    loop {
        let result = black_box(compute());
        rounds += 1;
        let time = cpu_time().zip(start).map_or(f64::INFINITY, |(end, start)| end - start);
        if time > 0.25 || rounds == 1000 {
            return (time / f64::from(rounds), result);
        }
    }
}

/// The time that this thread has run, in seconds: other processes do not matter.
fn cpu_time() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(1e-9 * text.split_whitespace().next()?.parse::<f64>().ok()?)
}

/// Resets the peak of resident memory, and returns the present amount in bytes.
fn memory_before() -> Option<u64> {
    fs::write("/proc/self/clear_refs", "5").ok()?;
    status("VmRSS:")
}

/// A size in `/proc/self/status`, in bytes.
fn status(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

fn count_operations(function: &Function) -> usize {
    function.values.iter().filter(|data| matches!(data.def, Def::Op { .. })).count()
}

/// Appends values to a function.
struct Maker {
    function: Function,
    operations: usize,
}

impl Maker {
    /// A function with the inputs `a` (an integer) and `x` (a float).
    fn new() -> (Maker, Value, Value) {
        let ports = [("a", Type::I32), ("x", Type::F32)];
        let inputs =
            ports.map(|(name, ty)| Port { name: name.to_owned(), ty }).into_iter().collect();
        let mut function = Function {
            name: "generated".to_owned(),
            inputs,
            outputs: vec![],
            body: Block::default(),
            values: vec![],
        };
        let a = function.add(Type::I32, Def::Input(0));
        let x = function.add(Type::F32, Def::Input(1));
        (Maker { function, operations: 0 }, a, x)
    }

    fn int(&mut self, x: i32) -> Value {
        self.function.add(Type::I32, Def::Const(x as u32))
    }

    fn float(&mut self, x: f32) -> Value {
        self.function.add(Type::F32, Def::Const(x.to_bits()))
    }

    fn value(&mut self, ty: Type, def: Def) -> Value {
        self.function.add(ty, def)
    }

    fn op(&mut self, stmts: &mut Vec<Stmt>, op: Op, args: &[Value]) -> Value {
        let mut all = [args[0]; 3];
        all[..args.len()].copy_from_slice(args);
        let last = self.function.ty(args[args.len() - 1]);
        let value = self.value(op.signature().result.unwrap_or(last), Def::Op { op, args: all });
        stmts.push(Stmt::Op(value));
        self.operations += 1;
        value
    }

    fn finish(mut self, stmts: Vec<Stmt>, output: Value) -> Function {
        let ty = self.function.ty(output);
        self.function.outputs = vec![Port { name: "r".to_owned(), ty }];
        self.function.body = Block { stmts, yields: vec![output] };
        self.function
    }
}

/// Integer and float operations in a row, with an if for every eight.
fn conditions(n: usize) -> Function {
    let (mut maker, mut a, mut x) = Maker::new();
    let mut body = vec![];
    while maker.operations < n {
        let (k, mask, half, ten) =
            (maker.int(7), maker.int(255), maker.float(0.5), maker.float(10.0));
        a = maker.op(&mut body, Op::IAdd, &[a, k]);
        let low = maker.op(&mut body, Op::And, &[a, mask]);
        let float = maker.op(&mut body, Op::FromS32, &[low]);
        let scaled = maker.op(&mut body, Op::Mul, &[x, half]);
        let sum = maker.op(&mut body, Op::Add, &[scaled, float]);
        let cond = maker.op(&mut body, Op::Lt, &[sum, ten]);
        let [mut then, mut otherwise] = [vec![], vec![]];
        let first = maker.op(&mut then, Op::Sub, &[ten, sum]);
        let second = maker.op(&mut otherwise, Op::Div, &[ten, sum]);
        x = maker.value(Type::F32, Def::Result);
        body.push(Stmt::If(Box::new(If {
            cond,
            then: Block { stmts: then, yields: vec![first] },
            otherwise: Block { stmts: otherwise, yields: vec![second] },
            results: vec![x],
        })));
    }
    maker.finish(body, x)
}

/// One loop after another, each with a counter and a sum that the next one continues.
fn loops(n: usize) -> Function {
    let (mut maker, _, mut x) = Maker::new();
    let mut body = vec![];
    while maker.operations < n {
        let (zero, limit, one) = (maker.int(0), maker.int(100), maker.int(1));
        let (factor, most) = (maker.float(0.01), maker.float(1000.0));
        let params = [Type::I32, Type::F32].map(|ty| maker.value(ty, Def::Param));
        let [mut head, mut inner] = [vec![], vec![]];
        let cond = maker.op(&mut head, Op::SLt, &[params[0], limit]);
        let float = maker.op(&mut inner, Op::FromS32, &[params[0]]);
        let scaled = maker.op(&mut inner, Op::Mul, &[float, factor]);
        let sum = maker.op(&mut inner, Op::Add, &[params[1], scaled]);
        let clamped = maker.op(&mut inner, Op::Min, &[sum, most]);
        let next = maker.op(&mut inner, Op::IAdd, &[params[0], one]);
        let result = maker.value(Type::F32, Def::Result);
        body.push(Stmt::Loop(Box::new(Loop {
            init: vec![zero, x],
            params: params.to_vec(),
            head: Block { stmts: head, yields: vec![params[1]] },
            cond,
            body: Block { stmts: inner, yields: vec![next, clamped] },
            results: vec![result],
        })));
        x = result;
    }
    maker.finish(body, x)
}

/// Operations of [`nested`] per level.
const OPERATIONS_PER_LEVEL: usize = 3;

/// Nests of ifs or loops of this depth, one after another.
fn nested(n: usize, depth: usize, is_loop: bool) -> Function {
    let (mut maker, _, mut x) = Maker::new();
    let mut body = vec![];
    while maker.operations < n {
        x = if is_loop {
            nested_loops(&mut maker, &mut body, x, depth)
        } else {
            nested_ifs(&mut maker, &mut body, x, depth)
        };
    }
    maker.finish(body, x)
}

/// Appends ifs that compare a value with ever larger limits. Returns the result.
fn nested_ifs(maker: &mut Maker, stmts: &mut Vec<Stmt>, x: Value, depth: usize) -> Value {
    // From the outermost to the innermost: the statements before the if, and its condition.
    let levels: Vec<_> = (0..depth)
        .map(|level| {
            let mut stmts = vec![];
            let (limit, one) = (maker.float(level as f32), maker.float(1.0));
            let larger = maker.op(&mut stmts, Op::Add, &[x, one]);
            let cond = maker.op(&mut stmts, Op::Lt, &[limit, x]);
            (stmts, cond, larger)
        })
        .collect();
    let (mut inner, mut result) = (vec![], x);
    for (mut level, cond, larger) in levels.into_iter().rev() {
        let mut otherwise = vec![];
        let negated = maker.op(&mut otherwise, Op::Neg, &[larger]);
        let joined = maker.value(Type::F32, Def::Result);
        level.push(Stmt::If(Box::new(If {
            cond,
            then: Block { stmts: inner, yields: vec![result] },
            otherwise: Block { stmts: otherwise, yields: vec![negated] },
            results: vec![joined],
        })));
        (inner, result) = (level, joined);
    }
    stmts.extend(inner);
    result
}

/// Appends nested loops. The counter of the outer loop limits the inner one. Returns the sum.
fn nested_loops(maker: &mut Maker, stmts: &mut Vec<Stmt>, x: Value, depth: usize) -> Value {
    let (zero, one, limit) = (maker.int(0), maker.int(1), maker.int(10));
    // From the outermost to the innermost: the parameters, which are a counter and a sum.
    let params: Vec<_> =
        (0..depth).map(|_| [Type::I32, Type::F32].map(|ty| maker.value(ty, Def::Param))).collect();
    let (mut inner, mut inner_result) = (vec![], None);
    for level in (0..depth).rev() {
        let [counter, sum] = params[level];
        let (outer_limit, outer_sum) =
            if level == 0 { (limit, x) } else { (params[level - 1][0], params[level - 1][1]) };
        let mut head = vec![];
        let cond = maker.op(&mut head, Op::SLt, &[counter, outer_limit]);
        let next_sum = inner_result.unwrap_or(sum);
        let half = maker.float(0.5);
        let scaled = maker.op(&mut inner, Op::Mul, &[next_sum, half]);
        let next = maker.op(&mut inner, Op::IAdd, &[counter, one]);
        let result = maker.value(Type::F32, Def::Result);
        let node = Loop {
            init: vec![zero, outer_sum],
            params: vec![counter, sum],
            head: Block { stmts: head, yields: vec![sum] },
            cond,
            body: Block { stmts: inner, yields: vec![next, scaled] },
            results: vec![result],
        };
        (inner, inner_result) = (vec![Stmt::Loop(Box::new(node))], Some(result));
    }
    stmts.extend(inner);
    inner_result.unwrap_or(x)
}

/// A loop with this many parameters. Each depends on the next one, so all values but the condition
/// are one strongly connected component.
fn component(n: usize, params: usize) -> Function {
    let (mut maker, a, _) = Maker::new();
    let (zero, one, limit) = (maker.int(0), maker.int(1), maker.int(1000));
    let counter = maker.value(Type::I32, Def::Param);
    let params: Vec<_> = (0..params).map(|_| maker.value(Type::I32, Def::Param)).collect();
    let [mut head, mut body] = [vec![], vec![]];
    let cond = maker.op(&mut head, Op::SLt, &[counter, limit]);
    let mut next = vec![maker.op(&mut body, Op::IAdd, &[counter, one])];
    let rounds = n / (4 * params.len());
    for k in 0..params.len() {
        let mut x = params[(k + 1) % params.len()];
        for _ in 0..rounds.max(1) {
            let sum = maker.op(&mut body, Op::IAdd, &[x, one]);
            let least = maker.op(&mut body, Op::SMin, &[sum, limit]);
            let masked = maker.op(&mut body, Op::And, &[least, limit]);
            x = maker.op(&mut body, Op::SMax, &[masked, params[k]]);
        }
        next.push(x);
    }
    let result = maker.value(Type::I32, Def::Result);
    let node = Loop {
        init: std::iter::once(zero).chain(params.iter().map(|_| a)).collect(),
        head: Block { stmts: head, yields: vec![params[0]] },
        params: std::iter::once(counter).chain(params).collect(),
        cond,
        body: Block { stmts: body, yields: next },
        results: vec![result],
    };
    maker.finish(vec![Stmt::Loop(Box::new(node))], result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::interpreter;
    use lightbound_shader::ir::verify::verify;

    #[test]
    fn generated_functions_are_valid_and_have_about_the_requested_size() {
        for (shape, generate) in SHAPES {
            let function = generate(600);
            verify(&function).unwrap_or_else(|error| panic!("{shape}: {error}\n{function}"));
            let count = count_operations(&function);
            assert!((600..=900).contains(&count), "{shape}: {count}");
        }
    }

    #[test]
    fn nested_loops_run_as_often_as_outer_counters_say() {
        let function = nested(9, 3, true);
        let counter = Value(
            function.values.iter().position(|data| data.def == Def::Param).expect("there are loops")
                as u32,
        );
        let mut values = vec![];
        interpreter::watch(&function, &[], &[0, 0], 1000, |value, word| {
            if value == counter {
                values.push(word);
            }
        })
        .expect("the loops end");
        assert_eq!(values, (0..=10).collect::<Vec<_>>());
    }

    #[test]
    fn slopes_are_exponents() {
        let points = [1.0f64, 10.0, 100.0].map(|x| (x.ln(), (3.0 * x.powf(1.5)).ln()));
        assert!((slope(&points).expect("there are points") - 1.5).abs() < 1e-12);
        assert_eq!(slope(&points[..1]), None);
    }
}
