//! Search for values that are monotone in a value that is used several times.

use super::pinned::PinnedUses;
use super::{
    Arg, Direction, Method, Monotone, PinnedEndpoint, Sign, Step, is_finite, is_same, range,
};
use crate::analysis::transfer::transfer;
use crate::builder::cost_of;
use crate::interval::{Bounds, Floats, Nan};
use crate::ir::function::for_each_stmt;
use crate::ir::{Block, Def, Function, Monotonicity, Op, OpFacts, Stmt, Type, Value};
use crate::range::Range;
use crate::relations::{PointShader, Refinement, RelationInfo};
use std::cell::Cell;
use std::collections::BinaryHeap;

/// Positions of the operations of a block in [`Operations::list`].
type Positions = std::ops::Range<usize>;

/// Maximum number of operations from a source to a value. A second lowering of that many operations
/// would cost more than tighter endpoints save.
const MAX_PATH: usize = 1000;

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
/// Returns the number of operations visited.
pub(super) fn find_within_budget(
    point: &PointShader<'_>,
    budget: u32,
    related: &mut RelationInfo,
) -> usize {
    let ops = Operations::new(point);
    let count = point.function.len();
    let facts = Facts {
        only_outputs: only_outputs(point.function),
        nan_free: nan_free(point),
        must_keep_lowering: vec![Cell::new(false); count],
        budget: Cell::new(budget),
    };
    let mut scratch = Scratch {
        masks: vec![0; count],
        half_bounds: point.bounds.clone(),
        differs: vec![false; count],
    };
    let mut visited = 0;
    for block in &ops.blocks {
        for (source, sites) in ops.sources(point, block.clone()) {
            let search = Search {
                point,
                ops: &ops,
                facts: &facts,
                block: block.clone(),
                source,
                sites,
                has_half: has_both_signs(point, source),
                scratch: &mut scratch,
                visited: vec![],
                changed: vec![],
                found: vec![],
            };
            visited += search.run(related);
        }
    }
    visited
}

/// All operations, so that the ones that use a value are found without searching.
struct Operations {
    /// The operations, block by block.
    list: Vec<Value>,
    /// Range in `list` of each block.
    blocks: Vec<Positions>,
    /// For each value, its position in `list`.
    position: Vec<u32>,
    /// For each value, where its users begin in `users`; the next entry is the end.
    first_user: Vec<u32>,
    /// Positions of the operations that use a value, in order. Only intervals are listed.
    users: Vec<u32>,
}

impl Operations {
    fn new(point: &PointShader<'_>) -> Operations {
        let (mut list, mut ranges) = (vec![], vec![]);
        blocks(&point.function.body, &mut |block| {
            let start = list.len();
            list.extend(block.stmts.iter().filter_map(|stmt| match stmt {
                Stmt::Op(value) => Some(*value),
                Stmt::If(_) | Stmt::Loop(_) => None,
            }));
            ranges.push(start..list.len());
        });
        let count = point.function.len();
        let mut position = vec![0; count];
        let mut first_user = vec![0; count + 1];
        for (at, &value) in list.iter().enumerate() {
            position[value.index()] = at as u32;
            interval_operands(point, value).for_each(|arg| first_user[arg.index()] += 1);
        }
        let mut end = 0;
        for first in &mut first_user {
            end += *first;
            *first = end;
        }
        let mut users = vec![0; end as usize];
        for (at, &value) in list.iter().enumerate().rev() {
            interval_operands(point, value).for_each(|arg| {
                first_user[arg.index()] -= 1;
                users[first_user[arg.index()] as usize] = at as u32;
            });
        }
        Operations { list, blocks: ranges, position, first_user, users }
    }

    /// Positions of the operations in a block that use an interval, in order.
    fn users_in(&self, value: Value, block: &Positions) -> &[u32] {
        let [first, end] = [0, 1].map(|k| self.first_user[value.index() + k] as usize);
        let users = &self.users[first..end];
        let from = users.partition_point(|&at| (at as usize) < block.start);
        let to = users.partition_point(|&at| (at as usize) < block.end);
        &users[from..to]
    }

