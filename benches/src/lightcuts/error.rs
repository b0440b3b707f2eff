//! Errors of lightcuts against the sum over all lights.

use super::measure::{Choice, integrator, load, measure, percent};
use super::{Args, Table};
use crate::report::{print_head, print_row};
use lightbound::settings::ErrorMode;
use lightbound_math::spectrum::luminance;

/// Relative errors of the luminance of pixels that are not black.
#[derive(Debug)]
struct Errors {
    /// Mean cut size.
    cut: f64,
    /// Fraction of the cuts that reached the maximum size.
    capped: f64,
    /// Fraction of the pixels within 2 %.
    within: f64,
    mean: f64,
    largest: f64,
}

/// Error limits and the measured errors.
fn errors(material: &str, lights: u32, args: &Args) -> [(&'static str, Errors); 2] {
    let mut scene = load(material, lights, args.resolution);
    let mut render = |choice: Choice| {
        let integrator = integrator(&mut scene, &choice);
        measure(&scene, &*integrator, args.threads)
    };
    let full = render(Choice::FULL);
    let total = Choice { mode: ErrorMode::Total, max_cut: u32::MAX, ..Choice::of(args) };
    [("cluster", Choice::of(args)), ("total", total)].map(|(name, choice)| {
        let cuts = render(choice);
        let pixels = cuts.radiance.iter().zip(&full.radiance).filter_map(|(&found, &truth)| {
            let [found, truth] = [found, truth].map(|rgb| f64::from(luminance(rgb.into())));
            assert!(truth > 0.0 || found == 0.0, "a black pixel must stay black");
            (truth > 0.0).then(|| (found / truth - 1.0).abs())
        });
        let pixels: Vec<f64> = pixels.collect();
        let share = |count: usize| count as f64 / pixels.len() as f64;
        let errors = Errors {
            cut: cuts.mean,
            capped: cuts.capped,
            within: share(pixels.iter().filter(|&&error| error <= 0.02).count()),
            mean: pixels.iter().sum::<f64>() / pixels.len() as f64,
            largest: pixels.iter().copied().fold(0.0, f64::max),
        };
        (name, errors)
    })
}

/// Prints the table.
pub fn print(args: &Args) {
    println!("## Errors against the full sum\n");
    println!(
        "Relative errors of luminance in pixels that are not black, with the same single sample per pixel. Mode `total` has no cap."
    );
    println!("Targets, in mode `cluster`: 99.5 % of the pixels within 2 %, mean below 0.5 %.\n");
    let titles =
        ["material", "lights", "mode", "mean cut", "capped", "within 2 %", "mean error", "largest"];
    print_head(&titles.map(str::to_owned));
    for material in args.materials() {
        for lights in args.lights(Table::Error) {
            for (mode, errors) in errors(material, lights, args) {
                print_row([
                    material.to_owned(),
                    lights.to_string(),
                    mode.to_owned(),
                    format!("{:.1}", errors.cut),
                    percent(errors.capped),
                    format!("{:.2} %", 100.0 * errors.within),
                    format!("{:.3} %", 100.0 * errors.mean),
                    format!("{:.2} %", 100.0 * errors.largest),
                ]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lightcuts::tests::args;

    #[test]
    fn totals_are_within_the_limit_and_small_caps_are_not() {
        let [(_, cluster), (_, total)] = errors("ward", 200, &args(&["--max-cut", "10"]));
        assert!(
            total.within == 1.0 && total.largest <= 0.02 && total.mean <= total.largest,
            "{total:?}"
        );
        assert!(
            cluster.capped > 0.5 && cluster.largest > 0.02 && cluster.within < 1.0,
            "{cluster:?}"
        );
    }
}
