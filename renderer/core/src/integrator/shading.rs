//! Batched shader evaluation: evaluates many shading points at a time, in full SIMD groups.
//!
//! The points of a batch belong to one shader. They are set and read in groups of [`COLUMN_LEN`]
//! rows, whatever the number of lanes of the shader's target. A batch passes through the following
//! states. Each state is a separate type, so calls in the wrong order do not compile:
//!
//! 1. [`ShadingBatch`] collects shading points.
//! 2. [`PreparedBatch`] holds their material parameters and direction trees, and collects a
//!    direction of incident light for each point.
//! 3. [`EvaluatedBatch`] holds the BSDF values for these directions. State 2 follows again.
//! 4. [`SampledBatch`] holds a sampled direction for each point. It follows state 2, which follows
//!    again if a path branches.
//!
//! Material parameters are computed once per point and shared by evaluation and sampling. All
//! states borrow the same [`ShadingBuffers`], which belong to one thread.

use super::ShadingCounts;
use super::directions::DirectionPicker;
use super::lane_set::LaneSet;
use crate::material::{Program, ShaderBinding, ShaderInstance, ShaderKernel};
use crate::texture::Lookup;
use lightbound_math::{COLUMN_LEN, Column, Columns, Vec3, vec2, vec3};
use lightbound_shader::{Batch, Kernel, Target, Texture};

/// BSDF values and sampling densities of a group of directions.
#[derive(Default)]
pub(super) struct BsdfColumns {
    /// BSDF × cosine, 1/sr.
    pub s: Columns<3>,
    /// Densities with which BSDF sampling generates the directions, 1/sr.
    pub pdf: Column,
}

/// Scratch buffers of shading batches, reused from batch to batch.
pub(super) struct ShadingBuffers<'a> {
    setup: Batch,
    scatter: Batch,
    evaluate: Batch,
    results: Batch,
    /// BSDF values of the specular lobes.
    specular: Batch,
    /// The rows of `evaluate` with a direction of incident light, for each group.
    lit: Vec<LaneSet>,
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
            specular: batch(),
            lit: Vec::new(),
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

    /// Begins a batch of `points` points.
    pub fn begin<'b>(
        &'b mut self,
        binding: &'b ShaderBinding,
        points: usize,
    ) -> ShadingBatch<'b, 'a> {
        let program = &binding.program;
        let rows = points.next_multiple_of(COLUMN_LEN);
        self.scatter.reshape(SCATTER_PARAMETERS + program.parameter_words, rows);
        self.evaluate.reshape(EVALUATE_PARAMETERS + program.parameter_words, rows);
        if let Some(setup) = &program.setup {
            self.setup.reshape(setup.inputs().len(), rows);
        }
        self.lit.clear();
        self.lit.resize(rows / COLUMN_LEN, LaneSet::NONE);
        ShadingBatch { buffers: self, binding, points }
    }

    /// Returns the direction sampler, if it replaces the sampler of the batch's shader.
    fn sampler_override(&self) -> Option<&DirectionPicker<'a>> {
        self.direction_picker.as_ref().filter(|picker| !picker.uses_shader_sampler())
    }

    /// Copies the material parameters of all points to `evaluate`.
    fn copy_parameters(&mut self, binding: &ShaderBinding) {
        let rows = self.scatter.rows();
        self.evaluate.truncate(rows);
        self.evaluate.copy_ports(
            EVALUATE_PARAMETERS,
            &self.scatter,
            SCATTER_PARAMETERS,
            binding.program.parameter_words,
        );
    }

    /// Evaluates the BSDF for the directions in `evaluate`.
    fn evaluate(&mut self, binding: &ShaderBinding) {
        self.copy_parameters(binding);
        run(&binding.program.evaluate, binding, &self.evaluate, &mut self.results);
        binding.program.record(ShaderKernel::Evaluate, &self.evaluate, &self.results);
    }

    /// Evaluates the specular lobes of the BSDF, for the directions in `evaluate`.
    fn evaluate_specular(&mut self, binding: &ShaderBinding) {
        let program = &binding.program;
        for &word in &program.diffuse_words {
            self.evaluate.fill_port(EVALUATE_PARAMETERS + word, 0);
        }
        let kernel = program.specular.as_ref().unwrap_or(&program.evaluate);
        run(kernel, binding, &self.evaluate, &mut self.specular);
        self.counts += count(kernel, &self.specular, None);
    }

    /// Samples directions with the picker instead of the shader's own sampler, and evaluates the
    /// BSDF for them.
    fn sample_override(&mut self, binding: &ShaderBinding) {
        let rows = self.scatter.rows();
        for point in 0..rows {
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
        }
        self.evaluate(binding);
        self.counts += count(&binding.program.evaluate, &self.results, None);
    }
}

