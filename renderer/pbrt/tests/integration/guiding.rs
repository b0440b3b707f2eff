//! Training affects noise only: guided and branching paths, and material weights of light trees, have
//! the same expected image. It does not depend on threads or on the part of the image.

use crate::common::{TestScene, assert_images_agree, load_scene, pfm, render};
use lightbound::film::{FeatureLayers, FilmOptions, RenderedImage};
use lightbound::integrator::{self, TrainingStats};
use lightbound::render::{RenderOptions, Rendering, render_with};
use lightbound::settings::{BsdfSampling, Guiding, LightSampling};
use lightbound_pbrt::build::{Overrides, PathOverrides};
use std::sync::atomic::AtomicBool;

/// A room that is lit through a door, with diffuse, glossy, and partly specular surfaces.
const ROOM: &str = r#"
    Film "rgb" "integer xresolution" 32 "integer yresolution" 32
    Sampler "zsobol" "integer pixelsamples" 64
    LookAt 0.3 0.4 1.6  3.2 3 0.9  0 0 1
    Camera "perspective" "float fov" 75
    Integrator "path" "integer maxdepth" 6
    WorldBegin
    AttributeBegin
    AreaLightSource "diffuse" "rgb L" [30 25 20] "bool twosided" true
    Shape "bilinearmesh" "point3 P" [5 1 2.5  5 2.5 2.5  6.5 1 2.5  6.5 2.5 2.5]
    AttributeEnd
    Material "diffuse" "rgb reflectance" [0.7 0.6 0.5]
    Shape "bilinearmesh" "point3 P" [0 0 0  8 0 0  0 4 0  8 4 0]
    Shape "bilinearmesh" "point3 P" [0 0 2.6  8 0 2.6  0 4 2.6  8 4 2.6]
    Shape "bilinearmesh" "point3 P" [0 0 0  8 0 0  0 0 2.6  8 0 2.6]
    Shape "bilinearmesh" "point3 P" [0 4 0  8 4 0  0 4 2.6  8 4 2.6]
    Shape "bilinearmesh" "point3 P" [0 0 0  0 4 0  0 0 2.6  0 4 2.6]
    Shape "bilinearmesh" "point3 P" [8 0 0  8 4 0  8 0 2.6  8 4 2.6]
    Shape "bilinearmesh" "point3 P" [4 0 0  4 2 0  4 0 2.6  4 2 2.6]
    AttributeBegin
    Material "conductor" "float roughness" 0.2
    Translate 2.6 1.4 0.5  Shape "sphere" "float radius" 0.5
    AttributeEnd
    AttributeBegin
    Material "coateddiffuse" "rgb reflectance" [0.2 0.4 0.6] "float roughness" 0
    Translate 1.6 3 0.6  Shape "sphere" "float radius" 0.6
    AttributeEnd
    AttributeBegin
    Material "dielectric" "float roughness" 0.1
    Translate 3.2 3.2 0.4  Shape "sphere" "float radius" 0.4
    AttributeEnd
"#;

fn load(text: &str, path: PathOverrides, seed: u32) -> TestScene {
    let sky = pfm(16, |x, y| if (x, y) == (5, 9) { [90.0; 3] } else { [0.3, 0.4, 0.5] });
    load_scene(
        text,
        &[("sky.pfm", sky)],
        &Overrides { path, seed: Some(seed), ..Overrides::default() },
    )
}

fn guided(guiding: Guiding) -> PathOverrides {
    PathOverrides { guiding: Some(guiding), ..PathOverrides::default() }
}

/// Renders with statistics of the training.
fn render_trained(
    TestScene { scene, settings }: &TestScene,
    threads: usize,
) -> (RenderedImage, Option<TrainingStats>) {
    let integrator = integrator::new(scene, settings).unwrap();
    let film = FilmOptions { moments: true, ..FilmOptions::default() };
    let options = RenderOptions { threads, film, ..RenderOptions::default() };
    let image = render_with(scene, settings, &*integrator, &options).image;
    (image, integrator.training())
}

/// Returns the sum of the variances of all pixels.
fn variance(image: &RenderedImage) -> f64 {
    let variance = image.variance.as_ref().unwrap();
    variance.as_flattened().iter().map(|&v| f64::from(v)).sum()
}

