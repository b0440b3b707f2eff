//! Kernels for building direction trees: values of a shader's BRDF, and lower and upper bounds on
//! them.
//!
//! Kernels compute the luminance, which is 0 only if all channels are 0. Those of BSDFs omit the
//! cosine, because cells are measured in projected solid angle. Bounds hold for all results that are
//! not NaN: NaN is *suppressed*, so that NaN for isolated directions does not invalidate the bounds
//! around them.
//!
//! Cells of one shading point share `wo` and the parameters: what depends on them alone is computed
//! once for each point.
//!
//! Where textures make parameters 0 or 1 in regions of surfaces, the cheapest version that is valid
//! for the parameters of a shading point is used ([`Program::region_versions`]).

use super::cells::{CellChildren, DirectionDomain};
use crate::material::{Guard, Program, ProgramError, ShaderBinding};
use lightbound_math::Vec3;
use lightbound_math::direction_box::{LANES, Lanes};
use lightbound_shader::bounding::{
    BoundingKernel, BoundsBatch, BoxBatch, Integrand, IntervalInputs, Ranges,
};
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::{self, Lifted, Options, Tracking};
use lightbound_shader::relations::Relations;
use lightbound_shader::{Arena, Batch, HoistedKernel, Texture, passes};

/// Kernels of a shader, shared by all threads.
#[derive(Debug)]
pub struct BrdfKernels {
    /// For parameters in regions of surfaces, the cheapest first.
    regions: Vec<(Guard, Version)>,
    general: Version,
    pub(super) domain: DirectionDomain,
}

/// The kernels for some parameters. Those of all versions have the same inputs and outputs, apart
/// from hoisted values.
#[derive(Debug)]
struct Version {
    values: HoistedKernel,
    bounds: BoundingKernel,
}

impl BrdfKernels {
    /// Compiles the kernels.
    ///
    /// # Errors
    /// If the shader cannot be bounded or compiled.
    pub fn compile(arena: &Arena, program: &Program) -> Result<BrdfKernels, ProgramError> {
        let domain = DirectionDomain::of(program);
        let integrand = match domain {
            DirectionDomain::Surface(_) => program.brdf_integrand()?,
            DirectionDomain::Volume => program.integrand()?,
        };
        let compile =
            |integrand: Integrand| Version::compile(arena, &integrand.with_luminance(), program);
        let versions = program.region_versions(&integrand).into_iter();
        let regions = versions.map(|version| Ok((version.guard, compile(version.integrand)?)));
        Ok(BrdfKernels {
            regions: regions.collect::<Result<_, ProgramError>>()?,
            general: compile(integrand)?,
            domain,
        })
    }

    /// Returns the cheapest version for the words of material parameters.
    fn version(&self, parameters: &[u32]) -> &Version {
        let region = self.regions.iter().find(|(guard, _)| guard.admits(parameters));
        region.map_or(&self.general, |(_, version)| version)
    }
}

impl Version {
    fn compile(
        arena: &Arena,
        integrand: &Integrand,
        program: &Program,
    ) -> Result<Version, ProgramError> {
        let lifted = bounding_shader(integrand);
        Ok(Version {
            values: HoistedKernel::compile(
                arena,
                &passes::lower(&integrand.bounded()),
                program.target(),
                |port| port >= WO_PORT,
            )?,
            bounds: BoundingKernel::compile_hoisted(arena, &lifted, program.target())?,
        })
    }
}

/// Returns the bounding shader for boxes of light directions.
fn bounding_shader(integrand: &Integrand) -> Lifted {
    let options = Options {
        sides: lift::BoundSides::Both,
        nan: Nan::Suppress,
        tracking: Tracking::ALL,
        relations: Relations::all(),
        ..Options::default()
    };
    integrand.bound(&integrand.inputs(IntervalInputs::Light, Ranges::Declared), &options)
}

/// Values of the BRDF in eight cells, and bounds on it, 1/sr.
#[derive(Clone, Copy, Debug)]
pub(super) struct BrdfEstimates {
    /// Value at the centre; 0 if it is NaN, infinite or negative.
    pub value: Lanes,
    /// Lower bound, clamped to non-negative values.
    pub lower: Lanes,
    /// Upper bound; infinite if the BRDF is not bounded.
    pub upper: Lanes,
}

/// The kernels with their input and output buffers, for one shading point at a time.
pub(super) struct Brdf<'a> {
    kernels: &'a BrdfKernels,
    /// The version for the parameters of the shading point.
    version: &'a Version,
    textures: Vec<&'a Texture>,
    inputs: Batch,
    outputs: Batch,
    /// Buffer for hoisted values.
    hoisted: Batch,
    boxes: BoxBatch,
    limits: BoundsBatch,
    /// The words of the material parameters.
    parameters: Vec<u32>,
}

/// First port of `wo`, after `wi`. The material parameters follow.
const WO_PORT: usize = 3;

