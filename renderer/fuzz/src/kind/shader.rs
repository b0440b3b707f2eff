//! WGSL materials.

use super::{Reader, files};
use lightbound_shader::bounding::{BoundsBatch, BoxBatch, IntervalInputs};
use lightbound_shader::lift::{BoundSides, Options};
use lightbound_shader::texture::Texture;
use lightbound_shader::{Batch, Entry, Shader, compile, compile_bounds};

/// Compiles shaders, runs them and bounds them.
pub struct Shaders;

impl Reader for Shaders {
    fn corpus(&self) -> Vec<Vec<u8>> {
        [files("assets/shaders", "wgsl"), files("renderer/fuzz/corpus", "wgsl")].concat()
    }

    fn read(&mut self, input: &[u8]) -> Result<(), String> {
        let source = str::from_utf8(input).map_err(|error| error.to_string())?;
        let shader = Shader::parse("case.wgsl", source).map_err(|error| error.to_string())?;
        let texture = Texture::new(2, &[[0.5, 0.25, 1.0, 1.0], [0.0, 2.0, 0.5, 0.5]]);
        let textures = vec![&texture; shader.textures().len()];
        let kernel = compile(&shader, Entry::Brdf).map_err(|error| error.to_string())?;
        let mut inputs = Batch::new(kernel.target(), kernel.inputs().len(), 8);
        for port in 0..kernel.inputs().len() {
            inputs.fill_port(port, 0.5f32.to_bits());
        }
        let mut outputs = Batch::new(kernel.target(), kernel.outputs().len(), 8);
        kernel.run(&textures, &inputs, &mut outputs);
        for intervals in [IntervalInputs::Light, IntervalInputs::All] {
            let options = Options { sides: BoundSides::Both, ..Options::default() };
            let kernel =
                compile_bounds(&shader, intervals, &options).map_err(|error| error.to_string())?;
            let mut batch = Batch::new(kernel.kernel().target(), kernel.kernel().inputs().len(), 8);
            for port in 0..batch.ports() {
                batch.fill_port(port, 0.5f32.to_bits());
            }
            let mut boxes = BoxBatch::from_batch(&kernel, batch);
            for row in 0..8 {
                let wo = [[0.0; 2], [0.0; 2], [1.0; 2]];
                let wi = [[-1.0, 1.0], [-1.0, 1.0], [0.125 * row as f32, 1.0]];
                for (input, endpoints) in [wi, wo].into_iter().flatten().enumerate() {
                    boxes.set(row, input, endpoints);
                }
            }
            let mut bounds = BoundsBatch::new(&kernel, 8);
            kernel.run(&textures, &boxes, &mut bounds);
        }
        Ok(())
    }
}
