//! Half vectors: sums a + b of two unit vectors, and what becomes of vectors v that are divided by
//! their length, as `normalize(v)`, `v / length(v)` and `v * inverseSqrt(dot(v, v))` do it.
//!
//! # Sums of unit vectors
//!
//! For real numbers, |a + b|² = 2|a|² + 2|b|² − |a − b|²: at most 4 less the square of how far the
//! boxes of a and b are apart, and at least 4 less the square of how far their members are apart at
//! most ([`Length`]). So it is also where a + b is turned into the frame, and for x² + y² + max(z²,
//! ε), which is at most ε more. It takes some fifty instructions, so it is looked at only for sums
//! of squares that are used more than once: there bounds get tighter by it than by the same in a
//! single factor.
//!
//! Let ||a|²−1| ≤ α, ||b|² − 1| ≤ β and u = 2⁻²⁴. In floats, a + b is off by u times each
//! component, |a + b|² by 2.01u of it and so is its sum of squares by 3.01u more: together,
//! with |a + b|² < 4.0001, by 20.2u. The square of the distance, of six operations each rounded
//! once on the way to a term, is off by 5.01u of itself: 20.1u where it is at most 4.0001, as it is
//! where it tells something. The last difference is off by 4.1u. So C = 4 ± (2α + 2β + 46u). Turned
//! into the frame, whose QᵀQ has eigenvalues within 1 ± 3·2⁻²¹ (see `unit`), |a + b|² changes by
//! 97u more, and the dot products in floats, each off by 3.02u · 2.0001, or those of a and b and
//! their sum, by 8.1u, change |a + b| by 14.1u and its square by 57u: 154u.
//!
//! # Vectors divided by their length
//!
//! Let S be the sum of squares in floats, and at least 2⁻¹⁰⁰, so that squares which are not normal
//! numbers do not count, and finite. It is off by 3.01u of itself, its root by 2.51u, a quotient by
//! 3.52u and a product with the rounded reciprocal by 4.53u. So vₖ ÷ |v| is off by 4.6u of itself,
//! and |v ÷ |v||² by 10u: a [unit vector](UnitVector). If S is raised to some least value, it can
//! be shorter.
//!
//! S is less than 2⁻¹⁰⁰ for v close to 0, also for sums of unit vectors, which are opposite then:
//! floats as (10⁻³⁰, 0, 1) + (0, 0, −1) are divided by 0. Where compile time does not tell, a
//! [`Guard`] asks for the lower end of S at run time, and elsewhere nothing is known.
//!
//! Its components are vₖ ÷ √(vₖ² + q), where q is the sum of the other squares ([`Part`]). That
//! grows with vₖ, falls with q for vₖ ≥ 0 and grows with it below. So it has its ends at those of
//! vₖ, and of q. Also, vₖ² + q = S is not below the lower end of S. In floats, ends of q from those
//! of squares are off from what they are for any member by u of themselves, which changes the
//! quotient by 0.6u, or 1.6u by those of S; the square of vₖ and two sums by 3.01u, which changes
//! it by 1.6u; the root and the quotient by 2u of it. As |vₖ ÷ |v|| is at most 1, and with 1.1u for
//! the last sum, 16u > 4.6u + 1.6u + 1.6u + 2u + 1.1u, and what is lost below the least normal
//! number, are enough.
//!
//! # Half vectors and what they are between
//!
//! For h = (a + b) ÷ |a + b|, h·a = |a + b| ÷ 2 + (|a|² − |b|²) ÷ (2 |a + b|), whose last term is
//! at most 2.01 (α + β) where |a + b| ≥ ¼, for which a guard asks ([`Half`]). In floats, a + b and
//! thus h are off by 2u + 4.6u and the dot product by 6.7u + 3.02u; half the root of an end of S is
//! off from |a + b| ÷ 2 by 3.7u, and the last sum by 1.1u. In all 14.6u, and C = ±(2.01 (α + β) +
//! 16u). Where a + b was turned into the frame before, so were a and b, each with its slack.

