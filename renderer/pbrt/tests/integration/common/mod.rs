//! Loads and renders scenes, and compares images with estimates of known error.

pub mod bsdf;

use bsdf::Bsdf;
use lightbound::film::{FeatureLayers, FilmOptions, RenderedImage};
use lightbound::integrator;
use lightbound::render::{RenderOptions, Rendering, render_with};
use lightbound::{RenderSettings, Scene};
use lightbound_image::write::{write_pfm, write_png};
use lightbound_math::sampling::{Sampler, SamplerKind};
use lightbound_math::{Ray, Vec2, Vec3, vec2};
use lightbound_pbrt::build::{LoadedScene, Overrides, load};
use lightbound_pbrt::diagnostics::Diagnostics;
use std::path::Path;

/// A two-sided shader without `sample`, with spatially varying parameters and a texture lookup in
/// `brdf`.
pub const WEAVE: &str = "//! sides: both
struct Material {
    /// range: [0, 1], default: 0.6
    kd: vec3f,
    /// range: [1, 200], default: 30
    exponent: f32,
}
var grain: texture_2d<f32>;
var smoothly: sampler;
fn material(p: SurfacePoint, m: Material) -> Material {
    return Material(m.kd * (0.5 + 0.5 * sin(9.0 * p.uv.x)), m.exponent * (1.0 + p.uv.y));
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let through = wi.z * wo.z < 0.0;
    let peak = max(dot(wi, vec3f(-wo.xy, select(wo.z, -wo.z, through))), 0.0);
    let lobe = 0.2 * m.exponent * pow(peak, m.exponent);
    return (0.3 * m.kd + select(1.0, 0.5, through) * lobe * textureSample(grain, smoothly, wi.xy).rgb) / 3.14159265;
}
";

/// A scene with its settings. Dereferences to the scene.
pub struct TestScene {
    pub scene: Scene,
    pub settings: RenderSettings,
}

impl std::ops::Deref for TestScene {
    type Target = Scene;

    fn deref(&self) -> &Scene {
        &self.scene
    }
}

impl std::ops::DerefMut for TestScene {
    fn deref_mut(&mut self) -> &mut Scene {
        &mut self.scene
    }
}

impl From<LoadedScene> for TestScene {
    fn from(LoadedScene { scene, settings, .. }: LoadedScene) -> TestScene {
        TestScene { scene, settings }
    }
}

/// Loads and renders a scene. Warnings are errors.
pub fn render_text(text: &str, overrides: &Overrides, threads: usize) -> RenderedImage {
    render(&load_scene(text, &[], overrides), threads)
}

/// Renders a scene with its settings.
pub fn render(scene: &TestScene, threads: usize) -> RenderedImage {
    render_with_stats(scene, threads).image
}

/// [`render`] that also returns statistics.
pub fn render_with_stats(TestScene { scene, settings }: &TestScene, threads: usize) -> Rendering {
    let integrator = integrator::new(scene, settings).unwrap_or_else(|e| panic!("{e:?}"));
    let film = FilmOptions {
        features: FeatureLayers::ALL,
        moments: true,
        channels: integrator.film_channels(),
        ..FilmOptions::default()
    };
    let options = RenderOptions { threads, film, ..RenderOptions::default() };
    render_with(scene, settings, &*integrator, &options)
}

