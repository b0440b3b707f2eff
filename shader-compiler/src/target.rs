//! What code is made for.

use std::fmt;
use std::str::FromStr;

/// Where and how wide a function runs. All targets give the same bits, NaN payloads and signs
/// aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The [interpreter](crate::interpreter), on any machine.
    Interpreter,
    /// x86-64 with SSE4.1, 4 lanes.
    Sse,
    /// x86-64 with AVX, 4 lanes.
    Avx,
    /// x86-64 with AVX2, 8 lanes.
    Avx2,
}

impl Target {
    /// All targets.
    pub const ALL: [Target; 4] = [Target::Interpreter, Target::Sse, Target::Avx, Target::Avx2];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Interpreter => "interpreter",
            Target::Sse => "sse",
            Target::Avx => "avx",
            Target::Avx2 => "avx2",
        }
    }

    /// Evaluations per group.
    pub const fn lanes(self) -> usize {
        match self {
            Target::Interpreter | Target::Sse | Target::Avx => 4,
            Target::Avx2 => 8,
        }
    }

    /// Whether this machine runs it.
    pub fn is_available(self) -> bool {
        #[cfg(all(unix, target_arch = "x86_64"))]
        return match self {
            Target::Interpreter => true,
            Target::Sse => std::is_x86_feature_detected!("sse4.1"),
            Target::Avx => std::is_x86_feature_detected!("avx"),
            Target::Avx2 => std::is_x86_feature_detected!("avx2"),
        };
        #[cfg(not(all(unix, target_arch = "x86_64")))]
        return self == Target::Interpreter;
    }

    /// The fastest that this machine runs.
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
        let found = Target::ALL.into_iter().find(|target| target.name() == name);
        found.ok_or_else(|| {
            format!(
                "no target is called `{name}`; there are {}",
                Target::ALL.map(Target::name).join(", ")
            )
        })
    }
}
