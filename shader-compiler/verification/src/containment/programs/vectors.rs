//! Generates random vectors, matrices and texture lookups.

use super::ast::{Expr, Ty};
use super::expressions::{Role, call, splat};
use super::generate::Generator;

impl Generator<'_> {
    pub(super) fn vector(&mut self, n: usize, role: Role, depth: usize) -> Expr {
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
            6 => {
                call("mix", [vector(self), vector(self), self.expr(Ty::F32, Role::Fraction, depth)])
            }
            7 => call("abs", [vector(self)]),
            8 => call("max", [vector(self), splat(n, 0.0)]),
            9 => {
                self.note("vector select");
                call(
                    "select",
                    [vector(self), vector(self), self.expr(Ty::BVec(n), Role::Any, depth)],
                )
            }
            10 if n == 3 && self.has_textures() => self.lookup(depth),
            10 if n < 4 => {
                self.note("matrix product");
                let product = self.expr(Ty::Mat(n), Role::Any, depth) * vector(self);
                if role == Role::Any {
                    product
                } else {
                    call("clamp", [product, splat(n, 0.0), splat(n, 1.0)])
                }
            }
            11 if n == 2 => {
                self.expr(Ty::Vec(3), role, depth).swizzle(self.one_of(&["xy", "yz", "zx", "xx"]))
            }
            11 => call(
                self.one_of(&["fract", "floor", "cos"]),
                [vector(self) * self.literal(Role::Positive)],
            ),
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

    /// Returns a texture lookup.
    fn lookup(&mut self, depth: usize) -> Expr {
        let (texture, sampler) = self.texture().expect("the program has textures");
        let uv = self.expr(Ty::Vec(2), Role::Signed, depth);
        let uv = self.ensure_runtime(uv);
        let texel = match self.below(4) {
            0 => {
                self.note("textureLoad");
                call(
                    "textureLoad",
                    [texture, call("vec2u", [call("abs", [uv]) * 8.0]), Expr::int(0)],
                )
            }
            1 => {
                self.note("textureSampleLevel");
                call("textureSampleLevel", [texture, sampler, uv, 0.0.into()])
            }
            _ => {
                self.note("textureSample");
                call("textureSample", [texture, sampler, uv * self.literal(Role::Positive)])
            }
        };
        texel.swizzle("xyz")
    }

    pub(super) fn matrix(&mut self, n: usize, depth: usize) -> Expr {
        let matrix = |g: &mut Self| g.expr(Ty::Mat(n), Role::Any, depth);
        match self.below(4) {
            0 => {
                self.note("transpose");
                call("transpose", [matrix(self)])
            }
            1 => matrix(self) * matrix(self),
            2 => matrix(self) * self.expr(Ty::F32, Role::Signed, depth),
            _ => {
                let columns: Vec<_> =
                    (0..n).map(|_| self.expr(Ty::Vec(n), Role::Signed, depth)).collect();
                call(&format!("mat{n}x{n}f"), columns)
            }
        }
    }
}
