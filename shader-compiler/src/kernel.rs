//! Compiled functions, and the batches of inputs and outputs that they run over.

use crate::backend::x86::Code;
use crate::interpreter;
use crate::ir::{Function, Port, Table};
use crate::jit::{Arena, Routine};
use crate::target::Target;
use crate::texture::Texture;

/// A 32-byte piece of a batch, aligned as the widest registers want it.
#[derive(Clone, Copy, Debug, Default, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(32))]
struct Piece([u32; 8]);

/// Words for many evaluations, laid out in groups of a target's lanes.
///
/// *Shape*: `[group][port][lane]`; row r is lane r mod lanes of group r ÷ lanes.
#[derive(Clone, Debug)]
pub struct Batch {
    lanes: usize,
    ports: usize,
    rows: usize,
    pieces: Vec<Piece>,
}

impl Batch {
    /// Zeros for `rows` evaluations with `ports` words each, for targets of this number of lanes.
    pub fn new(target: Target, ports: usize, rows: usize) -> Batch {
        let lanes = target.lanes();
        let words = rows.div_ceil(lanes) * lanes * ports;
        Batch { lanes, ports, rows, pieces: vec![Piece::default(); words.div_ceil(8)] }
    }

    /// Changes the number of words of an evaluation, and of evaluations. Words stay if their number
    /// does, even those of evaluations that there are not for a while; else what they are then is
    /// not said.
    pub fn reshape(&mut self, ports: usize, rows: usize) {
        (self.ports, self.rows) = (ports, rows);
        let pieces = (self.groups() * self.lanes * self.ports).div_ceil(8);
        if pieces > self.pieces.len() {
            self.pieces.resize(pieces, Piece::default());
        }
    }

    /// Sets words of an evaluation that follow each other, from port `first` on.
    #[inline]
    pub fn set_row(&mut self, row: usize, first: usize, words: &[u32]) {
        assert!(
            row < self.rows && first + words.len() <= self.ports,
            "row {row} of {}, port {first} and on",
            self.rows
        );
        let (lanes, index) = (self.lanes, self.index_of(row, first));
        let all: &mut [u32] = bytemuck::cast_slice_mut(&mut self.pieces);
        for (k, &bits) in words.iter().enumerate() {
            all[index + k * lanes] = bits;
        }
    }

    /// Sets a port of all evaluations, each to a word of its own.
    #[inline]
    pub fn set_port(&mut self, port: usize, words: &[u32]) {
        assert!(
            port < self.ports && words.len() == self.rows,
            "port {port} of {}, {} words",
            self.ports,
            words.len()
        );
        let (lanes, ports) = (self.lanes, self.ports);
        let all: &mut [u32] = bytemuck::cast_slice_mut(&mut self.pieces);
        for (group, words) in words.chunks(lanes).enumerate() {
            copy(&mut all[(group * ports + port) * lanes..][..words.len()], words);
        }
    }

    /// Sets a port of evaluations that follow each other, each to a word of its own; `row` is the
    /// first one, and of a group.
    #[inline]
    pub fn set_rows(&mut self, row: usize, port: usize, words: &[u32]) {
        assert!(
            port < self.ports && row + words.len() <= self.rows,
            "port {port} of {}, row {row} and on",
            self.ports
        );
        assert!(row & (self.lanes - 1) == 0, "row {row} is not the first of a group");
        let (lanes, ports, first) = (self.lanes, self.ports, self.index_of(row, port));
        let all: &mut [u32] = bytemuck::cast_slice_mut(&mut self.pieces);
        for (group, words) in words.chunks(lanes).enumerate() {
            copy(&mut all[first + group * ports * lanes..][..words.len()], words);
        }
    }

    /// Reads a port of evaluations that follow each other, from `row` on, which is the first of a
    /// group.
    #[inline]
    pub fn read_rows(&self, row: usize, port: usize, words: &mut [u32]) {
        assert!(
            port < self.ports && row + words.len() <= self.rows,
            "port {port} of {}, row {row} and on",
            self.ports
        );
        assert!(row & (self.lanes - 1) == 0, "row {row} is not the first of a group");
        let (stride, first) = (self.ports * self.lanes, self.index_of(row, port));
        let all: &[u32] = bytemuck::cast_slice(&self.pieces);
        for (group, words) in words.chunks_mut(self.lanes).enumerate() {
            copy(words, &all[first + group * stride..][..words.len()]);
        }
    }

