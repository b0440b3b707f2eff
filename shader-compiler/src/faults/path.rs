//! Bounds of values where the conditions of a path hold. All floats are finite there.

use crate::analysis::conditions::{Implied, Inequality};
use crate::analysis::differences::Differences;
use crate::analysis::transfer::transfer;
use crate::interval::{Bools, Bounds, Floats, Ints, Nan, Pieces};
use crate::ir::{Function, Op, Value};

/// Greatest number of operations, one on the result of another, up to which operands are refined.
const MAX_DEPTH: u32 = 4;

/// The possible results of an operation on operands within bounds. Unlike those of
/// [`transfer`], they do not include results for gaps between pieces. `same` states that the first
/// two operands are one value.
pub(super) fn results(op: Op, args: &[Bounds], same: bool) -> Bounds {
    let has_gap = |bounds: &Bounds| match bounds {
        Bounds::Float(floats) => !floats.nan && floats.pieces.iter().count() > 1,
        _ => false,
    };
    let Some(index) = args.iter().position(has_gap).filter(|_| !same) else {
        return transfer(op, args, same, Nan::Ignore);
    };
    let floats = args[index].floats();
    let of_piece = |[low, high]: [f32; 2]| {
        let mut args = args.to_vec();
        args[index] = Bounds::Float(floats.meet(&Floats::between(low, high)));
        results(op, &args, same)
    };
    let all = floats.pieces.iter().map(of_piece).reduce(|a, b| a.join(&b));
    all.expect("there are pieces")
}

/// The bounds of a function's values, and what conditions imply.
#[derive(Clone)]
pub(super) struct PathBounds<'a> {
    function: &'a Function,
    bounds: &'a [Bounds],
    known: Implied<'a>,
}

impl<'a> PathBounds<'a> {
    /// The bounds where conditions have these values.
    pub fn new(
        function: &'a Function,
        bounds: &'a [Bounds],
        path: &[(Value, bool)],
    ) -> PathBounds<'a> {
        let mut known = Implied::new(function, &|_| true);
        path.iter().for_each(|&(cond, truth)| known.add_implied(cond, truth));
        PathBounds { function, bounds, known }
    }

    /// The bounds of a value.
    pub fn of(&self, value: Value) -> Bounds {
        self.refined(value, MAX_DEPTH)
    }

    fn refined(&self, value: Value, depth: u32) -> Bounds {
        let mut bounds = self.compared(value);
        let Some((op, operands)) = self.function.operation(value) else { return bounds };
        if depth == 0 || op.is_load() {
            return bounds;
        }
        if let Some(difference) = self.differences().of(value) {
            bounds = bounds.meet(&difference);
        }
        let from_operands = match *operands {
            [cond, then, otherwise] if op == Op::Select => {
                let arm = |value: Value, truth: bool| {
                    let Bools { may_be_false, may_be_true } = self.bounds[cond.index()].bools();
                    if !(if truth { may_be_true } else { may_be_false }) {
                        return Bounds::empty(self.function.ty(value));
                    }
                    let mut selected = self.clone();
                    selected.known.add_implied(cond, truth);
                    selected.refined(value, depth - 1)
                };
                arm(then, true).join(&arm(otherwise, false))
            }
            _ => {
                let args: Vec<Bounds> =
                    operands.iter().map(|&operand| self.refined(operand, depth - 1)).collect();
                results(op, &args, operands.len() > 1 && operands[0] == operands[1])
            }
        };
        bounds.meet(&from_operands)
    }

    /// The bounds that follow from comparisons of a value, or of its magnitude.
    fn compared(&self, value: Value) -> Bounds {
        let bounds = self.bounds[value.index()];
        if self.function.constant(value).is_some() {
            return bounds;
        }
        match bounds {
            Bounds::Float(floats) => {
                Bounds::Float(self.compared_floats(value, &floats.meet(&Floats::finite())))
            }
            Bounds::Int(ints) => Bounds::Int(self.compared_ints(value, ints)),
            Bounds::Bool(_) => bounds,
        }
    }

    fn compared_floats(&self, value: Value, floats: &Floats) -> Floats {
        let (min, max) = (f32::MIN, f32::MAX);
        let is_magnitude =
            |other: Value| self.function.operation(other) == Some((Op::Abs, &[value][..]));
        let mut pieces = floats.pieces;
        for &Inequality { low, high, is_strict, .. } in &self.known.orders {
            if let Some([_, end]) = self.hull(high) {
                let end = if is_strict { end.next_down() } else { end };
                if low == value {
                    pieces = pieces.within(min, end);
                } else if is_magnitude(low) {
                    pieces = pieces.within(-end, end);
                }
            }
            if let Some([end, _]) = self.hull(low) {
                let end = if is_strict { end.next_up() } else { end };
                if high == value {
                    pieces = pieces.within(end, max);
                } else if is_magnitude(high) && end > 0.0 {
                    pieces = pieces.within(min, -end).join(&pieces.within(end, max));
                }
            }
        }
        for other in self.known.different_from(value) {
            if let Some([low, high]) = self.hull(other)
                && low == high
            {
                let below = pieces.within(min, low.next_down());
                pieces = below.join(&pieces.within(low.next_up(), max));
            }
        }
        floats.meet(&Floats::of(pieces))
    }

    fn compared_ints(&self, value: Value, mut ints: Ints) -> Ints {
        let hull = |other: Value| self.bounds[other.index()].ints().hull();
        for &Inequality { low, high, is_strict, is_unsigned, .. } in &self.known.orders {
            let step = i32::from(is_strict);
            if low == value
                && let Some([least, end]) = hull(high)
            {
                ints = match end.checked_sub(step) {
                    // Not negative, as it is at most an unsigned integer below 2³¹.
                    Some(end) if is_unsigned && least >= 0 => ints.within(0, end),
                    _ if is_unsigned => ints,
                    Some(end) => ints.within(i32::MIN, end),
                    None => Pieces::empty(),
                };
            }
            if high == value
                && let Some([end, _]) = hull(low)
            {
                let above = match end.checked_add(step) {
                    Some(end) => ints.within(end, i32::MAX),
                    None => Pieces::empty(),
                };
                ints = match is_unsigned {
                    false => above,
                    // Integers from 2³¹ on are negative as signed ones.
                    true if end >= 0 => above.join(&ints.within(i32::MIN, -1)),
                    true => ints,
                };
            }
        }
        for other in self.known.different_from(value) {
            if let Some([x, end]) = hull(other)
                && x == end
            {
                let below = x.checked_sub(1).map(|end| ints.within(i32::MIN, end));
                let above = x.checked_add(1).map(|end| ints.within(end, i32::MAX));
                ints = [below, above].iter().flatten().fold(Pieces::empty(), Pieces::join);
            }
        }
        ints
    }

    /// Whether two floats are not equal.
    pub fn are_different(&self, x: Value, y: Value) -> bool {
        !self.differences().of_floats(x, y).contains(0.0)
    }

    /// What the order of two values implies for their difference.
    fn differences(&self) -> Differences<'_> {
        Differences { function: self.function, bounds: self.bounds, known: &self.known }
    }

    /// The bounds of a float, if it is one.
    fn hull(&self, value: Value) -> Option<[f32; 2]> {
        match &self.bounds[value.index()] {
            Bounds::Float(floats) => floats.pieces.hull(),
            _ => None,
        }
    }
}