/// A batch that collects shading points.
pub(super) struct ShadingBatch<'b, 'a> {
    buffers: &'b mut ShadingBuffers<'a>,
    binding: &'b ShaderBinding,
    /// Number of points.
    points: usize,
}

impl<'b, 'a> ShadingBatch<'b, 'a> {
    /// Returns the shader of the batch.
    pub fn binding(&self) -> &'b ShaderBinding {
        self.binding
    }

    /// Sets a group of shading points: random numbers for sampling a direction, and outgoing
    /// directions in the shader's frame.
    pub fn set_points(&mut self, group: usize, [u, v]: [&Column; 2], wo: &Columns<3>) {
        let [x, y, z] = &wo.0;
        self.buffers.scatter.set_columns(group * COLUMN_LEN, 0, &[u, v, x, y, z]);
    }

    /// Sets the material of a point. `positions` computes [`Geometry::shader_positions`], `n` is
    /// the shading normal. The parameters are those for light of a wavelength in nm, or in RGB.
    ///
    /// [`Geometry::shader_positions`]: crate::geometry::Geometry::shader_positions
    #[inline]
    pub fn set_material<'l>(
        &mut self,
        row: usize,
        (instance, nm): (&ShaderInstance, Option<f32>),
        lookup: impl FnOnce() -> Lookup<'l>,
        n: Vec3,
        positions: impl FnOnce() -> [Vec3; 2],
    ) {
        let buffers = &mut *self.buffers;
        buffers.shader = instance.shader;
        let (batch, first, lookup) = match self.binding.program.setup {
            Some(_) => {
                let ([p, object], lookup) = (positions(), lookup());
                let point = Program::surface_words(p, object, n, lookup.uv);
                buffers.setup.set_row(row, 0, &point);
                (&mut buffers.setup, point.len(), lookup)
            }
            None => {
                if let Some(words) = instance.constants() {
                    buffers.scatter.set_row(row, SCATTER_PARAMETERS, words);
                    return;
                }
                (&mut buffers.scatter, SCATTER_PARAMETERS, lookup())
            }
        };
        instance.write(&lookup, nm, |word, words| batch.set_row(row, first + word, words));
    }

    /// Computes the material parameters of all points, and builds direction trees if directions of
    /// the shader are sampled from them.
    pub fn set_up(self) -> PreparedBatch<'b, 'a> {
        let ShadingBatch { buffers, binding, points: rows } = self;
        let parameter_words = binding.program.parameter_words;
        buffers.scatter.truncate(rows);
        if let Some(kernel) = &binding.program.setup {
            buffers.setup.truncate(rows);
            run(kernel, binding, &buffers.setup, &mut buffers.results);
            buffers.counts += count(kernel, &buffers.results, None);
            buffers.scatter.copy_ports(SCATTER_PARAMETERS, &buffers.results, 0, parameter_words);
        }
        if let Some(picker) = &mut buffers.direction_picker {
            let scatter = &buffers.scatter;
            let point = |row| {
                let [x, y, z] = scatter.floats(row, SCATTER_PARAMETERS - DIRECTION_WORDS);
                (vec3(x, y, z), scatter.row_bits(row, SCATTER_PARAMETERS, parameter_words))
            };
            picker.begin(buffers.shader, (0..rows).map(point));
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
        let words = self.binding.program.parameter_words;
        self.buffers.scatter.row_bits(point, SCATTER_PARAMETERS, words)
    }

    /// Sets the directions of incident light at a group of points, in the shader's frame. Points
    /// outside `lit` have no light; their directions are arbitrary.
    pub fn set_lights(&mut self, group: usize, lit: LaneSet, wi: &Columns<3>, wo: &Columns<3>) {
        self.buffers.lit[group] = lit;
        let ([a, b, c], [x, y, z]) = (&wi.0, &wo.0);
        self.buffers.evaluate.set_columns(group * COLUMN_LEN, 0, &[a, b, c, x, y, z]);
    }

    /// Replaces the random numbers for directions of some points of a group.
    pub fn set_directions(&mut self, group: usize, lanes: LaneSet, u: &Columns<2>) {
        for lane in lanes.iter() {
            let u: [f32; 2] = u.get(lane);
            self.buffers.scatter.set_row(group * COLUMN_LEN + lane, 0, &u.map(f32::to_bits));
        }
    }

    /// Returns the share of the diffuse lobe in the BSDF value `s` of a point.
    fn diffuse_share(&self, point: usize, s: Vec3) -> Vec3 {
        if self.binding.program.diffuse_words.is_empty() {
            return Vec3::ZERO;
        }
        let specular = Vec3::from_array(self.buffers.specular.floats(point, 0));
        // NaN becomes 0 if both are 0.
        (Vec3::ONE - specular / s).max(Vec3::ZERO).min(Vec3::ONE)
    }

    /// Returns whether any point has a direction of incident light.
    pub fn is_lit(&self) -> bool {
        self.buffers.lit.iter().any(|lit| !lit.is_empty())
    }

    /// Evaluates the specular lobes for all directions of incident light.
    pub fn evaluate_specular(&mut self) {
        if !self.binding.program.diffuse_words.is_empty() {
            self.buffers.copy_parameters(self.binding);
            self.buffers.evaluate_specular(self.binding);
        }
    }

    /// Evaluates the BSDF for all directions of incident light.
    pub fn evaluate(self) -> EvaluatedBatch<'b, 'a> {
        let PreparedBatch { buffers, binding } = self;
        buffers.evaluate(binding);
        buffers.counts += count(&binding.program.evaluate, &buffers.results, Some(&buffers.lit));
        EvaluatedBatch(PreparedBatch { buffers, binding })
    }

    /// Samples a direction at each point.
    pub fn sample(self) -> SampledBatch<'b, 'a> {
        let PreparedBatch { buffers, binding } = self;
        buffers.sampled_pdfs.clear();
        if buffers.sampler_override().is_some() {
            buffers.sample_override(binding);
        } else {
            let kernel = &binding.program.scatter;
            run(kernel, binding, &buffers.scatter, &mut buffers.results);
            binding.program.record(ShaderKernel::Scatter, &buffers.scatter, &buffers.results);
            buffers.counts += count(kernel, &buffers.results, None);
        }
        SampledBatch(PreparedBatch { buffers, binding })
    }
}

