//! Checks of one output of one bounding shader for one box: against the results of members, against
//! other variants, and against static bounds.

use super::{Checker, ROUNDS, Variant, any_nan, input_of, is_negative, numbers};
use crate::analysis::Bounds;
use crate::containment::{Fault, FaultKind, Results, Sample, Tally, number};
use crate::interpreter;
use crate::interval::Nan;
use crate::ir::{Type, random};
use crate::kernel::Batch;
use crate::lift::{Lifted, Options, Sides};

/// Bounds of a variant for boxes that are split.
pub(super) struct SplitBounds {
    pub variant: usize,
    pub parts: usize,
    pub limits: Batch,
    /// If the variant ignores NaN, the bounds of the one that tests for it.
    pub nan_probe: Option<Batch>,
}

/// Members of a box, and the results of the point shader for them.
pub(super) struct Members {
    ty: Type,
    /// For each member of the box.
    bits: Vec<u32>,
    /// Indices of those that are checked.
    pub selected: Vec<usize>,
    /// Summary of their results.
    results: Results,
}

impl Members {
    pub fn new(ty: Type, bits: Vec<u32>, selected: Vec<usize>) -> Members {
        let mut results = Results::NONE;
        selected.iter().for_each(|&member| results.add(number(ty, bits[member])));
        Members { ty, bits, selected, results }
    }

    fn result(&self, member: usize) -> f64 {
        number(self.ty, self.bits[member])
    }
}

/// One output of one bounding shader for one box, to be checked.
pub(super) struct BoundCheck<'a> {
    pub checker: &'a Checker<'a>,
    pub variant: usize,
    /// The bound to check, if the box was split.
    pub parts: Option<&'a SplitBounds>,
    pub row: usize,
    pub k: usize,
    pub sample: &'a Sample,
    pub members: &'a Members,
    pub limits: &'a [Batch],
}

