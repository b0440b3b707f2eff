//! Checks of forms against operations, on random operands.
//!
//! A form is run on words. For many intervals and members of them it must contain what the operation gives, all its cases must agree
//! on the bits, and what is known less well must not be bounded better.

use super::{Facts, Forms, Interval, Nan};
use crate::analysis::{Bools, Bounds, Floats, Pieces};
use crate::ir::op::Words;
use crate::ir::random::{Random, word};
use crate::ir::{Emit, Op, Table, Type};

/// A word that is told apart from others that happen to be the same, as handles are.
#[derive(Clone, Copy, Debug)]
pub struct Handle {
    number: u32,
    pub bits: u32,
}

impl PartialEq for Handle {
    fn eq(&self, other: &Handle) -> bool {
        self.number == other.number
    }
}

/// Computes at once, and counts operations.
#[derive(Debug, Default)]
pub struct Counting<'t> {
    words: Words<'t>,
    count: u32,
}

impl Counting<'_> {
    pub fn handle(&mut self, bits: u32) -> Handle {
        self.count += 1;
        Handle { number: self.count, bits }
    }
}

impl Emit for Counting<'_> {
    type Value = Handle;
    fn constant(&mut self, _: Type, bits: u32) -> Handle {
        self.handle(bits)
    }
    fn op(&mut self, op: Op, args: &[Handle]) -> Handle {
        let args: Vec<_> = args.iter().map(|arg| arg.bits).collect();
        let bits = op.eval_with(&mut self.words, &args);
        self.handle(bits)
    }
    fn known(&self, value: Handle) -> Option<u32> {
        Some(value.bits)
    }
}

/// An operand: ends, whether it is an interval, and what is known beside.
#[derive(Clone, Debug)]
pub struct Operand {
    pub ty: Type,
    pub ends: [u32; 2],
    pub is_number: bool,
    pub facts: Facts,
    /// What optimized code is told.
    pub known: Bounds,
    /// Some of the values that it stands for.
    pub members: Vec<u32>,
}

/// What a form gave.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub ends: [u32; 2],
    pub clean: bool,
    pub case: &'static str,
}

