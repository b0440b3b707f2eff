//! Scheduling: the order of the operations of each line.
//!
//! List scheduling on a machine that starts a few operations per cycle: of those whose operands are there, the one with the longest way
//! to the end comes next. That alone would start every chain at once and spill. So from a number of live variables on, the
//! operation comes next that frees most registers, and operations far ahead in program order wait until those before them are done.

use super::machine::{Block, Home, Inst, Program, Step, Test, Var};

/// Operations that start in one cycle.
const WIDTH: u32 = 2;
/// Live variables from which on registers count more than time.
const PRESSURE: usize = 12;
/// How far ahead of the first operation that waits another may come.
const WINDOW: usize = 160;

const NONE: u32 = u32::MAX;

/// Puts the operations of all lines in order.
pub(super) fn schedule(program: &mut Program) {
    let count = program.homes.len();
    let mut scheduler = Scheduler {
        homes: &program.homes,
        uses: vec![0; count],
        def_loop: vec![0; count],
        def: vec![NONE; count],
        left: vec![0; count],
        frees: vec![false; count],
        nodes: vec![],
        users: vec![],
        ready: vec![],
    };
    let mut loops = 0;
    scheduler.count(&program.body, 0, &mut loops);
    loops = 0;
    scheduler.block(&mut program.body, 0, &mut loops);
}

/// What is known of an operation of the line at hand.
#[derive(Clone, Copy, Default)]
struct Node {
    /// Cycles from its start to the end of the longest chain from it.
    height: u32,
    /// Operands that are not yet computed.
    waits: u32,
    /// When its operands are there.
    time: u32,
    /// Where its users begin in the list of them.
    first_user: u32,
    done: bool,
}

struct Scheduler<'a> {
    homes: &'a [Home],
    /// How often each variable is read, in all of the program.
    uses: Vec<u32>,
    /// The innermost loop in which it is assigned; what comes from outside of a loop stays alive in all of it.
    def_loop: Vec<u32>,
    /// Operation of the line that assigns it.
    def: Vec<u32>,
    /// Reads in the line that are still to come.
    left: Vec<u32>,
    /// Whether its last read in the line is its last at all.
    frees: Vec<bool>,
    nodes: Vec<Node>,
    users: Vec<u32>,
    ready: Vec<u32>,
}