    /// Sets a port of all evaluations to the same word, in lanes beyond the last row too.
    #[inline]
    pub fn fill_port(&mut self, port: usize, bits: u32) {
        assert!(port < self.ports, "port {port} of {}", self.ports);
        let (lanes, ports, groups) = (self.lanes, self.ports, self.groups());
        let all: &mut [u32] = bytemuck::cast_slice_mut(&mut self.pieces);
        for group in 0..groups {
            all[(group * ports + port) * lanes..][..lanes].fill(bits);
        }
    }

    /// Reads a port of all evaluations.
    #[inline]
    pub fn read_port(&self, port: usize, words: &mut [u32]) {
        assert!(
            port < self.ports && words.len() == self.rows,
            "port {port} of {}, {} words",
            self.ports,
            words.len()
        );
        let all: &[u32] = bytemuck::cast_slice(&self.pieces);
        for (group, words) in words.chunks_mut(self.lanes).enumerate() {
            copy(words, &all[(group * self.ports + port) * self.lanes..][..words.len()]);
        }
    }

    /// Copies `count` words of an evaluation of another batch, from port `there` on, to port `here`
    /// and on.
    #[inline]
    pub fn copy_row(
        &mut self,
        row: usize,
        here: usize,
        other: &Batch,
        other_row: usize,
        there: usize,
        count: usize,
    ) {
        assert!(
            row < self.rows
                && here + count <= self.ports
                && other_row < other.rows
                && there + count <= other.ports
        );
        let (to, from) = (self.index_of(row, here), other.index_of(other_row, there));
        let (to_lanes, from_lanes) = (self.lanes, other.lanes);
        let source: &[u32] = bytemuck::cast_slice(&other.pieces);
        let all: &mut [u32] = bytemuck::cast_slice_mut(&mut self.pieces);
        for k in 0..count {
            all[to + k * to_lanes] = source[from + k * from_lanes];
        }
    }

    /// Ends the batch after so many evaluations. Lanes of the last group behind them repeat the
    /// last one: code runs over them as well, and what is left there from before could keep a loop
    /// going.
    pub fn truncate(&mut self, rows: usize) {
        assert!(rows <= self.rows, "{rows} of {} rows", self.rows);
        self.rows = rows;
        let Some(last) = rows.checked_sub(1) else { return };
        let behind = self.lanes - 1 - (last & (self.lanes - 1));
        for port in 0..self.ports {
            let index = self.index_of(last, port);
            let all: &mut [u32] = bytemuck::cast_slice_mut(&mut self.pieces);
            let bits = all[index];
            all[index + 1..][..behind].fill(bits);
        }
    }

    /// The words of an evaluation that follow each other, from port `first` on, as floats.
    #[inline]
    pub fn floats<const N: usize>(&self, row: usize, first: usize) -> [f32; N] {
        assert!(
            row < self.rows && first + N <= self.ports,
            "row {row} of {}, port {first} and on",
            self.rows
        );
        let (words, index): (&[u32], usize) =
            (bytemuck::cast_slice(&self.pieces), self.index_of(row, first));
        std::array::from_fn(|k| f32::from_bits(words[index + k * self.lanes]))
    }

    /// Number of evaluations.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of words of an evaluation.
    pub fn ports(&self) -> usize {
        self.ports
    }

