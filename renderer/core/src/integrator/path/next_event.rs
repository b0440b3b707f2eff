//! Next-event estimation: at most one light sample per vertex, combined by multiple importance
//! sampling with emitters that BSDF-sampled rays hit. Samples that contribute little get a shadow
//! ray with a [probability](ShadowRoulette).

use super::components::PendingComponents;
use super::media::PendingTransmittance;
use super::shadow_roulette::ShadowRoulette;
use super::vertex::{VertexGroup, mirrored};
use super::{VertexKind, Wavefront};
use crate::integrator::fault::Faults;
use crate::integrator::lane_set::LaneSet;
use crate::integrator::light_sampling::{
    LightPicker, Lobe, Receiver, ReceiverDomain, ReceiverPoint,
};
use crate::integrator::shading::{BsdfColumns, EvaluatedBatch, PreparedBatch};
use crate::integrator::shadow_terminator::soft_factor;
use crate::material::{ShaderBinding, ShaderInstance};
use fearless_simd::{Simd, dispatch};
use lightbound_math::sampling::{hash, power_heuristic, unit_float};
use lightbound_math::{COLUMN_LEN, Columns, Frame, Ray, Vec2, Vec3, Viewpoint, simd_level, vec2};
use lightbound_shader::{ShaderKind, SurfaceSides};

/// A light contribution, before its shadow ray is traced.
pub(super) struct PendingContribution {
    pub sample: u32,
    pub radiance: Vec3,
}

/// The shadow rays of a scattering event, one for each contribution.
#[derive(Default)]
pub(super) struct ShadowQueue {
    pub rays: Vec<Ray>,
    pub pending: Vec<PendingContribution>,
    /// As long as `pending` if the film stores components, else empty.
    pub components: Vec<PendingComponents>,
    /// Whether each ray is blocked, once they are traced.
    pub blocked: Vec<bool>,
}

/// The previous vertex of a path. Light densities depend on it.
#[derive(Clone, Copy)]
pub(super) struct PreviousVertex {
    pub(super) receiver: Receiver,
    /// First index and number of the words of its material parameters.
    pub(super) parameters: [u32; 2],
}

/// Creates the receiver for light sampling at a surface or in a medium, with position `p` and shading
/// frame `frame`. `wo` is the outgoing direction in render space. `side` is −1 if the side opposite to
/// the shading normal receives light, else 1.
pub(super) fn receiver(
    light_picker: &LightPicker,
    binding: Option<&ShaderBinding>,
    material: Option<&ShaderInstance>,
    (p, frame): (Vec3, &Frame),
    wo: Vec3,
    side: f32,
) -> Receiver {
    let both_sides = binding.is_some_and(|binding| binding.program.sides == SurfaceSides::Both);
    let domain = match binding.map(|binding| binding.program.kind()) {
        Some(ShaderKind::Phase) => ReceiverDomain::Volume,
        _ => ReceiverDomain::Surface { n: side * frame.n, both_sides },
    };
    let uses_lobe = |material: &&ShaderInstance| light_picker.uses_lobe(material.shader);
    let lobe = material.filter(uses_lobe).map(|material| {
        let view = Viewpoint::new(p, frame, side);
        Lobe { shader: material.shader, wo: view.local_direction(wo), view, both_sides }
    });
    Receiver { point: ReceiverPoint { p, domain }, lobe }
}

/// Direct light of a group, before its shadow rays are traced.
#[derive(Default)]
pub(super) struct DirectLight {
    /// Lanes with a contribution.
    pub lanes: LaneSet,
    pub radiance: Columns<3>,
    /// Origin and direction of the shadow ray.
    pub o: Columns<3>,
    pub d: Columns<3>,
}

