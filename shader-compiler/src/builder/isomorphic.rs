//! Detection of isomorphic loops: they execute the same statements on the same values, up to
//! renaming of the values that they define.
//!
//! The [`builder`](super) value-numbers each operation when it is appended, but a loop only when it
//! is complete. Functions assembled from several parts repeat loops if the parts compute the same
//! values.

use crate::ir::function::{Block, Function, Loop, Stmt, Value};
use rustc_hash::FxHashMap;

/// Maps the values of a loop to those of an isomorphic one.
pub(super) type Correspondence = FxHashMap<Value, Value>;

/// Compares two loops of `function`. Maps the values that `new` defines to those of `old`, or
/// returns `None` if the loops are not isomorphic. The results may differ, since they only list the
/// values used after a loop.
pub(super) fn correspondence(
    function: &Function,
    new: &Loop,
    old: &Loop,
) -> Option<Correspondence> {
    let mut comparison = Comparison { function, map: Correspondence::default() };
    comparison.iteration(new, old).then_some(comparison.map)
}

struct Comparison<'a> {
    function: &'a Function,
    map: Correspondence,
}

impl Comparison<'_> {
    /// The value of the old loop that corresponds to a value of the new one.
    fn corresponding(&self, value: Value) -> Value {
        self.map.get(&value).copied().unwrap_or(value)
    }

    /// Whether the new values correspond to the old ones.
    fn correspond(&self, new: &[Value], old: &[Value]) -> bool {
        new.len() == old.len()
            && std::iter::zip(new, old).all(|(&new, &old)| self.corresponding(new) == old)
    }

    /// Records that the new values correspond to the old ones; false if their numbers differ.
    fn record(&mut self, new: &[Value], old: &[Value]) -> bool {
        self.map.extend(std::iter::zip(new, old).map(|(&new, &old)| (new, old)));
        new.len() == old.len()
    }

    /// Compares two loops, except for the yields of their heads.
    fn iteration(&mut self, new: &Loop, old: &Loop) -> bool {
        self.correspond(&new.init, &old.init)
            && self.record(&new.params, &old.params)
            && self.stmts(&new.head.stmts, &old.head.stmts)
            && self.corresponding(new.cond) == old.cond
            && self.block(&new.body, &old.body)
    }

    fn block(&mut self, new: &Block, old: &Block) -> bool {
        self.stmts(&new.stmts, &old.stmts) && self.correspond(&new.yields, &old.yields)
    }

    fn stmts(&mut self, new: &[Stmt], old: &[Stmt]) -> bool {
        new.len() == old.len() && std::iter::zip(new, old).all(|(new, old)| self.stmt(new, old))
    }

    fn stmt(&mut self, new: &Stmt, old: &Stmt) -> bool {
        match (new, old) {
            (&Stmt::Op(new), &Stmt::Op(old)) => {
                self.operation(new, old) && self.record(&[new], &[old])
            }
            (Stmt::If(new), Stmt::If(old)) => {
                self.corresponding(new.cond) == old.cond
                    && self.block(&new.then, &old.then)
                    && self.block(&new.otherwise, &old.otherwise)
                    && self.record(&new.results, &old.results)
            }
            (Stmt::Loop(new), Stmt::Loop(old)) => {
                self.iteration(new, old)
                    && self.correspond(&new.head.yields, &old.head.yields)
                    && self.record(&new.results, &old.results)
            }
            _ => false,
        }
    }

    fn operation(&self, new: Value, old: Value) -> bool {
        let (Some((op, new)), Some((other, old))) =
            (self.function.operation(new), self.function.operation(old))
        else {
            return false;
        };
        // Commutative operations order their arguments by handle, which differs between the loops.
        op == other
            && (self.correspond(new, old)
                || op.is_commutative() && self.correspond(&[new[1], new[0]], &old[..2]))
    }
}

#[cfg(test)]
mod tests {
    use crate::builder::rewrite::{append, rebuild};
    use crate::builder::{Builder, Rules};
    use crate::interpreter;
    use crate::ir::function::for_each_stmt;
    use crate::ir::verify::verify;
    use crate::ir::{Emit, Function, Op, Stmt, Type, Value};
    use crate::testing::{random, same};

