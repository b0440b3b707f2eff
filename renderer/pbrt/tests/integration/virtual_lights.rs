//! Indirect light of lightcuts, from virtual lights, beside the path tracer's.

use crate::common::{load_scene, pfm, render, render_text, render_with_stats};
use lightbound::film::RenderedImage;
use lightbound::settings::{BoundMode, CutMode, ErrorMode, MethodName};
use lightbound_math::Vec3;
use lightbound_math::sampling::luminance;
use lightbound_pbrt::build::{LightcutsOverrides, Overrides};

/// Tolerance for blocks: virtual lights are the same for all pixels, so their noise does not average
/// out. The greatest errors are 5 %.
const NOISE: f64 = 0.08;

/// Width and height of images, and of the blocks that are compared.
const RESOLUTION: usize = 12;
const BLOCK: usize = 4;

/// A room of side 2 with coloured walls, a glossy sphere with smooth normals, and a translucent
/// sheet, lit by a lamp that faces the ceiling, a spot light and the sky in a window.
const ROOM: &str = r#"
LookAt 0 -0.95 0  0 1 -0.2  0 0 1
Camera "perspective" "float fov" 75
WorldBegin
LightSource "spot" "rgb I" [2 2 1] "point3 from" [0.7 -0.7 0.8] "point3 to" [-0.5 1 -0.6]
LightSource "infinite" "rgb L" [0.4 0.6 1]
AttributeBegin Material "diffuse" "rgb reflectance" [0 0 0]
    AreaLightSource "diffuse" "rgb L" [6 5 4]
    Shape "bilinearmesh" "point3 P" [-0.2 0.2 0.6  0.2 0.2 0.6  -0.2 0.6 0.6  0.2 0.6 0.6]
AttributeEnd
Material "diffuse" "rgb reflectance" [0.7 0.7 0.7]
Shape "bilinearmesh" "point3 P" [-1 -1 -1  1 -1 -1  -1 1 -1  1 1 -1]
Shape "bilinearmesh" "point3 P" [-1 -1 1  1 -1 1  -1 1 1  1 1 1]
Shape "bilinearmesh" "point3 P" [-1 1 -1  1 1 -1  -1 1 1  1 1 1]
Material "diffuse" "rgb reflectance" [0.7 0.1 0.1]
Shape "bilinearmesh" "point3 P" [-1 -1 -1  -1 1 -1  -1 -1 1  -1 1 1]
Material "coateddiffuse" "rgb reflectance" [0.1 0.6 0.1] "float roughness" 0.3
Shape "bilinearmesh" "point3 P" [1 -1 -1  1 1 -1  1 -1 0.5  1 1 0.5]
Material "diffusetransmission" "rgb reflectance" [0.2 0.2 0.2] "rgb transmittance" [0.5 0.5 0.3]
Shape "bilinearmesh" "point3 P" [-0.9 0.5 -1  -0.4 0.8 -1  -0.9 0.5 0.2  -0.4 0.8 0.2]
Material "conductor" "float roughness" 0.4
AttributeBegin Translate 0.4 0.3 -0.6 Shape "loopsubdiv" "integer levels" 2
    "integer indices" [0 2 1  0 1 3  0 3 2  1 2 3]
    "point3 P" [0.5 0.5 0.5  -0.5 -0.5 0.5  -0.5 0.5 -0.5  0.5 -0.5 -0.5] AttributeEnd
"#;

fn scene(integrator: &str, spp: u32) -> String {
    format!(
        "Integrator {integrator} \"integer maxdepth\" 12
         Sampler \"zsobol\" \"integer pixelsamples\" {spp}
         Film \"rgb\" \"integer xresolution\" {RESOLUTION} \"integer yresolution\" {RESOLUTION}
         PixelFilter \"box\" \"float xradius\" 0.5 \"float yradius\" 0.5 {ROOM}"
    )
}

fn overrides(light_paths: u32, settings: LightcutsOverrides) -> Overrides {
    Overrides {
        integrator: Some(MethodName::Lightcuts),
        lightcuts: LightcutsOverrides { light_paths: Some(light_paths), ..settings },
        ..Overrides::default()
    }
}

fn with_error(error: f32) -> LightcutsOverrides {
    LightcutsOverrides {
        error: Some(error),
        error_mode: Some(ErrorMode::Cluster),
        max_cut: Some(1 << 20),
        ..LightcutsOverrides::default()
    }
}

