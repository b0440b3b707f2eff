//! Runs a compiled BRDF on rows of inputs.

use super::csv::Kind;
use super::inputs::Run;
use super::remarks::Remarks;
use super::values::{Span, Wrong};
use lightbound_shader::{Batch, Kernel, SurfaceSides, Texture};

/// Names of the results of a row.
pub const OUTPUTS: [&str; 6] = ["brdf.r", "brdf.g", "brdf.b", "s.r", "s.g", "s.b"];

/// Names of the direction components at the beginning of a row.
pub const DIRECTIONS: [&str; 6] = ["wi.x", "wi.y", "wi.z", "wo.x", "wo.y", "wo.z"];

/// Evaluates `Entry::Brdf` of a shader, and counts rows that need a warning.
#[derive(Debug)]
pub struct Evaluator {
    kernel: Kernel,
    sides: SurfaceSides,
    textures: Vec<Texture>,
    pub remarks: Remarks,
}

impl Evaluator {
    /// The evaluator of a compiled `Entry::Brdf` of a shader with these sides and textures.
    pub fn new(kernel: Kernel, sides: SurfaceSides, textures: Vec<Texture>) -> Evaluator {
        let names = |ports: &[lightbound_shader::ir::Port]| {
            ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>()
        };
        assert!(
            names(kernel.inputs()).starts_with(&DIRECTIONS.map(str::to_owned)),
            "directions come first"
        );
        assert!(
            names(kernel.outputs()).starts_with(&OUTPUTS.map(str::to_owned)),
            "results come first"
        );
        Evaluator { kernel, sides, textures, remarks: Remarks::new(Kind::Numbers) }
    }
}

impl Run for Evaluator {
    fn columns(&self) -> Vec<String> {
        OUTPUTS.map(str::to_owned).to_vec()
    }

    /// Accepts all rows.
    fn check(&self, _: &[Span]) -> Result<(), (usize, Wrong)> {
        Ok(())
    }

    fn run(&mut self, rows: &[Vec<Span>]) -> Vec<Vec<f32>> {
        let mut inputs = Batch::new(self.kernel.target(), self.kernel.inputs().len(), rows.len());
        let mut outputs = Batch::new(self.kernel.target(), self.kernel.outputs().len(), rows.len());
        for (row, spans) in rows.iter().enumerate() {
            for (port, span) in spans.iter().enumerate() {
                inputs.set_bits(row, port, span.ends[0]);
            }
        }
        let textures: Vec<&Texture> = self.textures.iter().collect();
        self.kernel.run(&textures, &inputs, &mut outputs);
        let capped = self.kernel.outputs().iter().position(|port| port.name == "capped");
        let results = rows.iter().enumerate().map(|(row, spans)| {
            if !self.remarks.note(spans, self.sides) {
                return vec![0.0; OUTPUTS.len()];
            }
            self.remarks.capped +=
                usize::from(capped.is_some_and(|port| outputs.bits(row, port) != 0));
            (0..OUTPUTS.len()).map(|port| outputs.get(row, port)).collect()
        });
        results.collect()
    }
}
