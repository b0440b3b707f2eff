//! Relations between values, which interval arithmetic ignores (Clarberg et al. 2010 §7): a vector
//! has unit length, two operands are the same value, x ≤ y.
//!
//! Each relation has a file of its own, which searches the point shader for a pattern. It yields up
//! to two things for a value of the point shader:
//!
//! - a [`Constraint`]: a fact known at compile time, which lets the lowering select cheaper cases;
//! - a [`Refinement`]: a second pair of endpoints for the value, computed at run time from the
//!   endpoints of values that it depends on. The bounding shader intersects them with those of the
//!   interval lowering, so bounds are never wider than without relations. The one exception:
//!   [`Monotone`] adds less than the least normal number, 2⁻¹²⁶, to outputs below that number.
//!
//! [`Relation::Support`] differs: it clamps the endpoints of one value. If all unit vectors of a
//! box lie beyond the clamp, bounds contain the results that occur and 0, and nothing more is
//! guaranteed.
//!
//! # What both must keep
//!
//! - *Containment*: for all members x of the box that satisfy the [preconditions](Axis), the float
//!   that the point shader computes lies within the endpoints, with no tolerance. Statements about
//!   real numbers are widened by a proved bound of the rounding errors. The proof is in the
//!   relation's file.
//! - *Static bounds hold for endpoints*, not only for members: case selection relies on that. A
//!   refinement may put endpoints where no member is, for instance between discrete values. So a
//!   value with refinements has [`Constraint::replace`], which closes the gaps, and no endpoint of
//!   a refinement is beyond the constraint on its own side. Debug builds check that on samples. A
//!   relation that leaves endpoints unchanged has [`Constraint::observe`], and shows that the
//!   endpoints of the interval lowering satisfy it.
//! - If a box has no member that satisfies all conditions, endpoints may cross: [`emptiness`]
//!   defines what that means.
//! - Endpoints of refinements are never NaN if the sources' endpoints are within their static
//!   bounds. A value that can be NaN itself only has refinements with a [`Guard`], which are
//!   infinite if some member of the box may make the value NaN.
//! - The sources of a refinement are in scope where the value is defined (see
//!   `Point::for_each_operation`).

mod dot;
pub mod emptiness;
mod growth;
mod half;
mod monotone;
pub(crate) mod order;
mod powers;
mod products;
mod quotients;
mod rounding;
mod soundness;
mod squares;
pub(crate) mod support;
#[cfg(test)]
mod testing;
mod unit;

use crate::analysis::Constraint;
use crate::builder::rewrite::liveness;
use crate::interval::{Bounds, Floats, Nan};
use crate::ir::function::ValueData;
use crate::ir::{Block, Def, Emit, Function, Op, Stmt, Value};
pub use dot::Dot;
pub use half::{HalfVectorDot, NormalizedComponent, SquaredLength};
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
/// This is the precondition of related bounds. They hold for all members v of the box with ||v|² −
/// 1| ≤ 2⁻²¹ and components within ±(1 + 2⁻²²). For two vectors of a [frame](Axis::frame), |u·v| ≤
/// 2⁻²¹. For a vector [above](Axis::above) the surface, the dot product with the normal, in floats,
/// is not negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Index of the vector.
    pub vector: usize,
    /// Index of the component: 0, 1 or 2.
    pub component: usize,
    /// Whether the vector is one of three mutually perpendicular ones. There is at most one such
    /// frame, and its normal comes first.
    pub frame: bool,
    /// Whether the vector is on the normal's side of the surface.
    pub above: bool,
}

/// Bound of ||v|² − 1| for vectors that are inputs, and of |u·v| for those of a frame.
pub const SLACK: f64 = 1.0 / (1u32 << 21) as f64;

/// Components of unit vectors that are inputs are within ± that: |v| ≤ √(1 + 2⁻²¹).
pub const UNIT: f32 = 1.0 + 1.0 / (1 << 22) as f32;

