//! Runs a lowered function for columns of rows at once. Tapes use it for operations that have no
//! kernel of their own.
//!
//! All rows are one SIMD group: a loop runs while any row continues.

use crate::ir::op::op_table;
use crate::ir::types::{Any, Word};
use crate::ir::{Block, Def, Function, Op, Stmt, Table, Value};
use fearless_simd::Simd;

/// Number of rows of a group.
pub(super) const LANES: usize = 8;

/// The bits of a value for each row of a group.
pub(super) type Words = [u32; LANES];

macro_rules! lane_ops {
    ($($(#[$doc:meta])* $op:ident $name:literal $($flag:ident)?
       ($($arg:ident: $ty:ty),*) -> $out:ty, $def:tt $($path:path)?;)*) => {
        /// Applies a basic operation to each row; not `any`, which combines rows.
        #[inline(always)]
        fn apply(op: Op, out: &mut [Words], args: [&[Words]; 3], tables: &[Table<'_>]) {
            match op {
                $(Op::$op => {
                    lane_ops!(@row out, tables, args, ($($arg: $ty),*), $out, $def $($path)?)
                })*
            }
        }
    };
    (@row $words:ident, $tables:ident, $args:ident, ($a:ident: $ta:ty), $out:ty, $body:block) => {
        for (out, a) in $words.iter_mut().zip($args[0]) {
            for lane in 0..LANES {
                let $a = <$ta as Word>::from_bits(a[lane]);
                let result: $out = $body;
                out[lane] = Word::to_bits(result);
            }
        }
    };
    (@row $words:ident, $tables:ident, $args:ident, ($a:ident: $ta:ty, $b:ident: $tb:ty),
     $out:ty, $body:block) => {
        for (out, (a, b)) in $words.iter_mut().zip($args[0].iter().zip($args[1])) {
            for lane in 0..LANES {
                let $a = <$ta as Word>::from_bits(a[lane]);
                let $b = <$tb as Word>::from_bits(b[lane]);
                let result: $out = $body;
                out[lane] = Word::to_bits(result);
            }
        }
    };
    (@row $words:ident, $tables:ident, $args:ident,
     ($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty), $out:ty, $body:block) => {
        for (out, ((a, b), c)) in
            $words.iter_mut().zip($args[0].iter().zip($args[1]).zip($args[2]))
        {
            for lane in 0..LANES {
                let $a = <$ta as Word>::from_bits(a[lane]);
                let $b = <$tb as Word>::from_bits(b[lane]);
                let $c = <$tc as Word>::from_bits(c[lane]);
                let result: $out = $body;
                out[lane] = Word::to_bits(result);
            }
        }
    };
    (@row $words:ident, $tables:ident, $args:ident, $list:tt, $out:ty, read $path:path) => {
        for (out, (table, index)) in $words.iter_mut().zip($args[0].iter().zip($args[1])) {
            for lane in 0..LANES {
                out[lane] = $tables[table[lane] as usize].word(index[lane]);
            }
        }
    };
    (@row $words:ident, $tables:ident, $args:ident, $list:tt, $out:ty, via $path:path) => {
        unreachable!("lowered functions have no composite operations")
    };
}

op_table!(lane_ops);

/// Registers of a function, reused from run to run.
#[derive(Clone, Debug, Default)]
pub(super) struct Machine {
    /// The column of each value.
    words: Vec<Vec<Words>>,
}

impl Machine {
    /// Runs a function. `input` fills the column of an input.
    pub(super) fn run<S: Simd>(
        &mut self,
        simd: S,
        function: &Function,
        tables: &[Table<'_>],
        groups: usize,
        mut input: impl FnMut(usize, &mut [Words]),
    ) {
        if self.words.len() < function.len() {
            self.words.resize(function.len(), vec![]);
        }
        for (words, data) in self.words.iter_mut().zip(&function.values) {
            words.resize(groups, [0; LANES]);
            match data.def {
                Def::Const(bits) => words.fill([bits; LANES]),
                Def::Input(index) => input(index as usize, words),
                _ => {}
            }
        }
        self.block(simd, function, tables, &function.body);
    }

    /// The output with this index.
    pub(super) fn output(&self, function: &Function, index: usize) -> &[Words] {
        &self.words[function.body.yields[index].index()]
    }

    fn is_true(&self, cond: Value) -> bool {
        self.words[cond.index()][0][0] != 0
    }

    fn assign(&mut self, values: &[Value], from: &[Value]) {
        // Values are read before any is set, since parameters of a loop may be permuted.
        let words: Vec<_> = from.iter().map(|&value| self.words[value.index()].clone()).collect();
        for (&value, words) in values.iter().zip(words) {
            self.words[value.index()] = words;
        }
    }

    fn block<S: Simd>(
        &mut self,
        simd: S,
        function: &Function,
        tables: &[Table<'_>],
        block: &Block,
    ) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    let (op, args) = function.operation(*value).expect("it is an operation");
                    let mut out = std::mem::take(&mut self.words[value.index()]);
                    let arg = |k: usize| &self.words[args[k.min(args.len() - 1)].index()][..];
                    let args = [arg(0), arg(1), arg(2)];
                    if op == Op::Any {
                        let any = args[0].as_flattened().iter().fold(0, |any, &lane| any | lane);
                        out.fill([any; LANES]);
                    } else {
                        let out = &mut out[..];
                        simd.vectorize(
                            #[inline(always)]
                            || apply(op, out, args, tables),
                        );
                    }
                    self.words[value.index()] = out;
                }
                Stmt::If(node) => {
                    let arm = if self.is_true(node.cond) { &node.then } else { &node.otherwise };
                    self.block(simd, function, tables, arm);
                    self.assign(&node.results, &arm.yields);
                }
                Stmt::Loop(node) => {
                    self.assign(&node.params, &node.init);
                    self.block(simd, function, tables, &node.head);
                    while self.is_true(node.cond) {
                        self.block(simd, function, tables, &node.body);
                        self.assign(&node.params, &node.body.yields);
                        self.block(simd, function, tables, &node.head);
                    }
                    self.assign(&node.results, &node.head.yields);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{random, same};
    use crate::{interpreter, passes};
    use fearless_simd::{Level, dispatch};

    #[test]
    fn lanes_compute_the_bits_of_the_interpreter() {
        let mut machine = Machine::default();
        for seed in 0..200 {
            let function =
                passes::lower(&random::function(seed, &random::Options::any(seed, false)));
            let rows = random::special_rows(&function.inputs, 2 * LANES, seed);
            let tables = random::tables();
            let input = |input: usize, words: &mut [Words]| {
                words.as_flattened_mut().iter_mut().zip(&rows).for_each(|(x, row)| *x = row[input]);
            };
            dispatch!(Level::new(), simd => machine.run(simd, &function, &tables, 2, input));
            for (lane, row) in rows.iter().enumerate() {
                let expected = interpreter::run(&function, &random::tables(), row, 1 << 22)
                    .expect("loops terminate");
                for (index, port) in function.outputs.iter().enumerate() {
                    let found = machine.output(&function, index).as_flattened()[lane];
                    assert!(same(port.ty, found, expected[index]), "seed {seed}, lane {lane}");
                }
            }
        }
    }
}
