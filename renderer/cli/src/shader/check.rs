//! `lightbound shader check`: checks that a shader is a valid material, phase function, density or
//! function, and lists its inputs and cost.

use super::faults::Faults;
use super::positions::PositionArgs;
use super::{SourceArgs, compile, point_shader, values};
use crate::console::{self, count};
use crate::output::to_stdout;
use crate::{Error, Exit};
use lightbound::material::parameters::{self, format_table};
use lightbound::material::{
    ParameterValues, Program, Setting, ShaderBinding, ShaderInstance, self_check,
};
use lightbound::math::{Aabb, Transform, Vec3};
use lightbound::medium::{Field, MajorantTree, ShaderField, ShaderFieldSettings, TreeOptions};
use lightbound_shader::backend::x86;
use lightbound_shader::ir::{Function, Stmt, function::for_each_stmt};
use lightbound_shader::{
    Arena, Batch, Entry, Parameter, Settings, Shader, ShaderKind, SurfaceSides, Target, medium,
    passes,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  lightbound shader check materials/velvet.wgsl
  lightbound shader check ward.wgsl              (of the library, if no such file exists)
  lightbound shader check ward.wgsl --target sse
  lightbound shader check fog.wgsl               (the density of a medium)
  lightbound shader check fog.wgsl --p -2..2,0..1,-2..2
  lightbound shader check velvet.wgsl --faults   (where a division by zero is not excluded)
  lightbound shader check sdf.wgsl --entry torus (any function)

Without --target, instructions are counted for every instruction set. A density is sampled and
bounded in the unit cube, or in the box of --p, with the default parameters.
The row `faults` says in which lines a division by zero, a NaN or an infinite value is possible, for
all directions and all parameters in their ranges, or that it is proved that there are none. For
each one that affects a result, a warning names line, column and values.
The exit code is 1 if a result is negative or not finite for sampled directions or positions, or not
finite for the values in such a warning, if sample and pdf disagree, if pdf is 0 where light is
scattered, or if the integral of a phase function is not 1. Negative densities and NaN are 0, and a
pole of a density is only a warning.
Functions that --entry names may return any values.";

/// Options of `shader check`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// Any function of the file, instead of the BRDF or the density
    #[arg(long, value_name = "FN")]
    entry: Option<String>,

    #[command(flatten)]
    positions: PositionArgs,

    /// List also the operations that fail without effect on the result, and those for which no
    /// fault was found but none could be excluded
    #[arg(long)]
    faults: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    let (name, target) = (args.source.name(), args.source.target());
    let text = args.source.read()?;
    let parse = || match &args.entry {
        Some(function) => Shader::parse_function(&name, &text, function),
        None => super::parse_text(&name, &text),
    };
    let shader = parse()?;
    let settings = args.source.overrides(&shader)?;
    let bounds = args.positions.bounds(&shader)?;
    let point = evaluated_function(&shader, &settings)?;
    let time = median_time(|| compile(&evaluated_function(&parse()?, &settings)?, target))?;
    let faults = Faults::find(&shader, &settings, bounds)?;
    let mut checks = match missing_input(&shader) {
        _ if shader.kind() == ShaderKind::Function => Checks::none(),
        Some(missing_input) => Checks::skipped(&shader, &missing_input),
        None if shader.kind() == ShaderKind::Density => {
            Checks::density(&shader, &settings, target, bounds, args.positions.name())?
        }
        None => Checks::scattering(&shader, &settings, target, faults.reach_integrand())?,
    };
    checks.failed |= faults.fail();
    let property = |name: &str, text: String| vec![name.to_owned(), text];
    let mut properties = vec![match shader.kind() {
        ShaderKind::Brdf | ShaderKind::Phase => property("sides", describe_sides(&shader)),
        ShaderKind::Density => property("kind", "the density of a medium".into()),
        ShaderKind::Function => property("kind", "a function".into()),
    }];
    properties.push(property("functions", functions(&shader)));
    properties.extend(checks.properties.into_iter().map(|(name, text)| property(name, text)));
    let labels = std::iter::once("faults").chain(std::iter::repeat(""));
    let summary = std::iter::zip(labels, faults.summary());
    properties.extend(summary.map(|(label, text)| property(label, text)));
    properties.push(property("loops", describe_loops(&shader, &point, &settings)));
    let evaluated = match shader.kind() {
        ShaderKind::Brdf | ShaderKind::Phase => "s".to_owned(),
        ShaderKind::Density | ShaderKind::Function => functions(&shader),
    };
    let lowered = passes::lower(&point);
    for target in args.source.target.map_or(Target::ALL.to_vec(), |target| vec![target]) {
        if let Some(isa) = target.isa() {
            let instructions =
                count(x86::Code::compile(&lowered, isa).counts().total as u64, "instruction");
            properties.push(property(
                target.name(),
                format!("{instructions} for {} evaluations of {evaluated}", target.lanes()),
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

    if shader.kind() == ShaderKind::Function {
        properties.push(property("outputs", shader.output_names().join(", ")));
    }
    let mut report = format!("{name}\n\n");
    if !shader.description().is_empty() {
        report += &format!("{}\n\n", shader.description().trim_end());
    }
    report += &format_table(&properties);
    let arguments = match shader.kind() {
        ShaderKind::Function => shader.arguments(),
        _ => &[],
    };
    let members = shader.members().iter().map(|member| {
        match values::find_parameter(shader.settable(), &member.name) {
            Some(_) => declaration(member),
            None => computed(member),
        }
    });
    for (kind, rows) in [
        ("input", arguments.iter().map(declaration).collect::<Vec<_>>()),
        ("parameter", members.collect()),
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
    faults.print(args.faults);
    Ok(if checks.failed { Exit::Failed } else { Exit::Success })
}

/// Results of the checks that run when a shader is loaded, with all parameters at their defaults.
struct Checks {
    /// Names and results.
    properties: Vec<(&'static str, String)>,
    warnings: Vec<String>,
    /// Whether values are negative or not finite, the sampler is faulty, or a phase function is not
    /// normalized.
    failed: bool,
}

impl Checks {
    /// No checks, for a function that may return anything.
    fn none() -> Checks {
        Checks { properties: vec![], warnings: vec![], failed: false }
    }

    /// Checks that cannot run, since an input of the shader is missing.
    fn skipped(shader: &Shader, missing_input: &str) -> Checks {
        let skipped = format!("not checked: {missing_input}");
        let mut properties = vec![("values", skipped.clone())];
        match shader.kind() {
            ShaderKind::Density => properties.push(("bound", skipped)),
            _ if shader.has_sampler() => properties.push(("sampler", skipped)),
            _ => properties.push(("sampler", BOUNDS_SAMPLER.into())),
        }
        Checks { properties, warnings: vec![], failed: false }
    }

    /// Checks a BRDF or a phase function. `is_reported` says whether there is a warning about values
    /// that are not finite.
    fn scattering(
        shader: &Shader,
        settings: &Settings,
        target: Target,
        is_reported: bool,
    ) -> Result<Checks, Error> {
        let mut checks = Checks { properties: vec![], warnings: vec![], failed: false };
        let program = Arc::new(Program::compile(&Arena::new(), shader, settings, target)?);
        let default =
            |p: &Parameter| Setting::Constant(p.default.clone().expect("no input is missing"));
        let instance = ShaderInstance::new(0, shader.settable().iter().map(|p| (p, default(p))));
        let binding = ShaderBinding::new(program, vec![]);
        let values = match self_check::check_values(&binding, &instance) {
            Ok(max) if max <= 0.0 => {
                checks
                    .warnings
                    .push("s is 0 at all sampled directions: the material is black".into());
                "black"
            }
            Ok(_) => "finite, none negative",
            Err(error) => {
                if error.is_finite() || !is_reported {
                    checks.warnings.push(error.to_string());
                }
                checks.failed = true;
                "negative or not finite"
            }
        };
        let sampler = if !shader.has_sampler() {
            BOUNDS_SAMPLER
        } else if let Err(error) = self_check::check_sampler(&binding, &instance) {
            checks.warnings.push(error.to_string());
            checks.failed = true;
            "disagrees with pdf"
        } else if let Err(error) = self_check::check_coverage(&binding, &instance) {
            checks.warnings.push(error.to_string());
            checks.failed = true;
            "misses light"
        } else {
            "agrees with pdf"
        };
        checks.properties = vec![("values", values.into()), ("sampler", sampler.into())];
        if shader.kind() == ShaderKind::Phase
            && let Err(error) = self_check::check_normalization(&binding, &instance)
        {
            checks.properties.push(("integral", format!("{:.4}", error.integral)));
            checks.warnings.push(format!("the phase function is not normalized: {error}"));
            checks.failed = true;
        }
        Ok(checks)
    }

    /// Checks a density in a box, which messages call `place`.
    fn density(
        shader: &Shader,
        settings: &Settings,
        target: Target,
        bounds: Aabb,
        place: &str,
    ) -> Result<Checks, Error> {
        /// Cells of the box in which the density is bounded.
        const CELLS: usize = 4096;
        let parameters =
            values::require_all(shader.parameters(), values::defaults(shader.parameters()))?;
        let medium = ShaderFieldSettings {
            bounds,
            render_from_medium: Transform::IDENTITY,
            extinction: Vec3::ONE,
            albedo: Vec3::ZERO,
            radiance: Vec3::ONE,
        };
        let values = ParameterValues::from_words(&parameters);
        let field = ShaderField::new(shader, settings, values, vec![], medium)?;
        let mut points = Vec::new();
        field.evaluate(&positions(POINTS, bounds), &mut points);
        let [min, max] = points.iter().fold([f32::INFINITY, 0.0], |[min, max], point| {
            let density = point.extinction.x;
            [density.min(min), density.max(max)]
        });
        let options = TreeOptions { max_nodes: CELLS, cell_cost: 0.0, ..TreeOptions::default() };
        let majorants = MajorantTree::build(&field, &Transform::IDENTITY, options);
        let [_, bound] = majorants.density_range();
        let mut warnings = Vec::new();
        if max == 0.0 {
            warnings.push(format!(
                "the density is 0 at all sampled positions of {place}; NaN and negative numbers \
                 count as 0"
            ));
        }
        let mut failed = !max.is_finite();
        if failed {
            warnings.push(format!(
                "the density is infinite at a sampled position of {place}: limit it with min"
            ));
        }
        if !bound.is_finite() {
            warnings.push(format!(
                "the density has no upper bound in {place}, so the medium cannot be rendered \
                 there: limit it with min, also where a division by 0 is possible"
            ));
        }
        let values = format!("from {min} to {max} at {POINTS} positions in {place}");
        let bound = match bound.is_finite() {
            true => format!("at most {bound} in {place}"),
            false => format!("none in {place}"),
        };
        let mut properties = vec![("values", values), ("bound", bound)];
        for (name, [min, max]) in ranges_of_colours(shader, settings, &parameters, target, bounds)?
        {
            properties.push((name, format!("from {min} to {max}")));
            if max == 0.0 {
                warnings.push(format!("the {name} is 0 at all sampled positions of {place}"));
            }
            if !max.is_finite() {
                warnings.push(format!(
                    "the {name} is infinite at a sampled position of {place}: limit it with min"
                ));
                failed = true;
            }
        }
        Ok(Checks { properties, warnings, failed })
    }
}

/// The sampler of a shader without `sample` and `pdf`.
const BOUNDS_SAMPLER: &str = "derived from bounds";

/// Returns the ranges of all channels of `fn albedo` and `fn emission` of a density over a box, if
/// the shader has them. Values are as the renderer clamps them.
fn ranges_of_colours(
    shader: &Shader,
    settings: &Settings,
    parameters: &[u32],
    target: Target,
    bounds: Aabb,
) -> Result<Vec<(&'static str, [f32; 2])>, Error> {
    let kernel = compile(&medium::properties(shader, settings)?, target)?;
    // Poles are often at faces or at the centre, which are not bounded as those of the density are.
    let grid =
        (0..125).map(|i| 0.25 * Vec3::from_array([i % 5, i / 5 % 5, i / 25].map(|i| i as f32)));
    let grid = grid.map(|unit| position(bounds, unit));
    let points: Vec<Vec3> = positions(POINTS, bounds).into_iter().chain(grid).collect();
    let mut inputs = Batch::new(target, kernel.inputs().len(), points.len());
    let mut outputs = Batch::new(target, kernel.outputs().len(), points.len());
    for (row, p) in points.iter().enumerate() {
        inputs.set_row(row, 0, &p.to_array().map(f32::to_bits));
    }
    for (index, &word) in parameters.iter().enumerate() {
        inputs.fill_port(3 + index, word);
    }
    kernel.run(&[], &inputs, &mut outputs);
    let range = |name: &'static str| {
        let ports = kernel.outputs().iter().enumerate();
        let ports = ports.filter(|(_, port)| port.name.split('.').next() == Some(name));
        let values = ports.flat_map(|(port, _)| (0..points.len()).map(move |row| (row, port)));
        let range = values
            .map(|(row, port)| outputs.get(row, port))
            .fold([f32::INFINITY, f32::NEG_INFINITY], |[min, max], x| [min.min(x), max.max(x)]);
        (name, range)
    };
    let present = [(shader.has_albedo(), "albedo"), (shader.has_emission(), "emission")];
    Ok(present.into_iter().filter(|(present, _)| *present).map(|(_, name)| range(name)).collect())
}

/// Positions at which a density is sampled.
const POINTS: usize = 4096;

/// Positions that fill a box evenly: the sequence R₃ of Roberts 2018, *The unreasonable
/// effectiveness of quasirandom sequences*.
fn positions(count: usize, bounds: Aabb) -> Vec<Vec3> {
    /// 1/x, 1/x² and 1/x³ for the root x of x⁴ = x + 1.
    const STEPS: [f64; 3] =
        [0.819_172_513_396_164_4, 0.671_043_606_703_789_2, 0.549_700_477_901_970_3];
    let unit = |i: usize| STEPS.map(|step| (0.5 + i as f64 * step).fract() as f32);
    (0..count).map(|i| position(bounds, Vec3::from_array(unit(i)))).collect()
}

/// The position in a box with these coordinates relative to it.
fn position(bounds: Aabb, unit: Vec3) -> Vec3 {
    (bounds.min + (bounds.max - bounds.min) * unit).min(bounds.max)
}

/// The function that the renderer evaluates most: s, or the properties of a medium.
fn evaluated_function(shader: &Shader, settings: &Settings) -> Result<Function, Error> {
    match shader.kind() {
        ShaderKind::Brdf | ShaderKind::Phase => point_shader(shader, Entry::Integrand, settings),
        ShaderKind::Density => Ok(medium::properties(shader, settings)?),
        ShaderKind::Function => point_shader(shader, Entry::Function, settings),
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

fn describe_sides(shader: &Shader) -> String {
    let both = "both: light is scattered over the whole sphere";
    match (shader.sides(), shader.transmitting()) {
        _ if shader.kind() == ShaderKind::Phase => format!("{both}, in a medium"),
        (SurfaceSides::One, _) => "one: light is reflected where wo.z > 0".into(),
        (SurfaceSides::Both, []) => both.into(),
        (SurfaceSides::Both, names) => {
            let are = if names.len() == 1 { "is" } else { "are" };
            format!("{both}; one, if {} {are} 0", names.join(" and "))
        }
    }
}

/// The functions that the renderer may call.
fn functions(shader: &Shader) -> String {
    let mut names = vec![shader.function_name()];
    if shader.has_sampler() {
        names.extend(["sample", "pdf"]);
    }
    let optional = [(shader.has_albedo(), "albedo"), (shader.has_emission(), "emission")];
    names.extend(optional.into_iter().filter(|(present, _)| *present).map(|(_, name)| name));
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
