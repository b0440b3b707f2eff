//! Executable memory: machine code becomes something that can be called.
//!
//! An [`Arena`] holds all code of, say, a scene. It maps memory in large chunks, writable and not
//! executable; code is written to whole pages of it, which are then sealed: executable and not
//! writable. No page is ever both. Neighbouring sealed pages are one mapping to the kernel, so tens
//! of thousands of functions stay far below its limit on mappings. Sealed code lives as long as the
//! arena, which lives as long as any [`Routine`] in it.
//!
//! This is the crate's only unsafe code. What it trusts is the [back end](crate::backend::x86):
//! that the bytes of a [`Code`] are a function that reads its inputs and tables, writes its outputs
//! and counters, and touches no other memory. Indices of tables are whatever a shader computes; the
//! code limits each by the greatest one, which the [`Table`] tells it. Beside that, [`ticks`] asks
//! the processor for the time.
#![allow(unsafe_code)]

use crate::backend::x86::Code;
use crate::ir::Table;
use crate::kernel::CompileError;
use std::fmt;

/// Ticks of the time-stamp counter, in order with the instructions around; nanoseconds where there
/// is none.
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_lfence, _rdtsc};
        // SAFETY: both are SSE2 or older, which all of x86-64 has, and touch no memory.
        unsafe {
            _mm_lfence();
            let ticks = _rdtsc();
            _mm_lfence();
            ticks
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        use std::sync::OnceLock;
        use std::time::Instant;
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

#[cfg(not(all(unix, target_arch = "x86_64")))]
pub use foreign::{Arena, Routine};
#[cfg(all(unix, target_arch = "x86_64"))]
pub use native::{Arena, Routine};

impl Routine {
    /// Runs the code once for each of `groups` groups, which lie one after another.
    ///
    /// *Panics* if a slice is too short or not aligned to the target's vectors.
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
}

#[cfg(all(unix, target_arch = "x86_64"))]
mod native {
    use super::*;
    use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
    use std::ptr::{NonNull, null_mut};
    use std::sync::{Arc, Mutex, PoisonError};

    /// Bytes mapped at a time; more for code that is larger.
    const CHUNK: usize = 4 << 20;

    /// Greatest use of the stack, of which threads have two megabytes or less.
    pub(super) const MAX_FRAME: usize = 256 << 10;

    /// Size of a page on x86-64.
    const PAGE: usize = 4096;

    /// Memory for code; clones share it.
    #[derive(Clone, Default)]
    pub struct Arena(Arc<Mutex<Vec<Chunk>>>);

    /// A mapping. Its first bytes are sealed, the rest are free and writable.
    struct Chunk {
        start: NonNull<u8>,
        size: usize,
        sealed: usize,
    }

    // SAFETY: a chunk owns its mapping, which is not bound to a thread.
    unsafe impl Send for Chunk {}

    impl Chunk {
        fn map(size: usize) -> rustix::io::Result<Chunk> {
            // SAFETY: a new mapping at an address of the system's choice overlaps nothing.
            let start = unsafe {
                mmap_anonymous(
                    null_mut(),
                    size,
                    ProtFlags::READ | ProtFlags::WRITE,
                    MapFlags::PRIVATE,
                )
            }?;
            let start = NonNull::new(start.cast()).expect("mappings are not at zero");
            Ok(Chunk { start, size, sealed: 0 })
        }

        /// Copies code to fresh pages and seals them.
        fn seal(&mut self, bytes: &[u8]) -> rustix::io::Result<NonNull<u8>> {
            let size = pages(bytes.len());
            assert!(size <= self.size - self.sealed, "the caller has seen to space");
            // SAFETY: `sealed` is within the mapping, and `size` bytes from there are too. They are
            // writable, and no reference to them exists. Sealing touches whole pages beyond those
            // in use, since mappings and `sealed` are multiples of a page.
            unsafe {
                let at = self.start.add(self.sealed);
                at.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
                mprotect(at.as_ptr().cast(), size, MprotectFlags::READ | MprotectFlags::EXEC)?;
                self.sealed += size;
                Ok(at)
            }
        }
    }

    impl Drop for Chunk {
        fn drop(&mut self) {
            // SAFETY: the mapping is the chunk's own, and routines, which keep the arena, are gone.
            // An error could only be ignored.
            _ = unsafe { munmap(self.start.as_ptr().cast(), self.size) };
        }
    }

    fn pages(bytes: usize) -> usize {
        bytes.next_multiple_of(PAGE)
    }

    impl Arena {
        /// Without code yet.
        pub fn new() -> Arena {
            Arena::default()
        }

        /// Makes code callable. Fails if this machine cannot run it, or if memory cannot be had.
        pub fn load(&self, code: &Code) -> Result<Routine, CompileError> {
            if !code.target().is_available() {
                return Err(CompileError::Unavailable(code.target()));
            }
            if code.frame() > MAX_FRAME {
                return Err(CompileError::Stack(code.frame()));
            }
            let start =
                self.seal(code.bytes()).map_err(|errno| CompileError::Memory(errno.into()))?;
            let lanes = code.target().lanes();
            // SAFETY: the entry is within the code, and the bytes there are a function of this
            // type.
            let call =
                unsafe { std::mem::transmute::<*const u8, Call>(start.as_ptr().add(code.entry())) };
            Ok(Routine {
                call,
                inputs: code.inputs() * lanes,
                outputs: code.outputs() * lanes,
                tables: code.tables(),
                counters: code.counters(),
                alignment: 4 * lanes,
                arena: self.clone(),
            })
        }

        fn seal(&self, bytes: &[u8]) -> rustix::io::Result<NonNull<u8>> {
            // A panic elsewhere leaves the chunks as they should be: `sealed` grows last.
            let mut chunks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let size = pages(bytes.len());
            if chunks.last().is_none_or(|chunk| chunk.size - chunk.sealed < size) {
                chunks.push(Chunk::map(size.max(CHUNK))?);
            }
            chunks.last_mut().expect("there is a chunk").seal(bytes)
        }
    }

    impl fmt::Debug for Arena {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Arena").finish_non_exhaustive()
        }
    }

    type Call = unsafe extern "sysv64" fn(*const u32, *mut u32, *const Table<'static>, *mut u64);

    /// Code that can be called, from any thread.
    #[derive(Clone, Debug)]
    pub struct Routine {
        call: Call,
        /// Words of a group.
        inputs: usize,
        outputs: usize,
        /// How many are read.
        tables: usize,
        counters: usize,
        /// Bytes that inputs and outputs are aligned to, a power of two.
        alignment: usize,
        /// Keeps the code.
        #[allow(dead_code, reason = "it is held, not used")]
        arena: Arena,
    }

    impl Routine {
        /// Runs the code for each of `groups` groups, as [`run`](Routine::run) does, `passes` times
        /// over, without checks in between.
        ///
        /// *Panics* if a slice is too short or not aligned to the target's vectors.
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
                "inputs for all groups"
            );
            assert!(
                groups.checked_mul(self.outputs).is_some_and(|words| words <= outputs.len()),
                "outputs for all groups"
            );
            assert!(
                self.tables <= tables.len(),
                "{} tables are read, {} are there",
                self.tables,
                tables.len()
            );
            assert!(self.counters <= counters.len(), "a counter for each block");
            let misaligned =
                (inputs.as_ptr().addr() | outputs.as_ptr().addr()) & (self.alignment - 1);
            assert!(misaligned == 0, "inputs and outputs are aligned");
            for _ in 0..passes {
                let (mut input, mut output) = (inputs.as_ptr(), outputs.as_mut_ptr());
                for _ in 0..groups {
                    // SAFETY: the code reads `inputs` words and writes `outputs` words and
                    // `counters` counters, which the slices have, as was just asserted; groups are
                    // multiples of a vector, so all of them are aligned as the first is. It also
                    // reads the `base` and `last` of the first `tables` tables, which are there, as
                    // asserted, and words from `base` up to number `last`: a table has them,
                    // borrows them for as long as `tables` is borrowed, and cannot be made or
                    // changed but as a whole. Nothing that the code writes is among them, since
                    // outputs and counters are borrowed mutably. The arena keeps the code, and
                    // `load` has seen that the machine runs it.
                    unsafe {
                        (self.call)(input, output, tables.as_ptr().cast(), counters.as_mut_ptr());
                        input = input.add(self.inputs);
                        output = output.add(self.outputs);
                    }
                }
            }
        }
    }
}