impl Scheduler<'_> {
    fn count(&mut self, block: &Block, inside: u32, loops: &mut u32) {
        for step in &block.steps {
            match step {
                Step::Line(line) => {
                    for inst in line {
                        inst.args().for_each(|arg| self.uses[arg.index()] += 1);
                        if let Some(result) = inst.result() {
                            self.def_loop[result.index()] = inside;
                        }
                    }
                }
                Step::If(i) => {
                    self.count_test(&i.test);
                    for k in 0..2 {
                        self.count(&i.arms[k], inside, loops);
                        self.count_all(&i.yields[k]);
                    }
                    i.results.iter().for_each(|result| self.def_loop[result.index()] = inside);
                }
                Step::Loop(l) => {
                    *loops += 1;
                    let this = *loops;
                    self.count_all(&l.init);
                    l.params.iter().for_each(|param| self.def_loop[param.index()] = this);
                    self.count(&l.head, this, loops);
                    self.count_test(&l.test);
                    self.count(&l.body, this, loops);
                    self.count_all(&l.next);
                }
            }
        }
    }

    fn count_test(&mut self, test: &Test) {
        self.count_all(&[test.a, test.b]);
    }

    fn count_all(&mut self, vars: &[Var]) {
        vars.iter().for_each(|var| self.uses[var.index()] += 1);
    }

    fn block(&mut self, block: &mut Block, inside: u32, loops: &mut u32) {
        for step in &mut block.steps {
            match step {
                Step::Line(line) => *line = self.line(line, inside),
                Step::If(i) => i.arms.iter_mut().for_each(|arm| self.block(arm, inside, loops)),
                Step::Loop(l) => {
                    *loops += 1;
                    let this = *loops;
                    self.block(&mut l.head, this, loops);
                    self.block(&mut l.body, this, loops);
                }
            }
        }
    }

    /// The operations of a line in their new order.
    fn line(&mut self, line: &[Inst], inside: u32) -> Vec<Inst> {
        let mut live = self.prepare(line, inside);
        let mut scheduled = Vec::with_capacity(line.len());
        let (mut now, mut started) = (0, 0);
        let mut first = 0;
        let mut seen = 0;
        while scheduled.len() < line.len() {
            while first < line.len() && self.nodes[first].done {
                first += 1;
            }
            while seen < line.len().min(first + WINDOW) {
                if self.nodes[seen].waits == 0 {
                    self.ready.push(seen as u32);
                }
                seen += 1;
            }
            let best = self.pick(line, now, live >= PRESSURE);
            let index = self.ready.swap_remove(best) as usize;
            let node = self.nodes[index];
            if node.time > now {
                now = node.time;
                started = 0;
            }
            self.nodes[index].done = true;
            live = (live as i32 - self.net_frees(&line[index])) as usize;
            scheduled.push(line[index]);
            line[index].args().for_each(|arg| self.left[arg.index()] -= 1);
            let end = now + line[index].op.latency();
            for k in node.first_user..self.nodes[index + 1].first_user {
                let user = self.users[k as usize] as usize;
                self.nodes[user].waits -= 1;
                self.nodes[user].time = self.nodes[user].time.max(end);
                if self.nodes[user].waits == 0 && user < seen {
                    self.ready.push(user as u32);
                }
            }
            started += 1;
            if started == WIDTH {
                now += 1;
                started = 0;
            }
        }
        for inst in line {
            self.def[inst.dst.index()] = NONE;
        }
        scheduled
    }

    /// Sets up the nodes of a line; returns how many variables are live at its start, among those that it reads.
    fn prepare(&mut self, line: &[Inst], inside: u32) -> usize {
        let count = line.len();
        self.nodes.clear();
        self.nodes.resize(count + 1, Node::default());
        for (index, inst) in line.iter().enumerate() {
            if let Some(result) = inst.result() {
                self.def[result.index()] = index as u32;
            }
            inst.args().for_each(|arg| self.left[arg.index()] = 0);
        }
        let mut live = 0;
        for (index, inst) in line.iter().enumerate() {
            for arg in inst.args() {
                let var = arg.index();
                let def = self.def[var];
                if def != NONE {
                    self.nodes[def as usize].first_user += 1;
                    self.nodes[index].waits += 1;
                } else if self.left[var] == 0 && self.homes[var] == Home::None {
                    live += 1;
                }
                self.left[var] += 1;
            }
        }
        let mut start = 0;
        for node in &mut self.nodes {
            start += node.first_user;
            node.first_user = start;
        }
        self.users.clear();
        self.users.resize(start as usize, 0);
        for (index, inst) in line.iter().enumerate().rev() {
            let height = self.nodes[index].height + inst.op.latency();
            self.nodes[index].height = height;
            for arg in inst.args() {
                let var = arg.index();
                self.frees[var] =
                    self.homes[var] == Home::None && self.left[var] == self.uses[var] && self.def_loop[var] == inside;
                if self.def[var] != NONE {
                    let def = &mut self.nodes[self.def[var] as usize];
                    def.height = def.height.max(height);
                    def.first_user -= 1;
                    self.users[def.first_user as usize] = index as u32;
                }
            }
        }
        live
    }

    /// How many registers an operation frees, less the one it takes.
    fn net_frees(&self, inst: &Inst) -> i32 {
        let mut net = -(inst.result().is_some() as i32);
        let mut last = None;
        for arg in inst.args() {
            let var = arg.index();
            let reads = inst.args().filter(|&other| other == arg).count() as u32;
            if self.frees[var] && self.left[var] == reads && last != Some(arg) {
                net += 1;
            }
            last = Some(arg);
        }
        net
    }

    /// Position, among those that are ready, of the operation that comes next.
    fn pick(&self, line: &[Inst], now: u32, pressed: bool) -> usize {
        let key = |&index: &u32| {
            let node = &self.nodes[index as usize];
            let late = node.time.saturating_sub(now);
            if pressed {
                (self.net_frees(&line[index as usize]), 0, 0, u32::MAX - index)
            } else {
                (0, u32::MAX - late, node.height, u32::MAX - index)
            }
        };
        let best = self.ready.iter().enumerate().max_by_key(|(_, index)| key(index));
        best.expect("an operation is ready: operands come before their users").0
    }
}
