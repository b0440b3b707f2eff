//! Axis-aligned bounding boxes.

use super::Vec3;

/// An axis-aligned bounding box; empty if `min > max` on any axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Lower corner.
    pub min: Vec3,
    /// Upper corner.
    pub max: Vec3,
}

impl Aabb {
    /// The empty box, the identity element of [`Aabb::union`].
    pub const EMPTY: Aabb = Aabb { min: Vec3::INFINITY, max: Vec3::NEG_INFINITY };

    /// Returns the bounding box of `points`.
    pub fn around(points: impl IntoIterator<Item = Vec3>) -> Aabb {
        points.into_iter().fold(Aabb::EMPTY, |b, p| b.union(Aabb { min: p, max: p }))
    }

    /// Returns the smallest box that contains both boxes.
    pub fn union(self, other: Aabb) -> Aabb {
        Aabb { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Returns whether the box contains no point.
    pub fn is_empty(self) -> bool {
        !self.min.cmple(self.max).all()
    }

    /// Returns the midpoint.
    pub fn center(self) -> Vec3 {
        0.5 * (self.min + self.max)
    }

    /// Returns the eight corners.
    pub fn corners(self) -> [Vec3; 8] {
        std::array::from_fn(|i| {
            let pick =
                |axis: usize| if i >> axis & 1 == 0 { self.min[axis] } else { self.max[axis] };
            Vec3::new(pick(0), pick(1), pick(2))
        })
    }

    /// Returns the largest absolute coordinate. Rounding errors of points in the box scale with it.
    pub fn magnitude(self) -> f32 {
        self.min.abs().max(self.max.abs()).max_element()
    }
}
