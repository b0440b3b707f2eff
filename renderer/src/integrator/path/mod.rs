//! Unidirectional path tracing with next-event estimation (Kajiya 1986; multiple importance
//! sampling after Veach 1997 §9).
//!
//! A tile's samples form a wave: all camera rays are traced in one batch, all hits shaded, all
//! shadow rays and all continuing rays traced in batches again, until no path is left. Within a
//! wave hits are ordered by their shader, and shaded in chunks: the light samples of a chunk are
//! evaluated together, then its next directions are drawn together, in full SIMD groups.

mod next_event;

use self::next_event::{Candidate, Origin, Pending};
use super::directions::{DirectionSampling, Directions};
use super::fault::Faults;
use super::light_sampling::{Chooser, LightSampler, Receiver};
use super::samples::Samples;
use super::shading::{Scattered, Shading};
use super::sky_sampling::{SkyPoint, SkySampler};
use super::{Counts, Integrator, LightTreeFigures, Worker, eye};
use crate::film::Tile;
use crate::geometry::{Arrival, Hit, Surface};
use crate::light::FacetSamples;
use crate::material::{Bound, GRAZING, Material, Specular};
use crate::math::{Ray, Vec3, vec2};
use crate::sampling::{PathKey, Sampler};
use crate::scene::diagnostics::SceneError;
use crate::scene::{PathSettings, Scene};
use lightbound_shader::{Sides, Target};
use std::ops::Range;

/// The path tracer. Unbiased: nothing is clamped.
#[derive(Debug)]
pub struct PathTracer {
    /// Most scattering events on a path; 1 is direct light only.
    max_depth: u32,
    lights: LightSampler,
    directions: DirectionSampling,
    /// Where a sky is drawn of by products; the lights are the others then.
    sky: Option<SkySampler>,
}

impl PathTracer {
    /// For a scene; `max_depth` is the most scattering events on a path, of which 1 is direct light
    /// only.
    ///
    /// *Errors*: no bounds can be compiled of a material, where they are needed.
    pub fn new(
        scene: &Scene,
        max_depth: u32,
        settings: &PathSettings,
    ) -> Result<PathTracer, SceneError> {
        let sky = SkySampler::of(&scene.lights, settings);
        let others = sky.as_ref().map(|sky| scene.lights.without(sky.light));
        let lights = LightSampler::new(
            scene,
            others.as_ref().unwrap_or(&scene.lights),
            settings.light_sampling,
        )?;
        let directions = DirectionSampling::new(scene, settings.bsdf_sampling, sky.is_some())
            .map_err(|error| {
                SceneError::new(format!("no directions can be drawn from bounds: {error}"))
            })?;
        Ok(PathTracer { max_depth, lights, directions, sky })
    }
}

/// A path between two scattering events, its ray apart.
#[derive(Clone, Copy)]
struct Path {
    /// Product of BSDF, cosine and Russian roulette weights over densities.
    throughput: Vec3,
    /// Density per steradian of the ray's direction; 0 after a delta lobe (and at the camera),
    /// where only hits can see light.
    pdf: f32,
    /// Density with which light sampling would draw the direction of the sky that is drawn of by
    /// products.
    sky_pdf: f32,
    /// Product of squared refractive-index ratios, taken out of the throughput for Russian
    /// roulette.
    eta_scale: f32,
    /// Index of the sample within the wave.
    sample: u32,
    key: PathKey,
}

/// A point where a path may go on.
struct Vertex<'a> {
    /// Index of the path.
    path: u32,
    /// Of the arrival.
    arrival: u32,
    specular: Option<&'a Specular>,
    /// In the shading frame, mirrored to the upper side where the shader is for that alone.
    wo: Vec3,
    /// −1 where it was mirrored, else 1.
    side: f32,
    /// Index of refraction for light that comes through a surface with a shader.
    eta: f32,
    /// How often the specular part is chosen.
    share: f32,
    /// Chooses the part, and within the specular one.
    lobe: f32,
    /// Decides whether the path goes on.
    roulette: f32,
    /// Number of what is recorded for denoisers, if it is wanted.
    seen: u32,
    /// Two numbers that choose a light, and two for a place of it; `None` where none is taken.
    light: Option<[f32; 4]>,
}

/// Where a path goes on.
struct Next {
    /// In the shading frame.
    wi: Vec3,
    /// BSDF · |cos| / density.
    weight: Vec3,
    /// Density per steradian; 0 for a delta function.
    pdf: f32,
    /// Ratio of refractive indices, of the side of `wi` over that of `wo`; 1 for reflection.
    eta: f32,
}

