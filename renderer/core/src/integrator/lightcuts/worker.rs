//! Renders tiles with lightcuts: follows paths from the camera, and adds the light that surfaces with
//! shaders reflect.

use super::Lightcuts;
use super::channels::SampleCutStats;
use super::cut::DeterministicCut;
use super::gather::Gather;
use super::in_scattering::InScattering;
use super::indirect::Indirect;
use super::lighting::Lighting;
use super::stochastic::StochasticCut;
use super::vertex::PathVertex;
use super::virtual_lights::VirtualLightEvaluator;
use crate::film::{FeatureLayers, Tile};
use crate::geometry::Hit;
use crate::integrator::material_bound::BoundEvaluator;
use crate::integrator::medium_rays::{MediumRays, has_media, medium_beyond, medium_index};
use crate::integrator::mix::resolve_mix;
use crate::integrator::samples::TileSamples;
use crate::integrator::shading::{ShadingBuffers, eta_ratio};
use crate::integrator::{Counts, Worker};
use crate::material::{GRAZING_COSINE, Material, PathWavelength, ShaderInstance};
use crate::medium::Walk;
use crate::scene::Scene;
use crate::settings::{RenderSettings, ShadowTerminator};
use lightbound_math::sampling::PathKey;
use lightbound_math::{Ray, Vec2, Vec3, vec2};
use lightbound_shader::{SurfaceSides, Target};
use std::ops::Range;

/// State of a path from the camera. Its ray is stored separately.
#[derive(Clone, Copy)]
pub(super) struct Path {
    pub(super) throughput: Vec3,
    /// Wavelength in nm from the first dispersion on; `None` for RGB.
    pub(super) nm: Option<f32>,
    /// Medium around the ray, as in [`Walk::medium`].
    pub(super) medium: u32,
    /// Index of the sample within the tile.
    pub(super) sample: u32,
    pub(super) key: PathKey,
    /// Whether lights that the ray hits contribute; otherwise, they are in the cut of the last vertex.
    pub(super) sees_lights: bool,
    /// Number of successive rays that compensate for clamping, up to the last one.
    pub(super) compensations: u32,
    /// Greatest component of the throughput at the start of the first of these rays.
    pub(super) first_throughput: f32,
    /// Whether the path measures light that clamping takes away, and adds none.
    pub(super) is_measurement: bool,
}

/// The state of one thread. Rays and paths are parallel arrays.
pub(super) struct LightcutsWorker<'a> {
    pub(super) scene: &'a Scene,
    pub(super) settings: &'a RenderSettings,
    pub(super) integrator: &'a Lightcuts,
    pub(super) samples: TileSamples<'a>,
    /// Cut statistics of each sample.
    pub(super) cut_stats: Vec<SampleCutStats>,
    pub(super) rays: Vec<Ray>,
    pub(super) paths: Vec<Path>,
    pub(super) next_rays: Vec<Ray>,
    pub(super) next_paths: Vec<Path>,
    pub(super) hits: Vec<Hit>,
    pub(super) lighting: Lighting<'a>,
    pub(super) deterministic_cut: DeterministicCut,
    pub(super) stochastic_cut: StochasticCut<'a>,
    pub(super) gather: Gather<'a>,
    /// Samples directions for the albedo, and of rays that compensate for clamping.
    pub(super) shading: ShadingBuffers<'a>,
    /// Number of cuts so far.
    pub(super) cuts: u64,
    pub(super) has_media: bool,
    pub(super) media: MediumRays<'a>,
    pub(super) in_scattering: InScattering<'a>,
    /// The parts of the rays that are in media.
    pub(super) crossings: Vec<Walk>,
}

