//! Shader idioms: terms of published reflectance models, noise, lookup tables and the like.
//!
//! Each idiom uses values in scope, appends some statements, and adds its result to the scope.
//! Guards against division by zero and against square roots of negative numbers vary, and may be
//! missing.

use super::ast::{Expr, Stmt, Ty};
use super::expressions::{Role, call, clamp01, max0, splat};
use super::generate::Generator;
use std::f32::consts::{FRAC_1_PI, PI, TAU};

type Idiom = fn(&mut Generator<'_>);

/// All idioms, with their feature names.
pub(super) const IDIOMS: &[(&str, Idiom)] = &[
    ("half vector", half_vector),
    ("Schlick", schlick),
    ("dielectric Fresnel", dielectric_fresnel),
    ("GGX", ggx),
    ("Smith", smith),
    ("division by the cosine", division_by_cosine),
    ("Beckmann", beckmann),
    ("Ward", ward),
    ("Phong", phong),
    ("Oren-Nayar", oren_nayar),
    ("Disney diffuse", disney_diffuse),
    ("Charlie sheen", sheen),
    ("discrete values", discrete_values),
    ("toon steps", toon),
    ("sine noise", sine_noise),
    ("value noise", value_noise),
    ("checkerboard", checkerboard),
    ("bump x (1 - x)", bump),
    ("weighted mean", weighted_mean),
    ("odd power", odd_power),
    ("tangent", tangent),
    ("spherical angles", spherical_angles),
    ("Newton", newton),
    ("escape time", escape_time),
    ("lookup table", table),
    ("tangent frame", tangent_frame),
    ("sRGB", srgb),
    ("tone map", tone_map),
    ("rotation", rotation),
    ("lobe structure", lobe),
    ("packed bits", packed_bits),
    ("thin film", thin_film),
    ("order", order),
    ("squares of a unit vector", squares),
];

impl Generator<'_> {
    /// Appends a random idiom.
    pub(super) fn idiom(&mut self) {
        let (name, idiom) = self.one_of(IDIOMS);
        self.note(name);
        idiom(self);
    }

    /// Appends `if (wi.z <= 0.0 || wo.z <= 0.0) { return vec3f(0.0); }` or a variant.
    pub(super) fn guard(&mut self) {
        self.note("guard");
        let z = |name: &str| Expr::name(Ty::Vec(3), name).swizzle("z");
        let below = |name: &str| Expr::compare("<=", z(name), 0.0);
        let condition = match self.below(3) {
            0 => below("wi"),
            1 => Expr::binary("||", below("wi"), below("wo")),
            _ => Expr::compare(
                "<=",
                call("min", [z("wi"), z("wo")]),
                self.one_of(&[0.0, 1e-4, 0.05]),
            ),
        };
        self.block.push(Stmt::If(condition, vec![Stmt::Return(splat(3, 0.0))], vec![]));
    }

    fn directions(&mut self) -> [Expr; 2] {
        [(); 2].map(|()| self.leaf(Ty::Vec(3), Role::Direction))
    }

    /// Returns the cosine of an angle to the normal or between directions, sometimes clamped.
    fn cosine(&mut self, base: &str) -> Expr {
        let cosine = match self.below(4) {
            0 => {
                let [a, b] = self.directions();
                call("dot", [a, b])
            }
            _ => self.leaf(Ty::Vec(3), Role::Direction).swizzle("z"),
        };
        let (cosine, role) = match self.below(4) {
            0 => (cosine, Role::Signed),
            1 => (call("abs", [cosine]), Role::Fraction),
            2 => (call("max", [cosine, self.one_of(&[1e-4, 1e-3, 0.01]).into()]), Role::Fraction),
            _ => (max0(cosine), Role::Fraction),
        };
        self.let_as(base, cosine, role)
    }

    /// Returns a positive roughness.
    fn roughness(&mut self) -> Expr {
        let alpha = self.leaf(Ty::F32, Role::Fraction);
        let alpha = if self.once_in(2) {
            call("max", [alpha, 0.02.into()])
        } else {
            &alpha * &alpha + 1e-3
        };
        self.let_as("alpha", alpha, Role::Fraction)
    }

    /// Makes a divisor of a value, usually with a guard against zero.
    fn divisor(&mut self, x: Expr) -> Expr {
        match self.below(4) {
            0 => x,
            1 => x + 1e-4,
            _ => call("max", [x, self.one_of(&[1e-6, 1e-4, 1e-2]).into()]),
        }
    }
}