use super::dot::{Term, gap, terms};
use super::unit::UnitVector;
use super::{Alternative, Guard, Point, Related};
use crate::analysis::{Bounds, Floats};
use crate::ir::{Emit, Function, Op, Value};
use crate::passes::factor::uses;

/// u.
const U: f64 = 1.0 / (1 << 24) as f64;

/// What a sum of squares has to be, so that what was lost below the least normal number does not
/// count: 2⁻¹⁰⁰.
const TINY: f32 = f32::from_bits((127 - 100) << 23);

/// Bound of ||v|² − 1| for vectors that were divided by their length.
const NORMALIZED: f64 = 10.0 * U;

/// What ends of components are widened by.
pub(super) const MARGIN: f32 = 16.0 / (1 << 24) as f32;

/// The square of the length of a sum of two unit vectors.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    a: [Value; 3],
    b: [Value; 3],
    /// C for either end.
    limits: [f32; 2],
}

/// A component of a vector that was divided by its length.
#[derive(Clone, Debug)]
pub struct Part {
    /// The component before, its square, and what that is not below.
    component: Value,
    floor: f32,
    /// Whether it is known not to be negative, or not to be positive.
    sign: Option<bool>,
    /// Squares of the other components.
    others: Vec<Value>,
    /// Square of the length, and what that is not below.
    sum: Value,
    least: f32,
    guard: Option<Guard>,
}

/// The dot product of a half vector and one of the vectors that it is between.
#[derive(Clone, Copy, Debug)]
pub struct Half {
    /// Square of the length of the sum of the two.
    sum: Value,
    /// What its half root is widened by.
    margin: f32,
    guard: Guard,
}

/// A term of a sum of squares: `value` is `part` · `part`, raised to `floor`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Square {
    part: Value,
    value: Value,
    floor: f32,
}

/// A vector that was divided by its length, but for one component.
#[derive(Clone, Debug, PartialEq)]
struct Divisor {
    /// By which it is divided, or multiplied.
    value: Value,
    squares: Vec<Square>,
    /// Square of the length, raised to something perhaps.
    sum: Value,
    /// What the square of the length is raised to in the end.
    least: f32,
    guard: Option<Guard>,
    short: bool,
}

/// Two unit vectors of which three values are the sum.
struct Between {
    units: [UnitVector; 2],
    /// Whether it was turned into the frame.
    turned: bool,
}

/// A sum of two unit vectors that was divided by its length.
struct HalfVector {
    parts: [Value; 3],
    /// The components before.
    sums: [Value; 3],
    /// Square of the length.
    length2: Value,
    units: [UnitVector; 2],
}

/// Finds sums of unit vectors, and unit vectors that were divided by their length, which are told
/// from now on.
pub(super) fn find(point: &mut Point<'_>, related: &mut Related) {
    let mut uses = uses(point.function);
    let divided = divided(point, &uses, related);
    let mut halves = vec![];
    for (divisor, quotients) in &divided {
        let of = |k: usize| {
            let before = divisor.squares.get(k)?.part;
            quotients.iter().find(|[component, _]| *component == before).map(|&[_, value]| value)
        };
        let (Some(x), Some(y), Some(z)) = (of(0), of(1), of(2)) else { continue };
        let (short, guard) = (divisor.short, divisor.guard);
        point.units.push(UnitVector { short, guard, ..UnitVector::new([x, y, z], NORMALIZED) });
        let sums = [0, 1, 2].map(|k| divisor.squares[k].part);
        if let Some(units) = added(point, sums).filter(|_| !short) {
            halves.push(HalfVector { parts: [x, y, z], sums, length2: divisor.sum, units });
        }
    }
    let point = &*point;
    point.for_each_operation(|value, _| {
        let Some(terms) = terms(point.function, value) else { return };
        if let Some(half) =
            halves.iter().find_map(|vector| Half::new(point.function, &terms, vector))
        {
            related.add(point, value, Alternative::Half(half), Bounds::Float(Floats::all()));
            // What its terms come to is of no account.
            terms.iter().flat_map(|term| term.factors).for_each(|factor| {
                let count = &mut uses[factor.index()];
                *count = count.saturating_sub(1);
            });
        }
    });
    for (divisor, quotients) in &divided {
        for &[component, value] in quotients.iter().filter(|[_, value]| uses[value.index()] > 0) {
            let part = Part::new(point, component, divisor);
            let most = 1.0 + 2.0 * MARGIN;
            let limit =
                if part.is_guarded() { Floats::all() } else { Floats::between(-most, most) };
            related.add(point, value, Alternative::Part(part), Bounds::Float(limit));
        }
    }
}

