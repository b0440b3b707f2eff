//! `lightbound shader check`: checks that a shader is a valid material, and lists its parameters
//! and cost.

use super::{SourceArgs, compile, point_shader, values};
use crate::console::{self, count};
use crate::output::to_stdout;
use crate::{Error, Exit};
use lightbound::material::parameters::{self, format_table};
use lightbound::material::{Program, Setting, ShaderBinding, ShaderInstance, self_check};
use lightbound_shader::backend::x86;
use lightbound_shader::ir::{Function, Stmt, function::for_each_stmt};
use lightbound_shader::{
    Arena, Entry, Parameter, Settings, Shader, ShaderKind, SurfaceSides, Target, passes,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  lightbound shader check materials/velvet.wgsl
  lightbound shader check ward.wgsl              (of the library, if no such file exists)
  lightbound shader check ward.wgsl --target sse

Without --target, instructions are counted for every instruction set.
The exit code is 1 if values at sampled directions are negative or not finite, or
if sample and pdf disagree.";

/// Options of `shader check`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    let (name, target) = (args.source.name(), args.source.target());
    let text = args.source.read()?;
    let shader = Shader::parse(&name, &text)?;
    let settings = args.source.overrides(&shader)?;
    let point = point_shader(&shader, Entry::Integrand, &settings)?;
    let time = median_time(|| {
        compile(&Shader::parse(&name, &text)?, Entry::Integrand, &settings, target)
    })?;
    let checks = Checks::run(&shader, &settings, target)?;
    let property = |name: &str, text: String| vec![name.to_owned(), text];
    let mut properties = vec![
        property("sides", describe_sides(&shader).into()),
        property("functions", functions(&shader)),
        property("values", checks.values),
        property("sampler", checks.sampler),
        property("loops", describe_loops(&shader, &point, &settings)),
    ];
    let lowered = passes::lower(&point);
    for target in args.source.target.map_or(Target::ALL.to_vec(), |target| vec![target]) {
        if let Some(isa) = target.isa() {
            let instructions =
                count(x86::Code::compile(&lowered, isa).counts().total as u64, "instruction");
            properties.push(property(
                target.name(),
                format!("{instructions} for {} evaluations of s", target.lanes()),
            ));
        }
    }
    let time = format!(
        "{:.2} ms for {target}, from text to code (median of {RUNS})",
        1e3 * time.as_secs_f64()
    );
    properties.push(property("compiling", time));
    if !shader.textures().is_empty() {
        properties.push(property("textures", shader.textures().join(", ")));
    }

    let mut report = format!("{name}\n\n");
    if !shader.description().is_empty() {
        report += &format!("{}\n\n", shader.description().trim_end());
    }
    report += &format_table(&properties);
    let members = shader.members().iter().map(|member| {
        match values::find_parameter(shader.settable(), &member.name) {
            Some(_) => declaration(member),
            None => computed(member),
        }
    });
    for (kind, rows) in [
        ("parameter", members.collect::<Vec<_>>()),
        ("override", shader.overrides().iter().map(declaration).collect()),
    ] {
        if !rows.is_empty() {
            let head = [kind, "type", "range", "default", "meaning"].map(str::to_owned).to_vec();
            report += &format!("\n{}", format_table(&[vec![head], rows].concat()));
        }
    }
    to_stdout(report.as_bytes())?;
    shader.warnings().iter().for_each(|warning| console::warn(&warning.one_line()));
    checks.warnings.iter().for_each(|warning| console::warn(warning));
    Ok(if checks.failed { Exit::Failed } else { Exit::Success })
}

/// Results of the checks that run when a shader is loaded, with all parameters at their defaults.
struct Checks {
    values: String,
    sampler: String,
    warnings: Vec<String>,
    /// Whether values are negative or not finite, or `sample` and `pdf` disagree.
    failed: bool,
}

