//! Lights that move while the shutter is open: all types, in all modes of light sampling.
//!
//! A still at a fraction of the motion has other directives, with transforms that do not move.

use crate::common::{BlockSums, load_scene, pfm, render};
use lightbound::accel::AccelKind;
use lightbound::film::RenderedImage;
use lightbound::settings::LightSampling;
use lightbound_pbrt::build::{Overrides, PathOverrides};
use std::f64::consts::PI;

const SIDE: usize = 16;

/// Returns a scene on a floor, seen from above: [−2, 2]².
fn scene(depth: u32, spp: u32, world: &str) -> String {
    format!(
        "LookAt 0 0 5  0 0 0  0 1 0\nScale -1 1 1\n\
         Camera \"orthographic\" \"float screenwindow\" [-2 2 -2 2]\n\
         Film \"rgb\" \"integer xresolution\" {SIDE} \"integer yresolution\" {SIDE}\n\
         PixelFilter \"box\" \"float xradius\" 0.5 \"float yradius\" 0.5\n\
         Sampler \"zsobol\" \"integer pixelsamples\" {spp}\n\
         Integrator \"path\" \"integer maxdepth\" {depth}\nWorldBegin\n\
         Material \"diffuse\" \"rgb reflectance\" [0.5 0.5 0.5]\n\
         Shape \"disk\" \"float radius\" 9\n{world}\n"
    )
}