fn half_vector(g: &mut Generator<'_>) {
    let [a, b] = g.directions();
    let sum = a.clone() + b;
    let h = if g.once_in(4) {
        g.let_as("h", sum, Role::Any)
    } else {
        g.let_as("h", call("normalize", [sum]), Role::Direction)
    };
    g.let_as("n_h", max0(h.swizzle("z")), Role::Fraction);
    g.let_as("i_h", max0(call("dot", [a, h])), Role::Fraction);
}

fn schlick(g: &mut Generator<'_>) {
    let (c, f0) = (g.cosine("c"), g.leaf(Ty::F32, Role::Fraction));
    let t = g.let_as("t", 1.0 - c, Role::Fraction);
    let fifth_power = match g.below(3) {
        0 => call("pow", [max0(t), 5.0.into()]),
        1 => &t * &t * (&t * &t) * &t,
        _ => {
            let square = g.let_as("t2", &t * &t, Role::Fraction);
            &square * &square * &t
        }
    };
    g.let_as("fresnel", &f0 + (1.0 - &f0) * fifth_power, Role::Fraction);
}

fn dielectric_fresnel(g: &mut Generator<'_>) {
    let (c, eta) = (g.cosine("c"), g.leaf(Ty::F32, Role::Positive));
    let eta = g.let_as("eta", call("max", [eta, 1.01.into()]), Role::Positive);
    let square = g.let_as("g2", &eta * &eta + &c * &c - 1.0, Role::Any);
    let root = if g.once_in(3) { square } else { max0(square) };
    let x = g.let_as("g", call("sqrt", [root]), Role::Positive);
    let ratio = g.let_as("ratio", (&x - &c) / (&x + &c), Role::Any);
    let other = (&c * (&x + &c) - 1.0) / (&c * (&x - &c) + 1.0);
    let other = g.let_as("other", other, Role::Any);
    g.let_as("fresnel", 0.5 * &ratio * &ratio * (1.0 + &other * &other), Role::Fraction);
}

fn ggx(g: &mut Generator<'_>) {
    let (cos_h, alpha) = (g.cosine("n_h"), g.roughness());
    let a2 = g.let_as("a2", &alpha * &alpha, Role::Fraction);
    let d = match g.below(2) {
        0 => &cos_h * &cos_h * (&a2 - 1.0) + 1.0,
        _ => (&cos_h * &a2 - &cos_h) * &cos_h + 1.0,
    };
    let d = g.let_as("d", d, Role::Positive);
    g.let_as("ggx", &a2 / (PI * &d * &d), Role::Positive);
}

/// A term divided by 4 cos θᵢ cos θₒ, or by cos θᵢ alone, which cancels with the cosine in s.
fn division_by_cosine(g: &mut Generator<'_>) {
    let [i, o] = ["wi", "wo"].map(|name| match g.is_in_scope(name) {
        true => Expr::name(Ty::Vec(3), name).swizzle("z"),
        false => g.leaf(Ty::Vec(3), Role::Direction).swizzle("z"),
    });
    let limited = match g.below(4) {
        0 => i,
        1 => call("abs", [i]),
        2 => call("max", [i, g.one_of(&[1e-4, 0.01]).into()]),
        _ => call("clamp", [i, g.one_of(&[1e-3, 0.1]).into(), 1.0.into()]),
    };
    let divisor = if g.once_in(2) { 4.0 * limited * g.divisor(o) } else { limited };
    let term = g.leaf(Ty::F32, Role::Fraction);
    g.let_as("over_cosine", term / divisor, Role::Signed);
}

