//! Bug reports for faults of programs: the program, and command lines that reproduce the fault.

use super::trial::{LOOP_CAP, Trial};
use crate::containment::{Fault, FaultKind};
use lightbound_shader::bounding::{Frame, Ranges};
use lightbound_shader::frontend::Scalar;
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::{BoundSides, Options, Tracking};
use lightbound_shader::relations::{Relation, Relations};
use std::fmt::Write;

/// Returns the fault, the program, and command lines that reproduce the fault, with a note for each
/// setting of the trial that the commands cannot reproduce.
pub fn report(trial: &Trial, fault: &Fault) -> String {
    let mut text = format!("{fault}cat > fault.wgsl <<'END'\n{}END\n", trial.module);
    if matches!(fault.kind, FaultKind::Panic | FaultKind::Rejected) || fault.endpoints.is_empty() {
        let entry = if trial.is_function { " --entry brdf" } else { "" };
        _ = writeln!(text, "lightbound shader check fault.wgsl{entry}");
        return text;
    }
    if trial.frame != Frame::Local {
        text.push_str("(directions in world space, which the commands do not support)\n");
        return text;
    }
    for difference in differences(trial, &fault.options) {
        _ = writeln!(text, "({difference})");
    }
    let scalars = scalars(trial);
    let scalar = |name: &str| {
        scalars.iter().find(|(known, _)| known == name).map_or(Scalar::F32, |(_, scalar)| *scalar)
    };
    let inputs = |words: &dyn Fn(usize) -> String| {
        let (mut line, mut vectors) = (String::new(), [vec![], vec![]]);
        for (k, (name, ..)) in fault.endpoints.iter().enumerate() {
            match name.split_once('.') {
                Some(("wi", _)) if !trial.is_function => vectors[0].push(words(k)),
                Some(("wo", _)) if !trial.is_function => vectors[1].push(words(k)),
                _ => _ = write!(line, " --set {name}={}", words(k)),
            }
        }
        if trial.is_function {
            return format!("--entry brdf{line}");
        }
        format!("--wi {} --wo {}{line}", vectors[0].join(","), vectors[1].join(","))
    };
    let bound = inputs(&|k| {
        let (name, _, [low, high]) = &fault.endpoints[k];
        let show = |bits| scalar_text(scalar(name), bits);
        let is_interval = low != high
            || trial.interval_inputs == lightbound_shader::bounding::IntervalInputs::All
            || name.starts_with("wi.");
        if is_interval { format!("{}..{}", show(*low), show(*high)) } else { show(*low) }
    });
    let parts = if fault.parts > 1 { format!(" --split {}", fault.parts) } else { String::new() };
    _ = writeln!(
        text,
        "lightbound shader bound fault.wgsl {}{}{parts} --target {} {bound}",
        options(&fault.options),
        if trial.ranges == Ranges::Paper { " --ranges paper" } else { "" },
        fault.target,
    );
    if let Some(member) = &fault.member {
        let member = inputs(&|k| scalar_text(scalar(&fault.endpoints[k].0), member[k]));
        _ = writeln!(text, "lightbound shader eval fault.wgsl --target {} {member}", fault.target);
    }
    text
}

/// Returns the names and scalar types of all components of parameters.
fn scalars(trial: &Trial) -> Vec<(String, Scalar)> {
    let Ok(shader) = trial.parse("fault.wgsl") else { return vec![] };
    let words = |parameter: &lightbound_shader::frontend::Parameter| {
        let scalar = parameter.scalar;
        parameter.component_names().map(|name| (name, scalar)).collect::<Vec<_>>()
    };
    shader.parameters().iter().flat_map(words).collect()
}

/// Formats a word for the command line.
fn scalar_text(scalar: Scalar, bits: u32) -> String {
    match scalar {
        Scalar::F32 => format!("{:?}", f32::from_bits(bits)),
        Scalar::I32 => (bits as i32).to_string(),
        Scalar::U32 => bits.to_string(),
        Scalar::Bool => (bits != 0).to_string(),
    }
}

/// Returns descriptions of the settings that the printed commands cannot reproduce.
fn differences(trial: &Trial, options: &Options) -> Vec<String> {
    let (program, mut all) = (trial.module.to_string(), vec![]);
    if program.contains("texture_2d") {
        all.push("textures are those of `testing::random::images`".to_owned());
    }
    if ["for (", "while (", "loop {"].iter().any(|start| program.contains(start)) {
        let (bounding, command) = (options.loop_cap, Options::default().loop_cap);
        all.push(format!(
            "loop cap {bounding} in the bounding shader, {LOOP_CAP} in the point shader; commands have {command}"
        ));
    }
    if trial.bounds_all_values {
        all.push("bounds on all values are computed, not only those on the outputs".to_owned());
    }
    let (mode, tracking) = mode(options);
    if tracking != options.tracking {
        let selection =
            if options.tracking == Tracking::NONE { "naive" } else { "partly optimized" };
        all.push(format!(
            "{selection} selection of cases; mode {mode} selects them like optimized code"
        ));
    }
    all
}

/// Returns the closest `--mode`, and the facts that this mode tracks to select cases of operations.
fn mode(options: &Options) -> (&'static str, Tracking) {
    match (options.relations, options.tracking) {
        (Relations::NONE, Tracking::NONE) => ("naive", Tracking::NONE),
        (Relations::NONE, _) => ("optimized", Tracking::ALL),
        _ => ("related", Tracking::ALL),
    }
}