impl Worker for LightcutsWorker<'_> {
    fn render_tile(&mut self, samples: Range<u32>, tile: &Tile) -> Counts {
        let mut counts = Counts::default();
        self.start(&samples, tile);
        for depth in 0.. {
            if self.rays.is_empty() {
                break;
            }
            counts.rays += self.rays.len() as u64;
            self.scene.accel.intersect_batch(&self.rays, &mut self.hits);
            if self.has_media {
                self.cross_media(depth);
            }
            let features = if depth == 0 { tile.features() } else { FeatureLayers::NONE };
            for index in 0..self.rays.len() {
                self.process_hit(index, depth, features);
            }
            std::mem::swap(&mut self.rays, &mut self.next_rays);
            std::mem::swap(&mut self.paths, &mut self.next_paths);
            self.next_rays.clear();
            self.next_paths.clear();
        }
        self.compute_gather_cuts();
        counts.cuts = std::mem::take(&mut self.lighting.counts);
        counts.shadow_rays = counts.cuts.shadow_rays;
        counts.shading = self.lighting.material.take_counts();
        counts.shading += self.shading.take_counts();
        counts.shading += self.lighting.take_virtual_light_counts();
        counts.media = self.media.take_counts();
        counts.media += self.in_scattering.take_counts();
        let mut sums = tile.lock();
        let gain = self.settings.gain;
        self.samples.add_to(&mut sums, |_, weight| weight * gain);
        if tile.stores_channels() {
            for (s, cut_stats) in self.samples.iter().zip(&self.cut_stats) {
                match self.integrator.gather {
                    1 => sums.add_channels(s.x, s.y, &cut_stats.values(gain)),
                    _ => sums.add_channels(s.x, s.y, &cut_stats.gather_values(gain)),
                }
            }
        }
        counts
    }
}

