//! Strongly connected components of the values of a loop, in topological order (Tarjan 1972),
//! without recursion.

use super::{Node, Region};

/// Not a node, or not visited yet.
const NONE: u32 = u32::MAX;

/// The components of a region's nodes in dependence order. Within a component, nodes keep their
/// order.
pub(super) fn sorted(values: usize, region: &Region) -> Vec<Vec<usize>> {
    let mut nodes = vec![NONE; values];
    for (k, node) in region.nodes.iter().enumerate() {
        nodes[node.value.index()] = k as u32;
    }
    let sources = |node: &Node| {
        let mut found = vec![];
        region.for_each_source(node, &mut |value| {
            if nodes[value.index()] != NONE {
                found.push(nodes[value.index()] as usize);
            }
        });
        found
    };
    let edges: Vec<_> = region.nodes.iter().map(sources).collect();
    let mut search = Search {
        edges,
        order: vec![NONE; region.nodes.len()],
        low: vec![NONE; region.nodes.len()],
        ..Search::default()
    };
    for root in 0..region.nodes.len() {
        if search.order[root] == NONE {
            search.from(root);
        }
    }
    search.found
}

#[derive(Default)]
struct Search {
    edges: Vec<Vec<usize>>,
    /// The index at which a node was visited; and the earliest node in an open component that it
    /// reaches, `NONE` if its component is closed.
    order: Vec<u32>,
    low: Vec<u32>,
    met: u32,
    open: Vec<usize>,
    found: Vec<Vec<usize>>,
}

impl Search {
    fn enter(&mut self, node: usize) {
        (self.order[node], self.low[node]) = (self.met, self.met);
        self.met += 1;
        self.open.push(node);
    }

    fn from(&mut self, root: usize) {
        // Nodes on the path, each with the number of edges that were followed.
        let mut path = vec![(root, 0)];
        self.enter(root);
        while let Some((node, followed)) = path.last_mut() {
            let node = *node;
            if let Some(&next) = self.edges[node].get(*followed) {
                *followed += 1;
                if self.order[next] == NONE {
                    self.enter(next);
                    path.push((next, 0));
                } else if self.low[next] != NONE {
                    self.low[node] = self.low[node].min(self.order[next]);
                }
                continue;
            }
            path.pop();
            if let Some(&(before, _)) = path.last() {
                self.low[before] = self.low[before].min(self.low[node]);
            }
            if self.low[node] == self.order[node] {
                let start =
                    self.open.iter().rposition(|&open| open == node).expect("the node is open");
                let mut component = self.open.split_off(start);
                component.iter().for_each(|&member| self.low[member] = NONE);
                component.sort_unstable();
                self.found.push(component);
            }
        }
    }
}
