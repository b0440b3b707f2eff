//! Tests of whole documents: their text, and pixels with values that are known.

mod materials;
mod motion;

use crate::{Options, Translation, translate_bytes};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lightbound::render::{RenderOptions, render};
use lightbound_pbrt::{Diagnostics, Overrides, SceneError, load_source};
use std::path::Path;

/// A document with one buffer: a square from −1 to 1 in the plane z = 0, two triangles.
///
/// Accessors: 0 positions, 1 normals, 2 indices, 3 a strip of indices, 4 texture coordinates,
/// 5 colours, 6 keyframes at 0 and 2 s, 7 translations 0 and (4, 0, 0), 8 offsets (0, 0, 1) of a
/// morph target, 9 joints, 10 weights, 11 translations of two instances, 12 a second set of texture
/// coordinates, turned by a quarter, 13 tangents along −y with the sign −1, 14 colours with an opacity
/// of x from 0 to 1, 15 mirrored texture coordinates, 16 rotations by 0° and by 90° about z,
/// 17 scales from (1, 1, 1) to (−1, 1, 1).
fn document(rest: &str) -> String {
    let mut bytes = Vec::new();
    let mut views = Vec::new();
    let mut accessors = Vec::new();
    let mut add = |data: Vec<u8>, component: u32, kind: &str, count: usize| {
        views.push(format!(
            r#"{{"buffer":0,"byteOffset":{},"byteLength":{}}}"#,
            bytes.len(),
            data.len()
        ));
        accessors.push(format!(
            r#"{{"bufferView":{},"componentType":{component},"type":"{kind}","count":{count}}}"#,
            accessors.len()
        ));
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    };
    let floats = |x: &[f32]| -> Vec<u8> { x.iter().flat_map(|x| x.to_le_bytes()).collect() };
    let square = [-1.0, -1.0, 0.0, 1.0, -1.0, 0.0, 1.0, 1.0, 0.0, -1.0, 1.0, 0.0];
    add(floats(&square), 5126, "VEC3", 4);
    add(floats(&[0.0, 0.0, 1.0].repeat(4)), 5126, "VEC3", 4);
    add(vec![0, 1, 2, 0, 2, 3], 5121, "SCALAR", 6);
    add(vec![0, 1, 3, 2], 5121, "SCALAR", 4);
    add(floats(&[0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]), 5126, "VEC2", 4);
    let colours = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
    add(floats(&colours), 5126, "VEC3", 4);
    add(floats(&[0.0, 2.0]), 5126, "SCALAR", 2);
    add(floats(&[0.0, 0.0, 0.0, 4.0, 0.0, 0.0]), 5126, "VEC3", 2);
    add(floats(&[0.0, 0.0, 1.0].repeat(4)), 5126, "VEC3", 4);
    add([0u8, 1, 0, 0].repeat(4), 5121, "VEC4", 4);
    add(floats(&[0.5, 0.5, 0.0, 0.0].repeat(4)), 5126, "VEC4", 4);
    add(floats(&[-3.0, 0.0, 0.0, 3.0, 0.0, 0.0]), 5126, "VEC3", 2);
    add(floats(&[1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0]), 5126, "VEC2", 4);
    add(floats(&[0.0, -1.0, 0.0, -1.0].repeat(4)), 5126, "VEC4", 4);
    let opacities = [0.0, 1.0, 1.0, 0.0].map(|a| [1.0, 0.5, 0.25, a]);
    add(floats(opacities.as_flattened()), 5126, "VEC4", 4);
    add(floats(&[1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]), 5126, "VEC2", 4);
    let sine = std::f32::consts::FRAC_1_SQRT_2;
    add(floats(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, sine, sine]), 5126, "VEC4", 2);
    add(floats(&[1.0, 1.0, 1.0, -1.0, 1.0, 1.0]), 5126, "VEC3", 2);
    format!(
        r#"{{"asset":{{"version":"2.0"}},
            "buffers":[{{"byteLength":{},"uri":"data:application/octet-stream;base64,{}"}}],
            "bufferViews":[{}],"accessors":[{}],{rest}}}"#,
        bytes.len(),
        STANDARD.encode(&bytes),
        views.join(","),
        accessors.join(",")
    )
}

/// A mesh of the square with a material.
const SQUARE: &str = r#""meshes":[{"name":"square","primitives":[
    {"attributes":{"POSITION":0,"NORMAL":1},"indices":2,"material":0}]}]"#;

/// A camera at z = 4 that sees the square in the whole picture and more.
const CAMERA: &str = r#""cameras":[{"type":"perspective","name":"front",
    "perspective":{"yfov":0.2,"aspectRatio":1}}]"#;

fn translated(json: &str, options: &Options) -> Result<(Translation, Vec<String>), SceneError> {
    let mut diagnostics = Diagnostics::default();
    let path = Path::new("test.gltf");
    let translation = translate_bytes(path, json.as_bytes(), options, "", &mut diagnostics)?;
    let warnings = diagnostics.warnings().iter().map(ToString::to_string).collect();
    Ok((translation, warnings))
}

