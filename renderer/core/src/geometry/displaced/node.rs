//! Sub-triangles of a base triangle, and their grids of vertices.
//!
//! A base triangle is divided n times along each edge, n a power of two. Its vertices have integer
//! coordinates (i, j) with i + j ≤ n: barycentric weights i/n of vertex 1 and j/n of vertex 2.
//! Nodes are the triangles of its quadtree: each has four children, of half the size, the last of
//! which is turned by 180°.

/// A sub-triangle with the corners (i, j), (i + s, j) and (i, j + s), in this order. It is turned
/// if s is negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    pub i: i32,
    pub j: i32,
    pub s: i32,
}

impl Node {
    /// The whole base triangle with 2^`level` edges along each side.
    pub fn root(level: u32) -> Node {
        Node { i: 0, j: 0, s: 1 << level }
    }

    /// Binary logarithm of the number of micro-triangles along each side.
    pub fn level(self) -> u32 {
        self.s.unsigned_abs().ilog2()
    }

    pub fn corners(self) -> [[i32; 2]; 3] {
        let Node { i, j, s } = self;
        [[i, j], [i + s, j], [i, j + s]]
    }

    fn child(self, k: u32) -> Node {
        let Node { i, j, s } = self;
        let half = s / 2;
        match k {
            0 => Node { i, j, s: half },
            1 => Node { i: i + half, j, s: half },
            2 => Node { i, j: j + half, s: half },
            _ => Node { i: i + half, j: j + half, s: -half },
        }
    }

    /// The descendant `levels` below with this index, from 0 to 4^`levels`: two bits for each
    /// level, the first one most significant.
    pub fn descendant(self, index: u32, levels: u32) -> Node {
        let digits = (0..levels).rev().map(|level| index >> (2 * level) & 3);
        digits.fold(self, Node::child)
    }

    /// The vertices in rows of constant j, in the order of [`Node::vertex_index`].
    pub fn vertices(self) -> impl Iterator<Item = [i32; 2]> {
        let (size, sign) = (self.s.abs(), self.s.signum());
        (0..=size)
            .flat_map(move |b| (0..=size - b).map(move |a| [self.i + sign * a, self.j + sign * b]))
    }

    /// The index of a vertex among the [vertices](Node::vertices).
    pub fn vertex_index(self, [i, j]: [i32; 2]) -> usize {
        let (size, sign) = (self.s.abs(), self.s.signum());
        let (a, b) = (sign * (i - self.i), sign * (j - self.j));
        (b * (size + 1) - b * (b - 1) / 2 + a) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn descendants_tile_the_triangle_with_its_orientation() {
        let root = Node::root(3);
        let mut edges = HashSet::new();
        for index in 0..64 {
            let corners = root.descendant(index, 3).corners();
            let [[a, b], [c, d], [e, f]] = corners;
            assert_eq!((c - a) * (f - b) - (d - b) * (e - a), 1, "{corners:?}");
            assert!(corners.iter().all(|&[i, j]| i >= 0 && j >= 0 && i + j <= 8), "{corners:?}");
            for k in 0..3 {
                // Neighbours have each edge in opposite directions.
                let edge = [corners[k], corners[(k + 1) % 3]];
                assert!(edges.insert(edge), "{edge:?} twice");
            }
        }
        let open = edges.iter().filter(|&&[a, b]| !edges.contains(&[b, a])).count();
        assert_eq!(open, 24);
    }

    #[test]
    fn indices_are_those_of_the_vertices() {
        for node in [Node::root(3), Node::root(5).descendant(0b11_10, 2), Node::root(0)] {
            for (index, vertex) in node.vertices().enumerate() {
                assert_eq!(node.vertex_index(vertex), index);
            }
            let count = (node.s.abs() + 1) * (node.s.abs() + 2) / 2;
            assert_eq!(node.vertices().count(), count as usize);
        }
    }
}
