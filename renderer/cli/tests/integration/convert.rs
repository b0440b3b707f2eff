//! Tests of `lightbound convert`.

use crate::common::scene_dir::{SceneDir, channels};
use crate::common::{assert_input_error, lightbound};
use assert_cmd::Command;
use lightbound::settings::ColourSpace;
use lightbound_image::layers::{Layers, read_layers};
use lightbound_image::write::{Channel, ChannelSamples, ExrImage, write_exr, write_pfm};
use lightbound_image::{Encoding, read_exr_header};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use std::path::Path;

/// A folder with a rendering, `a.exr`.
fn rendering() -> SceneDir {
    let dir = SceneDir::new();
    dir.render(&["-o", "a.exr", "-q"]).assert().success();
    dir
}

fn convert(dir: &SceneDir, args: &[&str]) -> Command {
    let mut command = lightbound(&["convert"]);
    command.args(args).current_dir(dir.root());
    command
}

fn layers(dir: &SceneDir, name: &str) -> Layers {
    read_layers(&dir.path(name)).unwrap()
}

/// The samples of a channel of the first layer.
fn plane(image: &Layers, channel: usize) -> Vec<f32> {
    match &image.layers[0].channels[channel].samples {
        ChannelSamples::F32(samples) => samples.clone(),
        ChannelSamples::U32(_) => panic!("ids"),
    }
}

/// A channel with these samples.
fn floats(name: &str, samples: Vec<f32>) -> Channel {
    Channel { name: name.into(), samples: ChannelSamples::F32(samples) }
}

/// An image with one row of pixels.
fn row(channels: Vec<Channel>) -> ExrImage {
    let width = match &channels[0].samples {
        ChannelSamples::F32(samples) => samples.len(),
        ChannelSamples::U32(samples) => samples.len(),
    };
    let size = [width as u32, 1];
    ExrImage { size, full_size: size, channels, ..ExrImage::default() }
}

fn mean(samples: &[f32]) -> f64 {
    samples.iter().map(|&x| f64::from(x)).sum::<f64>() / samples.len() as f64
}

#[test]
fn exr_copies_keep_every_layer_bit_and_attribute() {
    let dir = rendering();
    convert(&dir, &["a.exr", "b.exr"]).assert().success().stderr(contains("24 × 16 pixels"));
    assert_eq!(channels(&dir.path("a.exr")), channels(&dir.path("b.exr")));
    let header = |name: &str| read_exr_header(&dir.path(name)).unwrap();
    assert_eq!(header("a.exr"), header("b.exr"));
}

#[test]
fn a_checkpoint_has_no_image() {
    let dir = SceneDir::new();
    let unfinished =
        ["-o", "a.exr", "--spp", "100000", "--checkpoint", "9", "--time-limit", "0.01"];
    dir.render(&unfinished).assert().success();
    for output in ["b.exr", "b.png"] {
        assert_input_error(
            &mut convert(&dir, &["a.exr.checkpoint", output]),
            &["a.exr.checkpoint: contains no image, only exact sums", "--resume"],
        );
    }
}

#[test]
fn integers_are_no_colour() {
    let dir = SceneDir::new();
    let ids = Channel { name: "Y".into(), samples: ChannelSamples::U32(vec![1, 2]) };
    write_exr(&dir.path("a.exr"), &row(vec![ids])).unwrap();
    let args = ["a.exr", "b.exr", "--layer", "Y", "--tonemap", "agx"];
    assert_input_error(&mut convert(&dir, &args), &["float channels R, G, B or Y"]);
}

#[test]
fn half_floats_and_16_bits_are_close() {
    let dir = rendering();
    convert(&dir, &["a.exr", "half.exr", "--bits", "16"]).assert().success();
    convert(&dir, &["a.exr", "deep.png", "--bits", "16"]).assert().success();
    convert(&dir, &["a.exr", "a.pfm"]).assert().success();
    let [a, half, deep, pfm] =
        ["a.exr", "half.exr", "deep.png", "a.pfm"].map(|name| plane(&layers(&dir, name), 1));
    assert_eq!(a, pfm);
    for i in 0..a.len() {
        assert!((a[i] - half[i]).abs() <= a[i] / 2048.0 && a != half, "{} {}", a[i], half[i]);
        assert!((a[i].min(1.0) - deep[i]).abs() < 4e-5, "{} {}", a[i], deep[i]);
    }
    assert_input_error(&mut convert(&dir, &["a.exr", "b.png", "--bits", "32"]), &["8 or 16"]);
    assert_input_error(&mut convert(&dir, &["a.exr", "b.pfm", "--bits", "16"]), &[".pfm"]);
    assert_input_error(&mut convert(&dir, &["a.exr", "b.exr", "--bits", "7"]), &["8, 16 or 32"]);
}

