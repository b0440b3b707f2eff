//! `lightbound shader check`: whether a shader keeps the contract of materials, what can be set, and what it costs.

use super::{Source, compile, point_shader};
use crate::cli::console::count;
use crate::cli::output::to_stdout;
use crate::cli::{Error, Exit};
use lightbound::material::parameters::{self, columns};
use lightbound_shader::backend::x86;
use lightbound_shader::ir::{Function, Stmt, function::for_each_stmt};
use lightbound_shader::{Entry, Parameter, Settings, Shader, Sides, Target, passes};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  lightbound shader check materials/velvet.wgsl
  lightbound shader check ward.wgsl              (of the library, where no such file is)
  lightbound shader check ward.wgsl --target sse";

/// Options of `shader check`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    source: Source,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    let (name, target) = (args.source.name(), args.source.target());
    let text = args.source.read()?;
    let shader = Shader::parse(&name, &text)?;
    let settings = args.source.overrides(&shader)?;
    let point = point_shader(&shader, Entry::Shaded, &settings)?;
    let time = median_time(|| compile(&Shader::parse(&name, &text)?, Entry::Shaded, &settings, target))?;
    let fact = |name: &str, text: String| vec![name.to_owned(), text];
    let mut facts = vec![
        fact("sides", sides(shader.sides()).into()),
        fact("functions", functions(&shader)),
        fact("loops", loops(&point, &settings)),
    ];
    let lowered = passes::lower(&point);
    for target in args.source.target.map_or(Target::ALL.to_vec(), |target| vec![target]) {
        if target != Target::Interpreter {
            let instructions = count(x86::Code::compile(&lowered, target).counts().total as u64, "instruction");
            facts.push(fact(target.name(), format!("{instructions} for {} evaluations of s", target.lanes())));
        }
    }
    let time = format!("{:.2} ms for {target}, from text to code (median of {RUNS})", 1e3 * time.as_secs_f64());
    facts.push(fact("compiling", time));

    let mut report = format!("{name}\n\n");
    if !shader.description().is_empty() {
        report += &format!("{}\n\n", shader.description().trim_end());
    }
    report += &columns(&facts);
    for (kind, list) in [("parameter", shader.parameters()), ("override", shader.overrides())] {
        if !list.is_empty() {
            report += &format!("\n{}", declarations(kind, list));
        }
    }
    to_stdout(report.as_bytes())?;
    Ok(Exit::Done)
}

/// How often compiling is timed.
const RUNS: usize = 9;

/// Median of a few.
fn median_time<T>(mut work: impl FnMut() -> Result<T, Error>) -> Result<Duration, Error> {
    let mut times = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work().map(|_| start.elapsed())
        })
        .collect::<Result<Vec<_>, Error>>()?;
    times.sort();
    Ok(times[times.len() / 2])
}

fn sides(sides: Sides) -> &'static str {
    match sides {
        Sides::One => "one: light is reflected where wo.z > 0",
        Sides::Both => "both: light is scattered over the whole sphere",
    }
}

/// The functions that the renderer may call.
fn functions(shader: &Shader) -> String {
    let mut names = vec!["brdf"];
    if shader.has_sampler() {
        names.extend(["sample", "pdf"]);
    }
    if shader.has_setup() {
        names.push("material");
    }
    names.join(", ")
}

/// Whether loops end.
fn loops(point: &Function, settings: &Settings) -> String {
    let mut any = false;
    for_each_stmt(&point.body, &mut |stmt| any |= matches!(stmt, Stmt::Loop(_)));
    match any {
        false => "none".into(),
        true if may_be_capped(point) => {
            format!("may reach the cap of {} rounds, where they are cut off", settings.loop_cap)
        }
        true => "bounded".into(),
    }
}

/// Whether it could not be shown that no loop is cut off.
fn may_be_capped(point: &Function) -> bool {
    let mut outputs = point.outputs.iter().zip(&point.body.yields);
    outputs.any(|(port, &value)| port.name == "capped" && point.constant(value) != Some(0))
}

/// A table of parameters or overrides.
fn declarations(kind: &str, list: &[Parameter]) -> String {
    let head = [kind, "type", "range", "default", "meaning"].map(str::to_owned).to_vec();
    let row = |parameter: &Parameter| {
        let mut row = parameters::row(parameter);
        row.push(parameter.doc.replace('\n', " "));
        row
    };
    columns(&[head].into_iter().chain(list.iter().map(row)).collect::<Vec<_>>())
}