/// Runs a form; `told` says whether it is told what is known.
pub fn run(op: Op, operands: &[Operand], nan: Nan, told: bool, tables: &[Table<'_>]) -> Outcome {
    let mut emit = Counting { words: Words { tables }, count: 0 };
    let args: Vec<_> = operands
        .iter()
        .map(|x| {
            let lo = emit.handle(x.ends[0]);
            let hi = if x.is_number { lo } else { emit.handle(x.ends[1]) };
            Interval { lo, hi, known: if told { x.known } else { Bounds::all(x.ty) }, facts: x.facts }
        })
        .collect();
    let mut forms = Forms { emit: &mut emit, nan, same: false, clean: vec![], case: "" };
    let ends = forms.apply(op, &args).map(|end| end.bits);
    Outcome { ends, clean: forms.clean.iter().all(|c| c.bits != 0), case: forms.case }
}

fn float(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// Whether a word is not above another one.
pub fn at_most(ty: Type, a: u32, b: u32) -> bool {
    match ty {
        Type::F32 => float(a) <= float(b),
        Type::I32 => a as i32 <= b as i32,
        Type::Bool => a == 0 || b != 0,
    }
}

pub fn is_nan(ty: Type, bits: u32) -> bool {
    ty == Type::F32 && float(bits).is_nan()
}

/// Bounds of what lies between ends, both included.
pub fn between(ty: Type, [low, high]: [u32; 2], facts: Facts) -> Bounds {
    match ty {
        Type::F32 => {
            let mut floats = Floats { nan: facts.nan, ..Floats::between(float(low), float(high)) };
            floats.negative_zero &= facts.negative_zero;
            Bounds::Float(floats)
        }
        Type::I32 => Bounds::Int(Pieces::one(low as i32, high as i32)),
        Type::Bool => Bounds::Bool(Bools { no: low == 0, yes: high != 0 }),
    }
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
            let key = |bits: u32| if bits >> 31 == 0 { bits as i64 } else { -((bits & 0x7fff_ffff) as i64) };
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
    loop {
        let bits = word(random, ty);
        if !is_nan(ty, bits) {
            return bits;
        }
    }
}

/// A random operand, and a part of it.
fn operand(random: &mut Random, ty: Type, is_number: bool, nan: Nan) -> [Operand; 2] {
    let first = number(random, ty);
    let mut second = if random.once_in(3) { number(random, ty) } else { near(random, ty, first) };
    if is_number {
        second = first;
    }
    let mut ends = if at_most(ty, first, second) { [first, second] } else { [second, first] };
    let mut facts = Facts {
        nan: ty == Type::F32 && nan != Nan::Ignore && random.once_in(5),
        negative_zero: random.once_in(2),
        number: is_number,
    };
    let is_zero = |bits: u32| ty == Type::F32 && float(bits) == 0.0;
    if is_number && is_zero(ends[0]) {
        facts.negative_zero = ends[0] != 0;
    }
    let is_member = |bits: u32| !(ty == Type::F32 && bits == 1 << 31) || facts.negative_zero;
    let sample = |random: &mut Random, ends: [u32; 2]| {
        let mut members: Vec<_> = (0..3).map(|_| within(random, ty, ends)).chain(ends).filter(|&x| is_member(x)).collect();
        if members.is_empty() {
            members.push(0);
        }
        members
    };
    let mut members = sample(random, ends);
    let inner = [*random.pick(&members), *random.pick(&members)];
    let inner = if at_most(ty, inner[0], inner[1]) { inner } else { [inner[1], inner[0]] };
    let mut inner_members = sample(random, inner);
    inner_members.retain(|&x| at_most(ty, inner[0], x) && at_most(ty, x, inner[1]));
    let wide = [within(random, ty, ends), within(random, ty, ends)];
    let mut known = between(ty, ends, facts);
    if random.once_in(2) && !is_number {
        known = known.join(&between(ty, [wide[0], wide[0]], facts)).join(&grown(random, ty, ends, facts));
    }
    if facts.nan {
        let nans = f32::NAN.to_bits();
        members.push(nans);
        if is_number {
            // Where NaN is suppressed, lowering gives 0 for it.
            (ends, members) = ([if nan == Nan::Suppress { 0 } else { nans }; 2], vec![nans]);
            known = known.join(&Bounds::constant(ty, 0));
        } else if nan == Nan::Propagate {
            // As the invariant has it.
            ends = [*random.pick(&[f32::NEG_INFINITY, f32::NAN]), *random.pick(&[f32::INFINITY, f32::NAN])].map(f32::to_bits);
            known = Bounds::Float(Floats::all());
        }
    }
    let whole = Operand { ty, ends, is_number, facts, known, members };
    let part = Operand { ends: if facts.nan { whole.ends } else { inner }, members: inner_members, ..whole.clone() };
    [whole, part]
}

/// A number close to another one.
fn near(random: &mut Random, ty: Type, x: u32) -> u32 {
    let by = random.below(9) as i32 - 4;
    let y = match ty {
        Type::F32 => (float(x) + by as f32 * if random.once_in(2) { 0.1 } else { 1.0 }).to_bits(),
        Type::I32 => (x as i32).saturating_add(by << (4 * random.below(4))) as u32,
        Type::Bool => word(random, ty),
    };
    if is_nan(ty, y) { x } else { y }
}

/// Bounds of more than what lies between ends.
fn grown(random: &mut Random, ty: Type, ends: [u32; 2], facts: Facts) -> Bounds {
    let far = number(random, ty);
    let [low, high] = ends;
    let ends = if at_most(ty, far, low) { [far, high] } else { [low, if at_most(ty, high, far) { far } else { high }] };
    between(ty, ends, facts)
}

/// Random words of an operation's results that must lie within the ends, given operands; see [`check`].
pub fn contained(op: Op, ty: Type, operands: &[Operand], nan: Nan, outcome: Outcome, tables: &[Table<'_>]) {
    let context = |args: &[u32], y: u32| format!("{} {args:x?} = {y:x} of {operands:x?}: {outcome:x?}, {nan:?}", op.name());
    let mut index = vec![0; operands.len()];
    let [lo, hi] = outcome.ends;
    if nan == Nan::Suppress {
        assert!(!is_nan(ty, lo) && !is_nan(ty, hi), "{}", context(&[], 0));
    }
    'members: loop {
        let args: Vec<_> = std::iter::zip(operands, &index).map(|(x, &k): (_, &usize)| x.members[k]).collect();
        let y = op.eval_with(&mut Words { tables }, &args);
        let holds = match () {
            () if !outcome.clean => true,
            () if is_nan(ty, y) => {
                let says_nothing =
                    (is_nan(ty, lo) || float(lo) == f32::NEG_INFINITY) && (is_nan(ty, hi) || float(hi) == f32::INFINITY);
                nan != Nan::Propagate || says_nothing
            }
            () => (is_nan(ty, lo) || at_most(ty, lo, y)) && (is_nan(ty, hi) || at_most(ty, y, hi)),
        };
        assert!(holds, "{}", context(&args, y));
        for (k, x) in operands.iter().enumerate() {
            index[k] += 1;
            if index[k] < x.members.len() {
                continue 'members;
            }
            index[k] = 0;
        }
        return;
    }
}

/// Whether two runs gave the same bounds, or the first none.
pub fn same(ty: Type, naive: Outcome, other: Outcome) -> bool {
    let end = |side: usize| {
        let (a, b) = (naive.ends[side], other.ends[side]);
        match ty {
            Type::F32 => float(a).is_nan() || float(a) == float(b),
            Type::I32 | Type::Bool => a == b,
        }
    };
    !naive.clean || (other.clean && end(0) && end(1))
}

/// Checks an operation, whose operands are of these types; returns the cases that occurred.
pub fn check(op: Op, types: &[Type], result: Type, rounds: u32) -> Vec<&'static str> {
    let mut random = Random::new(u64::from(rounds) + op as u64);
    let mut cases = vec![];
    for _ in 0..rounds {
        let nan = *random.pick(&[Nan::Propagate, Nan::Suppress, Nan::Ignore]);
        let interval = random.below(types.len());
        let pairs: Vec<_> = (0..types.len())
            .map(|k| {
                let is_number = k != interval && random.once_in(3);
                operand(&mut random, types[k], is_number, nan)
            })
            .collect();
        let whole: Vec<_> = pairs.iter().map(|[whole, _]| whole.clone()).collect();
        let part: Vec<_> = pairs.into_iter().map(|[_, part]| part).collect();
        let naive = run(op, &whole, nan, false, &[]);
        let told = run(op, &whole, nan, true, &[]);
        contained(op, result, &whole, nan, naive, &[]);
        assert!(same(result, naive, told), "{} of {whole:x?}: {naive:x?}, {told:x?}, {nan:?}", op.name());
        for case in [naive.case, told.case] {
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
        let less = run(op, &part, nan, false, &[]);
        let [lo, hi] = [0, 1].map(|side| {
            let (outer, inner) = (naive.ends[side], less.ends[side]);
            let (a, b) = if side == 0 { (outer, inner) } else { (inner, outer) };
            is_nan(result, outer) || at_most(result, a, b)
        });
        let says_nothing = naive.ends.iter().any(|&end| is_nan(result, end));
        let narrows = !naive.clean || (lo && hi && (less.clean || says_nothing));
        assert!(narrows, "{} of {whole:x?}: {naive:x?}, of {part:x?}: {less:x?}, {nan:?}", op.name());
    }
    cases
}
