//! Batched shader evaluation: evaluates many shading points at a time, in full SIMD groups.
//!
//! A batch belongs to one shader and passes through the following states. Each state is a separate
//! type, so calls in the wrong order do not compile:
//!
//! 1. [`ShadingBatch`] collects shading points.
//! 2. [`PreparedBatch`] holds their material parameters and direction trees, and collects
//!    directions of incident light.
//! 3. [`EvaluatedBatch`] holds the BSDF values for these directions.
//! 4. [`SampledBatch`] holds a sampled direction for each point. It follows state 2 or 3.
//!
//! Material parameters are computed once per point and shared by evaluation and sampling. All
//! states borrow the same [`ShadingBuffers`], which belong to one thread.

use super::ShadingCounts;
use super::directions::DirectionPicker;
use crate::direction_tree::ShiftedTree;
use crate::geometry::Surface;
use crate::material::{Program, ShaderBinding, ShaderInstance};
use lightbound_math::{Vec2, Vec3, vec2, vec3};
use lightbound_shader::{Batch, Kernel, Target, Texture};

/// BSDF value and sampling density of one direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct BsdfValue {
    /// BSDF × cosine, 1/sr.
    pub s: Vec3,
    /// Density with which BSDF sampling generates the direction, 1/sr.
    pub pdf: f32,
}

/// Scratch buffers of shading batches, reused from batch to batch.
pub(super) struct ShadingBuffers<'a> {
    setup: Batch,
    scatter: Batch,
    evaluate: Batch,
    results: Batch,
    points: usize,
    /// Index of the shading point of each row of `evaluate`.
    lit_points: Vec<usize>,
    counts: ShadingCounts,
    /// Samples directions instead of some shaders' samplers, and builds their direction trees;
    /// `None` for integrators without direction trees.
    direction_picker: Option<DirectionPicker<'a>>,
    /// The batch's shader, as in [`ShaderInstance::shader`].
    shader: u32,
    /// Densities of the sampled directions; empty if the shader's own sampler generated them.
    sampled_pdfs: Vec<f32>,
}

/// Number of words per direction.
const DIRECTION_WORDS: usize = 3;
/// First port of the material parameters of `scatter`, after two random numbers and `wo`.
const SCATTER_PARAMETERS: usize = 2 + DIRECTION_WORDS;
/// First port of the material parameters of `evaluate`, after `wi` and `wo`.
const EVALUATE_PARAMETERS: usize = 2 * DIRECTION_WORDS;

impl<'a> ShadingBuffers<'a> {
    pub fn new(
        target: Target,
        direction_picker: Option<DirectionPicker<'a>>,
    ) -> ShadingBuffers<'a> {
        let batch = || Batch::new(target, 0, 0);
        ShadingBuffers {
            setup: batch(),
            scatter: batch(),
            evaluate: batch(),
            results: batch(),
            points: 0,
            lit_points: Vec::new(),
            counts: ShadingCounts::default(),
            direction_picker,
            shader: 0,
            sampled_pdfs: Vec::new(),
        }
    }

    /// Returns and resets the counts of shader evaluations.
    pub fn take_counts(&mut self) -> ShadingCounts {
        std::mem::take(&mut self.counts)
    }

    /// Begins a batch of up to `capacity` points.
    pub fn begin<'b>(
        &'b mut self,
        binding: &'b ShaderBinding,
        capacity: usize,
    ) -> ShadingBatch<'b, 'a> {
        let program = &binding.program;
        self.points = 0;
        self.lit_points.clear();
        self.scatter.reshape(SCATTER_PARAMETERS + program.parameter_words, capacity);
        self.evaluate.reshape(EVALUATE_PARAMETERS + program.parameter_words, capacity);
        if let Some(setup) = &program.setup {
            self.setup.reshape(setup.inputs().len(), capacity);
        }
        ShadingBatch { buffers: self, binding }
    }

    /// Returns the direction sampler, if it replaces the sampler of the batch's shader.
    fn sampler_override(&self) -> Option<&DirectionPicker<'a>> {
        self.direction_picker.as_ref().filter(|picker| !picker.uses_shader_sampler())
    }

    /// Copies the material parameters of a point to a row of `evaluate`.
    #[inline]
    fn copy_parameters(&mut self, row: usize, point: usize, parameter_words: usize) {
        self.evaluate.copy_row(
            row,
            EVALUATE_PARAMETERS,
            &self.scatter,
            point,
            SCATTER_PARAMETERS,
            parameter_words,
        );
    }

    /// Evaluates the BSDF for the first `rows` rows of `evaluate`.
    fn evaluate_rows(&mut self, binding: &ShaderBinding, rows: usize) {
        self.evaluate.truncate(rows);
        run(
            &binding.program.evaluate,
            binding,
            &self.evaluate,
            &mut self.results,
            &mut self.counts,
        );
    }

    /// Samples directions with the picker instead of the shader's own sampler, and evaluates the
    /// BSDF for them.
    fn sample_override(&mut self, binding: &ShaderBinding) {
        let parameter_words = binding.program.parameter_words;
        self.evaluate.reshape(EVALUATE_PARAMETERS + parameter_words, self.points);
        for point in 0..self.points {
            let [u, v, x, y, z] = self.scatter.floats(point, 0);
            let wo = vec3(x, y, z);
            // Invalid samples get an arbitrary direction and density 0.
            let (wi, pdf) = self
                .sampler_override()
                .and_then(|picker| picker.sample(point, vec2(u, v)))
                .unwrap_or((wo, 0.0));
            self.sampled_pdfs.push(pdf);
            self.evaluate.set_row(
                point,
                0,
                &[wi.x, wi.y, wi.z, wo.x, wo.y, wo.z].map(f32::to_bits),
            );
            self.copy_parameters(point, point, parameter_words);
        }
        self.evaluate_rows(binding, self.points);
    }
}

