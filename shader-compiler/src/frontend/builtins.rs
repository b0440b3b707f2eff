//! WGSL's mathematical built-ins, in terms of leaves.
//!
//! Functions that the IR has an op for become one op per component. The others follow the WGSL
//! specification. Where it leaves a choice:
//!
//! - `fma(a, b, c)` rounds twice: results are the same on all targets, and not all have fma.
//! - `normalize(v)` is `v / length(v)` rather than `v * inverseSqrt(dot(v, v))`, which rounds once
//!   more, so that the length is closer to 1. `dot(v, v)` is at least 2⁻¹²⁶, the smallest normal
//!   number: shorter vectors than 2⁻⁶³ stay shorter than 1, and a zero vector stays 0 instead of
//!   becoming NaN. So components of finite vectors are at most 1, which makes bounds cheaper.
//! - `mix(a, b, t)` is `a * (1 - t) + b * t`, which is exact for t = 0 and t = 1.
//! - `clamp(x, low, high)` is `min(max(x, low), high)`, which propagates a NaN in `x`.

use super::bits;
use super::operators::{at, choose, dot, negate, select};
use crate::builder::Builder;
use crate::ir::{Emit, Op, Value};
use naga::{MathFunction as Fun, ScalarKind as Kind, TypeInner};

/// Applies a function to the leaves of its arguments; missing arguments are empty. `ty` is the type
/// of the first argument. Returns an error message for an unknown function.
pub(crate) fn math(
    b: &mut Builder,
    fun: Fun,
    ty: &TypeInner,
    args: [&[Value]; 4],
    out: &mut Vec<Value>,
) -> Result<(), String> {
    let kind = ty.scalar_kind().expect("arguments are made of scalars");
    let [x, y, z, _] = args;
    if let Some(op) = float_op(fun) {
        componentwise(args, out, |args| b.op(op, args));
        return Ok(());
    }
    match fun {
        Fun::Abs => componentwise(args, out, |args| abs(b, kind, args[0])),
        Fun::Min => componentwise(args, out, |args| b.op(min_of(kind), args)),
        Fun::Max => componentwise(args, out, |args| b.op(max_of(kind), args)),
        Fun::Clamp => componentwise(args, out, |args| {
            let raised = b.op(max_of(kind), &[args[0], args[1]]);
            b.op(min_of(kind), &[raised, args[2]])
        }),
        Fun::Saturate => componentwise(args, out, |args| saturate(b, args[0])),
        Fun::Radians => {
            componentwise(args, out, |args| scale(b, args[0], std::f64::consts::PI / 180.0))
        }
        Fun::Degrees => {
            componentwise(args, out, |args| scale(b, args[0], 180.0 / std::f64::consts::PI))
        }
        Fun::Sign if kind == Kind::Float => componentwise(args, out, |args| b.op(Op::Sign, args)),
        Fun::Sign => componentwise(args, out, |args| {
            let (one, minus_one) = (b.i32(1), b.i32(-1));
            let below = b.op(Op::SMin, &[args[0], one]);
            b.op(Op::SMax, &[below, minus_one])
        }),
        Fun::Fma => componentwise(args, out, |args| {
            let product = b.op(Op::Mul, &[args[0], args[1]]);
            b.op(Op::Add, &[product, args[2]])
        }),
        Fun::Mix => componentwise(args, out, |args| mix(b, args)),
        Fun::Modf => {
            let integral: Vec<_> = x.iter().map(|&x| b.op(Op::Trunc, &[x])).collect();
            out.extend(x.iter().zip(&integral).map(|(&x, &i)| b.op(Op::Sub, &[x, i])));
            out.extend(integral);
        }
        Fun::Frexp => {
            let (fractions, exponents): (Vec<_>, Vec<_>) =
                x.iter().map(|&x| bits::frexp(b, x)).unzip();
            out.extend(fractions);
            out.extend(exponents);
        }
        Fun::Ldexp => componentwise(args, out, |args| bits::ldexp(b, args[0], args[1])),
        Fun::QuantizeToF16 => componentwise(args, out, |args| bits::quantize_to_f16(b, args[0])),
        Fun::Dot => out.push(dot(b, kind, x.iter().copied(), y)),
        Fun::Cross => {
            for (i, j) in [(1, 2), (2, 0), (0, 1)] {
                let (plus, minus) = (b.op(Op::Mul, &[x[i], y[j]]), b.op(Op::Mul, &[x[j], y[i]]));
                out.push(b.op(Op::Sub, &[plus, minus]));
            }
        }
        Fun::Length => out.push(length(b, x)),
        Fun::Distance => {
            let difference: Vec<_> =
                x.iter().zip(y).map(|(&x, &y)| b.op(Op::Sub, &[x, y])).collect();
            out.push(length(b, &difference));
        }
        Fun::Normalize => {
            let square = dot(b, Kind::Float, x.iter().copied(), x);
            let min = b.f32(f32::MIN_POSITIVE);
            let square = b.op(Op::Max, &[square, min]);
            let length = b.op(Op::Sqrt, &[square]);
            out.extend(x.iter().map(|&x| b.op(Op::Div, &[x, length])));
        }
        Fun::FaceForward => {
            let (cos, zero) = (dot(b, kind, y.iter().copied(), z), b.f32(0.0));
            let is_facing = b.op(Op::Lt, &[cos, zero]);
            let flipped: Vec<_> = x.iter().map(|&x| b.op(Op::Neg, &[x])).collect();
            select(b, &[is_facing], x, &flipped, out);
        }
        Fun::Reflect => {
            let (cos, two) = (dot(b, kind, y.iter().copied(), x), b.f32(2.0));
            let twice = b.op(Op::Mul, &[two, cos]);
            out.extend(x.iter().zip(y).map(|(&x, &y)| {
                let along = b.op(Op::Mul, &[twice, y]);
                b.op(Op::Sub, &[x, along])
            }));
        }
        Fun::Refract => refract(b, x, y, z[0], out),
        Fun::Transpose | Fun::Determinant => {
            let TypeInner::Matrix { columns, rows, .. } = *ty else {
                unreachable!("the argument is a matrix")
            };
            let (columns, rows) = (columns as usize, rows as usize);
            if fun == Fun::Transpose {
                out.extend(
                    (0..rows)
                        .flat_map(|row| (0..columns).map(move |column| x[column * rows + row])),
                );
            } else {
                let columns: Vec<_> = (0..columns).collect();
                out.push(determinant(b, x, rows, 0, &columns));
            }
        }
        Fun::CountTrailingZeros => componentwise(args, out, |args| b.op(Op::TrailingZeros, args)),
        Fun::CountLeadingZeros => componentwise(args, out, |args| b.op(Op::LeadingZeros, args)),
        Fun::CountOneBits => componentwise(args, out, |args| b.op(Op::CountOnes, args)),
        Fun::ReverseBits => componentwise(args, out, |args| b.op(Op::ReverseBits, args)),
        Fun::FirstTrailingBit => {
            componentwise(args, out, |args| bits::first_trailing_bit(b, args[0]))
        }
        Fun::FirstLeadingBit => {
            componentwise(args, out, |args| bits::first_leading_bit(b, kind, args[0]))
        }
        Fun::ExtractBits => {
            componentwise(args, out, |args| bits::extract(b, kind, args[0], args[1], args[2]))
        }
        Fun::InsertBits => {
            componentwise(args, out, |args| bits::insert(b, args[0], args[1], args[2], args[3]))
        }
        Fun::Dot4I8Packed | Fun::Dot4U8Packed => {
            let kind = if fun == Fun::Dot4I8Packed { Kind::Sint } else { Kind::Uint };
            let [x, y] = [x[0], y[0]].map(|word| bits::split(b, word, 4, kind));
            out.push(dot(b, kind, x, &y));
        }
        Fun::Pack4x8snorm => out.push(bits::pack_norm(b, x, Kind::Sint)),
        Fun::Pack4x8unorm => out.push(bits::pack_norm(b, x, Kind::Uint)),
        Fun::Pack2x16snorm => out.push(bits::pack_norm(b, x, Kind::Sint)),
        Fun::Pack2x16unorm => out.push(bits::pack_norm(b, x, Kind::Uint)),
        Fun::Pack2x16float => {
            let halves: Vec<_> = x.iter().map(|&x| bits::to_f16(b, x)).collect();
            out.push(bits::join(b, &halves));
        }
        Fun::Pack4xI8 | Fun::Pack4xU8 => out.push(bits::join(b, x)),
        Fun::Pack4xI8Clamp | Fun::Pack4xU8Clamp => {
            let kind = if fun == Fun::Pack4xI8Clamp { Kind::Sint } else { Kind::Uint };
            let (low, high) = if kind == Kind::Sint { (-128, 127) } else { (0, 255) };
            let (low, high) = (b.i32(low), b.i32(high));
            let clamped: Vec<_> = x
                .iter()
                .map(|&x| {
                    let raised = b.op(max_of(kind), &[x, low]);
                    b.op(min_of(kind), &[raised, high])
                })
                .collect();
            out.push(bits::join(b, &clamped));
        }
        Fun::Unpack4x8snorm => bits::unpack_norm(b, x[0], 4, Kind::Sint, out),
        Fun::Unpack4x8unorm => bits::unpack_norm(b, x[0], 4, Kind::Uint, out),
        Fun::Unpack2x16snorm => bits::unpack_norm(b, x[0], 2, Kind::Sint, out),
        Fun::Unpack2x16unorm => bits::unpack_norm(b, x[0], 2, Kind::Uint, out),
        Fun::Unpack2x16float => {
            let halves = bits::split(b, x[0], 2, Kind::Uint);
            out.extend(halves.into_iter().map(|half| bits::from_f16(b, half)));
        }
        Fun::Unpack4xI8 => out.extend(bits::split(b, x[0], 4, Kind::Sint)),
        Fun::Unpack4xU8 => out.extend(bits::split(b, x[0], 4, Kind::Uint)),
        _ => return Err(format!("`{fun:?}` is not a function of WGSL")),
    }
    Ok(())
}

