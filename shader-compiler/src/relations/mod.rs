//! Relations between values, which interval arithmetic forgets (Clarberg et al. 2010 §7): that a
//! vector is a unit one, that two operands are one value, that x ≤ y.
//!
//! Each relation is found in the point shader by a search for a pattern in a file of its own, and
//! becomes up to two things for a value of the point shader:
//!
//! - a [`Constraint`]: what is known of it at compile time, so that cheaper cases are selected;
//! - an [`Alternative`]: other ends of the value, computed at run time from the ends of values that
//!   it depends on. The bounding shader intersects them with those of the interval form, so bounds
//!   are never wider than without relations. The one exception is what [`Monotone`] adds to outputs
//!   for results below the least normal number, 2⁻¹²⁶, which is less than that.
//!
//! [`Relation::Support`] is of another kind: one value's ends are cut, and then bounds of boxes
//! whose unit vectors are all beyond the cut contain what results are there, 0, and that is all
//! that is said.
//!
//! # What both must keep
//!
//! - *Containment*: for all members x of the box that meet the [preconditions](Axis), the float
//!   that the point shader computes lies within the ends, with no tolerance. What is true of real
//!   numbers is widened by a proved bound of the rounding errors; the proof stands with the
//!   relation.
//! - *Static bounds hold of endpoints*, not only of members: case selection relies on that. An
//!   alternative puts endpoints where no member is, between discrete values for instance, so a
//!   value with alternatives has [`Constraint::replace`], which closes the gaps, and no endpoint of
//!   an alternative is beyond it on its own side; debug builds check that on samples. A relation
//!   that leaves endpoints as they are has [`Constraint::observe`], and shows that the form's own
//!   ones keep it.
//! - Where no member of a box is left, endpoints may cross: [`emptiness`] says what that means.
//! - Ends of alternatives are never NaN for ends within the values' bounds. Values that can be NaN
//!   themselves have no alternatives but those with a [`Guard`], which are infinite wherever some
//!   member of the box may make the value NaN.
//! - What an alternative needs is in scope where the value is defined (`Point::for_each_operation`
//!   tells).

mod dot;
pub mod emptiness;
mod growth;
mod half;
#[cfg(test)]
mod materials;
mod monotone;
pub(crate) mod order;
mod powers;
mod products;
mod quotients;
mod range;
mod rounding;
mod soundness;
mod squares;
pub(crate) mod support;
#[cfg(test)]
mod testing;
mod unit;

use crate::analysis::{Bounds, Constraint, Floats};
use crate::interval::Nan;
use crate::ir::function::ValueData;
use crate::ir::rewrite::liveness;
use crate::ir::{Block, Def, Emit, Function, Op, Stmt, Value};
pub use dot::Dot;
pub use half::{Half, Length, Part};
pub use monotone::Monotone;
pub use order::Order;
pub use powers::Power;
pub use products::Product;
pub use quotients::Quotient;
pub use squares::Squares;
use std::fmt;
use unit::UnitVector;

/// An input that is a component of a unit vector.
///
/// That is the precondition of related bounds: they hold for all members v of the box with ||v|² −
/// 1| ≤ 2⁻²¹, components within ±(1 + 2⁻²²), for vectors of a [frame](Axis::frame), |u·v| ≤ 2⁻²¹
/// for any two, and for one that is [above](Axis::above), no negative dot product, in floats, with
/// the normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Which vector.
    pub vector: usize,
    /// Which component: 0, 1 or 2.
    pub component: usize,
    /// Whether the vector is one of three that are perpendicular to each other, of which there is
    /// but one set: the normal comes first.
    pub frame: bool,
    /// Whether the vector is on the normal's side of the surface.
    pub above: bool,
}

/// Bound of ||v|² − 1| for vectors that are inputs, and of |u·v| for those of a frame.
pub const SLACK: f64 = 1.0 / (1u32 << 21) as f64;

/// Components of unit vectors that are inputs are within ± that: |v| ≤ √(1 + 2⁻²¹).
pub const UNIT: f32 = 1.0 + 1.0 / (1 << 22) as f32;