    /// Number of lanes of a group.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        (self.rows + self.lanes - 1) >> self.lanes.trailing_zeros()
    }

    /// All words, `[group][port][lane]`; lanes of the last group beyond the last row among them.
    pub fn words(&self) -> &[u32] {
        &bytemuck::cast_slice(&self.pieces)[..self.groups() * self.lanes * self.ports]
    }

    /// All words, to be changed.
    pub fn words_mut(&mut self) -> &mut [u32] {
        let words = self.groups() * self.lanes * self.ports;
        &mut bytemuck::cast_slice_mut(&mut self.pieces)[..words]
    }

    fn index(&self, row: usize, port: usize) -> usize {
        assert!(
            row < self.rows && port < self.ports,
            "row {row}, port {port} of {} × {}",
            self.rows,
            self.ports
        );
        self.index_of(row, port)
    }

    /// Without divisions, which would cost more than all else that is done to a row; lanes are a
    /// power of two.
    #[inline]
    fn index_of(&self, row: usize, port: usize) -> usize {
        let shift = self.lanes.trailing_zeros();
        (((row >> shift) * self.ports + port) << shift) + (row & (self.lanes - 1))
    }

    /// The bits of a word.
    pub fn bits(&self, row: usize, port: usize) -> u32 {
        self.words()[self.index(row, port)]
    }

    /// Sets the bits of a word.
    pub fn set_bits(&mut self, row: usize, port: usize, bits: u32) {
        let index = self.index(row, port);
        self.words_mut()[index] = bits;
    }

    /// A word, as a float.
    pub fn get(&self, row: usize, port: usize) -> f32 {
        f32::from_bits(self.bits(row, port))
    }

    /// Sets a word to a float.
    pub fn set(&mut self, row: usize, port: usize, x: f32) {
        self.set_bits(row, port, x.to_bits());
    }
}

/// Why no code could be made.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The target needs what this machine lacks.
    #[error("this machine does not run code for `{0}`")]
    Unavailable(Target),
    /// The code keeps more at a time than the stack of a thread should be asked to hold.
    #[error(
        "the function keeps {0} bytes at a time, more than fit on the stack: use fewer or smaller arrays"
    )]
    Stack(usize),
    /// The system gives no memory for code.
    #[error("no memory for machine code")]
    Memory(#[source] std::io::Error),
}

/// A function that can be run, from any thread.
#[derive(Clone, Debug)]
pub struct Kernel {
    target: Target,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    tables: usize,
    engine: Engine,
}

#[derive(Clone, Debug)]
enum Engine {
    Interpreter(Box<Function>),
    Native(Routine),
}

/// Rounds of all loops together in an interpreted evaluation: more than compiled shaders, whose
/// loops are capped, come to.
const ROUNDS: u64 = 1 << 40;

impl Kernel {
    /// Compiles a lowered function (for the interpreter, any) for a target; machine code goes to
    /// the arena, which the kernel keeps alive.
    pub fn compile(
        arena: &Arena,
        function: &Function,
        target: Target,
    ) -> Result<Kernel, CompileError> {
        if !target.is_available() {
            return Err(CompileError::Unavailable(target));
        }
        let engine = match target {
            Target::Interpreter => Engine::Interpreter(Box::new(function.clone())),
            _ => Engine::Native(arena.load(&Code::compile(function, target))?),
        };
        let (inputs, outputs) = (function.inputs.clone(), function.outputs.clone());
        Ok(Kernel { target, inputs, outputs, tables: function.tables(), engine })
    }

    /// What it was compiled for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// Words that an evaluation takes.
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// Words that an evaluation gives.
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// Evaluates all rows of `inputs` into `outputs`; `textures` are those of the shader, in the
    /// order of its declarations.
    ///
    /// *Panics* if there are fewer textures than the function reads, or if the batches do not have
    /// as many ports as the function, unequal rows, or are for another number of lanes.
    pub fn run(&self, textures: &[&Texture], inputs: &Batch, outputs: &mut Batch) {
        with_tables(textures, self.tables, |tables| self.run_on(tables, inputs, outputs));
    }