/// Returns the op that computes a function of floats, if there is one.
fn float_op(fun: Fun) -> Option<Op> {
    Some(match fun {
        Fun::Cos => Op::Cos,
        Fun::Cosh => Op::Cosh,
        Fun::Sin => Op::Sin,
        Fun::Sinh => Op::Sinh,
        Fun::Tan => Op::Tan,
        Fun::Tanh => Op::Tanh,
        Fun::Acos => Op::Acos,
        Fun::Asin => Op::Asin,
        Fun::Atan => Op::Atan,
        Fun::Atan2 => Op::Atan2,
        Fun::Asinh => Op::Asinh,
        Fun::Acosh => Op::Acosh,
        Fun::Atanh => Op::Atanh,
        Fun::Ceil => Op::Ceil,
        Fun::Floor => Op::Floor,
        Fun::Round => Op::Round,
        Fun::Fract => Op::Fract,
        Fun::Trunc => Op::Trunc,
        Fun::Exp => Op::Exp,
        Fun::Exp2 => Op::Exp2,
        Fun::Log => Op::Log,
        Fun::Log2 => Op::Log2,
        Fun::Pow => Op::Pow,
        Fun::Step => Op::Step,
        Fun::SmoothStep => Op::Smoothstep,
        Fun::Sqrt => Op::Sqrt,
        Fun::InverseSqrt => Op::Rsqrt,
        _ => return None,
    })
}

