//! Generates random statements: new variables, assignments, branches and loops.

use super::ast::{Expr, Stmt, Ty};
use super::expressions::{Role, call};
use super::generate::Generator;

impl Generator<'_> {
    /// Appends a conditional `return`.
    pub(super) fn early_return(&mut self, ty: Ty, role: Role) {
        self.note("early return");
        let condition = self.condition(1);
        let condition = self.ensure_runtime(condition);
        let then = self.block(|g| {
            let value = g.leaf(ty, role);
            g.block.push(Stmt::Return(value));
        });
        self.block.push(Stmt::If(condition, then, vec![]));
    }

    /// Appends a random statement.
    pub(super) fn statement(&mut self, depth: usize) {
        match self.below(16) {
            0..5 => {
                let (ty, role, base) = self.one_of(&[
                    (Ty::F32, Role::Any, "x"),
                    (Ty::F32, Role::Fraction, "t"),
                    (Ty::F32, Role::Signed, "s"),
                    (Ty::F32, Role::Positive, "d"),
                    (Ty::Vec(3), Role::Direction, "v"),
                    (Ty::Vec(3), Role::Fraction, "c"),
                    (Ty::Vec(2), Role::Any, "uv"),
                    (Ty::Vec(4), Role::Any, "q"),
                    (Ty::I32, Role::Any, "i"),
                    (Ty::U32, Role::Any, "u"),
                    (Ty::Bool, Role::Any, "is"),
                    (Ty::Mat(3), Role::Any, "mat"),
                    (Ty::Mat(2), Role::Any, "rot"),
                ]);
                let value = self.expr(ty, role, 3);
                self.let_as(base, value, role);
            }
            5 | 6 => {
                let value = self.expr(Ty::F32, Role::Any, 2);
                self.var_as("acc", value, Role::Any);
            }
            7 | 8 => self.assignment(),
            9 | 10 => self.branch(depth),
            11 => self.array(),
            12 => self.switch(depth),
            13 if depth > 0 && self.loops == 0 => self.counted_loop(depth),
            14 if depth > 0 && self.loops == 0 => self.while_loop(depth),
            _ => self.idiom(),
        }
    }

    /// Returns a mutable variable of a type. Declares one if none is in scope.
    pub(super) fn variable(&mut self, ty: Ty) -> Expr {
        let candidates: Vec<_> = self
            .scope
            .iter()
            .filter(|b| b.is_mutable && b.expr.ty == ty)
            .map(|b| b.expr.clone())
            .collect();
        if candidates.is_empty() {
            let value = self.expr(ty, Role::Fraction, 1);
            return self.var_as("acc", value, Role::Any);
        }
        candidates[self.below(candidates.len())].clone()
    }

    fn assignment(&mut self) {
        let target = self.variable(Ty::F32);
        let op = self.one_of(&["=", "+=", "-=", "*="]);
        let role = if op == "*=" { Role::Fraction } else { Role::Any };
        let value = self.expr(Ty::F32, role, 2);
        self.block.push(Stmt::Assign(target, op, value));
    }

    fn branch(&mut self, depth: usize) {
        self.note("if");
        self.variable(Ty::F32);
        let condition = self.condition(1);
        let condition = self.ensure_runtime(condition);
        let arm = |g: &mut Self| {
            g.block(|g| {
                g.assignment();
                if depth > 0 && g.once_in(3) {
                    g.statement(depth - 1);
                }
            })
        };
        let then = arm(self);
        let otherwise = if self.once_in(2) { arm(self) } else { vec![] };
        self.block.push(Stmt::If(condition, then, otherwise));
    }

    fn array(&mut self) {
        self.note("array");
        let n = 2 + self.below(4);
        let value = self.leaf(Ty::Array(n), Role::Fraction);
        let array = self.var_as("table", value, Role::Any);
        if self.once_in(2) {
            self.note("dynamic store");
            let index = self.expr(Ty::I32, Role::Any, 2);
            let index = self.ensure_runtime(index);
            let value = self.expr(Ty::F32, Role::Signed, 2);
            self.block.push(Stmt::Assign(array.at(index), "=", value));
        }
        let index = self.expr(Ty::F32, Role::Fraction, 1);
        let index = call("i32", [self.ensure_runtime(index) * n as f32]);
        self.let_as("entry", array.at(index), Role::Any);
    }

    fn switch(&mut self, depth: usize) {
        self.note("switch");
        self.variable(Ty::F32);
        let selector = self.expr(Ty::I32, Role::Any, 2);
        let selector = self.ensure_runtime(selector);
        let arm = |g: &mut Self| {
            g.block(|g| {
                g.assignment();
                if depth > 0 && g.once_in(4) {
                    g.statement(0);
                }
            })
        };
        let cases = vec![(vec![0], arm(self)), (vec![1, 2], arm(self))];
        let default = arm(self);
        self.block.push(Stmt::Switch(selector, cases, default));
    }

    /// Appends a `for` loop. Its trip count may depend on data, and it may have an early exit.
    fn counted_loop(&mut self, depth: usize) {
        self.note("for");
        let sum = self.variable(Ty::F32);
        let counter = self.unique_name("k");
        let index = Expr::name(Ty::I32, &counter);
        let max_iterations = 2 + self.below(4) as i64;
        let condition = if self.once_in(3) {
            self.note("loop with a data-dependent end");
            let iterations = self.expr(Ty::F32, Role::Fraction, 1);
            Expr::compare(
                "<",
                &index,
                call("i32", [self.ensure_runtime(iterations) * max_iterations as f32]),
            )
        } else {
            Expr::compare("<", &index, Expr::int(max_iterations))
        };
        self.loops += 1;
        let body = self.block(|g| {
            g.bind(index.clone(), Role::Any);
            let t =
                g.let_as("t", call("f32", [index.clone()]) / max_iterations as f32, Role::Fraction);
            if g.once_in(3) {
                let (feature, exit) = if g.once_in(2) {
                    ("break", Stmt::Break)
                } else {
                    ("continue", Stmt::Continue)
                };
                g.note(feature);
                let condition = g.condition(1);
                let condition = g.ensure_runtime(condition);
                g.block.push(Stmt::If(condition, vec![exit], vec![]));
            }
            if g.once_in(3) {
                g.statement(depth - 1);
            }
            let term = g.expr(Ty::F32, Role::Signed, 2) * t;
            g.block.push(Stmt::Assign(sum, "+=", term));
        });
        self.loops -= 1;
        self.block.push(Stmt::For(counter, Expr::int(0), condition, body));
    }

    /// Appends a `while` loop or `loop` that stops at a threshold or after some iterations.
    fn while_loop(&mut self, depth: usize) {
        let start = self.expr(Ty::F32, Role::Fraction, 1);
        let x = self.var_as("x", start, Role::Any);
        let iterations = self.var_as("rounds", Expr::int(0), Role::Any);
        // Remove the counter from the scope, so that no statement assigns it.
        self.scope.pop();
        let max_iterations = Expr::int(2 + self.below(6) as i64);
        let condition = Expr::compare("<", &x, self.literal(Role::Positive));
        let count = Stmt::Assign(iterations.clone(), "+=", Expr::int(1));
        self.loops += 1;
        let mut body = self.block(|g| {
            if g.once_in(3) {
                g.statement(depth - 1);
            }
            let factor = g.one_of(&[1.5, 2.0, 0.5]);
            let step = g.expr(Ty::F32, Role::Fraction, 1);
            g.block.push(Stmt::Assign(x.clone(), "=", &x * factor + step));
        });
        self.loops -= 1;
        if self.once_in(3) {
            self.note("loop with continuing");
            let until = Expr::binary(
                "||",
                Expr::compare(">=", iterations, max_iterations),
                Expr::unary("!", condition),
            );
            self.block.push(Stmt::Loop(body, vec![count], until));
        } else {
            self.note("while");
            body.push(count);
            self.block.push(Stmt::While(
                Expr::binary("&&", condition, Expr::compare("<", iterations, max_iterations)),
                body,
            ));
        }
    }
}