/// Writes a file of each type: a grey ramp `good.png` and `good.pfm`, a map of latitude and
/// longitude `globe.pfm`, a normal map `normals.pfm`, an image
/// with one channel `height.pfm`, images with odd values `bright.pfm`, `negative.pfm` and `odd.pfm`, a
/// shader with a texture `lamp.wgsl`, a field `ball.wgsl`, a displacement `bumps.wgsl`, two that
/// cannot be used, `flat.wgsl` and `sorted.wgsl`, a triangle `good.ply`, and the index of
/// refraction of a glass `good.spd`.
pub fn write_test_files(folder: &Path) {
    let grey = |n: usize| (0..n).map(|i| [i as f32 / n as f32; 3]).collect::<Vec<_>>();
    write_png(&folder.join("good.png"), 8, 8, &grey(64), 0.0).unwrap();
    write_pfm(&folder.join("good.pfm"), 4, 4, &grey(16)).unwrap();
    write_pfm(&folder.join("globe.pfm"), 8, 4, &grey(32)).unwrap();
    let normals = [[0.6, 0.5, 0.95], [0.4, 0.6, 0.9], [0.5, 0.5, 1.0], [0.5, 0.3, 0.9]];
    write_pfm(&folder.join("normals.pfm"), 2, 2, &normals).unwrap();
    let height = [b"Pf\n1 1\n-1.0\n".as_slice(), &0.5f32.to_le_bytes()].concat();
    std::fs::write(folder.join("height.pfm"), height).unwrap();
    for (name, values) in [
        ("bright.pfm", &[1.5, 3.0, 2.0][..]),
        ("negative.pfm", &[-0.25]),
        ("odd.pfm", &[f32::NAN, f32::INFINITY]),
    ] {
        let mut pixels = grey(16);
        pixels.iter_mut().zip(values).for_each(|(pixel, value)| pixel[1] = *value);
        write_pfm(&folder.join(name), 4, 4, &pixels).unwrap();
    }
    let shader = "@group(0) @binding(0) var map: texture_2d<f32>;\n\
                  @group(0) @binding(1) var map_sampler: sampler;\n\
                  fn brdf(wi: vec3f, wo: vec3f) -> vec3f { return vec3f(0.3); }\n";
    std::fs::write(folder.join("lamp.wgsl"), shader).unwrap();
    let field = "struct Params {\n    /// range: [0, 10], default: 1\n    radius: f32,\n}\n\
                 fn field(p: vec3f, m: Params) -> f32 { return length(p) - m.radius; }\n";
    std::fs::write(folder.join("ball.wgsl"), field).unwrap();
    let bumps = "struct Params {\n    /// range: [0, 10], default: 1\n    height: f32,\n}\n\
                 fn displace(uv: vec2f, p: vec3f, n: vec3f, m: Params) -> f32 {\n\
                 return m.height / (p.x + 2.0);\n}\n";
    std::fs::write(folder.join("bumps.wgsl"), bumps).unwrap();
    let flat = "fn displace(uv: vec2f, p: vec3f) -> f32 { return p.x; }\n";
    std::fs::write(folder.join("flat.wgsl"), flat).unwrap();
    let sorted = "fn displace(uv: vec2f, /** fact: sorted */ p: vec3f, n: vec3f) -> f32 {\n\
                  return p.x;\n}\n";
    std::fs::write(folder.join("sorted.wgsl"), sorted).unwrap();
    let ply = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
               element face 1\nproperty list uchar int vertex_indices\nend_header\n-1 -1 3\n1 -1 3\n0 1 3\n3 0 1 2\n";
    std::fs::write(folder.join("good.ply"), ply).unwrap();
    // A cemented achromatic doublet of 100 mm with a stop behind it.
    let lens = "# radius thickness eta diameter, mm\n62.8 6 1.5168 25\n-45.7 2.5 1.6727 25\n\
                -128.2 5 1 25\n0 90 0 20\n";
    std::fs::write(folder.join("doublet.dat"), lens).unwrap();
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/suite");
    std::fs::copy(suite.join("bronze.bsdf"), folder.join("bronze.bsdf")).unwrap();
    std::fs::write(folder.join("good.spd"), "# a glass\n300 1.6\n900 1.5\n").unwrap();
}

/// Loads a scene from text and writes the `files` that it uses. Warnings are errors.
pub fn load_scene(text: &str, files: &[(&str, Vec<u8>)], overrides: &Overrides) -> TestScene {
    let dir = tempfile::tempdir().unwrap();
    let main = dir.path().join("scene.pbrt");
    std::fs::write(&main, text).unwrap();
    for (name, bytes) in files {
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    let mut diagnostics = Diagnostics::new(true);
    load(&main, overrides, &mut diagnostics).unwrap_or_else(|e| panic!("{e:?}\n{text}")).into()
}

/// A mean and its standard error per channel.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub mean: [f64; 3],
    pub error: [f64; 3],
}

impl Estimate {
    /// Returns the mean of independent samples.
    pub fn from_samples(values: &[[f64; 3]]) -> Estimate {
        let n = values.len() as f64;
        let channel = |c: usize| {
            let mean = values.iter().map(|v| v[c]).sum::<f64>() / n;
            let variance = values.iter().map(|v| (v[c] - mean).powi(2)).sum::<f64>() / (n - 1.0);
            (mean, (variance / n).sqrt())
        };
        let all = [0, 1, 2].map(channel);
        Estimate { mean: all.map(|x| x.0), error: all.map(|x| x.1) }
    }

    /// Returns the mean of an image. All pixels must have the same expected value; they are
    /// independent, because each has its own random numbers.
    pub fn from_image(image: &RenderedImage) -> Estimate {
        assert_eq!(image.invalid_samples, 0);
        Estimate::from_samples(&image.radiance.iter().map(|p| p.map(f64::from)).collect::<Vec<_>>())
    }

    /// Returns a value without error.
    pub fn exact(value: Vec3) -> Estimate {
        Estimate { mean: value.to_array().map(f64::from), error: [0.0; 3] }
    }