#[test]
fn guiding_reduces_noise_and_keeps_means() {
    // With more pixels, there are more training paths.
    let room =
        ROOM.replace("resolution\" 32", "resolution\" 64").replace("samples\" 64", "samples\" 32");
    let (plain, training) = render_trained(&load(&room, guided(Guiding::Off), 1), 2);
    assert_eq!(training, None);
    let (trained, training) = render_trained(&load(&room, guided(Guiding::Auto), 2), 2);
    let training = training.unwrap();
    let guide = training.guide.expect("the guide helps");
    assert!(training.branches > 1 && guide.cells > 8 && guide.moment_ratio < 0.95, "{training:?}");
    assert_images_agree(&plain, &trained, 4.0, "guided");
    let (plain, trained) = (variance(&plain), variance(&trained));
    assert!(trained < 0.5 * plain, "{trained} {plain}");
}

#[test]
fn guiding_keeps_means_in_other_modes() {
    let sky = "LightSource \"infinite\" \"string filename\" \"sky.pfm\"\n";
    // Cosine sampling rarely hits narrow lobes.
    let text = ROOM
        .replace("0 0 2.6  8 0 2.6  0 4 2.6  8 4 2.6", "0 0 2.6  1 0 2.6  0 1 2.6  1 1 2.6")
        .replace("samples\" 64", "samples\" 256")
        + sky;
    let plain = render(&load(&text, guided(Guiding::Off), 1), 2);
    let modes = [
        (LightSampling::Power, BsdfSampling::Bounds),
        (LightSampling::MaterialTree, BsdfSampling::Cosine),
        (LightSampling::Tree, BsdfSampling::Shader),
    ];
    for (seed, (lights, bsdf)) in modes.into_iter().enumerate() {
        let path = PathOverrides {
            light_sampling: Some(lights),
            bsdf_sampling: Some(bsdf),
            guiding: Some(Guiding::On),
        };
        let trained = render(&load(&text, path, 10 + seed as u32), 2);
        assert_images_agree(&plain, &trained, 4.5, &format!("{lights:?} {bsdf:?}"));
    }
}

#[test]
fn training_does_not_depend_on_threads_or_on_the_part_of_the_image() {
    // More pixels than the training image has, and many tiles.
    let scene = |settings: &str| {
        let film = format!("\"integer xresolution\" 240 \"integer yresolution\" 150 {settings}");
        let text = ROOM.replace("\"integer xresolution\" 32 \"integer yresolution\" 32", &film);
        load(&text.replace("pixelsamples\" 64", "pixelsamples\" 1"), guided(Guiding::On), 3)
    };
    let whole = scene("");
    let (image, training) = render_trained(&whole, 1);
    let (parallel, of_parallel) = render_trained(&whole, 3);
    assert_eq!(image.radiance, parallel.radiance);
    let (part, of_part) = render_trained(&scene("\"integer pixelbounds\" [105 120 70 130]"), 2);
    let result = |training: Option<TrainingStats>| {
        let training = training.unwrap();
        (training.guide, training.shadow_threshold)
    };
    let trained = result(training);
    assert!(trained.0.is_some() && trained.1.is_some(), "{trained:?}");
    assert!(trained == result(of_parallel) && trained == result(of_part));
    for (y, row) in part.radiance.chunks(15).enumerate() {
        assert_eq!(row, &image.radiance[240 * (y + 70) + 105..][..15]);
    }
}

#[test]
fn direct_light_alone_needs_no_training() {
    let text = ROOM.replace("\"integer maxdepth\" 6", "\"integer maxdepth\" 1");
    let (_, training) = render_trained(&load(&text, guided(Guiding::On), 4), 2);
    assert_eq!(training, None);
}

#[test]
fn paths_of_dispersive_scenes_do_not_branch() {
    let text = ROOM.replace(
        "\"dielectric\" \"float roughness\" 0.1",
        "\"dielectric\" \"float roughness\" 0.1 \"spectrum eta\" \"glass-F11\"",
    );
    let (_, training) = render_trained(&load(&text, guided(Guiding::On), 5), 2);
    assert_eq!(training.unwrap().branches, 1);
}

#[test]
fn stopped_training_leaves_no_guide_and_no_samples() {
    let scene = load(ROOM, guided(Guiding::On), 6);
    let integrator = integrator::new(&scene, &scene.settings).unwrap();
    let stop = AtomicBool::new(true);
    let options = RenderOptions { threads: 2, stop: &stop, ..RenderOptions::default() };
    let image = render_with(&scene, &scene.settings, &*integrator, &options).image;
    assert_eq!((image.max_samples, integrator.training()), (0, None));
}