fn smith(g: &mut Generator<'_>) {
    let (i, o, alpha) = (g.cosine("n_i"), g.cosine("n_o"), g.roughness());
    let a2 = g.let_as("a2", &alpha * &alpha, Role::Fraction);
    let masking = match g.below(3) {
        0 => {
            let lambda = |c: &Expr| call("sqrt", [(1.0 - &a2) * (c * c) + &a2]);
            let sum = &o * lambda(&i) + &i * lambda(&o);
            0.5 / g.divisor(sum)
        }
        1 => {
            let k = g.let_as("k", &alpha * 0.5, Role::Fraction);
            let masking = |c: &Expr| c / (c * (1.0 - &k) + &k);
            masking(&i) * masking(&o)
        }
        _ => {
            let tangent = g.divisor(&i * &i);
            2.0 / (1.0 + call("sqrt", [1.0 + &a2 * (1.0 - &i * &i) / tangent]))
        }
    };
    g.let_as("smith", masking, Role::Positive);
}

fn beckmann(g: &mut Generator<'_>) {
    let (c, m) = (g.cosine("n_h"), g.roughness());
    let c2 = g.let_as("c2", &c * &c, Role::Fraction);
    let denominator = g.divisor(&c2 * &m * &m);
    let exponent = (&c2 - 1.0) / denominator;
    let exponent = g.let_as("e", exponent, Role::Any);
    let denominator = g.divisor(PI * &m * &m * &c2 * &c2);
    g.let_as("beckmann", call("exp", [exponent]) / denominator, Role::Positive);
}

fn ward(g: &mut Generator<'_>) {
    let ([wi, wo], x, y) = (g.directions(), g.roughness(), g.roughness());
    let h = g.let_as("h", wi.clone() + &wo, Role::Any);
    let [a, b] = [h.swizzle("x") / &x, h.swizzle("y") / &y];
    let [a, b] = [g.let_as("hx", a, Role::Any), g.let_as("hy", b, Role::Any)];
    let denominator = g.divisor(h.swizzle("z") * h.swizzle("z"));
    let lobe = call("exp", [-(&a * &a + &b * &b) / denominator]);
    let cosines = g.divisor(wi.swizzle("z") * wo.swizzle("z"));
    g.let_as("ward", lobe / (4.0 * PI * &x * &y * call("sqrt", [cosines])), Role::Positive);
}

fn phong(g: &mut Generator<'_>) {
    let [wi, wo] = g.directions();
    let cosine = match g.below(3) {
        0 => call(
            "dot",
            [call("reflect", [-wi, call("vec3f", [0.0.into(), 0.0.into(), 1.0.into()])]), wo],
        ),
        1 => {
            wi.swizzle("z") * wo.swizzle("z")
                - wi.swizzle("x") * wo.swizzle("x")
                - wi.swizzle("y") * wo.swizzle("y")
        }
        _ => 2.0 * wi.swizzle("z") * wo.swizzle("z") - call("dot", [wi, wo]),
    };
    let cosine = g.let_as("r_o", cosine, Role::Signed);
    let exponent = g.leaf(Ty::F32, Role::Positive);
    g.let_as(
        "phong",
        call("pow", [max0(cosine), &exponent + 1.0]) * (&exponent + 2.0) * 0.5 * FRAC_1_PI,
        Role::Positive,
    );
}

fn oren_nayar(g: &mut Generator<'_>) {
    let ([wi, wo], sigma) = (g.directions(), g.roughness());
    let sine = |v: &Expr| call("sqrt", [max0(1.0 - v.swizzle("z") * v.swizzle("z"))]);
    let [i, o] = [
        g.let_as("sin_i", sine(&wi), Role::Fraction),
        g.let_as("sin_o", sine(&wo), Role::Fraction),
    ];
    let dot_xy = call("dot", [wi.swizzle("xy"), wo.swizzle("xy")]);
    let denominator = g.divisor(&i * &o);
    let cosine = g.let_as("cos_phi", max0(dot_xy / denominator), Role::Fraction);
    let s2 = g.let_as("s2", &sigma * &sigma, Role::Fraction);
    let a = 1.0 - &s2 / (2.0 * (&s2 + 0.33));
    let b = 0.45 * &s2 / (&s2 + 0.09);
    let denominator = g.divisor(call("max", [wi.swizzle("z"), wo.swizzle("z")]));
    g.let_as("oren_nayar", a + b * cosine * i * o / denominator, Role::Positive);
}

