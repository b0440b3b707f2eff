//! Time and memory to build light trees.

use super::measure::{CutOptions, integrator, load};
use super::{Args, Table};
use crate::report::{print_head, print_row};
use lightbound::integrator::LightTreeStats;

/// Number of threads for building.
const THREADS: usize = 2;

/// Builds a tree several times and returns the statistics of the fastest build.
fn build(lights: u32, args: &Args) -> LightTreeStats {
    // The material does not matter.
    let mut scene = load("diffuse", lights, args.resolution);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(THREADS)
        .build()
        .expect("threads can be started");
    let builds = (0..args.rounds).map(|_| {
        pool.install(|| {
            integrator(&mut scene, &CutOptions::from_args(args))
                .light_tree()
                .expect("the integrator has a light tree")
        })
    });
    builds.min_by_key(|stats| stats.build).expect("there is at least one round")
}

/// Prints the table.
pub fn print(args: &Args) {
    println!("## Building trees\n");
    println!("Wall-clock time on {THREADS} threads, the minimum of {} builds.", args.rounds);
    println!("Targets for a million lights: at most 3 s, and 200 bytes per light.\n");
    print_head(&["lights", "seconds", "bytes per light"].map(str::to_owned));
    for lights in args.lights(Table::Build) {
        let stats = build(lights, args);
        let bytes = stats.bytes as f64 / stats.points as f64;
        print_row([
            lights.to_string(),
            format!("{:.2}", stats.build.as_secs_f64()),
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
        let stats = build(300, &args(&[]));
        assert_eq!(stats.points, 300);
        assert!((50..400).contains(&(stats.bytes / 300)), "{stats:?}");
    }
}
