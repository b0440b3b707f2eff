//! Checks one output of one bounding shader for one box: against the results of members, against
//! other variants, and against static bounds.

use super::{Checker, CompiledVariant, MAX_ITERATIONS, any_nan, input_of, is_negative, numbers};
use crate::containment::{Fault, FaultKind, ResultSummary, Sample, Tally, number};
use lightbound_shader::interpreter;
use lightbound_shader::interval::Bounds;
use lightbound_shader::interval::Nan;
use lightbound_shader::ir::Type;
use lightbound_shader::kernel::Batch;
use lightbound_shader::lift::{BoundSides, Lifted, Options};
use lightbound_shader::testing::random;

/// The bounds that a variant computes for split boxes.
pub(super) struct SplitBounds {
    pub variant: usize,
    pub parts: usize,
    pub runtime_bounds: Batch,
    /// If the variant ignores NaN, the bounds of its NaN-propagating reference.
    pub nan_probe: Option<Batch>,
}

/// Members of a box, and the point shader's results for them.
pub(super) struct Members {
    ty: Type,
    /// Bits of the result for each member of the box.
    bits: Vec<u32>,
    /// Indices of the members to check.
    pub selected: Vec<usize>,
    /// Summary of the selected results.
    results: ResultSummary,
}

impl Members {
    pub fn new(ty: Type, bits: Vec<u32>, selected: Vec<usize>) -> Members {
        let mut results = ResultSummary::NONE;
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
    pub runtime_bounds: &'a [Batch],
}

impl BoundCheck<'_> {
    fn options(&self) -> Options {
        self.checker.variants[self.variant].options
    }

    /// Whether the NaN mode makes no claim about the bound.
    fn is_skipped(&self) -> bool {
        let nans = self.options().nan == Nan::Ignore && self.members.results.nans > 0;
        // In ignore mode, the bounding shader may compute a NaN for a part even if it computes none
        // for the unsplit box.
        if let Some(nan_probe) = self.parts.and_then(|split_bounds| split_bounds.nan_probe.as_ref())
        {
            let Checker { variants, subject, .. } = self.checker;
            let nan_probe = |k| {
                self.checker.endpoints_in(variants[self.variant].nan_probe, k, self.row, nan_probe)
            };
            let nan_seen =
                |k| numbers(self.checker.ty(k), nan_probe(k)).iter().any(|end| end.is_nan());
            if nan_seen(self.k) || nan_seen(subject.outputs.len() - 1) {
                return true;
            }
        }
        self.checker.makes_no_claim(self.variant, self.k, self.row, self.runtime_bounds) || nans
    }

    /// Whether the variant ignores a NaN that the naive code computes for the box.
    fn has_ignored_nan(&self) -> bool {
        self.ignores_nan_of(self.variant)
    }

    /// Whether another variant with the same options for NaN ignores one.
    fn ignores_nan_of(&self, variant: usize) -> bool {
        self.options().nan == Nan::Ignore && self.checker.computes_nan(variant, self.sample)
    }

    /// Whether the cosine factor (`RelationInfo::support`) is negative for all members. The bound
    /// then contains 0, and nothing else is guaranteed.
    fn is_outside_support(&self) -> bool {
        let Lifted { point, related, .. } = &self.checker.variants[self.variant].lifted;
        let Some(z) = related.support else { return false };
        self.members.selected.iter().all(|&member| {
            let words = &self.sample.members[member];
            let mut word = input_of(point, z).map(|z| words[z]);
            let watch = |value, found| word = if value == z { Some(found) } else { word };
            interpreter::watch(point, &random::tables(), words, MAX_ITERATIONS, watch)
                .expect("the loops terminate");
            word.is_some_and(is_negative)
        })
    }

    /// Returns the endpoints to check.
    fn endpoints(&self) -> [Option<u32>; 2] {
        match self.parts {
            Some(split_bounds) => self.checker.endpoints_in(
                self.variant,
                self.k,
                self.row,
                &split_bounds.runtime_bounds,
            ),
            None => self.unsplit_endpoints(self.variant),
        }
    }

    /// Returns the endpoints that a variant computes for the unsplit box.
    fn unsplit_endpoints(&self, variant: usize) -> [Option<u32>; 2] {
        self.checker.endpoints(variant, self.k, self.row, self.runtime_bounds)
    }

    fn fault(
        &self,
        kind: FaultKind,
        member: Option<usize>,
        expected: Option<u32>,
        note: String,
    ) -> Fault {
        let Checker { subject, target, .. } = *self.checker;
        let [lo, hi] = self.endpoints();
        // Related bounds hold only if the box has a valid member, so their faults always name one.
        let valid_member = self
            .members
            .selected
            .first()
            .copied()
            .filter(|_| self.checker.variants[self.variant].uses_relations());
        Fault {
            kind,
            subject: subject.name.clone(),
            target,
            options: self.options(),
            parts: self.parts.map_or(1, |split_bounds| split_bounds.parts),
            output: subject.point.outputs[subject.outputs[self.k]].name.clone(),
            ty: self.members.ty,
            endpoints: self.checker.named_endpoints(self.sample),
            member: member.or(valid_member).map(|member| self.sample.members[member].clone()),
            expected,
            found: Some([lo.or(hi), hi.or(lo)].map(|end| end.unwrap_or_default())),
            note,
        }
    }