/// Limits the light of virtual lights, with or without compensation.
fn with_clamping(
    settings: LightcutsOverrides,
    clamp_distance: f32,
    no_compensation: bool,
) -> LightcutsOverrides {
    LightcutsOverrides { clamp_distance: Some(clamp_distance), no_compensation, ..settings }
}

fn stochastic(gather: u32, cut_size: u32) -> LightcutsOverrides {
    LightcutsOverrides {
        mode: Some(CutMode::Stochastic),
        cut_size: Some(cut_size),
        gather: Some(gather),
        ..LightcutsOverrides::default()
    }
}

/// Returns the means of blocks of pixels.
fn blocks(image: &RenderedImage) -> Vec<[f64; 3]> {
    let mut blocks = vec![[0.0; 3]; (RESOLUTION / BLOCK).pow(2)];
    for (pixel, rgb) in image.radiance.iter().enumerate() {
        let (x, y) = (pixel % RESOLUTION, pixel / RESOLUTION);
        let block = &mut blocks[y / BLOCK * (RESOLUTION / BLOCK) + x / BLOCK];
        for (sum, &value) in block.iter_mut().zip(rgb) {
            *sum += f64::from(value) / (BLOCK * BLOCK) as f64;
        }
    }
    blocks
}

fn mean(image: &RenderedImage) -> f64 {
    blocks(image).as_flattened().iter().sum::<f64>()
}

/// Asserts that images agree on average, and in each block.
fn assert_close(image: &RenderedImage, expected: &RenderedImage, [of_mean, of_block]: [f64; 2]) {
    let ratio = mean(image) / mean(expected);
    assert!((ratio - 1.0).abs() < of_mean, "the mean is {ratio} of the expected one");
    for (block, (a, b)) in blocks(image).iter().zip(blocks(expected)).enumerate() {
        for (a, b) in a.iter().zip(b) {
            let error = (a - b).abs() / b;
            assert!(error < of_block, "block {block}: {a}, expected {b}");
        }
    }
}

#[test]
fn indirect_light_matches_the_path_tracer() {
    let reference = render_text(&scene("\"path\"", 4096), &Overrides::default(), 2);
    let direct = render_text(&scene("\"lightcuts\"", 8), &overrides(0, with_error(0.01)), 2);
    assert!(mean(&direct) < 0.75 * mean(&reference), "expected indirect light");
    let deterministic = overrides(100_000, with_error(0.02));
    assert_close(
        &render_text(&scene("\"lightcuts\"", 2), &deterministic, 2),
        &reference,
        [0.01, NOISE],
    );
    // These are other virtual lights, since the paths start at other points of the lamp.
    let stochastic = overrides(400_000, stochastic(1, 256));
    assert_close(
        &render_text(&scene("\"lightcuts\"", 32), &stochastic, 2),
        &reference,
        [0.01, NOISE],
    );
}

/// Smoke in the room.
const SMOKE: &str = r#"
MakeNamedMedium "smoke" "string type" "homogeneous" "float g" 0.4
    "rgb sigma_s" [2 3 4] "rgb sigma_a" [0.5 0.5 0.2]
AttributeBegin Translate -0.2 -0.1 -0.3 MediumInterface "smoke" "" Material "interface"
Shape "sphere" "float radius" 0.5 AttributeEnd
"#;

/// Haze everywhere. No light from the sky gets through.
const HAZE: &str = r#"
MakeNamedMedium "haze" "string type" "homogeneous" "float g" -0.3
    "rgb sigma_s" [0.4 0.5 0.6] "rgb sigma_a" [0.05 0.05 0.02]
MediumInterface "haze" "haze"
"#;

#[test]
fn indirect_light_in_smoke_matches_the_path_tracer() {
    let smoke = |integrator: &str, spp| scene(integrator, spp) + SMOKE;
    let reference = render_text(&smoke("\"volpath\"", 4096), &Overrides::default(), 2);
    let direct = render_text(&smoke("\"lightcuts\"", 16), &overrides(0, with_error(0.05)), 2);
    assert!(mean(&direct) < 0.75 * mean(&reference), "expected indirect light");
    let checked = LightcutsOverrides { check_bounds: true, ..with_error(0.05) };
    // Stochastic cuts of whole pixels have more noise.
    for (light_paths, spp, settings, noise) in [
        (100_000, 8, checked, NOISE),
        (200_000, 256, stochastic(1, 128), NOISE),
        (100_000, 128, stochastic(8, 1024), 2.0 * NOISE),
    ] {
        let overrides = overrides(light_paths, settings);
        let rendered =
            render_with_stats(&load_scene(&smoke("\"lightcuts\"", spp), &[], &overrides), 2);
        assert_close(&rendered.image, &reference, [0.015, noise]);
        assert_eq!(rendered.counts.cuts.violations, 0);
    }
}