/// Adds what is known of sums of unit vectors; gives components of vectors that were divided by
/// their length, before and after, by what they were divided by.
fn divided(
    point: &Point<'_>,
    uses: &[u32],
    related: &mut Related,
) -> Vec<(Divisor, Vec<[Value; 2]>)> {
    let mut divided: Vec<(Divisor, Vec<[Value; 2]>)> = vec![];
    point.for_each_operation(|value, scope| {
        if let Some(length) = Length::new(point, value, scope).filter(|_| uses[value.index()] > 1) {
            let limit = Bounds::Float(Floats::between(f32::NEG_INFINITY, length.limits[1]));
            related.add(point, value, Alternative::Length(length), limit);
        }
        let Some((component, divisor)) = quotient(point, value) else { return };
        match divided.iter_mut().find(|(other, _)| *other == divisor) {
            Some((_, parts)) => parts.push([component, value]),
            None => divided.push((divisor, vec![[component, value]])),
        }
    });
    divided
}

/// The component that a value is the quotient of, and by what it is divided, if that is a length.
fn quotient(point: &Point<'_>, value: Value) -> Option<(Value, Divisor)> {
    let (op, args) = point.function.operation(value)?;
    let (Op::Div | Op::Mul, &[a, b]) = (op, args) else { return None };
    let found = |component: Value, by: Value| {
        let divisor = Divisor::new(point, by, op == Op::Mul)?;
        divisor
            .squares
            .iter()
            .any(|square| square.part == component)
            .then_some((component, divisor))
    };
    found(a, b).or_else(|| if op == Op::Mul { found(b, a) } else { None })
}

/// The terms of a sum of two or three squares.
fn squares(function: &Function, sum: Value) -> Option<Vec<Square>> {
    let (mut found, mut work) = (vec![], vec![sum]);
    while let Some(value) = work.pop() {
        let (square, floor) = raised(function, value);
        match function.operation(square)? {
            (Op::Mul, &[a, b]) if a == b => found.push(Square { part: a, value, floor }),
            (Op::Add, &[a, b]) if floor == 0.0 => work.extend([b, a]),
            _ => return None,
        }
        if work.len() + found.len() > 3 {
            return None;
        }
    }
    // A component that is there twice is none of a unit vector.
    let is_single =
        |square: &Square| found.iter().filter(|other| other.part == square.part).count() == 1;
    (found.len() > 1 && found.iter().all(is_single)).then_some(found)
}

/// What a value is the root of, and the square of what that is raised to.
fn root(function: &Function, value: Value) -> Option<(Value, f32)> {
    let (root, floor) = raised(function, value);
    match function.operation(root)? {
        (Op::Sqrt, &[sum]) => Some((sum, floor * floor)).filter(|(_, square)| square.is_finite()),
        _ => None,
    }
}

/// What a value is that is raised to a constant, and that; or the value itself, and 0.
fn raised(function: &Function, value: Value) -> (Value, f32) {
    let Some((Op::Max, &[a, b])) = function.operation(value) else { return (value, 0.0) };
    let constant =
        |value: Value| function.constant(value).map(f32::from_bits).filter(|floor| *floor >= 0.0);
    match (constant(a), constant(b)) {
        (None, Some(floor)) => (a, floor),
        (Some(floor), None) => (b, floor),
        _ => (value, 0.0),
    }
}

