//! Values that rise, or fall, with one that they use several times, as z / √(z² + y²) does with z.
//!
//! Interval forms take each use by itself: for the upper end, z̄ in the numerator and z̲ in the
//! other place. Where [`Growth`] proves that a value v, as a function of some of the uses of t,
//! rises for real numbers, whatever all else it is made of, v is at most what comes of t̄ in all of
//! these uses. So the operations between t and v are written once more, with forms in which uses of
//! t are a number, and all else has its ends; what is the same as before is shared. In this text v
//! rises, and its upper end is sought; the rest is mirrored.
//!
//! # Proof
//!
//! F is the function of floats, G that of real numbers, by the same operations; u is all that is
//! not tied. F(t, u) is as close to G(t, u) ≤ G(t̄, u) as [`Error`] says, and so is F(t̄, u), which
//! is within the forms' ends. What holds of t̄ and u is that each is within its own bounds: so what
//! is known of the operations between is what [`transfer`] says. Limits of other relations need not
//! hold at (t̄, u). There are two ways to make up for what floats are off.
//!
//! - *Widening.* All of the uses are t̄, and the end is widened. It is intersected with v's own
//!   end.
//! - *Moving.* Where v ≥ 0 and t ≥ 0, only the uses by which v may fall are tied, as the second
//!   argument of v = F(t, t, u). There, the interval of t is cut to [t', t̄], t' some floats below
//!   t̄, or t̲. So F(t, t, u) is within the forms' ends for members with t ≥ t'. For the others,
//!   G(t, t, u) ≤ G(t', t', u) ≤ (t'/t̄)ᵉ G(t̄, t', u) with the least elasticity e of G in its
//!   first argument, which has to be above 0: t' is such that this makes up for what is relative of
//!   the errors. What is absolute, by results below the least normal number, is added. As [t', t̄]
//!   is within t's ends, the end is within that of v's form before that, and takes its place at no
//!   cost, where v is an output or nothing is added; elsewhere what comes after v might make more
//!   of it, and the two are intersected. All of this needs ends of the operations between that are
//!   those of their forms, so they have no alternatives.
//!
//! Moreover:
//!
//! - *Pieces.* If t can have both signs, v is looked at where t ≤ 0 and where t ≥ 0; it is
//!   continuous, as all operations are where they are defined. If it is 0 where t ≤ 0, that is no
//!   less than the end, since v's form has it; and all else is within what it is where t ≥ 0.
//! - *Limits.* They do hold at (t, u), and on the way to t̄ those keep holding from which a value
//!   recedes: what falls stays below its upper limit.
//! - *Guards.* If v rises only where t ≥ c, for a c that t has a maximum with, the end holds for
//!   boxes with t̲ ≥ c.
//! - *Cut operands.* A factor of unknown sign leaves it open whether v rises. If v, in floats, does
//!   not fall with the factor, it is no less at the greater one of it and 0, of which the sign is
//!   known: that will do for upper ends when they are widened. When t is moved, members whose
//!   factor is not negative are as above; of the others, v must rise in floats with the uses that
//!   fell before: F(t, t, u) ≤ F(t, t', u) for t < t'.

mod search;
mod tie;

use super::range::Range;
use super::rounding::Error;
use crate::analysis::{Bounds, Floats};
use crate::interval::{Facts, Forms, Interval, Nan};
use crate::ir::{Emit, Op, Value};
pub(super) use search::find;

/// A value as a function of one that it uses several times.
#[derive(Clone, Debug)]
pub struct Monotone {
    /// The one that is used several times.
    source: Value,
    /// The operations from it to the value, or from those of its uses that are moved.
    steps: Vec<Step>,
    /// Operands that are cut at 0.
    cut: Vec<Value>,
    /// What the value can be.
    sign: Sign,
    /// How the lower and the upper end are found.
    ends: [Option<End>; 2],
    /// Whether moved ends take the place of those of the interval form: no NaN is on the way, of
    /// which those would have to tell, and nothing comes after a shift that might make more of it.
    replaces: bool,
}

