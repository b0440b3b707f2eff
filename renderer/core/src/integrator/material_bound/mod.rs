//! Upper bounds on materials over clusters of lights. They are computed by bounding shaders, which
//! are compiled from the same point shaders that the integrators evaluate.
//!
//! Each shader of a scene has two kernels. One evaluates s = BRDF × cosine for up to [`MAX_GROUPS`]
//! groups of eight directions per call. The other computes upper bounds on s over eight [direction
//! boxes](DirectionBoxes) per call. `wo` and the material parameters of a shading point are written
//! once, by [`BoundEvaluator::begin`] or when a group is first used. After that, only directions
//! change.
//!
//! Bounds hold for all results that are not NaN: NaN is *suppressed* (see [`Nan`]). If NaN
//! propagated, a shader that returns NaN for isolated directions, such as 0/0 at the horizon, would
//! have no bound in any box around them, and cut refinement could not terminate. Integrators handle
//! NaN results themselves. In the modes `Optimized` and `Related`, suppressing and propagating NaN
//! cost the same.
//!
//! Where textures make parameters 0 or 1 in regions of surfaces, there are versions of both kernels
//! for these regions. The cheapest version that is valid for the parameters of a shading point is
//! selected with them.
//!
//! The only assumptions about inputs are guarantees of the renderer: directions are unit vectors to
//! within 2⁻²¹, `wo` is above a one-sided material, and parameters are in their declared ranges.

mod cluster;
mod hand;
#[cfg(test)]
pub(super) mod tests;

pub use self::cluster::{Endpoints, include};

use self::cluster::ClusterBuffers;
use self::hand::{Formula, HandBound};
use crate::integrator::ShadingCounts;
use crate::material::{Guard, Program, RegionVersion, ShaderBinding, ShaderInstance};
use crate::settings::BoundMode;
use crate::texture::Lookup;
use lightbound_math::direction_box::{LANES, Lanes};
use lightbound_math::{DirectionBoxes, Vec3, vec3};
use lightbound_shader::bounding::{
    BoundingKernel, BoundsBatch, BoxBatch, Integrand, IntervalInputs, Ranges,
};
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::{BoundSides, Options, Tracking};
use lightbound_shader::relations::Relations;
use lightbound_shader::{Arena, Batch, CompileError, Kernel, ShaderError, Texture, passes};
use std::sync::Arc;

/// Returns the lifting options; `None` for hand-derived bounds.
fn options(mode: BoundMode) -> Option<Options> {
    let (tracking, relations) = match mode {
        BoundMode::Naive => (Tracking::NONE, Relations::NONE),
        BoundMode::Optimized => (Tracking::ALL, Relations::NONE),
        BoundMode::Related => (Tracking::ALL, Relations::all()),
        BoundMode::Hand => return None,
    };
    Some(Options {
        sides: BoundSides::Upper,
        nan: Nan::Suppress,
        tracking,
        relations,
        ..Options::default()
    })
}

/// Why bounds on a material are not available.
#[derive(Debug, thiserror::Error)]
pub enum BoundError {
    /// The shader has an error that only shows when it is bounded.
    #[error(transparent)]
    Shader(#[from] ShaderError),
    /// The bounding shader cannot be compiled.
    #[error("cannot bound the shader {name}: {source}")]
    Compile {
        /// The shader's file.
        name: String,
        /// The cause.
        source: CompileError,
    },
    /// The shader has no hand-derived bounds.
    #[error(
        "the shader {name} has no hand-derived bounds; only the library shaders {} have them; use \
         compiled bounds: --bounds related",
        Formula::names().join(", ")
    )]
    Hand {
        /// The shader's file.
        name: String,
    },
}

/// Evaluation and bounding kernels of all shaders of a scene, shared by all threads.
#[derive(Debug)]
pub struct MaterialBounds {
    shaders: Vec<ShaderBounds>,
    /// The kernels of each program.
    kernels: Vec<Kernels>,
}

/// A shader with its textures.
#[derive(Debug)]
struct ShaderBounds {
    binding: ShaderBinding,
    /// Index of the program's kernels.
    program: usize,
}

/// The versions of a shader.
#[derive(Debug)]
struct Kernels {
    /// For parameters in regions of surfaces, the cheapest first.
    regions: Vec<(Guard, Version)>,
    general: Version,
    /// Bounds for clusters of shading points, with any parameters.
    cluster: Option<BoundingKernel>,
    /// Ports of `wo`, and of the parameters that any version reads: few, if the shader has many
    /// parameters and is specialized.
    common_ports: Vec<usize>,
}

