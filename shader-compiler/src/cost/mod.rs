//! What code costs: instructions, static and executed, and time; and what the instructions are for.
//!
//! A [`Candidate`] is a function with machine code and inputs. Candidates that are compared are [measured](measure) in one process,
//! in turn: in each round, each of them runs once over all its groups to bring code and data near, and once again against the clock.
//! The least time over all rounds counts, so that ratios hold where clock rates wander and neighbours disturb. Time is in
//! ticks of the time-stamp counter, which goes at one rate whatever the processor's clock does: ratios of ticks are ratios of cycles.
//!
//! All figures are per group, that is, per 4 or 8 evaluations.

pub mod boxes;
mod breakdown;

pub use breakdown::{Breakdown, breakdown};

use crate::backend::x86::Code;
use crate::ir::Function;
use crate::jit::{Arena, ticks};
use crate::kernel::{Batch, CompileError, Kernel, Twin};
use crate::passes;
use crate::target::Target;
use crate::texture::Texture;
use std::time::{Duration, Instant};

/// What one group costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Machine instructions of the code.
    pub instructions: usize,
    /// Machine instructions executed, on average.
    pub executed: f64,
    /// Ticks of the time-stamp counter, on average, in the fastest round.
    pub ticks: f64,
}

/// Code and inputs to run it on.
#[derive(Clone, Debug)]
pub struct Candidate {
    kernel: Kernel,
    twin: Twin,
    instructions: usize,
    inputs: Batch,
    outputs: Batch,
}

impl Candidate {
    /// Compiles a function, lowered or not, for a target that is not the interpreter; `rows` are the bits of its inputs.
    ///
    /// *Panics* if a row has not a word for each input.
    pub fn new(function: &Function, target: Target, rows: &[Vec<u32>]) -> Result<Candidate, CompileError> {
        let (arena, lowered) = (Arena::new(), passes::lower(function));
        let kernel = Kernel::compile(&arena, &lowered, target)?;
        let twin = Twin::compile(&arena, &lowered, target)?;
        let instructions = Code::compile(&lowered, target).counts().total;
        let mut inputs = Batch::new(target, lowered.inputs.len(), rows.len());
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(row.len(), lowered.inputs.len(), "a word for each input");
            inputs.set_row(index, 0, row);
        }
        // Lanes behind the last row would be zeros otherwise, on which a loop may run long.
        inputs.truncate(rows.len());
        let outputs = Batch::new(target, lowered.outputs.len(), rows.len());
        Ok(Candidate { kernel, twin, instructions, inputs, outputs })
    }

    /// Evaluates all rows.
    ///
    /// *Panics* if there are fewer textures than the function reads.
    pub fn run(&mut self, textures: &[&Texture]) -> &Batch {
        self.kernel.run(textures, &self.inputs, std::hint::black_box(&mut self.outputs));
        &self.outputs
    }
}

/// The costs of candidates, from so many rounds, or fewer once there is no more time: code may run long. `progress` is told the fraction
/// that is done, after each round.
///
/// *Panics* if there are fewer textures than a function reads.
pub fn measure(
    candidates: &mut [Candidate],
    textures: &[&Texture],
    rounds: usize,
    time: Duration,
    progress: &dyn Fn(f64),
) -> Vec<Cost> {
    let begin = Instant::now();
    let mut least = vec![u64::MAX; candidates.len()];
    for round in 1..=rounds.max(1) {
        for (candidate, least) in candidates.iter_mut().zip(&mut least) {
            candidate.run(textures);
            let start = ticks();
            candidate.run(textures);
            *least = (*least).min(ticks().saturating_sub(start));
        }
        let elapsed = begin.elapsed();
        progress((round as f64 / rounds.max(1) as f64).max(elapsed.as_secs_f64() / time.as_secs_f64()).min(1.0));
        if elapsed > time {
            break;
        }
    }
    let costs = std::iter::zip(candidates, least).map(|(candidate, least)| {
        let groups = candidate.inputs.groups() as f64;
        let executed = candidate.twin.executed(textures, &candidate.inputs) as f64 / groups;
        Cost { instructions: candidate.instructions, executed, ticks: least as f64 / groups }
    });
    costs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;
    use std::cell::RefCell;

    #[test]
    fn longer_code_costs_more() {
        let text = |steps: usize| {
            let mut text = "fn f(x: f32) -> (y: f32) {\n".to_owned();
            (0..steps).for_each(|k| {
                text += &format!("%{} = sqrt {}\n", k + 1, if k == 0 { "x".to_owned() } else { format!("%{k}") })
            });
            text + &format!("return %{steps}\n}}\n")
        };
        let rows = vec![vec![2f32.to_bits()]; 64];
        for target in Target::ALL.into_iter().filter(|&target| target.is_available() && target != Target::Interpreter) {
            let candidate =
                |steps| Candidate::new(&parse(&text(steps)).expect("it is well formed"), target, &rows).expect("it runs");
            let mut candidates = [candidate(1), candidate(40)];
            let told = RefCell::new(vec![]);
            let [short, long] =
                measure(&mut candidates, &[], 50, Duration::MAX, &|fraction| told.borrow_mut().push(fraction))[..]
            else {
                panic!("a cost for each")
            };
            // Square root, store, return; the upper halves of AVX2's registers are cleared.
            assert!((3..=4).contains(&short.instructions), "{short:?}");
            assert_eq!(long.instructions, short.instructions + 39);
            assert_eq!((short.executed, long.executed), (short.instructions as f64, long.instructions as f64));
            assert!(long.ticks > 2.0 * short.ticks, "{short:?} {long:?}");
            assert!(candidates[0].run(&[]).get(63, 0) == 2f32.sqrt());
            assert_eq!(told.into_inner(), (1..=50).map(|round| f64::from(round) / 50.0).collect::<Vec<_>>());
        }
    }
}