/// An operation.
#[derive(Clone, Debug)]
struct Step {
    value: Value,
    op: Op,
    args: Vec<Arg>,
    bounds: Bounds,
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Arg {
    /// The source.
    Tied(Floats),
    /// The result of a step.
    Step(usize),
    /// Another value.
    Other { value: Value, bounds: Bounds, number: bool },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Sign {
    Plus,
    Minus,
    Any,
}

impl Sign {
    fn of(bounds: &Bounds) -> Sign {
        match bounds {
            Bounds::Float(floats) if floats.low() >= 0.0 => Sign::Plus,
            Bounds::Float(floats) if floats.high() <= 0.0 => Sign::Minus,
            _ => Sign::Any,
        }
    }
}

/// How an end is found.
#[derive(Clone, Copy, Debug, PartialEq)]
struct End {
    /// From which end of the source.
    of: usize,
    way: By,
}

/// How it is made sure that an end holds for floats.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    /// The end is widened by what floats may be off. The source must not be below the guard.
    Widening { error: Error, guard: Option<f32> },
    /// The source is moved by so many floats, and the end shifted.
    Moving { floats: i32, shift: f32 },
}

/// Which way a value goes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Constant,
    Rises,
    Falls,
}

impl Way {
    /// By the sign of the slope where the source is in a range of one sign.
    fn of(slope: Range, source: Range) -> Option<Way> {
        match (slope.is_positive(), slope.is_negative()) {
            (true, true) => Some(Way::Constant),
            (true, _) => Some(if source.is_positive() { Way::Rises } else { Way::Falls }),
            (_, true) => Some(if source.is_positive() { Way::Falls } else { Way::Rises }),
            _ => None,
        }
    }

    /// Of the negative.
    fn turned(self) -> Way {
        match self {
            Way::Constant => Way::Constant,
            Way::Rises => Way::Falls,
            Way::Falls => Way::Rises,
        }
    }

    /// Of a product with something of such a sign.
    fn times(self, sign: Sign) -> Option<Way> {
        match sign {
            Sign::Plus => Some(self),
            Sign::Minus => Some(self.turned()),
            Sign::Any => (self == Way::Constant).then_some(self),
        }
    }

    /// On two pieces, or of what two operands make.
    fn and(self, other: Way) -> Option<Way> {
        match (self, other) {
            (Way::Constant, way) | (way, Way::Constant) => Some(way),
            (a, b) => (a == b).then_some(a),
        }
    }
}

/// Numbers alone: neither NaN nor infinite.
fn is_finite(bounds: &Bounds) -> bool {
    match bounds {
        Bounds::Float(floats) => {
            !floats.nan && floats.low().is_finite() && floats.high().is_finite()
        }
        _ => true,
    }
}

fn range(floats: &Floats) -> Range {
    Range::new(f64::from(floats.low()), f64::from(floats.high()))
}

impl Monotone {
    /// The values whose ends it needs.
    pub(super) fn sources(&self) -> Vec<Value> {
        let other =
            |arg: &Arg| if let Arg::Other { value, .. } = arg { Some(*value) } else { None };
        self.steps
            .iter()
            .flat_map(|step| &step.args)
            .filter_map(other)
            .chain([self.source])
            .collect()
    }

    /// Whether an end is within that of the interval form already, but for what is below 1e-30.
    pub(super) fn is_within(&self, side: usize) -> bool {
        self.replaces && matches!(self.ends[side], Some(End { way: By::Moving { .. }, .. }))
    }