impl Divisor {
    /// A length, or the reciprocal of one.
    fn new(point: &Point<'_>, value: Value, reciprocal: bool) -> Option<Divisor> {
        let function = point.function;
        let (sum, least) = match (reciprocal, function.operation(value)?) {
            (false, _) => root(function, value)?,
            (true, (Op::Rsqrt, &[sum])) => (sum, 0.0),
            (true, (Op::Div, &[one, length]))
                if function.constant(one) == Some(1.0f32.to_bits()) =>
            {
                root(function, length)?
            }
            (true, _) => return None,
        };
        let (inner, raised_to) = raised(function, sum);
        let squares = squares(function, inner)?;
        let known = point.floats(sum);
        if known.nan || known.high() == f32::INFINITY {
            return None;
        }
        let short =
            least > 0.0 || raised_to > 0.0 || squares.iter().any(|square| square.floor > 0.0);
        let is_safe = known.low() >= TINY || least >= TINY;
        let guard = (!is_safe).then_some(Guard { value: sum, least: TINY });
        Some(Divisor { value, squares, sum, least, guard, short })
    }
}

impl Part {
    fn new(point: &Point<'_>, component: Value, divisor: &Divisor) -> Part {
        let floats = point.floats(component);
        let others = divisor
            .squares
            .iter()
            .filter(|square| square.part != component)
            .map(|square| square.value);
        let floor = divisor
            .squares
            .iter()
            .filter(|square| square.part == component)
            .map(|square| square.floor);
        let sign = if floats.low() >= 0.0 {
            Some(true)
        } else {
            Some(false).filter(|_| floats.high() <= 0.0)
        };
        Part {
            component,
            floor: floor.fold(0.0, f32::max),
            sign,
            others: others.collect(),
            sum: divisor.sum,
            least: divisor.least,
            guard: divisor.guard,
        }
    }

    /// The values whose ends it needs.
    pub(super) fn sources(&self) -> Vec<Value> {
        [self.component, self.sum].into_iter().chain(self.others.iter().copied()).collect()
    }

    pub(super) fn is_guarded(&self) -> bool {
        self.guard.is_some()
    }

    /// Ends by those of the component before, the other squares and the sum.
    pub(super) fn ends<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let others = self.others.iter().map(|&other| of(other));
        let others = others.collect::<Vec<_>>().into_iter();
        let q = others.reduce(|a, b| [0, 1].map(|side| emit.op(Op::Add, &[a[side], b[side]])));
        let q = q.expect("there is another component at least");
        let ends = [0, 1].map(|side| {
            let v = of(self.component)[side];
            let [below, above] = if side == 0 { q } else { [q[1], q[0]] };
            let q = match self.sign {
                Some(true) => above,
                Some(false) => below,
                None => {
                    let zero = emit.f32(0.0);
                    let is_below = emit.op(Op::Lt, &[v, zero]);
                    emit.op(Op::Select, &[is_below, below, above])
                }
            };
            self.end(emit, v, q, of(self.sum)[0], side)
        });
        match self.guard {
            Some(guard) => guard.guarded(emit, of, ends),
            None => ends,
        }
    }

    /// v ÷ √(v² + q), widened.
    fn end<E: Emit>(
        &self,
        emit: &mut E,
        v: E::Value,
        q: E::Value,
        sum: E::Value,
        side: usize,
    ) -> E::Value {
        let raised = |emit: &mut E, value: E::Value, floor: f32| {
            if floor == 0.0 {
                return value;
            }
            let floor = emit.f32(floor);
            emit.op(Op::Max, &[value, floor])
        };
        let square = emit.op(Op::Mul, &[v, v]);
        let square = raised(emit, square, self.floor);
        let length2 = emit.op(Op::Add, &[square, q]);
        let length2 = emit.op(Op::Max, &[length2, sum]);
        let length2 = raised(emit, length2, self.least);
        let length = emit.op(Op::Sqrt, &[length2]);
        let quotient = emit.op(Op::Div, &[v, length]);
        let margin = emit.f32(if side == 0 { -MARGIN } else { MARGIN });
        emit.op(Op::Add, &[quotient, margin])
    }
}