#[test]
fn indirect_light_in_haze_matches_the_path_tracer() {
    let sky = "LightSource \"infinite\" \"rgb L\" [0.4 0.6 1]";
    let haze = |integrator: &str, spp| HAZE.to_string() + &scene(integrator, spp).replace(sky, "");
    let reference = render_text(&haze("\"volpath\"", 4096), &Overrides::default(), 2);
    let image = render_text(&haze("\"lightcuts\"", 64), &overrides(100_000, stochastic(1, 128)), 2);
    assert_close(&image, &reference, [0.015, NOISE]);
}

/// Stochastic cuts of whole pixels have more noise, since bounds on virtual lights close to gather
/// points are large.
#[test]
fn stochastic_cuts_of_whole_pixels_match_those_of_single_points() {
    let image =
        |spp, settings| render_text(&scene("\"lightcuts\"", spp), &overrides(20_000, settings), 2);
    let single = image(128, stochastic(1, 64));
    assert_close(&image(1024, stochastic(32, 1024)), &single, [0.01, 0.08]);
}

#[test]
fn rays_compensate_for_clamping() {
    let clamped = |clamp_distance: f32, no_compensation: bool| {
        let settings = with_clamping(with_error(0.02), clamp_distance, no_compensation);
        render_text(&scene("\"lightcuts\"", 64), &overrides(5000, settings), 2)
    };
    let reference = clamped(0.2, false);
    assert_close(&clamped(0.8, false), &reference, [0.01, 0.05]);
    let without = [0.2, 0.8].map(|distance| mean(&clamped(distance, true)) / mean(&reference));
    assert!(without[1] < 0.9 && without[0] < 0.995, "{without:?}");
}

#[test]
fn rays_compensate_for_clamping_in_smoke() {
    let clamped = |clamp_distance: f32, no_compensation: bool| {
        let settings = with_clamping(stochastic(1, 64), clamp_distance, no_compensation);
        let text = scene("\"lightcuts\"", 512) + SMOKE;
        render_text(&text, &overrides(20_000, settings), 2)
    };
    let reference = clamped(0.2, false);
    assert_close(&clamped(0.8, false), &reference, [0.03, NOISE]);
    let ratio = mean(&clamped(0.8, true)) / mean(&reference);
    assert!(ratio < 0.8, "{ratio}");
}

#[test]
fn light_lost_to_clamping_is_measured() {
    const SPP: u32 = 64;
    let clamped = |no_compensation: bool, gather: u32| {
        let settings = LightcutsOverrides { gather: Some(gather), ..with_error(0.05) };
        let settings = with_clamping(settings, 0.8, no_compensation);
        let text = scene("\"lightcuts\"", SPP);
        render_with_stats(&load_scene(&text, &[], &overrides(1000, settings)), 2)
    };
    let sum = |image: &RenderedImage| -> f64 {
        image.radiance.iter().map(|rgb| f64::from(luminance(Vec3::from_array(*rgb)))).sum()
    };
    let complete = clamped(false, 1);
    assert_eq!(complete.counts.cuts.light.clamped_share(), None);
    for gather in [1, 16] {
        let without = clamped(true, gather);
        let lost = f64::from(SPP) * (sum(&complete.image) - sum(&without.image));
        let light = without.counts.cuts.light;
        let ratio = light.clamped / lost;
        assert!((ratio - 1.0).abs() < 0.1, "gather {gather}: {ratio} of the lost light");
        let share = light.clamped_share().unwrap();
        assert!((0.05..0.5).contains(&share), "gather {gather}: {share}");
    }
}

