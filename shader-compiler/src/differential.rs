//! Machine code against the interpreter, bit for bit: what the differential tests and the long runs of `benches` share.

use crate::interpreter;
use crate::ir::{Builder, Emit, Function, Op, Rules, Type};
use crate::jit::Arena;
use crate::kernel::{Batch, Kernel};
use crate::target::Target;
use std::fmt;

/// Rounds after which an interpreted evaluation is taken to be endless.
const ROUNDS: u64 = 1 << 24;

/// A row of inputs for which machine code and interpreter differ.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// A function of one operation, with an input for each argument; `select` is of floats.
pub fn op_function(op: Op) -> Function {
    let mut builder = Builder::new(op.name(), Rules::Exact);
    let args = op.signature().args.iter().zip(["a", "b", "c"]);
    let args: Vec<_> = args.map(|(ty, name)| builder.input(name, ty.unwrap_or(Type::F32))).collect();
    let value = builder.op(op, &args);
    builder.finish([("r".to_owned(), value)])
}
