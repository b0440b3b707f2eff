//! How far parameters of loops can grow in the number of iterations that counters allow.
//!
//! Widening knows the direction in which a parameter grows, but not how far. Here, the value after
//! an iteration is written as an affine function a·x + b of the parameter x, with ranges of a and b.
//! If a is 1, n iterations add at most n·b; in general, |x| is at most |a|ⁿ·(|x₀| + n·|b|) for
//! |a| ≥ 1. The number of iterations n follows from counters: if an integer that does not wrap is
//! at least s greater after each iteration, there are at most (its maximum − its first value) ÷ s.
//!
//! Only scalars are limited, which bounding code computes like the point shader. Relations replace
//! endpoints of intervals by others.

use super::graph::{NodeId, Source};
use super::{Bounds, Solver};
use crate::interval::{Floats, Pieces};
use crate::ir::Op;
use rustc_hash::FxHashMap;

/// Relative rounding error of an operation.
const UNIT_ROUNDOFF: f64 = 1.0 / (1 << 24) as f64;

/// An interval of real numbers.
type Range = [f64; 2];

/// A value as an affine function of a parameter of a loop: factor · parameter + offset.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Affine {
    /// The parameter; `None` if the factor is 0.
    base: Option<NodeId>,
    factor: Range,
    offset: Range,
    /// Upper bounds on the absolute factors and offsets of the partial results.
    gain: f64,
    magnitude: f64,
    /// Upper bound on the number of rounded operations.
    roundings: f64,
}

impl Affine {
    fn parameter(node: NodeId) -> Affine {
        let constant = Affine::constant([0.0; 2]);
        Affine { base: Some(node), factor: [1.0; 2], gain: 1.0, ..constant }
    }

    fn constant(offset: Range) -> Affine {
        let magnitude = greatest(offset);
        Affine { base: None, factor: [0.0; 2], offset, gain: 0.0, magnitude, roundings: 0.0 }
    }

    /// The base of a function of two values; `None` if they have different ones.
    fn common_base(&self, other: &Affine) -> Option<Option<NodeId>> {
        match (self.base, other.base) {
            (Some(a), Some(b)) if a != b => None,
            (a, b) => Some(a.or(b)),
        }
    }

    fn plus(self, other: Affine) -> Option<Affine> {
        Some(Affine {
            base: self.common_base(&other)?,
            factor: sum(self.factor, other.factor),
            offset: sum(self.offset, other.offset),
            gain: self.gain + other.gain,
            magnitude: self.magnitude + other.magnitude,
            roundings: self.roundings + other.roundings + 1.0,
        })
    }

    fn times(self, range: Range) -> Affine {
        Affine {
            factor: product(self.factor, range),
            offset: product(self.offset, range),
            // A factor below 1 does not make earlier partial results smaller.
            gain: self.gain * greatest(range).max(1.0),
            magnitude: self.magnitude * greatest(range).max(1.0),
            roundings: self.roundings + 1.0,
            ..self
        }
    }

    fn negated(self) -> Affine {
        let [factor, offset] = [self.factor, self.offset].map(|[low, high]| [-high, -low]);
        Affine { factor, offset, ..self }
    }

    /// Either of two values.
    fn or(self, other: Affine) -> Option<Affine> {
        Some(Affine {
            base: self.common_base(&other)?,
            factor: hull(self.factor, other.factor),
            offset: hull(self.offset, other.offset),
            gain: self.gain.max(other.gain),
            magnitude: self.magnitude.max(other.magnitude),
            roundings: self.roundings.max(other.roundings),
        })
    }

    /// This function of the value of another one.
    fn of(self, inner: Affine) -> Affine {
        Affine {
            base: inner.base,
            factor: product(self.factor, inner.factor),
            offset: sum(product(self.factor, inner.offset), self.offset),
            gain: self.gain.max(1.0) * inner.gain,
            magnitude: self.gain.max(1.0) * inner.magnitude + self.magnitude,
            roundings: self.roundings + inner.roundings,
        }
    }

    /// The function after `count` iterations, or fewer.
    fn repeated(self, count: f64) -> Affine {
        let [low, high] = self.offset;
        let growth = greatest(self.factor).max(1.0).powf(count);
        let gain = growth * self.gain.max(1.0);
        let magnitude = gain * count * self.magnitude;
        let roundings = count * self.roundings;
        let [factor, offset] = if self.factor == [1.0; 2] {
            [[1.0; 2], [(count * low).min(0.0), (count * high).max(0.0)]]
        } else {
            let total = growth * count * greatest(self.offset);
            [[-growth, growth], [-total, total]]
        };
        Affine { base: self.base, factor, offset, gain, magnitude, roundings }
    }

