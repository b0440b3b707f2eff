//! Errors of lightcuts against the sum over all lights.

use super::measure::{CutOptions, integrator, load, measure, percent};
use super::{Args, Table};
use crate::report::{print_head, print_row};
use lightbound::settings::ErrorMode;
use lightbound_math::spectrum::luminance;

/// Relative errors of luminance over the pixels that are not black.
#[derive(Debug)]
struct Errors {
    /// Mean cut size.
    mean_cut: f64,
    /// Fraction of the cuts that reached the maximum size.
    capped: f64,
    /// Fraction of the pixels with an error of at most 2 %.
    within_2_percent: f64,
    mean: f64,
    max: f64,
}

/// Measures the errors of each error mode.
fn errors(material: &str, lights: u32, args: &Args) -> [(&'static str, Errors); 2] {
    let mut scene = load(material, lights, args.resolution);
    let mut render = |options: CutOptions| {
        let integrator = integrator(&mut scene, &options);
        measure(&scene, &*integrator, args.threads)
    };
    let full = render(CutOptions::FULL);
    let cluster = CutOptions::from_args(args);
    let total = CutOptions { mode: ErrorMode::Total, max_cut: u32::MAX, ..cluster };
    [("cluster", cluster), ("total", total)].map(|(name, options)| {
        let cuts = render(options);
        let pixels = cuts.radiance.iter().zip(&full.radiance).filter_map(|(&found, &truth)| {
            let [found, truth] = [found, truth].map(|rgb| f64::from(luminance(rgb.into())));
            assert!(truth > 0.0 || found == 0.0, "a black pixel must stay black");
            (truth > 0.0).then(|| (found / truth - 1.0).abs())
        });
        let pixels: Vec<f64> = pixels.collect();
        let fraction = |count: usize| count as f64 / pixels.len() as f64;
        let errors = Errors {
            mean_cut: cuts.mean,
            capped: cuts.capped,
            within_2_percent: fraction(pixels.iter().filter(|&&error| error <= 0.02).count()),
            mean: pixels.iter().sum::<f64>() / pixels.len() as f64,
            max: pixels.iter().copied().fold(0.0, f64::max),
        };
        (name, errors)
    })
}

/// Prints the table.
pub fn print(args: &Args) {
    println!("## Errors against the full sum\n");
    println!(
        "Relative errors of luminance in pixels that are not black, with the same sample in each \
         pixel. Mode `total` has no cap."
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
                    format!("{:.1}", errors.mean_cut),
                    percent(errors.capped),
                    format!("{:.2} %", 100.0 * errors.within_2_percent),
                    format!("{:.3} %", 100.0 * errors.mean),
                    format!("{:.2} %", 100.0 * errors.max),
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
    fn errors_are_within_the_limit_unless_cuts_are_capped() {
        let [(_, cluster), (_, total)] = errors("ward", 200, &args(&["--max-cut", "10"]));
        assert!(
            total.within_2_percent == 1.0 && total.max <= 0.02 && total.mean <= total.max,
            "{total:?}"
        );
        assert!(
            cluster.capped > 0.5 && cluster.max > 0.02 && cluster.within_2_percent < 1.0,
            "{cluster:?}"
        );
    }
}