fn disney_diffuse(g: &mut Generator<'_>) {
    let (i, o, d, roughness) =
        (g.cosine("n_i"), g.cosine("n_o"), g.cosine("i_h"), g.leaf(Ty::F32, Role::Fraction));
    let fd90 = g.let_as("fd90", 0.5 + 2.0 * &d * &d * &roughness, Role::Positive);
    let factor = |c: &Expr| 1.0 + (&fd90 - 1.0) * call("pow", [clamp01(1.0 - c), 5.0.into()]);
    g.let_as("diffuse", factor(&i) * factor(&o), Role::Positive);
}

fn sheen(g: &mut Generator<'_>) {
    let (c, alpha) = (g.cosine("n_h"), g.roughness());
    let sine = g.let_as("sin2", 1.0 - &c * &c, Role::Fraction);
    let inverse = g.let_as("inv", 1.0 / &alpha, Role::Positive);
    let base = if g.once_in(2) { sine } else { max0(sine) };
    g.let_as("sheen", (2.0 + &inverse) * call("pow", [base, &inverse * 0.5]) / TAU, Role::Positive);
}

/// Appends a variable with few distinct values, and a term with a narrower range over these values
/// than over their hull.
fn discrete_values(g: &mut Generator<'_>) {
    let x = g.leaf(Ty::F32, Role::Signed);
    let x = g.ensure_runtime(x);
    let s = match g.below(6) {
        0 | 1 => call("step", [g.literal(Role::Signed), x]),
        2 => call("sign", [x]),
        3 => call("floor", [x * 3.0]),
        4 => call(
            "select",
            [
                g.literal(Role::Fraction),
                g.literal(Role::Signed),
                Expr::compare("<", x, g.literal(Role::Signed)),
            ],
        ),
        _ => call("f32", [call("i32", [x * 2.0])]),
    };
    let s = g.let_as("s", s, Role::Signed);
    let constant = g.literal(Role::Signed);
    let term = match g.below(6) {
        0 | 1 => &s * (1.0 - &s) - constant,
        2 => &s * &s - &s + constant,
        3 => (&s - &constant) * (&s + constant),
        4 => &s * &s * &s,
        _ => &s / (&s * &s + constant),
    };
    let q = g.let_as("q", term, Role::Signed);
    if g.once_in(2) {
        g.let_as("q2", 1.0 - &q * &q, Role::Any);
    }
}

fn toon(g: &mut Generator<'_>) {
    let (c, levels) = (g.cosine("c"), g.one_of(&[2.0, 3.0, 4.0, 8.0]));
    let stepped = match g.below(3) {
        0 => call("floor", [&c * levels]) / levels,
        1 => call("round", [&c * levels]) * (1.0 / levels),
        _ => (call("step", [0.2.into(), c.clone()]) + call("step", [0.6.into(), c])) * 0.5,
    };
    g.let_as("toon", stepped, Role::Fraction);
}

fn sine_noise(g: &mut Generator<'_>) {
    let p = g.expr(Ty::Vec(2), Role::Any, 1);
    let p = g.let_as("p", p, Role::Any);
    let scale = g.one_of(&[1.0, 10.0, 437.58]);
    let product = call("dot", [p, call("vec2f", [12.9898.into(), 78.233.into()])]);
    g.let_as("noise", call("fract", [call("sin", [product]) * scale]), Role::Fraction);
}

/// Appends value noise: interpolation of hashes at the corners of a lattice cell.
fn value_noise(g: &mut Generator<'_>) {
    let (at, scale) = (g.leaf(Ty::Vec(2), Role::Any), g.one_of(&[1.0, 2.0, 5.0]));
    let at = g.let_as("at", at * scale, Role::Any);
    let cell = g.let_as("cell", call("floor", [at.clone()]), Role::Any);
    let t = g.let_as("t", call("fract", [at]), Role::Any);
    let smooth = g.let_as("w", &t * &t * (3.0 - 2.0 * &t.swizzle("x")), Role::Any);
    let corner = |x: f32, y: f32| {
        let ints =
            [cell.swizzle("x") + x, cell.swizzle("y") + y].map(|c| call("u32", [call("i32", [c])]));
        let [x, y] = ints;
        let mixed = Expr::binary("^", x * Expr::uint(0x8da6_b343), y * Expr::uint(0xd816_3841));
        call("f32", [Expr::binary(">>", mixed, Expr::uint(24))]) / 255.0
    };
    let corners = [corner(0.0, 0.0), corner(1.0, 0.0), corner(0.0, 1.0), corner(1.0, 1.0)];
    let [a, b, c, d] = corners.map(|value| g.let_as("corner", value, Role::Fraction));
    let x = smooth.swizzle("x");
    let [low, high] = [call("mix", [a, b, x.clone()]), call("mix", [c, d, x])];
    g.let_as("noise", call("mix", [low, high, smooth.swizzle("y")]), Role::Fraction);
}