    /// Ends with the source tied; infinite where there is none.
    pub(super) fn ends<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        [0, 1].map(|side| {
            let Some(end) = self.ends[side] else { return emit.f32(NOTHING[side]) };
            let source = of(self.source);
            match end.way {
                By::Widening { error, guard } => {
                    let x = self.end(emit, &of, side, [source[end.of]; 2]);
                    let x = self.widened(emit, x, side, error);
                    let Some(floor) = guard else { return x };
                    let [floor, nothing] = [floor, NOTHING[side]].map(|x| emit.f32(x));
                    let is_above = emit.op(Op::Le, &[floor, source[0]]);
                    emit.op(Op::Select, &[is_above, x, nothing])
                }
                By::Moving { floats, shift } => {
                    let part = self.part(emit, source, end.of, floats);
                    let x = self.end(emit, &of, side, part);
                    self.shifted(emit, x, side, source, shift)
                }
            }
        })
    }

    /// An end of the steps, with an interval for the source.
    fn end<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: &impl Fn(Value) -> [E::Value; 2],
        side: usize,
        source: [E::Value; 2],
    ) -> E::Value {
        let mut intervals: Vec<Interval<E::Value>> = vec![];
        for step in &self.steps {
            let mut arg = |arg: &Arg| match *arg {
                Arg::Tied(floats) => {
                    interval(source, Bounds::Float(floats), source[0] == source[1])
                }
                Arg::Step(step) => intervals[step],
                Arg::Other { value, bounds, number } => {
                    let mut ends = of(value);
                    if self.cut.contains(&value) {
                        let zero = emit.f32(0.0);
                        ends = ends.map(|end| emit.op(Op::Max, &[zero, end]));
                    }
                    interval(ends, bounds, number)
                }
            };
            let args: Vec<_> = step.args.iter().map(&mut arg).collect();
            let mut forms = Forms {
                emit,
                nan: Nan::Ignore,
                same: is_same(&step.args),
                clean: vec![],
                case: "",
            };
            intervals.push(interval(forms.apply(step.op, &args), step.bounds, false));
        }
        let last = intervals.last().expect("there are steps");
        [last.lo, last.hi][side]
    }

    /// Whether the source can be negative, or −0.
    fn is_signed(&self) -> bool {
        let is_signed = |arg: &Arg| matches!(arg, Arg::Tied(floats) if floats.low() < 0.0 || floats.negative_zero);
        self.steps.iter().flat_map(|step| &step.args).any(is_signed)
    }

    /// The part of the source next to one end, so many floats wide; all of it if it is not wider,
    /// or near 0.
    fn part<E: Emit>(
        &self,
        emit: &mut E,
        [lo, hi]: [E::Value; 2],
        end: usize,
        floats: i32,
    ) -> [E::Value; 2] {
        let count = emit.i32(floats);
        if end == 1 {
            // Of zeros and what is next to them that comes to a NaN, which the maximum passes over.
            let bits = emit.op(Op::Bits, &[hi]);
            let bits = emit.op(Op::ISub, &[bits, count]);
            let moved = emit.op(Op::Float, &[bits]);
            return [emit.op(Op::Max, &[lo, moved]), hi];
        }
        // Not from 0, next to which numbers are slow to compute with.
        let tiny = emit.f32(TINY);
        let least = emit.op(Op::Max, &[tiny, lo]);
        let bits = emit.op(Op::Bits, &[least]);
        let bits = emit.op(Op::IAdd, &[bits, count]);
        let moved = emit.op(Op::Float, &[bits]);
        [lo, emit.op(Op::Min, &[hi, moved])]
    }

    /// What is beyond an end by a shift, where the source is not negative.
    fn shifted<E: Emit>(
        &self,
        emit: &mut E,
        x: E::Value,
        side: usize,
        source: [E::Value; 2],
        shift: f32,
    ) -> E::Value {
        let [mut shift, zero] = [shift, 0.0].map(|x| emit.f32(x));
        if side == 0 {
            let x = emit.op(Op::Sub, &[x, shift]);
            return if self.sign == Sign::Plus { emit.op(Op::Max, &[zero, x]) } else { x };
        }
        if self.is_signed() {
            let is_positive = emit.op(Op::Lt, &[zero, source[1]]);
            shift = emit.op(Op::Select, &[is_positive, shift, zero]);
        }
        emit.op(Op::Add, &[x, shift])
    }

    /// What is beyond an end by what floats may be off.
    fn widened<E: Emit>(&self, emit: &mut E, x: E::Value, side: usize, error: Error) -> E::Value {
        let [factor, shift] = error.widening();
        let inverse = (1.0 / f64::from(factor)) as f32;
        // Away from 0, and towards it.
        let [away, towards] = [factor, inverse.next_down()].map(|factor| emit.f32(factor));
        let outwards = if side == 1 { Sign::Plus } else { Sign::Minus };
        let x = match self.sign {
            Sign::Any => {
                let [a, b] = [away, towards].map(|factor| emit.op(Op::Mul, &[x, factor]));
                emit.op([Op::Min, Op::Max][side], &[a, b])
            }
            sign => emit.op(Op::Mul, &[x, if sign == outwards { away } else { towards }]),
        };
        let shift = emit.f32(shift);
        emit.op([Op::Sub, Op::Add][side], &[x, shift])
    }
}

/// Whether both operands of an operation are one value.
fn is_same(args: &[Arg]) -> bool {
    matches!(args, [a, b] if a == b)
}

