//! Inputs that are the components of sorted vectors: x ≤ y ≤ z ≤ w.
//!
//! The hull of the sorted vectors in a box is known in closed form. The lower endpoint of a
//! component becomes the greatest of the lower endpoints up to it, and its upper endpoint the least
//! of the upper endpoints from it on. The bounding shader computes these endpoints first, for the
//! components that are intervals; scalars limit the others, and stay as they are.
//! [Orders](super::order) of other values follow from x ≤ y.
//!
//! - *NaN*: no vector with a NaN is sorted, since NaN ≤ y is false. So components count as values
//!   that cannot be NaN.
//! - *Zeros*: −0 ≤ +0 and +0 ≤ −0. An endpoint of 0 may come from another component, with another
//!   sign. That is harmless: the sign of a zero endpoint of an interval does not tell the signs of
//!   its members.
//! - *Static bounds*: new endpoints are endpoints of other components, so they satisfy static bounds
//!   if these are the same for all components. Other vectors are left alone.
//! - *Boxes without sorted vectors*: the upper endpoint is at least the lower one, so the endpoints
//!   never cross, and the lower endpoints of intervals ascend. So they are a sorted vector, and
//!   orders do not make endpoints [cross](super::emptiness), either.

use super::{Relation, Relations};
use crate::ir::{Def, Emit, Function, Op, Value};
use crate::lift::Input;

/// An input that is a component of a sorted vector.
///
/// Declares the precondition of related bounds, as [`Axis`](super::Axis) does: they hold for the
/// members of a box whose components ascend, and are not NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortedComponent {
    /// Index of the vector.
    pub vector: usize,
    /// Index of the component: 0 to 3.
    pub component: usize,
}

/// The inputs of each sorted vector, in order.
pub(crate) fn vectors(inputs: &[Input]) -> Vec<Vec<usize>> {
    let mut vectors: Vec<Vec<usize>> = vec![];
    for (input, component) in inputs.iter().enumerate() {
        let Some(SortedComponent { vector, .. }) = component.sorted else { continue };
        vectors.resize(vectors.len().max(vector + 1), vec![]);
        vectors[vector].push(input);
    }
    for vector in &mut vectors {
        vector.sort_by_key(|&input| inputs[input].sorted.map(|sorted| sorted.component));
    }
    vectors.retain(|vector| vector.len() > 1);
    vectors
}

/// The vectors whose endpoints are refined, if the relation is enabled.
pub(crate) fn refined_vectors(inputs: &[Input], relations: Relations) -> Vec<Vec<usize>> {
    let mut vectors = vectors(inputs);
    let have_same_bounds = |vector: &Vec<usize>| {
        vector.iter().all(|&input| inputs[input].bounds == inputs[vector[0]].bounds)
    };
    vectors.retain(|vector| relations.has(Relation::Order) && have_same_bounds(vector));
    vectors
}

/// The pairs x ≤ y of components that are intervals.
pub(super) fn orders(
    function: &Function,
    vectors: &[Vec<usize>],
    is_interval: &[bool],
) -> Vec<[Value; 2]> {
    let value = |&input: &usize| {
        let is_input =
            |value: &Value| function.values[value.index()].def == Def::Input(input as u32);
        let values = (0..function.len()).map(|value| Value(value as u32));
        values.filter(|value| is_interval[value.index()]).find(is_input)
    };
    let mut orders = vec![];
    for vector in vectors {
        let values: Vec<_> = vector.iter().filter_map(value).collect();
        for (k, &low) in values.iter().enumerate() {
            orders.extend(values[k + 1..].iter().map(|&high| [low, high]));
        }
    }
    orders
}

/// The endpoints of the sorted vectors in a box. Components with equal endpoints are scalars.
pub(crate) fn hull<E: Emit<Value: PartialEq>>(emit: &mut E, endpoints: &mut [[E::Value; 2]]) {
    let lower: Vec<_> = endpoints.iter().map(|&[lo, _]| lo).collect();
    let upper: Vec<_> = endpoints.iter().map(|&[_, hi]| hi).collect();
    let mut lo = lower[0];
    let last = upper.len() - 1;
    // From the last component on, the least upper endpoints.
    let mut least = upper.clone();
    for k in (0..last).rev() {
        least[k] = emit.op(Op::Min, &[upper[k], least[k + 1]]);
    }
    for (k, component) in endpoints.iter_mut().enumerate() {
        if k > 0 {
            lo = emit.op(Op::Max, &[lower[k], lo]);
        }
        if component[0] != component[1] {
            *component = [lo, emit.op(Op::Max, &[least[k], lo])];
        }
    }
}