impl Between {
    /// The unit vectors of which three values, in any order, are the sum.
    fn new(point: &Point<'_>, parts: [Value; 3]) -> Option<Between> {
        if let Some(units) = added(point, parts) {
            return Some(Between { units, turned: false });
        }
        let frame: Vec<_> = point.units.iter().filter(|unit| unit.is_frame()).collect();
        let along = |part: Value| {
            frame
                .iter()
                .enumerate()
                .find_map(|(k, axis)| Some((k, addends_across(point.function, part, axis.parts)?)))
        };
        let [(i, addends), (j, second), (k, third)] =
            [along(parts[0])?, along(parts[1])?, along(parts[2])?];
        if i == j
            || j == k
            || k == i
            || [second, third].iter().any(|other| (0..3).any(|k| !is_pair(other[k], addends[k])))
        {
            return None;
        }
        let units =
            summed(point, |a, b| (0..3).all(|k| is_pair(addends[k], [a.parts[k], b.parts[k]])))?;
        Some(Between { units, turned: true })
    }
}

/// What two vectors have for components whose sum is multiplied with another, by one dot product or
/// two.
fn addends_across(function: &Function, part: Value, axis: [Value; 3]) -> Option<[[Value; 2]; 3]> {
    let other = |value: Value| across(&terms(function, value)?, axis);
    if let Some([x, y, z]) = other(part) {
        return Some([addends(function, x)?, addends(function, y)?, addends(function, z)?]);
    }
    let [a, b] = addends(function, part)?;
    let (a, b) = (other(a)?, other(b)?);
    Some([0, 1, 2].map(|k| [a[k], b[k]]))
}

fn addends(function: &Function, sum: Value) -> Option<[Value; 2]> {
    match function.operation(sum)? {
        (Op::Add, &[a, b]) => Some([a, b]),
        _ => None,
    }
}

fn is_pair([a, b]: [Value; 2], pair: [Value; 2]) -> bool {
    pair == [a, b] || pair == [b, a]
}

/// The other vector of a dot product with one.
fn across(terms: &[Term; 3], one: [Value; 3]) -> Option<[Value; 3]> {
    let other = one.map(|part| {
        terms.iter().filter(|term| !term.minus).find_map(|term| match term.factors {
            [a, b] if a == part => Some(b),
            [b, a] if a == part => Some(b),
            _ => None,
        })
    });
    let [Some(x), Some(y), Some(z)] = other else { return None };
    Some([x, y, z])
}

/// The unit vectors of which three values, in any order, are the sum, component by component.
fn added(point: &Point<'_>, parts: [Value; 3]) -> Option<[UnitVector; 2]> {
    let [x, y, z] = parts.map(|part| addends(point.function, part));
    let sums = [x?, y?, z?];
    summed(point, |a, b| {
        (0..3).all(|k| sums.iter().any(|sum| is_pair(*sum, [a.parts[k], b.parts[k]])))
    })
}

/// Two vectors that certainly are unit ones, of which something is the sum.
fn summed(
    point: &Point<'_>,
    is_sum: impl Fn(&UnitVector, &UnitVector) -> bool,
) -> Option<[UnitVector; 2]> {
    let units: Vec<_> =
        point.units.iter().filter(|unit| unit.guard.is_none() && !unit.short).collect();
    units.iter().enumerate().find_map(|(k, a)| {
        let b = units[k + 1..].iter().find(|b| is_sum(a, b))?;
        Some([**a, **b])
    })
}

