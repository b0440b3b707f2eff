//! What the order of two values implies for their difference: after `a < b`, b − a is positive.
//!
//! Rounding does not change the sign of a difference, since subnormals are kept. So the difference
//! of two floats that are not equal is at least the least positive float in magnitude.

use super::conditions::{Implied, Inequality};
use crate::interval::{Bounds, Floats, Ints, Pieces};
use crate::ir::{Block, Function, Op, Stmt, Value};

/// The least positive float.
const LEAST_POSITIVE: f32 = f32::from_bits(1);

/// The differences of values where orders are known.
pub(crate) struct Differences<'a> {
    pub function: &'a Function,
    /// The bounds of all values.
    pub bounds: &'a [Bounds],
    pub known: &'a Implied<'a>,
}

/// Bounds on the differences in blocks where conditions put their operands in order. They hold for
/// values, not for the endpoints of interval lowerings.
pub(crate) fn of_blocks(function: &Function, bounds: &[Bounds]) -> Vec<(Value, Bounds)> {
    let is_number =
        |value: Value| !matches!(bounds[value.index()], Bounds::Float(floats) if floats.nan);
    let mut found = vec![];
    let known = Implied::new(function, &is_number);
    visit(&function.body, &Differences { function, bounds, known: &known }, &mut found);
    found
}

/// Visits a block, in which some orders are known.
fn visit(block: &Block, differences: &Differences<'_>, found: &mut Vec<(Value, Bounds)>) {
    let visit_where = |cond: Value, truth: bool, block: &Block, found: &mut _| {
        let mut known = differences.known.clone();
        known.add_implied(cond, truth);
        visit(block, &Differences { known: &known, ..*differences }, found);
    };
    for stmt in &block.stmts {
        match stmt {
            Stmt::Op(value) => {
                found.extend(differences.of(*value).map(|bounds| (*value, bounds)));
            }
            Stmt::If(node) => {
                visit_where(node.cond, true, &node.then, found);
                visit_where(node.cond, false, &node.otherwise, found);
            }
            Stmt::Loop(node) => {
                visit(&node.head, differences, found);
                visit_where(node.cond, true, &node.body, found);
            }
        }
    }
}