#[test]
fn gathered_samples_have_the_light_of_single_ones() {
    for max_depth in [2, 3] {
        let text = scene("\"lightcuts\"", 4)
            .replace("maxdepth\" 12", &format!("maxdepth\" {max_depth}"))
            .replace("Material \"conductor\" \"float roughness\" 0.4", "Material \"conductor\"");
        let image = |gather: u32| {
            let settings = LightcutsOverrides { gather: Some(gather), ..with_error(0.0) };
            render_text(&text, &overrides(200, settings), 2)
        };
        let [single, gathered] = [1, 4].map(image);
        for (a, b) in single.radiance.iter().zip(&gathered.radiance) {
            let error = (0..3).map(|c| (a[c] - b[c]).abs()).fold(0.0, f32::max);
            assert!(error <= 1e-4 * a[0].max(a[1]).max(a[2]), "{a:?} {b:?}");
        }
    }
}

#[test]
fn bounds_on_virtual_lights_hold() {
    let settings = LightcutsOverrides { check_bounds: true, ..with_error(0.02) };
    let scene = load_scene(&scene("\"lightcuts\"", 4), &[], &overrides(5000, settings));
    let [one, three] = [1, 3].map(|threads| render_with_stats(&scene, threads));
    let cuts = one.counts.cuts;
    assert!(cuts.checks > 100_000 && cuts.violations == 0, "{cuts:?}");
    assert!(one.image.radiance == three.image.radiance, "threads change the image");
}

/// The room with a rough pane in front of the camera, metal and a varnished wall. Depths are limited
/// separately for both ends of paths, so they are large enough not to matter.
fn glossy_room(integrator: &str, spp: u32) -> String {
    let glass = "Material \"dielectric\" \"float roughness\" 0.2
        Shape \"bilinearmesh\" \"point3 P\" [-0.8 -0.3 -0.6  -0.1 -0.3 -0.6  -0.8 -0.3 0.5  -0.1 -0.3 0.5]";
    let scene = scene(integrator, spp)
        .replace("\"float roughness\" 0.4", "\"float roughness\" 0.15")
        .replace("\"float roughness\" 0.3", "\"float roughness\" 0.05")
        .replace("maxdepth\" 12", "maxdepth\" 40");
    scene + glass
}

#[test]
fn paths_continue_at_glossy_surfaces() {
    let reference = render_text(&glossy_room("\"path\"", 4096), &Overrides::default(), 2);
    let glossy =
        |settings| overrides(200_000, LightcutsOverrides { glossy_paths: true, ..settings });
    for (spp, settings) in [(64, stochastic(1, 128)), (64, stochastic(16, 2048))] {
        let image = render_text(&glossy_room("\"lightcuts\"", spp), &glossy(settings), 2);
        // Light that metal and glass throw has more noise.
        assert_close(&image, &reference, [0.015, 1.5 * NOISE]);
    }
    // Without virtual lights, the pane still shows what the lights illuminate behind it.
    let direct = |glossy_paths: bool| {
        let settings = LightcutsOverrides { glossy_paths, ..with_error(0.02) };
        mean(&render_text(&glossy_room("\"lightcuts\"", 16), &overrides(0, settings), 2))
    };
    let [without, with] = [false, true].map(direct);
    assert!(with > 1.03 * without && with < mean(&reference), "{without} {with}");
}

#[test]
fn bounds_do_not_change_the_image_of_deterministic_cuts_but_its_cost() {
    let render = |bounds: BoundMode, gather: u32| {
        let settings = LightcutsOverrides {
            bounds,
            gather: Some(gather),
            check_bounds: true,
            ..with_error(0.05)
        };
        let scene = load_scene(&glossy_room("\"lightcuts\"", 4), &[], &overrides(2000, settings));
        let rendered = render_with_stats(&scene, 2);
        assert!(rendered.counts.cuts.checks > 10_000);
        assert_eq!(rendered.counts.cuts.violations, 0, "{bounds:?}, gather {gather}");
        rendered.image.radiance
    };
    for gather in [1, 4] {
        let [naive, optimized] =
            [BoundMode::Naive, BoundMode::Optimized].map(|b| render(b, gather));
        assert!(naive == optimized, "gather {gather}");
        render(BoundMode::Related, gather);
    }
}

#[test]
fn bounds_on_the_total_error_hold_with_virtual_lights() {
    const ERROR: f32 = 0.05;
    for gather in [1, 4] {
        let image = |error: f32| {
            let settings = LightcutsOverrides {
                error: Some(error),
                error_mode: Some(ErrorMode::Total),
                gather: Some(gather),
                // Compensation is noise.
                no_compensation: true,
                ..LightcutsOverrides::default()
            };
            render_text(&scene("\"lightcuts\"", 4), &overrides(300, settings), 2)
        };
        let (exact, approximate) = (image(0.0), image(ERROR));
        assert!(exact.radiance != approximate.radiance);
        for (a, b) in approximate.radiance.iter().zip(&exact.radiance) {
            let [a, b] = [a, b].map(|rgb| luminance(Vec3::from_array(*rgb)));
            assert!((a - b).abs() <= 1.001 * ERROR * b, "gather {gather}: {a}, expected {b}");
        }
    }
}