impl Length {
    /// The sum of squares of the components of a sum of two unit vectors.
    fn new(point: &Point<'_>, value: Value, scope: &[bool]) -> Option<Length> {
        let squares: [Square; 3] = squares(point.function, value)?.try_into().ok()?;
        let Between { units: [a, b], turned } =
            Between::new(point, squares.map(|square| square.part))?;
        if !a.parts.iter().chain(&b.parts).all(|part| scope[part.index()]) {
            return None;
        }
        let slack = 2.0 * (a.slack + b.slack) + if turned { 200.0 * U } else { 46.0 * U };
        let raised: f64 = squares.iter().map(|square| f64::from(square.floor)).sum();
        let limits =
            [((4.0 - slack) as f32).next_down(), ((4.0 + slack + 1.01 * raised) as f32).next_up()];
        Some(Length { a: a.parts, b: b.parts, limits })
    }

    /// The values whose ends it needs.
    pub(super) fn sources(&self) -> Vec<Value> {
        self.a.into_iter().chain(self.b).collect()
    }

    /// Ends by how far the vectors are apart.
    pub(super) fn ends<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let pairs = std::iter::zip(self.a, self.b).map(|(a, b)| [of(a), of(b)]).collect::<Vec<_>>();
        let [least, most] = self.limits.map(|end| emit.f32(end));
        let [far, near] = [true, false].map(|far| {
            let squares: Vec<_> = pairs
                .iter()
                .map(|&[a, b]| {
                    if far {
                        return reach2(emit, a, b);
                    }
                    let gap = gap(emit, a, b, false);
                    emit.op(Op::Mul, &[gap, gap])
                })
                .collect();
            let sum = emit.op(Op::Add, &[squares[0], squares[1]]);
            emit.op(Op::Add, &[sum, squares[2]])
        });
        [emit.op(Op::Sub, &[least, far]), emit.op(Op::Sub, &[most, near])]
    }
}

/// Square of how far members of two intervals are apart at most.
fn reach2<E: Emit<Value: PartialEq>>(
    emit: &mut E,
    [a_lo, a_hi]: [E::Value; 2],
    [b_lo, b_hi]: [E::Value; 2],
) -> E::Value {
    let squares = [[a_hi, b_lo], [a_lo, b_hi]].map(|ends| {
        let difference = emit.op(Op::Sub, &ends);
        emit.op(Op::Mul, &[difference, difference])
    });
    emit.op(Op::Max, &squares)
}

impl Half {
    /// The dot product of a half vector and one of two vectors.
    fn new(function: &Function, terms: &[Term; 3], vector: &HalfVector) -> Option<Half> {
        let other = across(terms, vector.parts)?;
        // Each sum has one component of either vector, so that they stand in order if all are of
        // one.
        let is_in = |(sum, part): (Value, &Value)| {
            function.operation(sum).is_some_and(|(_, args)| args.contains(part))
        };
        if !std::iter::zip(vector.sums, &other).all(is_in) {
            return None;
        }
        vector.units.iter().find(|unit| unit.parts.iter().all(|part| other.contains(part)))?;
        let margin = 2.01 * (vector.units[0].slack + vector.units[1].slack) + 16.0 * U;
        let guard = Guard { value: vector.length2, least: 1.0 / 16.0 };
        Some(Half { sum: vector.length2, margin: (margin as f32).next_up(), guard })
    }

    /// The values whose ends it needs.
    pub(super) fn sources(&self) -> Vec<Value> {
        vec![self.sum]
    }

    /// Half of the root, widened.
    pub(super) fn ends<E: Emit<Value: PartialEq>>(
        &self,
        emit: &mut E,
        of: impl Fn(Value) -> [E::Value; 2],
    ) -> [E::Value; 2] {
        let margins = [-self.margin, self.margin];
        let ends = [0, 1].map(|side| {
            let root = emit.op(Op::Sqrt, &[of(self.sum)[side]]);
            let half = emit.f32(0.5);
            let half = emit.op(Op::Mul, &[root, half]);
            let margin = emit.f32(margins[side]);
            emit.op(Op::Add, &[half, margin])
        });
        self.guard.guarded(emit, of, ends)
    }
}