/// The kernels for some parameters. Those of all versions have the same inputs and outputs.
#[derive(Debug)]
struct Version {
    /// The integrand; its first outputs are `s.r`, `s.g`, `s.b`.
    point: Kernel,
    /// Output that is nonzero if a loop hit its iteration limit; `None` without loops.
    capped_port: Option<usize>,
    bounds: BoundSource,
}

/// The source of upper bounds on s.
#[derive(Debug)]
enum BoundSource {
    Compiled(Box<BoundingKernel>),
    Hand(Formula),
}

impl MaterialBounds {
    /// Compiles the kernels of all shaders, in the order of [`ShaderInstance::shader`].
    ///
    /// # Errors
    /// If a bounding shader cannot be compiled, or a shader has no hand-derived bounds in the mode
    /// [`BoundMode::Hand`].
    pub fn compile(
        shaders: &[ShaderBinding],
        mode: BoundMode,
    ) -> Result<MaterialBounds, BoundError> {
        MaterialBounds::compile_kernels(shaders, mode, false)
    }

    /// Like [`Self::compile`], with kernels for [`BoundEvaluator::bound_cluster`].
    ///
    /// # Errors
    /// As for [`Self::compile`].
    ///
    /// # Panics
    /// In the mode [`BoundMode::Hand`]: hand-derived bounds hold for one shading point.
    pub fn compile_for_clusters(
        shaders: &[ShaderBinding],
        mode: BoundMode,
    ) -> Result<MaterialBounds, BoundError> {
        MaterialBounds::compile_kernels(shaders, mode, true)
    }

    fn compile_kernels(
        shaders: &[ShaderBinding],
        mode: BoundMode,
        for_clusters: bool,
    ) -> Result<MaterialBounds, BoundError> {
        let arena = Arena::new();
        let mut bounds = MaterialBounds { shaders: Vec::new(), kernels: Vec::new() };
        for binding in shaders {
            // Bindings of one program differ only in their textures.
            let is_same =
                |other: &&ShaderBounds| Arc::ptr_eq(&other.binding.program, &binding.program);
            let program = match bounds.shaders.iter().find(is_same) {
                Some(existing) => existing.program,
                None => {
                    let program = &binding.program;
                    bounds.kernels.push(Kernels::compile(&arena, program, mode, for_clusters)?);
                    bounds.kernels.len() - 1
                }
            };
            bounds.shaders.push(ShaderBounds { binding: binding.clone(), program });
        }
        Ok(bounds)
    }

    /// Returns the textures of each shader.
    pub fn textures(&self) -> Vec<Vec<&Texture>> {
        let shaders = self.shaders.iter();
        shaders.map(|shader| shader.binding.textures.iter().map(|t| &**t).collect()).collect()
    }

    /// Returns the number of programs: shaders that differ only in their textures share one.
    pub fn program_count(&self) -> usize {
        self.kernels.len()
    }

    /// Returns the index of a shader's program, and the kernel that evaluates s for any parameters.
    /// Its inputs are `wi`, `wo` and the material parameters.
    pub fn point_kernel(&self, shader: usize) -> (usize, &Kernel) {
        let program = self.shaders[shader].program;
        (program, &self.kernels[program].general.point)
    }
}

impl Kernels {
    fn compile(
        arena: &Arena,
        program: &Program,
        mode: BoundMode,
        for_clusters: bool,
    ) -> Result<Kernels, BoundError> {
        let integrand = program.integrand()?;
        let general = Version::compile(arena, program, &integrand, mode)?;
        let versions = match mode {
            BoundMode::Hand => vec![],
            BoundMode::Naive | BoundMode::Optimized | BoundMode::Related => {
                program.region_versions(&integrand)
            }
        };
        let compile = |RegionVersion { guard, integrand }| {
            Ok((guard, Version::compile(arena, program, &integrand, mode)?))
        };
        let regions: Vec<_> =
            versions.into_iter().map(compile).collect::<Result<_, BoundError>>()?;
        let compile_cluster = || {
            let options = options(mode).expect("bounds on clusters are compiled");
            compile_bounds(arena, program, &integrand, IntervalInputs::All, &options)
        };
        let cluster = for_clusters.then(compile_cluster).transpose()?;
        let versions = || regions.iter().map(|(_, version)| version).chain([&general]);
        let is_read = |port: usize| {
            versions().any(|version| version.reads(port))
                || cluster.as_ref().is_some_and(|kernel: &BoundingKernel| kernel.reads(port))
        };
        let mut common_ports: Vec<usize> = (WO_PORT..WO_PORT + DIRECTION_WORDS).collect();
        let mut first = WO_PORT + DIRECTION_WORDS;
        for member in program.members() {
            let ports = first..first + member.size;
            first = ports.end;
            // What is known of a vector, such as its length, holds for its components of one point.
            let is_whole = member.fact.is_some() && ports.clone().any(is_read);
            common_ports.extend(ports.filter(|&port| is_whole || is_read(port)));
        }
        Ok(Kernels { regions, general, cluster, common_ports })
    }

