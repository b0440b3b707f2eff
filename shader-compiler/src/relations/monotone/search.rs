//! The search for values that are monotone in one that they use several times.

use super::tie::Tie;
use super::{Arg, By, End, Monotone, Sign, Step, Way, is_finite, is_same, range};
use crate::analysis::transfer::transfer;
use crate::analysis::{Bounds, Floats};
use crate::interval::Nan;
use crate::ir::builder::cost_of;
use crate::ir::function::{ValueData, for_each_stmt};
use crate::ir::{Block, Def, Function, Monotonicity, Op, OpFacts, Stmt, Type, Value};
use crate::relations::range::Range;
use crate::relations::{Alternative, Point, Related};
use std::cell::Cell;

/// More uses of a value than that are not looked at.
const USES: usize = 12;

/// Ends that do not take the place of others may cost as much as one operation in so many, all
/// together.
const SHARE: u32 = 16;

/// The same where the sign of a cosine is known, which saves more than that.
const SHARE_OF_SUPPORT: u32 = 5;

/// Finds values that are monotone in one that they use several times.
pub(in crate::relations) fn find(point: &Point<'_>, related: &mut Related) {
    let mut all = 0;
    point.for_each_operation(|value, _| {
        all += point.function.operation(value).map_or(0, |(op, _)| cost_of(op))
    });
    let share = if related.support.is_some() { SHARE_OF_SUPPORT } else { SHARE };
    find_up_to(point, all / share, related);
}

/// The same, where ends that do not take the place of others cost so much at most, in basic
/// operations.
pub(super) fn find_up_to(point: &Point<'_>, most: u32, related: &mut Related) {
    let left = Cell::new(most);
    let plain = vec![Cell::new(false); point.function.len()];
    blocks(&point.function.body, &mut |block| {
        let ops: Vec<_> = block
            .stmts
            .iter()
            .filter_map(|stmt| if let Stmt::Op(value) = stmt { Some(*value) } else { None })
            .collect();
        for (source, sites) in sources(point, &ops) {
            let (masks, half) = (vec![0; point.function.len()], half(point, &ops, source));
            Search {
                point,
                ops: &ops,
                source,
                sites,
                masks,
                half,
                found: vec![],
                plain: &plain,
                left: &left,
            }
            .run(related);
        }
    });
}

fn blocks<'a>(block: &'a Block, f: &mut impl FnMut(&'a Block)) {
    f(block);
    for stmt in &block.stmts {
        match stmt {
            Stmt::Op(_) => {}
            Stmt::If(node) => {
                [&node.then, &node.otherwise].into_iter().for_each(|block| blocks(block, f))
            }
            Stmt::Loop(node) => {
                [&node.head, &node.body].into_iter().for_each(|block| blocks(block, f))
            }
        }
    }
}

/// Intervals that several operations of a block use, with these.
fn sources(point: &Point<'_>, ops: &[Value]) -> Vec<(Value, Vec<Value>)> {
    let mut users: Vec<Vec<Value>> = vec![vec![]; point.function.len()];
    for &value in ops {
        let (op, args) = point.function.operation(value).expect("statements define operations");
        for &arg in args {
            let is_one = point.kinds[arg.index()]
                && point.function.ty(arg) == Type::F32
                && is_finite(&point.bounds[arg.index()]);
            let users = &mut users[arg.index()];
            if is_one && op.facts().has_growth && users.last() != Some(&value) {
                users.push(value);
            }
        }
    }
    let of = |(index, users): (usize, Vec<Value>)| {
        ((2..=USES).contains(&users.len())).then_some((Value(index as u32), users))
    };
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
        half[value.index()] =
            transfer(op, &operands, same, Nan::Suppress).meet(&point.bounds[value.index()]);
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
    /// What ends that do not take the place of others may still cost.
    left: &'a Cell<u32>,
}

