//! Bound modes compared: naive, optimized, related and hand-derived.

use super::measure::{Choice, Measured, fastest, integrator, load, percent};
use super::scene::has_hand_bounds;
use super::{Args, Table};
use crate::report::{print_head, print_row};
use lightbound::choice::Choice as _;
use lightbound::settings::BoundMode;

const KINDS: [BoundMode; 4] =
    [BoundMode::Naive, BoundMode::Optimized, BoundMode::Related, BoundMode::Hand];

/// Results of each mode, in order; the last one only if a hand-derived bound exists.
fn kinds(material: &str, lights: u32, args: &Args) -> Vec<Measured> {
    let kinds = if has_hand_bounds(material) { &KINDS[..] } else { &KINDS[..3] };
    let mut scene = load(material, lights, args.resolution);
    let integrators: Vec<_> = kinds
        .iter()
        .map(|&bounds| integrator(&mut scene, &Choice { bounds, ..Choice::of(args) }))
        .collect();
    let all: Vec<_> = integrators.iter().map(|integrator| (&scene, &**integrator)).collect();
    let found = fastest(&all, args);
    assert_eq!(
        found[0].radiance, found[1].radiance,
        "{material}: naive and optimized bounds are the same"
    );
    found
}

/// Prints the tables.
pub fn print(args: &Args) {
    println!("## Bound modes\n");
    println!(
        "Mean cut size with error by cluster; in brackets, the share of cuts of the maximum size."
    );
    println!(
        "Targets: related ÷ hand at most 1.3; related ÷ optimized below 1 except for diffuse.\n"
    );
    let names = KINDS.map(|kind| kind.name().to_owned());
    let head = || ["material".to_owned(), "lights".to_owned()].into_iter().chain(names.clone());
    let ratios =
        |titles: &[&str]| titles.iter().map(|title| (*title).to_owned()).collect::<Vec<_>>();
    print_head(
        &head().chain(ratios(&["related ÷ hand", "related ÷ optimized"])).collect::<Vec<_>>(),
    );
    let mut all = vec![];
    for material in args.materials() {
        for lights in args.lights(Table::Bounds) {
            let found = kinds(material, lights, args);
            let size = |kind: usize| {
                cell(&found, kind, |cut| format!("{:.1} ({})", cut.mean, percent(cut.capped)))
            };
            let sizes = (0..KINDS.len()).map(size);
            let ratios = [ratio(&found, 2, 3, |cut| cut.mean), ratio(&found, 2, 1, |cut| cut.mean)];
            print_row(
                [material.to_owned(), lights.to_string()].into_iter().chain(sizes).chain(ratios),
            );
            all.push((material, lights, found));
        }
    }
    println!(
        "\nµs of CPU time per cut, over the whole picture; in brackets, the share of bounding in the lighting time, over all rounds."
    );
    println!("Target: optimized ÷ naive at most 0.80 except for diffuse.\n");
    print_head(
        &head()
            .chain(ratios(&["optimized ÷ naive", "related ÷ naive", "related ÷ hand"]))
            .collect::<Vec<_>>(),
    );
    for (material, lights, found) in &all {
        let time = |kind: usize| {
            cell(found, kind, |cut| format!("{:.1} ({})", cut.cost(), percent(cut.shares()[0])))
        };
        let times = (0..KINDS.len()).map(time);
        let ratios = [(1, 0), (2, 0), (2, 3)].map(|(a, b)| ratio(found, a, b, |cut| cut.cpu));
        print_row(
            [material.to_string(), lights.to_string()].into_iter().chain(times).chain(ratios),
        );
    }
}

/// A cell of the table; empty without a value.
fn cell(found: &[Measured], kind: usize, text: impl Fn(&Measured) -> String) -> String {
    found.get(kind).map_or_else(String::new, text)
}

/// A ratio of two modes.
fn ratio(found: &[Measured], a: usize, b: usize, of: impl Fn(&Measured) -> f64) -> String {
    let quotient = found.get(a).zip(found.get(b)).map(|(a, b)| of(a) / of(b));
    quotient.map_or_else(String::new, |quotient| format!("{quotient:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lightcuts::tests::args;

    #[test]
    fn each_kind_is_measured_where_it_exists() {
        let args = args(&["--error", "0.1"]);
        let [phong, fractal] = ["phong", "fractal"].map(|material| kinds(material, 500, &args));
        assert_eq!((phong.len(), fractal.len()), (4, 3));
        let sizes = Vec::from_iter(phong.iter().map(|cut| cut.mean));
        assert!(sizes[2] < sizes[1] && sizes[0] == sizes[1], "{sizes:?}");
        let shares = Vec::from_iter(phong.iter().map(|cut| cut.shares()));
        assert!(
            shares.iter().all(|all| all[0] > 0.0 && all.iter().sum::<f64>() < 1.0),
            "{shares:?}"
        );
        assert_eq!(ratio(&fractal, 2, 3, |cut| cut.mean), "");
        assert_eq!(ratio(&phong, 0, 1, |cut| cut.mean), "1.000");
    }
}