impl Vertex<'_> {
    /// By the specular part.
    fn reflect(&self, surface: &Surface) -> Option<Next> {
        let sample = self.specular?.sample(self.lobe / self.share, self.wo, &surface.lookup())?;
        Some(Next {
            wi: self.mirrored(sample.wi),
            weight: sample.weight,
            pdf: 0.0,
            eta: sample.eta,
        })
    }

    /// By the shader, which drew `wi`.
    fn scatter(&self, (wi, Scattered { s, pdf }): (Vec3, Scattered)) -> Option<Next> {
        let pdf = pdf * (1.0 - self.share);
        if pdf <= 0.0 {
            return None;
        }
        let eta = eye::eta_ratio(self.eta, wi, self.wo);
        Some(Next { wi: self.mirrored(wi), weight: s / pdf, pdf, eta })
    }

    /// Where the sky is drawn of, as the point of this number.
    fn sky_point<'s>(&self, row: usize, surface: &'s Surface) -> SkyPoint<'s> {
        SkyPoint { row, frame: &surface.frame, side: self.side }
    }

    /// From the side of the shader to that of the frame, or back.
    fn mirrored(&self, wi: Vec3) -> Vec3 {
        Vec3::new(wi.x, wi.y, self.side * wi.z)
    }
}

/// A wave of paths, and what it works with. Rays and paths run in parallel arrays.
struct Wave<'a> {
    scene: &'a Scene,
    sampler: Sampler,
    max_depth: u32,
    /// Scattering events from which paths go on: all, but for the last one where nothing that
    /// shines can be met behind it.
    continuing: u32,
    samples: Samples,
    rays: Vec<Ray>,
    paths: Vec<Path>,
    next_rays: Vec<Ray>,
    next_paths: Vec<Path>,
    /// Where the paths come from; empty where no density depends on it.
    origins: Vec<Origin>,
    next_origins: Vec<Origin>,
    /// Of the materials there.
    members: Vec<u32>,
    next_members: Vec<u32>,
    /// Those of the vertex at hand.
    scratch: Vec<u32>,
    chooser: Chooser<'a>,
    sky: Option<&'a SkySampler>,
    /// How often the chooser is asked, and not the sky.
    others: f32,
    /// Whether paths remember where they come from.
    remembers: bool,
    shadow_rays: Vec<Ray>,
    pending: Vec<Pending>,
    hits: Vec<Hit>,
    /// Those of a chunk.
    arrivals: Vec<Arrival>,
    blocked: Vec<bool>,
    /// Position of each material in an order by shaders, from 1 on, since 0 is for misses;
    /// [`MIXED`] for those that are one of two.
    ranks: Vec<u32>,
    /// Which shader the materials of a rank have.
    shaders: Vec<Option<u32>>,
    /// Indices of the hits in order of their ranks, and where each rank starts.
    order: Vec<u32>,
    keys: Vec<u32>,
    starts: Vec<u32>,
    vertices: Vec<Vertex<'a>>,
    /// Those of the vertices, where choices of lights depend on the point.
    receivers: Vec<Receiver>,
    candidates: Vec<Candidate>,
    /// Lights that are triangles, and which vertices they were chosen for, how often.
    facets: FacetSamples,
    awaiting: Vec<(u32, f32)>,
    shading: Shading<'a>,
    faults: Faults,
}

/// The first scattering event, counted from 0, after which paths may end by Russian roulette, with
/// the root of their throughput as chance of survival. Against pbrt-v4's rule (event 1, the
/// throughput itself) a sample costs 1.3 times as much and has 0.62 times the variance in a Cornell
/// box; 1.5 and 0.46 times in a room lit through a door.
const ROULETTE_DEPTH: u32 = 3;

/// Most points that a shader is run over at once: enough to fill groups of lanes, few enough to
/// stay in the fastest cache.
const CHUNK: usize = 128;

/// Stands in the place of a mixed material's rank.
const MIXED: u32 = u32::MAX;

/// Greatest chance of survival, so that paths end even between perfect mirrors.
const MAX_SURVIVAL: f32 = 0.99;

impl Integrator for PathTracer {
    fn name(&self) -> &'static str {
        "path"
    }

    fn worker<'a>(&'a self, scene: &'a Scene) -> Box<dyn Worker + 'a> {
        Box::new(Wave::new(scene, self))
    }

    fn light_tree(&self) -> Option<LightTreeFigures> {
        self.lights.figures()
    }
}

