//! Follows loops one iteration after another, as if they were unrolled.
//!
//! The solver unites the values of all iterations, so a value that grows in each one is unbounded
//! unless a condition limits it. Here, the parameters of a loop have bounds for each iteration, and
//! counters are known exactly, with them the elements of arrays that they select. A loop is
//! followed until its condition is false, or until its parameters are within those of the iteration
//! before, so that no later iteration has other values. If that takes too long, the bounds of the
//! solver remain.
//!
//! Only scalars are followed, which bounding code computes like the point shader.

use super::graph::{LoopNodes, NodeId, Source};
use super::{Bounds, Solver};
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum number of iterations of a loop that are followed.
const MAX_ITERATIONS: usize = 256;

/// The number of evaluations has reached its limit.
struct Exhausted;

struct Follower<'s, 'a, 'f> {
    /// Its bounds are those of the current iterations.
    solver: &'s mut Solver<'a, 'f>,
    /// Nodes evaluated so far; few of a large function, since the budget is limited.
    evaluated: FxHashMap<NodeId, Evaluated>,
    /// Loops that do not end after few iterations, by their first nodes.
    endless: FxHashSet<NodeId>,
    /// Number of evaluations that remain.
    budget: u32,
}

/// Bounds of a node.
struct Evaluated {
    /// The bounds that the solver has found.
    solved: Bounds,
    /// The union of the bounds of all iterations so far.
    seen: Bounds,
}

impl Solver<'_, '_> {
    /// Narrows bounds that hold, by following loops.
    pub(super) fn follow_iterations(&mut self) {
        let mut total = self.facts.effort.followed;
        let is_scalar = |node: &LoopNodes| !self.is_interval_node(node.cond);
        let Some(first) = self.graph.loops.iter().find(|node| is_scalar(node)) else { return };
        let (mut id, end) = (first.params, self.graph.nodes.len() as NodeId);
        if total == 0 {
            return;
        }
        let mut follower = Follower {
            solver: self,
            evaluated: FxHashMap::default(),
            endless: FxHashSet::default(),
            budget: 0,
        };
        while id < end && total > 0 {
            let share = total.div_ceil(2);
            follower.budget = share;
            id = match follower.loop_at(id) {
                Some(node) => {
                    if follower.follow(node).is_err() {
                        follower.give_up(node);
                    }
                    node.end
                }
                None => {
                    // The budget is positive.
                    let _ = follower.step(id);
                    id + 1
                }
            };
            total -= share - follower.budget;
        }
        for (id, Evaluated { solved, seen }) in follower.evaluated {
            // Nodes without bounds are unreachable.
            self.bounds[id as usize] = if seen.is_empty() { solved } else { seen };
        }
    }

    fn is_interval_node(&self, node: NodeId) -> bool {
        self.is_interval[self.graph.nodes[node as usize].value.index()]
    }
}

