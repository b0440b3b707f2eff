//! WGSL's operators, in terms of leaves: arithmetic, comparisons, logic, conversions, matrix
//! products.
//!
//! Sums of products, as in matrix × vector, are added from left to right, without fma.

use crate::builder::Builder;
use crate::ir::{Emit, Op, Type, Value};
use naga::{
    BinaryOperator as Bin, RelationalFunction, ScalarKind as Kind, TypeInner, UnaryOperator,
};

/// The k-th component; a scalar is broadcast.
pub(crate) fn at(values: &[Value], k: usize) -> Value {
    if values.len() == 1 { values[0] } else { values[k] }
}

/// Logical not; a double negation cancels.
pub(crate) fn not(b: &mut Builder, a: Value) -> Value {
    match b.function().operation(a) {
        Some((Op::BNot, args)) => args[0],
        _ => b.op(Op::BNot, &[a]),
    }
}

/// Σ x·y, added from left to right.
pub(crate) fn dot(
    b: &mut Builder,
    kind: Kind,
    x: impl IntoIterator<Item = Value>,
    y: &[Value],
) -> Value {
    let (mul, add) = if kind == Kind::Float { (Op::Mul, Op::Add) } else { (Op::IMul, Op::IAdd) };
    let mut sum = None;
    for (x, &y) in x.into_iter().zip(y) {
        let term = b.op(mul, &[x, y]);
        sum = Some(sum.map_or(term, |sum| b.op(add, &[sum, term])));
    }
    sum.expect("vectors have components")
}

pub(crate) fn unary(
    b: &mut Builder,
    op: UnaryOperator,
    kind: Kind,
    a: &[Value],
    out: &mut Vec<Value>,
) {
    for &a in a {
        out.push(match (op, kind) {
            (UnaryOperator::Negate, Kind::Float) => b.op(Op::Neg, &[a]),
            (UnaryOperator::Negate, _) => negate(b, a),
            (UnaryOperator::LogicalNot, _) => not(b, a),
            (UnaryOperator::BitwiseNot, _) => {
                let ones = b.i32(-1);
                b.op(Op::Xor, &[a, ones])
            }
        });
    }
}

/// −a for integers, wrapping.
pub(crate) fn negate(b: &mut Builder, a: Value) -> Value {
    let zero = b.i32(0);
    b.op(Op::ISub, &[zero, a])
}

/// `left op right`, for operands given by type and leaves. Matrix products follow linear algebra;
/// all other operations are component-wise, with scalars broadcast.
pub(crate) fn binary(
    b: &mut Builder,
    op: Bin,
    left: (&TypeInner, &[Value]),
    right: (&TypeInner, &[Value]),
    out: &mut Vec<Value>,
) {
    let kind = left.0.scalar_kind().expect("operands are made of scalars");
    if op == Bin::Multiply {
        match (left.0, right.0) {
            (
                TypeInner::Matrix { rows, .. },
                TypeInner::Vector { .. } | TypeInner::Matrix { .. },
            ) => {
                let (rows, inner) = (*rows as usize, left.1.len() / *rows as usize);
                for column in right.1.chunks(inner) {
                    for row in 0..rows {
                        out.push(dot(
                            b,
                            kind,
                            left.1.iter().copied().skip(row).step_by(rows),
                            column,
                        ));
                    }
                }
                return;
            }
            (TypeInner::Vector { .. }, TypeInner::Matrix { rows, .. }) => {
                for column in right.1.chunks(*rows as usize) {
                    out.push(dot(b, kind, left.1.iter().copied(), column));
                }
                return;
            }
            _ => {}
        }
    }
    for k in 0..left.1.len().max(right.1.len()) {
        let value = scalar_binary(b, op, kind, at(left.1, k), at(right.1, k));
        out.push(value);
    }
}

/// Selects an op by scalar kind.
fn by_kind(kind: Kind, float: Op, sint: Op, uint: Op) -> Op {
    match kind {
        Kind::Float | Kind::AbstractFloat => float,
        Kind::Sint | Kind::AbstractInt => sint,
        Kind::Uint => uint,
        Kind::Bool => unreachable!("there is no arithmetic on bools"),
    }
}

