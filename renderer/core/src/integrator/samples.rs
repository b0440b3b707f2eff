//! The pixel samples of a tile: radiance with its components, filter weight and denoiser features.

use super::sample_components::SampleComponents;
use crate::camera::CameraRay;
use crate::film::{FeatureLayers, Features, Sums, Tile};
use crate::geometry::{Hit, Surface};
use crate::scene::Scene;
use crate::settings::{FeatureSpace, RenderSettings};
use glam::Mat3;
use lightbound_math::sampling::{PathKey, Sampler};
use lightbound_math::{COLUMN_LEN, Columns, Ray, Vec2, Vec3, vec2};
use std::ops::Range;

/// Set of four sampler dimensions of the camera ray. Each scattering event uses two later sets.
const CAMERA_SET: u32 = 0;

/// Set of sampler dimensions of the time, beyond those of any scattering event.
const TIME_SET: u32 = u32::MAX;

/// A sample of a pixel.
pub(super) struct Sample {
    pub x: u32,
    pub y: u32,
    /// Index among the samples of the pixel.
    pixel_sample: u32,
    /// Filter weight.
    pub weight: f32,
    /// [`CameraRay::weight`]; 0 for samples without a path.
    ray_weight: f32,
    /// Radiance, W·sr⁻¹·m⁻².
    radiance: Vec3,
}

/// The samples of a tile. Buffers are reused from tile to tile.
pub(super) struct TileSamples<'a> {
    scene: &'a Scene,
    settings: &'a RenderSettings,
    pub sampler: Sampler,
    /// Width and height of a pixel in pixels of the full image.
    pub pixel_size: Vec2,
    samples: Vec<Sample>,
    /// The components of the samples' radiance; `None` if the film stores none.
    components: Option<SampleComponents>,
    feature_layers: FeatureLayers,
    /// Denoiser features of camera rays, with the index of the sample.
    features: Vec<(u32, Features)>,
}