    /// Returns whether the output is an interval, and its static bounds.
    fn static_bounds(&self) -> (bool, &Bounds) {
        let Lifted { point, is_interval, bounds, .. } = &self.checker.variants[self.variant].lifted;
        let value = point.body.yields[self.k].index();
        (is_interval[value], &bounds[value])
    }

    /// Checks the results of members against the bound.
    pub fn check_containment(&self, tally: &mut Tally) {
        let (Options { sides, nan, .. }, members) = (self.options(), self.members);
        let endpoints = numbers(members.ty, self.endpoints());
        let (kind, checked) = members.results.check_bound(nan, sides, endpoints, self.is_skipped());
        // The bound of a scalar is the scalar itself, whether NaN or not.
        let kind = kind.filter(|&kind| kind != FaultKind::NanEndpoint || self.static_bounds().0);
        // The last output reports whether a NaN was seen. It is not a result of the shader.
        if self.k + 1 < self.checker.subject.outputs.len() {
            tally.checks += checked;
            tally.related +=
                if self.checker.variants[self.variant].uses_relations() { checked } else { 0 };
            tally.skipped += members.selected.len() as u64 - checked;
        }
        // Arithmetic on empty intervals may produce NaN. Intervals may be empty in a part even if
        // none is in the unsplit box.
        let uses_relations = self.checker.variants[self.variant].uses_relations();
        let is_empty = || self.parts.is_some() || self.checker.has_empty(self.variant, self.sample);
        let Some(kind) = kind.filter(|_| !self.has_ignored_nan()) else { return };
        if kind == FaultKind::NanEndpoint && nan == Nan::Ignore && uses_relations && is_empty() {
            tally.empty += 1;
            return;
        }
        let shows_fault = |&member: &usize| match kind {
            FaultKind::UnreportedNan => members.result(member).is_nan(),
            _ => {
                let is_outside =
                    members.result(member) < endpoints[0] || endpoints[1] < members.result(member);
                is_outside
                    && !(nan == Nan::Ignore
                        && any_nan(&self.checker.subject.point, &self.sample.members[member]))
            }
        };
        let member = members.selected.iter().copied().find(shows_fault);
        if member.is_some() || kind == FaultKind::NanEndpoint {
            tally.fault(
                || {
                    self.fault(
                        kind,
                        member,
                        member.map(|member| members.bits[member]),
                        String::new(),
                    )
                },
                kind,
            );
        }
    }

    /// Compares the bound with the variants that use less information.
    pub fn compare_with_references(&self, tally: &mut Tally) {
        let &CompiledVariant { naive, unrelated, .. } = &self.checker.variants[self.variant];
        if naive != self.variant {
            self.compare(naive, |_, found, naive| found == naive, FaultKind::Mismatch, tally);
        }
        if let Some(unrelated) = unrelated.filter(|_| self.checker.only_tightens[self.k]) {
            // `monotone` may widen subnormal results by up to the smallest normal float.
            let tolerance = f64::from(f32::MIN_POSITIVE);
            // If NaN propagates, a tighter endpoint of a dividend may make a quotient 0 ÷ 0, and
            // the bound reports a NaN.
            let reports_new_nan =
                |found: f64| found.is_nan() && self.options().nan == Nan::Propagate;
            let is_within = |side, found, outer| {
                reports_new_nan(found)
                    || if side == 0 {
                        found >= outer - tolerance
                    } else {
                        found <= outer + tolerance
                    }
            };
            self.compare(unrelated, is_within, FaultKind::TooWide, tally);
        }
    }

    /// Compares the endpoints of the bound with those of another variant that are not NaN.
    fn compare(
        &self,
        other: usize,
        fits: impl Fn(usize, f64, f64) -> bool,
        kind: FaultKind,
        tally: &mut Tally,
    ) {
        if self.is_skipped()
            || self.checker.makes_no_claim(other, self.k, self.row, self.runtime_bounds)
        {
            return;
        }
        let number = |bits| number(self.members.ty, bits);
        for (side, (found, expected)) in
            std::iter::zip(self.unsplit_endpoints(self.variant), self.unsplit_endpoints(other))
                .enumerate()
        {
            let (Some(found), Some(expected)) = (found, expected) else { continue };
            if !number(expected).is_nan()
                && !fits(side, number(found), number(expected))
                && !self.has_ignored_nan()
                && !self.ignores_nan_of(other)
                && !self.is_outside_support()
            {
                if self.checker.has_empty(self.variant, self.sample) {
                    tally.empty += 1;
                } else {
                    tally.fault(|| self.fault(kind, None, Some(expected), String::new()), kind);
                }
            }
        }
    }

    /// Checks the endpoints of the bound against static bounds.
    pub fn check_static_bounds(&self, tally: &mut Tally) {
        let (Options { sides, nan, .. }, (_, bounds)) = (self.options(), self.static_bounds());
        let in_static_bounds =
            |end: u32| bounds.contains(end) || number(self.members.ty, end).is_nan();
        if sides != BoundSides::Both
            || self.unsplit_endpoints(self.variant).into_iter().flatten().all(in_static_bounds)
        {
            return;
        }
        let is_skipped = self.is_skipped()
            || nan == Nan::Propagate
                && self.checker.reports_nan(self.variant, self.row, self.runtime_bounds);
        if !is_skipped && !self.has_ignored_nan() && !self.is_outside_support() {
            let note = format!("    static bounds {bounds:?}\n");
            tally.fault(
                || self.fault(FaultKind::EndpointOutsideStaticBounds, None, None, note),
                FaultKind::EndpointOutsideStaticBounds,
            );
        }
    }
}
