//! Shared test support: [random functions and inputs](random), and bit-exact comparison of machine
//! code with the interpreter.
//!
//! The module is available in unit tests of this crate, and in other crates with the feature
//! `testing`.

pub mod random;

use crate::builder::{Builder, Rules};
use crate::interpreter;
use crate::ir::{Emit, Function, Op, Type};
use crate::jit::Arena;
use crate::kernel::{Batch, Kernel};
use crate::target::Target;
use crate::texture::{Access, TextureState};
use std::fmt;

/// Limit on loop iterations of an interpreted evaluation.
const MAX_ITERATIONS: u64 = 1 << 24;

/// A difference between machine code and the interpreter for a row of inputs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Mismatch {
    /// Name of the function.
    pub function: String,
    /// The target of the machine code.
    pub target: Target,
    /// Index of the row.
    pub row: usize,
    /// The words of the row.
    pub inputs: Vec<u32>,
    /// Name of the first output that differs.
    pub output: String,
    /// The interpreter's result.
    pub expected: u32,
    /// The machine code's result.
    pub actual: u32,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { function, target, row, inputs, output, expected, actual } = self;
        write!(
            f,
            "`{function}` on {target}, row {row}: `{output}` is {actual:#010x} \
             instead of {expected:#010x} for {inputs:#010x?}"
        )
    }
}

/// Whether two words represent the same value: equal bits, or both NaN.
pub fn same(ty: Type, a: u32, b: u32) -> bool {
    a == b || ty == Type::F32 && f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan()
}

/// Compiles `lowered` for an available target, runs it over rows of inputs, and compares the
/// results with those of `function` in the interpreter.
///
/// # Errors
///
/// Returns the first mismatch.
pub fn check(
    function: &Function,
    lowered: &Function,
    target: Target,
    rows: &[Vec<u32>],
) -> Result<(), Box<Mismatch>> {
    let kernel = Kernel::compile(&Arena::new(), lowered, target).expect("the target is available");
    let mut inputs = Batch::new(target, function.inputs.len(), rows.len());
    let mut outputs = Batch::new(target, function.outputs.len(), rows.len());
    for (row, words) in rows.iter().enumerate() {
        for (port, &bits) in words.iter().enumerate() {
            inputs.set_bits(row, port, bits);
        }
    }
    let tables = random::tables();
    kernel.run_on(&tables, &inputs, &mut outputs);
    for (row, words) in rows.iter().enumerate() {
        let expected =
            interpreter::run(function, &tables, words, MAX_ITERATIONS).expect("loops terminate");
        for (k, (&expected, port)) in std::iter::zip(&expected, &function.outputs).enumerate() {
            let actual = outputs.bits(row, k);
            if !same(port.ty, expected, actual) {
                let (function, output) = (function.name.clone(), port.name.clone());
                return Err(Box::new(Mismatch {
                    function,
                    target,
                    row,
                    inputs: words.clone(),
                    output,
                    expected,
                    actual,
                }));
            }
        }
    }
    Ok(())
}

/// The targets that this machine can run.
pub fn targets() -> Vec<Target> {
    Target::ALL.into_iter().filter(|target| target.is_available()).collect()
}

/// A function that consists of a single operation, with an input for each argument. `select`
/// selects floats, `load` reads a table of three words, and texture lookups read an image of 3 × 4
/// texels.
pub fn op_function(op: Op) -> Function {
    let mut builder = Builder::new(op.name(), Rules::Exact);
    let args = op.signature().args.iter().zip(["a", "b", "c"]);
    let mut args: Vec<_> =
        args.map(|(ty, name)| builder.input(name, ty.unwrap_or(Type::F32))).collect();
    if op.is_load() {
        let image = Access::new(0, 1, TextureState::default());
        args[0] =
            builder.i32((if op == Op::Load { random::THREE_WORDS } else { image.pack() }) as i32);
    }
    let value = builder.op(op, &args);
    builder.finish([("r".to_owned(), value)])
}