fn checkerboard(g: &mut Generator<'_>) {
    let (at, scale) = (g.leaf(Ty::Vec(2), Role::Any), g.one_of(&[2.0, 4.0, 8.0]));
    let at = g.let_as("at", at * scale, Role::Any);
    let [x, y] = ["x", "y"].map(|c| call("i32", [call("floor", [at.swizzle(c)])]));
    let parity = Expr::binary("&", x + y, Expr::int(1));
    let (a, b) = (g.leaf(Ty::F32, Role::Fraction), g.leaf(Ty::F32, Role::Fraction));
    g.let_as(
        "check",
        call("select", [a, b, Expr::compare("==", parity, Expr::int(0))]),
        Role::Fraction,
    );
}

fn bump(g: &mut Generator<'_>) {
    let x = g.leaf(Ty::F32, Role::Signed);
    let x = g.ensure_runtime(x);
    let c = g.one_of(&[1.0, 1.0, 0.5, 2.0]);
    let bump = match g.below(3) {
        0 => &x * (c - &x),
        1 => 4.0 * &x * (1.0 - &x),
        _ => &x - &x * &x,
    };
    g.let_as("bump", bump, Role::Signed);
}

fn weighted_mean(g: &mut Generator<'_>) {
    let weights = [(); 2].map(|()| g.expr(Ty::F32, Role::Fraction, 1));
    let [a, b] = weights.map(|weight| g.let_as("weight", weight, Role::Fraction));
    let [x, y] = [(); 2].map(|()| g.leaf(Ty::F32, Role::Signed));
    let denominator = g.divisor(a.clone() + &b);
    g.let_as("mean", (&a * x + &b * y) / denominator, Role::Signed);
}

fn odd_power(g: &mut Generator<'_>) {
    let x = g.expr(Ty::F32, Role::Signed, 1);
    let x = g.let_as("x", x, Role::Signed);
    let power = if g.once_in(2) { &x * &x * &x } else { &x * (&x * &x) * (&x * &x) };
    g.let_as("cube", power, Role::Signed);
}

fn tangent(g: &mut Generator<'_>) {
    let z = g.cosine("z");
    let square = 1.0 - &z * &z;
    let square = if g.once_in(2) { max0(square) } else { square };
    let square = g.let_as("sin2", square, Role::Fraction);
    let tangent = match g.below(3) {
        0 => {
            let denominator = g.divisor(z);
            call("sqrt", [square]) / denominator
        }
        1 => {
            let denominator = g.divisor(square);
            z / call("sqrt", [denominator])
        }
        _ => {
            let denominator = g.divisor(&z * &z);
            square / denominator
        }
    };
    g.let_as("tan", tangent, Role::Any);
}

fn spherical_angles(g: &mut Generator<'_>) {
    let v = g.leaf(Ty::Vec(3), Role::Direction);
    let z = if g.once_in(2) {
        v.swizzle("z")
    } else {
        call("clamp", [v.swizzle("z"), (-1.0).into(), 1.0.into()])
    };
    g.let_as("theta", call("acos", [z]), Role::Positive);
    g.let_as("phi", call("atan2", [v.swizzle("y"), v.swizzle("x")]), Role::Any);
}

