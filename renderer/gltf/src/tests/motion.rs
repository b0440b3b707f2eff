//! Tests of animations, morph targets and skins, at a time and with motion blur.

use super::{CAMERA, MATTE, SQUARE, document, pixels, text, translated};
use crate::Options;

#[test]
fn animations_move_nodes_at_a_time() {
    let animation = r#""animations":[{"name":"walk","channels":[
        {"sampler":0,"target":{"node":0,"path":"translation"}}],
        "samplers":[{"input":6,"output":7}]}]"#;
    let json =
        document(&format!(r#"{SQUARE},"nodes":[{{"mesh":0}}],"materials":[{{}}],{animation}"#));
    for (time, x) in [(None, 0.0), (Some(0.5), 1.0), (Some(9.0), 4.0)] {
        let text = text(&json, &Options { time, ..Options::default() });
        assert!(text.contains(&format!("0 0 1 0 {x} 0 0 1]")), "{time:?}: {text}");
    }
    let missing = Options { animation: Some("run".into()), ..Options::default() };
    let error = translated(&json, &missing).err().unwrap();
    assert!(error.remedy().unwrap().contains("animation 0 \"walk\""), "{error:?}");
    // Cubic splines have tangents, which the output lacks.
    let short = json.replace(r#""output":7}"#, r#""output":7,"interpolation":"CUBICSPLINE"}"#);
    let options = Options { time: Some(0.5), ..Options::default() };
    let error = translated(&short, &options).err().unwrap();
    assert!(format!("{error:?}").contains("keyframes"), "{error:?}");
    for (old, new, part) in [
        (r#""output":7}"#, r#""output":7,"interpolation":"FOO"}"#, "the interpolation \"FOO\""),
        ("\"translation\"", "\"position\"", "the path \"position\""),
    ] {
        let error = translated(&json.replace(old, new), &options).err().unwrap();
        assert!(error.to_string().contains(part), "{error}");
    }
}

/// Returns the bounds of the only mesh.
fn positions(json: &str) -> Vec<[f32; 3]> {
    let (translation, _) = translated(json, &Options::default()).unwrap();
    let [bytes] = translation.files.values().collect::<Vec<_>>()[..] else { panic!("one file") };
    let mesh = lightbound_pbrt::ply::parse(bytes, "x.ply".as_ref(), &[]).unwrap();
    mesh.positions.iter().map(|p| p.to_array()).collect()
}

#[test]
fn morph_targets_and_skins_move_vertices() {
    let morphed = r#""meshes":[{"weights":[0.5],"primitives":[{"attributes":{"POSITION":0},
        "indices":2,"targets":[{"POSITION":8}]}]}],"nodes":[{"mesh":0}]"#;
    assert_eq!(positions(&document(morphed))[0], [-1.0, -1.0, 0.5]);
    let skinned = r#""meshes":[{"primitives":[{"attributes":
        {"POSITION":0,"JOINTS_0":9,"WEIGHTS_0":10},"indices":2}]}],
        "nodes":[{"mesh":0,"skin":0,"translation":[9,9,9]},{"translation":[2,0,0]},
        {"translation":[0,4,0]}],
        "skins":[{"joints":[1,2]}]"#;
    assert_eq!(positions(&document(skinned))[2], [2.0, 3.0, 0.0]);
}

#[test]
fn tangents_follow_morph_targets_and_skins() {
    let tangents = |json: &str| {
        let (translation, warnings) = translated(json, &Options::default()).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        let bytes = &translation.files["mesh0.ply"];
        let mesh = lightbound_pbrt::ply::parse(bytes, "x.ply".as_ref(), &[]).unwrap();
        mesh.tangents.iter().map(|t| t.to_array()).collect::<Vec<_>>()
    };
    let rest = r#""materials":[{"extensions":{"KHR_materials_anisotropy":
        {"anisotropyStrength":0.5}}}]"#;
    let attributes = r#""POSITION":0,"NORMAL":1,"TANGENT":13"#;
    let morphed = format!(
        r#""meshes":[{{"weights":[0.5],"primitives":[{{"attributes":{{{attributes}}},
        "indices":2,"material":0,"targets":[{{"TANGENT":8}}]}}]}}],"nodes":[{{"mesh":0}}],{rest}"#
    );
    assert_eq!(tangents(&document(&morphed)), [[0.0, -1.0, 0.5, -1.0]; 4]);
    let skinned = format!(
        r#""meshes":[{{"primitives":[{{"attributes":{{{attributes},"JOINTS_0":9,"WEIGHTS_0":10}},
        "indices":2,"material":0}}]}}],"nodes":[{{"mesh":0,"skin":0}},
        {{"rotation":[0,0,0.70710678,0.70710678]}}],"skins":[{{"joints":[1,1]}}],{rest}"#
    );
    for tangent in tangents(&document(&skinned)) {
        let expected = [1.0, 0.0, 0.0, -1.0];
        assert!(tangent.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{tangent:?}");
    }
    // Without a normal map and anisotropy, tangents have no effect.
    let plain = morphed.replace("0.5}}}]", "0}}}]");
    assert!(tangents(&document(&plain)).is_empty());
}