/// Applies `f` to each component; scalars are broadcast.
fn componentwise(args: [&[Value]; 4], out: &mut Vec<Value>, mut f: impl FnMut(&[Value]) -> Value) {
    let count = args.iter().take_while(|arg| !arg.is_empty()).count();
    let size = args.iter().map(|arg| arg.len()).max().unwrap_or(0);
    for k in 0..size {
        let mut components = [args[0][0]; 4];
        for (component, arg) in components.iter_mut().zip(&args[..count]) {
            *component = at(arg, k);
        }
        out.push(f(&components[..count]));
    }
}

pub(crate) fn min_of(kind: Kind) -> Op {
    match kind {
        Kind::Float => Op::Min,
        Kind::Sint => Op::SMin,
        _ => Op::UMin,
    }
}

pub(crate) fn max_of(kind: Kind) -> Op {
    match kind {
        Kind::Float => Op::Max,
        Kind::Sint => Op::SMax,
        _ => Op::UMax,
    }
}

fn abs(b: &mut Builder, kind: Kind, x: Value) -> Value {
    match kind {
        Kind::Float => b.op(Op::Abs, &[x]),
        Kind::Sint => {
            let minus = negate(b, x);
            b.op(Op::SMax, &[x, minus])
        }
        _ => x,
    }
}

fn saturate(b: &mut Builder, x: Value) -> Value {
    let (zero, one) = (b.f32(0.0), b.f32(1.0));
    let raised = b.op(Op::Max, &[x, zero]);
    b.op(Op::Min, &[raised, one])
}

fn scale(b: &mut Builder, x: Value, by: f64) -> Value {
    let by = b.f32(by as f32);
    b.op(Op::Mul, &[x, by])
}

