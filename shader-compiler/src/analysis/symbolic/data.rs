//! Data ranges: what the definition of a value implies.
//!
//! A query builds the graph of the values that the requested one depends on, as far as their ranges
//! are unknown. Tarjan's algorithm visits it, and returns each strongly connected component after
//! those that it depends on. Its ranges are computed and stored at once. A component with a loop
//! is evaluated until nothing changes, with endpoints that change *widened* to unbounded ones, and
//! then a few more times, which *narrows* them again.
//!
//! The bound of an operation may mention its operands. A parameter or a result of a loop, or a
//! result of an if, has bounds that mention only values in scope outside: others are replaced by
//! their bounds. So no bound mentions the value itself, not even indirectly.

use super::regions::{Incoming, Join, Region};
use super::{Linear, Ranges};
use crate::builder::value_tracking::{SIGNED, float_result, signed_result};
use crate::interval::Bounds;
use crate::ir::{Def, Function, Op, Type, Value};
use crate::range::Range;

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// Evaluations of a component before endpoints are widened.
const ROUNDS_BEFORE_WIDENING: usize = 2;

/// Evaluations that narrow endpoints.
const NARROWING_ROUNDS: usize = 2;

/// Maximum number of queries within queries.
const MAX_DEPTH: u32 = 8;

/// Maximum number of replacements on a path from a bound to one in scope outside.
const MAX_PROJECTIONS: u32 = 6;

/// A data range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DataRange {
    /// Whether any value is known so far; if not, other fields are meaningless.
    is_reached: bool,
    /// Bounds of an integer.
    pub ints: Range<i64>,
    /// Bounds of a float, except for NaN.
    pub floats: Range<f32>,
    pub lower: Option<Linear>,
    pub upper: Option<Linear>,
}

/// A value of the graph.
pub(super) struct Node {
    value: Value,
    range: DataRange,
    /// Whether the range is final.
    is_committed: bool,
    is_poisoned: bool,
    /// The evaluation of its component.
    component: u32,
    /// Tarjan's index and lowest reachable index.
    index: u32,
    low_link: u32,
}

/// Buffers of the search, reused by queries that do not nest.
#[derive(Default)]
pub(super) struct Search {
    /// The nodes from the root to the current one, each with the number of entries of `children`
    /// that are not its own.
    path: Vec<(u32, usize)>,
    /// Tarjan's stack.
    stack: Vec<u32>,
    /// Children of nodes on the path that have not been visited.
    children: Vec<Value>,
}

impl DataRange {
    const UNBOUNDED: DataRange =
        DataRange { is_reached: true, ints: SIGNED, floats: Range::ALL, lower: None, upper: None };
    const UNREACHED: DataRange = DataRange { is_reached: false, ..DataRange::UNBOUNDED };

    /// An expression that equals the value.
    pub fn form(&self) -> Option<Linear> {
        self.lower.filter(|_| self.lower == self.upper)
    }
}

