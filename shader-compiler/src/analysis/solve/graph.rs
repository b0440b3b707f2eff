//! The graph of a function's values: what each one is computed from.
//!
//! Clips get nodes of their own, so this is the e-SSA form of Bodík, Gupta and Sarkar: where a
//! condition is known, uses of a value refer to the value as clipped there. A clip also depends on
//! the value that limits it, which Campos et al. 2012 (§3) call a control dependence.

use crate::analysis::conditions::{Clip, Clips};
use crate::ir::{Block, Def, Function, If, Loop, Op, Stmt, Value};

/// A node of the graph: an index into [`Graph::nodes`].
pub(super) type NodeId = u32;

/// How a value is computed from the operands of its node.
#[derive(Clone, Copy)]
pub(super) enum Source<'f> {
    /// An input or a constant.
    Given,
    Op(Op),
    /// A result of an if; the operands are the condition and both yields.
    Merge,
    /// A parameter of a loop, which has this number; the operands are the initial value, that after
    /// an iteration, and the condition.
    Param(u32),
    /// A result of a loop.
    Exit(u32),
    /// The value where a condition is known; the operands are the value and the one that limits it.
    Clip(&'f Clip),
}

#[derive(Clone, Copy)]
pub(super) struct Node<'f> {
    /// The value; of a clip, the clipped one.
    pub(super) value: Value,
    pub(super) source: Source<'f>,
    start: u32,
    len: u32,
}

/// The nodes of a loop, in order of definition: parameters, head, body and results. The clips of a
/// block come before its values.
#[derive(Clone, Copy)]
pub(super) struct LoopNodes {
    pub(super) params: NodeId,
    pub(super) head: NodeId,
    pub(super) body: NodeId,
    pub(super) results: NodeId,
    pub(super) end: NodeId,
    /// The condition on which the body runs.
    pub(super) cond: NodeId,
}

/// The graph of a function's values.
pub(super) struct Graph<'f> {
    /// In order of definition: apart from parameters of loops, operands come first.
    pub(super) nodes: Vec<Node<'f>>,
    operands: Vec<NodeId>,
    /// The loops that have parameters, in order of their first nodes.
    pub(super) loops: Vec<LoopNodes>,
    /// The nodes that define values, or `NONE`.
    definitions: Vec<NodeId>,
}

/// Marks values that have no node.
const NONE: NodeId = NodeId::MAX;

impl<'f> Graph<'f> {
    pub(super) fn new(function: &'f Function, clips: Option<&'f Clips>) -> Graph<'f> {
        let graph = Graph {
            nodes: Vec::with_capacity(function.len()),
            operands: Vec::with_capacity(2 * function.len()),
            loops: vec![],
            definitions: vec![NONE; function.len()],
        };
        let current = vec![NONE; function.len()];
        let mut search = GraphBuilder { function, clips, graph, loops: 0, current };
        for (index, data) in function.values.iter().enumerate() {
            if matches!(data.def, Def::Input(_) | Def::Const(_)) {
                search.define(Value(index as u32), Source::Given, &[]);
            }
        }
        search.block(&function.body);
        search.graph
    }

    /// The node that defines a value, if a statement does or if it is an input or a constant.
    pub(super) fn definition(&self, value: Value) -> Option<NodeId> {
        Some(self.definitions[value.index()]).filter(|&id| id != NONE)
    }

    /// The nodes from which a node's value is computed.
    pub(super) fn operands(&self, node: NodeId) -> &[NodeId] {
        let Node { start, len, .. } = self.nodes[node as usize];
        &self.operands[start as usize..(start + len) as usize]
    }
}

struct GraphBuilder<'f> {
    function: &'f Function,
    clips: Option<&'f Clips>,
    graph: Graph<'f>,
    /// Number of loops so far.
    loops: u32,
    /// The nodes to which uses refer in the current block.
    current: Vec<NodeId>,
}