impl Checks {
    fn run(shader: &Shader, settings: &Settings, target: Target) -> Result<Checks, Error> {
        let mut checks = Checks {
            values: String::new(),
            sampler: "derived from bounds".into(),
            warnings: vec![],
            failed: false,
        };
        if let Some(missing_input) = missing_input(shader) {
            checks.values = format!("not checked: {missing_input}");
            if shader.has_sampler() {
                checks.sampler = checks.values.clone();
            }
            return Ok(checks);
        }
        let program = Arc::new(Program::compile(&Arena::new(), shader, settings, target)?);
        let default =
            |p: &Parameter| Setting::Constant(p.default.clone().expect("no input is missing"));
        let instance = ShaderInstance::new(0, shader.settable().iter().map(|p| (p, default(p))));
        let binding = ShaderBinding::new(program, vec![]);
        checks.values = match self_check::check_values(&binding, &instance) {
            Ok(max) if max <= 0.0 => {
                checks
                    .warnings
                    .push("s is 0 at all sampled directions: the material is black".into());
                "black".into()
            }
            Ok(_) => "finite, none negative".into(),
            Err(error) => {
                checks.warnings.push(error.to_string());
                checks.failed = true;
                "negative or not finite".into()
            }
        };
        if shader.has_sampler() {
            checks.sampler = match self_check::check_sampler(&binding, &instance) {
                Ok(()) => "agrees with pdf".into(),
                Err(error) => {
                    checks.warnings.push(format!("`sample` and `pdf` disagree: {error}"));
                    checks.failed = true;
                    "disagrees with pdf".into()
                }
            };
        }
        Ok(checks)
    }
}

/// A parameter or texture that must be set before the shader can run.
fn missing_input(shader: &Shader) -> Option<String> {
    let required = shader.settable().iter().find(|parameter| parameter.default.is_none());
    let required = required.map(|parameter| format!("`{}` has no default", parameter.name));
    required.or_else(|| shader.textures().first().map(|name| format!("`{name}` has no image")))
}

/// Number of timed compilations.
const RUNS: usize = 9;

/// Median time of [`RUNS`] runs.
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

fn describe_sides(shader: &Shader) -> &'static str {
    match shader.sides() {
        _ if shader.kind() == ShaderKind::Phase => {
            "both: light is scattered over the whole sphere, in a medium"
        }
        SurfaceSides::One => "one: light is reflected where wo.z > 0",
        SurfaceSides::Both => "both: light is scattered over the whole sphere",
    }
}

/// The functions that the renderer may call.
fn functions(shader: &Shader) -> String {
    let mut names = vec![match shader.kind() {
        ShaderKind::Brdf => "brdf",
        ShaderKind::Phase => "phase",
        ShaderKind::Density => "density",
    }];
    if shader.has_sampler() {
        names.extend(["sample", "pdf"]);
    }
    if shader.has_setup() {
        names.push("material");
    }
    names.join(", ")
}

/// Describes whether loops terminate.
fn describe_loops(shader: &Shader, point: &Function, settings: &Settings) -> String {
    let mut any = false;
    for_each_stmt(&point.body, &mut |stmt| any |= matches!(stmt, Stmt::Loop(_)));
    match any {
        false => "none".into(),
        true if may_be_capped(point) => {
            let lines: Vec<_> = shader.loop_lines().iter().map(u32::to_string).collect();
            let location = match lines.len() {
                0 => String::new(),
                1 => format!(" (line {})", lines[0]),
                _ => format!(" (at least one of the loops in lines {})", lines.join(", ")),
            };
            format!(
                "may reach the cap of {} iterations, where they are stopped{location}",
                settings.loop_cap
            )
        }
        true => "bounded".into(),
    }
}

/// Whether a loop may reach the cap, according to the static analysis.
fn may_be_capped(point: &Function) -> bool {
    let mut outputs = point.outputs.iter().zip(&point.body.yields);
    outputs.any(|(port, &value)| port.name == "capped" && point.constant(value) != Some(0))
}

/// The row of a parameter or an override.
fn declaration(parameter: &Parameter) -> Vec<String> {
    let mut row = parameters::table_row(parameter);
    row.push(parameter.doc.replace('\n', " "));
    row
}

/// The row of a member that the shader computes.
fn computed(member: &Parameter) -> Vec<String> {
    let member = Parameter {
        default: None,
        doc: format!("computed by fn material; {}", member.doc),
        ..member.clone()
    };
    let mut row = declaration(&member);
    row[4] = row[4].trim_end_matches("; ").to_owned();
    row
}
