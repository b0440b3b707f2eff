//! Dispersion against a brute-force spectral reference: one image for each nm of visible light.

use crate::common::{TestScene, load_scene, render};
use lightbound::film::RenderedImage;
use lightbound::material::{DispersiveIndex, Material, Setting, ShaderInstance, Specular};
use lightbound_math::spectrum::{Spectrum, named, reflectance_rgb};
use lightbound_pbrt::build::Overrides;

const SIZE: u32 = 8;

/// A ball of dense flint glass before a white strip lamp, above a mirror. The light bounces in the
/// ball, reflects inside beyond the critical angle, and ends by Russian roulette. `roughness` is
/// that of the glass.
fn ball(integrator: &str, roughness: f32, spp: u32) -> TestScene {
    let text = format!(
        r#"Integrator {integrator} Sampler "independent" PixelFilter "box"
        LookAt 0 0 -4  0 0 0  0 1 0 Camera "perspective" "float fov" 32 WorldBegin
        LightSource "infinite" "rgb L" [0.1 0.1 0.1]
        AttributeBegin AreaLightSource "diffuse" "rgb L" [8 8 8] "bool twosided" true
        Material "diffuse" "rgb reflectance" [0 0 0]
        Shape "bilinearmesh" "point3 P" [-0.3 -3 3  0.4 -3 3  -0.3 3 3  0.4 3 3] AttributeEnd
        AttributeBegin Material "conductor" "rgb reflectance" [0.8 0.8 0.8]
        Shape "bilinearmesh" "point3 P" [-9 -1.5 -9  9 -1.5 -9  -9 -1.5 9  9 -1.5 9] AttributeEnd
        Material "dielectric" "spectrum eta" "glass-F11" "float roughness" {roughness}
        Shape "sphere""#
    );
    let overrides =
        Overrides { resolution: Some((SIZE, SIZE)), spp: Some(spp), ..Overrides::default() };
    load_scene(&text, &[], &overrides)
}

/// Returns the index of the material that disperses.
fn glass(scene: &TestScene) -> usize {
    let disperses = |material: &Material| match material {
        Material::Surface { specular: Some(Specular::Dispersive { .. }), .. } => true,
        Material::Surface { scattering: Some(shader), .. } => shader.dispersive_index().is_some(),
        _ => false,
    };
    scene.materials.iter().position(disperses).expect("the ball disperses")
}

/// Returns the material `glass` with the index `eta` at all wavelengths.
fn plain(scene: &TestScene, glass: usize, roughness: f32, eta: f32) -> Material {
    let Material::Surface { scattering: Some(shader), .. } = &scene.materials[glass] else {
        return Material::specular(Specular::Dielectric { eta });
    };
    let settings = scene.shaders[shader.shader as usize].program.settable.iter().map(|parameter| {
        let value = if parameter.name == "eta" { eta } else { roughness.sqrt() };
        (parameter, Setting::Constant(vec![value.into()]))
    });
    let mut instance = ShaderInstance::new(shader.shader, settings);
    instance.eta = eta;
    Material::scattering(instance)
}

/// Mean and variance of each pixel and channel.
#[derive(Clone)]
struct Pixels {
    means: Vec<f64>,
    variances: Vec<f64>,
}

impl Pixels {
    fn of(image: &RenderedImage) -> Pixels {
        assert_eq!(image.invalid_samples, 0);
        let flat = |all: &[[f32; 3]]| all.as_flattened().iter().map(|&x| f64::from(x)).collect();
        Pixels { means: flat(&image.radiance), variances: flat(image.variance.as_ref().unwrap()) }
    }

    /// Returns the number of values that differ by more than 4.5 standard errors, and the mean
    /// square of all differences in standard errors, which is about 1 without a bias.
    fn differences(&self, other: &Pixels) -> (usize, f64) {
        let z = (0..self.means.len()).map(|i| {
            let error = (self.variances[i] + other.variances[i]).sqrt();
            (self.means[i] - other.means[i]) / error.max(1e-4)
        });
        let z: Vec<f64> = z.collect();
        let outliers = z.iter().filter(|z| z.abs() > 4.5).count();
        (outliers, z.iter().map(|z| z * z).sum::<f64>() / z.len() as f64)
    }
}

