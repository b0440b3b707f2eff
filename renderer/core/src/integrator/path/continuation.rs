//! Continuation of paths: BSDF sampling and Russian roulette.

use super::lanes::Lanes;
use super::next_event::PreviousVertex;
use super::vertex::{VertexGroup, mirrored};
use super::{MAX_SURVIVAL, ROULETTE_DEPTH, Wavefront};
use crate::film::FeatureLayers;
use crate::integrator::shading::{BsdfColumns, SampledBatch, eta_ratio};
use fearless_simd::{Level, Simd, dispatch};
use lightbound_math::{COLUMN_LEN, Column, Columns, Ray, Vec3};

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

impl BsdfSamples {
    pub const NONE: BsdfSamples = BsdfSamples {
        lanes: Lanes::NONE,
        wi: Columns::ZERO,
        weight: Columns::ZERO,
        pdf: [0.0; COLUMN_LEN],
        eta: [0.0; COLUMN_LEN],
    };
}

impl Continuations {
    pub const NONE: Continuations = Continuations {
        lanes: Lanes::NONE,
        nan: Lanes::NONE,
        throughput: Columns::ZERO,
        eta_scale: [0.0; COLUMN_LEN],
        o: Columns::ZERO,
        d: Columns::ZERO,
    };
}

impl VertexGroup<'_> {
    /// Computes the BSDF samples of a shader from directions in its frame.
    fn shader_samples(&self, wi: &Columns<3>, bsdf: &BsdfColumns, out: &mut BsdfSamples) {
        dispatch!(Level::new(), simd => self.shader_sample_columns(simd, wi, bsdf, out));
        out.lanes = out.lanes.and(self.active);
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
        for (lane, is_valid) in mask.iter_mut().enumerate() {
            let wi: Vec3 = wi.get(lane);
            let pdf = bsdf.pdf[lane] * (1.0 - self.specular_probability[lane]);
            *is_valid = pdf > 0.0;
            out.wi.set(lane, mirrored(wi, self.side[lane]));
            out.weight.set(lane, bsdf.s.get::<Vec3>(lane) / pdf);
            out.pdf[lane] = pdf;
            out.eta[lane] = eta_ratio(self.eta[lane], wi, self.wo.get(lane));
        }
        out.lanes = Lanes::from_mask(&mask);
    }

    /// Samples the delta distributions in the lanes that select them.
    fn sample_specular(&mut self, out: &mut BsdfSamples) {
        for lane in self.active.iter() {
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
                out.lanes.remove(lane);
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
    fn continue_paths(&self, samples: &BsdfSamples, depth: u32, out: &mut Continuations) {
        dispatch!(Level::new(), simd => self.continue_columns(simd, samples, depth, out));
        out.nan = out.nan.and(samples.lanes);
        out.lanes = out.lanes.and(samples.lanes).and_not(out.nan);
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

impl<'a> Wavefront<'a> {
    /// Samples the next rays of a group. `batch` holds the directions sampled by the shader, if the
    /// materials have one.
    pub(super) fn sample_bsdf(
        &mut self,
        group: usize,
        batch: Option<&SampledBatch<'_, 'a>>,
        depth: u32,
        features: FeatureLayers,
    ) {
        let vertices = &mut self.groups[group];
        let samples = &mut self.bsdf_samples;
        match batch {
            Some(batch) => {
                batch.directions(group, &mut self.wi, &mut self.bsdf);
                vertices.shader_samples(&self.wi, &self.bsdf, samples);
            }
            None => samples.lanes = Lanes::NONE,
        }
        vertices.sample_specular(samples);
        if features.albedo {
            for lane in vertices.active.iter() {
                let (weight, eta): (Vec3, f32) = (samples.weight.get(lane), samples.eta[lane]);
                *self.samples.albedo_mut(vertices.feature_index[lane]) =
                    if samples.lanes.contains(lane) { weight * eta * eta } else { Vec3::ZERO };
            }
        }
        if depth < self.continuation_limit {
            self.append_continuations(group, batch, depth);
        }
    }

    /// Appends the paths of a group that go on to the next paths.
    fn append_continuations(
        &mut self,
        group: usize,
        batch: Option<&SampledBatch<'_, 'a>>,
        depth: u32,
    ) {
        let (vertices, samples) = (&self.groups[group], &self.bsdf_samples);
        vertices.continue_paths(samples, depth, &mut self.continuations);
        let Continuations { lanes, nan, throughput, eta_scale, o, d } = &self.continuations;
        for lane in nan.iter() {
            // NaN is recorded, so that faulty shaders show up as invalid samples.
            self.samples.add(vertices.sample[lane], throughput.get(lane));
        }
        let (next, lanes, indices) = (&mut self.next, *lanes, lanes.indices());
        let survivors = indices[..lanes.len()].iter().map(|&lane| lane as usize % COLUMN_LEN);
        next.rays.extend(survivors.clone().map(|lane| Ray::new(o.get(lane), d.get(lane))));
        for (column, source) in next.throughput.iter_mut().zip(&throughput.0) {
            column.extend(survivors.clone().map(|lane| source[lane]));
        }
        next.pdf.extend(survivors.clone().map(|lane| samples.pdf[lane]));
        next.eta_scale.extend(survivors.clone().map(|lane| eta_scale[lane]));
        next.sample.extend(survivors.clone().map(|lane| vertices.sample[lane]));
        next.key.extend(survivors.clone().map(|lane| vertices.key[lane]));
        if self.columns.dispersion {
            next.dispersion.extend(survivors.clone().map(|lane| vertices.dispersion[lane]));
        }
        if let Some(environment) = self.environment {
            let pdf = |lane: usize| {
                let batch = batch.filter(|_| samples.pdf[lane] > 0.0)?;
                let tree = batch.direction_tree(group * COLUMN_LEN + lane)?;
                let frame = vertices.surface.frame(lane);
                let context = vertices.environment_sample_context(lane, tree, &frame);
                let wi = mirrored(samples.wi.get(lane), vertices.side[lane]);
                Some(environment.pdf(&self.scene.lights, &context, wi))
            };
            next.environment_pdf.extend(survivors.map(|lane| pdf(lane).unwrap_or(0.0)));
        }
        if self.columns.previous_vertices {
            for lane in lanes.iter() {
                let row = group * COLUMN_LEN + lane;
                let (first, receiver) = (next.previous_parameters.len(), self.receivers[row]);
                // Delta distributions need no light density and thus no material parameters.
                if let (Some(batch), Some(_), true) =
                    (batch, &receiver.lobe, samples.pdf[lane] > 0.0)
                {
                    next.previous_parameters.extend(batch.parameters(row));
                }
                let count = next.previous_parameters.len() - first;
                let parameters = [first as u32, count as u32];
                next.previous_vertices.push(PreviousVertex { receiver, parameters });
            }
        }
    }
}
