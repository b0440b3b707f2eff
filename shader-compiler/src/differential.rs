//! Machine code against the interpreter, bit for bit: what the differential tests and the long runs of `benches` share.

mod reduce;

pub use reduce::reduce;

use crate::ir::random::{self, Options};
use crate::ir::verify::{verify, verify_lowered};
use crate::ir::{Builder, Emit, Function, Op, Rules, Type};
use crate::jit::Arena;
use crate::kernel::{Batch, Kernel};
use crate::target::Target;
use crate::{interpreter, passes};
use std::fmt;

/// Rounds after which an interpreted evaluation is taken to be endless.
const ROUNDS: u64 = 1 << 24;

/// A row of inputs for which machine code and interpreter differ.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Mismatch {
    /// The function's name.
    pub function: String,
    /// Which code.
    pub target: Target,
    /// Number of the row.
    pub row: usize,
    /// Its words.
    pub inputs: Vec<u32>,
    /// Name of the first output that differs.
    pub output: String,
    /// What the interpreter says.
    pub expected: u32,
    /// What machine code says.
    pub found: u32,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { function, target, row, inputs, output, expected, found } = self;
        write!(
            f,
            "`{function}` on {target}, row {row}: `{output}` is {found:#010x} instead of {expected:#010x} for {inputs:#010x?}"
        )
    }
}

/// Whether two words are the same value: all bits, but one NaN is as good as another.
pub fn same(ty: Type, a: u32, b: u32) -> bool {
    a == b || ty == Type::F32 && f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan()
}

/// Runs `lowered`, compiled for an available target, over rows of inputs; it must equal what the interpreter makes of `function`.
pub fn check(function: &Function, lowered: &Function, target: Target, rows: &[Vec<u32>]) -> Result<(), Box<Mismatch>> {
    let kernel = Kernel::compile(&Arena::new(), lowered, target).expect("the target is available");
    let mut inputs = Batch::new(target, function.inputs.len(), rows.len());
    let mut outputs = Batch::new(target, function.outputs.len(), rows.len());
    for (row, words) in rows.iter().enumerate() {
        for (port, &bits) in words.iter().enumerate() {
            inputs.set_bits(row, port, bits);
        }
    }
    kernel.run(&inputs, &mut outputs);
    for (row, words) in rows.iter().enumerate() {
        let expected = interpreter::run(function, words, ROUNDS).expect("loops end");
        for (k, (&expected, port)) in std::iter::zip(&expected, &function.outputs).enumerate() {
            let found = outputs.bits(row, k);
            if !same(port.ty, expected, found) {
                let (function, output) = (function.name.clone(), port.name.clone());
                return Err(Box::new(Mismatch { function, target, row, inputs: words.clone(), output, expected, found }));
            }
        }
    }
    Ok(())
}

/// Lowers a function, and checks it for several targets.
pub fn check_all(function: &Function, targets: &[Target], rows: &[Vec<u32>]) -> Result<(), Box<Mismatch>> {
    let lowered = passes::lower(function);
    verify_lowered(&lowered).unwrap_or_else(|error| panic!("{}, lowered: {error}\n{function}", function.name));
    targets.iter().try_for_each(|&target| check(function, &lowered, target, rows))
}

/// A random function and inputs: as it was made, optimized, or made as a lowered one, which is then taken as it is.
#[derive(Clone, Debug)]
pub struct Graph {
    /// What the interpreter runs.
    pub function: Function,
    /// Whether it is fit for back ends.
    pub lowered: bool,
    /// Inputs.
    pub rows: Vec<Vec<u32>>,
}

impl Graph {
    /// The graph of a seed, with that many rows of inputs.
    pub fn new(seed: u64, rows: usize) -> Graph {
        let lowered = seed.is_multiple_of(4);
        let mut function = random::function(seed, &Options::any(seed, lowered));
        if seed % 4 == 1 {
            function = passes::optimize(&function);
            verify(&function).unwrap_or_else(|error| panic!("{}, optimized: {error}\n{function}", function.name));
        }
        let rows = random::rows(&function.inputs, rows, seed);
        Graph { function, lowered, rows }
    }

    /// Checks the graph for several targets.
    pub fn check(&self, targets: &[Target]) -> Result<(), Box<Mismatch>> {
        let Graph { function, lowered, rows } = self;
        match lowered {
            true => targets.iter().try_for_each(|&target| check(function, function, target, rows)),
            false => check_all(function, targets, rows),
        }
    }

    /// A smaller graph that is wrong on a target, if this one is.
    pub fn reduced(&self, target: Target) -> Graph {
        let with = |function: &Function| Graph { function: function.clone(), ..self.clone() };
        let wrong = |function: &Function| verify(function).is_ok() && with(function).check(&[target]).is_err();
        with(&reduce(&self.function, wrong))
    }
}

/// The targets that this machine runs.
pub fn targets() -> Vec<Target> {
    Target::ALL.into_iter().filter(|target| target.is_available()).collect()
}

/// A function of one operation, with an input for each argument; `select` is of floats.
pub fn op_function(op: Op) -> Function {
    let mut builder = Builder::new(op.name(), Rules::Exact);
    let args = op.signature().args.iter().zip(["a", "b", "c"]);
    let args: Vec<_> = args.map(|(ty, name)| builder.input(name, ty.unwrap_or(Type::F32))).collect();
    let value = builder.op(op, &args);
    builder.finish([("r".to_owned(), value)])
}
