//! Random functions of unit vectors, built from the patterns that relations match: dot products,
//! sums of squares, half vectors, quotients, products, odd powers, polynomials, mixtures,
//! remainders, ordered values, and monotone expressions that use a value several times. Each
//! pattern has several variants, as in shaders.

use lightbound_shader::builder::{Builder, Rules};
use lightbound_shader::interval::{Bounds, Floats};
use lightbound_shader::ir::{Emit, Function, Op, Type, Value};
use lightbound_shader::lift::Input;
use lightbound_shader::random::Random;
use lightbound_shader::relations::{Axis, MAX_UNIT_COMPONENT};

type Vector = [Value; 3];

/// Generates a random function, with descriptions of its inputs: directions `wi` and `wo`,
/// sometimes the frame, and scalars.
pub(super) fn function(random: &mut Random) -> (Function, Vec<Input>) {
    let mut builder = Builder::new("patterns", Rules::Exact);
    let in_world = random.once_in(3);
    let names: &[&str] = if in_world { &["wi", "wo", "n", "t", "b"] } else { &["wi", "wo"] };
    let (mut inputs, all_intervals, one_sided) = (vec![], random.once_in(2), random.once_in(2));
    // Some relations apply to functions without unit vectors only.
    let has_vectors = !random.once_in(4);
    let mut vectors: Vec<Vector> = vec![];
    for (vector, name) in names.iter().enumerate() {
        vectors
            .push(["x", "y", "z"].map(|axis| builder.input(&format!("{name}.{axis}"), Type::F32)));
        let low = if !in_world && (random.once_in(2) || vector == 1 && one_sided) {
            0.0
        } else {
            -MAX_UNIT_COMPONENT
        };
        for component in 0..3 {
            let bounds = Bounds::Float(Floats::between(
                if component == 2 { low } else { -MAX_UNIT_COMPONENT },
                MAX_UNIT_COMPONENT,
            ));
            let axis =
                Axis { vector, component, frame: vector >= 2, above: vector == 1 && one_sided };
            let axis = has_vectors.then_some(axis);
            inputs.push(Input {
                interval: all_intervals || vector == 0,
                bounds,
                axis,
                sorted: None,
            });
        }
    }
    let numbers = ["a", "b", "c"].map(|name| {
        let [low, high] = *random.pick(&[
            [0.0, 1.0],
            [1e-4, 1.0],
            [1.0, 1000.0],
            [0.0, 1000.0],
            [-1.0, 1.0],
            [0.5, 0.5],
        ]);
        let bounds = Bounds::Float(Floats::between(low, high));
        inputs.push(Input { interval: random.once_in(3), bounds, axis: None, sorted: None });
        builder.input(name, Type::F32)
    });
    if in_world {
        let [n, t, b] = [2, 3, 4].map(|k| vectors[k]);
        let local = [0, 1].map(|k| [t, b, n].map(|axis| plain_dot(&mut builder, vectors[k], axis)));
        if random.once_in(2) {
            vectors = local.to_vec();
        } else {
            vectors.extend(local);
        }
    }
    let floats = vectors.iter().flatten().copied().chain(numbers).collect();
    let mut patterns =
        PatternBuilder { builder, random, vectors, numbers, floats, results: vec![] };
    for _ in 0..1 + patterns.random.below(8) {
        patterns.pattern();
    }
    let mut outputs: Vec<_> = patterns.results.iter().rev().take(6).copied().collect();
    if patterns.random.once_in(3) {
        patterns.restrict_support(&mut outputs);
    }
    let outputs = outputs.into_iter().enumerate().map(|(k, value)| (format!("y{k}"), value));
    (patterns.builder.finish(outputs), inputs)
}

/// Builds a dot product in the usual order.
fn plain_dot(builder: &mut Builder, a: Vector, b: Vector) -> Value {
    let [x, y, z] = [0, 1, 2].map(|k| builder.op(Op::Mul, &[a[k], b[k]]));
    let sum = builder.op(Op::Add, &[x, y]);
    builder.op(Op::Add, &[sum, z])
}

struct PatternBuilder<'a> {
    builder: Builder,
    random: &'a mut Random,
    /// Unit vectors.
    vectors: Vec<Vector>,
    numbers: [Value; 3],
    /// All float values so far.
    floats: Vec<Value>,
    /// The results of patterns.
    results: Vec<Value>,
}

