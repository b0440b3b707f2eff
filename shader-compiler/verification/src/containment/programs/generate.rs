//! Generates random WGSL modules with a `brdf` function.
//!
//! As in Csmith (Yang et al. 2011), programs are valid by construction: the generator tracks what
//! is in scope, functions call only functions declared before them, loops have a counter, and
//! constant expressions are avoided where the front end would have to fold them. Unlike programs by
//! Csmith, they do not cover the language evenly but resemble handwritten shaders: they have unit
//! vectors, guards, terms of published reflectance models, and values with several uses.

use super::Program;
use super::ast::{
    Expr, ExprKind, Function, Global, Member, Module, Parameter, Stmt, Ty, walk_blocks,
};
use super::expressions::{Role, call, splat};
use lightbound_shader::random::Random;
use std::collections::BTreeSet;

/// A value in scope.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub expr: Expr,
    pub role: Role,
    pub is_mutable: bool,
    /// Whether the front end folds it: a `const`, an `override`, or a `let` with a constant value.
    pub is_const: bool,
}

impl Binding {
    pub fn name(&self) -> &str {
        if let ExprKind::Name(name) = &self.expr.kind { name } else { "" }
    }
}

/// A function that later code can call.
#[derive(Clone, Debug)]
pub(super) struct Helper {
    pub name: String,
    parameters: Vec<(Parameter, Role)>,
    result: Ty,
    role: Role,
}

/// A program under construction.
pub(super) struct Generator<'a> {
    pub random: &'a mut Random,
    pub scope: Vec<Binding>,
    pub functions: Vec<Helper>,
    pub module: Module,
    /// Statements of the innermost open block.
    pub block: Vec<Stmt>,
    features: BTreeSet<&'static str>,
    /// Number of unique names so far.
    names: usize,
    /// Number of open loops.
    pub loops: usize,
}