/// A source is cut this far from 0, or farther: products with what is not much smaller are normal
/// numbers.
const TINY: f32 = 1e-20;

/// Ends that say nothing.
const NOTHING: [f32; 2] = [f32::NEG_INFINITY, f32::INFINITY];

fn interval<V>([lo, hi]: [V; 2], known: Bounds, number: bool) -> Interval<V> {
    let negative_zero = matches!(known, Bounds::Float(floats) if floats.negative_zero);
    Interval { lo, hi, known, facts: Facts { nan: false, negative_zero, number } }
}

#[cfg(test)]
mod tests {
    use super::search::find_up_to;
    use super::*;
    use crate::interpreter;
    use crate::ir::op::Words;
    use crate::ir::random::Random;
    use crate::ir::text::parse;
    use crate::ir::{Def, Function};
    use crate::lift::{self, Input, Lifted, Options};
    use crate::relations::{Point, Related, Relation, Relations};

    /// A function of intervals and numbers, each between two bounds.
    struct Case {
        function: Function,
        inputs: Vec<Input>,
    }

    impl Case {
        fn new(text: &str, inputs: &[(bool, f32, f32)]) -> Case {
            let input = |&(interval, low, high): &(bool, f32, f32)| Input {
                interval,
                bounds: Bounds::Float(Floats::between(low, high)),
                axis: None,
            };
            Case {
                function: parse(text).expect("the text is well formed"),
                inputs: inputs.iter().map(input).collect(),
            }
        }

        fn lifted(&self, nan: Nan, relations: Relations) -> Lifted {
            lift::run(
                &self.function,
                &self.inputs,
                &[0],
                &Options { nan, relations, ..Options::default() },
            )
        }

        /// Ends of a box: of any width, at bounds, at zeros and from where to where kinks are.
        fn ends(&self, random: &mut Random) -> Vec<[f32; 2]> {
            let end = |random: &mut Random, input: &Input| {
                let Bounds::Float(floats) = &input.bounds else {
                    unreachable!("inputs are floats")
                };
                let [low, high] = [floats.low(), floats.high()];
                let unit = random.below(1 << 20) as f32 / (1 << 20) as f32;
                let x = match random.below(8) {
                    0 => *random.pick(&[low, high, 0.0, -0.0, 1e-20, 1e-8, 1e-4]),
                    1 => high * f32::from_bits((1 + random.below(126) as u32) << 23),
                    _ => low + (high - low) * unit,
                };
                if !input.interval {
                    return [x.clamp(low, high); 2];
                }
                let wide = match random.below(6) {
                    0 => x.next_up(),
                    1 => x.next_up().next_up().next_up(),
                    2 => x + x.abs() * 1e-6,
                    3 => x + x.abs() * 1e-2,
                    _ => x + (high - low) * *random.pick(&[1e-6, 1e-3, 0.1, 1.0]) * unit,
                };
                [x.clamp(low, high), wide.clamp(low, high)]
            };
            self.inputs.iter().map(|input| end(random, input)).collect()
        }

        /// Holds results of members against ends; gives how much narrower ends are than without
        /// relations, the median of what is narrower, and for how many boxes of a hundred.
        fn check(&self, boxes: usize) -> (f64, usize) {
            let mut random = Random::new(11);
            let mut shares = vec![];
            let only = Relations::NONE.with(Relation::Monotone);
            let kinds = [Nan::Ignore, Nan::Suppress, Nan::Propagate]
                .map(|nan| (self.lifted(nan, only), self.lifted(nan, Relations::NONE)));
            for index in 0..boxes {
                let ends = self.ends(&mut random);
                let run = |function: &Function, words: &[f32]| {
                    let words: Vec<_> = words.iter().map(|x| x.to_bits()).collect();
                    let results =
                        interpreter::run(function, &[], &words, 1 << 20).expect("there is no loop");
                    results.into_iter().map(f32::from_bits).collect::<Vec<_>>()
                };
                let (related, other) = &kinds[index % kinds.len()];
                let row: Vec<f32> = std::iter::zip(&ends, &self.inputs)
                    .flat_map(|(ends, input)| &ends[..1 + usize::from(input.interval)])
                    .copied()
                    .collect();
                let (found, other) = (run(&related.function, &row), run(&other.function, &row));
                // But for what has an absolute error, below the least normal number.
                assert!(
                    other[0] <= found[0] + 1e-30 && found[1] <= other[1] + 1e-30,
                    "{found:?} is wider than {other:?} for {ends:?}"
                );
                for _ in 0..6 {
                    let member: Vec<f32> =
                        ends.iter().map(|ends| inside(&mut random, *ends)).collect();
                    let value = run(&self.function, &member)[0];
                    assert!(
                        found[0] <= value && value <= found[1],
                        "{value} of {member:?} is not in {found:?} for {ends:?}"
                    );
                }
                let share = f64::from(found[1] - found[0]) / f64::from(other[1] - other[0]);
                if share < 0.99 {
                    shares.push(share);
                }
            }
            shares.sort_by(f64::total_cmp);
            (shares.get(shares.len() / 2).copied().unwrap_or(1.0), shares.len() * 100 / boxes)
        }

