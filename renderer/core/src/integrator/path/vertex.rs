//! Path vertices: shading points where paths may continue, in groups of SIMD lanes.

use super::paths::{Dispersion, Paths};
use super::{MAX_SURVIVAL, ROULETTE_DEPTH};
use crate::direction_tree::ShiftedTree;
use crate::geometry::InteractionColumns;
use crate::integrator::environment_sampling::EnvironmentSampleContext;
use crate::integrator::fault::Faults;
use crate::integrator::shading::{BsdfColumns, eta_ratio};
use crate::light::LightColumns;
use crate::material::{PathWavelength, Specular};
use fearless_simd::{Level, Simd, dispatch};
use lightbound_math::sampling::{PathKey, power_heuristic};
use lightbound_math::{COLUMN_LEN, Column, Columns, Frame, Vec3, vec3};
use lightbound_shader::SurfaceSides;

/// Up to [`COLUMN_LEN`] vertices with materials of one shader, or without a shader.
pub(super) struct VertexGroup<'a> {
    /// Number of lanes in use.
    pub len: usize,
    /// Lanes whose paths may continue.
    pub active: Lanes,
    /// Index of the path.
    pub path: [u32; COLUMN_LEN],
    /// As in [`Paths`].
    pub sample: [u32; COLUMN_LEN],
    pub key: [PathKey; COLUMN_LEN],
    pub throughput: Columns<3>,
    pub eta_scale: Column,
    pub dispersion: [Dispersion; COLUMN_LEN],
    pub surface: InteractionColumns,
    /// Outgoing direction in the shader's frame: the shading frame, mirrored to the upper side for
    /// one-sided shaders.
    pub wo: Columns<3>,
    /// −1 if the shader's frame is mirrored, else 1.
    pub side: Column,
    /// Index of refraction of a transmissive shader.
    pub eta: Column,
    /// Delta distributions of the material.
    pub specular: [Option<&'a Specular>; COLUMN_LEN],
    /// Probability of sampling the delta distributions rather than the shader.
    pub specular_probability: Column,
    /// Random numbers: light selection, two for the light sample, Russian roulette.
    pub light_u: Columns<4>,
    /// Random numbers: component selection, two for the direction, low bits of light selection.
    pub bsdf_u: Columns<4>,
    /// Index of the denoiser features, if requested.
    pub feature_index: [u32; COLUMN_LEN],
    /// Light samples. The density of black samples is 0.
    pub light: LightColumns,
}

/// A set of lanes, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lanes(pub u32);

impl Lanes {
    pub fn contains(self, lane: usize) -> bool {
        self.0 >> lane & 1 != 0
    }

    pub fn insert(&mut self, lane: usize) {
        self.0 |= 1 << lane;
    }