    /// Checks that two estimates agree within `sigmas` standard errors (plus a relative 10⁻⁴ for
    /// rounding), and that the standard errors are small enough for a meaningful check.
    pub fn agrees(&self, other: &Estimate, sigmas: f64) -> Result<(), String> {
        for c in 0..3 {
            let (a, b) = (self.mean[c], other.mean[c]);
            let error = self.error[c].hypot(other.error[c]);
            if ![a, b, error].into_iter().all(f64::is_finite) {
                return Err(format!("channel {c}: {a} and {b} ± {error}"));
            }
            if (a - b).abs() > sigmas * error + 1e-4 * b.abs() {
                return Err(format!("channel {c}: {a:.5} and {b:.5} ± {error:.5}"));
            }
            if error > 0.03 * b.abs() + 1e-9 {
                return Err(format!("channel {c}: {a:.5} and {b:.5} ± {error:.5} is too noisy"));
            }
        }
        Ok(())
    }
}

/// Sums over a 4×4 grid of blocks of a square image, then over all pixels: per channel, with
/// variance.
pub struct BlockSums(Vec<[[f64; 2]; 3]>);

impl BlockSums {
    /// Computes the sums of an image.
    pub fn from_image(image: &RenderedImage) -> BlockSums {
        assert_eq!(image.invalid_samples, 0);
        let side = image.window.width() as usize;
        let variance = image.variance.as_ref().expect("the variance is recorded");
        let mut sums = vec![[[0.0; 2]; 3]; 17];
        for (pixel, (radiance, variance)) in image.radiance.iter().zip(variance).enumerate() {
            let block = 4 * (4 * (pixel / side) / side) + 4 * (pixel % side) / side;
            for sum in [block, 16] {
                for (sum, x) in sums[sum].iter_mut().zip(radiance.iter().zip(variance)) {
                    *sum = [sum[0] + f64::from(*x.0), sum[1] + f64::from(*x.1)];
                }
            }
        }
        BlockSums(sums)
    }

    /// Returns the mean of several sums.
    pub fn mean<'a>(all: impl Iterator<Item = &'a BlockSums> + Clone) -> BlockSums {
        let n = all.clone().count() as f64;
        let mean = |k: usize, c: usize| {
            all.clone()
                .fold([0.0; 2], |[x, v], s| [x + s.0[k][c][0] / n, v + s.0[k][c][1] / (n * n)])
        };
        BlockSums((0..17).map(|k| [0, 1, 2].map(|c| mean(k, c))).collect())
    }

    /// Asserts that the sums of two images agree within 5 standard deviations, and that the
    /// standard deviation of the total difference is less than the fraction `max_deviation` of the
    /// total.
    pub fn assert_same(&self, other: &BlockSums, max_deviation: f64, label: &str) {
        for (k, (a, b)) in self.0.iter().zip(&other.0).enumerate() {
            for ([x, variance_x], [y, variance_y]) in a.iter().zip(b) {
                let deviation = (variance_x + variance_y).sqrt();
                assert!(
                    (x - y).abs() <= 5.0 * deviation + 1e-4 * x,
                    "{label}: sums {x} and {y} of block {k} differ, deviation {deviation}"
                );
                assert!(
                    k < 16 || deviation < max_deviation * x,
                    "{label}: the test is too noisy: {deviation} of {x}"
                );
            }
        }
    }
}

/// [`BlockSums::assert_same`] for images.
pub fn assert_images_agree(a: &RenderedImage, b: &RenderedImage, max_deviation: f64, label: &str) {
    BlockSums::from_image(a).assert_same(&BlockSums::from_image(b), max_deviation, label);
}