impl VertexGroup<'_> {
    /// Converts the directions of the light samples to the shader's frame. Discards black samples,
    /// and those below one-sided shaders, which scatter no light from there. Returns the lanes with
    /// a sample. Sets `wi` to directions for the shader, which are valid in all lanes.
    fn finish_light_samples(
        &mut self,
        sides: SurfaceSides,
        faults: Faults,
        wi: &mut Columns<3>,
    ) -> LaneSet {
        dispatch!(simd_level(), simd => self.finish_light_columns(simd, sides, faults, wi))
    }

    #[inline(always)]
    pub(super) fn finish_light_columns<S: Simd>(
        &mut self,
        _: S,
        sides: SurfaceSides,
        faults: Faults,
        wi: &mut Columns<3>,
    ) -> LaneSet {
        let mut mask = [false; COLUMN_LEN];
        let both_sides = sides == SurfaceSides::Both;
        for (lane, lit) in mask.iter_mut().enumerate() {
            let local = mirrored(self.light.local.get(lane), self.side[lane]);
            let (pdf, radiance): (f32, Vec3) =
                (self.light.pdf[lane], self.light.radiance.get(lane));
            let is_lit = (pdf > 0.0)
                & ((radiance.x != 0.0) | (radiance.y != 0.0) | (radiance.z != 0.0))
                & (both_sides | (local.z > 0.0));
            *lit = is_lit;
            wi.set(lane, if is_lit { local } else { self.wo.get(lane) });
            self.light.pdf[lane] = if is_lit { faults.light_density(pdf) } else { 0.0 };
        }
        LaneSet::from_mask(&mask)
    }

    /// Computes direct light by next-event estimation, with MIS weights against BSDF sampling, unless
    /// there are media, which affect them. `bsdf` are the values for the light samples.
    fn direct_light(&self, bsdf: &BsdfColumns, has_media: bool, out: &mut DirectLight) {
        dispatch!(simd_level(), simd => self.direct_light_columns(simd, bsdf, has_media, out));
    }

    #[inline(always)]
    pub(super) fn direct_light_columns<S: Simd>(
        &self,
        _: S,
        bsdf: &BsdfColumns,
        has_media: bool,
        out: &mut DirectLight,
    ) {
        let mut mask = [false; COLUMN_LEN];
        for (lane, lit) in mask.iter_mut().enumerate() {
            let s: Vec3 = bsdf.s.get(lane);
            let (light, light_pdf) = (&self.light, self.light.pdf[lane]);
            let is_delta = self.light.delta >> lane & 1 != 0;
            let bsdf_pdf = bsdf.pdf[lane] * (1.0 - self.specular_probability[lane]);
            let weight =
                if is_delta | has_media { 1.0 } else { power_heuristic(light_pdf, bsdf_pdf) };
            let radiance = self.throughput.get::<Vec3>(lane)
                * s
                * light.radiance.get::<Vec3>(lane)
                * (weight / light_pdf);
            let wi: Vec3 = light.wi.get(lane);
            let o = self.surface.surface(lane).offset_ray_origin(wi);
            let to_target = light.target.get::<Vec3>(lane) - o;
            let is_segment = light.shadow_tmax[lane] == 1.0;
            *lit = (light_pdf > 0.0) & ((s.x != 0.0) | (s.y != 0.0) | (s.z != 0.0));
            out.radiance.set(lane, radiance);
            out.o.set(lane, o);
            out.d.set(lane, if is_segment { to_target } else { wi });
        }
        out.lanes = LaneSet::from_mask(&mask);
    }
}

impl DirectLight {
    /// Multiplies the contributions by [`soft_factor`].
    fn soften(&mut self, vertices: &VertexGroup<'_>) {
        for lane in self.lanes.iter() {
            let wi = vertices.light.wi.get(lane);
            let factor = vertices.soft_factor(lane, wi);
            self.radiance.set(lane, factor * self.radiance.get::<Vec3>(lane));
        }
    }

