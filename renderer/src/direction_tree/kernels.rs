//! Compiled code that a tree of directions grows by: values of a shader's BRDF, and bounds of it
//! from both sides.
//!
//! All is of the luminance, which is 0 only where all colours are. The cosine is left out, since
//! cells have their size by it. A bound is that of all results that are numbers: NaN
//! is *suppressed*, since a tree must be one everywhere else, too.

use super::cells::Parts;
use crate::material::{Bound, Program, ProgramError};
use crate::math::Vec3;
use crate::math::direction_box::{LANES, Lanes};
use lightbound_shader::bounding::{BoundingKernel, Boxes, Limits, Ranges, Spans};
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::{self, Options, Tracking};
use lightbound_shader::relations::Relations;
use lightbound_shader::{Arena, Batch, Kernel, Sides, Texture, passes};

/// Code for a shader, to be run from any thread.
#[derive(Debug)]
pub struct BrdfKernels {
    values: Kernel,
    bounds: BoundingKernel,
    pub(super) sides: Sides,
}

impl BrdfKernels {
    /// Compiles it.
    pub fn compile(arena: &Arena, program: &Program) -> Result<BrdfKernels, ProgramError> {
        let integrand = program.brdf_integrand()?.with_luminance();
        let options = Options {
            sides: lift::Sides::Both,
            nan: Nan::Suppress,
            tracking: Tracking::ALL,
            relations: Relations::all(),
            ..Options::default()
        };
        let lifted = integrand.bound(&integrand.inputs(Spans::Light, Ranges::Declared), &options);
        Ok(BrdfKernels {
            values: Kernel::compile(arena, &passes::lower(&integrand.bounded()), program.target())?,
            bounds: BoundingKernel::compile(arena, &lifted, program.target())?,
            sides: program.sides,
        })
    }
}

/// What is known of the BRDF in eight cells, 1/sr.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// At the middle; 0 where it is not a number or below 0.
    pub value: Lanes,
    /// Lower bound, not below 0.
    pub lower: Lanes,
    /// Upper bound; infinite where there is none.
    pub upper: Lanes,
}

/// The code with inputs and outputs, for one point at a time.
pub(super) struct Brdf<'a> {
    kernels: &'a BrdfKernels,
    textures: Vec<&'a Texture>,
    inputs: Batch,
    outputs: Batch,
    boxes: Boxes,
    limits: Limits,
}

/// The first word of `wo`, behind `wi`; members of `Material` follow.
const WO: usize = 3;

impl<'a> Brdf<'a> {
    pub fn new(kernels: &'a BrdfKernels, bound: &'a Bound) -> Brdf<'a> {
        let BrdfKernels { values, bounds, .. } = kernels;
        let batch = |ports: usize| Batch::new(values.target(), ports, LANES);
        Brdf {
            kernels,
            textures: bound.textures.iter().map(|texture| &**texture).collect(),
            inputs: batch(values.inputs().len()),
            outputs: batch(values.outputs().len()),
            boxes: Boxes::new(bounds, LANES),
            limits: Limits::new(bounds, LANES),
        }
    }

    pub fn sides(&self) -> Sides {
        self.kernels.sides
    }

    /// Begins with a point: where it is seen from, and the words of the members of `Material`.
    pub fn begin(&mut self, wo: Vec3, members: impl Iterator<Item = u32>) {
        for (port, word) in (WO..).zip(wo.to_array().map(f32::to_bits).into_iter().chain(members)) {
            self.inputs.fill_port(port, word);
            self.boxes.fill(port, word);
        }
    }

    /// Evaluates it for eight directions: 0 where it is not a number or below 0.
    pub fn evaluate(&mut self, wi: &[Lanes; 3]) -> Lanes {
        for (port, words) in wi.iter().enumerate() {
            self.inputs.set_port(port, bytemuck::cast_slice(words));
        }
        self.kernels.values.run(&self.textures, &self.inputs, &mut self.outputs);
        let mut values = [0.0; LANES];
        self.outputs.read_port(0, bytemuck::cast_slice_mut(&mut values));
        values.map(|value| if value > 0.0 && value < f32::INFINITY { value } else { 0.0 })
    }

    /// Evaluates and bounds it in eight cells.
    pub fn look(&mut self, parts: &Parts) -> Known {
        let mut known = Known {
            value: self.evaluate(&parts.middles),
            lower: [0.0; LANES],
            upper: [0.0; LANES],
        };
        for (port, (lo, hi)) in std::iter::zip(&parts.boxes.lo, &parts.boxes.hi).enumerate() {
            self.boxes.set_all(port, lo, hi);
        }
        self.kernels.bounds.run(&self.textures, &self.boxes, &mut self.limits);
        self.limits.lower(0, &mut known.lower);
        self.limits.upper(0, &mut known.upper);
        for lane in 0..LANES {
            // NaN is neither below nor above anything.
            let upper = known.upper[lane];
            known.upper[lane] = if upper < f32::INFINITY { upper.max(0.0) } else { f32::INFINITY };
            known.lower[lane] = known.lower[lane].max(0.0).min(known.upper[lane]);
            known.value[lane] = known.value[lane].min(known.upper[lane]);
        }
        known
    }
}