    pub fn len(&self) -> usize {
        self.0.count_ones() as usize
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the indices of the lanes; the first `len` are valid.
    #[inline(always)]
    pub fn indices(self) -> [u8; COLUMN_LEN] {
        let mut indices = [0; COLUMN_LEN];
        for (index, lane) in indices.iter_mut().zip(self) {
            *index = lane as u8;
        }
        indices
    }

    /// Returns the set of lanes for which a mask is set.
    #[inline(always)]
    pub fn from_mask(mask: &[bool; COLUMN_LEN]) -> Lanes {
        Lanes((0..COLUMN_LEN).map(|lane| u32::from(mask[lane]) << lane).sum())
    }
}

impl Iterator for Lanes {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let lane = (self.0 != 0).then(|| self.0.trailing_zeros() as usize % COLUMN_LEN);
        self.0 &= self.0.wrapping_sub(1);
        lane
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

/// Direct light of a group, before its shadow rays are traced.
pub(super) struct DirectLight {
    /// Lanes with a contribution.
    pub lanes: Lanes,
    pub radiance: Columns<3>,
    /// Origin and direction of the shadow ray.
    pub o: Columns<3>,
    pub d: Columns<3>,
}

/// Sampled directions of a group.
pub(super) struct BsdfSamples {
    /// Lanes with a direction.
    pub lanes: Lanes,
    /// Unit vector in the shading frame.
    pub wi: Columns<3>,
    /// BSDF × |cosine| / density.
    pub weight: Columns<3>,
    /// Density, 1/sr; 0 for a delta distribution.
    pub pdf: Column,
    /// Refractive index on the side of `wi` over the index on the side of `wo`; 1 for reflection.
    pub eta: Column,
}

/// The state of the paths after a vertex.
pub(super) struct Continuations {
    /// Lanes whose paths go on.
    pub lanes: Lanes,
    /// Lanes whose throughput is NaN.
    pub nan: Lanes,
    pub throughput: Columns<3>,
    pub eta_scale: Column,
    /// Origin and direction of the next ray.
    pub o: Columns<3>,
    pub d: Columns<3>,
}

impl<'a> VertexGroup<'a> {
    pub const EMPTY: VertexGroup<'a> = VertexGroup {
        len: 0,
        active: Lanes(0),
        path: [0; COLUMN_LEN],
        sample: [0; COLUMN_LEN],
        key: [PathKey::ZERO; COLUMN_LEN],
        throughput: Columns::ZERO,
        eta_scale: [0.0; COLUMN_LEN],
        dispersion: [Dispersion { nm: None, is_dispersed: false }; COLUMN_LEN],
        surface: InteractionColumns::EMPTY,
        wo: Columns::ZERO,
        side: [0.0; COLUMN_LEN],
        eta: [0.0; COLUMN_LEN],
        specular: [None; COLUMN_LEN],
        specular_probability: [0.0; COLUMN_LEN],
        light_u: Columns::ZERO,
        bsdf_u: Columns::ZERO,
        feature_index: [0; COLUMN_LEN],
        light: LightColumns::BLACK,
    };

    /// Loads the state of paths.
    pub fn load(&mut self, paths: &Paths, indices: &[u32]) {
        self.len = indices.len();
        let [r, g, b] = &paths.throughput;
        for (lane, &path) in indices.iter().enumerate() {
            let i = path as usize;
            self.path[lane] = path;
            self.sample[lane] = paths.sample[i];
            self.key[lane] = paths.key[i];
            self.throughput.set(lane, [r[i], g[i], b[i]]);
            self.eta_scale[lane] = paths.eta_scale[i];
        }
        if !paths.dispersion.is_empty() {
            for (dispersion, &path) in self.dispersion.iter_mut().zip(indices) {
                *dispersion = paths.dispersion[path as usize];
            }
        }
    }

    /// Sets the outgoing directions and their sides, for a shader with these sides.
    pub fn set_wo(&mut self, sides: SurfaceSides) {
        self.wo = self.surface.wo;
        self.side = [1.0; COLUMN_LEN];
        if sides == SurfaceSides::One {
            for (side, z) in self.side.iter_mut().zip(&mut self.wo.0[2]) {
                (*side, *z) = (1f32.copysign(*z), z.abs());
            }
        }
    }

    /// Returns the wavelength of a path, with a random number to select one.
    pub fn wavelength(&self, lane: usize) -> PathWavelength {
        PathWavelength { nm: self.dispersion[lane].nm, u: self.bsdf_u.0[1][lane] }
    }

