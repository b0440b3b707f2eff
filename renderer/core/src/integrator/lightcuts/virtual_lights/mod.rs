//! Virtual lights (Keller 1997, *Instant Radiosity*; Walter et al. 2005 §6): indirect light as the
//! light of many points, which become leaves of the light tree.
//!
//! Paths from the lights (`trace`, whose first rays `emission` samples) leave a virtual light at
//! each surface with a shader, and at each collision in a medium (`media`). It emits what the
//! material scatters of the arriving power Φ, with the intensity Φ · s(ω): the shader is evaluated
//! for each direction, so glossy materials are right. The material of a medium is its phase function.
//! Clusters use bounds on s relative to the cosine (`emission_bound`).
//!
//! **Clamping.** Light does not increase at distances below the clamp distance r. What this takes
//! away at distance d, a share 1 − d²/r² of the light of points closer than r, is what rays of
//! length r from the receiving point find (Kollig & Keller 2004, *Illumination in the Presence of
//! Weak Singularities*). These rays compensate for clamping, with noise, which error bounds of cuts do
//! not include. Only light that arrived at a virtual light through mirrors or glass alone is lost:
//! surfaces that the rays hit do not find it.
//!
//! **Particles.** Virtual lights carry power instead of radiance. So refraction does not scale it,
//! and shading normals multiply it by the ratio of Veach 1997, *Robust Monte Carlo Methods for Light
//! Transport Simulation*, §5.3, of which each of the two factors is limited to [`MAX_CORRECTION`].

mod emission;
mod emission_bound;
mod material_table;
mod media;
mod trace;

use crate::geometry::Surface;
use crate::integrator::ShadingCounts;
use crate::integrator::material_bound::{BoundEvaluator, MaterialBounds};
use crate::integrator::shading::{count, eta_ratio};
use crate::light::FAR_OFFSET_ULPS;
use crate::light_tree::{
    EmittingSide, LightTree, PackedColour, PackedDirection, PackedFrame, VirtualLight,
};
use lightbound_math::direction_box::LANES;
use lightbound_math::sampling::GOLDEN_RATIO;
use lightbound_math::sampling::warp::cosine_hemisphere;
use lightbound_math::{Vec3, Viewpoint, vec2, vec3};
use lightbound_shader::{Batch, Texture};

pub(super) use self::material_table::VirtualMaterials;
pub(super) use self::trace::{TraceOptions, trace};

use self::emission_bound::Emitter;
use self::material_table::VirtualMaterial;

/// Greatest ratio of a cosine to the geometric normal to that to the shading normal, or its inverse.
const MAX_CORRECTION: f32 = 2.0;

/// Slack for rounding errors of cosines.
const COSINE_SLACK: f32 = 8.0 * f32::EPSILON;

/// Slack for rounding errors of emissions and of their bounds.
const EMISSION_SLACK: f32 = 1.0 + 64.0 * f32::EPSILON;

/// A point of a surface or a medium at which power arrives. Its material is set in a
/// [`BoundEvaluator`], for the rounded `wo`.
struct LitPoint<'a> {
    surface: &'a Surface,
    side: EmittingSide,
    /// Direction in which the power arrives.
    d: Vec3,
    /// Direction from which it arrives, in the frame of the emitting side.
    wo: PackedDirection,
    power: Vec3,
    eta: f32,
    /// See [`VirtualLight::material`].
    material: u32,
}

impl LitPoint<'_> {
    /// Returns the virtual light of the point; `None` if it emits nothing.
    fn virtual_light(&self, material: &mut BoundEvaluator<'_>) -> Option<VirtualLight> {
        let &LitPoint { surface, side, d, wo, power, eta, .. } = self;
        let n = surface.frame.n;
        let has_shading_normal = n != surface.ng && n != -surface.ng;
        // Without a shading normal, cosines differ by rounding alone.
        let power = match has_shading_normal {
            true => power * correction(wo.get().z, surface.ng.dot(d)).min(MAX_CORRECTION),
            false => power,
        };
        let max_correction = if has_shading_normal { MAX_CORRECTION } else { 1.0 };
        let frame = PackedFrame::new(&surface.frame);
        // Frames may be skewed by rounding, and cosines differ from those to their axes.
        let skew = Viewpoint::new(surface.p, &side.frame(frame), 1.0).skew();
        let bound = Emitter { wo: wo.get(), side, max_correction, eta }.bound(material);
        let typical = typical_value(material, side, wo.get());
        // A lobe that no direction has met.
        let unit = Vec3::select(typical.cmpgt(Vec3::ZERO), typical, bound.min(Vec3::ONE));
        let is_black = bound.cmpeq(Vec3::ZERO) | power.cmpeq(Vec3::ZERO);
        let unit = PackedColour::at_least(Vec3::select(is_black, Vec3::ONE, unit));
        let intensity = Vec3::select(is_black, Vec3::ZERO, power * unit.get());
        if intensity == Vec3::ZERO || !intensity.is_finite() {
            return None;
        }
        let max_intensity = bound * power.abs() * (1.0 + 16.0 * skew);
        Some(VirtualLight {
            position: surface.p,
            intensity,
            offset: surface.offset,
            material: self.material,
            frame,
            ng: PackedDirection::new(surface.ng),
            wo,
            unit,
            bound: PackedColour::at_least(Vec3::select(is_black, Vec3::ZERO, max_intensity)),
            side,
            has_shading_normal,
        })
    }
}

