//! The meaning of the IR: runs a function on one set of inputs, slowly and obviously.
//!
//! What machine code computes in each lane equals this bit for bit, NaN payloads and signs aside.

use crate::ir::op::Words;
use crate::ir::{Block, Def, Function, Stmt, Table, Value};

/// A loop did not end within the given number of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("loops ran for more than {rounds} rounds")]
pub struct Endless {
    /// The limit.
    pub rounds: u64,
}

/// The outputs, as bits, for inputs given as bits; all loops together run at most `rounds` times.
///
/// *Panics* if there are fewer tables than the function reads, or not as many inputs as it has.
pub fn run(
    function: &Function,
    tables: &[Table<'_>],
    inputs: &[u32],
    rounds: u64,
) -> Result<Vec<u32>, Endless> {
    watch(function, tables, inputs, rounds, |_, _| {})
}

/// As [`run`]; `watch` is shown each value that is computed on the way, whenever it is.
///
/// *Panics* as that does.
pub fn watch(
    function: &Function,
    tables: &[Table<'_>],
    inputs: &[u32],
    rounds: u64,
    watch: impl FnMut(Value, u32),
) -> Result<Vec<u32>, Endless> {
    assert_eq!(inputs.len(), function.inputs.len(), "one word for each input");
    let words = function
        .values
        .iter()
        .map(|data| match data.def {
            Def::Input(index) => inputs[index as usize],
            Def::Const(bits) => bits,
            Def::Op { .. } | Def::Param | Def::Result => 0,
        })
        .collect();
    let mut machine =
        Machine { function, tables: Words { tables }, words, left: rounds, rounds, watch };
    machine.run(&function.body)?;
    Ok(machine.all(&function.body.yields))
}

struct Machine<'a, W> {
    function: &'a Function,
    tables: Words<'a>,
    words: Vec<u32>,
    left: u64,
    rounds: u64,
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

    fn run(&mut self, block: &Block) -> Result<(), Endless> {
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
                        self.left =
                            self.left.checked_sub(1).ok_or(Endless { rounds: self.rounds })?;
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
