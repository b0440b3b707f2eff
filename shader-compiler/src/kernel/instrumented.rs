//! Kernels that count the instructions they execute.

use super::{Batch, with_tables};
use crate::backend::x86::Code;
use crate::error::CompileError;
use crate::ir::Function;
use crate::jit::{Arena, Routine};
use crate::target::Target;
use crate::texture::Texture;

/// An instrumented kernel for x86-64: the code of a [`Kernel`](super::Kernel), except that each
/// basic block starts by incrementing a counter.
#[derive(Clone, Debug)]
pub struct InstrumentedKernel {
    routine: Routine,
    target: Target,
    ports: (usize, usize),
    tables: usize,
    /// Number of instructions of each block, without the counter increments.
    sizes: Vec<usize>,
}

impl InstrumentedKernel {
    /// Compiles a lowered function for an x86-64 target.
    ///
    /// # Errors
    ///
    /// Fails if the target is not x86-64, if this machine cannot run its code, or if the code
    /// cannot be [loaded](Arena::load).
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

    /// Runs the kernel, and returns the execution count of each basic block, summed over all
    /// groups.
    ///
    /// # Panics
    ///
    /// Panics if there are fewer textures than the function reads, or if the number of ports or
    /// lanes of the batch is not that of the kernel.
    pub fn block_counts(&self, textures: &[&Texture], inputs: &Batch) -> Vec<u64> {
        assert_eq!(
            (inputs.lanes(), inputs.ports()),
            (self.target.lanes(), self.ports.0),
            "the numbers of lanes and ports of the batch and of the kernel differ"
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

    /// Runs the kernel, and returns the number of machine instructions executed, summed over all
    /// groups.
    ///
    /// # Panics
    ///
    /// Panics under the conditions of [`block_counts`](InstrumentedKernel::block_counts).
    pub fn executed(&self, textures: &[&Texture], inputs: &Batch) -> u64 {
        let counts = self.block_counts(textures, inputs);
        std::iter::zip(counts, &self.sizes).map(|(count, &size)| count * size as u64).sum()
    }
}
