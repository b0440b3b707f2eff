//! Upper bounds of materials over clusters of lights: the compiled bounding shader of the very
//! point shader that is evaluated.
//!
//! Of each shader of a scene there are two kernels: s, the BRDF times the cosine, for up to
//! [`EIGHTS`] eights of directions, and its upper bounds for eight [boxes of
//! directions](DirectionBoxes), in one call each. At a shading point, `wo` and the members of
//! `Material` are written once, as [it begins](BoundsAt::begin) or when an eight is first used;
//! after that only directions change.
//!
//! A bound is that of all results that are numbers: NaN is *suppressed* (see [`Nan`]). A shader
//! that yields NaN for single directions, as 0/0 at the horizon, would have no bound anywhere about
//! them if NaN were to propagate, and no cut could end; what an integrator does about a NaN it has
//! to do where it evaluates. In optimized and related code, one costs as much as the other.
//!
//! Nothing is taken for granted of the inputs but what holds for all that the renderer makes:
//! directions are unit vectors to 2⁻²¹, `wo` is above a material with one side, and parameters are
//! in their declared ranges.

mod hand;
#[cfg(test)]
pub(super) mod tests;

use self::hand::{Formula, Hand};
use crate::geometry::Surface;
use crate::integrator::ShadingCounts;
use crate::material::{Bound, Instance, Program};
use crate::math::direction_box::{LANES, Lanes};
use crate::math::{DirectionBoxes, Vec3, vec3};
use crate::scene::BoundMode;
use lightbound_shader::bounding::{BoundingKernel, Boxes, Limits, Ranges, Spans};
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::{Options, Sides, Tracking};
use lightbound_shader::relations::Relations;
use lightbound_shader::{Arena, Batch, CompileError, Kernel, ShaderError, Texture, passes};
use std::sync::Arc;

/// Options of the lift; `None` for bounds by hand.
fn options(mode: BoundMode) -> Option<Options> {
    let (tracking, relations) = match mode {
        BoundMode::Naive => (Tracking::NONE, Relations::NONE),
        BoundMode::Optimized => (Tracking::ALL, Relations::NONE),
        BoundMode::Related => (Tracking::ALL, Relations::all()),
        BoundMode::Hand => return None,
    };
    Some(Options {
        sides: Sides::Upper,
        nan: Nan::Suppress,
        tracking,
        relations,
        ..Options::default()
    })
}

/// Why there are no bounds of a material.
#[derive(Debug, thiserror::Error)]
pub enum BoundError {
    /// The shader is wrong in a way that shows only here.
    #[error(transparent)]
    Shader(#[from] ShaderError),
    /// No code can be made of it.
    #[error("no bounds of the shader {name}: {source}")]
    Compile {
        /// The shader's file.
        name: String,
        /// Why.
        source: CompileError,
    },
    /// Nobody derived any.
    #[error(
        "no bounds are derived by hand for the shader {name}, only for {} of the library; use compiled ones, by --bounds related",
        Formula::names().join(", ")
    )]
    Hand {
        /// The shader's file.
        name: String,
    },
}

/// Kernels of all shaders of a scene, for all threads.
#[derive(Debug)]
pub struct MaterialBounds {
    shaders: Vec<ShaderBounds>,
}

/// Kernels of a shader.
#[derive(Clone, Debug)]
struct ShaderBounds {
    bound: Bound,
    kernels: Arc<Kernels>,
}

#[derive(Debug)]
struct Kernels {
    /// The integrand; its outputs begin with `s.r`, `s.g`, `s.b`.
    point: Kernel,
    /// The output that tells whether a loop was cut off, if any may be.
    capped: Option<usize>,
    bounds: Bounds,
}

/// Upper bounds of s.
#[derive(Debug)]
enum Bounds {
    Compiled(Box<BoundingKernel>),
    Hand(Formula),
}