impl Ranges<'_> {
    /// The data range of a value. If an outer query is computing it, the value is unbounded, and
    /// the inner query is poisoned.
    pub(super) fn data(&mut self, value: Value) -> DataRange {
        let node = match self.node_of[value.index()] {
            NONE => return self.compute(value),
            node => &self.nodes[node as usize],
        };
        if node.is_committed {
            self.state.is_poisoned |= node.is_poisoned;
            return node.range;
        }
        self.state.is_provisional = true;
        if node.component == self.state.component && node.component != 0 {
            return node.range;
        }
        self.state.is_poisoned = true;
        DataRange::UNBOUNDED
    }

    /// Computes the range of a value, and all ranges that it depends on.
    fn compute(&mut self, root: Value) -> DataRange {
        match self.function.def(root) {
            Def::Const(_) | Def::Input(_) => return self.leaf(root),
            _ if self.state.depth == MAX_DEPTH || self.work == 0 => {
                self.state.is_poisoned = true;
                return DataRange::UNBOUNDED;
            }
            _ => {}
        }
        let outer = self.state;
        self.state.depth += 1;
        let first = self.nodes.len();
        let mut search = std::mem::take(&mut self.search);
        self.enter(root, &mut search);
        while let Some(&(node, base)) = search.path.last() {
            if search.children.len() > base
                && let Some(child) = search.children.pop()
            {
                match self.node_of[child.index()] {
                    NONE if !matches!(self.function.def(child), Def::Const(_) | Def::Input(_)) => {
                        self.enter(child, &mut search);
                    }
                    NONE => {}
                    other => {
                        let other = &self.nodes[other as usize];
                        // Nodes of outer queries are not part of this graph.
                        if !other.is_committed && other.index as usize >= first {
                            let index = other.index;
                            let low_link = &mut self.nodes[node as usize].low_link;
                            *low_link = index.min(*low_link);
                        }
                    }
                }
                continue;
            }
            search.path.pop();
            let Node { index, low_link, .. } = self.nodes[node as usize];
            if let Some((parent, _)) = search.path.last() {
                let parent = &mut self.nodes[*parent as usize].low_link;
                *parent = low_link.min(*parent);
            }
            if index == low_link {
                let start = search.stack.iter().rposition(|&other| other == node);
                let start = start.expect("the node is on the stack");
                self.solve(&mut search.stack[start..]);
                search.stack.truncate(start);
            }
        }
        self.search = search;
        let root_node = &self.nodes[self.node_of[root.index()] as usize];
        let (range, is_poisoned) = (root_node.range, root_node.is_poisoned);
        // Poisoned ranges are not kept.
        for (index, node) in self.nodes.iter().enumerate().skip(first) {
            let current = &mut self.node_of[node.value.index()];
            if node.is_poisoned && *current == index as u32 {
                *current = NONE;
            }
        }
        let components = self.state.components;
        self.state = super::State { components, ..outer };
        self.state.is_poisoned |= is_poisoned;
        range
    }

    /// Adds a node to the graph and to the path, with the values that it depends on.
    fn enter(&mut self, value: Value, search: &mut Search) {
        let index = self.nodes.len() as u32;
        self.node_of[value.index()] = index;
        self.nodes.push(Node {
            value,
            range: DataRange::UNREACHED,
            is_committed: false,
            is_poisoned: false,
            component: 0,
            index,
            low_link: index,
        });
        search.path.push((index, search.children.len()));
        search.stack.push(index);
        self.add_children(value, &mut search.children);
    }

    /// Adds the values on which a data range depends: operands, and what conditions compare that
    /// control their use. Without the latter, they would be computed by queries within this one.
    pub(super) fn add_children(&mut self, value: Value, children: &mut Vec<Value>) {
        let join = self.regions.join(value);
        let ty = self.function.ty(value);
        match join {
            _ if ty == Type::Bool || ty == Type::F32 && self.bounds.is_some() => {}
            Some(Join::Merge([a, b])) => children.extend([a.value, b.value]),
            Some(Join::Exit(exit)) => children.push(exit.value),
            Some(Join::Param { init, next, .. }) => children.extend([init.value, next.value]),
            None => children.extend(operands(self.function, value)),
        }
        if ty == Type::I32 {
            match join {
                Some(Join::Merge(incoming)) => {
                    for from in incoming {
                        self.add_compared(from.edge, children);
                    }
                }
                Some(Join::Exit(from)) => self.add_compared(from.edge, children),
                Some(Join::Param { next, .. }) => self.add_compared(next.edge, children),
                None => self.add_compared(self.regions.of(value), children),
            }
        }
    }

    /// The range of a constant or an input.
    fn leaf(&self, value: Value) -> DataRange {
        let unbounded = DataRange::UNBOUNDED;
        match (self.function.def(value), self.function.ty(value)) {
            (Def::Const(bits), Type::F32) if !f32::from_bits(bits).is_nan() => {
                DataRange { floats: Range::singleton(f32::from_bits(bits)), ..unbounded }
            }
            (Def::Const(bits), Type::I32) => {
                let number = i64::from(bits as i32);
                let form = Some(Linear::constant(number));
                let ints = Range::singleton(number);
                DataRange { ints, lower: form, upper: form, ..unbounded }
            }
            _ => self.within_static_bounds(value, unbounded),
        }
    }

    /// A range, narrowed by static bounds if they are known.
    fn within_static_bounds(&self, value: Value, range: DataRange) -> DataRange {
        match self.bounds.map(|bounds| &bounds[value.index()]) {
            Some(Bounds::Int(ints)) => {
                let [low, high] = ints.hull().unwrap_or([i32::MIN, i32::MAX]).map(i64::from);
                DataRange { ints: range.ints.within(Range::new(low, high)), ..range }
            }
            Some(Bounds::Float(floats)) if !floats.pieces.is_empty() => {
                DataRange { floats: Range::new(floats.low(), floats.high()), ..range }
            }
            _ => range,
        }
    }

    /// Computes and commits the ranges of a component, which it sorts.
    fn solve(&mut self, component: &mut [u32]) {
        component.sort_by_key(|&node| self.regions.position(self.nodes[node as usize].value));
        let outer = self.state;
        self.state.components += 1;
        self.state.component = self.state.components;
        self.state.is_poisoned = false;
        for &node in &*component {
            self.nodes[node as usize].component = self.state.component;
        }
        let is_cycle = component.iter().any(|&node| self.is_param(node));
        for round in 0.. {
            let mut changed = false;
            for &node in &*component {
                let new = self.evaluate(node);
                self.work = self.work.saturating_sub(1);
                let is_param = self.is_param(node);
                let range = &mut self.nodes[node as usize].range;
                if is_param {
                    let new = widened(range, &new, round >= ROUNDS_BEFORE_WIDENING);
                    changed |= new != *range;
                    *range = new;
                } else {
                    *range = new;
                }
            }
            if !(is_cycle && changed) {
                break;
            }
            if self.work == 0 {
                for &node in &*component {
                    self.nodes[node as usize].range = DataRange::UNBOUNDED;
                }
                self.state.is_poisoned = true;
                break;
            }
        }
        for _ in 0..if is_cycle { NARROWING_ROUNDS } else { 0 } {
            for &node in &*component {
                let new = self.evaluate(node);
                let range = &mut self.nodes[node as usize].range;
                *range = DataRange {
                    ints: range.ints.within(new.ints),
                    lower: new.lower.or(range.lower),
                    upper: new.upper.or(range.upper),
                    ..new
                };
            }
        }
        let is_poisoned = self.state.is_poisoned;
        for &node in &*component {
            let node = &mut self.nodes[node as usize];
            (node.is_committed, node.is_poisoned) = (true, is_poisoned);
            if !node.range.is_reached {
                node.range = DataRange::UNBOUNDED;
            }
            #[cfg(test)]
            {
                let count =
                    if is_poisoned { &mut self.counts.poisoned } else { &mut self.counts.data };
                *count += 1;
            }
        }
        let components = self.state.components;
        self.state = super::State { components, ..outer };
    }

    fn is_param(&self, node: u32) -> bool {
        let value = self.nodes[node as usize].value;
        matches!(self.regions.join(value), Some(Join::Param { .. }))
    }

    /// Computes the range of a node from those that it depends on.
    fn evaluate(&mut self, node: u32) -> DataRange {
        let value = self.nodes[node as usize].value;
        let range = match self.regions.join(value) {
            Some(Join::Merge(incoming)) => self.merge(&incoming, self.regions.of(value)),
            Some(Join::Exit(exit)) => self.merge(&[exit], self.regions.of(value)),
            Some(Join::Param { init, next, in_loop }) => {
                let outer = self.regions.loops[in_loop as usize].outer;
                let merged = self.merge(&[init, next], outer);
                match self.counter_range(value, in_loop) {
                    Some(counter) => DataRange { ints: counter.within(merged.ints), ..merged },
                    None => merged,
                }
            }
            None => self.operation(value),
        };
        if range.is_reached { self.within_static_bounds(value, range) } else { range }
    }

    fn operation(&mut self, value: Value) -> DataRange {
        let function = self.function;
        let ty = function.ty(value);
        let Some((op, args)) = function.operation(value).filter(|_| ty != Type::Bool) else {
            return DataRange::UNBOUNDED;
        };
        if ty == Type::F32 && self.bounds.is_some() {
            return DataRange::UNBOUNDED;
        }
        let at = self.regions.of(value);
        if operands(function, value).any(|child| !self.data(child).is_reached) {
            return DataRange::UNREACHED;
        }
        if ty == Type::F32 {
            let floats = float_result(function, op, args, &mut |k| self.float(args[k], at));
            return DataRange { floats, ..DataRange::UNBOUNDED };
        }
        if op.is_load() {
            return DataRange::UNBOUNDED;
        }
        let numbers: [_; 3] = std::array::from_fn(|k| match args.get(k) {
            Some(&arg) if function.ty(arg) == Type::I32 => self.number(arg, at),
            _ => SIGNED,
        });
        let ints = signed_result(function, op, args, &mut |k| numbers[k], &mut |k| {
            self.float(args[k], at)
        });
        let [lower, upper] = self.expressions(op, args, &numbers, at);
        let ints = match lower.filter(|_| lower == upper) {
            Some(form) => ints.within(form.range(|atom| self.number(atom, at))),
            None => ints,
        };
        DataRange { ints, lower, upper, ..DataRange::UNBOUNDED }
    }

    /// The bounds of a float in a region, except for NaN.
    fn float(&mut self, value: Value, at: Region) -> Range<f32> {
        let data = self.data(value).floats;
        let control = self.control(at, value).floats;
        let both = Range::new(data.lo.max(control.lo), data.hi.min(control.hi));
        if both.lo <= both.hi { both } else { data }
    }

    /// Expressions that are lower and upper bounds of the integer result of an operation.
    fn expressions(
        &mut self,
        op: Op,
        args: &[Value],
        numbers: &[Range<i64>],
        at: Region,
    ) -> [Option<Linear>; 2] {
        let forms: [_; 3] = std::array::from_fn(|k| match args.get(k) {
            Some(&arg) if self.function.ty(arg) == Type::I32 => self.form(arg),
            _ => Linear::constant(0),
        });
        // Results that may wrap around have no bounds.
        let exact = |ranges: &mut Self, range: Range<i64>, form: Option<Linear>| {
            let fits = |form: &Linear| SIGNED.includes(range) || ranges.fits(form, at);
            [form.filter(fits); 2]
        };
        let constant = |k: usize| Some(numbers[k].lo).filter(|_| numbers[k].lo == numbers[k].hi);
        let is_nonnegative = |k: usize| numbers[k].is_nonnegative();
        // ⌊a ÷ n⌋
        let floor =
            |n: i64| [forms[0].plus(1 - n).and_then(|a| a.divided_by(n)), forms[0].divided_by(n)];
        match op {
            Op::IAdd => exact(self, numbers[0].add(numbers[1]), forms[0].add_scaled(&forms[1], 1)),
            Op::ISub => exact(self, numbers[0].sub(numbers[1]), forms[0].minus(&forms[1])),
            Op::IMul => exact(self, numbers[0].times(numbers[1]), forms[0].times(&forms[1])),
            Op::Shl => match constant(1) {
                Some(n @ 0..=31) => {
                    let factor = Range::singleton(1 << n);
                    let product = forms[0].times(&Linear::constant(1 << n));
                    exact(self, numbers[0].times(factor), product)
                }
                _ => [None; 2],
            },
            Op::SMin | Op::SMax => {
                let is_max = op == Op::SMax;
                let operands = [forms[0], forms[1]].map(|form| [Some(form), None]);
                let limit = self.limit(&operands, is_max, at);
                let operand = symbolic(&forms[..2], |_| true);
                if is_max { [operand, limit] } else { [limit, operand] }
            }
            Op::UMin | Op::And => [None, symbolic(&forms[..2], is_nonnegative)],
            Op::AShr | Op::LShr => match constant(1) {
                Some(n @ 0..=30) if op == Op::AShr || is_nonnegative(0) => floor(1 << n),
                _ => [None; 2],
            },
            Op::SDiv | Op::UDiv if is_nonnegative(0) => match constant(1) {
                Some(n) if n > 0 => floor(n),
                _ => [None, Some(forms[0]).filter(|_| op == Op::UDiv || numbers[1].lo > 0)],
            },
            Op::SRem | Op::URem if is_nonnegative(0) => {
                let below_divisor = if numbers[1].lo > 0 { forms[1].plus(-1) } else { None };
                [None, below_divisor.filter(|bound| !bound.is_constant()).or(Some(forms[0]))]
            }
            _ => [None; 2],
        }
    }

    /// Whether conditions imply that an expression is a 32-bit integer.
    fn fits(&mut self, form: &Linear, at: Region) -> bool {
        let within = |end: i64, upper: bool| (Linear::constant(end), upper);
        self.controlling(at).is_some()
            && [within(SIGNED.lo, false), within(SIGNED.hi, true)]
                .iter()
                .all(|(end, upper)| self.is_limited_by(form, end, *upper, at))
    }

    /// The union of the ranges of values on edges, with bounds in scope in `target`.
    fn merge(&mut self, incoming: &[Incoming], target: Region) -> DataRange {
        let mut merged = DataRange::UNREACHED;
        let mut sides = [vec![], vec![]];
        for &Incoming { value, edge } in incoming {
            if !self.data(value).is_reached {
                continue;
            }
            let mut range = DataRange::UNBOUNDED;
            match self.function.ty(value) {
                Type::I32 => range.ints = self.number(value, edge),
                Type::F32 => range.floats = self.float(value, edge),
                Type::Bool => {}
            }
            merged = if merged.is_reached {
                DataRange {
                    ints: merged.ints.hull(range.ints),
                    floats: merged.floats.hull(range.floats),
                    ..merged
                }
            } else {
                range
            };
            if self.function.ty(value) == Type::I32 {
                for (side, upper) in sides.iter_mut().zip([false, true]) {
                    let form = self.form(value);
                    let projected = self.projected(&form, upper, edge, target, MAX_PROJECTIONS);
                    let end = if upper { range.ints.hi } else { range.ints.lo };
                    side.push([projected, Some(Linear::constant(end))]);
                }
            }
        }
        let [lower, upper] = sides;
        merged.lower = self.limit(&lower, false, target);
        merged.upper = self.limit(&upper, true, target);
        merged
    }

    /// An expression that bounds several values on one side, among their bounds on that side.
    fn limit(&mut self, values: &[[Option<Linear>; 2]], upper: bool, at: Region) -> Option<Linear> {
        let candidates = values.iter().flatten().flatten().filter(|bound| !bound.is_constant());
        for candidate in candidates {
            let mut bounds_all = true;
            for bounds in values {
                let mut bounds = bounds.iter().flatten();
                bounds_all &= bounds.any(|bound| self.is_limited_by(bound, candidate, upper, at));
            }
            if bounds_all {
                return Some(*candidate);
            }
        }
        None
    }

    /// Whether an expression is at most another one, or at least if not `upper`.
    fn is_limited_by(&mut self, bound: &Linear, limit: &Linear, upper: bool, at: Region) -> bool {
        let difference = if upper { bound.minus(limit) } else { limit.minus(bound) };
        let mut attempts = 8;
        // Bounds need not be integers: ½ is not at most 0.
        difference.map(|difference| difference.numerator()).is_some_and(|difference| {
            difference.is_constant() && difference.range(|_| SIGNED).hi <= 0
                || self.is_nonpositive(&difference, at, 2, &mut attempts)
        })
    }

    /// A bound on an expression in the region `from` that mentions only values in scope in
    /// `target`.
    fn projected(
        &mut self,
        expression: &Linear,
        upper: bool,
        from: Region,
        target: Region,
        steps: u32,
    ) -> Option<Linear> {
        let is_outside = |ranges: &Self, value: Value| {
            ranges.regions.is_in_scope(ranges.regions.of(value), target) && ranges.is_final(value)
        };
        let inner = expression
            .terms()
            .iter()
            .find(|term| term.factors().iter().any(|&value| !is_outside(self, value)));
        let Some(term) = inner.copied() else { return Some(*expression) };
        let (&[value], Some(steps)) = (term.factors(), steps.checked_sub(1)) else { return None };
        let upper_of_value = (term.coefficient() > 0) == upper;
        let range = self.range_of(value, from);
        let end = if upper_of_value { range.number.hi } else { range.number.lo };
        let is_bounded = end != if upper_of_value { SIGNED.hi } else { SIGNED.lo };
        let constant = Some(Linear::constant(end)).filter(|_| is_bounded);
        range.side(upper_of_value).into_iter().chain([constant]).flatten().find_map(|bound| {
            let next = expression.replaced(&term, &bound)?;
            self.projected(&next, upper, from, target, steps)
        })
    }

    /// Whether a bound may mention the value: its own range is not being computed.
    fn is_final(&self, value: Value) -> bool {
        match self.node_of[value.index()] {
            NONE => true,
            node => self.nodes[node as usize].is_committed,
        }
    }
}

