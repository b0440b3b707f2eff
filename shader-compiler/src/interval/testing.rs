//! What forms must fulfil, tried on random operands.
//!
//! A form is run on words, as naive code and with several things that may be known of its operands.
//! Then
//!
//! - members of the operands give results within the ends, and NaN is told or kept out as the
//!   [way](Nan) of handling it has it;
//! - all cases agree with the general one, bit for bit but for the sign of zero, and say of no more
//!   boxes that a NaN was met;
//! - parts of the operands have no wider results.

use super::{Facts, Forms, Interval, Nan};
use crate::analysis::{Bools, Bounds, Floats, Pieces};
use crate::ir::op::Words;
use crate::ir::random::{Random, word};
use crate::ir::{Emit, Op, Table, Type};
use std::collections::BTreeSet;

/// A word that is told apart from others that happen to be the same, as handles are.
#[derive(Clone, Copy, Debug)]
struct Handle {
    number: u32,
    bits: u32,
}

impl PartialEq for Handle {
    fn eq(&self, other: &Handle) -> bool {
        self.number == other.number
    }
}

/// Computes at once.
#[derive(Debug)]
struct Handles<'t> {
    words: Words<'t>,
    count: u32,
    /// Whether an operation gave NaN.
    met_nan: bool,
}

impl Handles<'_> {
    fn handle(&mut self, bits: u32) -> Handle {
        self.count += 1;
        Handle { number: self.count, bits }
    }
}

impl Emit for Handles<'_> {
    type Value = Handle;
    fn constant(&mut self, _: Type, bits: u32) -> Handle {
        self.handle(bits)
    }
    fn op(&mut self, op: Op, args: &[Handle]) -> Handle {
        let args: Vec<_> = args.iter().map(|arg| arg.bits).collect();
        let bits = op.eval_with(&mut self.words, &args);
        self.met_nan |= op.signature().result == Some(Type::F32) && float(bits).is_nan();
        self.handle(bits)
    }
    fn known(&self, value: Handle) -> Option<u32> {
        Some(value.bits)
    }
}

/// An operand of a form.
#[derive(Clone, Debug)]
pub struct Operand {
    /// Type of the value.
    pub ty: Type,
    /// Its ends.
    pub ends: [u32; 2],
    /// Whether the ends are one handle.
    pub one_end: bool,
    /// What is known beside.
    pub facts: Facts,
    /// Some of what the point shader may have, the ends among them.
    pub members: Vec<u32>,
}

impl Operand {
    /// A number that does not vary.
    pub fn constant(ty: Type, bits: u32) -> Operand {
        let facts = Facts { nan: false, negative_zero: false, number: true };
        Operand { ty, ends: [bits; 2], one_end: true, facts, members: vec![bits] }
    }

    /// Lets a value be NaN, and makes it one or not, as the way of handling it has it.
    pub fn with_nan(mut self, random: &mut Random, nan: Nan) -> Operand {
        const NAN: u32 = f32::NAN.to_bits();
        self.facts.nan = true;
        match nan {
            Nan::Ignore => {}
            _ if self.facts.number => {
                if random.once_in(2) {
                    // Where NaN is suppressed, lowering gives 0 for it.
                    (self.ends, self.members) =
                        ([if nan == Nan::Suppress { 0 } else { NAN }; 2], vec![NAN]);
                }
            }
            Nan::Suppress => self.members.push(NAN),
            Nan::Propagate => {
                if random.once_in(2) {
                    self.members.push(NAN);
                    let [lo, hi] = [f32::NEG_INFINITY, f32::INFINITY].map(f32::to_bits);
                    self.ends = if self.one_end {
                        [NAN; 2]
                    } else {
                        [*random.pick(&[lo, NAN]), *random.pick(&[hi, NAN])]
                    };
                }
            }
        }
        self
    }

    /// Ends and members that are no NaN.
    fn numbers(&self) -> impl Iterator<Item = u32> {
        self.ends.iter().chain(&self.members).copied().filter(|&x| !is_nan(self.ty, x))
    }
}

/// What a form gave.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    ty: Type,
    /// Ends of the result.
    pub ends: [u32; 2],
    /// Whether no NaN was met.
    pub clean: bool,
    /// Whether there was a NaN on the way.
    met_nan: bool,
    case: &'static str,
}

impl Outcome {
    /// Whether it allows for NaN, where that propagates.
    fn says_nothing(&self) -> bool {
        let is = |end: u32, infinity: f32| float(end).is_nan() || float(end) == infinity;
        !self.clean
            || self.ty == Type::F32
                && is(self.ends[0], f32::NEG_INFINITY)
                && is(self.ends[1], f32::INFINITY)
    }

