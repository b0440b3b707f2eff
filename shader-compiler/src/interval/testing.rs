//! Tests of the contract of lowerings on random operands.
//!
//! A lowering runs in the constant evaluator, as naive code and with various static bounds on its
//! operands. The contract:
//!
//! - results of members of the operands are within the endpoints, and NaN is reported or suppressed
//!   as the [mode](Nan) demands;
//! - all cases agree with the general one, bit for bit except for the sign of zero, and do not
//!   report a NaN for more boxes than it does;
//! - results for subsets of the operands are not wider.

use super::{Bools, Bounds, Facts, Floats, Interval, Nan, OpLowering, Pieces};
use crate::ir::{Emit, Op, Table, Type};
use crate::math::eval::ConstantEvaluator;
use crate::random::Random;
use crate::testing::random::word;
use std::collections::BTreeSet;

/// A word with an identity, so that equal words are distinct like SSA values.
#[derive(Clone, Copy, Debug)]
struct Handle {
    id: u32,
    bits: u32,
}

impl PartialEq for Handle {
    fn eq(&self, other: &Handle) -> bool {
        self.id == other.id
    }
}

/// Evaluates operations immediately.
#[derive(Debug)]
struct Handles<'t> {
    words: ConstantEvaluator<'t>,
    count: u32,
    /// Whether an operation returned NaN.
    nan_seen: bool,
}

impl Handles<'_> {
    fn handle(&mut self, bits: u32) -> Handle {
        self.count += 1;
        Handle { id: self.count, bits }
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
        self.nan_seen |= op.signature().result == Some(Type::F32) && float(bits).is_nan();
        self.handle(bits)
    }
    fn known(&self, value: Handle) -> Option<u32> {
        Some(value.bits)
    }
}

/// An operand of a lowering.
#[derive(Clone, Debug)]
pub struct Operand {
    /// Type of the value.
    pub ty: Type,
    /// Its endpoints.
    pub endpoints: [u32; 2],
    /// Whether both endpoints are the same handle.
    pub one_handle: bool,
    /// Facts besides the endpoints.
    pub facts: Facts,
    /// Some members, the endpoints among them.
    pub members: Vec<u32>,
}

impl Operand {
    /// A constant.
    pub fn constant(ty: Type, bits: u32) -> Operand {
        let facts = Facts { nan: false, negative_zero: false, singleton: true };
        Operand { ty, endpoints: [bits; 2], one_handle: true, facts, members: vec![bits] }
    }

    /// Randomly makes members and endpoints NaN, as far as the mode allows.
    pub fn with_nan(mut self, random: &mut Random, nan: Nan) -> Operand {
        const NAN: u32 = f32::NAN.to_bits();
        self.facts.nan = true;
        match nan {
            Nan::Ignore => {}
            _ if self.facts.singleton => {
                if random.once_in(2) {
                    // If NaN is suppressed, the lowering replaces it by 0.
                    (self.endpoints, self.members) =
                        ([if nan == Nan::Suppress { 0 } else { NAN }; 2], vec![NAN]);
                }
            }
            Nan::Suppress => self.members.push(NAN),
            Nan::Propagate => {
                if random.once_in(2) {
                    self.members.push(NAN);
                    let [lo, hi] = [f32::NEG_INFINITY, f32::INFINITY].map(f32::to_bits);
                    self.endpoints = if self.one_handle {
                        [NAN; 2]
                    } else {
                        [*random.pick(&[lo, NAN]), *random.pick(&[hi, NAN])]
                    };
                }
            }
        }
        self
    }

    /// Endpoints and members that are not NaN.
    fn without_nan(&self) -> impl Iterator<Item = u32> {
        self.endpoints.iter().chain(&self.members).copied().filter(|&x| !is_nan(self.ty, x))
    }
}

/// Result of a lowering.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    ty: Type,
    /// Endpoints of the result.
    pub endpoints: [u32; 2],
    /// Whether no NaN was reported.
    pub nan_free: bool,
    /// Whether an operation in the lowering returned NaN.
    nan_seen: bool,
    case: &'static str,
}

impl Outcome {
    /// Whether it reports a NaN or is unbounded, as NaN results require if NaN propagates.
    fn is_unbounded(&self) -> bool {
        let is = |end: u32, infinity: f32| float(end).is_nan() || float(end) == infinity;
        !self.nan_free
            || self.ty == Type::F32
                && is(self.endpoints[0], f32::NEG_INFINITY)
                && is(self.endpoints[1], f32::INFINITY)
    }

