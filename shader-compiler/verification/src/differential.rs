//! Differential tests: machine code of random functions must equal the interpreter bit for bit. A
//! reducer shrinks functions that fail.

mod reduce;

pub use reduce::reduce;

use lightbound_shader::ir::Function;
use lightbound_shader::ir::verify::{VerifyError, verify, verify_lowered};
use lightbound_shader::testing::random::{self, Options};
use lightbound_shader::testing::{Mismatch, check};
use lightbound_shader::{Target, passes};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A failure of a pass, a back end or the generated code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The machine code and the interpreter disagree.
    #[error(transparent)]
    Mismatch(#[from] Box<Mismatch>),
    /// A pass produced a function that the verifier rejects.
    #[error("{stage}: {error}")]
    Invalid {
        /// The form of the function: "optimized" or "lowered".
        stage: &'static str,
        /// The verifier's error.
        error: VerifyError,
    },
    /// A pass or a back end panicked.
    #[error("panic: {0}")]
    Panic(String),
}

/// Lowers a function and compares the interpreter with its machine code for several targets.
pub fn check_all(
    function: &Function,
    targets: &[Target],
    rows: &[Vec<u32>],
) -> Result<(), Failure> {
    let lowered = passes::lower(function);
    verify_lowered(&lowered).map_err(|error| Failure::Invalid { stage: "lowered", error })?;
    Ok(targets.iter().try_for_each(|&target| check(function, &lowered, target, rows))?)
}

/// The passes that a random function goes through before the interpreter and the back ends run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipeline {
    /// Lowering.
    Lower,
    /// Optimization, then lowering.
    OptimizeAndLower,
    /// None: the function is generated in lowered form.
    AlreadyLowered,
}

/// A random function and rows of inputs to run it on.
#[derive(Clone, Debug)]
pub struct RandomFunction {
    pipeline: Pipeline,
    /// The generated function.
    pub function: Function,
    rows: Vec<Vec<u32>>,
}

impl RandomFunction {
    /// Generates a function and `rows` rows of inputs from a seed, which also selects the pipeline
    /// if none is given.
    pub fn new(seed: u64, pipeline: Option<Pipeline>, rows: usize) -> RandomFunction {
        let pipeline = pipeline.unwrap_or(
            [
                Pipeline::AlreadyLowered,
                Pipeline::OptimizeAndLower,
                Pipeline::Lower,
                Pipeline::Lower,
            ][seed as usize % 4],
        );
        let function =
            random::function(seed, &Options::any(seed, pipeline == Pipeline::AlreadyLowered));
        let rows = random::rows(&function.inputs, rows, seed);
        RandomFunction { pipeline, function, rows }
    }

    /// Compares the interpreter with the machine code for several targets.
    pub fn check(&self, targets: &[Target]) -> Result<(), Failure> {
        // The shared state is not read after a panic.
        catch_unwind(AssertUnwindSafe(|| self.try_check(targets))).unwrap_or_else(|panic| {
            let message = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or(panic.downcast_ref::<&str>().copied());
            Err(Failure::Panic(message.unwrap_or("?").to_owned()))
        })
    }

    fn try_check(&self, targets: &[Target]) -> Result<(), Failure> {
        let RandomFunction { pipeline, function, rows } = self;
        match pipeline {
            Pipeline::AlreadyLowered => Ok(targets
                .iter()
                .try_for_each(|&target| check(function, function, target, rows))?),
            Pipeline::Lower => check_all(function, targets, rows),
            Pipeline::OptimizeAndLower => {
                let optimized = passes::optimize(function);
                verify(&optimized)
                    .map_err(|error| Failure::Invalid { stage: "optimized", error })?;
                check_all(&optimized, targets, rows)
            }
        }
    }

    /// Reduces a failing function to a smaller one with the same kind of failure.
    pub fn reduced(&self, targets: &[Target]) -> RandomFunction {
        let with =
            |function: &Function| RandomFunction { function: function.clone(), ..self.clone() };
        let failure_kind = |result: Result<(), Failure>| {
            result.err().map(|failure| std::mem::discriminant(&failure))
        };
        let kind = failure_kind(self.check(targets));
        let verify_input = |function: &Function| {
            if self.pipeline == Pipeline::AlreadyLowered {
                verify_lowered(function)
            } else {
                verify(function)
            }
        };
        let fails = |function: &Function| {
            verify_input(function).is_ok() && failure_kind(with(function).check(targets)) == kind
        };
        with(&reduce(&self.function, fails))
    }
}
