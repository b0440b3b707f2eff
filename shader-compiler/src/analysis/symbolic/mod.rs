//! Symbolic ranges on demand: bounds on a value that are constants, and bounds that are expressions
//! of other values (Blume and Eigenmann, *Demand-driven, Symbolic Range Propagation*).
//!
//! A query computes the ranges that it needs, and nothing else. The range of a value in a
//! [region](Region) is the intersection of two:
//!
//! - its *control range*, from the conditions that control the region, innermost first
//!   ([`control`]);
//! - its *data range*, from its definition, which holds wherever the value is in scope ([`data`]).
//!
//! Both are stored for later queries. [`compare`](Ranges::compare) decides the order of two values:
//! it replaces values in their difference by their bounds until the sign is known.
//!
//! # What bounds mean
//!
//! An integer is read as signed. Expressions are evaluated in real numbers, and do not wrap around:
//! a result of `iadd`, `isub`, `imul` or `shl` is an expression of its operands only if their
//! constant bounds exclude overflow. A bound holds at every moment at which the region runs and the
//! values that it mentions are in scope. If a lane is idle, nothing holds.
//!
//! Floats have constant bounds, except for NaN, and [orders](order), which rounding preserves. No
//! arithmetic on floats is symbolic, since it is not exact.
//!
//! # Cycles
//!
//! While the range of a value is computed, a condition may ask for that of another one, which
//! depends on the first. The inner query then takes the first to be unbounded. What it computes is
//! correct, but not as precise as it could be, so it is *poisoned*: it is not stored.

mod control;
mod data;
mod linear;
mod order;
mod regions;
#[cfg(test)]
mod tests;
mod trips;

use crate::builder::value_tracking::as_unsigned;
use crate::interval::Bounds;
use crate::ir::{Def, Function, Op, Type, Value};
use crate::range::Range;
use control::{ControlRange, Facts};
use data::{Node, Search};
use linear::{Linear, Term};
pub use regions::Region;
use regions::Regions;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use trips::TripCount;

/// Maximum number of replacements on a path from a difference to a proof of its sign.
const MAX_REPLACEMENTS: u32 = 5;

/// Maximum number of replacements in a proof.
const MAX_ATTEMPTS: u32 = 40;

/// Limit on the work of all queries, which keeps the time linear even if many ranges are poisoned:
/// constant part, and part per value.
const MIN_WORK: usize = 4096;
const WORK_PER_VALUE: usize = 64;

/// The range of an integer value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SymbolicRange {
    /// The least and the greatest integer.
    number: Range<i64>,
    /// Expressions that the value is not below: one from conditions, and one from its definition.
    lower: [Option<Linear>; 2],
    /// Expressions that the value is not above.
    upper: [Option<Linear>; 2],
}

/// Number of ranges that queries computed.
#[cfg(test)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub control: usize,
    pub data: usize,
    pub poisoned: usize,
}

/// The symbolic ranges of a function, as far as they have been computed.
pub(crate) struct Ranges<'f> {
    function: &'f Function,
    /// Static bounds of all values, if they are known.
    bounds: Option<&'f [Bounds]>,
    /// Pairs x ≤ y of values that are known to be ordered.
    orders: &'f [[Value; 2]],
    regions: Regions<'f>,
    nodes: Vec<Node>,
    search: Search,
    /// For each value, the index of its node, or [`data::NONE`].
    node_of: Vec<u32>,
    /// What conditions imply, by region.
    facts: FxHashMap<Region, Rc<Facts>>,
    controls: FxHashMap<(Region, Value), ControlRange>,
    /// By loop.
    trips: Vec<TripCount>,
    /// Number of evaluations and replacements that remain, for all queries together.
    work: usize,
    state: State,
    #[cfg(test)]
    pub counts: Counts,
    /// Control ranges computed since the counts were reset.
    #[cfg(test)]
    computed: rustc_hash::FxHashSet<(Region, Value)>,
}

/// State of the query that is being answered.
#[derive(Clone, Copy, Default)]
struct State {
    /// The component that is being evaluated; 0 for none.
    component: u32,
    /// Number of components so far.
    components: u32,
    /// Whether the range of a value was needed that an outer query is computing.
    is_poisoned: bool,
    /// Whether a range was used that may still change.
    is_provisional: bool,
    /// Number of queries within queries.
    depth: u32,
}