impl Differences<'_> {
    /// The bounds of a difference; `None` if the value is not a difference.
    pub fn of(&self, value: Value) -> Option<Bounds> {
        match self.function.operation(value)? {
            (Op::Sub, &[x, y]) => Some(Bounds::Float(self.of_floats(x, y))),
            (Op::ISub, &[x, y]) => Some(Bounds::Int(self.of_integers(x, y))),
            _ => None,
        }
    }

    /// The bounds of the float x − y, which may be NaN.
    pub fn of_floats(&self, x: Value, y: Value) -> Floats {
        let low = self.least_difference(x, y).unwrap_or(f32::NEG_INFINITY);
        let high = -self.least_difference(y, x).unwrap_or(f32::NEG_INFINITY);
        let mut pieces = Floats::all().pieces.within(low, high);
        if self.known.different_from(x).any(|other| other == y) {
            let below = pieces.within(f32::NEG_INFINITY, -LEAST_POSITIVE);
            pieces = below.join(&pieces.within(LEAST_POSITIVE, f32::INFINITY));
        }
        // The difference of unequal numbers is not NaN, even if they are infinite.
        let are_unequal_numbers = |order: &Inequality| {
            order.is_strict
                && order.is_ordered
                && [[x, y], [y, x]].contains(&[order.low, order.high])
        };
        let nan = !self.known.orders.iter().any(are_unequal_numbers);
        Floats { nan, ..Floats::of(pieces) }
    }

    /// A lower bound on high − low, unless it is NaN; `None` if no order implies one.
    ///
    /// Rounding is monotone: if a + c is rounded to a float below b, then a + c < b before
    /// rounding, too. So b − a > c, which is rounded to at least c. The same holds if a is below b
    /// − c.
    fn least_difference(&self, high: Value, low: Value) -> Option<f32> {
        let operation = |value: Value| self.function.operation(value);
        let is_number = self.known.is_number;
        let least = |order: &Inequality| {
            let offset = match (operation(order.low), operation(order.high)) {
                _ if order.low == low && order.high == high => return Some(0.0),
                (Some((Op::Add, &[a, c])), _) if a == low && order.high == high => c,
                (Some((Op::Add, &[c, a])), _) if a == low && order.high == high => c,
                (_, Some((Op::Sub, &[b, c]))) if b == high && order.low == low => c,
                _ => return None,
            };
            // A sum that is NaN says nothing of the difference.
            let is_ordered = order.is_ordered || is_number(order.low) && is_number(order.high);
            let Bounds::Float(offset) = &self.bounds[offset.index()] else { return None };
            let is_known = order.is_strict && is_ordered && !offset.pieces.is_empty();
            is_known.then(|| offset.low())
        };
        let of = |order: &Inequality| {
            let least = least(order)?;
            let is_positive = order.is_strict && least >= 0.0;
            Some(if is_positive { least.max(LEAST_POSITIVE) } else { least })
        };
        self.known.orders.iter().filter_map(of).reduce(f32::max)
    }

    /// The bounds of the integer x − y, which wraps around.
    fn of_integers(&self, x: Value, y: Value) -> Ints {
        let (mut low, mut high) = (i32::MIN, i32::MAX);
        let mut is_nonzero = self.known.different_from(x).any(|other| other == y);
        let hull = |value: Value| self.bounds[value.index()].ints().hull();
        let (Some([least_x, greatest_x]), Some([least_y, greatest_y])) = (hull(x), hull(y)) else {
            return Pieces::empty();
        };
        let is_exact =
            greatest_x.checked_sub(least_y).is_some() && least_x.checked_sub(greatest_y).is_some();
        let are_nonnegative = least_x >= 0 && least_y >= 0;
        for order in &self.known.orders {
            let is_greater = [order.low, order.high] == [y, x];
            if !is_greater && [order.low, order.high] != [x, y] {
                continue;
            }
            is_nonzero |= order.is_strict;
            if is_exact && (!order.is_unsigned || are_nonnegative) {
                match is_greater {
                    true => low = low.max(0),
                    false => high = high.min(0),
                }
            }
        }
        let all = Pieces::one(i32::MIN, i32::MAX).within(low, high);
        match is_nonzero {
            true => all.within(i32::MIN, -1).join(&all.within(1, i32::MAX)),
            false => all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;
    use crate::interval::Nan;
    use crate::ir::Type;
    use crate::ir::text::parse;
    use crate::random::Random;
    use crate::testing::random::word;

    /// The bounds of the last difference in a function.
    fn last_difference(text: &str, inputs: &[Bounds]) -> Bounds {
        let function = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let scalars = vec![false; function.len()];
        let bounds =
            super::super::solve::run(&function, &scalars, inputs, Nan::Ignore, Default::default());
        of_blocks(&function, &bounds).pop().expect("there is a difference").1
    }

    /// A function that returns a − b in an arm for a condition, and 1 elsewhere.
    fn text(cond: &str, op: &str, ty: &str) -> String {
        let one = if op == "sub" { "1.0" } else { "1" };
        format!(
            "fn f(a: {ty}, b: {ty}, c: {ty}) -> (r: {ty}) {{
               {cond}
               %r = if %c {{ %d = {op} a, b yield %d }} else {{ yield {one} }}
               return %r
             }}"
        )
    }

    #[test]
    fn orders_give_differences_a_sign() {
        let floats = |nan| [Bounds::Float(Floats { nan, ..Floats::all() }); 3];
        let smallest = LEAST_POSITIVE;
        for (cond, nan, expected) in [
            ("%c = lt b, a", true, [smallest, f32::INFINITY]),
            ("%c = le b, a", true, [0.0, f32::INFINITY]),
            ("%n = lt b, a %c = bnot %n", true, [f32::NEG_INFINITY, 0.0]),
            ("%s = add b, 2.0 %c = lt %s, a", true, [2.0, f32::INFINITY]),
            (
                "%s = add b, 2.0 %n = le a, %s %c = bnot %n",
                true,
                [f32::NEG_INFINITY, f32::INFINITY],
            ),
            ("%s = sub a, 0.5 %c = lt b, %s", false, [0.5, f32::INFINITY]),
            ("%x = lt a, c %y = lt b, a %c = band %x, %y", true, [smallest, f32::INFINITY]),
        ] {
            let text = text(cond, "sub", "f32");
            let bounds = last_difference(&text, &floats(nan));
            let [low, high] = [bounds.floats().low(), bounds.floats().high()];
            assert_eq!([low, high], expected, "{cond}");
            assert_eq!(bounds.floats().nan, !cond.contains("lt b, a") || cond.contains("bnot"));
        }
        let small = [Bounds::Int(Pieces::one(-50, 50)); 3];
        let text = text("%c = slt b, a", "isub", "i32");
        assert_eq!(last_difference(&text, &small), Bounds::Int(Pieces::one(1, i32::MAX)));
        let all = [Bounds::all(Type::I32); 3];
        assert!(!last_difference(&text, &all).contains(0));
    }

    #[test]
    fn differences_of_members_are_within_their_bounds() {
        let mut random = Random::new(12);
        let mut taken = 0;
        for (op, ty) in [("sub", Type::F32), ("isub", Type::I32)] {
            let conds: &[&str] = match ty {
                Type::F32 => &[
                    "%c = lt b, a",
                    "%c = le a, b",
                    "%n = le a, b %c = bnot %n",
                    "%n = eq a, b %c = bnot %n",
                    "%s = add b, c %c = lt %s, a",
                    "%s = add c, b %n = le a, %s %c = bnot %n",
                    "%s = sub b, c %c = lt a, %s",
                    "%m = max b, c %c = lt %m, a",
                ],
                _ => &[
                    "%c = slt b, a",
                    "%n = slt b, a %c = bnot %n",
                    "%c = ult a, b",
                    "%n = ieq a, b %c = bnot %n",
                    "%m = smin b, c %c = slt a, %m",
                ],
            };
            for cond in conds {
                let text = text(cond, op, if ty == Type::F32 { "f32" } else { "i32" });
                let function = parse(&text).unwrap();
                for _ in 0..300 {
                    let rows: Vec<[u32; 3]> = (0..4)
                        .map(|_| {
                            let a = word(&mut random, ty);
                            let near = a.wrapping_add(random.below(3) as u32).wrapping_sub(1);
                            let b = if random.once_in(2) { near } else { word(&mut random, ty) };
                            [a, b, word(&mut random, ty)]
                        })
                        .collect();
                    let inputs = [0, 1, 2].map(|k| {
                        let all = rows.iter().map(|row| Bounds::constant(ty, row[k]));
                        all.reduce(|a, b| a.join(&b)).expect("there are rows")
                    });
                    let bounds = last_difference(&text, &inputs);
                    for row in &rows {
                        let one = if ty == Type::F32 { 1f32.to_bits() } else { 1 };
                        let result = interpreter::run(&function, &[], row, 1).unwrap()[0];
                        taken += usize::from(result != one);
                        assert!(
                            result == one || bounds.contains(result),
                            "{text} {row:x?}: {result:x} is not in {bounds}"
                        );
                    }
                }
            }
        }
        assert!(taken > 3000, "{taken}");
    }
}
