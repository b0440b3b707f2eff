//! The hash of a scene covers all input files.

use crate::common::write_test_files;
use lightbound_pbrt::build::{Overrides, load};
use lightbound_pbrt::diagnostics::Diagnostics;
use std::path::Path;

/// A scene with input files of all types.
const SCENE: &str = r#"
Film "rgb" "integer xresolution" 8 "integer yresolution" 8
WorldBegin
LightSource "infinite" "string filename" "good.pfm"
Include "more.pbrt"
"#;

const MORE: &str = r#"
Texture "ramp" "spectrum" "imagemap" "string filename" "good.png"
Material "diffuse" "texture reflectance" "ramp"
Shape "plymesh" "string filename" "good.ply"
Material "dielectric" "spectrum eta" "good.spd"
Shape "sphere"
Material "shader" "string filename" "good.wgsl" "string wood" "wood.png"
Shape "sphere"
"#;

const SHADER: &str = "var wood: texture_2d<f32>;
var smoothly: sampler;
struct Material { kd: vec3f }
fn material(p: SurfacePoint) -> Material { return Material(textureSample(wood, smoothly, p.uv).rgb); }
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.kd * 0.3; }";

fn hash(main: &Path) -> String {
    load(main, &Overrides::default(), &mut Diagnostics::new(true))
        .unwrap_or_else(|e| panic!("{e:?}"))
        .inputs
        .hash()
}

#[test]
fn hash_depends_on_all_files_but_not_on_the_folder() {
    let write_scene = |folder: &Path| {
        write_test_files(folder);
        std::fs::copy(folder.join("good.png"), folder.join("wood.png")).unwrap();
        for (name, text) in [("scene.pbrt", SCENE), ("more.pbrt", MORE), ("good.wgsl", SHADER)] {
            std::fs::write(folder.join(name), text).unwrap();
        }
    };
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_scene(first.path());
    write_scene(second.path());
    let main = first.path().join("scene.pbrt");
    let reference = hash(&main);
    std::fs::rename(second.path().join("scene.pbrt"), second.path().join("other.pbrt")).unwrap();
    assert_eq!(reference, hash(&second.path().join("other.pbrt")));

    for name in [
        "scene.pbrt",
        "more.pbrt",
        "good.wgsl",
        "good.pfm",
        "good.png",
        "wood.png",
        "good.ply",
        "good.spd",
    ] {
        let path = first.path().join(name);
        let old = std::fs::read(&path).unwrap();
        let mut new = old.clone();
        // Append a line break, or flip a bit of binary pixels.
        if name == "good.pfm" {
            *new.last_mut().unwrap() ^= 1;
        } else {
            new.push(b'\n');
        }
        std::fs::write(&path, new).unwrap();
        assert_ne!(reference, hash(&main), "{name}");
        std::fs::write(&path, old).unwrap();
    }
    assert_eq!(reference, hash(&main));
}