/// An animation from 0 to 2 s of the node 0: translations from 0 to (4, 0, 0), rotations by 90°,
/// scales from (1, 1, 1) to (−1, 1, 1), and weights from 0 to 2.
fn animation(path: &str) -> String {
    let output = match path {
        "translation" => 7,
        "rotation" => 16,
        "scale" => 17,
        _ => 6,
    };
    format!(
        r#""animations":[{{"channels":[{{"sampler":0,"target":{{"node":0,"path":"{path}"}}}}],
        "samplers":[{{"input":6,"output":{output}}}]}}]"#
    )
}

/// Options with a shutter that opens at 0.25 s.
fn shutter(seconds: f64) -> Options {
    Options { time: Some(0.25), shutter: Some(seconds), ..Options::default() }
}

/// Documents with something that moves, by name. A camera at z = 4 sees ±2.2 m.
fn moving_documents() -> Vec<(&'static str, String)> {
    let wide = CAMERA.replace("0.2", "1");
    let unlit = r#""materials":[{"doubleSided":true,"extensions":{"KHR_materials_unlit":{}}}]"#;
    let front = r#"{"camera":0,"translation":[0,0,4]}"#;
    let turned = r#"{"camera":0,"translation":[0,0,4],"rotation":[0,0,0.6,0.8]}"#;
    let of = |mesh: &str, nodes: &str, path: &str| {
        let animation = animation(path);
        document(&format!("{mesh},{wide},\"nodes\":[{nodes}],{unlit},{animation}"))
    };
    let child = r#"{"children":[1]},{"mesh":0,"translation":[-1,0.5,0],"scale":[0.5,1,1]}"#;
    let morphed = SQUARE.replace(r#""material":0"#, r#""material":0,"targets":[{"POSITION":1}]"#);
    let skinned = SQUARE.replace(r#""NORMAL":1"#, r#""NORMAL":1,"JOINTS_0":9,"WEIGHTS_0":10"#);
    let skin = r#""skins":[{"joints":[0,2]}],"nodes":"#;
    let lights = r#""extensions":{"KHR_lights_punctual":{"lights":[{"type":"spot","intensity":9,
        "spot":{"outerConeAngle":0.5}}]}},"nodes":"#;
    let lit = |nodes: &str, path: &str| {
        let matte =
            format!(r#""materials":[{{"pbrMetallicRoughness":{{"metallicFactor":0}},{MATTE}}}]"#);
        of(SQUARE, nodes, path).replace(unlit, &matte).replace("\"nodes\":", lights)
    };
    let lamp = r#""extensions":{"KHR_lights_punctual":{"light":0}}"#;
    vec![
        ("a child", of(SQUARE, &format!("{child},{front}"), "translation")),
        (
            "an instance",
            of(SQUARE, &format!(r#"{child},{front},{{"mesh":0,"scale":[0.2,2,1]}}"#), "rotation"),
        ),
        (
            "gpu instances",
            of(
                SQUARE,
                &format!(
                    r#"{{"mesh":0,"scale":[0.3,1,1],"extensions":{{"EXT_mesh_gpu_instancing":
                    {{"attributes":{{"TRANSLATION":11}}}}}}}},{front}"#
                ),
                "translation",
            ),
        ),
        ("a morph target", of(&morphed, &format!(r#"{{"mesh":0}},{front}"#), "weights")),
        (
            "a skin",
            of(&skinned, &format!(r#"{{}},{{"mesh":0,"skin":0}},{{}},{front}"#), "translation")
                .replace("\"nodes\":", skin),
        ),
        (
            "a camera",
            of(SQUARE, &format!(r#"{{"children":[1]}},{turned},{{"mesh":0}}"#), "rotation"),
        ),
        (
            "a light",
            lit(
                &format!(
                    r#"{{"children":[1]}},{{"translation":[-1,0,2],{lamp}}},{{"mesh":0}},{front}"#
                ),
                "translation",
            ),
        ),
        (
            "a light that turns",
            lit(
                &format!(
                    r#"{{"children":[1]}},{{"translation":[0,0,2],"rotation":[0.17,0,0,0.98],
                    {lamp}}},{{"mesh":0}},{front}"#
                ),
                "rotation",
            ),
        ),
    ]
}

#[test]
fn motion_blur_is_the_mean_of_stills() {
    const STILLS: u32 = 24;
    for (name, json) in moving_documents() {
        let of = |options: &Options, spp: u32| {
            let (translation, warnings) = translated(&json, options).unwrap();
            assert!(warnings.is_empty(), "{name}: {warnings:?}");
            pixels(&translation, spp)
        };
        let blurred = of(&shutter(0.5), 1024);
        let mut mean = vec![0.0; blurred.len()];
        for k in 0..STILLS {
            let time = 0.25 + 0.5 * (f64::from(k) + 0.5) / f64::from(STILLS);
            let still = of(&Options { time: Some(time), ..Options::default() }, 64);
            for (sum, pixel) in std::iter::zip(&mut mean, still) {
                *sum += pixel[1] / STILLS as f32;
            }
        }
        let rms = |pixels: &[[f32; 3]], of: f32| {
            let differences = std::iter::zip(pixels, &mean).map(|(a, b)| of * a[1] - b);
            (differences.map(|x| x * x).sum::<f32>() / mean.len() as f32).sqrt()
        };
        let (difference, scale) = (rms(&blurred, 1.0), rms(&blurred, 0.0));
        assert!(difference < 0.01 * scale, "{name}: {difference} of {scale}");
        // The shutter matters: the picture when it opens is another one.
        let difference = rms(&of(&shutter(0.0), 16), 1.0);
        assert!(difference > 0.04 * scale, "{name}: {difference} of {scale}");
    }
}

#[test]
fn what_does_not_move_is_written_as_without_a_shutter() {
    for (name, json) in moving_documents() {
        let still = text(&json, &Options { time: Some(0.25), ..Options::default() });
        assert_eq!(text(&json, &shutter(0.0)), still, "{name}");
        // After the last keyframe.
        let [late, moving] = [None, Some(1.0)].map(|shutter| {
            text(&json, &Options { time: Some(2.0), shutter, ..Options::default() })
        });
        assert_eq!(late, moving, "{name}");
        let moving = text(&json, &shutter(0.5));
        let moves = moving.matches("ActiveTransform EndTime").count();
        let deforms = moving.matches("\"string filename1\" \"square-end.ply\"").count();
        let expected = match name {
            "gpu instances" => (2, 0),
            "a morph target" | "a skin" => (0, 1),
            _ => (1, 0),
        };
        assert_eq!((moves, deforms), expected, "{name}: {moving}");
    }
}

#[test]
fn steps_do_not_move_while_the_shutter_is_open() {
    let (_, json) = moving_documents().swap_remove(0);
    let step = json.replace(r#""output":7"#, r#""output":7,"interpolation":"STEP""#);
    let at = |time: f64, shutter: f64| {
        text(&step, &Options { time: Some(time), shutter: Some(shutter), ..Options::default() })
    };
    assert_eq!(at(1.9, 0.2), at(1.9, 0.0));
    assert_ne!(at(1.9, 0.0), at(2.0, 0.0));
}

#[test]
fn motion_that_cannot_be_interpolated_is_a_warning() {
    // The scale is 0 at 1 s.
    let rest = format!("\"materials\":[{{}}],\"nodes\":[{{\"mesh\":0}}],{}", animation("scale"));
    let json = document(&format!("{SQUARE},{rest}"));
    for (time, x, part) in [
        (0.5, 0.5, "node 0 has a scale of 0 when the shutter closes"),
        (1.0, -0.5, "node 0 has a scale of 0 when the shutter opens"),
        (0.75, 0.25, "node 0 mirrors at one end of the time"),
    ] {
        let options = Options { time: Some(time), shutter: Some(0.5), ..Options::default() };
        let (translation, warnings) = translated(&json, &options).unwrap();
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(warning.contains(part), "{warning}");
        let expected =
            format!("AttributeBegin\nConcatTransform [{x} 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1]");
        assert!(translation.text().contains(&expected), "{}", translation.text());
    }
}

#[test]
fn invalid_shutters_are_errors() {
    let (_, json) = moving_documents().swap_remove(0);
    for seconds in [-1.0, f64::NAN, f64::INFINITY] {
        let error = translated(&json, &shutter(seconds)).err().unwrap();
        assert!(error.to_string().contains("has no motion from 0.25 to"), "{error}");
        assert!(error.remedy().unwrap().contains("--shutter from 0 on"));
    }
    let still = json.replace("\"animations\"", "\"extras\"");
    let options = Options { shutter: Some(0.5), ..Options::default() };
    let error = translated(&still, &options).err().unwrap();
    assert!(error.to_string().contains("has no animation for --shutter"), "{error}");
}
