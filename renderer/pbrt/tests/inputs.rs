//! The hash of a scene covers every input file.

mod common;

use common::{overrides, write_files};
use lightbound_pbrt::build::load;
use lightbound_pbrt::diagnostics::Diagnostics;
use std::path::Path;

/// A scene that reads files of all types.
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
    load(main, &overrides(), &mut Diagnostics::new(true))
        .unwrap_or_else(|e| panic!("{e:?}"))
        .inputs
        .hash()
}

#[test]
fn hash_depends_on_every_file_but_not_on_the_folder() {
    let fill = |folder: &Path| {
        write_files(folder);
        std::fs::copy(folder.join("good.png"), folder.join("wood.png")).unwrap();
        for (name, text) in [("scene.pbrt", SCENE), ("more.pbrt", MORE), ("good.wgsl", SHADER)] {
            std::fs::write(folder.join(name), text).unwrap();
        }
    };
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fill(here.path());
    fill(there.path());
    let main = here.path().join("scene.pbrt");
    let reference = hash(&main);
    std::fs::rename(there.path().join("scene.pbrt"), there.path().join("other.pbrt")).unwrap();
    assert_eq!(reference, hash(&there.path().join("other.pbrt")));

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
        let path = here.path().join(name);
        let old = std::fs::read(&path).unwrap();
        let mut new = old.clone();
        // Appends a line break, or flips the last bit of binary pixels.
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