    /// Returns the cheapest version for the words of material parameters.
    fn version(&self, parameters: &[u32]) -> &Version {
        let region = self.regions.iter().find(|(guard, _)| guard.admits(parameters));
        region.map_or(&self.general, |(_, version)| version)
    }
}

impl Version {
    /// Whether values or compiled bounds depend on an input.
    fn reads(&self, port: usize) -> bool {
        let bounds = match &self.bounds {
            BoundSource::Compiled(kernel) => kernel.reads(port),
            BoundSource::Hand(_) => false,
        };
        bounds || self.point.reads(port)
    }

    fn compile(
        arena: &Arena,
        program: &Program,
        integrand: &Integrand,
        mode: BoundMode,
    ) -> Result<Version, BoundError> {
        let name = || program.name.clone();
        let failed = |source| BoundError::Compile { name: name(), source };
        let bounds = match options(mode) {
            None => BoundSource::Hand(
                Formula::for_program(program).ok_or_else(|| BoundError::Hand { name: name() })?,
            ),
            Some(options) => {
                let intervals = IntervalInputs::Light;
                let kernel = compile_bounds(arena, program, integrand, intervals, &options)?;
                BoundSource::Compiled(Box::new(kernel))
            }
        };
        Ok(Version {
            point: Kernel::compile(arena, &passes::lower(&integrand.point), program.target())
                .map_err(failed)?,
            capped_port: integrand.point.outputs.iter().position(|port| port.name == "capped"),
            bounds,
        })
    }
}

/// Compiles a bounding shader.
fn compile_bounds(
    arena: &Arena,
    program: &Program,
    integrand: &Integrand,
    intervals: IntervalInputs,
    options: &Options,
) -> Result<BoundingKernel, BoundError> {
    let lifted = integrand.bound(&integrand.inputs(intervals, Ranges::Declared), options);
    BoundingKernel::compile(arena, &lifted, program.target())
        .map_err(|source| BoundError::Compile { name: program.name.clone(), source })
}

/// Returns the upper bounds on s.
fn upper_bounds(limits: &BoundsBatch) -> [Lanes; 3] {
    let mut bounds = [[0.0; LANES]; DIRECTION_WORDS];
    for (output, lanes) in bounds.iter_mut().enumerate() {
        limits.copy_upper(output, lanes);
        // A NaN bound becomes infinite.
        lanes
            .iter_mut()
            .for_each(|x| *x = if *x < f32::INFINITY { x.max(0.0) } else { f32::INFINITY });
    }
    bounds
}

/// Number of words per direction.
const DIRECTION_WORDS: usize = 3;
/// First port of `wo`, after `wi`. The material parameters follow.
const WO_PORT: usize = DIRECTION_WORDS;

/// Maximum number of groups of eight directions per evaluation.
pub const MAX_GROUPS: usize = 32;

/// Panic message for evaluations before [`BoundEvaluator::begin`].
const NO_SHADING_POINT: &str = "no shading point: call `begin` first";

/// Bounds and evaluates materials on one thread, for one shading point after another. Buffers are
/// reused.
pub struct BoundEvaluator<'a> {
    bounds: &'a MaterialBounds,
    /// Textures of each shader.
    textures: Vec<Vec<&'a Texture>>,
    /// Buffers of each program; `None` until used.
    buffers: Vec<Option<KernelBuffers<'a>>>,
    /// Indices of the shader at the shading point and of its program.
    shader: usize,
    program: usize,
    /// Index of the shader of the cluster of shading points.
    cluster_shader: usize,
    counts: ShadingCounts,
}

