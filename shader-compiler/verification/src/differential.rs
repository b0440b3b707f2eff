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
    /// A pass produced an invalid function.
    #[error("{stage}: {error}")]
    Invalid {
        /// The stage that produced it.
        stage: &'static str,
        /// The verifier's error.
        error: VerifyError,
    },
    /// A pass or a back end panicked.
    #[error("panic: {0}")]
    Panic(String),
}

/// Lowers a function and checks it for several targets.
pub fn check_all(
    function: &Function,
    targets: &[Target],
    rows: &[Vec<u32>],
) -> Result<(), Failure> {
    let lowered = passes::lower(function);
    verify_lowered(&lowered).map_err(|error| Failure::Invalid { stage: "lowered", error })?;
    Ok(targets.iter().try_for_each(|&target| check(function, &lowered, target, rows))?)
}

/// How a random function is processed before the interpreter and the back ends get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Lowered for back ends.
    Lower,
    /// Optimized, then lowered for back ends.
    Optimize,
    /// Unchanged: it is generated in lowered form.
    Lowered,
}

/// A random function with inputs.
#[derive(Clone, Debug)]
pub struct Graph {
    kind: Kind,
    /// The generated function.
    pub function: Function,
    rows: Vec<Vec<u32>>,
}

impl Graph {
    /// The graph of a seed, with `rows` rows of inputs. Without `kind`, the seed selects the kind.
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

    /// Reduces a failing graph to a smaller one with the same kind of failure.
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