    fn has_nan_ends(&self) -> bool {
        self.ends.iter().any(|&end| is_nan(self.ty, end))
    }

    /// Whether a result that is no NaN is within the ends.
    fn holds(&self, x: u32) -> bool {
        let at_most = |a, b| is_nan(self.ty, a) || is_nan(self.ty, b) || at_most(self.ty, a, b);
        !self.clean || at_most(self.ends[0], x) && at_most(x, self.ends[1])
    }

    /// Whether another case may give `other`: the same, or anything where this one says nothing.
    fn agrees(&self, other: &Outcome) -> bool {
        let same = |(a, b): (u32, u32)| match self.ty {
            Type::F32 => float(a).is_nan() || float(a) == float(b),
            Type::I32 | Type::Bool => a == b,
        };
        !self.clean || other.clean && std::iter::zip(self.ends, other.ends).all(same)
    }

    /// Whether parts of the operands may give `part`.
    fn contains(&self, part: &Outcome) -> bool {
        let [lo, hi] = [0, 1].map(|side| {
            let (outer, inner) = (self.ends[side], part.ends[side]);
            is_nan(self.ty, outer)
                || if side == 0 {
                    at_most(self.ty, outer, inner)
                } else {
                    at_most(self.ty, inner, outer)
                }
        });
        self.says_nothing() || part.clean && lo && hi
    }
}

/// A form to be tried.
#[derive(Debug)]
pub struct Form<'t> {
    op: Op,
    tables: &'t [Table<'t>],
    same: bool,
    is_monotone: bool,
}

/// Where ends of an operand are, mostly.
#[derive(Clone, Copy, Debug)]
struct Domain {
    ty: Type,
    /// Of floats.
    ends: [f32; 2],
}

impl Domain {
    fn all(ty: Type) -> Domain {
        Domain { ty, ends: [f32::NEG_INFINITY, f32::INFINITY] }
    }

    fn clamp(&self, bits: u32) -> u32 {
        if self.ty == Type::F32 {
            float(bits).clamp(self.ends[0], self.ends[1]).to_bits()
        } else {
            bits
        }
    }
}

