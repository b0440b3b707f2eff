//! Forward-mode differentiation: appends the partial derivatives of a function to its outputs.
//!
//! [`run`] carries the derivative of each value by each chosen input along with the value, by the
//! chain rule. Values that depend on no such input carry none. The result is an ordinary function,
//! which can be compiled, bounded and differentiated again. The outputs of the original function
//! keep their bits.
//!
//! The derivative is that of the operations as real functions, computed in floats. So it
//! approximates the slope of the function, but not that of its rounding errors.
//!
//! - At a kink, it is the derivative of the arm that is taken: `min(a, b)` has that of `b` if
//!   b < a, else that of `a`; `max(a, b)` has that of `b` if a < b, else that of `a`; `abs(a)` has
//!   that of −a if a < 0, else that of `a`; selects, ifs and loops have that of the values that they
//!   yield. The condition contributes nothing.
//! - Steps are flat: `floor`, `ceil`, `trunc`, `round`, `sign` and `step` have derivative 0, also
//!   where they jump. `fract` has slope 1, and `a % b` has that of a − b · trunc(a ÷ b) with a
//!   constant quotient.
//! - Integers are constants, and so are floats converted from them.
//! - Where the slope is infinite, as that of `sqrt` at 0, the result is infinite or NaN. `pow(a, b)`
//!   has derivative 0 by b where a = 0.
//! - Texture lookups at coordinates that depend on an input have no derivative here, nor have floats
//!   assembled from bits of such a value: [`DerivativeError`].

use crate::builder::rewrite::rebuild;
use crate::builder::{Builder, Rules};
use crate::ir::function::{Block, Def, Function, If, Loop, Stmt, Value};
use crate::ir::{Emit, Op, Type};
use crate::math::EmitExt;

/// Why a function has no derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DerivativeError {
    /// A texture is looked up at coordinates that depend on an input.
    #[error(
        "a texture lookup depends on the input and has no derivative; differentiate by other \
         inputs, or compute the value without the texture"
    )]
    Texture,
    /// A float is assembled from bits of a value that depends on an input.
    #[error(
        "a float is assembled from the bits of a value that depends on the input, which has no \
         derivative; use arithmetic instead of `bitcast`"
    )]
    Bits,
}

/// Maximum number of inputs by which a function is differentiated at once.
pub const MAX_INPUTS: usize = 64;

/// Appends the derivatives of some outputs by some inputs, given by their indices: first those of
/// the first output by all inputs. The derivative of `y` by `x` is called `dy/dx`.
///
/// # Errors
/// If a texture lookup, or a float assembled from bits, depends on one of the inputs.
///
/// # Panics
/// If an input or output is not a float, or if there are more than [`MAX_INPUTS`] inputs.
pub fn run(
    function: &Function,
    inputs: &[usize],
    outputs: &[usize],
) -> Result<Function, DerivativeError> {
    assert!(inputs.len() <= MAX_INPUTS, "at most {MAX_INPUTS} inputs");
    let are_floats = inputs.iter().all(|&input| function.inputs[input].ty == Type::F32)
        && outputs.iter().all(|&output| function.outputs[output].ty == Type::F32);
    assert!(are_floats, "inputs and outputs to differentiate must be floats");
    let activity = Activity::find(function, inputs)?;
    let mut builder = Builder::new(&function.name, Rules::Exact);
    let ports: Vec<_> =
        function.inputs.iter().map(|port| builder.input(&port.name, port.ty)).collect();
    let map = function.values.iter().map(|data| match data.def {
        Def::Input(index) => Some(ports[index as usize]),
        _ => None,
    });
    let map = map.collect();
    let tangents = vec![vec![]; function.len()];
    let mut pass = Differentiator { old: function, builder, activity, map, tangents };
    for (index, data) in function.values.iter().enumerate() {
        if let Def::Input(port) = data.def {
            let is_by = |k: usize| inputs[k] == port as usize;
            let one = pass.builder.f32(1.0);
            pass.tangents[index] = (0..inputs.len()).map(|k| is_by(k).then_some(one)).collect();
        }
    }
    pass.statements(&function.body);
    let values: Vec<_> = function.body.yields.iter().map(|&value| pass.get(value)).collect();
    let mut ports: Vec<_> =
        function.outputs.iter().map(|port| port.name.clone()).zip(values).collect();
    for &output in outputs {
        let tangents = pass.tangents(function.body.yields[output]);
        for (&input, tangent) in inputs.iter().zip(tangents) {
            let name =
                format!("d{}/d{}", function.outputs[output].name, function.inputs[input].name);
            let zero = pass.builder.f32(0.0);
            ports.push((name, tangent.unwrap_or(zero)));
        }
    }
    let function = pass.builder.finish(ports);
    Ok(rebuild(&function, Builder::new(&function.name, Rules::Exact)))
}

