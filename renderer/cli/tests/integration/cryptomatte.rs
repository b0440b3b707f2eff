//! `render --layers cryptomatte`: mattes and their names.

use crate::common::lightbound;
use crate::common::scene_dir::{SceneDir, assert_same_exr, channels};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// An image, read as a program for compositing does: by the attributes and the channels alone.
struct Mattes {
    /// Hash by name.
    names: BTreeMap<String, u32>,
    /// Hashes and shares of each pixel.
    pixels: Vec<Vec<(u32, f32)>>,
}

impl Mattes {
    fn read(dir: &SceneDir, file: &str, layer: &str) -> Mattes {
        let output = lightbound(&["info", file, "--format", "json"])
            .current_dir(dir.root())
            .assert()
            .success()
            .get_output()
            .stdout
            .clone();
        let info: Value = serde_json::from_slice(&output).unwrap();
        let attributes = info[0]["attributes"].as_object().unwrap();
        let (key, _) = attributes
            .iter()
            .find(|(key, value)| key.starts_with("cryptomatte/") && **value == layer)
            .expect("the layer is announced");
        let prefix = key.strip_suffix("name").unwrap();
        let text = |key: &str| attributes[&format!("{prefix}{key}")].as_str().unwrap();
        assert_eq!((text("hash"), text("conversion")), ("MurmurHash3_32", "uint32_to_float32"));
        let manifest: Map<String, Value> = serde_json::from_str(text("manifest")).unwrap();
        let names = manifest
            .into_iter()
            .map(|(name, hash)| (name, u32::from_str_radix(hash.as_str().unwrap(), 16).unwrap()));
        let channels: BTreeMap<String, Vec<u32>> = channels(&dir.path(file)).into_iter().collect();
        let ranks = (0..3).flat_map(|i| [("R", "G"), ("B", "A")].map(move |pair| (i, pair)));
        let ranks: Vec<[&Vec<u32>; 2]> = ranks
            .map(|(i, (id, share))| [id, share].map(|c| &channels[&format!("{layer}{i:02}.{c}")]))
            .collect();
        let pixel = |i: usize| {
            let entries = ranks.iter().map(|[ids, shares]| (ids[i], f32::from_bits(shares[i])));
            entries.take_while(|(_, share)| *share > 0.0).collect()
        };
        let pixels = (0..channels["R"].len()).map(pixel).collect();
        Mattes { names: names.collect(), pixels }
    }

    /// The share of a name in each pixel.
    fn matte(&self, name: &str) -> Vec<f32> {
        let hash = self.names[name];
        let share = |pixel: &Vec<(u32, f32)>| {
            pixel.iter().find(|(id, _)| *id == hash).map_or(0.0, |(_, share)| *share)
        };
        self.pixels.iter().map(share).collect()
    }
}

/// A red sphere that is out of focus before two triangles of one material, which fill the left half.
const SCENE: &str = r#"
    Sampler "independent" "integer pixelsamples" 64
    Film "rgb" "integer xresolution" 32 "integer yresolution" 32
    LookAt 0 0 -4  0 0 0  0 1 0
    Camera "perspective" "float fov" 50 "float lensradius" 0.2 "float focaldistance" 6
    WorldBegin
    LightSource "infinite"
    MakeNamedMaterial "wall" "string type" "diffuse"
    MakeNamedMaterial "ball" "string type" "diffuse" "rgb reflectance" [0.8 0.1 0.1]
    NamedMaterial "wall"
    Shape "trianglemesh" "integer indices" [0 1 2] "point3 P" [-9 -9 2  0 -9 2  -9 9 2]
    Shape "trianglemesh" "integer indices" [0 1 2] "point3 P" [0 -9 2  0 9 2  -9 9 2]
    NamedMaterial "ball"
    Shape "sphere" "float radius" 0.6
"#;

#[test]
fn mattes_are_shares_of_samples() {
    let dir = SceneDir::with_scene(SCENE);
    dir.render(&["-q", "--layers", "cryptomatte", "-o", "a.exr"]).assert().success();
    let objects = Mattes::read(&dir, "a.exr", "CryptoObject");
    let materials = Mattes::read(&dir, "a.exr", "CryptoMaterial");
    let names: Vec<&str> = objects.names.keys().map(String::as_str).collect();
    assert_eq!(names, ["sphere", "trianglemesh.1", "trianglemesh.2"]);
    assert!(materials.names.contains_key("wall") && materials.names.contains_key("ball"));
    assert_eq!(objects.matte("sphere"), materials.matte("ball"));
    let walls = ["trianglemesh.1", "trianglemesh.2"].map(|name| objects.matte(name));
    let sum: Vec<f32> = walls[0].iter().zip(&walls[1]).map(|(a, b)| a + b).collect();
    assert_eq!(sum, materials.matte("wall"));
    let at = |matte: &[f32], x: usize, y: usize| matte[32 * y + x];
    let sphere = objects.matte("sphere");
    assert_eq!((at(&sphere, 16, 16), at(&sum, 2, 16), at(&sum, 30, 2)), (1.0, 1.0, 0.0));
    // The blurred edge: shares of 64 samples that are no more than all of them.
    let is_partial = |share: &f32| *share > 0.0 && *share < 1.0;
    assert!(sphere.iter().filter(|share| is_partial(share)).count() > 40);
    assert!(sphere.iter().all(|share| (64.0 * share).fract() == 0.0));
    for pixel in &objects.pixels {
        assert!(pixel.iter().map(|(_, share)| share).sum::<f32>() <= 1.0);
        assert!(pixel.is_sorted_by(|a, b| a.1 >= b.1), "the largest share is first: {pixel:?}");
    }
}

