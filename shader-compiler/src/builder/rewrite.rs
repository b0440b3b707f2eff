//! Rebuilds a function through a [`Builder`]. A pass defines how it rewrites operations, ifs or
//! loops. It shares everything else, including the builder's folding, value numbering and code
//! motion.
//!
//! The walk over the old function contributes simplifications that a builder alone cannot do:
//!
//! - Dead code is not rebuilt.
//! - Conditions are constants in the arms and bodies that they guard.
//! - A loop parameter that keeps its initial value is replaced by it.
//! - Loop parameters that evolve identically are merged.
//! - A loop that exits in the first iteration is replaced by its head.

use super::Builder;
use crate::ir::function::{Block, Def, Function, If, Loop, Stmt, Value, ValueData, for_each_stmt};
use crate::ir::op::{Emit, Op};

/// Rewrites operations, ifs and loops. A closure is a pass that rewrites only operations.
pub trait Pass: Sized {
    /// Appends the replacement of the operation that defined `old`; `args` are its new arguments.
    fn op(&mut self, builder: &mut Builder, old: Value, op: Op, args: &[Value]) -> Value {
        let _ = old;
        builder.op(op, args)
    }

    /// Appends the replacement of an if, and sets its results.
    fn if_(&mut self, rewriter: &mut Rewriter<'_>, node: &If) {
        rewriter.if_(self, node);
    }

    /// Appends the replacement of a loop, and sets its results.
    fn loop_(&mut self, rewriter: &mut Rewriter<'_>, node: &Loop) {
        rewriter.loop_(self, node);
    }
}

impl<F: FnMut(&mut Builder, Op, &[Value]) -> Value> Pass for F {
    fn op(&mut self, builder: &mut Builder, _: Value, op: Op, args: &[Value]) -> Value {
        self(builder, op, args)
    }
}

/// Rebuilds `old` in an empty builder. The result has no dead code.
pub fn rewrite(old: &Function, mut builder: Builder, pass: impl Pass) -> Function {
    let inputs: Vec<_> = old.inputs.iter().map(|port| builder.input(&port.name, port.ty)).collect();
    let (builder, outputs) = append(old, builder, &inputs, pass);
    let mut function =
        builder.finish(old.outputs.iter().map(|port| port.name.clone()).zip(outputs));
    remove_dead_code(&mut function);
    function
}

/// Appends `old` to `builder`, with `inputs` as the values of its inputs; returns the values of its
/// outputs.
pub fn append(
    old: &Function,
    mut builder: Builder,
    inputs: &[Value],
    mut pass: impl Pass,
) -> (Builder, Vec<Value>) {
    assert_eq!(inputs.len(), old.inputs.len(), "there is one value per input");
    let live = liveness(old);
    builder.reserve(live.iter().filter(|&&live| live).count());
    let map = old.values.iter().map(|data| match data.def {
        Def::Input(index) => Some(inputs[index as usize]),
        _ => None,
    });
    let map = map.collect();
    let mut rewriter = Rewriter { old, builder, map, live, assumed: vec![], is_repeat: false };
    rewriter.stmts(&mut pass, &old.body);
    let outputs = rewriter.mapped(&old.body.yields);
    (rewriter.builder, outputs)
}

/// Whether any of these outputs may depend on the input at this index.
pub fn depends(function: &Function, outputs: &[usize], input: usize) -> bool {
    let mut restricted = function.clone();
    restricted.body.yields = outputs.iter().map(|&output| function.body.yields[output]).collect();
    let is_input = |value: &ValueData| matches!(value.def, Def::Input(k) if k as usize == input);
    std::iter::zip(liveness(&restricted), &function.values)
        .any(|(live, value)| live && is_input(value))
}

