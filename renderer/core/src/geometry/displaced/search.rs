//! The ray test: nearest micro-triangle of an element.

use super::DisplacedSurface;
use super::grid::{CachedNode, DICED_LEVEL, MAX_BOXES};
use super::node::Node;
use crate::accel::FAR_ROUNDING_SCALE;
use crate::geometry::ShapeHit;
use crate::geometry::watertight::RayTest;
use lightbound_math::Ray;

/// A hit of a micro-triangle.
#[derive(Clone, Copy, Debug)]
struct MicroHit {
    t: f32,
    u: f32,
    v: f32,
    /// Index of the micro-triangle in the element.
    index: u32,
}

/// A node to be searched.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    node: Node,
    /// Index in the element among the nodes of its level.
    index: u32,
    /// Where the ray enters its box.
    enter: f32,
}

impl DisplacedSurface {
    /// Returns the nearest hit of an element on the segment. Surface coordinates are the
    /// barycentric weights of vertices 1 and 2 of a micro-triangle, and its index in the element.
    pub(in crate::geometry) fn intersect(&self, element: u32, ray: &Ray) -> Option<ShapeHit> {
        let (triangle, node) = self.locate(element);
        let test = RayTest::new(ray);
        let mut nearest: Option<MicroHit> = None;
        let mut segment = *ray;
        let mut stack = vec![Pending { node, index: 0, enter: ray.tmin }];
        while let Some(Pending { node, index, enter }) = stack.pop() {
            if enter > segment.tmax * FAR_ROUNDING_SCALE {
                continue;
            }
            self.cached(triangle, node, |cached| {
                let enter = cached.boxes.enter(&segment);
                if node.level() <= DICED_LEVEL {
                    let hits = (0..MAX_BOXES).filter(|&k| enter[k] < f32::INFINITY);
                    for k in hits {
                        let part = (
                            node.descendant(k as u32, cached.levels),
                            (index << (2 * cached.levels)) + k as u32,
                        );
                        test_part(cached, node, part, &test, &mut segment, &mut nearest);
                    }
                    return;
                }
                let first = stack.len();
                for (k, &enter) in
                    enter.iter().enumerate().filter(|(_, enter)| **enter < f32::INFINITY)
                {
                    let node = node.descendant(k as u32, cached.levels);
                    let index = (index << (2 * cached.levels)) + k as u32;
                    stack.push(Pending { node, index, enter });
                }
                stack[first..].sort_by(|a, b| b.enter.total_cmp(&a.enter));
            });
        }
        nearest.map(|MicroHit { t, u, v, index }| ShapeHit { t, u, v, w: index as f32 })
    }
}

/// Tests the micro-triangles of a part of a diced node. At the same distance, the one with the
/// lowest index counts.
fn test_part(
    cached: &CachedNode,
    node: Node,
    (part, index): (Node, u32),
    test: &RayTest,
    segment: &mut Ray,
    nearest: &mut Option<MicroHit>,
) {
    let levels = part.level();
    for k in 0..1 << (2 * levels) {
        let corners = part.descendant(k, levels).corners();
        let vertices = corners.map(|v| test.vertex(cached.vertices[node.vertex_index(v)]));
        let Some([t, u, v]) = test.intersect(&vertices) else { continue };
        let index = (index << (2 * levels)) + k;
        let is_nearest = match nearest {
            None => t >= segment.tmin && t < segment.tmax,
            Some(hit) => t >= segment.tmin && (t < hit.t || (t == hit.t && index < hit.index)),
        };
        if is_nearest {
            *nearest = Some(MicroHit { t, u, v, index });
            segment.tmax = t;
        }
    }
}
