//! The components of radiance: by the kind of path, and by light group.

use crate::common::{Estimate, TestScene, WEAVE, floor_and_spheres, load_scene, pfm};
use lightbound::film::{Component, ComponentLayers, FilmOptions, RenderedImage};
use lightbound::integrator;
use lightbound::render::{RenderOptions, render_with};
use lightbound::settings::{BsdfSampling, Guiding, LightSampling};
use lightbound_pbrt::build::{Overrides, PathOverrides};

use Component::{Diffuse, Direct, Emission, Indirect, LightGroup, Specular};

/// An environment that turns, a point light, and two area lights. The groups are `sky`, `default`,
/// `key` and `fill`.
const LIGHTS: &str = r#"
AttributeBegin
ActiveTransform EndTime Rotate 20 0 0 1 ActiveTransform All
LightSource "infinite" "string filename" "sky.pfm" "float scale" 0.05 "string lightgroup" "sky"
AttributeEnd
LightSource "point" "rgb I" [3 2 1] "point3 from" [2 2 2]
AttributeBegin
AreaLightSource "diffuse" "rgb L" [9 12 15] "bool twosided" true "string lightgroup" "key"
Shape "trianglemesh" "integer indices" [0 1 2 0 2 3] "point3 P" [-3 1 2  -2 1 2  -2 1 3  -3 1.5 3]
AttributeEnd
AttributeBegin
AreaLightSource "diffuse" "rgb L" [2 1 1] "string lightgroup" "fill"
Translate 0 2.5 0.6
Shape "sphere" "float radius" 0.6
AttributeEnd
"#;

/// A mirror, smooth coats, a glass, a leaf, and a shader without a sampler.
const OBJECTS: &str = r#"
Material "conductor" "float roughness" 0
AttributeBegin Translate 0 -1.5 0.4 Shape "sphere" "float radius" 0.4 AttributeEnd
Material "coateddiffuse" "rgb reflectance" [0.2 0.4 0.6] "float roughness" 0
AttributeBegin Translate 2 -1.5 0.4 Shape "sphere" "float radius" 0.4 AttributeEnd
Material "dielectric" "spectrum eta" "glass-F11"
AttributeBegin Translate -2 -1.5 0.4 Shape "sphere" "float radius" 0.4 AttributeEnd
Material "diffusetransmission"
AttributeBegin Translate -1 1.2 1.2 Rotate 70 1 0 0 Shape "disk" "float radius" 0.6 AttributeEnd
Material "shader" "string filename" "weave.wgsl" "string grain" "grain.pfm"
AttributeBegin Translate 0.8 1 1.2 Rotate 70 1 0 0 Shape "disk" "float radius" 0.6 AttributeEnd
"#;

fn load(lights: &str, objects: &str, resolution: u32, overrides: &Overrides) -> TestScene {
    let sky = pfm(16, |x, y| match (x, y) {
        (3, 9) => [60.0, 50.0, 30.0],
        _ => [0.1 * (x % 4) as f32, 0.2, 0.05 * (y % 5) as f32],
    });
    let grain = pfm(8, |x, y| [0.4 + 0.6 * ((x + y) % 2) as f32, 0.7, 0.5]);
    let files = [("sky.pfm", sky), ("grain.pfm", grain), ("weave.wgsl", WEAVE.into())];
    let settings = r#"Sampler "independent" Integrator "path" "integer maxdepth" 5"#;
    load_scene(&floor_and_spheres(settings, resolution, lights, objects), &files, overrides)
}

/// Renders with components.
fn render(TestScene { scene, settings }: &TestScene, components: ComponentLayers) -> RenderedImage {
    let integrator = integrator::new(scene, settings).unwrap();
    assert!(integrator.has_components());
    let film = FilmOptions { components, moments: true, ..FilmOptions::default() };
    let options = RenderOptions { threads: 2, film, ..RenderOptions::default() };
    render_with(scene, settings, &*integrator, &options).image
}

/// Returns the number of light groups.
fn groups(scene: &TestScene) -> u32 {
    scene.lights.groups().names().len() as u32
}

/// Returns the mean of an image.
fn mean(radiance: &[[f32; 3]]) -> [f64; 3] {
    let sum = |c: usize| radiance.iter().map(|p| f64::from(p[c])).sum::<f64>();
    [0, 1, 2].map(|c| sum(c) / radiance.len() as f64)
}

