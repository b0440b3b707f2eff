//! Values that rise, or fall, with one that they use several times, as z / √(z² + y²) does with z.
//!
//! Interval forms take each use by itself: for the upper end, z̄ in the numerator and z̲ in the other place. Where [`Growth`] proves that a
//! value v, as a function of some of the uses of t, rises for real numbers, whatever all else it is made of, v is at most what comes of t̄
//! in all of these uses. So the operations between t and v are written once more, with forms in which uses of t are a number, and all
//! else has its ends; what is the same as before is shared. In this text v rises, and its upper end is sought; the rest is mirrored.
//!
//! # Proof
//!
//! F is the function of floats, G that of real numbers, by the same operations; u is all that is not tied. F(t, u) is as close to G(t, u) ≤
//! G(t̄, u) as [`Error`] says, and so is F(t̄, u), which is within the forms' ends. What holds of t̄ and u is that each is within its own
//! bounds: so what is known of the operations between is what [`transfer`] says. Limits of other relations need not hold at (t̄, u).
//! There are two ways to make up for what floats are off.
//!
//! - *Widening.* All of the uses are t̄, and the end is widened. It is intersected with v's own end.
//! - *Moving.* Where v ≥ 0 and t ≥ 0, only the uses by which v may fall are tied, as the second argument of v = F(t, t, u). There, the interval
//!   of t is cut to [t', t̄], t' some floats below t̄, or t̲. So F(t, t, u) is within the forms' ends for members with t ≥ t'. For the others, G(t, t, u) ≤ G(t', t', u) ≤ (t'/t̄)ᵉ G(t̄, t', u) with the least elasticity e of G in its first
//!   argument, which has to be above 0: t' is such that this makes up for what is relative of the errors. What is absolute, by results below
//!   the least normal number, is added. As [t', t̄] is within t's ends, the end is within that of v's form before that, and takes its
//!   place at no cost, where v is an output or nothing is added; elsewhere what comes after v might make more of it, and the two are
//!   intersected. All of this needs ends of the operations between that are those of their forms, so they have no alternatives.
//!
//! Moreover:
//!
//! - *Pieces.* If t can have both signs, v is looked at where t ≤ 0 and where t ≥ 0; it is continuous, as all operations are where they are
//!   defined. If it is 0 where t ≤ 0, that is no less than the end, since v's form has it; and all else is within what it is where t ≥ 0.
//! - *Limits.* They do hold at (t, u), and on the way to t̄ those keep holding from which a value recedes: what falls stays below its
//!   upper limit.
//! - *Guards.* If v rises only where t ≥ c, for a c that t has a maximum with, the end holds for boxes with t̲ ≥ c.
//! - *Cut operands.* A factor of unknown sign leaves it open whether v rises. If v, in floats, does not fall with the factor, it is no less
//!   at the greater one of it and 0, of which the sign is known: that will do for upper ends when they are widened. When t is moved, members
//!   whose factor is not negative are as above; of the others, v must rise in floats with the uses that fell before: F(t, t, u) ≤ F(t, t', u)
//!   for t < t'.

use super::growth::Growth;
use super::range::Range;
use super::rounding::Error;
use super::{Alternative, Point, Related};
use crate::analysis::transfer::transfer;
use crate::analysis::{Bounds, Floats};
use crate::interval::{Facts, Forms, Interval, Nan};
use crate::ir::builder::cost_of;
use crate::ir::function::{ValueData, for_each_stmt};
use crate::ir::{Block, Def, Emit, Function, Op, Stmt, Type, Value};
use std::cell::Cell;

/// More uses of a value than that are not looked at.
const USES: usize = 12;

/// Floats may be off by so much, relatively, where ends are still taken to tighten.
const OFF: f64 = 1e-2;

/// Operations that are written once more, where the end does not take the place of another, cost so much at most, in basic ones. That
/// leaves out `pow` and the like.
const DEAREST: u32 = 15;

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
    /// Whether moved ends take the place of those of the interval form: no NaN is on the way, of which those would have to tell, and
    /// nothing comes after a shift that might make more of it.
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

fn is_supported(op: Op) -> bool {
    use Op::*;
    matches!(op, Neg | Abs | Add | Sub | Mul | Div | Sqrt | Rsqrt | Max | Min | Exp | Exp2 | Log | Log2 | Pow | Select)
}

/// Numbers alone: neither NaN nor infinite.
fn is_finite(bounds: &Bounds) -> bool {
    match bounds {
        Bounds::Float(floats) => !floats.nan && floats.low().is_finite() && floats.high().is_finite(),
        _ => true,
    }
}

fn range(floats: &Floats) -> Range {
    Range::new(f64::from(floats.low()), f64::from(floats.high()))
}

/// Finds values that are monotone in one that they use several times.
pub(super) fn find(point: &Point<'_>, related: &mut Related) {
    find_up_to(point, DEAREST, related);
}

