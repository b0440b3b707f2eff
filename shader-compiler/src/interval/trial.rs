//! What a form must fulfil, tried on words: containment, agreement of all cases, and narrower results for narrower operands.

use super::{Facts, Forms, Interval, Nan};
use crate::analysis::{Bounds, Floats, Pieces};
use crate::ir::op::Words;
use crate::ir::random::{Random, word};
use crate::ir::{Op, Type};
use std::collections::BTreeSet;

/// An operand at random.
#[derive(Clone, Debug)]
struct Operand {
    ends: [f32; 2],
    facts: Facts,
    /// Some of what the point shader may have, the ends among them.
    members: Vec<f32>,
}

/// What a form gives.
#[derive(Clone, Copy, Debug)]
struct Bound {
    ends: [f32; 2],
    is_clean: bool,
    case: &'static str,
}

impl Bound {
    /// Whether it allows for NaN, where that propagates.
    fn says_nothing(&self) -> bool {
        let [lo, hi] = self.ends;
        !self.is_clean || ((lo.is_nan() || lo == f32::NEG_INFINITY) && (hi.is_nan() || hi == f32::INFINITY))
    }

    fn holds(&self, x: f32) -> bool {
        !self.is_clean || !(x < self.ends[0] || x > self.ends[1])
    }
}

fn float(random: &mut Random) -> f32 {
    let x = f32::from_bits(word(random, Type::F32));
    let x = if random.once_in(3) { random.bits() as i32 as f32 / 5e8 } else { x };
    if x.is_nan() { 0.0 } else { x }
}

fn operand(random: &mut Random, nan: Nan, domain: [f32; 2]) -> Operand {
    let [nans, negative_zero, number] = [4, 2, 6].map(|n| random.once_in(n));
    let facts = Facts { nan: nans, negative_zero, number };
    let [mut a, mut b] = [0; 2].map(|_| float(random).clamp(domain[0], domain[1]));
    match random.below(8) {
        _ if number => b = a,
        0 => b = a,
        1 => b = a.next_up().next_up().min(domain[1]),
        2 => a = if random.once_in(2) { 0.0 } else { -0.0f32 }.clamp(domain[0], domain[1]),
        _ => {}
    }
    let ends = if a <= b { [a, b] } else { [b, a] };
    let between = |x: f32| x.clamp(ends[0], ends[1]);
    let mut members = vec![ends[0], ends[1], between(ends[0].next_up()), between(ends[1].next_down())];
    members.extend([0.0, -0.0, 1.0, -1.0].map(between));
    members.extend([0; 3].map(|_| between(float(random))));
    members.push(between(ends[0] / 2.0 + ends[1] / 2.0));
    let mut operand = Operand { ends, facts, members };
    operand.members.retain(|x| !x.is_nan());
    if !facts.negative_zero {
        let positive = |x: &mut f32| *x = if *x == 0.0 { 0.0 } else { *x };
        operand.ends.iter_mut().for_each(positive);
        operand.members.iter_mut().for_each(positive);
    }
    if number {
        operand.members = vec![operand.ends[0]];
    } else if facts.nan {
        match nan {
            Nan::Suppress => operand.members.push(f32::NAN),
            Nan::Propagate if random.once_in(2) => {
                operand.members.push(f32::NAN);
                let or_nan = |random: &mut Random, x: f32| if random.once_in(2) { f32::NAN } else { x };
                operand.ends = [f32::NEG_INFINITY, f32::INFINITY].map(|end| or_nan(random, end));
            }
            Nan::Propagate | Nan::Ignore => {}
        }
    }
    operand
}

