//! The cost of code: static and executed instructions, measured time, predicted time, and
//! instructions by purpose.
//!
//! A [`Candidate`] is machine code with inputs. Candidates are [measured](measure()) in one process
//! against the first of them, the reference. Costs are per SIMD group, that is, per 4 or 8
//! evaluations.

pub mod boxes;
mod breakdown;
mod clock;
mod measure;
mod statistics;
pub mod throughput;
mod ticks;

pub use breakdown::{Breakdown, breakdown};
pub use clock::cpu_name;
pub use measure::{Budget, Measurement, PLACEMENTS, measure};
pub use statistics::Estimate;
pub use ticks::ticks;

use lightbound_shader::CompileError;
use lightbound_shader::backend::x86::Code;
use lightbound_shader::ir::{Function, Table};
use lightbound_shader::jit::{Arena, Routine};
use lightbound_shader::kernel::{Batch, InstrumentedKernel};
use lightbound_shader::passes;
use lightbound_shader::target::Target;
use lightbound_shader::texture::Texture;

/// The cost of one SIMD group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Static machine instructions.
    pub instructions: usize,
    /// Mean number of executed machine instructions.
    pub executed: f64,
    /// Mean number of cycles that the [throughput model](throughput) predicts.
    pub model: f64,
    /// Core cycles or ticks of the time-stamp counter. The confidence interval is that of the ratio
    /// to the reference, times the reference's median. For the reference, it is that of its time.
    pub time: Estimate,
}

/// Machine code and inputs to run it on.
#[derive(Debug)]
pub struct Candidate {
    /// Copies of the code at several addresses.
    placements: Vec<Routine>,
    /// A copy of the code that counts executions of basic blocks.
    instrumented: InstrumentedKernel,
    code: Code,
    /// Number of textures that the function reads.
    tables: usize,
    inputs: Batch,
    outputs: Batch,
}

impl Candidate {
    /// Lowers and compiles a function. `rows` are the bits of its inputs.
    ///
    /// # Panics
    ///
    /// Panics if the target is the interpreter, or if the length of a row is not the number of
    /// inputs.
    pub fn new(
        function: &Function,
        target: Target,
        rows: &[Vec<u32>],
    ) -> Result<Candidate, CompileError> {
        Candidate::from_lowered(&passes::lower(function), target, rows)
    }

    /// Compiles a lowered function. Otherwise like [`new`](Candidate::new).
    ///
    /// # Panics
    ///
    /// Panics like `new`.
    pub fn from_lowered(
        lowered: &Function,
        target: Target,
        rows: &[Vec<u32>],
    ) -> Result<Candidate, CompileError> {
        let arena = Arena::new();
        let instrumented = InstrumentedKernel::compile(&arena, lowered, target)?;
        let isa = target.isa().expect("candidates are compiled for x86-64 targets");
        let code = Code::compile(lowered, isa);
        let placements = (0..PLACEMENTS).map(|_| arena.load(&code)).collect::<Result<_, _>>()?;
        let mut inputs = Batch::new(target, lowered.inputs.len(), rows.len());
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(
                row.len(),
                lowered.inputs.len(),
                "the length of a row must be the number of inputs"
            );
            inputs.set_row(index, 0, row);
        }
        // Fill the unused SIMD lanes: with inputs of 0, a loop may run long.
        inputs.truncate(rows.len());
        let outputs = Batch::new(target, lowered.outputs.len(), rows.len());
        Ok(Candidate { placements, instrumented, code, tables: lowered.tables(), inputs, outputs })
    }

    /// Copies the code and the inputs to other memory.
    fn duplicate(&self) -> Candidate {
        let arena = Arena::new();
        let load =
            |_| arena.load(&self.code).expect("there is memory for another copy of the code");
        Candidate {
            placements: self.placements.iter().map(load).collect(),
            instrumented: self.instrumented.clone(),
            code: self.code.clone(),
            tables: self.tables,
            inputs: self.inputs.clone(),
            outputs: self.outputs.clone(),
        }
    }

    /// Evaluates all rows. Returns the outputs.
    ///
    /// # Panics
    ///
    /// Panics if there are fewer textures than the function reads.
    pub fn run(&mut self, textures: &[&Texture]) -> &Batch {
        let (routine, groups) = (&self.placements[0], self.inputs.groups());
        let tables = tables(textures, self.tables);
        routine.run(groups, &tables, self.inputs.words(), self.outputs.words_mut(), &mut []);
        &self.outputs
    }

    /// Returns the number of words of all inputs and of all outputs.
    fn words(&self) -> [usize; 2] {
        [self.inputs.words().len(), self.outputs.words().len()]
    }

    /// Prepares a function that evaluates all rows `passes` times with one placement of the code,
    /// and passes it to `around`.
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
        let tables = tables(textures, self.tables);
        let routine = &self.placements[placement];
        around(&mut || {
            routine.run_passes(passes, groups, &tables, inputs, outputs, &mut []);
        });
    }

    /// Returns the cost per SIMD group, given the time of all rows.
    fn cost(&self, textures: &[&Texture], time: Estimate) -> Cost {
        let groups = self.inputs.groups() as f64;
        let counts = self.instrumented.block_counts(textures, &self.inputs);
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

/// Returns the tables of the first `count` textures.
fn tables<'t>(textures: &[&'t Texture], count: usize) -> Vec<Table<'t>> {
    assert!(count <= textures.len(), "the function reads {count} textures, not {}", textures.len());
    textures[..count].iter().map(|texture| Table::new(texture.words())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::ir::text::parse;
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
                Candidate::new(
                    &parse(&text(steps)).expect("the text is well formed"),
                    target,
                    &rows,
                )
                .expect("the target is available")
            };
            let mut candidates = [candidate(1), candidate(40), candidate(40)];
            let fractions = RefCell::new(vec![]);
            let budget = Budget {
                max_rounds: 50,
                min_time: Duration::ZERO,
                max_time: Duration::MAX,
                precision: 0.0,
            };
            let measurement = measure(&candidates, &[], &budget, &|fraction| {
                fractions.borrow_mut().push(fraction)
            });
            let [short, long, equal] = measurement.costs[..] else {
                panic!("measure returned {} costs for 3 candidates", measurement.costs.len())
            };
            // Square root, store, return. AVX2 code also clears the upper halves of registers.
            assert!((3..=4).contains(&short.instructions), "{short:?}");
            assert_eq!(long.instructions, short.instructions + 39);
            assert_eq!(
                (short.executed, long.executed),
                (short.instructions as f64, long.instructions as f64)
            );
            assert!(long.time.median > 2.0 * short.time.median, "{short:?} {long:?}");
            // The limits are generous, since other tests run at the same time.
            assert!(
                (0.5..2.0).contains(&(equal.time.median / long.time.median)),
                "{long:?} {equal:?}"
            );
            assert!(long.model > 20.0 * short.model, "{short:?} {long:?}");
            assert!(candidates[0].run(&[]).get(63, 0) == 2f32.sqrt());
            assert_eq!(
                fractions.into_inner(),
                (1..=50).map(|round| f64::from(round) / 50.0).collect::<Vec<_>>()
            );
        }
    }
}
