//! Majorants and minorants of a medium's density over boxes.

use super::Field;
use lightbound_math::{Aabb, Vec3};

/// Bounds on the density of a medium.
#[derive(Clone, Debug)]
pub struct MajorantTree {
    /// Box outside of which there is no medium; `None` if it is everywhere.
    bounds: Option<Aabb>,
    density: [f32; 2],
}

/// A part of a ray within one box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Ray parameters of its ends.
    pub t: [f32; 2],
    /// The box, in the medium's own space.
    pub cell: Aabb,
    /// Minimum and maximum of the density in the box.
    pub density: [f32; 2],
}

/// The segments of a ray, from its start to its end. Parts without a medium are left out.
#[derive(Clone, Debug)]
pub struct Segments<'a> {
    tree: &'a MajorantTree,
    o: Vec3,
    d: Vec3,
    t: [f32; 2],
}

impl Segment {
    /// No part of a ray.
    pub const EMPTY: Segment =
        Segment { t: [0.0; 2], cell: Aabb { min: Vec3::ZERO, max: Vec3::ZERO }, density: [0.0; 2] };
}

impl MajorantTree {
    /// Builds the tree of a field.
    pub fn build(field: &dyn Field) -> MajorantTree {
        let bounds = field.bounds();
        let everywhere = Aabb { min: Vec3::splat(f32::MIN), max: Vec3::splat(f32::MAX) };
        let mut density = Vec::new();
        field.density_bounds(&[bounds.unwrap_or(everywhere)], &mut density);
        MajorantTree { bounds, density: density[0] }
    }

    /// Returns the minimum and maximum of the density within the medium.
    pub fn density_range(&self) -> [f32; 2] {
        self.density
    }

    /// Returns the segments between the parameters `t` of a ray in the medium's own space. `d` need
    /// not be a unit vector.
    pub fn segments(&self, o: Vec3, d: Vec3, t: [f32; 2]) -> Segments<'_> {
        Segments { tree: self, o, d, t }
    }
}

impl Iterator for Segments<'_> {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        let everywhere = Aabb { min: Vec3::splat(f32::MIN), max: Vec3::splat(f32::MAX) };
        let cell = self.tree.bounds.unwrap_or(everywhere);
        let (a, b) = ((cell.min - self.o) / self.d, (cell.max - self.o) / self.d);
        let (near, far) = (a.min(b).max_element(), a.max(b).min_element());
        let t = [near.max(self.t[0]), far.min(self.t[1])];
        self.t[0] = f32::INFINITY;
        (t[0] < t[1]).then_some(Segment { t, cell, density: self.tree.density })
    }
}