impl SymbolicRange {
    /// Expressions that are upper or lower bounds.
    fn side(&self, upper: bool) -> [Option<Linear>; 2] {
        if upper { self.upper } else { self.lower }
    }
}

impl<'f> Ranges<'f> {
    /// Prepares queries on a function. Inputs are unbounded.
    pub fn new(function: &'f Function) -> Ranges<'f> {
        let regions = Regions::new(function);
        Ranges {
            function,
            bounds: None,
            orders: &[],
            trips: vec![TripCount::Unknown; regions.loops.len()],
            work: MIN_WORK + WORK_PER_VALUE * function.len(),
            regions,
            nodes: vec![],
            search: Search::default(),
            node_of: vec![data::NONE; function.len()],
            facts: FxHashMap::default(),
            controls: FxHashMap::default(),
            state: State::default(),
            #[cfg(test)]
            counts: Counts::default(),
            #[cfg(test)]
            computed: rustc_hash::FxHashSet::default(),
        }
    }

    /// Prepares queries on a function with known static bounds.
    pub fn with_bounds(function: &'f Function, bounds: &'f [Bounds]) -> Ranges<'f> {
        Ranges { bounds: Some(bounds), ..Ranges::new(function) }
    }

    /// Prepares queries on a function with known static bounds and pairs x ≤ y of values.
    pub fn with_orders(
        function: &'f Function,
        bounds: &'f [Bounds],
        orders: &'f [[Value; 2]],
    ) -> Ranges<'f> {
        Ranges { orders, ..Ranges::with_bounds(function, bounds) }
    }

    /// The region that defines a value.
    pub fn region_of(&self, value: Value) -> Region {
        self.regions.of(value)
    }

    /// The range of an integer in a region.
    pub fn range_of(&mut self, value: Value, at: Region) -> SymbolicRange {
        let data = self.data(value);
        let control = self.control(at, value);
        SymbolicRange {
            number: self.number(value, at),
            lower: [control.lower, data.lower],
            upper: [control.upper, data.upper],
        }
    }

    /// The order of two values in a region, if it can be proved: whether `a` is less than, equal to
    /// or greater than `b`.
    pub fn compare(&mut self, a: Value, b: Value, at: Region) -> Order {
        if a == b && self.function.ty(a) == Type::I32 {
            return Order { is_le: true, is_ge: true, ..Order::default() };
        }
        if self.function.ty(a) == Type::F32 {
            let [is_le, is_ge] = [(a, b), (b, a)].map(|(a, b)| self.is_float_le(a, b, at));
            return Order { is_le, is_ge, ..Order::default() };
        }
        let Some(difference) = self.form(a).minus(&self.form(b)) else { return Order::default() };
        let mut proves = |sign: i64, slack: i64| {
            let expression = match sign {
                1 => difference.plus(slack),
                _ => difference.negated().and_then(|negated| negated.plus(slack)),
            };
            let mut attempts = MAX_ATTEMPTS;
            expression.is_some_and(|expression| {
                self.is_nonpositive(&expression, at, MAX_REPLACEMENTS, &mut attempts)
            })
        };
        let (is_less, is_greater) = (proves(1, 1), proves(-1, 1));
        Order {
            is_less,
            is_greater,
            is_le: is_less || !is_greater && proves(1, 0),
            is_ge: is_greater || !is_less && proves(-1, 0),
        }
    }

    /// The result of a comparison of integers in a region, if it is known.
    pub fn decide(&mut self, op: Op, [a, b]: [Value; 2], at: Region) -> Option<bool> {
        if op == Op::ULt {
            let [x, y] = [a, b].map(|value| self.number(value, at));
            let [unsigned_x, unsigned_y] = [x, y].map(as_unsigned);
            if unsigned_x.hi < unsigned_y.lo || unsigned_x.lo >= unsigned_y.hi {
                return Some(unsigned_x.hi < unsigned_y.lo);
            }
            if !x.is_nonnegative() || !y.is_nonnegative() {
                return None;
            }
        }
        let order = self.compare(a, b, at);
        match op {
            Op::SLt | Op::ULt => (order.is_less || order.is_ge).then_some(order.is_less),
            Op::IEq if order.is_less || order.is_greater => Some(false),
            Op::IEq if order.is_le && order.is_ge => Some(true),
            _ => None,
        }
    }

    /// The operand that a minimum or maximum of integers equals in a region, if it is known.
    pub fn selected(&mut self, op: Op, [a, b]: [Value; 2], at: Region) -> Option<Value> {
        let is_unsigned = matches!(op, Op::UMin | Op::UMax);
        if is_unsigned && [a, b].iter().any(|&value| !self.number(value, at).is_nonnegative()) {
            return None;
        }
        let order = self.compare(a, b, at);
        let [low, high] = match (order.is_le, order.is_ge) {
            (true, _) => [a, b],
            (_, true) => [b, a],
            _ => return None,
        };
        Some(if matches!(op, Op::SMin | Op::UMin) { low } else { high })
    }

    /// The constant bounds of an integer in a region. They follow from definitions and from single
    /// conditions, not from combinations of them.
    ///
    /// Bounding code runs an arm if for each condition, some member satisfies it, even if no member
    /// satisfies all. Scalars are the same for all members, so they satisfy every single condition
    /// on them, and loops that they control run no longer than proved.
    pub fn number(&mut self, value: Value, at: Region) -> Range<i64> {
        let number = self.atom_number(value, at);
        match (self.data(value).form(), self.controlling(at)) {
            (Some(form), Some(_)) => number.within(form.range(|value| self.atom_number(value, at))),
            _ => number,
        }
    }

    /// The constant bounds of a value that an expression mentions.
    fn atom_number(&mut self, value: Value, at: Region) -> Range<i64> {
        self.data(value).ints.within(self.control(at, value).ints)
    }

    /// An expression that equals an integer.
    fn form(&mut self, value: Value) -> Linear {
        if let Def::Const(bits) = self.function.def(value) {
            return Linear::constant(i64::from(bits as i32));
        }
        self.data(value).form().unwrap_or(Linear::value(value))
    }

    /// Whether an expression of integers, which is an integer or above one that is in question, is
    /// proved to be at most 0 in a region.
    fn is_nonpositive(
        &mut self,
        expression: &Linear,
        at: Region,
        steps: u32,
        attempts: &mut u32,
    ) -> bool {
        if expression.range(|value| self.atom_number(value, at)).hi <= 0 {
            return true;
        }
        if steps == 0 {
            return false;
        }
        // Values that are defined last come first: their bounds mention values defined before.
        let mut terms = expression.terms().to_vec();
        terms.sort_by_key(|term| {
            let positions = term.factors().iter().map(|&value| self.regions.position(value));
            std::cmp::Reverse(positions.max())
        });
        for term in terms {
            for bound in self.bounds_of_term(&term, at).into_iter().flatten() {
                if *attempts == 0 || self.work == 0 {
                    return false;
                }
                *attempts -= 1;
                self.work -= 1;
                if let Some(next) = expression.replaced(&term, &bound)
                    && self.is_nonpositive(&next, at, steps - 1, attempts)
                {
                    return true;
                }
            }
        }
        false
    }

    /// Expressions that a term's product is not above, or not below if its coefficient is negative.
    fn bounds_of_term(&mut self, term: &Term, at: Region) -> [Option<Linear>; 6] {
        let upper = term.coefficient() > 0;
        match *term.factors() {
            [value] => {
                let [a, b] = self.range_of(value, at).side(upper);
                [a, b, None, None, None, None]
            }
            [x, y] => {
                let mut bounds = [None; 6];
                for (k, (replaced, kept)) in [(x, y), (y, x)].into_iter().enumerate() {
                    // Of a square, one factor is replaced.
                    let sign = self.atom_number(kept, at);
                    let upper = match () {
                        () if sign.is_nonnegative() => upper,
                        () if sign.is_nonpositive() => !upper,
                        () => continue,
                    };
                    let range = self.range_of(replaced, at);
                    let [a, b] = range.side(upper);
                    let end = if upper { range.number.hi } else { range.number.lo };
                    for (side, bound) in [a, b, Some(Linear::constant(end))].into_iter().enumerate()
                    {
                        bounds[3 * k + side] =
                            bound.and_then(|bound| bound.times(&Linear::value(kept)));
                    }
                }
                bounds
            }
            _ => unreachable!("terms have one or two factors"),
        }
    }
}

/// What is proved about the order of two values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Less. Of floats, this is never proved.
    pub is_less: bool,
    /// Less or equal.
    pub is_le: bool,
    /// Greater or equal.
    pub is_ge: bool,
    /// Greater. Of floats, this is never proved.
    pub is_greater: bool,
}