#[test]
fn guides_do_not_add_noise_to_the_albedo() {
    let text = ROOM.replace("pixelsamples\" 64", "pixelsamples\" 4");
    let diffuse = &text[..text.find("AttributeBegin\n    Material \"conductor\"").unwrap()];
    let albedo = |guiding| {
        let scene = load(diffuse, guided(guiding), 7);
        let integrator = integrator::new(&scene, &scene.settings).unwrap();
        let film = FilmOptions { features: FeatureLayers::ALL, ..FilmOptions::default() };
        let options = RenderOptions { threads: 2, film, ..RenderOptions::default() };
        let rendering = render_with(&scene, &scene.settings, &*integrator, &options);
        assert_eq!(integrator.training().is_some(), guiding == Guiding::On);
        rendering.image.features.expect("the features are recorded").albedo
    };
    assert_eq!(albedo(Guiding::On), albedo(Guiding::Off));
}

/// A floor of a material under 100 lights.
fn floor_under_lights(material: &str) -> String {
    let light = |i: u32| {
        let [x, y, z] = [i % 10, i / 10, i * 7 % 10].map(|k| f64::from(k) - 4.5);
        format!(
            "LightSource \"point\" \"rgb I\" [1 1 1] \"point3 from\" [{x} {y} {}]\n",
            2.5 + 0.4 * z
        )
    };
    let lights: String = (0..100).map(light).collect();
    format!(
        r#"Film "rgb" "integer xresolution" 64 "integer yresolution" 64
        Sampler "zsobol" "integer pixelsamples" 16
        LookAt 0 -8 3  0 0 0  0 0 1
        Camera "perspective" "float fov" 50
        Integrator "path" "integer maxdepth" 2
        WorldBegin
        {lights}
        Material {material}
        Shape "bilinearmesh" "point3 P" [-6 -6 0  6 -6 0  -6 6 0  6 6 0]"#
    )
}

#[test]
fn training_chooses_material_weights_for_glossy_surfaces_under_many_lights() {
    let path = |lights| PathOverrides { light_sampling: Some(lights), ..PathOverrides::default() };
    let glossy = floor_under_lights("\"conductor\" \"float roughness\" 0.15");
    let (chosen, training) = render_trained(&load(&glossy, path(LightSampling::Auto), 1), 2);
    assert!(training.unwrap().material_weights);
    let (tree, training) = render_trained(&load(&glossy, path(LightSampling::Tree), 2), 2);
    assert!(!training.unwrap().material_weights);
    assert_images_agree(&tree, &chosen, 4.0, "material weights");
    let ratio = variance(&chosen) / variance(&tree);
    assert!(ratio < 0.5, "{ratio}");
    let diffuse = floor_under_lights("\"diffuse\"");
    let (_, training) = render_trained(&load(&diffuse, path(LightSampling::Auto), 3), 2);
    assert!(!training.unwrap().material_weights);
}

#[test]
fn shadow_rays_are_dropped_only_where_they_contribute_little() {
    let trained = |text: &str, guiding, seed| {
        let TestScene { scene, settings } = &load(text, guided(guiding), seed);
        let integrator = integrator::new(scene, settings).unwrap();
        // Variances are needed to compare images.
        let film = FilmOptions { moments: true, ..FilmOptions::default() };
        let options = RenderOptions { threads: 2, film, ..RenderOptions::default() };
        let rendering = render_with(scene, settings, &*integrator, &options);
        let threshold = integrator.training().and_then(|training| training.shadow_threshold);
        (rendering, threshold)
    };
    let (plain, _) = trained(ROOM, Guiding::Off, 1);
    let (dropped, threshold) = trained(ROOM, Guiding::Auto, 2);
    assert!(threshold.is_some());
    let share = |r: &Rendering| r.counts.shadow_rays as f64 / r.counts.rays as f64;
    assert!(share(&dropped) < 0.9 * share(&plain), "{} {}", share(&dropped), share(&plain));
    assert_images_agree(&plain.image, &dropped.image, 4.0, "dropped shadow rays");
    // All light is direct, from one lamp.
    let lamp = r#"Film "rgb" "integer xresolution" 32 "integer yresolution" 32
        Sampler "zsobol" "integer pixelsamples" 16
        LookAt 0 -8 3  0 0 0  0 0 1
        Camera "perspective" "float fov" 50
        Integrator "path" "integer maxdepth" 2
        WorldBegin
        LightSource "point" "rgb I" [9 9 9] "point3 from" [0 0 4]
        Material "diffuse"
        Shape "bilinearmesh" "point3 P" [-6 -6 0  6 -6 0  -6 6 0  6 6 0]"#;
    let (_, threshold) = trained(lamp, Guiding::Auto, 3);
    assert_eq!(threshold, None);
}
