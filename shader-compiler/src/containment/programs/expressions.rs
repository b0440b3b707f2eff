//! Random expressions of a given type and role.
//!
//! A [`Role`] says what values an expression has at least roughly, so that programs look like shaders: what is raised to a power lies in
//! [0, 1], what is under a root or a fraction bar is positive, and values stay tame. Variables in scope are preferred, so that values
//! come up several times. Now and then a role is ignored, because people forget to clamp.

use super::ast::{Expr, Kind, Ty};
use super::generate::Generator;

/// What is roughly true of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing.
    Any,
    /// In [-1, 1], or a vector of such.
    Signed,
    /// In [0, 1].
    Fraction,
    /// Positive and not very large.
    Positive,
    /// A unit vector.
    Direction,
}

impl Role {
    /// Whether a value of this role is of the other one as well.
    pub fn is(self, other: Role) -> bool {
        match other {
            Role::Any => true,
            Role::Signed => self != Role::Any && self != Role::Positive,
            Role::Positive => matches!(self, Role::Positive | Role::Fraction),
            Role::Fraction | Role::Direction => self == other,
        }
    }
}

/// A call of a built-in function.
pub(super) fn call(name: &str, args: impl IntoIterator<Item = Expr>) -> Expr {
    Expr::call(name, args.into_iter().collect())
}

pub(super) fn clamp01(x: Expr) -> Expr {
    call("clamp", [x, 0.0.into(), 1.0.into()])
}

pub(super) fn max0(x: Expr) -> Expr {
    call("max", [x, 0.0.into()])
}

/// `vec3f(x)`.
pub(super) fn splat(n: usize, x: impl Into<Expr>) -> Expr {
    call(&format!("vec{n}f"), [x.into()])
}

/// Functions of one float that take anything, by their role.
const TAME: [&str; 12] = ["sin", "cos", "sign", "tanh", "atan", "floor", "ceil", "round", "trunc", "fract", "abs", "saturate"];

/// Functions of one float in [-1, 1].
const OF_SIGNED: [&str; 8] = ["asin", "acos", "sinh", "cosh", "exp", "exp2", "tan", "asinh"];

/// Functions of one positive float.
const OF_POSITIVE: [&str; 4] = ["sqrt", "log", "log2", "inverseSqrt"];

