//! The reference interpreter, which defines the semantics of the IR. It runs a function on one set
//! of inputs, and is written for clarity, not speed.
//!
//! Machine code computes the same bits in each lane, except for NaN payloads and signs.

use crate::ir::{Block, Def, Function, Stmt, Table, Value};
use crate::math::eval::ConstantEvaluator;

/// A loop exceeded the iteration limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("loops ran for more than {limit} iterations")]
pub struct IterationLimitExceeded {
    /// The limit.
    pub limit: u64,
}

/// Runs a function on the bits of its inputs and returns the bits of its outputs.
///
/// # Errors
///
/// Fails if the iterations of all loops together exceed `limit`.
///
/// # Panics
///
/// Panics if there are fewer tables than the function reads, or if `inputs` does not have one word
/// for each input.
pub fn run(
    function: &Function,
    tables: &[Table<'_>],
    inputs: &[u32],
    limit: u64,
) -> Result<Vec<u32>, IterationLimitExceeded> {
    watch(function, tables, inputs, limit, |_, _| {})
}

/// Like [`run`], but also calls `watch` with each value and its bits when it is computed.
///
/// # Errors
///
/// Fails under the conditions of [`run`].
///
/// # Panics
///
/// Panics under the conditions of [`run`].
pub fn watch(
    function: &Function,
    tables: &[Table<'_>],
    inputs: &[u32],
    limit: u64,
    watch: impl FnMut(Value, u32),
) -> Result<Vec<u32>, IterationLimitExceeded> {
    assert_eq!(
        inputs.len(),
        function.inputs.len(),
        "the number of words is not the number of inputs"
    );
    let words = function
        .values
        .iter()
        .map(|data| match data.def {
            Def::Input(index) => inputs[index as usize],
            Def::Const(bits) => bits,
            Def::Op { .. } | Def::Param | Def::Result => 0,
        })
        .collect();
    let mut machine = Machine {
        function,
        tables: ConstantEvaluator { tables },
        words,
        remaining: limit,
        limit,
        watch,
    };
    machine.run(&function.body)?;
    Ok(machine.all(&function.body.yields))
}

struct Machine<'a, W> {
    function: &'a Function,
    tables: ConstantEvaluator<'a>,
    words: Vec<u32>,
    remaining: u64,
    limit: u64,
    watch: W,
}

impl<W: FnMut(Value, u32)> Machine<'_, W> {
    fn get(&self, value: Value) -> u32 {
        self.words[value.index()]
    }

    fn set(&mut self, value: Value, word: u32) {
        self.words[value.index()] = word;
        (self.watch)(value, word);
    }

    fn all(&self, values: &[Value]) -> Vec<u32> {
        values.iter().map(|&value| self.get(value)).collect()
    }

    fn set_all(&mut self, values: &[Value], words: Vec<u32>) {
        for (&value, word) in values.iter().zip(words) {
            self.set(value, word);
        }
    }

    fn run(&mut self, block: &Block) -> Result<(), IterationLimitExceeded> {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    let (op, args) =
                        self.function.operation(*value).expect("statements define operations");
                    let mut words = [0; 3];
                    for (word, &arg) in words.iter_mut().zip(args) {
                        *word = self.get(arg);
                    }
                    let word = op.eval_with(&mut self.tables, &words[..args.len()]);
                    self.set(*value, word);
                }
                Stmt::If(i) => {
                    let arm = if self.get(i.cond) != 0 { &i.then } else { &i.otherwise };
                    self.run(arm)?;
                    self.set_all(&i.results, self.all(&arm.yields));
                }
                Stmt::Loop(l) => {
                    self.set_all(&l.params, self.all(&l.init));
                    self.run(&l.head)?;
                    while self.get(l.cond) != 0 {
                        self.remaining = self
                            .remaining
                            .checked_sub(1)
                            .ok_or(IterationLimitExceeded { limit: self.limit })?;
                        self.run(&l.body)?;
                        self.set_all(&l.params, self.all(&l.body.yields));
                        self.run(&l.head)?;
                    }
                    self.set_all(&l.results, self.all(&l.head.yields));
                }
            }
        }
        Ok(())
    }
}
