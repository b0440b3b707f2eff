//! Ifs become selects, however expensive their arms are: pruning removes the arms that no member of
//! a box takes. A loop in an arm runs only if the arm is taken, since it may not end soon
//! otherwise.

use crate::builder::rewrite::{Pass, Rewriter, rewrite};
use crate::builder::{Builder, Rules};
use crate::ir::{Emit, Function, If, Loop, Op, Value};

/// Runs the pass. Loops remain, some of them as the only statement of an arm.
pub(super) fn run(function: &Function) -> Function {
    rewrite(function, Builder::new(&function.name, Rules::Exact), Flatten { guard: None })
}

struct Flatten {
    /// Whether the enclosing arms are taken; `None` outside of arms.
    guard: Option<Value>,
}

impl Pass for Flatten {
    fn if_(&mut self, rewriter: &mut Rewriter<'_>, node: &If) {
        let cond = rewriter.get(node.cond);
        if rewriter.builder.known_bool(cond).is_some() {
            return rewriter.if_(self, node);
        }
        let results = rewriter.live(&node.results);
        let outer = self.guard;
        let not = rewriter.builder.op(Op::BNot, &[cond]);
        let [then, otherwise] = [(true, cond), (false, not)].map(|(truth, taken)| {
            let both = |outer| rewriter.builder.op(Op::BAnd, &[outer, taken]);
            self.guard = Some(outer.map_or(taken, both));
            rewriter.arm(self, node, truth)
        });
        self.guard = outer;
        let values: Vec<_> = std::iter::zip(then, otherwise)
            .map(|(t, e)| rewriter.builder.op(Op::Select, &[cond, t, e]))
            .collect();
        rewriter.set_all(&results, &values);
    }

    fn loop_(&mut self, rewriter: &mut Rewriter<'_>, node: &Loop) {
        let mut keep = |builder: &mut Builder, op: Op, args: &[Value]| builder.op(op, args);
        let Some(guard) = self.guard else { return rewriter.loop_(&mut keep, node) };
        let results = rewriter.live(&node.results);
        rewriter.builder.open_arm();
        rewriter.loop_(&mut keep, node);
        let yields = rewriter.mapped(&results);
        let then = rewriter.builder.close_arm(&yields);
        let zero = |&value: &Value| {
            let ty = rewriter.builder.ty(value);
            rewriter.builder.constant(ty, 0)
        };
        let zeros: Vec<_> = yields.iter().map(zero).collect();
        rewriter.builder.open_arm();
        let otherwise = rewriter.builder.close_arm(&zeros);
        let values = rewriter.builder.push_if(guard, then, otherwise);
        rewriter.set_all(&results, &values);
    }
}