impl<'a> Brdf<'a> {
    pub fn new(kernels: &'a BrdfKernels, binding: &'a ShaderBinding) -> Brdf<'a> {
        let version = &kernels.general;
        let Version { values, bounds } = version;
        let values = values.rest();
        let batch = |ports: usize, rows: usize| Batch::new(values.target(), ports, rows);
        Brdf {
            kernels,
            version,
            textures: binding.textures.iter().map(|texture| &**texture).collect(),
            inputs: batch(values.inputs().len(), LANES),
            outputs: batch(values.outputs().len(), LANES),
            hoisted: batch(0, 0),
            boxes: BoxBatch::new(bounds, LANES),
            limits: BoundsBatch::new(bounds, LANES),
            parameters: Vec::new(),
        }
    }

    pub fn domain(&self) -> DirectionDomain {
        self.kernels.domain
    }

    /// Sets the shading point. `parameters` are the words of its material parameters.
    pub fn begin(&mut self, wo: Vec3, parameters: impl Iterator<Item = u32>) {
        self.parameters.clear();
        self.parameters.extend(parameters);
        self.version = self.kernels.version(&self.parameters);
        let Version { values, bounds } = self.version;
        self.inputs.reshape(values.rest().inputs().len(), LANES);
        self.boxes.reshape(bounds);
        let wo = wo.to_array().map(f32::to_bits);
        for (port, &word) in (WO_PORT..).zip(wo.iter().chain(&self.parameters)) {
            self.inputs.fill_port(port, word);
            self.boxes.fill(port, word);
        }
        values.hoist(&self.textures, &mut self.inputs, &mut self.hoisted);
        bounds.hoist(&self.textures, &mut self.boxes);
    }

    /// Evaluates the BRDF for eight directions. NaN, infinite and negative values are replaced by
    /// 0.
    pub fn evaluate(&mut self, wi: &[Lanes; 3]) -> Lanes {
        for (port, words) in wi.iter().enumerate() {
            self.inputs.set_port(port, bytemuck::cast_slice(words));
        }
        self.version.values.run(&self.textures, &self.inputs, &mut self.outputs);
        let mut values = [0.0; LANES];
        self.outputs.read_port(0, bytemuck::cast_slice_mut(&mut values));
        values.map(|value| if value > 0.0 && value < f32::INFINITY { value } else { 0.0 })
    }

    /// Evaluates and bounds the BRDF in eight cells.
    pub fn estimate(&mut self, cells: &CellChildren) -> BrdfEstimates {
        let mut estimates = BrdfEstimates {
            value: self.evaluate(&cells.centers),
            lower: [0.0; LANES],
            upper: [0.0; LANES],
        };
        for (port, (lo, hi)) in std::iter::zip(&cells.boxes.lo, &cells.boxes.hi).enumerate() {
            self.boxes.set_all(port, lo, hi);
        }
        self.version.bounds.run(&self.textures, &self.boxes, &mut self.limits);
        self.limits.copy_lower(0, &mut estimates.lower);
        self.limits.copy_upper(0, &mut estimates.upper);
        for lane in 0..LANES {
            // A NaN bound becomes infinite.
            let upper = estimates.upper[lane];
            estimates.upper[lane] =
                if upper < f32::INFINITY { upper.max(0.0) } else { f32::INFINITY };
            estimates.lower[lane] = estimates.lower[lane].max(0.0).min(estimates.upper[lane]);
            estimates.value[lane] = estimates.value[lane].min(estimates.upper[lane]);
        }
        estimates
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::DirectionCell;
    use super::*;
    use crate::material::library;
    use lightbound_math::vec3;
    use lightbound_shader::{Kernel, Settings, Shader, Target};
    use std::sync::Arc;

    /// Kernels without hoisting.
    fn plain(arena: &Arena, program: &Program, domain: DirectionDomain) -> BrdfKernels {
        let integrand = match domain {
            DirectionDomain::Surface(_) => program.brdf_integrand(),
            DirectionDomain::Volume => program.integrand(),
        };
        let integrand = integrand.unwrap().with_luminance();
        let values = passes::lower(&integrand.bounded());
        let values = Kernel::compile(arena, &values, program.target()).unwrap();
        let lifted = bounding_shader(&integrand);
        let bounds = BoundingKernel::compile(arena, &lifted, program.target()).unwrap();
        BrdfKernels { regions: vec![], general: Version { values: values.into(), bounds }, domain }
    }

    #[test]
    fn hoisted_kernels_have_the_estimates_of_whole_ones() {
        let arena = Arena::new();
        let mut hoisted_shaders = 0;
        let targets = [Target::best(), Target::Sse].into_iter().filter(|t| t.is_available());
        for (entry, target) in
            targets.flat_map(|target| library::LIBRARY.iter().map(move |entry| (entry, target)))
        {
            let shader = Shader::parse(entry.name, entry.text).unwrap();
            let program = Program::compile(&arena, &shader, &Settings::default(), target).unwrap();
            let kernels = BrdfKernels::compile(&arena, &program).unwrap();
            let whole = plain(&arena, &program, kernels.domain);
            hoisted_shaders += u32::from(kernels.general.bounds.is_hoisted());
            let defaults: Vec<u32> = (program.settable.iter())
                .flat_map(|p| p.default.iter().flatten().map(|&x| p.scalar.bits(x)))
                .collect();
            let binding = ShaderBinding::new(Arc::new(program), vec![]);
            let [mut a, mut b] = [&kernels, &whole].map(|kernels| Brdf::new(kernels, &binding));
            // What is hoisted for one point must not remain for the next.
            for wo in [vec3(0.6, 0.0, 0.8), vec3(0.0, -0.96, 0.28), Vec3::Z] {
                a.begin(wo, defaults.iter().copied());
                b.begin(wo, defaults.iter().copied());
                let mut cell = DirectionCell::DOMAIN;
                for lane in [5, 2, 7] {
                    let children = cell.children(kernels.domain);
                    let [a, b] = [&mut a, &mut b].map(|brdf| {
                        let BrdfEstimates { value, lower, upper } = brdf.estimate(&children);
                        [value, lower, upper].map(|lanes| lanes.map(f32::to_bits))
                    });
                    assert_eq!(a, b, "{}, {target:?}, {wo}", entry.name);
                    cell = cell.child(lane);
                }
            }
        }
        assert!(hoisted_shaders > 8, "{hoisted_shaders} shaders");
    }
}
