//! Machine code against the interpreter, bit for bit: what the differential tests and the long runs
//! of `benches` share.

mod reduce;

pub use reduce::reduce;

use crate::ir::random::{self, Options};
use crate::ir::verify::{VerifyError, verify, verify_lowered};
use crate::ir::{Builder, Emit, Function, Op, Rules, Type};
use crate::jit::Arena;
use crate::kernel::{Batch, Kernel};
use crate::math::texture::Access;
use crate::target::Target;
use crate::texture::Lookup;
use crate::{interpreter, passes};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

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

/// Runs `lowered`, compiled for an available target, over rows of inputs; it must equal what the
/// interpreter makes of `function`.
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
        let expected = interpreter::run(function, &tables, words, ROUNDS).expect("loops end");
        for (k, (&expected, port)) in std::iter::zip(&expected, &function.outputs).enumerate() {
            let found = outputs.bits(row, k);
            if !same(port.ty, expected, found) {
                let (function, output) = (function.name.clone(), port.name.clone());
                return Err(Box::new(Mismatch {
                    function,
                    target,
                    row,
                    inputs: words.clone(),
                    output,
                    expected,
                    found,
                }));
            }
        }
    }
    Ok(())
}

/// What can be wrong with a function and what is made of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Machine code computes something else.
    #[error(transparent)]
    Mismatch(#[from] Box<Mismatch>),
    /// A pass made an invalid function.
    #[error("{stage}: {error}")]
    Invalid {
        /// What was made.
        stage: &'static str,
        /// What is wrong with it.
        error: VerifyError,
    },
    /// A pass or a back end panicked.
    #[error("panic: {0}")]
    Panic(String),
}

/// Lowers a function, and checks it for several targets.
pub fn check_all(
    function: &Function,
    targets: &[Target],
    rows: &[Vec<u32>],
) -> Result<(), Failure> {
    let lowered = passes::lower(function);
    verify_lowered(&lowered).map_err(|error| Failure::Invalid { stage: "lowered", error })?;
    Ok(targets.iter().try_for_each(|&target| check(function, &lowered, target, rows))?)
}

/// What is done to a random function before the interpreter runs it and machine code is made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is lowered for back ends.
    Lower,
    /// It is optimized, and lowered for back ends.
    Optimize,
    /// Nothing: it was made as a lowered one.
    Lowered,
}

/// A random function and inputs.
#[derive(Clone, Debug)]
pub struct Graph {
    kind: Kind,
    /// What was made.
    pub function: Function,
    rows: Vec<Vec<u32>>,
}

impl Graph {
    /// The graph of a seed, with that many rows of inputs; the seed says the kind, too, if none is
    /// given.
    pub fn new(seed: u64, kind: Option<Kind>, rows: usize) -> Graph {
        let kind = kind.unwrap_or(
            [Kind::Lowered, Kind::Optimize, Kind::Lower, Kind::Lower][seed as usize % 4],
        );
        let function = random::function(seed, &Options::any(seed, kind == Kind::Lowered));
        let rows = random::rows(&function.inputs, rows, seed);
        Graph { kind, function, rows }
    }

    /// Checks the graph for several targets.
    pub fn check(&self, targets: &[Target]) -> Result<(), Failure> {
        // Nothing is looked at after a panic.
        catch_unwind(AssertUnwindSafe(|| self.try_check(targets))).unwrap_or_else(|panic| {
            let message = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or(panic.downcast_ref::<&str>().copied());
            Err(Failure::Panic(message.unwrap_or("?").to_owned()))
        })
    }

    fn try_check(&self, targets: &[Target]) -> Result<(), Failure> {
        let Graph { kind, function, rows } = self;
        match kind {
            Kind::Lowered => Ok(targets
                .iter()
                .try_for_each(|&target| check(function, function, target, rows))?),
            Kind::Lower => check_all(function, targets, rows),
            Kind::Optimize => {
                let optimized = passes::optimize(function);
                verify(&optimized)
                    .map_err(|error| Failure::Invalid { stage: "optimized", error })?;
                check_all(&optimized, targets, rows)
            }
        }
    }

    /// A smaller graph that fails in the same way, of one that fails.
    pub fn reduced(&self, targets: &[Target]) -> Graph {
        let with = |function: &Function| Graph { function: function.clone(), ..self.clone() };
        let class = |result: Result<(), Failure>| {
            result.err().map(|failure| std::mem::discriminant(&failure))
        };
        let kind = class(self.check(targets));
        let valid = |function: &Function| {
            if self.kind == Kind::Lowered { verify_lowered(function) } else { verify(function) }
        };
        let wrong = |function: &Function| {
            valid(function).is_ok() && class(with(function).check(targets)) == kind
        };
        with(&reduce(&self.function, wrong))
    }
}

/// The targets that this machine runs.
pub fn targets() -> Vec<Target> {
    Target::ALL.into_iter().filter(|target| target.is_available()).collect()
}

/// A function of one operation, with an input for each argument; `select` is of floats, `load`
/// reads a table of three words, and what looks values up does so in an image of 3 × 4 texels.
pub fn op_function(op: Op) -> Function {
    let mut builder = Builder::new(op.name(), Rules::Exact);
    let args = op.signature().args.iter().zip(["a", "b", "c"]);
    let mut args: Vec<_> =
        args.map(|(ty, name)| builder.input(name, ty.unwrap_or(Type::F32))).collect();
    if op.is_reading() {
        let image = Access::new(0, 1, Lookup::default());
        args[0] = builder.i32(if op == Op::Load { 2 } else { image.pack() as i32 });
    }
    let value = builder.op(op, &args);
    builder.finish([("r".to_owned(), value)])
}