/// Inputs and outputs of a program's kernels, in groups of eight rows.
struct KernelBuffers<'a> {
    kernels: &'a Kernels,
    /// The version for the parameters of the shading point.
    version: &'a Version,
    bounding: BoundingState<'a>,
    cluster: Option<ClusterBuffers<'a>>,
    inputs: Batch,
    outputs: Batch,
    /// Words shared by all rows: `wo` and the material parameters.
    common_words: Vec<u32>,
    /// Number of groups of `inputs` with the current common words.
    filled_groups: usize,
    /// Whether all inputs of boxes have been set.
    has_boxes: bool,
    /// Inputs and outputs of `fn material`.
    setup: Option<(Batch, Batch)>,
    parameters: Vec<u32>,
}

/// A source of upper bounds, with its state for the current shading point.
enum BoundingState<'a> {
    Compiled { kernel: &'a BoundingKernel, boxes: BoxBatch, limits: BoundsBatch },
    Hand { formula: Formula, bound: Option<HandBound> },
}

impl<'a> KernelBuffers<'a> {
    /// Creates buffers for the kernels of a program.
    fn new(kernels: &'a Kernels, program: &Program) -> KernelBuffers<'a> {
        let batch = |kernel: &Kernel, rows| {
            (
                Batch::new(kernel.target(), kernel.inputs().len(), rows),
                Batch::new(kernel.target(), kernel.outputs().len(), rows),
            )
        };
        let version = &kernels.general;
        let (inputs, outputs) = batch(&version.point, MAX_GROUPS * LANES);
        let bounding = match &version.bounds {
            BoundSource::Compiled(kernel) => {
                let (boxes, limits) =
                    (BoxBatch::new(kernel, LANES), BoundsBatch::new(kernel, LANES));
                BoundingState::Compiled { kernel, boxes, limits }
            }
            BoundSource::Hand(formula) => BoundingState::Hand { formula: *formula, bound: None },
        };
        KernelBuffers {
            kernels,
            version,
            bounding,
            cluster: kernels.cluster.as_ref().map(ClusterBuffers::new),
            inputs,
            outputs,
            common_words: Vec::new(),
            filled_groups: 0,
            has_boxes: false,
            setup: program.setup.as_ref().map(|setup| batch(setup, 1)),
            parameters: vec![0; program.parameter_words],
        }
    }

    /// Computes the material parameters of a shader.
    fn set_up(
        &mut self,
        (program, textures): (&Program, &[&Texture]),
        (instance, nm): (&ShaderInstance, Option<f32>),
        lookup: &Lookup,
        n: Vec3,
        positions: impl FnOnce() -> [Vec3; 2],
    ) -> ShadingCounts {
        let parameters = &mut self.parameters;
        let Some((kernel, (inputs, outputs))) = program.setup.as_ref().zip(self.setup.as_mut())
        else {
            instance.write(lookup, nm, |first, words| {
                parameters[first..][..words.len()].copy_from_slice(words)
            });
            return ShadingCounts::default();
        };
        let [p, object] = positions();
        let point = Program::surface_words(p, object, n, lookup.uv);
        inputs.set_row(0, 0, &point);
        let set = |first: usize, words: &[u32]| inputs.set_row(0, point.len() + first, words);
        instance.write(lookup, nm, set);
        inputs.truncate(1);
        kernel.run(textures, inputs, outputs);
        parameters.iter_mut().enumerate().for_each(|(port, word)| *word = outputs.bits(0, port));
        let capped_port = kernel.outputs().iter().position(|port| port.name == "capped");
        ShadingCounts {
            evaluations: 1,
            lanes: kernel.target().lanes() as u64,
            capped: u64::from(capped_port.is_some_and(|port| outputs.bits(0, port) != 0)),
        }
    }

    /// Sets the words shared by all rows to `wo` and the material parameters.
    fn set_common_words(&mut self, wo: Vec3) {
        self.common_words.clear();
        self.common_words.extend(wo.to_array().map(f32::to_bits));
        self.common_words.extend_from_slice(&self.parameters);
        self.filled_groups = 0;
        self.fill_groups(1);
        self.version = self.kernels.version(&self.parameters);
        if let (BoundingState::Compiled { kernel, boxes, .. }, BoundSource::Compiled(version)) =
            (&mut self.bounding, &self.version.bounds)
        {
            *kernel = version;
            // All, once: inputs that are not read keep the words of the first point, which satisfy the
            // precondition of the bounds.
            if !std::mem::replace(&mut self.has_boxes, true) {
                for (port, &word) in (WO_PORT..).zip(&self.common_words) {
                    boxes.fill(port, word);
                }
            }
            for &port in &self.kernels.common_ports {
                boxes.fill(port, self.common_words[port - WO_PORT]);
            }
        }
        if let BoundingState::Hand { formula, bound } = &mut self.bounding {
            *bound = Some(formula.bind(wo, &self.parameters));
        }
    }

    /// Writes the common words to the first `count` groups.
    #[inline]
    fn fill_groups(&mut self, count: usize) {
        self.inputs.reshape(self.inputs.ports(), MAX_GROUPS * LANES);
        for group in self.filled_groups..count {
            for &port in &self.kernels.common_ports {
                let word = self.common_words[port - WO_PORT];
                self.inputs.set_rows(group * LANES, port, &[word; LANES]);
            }
        }
        self.filled_groups = self.filled_groups.max(count);
    }
}

impl<'a> BoundEvaluator<'a> {
    /// Creates an evaluator without a shading point.
    pub fn new(bounds: &'a MaterialBounds) -> BoundEvaluator<'a> {
        BoundEvaluator {
            bounds,
            textures: bounds.textures(),
            buffers: bounds.kernels.iter().map(|_| None).collect(),
            shader: 0,
            program: 0,
            cluster_shader: 0,
            counts: ShadingCounts::default(),
        }
    }

    /// Returns and resets the counts of point shader evaluations.
    pub fn take_counts(&mut self) -> ShadingCounts {
        std::mem::take(&mut self.counts)
    }

    /// Sets the shading point with shading normal `n`. `positions` computes
    /// [`Geometry::shader_positions`](crate::geometry::Geometry::shader_positions). `wo` is
    /// [local](lightbound_math::Viewpoint::local_direction), and above the surface if the material
    /// is one-sided.
    pub fn begin(
        &mut self,
        (instance, nm): (&ShaderInstance, Option<f32>),
        lookup: Lookup,
        n: Vec3,
        positions: impl FnOnce() -> [Vec3; 2],
        wo: Vec3,
    ) {
        let program = &self.bounds.shaders[instance.shader as usize].binding.program;
        let (buffers, textures) = self.select(instance.shader as usize);
        let counts = buffers.set_up((program, textures), (instance, nm), &lookup, n, positions);
        buffers.set_common_words(wo);
        self.counts += counts;
    }

    /// Sets the shading point by the words of its material parameters.
    ///
    /// # Panics
    /// If the number of words is wrong.
    pub fn begin_with_parameters(&mut self, shader: usize, wo: Vec3, parameters: &[u32]) {
        let (buffers, _) = self.select(shader);
        buffers.parameters.copy_from_slice(parameters);
        buffers.set_common_words(wo);
    }

    /// Returns the words of the material parameters at the shading point.
    pub fn parameters(&self) -> &[u32] {
        &self.buffers[self.program].as_ref().expect(NO_SHADING_POINT).parameters
    }

    /// Selects the shader of the shading point. Returns its buffers and textures.
    fn select(&mut self, shader: usize) -> (&mut KernelBuffers<'a>, &[&'a Texture]) {
        (self.shader, self.program) = (shader, self.bounds.shaders[shader].program);
        self.buffers_of(shader);
        let buffers = self.buffers[self.program].as_mut().expect(NO_SHADING_POINT);
        (buffers, &self.textures[shader])
    }

