//! Precision on the kernels in `benches/kernels`.

use super::classes::Class;
use super::profile::{Domain, Profile, endpoints, number};
use super::{Analysis, static_bounds};
use crate::report::{fail, invalid_input, print_head, print_machine, print_row};
use lightbound_shader::analysis::Bounds;
use lightbound_shader::analysis::solve::Effort;
use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges};
use lightbound_shader::interval::Nan;
use lightbound_shader::ir::{Def, Function, Type, Value};
use lightbound_shader::{Entry, Scalar, Settings, Shader, passes};
use rayon::prelude::*;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The lists of kernels: folders of `benches/kernels`.
const LISTS: [&str; 2] = ["tuning", "held-out"];

/// A kernel, and the ranges of its inputs.
struct Kernel {
    list: &'static str,
    name: String,
    function: Function,
    inputs: Vec<Bounds>,
    domains: Vec<Domain>,
}

/// Static and observed ranges of a variable that had a value.
struct Variable {
    value: Value,
    ty: Type,
    bounds: Bounds,
    observed: [f64; 2],
    /// Classes of the lower and the upper endpoint.
    classes: [Class; 2],
    /// The same by magnitudes alone.
    by_magnitude: [Class; 2],
}

/// The results of a kernel.
struct Outcome {
    list: &'static str,
    name: String,
    runs: u64,
    variables: Vec<Variable>,
    /// Floats that may be NaN by the analysis and were not.
    spurious_nan: usize,
    not_run: usize,
    violations: usize,
}

/// What to measure.
pub struct Request<'a> {
    /// Only kernels with this text in their names.
    pub only: Option<&'a str>,
    /// Whether to list the variables.
    pub variables: bool,
    /// Whether to compare variants of the analysis.
    pub ablations: bool,
    /// Number of evaluations of each kernel.
    pub runs: usize,
    /// Seed of the inputs.
    pub seed: u64,
}

/// Measures kernels, and prints the tables.
pub fn run(request: &Request<'_>) -> ExitCode {
    let kernels = match kernels(request.only) {
        Ok(kernels) => kernels,
        Err(error) => return invalid_input(&error),
    };
    print_machine();
    let measured: Vec<_> = kernels
        .par_iter()
        .map(|kernel| {
            let bounds = kernel.bounds(Analysis::default());
            let profile = Profile::record(
                &kernel.function,
                &kernel.domains,
                &bounds,
                request.runs,
                request.seed,
            );
            (Outcome::new(kernel, &bounds, &profile), profile)
        })
        .collect();
    if request.variables {
        for (kernel, (outcome, _)) in std::iter::zip(&kernels, &measured) {
            print_variables(kernel, outcome);
        }
    }
    for list in LISTS {
        let outcomes: Vec<_> = measured
            .iter()
            .filter(|(outcome, _)| outcome.list == list)
            .map(|(outcome, _)| outcome)
            .collect();
        if !outcomes.is_empty() {
            print_outcomes(list, &outcomes);
            if request.ablations {
                let of_list = std::iter::zip(&kernels, &measured)
                    .filter(|(kernel, _)| kernel.list == list)
                    .map(|(kernel, (_, profile))| (kernel, profile));
                print_ablations(&of_list.collect::<Vec<_>>());
            }
        }
    }
    let violations: usize = measured.iter().map(|(outcome, _)| outcome.violations).sum();
    if violations > 0 { fail("values outside their static ranges") } else { ExitCode::SUCCESS }
}

