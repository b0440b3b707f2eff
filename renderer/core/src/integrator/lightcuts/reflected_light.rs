//! Cuts at the surfaces and points in media that paths reach.

use super::channels::SampleCutStats;
use super::cut::StopCriteria;
use super::lighting::ShadingPoint;
use super::stochastic::cluster_random;
use super::vertex::PathVertex;
use super::worker::{LightcutsWorker, Path};
use crate::integrator::CutCounts;
use crate::integrator::medium_rays::media_around;
use crate::material::ShaderInstance;
use crate::settings;
use lightbound_math::sampling::{hash, luminance};
use lightbound_math::{Vec3, Viewpoint};
use lightbound_shader::SurfaceSides;
use std::time::Instant;

/// One in `TIMING_INTERVAL` cuts is timed, since reading the clock costs time.
pub(super) const TIMING_INTERVAL: u64 = 16;

impl LightcutsWorker<'_> {
    /// Adds the light that a shader reflects from all lights.
    pub(super) fn add_reflected_light(
        &mut self,
        vertex: &PathVertex<'_>,
        instance: &ShaderInstance,
        path: &Path,
        (depth, has_virtual_lights): (u32, bool),
    ) {
        let scene = self.scene;
        let both_sides =
            scene.shaders[instance.shader as usize].program.sides == SurfaceSides::Both;
        let (side, wo) = vertex.mirrored(both_sides);
        let view = Viewpoint::new(vertex.surface.p, &vertex.surface.frame, side);
        let point = ShadingPoint {
            surface: *vertex.surface,
            view,
            both_sides,
            media: media_around(scene, vertex.hit, path.medium),
            seed: hash(path.key.hash(), depth),
            time: vertex.hit.time,
            has_soft_terminator: self.has_soft_terminator(),
            has_virtual_lights,
            is_timed: self.cuts.is_multiple_of(TIMING_INTERVAL),
        };
        self.cuts += 1;
        let started = point.is_timed.then(Instant::now);
        self.lighting.material.begin(
            (instance, path.nm),
            scene.lookup(vertex.hit, vertex.d, vertex.surface, instance.needs()),
            vertex.surface.frame.n,
            || scene.geometry.shader_positions(vertex.hit, vertex.surface.p),
            wo,
        );
        self.add_cut(&point, path, depth, started);
    }

    /// Adds the light at a shading point with the current material, or makes it a gather point.
    /// `started` is when the work at the point started, if it is timed.
    pub(super) fn add_cut(
        &mut self,
        point: &ShadingPoint,
        path: &Path,
        depth: u32,
        started: Option<Instant>,
    ) {
        if self.integrator.gather > 1 && !path.is_measurement {
            let weight = self.samples.weight(path.sample);
            let throughput = path.throughput;
            if !(throughput * weight).is_finite() {
                // An invalid sample of its own, which leaves the group as it is.
                self.samples.add(path.sample, Vec3::NAN);
                return;
            }
            self.gather.points.add(&self.lighting, point, path.sample, throughput, weight);
            return;
        }
        let before = work(&self.lighting.counts);
        let (radiance, size, error, capped) = match self.integrator.cut {
            settings::Cut::Deterministic { error, error_mode, max_cut } => {
                let criteria = StopCriteria { error, mode: error_mode, max_cut };
                let cut = self.deterministic_cut.compute(&mut self.lighting, point, &criteria);
                (cut.radiance, cut.size, cut.error, cut.capped)
            }
            settings::Cut::Stochastic { size } => {
                let sampler = &self.samples.sampler;
                let is_in_medium = point.surface.ng == Vec3::ZERO;
                let seed = 2 * depth + u32::from(is_in_medium);
                let random = |cluster| cluster_random(sampler, path.key, seed, cluster);
                let cut = self.stochastic_cut.compute(
                    &mut self.lighting,
                    point,
                    &self.scene.lights,
                    size,
                    random,
                );
                (cut.radiance, cut.size, 0.0, false)
            }
        };
        let weight = self.samples.weight(path.sample);
        let reflected = path.throughput * radiance;
        let counts = &mut self.lighting.counts;
        if let Some(started) = started {
            counts.times.total += started.elapsed();
        }
        let weighted = f64::from(luminance(reflected) * weight);
        if path.is_measurement {
            counts.light.add_clamped(weighted);
            return;
        }
        if self.integrator.indirect.is_some() {
            counts.light.add_found(weighted);
        }
        counts.sizes.add(size);
        counts.capped += u64::from(capped);
        let [bound_evaluations, shadow_rays] =
            std::array::from_fn(|k| (work(counts)[k] - before[k]) as u32);
        self.samples.add(path.sample, reflected);
        let stats = &mut self.cut_stats[path.sample as usize];
        stats.cut_size += size;
        stats.bound_evaluations += bound_evaluations;
        stats.shadow_rays += shadow_rays;
        stats.error_bound += path.throughput.abs().max_element() * error * weight.abs();
    }

    /// Adds the direct light at all gather points.
    pub(super) fn compute_gather_cuts(&mut self) {
        let size = self.integrator.gather;
        for (first_sample, group) in self.gather.groups(size) {
            let is_timed = self.cuts.is_multiple_of(TIMING_INTERVAL);
            self.cuts += 1;
            let started = is_timed.then(Instant::now);
            let before = work(&self.lighting.counts);
            let (sampler, key) = (self.samples.sampler, self.samples.group_key(first_sample, size));
            let (lighting, samples) = (&mut self.lighting, &mut self.samples);
            let mut light = 0.0;
            let add = |sample, radiance| {
                light += f64::from(luminance(radiance) * samples.weight(sample));
                samples.add(sample, radiance);
            };
            let cut = match self.integrator.cut {
                settings::Cut::Deterministic { error, error_mode, max_cut } => {
                    let criteria = StopCriteria { error, mode: error_mode, max_cut };
                    self.gather.compute(lighting, group, &criteria, is_timed, add)
                }
                settings::Cut::Stochastic { size } => {
                    let lights = &self.scene.lights;
                    let random = |seed, cluster| cluster_random(&sampler, key, seed, cluster);
                    let options = (size, is_timed);
                    self.gather.sample(lighting, group, lights, options, random, add)
                }
            };
            let counts = &mut self.lighting.counts;
            if self.integrator.indirect.is_some() {
                counts.light.add_found(light);
            }
            counts.sizes.add(cut.pairs);
            counts.gather_points += u64::from(cut.points);
            counts.pairs += u64::from(cut.pairs);
            counts.capped += u64::from(cut.capped);
            if let Some(started) = started {
                counts.times.total += started.elapsed();
            }
            let [bound_evaluations, shadow_rays] =
                std::array::from_fn(|k| (work(counts)[k] - before[k]) as u32);
            self.cut_stats[first_sample as usize] = SampleCutStats {
                gather_points: cut.points,
                cut_size: cut.pairs,
                bound_evaluations,
                shadow_rays,
                error_bound: cut.error,
            };
        }
    }
}

/// Returns the counts of bounds and of shadow rays.
fn work(counts: &CutCounts) -> [u64; 2] {
    [counts.bound_evaluations, counts.shadow_rays]
}
