//! Widening: endpoints of loop parameters that keep growing jump to the next of a set of numbers
//! (jump-set widening, Campos et al. 2012 §3), and finally to infinity.

use super::{NodeId, Solver};
use crate::interval::bounds::Number;
use crate::interval::{Bounds, Floats, Pieces};

/// The numbers to which endpoints jump, ascending, for each type.
pub(super) struct JumpSet {
    floats: Vec<f32>,
    ints: Vec<i32>,
}

impl JumpSet {
    /// The endpoints of the values outside of a component that it depends on, among them its
    /// constants, and those next to them: a counter below n exits at n.
    pub(super) fn of(solver: &Solver<'_, '_>, component: &[NodeId]) -> JumpSet {
        let mut floats = vec![f32::NEG_INFINITY, f32::MIN, -1.0, 0.0, 1.0, f32::MAX, f32::INFINITY];
        let mut ints = vec![i32::MIN, -1, 0, 1, i32::MAX];
        for &node in component {
            for &operand in solver.graph.operands(node) {
                if component.binary_search(&operand).is_ok() {
                    continue;
                }
                match &solver.bounds[operand as usize] {
                    Bounds::Float(x) if !x.pieces.is_empty() => floats.extend([x.low(), x.high()]),
                    Bounds::Int(x) => {
                        for end in x.hull().into_iter().flatten() {
                            ints.extend([end.saturating_sub(1), end, end.saturating_add(1)]);
                        }
                    }
                    _ => {}
                }
            }
        }
        floats.sort_by(f32::total_cmp);
        floats.dedup();
        ints.sort_unstable();
        ints.dedup();
        JumpSet { floats, ints }
    }

    /// Only the numbers that end every growth.
    pub(super) fn limits() -> JumpSet {
        JumpSet {
            floats: vec![f32::NEG_INFINITY, f32::MIN, f32::MAX, f32::INFINITY],
            ints: vec![i32::MIN, i32::MAX],
        }
    }

    /// Widens bounds: endpoints that moved jump.
    pub(super) fn widened(&self, old: &Bounds, new: &Bounds) -> Bounds {
        match (old, new) {
            (Bounds::Float(old), Bounds::Float(new)) => {
                let pieces = widened(&old.pieces, &new.pieces, &self.floats);
                let zero = !old.pieces.contains(0.0) && pieces.contains(0.0);
                Bounds::Float(Floats {
                    pieces,
                    nan: new.nan,
                    negative_zero: new.negative_zero || zero,
                    positive_zero: new.positive_zero || zero,
                })
            }
            (Bounds::Int(old), Bounds::Int(new)) => Bounds::Int(widened(old, new, &self.ints)),
            _ => *new,
        }
    }
}

fn widened<T: Number>(old: &Pieces<T>, new: &Pieces<T>, jumps: &[T]) -> Pieces<T> {
    let (Some([low, high]), Some([a, b])) = (old.hull(), new.hull()) else { return *new };
    let below = || jumps[jumps.partition_point(|&x| x <= a) - 1];
    let above = || jumps[jumps.partition_point(|&x| x < b)];
    Pieces::one(if a < low { below() } else { low }, if b > high { above() } else { high })
}