/// Name, type, range and default of a member of `Material`, and its role in expressions.
type MemberSpec = (&'static str, Ty, Option<&'static str>, Option<&'static str>, Role);

/// Possible members of `Material`.
const MEMBERS: [MemberSpec; 14] = [
    ("kd", Ty::Vec(3), Some("[0, 1]"), Some("0.5"), Role::Fraction),
    ("ks", Ty::Vec(3), Some("[0, 1]"), Some("(0.9, 0.6, 0.3)"), Role::Fraction),
    ("roughness", Ty::F32, Some("[0.01, 1]"), Some("0.3"), Role::Fraction),
    ("alpha_x", Ty::F32, Some("[0.02, 1]"), Some("0.1"), Role::Fraction),
    ("exponent", Ty::F32, Some("[1, 1000]"), Some("50"), Role::Positive),
    ("f0", Ty::F32, Some("[0, 1]"), Some("0.04"), Role::Fraction),
    ("eta", Ty::F32, Some("[1.01, 4]"), Some("1.5"), Role::Positive),
    ("tint", Ty::F32, Some("[-1, 1]"), Some("0"), Role::Signed),
    ("scale", Ty::F32, Some("(0, 20]"), Some("4"), Role::Positive),
    ("height", Ty::F32, Some("[0, inf)"), Some("1"), Role::Positive),
    ("offset", Ty::Vec(2), None, Some("0"), Role::Any),
    ("layers", Ty::I32, Some("[0, 5]"), Some("2"), Role::Any),
    ("code", Ty::U32, Some("[0, 255]"), Some("37"), Role::Any),
    ("metallic", Ty::Bool, None, Some("false"), Role::Any),
];

/// Generates the program for a seed.
pub(super) fn program(seed: u64) -> Program {
    let random = &mut Random::new(seed ^ 0x9406_1e35);
    let mut generator = Generator::new(random);
    generator.generate();
    Program { module: generator.module, features: generator.features }
}

impl<'a> Generator<'a> {
    /// Creates an empty program with nothing in scope.
    pub fn new(random: &'a mut Random) -> Generator<'a> {
        Generator {
            random,
            scope: vec![],
            functions: vec![],
            module: Module::default(),
            block: vec![],
            features: BTreeSet::new(),
            names: 0,
            loops: 0,
        }
    }
}

impl Generator<'_> {
    pub fn below(&mut self, n: usize) -> usize {
        self.random.below(n)
    }

    pub fn once_in(&mut self, n: usize) -> bool {
        self.random.once_in(n)
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        *self.random.pick(all)
    }

    /// Returns a random item; `None` if there are none.
    pub fn choose<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        (!all.is_empty()).then(|| self.random.pick(all).clone())
    }

    /// Records that the program has a feature.
    pub fn note(&mut self, feature: &'static str) {
        self.features.insert(feature);
    }

    /// Whether a name is in scope.
    pub fn is_in_scope(&self, name: &str) -> bool {
        self.scope.iter().any(|b| b.name() == name)
    }

    /// Returns a unique name.
    pub fn unique_name(&mut self, base: &str) -> String {
        self.names += 1;
        format!("{base}_{}", self.names)
    }

    /// Adds an immutable value to the scope.
    pub fn bind(&mut self, expr: Expr, role: Role) -> Expr {
        self.scope.push(Binding { expr: expr.clone(), role, is_mutable: false, is_const: false });
        expr
    }

    /// Appends `let base_n = value;`.
    pub fn let_as(&mut self, base: &str, value: Expr, role: Role) -> Expr {
        let name = self.unique_name(base);
        let bound = Expr::name(value.ty, &name);
        let is_const = self.is_const(&value);
        self.block.push(Stmt::Let(name, value));
        self.scope.push(Binding { expr: bound.clone(), role, is_mutable: false, is_const });
        bound
    }

    /// Appends `var base_n = value;`.
    pub fn var_as(&mut self, base: &str, value: Expr, role: Role) -> Expr {
        let name = self.unique_name(base);
        let bound = Expr::name(value.ty, &name);
        self.block.push(Stmt::Var(name, value));
        self.scope.push(Binding { expr: bound.clone(), role, is_mutable: true, is_const: false });
        bound
    }

    /// Builds a nested block; its variables go out of scope at its end.
    pub fn block(&mut self, write: impl FnOnce(&mut Self)) -> Vec<Stmt> {
        let (outer, scope) = (std::mem::take(&mut self.block), self.scope.len());
        write(self);
        self.scope.truncate(scope);
        std::mem::replace(&mut self.block, outer)
    }

    /// Returns a random texture and the sampler; `None` if the program has no textures.
    pub fn texture(&mut self) -> Option<(Expr, Expr)> {
        let names = self.module.globals.iter().filter_map(|global| match global {
            Global::Texture(name) => Some(name.clone()),
            _ => None,
        });
        let names: Vec<_> = names.collect();
        let name = self.choose(&names)?;
        Some((Expr::name(Ty::Texture, &name), Expr::name(Ty::Sampler, "linear_sampler")))
    }

    pub fn has_textures(&self) -> bool {
        self.module.globals.iter().any(|global| matches!(global, Global::Texture(_)))
    }

    /// Generates the module.
    fn generate(&mut self) {
        self.module.two_sided = self.once_in(6);
        if self.module.two_sided {
            self.note("two-sided");
        }
        let members = self.members();
        self.globals();
        for _ in 0..self.one_of(&[0, 0, 1, 1, 2, 3]) {
            self.helper();
        }
        if !members.is_empty() && self.once_in(6) {
            self.material_function(&members);
        }
        let globals = self.scope.len();
        // `wi` is bound twice, so that it is used more often: it is the interval input of most
        // bounding shaders.
        for name in ["wo", "wi", "wi"] {
            self.bind(Expr::name(Ty::Vec(3), name), Role::Direction);
        }
        let mut parameters = vec![parameter("wi", Ty::Vec(3)), parameter("wo", Ty::Vec(3))];
        if !members.is_empty() {
            parameters.push(parameter("m", Ty::Struct("Material")));
        }
        for &(name, ty, _, _, role) in &members {
            self.bind(Expr::name(Ty::Struct("Material"), "m").member(name, ty), role);
        }
        let statements = self.one_of(&[1, 2, 3, 4, 6, 9]);
        let body = self.block(|g| {
            if g.once_in(3) {
                g.guard();
            }
            for _ in 0..statements {
                if g.once_in(3) { g.statement(2) } else { g.idiom() }
            }
            let value = g.returned_colour(globals);
            g.block.push(Stmt::Return(value));
        });
        self.scope.truncate(globals);
        self.module.functions.push(Function {
            name: "brdf".into(),
            parameters,
            result: Ty::Vec(3),
            body,
        });
    }

    /// Adds random members of `Material`.
    fn members(&mut self) -> Vec<MemberSpec> {
        if self.once_in(6) {
            return vec![];
        }
        let one_in = 2 + self.below(4);
        let members: Vec<_> = MEMBERS.into_iter().filter(|_| self.once_in(one_in)).collect();
        for &(name, ty, range, default, _) in &members {
            self.module.members.push(Member { name: name.into(), ty, range, default });
        }
        if !members.is_empty() {
            self.note("Material");
        }
        members
    }

    /// Adds random declarations at module scope.
    fn globals(&mut self) {
        if self.once_in(3) {
            self.note("const");
            for name in ["PI", "THRESHOLD"] {
                let value = if name == "PI" {
                    std::f32::consts::PI.into()
                } else {
                    self.literal(Role::Fraction)
                };
                let role = if name == "PI" { Role::Positive } else { Role::Fraction };
                self.module.globals.push(Global::Const(name.into(), value));
                let expr = Expr::name(Ty::F32, name);
                self.scope.push(Binding { expr, role, is_mutable: false, is_const: true });
            }
        }
        if self.once_in(12) {
            self.note("override");
            let value = self.literal(Role::Fraction);
            self.module.globals.push(Global::Override("strength".into(), value));
            self.scope.push(Binding {
                expr: Expr::name(Ty::F32, "strength"),
                role: Role::Fraction,
                is_mutable: false,
                is_const: true,
            });
        }
        if self.once_in(10) {
            self.note("private variable");
            let value = self.literal(Role::Fraction);
            self.module.globals.push(Global::Private("state".into(), value));
            let expr = Expr::name(Ty::F32, "state");
            self.scope.push(Binding { expr, role: Role::Any, is_mutable: true, is_const: false });
        }
        if self.once_in(7) {
            self.note("texture");
            for name in ["wood", "scratches"].into_iter().take(1 + self.below(2)) {
                self.module.globals.push(Global::Texture(name.into()));
            }
            self.module.globals.push(Global::Sampler("linear_sampler".into()));
        }
        if self.once_in(4) {
            let members = vec![("axis", Ty::Vec(3)), ("weight", Ty::F32), ("sharpness", Ty::F32)];
            self.module.globals.push(Global::Struct("Lobe", members));
        }
    }

    /// Adds a helper function.
    fn helper(&mut self) {
        self.note("function");
        let parameter_types = [
            (Ty::F32, Role::Fraction),
            (Ty::F32, Role::Signed),
            (Ty::F32, Role::Positive),
            (Ty::Vec(3), Role::Direction),
        ];
        let name = self.unique_name("f");
        let mut parameters =
            vec![(parameter("x", Ty::F32), self.one_of(&[Role::Fraction, Role::Signed]))];
        for name in ["a", "b"].into_iter().take(self.below(3)) {
            let (ty, role) = self.one_of(&parameter_types);
            parameters.push((parameter(name, ty), role));
        }
        let by_pointer = self.once_in(8);
        if by_pointer {
            self.note("pointer");
            parameters
                .push((Parameter { name: "p".into(), ty: Ty::F32, is_pointer: true }, Role::Any));
        }
        let (result, role) = self.one_of(&[
            (Ty::F32, Role::Any),
            (Ty::F32, Role::Fraction),
            (Ty::F32, Role::Positive),
            (Ty::Vec(3), Role::Any),
            (Ty::Vec(3), Role::Direction),
        ]);
        let outer = self.scope.len();
        for (parameter, role) in &parameters {
            if !parameter.is_pointer {
                self.bind(Expr::name(parameter.ty, &parameter.name), *role);
            }
        }
        let statements = self.below(3);
        let body = self.block(|g| {
            if by_pointer {
                let target = Expr::unary("*", Expr::name(Ty::F32, "p"));
                g.scope.push(Binding {
                    expr: target.clone(),
                    role: Role::Any,
                    is_mutable: true,
                    is_const: false,
                });
                let value = g.expr(Ty::F32, Role::Signed, 1);
                g.block.push(Stmt::Assign(target, "+=", value));
            }
            for _ in 0..statements {
                if g.once_in(4) {
                    g.early_return(result, role);
                } else {
                    g.statement(1);
                }
            }
            let value = g.expr(result, role, 2);
            let value = if (result, role) == (Ty::F32, Role::Any) {
                g.with_unused(value, outer)
            } else {
                value
            };
            g.block.push(Stmt::Return(value));
        });
        self.scope.truncate(outer);
        let list = parameters.iter().map(|(parameter, _)| parameter.clone()).collect();
        self.module.functions.push(Function { name: name.clone(), parameters: list, result, body });
        self.functions.push(Helper { name, parameters, result, role });
    }

    /// Adds `fn material`, which computes some members from the surface point.
    fn material_function(&mut self, members: &[MemberSpec]) {
        self.note("fn material");
        let outer = self.scope.len();
        let (point, argument) =
            (Expr::name(Ty::Struct("SurfacePoint"), "p"), Expr::name(Ty::Struct("Material"), "m"));
        self.bind(point.member("uv", Ty::Vec(2)), Role::Any);
        self.bind(point.member("normal", Ty::Vec(3)), Role::Signed);
        self.bind(point.member("position", Ty::Vec(3)), Role::Any);
        let body = self.block(|g| {
            let result = Expr::name(Ty::Struct("Material"), "result");
            g.block.push(Stmt::Var("result".into(), argument.clone()));
            g.statement(1);
            for &(name, ty, _, _, role) in
                members.iter().filter(|(_, ty, ..)| matches!(ty, Ty::F32 | Ty::Vec(_))).take(2)
            {
                let value = g.expr(ty, role, 2);
                g.block.push(Stmt::Assign(result.member(name, ty), "=", value));
            }
            g.block.push(Stmt::Return(result));
        });
        self.scope.truncate(outer);
        let parameters = vec![
            parameter("p", Ty::Struct("SurfacePoint")),
            parameter("m", Ty::Struct("Material")),
        ];
        self.module.functions.push(Function {
            name: "material".into(),
            parameters,
            result: Ty::Struct("Material"),
            body,
        });
    }

    /// Returns a call of a helper function with this type and role, with a probability of at most
    /// 1/5.
    pub fn call_helper(&mut self, ty: Ty, role: Role, depth: usize) -> Option<Expr> {
        if self.functions.is_empty() || !self.once_in(5) {
            return None;
        }
        let fits = |helper: &&Helper| helper.result == ty && helper.role.implies(role);
        let candidates: Vec<_> = self.functions.iter().filter(fits).cloned().collect();
        let helper = self.choose(&candidates)?;
        let mut args = vec![];
        for (parameter, role) in &helper.parameters {
            args.push(if parameter.is_pointer {
                let start = self.leaf(Ty::F32, Role::Signed);
                Expr::unary("&", self.var_as("state", start, Role::Any))
            } else {
                self.expr(parameter.ty, *role, depth)
            });
        }
        Some(Expr::new(ty, ExprKind::Call(helper.name.clone(), args)))
    }

    /// Returns the variables in scope from index `first` on that no statement reads yet, converted
    /// to floats.
    fn unused(&mut self, first: usize) -> Vec<Expr> {
        let (mut block, mut used) = (std::mem::take(&mut self.block), BTreeSet::new());
        walk_blocks(&mut block, &mut |inner| {
            for stmt in inner {
                // The target of an assignment is not read.
                let writes = usize::from(matches!(stmt, Stmt::Assign(..)));
                for expr in stmt.expressions_mut().into_iter().skip(writes) {
                    expr.walk(&mut |inner| {
                        if let ExprKind::Name(name) = &inner.kind {
                            used.insert(name.clone());
                        }
                    });
                }
            }
        });
        self.block = block;
        let locals = self.scope[first..]
            .iter()
            .filter(|b| !b.is_const && !b.name().is_empty() && !used.contains(b.name()));
        let locals: Vec<_> = locals.map(|b| b.expr.clone()).collect();
        locals.into_iter().filter_map(|x| self.as_float(x)).collect()
    }

    /// Converts a value to a float; `None` for types without a conversion.
    fn as_float(&mut self, x: Expr) -> Option<Expr> {
        Some(match x.ty {
            Ty::F32 => x,
            Ty::Vec(n) => {
                let k = self.below(n);
                x.swizzle(&"xyzw"[k..=k])
            }
            Ty::I32 | Ty::U32 => call("f32", [x]) * 0.1,
            Ty::Bool => call("select", [0.3.into(), 1.0.into(), x]),
            Ty::Mat(_) => call("determinant", [x]),
            Ty::Array(_) => x.at(Expr::int(1)),
            _ => return None,
        })
    }

    /// Combines a float with variables that are still unused, since shaders seldom have dead code.
    fn with_unused(&mut self, mut value: Expr, first: usize) -> Expr {
        for x in self.unused(first).into_iter().rev().take(6) {
            value = match self.below(6) {
                0 | 1 => value * x,
                2 | 3 => value + x,
                4 => call("mix", [value, x, self.literal(Role::Fraction)]),
                _ => value - x,
            };
        }
        value
    }

    /// Returns the result of `brdf`. Its parameters and variables are in scope from index `first`
    /// on.
    fn returned_colour(&mut self, first: usize) -> Expr {
        match self.below(12) {
            0 => self.expr(Ty::Vec(3), Role::Any, 3),
            1 => {
                let parts: Vec<_> = (0..3).map(|_| self.expr(Ty::F32, Role::Any, 2)).collect();
                call("vec3f", parts)
            }
            2..5 => {
                let weight = self.leaf(Ty::F32, Role::Fraction);
                splat(3, self.with_unused(weight, first))
            }
            _ => {
                let tint = self.leaf(Ty::Vec(3), Role::Fraction);
                let weight = self.expr(Ty::F32, Role::Any, 1);
                let weight = self.with_unused(weight, first);
                if self.once_in(2) {
                    tint * weight
                } else {
                    tint * weight + self.expr(Ty::Vec(3), Role::Fraction, 1)
                }
            }
        }
    }
}

fn parameter(name: &str, ty: Ty) -> Parameter {
    Parameter { name: name.into(), ty, is_pointer: false }
}
