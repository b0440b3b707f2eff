//! Nodes in the caches of threads: boxes of their descendants, and vertices of those that are
//! diced.

use super::node::Node;
use crate::accel::FAR_ROUNDING_SCALE;
use crate::geometry::scratch::ScratchId;
use lightbound_math::{Aabb, Ray, Vec3};
use std::cell::RefCell;

/// Number of boxes of a node.
pub(super) const MAX_BOXES: usize = 16;

/// Nodes up to this level are diced into micro-triangles.
pub(super) const DICED_LEVEL: u32 = 3;

/// Number of vertices of a diced node.
pub(super) const MAX_VERTICES: usize = ((1 << DICED_LEVEL) + 1) * ((1 << DICED_LEVEL) + 2) / 2;

/// Number of nodes that a thread keeps, a power of two.
const CACHED_NODES: usize = 1 << 11;

/// Size of a thread's cache.
pub(super) const MEMORY_BYTES: usize = CACHED_NODES * size_of::<(Option<NodeKey>, CachedNode)>();

/// Boxes side by side, for one loop over all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Boxes {
    planes: [[[f32; MAX_BOXES]; 3]; 2],
}

/// Identifies a node in a thread's cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NodeKey {
    pub shape: ScratchId,
    pub triangle: u32,
    pub node: Node,
}

/// A node with what the ray test needs.
#[derive(Clone, Debug)]
pub(super) struct CachedNode {
    /// Boxes of the descendants [`CachedNode::levels`] below, in the order of their indices.
    pub boxes: Boxes,
    pub levels: u32,
    /// The vertices of a diced node, in the order of [`Node::vertex_index`].
    pub vertices: [Vec3; MAX_VERTICES],
}

thread_local! {
    static NODES: RefCell<Vec<(Option<NodeKey>, CachedNode)>> = const { RefCell::new(Vec::new()) };
}

impl Boxes {
    /// Boxes that no ray enters.
    pub const EMPTY: Boxes =
        Boxes { planes: [[[f32::INFINITY; MAX_BOXES]; 3], [[f32::NEG_INFINITY; MAX_BOXES]; 3]] };

    pub fn set(&mut self, k: usize, b: &Aabb) {
        for axis in 0..3 {
            self.planes[0][axis][k] = b.min[axis].next_down();
            self.planes[1][axis][k] = b.max[axis].next_up();
        }
    }

    /// Returns the parameters at which the ray enters the boxes; infinite where it misses. Far
    /// distances are scaled up as in Ize 2013, *Robust BVH Ray Traversal*.
    pub fn enter(&self, ray: &Ray) -> [f32; MAX_BOXES] {
        let mut enter = [ray.tmin; MAX_BOXES];
        let mut exit = [ray.tmax * FAR_ROUNDING_SCALE; MAX_BOXES];
        for axis in 0..3 {
            let (o, inverse) = (ray.o[axis], 1.0 / ray.d[axis]);
            let positive = usize::from(inverse > 0.0);
            let (near, far) = (&self.planes[1 - positive][axis], &self.planes[positive][axis]);
            // NaN, of a ray in a plane of the box, is ignored.
            for (enter, near) in std::iter::zip(&mut enter, near) {
                *enter = enter.max((near - o) * inverse);
            }
            for (exit, far) in std::iter::zip(&mut exit, far) {
                *exit = exit.min((far - o) * inverse * FAR_ROUNDING_SCALE);
            }
        }
        std::array::from_fn(|k| if enter[k] <= exit[k] { enter[k] } else { f32::INFINITY })
    }
}

impl CachedNode {
    /// A node without boxes.
    pub const EMPTY: CachedNode =
        CachedNode { boxes: Boxes::EMPTY, levels: 0, vertices: [Vec3::ZERO; MAX_VERTICES] };
}

/// Calls `f` with a node, which `create` fills if the thread's cache lacks it. `f` must not call
/// this function.
pub(super) fn with_node<R>(
    key: NodeKey,
    create: impl FnOnce(&mut CachedNode),
    f: impl FnOnce(&CachedNode) -> R,
) -> R {
    NODES.with_borrow_mut(|nodes| {
        if nodes.is_empty() {
            nodes.resize(CACHED_NODES, (None, CachedNode::EMPTY));
        }
        let (cached, node) = &mut nodes[slot(&key)];
        if *cached != Some(key) {
            *cached = None;
            *node = CachedNode::EMPTY;
            create(node);
            *cached = Some(key);
        }
        f(node)
    })
}

fn slot(key: &NodeKey) -> usize {
    let NodeKey { shape, triangle, node } = key;
    let words = [shape.word(), *triangle, node.i as u32, node.j as u32, node.s as u32];
    words.into_iter().fold(0, lightbound_math::sampling::hash) as usize % CACHED_NODES
}
