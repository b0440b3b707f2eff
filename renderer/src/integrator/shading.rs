//! Evaluations of a shader for many points at a time, in full groups of the machine's lanes.
//!
//! The members of `Material` are found once for each point, and go into the batches of both functions.

use super::ShadingCounts;
use crate::geometry::Surface;
use crate::material::{Bound, Instance, Program};
use crate::math::{Vec2, Vec3, vec3};
use lightbound_shader::{Batch, Kernel, Target, Texture};

/// Light from one direction: what a shader says of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scattered {
    /// Reflected over incident radiance, times the cosine, 1/sr.
    pub s: Vec3,
    /// Density with which the shader's sampler draws the direction, 1/sr.
    pub pdf: f32,
}

/// Batches for one shader at a time; buffers stay.
pub(super) struct Shading {
    /// Rows of the members of `Material` (before [`Shading::set_up`], of the inputs of the setup).
    words: Vec<u32>,
    inputs: Batch,
    outputs: Batch,
    counts: ShadingCounts,
}

/// Words of a direction.
const XYZ: usize = 3;

impl Shading {
    pub fn new(target: Target) -> Shading {
        let batch = || Batch::new(target, 0, 0);
        Shading { words: Vec::new(), inputs: batch(), outputs: batch(), counts: ShadingCounts::default() }
    }

    /// What was done so far; counting starts again.
    pub fn take_counts(&mut self) -> ShadingCounts {
        std::mem::take(&mut self.counts)
    }

    /// Begins with another set of points.
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// Adds a point; `object` is its position in the space of the object.
    pub fn push(&mut self, program: &Program, instance: &Instance, surface: &Surface, object: impl FnOnce() -> Vec3) {
        if program.setup.is_some() {
            self.words.extend(Program::surface_words(surface.p, object(), surface.frame.n, surface.uv));
        }
        instance.write(&surface.lookup(), &mut self.words);
    }

    /// Computes the members of `Material` of all points, where they are computed.
    pub fn set_up(&mut self, bound: &Bound) {
        let program = &bound.program;
        let Some(kernel) = &program.setup else { return };
        let width = kernel.inputs().len();
        let rows = self.words.len() / width;
        self.inputs.reshape(width, rows);
        for (row, words) in self.words.chunks_exact(width).enumerate() {
            self.inputs.set_row(row, 0, words);
        }
        self.run(kernel, bound);
        self.words.clear();
        for row in 0..rows {
            self.words.extend((0..program.members).map(|port| self.outputs.bits(row, port)));
        }
    }

    /// Runs a kernel over the inputs.
    fn run(&mut self, kernel: &Kernel, bound: &Bound) {
        let textures: Vec<&Texture> = bound.textures.iter().map(|texture| &**texture).collect();
        self.outputs.reshape(kernel.outputs().len(), self.inputs.rows());
        kernel.run(&textures, &self.inputs, &mut self.outputs);
        self.counts.evaluations += self.inputs.rows() as u64;
        self.counts.lanes += (self.inputs.groups() * self.inputs.lanes()) as u64;
        if let Some(port) = kernel.outputs().iter().position(|port| port.name == "capped") {
            self.counts.capped += (0..self.outputs.rows()).filter(|&row| self.outputs.bits(row, port) != 0).count() as u64;
        }
    }

    /// Light from given directions: `rows` yields the number of a point, `wi` and `wo`.
    pub fn evaluate(&mut self, bound: &Bound, rows: impl ExactSizeIterator<Item = (usize, Vec3, Vec3)>) {
        let members = bound.program.members;
        self.inputs.reshape(2 * XYZ + members, rows.len());
        for (row, (point, wi, wo)) in rows.enumerate() {
            self.inputs.set_row(row, 0, &[wi.x, wi.y, wi.z, wo.x, wo.y, wo.z].map(f32::to_bits));
            self.inputs.set_row(row, 2 * XYZ, &self.words[point * members..][..members]);
        }
        self.run(&bound.program.evaluate, bound);
    }

    /// Result of a row of [`Shading::evaluate`].
    pub fn evaluated(&self, row: usize) -> Scattered {
        let [r, g, b, pdf] = self.outputs.floats(row, 0);
        Scattered { s: vec3(r, g, b), pdf }
    }

    /// Light from directions that are drawn at all points: `rows` yields two random numbers and `wo`.
    pub fn scatter(&mut self, bound: &Bound, rows: impl ExactSizeIterator<Item = (Vec2, Vec3)>) {
        let members = bound.program.members;
        self.inputs.reshape(2 + XYZ + members, rows.len());
        for (row, (u, wo)) in rows.enumerate() {
            self.inputs.set_row(row, 0, &[u.x, u.y, wo.x, wo.y, wo.z].map(f32::to_bits));
            self.inputs.set_row(row, 2 + XYZ, &self.words[row * members..][..members]);
        }
        self.run(&bound.program.scatter, bound);
    }

    /// Direction and result of a row of [`Shading::scatter`].
    pub fn scattered(&self, row: usize) -> (Vec3, Scattered) {
        let [x, y, z, r, g, b, pdf] = self.outputs.floats(row, 0);
        (vec3(x, y, z), Scattered { s: vec3(r, g, b), pdf })
    }
}
