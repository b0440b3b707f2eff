//! Kernels: compiled functions that evaluate batches of inputs.
//!
//! A kernel runs machine code if its target has a [backend](crate::backend), and the
//! [interpreter] otherwise.
//!
//! ```
//! use lightbound_shader::{Arena, Batch, Entry, Kernel, Settings, Shader, Target, passes};
//!
//! let shader = Shader::parse(
//!     "lambert.wgsl",
//!     "struct Material {
//!          /// Albedo. range: [0, 1], default: 0.5
//!          kd: f32,
//!      }
//!      fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.kd / 3.1415927); }",
//! )?;
//! let point = passes::optimize(&shader.function(Entry::Brdf, &Settings::default())?);
//! // Many shaders share an arena; batches can be reused from call to call.
//! let arena = Arena::new();
//! for target in [Target::best(), Target::Interpreter] {
//!     let kernel = Kernel::compile(&arena, &passes::lower(&point), target)?;
//!     let mut inputs = Batch::new(target, kernel.inputs().len(), 100);
//!     let mut outputs = Batch::new(target, kernel.outputs().len(), 100);
//!     for (port, x) in [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.25].into_iter().enumerate() {
//!         inputs.fill_port(port, f32::to_bits(x));
//!     }
//!     kernel.run(&[], &inputs, &mut outputs);
//!     assert_eq!(outputs.get(99, 0), 0.25 / 3.1415927);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod hoisted;
mod instrumented;

pub use batch::Batch;
pub use hoisted::HoistedKernel;
pub use instrumented::InstrumentedKernel;

use crate::builder::rewrite::liveness;
use crate::error::CompileError;
use crate::interpreter;
use crate::ir::{Def, Function, Port, Table, Type};
use crate::jit::{Arena, Routine};
use crate::target::Target;
use crate::texture::Texture;

/// A compiled function, callable from any thread.
#[derive(Clone, Debug)]
pub struct Kernel {
    target: Target,
    inputs: Vec<Port>,
    /// For each input port, whether the code reads it.
    reads: Vec<bool>,
    outputs: Vec<Port>,
    tables: usize,
    engine: Engine,
}

#[derive(Clone, Debug)]
enum Engine {
    Interpreter(Box<Function>),
    Native(Routine),
}

/// Limit on the loop iterations of an interpreted evaluation. The loops of shaders are capped, so
/// they never reach it.
const MAX_ITERATIONS: u64 = 1 << 40;

impl Kernel {
    /// Compiles a lowered function for a target; for the interpreter it need not be lowered. The
    /// arena holds the machine code, and the kernel keeps the arena alive.
    ///
    /// # Errors
    ///
    /// Fails if this machine cannot run the target's code, or if the code cannot be
    /// [loaded](Arena::load).
    pub fn compile(
        arena: &Arena,
        function: &Function,
        target: Target,
    ) -> Result<Kernel, CompileError> {
        if !target.is_available() {
            return Err(CompileError::Unavailable(target));
        }
        let engine = match target.backend() {
            None => Engine::Interpreter(Box::new(function.clone())),
            Some(backend) => Engine::Native(arena.load(backend.emit(function))?),
        };
        let mut reads = vec![false; function.inputs.len()];
        for (live, data) in liveness(function).into_iter().zip(&function.values) {
            if let Def::Input(port) = data.def {
                reads[port as usize] |= live;
            }
        }
        let (inputs, outputs) = (function.inputs.clone(), function.outputs.clone());
        Ok(Kernel { target, inputs, reads, outputs, tables: function.tables(), engine })
    }

    /// The target that the kernel was compiled for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The input ports.
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// Whether the results depend on an input port. Words of others need not be set: specialized code
    /// reads few parameters.
    pub fn reads(&self, port: usize) -> bool {
        self.reads[port]
    }

    /// The output ports.
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// Evaluates all rows of `inputs` into `outputs`. `textures` are in the order in which the
    /// shader declares them.
    ///
    /// # Panics
    ///
    /// Panics if there are fewer textures than the function reads, if the numbers of ports differ
    /// between batches and function, if the numbers of lanes differ between batches and target, or
    /// if the numbers of rows differ between the batches.
    pub fn run(&self, textures: &[&Texture], inputs: &Batch, outputs: &mut Batch) {
        with_tables(textures, self.tables, |tables| self.run_on(tables, inputs, outputs));
    }