fn text(json: &str, options: &Options) -> String {
    let (translation, warnings) = translated(json, options).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    translation.text()
}

fn error(json: &str) -> SceneError {
    let error = translated(json, &Options::default()).expect_err("it is invalid");
    assert!(error.to_string().starts_with("test.gltf: "), "{error}");
    assert!(error.remedy().is_some(), "{error}");
    error
}

/// Renders a translation with 16 × 16 pixels.
fn pixels(translation: &Translation, spp: u32) -> Vec<[f32; 3]> {
    let resolution = Some((16, 16));
    let overrides = Overrides { spp: Some(spp), resolution, ..Overrides::default() };
    let mut diagnostics = Diagnostics::default();
    let loaded = load_source(&translation.source(), &[], &overrides, &mut diagnostics)
        .unwrap_or_else(|error| panic!("{error}\n{}", translation.text()));
    assert!(diagnostics.warnings().is_empty(), "{:?}", diagnostics.warnings());
    let rendering = render(&loaded.scene, &loaded.settings, &RenderOptions::default()).unwrap();
    rendering.image.radiance
}

/// Renders a document, and returns the mean of the pixels.
fn mean_pixel(json: &str, options: &Options) -> [f32; 3] {
    let (translation, warnings) = translated(json, options).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let pixels = pixels(&translation, 16);
    std::array::from_fn(|k| pixels.iter().map(|pixel| pixel[k]).sum::<f32>() / pixels.len() as f32)
}

fn assert_near(found: [f32; 3], expected: [f32; 3], tolerance: f32) {
    for (a, b) in std::iter::zip(found, expected) {
        assert!((a - b).abs() <= tolerance * b.abs().max(0.01), "{found:?}, expected {expected:?}");
    }
}

#[test]
fn emission_is_the_pixel() {
    let nodes = r#""nodes":[{"mesh":0},{"camera":0,"translation":[0,0,4]}]"#;
    let material = r#""materials":[{"emissiveFactor":[0.5,0.25,1],
        "extensions":{"KHR_materials_emissive_strength":{"emissiveStrength":4}},
        "pbrMetallicRoughness":{"baseColorFactor":[0,0,0,1],"metallicFactor":1}}]"#;
    let json = document(&format!("{SQUARE},{CAMERA},{nodes},{material}"));
    assert_near(mean_pixel(&json, &Options::default()), [2.0, 1.0, 4.0], 1e-3);
    // From behind, nothing is emitted.
    let behind = nodes.replace(r#"{"mesh":0}"#, r#"{"mesh":0,"rotation":[0,1,0,0]}"#);
    let json = document(&format!("{SQUARE},{CAMERA},{behind},{material}"));
    assert!(mean_pixel(&json, &Options::default())[0] < 0.01);
}

#[test]
fn unlit_surfaces_show_their_colours() {
    let nodes = r#""nodes":[{"mesh":0},{"camera":0,"translation":[0,0,4]}]"#;
    let material = r#""materials":[{"extensions":{"KHR_materials_unlit":{}},
        "pbrMetallicRoughness":{"baseColorFactor":[0.2,0.4,0.8,1]}}]"#;
    let json = document(&format!("{SQUARE},{CAMERA},{nodes},{material}"));
    assert_near(mean_pixel(&json, &Options::default()), [0.2, 0.4, 0.8], 1e-3);
}

