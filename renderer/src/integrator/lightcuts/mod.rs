//! Lightcuts (Walter et al. 2005): direct light of thousands of lights at the cost of hundreds,
//! with a bounded error, for any material.
//!
//! All lights become points and directions, which stand in trees ([`LightTree`]). For each point
//! that is shaded, a cut through the trees replaces clusters of lights by one of them (`cut`),
//! where compiled bounding shaders prove that this changes little (Clarberg et al. 2010 §6.1;
//! Velázquez-Armendáriz et al. 2009). Or clusters of a cut of fixed size are each sampled
//! (`stochastic`).
//!
//! Mirrors and glass are followed from the eye, at most `maxdepth` times; what else is reflected
//! comes straight from lights. Lights that are seen, directly or so, are as bright as they are.

mod cut;
mod lighting;
mod ranked;
mod stochastic;
#[cfg(test)]
mod testing;

use self::cut::{Cut, Limits};
use self::lighting::{Lighting, Point};
use self::stochastic::Drawing;
use super::material_bound::{BoundError, BoundsAt, MaterialBounds};
use super::samples::Samples;
use super::shading::{Scattered, Shading};
use super::{Counts, CutCounts, Integrator, LightTreeFigures, Worker, eye};
use crate::film::{CutSample, Tile};
use crate::geometry::{Hit, Surface};
use crate::light_tree::{LightTree, PointOptions};
use crate::material::{GRAZING, Instance, Material};
use crate::math::{Ray, Vec2, Vec3, Viewpoint, vec2};
use crate::sampling::{PathKey, Sampler, hash, unit_float};
use crate::scene::diagnostics::SceneError;
use crate::scene::{self, LightcutsSettings, Scene};
use lightbound_shader::{Sides, Target};
use std::ops::Range;
use std::time::Instant;

/// The integrator: settings, and what is made once for a scene.
pub struct Lightcuts {
    max_depth: u32,
    cut: scene::Cut,
    checks: bool,
    tree: LightTree,
    figures: LightTreeFigures,
    materials: MaterialBounds,
}

impl Lightcuts {
    /// For a scene: builds the trees, compiles the bounding shaders.
    ///
    /// *Errors*: bounds by hand are wanted of a material that has none.
    pub fn new(
        scene: &Scene,
        max_depth: u32,
        settings: &LightcutsSettings,
    ) -> Result<Lightcuts, SceneError> {
        let started = Instant::now();
        let stochastic = matches!(settings.cut, scene::Cut::Stochastic { .. });
        let options = PointOptions {
            area_points: settings.area_points,
            sky_points: settings.sky_points,
            extents: stochastic,
            ..PointOptions::default()
        };
        let tree = LightTree::build(&scene.lights, scene.accel.bounds(), &options);
        let figures = LightTreeFigures {
            build: started.elapsed(),
            bytes: tree.bytes(),
            points: tree.points().len(),
        };
        let materials = MaterialBounds::compile(&scene.shaders, settings.bounds)
            .map_err(|error| of_material(scene, &error))?;
        Ok(Lightcuts {
            max_depth,
            cut: settings.cut,
            checks: settings.check_bounds,
            tree,
            figures,
            materials,
        })
    }
}

/// The error, with the name of a material that it is about.
fn of_material(scene: &Scene, error: &BoundError) -> SceneError {
    let has = |material: &Material, shader: &str| match material {
        Material::Surface { scattering: Some(instance), .. } => {
            scene.shaders[instance.shader as usize].program.name == shader
        }
        _ => false,
    };
    let materials = std::iter::zip(&scene.materials, &scene.material_names);
    let mut blamed = materials
        .filter(|(material, _)| matches!(error, BoundError::Hand { name } if has(material, name)));
    let name = blamed.next().map_or(String::new(), |(_, name)| format!("material \"{name}\": "));
    SceneError::new(format!("{name}{error}"))
}

impl Integrator for Lightcuts {
    fn name(&self) -> &'static str {
        "lightcuts"
    }

    fn light_tree(&self) -> Option<LightTreeFigures> {
        Some(self.figures)
    }

    fn worker<'a>(&'a self, scene: &'a Scene) -> Box<dyn Worker + 'a> {
        Box::new(Gathering::new(scene, self))
    }
}

/// A path from the eye over mirrors, its ray apart.
#[derive(Clone, Copy)]
struct Path {
    throughput: Vec3,
    /// Index of the sample within the tile's.
    sample: u32,
    key: PathKey,
}

/// One thread's work. Rays and paths run in parallel arrays.
struct Gathering<'a> {
    scene: &'a Scene,
    integrator: &'a Lightcuts,
    sampler: Sampler,
    samples: Samples,
    /// What the cuts of each sample took.
    cuts: Vec<CutSample>,
    rays: Vec<Ray>,
    paths: Vec<Path>,
    next_rays: Vec<Ray>,
    next_paths: Vec<Path>,
    hits: Vec<Hit>,
    lighting: Lighting<'a>,
    cut: Cut,
    drawing: Drawing,
    /// Draws directions for the albedo.
    shading: Shading<'a>,
    /// Points that were lit.
    points: u64,
}

