//! Strongly connected components of the graph of values, in dependence order (Tarjan 1972), without
//! recursion.

use super::graph::{Graph, NodeId};

/// Marks nodes that have not been visited, or whose component is complete.
const NONE: u32 = u32::MAX;

/// The components of a graph.
pub(super) struct Components {
    /// Component by component; within one, in order of definition.
    nodes: Vec<NodeId>,
    ends: Vec<u32>,
}

impl Components {
    /// The components, each after those that it depends on.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[NodeId]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        std::iter::zip(starts, &self.ends)
            .map(|(start, &end)| &self.nodes[start as usize..end as usize])
    }

    /// Finds the components of a graph.
    pub(super) fn of(graph: &Graph<'_>) -> Components {
        let count = graph.nodes.len();
        let mut search = Search {
            graph,
            index: vec![NONE; count],
            low_link: vec![NONE; count],
            visited: 0,
            stack: vec![],
            components: Components {
                nodes: Vec::with_capacity(count),
                ends: Vec::with_capacity(count),
            },
        };
        for root in 0..count as NodeId {
            if search.index[root as usize] == NONE {
                search.visit_from(root);
            }
        }
        search.components
    }
}

struct Search<'a, 'f> {
    graph: &'a Graph<'f>,
    /// For each node, the order in which it was visited.
    index: Vec<u32>,
    /// For each node, the least index that it reaches; `NONE` if its component is complete.
    low_link: Vec<u32>,
    /// Number of nodes visited so far.
    visited: u32,
    /// Visited nodes of incomplete components.
    stack: Vec<NodeId>,
    components: Components,
}

impl Search<'_, '_> {
    fn enter(&mut self, node: NodeId) {
        (self.index[node as usize], self.low_link[node as usize]) = (self.visited, self.visited);
        self.visited += 1;
        self.stack.push(node);
    }

    fn visit_from(&mut self, root: NodeId) {
        // Nodes on the path, each with the index of its next operand.
        let mut path = vec![(root, 0)];
        self.enter(root);
        while let Some((node, operand)) = path.last_mut() {
            let node = *node;
            if let Some(&next) = self.graph.operands(node).get(*operand) {
                *operand += 1;
                let [from, to] = [node, next].map(|node| node as usize);
                if self.index[to] == NONE {
                    self.enter(next);
                    path.push((next, 0));
                } else if self.low_link[to] != NONE {
                    self.low_link[from] = self.low_link[from].min(self.index[to]);
                }
                continue;
            }
            path.pop();
            let low_link = self.low_link[node as usize];
            if let Some(&(parent, _)) = path.last() {
                let parent = &mut self.low_link[parent as usize];
                *parent = (*parent).min(low_link);
            }
            if low_link == self.index[node as usize] {
                self.complete(node);
            }
        }
    }

    /// Completes the component that was entered at a node.
    fn complete(&mut self, node: NodeId) {
        let Components { nodes, ends } = &mut self.components;
        let start = nodes.len();
        while let Some(member) = self.stack.pop() {
            self.low_link[member as usize] = NONE;
            nodes.push(member);
            if member == node {
                break;
            }
        }
        nodes[start..].sort_unstable();
        ends.push(nodes.len() as u32);
    }
}
