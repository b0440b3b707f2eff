//! Search for values that are monotone in a value that is used several times.

use super::pinned::PinnedUses;
use super::{
    Arg, Direction, Method, Monotone, PinnedEndpoint, Sign, Step, is_finite, is_same, range,
};
use crate::analysis::transfer::transfer;
use crate::builder::cost_of;
use crate::interval::{Bounds, Floats, Nan};
use crate::ir::function::{ValueData, for_each_stmt};
use crate::ir::{Block, Def, Function, Monotonicity, Op, OpFacts, Stmt, Type, Value};
use crate::range::Range;
use crate::relations::{PointShader, Refinement, RelationInfo};
use std::cell::Cell;

/// Maximum number of uses of a source.
const MAX_USES: usize = 12;

/// The total cost of refinements that do not replace endpoints is limited to the cost of all
/// operations divided by this.
const COST_DIVISOR: u32 = 16;

/// [`COST_DIVISOR`] if [support](crate::relations::Relation::Support) was found, which saves more
/// than the larger budget costs.
const COST_DIVISOR_WITH_SUPPORT: u32 = 5;

/// Finds values that are monotone in a value that is used several times.
pub(in crate::relations) fn find(point: &PointShader<'_>, related: &mut RelationInfo) {
    let mut total = 0;
    point.for_each_operation(|value, _| {
        total += point.function.operation(value).map_or(0, |(op, _)| cost_of(op))
    });
    let divisor = if related.support.is_some() { COST_DIVISOR_WITH_SUPPORT } else { COST_DIVISOR };
    find_within_budget(point, total / divisor, related);
}

/// Like [`find`], with a budget in basic operations for refinements that do not replace endpoints.
pub(super) fn find_within_budget(point: &PointShader<'_>, budget: u32, related: &mut RelationInfo) {
    let budget = Cell::new(budget);
    let must_keep_lowering = vec![Cell::new(false); point.function.len()];
    blocks(&point.function.body, &mut |block| {
        let ops: Vec<_> = block
            .stmts
            .iter()
            .filter_map(|stmt| if let Stmt::Op(value) = stmt { Some(*value) } else { None })
            .collect();
        for (source, sites) in sources(point, &ops) {
            let (masks, positive_half) =
                (vec![0; point.function.len()], positive_half(point, &ops, source));
            Search {
                point,
                ops: &ops,
                source,
                sites,
                masks,
                positive_half,
                found: vec![],
                must_keep_lowering: &must_keep_lowering,
                budget: &budget,
            }
            .run(related);
        }
    });
}

/// Calls `f` for a block and all nested blocks.
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

/// Intervals that several operations of a block use, with these operations.
fn sources(point: &PointShader<'_>, ops: &[Value]) -> Vec<(Value, Vec<Value>)> {
    let mut users: Vec<Vec<Value>> = vec![vec![]; point.function.len()];
    for &value in ops {
        let (op, args) = point.function.operation(value).expect("statements define operations");
        for &arg in args {
            let is_source = point.is_interval[arg.index()]
                && point.function.ty(arg) == Type::F32
                && is_finite(&point.bounds[arg.index()]);
            let users = &mut users[arg.index()];
            if is_source && op.facts().has_growth && users.last() != Some(&value) {
                users.push(value);
            }
        }
    }
    let source = |(index, users): (usize, Vec<Value>)| {
        ((2..=MAX_USES).contains(&users.len())).then_some((Value(index as u32), users))
    };
    users.into_iter().enumerate().filter_map(source).collect()
}

/// Bounds of all values for a nonnegative source; `None` if the source has one sign.
fn positive_half(point: &PointShader<'_>, ops: &[Value], source: Value) -> Option<Vec<Bounds>> {
    let floats = point.bounds[source.index()].floats();
    if floats.low() >= 0.0 || floats.high() <= 0.0 {
        return None;
    }
    let mut positive_half = point.bounds.clone();
    positive_half[source.index()] = Bounds::Float(Floats::between(0.0, floats.high()));
    for &value in ops {
        let (op, args) = point.function.operation(value).expect("statements define operations");
        if !args.iter().any(|arg| positive_half[arg.index()] != point.bounds[arg.index()]) {
            continue;
        }
        let operands: Vec<_> = args.iter().map(|arg| positive_half[arg.index()]).collect();
        let same = matches!(args, [a, b] if a == b);
        positive_half[value.index()] =
            transfer(op, &operands, same, Nan::Suppress).meet(&point.bounds[value.index()]);
    }
    Some(positive_half)
}

