//! Traces: which arguments decide the choices of a tape.

/// Number of boxes that a trace can hold.
pub const MAX_BOXES: usize = 64;

/// For each of up to [`MAX_BOXES`] boxes, the choices that bounds decide: two bits each.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// For each choice, the boxes in which the first alternative is always taken, and those in
    /// which the second one is.
    masks: Vec<[u64; 2]>,
}

impl Trace {
    /// Prepares for a tape. Nothing is decided.
    pub(super) fn reset(&mut self, choices: usize) {
        self.masks.clear();
        self.masks.resize(choices, [0; 2]);
    }

    /// Records decisions in eight boxes, the first of which is box 8 · `group`.
    #[inline(always)]
    pub(super) fn record(&mut self, choice: usize, group: usize, decided: [u64; 2]) {
        let masks = &mut self.masks[choice];
        masks[0] |= decided[0] << (8 * group);
        masks[1] |= decided[1] << (8 * group);
    }

    /// Whether the second alternative is taken by all members of a box; `None` if it depends.
    #[inline(always)]
    pub(super) fn chosen(&self, choice: usize, row: usize) -> Option<bool> {
        let [first, second] = self.masks[choice].map(|mask| mask >> row & 1 != 0);
        (first || second).then_some(!first)
    }

    /// Number of choices that are decided in a box. If there are none, pruning changes nothing.
    pub fn decided(&self, row: usize) -> usize {
        self.masks.iter().filter(|[first, second]| (first | second) >> row & 1 != 0).count()
    }
}