    /// As [`run`](Kernel::run), over tables, which textures are a kind of.
    ///
    /// *Panics* as that does.
    pub(crate) fn run_on(&self, tables: &[Table<'_>], inputs: &Batch, outputs: &mut Batch) {
        assert!(
            self.tables <= tables.len(),
            "the function reads {} tables, not {}",
            self.tables,
            tables.len()
        );
        let lanes = self.target.lanes();
        assert_eq!((inputs.lanes, outputs.lanes), (lanes, lanes), "batches are for {lanes} lanes");
        assert_eq!(
            (inputs.ports, outputs.ports),
            (self.inputs.len(), self.outputs.len()),
            "batches have the function's ports"
        );
        assert_eq!(inputs.rows, outputs.rows, "batches have equally many rows");
        match &self.engine {
            Engine::Native(routine) => {
                routine.run(inputs.groups(), tables, inputs.words(), outputs.words_mut(), &mut [])
            }
            Engine::Interpreter(function) => {
                for row in 0..inputs.rows {
                    let words: Vec<_> =
                        (0..inputs.ports).map(|port| inputs.bits(row, port)).collect();
                    let results =
                        interpreter::run(function, tables, &words, ROUNDS).expect("loops end");
                    for (port, bits) in results.into_iter().enumerate() {
                        outputs.set_bits(row, port, bits);
                    }
                }
            }
        }
    }
}

/// Copies words of a group; a whole one of the widest is a single move.
#[inline(always)]
fn copy(to: &mut [u32], from: &[u32]) {
    match (<&mut [u32; 8]>::try_from(&mut *to), <&[u32; 8]>::try_from(from)) {
        (Ok(to), Ok(from)) => *to = *from,
        _ => to.copy_from_slice(from),
    }
}

/// Calls `f` for the first `count` textures as tables.
pub(crate) fn with_tables(textures: &[&Texture], count: usize, f: impl FnOnce(&[Table<'_>])) {
    /// So many take no allocation, which would be felt in small batches.
    const FEW: usize = 8;
    assert!(count <= textures.len(), "the function reads {count} textures, not {}", textures.len());
    if count == 0 {
        return f(&[]);
    }
    let tables = textures[..count].iter().map(|texture| Table::new(texture.words()));
    if count > FEW {
        return f(&tables.collect::<Vec<_>>());
    }
    let mut few = [Table::new(&[0]); FEW];
    few.iter_mut().zip(tables).for_each(|(slot, table)| *slot = table);
    f(&few[..count]);
}

/// A kernel's twin that counts the instructions it executes: the same code, but each basic block
/// starts by counting itself.
#[derive(Clone, Debug)]
pub struct Twin {
    routine: Routine,
    target: Target,
    ports: (usize, usize),
    tables: usize,
    /// Instructions of each block, counting ones left out.
    sizes: Vec<usize>,
}

impl Twin {
    /// Compiles a lowered function for a target, which is not the interpreter.
    pub fn compile(
        arena: &Arena,
        function: &Function,
        target: Target,
    ) -> Result<Twin, CompileError> {
        if !target.is_available() || target == Target::Interpreter {
            return Err(CompileError::Unavailable(target));
        }
        let code = Code::instrumented(function, target);
        let ports = (function.inputs.len(), function.outputs.len());
        Ok(Twin {
            routine: arena.load(&code)?,
            target,
            ports,
            tables: function.tables(),
            sizes: code.block_sizes(),
        })
    }

    /// How often a kernel executes each of its basic blocks for these inputs, in all groups
    /// together.
    ///
    /// *Panics* if there are fewer textures than the function reads, or if the batch does not have
    /// as many ports as the function, or is for another number of lanes.
    pub fn block_counts(&self, textures: &[&Texture], inputs: &Batch) -> Vec<u64> {
        assert_eq!(
            (inputs.lanes, inputs.ports),
            (self.target.lanes(), self.ports.0),
            "the batch is for the function"
        );
        let mut outputs = Batch::new(self.target, self.ports.1, inputs.rows);
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

    /// Machine instructions that a kernel executes for these inputs, in all groups together.
    ///
    /// *Panics* as [`block_counts`](Twin::block_counts) does.
    pub fn executed(&self, textures: &[&Texture], inputs: &Batch) -> u64 {
        let counts = self.block_counts(textures, inputs);
        std::iter::zip(counts, &self.sizes).map(|(count, &size)| count * size as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::random::{self, Options, rows};
    use crate::ir::{Builder, Emit, Op, Rules, Type};

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

    /// As many as random functions read, of different sizes.
    fn textures() -> Vec<Texture> {
        (1..=4).map(|size| Texture::new(size, &vec![[size as f32; 4]; size as usize])).collect()
    }

    fn outputs(kernel: &Kernel, inputs: &Batch) -> Batch {
        let mut outputs = Batch::new(kernel.target(), kernel.outputs().len(), inputs.rows());
        let textures = textures();
        kernel.run(&textures.iter().collect::<Vec<_>>(), inputs, &mut outputs);
        outputs
    }

    /// The words of twelve textures at the index that is the input, on a target.
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
    fn textures_are_read_and_not_beyond_their_ends() {
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
    fn lanes_beyond_the_last_row_repeat_it() {
        for target in Target::ALL {
            let mut batch = Batch::new(target, 3, 16);
            batch.words_mut().fill(u32::MAX);
            batch.reshape(3, 12);
            let source = batch.clone();
            for row in 0..9 {
                batch.set_row(row, 0, &[row as u32, 10]);
                batch.copy_row(row, 2, &source, 11 - row, 1, 1);
                batch.set_row(row, 2, &[20]);
            }
            batch.truncate(9);
            let lanes = target.lanes();
            let row = |k: usize| {
                [0, 1, 2].map(|port| batch.words()[(k / lanes * 3 + port) * lanes + k % lanes])
            };
            for k in 0..batch.groups() * lanes {
                assert_eq!(row(k), [k.min(8) as u32, 10, 20], "{target}");
            }
        }
    }

    #[test]
    fn ports_are_set_and_read_as_a_whole() {
        for target in Target::ALL {
            let mut batch = Batch::new(target, 3, 11);
            let words: Vec<u32> = (100..111).collect();
            batch.fill_port(0, 7);
            batch.set_port(2, &words);
            assert!(
                (0..11)
                    .all(|row| [0, 1, 2].map(|port| batch.bits(row, port))
                        == [7, 0, 100 + row as u32]),
                "{target}"
            );
            let mut read = [0; 11];
            batch.read_port(2, &mut read);
            assert_eq!(read[..], words, "{target}");
            // Fewer rows, and then more again.
            batch.reshape(3, 2);
            batch.set_port(2, &[1, 2]);
            batch.reshape(3, 11);
            assert_eq!([0, 1, 2, 10].map(|row| batch.bits(row, 2)), [1, 2, 102, 110], "{target}");
            // Lanes beyond the last row have it too.
            assert!(
                batch
                    .words()
                    .chunks(target.lanes())
                    .step_by(3)
                    .all(|lanes| lanes.iter().all(|&bits| bits == 7)),
                "{target}"
            );
        }
    }

    #[test]
    #[should_panic(expected = "the function reads 12 textures, not 11")]
    fn textures_must_be_there() {
        let kernel = reader(Target::best());
        let texture = Texture::new(1, &[[0.0; 4]]);
        let (inputs, mut outputs) =
            (Batch::new(kernel.target(), 1, 8), Batch::new(kernel.target(), 2, 8));
        kernel.run(&[&texture; 11], &inputs, &mut outputs);
    }

    #[test]
    fn kernels_run_while_others_are_compiled() {
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
    fn kernels_keep_their_code() {
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
    fn rows_of_a_port_are_set_and_read_by_eights() {
        for target in Target::ALL {
            let (mut batch, words) = (Batch::new(target, 3, 24), [10, 11, 12, 13, 14, 15, 16, 17]);
            batch.set_rows(8, 2, &words);
            let set: Vec<_> = (0..24).map(|row| batch.bits(row, 2)).collect();
            assert_eq!(
                (&set[..8], &set[8..16], &set[16..]),
                (&[0; 8][..], &words[..], &[0; 8][..]),
                "{target:?}"
            );
            let mut read = [0; 8];
            batch.read_rows(8, 2, &mut read);
            assert_eq!(read, words, "{target:?}");
            batch.read_rows(8, 1, &mut read);
            assert_eq!(read, [0; 8], "{target:?}");
        }
    }

    #[test]
    fn words_stay_while_there_are_fewer_rows() {
        let mut batch = Batch::new(Target::best(), 3, 24);
        (0..24).for_each(|row| batch.set_row(row, 0, &[row as u32, 1, 2]));
        for rows in [5, 0, 17, 24] {
            batch.reshape(3, rows);
        }
        assert!((0..24).all(|row| batch.bits(row, 0) == row as u32 && batch.bits(row, 2) == 2));
    }

    #[test]
    #[should_panic(expected = "batches have the function's ports")]
    fn batches_must_fit() {
        let function = function(3);
        let kernel = Kernel::compile(&Arena::new(), &function, Target::best())
            .expect("the target is available");
        let inputs = Batch::new(kernel.target(), kernel.inputs().len() + 1, 8);
        outputs(&kernel, &inputs);
    }
}
