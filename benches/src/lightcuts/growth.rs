//! Size and cost of cuts as the number of lights grows, and the cost of the sum over all lights.

use super::measure::{CutMeasurement, CutOptions, fastest, integrator, load, measure, percent};
use super::{Args, Table};
use crate::report::{print_head, print_row};

/// Maximum number of lights for full sums and growth.
const MAX_LIGHTS: u32 = 100_000;

/// Measurements of a material.
struct Growth {
    /// One entry per number of lights.
    cuts: Vec<(u32, CutMeasurement)>,
    /// Indices of the smallest number of lights, and of the largest up to [`MAX_LIGHTS`].
    endpoints: [usize; 2],
    /// The sum over all lights, for the larger number of lights.
    full: CutMeasurement,
}

/// Measures a material with each number of lights.
fn growth(material: &str, args: &Args) -> Growth {
    let mut light_counts = args.lights(Table::Growth);
    light_counts.sort_unstable();
    let last = light_counts.iter().rposition(|&n| n <= MAX_LIGHTS).unwrap_or(0);
    let mut scenes: Vec<_> =
        light_counts.iter().map(|&n| load(material, n, args.resolution)).collect();
    let integrators: Vec<_> =
        scenes.iter_mut().map(|scene| integrator(scene, &CutOptions::from_args(args))).collect();
    let candidates: Vec<_> =
        scenes.iter().zip(&integrators).map(|(scene, integrator)| (scene, &**integrator)).collect();
    let cuts = light_counts.iter().copied().zip(fastest(&candidates, args)).collect();
    let mut scene = load(material, light_counts[last], args.full_resolution);
    let full = integrator(&mut scene, &CutOptions::FULL);
    Growth { cuts, endpoints: [0, last], full: measure(&scene, &*full, args.threads) }
}

/// Prints the tables.
pub fn print(args: &Args) {
    println!("## Cost against the number of lights\n");
    println!(
        "Related bounds, error mode `cluster`. µs: CPU time of the entire image divided by the \
         number of cuts.\n"
    );
    print_head(
        &[
            "material",
            "lights",
            "mean cut",
            "median",
            "capped",
            "µs per cut",
            "bounds",
            "shading",
            "shadow rays",
        ]
        .map(str::to_owned),
    );
    let mut results = vec![];
    for material in args.materials() {
        let growth = growth(material, args);
        for (lights, cut) in &growth.cuts {
            let sizes =
                [format!("{:.1}", cut.mean), format!("{:.1}", cut.median), percent(cut.capped)];
            let cost = format!("{:.1}", cut.cost());
            let labels = [material.to_owned(), lights.to_string()];
            print_row(
                labels.into_iter().chain(sizes).chain([cost]).chain(cut.fractions().map(percent)),
            );
        }
        results.push((material, growth));
    }
    let Some([fewest, most]) =
        results.first().map(|(_, growth)| growth.endpoints.map(|i| growth.cuts[i].0))
    else {
        return;
    };
    let (w, h) = args.full_resolution;
    println!(
        "\nGrowth from {fewest} to {most} lights, and the cost of the sum over all {most} lights \
         relative to a cut."
    );
    println!(
        "The full sum has error 0 and no cap, and is timed once, at a resolution of {w}×{h} pixels."
    );
    println!("*Plain* counts only shading and shadow rays, as in a sum without trees.");
    println!("Targets: growth at most 4 (100 to 100k), full sum ÷ cut at least 100 (at 100k).\n");
    let titles = [
        "material",
        "growth of cost",
        "full sum, µs",
        "full ÷ cut",
        "plain sum, µs",
        "plain ÷ cut",
    ];
    print_head(&titles.map(str::to_owned));
    for (material, Growth { cuts, endpoints, full }) in &results {
        let [first, last] = endpoints.map(|i| cuts[i].1.cost());
        let plain = full.cost() * full.fractions()[1..].iter().sum::<f64>();
        print_row([
            material.to_string(),
            format!("{:.2}", last / first),
            format!("{:.0}", full.cost()),
            format!("{:.1}", full.cost() / last),
            format!("{plain:.0}"),
            format!("{:.1}", plain / last),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lightcuts::tests::args;

    #[test]
    fn full_sums_evaluate_more_lights_than_cuts() {
        let growth = growth("phong", &args(&["--lights", "300,10", "--max-cut", "20"]));
        assert_eq!(growth.cuts.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [10, 300]);
        assert_eq!(growth.endpoints, [0, 1]);
        let [few, many] = [&growth.cuts[0].1, &growth.cuts[1].1];
        assert!(few.mean <= 10.0 && few.capped == 0.0, "{few:?}");
        assert!(many.mean <= 20.0 && many.capped > 0.5, "{many:?}");
        assert!(growth.full.mean > 100.0 && growth.full.capped == 0.0, "{:?}", growth.full);
    }
}