/// The same, where ends that do not take the place of others cost so much at most.
fn find_up_to(point: &Point<'_>, dearest: u32, related: &mut Related) {
    let plain = vec![Cell::new(false); point.function.len()];
    blocks(&point.function.body, &mut |block| {
        let ops: Vec<_> =
            block.stmts.iter().filter_map(|stmt| if let Stmt::Op(value) = stmt { Some(*value) } else { None }).collect();
        for (source, sites) in sources(point, &ops) {
            let (masks, half) = (vec![0; point.function.len()], half(point, &ops, source));
            Search { point, ops: &ops, source, sites, masks, half, found: vec![], plain: &plain, dearest }.run(related);
        }
    });
}

fn blocks<'a>(block: &'a Block, f: &mut impl FnMut(&'a Block)) {
    f(block);
    for stmt in &block.stmts {
        match stmt {
            Stmt::Op(_) => {}
            Stmt::If(node) => [&node.then, &node.otherwise].into_iter().for_each(|block| blocks(block, f)),
            Stmt::Loop(node) => [&node.head, &node.body].into_iter().for_each(|block| blocks(block, f)),
        }
    }
}

/// Intervals that several operations of a block use, with these.
fn sources(point: &Point<'_>, ops: &[Value]) -> Vec<(Value, Vec<Value>)> {
    let mut users: Vec<Vec<Value>> = vec![vec![]; point.function.len()];
    for &value in ops {
        let (op, args) = point.function.operation(value).expect("statements define operations");
        for &arg in args {
            let is_one =
                point.kinds[arg.index()] && point.function.ty(arg) == Type::F32 && is_finite(&point.bounds[arg.index()]);
            let users = &mut users[arg.index()];
            if is_one && is_supported(op) && users.last() != Some(&value) {
                users.push(value);
            }
        }
    }
    let of = |(index, users): (usize, Vec<Value>)| ((2..=USES).contains(&users.len())).then_some((Value(index as u32), users));
    users.into_iter().enumerate().filter_map(of).collect()
}

/// What values can be where a source is not negative; nothing if it never is.
fn half(point: &Point<'_>, ops: &[Value], source: Value) -> Option<Vec<Bounds>> {
    let floats = point.bounds[source.index()].floats();
    if floats.low() >= 0.0 || floats.high() <= 0.0 {
        return None;
    }
    let mut half = point.bounds.clone();
    half[source.index()] = Bounds::Float(Floats::between(0.0, floats.high()));
    for &value in ops {
        let (op, args) = point.function.operation(value).expect("statements define operations");
        if !args.iter().any(|arg| half[arg.index()] != point.bounds[arg.index()]) {
            continue;
        }
        let operands: Vec<_> = args.iter().map(|arg| half[arg.index()]).collect();
        let same = matches!(args, [a, b] if a == b);
        half[value.index()] = transfer(op, &operands, same, Nan::Suppress).meet(&point.bounds[value.index()]);
    }
    Some(half)
}

/// A search for values that are monotone in a source, in a block.
struct Search<'a> {
    point: &'a Point<'a>,
    ops: &'a [Value],
    source: Value,
    /// The operations that use it.
    sites: Vec<Value>,
    /// For each value, the sites that it depends on, by bits.
    masks: Vec<u32>,
    /// What values can be where the source is not negative; nothing if it never is.
    half: Option<Vec<Bounds>>,
    /// What was found: the value, and the sites that are tied.
    found: Vec<(Value, u32)>,
    /// Values whose ends have to be those of their forms.
    plain: &'a [Cell<bool>],
    /// Ends that do not take the place of others cost so much at most.
    dearest: u32,
}