/// A kind of relation, which can be made use of or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Relation {
    /// Components of unit vectors, and their dot products, have limits.
    Unit,
    /// The dot product of two unit vectors is as far below 1 as they are apart.
    Dot,
    /// The squares of a unit vector's components add up to 1.
    Squares,
    /// What is divided by its length is a unit vector, and the sum of two unit vectors is as long
    /// as they are close.
    Half,
    /// What is multiplied by max(z, 0) counts only where z > 0.
    Support,
    /// What a minimum, a maximum or a branch says of two values' order.
    Order,
    /// Quotients of sums over the same terms.
    Quotients,
    /// Odd powers, by products of one value.
    Powers,
    /// Products of x and c − x.
    Products,
    /// Values that grow with one that they use several times.
    Monotone,
}

impl Relation {
    /// All kinds.
    pub const ALL: &[Relation] = &[
        Relation::Unit,
        Relation::Dot,
        Relation::Squares,
        Relation::Half,
        Relation::Support,
        Relation::Order,
        Relation::Quotients,
        Relation::Powers,
        Relation::Products,
        Relation::Monotone,
    ];

    /// The name by which it is switched.
    pub const fn name(self) -> &'static str {
        match self {
            Relation::Unit => "unit",
            Relation::Dot => "dot",
            Relation::Squares => "squares",
            Relation::Half => "half",
            Relation::Support => "support",
            Relation::Order => "order",
            Relation::Quotients => "quotients",
            Relation::Powers => "powers",
            Relation::Products => "products",
            Relation::Monotone => "monotone",
        }
    }

    /// Whether it holds for unit vectors alone.
    fn needs_unit_vectors(self) -> bool {
        matches!(self, Relation::Unit | Relation::Dot | Relation::Squares | Relation::Half)
    }

    /// What it knows, in a line.
    pub const fn help(self) -> &'static str {
        match self {
            Relation::Unit => {
                "Directions are unit vectors: their components and dot products have limits"
            }
            Relation::Dot => {
                "Dot products of unit vectors, from how far a box is from the other vector"
            }
            Relation::Squares => {
                "Sums of squares of a unit vector's components, and what they leave to 1"
            }
            Relation::Half => {
                "Half vectors: lengths of sums of unit vectors, and what is divided by its length"
            }
            Relation::Support => "What is multiplied by max(z, 0) counts only where z > 0",
            Relation::Order => {
                "Order of values that a minimum, a maximum, a comparison or a branch tells"
            }
            Relation::Quotients => "Quotients of sums over the same terms, as in weighted means",
            Relation::Powers => "Odd powers, as x x x, grow with x whatever its sign",
            Relation::Products => "Products x (c - x)",
            Relation::Monotone => {
                "Values that grow with one that they use several times, as z / sqrt(1 - z z)"
            }
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of kinds of relations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Relations(u16);

impl Relations {
    /// None: those of naive and optimized code.
    pub const NONE: Relations = Relations(0);

    /// Those of related code.
    pub fn all() -> Relations {
        Relation::ALL.iter().copied().collect()
    }

    /// Whether a kind is among them.
    pub fn has(self, relation: Relation) -> bool {
        self.0 & 1 << relation as u8 != 0
    }

    /// Those, and one more.
    pub fn with(self, relation: Relation) -> Relations {
        Relations(self.0 | 1 << relation as u8)
    }

    /// Those but for one.
    pub fn without(self, relation: Relation) -> Relations {
        Relations(self.0 & !(1 << relation as u8))
    }

    /// One after the other.
    pub fn iter(self) -> impl Iterator<Item = Relation> {
        Relation::ALL.iter().copied().filter(move |&relation| self.has(relation))
    }
}

impl FromIterator<Relation> for Relations {
    fn from_iter<I: IntoIterator<Item = Relation>>(relations: I) -> Relations {
        relations.into_iter().fold(Relations::NONE, Relations::with)
    }
}

/// Other ends of a value, beside those of its interval form.
#[derive(Clone, Debug)]
pub enum Alternative {
    /// A lower end.
    AtLeast(f32),
    /// Of the dot product of two unit vectors.
    Dot(Dot),
    /// Of a value that is monotone in one that it uses several times.
    Monotone(Monotone),
    /// Of what the order of two values says something of.
    Order(Order),
    /// Of sums of squares of a unit vector's components.
    Squares(Squares),
    /// Of the square of the length of a sum of unit vectors.
    Length(Length),
    /// Of a component of a vector that was divided by its length.
    Part(Part),
    /// Of the dot product of a half vector and what it is between.
    Half(Half),
    /// Of an odd power.
    Power(Power),
    /// Of a quotient of sums over the same terms.
    Quotient(Quotient),
    /// Of a product x (c − x).
    Product(Product),
}

impl Alternative {
    /// The kind of relation that gives it.
    pub fn relation(&self) -> Relation {
        match self {
            Alternative::AtLeast(_) => Relation::Unit,
            Alternative::Monotone(_) => Relation::Monotone,
            Alternative::Dot(dot) => dot.relation(),
            Alternative::Power(_) => Relation::Powers,
            Alternative::Order(_) => Relation::Order,
            Alternative::Quotient(_) => Relation::Quotients,
            Alternative::Product(_) => Relation::Products,
            Alternative::Squares(_) => Relation::Squares,
            Alternative::Length(_) | Alternative::Part(_) | Alternative::Half(_) => Relation::Half,
        }
    }

    /// The values whose ends it needs, of which the value is made.
    pub fn sources(&self) -> Vec<Value> {
        match self {
            Alternative::AtLeast(_) => vec![],
            Alternative::Dot(dot) => dot.sources(),
            Alternative::Order(order) => order.sources(),
            Alternative::Squares(squares) => squares.sources(),
            Alternative::Length(length) => length.sources(),
            Alternative::Part(part) => part.sources(),
            Alternative::Half(half) => half.sources(),
            Alternative::Power(power) => power.sources(),
            Alternative::Quotient(quotient) => quotient.sources(),
            Alternative::Product(product) => product.sources(),
            Alternative::Monotone(monotone) => monotone.sources(),
        }
    }

    /// Ends of the value, infinite where there is none; `of` gives those of the sources.
    pub fn ends<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        match self {
            Alternative::AtLeast(least) => [*least, f32::INFINITY].map(|end| emit.f32(end)),
            Alternative::Dot(dot) => dot.ends(emit, of),
            Alternative::Order(order) => order.ends(emit, of),
            Alternative::Squares(squares) => squares.ends(emit, of),
            Alternative::Length(length) => length.ends(emit, of),
            Alternative::Part(part) => part.ends(emit, of),
            Alternative::Half(half) => half.ends(emit, of),
            Alternative::Power(power) => power.ends(emit, of),
            Alternative::Quotient(quotient) => quotient.ends(emit, of),
            Alternative::Product(product) => product.ends(emit, of),
            Alternative::Monotone(monotone) => monotone.ends(emit, of),
        }
    }

    /// Whether it is infinite for boxes of which some member may make the value NaN.
    fn is_guarded(&self) -> bool {
        match self {
            Alternative::Dot(dot) => dot.is_guarded(),
            Alternative::Squares(squares) => squares.is_guarded(),
            Alternative::Part(part) => part.is_guarded(),
            Alternative::Half(_) => true,
            _ => false,
        }
    }

    /// Whether an end is never wider than that of the interval form, but for what is below 1e-30,
    /// so that it takes its place.
    pub fn is_within(&self, side: usize) -> bool {
        matches!(self, Alternative::Monotone(monotone) if monotone.is_within(side))
    }

    /// Whether no ends are tighter, so that there is no need for others.
    pub fn is_exact(&self) -> bool {
        matches!(self, Alternative::Power(_))
    }
}