/// Time is taken at one of so many points, since taking it costs time.
const TIMED: u64 = 16;

impl Worker for Gathering<'_> {
    fn render_tile(&mut self, samples: Range<u32>, tile: &Tile) -> Counts {
        let mut counts = Counts::default();
        self.start(&samples, tile);
        for depth in 0..=self.integrator.max_depth {
            if self.rays.is_empty() {
                break;
            }
            counts.rays += self.rays.len() as u64;
            self.scene.accel.intersect_batch(&self.rays, &mut self.hits);
            for index in 0..self.rays.len() {
                self.visit(index, depth, depth == 0 && tile.wants_features());
            }
            std::mem::swap(&mut self.rays, &mut self.next_rays);
            std::mem::swap(&mut self.paths, &mut self.next_paths);
            self.next_rays.clear();
            self.next_paths.clear();
        }
        counts.cuts = std::mem::take(&mut self.lighting.counts);
        counts.shadow_rays = counts.cuts.shadow_rays;
        counts.shading = self.lighting.material.take_counts();
        counts.shading += self.shading.take_counts();
        let mut sums = tile.lock();
        let gain = self.scene.film.gain;
        self.samples.write(&mut sums, |_, weight| weight * gain);
        if tile.wants_cuts() {
            for (s, cut) in self.samples.iter().zip(&self.cuts) {
                // Weights of filters may be negative.
                sums.add_cut(
                    s.x,
                    s.y,
                    &CutSample { error_bound: cut.error_bound * (s.weight * gain).abs(), ..*cut },
                );
            }
        }
        counts
    }
}

