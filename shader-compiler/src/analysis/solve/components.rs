//! Strongly connected components of the values of a loop, in topological order (Tarjan 1972),
//! without recursion.

use super::nest::{LoopNest, Node};

/// Marks values that are not nodes, and nodes that have not been visited.
const NONE: u32 = u32::MAX;

/// Returns the components of a loop nest's nodes in dependence order. Within a component, nodes keep
/// their order.
pub(super) fn in_dependence_order(values: usize, nest: &LoopNest) -> Vec<Vec<usize>> {
    let mut nodes = vec![NONE; values];
    for (k, node) in nest.nodes.iter().enumerate() {
        nodes[node.value.index()] = k as u32;
    }
    let sources = |node: &Node| {
        let mut sources = vec![];
        nest.for_each_dependence(node, &mut |value| {
            if nodes[value.index()] != NONE {
                sources.push(nodes[value.index()] as usize);
            }
        });
        sources
    };
    let edges: Vec<_> = nest.nodes.iter().map(sources).collect();
    let mut search = Search {
        edges,
        index: vec![NONE; nest.nodes.len()],
        low_link: vec![NONE; nest.nodes.len()],
        ..Search::default()
    };
    for root in 0..nest.nodes.len() {
        if search.index[root] == NONE {
            search.visit_from(root);
        }
    }
    search.components
}

#[derive(Default)]
struct Search {
    edges: Vec<Vec<usize>>,
    /// For each node, the order in which it was visited.
    index: Vec<u32>,
    /// For each node, the least index that it reaches; `NONE` if its component is complete.
    low_link: Vec<u32>,
    /// Number of nodes visited so far.
    visited: u32,
    /// Visited nodes of incomplete components.
    stack: Vec<usize>,
    components: Vec<Vec<usize>>,
}

impl Search {
    fn enter(&mut self, node: usize) {
        (self.index[node], self.low_link[node]) = (self.visited, self.visited);
        self.visited += 1;
        self.stack.push(node);
    }

    fn visit_from(&mut self, root: usize) {
        // Nodes on the path, each with the index of its next edge.
        let mut path = vec![(root, 0)];
        self.enter(root);
        while let Some((node, edge)) = path.last_mut() {
            let node = *node;
            if let Some(&next) = self.edges[node].get(*edge) {
                *edge += 1;
                if self.index[next] == NONE {
                    self.enter(next);
                    path.push((next, 0));
                } else if self.low_link[next] != NONE {
                    self.low_link[node] = self.low_link[node].min(self.index[next]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                self.low_link[parent] = self.low_link[parent].min(self.low_link[node]);
            }
            if self.low_link[node] == self.index[node] {
                let start = self
                    .stack
                    .iter()
                    .rposition(|&other| other == node)
                    .expect("the node is on the stack");
                let mut component = self.stack.split_off(start);
                component.iter().for_each(|&member| self.low_link[member] = NONE);
                component.sort_unstable();
                self.components.push(component);
            }
        }
    }
}
