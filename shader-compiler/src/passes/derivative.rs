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
mod tests;