/// For each value, the set of inputs on which it depends with a derivative, as a bit mask.
#[derive(Debug)]
struct Activity {
    masks: Vec<u64>,
    /// For each integer, the inputs whose bits it may contain.
    bits: Vec<u64>,
}

impl Activity {
    /// Finds the dependencies by iteration to a fixed point, which loops require.
    fn find(function: &Function, inputs: &[usize]) -> Result<Activity, DerivativeError> {
        let mut activity =
            Activity { masks: vec![0; function.len()], bits: vec![0; function.len()] };
        for (index, data) in function.values.iter().enumerate() {
            if let Def::Input(port) = data.def {
                let by = inputs.iter().enumerate().filter(|&(_, &input)| input == port as usize);
                activity.masks[index] = by.fold(0, |mask, (k, _)| mask | 1 << k);
            }
        }
        while activity.block(function, &function.body)? {}
        Ok(activity)
    }

    /// Adds the dependencies of `from` to those of `to`. Returns whether they grew.
    fn flow(&mut self, from: Value, to: Value) -> bool {
        let masks = (self.masks[to.index()], self.bits[to.index()]);
        self.masks[to.index()] |= self.masks[from.index()];
        self.bits[to.index()] |= self.bits[from.index()];
        masks != (self.masks[to.index()], self.bits[to.index()])
    }

    /// Returns whether any dependency grew.
    fn block(&mut self, function: &Function, block: &Block) -> Result<bool, DerivativeError> {
        let mut grew = false;
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => grew |= self.operation(function, *value)?,
                Stmt::If(node) => {
                    grew |= self.block(function, &node.then)?;
                    grew |= self.block(function, &node.otherwise)?;
                    for (k, &result) in node.results.iter().enumerate() {
                        grew |= self.flow(node.then.yields[k], result);
                        grew |= self.flow(node.otherwise.yields[k], result);
                    }
                }
                Stmt::Loop(node) => {
                    for (k, &param) in node.params.iter().enumerate() {
                        grew |= self.flow(node.init[k], param);
                        grew |= self.flow(node.body.yields[k], param);
                    }
                    grew |= self.block(function, &node.head)?;
                    grew |= self.block(function, &node.body)?;
                    for (k, &result) in node.results.iter().enumerate() {
                        grew |= self.flow(node.head.yields[k], result);
                    }
                }
            }
        }
        Ok(grew)
    }

    fn operation(&mut self, function: &Function, value: Value) -> Result<bool, DerivativeError> {
        let (op, args) = function.operation(value).expect("statements define operations");
        let union = |sets: &[u64]| args.iter().fold(0, |mask, arg| mask | sets[arg.index()]);
        let (masks, bits) = (union(&self.masks), union(&self.bits));
        let (masks, bits) = match op {
            Op::Bits => (0, masks),
            Op::Float if bits != 0 => return Err(DerivativeError::Bits),
            Op::Texel if masks != 0 => return Err(DerivativeError::Texture),
            _ if is_flat(op) => (0, 0),
            _ => match function.ty(value) {
                Type::F32 => (masks, 0),
                Type::I32 => (0, bits),
                Type::Bool => (0, 0),
            },
        };
        let before = (self.masks[value.index()], self.bits[value.index()]);
        self.masks[value.index()] |= masks;
        self.bits[value.index()] |= bits;
        Ok(before != (self.masks[value.index()], self.bits[value.index()]))
    }
}