/// Something that is known of the operand.
fn known(operand: &Operand, random: &mut Random) -> Bounds {
    let [lo, hi] = operand.ends;
    let choices = [
        [f32::NEG_INFINITY, f32::INFINITY],
        [0.0, f32::INFINITY],
        [f32::NEG_INFINITY, 0.0],
        [f32::from_bits(1), f32::INFINITY],
        [f32::NEG_INFINITY, -f32::from_bits(1)],
        [f32::MIN, f32::MAX],
        [0.0, f32::MAX],
        [f32::MIN, 0.0],
        [1.0, f32::INFINITY],
        [1.0, f32::MAX],
        [0.0, 1.0],
        [f32::from_bits(1), 1.0],
        [-1.0, 1.0],
        [f32::NEG_INFINITY, 1.0],
        [-1.0, f32::INFINITY],
        [lo, hi],
        [lo, hi],
    ];
    let [low, high] = *random.pick(&choices);
    let numbers = operand.ends.iter().chain(&operand.members).filter(|x| !x.is_nan());
    let [low, high] = numbers.fold([low, high], |[low, high], &x| [low.min(x), high.max(x)]);
    let mut floats = Floats::of(Pieces::one(low, high));
    floats.nan = operand.facts.nan || operand.ends.iter().any(|end| end.is_nan());
    if !operand.facts.negative_zero {
        floats.negative_zero = false;
    }
    Bounds::Float(floats)
}

fn apply(op: Op, nan: Nan, same: bool, operands: &[Operand], known: &[Bounds]) -> Bound {
    let mut words = Words::default();
    let mut forms = Forms { emit: &mut words, nan, same, clean: vec![], case: "" };
    let intervals = operands.iter().zip(known).map(|(operand, &known)| Interval {
        lo: operand.ends[0].to_bits(),
        hi: operand.ends[1].to_bits(),
        known,
        facts: operand.facts,
    });
    let intervals: Vec<_> = intervals.collect();
    let ends = forms.apply(op, &intervals).map(f32::from_bits);
    Bound { ends, is_clean: forms.clean.iter().all(|&condition| condition != 0), case: forms.case }
}

/// Calls `with` for each choice of a member of each operand.
fn for_each_choice(operands: &[Operand], same: bool, chosen: &mut Vec<f32>, with: &mut impl FnMut(&[f32])) {
    let Some((first, rest)) = operands.split_first() else { return with(chosen) };
    for &member in &first.members {
        if same && !chosen.is_empty() && chosen[0].to_bits() != member.to_bits() {
            continue;
        }
        chosen.push(member);
        for_each_choice(rest, same, chosen, with);
        chosen.pop();
    }
}

fn eval(op: Op, args: &[f32]) -> f32 {
    let args: Vec<_> = args.iter().map(|x| x.to_bits()).collect();
    f32::from_bits(op.eval(&args))
}

/// Whether no NaN is met at ends.
fn is_defined_at_ends(op: Op, operands: &[Operand], same: bool) -> bool {
    let ends = |operand: &Operand| Operand { members: operand.ends.to_vec(), ..operand.clone() };
    let ends: Vec<_> = operands.iter().map(ends).collect();
    let mut is_defined = true;
    for_each_choice(&ends, same, &mut vec![], &mut |args| {
        is_defined &= !eval(op, args).is_nan() && args.iter().all(|x| !x.is_nan());
    });
    is_defined
}

fn check_containment(op: Op, nan: Nan, same: bool, operands: &[Operand], bound: &Bound) {
    let context = || format!("{} {nan:?} {operands:?} {bound:?}", op.name());
    let is_defined = is_defined_at_ends(op, operands, same);
    for_each_choice(operands, same, &mut vec![], &mut |args| {
        let result = eval(op, args);
        match nan {
            Nan::Propagate if result.is_nan() => assert!(bound.says_nothing(), "{} lose NaN of {args:?}", context()),
            Nan::Ignore if !is_defined => {}
            _ if result.is_nan() => {}
            _ => assert!(bound.holds(result), "{} is left at {args:?} by {result:?}", context()),
        }
    });
    let nan_ends = bound.ends.iter().any(|end| end.is_nan());
    match nan {
        Nan::Suppress => assert!(!nan_ends, "{} has NaN ends", context()),
        Nan::Propagate => assert!(!nan_ends || bound.says_nothing(), "{} has one NaN end", context()),
        Nan::Ignore => {}
    }
}

