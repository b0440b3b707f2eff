//! `lightbound compare`: exit codes, metrics and messages, for all file formats.

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use lightbound_image::Encoding;
use lightbound_image::write::{
    Attribute, CHROMATICITIES, Channel, ChannelSamples, ExrImage, write_exr, write_pfm, write_png,
};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

const WIDTH: usize = 16;
const HEIGHT: usize = 12;

/// A temporary folder with images.
struct ImageDir {
    folder: TempDir,
}

/// A smooth ramp that exceeds 1; its values are multiples of 1/64.
fn ramp() -> Vec<[f32; 3]> {
    let pixel = |i: usize| {
        [0, 1, 2].map(|c| ((i % WIDTH) * (c + 2) + i / WIDTH) as f32 / 64.0 * (c + 1) as f32)
    };
    (0..WIDTH * HEIGHT).map(pixel).collect()
}

/// The ramp with one pixel changed.
fn changed(x: usize, y: usize, to: [f32; 3]) -> Vec<[f32; 3]> {
    let mut rgb = ramp();
    rgb[y * WIDTH + x] = to;
    rgb
}

fn channels(layer: &str, names: [&str; 3], rgb: &[[f32; 3]]) -> Vec<Channel> {
    let plane = |c: usize| ChannelSamples::F32(rgb.iter().map(|p| p[c]).collect());
    names
        .iter()
        .enumerate()
        .map(|(c, name)| Channel { name: format!("{layer}{name}"), samples: plane(c) })
        .collect()
}