/// A batch that collects shading points.
pub(super) struct ShadingBatch<'b, 'a> {
    buffers: &'b mut ShadingBuffers<'a>,
    binding: &'b ShaderBinding,
}

impl<'b, 'a> ShadingBatch<'b, 'a> {
    /// Returns the shader of the batch.
    pub fn binding(&self) -> &'b ShaderBinding {
        self.binding
    }

    /// Adds a shading point. `positions` computes [`Geometry::shader_positions`]. `u` are the
    /// random numbers for sampling a direction.
    ///
    /// [`Geometry::shader_positions`]: crate::geometry::Geometry::shader_positions
    #[inline]
    pub fn push(
        &mut self,
        (instance, nm): (&ShaderInstance, Option<f32>),
        surface: &Surface,
        positions: impl FnOnce() -> [Vec3; 2],
        (u, wo): (Vec2, Vec3),
    ) {
        let buffers = &mut *self.buffers;
        let row = buffers.points;
        buffers.points += 1;
        buffers.shader = instance.shader;
        buffers.scatter.set_row(row, 0, &[u.x, u.y, wo.x, wo.y, wo.z].map(f32::to_bits));
        let (batch, first) = match self.binding.program.setup {
            Some(_) => {
                let [p, object] = positions();
                let point = Program::surface_words(p, object, surface.frame.n, surface.uv);
                buffers.setup.set_row(row, 0, &point);
                (&mut buffers.setup, point.len())
            }
            None => (&mut buffers.scatter, SCATTER_PARAMETERS),
        };
        let set = |word: usize, words: &[u32]| batch.set_row(row, first + word, words);
        instance.write(&surface.lookup(), nm, set);
    }

    /// Computes the material parameters of all points, and builds direction trees if directions of
    /// the shader or products with environment lights are sampled from them.
    pub fn set_up(self) -> PreparedBatch<'b, 'a> {
        let ShadingBatch { buffers, binding } = self;
        let parameter_words = binding.program.parameter_words;
        if let Some(kernel) = &binding.program.setup {
            buffers.setup.truncate(buffers.points);
            run(kernel, binding, &buffers.setup, &mut buffers.results, &mut buffers.counts);
            for row in 0..buffers.points {
                buffers.scatter.copy_row(
                    row,
                    SCATTER_PARAMETERS,
                    &buffers.results,
                    row,
                    0,
                    parameter_words,
                );
            }
        }
        if let Some(picker) = &mut buffers.direction_picker {
            let scatter = &buffers.scatter;
            let point = |row| {
                let [x, y, z] = scatter.floats(row, SCATTER_PARAMETERS - DIRECTION_WORDS);
                (
                    vec3(x, y, z),
                    (0..parameter_words)
                        .map(move |word| scatter.bits(row, SCATTER_PARAMETERS + word)),
                )
            };
            picker.begin(buffers.shader, (0..buffers.points).map(point));
        }
        PreparedBatch { buffers, binding }
    }
}

/// A batch with material parameters, which collects directions of incident light.
pub(super) struct PreparedBatch<'b, 'a> {
    buffers: &'b mut ShadingBuffers<'a>,
    binding: &'b ShaderBinding,
}