/// A batch with the BSDF value for each direction of incident light.
pub(super) struct EvaluatedBatch<'b, 'a>(PreparedBatch<'b, 'a>);

impl<'b, 'a> EvaluatedBatch<'b, 'a> {
    /// Reads the BSDF values of a group. Lanes without light are unspecified.
    pub fn values(&self, group: usize, BsdfColumns { s, pdf }: &mut BsdfColumns) {
        let buffers = &*self.0.buffers;
        buffers.results.read_columns(group * COLUMN_LEN, 0, &mut s.0);
        buffers.results.read_columns(group * COLUMN_LEN, 3, std::slice::from_mut(pdf));
        if let Some(picker) = buffers.sampler_override() {
            for lane in buffers.lit[group].iter() {
                let point = group * COLUMN_LEN + lane;
                let wi = Vec3::from_array(buffers.evaluate.floats(point, 0));
                pdf[lane] = picker.pdf(point, wi);
            }
        }
    }

    /// Returns the share of the diffuse lobe in the values of a lane, `s`. Specular lobes have been
    /// evaluated before.
    pub fn diffuse_share(&self, group: usize, lane: usize, s: Vec3) -> Vec3 {
        self.0.diffuse_share(group * COLUMN_LEN + lane, s)
    }

    /// Discards the values.
    pub fn into_prepared(self) -> PreparedBatch<'b, 'a> {
        self.0
    }
}

/// A batch with a sampled direction for each point.
pub(super) struct SampledBatch<'b, 'a>(PreparedBatch<'b, 'a>);

impl<'b, 'a> SampledBatch<'b, 'a> {
    /// Discards the directions.
    pub fn into_prepared(self) -> PreparedBatch<'b, 'a> {
        self.0
    }