    fn has_nan_endpoints(&self) -> bool {
        self.endpoints.iter().any(|&end| is_nan(self.ty, end))
    }

    /// Whether a result that is not NaN is within the endpoints.
    fn contains_result(&self, x: u32) -> bool {
        let is_le = |a, b| is_nan(self.ty, a) || is_nan(self.ty, b) || is_le(self.ty, a, b);
        !self.nan_free || is_le(self.endpoints[0], x) && is_le(x, self.endpoints[1])
    }

    /// Whether `other` is a valid outcome of another case: the same, or anything if this one
    /// reports a NaN.
    fn agrees(&self, other: &Outcome) -> bool {
        let same = |(a, b): (u32, u32)| match self.ty {
            Type::F32 => float(a).is_nan() || float(a) == float(b),
            Type::I32 | Type::Bool => a == b,
        };
        !self.nan_free
            || other.nan_free && std::iter::zip(self.endpoints, other.endpoints).all(same)
    }

    /// Whether `subset` is a valid outcome for subsets of the operands.
    fn contains(&self, subset: &Outcome) -> bool {
        let [lo, hi] = [0, 1].map(|side| {
            let (outer, inner) = (self.endpoints[side], subset.endpoints[side]);
            is_nan(self.ty, outer)
                || if side == 0 {
                    is_le(self.ty, outer, inner)
                } else {
                    is_le(self.ty, inner, outer)
                }
        });
        self.is_unbounded() || subset.nan_free && lo && hi
    }
}

/// A test of an operation's lowering.
#[derive(Debug)]
pub struct OpTest<'t> {
    op: Op,
    tables: &'t [Table<'t>],
    same: bool,
    is_monotone: bool,
}

/// The range of an operand, for most random operands.
#[derive(Clone, Copy, Debug)]
struct Domain {
    ty: Type,
    /// Range of floats.
    endpoints: [f32; 2],
}

impl Domain {
    fn all(ty: Type) -> Domain {
        Domain { ty, endpoints: [f32::NEG_INFINITY, f32::INFINITY] }
    }

    fn clamp(&self, bits: u32) -> u32 {
        if self.ty == Type::F32 {
            float(bits).clamp(self.endpoints[0], self.endpoints[1]).to_bits()
        } else {
            bits
        }
    }
}