impl<'a> Gathering<'a> {
    fn new(scene: &'a Scene, integrator: &'a Lightcuts) -> Gathering<'a> {
        let material = BoundsAt::new(&integrator.materials);
        let target =
            scene.shaders.first().map_or_else(Target::best, |bound| bound.program.target());
        Gathering {
            scene,
            integrator,
            sampler: Sampler::new(scene.sampling.kind, scene.sampling.seed),
            samples: Samples::default(),
            cuts: Vec::new(),
            rays: Vec::new(),
            paths: Vec::new(),
            next_rays: Vec::new(),
            next_paths: Vec::new(),
            hits: Vec::new(),
            lighting: Lighting::new(scene, &integrator.tree, material, integrator.checks),
            cut: Cut::default(),
            drawing: Drawing::default(),
            shading: Shading::new(target, None),
            points: 0,
        }
    }

    /// Camera rays of all samples.
    fn start(&mut self, numbers: &Range<u32>, tile: &Tile) {
        self.cuts.clear();
        self.rays.clear();
        self.paths.clear();
        self.samples.start(self.scene, &self.sampler, numbers, tile, |ray, sample, key| {
            self.rays.push(ray);
            self.paths.push(Path { throughput: Vec3::ONE, sample, key });
            self.cuts.push(CutSample::default());
        });
    }

    /// Adds the light that a path meets and that is reflected where it ends, and follows mirrors.
    fn visit(&mut self, index: usize, depth: u32, features: bool) {
        let (scene, hit, ray, path) =
            (self.scene, self.hits[index], self.rays[index], self.paths[index]);
        if hit.is_miss() {
            let sky: Vec3 =
                scene.lights.environments().map(|(_, light)| light.radiance(ray.d)).sum();
            self.samples.add(path.sample, path.throughput * sky);
            return;
        }
        let surface = scene.geometry.surface(&hit);
        let primitive = &scene.geometry.primitives[hit.primitive as usize];
        if let Some(light) =
            primitive.first_light.and_then(|first| scene.lights.area(first + hit.element))
        {
            self.samples.add(path.sample, path.throughput * light.radiance(surface.ng, -ray.d));
        }
        let seen =
            features.then(|| self.samples.see(path.sample, eye::seen(scene, &hit, &surface)));
        let wo = surface.frame.local_direction(-ray.d);
        let goes_on = depth < self.integrator.max_depth;
        let is_seen = wo.z.abs() > GRAZING && (goes_on || features);
        if !is_seen {
            return;
        }
        let [mut lobe, u, v, _] = self.sampler.get4(path.key, 2 * depth + 2);
        let Material::Surface { specular, scattering } =
            &scene.materials[eye::material(scene, &hit, &mut lobe) as usize]
        else {
            unreachable!("mixes are resolved")
        };
        let at = Eye { hit: &hit, surface: &surface, wo };
        let share = match (specular, scattering) {
            (Some(specular), Some(_)) => specular.share(wo),
            (specular, _) => f32::from(u8::from(specular.is_some())),
        };
        if let Some(instance) = scattering.as_ref().filter(|_| goes_on) {
            self.light(&at, instance, &path, depth);
        }
        let mirror = specular.as_ref().filter(|_| lobe < share);
        let next = mirror.and_then(|mirror| mirror.sample(lobe / share, wo, &surface.lookup()));
        if let Some(seen) = seen {
            let mirrored = || next.map_or(Vec3::ZERO, |next| next.weight * next.eta * next.eta);
            let albedo = match scattering {
                Some(instance) if mirror.is_none() => {
                    self.albedo(&at, instance, vec2(u, v)) / (1.0 - share)
                }
                _ => mirrored(),
            };
            *self.samples.albedo(seen) = albedo;
        }
        if let Some(next) = next.filter(|_| goes_on) {
            let throughput = path.throughput * next.weight;
            // NaN goes on: it is to be seen by those who count invalid samples.
            if throughput == Vec3::ZERO {
                return;
            }
            let d = surface.frame.to_world(next.wi);
            self.next_rays.push(Ray::new(surface.origin_towards(d), d));
            self.next_paths.push(Path { throughput, ..path });
        }
    }

    /// Adds light from all lights that a shader reflects.
    fn light(&mut self, at: &Eye<'_>, instance: &Instance, path: &Path, depth: u32) {
        let scene = self.scene;
        let both_sides = scene.shaders[instance.shader as usize].program.sides == Sides::Both;
        let (side, wo) = at.mirrored(both_sides);
        let view = Viewpoint::new(at.surface.p, &at.surface.frame, side);
        let point = Point {
            surface: at.surface,
            view,
            both_sides,
            is_timed: self.points.is_multiple_of(TIMED),
        };
        self.points += 1;
        let started = point.is_timed.then(Instant::now);
        self.lighting.material.begin(
            instance,
            at.surface,
            || scene.geometry.object_position(at.hit, at.surface.p),
            wo,
        );
        let done = |counts: &CutCounts| [counts.bound_evaluations, counts.shadow_rays];
        let before = done(&self.lighting.counts);
        let (radiance, size, error, capped) = match self.integrator.cut {
            scene::Cut::Deterministic { error, error_mode, max_cut } => {
                let limits = Limits { error, mode: error_mode, max_cut };
                let found = self.cut.light(&mut self.lighting, &point, &limits);
                (found.radiance, found.size, found.error, found.capped)
            }
            scene::Cut::Stochastic { size } => {
                let [a, b, ..] = self.sampler.get4(path.key, 2 * depth + 1);
                let (seed, mut count) = (hash(hash(a.to_bits(), b.to_bits()), depth), 0);
                let random = || {
                    count += 1;
                    unit_float(hash(seed, count))
                };
                let found =
                    self.drawing.light(&mut self.lighting, &point, &scene.lights, size, random);
                (found.radiance, found.size, 0.0, false)
            }
        };
        let counts = &mut self.lighting.counts;
        counts.sizes.add(size);
        counts.capped += u64::from(capped);
        if let Some(started) = started {
            counts.times.total += started.elapsed();
        }
        let [bound_evaluations, shadow_rays] =
            std::array::from_fn(|k| (done(counts)[k] - before[k]) as u32);
        self.samples.add(path.sample, path.throughput * radiance);
        let cut = &mut self.cuts[path.sample as usize];
        cut.cut_size += size;
        cut.bound_evaluations += bound_evaluations;
        cut.shadow_rays += shadow_rays;
        cut.error_bound += path.throughput.max_element() * error;
    }

    /// The weight of a direction that is drawn, as features want it.
    fn albedo(&mut self, at: &Eye<'_>, instance: &Instance, u: Vec2) -> Vec3 {
        let scene = self.scene;
        let bound = &scene.shaders[instance.shader as usize];
        let (_, wo) = at.mirrored(bound.program.sides == Sides::Both);
        let object = || scene.geometry.object_position(at.hit, at.surface.p);
        self.shading.begin(&bound.program, 1);
        self.shading.push(&bound.program, instance, at.surface, object, (u, wo));
        self.shading.set_up(bound);
        self.shading.scatter(bound);
        let (wi, Scattered { s, pdf }) = self.shading.scattered(0);
        let eta = eye::eta_ratio(instance.eta, wi, wo);
        if pdf > 0.0 { s / pdf * eta * eta } else { Vec3::ZERO }
    }
}

/// What the eye sees, straight or over mirrors.
struct Eye<'a> {
    hit: &'a Hit,
    surface: &'a Surface,
    /// To the eye, in the shading frame.
    wo: Vec3,
}

impl Eye<'_> {
    /// −1 where the frame is mirrored for a shader of the upper side alone, else 1; and the
    /// direction then.
    fn mirrored(&self, both_sides: bool) -> (f32, Vec3) {
        if both_sides {
            (1.0, self.wo)
        } else {
            (1f32.copysign(self.wo.z), self.wo.with_z(self.wo.z.abs()))
        }
    }
}
