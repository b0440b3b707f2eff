//! What the order of values decides in the shaders of the repository, beyond static bounds.

use super::*;
use crate::bounding::{IntervalInputs, Ranges as InputRanges};
use crate::ir::function::for_each_stmt;
use crate::lift::{Lifted, Options};
use std::path::Path;

/// Operations of one kind: all, those that static bounds decide, those that only the order decides.
type Counts = [usize; 3];

/// What is counted.
const KINDS: [&str; 5] =
    ["differences", "quotients", "minima, maxima", "comparisons of floats", "checks of integers"];

/// Counts what is decided in a point shader.
fn count(Lifted { sunk, bounds, .. }: &Lifted) -> [Counts; KINDS.len()] {
    let mut ranges = Ranges::with_bounds(sunk, bounds);
    let mut counts = [Counts::default(); KINDS.len()];
    for_each_stmt(&sunk.body, &mut |stmt| {
        let Stmt::Op(value) = stmt else { return };
        let Some((op, &[a, b])) = sunk.operation(*value) else { return };
        let hull = |value: Value| match &bounds[value.index()] {
            Bounds::Float(floats) if !floats.nan => {
                floats.pieces.hull().map(|ends| ends.map(f64::from))
            }
            Bounds::Int(ints) => ints.hull().map(|ends| ends.map(f64::from)),
            _ => None,
        };
        let (Some(x), Some(y)) = (hull(a), hull(b)) else { return };
        let is_static = x[1] <= y[0] || y[1] <= x[0];
        let kind = match op {
            Op::Sub => 0,
            // Only those of known sign are at most or at least 1.
            Op::Div if x[0] >= 0.0 && y[0] >= 0.0 => 1,
            Op::Min | Op::Max => 2,
            Op::Lt | Op::Le => 3,
            Op::SLt | Op::ULt | Op::SMin | Op::SMax | Op::UMin | Op::UMax => 4,
            _ => return,
        };
        let order = ranges.compare(a, b, ranges.region_of(*value));
        let is_ordered = order.is_le || order.is_ge || order.is_less || order.is_greater;
        counts[kind][0] += 1;
        counts[kind][1] += usize::from(is_static);
        counts[kind][2] += usize::from(!is_static && is_ordered);
    });
    counts
}

/// The files with an extension in a folder and the folders in it.
fn shaders(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            shaders(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "wgsl") {
            found.push(path);
        }
    }
}

#[test]
#[ignore = "prints a table: cargo test -p lightbound-shader --lib symbolic::tests::uses -- --ignored --nocapture"]
fn uses_of_orders() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut paths = vec![];
    for folder in ["assets/shaders", "scenes", "shader-compiler/study/shaders", "renderer/core/src"]
    {
        shaders(&root.join(folder), &mut paths);
    }
    paths.sort();
    println!("| shader, frame | {} |", KINDS.join(" | "));
    println!("|---|{}", "---|".repeat(KINDS.len()));
    let mut total = [Counts::default(); KINDS.len()];
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy();
        let Ok(shader) = Shader::parse(&name, &text) else { continue };
        for frame in [Frame::Local, Frame::World] {
            let Ok(integrand) = Integrand::new(&shader, &Settings::default(), frame) else {
                continue;
            };
            let inputs = integrand.inputs(IntervalInputs::All, InputRanges::Declared);
            let counts = count(&integrand.bound(&inputs, &Options::default()));
            let cells = counts.map(|[all, fixed, ordered]| format!("{all}, {fixed}, {ordered}"));
            println!("| {name}, {frame:?} | {} |", cells.join(" | "));
            for (total, counts) in std::iter::zip(&mut total, counts) {
                std::iter::zip(total, counts).for_each(|(total, count)| *total += count);
            }
        }
    }
    println!("{total:?}");
}