    /// Returns the context for environment product sampling. `tree` is the vertex's direction tree,
    /// and `frame` its shading frame.
    pub fn environment_sample_context<'s>(
        &self,
        lane: usize,
        tree: ShiftedTree<'s>,
        frame: &'s Frame,
    ) -> EnvironmentSampleContext<'s> {
        EnvironmentSampleContext { tree, frame, side: self.side[lane] }
    }

    /// Converts the directions of the light samples to the shader's frame. Discards black samples,
    /// and those below one-sided shaders, which scatter no light from there. Returns the lanes with
    /// a sample. Sets `wi` to directions for the shader, which are valid in all lanes.
    pub fn finish_light_samples(
        &mut self,
        sides: SurfaceSides,
        faults: Faults,
        wi: &mut Columns<3>,
    ) -> Lanes {
        dispatch!(Level::new(), simd => self.finish_light_columns(simd, sides, faults, wi))
    }

    #[inline(always)]
    fn finish_light_columns<S: Simd>(
        &mut self,
        _: S,
        sides: SurfaceSides,
        faults: Faults,
        wi: &mut Columns<3>,
    ) -> Lanes {
        let mut lanes = [false; COLUMN_LEN];
        let both_sides = sides == SurfaceSides::Both;
        for lane in 0..COLUMN_LEN {
            let local = mirrored(self.light.local.get(lane), self.side[lane]);
            let (pdf, radiance): (f32, Vec3) =
                (self.light.pdf[lane], self.light.radiance.get(lane));
            let is_lit = (pdf > 0.0)
                & ((radiance.x != 0.0) | (radiance.y != 0.0) | (radiance.z != 0.0))
                & (both_sides | (local.z > 0.0));
            lanes[lane] = is_lit;
            wi.set(lane, if is_lit { local } else { self.wo.get(lane) });
            self.light.pdf[lane] = if is_lit { faults.light_density(pdf) } else { 0.0 };
        }
        Lanes::from_mask(&lanes)
    }

    /// Computes direct light by next-event estimation, with MIS weights against BSDF sampling.
    /// `bsdf` are the values for the light samples.
    pub fn direct_light(&self, bsdf: &BsdfColumns, out: &mut DirectLight) {
        dispatch!(Level::new(), simd => self.direct_light_columns(simd, bsdf, out));
    }

    #[inline(always)]
    fn direct_light_columns<S: Simd>(&self, _: S, bsdf: &BsdfColumns, out: &mut DirectLight) {
        let mut mask = [false; COLUMN_LEN];
        for lane in 0..COLUMN_LEN {
            let s: Vec3 = bsdf.s.get(lane);
            let (light, light_pdf) = (&self.light, self.light.pdf[lane]);
            let is_delta = self.light.delta >> lane & 1 != 0;
            let bsdf_pdf = bsdf.pdf[lane] * (1.0 - self.specular_probability[lane]);
            let weight = if is_delta { 1.0 } else { power_heuristic(light_pdf, bsdf_pdf) };
            let radiance = self.throughput.get::<Vec3>(lane)
                * s
                * light.radiance.get::<Vec3>(lane)
                * (weight / light_pdf);
            let wi: Vec3 = light.wi.get(lane);
            let o = self.surface.surface(lane).offset_ray_origin(wi);
            let to_target = light.target.get::<Vec3>(lane) - o;
            let is_segment = light.shadow_tmax[lane] == 1.0;
            mask[lane] = (light_pdf > 0.0) & ((s.x != 0.0) | (s.y != 0.0) | (s.z != 0.0));
            out.radiance.set(lane, radiance);
            out.o.set(lane, o);
            out.d.set(lane, if is_segment { to_target } else { wi });
        }
        out.lanes = Lanes::from_mask(&mask);
    }

    /// Computes the BSDF samples of a shader from directions in its frame.
    pub fn shader_samples(&self, wi: &Columns<3>, bsdf: &BsdfColumns, out: &mut BsdfSamples) {
        dispatch!(Level::new(), simd => self.shader_sample_columns(simd, wi, bsdf, out));
        out.lanes.0 &= self.active.0;
    }

    #[inline(always)]
    fn shader_sample_columns<S: Simd>(
        &self,
        _: S,
        wi: &Columns<3>,
        bsdf: &BsdfColumns,
        out: &mut BsdfSamples,
    ) {
        let mut mask = [false; COLUMN_LEN];
        for lane in 0..COLUMN_LEN {
            let wi: Vec3 = wi.get(lane);
            let pdf = bsdf.pdf[lane] * (1.0 - self.specular_probability[lane]);
            mask[lane] = pdf > 0.0;
            out.wi.set(lane, mirrored(wi, self.side[lane]));
            out.weight.set(lane, bsdf.s.get::<Vec3>(lane) / pdf);
            out.pdf[lane] = pdf;
            out.eta[lane] = eta_ratio(self.eta[lane], wi, self.wo.get(lane));
        }
        out.lanes = Lanes::from_mask(&mask);
    }

    /// Samples the delta distributions in the lanes that select them.
    pub fn sample_specular(&mut self, out: &mut BsdfSamples) {
        for lane in self.active {
            let (lobe_u, probability) = (self.bsdf_u.0[0][lane], self.specular_probability[lane]);
            if lobe_u >= probability {
                continue;
            }
            let sample = self.specular[lane].and_then(|specular| {
                specular.sample(
                    lobe_u / probability,
                    self.wavelength(lane),
                    self.wo.get(lane),
                    &self.surface.lookup(lane),
                )
            });
            let Some(sample) = sample else {
                out.lanes.0 &= !(1 << lane);
                continue;
            };
            out.lanes.insert(lane);
            out.wi.set(lane, mirrored(sample.wi, self.side[lane]));
            out.weight.set(lane, sample.weight);
            (out.pdf[lane], out.eta[lane]) = (0.0, sample.eta);
            self.dispersion[lane].nm = sample.nm;
        }
    }

    /// Computes the paths' throughput and next rays after BSDF sampling, and applies Russian
    /// roulette.
    pub fn continue_paths(&self, samples: &BsdfSamples, depth: u32, out: &mut Continuations) {
        dispatch!(Level::new(), simd => self.continue_columns(simd, samples, depth, out));
        out.nan.0 &= samples.lanes.0;
        out.lanes.0 &= samples.lanes.0 & !out.nan.0;
    }

    #[inline(always)]
    fn continue_columns<S: Simd>(
        &self,
        _: S,
        samples: &BsdfSamples,
        depth: u32,
        out: &mut Continuations,
    ) {
        let (mut alive, mut nan) = ([false; COLUMN_LEN], [false; COLUMN_LEN]);
        let has_roulette = depth >= ROULETTE_DEPTH;
        for lane in 0..COLUMN_LEN {
            let eta = samples.eta[lane];
            let eta_scale = self.eta_scale[lane] * eta * eta;
            let mut throughput: Vec3 =
                self.throughput.get::<Vec3>(lane) * samples.weight.get::<Vec3>(lane);
            nan[lane] = throughput.x.is_nan() | throughput.y.is_nan() | throughput.z.is_nan();
            let is_dispersed = self.dispersion[lane].is_dispersed;
            let magnitude = |rgb: Vec3| if is_dispersed { rgb.abs() } else { rgb }.max_element();
            let mut survives = true;
            if has_roulette {
                // A later refraction cancels the factor 1/η².
                let survival = magnitude(throughput * eta_scale).max(0.0).sqrt().min(MAX_SURVIVAL);
                survives = self.light_u.0[3][lane] < survival;
                throughput *= 1.0 / survival;
            }
            alive[lane] = survives & (magnitude(throughput) > 0.0);
            let wi: Vec3 = samples.wi.get(lane);
            let surface = self.surface.surface(lane);
            let d = surface.frame.to_world(wi);
            out.throughput.set(lane, throughput);
            out.eta_scale[lane] = eta_scale;
            out.d.set(lane, d);
            out.o.set(lane, surface.offset_ray_origin(d));
        }
        (out.lanes, out.nan) = (Lanes::from_mask(&alive), Lanes::from_mask(&nan));
    }
}

impl DirectLight {
    pub const NONE: DirectLight = DirectLight {
        lanes: Lanes(0),
        radiance: Columns::ZERO,
        o: Columns::ZERO,
        d: Columns::ZERO,
    };
}

impl BsdfSamples {
    pub const NONE: BsdfSamples = BsdfSamples {
        lanes: Lanes(0),
        wi: Columns::ZERO,
        weight: Columns::ZERO,
        pdf: [0.0; COLUMN_LEN],
        eta: [0.0; COLUMN_LEN],
    };
}

impl Continuations {
    pub const NONE: Continuations = Continuations {
        lanes: Lanes(0),
        nan: Lanes(0),
        throughput: Columns::ZERO,
        eta_scale: [0.0; COLUMN_LEN],
        o: Columns::ZERO,
        d: Columns::ZERO,
    };
}

/// Converts a direction from the shader's frame to the shading frame or back.
#[inline(always)]
pub(super) fn mirrored(wi: Vec3, side: f32) -> Vec3 {
    vec3(wi.x, wi.y, side * wi.z)
}