fn scalar_binary(b: &mut Builder, op: Bin, kind: Kind, x: Value, y: Value) -> Value {
    let is_bool = kind == Kind::Bool;
    let op = match op {
        Bin::Add => by_kind(kind, Op::Add, Op::IAdd, Op::IAdd),
        Bin::Subtract => by_kind(kind, Op::Sub, Op::ISub, Op::ISub),
        Bin::Multiply => by_kind(kind, Op::Mul, Op::IMul, Op::IMul),
        Bin::Divide => by_kind(kind, Op::Div, Op::SDiv, Op::UDiv),
        Bin::Modulo => by_kind(kind, Op::Rem, Op::SRem, Op::URem),
        Bin::And if is_bool => Op::BAnd,
        Bin::InclusiveOr if is_bool => Op::BOr,
        Bin::ExclusiveOr if is_bool => Op::BXor,
        Bin::And => Op::And,
        Bin::InclusiveOr => Op::Or,
        Bin::ExclusiveOr => Op::Xor,
        Bin::LogicalAnd => Op::BAnd,
        Bin::LogicalOr => Op::BOr,
        Bin::ShiftLeft => Op::Shl,
        Bin::ShiftRight => by_kind(kind, Op::LShr, Op::AShr, Op::LShr),
        Bin::NotEqual if is_bool => Op::BXor,
        Bin::Equal if !is_bool => by_kind(kind, Op::Eq, Op::IEq, Op::IEq),
        Bin::Less => by_kind(kind, Op::Lt, Op::SLt, Op::ULt),
        Bin::LessEqual if kind == Kind::Float => Op::Le,
        Bin::Greater => return scalar_binary(b, Bin::Less, kind, y, x),
        Bin::GreaterEqual if kind == Kind::Float => {
            return scalar_binary(b, Bin::LessEqual, kind, y, x);
        }
        // The IR has no ops for these.
        Bin::Equal => return negated(b, Bin::NotEqual, kind, x, y),
        Bin::NotEqual => return negated(b, Bin::Equal, kind, x, y),
        Bin::LessEqual => return negated(b, Bin::Less, kind, y, x),
        Bin::GreaterEqual => return negated(b, Bin::Less, kind, x, y),
    };
    b.op(op, &[x, y])
}

/// The negation of a comparison.
fn negated(b: &mut Builder, op: Bin, kind: Kind, x: Value, y: Value) -> Value {
    let value = scalar_binary(b, op, kind, x, y);
    not(b, value)
}

/// `accept` if `cond`, else `reject`. Emits no select if the result is known.
pub(crate) fn choose(b: &mut Builder, cond: Value, accept: Value, reject: Value) -> Value {
    match b.known_bool(cond) {
        _ if accept == reject => accept,
        Some(true) => accept,
        Some(false) => reject,
        None => b.op(Op::Select, &[cond, accept, reject]),
    }
}

pub(crate) fn select(
    b: &mut Builder,
    cond: &[Value],
    accept: &[Value],
    reject: &[Value],
    out: &mut Vec<Value>,
) {
    for k in 0..accept.len() {
        let value = choose(b, at(cond, k), accept[k], reject[k]);
        out.push(value);
    }
}

/// The functions `all` and `any`.
pub(crate) fn relational(
    b: &mut Builder,
    fun: RelationalFunction,
    a: &[Value],
    out: &mut Vec<Value>,
) -> Result<(), String> {
    let op = match fun {
        RelationalFunction::All => Op::BAnd,
        RelationalFunction::Any => Op::BOr,
        _ => return Err(format!("`{fun:?}` is not a function of WGSL")),
    };
    let result = a.iter().copied().reduce(|x, y| b.op(op, &[x, y]));
    out.push(result.expect("vectors have components"));
    Ok(())
}

/// Converts values, or reinterprets their bits if `bits_only`.
pub(crate) fn convert(
    b: &mut Builder,
    from: Kind,
    to: Kind,
    bits_only: bool,
    a: &[Value],
    out: &mut Vec<Value>,
) {
    for &a in a {
        let value = if bits_only { bitcast(b, to, a) } else { convert_value(b, from, to, a) };
        out.push(value);
    }
}

fn bitcast(b: &mut Builder, to: Kind, a: Value) -> Value {
    match (b.ty(a), to) {
        (Type::F32, Kind::Sint | Kind::Uint) => b.op(Op::Bits, &[a]),
        (Type::I32, Kind::Float) => b.op(Op::Float, &[a]),
        _ => a,
    }
}