fn mix(b: &mut Builder, args: &[Value]) -> Value {
    let one = b.f32(1.0);
    let rest = b.op(Op::Sub, &[one, args[2]]);
    let (x, y) = (b.op(Op::Mul, &[args[0], rest]), b.op(Op::Mul, &[args[1], args[2]]));
    b.op(Op::Add, &[x, y])
}

/// √(v·v); |v| of a scalar.
fn length(b: &mut Builder, v: &[Value]) -> Value {
    match v {
        [x] => b.op(Op::Abs, &[*x]),
        _ => {
            let square = dot(b, Kind::Float, v.iter().copied(), v);
            b.op(Op::Sqrt, &[square])
        }
    }
}

/// Direction of refraction of `i` at a surface with normal `n`, for the ratio `eta` of refractive
/// indices. Zero at total internal reflection.
fn refract(b: &mut Builder, i: &[Value], n: &[Value], eta: Value, out: &mut Vec<Value>) {
    let (zero, one) = (b.f32(0.0), b.f32(1.0));
    let cos = dot(b, Kind::Float, n.iter().copied(), i);
    let cos_square = b.op(Op::Mul, &[cos, cos]);
    let sin_square = b.op(Op::Sub, &[one, cos_square]);
    let eta_square = b.op(Op::Mul, &[eta, eta]);
    let refracted = b.op(Op::Mul, &[eta_square, sin_square]);
    let k = b.op(Op::Sub, &[one, refracted]);
    let is_total = b.op(Op::Lt, &[k, zero]);
    let (root, scaled) = (b.op(Op::Sqrt, &[k]), b.op(Op::Mul, &[eta, cos]));
    let along = b.op(Op::Add, &[scaled, root]);
    for (&i, &n) in i.iter().zip(n) {
        let (tangent, normal) = (b.op(Op::Mul, &[eta, i]), b.op(Op::Mul, &[along, n]));
        let t = b.op(Op::Sub, &[tangent, normal]);
        out.push(choose(b, is_total, zero, t));
    }
}

/// Determinant of the minor of a square matrix with the rows from `row` and the given columns, by
/// Laplace expansion along `row`.
fn determinant(b: &mut Builder, m: &[Value], rows: usize, row: usize, columns: &[usize]) -> Value {
    let element = |column: usize| m[column * rows + row];
    if let [column] = columns {
        return element(*column);
    }
    let mut sum = None;
    for (k, &column) in columns.iter().enumerate() {
        let others: Vec<_> = columns.iter().copied().filter(|&c| c != column).collect();
        let minor = determinant(b, m, rows, row + 1, &others);
        let term = b.op(Op::Mul, &[element(column), minor]);
        sum = Some(match sum {
            None => term,
            Some(sum) => b.op(if k % 2 == 0 { Op::Add } else { Op::Sub }, &[sum, term]),
        });
    }
    sum.expect("matrices have columns")
}

#[cfg(test)]
mod tests {
    use super::float_op;
    use crate::frontend::testing::{Numbers, check, run, translate};
    use crate::ir::Op;
    use naga::MathFunction as Fun;

    fn to_words(floats: &[f32]) -> Vec<u32> {
        floats.iter().map(|x| x.to_bits()).collect()
    }

    fn min(a: f32, b: f32) -> f32 {
        if b < a { b } else { a }
    }

    fn max(a: f32, b: f32) -> f32 {
        if a < b { b } else { a }
    }

    fn dot(x: &[f32], y: &[f32]) -> f32 {
        x.iter().zip(y).map(|(x, y)| x * y).reduce(|x, y| x + y).unwrap()
    }

