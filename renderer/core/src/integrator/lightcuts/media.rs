//! Participating media along the paths of lightcuts.

use super::in_scattering::InScattered;
use super::lighting::ShadingPoint;
use super::reflected_light::TIMING_INTERVAL;
use super::vertex::MediumVertex;
use super::worker::{LightcutsWorker, Path};
use crate::medium::{ChannelWeights, MediumInterface, Tracking, Walk};
use lightbound_math::sampling::{RandomStream, hash};
use lightbound_math::{Vec3, Viewpoint, vec2};
use std::time::Instant;

/// First sets of sampler dimensions in media, beyond those of any scattering event: for the
/// transmittance of rays, for points that scatter light, and for rays that compensate for clamping.
const TRANSMITTANCE_SETS: u32 = 0x4000_0000;
const SCATTERING_SETS: u32 = 0x8000_0000;
const COMPENSATION_SETS: u32 = 0xc000_0000;

impl LightcutsWorker<'_> {
    /// Attenuates the paths by the media between their last vertices and their hits, and adds the
    /// light that media scatter and emit on the way.
    pub(super) fn cross_media(&mut self, depth: u32) {
        let (scene, sampler) = (self.scene, self.samples.sampler);
        let random =
            |path: &Path, set: u32| RandomStream::new(&sampler, path.key, set.wrapping_add(depth));
        let walks = (0..).zip(&self.paths).map(|(index, path)| {
            let weights = ChannelWeights::new(path.throughput, Vec3::ONE);
            Walk::new(index, path.medium, weights, random(path, TRANSMITTANCE_SETS))
        });
        self.crossings.clear();
        let (rays, hits, crossings) = (&mut self.rays, &mut self.hits, &mut self.crossings);
        let walks = self.media.track(scene, Tracking::Ratio, walks, rays, hits, |walk| {
            crossings.push(*walk);
        });
        for Walk { index, medium, weights, .. } in walks {
            let path = &mut self.paths[*index as usize];
            (path.throughput, path.medium) = (weights.value, *medium);
        }
        let mut crossings = std::mem::take(&mut self.crossings);
        for walk in &crossings {
            let path = self.paths[walk.index as usize];
            if depth < self.integrator.max_depth || path.compensations > 0 {
                let random = [SCATTERING_SETS, COMPENSATION_SETS].map(|set| random(&path, set));
                self.add_in_scattering(walk, &path, depth, random);
            }
        }
        crossings.clear();
        self.crossings = crossings;
    }

    /// Adds the light that a medium scatters or emits towards the start of a ray; for a ray that
    /// compensates for clamping, the scattered light that clamping takes away.
    fn add_in_scattering(
        &mut self,
        walk: &Walk,
        path: &Path,
        depth: u32,
        [random, mut compensation_random]: [RandomStream; 2],
    ) {
        let scene = self.scene;
        let (medium, ray) = (&scene.media[walk.medium as usize], self.rays[walk.index as usize]);
        let lights = &self.integrator.tree;
        let InScattered { emission, point } =
            self.in_scattering.sample(medium, walk, &ray, lights, random);
        let compensates = path.compensations > 0;
        if !compensates {
            self.samples.add(path.sample, emission);
        }
        let Some(sample) = point else { return };
        let mut path = Path { throughput: sample.throughput, medium: walk.medium, ..*path };
        let [roulette_u, u, v] = [0; 3].map(|_| compensation_random.next_float());
        if compensates && !self.survives(&mut path, sample.p.distance(ray.o), roulette_u) {
            return;
        }
        let vertex = MediumVertex::new(scene, walk.medium, sample.p, ray.d);
        let around = MediumInterface { inside: Some(walk.medium), outside: Some(walk.medium) };
        let point = ShadingPoint {
            surface: vertex.surface,
            view: Viewpoint::new(sample.p, &vertex.surface.frame, 1.0),
            both_sides: true,
            media: around,
            seed: hash(hash(path.key.hash(), depth), 1),
            time: ray.time,
            has_soft_terminator: false,
            has_virtual_lights: self.has_virtual_lights(&path, depth),
            is_timed: self.cuts.is_multiple_of(TIMING_INTERVAL),
        };
        self.cuts += 1;
        let started = point.is_timed.then(Instant::now);
        vertex.begin(&mut self.lighting.material, Vec3::Z);
        self.add_cut(&point, &path, depth, started);
        self.compensate_in_medium(&vertex, &path, (ray.time, vec2(u, v)), depth);
    }
}