/// Renders each wavelength with its own index, and sums the images by their colour under D65.
fn reference(integrator: &str, roughness: f32, spp: u32) -> Pixels {
    let mut scene = ball(integrator, roughness, spp);
    let glass = glass(&scene);
    let index = DispersiveIndex::new(&named("glass-F11").unwrap()).unwrap();
    let n = (3 * SIZE * SIZE) as usize;
    let mut sum = Pixels { means: vec![0.0; n], variances: vec![0.0; n] };
    for nm in 380..=780 {
        let x = nm as f32;
        scene.materials[glass] = plain(&scene, glass, roughness, index.at(x));
        scene.settings.sampling.seed = nm;
        let image = Pixels::of(&render(&scene, 2));
        // The colour of 1 nm, by its difference to white; negative channels would be cut off.
        let spike = [360.0, 1.0, x - 1.0, 1.0, x, 2.0, x + 1.0, 1.0, 830.0, 1.0];
        let weight = reflectance_rgb(&Spectrum::new(&spike).unwrap()) - 1.0;
        for i in 0..n {
            let w = f64::from(weight[i % 3]);
            sum.means[i] += w * image.means[i];
            sum.variances[i] += w * w * image.variances[i];
        }
    }
    sum
}

fn check(integrator: &str, roughness: f32, spp: u32) {
    let mut scene = ball(integrator, roughness, spp);
    let (dispersed, reference) =
        (Pixels::of(&render(&scene, 2)), reference(integrator, roughness, 16));
    let (outliers, mean_square) = dispersed.differences(&reference);
    assert!(outliers == 0 && (0.7..1.4).contains(&mean_square), "{outliers} {mean_square}");
    // Without dispersion, the image differs: the test is sharp enough.
    let glass = glass(&scene);
    scene.materials[glass] = plain(&scene, glass, roughness, 1.785);
    let (outliers, mean_square) = Pixels::of(&render(&scene, 2)).differences(&reference);
    assert!(outliers >= 3 && mean_square > 1.5, "{outliers} {mean_square}");
    // Colours arise from white light.
    let chroma = dispersed.means.chunks(3).map(|p| (p[0] - p[2]).abs() / p[1].abs().max(0.05));
    assert!(chroma.fold(0.0, f64::max) > 0.1);
}

#[test]
fn paths_match_the_spectral_reference() {
    check(r#""path" "integer maxdepth" 12"#, 0.0, 4096);
}

#[test]
fn paths_through_rough_glass_match_the_spectral_reference() {
    check(r#""path" "integer maxdepth" 12"#, 0.0005, 8192);
}

#[test]
fn lightcuts_match_the_spectral_reference() {
    check(r#""lightcuts" "integer maxdepth" 6"#, 0.0, 4096);
}

#[test]
fn rough_glass_with_indices_near_1_transmits_all_wavelengths() {
    let load = |eta: &str, roughness: f32| {
        let text = format!(
            r#"Integrator "path" Sampler "independent" PixelFilter "box"
            LookAt 0 0 -4  0 0 0  0 1 0 Camera "perspective" "float fov" 20 WorldBegin
            LightSource "infinite"
            Material "dielectric" {eta} "float roughness" {roughness} Shape "sphere""#
        );
        let overrides =
            Overrides { resolution: Some((SIZE, SIZE)), spp: Some(256), ..Overrides::default() };
        load_scene(&text, &[], &overrides)
    };
    let mean = |eta: &str| {
        let means = Pixels::of(&render(&load(eta, 0.01), 2)).means;
        means.iter().sum::<f64>() / means.len() as f64
    };
    let expected = mean(r#""float eta" 1.0003"#);
    // Each is within 1e-4 of 1 at some wavelengths.
    for eta in ["[360 1.0003 550 1.00001 830 1.0003]", "[360 1.0004 830 0.9996]"] {
        let mean = mean(&format!("\"spectrum eta\" {eta}"));
        assert!((mean / expected - 1.0).abs() < 0.02, "{eta}: {mean} {expected}");
    }
    // If the index is near 1 at all wavelengths, the glass is smooth.
    let scene = load(r#""spectrum eta" [360 1.00009 830 0.99991]"#, 0.3);
    let is_smooth = |material: &Material| {
        matches!(material, Material::Surface { specular: Some(Specular::Dispersive { .. }), .. })
    };
    assert!(scene.materials.iter().any(is_smooth));
}

/// The dispersive index of glass with an RGB index is that of its spectrum.
#[test]
fn rgb_indices_are_spectra() {
    let specular = |rgb: &str| {
        let text = format!("WorldBegin Material \"dielectric\" \"rgb eta\" {rgb} Shape \"sphere\"");
        let scene = load_scene(&text, &[], &Overrides::default());
        scene.materials.iter().find_map(|material| match material {
            Material::Surface { specular, .. } => specular.clone(),
            _ => None,
        })
    };
    let Some(Specular::Dielectric { eta: 1.25 }) = specular("[1.25 1.25 1.25]") else {
        panic!("equal components are a constant index");
    };
    let Some(Specular::Dispersive { eta }) = specular("[1.5 1.6 1.75]") else {
        panic!("the index depends on the wavelength");
    };
    let indices = [464.0, 549.0, 580.0, 611.0, 700.0].map(|nm| eta.at(nm));
    assert_eq!(indices, [1.75, 1.6, 1.55, 1.5, 1.5]);
}