        /// Checks that so many values are found, and that ends which are narrower are so to this
        /// share in the middle, for so many boxes of a hundred at least.
        fn tightens(&self, found: usize, share: f64, percent: usize) {
            let (middle, count) = self.check(20_000);
            assert_eq!(self.found(), found);
            assert!(middle <= share && count >= percent, "{middle} of {count} %");
        }

        /// How many values were found.
        fn found(&self) -> usize {
            let related =
                self.lifted(Nan::Ignore, Relations::NONE.with(Relation::Monotone)).related;
            related.alternatives.iter().map(Vec::len).sum()
        }
    }

    /// A member of an interval: an end, next to one, or any.
    fn inside(random: &mut Random, [low, high]: [f32; 2]) -> f32 {
        let x = match random.below(5) {
            0 => low,
            1 => high,
            2 => low.next_up(),
            3 => high.next_down(),
            _ => low + (high - low) * (random.below(1 << 20) as f32 / (1 << 20) as f32),
        };
        x.max(low).min(high)
    }

    #[test]
    fn shares_are_monotone_in_either_part() {
        let text = "fn f(a: f32, b: f32) -> (r: f32) {
            %0 = add a, b
            %1 = div a, %0
            return %1
        }";
        let case = Case::new(text, &[(true, 0.0, 4.0), (true, 1e-3, 4.0)]);
        case.tightens(1, 0.45, 38);
    }

    #[test]
    fn components_of_normalized_vectors_are_monotone() {
        // Longer than it has to be, since such ends may cost a share of all.
        let to_and_fro: String = (0..8)
            .map(|k| {
                format!("%{} = exp %{}\n %{} = log %{}\n", 2 * k + 1, 2 * k, 2 * k + 2, 2 * k + 1)
            })
            .collect();
        let text = format!(
            "fn f(x: f32, y: f32, z: f32) -> (r: f32) {{
                %0 = add y, 0.0
                {to_and_fro}
                %20 = mul x, x
                %21 = mul %16, %16
                %22 = mul z, z
                %23 = add %20, %21
                %24 = add %23, %22
                %25 = max %24, 1e-6
                %26 = sqrt %25
                %27 = div %16, %26
                return %27
            }}"
        );
        let case = Case::new(&text, &[(true, -2.0, 2.0), (true, -2.0, 2.0), (true, 0.0, 2.0)]);
        case.tightens(1, 0.6, 30);
    }

    /// The tail of Ward's model, where the lobe is any number.
    #[test]
    fn cosine_over_a_root_of_it_is_monotone() {
        let text = "fn f(z: f32, w: f32, kd: f32, ks: f32) -> (r: f32) {
            %0 = mul z, w
            %1 = max %0, 1e-8
            %2 = sqrt %1
            %3 = mul %2, 0.04
            %4 = div ks, %3
            %5 = add kd, %4
            %6 = mul %5, 0.31830987
            %7 = max z, 0.0
            %8 = mul %6, %7
            return %8
        }";
        let case = Case::new(
            text,
            &[(true, -1.0, 1.0), (false, 0.0, 1.0), (false, 0.0, 1.0), (true, 0.0, 1.0)],
        );
        case.tightens(1, 0.36, 15);
    }

    /// A factor of unknown sign that does not depend on it.
    #[test]
    fn upper_ends_do_with_factors_of_unknown_sign() {
        let text = "fn f(z: f32, w: f32, f: f32) -> (r: f32) {
            %0 = max z, w
            %1 = max %0, 0.0001
            %2 = div 1.0, %1
            %3 = mul %2, f
            %4 = max z, 0.0
            %5 = mul %3, %4
            return %5
        }";
        let case = Case::new(text, &[(true, -1.0, 1.0), (false, 0.0, 1.0), (true, -0.1, 1.0)]);
        case.tightens(1, 0.15, 12);
    }

    /// The power in Ashikhmin and Shirley's model: (1 + t/z)^(−e/2t), where e/t is known to be at
    /// most 1000.
    #[test]
    fn powers_rise_with_what_base_and_exponent_share() {
        let text = "fn f(t: f32, e: f32, z: f32) -> (r: f32) {
            %0 = max t, 1e-20
            %1 = div e, %0
            %2 = mul %1, -0.5
            %3 = div t, z
            %4 = add %3, 1.0
            %5 = pow %4, %2
            return %5
        }";
        let case = Case::new(text, &[(true, 0.0, 8.0), (true, 0.0, 8000.0), (true, 1e-12, 4.0)]);
        let solved = case.lifted(Nan::Ignore, Relations::NONE);
        let mut bounds = solved.bounds;
        let is = |value: &usize, op: Op| {
            solved.point.operation(Value(*value as u32)).is_some_and(|(other, _)| other == op)
        };
        for (op, low, high) in [(Op::Div, 0.0, 1000.0), (Op::Mul, -500.0, 0.0)] {
            let value = (0..solved.point.len()).find(|value| is(value, op)).expect("there is one");
            bounds[value] = bounds[value].meet(&Bounds::Float(Floats::between(low, high)));
        }
        let point = Point { function: &solved.point, kinds: &solved.kinds, bounds, units: vec![] };
        let mut related = Related::nothing(&solved.point);
        find_up_to(&point, u32::MAX, &mut related);
        let result = solved.point.body.yields[0];
        let [alternative] = &related.alternatives[result.index()][..] else {
            panic!("{:?}", related.alternatives)
        };
        let mut random = Random::new(3);
        let (mut narrow, mut count) = (0, 0);
        for _ in 0..200_000 {
            let mut ends = case.ends(&mut random);
            let [t, z] = [0, 2].map(|k| inside(&mut random, ends[k]));
            let share = [1.0, 50.0, 999.0, 1000.0][random.below(4)]
                * if random.once_in(2) { 1.0 } else { 0.5 };
            let e = share * t.max(1e-20);
            if e / t.max(1e-20) > 1000.0 || e > 8000.0 {
                continue;
            }
            ends[1] = [e * (1.0 - 0.1 * (random.below(3) as f32)), (e * 1.1).min(8000.0)];
            let of = |value: Value| match solved.point.def(value) {
                Def::Input(k) => ends[k as usize].map(f32::to_bits),
                Def::Const(bits) => [bits; 2],
                _ => unreachable!("there are only inputs"),
            };
            let [lo, hi] = alternative.ends(&mut Words::default(), of).map(f32::from_bits);
            let value = [t, e, z].map(f32::to_bits);
            let value = f32::from_bits(
                interpreter::run(&solved.point, &[], &value, 10).expect("there is no loop")[0],
            );
            assert!(
                lo <= value && value <= hi,
                "{value} of {t} {e} {z} is not in [{lo}, {hi}] for {ends:?}"
            );
            count += 1;
            narrow += usize::from(hi < 1.0);
        }
        assert!(count > 50_000 && narrow > count / 4, "{narrow} of {count}");
    }

    #[test]
    fn products_that_do_not_rise_are_left_alone() {
        // x (1 − x) rises and falls; x (1 + x) and x √(1 / (1 − x²)) have the same ends anyway,
        // where x ≥ 0.
        for text in ["sub 1.0, x", "add 1.0, x", "rsqrt %9"] {
            let text = format!(
                "fn f(x: f32) -> (r: f32) {{
                    %7 = mul x, x
                    %8 = sub 1.0, %7
                    %9 = max %8, 1e-4
                    %0 = {text}
                    %1 = mul x, %0
                    return %1
                }}"
            );
            for low in [0.0, -1.0] {
                assert!(
                    low < 0.0 && !text.contains("rsqrt")
                        || Case::new(&text, &[(true, low, 1.0)]).found() == 0,
                    "{text}"
                );
            }
        }
    }
}