impl Search<'_> {
    fn run(mut self, related: &mut Related) {
        for &value in self.ops {
            let (op, args) = self.point.function.operation(value).expect("statements define operations");
            if !is_supported(op) || !self.point.kinds[value.index()] || !is_finite(&self.point.bounds[value.index()]) {
                continue;
            }
            let site = self.sites.iter().position(|&site| site == value).map_or(0, |bit| 1 << bit);
            let parts: Vec<u32> = args.iter().map(|arg| self.masks[arg.index()]).collect();
            let mask = parts.iter().fold(site, |mask, part| mask | part);
            self.masks[value.index()] = mask;
            // Where uses come together.
            if !self.plain[value.index()].get() && mask.count_ones() > 1 && parts.iter().all(|&part| part != mask) {
                self.join(value, mask, &parts, related);
            }
        }
    }

    /// Looks at a value in which uses come together.
    fn join(&mut self, value: Value, mask: u32, parts: &[u32], related: &mut Related) {
        let path = self.path(value);
        let units = self.units(mask, &path);
        let ways: Vec<_> = units.iter().map(|&unit| (unit, self.inclination(&path, unit))).collect();
        let is_spread = |sites: u32| parts.iter().all(|&part| sites & !part != 0);
        let monotone = |ways: &[(u32, Option<Way>)], half| {
            let sites = ways.iter().fold(0, |sites, (unit, _)| sites | unit);
            let differ = ways.iter().any(|(_, way)| *way != ways[0].1);
            (differ && is_spread(sites)).then(|| self.tie(&path, sites, half)).flatten().map(|tie| (sites, tie))
        };
        let halves = [Some(self.half.as_deref()), self.half.is_some().then_some(None)];
        for (ways, half) in attempts(&ways).iter().flat_map(|ways| halves.into_iter().flatten().map(move |half| (ways, half))) {
            let Some((mut sites, mut tie)) = monotone(ways, half) else { continue };
            // Those that go the same way by themselves have the same end without being tied.
            let mut needed = ways.clone();
            for unit in ways.iter().filter(|(_, way)| *way == tie.way).map(|&(unit, _)| unit).collect::<Vec<_>>() {
                let rest: Vec<_> = needed.iter().copied().filter(|&(other, _)| other != unit).collect();
                if let Some(less) = monotone(&rest, half).filter(|(_, less)| less.cut.len() <= tie.cut.len()) {
                    needed = rest;
                    (sites, tie) = less;
                }
            }
            let is_plain = |step: &Step| step.value == value || related.alternatives[step.value.index()].is_empty();
            let moving = if tie.steps.iter().all(is_plain) { self.moving(&path, sites, &tie) } else { None };
            let moving = moving.filter(|moved| moved.replaces || cost(&moved.steps) <= self.dearest);
            if moving.is_some() {
                tie.steps.iter().filter(|step| step.value != value).for_each(|step| self.plain[step.value.index()].set(true));
            }
            let Some(found) = moving.or_else(|| tie.widening(self.source, self.dearest)) else { continue };
            self.found.push((value, sites));
            related.add(self.point, value, Alternative::Monotone(found), Bounds::all(Type::F32));
            return;
        }
    }

    /// The operations from the source to a value, in order.
    fn path(&self, value: Value) -> Vec<Value> {
        let mut on_path = vec![false; self.masks.len()];
        on_path[value.index()] = true;
        let mut path = vec![];
        for &value in self.ops.iter().rev().filter(|value| self.masks[value.index()] != 0) {
            if !on_path[value.index()] {
                continue;
            }
            path.push(value);
            let (_, args) = self.point.function.operation(value).expect("they are operations");
            args.iter().for_each(|arg| on_path[arg.index()] = true);
        }
        path.reverse();
        path
    }

    /// Sites, those together that are tied on the path already.
    fn units(&self, mask: u32, path: &[Value]) -> Vec<u32> {
        let mut units: Vec<u32> = vec![];
        let mut rest = mask;
        for &(value, sites) in self.found.iter().rev() {
            if path.contains(&value) && sites & !rest == 0 {
                units.push(sites);
                rest &= !sites;
            }
        }
        units.extend((0..self.sites.len()).map(|bit| 1 << bit).filter(|bit| rest & bit != 0));
        units
    }

    /// Which way the value at the end of a path goes with some uses, where the source has one sign.
    fn inclination(&self, path: &[Value], sites: u32) -> Option<Way> {
        let bounds = self.half.as_ref().unwrap_or(&self.point.bounds);
        let steps = self.steps(path, sites, &[])?;
        let cut = cuttable(&steps, bounds);
        let tie = Tie { steps, cut, half: None, way: None, ends: [None; 2] };
        let whole = range(tie.source());
        let piece = if self.half.is_some() { Range::new(0.0, whole.hi) } else { whole };
        Way::of(tie.growth(bounds, None, piece, true)?.slope, piece)
    }

    /// The value at the end of a path as a function of the source at these sites; operands are cut only if that is needed.
    fn tie<'t>(&'t self, path: &[Value], sites: u32, half: Option<&'t [Bounds]>) -> Option<Tie<'t>> {
        let steps = self.steps(path, sites, &[])?;
        let cut = cuttable(&steps, half.unwrap_or(&self.point.bounds));
        let tie = Tie::new(self.point, steps, vec![], half);
        if tie.is_monotone() {
            return Some(tie);
        }
        if cut.is_empty() {
            return None;
        }
        let steps = self.steps(path, sites, &self.parts(&cut, true))?;
        Some(Tie::new(self.point, steps, cut, half)).filter(Tie::is_monotone)
    }

    /// Whether all that the values of a path are made of, by operations, is never NaN.
    fn is_clean(&self, path: &[Value]) -> bool {
        let Point { function, bounds, .. } = self.point;
        let (mut seen, mut work) = (vec![false; function.len()], path.to_vec());
        while let Some(value) = work.pop() {
            if std::mem::replace(&mut seen[value.index()], true) {
                continue;
            }
            if matches!(&bounds[value.index()], Bounds::Float(Floats { nan: true, .. })) {
                return false;
            }
            match function.def(value) {
                Def::Input(_) | Def::Const(_) => {}
                _ => match function.operation(value) {
                    Some((_, args)) => work.extend(args),
                    None => return false,
                },
            }
        }
        true
    }

    /// What operands of unknown sign can be that is not negative, or not positive.
    fn parts(&self, cut: &[Value], positive: bool) -> Vec<(Value, Floats)> {
        let part = |&value: &Value| {
            let floats = self.point.bounds[value.index()].floats();
            (
                value,
                if positive {
                    Floats { negative_zero: false, ..Floats::between(0.0, floats.high()) }
                } else {
                    Floats::between(floats.low(), 0.0)
                },
            )
        };
        cut.iter().map(part).collect()
    }

    /// The sites with which the last of the steps goes a way, in floats.
    fn going(&self, steps: &[Step], way: Way) -> u32 {
        let goes = |bit: &usize| {
            let site = self.sites[*bit];
            course(steps, |step, arg| step.value == site && matches!(arg, Arg::Tied(_))) == Some(way)
        };
        (0..self.sites.len()).filter(goes).fold(0, |sites, bit| sites | 1 << bit)
    }

    /// The same with only those uses moved that do not go with it by each step, by which nothing has to be widened.
    fn moving(&self, path: &[Value], sites: u32, tie: &Tie<'_>) -> Option<Monotone> {
        let way = tie.way?;
        let mut against = sites & !self.going(&tie.steps, way);
        if !tie.cut.is_empty() {
            // Where the operand is negative, they have to go with it.
            let steps = self.steps(path, sites, &self.parts(&tie.cut, false))?;
            against &= if tie.cut.len() == 1 { self.going(&steps, way) } else { 0 };
        }
        if against == 0 {
            return None;
        }
        let goes_against =
            |step: &Step| (0..self.sites.len()).any(|bit| against >> bit & 1 == 1 && self.sites[bit] == step.value);
        let (floats, shift) = tie.margin(self.point, goes_against)?;
        let is_last = path.last().is_some_and(|&value| is_last(self.point.function, value));
        let steps = self.steps(path, against, &[])?;
        let bounds = steps.last().expect("there are steps").bounds;
        let (sign, [low, high]) = (Sign::of(&bounds), [bounds.floats().low(), bounds.floats().high()]);
        let end = |side: usize| End { of: if way == Way::Rises { side } else { 1 - side }, way: By::Moving { floats, shift } };
        // A shift must not lead out of what is known.
        (high >= 1e-20 && (low >= 0.0 || low <= -1e-20)).then(|| Monotone {
            source: self.source,
            steps,
            cut: vec![],
            sign,
            ends: [Some(end(0)), Some(end(1))],
            replaces: self.is_clean(path) && (shift == 0.0 || is_last),
        })
    }

    /// The operations between, where all is finite.
    fn steps(&self, path: &[Value], sites: u32, cut: &[(Value, Floats)]) -> Option<Vec<Step>> {
        let Point { function, bounds, kinds, .. } = self.point;
        let mut steps: Vec<Step> = vec![];
        for &value in path.iter().filter(|value| self.masks[value.index()] & sites != 0) {
            let (op, args) = function.operation(value).expect("they are operations");
            let is_tied = self.sites.iter().position(|&site| site == value).is_some_and(|bit| sites >> bit & 1 == 1);
            let arg = |&value: &Value| {
                if is_tied && value == self.source {
                    return Arg::Tied(*bounds[value.index()].floats());
                }
                if let Some(step) = steps.iter().position(|step| step.value == value) {
                    return Arg::Step(step);
                }
                let cut = cut.iter().find(|(other, _)| *other == value);
                let bounds = cut.map_or(bounds[value.index()], |(_, part)| Bounds::Float(*part));
                Arg::Other { value, bounds, number: !kinds[value.index()] }
            };
            let args: Vec<_> = args.iter().map(arg).collect();
            let of = |arg: &Arg| match *arg {
                Arg::Tied(floats) => Bounds::Float(floats),
                Arg::Step(step) => steps[step].bounds,
                Arg::Other { bounds, .. } => bounds,
            };
            let operands: Vec<_> = args.iter().map(of).collect();
            let bounds = transfer(op, &operands, is_same(&args), Nan::Ignore);
            if !operands.iter().chain([&bounds]).all(is_finite) {
                return None;
            }
            steps.push(Step { value, op, args, bounds });
        }
        Some(steps)
    }
}

