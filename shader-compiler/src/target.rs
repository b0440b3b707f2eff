//! Compilation targets: the registry of instruction sets.
//!
//! Machine code is generated only for x86-64. On any other CPU the
//! [interpreter](crate::interpreter) is the only available target, and [`Target::best`] falls back
//! to it: results have the same bits, at a small fraction of the speed.

use crate::backend::x86::Isa;
use crate::backend::{Backend, MachineCode};
use std::any::Any;
use std::fmt;
use std::str::FromStr;

macro_rules! targets {
    ($($(#[$doc:meta])* $target:ident => $backend:expr;)*) => {
        /// The instruction set and SIMD width that a function runs with. All targets compute the
        /// same bits, except for the payloads and signs of NaNs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Target {
            $($(#[$doc])* $target,)*
        }

        impl Target {
            /// All targets, from slowest to fastest.
            pub const ALL: [Target; [$(Target::$target),*].len()] = [$(Target::$target),*];

            /// The backend that generates machine code for the target; `None` for the interpreter.
            pub fn backend(self) -> Option<&'static dyn Backend<Output = MachineCode>> {
                match self {
                    $(Target::$target => $backend,)*
                }
            }
        }
    };
}

// The registry: add a row to add a target.
targets! {
    /// The [interpreter](crate::interpreter), on any machine.
    Interpreter => None;
    /// x86-64 with SSE4.1, 4 lanes.
    Sse => Some(&Isa::Sse41);
    /// x86-64 with AVX, 4 lanes.
    Avx => Some(&Isa::Avx);
    /// x86-64 with AVX2, 8 lanes.
    Avx2 => Some(&Isa::Avx2);
}

/// Number of lanes per group for the interpreter, which runs them one by one.
const INTERPRETER_LANES: usize = 4;

impl Target {
    /// The target's name on the command line.
    pub fn name(self) -> &'static str {
        self.backend().map_or("interpreter", |backend| backend.name())
    }

    /// Number of lanes per group.
    pub fn lanes(self) -> usize {
        self.backend().map_or(INTERPRETER_LANES, |backend| backend.lanes())
    }

    /// Whether this machine can run code for the target.
    pub fn is_available(self) -> bool {
        self.backend().is_none_or(|backend| backend.is_available())
    }

    /// The instruction set of an x86-64 target; `None` for other targets.
    pub fn isa(self) -> Option<Isa> {
        let backend: &dyn Any = self.backend()?;
        backend.downcast_ref().copied()
    }

    /// The fastest target that this machine can run.
    pub fn best() -> Target {
        let fastest = Target::ALL.into_iter().rev().find(|target| target.is_available());
        fastest.expect("the interpreter is available everywhere")
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let target = Target::ALL.into_iter().find(|target| target.name() == name);
        target.ok_or_else(|| {
            format!(
                "no target is called `{name}`; available targets: {}",
                Target::ALL.map(Target::name).join(", ")
            )
        })
    }
}