    /// The results for parameters in a range, with rounding errors.
    fn range(&self, parameter: Range) -> Range {
        let [low, high] = sum(product(self.factor, parameter), self.offset);
        // Each operation adds a relative error of the greatest partial result, or an absolute one.
        let relative = self.roundings * UNIT_ROUNDOFF;
        let absolute = self.roundings * self.gain.max(1.0) * f64::from(f32::MIN_POSITIVE);
        let error = self.greatest_part(parameter) * relative + absolute;
        [low - error, high + error]
    }

    /// Upper bound on the absolute value of all partial results.
    fn greatest_part(&self, parameter: Range) -> f64 {
        let exact = self.gain.max(1.0) * greatest(parameter) + self.magnitude;
        exact * (2.0 * self.roundings * UNIT_ROUNDOFF).exp()
    }
}

fn greatest([low, high]: Range) -> f64 {
    low.abs().max(high.abs())
}

fn hull([a, b]: Range, [c, d]: Range) -> Range {
    [a.min(c), b.max(d)]
}

fn sum([a, b]: Range, [c, d]: Range) -> Range {
    [a + c, b + d]
}

fn product([a, b]: Range, [c, d]: Range) -> Range {
    let corners = [a * c, a * d, b * c, b * d];
    [
        corners.into_iter().fold(f64::INFINITY, f64::min),
        corners.into_iter().fold(f64::NEG_INFINITY, f64::max),
    ]
}

/// The finite range of bounds that exclude NaN.
fn range_of(bounds: &Bounds) -> Option<Range> {
    match bounds {
        Bounds::Float(x) if !x.nan => x.pieces.hull().map(|ends| ends.map(f64::from)),
        Bounds::Int(x) => x.hull().map(|ends| ends.map(f64::from)),
        _ => None,
    }
    .filter(|&range| greatest(range).is_finite())
}

/// Maximum numbers of iterations of loops, as far as counters limit them.
#[derive(Default)]
pub(super) struct TripCounts(FxHashMap<u32, f64>);

impl Solver<'_, '_> {
    /// Limits the parameters of a solved component by the number of iterations, and notes what its
    /// counters imply about that. Returns whether a parameter has a new limit.
    pub(super) fn limit_growth(&mut self, nodes: &[NodeId]) -> bool {
        let forms = self.affine_forms(nodes);
        let steps: Vec<_> = nodes
            .iter()
            .filter_map(|&param| {
                let Source::Param(index) = self.graph.nodes[param as usize].source else {
                    return None;
                };
                let next = self.graph.operands(param)[1];
                let step = self.form(nodes, &forms, next)?;
                (step.base == Some(param)).then_some((param, index, step))
            })
            .collect();
        for &(param, index, step) in &steps {
            self.note_trip_count(param, index, step);
        }
        let mut has_new = false;
        for (param, index, step) in steps {
            has_new |= self.limit_parameter(param, index, step);
        }
        has_new
    }

    fn note_trip_count(&mut self, counter: NodeId, index: u32, step: Affine) {
        let first = self.graph.operands(counter)[0];
        let of = |node: NodeId| match &self.bounds[node as usize] {
            Bounds::Int(x) => x.hull().filter(|&hull| hull != [i32::MIN, i32::MAX]),
            _ => None,
        };
        let (Some(first), Some(all)) = (of(first), of(counter)) else { return };
        let [first, all] = [first, all].map(|ends| ends.map(f64::from));
        let [low, high] = step.offset;
        let count = match step.factor == [1.0; 2] {
            true if low >= 1.0 => (all[1] - first[0]) / low,
            true if high <= -1.0 => (first[1] - all[0]) / -high,
            _ => return,
        };
        let known = self.trip_counts.0.entry(index).or_insert(f64::INFINITY);
        *known = known.min(count.floor());
    }