#[test]
fn unlit_surfaces_show_colours_of_vertices() {
    let mesh = r#""meshes":[{"primitives":[{"attributes":{"POSITION":0,"COLOR_0":5,
        "TEXCOORD_0":4},"indices":2,"material":0}]}]"#;
    let nodes = r#""nodes":[{"mesh":0},{"camera":0,"translation":[0,0,4]}]"#;
    let pixel = |base: &str| {
        let rest = format!(
            r#""images":[{{"uri":"{}"}}],"textures":[{{"source":0}}],
            "materials":[{{"extensions":{{"KHR_materials_unlit":{{}}}},
            "pbrMetallicRoughness":{{{base}}}}}]"#,
            png_of([255, 0, 255, 255], [255, 0, 255, 255])
        );
        mean_pixel(&document(&format!("{mesh},{CAMERA},{nodes},{rest}")), &Options::default())
    };
    // As in `vertex_colours_are_interpolated`.
    let f = 4.0 * 0.1f32.tan();
    let tinted = pixel(r#""baseColorFactor":[1,0.5,0.25,1]"#);
    assert_near(tinted, [0.5, 0.5 * f / 3.0, 0.125], 0.05);
    let textured = pixel(r#""baseColorTexture":{"index":0}"#);
    assert_near(textured, [0.5, 0.0, 0.5], 0.05);
}

#[test]
fn lights_have_photometric_units() {
    // A white dielectric without reflections has the radiance E cos θ/π.
    let nodes = |light: &str| {
        format!(
            r#""nodes":[{{"mesh":0}},{{"camera":0,"translation":[0,0,4]}},
            {{"translation":[0,0,2],"extensions":{{"KHR_lights_punctual":{{"light":0}}}}}}],
            "extensions":{{"KHR_lights_punctual":{{"lights":[{light}]}}}}"#
        )
    };
    let material = r#""materials":[{"pbrMetallicRoughness":{"baseColorFactor":[1,1,1,1],
        "metallicFactor":0},"extensions":{"KHR_materials_specular":{"specularFactor":0}}}]"#;
    let directional = nodes(r#"{"type":"directional","intensity":3.14159265,"color":[1,0.5,0]}"#);
    let json = document(&format!("{SQUARE},{CAMERA},{directional},{material}"));
    let pixel = mean_pixel(&json, &Options::default());
    assert_near(pixel, [1.0, 0.5, 0.0], 0.02);
    let point = nodes(r#"{"type":"point","intensity":12.5663706}"#);
    let json = document(&format!("{SQUARE},{CAMERA},{point},{material}"));
    // Illuminance I/d² at the centre, less towards the edge of the picture.
    assert_near(mean_pixel(&json, &Options::default()), [1.0; 3], 0.06);
    let spot = nodes(r#"{"type":"spot","intensity":12.5663706,"spot":{"outerConeAngle":0.7}}"#);
    let text =
        text(&document(&format!("{SQUARE},{CAMERA},{spot},{material}")), &Options::default());
    assert!(text.contains("\"point3 to\" [0 0 1]"), "{text}");
    assert!(text.contains("\"float coneangle\" 40.1"), "{text}");
}

#[test]
fn vertex_colours_are_interpolated() {
    let mesh = r#""meshes":[{"primitives":[{"attributes":{"POSITION":0,"COLOR_0":5},
        "indices":2,"material":0}]}]"#;
    let nodes = r#""nodes":[{"mesh":0},{"camera":0,"translation":[0,0,4]},
        {"extensions":{"KHR_lights_punctual":{"light":0}}}],
        "extensions":{"KHR_lights_punctual":{"lights":[
        {"type":"directional","intensity":3.14159265}]}}"#;
    let material = r#""materials":[{"pbrMetallicRoughness":{"metallicFactor":0},
        "extensions":{"KHR_materials_specular":{"specularFactor":0}}}]"#;
    let json = document(&format!("{mesh},{CAMERA},{nodes},{material}"));
    // The picture shows the middle of two triangles, of red, green and blue, and of red, blue and
    // white: up to the coordinate f. The colour is linear in each, so their means are the colours at
    // the centroids, where the vertex off the diagonal has the weight f/3, and each of the others
    // (1 − f/3)/2.
    let f = 4.0 * 0.1f32.tan();
    let expected = [0.5, f / 3.0, 0.5];
    assert_near(mean_pixel(&json, &Options::default()), expected, 0.05);
}

/// A directional light of π lx, so that a white surface has the value 1, and a camera.
const LIT: &str = r#""nodes":[{"mesh":0},{"camera":0,"translation":[0,0,4]},
    {"extensions":{"KHR_lights_punctual":{"light":0}}}],
    "extensions":{"KHR_lights_punctual":{"lights":[
    {"type":"directional","intensity":3.14159265}]}}"#;

/// Parameters of a material without reflections at its surface.
const MATTE: &str = r#""extensions":{"KHR_materials_specular":{"specularFactor":0}}"#;

#[test]
fn vertex_colours_multiply_textures() {
    let mesh = r#""meshes":[{"primitives":[{"attributes":{"POSITION":0,"TEXCOORD_0":4,
        "COLOR_0":14},"indices":2,"material":0}]}]"#;
    let rest = format!(
        r#""images":[{{"uri":"{}"}}],"textures":[{{"source":0}}],
        "materials":[{{"pbrMetallicRoughness":{{"metallicFactor":0,
        "baseColorFactor":[1,1,1,0.5],"baseColorTexture":{{"index":0}}}},{MATTE}}}]"#,
        png_of([255, 0, 255, 255], [255, 255, 0, 255])
    );
    let json = document(&format!("{mesh},{CAMERA},{LIT},{rest}"));
    // The mean of the texture is (1, ½, ½), and that of the colours (1, ½, ¼).
    assert_near(mean_pixel(&json, &Options::default()), [1.0, 0.25, 0.125], 0.03);
    let (translation, _) = translated(&json, &Options::default()).unwrap();
    assert!(!translation.text().contains("\"attribute\""), "all vertices have the same colour");
    // Red, green, blue and white at the vertices.
    let varying = json.replace("\"COLOR_0\":14", "\"COLOR_0\":5");
    let text = text(&varying, &Options::default());
    assert!(text.contains("\"spectrum\" \"attribute\" \"string attribute\" \"color\""), "{text}");
    let f = 4.0 * 0.1f32.tan();
    let expected = [0.5, 0.5 * f / 3.0, 0.25];
    assert_near(mean_pixel(&varying, &Options::default()), expected, 0.1);
}

