//! Shaders in the path tracer: surface inputs, evaluation counts and invalid results.

use crate::common::{
    Estimate, TestScene, assert_all_ok, brute_force, load_scene, render, render_with_stats,
    single_ray_scene,
};
use lightbound::material::{Material, Program, Setting, ShaderBinding, ShaderInstance};
use lightbound_math::{Vec3, vec3};
use lightbound_pbrt::build::Overrides;
use lightbound_shader::{Arena, Settings, Shader, Target};
use std::sync::Arc;

/// Returns a diffuse shader. Its albedo is `colour`, an expression of `p: SurfacePoint`.
fn diffuse_shader(colour: &str) -> String {
    format!(
        "struct Material {{ kd: vec3f }}
        fn material(p: SurfacePoint) -> Material {{ return Material({colour}); }}
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{ return m.kd * 0.318309886; }}"
    )
}

/// Replaces the last material of the scene with a shader.
fn with_shader(mut scene: TestScene, text: &str) -> TestScene {
    let shader = Shader::parse("test.wgsl", text).unwrap_or_else(|error| panic!("{error}"));
    let program =
        Program::compile(&Arena::new(), &shader, &Settings::default(), Target::best()).unwrap();
    let settings = program.settable.iter().map(|parameter| {
        let values = parameter.default.clone().unwrap_or(vec![0.5; parameter.size]);
        (parameter, Setting::Constant(values))
    });
    let instance = ShaderInstance::new(scene.shaders.len() as u32, settings);
    scene.shaders.push(ShaderBinding::new(Arc::new(program), vec![]));
    *scene.materials.last_mut().unwrap() = Material::scattering(instance);
    scene
}

/// An orthographic view along −z onto [−1, 1]², lit by a distant light from +z.
fn from_above(depth: u32, spp: u32, world: &str) -> TestScene {
    let text = format!(
        "Film \"rgb\" \"integer xresolution\" 40 \"integer yresolution\" 8\nIntegrator \"path\" \"integer maxdepth\" {depth}\n\
         Sampler \"zsobol\" \"integer pixelsamples\" {spp}\nPixelFilter \"box\" \"float xradius\" 0.5 \"float yradius\" 0.5\n\
         Scale -1 1 1 LookAt 0 0 5  0 0 0  0 1 0\nCamera \"orthographic\" \"float screenwindow\" [-1 1 -1 1]\nWorldBegin\n\
         LightSource \"distant\" \"point3 from\" [0 0 1] \"point3 to\" [0 0 0]\n{world}\n"
    );
    load_scene(&text, &[], &Overrides::default())
}

const SQUARE: &str = "Shape \"bilinearmesh\" \"point3 P\" [-1 -1 0  1 -1 0  -1 1 0  1 1 0]\n";

#[test]
fn surface_inputs_match_the_hit_point() {
    // A sphere with the shader in front of a square of another material, so that hits of
    // the shader are spread over several batches.
    let world = format!(
        "Material \"diffuse\" \"rgb reflectance\" [0.25 0.25 0.25]\n{SQUARE}Material \"diffuse\"\n\
         ObjectBegin \"sphere\"\nShape \"sphere\"\nObjectEnd\nTranslate 0.2 0.1 0.5\nScale 0.5 0.8 0.25\nObjectInstance \"sphere\"\n"
    );
    type ExpectedAlbedo = fn(position: Vec3, normal: Vec3) -> Vec3;
    let cases: [(&str, ExpectedAlbedo); 3] = [
        ("p.position * 0.25 + 0.5", |p, _| 0.25 * p + 0.5),
        ("p.object_position * 0.5 + 0.5", |p, _| {
            0.5 * (p - vec3(0.2, 0.1, 0.5)) / vec3(0.5, 0.8, 0.25) + 0.5
        }),
        ("p.normal * 0.5 + 0.5", |_, n| 0.5 * n + 0.5),
    ];
    for (colour, expected) in cases {
        let image = render(&with_shader(from_above(0, 1, &world), &diffuse_shader(colour)), 2);
        let features = image.features.unwrap();
        let mut sphere_pixels = 0;
        for i in 0..features.albedo.len() {
            let [albedo, p, n] = [&features.albedo, &features.position, &features.normal]
                .map(|feature| Vec3::from(feature[i]));
            let on_sphere = p.z > 1e-3;
            let expected = if on_sphere { expected(p, n) } else { Vec3::splat(0.25) };
            assert!(
                (albedo - expected).abs().max_element() < 1e-4,
                "{colour}, pixel {i}: {albedo}, expected {expected}"
            );
            sphere_pixels += u32::from(on_sphere);
        }
        assert!((50..200).contains(&sphere_pixels), "{sphere_pixels} pixels show the sphere");
    }
    let image =
        render(&with_shader(from_above(0, 1, SQUARE), &diffuse_shader("vec3f(p.uv, 0.5)")), 2);
    let features = image.features.unwrap();
    for (albedo, p) in features.albedo.iter().zip(&features.position) {
        let expected = vec3(0.5 * p[0] + 0.5, 0.5 * p[1] + 0.5, 0.5);
        assert!(
            (Vec3::from(*albedo) - expected).abs().max_element() < 1e-5,
            "{albedo:?}, expected {expected}"
        );
    }
}

