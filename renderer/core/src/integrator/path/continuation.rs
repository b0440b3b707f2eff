//! Continuation of paths in sampled directions.

use super::next_event::PreviousVertex;
use super::roulette::Roulette;
use super::training::TrainingVertex;
use super::vertex::{VertexGroup, mirrored};
use super::{VertexKind, Wavefront};
use crate::integrator::guiding::Guide;
use crate::integrator::lane_set::LaneSet;
use crate::integrator::shading::{BsdfColumns, PreparedBatch, SampledBatch, eta_ratio};
use crate::material::Specular;
use crate::texture::Lookup;
use fearless_simd::{Simd, dispatch};
use lightbound_math::{COLUMN_LEN, Column, Columns, Ray, Vec3, simd_level};

/// Sampled directions of a group.
#[derive(Default)]
pub(super) struct BsdfSamples {
    /// Lanes with a direction.
    pub lanes: LaneSet,
    /// Unit vector in the shading frame.
    pub wi: Columns<3>,
    /// BSDF × |cosine| / density.
    pub weight: Columns<3>,
    /// Density without the guide, 1/sr; 0 for a delta distribution.
    pub pdf: Column,
    /// Refractive index on the side of `wi` over the index on the side of `wo`; 1 for reflection.
    pub eta: Column,
}

impl BsdfSamples {
    /// Multiplies the weights by [`VertexGroup::soft_factor`].
    fn soften(&mut self, vertices: &VertexGroup<'_>) {
        for lane in self.lanes.iter() {
            let wi = vertices.surface.frame(lane).to_world(self.wi.get(lane));
            let factor = vertices.soft_factor(lane, wi);
            self.weight.set(lane, factor * self.weight.get::<Vec3>(lane));
        }
    }
}

/// The state of the paths after a vertex.
#[derive(Default)]
pub(super) struct Continuations {
    /// Lanes whose paths continue.
    pub lanes: LaneSet,
    /// Lanes whose throughput is NaN.
    pub nan: LaneSet,
    pub throughput: Columns<3>,
    pub eta_scale: Column,
    /// Origin and direction of the next ray.
    pub o: Columns<3>,
    pub d: Columns<3>,
}

impl VertexGroup<'_> {
    /// Computes the BSDF samples of a shader from directions in its frame. MIS weights compare
    /// densities without the guide, since the guide's is known for sampled directions only. This
    /// costs little: weights of any densities sum to 1.
    fn shader_samples(&self, wi: &Columns<3>, bsdf: &BsdfColumns, out: &mut BsdfSamples) {
        dispatch!(simd_level(), simd => self.shader_sample_columns(simd, wi, bsdf, out));
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
            // NaN goes on to the throughput, so that faulty shaders show up as invalid samples.
            *is_valid = (pdf > 0.0) | pdf.is_nan();
            out.wi.set(lane, mirrored(wi, self.side[lane]));
            out.weight.set(lane, bsdf.s.get::<Vec3>(lane) / (pdf * self.guide_pdf[lane]));
            out.pdf[lane] = pdf;
            out.eta[lane] = eta_ratio(self.eta[lane], wi, self.wo.get(lane));
        }
        out.lanes = LaneSet::from_mask(&mask);
    }

    /// Samples the delta distributions in the lanes that select them. `lookup` returns the point of
    /// a lane for texture lookups.
    fn sample_specular<'l>(
        &mut self,
        out: &mut BsdfSamples,
        lookup: impl Fn(&Self, usize, &Specular) -> Lookup<'l>,
    ) {
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
                    &lookup(self, lane, specular),
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
    fn continue_paths(&self, samples: &BsdfSamples, roulette: Roulette, out: &mut Continuations) {
        dispatch!(simd_level(), simd => self.continue_columns(simd, samples, roulette, out));
        out.nan = out.nan.and(samples.lanes);
        out.lanes = out.lanes.and(samples.lanes).and_not(out.nan);
    }

    #[inline(always)]
    fn continue_columns<S: Simd>(
        &self,
        _: S,
        samples: &BsdfSamples,
        roulette: Roulette,
        out: &mut Continuations,
    ) {
        let (mut alive, mut nan) = ([false; COLUMN_LEN], [false; COLUMN_LEN]);
        for lane in 0..COLUMN_LEN {
            let eta = samples.eta[lane];
            let eta_scale = self.eta_scale[lane] * eta * eta;
            let mut throughput: Vec3 =
                self.throughput.get::<Vec3>(lane) * samples.weight.get::<Vec3>(lane);
            nan[lane] = throughput.x.is_nan() | throughput.y.is_nan() | throughput.z.is_nan();
            let is_dispersed = self.dispersion[lane].is_dispersed;
            let magnitude = |rgb: Vec3| if is_dispersed { rgb.abs() } else { rgb }.max_element();
            // A later refraction cancels the factor 1/η².
            let survival = roulette.survival(
                magnitude(throughput * eta_scale).max(0.0),
                self.survival_scale[lane],
                samples.pdf[lane] == 0.0,
            );
            let survives = self.bsdf_u.0[3][lane] < survival;
            throughput *= 1.0 / survival;
            alive[lane] = survives & (magnitude(throughput) > 0.0);
            let wi: Vec3 = samples.wi.get(lane);
            let surface = self.surface.surface(lane);
            let d = surface.frame.to_world(wi);
            out.throughput.set(lane, throughput);
            out.eta_scale[lane] = eta_scale;
            out.d.set(lane, d);
            out.o.set(lane, surface.offset_ray_origin(d));
        }
        (out.lanes, out.nan) = (LaneSet::from_mask(&alive), LaneSet::from_mask(&nan));
    }
}