    /// Evaluates rows of floats, one for each input, and returns rows of floats, one for each
    /// output.
    ///
    /// # Panics
    ///
    /// Panics under the conditions of [`run`](Kernel::run), or if the function does not have I
    /// inputs and O outputs, all of them floats.
    pub fn evaluate<const I: usize, const O: usize>(
        &self,
        textures: &[&Texture],
        rows: &[[f32; I]],
    ) -> Vec<[f32; O]> {
        let mut ports = self.inputs.iter().chain(&self.outputs);
        assert!(ports.all(|port| port.ty == Type::F32), "an input or output is not a float");
        let mut inputs = Batch::new(self.target, I, rows.len());
        let mut outputs = Batch::new(self.target, O, rows.len());
        for (row, words) in rows.iter().enumerate() {
            inputs.set_row(row, 0, bytemuck::cast_slice(words));
        }
        inputs.truncate(rows.len());
        self.run(textures, &inputs, &mut outputs);
        (0..rows.len()).map(|row| outputs.floats(row, 0)).collect()
    }

    /// The same as [`run`](Kernel::run), with tables instead of textures.
    ///
    /// # Panics
    ///
    /// Panics under the conditions of [`run`](Kernel::run).
    pub fn run_on(&self, tables: &[Table<'_>], inputs: &Batch, outputs: &mut Batch) {
        assert!(
            self.tables <= tables.len(),
            "the function reads {} tables, not {}",
            self.tables,
            tables.len()
        );
        let lanes = self.target.lanes();
        assert_eq!(
            (inputs.lanes(), outputs.lanes()),
            (lanes, lanes),
            "the numbers of lanes of the batches and of the target differ"
        );
        assert_eq!(
            (inputs.ports(), outputs.ports()),
            (self.inputs.len(), self.outputs.len()),
            "the numbers of ports of the batches and of the function differ"
        );
        assert_eq!(inputs.rows(), outputs.rows(), "the numbers of rows of the batches differ");
        match &self.engine {
            Engine::Native(routine) => {
                routine.run(inputs.groups(), tables, inputs.words(), outputs.words_mut(), &mut [])
            }
            Engine::Interpreter(function) => {
                for row in 0..inputs.rows() {
                    let words: Vec<_> =
                        (0..inputs.ports()).map(|port| inputs.bits(row, port)).collect();
                    let results = interpreter::run(function, tables, &words, MAX_ITERATIONS)
                        .expect("shader loops are capped");
                    for (port, bits) in results.into_iter().enumerate() {
                        outputs.set_bits(row, port, bits);
                    }
                }
            }
        }
    }
}

/// Calls `f` with the first `count` textures as tables.
pub(crate) fn with_tables(textures: &[&Texture], count: usize, f: impl FnOnce(&[Table<'_>])) {
    /// Number of tables that fit on the stack; an allocation would be noticeable for small batches.
    const INLINE_TABLES: usize = 8;
    assert!(count <= textures.len(), "the function reads {count} textures, not {}", textures.len());
    if count == 0 {
        return f(&[]);
    }
    let tables = textures[..count].iter().map(|texture| Table::new(texture.words()));
    if count > INLINE_TABLES {
        return f(&tables.collect::<Vec<_>>());
    }
    let mut inline = [Table::new(&[0]); INLINE_TABLES];
    inline.iter_mut().zip(tables).for_each(|(slot, table)| *slot = table);
    f(&inline[..count]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Builder, Rules};
    use crate::ir::{Emit, Op, Type};
    use crate::testing::random::{self, Options, rows};

    fn function(seed: u64) -> Function {
        random::function(
            seed,
            &Options { ops: 200, composite: false, ifs: true, loops: true, lowered: true },
        )
    }

    fn batch(function: &Function, target: Target) -> Batch {
        let mut batch = Batch::new(target, function.inputs.len(), 40);
        for (row, words) in rows(&function.inputs, 40, 1).iter().enumerate() {
            words.iter().enumerate().for_each(|(port, &bits)| batch.set_bits(row, port, bits));
        }
        batch
    }

    /// One texture for each that random functions read, with different sizes.
    fn textures() -> Vec<Texture> {
        (1..=6).map(|size| Texture::new(size, &vec![[size as f32; 4]; size as usize])).collect()
    }

    fn outputs(kernel: &Kernel, inputs: &Batch) -> Batch {
        let mut outputs = Batch::new(kernel.target(), kernel.outputs().len(), inputs.rows());
        let textures = textures();
        kernel.run(&textures.iter().collect::<Vec<_>>(), inputs, &mut outputs);
        outputs
    }

    /// A kernel that reads the word at the input index from the first and the last of twelve
    /// textures.
    fn reader(target: Target) -> Kernel {
        let mut b = Builder::new("read", Rules::Exact);
        let index = b.input("index", Type::I32);
        let words = [0, 11].map(|number| {
            let table = b.i32(number);
            (format!("word{number}"), b.op(Op::Load, &[table, index]))
        });
        Kernel::compile(&Arena::new(), &b.finish(words), target).expect("the target is available")
    }

    #[test]
    fn texture_reads_are_clamped_to_the_last_word() {
        let one = Texture::new(1, &[[1.0, 2.0, 3.0, 4.0]]);
        let two = Texture::new(2, &[[5.0; 4], [6.0, 7.0, 8.0, f32::INFINITY]]);
        let textures: Vec<_> = [&one; 11].into_iter().chain([&two]).collect();
        let indices: Vec<_> =
            (0..20).chain([1 << 29, i32::MAX as u32, 1 << 31, u32::MAX - 7, u32::MAX]).collect();
        for target in Target::ALL.into_iter().filter(|target| target.is_available()) {
            let kernel = reader(target);
            let mut inputs = Batch::new(target, 1, indices.len());
            let mut outputs = Batch::new(target, 2, indices.len());
            indices.iter().enumerate().for_each(|(row, &index)| inputs.set_bits(row, 0, index));
            kernel.run(&textures, &inputs, &mut outputs);
            for (row, &index) in indices.iter().enumerate() {
                for (port, texture) in [&one, &two].into_iter().enumerate() {
                    let words = texture.words();
                    let expected = *words.get(index as usize).unwrap_or(&words[words.len() - 1]);
                    assert_eq!(outputs.bits(row, port), expected, "{target}, word {index}");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "the function reads 12 textures, not 11")]
    fn missing_textures_are_rejected() {
        let kernel = reader(Target::best());
        let texture = Texture::new(1, &[[0.0; 4]]);
        let (inputs, mut outputs) =
            (Batch::new(kernel.target(), 1, 8), Batch::new(kernel.target(), 2, 8));
        kernel.run(&[&texture; 11], &inputs, &mut outputs);
    }

    #[test]
    fn kernels_run_while_others_are_compiled_into_the_same_arena() {
        let target = Target::best();
        let arena = Arena::new();
        let function = function(1);
        let kernel = Kernel::compile(&arena, &function, target).expect("the target is available");
        let inputs = batch(&function, target);
        let expected = outputs(&kernel, &inputs);
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        assert_eq!(outputs(&kernel, &inputs).words(), expected.words());
                    }
                });
            }
            for _ in 0..200 {
                let other =
                    Kernel::compile(&arena, &function, target).expect("the target is available");
                assert_eq!(outputs(&other, &inputs).words(), expected.words());
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }

    #[test]
    fn clones_keep_the_code_alive() {
        let target = Target::best();
        let function = function(2);
        let inputs = batch(&function, target);
        let kernel =
            Kernel::compile(&Arena::new(), &function, target).expect("the target is available");
        let copy = kernel.clone();
        let before = outputs(&kernel, &inputs);
        drop(kernel);
        assert_eq!(outputs(&copy, &inputs).words(), before.words());
    }

    #[test]
    #[should_panic(expected = "the numbers of ports of the batches and of the function differ")]
    fn mismatched_batches_are_rejected() {
        let function = function(3);
        let kernel = Kernel::compile(&Arena::new(), &function, Target::best())
            .expect("the target is available");
        let inputs = Batch::new(kernel.target(), kernel.inputs().len() + 1, 8);
        outputs(&kernel, &inputs);
    }
}
