//! Bounds of random WGSL programs contain what the programs return. `lightbound-benches containment --programs` runs for longer.

use lightbound_shader::Target;
use lightbound_shader::containment::Tally;
use lightbound_shader::containment::programs::{Effort, Trial, report, shrink};

/// Checks the programs of some seeds.
fn check(seeds: impl Iterator<Item = u64>, effort: &Effort) -> Tally {
    let targets: Vec<_> =
        Target::ALL.into_iter().filter(|&target| target.is_available() && target != Target::Interpreter).collect();
    let targets = if targets.is_empty() { vec![Target::Interpreter] } else { targets };
    let mut all = Tally::default();
    for seed in seeds {
        let trial = Trial::new(seed, &targets);
        let tally = trial.run(effort);
        if let Some(fault) = tally.faults.first() {
            let (small, fault) = shrink(&trial, fault);
            panic!("program of seed {seed}:\n{}", report(&small, &fault));
        }
        assert!(!tally.is_faulty(), "program of seed {seed}");
        all.add(tally);
    }
    all
}

#[test]
fn bounds_of_programs_contain_their_results() {
    let tally = check(0..300, &Effort { checks: 20_000, boxes: 8, members: 8, steps: 8 });
    assert!(tally.checks > 4_000_000 && tally.related > 1_000_000, "{tally:?}");
    assert!(tally.exempt < tally.checks / 4, "{tally:?}");
}