impl<'a> Wavefront<'a> {
    /// Samples the next rays of the paths in a batch. Paths may branch at their first vertices.
    pub(super) fn branch(
        &mut self,
        mut batch: PreparedBatch<'_, 'a>,
        depth: u32,
        mut records_albedo: bool,
    ) {
        let guide = self.guide_at(depth);
        if records_albedo && guide.is_some() {
            // Densities of the guide would add noise.
            batch = self.record_unguided_albedo(batch);
            self.set_directions(&mut batch, guide);
            records_albedo = false;
        }
        let branches = if depth == 0 && self.continuation_limit > 0 { self.branches } else { 1 };
        if branches > 1 {
            let groups = self.vertices.used_groups_mut().iter_mut();
            groups.for_each(|group| group.divide_throughput(branches));
        }
        for branch in 0..branches {
            if branch > 0 {
                for group in self.vertices.used_groups_mut() {
                    group.begin_branch(&self.samples.sampler, 2 * depth + 2);
                }
                self.set_directions(&mut batch, guide);
                records_albedo = false;
            }
            let mut sampled = batch.sample();
            if self.stores_lobes_of(depth) {
                sampled.evaluate_specular();
            }
            for group in 0..self.vertices.group_count {
                self.sample_bsdf(group, Some(&sampled), depth, records_albedo);
            }
            batch = sampled.into_prepared();
        }
    }