impl<'f> GraphBuilder<'f> {
    fn node(&mut self, value: Value, source: Source<'f>, operands: &[NodeId]) -> NodeId {
        let id = self.graph.nodes.len() as NodeId;
        let start = self.graph.operands.len() as u32;
        self.graph.operands.extend_from_slice(operands);
        self.graph.nodes.push(Node { value, source, start, len: operands.len() as u32 });
        self.current[value.index()] = id;
        id
    }

    fn define(&mut self, value: Value, source: Source<'f>, operands: &[NodeId]) -> NodeId {
        let id = self.node(value, source, operands);
        self.graph.definitions[value.index()] = id;
        id
    }

    /// The next node that is added.
    fn next_id(&self) -> NodeId {
        self.graph.nodes.len() as NodeId
    }

    fn current(&self, value: Value) -> NodeId {
        self.current[value.index()]
    }

    fn block(&mut self, block: &'f Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    let (op, args) =
                        self.function.operation(*value).expect("statements define operations");
                    let mut operands = [NONE; 3];
                    for (operand, &arg) in operands.iter_mut().zip(args) {
                        *operand = self.current(arg);
                    }
                    self.define(*value, Source::Op(op), &operands[..args.len()]);
                }
                Stmt::If(node) => self.if_(node),
                Stmt::Loop(node) => self.loop_(node),
            }
        }
    }

    fn if_(&mut self, node: &'f If) {
        let [then, otherwise] =
            [(&node.then, true), (&node.otherwise, false)].map(|(arm, truth)| {
                self.clipped(&node.results, truth, |search| {
                    search.block(arm);
                    search.all(&arm.yields)
                })
            });
        let cond = self.current(node.cond);
        for (k, &result) in node.results.iter().enumerate() {
            self.define(result, Source::Merge, &[cond, then[k], otherwise[k]]);
        }
    }

    fn loop_(&mut self, node: &'f Loop) {
        let index = self.loops;
        self.loops += 1;
        let at = self.graph.loops.len();
        let first = self.next_id();
        if !node.params.is_empty() {
            let [head, body, results, end, cond] = [first; 5];
            self.graph.loops.push(LoopNodes { params: first, head, body, results, end, cond });
        }
        let params: Vec<_> = std::iter::zip(&node.params, &node.init)
            .map(|(&param, &init)| {
                self.define(param, Source::Param(index), &[self.current(init); 3])
            })
            .collect();
        let head = self.next_id();
        self.block(&node.head);
        let body = self.next_id();
        let next = self.clipped(&node.results, true, |search| {
            search.block(&node.body);
            search.all(&node.body.yields)
        });
        let cond = self.current(node.cond);
        for (param, next) in params.into_iter().zip(next) {
            let start = self.graph.nodes[param as usize].start as usize;
            self.graph.operands[start + 1..start + 3].copy_from_slice(&[next, cond]);
        }
        let results = self.next_id();
        let exits = self.clipped(&node.results, false, |search| search.all(&node.head.yields));
        for (&result, exit) in node.results.iter().zip(exits) {
            self.define(result, Source::Exit(index), &[exit]);
        }
        if !node.params.is_empty() {
            let end = self.next_id();
            self.graph.loops[at] = LoopNodes { params: first, head, body, results, end, cond };
        }
    }

    fn all(&self, values: &[Value]) -> Vec<NodeId> {
        values.iter().map(|&value| self.current(value)).collect()
    }

    /// Visits a block in which a condition is known.
    fn clipped<T>(
        &mut self,
        results: &[Value],
        truth: bool,
        visit: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let clips = self.clips.map_or(&[][..], |clips| clips.of(results, truth));
        let mut outer = Vec::with_capacity(clips.len());
        for clip in clips {
            // Code clips intervals by the values as they are defined.
            let other = match clip.is_scalar_test {
                true => self.current(clip.other),
                false => self.graph.definitions[clip.other.index()],
            };
            let operands = [self.current(clip.value), other];
            outer.push((clip.value, self.current(clip.value)));
            self.node(clip.value, Source::Clip(clip), &operands);
        }
        let result = visit(self);
        for (value, node) in outer.into_iter().rev() {
            self.current[value.index()] = node;
        }
        result
    }
}