/// Returns the ratio of two cosines, without their signs.
fn correction(numerator: f32, denominator: f32) -> f32 {
    (numerator / denominator).abs()
}

/// Returns a typical value of s: the mean over a few directions, and that of the mirror.
fn typical_value(material: &mut BoundEvaluator<'_>, side: EmittingSide, wo: Vec3) -> Vec3 {
    let directions: [Vec3; LANES] = std::array::from_fn(|k| {
        if k == 0 {
            return vec3(-wo.x, -wo.y, wo.z);
        }
        let u = vec2((k as f32 - 0.5) / (LANES - 1) as f32, (k as f32 * GOLDEN_RATIO).fract());
        let d = cosine_hemisphere(u);
        d.with_z(if side == EmittingSide::Both && k % 2 == 0 { -d.z } else { d.z })
    });
    material.evaluate(&directions).into_iter().map(Vec3::abs).sum::<Vec3>() / LANES as f32
}

/// Evaluates virtual lights on one thread. Buffers are reused.
pub(super) struct VirtualLightEvaluator<'a> {
    lights: &'a [VirtualLight],
    materials: &'a VirtualMaterials,
    shaders: &'a MaterialBounds,
    /// Textures of each shader.
    textures: Vec<Vec<&'a Texture>>,
    /// Inputs and outputs of each program's kernel; `None` until used.
    buffers: Vec<Option<[Batch; 2]>>,
    counts: ShadingCounts,
    /// Indices of queries, sorted by shader.
    order: Vec<u32>,
}

/// A virtual light, and the unit direction in which to evaluate its emission.
#[derive(Clone, Copy, Debug)]
pub(super) struct EmissionQuery {
    pub light: u32,
    pub d: Vec3,
}

impl<'a> VirtualLightEvaluator<'a> {
    pub fn new(
        tree: &'a LightTree,
        materials: &'a VirtualMaterials,
        shaders: &'a MaterialBounds,
    ) -> VirtualLightEvaluator<'a> {
        VirtualLightEvaluator {
            lights: tree.virtual_lights(),
            materials,
            shaders,
            textures: shaders.textures(),
            buffers: (0..shaders.program_count()).map(|_| None).collect(),
            counts: ShadingCounts::default(),
            order: Vec::new(),
        }
    }

    /// Returns and resets the counts of shader evaluations.
    pub fn take_counts(&mut self) -> ShadingCounts {
        std::mem::take(&mut self.counts)
    }

    /// Returns the end of a shadow ray from `x` to a light.
    pub fn target(&self, light: u32, x: Vec3) -> Vec3 {
        let VirtualLight { position: p, ng, offset, .. } = self.lights[light as usize];
        let (ng, rounding) = (ng.get(), FAR_OFFSET_ULPS * x.abs().max_element());
        p + ng * (offset + rounding).copysign(ng.dot(x - p))
    }

    /// Computes the emission for each query: the intensity in its direction over that of the
    /// [`LightPoint`].
    pub fn evaluate(&mut self, queries: &[EmissionQuery], emissions: &mut Vec<Vec3>) {
        emissions.clear();
        emissions.resize(queries.len(), Vec3::ZERO);
        let (lights, materials, shaders) = (self.lights, self.materials, self.shaders);
        let light = |query: u32| &lights[queries[query as usize].light as usize];
        let shader = |query: u32| materials.get(light(query).material).shader;
        self.order.clear();
        self.order.extend(0..queries.len() as u32);
        self.order.sort_by_key(|&query| shader(query));
        for group in self.order.chunk_by(|&a, &b| shader(a) == shader(b)) {
            let shader = shader(group[0]) as usize;
            let (program, kernel) = shaders.point_kernel(shader);
            let [inputs, outputs] = self.buffers[program].get_or_insert_with(|| {
                [kernel.inputs(), kernel.outputs()]
                    .map(|ports| Batch::new(kernel.target(), ports.len(), LANES))
            });
            inputs.reshape(inputs.ports(), group.len());
            outputs.reshape(outputs.ports(), group.len());
            for (row, &query) in group.iter().enumerate() {
                let light = light(query);
                let wi = light.frame().local_direction(queries[query as usize].d);
                let directions = [wi, light.wo.get()].map(|d| d.to_array().map(f32::to_bits));
                let directions = directions.as_flattened();
                let parameters = inputs.ports() - directions.len();
                inputs.set_row(row, 0, directions);
                inputs.set_row(
                    row,
                    directions.len(),
                    materials.parameters(light.material, parameters),
                );
            }
            kernel.run(&self.textures[shader], inputs, outputs);
            self.counts += count(kernel, outputs, None);
            for (row, &query) in group.iter().enumerate() {
                let (light, d) = (light(query), queries[query as usize].d);
                let wi = Vec3::from_array(inputs.floats(row, 0));
                if wi.z > 0.0 || light.side == EmittingSide::Both {
                    let eta = eta_ratio(materials.get(light.material).eta, wi, light.wo.get());
                    let corrected = match light.has_shading_normal {
                        true => correction(light.ng.get().dot(d), wi.z).min(MAX_CORRECTION),
                        false => 1.0,
                    };
                    let s = Vec3::from_array(outputs.floats(row, 0));
                    emissions[query as usize] = s * (corrected * eta * eta) / light.unit.get();
                }
            }
        }
    }
}