/// Sets of units to tie, the first ones first: all; all whose way is known; these but for one.
fn attempts(units: &[(u32, Option<Way>)]) -> Vec<Vec<(u32, Option<Way>)>> {
    let known: Vec<_> = units.iter().copied().filter(|(_, way)| way.is_some()).collect();
    let without = |unit: &(u32, Option<Way>)| known.iter().copied().filter(|other| other != unit).collect::<Vec<_>>();
    let mut attempts = vec![units.to_vec()];
    if known.len() < units.len() {
        attempts.push(known.clone());
    }
    attempts.extend(known.iter().map(without));
    attempts.retain(|units| units.len() > 1);
    attempts
}

/// What operations cost, in basic ones.
fn cost(steps: &[Step]) -> u32 {
    steps.iter().map(|step| cost_of(step.op)).sum()
}

/// Whether nothing is made of a value, which is an output.
fn is_last(function: &Function, value: Value) -> bool {
    let is_operand = |data: &ValueData| matches!(data.def, Def::Op { args, .. } if args.contains(&value));
    let mut is_handed_on = false;
    for_each_stmt(&function.body, &mut |stmt| {
        is_handed_on |= match stmt {
            Stmt::Op(_) => false,
            Stmt::If(node) => [&node.then, &node.otherwise].iter().any(|arm| arm.yields.contains(&value)),
            Stmt::Loop(node) => [&node.init, &node.head.yields, &node.body.yields].iter().any(|values| values.contains(&value)),
        };
    });
    function.body.yields.contains(&value) && !is_handed_on && !function.values.iter().any(is_operand)
}