#[cfg(test)]
mod tests {
    use super::super::materials::{Bounder, around, axes, compare, nearly_unit};
    use super::super::{Relation, Relations};
    use crate::bounding::Frame;
    use crate::interval::Nan;
    use crate::ir::random::Random;

    const NAN: [Nan; 3] = [Nan::Propagate, Nan::Suppress, Nan::Ignore];

    fn half() -> Relations {
        Relations::NONE
            .with(Relation::Unit)
            .with(Relation::Dot)
            .with(Relation::Half)
            .with(Relation::Squares)
    }

    #[test]
    fn vectors_divided_by_their_length_are_within_the_ends() {
        let text = "fn f(x: f32, y: f32, z: f32) -> (a: f32, b: f32, c: f32, d: f32, e: f32) {
            %0 = mul x, x
            %1 = mul y, y
            %2 = mul z, z
            %3 = add %0, %1
            %4 = add %2, %3
            %5 = sqrt %4
            %6 = div z, %5
            %7 = rsqrt %4
            %8 = mul x, %7
            %9 = max %5, 0.001
            %10 = div x, %9
            %11 = max %4, 1e-12
            %12 = sqrt %11
            %13 = div 1.0, %12
            %14 = mul %13, y
            %15 = max %2, 1e-4
            %16 = add %15, %3
            %17 = rsqrt %16
            %18 = mul z, %17
            return %6, %8, %10, %14, %18
        }";
        let mut random = Random::new(31);
        for nan in NAN {
            let bounders = [Relations::NONE, half()]
                .map(|relations| Bounder::new(text, &[None; 3], relations, nan));
            let mut widths = [0.0; 2];
            for _ in 0..20_000 {
                let scale = *random.pick(&[1.0, 1.0, 1e-2, 1e-6, 1e-14, 1e-16, 1e-22, 1e-30]);
                let v = nearly_unit(&mut random, None).map(|x| x * scale);
                let mut ends = around(&mut random, v);
                if random.once_in(2) {
                    ends = std::array::from_fn(|k| {
                        ends[k].map(|end| (v[k] + (end - v[k]) * scale).clamp(-1.0, 1.0))
                    });
                }
                let members = [v, [0, 1, 2].map(|k| ends[k][random.below(2)]), [0.0; 3]];
                let inside = |member: &[f32; 3]| {
                    (0..3).all(|k| ends[k][0] <= member[k] && member[k] <= ends[k][1])
                };
                let bounds = bounders
                    .each_ref()
                    .map(|bounder| bounder.run(&ends, members.iter().filter(|m| inside(m))));
                for [plain, tight] in std::iter::zip(&bounds[0], &bounds[1]).map(|(a, b)| [a, b]) {
                    let finite = plain[1] - plain[0] <= 100.0;
                    widths = [0, 1].map(|k| {
                        widths[k]
                            + if finite {
                                f64::from([plain, tight][k][1] - [plain, tight][k][0])
                            } else {
                                0.0
                            }
                    });
                }
            }
            assert!(widths[1] < 0.8 * widths[0], "{widths:?}");
        }
    }

    #[test]
    fn what_only_looks_like_a_unit_vector_is_none() {
        // A component that is there twice, and a floor whose square is infinite.
        let twice = "fn f(x: f32, y: f32, z: f32) -> (a: f32, b: f32, c: f32, d: f32) {
            %0 = mul x, x
            %1 = add %0, %0
            %2 = mul z, z
            %3 = add %1, %2
            %4 = sqrt %3
            %5 = div x, %4
            %6 = div z, %4
            %7 = mul %5, %5
            %8 = mul %6, %6
            %9 = add %7, %8
            %10 = sqrt %1
            %11 = div x, %10
            return %5, %6, %9, %11
        }";
        let raised = "fn f(x: f32, y: f32, z: f32) -> (a: f32, b: f32) {
            %0 = mul x, 1e19
            %1 = mul z, 1e19
            %2 = mul %0, %0
            %3 = mul %1, %1
            %4 = add %2, %3
            %5 = sqrt %4
            %6 = max %5, 1e20
            %7 = div %0, %6
            %8 = div %1, %6
            return %7, %8
        }";
        let mut random = Random::new(41);
        for (text, nan) in [twice, raised].into_iter().flat_map(|text| NAN.map(|nan| (text, nan))) {
            let bounder = Bounder::new(text, &[None; 3], half(), nan);
            for _ in 0..5000 {
                let v = nearly_unit(&mut random, None);
                bounder.run(&around(&mut random, v), [&v]);
            }
        }
    }

    #[test]
    fn half_vectors_are_within_the_ends() {
        let text =
            "fn f(a: f32, b: f32, c: f32, x: f32, y: f32, z: f32) -> (s: f32, t: f32, p: f32, q: f32, r: f32, n: f32, o: f32) {
            %0 = add a, x
            %1 = add y, b
            %2 = add c, z
            %3 = mul %0, %0
            %4 = mul %1, %1
            %5 = mul %2, %2
            %6 = add %3, %4
            %7 = add %6, %5
            %8 = max %5, 1e-8
            %9 = add %6, %8
            %10 = sqrt %7
            %11 = div %0, %10
            %12 = div %1, %10
            %13 = div %2, %10
            %14 = mul %11, a
            %15 = mul %12, b
            %16 = mul %13, c
            %17 = add %14, %15
            %18 = add %17, %16
            %19 = mul %11, x
            %20 = mul %12, y
            %21 = mul %13, z
            %22 = add %20, %21
            %23 = add %22, %19
            %24 = mul %12, a
            %25 = mul %11, b
            %26 = add %25, %24
            %27 = add %16, %26
            %28 = sqrt %9
            return %7, %9, %18, %23, %27, %13, %28
        }";
        let mut random = Random::new(37);
        for nan in NAN {
            let bounders = [Relations::NONE, half()]
                .map(|relations| Bounder::new(text, &axes(2), relations, nan));
            let mut narrower = [0; 7];
            for _ in 0..20_000 {
                let a = nearly_unit(&mut random, None);
                let near = *random.pick(&[None, Some(a), Some(a.map(|x| -x))]);
                let b =
                    if random.once_in(20) { a.map(|x| -x) } else { nearly_unit(&mut random, near) };
                let b_ends =
                    if random.once_in(2) { b.map(|x| [x, x]) } else { around(&mut random, b) };
                let ends: Vec<_> = around(&mut random, a).into_iter().chain(b_ends).collect();
                let member: Vec<_> = a.into_iter().chain(b).collect();
                let bounds = bounders.each_ref().map(|bounder| bounder.run(&ends, [&member]));
                for (count, (plain, tight)) in
                    std::iter::zip(&mut narrower, std::iter::zip(&bounds[0], &bounds[1]))
                {
                    *count += usize::from(tight[1] - tight[0] < 0.9 * (plain[1] - plain[0]));
                }
            }
            assert!(narrower.iter().all(|&count| count > 500), "{narrower:?}");
        }
    }

    #[test]
    fn materials_with_half_vectors_have_tighter_bounds() {
        let source = include_str!("../../tests/shaders/half-vector.wgsl");
        for (frame, nan) in
            [Frame::Local, Frame::World].into_iter().flat_map(|frame| NAN.map(|nan| (frame, nan)))
        {
            let unit = Relations::NONE.with(Relation::Unit).with(Relation::Dot);
            let [plain, found] =
                [unit, half()].map(|relations| compare(source, frame, nan, relations, 10.0, 400));
            println!("{frame:?}, {nan:?}: {plain:?}, {found:?}");
            assert!(
                found.members > 10_000 && found.gain > plain.gain + 1.0,
                "{plain:?}, {found:?}"
            );
        }
    }
}