/// A path tracer with a fault, for tests that must find it.
#[cfg(test)]
pub struct FaultyPathTracer {
    /// The one that would be right.
    pub tracer: PathTracer,
    /// What is wrong with it.
    pub fault: super::Fault,
}

#[cfg(test)]
impl Integrator for FaultyPathTracer {
    fn name(&self) -> &'static str {
        "faulty path"
    }

    fn worker<'a>(&'a self, scene: &'a Scene) -> Box<dyn Worker + 'a> {
        let faults = Faults { fault: Some(self.fault) };
        Box::new(Wave { faults, ..Wave::new(scene, &self.tracer) })
    }
}

impl Worker for Wave<'_> {
    fn render_tile(&mut self, samples: Range<u32>, tile: &Tile) -> Counts {
        let mut counts = Counts::default();
        self.start(&samples, tile);
        for depth in 0..=self.max_depth {
            if self.rays.is_empty() {
                break;
            }
            counts.rays += self.rays.len() as u64;
            self.scene.accel.intersect_batch(&self.rays, &mut self.hits);
            self.sort_by_shader(depth);
            self.shade(depth, depth == 0 && tile.wants_features());
            counts.shadow_rays += self.shadow_rays.len() as u64;
            self.scene.accel.occluded_batch(&self.shadow_rays, &mut self.blocked);
            self.collect_light();
            self.advance();
        }
        counts.shading += self.shading.take_counts();
        counts.shading += self.chooser.take_counts();
        let (faults, gain) = (&self.faults, self.scene.film.gain);
        self.samples.write(&mut tile.lock(), |number, weight| faults.weight(number, weight) * gain);
        counts
    }
}