    /// Returns the buffers of a shader's program.
    fn buffers_of(&mut self, shader: usize) -> &mut KernelBuffers<'a> {
        let bounds = self.bounds;
        let ShaderBounds { binding, program } = &bounds.shaders[shader];
        self.buffers[*program]
            .get_or_insert_with(|| KernelBuffers::new(&bounds.kernels[*program], &binding.program))
    }

    /// Returns upper bounds on s, 1/sr, for red, green and blue, over eight boxes of light
    /// directions. They are non-negative, and infinite if s is not bounded.
    pub fn bound(&mut self, boxes: &DirectionBoxes) -> [Lanes; 3] {
        let buffers = self.buffers[self.program].as_mut().expect(NO_SHADING_POINT);
        match &mut buffers.bounding {
            BoundingState::Hand { bound, .. } => bound.expect(NO_SHADING_POINT).bound(boxes),
            BoundingState::Compiled { kernel, boxes: inputs, limits } => {
                for (port, (lo, hi)) in std::iter::zip(&boxes.lo, &boxes.hi).enumerate() {
                    inputs.set_all(port, lo, hi);
                }
                kernel.run(&self.textures[self.shader], inputs, limits);
                upper_bounds(limits)
            }
        }
    }

    /// Sets the directions of a group below [`MAX_GROUPS`] for
    /// [`evaluate_groups`](Self::evaluate_groups).
    #[inline(always)]
    pub fn set_group(&mut self, group: usize, wi: &[Lanes; DIRECTION_WORDS]) {
        let buffers = self.buffers[self.program].as_mut().expect(NO_SHADING_POINT);
        buffers.fill_groups(group + 1);
        buffers.inputs.set_columns(group * LANES, 0, &wi.each_ref());
    }