/// Variants of the analysis: those of Campos et al. 2012, §5.2 and §5.5, except that components are
/// always solved one by one, and loops are not followed. The last one is not in the paper.
fn ablations() -> [(&'static str, Analysis); 10] {
    let with = |effort| Analysis { effort, without_clips: false };
    let full = Effort { followed: 0, ..Effort::default() };
    let widened = |iterations, jumps| with(Effort { iterations, jumps, ..full });
    [
        ("default", with(Effort::default())),
        ("loops not followed", with(full)),
        ("SSA: conditions have no effect", Analysis { effort: full, without_clips: true }),
        ("0 iterations, simple widening", widened(0, 0)),
        ("16 iterations, simple widening", widened(16, 0)),
        ("0 iterations, jump set", widened(0, full.jumps)),
        ("16 iterations, jump set", widened(16, full.jumps)),
        ("no narrowing", with(Effort { narrowings: 0, ..full })),
        ("16 narrowings", with(Effort { narrowings: 16, ..full })),
        ("growth not limited", with(Effort { growth_limits: 0, ..full })),
    ]
}

/// Prints the precision of variants of the analysis, and the time for all kernels.
fn print_ablations(kernels: &[(&Kernel, &Profile)]) {
    println!(
        "Variants of the analysis: as above, and ms for all kernels, the least of ten times\n"
    );
    print_head(
        &[
            "variant",
            "int lower exact",
            "int upper exact",
            "float lower exact",
            "float upper exact",
            "float lower far",
            "float upper far",
            "ms",
        ]
        .map(String::from),
    );
    for (name, analysis) in ablations() {
        let analyse = || kernels.iter().map(|(kernel, _)| kernel.bounds(analysis)).collect();
        let (time, bounds) = fastest(analyse);
        let outcomes: Vec<_> = std::iter::zip(kernels, &bounds)
            .map(|((kernel, profile), bounds)| Outcome::new(kernel, bounds, profile))
            .collect();
        let variables = || outcomes.iter().flat_map(|outcome| &outcome.variables);
        let shares =
            [(Type::I32, Class::Exact), (Type::F32, Class::Exact), (Type::F32, Class::Imprecise)]
                .into_iter()
                .flat_map(|(ty, class)| [0, 1].map(|side| (ty, class, side)))
                .map(|(ty, class, side)| {
                    cell(percentage(variables(), ty, |variable| variable.classes[side] == class))
                });
        let time = format!("{:.1}", 1e3 * time.as_secs_f64());
        print_row([name.to_owned()].into_iter().chain(shares).chain([time]));
    }
    println!();
}

/// Runs a computation ten times. Returns the least time, and the result.
fn fastest(compute: impl Fn() -> Vec<Vec<Bounds>>) -> (Duration, Vec<Vec<Bounds>>) {
    let rounds = (0..10).map(|_| {
        let start = Instant::now();
        let result = compute();
        (start.elapsed(), result)
    });
    rounds.min_by_key(|(time, _)| *time).expect("there are rounds")
}

impl Kernel {
    /// The static bounds of all values.
    fn bounds(&self, analysis: Analysis) -> Vec<Bounds> {
        let scalars = vec![false; self.function.len()];
        static_bounds(&self.function, &scalars, &self.inputs, Nan::Suppress, analysis)
    }
}

/// Reads and compiles kernels.
fn kernels(only: Option<&str>) -> Result<Vec<Kernel>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let mut kernels = vec![];
    for list in LISTS {
        let folder = root.join(list);
        let entries =
            std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if only.is_none_or(|only| name.contains(only)) {
                kernels.push(compile(list, name, &path)?);
            }
        }
    }
    match only {
        Some(only) if kernels.is_empty() => Err(format!(
            "no kernel has `{only}` in its name; the kernels are in {}",
            root.display()
        )),
        _ => Ok(kernels),
    }
}