#[test]
fn textures_have_coordinates_of_their_own() {
    let mesh = r#""meshes":[{"primitives":[{"attributes":{"POSITION":0,"TEXCOORD_0":4,
        "TEXCOORD_1":12},"indices":2,"material":0}]}]"#;
    let material = |info: &str| {
        format!(
            r#""images":[{{"uri":"{}"}}],"textures":[{{"source":0,"sampler":0}}],
            "samplers":[{{"magFilter":9728}}],
            "materials":[{{"emissiveTexture":{{"index":0}},"emissiveFactor":[0,0,1],
            "pbrMetallicRoughness":{{"metallicFactor":0,"baseColorTexture":{info}}},{MATTE}}}]"#,
            png_of([255, 0, 0, 255], [0, 255, 0, 255])
        )
    };
    let lit = LIT.replace("\"translation\":[0,0,4]", "\"translation\":[0,0.5,8]");
    let pixel = |info: &str| {
        let json = document(&format!("{mesh},{CAMERA},{lit},{}", material(info)));
        mean_pixel(&json, &Options::default())
    };
    // Both coordinates have u along −y: below y = 0, the image is green, and above red. The camera
    // sees y from −0.3 to 1.3.
    let rotated = r#"{"index":0,"extensions":{"KHR_texture_transform":
        {"rotation":1.5707963267948966,"offset":[0,1]}}}"#;
    let [set, turned] = [r#"{"index":0,"texCoord":1}"#, rotated].map(pixel);
    for (a, b) in std::iter::zip(set, turned) {
        assert!((a - b).abs() < 0.02, "{set:?} {turned:?}");
    }
    let own = pixel(r#"{"index":0}"#);
    assert!((own[0] - own[1]).abs() < 0.02 && (set[0] - set[1]).abs() > 0.2, "{own:?} {set:?}");
    let missing =
        document(&format!("{mesh},{CAMERA},{LIT},{}", material(r#"{"index":0,"texCoord":2}"#)));
    let (_, warnings) = translated(&missing, &Options::default()).unwrap();
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.contains("but no TEXCOORD_2"), "{warning}");
}

#[test]
fn lights_and_normal_maps_share_their_coordinates() {
    let mesh = r#""meshes":[{"primitives":[{"attributes":{"POSITION":0,"TEXCOORD_0":4,
        "TEXCOORD_1":12},"indices":2,"material":0}]}],"nodes":[{"mesh":0}]"#;
    let warnings = |set: usize| {
        let rest = format!(
            r#""images":[{{"uri":"{}"}}],"textures":[{{"source":0}}],"materials":[{{
            "normalTexture":{{"index":0}},"emissiveFactor":[1,1,1],
            "emissiveTexture":{{"index":0,"texCoord":{set}}}}}]"#,
            png()
        );
        translated(&document(&format!("{mesh},{rest}")), &Options::default()).unwrap().1
    };
    assert!(warnings(0).is_empty());
    let [warning] = &warnings(1)[..] else { panic!("one warning") };
    assert!(warning.contains("emitted light with a wrap mode or coordinates of its own"));
}

/// Returns the mean normal that a document shows.
fn mean_normal(json: &str) -> [f32; 3] {
    let text = text(json, &Options::default());
    let (translation, _) = translated(json, &Options::default()).unwrap();
    let overrides = Overrides { spp: Some(4), resolution: Some((8, 8)), ..Overrides::default() };
    let mut diagnostics = Diagnostics::default();
    let loaded = load_source(&translation.source(), &[], &overrides, &mut diagnostics).unwrap();
    assert!(diagnostics.warnings().is_empty(), "{:?}\n{text}", diagnostics.warnings());
    let film = lightbound::film::FilmOptions {
        features: lightbound::film::FeatureLayers::ALL,
        ..lightbound::film::FilmOptions::default()
    };
    let options = RenderOptions { film, ..RenderOptions::default() };
    let rendering = render(&loaded.scene, &loaded.settings, &options).unwrap();
    let normals = rendering.image.features.unwrap().normal;
    std::array::from_fn(|k| normals.iter().map(|n| n[k]).sum::<f32>() / normals.len() as f32)
}

#[test]
fn normal_maps_use_tangents() {
    // A normal map with normals towards +x, a little towards +y.
    let map = png_of([218, 153, 218, 255], [218, 153, 218, 255]);
    let json = |attributes: &str, scale: &str| {
        document(&format!(
            r#""meshes":[{{"primitives":[{{"attributes":{{"POSITION":0,"NORMAL":1,{attributes}}},
            "indices":2,"material":0}}]}}],{CAMERA},"nodes":[{{"mesh":0{scale}}},
            {{"camera":0,"translation":[0,0,4]}}],
            "images":[{{"uri":"{map}"}}],"textures":[{{"source":0}}],
            "materials":[{{"normalTexture":{{"index":0}}}}]"#
        ))
    };
    let n = [0.709, 0.2, 0.709].map(|x: f32| x / (2.0f32 * 0.709 * 0.709 + 0.04).sqrt());
    let own = r#""TEXCOORD_0":4"#;
    assert_near(mean_normal(&json(own, "")), n, 0.02);
    // Mirrored texture coordinates, u along −x: computed tangents have the sign −1.
    let mirrored = r#""TEXCOORD_0":15"#;
    assert_near(mean_normal(&json(mirrored, "")), [-n[0], n[1], n[2]], 0.02);
    // Given tangents are along −y, and bitangents, −(z × −y), along −x.
    let given = r#""TEXCOORD_0":4,"TANGENT":13"#;
    assert_near(mean_normal(&json(given, "")), [-n[1], -n[0], n[2]], 0.02);
    // A reflected node shows a reflection.
    let reflected = json(given, r#","scale":[-1,1,1]"#);
    assert_near(mean_normal(&reflected), [n[1], -n[0], n[2]], 0.02);
}