/// Whether the derivative of an operation is 0.
fn is_flat(op: Op) -> bool {
    let is_step = matches!(op, Op::Floor | Op::Ceil | Op::Trunc | Op::Round | Op::Sign | Op::Step);
    let is_conversion = matches!(
        op,
        Op::FromS32 | Op::FromU32 | Op::Float | Op::TruncateToInt | Op::ToS32 | Op::ToU32
    );
    is_step || is_conversion || op == Op::Fetch
}

/// Derivatives of a value, one for each input; `None` is 0.
type Tangents = Vec<Option<Value>>;

struct Differentiator<'a> {
    old: &'a Function,
    builder: Builder,
    activity: Activity,
    /// The new value of each old value.
    map: Vec<Option<Value>>,
    /// The derivatives of each old value; empty if all are 0.
    tangents: Vec<Tangents>,
}

impl Differentiator<'_> {
    fn get(&mut self, old: Value) -> Value {
        if let Some(new) = self.map[old.index()] {
            return new;
        }
        let bits = self.old.constant(old).expect("values are defined before their use");
        let new = self.builder.constant(self.old.ty(old), bits);
        self.map[old.index()] = Some(new);
        new
    }

    /// The derivatives of an old value.
    fn tangents(&self, old: Value) -> Tangents {
        match &self.tangents[old.index()] {
            tangents if tangents.is_empty() => vec![None; MAX_INPUTS],
            tangents => tangents.clone(),
        }
    }

    /// Inputs on which an old value depends.
    fn active(&self, old: Value) -> impl Iterator<Item = usize> + use<> {
        let mask = self.activity.masks[old.index()];
        (0..MAX_INPUTS).filter(move |&k| mask >> k & 1 != 0)
    }

    /// The new values of old values, each followed by its derivatives by the inputs on which the
    /// value with the same index in `like` depends.
    fn with_tangents(&mut self, old: &[Value], like: &[Value]) -> Vec<Value> {
        let mut values = vec![];
        for (&old, &like) in std::iter::zip(old, like) {
            values.push(self.get(old));
            let tangents = self.tangents(old);
            for k in self.active(like) {
                let zero = self.builder.f32(0.0);
                values.push(tangents[k].unwrap_or(zero));
            }
        }
        values
    }

    /// Sets the new values and derivatives of old values, in the order of
    /// [`with_tangents`](Self::with_tangents).
    fn set_with_tangents(&mut self, old: &[Value], new: &[Value]) {
        let mut new = new.iter().copied();
        let mut next = || new.next().expect("there is a value for each derivative");
        for &old in old {
            self.map[old.index()] = Some(next());
            let mut tangents = vec![None; MAX_INPUTS];
            for k in self.active(old) {
                tangents[k] = Some(next());
            }
            self.tangents[old.index()] = tangents;
        }
    }

    fn statements(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => self.operation(*value),
                Stmt::If(node) => self.if_(node),
                Stmt::Loop(node) => self.loop_(node),
            }
        }
    }

    fn if_(&mut self, node: &If) {
        let condition = self.get(node.cond);
        let [then, otherwise] = [&node.then, &node.otherwise].map(|arm| {
            self.builder.open_arm();
            self.statements(arm);
            let yields = self.with_tangents(&arm.yields, &node.results);
            self.builder.close_arm(&yields)
        });
        let results = self.builder.push_if(condition, then, otherwise);
        self.set_with_tangents(&node.results, &results);
    }

    fn loop_(&mut self, node: &Loop) {
        let init = self.with_tangents(&node.init, &node.params);
        let params = self.builder.open_loop(&init);
        self.set_with_tangents(&node.params, &params);
        self.statements(&node.head);
        let condition = self.get(node.cond);
        let exits = self.with_tangents(&node.head.yields, &node.results);
        self.builder.open_body(condition, &exits);
        self.statements(&node.body);
        let next = self.with_tangents(&node.body.yields, &node.params);
        let results = self.builder.close_loop(&next);
        self.set_with_tangents(&node.results, &results);
    }

    fn operation(&mut self, value: Value) {
        let (op, old) = self.old.operation(value).expect("statements define operations");
        let args: Vec<_> = old.iter().map(|&arg| self.get(arg)).collect();
        let result = self.builder.op(op, &args);
        self.map[value.index()] = Some(result);
        if self.activity.masks[value.index()] == 0 {
            return;
        }
        let of_args: Vec<_> = old.iter().map(|&arg| self.tangents(arg)).collect();
        let mut tangents = vec![None; MAX_INPUTS];
        let mut weights = Weights { op, args: &args, result, cache: [None; 3] };
        for k in self.active(value) {
            let d: Vec<_> = of_args.iter().map(|tangents| tangents[k]).collect();
            tangents[k] = Some(weights.tangent(&mut self.builder, &d));
        }
        self.tangents[value.index()] = tangents;
    }
}