/// Search of one block for values that are monotone in a source.
struct Search<'a> {
    point: &'a PointShader<'a>,
    ops: &'a [Value],
    source: Value,
    /// The operations that use the source.
    sites: Vec<Value>,
    /// For each value, a bit mask of the sites that it depends on.
    masks: Vec<u32>,
    /// Bounds of all values for a nonnegative source; `None` if the source has one sign.
    positive_half: Option<Vec<Bounds>>,
    /// The values refined so far, with masks of their pinned sites.
    found: Vec<(Value, u32)>,
    /// Whether each value must keep the endpoints of its lowering.
    must_keep_lowering: &'a [Cell<bool>],
    /// Remaining budget for refinements that do not replace endpoints.
    budget: &'a Cell<u32>,
}

impl Search<'_> {
    fn run(mut self, related: &mut RelationInfo) {
        for &value in self.ops {
            let (op, args) =
                self.point.function.operation(value).expect("statements define operations");
            if !op.facts().has_growth
                || !self.point.is_interval[value.index()]
                || !is_finite(&self.point.bounds[value.index()])
            {
                continue;
            }
            let site = self.sites.iter().position(|&site| site == value).map_or(0, |bit| 1 << bit);
            let operand_masks: Vec<u32> = args.iter().map(|arg| self.masks[arg.index()]).collect();
            let mask = operand_masks.iter().fold(site, |mask, operand| mask | operand);
            self.masks[value.index()] = mask;
            // Several uses meet at this value.
            if !self.must_keep_lowering[value.index()].get()
                && mask.count_ones() > 1
                && operand_masks.iter().all(|&operand| operand != mask)
            {
                self.refine(value, mask, &operand_masks, related);
            }
        }
    }

    /// Tries to refine a value at which several uses meet.
    fn refine(
        &mut self,
        value: Value,
        mask: u32,
        operand_masks: &[u32],
        related: &mut RelationInfo,
    ) {
        let path = self.path(value);
        let groups = self.groups(mask, &path);
        let directions: Vec<_> =
            groups.iter().map(|&group| (group, self.direction(&path, group))).collect();
        let no_operand_has_all_sites =
            |sites: u32| operand_masks.iter().all(|&operand| sites & !operand != 0);
        let monotone = |directions: &[(u32, Option<Direction>)], positive_half| {
            let sites = directions.iter().fold(0, |sites, (group, _)| sites | group);
            let differ = directions.iter().any(|(_, direction)| *direction != directions[0].1);
            (differ && no_operand_has_all_sites(sites))
                .then(|| self.pin(&path, sites, positive_half))
                .flatten()
                .map(|pinned| (sites, pinned))
        };
        let halves =
            [Some(self.positive_half.as_deref()), self.positive_half.is_some().then_some(None)];
        for (directions, positive_half) in attempts(&directions).iter().flat_map(|directions| {
            halves.into_iter().flatten().map(move |positive_half| (directions, positive_half))
        }) {
            let Some((mut sites, mut pinned)) = monotone(directions, positive_half) else {
                continue;
            };
            // Drop groups that need not be pinned: those that move the value in its overall
            // direction take the right endpoint anyway.
            let mut needed = directions.clone();
            for group in directions
                .iter()
                .filter(|(_, direction)| *direction == pinned.direction)
                .map(|&(group, _)| group)
                .collect::<Vec<_>>()
            {
                let rest: Vec<_> =
                    needed.iter().copied().filter(|&(other, _)| other != group).collect();
                if let Some(less) = monotone(&rest, positive_half)
                    .filter(|(_, less)| less.clamped.len() <= pinned.clamped.len())
                {
                    needed = rest;
                    (sites, pinned) = less;
                }
            }
            let keeps_lowering = |step: &Step| {
                step.value == value || related.refinements[step.value.index()].is_empty()
            };
            let moving = if pinned.steps.iter().all(keeps_lowering) {
                self.moving(&path, sites, &pinned)
            } else {
                None
            };
            let moving = moving.filter(|moved| moved.replaces || self.spend(moved));
            if moving.is_some() {
                pinned
                    .steps
                    .iter()
                    .filter(|step| step.value != value)
                    .for_each(|step| self.must_keep_lowering[step.value.index()].set(true));
            }
            let Some(found) = moving
                .or_else(|| pinned.widening(self.source).filter(|widened| self.spend(widened)))
            else {
                continue;
            };
            self.found.push((value, sites));
            related.add(self.point, value, Refinement::Monotone(found), Bounds::all(Type::F32));
            return;
        }
    }

    /// Charges the cost of a refinement to the budget; `false` if it exceeds the budget.
    fn spend(&self, found: &Monotone) -> bool {
        let cost = found.steps.iter().map(|step| cost_of(step.op)).sum();
        let left = self.budget.get().checked_sub(cost);
        self.budget.set(left.unwrap_or(self.budget.get()));
        left.is_some()
    }

    /// The operations on paths from the source to a value, in order.
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

    /// Groups of sites: those that earlier refinements on the path pin together, and the others one
    /// by one.
    fn groups(&self, mask: u32, path: &[Value]) -> Vec<u32> {
        let mut groups: Vec<u32> = vec![];
        let mut rest = mask;
        for &(value, sites) in self.found.iter().rev() {
            if path.contains(&value) && sites & !rest == 0 {
                groups.push(sites);
                rest &= !sites;
            }
        }
        groups.extend((0..self.sites.len()).map(|bit| 1 << bit).filter(|bit| rest & bit != 0));
        groups
    }

    /// Whether the path's last value increases or decreases with the source at these sites alone.
    /// Assumes a source of one sign.
    fn direction(&self, path: &[Value], sites: u32) -> Option<Direction> {
        let bounds = self.positive_half.as_ref().unwrap_or(&self.point.bounds);
        let steps = self.steps(path, sites, &[])?;
        let clamped = clampable(&steps, bounds);
        let pinned = PinnedUses {
            steps,
            clamped,
            positive_half: None,
            direction: None,
            endpoints: [None; 2],
        };
        let entire = range(pinned.source());
        let piece = if self.positive_half.is_some() { Range::new(0.0, entire.hi) } else { entire };
        Direction::of(pinned.growth(bounds, None, piece, true)?.slope, piece)
    }

    /// The path's last value as a function of the source at these sites. Operands are clamped only
    /// if necessary.
    fn pin<'t>(
        &'t self,
        path: &[Value],
        sites: u32,
        positive_half: Option<&'t [Bounds]>,
    ) -> Option<PinnedUses<'t>> {
        let steps = self.steps(path, sites, &[])?;
        let clamped = clampable(&steps, positive_half.unwrap_or(&self.point.bounds));
        let pinned = PinnedUses::new(self.point, steps, vec![], positive_half);
        if pinned.is_monotone() {
            return Some(pinned);
        }
        if clamped.is_empty() {
            return None;
        }
        let steps = self.steps(path, sites, &self.parts(&clamped, true))?;
        Some(PinnedUses::new(self.point, steps, clamped, positive_half))
            .filter(PinnedUses::is_monotone)
    }

    /// Whether no value on which the path depends can be NaN; `false` if control flow is involved.
    fn is_nan_free(&self, path: &[Value]) -> bool {
        let PointShader { function, bounds, .. } = self.point;
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

    /// The nonnegative or nonpositive parts of operands of unknown sign.
    fn parts(&self, clamped: &[Value], positive: bool) -> Vec<(Value, Floats)> {
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
        clamped.iter().map(part).collect()
    }

    /// The sites at which the last step, in floating-point arithmetic, is monotone in the given
    /// direction.
    fn sites_with(&self, steps: &[Step], direction: Direction) -> u32 {
        let matches_direction = |bit: &usize| {
            let site = self.sites[*bit];
            float_direction(steps, |step, arg| step.value == site && matches!(arg, Arg::Pinned(_)))
                == Some(direction)
        };
        (0..self.sites.len()).filter(matches_direction).fold(0, |sites, bit| sites | 1 << bit)
    }

    /// The refinement that replaces the source's endpoint only at counteracting uses, where the
    /// steps do not follow the overall direction of the value. It needs no widening.
    fn moving(&self, path: &[Value], sites: u32, pinned: &PinnedUses<'_>) -> Option<Monotone> {
        let direction = pinned.direction?;
        let mut counteracting = sites & !self.sites_with(&pinned.steps, direction);
        if !pinned.clamped.is_empty() {
            // Where the clamped operand is negative, counteracting sites must follow the overall
            // direction.
            let steps = self.steps(path, sites, &self.parts(&pinned.clamped, false))?;
            counteracting &=
                if pinned.clamped.len() == 1 { self.sites_with(&steps, direction) } else { 0 };
        }
        if counteracting == 0 {
            return None;
        }
        let counteracts = |step: &Step| {
            (0..self.sites.len())
                .any(|bit| counteracting >> bit & 1 == 1 && self.sites[bit] == step.value)
        };
        let (ulps, shift) = pinned.move_and_shift(self.point, counteracts)?;
        let is_only_output =
            path.last().is_some_and(|&value| is_only_output(self.point.function, value));
        let steps = self.steps(path, counteracting, &[])?;
        let bounds = steps.last().expect("there are steps").bounds;
        let (sign, [low, high]) =
            (Sign::of(&bounds), [bounds.floats().low(), bounds.floats().high()]);
        let end = |side: usize| PinnedEndpoint {
            source_side: if direction == Direction::Increasing { side } else { 1 - side },
            method: Method::Moving { ulps, shift },
        };
        // With a shift, endpoints must remain within static bounds.
        (high >= 1e-20 && (low >= 0.0 || low <= -1e-20)).then(|| Monotone {
            source: self.source,
            steps,
            clamped: vec![],
            sign,
            endpoints: [Some(end(0)), Some(end(1))],
            replaces: self.is_nan_free(path) && (shift == 0.0 || is_only_output),
        })
    }

    /// The operations on the path that depend on some sites; `None` if one might not be finite.
    fn steps(&self, path: &[Value], sites: u32, clamped: &[(Value, Floats)]) -> Option<Vec<Step>> {
        let PointShader { function, bounds, is_interval, .. } = self.point;
        let mut steps: Vec<Step> = vec![];
        for &value in path.iter().filter(|value| self.masks[value.index()] & sites != 0) {
            let (op, args) = function.operation(value).expect("they are operations");
            let is_pinned = self
                .sites
                .iter()
                .position(|&site| site == value)
                .is_some_and(|bit| sites >> bit & 1 == 1);
            let arg = |&value: &Value| {
                // Hulls, since a later refinement may replace endpoints.
                let known = bounds[value.index()].hull();
                if is_pinned && value == self.source {
                    return Arg::Pinned(*known.floats());
                }
                if let Some(step) = steps.iter().position(|step| step.value == value) {
                    return Arg::Step(step);
                }
                let part = clamped.iter().find(|(other, _)| *other == value);
                let bounds = part.map_or(known, |(_, part)| Bounds::Float(*part));
                Arg::Other { value, bounds, singleton: !is_interval[value.index()] }
            };
            let args: Vec<_> = args.iter().map(arg).collect();
            let of = |arg: &Arg| match *arg {
                Arg::Pinned(floats) => Bounds::Float(floats),
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

/// Sets of groups to pin, in order of preference: all groups; all with a known direction; all of
/// these except one.
fn attempts(groups: &[(u32, Option<Direction>)]) -> Vec<Vec<(u32, Option<Direction>)>> {
    let known: Vec<_> =
        groups.iter().copied().filter(|(_, direction)| direction.is_some()).collect();
    let without = |group: &(u32, Option<Direction>)| {
        known.iter().copied().filter(|other| other != group).collect::<Vec<_>>()
    };
    let mut attempts = vec![groups.to_vec()];
    if known.len() < groups.len() {
        attempts.push(known.clone());
    }
    attempts.extend(known.iter().map(without));
    attempts.retain(|groups| groups.len() > 1);
    attempts
}

/// Whether a value is an output without other uses.
fn is_only_output(function: &Function, value: Value) -> bool {
    let is_operand =
        |data: &ValueData| matches!(data.def, Def::Op { args, .. } if args.contains(&value));
    let mut is_yielded = false;
    for_each_stmt(&function.body, &mut |stmt| {
        is_yielded |= match stmt {
            Stmt::Op(_) => false,
            Stmt::If(node) => {
                [&node.then, &node.otherwise].iter().any(|arm| arm.yields.contains(&value))
            }
            Stmt::Loop(node) => [&node.init, &node.head.yields, &node.body.yields]
                .iter()
                .any(|values| values.contains(&value)),
        };
    });
    function.body.yields.contains(&value) && !is_yielded && !function.values.iter().any(is_operand)
}

/// Operands of unknown sign, other than the source, for which the last step is non-decreasing in
/// floating-point arithmetic.
fn clampable(steps: &[Step], bounds: &[Bounds]) -> Vec<Value> {
    let mut clampable: Vec<Value> = vec![];
    for arg in steps.iter().flat_map(|step| &step.args) {
        let Arg::Other { value, .. } = arg else { continue };
        let has_unknown_sign = match &bounds[value.index()] {
            Bounds::Float(floats) => floats.low() < 0.0 && floats.high() > 0.0,
            _ => false,
        };
        if has_unknown_sign && !clampable.contains(value) {
            clampable.push(*value);
        }
    }
    clampable.retain(|&operand| {
        let is_operand =
            |_: &Step, arg: &Arg| matches!(arg, Arg::Other { value, .. } if *value == operand);
        float_direction(steps, is_operand) == Some(Direction::Increasing)
    });
    clampable
}

/// The direction in which the last step changes, in floating-point arithmetic, as these operands
/// increase. `None` unless each step is monotone.
fn float_direction(steps: &[Step], is_operand: impl Fn(&Step, &Arg) -> bool) -> Option<Direction> {
    let mut directions: Vec<Direction> = vec![];
    for step in steps {
        let of = |arg: &Arg| match arg {
            Arg::Step(step) => directions[*step],
            arg if is_operand(step, arg) => Direction::Increasing,
            _ => Direction::Constant,
        };
        let sign = |arg: &Arg| {
            let bounds = match arg {
                Arg::Pinned(floats) => Bounds::Float(*floats),
                Arg::Step(step) => steps[*step].bounds,
                Arg::Other { bounds, .. } => *bounds,
            };
            Sign::of(&bounds)
        };
        let operand_directions: Vec<Direction> = step.args.iter().map(of).collect();
        let direction = match (step.op, &step.args[..], &operand_directions[..]) {
            (_, _, operand_directions)
                if operand_directions.iter().all(|&direction| direction == Direction::Constant) =>
            {
                Direction::Constant
            }
            (Op::Add | Op::Max | Op::Min, _, &[a, b]) => a.and(b)?,
            (Op::Sub, _, &[a, b]) => a.and(b.reversed())?,
            (op, _, &[a]) => match op.facts() {
                OpFacts { monotone: [Monotonicity::Increasing], widening: 0, .. } => a,
                OpFacts { monotone: [Monotonicity::Decreasing], widening: 0, .. } => a.reversed(),
                _ => return None,
            },
            (Op::Mul, [x, y], &[a, b]) => a.times(sign(y))?.and(b.times(sign(x))?)?,
            (Op::Div, [x, y], &[a, b]) => a.times(sign(y))?.and(b.reversed().times(sign(x))?)?,
            _ => return None,
        };
        directions.push(direction);
    }
    directions.pop()
}