fn newton(g: &mut Generator<'_>) {
    let n = g.expr(Ty::F32, Role::Positive, 1);
    let n = g.let_as("n", n, Role::Positive);
    let x = g.var_as("x", 0.5 * &n + 0.5, Role::Positive);
    let counter = g.unique_name("k");
    let condition = Expr::compare("<", Expr::name(Ty::I32, &counter), Expr::int(3));
    let divisor = g.divisor(x.clone());
    let step = Stmt::Assign(x.clone(), "=", 0.5 * (&x + n / divisor));
    g.block.push(Stmt::For(counter, Expr::int(0), condition, vec![step]));
}

fn escape_time(g: &mut Generator<'_>) {
    let (start, c) = (g.leaf(Ty::Vec(2), Role::Signed), g.leaf(Ty::Vec(2), Role::Signed));
    let (z, iterations) =
        (g.var_as("z", start, Role::Any), g.var_as("rounds", Expr::int(0), Role::Any));
    let condition = Expr::compare("<", call("dot", [z.clone(), z.clone()]), 4.0);
    let max_iterations = Expr::int(3 + g.below(6) as i64);
    let [x, y] = ["x", "y"].map(|k| z.swizzle(k));
    let square = call("vec2f", [&x * &x - &y * &y, 2.0 * &x * &y]);
    let body = vec![
        Stmt::Assign(z, "=", square + c),
        Stmt::Assign(iterations.clone(), "+=", Expr::int(1)),
    ];
    g.block.push(Stmt::While(
        Expr::binary("&&", Expr::compare("<", &iterations, max_iterations), condition),
        body,
    ));
    g.let_as("escaped", call("f32", [iterations]) / 8.0, Role::Fraction);
}

fn table(g: &mut Generator<'_>) {
    let elements: Vec<_> = (0..4).map(|_| g.literal(Role::Fraction)).collect();
    let table = g.var_as(
        "lut",
        Expr::new(Ty::Array(4), super::ast::ExprKind::Call("array<f32, 4>".into(), elements)),
        Role::Fraction,
    );
    let at = g.expr(Ty::F32, Role::Fraction, 1);
    let at = g.let_as("at", clamp01(at) * 3.0, Role::Positive);
    let k = g.let_as("k", call("i32", [at.clone()]), Role::Any);
    let next = call("min", [k.clone() + Expr::int(1), Expr::int(3)]);
    g.let_as(
        "entry",
        call("mix", [table.at(k), table.at(next), call("fract", [at])]),
        Role::Fraction,
    );
}

fn tangent_frame(g: &mut Generator<'_>) {
    let n = g.leaf(Ty::Vec(3), Role::Direction);
    let up = call("vec3f", [0.0.into(), g.one_of(&[0.0, 1.0]).into(), 1.0.into()]);
    let t = g.let_as("t", call("normalize", [call("cross", [up, n.clone()])]), Role::Direction);
    let b = g.let_as("b", call("cross", [n.clone(), t.clone()]), Role::Direction);
    let v = g.leaf(Ty::Vec(3), Role::Direction);
    if g.once_in(2) {
        let to_local = call("transpose", [call("mat3x3f", [t, b, n])]);
        g.let_as("local", to_local * v, Role::Direction);
    } else {
        let parts = [t, b, n].map(|axis| call("dot", [axis, v.clone()]));
        g.let_as("local", call("vec3f", parts), Role::Direction);
    }
}

fn srgb(g: &mut Generator<'_>) {
    let x = g.expr(Ty::F32, Role::Fraction, 1);
    let x = g.let_as("x", x, Role::Fraction);
    let (low, high) =
        (&x * 12.92, 1.055 * call("pow", [x.clone(), (1.0_f32 / 2.4).into()]) - 0.055);
    g.let_as(
        "srgb",
        call("select", [high, low, Expr::compare("<=", x, 0.0031308)]),
        Role::Fraction,
    );
}

fn tone_map(g: &mut Generator<'_>) {
    let x = g.expr(Ty::F32, Role::Positive, 1);
    let x = g.let_as("x", x, Role::Positive);
    let mapped = match g.below(2) {
        0 => &x / (1.0 + &x),
        _ => (&x * (2.51 * &x + 0.03)) / (&x * (2.43 * &x + 0.59) + 0.14),
    };
    g.let_as("mapped", mapped, Role::Fraction);
}

