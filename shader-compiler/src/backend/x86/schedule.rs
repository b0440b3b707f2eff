//! Scheduling: the order of the operations of each line.
//!
//! List scheduling on a machine that starts one operation per cycle: of those whose operands are
//! there, the one with the longest way to the end comes next. That alone would start every chain at
//! once and spill. So from a number of live variables on, the operation comes next that frees most
//! registers, and operations far ahead in program order wait until those before them are done. Real
//! machines start more at a time, but look ahead so far that they only need to find the long chains
//! early; orders made for two or four operations per cycle measured 1 to 3 % slower.

use super::machine::{Block, Home, Inst, Program, Step, Test, Var};

/// Live variables from which on registers count more than time.
const PRESSURE: i32 = 12;
/// How far ahead of the first operation that waits another may come.
const WINDOW: usize = 160;

const NONE: u32 = u32::MAX;

/// Puts the operations of all lines in order.
pub(super) fn schedule(program: &mut Program) {
    let count = program.homes.len();
    let mut scheduler = Scheduler {
        homes: &program.homes,
        reads: vec![
            Reads { total: 0, in_line: 0, readers: 0, combined: 0, def: NONE, def_loop: 0 };
            count
        ],
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
    /// How many registers it frees if it comes next, less the one it takes.
    net: i32,
    /// Where its users begin in the list of them.
    first_user: u32,
    done: bool,
}

/// What is known of a variable while a line is put in order.
#[derive(Clone, Copy)]
struct Reads {
    /// How often the variable is read in all of the program.
    total: u32,
    /// How often the line reads it.
    in_line: u32,
    /// Operations of the line that read it and are still to come, and their indices, all combined
    /// by exclusive or: of one, itself.
    readers: u32,
    combined: u32,
    /// Operation of the line that assigns it.
    def: u32,
    /// The innermost loop in which it is assigned; what comes from outside of a loop stays alive in
    /// all of it.
    def_loop: u32,
}

struct Scheduler<'a> {
    homes: &'a [Home],
    reads: Vec<Reads>,
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
                        inst.args().for_each(|arg| self.reads[arg.index()].total += 1);
                        if let Some(result) = inst.result() {
                            self.reads[result.index()].def_loop = inside;
                        }
                    }
                }
                Step::If(i) => {
                    self.count_test(&i.test);
                    for k in 0..2 {
                        self.count(&i.arms[k], inside, loops);
                        self.count_all(&i.yields[k]);
                    }
                    i.results
                        .iter()
                        .for_each(|result| self.reads[result.index()].def_loop = inside);
                }
                Step::Loop(l) => {
                    *loops += 1;
                    let this = *loops;
                    self.count_all(&l.init);
                    l.params.iter().for_each(|param| self.reads[param.index()].def_loop = this);
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
        vars.iter().for_each(|var| self.reads[var.index()].total += 1);
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
        let mut now = 0;
        let (mut first, mut seen) = (0, 0);
        while scheduled.len() < line.len() {
            while self.nodes[first].done {
                first += 1;
            }
            while seen < line.len().min(first + WINDOW) {
                if self.nodes[seen].waits == 0 {
                    self.ready.push(seen as u32);
                }
                seen += 1;
            }
            let best =
                if live >= PRESSURE { self.frees_most(now) } else { self.takes_longest(now) };
            let index = self.ready.swap_remove(best) as usize;
            let node = self.nodes[index];
            now = node.time.max(now);
            live -= node.net;
            scheduled.push(line[index]);
            self.start(index, &line[index], inside, now, seen);
            now += 1;
        }
        line.iter().for_each(|inst| self.reads[inst.dst.index()].def = NONE);
        scheduled
    }

    /// Notes that an operation starts now; of its users, those before `seen` may become ready.
    fn start(&mut self, index: usize, inst: &Inst, inside: u32, now: u32, seen: usize) {
        self.nodes[index].done = true;
        for arg in inst.args() {
            let reads = &mut self.reads[arg.index()];
            reads.readers -= 1;
            reads.combined ^= index as u32;
            if reads.readers == 1 {
                let last = reads.combined as usize;
                self.nodes[last].net += i32::from(self.dies(arg, inside));
            }
        }
        let end = now + inst.op.latency();
        let users =
            self.nodes[index].first_user as usize..self.nodes[index + 1].first_user as usize;
        for &user in &self.users[users] {
            let node = &mut self.nodes[user as usize];
            node.waits -= 1;
            node.time = node.time.max(end);
            if node.waits == 0 && (user as usize) < seen {
                self.ready.push(user);
            }
        }
    }

    /// Sets up the nodes of a line; returns how many variables are live at its start, among those
    /// that it reads.
    fn prepare(&mut self, line: &[Inst], inside: u32) -> i32 {
        self.nodes.clear();
        self.nodes.resize(line.len() + 1, Node::default());
        for (index, inst) in line.iter().enumerate() {
            for arg in inst.args() {
                let reads = &mut self.reads[arg.index()];
                (reads.in_line, reads.readers, reads.combined) = (0, 0, 0);
            }
            if let Some(result) = inst.result() {
                self.reads[result.index()].def = index as u32;
            }
        }
        let mut live = 0;
        for (index, inst) in line.iter().enumerate() {
            for arg in inst.args() {
                let reads = &mut self.reads[arg.index()];
                reads.in_line += 1;
                if reads.def != NONE {
                    self.nodes[reads.def as usize].first_user += 1;
                    self.nodes[index].waits += 1;
                } else if reads.in_line == 1 && self.homes[arg.index()] == Home::None {
                    live += 1;
                }
                reads.readers += 1;
                reads.combined ^= index as u32;
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
                let reads = self.reads[arg.index()];
                if reads.def != NONE {
                    let def = &mut self.nodes[reads.def as usize];
                    def.height = def.height.max(height);
                    def.first_user -= 1;
                    self.users[def.first_user as usize] = index as u32;
                }
            }
            let freed = inst
                .args()
                .filter(|&arg| self.reads[arg.index()].readers == 1 && self.dies(arg, inside))
                .count();
            self.nodes[index].net = freed as i32 - i32::from(inst.result().is_some());
        }
        live
    }

    /// Whether a variable's last read in the line is its last at all.
    fn dies(&self, var: Var, inside: u32) -> bool {
        let reads = &self.reads[var.index()];
        self.homes[var.index()] == Home::None
            && reads.in_line == reads.total
            && reads.def_loop == inside
    }

    /// Position, among those that are ready, of the operation that need not wait, or least; of
    /// several, that on the longest chain.
    fn takes_longest(&self, now: u32) -> usize {
        self.best(|node| (soonness(node, now), node.height))
    }

    /// Position, among those that are ready, of the operation that frees most registers; of
    /// several, that which waits least.
    fn frees_most(&self, now: u32) -> usize {
        // It takes one at most.
        self.best(|node| ((node.net + 1) as u32, soonness(node, now)))
    }

    /// Position, among those that are ready, of the first operation in program order of those with
    /// the highest key.
    fn best(&self, key: impl Fn(&Node) -> (u32, u32)) -> usize {
        let (mut best, mut highest) = (0, (0, 0));
        for (k, &index) in self.ready.iter().enumerate() {
            let (first, second) = key(&self.nodes[index as usize]);
            let key = (u64::from(first) << 32 | u64::from(second), !index);
            if key > highest {
                (best, highest) = (k, key);
            }
        }
        best
    }
}

/// Higher for what has to wait less.
fn soonness(node: &Node, now: u32) -> u32 {
    !node.time.saturating_sub(now)
}
