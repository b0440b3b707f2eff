//! Next-event estimation: one light for each vertex, weighed against meeting it by chance, and
//! light that is met so.

use super::Wave;
use crate::geometry::Surface;
use crate::integrator::light_sampling::{Lobe, Place, Receiver};
use crate::integrator::shading::Scattered;
use crate::light::LightSample;
use crate::material::{Bound, Instance};
use crate::math::{Ray, Vec3, Viewpoint, vec2};
use crate::sampling::power_heuristic;
use lightbound_shader::Sides;

/// Light that arrives unless its shadow ray is blocked.
pub(super) struct Pending {
    sample: u32,
    radiance: Vec3,
}

/// The point that a path comes from, for the density with which lights are sampled there.
#[derive(Clone, Copy)]
pub(super) struct Origin {
    pub(super) receiver: Receiver,
    /// Where the members of its material begin, and how many there are.
    pub(super) members: [u32; 2],
}

/// A light sample, before it is known how much of it is reflected.
pub(super) struct Candidate {
    vertex: u32,
    light: LightSample,
    /// Density of the sample, the choice of the light included.
    pdf: f32,
}

impl Wave<'_> {
    /// What choices of lights depend on at a surface that is seen from `out`, on the side of its
    /// normal or, by −1, the other.
    pub(super) fn receiver(
        &self,
        bound: Option<&Bound>,
        material: Option<&Instance>,
        surface: &Surface,
        out: Vec3,
        side: f32,
    ) -> Receiver {
        let both_sides = bound.is_some_and(|bound| bound.program.sides == Sides::Both);
        let place = Place { p: surface.p, n: side * surface.frame.n, both_sides };
        let lobe = material.filter(|material| self.chooser.asks(material.shader)).map(|material| {
            let view = Viewpoint::new(surface.p, &surface.frame, side);
            Lobe { shader: material.shader, wo: view.local_direction(out), view, both_sides }
        });
        Receiver { place, lobe }
    }

    /// A light sample for each vertex that takes one.
    pub(super) fn choose_lights(&mut self, bound: &Bound) {
        for row in 0..self.vertices.len() {
            let vertex = &self.vertices[row];
            let Some([pick, fine, u, v]) = vertex.light else { continue };
            let (surface, u) = (&self.arrivals[vertex.arrival as usize].surface, vec2(u, v));
            if let Some(sky) = self.sky.filter(|sky| pick < sky.share) {
                let drawn = sky.sample(
                    &self.scene.lights,
                    &self.shading,
                    vertex.sky_point(row, surface),
                    u,
                );
                if let Some((light, pdf)) = drawn {
                    self.take_light(
                        bound,
                        row,
                        light,
                        surface.frame.local_direction(light.wi),
                        pdf,
                    );
                }
                continue;
            }
            if let Some(receiver) = self.receivers.get(row) {
                self.scratch.clear();
                if receiver.lobe.is_some() {
                    self.scratch.extend(self.shading.members(&bound.program, row));
                }
                self.chooser.stand(receiver, &self.scratch);
            }
            let pick = self.sky.map_or(pick, |sky| sky.rest(pick));
            let Some(choice) = self.chooser.choose([pick, fine]) else { continue };
            let probability = self.others * choice.probability;
            let facet = self.chooser.surface(&choice);
            if facet.is_some_and(|(light, front)| {
                self.facets.push(light, front, surface.p, &surface.frame, u)
            }) {
                self.awaiting.push((row as u32, probability));
                if self.facets.is_full() {
                    self.take_facets(bound);
                }
            } else if let Some(light) = self.chooser.light(&choice, surface.p, u) {
                let wi = surface.frame.local_direction(light.wi);
                self.take_light(bound, row, light, wi, probability * light.pdf);
            }
        }
        self.take_facets(bound);
    }

    /// Computes the light of triangles that vertices wait for.
    fn take_facets(&mut self, bound: &Bound) {
        if self.awaiting.is_empty() {
            return;
        }
        self.facets.compute();
        for lane in 0..self.awaiting.len() {
            let (row, probability) = self.awaiting[lane];
            if let Some((light, wi)) = self.facets.get(lane) {
                self.take_light(bound, row as usize, light, wi, probability * light.pdf);
            }
        }
        self.facets.clear();
        self.awaiting.clear();
    }

    /// Lets light arrive at a vertex, from `wi` in its frame.
    fn take_light(&mut self, bound: &Bound, row: usize, light: LightSample, wi: Vec3, pdf: f32) {
        let vertex = &self.vertices[row];
        let wi = vertex.mirrored(wi);
        // Most light that a one-sided shader does not reflect is known before it is asked.
        if pdf > 0.0 && (bound.program.sides == Sides::Both || wi.z > 0.0) {
            self.shading.push_light(row, wi, vertex.wo);
            self.candidates.push(Candidate {
                vertex: row as u32,
                light,
                pdf: self.faults.light_density(pdf),
            });
        }
    }

    /// Next-event estimation: one light for each vertex, weighted against finding it by sampling
    /// the BSDF.
    pub(super) fn light(&mut self, bound: &Bound) {
        self.shading.evaluate(bound);
        for (row, c) in self.candidates.iter().enumerate() {
            let Scattered { s, pdf } = self.shading.evaluated(row);
            if s == Vec3::ZERO {
                continue;
            }
            let vertex = &self.vertices[c.vertex as usize];
            let path = &self.paths[vertex.path as usize];
            let weight = if c.light.delta {
                1.0
            } else {
                power_heuristic(c.pdf, pdf * (1.0 - vertex.share))
            };
            let radiance = path.throughput * s * c.light.radiance * (weight / c.pdf);
            let o = self.arrivals[vertex.arrival as usize].surface.origin_towards(c.light.wi);
            self.shadow_rays.push(self.faults.shadow_ray(match c.light.target {
                Some(target) => Ray::segment(o, target),
                None => Ray::new(o, c.light.wi),
            }));
            self.pending.push(Pending { sample: path.sample, radiance });
        }
    }

    /// Goes to the point that a path comes from, where densities depend on it.
    fn stand_at_origin(&mut self, path: usize) {
        if let Some(Origin { receiver, members: [first, count] }) = self.origins.get(path) {
            self.chooser.stand(receiver, &self.members[*first as usize..][..*count as usize]);
        }
    }

    /// Radiance from infinitely far along a path's ray, weighted against light sampling where its
    /// direction was drawn by a density.
    pub(super) fn environment_light(&mut self, path: usize) -> Vec3 {
        let (scene, d, pdf) = (self.scene, self.rays[path].d, self.paths[path].pdf);
        if pdf != 0.0 {
            self.stand_at_origin(path);
        }
        let mut sum = Vec3::ZERO;
        for (index, light) in scene.lights.environments() {
            let le = light.radiance(d);
            let is_weighted = pdf != 0.0 && le != Vec3::ZERO;
            if !is_weighted {
                sum += le;
                continue;
            }
            let by_light = match self.sky {
                Some(sky) if sky.light == index => self.paths[path].sky_pdf,
                _ => self.others * self.chooser.pdf_of_sky(index, d),
            };
            sum += le * power_heuristic(pdf, by_light);
        }
        sum
    }

    /// Radiance of an area light that a path's ray met, weighted likewise.
    pub(super) fn area_light(&mut self, path: usize, light: u32, surface: &Surface) -> Vec3 {
        let (ray, pdf) = (self.rays[path], self.paths[path].pdf);
        let Some(area) = self.scene.lights.area(light) else { return Vec3::ZERO };
        let le = area.radiance(surface.ng, -ray.d);
        if pdf == 0.0 || le == Vec3::ZERO {
            return le;
        }
        self.stand_at_origin(path);
        le * power_heuristic(
            pdf,
            self.others * self.chooser.pdf_of_surface(light, &ray, self.hits[path].t, surface),
        )
    }

    /// Adds the light whose shadow rays were free.
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
