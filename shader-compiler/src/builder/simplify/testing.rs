//! Tests rewrite rules, given as pairs of expressions.

use crate::builder::{Builder, Rules};
use crate::ir::{Emit, Op, Type, Value};
use crate::math::eval::ConstantEvaluator;
use crate::random::Random;

/// Variables in expressions: x, y and z are floats, i, j and k integers, p, q and r bools.
const VARIABLES: &str = "xyzijkpqr";

fn type_of(index: usize) -> Type {
    [Type::F32, Type::I32, Type::Bool][index / 3]
}

/// Builds or evaluates an expression such as `sub(x, 1.0)`; also returns the remaining text.
pub(super) fn write<'a, E: Emit>(
    e: &mut E,
    variables: &[E::Value],
    text: &'a str,
) -> (E::Value, &'a str) {
    let end = text.find(['(', ',', ')']).unwrap_or(text.len());
    let (word, mut rest) = (text[..end].trim(), &text[end..]);
    if !rest.starts_with('(') {
        let value = match word {
            "true" | "false" => e.bool(word == "true"),
            _ if word.len() == 1 && VARIABLES.contains(word) => {
                variables[VARIABLES.find(word).expect("a variable")]
            }
            _ if word.contains(['.', 'n']) => e.f32(word.parse().expect("a float")),
            _ => e.i32(word.parse::<i64>().expect("an integer") as i32),
        };
        return (value, rest);
    }
    let op = *Op::ALL
        .iter()
        .find(|op| op.name() == word)
        .unwrap_or_else(|| panic!("no operation `{word}`"));
    let mut args = vec![];
    while !rest.starts_with(')') {
        let (arg, after) = write(e, variables, &rest[1..]);
        args.push(arg);
        rest = after;
    }
    (e.op(op, &args), &rest[1..])
}

/// Checks that each left-hand side becomes its right-hand side under exact and relaxed rules, and
/// that both have the same bits.
pub(super) fn check_exact(rewrites: &[(&str, &str)]) {
    for (left, right) in rewrites {
        check_rewrite(Rules::Exact, left, right);
        check_rewrite(Rules::Relaxed, left, right);
        check_same_bits(left, right, 4000);
    }
}

/// Checks that each left-hand side becomes its right-hand side only under relaxed rules.
pub(super) fn check_relaxed(rewrites: &[(&str, &str)]) {
    for (left, right) in rewrites {
        check_rewrite(Rules::Relaxed, left, right);
        let (_, [a, b]) = build(Rules::Exact, left, right);
        assert!(left == right || a != b, "{left} → {right} is not exact");
    }
}

/// Checks that the builder maps both sides to the same value.
pub(super) fn check_rewrite(rules: Rules, left: &str, right: &str) {
    let (b, [left_value, right_value]) = build(rules, left, right);
    let function = b.finish([("left".to_owned(), left_value), ("right".to_owned(), right_value)]);
    assert!(left_value == right_value, "{left} → {right}: {function:?}");
}

/// Builds both sides of a rewrite in one function.
fn build(rules: Rules, left: &str, right: &str) -> (Builder, [Value; 2]) {
    let mut b = Builder::new("rule", rules);
    let variables: Vec<_> =
        VARIABLES.char_indices().map(|(k, name)| b.input(&name.to_string(), type_of(k))).collect();
    let values = [left, right].map(|text| write(&mut b, &variables, text).0);
    (b, values)
}

/// Checks that both sides evaluate to the same bits, NaN payloads aside.
fn check_same_bits(left: &str, right: &str, rows: usize) {
    let mut random = Random::new(1);
    for row in 0..rows {
        let words: Vec<_> =
            (0..VARIABLES.len()).map(|k| word(&mut random, type_of(k), row)).collect();
        let (a, b) = (
            write(&mut ConstantEvaluator::default(), &words, left).0,
            write(&mut ConstantEvaluator::default(), &words, right).0,
        );
        let nan = |bits| f32::from_bits(bits).is_nan();
        assert!(a == b || nan(a) && nan(b), "{left} = {a:#x}, {right} = {b:#x} for {words:x?}");
    }
}

/// A special or random word.
fn word(random: &mut Random, ty: Type, row: usize) -> u32 {
    const FLOATS: [f32; 14] = [
        0.0,
        1.0,
        f32::INFINITY,
        f32::NAN,
        1e-45,
        f32::MIN_POSITIVE,
        1.5e-38,
        f32::MAX,
        0.5,
        2.5,
        8388607.5,
        1e30,
        3.0,
        1.0000001,
    ];
    const INTEGERS: [u32; 10] =
        [0, 1, 2, 31, 32, u32::MAX, 0x8000_0000, 0x7fff_ffff, 0x8000_0001, 7];
    let bits = random.bits();
    let special = row % 4 != 3;
    match ty {
        Type::F32 if special => {
            FLOATS[(bits >> 8) as usize % FLOATS.len()].to_bits() ^ ((bits as u32 & 1) << 31)
        }
        Type::I32 if special => INTEGERS[(bits >> 8) as usize % INTEGERS.len()],
        Type::F32 | Type::I32 => (bits >> 16) as u32,
        Type::Bool => ((bits >> 20 & 1) as u32).wrapping_neg(),
    }
}
