//! Instruction selection: from the IR to machine operations on variables.
//!
//! Walks the function backwards and selects only what is needed by instructions selected so far. So
//! an operation that is merged into its only user (a negation into a comparison, for example)
//! produces no code. Values of the IR become variables with the same numbers.

mod ops;

use super::Isa;
use super::machine::{Block, Home, If, Inst, Loop, Opcode, Program, Step, Test, TestOp, Var};
use crate::ir::{self, Def, Function, Op, Stmt, Value};
use rustc_hash::FxHashMap;

const ALL_ONES: u32 = !0;

/// Selects the machine operations of a lowered function.
///
/// *Panics* if the function is not lowered: if it has composite operations, shifts by variable
/// amounts, or conditions that are not results of `any`. Also panics if it reads or writes ports
/// that it does not declare; no later check would keep the code from accessing memory out of bounds.
pub(super) fn select(function: &Function, isa: Isa) -> Program {
    let ports = function.inputs.len();
    let exists = |def| !matches!(def, Def::Input(port) if port as usize >= ports);
    assert!(
        function.values.iter().all(|data| exists(data.def)),
        "the function declares the inputs that it reads"
    );
    assert_eq!(
        function.body.yields.len(),
        function.outputs.len(),
        "the function declares the outputs that it writes"
    );
    let mut selector = Selector {
        function,
        vex: isa.is_vex(),
        vars: (0..function.len() as u32).map(Var).collect(),
        uses: vec![0; function.len()],
        homes: Vec::with_capacity(function.len() + 16),
        constants: FxHashMap::default(),
        last: FxHashMap::default(),
        tables: 0,
        needed: vec![false; function.len()],
        stores: vec![],
        segment: vec![],
        blends_by_xmm0: false,
    };
    selector.homes.extend((0..function.len()).map(|index| match function.values[index].def {
        Def::Input(port) => Home::Input(port),
        Def::Const(bits) => Home::Const(bits),
        _ => Home::None,
    }));
    for (index, data) in function.values.iter().enumerate() {
        if let Def::Const(bits) = data.def {
            selector.vars[index] = *selector.constants.entry(bits).or_insert(Var(index as u32));
        }
    }
    selector.scan(&function.body);
    selector.count(&function.body.yields);
    let body = selector.body();
    Program {
        homes: selector.homes,
        body,
        blends_by_xmm0: selector.blends_by_xmm0,
        tables: selector.tables,
    }
}

struct Selector<'a> {
    function: &'a Function,
    /// Instructions have a separate destination.
    vex: bool,
    /// The variable that holds a value.
    vars: Vec<Var>,
    /// How often a value is used.
    uses: Vec<u32>,
    homes: Vec<Home>,
    constants: FxHashMap<u32, Var>,
    /// The variable that holds the last index of each table.
    last: FxHashMap<u32, Var>,
    /// One more than the largest number of a table that is read.
    tables: usize,
    /// Whether each variable is read by the instructions selected so far.
    needed: Vec<bool>,
    /// Values of the outputs with their ports, sorted.
    stores: Vec<(Value, u32)>,
    /// The straight-line segment being selected, in reverse.
    segment: Vec<Inst>,
    blends_by_xmm0: bool,
}

