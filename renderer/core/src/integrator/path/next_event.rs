//! Next-event estimation: one light sample per vertex. Multiple importance sampling combines it
//! with emitters that BSDF-sampled rays hit.

use super::Wavefront;
use crate::geometry::Surface;
use crate::integrator::light_sampling::{Lobe, Receiver, ReceiverPoint};
use crate::integrator::shading::{BsdfValue, EvaluatedBatch, PreparedBatch};
use crate::light::{LightSample, LightSamples};
use crate::material::{ShaderBinding, ShaderInstance};
use lightbound_math::sampling::power_heuristic;
use lightbound_math::{COLUMN_LEN, Columns, Ray, Vec3, Viewpoint, vec2};
use lightbound_shader::SurfaceSides;

/// A light contribution, before its shadow ray is traced.
pub(super) struct PendingContribution {
    sample: u32,
    radiance: Vec3,
}

/// The previous vertex of a path. Light densities depend on it.
#[derive(Clone, Copy)]
pub(super) struct PreviousVertex {
    pub(super) receiver: Receiver,
    /// First index and number of the words of its material parameters.
    pub(super) parameters: [u32; 2],
}

/// Light samples that are computed in batches.
#[derive(Default)]
pub(super) struct PendingSamples<S> {
    samples: S,
    /// The vertex and the selection probability of each sample.
    vertices: Vec<(u32, f32)>,
}

/// A light sample, before the BSDF is evaluated for it.
pub(super) struct LightCandidate {
    vertex: u32,
    light: LightSample,
    /// Density, including the selection probability of the light.
    pdf: f32,
}

impl<'a> Wavefront<'a> {
    /// Creates the receiver for light sampling at a surface. `wo` is the outgoing direction in
    /// render space. `side` is −1 if the side opposite to the shading normal receives light, else
    /// 1.
    pub(super) fn receiver(
        &self,
        binding: Option<&ShaderBinding>,
        material: Option<&ShaderInstance>,
        surface: &Surface,
        wo: Vec3,
        side: f32,
    ) -> Receiver {
        let both_sides = binding.is_some_and(|binding| binding.program.sides == SurfaceSides::Both);
        let point = ReceiverPoint { p: surface.p, n: side * surface.frame.n, both_sides };
        let uses_lobe = |material: &&ShaderInstance| self.light_picker.uses_lobe(material.shader);
        let lobe = material.filter(uses_lobe).map(|material| {
            let view = Viewpoint::new(surface.p, &surface.frame, side);
            Lobe { shader: material.shader, wo: view.local_direction(wo), view, both_sides }
        });
        Receiver { point, lobe }
    }

    /// Samples a light for each vertex that takes a light sample.
    pub(super) fn sample_lights(&mut self, batch: &mut PreparedBatch<'_, 'a>) {
        for row in 0..self.vertices.len() {
            let vertex = &self.vertices[row];
            let Some([pick, pick_low, u, v]) = vertex.light_u else { continue };
            let surface = &self.interactions[vertex.interaction as usize].surface;
            let u = vec2(u, v);
            if let Some(environment) = self.environment.filter(|sampler| sampler.selects(pick)) {
                let sample = batch.direction_tree(row).and_then(|tree| {
                    let context = vertex.environment_sample_context(tree, surface);
                    environment.sample(&self.scene.lights, &context, u)
                });
                if let Some((light, pdf)) = sample {
                    let wi = surface.frame.local_direction(light.wi);
                    self.push_candidate(batch, row, light, wi, pdf);
                }
                continue;
            }
            if let Some(receiver) = self.receivers.get(row) {
                self.scratch.clear();
                if receiver.lobe.is_some() {
                    self.scratch.extend(batch.parameters(row));
                }
                self.light_picker.set_shading_point(receiver, &self.scratch);
            }
            let pick = self.environment.map_or(pick, |sampler| sampler.remap(pick));
            let Some(choice) = self.light_picker.pick([pick, pick_low]) else { continue };
            let probability = self.picker_probability * choice.probability;
            let (area_light, environment) =
                (self.light_picker.area_light(&choice), self.light_picker.environment(&choice));
            if area_light.is_some_and(|(light, front)| {
                self.triangle_samples.samples.push(light, front, surface.p, &surface.frame, u)
            }) {
                self.triangle_samples.vertices.push((row as u32, probability));
                if self.triangle_samples.samples.is_full() {
                    self.push_samples(batch, |wavefront| &mut wavefront.triangle_samples);
                }
            } else if environment.is_some_and(|light| {
                self.environment_samples.samples.push(light, &surface.frame, u)
            }) {
                self.environment_samples.vertices.push((row as u32, probability));
                if self.environment_samples.samples.is_full() {
                    self.push_samples(batch, |wavefront| &mut wavefront.environment_samples);
                }
            } else if let Some(light) = self.light_picker.sample(&choice, surface.p, u) {
                let wi = surface.frame.local_direction(light.wi);
                self.push_candidate(batch, row, light, wi, probability * light.pdf);
            }
        }
        self.push_samples(batch, |wavefront| &mut wavefront.triangle_samples);
        self.push_samples(batch, |wavefront| &mut wavefront.environment_samples);
    }