#[test]
fn anisotropy_without_textures_has_tangents() {
    let mesh = |attributes: &str| {
        let json = document(&format!(
            r#""meshes":[{{"primitives":[{{"attributes":{{"POSITION":0,"NORMAL":1{attributes}}},
            "indices":2,"material":0}}]}}],{CAMERA},"nodes":[{{"mesh":0}},
            {{"camera":0,"translation":[0,0,4]}}],"extensionsUsed":["KHR_materials_anisotropy"],
            "materials":[{{"extensions":{{"KHR_materials_anisotropy":{{"anisotropyStrength":0.5}}}}}}]"#
        ));
        let (translation, warnings) = translated(&json, &Options::default()).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        let bytes = &translation.files["mesh0.ply"];
        lightbound_pbrt::ply::parse(bytes, "x.ply".as_ref(), &[]).unwrap()
    };
    assert!(!mesh(r#","TEXCOORD_0":4"#).tangents.is_empty());
    assert!(mesh("").tangents.is_empty());
}

#[test]
fn objects_are_named_after_nodes() {
    let nodes = r#""nodes":[{"name":"left \"one\"","mesh":0},{"name":"right","mesh":0},
        {"mesh":0}],"materials":[{}]"#;
    let json = document(&format!("{SQUARE},{nodes}"));
    let (translation, _) = translated(&json, &Options::default()).unwrap();
    let mut diagnostics = Diagnostics::default();
    let overrides = Overrides::default();
    let names = |translation: &Translation, diagnostics: &mut Diagnostics| {
        load_source(&translation.source(), &[], &overrides, diagnostics).unwrap().scene.object_names
    };
    let expected = ["left _one_", "right", "mesh0"];
    assert_eq!(names(&translation, &mut diagnostics), expected);
    let one =
        document(&format!(r#"{SQUARE},"nodes":[{{"name":"wheel","mesh":0}}],"materials":[{{}}]"#));
    let (translation, _) = translated(&one, &Options::default()).unwrap();
    assert_eq!(names(&translation, &mut diagnostics), ["wheel"]);
    assert!(diagnostics.warnings().is_empty(), "{:?}", diagnostics.warnings());
}

#[test]
fn transforms_instances_and_hierarchies_are_applied() {
    let nodes = r#""nodes":[{"children":[1],"translation":[1,2,3]},
        {"mesh":0,"scale":[2,2,2]},
        {"mesh":0,"matrix":[1,0,0,0,0,1,0,0,0,0,1,0,5,6,7,1]}]"#;
    let material = r#""materials":[{"name":"plain"}]"#;
    let text = text(&document(&format!("{SQUARE},{nodes},{material}")), &Options::default());
    assert!(text.contains("ObjectBegin \"mesh0\""), "{text}");
    assert!(text.contains("ConcatTransform [2 0 0 0 0 2 0 0 0 0 2 0 1 2 3 1]"), "{text}");
    assert!(text.contains("ConcatTransform [1 0 0 0 0 1 0 0 0 0 1 0 5 6 7 1]"), "{text}");
    assert_eq!(text.matches("Shape \"plymesh\"").count(), 1);
    assert!(text.contains("MakeNamedMaterial \"plain\""), "{text}");
    assert!(text.contains("# Default lights"), "{text}");
    let instanced = r#""nodes":[{"mesh":0,"extensions":{"EXT_mesh_gpu_instancing":
        {"attributes":{"TRANSLATION":11}}}}]"#;
    let json = document(&format!("{SQUARE},{instanced},{material}"));
    let text = self::text(&json, &Options::default());
    assert_eq!(text.matches("ObjectInstance").count(), 2);
    assert!(text.contains("ConcatTransform [1 0 0 0 0 1 0 0 0 0 1 0 -3 0 0 1]"), "{text}");
}

#[test]
fn scenes_are_selected() {
    let scenes = r#""nodes":[{"mesh":0},{"name":"empty"}],"materials":[{}],
        "scenes":[{"name":"full","nodes":[0]},{"nodes":[1]}]"#;
    let json = document(&format!("{SQUARE},{scenes}"));
    let of = |scene: &str| {
        translated(&json, &Options { scene: Some(scene.into()), ..Options::default() })
    };
    assert!(of("full").unwrap().0.text().contains("Shape"));
    let (_, warnings) = of("1").unwrap();
    assert!(warnings[0].contains("the scene has no triangles"), "{warnings:?}");
    let error = of("5").unwrap_err();
    assert!(error.to_string().contains("has no scene \"5\""), "{error}");
    assert!(error.remedy().unwrap().contains("scene 0 \"full\", scene 1"), "{error:?}");
    // The document itself names one that it lacks.
    for scenes in [scenes.into(), scenes.replace("\"scenes\"", "\"unused\"")] {
        let error = self::error(&document(&format!("{SQUARE},{scenes},\"scene\":4")));
        assert!(error.to_string().contains("refers to scene 4"), "{error}");
    }
}

