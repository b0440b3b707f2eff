//! Containment tests of random WGSL programs. `lightbound-benches containment --programs` runs for
//! longer.

use lightbound_shader::Target;
use lightbound_verification::containment::Tally;
use lightbound_verification::containment::programs::{CheckBudget, Trial, report, shrink};
use std::ops::Range;

/// Maximum number of faults to shrink and report.
const MAX_REPORTED: usize = 3;

/// What is expected of the checks.
struct Expected {
    /// Minimum number of checks of related bounds, for each program.
    related: u64,
    /// Maximum number of skipped results, as a percentage of the checks.
    skipped: u64,
}

const MATERIALS: Expected = Expected { related: 3_000, skipped: 40 };

/// Arguments are any vectors, so more results are NaN.
const FUNCTIONS: Expected = Expected { related: 2_000, skipped: 120 };

/// Checks the programs generated from a range of seeds, as materials or as functions.
fn check(seeds: Range<u64>, new: fn(u64, &[Target]) -> Trial, expected: Expected) {
    let is_native = |target: &Target| target.is_available() && *target != Target::Interpreter;
    let native: Vec<_> = Target::ALL.into_iter().filter(is_native).collect();
    let targets = if native.is_empty() { vec![Target::Interpreter] } else { native };
    let budget = CheckBudget { checks: 20_000, boxes: 8, members: 8, steps: 8 };
    let (mut total, mut faulty, mut reports) = (Tally::default(), vec![], String::new());
    let (count, mut unchecked) = (seeds.end - seeds.start, 0);
    for seed in seeds {
        let trial = new(seed, &targets);
        let tally = trial.run(&budget);
        if tally.is_faulty() {
            if faulty.len() < MAX_REPORTED {
                let (small, fault) = shrink(&trial, &tally.faults[0]);
                reports.push_str(&report(&small, &fault));
            }
            faulty.push(seed);
        }
        unchecked += u64::from(tally.checks == 0);
        total.add(tally);
    }
    assert!(faulty.is_empty(), "programs with seeds {faulty:?} have faults:\n{reports}");
    assert!(total.checks > 15_000 * count && total.related > expected.related * count, "{total:?}");
    assert!(
        total.skipped * 100 < total.checks * expected.skipped && total.empty * 1000 < total.checks,
        "{total:?}"
    );
    // Totals do not show programs that are not checked at all.
    assert!(unchecked <= count / 100, "{unchecked} of {count} programs were not checked");
}

#[test]
fn bounds_of_programs_contain_their_results() {
    check(0..1000, Trial::new, MATERIALS);
}

#[test]
fn bounds_of_more_programs_contain_their_results() {
    check(1000..2000, Trial::new, MATERIALS);
}

#[test]
fn bounds_of_functions_contain_their_results() {
    check(0..100, Trial::of_function, FUNCTIONS);
}

#[test]
#[ignore = "takes minutes; CI runs it: cargo test -p lightbound-verification --test programs -- --ignored"]
fn bounds_of_thousands_of_programs_contain_their_results() {
    check(2000..8000, Trial::new, MATERIALS);
}

#[test]
#[ignore = "takes minutes; CI runs it: cargo test -p lightbound-verification --test programs -- --ignored"]
fn bounds_of_thousands_of_other_programs_contain_their_results() {
    check(8000..14000, Trial::new, MATERIALS);
}