impl<'t> Form<'t> {
    /// That of an operation.
    pub fn of(op: Op) -> Form<'t> {
        Form { op, tables: &[], same: false, is_monotone: true }
    }

    /// The same, with tables to read.
    pub fn reading(self, tables: &'t [Table<'t>]) -> Form<'t> {
        Form { tables, ..self }
    }

    /// The same, of which both operands are one value.
    pub fn of_one_value(self) -> Form<'t> {
        Form { same: true, ..self }
    }

    /// The same of an operation that is not quite monotone, so that parts of operands may have
    /// slightly wider results.
    pub fn not_quite_monotone(self) -> Form<'t> {
        Form { is_monotone: false, ..self }
    }

    /// Runs it on operands of which this is known; nothing, for naive code.
    pub fn run(&self, operands: &[Operand], nan: Nan, known: Option<&[Bounds]>) -> Outcome {
        let mut emit = Handles { words: Words { tables: self.tables }, count: 0, met_nan: false };
        let mut args: Vec<Interval<Handle>> = vec![];
        for (k, x) in operands.iter().enumerate() {
            let known = known.map_or_else(|| Bounds::all(x.ty), |known| known[k]);
            let lo = emit.handle(x.ends[0]);
            let hi = if x.one_end { lo } else { emit.handle(x.ends[1]) };
            args.push(Interval { lo, hi, known, facts: x.facts });
        }
        if self.same {
            args[1] = args[0];
        }
        let mut forms = Forms { emit: &mut emit, nan, same: self.same, clean: vec![], case: "" };
        let ends = forms.apply(self.op, &args).map(|end| end.bits);
        let ty = self.op.signature().result.unwrap_or(operands[operands.len() - 1].ty);
        let (clean, case) = (forms.clean.iter().all(|c| c.bits != 0), forms.case);
        Outcome { ty, ends, clean, met_nan: emit.met_nan, case }
    }

    /// Ends of the result for operands that are numbers all over, in naive code.
    pub fn ends(&self, ends: &[[f32; 2]]) -> [f32; 2] {
        let facts = Facts { nan: false, negative_zero: true, number: false };
        let operand = |ends: &[f32; 2]| Operand {
            ty: Type::F32,
            ends: ends.map(f32::to_bits),
            one_end: false,
            facts,
            members: vec![],
        };
        let operands: Vec<_> = ends.iter().map(operand).collect();
        self.run(&operands, Nan::Suppress, None).ends.map(f32::from_bits)
    }

    /// Tries random operands of these types; returns the cases that were met.
    pub fn check(&self, types: &[Type], rounds: u32) -> BTreeSet<&'static str> {
        self.check_within(&types.iter().map(|&ty| Domain::all(ty)).collect::<Vec<_>>(), rounds)
    }

    /// Tries random operands, most of which lie within these domains; returns the cases that were
    /// met.
    pub fn check_floats(&self, domains: &[[f32; 2]], rounds: u32) -> BTreeSet<&'static str> {
        self.check_within(
            &domains.iter().map(|&ends| Domain { ty: Type::F32, ends }).collect::<Vec<_>>(),
            rounds,
        )
    }

    fn check_within(&self, domains: &[Domain], rounds: u32) -> BTreeSet<&'static str> {
        let mut random = Random::new(self.op as u64 + 1);
        let mut cases = BTreeSet::new();
        for _ in 0..rounds {
            let nan = *random.pick(&[Nan::Propagate, Nan::Suppress, Nan::Ignore]);
            let everything = random.once_in(4);
            let drawn = domains.iter().map(|domain| {
                let domain = if everything { &Domain::all(domain.ty) } else { domain };
                operand(&mut random, nan, domain)
            });
            let mut operands: Vec<_> = drawn.collect();
            if self.same {
                operands[1] = operands[0].clone();
            }
            self.check_operands(&operands, nan, &mut random, &mut cases);
        }
        cases
    }

    /// Tries operands; adds the cases that were met, and returns what naive code gives.
    pub fn check_operands(
        &self,
        operands: &[Operand],
        nan: Nan,
        random: &mut Random,
        cases: &mut BTreeSet<&'static str>,
    ) -> Outcome {
        let naive = self.run(operands, nan, None);
        cases.insert(naive.case);
        self.check_containment(operands, nan, &naive);
        for _ in 0..4 {
            let mut known: Vec<_> = operands.iter().map(|operand| known(operand, random)).collect();
            if self.same {
                known[1] = known[0];
            }
            let told = self.run(operands, nan, Some(&known));
            cases.insert(told.case);
            self.check_containment(operands, nan, &told);
            let agrees = [&naive, &told].iter().any(|x| self.is_void(operands, nan, x))
                || naive.agrees(&told);
            assert!(
                agrees,
                "{} {nan:?} of {operands:x?}, {known:?}: {told:x?} is not {naive:x?}",
                self.op.name()
            );
        }
        let mut parts: Vec<_> = operands.iter().map(|operand| part(operand, random)).collect();
        if self.same {
            parts[1] = parts[0].clone();
        }
        let of_parts = self.run(&parts, nan, None);
        let is_void = self.is_void(operands, nan, &naive) || self.is_void(&parts, nan, &of_parts);
        let narrows = !self.is_monotone || is_void || naive.contains(&of_parts);
        assert!(
            narrows,
            "{} {nan:?}: {of_parts:x?} of {parts:x?} is wider than {naive:x?} of {operands:x?}",
            self.op.name()
        );
        naive
    }

    fn check_containment(&self, operands: &[Operand], nan: Nan, outcome: &Outcome) {
        let context = || format!("{} {nan:?} of {operands:x?}: {outcome:x?}", self.op.name());
        let is_void = self.is_void(operands, nan, outcome);
        self.for_each_choice(operands, &mut vec![], &mut |args| {
            let result = self.op.eval_with(&mut Words { tables: self.tables }, args);
            if !is_nan(outcome.ty, result) {
                assert!(
                    is_void || outcome.holds(result),
                    "{} is left at {args:x?} by {result:x}",
                    context()
                );
            } else if nan == Nan::Propagate {
                assert!(outcome.says_nothing(), "{} loses NaN of {args:x?}", context());
            }
        });
        match nan {
            Nan::Suppress => assert!(!outcome.has_nan_ends(), "{} has NaN ends", context()),
            Nan::Propagate => assert!(
                !outcome.has_nan_ends() || outcome.says_nothing(),
                "{} has one NaN end",
                context()
            ),
            Nan::Ignore => {}
        }
    }

    /// Calls `with` for each choice of a member of each operand.
    fn for_each_choice(
        &self,
        operands: &[Operand],
        chosen: &mut Vec<u32>,
        with: &mut impl FnMut(&[u32]),
    ) {
        let Some((first, rest)) = operands.split_first() else { return with(chosen) };
        for &member in &first.members {
            if self.same && chosen.first().is_some_and(|&other| other != member) {
                continue;
            }
            chosen.push(member);
            self.for_each_choice(rest, chosen, with);
            chosen.pop();
        }
    }

    /// Whether NaN that is ignored makes an outcome void.
    fn is_void(&self, operands: &[Operand], nan: Nan, outcome: &Outcome) -> bool {
        nan == Nan::Ignore
            && (self.op.is_composite() && outcome.met_nan || !self.is_defined_at_ends(operands))
    }

    /// Whether no NaN is met at ends of floats.
    fn is_defined_at_ends(&self, operands: &[Operand]) -> bool {
        if operands.iter().any(|operand| operand.ty != Type::F32) {
            return true;
        }
        let ends =
            |operand: &Operand| Operand { members: operand.ends.to_vec(), ..operand.clone() };
        let ends: Vec<_> = operands.iter().map(ends).collect();
        let mut is_defined = true;
        self.for_each_choice(&ends, &mut vec![], &mut |args| {
            is_defined &=
                !is_nan(Type::F32, self.op.eval(args)) && args.iter().all(|&x| !float(x).is_nan());
        });
        is_defined
    }
}