#[test]
fn values_that_half_floats_lack_are_reported() {
    let dir = SceneDir::new();
    write_exr(&dir.path("a.exr"), &row(vec![floats("Y", vec![1e6, f32::NAN])])).unwrap();
    let half = convert(&dir, &["a.exr", "b.exr", "--bits", "16"]).assert().success();
    half.stderr(contains("1 value above 65504"));
    let png = convert(&dir, &["a.exr", "b.png"]).assert().success();
    png.stderr(contains("NaN becomes 0: 1 value"));
    assert_eq!(plane(&layers(&dir, "b.png"), 0), [1.0, 0.0]);
}

#[test]
fn markers_of_pixels_without_a_surface_do_not_count_as_overflows() {
    let dir = SceneDir::new();
    let image = |z: Vec<f32>| row(vec![floats("depth.Z", z)]);
    write_exr(&dir.path("a.exr"), &image(vec![2.0, 1e10])).unwrap();
    for layer in [&[][..], &["--layer", "depth"]] {
        let args = [&["a.exr", "b.exr", "--bits", "16"], layer].concat();
        convert(&dir, &args).arg("-q").assert().success().stderr("");
    }
    write_exr(&dir.path("a.exr"), &image(vec![2e9, 1e10])).unwrap();
    let half = convert(&dir, &["a.exr", "b.exr", "--bits", "16"]).assert().success();
    half.stderr(contains("1 value above 65504").and(contains("1 layer,")));
}

#[test]
fn resized_images_have_no_variance() {
    let dir = SceneDir::new();
    dir.render(&["-o", "a.exr", "-q", "--variance"]).assert().success();
    let resized = convert(&dir, &["a.exr", "b.exr", "--resize", "50%"]).assert().success();
    resized.stderr(contains("the layer `variance` is left out"));
    assert!(layers(&dir, "b.exr").get("variance").is_none());
    convert(&dir, &["a.exr", "b.exr", "-q"]).assert().success().stderr("");
    assert!(layers(&dir, "b.exr").get("variance").is_some());
    let selected = ["a.exr", "b.exr", "--resize", "50%", "--layer", "variance"];
    let message = ["--resize cannot tell the variance"];
    assert_input_error(&mut convert(&dir, &selected), &message);
    // The file has no other layer.
    let variance = ["variance.R", "variance.G", "variance.B"];
    let image = row(variance.map(|name| floats(name, vec![1.0, 2.0])).into());
    write_exr(&dir.path("v.exr"), &image).unwrap();
    assert_input_error(&mut convert(&dir, &["v.exr", "b.exr", "--resize", "50%"]), &message);
}

#[test]
fn components_of_vectors_are_filtered() {
    let dir = SceneDir::new();
    let channels = ["normal.X", "normal.Y", "normal.Z", "depth.Z"];
    let image = row(channels.map(|name| floats(name, vec![1.0, 2.0])).into());
    write_exr(&dir.path("a.exr"), &image).unwrap();
    for (layer, expected) in
        [("normal", vec![1.5; 3]), ("normal.Z", vec![1.5]), ("depth", vec![2.0])]
    {
        let args = ["a.exr", "b.exr", "-q", "--resize", "1x1", "--layer", layer];
        convert(&dir, &args).assert().success().stderr("");
        let layers = layers(&dir, "b.exr").layers;
        let channels = layers.iter().flat_map(|layer| &layer.channels);
        let values = channels.map(|channel| match &channel.samples {
            ChannelSamples::F32(samples) => samples[0],
            ChannelSamples::U32(_) => panic!("integers"),
        });
        assert_eq!(values.collect::<Vec<_>>(), expected, "{layer}");
    }
}

