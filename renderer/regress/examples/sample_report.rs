//! Writes a report of synthetic cases, one of each kind, and a comparison of synthetic pictures in
//! DIR/comparison, for `scripts/check-report`.
//!
//!     cargo run -p lightbound-regress --example sample_report -- DIR
//!
//! No scene is rendered. The images show a lit ball over a checkerboard, with noise and with
//! visible faults.

use lightbound_regress::outcome::{CaseImages, MetricLimit, MetricValue, Outcome, Status};
use lightbound_regress::report::comparison::{Comparison, Picture, PictureMetric, Rank};
use lightbound_regress::report::{Report, ReportError};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: sample_report DIR");
        return ExitCode::from(2);
    };
    let folder = Path::new(&folder);
    let write = || {
        Report::open(&folder.join("comparison"))?.write_comparison(&comparison())?;
        Ok::<_, ReportError>(Report::open(folder)?.write("suite.toml", &cases())?)
    };
    match write() {
        Ok(index) => {
            println!("{}", index.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(3)
        }
    }
}

/// Passing cases come first, so that the page has to sort.
fn cases() -> Vec<Outcome> {
    let mut cases = vec![
        case("accelerator/instances", "Two thousand instances of one mesh", [128, 96], Fault::None),
        case(
            "lights/environment",
            "An environment map with a sun, by importance sampling",
            [160, 64],
            Fault::None,
        ),
        case("lights/many", "One of 64 point lights is missing", [128, 128], Fault::DarkSide),
        case("textures/checkerboard", "", [96, 128], Fault::Flipped),
        case(
            "camera/<b>bold</b></script> & \"quotes\"",
            "A name <i>that is no markup</i>",
            [64, 64],
            Fault::NotFinite,
        ),
        case(
            "materials/glass",
            "Smooth glass; bit-identical to the reference",
            [128, 128],
            Fault::Same,
        ),
        case("materials/coated", "", [128, 128], Fault::None),
    ];
    cases.push(Outcome {
        name: "materials/fractal".into(),
        description: "The scene is missing".into(),
        status: Status::Error {
            message: "scenes/fractal.pbrt: cannot be read (No such file or directory)".into(),
            help: "check the path of the scene in suite.toml".into(),
        },
        metrics: vec![],
        time: None,
        last_time: None,
        images: None,
    });
    cases
}

/// Two series of pictures for two times, with less noise for the longer one, and a picture without.
fn comparison() -> Comparison {
    let size = [120, 80];
    let pixels = |fault, seed| -> Vec<[f32; 3]> {
        let positions = (0..size[0] * size[1]).map(|i| [i % size[0], i / size[0]]);
        positions.map(|p| ball(p, size, fault, seed)).collect()
    };
    let picture = |series: &str, time: f64, error: f64, fault, seed| Picture {
        name: format!("pictures/{series}-{time}s.exr"),
        series: series.into(),
        group: format!("{time}s"),
        seconds: Some(time),
        samples: Some(16.0 * time),
        metrics: vec![
            PictureMetric { name: "mean-error", value: -error, rank: Rank::Smallest },
            PictureMetric { name: "relmse", value: error, rank: Rank::Lowest },
            PictureMetric { name: "ssim", value: 1.0 - error, rank: Rank::Highest },
        ],
        pixels: pixels(fault, seed),
        flip: vec![error as f32; (size[0] * size[1]) as usize],
    };
    Comparison {
        reference: "reference.exr".into(),
        width: size[0],
        height: size[1],
        reference_pixels: pixels(Fault::None, 1),
        pictures: vec![
            picture("<i>path</i>", 1.0, 0.5, Fault::DarkSide, 2),
            picture("cuts", 1.0, 0.2, Fault::None, 3),
            picture("<i>path</i>", 4.0, 0.125, Fault::None, 4),
            picture("cuts", 4.0, 0.25, Fault::Flipped, 5),
        ],
    }
}

/// How a result differs from its reference.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// Only noise.
    None,
    /// Not even noise.
    Same,
    /// The left half is darker.
    DarkSide,
    /// The colours of the checkerboard are swapped.
    Flipped,
    /// Some pixels are NaN or infinite.
    NotFinite,
}