fn check_agreement(op: Op, nan: Nan, general: &Bound, special: &Bound, context: &dyn Fn() -> String) {
    if !general.is_clean {
        return;
    }
    assert!(special.is_clean, "{} {nan:?} {}: {special:?} flags more than {general:?}", op.name(), context());
    for (a, b) in general.ends.into_iter().zip(special.ends) {
        assert!(a.is_nan() || a == b, "{} {nan:?} {}: {special:?} is not {general:?}", op.name(), context());
    }
}

/// Narrower operands.
fn narrowed(operand: &Operand, random: &mut Random) -> Operand {
    let numbers: Vec<f32> = operand.members.iter().copied().filter(|x| !x.is_nan()).collect();
    let [a, mut b] = [0; 2].map(|_| *random.pick(&numbers));
    if random.once_in(4) {
        b = a;
    }
    let ends = if a <= b { [a, b] } else { [b, a] };
    Operand { ends, members: ends.to_vec(), ..operand.clone() }
}

/// Ends of the result for operands that are numbers all over.
pub fn numbers(op: Op, ends: &[[f32; 2]]) -> [f32; 2] {
    let facts = Facts { nan: false, negative_zero: true, number: false };
    let operands: Vec<_> = ends.iter().map(|&ends| Operand { ends, facts, members: vec![] }).collect();
    let known = vec![Bounds::all(Type::F32); ends.len()];
    apply(op, Nan::Suppress, false, &operands, &known).ends
}

/// Tries the form of an operation on floats; returns the cases that were met. Operands lie within domains, mostly.
pub fn try_form(op: Op, domains: &[[f32; 2]], same: bool, tries: usize) -> BTreeSet<&'static str> {
    try_cases(op, domains, same, tries, true)
}

/// As `try_form`, for an operation that is not quite monotone, of which narrower operands may have slightly wider results.
pub fn try_form_off(op: Op, domains: &[[f32; 2]], tries: usize) -> BTreeSet<&'static str> {
    try_cases(op, domains, false, tries, false)
}

fn try_cases(op: Op, domains: &[[f32; 2]], same: bool, tries: usize, is_monotone: bool) -> BTreeSet<&'static str> {
    let mut random = Random::new(op as u64 + 1);
    let mut cases = BTreeSet::new();
    for _ in 0..tries {
        let nan = *random.pick(&[Nan::Suppress, Nan::Propagate, Nan::Ignore]);
        let everything = random.once_in(4);
        let of = |random: &mut Random, domain: &[f32; 2]| {
            operand(random, nan, if everything { [f32::NEG_INFINITY, f32::INFINITY] } else { *domain })
        };
        let mut operands: Vec<_> = domains.iter().map(|domain| of(&mut random, domain)).collect();
        if same {
            operands[1] = operands[0].clone();
        }
        let all = vec![Bounds::all(Type::F32); operands.len()];
        let general = apply(op, nan, same, &operands, &all);
        check_containment(op, nan, same, &operands, &general);
        let is_defined = is_defined_at_ends(op, &operands, same);
        for _ in 0..4 {
            let mut known: Vec<_> = operands.iter().map(|operand| known(operand, &mut random)).collect();
            if same {
                known[1] = known[0];
            }
            let special = apply(op, nan, same, &operands, &known);
            cases.insert(special.case);
            check_containment(op, nan, same, &operands, &special);
            if nan != Nan::Ignore || is_defined {
                check_agreement(op, nan, &general, &special, &|| format!("{operands:?} {known:?}"));
            }
        }
        if !is_monotone {
            continue;
        }
        let mut narrow: Vec<_> = operands.iter().map(|operand| narrowed(operand, &mut random)).collect();
        if same {
            narrow[1] = narrow[0].clone();
        }
        let inner = apply(op, nan, same, &narrow, &all);
        let compares = inner.is_clean && general.is_clean && (nan != Nan::Ignore || is_defined);
        if compares && !operands.iter().any(|operand| operand.ends.iter().any(|end| end.is_nan())) {
            let wider = inner.ends[0] < general.ends[0] || inner.ends[1] > general.ends[1];
            assert!(!wider, "{} {nan:?}: {inner:?} of {narrow:?} is wider than {general:?} of {operands:?}", op.name());
        }
    }
    cases
}
