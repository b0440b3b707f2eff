//! Selection: which machine operations compute the values of a function.
//!
//! Walks the function backwards and selects what is needed by what was selected before, so that an
//! operation that is merged into its only user (a negation into a comparison, say) is never asked
//! for. Values of the IR keep their numbers as variables.

use super::machine::{Any, Block, Home, If, Inst, Loop, Opcode, Program, Step, Test, Var};
use crate::ir::table::TABLES;
use crate::ir::{self, Def, Function, Op, Stmt, Value};
use crate::target::Target;
use rustc_hash::FxHashMap;

const SIGN: u32 = 0x8000_0000;
const ONES: u32 = !0;

/// Predicates of `cmpps`.
mod predicate {
    pub const EQ: u32 = 0;
    pub const LT: u32 = 1;
    pub const LE: u32 = 2;
    /// One of the two is NaN.
    pub const UNORDERED: u32 = 3;
    /// The complement of each is this much further.
    pub const NOT: u32 = 4;
}

/// Selects the machine operations of a lowered function.
///
/// *Panics* if the function is not lowered: composite operations, shifts by variable amounts,
/// conditions not by `any`; or if it reads or writes other ports than it has, which no other check
/// would keep from touching memory beyond them.
pub(super) fn select(function: &Function, target: Target) -> Program {
    let ports = function.inputs.len();
    let exists = |def| !matches!(def, Def::Input(port) if port as usize >= ports);
    assert!(
        function.values.iter().all(|data| exists(data.def)),
        "the function has the inputs that it reads"
    );
    assert_eq!(
        function.body.yields.len(),
        function.outputs.len(),
        "the function has the outputs that it writes"
    );
    let mut selector = Selector {
        function,
        vex: target != Target::Sse,
        vars: (0..function.len() as u32).map(Var).collect(),
        uses: vec![0; function.len()],
        homes: Vec::with_capacity(function.len() + 16),
        constants: FxHashMap::default(),
        last: FxHashMap::default(),
        tables: 0,
        needed: vec![false; function.len()],
        stores: vec![],
        line: vec![],
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
    /// Encodings have a destination of their own.
    vex: bool,
    /// The variable that holds a value.
    vars: Vec<Var>,
    /// How often a value is used.
    uses: Vec<u32>,
    homes: Vec<Home>,
    constants: FxHashMap<u32, Var>,
    /// Greatest indices of tables.
    last: FxHashMap<u32, Var>,
    /// One more than the greatest number of a table that is read.
    tables: usize,
    /// Variables that what is selected so far reads.
    needed: Vec<bool>,
    /// Outputs, by the value that they are, sorted.
    stores: Vec<(Value, u32)>,
    /// The line that is being selected, backwards.
    line: Vec<Inst>,
    blends_by_xmm0: bool,
}

impl Selector<'_> {
    /// Counts uses, and finds variables for the values that need none of their own.
    fn scan(&mut self, block: &ir::Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    let (op, args) =
                        self.function.operation(*value).expect("statements define operations");
                    self.count(args);
                    // `any` is itself in each lane, where it is not a condition.
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

    /// The variable of a value that is going to be read.
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

    /// Whether a value is read in place, from memory.
    fn is_homed(&self, value: Value) -> bool {
        self.homes[self.vars[value.index()].index()] != Home::None
    }

    /// The operation of a value that has one use.
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
        self.line.push(Inst { op, dst, a, b, c, imm });
    }

    fn body(&mut self) -> Block {
        let mut stores: Vec<_> =
            self.function.body.yields.iter().zip(0..).map(|(&value, port)| (value, port)).collect();
        stores.sort();
        // What no statement defines is stored at the end.
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

    /// Stores the outputs that are one of these values, at once.
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
                    self.close_line(&mut steps);
                    if let Some(step) = self.if_(i) {
                        steps.push(Step::If(Box::new(step)));
                    }
                }
                Stmt::Loop(l) => {
                    if outermost {
                        self.store_all(&l.results);
                    }
                    self.close_line(&mut steps);
                    let step = self.loop_(l);
                    steps.push(Step::Loop(Box::new(step)));
                }
            }
        }
        self.close_line(&mut steps);
        steps.reverse();
        Block { steps }
    }

    fn close_line(&mut self, steps: &mut Vec<Step>) {
        if !self.line.is_empty() {
            let mut line = std::mem::take(&mut self.line);
            line.reverse();
            steps.push(Step::Line(line));
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

    /// The test that a condition is.
    fn test(&mut self, cond: Value) -> Test {
        let Some((Op::Any, args)) = self.function.operation(cond) else {
            panic!("conditions are by `any` after lowering")
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
                            return Test { a: self.read(inner), b: self.read(b), any: Any::Second };
                        }
                    }
                    return Test { a: self.read(args[0]), b: self.read(args[1]), any: Any::Both };
                }
                Op::BNot if !self.is_comparison(args[0]) => {
                    let ones = self.constant(ONES);
                    return Test { a: self.read(args[0]), b: ones, any: Any::Second };
                }
                _ => {}
            }
        }
        let var = self.read(mask);
        Test { a: var, b: var, any: Any::Both }
    }

    /// Whether a value is a comparison of floats that has one use, so that its complement is as
    /// cheap.
    fn is_comparison(&self, value: Value) -> bool {
        matches!(self.only_use(value), Some((Op::Lt | Op::Le | Op::Eq, _)))
    }

    /// Selects for a statement.
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

    fn binary(&mut self, op: Opcode, dst: Var, a: Value, b: Value) {
        let (a, b) = (self.read(a), self.read(b));
        self.push(op, dst, a, b);
    }

    fn unary(&mut self, op: Opcode, dst: Var, a: Value, imm: u32) {
        let a = self.read(a);
        self.push_full(op, dst, [a; 3], imm);
    }

    fn with_constant(&mut self, op: Opcode, dst: Var, a: Value, bits: u32) {
        let (a, b) = (self.read(a), self.constant(bits));
        self.push(op, dst, a, b);
    }

    fn op(&mut self, dst: Var, op: Op, [a, b, c]: [Value; 3]) {
        match op {
            Op::Add => self.binary(Opcode::Add, dst, a, b),
            Op::Sub => self.binary(Opcode::Sub, dst, a, b),
            // The same bits in less time, and without a constant.
            Op::Mul if self.is_const(b, 2f32.to_bits()) => self.binary(Opcode::Add, dst, a, a),
            Op::Mul => self.binary(Opcode::Mul, dst, a, b),
            Op::Div => self.binary(Opcode::Div, dst, a, b),
            Op::Neg => self.with_constant(Opcode::Xor, dst, a, SIGN),
            Op::Abs => self.with_constant(Opcode::And, dst, a, !SIGN),
            Op::Sqrt => self.unary(Opcode::Sqrt, dst, a, 0),
            // The machine's operations give their second operand where the comparison of the first
            // with it fails.
            Op::Min => self.binary(Opcode::Min, dst, b, a),
            Op::Max => self.binary(Opcode::Max, dst, b, a),
            // Bit 3 keeps the exception for inexact results from being raised.
            Op::Round => self.unary(Opcode::Round, dst, a, 8),
            Op::Floor => self.unary(Opcode::Round, dst, a, 8 | 1),
            Op::Ceil => self.unary(Opcode::Round, dst, a, 8 | 2),
            Op::Trunc => self.unary(Opcode::Round, dst, a, 8 | 3),
            Op::Lt | Op::Le | Op::Eq => self.comparison(dst, op, [a, b], false),
            Op::IAdd => self.binary(Opcode::IAdd, dst, a, b),
            Op::ISub => self.binary(Opcode::ISub, dst, a, b),
            Op::IMul => self.binary(Opcode::IMul, dst, a, b),
            Op::SMin => self.binary(Opcode::SMin, dst, a, b),
            Op::SMax => self.binary(Opcode::SMax, dst, a, b),
            Op::UMin => self.binary(Opcode::UMin, dst, a, b),
            Op::UMax => self.binary(Opcode::UMax, dst, a, b),
            Op::BAnd if let [Some(x), Some(y)] = [a, b].map(|value| self.is_number(value)) => {
                self.unordered(dst, [x, y], true)
            }
            Op::And | Op::BAnd => self.and(dst, a, b),
            Op::BOr if let [Some(x), Some(y)] = [a, b].map(|value| self.is_nan(value)) => {
                self.unordered(dst, [x, y], false)
            }
            Op::Or | Op::BOr => self.binary(Opcode::Or, dst, a, b),
            Op::Xor | Op::BXor => self.binary(Opcode::Xor, dst, a, b),
            Op::Shl => self.shift(Opcode::Shl, dst, a, b),
            Op::LShr => self.shift(Opcode::LShr, dst, a, b),
            Op::AShr => self.shift(Opcode::AShr, dst, a, b),
            Op::SLt => self.binary(Opcode::IGt, dst, b, a),
            Op::ULt => self.unsigned_less(dst, a, b),
            Op::IEq => self.binary(Opcode::IEq, dst, a, b),
            Op::BNot => self.not(dst, a),
            Op::Select => self.select(dst, [a, b, c]),
            Op::FromS32 => self.unary(Opcode::FromS32, dst, a, 0),
            Op::Chop => self.unary(Opcode::Chop, dst, a, 0),
            Op::Load => self.load(dst, a, b),
            Op::Bits | Op::Float | Op::Any => {
                unreachable!("they share the variable of their argument")
            }
            _ => panic!("`{}` is not left after lowering", op.name()),
        }
    }

    /// A comparison of floats, or the complement of one.
    fn comparison(&mut self, dst: Var, op: Op, [a, b]: [Value; 2], complement: bool) {
        let not = if complement { predicate::NOT } else { 0 };
        let (a_homed, b_homed) = (self.is_homed(a), self.is_homed(b));
        let (a, b) = (self.read(a), self.read(b));
        match op {
            Op::Eq => self.push_full(Opcode::CmpCommutative, dst, [a, b, a], predicate::EQ + not),
            Op::Lt | Op::Le => {
                let less = if op == Op::Lt { predicate::LT } else { predicate::LE };
                if self.vex && a_homed && !b_homed {
                    // Greater and its like, which SSE lacks: gt 14, ge 13, ngt 10, nge 9.
                    let greater = 15 - less - if complement { 4 } else { 0 };
                    self.push_full(Opcode::Cmp, dst, [b, a, b], greater);
                } else {
                    self.push_full(Opcode::Cmp, dst, [a, b, a], less + not);
                }
            }
            _ => unreachable!("comparisons of floats"),
        }
    }

    /// Whether one of two is NaN, or the complement.
    fn unordered(&mut self, dst: Var, [a, b]: [Value; 2], complement: bool) {
        let (a, b) = (self.read(a), self.read(b));
        let not = if complement { predicate::NOT } else { 0 };
        self.push_full(Opcode::CmpCommutative, dst, [a, b, a], predicate::UNORDERED + not);
    }

    /// The float of which a value that has one use says whether it is a number.
    fn is_number(&self, value: Value) -> Option<Value> {
        match self.only_use(value)? {
            (Op::Eq, [a, b, _]) if a == b => Some(a),
            _ => None,
        }
    }

    /// The float of which a value that has one use says whether it is NaN.
    fn is_nan(&self, value: Value) -> Option<Value> {
        match self.only_use(value)? {
            (Op::BNot, [number, ..]) => self.is_number(number),
            _ => None,
        }
    }

    fn not(&mut self, dst: Var, a: Value) {
        if self.is_comparison(a)
            && let Some((op, [x, y, _])) = self.only_use(a)
        {
            self.comparison(dst, op, [x, y], true);
        } else {
            self.with_constant(Opcode::Xor, dst, a, ONES);
        }
    }

    /// The argument of a complement that has one use.
    fn complement(&self, value: Value) -> Option<Value> {
        match self.only_use(value)? {
            (Op::BNot, [a, ..]) if !self.is_comparison(a) => Some(a),
            (Op::Xor, [a, b, _]) if self.is_const(b, ONES) => Some(a),
            _ => None,
        }
    }

    fn and(&mut self, dst: Var, a: Value, b: Value) {
        if let Some(inner) = self.complement(a) {
            self.binary(Opcode::AndNot, dst, inner, b);
        } else if let Some(inner) = self.complement(b) {
            self.binary(Opcode::AndNot, dst, inner, a);
        } else {
            self.binary(Opcode::And, dst, a, b);
        }
    }

    fn shift(&mut self, op: Opcode, dst: Var, a: Value, amount: Value) {
        let amount =
            self.function.constant(amount).expect("shifts are by constants after lowering");
        let a = self.read(a);
        self.push_full(op, dst, [a; 3], amount & 31);
    }

    fn unsigned_less(&mut self, dst: Var, a: Value, b: Value) {
        match (self.function.constant(a), self.function.constant(b)) {
            (_, Some(bound)) if bound != 0 => {
                let a = self.read(a);
                let last = self.constant(bound - 1);
                let least = self.fresh(Home::None);
                self.push(Opcode::IEq, dst, least, a);
                self.push(Opcode::UMin, least, a, last);
            }
            (Some(bound), _) if bound != ONES => {
                let b = self.read(b);
                let first = self.constant(bound + 1);
                let greatest = self.fresh(Home::None);
                self.push(Opcode::IEq, dst, greatest, b);
                self.push(Opcode::UMax, greatest, b, first);
            }
            _ => {
                let (a, b) = (self.read(a), self.read(b));
                let ones = self.constant(ONES);
                let greatest = self.fresh(Home::None);
                let not = self.fresh(Home::None);
                self.push(Opcode::Xor, dst, not, ones);
                self.push(Opcode::IEq, not, greatest, a);
                self.push(Opcode::UMax, greatest, a, b);
            }
        }
    }

    fn select(&mut self, dst: Var, [cond, mut then, mut otherwise]: [Value; 3]) {
        let mut cond = cond;
        if let Some(inner) = self.complement(cond) {
            cond = inner;
            std::mem::swap(&mut then, &mut otherwise);
        }
        if self.is_const(otherwise, 0) || otherwise == cond {
            return self.binary(Opcode::And, dst, cond, then);
        }
        if self.is_const(then, 0) {
            return self.binary(Opcode::AndNot, dst, cond, otherwise);
        }
        if self.is_const(then, ONES) || then == cond {
            return self.binary(Opcode::Or, dst, cond, otherwise);
        }
        let mut mask = self.vars[cond.index()];
        if self.is_homed(otherwise)
            && !self.is_homed(then)
            && self.is_comparison(cond)
            && let Some((op, [a, b, _])) = self.only_use(cond)
        {
            // The complement, so that the arm in memory is the one that may be.
            mask = self.fresh(Home::None);
            let (t, e) = (self.read(then), self.read(otherwise));
            self.blend(dst, t, e, mask);
            return self.comparison(mask, op, [a, b], true);
        }
        self.needed[mask.index()] = true;
        let (t, e) = (self.read(then), self.read(otherwise));
        self.blend(dst, e, t, mask);
    }

    /// Words of a table. Every index goes through the minimum, whatever the function knows of it:
    /// no code reads beyond a table.
    fn load(&mut self, dst: Var, table: Value, index: Value) {
        let table = self.function.constant(table).expect("numbers of tables are constants");
        assert!(table < TABLES, "table {table} is beyond those that there may be");
        self.tables = self.tables.max(table as usize + 1);
        let index = self.read(index);
        let last = match self.last.get(&table) {
            Some(&last) => last,
            None => {
                let last = self.fresh(Home::Last(table));
                self.last.insert(table, last);
                last
            }
        };
        let within = self.fresh(Home::None);
        self.push_full(Opcode::Gather, dst, [within; 3], table);
        self.push(Opcode::UMin, within, index, last);
    }

    /// `b` where `mask`, else `a`.
    fn blend(&mut self, dst: Var, a: Var, b: Var, mask: Var) {
        self.blends_by_xmm0 |= !self.vex;
        self.push_full(Opcode::Blend, dst, [a, b, mask], 0);
    }
}
