//! Loading of machine code into executable memory.
//!
//! An [`Arena`] holds the code of many functions, for example of all shaders of a scene. It maps
//! memory in large chunks, copies each function to its own pages and makes these executable. The
//! operating system merges adjacent executable pages into one mapping, so tens of thousands of
//! functions stay far below its limit on mappings. Code lives as long as the arena, which lives as
//! long as any [`Routine`] in it.
//!
//! Code is called with the System V calling convention on every operating system. Rust supports it
//! on Windows too, where the compiler saves the registers that are callee-saved there (rdi, rsi and
//! xmm6 to xmm15) around the call. So all systems share one prologue.
//!
//! This module and its submodule are the crate's only unsafe code. They trust the
//! [backends](crate::backend): the bytes of a [`MachineCode`] are a function that reads its inputs
//! and tables, writes its outputs and counters, and touches no other memory. A shader may compute
//! any table index; the code clamps it to the last index, which the [`Table`] holds.
#![allow(unsafe_code)]

mod memory;

use crate::backend::MachineCode;
use crate::error::CompileError;
use crate::ir::Table;
use memory::Chunk;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// Largest stack frame in bytes. Threads have stacks of one or two megabytes.
const MAX_FRAME: usize = 256 << 10;

macro_rules! entry_point {
    ($abi:literal) => {
        /// The type of machine code: takes the inputs and outputs of one group, the tables, and
        /// the block counters.
        pub type EntryPoint =
            unsafe extern $abi fn(*const u32, *mut u32, *const Table<'static>, *mut u64);
    };
}
#[cfg(target_arch = "x86_64")]
entry_point!("sysv64");
#[cfg(not(target_arch = "x86_64"))]
entry_point!("C");

/// Memory for code. Clones share it.
#[derive(Clone, Default)]
pub struct Arena(Arc<Mutex<Vec<Chunk>>>);

impl Arena {
    /// Creates an arena without code. It maps no memory yet.
    pub fn new() -> Arena {
        Arena::default()
    }

    /// Loads code into executable memory.
    ///
    /// # Errors
    ///
    /// Fails if the stack frame is too large, or if the system provides no memory.
    ///
    /// # Panics
    ///
    /// Panics if this machine cannot run the code; see
    /// [`Target::is_available`](crate::Target::is_available).
    pub fn load(&self, code: impl AsRef<MachineCode>) -> Result<Routine, CompileError> {
        let code = code.as_ref();
        assert!(code.is_available, "this machine cannot run the code");
        if code.frame > MAX_FRAME {
            return Err(CompileError::Stack(code.frame));
        }
        let start = self.seal(&code.bytes).map_err(CompileError::Memory)?;
        // SAFETY: the entry is within the code, and the bytes there are a function of this type.
        let function =
            unsafe { std::mem::transmute::<*const u8, EntryPoint>(start.as_ptr().add(code.entry)) };
        Ok(Routine {
            function,
            inputs: code.inputs * code.lanes,
            outputs: code.outputs * code.lanes,
            tables: code.tables,
            counters: code.counters,
            alignment: 4 * code.lanes,
            arena: self.clone(),
        })
    }

    fn seal(&self, bytes: &[u8]) -> std::io::Result<NonNull<u8>> {
        // A panic leaves the chunks in a valid state, since `sealed` grows last.
        let mut chunks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if chunks.last().is_none_or(|chunk| !chunk.has_room(bytes.len())) {
            chunks.push(Chunk::map(bytes.len())?);
        }
        chunks.last_mut().expect("there is a chunk").seal(bytes)
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena").finish_non_exhaustive()
    }
}

/// Loaded code, callable from any thread.
#[derive(Clone, Debug)]
pub struct Routine {
    function: EntryPoint,
    /// Input words of a group.
    inputs: usize,
    /// Output words of a group.
    outputs: usize,
    tables: usize,
    counters: usize,
    /// Alignment of inputs and outputs in bytes, a power of two.
    alignment: usize,
    /// Keeps the code in memory.
    #[allow(dead_code, reason = "holding it keeps the code alive")]
    arena: Arena,
}

impl Routine {
    /// Runs the code once for each of `groups` consecutive groups.
    ///
    /// # Panics
    ///
    /// Panics if a slice is too short, or not aligned to the target's SIMD registers.
    pub fn run(
        &self,
        groups: usize,
        tables: &[Table<'_>],
        inputs: &[u32],
        outputs: &mut [u32],
        counters: &mut [u64],
    ) {
        self.run_passes(1, groups, tables, inputs, outputs, counters);
    }

    /// Like [`run`](Routine::run), but repeats the run over all groups `passes` times, without
    /// checks in between.
    ///
    /// # Panics
    ///
    /// Panics if a slice is too short, or not aligned to the target's SIMD registers.
    pub fn run_passes(
        &self,
        passes: usize,
        groups: usize,
        tables: &[Table<'_>],
        inputs: &[u32],
        outputs: &mut [u32],
        counters: &mut [u64],
    ) {
        assert!(
            groups.checked_mul(self.inputs).is_some_and(|words| words <= inputs.len()),
            "the inputs are too short for {groups} groups"
        );
        assert!(
            groups.checked_mul(self.outputs).is_some_and(|words| words <= outputs.len()),
            "the outputs are too short for {groups} groups"
        );
        assert!(
            self.tables <= tables.len(),
            "the code reads {} tables, not {}",
            self.tables,
            tables.len()
        );
        assert!(self.counters <= counters.len(), "there are fewer counters than basic blocks");
        let misaligned = (inputs.as_ptr().addr() | outputs.as_ptr().addr()) & (self.alignment - 1);
        assert!(misaligned == 0, "the inputs or outputs are not aligned");
        for _ in 0..passes {
            let (mut input, mut output) = (inputs.as_ptr(), outputs.as_mut_ptr());
            for _ in 0..groups {
                // SAFETY: the code reads `inputs` words and writes `outputs` words and `counters`
                // counters per group. The assertions above ensure that the slices are long enough
                // and that the first group is aligned. The size of a group is a multiple of the
                // register size, so all other groups are aligned too. The code also reads `base`
                // and `last` of the first `tables` tables, which exist, as asserted, and the words
                // from `base` up to index `last`. A table points to these words and borrows them
                // for as long as `tables` is borrowed; its fields cannot be changed one by one.
                // The code writes none of them, since outputs and counters are borrowed mutably.
                // The arena keeps the code, and `load` checked that this machine can run it.
                unsafe {
                    (self.function)(input, output, tables.as_ptr().cast(), counters.as_mut_ptr());
                    input = input.add(self.inputs);
                    output = output.add(self.outputs);
                }
            }
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::backend::x86::{Code, Isa};
    use crate::builder::{Builder, Rules};
    use crate::ir::{Emit, Op, Type};
    use crate::target::Target;

    /// Number of memory mappings of this process, which the system limits; zero if not on Linux.
    fn mappings() -> usize {
        std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count())
    }

    #[test]
    fn thousands_of_functions_share_few_mappings() {
        if !Target::Sse.is_available() {
            return;
        }
        let mut b = Builder::new("square", Rules::Exact);
        let x = b.input("x", Type::F32);
        let square = b.op(Op::Mul, &[x, x]);
        let code = Code::compile(&b.finish([("square".to_owned(), square)]), Isa::Sse41);
        let before = mappings();
        let arena = Arena::new();
        let routines: Vec<_> =
            (0..10_000).map(|_| arena.load(&code).expect("there is memory")).collect();
        // Other tests map memory at the same time, but less.
        assert!(mappings() < before + 1000, "{before} mappings became {}", mappings());
        let mut outputs = crate::Batch::new(Target::Sse, 1, 4);
        let mut inputs = crate::Batch::new(Target::Sse, 1, 4);
        inputs.set(3, 0, 3.0);
        for routine in &routines {
            outputs.set(3, 0, 0.0);
            routine.run(1, &[], inputs.words(), outputs.words_mut(), &mut []);
            assert_eq!(outputs.get(3, 0), 9.0);
        }
    }

    #[test]
    #[should_panic(expected = "the outputs are too short for 1 groups")]
    fn short_slices_are_rejected() {
        let mut b = Builder::new("copy", Rules::Exact);
        let x = b.input("x", Type::F32);
        let code = Code::compile(&b.finish([("x".to_owned(), x)]), Isa::Sse41);
        let inputs = crate::Batch::new(Target::Sse, 1, 4);
        let routine = Arena::new().load(&code).expect("there is memory");
        routine.run(1, &[], inputs.words(), &mut [], &mut []);
    }
}