/// Files that scenes use.
fn files() -> [(&'static str, Vec<u8>); 1] {
    let texel = |x, y| match (x, y) {
        (1, 2) => [9.0, 7.0, 2.0],
        (6, 5) => [1.0, 2.0, 8.0],
        _ => [0.1 * (x % 3) as f32, 0.2, 0.05 * (y % 4) as f32],
    };
    [("image.pfm", pfm(8, texel))]
}

fn render_scene(text: &str, mode: LightSampling, seed: u32) -> RenderedImage {
    let path = PathOverrides { light_sampling: Some(mode), ..PathOverrides::default() };
    let overrides = Overrides { path, seed: Some(seed), ..Overrides::default() };
    render(&load_scene(text, &files(), &overrides), 2)
}

/// Returns transform directives for a motion, or for a still at a fraction of it. `at` returns those
/// at a fraction.
fn transform(still: Option<f64>, at: impl Fn(f64) -> String) -> String {
    match still {
        Some(x) => at(x),
        None => format!(
            "ActiveTransform StartTime {} ActiveTransform EndTime {} ActiveTransform All",
            at(0.0),
            at(1.0)
        ),
    }
}

/// Lights of each type, which move, or are as they are at a fraction of the motion.
fn lights(still: Option<f64>) -> Vec<(&'static str, String)> {
    let slide = |x: f64| format!("Translate {} {} 1", 2.0 * x - 1.0, 0.4 - x);
    let turn = |x: f64| format!("{} Rotate {} 0.2 1 0.1", slide(x), 100.0 * x - 40.0);
    let grow = |x: f64| format!("{} Scale {} 1 {}", turn(x), 1.0 + x, 1.5 - 0.5 * x);
    let plain = |directives: &str, at: &dyn Fn(f64) -> String| {
        format!("AttributeBegin {} {directives} AttributeEnd\n", transform(still, at))
    };
    let emitter = |shape: &str, two_sided: bool| {
        format!(
            "Material \"diffuse\" \"rgb reflectance\" [0 0 0]\n\
             AreaLightSource \"diffuse\" \"rgb L\" [4 5 6] \"bool twosided\" {two_sided}\n{shape}"
        )
    };
    let rectangle = "Shape \"trianglemesh\" \"integer indices\" [0 1 2 0 2 3]\n\
                     \"point3 P\" [-0.3 -0.2 0  -0.3 0.2 0  0.3 0.2 0  0.3 -0.2 0]";
    let object = |content: &str, at: &dyn Fn(f64) -> String| {
        format!(
            "ObjectBegin \"lamp\" {content} ObjectEnd\n\
             AttributeBegin {} ObjectInstance \"lamp\" AttributeEnd\n",
            transform(still, at)
        )
    };
    // A rectangle that folds to another one.
    let corner = |x: f64, y: f64, a: f64| {
        let x = x + a * 0.3 * y;
        format!("{x} {} {} ", y - 0.5 * a, 1.0 + 0.6 * a * x)
    };
    let corners = |a: f64| {
        let corners = [(-0.3, -0.2), (-0.3, 0.2), (0.3, 0.2), (0.3, -0.2)];
        corners.map(|(x, y)| corner(x, y, a)).concat()
    };
    let lerp = |x: f64| {
        let parse = |text: &str| -> Vec<f64> {
            text.split_whitespace().map(|number| number.parse().unwrap()).collect()
        };
        let (a, b) = (parse(&corners(0.0)), parse(&corners(1.0)));
        a.iter().zip(&b).map(|(a, b)| format!("{} ", a + x * (b - a))).collect::<String>()
    };
    let vertices = match still {
        None => format!("\"point3 P\" [{}] \"point3 P1\" [{}]", corners(0.0), corners(1.0)),
        Some(x) => format!("\"point3 P\" [{}]", lerp(x)),
    };
    let folding = format!("Shape \"trianglemesh\" \"integer indices\" [0 1 2 0 2 3] {vertices}");
    let inner = transform(still, |x| format!("Translate {} 0 0", 0.8 * x));
    let swing = |x: f64| format!("Translate -0.5 0 1 Rotate {} 0 0 1", 80.0 * x);
    let down = "ReverseOrientation";
    vec![
        ("point", plain("LightSource \"point\" \"rgb I\" [3 2 1]", &slide)),
        ("spot", plain("LightSource \"spot\" \"point3 to\" [0 0 -1] \"rgb I\" [3 2 1]", &turn)),
        (
            "distant",
            plain("LightSource \"distant\" \"point3 from\" [0 0 1] \"point3 to\" [0 0 0]", &turn),
        ),
        (
            "goniometric",
            plain("LightSource \"goniometric\" \"string filename\" \"image.pfm\"", &turn),
        ),
        (
            "projection",
            plain(
                "Scale 1 1 -1 LightSource \"projection\" \"string filename\" \"image.pfm\"",
                &|x| grow(x) + " ",
            ),
        ),
        ("infinite", plain("LightSource \"infinite\" \"string filename\" \"image.pfm\"", &turn)),
        ("triangles", plain(&emitter(rectangle, false), &turn)),
        ("two-sided triangles", plain(&emitter(rectangle, true), &grow)),
        ("sphere", plain(&emitter("Shape \"sphere\" \"float radius\" 0.2", false), &slide)),
        ("ellipsoid", plain(&emitter("Shape \"sphere\" \"float radius\" 0.2", false), &grow)),
        (
            "disk",
            plain(&emitter(&format!("{down} Shape \"disk\" \"float radius\" 0.3"), false), &grow),
        ),
        ("instance", object(&emitter(rectangle, false), &turn)),
        ("vertices", emitter(&folding, false)),
        (
            "vertices of an instance",
            object(&emitter(&folding, true), &|x| {
                format!("Translate {x} 0 0 Rotate {} 0 0 1", 60.0 * x)
            }),
        ),
        ("shape of an object", object(&emitter(&format!("{inner} {rectangle}"), false), &swing)),
    ]
}

/// Compares the image of a motion with the mean of stills.
fn assert_mean_of_stills(name: &str, text: impl Fn(Option<f64>) -> String) {
    const STILLS: u32 = 24;
    let (mode, trees) = (LightSampling::Power, LightSampling::Tree);
    let stills: Vec<BlockSums> = (0..STILLS)
        .map(|k| {
            let x = (f64::from(k) + 0.5) / f64::from(STILLS);
            BlockSums::from_image(&render_scene(&text(Some(x)), mode, k))
        })
        .collect();
    let moving = [mode, trees].map(|mode| {
        let images: Vec<BlockSums> = (100..104)
            .map(|seed| BlockSums::from_image(&render_scene(&text(None), mode, seed)))
            .collect();
        BlockSums::mean(images.iter())
    });
    let stills = BlockSums::mean(stills.iter());
    for moving in moving {
        moving.assert_same(&stills, 0.05, name);
    }
}

#[test]
fn images_of_moving_lights_are_means_of_stills() {
    let count = lights(None).len();
    for i in 0..count {
        let name = lights(None)[i].0;
        assert_mean_of_stills(name, |still| scene(2, 64, &lights(still)[i].1));
    }
}

#[test]
fn all_modes_of_light_sampling_agree_on_moving_lights() {
    // Glossy spheres, since sampled BSDFs hit the lights.
    let all: String = lights(None)
        .into_iter()
        .filter(|(name, _)| !name.contains(" of "))
        .map(|(_, light)| light)
        .collect();
    let world = all
        + "Material \"conductor\" \"float roughness\" 0.2\n\
           AttributeBegin Translate 0.5 -0.8 0.3 Shape \"sphere\" \"float radius\" 0.3 AttributeEnd\n";
    let text = scene(4, 256, &world);
    let modes = [
        LightSampling::Uniform,
        LightSampling::Power,
        LightSampling::Tree,
        LightSampling::MaterialTree,
    ];
    let sums: Vec<BlockSums> = (0..)
        .zip(modes)
        .map(|(seed, mode)| BlockSums::from_image(&render_scene(&text, mode, seed)))
        .collect();
    for (mode, sum) in modes.iter().zip(&sums).skip(1) {
        sum.assert_same(&sums[0], 0.01, &format!("{mode:?}"));
    }
}

#[test]
fn a_light_that_slides_illuminates_a_floor_as_computed() {
    let light = "ActiveTransform StartTime Translate -1 0 0.8 ActiveTransform EndTime \
                 Translate 1.5 0.5 1.2 ActiveTransform All LightSource \"point\" \"rgb I\" [2 2 2]";
    let image = render_scene(&scene(1, 256, light), LightSampling::Power, 1);
    let n = 400;
    for (i, pixel) in image.radiance.iter().enumerate() {
        let x = ((i % SIDE) as f64 + 0.5) / SIDE as f64 * 4.0 - 2.0;
        let y = 2.0 - ((i / SIDE) as f64 + 0.5) / SIDE as f64 * 4.0;
        let exact = (0..n).map(|k| {
            let t = (f64::from(k) + 0.5) / f64::from(n);
            let (dx, dy, dz) = (-1.0 + 2.5 * t - x, 0.5 * t - y, 0.8 + 0.4 * t);
            2.0 * dz / (dx * dx + dy * dy + dz * dz).powf(1.5) * 0.5 / PI
        });
        let exact = exact.sum::<f64>() / f64::from(n);
        assert!((f64::from(pixel[0]) / exact - 1.0).abs() < 0.03, "{x} {y}: {pixel:?} {exact}");
    }
}

#[test]
fn lights_that_move_nowhere_are_lights_at_rest() {
    // The start and the end differ, but the shutter opens after the end.
    let head = "TransformTimes -2 -1\n";
    for ((name, moving), (_, still)) in lights(None).into_iter().zip(lights(Some(1.0))) {
        let [moving, still] = [moving, still].map(|light| {
            let text = head.to_string() + &scene(3, 256, &light);
            BlockSums::from_image(&render_scene(&text, LightSampling::Tree, 7))
        });
        moving.assert_same(&still, 0.07, name);
    }
}

#[test]
fn numbers_of_threads_and_accelerators_agree_on_moving_lights() {
    let all: String = lights(None)
        .into_iter()
        .filter(|(name, _)| !name.contains(" of "))
        .map(|(_, light)| light)
        .collect();
    let text = scene(3, 16, &all);
    let scene = load_scene(&text, &files(), &Overrides::default());
    assert_eq!(render(&scene, 1).radiance, render(&scene, 2).radiance);
    if AccelKind::Embree.is_available() {
        let images = [AccelKind::Builtin, AccelKind::Embree].map(|accel| {
            let overrides = Overrides { accel, ..Overrides::default() };
            render(&load_scene(&text, &files(), &overrides), 2)
        });
        crate::common::assert_images_agree(&images[0], &images[1], 0.06, "Embree");
    }
}
