//! Which bounding shaders of a subject are compiled and checked.

use crate::interval::Nan;
use crate::ir::random::Random;
use crate::lift::{Options, Sides, Tracking};
use crate::relations::{Relation, Relations};

/// Kinds of bounding shaders of a subject.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In groups of the same relations that handle NaN alike. The very first one is naive, of both
    /// sides, and propagates NaN; those that a kind is compared with come before it.
    pub(super) groups: Vec<Vec<Options>>,
    /// Numbers of parts in which boxes are bounded as well.
    pub(super) splits: Vec<usize>,
}

const MODES: [Nan; 3] = [Nan::Propagate, Nan::Suppress, Nan::Ignore];

impl Plan {
    /// All kinds, without parts; `seed` says which of the partly optimized kinds there are, and
    /// which relations some related ones know.
    pub fn full(seed: u64, loop_cap: u32) -> Plan {
        let mut groups = vec![];
        for relations in [Relations::NONE, Relations::all(), some(seed)] {
            for nan in MODES {
                let mut group = vec![];
                for sides in [Sides::Both, Sides::Upper, Sides::Lower] {
                    let partly = partly(seed)
                        .filter(|_| sides == Sides::Both && relations == Relations::NONE);
                    let tracking =
                        [Some(Tracking::NONE), Some(Tracking::ALL), partly].into_iter().flatten();
                    let options = |tracking| Options {
                        sides,
                        nan,
                        tracking,
                        valid_ranges: false,
                        relations,
                        loop_cap,
                    };
                    if sides == Sides::Both
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

    /// One way to handle NaN, in all three modes: a few kinds, which compile in a fraction of the
    /// time that all take.
    pub fn some(random: &mut Random, loop_cap: u32) -> Plan {
        let (nan, side) = (*random.pick(&MODES), *random.pick(&[Sides::Upper, Sides::Lower]));
        let relations = if random.once_in(3) { some(random.bits()) } else { Relations::all() };
        let wanted = [relations, Relations::NONE].map(|relations| {
            let tracking = Tracking::ALL;
            Options { sides: Sides::Both, nan, tracking, valid_ranges: false, relations, loop_cap }
        });
        let one_sided = wanted.map(|options| Options { sides: side, ..options });
        let naive = random.once_in(2).then(|| Options { tracking: Tracking::NONE, ..wanted[0] });
        let one_sided = one_sided.into_iter().filter(|_| random.once_in(2)).collect::<Vec<_>>();
        let splits = [2, 4].into_iter().filter(|_| random.once_in(2)).collect();
        Plan::of(wanted.into_iter().chain(one_sided).chain(naive), splits)
    }

    /// One kind, for a box in so many parts.
    pub fn only(options: Options, parts: usize) -> Plan {
        let unrelated = Options { relations: Relations::NONE, ..options };
        let naive =
            [options, unrelated].map(|options| Options { tracking: Tracking::NONE, ..options });
        Plan::of(
            [options, unrelated].into_iter().chain(naive),
            if parts > 1 { vec![parts] } else { vec![] },
        )
    }

    /// These kinds, and those that it takes to judge them.
    fn of(wanted: impl IntoIterator<Item = Options>, splits: Vec<usize>) -> Plan {
        let mut all: Vec<Options> = vec![];
        for options in wanted {
            let naive = Options { tracking: Tracking::NONE, sides: Sides::Both, ..options };
            let testing = Options { nan: Nan::Propagate, ..naive };
            if options.nan == Nan::Ignore {
                all.extend([testing, naive]);
            }
            all.extend([Options { relations: Relations::NONE, ..testing }, options]);
        }
        // What others are compared with comes first: without relations, propagating, naive, of both
        // sides.
        let rank = |options: &Options| {
            let mode = MODES.iter().position(|&nan| nan == options.nan);
            (
                options.relations != Relations::NONE,
                mode,
                options.tracking != Tracking::NONE,
                options.sides != Sides::Both,
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

/// A random proper subset of the relations.
fn some(seed: u64) -> Relations {
    let random = &mut Random::new(!seed);
    let some: Relations = Relation::ALL.iter().copied().filter(|_| random.once_in(2)).collect();
    if some == Relations::all() { some.without(*random.pick(Relation::ALL)) } else { some }
}

/// A random proper subset of what optimized code tracks.
fn partly(seed: u64) -> Option<Tracking> {
    let bits = 1 + seed % 7;
    let tracking = Tracking { ranges: bits & 1 != 0, nan: bits & 2 != 0, zeros: bits & 4 != 0 };
    (tracking != Tracking::ALL).then_some(tracking)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_have_what_their_kinds_are_judged_by() {
        let random = &mut Random::new(1);
        let mut kinds = 0;
        for round in 0..1000 {
            let plan = Plan::some(random, 10);
            let one = plan
                .groups
                .last()
                .and_then(|group| group.last())
                .copied()
                .expect("there are kinds");
            let plan = if round % 2 == 0 { plan } else { Plan::only(one, 1) };
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
                let naive = Options { tracking: Tracking::NONE, sides: Sides::Both, ..*options };
                let testing = Options { nan: Nan::Propagate, ..naive };
                assert!(all[..=k].contains(&naive) && all[..=k].contains(&testing), "{all:#?}");
            }
            assert!((1..all.len()).all(|k| !all[..k].contains(&all[k])), "{all:#?}");
            kinds += all.len();
        }
        assert!(kinds > 3000);
    }
}