/// A condition on a box: the lower end of a value is not below a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guard {
    value: Value,
    least: f32,
}

impl Guard {
    /// The ends where the condition holds, infinite ones elsewhere.
    fn guarded<E: Emit>(
        self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
        ends: [E::Value; 2],
    ) -> [E::Value; 2] {
        let least = emit.f32(self.least);
        let holds = emit.op(Op::Le, &[least, of(self.value)[0]]);
        let infinite = [f32::NEG_INFINITY, f32::INFINITY].map(|end| emit.f32(end));
        [0, 1].map(|side| emit.op(Op::Select, &[holds, ends[side], infinite[side]]))
    }
}

/// What is found out of a function.
#[derive(Clone, Debug)]
pub struct Related {
    /// For each value, what is known of it beside what the operations tell.
    pub constraints: Vec<Constraint>,
    /// For each value, other ends.
    pub alternatives: Vec<Vec<Alternative>>,
    /// A value that counts only where it is positive.
    pub support: Option<Value>,
    /// Whether ends of what depends on that value may cross each other, for boxes in which it is
    /// nowhere positive.
    pub may_cross: bool,
    /// For each value, whether it [may be empty](emptiness).
    pub may_be_empty: Vec<bool>,
}

impl Related {
    /// Nothing, for so many values.
    pub fn nothing(function: &Function) -> Related {
        let constraints = function.values.iter().map(|data| Constraint::none(data.ty)).collect();
        let (alternatives, may_be_empty) =
            (vec![vec![]; function.len()], vec![false; function.len()]);
        Related { constraints, alternatives, support: None, may_cross: false, may_be_empty }
    }