#[test]
fn exposure_scales_and_png_equals_that_of_render() {
    let dir = rendering();
    convert(&dir, &["a.exr", "b.exr", "--exposure", "-1"]).assert().success();
    let half = |x: &f32| x * 0.5;
    let expected: Vec<f32> = plane(&layers(&dir, "a.exr"), 0).iter().map(half).collect();
    let image = layers(&dir, "b.exr");
    assert_eq!((plane(&image, 0), image.layers.len()), (expected, 1));
    convert(&dir, &["a.exr", "b.png", "--exposure", "1.5"]).assert().success();
    dir.render(&["-o", "c.png", "-q", "--exposure", "1.5"]).assert().success();
    let bytes = |name: &str| std::fs::read(dir.path(name)).unwrap();
    assert_eq!(bytes("b.png"), bytes("c.png"));
}

#[test]
fn tone_mapping_fits_highlights_into_the_display() {
    let dir = rendering();
    let bright = plane(&layers(&dir, "a.exr"), 0).iter().filter(|x| **x > 0.25).count();
    assert!(bright > 0, "the scene is above 1 with this exposure");
    for curve in ["agx", "aces"] {
        let args = ["a.exr", "b.exr", "--exposure", "2", "--tonemap", curve];
        convert(&dir, &args).assert().success();
        let mapped = plane(&layers(&dir, "b.exr"), 0);
        assert!(mapped.iter().all(|x| (0.0..=1.0).contains(x)), "{curve}: {mapped:?}");
        assert!(mapped.iter().any(|x| *x > 0.1), "{curve}");
    }
    let args = ["a.exr", "b.png", "--tonemap", "agx", "--layer", "normal"];
    assert_input_error(&mut convert(&dir, &args), &["R, G, B or Y", "X, Y, Z"]);
}

#[test]
fn resizing_keeps_the_mean() {
    let dir = rendering();
    let before = mean(&plane(&layers(&dir, "a.exr"), 2));
    for (size, [w, h]) in
        [("50%", [12, 8]), ("7x5", [7, 5]), ("100x", [100, 67]), ("x40", [60, 40])]
    {
        convert(&dir, &["a.exr", "b.exr", "--resize", size]).assert().success();
        let image = layers(&dir, "b.exr");
        let window = image.layers[0].data_window;
        assert_eq!((window.width(), window.height()), (w, h), "{size}");
        assert_eq!(window, image.display_window, "{size}");
        let after = mean(&plane(&image, 2));
        assert!((after / before - 1.0).abs() < 1e-5, "{size}: {before} {after}");
    }
}

#[test]
fn converted_environment_maps_light_like_the_original() {
    let dir = SceneDir::new();
    let texels: Vec<[f32; 3]> = (0..128).map(|i| [(i % 7) as f32, 1.0, (i / 40) as f32]).collect();
    write_pfm(&dir.path("globe.pfm"), 16, 8, &texels).unwrap();
    let args = ["globe.pfm", "square.exr", "--envmap", "equiarea"];
    convert(&dir, &args).assert().success().stderr(contains("11 × 11 pixels"));
    assert_eq!(
        dir.channels(&["--environment", "square.exr"]),
        dir.channels(&["--environment", "globe.pfm"])
    );
    let image = layers(&dir, "square.exr");
    assert_eq!(image.layers[0].data_window, image.display_window);
    // Other primaries, and colours out of the gamut of sRGB.
    rec2020(&dir.path("wide.exr"), (16, 8), |x, y| [0.5 * (x % 3) as f32, 0.25, 0.1 * y as f32]);
    let args = ["wide.exr", "square.exr", "--envmap", "equiarea"];
    let warning = "warning: wide.exr: 58 of 128 texels are negative; instead: 0";
    convert(&dir, &args).assert().success().stderr(contains(warning));
    dir.render(&["--environment", "wide.exr"]).assert().success().stderr(contains(warning));
    assert_eq!(
        dir.channels(&["--environment", "square.exr"]),
        dir.channels(&["--environment", "wide.exr"])
    );
    let again = ["square.exr", "b.exr", "--envmap", "equiarea"];
    assert_input_error(&mut convert(&dir, &again), &["twice as wide as high", "11 × 11"]);
}

#[test]
fn crops_take_pixels_or_fractions_and_keep_their_place() {
    let dir = rendering();
    for crop in ["6,12,4,8", "0.25,0.5,0.25,0.5"] {
        convert(&dir, &["a.exr", "b.exr", "--crop", crop]).assert().success();
        let mut compare = lightbound(&["compare", "b.exr", "a.exr", "--crop", "6,12,4,8"]);
        compare.args(["--layers", "all", "--fail-above", "max=0"]).current_dir(dir.root());
        compare.assert().success();
        let window = layers(&dir, "b.exr").layers[0].data_window;
        assert_eq!((window.x0, window.y0, window.width(), window.height()), (6, 4, 6, 4));
    }
    let crop = ["a.exr", "b.exr", "--crop", "0,25,0,16"];
    assert_input_error(&mut convert(&dir, &crop), &["0 to 24 and rows 0 to 16"]);
}