impl BoundCheck<'_> {
    fn options(&self) -> Options {
        self.checker.variants[self.variant].options
    }

    fn is_exempt(&self) -> bool {
        let nans = self.options().nan == Nan::Ignore && self.members.results.nans > 0;
        // Where NaN is ignored, a part may compute one that the whole box does not, at its own
        // endpoints.
        if let Some(nan_probe) = self.parts.and_then(|split_bounds| split_bounds.nan_probe.as_ref())
        {
            let Checker { variants, subject, .. } = self.checker;
            let nan_probe =
                |k| self.checker.ends_in(variants[self.variant].nan_probe, k, self.row, nan_probe);
            let nan_seen =
                |k| numbers(self.checker.ty(k), nan_probe(k)).iter().any(|end| end.is_nan());
            if nan_seen(self.k) || nan_seen(subject.outputs.len() - 1) {
                return true;
            }
        }
        self.checker.makes_no_claim(self.variant, self.k, self.row, self.limits) || nans
    }

    fn has_ignored_nan(&self) -> bool {
        self.options().nan == Nan::Ignore && self.checker.computes_nan(self.variant, self.sample)
    }

    /// Whether the value of `support` is negative for all members: then the bound contains 0, and
    /// claims nothing else.
    fn is_outside_support(&self) -> bool {
        let Lifted { point, related, .. } = &self.checker.variants[self.variant].lifted;
        let Some(z) = related.support else { return false };
        self.members.selected.iter().all(|&member| {
            let words = &self.sample.members[member];
            let mut word = input_of(point, z).map(|z| words[z]);
            let watch = |value, found| word = if value == z { Some(found) } else { word };
            interpreter::watch(point, &random::tables(), words, ROUNDS, watch).expect("loops end");
            word.is_some_and(is_negative)
        })
    }

    /// The endpoints to check.
    fn found(&self) -> [Option<u32>; 2] {
        match self.parts {
            Some(split_bounds) => {
                self.checker.ends_in(self.variant, self.k, self.row, &split_bounds.limits)
            }
            None => self.bits(self.variant),
        }
    }

    fn bits(&self, variant: usize) -> [Option<u32>; 2] {
        self.checker.ends(variant, self.k, self.row, self.limits)
    }

    fn fault(
        &self,
        wrong: FaultKind,
        member: Option<usize>,
        expected: Option<u32>,
        note: String,
    ) -> Fault {
        let Checker { subject, target, .. } = *self.checker;
        let [lo, hi] = self.found();
        // Without a member, nothing is said of related bounds.
        let one = self
            .members
            .selected
            .first()
            .copied()
            .filter(|_| self.checker.variants[self.variant].is_related());
        Fault {
            kind: wrong,
            subject: subject.name.clone(),
            target,
            options: self.options(),
            parts: self.parts.map_or(1, |split_bounds| split_bounds.parts),
            output: subject.point.outputs[subject.outputs[self.k]].name.clone(),
            ty: self.members.ty,
            ends: self.checker.named(self.sample),
            member: member.or(one).map(|member| self.sample.members[member].clone()),
            expected,
            found: Some([lo.or(hi), hi.or(lo)].map(|end| end.unwrap_or_default())),
            note,
        }
    }

    /// Whether it is an interval, and what is known of it at compile time.
    fn bounded(&self) -> (bool, &Bounds) {
        let Lifted { point, kinds, bounds, .. } = &self.checker.variants[self.variant].lifted;
        let value = point.body.yields[self.k].index();
        (kinds[value], &bounds[value])
    }

    /// Checks the results of members against the bound.
    pub fn contained(&self, tally: &mut Tally) {
        let (Options { sides, nan, .. }, members) = (self.options(), self.members);
        let ends = numbers(members.ty, self.found());
        let (wrong, checked) = members.results.judge(nan, sides, ends, self.is_exempt());
        // A value that is no interval is its own bound, NaN or not.
        let wrong = wrong.filter(|&wrong| wrong != FaultKind::IsNan || self.bounded().0);
        // The last output, whether code reports a NaN, is no result of the shader.
        if self.k + 1 < self.checker.subject.outputs.len() {
            tally.checks += checked;
            tally.related +=
                if self.checker.variants[self.variant].is_related() { checked } else { 0 };
            tally.exempt += members.selected.len() as u64 - checked;
        }
        // Arithmetic on an empty interval may make a NaN. A part of a box may be empty where the
        // box is not.
        let is_related = self.checker.variants[self.variant].is_related();
        let is_empty = || self.parts.is_some() || self.checker.has_empty(self.variant, self.sample);
        let Some(wrong) = wrong.filter(|_| !self.has_ignored_nan()) else { return };
        if wrong == FaultKind::IsNan && nan == Nan::Ignore && is_related && is_empty() {
            tally.empty += 1;
            return;
        }
        let is_wrong = |&member: &usize| match wrong {
            FaultKind::HidesNan => members.result(member).is_nan(),
            _ => {
                let escapes = members.result(member) < ends[0] || ends[1] < members.result(member);
                escapes
                    && !(nan == Nan::Ignore
                        && any_nan(&self.checker.subject.point, &self.sample.members[member]))
            }
        };
        let member = members.selected.iter().copied().find(is_wrong);
        if member.is_some() || wrong == FaultKind::IsNan {
            tally.fault(
                || {
                    self.fault(
                        wrong,
                        member,
                        member.map(|member| members.bits[member]),
                        String::new(),
                    )
                },
                wrong,
            );
        }
    }

    /// Compares the bound with those of variants with fewer assumptions.
    pub fn compared(&self, tally: &mut Tally) {
        let &Variant { naive, unrelated, .. } = &self.checker.variants[self.variant];
        if naive != self.variant {
            self.compare(naive, |_, found, naive| found == naive, FaultKind::Differs, tally);
        }
        if let Some(unrelated) = unrelated.filter(|_| self.checker.only_tightens[self.k]) {
            // What `monotone` adds for results below the least normal number may be as much as
            // that.
            let least = f64::from(f32::MIN_POSITIVE);
            // Where NaN propagates, a tighter endpoint of a dividend may make a quotient 0 ÷ 0,
            // which is reported.
            let tells = |found: f64| found.is_nan() && self.options().nan == Nan::Propagate;
            let is_within = |side, found, wider| {
                tells(found)
                    || if side == 0 { found >= wider - least } else { found <= wider + least }
            };
            self.compare(unrelated, is_within, FaultKind::IsWider, tally);
        }
    }

    /// Compares the bound with that of another variant, on the sides where that is a number.
    fn compare(
        &self,
        other: usize,
        fits: impl Fn(usize, f64, f64) -> bool,
        wrong: FaultKind,
        tally: &mut Tally,
    ) {
        if self.is_exempt() || self.checker.makes_no_claim(other, self.k, self.row, self.limits) {
            return;
        }
        let number = |bits| number(self.members.ty, bits);
        for (side, (found, expected)) in
            std::iter::zip(self.bits(self.variant), self.bits(other)).enumerate()
        {
            let (Some(found), Some(expected)) = (found, expected) else { continue };
            if !number(expected).is_nan()
                && !fits(side, number(found), number(expected))
                && !self.has_ignored_nan()
                && !self.is_outside_support()
            {
                if self.checker.has_empty(self.variant, self.sample) {
                    tally.empty += 1;
                } else {
                    tally.fault(|| self.fault(wrong, None, Some(expected), String::new()), wrong);
                }
            }
        }
    }

    /// Checks the endpoints of the bound against static bounds.
    pub fn foreseen(&self, tally: &mut Tally) {
        let (Options { sides, nan, .. }, (_, known)) = (self.options(), self.bounded());
        let foreseen = |end: u32| known.contains(end) || number(self.members.ty, end).is_nan();
        if sides != Sides::Both || self.bits(self.variant).into_iter().flatten().all(foreseen) {
            return;
        }
        let is_exempt = self.is_exempt()
            || nan == Nan::Propagate
                && self.checker.reports_nan(self.variant, self.row, self.limits);
        if !is_exempt && !self.has_ignored_nan() && !self.is_outside_support() {
            let note = format!("    known {known:?}\n");
            tally.fault(
                || self.fault(FaultKind::EndpointOutsideStaticBounds, None, None, note),
                FaultKind::EndpointOutsideStaticBounds,
            );
        }
    }
}