#[test]
fn strips_and_arrays_without_indices_are_triangles() {
    let strip = r#""meshes":[{"primitives":[{"attributes":{"POSITION":0},"indices":3,"mode":5}]}],
        "nodes":[{"mesh":0}]"#;
    let fan = r#""meshes":[{"primitives":[{"attributes":{"POSITION":0},"mode":6}]}],
        "nodes":[{"mesh":0}]"#;
    for json in [document(strip), document(fan)] {
        let (translation, _) = translated(&json, &Options::default()).unwrap();
        let bytes = translation.files.values().next().unwrap();
        let mesh = lightbound_pbrt::ply::parse(bytes, "x".as_ref(), &[]).unwrap();
        assert_eq!(mesh.triangles.len(), 2);
        for triangle in mesh.triangles {
            let [a, b, c] = triangle.map(|i| mesh.positions[i as usize]);
            assert!((b - a).cross(c - a).z > 0.0, "the front is counterclockwise");
        }
    }
    let points = r#""meshes":[{"primitives":[{"attributes":{"POSITION":0},"mode":0}]}],
        "nodes":[{"mesh":0}]"#;
    let (_, warnings) = translated(&document(points), &Options::default()).unwrap();
    assert!(warnings[0].contains("points or lines"), "{warnings:?}");
    let empty = points.replace(r#""POSITION":0},"mode":0"#, r#""NORMAL":1}"#);
    let (_, warnings) = translated(&document(&empty), &Options::default()).unwrap();
    assert!(warnings[0].contains("primitive 0 of mesh 0 has no POSITION"), "{warnings:?}");
}

#[test]
fn material_extensions_become_parameters() {
    let materials = r#""materials":[{"name":"all","extensions":{
        "KHR_materials_clearcoat":{"clearcoatFactor":0.5,"clearcoatRoughnessFactor":0.25},
        "KHR_materials_sheen":{"sheenColorFactor":[0.1,0.2,0.3],"sheenRoughnessFactor":0.75},
        "KHR_materials_iridescence":{"iridescenceFactor":1,"iridescenceIor":1.5},
        "KHR_materials_anisotropy":{"anisotropyStrength":0.5,"anisotropyRotation":1},
        "KHR_materials_ior":{"ior":1.25},
        "KHR_materials_transmission":{"transmissionFactor":0.5},
        "KHR_materials_volume":{"thicknessFactor":1,"attenuationDistance":2,
            "attenuationColor":[0.5,1,1]},
        "KHR_materials_diffuse_transmission":{"diffuseTransmissionFactor":0.125}}}]"#;
    let nodes = r#""nodes":[{"mesh":0}]"#;
    let text = text(&document(&format!("{SQUARE},{nodes},{materials}")), &Options::default());
    for part in [
        "\"float clearcoat\" 0.5",
        "\"float clearcoat_roughness\" 0.25",
        "\"rgb sheen_color\" [0.1 0.2 0.3]",
        "\"float sheen_roughness\" 0.75",
        "\"float iridescence\" 1",
        "\"float iridescence_ior\" 1.5",
        "\"float iridescence_thickness\" 400",
        "\"float anisotropy\" 0.5",
        "\"float anisotropy_rotation\" 1",
        "\"float ior\" 1.25",
        "\"float transmission\" 0.5",
        "\"bool thin_walled\" false",
        "\"float diffuse_transmission\" 0.125",
        "MediumInterface \"all.volume\" \"\"",
        "\"rgb sigma_a\" [0.3465736",
        "Integrator \"volpath\"",
    ] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    let glass = r#""materials":[{"pbrMetallicRoughness":{"metallicFactor":0,"roughnessFactor":0},
        "extensions":{"KHR_materials_transmission":{"transmissionFactor":1},
        "KHR_materials_volume":{"thicknessFactor":1},
        "KHR_materials_dispersion":{"dispersion":0.5}}}]"#;
    let text = self::text(&document(&format!("{SQUARE},{nodes},{glass}")), &Options::default());
    assert!(text.contains("\"string type\" \"dielectric\""), "{text}");
    assert!(text.contains("\"spectrum eta\" [ 360"), "{text}");
}

