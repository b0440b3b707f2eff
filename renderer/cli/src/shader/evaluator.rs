//! Runs a compiled BRDF on rows of inputs.

use super::csv::InputKind;
use super::inputs::RowEvaluator;
use super::values::{ValueError, WordRange};
use super::warnings::RowWarnings;
use lightbound_shader::{Batch, Kernel, SurfaceSides, Texture};

/// Names of the results of a row.
pub const OUTPUTS: [&str; 6] = ["brdf.r", "brdf.g", "brdf.b", "s.r", "s.g", "s.b"];

/// Names of the direction components at the beginning of a row.
pub const DIRECTIONS: [&str; 6] = ["wi.x", "wi.y", "wi.z", "wo.x", "wo.y", "wo.z"];

/// Evaluates a compiled `Entry::Brdf`, and counts rows that need a warning.
#[derive(Debug)]
pub struct BrdfEvaluator {
    kernel: Kernel,
    sides: SurfaceSides,
    textures: Vec<Texture>,
    pub warnings: RowWarnings,
}

impl BrdfEvaluator {
    /// Creates the evaluator of a material with these sides and textures.
    pub fn new(kernel: Kernel, sides: SurfaceSides, textures: Vec<Texture>) -> BrdfEvaluator {
        let names = |ports: &[lightbound_shader::ir::Port]| {
            ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>()
        };
        assert!(
            names(kernel.inputs()).starts_with(&DIRECTIONS.map(str::to_owned)),
            "the first inputs must be the directions"
        );
        assert!(
            names(kernel.outputs()).starts_with(&OUTPUTS.map(str::to_owned)),
            "the first outputs must be the results"
        );
        BrdfEvaluator { kernel, sides, textures, warnings: RowWarnings::new(InputKind::Numbers) }
    }
}

impl RowEvaluator for BrdfEvaluator {
    fn columns(&self) -> Vec<String> {
        OUTPUTS.map(str::to_owned).to_vec()
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
        let capped = self.kernel.outputs().iter().position(|port| port.name == "capped");
        let results = rows.iter().enumerate().map(|(row, ranges)| {
            if !self.warnings.note(ranges, self.sides) {
                return vec![0.0; OUTPUTS.len()];
            }
            self.warnings.capped +=
                usize::from(capped.is_some_and(|port| outputs.bits(row, port) != 0));
            (0..OUTPUTS.len()).map(|port| outputs.get(row, port)).collect()
        });
        results.collect()
    }
}