    #[test]
    fn functions_with_an_op_translate_to_it() {
        let functions = [
            ("cos", Fun::Cos),
            ("cosh", Fun::Cosh),
            ("sin", Fun::Sin),
            ("sinh", Fun::Sinh),
            ("tan", Fun::Tan),
            ("tanh", Fun::Tanh),
            ("acos", Fun::Acos),
            ("asin", Fun::Asin),
            ("atan", Fun::Atan),
            ("atan2", Fun::Atan2),
            ("asinh", Fun::Asinh),
            ("acosh", Fun::Acosh),
            ("atanh", Fun::Atanh),
            ("ceil", Fun::Ceil),
            ("floor", Fun::Floor),
            ("round", Fun::Round),
            ("fract", Fun::Fract),
            ("trunc", Fun::Trunc),
            ("exp", Fun::Exp),
            ("exp2", Fun::Exp2),
            ("log", Fun::Log),
            ("log2", Fun::Log2),
            ("pow", Fun::Pow),
            ("step", Fun::Step),
            ("smoothstep", Fun::SmoothStep),
            ("sqrt", Fun::Sqrt),
            ("inverseSqrt", Fun::InverseSqrt),
        ];
        let mut numbers = Numbers::new(1);
        for (name, fun) in functions {
            let op = float_op(fun).expect("the function has an op");
            let count = op.arity();
            let args = ["x", "y", "z"][..count].join(", ");
            let scalar = translate(&format!(
                "fn f(x: f32, y: f32, z: f32) -> f32 {{ return {name}({args}); }}"
            ));
            let vector = translate(&format!(
                "fn f(x: vec2f, y: vec2f, z: vec2f) -> vec2f {{ return {name}({args}); }}"
            ));
            for _ in 0..100 {
                let args: [f32; 6] = std::array::from_fn(|_| numbers.float());
                let args = args.map(f32::to_bits);
                check(&scalar, &args[..3], &[op.eval(&args[..count])]);
                let component = |k: usize| op.eval(&[args[k], args[2 + k], args[4 + k]][..count]);
                check(&vector, &args, &[component(0), component(1)]);
            }
        }
        assert_eq!(float_op(Fun::Atan2), Some(Op::Atan2));
        assert_eq!(float_op(Fun::InverseSqrt), Some(Op::Rsqrt));
    }

    #[test]
    fn float_functions_match_their_definitions() {
        let f = translate(
            "struct R { r: array<f32, 12>, v: vec2f, m: vec4f }
            fn f(x: f32, y: f32, z: f32) -> R {
                let m = modf(vec2f(x, y));
                return R(array(abs(x), min(x, y), max(x, y), clamp(x, y, z), saturate(x), radians(x), degrees(x), sign(x), fma(x, y, z),
                    mix(x, y, z), length(x), distance(x, y)), mix(vec2f(x, y), vec2f(y, z), x), vec4f(m.fract, m.whole));
            }",
        );
        let mut numbers = Numbers::new(2);
        for _ in 0..2000 {
            let [x, y, z] = [numbers.float(), numbers.float(), numbers.float()];
            let mix = |x: f32, y: f32, t: f32| x * (1.0 - t) + y * t;
            let sign = f32::from_bits(Op::Sign.eval(&[x.to_bits()]));
            let expected = [
                x.abs(),
                min(x, y),
                max(x, y),
                min(max(x, y), z),
                min(max(x, 0.0), 1.0),
                x * 0.017453292,
                x * 57.29578,
                sign,
                x * y + z,
                mix(x, y, z),
                x.abs(),
                (x - y).abs(),
                mix(x, y, x),
                mix(y, z, x),
                x - x.trunc(),
                y - y.trunc(),
                x.trunc(),
                y.trunc(),
            ];
            check(&f, &to_words(&[x, y, z]), &to_words(&expected));
        }
    }

