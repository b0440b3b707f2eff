//! Scenes far from the origin: moving scene and camera together changes nothing visible.

use crate::common::{TestScene, load_scene, render};
use lightbound::film::RenderedImage;
use lightbound::light::Light;
use lightbound_image::compare::{Metric, Planes, compare};
use lightbound_math::{vec2, vec3};
use lightbound_pbrt::build::Overrides;

/// Returns the text of a scene: `camera` and `world` moved together by `offset` along x, y and z.
fn moved(offset: f64, camera: &str, world: &str) -> String {
    let [x, y, z] = [offset, -0.75 * offset, 0.5 * offset];
    // Rounding moves a few training samples to other cells of a guide, which changes all noise.
    format!(
        r#"Film "rgb" "integer xresolution" 48 "integer yresolution" 48
        Sampler "zsobol" "integer pixelsamples" 16
        Integrator "path" "string guiding" "off"
        {camera}
        Translate {} {} {}
        Camera "perspective" "float fov" 34
        WorldBegin
        Translate {x} {y} {z}
        {world}"#,
        -x, -y, -z
    )
}

fn load(text: &str) -> TestScene {
    load_scene(text, &[], &Overrides::default())
}

/// Returns relMSE of the radiance.
fn relative_error(image: &RenderedImage, reference: &RenderedImage) -> f64 {
    let planes = |image: &RenderedImage| {
        let channel = |c| image.radiance.iter().map(|rgb: &[f32; 3]| rgb[c]).collect();
        Planes::new(48, 48, [0, 1, 2].map(channel).into())
    };
    let comparison = compare(&planes(image), &planes(reference), &[Metric::RelMse], 0.0);
    comparison.value(Metric::RelMse).unwrap().overall
}

fn mean_radiance(image: &RenderedImage) -> f64 {
    let values = image.radiance.as_flattened();
    values.iter().map(|&x| f64::from(x)).sum::<f64>() / values.len() as f64
}

#[test]
fn cornell_box_far_away_looks_like_that_at_the_origin() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/cornell-box/scene.pbrt");
    let text = std::fs::read_to_string(path).unwrap();
    let (camera, world) = text.split_once("WorldBegin").unwrap();
    let camera: String = camera
        .lines()
        .filter(|line| line.starts_with("Scale") || line.starts_with("LookAt"))
        .map(|line| format!("{line}\n"))
        .collect();
    let near = render(&load(&moved(0.0, &camera, world)), 2);
    println!("{:>8} {:>10} {:>12}", "offset", "relMSE", "mean");
    println!("{:>8} {:>10.2e} {:>12.8}", 0, 0.0, mean_radiance(&near));
    for exponent in 3..=7 {
        let far = render(&load(&moved(10f64.powi(exponent), &camera, world)), 2);
        let error = relative_error(&far, &near);
        println!("{:>8} {error:>10.2e} {:>12.8}", format!("1e{exponent}"), mean_radiance(&far));
        assert!(error < 1e-4, "relMSE {error} at 10^{exponent}");
        let change = mean_radiance(&far) / mean_radiance(&near) - 1.0;
        assert!(change.abs() < 1e-4, "the mean changes by {change} at 10^{exponent}");
    }
}

/// A room with everything that has a position: lights, instances, mapped textures, opacity.
const OBJECTS: &str = r#"
    LightSource "point" "rgb I" [9 9 9] "point3 from" [0 2 -3]
    LightSource "spot" "rgb I" [20 20 5] "point3 from" [2 3 -1] "point3 to" [0 0 0]
    LightSource "infinite" "rgb L" [0.2 0.3 0.4]
    LightSource "distant" "rgb L" [0.5 0.5 0.5] "point3 from" [1 1 -1]
    AttributeBegin
      Translate 0.3 0.1 0
      Texture "planar" "spectrum" "checkerboard" "string mapping" "planar"
        "vector3 v1" [1.7 0 0] "vector3 v2" [0 1.3 0.4]
        "rgb tex1" [0.9 0.2 0.1] "rgb tex2" [0.1 0.3 0.8]
      Texture "solid" "spectrum" "checkerboard" "integer dimension" 3
        "rgb tex1" [0.7 0.7 0.1] "rgb tex2" [0.1 0.1 0.1]
    AttributeEnd
    Material "diffuse" "texture reflectance" "planar"
    Shape "trianglemesh" "integer indices" [0 1 2 0 2 3]
      "point3 P" [-4 -1 -4  4 -1 -4  4 -1 4  -4 -1 4]
    Material "diffuse" "texture reflectance" "solid"
    AttributeBegin Translate -1 0 0.7 Shape "sphere" "float radius" 0.7 AttributeEnd
    Material "dielectric"
    AttributeBegin Translate 1.2 -0.3 -0.7 Shape "sphere" "float radius" 0.5 AttributeEnd
    AttributeBegin
      Translate 0 2.5 0
      AreaLightSource "diffuse" "rgb L" [4 4 4]
      Shape "disk" "float radius" 0.4
    AttributeEnd
    "#;

/// An object with holes, which the test instantiates at its own place.
const INSTANCE: &str = r#"
    AttributeBegin
      Scale 0.8 1.1 1 Rotate 20 0 1 0 Translate 0.2 0.2 1
      ObjectInstance "object"
    AttributeEnd"#;

