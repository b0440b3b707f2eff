//! Size and cost of cuts against the number of lights, and the cost of the sum over all lights.

use super::measure::{Choice, Measured, fastest, integrator, load, measure, percent};
use super::{Args, Table};
use crate::report::{print_head, print_row};

/// Maximum number of lights for full sums and growth.
const MAX_LIGHTS: u32 = 100_000;

/// Results for a material.
struct Growth {
    /// One entry per number of lights.
    cuts: Vec<(u32, Measured)>,
    /// Indices of the smallest number of lights, and of the largest one up to [`MAX_LIGHTS`].
    ends: [usize; 2],
    /// The sum over all lights, for the larger number of lights.
    full: Measured,
}

fn growth(material: &str, args: &Args) -> Growth {
    let mut sizes = args.lights(Table::Growth);
    sizes.sort_unstable();
    let most = sizes.iter().rposition(|&n| n <= MAX_LIGHTS).unwrap_or(0);
    let mut scenes: Vec<_> = sizes.iter().map(|&n| load(material, n, args.resolution)).collect();
    let integrators: Vec<_> =
        scenes.iter_mut().map(|scene| integrator(scene, &Choice::of(args))).collect();
    let all: Vec<_> =
        scenes.iter().zip(&integrators).map(|(scene, integrator)| (scene, &**integrator)).collect();
    let cuts = sizes.iter().copied().zip(fastest(&all, args)).collect();
    let mut scene = load(material, sizes[most], args.full_resolution);
    let full = integrator(&mut scene, &Choice::FULL);
    Growth { cuts, ends: [0, most], full: measure(&scene, &*full, args.threads) }
}

/// Prints the tables.
pub fn print(args: &Args) {
    println!("## Cost against the number of lights\n");
    println!(
        "Related bounds, error by cluster. µs: CPU time of the whole picture divided by its number of cuts.\n"
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
    let mut all = vec![];
    for material in args.materials() {
        let growth = growth(material, args);
        for (lights, cut) in &growth.cuts {
            let figures =
                [format!("{:.1}", cut.mean), format!("{:.1}", cut.median), percent(cut.capped)];
            let cost = format!("{:.1}", cut.cost());
            let head = [material.to_owned(), lights.to_string()];
            print_row(
                head.into_iter().chain(figures).chain([cost]).chain(cut.shares().map(percent)),
            );
        }
        all.push((material, growth));
    }
    let Some([fewest, most]) =
        all.first().map(|(_, growth)| growth.ends.map(|end| growth.cuts[end].0))
    else {
        return;
    };
    let (w, h) = args.full_resolution;
    println!(
        "\nGrowth from {fewest} to {most} lights, and the cost relative to the sum over all {most} lights, timed once on {w}×{h} pixels of the whole picture:"
    );
    println!(
        "with error 0 and no cap; *plain*: only shading and shadow rays, as in a sum without trees."
    );
    println!("Targets: growth at most 4 (100 to 100k), full sum ÷ cut at least 100 (at 100k).\n");
    let titles =
        ["material", "growth of µs", "full sum, µs", "full ÷ cut", "plain sum, µs", "plain ÷ cut"];
    print_head(&titles.map(str::to_owned));
    for (material, Growth { cuts, ends, full }) in &all {
        let [first, last] = ends.map(|end| cuts[end].1.cost());
        let plain = full.cost() * full.shares()[1..].iter().sum::<f64>();
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
    fn full_sum_evaluates_lights_that_cuts_cluster() {
        let growth = growth("phong", &args(&["--lights", "300,10", "--max-cut", "20"]));
        assert_eq!(growth.cuts.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [10, 300]);
        assert_eq!(growth.ends, [0, 1]);
        let [few, many] = [&growth.cuts[0].1, &growth.cuts[1].1];
        assert!(few.mean <= 10.0 && few.capped == 0.0, "{few:?}");
        assert!(many.mean <= 20.0 && many.capped > 0.5, "{many:?}");
        assert!(growth.full.mean > 100.0 && growth.full.capped == 0.0, "{:?}", growth.full);
        assert!(growth.full.cost() > many.cost());
    }
}
