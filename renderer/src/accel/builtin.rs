//! The built-in acceleration structure: a tree per group, and one over the instances.
//!
//! Triangles stand in their tree's order in blocks of four ([`Block`]); other shapes are asked one by one. Per triangle that is
//! 44 bytes where blocks are full, about 60 as trees fall, and about 20 bytes of nodes; the mesh itself is not touched by rays.
//! Of surfaces that coincide the one with the least indices is met, so answers do not depend on the tree.

use super::tree::Tree;
use super::triangles::{Block, Shear};
use super::{Accel, is_usable, nearest_accepted, to_local};
use crate::geometry::{Geometry, Hit, Shape};
use crate::math::{Aabb, Ray};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Trees over a [`Geometry`].
pub(super) struct Builtin {
    geometry: Arc<Geometry>,
    world: Group,
    groups: Vec<Group>,
    /// Leaves are indices of instances.
    instances: Tree,
    bounds: Aabb,
}

/// What one range of primitives becomes.
struct Group {
    triangles: Tree,
    blocks: Vec<Block>,
    /// Over all that is no triangle; leaves are indices into `elements`.
    shapes: Tree,
    /// Primitive and element.
    elements: Vec<(u32, u32)>,
    /// Whether any primitive may let rays through.
    alpha: bool,
}

impl Builtin {
    /// Builds all trees, on all threads of the current pool.
    pub(super) fn new(geometry: Arc<Geometry>) -> Builtin {
        let (world, groups) = rayon::join(
            || Group::new(&geometry, geometry.world.clone()),
            || geometry.groups.par_iter().map(|range| Group::new(&geometry, range.clone())).collect::<Vec<_>>(),
        );
        let placed = geometry.instances.iter().map(|i| i.transform.aabb(groups[i.group as usize].bounds()));
        let (indices, boxes): (Vec<u32>, Vec<Aabb>) = (0..).zip(placed).filter(|(_, b)| is_usable(b)).unzip();
        let instances = Tree::build(&boxes, 1, |held| indices[held[0] as usize]);
        let bounds = world.bounds().union(instances.bounds);
        Builtin { geometry, world, groups, instances, bounds }
    }

    /// Calls `offer` with candidates on the segment until it returns an end before the segment's start.
    #[inline(always)]
    fn candidates(&self, ray: &Ray, mut offer: impl FnMut(Hit) -> f32) {
        if !super::is_traceable(ray) {
            return;
        }
        // From here on the end belongs to the segment, so that of equally near hits all are seen.
        let end = ray.tmax.next_down();
        let end = self.world.candidates(&self.geometry, ray, end, Hit::NONE, &mut offer);
        if !self.geometry.instances.is_empty() && end >= ray.tmin {
            self.instance_candidates(ray, end, &mut offer);
        }
    }

    /// The part of [`Builtin::candidates`] that lies in instances; apart, to keep the common way short.
    #[inline(never)]
    fn instance_candidates(&self, ray: &Ray, end: f32, offer: &mut impl FnMut(Hit) -> f32) {
        self.instances.traverse(ray, end, |index, end| {
            let instance = &self.geometry.instances[index as usize];
            let local = to_local(ray, &instance.transform);
            if !super::is_traceable(&local) {
                return end;
            }
            self.groups[instance.group as usize].candidates(&self.geometry, &local, end, index, offer)
        });
    }
}