/// The operands of an operation from which its range is computed.
fn operands(function: &Function, value: Value) -> impl Iterator<Item = Value> {
    let (op, args) = function.operation(value).unzip();
    let depends = op.is_some_and(|op| match op {
        Op::Abs | Op::Neg | Op::Add | Op::Sub | Op::Mul | Op::Max | Op::Min | Op::Select => true,
        _ => function.ty(value) != Type::F32 && !op.is_load(),
    });
    let args = args.filter(|_| depends).into_iter().flatten().copied();
    args.filter(|&arg| function.ty(arg) != Type::Bool)
}

/// The first expression that is not a constant, of operands that satisfy a predicate; else the
/// first one.
fn symbolic(forms: &[Linear], predicate: impl Fn(usize) -> bool) -> Option<Linear> {
    let mut usable = (0..forms.len()).filter(|&k| predicate(k)).map(|k| forms[k]);
    let first = usable.next()?;
    if first.is_constant() { usable.next().or(Some(first)) } else { Some(first) }
}

/// The union of the range of a parameter so far with a new one. Widening makes endpoints that
/// change unbounded.
fn widened(old: &DataRange, new: &DataRange, widens: bool) -> DataRange {
    if !old.is_reached || !new.is_reached {
        return if old.is_reached { *old } else { *new };
    }
    let ints = old.ints.hull(new.ints);
    let floats = old.floats.hull(new.floats);
    let widened = |changed: bool, end, unbounded| if widens && changed { unbounded } else { end };
    DataRange {
        is_reached: true,
        ints: Range {
            lo: widened(ints.lo != old.ints.lo, ints.lo, SIGNED.lo),
            hi: widened(ints.hi != old.ints.hi, ints.hi, SIGNED.hi),
        },
        floats: if widens && floats != old.floats { Range::ALL } else { floats },
        lower: old.lower.filter(|_| new.lower == old.lower),
        upper: old.upper.filter(|_| new.upper == old.upper),
    }
}