/// Computes for each value whether it is live: whether an output depends on it.
pub fn liveness(function: &Function) -> Vec<bool> {
    // Values that each parameter or result depends on.
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

/// Removes dead code, including parameters and results that only depend on each other.
pub fn remove_dead_code(function: &mut Function) {
    let live = liveness(function);
    remove_dead_code_in(&mut function.body, &live);
}

fn remove_dead_code_in(block: &mut Block, live: &[bool]) {
    let all = |values: &[Value]| values.iter().all(|value| live[value.index()]);
    block.stmts.retain_mut(|stmt| match stmt {
        Stmt::Op(value) => live[value.index()],
        Stmt::If(i) => {
            if !all(&i.results) {
                retain_live_in_place(live, &i.results, &mut i.then.yields);
                retain_live_in_place(live, &i.results, &mut i.otherwise.yields);
                i.results.retain(|value| live[value.index()]);
            }
            remove_dead_code_in(&mut i.then, live);
            remove_dead_code_in(&mut i.otherwise, live);
            !i.results.is_empty()
        }
        Stmt::Loop(l) => {
            if !all(&l.results) {
                retain_live_in_place(live, &l.results, &mut l.head.yields);
                l.results.retain(|value| live[value.index()]);
            }
            if !all(&l.params) {
                retain_live_in_place(live, &l.params, &mut l.init);
                retain_live_in_place(live, &l.params, &mut l.body.yields);
                l.params.retain(|value| live[value.index()]);
            }
            remove_dead_code_in(&mut l.head, live);
            remove_dead_code_in(&mut l.body, live);
            !l.results.is_empty()
        }
    });
}

/// Retains each value for which the value at the same index in `counterparts` is live.
fn retain_live_in_place(live: &[bool], counterparts: &[Value], values: &mut Vec<Value>) {
    let mut counterparts = counterparts.iter();
    values.retain(|_| counterparts.next().is_some_and(|value| live[value.index()]));
}

/// A loop that has been opened.
#[derive(Debug)]
pub struct OpenLoop {
    /// Its parameters.
    pub params: Vec<Value>,
    /// For each parameter, its old value in the next iteration.
    pub next: Vec<Value>,
}

/// Walks an old function and rebuilds it.
#[derive(Debug)]
pub struct Rewriter<'a> {
    /// The old function.
    pub old: &'a Function,
    /// The builder of the new function.
    pub builder: Builder,
    map: Vec<Option<Value>>,
    live: Vec<bool>,
    /// Old values with assumed constants, and their previous mappings.
    assumed: Vec<(Value, Option<Value>)>,
    /// Whether the head of a loop is being rebuilt a second time. Nested heads are then rebuilt
    /// only once.
    is_repeat: bool,
}

