//! All light sampling modes of the path tracer render the same expected image.

use crate::common::{assert_images_agree, floor_and_spheres, load_scene, pfm, render};
use lightbound::film::RenderedImage;
use lightbound::settings::LightSampling;
use lightbound_pbrt::build::{Overrides, PathOverrides};

const MODES: [LightSampling; 4] = [
    LightSampling::Uniform,
    LightSampling::Power,
    LightSampling::Tree,
    LightSampling::MaterialTree,
];

/// A diffuse floor with coated, metal, rough glass and translucent objects.
fn scene(lights: &str, depth: u32, resolution: u32) -> String {
    let settings = format!(r#"Sampler "independent" Integrator "path" "integer maxdepth" {depth}"#);
    let objects = r#"
Material "dielectric" "float roughness" 0.3
AttributeBegin Translate 0 -1 0.5 Shape "sphere" "float radius" 0.5 AttributeEnd
Material "diffusetransmission"
AttributeBegin Translate 0 1 1.2 Shape "disk" "float radius" 0.8 AttributeEnd
"#;
    floor_and_spheres(&settings, resolution, lights, objects)
}

/// Lights of all types, and an environment with bright and dark parts.
const ALL_LIGHT_TYPES: &str = r#"
LightSource "infinite" "string filename" "sky.pfm" "float scale" 0.2
LightSource "distant" "rgb L" [0.3 0.3 0.2] "point3 from" [1 -2 3]
LightSource "point" "rgb I" [3 2 1] "point3 from" [2 2 2]
LightSource "point" "rgb I" [1 1 3] "point3 from" [-2 -2 0.5]
LightSource "spot" "rgb I" [5 4 3] "point3 from" [-2 0 3] "point3 to" [0 0 0] "float coneangle" 35
AttributeBegin
AreaLightSource "diffuse" "rgb L" [8 7 6]
Translate 1 -1 3 Shape "sphere" "float radius" 0.4
AttributeEnd
AttributeBegin
AreaLightSource "diffuse" "rgb L" [3 4 5] "bool twosided" true
Shape "trianglemesh" "integer indices" [0 1 2 0 2 3] "point3 P" [-3 1 2  -2 1 2  -2 1 3  -3 1.5 3]
AttributeEnd
AttributeBegin
AreaLightSource "diffuse" "rgb L" [6 5 4]
Translate 0 1 0.4 Shape "disk" "float radius" 0.2
AttributeEnd
"#;

fn environment_map() -> Vec<u8> {
    pfm(16, |x, y| {
        if (x, y) == (3, 9) {
            [60.0, 50.0, 30.0]
        } else {
            [0.1 * (x % 4) as f32, 0.2, 0.05 * (y % 5) as f32]
        }
    })
}

/// Renders a scene in each of the `modes`.
fn render_in_modes(modes: &[LightSampling], text: &str, spp: u32) -> Vec<RenderedImage> {
    let render_mode = |mode: &LightSampling| {
        let path = PathOverrides { light_sampling: Some(*mode), ..PathOverrides::default() };
        let overrides =
            Overrides { path, spp: Some(spp), seed: Some(*mode as u32), ..Overrides::default() };
        render(&load_scene(text, &[("sky.pfm", environment_map())], &overrides), 2)
    };
    modes.iter().map(render_mode).collect()
}

/// Asserts that all `modes` agree. `max_deviation` limits the standard deviation of the difference
/// between two images, relative to their sum: first for the first mode and each other mode, then
/// for the last two modes, which use light trees.
fn assert_all_agree(modes: &[LightSampling], text: &str, spp: u32, max_deviation: [f64; 2]) {
    let images = render_in_modes(modes, text, spp);
    for (mode, image) in modes.iter().zip(&images).skip(1) {
        assert_images_agree(
            &images[0],
            image,
            max_deviation[0],
            &format!("{:?} and {mode:?}", modes[0]),
        );
    }
    let last = &images[images.len() - 2..];
    assert_images_agree(&last[0], &last[1], max_deviation[1], "the light tree modes");
}

#[test]
fn modes_agree_for_all_light_types_and_indirect_light() {
    assert_all_agree(&MODES, &scene(ALL_LIGHT_TYPES, 4, 16), 256, [0.04, 0.02]);
}

#[test]
fn modes_agree_for_hundreds_of_point_lights() {
    let light = |k: i32| {
        let [x, y, z] = [k % 17 - 8, k * 7 % 13 - 6, k * 5 % 11];
        format!(
            "LightSource \"point\" \"rgb I\" [0.2 0.3 0.4] \"point3 from\" [{x} {y} {}]\n",
            0.2 + 0.3 * f64::from(z)
        )
    };
    assert_all_agree(
        &MODES,
        &scene(&(0..300).map(light).collect::<String>(), 1, 16),
        256,
        [0.08, 0.01],
    );
}

#[test]
fn modes_agree_for_a_light_in_a_specular_highlight() {
    // The metal sphere reflects one bright light. Most of the many other lights are below the
    // floor.
    let mut lights: String = (0..200)
        .map(|k| {
            format!(
                "LightSource \"point\" \"rgb I\" [1 1 1] \"point3 from\" [{} {} -1]\n",
                k % 20 - 10,
                k / 20
            )
        })
        .collect();
    lights += "LightSource \"point\" \"rgb I\" [2 2 2] \"point3 from\" [3 -3 2]\n";
    lights += "AttributeBegin AreaLightSource \"diffuse\" \"rgb L\" [300 300 300] Translate 1.4 -4 3\n\
               Shape \"sphere\" \"float radius\" 0.1 AttributeEnd\n";
    let text = scene(&lights, 1, 16).replace("\"float roughness\" 0.2", "\"float roughness\" 0.02");
    // Uniform sampling selects the light too rarely to estimate the variance.
    assert_all_agree(&MODES[1..], &text, 256, [0.15, 0.03]);
}

#[test]
fn degenerate_lights_give_finite_images() {
    let point = |rgb: &str, from: &str| {
        format!("LightSource \"point\" \"rgb I\" [{rgb}] \"point3 from\" [{from}]\n")
    };
    for (lights, is_lit) in [
        (point("0 0 0", "0 0 3"), false),
        // Inside a sphere, and below the floor.
        (point("5 5 5", "1.4 0 0.7") + &point("5 5 5", "0 0 -1"), false),
        // Many lights at one position, and some on surfaces.
        (point("1e-2 1e-2 1e-2", "1 1 3").repeat(3000) + &point("1 1 1", "0 0 0").repeat(9), true),
    ] {
        for image in render_in_modes(&MODES, &scene(&lights, 1, 8), 4) {
            assert_eq!(image.invalid_samples, 0);
            let sum: f32 = image.radiance.iter().map(|rgb| rgb[0]).sum();
            assert!(sum.is_finite() && (sum > 0.0) == is_lit, "{sum}");
        }
    }
}

#[test]
fn image_does_not_depend_on_thread_count() {
    for mode in MODES {
        let path = PathOverrides { light_sampling: Some(mode), ..PathOverrides::default() };
        let overrides = Overrides { path, spp: Some(2), ..Overrides::default() };
        let scene = load_scene(
            &scene(ALL_LIGHT_TYPES, 3, 40),
            &[("sky.pfm", environment_map())],
            &overrides,
        );
        let [single, multiple] = [1, 3].map(|threads| render(&scene, threads));
        assert!(single.radiance == multiple.radiance, "{mode:?}");
    }
}