    /// Adds an alternative to the ends of a value, all of whose members are in `set`, and whose
    /// ends are in its hull; unless the value can be NaN and there is no guard.
    fn add(&mut self, point: &Point<'_>, value: Value, alternative: Alternative, set: Bounds) {
        if !alternative.is_guarded()
            && matches!(&point.bounds[value.index()], Bounds::Float(Floats { nan: true, .. }))
        {
            return;
        }
        let constraint = Constraint::replace(set);
        debug_assert_eq!(
            soundness::escaping(point, value, &alternative, &constraint),
            None,
            "{alternative:?} of {value:?}"
        );
        self.alternatives[value.index()].push(alternative);
        self.constrain(value, constraint);
    }

    /// Adds a constraint to what is known of a value.
    fn constrain(&mut self, value: Value, constraint: Constraint) {
        self.constraints[value.index()] = self.constraints[value.index()].and(&constraint);
    }
}

/// What a relation is sought in.
pub(crate) struct Point<'a> {
    pub function: &'a Function,
    /// Which values are intervals.
    pub kinds: &'a [bool],
    /// What values can be, by what is known so far.
    pub bounds: Vec<Bounds>,
    /// Vectors of values that are unit vectors.
    pub units: Vec<UnitVector>,
}

impl Point<'_> {
    /// Least and greatest number of what a value can be, if it can be no NaN.
    fn hull(&self, value: Value) -> Option<[f32; 2]> {
        match &self.bounds[value.index()] {
            Bounds::Float(floats) if !floats.nan => floats.pieces.hull(),
            _ => None,
        }
    }

    /// Whether a value can be no NaN and is not negative.
    fn is_positive(&self, value: Value) -> bool {
        self.hull(value).is_some_and(|[lo, _]| lo >= 0.0)
    }

    /// Looks at all operations on intervals, in order, with which values are in scope there.
    fn for_each_operation(&self, mut look: impl FnMut(Value, &[bool])) {
        let is_everywhere = |def: Def| matches!(def, Def::Input(_) | Def::Const(_));
        let mut scope: Vec<_> =
            self.function.values.iter().map(|data| is_everywhere(data.def)).collect();
        self.walk(&self.function.body, &mut scope, &mut look);
    }

    fn walk(&self, block: &Block, scope: &mut [bool], look: &mut impl FnMut(Value, &[bool])) {
        let mut defined = vec![];
        for stmt in &block.stmts {
            let new = match stmt {
                Stmt::Op(value) => {
                    if self.kinds[value.index()] {
                        look(*value, scope);
                    }
                    std::slice::from_ref(value)
                }
                Stmt::If(node) => {
                    self.walk(&node.then, scope, look);
                    self.walk(&node.otherwise, scope, look);
                    &node.results
                }
                Stmt::Loop(node) => {
                    for inner in [&node.head, &node.body] {
                        self.walk(inner, scope, look);
                    }
                    &node.results
                }
            };
            new.iter().for_each(|value| scope[value.index()] = true);
            defined.extend_from_slice(new);
        }
        defined.iter().for_each(|value| scope[value.index()] = false);
    }

    /// What is known of a float.
    fn floats(&self, value: Value) -> &Floats {
        self.bounds[value.index()].floats()
    }
}

