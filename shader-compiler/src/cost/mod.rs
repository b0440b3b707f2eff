//! What code costs: instructions, static and executed, time, and predicted time; and what the
//! instructions are for.
//!
//! A [`Candidate`] is a function with machine code and inputs. Candidates that are compared are
//! [measured](measure()) in one process against one of them, the reference. All figures are per
//! group, that is, per 4 or 8 evaluations.

pub mod boxes;
mod breakdown;
mod clock;
mod measure;
mod statistics;
pub mod throughput;

pub use breakdown::{Breakdown, breakdown};
pub use clock::cpu_name;
pub use measure::{Budget, Measurement, PLACEMENTS, measure};
pub use statistics::Estimate;

use crate::backend::x86::Code;
use crate::ir::Function;
use crate::jit::{Arena, Routine};
use crate::kernel::{Batch, CompileError, Twin, with_tables};
use crate::passes;
use crate::target::Target;
use crate::texture::Texture;

/// What one group costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Machine instructions of the code.
    pub instructions: usize,
    /// Machine instructions executed, on average.
    pub executed: f64,
    /// Cycles that the [throughput model](throughput) predicts, on average.
    pub model: f64,
    /// Ticks of the time-stamp counter, or cycles, on average. The interval is that of the ratio to
    /// the reference, times the reference's median; the reference has that of its own time.
    pub time: Estimate,
}

/// Code and inputs to run it on.
#[derive(Debug)]
pub struct Candidate {
    /// The same code in several places.
    placements: Vec<Routine>,
    twin: Twin,
    code: Code,
    tables: usize,
    inputs: Batch,
    outputs: Batch,
}

impl Candidate {
    /// Lowers and compiles a function for a target that is not the interpreter; `rows` are the bits
    /// of its inputs.
    ///
    /// *Panics* if a row has not a word for each input.
    pub fn new(
        function: &Function,
        target: Target,
        rows: &[Vec<u32>],
    ) -> Result<Candidate, CompileError> {
        Candidate::of_lowered(&passes::lower(function), target, rows)
    }

    /// As [`new`](Candidate::new), for a function that is lowered already: lowering one again is
    /// not allowed.
    ///
    /// *Panics* as that does.
    pub fn of_lowered(
        lowered: &Function,
        target: Target,
        rows: &[Vec<u32>],
    ) -> Result<Candidate, CompileError> {
        let arena = Arena::new();
        let twin = Twin::compile(&arena, lowered, target)?;
        let code = Code::compile(lowered, target);
        let placements = (0..PLACEMENTS).map(|_| arena.load(&code)).collect::<Result<_, _>>()?;
        let mut inputs = Batch::new(target, lowered.inputs.len(), rows.len());
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(row.len(), lowered.inputs.len(), "a word for each input");
            inputs.set_row(index, 0, row);
        }
        // Lanes behind the last row would be zeros otherwise, on which a loop may run long.
        inputs.truncate(rows.len());
        let outputs = Batch::new(target, lowered.outputs.len(), rows.len());
        Ok(Candidate { placements, twin, code, tables: lowered.tables(), inputs, outputs })
    }

    /// The same code and inputs in other memory.
    fn duplicate(&self) -> Candidate {
        let arena = Arena::new();
        let load = |_| arena.load(&self.code).expect("there is memory for the same code once more");
        Candidate {
            placements: self.placements.iter().map(load).collect(),
            twin: self.twin.clone(),
            code: self.code.clone(),
            tables: self.tables,
            inputs: self.inputs.clone(),
            outputs: self.outputs.clone(),
        }
    }

    /// Evaluates all rows.
    ///
    /// *Panics* if there are fewer textures than the function reads.
    pub fn run(&mut self, textures: &[&Texture]) -> &Batch {
        let (routine, groups) = (&self.placements[0], self.inputs.groups());
        with_tables(textures, self.tables, |tables| {
            routine.run(groups, tables, self.inputs.words(), self.outputs.words_mut(), &mut []);
        });
        &self.outputs
    }

    /// Number of words of all inputs, and of all outputs.
    fn words(&self) -> [usize; 2] {
        [self.inputs.words().len(), self.outputs.words().len()]
    }

    /// Prepares to evaluate all rows so many times, by the code in one of the places; `around` is
    /// given what does it.
    fn run_passes(
        &self,
        placement: usize,
        passes: usize,
        textures: &[&Texture],
        inputs: &[u32],
        outputs: &mut [u32],
        around: impl FnOnce(&mut dyn FnMut()),
    ) {
        let groups = self.inputs.groups();
        with_tables(textures, self.tables, |tables| {
            around(&mut || {
                self.placements[placement].run_passes(
                    passes,
                    groups,
                    tables,
                    inputs,
                    outputs,
                    &mut [],
                )
            });
        });
    }

    fn cost(&self, textures: &[&Texture], time: Estimate) -> Cost {
        let groups = self.inputs.groups() as f64;
        let counts = self.twin.block_counts(textures, &self.inputs);
        let executed = std::iter::zip(&counts, self.code.block_sizes())
            .map(|(count, size)| count * size as u64)
            .sum::<u64>();
        Cost {
            instructions: self.code.counts().total,
            executed: executed as f64 / groups,
            model: throughput::cycles(&self.code, &counts) / groups,
            time: time.scaled(1.0 / groups),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;
    use std::cell::RefCell;
    use std::time::Duration;

    #[test]
    fn longer_code_costs_more() {
        let text = |steps: usize| {
            let mut text = "fn f(x: f32) -> (y: f32) {\n".to_owned();
            (0..steps).for_each(|k| {
                text += &format!(
                    "%{} = sqrt {}\n",
                    k + 1,
                    if k == 0 { "x".to_owned() } else { format!("%{k}") }
                )
            });
            text + &format!("return %{steps}\n}}\n")
        };
        let rows = vec![vec![2f32.to_bits()]; 64];
        for target in Target::ALL
            .into_iter()
            .filter(|&target| target.is_available() && target != Target::Interpreter)
        {
            let candidate = |steps| {
                Candidate::new(&parse(&text(steps)).expect("it is well formed"), target, &rows)
                    .expect("it runs")
            };
            let mut candidates = [candidate(1), candidate(40), candidate(40)];
            let told = RefCell::new(vec![]);
            let budget = Budget {
                max_rounds: 50,
                min_time: Duration::ZERO,
                max_time: Duration::MAX,
                precision: 0.0,
            };
            let measurement =
                measure(&candidates, &[], &budget, &|fraction| told.borrow_mut().push(fraction));
            let [short, long, equal] = measurement.costs[..] else { panic!("a cost for each") };
            // Square root, store, return; the upper halves of AVX2's registers are cleared.
            assert!((3..=4).contains(&short.instructions), "{short:?}");
            assert_eq!(long.instructions, short.instructions + 39);
            assert_eq!(
                (short.executed, long.executed),
                (short.instructions as f64, long.instructions as f64)
            );
            assert!(long.time.median > 2.0 * short.time.median, "{short:?} {long:?}");
            // Far from each other only if something is wrong: tests run beside others.
            assert!(
                (0.5..2.0).contains(&(equal.time.median / long.time.median)),
                "{long:?} {equal:?}"
            );
            assert!(long.model > 20.0 * short.model, "{short:?} {long:?}");
            assert!(candidates[0].run(&[]).get(63, 0) == 2f32.sqrt());
            assert_eq!(
                told.into_inner(),
                (1..=50).map(|round| f64::from(round) / 50.0).collect::<Vec<_>>()
            );
        }
    }
}
