//! Unidirectional path tracing with next-event estimation (Kajiya 1986; multiple importance sampling after Veach 1997 §9).
//!
//! A tile's samples form a wave: all camera rays are traced in one batch, all hits shaded, all shadow rays and all continuing
//! rays traced in batches again, until no path is left. Within a wave hits are shaded in order of their material, so that
//! evaluations of one material come together.

use super::{Integrator, RayCounts, Worker};
use crate::film::{Features, Tile};
use crate::geometry::{Hit, Surface};
use crate::light::Light;
use crate::material::Bsdf;
use crate::math::{Ray, Vec2, Vec3, vec2};
use crate::sampling::discrete::Pick;
use crate::sampling::{PathKey, Sampler, power_heuristic};
use crate::scene::Scene;
use std::ops::Range;

/// The path tracer. Unbiased: nothing is clamped.
#[derive(Clone, Copy, Debug)]
pub struct PathTracer {
    /// Most scattering events on a path; 1 is direct light only.
    pub max_depth: u32,
}

/// A path between two scattering events, its ray apart.
#[derive(Clone, Copy)]
struct Path {
    /// Product of BSDF, cosine and Russian roulette weights over densities.
    throughput: Vec3,
    /// Density per steradian of the ray's direction; 0 after a delta lobe (and at the camera), where only hits can see light.
    pdf: f32,
    /// Product of squared refractive-index ratios, taken out of the throughput for Russian roulette.
    eta_scale: f32,
    /// Index of the sample within the wave.
    sample: u32,
    key: PathKey,
}

/// One sample of a pixel.
struct Sample {
    x: u32,
    y: u32,
    number: u32,
    weight: f32,
    radiance: Vec3,
}

/// Light that arrives unless its shadow ray is blocked.
struct Pending {
    sample: u32,
    radiance: Vec3,
}

/// A wave of paths, and what it works with. Rays and paths run in parallel arrays.
struct Wave<'a> {
    scene: &'a Scene,
    sampler: Sampler,
    max_depth: u32,
    samples: Vec<Sample>,
    rays: Vec<Ray>,
    paths: Vec<Path>,
    next_rays: Vec<Ray>,
    next_paths: Vec<Path>,
    shadow_rays: Vec<Ray>,
    pending: Vec<Pending>,
    hits: Vec<Hit>,
    blocked: Vec<bool>,
    /// Indices of the hits in order of their material, and where each material starts.
    order: Vec<u32>,
    starts: Vec<u32>,
}

/// Sets of four sampler dimensions: one for the camera, then two for each scattering event.
const CAMERA_SET: u32 = 0;

/// The first scattering event, counted from 0, after which paths may end by Russian roulette, with the root of their throughput as
/// chance of survival. Against pbrt-v4's rule (event 1, the throughput itself) a sample costs 1.3 times as much and has 0.62 times the
/// variance in a Cornell box; 1.5 and 0.46 times in a room lit through a door.
const ROULETTE_DEPTH: u32 = 3;

/// Greatest chance of survival, so that paths end even between perfect mirrors.
const MAX_SURVIVAL: f32 = 0.99;

impl Integrator for PathTracer {
    fn name(&self) -> &'static str {
        "path"
    }

    fn worker<'a>(&'a self, scene: &'a Scene) -> Box<dyn Worker + 'a> {
        Box::new(Wave {
            scene,
            sampler: Sampler::new(scene.sampling.kind, scene.sampling.seed),
            max_depth: self.max_depth,
            samples: Vec::new(),
            rays: Vec::new(),
            paths: Vec::new(),
            next_rays: Vec::new(),
            next_paths: Vec::new(),
            shadow_rays: Vec::new(),
            pending: Vec::new(),
            hits: Vec::new(),
            blocked: Vec::new(),
            order: Vec::new(),
            starts: Vec::new(),
        })
    }
}