/// The partial derivatives of an operation by its arguments, computed on demand and shared by all
/// inputs.
struct Weights<'a> {
    op: Op,
    args: &'a [Value],
    result: Value,
    cache: [Option<Value>; 3],
}

impl Weights<'_> {
    /// The derivative of the operation, given those of its arguments.
    fn tangent(&mut self, b: &mut Builder, d: &[Option<Value>]) -> Value {
        let (args, r) = (self.args, self.result);
        let zero = b.f32(0.0);
        let or_zero = |k: usize| d[k].unwrap_or(zero);
        match self.op {
            Op::Add => match (d[0], d[1]) {
                (Some(x), Some(y)) => b.add(x, y),
                (x, y) => x.or(y).unwrap_or(zero),
            },
            Op::Sub => match (d[0], d[1]) {
                (Some(x), Some(y)) => b.sub(x, y),
                (Some(x), None) => x,
                (None, y) => b.neg(y.unwrap_or(zero)),
            },
            Op::Neg => b.neg(or_zero(0)),
            Op::Fract => or_zero(0),
            Op::Div => {
                // (da − r·db) ÷ b
                let numerator = match (d[0], d[1]) {
                    (Some(x), None) => x,
                    (x, Some(y)) => {
                        let product = b.mul(r, y);
                        match x {
                            Some(x) => b.sub(x, product),
                            None => b.neg(product),
                        }
                    }
                    (None, None) => zero,
                };
                b.div(numerator, args[1])
            }
            Op::Min | Op::Max => {
                let takes_second = match self.op {
                    Op::Min => b.lt(args[1], args[0]),
                    _ => b.lt(args[0], args[1]),
                };
                b.select(takes_second, or_zero(1), or_zero(0))
            }
            Op::Abs => {
                let is_negative = b.lt(args[0], zero);
                let negated = b.neg(or_zero(0));
                b.select(is_negative, negated, or_zero(0))
            }
            Op::Select => b.select(args[0], or_zero(1), or_zero(2)),
            Op::Sqrt => {
                let double = b.add(r, r);
                b.div(or_zero(0), double)
            }
            Op::Log => b.div(or_zero(0), args[0]),
            // The divisor is better than its reciprocal, which may overflow.
            Op::Asin | Op::Acos | Op::Atan | Op::Asinh | Op::Acosh | Op::Atanh => {
                let divisor = match self.cache[0] {
                    Some(divisor) => divisor,
                    None => *self.cache[0].insert(inverse_slope(b, self.op, args[0])),
                };
                b.div(or_zero(0), divisor)
            }
            _ => {
                let mut sum = None;
                for (k, tangent) in d.iter().enumerate() {
                    let Some(tangent) = *tangent else { continue };
                    let weight = match self.cache[k] {
                        Some(weight) => weight,
                        None => *self.cache[k].insert(slope(b, self.op, args, r, k)),
                    };
                    let term = b.mul(weight, tangent);
                    sum = Some(match sum {
                        Some(sum) => b.add(sum, term),
                        None => term,
                    });
                }
                sum.unwrap_or(zero)
            }
        }
    }
}

/// The reciprocal of the slope of an inverse function.
fn inverse_slope(b: &mut Builder, op: Op, a: Value) -> Value {
    let (one, square) = (b.f32(1.0), b.mul(a, a));
    match op {
        Op::Asin | Op::Acos => {
            let difference = b.sub(one, square);
            let root = b.sqrt(difference);
            if op == Op::Asin { root } else { b.neg(root) }
        }
        Op::Atan => b.add(one, square),
        Op::Asinh => {
            let sum = b.add(one, square);
            b.sqrt(sum)
        }
        Op::Acosh => {
            let difference = b.sub(square, one);
            b.sqrt(difference)
        }
        Op::Atanh => b.sub(one, square),
        op => unreachable!("{} is not an inverse function", op.name()),
    }
}