/// Whether both operands of an operation are one value.
fn is_same(args: &[Arg]) -> bool {
    matches!(args, [a, b] if a == b)
}

/// Other operands of unknown sign with which the last of the steps never falls, in floats.
fn cuttable(steps: &[Step], bounds: &[Bounds]) -> Vec<Value> {
    let mut all: Vec<Value> = vec![];
    for arg in steps.iter().flat_map(|step| &step.args) {
        let Arg::Other { value, .. } = arg else { continue };
        if matches!(&bounds[value.index()], Bounds::Float(floats) if floats.low() < 0.0 && floats.high() > 0.0)
            && !all.contains(value)
        {
            all.push(*value);
        }
    }
    all.retain(|&operand| {
        let is_it = |_: &Step, arg: &Arg| matches!(arg, Arg::Other { value, .. } if *value == operand);
        course(steps, is_it) == Some(Way::Rises)
    });
    all
}

/// Which way the last of the steps goes with some operands, in floats, since each step goes one way.
fn course(steps: &[Step], is_it: impl Fn(&Step, &Arg) -> bool) -> Option<Way> {
    let mut ways: Vec<Way> = vec![];
    for step in steps {
        let of = |arg: &Arg| match arg {
            Arg::Step(step) => ways[*step],
            arg if is_it(step, arg) => Way::Rises,
            _ => Way::Constant,
        };
        let sign = |arg: &Arg| {
            let bounds = match arg {
                Arg::Tied(floats) => Bounds::Float(*floats),
                Arg::Step(step) => steps[*step].bounds,
                Arg::Other { bounds, .. } => *bounds,
            };
            Sign::of(&bounds)
        };
        let which: Vec<Way> = step.args.iter().map(of).collect();
        let way = match (step.op, &step.args[..], &which[..]) {
            (_, _, which) if which.iter().all(|&way| way == Way::Constant) => Way::Constant,
            (Op::Add | Op::Max | Op::Min, _, &[a, b]) => a.and(b)?,
            (Op::Sub, _, &[a, b]) => a.and(b.turned())?,
            (Op::Neg | Op::Rsqrt, _, &[a]) => a.turned(),
            (Op::Sqrt | Op::Exp | Op::Exp2 | Op::Log | Op::Log2, _, &[a]) => a,
            (Op::Mul, [x, y], &[a, b]) => a.times(sign(y))?.and(b.times(sign(x))?)?,
            (Op::Div, [x, y], &[a, b]) => a.times(sign(y))?.and(b.turned().times(sign(x))?)?,
            _ => return None,
        };
        ways.push(way);
    }
    ways.pop()
}

/// A value as a function of a source, and what was found out of that.
struct Tie<'a> {
    steps: Vec<Step>,
    cut: Vec<Value>,
    /// What values can be where the source is not negative, if that was looked at alone, because elsewhere the value is 0.
    half: Option<&'a [Bounds]>,
    way: Option<Way>,
    ends: [Option<End>; 2],
}