fn compile(list: &'static str, name: String, path: &Path) -> Result<Kernel, String> {
    let file = path.display().to_string();
    let source = std::fs::read_to_string(path).map_err(|error| format!("{file}: {error}"))?;
    let settings = Settings::default();
    let shader = Shader::parse(&file, &source).map_err(|error| error.one_line())?;
    let function = shader.function(Entry::Density, &settings).map_err(|error| error.one_line())?;
    // Not the function of the integrand, in which longer loops are unrolled.
    let function = passes::optimize(&function);
    let integrand =
        Integrand::new(&shader, &settings, Frame::Local).map_err(|error| error.one_line())?;
    let inputs = integrand.inputs(IntervalInputs::All, Ranges::Declared);
    let mut domains: Vec<_> = shader
        .parameters()
        .iter()
        .flat_map(|parameter| {
            let [low, high] = parameter.range;
            let domain = match parameter.scalar {
                Scalar::F32 => Domain::Float(low as f32, high as f32),
                Scalar::I32 | Scalar::U32 => Domain::Int(low as i64, high as i64),
                Scalar::Bool => Domain::Bool,
            };
            std::iter::repeat_n(domain, parameter.size)
        })
        .collect();
    // Kernels do not use the position.
    let arguments = function.inputs.len() - domains.len();
    domains.splice(0..0, std::iter::repeat_n(Domain::Float(0.0, 0.0), arguments));
    let inputs = inputs.iter().map(|input| input.bounds).collect();
    Ok(Kernel { list, name, function, inputs, domains })
}

impl Outcome {
    /// Compares static bounds with a profile.
    fn new(kernel: &Kernel, bounds: &[Bounds], profile: &Profile) -> Outcome {
        let (mut variables, mut spurious_nan, mut not_run) = (vec![], 0, 0);
        for (k, data) in kernel.function.values.iter().enumerate() {
            let is_variable =
                data.ty != Type::Bool && !matches!(data.def, Def::Input(_) | Def::Const(_));
            if !is_variable {
                continue;
            }
            if let Bounds::Float(floats) = &bounds[k] {
                spurious_nan += usize::from(floats.nan && !profile.nan[k]);
            }
            let (Some(observed), Some(ends)) = (profile.ranges[k], endpoints(&bounds[k])) else {
                not_run += 1;
                continue;
            };
            let magnitude = observed[0].abs().max(observed[1].abs());
            variables.push(Variable {
                value: Value(k as u32),
                ty: data.ty,
                bounds: bounds[k],
                observed,
                classes: [0, 1].map(|side| Class::of(ends[side], observed[side], magnitude)),
                by_magnitude: [0, 1].map(|side| Class::by_magnitude(ends[side], observed[side])),
            });
        }
        Outcome {
            list: kernel.list,
            name: kernel.name.clone(),
            runs: profile.runs,
            variables,
            spurious_nan,
            not_run,
            violations: profile.violations.len(),
        }
    }
}

/// The percentage of variables of a type for which a predicate holds; `None` if there are none.
fn percentage<'a>(
    variables: impl Iterator<Item = &'a Variable>,
    ty: Type,
    holds: impl Fn(&Variable) -> bool,
) -> Option<f64> {
    let (mut count, mut held) = (0, 0);
    for variable in variables.filter(|variable| variable.ty == ty) {
        count += 1;
        held += usize::from(holds(variable));
    }
    (count > 0).then(|| 100.0 * held as f64 / count as f64)
}

fn cell(percentage: Option<f64>) -> String {
    percentage.map_or_else(|| "–".to_owned(), |x| format!("{x:.1}"))
}

/// Prints the tables of a list.
fn print_outcomes(list: &str, outcomes: &[&Outcome]) {
    println!("## {list}\n");
    print_head(
        &[
            "kernel",
            "runs",
            "int",
            "lower exact",
            "upper exact",
            "float",
            "lower exact",
            "upper exact",
            "lower far",
            "upper far",
            "NaN",
            "not run",
            "violations",
        ]
        .map(String::from),
    );
    outcomes.iter().for_each(|outcome| print_totals(&outcome.name, &[outcome]));
    print_totals("all", outcomes);
    let variables = || outcomes.iter().flat_map(|outcome| &outcome.variables);
    for (title, by_magnitude) in [("Classes", false), ("Classes by magnitudes", true)] {
        println!("\n{title}, %:\n");
        print_head(&["endpoints", "variables", "1", "n", "n²", "imprecise"].map(String::from));
        for (ty, name) in [(Type::I32, "int"), (Type::F32, "float")] {
            for (side, side_name) in ["lower", "upper"].into_iter().enumerate() {
                let count = variables().filter(|variable| variable.ty == ty).count();
                let share = |class| {
                    percentage(variables(), ty, |variable| {
                        let classes =
                            if by_magnitude { variable.by_magnitude } else { variable.classes };
                        classes[side] == class
                    })
                };
                let cells = Class::ALL.map(|class| cell(share(class)));
                let first = [format!("{name}, {side_name}"), count.to_string()];
                print_row(first.into_iter().chain(cells));
            }
        }
    }
    println!();
}