#[test]
fn layers_and_channels_become_pictures() {
    let dir = rendering();
    convert(&dir, &["a.exr", "b.exr", "--layer", "albedo"]).assert().success();
    let names: Vec<String> = channels(&dir.path("b.exr")).into_iter().map(|c| c.0).collect();
    assert_eq!(names, ["B", "G", "R"]);
    convert(&dir, &["a.exr", "z.pfm", "--layer", "depth.Z"]).assert().success();
    let image = layers(&dir, "z.pfm");
    assert_eq!(image.layers[0].channels[0].name, "Y");
    assert_eq!(plane(&image, 0)[0..3], plane_of(&layers(&dir, "a.exr"), "depth")[0..3]);
    let ids = convert(&dir, &["a.exr", "ids.exr", "--layer", "object.id"]).assert().success();
    ids.stderr(contains("object.id, 32-bit integers"));
    assert_eq!(channels(&dir.path("ids.exr"))[0].0, "id");
    let ids = ["a.exr", "b.png", "--layer", "object.id"];
    assert_input_error(&mut convert(&dir, &ids), &["falsecolor"]);
    let missing = ["a.exr", "b.png", "--layer", "gloss"];
    assert_input_error(&mut convert(&dir, &missing), &["no layer `gloss`", "albedo"]);
}

fn plane_of(image: &Layers, layer: &str) -> Vec<f32> {
    let ChannelSamples::F32(samples) = &image.get(layer).unwrap().channels[0].samples else {
        panic!("ids")
    };
    samples.clone()
}

#[test]
fn a_layer_that_becomes_white_is_a_warning() {
    let dir = SceneDir::new();
    write_exr(&dir.path("a.exr"), &row(vec![floats("depth.Z", vec![1.0, 7.0])])).unwrap();
    let args = ["a.exr", "b.png", "--layer", "depth"];
    let white = convert(&dir, &args).assert().success();
    white.stderr(contains("the picture is white; `lightbound falsecolor` draws"));
    convert(&dir, &args).args(["-q", "--exposure", "-3"]).assert().success().stderr("");
}

#[test]
fn parts_lose_their_sums() {
    let dir = SceneDir::new();
    dir.render(&["-o", "part.exr", "--sample-range", "0..2", "-q"]).assert().success();
    convert(&dir, &["part.exr", "b.exr", "--exposure", "0"]).assert().success();
    convert(&dir, &["part.exr", "c.exr"]).assert().success();
    for name in ["b.exr", "c.exr"] {
        assert!(channels(&dir.path(name)).iter().all(|(name, _)| !name.starts_with("sums")));
        let mut merge = lightbound(&["merge", name, "-o", "merged.exr"]);
        assert_input_error(merge.current_dir(dir.root()), &[name]);
    }
}

#[test]
fn opacity_survives_and_colours_are_multiplied_by_it_in_exr() {
    let dir = SceneDir::new();
    let image = image::RgbaImage::from_raw(2, 1, vec![255, 0, 0, 128, 0, 255, 0, 255]).unwrap();
    image.save(dir.path("a.png")).unwrap();
    convert(&dir, &["a.png", "b.exr"]).assert().success();
    let alpha = 128.0 / 255.0;
    assert_eq!(plane(&layers(&dir, "b.exr"), 0), [alpha, 0.0]);
    convert(&dir, &["b.exr", "c.png"]).assert().success();
    let back = image::open(dir.path("c.png")).unwrap().to_rgba8();
    assert_eq!(back.as_raw(), image.as_raw());
    let mut compare = lightbound(&["compare", "a.png", "b.exr", "--fail-above", "max=0"]);
    compare.current_dir(dir.root()).assert().success();
    convert(&dir, &["b.exr", "d.pfm"]).assert().success().stderr(contains("opacity is left out"));
    assert_eq!(plane(&layers(&dir, "d.pfm"), 0), [alpha, 0.0]);
}

