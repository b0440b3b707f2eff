//! Faults of programs as readers want them: the program, and command lines that show the fault again.

use super::trial::Trial;
use crate::bounding::{Frame, Ranges};
use crate::containment::{Fault, Wrong};
use crate::frontend::{Scalar, Shader};
use crate::interval::Nan;
use crate::lift::{Options, Sides, Tracking};
use crate::relations::{Relation, Relations};
use std::fmt::Write;

/// What is wrong, the program, and how to see it on the command line where that can be told there.
pub fn report(trial: &Trial, fault: &Fault) -> String {
    let mut text = format!("{fault}cat > fault.wgsl <<'END'\n{}END\n", trial.module);
    if matches!(fault.wrong, Wrong::Panics | Wrong::Rejected) || fault.ends.is_empty() {
        text.push_str("lightbound shader check fault.wgsl\n");
        return text;
    }
    if trial.frame != Frame::Local {
        text.push_str("(directions in the world: not for the command line)\n");
        return text;
    }
    if trial.module.to_string().contains("texture_2d") {
        text.push_str("(textures are those of `ir::random::images`)\n");
    }
    let scalars = scalars(trial);
    let scalar = |name: &str| scalars.iter().find(|(known, _)| known == name).map_or(Scalar::F32, |(_, scalar)| *scalar);
    let inputs = |words: &dyn Fn(usize) -> String| {
        let (mut line, mut vectors) = (String::new(), [vec![], vec![]]);
        for (k, (name, ..)) in fault.ends.iter().enumerate() {
            match name.split_once('.') {
                Some(("wi", _)) => vectors[0].push(words(k)),
                Some(("wo", _)) => vectors[1].push(words(k)),
                _ => _ = write!(line, " --set {name}={}", words(k)),
            }
        }
        format!("--wi {} --wo {}{line}", vectors[0].join(","), vectors[1].join(","))
    };
    let bound = inputs(&|k| {
        let (name, _, [low, high]) = &fault.ends[k];
        let show = |bits| shown(scalar(name), bits);
        let is_interval = low != high || trial.spans == crate::bounding::Spans::All || name.starts_with("wi.");
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
        let member = inputs(&|k| shown(scalar(&fault.ends[k].0), member[k]));
        _ = writeln!(text, "lightbound shader eval fault.wgsl --target {} {member}", fault.target);
    }
    text
}

/// Types of the words of parameters, by name.
fn scalars(trial: &Trial) -> Vec<(String, Scalar)> {
    let Ok(shader) = Shader::parse("fault.wgsl", &trial.module.to_string()) else { return vec![] };
    let words = |parameter: &crate::frontend::Parameter| {
        let scalar = parameter.scalar;
        parameter.words().map(|name| (name, scalar)).collect::<Vec<_>>()
    };
    shader.parameters().iter().flat_map(words).collect()
}

fn shown(scalar: Scalar, bits: u32) -> String {
    match scalar {
        Scalar::F32 => format!("{:?}", f32::from_bits(bits)),
        Scalar::I32 => (bits as i32).to_string(),
        Scalar::U32 => bits.to_string(),
        Scalar::Bool => (bits != 0).to_string(),
    }
}

/// Options of a bounding shader as the command line has them.
fn options(options: &Options) -> String {
    let Options { sides, nan, tracking, relations, .. } = options;
    let mode = match (*relations, *tracking) {
        (Relations::NONE, Tracking::NONE) => "naive",
        (Relations::NONE, _) => "optimized",
        _ => "related",
    };
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
        Sides::Both => "",
        Sides::Upper => " --sides upper",
        Sides::Lower => " --sides lower",
    };
    format!("--mode {mode}{relations} --nan {nan}{sides}")
}