    /// Evaluates s for the first `count` groups of directions.
    pub fn evaluate_groups(&mut self, count: usize) {
        let buffers = self.buffers[self.program].as_mut().expect(NO_SHADING_POINT);
        let textures = &self.textures[self.shader];
        let Version { point, capped_port, .. } = buffers.version;
        let (inputs, outputs) = (&mut buffers.inputs, &mut buffers.outputs);
        inputs.reshape(inputs.ports(), count * LANES);
        outputs.reshape(outputs.ports(), count * LANES);
        point.run(textures, inputs, outputs);
        self.counts.evaluations += (count * LANES) as u64;
        self.counts.lanes += (count * LANES) as u64;
        if let Some(port) = *capped_port {
            self.counts.capped +=
                (0..count * LANES).filter(|&row| outputs.bits(row, port) != 0).count() as u64;
        }
    }

    /// Returns s, 1/sr, for red, green and blue, for an evaluated group of directions.
    #[inline(always)]
    pub fn group(&self, group: usize) -> [Lanes; 3] {
        let buffers = self.buffers[self.program].as_ref().expect(NO_SHADING_POINT);
        let mut s = [[0.0; LANES]; 3];
        buffers.outputs.read_columns(group * LANES, 0, &mut s);
        s
    }

    /// Evaluates s, 1/sr, for red, green and blue, for the light directions in the lanes of a mask.
    /// Results in other lanes are undefined.
    pub fn evaluate_lanes(
        &mut self,
        wi: &[Lanes; DIRECTION_WORDS],
        mask: &[bool; LANES],
    ) -> [Lanes; 3] {
        let mut s = [[0.0; LANES]; 3];
        let Some(last) = mask.iter().rposition(|&is_used| is_used) else { return s };
        let buffers = self.buffers[self.program].as_mut().expect(NO_SHADING_POINT);
        let textures = &self.textures[self.shader];
        let Version { point, capped_port, .. } = buffers.version;
        let (inputs, outputs) = (&mut buffers.inputs, &mut buffers.outputs);
        let ports = (inputs.ports(), outputs.ports());
        // Unused lanes repeat a direction, since shaders need valid ones.
        let mut valid = *wi;
        for column in &mut valid {
            let repeated = column[last];
            let lanes = column.iter_mut().zip(mask);
            lanes.for_each(|(x, &is_used)| *x = if is_used { *x } else { repeated });
        }
        inputs.reshape(ports.0, LANES);
        inputs.set_columns(0, 0, &valid.each_ref());
        inputs.reshape(ports.0, last + 1);
        outputs.reshape(ports.1, last + 1);
        point.run(textures, inputs, outputs);
        outputs.reshape(ports.1, LANES);
        outputs.read_columns(0, 0, &mut s);
        self.counts.evaluations += mask.iter().filter(|&&is_used| is_used).count() as u64;
        self.counts.lanes += (inputs.groups() * inputs.lanes()) as u64;
        if let Some(port) = *capped_port {
            let is_capped = |row: usize| mask[row] && outputs.bits(row, port) != 0;
            self.counts.capped += (0..LANES).filter(|&row| is_capped(row)).count() as u64;
        }
        s
    }

    /// Evaluates s, 1/sr, for up to eight light directions. Unused lanes are 0.
    pub fn evaluate(&mut self, wi: &[Vec3]) -> [Vec3; LANES] {
        let direction = |lane: usize| wi.get(lane).copied().unwrap_or(Vec3::ZERO);
        let columns = std::array::from_fn(|axis| std::array::from_fn(|lane| direction(lane)[axis]));
        let [r, g, b] = self.evaluate_lanes(&columns, &std::array::from_fn(|lane| lane < wi.len()));
        std::array::from_fn(|lane| match lane < wi.len() {
            true => vec3(r[lane], g[lane], b[lane]),
            false => Vec3::ZERO,
        })
    }
}