fn case(name: &str, description: &str, [width, height]: [u32; 2], fault: Fault) -> Outcome {
    let pixels = || (0..width * height).map(|i| [i % width, i / width]);
    let reference: Vec<[f32; 3]> =
        pixels().map(|p| ball(p, [width, height], Fault::None, 1)).collect();
    let seed = if fault == Fault::Same { 1 } else { 2 };
    let result: Vec<[f32; 3]> = pixels().map(|p| ball(p, [width, height], fault, seed)).collect();
    // A rough imitation of a ꟻLIP map.
    let flip = reference.iter().zip(&result).map(|(a, b)| {
        let error =
            (0..3).map(|c| (a[c].max(0.0).sqrt() - b[c].max(0.0).sqrt()).abs()).fold(0.0, f32::max);
        error.min(1.0)
    });
    let flip: Vec<f32> = flip.collect();
    let mean = flip.iter().map(|&x| f64::from(x)).sum::<f64>() / flip.len() as f64;
    let failed = !matches!(fault, Fault::None | Fault::Same);
    let accepted = if failed { 99.749_96 } else { 99.93 };
    let metrics = vec![
        MetricValue {
            name: "pixel tests passed, %".into(),
            value: accepted,
            limit: Some(MetricLimit::AtLeast(99.75)),
        },
        MetricValue {
            name: "relMSE".into(),
            value: if failed { 0.0213 } else { 0.00042 },
            limit: Some(MetricLimit::AtMost(0.001)),
        },
        MetricValue { name: "ꟻLIP, mean".into(), value: mean, limit: None },
        MetricValue {
            name: "PSNR, dB".into(),
            value: if fault == Fault::Same { f64::INFINITY } else { 38.2 },
            limit: None,
        },
    ];
    let failures = vec![
        "accepted pixels are 99.74996 %, but must be at least 99.75 %: the means of result and reference differ".to_string(),
        "the block at x 0 to 31, y 32 to 63 is darker by 12.5 %, 8.4 standard deviations".to_string(),
    ];
    let time = Duration::from_millis(310 + u64::from(width * height) / 11);
    Outcome {
        name: name.into(),
        description: description.into(),
        status: if failed { Status::Failed(failures) } else { Status::Passed },
        metrics,
        time: Some(time),
        last_time: (fault != Fault::Flipped).then(|| time.mul_f64(if failed { 0.6 } else { 1.04 })),
        images: Some(CaseImages { width, height, reference, result, flip }),
    }
}

/// A pixel of the image.
fn ball([x, y]: [u32; 2], [width, height]: [u32; 2], fault: Fault, seed: u32) -> [f32; 3] {
    if fault == Fault::NotFinite && (20..23).contains(&x) && y == 12 {
        return [f32::NAN, f32::INFINITY, 0.5];
    }
    let radius = 0.36 * width.min(height) as f32;
    let [dx, dy] = [
        (x as f32 + 0.5 - 0.5 * width as f32) / radius,
        (0.5 * height as f32 - y as f32 - 0.5) / radius,
    ];
    let d = dx * dx + dy * dy;
    let colour = if d < 1.0 {
        let dz = (1.0 - d).sqrt();
        let cosine = (0.48 * dx + 0.6 * dy + 0.64 * dz).max(0.0);
        let highlight = 12.0 * cosine.powi(80);
        [0.7, 0.28, 0.12].map(|albedo| albedo * (0.06 + 0.94 * cosine) + highlight)
    } else {
        let odd = (x * 8 / width.max(1) + y * 8 / height.max(1)) % 2 == 1;
        let bright = if odd == (fault == Fault::Flipped) { 0.5 } else { 0.09 };
        [bright, bright, 1.1 * bright]
    };
    let gain = if fault == Fault::DarkSide && 2 * x < width { 0.8 } else { 1.0 };
    let mut channel = 0;
    colour.map(|value| {
        channel += 1;
        value * gain * (1.0 + 0.08 * (noise([x, y, channel, seed]) - 0.5))
    })
}

/// A pseudo-random number from 0 to 1.
fn noise(key: [u32; 4]) -> f32 {
    let mix = |hash: u32, n: u32| {
        ((hash ^ n).wrapping_mul(0x9e37_79b1)).rotate_left(13).wrapping_mul(0x85eb_ca6b)
    };
    let hash = key.iter().fold(7, |hash, &n| mix(hash, n));
    (hash >> 8) as f32 / 16_777_216.0
}