impl Worker for Wave<'_> {
    fn render_tile(&mut self, samples: Range<u32>, tile: &Tile) -> RayCounts {
        let mut counts = RayCounts::default();
        self.start(samples, tile);
        for depth in 0..=self.max_depth {
            if self.rays.is_empty() {
                break;
            }
            counts.rays += self.rays.len() as u64;
            self.scene.accel.intersect_batch(&self.rays, &mut self.hits);
            if depth == 0 && tile.wants_features() {
                self.record_features(tile);
            }
            self.sort_by_material();
            for i in 0..self.order.len() {
                self.shade(self.order[i] as usize, depth);
            }
            counts.shadow_rays += self.shadow_rays.len() as u64;
            self.scene.accel.occluded_batch(&self.shadow_rays, &mut self.blocked);
            self.collect_light();
            self.advance();
        }
        let mut sums = tile.lock();
        for s in &self.samples {
            sums.add_radiance(s.x, s.y, s.radiance * (s.weight * self.scene.film.gain));
        }
        counts
    }
}

impl Wave<'_> {
    /// Camera rays of all samples. Samples of a pixel are neighbours, so that packets of rays are coherent.
    fn start(&mut self, numbers: Range<u32>, tile: &Tile) {
        self.samples.clear();
        self.rays.clear();
        self.paths.clear();
        for (x, y) in tile.window().pixels() {
            for number in numbers.clone() {
                let key = self.sampler.path(x, y, number);
                let [u0, u1, lens_u, lens_v] = self.sampler.get4(key, CAMERA_SET);
                let (offset, weight) = self.scene.filter.sample(vec2(u0, u1));
                let raster = vec2(x as f32 + 0.5, y as f32 + 0.5) + offset;
                self.rays.push(self.scene.camera.ray(raster, vec2(lens_u, lens_v)));
                let sample = self.samples.len() as u32;
                self.paths.push(Path { throughput: Vec3::ONE, pdf: 0.0, eta_scale: 1.0, sample, key });
                self.samples.push(Sample { x, y, number, weight, radiance: Vec3::ZERO });
            }
        }
    }

    /// What the camera rays saw first.
    fn record_features(&self, tile: &Tile) {
        let scene = self.scene;
        let mut sums = tile.lock();
        for ((hit, ray), s) in self.hits.iter().zip(&self.rays).zip(&self.samples) {
            if hit.is_miss() {
                continue;
            }
            let primitive = &scene.geometry.primitives[hit.primitive as usize];
            let surface = scene.geometry.surface(hit);
            let bsdf = scene.materials[primitive.material as usize].bsdf(&surface.lookup());
            let seen = Features {
                albedo: bsdf.albedo(surface.frame.to_local(-ray.d)),
                normal: surface.frame.n,
                position: surface.p,
                depth: scene.camera.depth(surface.p),
                material: primitive.material + 1,
                object: scene.geometry.object(hit) + 1,
            };
            sums.add_features(s.x, s.y, s.number, s.weight, &seen);
        }
    }

    /// Orders the hits so that those of one material come together (counting sort; misses first).
    fn sort_by_material(&mut self) {
        let primitives = &self.scene.geometry.primitives;
        let key = |h: &Hit| if h.is_miss() { 0 } else { 1 + primitives[h.primitive as usize].material as usize };
        self.starts.clear();
        self.starts.resize(self.scene.materials.len() + 2, 0);
        for h in &self.hits {
            self.starts[key(h) + 1] += 1;
        }
        for k in 1..self.starts.len() {
            self.starts[k] += self.starts[k - 1];
        }
        self.order.clear();
        self.order.resize(self.hits.len(), 0);
        for (i, h) in self.hits.iter().enumerate() {
            let slot = &mut self.starts[key(h)];
            self.order[*slot as usize] = i as u32;
            *slot += 1;
        }
    }

    /// Emission, direct light and the next ray of one path.
    fn shade(&mut self, i: usize, depth: u32) {
        let (scene, hit, ray, path) = (self.scene, self.hits[i], self.rays[i], self.paths[i]);
        if hit.is_miss() {
            let le = environment_light(scene, &ray, path.pdf);
            self.samples[path.sample as usize].radiance += path.throughput * le;
            return;
        }
        let primitive = &scene.geometry.primitives[hit.primitive as usize];
        let surface = scene.geometry.surface(&hit);
        let wo = -ray.d;
        if let Some(first) = primitive.first_light {
            let le = area_light(scene, first + hit.element, &ray, hit.t, &surface, path.pdf);
            self.samples[path.sample as usize].radiance += path.throughput * le;
        }
        if depth == self.max_depth {
            return;
        }
        let bsdf = scene.materials[primitive.material as usize].bsdf(&surface.lookup());
        let wo = surface.frame.to_local(wo);
        let [pick, light_u, light_v, roulette] = self.sampler.get4(path.key, 2 * depth + 1);
        let [lobe, bsdf_u, bsdf_v, fine] = self.sampler.get4(path.key, 2 * depth + 2);
        if !bsdf.is_delta()
            && let Some(pick) = scene.lights.pick(pick, fine)
        {
            self.sample_light(&path, &surface, &bsdf, wo, pick, vec2(light_u, light_v));
        }
        let Some(s) = bsdf.sample(lobe, vec2(bsdf_u, bsdf_v), wo) else { return };
        let eta_scale = path.eta_scale * s.eta * s.eta;
        let mut throughput = path.throughput * s.weight;
        // Russian roulette on the throughput that the path has left, free of the η² that a later refraction gives back.
        if depth >= ROULETTE_DEPTH {
            let survival = (throughput * eta_scale).max_element().max(0.0).sqrt().min(MAX_SURVIVAL);
            if roulette >= survival {
                return;
            }
            throughput /= survival;
        }
        if throughput.max_element() <= 0.0 {
            return;
        }
        let d = surface.frame.to_world(s.wi);
        self.next_rays.push(Ray::new(surface.origin_towards(d), d));
        let pdf = if s.delta { 0.0 } else { s.pdf };
        self.next_paths.push(Path { throughput, pdf, eta_scale, ..path });
    }

    /// Next-event estimation: one light, weighted against finding it by sampling the BSDF.
    #[allow(clippy::too_many_arguments, reason = "the inputs of an estimator: where, what, which light, and a random point")]
    fn sample_light(&mut self, path: &Path, surface: &Surface, bsdf: &impl Bsdf, wo: Vec3, pick: Pick, u: Vec2) {
        let Some(s) = self.scene.lights.all()[pick.index].sample_li(surface.p, u) else { return };
        let wi = surface.frame.to_local(s.wi);
        let f = bsdf.eval(wi, wo) * wi.z.abs();
        if f.max_element() <= 0.0 {
            return;
        }
        let pdf = pick.pmf * s.pdf;
        let weight = if s.delta { 1.0 } else { power_heuristic(pdf, bsdf.pdf(wi, wo)) };
        let radiance = path.throughput * f * s.radiance * (weight / pdf);
        let o = surface.origin_towards(s.wi);
        self.shadow_rays.push(match s.target {
            Some(target) => Ray::segment(o, target),
            None => Ray::new(o, s.wi),
        });
        self.pending.push(Pending { sample: path.sample, radiance });
    }

    /// Adds the light whose shadow rays were free.
    fn collect_light(&mut self) {
        for (p, &blocked) in self.pending.iter().zip(&self.blocked) {
            if !blocked {
                self.samples[p.sample as usize].radiance += p.radiance;
            }
        }
        self.pending.clear();
        self.shadow_rays.clear();
    }

    /// Makes the continuing paths the current ones.
    fn advance(&mut self) {
        std::mem::swap(&mut self.rays, &mut self.next_rays);
        std::mem::swap(&mut self.paths, &mut self.next_paths);
        self.next_rays.clear();
        self.next_paths.clear();
    }
}

/// Radiance from infinitely far along a ray drawn with density `pdf` (0: by no density), weighted against light sampling.
fn environment_light(scene: &Scene, ray: &Ray, pdf: f32) -> Vec3 {
    let mut sum = Vec3::ZERO;
    for (index, light) in scene.lights.environments() {
        let weight = match pdf {
            0.0 => 1.0,
            _ => power_heuristic(pdf, scene.lights.pmf(index) * light.pdf_li(ray.d)),
        };
        sum += light.radiance(ray.d) * weight;
    }
    sum
}

/// Radiance of an area light that a ray met at `t`, weighted likewise.
fn area_light(scene: &Scene, light: u32, ray: &Ray, t: f32, surface: &Surface, pdf: f32) -> Vec3 {
    let Some(area) = scene.lights.area(light) else { return Vec3::ZERO };
    let le = area.radiance(surface.ng, -ray.d);
    if pdf == 0.0 || le == Vec3::ZERO {
        return le;
    }
    le * power_heuristic(pdf, scene.lights.pmf(light) * area.pdf_li(ray.o, ray.d, t, surface.ng))
}
