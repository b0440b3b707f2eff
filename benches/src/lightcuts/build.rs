//! How fast lights become trees, and in how much memory.

use super::measure::{Choice, integrator, load};
use super::{Args, Table};
use crate::report::{print_head, print_row};
use lightbound::integrator::LightTreeFigures;

/// Threads that build.
const THREADS: usize = 2;

/// The fastest of some builds.
fn build(lights: u32, args: &Args) -> LightTreeFigures {
    // What surfaces are made of does not matter.
    let mut scene = load("diffuse", lights, args.resolution);
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(THREADS).build().expect("there are threads");
    let builds = (0..args.rounds).map(|_| {
        pool.install(|| {
            integrator(&mut scene, &Choice::of(args)).light_tree().expect("it has trees")
        })
    });
    builds.min_by_key(|figures| figures.build).expect("there is a round")
}

/// Prints the table.
pub fn print(args: &Args) {
    println!("## Building trees\n");
    println!("Wall-clock time on {THREADS} threads, the least of {} builds.", args.rounds);
    println!("Targets for a million lights: at most 3 s, and 200 bytes per light.\n");
    print_head(&["lights", "seconds", "bytes per light"].map(str::to_owned));
    for lights in args.lights(Table::Build) {
        let figures = build(lights, args);
        let bytes = figures.bytes as f64 / figures.points as f64;
        print_row([
            lights.to_string(),
            format!("{:.2}", figures.build.as_secs_f64()),
            format!("{bytes:.1}"),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lightcuts::tests::args;

    #[test]
    fn all_lights_are_in_the_tree() {
        let figures = build(300, &args(&[]));
        assert_eq!(figures.points, 300);
        assert!((50..400).contains(&(figures.bytes / 300)), "{figures:?}");
    }
}
