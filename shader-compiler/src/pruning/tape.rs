//! Tapes: straight-line code for points and boxes alike.
//!
//! A tape has one step for each value of a point shader. A step computes the value for points, and
//! its endpoints for boxes. Frequent operations have a kernel for both; the others run
//! [programs](Program). Steps are stored from last to first, since pruning walks backwards.

use super::flatten;
use super::steps::{Code, FIRST_NAN, FLOAT, NONE, Operand, SECOND_NAN, Step};
use crate::builder::rewrite::rebuild;
use crate::builder::{Builder, Rules};
use crate::frontend::Scalar;
use crate::interval::{Bounds, Facts, Interval, Nan, OpLowering};
use crate::ir::function::for_each_stmt;
use crate::ir::{Block, Def, Emit, Function, Op, Port, Stmt, Type, Value};
use crate::lift::{self, Input};
use crate::passes::{self, expand};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Code for one step, lowered: for points, and for boxes, whose inputs are pairs of endpoints.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub point: Function,
    pub bounds: Function,
    /// The arguments of the step that are passed: all but constants and repetitions.
    pub passed: Vec<usize>,
}

/// What all tapes of a function share.
#[derive(Debug)]
pub(super) struct Shared {
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    /// Types of inputs and outputs in WGSL.
    pub scalars: [Vec<Scalar>; 2],
    /// Bits of constants.
    pub constants: Vec<u32>,
    pub programs: Vec<Program>,
    /// Number of tables that programs read.
    pub tables: usize,
}

/// A function, or what remains of it for the members of a box.
#[derive(Clone, Debug)]
pub struct Tape {
    pub(super) shared: Arc<Shared>,
    /// From last to first.
    pub(super) steps: Vec<Step>,
    /// Operands of steps with more than three.
    pub(super) pool: Vec<Operand>,
    pub(super) outputs: Vec<Operand>,
    /// Number of slots for results of steps.
    pub(super) slots: usize,
    /// Number of steps with a choice.
    pub(super) choices: usize,
}

impl Tape {
    /// Number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether all outputs are inputs or constants.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Number of steps that choose between operands: minima, maxima and selects.
    pub fn choices(&self) -> usize {
        self.choices
    }

    /// An empty tape of the same function.
    pub(super) fn like(&self) -> Tape {
        Tape {
            shared: self.shared.clone(),
            steps: vec![],
            pool: vec![],
            outputs: vec![],
            slots: 0,
            choices: 0,
        }
    }

    /// Arguments of a step.
    pub(super) fn args<'t>(&'t self, step: &'t Step) -> &'t [Operand] {
        if step.code == Code::Block {
            return &self.pool[step.args[0].0 as usize..][..step.args[1].0 as usize];
        }
        &step.args[..usize::from(step.arity)]
    }
}

/// A tape in which each step has a slot of its own, so it is yet to be pruned.
pub(super) fn build(point: &Function, inputs: &[Input], scalars: [Vec<Scalar>; 2]) -> Tape {
    let point = flatten::run(point);
    let known: Vec<_> = inputs.iter().map(|input| input.bounds).collect();
    let is_interval: Vec<_> =
        point.values.iter().map(|data| !matches!(data.def, Def::Const(_))).collect();
    let bounds = crate::analysis::solve::run(
        &point,
        &is_interval,
        &known,
        Nan::Suppress,
        crate::analysis::solve::Facts::default(),
    );
    let mut compiler = Compiler {
        point: &point,
        bounds: &bounds,
        constants: vec![],
        numbers: FxHashMap::default(),
        programs: vec![],
        steps: vec![],
        pool: vec![],
        choices: 0,
    };
    for stmt in &point.body.stmts {
        match stmt {
            Stmt::Op(value) => compiler.operation(*value),
            Stmt::If(node) => node.results.iter().for_each(|&result| compiler.block(stmt, result)),
            Stmt::Loop(node) => {
                node.results.iter().for_each(|&result| compiler.block(stmt, result));
            }
        }
    }
    let outputs = point.body.yields.iter().map(|&value| compiler.operand(value)).collect();
    let Compiler { constants, programs, mut steps, pool, choices, .. } = compiler;
    steps.reverse();
    let tables = programs.iter().flat_map(|p| [p.point.tables(), p.bounds.tables()]).max();
    Tape {
        shared: Arc::new(Shared {
            inputs: point.inputs.clone(),
            outputs: point.outputs.clone(),
            scalars,
            constants,
            programs,
            tables: tables.unwrap_or(0),
        }),
        steps,
        pool,
        outputs,
        slots: point.len(),
        choices,
    }
}