    /// Intervals that several operations of a block use, with these operations.
    fn sources(&self, point: &PointShader<'_>, block: Positions) -> Vec<(Value, Vec<Value>)> {
        let is_source = |value: &Value| {
            point.function.ty(*value) == Type::F32 && is_finite(&point.bounds[value.index()])
        };
        let operations = self.list[block.clone()].iter();
        let mut values: Vec<Value> = operations
            .flat_map(|&value| interval_operands(point, value))
            .filter(is_source)
            .collect();
        values.sort_unstable();
        values.dedup();
        let with_sites = values.into_iter().filter_map(|value| {
            let users = self.users_in(value, &block).iter().map(|&at| self.list[at as usize]);
            let has_growth = |user: &Value| {
                point.function.operation(*user).is_some_and(|(op, _)| op.facts().has_growth)
            };
            let sites: Vec<_> = users.filter(has_growth).take(MAX_USES + 1).collect();
            (2..=MAX_USES).contains(&sites.len()).then_some((value, sites))
        });
        with_sites.collect()
    }
}

/// The operands of an operation that are intervals, without duplicates.
fn interval_operands(point: &PointShader<'_>, value: Value) -> impl Iterator<Item = Value> {
    let (_, args) = point.function.operation(value).expect("statements define operations");
    let is_new =
        move |&k: &usize| point.is_interval[args[k].index()] && !args[..k].contains(&args[k]);
    (0..args.len()).filter(is_new).map(|k| args[k])
}

/// Facts about all values, and what refinements found so far imply.
struct Facts {
    /// Whether each value is an output without other uses.
    only_outputs: Vec<bool>,
    /// Whether each value, and all that it depends on, cannot be NaN; `false` if control flow is
    /// involved.
    nan_free: Vec<bool>,
    /// Whether each value must keep the endpoints of its lowering.
    must_keep_lowering: Vec<Cell<bool>>,
    /// Remaining budget for refinements that do not replace endpoints.
    budget: Cell<u32>,
}

/// Memory for the searches, with an entry for each value. Each search restores it.
struct Scratch {
    /// A bit mask of the sites that each value depends on.
    masks: Vec<u32>,
    /// Bounds for a nonnegative source; otherwise those of the point shader.
    half_bounds: Vec<Bounds>,
    /// Whether the bounds for a nonnegative source differ.
    differs: Vec<bool>,
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

/// Whether a source can have both signs, so that it is also analyzed as nonnegative.
fn has_both_signs(point: &PointShader<'_>, source: Value) -> bool {
    let floats = point.bounds[source.index()].floats();
    floats.low() < 0.0 && floats.high() > 0.0
}

/// Search of one block for values that are monotone in a source.
struct Search<'a> {
    point: &'a PointShader<'a>,
    ops: &'a Operations,
    facts: &'a Facts,
    /// Positions of the operations of the block.
    block: Positions,
    source: Value,
    /// The operations that use the source.
    sites: Vec<Value>,
    /// Whether the source can have both signs, so that it is also analyzed as nonnegative.
    has_half: bool,
    scratch: &'a mut Scratch,
    /// Values that depend on sites, in order.
    visited: Vec<Value>,
    /// Values whose bounds differ for a nonnegative source.
    changed: Vec<Value>,
    /// The values refined so far, with masks of their pinned sites.
    found: Vec<(Value, u32)>,
}

