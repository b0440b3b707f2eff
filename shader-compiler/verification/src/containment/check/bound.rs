//! Checks one output of one bounding shader for one box: against the results of members, other
//! variants, and static bounds.

use super::{Checker, ROUNDS, Variant, any_nan, input_of, is_negative, numbers};
use crate::containment::{Fault, FaultKind, Results, Sample, Tally, number};
use lightbound_shader::interpreter;
use lightbound_shader::interval::Bounds;
use lightbound_shader::interval::Nan;
use lightbound_shader::ir::Type;
use lightbound_shader::kernel::Batch;
use lightbound_shader::lift::{BoundSides, Lifted, Options};
use lightbound_shader::testing::random;

/// Bounds that a variant computes for split boxes.
pub(super) struct SplitBounds {
    pub variant: usize,
    pub parts: usize,
    pub limits: Batch,
    /// If the variant ignores NaN, the bounds of its NaN-propagating reference.
    pub nan_probe: Option<Batch>,
}

/// Members of a box, and the results of the point shader for them.
pub(super) struct Members {
    ty: Type,
    /// Bits of the result for each member of the box.
    bits: Vec<u32>,
    /// Indices of the members to check.
    pub selected: Vec<usize>,
    /// Summary of the selected results.
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

/// A check of one output of one bounding shader for one box.
pub(super) struct BoundCheck<'a> {
    pub checker: &'a Checker<'a>,
    pub variant: usize,
    /// The split bound to check, if the box is split.
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
        // In ignore mode, a part may compute a NaN at its own endpoints even if the unsplit box
        // does not.
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

    /// Whether the value of `support` is negative for all members. The bound then contains 0, and
    /// claims nothing else.
    fn is_outside_support(&self) -> bool {
        let Lifted { point, related, .. } = &self.checker.variants[self.variant].lifted;
        let Some(z) = related.support else { return false };
        self.members.selected.iter().all(|&member| {
            let words = &self.sample.members[member];
            let mut word = input_of(point, z).map(|z| words[z]);
            let watch = |value, found| word = if value == z { Some(found) } else { word };
            interpreter::watch(point, &random::tables(), words, ROUNDS, watch)
                .expect("the loops terminate");
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
        // Related bounds claim nothing without a valid member, so a fault always has one.
        let one = self
            .members
            .selected
            .first()
            .copied()
            .filter(|_| self.checker.variants[self.variant].uses_relations());
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

    /// Whether the output is an interval, and its static bounds.
    fn bounded(&self) -> (bool, &Bounds) {
        let Lifted { point, is_interval, bounds, .. } = &self.checker.variants[self.variant].lifted;
        let value = point.body.yields[self.k].index();
        (is_interval[value], &bounds[value])
    }

    /// Checks the results of members against the bound.
    pub fn check_containment(&self, tally: &mut Tally) {
        let (Options { sides, nan, .. }, members) = (self.options(), self.members);
        let ends = numbers(members.ty, self.found());
        let (wrong, checked) = members.results.check_bound(nan, sides, ends, self.is_exempt());
        // The bound of a scalar is the scalar itself, whether NaN or not.
        let wrong = wrong.filter(|&wrong| wrong != FaultKind::IsNan || self.bounded().0);
        // The last output reports NaN and is no result of the shader.
        if self.k + 1 < self.checker.subject.outputs.len() {
            tally.checks += checked;
            tally.related +=
                if self.checker.variants[self.variant].uses_relations() { checked } else { 0 };
            tally.exempt += members.selected.len() as u64 - checked;
        }
        // Arithmetic on an empty interval may produce NaN. A part may be empty even if the box is
        // not.
        let uses_relations = self.checker.variants[self.variant].uses_relations();
        let is_empty = || self.parts.is_some() || self.checker.has_empty(self.variant, self.sample);
        let Some(wrong) = wrong.filter(|_| !self.has_ignored_nan()) else { return };
        if wrong == FaultKind::IsNan && nan == Nan::Ignore && uses_relations && is_empty() {
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

    /// Compares the bound with the variants that use fewer facts.
    pub fn compare_with_references(&self, tally: &mut Tally) {
        let &Variant { naive, unrelated, .. } = &self.checker.variants[self.variant];
        if naive != self.variant {
            self.compare(naive, |_, found, naive| found == naive, FaultKind::Differs, tally);
        }
        if let Some(unrelated) = unrelated.filter(|_| self.checker.only_tightens[self.k]) {
            // `monotone` may widen results below the smallest normal float by up to that amount.
            let tolerance = f64::from(f32::MIN_POSITIVE);
            // If NaN propagates, a tighter endpoint of a dividend may make a quotient 0 ÷ 0, which
            // is reported.
            let reports_new_nan =
                |found: f64| found.is_nan() && self.options().nan == Nan::Propagate;
            let is_within = |side, found, wider| {
                reports_new_nan(found)
                    || if side == 0 {
                        found >= wider - tolerance
                    } else {
                        found <= wider + tolerance
                    }
            };
            self.compare(unrelated, is_within, FaultKind::IsWider, tally);
        }
    }

    /// Compares the endpoints of the bound with those of another variant, except for NaN ones.
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
    pub fn check_static_bounds(&self, tally: &mut Tally) {
        let (Options { sides, nan, .. }, (_, known)) = (self.options(), self.bounded());
        let in_static_bounds =
            |end: u32| known.contains(end) || number(self.members.ty, end).is_nan();
        if sides != BoundSides::Both
            || self.bits(self.variant).into_iter().flatten().all(in_static_bounds)
        {
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