    /// Computes the pending samples, and adds them as candidates.
    fn push_samples<S: LightSamples>(
        &mut self,
        batch: &mut PreparedBatch<'_, 'a>,
        pending: impl Fn(&mut Self) -> &mut PendingSamples<S>,
    ) {
        let count = pending(self).vertices.len();
        if count == 0 {
            return;
        }
        pending(self).samples.compute();
        for lane in 0..count {
            let PendingSamples { samples, vertices } = pending(self);
            let (row, probability) = vertices[lane];
            if let Some((light, wi)) = samples.get(lane) {
                self.push_candidate(batch, row as usize, light, wi, probability * light.pdf);
            }
        }
        let PendingSamples { samples, vertices } = pending(self);
        samples.clear();
        vertices.clear();
    }

    /// Adds a light sample of a vertex; `wi` is in the shading frame.
    fn push_candidate(
        &mut self,
        batch: &mut PreparedBatch<'_, 'a>,
        row: usize,
        light: LightSample,
        wi: Vec3,
        pdf: f32,
    ) {
        let vertex = &self.vertices[row];
        let wi = vertex.mirrored(wi);
        // One-sided shaders scatter no light from below, so they need not be evaluated.
        if pdf > 0.0 && (batch.binding().program.sides == SurfaceSides::Both || wi.z > 0.0) {
            batch.push_light(row, wi, vertex.wo);
            self.candidates.push(LightCandidate {
                vertex: row as u32,
                light,
                pdf: self.faults.light_density(pdf),
            });
        }
    }

    /// Adds direct light by next-event estimation, with MIS weights against BSDF sampling.
    pub(super) fn add_direct_light(&mut self, batch: &EvaluatedBatch<'_, 'a>) {
        for (row, c) in self.candidates.iter().enumerate() {
            let BsdfValue { s, pdf } = batch.value(row);
            if s == Vec3::ZERO {
                continue;
            }
            let vertex = &self.vertices[c.vertex as usize];
            let path = &self.paths[vertex.path as usize];
            let weight = if c.light.delta {
                1.0
            } else {
                power_heuristic(c.pdf, pdf * (1.0 - vertex.specular_probability))
            };
            let radiance = path.throughput * s * c.light.radiance * (weight / c.pdf);
            let surface = &self.interactions[vertex.interaction as usize].surface;
            let o = surface.offset_ray_origin(c.light.wi);
            self.shadow_rays.push(self.faults.shadow_ray(match c.light.target {
                Some(target) => Ray::segment(o, target),
                None => Ray::new(o, c.light.wi),
            }));
            self.pending.push(PendingContribution { sample: path.sample, radiance });
        }
    }

    /// Sets the shading point of the light picker to the path's previous vertex, if light densities
    /// depend on it.
    fn set_shading_point_to_previous_vertex(&mut self, path: usize) {
        if let Some(PreviousVertex { receiver, parameters: [first, count] }) =
            self.previous_vertices.get(path)
        {
            let parameters = &self.previous_parameters[*first as usize..][..*count as usize];
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
                directions.set(lane, self.rays[path as usize].d);
            }
            let lookups = scene
                .lights
                .environments()
                .map(|(index, light)| (index, light.lookup_columns(&directions)));
            let mut sums = [Vec3::ZERO; COLUMN_LEN];
            for (index, columns) in lookups {
                for (lane, &path) in paths.iter().enumerate() {
                    sums[lane] += self.weighted_environment_light(
                        path as usize,
                        index,
                        columns.radiance.get(lane),
                        columns.pdf.get::<[f32; 1]>(lane)[0],
                    );
                }
            }
            for (&path, le) in paths.iter().zip(sums) {
                let path = &self.paths[path as usize];
                self.samples.add(path.sample, path.throughput * le);
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
        let pdf = self.paths[path].pdf;
        if pdf == 0.0 || le == Vec3::ZERO {
            return le;
        }
        let light_pdf = match self.environment {
            Some(sampler) if sampler.light == index => self.paths[path].environment_pdf,
            _ => {
                self.set_shading_point_to_previous_vertex(path);
                let d = self.rays[path].d;
                self.picker_probability * self.light_picker.environment_pdf(index, d, light_pdf)
            }
        };
        le * power_heuristic(pdf, light_pdf)
    }

    /// Returns the radiance of an area light that a path's ray hits, with MIS weights as in
    /// [`add_environment_light`](Self::add_environment_light).
    pub(super) fn area_light(&mut self, path: usize, light: u32, surface: &Surface) -> Vec3 {
        let (ray, pdf) = (self.rays[path], self.paths[path].pdf);
        let Some(area) = self.scene.lights.area(light) else { return Vec3::ZERO };
        let le = area.radiance(surface.ng, -ray.d);
        if pdf == 0.0 || le == Vec3::ZERO {
            return le;
        }
        self.set_shading_point_to_previous_vertex(path);
        let light_pdf = self.light_picker.area_light_pdf(light, &ray, self.hits[path].t, surface);
        le * power_heuristic(pdf, self.picker_probability * light_pdf)
    }

    /// Adds the contributions with unoccluded shadow rays.
    pub(super) fn collect_light(&mut self) {
        for (p, &blocked) in self.pending.iter().zip(&self.blocked) {
            if !blocked {
                self.samples.add(p.sample, p.radiance);
            }
        }
        self.pending.clear();
        self.shadow_rays.clear();
    }
}