struct Compiler<'f> {
    point: &'f Function,
    bounds: &'f [Bounds],
    constants: Vec<u32>,
    /// The number of each constant.
    numbers: FxHashMap<u32, u32>,
    programs: Vec<Program>,
    steps: Vec<Step>,
    pool: Vec<Operand>,
    choices: usize,
}

impl Compiler<'_> {
    fn operand(&mut self, value: Value) -> Operand {
        match self.point.def(value) {
            Def::Const(bits) => {
                let number = *self.numbers.entry(bits).or_insert_with(|| {
                    self.constants.push(bits);
                    self.constants.len() as u32 - 1
                });
                Operand::constant(number)
            }
            Def::Input(index) => Operand::input(index),
            _ => Operand::slot(value.0),
        }
    }

    fn may_be_nan(&self, value: Value) -> bool {
        match (&self.bounds[value.index()], self.point.constant(value)) {
            (Bounds::Float(_), Some(bits)) => f32::from_bits(bits).is_nan(),
            (Bounds::Float(floats), None) => floats.nan,
            _ => false,
        }
    }

    fn operation(&mut self, value: Value) {
        let (op, args) = self.point.operation(value).expect("statements define operations");
        let mut operands = [Operand(0); 3];
        for (operand, &arg) in operands.iter_mut().zip(args) {
            *operand = self.operand(arg);
        }
        let mut step = Step {
            code: Code::Program,
            arity: args.len() as u8,
            bounds_by_program: true,
            flags: if self.point.ty(value) == Type::F32 { FLOAT } else { 0 },
            dst: value.0,
            args: operands,
            choice: NONE,
            program: NONE,
        };
        let program = self.program(value, op, args);
        let only = |ops: &[Op]| {
            program
                .bounds
                .values
                .iter()
                .all(|data| !matches!(data.def, Def::Op { op, .. } if !ops.contains(&op)))
        };
        (step.code, step.bounds_by_program) = match op {
            Op::Add => (Code::Add, false),
            Op::Sub => (Code::Sub, false),
            Op::Mul if args[0] == args[1] => {
                step.arity = 1;
                (Code::Square, false)
            }
            Op::Mul => (Code::Mul, false),
            // Without poles.
            Op::Div => (Code::Div, !only(&[Op::Div, Op::Min, Op::Max])),
            Op::Neg => (Code::Neg, false),
            Op::Abs => (Code::Abs, false),
            Op::Sqrt => (Code::Sqrt, false),
            Op::Min => (Code::Min, false),
            Op::Max => (Code::Max, false),
            Op::Lt => (Code::Lt, true),
            Op::Le => (Code::Le, true),
            Op::Select => (Code::Select, true),
            _ => (Code::Program, true),
        };
        if let Code::Min | Code::Max | Code::Select = step.code {
            step.choice = self.choices as u32;
            self.choices += 1;
        }
        if let Code::Min | Code::Max = step.code {
            for (arg, flag) in [(args[0], FIRST_NAN), (args[1], SECOND_NAN)] {
                step.flags |= if self.may_be_nan(arg) { flag } else { 0 };
            }
        }
        if step.bounds_by_program {
            step.program = self.programs.len() as u32;
            self.programs.push(program);
        }
        self.steps.push(step);
    }

    /// The code of an operation, and of its interval lowering.
    fn program(&self, value: Value, op: Op, args: &[Value]) -> Program {
        let (mut point, mut bounds) =
            (Builder::new("point", Rules::Exact), Builder::new("bounds", Rules::Exact));
        let mut passed = vec![];
        let mut known: FxHashMap<Value, (Value, Interval<Value>)> = FxHashMap::default();
        let (mut values, mut intervals) = (vec![], vec![]);
        for (k, &arg) in args.iter().enumerate() {
            let ty = self.point.ty(arg);
            let (x, interval) = *known.entry(arg).or_insert_with(|| {
                if let Some(bits) = self.point.constant(arg) {
                    // If NaN is suppressed, a scalar that is NaN is replaced by 0.
                    let is_nan = ty == Type::F32 && f32::from_bits(bits).is_nan();
                    let finite = if is_nan { 0 } else { bits };
                    let end = bounds.constant(ty, finite);
                    let known = match Bounds::constant(ty, bits) {
                        known if is_nan => known.join(&Bounds::constant(ty, 0)),
                        known => known,
                    };
                    let interval = Interval { lo: end, hi: end, known, facts: facts(&known, true) };
                    return (point.constant(ty, bits), interval);
                }
                passed.push(k);
                let [lo, hi] = ["lo", "hi"].map(|name| bounds.input(name, ty));
                let known = self.bounds[arg.index()];
                (point.input("x", ty), Interval { lo, hi, known, facts: facts(&known, false) })
            });
            values.push(x);
            intervals.push(interval);
        }
        let result = point.op(op, &values);
        let mut lowering = OpLowering {
            emit: &mut bounds,
            nan: Nan::Suppress,
            same: matches!(args, [a, b] if a == b),
            nan_free: vec![],
            case: "",
        };
        let [lo, hi] = lowering.apply(op, &intervals);
        let name = format!("%{}", value.0);
        Program {
            point: expand::run(&point.finish([(name.clone(), result)])),
            bounds: expand::run(&bounds.finish([(name.clone(), lo), (name, hi)])),
            passed,
        }
    }

    /// Adds a step that runs a statement with control flow for one of its results.
    fn block(&mut self, stmt: &Stmt, result: Value) {
        let captured = captured(self.point, stmt);
        let mut function = self.point.clone();
        function.inputs = captured
            .iter()
            .map(|&value| Port { name: format!("%{}", value.0), ty: self.point.ty(value) })
            .collect();
        for data in &mut function.values {
            if let Def::Input(_) = data.def {
                data.def = Def::Param;
            }
        }
        for (index, value) in captured.iter().enumerate() {
            function.values[value.index()].def = Def::Input(index as u32);
        }
        function.outputs = vec![Port { name: format!("%{}", result.0), ty: self.point.ty(result) }];
        function.body = Block { stmts: vec![stmt.clone()], yields: vec![result] };
        let function = rebuild(&function, Builder::new(&self.point.name, Rules::Exact));
        let inputs: Vec<_> = captured
            .iter()
            .map(|value| Input {
                interval: true,
                bounds: self.bounds[value.index()],
                axis: None,
                sorted: None,
            })
            .collect();
        let options = lift::Options { nan: Nan::Suppress, ..lift::Options::default() };
        let bounds = lift::run(&function, &inputs, &[0], &options).function;
        let step = Step {
            code: Code::Block,
            arity: 2,
            bounds_by_program: true,
            flags: 0,
            dst: result.0,
            args: [Operand(self.pool.len() as u32), Operand(captured.len() as u32), Operand(0)],
            choice: NONE,
            program: self.programs.len() as u32,
        };
        for &value in &captured {
            let operand = self.operand(value);
            self.pool.push(operand);
        }
        self.programs.push(Program {
            point: passes::lower(&function),
            bounds: passes::lower(&bounds),
            passed: (0..captured.len()).collect(),
        });
        self.steps.push(step);
    }
}