impl MaterialBounds {
    /// Compiles the kernels of shaders, as [`Instance::shader`] counts them.
    pub fn compile(shaders: &[Bound], mode: BoundMode) -> Result<MaterialBounds, BoundError> {
        let arena = Arena::new();
        let mut all: Vec<ShaderBounds> = Vec::new();
        for bound in shaders {
            // Uses of one program differ in textures alone.
            let same = all.iter().find(|other| Arc::ptr_eq(&other.bound.program, &bound.program));
            let kernels = match same {
                Some(same) => same.kernels.clone(),
                None => Arc::new(Kernels::compile(&arena, &bound.program, mode)?),
            };
            all.push(ShaderBounds { bound: bound.clone(), kernels });
        }
        Ok(MaterialBounds { shaders: all })
    }
}

impl Kernels {
    fn compile(arena: &Arena, program: &Program, mode: BoundMode) -> Result<Kernels, BoundError> {
        let integrand = program.integrand()?;
        let name = || program.name.clone();
        let failed = |source| BoundError::Compile { name: name(), source };
        let bounds = match options(mode) {
            None => {
                Bounds::Hand(Formula::of(program).ok_or_else(|| BoundError::Hand { name: name() })?)
            }
            Some(options) => {
                let lifted =
                    integrand.bound(&integrand.inputs(Spans::Light, Ranges::Declared), &options);
                Bounds::Compiled(Box::new(
                    BoundingKernel::compile(arena, &lifted, program.target()).map_err(failed)?,
                ))
            }
        };
        Ok(Kernels {
            point: Kernel::compile(arena, &passes::lower(&integrand.point), program.target())
                .map_err(failed)?,
            capped: integrand.point.outputs.iter().position(|port| port.name == "capped"),
            bounds,
        })
    }
}

/// Words of a direction.
const XYZ: usize = 3;
/// The first word of `wo`, behind `wi`; members of `Material` follow.
const WO: usize = XYZ;

/// Most eights of directions that are evaluated at once.
pub const EIGHTS: usize = 32;

/// What callers have to see to.
const POINT: &str = "a point was begun with";

/// What a thread bounds and evaluates at one shading point after another; buffers stay.
pub struct BoundsAt<'a> {
    bounds: &'a MaterialBounds,
    /// Buffers of each shader that was met.
    rows: Vec<Option<Rows<'a>>>,
    /// The shader of the point.
    shader: usize,
    counts: ShadingCounts,
}

/// Rows of a shader's inputs and outputs, by eights.
struct Rows<'a> {
    textures: Vec<&'a Texture>,
    bounding: Bounding<'a>,
    inputs: Batch,
    outputs: Batch,
    /// What all rows have in common: `wo` and the members, and how many eights of `inputs` have it.
    common: Vec<u32>,
    filled: usize,
    /// Of `fn material`.
    setup: Option<(Batch, Batch)>,
    members: Vec<u32>,
}

/// What bounds are computed with.
enum Bounding<'a> {
    Compiled { kernel: &'a BoundingKernel, boxes: Boxes, limits: Limits },
    Hand { formula: Formula, at: Option<Hand> },
}

