//! Kernels that count the instructions they execute.

use super::{Batch, with_tables};
use crate::backend::x86::Code;
use crate::error::CompileError;
use crate::ir::Function;
use crate::jit::{Arena, Routine};
use crate::target::Target;
use crate::texture::Texture;

/// An instrumented copy of a kernel for x86-64: the same code, except that each basic block starts
/// by incrementing a counter.
#[derive(Clone, Debug)]
pub struct InstrumentedKernel {
    routine: Routine,
    target: Target,
    ports: (usize, usize),
    tables: usize,
    /// Number of instructions of each block, without the counting ones.
    sizes: Vec<usize>,
}

impl InstrumentedKernel {
    /// Compiles a lowered function for a target of x86-64.
    ///
    /// *Errors*: the target is another one, this machine cannot run its code, or the code cannot be
    /// [loaded](Arena::load).
    pub fn compile(
        arena: &Arena,
        function: &Function,
        target: Target,
    ) -> Result<InstrumentedKernel, CompileError> {
        let isa = target.isa().filter(|_| target.is_available());
        let code = Code::instrumented(function, isa.ok_or(CompileError::Unavailable(target))?);
        let ports = (function.inputs.len(), function.outputs.len());
        Ok(InstrumentedKernel {
            routine: arena.load(&code)?,
            target,
            ports,
            tables: function.tables(),
            sizes: code.block_sizes(),
        })
    }

    /// How often the kernel executes each of its basic blocks for these inputs, summed over all
    /// groups.
    ///
    /// *Panics* if there are fewer textures than the function reads, or if the batch differs from
    /// the function in its ports or from the target in its lanes.
    pub fn block_counts(&self, textures: &[&Texture], inputs: &Batch) -> Vec<u64> {
        assert_eq!(
            (inputs.lanes(), inputs.ports()),
            (self.target.lanes(), self.ports.0),
            "the batch is for the function"
        );
        let mut outputs = Batch::new(self.target, self.ports.1, inputs.rows());
        let mut counters = vec![0; self.sizes.len()];
        with_tables(textures, self.tables, |tables| {
            self.routine.run(
                inputs.groups(),
                tables,
                inputs.words(),
                outputs.words_mut(),
                &mut counters,
            );
        });
        counters
    }

    /// Number of machine instructions that the kernel executes for these inputs, summed over all
    /// groups.
    ///
    /// *Panics* as [`block_counts`](InstrumentedKernel::block_counts) does.
    pub fn executed(&self, textures: &[&Texture], inputs: &Batch) -> u64 {
        let counts = self.block_counts(textures, inputs);
        std::iter::zip(counts, &self.sizes).map(|(count, &size)| count * size as u64).sum()
    }
}
