//! Lightcuts match full sums over all lights and the direct illumination of the path tracer.

use crate::common::{floor_and_spheres, load_scene, pfm, render, render_text, render_with_stats};
use lightbound::film::RenderedImage;
use lightbound::settings::{BoundMode, CutMode, ErrorMode, MethodName};
use lightbound_math::spectrum::luminance;
use lightbound_pbrt::build::{LightcutsOverrides, Overrides};

/// A diffuse floor with coated, metal and translucent spheres.
fn scene(lights: &str, resolution: u32, spp: u32) -> String {
    let settings = format!(
        r#"Sampler "zsobol" "integer pixelsamples" {spp} Integrator "path" "integer maxdepth" 1"#
    );
    let objects = r#"
Material "diffusetransmission"
AttributeBegin Translate 0 -1 0.5 Shape "sphere" "float radius" 0.5 AttributeEnd
"#;
    floor_and_spheres(&settings, resolution, lights, objects)
}

/// Returns a generator of pseudorandom numbers in [0, 1).
fn random_numbers(seed: u32) -> impl FnMut() -> f64 {
    let mut count = 0;
    move || {
        count += 1;
        f64::from(lightbound_math::sampling::unit_float(lightbound_math::sampling::hash(
            seed, count,
        )))
    }
}

/// Point and spot lights above the floor, some of them behind the spheres, and two distant lights.
fn delta_lights(count: usize) -> Vec<String> {
    let mut u = random_numbers(7);
    let mut light = |k: usize| {
        let [x, y, z] = [8.0 * u() - 4.0, 8.0 * u() - 4.0, 0.3 + 3.0 * u()];
        let rgb = format!("[{:.3} {:.3} {:.3}]", u(), u(), 0.2 + u());
        match k % 40 {
            0..20 => {
                format!(r#"LightSource "point" "rgb I" {rgb} "point3 from" [{x:.3} {y:.3} {z:.3}]"#)
            }
            20..39 => format!(
                r#"LightSource "spot" "rgb I" {rgb} "point3 from" [{x:.3} {y:.3} {z:.3}] "point3 to" [{y:.3} {x:.3} 0] "float coneangle" 50"#
            ),
            _ => format!(
                r#"LightSource "distant" "rgb L" [0.01 0.02 0.03] "point3 from" [{x:.3} {y:.3} {z:.3}]"#
            ),
        }
    };
    (0..count).map(&mut light).collect()
}

/// Lights of all types.
const LIGHTS: &str = r#"
LightSource "infinite" "rgb L" [0.1 0.12 0.2]
LightSource "point" "rgb I" [3 2 1] "point3 from" [2 2 2]
LightSource "distant" "rgb L" [0.3 0.3 0.2] "point3 from" [1 -2 3]
AttributeBegin
AreaLightSource "diffuse" "rgb L" [8 7 6]
Translate 1 -1 3 Shape "sphere" "float radius" 0.4
AttributeEnd
AttributeBegin
AreaLightSource "diffuse" "rgb L" [3 4 5] "bool twosided" true
Shape "trianglemesh" "integer indices" [0 1 2 0 2 3] "point3 P" [-3 1 2  -2 1 2  -2 1 3  -3 1.5 3]
AttributeEnd
"#;

fn lightcuts(settings: LightcutsOverrides) -> Overrides {
    Overrides {
        integrator: Some(MethodName::Lightcuts),
        lightcuts: settings,
        ..Overrides::default()
    }
}

fn with_error(error: f32, mode: ErrorMode) -> LightcutsOverrides {
    LightcutsOverrides {
        error: Some(error),
        error_mode: Some(mode),
        max_cut: Some(1 << 20),
        ..LightcutsOverrides::default()
    }
}

fn render_image(text: &str, overrides: &Overrides) -> RenderedImage {
    render_text(text, overrides, 2)
}

fn luminances(image: &RenderedImage) -> Vec<f64> {
    image.radiance.iter().map(|&rgb| f64::from(luminance(rgb.into()))).collect()
}

#[test]
fn cut_with_zero_error_is_the_sum_over_all_lights() {
    let lights = delta_lights(42);
    let text = |lights: &[String]| scene(&lights.join("\n"), 24, 1);
    let image = render_image(&text(&lights), &lightcuts(with_error(0.0, ErrorMode::Cluster)));
    let mut sum = vec![[0.0f64; 3]; image.radiance.len()];
    for light in &lights {
        let one = render_image(&text(std::slice::from_ref(light)), &Overrides::default());
        for (sum, rgb) in sum.iter_mut().zip(&one.radiance) {
            *sum = [0, 1, 2].map(|c| sum[c] + f64::from(rgb[c]));
        }
    }
    for (rgb, sum) in image.radiance.iter().zip(&sum) {
        let is_close = |c: usize| (f64::from(rgb[c]) - sum[c]).abs() <= 1e-4 * sum[c] + 1e-9;
        assert!((0..3).all(is_close), "{rgb:?}, expected {sum:?}");
    }
    assert!(
        sum.iter().filter(|rgb| rgb[1] > 0.01).count() > sum.len() / 2,
        "expected most pixels to be lit"
    );
}

#[test]
fn errors_are_within_the_error_bounds() {
    let text = scene(&delta_lights(600).join("\n"), 24, 1);
    let full = luminances(&render_image(&text, &lightcuts(with_error(0.0, ErrorMode::Cluster))));
    for (mode, error) in
        [(ErrorMode::Total, 0.02), (ErrorMode::Total, 0.2), (ErrorMode::Cluster, 0.02)]
    {
        let rendering =
            render_with_stats(&load_scene(&text, &[], &lightcuts(with_error(error, mode))), 2);
        let bounds = rendering.image.channel("error_bound").expect("the bound is recorded");
        let mut worst = 0.0f64;
        for (pixel, (cut, full)) in luminances(&rendering.image).into_iter().zip(&full).enumerate()
        {
            let difference = (cut - full).abs();
            let bound = f64::from(bounds[pixel]);
            assert!(
                difference <= bound * (1.0 + 1e-5) + 1e-6 * full,
                "{mode:?} {error}, pixel {pixel}: the error {difference} exceeds the bound {bound}"
            );
            worst = worst.max(difference / full.max(1e-9));
        }
        if mode == ErrorMode::Total {
            assert!(worst <= f64::from(error) + 1e-5, "the relative error {worst} exceeds {error}");
        }
        assert!(worst > 1e-5, "{mode:?} {error}: expected cuts with clusters");
        let sizes = rendering.counts.cuts.sizes;
        assert!(sizes.mean().unwrap() < 590.0 && rendering.counts.cuts.capped == 0);
    }
}

#[test]
fn bound_modes_change_images_within_the_error_only() {
    let text = scene(&delta_lights(300).join("\n"), 24, 1);
    let render_with_bounds = |mode: BoundMode| {
        let bounds = LightcutsOverrides { bounds: mode, ..with_error(0.02, ErrorMode::Cluster) };
        render_with_stats(
            &load_scene(
                &text,
                &[],
                &lightcuts(LightcutsOverrides { check_bounds: true, ..bounds }),
            ),
            2,
        )
    };
    let [naive, optimized, related] =
        [BoundMode::Naive, BoundMode::Optimized, BoundMode::Related].map(render_with_bounds);
    assert!(
        naive.image.radiance == optimized.image.radiance,
        "naive and optimized bounds should be the same"
    );
    assert_eq!(naive.counts.cuts.sizes, optimized.counts.cuts.sizes);
    let mean =
        |rendering: &lightbound::render::Rendering| rendering.counts.cuts.sizes.mean().unwrap();
    // Related bounds are never looser, but the error threshold depends on the estimate, which
    // varies slightly with the order of refinement.
    assert!(
        mean(&related) <= 1.001 * mean(&optimized),
        "mean cut sizes with related and optimized bounds: {} and {}",
        mean(&related),
        mean(&optimized)
    );
    for rendering in [naive, optimized, related] {
        let cuts = rendering.counts.cuts;
        assert!(
            cuts.checks > 10_000 && cuts.violations == 0,
            "{} of {} checked bounds are violated",
            cuts.violations,
            cuts.checks
        );
    }
}

/// The scene with a mirror, a lens and a moving camera.
fn varied_scene(lights: &str, spp: u32) -> String {
    let mirror = "Material \"conductor\" \"float roughness\" 0\nAttributeBegin Translate 0.3 0.4 0.3 \
                  Shape \"sphere\" \"float radius\" 0.3 AttributeEnd\n";
    let text = scene(lights, 20, spp) + mirror;
    let camera = "Camera \"perspective\"";
    let varied = format!(
        "ActiveTransform EndTime Translate 0.1 0 0 ActiveTransform All\n\
         {camera} \"float lensradius\" 0.05 \"float focaldistance\" 5"
    );
    text.replacen(camera, &varied, 1)
}

fn gather(samples: u32, settings: LightcutsOverrides) -> Overrides {
    lightcuts(LightcutsOverrides { gather: Some(samples), ..settings })
}

#[test]
fn cuts_of_whole_pixels_with_zero_error_are_sums_over_all_lights() {
    let settings = LightcutsOverrides { check_bounds: true, ..with_error(0.0, ErrorMode::Cluster) };
    for lights in [delta_lights(42).join("\n"), LIGHTS.into()] {
        let text = varied_scene(&lights, 8);
        let single = render_image(&text, &lightcuts(settings));
        let whole = render_with_stats(&load_scene(&text, &[], &gather(8, settings)), 2);
        for (a, b) in single.radiance.iter().flatten().zip(whole.image.radiance.iter().flatten()) {
            assert!((a - b).abs() <= 1e-4 * a + 1e-9, "{a} {b}");
        }
        let cuts = whole.counts.cuts;
        assert!(cuts.gather_points > 8 * 200 && cuts.sizes.count() <= 400, "{cuts:?}");
        assert!(cuts.checks > 10_000 && cuts.violations == 0, "{cuts:?}");
        let points = whole.image.channel("gather_points").expect("points are counted");
        let total: f64 = points.iter().map(|&points| f64::from(8.0 * points)).sum();
        assert_eq!(total, cuts.gather_points as f64);
    }
}

#[test]
fn errors_of_whole_pixels_are_within_the_error_bounds() {
    let text = varied_scene(&delta_lights(300).join("\n"), 8);
    let full = luminances(&render_image(&text, &lightcuts(with_error(0.0, ErrorMode::Cluster))));
    for (mode, error) in
        [(ErrorMode::Total, 0.02), (ErrorMode::Total, 0.2), (ErrorMode::Cluster, 0.02)]
    {
        let loaded = load_scene(&text, &[], &gather(8, with_error(error, mode)));
        let rendering = render_with_stats(&loaded, 2);
        let bounds = rendering.image.channel("error_bound").expect("the bound is recorded");
        for (pixel, (cut, full)) in luminances(&rendering.image).into_iter().zip(&full).enumerate()
        {
            let (difference, bound) = ((cut - full).abs(), f64::from(bounds[pixel]));
            let case = format!("{mode:?} {error}, pixel {pixel}: {difference}, {bound}, {full}");
            assert!(difference <= bound * (1.0 + 1e-5) + 1e-6 * full, "{case}");
            if mode == ErrorMode::Total {
                assert!(difference <= (f64::from(error) + 1e-5) * full + 1e-9, "{case}");
            }
        }
        let cuts = rendering.counts.cuts;
        assert!(cuts.capped == 0 && cuts.pairs < cuts.gather_points * 290, "{cuts:?}");
    }
}

/// Settings of stochastic cuts.
fn stochastic(cut_size: u32) -> LightcutsOverrides {
    LightcutsOverrides {
        mode: Some(CutMode::Stochastic),
        cut_size: Some(cut_size),
        ..LightcutsOverrides::default()
    }
}

#[test]
fn bound_modes_change_whole_pixels_within_the_error_only() {
    let text = varied_scene(&delta_lights(300).join("\n"), 4);
    for settings in [with_error(0.02, ErrorMode::Cluster), stochastic(99)] {
        let [naive, optimized, related] =
            [BoundMode::Naive, BoundMode::Optimized, BoundMode::Related].map(|bounds| {
                let settings = LightcutsOverrides { bounds, check_bounds: true, ..settings };
                render_with_stats(&load_scene(&text, &[], &gather(4, settings)), 2)
            });
        assert!(naive.image.radiance == optimized.image.radiance);
        for rendering in [naive, optimized, related] {
            let cuts = rendering.counts.cuts;
            assert!(cuts.checks > 10_000 && cuts.violations == 0, "{cuts:?}");
        }
    }
}

#[test]
fn stochastic_cuts_of_whole_pixels_count_points_and_pairs() {
    let text = varied_scene(&delta_lights(300).join("\n"), 8);
    let rendering = render_with_stats(&load_scene(&text, &[], &gather(8, stochastic(200))), 2);
    let cuts = rendering.counts.cuts;
    assert!(cuts.sizes.max() <= 200 && cuts.pairs > 150 * cuts.sizes.count(), "{cuts:?}");
    assert!(cuts.shadow_rays > cuts.pairs / 2 && cuts.shadow_rays <= cuts.pairs, "{cuts:?}");
    for (layer, count) in [
        ("gather_points", cuts.gather_points),
        ("pairs", cuts.pairs),
        ("bound_evaluations", cuts.bound_evaluations),
        ("shadow_rays", cuts.shadow_rays),
    ] {
        let values = rendering.image.channel(layer).expect("the layer is stored");
        let total: f64 = values.iter().map(|&mean| f64::from(8.0 * mean)).sum();
        assert_eq!(total, count as f64, "{layer}");
    }
}

#[test]
fn whole_pixels_do_not_depend_on_thread_count() {
    let text = varied_scene(LIGHTS, 8);
    for settings in [LightcutsOverrides::default(), stochastic(32)] {
        let scene = load_scene(&text, &[], &gather(4, settings));
        let [single, multiple] = [1, 3].map(|threads| render(&scene, threads));
        for layer in ["error_bound", "pairs", "bound_evaluations"] {
            assert_eq!(single.channel(layer).unwrap(), multiple.channel(layer).unwrap(), "{layer}");
        }
        assert!(single.radiance == multiple.radiance);
    }
}

#[test]
fn stochastic_cuts_converge_to_the_path_tracer() {
    let path = render_image(&scene(LIGHTS, 16, 1024), &Overrides::default());
    for overrides in [lightcuts(stochastic(24)), gather(16, stochastic(384))] {
        let cuts = render_image(&scene(LIGHTS, 16, 256), &overrides);
        assert_unbiased(&cuts, &path);
    }
}

/// Asserts that images differ by noise only, by the variances of their pixels.
fn assert_unbiased(cuts: &RenderedImage, path: &RenderedImage) {
    let [cuts_variance, path_variance] = [cuts, path].map(|image| image.variance.as_ref().unwrap());
    for channel in 0..3 {
        let (mut total_difference, mut variance, mut sum) = (0.0f64, 0.0f64, 0.0f64);
        let mut outliers = 0;
        for pixel in 0..cuts.radiance.len() {
            let difference =
                f64::from(cuts.radiance[pixel][channel] - path.radiance[pixel][channel]);
            let pixel_variance =
                f64::from(cuts_variance[pixel][channel] + path_variance[pixel][channel]);
            total_difference += difference;
            variance += pixel_variance;
            sum += f64::from(path.radiance[pixel][channel]);
            outliers += u32::from(difference * difference > 20.0 * pixel_variance);
        }
        assert!(
            total_difference.abs() <= 4.0 * variance.sqrt(),
            "difference {total_difference} of {sum}, deviation {}",
            variance.sqrt()
        );
        assert!(variance.sqrt() < 0.01 * sum, "the test is too noisy");
        assert!(outliers <= 2, "{outliers} pixels differ");
    }
}

#[test]
fn image_does_not_depend_on_thread_count() {
    for mode in [CutMode::Deterministic, CutMode::Stochastic] {
        let settings = LightcutsOverrides { mode: Some(mode), ..LightcutsOverrides::default() };
        let scene = load_scene(&scene(LIGHTS, 40, 2), &[], &lightcuts(settings));
        let [single, multiple] = [1, 3].map(|threads| render(&scene, threads));
        assert!(
            single.radiance == multiple.radiance
                && single.channel("error_bound").unwrap()
                    == multiple.channel("error_bound").unwrap()
        );
    }
}

#[test]
fn degenerate_lights_give_the_expected_image() {
    let point = |rgb: &str, from: &str| {
        format!("LightSource \"point\" \"rgb I\" [{rgb}] \"point3 from\" [{from}]\n")
    };
    let equal = point("1e-3 1e-3 1e-3", "1 1 3").repeat(20_000);
    let cases = [
        (String::new(), 0.0),
        (point("0 0 0", "0 0 3"), 0.0),
        // Inside a sphere, and below the floor.
        (point("5 5 5", "1.4 0 0.7") + &point("5 5 5", "0 0 -1"), 0.0),
        (equal, 20.0),
    ];
    for (lights, intensity) in cases {
        for mode in [CutMode::Deterministic, CutMode::Stochastic] {
            let settings = LightcutsOverrides { mode: Some(mode), ..LightcutsOverrides::default() };
            let cuts = render_image(&scene(&lights, 16, 1), &lightcuts(settings));
            assert_eq!(cuts.invalid_samples, 0);
            let one =
                scene(&point(&format!("{intensity} {intensity} {intensity}"), "1 1 3"), 16, 1);
            let expected = if intensity > 0.0 {
                Some(render_image(&one, &Overrides::default()))
            } else {
                None
            };
            for (pixel, rgb) in cuts.radiance.iter().enumerate() {
                let expected = expected.as_ref().map_or(0.0, |image| image.radiance[pixel][0]);
                assert!(
                    (rgb[0] - expected).abs() <= 2e-3 * expected,
                    "{mode:?}: {rgb:?}, expected {expected}"
                );
            }
        }
    }
}

#[test]
fn images_of_lights_and_portals_match_paths() {
    let image = pfm(8, |x, y| if (x + y) % 2 == 0 { [2.0, 0.5, 0.1] } else { [0.2, 0.6, 1.0] });
    let files = [("image.pfm", image)];
    let portal = "[-1 -1 4  -1 1 4  1 1 4  1 -1 4]";
    for (light, tolerance) in [
        ("\"goniometric\" \"rgb I\" [9 9 9]".to_string(), 1e-4),
        ("\"projection\" \"float fov\" 70 \"float scale\" 9".into(), 1e-4),
        // The environment is divided into points.
        (format!("\"infinite\" \"point3 portal\" {portal}"), 0.03),
    ] {
        // Above the floor, and downwards.
        let place = if light.contains("portal") { "" } else { "Translate 0 0 4 Scale 1 1 -1" };
        let lights = format!(
            "AttributeBegin {place} LightSource {light} \"string filename\" \"image.pfm\" \
             AttributeEnd"
        );
        let text = scene(&lights, 16, 64);
        let mode = Some(CutMode::Stochastic);
        let settings = LightcutsOverrides { mode, ..LightcutsOverrides::default() };
        let [path, cuts] = [Overrides::default(), lightcuts(settings)]
            .map(|overrides| render(&load_scene(&text, &files, &overrides), 2));
        let mean = |image: &RenderedImage, c: usize| {
            image.radiance.iter().map(|pixel| f64::from(pixel[c])).sum::<f64>()
        };
        let [bright, dark] = [0, 2].map(|c| mean(&path, c));
        assert!(bright > 1.0 && (bright / dark - 1.0).abs() > 0.05, "{light}: {bright} {dark}");
        for c in 0..3 {
            let ratio = mean(&cuts, c) / mean(&path, c);
            assert!((ratio - 1.0).abs() < tolerance, "{light}, channel {c}: {ratio}");
        }
        if tolerance < 1e-3 {
            for (a, b) in path.radiance.iter().flatten().zip(cuts.radiance.iter().flatten()) {
                assert!((a - b).abs() < 1e-3 * (a + b).max(0.01), "{light}: {a} {b}");
            }
        }
    }
}