fn float(bits: u32) -> f32 {
    f32::from_bits(bits)
}

fn is_nan(ty: Type, bits: u32) -> bool {
    ty == Type::F32 && float(bits).is_nan()
}

/// Whether a word is not above another one.
fn at_most(ty: Type, a: u32, b: u32) -> bool {
    match ty {
        Type::F32 => float(a) <= float(b),
        Type::I32 => a as i32 <= b as i32,
        Type::Bool => a == 0 || b != 0,
    }
}

/// Two words in their order.
fn ordered(ty: Type, a: u32, b: u32) -> [u32; 2] {
    if at_most(ty, a, b) { [a, b] } else { [b, a] }
}

/// A word between two.
pub fn within(random: &mut Random, ty: Type, [low, high]: [u32; 2]) -> u32 {
    match (random.below(8), ty) {
        (0, _) => low,
        (1, _) => high,
        (2 | 3, Type::I32) => {
            let by = random.below(5) as i64;
            (low as i32 as i64 + by).min(high as i32 as i64) as u32
        }
        (4 | 5, Type::F32) => {
            let zero = if random.once_in(2) { 0.0f32 } else { -0.0 };
            if float(low) <= 0.0 && 0.0 <= float(high) { zero.to_bits() } else { high }
        }
        (_, Type::I32) => {
            let (low, high) = (low as i32 as i64, high as i32 as i64);
            (low + (random.bits() % (high - low + 1) as u64) as i64) as u32
        }
        (_, Type::F32) => {
            // In the order of floats as integers.
            let key = |bits: u32| {
                if bits >> 31 == 0 { bits as i64 } else { -((bits & 0x7fff_ffff) as i64) }
            };
            let (low, high) = (key(low), key(high));
            let k = low + (random.bits() % (high - low + 1) as u64) as i64;
            if k < 0 { (-k) as u32 | 1 << 31 } else { k as u32 }
        }
        (_, Type::Bool) => {
            let any = word(random, ty);
            if low == high { low } else { any }
        }
    }
}

fn number(random: &mut Random, ty: Type) -> u32 {
    let bits = match ty {
        Type::F32 if random.once_in(3) => (random.bits() as i32 as f32 / 5e8).to_bits(),
        _ => word(random, ty),
    };
    if is_nan(ty, bits) { 0 } else { bits }
}

/// A number close to another one.
fn near(random: &mut Random, ty: Type, x: u32) -> u32 {
    let by = random.below(9) as i32 - 4;
    let y = match ty {
        Type::F32 if random.once_in(2) => float(x).next_up().next_up().to_bits(),
        Type::F32 => (float(x) + by as f32 * if random.once_in(2) { 0.1 } else { 1.0 }).to_bits(),
        Type::I32 => (x as i32).saturating_add(by << (4 * random.below(4))) as u32,
        Type::Bool => word(random, ty),
    };
    if is_nan(ty, y) { x } else { y }
}