/// A relation, which can be enabled or disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Relation {
    /// Components of unit vectors, and their dot products, are bounded.
    Unit,
    /// The dot product of two unit vectors is below 1 by half their squared distance.
    Dot,
    /// The squares of a unit vector's components add up to 1.
    Squares,
    /// A vector divided by its length is a unit vector, and the length of the sum of two unit
    /// vectors depends on their distance.
    Half,
    /// A product with max(z, 0) is nonzero only where z > 0.
    Support,
    /// The order of two values, known from a minimum, a maximum or a branch.
    Order,
    /// Quotients of sums over the same terms.
    Quotients,
    /// Odd powers, computed as products of one value.
    Powers,
    /// Products of x and c − x.
    Products,
    /// Values that are monotone in a value that they use several times.
    Monotone,
}

impl Relation {
    /// All relations.
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

    /// The name that options use.
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

    /// Whether it applies to unit vectors only.
    fn needs_unit_vectors(self) -> bool {
        matches!(self, Relation::Unit | Relation::Dot | Relation::Squares | Relation::Half)
    }

    /// One line of help.
    pub const fn help(self) -> &'static str {
        match self {
            Relation::Unit => {
                "Directions are unit vectors: components and dot products are bounded"
            }
            Relation::Dot => "Dot products of unit vectors, from the distance of their boxes",
            Relation::Squares => "Sums of squares of a unit vector's components, which add up to 1",
            Relation::Half => {
                "Half vectors: lengths of sums of unit vectors, and normalized vectors"
            }
            Relation::Support => "Products with max(z, 0) are nonzero only where z > 0",
            Relation::Order => "Order of values, from minima, maxima, comparisons and branches",
            Relation::Quotients => "Quotients of sums over the same terms, such as weighted means",
            Relation::Powers => "Odd powers, such as x x x, are monotone in x",
            Relation::Products => "Products x (c - x)",
            Relation::Monotone => {
                "Values monotone in a value used several times, such as z / sqrt(1 - z z)"
            }
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of relations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Relations(u16);

impl Relations {
    /// None, as in naive and optimized code.
    pub const NONE: Relations = Relations(0);

    /// All relations, as in related code.
    pub fn all() -> Relations {
        Relation::ALL.iter().copied().collect()
    }

    /// Whether the set contains a relation.
    pub fn has(self, relation: Relation) -> bool {
        self.0 & 1 << relation as u8 != 0
    }

    /// The set with one more relation.
    pub fn with(self, relation: Relation) -> Relations {
        Relations(self.0 | 1 << relation as u8)
    }

    /// The set without one relation.
    pub fn without(self, relation: Relation) -> Relations {
        Relations(self.0 & !(1 << relation as u8))
    }

    /// Iterates over the relations in the set.
    pub fn iter(self) -> impl Iterator<Item = Relation> {
        Relation::ALL.iter().copied().filter(move |&relation| self.has(relation))
    }
}

impl FromIterator<Relation> for Relations {
    fn from_iter<I: IntoIterator<Item = Relation>>(relations: I) -> Relations {
        relations.into_iter().fold(Relations::NONE, Relations::with)
    }
}

/// A second pair of endpoints of a value, beside those of its interval lowering.
#[derive(Clone, Debug)]
pub enum Refinement {
    /// A lower endpoint.
    AtLeast(f32),
    /// For the dot product of two unit vectors.
    Dot(Dot),
    /// For a value that is monotone in a value that it uses several times.
    Monotone(Monotone),
    /// For a value that depends on the order of two others.
    Order(Order),
    /// For sums of squares of a unit vector's components.
    Squares(Squares),
    /// For the squared length of a sum of unit vectors.
    SquaredLength(SquaredLength),
    /// For a component of a vector divided by its length.
    NormalizedComponent(NormalizedComponent),
    /// For the dot product of a half vector and one of its two vectors.
    HalfVectorDot(HalfVectorDot),
    /// For an odd power.
    Power(Power),
    /// For a quotient of sums over the same terms.
    Quotient(Quotient),
    /// For a product x (c − x).
    Product(Product),
}

impl Refinement {
    /// The relation that yields it.
    pub fn relation(&self) -> Relation {
        match self {
            Refinement::AtLeast(_) => Relation::Unit,
            Refinement::Monotone(_) => Relation::Monotone,
            Refinement::Dot(dot) => dot.relation(),
            Refinement::Power(_) => Relation::Powers,
            Refinement::Order(_) => Relation::Order,
            Refinement::Quotient(_) => Relation::Quotients,
            Refinement::Product(_) => Relation::Products,
            Refinement::Squares(_) => Relation::Squares,
            Refinement::SquaredLength(_)
            | Refinement::NormalizedComponent(_)
            | Refinement::HalfVectorDot(_) => Relation::Half,
        }
    }

    /// The values whose endpoints it needs; the value depends on them.
    pub fn sources(&self) -> Vec<Value> {
        match self {
            Refinement::AtLeast(_) => vec![],
            Refinement::Dot(dot) => dot.sources(),
            Refinement::Order(order) => order.sources(),
            Refinement::Squares(squares) => squares.sources(),
            Refinement::SquaredLength(length) => length.sources(),
            Refinement::NormalizedComponent(component) => component.sources(),
            Refinement::HalfVectorDot(half) => half.sources(),
            Refinement::Power(power) => power.sources(),
            Refinement::Quotient(quotient) => quotient.sources(),
            Refinement::Product(product) => product.sources(),
            Refinement::Monotone(monotone) => monotone.sources(),
        }
    }

    /// Endpoints of the value, infinite if unbounded; `of` returns those of the sources.
    pub fn endpoints<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        match self {
            Refinement::AtLeast(min) => [*min, f32::INFINITY].map(|end| emit.f32(end)),
            Refinement::Dot(dot) => dot.endpoints(emit, of),
            Refinement::Order(order) => order.endpoints(emit, of),
            Refinement::Squares(squares) => squares.endpoints(emit, of),
            Refinement::SquaredLength(length) => length.endpoints(emit, of),
            Refinement::NormalizedComponent(component) => component.endpoints(emit, of),
            Refinement::HalfVectorDot(half) => half.endpoints(emit, of),
            Refinement::Power(power) => power.endpoints(emit, of),
            Refinement::Quotient(quotient) => quotient.endpoints(emit, of),
            Refinement::Product(product) => product.endpoints(emit, of),
            Refinement::Monotone(monotone) => monotone.endpoints(emit, of),
        }
    }

    /// Whether it is infinite for boxes with a member that may make the value NaN.
    fn is_guarded(&self) -> bool {
        match self {
            Refinement::Dot(dot) => dot.is_guarded(),
            Refinement::Squares(squares) => squares.is_guarded(),
            Refinement::NormalizedComponent(component) => component.is_guarded(),
            Refinement::HalfVectorDot(_) => true,
            _ => false,
        }
    }

    /// Whether this endpoint is never wider than the one of the interval lowering, below 1e-30
    /// aside, so that it replaces it.
    pub fn replaces_lowering(&self, side: usize) -> bool {
        matches!(self, Refinement::Monotone(monotone) if monotone.replaces_lowering(side))
    }

    /// Whether its endpoints are optimal, so that no others are needed.
    pub fn is_optimal(&self) -> bool {
        matches!(self, Refinement::Power(_))
    }
}

/// A condition on a box: the lower endpoint of a value is not below a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guard {
    value: Value,
    min: f32,
}

