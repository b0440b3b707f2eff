//! The estimated variance of pictures against the actual difference between seeds.

mod common;

use common::{draw, overrides, scene_of};
use lightbound::film::relative_noise;
use lightbound_pbrt::build::Overrides;

/// A floor under a sphere and an environment light: every pixel is noisy, at smooth regions and edges.
fn scene(sampler: &str) -> String {
    format!(
        r#"
Sampler "{sampler}" "integer pixelsamples" 16
Integrator "path" "integer maxdepth" 3
LookAt 0 -6 3  0 0 0.5  0 0 1
Camera "perspective" "float fov" 40
Film "rgb" "integer xresolution" 48 "integer yresolution" 48
WorldBegin
LightSource "infinite" "rgb L" [0.3 0.4 0.5]
AttributeBegin
AreaLightSource "diffuse" "rgb L" [8 7 6]
Translate 1 -1 3
Shape "sphere" "float radius" 0.3
AttributeEnd
Material "diffuse" "rgb reflectance" [0.5 0.6 0.7]
Shape "trianglemesh" "integer indices" [0 1 2 0 2 3] "point3 P" [-9 -9 0  9 -9 0  9 9 0  -9 9 0]
Translate -1 0 0.7
Shape "sphere" "float radius" 0.7
"#
    )
}

/// Ratio of the squared differences of two seeds to their estimated variances, over all pixels; 1 if
/// the estimates are exact.
fn ratio(sampler: &str) -> f64 {
    let picture = |seed| {
        draw(&scene_of(&scene(sampler), &[], &Overrides { seed: Some(seed), ..overrides() }), 2)
    };
    let (a, b) = (picture(1), picture(2));
    let [va, vb] = [&a, &b].map(|p| p.variance.as_ref().unwrap().as_flattened());
    let (means, variances) =
        (a.radiance.as_flattened().iter().zip(b.radiance.as_flattened()), va.iter().zip(vb));
    let squares: f64 = means.map(|(a, b)| f64::from(a - b).powi(2)).sum();
    squares / variances.map(|(a, b)| f64::from(*a) + f64::from(*b)).sum::<f64>()
}

#[test]
fn estimated_variance_is_exact_for_independent_samples() {
    let ratio = ratio("independent");
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
}

#[test]
fn estimated_relative_noise_matches_the_actual_error() {
    let picture = |seed, sampler| {
        draw(&scene_of(&scene(sampler), &[], &Overrides { seed: Some(seed), ..overrides() }), 2)
    };
    let (a, b) = (picture(1, "independent"), picture(2, "independent"));
    let term = |(a, b): (&f32, &f32)| {
        let (difference, mean) = (f64::from(a - b), 0.5 * f64::from(a + b));
        0.5 * difference * difference / (mean * mean + 0.01)
    };
    let values: Vec<f64> =
        a.radiance.as_flattened().iter().zip(b.radiance.as_flattened()).map(term).collect();
    let error = (values.iter().sum::<f64>() / values.len() as f64).sqrt();
    let estimates = [&a, &b].map(relative_noise);
    // A bright outlier also increases the mean that its pixel's variance is divided by.
    assert!(
        estimates.iter().all(|estimate| (0.8..1.05).contains(&(estimate / error))),
        "{error} {estimates:?}"
    );
}

#[test]
fn estimated_variance_is_conservative_for_sobol_points() {
    let ratio = ratio("zsobol");
    assert!((0.01..0.8).contains(&ratio), "{ratio}");
}
