//! Candidates: values whose being zero would remove much code (AZP §3.1).
//!
//! Scalar candidates are the floats that every evaluation computes: inputs, and values of the
//! function's outermost block. Vector candidates are two to four of them that are components of a
//! vector in the shader: inputs and outputs that are named as such, and isomorphic operations on
//! vectors that have been found already, as superword-level parallelism packs them (Larsen and
//! Amarasinghe 2000).

use super::estimate::{Effect, Estimator};
use crate::ir::{Def, Function, Op, Port, Stmt, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// A value, or up to four values that are components of a vector.
pub type Candidate = Vec<Value>;

/// Greatest number of components of a vector candidate.
const MAX_COMPONENTS: usize = 4;

/// The least cost, in cheap basic operations, that a candidate removes if it is zero.
const MIN_REMOVED_COST: f64 = 16.0;

/// Finds the candidates of a function, in a fixed order, and for each of them the others that are
/// zero if it is.
pub(super) fn find(estimator: &Estimator<'_>) -> (Vec<Candidate>, Vec<Vec<bool>>) {
    let function = estimator.function;
    let mut all: Vec<Candidate> =
        outermost(function).into_iter().map(|value| vec![value]).collect();
    all.extend(vectors(function));
    let general = estimator.effect(&[]);
    let mut effects = vec![];
    all.retain(|candidate| {
        let may_be_zero = candidate.iter().all(|&value| {
            function.ty(value) == Type::F32
                && general.is_live(value)
                && estimator.may_be_zero_or_not(value)
        });
        if !may_be_zero || estimator.removed_cost(candidate) < MIN_REMOVED_COST {
            return false;
        }
        let effect = estimator.effect(candidate);
        let is_useful = general.cost >= effect.cost + effect.skipped + MIN_REMOVED_COST;
        if is_useful {
            effects.push(effect);
        }
        is_useful
    });
    let implies = |effect: &Effect| {
        all.iter().map(|other| other.iter().all(|&value| effect.is_constant(value))).collect()
    };
    let implied = effects.iter().map(implies).collect();
    (all, implied)
}

/// The values that are in scope at the end of the function, except for constants, in order.
fn outermost(function: &Function) -> Vec<Value> {
    let is_input = |value: &Value| matches!(function.def(*value), Def::Input(_));
    let mut values: Vec<_> = (0..function.len() as u32).map(Value).filter(is_input).collect();
    for stmt in &function.body.stmts {
        match stmt {
            Stmt::Op(value) => values.push(*value),
            Stmt::If(node) => values.extend(&node.results),
            Stmt::Loop(node) => values.extend(&node.results),
        }
    }
    values
}

/// The vectors among the outermost values.
fn vectors(function: &Function) -> Vec<Candidate> {
    let outermost: Vec<_> = outermost(function);
    let in_scope: FxHashSet<_> = outermost.iter().copied().collect();
    let mut found = Vectors { function, in_scope, all: vec![], seen: FxHashSet::default() };
    let mut inputs: Vec<Option<Value>> = vec![None; function.inputs.len()];
    for &value in &outermost {
        if let Def::Input(index) = function.def(value) {
            inputs[index as usize] = Some(value);
        }
    }
    for ports in named_vectors(&function.inputs) {
        let values: Option<Vec<_>> = ports.iter().map(|&port| inputs[port]).collect();
        found.add(values.unwrap_or_default());
    }
    for ports in named_vectors(&function.outputs) {
        found.add(ports.iter().map(|&port| function.body.yields[port]).collect());
    }
    // Operands of isomorphic operations, then isomorphic operations on vectors.
    let mut next = 0;
    while next < found.all.len() {
        found.add_operands(next);
        next += 1;
    }
    let mut users: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
    for &value in &outermost {
        if let Some((_, args)) = function.operation(value) {
            args.iter().for_each(|&arg| users.entry(arg).or_default().push(value));
        }
    }
    let mut next = 0;
    while next < found.all.len() {
        found.add_users(next, &users);
        next += 1;
    }
    found.all
}

/// The indices of ports that are named `v.x`, `v.y`, …, or `v.r`, `v.g`, ….
fn named_vectors(ports: &[Port]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(&str, Vec<usize>)> = vec![];
    for (index, port) in ports.iter().enumerate() {
        let Some((name, component)) = port.name.rsplit_once('.') else { continue };
        if !["x", "y", "z", "w", "r", "g", "b", "a"].contains(&component) {
            continue;
        }
        match groups.last_mut() {
            Some((last, group)) if *last == name && group.len() < MAX_COMPONENTS => {
                group.push(index);
            }
            _ => groups.push((name, vec![index])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// A growing set of vectors.
struct Vectors<'f> {
    function: &'f Function,
    in_scope: FxHashSet<Value>,
    all: Vec<Candidate>,
    seen: FxHashSet<Candidate>,
}

impl Vectors<'_> {
    /// Adds a vector of different values in scope.
    fn add(&mut self, vector: Candidate) {
        let is_vector = (2..=MAX_COMPONENTS).contains(&vector.len())
            && vector.iter().all(|value| self.in_scope.contains(value))
            && vector.iter().collect::<FxHashSet<_>>().len() == vector.len();
        if is_vector && self.seen.insert(vector.clone()) {
            self.all.push(vector);
        }
    }

    /// The operation that defines all components, and its operands by position.
    fn isomorphic(&self, vector: &[Value]) -> Option<(Op, Vec<Candidate>)> {
        let (op, args) = self.function.operation(vector[0])?;
        let mut operands: Vec<_> = args.iter().map(|&arg| vec![arg]).collect();
        for &value in &vector[1..] {
            let (other, args) = self.function.operation(value)?;
            if other != op {
                return None;
            }
            for (operand, &arg) in std::iter::zip(&mut operands, args) {
                operand.push(arg);
            }
        }
        Some((op, operands))
    }

    /// Adds the operands of a vector's components.
    fn add_operands(&mut self, index: usize) {
        if let Some((_, operands)) = self.isomorphic(&self.all[index]) {
            operands.into_iter().for_each(|operand| self.add(operand));
        }
    }

    /// Adds isomorphic operations on the components of a vector. Their other operands are
    /// components of a vector, too, or the same value.
    fn add_users(&mut self, index: usize, users: &FxHashMap<Value, Vec<Value>>) {
        let vector = self.all[index].clone();
        for &first in users.get(&vector[0]).into_iter().flatten() {
            let mut result = vec![first];
            for &component in &vector[1..] {
                let partner = users.get(&component).into_iter().flatten().find(|&&user| {
                    let candidate = [&result[..], &[user]].concat();
                    !result.contains(&user) && self.are_parallel(&candidate, &vector)
                });
                result.extend(partner);
            }
            if result.len() == vector.len() {
                self.add(result);
            }
        }
    }

    /// Whether values are the same operation on components of `vector`, on others, and on values
    /// that they share.
    fn are_parallel(&self, values: &[Value], vector: &[Value]) -> bool {
        let Some((_, operands)) = self.isomorphic(values) else { return false };
        operands.iter().all(|operand| {
            let is_shared = operand.iter().all(|&value| value == operand[0]);
            let starts = |all: &[Value]| all.starts_with(operand);
            is_shared || starts(vector) || self.all.iter().any(|vector| starts(vector))
        })
    }
}