impl Search<'_> {
    /// Visits operations from the first use of the source on, until no more sites can meet. Returns
    /// the number of operations visited.
    fn run(mut self, related: &mut RelationInfo) -> usize {
        if self.has_half {
            let high = self.point.bounds[self.source.index()].floats().high();
            self.set_half_bounds(self.source, Bounds::Float(Floats::between(0.0, high)));
        }
        let users = self.ops.users_in(self.source, &self.block);
        let (first, mut last) = (users[0] as usize, users[users.len() - 1] as usize);
        let mut at = first;
        // For each mask, the last use of a value with it.
        let mut last_uses: Vec<(u32, usize)> = vec![];
        while at <= last {
            let value = self.ops.list[at];
            at += 1;
            let (op, args) =
                self.point.function.operation(value).expect("statements define operations");
            self.update_half_bounds(value, op, args);
            let mut operand_masks = [0; 3];
            for (mask, arg) in operand_masks.iter_mut().zip(args) {
                *mask = self.scratch.masks[arg.index()];
            }
            let operand_masks = &operand_masks[..args.len()];
            let site = self.sites.iter().position(|&site| site == value).map_or(0, |bit| 1 << bit);
            let mask = operand_masks.iter().fold(site, |mask, operand| mask | operand);
            if mask == 0
                || !op.facts().has_growth
                || !self.point.is_interval[value.index()]
                || !is_finite(&self.point.bounds[value.index()])
            {
                continue;
            }
            self.scratch.masks[value.index()] = mask;
            self.visited.push(value);
            if let Some(&user) = self.ops.users_in(value, &self.block).last() {
                last = last.max(last_meeting(&mut last_uses, mask, user as usize));
            }
            // Several uses meet at this value.
            if !self.facts.must_keep_lowering[value.index()].get()
                && mask.count_ones() > 1
                && operand_masks.iter().all(|&operand| operand != mask)
                && let Some(pinned) = self.refine(value, mask, operand_masks, related)
            {
                self.found.push((value, pinned));
            }
        }
        for value in self.visited {
            self.scratch.masks[value.index()] = 0;
        }
        for value in self.changed {
            self.scratch.half_bounds[value.index()] = self.point.bounds[value.index()];
            self.scratch.differs[value.index()] = false;
        }
        at - first
    }

    /// Bounds of all values for a nonnegative source; `None` if the source has one sign.
    fn positive_half(&self) -> Option<&[Bounds]> {
        self.has_half.then_some(&self.scratch.half_bounds)
    }

    fn set_half_bounds(&mut self, value: Value, bounds: Bounds) {
        self.scratch.half_bounds[value.index()] = bounds;
        self.scratch.differs[value.index()] = bounds != self.point.bounds[value.index()];
        self.changed.push(value);
    }

    /// Computes the bounds of a value for a nonnegative source.
    fn update_half_bounds(&mut self, value: Value, op: Op, args: &[Value]) {
        if !args.iter().any(|arg| self.scratch.differs[arg.index()]) {
            return;
        }
        let operands: Vec<_> =
            args.iter().map(|arg| self.scratch.half_bounds[arg.index()]).collect();
        let same = matches!(args, [a, b] if a == b);
        let bounds = transfer(op, &operands, same, Nan::Suppress);
        self.set_half_bounds(value, bounds.meet(&self.point.bounds[value.index()]));
    }

    /// Tries to refine a value at which several uses meet. Returns the sites to pin.
    fn refine(
        &self,
        value: Value,
        mask: u32,
        operand_masks: &[u32],
        related: &mut RelationInfo,
    ) -> Option<u32> {
        let path = self.path(value)?;
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
        let halves = [Some(self.positive_half()), self.has_half.then_some(None)];
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
                    .for_each(|step| self.facts.must_keep_lowering[step.value.index()].set(true));
            }
            let Some(found) = moving
                .or_else(|| pinned.widening(self.source).filter(|widened| self.spend(widened)))
            else {
                continue;
            };
            related.add(self.point, value, Refinement::Monotone(found), Bounds::all(Type::F32));
            return Some(sites);
        }
        None
    }

    /// Charges the cost of a refinement to the budget; `false` if it exceeds the budget.
    fn spend(&self, found: &Monotone) -> bool {
        let cost = found.steps.iter().map(|step| cost_of(step.op)).sum();
        let left = self.facts.budget.get().checked_sub(cost);
        self.facts.budget.set(left.unwrap_or(self.facts.budget.get()));
        left.is_some()
    }

    /// The operations on paths from the source to a value, in order; `None` if they are too many.
    fn path(&self, value: Value) -> Option<Vec<Value>> {
        let mut path = vec![];
        // The last operations first: all uses of a value come before it.
        let mut pending = BinaryHeap::from([self.ops.position[value.index()]]);
        while let Some(at) = pending.pop() {
            let value = self.ops.list[at as usize];
            if path.last() == Some(&value) {
                continue;
            }
            if path.len() == MAX_PATH {
                return None;
            }
            path.push(value);
            let (_, args) = self.point.function.operation(value).expect("they are operations");
            let on_path = args.iter().filter(|arg| self.scratch.masks[arg.index()] != 0);
            pending.extend(on_path.map(|arg| self.ops.position[arg.index()]));
        }
        path.reverse();
        Some(path)
    }

    /// Index of a value in a list of operations in order, if it is there.
    fn find<T>(&self, list: &[T], value: Value, of: impl Fn(&T) -> Value) -> Option<usize> {
        let position = |value: Value| self.ops.position[value.index()];
        let index = list.partition_point(|other| position(of(other)) < position(value));
        list.get(index).is_some_and(|other| of(other) == value).then_some(index)
    }

    /// Groups of sites: those that earlier refinements on the path pin together, and the others one
    /// by one.
    fn groups(&self, mask: u32, path: &[Value]) -> Vec<u32> {
        let mut groups: Vec<u32> = vec![];
        let mut rest = mask;
        for &(value, sites) in self.found.iter().rev() {
            if sites & !rest == 0 && self.find(path, value, |&value| value).is_some() {
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
        let bounds = self.positive_half().unwrap_or(&self.point.bounds);
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
        let piece = if self.has_half { Range::new(0.0, entire.hi) } else { entire };
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
        let pinned = PinnedUses::new(self.point, steps, vec![], positive_half);
        if pinned.is_monotone() {
            return Some(pinned);
        }
        let clamped = clampable(&pinned.steps, positive_half.unwrap_or(&self.point.bounds));
        if clamped.is_empty() {
            return None;
        }
        let steps = self.steps(path, sites, &self.parts(&clamped, true))?;
        Some(PinnedUses::new(self.point, steps, clamped, positive_half))
            .filter(PinnedUses::is_monotone)
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
            path.last().is_some_and(|value| self.facts.only_outputs[value.index()]);
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
            replaces: path.iter().all(|value| self.facts.nan_free[value.index()])
                && (shift == 0.0 || is_only_output),
        })
    }

    /// The operations on the path that depend on some sites; `None` if one might not be finite.
    fn steps(&self, path: &[Value], sites: u32, clamped: &[(Value, Floats)]) -> Option<Vec<Step>> {
        let PointShader { function, bounds, is_interval, .. } = self.point;
        let mut steps: Vec<Step> = vec![];
        for &value in path.iter().filter(|value| self.scratch.masks[value.index()] & sites != 0) {
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
                if self.scratch.masks[value.index()] & sites != 0
                    && let Some(step) = self.find(&steps, value, |step| step.value)
                {
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

/// Records a use of a value that depends on the sites in `mask`. Returns the last position at which
/// it may meet a value that depends on other sites, neither fewer nor more.
fn last_meeting(last_uses: &mut Vec<(u32, usize)>, mask: u32, user: usize) -> usize {
    let index = last_uses.iter().position(|&(other, _)| other == mask).unwrap_or_else(|| {
        last_uses.push((mask, user));
        last_uses.len() - 1
    });
    let until = last_uses[index].1.max(user);
    last_uses[index].1 = until;
    let meets = |other: u32| mask & !other != 0 && other & !mask != 0;
    let meetings = last_uses.iter().filter(|&&(other, _)| meets(other));
    meetings.map(|&(_, other)| until.min(other)).max().unwrap_or(0)
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

/// For each value, whether it is an output without other uses.
fn only_outputs(function: &Function) -> Vec<bool> {
    let mut only_outputs = vec![false; function.len()];
    function.body.yields.iter().for_each(|value| only_outputs[value.index()] = true);
    let mut add_use = |value: &Value| only_outputs[value.index()] = false;
    for data in &function.values {
        if let Def::Op { args, .. } = data.def {
            args.iter().for_each(&mut add_use);
        }
    }
    for_each_stmt(&function.body, &mut |stmt| match stmt {
        Stmt::Op(_) => {}
        Stmt::If(node) => {
            [&node.then, &node.otherwise]
                .iter()
                .for_each(|arm| arm.yields.iter().for_each(&mut add_use));
        }
        Stmt::Loop(node) => [&node.init, &node.head.yields, &node.body.yields]
            .iter()
            .for_each(|values| values.iter().for_each(&mut add_use)),
    });
    only_outputs
}

/// For each value, whether it and all that it depends on cannot be NaN; `false` if control flow is
/// involved.
fn nan_free(point: &PointShader<'_>) -> Vec<bool> {
    let cannot_be_nan =
        |value: usize| !matches!(&point.bounds[value], Bounds::Float(Floats { nan: true, .. }));
    let is_leaf =
        |value: usize| matches!(point.function.values[value].def, Def::Input(_) | Def::Const(_));
    let mut nan_free: Vec<_> =
        (0..point.function.len()).map(|value| is_leaf(value) && cannot_be_nan(value)).collect();
    for_each_stmt(&point.function.body, &mut |stmt| {
        if let Stmt::Op(value) = stmt {
            let (_, args) = point.function.operation(*value).expect("statements define operations");
            nan_free[value.index()] =
                cannot_be_nan(value.index()) && args.iter().all(|arg| nan_free[arg.index()]);
        }
    });
    nan_free
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
    let mut directions: Vec<Direction> = Vec::with_capacity(steps.len());
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
        let mut operand_directions = [Direction::Constant; 3];
        operand_directions.iter_mut().zip(&step.args).for_each(|(to, arg)| *to = of(arg));
        let direction = match (step.op, &step.args[..], &operand_directions[..step.args.len()]) {
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
