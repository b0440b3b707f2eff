//! Rebuilding a function through a [`Builder`], which is how passes work: they say what becomes of an operation, and everything
//! else, with the builder's folding, numbering and motion, is common to all. What no output needs is not rebuilt (dead code goes,
//! with parameters and results that only feed themselves).

use super::builder::Builder;
use super::function::{Block, Def, Function, If, Loop, Stmt, Value, for_each_stmt};
use super::op::Op;

/// Rebuilds `old` in `builder`, which is new; `visit` appends what an operation becomes.
pub fn rewrite(old: &Function, mut builder: Builder, visit: impl FnMut(&mut Builder, Op, &[Value]) -> Value) -> Function {
    let mut map = vec![None; old.len()];
    for (index, port) in old.inputs.iter().enumerate() {
        let value = builder.input(&port.name, port.ty);
        let old = old.values.iter().position(|data| data.def == Def::Input(index as u32)).expect("inputs are values");
        map[old] = Some(value);
    }
    let mut rewriter = Rewriter { old, builder, map, live: liveness(old), visit };
    rewriter.stmts(&old.body);
    let outputs: Vec<_> = rewriter.mapped(&old.body.yields);
    rewriter.builder.finish(old.outputs.iter().map(|port| port.name.clone()).zip(outputs))
}

/// Which values the outputs depend on, as an array over all values.
pub fn liveness(function: &Function) -> Vec<bool> {
    // Values that parameters and results come from.
    let mut sources = vec![[Value(0); 3]; function.len()];
    for_each_stmt(&function.body, &mut |stmt| match stmt {
        Stmt::Op(_) => {}
        Stmt::If(i) => {
            for (k, result) in i.results.iter().enumerate() {
                sources[result.index()] = [i.cond, i.then.yields[k], i.otherwise.yields[k]];
            }
        }
        Stmt::Loop(l) => {
            for (k, param) in l.params.iter().enumerate() {
                sources[param.index()] = [l.cond, l.init[k], l.body.yields[k]];
            }
            for (k, result) in l.results.iter().enumerate() {
                sources[result.index()] = [l.cond, l.head.yields[k], l.head.yields[k]];
            }
        }
    });
    let mut live = vec![false; function.len()];
    let mut work = function.body.yields.clone();
    while let Some(value) = work.pop() {
        if std::mem::replace(&mut live[value.index()], true) {
            continue;
        }
        match &function.values[value.index()].def {
            Def::Input(_) | Def::Const(_) => {}
            Def::Op { op, args } => work.extend(&args[..op.arity()]),
            Def::Param | Def::Result => work.extend(sources[value.index()]),
        }
    }
    live
}

struct Rewriter<'a, F> {
    old: &'a Function,
    builder: Builder,
    map: Vec<Option<Value>>,
    live: Vec<bool>,
    visit: F,
}

impl<F: FnMut(&mut Builder, Op, &[Value]) -> Value> Rewriter<'_, F> {
    fn get(&mut self, old: Value) -> Value {
        if let Some(value) = self.map[old.index()] {
            return value;
        }
        let bits = self.old.constant(old).expect("values are defined before their use");
        let value = super::op::Emit::constant(&mut self.builder, self.old.ty(old), bits);
        self.map[old.index()] = Some(value);
        value
    }

    fn mapped(&mut self, old: &[Value]) -> Vec<Value> {
        old.iter().map(|&value| self.get(value)).collect()
    }

    fn set(&mut self, old: Value, new: Value) {
        self.map[old.index()] = Some(new);
    }

    /// Those of `values` that stand beside a live one of `beside`.
    fn beside_live(&self, beside: &[Value], values: &[Value]) -> Vec<Value> {
        std::iter::zip(beside, values).filter(|(b, _)| self.live[b.index()]).map(|(_, &v)| v).collect()
    }

    fn stmts(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) if self.live[value.index()] => {
                    let (op, args) = self.old.operation(*value).expect("statements define operations");
                    let mut new = [Value(0); 3];
                    for (new, &arg) in new.iter_mut().zip(args) {
                        *new = self.get(arg);
                    }
                    let value_new = (self.visit)(&mut self.builder, op, &new[..args.len()]);
                    self.set(*value, value_new);
                }
                Stmt::Op(_) => {}
                Stmt::If(i) => self.if_(i),
                Stmt::Loop(l) => self.loop_(l),
            }
        }
    }

    fn if_(&mut self, i: &If) {
        let live = self.beside_live(&i.results, &i.results);
        if live.is_empty() {
            return;
        }
        let cond = self.get(i.cond);
        if let Some(known) = self.builder.known_bool(cond) {
            let arm = if known { &i.then } else { &i.otherwise };
            self.stmts(arm);
            for (&result, &yielded) in std::iter::zip(&i.results, &arm.yields) {
                if self.live[result.index()] {
                    let new = self.get(yielded);
                    self.set(result, new);
                }
            }
            return;
        }
        let arms = [&i.then, &i.otherwise].map(|arm| {
            self.builder.open_arm();
            self.stmts(arm);
            let yields = self.beside_live(&i.results, &arm.yields);
            let yields = self.mapped(&yields);
            self.builder.close_arm(&yields)
        });
        let [mut then, mut otherwise] = arms;
        // Results that both arms agree on need no if.
        let mut results = vec![];
        let mut kept = (vec![], vec![]);
        for (k, &result) in live.iter().enumerate() {
            if then.yields[k] == otherwise.yields[k] {
                self.set(result, then.yields[k]);
            } else {
                results.push(result);
                kept.0.push(then.yields[k]);
                kept.1.push(otherwise.yields[k]);
            }
        }
        (then.yields, otherwise.yields) = kept;
        if !results.is_empty() {
            let new = self.builder.push_if(cond, then, otherwise);
            for (result, new) in results.into_iter().zip(new) {
                self.set(result, new);
            }
        }
    }

    fn loop_(&mut self, l: &Loop) {
        if !l.params.iter().chain(&l.results).any(|v| self.live[v.index()]) {
            return;
        }
        if self.old.constant(l.cond) == Some(0) {
            // The body never runs.
            for (&param, &init) in std::iter::zip(&l.params, &l.init) {
                let new = self.get(init);
                self.set(param, new);
            }
            self.stmts(&l.head);
            for (&result, &exit) in std::iter::zip(&l.results, &l.head.yields) {
                if self.live[result.index()] {
                    let new = self.get(exit);
                    self.set(result, new);
                }
            }
            return;
        }
        // Parameters that keep their first value are that value.
        let (mut params, mut init, mut next) = (vec![], vec![], vec![]);
        for (k, &param) in l.params.iter().enumerate() {
            if !self.live[param.index()] {
                continue;
            }
            let first = self.get(l.init[k]);
            if l.body.yields[k] == param || l.body.yields[k] == l.init[k] {
                self.set(param, first);
            } else {
                params.push(param);
                init.push(first);
                next.push(l.body.yields[k]);
            }
        }
        let new = self.builder.open_loop(&init);
        for (&param, &new) in std::iter::zip(&params, &new) {
            self.set(param, new);
        }
        self.stmts(&l.head);
        let cond = self.get(l.cond);
        let exits = self.beside_live(&l.results, &l.head.yields);
        let exits = self.mapped(&exits);
        self.builder.open_body(cond, &exits);
        self.stmts(&l.body);
        let next = self.mapped(&next);
        let results = self.builder.close_loop(&next);
        for (result, new) in self.beside_live(&l.results, &l.results).into_iter().zip(results) {
            self.set(result, new);
        }
    }
}