    /// Removes small contributions by Russian roulette, after the scattering event `depth`.
    /// `inverse_brightness` is that of the pixel of each sample.
    fn play_roulette(
        &mut self,
        vertices: &VertexGroup<'_>,
        roulette: ShadowRoulette,
        depth: u32,
        inverse_brightness: &[f32],
    ) {
        let mut inverse = [0.0; COLUMN_LEN];
        for (inverse, &sample) in inverse.iter_mut().zip(&vertices.sample[..vertices.len]) {
            *inverse = inverse_brightness[sample as usize];
        }
        let mut survival = [1.0; COLUMN_LEN];
        dispatch!(simd_level(), simd => {
            roulette.survival_columns(simd, &self.radiance, &inverse, &mut survival);
        });
        let is_uncertain = survival.map(|survival| survival < 1.0);
        for lane in self.lanes.and(LaneSet::from_mask(&is_uncertain)).iter() {
            let (radiance, survival): (Vec3, f32) = (self.radiance.get(lane), survival[lane]);
            // The sampler's numbers of the event are in use.
            let u =
                unit_float(hash(vertices.key[lane].hash(), hash(SHADOW_ROULETTE_STREAM, depth)));
            if u < survival {
                self.radiance.set(lane, radiance / survival);
            } else {
                self.lanes.remove(lane);
            }
        }
    }
}

/// Separates the random numbers of the roulette of shadow rays from others.
const SHADOW_ROULETTE_STREAM: u32 = 0x7368_6164;

impl VertexGroup<'_> {
    /// Returns [`soft_factor`] for light from direction `wi` at a lane.
    pub(super) fn soft_factor(&self, lane: usize, wi: Vec3) -> f32 {
        soft_factor(wi, self.surface.frame[2].get(lane), self.surface.ng.get(lane))
    }
}

impl<'a> Wavefront<'a> {
    /// Samples a light for each active vertex of a group.
    pub(super) fn sample_lights(&mut self, group: usize, batch: &mut PreparedBatch<'_, 'a>) {
        let stores_components = self.samples.stores_components();
        let vertices = &mut self.vertices.groups[group];
        let [pick, u, v, pick_low] = &vertices.light_u.0;
        (vertices.light.pdf, vertices.light.delta) = ([0.0; COLUMN_LEN], 0);
        let mut probability = [0.0; COLUMN_LEN];
        let mut environment = None;
        self.buffers.area_lights.clear();
        let mut parts = [None; COLUMN_LEN];
        for lane in vertices.active.iter() {
            let row = group * COLUMN_LEN + lane;
            if let Some(receiver) = self.vertices.receivers.get(row) {
                self.buffers.parameters.clear();
                if receiver.lobe.is_some() {
                    self.buffers.parameters.extend(batch.parameters(row));
                }
                self.light_picker.set_shading_point(receiver, &self.buffers.parameters);
            }
            let pick = [pick[lane], pick_low[lane]];
            let Some(choice) = self.light_picker.pick(pick) else { continue };
            probability[lane] = choice.probability;
            if stores_components {
                vertices.light_group[lane] = self.scene.lights.groups().of(choice.light);
            }
            let area_light = self.light_picker.area_light(&choice);
            if area_light
                .is_some_and(|(light, front)| self.buffers.area_lights.set(lane, light, front))
            {
                continue;
            }
            if let Some((light, part)) = self.light_picker.environment(&choice) {
                let (chosen, lanes) = environment.get_or_insert((light, LaneSet::NONE));
                if std::ptr::eq(*chosen, light) {
                    lanes.insert(lane);
                    parts[lane] = part;
                    continue;
                }
            }
            let p = vertices.surface.p.get(lane);
            let (time, u) =
                (self.paths.rays[vertices.path[lane] as usize].time, vec2(u[lane], v[lane]));
            if let Some(light) = self.light_picker.sample(&choice, p, u, time) {
                let pdf = probability[lane] * light.pdf;
                vertices.light.set(lane, &light, pdf, &vertices.surface.frame(lane));
            }
        }
        let (surface, u) = (&vertices.surface, Columns([*u, *v]));
        // Other lanes get density 0, since their probabilities are 0.
        let active = vertices.active.bits();
        self.buffers.area_lights.sample(surface, &u, &probability, active, &mut vertices.light);
        if let Some((light, lanes)) = environment {
            let samples = &mut self.buffers.light_samples;
            if parts.iter().any(Option::is_some) {
                light.sample_part_columns(&parts, surface, &u, &probability, samples);
            } else {
                light.sample_columns(surface, &u, &probability, samples);
            }
            lanes
                .iter()
                .for_each(|lane| vertices.light.copy_lane(lane, &self.buffers.light_samples));
        }
        let sides = batch.binding().program.sides;
        let lanes = vertices.finish_light_samples(sides, self.faults, &mut self.buffers.wi);
        batch.set_lights(group, lanes, &self.buffers.wi, &vertices.wo);
    }