#[test]
fn other_formats_are_decoded_from_srgb() {
    let dir = SceneDir::new();
    image::GrayImage::from_pixel(3, 2, image::Luma([51])).save(dir.path("a.png")).unwrap();
    convert(&dir, &["a.png", "b.exr"]).assert().success();
    assert_eq!(plane(&layers(&dir, "b.exr"), 0), [Encoding::Srgb.decode(0.2); 6]);
}

#[test]
fn streams_replace_files() {
    let dir = rendering();
    let data = std::fs::read(dir.path("a.exr")).unwrap();
    let output =
        convert(&dir, &["-", "png:-"]).write_stdin(data).assert().success().get_output().clone();
    convert(&dir, &["a.exr", "b.png"]).assert().success();
    assert_eq!(output.stdout, std::fs::read(dir.path("b.png")).unwrap());
    assert!(output.stderr.starts_with(b"stdout: 24 \xc3\x97 16 pixels"));
}

#[test]
fn unusable_files_are_errors() {
    let dir = rendering();
    assert_input_error(&mut convert(&dir, &["a.exr", "a.exr"]), &["would overwrite"]);
    assert_input_error(&mut convert(&dir, &["a.exr", "b.jpg"]), &["unknown image format"]);
    let negative = ["a.exr", "b.exr", "--resize", "-5x4"];
    assert_input_error(&mut convert(&dir, &negative), &["-5x4", "as in 640x360"]);
    assert_input_error(&mut convert(&dir, &["none.exr", "b.png"]), &["none.exr: cannot be read"]);
    std::fs::write(dir.path("c.exr"), "text").unwrap();
    assert_input_error(&mut convert(&dir, &["c.exr", "b.png"]), &["unknown image format"]);
    for scene in ["a.pbrt", "a.pbrt.gz"] {
        std::fs::write(dir.path(scene), "WorldBegin").unwrap();
        let parts = ["is a scene, not an image", &format!("lightbound render {scene}")];
        assert_input_error(&mut convert(&dir, &[scene, "b.png"]), &parts);
    }
    assert_input_error(&mut convert(&dir, &["a.exr", "b.png", "--resize", "0x4"]), &["640x360"]);
}

/// Writes an image with the primaries of Rec. 2020.
fn rec2020(path: &Path, size: (usize, usize), rgb: impl Fn(usize, usize) -> [f32; 3] + Sync) {
    use exr::meta::attribute::Chromaticities;
    use exr::prelude::{Image, SpecificChannels, Vec2, WritableImage};
    let channels = SpecificChannels::rgb(|at: Vec2<usize>| rgb(at.x(), at.y()).into());
    let mut image = Image::from_channels(size, channels);
    image.attributes.chromaticities = Some(Chromaticities {
        red: Vec2(0.708, 0.292),
        green: Vec2(0.17, 0.797),
        blue: Vec2(0.131, 0.046),
        white: Vec2(0.3127, 0.329),
    });
    image.write().to_file(path).unwrap();
}

#[test]
fn other_primaries_are_converted_unless_the_file_states_them() {
    let dir = SceneDir::new();
    let rgb = [0.5f32, 0.25, 0.125];
    rec2020(&dir.path("a.exr"), (2, 1), |_, _| rgb);
    let convert_silently =
        |args: &[&str]| drop(convert(&dir, args).arg("-q").assert().success().stderr(""));
    let colour = |name: &str| {
        let image = layers(&dir, name);
        [0, 1, 2].map(|channel| plane(&image, channel)[0])
    };
    let assert_near = |a: [f32; 3], b: [f32; 3]| {
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5), "{a:?} {b:?}");
    };
    convert_silently(&["a.exr", "copy.exr"]);
    assert_eq!(colour("copy.exr"), rgb);
    convert_silently(&["copy.exr", "srgb.pfm"]);
    assert_near(colour("srgb.pfm"), ColourSpace::Rec2020.to_srgb(vec![rgb])[0]);
    // Tone mapping is in sRGB, and its result says so.
    convert_silently(&["a.exr", "agx.exr", "--tonemap", "agx"]);
    convert_silently(&["srgb.pfm", "expected.exr", "--tonemap", "agx"]);
    assert_near(colour("agx.exr"), colour("expected.exr"));
    convert_silently(&["agx.exr", "agx.pfm"]);
    assert_eq!(colour("agx.exr"), colour("agx.pfm"));
    let warning = "warning: a.exr: the primaries are not those of sRGB, and `R` cannot";
    convert(&dir, &["a.exr", "r.pfm", "--layer", "R"]).assert().success().stderr(contains(warning));
}