impl Guard {
    /// The endpoints if the condition holds, else infinite ones.
    fn guarded<E: Emit>(
        self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
        endpoints: [E::Value; 2],
    ) -> [E::Value; 2] {
        let min = emit.f32(self.min);
        let holds = emit.op(Op::Le, &[min, of(self.value)[0]]);
        let infinite = [f32::NEG_INFINITY, f32::INFINITY].map(|end| emit.f32(end));
        [0, 1].map(|side| emit.op(Op::Select, &[holds, endpoints[side], infinite[side]]))
    }
}

/// The relations found in a function.
#[derive(Clone, Debug)]
pub struct RelationInfo {
    /// For each value, known facts beyond those that the operations imply.
    pub constraints: Vec<Constraint>,
    /// For each value, its refinements.
    pub refinements: Vec<Vec<Refinement>>,
    /// A value that matters only where it is positive.
    pub support: Option<Value>,
    /// Whether endpoints of values that depend on `support` may cross, for boxes in which it is
    /// nowhere positive.
    pub may_cross: bool,
    /// For each value, whether it [may be empty](emptiness).
    pub may_be_empty: Vec<bool>,
}

impl RelationInfo {
    /// No relations, for the values of a function.
    pub fn empty(function: &Function) -> RelationInfo {
        let constraints = function.values.iter().map(|data| Constraint::none(data.ty)).collect();
        let (refinements, may_be_empty) =
            (vec![vec![]; function.len()], vec![false; function.len()]);
        RelationInfo { constraints, refinements, support: None, may_cross: false, may_be_empty }
    }