/// The slope of an operation with result `r` by the argument with index `k`.
fn slope(b: &mut Builder, op: Op, args: &[Value], r: Value, k: usize) -> Value {
    let (one, a) = (b.f32(1.0), args[0]);
    match (op, k) {
        (Op::Mul, k) => args[1 - k],
        (Op::Rem, 0) => one,
        (Op::Rem, _) => {
            let quotient = b.div(a, args[1]);
            let quotient = b.trunc(quotient);
            b.neg(quotient)
        }
        (Op::Smoothstep, k) => {
            // t is clamped, so the slope 6t(1 − t)·dt is 0 outside.
            let (low, high, x) = (args[0], args[1], args[2]);
            let (offset, width) = (b.sub(x, low), b.sub(high, low));
            let t = b.div(offset, width);
            let t = b.clamp(t, 0.0, 1.0);
            let six = b.f32(6.0);
            let (rest, scaled) = (b.sub(one, t), b.mul(six, t));
            let slope = b.mul(scaled, rest);
            let slope = b.div(slope, width);
            let factor = match k {
                0 => b.sub(t, one),
                1 => b.neg(t),
                _ => one,
            };
            b.mul(slope, factor)
        }
        (Op::Rsqrt, _) => {
            let (half, square) = (b.f32(-0.5), b.mul(r, r));
            let cube = b.mul(square, r);
            b.mul(half, cube)
        }
        (Op::Exp, _) => r,
        (Op::Exp2, _) => {
            let scale = b.f32(std::f32::consts::LN_2);
            b.mul(r, scale)
        }
        (Op::Log2, _) => {
            let scale = b.f32(std::f32::consts::LOG2_E);
            b.div(scale, a)
        }
        (Op::Pow, 0) => {
            let exponent = b.sub(args[1], one);
            let power = b.op(Op::Pow, &[a, exponent]);
            b.mul(args[1], power)
        }
        (Op::Pow, _) => {
            let zero = b.f32(0.0);
            let log = b.op(Op::Log, &[a]);
            let slope = b.mul(r, log);
            let is_zero = b.eq(a, zero);
            b.select(is_zero, zero, slope)
        }
        (Op::Sin, _) => b.op(Op::Cos, &[a]),
        (Op::Cos, _) => {
            let sin = b.op(Op::Sin, &[a]);
            b.neg(sin)
        }
        (Op::Tan, _) => {
            let square = b.mul(r, r);
            b.add(one, square)
        }
        (Op::Atan2, k) => {
            let (y, x) = (args[0], args[1]);
            let (xx, yy) = (b.mul(x, x), b.mul(y, y));
            let sum = b.add(xx, yy);
            let numerator = if k == 0 { x } else { b.neg(y) };
            b.div(numerator, sum)
        }
        (Op::Sinh, _) => b.op(Op::Cosh, &[a]),
        (Op::Cosh, _) => b.op(Op::Sinh, &[a]),
        (Op::Tanh, _) => {
            let square = b.mul(r, r);
            b.sub(one, square)
        }
        (op, _) => unreachable!("the derivative of {} is 0, or has a rule of its own", op.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounding::{Frame, Integrand, IntervalInputs, Ranges};
    use crate::frontend::{Entry, Settings, Shader};
    use crate::interpreter;
    use crate::ir::text::parse;
    use crate::ir::verify::verify;
    use crate::lift::{self, Options};
    use crate::passes::optimize;
    use crate::random::Random;
    use crate::relations::Relations;

    fn gradient(function: &Function, inputs: &[usize]) -> Function {
        let result = run(function, inputs, &[0]).unwrap_or_else(|error| panic!("{error}"));
        verify(&result).unwrap_or_else(|error| panic!("{error}\n{result}"));
        result
    }

    fn uniform(random: &mut Random, low: f32, high: f32) -> f32 {
        low + (high - low) * (random.below(1 << 24) as f32 / (1 << 24) as f32)
    }

    fn of_wgsl(source: &str) -> Function {
        let shader = Shader::parse_function("f.wgsl", source, "f")
            .unwrap_or_else(|error| panic!("{error}: {source}"));
        optimize(&shader.function(Entry::Function, &Settings::default()).expect("it is valid"))
    }

    fn evaluate(function: &Function, inputs: &[f32]) -> Vec<f32> {
        let words: Vec<_> = inputs.iter().map(|x| x.to_bits()).collect();
        let results = interpreter::run(function, &[], &words, 1 << 20).expect("loops end");
        results.into_iter().map(f32::from_bits).collect()
    }

    /// Functions of x and y in WGSL with their derivatives.
    type Case = (&'static str, fn(f64, f64) -> [f64; 2]);

    const CASES: &[Case] = &[
        ("x * y + 3.0 * x - y", |x, y| [y + 3.0, x - 1.0]),
        ("x / (y + 3.0)", |x, y| [1.0 / (y + 3.0), -x / (y + 3.0).powi(2)]),
        ("2.0 / y", |_, y| [0.0, -2.0 / (y * y)]),
        ("sqrt(x + 2.0) * inverseSqrt(y + 2.0)", |x, y| {
            [0.5 / ((x + 2.0) * (y + 2.0)).sqrt(), -0.5 * (x + 2.0).sqrt() * (y + 2.0).powf(-1.5)]
        }),
        ("min(x, y) + 2.0 * max(x, y)", |x, y| if x < y { [1.0, 2.0] } else { [2.0, 1.0] }),
        ("abs(x) - abs(y)", |x, y| [x.signum(), -y.signum()]),
        ("select(x * x, y * y, x < y)", |x, y| if x < y { [0.0, 2.0 * y] } else { [2.0 * x, 0.0] }),
        ("floor(x) + ceil(y) + round(x) + trunc(y) + sign(x) + step(x, y)", |_, _| [0.0; 2]),
        ("fract(x) * y", |x, y| [y, x - x.floor()]),
        ("(x + 5.0) % (y + 2.0)", |x, y| [1.0, -((x + 5.0) / (y + 2.0)).trunc()]),
        ("smoothstep(-2.0, y + 3.0, x)", |x, y| {
            let (width, t) = (y + 5.0, ((x + 2.0) / (y + 5.0)).clamp(0.0, 1.0));
            [6.0 * t * (1.0 - t) / width, -6.0 * t * t * (1.0 - t) / width]
        }),
        ("exp(x) * exp2(y)", |x, y| {
            let r = x.exp() * y.exp2();
            [r, r * std::f64::consts::LN_2]
        }),
        ("log(x + 2.0) + log2(y + 2.0)", |x, y| {
            [1.0 / (x + 2.0), std::f64::consts::LOG2_E / (y + 2.0)]
        }),
        ("pow(x + 2.0, y)", |x, y| {
            let a = x + 2.0;
            [y * a.powf(y - 1.0), a.powf(y) * a.ln()]
        }),
        ("sin(x) * cos(y) + tan(x)", |x, y| {
            [x.cos() * y.cos() + 1.0 / x.cos().powi(2), -x.sin() * y.sin()]
        }),
        ("asin(0.5 * x) + acos(0.5 * y) + atan(x * y)", |x, y| {
            let atan = 1.0 / (1.0 + (x * y).powi(2));
            [
                0.5 / (1.0 - 0.25 * x * x).sqrt() + y * atan,
                -0.5 / (1.0 - 0.25 * y * y).sqrt() + x * atan,
            ]
        }),
        ("atan2(x, y)", |x, y| [y / (x * x + y * y), -x / (x * x + y * y)]),
        ("sinh(x) + cosh(y) + tanh(x)", |x, y| [x.cosh() + 1.0 - x.tanh().powi(2), y.sinh()]),
        ("asinh(x) + acosh(y + 3.0) + atanh(0.5 * x)", |x, y| {
            [
                1.0 / (x * x + 1.0).sqrt() + 0.5 / (1.0 - 0.25 * x * x),
                1.0 / ((y + 3.0).powi(2) - 1.0).sqrt(),
            ]
        }),
        ("length(vec2f(x, y))", |x, y| [x / x.hypot(y), y / x.hypot(y)]),
        ("f32(i32(3.0 * x)) * y", |x, _| [0.0, (3.0 * x).trunc()]),
    ];

    fn case(expression: &str) -> Function {
        of_wgsl(&format!("fn f(x: f32, y: f32) -> f32 {{ return {expression}; }}"))
    }

    #[test]
    fn derivatives_match_closed_forms() {
        let mut random = Random::new(1);
        for (expression, expected) in CASES {
            let function = case(expression);
            let derivative = gradient(&function, &[0, 1]);
            assert_eq!(derivative.outputs[1].name, "df/dx");
            for _ in 0..200 {
                let [x, y] = [0, 1].map(|_| uniform(&mut random, -1.4, 1.4));
                let values = evaluate(&derivative, &[x, y]);
                // The outputs keep their bits.
                assert_eq!(values[0].to_bits(), evaluate(&function, &[x, y])[0].to_bits());
                let expected = expected(f64::from(x), f64::from(y));
                for (found, expected) in std::iter::zip(&values[1..], expected) {
                    let error = (f64::from(*found) - expected).abs();
                    let allowed = 1e-4 * (1.0 + expected.abs());
                    assert!(error < allowed, "{expression} at {x}, {y}: {found}, not {expected}");
                }
            }
        }
    }

    const CONTROL: &[&str] = &[
        "fn f(x: f32, y: f32) -> f32 {
            var s = 0.0;
            var p = 1.0;
            for (var i = 0; i < 20; i++) { if p > 3.0 { break; } s += p * y; p *= 1.0 + x * x; }
            return s;
        }",
        "fn f(x: f32, y: f32) -> f32 {
            var a = vec2f(x, y);
            for (var i = 0; i < 5; i++) {
                a = vec2f(a.x * a.x - a.y * a.y, 2.0 * a.x * a.y) + vec2f(0.25 * x, -0.125);
            }
            return a.x + a.y;
        }",
        "fn f(x: f32, y: f32) -> f32 {
            var r = x;
            if x < y { r = sin(x * y) * exp(y); } else { if x > 0.5 { r = sqrt(x) * y; } }
            switch i32(4.0 * x) { case 1: { return r * y; } case 2: { return r + x; } default: {} }
            return r;
        }",
        "fn f(x: f32, y: f32) -> f32 {
            let cell = vec3f(floor(8.0 * x), floor(8.0 * y), 1.0);
            let n = u32(cell.x + 16.0) * 747796405u + u32(cell.y + 16.0);
            return f32(n >> 16u) / 65536.0 * fract(8.0 * x) + y;
        }",
    ];

    #[test]
    fn derivatives_match_finite_differences_in_control_flow() {
        let mut random = Random::new(2);
        for source in CONTROL {
            let function = of_wgsl(source);
            let derivative = gradient(&function, &[0, 1]);
            let mut close = 0;
            for _ in 0..200 {
                let at = [0, 1].map(|_| uniform(&mut random, -0.9, 0.9));
                let values = evaluate(&derivative, &at);
                assert_eq!(values[0].to_bits(), evaluate(&function, &at)[0].to_bits());
                for k in 0..2 {
                    const STEP: f32 = 1.0 / 1024.0;
                    let [below, above] = [-STEP, STEP].map(|step| {
                        let mut at = at;
                        at[k] += step;
                        evaluate(&function, &at)[0]
                    });
                    let difference = (above - below) / (2.0 * STEP);
                    let error = (difference - values[function.outputs.len() + k]).abs();
                    close += usize::from(error < 0.01 * (1.0 + difference.abs()));
                }
            }
            // The others are next to a jump or a kink.
            assert!(close > 370, "{close} of 400 are close: {source}");
        }
    }

    #[test]
    fn second_derivatives_are_derivatives_of_derivatives() {
        let function = case("x * x * x * y");
        let first = gradient(&function, &[0]);
        let second = run(&first, &[0, 1], &[1]).expect("it has derivatives");
        let values = evaluate(&second, &[2.0, 3.0]);
        assert_eq!(second.outputs[2].name, "ddf/dx/dx");
        assert_eq!(values, [24.0, 36.0, 36.0, 12.0]);
    }

    #[test]
    fn unused_and_constant_inputs_have_derivative_zero() {
        let function = case("y * 2.0");
        assert_eq!(evaluate(&gradient(&function, &[0, 1]), &[1.0, 1.0]), [2.0, 0.0, 2.0]);
        let constant = case("7.0");
        assert_eq!(evaluate(&gradient(&constant, &[1]), &[1.0, 1.0]), [7.0, 0.0]);
    }

    #[test]
    fn kinks_have_the_derivative_of_the_chosen_arm() {
        let at_zero = |expression: &str| evaluate(&gradient(&case(expression), &[0]), &[0.0; 2])[1];
        assert_eq!(at_zero("abs(x)"), 1.0);
        assert_eq!(at_zero("min(2.0 * x, 3.0 * x)"), 2.0);
        assert_eq!(at_zero("max(2.0 * x, 3.0 * x)"), 2.0);
        assert_eq!(at_zero("select(2.0 * x, 3.0 * x, x < 0.0)"), 2.0);
        assert_eq!(at_zero("sqrt(x)"), f32::INFINITY);
    }

    #[test]
    fn lookups_and_reassembled_bits_have_no_derivative() {
        let text = "fn f(x: f32, y: f32) -> (r: f32) {
            %b = bits x
            %c = and %b, 255
            %r = float %c
            return %r
        }";
        let function = parse(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(run(&function, &[0], &[0]), Err(DerivativeError::Bits));
        run(&function, &[1], &[0]).expect("it does not depend on y");
        let source = "@group(0) @binding(0) var image: texture_2d<f32>;
            @group(0) @binding(1) var linear: sampler;
            fn f(x: f32, y: f32) -> f32 {
                return y * textureSampleLevel(image, linear, vec2f(x, 0.5), 0.0).x;
            }";
        let function = of_wgsl(source);
        assert_eq!(run(&function, &[0], &[0]), Err(DerivativeError::Texture));
        run(&function, &[1], &[0]).expect("the lookup does not depend on y");
    }

    /// Bounds on values and derivatives contain those of random members of random boxes, in all
    /// modes.
    #[test]
    fn bounds_contain_values_and_derivatives() {
        let mut random = Random::new(3);
        let sources = CASES
            .iter()
            .map(|(expression, _)| {
                format!("fn f(x: f32, y: f32) -> f32 {{ return {expression}; }}")
            })
            .chain(CONTROL.iter().map(|source| (*source).to_owned()));
        for source in sources {
            let shader = Shader::parse_function("f.wgsl", &source, "f").expect("it is valid");
            let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local);
            let integrand = integrand.expect("it is valid");
            let inputs = integrand.inputs(IntervalInputs::Light, Ranges::Declared);
            let derivative = gradient(&integrand.point, &[0, 1]);
            let ports = derivative.outputs.iter().enumerate();
            let outputs: Vec<_> =
                ports.filter(|(_, port)| port.ty == Type::F32).map(|(k, _)| k).collect();
            for relations in [Relations::NONE, Relations::all()] {
                let options = Options { relations, ..Options::default() };
                let lifted = lift::run(&derivative, &inputs, &outputs, &options);
                for _ in 0..40 {
                    let size = (-8.0 * uniform(&mut random, 0.0, 1.0)).exp2();
                    let b = [0, 1].map(|_| {
                        let low = uniform(&mut random, -1.4, 1.4);
                        [low, low + size * uniform(&mut random, 0.0, 1.0)]
                    });
                    let bounds = evaluate(&lifted.function, b.as_flattened());
                    for _ in 0..20 {
                        let at = b.map(|[low, high]| {
                            (low + (high - low) * uniform(&mut random, 0.0, 1.0)).clamp(low, high)
                        });
                        let values = evaluate(&derivative, &at);
                        for (k, &output) in outputs.iter().enumerate() {
                            let (value, low, high) =
                                (values[output], bounds[2 * k], bounds[2 * k + 1]);
                            let is_unbounded = low.is_nan() || high.is_nan();
                            assert!(
                                is_unbounded
                                    || value.is_nan()
                                        && (low, high) == (f32::NEG_INFINITY, f32::INFINITY)
                                    || low <= value && value <= high,
                                "{source}\n{} at {at:?} in {b:?}: {value} is not in {low}..{high}",
                                derivative.outputs[output].name
                            );
                        }
                    }
                }
            }
        }
    }
}
