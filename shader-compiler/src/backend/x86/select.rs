//! Instruction selection: from the IR to machine operations on virtual registers.
//!
//! Walks the function backwards and selects only definitions that instructions selected so far use.
//! So an operation that is merged into its only user (a negation into a comparison, for example)
//! produces no code. An IR value becomes the vreg with the same index.

mod ops;

use super::Isa;
use super::machine::{Block, Home, If, Inst, Loop, Opcode, Program, Step, Test, TestOp, VReg};
use crate::ir::{self, Def, Function, Op, Stmt, Value};
use rustc_hash::FxHashMap;

const ALL_ONES: u32 = !0;

/// Selects the machine operations of a lowered function.
///
/// Panics if the function is not lowered: if it has composite operations, shifts by variable
/// amounts, or conditions that are not results of `any`. Also panics if it reads or writes ports
/// that it does not declare; no later check would keep the code from accessing memory out of
/// bounds.
pub(super) fn select(function: &Function, isa: Isa) -> Program {
    let ports = function.inputs.len();
    let exists = |def| !matches!(def, Def::Input(port) if port as usize >= ports);
    assert!(
        function.values.iter().all(|data| exists(data.def)),
        "the function reads an undeclared input"
    );
    assert_eq!(
        function.body.yields.len(),
        function.outputs.len(),
        "the number of values written differs from the number of declared outputs"
    );
    let mut selector = Selector {
        function,
        vex: isa.is_vex(),
        vregs: (0..function.len() as u32).map(VReg).collect(),
        uses: vec![0; function.len()],
        homes: Vec::with_capacity(function.len() + 16),
        constants: FxHashMap::default(),
        last: FxHashMap::default(),
        tables: 0,
        needed: vec![false; function.len()],
        stores: vec![],
        segment: vec![],
        masks_in_xmm0: false,
    };
    selector.homes.extend((0..function.len()).map(|index| match function.values[index].def {
        Def::Input(port) => Home::Input(port),
        Def::Const(bits) => Home::Const(bits),
        _ => Home::None,
    }));
    for (index, data) in function.values.iter().enumerate() {
        if let Def::Const(bits) = data.def {
            selector.vregs[index] = *selector.constants.entry(bits).or_insert(VReg(index as u32));
        }
    }
    selector.scan(&function.body);
    selector.count(&function.body.yields);
    let body = selector.body();
    Program {
        homes: selector.homes,
        body,
        masks_in_xmm0: selector.masks_in_xmm0,
        tables: selector.tables,
    }
}

struct Selector<'a> {
    function: &'a Function,
    /// Whether instructions have a separate destination.
    vex: bool,
    /// The vreg that holds each value.
    vregs: Vec<VReg>,
    /// Number of uses of each value.
    uses: Vec<u32>,
    homes: Vec<Home>,
    constants: FxHashMap<u32, VReg>,
    /// The vreg that holds the last index of each table.
    last: FxHashMap<u32, VReg>,
    /// Number of tables: one more than the largest index of a table that is read.
    tables: usize,
    /// Whether each vreg is read by the instructions selected so far.
    needed: Vec<bool>,
    /// Output values with their ports, sorted.
    stores: Vec<(Value, u32)>,
    /// The straight-line segment being selected, in reverse.
    segment: Vec<Inst>,
    masks_in_xmm0: bool,
}

