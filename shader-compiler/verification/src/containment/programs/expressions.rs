//! Generates random expressions of a given type and role.
//!
//! A [`Role`] is the approximate range of an expression. Roles make programs resemble shaders: the
//! base of a power is in [0, 1], radicands and divisors are positive, and magnitudes are moderate.
//! Variables in scope are preferred to new expressions, so that values have several uses. The role
//! is sometimes ignored, as authors of shaders sometimes forget to clamp.

use super::ast::{Expr, ExprKind, Ty};
use super::generate::Generator;

/// Approximate range of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Unknown.
    Any,
    /// In [-1, 1]; for a vector, each component.
    Signed,
    /// In [0, 1].
    Fraction,
    /// Positive and of moderate magnitude.
    Positive,
    /// A unit vector.
    Direction,
}

impl Role {
    /// Whether all values of this role also have the other one.
    pub fn implies(self, other: Role) -> bool {
        match other {
            Role::Any => true,
            Role::Signed => self != Role::Any && self != Role::Positive,
            Role::Positive => matches!(self, Role::Positive | Role::Fraction),
            Role::Fraction | Role::Direction => self == other,
        }
    }
}

/// Builds a call of a built-in function.
pub(super) fn call(name: &str, args: impl IntoIterator<Item = Expr>) -> Expr {
    Expr::call(name, args.into_iter().collect())
}

/// Builds `clamp(x, 0.0, 1.0)`.
pub(super) fn clamp01(x: Expr) -> Expr {
    call("clamp", [x, 0.0.into(), 1.0.into()])
}

/// Builds `max(x, 0.0)`.
pub(super) fn max0(x: Expr) -> Expr {
    call("max", [x, 0.0.into()])
}

/// Builds `vecNf(x)`.
pub(super) fn splat(n: usize, x: impl Into<Expr>) -> Expr {
    call(&format!("vec{n}f"), [x.into()])
}