impl Selector<'_> {
    /// Counts uses, and assigns variables to values that share one with another value.
    fn scan(&mut self, block: &ir::Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    let (op, args) =
                        self.function.operation(*value).expect("statements define operations");
                    self.count(args);
                    // Where `any` is not a condition, it is the identity in each lane.
                    if matches!(op, Op::Bits | Op::Float | Op::Any) {
                        self.vars[value.index()] = self.vars[args[0].index()];
                    }
                }
                Stmt::If(i) => {
                    self.count(&[i.cond]);
                    for arm in [&i.then, &i.otherwise] {
                        self.scan(arm);
                        self.count(&arm.yields);
                    }
                }
                Stmt::Loop(l) => {
                    self.count(&l.init);
                    self.scan(&l.head);
                    self.count(&[l.cond]);
                    self.count(&l.head.yields);
                    self.scan(&l.body);
                    self.count(&l.body.yields);
                    for (result, exit) in l.results.iter().zip(&l.head.yields) {
                        self.vars[result.index()] = self.vars[exit.index()];
                    }
                }
            }
        }
    }

    fn count(&mut self, values: &[Value]) {
        for value in values {
            self.uses[value.index()] += 1;
        }
    }

    /// The variable of a value; marks it as needed.
    fn read(&mut self, value: Value) -> Var {
        let var = self.vars[value.index()];
        self.needed[var.index()] = true;
        var
    }

    fn read_all(&mut self, values: &[Value]) -> Vec<Var> {
        values.iter().map(|&value| self.read(value)).collect()
    }

    fn fresh(&mut self, home: Home) -> Var {
        self.homes.push(home);
        self.needed.push(true);
        Var(self.homes.len() as u32 - 1)
    }

    fn constant(&mut self, bits: u32) -> Var {
        if let Some(&var) = self.constants.get(&bits) {
            return var;
        }
        let var = self.fresh(Home::Const(bits));
        self.constants.insert(bits, var);
        var
    }

    /// Whether a value has a home in memory.
    fn is_homed(&self, value: Value) -> bool {
        self.homes[self.vars[value.index()].index()] != Home::None
    }

    /// The operation that defines a value, if the value has a single use.
    fn only_use(&self, value: Value) -> Option<(Op, [Value; 3])> {
        match self.function.def(value) {
            Def::Op { op, args } if self.uses[value.index()] == 1 => Some((op, args)),
            _ => None,
        }
    }

    fn is_const(&self, value: Value, bits: u32) -> bool {
        self.function.constant(value) == Some(bits)
    }

    fn push(&mut self, op: Opcode, dst: Var, a: Var, b: Var) {
        self.push_full(op, dst, [a, b, a], 0);
    }

    fn push_full(&mut self, op: Opcode, dst: Var, [a, b, c]: [Var; 3], imm: u32) {
        self.segment.push(Inst { op, dst, a, b, c, imm });
    }

    fn body(&mut self) -> Block {
        let mut stores: Vec<_> =
            self.function.body.yields.iter().zip(0..).map(|(&value, port)| (value, port)).collect();
        stores.sort();
        // Inputs and constants are stored at the end, since no statement defines them.
        for &(value, port) in &stores {
            if matches!(self.function.def(value), Def::Input(_) | Def::Const(_)) {
                self.store(value, port);
            }
        }
        self.stores = stores;
        self.block(&self.function.body, true)
    }

    fn store(&mut self, value: Value, port: u32) {
        let var = self.read(value);
        self.push_full(Opcode::Store, var, [var; 3], port);
    }

    /// Stores the outputs that are one of these values, right after their definition.
    fn store_all(&mut self, values: &[Value]) {
        for &value in values {
            let first = self.stores.partition_point(|&(v, _)| v < value);
            for k in first..self.stores.len() {
                let (v, port) = self.stores[k];
                if v != value {
                    break;
                }
                self.store(value, port);
            }
        }
    }

    fn block(&mut self, block: &ir::Block, outermost: bool) -> Block {
        let mut steps = vec![];
        for stmt in block.stmts.iter().rev() {
            match stmt {
                Stmt::Op(value) => {
                    if outermost {
                        self.store_all(&[*value]);
                    }
                    self.value(*value);
                }
                Stmt::If(i) => {
                    if outermost {
                        self.store_all(&i.results);
                    }
                    self.close_segment(&mut steps);
                    if let Some(step) = self.if_(i) {
                        steps.push(Step::If(Box::new(step)));
                    }
                }
                Stmt::Loop(l) => {
                    if outermost {
                        self.store_all(&l.results);
                    }
                    self.close_segment(&mut steps);
                    let step = self.loop_(l);
                    steps.push(Step::Loop(Box::new(step)));
                }
            }
        }
        self.close_segment(&mut steps);
        steps.reverse();
        Block { steps }
    }

    fn close_segment(&mut self, steps: &mut Vec<Step>) {
        if !self.segment.is_empty() {
            let mut segment = std::mem::take(&mut self.segment);
            segment.reverse();
            steps.push(Step::Segment(segment));
        }
    }

    fn if_(&mut self, i: &ir::If) -> Option<If> {
        let live: Vec<usize> =
            (0..i.results.len()).filter(|&k| self.needed[i.results[k].index()]).collect();
        if live.is_empty() {
            return None;
        }
        let yields = [&i.then, &i.otherwise]
            .map(|arm| live.iter().map(|&k| self.read(arm.yields[k])).collect::<Vec<_>>());
        let arms = [&i.then, &i.otherwise].map(|arm| self.block(arm, false));
        let test = self.test(i.cond);
        let results = live.iter().map(|&k| self.vars[i.results[k].index()]).collect();
        Some(If { test, arms, yields, results })
    }

    fn loop_(&mut self, l: &ir::Loop) -> Loop {
        let next = self.read_all(&l.body.yields);
        let body = self.block(&l.body, false);
        let test = self.test(l.cond);
        let head = self.block(&l.head, false);
        let init = self.read_all(&l.init);
        let params = l.params.iter().map(|param| self.vars[param.index()]).collect();
        Loop { init, params, head, test, body, next }
    }

    /// Selects the test of a branch condition.
    fn test(&mut self, cond: Value) -> Test {
        let Some((Op::Any, args)) = self.function.operation(cond) else {
            panic!("conditions are results of `any` after lowering")
        };
        let mask = args[0];
        let once = self.uses[cond.index()] == 1;
        if once && let Some((op, args)) = self.only_use(mask) {
            match op {
                Op::BAnd => {
                    for [a, b] in [[args[0], args[1]], [args[1], args[0]]] {
                        if let Some((Op::BNot, [inner, ..])) = self.only_use(a)
                            && !self.is_comparison(inner)
                        {
                            return Test {
                                a: self.read(inner),
                                b: self.read(b),
                                op: TestOp::AndNot,
                            };
                        }
                    }
                    return Test { a: self.read(args[0]), b: self.read(args[1]), op: TestOp::And };
                }
                Op::BNot if !self.is_comparison(args[0]) => {
                    let ones = self.constant(ALL_ONES);
                    return Test { a: self.read(args[0]), b: ones, op: TestOp::AndNot };
                }
                _ => {}
            }
        }
        let var = self.read(mask);
        Test { a: var, b: var, op: TestOp::And }
    }

    /// Selects the instructions of a statement, unless its result is not needed.
    fn value(&mut self, value: Value) {
        let dst = Var(value.0);
        if !self.needed[dst.index()] || self.vars[value.index()] != dst {
            return;
        }
        let Def::Op { op, args } = self.function.def(value) else {
            unreachable!("statements define operations")
        };
        self.op(dst, op, args);
    }
}