/// Stands in where there is no machine code.
#[cfg(not(all(unix, target_arch = "x86_64")))]
mod foreign {
    use super::*;

    /// Memory for code, of which this machine runs none.
    #[derive(Clone, Default)]
    pub struct Arena(());

    impl Arena {
        /// Without code.
        pub fn new() -> Arena {
            Arena::default()
        }

        /// Fails.
        pub fn load(&self, code: &Code) -> Result<Routine, CompileError> {
            Err(CompileError::Unavailable(code.target()))
        }
    }

    impl fmt::Debug for Arena {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Arena").finish_non_exhaustive()
        }
    }

    /// Code that can be called, of which there is none.
    #[derive(Clone, Debug)]
    pub struct Routine(());

    impl Routine {
        /// Never called.
        pub fn run_passes(
            &self,
            _passes: usize,
            _groups: usize,
            _tables: &[Table<'_>],
            _inputs: &[u32],
            _outputs: &mut [u32],
            _counters: &mut [u64],
        ) {
            unreachable!("no code is loaded")
        }
    }
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::ir::{Builder, Emit, Op, Rules, Type};
    use crate::target::Target;

    /// Mappings of this process, of which the system allows a limited number.
    fn mappings() -> usize {
        std::fs::read_to_string("/proc/self/maps").expect("Linux lists mappings").lines().count()
    }

    #[test]
    fn thousands_of_functions_take_few_mappings() {
        if !Target::Sse.is_available() {
            return;
        }
        let mut b = Builder::new("square", Rules::Exact);
        let x = b.input("x", Type::F32);
        let square = b.op(Op::Mul, &[x, x]);
        let code = Code::compile(&b.finish([("square".to_owned(), square)]), Target::Sse);
        let before = mappings();
        let arena = Arena::new();
        let routines: Vec<_> =
            (0..10_000).map(|_| arena.load(&code).expect("there is memory")).collect();
        // Other tests map memory meanwhile, but not as much.
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
    #[should_panic(expected = "outputs for all groups")]
    fn slices_must_be_long_enough() {
        let mut b = Builder::new("copy", Rules::Exact);
        let x = b.input("x", Type::F32);
        let code = Code::compile(&b.finish([("x".to_owned(), x)]), Target::Sse);
        let inputs = crate::Batch::new(Target::Sse, 1, 4);
        let routine = Arena::new().load(&code).expect("there is memory");
        routine.run(1, &[], inputs.words(), &mut [], &mut []);
    }
}