impl Generator<'_> {
    /// An expression of a type whose value plays a role, if that is a float or a vector.
    pub(super) fn expr(&mut self, ty: Ty, role: Role, depth: usize) -> Expr {
        let role = if self.once_in(40) { Role::Any } else { role };
        if depth == 0 || self.once_in(4) {
            return self.leaf(ty, role);
        }
        let made = match ty {
            Ty::F32 => self.float(role, depth - 1),
            Ty::Vec(n) => self.vector(n, role, depth - 1),
            Ty::Bool => self.condition(depth - 1),
            Ty::I32 => self.integer(depth - 1),
            Ty::U32 => self.word(depth - 1),
            Ty::Mat(n) => self.matrix(n, depth - 1),
            Ty::BVec(n) => {
                let [a, b] = [(); 2].map(|()| self.expr(Ty::Vec(n), Role::Signed, depth - 1));
                Expr::compare(self.one_of(&["<", "<=", ">", ">="]), a, b)
            }
            _ => self.leaf(ty, role),
        };
        self.ensure_runtime(made)
    }

    /// A variable in scope of this type and role if there is one, which there mostly is, or what comes close to it.
    pub(super) fn leaf(&mut self, ty: Ty, role: Role) -> Expr {
        let fits = |b: &&super::generate::Binding| b.expr.ty == ty && b.role.is(role);
        let found: Vec<_> = self.scope.iter().filter(fits).map(|b| b.expr.clone()).collect();
        if !found.is_empty() && !self.once_in(5) {
            // Recent ones are more likely, as they were made for something.
            let recent = found.len() - 1 - self.below(found.len()).min(self.below(found.len()));
            return found[recent].clone();
        }
        match (ty, role) {
            (Ty::F32, Role::Any | Role::Signed) if self.once_in(2) => {
                let vectors = self.scope.iter().filter(|b| matches!(b.expr.ty, Ty::Vec(_)) && b.role.is(role));
                let vectors: Vec<_> = vectors.map(|b| b.expr.clone()).collect();
                let Some(vector) = self.choose(&vectors) else { return self.literal(role) };
                let Ty::Vec(n) = vector.ty else { unreachable!("only vectors were taken") };
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
            (Ty::Vec(3), Role::Direction) if self.knows("wi") => Expr::name(Ty::Vec(3), self.one_of(&["wi", "wo"])),
            (Ty::Vec(3), Role::Direction) => call("normalize", [call("vec3f", [0.0.into(), 0.6.into(), self.runtime_float()])]),
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
                Expr::new(ty, Kind::Call(ty.to_string(), elements))
            }
            (Ty::BVec(n), _) => Expr::compare("<", self.leaf(Ty::Vec(n), Role::Signed), splat(n, 0.25)),
            (Ty::UVec(n), _) => call(&format!("vec{n}u"), [call("abs", [self.leaf(Ty::Vec(n), role)]) * 16.0]),
            (Ty::Texture | Ty::Sampler | Ty::Struct(_), _) => unreachable!("there is a variable where one is asked for"),
        }
    }

    /// A float that a person would write.
    pub(super) fn literal(&mut self, role: Role) -> Expr {
        let x: f32 = match role {
            Role::Signed if self.once_in(3) => -self.one_of(&[0.1, 0.25, 0.5, 0.8, 1.0]),
            Role::Any if self.once_in(3) => self.one_of(&[-2.0, -0.5, 3.0, 10.0, 100.0, std::f32::consts::PI, 1e-3, -1.0, 0.0]),
            Role::Positive if self.once_in(2) => self.one_of(&[1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 12.9898, 50.0]),
            _ if self.once_in(3) => (1 + self.below(99)) as f32 / 100.0,
            _ => self.one_of(&[0.5, 0.25, 0.1, 0.3, 0.75, 1.0, 0.04, 0.2, 0.6]),
        };
        x.into()
    }

    /// A float that is known only at run time.
    pub(super) fn runtime_float(&mut self) -> Expr {
        let is_float = |expr: &Expr| matches!(expr.ty, Ty::F32 | Ty::Vec(_));
        let found: Vec<_> = self.scope.iter().filter(|b| is_float(&b.expr) && !b.is_const).map(|b| b.expr.clone()).collect();
        let found = &found[self.below(found.len())];
        if found.ty == Ty::F32 { found.clone() } else { found.swizzle(self.one_of(&["x", "y"])) }
    }

    /// The same expression, unless it is a constant: constants are evaluated by the front end, which rejects what is not finite.
    pub(super) fn ensure_runtime(&mut self, mut expr: Expr) -> Expr {
        if !self.is_const(&expr) {
            return expr;
        }
        if expr.ty == Ty::F32 {
            return self.runtime_float();
        }
        // Into the first float within, or the first integer.
        let mut float = Some(self.runtime_float());
        expr.walk_mut(&mut |inner| {
            if inner.ty == Ty::F32 && inner.children().is_empty() && float.is_some() {
                *inner = float.take().expect("it is there");
            }
        });
        let Some(float) = float else { return expr };
        match expr.ty {
            Ty::I32 => call("i32", [float * 4.0]),
            Ty::U32 => call("u32", [call("abs", [float]) * 8.0]),
            _ => expr,
        }
    }

    fn is_const(&self, expr: &Expr) -> bool {
        let mut is_const = true;
        expr.walk(&mut |inner| match &inner.kind {
            Kind::Name(name) => is_const &= self.scope.iter().any(|b| b.is_const && b.name() == name),
            Kind::Call(name, _) => is_const &= !name.starts_with("texture") && !self.functions.iter().any(|f| f.name == *name),
            _ => {}
        });
        is_const
    }

    fn float(&mut self, role: Role, depth: usize) -> Expr {
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
                call("smoothstep", [low.into(), high.into(), self.expr(Ty::F32, Role::Signed, depth)])
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
                call("select", [fraction(self), fraction(self), self.expr(Ty::Bool, Role::Any, depth)])
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
            2 => self.expr(Ty::Vec(3), Role::Direction, depth).swizzle(self.one_of(&["x", "y", "z"])),
            3 => call(self.one_of(&["sin", "cos"]), [self.expr(Ty::F32, Role::Any, depth)]),
            4 => call(self.one_of(&["sign", "tanh"]), [self.expr(Ty::F32, Role::Any, depth)]),
            5 => 2.0 * self.expr(Ty::F32, Role::Fraction, depth) - 1.0,
            6 => call("clamp", [self.expr(Ty::F32, Role::Any, depth), (-1.0).into(), 1.0.into()]),
            7 => -signed(self),
            8 => self.expr(Ty::F32, Role::Fraction, depth) - self.expr(Ty::F32, Role::Fraction, depth),
            _ => signed(self) * self.expr(Ty::F32, Role::Fraction, depth),
        }
    }

    fn positive(&mut self, depth: usize) -> Expr {
        let fraction = |g: &mut Self| g.expr(Ty::F32, Role::Fraction, depth);
        let positive = |g: &mut Self| g.expr(Ty::F32, Role::Positive, depth);
        match self.below(10) {
            0 => 1.0 / (fraction(self) + self.one_of(&[1e-3, 0.01, 0.1, 1.0])),
            1 => fraction(self) * self.literal(Role::Positive),
            2 => call(self.one_of(&["exp", "exp2", "cosh"]), [self.expr(Ty::F32, Role::Signed, depth)]),
            3 => call("length", [self.expr(Ty::Vec(3), Role::Signed, depth)]),
            4 => {
                let v = self.leaf(Ty::Vec(3), Role::Signed);
                call("dot", [v.clone(), v])
            }
            5 => call("sqrt", [positive(self)]),
            6 => positive(self) + positive(self),
            7 => call("distance", [self.expr(Ty::Vec(2), Role::Signed, depth), self.leaf(Ty::Vec(2), Role::Signed)]),
            8 => positive(self) / call("max", [positive(self), self.one_of(&[1e-4, 0.05, 0.5]).into()]),
            _ => call("max", [self.expr(Ty::F32, Role::Any, depth), self.one_of(&[1e-4, 0.01, 0.1]).into()]),
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
                // Where zero was not thought of.
                self.note("division");
                any(self) / any(self)
            }
            8 | 9 => {
                let name = self.one_of(&TAME);
                self.note(name);
                call(name, [any(self)])
            }
            10 => {
                let name = self.one_of(&OF_SIGNED);
                self.note(name);
                call(name, [signed(self)])
            }
            11 => {
                let name = self.one_of(&OF_POSITIVE);
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
                let one = Expr::binary("|", Expr::binary("&", bits, Expr::uint(0x7f_ffff)), Expr::uint(0x3f80_0000));
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

    /// An element of an array or a vector, by an index that is known only at run time.
    fn element(&mut self, depth: usize) -> Expr {
        let arrays = self.scope.iter().filter(|b| matches!(b.expr.ty, Ty::Array(_) | Ty::Vec(_)));
        let arrays: Vec<_> = arrays.map(|b| b.expr.clone()).collect();
        if arrays.is_empty() {
            return self.leaf(Ty::F32, Role::Any);
        }
        self.note("dynamic index");
        let array = arrays[self.below(arrays.len())].clone();
        let (Ty::Array(n) | Ty::Vec(n)) = array.ty else { unreachable!("only such were taken") };
        let position = self.expr(Ty::F32, Role::Fraction, depth);
        let index = call("u32", [self.ensure_runtime(position) * n as f32]);
        array.at(index)
    }

    fn vector(&mut self, n: usize, role: Role, depth: usize) -> Expr {
        if let Some(call) = self.call_helper(Ty::Vec(n), role, depth) {
            return call;
        }
        if role == Role::Direction && n == 3 {
            return self.direction(depth);
        }
        let vector = |g: &mut Self| g.expr(Ty::Vec(n), role, depth);
        let scalar = |g: &mut Self| g.expr(Ty::F32, role, depth);
        match self.below(14) {
            0 | 1 => call(&format!("vec{n}f"), (0..n).map(|_| scalar(self)).collect::<Vec<_>>()),
            2 if role == Role::Any => vector(self) + vector(self),
            3 if role == Role::Any => vector(self) - vector(self),
            2..5 => vector(self) * vector(self),
            5 => vector(self) * self.expr(Ty::F32, Role::Fraction, depth),
            6 => call("mix", [vector(self), vector(self), self.expr(Ty::F32, Role::Fraction, depth)]),
            7 => call("abs", [vector(self)]),
            8 => call("max", [vector(self), splat(n, 0.0)]),
            9 => {
                self.note("vector select");
                call("select", [vector(self), vector(self), self.expr(Ty::BVec(n), Role::Any, depth)])
            }
            10 if n == 3 && self.has_textures() => self.lookup(depth),
            10 if n < 4 => {
                self.note("matrix product");
                let product = self.expr(Ty::Mat(n), Role::Any, depth) * vector(self);
                if role == Role::Any { product } else { call("clamp", [product, splat(n, 0.0), splat(n, 1.0)]) }
            }
            11 if n == 2 => self.expr(Ty::Vec(3), role, depth).swizzle(self.one_of(&["xy", "yz", "zx", "xx"])),
            11 => call(self.one_of(&["fract", "floor", "cos"]), [vector(self) * self.literal(Role::Positive)]),
            12 if n == 3 => vector(self).swizzle(self.one_of(&["zyx", "yzx", "xxz"])),
            _ => call("step", [splat(n, self.literal(Role::Fraction)), vector(self)]),
        }
    }

    fn direction(&mut self, depth: usize) -> Expr {
        let direction = |g: &mut Self| g.expr(Ty::Vec(3), Role::Direction, depth);
        match self.below(7) {
            0 | 1 => {
                self.note("normalize");
                call("normalize", [direction(self) + direction(self)])
            }
            2 => {
                self.note("reflect");
                let [d, n] = [(); 2].map(|()| direction(self));
                call("reflect", [-d, n])
            }
            3 => {
                self.note("refract");
                let [d, n] = [(); 2].map(|()| direction(self));
                let eta: f32 = self.one_of(&[0.66, 1.5, 1.1]);
                call("refract", [-d, n, eta.into()])
            }
            4 => {
                self.note("cross");
                let [a, b] = [(); 2].map(|()| direction(self));
                call("normalize", [call("cross", [a, b])])
            }
            5 => {
                self.note("faceForward");
                let [a, b] = [(); 2].map(|()| direction(self));
                call("faceForward", [a.clone(), b, a])
            }
            _ => -direction(self),
        }
    }

    /// The colour of a texture.
    fn lookup(&mut self, depth: usize) -> Expr {
        let (texture, sampler) = self.texture().expect("it was asked before");
        let at = self.expr(Ty::Vec(2), Role::Signed, depth);
        let at = self.ensure_runtime(at);
        let found = match self.below(4) {
            0 => {
                self.note("textureLoad");
                call("textureLoad", [texture, call("vec2u", [call("abs", [at]) * 8.0]), Expr::int(0)])
            }
            1 => {
                self.note("textureSampleLevel");
                call("textureSampleLevel", [texture, sampler, at, 0.0.into()])
            }
            _ => {
                self.note("textureSample");
                call("textureSample", [texture, sampler, at * self.literal(Role::Positive)])
            }
        };
        found.swizzle("xyz")
    }

    fn matrix(&mut self, n: usize, depth: usize) -> Expr {
        let matrix = |g: &mut Self| g.expr(Ty::Mat(n), Role::Any, depth);
        match self.below(4) {
            0 => {
                self.note("transpose");
                call("transpose", [matrix(self)])
            }
            1 => matrix(self) * matrix(self),
            2 => matrix(self) * self.expr(Ty::F32, Role::Signed, depth),
            _ => {
                let columns: Vec<_> = (0..n).map(|_| self.expr(Ty::Vec(n), Role::Signed, depth)).collect();
                call(&format!("mat{n}x{n}f"), columns)
            }
        }
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
                Expr::compare(op, self.expr(Ty::I32, Role::Any, depth), Expr::int(self.below(4) as i64))
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
                Expr::compare(op, self.expr(Ty::F32, Role::Signed, depth), self.literal(Role::Signed))
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
                Expr::binary(self.one_of(&["/", "%"]), integer(self), Expr::int(2 + self.below(5) as i64))
            }
            5 => {
                self.note("bit operations");
                Expr::binary(self.one_of(&["&", "|", "^"]), integer(self), Expr::int(1 + self.below(7) as i64))
            }
            6 => {
                self.note("shifts");
                Expr::binary(self.one_of(&["<<", ">>"]), integer(self), Expr::uint(self.below(4) as i64))
            }
            7 => call("i32", [self.expr(Ty::U32, Role::Any, depth)]),
            8 => call(self.one_of(&["min", "max"]), [integer(self), integer(self)]),
            _ => call("select", [integer(self), integer(self), self.expr(Ty::Bool, Role::Any, depth)]),
        }
    }

    fn word(&mut self, depth: usize) -> Expr {
        let word = |g: &mut Self| g.expr(Ty::U32, Role::Any, depth);
        match self.below(9) {
            0 | 1 => call("u32", [call("abs", [self.expr(Ty::F32, Role::Any, depth)]) * self.literal(Role::Positive)]),
            2 => call("bitcast<u32>", [self.expr(Ty::F32, Role::Any, depth)]),
            3 => {
                self.note("bit hash");
                let x = self.leaf(Ty::U32, Role::Any);
                let x = self.ensure_runtime(x);
                let mixed = Expr::binary("^", &x, Expr::binary(">>", &x, Expr::uint(13)));
                mixed * Expr::uint(0x9e37_79b1)
            }
            4 => {
                let name =
                    self.one_of(&["countOneBits", "reverseBits", "firstLeadingBit", "firstTrailingBit", "countLeadingZeros"]);
                self.note(name);
                call(name, [word(self)])
            }
            5 => {
                self.note("extractBits");
                call("extractBits", [word(self), Expr::uint(self.below(16) as i64), Expr::uint(1 + self.below(12) as i64)])
            }
            6 => {
                self.note("insertBits");
                call("insertBits", [word(self), word(self), Expr::uint(4), Expr::uint(1 + self.below(8) as i64)])
            }
            7 => word(self) + word(self),
            _ => Expr::binary("&", word(self), Expr::uint(self.one_of(&[1, 3, 7, 15, 255]))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::random::Random;
    use std::collections::BTreeMap;

    #[test]
    fn components_are_drawn_independently_of_their_vectors() {
        let mut random = Random::new(5);
        let mut generator = Generator::new(&mut random);
        for name in ["wo", "wi", "h"] {
            generator.bind(Expr::name(Ty::Vec(3), name), Role::Direction);
        }
        let mut counts = BTreeMap::<String, u32>::new();
        for _ in 0..9000 {
            let leaf = generator.leaf(Ty::F32, Role::Signed);
            if matches!(leaf.kind, Kind::Member(..)) {
                *counts.entry(leaf.to_string()).or_default() += 1;
            }
        }
        let mean = counts.values().sum::<u32>() / 9;
        let is_even = counts.values().all(|count| count.abs_diff(mean) < mean / 5);
        assert!(counts.len() == 9 && is_even, "{counts:?}");
    }
}
