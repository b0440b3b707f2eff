//! Comparison of bound modes: naive, optimized, related and hand-derived.

use super::measure::{CutMeasurement, CutOptions, fastest, integrator, load, percent};
use super::scene::has_hand_bounds;
use super::{Args, Table};
use crate::report::{print_head, print_row};
use lightbound::choice::Choice as _;
use lightbound::settings::BoundMode;

const MODES: [BoundMode; 4] =
    [BoundMode::Naive, BoundMode::Optimized, BoundMode::Related, BoundMode::Hand];

/// Measures each mode, in order; the last one only if a hand-derived bound exists.
fn measure_modes(material: &str, lights: u32, args: &Args) -> Vec<CutMeasurement> {
    let modes = if has_hand_bounds(material) { &MODES[..] } else { &MODES[..3] };
    let mut scene = load(material, lights, args.resolution);
    let integrators: Vec<_> = modes
        .iter()
        .map(|&bounds| {
            integrator(&mut scene, &CutOptions { bounds, ..CutOptions::from_args(args) })
        })
        .collect();
    let candidates: Vec<_> = integrators.iter().map(|integrator| (&scene, &**integrator)).collect();
    let measurements = fastest(&candidates, args);
    assert_eq!(
        measurements[0].radiance, measurements[1].radiance,
        "{material}: naive and optimized bounds must give the same image"
    );
    measurements
}

/// Prints the tables.
pub fn print(args: &Args) {
    println!("## Bound modes\n");
    println!(
        "Mean cut size in error mode `cluster`; in parentheses, the fraction of cuts with the \
         maximum size."
    );
    println!(
        "Targets: related ÷ hand at most 1.3; related ÷ optimized below 1, except for diffuse.\n"
    );
    let names = MODES.map(|mode| mode.name().to_owned());
    let columns = || ["material".to_owned(), "lights".to_owned()].into_iter().chain(names.clone());
    let ratios =
        |titles: &[&str]| titles.iter().map(|title| (*title).to_owned()).collect::<Vec<_>>();
    print_head(
        &columns().chain(ratios(&["related ÷ hand", "related ÷ optimized"])).collect::<Vec<_>>(),
    );
    let mut rows = vec![];
    for material in args.materials() {
        for lights in args.lights(Table::Bounds) {
            let measurements = measure_modes(material, lights, args);
            let size = |mode: usize| {
                cell(&measurements, mode, |cut| {
                    format!("{:.1} ({})", cut.mean, percent(cut.capped))
                })
            };
            let sizes = (0..MODES.len()).map(size);
            let ratios = [(2, 3), (2, 1)].map(|(a, b)| ratio(&measurements, a, b, |cut| cut.mean));
            print_row(
                [material.to_owned(), lights.to_string()].into_iter().chain(sizes).chain(ratios),
            );
            rows.push((material, lights, measurements));
        }
    }
    println!(
        "\nµs of CPU time per cut, over the entire image; in parentheses, the share of \
         lighting time spent on bounds, over all rounds."
    );
    println!("Target: optimized ÷ naive at most 0.80, except for diffuse.\n");
    print_head(
        &columns()
            .chain(ratios(&["optimized ÷ naive", "related ÷ naive", "related ÷ hand"]))
            .collect::<Vec<_>>(),
    );
    for (material, lights, measurements) in &rows {
        let time = |mode: usize| {
            cell(measurements, mode, |cut| {
                format!("{:.1} ({})", cut.cost(), percent(cut.fractions()[0]))
            })
        };
        let times = (0..MODES.len()).map(time);
        let ratios =
            [(1, 0), (2, 0), (2, 3)].map(|(a, b)| ratio(measurements, a, b, |cut| cut.cpu_seconds));
        print_row(
            [material.to_string(), lights.to_string()].into_iter().chain(times).chain(ratios),
        );
    }
}

/// Formats a cell of the table; empty if the mode was not measured.
fn cell(
    measurements: &[CutMeasurement],
    mode: usize,
    text: impl Fn(&CutMeasurement) -> String,
) -> String {
    measurements.get(mode).map_or_else(String::new, text)
}

/// Formats the ratio of two modes; empty if one of them was not measured.
fn ratio(
    measurements: &[CutMeasurement],
    a: usize,
    b: usize,
    value: impl Fn(&CutMeasurement) -> f64,
) -> String {
    let ratio = measurements.get(a).zip(measurements.get(b)).map(|(a, b)| value(a) / value(b));
    ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lightcuts::tests::args;

    #[test]
    fn existing_modes_are_measured() {
        let args = args(&["--error", "0.1"]);
        let [phong, fractal] =
            ["phong", "fractal"].map(|material| measure_modes(material, 500, &args));
        assert_eq!((phong.len(), fractal.len()), (4, 3));
        let sizes = Vec::from_iter(phong.iter().map(|cut| cut.mean));
        assert!(sizes[2] < sizes[1] && sizes[0] == sizes[1], "{sizes:?}");
        let fractions = Vec::from_iter(phong.iter().map(|cut| cut.fractions()));
        assert!(
            fractions.iter().all(|all| all[0] > 0.0 && all.iter().sum::<f64>() < 1.0),
            "{fractions:?}"
        );
        assert_eq!(ratio(&fractal, 2, 3, |cut| cut.mean), "");
        assert_eq!(ratio(&phong, 0, 1, |cut| cut.mean), "1.000");
    }
}