impl ImageDir {
    fn new() -> ImageDir {
        let dir = ImageDir { folder: tempfile::tempdir().unwrap() };
        dir.exr("reference.exr", &ramp());
        dir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn exr(&self, name: &str, rgb: &[[f32; 3]]) {
        self.layers(name, channels("", ["R", "G", "B"], rgb));
    }

    fn layers(&self, name: &str, channels: Vec<Channel>) {
        self.layers_with(name, channels, Vec::new());
    }

    fn layers_with(
        &self,
        name: &str,
        channels: Vec<Channel>,
        attributes: Vec<(String, Attribute)>,
    ) {
        let size = [WIDTH as u32, HEIGHT as u32];
        let image = ExrImage { size, full_size: size, channels, attributes, ..Default::default() };
        write_exr(&self.path(name), &image).unwrap();
    }

    /// `lightbound compare ARGS`, in the folder.
    fn compare(&self, args: &[&str]) -> Assert {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lightbound"));
        command
            .arg("compare")
            .args(args)
            .current_dir(self.folder.path())
            .timeout(Duration::from_secs(60))
            .assert()
    }

    /// The same with JSON output, parsed.
    fn json(&self, args: &[&str]) -> Value {
        let output = self.compare(&[args, &["--format", "json"]].concat()).get_output().clone();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
    }
}

#[test]
fn equal_images_pass() {
    let dir = ImageDir::new();
    dir.compare(&["reference.exr", "reference.exr"]).code(0).stderr("").stdout(
        contains("0 of 192 pixels")
            .and(contains("psnr                    ∞"))
            .and(contains("hdr-flip                0")),
    );
    let report = dir.json(&["reference.exr", "reference.exr", "--metric", "psnr,ssim,rmse"]);
    assert_eq!(report["passed"], true);
    let metrics = &report["layers"][0]["metrics"];
    assert_eq!(
        metrics["rmse"],
        json!({ "overall": 0.0, "channels": { "R": 0.0, "G": 0.0, "B": 0.0 } })
    );
    assert_eq!(metrics["psnr"]["overall"], Value::Null);
    assert!((metrics["ssim"]["overall"].as_f64().unwrap() - 1.0).abs() < 1e-9);
}

#[test]
fn several_images_are_compared_with_one_reference() {
    let dir = ImageDir::new();
    let attributes = |seconds, min, max| {
        vec![
            ("lightbound/renderSeconds".into(), Attribute::Float(seconds)),
            ("lightbound/minSamples".into(), Attribute::Int(min)),
            ("lightbound/maxSamples".into(), Attribute::Int(max)),
        ]
    };
    let colours = |x, to| channels("", ["R", "G", "B"], &changed(x, 1, to));
    dir.layers_with("a-1s.exr", colours(2, [1.0; 3]), attributes(1.25, 3, 4));
    dir.layers_with("a-2s.exr", colours(3, [2.0; 3]), attributes(2.5, 8, 8));
    dir.exr("other.exr", &changed(4, 1, [3.0; 3]));
    let images = ["a-1s.exr", "a-2s.exr", "other.exr"];
    let args = [&images[..], &["--reference", "reference.exr"]].concat();
    let report = dir.json(&args);
    assert_eq!((&report["reference"], &report["passed"]), (&json!("reference.exr"), &json!(true)));
    for (i, name) in images.iter().enumerate() {
        let image = &report["images"][i];
        assert_eq!(image["a"], *name);
        let alone = dir.json(&[name, "reference.exr"]);
        for metric in ["mean-error", "rmse", "relmse", "mape", "hdr-flip"] {
            let path = |value: &Value| value["layers"][0]["metrics"][metric]["overall"].clone();
            assert!(path(image).is_number());
            assert_eq!(path(image), path(&alone), "{name}: {metric}");
        }
    }
    let efforts =
        ["seconds", "samples"].map(|key| [0, 1, 2].map(|i| report["images"][i][key].clone()));
    assert_eq!(efforts[0], [json!(1.25), json!(2.5), Value::Null]);
    assert_eq!(efforts[1], [json!(3.5), json!(8.0), Value::Null]);
    let table = contains("seconds   samples").and(contains("a-1s.exr       1.25       3.5"));
    dir.compare(&args).code(0).stdout(table);
    // Limits apply to each.
    let limit = ["--fail-above", "max=1.5"];
    let failed = contains("failed: other.exr: layer `colour`: max").and(contains("a-1s").not());
    dir.compare(&[&args[..], &limit].concat()).code(1).stderr(failed);
    // The page has all images.
    let stderr = contains("report: page/index.html");
    dir.compare(&[&args[..], &["--report", "page"]].concat()).code(0).stderr(stderr);
    let files = std::fs::read_dir(dir.path("page")).unwrap().map(|file| file.unwrap().path());
    let folder = files.into_iter().find(|path| path.is_dir()).unwrap();
    let list = std::fs::read_to_string(folder.join("cases.js")).unwrap();
    let list = list.strip_prefix("showComparison(").and_then(|text| text.strip_suffix(");\n"));
    let list: Value = serde_json::from_str(list.unwrap()).unwrap();
    let names =
        |key: &str| [0, 1, 2].map(|i| list["pictures"][i][key].as_str().unwrap().to_owned());
    assert_eq!(names("series"), ["a", "a", "other"]);
    assert_eq!(names("group"), ["1s", "2s", ""]);
    assert_eq!(
        list["pictures"][1]["metrics"]["rmse"],
        report["images"][1]["layers"][0]["metrics"]["rmse"]["overall"]
    );
}

#[test]
fn a_reference_is_required_and_several_images_have_no_heat_map() {
    let dir = ImageDir::new();
    let one = "reference.exr";
    dir.compare(&[one]).code(2).stderr(contains("name the reference after it"));
    dir.compare(&[one, one, one]).code(2).stderr(contains("--reference"));
    let several = [one, one, "--reference", one, "--heatmap", "map.png"];
    dir.compare(&several).code(2).stderr(contains("use --report"));
    // A folder of others is not overwritten.
    std::fs::create_dir(dir.path("site")).unwrap();
    std::fs::write(dir.path("site/index.html"), "mine").unwrap();
    let page = [one, one, "--report", "site"];
    dir.compare(&page).code(2).stderr(contains("name another folder with --report"));
}

#[test]
fn all_layers_are_compared_without_exact_sums() {
    let dir = ImageDir::new();
    let image = |sum: u32| {
        let sums = ChannelSamples::U32(vec![sum; WIDTH * HEIGHT]);
        let mut channels = channels("", ["R", "G", "B"], &ramp());
        channels.push(Channel { name: "sums.R0".into(), samples: sums });
        channels
    };
    dir.layers("a.exr", image(1));
    dir.layers("b.exr", image(2));
    for other in ["b.exr", "reference.exr"] {
        dir.compare(&["a.exr", other, "--layers", "all", "--fail-above", "differing=0"]).code(0);
    }
}

#[test]
fn variances_in_other_primaries_are_a_warning() {
    let dir = ImageDir::new();
    let layers = || {
        let variance = channels("variance.", ["R", "G", "B"], &ramp());
        channels("", ["R", "G", "B"], &ramp()).into_iter().chain(variance).collect()
    };
    let rec2020 = [[0.708, 0.292], [0.17, 0.797], [0.131, 0.046], [0.3127, 0.329]];
    let attribute = (CHROMATICITIES.into(), Attribute::Chromaticities(rec2020));
    dir.layers_with("wide.exr", layers(), vec![attribute]);
    dir.layers("variance.exr", layers());
    let files = ["wide.exr", "variance.exr", "--fail-above", "max=100"];
    dir.compare(&files).code(0).stderr("");
    let all = [&files[..], &["--layers", "all"]].concat();
    dir.compare(&all).code(0).stderr(contains("wide.exr: the primaries are not those of sRGB"));
    dir.compare(&all).stderr(contains("`variance` cannot be converted").count(1));
}

#[test]
fn names_of_rendered_layers_are_explained() {
    let dir = ImageDir::new();
    for (name, meant) in [("beauty", "`colour`"), ("ids", "`material.id` and `object.id`")] {
        dir.compare(&["reference.exr", "reference.exr", "--layers", name])
            .code(2)
            .stderr(contains(meant));
    }
}

#[test]
fn changed_pixel_has_expected_metrics() {
    let dir = ImageDir::new();
    let [r, g, b] = ramp()[5 * WIDTH + 3];
    dir.exr("new.exr", &changed(3, 5, [r, g - 0.75, b]));
    let report = dir.json(&[
        "new.exr",
        "reference.exr",
        "--metric",
        "mean-error,mae,rmse,relmse,max,differing",
    ]);
    let metrics = &report["layers"][0]["metrics"];
    let n = (WIDTH * HEIGHT) as f64;
    let figure = |metric: &str| metrics[metric]["channels"]["G"].as_f64().unwrap();
    let close =
        |x: f64, expected: f64| assert!((x - expected).abs() < 1e-12, "{x}, expected {expected}");
    close(figure("mean-error"), -0.75 / n);
    close(figure("mae"), 0.75 / n);
    close(figure("rmse"), (0.5625 / n).sqrt());
    close(figure("relmse"), 0.5625 / (f64::from(g) * f64::from(g) + 0.01) / n);
    close(metrics["mae"]["overall"].as_f64().unwrap(), 0.25 / n);
    close(metrics["differing"]["overall"].as_f64().unwrap(), 1.0 / n);
    assert_eq!(
        (&metrics["max"]["pixel"], &metrics["max"]["channel"]),
        (&json!([3, 5]), &json!("G"))
    );
    // The reference is the second image.
    let swapped = dir.json(&["reference.exr", "new.exr", "--metric", "mean-error"]);
    close(
        swapped["layers"][0]["metrics"]["mean-error"]["channels"]["G"].as_f64().unwrap(),
        0.75 / n,
    );
}

#[test]
fn limits_set_the_exit_code() {
    let dir = ImageDir::new();
    dir.exr("new.exr", &changed(3, 5, [9.0, 9.0, 9.0]));
    let compare = |args: &[&str]| dir.compare(&[&["new.exr", "reference.exr"], args].concat());
    compare(&[]).code(0);
    compare(&["--fail-above", "max=9", "--fail-above", "mae=1", "--fail-below", "ssim=0.1"])
        .code(0)
        .stderr("");
    compare(&[
        "--fail-above",
        "max=8",
        "--fail-above",
        "mae=1",
        "--fail-below",
        "ssim=0.999",
        "-q",
    ])
    .code(1)
    .stdout("")
    .stderr(
        contains("failed: layer `colour`: max is 8.")
            .and(contains("above 8"))
            .and(contains("ssim is 0."))
            .and(contains("mae").not()),
    );
    compare(&["--fail-above", "flip=0.0001"]).code(1).stderr(contains("hdr-flip is 0."));
    compare(&["--fail-above", "psnr=30"]).code(2).stderr(contains("use --fail-below"));
    compare(&["--fail-below", "rmse=30"]).code(2).stderr(contains("use --fail-above"));
    compare(&["--fail-above", "rmse"]).code(2).stderr(contains("METRIC=VALUE"));
    compare(&["--fail-above", "rmse=nan"]).code(2).stderr(contains("number of at least 0"));
    compare(&["--fail-above", "rsme=1"])
        .code(2)
        .stderr(contains("unknown metric `rsme`; the metrics are mean-error, mae, rmse"));
}

#[test]
fn mean_errors_of_channels_do_not_cancel() {
    let dir = ImageDir::new();
    let shifted: Vec<[f32; 3]> = ramp().iter().map(|[r, g, b]| [r + 0.25, g - 0.25, *b]).collect();
    dir.exr("new.exr", &shifted);
    dir.compare(&["new.exr", "reference.exr", "--fail-above", "mean-error=0.24"])
        .code(1)
        .stderr(contains("mean-error of the channel `R` is 0.25"));
    dir.compare(&["new.exr", "reference.exr", "--fail-above", "mean-error=0.26"]).code(0);
}

#[test]
fn nans_fail_unless_they_are_allowed() {
    let dir = ImageDir::new();
    dir.exr("nan.exr", &changed(3, 5, [0.0, f32::NAN, 0.0]));
    let message = "layer `colour`: NaN in 1 pixel, first at (3, 5), where `G` is ";
    for (a, b) in
        [("nan.exr", "reference.exr"), ("reference.exr", "nan.exr"), ("nan.exr", "nan.exr")]
    {
        dir.compare(&[a, b]).code(1).stderr(contains(format!("failed: {message}")));
        let allowed = dir.compare(&[a, b, "--allow-nan", "--fail-above", "rmse=0"]);
        allowed.code(0).stderr("").stdout(contains(message).and(contains("1 pixel excluded")));
    }
    // NaN equals only NaN.
    dir.compare(&["nan.exr", "nan.exr", "--allow-nan", "--fail-above", "differing=0"]).code(0);
    dir.compare(&["nan.exr", "reference.exr", "--allow-nan", "--fail-above", "differing=0"])
        .code(1);
    let all = vec![[f32::NAN; 3]; WIDTH * HEIGHT];
    dir.exr("nothing.exr", &all);
    dir.compare(&["nothing.exr", "reference.exr", "--allow-nan", "--fail-above", "rmse=1"])
        .code(1)
        .stderr(contains("rmse cannot be computed: no pixel is finite"));
}

#[test]
fn differing_infinities_fail() {
    let dir = ImageDir::new();
    dir.exr("inf.exr", &changed(0, 11, [0.0, 0.0, f32::INFINITY]));
    dir.compare(&["inf.exr", "inf.exr", "--fail-above", "max=0"])
        .code(0)
        .stdout(contains("1 pixel excluded"));
    dir.compare(&["inf.exr", "reference.exr", "--allow-nan"]).code(1).stderr(contains(
        "infinite in one image only in 1 pixel, first at (0, 11), where `B` is inf in A and 0.5",
    ));
}

#[test]
fn pixels_without_a_surface_are_excluded_unless_only_one_image_has_it() {
    let dir = ImageDir::new();
    let depth = |name: &str, first: [f32; 2]| {
        let mut samples = vec![2.0; WIDTH * HEIGHT];
        samples[..2].copy_from_slice(&first);
        let samples = ChannelSamples::F32(samples);
        dir.layers(name, vec![Channel { name: "depth.Z".into(), samples }]);
    };
    depth("a.exr", [1e10, 3.0]);
    depth("b.exr", [1e10, 2.0]);
    depth("c.exr", [1e10, 1e10]);
    let options = ["--layers", "depth", "--metric", "mae"];
    let compare = |a: &str, b: &str| dir.compare(&[&[a, b], &options[..]].concat());
    compare("a.exr", "b.exr").code(0).stdout(contains("1 pixel excluded"));
    let error = dir.json(&[&["a.exr", "b.exr"], &options[..]].concat());
    let error = error["layers"][0]["metrics"]["mae"]["overall"].as_f64().unwrap();
    assert!((error - 1.0 / 191.0).abs() < 1e-9, "{error}");
    compare("a.exr", "c.exr").code(1).stderr(contains("infinite in one image only in 1 pixel"));
}

#[test]
fn differing_sizes_fail_and_crops_keep_their_position() {
    let dir = ImageDir::new();
    let (x0, y0, w, h) = (4, 3, 8, 6);
    let cut: Vec<[f32; 3]> =
        (y0..y0 + h).flat_map(|y| ramp()[y * WIDTH + x0..][..w].to_vec()).collect();
    let picture = ExrImage {
        size: [w as u32, h as u32],
        offset: [x0 as u32, y0 as u32],
        full_size: [WIDTH as u32, HEIGHT as u32],
        channels: channels("", ["R", "G", "B"], &cut),
        ..Default::default()
    };
    write_exr(&dir.path("crop.exr"), &picture).unwrap();
    dir.compare(&["crop.exr", "reference.exr"]).code(1).stderr(contains(
        "crop.exr has 8 × 6 pixels at (4, 3), reference.exr has 16 × 12 pixels at (0, 0); --crop 4,12,3,9 compares the common pixels",
    ));
    for crop in ["4,12,3,9", "0.25,0.75,0.25,0.75", "5,6,3,5"] {
        dir.compare(&["crop.exr", "reference.exr", "--crop", crop, "--fail-above", "max=0"])
            .code(0);
    }
    dir.compare(&["crop.exr", "reference.exr", "--crop", "3,12,3,9"])
        .code(2)
        .stderr(contains("--crop is not within the layer `colour` of crop.exr"));
    let small = dir.compare(&[
        "crop.exr",
        "reference.exr",
        "--crop",
        "5,6,3,5",
        "--fail-below",
        "ssim=0.5",
    ]);
    small
        .code(1)
        .stdout(contains("note: layer `colour`: ssim cannot be computed"))
        .stderr(contains("no window of 11 × 11 pixels fits"));
    for crop in ["0,1,0", "1,0,0,1", "0.5,2,0,1", "a,1,0,1"] {
        dir.compare(&["crop.exr", "reference.exr", "--crop", crop])
            .code(2)
            .stderr(contains("expected x0,x1,y0,y1"));
    }
    // Formats without a position use the position of the other image.
    write_pfm(&dir.path("crop.pfm"), w as u32, h as u32, &cut).unwrap();
    dir.compare(&["crop.pfm", "crop.exr", "--fail-above", "max=0"])
        .code(0)
        .stdout(contains("8 × 6 pixels at (4, 3)"));
    dir.compare(&["crop.pfm", "reference.exr"])
        .code(1)
        .stderr(contains("failed: layer `colour`: crop.pfm has 8 × 6"));
    // Positions are relative to the full image.
    dir.exr("new.exr", &changed(5, 4, [9.0; 3]));
    dir.compare(&["new.exr", "crop.exr", "--crop", "4,12,3,9"])
        .code(0)
        .stdout(contains("at (5, 4)"));
}

#[test]
fn layers_are_selected_by_name() {
    let dir = ImageDir::new();
    let ids = |last: u32| {
        let mut ids = vec![16_777_216; WIDTH * HEIGHT];
        ids[WIDTH + 2] = last;
        Channel { name: "object.id".into(), samples: ChannelSamples::U32(ids) }
    };
    let picture = |normals: &[[f32; 3]], last| {
        let normals = channels("normal.", ["X", "Y", "Z"], normals);
        [channels("", ["R", "G", "B"], &ramp()), normals, vec![ids(last)]].concat()
    };
    dir.layers("a.exr", picture(&changed(1, 1, [7.0; 3]), 16_777_217));
    dir.layers("b.exr", picture(&ramp(), 16_777_216));
    // Only the colour by default.
    dir.compare(&["a.exr", "b.exr", "--fail-above", "max=0"])
        .code(0)
        .stdout(contains("normal").not());
    dir.compare(&[
        "a.exr",
        "b.exr",
        "--layers",
        "all",
        "--fail-above",
        "max=0",
        "--fail-above",
        "differing=0",
    ])
    .code(1)
    .stdout(
        contains("1 of 192 pixels, the first at (2, 1)").and(contains("colour, 16 × 12 pixels")),
    )
    .stderr(
        contains("failed: layer `normal`: max is")
            .and(contains("layer `object.id`: differing is"))
            .and(contains("colour").not()),
    );
    dir.compare(&["a.exr", "b.exr", "--layers", "colour,colour", "--fail-above", "max=0"]).code(0);
    dir.compare(&["--layers", "normal", "a.exr", "b.exr", "--heatmap", "normal.png"])
        .code(0)
        .stderr("");
    assert!(image::open(dir.path("normal.png")).is_ok());
    dir.compare(&["a.exr", "b.exr", "--layers", "object.id", "--heatmap", "id.png"])
        .code(2)
        .stderr(contains("no mae to draw"));
    dir.compare(&["a.exr", "b.exr", "--layers", "object.id", "--fail-above", "max=0"])
        .code(2)
        .stderr(contains("has the metric max"));
    dir.compare(&["a.exr", "b.exr", "--layers", "normals"])
        .code(2)
        .stderr(contains("neither image has the layer `normals`"));
    dir.compare(&["a.exr", "reference.exr", "--layers", "all"]).code(1).stderr(contains(
        "failed: layer `normal`: reference.exr lacks it and has `colour`; --layers colour compares the common layers",
    ));
    dir.layers(
        "depth.exr",
        vec![Channel {
            name: "depth.Z".into(),
            samples: ChannelSamples::F32(vec![1.0; WIDTH * HEIGHT]),
        }],
    );
    dir.compare(&["depth.exr", "depth.exr"])
        .code(2)
        .stderr(contains("name some of these with --layers"));
    dir.compare(&["depth.exr", "reference.exr"]).code(1).stderr(contains(
        "failed: layer `colour`: depth.exr lacks it and has `depth`; the files have no layer in common",
    ));
    dir.compare(&["depth.exr", "depth.exr", "--layers", "all"])
        .code(0)
        .stdout(contains("depth, 16").and(contains("ssim").not()));
}

#[test]
fn formats_may_differ() {
    let dir = ImageDir::new();
    let size = (WIDTH as u32, HEIGHT as u32);
    write_pfm(&dir.path("a.pfm"), size.0, size.1, &ramp()).unwrap();
    write_png(&dir.path("a.png"), size.0, size.1, &ramp(), 0.0).unwrap();
    dir.compare(&["a.pfm", "reference.exr", "--fail-above", "max=0"])
        .code(0)
        .stdout(contains("note").not());
    // The tolerance is half an 8-bit step, for values below 1.
    dir.compare(&[
        "a.png",
        "reference.exr",
        "--crop",
        "0,3,0,10",
        "--fail-above",
        "max=0.005",
        "--fail-below",
        "psnr=50",
    ])
    .code(0)
    .stdout(contains("only A is display-referred"));
    for name in ["a.tga", "a.hdr", "grey.png"] {
        let rgb =
            image::RgbImage::from_fn(size.0, size.1, |x, y| image::Rgb([x as u8, y as u8, 200]));
        let dynamic = image::DynamicImage::from(rgb);
        let picture = match name {
            "a.hdr" => image::DynamicImage::from(dynamic.to_rgb32f()),
            "grey.png" => image::DynamicImage::from(dynamic.to_luma8()),
            _ => dynamic,
        };
        picture.save(dir.path(name)).unwrap();
    }
    // 8-bit display values use LDR-ꟻLIP.
    dir.compare(&["a.tga", "a.tga", "--fail-above", "flip=0"])
        .code(0)
        .stdout(contains("ldr-flip").and(contains("hdr-flip").not()));
    dir.compare(&["a.hdr", "a.tga"]).code(0).stdout(contains("hdr-flip"));
    dir.compare(&["grey.png", "a.tga"]).code(1).stderr(contains(
        "grey.png has the channels `Y`, a.tga has the channels `R`, `G`, `B`; convert one",
    ));
    dir.compare(&["grey.png", "grey.png"]).code(0).stdout(contains("overall").not());
}

#[test]
fn heat_maps_are_pngs() {
    let dir = ImageDir::new();
    dir.exr("new.exr", &changed(3, 5, [9.0, 9.0, f32::NAN]));
    let compare =
        |args: &[&str]| dir.compare(&[&["new.exr", "reference.exr", "--allow-nan"], args].concat());
    for metric in ["flip", "mean-error", "relmse", "max"] {
        compare(&["--heatmap", "map.png", "--heatmap-metric", metric]).code(0);
        let map = image::open(dir.path("map.png")).unwrap().into_rgb8();
        assert!(map.width() > 240 && map.height() > 180, "{:?}", map.dimensions());
        // The NaN is green.
        assert!(map.pixels().filter(|p| p.0 == [0, 200, 80]).count() >= 225, "{metric}");
        std::fs::remove_file(dir.path("map.png")).unwrap();
    }
    compare(&["--heatmap", "map.png", "--heatmap-metric", "ssim"])
        .code(2)
        .stderr(contains("no per-pixel values"));
    compare(&["--heatmap", "map.exr"]).code(2).stderr(contains("writes PNG"));
    compare(&["--heatmap", "none/map.png"]).code(2).stderr(contains("no folder"));
    compare(&["--heatmap", "map.png", "--heatmap-max", "-1"])
        .code(2)
        .stderr(contains("expected a number above 0"));
    write_png(&dir.path("a.png"), 1, 1, &[[0.5; 3]], 0.0).unwrap();
    dir.compare(&["a.png", "a.png", "--heatmap", "a.png"])
        .code(2)
        .stderr(contains("would overwrite"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a.png", dir.path("link.png")).unwrap();
        dir.compare(&["a.png", "a.png", "--heatmap", "link.png"])
            .code(2)
            .stderr(contains("would overwrite `link.png`"));
    }
}

#[test]
fn undrawable_heat_maps_are_reported() {
    let dir = ImageDir::new();
    write_pfm(&dir.path("small.pfm"), 1, 1, &[[0.5; 3]]).unwrap();
    dir.compare(&["small.pfm", "reference.exr", "--heatmap", "map.png", "-q"])
        .code(1)
        .stderr(contains("failed: no heat map is written to map.png"));
    assert!(!dir.path("map.png").exists());
}

#[test]
fn undefined_metrics_are_reported() {
    let dir = ImageDir::new();
    let id =
        Channel { name: "object.id".into(), samples: ChannelSamples::U32(vec![7; WIDTH * HEIGHT]) };
    dir.layers("a.exr", [channels("normal.", ["X", "Y", "Z"], &ramp()), vec![id]].concat());
    let report = dir.json(&["a.exr", "a.exr", "--layers", "all", "--metric", "psnr,ssim,mae"]);
    let remarks = [
        "layer `normal`: `psnr`, `ssim` cannot be computed: defined for colours only (channels R, G, B or Y)",
        "layer `object.id`: `mae`, `psnr`, `ssim` cannot be computed: defined for floating-point channels only; IDs support only `differing`",
    ];
    assert_eq!(report["remarks"], json!(remarks));
    assert_eq!(dir.json(&["a.exr", "a.exr", "--layers", "all"])["remarks"], json!([]));
}

#[test]
fn exposure_without_effect_is_an_error() {
    let dir = ImageDir::new();
    let compare = |args: &[&str]| {
        dir.compare(&[&["reference.exr", "reference.exr", "--exposure", "3"], args].concat())
    };
    compare(&["--metric", "rmse,flip"]).code(2).stderr(contains("--exposure has no effect"));
    compare(&["--metric", "rmse", "--fail-below", "psnr=9"]).code(0);
    compare(&[]).code(0);
}

#[test]
fn constant_opacity_is_a_layer() {
    let dir = ImageDir::new();
    for (name, alpha) in [("opaque.png", 255), ("clear.png", 51)] {
        image::RgbaImage::from_pixel(4, 3, image::Rgba([9, 99, 199, alpha]))
            .save(dir.path(name))
            .unwrap();
    }
    let report = dir.json(&["clear.png", "opaque.png", "--layers", "all", "--metric", "mae"]);
    let mae = |layer: usize| report["layers"][layer]["metrics"]["mae"]["overall"].as_f64().unwrap();
    assert_eq!(&report["layers"][1]["name"], &json!("A"));
    // Colours are multiplied by the opacity.
    let mean =
        [9.0, 99.0, 199.0].map(|code| Encoding::Srgb.decode(code / 255.0)).iter().sum::<f32>()
            / 3.0;
    assert!((mae(0) - 0.8 * f64::from(mean)).abs() < 1e-6 && (mae(1) - 0.8).abs() < 1e-6);
    image::RgbImage::from_pixel(4, 3, image::Rgb([9, 99, 199])).save(dir.path("none.png")).unwrap();
    dir
        .compare(&["none.png", "clear.png", "--layers", "all"])
        .code(1)
        .stderr(contains("failed: layer `A`: none.png lacks it and has `colour`; --layers colour compares the common layers"));
}

#[test]
fn unreadable_images_are_named() {
    let dir = ImageDir::new();
    std::fs::write(dir.path("text.exr"), "not an image").unwrap();
    dir.compare(&["none.exr", "reference.exr"])
        .code(2)
        .stderr(contains("none.exr: cannot be read").and(contains("check the path")));
    dir.compare(&[".", "reference.exr"]).code(2).stderr(contains("name a file in this folder"));
    std::fs::write(dir.path("empty.exr"), "").unwrap();
    dir.compare(&["empty.exr", "reference.exr"])
        .code(2)
        .stderr(contains("empty.exr: the file is empty"));
    dir.compare(&["reference.exr", "text.exr"])
        .code(2)
        .stderr(contains("text.exr: unknown image format"));
    dir.compare(&["reference.exr"]).code(2);
    dir.compare(&["--help"])
        .code(0)
        .stdout(contains("(A − B)² / (B² + 0.01)").and(contains("Examples:")));
}