impl Follower<'_, '_, '_> {
    /// The loop whose first node this is.
    fn loop_at(&self, id: NodeId) -> Option<LoopNodes> {
        let loops = &self.solver.graph.loops;
        loops.binary_search_by_key(&id, |node| node.params).ok().map(|at| loops[at])
    }

    /// Evaluates nodes in order.
    fn run(&mut self, mut id: NodeId, end: NodeId) -> Result<(), Exhausted> {
        while id < end {
            id = match self.loop_at(id) {
                Some(node) => {
                    self.follow(node)?;
                    node.end
                }
                None => {
                    self.step(id)?;
                    id + 1
                }
            };
        }
        Ok(())
    }

    /// Evaluates a node.
    fn step(&mut self, id: NodeId) -> Result<(), Exhausted> {
        self.budget = self.budget.checked_sub(1).ok_or(Exhausted)?;
        let bounds = if self.solver.is_interval_node(id) {
            self.solved(id)
        } else {
            self.within_solved(id, self.solver.evaluate(id))
        };
        self.note(id, bounds);
        Ok(())
    }

    /// The bounds that the solver has found.
    fn solved(&self, id: NodeId) -> Bounds {
        match self.evaluated.get(&id) {
            Some(evaluated) => evaluated.solved,
            None => self.solver.bounds[id as usize],
        }
    }

    /// Bounds of the current iteration that are also within those for all.
    fn within_solved(&self, id: NodeId, bounds: Bounds) -> Bounds {
        let both = bounds.meet(&self.solved(id));
        if both.is_empty() { bounds } else { both }
    }

    fn note(&mut self, id: NodeId, bounds: Bounds) {
        let current = &mut self.solver.bounds[id as usize];
        let solved = std::mem::replace(current, bounds);
        self.evaluated
            .entry(id)
            .and_modify(|evaluated| evaluated.seen = evaluated.seen.join(&bounds))
            .or_insert(Evaluated { solved, seen: bounds });
    }

    /// The bounds of a parameter before the first iteration, or after the current one.
    fn parameter(&self, id: NodeId, is_first: bool) -> Bounds {
        let Solver { graph, bounds, .. } = &*self.solver;
        if self.solver.is_interval_node(id) {
            return self.solved(id);
        }
        let operand = graph.operands(id)[usize::from(!is_first)];
        let node = &graph.nodes[id as usize];
        debug_assert!(matches!(node.source, Source::Param(_)), "loops begin with their parameters");
        let assigned = self.solver.assigned(
            bounds[operand as usize],
            graph.nodes[operand as usize].value,
            node.value,
        );
        self.within_solved(id, self.solver.constrained(node.value, assigned))
    }

    /// Follows a loop, or gives up if it does not end.
    fn follow(&mut self, node: LoopNodes) -> Result<(), Exhausted> {
        if self.solver.is_interval_node(node.cond) || self.endless.contains(&node.params) {
            self.give_up(node);
            return Ok(());
        }
        let parameters = |this: &Self, is_first| -> Vec<Bounds> {
            (node.params..node.head).map(|id| this.parameter(id, is_first)).collect()
        };
        let mut results: Vec<_> = (node.results..node.end)
            .map(|id| Bounds::empty(self.solver.bounds[id as usize].ty()))
            .collect();
        let mut state = parameters(self, true);
        for _ in 0..MAX_ITERATIONS {
            for (id, &bounds) in (node.params..node.head).zip(&state) {
                self.note(id, bounds);
            }
            self.run(node.head, node.body)?;
            let cond = self.solver.bounds[node.cond as usize].bools();
            if cond.may_be_false {
                for (id, result) in (node.results..node.end).zip(&mut results) {
                    self.step(id)?;
                    *result = result.join(&self.solver.bounds[id as usize]);
                }
            }
            let mut is_done = !cond.may_be_true;
            if !is_done {
                self.run(node.body, node.results)?;
                let next = parameters(self, false);
                // Then later iterations compute values that are within those of this one.
                is_done = std::iter::zip(&state, &next).all(|(old, new)| old.join(new) == *old);
                state = next;
            }
            if is_done {
                for (id, result) in (node.results..node.end).zip(results) {
                    let solved = self.solved(id);
                    self.solver.bounds[id as usize] =
                        if result.is_empty() { solved } else { result };
                }
                return Ok(());
            }
        }
        self.endless.insert(node.params);
        self.give_up(node);
        Ok(())
    }

    /// Takes the bounds of the solver for a loop.
    fn give_up(&mut self, node: LoopNodes) {
        for id in node.params..node.end {
            if let Some(Evaluated { solved, seen }) = self.evaluated.get_mut(&id) {
                *seen = seen.join(solved);
                self.solver.bounds[id as usize] = *solved;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Effort, Facts, run};
    use super::*;
    use crate::analysis::conditions::Clips;
    use crate::interval::{Nan, Pieces};
    use crate::ir::Type;
    use crate::ir::text::parse;

    /// The bounds of the first result, for an integer input in a range.
    fn result(text: &str, input: [i32; 2], followed: u32) -> Bounds {
        let function = parse(text).unwrap();
        let scalars = vec![false; function.len()];
        let clips = Clips::of_scalars(&function, &scalars);
        let effort = Effort { followed, ..Effort::default() };
        let facts = Facts { clips: Some(&clips), effort, ..Facts::default() };
        let inputs = [Bounds::Int(Pieces::one(input[0], input[1]))];
        let bounds = run(&function, &scalars, &inputs, Nan::Ignore, facts);
        assert_eq!(function.ty(function.body.yields[0]), Type::I32);
        bounds[function.body.yields[0].index()]
    }

    /// Σ i² for i < n.
    const SQUARES: &str = "fn f(n: i32) -> (r: i32) {
        %0, %1 = loop (%2: i32 = 0, %3: i32 = 0) {
            %4 = slt %2, n
            while %4 else %2, %3
            %5 = imul %2, %2
            %6 = iadd %3, %5
            %7 = iadd %2, 1
            next %7, %6
        }
        return %1
    }";

    #[test]
    fn sums_of_few_iterations_are_exact() {
        assert_eq!(result(SQUARES, [4, 4], 1000), Bounds::Int(Pieces::one(14, 14)));
        let Bounds::Int(sum) = result(SQUARES, [2, 4], 1000) else { panic!("it is an integer") };
        assert_eq!(sum.hull(), Some([1, 14]));
    }

    #[test]
    fn bounds_hold_if_the_budget_does_not_suffice() {
        for followed in 0..60 {
            assert!(result(SQUARES, [2, 4], followed).contains(14), "{followed}");
            assert!(result(SQUARES, [2, 4], followed).contains(1), "{followed}");
        }
        let Bounds::Int(sum) = result(SQUARES, [0, 100_000], 16384) else {
            panic!("it is an integer")
        };
        assert!(sum.contains(0) && sum.contains(328_350));
    }

    #[test]
    fn loops_without_a_limit_end_at_a_fixed_point() {
        let text = "fn f(x: i32) -> (r: i32) {
            %0 = loop (%1: i32 = 100) {
                %2 = ieq %1, x
                %3 = ieq %2, 0
                while %3 else %1
                %4 = ashr %1, 1
                next %4
            }
            return %0
        }";
        let text = text.replace("ieq %2, 0", "bnot %2");
        let Bounds::Int(halved) = result(&text, [0, 7], 1000) else { panic!("it is an integer") };
        assert_eq!(halved.hull(), Some([0, 6]), "{halved:?}");
    }
}