    /// Reads the sampled directions of a group, in the shader's frame, and their BSDF values.
    /// Density 0 marks an invalid sample. Lanes after the last point are unspecified.
    pub fn directions(
        &self,
        group: usize,
        wi: &mut Columns<3>,
        BsdfColumns { s, pdf }: &mut BsdfColumns,
    ) {
        let buffers = &*self.0.buffers;
        if buffers.sampled_pdfs.is_empty() {
            buffers.results.read_columns(group * COLUMN_LEN, 0, &mut wi.0);
            buffers.results.read_columns(group * COLUMN_LEN, 3, &mut s.0);
            buffers.results.read_columns(group * COLUMN_LEN, 6, std::slice::from_mut(pdf));
        } else {
            buffers.evaluate.read_columns(group * COLUMN_LEN, 0, &mut wi.0);
            buffers.results.read_columns(group * COLUMN_LEN, 0, &mut s.0);
            let rows = group_rows(&buffers.results, group);
            pdf[..rows.len()].copy_from_slice(&buffers.sampled_pdfs[rows]);
        }
    }

    /// Evaluates the specular lobes for the sampled directions.
    pub fn evaluate_specular(&mut self) {
        let PreparedBatch { buffers, binding } = &mut self.0;
        if binding.program.diffuse_words.is_empty() {
            return;
        }
        if buffers.sampled_pdfs.is_empty() {
            buffers.evaluate.truncate(buffers.scatter.rows());
            buffers.evaluate.copy_ports(0, &buffers.results, 0, DIRECTION_WORDS);
            buffers.evaluate.copy_ports(
                DIRECTION_WORDS,
                &buffers.scatter,
                SCATTER_PARAMETERS - DIRECTION_WORDS,
                DIRECTION_WORDS,
            );
        }
        buffers.copy_parameters(binding);
        buffers.evaluate_specular(binding);
    }

    /// Returns the share of the diffuse lobe in the BSDF value `s` of a lane.
    pub fn diffuse_share(&self, group: usize, lane: usize, s: Vec3) -> Vec3 {
        self.0.diffuse_share(group * COLUMN_LEN + lane, s)
    }

    /// See [`PreparedBatch::parameters`].
    pub fn parameters(&self, point: usize) -> impl Iterator<Item = u32> {
        self.0.parameters(point)
    }
}

/// Returns the rows of a group.
fn group_rows(batch: &Batch, group: usize) -> std::ops::Range<usize> {
    group * COLUMN_LEN..((group + 1) * COLUMN_LEN).min(batch.rows())
}

/// Returns the refractive index on the side of `wi` divided by the index on the side of `wo`, for a
/// surface with relative index `eta`; 1 for reflection.
#[inline(always)]
pub(super) fn eta_ratio(eta: f32, wi: Vec3, wo: Vec3) -> f32 {
    let refracted = if wo.z > 0.0 { eta } else { 1.0 / eta };
    if wi.z * wo.z < 0.0 { refracted } else { 1.0 }
}

/// Runs a kernel over the inputs.
fn run(kernel: &Kernel, binding: &ShaderBinding, inputs: &Batch, outputs: &mut Batch) {
    let textures: Vec<&Texture> = binding.textures.iter().map(|texture| &**texture).collect();
    outputs.reshape(kernel.outputs().len(), inputs.rows());
    kernel.run(&textures, inputs, outputs);
}

/// Returns the statistics of a call of a kernel. Only the rows of `used` count, if it is given.
pub(super) fn count(kernel: &Kernel, outputs: &Batch, used: Option<&[LaneSet]>) -> ShadingCounts {
    let is_used =
        |row: usize| used.is_none_or(|groups| groups[row / COLUMN_LEN].contains(row % COLUMN_LEN));
    let capped = kernel.outputs().iter().position(|port| port.name == "capped");
    let capped_rows = |port| {
        (0..outputs.rows()).filter(|&row| outputs.bits(row, port) != 0 && is_used(row)).count()
    };
    let evaluations =
        used.map_or(outputs.rows(), |groups| groups.iter().map(|lanes| lanes.len()).sum());
    ShadingCounts {
        evaluations: evaluations as u64,
        lanes: (outputs.groups() * outputs.lanes()) as u64,
        capped: capped.map_or(0, capped_rows) as u64,
    }
}