fn convert_value(b: &mut Builder, from: Kind, to: Kind, a: Value) -> Value {
    match (from, to) {
        (Kind::Float, Kind::Sint) => b.op(Op::ToS32, &[a]),
        (Kind::Float, Kind::Uint) => b.op(Op::ToU32, &[a]),
        (Kind::Sint, Kind::Float) => b.op(Op::FromS32, &[a]),
        (Kind::Uint, Kind::Float) => b.op(Op::FromU32, &[a]),
        (Kind::Bool, Kind::Float) => {
            let (one, zero) = (b.f32(1.0), b.f32(0.0));
            choose(b, a, one, zero)
        }
        (Kind::Bool, Kind::Sint | Kind::Uint) => {
            let (one, zero) = (b.i32(1), b.i32(0));
            choose(b, a, one, zero)
        }
        (Kind::Float, Kind::Bool) => {
            let zero = b.f32(0.0);
            scalar_binary(b, Bin::NotEqual, Kind::Float, a, zero)
        }
        (Kind::Sint | Kind::Uint, Kind::Bool) => {
            let zero = b.i32(0);
            scalar_binary(b, Bin::NotEqual, Kind::Sint, a, zero)
        }
        _ => a,
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::testing::{Numbers, check, translate};
    use crate::ir::Op;
    use crate::ir::types::Word;

    #[test]
    fn float_operators_match_ir_ops() {
        let f = translate(
            "struct R { r: array<f32, 6>, b: array<bool, 6> }
            fn f(x: f32, y: f32) -> R {
                return R(array(x + y, x - y, x * y, x / y, x % y, -x), array((x < y), x <= y, (x > y), x >= y, x == y, x != y));
            }",
        );
        let mut numbers = Numbers::new(1);
        for _ in 0..2000 {
            let (x, y) =
                (numbers.float(), if numbers.below(8) == 0 { 0.5 } else { numbers.float() });
            let inputs = [x.to_bits(), y.to_bits()];
            let mut expected = [x + y, x - y, x * y, x / y, 0.0, -x].map(f32::to_bits).to_vec();
            expected[4] = Op::Rem.eval(&inputs);
            expected.extend([x < y, x <= y, x > y, x >= y, x == y, x != y].map(Word::to_bits));
            check(&f, &inputs, &expected);
        }
    }

    #[test]
    fn integer_operators_wrap() {
        let source = |ty: &str| {
            format!(
                "struct R {{ r: array<{ty}, 11>, b: array<bool, 6> }}
                fn f(x: {ty}, y: {ty}, n: u32) -> R {{
                    return R(array(x + y, x - y, x * y, x / y, x % y, ~x, x & y, x | y, x ^ y, x << n, x >> n),
                        array((x < y), x <= y, (x > y), x >= y, x == y, x != y));
                }}"
            )
        };
        let (signed, unsigned) = (translate(&source("i32")), translate(&source("u32")));
        let mut numbers = Numbers::new(2);
        for _ in 0..2000 {
            let (x, y, n) = (
                numbers.int(),
                if numbers.below(8) == 0 { 7 } else { numbers.int() },
                numbers.int(),
            );
            let common = |div, rem| {
                [
                    x.wrapping_add(y),
                    x.wrapping_sub(y),
                    x.wrapping_mul(y),
                    div,
                    rem,
                    !x,
                    x & y,
                    x | y,
                    x ^ y,
                    x << (n & 31),
                ]
                .to_vec()
            };
            let mut expected = common(Op::UDiv.eval(&[x, y]), Op::URem.eval(&[x, y]));
            expected.push(x >> (n & 31));
            expected.extend([x < y, x <= y, x > y, x >= y, x == y, x != y].map(Word::to_bits));
            check(&unsigned, &[x, y, n], &expected);
            let mut expected = common(Op::SDiv.eval(&[x, y]), Op::SRem.eval(&[x, y]));
            expected.push((x as i32 >> (n & 31)) as u32);
            let (x, y) = (x as i32, y as i32);
            expected.extend([x < y, x <= y, x > y, x >= y, x == y, x != y].map(Word::to_bits));
            check(&signed, &[x as u32, y as u32, n], &expected);
        }
        let negate = translate("fn f(x: i32) -> i32 { return -x; }");
        check(&negate, &[5], &[-5i32 as u32]);
        check(&negate, &[0x8000_0000], &[0x8000_0000]);
    }

    #[test]
    fn bool_operators_match_truth_tables() {
        let f = translate(
            "fn f(x: bool, y: bool) -> array<bool, 7> { return array(x & y, x | y, x && y, x || y, !x, x == y, x != y); }",
        );
        for (x, y) in [(false, false), (false, true), (true, false), (true, true)] {
            let expected = [x & y, x | y, x && y, x || y, !x, x == y, x != y].map(Word::to_bits);
            check(&f, &[x.to_bits(), y.to_bits()], &expected);
        }
    }

    #[test]
    fn scalars_are_broadcast_to_vectors() {
        let f = translate(
            "struct R { a: vec3f, b: vec3f, c: vec3f, d: vec2i, e: vec3<bool>, g: vec2u }
            fn f(v: vec3f, s: f32, n: vec2i, u: vec2u) -> R {
                return R(v * s + 1.0, s / v, s - v * v, n * 3 - n.yx, v < vec3(s), (u << vec2(1u, 2u)) | vec2(1u));
            }",
        );
        let mut numbers = Numbers::new(3);
        for _ in 0..200 {
            let (v, s) = ([numbers.float(), numbers.float(), numbers.float()], numbers.float());
            let (n, u) = ([numbers.int(), numbers.int()], [numbers.int(), numbers.int()]);
            let mut inputs = v.map(f32::to_bits).to_vec();
            inputs.push(s.to_bits());
            inputs.extend(n);
            inputs.extend(u);
            let mut expected = v.map(|v| (v * s + 1.0).to_bits()).to_vec();
            expected.extend(v.map(|v| (s / v).to_bits()));
            expected.extend(v.map(|v| (s - v * v).to_bits()));
            expected.extend([0, 1].map(|k| n[k].wrapping_mul(3).wrapping_sub(n[1 - k])));
            expected.extend(v.map(|v| (v < s).to_bits()));
            expected.extend([u[0] << 1 | 1, u[1] << 2 | 1]);
            check(&f, &inputs, &expected);
        }
    }

    #[test]
    fn matrix_products_follow_linear_algebra() {
        let f = translate(
            "struct R { mv: vec2f, vm: vec3f, mm: mat2x2f, sum: mat3x2f, difference: mat3x2f, scaled: mat3x2f, scaled2: mat3x2f }
            fn f(m: mat3x2f, k: mat2x3f, v: vec3f, w: vec2f, s: f32) -> R {
                return R(m * v, w * m, m * k, m + m * s, m - s * m, m * s, s * m);
            }",
        );
        let mut numbers = Numbers::new(4);
        for _ in 0..200 {
            let inputs: [f32; 18] = std::array::from_fn(|_| numbers.moderate());
            let (m, k, v, w, s) =
                (&inputs[..6], &inputs[6..12], &inputs[12..15], &inputs[15..17], inputs[17]);
            let mut expected = vec![];
            expected.extend((0..2).map(|r| m[r] * v[0] + m[2 + r] * v[1] + m[4 + r] * v[2]));
            expected.extend((0..3).map(|c| w[0] * m[2 * c] + w[1] * m[2 * c + 1]));
            for c in 0..2 {
                expected.extend(
                    (0..2).map(|r| {
                        m[r] * k[3 * c] + m[2 + r] * k[3 * c + 1] + m[4 + r] * k[3 * c + 2]
                    }),
                );
            }
            expected.extend(m.iter().map(|m| m + m * s));
            expected.extend(m.iter().map(|m| m - s * m));
            expected.extend(m.iter().chain(m).map(|m| m * s));
            let to_words = |floats: &[f32]| floats.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            check(&f, &to_words(&inputs), &to_words(&expected));
        }
    }

    #[test]
    fn select_chooses_by_condition() {
        let f = translate(
            "struct R { a: f32, b: vec2f, c: vec2f, d: bool, e: bool }
            fn f(c: bool, d: vec2<bool>, x: vec2f, y: vec2f) -> R {
                return R(select(x.x, y.x, c), select(x, y, c), select(x, y, d), all(d), any(d));
            }",
        );
        for k in 0..8u32 {
            let [c, d, e] = [k & 1 != 0, k & 2 != 0, k & 4 != 0];
            let inputs = [c.to_bits(), d.to_bits(), e.to_bits(), 10, 20, 30, 40];
            let pick = |c: bool, k: usize| if c { inputs[5 + k] } else { inputs[3 + k] };
            let expected = [
                pick(c, 0),
                pick(c, 0),
                pick(c, 1),
                pick(d, 0),
                pick(e, 1),
                (d && e).to_bits(),
                (d || e).to_bits(),
            ];
            check(&f, &inputs, &expected);
        }
    }

    #[test]
    fn conversions_follow_wgsl() {
        let f = translate(
            "struct R { i: array<i32, 3>, u: array<u32, 3>, f: array<f32, 3>, b: array<bool, 3>, bits: vec3u, back: vec2f, s: i32 }
            fn f(x: f32, i: i32, u: u32, b: bool) -> R {
                return R(array(i32(x), i32(u), i32(b)), array(u32(x), u32(i), u32(b)), array(f32(i), f32(u), f32(b)),
                    array(bool(x), bool(i), bool(u)), vec3u(bitcast<u32>(x), bitcast<u32>(i), u32(u)),
                    vec2f(bitcast<f32>(i), bitcast<f32>(u)), bitcast<i32>(x));
            }",
        );
        let mut numbers = Numbers::new(5);
        for _ in 0..1000 {
            let (x, i, u, b) =
                (numbers.float(), numbers.int(), numbers.int(), numbers.below(2) == 1);
            let word = x.to_bits();
            let flag = u32::from(b);
            let mut expected =
                vec![Op::ToS32.eval(&[word]), u, flag, Op::ToU32.eval(&[word]), i, flag];
            expected.extend([
                (i as i32 as f32).to_bits(),
                Op::FromU32.eval(&[u]),
                (flag as f32).to_bits(),
            ]);
            expected.extend([x != 0.0, i != 0, u != 0].map(Word::to_bits));
            expected.extend([word, i, u, i, u, word]);
            check(&f, &[word, i, u, b.to_bits()], &expected);
        }
    }
}