/// An operand at random.
fn operand(random: &mut Random, nan: Nan, domain: &Domain) -> Operand {
    let ty = domain.ty;
    let facts = Facts { nan: false, negative_zero: random.once_in(2), number: random.once_in(6) };
    let first = domain.clamp(number(random, ty));
    let second = match random.below(8) {
        _ if facts.number => first,
        0 => first,
        1 if ty == Type::F32 => random.pick(&[0.0f32, -0.0]).to_bits(),
        2..=4 => near(random, ty, first),
        _ => number(random, ty),
    };
    let mut ends = ordered(ty, first, domain.clamp(second));
    let mut members = members(random, ty, ends);
    if ty == Type::F32 && !facts.negative_zero {
        // Neither ends nor members are −0, of which the sum with 0 is 0.
        let positive = |x: &mut u32| *x = (float(*x) + 0.0).to_bits();
        ends.iter_mut().for_each(positive);
        members.iter_mut().for_each(positive);
    }
    if facts.number {
        members = vec![ends[0]];
    }
    members.sort_unstable();
    members.dedup();
    let one_end = facts.number || ends[0] == ends[1] && random.once_in(2);
    let operand = Operand { ty, ends, one_end, facts, members };
    if ty == Type::F32 && random.once_in(4) { operand.with_nan(random, nan) } else { operand }
}

/// Some of what lies between ends, these among it.
fn members(random: &mut Random, ty: Type, ends: [u32; 2]) -> Vec<u32> {
    let mut members = ends.to_vec();
    members.extend((0..3).map(|_| within(random, ty, ends)));
    if ty == Type::F32 {
        let [lo, hi] = ends.map(float);
        let middle = lo / 2.0 + hi / 2.0;
        let others =
            [lo.next_up(), hi.next_down(), 0.0, -0.0, 1.0, -1.0, float(number(random, ty)), middle];
        members.extend(others.iter().filter(|x| !x.is_nan()).map(|x| x.clamp(lo, hi).to_bits()));
    }
    members
}

/// A part of what an operand stands for.
fn part(operand: &Operand, random: &mut Random) -> Operand {
    let ty = operand.ty;
    let numbers: Vec<_> = operand.members.iter().copied().filter(|&x| !is_nan(ty, x)).collect();
    if operand.one_end || numbers.is_empty() || operand.ends.iter().any(|&end| is_nan(ty, end)) {
        return operand.clone();
    }
    let a = *random.pick(&numbers);
    let b = if random.once_in(4) { a } else { *random.pick(&numbers) };
    let ends = ordered(ty, a, b);
    Operand { ends, one_end: ends[0] == ends[1] && random.once_in(2), ..operand.clone() }
}

/// Something that is known of the operand.
fn known(operand: &Operand, random: &mut Random) -> Bounds {
    let numbers: Vec<_> = operand.numbers().collect();
    match operand.ty {
        Type::F32 => {
            let mut floats = known_of_float(&numbers, random);
            floats.nan = operand.facts.nan;
            floats.negative_zero &= operand.facts.negative_zero;
            Bounds::Float(floats)
        }
        Type::I32 => {
            let hull =
                [numbers.iter().map(|&x| x as i32).min(), numbers.iter().map(|&x| x as i32).max()];
            let [mut low, mut high] = hull.map(|end| end.expect("the ends are numbers"));
            if random.once_in(2) {
                let far = number(random, Type::I32) as i32;
                (low, high) = (low.min(far), high.max(far));
            }
            Bounds::Int(Pieces::one(low, high))
        }
        Type::Bool => {
            let any = random.once_in(4);
            Bounds::Bool(Bools {
                no: any || numbers.contains(&0),
                yes: any || numbers.iter().any(|&x| x != 0),
            })
        }
    }
}

/// Bounds of some numbers.
fn known_of_float(numbers: &[u32], random: &mut Random) -> Floats {
    const LEAST: f32 = f32::from_bits(1);
    const CHOICES: [[f32; 2]; 15] = [
        [f32::NEG_INFINITY, f32::INFINITY],
        [0.0, f32::INFINITY],
        [f32::NEG_INFINITY, 0.0],
        [LEAST, f32::INFINITY],
        [f32::NEG_INFINITY, -LEAST],
        [f32::MIN, f32::MAX],
        [0.0, f32::MAX],
        [f32::MIN, 0.0],
        [1.0, f32::INFINITY],
        [1.0, f32::MAX],
        [0.0, 1.0],
        [LEAST, 1.0],
        [-1.0, 1.0],
        [f32::NEG_INFINITY, 1.0],
        [-1.0, f32::INFINITY],
    ];
    let numbers = || numbers.iter().map(|&x| float(x));
    let (low, high) =
        (numbers().fold(f32::INFINITY, f32::min), numbers().fold(f32::NEG_INFINITY, f32::max));
    if low > high {
        return Floats::all();
    }
    let [least, most] = match random.below(20) {
        k @ 0..15 => CHOICES[k],
        15 | 16 => {
            let far = float(number(random, Type::F32));
            [low.min(far), high.max(far)]
        }
        _ => [low, high],
    };
    Floats::of(Pieces::one(least.min(low), most.max(high)))
}