impl Group {
    fn new(geometry: &Geometry, range: Range<u32>) -> Group {
        let (mut corners, mut triangles, mut boxes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut elements, mut shape_boxes) = (Vec::new(), Vec::new());
        for primitive in range.clone() {
            let shape = &geometry.primitives[primitive as usize].shape;
            if let Shape::Mesh(mesh) = shape {
                for (element, indices) in (0..).zip(mesh.triangles()) {
                    let vertices = indices.map(|i| mesh.positions()[i as usize]);
                    let bounds = Aabb::around(vertices);
                    if is_usable(&bounds) {
                        corners.push(vertices);
                        triangles.push((primitive, element));
                        boxes.push(bounds);
                    }
                }
            } else {
                let found = (0..shape.len()).map(|element| ((primitive, element), shape.aabb(element)));
                for (element, bounds) in found.filter(|(_, bounds)| is_usable(bounds)) {
                    elements.push(element);
                    shape_boxes.push(bounds);
                }
            }
        }
        let mut blocks: Vec<Block> = Vec::with_capacity(boxes.len() / 3 + 1);
        let tree = Tree::build(&boxes, 4, |held| {
            let mut block = Block::EMPTY;
            for (lane, &index) in held.iter().enumerate() {
                let (primitive, element) = triangles[index as usize];
                block.set(lane, &corners[index as usize], primitive, element);
            }
            blocks.push(block);
            blocks.len() as u32 - 1
        });
        blocks.shrink_to_fit();
        let shapes = Tree::build(&shape_boxes, 1, |held| held[0]);
        let alpha = geometry.primitives[range.start as usize..range.end as usize].iter().any(|p| p.alpha.is_some());
        Group { triangles: tree, blocks, shapes, elements, alpha }
    }

    fn bounds(&self) -> Aabb {
        self.triangles.bounds.union(self.shapes.bounds)
    }

    fn memory_bytes(&self) -> usize {
        self.triangles.memory_bytes()
            + self.blocks.capacity() * size_of::<Block>()
            + self.shapes.memory_bytes()
            + self.elements.capacity() * size_of::<(u32, u32)>()
    }

    /// Offers what lies between `ray.tmin` and `end` on a ray in the group's space; returns the end as `offer` last said.
    #[inline(always)]
    fn candidates(
        &self,
        geometry: &Geometry,
        ray: &Ray,
        mut end: f32,
        instance: u32,
        offer: &mut impl FnMut(Hit) -> f32,
    ) -> f32 {
        let shear = Shear::new(ray);
        self.triangles.traverse(ray, end, |index, tmax| {
            let block = &self.blocks[index as usize];
            let hits = shear.intersect(block, tmax);
            let mut mask = hits.mask;
            while mask != 0 {
                let lane = mask.trailing_zeros() as usize & 3;
                mask &= mask - 1;
                let (t, u, v) = (hits.t[lane], hits.u[lane], hits.v[lane]);
                let (primitive, element) = (block.primitive[lane], block.element[lane]);
                if t <= end && (!self.alpha || geometry.accepts(ray, primitive, element, u, v)) {
                    end = offer(Hit { t, u, v, primitive, element, instance });
                }
            }
            end
        });
        if self.elements.is_empty() || end < ray.tmin {
            return end;
        }
        self.shape_candidates(geometry, ray, end, instance, offer)
    }

    /// The part of [`Group::candidates`] that is no triangle.
    #[inline(never)]
    fn shape_candidates(
        &self,
        geometry: &Geometry,
        ray: &Ray,
        mut end: f32,
        instance: u32,
        offer: &mut impl FnMut(Hit) -> f32,
    ) -> f32 {
        self.shapes.traverse(ray, end, |index, tmax| {
            let (primitive, element) = self.elements[index as usize];
            if let Some(hit) = nearest_accepted(geometry, primitive, element, &Ray { tmax, ..*ray }) {
                end = offer(Hit { t: hit.t, u: hit.u, v: hit.v, primitive, element, instance });
            }
            end
        });
        end
    }
}

impl Accel for Builtin {
    fn intersect(&self, ray: &Ray) -> Hit {
        let rank = |hit: &Hit| (hit.instance, hit.primitive, hit.element);
        let mut nearest = Hit::MISS;
        self.candidates(ray, |hit| {
            if hit.t < nearest.t || hit.t == nearest.t && rank(&hit) < rank(&nearest) {
                nearest = hit;
            }
            nearest.t
        });
        nearest
    }

    fn occluded(&self, ray: &Ray) -> bool {
        let mut blocked = false;
        self.candidates(ray, |_| {
            blocked = true;
            f32::NEG_INFINITY
        });
        blocked
    }

    fn bounds(&self) -> Aabb {
        self.bounds
    }

    fn memory_bytes(&self) -> usize {
        let groups = self.groups.iter().chain([&self.world]).map(|g| g.memory_bytes() + size_of::<Group>()).sum::<usize>();
        groups + self.instances.memory_bytes()
    }

    fn name(&self) -> &'static str {
        "builtin"
    }
}