fn path(guiding: Guiding, lights: LightSampling, bsdf: BsdfSampling) -> Overrides {
    let path = PathOverrides {
        guiding: Some(guiding),
        light_sampling: Some(lights),
        bsdf_sampling: Some(bsdf),
    };
    Overrides { path, spp: Some(4), ..Overrides::default() }
}

/// Asserts that components sum to the radiance, up to the rounding of means.
fn assert_sum(image: &RenderedImage, components: &[Component], label: &str) {
    let images: Vec<_> = components.iter().map(|&c| image.component(c).unwrap()).collect();
    for (pixel, radiance) in image.radiance.iter().enumerate() {
        for c in 0..3 {
            let values = images.iter().map(|image| f64::from(image[pixel][c]));
            let (sum, magnitude) =
                values.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
            assert!(
                (sum - f64::from(radiance[c])).abs() <= 2e-7 * magnitude,
                "{label}: {components:?} of pixel {pixel}: {sum} {}",
                radiance[c]
            );
        }
    }
}

#[test]
fn components_sum_to_the_radiance_in_all_modes() {
    let modes = [
        path(Guiding::On, LightSampling::Tree, BsdfSampling::Shader),
        path(Guiding::Off, LightSampling::MaterialTree, BsdfSampling::Bounds),
        path(Guiding::On, LightSampling::Power, BsdfSampling::Cosine),
        path(Guiding::Auto, LightSampling::Uniform, BsdfSampling::Shader),
    ];
    for overrides in modes {
        let label = format!("{:?}", overrides.path);
        let scene = load(LIGHTS, OBJECTS, 32, &overrides);
        assert_eq!(scene.lights.groups().names(), ["sky", "default", "key", "fill"]);
        let image = render(&scene, ComponentLayers::all(groups(&scene)));
        assert_sum(&image, &[Emission, Direct, Indirect], &label);
        assert_sum(&image, &[Emission, Diffuse, Specular], &label);
        let all_groups: Vec<_> = (0..groups(&scene)).map(LightGroup).collect();
        assert_sum(&image, &all_groups, &label);
        for component in image.components.iter() {
            let n = component.radiance.iter().filter(|p| p[1] > 0.0).count();
            assert!(n > 10, "{label}: {:?} is positive in {n} pixels", component.component);
        }
        // Components change no bit of the radiance.
        let without = render(&scene, ComponentLayers::default());
        assert!(without.radiance == image.radiance && without.components.is_empty(), "{label}");
    }
}

