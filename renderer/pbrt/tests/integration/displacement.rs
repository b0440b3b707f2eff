//! Displaced PLY meshes.

use crate::common::{load_scene, pfm, render};
use lightbound_pbrt::build::Overrides;

/// A square from (−1, −1) to (1, 1), as a quadrilateral.
const SQUARE: &str = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\n\
                      property float z\nproperty float u\nproperty float v\nelement face 1\n\
                      property list uchar int vertex_indices\nend_header\n-1 -1 0 0 0\n1 -1 0 1 0\n\
                      1 1 0 1 1\n-1 1 0 0 1\n4 0 1 2 3\n";

/// Loads a displaced square, seen from above at height 5.
fn square(head: &str, transform: &str, params: &str) -> crate::common::TestScene {
    let text = format!(
        r#"
        LookAt 0 0 5  0 0 0  0 1 0
        Camera "orthographic" "float screenwindow" [-0.9 0.9 -0.9 0.9]
        Film "rgb" "integer xresolution" 16 "integer yresolution" 16
        PixelFilter "box" "float xradius" 0.5 "float yradius" 0.5
        Sampler "zsobol" "integer pixelsamples" 16
        {head}
        WorldBegin
        LightSource "infinite"
        Texture "ramp" "float" "imagemap" "string filename" "ramp.pfm" "string encoding" "linear"
          "string wrap" "clamp"
        Texture "one" "float" "constant" "float value" 1
        {transform}
        Shape "plymesh" "string filename" "square.ply" {params}
        "#
    );
    let ramp = pfm(64, |x, _| [(x as f32 + 0.5) / 64.0; 3]);
    let files = [("square.ply", SQUARE.into()), ("ramp.pfm", ramp)];
    load_scene(&text, &files, &Overrides::default())
}

#[test]
fn heights_come_from_the_texture() {
    let scene = square("", "", r#""texture displacement" "ramp" "float edgelength" 0.05"#);
    let features = render(&scene, 1).features.unwrap();
    let normal = [-0.5f32, 0.0, 1.0].map(|x| x / 1.25f32.sqrt());
    for (p, n) in features.position.iter().zip(&features.normal) {
        // u = (x + 1)/2 is the height.
        assert!((p[2] - 0.5 * (p[0] + 1.0)).abs() < 0.01, "{p:?}");
        assert!((0..3).all(|k| (n[k] - normal[k]).abs() < 0.03), "{n:?}");
    }
}

#[test]
fn edge_lengths_are_in_render_space_and_scaled_by_an_option() {
    let count = |head: &str, transform: &str, length: f32| {
        let params = format!(r#""texture displacement" "one" "float edgelength" {length}"#);
        square(head, transform, &params).scene.geometry.triangle_count()
    };
    let coarse = count("", "", 2.9);
    assert_eq!(coarse, 2);
    let fine = count("", "", 0.29);
    assert!(fine >= 2 * 100, "{fine}");
    assert_eq!(fine, count("", "Scale 10 10 10", 2.9));
    assert_eq!(fine, count(r#"Option "displacementedgescale" 0.1"#, "", 2.9));
}

#[test]
fn displacement_is_along_the_normal_of_the_shape() {
    for (transform, height) in [("", 1.0), ("Scale 1 1 2", 2.0), ("Translate 0 0 1", 2.0)] {
        let params = r#""float displacement" 1 "float edgelength" 9"#;
        let features = render(&square("", transform, params), 1).features.unwrap();
        assert!(features.position.iter().all(|p| (p[2] - height).abs() < 1e-5), "{transform}");
    }
}