/// Prints the sums over kernels.
fn print_totals(name: &str, outcomes: &[&Outcome]) {
    let variables = || outcomes.iter().flat_map(|outcome| &outcome.variables);
    let count = |ty| variables().filter(|variable| variable.ty == ty).count().to_string();
    let share = |ty, side: usize, class| {
        cell(percentage(variables(), ty, |variable| variable.classes[side] == class))
    };
    let sum = |of: fn(&Outcome) -> usize| {
        outcomes.iter().map(|&outcome| of(outcome)).sum::<usize>().to_string()
    };
    print_row([
        name.to_owned(),
        outcomes.iter().map(|outcome| outcome.runs).sum::<u64>().to_string(),
        count(Type::I32),
        share(Type::I32, 0, Class::Exact),
        share(Type::I32, 1, Class::Exact),
        count(Type::F32),
        share(Type::F32, 0, Class::Exact),
        share(Type::F32, 1, Class::Exact),
        share(Type::F32, 0, Class::Imprecise),
        share(Type::F32, 1, Class::Imprecise),
        sum(|outcome| outcome.spurious_nan),
        sum(|outcome| outcome.not_run),
        sum(|outcome| outcome.violations),
    ]);
}

/// Prints a kernel and the ranges of its variables.
fn print_variables(kernel: &Kernel, outcome: &Outcome) {
    println!("{}\n", kernel.function);
    for variable in &outcome.variables {
        let Variable { value, bounds, observed: [low, high], classes, .. } = variable;
        let definition = match kernel.function.operation(*value) {
            Some((op, args)) => {
                let args: Vec<_> = args.iter().map(|arg| operand(&kernel.function, *arg)).collect();
                format!("{} {}", op.name(), args.join(", "))
            }
            None => format!("{:?}", kernel.function.values[value.index()].def).to_lowercase(),
        };
        println!(
            "v{} = {definition}: {bounds}, observed [{low}, {high}], {classes:?}",
            value.index()
        );
    }
    println!();
}

/// A value as the operand of another one.
fn operand(function: &Function, value: Value) -> String {
    let data = function.values[value.index()];
    match data.def {
        Def::Const(bits) => number(data.ty, bits).to_string(),
        Def::Input(index) => function.inputs[index as usize].name.clone(),
        _ => format!("v{}", value.index()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_compile_and_values_are_within_static_ranges() {
        let kernels = kernels(None).unwrap_or_else(|error| panic!("{error}"));
        let count = |list| kernels.iter().filter(|kernel| kernel.list == list).count();
        assert!(count("tuning") >= 26 && count("held-out") >= 10);
        for kernel in kernels.iter().filter(|kernel| kernel.function.len() < 100) {
            let bounds = kernel.bounds(Analysis::default());
            let profile = Profile::record(&kernel.function, &kernel.domains, &bounds, 20, 0);
            let outcome = Outcome::new(kernel, &bounds, &profile);
            assert_eq!(outcome.violations, 0, "{}", kernel.name);
            assert!(!outcome.variables.is_empty(), "{}", kernel.name);
        }
    }

    #[test]
    fn unknown_kernels_are_errors() {
        assert!(kernels(Some("nosuch")).is_err_and(|error| error.contains("nosuch")));
    }
}
