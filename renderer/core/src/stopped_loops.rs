//! Loops of shaders that were stopped at the limit of iterations.

use lightbound_shader::{Batch, Kernel, Shader};
use std::sync::atomic::{AtomicU64, Ordering};

/// Evaluations of a shader in which a loop reached the limit of iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoppedLoops {
    /// Number of evaluations.
    pub evaluations: u64,
    /// File and lines of the loops: `fog.wgsl:12`.
    pub location: String,
}

/// Counts evaluations of a kernel in which a loop is stopped.
#[derive(Debug)]
pub(crate) struct LoopCounter {
    /// Index of the output that says whether a loop was stopped, if one may be.
    capped: Option<usize>,
    location: String,
    stopped: AtomicU64,
}

impl LoopCounter {
    /// Counts those of a kernel of the shader.
    pub fn new(shader: &Shader, kernel: &Kernel) -> LoopCounter {
        let lines = shader.loop_lines().iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        LoopCounter {
            capped: kernel.outputs().iter().position(|port| port.name == "capped"),
            location: format!("{}:{lines}", shader.name()),
            stopped: AtomicU64::new(0),
        }
    }

    /// Counts the evaluations of the first `rows` rows.
    pub fn count(&self, outputs: &Batch, rows: usize) {
        let Some(capped) = self.capped else { return };
        let stopped = (0..rows).filter(|&row| outputs.bits(row, capped) != 0).count();
        if stopped > 0 {
            self.stopped.fetch_add(stopped as u64, Ordering::Relaxed);
        }
    }

    /// What was counted, if anything.
    pub fn stopped(&self) -> Option<StoppedLoops> {
        let evaluations = self.stopped.load(Ordering::Relaxed);
        (evaluations > 0).then(|| StoppedLoops { evaluations, location: self.location.clone() })
    }
}