impl<'a> TileSamples<'a> {
    pub fn new(scene: &'a Scene, settings: &'a RenderSettings) -> TileSamples<'a> {
        TileSamples {
            scene,
            settings,
            sampler: Sampler::new(settings.sampling.kind, settings.sampling.seed),
            pixel_size: Vec2::ONE,
            samples: Vec::new(),
            components: None,
            feature_layers: FeatureLayers::NONE,
            features: Vec::new(),
        }
    }

    /// Starts the samples with indices `pixel_samples` of each pixel of a tile. Calls `add_path`
    /// with the camera ray, the sample's index in this buffer, and the path key. Samples of a pixel
    /// are adjacent, so that their rays are coherent.
    pub fn start(
        &mut self,
        pixel_samples: &Range<u32>,
        tile: &Tile,
        mut add_path: impl FnMut(Ray, u32, PathKey),
    ) {
        self.samples.clear();
        self.feature_layers = tile.features();
        for (x, y) in tile.window().pixels() {
            self.samples.extend(pixel_samples.clone().map(|pixel_sample| Sample {
                x,
                y,
                pixel_sample,
                weight: 0.0,
                ray_weight: 0.0,
                radiance: Vec3::ZERO,
            }));
        }
        self.components = SampleComponents::new(tile.components(), self.samples.len());
        let (mut keys, mut u) = ([PathKey::default(); COLUMN_LEN], Columns::ZERO);
        // Without motion, the time does not matter.
        let (moves, mut time) = (self.scene.moves(), Columns::ZERO);
        let mut index = 0;
        for samples in self.samples.chunks_mut(COLUMN_LEN) {
            for (key, s) in keys.iter_mut().zip(&*samples) {
                *key = self.sampler.path_key(s.x, s.y, s.pixel_sample);
            }
            self.sampler.get4_columns(&keys, CAMERA_SET, &mut u);
            if moves {
                self.sampler.get4_columns(&keys, TIME_SET, &mut time);
            }
            for (lane, s) in samples.iter_mut().enumerate() {
                let [u0, u1, lens_u, lens_v] = u.get(lane);
                let (offset, weight) = self.settings.filter.sample(vec2(u0, u1));
                let raster = vec2(s.x as f32 + 0.5, s.y as f32 + 0.5) + offset;
                let raster = raster * self.pixel_size;
                let time = self.scene.camera.time(time.0[0][lane]);
                let camera_ray = self.scene.camera.ray(raster, vec2(lens_u, lens_v), time);
                s.weight = weight;
                // Samples without a path stay black.
                if let Some(CameraRay { ray, weight }) = camera_ray {
                    s.ray_weight = weight;
                    add_path(ray, index, keys[lane]);
                }
                index += 1;
            }
        }
    }

    /// Adds radiance to a sample.
    #[inline]
    pub fn add(&mut self, sample: u32, radiance: Vec3) {
        self.samples[sample as usize].radiance += radiance;
    }

    /// Returns the components of the samples' radiance, if the film stores any. Whoever adds
    /// radiance also adds it to them.
    #[inline]
    pub fn components_mut(&mut self) -> Option<&mut SampleComponents> {
        self.components.as_mut()
    }

    /// Returns whether the film stores components of the radiance.
    #[inline]
    pub fn stores_components(&self) -> bool {
        self.components.is_some()
    }

    /// Returns whether the film stores components by the lobe of the first scattering event.
    pub fn stores_lobes(&self) -> bool {
        self.components.as_ref().is_some_and(SampleComponents::has_lobes)
    }

    /// Returns the number of samples.
    pub fn len(&self) -> u32 {
        self.samples.len() as u32
    }

    /// Returns the radiance of a sample so far.
    pub fn radiance(&self, sample: u32) -> Vec3 {
        self.samples[sample as usize].radiance
    }

    /// Returns the factor on the radiance of a sample: filter weight times weight of the camera ray.
    pub fn weight(&self, sample: u32) -> f32 {
        let sample = &self.samples[sample as usize];
        sample.weight * sample.ray_weight
    }

    /// Returns the key of a group of `size` consecutive samples of a pixel, given by one of them. It
    /// counts the groups of the pixel.
    pub fn group_key(&self, sample: u32, size: u32) -> PathKey {
        let &Sample { x, y, pixel_sample, .. } = &self.samples[sample as usize];
        self.sampler.path_key(x, y, pixel_sample / size)
    }

    /// Adds the denoiser features of a sample's first hit, without the albedo. Returns their index
    /// for [`TileSamples::albedo_mut`].
    pub fn add_features(&mut self, sample: u32, hit: &Hit, surface: &Surface) -> u32 {
        let (scene, layers) = (self.scene, self.feature_layers);
        let motion = if layers.motion && scene.moves() {
            let times = scene.camera.shutter();
            scene.camera.displacement(scene.geometry.positions_at(hit, surface.p, times))
        } else {
            Vec2::ZERO
        };
        let depth_gradient = if layers.depth_gradient {
            scene.camera.depth_gradient(surface.p, surface.ng)
        } else {
            Vec2::ZERO
        };
        let (normal, geometric_normal, position) = match self.settings.feature_space {
            FeatureSpace::World => {
                (surface.frame.n, surface.ng, surface.p.as_dvec3() + scene.geometry.origin)
            }
            FeatureSpace::Camera => {
                let to_camera = scene.camera.camera_from_render(hit.time);
                let normal = |n: Vec3| to_camera.normal(n).normalize();
                let p = to_camera.point(surface.p).as_dvec3();
                (normal(surface.frame.n), normal(surface.ng), p)
            }
        };
        let features = Features {
            albedo: Vec3::ZERO,
            normal,
            position,
            depth: scene.camera.depth(surface.p, hit.time),
            geometric_normal,
            uv: surface.uv,
            motion,
            depth_gradient,
            material: scene.geometry.primitives[hit.primitive as usize].material + 1,
            object: scene.geometry.object_id(hit) + 1,
        };
        self.features.push((sample, features));
        self.features.len() as u32 - 1
    }

    /// Returns the albedo of the features at an index.
    pub fn albedo_mut(&mut self, index: u32) -> &mut Vec3 {
        &mut self.features[index as usize].1.albedo
    }

    /// Iterates over all samples.
    pub fn iter(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter()
    }

    /// Adds all samples to the sums of the tile, in the colour space of the image. Radiance is
    /// multiplied by `factor(pixel_sample, filter weight)`.
    pub fn add_to(&mut self, sums: &mut Sums, factor: impl Fn(u32, f32) -> f32) {
        let colour_space = self.settings.colour_space;
        let reflectance = colour_space.reflectance_from_srgb();
        let light = match (colour_space.light_from_srgb(), self.settings.white_balance) {
            (Some(a), Some(b)) => Some(a * b),
            (a, b) => a.or(b),
        };
        for (index, mut features) in self.features.drain(..) {
            features.albedo = converted(reflectance, features.albedo);
            let s = &self.samples[index as usize];
            sums.add_features(s.x, s.y, s.pixel_sample, s.weight, &features);
        }
        for (index, s) in self.samples.iter().enumerate() {
            let factor = s.ray_weight * factor(s.pixel_sample, s.weight);
            let weighted = |radiance: Vec3| converted(light, radiance * factor);
            let radiance = weighted(s.radiance);
            match &mut self.components {
                None => sums.add_radiance(s.x, s.y, s.pixel_sample, radiance),
                Some(components) => {
                    let values = components.values(index, weighted);
                    sums.add_with_components(s.x, s.y, s.pixel_sample, radiance, Some(&values));
                }
            }
        }
    }
}

/// Applies the matrix of a colour space, if there is one.
fn converted(matrix: Option<Mat3>, rgb: Vec3) -> Vec3 {
    matrix.map_or(rgb, |matrix| matrix * rgb)
}
