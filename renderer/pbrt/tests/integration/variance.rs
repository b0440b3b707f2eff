//! Estimated variances of images match the actual differences between seeds.

use crate::common::{load_scene, render};
use lightbound::film::relative_noise;
use lightbound_pbrt::build::Overrides;

/// A floor and a sphere under a large area light and an environment light. All pixels are noisy, in
/// smooth regions and at edges, but few samples are outliers.
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
AreaLightSource "diffuse" "rgb L" [3 2.6 2.2]
Translate 1 -1 3
Shape "sphere" "float radius" 1
AttributeEnd
Material "diffuse" "rgb reflectance" [0.5 0.6 0.7]
Shape "trianglemesh" "integer indices" [0 1 2 0 2 3] "point3 P" [-9 -9 0  9 -9 0  9 9 0  -9 9 0]
Translate -1 0 0.7
Shape "sphere" "float radius" 0.7
"#
    )
}

/// Returns the sum of squared differences between two seeds, divided by the sum of their estimated
/// variances; 1 if the estimates are exact.
fn variance_ratio(sampler: &str) -> f64 {
    let image = |seed| {
        render(
            &load_scene(
                &scene(sampler),
                &[],
                &Overrides { seed: Some(seed), ..Overrides::default() },
            ),
            2,
        )
    };
    let (a, b) = (image(1), image(2));
    let [va, vb] = [&a, &b].map(|p| p.variance.as_ref().unwrap().as_flattened());
    let (means, variances) =
        (a.radiance.as_flattened().iter().zip(b.radiance.as_flattened()), va.iter().zip(vb));
    let squares: f64 = means.map(|(a, b)| f64::from(a - b).powi(2)).sum();
    squares / variances.map(|(a, b)| f64::from(*a) + f64::from(*b)).sum::<f64>()
}

#[test]
fn estimated_variance_is_exact_for_independent_samples() {
    let ratio = variance_ratio("independent");
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
}

#[test]
fn estimated_relative_noise_matches_the_actual_error() {
    let image = |seed, sampler| {
        render(
            &load_scene(
                &scene(sampler),
                &[],
                &Overrides { seed: Some(seed), ..Overrides::default() },
            ),
            2,
        )
    };
    let (a, b) = (image(1, "independent"), image(2, "independent"));
    let term = |(a, b): (&f32, &f32)| {
        let (difference, mean) = (f64::from(a - b), 0.5 * f64::from(a + b));
        0.5 * difference * difference / (mean * mean + 0.01)
    };
    let terms: Vec<f64> =
        a.radiance.as_flattened().iter().zip(b.radiance.as_flattened()).map(term).collect();
    let error = (terms.iter().sum::<f64>() / terms.len() as f64).sqrt();
    let estimates = [&a, &b].map(relative_noise);
    // Slightly below 1: a bright outlier also raises the mean by which the variance of its pixel is
    // divided.
    assert!(
        estimates.iter().all(|estimate| (0.8..1.05).contains(&(estimate / error))),
        "{error} {estimates:?}"
    );
}

#[test]
fn estimated_variance_is_conservative_for_sobol_samples() {
    let ratio = variance_ratio("zsobol");
    assert!((0.01..0.8).contains(&ratio), "{ratio}");
}