#[test]
fn light_groups_are_images_of_the_scene_with_their_lights_only() {
    let overrides = |seed| Overrides { spp: Some(16), seed: Some(seed), ..Overrides::default() };
    let layers = |scene: &TestScene| ComponentLayers {
        light_groups: groups(scene),
        ..ComponentLayers::default()
    };
    let all: Vec<RenderedImage> = (0..12)
        .map(|seed| {
            let scene = load(LIGHTS, "", 24, &overrides(seed));
            render(&scene, layers(&scene))
        })
        .collect();
    let is_light = |line: &str| line.contains("lightgroup") || line.contains("\"point\"");
    for (group, name) in (0..).zip(["sky", "default", "key", "fill"]) {
        // Black lights keep the shapes.
        let others_black: String = LIGHTS
            .lines()
            .map(|line| {
                let is_own = match name {
                    "default" => line.contains("\"point\""),
                    _ => line.contains(&format!("\"{name}\"")),
                };
                match is_light(line) && !is_own {
                    true => {
                        format!("{line} \"float scale\" 0\n").replace("\"float scale\" 0.05", "")
                    }
                    false => format!("{line}\n"),
                }
            })
            .collect();
        let alone = |seed: u32| {
            let scene = load(&others_black, "", 24, &overrides(100 + seed));
            mean(&render(&scene, ComponentLayers::default()).radiance)
        };
        let alone = Estimate::from_samples(&(0..12).map(alone).collect::<Vec<_>>());
        let in_group = |image: &RenderedImage| mean(image.component(LightGroup(group)).unwrap());
        let found = Estimate::from_samples(&all.iter().map(in_group).collect::<Vec<_>>());
        found.agrees(&alone, 4.5).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn direct_light_is_that_of_paths_with_one_scattering_event() {
    let mut scene =
        load(LIGHTS, OBJECTS, 32, &path(Guiding::Off, LightSampling::Tree, BsdfSampling::Shader));
    let layers = ComponentLayers::all(0);
    let long = render(&scene, layers);
    scene.settings.integrator.max_depth = 1;
    let short = render(&scene, layers);
    scene.settings.integrator.max_depth = 0;
    let none = render(&scene, layers);
    assert!(short.component(Indirect).unwrap().iter().all(|p| *p == [0.0; 3]));
    for component in [Direct, Indirect, Diffuse, Specular] {
        assert!(none.component(component).unwrap().iter().all(|p| *p == [0.0; 3]));
    }
    let same = |a: &[[f32; 3]], b: &[[f32; 3]]| {
        let pairs = a.as_flattened().iter().zip(b.as_flattened());
        pairs.clone().all(|(a, b)| (a - b).abs() <= 2e-6 * a.abs().max(0.01))
    };
    assert!(same(long.component(Direct).unwrap(), short.component(Direct).unwrap()));
    assert!(same(long.component(Emission).unwrap(), &none.radiance));
}

#[test]
fn specular_light_is_that_of_black_diffuse_lobes() {
    // With a rough coat, one shader has both lobes; with a smooth one, the coat is a mirror.
    let coats = |reflectance: &str| {
        format!(
            r#"Material "coateddiffuse" "rgb reflectance" {reflectance} "float roughness" 0.2
            AttributeBegin Translate 0 -0.6 0.7 Shape "sphere" "float radius" 0.7 AttributeEnd
            Material "coateddiffuse" "rgb reflectance" {reflectance} "float roughness" 0
            AttributeBegin Translate 0 -2 0.5 Shape "sphere" "float radius" 0.5 AttributeEnd"#
        )
    };
    // Without the environment, which has a lot of noise.
    let lights = LIGHTS.lines().filter(|line| !line.contains("sky"));
    let lights = lights.collect::<Vec<_>>().join("\n");
    // Only direct light, so that black surfaces do not darken others. The other objects scatter the
    // same light in both scenes.
    let specular = |reflectance: &str, first_seed: u32| {
        let samples = (first_seed..first_seed + 12).map(|seed| {
            let overrides = Overrides { spp: Some(128), seed: Some(seed), ..Overrides::default() };
            let mut scene = load(&lights, &coats(reflectance), 20, &overrides);
            scene.settings.integrator.max_depth = 1;
            mean(render(&scene, ComponentLayers::all(0)).component(Specular).unwrap())
        });
        Estimate::from_samples(&samples.collect::<Vec<_>>())
    };
    let (found, black) = (specular("[0.7 0.5 0.3]", 0), specular("[0 0 0]", 100));
    for c in 0..3 {
        let error = found.error[c].hypot(black.error[c]);
        assert!((found.mean[c] - black.mean[c]).abs() < 4.5 * error, "{found:?} {black:?}");
        // Far less than diffuse light would add.
        assert!(error < 0.15 * black.mean[c], "{found:?} {black:?}");
    }
}

#[test]
fn lobes_of_pure_materials_are_pure() {
    let scene = |material: &str| {
        let text = format!(
            r#"Integrator "path" LookAt 0 -6 3  0 0 0.5  0 0 1 Camera "perspective"
            Film "rgb" "integer xresolution" 16 "integer yresolution" 16
            Sampler "zsobol" "integer pixelsamples" 4
            WorldBegin LightSource "infinite" LightSource "point" "point3 from" [1 -2 3]
            {material} Shape "sphere""#
        );
        load_scene(&text, &[], &Overrides::default())
    };
    for (material, black) in [
        (r#"Material "diffuse""#, Specular),
        (r#"Material "diffusetransmission""#, Specular),
        (r#"Material "shader" "string filename" "oren_nayar.wgsl""#, Specular),
        (r#"Material "conductor" "float roughness" 0.2"#, Diffuse),
        (r#"Material "conductor" "float roughness" 0"#, Diffuse),
        (r#"Material "dielectric" "float roughness" 0.2"#, Diffuse),
        (r#"Material "thindielectric""#, Diffuse),
        (r#"Material "hair""#, Diffuse),
    ] {
        let image = render(&scene(material), ComponentLayers::all(1));
        let is_black = |c| image.component(c).unwrap().iter().all(|p| *p == [0.0; 3]);
        let other = if black == Diffuse { Specular } else { Diffuse };
        assert!(is_black(black) && !is_black(other), "{material}");
    }
}