    /// Squares `x` while it is below 16. Exits with `x` and with `other`, which is defined before
    /// the loop.
    fn squaring_loop(b: &mut Builder, x: Value, other: Value) -> Vec<Value> {
        let limit = b.f32(16.0);
        let params = b.open_loop(&[x]);
        let below = b.op(Op::Lt, &[params[0], limit]);
        b.open_body(below, &[params[0], other]);
        let square = b.op(Op::Mul, &[params[0], params[0]]);
        b.close_loop(&[square])
    }

    #[test]
    fn value_defined_before_a_loop_is_not_a_result_of_an_outer_loop() {
        let mut b = Builder::new("arms", Rules::Exact);
        b.set_speculation(None);
        let x = b.input("x", Type::F32);
        let first = squaring_loop(&mut b, x, x)[0];
        let limit = b.f32(100.0);
        let cond = b.op(Op::Lt, &[first, limit]);
        b.open_arm();
        let root = b.op(Op::Sqrt, &[x]);
        let again = squaring_loop(&mut b, x, root);
        let sum = b.op(Op::Add, &[again[0], again[1]]);
        let then = b.close_arm(&[sum]);
        b.open_arm();
        let otherwise = b.close_arm(&[x]);
        let result = b.push_if(cond, then, otherwise)[0];
        let function = b.finish([("y".to_owned(), result)]);
        assert_eq!(verify(&function), Ok(()), "{function}");
        let run = |x: f32| {
            interpreter::run(&function, &[], &[x.to_bits()], 100).expect("the loop terminates")[0]
        };
        assert_eq!([4.0_f32, 15.0].map(run), [18.0_f32, 15.0].map(f32::to_bits), "{function}");
    }

    fn count_loops(function: &Function) -> usize {
        let mut loops = 0;
        for_each_stmt(&function.body, &mut |stmt| {
            loops += usize::from(matches!(stmt, Stmt::Loop(_)))
        });
        loops
    }

    /// Appends a function to itself; `in_arm` puts the copy in an arm of an if.
    fn twice(once: &Function, in_arm: bool) -> Function {
        let pass = |b: &mut Builder, op, args: &[Value]| b.op(op, args);
        let mut builder = Builder::new("twice", Rules::Exact);
        builder.set_speculation(None);
        let inputs: Vec<_> =
            once.inputs.iter().map(|port| builder.input(&port.name, port.ty)).collect();
        let arm = builder.input("arm", Type::Bool);
        let (mut builder, first) = append(once, builder, &inputs, pass);
        if in_arm {
            builder.open_arm();
        }
        let (mut builder, mut second) = append(once, builder, &inputs, pass);
        if in_arm {
            let then = builder.close_arm(&second);
            builder.open_arm();
            let otherwise = builder.close_arm(&first);
            second = builder.push_if(arm, then, otherwise);
        }
        let names = once.outputs.iter().map(|port| port.name.clone());
        builder
            .finish(names.clone().chain(names.map(|name| name + "2")).zip([first, second].concat()))
    }

    #[test]
    fn functions_appended_to_themselves_compute_same_results_twice() {
        let (mut shared, mut total) = (0, 0);
        for seed in 0..1000 {
            let options = random::Options {
                ops: 120,
                composite: false,
                ifs: true,
                loops: true,
                lowered: false,
            };
            let once =
                rebuild(&random::function(seed, &options), Builder::new("once", Rules::Exact));
            for in_arm in [false, true] {
                let twice = twice(&once, in_arm);
                assert_eq!(verify(&twice), Ok(()), "seed {seed}: {twice}");
                shared += 2 * count_loops(&once) - count_loops(&twice);
                total += count_loops(&once);
                for mut row in random::special_rows(&once.inputs, 4, seed) {
                    let run = |function, row: &[u32]| {
                        interpreter::run(function, &random::tables(), row, 1 << 22)
                            .expect("loops terminate")
                    };
                    let expected = run(&once, &row);
                    row.push(!0);
                    let results = run(&twice, &row);
                    for (k, port) in once.outputs.iter().enumerate() {
                        for result in [results[k], results[once.outputs.len() + k]] {
                            assert!(
                                same(port.ty, result, expected[k]),
                                "seed {seed}, {row:x?}: {twice}"
                            );
                        }
                    }
                }
            }
        }
        // Some loops differ in the order of the operations hoisted out of them.
        assert!(total > 300 && 10 * shared > 9 * total, "{shared} of {total} loops are shared");
    }
}