#[test]
fn merged_and_resumed_mattes_are_those_of_one_rendering() {
    let dir = SceneDir::with_scene(SCENE);
    let render = |args: &[&str]| {
        let layers = ["-q", "--layers", "beauty,ids,cryptomatte"];
        dir.render(&[&layers, args].concat()).assert().success();
    };
    render(&["-o", "whole.exr"]);
    for (part, file) in [("1/3", "a.exr"), ("2/3", "b.exr"), ("3/3", "c.exr")] {
        render(&["--part", part, "-o", file]);
    }
    let merge = ["merge", "c.exr", "a.exr", "b.exr", "-q", "-o", "merged.exr"];
    lightbound(&merge).current_dir(dir.root()).assert().success();
    assert_same_exr(&dir.path("whole.exr"), &dir.path("merged.exr"));
    let mattes = ["whole.exr", "merged.exr"].map(|file| Mattes::read(&dir, file, "CryptoObject"));
    assert_eq!(mattes[0].names, mattes[1].names);
    render(&["--spp", "5", "--keep-sums", "-o", "resumed.exr"]);
    render(&["--spp", "64", "--resume", "-o", "resumed.exr"]);
    assert_same_exr(&dir.path("whole.exr"), &dir.path("resumed.exr"));
}

#[test]
fn hashes_are_neither_averaged_nor_converted() {
    let dir = SceneDir::with_scene(SCENE);
    let render = |args: &[&str]| {
        let layers = ["-q", "--spp", "4", "--layers", "beauty,cryptomatte"];
        dir.render(&[&layers, args].concat()).assert().success();
    };
    render(&["-o", "a.exr"]);
    render(&["-o", "wide.exr", "--color-space", "rec2020"]);
    let run = |args: &[&str]| lightbound(args).current_dir(dir.root()).assert();
    let layers = ["--layers", "CryptoObject00,CryptoObject00.A", "--fail-above", "max=0"];
    run(&[&["compare", "wide.exr", "a.exr"][..], &layers].concat()).success();
    for options in [&["--resize", "16x16", "--bits", "32"][..], &["--bits", "16"]] {
        let convert = [&["convert", "a.exr", "b.exr"][..], options].concat();
        run(&convert).success().stderr(contains("the mattes are left out"));
        run(&["info", "b.exr"]).stdout(contains("rypto").not());
        let convert = [&convert[..], &["--layer", "CryptoObject00"]].concat();
        run(&convert).code(2).stderr(contains("mattes cannot be resized"));
    }
    run(&["convert", "a.exr", "b.exr", "--bits", "32"]).success();
    assert_eq!(
        Mattes::read(&dir, "a.exr", "CryptoObject").pixels,
        Mattes::read(&dir, "b.exr", "CryptoObject").pixels
    );
}

#[test]
fn shapes_are_named_after_their_files() {
    let world = r#"
        Film "rgb" "integer xresolution" 8 "integer yresolution" 8
        Camera "perspective"
        WorldBegin
        LightSource "infinite"
        Translate 0 0 3
        Shape "plymesh" "string filename" "meshes/Old wall.v2.ply"
    "#;
    let dir = SceneDir::with_scene(world);
    std::fs::create_dir(dir.path("meshes")).unwrap();
    let mesh = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n\
        property float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n\
        -1 -1 0\n1 -1 0\n0 1 0\n3 0 1 2\n";
    std::fs::write(dir.path("meshes/Old wall.v2.ply"), mesh).unwrap();
    dir.render(&["-q", "--spp", "1", "--layers", "cryptomatte", "-o", "a.exr"]).assert().success();
    let objects = Mattes::read(&dir, "a.exr", "CryptoObject");
    assert_eq!(objects.names.keys().collect::<Vec<_>>(), ["Old wall.v2"]);
    assert!(objects.matte("Old wall.v2").contains(&1.0));
}