impl<'a> LightcutsWorker<'a> {
    pub(super) fn new(
        scene: &'a Scene,
        settings: &'a RenderSettings,
        integrator: &'a Lightcuts,
    ) -> LightcutsWorker<'a> {
        let material = BoundEvaluator::new(&integrator.materials);
        let virtual_lights = integrator.indirect.as_ref().map(|indirect| {
            let Indirect { materials, .. } = indirect;
            VirtualLightEvaluator::new(&integrator.tree, materials, &integrator.materials)
        });
        let target =
            scene.shaders.first().map_or_else(Target::best, |binding| binding.program.target());
        LightcutsWorker {
            scene,
            settings,
            integrator,
            samples: TileSamples::new(scene, settings),
            cut_stats: Vec::new(),
            rays: Vec::new(),
            paths: Vec::new(),
            next_rays: Vec::new(),
            next_paths: Vec::new(),
            hits: Vec::new(),
            lighting: Lighting::new(scene, &integrator.tree, material, integrator.check_bounds)
                .with_virtual_lights(virtual_lights),
            deterministic_cut: DeterministicCut::default(),
            stochastic_cut: StochasticCut::new(&integrator.has_lobe),
            gather: Gather::new(&integrator.has_lobe),
            shading: ShadingBuffers::new(target, None),
            cuts: 0,
            has_media: has_media(scene),
            media: MediumRays::new(scene),
            in_scattering: InScattering::default(),
            crossings: Vec::new(),
        }
    }

    /// Generates the camera rays of all samples.
    fn start(&mut self, pixel_samples: &Range<u32>, tile: &Tile) {
        self.cut_stats.clear();
        self.gather.points.clear();
        self.rays.clear();
        self.paths.clear();
        self.samples.start(pixel_samples, tile, |ray, sample, key| {
            self.rays.push(ray);
            let medium = medium_index(self.scene.camera_medium);
            self.paths.push(Path {
                throughput: Vec3::ONE,
                nm: None,
                medium,
                sample,
                key,
                sees_lights: true,
                compensations: 0,
                first_throughput: 0.0,
                is_measurement: false,
            });
        });
        self.cut_stats.resize(self.samples.len() as usize, SampleCutStats::default());
    }

    /// Adds the emission and the reflected light at a hit, and continues the path at a specular or a
    /// glossy surface. `features` are the denoiser features to record.
    fn process_hit(&mut self, index: usize, depth: u32, features: FeatureLayers) {
        let (scene, hit, ray, mut path) =
            (self.scene, self.hits[index], self.rays[index], self.paths[index]);
        if path.throughput == Vec3::ZERO {
            return;
        }
        if path.compensations > 0 {
            self.process_compensation(index, depth);
            return;
        }
        if hit.is_miss() {
            if !path.sees_lights {
                return;
            }
            let lights = &scene.lights;
            let radiance: Vec3 =
                lights.environments().map(|(_, light)| light.radiance(ray.d)).sum();
            let behind_portals = lights.portals().map(|(_, light)| light.radiance(ray.o, ray.d));
            let radiance = behind_portals.fold(radiance, |sum, radiance| sum + radiance);
            self.samples.add(path.sample, path.throughput * radiance);
            return;
        }
        let mut surface = scene.geometry.surface(&hit, ray.d);
        if path.sees_lights
            && let Some(light) =
                scene.geometry.light(&hit).and_then(|light| scene.lights.area(light))
        {
            let le = light.radiance(surface.ng, (surface.uv, hit.weights()), -ray.d);
            self.samples.add(path.sample, path.throughput * le);
        }
        let [mut lobe_u, u, v, _] = self.samples.sampler.get4(path.key, 2 * depth + 2);
        let material = resolve_mix(scene, &hit, ray.d, &mut lobe_u);
        if let Some(frame) = scene.bumped_frame(&hit, ray.d, &surface, material) {
            surface.frame = frame;
        }
        let feature_index =
            (!features.is_empty()).then(|| self.samples.add_features(path.sample, &hit, &surface));
        let wo = surface.frame.local_direction(-ray.d);
        let continues = depth < self.integrator.max_depth;
        let needs_shading = wo.z.abs() > GRAZING_COSINE && (continues || features.albedo);
        if !needs_shading {
            return;
        }
        let Material::Surface { specular, scattering, .. } = &scene.materials[material as usize]
        else {
            unreachable!("resolve_mix returns a surface material")
        };
        let vertex = PathVertex { hit: &hit, d: ray.d, surface: &surface, wo };
        let specular_probability = match (specular, scattering) {
            (Some(specular), Some(_)) => specular.sampling_probability(wo),
            (specular, _) => f32::from(u8::from(specular.is_some())),
        };
        let sampled_specular = specular.as_ref().filter(|_| lobe_u < specular_probability);
        if let Some(instance) = scattering.as_ref().filter(|_| continues) {
            if instance.dispersive_index().is_some() {
                // The shader does not use `lobe_u`.
                let (nm, colour) = PathWavelength { nm: path.nm, u: lobe_u }.select();
                (path.nm, path.throughput) = (Some(nm), path.throughput * colour);
            }
            let is_glossy = self.continues_at_lobe(&vertex, instance, &path, depth);
            let has_virtual_lights = !is_glossy && self.has_virtual_lights(&path, depth);
            self.add_reflected_light(&vertex, instance, &path, (depth, has_virtual_lights));
            if !is_glossy {
                self.compensate(&vertex, instance, &path, vec2(u, v), depth);
            } else if sampled_specular.is_none() {
                let probability = 1.0 - specular_probability;
                self.continue_at_lobe(&vertex, instance, &path, (probability, vec2(u, v)));
            }
        }
        let next = sampled_specular.and_then(|specular| {
            let wavelength = PathWavelength { nm: path.nm, u };
            let lookup = scene.lookup(&hit, ray.d, &surface, specular.needs());
            specular.sample(lobe_u / specular_probability, wavelength, wo, &lookup)
        });
        if let Some(feature_index) = feature_index.filter(|_| features.albedo) {
            let albedo = match scattering {
                Some(instance) if sampled_specular.is_none() => {
                    self.albedo(&vertex, instance, vec2(u, v)) / (1.0 - specular_probability)
                }
                _ => next.map_or(Vec3::ZERO, |next| next.weight * next.eta * next.eta),
            };
            *self.samples.albedo_mut(feature_index) = albedo;
        }
        if let Some(next) = next.filter(|_| continues) {
            let throughput = path.throughput * next.weight;
            // Paths with NaN continue, so that NaN shows up as an invalid sample.
            if throughput == Vec3::ZERO {
                return;
            }
            let d = surface.frame.to_world(next.wi);
            self.next_rays
                .push(Ray { time: ray.time, ..Ray::new(surface.offset_ray_origin(d), d) });
            let medium = medium_beyond(scene, &hit, d, path.medium);
            let next = Path { throughput, nm: next.nm, medium, sees_lights: true, ..path };
            self.next_paths.push(next);
        }
    }

    pub(super) fn has_soft_terminator(&self) -> bool {
        self.settings.integrator.shadow_terminator == ShadowTerminator::Soft
    }

    /// Estimates the albedo by the weight of a BSDF sample.
    fn albedo(&mut self, vertex: &PathVertex<'_>, instance: &ShaderInstance, u: Vec2) -> Vec3 {
        let needs = instance.needs();
        let sample =
            vertex.sample_direction(&mut self.shading, self.scene, (instance, None), needs, u);
        let binding = &self.scene.shaders[instance.shader as usize];
        let (_, wo) = vertex.mirrored(binding.program.sides == SurfaceSides::Both);
        let eta = eta_ratio(instance.eta, sample.wi, wo);
        if sample.pdf > 0.0 { sample.s / sample.pdf * eta * eta } else { Vec3::ZERO }
    }
}