#[test]
fn shaders_with_surface_inputs_are_sampled_without_bias() {
    let stripes = "select(vec3f(0.1, 0.5, 0.9), vec3f(0.8, 0.3, 0.2), fract(3.0 * p.object_position.x + p.uv.y) < 0.5)";
    // Reflects half of the albedo, transmits a fifth, and has no `sample` function.
    let translucent =
        diffuse_shader(stripes).replace("m.kd * ", "m.kd * select(0.2, 0.5, wi.z * wo.z > 0.0) * ");
    let two_sided = format!("//! sides: both\n{translucent}");
    let world = "LightSource \"infinite\" \"rgb L\" [0.4 0.5 0.7]\n\
         AttributeBegin\nAreaLightSource \"diffuse\" \"rgb L\" [6 5 4] \"bool twosided\" true\nTranslate 0 1.5 2\n\
         Shape \"disk\" \"float radius\" 0.8\nAttributeEnd\nObjectBegin \"things\"\nMaterial \"diffuse\"\nShape \"sphere\" \"float zmax\" 0.5\n\
         Shape \"disk\" \"float radius\" 3 \"float height\" -1\nObjectEnd\nRotate 20 1 0 0\nScale 0.7 -0.8 0.6\nObjectInstance \"things\"\n";
    let mut results = Vec::new();
    for (name, shader) in [("one side", diffuse_shader(stripes)), ("both sides", two_sided)] {
        for (view, from, to) in [
            ("into the bowl", vec3(0.3, -1.0, 4.0), vec3(0.1, 0.1, -0.3)),
            ("below the bowl", vec3(2.0, -3.0, -4.0), vec3(0.2, 0.1, -0.6)),
        ] {
            let scene = with_shader(
                load_scene(
                    &single_ray_scene(from, to, 4, 16, 64, world),
                    &[],
                    &Overrides::default(),
                ),
                &shader,
            );
            let expected = brute_force(&scene, 4, 64, 2048);
            assert!(expected.mean.iter().all(|&x| x > 0.0), "{name} {view}");
            results.push((
                format!("{name} {view}"),
                Estimate::from_image(&render(&scene, 2)).agrees(&expected, 4.5),
            ));
        }
    }
    assert_all_ok(results);
}

#[test]
fn batches_fill_all_lanes() {
    // One light sample and one BSDF sample for each of 4 samples in 320 pixels.
    let shading = render_with_stats(&from_above(1, 4, SQUARE), 1).counts.shading;
    assert_eq!((shading.evaluations, shading.lanes, shading.capped), (2 * 4 * 320, 2 * 4 * 320, 0));
}

#[test]
fn capped_loops_are_counted() {
    let endless = "struct Material { x: f32 }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
            var x = m.x;
            while (x > 0.0) { x = x * 0.5 + 1.0; }
            return vec3f(0.0);
        }";
    let scene = with_shader(from_above(1, 1, &SQUARE.replace('1', "0.1")), endless);
    let shading = render_with_stats(&scene, 2).counts.shading;
    assert!(shading.evaluations > 0 && shading.capped == shading.evaluations, "{shading:?}");
}

#[test]
fn nan_results_are_counted_as_invalid_samples() {
    let broken = "struct Material { x: f32 }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(sqrt(m.x - 3.0)); }";
    let image = render(&with_shader(from_above(1, 2, SQUARE), broken), 2);
    assert_eq!(image.invalid_samples, 2 * 320);
}