    /// Adds a refinement to a value. All members of the value are in `set`, and the refined
    /// endpoints are in its hull. Skips values that can be NaN if the refinement has no guard.
    fn add(&mut self, point: &PointShader<'_>, value: Value, refinement: Refinement, set: Bounds) {
        if !refinement.is_guarded()
            && matches!(&point.bounds[value.index()], Bounds::Float(Floats { nan: true, .. }))
        {
            return;
        }
        let constraint = Constraint::replace(set);
        debug_assert_eq!(
            soundness::find_violation(point, value, &refinement, &constraint),
            None,
            "{refinement:?} of {value:?}"
        );
        self.refinements[value.index()].push(refinement);
        self.constrain(value, constraint);
    }

    /// Adds a constraint to a value.
    fn constrain(&mut self, value: Value, constraint: Constraint) {
        self.constraints[value.index()] = self.constraints[value.index()].and(&constraint);
    }
}

/// The point shader in which relations are searched.
pub(crate) struct PointShader<'a> {
    pub function: &'a Function,
    /// For each value, whether it is an interval.
    pub is_interval: &'a [bool],
    /// Static bounds of the values, as known so far.
    pub bounds: Vec<Bounds>,
    /// Triples of values that are unit vectors.
    pub units: Vec<UnitVector>,
}

impl PointShader<'_> {
    /// The least and the greatest float that a value can be, if it cannot be NaN.
    fn hull(&self, value: Value) -> Option<[f32; 2]> {
        match &self.bounds[value.index()] {
            Bounds::Float(floats) if !floats.nan => floats.pieces.hull(),
            _ => None,
        }
    }

    /// Whether a value cannot be NaN and is not negative.
    fn is_nonnegative(&self, value: Value) -> bool {
        self.hull(value).is_some_and(|[lo, _]| lo >= 0.0)
    }

    /// Visits all operations on intervals, in order, each with the set of values in scope.
    fn for_each_operation(&self, mut visit: impl FnMut(Value, &[bool])) {
        let is_everywhere = |def: Def| matches!(def, Def::Input(_) | Def::Const(_));
        let mut scope: Vec<_> =
            self.function.values.iter().map(|data| is_everywhere(data.def)).collect();
        self.walk(&self.function.body, &mut scope, &mut visit);
    }

    fn walk(&self, block: &Block, scope: &mut [bool], visit: &mut impl FnMut(Value, &[bool])) {
        let mut defined = vec![];
        for stmt in &block.stmts {
            let new = match stmt {
                Stmt::Op(value) => {
                    if self.is_interval[value.index()] {
                        visit(*value, scope);
                    }
                    std::slice::from_ref(value)
                }
                Stmt::If(node) => {
                    self.walk(&node.then, scope, visit);
                    self.walk(&node.otherwise, scope, visit);
                    &node.results
                }
                Stmt::Loop(node) => {
                    for inner in [&node.head, &node.body] {
                        self.walk(inner, scope, visit);
                    }
                    &node.results
                }
            };
            new.iter().for_each(|value| scope[value.index()] = true);
            defined.extend_from_slice(new);
        }
        defined.iter().for_each(|value| scope[value.index()] = false);
    }

    /// Static bounds of a float.
    fn floats(&self, value: Value) -> &Floats {
        self.bounds[value.index()].floats()
    }
}

