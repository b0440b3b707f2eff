//! Same seed, same bits: whatever the number of threads, and whatever part of the picture is rendered.

mod common;

use common::{overrides, render_text};
use lightbound::film::Picture;
use lightbound::scene::build::Overrides;

const SCENE: &str = r#"
Sampler "zsobol" "integer pixelsamples" 6
Integrator "path" "integer maxdepth" 5
LookAt 0 -6 3  0 0 0.5  0 0 1
Camera "perspective" "float fov" 40 "float lensradius" 0.1 "float focaldistance" 6
Film "rgb" "integer xresolution" 70 "integer yresolution" 50
PixelFilter "mitchell"
WorldBegin
LightSource "infinite" "rgb L" [0.3 0.4 0.5]
AttributeBegin
AreaLightSource "diffuse" "rgb L" [8 7 6]
Translate 1 -1 3
Shape "sphere" "float radius" 0.3
AttributeEnd
Material "diffuse" "rgb reflectance" [0.5 0.6 0.7]
Shape "trianglemesh" "integer indices" [0 1 2 0 2 3] "point3 P" [-9 -9 0  9 -9 0  9 9 0  -9 9 0]
Material "dielectric"
AttributeBegin Translate -1 0 0.7 Shape "sphere" "float radius" 0.7 AttributeEnd
Material "conductor" "float roughness" 0.2
AttributeBegin Translate 1 0 0.7 Shape "sphere" "float radius" 0.7 AttributeEnd
"#;

fn bits(p: &Picture) -> Vec<u32> {
    let f = p.features.as_ref().unwrap();
    let colours = [&p.radiance, &f.albedo, &f.normal, &f.position];
    let mut all: Vec<u32> = colours.into_iter().flatten().flatten().map(|x| x.to_bits()).collect();
    all.extend(f.depth.iter().map(|x| x.to_bits()));
    all.extend(f.material.iter().chain(&f.object));
    all
}

#[test]
fn threads_leave_no_trace() {
    let one = bits(&render_text(SCENE, &overrides(), 1));
    for threads in [2, 3, 8] {
        assert!(one == bits(&render_text(SCENE, &overrides(), threads)), "{threads} threads");
    }
}

#[test]
fn a_crop_shows_the_same_pixels() {
    let whole = render_text(SCENE, &overrides(), 2);
    let crop = Overrides { crop: Some([0.2, 0.7, 0.1, 0.9]), ..overrides() };
    let part = render_text(SCENE, &crop, 2);
    let w = part.window;
    assert_eq!((w.x0, w.x1, w.y0, w.y1), (14, 49, 5, 45));
    for (i, (x, y)) in w.pixels().enumerate() {
        assert_eq!(part.radiance[i], whole.radiance[(y * 70 + x) as usize], "pixel {x}, {y}");
    }
}

#[test]
fn another_seed_is_another_picture() {
    let seed = |seed| bits(&render_text(SCENE, &Overrides { seed: Some(seed), ..overrides() }, 2));
    assert!(seed(1) != seed(2));
}
