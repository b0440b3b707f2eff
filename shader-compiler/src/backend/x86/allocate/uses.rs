//! Where variables are read: what Belady's choice needs to know of the future.
//!
//! Positions count operations in program order, arms of ifs one after the other and heads of loops
//! before bodies. What a loop reads from outside it reads again in the next round, so that counts
//! as a use at the end of the body.

use crate::backend::x86::machine::{Block, Form, Home, Inst, Program, Step, Test, Var};

/// Where each variable is read, in positions that count in program order, and where it is assigned.
#[derive(Debug)]
pub(super) struct Uses {
    /// The first use of each variable, in `positions`, and the end of the last.
    pub first: Vec<u32>,
    pub positions: Vec<u32>,
    /// Beside each position, whether the variable must be in a register there.
    pub in_register: Vec<bool>,
    /// Position of the assignment.
    pub def: Vec<u32>,
    /// From where to where a slot of the variable would be written and read.
    pub span: Vec<(u32, u32)>,
}

/// Walks a program as the allocator does, and notes uses.
struct Collector<'a> {
    program: &'a Program,
    vex: bool,
    pos: u32,
    uses: Vec<(Var, u32, bool)>,
    def: Vec<u32>,
    span: Vec<(u32, u32)>,
    /// Where each open loop starts, and what it reads from outside.
    loops: Vec<(u32, Vec<Var>)>,
    /// The innermost loop, by its start, for which the variable is noted already.
    noted: Vec<u32>,
}

impl Uses {
    pub fn collect(program: &Program, vex: bool) -> Uses {
        let count = program.homes.len();
        let mut collector = Collector {
            program,
            vex,
            pos: 0,
            uses: vec![],
            def: vec![0; count],
            span: vec![(0, 0); count],
            loops: vec![],
            noted: vec![0; count],
        };
        collector.block(&program.body);
        let mut first = vec![0; count + 1];
        for (var, ..) in &collector.uses {
            first[var.index() + 1] += 1;
        }
        for k in 0..count {
            first[k + 1] += first[k];
        }
        let mut next = first.clone();
        let mut positions = vec![0; collector.uses.len()];
        let mut in_register = vec![false; collector.uses.len()];
        for (var, pos, register) in collector.uses {
            positions[next[var.index()] as usize] = pos;
            in_register[next[var.index()] as usize] = register;
            next[var.index()] += 1;
        }
        Uses { first, positions, in_register, def: collector.def, span: collector.span }
    }
}

impl Collector<'_> {
    fn block(&mut self, block: &Block) {
        for step in &block.steps {
            match step {
                Step::Line(line) => {
                    for inst in line {
                        self.pos += 1;
                        inst.args().for_each(|arg| self.read(arg, self.is_in_register(inst, arg)));
                        if let Some(result) = inst.result() {
                            self.assign(result, self.pos);
                        }
                    }
                }
                Step::If(i) => {
                    self.test(&i.test);
                    let mut first_end = 0;
                    for k in 0..2 {
                        self.pos += 1;
                        self.block(&i.arms[k]);
                        self.pos += 1;
                        i.yields[k].iter().for_each(|&var| self.read(var, false));
                        if k == 0 {
                            first_end = self.pos;
                        }
                    }
                    self.pos += 1;
                    i.results.iter().for_each(|&result| self.assign(result, first_end));
                }
                Step::Loop(l) => {
                    self.pos += 1;
                    l.init.iter().for_each(|&var| self.read(var, false));
                    let start = self.pos;
                    self.pos += 1;
                    self.loops.push((self.pos, vec![]));
                    l.params.iter().for_each(|&param| self.assign(param, start));
                    self.block(&l.head);
                    self.test(&l.test);
                    self.pos += 1;
                    self.block(&l.body);
                    self.pos += 1;
                    l.next.iter().for_each(|&var| self.read(var, false));
                    let (_, live) = self.loops.pop().expect("the loop is open");
                    // What comes from outside is read in the next round too.
                    live.into_iter().for_each(|var| self.read(var, false));
                    l.params.iter().for_each(|param| {
                        let span = &mut self.span[param.index()];
                        span.1 = span.1.max(self.pos);
                    });
                }
            }
        }
    }

    /// Whether one of the operands must be, or may have to be, in a register.
    fn is_in_register(&self, inst: &Inst, arg: Var) -> bool {
        let homed = |var: Var| self.program.homes[var.index()] != Home::None;
        match inst.op.form() {
            Form::Unary => false,
            Form::Gather => true,
            Form::Binary if inst.op.is_commutative() => homed(inst.a) && homed(inst.b),
            // Of SSE, the destination is loaded as it would be copied.
            _ if !self.vex => false,
            Form::Shift | Form::Store => true,
            Form::Blend => arg != inst.b,
            Form::Binary => arg == inst.a,
        }
    }

    fn test(&mut self, test: &Test) {
        self.pos += 1;
        self.read(test.a, true);
        if test.b != test.a {
            self.read(test.b, false);
        }
    }

    fn assign(&mut self, var: Var, written: u32) {
        self.def[var.index()] = self.pos;
        self.span[var.index()] = (written, self.pos);
    }

    fn read(&mut self, var: Var, in_register: bool) {
        self.uses.push((var, self.pos, in_register));
        self.span[var.index()].1 = self.pos;
        if let Some((start, live)) = self.loops.last_mut()
            && self.def[var.index()] < *start
            && self.noted[var.index()] != *start
        {
            self.noted[var.index()] = *start;
            live.push(var);
        }
    }
}

/// Positions that the walk through a block counts.
pub(super) fn length(block: &Block) -> u32 {
    block
        .steps
        .iter()
        .map(|step| match step {
            Step::Line(line) => line.len() as u32,
            Step::If(i) => 6 + length(&i.arms[0]) + length(&i.arms[1]),
            Step::Loop(l) => 5 + length(&l.head) + length(&l.body),
        })
        .sum()
}