    fn limit_parameter(&mut self, param: NodeId, index: u32, step: Affine) -> bool {
        let Some(&count) = self.trip_counts.0.get(&index) else { return false };
        let first = self.graph.operands(param)[0];
        let Some(first) = range_of(&self.bounds[first as usize]) else { return false };
        let all = step.repeated(count);
        let old = self.bounds[param as usize];
        let limit = match old {
            // Integers that fit have not wrapped, so there are no rounding errors.
            Bounds::Int(_) => {
                let [low, high] = sum(product(all.factor, first), all.offset);
                let fits = low >= f64::from(i32::MIN) && high <= f64::from(i32::MAX);
                fits.then(|| Bounds::Int(Pieces::one(low as i32, high as i32)))
            }
            Bounds::Float(_) => {
                let [low, high] = all.range(first);
                let has_no_overflow = all.greatest_part(first) < f64::from(f32::MAX) / 2.0;
                has_no_overflow.then(|| {
                    Bounds::Float(Floats::between(
                        (low as f32).next_down(),
                        (high as f32).next_up(),
                    ))
                })
            }
            Bounds::Bool(_) => None,
        };
        let Some(limit) = limit else { return false };
        let new = old.meet(&limit);
        if new == old || new.is_empty() {
            return false;
        }
        self.bounds[param as usize] = new;
        self.limits.insert(param, limit);
        true
    }

    /// The affine forms of the nodes of a component.
    fn affine_forms(&self, nodes: &[NodeId]) -> Vec<Option<Affine>> {
        let mut forms = Vec::with_capacity(nodes.len());
        for &node in nodes {
            let form = self.affine_form(nodes, &forms, node);
            forms.push(form);
        }
        forms
    }

    /// The affine form of an operand, if it is known: outside of the component, any finite range is
    /// a constant.
    fn form(&self, nodes: &[NodeId], forms: &[Option<Affine>], node: NodeId) -> Option<Affine> {
        let constant = || range_of(&self.bounds[node as usize]).map(Affine::constant);
        match nodes.binary_search(&node) {
            Ok(at) => forms.get(at).copied().flatten().or_else(constant),
            Err(_) => constant(),
        }
    }

