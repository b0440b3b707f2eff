//! Selects the bounding shaders of a subject to compile and check.

use lightbound_shader::interval::Nan;
use lightbound_shader::lift::{BoundSides, Options, Tracking};
use lightbound_shader::random::Random;
use lightbound_shader::relations::{Relation, Relations};

/// The bounding shaders to compile for a subject.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Groups with equal relations and NaN mode. The first shader of the first group is naive,
    /// computes both sides and propagates NaN. References precede the shaders that are compared
    /// with them.
    pub(super) groups: Vec<Vec<Options>>,
    /// Part counts for which boxes are also bounded in parts.
    pub(super) splits: Vec<usize>,
}

const MODES: [Nan; 3] = [Nan::Propagate, Nan::Suppress, Nan::Ignore];

impl Plan {
    /// Selects all combinations, without split boxes. `seed` selects the partly optimized shaders
    /// and the relations of some related ones.
    pub fn full(seed: u64, loop_cap: u32) -> Plan {
        let mut groups = vec![];
        for relations in [Relations::NONE, Relations::all(), random_relations(seed)] {
            for nan in MODES {
                let mut group = vec![];
                for sides in [BoundSides::Both, BoundSides::Upper, BoundSides::Lower] {
                    let partial = random_tracking(seed)
                        .filter(|_| sides == BoundSides::Both && relations == Relations::NONE);
                    let tracking =
                        [Some(Tracking::NONE), Some(Tracking::ALL), partial].into_iter().flatten();
                    let options = |tracking| Options { sides, nan, tracking, relations, loop_cap };
                    if sides == BoundSides::Both
                        || relations == Relations::NONE
                        || relations == Relations::all()
                    {
                        group.extend(tracking.map(options));
                    }
                }
                groups.push(group);
            }
        }
        Plan { groups, splits: vec![] }
    }

    /// Selects a few random bounding shaders with the same NaN mode. They compile in a fraction of
    /// the time that all combinations take.
    pub fn random(random: &mut Random, loop_cap: u32) -> Plan {
        let (nan, side) =
            (*random.pick(&MODES), *random.pick(&[BoundSides::Upper, BoundSides::Lower]));
        let relations =
            if random.once_in(3) { random_relations(random.bits()) } else { Relations::all() };
        let requested = [relations, Relations::NONE].map(|relations| {
            let tracking = Tracking::ALL;
            Options { sides: BoundSides::Both, nan, tracking, relations, loop_cap }
        });
        let one_sided = requested.map(|options| Options { sides: side, ..options });
        let naive = random.once_in(2).then(|| Options { tracking: Tracking::NONE, ..requested[0] });
        let one_sided = one_sided.into_iter().filter(|_| random.once_in(2)).collect::<Vec<_>>();
        let splits = [2, 4].into_iter().filter(|_| random.once_in(2)).collect();
        Plan::with_references(requested.into_iter().chain(one_sided).chain(naive), splits)
    }

    /// Selects one bounding shader, for boxes that are split into `parts`.
    pub fn single(options: Options, parts: usize) -> Plan {
        let unrelated = Options { relations: Relations::NONE, ..options };
        let naive =
            [options, unrelated].map(|options| Options { tracking: Tracking::NONE, ..options });
        Plan::with_references(
            [options, unrelated].into_iter().chain(naive),
            if parts > 1 { vec![parts] } else { vec![] },
        )
    }

    /// Selects the requested bounding shaders and their references.
    fn with_references(requested: impl IntoIterator<Item = Options>, splits: Vec<usize>) -> Plan {
        let mut all: Vec<Options> = vec![];
        for options in requested {
            let naive = Options { tracking: Tracking::NONE, sides: BoundSides::Both, ..options };
            let propagating = Options { nan: Nan::Propagate, ..naive };
            if options.nan == Nan::Ignore {
                all.extend([propagating, naive]);
            }
            all.extend([Options { relations: Relations::NONE, ..propagating }, options]);
        }
        // References come first: without relations, NaN-propagating, naive, both sides.
        let rank = |options: &Options| {
            let mode = MODES.iter().position(|&nan| nan == options.nan);
            (
                options.relations != Relations::NONE,
                mode,
                options.tracking != Tracking::NONE,
                options.sides != BoundSides::Both,
            )
        };
        all.sort_by_key(rank);
        all.dedup();
        let mut groups: Vec<Vec<Options>> = vec![];
        for options in all {
            match groups.last_mut() {
                Some(group)
                    if (group[0].relations, group[0].nan) == (options.relations, options.nan) =>
                {
                    group.push(options)
                }
                _ => groups.push(vec![options]),
            }
        }
        Plan { groups, splits }
    }
}

/// Returns a random proper subset of the relations.
fn random_relations(seed: u64) -> Relations {
    let random = &mut Random::new(!seed);
    let relations: Relations =
        Relation::ALL.iter().copied().filter(|_| random.once_in(2)).collect();
    if relations == Relations::all() {
        relations.without(*random.pick(Relation::ALL))
    } else {
        relations
    }
}

/// Returns a random proper subset of the facts that optimized code tracks; `None` for some seeds.
fn random_tracking(seed: u64) -> Option<Tracking> {
    let bits = 1 + seed % 7;
    let tracking = Tracking { ranges: bits & 1 != 0, nan: bits & 2 != 0, zeros: bits & 4 != 0 };
    (tracking != Tracking::ALL).then_some(tracking)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_contain_the_references_of_their_shaders() {
        let random = &mut Random::new(1);
        let mut shaders = 0;
        for round in 0..1000 {
            let plan = Plan::random(random, 10);
            let last = plan
                .groups
                .last()
                .and_then(|group| group.last())
                .copied()
                .expect("a plan is not empty");
            let plan = if round % 2 == 0 { plan } else { Plan::single(last, 1) };
            let all: Vec<_> = plan.groups.concat();
            let first = Options {
                tracking: Tracking::NONE,
                loop_cap: 10,
                nan: Nan::Propagate,
                ..Options::default()
            };
            assert_eq!(all[0], first);
            for (k, options) in
                all.iter().enumerate().filter(|(_, options)| options.nan == Nan::Ignore)
            {
                let naive =
                    Options { tracking: Tracking::NONE, sides: BoundSides::Both, ..*options };
                let propagating = Options { nan: Nan::Propagate, ..naive };
                assert!(all[..=k].contains(&naive) && all[..=k].contains(&propagating), "{all:#?}");
            }
            assert!((1..all.len()).all(|k| !all[..k].contains(&all[k])), "{all:#?}");
            shaders += all.len();
        }
        assert!(shaders > 3000);
    }
}