impl Selector<'_> {
    /// Counts uses, and finds values that share the vreg of another value.
    fn scan(&mut self, block: &ir::Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    let (op, args) =
                        self.function.operation(*value).expect("statements define operations");
                    self.count(args);
                    // An `any` that is not a branch condition is the identity in each lane.
                    if matches!(op, Op::Bits | Op::Float | Op::Any) {
                        self.vregs[value.index()] = self.vregs[args[0].index()];
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
                        self.vregs[result.index()] = self.vregs[exit.index()];
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

    /// Returns the vreg of a value, and marks it as needed.
    fn read(&mut self, value: Value) -> VReg {
        let vreg = self.vregs[value.index()];
        self.needed[vreg.index()] = true;
        vreg
    }

    fn read_all(&mut self, values: &[Value]) -> Vec<VReg> {
        values.iter().map(|&value| self.read(value)).collect()
    }

    fn fresh(&mut self, home: Home) -> VReg {
        self.homes.push(home);
        self.needed.push(true);
        VReg(self.homes.len() as u32 - 1)
    }

    fn constant(&mut self, bits: u32) -> VReg {
        if let Some(&vreg) = self.constants.get(&bits) {
            return vreg;
        }
        let vreg = self.fresh(Home::Const(bits));
        self.constants.insert(bits, vreg);
        vreg
    }

    /// Whether a value has a home in memory.
    fn is_homed(&self, value: Value) -> bool {
        self.homes[self.vregs[value.index()].index()] != Home::None
    }

    /// The operation that defines a value, if the value has a single use.
    fn single_use_op(&self, value: Value) -> Option<(Op, [Value; 3])> {
        match self.function.def(value) {
            Def::Op { op, args } if self.uses[value.index()] == 1 => Some((op, args)),
            _ => None,
        }
    }

    fn is_const(&self, value: Value, bits: u32) -> bool {
        self.function.constant(value) == Some(bits)
    }

    fn push(&mut self, op: Opcode, dst: VReg, a: VReg, b: VReg) {
        self.push_full(op, dst, [a, b, a], 0);
    }

    fn push_full(&mut self, op: Opcode, dst: VReg, [a, b, c]: [VReg; 3], imm: u32) {
        self.segment.push(Inst { op, dst, a, b, c, imm });
    }

    fn body(&mut self) -> Block {
        let mut stores: Vec<_> =
            self.function.body.yields.iter().zip(0..).map(|(&value, port)| (value, port)).collect();
        stores.sort();
        // No statement defines inputs and constants, so they are stored at the end.
        for &(value, port) in &stores {
            if matches!(self.function.def(value), Def::Input(_) | Def::Const(_)) {
                self.store(value, port);
            }
        }
        self.stores = stores;
        self.block(&self.function.body, true)
    }

    fn store(&mut self, value: Value, port: u32) {
        let vreg = self.read(value);
        self.push_full(Opcode::Store, vreg, [vreg; 3], port);
    }

    /// Stores the outputs among these values, right after their definition.
    fn store_outputs(&mut self, values: &[Value]) {
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
                        self.store_outputs(&[*value]);
                    }
                    self.value(*value);
                }
                Stmt::If(i) => {
                    if outermost {
                        self.store_outputs(&i.results);
                    }
                    self.close_segment(&mut steps);
                    if let Some(step) = self.if_(i) {
                        steps.push(Step::If(Box::new(step)));
                    }
                }
                Stmt::Loop(l) => {
                    if outermost {
                        self.store_outputs(&l.results);
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
        let results = live.iter().map(|&k| self.vregs[i.results[k].index()]).collect();
        Some(If { test, arms, yields, results })
    }

    fn loop_(&mut self, l: &ir::Loop) -> Loop {
        let next = self.read_all(&l.body.yields);
        let body = self.block(&l.body, false);
        let test = self.test(l.cond);
        let head = self.block(&l.head, false);
        let init = self.read_all(&l.init);
        let params = l.params.iter().map(|param| self.vregs[param.index()]).collect();
        Loop { init, params, head, test, body, next }
    }

    /// Selects the test of a branch condition.
    fn test(&mut self, cond: Value) -> Test {
        let Some((Op::Any, args)) = self.function.operation(cond) else {
            panic!("the condition of a lowered function is not a result of `any`")
        };
        let mask = args[0];
        let has_single_use = self.uses[cond.index()] == 1;
        if has_single_use && let Some((op, args)) = self.single_use_op(mask) {
            match op {
                Op::BAnd => {
                    for [a, b] in [[args[0], args[1]], [args[1], args[0]]] {
                        if let Some((Op::BNot, [inner, ..])) = self.single_use_op(a)
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
        let vreg = self.read(mask);
        Test { a: vreg, b: vreg, op: TestOp::And }
    }

    /// Selects the instructions of a statement, unless its result is not needed.
    fn value(&mut self, value: Value) {
        let dst = VReg(value.0);
        if !self.needed[dst.index()] || self.vregs[value.index()] != dst {
            return;
        }
        let Def::Op { op, args } = self.function.def(value) else {
            unreachable!("statements define operations")
        };
        self.op(dst, op, args);
    }
}