    /// Adds direct light by next-event estimation.
    pub(super) fn add_direct_light(&mut self, batch: &EvaluatedBatch<'_, 'a>) {
        for (g, group) in self.vertices.used_groups().iter().enumerate() {
            batch.values(g, &mut self.buffers.bsdf);
            group.direct_light(
                &self.buffers.bsdf,
                self.columns.media,
                &mut self.buffers.direct_light,
            );
            if self.has_soft_terminator() {
                self.buffers.direct_light.soften(group);
            }
            if let Some(recorder) = &mut self.recorder {
                let DirectLight { lanes, radiance, .. } = &self.buffers.direct_light;
                for lane in lanes.iter() {
                    recorder.add_shadow_ray(group.sample[lane], radiance.get(lane));
                }
            }
            if let Some(roulette) = self.trained.and_then(|trained| trained.shadow_roulette) {
                let brightness = &self.inverse_brightness;
                self.buffers.direct_light.play_roulette(group, roulette, self.depth, brightness);
            }
            let DirectLight { lanes, radiance, o, d } = &self.buffers.direct_light;
            for lane in lanes.iter() {
                let (o, d, tmax) = (o.get(lane), d.get(lane), group.light.shadow_tmax[lane]);
                let time = self.paths.rays[group.path[lane] as usize].time;
                self.shadows.rays.push(self.faults.shadow_ray(Ray {
                    tmax,
                    time,
                    ..Ray::new(o, d)
                }));
                let (sample, radiance) = (group.sample[lane], radiance.get(lane));
                self.shadows.pending.push(PendingContribution { sample, radiance });
            }
            if self.columns.media {
                for lane in lanes.iter() {
                    let path = group.path[lane];
                    let is_delta = group.light.delta >> lane & 1 != 0;
                    let bsdf_pdf =
                        self.buffers.bsdf.pdf[lane] * (1.0 - group.specular_probability[lane]);
                    let pdf_ratio = if is_delta { 0.0 } else { bsdf_pdf / group.light.pdf[lane] };
                    let medium = self.media.medium_from(
                        self.scene,
                        &self.paths,
                        &self.hits,
                        path as usize,
                        group.light.wi.get(lane),
                    );
                    self.media.shadows.push(PendingTransmittance { medium, path, pdf_ratio });
                }
            }
            if self.samples.stores_components() {
                let diffuse = |lane: usize| match self.paths.diffuse.get(group.path[lane] as usize)
                {
                    Some(diffuse) => *diffuse,
                    None if !self.samples.stores_lobes() => Vec3::ZERO,
                    None if self.vertices.kind == VertexKind::Collision => Vec3::ONE,
                    None => batch.diffuse_share(g, lane, self.buffers.bsdf.s.get(lane)),
                };
                self.shadows.components.extend(lanes.iter().map(|lane| PendingComponents {
                    diffuse: diffuse(lane),
                    light_group: group.light_group[lane],
                }));
            }
        }
    }

    /// Sets the shading point of the light picker to the path's previous vertex, if light densities
    /// depend on it.
    fn set_shading_point_to_previous_vertex(&mut self, path: usize) {
        if let Some(PreviousVertex { receiver, parameters: [first, count] }) =
            self.paths.previous_vertices.get(path)
        {
            let parameters = &self.paths.previous_parameters[*first as usize..][..*count as usize];
            self.light_picker.set_shading_point(receiver, parameters);
        }
    }

