//! Scheduling: orders the instructions of each straight-line segment.
//!
//! List scheduling for a machine that issues one instruction per cycle: of the ready instructions,
//! the one with the longest dependency chain comes next. That alone would start all chains at once
//! and spill. So under register pressure, the instruction that frees the most registers comes next,
//! and instructions far ahead in program order wait for earlier ones. Real CPUs issue more
//! instructions per cycle, but reorder so many that it suffices to start the long chains early.
//! Code scheduled for an issue width of two or four measured 1 to 3 % slower.

use super::machine::{Block, Home, Inst, Program, Step, Test, VReg};

/// Number of live vregs at which freeing registers takes precedence over latency.
const PRESSURE_LIMIT: i32 = 12;
/// Number of instructions, from the first unscheduled one on, that are candidates.
const WINDOW: usize = 160;

const NONE: u32 = u32::MAX;

/// Orders the instructions of all segments.
pub(super) fn schedule(program: &mut Program) {
    let count = program.homes.len();
    let mut scheduler = Scheduler {
        homes: &program.homes,
        reads: vec![
            Reads {
                total: 0,
                in_segment: 0,
                readers: 0,
                reader_xor: 0,
                def: NONE,
                def_loop: 0
            };
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

/// Scheduling state of an instruction of the current segment.
#[derive(Clone, Copy, Default)]
struct Node {
    /// Latency of the longest dependency chain that starts with it.
    height: u32,
    /// Number of operands that are not yet computed.
    unready_operands: u32,
    /// Cycle in which its operands are ready.
    ready_at: u32,
    /// Number of registers that it frees if it comes next, minus the one that its result needs.
    freed: i32,
    /// Index of its first user in `users`.
    first_user: u32,
    done: bool,
}

/// Scheduling state of a vreg in the current segment.
#[derive(Clone, Copy)]
struct Reads {
    /// Number of reads in the program.
    total: u32,
    /// Number of reads in the segment.
    in_segment: u32,
    /// Number of unscheduled instructions of the segment that read it.
    readers: u32,
    /// Exclusive or of the indices of these instructions: the index itself if there is only one.
    reader_xor: u32,
    /// The instruction of the segment that defines it.
    def: u32,
    /// The innermost loop in which it is defined. Vregs from outside a loop are live in all of it.
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
    fn count(&mut self, block: &Block, enclosing_loop: u32, loops: &mut u32) {
        for step in &block.steps {
            match step {
                Step::Segment(segment) => {
                    for inst in segment {
                        inst.args().for_each(|arg| self.reads[arg.index()].total += 1);
                        if let Some(result) = inst.result() {
                            self.reads[result.index()].def_loop = enclosing_loop;
                        }
                    }
                }
                Step::If(i) => {
                    self.count_test(&i.test);
                    for k in 0..2 {
                        self.count(&i.arms[k], enclosing_loop, loops);
                        self.count_all(&i.yields[k]);
                    }
                    i.results
                        .iter()
                        .for_each(|result| self.reads[result.index()].def_loop = enclosing_loop);
                }
                Step::Loop(l) => {
                    *loops += 1;
                    let inner_loop = *loops;
                    self.count_all(&l.init);
                    l.params
                        .iter()
                        .for_each(|param| self.reads[param.index()].def_loop = inner_loop);
                    self.count(&l.head, inner_loop, loops);
                    self.count_test(&l.test);
                    self.count(&l.body, inner_loop, loops);
                    self.count_all(&l.next);
                }
            }
        }
    }

    fn count_test(&mut self, test: &Test) {
        self.count_all(&[test.a, test.b]);
    }

    fn count_all(&mut self, vregs: &[VReg]) {
        vregs.iter().for_each(|vreg| self.reads[vreg.index()].total += 1);
    }

    fn block(&mut self, block: &mut Block, enclosing_loop: u32, loops: &mut u32) {
        for step in &mut block.steps {
            match step {
                Step::Segment(segment) => *segment = self.segment(segment, enclosing_loop),
                Step::If(i) => {
                    i.arms.iter_mut().for_each(|arm| self.block(arm, enclosing_loop, loops))
                }
                Step::Loop(l) => {
                    *loops += 1;
                    let inner_loop = *loops;
                    self.block(&mut l.head, inner_loop, loops);
                    self.block(&mut l.body, inner_loop, loops);
                }
            }
        }
    }

    /// Returns the instructions of a segment in their new order.
    fn segment(&mut self, segment: &[Inst], enclosing_loop: u32) -> Vec<Inst> {
        let mut live = self.prepare(segment, enclosing_loop);
        let mut scheduled = Vec::with_capacity(segment.len());
        let mut now = 0;
        let (mut first, mut seen) = (0, 0);
        while scheduled.len() < segment.len() {
            while self.nodes[first].done {
                first += 1;
            }
            while seen < segment.len().min(first + WINDOW) {
                if self.nodes[seen].unready_operands == 0 {
                    self.ready.push(seen as u32);
                }
                seen += 1;
            }
            let best = if live >= PRESSURE_LIMIT {
                self.best_by_pressure(now)
            } else {
                self.best_by_latency(now)
            };
            let index = self.ready.swap_remove(best) as usize;
            let node = self.nodes[index];
            now = node.ready_at.max(now);
            live -= node.freed;
            scheduled.push(segment[index]);
            self.start(index, &segment[index], enclosing_loop, now, seen);
            now += 1;
        }
        segment.iter().for_each(|inst| self.reads[inst.dst.index()].def = NONE);
        scheduled
    }

    /// Records that an instruction issues at `now`. Its users before `seen` may become ready.
    fn start(&mut self, index: usize, inst: &Inst, enclosing_loop: u32, now: u32, seen: usize) {
        self.nodes[index].done = true;
        for arg in inst.args() {
            let reads = &mut self.reads[arg.index()];
            reads.readers -= 1;
            reads.reader_xor ^= index as u32;
            if reads.readers == 1 {
                let last = reads.reader_xor as usize;
                self.nodes[last].freed += i32::from(self.dies(arg, enclosing_loop));
            }
        }
        let end = now + inst.op.latency();
        let users =
            self.nodes[index].first_user as usize..self.nodes[index + 1].first_user as usize;
        for &user in &self.users[users] {
            let node = &mut self.nodes[user as usize];
            node.unready_operands -= 1;
            node.ready_at = node.ready_at.max(end);
            if node.unready_operands == 0 && (user as usize) < seen {
                self.ready.push(user);
            }
        }
    }

    /// Sets up the nodes of a segment. Returns the number of vregs that are live at its start and
    /// read in it.
    fn prepare(&mut self, segment: &[Inst], enclosing_loop: u32) -> i32 {
        self.nodes.clear();
        self.nodes.resize(segment.len() + 1, Node::default());
        for (index, inst) in segment.iter().enumerate() {
            for arg in inst.args() {
                let reads = &mut self.reads[arg.index()];
                (reads.in_segment, reads.readers, reads.reader_xor) = (0, 0, 0);
            }
            if let Some(result) = inst.result() {
                self.reads[result.index()].def = index as u32;
            }
        }
        let mut live = 0;
        for (index, inst) in segment.iter().enumerate() {
            for arg in inst.args() {
                let reads = &mut self.reads[arg.index()];
                reads.in_segment += 1;
                if reads.def != NONE {
                    self.nodes[reads.def as usize].first_user += 1;
                    self.nodes[index].unready_operands += 1;
                } else if reads.in_segment == 1 && self.homes[arg.index()] == Home::None {
                    live += 1;
                }
                reads.readers += 1;
                reads.reader_xor ^= index as u32;
            }
        }
        let mut start = 0;
        for node in &mut self.nodes {
            start += node.first_user;
            node.first_user = start;
        }
        self.users.clear();
        self.users.resize(start as usize, 0);
        for (index, inst) in segment.iter().enumerate().rev() {
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
                .filter(|&arg| {
                    self.reads[arg.index()].readers == 1 && self.dies(arg, enclosing_loop)
                })
                .count();
            self.nodes[index].freed = freed as i32 - i32::from(inst.result().is_some());
        }
        live
    }

    /// Whether the last read of a vreg in the segment is its last read in the program.
    fn dies(&self, vreg: VReg, enclosing_loop: u32) -> bool {
        let reads = &self.reads[vreg.index()];
        self.homes[vreg.index()] == Home::None
            && reads.in_segment == reads.total
            && reads.def_loop == enclosing_loop
    }

    /// Position in `ready` of the instruction with the shortest wait; ties go to the one that
    /// starts the longest chain.
    fn best_by_latency(&self, now: u32) -> usize {
        self.best(|node| (wait_key(node, now), node.height))
    }

    /// Position in `ready` of the instruction that frees the most registers; ties go to the
    /// shortest wait.
    fn best_by_pressure(&self, now: u32) -> usize {
        // An instruction needs at most one register, so the sum is not negative.
        self.best(|node| ((node.freed + 1) as u32, wait_key(node, now)))
    }

    /// Position in `ready` of the instruction with the highest key; ties go to the first one in
    /// program order.
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

/// A sort key that is higher for shorter waits.
fn wait_key(node: &Node, now: u32) -> u32 {
    !node.ready_at.saturating_sub(now)
}
