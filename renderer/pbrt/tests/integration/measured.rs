//! Measured materials in scenes.

use crate::common::{load_scene, render};
use lightbound::film::RenderedImage;
use lightbound::settings::MethodName;
use lightbound_pbrt::build::Overrides;
use lightbound_shader::Target;

/// Renders spheres of both materials of the suite.
fn spheres(light: &str, spp: u32, threads: usize, overrides: &Overrides) -> RenderedImage {
    let text = format!(
        r#"
        LookAt 0 -5 1  0 0 0  0 0 1
        Camera "perspective" "float fov" 34
        Film "rgb" "integer xresolution" 24 "integer yresolution" 12
        Sampler "zsobol" "integer pixelsamples" {spp}
        Integrator "path" "integer maxdepth" 1
        WorldBegin
        {light}
        Material "measured" "string filename" "bronze.bsdf"
        AttributeBegin Translate -1.1 0 0 Shape "sphere" AttributeEnd
        Material "measured" "string filename" "satin.bsdf"
        AttributeBegin Translate 1.1 0 0 Shape "sphere" AttributeEnd
        "#
    );
    let suite = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/suite");
    let file = |name: &'static str| (name, std::fs::read(suite.join(name)).unwrap());
    let scene = load_scene(&text, &[file("bronze.bsdf"), file("satin.bsdf")], overrides);
    render(&scene, threads)
}

const LAMP: &str = r#"LightSource "point" "point3 from" [-2 -4 4] "rgb I" [30 30 30]"#;

#[test]
fn bits_depend_on_neither_threads_nor_instruction_set() {
    let sky = r#"LightSource "infinite" "rgb L" [1 0.9 0.8]"#;
    let bits = |image: RenderedImage| -> Vec<u32> {
        image.radiance.iter().flatten().map(|x| x.to_bits()).collect()
    };
    let base = bits(spheres(sky, 4, 1, &Overrides::default()));
    assert!(base == bits(spheres(sky, 4, 3, &Overrides::default())));
    for target in Target::ALL.into_iter().filter(|target| target.is_available()) {
        let overrides = Overrides { target, ..Overrides::default() };
        assert!(base == bits(spheres(sky, 4, 1, &overrides)), "{target:?}");
    }
}

#[test]
fn surfaces_reflect_less_light_than_they_receive() {
    let image = spheres(r#"LightSource "infinite""#, 256, 2, &Overrides::default());
    let (mut lit, mut max) = (0, 0.0f32);
    for pixel in &image.radiance {
        let is_surface = *pixel != [1.0; 3];
        lit += u32::from(is_surface && pixel.iter().all(|&x| x > 0.05));
        max = if is_surface { pixel.iter().fold(max, |a, &b| a.max(b)) } else { max };
    }
    assert!(lit > 60 && max < 1.01, "{lit} {max}");
}

#[test]
fn lightcuts_agree_with_the_path_tracer() {
    let path = spheres(LAMP, 256, 2, &Overrides::default());
    let overrides = Overrides { integrator: Some(MethodName::Lightcuts), ..Overrides::default() };
    let cuts = spheres(LAMP, 256, 2, &overrides);
    for (a, b) in path.radiance.iter().flatten().zip(cuts.radiance.iter().flatten()) {
        assert!((a - b).abs() < 1e-4 + 1e-3 * a, "{a} {b}");
    }
}