impl<'b, 'a> PreparedBatch<'b, 'a> {
    /// Returns the shader of the batch.
    pub fn binding(&self) -> &'b ShaderBinding {
        self.binding
    }

    /// Iterates over the words of the material parameters of a point.
    pub fn parameters(&self, point: usize) -> impl Iterator<Item = u32> {
        (0..self.binding.program.parameter_words)
            .map(move |word| self.buffers.scatter.bits(point, SCATTER_PARAMETERS + word))
    }

    /// Returns the direction tree of a point, which [`ShadingBatch::set_up`] must have built;
    /// `None` for integrators without direction trees.
    pub fn direction_tree(&self, point: usize) -> Option<ShiftedTree<'_>> {
        self.buffers.direction_picker.as_ref().map(|picker| picker.tree(point))
    }

    /// Adds a direction `wi` of incident light at a point.
    #[inline]
    pub fn push_light(&mut self, point: usize, wi: Vec3, wo: Vec3) {
        let buffers = &mut *self.buffers;
        let directions = [wi.x, wi.y, wi.z, wo.x, wo.y, wo.z].map(f32::to_bits);
        buffers.evaluate.set_row(buffers.lit_points.len(), 0, &directions);
        buffers.lit_points.push(point);
    }

    /// Evaluates the BSDF for all directions of incident light.
    pub fn evaluate(self) -> EvaluatedBatch<'b, 'a> {
        let PreparedBatch { buffers, binding } = self;
        for row in 0..buffers.lit_points.len() {
            buffers.copy_parameters(row, buffers.lit_points[row], binding.program.parameter_words);
        }
        buffers.evaluate_rows(binding, buffers.lit_points.len());
        EvaluatedBatch(PreparedBatch { buffers, binding })
    }

    /// Samples a direction at each point.
    pub fn sample(self) -> SampledBatch<'b, 'a> {
        let PreparedBatch { buffers, binding } = self;
        buffers.sampled_pdfs.clear();
        if buffers.sampler_override().is_some() {
            buffers.sample_override(binding);
        } else {
            buffers.scatter.truncate(buffers.points);
            let kernel = &binding.program.scatter;
            run(kernel, binding, &buffers.scatter, &mut buffers.results, &mut buffers.counts);
        }
        SampledBatch(PreparedBatch { buffers, binding })
    }
}

/// A batch with the BSDF value for each direction of incident light.
pub(super) struct EvaluatedBatch<'b, 'a>(PreparedBatch<'b, 'a>);

impl<'b, 'a> EvaluatedBatch<'b, 'a> {
    /// Returns the BSDF value of a direction, by its index in the order of
    /// [`PreparedBatch::push_light`].
    #[inline]
    pub fn value(&self, light: usize) -> BsdfValue {
        let buffers = &*self.0.buffers;
        let [r, g, b, pdf] = buffers.results.floats(light, 0);
        let pdf = match buffers.sampler_override() {
            Some(picker) => picker.pdf(
                buffers.lit_points[light],
                Vec3::from_array(buffers.evaluate.floats(light, 0)),
            ),
            None => pdf,
        };
        BsdfValue { s: vec3(r, g, b), pdf }
    }

    /// Samples a direction at each point.
    pub fn sample(self) -> SampledBatch<'b, 'a> {
        self.0.sample()
    }
}

/// A batch with a sampled direction for each point.
pub(super) struct SampledBatch<'b, 'a>(PreparedBatch<'b, 'a>);

impl SampledBatch<'_, '_> {
    /// Returns the direction sampled at a point and its BSDF value. Density 0 marks an invalid
    /// sample.
    #[inline]
    pub fn direction(&self, point: usize) -> (Vec3, BsdfValue) {
        let buffers = &*self.0.buffers;
        if let Some(&pdf) = buffers.sampled_pdfs.get(point) {
            let [r, g, b] = buffers.results.floats(point, 0);
            return (
                Vec3::from_array(buffers.evaluate.floats(point, 0)),
                BsdfValue { s: vec3(r, g, b), pdf },
            );
        }
        let [x, y, z, r, g, b, pdf] = buffers.results.floats(point, 0);
        (vec3(x, y, z), BsdfValue { s: vec3(r, g, b), pdf })
    }

    /// See [`PreparedBatch::parameters`].
    pub fn parameters(&self, point: usize) -> impl Iterator<Item = u32> {
        self.0.parameters(point)
    }

    /// See [`PreparedBatch::direction_tree`].
    pub fn direction_tree(&self, point: usize) -> Option<ShiftedTree<'_>> {
        self.0.direction_tree(point)
    }
}

/// Returns the refractive index on the side of `wi` divided by the index on the side of `wo`, for a
/// surface with relative index `eta`; 1 for reflection.
pub(super) fn eta_ratio(eta: f32, wi: Vec3, wo: Vec3) -> f32 {
    match wi.z * wo.z < 0.0 {
        true if wo.z > 0.0 => eta,
        true => 1.0 / eta,
        false => 1.0,
    }
}

/// Runs a kernel over the inputs.
fn run(
    kernel: &Kernel,
    binding: &ShaderBinding,
    inputs: &Batch,
    outputs: &mut Batch,
    counts: &mut ShadingCounts,
) {
    let textures: Vec<&Texture> = binding.textures.iter().map(|texture| &**texture).collect();
    outputs.reshape(kernel.outputs().len(), inputs.rows());
    kernel.run(&textures, inputs, outputs);
    counts.evaluations += inputs.rows() as u64;
    counts.lanes += (inputs.groups() * inputs.lanes()) as u64;
    if let Some(port) = kernel.outputs().iter().position(|port| port.name == "capped") {
        counts.capped +=
            (0..outputs.rows()).filter(|&row| outputs.bits(row, port) != 0).count() as u64;
    }
}