impl<'a> Tie<'a> {
    fn new(point: &Point<'_>, steps: Vec<Step>, cut: Vec<Value>, half: Option<&'a [Bounds]>) -> Tie<'a> {
        let mut tie = Tie { steps, cut, half, way: None, ends: [None; 2] };
        for up in [true, false] {
            let Some((way, error, guard)) = tie.guarded(point, up) else { continue };
            tie.way = Some(way);
            // The side on which the value is, with the source at this end of it.
            let upper = (way == Way::Falls) != up;
            if error.relative <= OFF && (upper || tie.cut.is_empty()) {
                tie.ends[usize::from(upper)] = Some(End { of: usize::from(up), way: By::Widening { error, guard } });
            }
        }
        tie
    }

    fn is_monotone(&self) -> bool {
        self.ends.iter().any(Option::is_some)
    }

    /// Which way the value goes as the source goes up, or down, everywhere or from a number on.
    fn guarded(&self, point: &Point<'_>, up: bool) -> Option<(Way, Error, Option<f32>)> {
        let whole = range(self.source());
        if let Some(half) = self.half {
            let is_zero = self.growth(&point.bounds, None, Range::new(whole.lo, 0.0), up)?.range.is_zero();
            let growth = self.growth(half, None, Range::new(0.0, whole.hi), up)?;
            let way = Way::of(growth.slope, Range::ONE).filter(|_| is_zero && growth.range.is_positive());
            return way.map(|way| (way, growth.error, None));
        }
        let pieces = match whole.lo < 0.0 && whole.hi > 0.0 {
            true => vec![Range::new(whole.lo, 0.0), Range::new(0.0, whole.hi)],
            false => vec![whole],
        };
        if let Some((way, error)) = self.way(point, &pieces, up) {
            return Some((way, error, None));
        }
        self.floors()
            .into_iter()
            .map(|floor| (floor, f64::from(floor)))
            .filter(|&(_, c)| whole.lo < c && c < whole.hi)
            .find_map(|(floor, c)| {
                self.way(point, &[Range::new(c, whole.hi)], up).map(|(way, error)| (way, error, Some(floor)))
            })
    }

    /// By how many floats the source is moved, and by how much ends shift, where the uses at some steps are against the rest.
    fn margin(&self, point: &Point<'_>, is_against: impl Fn(&Step) -> bool) -> Option<(i32, f32)> {
        let (whole, bounds) = (range(self.source()), self.half.unwrap_or(&point.bounds));
        if whole.lo < 0.0 && self.half.is_none() || whole.hi > 1e30 {
            return None;
        }
        let piece = Range::new(whole.lo.max(0.0), whole.hi);
        let all = self.growth(bounds, None, piece, true)?;
        Way::of(all.slope, piece).filter(|&way| Some(way) == self.way && all.range.is_positive())?;
        let others = self.growth_but(bounds, None, piece, true, is_against)?;
        let elasticity = others.elasticity?;
        let least = if self.way == Some(Way::Rises) { elasticity.lo } else { -elasticity.hi };
        if least <= 0.0 || all.error.relative > OFF {
            return None;
        }
        all.error.moving(least)
    }

    fn source(&self) -> &Floats {
        let tied = |arg: &'_ Arg| matches!(arg, Arg::Tied(_));
        let arg = self.steps.iter().flat_map(|step| &step.args).find(|arg| tied(arg));
        let Some(Arg::Tied(floats)) = arg else { unreachable!("some use is tied") };
        floats
    }

    /// Positive constants that the source has a maximum with.
    fn floors(&self) -> Vec<f32> {
        let floor = |step: &Step| match (step.op, &step.args[..]) {
            (
                Op::Max,
                [Arg::Tied(_), Arg::Other { bounds: Bounds::Float(c), .. }]
                | [Arg::Other { bounds: Bounds::Float(c), .. }, Arg::Tied(_)],
            ) => (c.low() == c.high() && c.low() > 0.0).then_some(c.low()),
            _ => None,
        };
        self.steps.iter().filter_map(floor).collect()
    }

    fn way(&self, point: &Point<'_>, pieces: &[Range], up: bool) -> Option<(Way, Error)> {
        let mut all = (Way::Constant, Error::NONE);
        // Values with an operand that is cut are not those of members, and what recedes on one piece may not do so on the other.
        let limits = (self.cut.is_empty() && pieces.len() == 1).then_some(&point.bounds[..]);
        for &piece in pieces {
            let growth = self.growth(&point.bounds, limits, piece, up)?;
            all = (all.0.and(Way::of(growth.slope, piece)?)?, all.1.either(growth.error));
        }
        Some(all)
    }

    /// Of the value, where the source is in a range of one sign and goes up, or down.
    fn growth(&self, bounds: &[Bounds], limits: Option<&[Bounds]>, source: Range, up: bool) -> Option<Growth> {
        self.growth_but(bounds, limits, source, up, |_| false)
    }

    /// The same, where the source stays as it is in some steps.
    fn growth_but(
        &self,
        bounds: &[Bounds],
        limits: Option<&[Bounds]>,
        source: Range,
        up: bool,
        stays: impl Fn(&Step) -> bool,
    ) -> Option<Growth> {
        let mut growths: Vec<Growth> = vec![];
        for step in &self.steps {
            let of = |arg: &Arg| match arg {
                Arg::Tied(_) if stays(step) => Growth::independent(source),
                Arg::Tied(_) => Growth::identity(source),
                Arg::Step(step) => growths[*step],
                Arg::Other { value, .. } => match &bounds[value.index()] {
                    Bounds::Float(floats) if self.cut.contains(value) => Growth::independent(range(floats).max(Range::ZERO)),
                    Bounds::Float(floats) => Growth::independent(range(floats)),
                    _ => Growth::independent(Range::ALL),
                },
            };
            let args: Vec<_> = step.args.iter().map(of).collect();
            let mut growth = Growth::apply(step.op, &args, is_same(&step.args))?;
            if let Some(limits) = limits {
                receding(&mut growth, &limits[step.value.index()], source, up);
            }
            growths.push(growth);
        }
        growths.pop()
    }

    /// The value with all the uses at one end of the source, if that is what was looked at.
    fn widening(self, source: Value, dearest: u32) -> Option<Monotone> {
        if cost(&self.steps) > dearest {
            return None;
        }
        let sign = Sign::of(&self.steps.last().expect("there are steps").bounds);
        self.half.is_none().then_some(Monotone {
            source,
            steps: self.steps,
            cut: self.cut,
            sign,
            ends: self.ends,
            replaces: false,
        })
    }
}