fn rotation(g: &mut Generator<'_>) {
    let angle = g.expr(Ty::F32, Role::Any, 1);
    let angle = g.let_as("angle", angle, Role::Any);
    let [s, c] = ["sin", "cos"].map(|f| call(f, [angle.clone()]));
    let [s, c] = [g.let_as("s", s, Role::Signed), g.let_as("c", c, Role::Signed)];
    let matrix = call("mat2x2f", [call("vec2f", [c.clone(), s.clone()]), call("vec2f", [-s, c])]);
    let p = g.leaf(Ty::Vec(2), Role::Signed);
    g.let_as("turned", matrix * p, Role::Any);
}

/// Appends a local structure. Its members are read and written separately.
fn lobe(g: &mut Generator<'_>) {
    if !g
        .module
        .globals
        .iter()
        .any(|global| matches!(global, super::ast::Global::Struct("Lobe", _)))
    {
        return order(g);
    }
    g.note("struct");
    let parts = [
        g.leaf(Ty::Vec(3), Role::Direction),
        g.leaf(Ty::F32, Role::Fraction),
        g.leaf(Ty::F32, Role::Positive),
    ];
    let value =
        Expr::new(Ty::Struct("Lobe"), super::ast::ExprKind::Call("Lobe".into(), parts.into()));
    let lobe = g.var_as("lobe", value, Role::Any);
    let weight = lobe.member("weight", Ty::F32);
    let scale = g.expr(Ty::F32, Role::Fraction, 1);
    g.block.push(Stmt::Assign(weight.clone(), "*=", scale));
    let v = g.leaf(Ty::Vec(3), Role::Direction);
    let cosine = max0(call("dot", [lobe.member("axis", Ty::Vec(3)), v]));
    g.let_as(
        "peak",
        weight * call("pow", [cosine, lobe.member("sharpness", Ty::F32)]),
        Role::Fraction,
    );
}

fn packed_bits(g: &mut Generator<'_>) {
    let x = g.leaf(Ty::Vec(2), Role::Signed);
    let packed = g.let_as("packed", call("pack2x16float", [x]), Role::Any);
    let unpacked = if g.once_in(2) {
        call("unpack2x16float", [packed]).swizzle("x")
    } else {
        call("unpack4x8unorm", [packed]).swizzle("y")
    };
    g.let_as("unpacked", unpacked, Role::Any);
}

fn thin_film(g: &mut Generator<'_>) {
    let (c, thickness) = (g.cosine("c"), g.leaf(Ty::F32, Role::Positive));
    let phase = g.let_as("phase", 12.566 * thickness * &c, Role::Any);
    let phases = call("vec3f", [&phase * 1.54, &phase * 1.82, &phase * 2.22]);
    let film = 0.5 * call("cos", [phases]);
    g.let_as("film", call("abs", [film]), Role::Fraction);
}

/// Appends ordered values: a minimum and a maximum, or a difference with a sign that a condition
/// implies.
fn order(g: &mut Generator<'_>) {
    let [a, b] = [(); 2].map(|()| g.leaf(Ty::F32, Role::Fraction));
    let [a, b] = [g.ensure_runtime(a), g.ensure_runtime(b)];
    let low = g.let_as("low", call("min", [a.clone(), b.clone()]), Role::Fraction);
    let high = g.let_as("high", call("max", [a, b]), Role::Fraction);
    let value = match g.below(3) {
        0 => call("sqrt", [&high - &low]),
        1 => {
            let denominator = g.divisor(high);
            low / denominator
        }
        _ => call("select", [(&low - &high).clone(), &high - &low, Expr::compare(">", high, low)]),
    };
    g.let_as("between", value, Role::Fraction);
}

fn squares(g: &mut Generator<'_>) {
    let v = g.leaf(Ty::Vec(3), Role::Direction);
    let [x, y, z] = ["x", "y", "z"].map(|k| v.swizzle(k));
    let value = match g.below(4) {
        0 => &x * &x + &y * &y,
        1 => 1.0 - &z * &z,
        2 => call("sqrt", [max0(1.0 - &x * &x - &y * &y)]),
        _ => call("dot", [v.clone(), v]),
    };
    g.let_as("part", value, Role::Fraction);
}
