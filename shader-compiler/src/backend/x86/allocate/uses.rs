//! Positions of all uses, from which the allocator finds the next one.
//!
//! Positions number instructions in program order: the arms of an if one after the other, the head
//! of a loop before its body. A variable that a loop reads from outside is read again in the next
//! iteration, which counts as a use at the end of the body.

use crate::backend::x86::machine::{Block, Form, Home, Inst, Program, Step, Test, Var};

/// Positions of the uses and the definition of each variable.
#[derive(Debug)]
pub(super) struct Uses {
    /// Index in `positions` of the first use of each variable; the next entry is the end.
    pub first: Vec<u32>,
    pub positions: Vec<u32>,
    /// Whether the variable must be in a register, for each of `positions`.
    pub in_register: Vec<bool>,
    /// Position of the definition of each variable.
    pub def: Vec<u32>,
    /// Live range of a spill slot of each variable: its first write and last read.
    pub span: Vec<(u32, u32)>,
}

/// Walks a program in the order of the allocator and collects uses.
struct Collector<'a> {
    program: &'a Program,
    vex: bool,
    pos: u32,
    uses: Vec<(Var, u32, bool)>,
    def: Vec<u32>,
    span: Vec<(u32, u32)>,
    /// Start of each open loop, and the variables that it reads from outside.
    loops: Vec<(u32, Vec<Var>)>,
    /// For each variable, the start of the innermost loop that lists it already.
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
                Step::Segment(segment) => {
                    for inst in segment {
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
                    // Variables from outside are read again in the next iteration.
                    live.into_iter().for_each(|var| self.read(var, false));
                    l.params.iter().for_each(|param| {
                        let span = &mut self.span[param.index()];
                        span.1 = span.1.max(self.pos);
                    });
                }
            }
        }
    }

    /// Whether an operand must be in a register, or may have to be.
    fn is_in_register(&self, inst: &Inst, arg: Var) -> bool {
        let homed = |var: Var| self.program.homes[var.index()] != Home::None;
        match inst.op.form() {
            Form::Unary => false,
            Form::Gather => true,
            Form::Binary if inst.op.is_commutative() => homed(inst.a) && homed(inst.b),
            // With SSE, the destination is loaded instead of copied.
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

/// Number of positions in a block.
pub(super) fn length(block: &Block) -> u32 {
    block
        .steps
        .iter()
        .map(|step| match step {
            Step::Segment(segment) => segment.len() as u32,
            Step::If(i) => 6 + length(&i.arms[0]) + length(&i.arms[1]),
            Step::Loop(l) => 5 + length(&l.head) + length(&l.body),
        })
        .sum()
}