impl Rewriter<'_> {
    /// Whether an output depends on an old value.
    pub fn is_live(&self, old: Value) -> bool {
        self.live[old.index()]
    }

    /// The new value of an old value.
    pub fn get(&mut self, old: Value) -> Value {
        if let Some(value) = self.map[old.index()] {
            return value;
        }
        let bits = self.old.constant(old).expect("values are defined before their use");
        let value = self.builder.constant(self.old.ty(old), bits);
        self.map[old.index()] = Some(value);
        value
    }

    /// The bits of an old value, if its new value is a constant.
    pub fn known(&self, old: Value) -> Option<u32> {
        match self.map[old.index()] {
            Some(new) => self.builder.function().constant(new),
            None => self.old.constant(old),
        }
    }

    /// The new values of old values.
    pub fn mapped(&mut self, old: &[Value]) -> Vec<Value> {
        old.iter().map(|&value| self.get(value)).collect()
    }

    /// Sets the new value of an old value.
    pub fn set(&mut self, old: Value, new: Value) {
        self.map[old.index()] = Some(new);
    }

    /// Sets the new values of old values.
    pub fn set_all(&mut self, old: &[Value], new: &[Value]) {
        debug_assert_eq!(old.len(), new.len(), "there is one new value per old value");
        for (&old, &new) in std::iter::zip(old, new) {
            self.set(old, new);
        }
    }

    /// Returns the live ones among old values.
    pub fn live(&self, values: &[Value]) -> Vec<Value> {
        values.iter().copied().filter(|&value| self.is_live(value)).collect()
    }

    /// Returns each value for which the value at the same index in `counterparts` is live.
    pub fn retain_live(&self, counterparts: &[Value], values: &[Value]) -> Vec<Value> {
        std::iter::zip(counterparts, values)
            .filter(|(counterpart, _)| self.is_live(**counterpart))
            .map(|(_, &value)| value)
            .collect()
    }

    /// Rebuilds the statements of a block.
    pub fn stmts(&mut self, pass: &mut impl Pass, block: &Block) {
        let outer = self.builder.set_origin(None);
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) if self.is_live(*value) => {
                    let old = self.old;
                    self.builder.set_origin(old.values[value.index()].origin);
                    let (op, args) = old.operation(*value).expect("statements define operations");
                    let mut new = [Value(0); 3];
                    for (new, &arg) in new.iter_mut().zip(args) {
                        *new = self.get(arg);
                    }
                    let new = pass.op(&mut self.builder, *value, op, &new[..args.len()]);
                    self.set(*value, new);
                }
                Stmt::Op(_) => {}
                Stmt::If(i) => {
                    if let Some(result) = i.results.iter().find(|&&value| self.is_live(value)) {
                        self.builder.set_origin(self.old.values[result.index()].origin);
                        pass.if_(self, i);
                    }
                }
                Stmt::Loop(l) => {
                    if let Some(result) = l.results.iter().find(|&&value| self.is_live(value)) {
                        self.builder.set_origin(self.old.values[result.index()].origin);
                        pass.loop_(self, l);
                    }
                }
            }
        }
        self.builder.set_origin(outer);
    }

    /// Rebuilds the statements of an arm, in which the condition is known. Returns the arm's live
    /// yields.
    pub fn arm(&mut self, pass: &mut impl Pass, node: &If, truth: bool) -> Vec<Value> {
        let arm = if truth { &node.then } else { &node.otherwise };
        let before = self.assume(node.cond, truth);
        self.stmts(pass, arm);
        let yields = self.retain_live(&node.results, &arm.yields);
        let yields = self.mapped(&yields);
        self.forget(before);
        yields
    }

    /// Rebuilds the statements of a loop's body, in which the condition holds. Returns the new
    /// values of `next`.
    pub fn body(&mut self, pass: &mut impl Pass, node: &Loop, next: &[Value]) -> Vec<Value> {
        let before = self.assume(node.cond, true);
        self.stmts(pass, &node.body);
        let next = self.mapped(next);
        self.forget(before);
        next
    }

    /// Assumes the value of a condition, and of the operands that follow from it, while statements
    /// that it guards are rebuilt. Returns the argument for [`forget`](Self::forget), which ends
    /// the assumption.
    fn assume(&mut self, cond: Value, truth: bool) -> usize {
        let before = self.assumed.len();
        let mut work = vec![(cond, truth)];
        while let Some((value, truth)) = work.pop() {
            if self.old.constant(value).is_some() {
                continue;
            }
            self.assumed.push((value, self.map[value.index()]));
            let constant = self.builder.bool(truth);
            self.set(value, constant);
            work.extend(implied_operands(self.old, value, truth));
        }
        before
    }

    /// Drops all assumptions made since `before`.
    fn forget(&mut self, before: usize) {
        while self.assumed.len() > before {
            let (value, new) = self.assumed.pop().expect("there are more assumptions than before");
            self.map[value.index()] = new;
        }
    }

    /// Rebuilds an if, or only the arm that runs if the condition is constant.
    pub fn if_(&mut self, pass: &mut impl Pass, node: &If) {
        let results = self.live(&node.results);
        let cond = self.get(node.cond);
        if let Some(truth) = self.builder.known_bool(cond) {
            let yields = self.arm(pass, node, truth);
            return self.set_all(&results, &yields);
        }
        let [then, otherwise] = [true, false].map(|truth| {
            self.builder.open_arm();
            let yields = self.arm(pass, node, truth);
            self.builder.close_arm(&yields)
        });
        let new = self.builder.push_if(cond, then, otherwise);
        self.set_all(&results, &new);
    }

    /// Rebuilds a loop, or only its head if it exits in the first iteration.
    pub fn loop_(&mut self, pass: &mut impl Pass, node: &Loop) {
        if self.old.constant(node.cond) == Some(0) {
            return self.head_only(pass, node);
        }
        let OpenLoop { next, .. } = self.open_loop(node);
        self.stmts(pass, &node.head);
        let cond = self.get(node.cond);
        // Rebuilding nested heads twice would double the work with each level of nesting, so they
        // are left to the next pass.
        if self.builder.known_bool(cond) == Some(false) && !self.is_repeat {
            self.builder.discard_loop();
            self.is_repeat = true;
            self.head_only(pass, node);
            self.is_repeat = false;
            return;
        }
        let exits = self.exits(node);
        self.builder.open_body(cond, &exits);
        let next = self.body(pass, node, &next);
        let new = self.builder.close_loop(&next);
        let results = self.live(&node.results);
        self.set_all(&results, &new);
    }

    /// Rebuilds only the loop's head, for the initial values of the parameters.
    pub fn head_only(&mut self, pass: &mut impl Pass, node: &Loop) {
        for (&param, &init) in std::iter::zip(&node.params, &node.init) {
            if self.is_live(param) {
                let init = self.get(init);
                self.set(param, init);
            }
        }
        self.stmts(pass, &node.head);
        let (results, exits) = (self.live(&node.results), self.exits(node));
        self.set_all(&results, &exits);
    }

    /// The new values of the head's live yields.
    pub fn exits(&mut self, node: &Loop) -> Vec<Value> {
        let exits = self.retain_live(&node.results, &node.head.yields);
        self.mapped(&exits)
    }

    /// Opens a loop with the live parameters of an old one.
    pub fn open_loop(&mut self, node: &Loop) -> OpenLoop {
        // For the parameters to keep: the old parameter, its new initial value, and its old value
        // in the next iteration.
        let (mut params, mut init, mut next) = (vec![], vec![], vec![]);
        // Old parameters to merge with another one.
        let mut merged = vec![];
        for (k, &param) in node.params.iter().enumerate() {
            if !self.is_live(param) {
                continue;
            }
            let (start, update) = (self.get(node.init[k]), node.body.yields[k]);
            let equal = (0..params.len()).find(|&j| {
                init[j] == start && self.are_equal(next[j], update, (params[j], param), 4)
            });
            if update == param || update == node.init[k] {
                self.set(param, start);
            } else if let Some(equal) = equal {
                merged.push((param, params[equal]));
            } else {
                params.push(param);
                init.push(start);
                next.push(update);
            }
        }
        let new = self.builder.open_loop(&init);
        self.set_all(&params, &new);
        for (param, equal) in merged {
            let value = self.get(equal);
            self.set(param, value);
        }
        OpenLoop { params: new, next }
    }

    /// Whether two old values are equal, if the two values in `pair` are. Looks up to `depth`
    /// operations deep.
    fn are_equal(&self, a: Value, b: Value, pair: (Value, Value), depth: u32) -> bool {
        if a == b || (a, b) == pair {
            return true;
        }
        match (self.old.operation(a), self.old.operation(b)) {
            (Some((f, x)), Some((g, y))) if f == g && depth > 0 => {
                std::iter::zip(x, y).all(|(&x, &y)| self.are_equal(x, y, pair, depth - 1))
            }
            (Some(_), _) | (_, Some(_)) => false,
            _ => {
                self.old.constant(a).is_some()
                    && self.old.constant(a) == self.old.constant(b)
                    && self.old.ty(a) == self.old.ty(b)
            }
        }
    }
}