/// Finds relations in a point shader for code that treats NaN in a certain way; `solve` gives
/// static bounds under constraints.
pub fn run(
    function: &Function,
    kinds: &[bool],
    axes: &[Option<Axis>],
    relations: Relations,
    nan: Nan,
    solve: impl Fn(&[Constraint]) -> Vec<Bounds>,
) -> Related {
    let mut related = Related::nothing(function);
    if relations == Relations::NONE {
        return related;
    }
    let mut point = Point {
        function,
        kinds,
        bounds: solve(&related.constraints),
        units: unit::find(function, axes),
    };
    if relations.has(Relation::Half) {
        half::find(&mut point, &mut related);
    }
    if relations.has(Relation::Unit) || relations.has(Relation::Dot) {
        dot::find(&point, relations, &mut related);
        // What follows needs to know ranges.
        point.bounds = solve(&related.constraints);
    }
    if relations.has(Relation::Support)
        && let Some(z) = support::find(&point, nan, &related, &solve)
    {
        related.constrain(z, support::positive());
        point.bounds = solve(&related.constraints);
        related.support = Some(z);
    }
    if relations.has(Relation::Squares) {
        squares::find(&point, &mut related);
    }
    if relations.has(Relation::Powers) {
        powers::find(&point, &mut related);
    }
    if relations.has(Relation::Order) {
        order::find(&point, &mut related);
    }
    if relations.has(Relation::Quotients) {
        quotients::find(&point, &mut related);
    }
    if relations.has(Relation::Products) {
        products::find(&point, &mut related);
    }
    if relations.has(Relation::Monotone) {
        // The last one: it needs to know of which values the ends are not those of their forms.
        point.bounds = solve(&related.constraints);
        monotone::find(&point, &mut related);
    }
    related.may_cross = related.support.is_some_and(|z| support::may_cross(&point, &related, z));
    related.may_be_empty = emptiness::may_be_empty(&point, &related);
    // Where an empty interval is joined, its endpoints are clamped to the hull of what is known,
    // and may lie in its gaps.
    for (index, data) in function.values.iter().enumerate() {
        if related.may_be_empty[index] && matches!(data.def, Def::Param | Def::Result) {
            related.constrain(Value(index as u32), Constraint::replace(Bounds::all(data.ty)));
        }
    }
    if cfg!(debug_assertions) {
        // Closed gaps may admit endpoints that were not known of when an alternative was added.
        point.bounds = solve(&related.constraints);
        soundness::recheck(&point, &related);
    }
    related
}

/// Whether related bounds of an output lie within optimized ones, but for the 2⁻¹²⁶ of
/// [`Monotone`]. Not so if it depends on an operation that is widened (`OpFacts::widening`) since
/// its results are not quite monotone: those at the endpoints of a narrower operand may be a few
/// ulps further out.
pub fn only_tighten(point: &Function, output: usize) -> bool {
    let mut one = point.clone();
    one.body.yields = vec![point.body.yields[output]];
    let is_widened =
        |data: &ValueData| matches!(data.def, Def::Op { op, .. } if op.facts().widening > 0);
    !std::iter::zip(liveness(&one), &point.values).any(|(live, data)| live && is_widened(data))
}

/// Bounds of an input under the precondition, which related code has, whichever relations it makes
/// use of.
pub fn of_input(bounds: Bounds, axis: Option<Axis>, relations: Relations) -> Bounds {
    match axis {
        Some(_) if relations != Relations::NONE => {
            bounds.meet(&Bounds::Float(Floats::between(-UNIT, UNIT)))
        }
        _ => bounds,
    }
}