impl Search<'_> {
    fn run(mut self, related: &mut Related) {
        for &value in self.ops {
            let (op, args) =
                self.point.function.operation(value).expect("statements define operations");
            if !op.facts().has_growth
                || !self.point.kinds[value.index()]
                || !is_finite(&self.point.bounds[value.index()])
            {
                continue;
            }
            let site = self.sites.iter().position(|&site| site == value).map_or(0, |bit| 1 << bit);
            let parts: Vec<u32> = args.iter().map(|arg| self.masks[arg.index()]).collect();
            let mask = parts.iter().fold(site, |mask, part| mask | part);
            self.masks[value.index()] = mask;
            // Where uses come together.
            if !self.plain[value.index()].get()
                && mask.count_ones() > 1
                && parts.iter().all(|&part| part != mask)
            {
                self.join(value, mask, &parts, related);
            }
        }
    }

    /// Looks at a value in which uses come together.
    fn join(&mut self, value: Value, mask: u32, parts: &[u32], related: &mut Related) {
        let path = self.path(value);
        let units = self.units(mask, &path);
        let ways: Vec<_> =
            units.iter().map(|&unit| (unit, self.inclination(&path, unit))).collect();
        let is_spread = |sites: u32| parts.iter().all(|&part| sites & !part != 0);
        let monotone = |ways: &[(u32, Option<Way>)], half| {
            let sites = ways.iter().fold(0, |sites, (unit, _)| sites | unit);
            let differ = ways.iter().any(|(_, way)| *way != ways[0].1);
            (differ && is_spread(sites))
                .then(|| self.tie(&path, sites, half))
                .flatten()
                .map(|tie| (sites, tie))
        };
        let halves = [Some(self.half.as_deref()), self.half.is_some().then_some(None)];
        for (ways, half) in attempts(&ways)
            .iter()
            .flat_map(|ways| halves.into_iter().flatten().map(move |half| (ways, half)))
        {
            let Some((mut sites, mut tie)) = monotone(ways, half) else { continue };
            // Those that go the same way by themselves have the same end without being tied.
            let mut needed = ways.clone();
            for unit in ways
                .iter()
                .filter(|(_, way)| *way == tie.way)
                .map(|&(unit, _)| unit)
                .collect::<Vec<_>>()
            {
                let rest: Vec<_> =
                    needed.iter().copied().filter(|&(other, _)| other != unit).collect();
                if let Some(less) =
                    monotone(&rest, half).filter(|(_, less)| less.cut.len() <= tie.cut.len())
                {
                    needed = rest;
                    (sites, tie) = less;
                }
            }
            let is_plain = |step: &Step| {
                step.value == value || related.alternatives[step.value.index()].is_empty()
            };
            let moving =
                if tie.steps.iter().all(is_plain) { self.moving(&path, sites, &tie) } else { None };
            let moving = moving.filter(|moved| moved.replaces || self.is_spent(moved));
            if moving.is_some() {
                tie.steps
                    .iter()
                    .filter(|step| step.value != value)
                    .for_each(|step| self.plain[step.value.index()].set(true));
            }
            let Some(found) = moving
                .or_else(|| tie.widening(self.source).filter(|widened| self.is_spent(widened)))
            else {
                continue;
            };
            self.found.push((value, sites));
            related.add(self.point, value, Alternative::Monotone(found), Bounds::all(Type::F32));
            return;
        }
    }

    /// Spends what ends cost, if there is so much left.
    fn is_spent(&self, found: &Monotone) -> bool {
        let cost = found.steps.iter().map(|step| cost_of(step.op)).sum();
        let left = self.left.get().checked_sub(cost);
        self.left.set(left.unwrap_or(self.left.get()));
        left.is_some()
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

    /// The value at the end of a path as a function of the source at these sites; operands are cut
    /// only if that is needed.
    fn tie<'t>(
        &'t self,
        path: &[Value],
        sites: u32,
        half: Option<&'t [Bounds]>,
    ) -> Option<Tie<'t>> {
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
            course(steps, |step, arg| step.value == site && matches!(arg, Arg::Tied(_)))
                == Some(way)
        };
        (0..self.sites.len()).filter(goes).fold(0, |sites, bit| sites | 1 << bit)
    }

    /// The same with only those uses moved that do not go with it by each step, by which nothing
    /// has to be widened.
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
        let goes_against = |step: &Step| {
            (0..self.sites.len())
                .any(|bit| against >> bit & 1 == 1 && self.sites[bit] == step.value)
        };
        let (floats, shift) = tie.margin(self.point, goes_against)?;
        let is_last = path.last().is_some_and(|&value| is_last(self.point.function, value));
        let steps = self.steps(path, against, &[])?;
        let bounds = steps.last().expect("there are steps").bounds;
        let (sign, [low, high]) =
            (Sign::of(&bounds), [bounds.floats().low(), bounds.floats().high()]);
        let end = |side: usize| End {
            of: if way == Way::Rises { side } else { 1 - side },
            way: By::Moving { floats, shift },
        };
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
            let is_tied = self
                .sites
                .iter()
                .position(|&site| site == value)
                .is_some_and(|bit| sites >> bit & 1 == 1);
            let arg = |&value: &Value| {
                // Of either, a later alternative may replace endpoints.
                let known = bounds[value.index()].hull();
                if is_tied && value == self.source {
                    return Arg::Tied(*known.floats());
                }
                if let Some(step) = steps.iter().position(|step| step.value == value) {
                    return Arg::Step(step);
                }
                let cut = cut.iter().find(|(other, _)| *other == value);
                let bounds = cut.map_or(known, |(_, part)| Bounds::Float(*part));
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
    let without = |unit: &(u32, Option<Way>)| {
        known.iter().copied().filter(|other| other != unit).collect::<Vec<_>>()
    };
    let mut attempts = vec![units.to_vec()];
    if known.len() < units.len() {
        attempts.push(known.clone());
    }
    attempts.extend(known.iter().map(without));
    attempts.retain(|units| units.len() > 1);
    attempts
}

/// Whether nothing is made of a value, which is an output.
fn is_last(function: &Function, value: Value) -> bool {
    let is_operand =
        |data: &ValueData| matches!(data.def, Def::Op { args, .. } if args.contains(&value));
    let mut is_handed_on = false;
    for_each_stmt(&function.body, &mut |stmt| {
        is_handed_on |= match stmt {
            Stmt::Op(_) => false,
            Stmt::If(node) => {
                [&node.then, &node.otherwise].iter().any(|arm| arm.yields.contains(&value))
            }
            Stmt::Loop(node) => [&node.init, &node.head.yields, &node.body.yields]
                .iter()
                .any(|values| values.contains(&value)),
        };
    });
    function.body.yields.contains(&value)
        && !is_handed_on
        && !function.values.iter().any(is_operand)
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
        let is_it =
            |_: &Step, arg: &Arg| matches!(arg, Arg::Other { value, .. } if *value == operand);
        course(steps, is_it) == Some(Way::Rises)
    });
    all
}

/// Which way the last of the steps goes with some operands, in floats, since each step goes one
/// way.
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
            (op, _, &[a]) => match op.facts() {
                OpFacts { monotone: [Monotonicity::Increasing], widening: 0, .. } => a,
                OpFacts { monotone: [Monotonicity::Decreasing], widening: 0, .. } => a.turned(),
                _ => return None,
            },
            (Op::Mul, [x, y], &[a, b]) => a.times(sign(y))?.and(b.times(sign(x))?)?,
            (Op::Div, [x, y], &[a, b]) => a.times(sign(y))?.and(b.turned().times(sign(x))?)?,
            _ => return None,
        };
        ways.push(way);
    }
    ways.pop()
}