impl<'a> Wave<'a> {
    fn new(scene: &'a Scene, tracer: &'a PathTracer) -> Wave<'a> {
        let shader = |material: usize| match &scene.materials[material] {
            Material::Surface { scattering: Some(instance), .. } => Some(instance.shader),
            _ => None,
        };
        let mut order: Vec<usize> = (0..scene.materials.len()).collect();
        order.sort_by_key(|&material| shader(material));
        let mut ranks = vec![0; order.len()];
        for (rank, &material) in (1..).zip(&order) {
            let mixed = matches!(scene.materials[material], Material::Mix { .. });
            ranks[material] = if mixed { MIXED } else { rank };
        }
        let shaders = std::iter::once(None).chain(order.into_iter().map(shader)).collect();
        let target =
            scene.shaders.first().map_or_else(Target::best, |bound| bound.program.target());
        Wave {
            scene,
            sampler: Sampler::new(scene.sampling.kind, scene.sampling.seed),
            max_depth: tracer.max_depth,
            continuing: tracer.max_depth.saturating_sub(u32::from(!scene.lights.can_be_hit())),
            samples: Samples::default(),
            rays: Vec::new(),
            paths: Vec::new(),
            next_rays: Vec::new(),
            next_paths: Vec::new(),
            origins: Vec::new(),
            next_origins: Vec::new(),
            members: Vec::new(),
            next_members: Vec::new(),
            scratch: Vec::new(),
            chooser: Chooser::new(&tracer.lights, &scene.lights),
            sky: tracer.sky.as_ref(),
            others: 1.0 - tracer.sky.as_ref().map_or(0.0, |sky| sky.share),
            remembers: tracer.lights.depends_on_point() && scene.lights.can_be_hit(),
            shadow_rays: Vec::new(),
            pending: Vec::new(),
            hits: Vec::new(),
            arrivals: Vec::new(),
            blocked: Vec::new(),
            ranks,
            shaders,
            order: Vec::new(),
            keys: Vec::new(),
            starts: Vec::new(),
            vertices: Vec::new(),
            receivers: Vec::new(),
            candidates: Vec::new(),
            facets: FacetSamples::default(),
            awaiting: Vec::new(),
            shading: Shading::new(target, Some(Directions::new(&tracer.directions))),
            faults: Faults::default(),
        }
    }

    /// Camera rays of all samples.
    fn start(&mut self, numbers: &Range<u32>, tile: &Tile) {
        self.rays.clear();
        self.paths.clear();
        self.origins.clear();
        self.samples.start(self.scene, &self.sampler, numbers, tile, |ray, sample, key| {
            self.rays.push(ray);
            self.paths.push(Path {
                throughput: Vec3::ONE,
                pdf: 0.0,
                sky_pdf: 0.0,
                eta_scale: 1.0,
                sample,
                key,
            });
        });
    }

    /// Orders the hits so that those of one shader come together, and within them those of one
    /// material (counting sort; misses first).
    fn sort_by_shader(&mut self, depth: u32) {
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        keys.extend(self.hits.iter().zip(&self.paths).map(|(hit, path)| {
            if hit.is_miss() {
                return 0;
            }
            match self.ranks
                [self.scene.geometry.primitives[hit.primitive as usize].material as usize]
            {
                MIXED => {
                    let [mut lobe, ..] = self.sampler.get4(path.key, 2 * depth + 2);
                    self.ranks[eye::material(self.scene, hit, &mut lobe) as usize]
                }
                rank => rank,
            }
        }));
        self.starts.clear();
        self.starts.resize(self.shaders.len() + 1, 0);
        for &key in &keys {
            self.starts[key as usize + 1] += 1;
        }
        for k in 1..self.starts.len() {
            self.starts[k] += self.starts[k - 1];
        }
        self.order.clear();
        self.order.resize(keys.len(), 0);
        for (i, &key) in keys.iter().enumerate() {
            let slot = &mut self.starts[key as usize];
            self.order[*slot as usize] = i as u32;
            *slot += 1;
        }
        self.keys = keys;
    }

    /// Emission, direct light and next rays of all paths.
    fn shade(&mut self, depth: u32, features: bool) {
        let order = std::mem::take(&mut self.order);
        let mut rest = &order[..];
        while let Some(&first) = rest.first() {
            let shader = |i: u32| self.shaders[self.keys[i as usize] as usize];
            let alike =
                rest.iter().take(CHUNK).take_while(|&&i| shader(i) == shader(first)).count();
            let (chunk, after) = rest.split_at(alike);
            let bound = shader(first).map(|shader| &self.scene.shaders[shader as usize]);
            self.shade_chunk(bound, chunk, depth, features);
            rest = after;
        }
        self.order = order;
    }

    /// The same of paths that meet materials of one shader, or of none.
    fn shade_chunk(&mut self, bound: Option<&Bound>, chunk: &[u32], depth: u32, features: bool) {
        self.vertices.clear();
        self.receivers.clear();
        self.candidates.clear();
        if let Some(bound) = bound {
            self.shading.begin(&bound.program, chunk.len());
        }
        // At the last vertex, only emitters contribute.
        let (primitives, is_last) =
            (&self.scene.geometry.primitives, depth == self.max_depth && !features);
        let counts = |hit: &Hit| {
            !hit.is_miss() && (!is_last || primitives[hit.primitive as usize].first_light.is_some())
        };
        let met = chunk.iter().map(|&i| (&self.hits[i as usize], &self.rays[i as usize]));
        self.scene.geometry.arrivals(met.filter(|(hit, _)| counts(hit)), &mut self.arrivals);
        let mut arrivals = 0..self.arrivals.len();
        for &i in chunk {
            let hit = &self.hits[i as usize];
            if hit.is_miss() {
                let le = self.environment_light(i as usize);
                let path = &self.paths[i as usize];
                self.samples.add(path.sample, path.throughput * le);
            } else if counts(hit) {
                let arrival = arrivals.next().expect("all hits that count have one");
                self.visit(i as usize, arrival, bound, depth, features);
            }
        }
        let ends = depth >= self.continuing && !features;
        if let Some(bound) = bound {
            self.shading.set_up(bound);
            self.choose_lights(bound);
            self.light(bound);
            if !ends {
                self.shading.scatter(bound);
            }
        }
        if ends {
            return;
        }
        for row in 0..self.vertices.len() {
            self.leave(row, bound, depth, features);
        }
    }

    /// Adds the light that a path meets, and where it may go on from there, a vertex and a light
    /// sample.
    fn visit(
        &mut self,
        i: usize,
        arrival: usize,
        bound: Option<&Bound>,
        depth: u32,
        features: bool,
    ) {
        let scene = self.scene;
        let Hit { primitive, element, .. } = self.hits[i];
        let sample = self.paths[i].sample;
        if let Some(first) = scene.geometry.primitives[primitive as usize].first_light {
            let surface = self.arrivals[arrival].surface;
            let le = self.area_light(i, first + element, &surface);
            self.samples.add(sample, self.paths[i].throughput * le);
        }
        let (hit, Arrival { surface, wo }) = (&self.hits[i], &self.arrivals[arrival]);
        let mut wo = *wo;
        let seen =
            if features { self.samples.see(sample, eye::seen(scene, hit, surface)) } else { 0 };
        let goes_on = wo.z.abs() > GRAZING && (depth < self.max_depth || features);
        if !goes_on {
            return;
        }
        // Mirrors take no light samples.
        let key = self.paths[i].key;
        let wanted = bound.is_some() || depth >= ROULETTE_DEPTH;
        let [pick, light_u, light_v, roulette] =
            if wanted { self.sampler.get4(key, 2 * depth + 1) } else { [0.0; 4] };
        let [mut lobe, u, v, fine] = self.sampler.get4(key, 2 * depth + 2);
        let Material::Surface { specular, scattering } =
            &scene.materials[eye::material(scene, hit, &mut lobe) as usize]
        else {
            unreachable!("mixes are resolved")
        };
        let specular = specular.as_ref();
        let (mut side, mut eta, mut share) = (1.0, 1.0, 1.0);
        if let (Some(bound), Some(instance)) = (bound, scattering) {
            match bound.program.sides {
                Sides::One => (side, wo.z) = (1f32.copysign(wo.z), wo.z.abs()),
                Sides::Both => eta = instance.eta,
            }
            share = specular.map_or(0.0, |specular| specular.share(wo));
            let object = || scene.geometry.object_position(hit, surface.p);
            self.shading.push(&bound.program, instance, surface, object, (vec2(u, v), wo));
        }
        let takes_light = bound.is_some() && depth < self.max_depth;
        if self.chooser.depends_on_point() {
            let receiver =
                self.receiver(bound, scattering.as_ref(), surface, -self.rays[i].d, side);
            self.receivers.push(receiver);
        }
        self.vertices.push(Vertex {
            path: i as u32,
            arrival: arrival as u32,
            specular,
            wo,
            side,
            eta,
            share,
            lobe,
            roulette,
            seen,
            light: takes_light.then_some([pick, fine, light_u, light_v]),
        });
    }

    /// The next ray of a path.
    fn leave(&mut self, row: usize, bound: Option<&Bound>, depth: u32, features: bool) {
        let vertex = &self.vertices[row];
        let surface = &self.arrivals[vertex.arrival as usize].surface;
        let next = if vertex.lobe < vertex.share {
            vertex.reflect(surface)
        } else {
            vertex.scatter(self.shading.scattered(row))
        };
        if features {
            *self.samples.albedo(vertex.seen) =
                next.as_ref().map_or(Vec3::ZERO, |next| next.weight * next.eta * next.eta);
        }
        let Some(next) = next.filter(|_| depth < self.continuing) else { return };
        let path = &self.paths[vertex.path as usize];
        let eta_scale = path.eta_scale * next.eta * next.eta;
        let mut throughput = path.throughput * next.weight;
        if throughput.is_nan() {
            // A broken shader is to be seen by those who count invalid samples.
            self.samples.add(path.sample, throughput);
            return;
        }
        // Russian roulette on the throughput that the path has left, free of the η² that a later
        // refraction gives back.
        if depth >= ROULETTE_DEPTH {
            let survival = (throughput * eta_scale).max_element().max(0.0).sqrt().min(MAX_SURVIVAL);
            if vertex.roulette >= survival {
                return;
            }
            throughput *= 1.0 / survival;
        }
        if throughput.max_element() <= 0.0 {
            return;
        }
        let d = surface.frame.to_world(next.wi);
        self.next_rays.push(Ray::new(surface.origin_towards(d), d));
        let sky_pdf = match self.sky {
            Some(sky) if next.pdf > 0.0 => sky.pdf(
                &self.scene.lights,
                &self.shading,
                vertex.sky_point(row, surface),
                vertex.mirrored(next.wi),
            ),
            _ => 0.0,
        };
        self.next_paths.push(Path { throughput, pdf: next.pdf, sky_pdf, eta_scale, ..*path });
        if self.remembers {
            let (first, receiver) = (self.next_members.len(), self.receivers[row]);
            // What a delta function draws is weighed against nothing.
            if let (Some(bound), Some(_), true) = (bound, &receiver.lobe, next.pdf > 0.0) {
                self.next_members.extend(self.shading.members(&bound.program, row));
            }
            let members = [first as u32, (self.next_members.len() - first) as u32];
            self.next_origins.push(Origin { receiver, members });
        }
    }

    /// Makes the continuing paths the current ones.
    fn advance(&mut self) {
        std::mem::swap(&mut self.rays, &mut self.next_rays);
        std::mem::swap(&mut self.paths, &mut self.next_paths);
        self.next_rays.clear();
        self.next_paths.clear();
        std::mem::swap(&mut self.origins, &mut self.next_origins);
        std::mem::swap(&mut self.members, &mut self.next_members);
        self.next_origins.clear();
        self.next_members.clear();
    }
}