/// Finds relations in a point shader for code that treats NaN in the given way; `solve` returns
/// static bounds under constraints.
pub fn run(
    function: &Function,
    is_interval: &[bool],
    axes: &[Option<Axis>],
    relations: Relations,
    nan: Nan,
    solve: impl Fn(&[Constraint]) -> Vec<Bounds>,
) -> RelationInfo {
    let mut related = RelationInfo::empty(function);
    if relations == Relations::NONE {
        return related;
    }
    let mut point = PointShader {
        function,
        is_interval,
        bounds: solve(&related.constraints),
        units: unit::find(function, axes),
    };
    if relations.has(Relation::Half) {
        half::find(&mut point, &mut related);
    }
    if relations.has(Relation::Unit) || relations.has(Relation::Dot) {
        dot::find(&point, relations, &mut related);
        // The following relations need ranges.
        point.bounds = solve(&related.constraints);
    }
    if relations.has(Relation::Support)
        && let Some(z) = support::find(&point, nan, &related, &solve)
    {
        related.constrain(z, support::nonnegative());
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
        // This is the last relation, because it needs to know which values have endpoints other
        // than those of their lowering.
        point.bounds = solve(&related.constraints);
        monotone::find(&point, &mut related);
    }
    related.may_cross = related.support.is_some_and(|z| support::may_cross(&point, &related, z));
    related.may_be_empty = emptiness::may_be_empty(&point, &related);
    // Where an empty interval is joined, its endpoints are clamped to the hull of its static
    // bounds, and may lie in their gaps.
    for (index, data) in function.values.iter().enumerate() {
        if related.may_be_empty[index] && matches!(data.def, Def::Param | Def::Result) {
            related.constrain(Value(index as u32), Constraint::replace(Bounds::all(data.ty)));
        }
    }
    if cfg!(debug_assertions) {
        // Closed gaps may admit endpoints that were not known when a refinement was added.
        point.bounds = solve(&related.constraints);
        soundness::recheck(&point, &related);
    }
    related
}

/// Whether related bounds of an output lie within optimized ones, apart from the 2⁻¹²⁶ of
/// [`Monotone`]. Not so if the output depends on an operation that is widened (`OpFacts::widening`)
/// because its results are not quite monotone: results at the endpoints of a narrower operand may
/// be a few ulps further out.
pub fn only_tighten(point: &Function, output: usize) -> bool {
    let mut one = point.clone();
    one.body.yields = vec![point.body.yields[output]];
    let is_widened =
        |data: &ValueData| matches!(data.def, Def::Op { op, .. } if op.facts().widening > 0);
    !std::iter::zip(liveness(&one), &point.values).any(|(live, data)| live && is_widened(data))
}

/// Bounds of an input under the precondition, which related code relies on whichever relations are
/// enabled.
pub fn input_bounds(bounds: Bounds, axis: Option<Axis>, relations: Relations) -> Bounds {
    match axis {
        Some(_) if relations != Relations::NONE => {
            bounds.meet(&Bounds::Float(Floats::between(-UNIT, UNIT)))
        }
        _ => bounds,
    }
}