#[test]
fn variants_and_cameras_are_selected() {
    let mesh = r#""meshes":[{"primitives":[{"attributes":{"POSITION":0},"indices":2,"material":0,
        "extensions":{"KHR_materials_variants":{"mappings":[{"material":1,"variants":[0]}]}}}]}]"#;
    let rest = r#""materials":[{"name":"day"},{"name":"night"}],
        "extensions":{"KHR_materials_variants":{"variants":[{"name":"dark"}]}},
        "nodes":[{"mesh":0},{"camera":0},{"camera":1,"name":"side"}],
        "cameras":[{"type":"perspective","perspective":{"yfov":0.5}},
            {"type":"orthographic","orthographic":{"xmag":2,"ymag":1}}]"#;
    let json = document(&format!("{mesh},{rest}"));
    let with = |variant: Option<&str>, camera: Option<&str>| {
        let options = Options {
            variant: variant.map(str::to_string),
            camera: camera.map(str::to_string),
            ..Options::default()
        };
        translated(&json, &options).map(|(translation, _)| translation.text())
    };
    assert!(with(None, None).unwrap().contains("NamedMaterial \"day\""));
    assert!(with(Some("dark"), None).unwrap().contains("NamedMaterial \"night\""));
    assert!(with(None, None).unwrap().contains("Camera \"perspective\" \"float fov\" 28.6"));
    let side = with(None, Some("side")).unwrap();
    assert!(side.contains("\"float screenwindow\" [-2 2 -1 1]"), "{side}");
    assert!(side.contains("\"integer xresolution\" 1440 \"integer yresolution\" 720"), "{side}");
    assert!(with(None, Some("auto")).unwrap().contains("\"float fov\" 30"));
    let error = with(None, Some("top")).unwrap_err();
    assert!(error.remedy().unwrap().contains("camera 1"), "{error:?}");
    assert!(with(Some("light"), None).unwrap_err().remedy().unwrap().contains("dark"));
}

/// A PNG of 2 × 1 pixels, with opacity: red and opaque, green with an opacity of 64/255.
fn png() -> String {
    png_of([255, 0, 0, 255], [0, 255, 0, 64])
}

/// A PNG of two pixels side by side.
fn png_of(left: [u8; 4], right: [u8; 4]) -> String {
    use image::ImageEncoder;
    let mut file = Vec::new();
    let encoder = image::codecs::png::PngEncoder::new(&mut file);
    let pixels = [left, right].concat();
    encoder.write_image(&pixels, 2, 1, image::ExtendedColorType::Rgba8).unwrap();
    format!("data:image/png;base64,{}", STANDARD.encode(&file))
}

#[test]
fn textures_are_mapped_and_split() {
    let mesh = r#""meshes":[{"primitives":[{"attributes":{"POSITION":0,"TEXCOORD_0":4},
        "indices":2,"material":0}]}],"nodes":[{"mesh":0}]"#;
    let rest = format!(
        r#""images":[{{"name":"map","uri":"{}"}}],"textures":[{{"source":0,"sampler":0}}],
        "samplers":[{{"magFilter":9728,"wrapS":33071,"wrapT":33071}}],
        "materials":[{{"name":"m","alphaMode":"MASK","alphaCutoff":0.5,"pbrMetallicRoughness":{{
            "baseColorFactor":[0.5,1,1,1],"baseColorTexture":{{"index":0}},
            "metallicRoughnessTexture":{{"index":0,"extensions":{{"KHR_texture_transform":
                {{"scale":[2,4],"offset":[0.5,0.25]}}}}}}}}}}]"#,
        png()
    );
    let (translation, warnings) =
        translated(&document(&format!("{mesh},{rest}")), &Options::default()).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let names: Vec<&str> = translation.files.keys().map(String::as_str).collect();
    let expected = ["map-blue.png", "map-green.png", "map-mask-1-0.5.png", "map.png", "mesh0.ply"];
    assert_eq!(names, expected);
    let text = translation.text();
    for part in [
        "\"string filename\" \"map.png\" \"string wrap\" \"clamp\" \"string filter\" \"point\"",
        "\"float uscale\" 2 \"float udelta\" 0.5 \"float vscale\" 4 \"float vdelta\" -3.25",
        "\"rgb base_color_factor\" [0.5 1 1]",
        "\"texture alpha\" \"m.alpha\"",
    ] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    let mask = image::load_from_memory(&translation.files["map-mask-1-0.5.png"]).unwrap();
    assert_eq!(mask.into_luma8().into_raw(), [255, 0]);
    let green = image::load_from_memory(&translation.files["map-green.png"]).unwrap();
    assert_eq!(green.into_luma8().into_raw(), [0, 255]);
}

