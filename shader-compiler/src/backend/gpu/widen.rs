//! Widens bounds by a margin, for machines with less precise arithmetic than the CPU.

use crate::builder::rewrite::append;
use crate::builder::{Builder, Rules};
use crate::ir::{Emit, Function, Op, Type, Value};

/// Widens each float bound `b` of a bounding shader, an output called `….lo` or `….hi`, by `ulps` ·
/// (2⁻²³ |b| + 2⁻¹²⁶): at least this number of ulps, but for the rounding of the difference, and at
/// most twice as much. The second term covers subnormal numbers that become 0. Infinite bounds and
/// NaN stay.
pub fn widen(bounding: &Function, ulps: u32) -> Function {
    if ulps == 0 {
        return bounding.clone();
    }
    let mut builder = Builder::new(&bounding.name, Rules::Exact);
    let inputs: Vec<Value> =
        bounding.inputs.iter().map(|port| builder.input(&port.name, port.ty)).collect();
    let copy = |builder: &mut Builder, op: Op, args: &[Value]| builder.op(op, args);
    let (mut builder, values) = append(bounding, builder, &inputs, copy);
    let outputs: Vec<_> = std::iter::zip(&bounding.outputs, values)
        .map(|(port, bound)| {
            let outward = match port.name.rsplit_once('.') {
                Some((_, "lo")) if port.ty == Type::F32 => Op::Sub,
                Some((_, "hi")) if port.ty == Type::F32 => Op::Add,
                _ => return (port.name.clone(), bound),
            };
            let margin = margin(&mut builder, bound, ulps as f32);
            (port.name.clone(), builder.op(outward, &[bound, margin]))
        })
        .collect();
    builder.finish(outputs)
}

fn margin(builder: &mut Builder, bound: Value, ulps: f32) -> Value {
    let [relative, absolute, greatest] =
        [ulps * f32::EPSILON, ulps * f32::MIN_POSITIVE, f32::MAX].map(|x| builder.f32(x));
    let magnitude = builder.op(Op::Abs, &[bound]);
    let product = builder.op(Op::Mul, &[magnitude, relative]);
    let sum = builder.op(Op::Add, &[product, absolute]);
    // ∞ − ∞ would be NaN.
    builder.op(Op::Min, &[sum, greatest])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;

    #[test]
    fn bounds_move_apart_by_the_margin() {
        let mut builder = Builder::new("f", Rules::Exact);
        let ports = ["x.lo", "x.hi", "n.lo"].map(|name| {
            let ty = if name == "n.lo" { Type::I32 } else { Type::F32 };
            (name.to_owned(), builder.input(name, ty))
        });
        let function = builder.finish(ports);
        assert_eq!(widen(&function, 0), function);
        let widened = widen(&function, 4);
        let run = |x: f32| {
            let bits = x.to_bits();
            let outputs = interpreter::run(&widened, &[], &[bits, bits, 7], 0).unwrap();
            assert_eq!(outputs[2], 7);
            [outputs[0], outputs[1]].map(f32::from_bits)
        };
        let steps = |x: f32, n: i32| f32::from_bits((x.to_bits() as i32 + n) as u32);
        for x in [1.0, 1.5, 1.9999999, 1e-30, 12345.0] {
            let [low, high] = run(x);
            assert!(low <= steps(x, -4) && low >= steps(x, -17), "{x}: {low}");
            assert!(high >= steps(x, 4) && high <= steps(x, 9), "{x}: {high}");
            assert_eq!(run(-x), [-high, -low]);
        }
        assert_eq!(run(0.0), [-4.0 * f32::MIN_POSITIVE, 4.0 * f32::MIN_POSITIVE]);
        assert_eq!(run(f32::MAX), [run(f32::MAX)[0], f32::INFINITY]);
        assert!(run(f32::MAX)[0].is_finite());
        assert_eq!(run(f32::INFINITY), [f32::INFINITY; 2]);
        assert_eq!(run(f32::NEG_INFINITY), [f32::NEG_INFINITY; 2]);
        assert!(run(f32::NAN).iter().all(|x| x.is_nan()));
    }
}
