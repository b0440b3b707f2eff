//! `lightbound falsecolor`: maps, messages and exit codes.

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use lightbound_image::write::{Channel, ChannelSamples, ExrImage, write_exr, write_pfm};
use predicates::prelude::*;
use predicates::str::contains;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

const WIDTH: u32 = 16;
const HEIGHT: u32 = 12;
/// Colour of values that are not finite.
const GREEN: [u8; 3] = [0, 200, 80];

/// A temporary folder with `a.exr`, which has a colour, a depth, IDs and a layer with pixels that
/// are not finite.
struct ImageDir {
    folder: TempDir,
}

impl ImageDir {
    fn new() -> ImageDir {
        let dir = ImageDir { folder: tempfile::tempdir().unwrap() };
        let n = (WIDTH * HEIGHT) as usize;
        let floats = |name: &str, value: &dyn Fn(usize) -> f32| Channel {
            name: name.into(),
            samples: ChannelSamples::F32((0..n).map(value).collect()),
        };
        let partly_invalid = |i: usize| match i {
            0 => f32::NAN,
            1 | 2 => f32::INFINITY,
            _ => (i % 100) as f32,
        };
        let mut channels = vec![
            floats("cut_size", &partly_invalid),
            floats("depth.Z", &|i| 5.0 + i as f32 / n as f32),
        ];
        channels.extend(["R", "G", "B"].map(|c| floats(c, &|i| i as f32 - 90.0)));
        channels.extend(["normal.X", "normal.Y"].map(|c| floats(c, &|_| 0.5)));
        for name in ["object.id", "sums.R0"] {
            channels.push(Channel {
                name: name.into(),
                samples: ChannelSamples::U32((0..n as u32).collect()),
            });
        }
        let size = [WIDTH, HEIGHT];
        let picture = ExrImage { size, full_size: size, channels, ..ExrImage::default() };
        write_exr(&dir.path("a.exr"), &picture).unwrap();
        dir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Assert {
        let mut command = Command::cargo_bin("lightbound").unwrap();
        command
            .timeout(Duration::from_secs(60))
            .current_dir(self.folder.path())
            .arg("falsecolor")
            .args(args)
            .assert()
    }

    /// Draws a map; returns the colour of each pixel of the layer.
    fn map(&self, args: &[&str]) -> Vec<[u8; 3]> {
        self.run(&[&["a.exr", "-q", "-o", "map.png"], args].concat()).code(0).stderr("").stdout("");
        let map = image::open(self.path("map.png")).unwrap().into_rgb8();
        assert!(map.width() > 240 && map.height() > 180, "{:?}", map.dimensions());
        // Enlarged to 240 pixels along the longer side, with a margin of 10.
        let zoom = 15;
        let pixel = |i: u32| {
            map.get_pixel(10 + i % WIDTH * zoom + zoom / 2, 10 + i / WIDTH * zoom + zoom / 2).0
        };
        (0..WIDTH * HEIGHT).map(pixel).collect()
    }
}

#[test]
fn layers_are_drawn_as_maps() {
    let dir = ImageDir::new();
    let summary = "map.png: cut_size, from 0 to 99, mean 48.3228; colours from 0 to 100; pixels in green: 1 not a number, 2 infinite";
    dir.run(&["a.exr", "--layer", "cut_size", "-o", "map.png"])
        .code(0)
        .stdout("")
        .stderr(contains(summary));
    let map = dir.map(&["--layer", "cut_size"]);
    assert_eq!(map.iter().filter(|&&p| p == GREEN).count(), 3);
    assert_eq!(map[..3], [GREEN; 3]);
    let brightness = |p: [u8; 3]| p.iter().map(|&c| u32::from(c)).sum::<u32>();
    assert!((4..100).all(|i| brightness(map[i - 1]) <= brightness(map[i])));
    assert!(brightness(map[99]) > brightness(map[3]) + 300);
}

#[test]
fn channels_are_selected_by_name() {
    let dir = ImageDir::new();
    for name in ["depth", "depth.Z", "R", "B", "normal.X", "object.id", "sums.R0"] {
        assert!(!dir.map(&["--layer", name]).contains(&GREEN), "{name}");
    }
    let layers = "the layers are colour, R, G, B, cut_size, depth, normal.X, normal.Y, object.id";
    for wrong in ["cutsize", ""] {
        let message = format!("a.exr: there is no layer `{wrong}`");
        dir.run(&["a.exr", "--layer", wrong, "-o", "b.png"])
            .code(2)
            .stderr(contains(message).and(contains(layers)));
    }
    dir.run(&["a.exr", "--layer", "normal", "-o", "b.png"])
        .code(2)
        .stderr(contains("`normal` has 2 channels").and(contains("normal.X, normal.Y")));
    assert!(!dir.path("b.png").exists());
    write_pfm(&dir.path("a.pfm"), 2, 1, &[[0.0, 1.0, 2.0]; 2]).unwrap();
    dir.run(&["a.pfm", "--layer", "G", "-o", "g.png"])
        .code(0)
        .stderr(contains("from 1 to 1, mean 1"));
}

#[test]
fn pixels_without_a_surface_do_not_affect_the_scale_of_depth() {
    let dir = ImageDir::new();
    for (name, layer) in [("depth.Z", "depth"), ("Z", "Z")] {
        let samples = ChannelSamples::F32(vec![3.0, 97.0, 1e10, 1e10]);
        let channels = vec![Channel { name: name.into(), samples }];
        let image = ExrImage { size: [4, 1], full_size: [4, 1], channels, ..ExrImage::default() };
        write_exr(&dir.path("z.exr"), &image).unwrap();
        let summary = "Z, from 3 to 97, mean 50; colours from 0 to 100; pixels in green: 2 without \
                       a surface";
        dir.run(&["z.exr", "--layer", layer, "-o", "map.png"]).code(0).stderr(contains(summary));
    }
}

#[test]
fn three_channels_are_red_green_and_blue() {
    let dir = ImageDir::new();
    let vectors = [[-1.0, 0.0, 1.0], [0.2, -0.6, f32::NAN]];
    write_pfm(&dir.path("a.pfm"), 2, 1, &vectors).unwrap();
    let summary = "v.png: colour: red R, green G, blue B, from -1 to 1";
    dir.run(&["a.pfm", "--layer", "colour", "--range", "-1..1", "-o", "v.png"])
        .code(0)
        .stderr(contains(summary).and(contains("pixels in green: 1 not a number")));
    let map = image::open(dir.path("v.png")).unwrap().into_rgb8();
    let pixel = |x: u32| map.get_pixel(10 + x * 120 + 60, 60).0;
    assert_eq!((pixel(0), pixel(1)), ([0, 128, 255], GREEN));
    dir.run(&["a.pfm", "--layer", "colour", "--log", "-o", "v.png"])
        .code(2)
        .stderr(contains("--log draws one channel").and(contains("--layer R")));
}

#[test]
fn ids_have_distinct_colours() {
    let dir = ImageDir::new();
    let mut colours = dir.map(&["--layer", "object.id"]);
    assert_eq!(colours[0], [40; 3]);
    colours.sort();
    colours.dedup();
    assert_eq!(colours.len(), (WIDTH * HEIGHT) as usize);
    dir.run(&["a.exr", "--layer", "object.id", "-o", "map.png"])
        .code(0)
        .stderr(contains("object.id, 191 ids").and(contains("dark grey: none")));
    dir.run(&["a.exr", "--layer", "object.id", "--range", "0..9", "-o", "map.png"])
        .code(2)
        .stderr(contains("colours of their own"));
}

#[test]
fn range_without_any_value_is_a_warning() {
    let dir = ImageDir::new();
    let depth = |range: &str| {
        dir.run(&["a.exr", "--layer", "depth", "--range", range, "-o", "map.png"]).code(0)
    };
    depth("0..1").stderr(contains("warning: no value is between 0 and 1"));
    depth("0..5.5").stderr(contains("warning").not());
}

#[test]
fn ranges_and_logarithms_determine_colours() {
    let dir = ImageDir::new();
    let part = dir.map(&["--layer", "cut_size", "--range", "50..60"]);
    assert!(
        part[3..50].iter().all(|&p| p == part[3]) && part[61..99].iter().all(|&p| p == part[99])
    );
    assert!(part[55] != part[3] && part[55] != part[99]);
    // Halfway between 1 and 100 is 10.
    let (linear, log) = (
        dir.map(&["--layer", "cut_size", "--range", "0..20"]),
        dir.map(&["--layer", "cut_size", "--range", "1..100", "--log"]),
    );
    assert_eq!(linear[10], log[10]);
    // Values that are not positive have the first colour.
    let log = dir.map(&["--layer", "R", "--log"]);
    assert!(log[..91].iter().all(|&p| p == log[0]) && log[150] != log[0]);
    let signed = dir.run(&["a.exr", "--layer", "R", "--range", "-1..1", "-o", "map.png"]).code(0);
    signed.stderr(contains("from -90 to 101").and(contains("colours from -1 to 1")));
}

#[test]
fn invalid_arguments_are_errors() {
    let dir = ImageDir::new();
    let run = |args: &[&str]| dir.run(&[&["a.exr", "--layer", "R"], args].concat());
    run(&["-o", "map.png", "--range", "1..0"]).code(2).stderr(contains("as in 0..20 or -1..1"));
    run(&["-o", "map.png", "--range", "0..1", "--log"])
        .code(2)
        .stderr(contains("--log needs positive values").and(contains("above 0")));
    run(&["-o", "map.exr"]).code(2).stderr(contains("falsecolor writes PNG"));
    run(&["-o", "none/map.png"]).code(2).stderr(contains("no folder"));
    run(&[]).code(2).stderr(contains("--output"));
    dir.run(&["none.exr", "--layer", "R", "-o", "map.png"])
        .code(2)
        .stderr(contains("none.exr: cannot be read"));
    std::fs::copy(dir.path("a.exr"), dir.path("a.png")).unwrap();
    dir.run(&["a.png", "--layer", "R", "-o", "a.png"]).code(2).stderr(contains("would overwrite"));
    assert!(!dir.path("map.png").exists());
}