#[test]
fn invalid_documents_are_errors_that_name_the_element() {
    let mesh = |attributes: &str, more: &str| {
        document(&format!(
            r#""meshes":[{{"name":"m","primitives":[{{"attributes":{{{attributes}}}{more}}}]}}],
            "nodes":[{{"mesh":0}}]"#
        ))
    };
    let without_data = mesh(r#""POSITION":0"#, "").replacen("{\"bufferView\":0,", "{", 1);
    for (json, part) in [
        (mesh(r#""POSITION":0"#, r#","mode":9"#), "primitive 0 of mesh 0 \"m\" has the mode 9"),
        (
            document(&format!(
                r#"{SQUARE},"nodes":[{{"mesh":0,"weights":[1]}}],"materials":[{{}}]"#
            )),
            "has 0 morph targets, but 1 weights",
        ),
        (
            document(&format!(
                r#"{SQUARE},"nodes":[{{"mesh":0,"skin":0}}],"materials":[{{}}],
                "skins":[{{"joints":[0],"inverseBindMatrices":18}}]"#
            ))
            .replace("],\"meshes", r#",{"componentType":5126,"type":"MAT4","count":0}],"meshes"#),
            "skin 0 has 1 joints, but 0 inverse bind matrices",
        ),
        (document(r#""nodes":[{"name":"n","rotation":[0,0,0,0]}]"#), "\"n\" has a rotation of"),
        (
            document(r#""nodes":[{"camera":0}],"cameras":[{"type":"foo"}]"#),
            "camera 0 has the type \"foo\"",
        ),
        (
            document(
                r#""nodes":[{"camera":0}],"cameras":[{"type":"perspective",
                "perspective":{"yfov":1,"aspectRatio":1000}}]"#,
            ),
            "camera 0 has an invalid aspect ratio",
        ),
        (
            document(
                r#""nodes":[{"extensions":{"KHR_lights_punctual":{"light":0}}}],
                "extensions":{"KHR_lights_punctual":{"lights":[{"type":"point","intensity":-1}]}}"#,
            ),
            "light 0 has the intensity -1",
        ),
        (mesh(r#""POSITION":99"#, ""), "primitive 0 of mesh 0 \"m\" refers to accessor 99"),
        (mesh(r#""POSITION":0,"NORMAL":7"#, ""), "NORMAL of primitive 0 of mesh 0 \"m\" has 2"),
        (mesh(r#""POSITION":0"#, r#","material":3"#), "refers to material 3"),
        (
            without_data,
            "accessor 0 (POSITION of primitive 0 of mesh 0 \"m\") has no data: neither a buffer",
        ),
        (
            mesh(r#""POSITION":0"#, r#","indices":2"#).replace("{\"bufferView\":2,", "{"),
            "accessor 2 (the indices of primitive 0 of mesh 0 \"m\") has no data",
        ),
        (
            mesh(r#""POSITION":0"#, "").replacen("\"count\":4", "\"count\":0", 1),
            "accessor 0 (POSITION of primitive 0 of mesh 0 \"m\") has no elements",
        ),
        (mesh(r#""POSITION":7"#, r#","indices":2"#), "refer to vertex 2, but there are 2"),
        (
            mesh(r#""POSITION":0"#, r#","extensions":{"KHR_draco_mesh_compression":{}}"#),
            "uses KHR_draco_mesh_compression",
        ),
        (
            document(
                r#""nodes":[{"name":"a","children":[1]},{"children":[0]}],
                "scenes":[{"nodes":[0]}]"#,
            ),
            "node 0 \"a\" is a child of node 1",
        ),
        (document(r#""nodes":[{"children":[5]}]"#), "node 0 refers to node 5"),
        (document(r#""nodes":[{"mesh":0}]"#), "node 0 refers to mesh 0"),
        (
            document(
                r#""nodes":[{"scale":[1e300,1e300,1e300],"children":[1]},
            {"scale":[1e300,1e300,1e300]}]"#,
            ),
            "not finite",
        ),
        (
            document(r#""nodes":[{"extensions":{"KHR_lights_punctual":{"light":1}}}]"#),
            "refers to light 1",
        ),
        (
            document(&format!(
                r#"{SQUARE},"nodes":[{{"mesh":0}}],"materials":[{{"normalTexture":{{"index":0}}}}],
                "textures":[{{"source":4}}]"#
            )),
            "material 0 refers to image 4",
        ),
        (
            document(&format!(
                r#"{SQUARE},"nodes":[{{"mesh":0}}],"materials":[{{"normalTexture":{{"index":0}}}}],
                "textures":[{{"extensions":{{"KHR_texture_basisu":{{"source":0}}}}}}]"#
            )),
            "an image of KHR_texture_basisu only",
        ),
        (
            document(&format!(
                r#"{SQUARE},"nodes":[{{"mesh":0}}],"materials":[{{"normalTexture":{{"index":0}}}}],
                "textures":[{{"source":0}}],"images":[{{"name":"i","bufferView":0}}]"#
            )),
            "image 0 \"i\" is neither a PNG nor a JPEG",
        ),
    ] {
        let error = error(&json);
        assert!(error.to_string().contains(part), "{error}, expected {part}");
    }
}

#[test]
fn sample_assets_load_without_warnings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/gltf");
    let Ok(assets) = std::fs::read_dir(&folder) else { return };
    for asset in assets {
        for file in std::fs::read_dir(asset.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if !crate::is_gltf_name(&path) {
                continue;
            }
            let mut diagnostics = Diagnostics::default();
            let overrides = Overrides { spp: Some(1), ..Overrides::default() };
            let source = lightbound_pbrt::Source::file(&path);
            let loaded =
                crate::load(&source, &Options::default(), &[], &overrides, &mut diagnostics)
                    .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(!loaded.scene.geometry.primitives.is_empty(), "{}", path.display());
            println!("{}: {:?}", path.display(), diagnostics.warnings());
        }
    }
}