const CAMERA: &str = "LookAt 0.5 1.5 -6  0 0 0  0 1 0\n";

/// Holes by texture coordinates, and by position.
const HOLES: [&str; 2] = [r#""float uscale" 8 "float vscale" 6"#, r#""integer dimension" 3"#];

fn objects(offset: f64, holes: &str) -> TestScene {
    // The object and its opacity are defined near the origin, whatever the offset.
    let definition = format!(
        r#"AttributeBegin Identity
          Texture "holes" "float" "checkerboard" {holes} "float tex1" 0 "float tex2" 1
          ObjectBegin "object"
            Material "diffuse" "rgb reflectance" [0.8 0.4 0.4]
            Shape "sphere" "float radius" 0.6 "texture alpha" "holes"
          ObjectEnd
        AttributeEnd {INSTANCE}"#
    );
    let mut scene = load(&moved(offset, CAMERA, &format!("{OBJECTS}{definition}")));
    scene.settings.integrator.max_depth = 3;
    scene
}

#[test]
fn lights_textures_and_instances_move_with_the_scene() {
    // In an object, opacity by position is looked up in single precision in world space, so that it
    // is only as precise as the offset allows.
    for (holes, offset) in [(HOLES[0], 1e4), (HOLES[0], 1e6), (HOLES[1], 1e4)] {
        let near = render(&objects(0.0, holes), 2);
        let far = render(&objects(offset, holes), 2);
        assert!(mean_radiance(&near) > 0.1);
        let differing = near
            .radiance
            .iter()
            .zip(&far.radiance)
            .filter(|(a, b)| (0..3).any(|c| (a[c] - b[c]).abs() > 0.02 * (a[c] + 0.1)))
            .count();
        println!("{offset}: {differing} pixels differ, {:.2e}", relative_error(&far, &near));
        // Rounding moves edges between the squares of textures.
        assert!(differing < 48 * 48 / 100, "{differing} pixels differ at {offset}");
    }
}

#[test]
fn features_far_away_are_in_world_space() {
    let offset = 1e6;
    let [near, far] = [0.0, offset].map(|offset| render(&objects(offset, HOLES[0]), 2));
    let (a, b) = (near.features.unwrap(), far.features.unwrap());
    let moved = [offset, -0.75 * offset, 0.5 * offset];
    let mut close = 0;
    for i in 0..a.depth.len() {
        // Pixels at edges and holes may see other surfaces.
        if (a.depth[i] - b.depth[i]).abs() < 1e-4 && a.depth[i] < 1e9 {
            close += 1;
            for (axis, by) in moved.iter().enumerate() {
                let expected = f64::from(a.position[i][axis]) + by;
                // Half of the spacing of floats at 10⁶, and the error at the origin.
                assert!((f64::from(b.position[i][axis]) - expected).abs() < 0.0314, "pixel {i}");
            }
        }
    }
    assert!(close > 48 * 48 / 2, "only {close} pixels agree");
}

/// Returns a scene with an instance of a light with holes. Scene and camera are at `scene`, and the
/// light is at `object` within the object, along x.
fn perforated_light(scene: f64, object: f64, holes: &str) -> TestScene {
    let (camera, instance) = (-scene, scene - object);
    load(&format!(
        r#"LookAt 0 0 -4  0 0 0  0 1 0 Translate {camera} 0 0
        Camera "perspective"
        WorldBegin
        AttributeBegin Scale 0.3 0.3 0.3
          Texture "holes" "float" "checkerboard" {holes} "float tex1" 0 "float tex2" 1
        AttributeEnd
        ObjectBegin "light"
          Translate {object} 0 0
          AreaLightSource "diffuse" "rgb L" [1 1 1]
          Shape "trianglemesh" "texture alpha" "holes" "point3 P" [-1 -1 0.1  1 -1 0.1  -1 1 0.1]
        ObjectEnd
        AttributeBegin Identity Translate {instance} 0 0 ObjectInstance "light" AttributeEnd"#
    ))
}

#[test]
fn opacity_of_instanced_lights_does_not_depend_on_their_distance_to_the_origin() {
    // Powers of two, so that positions in render space are the same.
    let (far, farther) = (f64::from(1 << 14), f64::from(1 << 20));
    for (holes, scene, object) in
        [(HOLES[0], far, 0.0), (HOLES[1], far, 0.0), (HOLES[0], 0.0, farther)]
    {
        let scenes = [perforated_light(0.0, 0.0, holes), perforated_light(scene, object, holes)];
        assert_eq!(scenes[1].geometry.origin.x, scene);
        let (mut counts, mut differing) = ([0; 2], 0);
        for i in 0..1024 {
            let u = vec2((i % 32) as f32 + 0.5, (i / 32) as f32 + 0.5) / 32.0;
            let from = vec3(0.5, 0.2, 1.5);
            let [near, far] = scenes.each_ref().map(|scene| {
                let lights = &scene.lights;
                lights.area(0).unwrap().sample_li(from, u).is_some()
            });
            counts[usize::from(near)] += 1;
            differing += u32::from(near != far);
        }
        assert!(counts.iter().all(|&n| n > 200), "{counts:?}");
        // At the edges of holes, rounding matters.
        assert!(differing < 20, "{differing} samples differ, {holes} at {scene} and {object}");
    }
}