impl<'a> Rows<'a> {
    fn new(ShaderBounds { bound, kernels }: &'a ShaderBounds) -> Rows<'a> {
        let batch = |kernel: &Kernel, rows| {
            (
                Batch::new(kernel.target(), kernel.inputs().len(), rows),
                Batch::new(kernel.target(), kernel.outputs().len(), rows),
            )
        };
        let (inputs, outputs) = batch(&kernels.point, EIGHTS * LANES);
        let bounding = match &kernels.bounds {
            Bounds::Compiled(kernel) => {
                let (boxes, limits) = (Boxes::new(kernel, LANES), Limits::new(kernel, LANES));
                Bounding::Compiled { kernel, boxes, limits }
            }
            Bounds::Hand(formula) => Bounding::Hand { formula: *formula, at: None },
        };
        Rows {
            textures: bound.textures.iter().map(|texture| &**texture).collect(),
            bounding,
            inputs,
            outputs,
            common: Vec::new(),
            filled: 0,
            setup: bound.program.setup.as_ref().map(|setup| batch(setup, 1)),
            members: vec![0; bound.program.members],
        }
    }

    /// Finds the members of `Material`.
    fn set_up(
        &mut self,
        program: &Program,
        instance: &Instance,
        surface: &Surface,
        object: impl FnOnce() -> Vec3,
        counts: &mut ShadingCounts,
    ) {
        let members = &mut self.members;
        let Some((kernel, (inputs, outputs))) = program.setup.as_ref().zip(self.setup.as_mut())
        else {
            instance.write(&surface.lookup(), |first, words| {
                members[first..][..words.len()].copy_from_slice(words)
            });
            return;
        };
        let point = Program::surface_words(surface.p, object(), surface.frame.n, surface.uv);
        inputs.set_row(0, 0, &point);
        instance
            .write(&surface.lookup(), |first, words| inputs.set_row(0, point.len() + first, words));
        inputs.truncate(1);
        kernel.run(&self.textures, inputs, outputs);
        members.iter_mut().enumerate().for_each(|(port, word)| *word = outputs.bits(0, port));
        counts.evaluations += 1;
        counts.lanes += kernel.target().lanes() as u64;
        let capped = kernel.outputs().iter().position(|port| port.name == "capped");
        counts.capped += u64::from(capped.is_some_and(|port| outputs.bits(0, port) != 0));
    }

    /// Writes what all rows have in common.
    fn write(&mut self, wo: Vec3) {
        self.common.clear();
        self.common.extend(wo.to_array().map(f32::to_bits));
        self.common.extend_from_slice(&self.members);
        self.filled = 0;
        self.fill_eights(1);
        if let Bounding::Compiled { boxes, .. } = &mut self.bounding {
            for (port, &word) in (WO..).zip(&self.common) {
                boxes.fill(port, word);
            }
        }
        if let Bounding::Hand { formula, at } = &mut self.bounding {
            *at = Some(formula.at(wo, &self.members));
        }
    }

    /// Makes the first so many eights ready for directions.
    #[inline]
    fn fill_eights(&mut self, count: usize) {
        self.inputs.reshape(self.inputs.ports(), EIGHTS * LANES);
        for eight in self.filled..count {
            for (port, &word) in (WO..).zip(&self.common) {
                self.inputs.set_rows(eight * LANES, port, &[word; LANES]);
            }
        }
        self.filled = self.filled.max(count);
    }
}

impl<'a> BoundsAt<'a> {
    /// At no point yet.
    pub fn new(bounds: &'a MaterialBounds) -> BoundsAt<'a> {
        let rows = bounds.shaders.iter().map(|_| None).collect();
        BoundsAt { bounds, rows, shader: 0, counts: ShadingCounts::default() }
    }

    /// Evaluations of point shaders so far; counting starts again.
    pub fn take_counts(&mut self) -> ShadingCounts {
        std::mem::take(&mut self.counts)
    }

    /// Begins with a shading point; `object` is its position in the space of the object. `wo` is
    /// [local](crate::math::Viewpoint::local_direction), and above the surface where the material
    /// has one side.
    pub fn begin(
        &mut self,
        instance: &Instance,
        surface: &Surface,
        object: impl FnOnce() -> Vec3,
        wo: Vec3,
    ) {
        self.shader = instance.shader as usize;
        let program = &self.bounds.shaders[self.shader].bound.program;
        let mut counts = std::mem::take(&mut self.counts);
        let rows = self.rows(self.shader);
        rows.set_up(program, instance, surface, object, &mut counts);
        rows.write(wo);
        self.counts = counts;
    }

    /// The same, with the words of the members of `Material`.
    ///
    /// *Panics* if there is not a word for each.
    pub fn begin_with(&mut self, shader: usize, wo: Vec3, members: &[u32]) {
        self.shader = shader;
        let rows = self.rows(shader);
        rows.members.copy_from_slice(members);
        rows.write(wo);
    }

    fn rows(&mut self, shader: usize) -> &mut Rows<'a> {
        let bounds = self.bounds;
        self.rows[shader].get_or_insert_with(|| Rows::new(&bounds.shaders[shader]))
    }

