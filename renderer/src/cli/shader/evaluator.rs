//! Runs a compiled BRDF over rows of inputs, and keeps count of what deserves a warning.

use crate::cli::console;
use lightbound_shader::{Batch, Kernel, Sides, Texture};

/// Names of the results of a row.
pub const OUTPUTS: [&str; 6] = ["brdf.r", "brdf.g", "brdf.b", "s.r", "s.g", "s.b"];

/// Names of the directions that a row begins with.
pub const DIRECTIONS: [&str; 6] = ["wi.x", "wi.y", "wi.z", "wo.x", "wo.y", "wo.z"];

/// How far from 1 the square of a direction's length may be without a warning: a few digits are enough for tries by hand.
const UNIT: f32 = 1e-4;

/// Evaluates `Entry::Brdf` of a shader.
#[derive(Debug)]
pub struct Evaluator {
    kernel: Kernel,
    sides: Sides,
    textures: Vec<Texture>,
    remarks: Remarks,
}

/// Numbers of rows.
#[derive(Debug, Default)]
struct Remarks {
    all: usize,
    /// With a direction that is not a unit vector.
    stretched: usize,
    /// Seen from the side that a one-sided material does not have.
    behind: usize,
    /// In which a loop was cut off.
    capped: usize,
}

impl Evaluator {
    /// For a compiled `Entry::Brdf` of a shader with these sides and textures.
    pub fn new(kernel: Kernel, sides: Sides, textures: Vec<Texture>) -> Evaluator {
        let names = |ports: &[lightbound_shader::ir::Port]| ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>();
        assert!(names(kernel.inputs()).starts_with(&DIRECTIONS.map(str::to_owned)), "directions come first");
        assert!(names(kernel.outputs()).starts_with(&OUTPUTS.map(str::to_owned)), "results come first");
        Evaluator { kernel, sides, textures, remarks: Remarks::default() }
    }

    /// Results of rows, each of which is the bits of [`DIRECTIONS`] and then of the parameters' words.
    pub fn run(&mut self, words: &[u32]) -> Vec<[f32; 6]> {
        let width = self.kernel.inputs().len();
        let count = words.len() / width;
        let mut inputs = Batch::new(self.kernel.target(), width, count);
        let mut outputs = Batch::new(self.kernel.target(), self.kernel.outputs().len(), count);
        for (row, words) in words.chunks_exact(width).enumerate() {
            for (port, &bits) in words.iter().enumerate() {
                inputs.set_bits(row, port, bits);
            }
        }
        let textures: Vec<&Texture> = self.textures.iter().collect();
        self.kernel.run(&textures, &inputs, &mut outputs);
        let capped = self.kernel.outputs().iter().position(|port| port.name == "capped");
        let results = (0..count).map(|row| {
            let [wi, wo] = [0, 3].map(|first| [0, 1, 2].map(|k| inputs.get(row, first + k)));
            self.remarks.all += 1;
            self.remarks.stretched += usize::from(!(is_unit(wi) && is_unit(wo)));
            if !self.sides.covers(wo[2]) {
                self.remarks.behind += 1;
                return [0.0; 6];
            }
            self.remarks.capped += usize::from(capped.is_some_and(|port| outputs.bits(row, port) != 0));
            [0, 1, 2, 3, 4, 5].map(|port| outputs.get(row, port))
        });
        results.collect()
    }

    /// Prints what is remarkable about the rows so far.
    pub fn warn(&self) {
        let Remarks { all, stretched, behind, capped } = self.remarks;
        let rows = |n: usize| in_rows(n, all);
        if stretched > 0 {
            console::warn(&format!("wi or wo is not a unit vector {}; the shader got it as it is", rows(stretched)));
        }
        if behind > 0 {
            console::warn(&format!("wo.z is not above 0 {}: a one-sided material is black from behind", rows(behind)));
        }
        if capped > 0 {
            console::warn(&format!("a loop did not end and was cut off {}", rows(capped)));
        }
    }
}

/// How to say in how many rows something is so.
pub fn in_rows(n: usize, all: usize) -> String {
    if all == 1 { "here".to_owned() } else { format!("in {n} of {all} rows") }
}

/// Whether a box holds a unit vector.
pub fn holds_unit(direction: [[f32; 2]; 3]) -> bool {
    let least = |[low, high]: [f32; 2]| if low <= 0.0 && high >= 0.0 { 0.0 } else { low.abs().min(high.abs()) };
    let most = |[low, high]: [f32; 2]| low.abs().max(high.abs());
    let squared = |v: [f32; 3]| v.iter().map(|x| x * x).sum::<f32>();
    squared(direction.map(least)) <= 1.0 + UNIT && squared(direction.map(most)) >= 1.0 - UNIT
}

fn is_unit(direction: [f32; 3]) -> bool {
    holds_unit(direction.map(|x| [x; 2]))
}