/// Formats options of `lightbound shader bound`, except for [differences].
fn options(options: &Options) -> String {
    let Options { sides, nan, relations, .. } = options;
    let (mode, _) = mode(options);
    let names: Vec<_> = relations.iter().map(Relation::name).collect();
    let relations = if names.is_empty() || *relations == Relations::all() {
        String::new()
    } else {
        format!(" --relations {}", names.join(","))
    };
    let nan = match nan {
        Nan::Propagate => "propagate",
        Nan::Suppress => "suppress",
        Nan::Ignore => "ignore",
    };
    let sides = match sides {
        BoundSides::Both => "",
        BoundSides::Upper => " --sides upper",
        BoundSides::Lower => " --sides lower",
    };
    format!("--mode {mode}{relations} --nan {nan}{sides}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::containment::FaultKind;
    use lightbound_shader::ir::Type;
    use lightbound_shader::target::Target;
    use std::collections::{BTreeMap, BTreeSet};
    use std::str::FromStr;

    /// Parses the options of a printed `shader bound` command, by name.
    fn parse(command: &str) -> BTreeMap<&str, &str> {
        let words: Vec<_> = command.split_whitespace().collect();
        assert_eq!(words[..4], ["lightbound", "shader", "bound", "fault.wgsl"], "{command}");
        let pairs = words[4..]
            .chunks(2)
            .map(|pair| (pair[0].strip_prefix("--").expect("an option"), pair[1]));
        pairs.filter(|(name, _)| *name != "set").collect()
    }

    /// Returns the options of the bounding shader that such a command compiles, as in
    /// `cli/variant.rs`.
    fn compiled_options(given: &BTreeMap<&str, &str>) -> Options {
        let relation = |name| {
            Relation::ALL
                .iter()
                .copied()
                .find(|relation| relation.name() == name)
                .expect("a relation")
        };
        let mode = given["mode"];
        assert!(mode == "related" || !given.contains_key("relations"), "{given:?}");
        Options {
            sides: match given.get("sides") {
                None => BoundSides::Both,
                Some(&"upper") => BoundSides::Upper,
                Some(&"lower") => BoundSides::Lower,
                Some(other) => panic!("unknown sides `{other}`"),
            },
            nan: match given["nan"] {
                "propagate" => Nan::Propagate,
                "suppress" => Nan::Suppress,
                "ignore" => Nan::Ignore,
                other => panic!("unknown NaN mode `{other}`"),
            },
            tracking: match mode {
                "naive" => Tracking::NONE,
                "optimized" | "related" => Tracking::ALL,
                other => panic!("unknown mode `{other}`"),
            },
            relations: match given.get("relations") {
                _ if mode != "related" => Relations::NONE,
                None => Relations::all(),
                Some(names) => names.split(',').map(relation).collect(),
            },
            ..Options::default()
        }
    }

    #[test]
    fn report_names_all_options_that_commands_lack() {
        let mut noted = BTreeSet::new();
        for seed in 0..400 {
            let mut trial = Trial::new(seed, &[Target::best()]);
            trial.frame = Frame::Local;
            let has_loops = ["for (", "while (", "loop {"]
                .iter()
                .any(|word| trial.module.to_string().contains(word));
            let splits =
                [1].into_iter().chain(trial.plan.splits.iter().copied()).collect::<Vec<_>>();
            for (options, parts) in
                trial.plan.groups.concat().iter().flat_map(|o| splits.iter().map(move |&p| (o, p)))
            {
                let inputs = ["wi.x", "wi.y", "wi.z", "wo.x", "wo.y", "wo.z"];
                let fault = Fault {
                    options: *options,
                    parts,
                    endpoints: inputs.map(|name| (name.into(), Type::F32, [0, 0x3f80_0000])).into(),
                    ..Fault::without_box(FaultKind::OutsideBounds, "", trial.target, "")
                };
                let text = report(&trial, &fault);
                let command = text
                    .lines()
                    .find(|line| line.starts_with("lightbound shader bound"))
                    .expect("the report has a `shader bound` command");
                let given = parse(command);
                let compiled = compiled_options(&given);
                let has_note = |note: &str| {
                    text.lines().any(|line| line.starts_with('(') && line.contains(note))
                };
                let mut expect = |differs: bool, note: &str| {
                    assert_eq!(differs, has_note(note), "{note}: {text}");
                    if differs {
                        noted.insert(note.split(' ').next().map(str::to_owned));
                    }
                };
                expect(has_loops, &format!("loop cap {}", options.loop_cap));
                expect(trial.bounds_all_values, "bounds on all values");
                expect(compiled.tracking != options.tracking, "naive selection of cases");
                let same =
                    Options { tracking: options.tracking, loop_cap: options.loop_cap, ..compiled };
                assert_eq!(same, *options, "{text}");
                let ranges =
                    if given.contains_key("ranges") { Ranges::Paper } else { Ranges::Declared };
                assert_eq!(ranges, trial.ranges, "{text}");
                assert_eq!(
                    given.get("split").map_or(1, |parts| parts.parse().expect("a number")),
                    parts,
                    "{text}"
                );
                assert_eq!(Target::from_str(given["target"]), Ok(trial.target), "{text}");
                let names =
                    ["mode", "relations", "nan", "sides", "ranges", "split", "target", "wi", "wo"];
                assert!(given.keys().all(|name| names.contains(name)), "{text}");
            }
        }
        assert_eq!(noted.len(), 3, "{noted:?}");
    }
}