#[test]
fn virtual_lights_depend_on_the_seed() {
    let image = |seed: u32| {
        let seeded = Overrides { seed: Some(seed), ..overrides(200, with_error(0.0)) };
        render_text(&scene("\"lightcuts\"", 16), &seeded, 2)
    };
    let images = [0, 1, 2, 3, 4, 5, 6, 7].map(image);
    let reference = image_of_many_paths();
    let error = |blocks: &[[f64; 3]]| -> f64 {
        let squares = |(a, b): (&f64, &f64)| (a - b).powi(2);
        std::iter::zip(blocks.as_flattened(), reference.as_flattened()).map(squares).sum()
    };
    let blocks = images.each_ref().map(blocks);
    let mean_error: f64 = blocks.iter().map(|blocks| error(blocks)).sum::<f64>() / 8.0;
    let mut mean = vec![[0.0; 3]; blocks[0].len()];
    for blocks in &blocks {
        for (sum, x) in std::iter::zip(&mut mean, blocks) {
            (0..3).for_each(|c| sum[c] += x[c] / 8.0);
        }
    }
    let ratio = error(&mean) / mean_error;
    assert!(ratio < 0.5, "the error of the mean of eight images is {ratio} of theirs");
}

/// Returns the blocks of an image without visible blotches.
fn image_of_many_paths() -> Vec<[f64; 3]> {
    blocks(&render_text(&scene("\"lightcuts\"", 4), &overrides(200_000, with_error(0.05)), 2))
}

/// Materials of one program share buffers, and keep their textures: images are those of two programs
/// that are alike.
#[test]
fn materials_of_one_program_keep_their_textures() {
    let shader = "
        struct Material { kd: f32 }
        var wood: texture_2d<f32>;
        var smoothly: sampler;
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
            return m.kd / 3.14159265 * textureSampleLevel(wood, smoothly, wi.xy + wo.xy, 0.0).rgb;
        }";
    let texture =
        |value: f32| pfm(4, move |x, y| [value + 0.01 * x as f32, value, value + 0.02 * y as f32]);
    let files = [
        ("a.wgsl", shader.as_bytes().to_vec()),
        ("b.wgsl", shader.as_bytes().to_vec()),
        ("dark.pfm", texture(0.1)),
        ("bright.pfm", texture(0.8)),
    ];
    let text = |second: &str| {
        let material = |shader: &str, image: &str| {
            format!(
                "Material \"shader\" \"string filename\" \"{shader}\" \"float kd\" 0.9 \
                 \"string wood\" \"{image}\"\n"
            )
        };
        let floor = "Shape \"bilinearmesh\" \"point3 P\" [-1 -1 -1  1 -1 -1  -1 1 -1  1 1 -1]\n";
        let wall = "Shape \"bilinearmesh\" \"point3 P\" [-1 1 -1  1 1 -1  -1 1 1  1 1 1]\n";
        let lights = "LightSource \"point\" \"rgb I\" [1 1 1] \"point3 from\" [0.3 -0.2 0.4]\n";
        format!(
            "LookAt 0 -3 0.5  0 1 -0.5  0 0 1 Camera \"perspective\" \"float fov\" 45
             Integrator \"path\" \"integer maxdepth\" 4
             Sampler \"zsobol\" \"integer pixelsamples\" 4
             Film \"rgb\" \"integer xresolution\" 12 \"integer yresolution\" 12
             WorldBegin {lights}{}{floor}{}{wall}",
            material("a.wgsl", "dark.pfm"),
            material(second, "bright.pfm"),
        )
    };
    for gather in [1, 4] {
        let settings = LightcutsOverrides { gather: Some(gather), ..with_error(0.02) };
        let [shared, separate] = ["a.wgsl", "b.wgsl"]
            .map(|second| render(&load_scene(&text(second), &files, &overrides(300, settings)), 1));
        assert!(mean(&separate) > 0.1, "{}", mean(&separate));
        assert_eq!(shared.radiance, separate.radiance, "gather {gather}");
    }
}
