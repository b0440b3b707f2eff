//! Runs a compiled shader on rows of inputs.

use super::csv::InputKind;
use super::inputs::RowEvaluator;
use super::values::{ValueError, WordRange};
use super::warnings::RowWarnings;
use lightbound_shader::ir::{Port, Type};
use lightbound_shader::{Batch, Kernel, ShaderKind, SurfaceSides, Texture};

/// Names of the components of a shader's arguments, at the beginning of a row; parameters follow.
pub fn arguments(kind: ShaderKind) -> &'static [&'static str] {
    match kind {
        ShaderKind::Brdf | ShaderKind::Phase => &["wi.x", "wi.y", "wi.z", "wo.x", "wo.y", "wo.z"],
        ShaderKind::Density => &["p.x", "p.y", "p.z"],
        // All inputs of a function are set by name.
        ShaderKind::Function => &[],
    }
}

/// Name of the result of phase functions. They have one value, for all channels.
pub const PHASE: &str = "phase";

/// Evaluates a compiled `Entry::Brdf`, a phase function, the properties of a medium or a function,
/// and counts rows that need a warning.
#[derive(Debug)]
pub struct PointEvaluator {
    kernel: Kernel,
    /// Names of the results; `capped` may follow.
    columns: Vec<String>,
    textures: Vec<Texture>,
    pub warnings: RowWarnings,
}

impl PointEvaluator {
    /// Creates the evaluator of a shader of this kind, with these textures. `sides` are those of a
    /// material, and `None` for a density, which has no directions.
    pub fn new(
        kernel: Kernel,
        kind: ShaderKind,
        sides: Option<SurfaceSides>,
        textures: Vec<Texture>,
    ) -> PointEvaluator {
        let columns = kernel.outputs().iter().map(|port| port.name.clone());
        let columns = match kind {
            ShaderKind::Phase => vec![PHASE.to_owned()],
            _ => columns.take_while(|name| name != CAPPED).collect(),
        };
        let warnings = RowWarnings::new(InputKind::Numbers, sides);
        PointEvaluator { kernel, columns, textures, warnings }
    }
}

/// The output that says whether a loop reached the cap, the last one if there is one.
const CAPPED: &str = "capped";

impl RowEvaluator for PointEvaluator {
    fn columns(&self) -> Vec<String> {
        self.columns.clone()
    }

    /// Accepts all rows.
    fn check(&self, _: &[WordRange]) -> Result<(), (usize, ValueError)> {
        Ok(())
    }

    fn evaluate(&mut self, rows: &[Vec<WordRange>]) -> Vec<Vec<f32>> {
        let mut inputs = Batch::new(self.kernel.target(), self.kernel.inputs().len(), rows.len());
        let mut outputs = Batch::new(self.kernel.target(), self.kernel.outputs().len(), rows.len());
        for (row, ranges) in rows.iter().enumerate() {
            for (port, range) in ranges.iter().enumerate() {
                inputs.set_bits(row, port, range.endpoints[0]);
            }
        }
        let textures: Vec<&Texture> = self.textures.iter().collect();
        self.kernel.run(&textures, &inputs, &mut outputs);
        let is_capped = |port: &Port| port.name == CAPPED;
        let capped = self.kernel.outputs().iter().position(is_capped);
        let results = rows.iter().enumerate().map(|(row, ranges)| {
            if !self.warnings.note(ranges) {
                return vec![0.0; self.columns.len()];
            }
            self.warnings.capped +=
                usize::from(capped.is_some_and(|port| outputs.bits(row, port) != 0));
            let value = |port: usize| match self.kernel.outputs()[port].ty {
                Type::F32 => outputs.get(row, port),
                Type::I32 => outputs.bits(row, port) as i32 as f32,
                Type::Bool => f32::from(u8::from(outputs.bits(row, port) != 0)),
            };
            (0..self.columns.len()).map(value).collect()
        });
        results.collect()
    }
}