impl PatternBuilder<'_> {
    fn op(&mut self, op: Op, args: &[Value]) -> Value {
        self.builder.op(op, args)
    }

    /// Makes outputs 0 unless a component of a vector is positive. Adds products in which the sign
    /// of the component matters to some of them.
    fn restrict_support(&mut self, outputs: &mut [Value]) {
        let z = self.vector()[2];
        let zero = self.builder.f32(0.0);
        let positive = self.commuted(Op::Max, z, zero);
        for output in outputs {
            if self.random.once_in(2) {
                let (x, y) = (self.float(), self.float());
                let signed = [x, y].map(|x| self.commuted(Op::Mul, x, z));
                let product = self.commuted(Op::Mul, signed[0], signed[1]);
                *output = self.commuted(Op::Add, *output, product);
            }
            *output = self.commuted(Op::Mul, *output, positive);
        }
    }

    /// Builds a commutative operation with its arguments in random order.
    fn commuted(&mut self, op: Op, a: Value, b: Value) -> Value {
        if self.random.once_in(2) { self.op(op, &[a, b]) } else { self.op(op, &[b, a]) }
    }

    /// Returns one of these constants.
    fn constant(&mut self, choices: &[f32]) -> Value {
        let x = *self.random.pick(choices);
        self.builder.f32(x)
    }

    fn one(&mut self) -> Value {
        self.builder.f32(1.0)
    }

    fn square(&mut self, x: Value) -> Value {
        self.op(Op::Mul, &[x, x])
    }

    /// Returns a random float value, usually the result of a pattern.
    fn float(&mut self) -> Value {
        let choices = if self.results.is_empty() || self.random.once_in(3) {
            &self.floats
        } else {
            &self.results
        };
        *self.random.pick(choices)
    }

    fn vector(&mut self) -> Vector {
        *self.random.pick(&self.vectors)
    }

    /// Returns a value that is usually nonnegative.
    fn positive(&mut self) -> Value {
        match self.random.below(5) {
            0 => *self.random.pick(&self.numbers),
            1 => {
                let x = self.float();
                self.square(x)
            }
            2 => {
                let x = self.float();
                self.op(Op::Abs, &[x])
            }
            3 => self.float(),
            _ => {
                let (x, minimum) = (self.float(), self.constant(&[0.0, 0.0, 1e-4, 1e-8]));
                self.commuted(Op::Max, x, minimum)
            }
        }
    }

    /// Adds a random pattern.
    fn pattern(&mut self) {
        let result = match self.random.below(24) {
            0..3 => self.dot(),
            3..6 => self.squares(),
            6 | 7 => self.half(),
            8 | 9 => self.order(),
            10 => self.branch(),
            11 | 12 => self.quotient(),
            13 | 14 => self.product(),
            15 | 16 => self.monotone(),
            17 | 18 => self.polynomial(),
            19 | 20 => self.mixture(),
            21 => self.remainder(),
            _ => self.mixed(),
        };
        self.floats.push(result);
        self.results.push(result);
    }

    /// Builds a dot product with terms in random order and with random signs.
    fn dot(&mut self) -> Value {
        let (u, v) = (self.vector(), self.vector());
        let mirrored = self.random.once_in(2);
        let mut order = [0, 1, 2];
        order.swap(0, self.random.below(3));
        order.swap(1, 1 + self.random.below(2));
        let (mut sum, mut any) = (None, false);
        for (turn, k) in order.into_iter().enumerate() {
            let minus = mirrored && if turn == 2 && !any { true } else { self.random.once_in(2) };
            any |= minus;
            let term = if minus && self.random.once_in(2) {
                let negative = self.op(Op::Neg, &[u[k]]);
                (self.commuted(Op::Mul, negative, v[k]), false)
            } else {
                (self.commuted(Op::Mul, u[k], v[k]), minus)
            };
            sum = Some(match (sum, term) {
                (None, (term, false)) => term,
                (None, (term, true)) => self.op(Op::Neg, &[term]),
                (Some(sum), (term, false)) => self.commuted(Op::Add, sum, term),
                (Some(sum), (term, true)) => self.op(Op::Sub, &[sum, term]),
            });
        }
        sum.expect("a vector has components")
    }

    /// Builds sums of squares of a unit vector's components, 1 minus such sums, and their roots and
    /// quotients.
    fn squares(&mut self) -> Value {
        let v = self.vector();
        let first = self.random.below(3);
        let [x, y, z] = [0, 1, 2].map(|k| v[(first + k) % 3]);
        let [xx, yy, zz] = [x, y, z].map(|x| self.square(x));
        let one = self.one();
        let two = self.commuted(Op::Add, xx, yy);
        let value = match self.random.below(6) {
            0 => two,
            1 => self.commuted(Op::Add, two, zz),
            2 | 3 => self.op(Op::Sub, &[one, zz]),
            4 => self.op(Op::Sub, &[one, two]),
            _ => {
                let rest = self.op(Op::Sub, &[one, xx]);
                self.op(Op::Sub, &[rest, yy])
            }
        };
        match self.random.below(5) {
            0 => {
                let zero = self.builder.f32(0.0);
                let value = self.op(Op::Max, &[value, zero]);
                self.op(Op::Sqrt, &[value])
            }
            1 => self.op(Op::Sqrt, &[value]),
            2 => self.op(Op::Div, &[value, zz]),
            3 => {
                let root = self.op(Op::Sqrt, &[value]);
                self.commuted(Op::Div, root, z)
            }
            _ => value,
        }
    }

    /// Builds a half vector or a term of one. Later patterns use the half vector as a unit vector.
    fn half(&mut self) -> Value {
        let (u, v) = (self.vector(), self.vector());
        let sum = [0, 1, 2].map(|k| self.op(Op::Add, &[u[k], v[k]]));
        let length2 = plain_dot(&mut self.builder, sum, sum);
        let half = if self.random.once_in(3) {
            let factor = if self.random.once_in(2) {
                self.op(Op::Rsqrt, &[length2])
            } else {
                let (one, length) = (self.one(), self.op(Op::Sqrt, &[length2]));
                self.op(Op::Div, &[one, length])
            };
            sum.map(|x| self.commuted(Op::Mul, x, factor))
        } else {
            let length = self.op(Op::Sqrt, &[length2]);
            sum.map(|x| self.op(Op::Div, &[x, length]))
        };
        match self.random.below(5) {
            0 => length2,
            1 => plain_dot(&mut self.builder, half, u),
            _ => {
                self.vectors.push(half);
                self.floats.extend(half);
                half[self.random.below(3)]
            }
        }
    }

    /// Builds differences and quotients of values that a minimum or a maximum orders.
    fn order(&mut self) -> Value {
        let (x, y) = (self.positive(), self.positive());
        let [low, high] = [Op::Min, Op::Max].map(|op| self.commuted(op, x, y));
        match self.random.below(8) {
            0 => self.op(Op::Div, &[x, high]),
            1 => {
                let minimum = self.constant(&[1e-4, 1e-8, 1.0]);
                let high = self.commuted(Op::Max, high, minimum);
                self.op(Op::Div, &[x, high])
            }
            2 => self.op(Op::Div, &[low, high]),
            3 => self.op(Op::Sub, &[high, x]),
            4 => self.op(Op::Sub, &[high, low]),
            5 => self.op(Op::Sub, &[x, low]),
            6 => {
                let (product, minimum) =
                    (self.commuted(Op::Mul, x, y), self.constant(&[1e-8, 1e-4, 0.0]));
                let product = self.commuted(Op::Max, product, minimum);
                let root = self.op(Op::Sqrt, &[product]);
                self.op(Op::Div, &[x, root])
            }
            _ => {
                let one = self.one();
                let low = self.commuted(Op::Min, high, one);
                self.op(Op::Sub, &[one, low])
            }
        }
    }

    /// Builds differences and quotients of values that the condition of a branch orders.
    fn branch(&mut self) -> Value {
        let (x, y) = (self.positive(), self.positive());
        let [a, b] = if self.random.once_in(2) { [x, y] } else { [y, x] };
        let op = if self.random.once_in(2) { Op::Lt } else { Op::Le };
        let below = self.op(op, &[a, b]);
        if self.random.once_in(3) {
            let [then, otherwise] = [(b, a), (a, b)].map(|(b, a)| self.op(Op::Sub, &[b, a]));
            return self.op(Op::Select, &[below, then, otherwise]);
        }
        let arms = [(a, b), (b, a)].map(|(a, b)| {
            self.builder.open_arm();
            let value = match self.random.below(4) {
                0 => self.op(Op::Div, &[a, b]),
                1 => {
                    let more = self.op(Op::Sub, &[b, a]);
                    self.op(Op::Sqrt, &[more])
                }
                2 => {
                    let (sum, exponent) = (self.op(Op::Add, &[a, b]), self.numbers[0]);
                    self.op(Op::Pow, &[sum, exponent])
                }
                _ => a,
            };
            self.builder.close_arm(&[value])
        });
        let [then, otherwise] = arms;
        self.builder.push_if(below, then, otherwise)[0]
    }

    /// Builds a quotient of sums over the same terms.
    fn quotient(&mut self) -> Value {
        let [x, y] = [(); 2].map(|()| self.positive());
        let [x, y] = if self.random.once_in(2) { [x, y].map(|x| self.square(x)) } else { [x, y] };
        let (a, b) = (*self.random.pick(&self.numbers), *self.random.pick(&self.numbers));
        let (weighted, other) = (self.commuted(Op::Mul, a, x), self.commuted(Op::Mul, b, y));
        let sum = self.commuted(Op::Add, x, y);
        let sum = if self.random.once_in(2) {
            let minimum = self.constant(&[1e-8, 1e-20, 1e-4]);
            self.commuted(Op::Max, sum, minimum)
        } else {
            sum
        };
        let dividend = match self.random.below(4) {
            0 => x,
            1 => weighted,
            _ => self.commuted(Op::Add, weighted, other),
        };
        self.op(Op::Div, &[dividend, sum])
    }

    /// Builds a product of x and c − x, or an odd power of x.
    fn product(&mut self) -> Value {
        let (x, c) = (
            self.float(),
            if self.random.once_in(3) {
                self.numbers[1]
            } else {
                self.constant(&[1.0, 1.0, 2.0, 0.5])
            },
        );
        match self.random.below(6) {
            0 => {
                let square = self.square(x);
                return self.op(Op::Sub, &[x, square]);
            }
            1 | 2 => {
                let square = self.square(x);
                let even = if self.random.once_in(2) { self.square(square) } else { square };
                return self.commuted(Op::Mul, even, x);
            }
            _ => {}
        }
        let rest = self.op(Op::Sub, &[c, x]);
        self.commuted(Op::Mul, x, rest)
    }

    /// Builds a polynomial by Horner's rule, often times a power.
    fn polynomial(&mut self) -> Value {
        let mut x = self.float();
        if self.random.once_in(2) {
            let (zero, one) = (self.builder.f32(0.0), self.one());
            let clamped = self.op(Op::Max, &[x, zero]);
            x = self.op(Op::Min, &[clamped, one]);
        }
        let mut sum = self.constant(&[1.0, -2.0, 6.0, -0.25]);
        for _ in 0..1 + self.random.below(4) {
            let product = self.commuted(Op::Mul, sum, x);
            let coefficient = self.constant(&[1.0, 3.0, -15.0, 10.0, 0.5, 0.0]);
            let op = *self.random.pick(&[Op::Add, Op::Sub]);
            sum = self.op(op, &[coefficient, product]);
        }
        match self.random.below(3) {
            0 => sum,
            1 => self.commuted(Op::Mul, x, sum),
            _ => {
                let square = self.square(x);
                self.commuted(Op::Mul, square, sum)
            }
        }
    }

    /// Builds a (1 − t) + b t or a + (b − a) t, with t often in [0, 1].
    fn mixture(&mut self) -> Value {
        let (a, b, mut t) = (self.float(), self.float(), self.float());
        if self.random.once_in(2) {
            let (zero, one) = (self.builder.f32(0.0), self.one());
            let clamped = self.op(Op::Max, &[t, zero]);
            t = self.op(Op::Min, &[clamped, one]);
        }
        if self.random.once_in(2) {
            let difference = self.op(Op::Sub, &[b, a]);
            let step = self.commuted(Op::Mul, difference, t);
            return self.commuted(Op::Add, a, step);
        }
        let one = self.one();
        let rest = self.op(Op::Sub, &[one, t]);
        let [first, second] = [(a, rest), (b, t)].map(|(x, w)| self.commuted(Op::Mul, x, w));
        self.commuted(Op::Add, first, second)
    }

    /// Builds a remainder, or a − b times a quotient rounded down, often with a divisor that is not 0.
    fn remainder(&mut self) -> Value {
        let (mut a, mut b) = (self.float(), self.constant(&[1.0, 0.25, -0.7, 3.0]));
        if self.random.once_in(2) {
            let scale = self.constant(&[4.0, 50.0]);
            a = self.op(Op::Mul, &[a, scale]);
        }
        if self.random.once_in(2) {
            let x = self.positive();
            b = self.commuted(Op::Add, x, b);
        }
        if self.random.once_in(2) {
            return self.op(Op::Rem, &[a, b]);
        }
        let quotient = self.op(Op::Div, &[a, b]);
        let rounding = *self.random.pick(&[Op::Floor, Op::Trunc]);
        let rounded = self.op(rounding, &[quotient]);
        let multiple = self.commuted(Op::Mul, b, rounded);
        self.op(Op::Sub, &[a, multiple])
    }

    /// Builds a monotone expression that uses a value several times.
    fn monotone(&mut self) -> Value {
        let (x, one) = (self.positive(), self.one());
        let other =
            if self.random.once_in(2) { self.positive() } else { *self.random.pick(&self.numbers) };
        match self.random.below(8) {
            0 | 1 => {
                let square = self.square(x);
                let rest = self.op(Op::Sub, &[one, square]);
                let root = self.op(Op::Sqrt, &[rest]);
                if self.random.once_in(2) {
                    self.op(Op::Div, &[x, root])
                } else {
                    self.op(Op::Div, &[root, x])
                }
            }
            2 => {
                let sum = self.commuted(Op::Add, x, other);
                self.op(Op::Div, &[x, sum])
            }
            3 => {
                let sum = self.commuted(Op::Add, x, one);
                self.op(Op::Div, &[x, sum])
            }
            4 => {
                // x ÷ (x (1 − k) + k)
                let (rest, k) = (self.op(Op::Sub, &[one, other]), other);
                let scaled = self.commuted(Op::Mul, x, rest);
                let below = self.commuted(Op::Add, scaled, k);
                self.op(Op::Div, &[x, below])
            }
            5 => {
                // (1 + t ÷ z²)^(e ÷ t)
                let (square, exponent) = (self.square(other), self.numbers[2]);
                let ratio = self.op(Op::Div, &[x, square]);
                let base = self.commuted(Op::Add, ratio, one);
                let power = self.op(Op::Div, &[exponent, x]);
                self.op(Op::Pow, &[base, power])
            }
            6 => {
                // 1 ÷ ((a² − 1) x² + 1)²
                let (square, a) = (self.square(x), self.square(other));
                let less = self.op(Op::Sub, &[a, one]);
                let scaled = self.commuted(Op::Mul, square, less);
                let below = self.commuted(Op::Add, scaled, one);
                let below = self.square(below);
                self.op(Op::Div, &[a, below])
            }
            _ => {
                let floor = self.constant(&[1e-4, 1e-8]);
                let below = self.commuted(Op::Max, x, other);
                let below = self.commuted(Op::Max, below, floor);
                self.op(Op::Div, &[x, below])
            }
        }
    }

    /// Builds another operation that shaders have.
    fn mixed(&mut self) -> Value {
        let (x, y) = (self.float(), self.float());
        match self.random.below(9) {
            0 => self.op(Op::Add, &[x, y]),
            1 => self.op(Op::Sub, &[x, y]),
            2 => self.op(Op::Mul, &[x, y]),
            3 => self.op(Op::Div, &[x, y]),
            4 => {
                let (base, exponent) = (self.positive(), *self.random.pick(&self.numbers));
                self.op(Op::Pow, &[base, exponent])
            }
            5 => {
                let minus = self.op(Op::Neg, &[x]);
                self.op(Op::Exp, &[minus])
            }
            6 => {
                let x = self.positive();
                self.op(Op::Sqrt, &[x])
            }
            7 => {
                let (one, minimum) = (self.one(), self.constant(&[0.0, -1.0]));
                let x = self.op(Op::Max, &[x, minimum]);
                self.op(Op::Min, &[x, one])
            }
            _ => {
                let op = *self.random.pick(&[Op::Acos, Op::Atan, Op::Neg, Op::Abs]);
                self.op(op, &[x])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::ir::verify::verify;

    #[test]
    fn functions_are_valid() {
        let random = &mut Random::new(1);
        for _ in 0..500 {
            let (function, inputs) = function(random);
            assert_eq!(verify(&function), Ok(()), "{function}");
            assert_eq!(function.inputs.len(), inputs.len());
            assert!(!function.outputs.is_empty());
        }
    }
}