/// Brings in the limits of a value that it recedes from.
fn receding(growth: &mut Growth, limit: &Bounds, source: Range, up: bool) {
    let (Some(way), Bounds::Float(limit)) = (Way::of(growth.slope, source), limit) else { return };
    let Error { relative, absolute } = growth.error;
    if relative >= 0.5 || !absolute.is_finite() {
        return;
    }
    // Of the real number, if the float is at most x.
    let most = |x: f64| {
        let x = x + absolute;
        let most = if x >= 0.0 { x / (1.0 - relative) } else { x / (1.0 + relative) };
        most + most.abs() * 1e-12
    };
    let mut range = growth.range;
    if (way == Way::Falls) == up || way == Way::Constant {
        range.hi = range.hi.min(most(f64::from(limit.high())));
    }
    if (way == Way::Rises) == up || way == Way::Constant {
        range.lo = range.lo.max(-most(-f64::from(limit.low())));
    }
    if range.lo <= range.hi && range != growth.range {
        growth.range = range;
        *growth = growth.settled();
    }
}

impl Monotone {
    /// The values whose ends it needs.
    pub(super) fn sources(&self) -> Vec<Value> {
        let other = |arg: &Arg| if let Arg::Other { value, .. } = arg { Some(*value) } else { None };
        self.steps.iter().flat_map(|step| &step.args).filter_map(other).chain([self.source]).collect()
    }

    /// Whether an end is within that of the interval form already, but for what is below 1e-30.
    pub(super) fn is_within(&self, side: usize) -> bool {
        self.replaces && matches!(self.ends[side], Some(End { way: By::Moving { .. }, .. }))
    }