    fn affine_form(
        &self,
        nodes: &[NodeId],
        forms: &[Option<Affine>],
        id: NodeId,
    ) -> Option<Affine> {
        let node = &self.graph.nodes[id as usize];
        let operands = self.graph.operands(id);
        let of = |k: usize| self.form(nodes, forms, operands[k]);
        let range = |k: usize| range_of(&self.bounds[operands[k] as usize]);
        if self.is_interval[node.value.index()] {
            return None;
        }
        // A sum with one operand that depends on another parameter.
        let sum = |a: Option<Affine>, b: Option<Affine>, ranges: [Option<Range>; 2]| {
            let [x, y] = ranges.map(|range| range.map(Affine::constant));
            let plus = |a: Option<Affine>, b: Option<Affine>| a?.plus(b?);
            plus(a, b).or_else(|| plus(a, y)).or_else(|| plus(x, b))
        };
        match node.source {
            Source::Given => None,
            Source::Param(_) => Some(Affine::parameter(id)),
            Source::Clip(_) => of(0),
            Source::Merge => of(1)?.or(of(2)?),
            Source::Exit(index) => {
                // The value at the exit depends on a parameter of the loop, which has grown.
                let exit = of(0)?;
                let Some(param) = exit.base else { return Some(exit) };
                if !matches!(self.graph.nodes[param as usize].source, Source::Param(of) if of == index)
                {
                    return Some(exit);
                }
                let count = *self.trip_counts.0.get(&index)?;
                let [first, next] = [0, 1].map(|k| self.graph.operands(param)[k]);
                let step = self.form(nodes, forms, next)?;
                let first = self.form(nodes, forms, first)?;
                (step.base == Some(param)).then(|| exit.of(step.repeated(count)).of(first))
            }
            Source::Op(op) => match op {
                Op::Add | Op::IAdd => sum(of(0), of(1), [range(0), range(1)]),
                Op::Sub | Op::ISub => {
                    let negated = range(1).map(|[low, high]| [-high, -low]);
                    sum(of(0), of(1).map(Affine::negated), [range(0), negated])
                }
                Op::Mul | Op::IMul => match (of(0), of(1)) {
                    (Some(a), _) if a.base.is_some() => Some(a.times(range(1)?)),
                    (_, Some(b)) if b.base.is_some() => Some(b.times(range(0)?)),
                    _ => None,
                },
                Op::Div => {
                    let [low, high] = range(1).filter(|&[low, high]| low > 0.0 || high < 0.0)?;
                    Some(of(0)?.times([1.0 / high, 1.0 / low]))
                }
                Op::Neg => of(0).map(Affine::negated),
                Op::Abs => of(0)?.or(of(0)?.negated()),
                Op::Min | Op::Max => of(0)?.or(of(1)?),
                Op::Select => of(1)?.or(of(2)?),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::solve::{self, Effort, Facts};
    use crate::interval::Nan;
    use crate::ir::Value;
    use crate::ir::text::{name, parse};
    use crate::lift::find_clips;

    /// The hull of a value of a function of x, from 0.5 to 1, and n, from 0 to 20.
    fn hull(body: &str, value: &str, effort: Effort) -> [f64; 2] {
        let function = parse(&format!("fn f(x: f32, n: i32) -> (r: f32) {{ {body} }}")).unwrap();
        let inputs = [Bounds::Float(Floats::between(0.5, 1.0)), Bounds::Int(Pieces::one(0, 20))];
        let scalars = vec![false; function.len()];
        let clips = find_clips(&function, &scalars, &inputs, Nan::Ignore);
        let effort = Effort { followed: 0, ..effort };
        let facts = Facts { clips: Some(&clips), effort, ..Facts::default() };
        let bounds = solve::run(&function, &scalars, &inputs, Nan::Ignore, facts);
        let named = |&k: &usize| name(&function, Value(k as u32)) == value;
        let index = (0..function.len()).find(named).expect("the value exists");
        match &bounds[index] {
            Bounds::Float(x) => [x.low(), x.high()].map(f64::from),
            bounds => bounds.ints().hull().unwrap().map(f64::from),
        }
    }

    const SUMS: &str = "%0 = loop (%1: i32 = 0, %2: f32 = 0.0, %3: i32 = 5, %4: f32 = 1.0) {
            %5 = slt %1, n
            while %5 else %2
            %6 = add %2, x
            %7 = lt x, 0.75
            %8 = iadd %3, 3
            %9 = select %7, %8, %3
            %10 = mul %4, 2.0
            %11 = add %10, -1.0
            %12 = iadd %1, 1
            next %12, %6, %9, %11
        }
        return %0";

    #[test]
    fn trip_counts_limit_sums_and_products() {
        let of = |value| hull(SUMS, value, Effort::default());
        let [low, high] = of("%2");
        assert!(low == 0.0 && (20.0..20.001).contains(&high), "{high}");
        assert_eq!(of("%3"), [5.0, 65.0]);
        let [low, high] = of("%4");
        // The actual value is 1: the bound only knows that it at most doubles and loses 1.
        assert!(low > -3e7 && high < 3e7, "{low} {high}");
    }

    #[test]
    fn parameters_without_counter_are_unlimited() {
        let effort = Effort { growth_limits: 0, ..Effort::default() };
        assert!(hull(SUMS, "%2", effort)[1] >= f64::from(f32::MAX));
        let wrapping = SUMS.replace("%12 = iadd %1, 1", "%12 = iadd %1, -1");
        assert!(hull(&wrapping, "%2", Effort::default())[1] >= f64::from(f32::MAX));
    }

    #[test]
    fn inner_loops_add_what_they_add_in_all_iterations() {
        let nested = "%0 = loop (%1: i32 = 0, %2: f32 = 0.0) {
                %3 = slt %1, n
                while %3 else %2
                %4 = loop (%5: i32 = 0, %6: f32 = %2) {
                    %7 = slt %5, 4
                    while %7 else %6
                    %8 = sub %6, x
                    %9 = iadd %5, 1
                    next %9, %8
                }
                %10 = iadd %1, 1
                next %10, %4
            }
            return %0";
        let [low, high] = hull(nested, "%2", Effort::default());
        assert!(high == 0.0 && (-80.01..=-80.0).contains(&low), "{low}");
    }

    #[test]
    fn cancellation_within_an_iteration_keeps_its_rounding_errors() {
        let large = [f64::from(1 << 24); 2];
        let add = Affine::parameter(0).plus(Affine::constant(large)).unwrap();
        let step = add.plus(Affine::constant(large).negated()).unwrap();
        assert_eq!([step.factor, step.offset], [[1.0; 2], [0.0; 2]]);
        // One iteration turns 1.5 into 2, and 0.5 into 0.
        let [low, high] = step.repeated(1.0).range([0.5, 1.5]);
        assert!(low <= 0.0 && high >= 2.0, "{low} {high}");
        let scaled =
            Affine::parameter(0).times([1e6; 2]).plus(Affine::parameter(0).times([-999_999.0; 2]));
        assert_eq!(scaled.unwrap().repeated(2.0).gain, 1_999_999.0);
    }
}