/// Rebuilds a function with only the simplifications of the builder and the walk.
pub fn rebuild(function: &Function, builder: Builder) -> Function {
    rewrite(function, builder, |builder: &mut Builder, op, args: &[Value]| builder.op(op, args))
}

/// Returns the operands of a condition that its truth decides, with theirs.
pub(crate) fn implied_operands(
    function: &Function,
    condition: Value,
    truth: bool,
) -> impl Iterator<Item = (Value, bool)> {
    let (operands, truth): (&[Value], bool) = match function.operation(condition) {
        Some((Op::BNot, operands)) => (operands, !truth),
        Some((Op::BAnd, operands)) if truth => (operands, true),
        Some((Op::BOr, operands)) if !truth => (operands, false),
        _ => (&[], truth),
    };
    operands.iter().map(move |&operand| (operand, truth))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Rules;
    use crate::ir::text::parse;

    #[track_caller]
    fn assert_rebuilt(before: &str, after: &str) {
        let text = |body: &str| {
            format!("fn f(a: f32, b: f32, c: bool, n: i32) -> (r: f32, s: f32) {{ {body} }}")
        };
        let parse_body =
            |body: &str| parse(&text(body)).unwrap_or_else(|error| panic!("{error}\n{body}"));
        let before = parse_body(before);
        let new = rebuild(&before, Builder::new(&before.name, Rules::Exact));
        crate::ir::verify::verify(&new).unwrap_or_else(|error| panic!("{error}\n{new}"));
        assert_eq!(new.to_string(), parse_body(after).to_string());
    }

    #[test]
    fn outputs_depend_on_operands_and_conditions() {
        let text = "fn f(a: f32, b: f32, c: bool, n: i32) -> (r: f32, s: f32) {
            %x = add a, a
            %w = if c { yield b } else { yield %x }
            return %x, %w
        }";
        let function = parse(text).unwrap_or_else(|error| panic!("{error}"));
        let dependencies =
            |outputs: &[usize]| [0, 1, 2, 3].map(|input| depends(&function, outputs, input));
        assert_eq!(dependencies(&[0]), [true, false, false, false]);
        assert_eq!(dependencies(&[1]), [true, true, true, false]);
        assert_eq!(dependencies(&[0, 1]), dependencies(&[1]));
    }

    #[test]
    fn dead_code_is_removed() {
        assert_rebuilt(
            "%x = add a, b
             %u, %v = loop (%p: f32 = a, %q: f32 = %x, %i: i32 = 0) {
               %y = mul %p, b
               %go = slt %i, n
               while %go else %p, %q
               %z = add %q, %y
               %j = iadd %i, 1
               next %y, %z, %j
             }
             %w = if c { %e = exp a yield %e } else { yield b }
             return %u, a",
            "%u = loop (%p: f32 = a, %i: i32 = 0) {
               %y = mul b, %p
               %go = slt %i, n
               while %go else %p
               %j = iadd %i, 1
               next %y, %j
             }
             return %u, a",
        );
    }

    #[test]
    fn flattened_arms_are_value_numbered_and_hoisted() {
        assert_rebuilt(
            "%u = loop (%p: f32 = a, %i: i32 = 0) {
               %go = slt %i, n
               while %go else %p
               %e = lt %p, b
               %t = if %e { %x = mul a, b %y = add %x, %p yield %y } else { %x1 = mul a, b yield %x1 }
               %j = iadd %i, 1
               next %t, %j
             }
             return %u, a",
            "%x = mul a, b
             %u = loop (%p: f32 = a, %i: i32 = 0) {
               %go = slt %i, n
               while %go else %p
               %e = lt %p, b
               %y = add %p, %x
               %t = select %e, %y, %x
               %j = iadd %i, 1
               next %t, %j
             }
             return %u, a",
        );
    }

    #[test]
    fn conditions_are_constants_in_guarded_blocks() {
        assert_rebuilt(
            "%e = lt a, b
             %both = band %e, c
             %r, %s = if %both {
               %x = exp a
               %y = select c, %x, b
               yield %y, a
             } else {
               %v = exp b
               %w = select %both, %v, a
               %z = select %e, %v, %w
               yield %z, a
             }
             return %r, %s",
            "%e = lt a, b
             %both = band c, %e
             %r = if %both {
               %x = exp a
               yield %x
             } else {
               %v = exp b
               %z = select %e, %v, a
               yield %z
             }
             return %r, a",
        );
    }

    #[test]
    fn equal_and_invariant_parameters_are_merged() {
        assert_rebuilt(
            "%u, %v, %w = loop (%p: f32 = a, %i: i32 = 0, %k: i32 = 0, %q: f32 = b) {
               %go = slt %i, n
               while %go else %p, %q, %p
               %f = from_s32 %k
               %t = mul %p, %f
               %s = mul %t, %q
               %j = iadd %i, 1
               %k2 = iadd %k, 1
               next %s, %j, %k2, %q
             }
             %x = add %u, %w
             return %x, %v",
            "%u = loop (%p: f32 = a, %i: i32 = 0) {
               %go = slt %i, n
               while %go else %p
               %f = from_s32 %i
               %t = mul %p, %f
               %s = mul b, %t
               %j = iadd %i, 1
               next %s, %j
             }
             %x = add %u, %u
             return %x, b",
        );
    }

    #[test]
    fn loop_that_exits_in_the_first_iteration_becomes_its_head() {
        assert_rebuilt(
            "%u = loop (%p: f32 = a, %i: i32 = 0) {
               %x = mul %p, b
               %low = umin %i, 0
               %go = slt 7, %low
               while %go else %x
               %j = iadd %i, 1
               next %x, %j
             }
             return %u, b",
            "%x = mul a, b
             return %x, b",
        );
    }

    #[test]
    fn loop_results_defined_before_the_loop_are_replaced() {
        assert_rebuilt(
            "%x = add a, b
             %u, %v = loop (%i: i32 = 0) {
               %f = from_s32 %i
               %go = slt %i, n
               while %go else %x, %f
               %j = iadd %i, 1
               next %j
             }
             return %u, %v",
            "%x = add a, b
             %v = loop (%i: i32 = 0) {
               %f = from_s32 %i
               %go = slt %i, n
               while %go else %f
               %j = iadd %i, 1
               next %j
             }
             return %x, %v",
        );
    }

    #[test]
    fn nested_loops_that_exit_immediately_are_rebuilt_in_linear_time() {
        // These loops are known to exit immediately only after their heads are rebuilt: the
        // innermost block is too large to be unrolled.
        let large: String = (0..600)
            .map(|k| format!("%x{k} = sqrt %y{k} %y{} = add %x{k}, {k}.5 ", k + 1))
            .collect();
        let open: String = (0..40).map(|k| format!("%r{k} = loop (%p{k}: f32 = a) {{ ")).collect();
        let close: String = (0..40)
            .rev()
            .map(|k| format!("while false else %r{} %q{k} = add %p{k}, 1.0 next %q{k} }} ", k + 1))
            .collect();
        let body = format!(
            "{open} %y0 = add %p39, 0.5 {large} %r40 = add %y600, 0.5 {close} return %r0, %r0"
        );
        let text = format!("fn f(a: f32) -> (r: f32, s: f32) {{ {body} }}");
        let function = parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let new = rebuild(&function, Builder::new("f", Rules::Exact));
        assert!(new.body.stmts.len() > 1000);
    }
}