/// Panics with a list of all errors, if any.
pub fn assert_all_ok(results: impl IntoIterator<Item = (String, Result<(), String>)>) {
    let errors: Vec<String> = results
        .into_iter()
        .filter_map(|(label, result)| result.err().map(|e| format!("{label}, {e}")))
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

/// Estimates the radiance at the centre of the image by path tracing without light sampling:
/// emitters contribute only when a path hits them. `depth` is the maximum number of scattering
/// events. Returns the mean of `batches` independent estimates of `samples` paths each.
pub fn brute_force(
    TestScene { scene, settings }: &TestScene,
    depth: u32,
    batches: u32,
    samples: u32,
) -> Estimate {
    let sampler = Sampler::new(SamplerKind::Sobol, 0x5eed);
    let (width, height) = settings.resolution;
    let centre = vec2(0.5 * width as f32, 0.5 * height as f32);
    let batch = |batch| {
        let mut sum = [0.0; 3];
        for i in 0..samples {
            let key = sampler.path_key(batch, 0, i);
            let random = |set| sampler.get4(key, set);
            let radiance = trace_path(
                scene,
                scene.camera.ray(centre, vec2(0.5, 0.5), 0.0).unwrap().ray,
                depth,
                random,
            );
            for (sum, x) in sum.iter_mut().zip(radiance.to_array()) {
                *sum += f64::from(x) / f64::from(samples);
            }
        }
        sum
    };
    Estimate::from_samples(&(0..batches).map(batch).collect::<Vec<_>>())
}

/// Traces one path of [`brute_force`].
fn trace_path(scene: &Scene, mut ray: Ray, depth: u32, random: impl Fn(u32) -> [f32; 4]) -> Vec3 {
    let (mut radiance, mut throughput) = (Vec3::ZERO, Vec3::ONE);
    for event in 0..=depth {
        let hit = scene.accel.intersect(&ray);
        if hit.is_miss() {
            radiance += throughput
                * scene.lights.environments().map(|(_, e)| e.radiance(ray.d)).sum::<Vec3>();
            break;
        }
        let primitive = &scene.geometry.primitives[hit.primitive as usize];
        let mut surface = scene.geometry.surface(&hit, ray.d);
        if let Some(frame) = scene.bumped_frame(&hit, ray.d, &surface, primitive.material) {
            surface.frame = frame;
        }
        if let Some(light) =
            primitive.first_light.and_then(|first| scene.lights.area(first + hit.element))
        {
            radiance +=
                throughput * light.radiance(surface.ng, (surface.uv, hit.weights()), -ray.d);
        }
        if event == depth {
            break;
        }
        let bsdf = Bsdf::new(scene, &hit, &surface);
        let Some(s) = bsdf.sample(random(event), surface.frame.local_direction(-ray.d)) else {
            break;
        };
        throughput *= s.weight;
        let d = surface.frame.to_world(s.wi);
        ray = Ray::new(surface.offset_ray_origin(d), d);
    }
    radiance
}

/// Encodes a square image as PFM. Rows are numbered from the top.
pub fn pfm(size: usize, texel: impl Fn(usize, usize) -> [f32; 3]) -> Vec<u8> {
    let mut bytes = format!("PF\n{size} {size}\n-1.0\n").into_bytes();
    for y in (0..size).rev() {
        for x in 0..size {
            bytes.extend(texel(x, y).into_iter().flat_map(f32::to_le_bytes));
        }
    }
    bytes
}

/// Returns a scene in which all pixels show the radiance along the ray from `from` to `to`.
pub fn single_ray_scene(
    from: Vec3,
    to: Vec3,
    depth: u32,
    size: u32,
    spp: u32,
    world: &str,
) -> String {
    let up = if (to - from).truncate() == Vec2::ZERO { "0 1 0" } else { "0 0 1" };
    format!(
        "Sampler \"zsobol\" \"integer pixelsamples\" {spp}\nIntegrator \"path\" \"integer maxdepth\" {depth}\n\
         LookAt {} {} {}  {} {} {}  {up}\nCamera \"perspective\" \"float fov\" 0.02\n\
         Film \"rgb\" \"integer xresolution\" {size} \"integer yresolution\" {size}\n\
         PixelFilter \"box\" \"float xradius\" 0.5 \"float yradius\" 0.5\nWorldBegin\n{world}\n",
        from.x, from.y, from.z, to.x, to.y, to.z
    )
}

/// Returns a scene of a diffuse floor with a coated and a metal sphere. `settings` come before the
/// world, `objects` at its end.
pub fn floor_and_spheres(settings: &str, resolution: u32, lights: &str, objects: &str) -> String {
    format!(
        r#"
{settings}
LookAt 0 -6 3  0 0 0.5  0 0 1
Camera "perspective" "float fov" 40
Film "rgb" "integer xresolution" {resolution} "integer yresolution" {resolution}
PixelFilter "box"
WorldBegin
{lights}
Material "diffuse" "rgb reflectance" [0.5 0.6 0.7]
Shape "trianglemesh" "integer indices" [0 1 2 0 2 3] "point3 P" [-9 -9 0  9 -9 0  9 9 0  -9 9 0]
Material "coateddiffuse" "rgb reflectance" [0.6 0.3 0.2] "float roughness" 0.3
AttributeBegin Translate -1.4 0 0.7 Shape "sphere" "float radius" 0.7 AttributeEnd
Material "conductor" "float roughness" 0.2
AttributeBegin Translate 1.4 0 0.7 Shape "sphere" "float radius" 0.7 AttributeEnd
{objects}"#
    )
}