impl Generator<'_> {
    /// Returns a random expression of a type. `role` applies only to floats and vectors.
    pub(super) fn expr(&mut self, ty: Ty, role: Role, depth: usize) -> Expr {
        let role = if self.once_in(40) { Role::Any } else { role };
        if depth == 0 || self.once_in(4) {
            return self.leaf(ty, role);
        }
        let expr = match ty {
            Ty::F32 => self.float(role, depth - 1),
            Ty::Vec(n) => self.vector(n, role, depth - 1),
            Ty::Bool => self.condition(depth - 1),
            Ty::I32 => self.integer(depth - 1),
            Ty::U32 => self.unsigned(depth - 1),
            Ty::Mat(n) => self.matrix(n, depth - 1),
            Ty::BVec(n) => {
                let [a, b] = [(); 2].map(|()| self.expr(Ty::Vec(n), Role::Signed, depth - 1));
                Expr::compare(self.one_of(&["<", "<=", ">", ">="]), a, b)
            }
            _ => self.leaf(ty, role),
        };
        self.ensure_runtime(expr)
    }

    /// Returns a variable of this type and role, if there is one; sometimes, or if there is none, a
    /// simple expression.
    pub(super) fn leaf(&mut self, ty: Ty, role: Role) -> Expr {
        let fits = |b: &&super::generate::Binding| b.expr.ty == ty && b.role.implies(role);
        let candidates: Vec<_> = self.scope.iter().filter(fits).map(|b| b.expr.clone()).collect();
        if !candidates.is_empty() && !self.once_in(5) {
            // Recent variables are likelier: shaders mostly use values soon after computing them.
            let n = candidates.len();
            let index = n - 1 - self.below(n).min(self.below(n));
            return candidates[index].clone();
        }
        match (ty, role) {
            (Ty::F32, Role::Any | Role::Signed) if self.once_in(2) => {
                let vectors = self
                    .scope
                    .iter()
                    .filter(|b| matches!(b.expr.ty, Ty::Vec(_)) && b.role.implies(role));
                let vectors: Vec<_> = vectors.map(|b| b.expr.clone()).collect();
                let Some(vector) = self.choose(&vectors) else { return self.literal(role) };
                let Ty::Vec(n) = vector.ty else { unreachable!("only vectors were collected") };
                let k = self.below(n);
                vector.swizzle(&"xyzw"[k..=k])
            }
            (Ty::F32, _) => self.literal(role),
            (Ty::I32, _) => Expr::int(self.below(5) as i64),
            (Ty::U32, _) => Expr::uint(self.below(9) as i64),
            (Ty::Bool, _) => {
                let x = self.leaf(Ty::F32, Role::Signed);
                let x = self.ensure_runtime(x);
                Expr::compare("<", x, self.literal(Role::Signed))
            }
            (Ty::Vec(3), Role::Direction) if self.is_in_scope("wi") => {
                Expr::name(Ty::Vec(3), self.one_of(&["wi", "wo"]))
            }
            (Ty::Vec(3), Role::Direction) => {
                call("normalize", [call("vec3f", [0.0.into(), 0.6.into(), self.runtime_float()])])
            }
            (Ty::Vec(n), _) if self.once_in(3) => {
                let parts: Vec<_> = (0..n).map(|_| self.leaf(Ty::F32, role)).collect();
                call(&format!("vec{n}f"), parts)
            }
            (Ty::Vec(n), _) => splat(n, self.leaf(Ty::F32, role)),
            (Ty::Mat(n), _) => {
                let columns: Vec<_> = (0..n).map(|_| self.leaf(Ty::Vec(n), Role::Signed)).collect();
                call(&format!("mat{n}x{n}f"), columns)
            }
            (Ty::Array(n), _) => {
                let elements: Vec<_> = (0..n).map(|_| self.leaf(Ty::F32, role)).collect();
                Expr::new(ty, ExprKind::Call(ty.to_string(), elements))
            }
            (Ty::BVec(n), _) => {
                Expr::compare("<", self.leaf(Ty::Vec(n), Role::Signed), splat(n, 0.25))
            }
            (Ty::UVec(n), _) => {
                call(&format!("vec{n}u"), [call("abs", [self.leaf(Ty::Vec(n), role)]) * 16.0])
            }
            (Ty::Texture | Ty::Sampler | Ty::Struct(_), _) => {
                unreachable!("a variable of this type is in scope")
            }
        }
    }

    /// Returns a literal as in handwritten shaders.
    pub(super) fn literal(&mut self, role: Role) -> Expr {
        let x: f32 = match role {
            Role::Signed if self.once_in(3) => -self.one_of(&[0.1, 0.25, 0.5, 0.8, 1.0]),
            Role::Any if self.once_in(3) => {
                self.one_of(&[-2.0, -0.5, 3.0, 10.0, 100.0, std::f32::consts::PI, 1e-3, -1.0, 0.0])
            }
            Role::Positive if self.once_in(2) => {
                self.one_of(&[1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 12.9898, 50.0])
            }
            _ if self.once_in(3) => (1 + self.below(99)) as f32 / 100.0,
            _ => self.one_of(&[0.5, 0.25, 0.1, 0.3, 0.75, 1.0, 0.04, 0.2, 0.6]),
        };
        x.into()
    }

    /// Returns a float that is not a constant expression.
    pub(super) fn runtime_float(&mut self) -> Expr {
        let is_float = |expr: &Expr| matches!(expr.ty, Ty::F32 | Ty::Vec(_));
        let candidates: Vec<_> = self
            .scope
            .iter()
            .filter(|b| is_float(&b.expr) && !b.is_const)
            .map(|b| b.expr.clone())
            .collect();
        let value = &candidates[self.below(candidates.len())];
        if value.ty == Ty::F32 { value.clone() } else { value.swizzle(self.one_of(&["x", "y"])) }
    }

    /// Makes a constant expression depend on an input: the front end folds constant expressions and
    /// rejects those that are not finite.
    pub(super) fn ensure_runtime(&mut self, mut expr: Expr) -> Expr {
        if !self.is_const(&expr) {
            return expr;
        }
        if expr.ty == Ty::F32 {
            return self.runtime_float();
        }
        // Replace the first float leaf of a vector, or the entire integer.
        let mut float = Some(self.runtime_float());
        expr.walk_mut(&mut |inner| {
            if inner.ty == Ty::F32 && inner.children().is_empty() && float.is_some() {
                *inner = float.take().expect("the option was checked");
            }
        });
        let Some(float) = float else { return expr };
        match expr.ty {
            Ty::I32 => call("i32", [float * 4.0]),
            Ty::U32 => call("u32", [call("abs", [float]) * 8.0]),
            _ => expr,
        }
    }

    /// Whether an expression consists of literals and constants only.
    pub(super) fn is_const(&self, expr: &Expr) -> bool {
        let mut is_const = true;
        expr.walk(&mut |inner| match &inner.kind {
            ExprKind::Name(name) => {
                is_const &= self.scope.iter().any(|b| b.is_const && b.name() == name)
            }
            ExprKind::Call(name, _) => {
                is_const &=
                    !name.starts_with("texture") && !self.functions.iter().any(|f| f.name == *name)
            }
            _ => {}
        });
        is_const
    }

    pub(super) fn condition(&mut self, depth: usize) -> Expr {
        match self.below(8) {
            0 => {
                self.note("&& and ||");
                let [a, b] = [(); 2].map(|()| self.expr(Ty::Bool, Role::Any, depth));
                Expr::binary(self.one_of(&["&&", "||"]), a, b)
            }
            1 => Expr::unary("!", self.expr(Ty::Bool, Role::Any, depth)),
            2 => {
                let op = self.one_of(&["==", "!=", "<", ">="]);
                Expr::compare(
                    op,
                    self.expr(Ty::I32, Role::Any, depth),
                    Expr::int(self.below(4) as i64),
                )
            }
            3 => {
                let op = self.one_of(&["<", ">"]);
                let [a, b] = [(); 2].map(|()| self.expr(Ty::F32, Role::Any, depth));
                Expr::compare(op, a, b)
            }
            4 => {
                self.note("any and all");
                call(self.one_of(&["any", "all"]), [self.expr(Ty::BVec(3), Role::Any, depth)])
            }
            _ => {
                let op = self.one_of(&["<", "<=", ">", ">="]);
                Expr::compare(
                    op,
                    self.expr(Ty::F32, Role::Signed, depth),
                    self.literal(Role::Signed),
                )
            }
        }
    }

    fn integer(&mut self, depth: usize) -> Expr {
        let integer = |g: &mut Self| g.expr(Ty::I32, Role::Any, depth);
        match self.below(10) {
            0 | 1 => {
                let scale: f32 = self.one_of(&[2.0, 4.0, 10.0]);
                call("i32", [call("floor", [self.expr(Ty::F32, Role::Signed, depth) * scale])])
            }
            2 => integer(self) + integer(self),
            3 => integer(self) * Expr::int(self.below(7) as i64),
            4 => {
                self.note("integer division");
                Expr::binary(
                    self.one_of(&["/", "%"]),
                    integer(self),
                    Expr::int(2 + self.below(5) as i64),
                )
            }
            5 => {
                self.note("bit operations");
                Expr::binary(
                    self.one_of(&["&", "|", "^"]),
                    integer(self),
                    Expr::int(1 + self.below(7) as i64),
                )
            }
            6 => {
                self.note("shifts");
                Expr::binary(
                    self.one_of(&["<<", ">>"]),
                    integer(self),
                    Expr::uint(self.below(4) as i64),
                )
            }
            7 => call("i32", [self.expr(Ty::U32, Role::Any, depth)]),
            8 => call(self.one_of(&["min", "max"]), [integer(self), integer(self)]),
            _ => call(
                "select",
                [integer(self), integer(self), self.expr(Ty::Bool, Role::Any, depth)],
            ),
        }
    }

    fn unsigned(&mut self, depth: usize) -> Expr {
        let unsigned = |g: &mut Self| g.expr(Ty::U32, Role::Any, depth);
        match self.below(9) {
            0 | 1 => call(
                "u32",
                [call("abs", [self.expr(Ty::F32, Role::Any, depth)])
                    * self.literal(Role::Positive)],
            ),
            2 => call("bitcast<u32>", [self.expr(Ty::F32, Role::Any, depth)]),
            3 => {
                self.note("bit hash");
                let x = self.leaf(Ty::U32, Role::Any);
                let x = self.ensure_runtime(x);
                let mixed = Expr::binary("^", &x, Expr::binary(">>", &x, Expr::uint(13)));
                mixed * Expr::uint(0x9e37_79b1)
            }
            4 => {
                let name = self.one_of(&[
                    "countOneBits",
                    "reverseBits",
                    "firstLeadingBit",
                    "firstTrailingBit",
                    "countLeadingZeros",
                ]);
                self.note(name);
                call(name, [unsigned(self)])
            }
            5 => {
                self.note("extractBits");
                call(
                    "extractBits",
                    [
                        unsigned(self),
                        Expr::uint(self.below(16) as i64),
                        Expr::uint(1 + self.below(12) as i64),
                    ],
                )
            }
            6 => {
                self.note("insertBits");
                call(
                    "insertBits",
                    [
                        unsigned(self),
                        unsigned(self),
                        Expr::uint(4),
                        Expr::uint(1 + self.below(8) as i64),
                    ],
                )
            }
            7 => unsigned(self) + unsigned(self),
            _ => Expr::binary("&", unsigned(self), Expr::uint(self.one_of(&[1, 3, 7, 15, 255]))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::random::Random;
    use std::collections::BTreeMap;

    #[test]
    fn variables_with_constant_values_are_constant_expressions() {
        let mut random = Random::new(5);
        let mut generator = Generator::new(&mut random);
        let x = generator.bind(Expr::name(Ty::F32, "x"), Role::Any);
        let i = generator.let_as("i", Expr::int(3), Role::Any);
        let y = generator.let_as("y", &x * 2.0, Role::Any);
        let k = generator.var_as("k", Expr::int(3), Role::Any);
        let [i_next, k_next] = [&i, &k].map(|i| i.clone() + Expr::int(1));
        assert_eq!(
            [&i, &i_next, &k_next, &x, &y].map(|expr| generator.is_const(expr)),
            [true, true, false, false, false]
        );
        // An expression that is made to depend on an input contains x or y.
        let expr = generator.ensure_runtime(i_next);
        assert!(["x", "y"].iter().any(|name| expr.to_string().contains(name)), "{expr}");
    }

    #[test]
    fn leaves_are_uniform_over_components_of_all_vectors() {
        let mut random = Random::new(5);
        let mut generator = Generator::new(&mut random);
        for name in ["wo", "wi", "h"] {
            generator.bind(Expr::name(Ty::Vec(3), name), Role::Direction);
        }
        let mut counts = BTreeMap::<String, u32>::new();
        for _ in 0..9000 {
            let leaf = generator.leaf(Ty::F32, Role::Signed);
            if matches!(leaf.kind, ExprKind::Member(..)) {
                *counts.entry(leaf.to_string()).or_default() += 1;
            }
        }
        let mean = counts.values().sum::<u32>() / 9;
        let is_even = counts.values().all(|count| count.abs_diff(mean) < mean / 5);
        assert!(counts.len() == 9 && is_even, "{counts:?}");
    }
}
