//! Ambient occlusion matches closed forms.

use crate::common::render_text;
use lightbound::film::RenderedImage;
use lightbound_pbrt::build::Overrides;

/// The floor below a disk of radius 1 at height 2, seen from between, whatever its material.
fn below_disk(params: &str) -> RenderedImage {
    let text = format!(
        r#"
        LookAt 0 0 1  0 0 0  0 1 0
        Camera "perspective" "float fov" 0.01
        Film "rgb" "integer xresolution" 16 "integer yresolution" 16
        Sampler "zsobol" "integer pixelsamples" 256
        Integrator "ambientocclusion" {params}
        WorldBegin
        Material "dielectric"
        Shape "disk" "float radius" 100
        Shape "disk" "float height" 2
        "#
    );
    render_text(&text, &Overrides::default(), 2)
}

fn mean(image: &RenderedImage) -> f64 {
    let sum: f64 = image.radiance.iter().map(|pixel| f64::from(pixel[1])).sum();
    assert!(image.radiance.iter().all(|[r, g, b]| r == g && g == b));
    sum / image.radiance.len() as f64
}

#[test]
fn disk_occludes_its_projected_solid_angle() {
    // The form factor is R²/(R² + h²).
    for params in ["", r#""bool cossample" true"#, r#""bool cossample" false"#] {
        let mean = mean(&below_disk(params));
        assert!((mean - 0.8).abs() < 2e-3, "{params}: {mean}");
    }
}

#[test]
fn surfaces_beyond_the_maximum_distance_do_not_occlude() {
    assert_eq!(mean(&below_disk(r#""float maxdistance" 1.99"#)), 1.0);
    // Within this distance, the part of the disk with a radius of 1/2 occludes.
    let distance = (4.0f64 + 0.25).sqrt();
    let mean = mean(&below_disk(&format!(r#""float maxdistance" {distance}"#)));
    assert!((mean - (1.0 - 0.25 / 4.25)).abs() < 2e-3, "{mean}");
}

#[test]
fn lamps_move_like_other_surfaces() {
    // Loading fails on any warning.
    let image = |emission: &str| {
        let text = format!(
            r#"
            LookAt 0 -6 2  0 0 0.6  0 0 1 Camera "perspective" "float fov" 36
            Film "rgb" "integer xresolution" 16 "integer yresolution" 16
            Integrator "ambientocclusion" WorldBegin
            Shape "disk" "float radius" 9
            ActiveTransform EndTime Translate 1.5 0 0 ActiveTransform All
            {emission} Shape "sphere" "float radius" 0.5
            "#
        );
        render_text(&text, &Overrides { spp: Some(16), ..Overrides::default() }, 2).radiance
    };
    assert_eq!(image(r#"AreaLightSource "diffuse" LightSource "point""#), image(""));
}

#[test]
fn misses_are_black_and_features_are_recorded() {
    let image = below_disk("");
    let features = image.features.expect("the test records features");
    assert!(features.albedo.iter().all(|albedo| *albedo == [1.0; 3]));
    assert!(features.normal.iter().all(|normal| *normal == [0.0, 0.0, 1.0]));
    assert!(features.depth.iter().all(|depth| (depth - 1.0).abs() < 1e-5));
    let text = r#"Integrator "ambientocclusion" WorldBegin LightSource "infinite""#;
    let sky = render_text(
        &format!(r#"Film "rgb" "integer xresolution" 4 "integer yresolution" 4 {text}"#),
        &Overrides::default(),
        1,
    );
    assert!(sky.radiance.iter().all(|pixel| *pixel == [0.0; 3]));
}