    /// Records the albedo of the vertices in a batch, for directions without a guide.
    fn record_unguided_albedo<'b>(
        &mut self,
        mut batch: PreparedBatch<'b, 'a>,
    ) -> PreparedBatch<'b, 'a> {
        self.set_directions(&mut batch, None);
        let sampled = batch.sample();
        for group in 0..self.vertices.group_count {
            let dispersion = self.vertices.groups[group].dispersion;
            self.sample_directions(group, Some(&sampled));
            self.record_albedo(group);
            // The path has not selected a wavelength yet.
            self.vertices.groups[group].dispersion = dispersion;
        }
        sampled.into_prepared()
    }

    /// Sets the random numbers for directions in a batch.
    fn set_directions(&mut self, batch: &mut PreparedBatch<'_, 'a>, guide: Option<&Guide>) {
        for (index, group) in self.vertices.used_groups_mut().iter_mut().enumerate() {
            group.set_direction_u(guide);
            batch.set_directions(index, group.active, &group.direction_u);
        }
    }

    /// Returns the guide, if paths continue from vertices of a scattering event. It guides
    /// scattering at surfaces only.
    pub(super) fn guide_at(&self, depth: u32) -> Option<&'a Guide> {
        let is_guided =
            self.vertices.kind == VertexKind::Surface && depth < self.continuation_limit;
        self.trained.and_then(|trained| trained.guide.as_ref()).filter(|_| is_guided)
    }

    /// Samples the next rays of a group. `batch` holds the directions sampled by the shader, if the
    /// materials have one.
    pub(super) fn sample_bsdf(
        &mut self,
        group: usize,
        batch: Option<&SampledBatch<'_, 'a>>,
        depth: u32,
        records_albedo: bool,
    ) {
        self.sample_directions(group, batch);
        if records_albedo {
            self.record_albedo(group);
        }
        if depth < self.continuation_limit {
            self.append_continuations(group, batch, depth);
        }
    }

    /// Samples the directions of a group.
    pub(super) fn sample_directions(&mut self, group: usize, batch: Option<&SampledBatch<'_, 'a>>) {
        let has_soft_terminator = self.has_soft_terminator();
        let (vertices, samples) =
            (&mut self.vertices.groups[group], &mut self.buffers.bsdf_samples);
        match batch {
            Some(batch) => {
                batch.directions(group, &mut self.buffers.wi, &mut self.buffers.bsdf);
                vertices.shader_samples(&self.buffers.wi, &self.buffers.bsdf, samples);
                if has_soft_terminator {
                    samples.soften(vertices);
                }
            }
            None => samples.lanes = LaneSet::NONE,
        }
        let (scene, hits, rays) = (self.scene, &self.hits, &self.paths.rays);
        vertices.sample_specular(samples, |vertices, lane, specular| {
            let needs = specular.needs();
            if needs.is_none() {
                return vertices.surface.lookup(lane);
            }
            let path = vertices.path[lane] as usize;
            scene.lookup(&hits[path], rays[path].d, &vertices.surface.surface(lane), needs)
        });
    }

    /// Records the albedo of a group, from the sampled directions.
    pub(super) fn record_albedo(&mut self, group: usize) {
        let (vertices, samples) = (&self.vertices.groups[group], &self.buffers.bsdf_samples);
        for lane in vertices.active.iter() {
            let (weight, eta): (Vec3, f32) = (samples.weight.get(lane), samples.eta[lane]);
            *self.samples.albedo_mut(vertices.feature_index[lane]) =
                if samples.lanes.contains(lane) { weight * eta * eta } else { Vec3::ZERO };
        }
    }

    /// Appends the continuing paths of a group to the next [`Paths`](super::paths::Paths).
    fn append_continuations(
        &mut self,
        group: usize,
        batch: Option<&SampledBatch<'_, 'a>>,
        depth: u32,
    ) {
        let (vertices, samples) = (&self.vertices.groups[group], &self.buffers.bsdf_samples);
        // The training has cells of surfaces with a shader only.
        let is_trained = self.roulette().is_some()
            && self.vertices.kind == VertexKind::Surface
            && batch.is_some();
        let roulette = Roulette::new(self.vertices.kind, depth, is_trained);
        vertices.continue_paths(samples, roulette, &mut self.buffers.continuations);
        let Continuations { lanes, nan, throughput, eta_scale, o, d } = &self.buffers.continuations;
        for lane in nan.iter() {
            // NaN is recorded, so that faulty shaders show up as invalid samples.
            self.samples.add(vertices.sample[lane], throughput.get(lane));
        }
        if let Some(recorder) = &mut self.recorder {
            if self.vertices.kind == VertexKind::Surface {
                let points = vertices.cell_points();
                for lane in lanes.iter().filter(|&lane| samples.pdf[lane] > 0.0) {
                    recorder.add(TrainingVertex {
                        point: points.get(lane),
                        u: vertices.direction_u.get(lane),
                        pdf: vertices.guide_pdf[lane],
                        sample: vertices.sample[lane],
                        throughput: throughput.get::<Vec3>(lane).abs().max_element()
                            * eta_scale[lane],
                    });
                }
            }
            lanes.iter().for_each(|lane| recorder.add_ray(vertices.sample[lane]));
        }
        let (next, lanes, indices) = (&mut self.next, *lanes, lanes.indices());
        let survivors = indices[..lanes.len()].iter().map(|&lane| lane as usize % COLUMN_LEN);
        let rays = &self.paths.rays;
        next.rays.extend(survivors.clone().map(|lane| {
            let time = rays[vertices.path[lane] as usize].time;
            Ray { time, ..Ray::new(o.get(lane), d.get(lane)) }
        }));
        for (column, source) in next.throughput.iter_mut().zip(&throughput.0) {
            column.extend(survivors.clone().map(|lane| source[lane]));
        }
        next.pdf.extend(survivors.clone().map(|lane| samples.pdf[lane]));
        next.eta_scale.extend(survivors.clone().map(|lane| eta_scale[lane]));
        next.sample.extend(survivors.clone().map(|lane| vertices.sample[lane]));
        next.key.extend(survivors.clone().map(|lane| vertices.key[lane]));
        if self.samples.stores_lobes() {
            next.diffuse.extend(survivors.clone().map(|lane| {
                match self.paths.diffuse.get(vertices.path[lane] as usize) {
                    Some(diffuse) => *diffuse,
                    // Delta distributions are specular.
                    None if samples.pdf[lane] == 0.0 => Vec3::ZERO,
                    None if self.vertices.kind == VertexKind::Collision => Vec3::ONE,
                    None => batch.map_or(Vec3::ZERO, |batch| {
                        batch.diffuse_share(group, lane, self.buffers.bsdf.s.get(lane))
                    }),
                }
            }));
        }
        if self.columns.dispersion {
            next.dispersion.extend(survivors.clone().map(|lane| vertices.dispersion[lane]));
        }
        if self.columns.media {
            for lane in survivors {
                let path = vertices.path[lane] as usize;
                let d = d.get(lane);
                let medium = self.media.medium_from(self.scene, &self.paths, &self.hits, path, d);
                next.medium.push(medium);
                next.channel_densities.push(self.paths.channel_densities[path]);
            }
        }
        if self.columns.previous_vertices {
            for lane in lanes.iter() {
                let row = group * COLUMN_LEN + lane;
                let (first, receiver) =
                    (next.previous_parameters.len(), self.vertices.receivers[row]);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrator::fault::Faults;
    use crate::integrator::path::next_event::DirectLight;
    use fearless_simd::Level;
    use lightbound_math::sampling::{hash, unit_float};
    use lightbound_math::{Frame, vec3};
    use lightbound_shader::SurfaceSides;

    /// Returns a number in [0, 1) for a lane of a column.
    fn random(seed: u32, column: u32, lane: usize) -> f32 {
        unit_float(hash(hash(seed, column), lane as u32))
    }

    fn columns<const N: usize>(seed: u32, first: u32, scale: f32) -> Columns<N> {
        let column = |k| std::array::from_fn(|lane| scale * random(seed, first + k as u32, lane));
        Columns(std::array::from_fn(column))
    }

    /// Returns a group of random vertices, and random BSDF values.
    fn vertices(seed: u32) -> (VertexGroup<'static>, Columns<3>, BsdfColumns) {
        let mut group = VertexGroup { len: COLUMN_LEN, ..VertexGroup::default() };
        for lane in 0..COLUMN_LEN {
            let n = vec3(random(seed, 0, lane), random(seed, 1, lane), 0.3).normalize();
            let Frame { t, b, n } = Frame::from_normal(n);
            for (columns, axis) in group.surface.frame.iter_mut().zip([t, b, n]) {
                columns.set(lane, axis);
            }
            group.surface.ng.set(lane, n);
            group.side[lane] = if lane % 3 == 0 { -1.0 } else { 1.0 };
            group.eta[lane] = if lane % 4 == 0 { 1.5 } else { 1.0 };
            group.specular_probability[lane] = if lane % 5 == 0 { 0.25 } else { 0.0 };
            group.active.insert(lane);
            group.light.shadow_tmax[lane] = if lane % 2 == 0 { 1.0 } else { f32::INFINITY };
            group.light.pdf[lane] = if lane == 6 { 0.0 } else { random(seed, 2, lane) };
        }
        group.light.delta = 0b1000;
        group.surface.p = columns(seed, 10, 4.0);
        group.throughput = columns(seed, 13, 1.0);
        [group.eta_scale] = columns(seed, 16, 2.0).0;
        [group.survival_scale] = columns(seed, 41, 4.0).0;
        group.wo = columns(seed, 17, 1.0);
        group.light_u = columns(seed, 20, 1.0);
        group.light.wi = columns(seed, 24, 1.0);
        group.light.local = columns(seed, 27, 1.0);
        group.light.target = columns(seed, 30, 9.0);
        group.light.radiance = columns(seed, 33, 5.0);
        let mut bsdf =
            BsdfColumns { s: columns(seed, 36, 1.0), pdf: columns::<1>(seed, 39, 1.0).0[0] };
        (bsdf.pdf[2], bsdf.pdf[9]) = (0.0, f32::NAN);
        (group, columns(seed, 40, 1.0), bsdf)
    }

    /// Runs the stages of a group at a SIMD level. Returns the lanes and the bits of the results.
    fn results<S: Simd>(simd: S, seed: u32) -> (Vec<LaneSet>, Vec<u32>) {
        let (mut group, mut wi, bsdf) = vertices(seed);
        let (mut direct, mut samples) = (DirectLight::default(), BsdfSamples::default());
        let (mut next, mut lit_wi) = (Continuations::default(), Columns::ZERO);
        let lit =
            group.finish_light_columns(simd, SurfaceSides::One, Faults::default(), &mut lit_wi);
        group.direct_light_columns(simd, &bsdf, false, &mut direct);
        wi.0[2].iter_mut().step_by(3).for_each(|z| *z = -*z);
        group.shader_sample_columns(simd, &wi, &bsdf, &mut samples);
        let roulette = Roulette::new(VertexKind::Surface, 1, seed.is_multiple_of(2));
        group.continue_columns(simd, &samples, roulette, &mut next);
        let lanes = vec![lit, direct.lanes, samples.lanes, next.lanes, next.nan];
        let columns =
            [&lit_wi, &direct.radiance, &direct.o, &direct.d, &samples.wi, &samples.weight]
                .into_iter()
                .chain([&next.throughput, &next.o, &next.d])
                .flat_map(|columns| columns.0);
        let columns = columns.chain([group.light.pdf, samples.pdf, samples.eta, next.eta_scale]);
        // The bits of NaNs may differ.
        let bits = |x: f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
        (lanes, columns.flatten().map(bits).collect())
    }

    #[test]
    fn stages_do_not_depend_on_the_simd_level() {
        for seed in 0..50 {
            let baseline = dispatch!(Level::baseline(), simd => results(simd, seed));
            let best = dispatch!(simd_level(), simd => results(simd, seed));
            assert_eq!(baseline, best);
        }
    }

    #[test]
    fn nan_densities_are_recorded_and_zero_densities_end_paths() {
        let (lanes, _) = dispatch!(simd_level(), simd => results(simd, 3));
        let [lit, direct, samples, next, nan] = lanes[..] else { panic!("five sets") };
        assert!(!lit.contains(6) && !direct.contains(6) && direct.and_not(lit).is_empty());
        assert!(!samples.contains(2) && samples.contains(9) && nan.contains(9));
        assert!(next.and(samples).and_not(nan).len() > 3);
    }
}