    /// Adds the light of the environment to paths whose rays leave the scene. It has MIS weights
    /// against light sampling, except for camera rays and rays of delta distributions.
    pub(super) fn add_environment_light(&mut self, paths: &[u32]) {
        let scene = self.scene;
        for paths in paths.chunks(COLUMN_LEN) {
            let mut directions = Columns::splat(Vec3::Z.into());
            for (lane, &path) in paths.iter().enumerate() {
                directions.set(lane, self.paths.rays[path as usize].d);
            }
            let lookups = scene
                .lights
                .environments()
                .map(|(index, light)| (index, light.lookup_columns(&directions)));
            let mut sums = [Vec3::ZERO; COLUMN_LEN];
            for (index, columns) in lookups {
                for (lane, &path) in paths.iter().enumerate() {
                    let le = self.weighted_environment_light(
                        path as usize,
                        index,
                        columns.radiance.get(lane),
                        columns.pdf[lane],
                    );
                    sums[lane] += le;
                    self.add_component(path as usize, index, le);
                }
            }
            for (index, portal) in scene.lights.portals() {
                for (lane, &path) in paths.iter().enumerate() {
                    let Ray { o, d, .. } = self.paths.rays[path as usize];
                    let (le, pdf) = (portal.radiance(o, d), portal.pdf_li(o, d));
                    let le = self.weighted_environment_light(path as usize, index, le, pdf);
                    sums[lane] += le;
                    self.add_component(path as usize, index, le);
                }
            }
            for (lane, &path) in paths.iter().enumerate() {
                let Ray { d, time, .. } = self.paths.rays[path as usize];
                for (index, light) in scene.lights.moving_environments(time) {
                    let (le, pdf) = (light.radiance(d), light.pdf_li(d));
                    let le = self.weighted_environment_light(path as usize, index, le, pdf);
                    sums[lane] += le;
                    self.add_component(path as usize, index, le);
                }
            }
            for (&path, le) in paths.iter().zip(sums) {
                let path = path as usize;
                self.samples.add(self.paths.sample[path], self.paths.throughput(path) * le);
            }
        }
    }

    /// Returns the radiance `le` of an environment light along a path's ray, times its MIS weight.
    /// `light_pdf` is its [`Environment::pdf_li`].
    ///
    /// [`Environment::pdf_li`]: crate::light::Environment::pdf_li
    fn weighted_environment_light(
        &mut self,
        path: usize,
        index: u32,
        le: Vec3,
        light_pdf: f32,
    ) -> Vec3 {
        let pdf = self.paths.pdf[path];
        if pdf == 0.0 || le == Vec3::ZERO {
            return le;
        }
        self.set_shading_point_to_previous_vertex(path);
        let d = self.paths.rays[path].d;
        le * power_heuristic(pdf, self.light_picker.environment_pdf(index, d, light_pdf))
    }

    /// Returns the radiance of an area light that a path's ray hits, with MIS weights as in
    /// [`add_environment_light`](Self::add_environment_light).
    /// `ng` is the geometric normal there, `uv` are the texture coordinates.
    pub(super) fn area_light(&mut self, path: usize, light: u32, ng: Vec3, uv: Vec2) -> Vec3 {
        let (ray, pdf) = (self.paths.rays[path], self.paths.pdf[path]);
        let Some(area) = self.scene.lights.area(light) else { return Vec3::ZERO };
        let le = area.radiance(ng, (uv, self.hits[path].weights()), -ray.d);
        if pdf == 0.0 || le == Vec3::ZERO {
            return le;
        }
        self.set_shading_point_to_previous_vertex(path);
        let light_pdf = self.light_picker.area_light_pdf(light, &ray, self.hits[path].t, ng);
        le * power_heuristic(pdf, light_pdf)
    }

    /// Adds the contributions with unoccluded shadow rays.
    pub(super) fn collect_light(&mut self) {
        if self.samples.stores_components() {
            self.collect_components();
        }
        if let Some(recorder) = &mut self.recorder {
            let arrives = |(p, &blocked): (&PendingContribution, &bool)| {
                if blocked { Vec3::ZERO } else { p.radiance }
            };
            recorder.set_shadow_rays(
                self.shadows.pending.iter().zip(&self.shadows.blocked).map(arrives),
            );
        }
        for (p, &blocked) in self.shadows.pending.iter().zip(&self.shadows.blocked) {
            if !blocked {
                self.samples.add(p.sample, p.radiance);
            }
        }
        self.shadows.pending.clear();
        self.shadows.rays.clear();
    }
}