fn facts(known: &Bounds, singleton: bool) -> Facts {
    match known {
        Bounds::Float(floats) => {
            Facts { nan: floats.nan, negative_zero: floats.negative_zero, singleton }
        }
        _ => Facts { nan: false, negative_zero: false, singleton },
    }
}

/// The values that a statement uses and does not define, without constants.
fn captured(function: &Function, stmt: &Stmt) -> Vec<Value> {
    let mut used = vec![];
    let mut defined = vec![false; function.len()];
    let mut define = |values: &[Value]| {
        values.iter().for_each(|value| defined[value.index()] = true);
    };
    let block = Block { stmts: vec![stmt.clone()], yields: vec![] };
    for_each_stmt(&block, &mut |stmt| match stmt {
        Stmt::Op(value) => {
            used.extend(function.operation(*value).expect("statements define operations").1);
            define(&[*value]);
        }
        Stmt::If(node) => {
            used.push(node.cond);
            used.extend(node.then.yields.iter().chain(&node.otherwise.yields));
            define(&node.results);
        }
        Stmt::Loop(node) => {
            used.push(node.cond);
            let yields = node.head.yields.iter().chain(&node.body.yields);
            used.extend(node.init.iter().chain(yields));
            define(&node.params);
            define(&node.results);
        }
    });
    used.retain(|value| !defined[value.index()] && function.constant(*value).is_none());
    used.sort();
    used.dedup();
    used
}