    /// Ends with the source tied; infinite where there is none.
    pub(super) fn ends<E: Emit<Value: PartialEq>>(&self, emit: &mut E, of: impl Fn(Value) -> [E::Value; 2]) -> [E::Value; 2] {
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
                Arg::Tied(floats) => interval(source, Bounds::Float(floats), source[0] == source[1]),
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
            let mut forms = Forms { emit, nan: Nan::Ignore, same: is_same(&step.args), clean: vec![], case: "" };
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

    /// The part of the source next to one end, so many floats wide; all of it if it is not wider, or near 0.
    fn part<E: Emit>(&self, emit: &mut E, [lo, hi]: [E::Value; 2], end: usize, floats: i32) -> [E::Value; 2] {
        let count = emit.i32(floats);
        if end == 1 {
            // Of zeros and what is next to them that comes to a NaN, which the maximum passes over.
            let bits = emit.op(Op::Bits, &[hi]);
            let bits = emit.op(Op::ISub, &[bits, count]);
            let moved = emit.op(Op::Float, &[bits]);
            return [emit.op(Op::Max, &[lo, moved]), hi];
        }
        let zero = emit.f32(0.0);
        let least = if self.is_signed() { emit.op(Op::Max, &[zero, lo]) } else { lo };
        let bits = emit.op(Op::Bits, &[least]);
        let bits = emit.op(Op::IAdd, &[bits, count]);
        let moved = emit.op(Op::Float, &[bits]);
        [lo, emit.op(Op::Min, &[hi, moved])]
    }

    /// What is beyond an end by a shift, where the source is not negative.
    fn shifted<E: Emit>(&self, emit: &mut E, x: E::Value, side: usize, source: [E::Value; 2], shift: f32) -> E::Value {
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

/// Ends that say nothing.
const NOTHING: [f32; 2] = [f32::NEG_INFINITY, f32::INFINITY];

fn interval<V>([lo, hi]: [V; 2], known: Bounds, number: bool) -> Interval<V> {
    let negative_zero = matches!(known, Bounds::Float(floats) if floats.negative_zero);
    Interval { lo, hi, known, facts: Facts { nan: false, negative_zero, number } }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;
    use crate::ir::Function;
    use crate::ir::op::Words;
    use crate::ir::random::Random;
    use crate::ir::text::parse;
    use crate::lift::{self, Input, Lifted, Options};
    use crate::relations::{Relation, Relations};

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
            Case { function: parse(text).expect("the text is well formed"), inputs: inputs.iter().map(input).collect() }
        }

        fn lifted(&self, nan: Nan, relations: Relations) -> Lifted {
            lift::run(&self.function, &self.inputs, &[0], &Options { nan, relations, ..Options::default() })
        }

        /// Ends of a box: of any width, at bounds, at zeros and from where to where kinks are.
        fn ends(&self, random: &mut Random) -> Vec<[f32; 2]> {
            let end = |random: &mut Random, input: &Input| {
                let Bounds::Float(floats) = &input.bounds else { unreachable!("inputs are floats") };
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

        /// Holds results of members against ends; gives how much narrower ends are than without relations, the median of what is narrower,
        /// and for how many boxes of a hundred.
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
                    let results = interpreter::run(function, &[], &words, 1 << 20).expect("there is no loop");
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
                    let member: Vec<f32> = ends.iter().map(|ends| inside(&mut random, *ends)).collect();
                    let value = run(&self.function, &member)[0];
                    assert!(found[0] <= value && value <= found[1], "{value} of {member:?} is not in {found:?} for {ends:?}");
                }
                let share = f64::from(found[1] - found[0]) / f64::from(other[1] - other[0]);
                if share < 0.99 {
                    shares.push(share);
                }
            }
            shares.sort_by(f64::total_cmp);
            (shares.get(shares.len() / 2).copied().unwrap_or(1.0), shares.len() * 100 / boxes)
        }

        /// Checks that so many values are found, and that ends which are narrower are so to this share in the middle, for so many boxes of a
        /// hundred at least.
        fn tightens(&self, found: usize, share: f64, percent: usize) {
            let (middle, count) = self.check(20_000);
            assert_eq!(self.found(), found);
            assert!(middle <= share && count >= percent, "{middle} of {count} %");
        }

        /// How many values were found.
        fn found(&self) -> usize {
            let related = self.lifted(Nan::Ignore, Relations::NONE.with(Relation::Monotone)).related;
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
        let text = "fn f(x: f32, y: f32, z: f32) -> (r: f32) {
            %0 = mul x, x
            %1 = mul y, y
            %2 = mul z, z
            %3 = add %0, %1
            %4 = add %3, %2
            %5 = max %4, 1e-6
            %6 = sqrt %5
            %7 = div y, %6
            return %7
        }";
        let case = Case::new(text, &[(true, -2.0, 2.0), (true, -2.0, 2.0), (true, 0.0, 2.0)]);
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
        let case = Case::new(text, &[(true, -1.0, 1.0), (false, 0.0, 1.0), (false, 0.0, 1.0), (true, 0.0, 1.0)]);
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

    /// The power in Ashikhmin and Shirley's model: (1 + t/z)^(−e/2t), where e/t is known to be at most 1000.
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
        let is = |value: &usize, op: Op| solved.point.operation(Value(*value as u32)).is_some_and(|(other, _)| other == op);
        for (op, low, high) in [(Op::Div, 0.0, 1000.0), (Op::Mul, -500.0, 0.0)] {
            let value = (0..solved.point.len()).find(|value| is(value, op)).expect("there is one");
            bounds[value] = bounds[value].meet(&Bounds::Float(Floats::between(low, high)));
        }
        let point = Point { function: &solved.point, kinds: &solved.kinds, bounds, units: vec![] };
        let mut related = Related::nothing(&solved.point);
        find_up_to(&point, u32::MAX, &mut related);
        let result = solved.point.body.yields[0];
        let [alternative] = &related.alternatives[result.index()][..] else { panic!("{:?}", related.alternatives) };
        let mut random = Random::new(3);
        let (mut narrow, mut count) = (0, 0);
        for _ in 0..200_000 {
            let mut ends = case.ends(&mut random);
            let [t, z] = [0, 2].map(|k| inside(&mut random, ends[k]));
            let share = [1.0, 50.0, 999.0, 1000.0][random.below(4)] * if random.once_in(2) { 1.0 } else { 0.5 };
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
            let value = f32::from_bits(interpreter::run(&solved.point, &[], &value, 10).expect("there is no loop")[0]);
            assert!(lo <= value && value <= hi, "{value} of {t} {e} {z} is not in [{lo}, {hi}] for {ends:?}");
            count += 1;
            narrow += usize::from(hi < 1.0);
        }
        assert!(count > 50_000 && narrow > count / 4, "{narrow} of {count}");
    }

    #[test]
    fn products_that_do_not_rise_are_left_alone() {
        // x (1 − x) rises and falls; x (1 + x) and x √(1 / (1 − x²)) have the same ends anyway, where x ≥ 0.
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
                assert!(low < 0.0 && !text.contains("rsqrt") || Case::new(&text, &[(true, low, 1.0)]).found() == 0, "{text}");
            }
        }
    }
}
