//! Generates random float expressions of a given role.

use super::ast::{Expr, Ty};
use super::expressions::{Role, call, clamp01, max0};
use super::generate::Generator;

/// Functions of one float that are finite for all finite arguments.
const TOTAL_FUNCTIONS: [&str; 12] = [
    "sin", "cos", "sign", "tanh", "atan", "floor", "ceil", "round", "trunc", "fract", "abs",
    "saturate",
];

/// Functions of one float that are called with arguments in [-1, 1].
const SIGNED_FUNCTIONS: [&str; 8] = ["asin", "acos", "sinh", "cosh", "exp", "exp2", "tan", "asinh"];

/// Functions of one float that are called with positive arguments.
const POSITIVE_FUNCTIONS: [&str; 4] = ["sqrt", "log", "log2", "inverseSqrt"];

impl Generator<'_> {
    pub(super) fn float(&mut self, role: Role, depth: usize) -> Expr {
        if let Some(call) = self.call_helper(Ty::F32, role, depth) {
            return call;
        }
        match role {
            Role::Fraction => self.fraction(depth),
            Role::Signed => self.signed(depth),
            Role::Positive => self.positive(depth),
            Role::Any | Role::Direction => self.any_float(depth),
        }
    }

    fn fraction(&mut self, depth: usize) -> Expr {
        let fraction = |g: &mut Self| g.expr(Ty::F32, Role::Fraction, depth);
        match self.below(18) {
            0 => clamp01(self.expr(Ty::F32, Role::Any, depth)),
            1 => call("abs", [self.expr(Ty::F32, Role::Signed, depth)]),
            2 => {
                self.note("max dot");
                let [a, b] = [(); 2].map(|()| self.expr(Ty::Vec(3), Role::Direction, depth));
                max0(call("dot", [a, b]))
            }
            3 => {
                self.note("step");
                call("step", [self.literal(Role::Signed), self.expr(Ty::F32, Role::Signed, depth)])
            }
            4 => {
                self.note("smoothstep");
                let low = self.below(8) as f32 * 0.1 - 0.4;
                let high = low + self.one_of(&[0.05, 0.2, 0.5, 1.0]);
                call(
                    "smoothstep",
                    [low.into(), high.into(), self.expr(Ty::F32, Role::Signed, depth)],
                )
            }
            5 => call("fract", [self.expr(Ty::F32, Role::Any, depth)]),
            6 => {
                self.note("pow");
                call("pow", [fraction(self), self.expr(Ty::F32, Role::Positive, depth)])
            }
            7 => call("exp", [-self.expr(Ty::F32, Role::Positive, depth)]),
            8 => fraction(self) * fraction(self),
            9 | 10 => 1.0 - fraction(self),
            11 => {
                self.note("mix");
                call("mix", [fraction(self), fraction(self), fraction(self)])
            }
            12 => {
                self.note("select");
                call(
                    "select",
                    [fraction(self), fraction(self), self.expr(Ty::Bool, Role::Any, depth)],
                )
            }
            13 => {
                let x = self.leaf(Ty::F32, Role::Signed);
                &x * &x
            }
            14 => call(self.one_of(&["min", "max"]), [fraction(self), fraction(self)]),
            15 => call("sqrt", [fraction(self)]),
            16 => {
                let condition = self.expr(Ty::Bool, Role::Any, depth);
                call("f32", [condition])
            }
            _ => 0.5 * self.expr(Ty::F32, Role::Signed, depth) + 0.5,
        }
    }

    fn signed(&mut self, depth: usize) -> Expr {
        let signed = |g: &mut Self| g.expr(Ty::F32, Role::Signed, depth);
        match self.below(10) {
            0 | 1 => {
                let [a, b] = [(); 2].map(|()| self.expr(Ty::Vec(3), Role::Direction, depth));
                call("dot", [a, b])
            }
            2 => {
                self.expr(Ty::Vec(3), Role::Direction, depth).swizzle(self.one_of(&["x", "y", "z"]))
            }
            3 => call(self.one_of(&["sin", "cos"]), [self.expr(Ty::F32, Role::Any, depth)]),
            4 => call(self.one_of(&["sign", "tanh"]), [self.expr(Ty::F32, Role::Any, depth)]),
            5 => 2.0 * self.expr(Ty::F32, Role::Fraction, depth) - 1.0,
            6 => call("clamp", [self.expr(Ty::F32, Role::Any, depth), (-1.0).into(), 1.0.into()]),
            7 => -signed(self),
            8 => {
                self.expr(Ty::F32, Role::Fraction, depth)
                    - self.expr(Ty::F32, Role::Fraction, depth)
            }
            _ => signed(self) * self.expr(Ty::F32, Role::Fraction, depth),
        }
    }

    fn positive(&mut self, depth: usize) -> Expr {
        let fraction = |g: &mut Self| g.expr(Ty::F32, Role::Fraction, depth);
        let positive = |g: &mut Self| g.expr(Ty::F32, Role::Positive, depth);
        match self.below(10) {
            0 => 1.0 / (fraction(self) + self.one_of(&[1e-3, 0.01, 0.1, 1.0])),
            1 => fraction(self) * self.literal(Role::Positive),
            2 => call(
                self.one_of(&["exp", "exp2", "cosh"]),
                [self.expr(Ty::F32, Role::Signed, depth)],
            ),
            3 => call("length", [self.expr(Ty::Vec(3), Role::Signed, depth)]),
            4 => {
                let v = self.leaf(Ty::Vec(3), Role::Signed);
                call("dot", [v.clone(), v])
            }
            5 => call("sqrt", [positive(self)]),
            6 => positive(self) + positive(self),
            7 => call(
                "distance",
                [self.expr(Ty::Vec(2), Role::Signed, depth), self.leaf(Ty::Vec(2), Role::Signed)],
            ),
            8 => {
                positive(self)
                    / call("max", [positive(self), self.one_of(&[1e-4, 0.05, 0.5]).into()])
            }
            _ => call(
                "max",
                [self.expr(Ty::F32, Role::Any, depth), self.one_of(&[1e-4, 0.01, 0.1]).into()],
            ),
        }
    }

    fn any_float(&mut self, depth: usize) -> Expr {
        let any = |g: &mut Self| g.expr(Ty::F32, Role::Any, depth);
        let signed = |g: &mut Self| g.expr(Ty::F32, Role::Signed, depth);
        match self.below(24) {
            0 | 1 => any(self) + any(self),
            2 | 3 => any(self) - any(self),
            4 | 5 => any(self) * signed(self),
            6 => any(self) / self.expr(Ty::F32, Role::Positive, depth),
            7 => {
                // Without a guard against division by zero.
                self.note("division");
                any(self) / any(self)
            }
            8 | 9 => {
                let name = self.one_of(&TOTAL_FUNCTIONS);
                self.note(name);
                call(name, [any(self)])
            }
            10 => {
                let name = self.one_of(&SIGNED_FUNCTIONS);
                self.note(name);
                call(name, [signed(self)])
            }
            11 => {
                let name = self.one_of(&POSITIVE_FUNCTIONS);
                self.note(name);
                call(name, [self.expr(Ty::F32, Role::Positive, depth)])
            }
            12 => {
                self.note("fma");
                call("fma", [any(self), signed(self), any(self)])
            }
            13 => call("mix", [any(self), any(self), self.expr(Ty::F32, Role::Fraction, depth)]),
            14 => call("select", [any(self), any(self), self.expr(Ty::Bool, Role::Any, depth)]),
            15 => {
                self.note("atan2");
                call("atan2", [signed(self), signed(self)])
            }
            16 => call(self.one_of(&["f32"]), [self.expr(Ty::I32, Role::Any, depth)]),
            17 => self.element(depth),
            18 => call(self.one_of(&["min", "max"]), [any(self), any(self)]),
            19 => {
                self.note("mantissa bits");
                let bits = call("bitcast<u32>", [any(self)]);
                let one = Expr::binary(
                    "|",
                    Expr::binary("&", bits, Expr::uint(0x7f_ffff)),
                    Expr::uint(0x3f80_0000),
                );
                call("bitcast<f32>", [one]) - 1.0
            }
            20 => match self.below(5) {
                0 => {
                    self.note("frexp");
                    call("frexp", [any(self)]).member("fract", Ty::F32)
                }
                1 => {
                    self.note("modf");
                    call("modf", [any(self)]).member("fract", Ty::F32)
                }
                2 => {
                    self.note("ldexp");
                    call("ldexp", [any(self), Expr::int(self.below(5) as i64 - 2)])
                }
                3 => {
                    self.note("quantizeToF16");
                    call("quantizeToF16", [signed(self)])
                }
                _ => {
                    self.note("determinant");
                    call("determinant", [self.expr(Ty::Mat(2), Role::Any, depth)])
                }
            },
            21 => {
                let x = any(self);
                let y = self.expr(Ty::F32, Role::Positive, depth);
                self.note("%");
                Expr::binary("%", x, y)
            }
            22 => {
                let x = self.leaf(Ty::F32, Role::Any);
                let x = self.ensure_runtime(x);
                self.note("x - x x");
                &x - &x * &x
            }
            _ => call(self.one_of(&["radians", "degrees"]), [signed(self)]),
        }
    }

    /// Returns an element of an array or a vector at a dynamic index.
    fn element(&mut self, depth: usize) -> Expr {
        let arrays = self.scope.iter().filter(|b| matches!(b.expr.ty, Ty::Array(_) | Ty::Vec(_)));
        let arrays: Vec<_> = arrays.map(|b| b.expr.clone()).collect();
        if arrays.is_empty() {
            return self.leaf(Ty::F32, Role::Any);
        }
        self.note("dynamic index");
        let array = arrays[self.below(arrays.len())].clone();
        let (Ty::Array(n) | Ty::Vec(n)) = array.ty else {
            unreachable!("only arrays and vectors were collected")
        };
        let position = self.expr(Ty::F32, Role::Fraction, depth);
        let index = call("u32", [self.ensure_runtime(position) * n as f32]);
        array.at(index)
    }
}
