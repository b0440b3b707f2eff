//! Pruning: from a tape, the steps that matter for the members of a box.
//!
//! One pass from the last step to the first removes dead steps, replaces decided choices by the
//! argument that they choose, and assigns slots. A slot is in use from the step that writes it to
//! the last step that reads it. Going backwards, the last reader comes first.

use super::steps::{Code, NONE, Operand, Source, Step};
use super::tape::Tape;
use super::trace::Trace;

/// Reusable memory of pruning.
#[derive(Clone, Debug, Default)]
pub(super) struct Pruner {
    /// The new slot of each old one that is read by a later step; [`DEAD`] for the others.
    slots: Vec<u32>,
    free: Vec<u32>,
    next: u32,
}

const DEAD: u32 = u32::MAX;

impl Pruner {
    /// The steps that matter where these choices are made; without a trace, for all members.
    pub(super) fn run(&mut self, tape: &Tape, trace: Option<(&Trace, usize)>, into: &mut Tape) {
        self.slots.clear();
        self.slots.resize(tape.slots, DEAD);
        self.free.clear();
        self.next = 0;
        into.shared.clone_from(&tape.shared);
        into.steps.clear();
        into.pool.clear();
        into.outputs.clear();
        into.choices = 0;
        for &output in &tape.outputs {
            into.outputs.push(self.renamed(output));
        }
        for step in &tape.steps {
            let dst = std::mem::replace(&mut self.slots[step.dst as usize], DEAD);
            if dst != DEAD {
                self.step(tape, step, dst, trace, into);
            }
        }
        into.slots = self.next as usize;
    }

    #[inline(always)]
    fn step(
        &mut self,
        tape: &Tape,
        step: &Step,
        dst: u32,
        trace: Option<(&Trace, usize)>,
        into: &mut Tape,
    ) {
        let mut new = Step { dst, ..*step };
        if step.choice != NONE {
            let chosen = trace.and_then(|(trace, row)| trace.chosen(step.choice as usize, row));
            if let Some(second) = chosen {
                let arg = step.args[usize::from(step.code == Code::Select) + usize::from(second)];
                if let Source::Slot(slot) = arg.source()
                    && self.slots[slot] == DEAD
                {
                    // The argument takes the place of the result.
                    self.slots[slot] = dst;
                    return;
                }
                let arg = self.renamed(arg);
                new = Step { code: Code::Copy, arity: 1, args: [arg; 3], choice: NONE, ..new };
                new.bounds_by_program = false;
                into.steps.push(new);
                self.free.push(dst);
                return;
            }
            new.choice = into.choices as u32;
            into.choices += 1;
        }
        if step.code == Code::Block {
            new.args[0] = Operand(into.pool.len() as u32);
            for &arg in tape.args(step) {
                let arg = self.renamed(arg);
                into.pool.push(arg);
            }
        } else {
            for arg in &mut new.args[..usize::from(step.arity)] {
                *arg = self.renamed(*arg);
            }
        }
        into.steps.push(new);
        // Not before the arguments have slots, so that the result has another one.
        self.free.push(dst);
    }

    #[inline(always)]
    fn renamed(&mut self, operand: Operand) -> Operand {
        let Source::Slot(slot) = operand.source() else { return operand };
        if self.slots[slot] == DEAD {
            self.slots[slot] = self.free.pop().unwrap_or_else(|| {
                self.next += 1;
                self.next - 1
            });
        }
        Operand::slot(self.slots[slot])
    }
}