    #[test]
    fn integer_functions_match_their_definitions() {
        let source = |ty: &str, sign: &str| {
            format!(
                "fn f(x: {ty}, y: {ty}, z: {ty}) -> array<{ty}, 6> {{
                    return array(abs(x), min(x, y), max(x, y), clamp(x, y, z), {sign}, dot(vec3(x, y, z), vec3(z, x, y)));
                }}"
            )
        };
        let (signed, unsigned) =
            (translate(&source("i32", "sign(x)")), translate(&source("u32", "x")));
        let mut numbers = Numbers::new(3);
        for _ in 0..2000 {
            let [x, y, z] = [numbers.int(), numbers.int(), numbers.int()];
            let dot =
                x.wrapping_mul(z).wrapping_add(y.wrapping_mul(x)).wrapping_add(z.wrapping_mul(y));
            check(&unsigned, &[x, y, z], &[x, x.min(y), x.max(y), x.max(y).min(z), x, dot]);
            let [a, b, c] = [x, y, z].map(|x| x as i32);
            let expected =
                [a.wrapping_abs(), a.min(b), a.max(b), a.max(b).min(c), a.signum(), dot as i32];
            check(&signed, &[x, y, z], &expected.map(|x| x as u32));
        }
    }

    #[test]
    fn geometric_functions_match_their_definitions() {
        let f = translate(
            "struct R { dot: f32, cross: vec3f, length: f32, distance: f32, normalize: vec3f, face: vec3f, reflect: vec3f, refract: vec3f }
            fn f(x: vec3f, y: vec3f, z: vec3f, eta: f32) -> R {
                return R(dot(x, y), cross(x, y), length(x), distance(x, y), normalize(x), faceForward(x, y, z), reflect(x, y),
                    refract(x, y, eta));
            }",
        );
        let mut numbers = Numbers::new(4);
        for _ in 0..2000 {
            let [x, y, z]: [[f32; 3]; 3] =
                std::array::from_fn(|_| std::array::from_fn(|_| numbers.moderate() / 4.0));
            let eta = numbers.moderate().abs();
            let length = |v: &[f32; 3]| dot(v, v).sqrt();
            let mut expected = vec![dot(&x, &y)];
            expected.extend([
                x[1] * y[2] - x[2] * y[1],
                x[2] * y[0] - x[0] * y[2],
                x[0] * y[1] - x[1] * y[0],
            ]);
            expected.push(length(&x));
            expected.push(length(&std::array::from_fn(|k| x[k] - y[k])));
            expected.extend(x.map(|c| c / dot(&x, &x).max(f32::MIN_POSITIVE).sqrt()));
            expected.extend(x.map(|c| if dot(&y, &z) < 0.0 { c } else { -c }));
            expected.extend((0..3).map(|k| x[k] - 2.0 * dot(&y, &x) * y[k]));
            let cos = dot(&y, &x);
            let k = 1.0 - eta * eta * (1.0 - cos * cos);
            expected.extend(
                (0..3).map(
                    |i| if k < 0.0 { 0.0 } else { eta * x[i] - (eta * cos + k.sqrt()) * y[i] },
                ),
            );
            let inputs: Vec<_> = x.into_iter().chain(y).chain(z).chain([eta]).collect();
            check(&f, &to_words(&inputs), &to_words(&expected));
        }
    }

    #[test]
    fn refract_follows_snells_law() {
        let f =
            translate("fn f(i: vec3f, n: vec3f, eta: f32) -> vec3f { return refract(i, n, eta); }");
        // 30° into glass: sin t = sin i / 1.5.
        let inputs = [0.5, 0.0, -(0.75f32.sqrt()), 0.0, 0.0, 1.0, 1.0 / 1.5];
        let t = run(&f, &to_words(&inputs)).into_iter().map(f32::from_bits).collect::<Vec<_>>();
        assert!(
            (t[0] - 1.0 / 3.0).abs() < 1e-6 && (t[2] + (1.0f32 - 1.0 / 9.0).sqrt()).abs() < 1e-6,
            "{t:?}"
        );
    }

    #[test]
    fn transpose_and_determinant_match_their_definitions() {
        let f = translate(
            "struct R { t: mat2x3f, d2: f32, d3: f32, d4: f32 }
            fn f(m: mat4x4f) -> R {
                let n = mat3x3f(m[0].xyz, m[1].xyz, m[2].xyz);
                return R(transpose(mat3x2f(n[0].xy, n[1].xy, n[2].xy)), determinant(mat2x2f(m[0].xy, m[1].xy)), determinant(n),
                    determinant(m));
            }",
        );
        let mut numbers = Numbers::new(5);
        for _ in 0..200 {
            let m: [f32; 16] = std::array::from_fn(|_| numbers.moderate());
            let out: Vec<_> = run(&f, &to_words(&m)).into_iter().map(f32::from_bits).collect();
            assert_eq!(out[..6], [m[0], m[4], m[8], m[1], m[5], m[9]]);
            for n in 2..=4 {
                let (expected, computed) =
                    (determinant_by_elimination(&m, n), f64::from(out[4 + n]));
                assert!(
                    (expected - computed).abs() < 1e-3,
                    "{n}×{n}: expected {expected}, computed {computed}"
                );
            }
        }
    }

    fn determinant_by_elimination(m: &[f32; 16], n: usize) -> f64 {
        let mut a: Vec<Vec<f64>> =
            (0..n).map(|c| (0..n).map(|r| f64::from(m[4 * c + r])).collect()).collect();
        let mut determinant = 1.0;
        for k in 0..n {
            let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
            if pivot != k {
                a.swap(k, pivot);
                determinant = -determinant;
            }
            determinant *= a[k][k];
            let row = a[k].clone();
            for other in &mut a[k + 1..] {
                let factor = other[k] / row[k];
                other.iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
            }
        }
        determinant
    }
}