    /// Upper bounds of s, 1/sr, for red, green and blue, over eight boxes of light directions: not
    /// below 0, and infinite where there is none.
    pub fn bound(&mut self, boxes: &DirectionBoxes) -> [Lanes; 3] {
        let rows = self.rows[self.shader].as_mut().expect(POINT);
        match &mut rows.bounding {
            Bounding::Hand { at, .. } => at.expect(POINT).bound(boxes),
            Bounding::Compiled { kernel, boxes: inputs, limits } => {
                for (port, (lo, hi)) in std::iter::zip(&boxes.lo, &boxes.hi).enumerate() {
                    inputs.set_all(port, lo, hi);
                }
                kernel.run(&rows.textures, inputs, limits);
                let mut bounds = [[0.0; LANES]; XYZ];
                for (output, lanes) in bounds.iter_mut().enumerate() {
                    limits.upper(output, lanes);
                    // NaN is below nothing.
                    lanes.iter_mut().for_each(|x| {
                        *x = if *x < f32::INFINITY { x.max(0.0) } else { f32::INFINITY }
                    });
                }
                bounds
            }
        }
    }

    /// Sets eight directions, of which [`evaluate_eights`](Self::evaluate_eights) finds s, as
    /// number `eight` of fewer than [`EIGHTS`].
    #[inline(always)]
    pub fn set_eight(&mut self, eight: usize, wi: &[Lanes; XYZ]) {
        let rows = self.rows[self.shader].as_mut().expect(POINT);
        rows.fill_eights(eight + 1);
        for (port, lanes) in wi.iter().enumerate() {
            rows.inputs.set_rows(eight * LANES, port, bytemuck::cast_slice(lanes));
        }
    }

    /// Evaluates s, by the shader that is bounded, of the first so many eights of directions.
    pub fn evaluate_eights(&mut self, count: usize) {
        let kernels = &self.bounds.shaders[self.shader].kernels;
        let rows = self.rows[self.shader].as_mut().expect(POINT);
        let (inputs, outputs) = (&mut rows.inputs, &mut rows.outputs);
        inputs.reshape(inputs.ports(), count * LANES);
        outputs.reshape(outputs.ports(), count * LANES);
        kernels.point.run(&rows.textures, inputs, outputs);
        self.counts.evaluations += (count * LANES) as u64;
        self.counts.lanes += (count * LANES) as u64;
        if let Some(port) = kernels.capped {
            self.counts.capped +=
                (0..count * LANES).filter(|&row| outputs.bits(row, port) != 0).count() as u64;
        }
    }

    /// s of the eight directions of a number, 1/sr, for red, green and blue, once they are
    /// evaluated.
    #[inline(always)]
    pub fn eight(&self, eight: usize) -> [Lanes; 3] {
        let rows = self.rows[self.shader].as_ref().expect(POINT);
        let mut s = [[0.0; LANES]; 3];
        for (port, lanes) in (0..).zip(&mut s) {
            rows.outputs.read_rows(eight * LANES, port, bytemuck::cast_slice_mut(lanes));
        }
        s
    }

    /// s of up to eight directions to lights, 1/sr, by the shader that is bounded; 0 in places
    /// behind them.
    pub fn evaluate(&mut self, wi: &[Vec3]) -> [Vec3; LANES] {
        let mut s = [Vec3::ZERO; LANES];
        let Some(&last) = wi.last() else { return s };
        let kernels = &self.bounds.shaders[self.shader].kernels;
        let rows = self.rows[self.shader].as_mut().expect(POINT);
        let (inputs, outputs) = (&mut rows.inputs, &mut rows.outputs);
        // Lanes behind repeat the last one.
        let ports = inputs.ports();
        inputs.reshape(ports, LANES);
        for port in 0..XYZ {
            let words: [u32; LANES] =
                std::array::from_fn(|row| wi.get(row).unwrap_or(&last)[port].to_bits());
            inputs.set_port(port, &words);
        }
        inputs.reshape(ports, wi.len());
        outputs.reshape(outputs.ports(), wi.len());
        kernels.point.run(&rows.textures, inputs, outputs);
        self.counts.evaluations += wi.len() as u64;
        self.counts.lanes += (inputs.groups() * inputs.lanes()) as u64;
        for (row, s) in s[..wi.len()].iter_mut().enumerate() {
            let [r, g, b] = outputs.floats(row, 0);
            *s = vec3(r, g, b);
            self.counts.capped +=
                u64::from(kernels.capped.is_some_and(|port| outputs.bits(row, port) != 0));
        }
        s
    }
}