impl<'t> OpTest<'t> {
    /// A test of an operation.
    pub fn of(op: Op) -> OpTest<'t> {
        OpTest { op, tables: &[], same: false, is_monotone: true }
    }

    /// Sets the tables for loads.
    pub fn with_tables(self, tables: &'t [Table<'t>]) -> OpTest<'t> {
        OpTest { tables, ..self }
    }

    /// Uses one value as both operands.
    pub fn with_equal_operands(self) -> OpTest<'t> {
        OpTest { same: true, ..self }
    }

    /// Allows slightly wider results for subsets of operands, for operations that are not quite
    /// monotone.
    pub fn not_quite_monotone(self) -> OpTest<'t> {
        OpTest { is_monotone: false, ..self }
    }

    /// Runs the lowering on operands with these static bounds; `None` for naive code.
    pub fn run(&self, operands: &[Operand], nan: Nan, known: Option<&[Bounds]>) -> Outcome {
        let mut emit =
            Handles { words: ConstantEvaluator { tables: self.tables }, count: 0, nan_seen: false };
        let mut args: Vec<Interval<Handle>> = vec![];
        for (k, x) in operands.iter().enumerate() {
            let known = known.map_or_else(|| Bounds::all(x.ty), |known| known[k]);
            let lo = emit.handle(x.endpoints[0]);
            let hi = if x.one_handle { lo } else { emit.handle(x.endpoints[1]) };
            args.push(Interval { lo, hi, known, facts: x.facts });
        }
        if self.same {
            args[1] = args[0];
        }
        let mut lowering =
            OpLowering { emit: &mut emit, nan, same: self.same, nan_free: vec![], case: "" };
        let endpoints = lowering.apply(self.op, &args).map(|end| end.bits);
        let ty = self.op.signature().result.unwrap_or(operands[operands.len() - 1].ty);
        let (nan_free, case) = (lowering.nan_free.iter().all(|c| c.bits != 0), lowering.case);
        Outcome { ty, endpoints, nan_free, nan_seen: emit.nan_seen, case }
    }

    /// Endpoints of the result for operands without NaN, in naive code.
    pub fn endpoints(&self, endpoints: &[[f32; 2]]) -> [f32; 2] {
        let facts = Facts { nan: false, negative_zero: true, singleton: false };
        let operand = |endpoints: &[f32; 2]| Operand {
            ty: Type::F32,
            endpoints: endpoints.map(f32::to_bits),
            one_handle: false,
            facts,
            members: vec![],
        };
        let operands: Vec<_> = endpoints.iter().map(operand).collect();
        self.run(&operands, Nan::Suppress, None).endpoints.map(f32::from_bits)
    }

    /// Tests random operands of these types; returns the selected cases.
    pub fn check(&self, types: &[Type], rounds: u32) -> BTreeSet<&'static str> {
        self.check_within(&types.iter().map(|&ty| Domain::all(ty)).collect::<Vec<_>>(), rounds)
    }

    /// Tests random operands, most of them within these domains; returns the selected cases.
    pub fn check_floats(&self, domains: &[[f32; 2]], rounds: u32) -> BTreeSet<&'static str> {
        self.check_within(
            &domains
                .iter()
                .map(|&endpoints| Domain { ty: Type::F32, endpoints })
                .collect::<Vec<_>>(),
            rounds,
        )
    }

    fn check_within(&self, domains: &[Domain], rounds: u32) -> BTreeSet<&'static str> {
        let mut random = Random::new(self.op as u64 + 1);
        let mut cases = BTreeSet::new();
        for _ in 0..rounds {
            let nan = *random.pick(&[Nan::Propagate, Nan::Suppress, Nan::Ignore]);
            let ignore_domain = random.once_in(4);
            let random_operands = domains.iter().map(|domain| {
                let domain = if ignore_domain { &Domain::all(domain.ty) } else { domain };
                operand(&mut random, nan, domain)
            });
            let mut operands: Vec<_> = random_operands.collect();
            if self.same {
                operands[1] = operands[0].clone();
            }
            self.check_operands(&operands, nan, &mut random, &mut cases);
        }
        cases
    }

    /// Tests some operands. Adds the selected cases to `cases`, and returns the outcome of naive
    /// code.
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
            let optimized = self.run(operands, nan, Some(&known));
            cases.insert(optimized.case);
            self.check_containment(operands, nan, &optimized);
            let agrees = [&naive, &optimized].iter().any(|x| self.is_unspecified(operands, nan, x))
                || naive.agrees(&optimized);
            assert!(
                agrees,
                "{} {nan:?} of {operands:x?}, {known:?}: {optimized:x?} is not {naive:x?}",
                self.op.name()
            );
        }
        let mut subsets: Vec<_> = operands.iter().map(|operand| subset(operand, random)).collect();
        if self.same {
            subsets[1] = subsets[0].clone();
        }
        let of_subset = self.run(&subsets, nan, None);
        let is_unspecified = self.is_unspecified(operands, nan, &naive)
            || self.is_unspecified(&subsets, nan, &of_subset);
        let narrows = !self.is_monotone || is_unspecified || naive.contains(&of_subset);
        assert!(
            narrows,
            "{} {nan:?}: {of_subset:x?} of {subsets:x?} is wider than {naive:x?} of {operands:x?}",
            self.op.name()
        );
        naive
    }

    fn check_containment(&self, operands: &[Operand], nan: Nan, outcome: &Outcome) {
        let context = || format!("{} {nan:?} of {operands:x?}: {outcome:x?}", self.op.name());
        let is_unspecified = self.is_unspecified(operands, nan, outcome);
        self.for_each_member_tuple(operands, &mut vec![], &mut |args| {
            let result = self.op.eval_with(&mut ConstantEvaluator { tables: self.tables }, args);
            if !is_nan(outcome.ty, result) {
                assert!(
                    is_unspecified || outcome.contains_result(result),
                    "{} does not contain {result:x} at {args:x?}",
                    context()
                );
            } else if nan == Nan::Propagate {
                assert!(
                    outcome.is_unbounded(),
                    "{} does not report the NaN at {args:x?}",
                    context()
                );
            }
        });
        match nan {
            Nan::Suppress => {
                assert!(!outcome.has_nan_endpoints(), "{} has NaN endpoints", context())
            }
            Nan::Propagate => assert!(
                !outcome.has_nan_endpoints() || outcome.is_unbounded(),
                "{} has a single NaN endpoint",
                context()
            ),
            Nan::Ignore => {}
        }
    }

    /// Calls `with` for each combination of members of the operands.
    fn for_each_member_tuple(
        &self,
        operands: &[Operand],
        tuple: &mut Vec<u32>,
        with: &mut impl FnMut(&[u32]),
    ) {
        let Some((first, rest)) = operands.split_first() else { return with(tuple) };
        for &member in &first.members {
            if self.same && tuple.first().is_some_and(|&other| other != member) {
                continue;
            }
            tuple.push(member);
            self.for_each_member_tuple(rest, tuple, with);
            tuple.pop();
        }
    }

    /// Whether the contract does not cover an outcome, because NaN is ignored and occurred.
    fn is_unspecified(&self, operands: &[Operand], nan: Nan, outcome: &Outcome) -> bool {
        nan == Nan::Ignore
            && (self.op.is_composite() && outcome.nan_seen
                || !self.is_defined_at_endpoints(operands))
    }

    /// Whether neither endpoints of floats nor results at them are NaN.
    fn is_defined_at_endpoints(&self, operands: &[Operand]) -> bool {
        if operands.iter().any(|operand| operand.ty != Type::F32) {
            return true;
        }
        let endpoints =
            |operand: &Operand| Operand { members: operand.endpoints.to_vec(), ..operand.clone() };
        let endpoints: Vec<_> = operands.iter().map(endpoints).collect();
        let mut is_defined = true;
        self.for_each_member_tuple(&endpoints, &mut vec![], &mut |args| {
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

/// Whether a ≤ b.
fn is_le(ty: Type, a: u32, b: u32) -> bool {
    match ty {
        Type::F32 => float(a) <= float(b),
        Type::I32 => a as i32 <= b as i32,
        Type::Bool => a == 0 || b != 0,
    }
}

/// Two words in ascending order.
fn ordered(ty: Type, a: u32, b: u32) -> [u32; 2] {
    if is_le(ty, a, b) { [a, b] } else { [b, a] }
}

/// A random word between two words, inclusive.
pub fn random_between(random: &mut Random, ty: Type, [low, high]: [u32; 2]) -> u32 {
    match (random.below(8), ty) {
        (0, _) => low,
        (1, _) => high,
        (2 | 3, Type::I32) => {
            let offset = random.below(5) as i64;
            (low as i32 as i64 + offset).min(high as i32 as i64) as u32
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

fn non_nan_word(random: &mut Random, ty: Type) -> u32 {
    let bits = match ty {
        Type::F32 if random.once_in(3) => (random.bits() as i32 as f32 / 5e8).to_bits(),
        _ => word(random, ty),
    };
    if is_nan(ty, bits) { 0 } else { bits }
}

/// A word close to another one.
fn nearby_word(random: &mut Random, ty: Type, x: u32) -> u32 {
    let offset = random.below(9) as i32 - 4;
    let y = match ty {
        Type::F32 if random.once_in(2) => float(x).next_up().next_up().to_bits(),
        Type::F32 => {
            (float(x) + offset as f32 * if random.once_in(2) { 0.1 } else { 1.0 }).to_bits()
        }
        Type::I32 => (x as i32).saturating_add(offset << (4 * random.below(4))) as u32,
        Type::Bool => word(random, ty),
    };
    if is_nan(ty, y) { x } else { y }
}

/// A random operand.
fn operand(random: &mut Random, nan: Nan, domain: &Domain) -> Operand {
    let ty = domain.ty;
    let facts =
        Facts { nan: false, negative_zero: random.once_in(2), singleton: random.once_in(6) };
    let first = domain.clamp(non_nan_word(random, ty));
    let second = match random.below(8) {
        _ if facts.singleton => first,
        0 => first,
        1 if ty == Type::F32 => random.pick(&[0.0f32, -0.0]).to_bits(),
        2..=4 => nearby_word(random, ty, first),
        _ => non_nan_word(random, ty),
    };
    let mut endpoints = ordered(ty, first, domain.clamp(second));
    let mut members = members(random, ty, endpoints);
    if ty == Type::F32 && !facts.negative_zero {
        // Neither endpoints nor members are −0, since −0 + 0 is 0.
        let positive = |x: &mut u32| *x = (float(*x) + 0.0).to_bits();
        endpoints.iter_mut().for_each(positive);
        members.iter_mut().for_each(positive);
    }
    if facts.singleton {
        members = vec![endpoints[0]];
    }
    members.sort_unstable();
    members.dedup();
    let one_handle = facts.singleton || endpoints[0] == endpoints[1] && random.once_in(2);
    let operand = Operand { ty, endpoints, one_handle, facts, members };
    if ty == Type::F32 && random.once_in(4) { operand.with_nan(random, nan) } else { operand }
}

/// The endpoints, and some values between them.
fn members(random: &mut Random, ty: Type, endpoints: [u32; 2]) -> Vec<u32> {
    let mut members = endpoints.to_vec();
    members.extend((0..3).map(|_| random_between(random, ty, endpoints)));
    if ty == Type::F32 {
        let [lo, hi] = endpoints.map(float);
        let middle = lo / 2.0 + hi / 2.0;
        let others = [
            lo.next_up(),
            hi.next_down(),
            0.0,
            -0.0,
            1.0,
            -1.0,
            float(non_nan_word(random, ty)),
            middle,
        ];
        members.extend(others.iter().filter(|x| !x.is_nan()).map(|x| x.clamp(lo, hi).to_bits()));
    }
    members
}

/// A random subset of an operand.
fn subset(operand: &Operand, random: &mut Random) -> Operand {
    let ty = operand.ty;
    let non_nan: Vec<_> = operand.members.iter().copied().filter(|&x| !is_nan(ty, x)).collect();
    if operand.one_handle
        || non_nan.is_empty()
        || operand.endpoints.iter().any(|&end| is_nan(ty, end))
    {
        return operand.clone();
    }
    let a = *random.pick(&non_nan);
    let b = if random.once_in(4) { a } else { *random.pick(&non_nan) };
    let endpoints = ordered(ty, a, b);
    Operand {
        endpoints,
        one_handle: endpoints[0] == endpoints[1] && random.once_in(2),
        ..operand.clone()
    }
}

/// Random static bounds that contain the operand.
fn known(operand: &Operand, random: &mut Random) -> Bounds {
    let non_nan: Vec<_> = operand.without_nan().collect();
    match operand.ty {
        Type::F32 => {
            let mut floats = known_of_float(&non_nan, random);
            floats.nan = operand.facts.nan;
            floats.negative_zero &= operand.facts.negative_zero;
            Bounds::Float(floats)
        }
        Type::I32 => {
            let hull =
                [non_nan.iter().map(|&x| x as i32).min(), non_nan.iter().map(|&x| x as i32).max()];
            let [mut low, mut high] = hull.map(|end| end.expect("the endpoints are numbers"));
            if random.once_in(2) {
                let far = non_nan_word(random, Type::I32) as i32;
                (low, high) = (low.min(far), high.max(far));
            }
            Bounds::Int(Pieces::one(low, high))
        }
        Type::Bool => {
            let any = random.once_in(4);
            Bounds::Bool(Bools {
                may_be_false: any || non_nan.contains(&0),
                may_be_true: any || non_nan.iter().any(|&x| x != 0),
            })
        }
    }
}

/// Random static bounds that contain some floats.
fn known_of_float(non_nan: &[u32], random: &mut Random) -> Floats {
    const MIN_POSITIVE: f32 = f32::from_bits(1);
    const CHOICES: [[f32; 2]; 15] = [
        [f32::NEG_INFINITY, f32::INFINITY],
        [0.0, f32::INFINITY],
        [f32::NEG_INFINITY, 0.0],
        [MIN_POSITIVE, f32::INFINITY],
        [f32::NEG_INFINITY, -MIN_POSITIVE],
        [f32::MIN, f32::MAX],
        [0.0, f32::MAX],
        [f32::MIN, 0.0],
        [1.0, f32::INFINITY],
        [1.0, f32::MAX],
        [0.0, 1.0],
        [MIN_POSITIVE, 1.0],
        [-1.0, 1.0],
        [f32::NEG_INFINITY, 1.0],
        [-1.0, f32::INFINITY],
    ];
    let non_nan = || non_nan.iter().map(|&x| float(x));
    let (low, high) =
        (non_nan().fold(f32::INFINITY, f32::min), non_nan().fold(f32::NEG_INFINITY, f32::max));
    if low > high {
        return Floats::all();
    }
    let [min, max] = match random.below(20) {
        k @ 0..15 => CHOICES[k],
        15 | 16 => {
            let far = float(non_nan_word(random, Type::F32));
            [low.min(far), high.max(far)]
        }
        _ => [low, high],
    };
    Floats::of(Pieces::one(min.min(low), max.max(high)))
}
