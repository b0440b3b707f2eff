//! Positions of all uses, for next-use queries of the allocator.
//!
//! Positions number instructions in program order: the arms of an if one after the other, the head
//! of a loop before its body. A vreg that is defined outside a loop and read in it is read again in
//! the next iteration, which counts as a use at the end of the body.

use crate::backend::x86::machine::{Block, Form, Home, Inst, Program, Step, Test, VReg};

/// Positions of the uses and the definition of each vreg.
#[derive(Debug)]
pub(super) struct Uses {
    /// Index in `positions` of the first use of each vreg; the next entry is the end.
    pub first: Vec<u32>,
    pub positions: Vec<u32>,
    /// For each of `positions`, the number of uses of the vreg from there on that require it in a
    /// register.
    pub in_register: Vec<u32>,
    /// Position of the definition of each vreg.
    pub def: Vec<u32>,
    /// Live range of each vreg's spill slot, if it has one: its first write and last read.
    pub span: Vec<(u32, u32)>,
}

/// Walks a program in the order of the allocator and collects uses.
struct Collector<'a> {
    program: &'a Program,
    vex: bool,
    pos: u32,
    uses: Vec<(VReg, u32, bool)>,
    def: Vec<u32>,
    span: Vec<(u32, u32)>,
    /// Start of each open loop, and the vregs from outside that it reads.
    loops: Vec<(u32, Vec<VReg>)>,
    /// For each vreg, the start of the innermost loop that already lists it.
    listed: Vec<u32>,
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
            listed: vec![0; count],
        };
        collector.block(&program.body);
        let mut first = vec![0; count + 1];
        for (vreg, ..) in &collector.uses {
            first[vreg.index() + 1] += 1;
        }
        for k in 0..count {
            first[k + 1] += first[k];
        }
        let mut next = first.clone();
        let mut positions = vec![0; collector.uses.len()];
        let mut in_register = vec![0; collector.uses.len()];
        for (vreg, pos, register) in collector.uses {
            positions[next[vreg.index()] as usize] = pos;
            in_register[next[vreg.index()] as usize] = u32::from(register);
            next[vreg.index()] += 1;
        }
        for range in first.windows(2) {
            for k in (range[0] as usize..range[1] as usize).rev().skip(1) {
                in_register[k] += in_register[k + 1];
            }
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
                        inst.args().for_each(|arg| self.read(arg, self.needs_register(inst, arg)));
                        if let Some(result) = inst.result() {
                            self.define(result, self.pos);
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
                        i.yields[k].iter().for_each(|&vreg| self.read(vreg, false));
                        if k == 0 {
                            first_end = self.pos;
                        }
                    }
                    self.pos += 1;
                    i.results.iter().for_each(|&result| self.define(result, first_end));
                }
                Step::Loop(l) => {
                    self.pos += 1;
                    l.init.iter().for_each(|&vreg| self.read(vreg, false));
                    let start = self.pos;
                    self.pos += 1;
                    self.loops.push((self.pos, vec![]));
                    l.params.iter().for_each(|&param| self.define(param, start));
                    self.block(&l.head);
                    self.test(&l.test);
                    self.pos += 1;
                    self.block(&l.body);
                    self.pos += 1;
                    l.next.iter().for_each(|&vreg| self.read(vreg, false));
                    let (_, live) = self.loops.pop().expect("the loop is open");
                    // The next iteration reads vregs from outside again.
                    live.into_iter().for_each(|vreg| self.read(vreg, false));
                    l.params.iter().for_each(|param| {
                        let span = &mut self.span[param.index()];
                        span.1 = span.1.max(self.pos);
                    });
                }
            }
        }
    }

    /// Whether an operand requires a register, or may require one.
    fn needs_register(&self, inst: &Inst, arg: VReg) -> bool {
        let homed = |vreg: VReg| self.program.homes[vreg.index()] != Home::None;
        match inst.op.form() {
            Form::Unary => false,
            Form::Gather => true,
            Form::Binary if inst.op.is_commutative() => homed(inst.a) && homed(inst.b),
            // SSE overwrites its first operand, so a spilled operand is loaded into the
            // destination.
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

    fn define(&mut self, vreg: VReg, written: u32) {
        self.def[vreg.index()] = self.pos;
        self.span[vreg.index()] = (written, self.pos);
    }

    fn read(&mut self, vreg: VReg, in_register: bool) {
        self.uses.push((vreg, self.pos, in_register));
        self.span[vreg.index()].1 = self.pos;
        if let Some((start, live)) = self.loops.last_mut()
            && self.def[vreg.index()] < *start
            && self.listed[vreg.index()] != *start
        {
            self.listed[vreg.index()] = *start;
            live.push(vreg);
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
