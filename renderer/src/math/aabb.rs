//! Axis-aligned boxes.

use super::Vec3;

/// An axis-aligned box; empty where `min > max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Least coordinates.
    pub min: Vec3,
    /// Greatest coordinates.
    pub max: Vec3,
}

impl Aabb {
    /// The box that contains nothing: the neutral element of [`Aabb::union`].
    pub const EMPTY: Aabb = Aabb { min: Vec3::INFINITY, max: Vec3::NEG_INFINITY };

    /// The smallest box around `points`.
    pub fn around(points: impl IntoIterator<Item = Vec3>) -> Aabb {
        points.into_iter().fold(Aabb::EMPTY, |b, p| b.union(Aabb { min: p, max: p }))
    }

    /// The smallest box that contains both.
    pub fn union(self, other: Aabb) -> Aabb {
        Aabb { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Whether no point lies inside.
    pub fn is_empty(self) -> bool {
        !self.min.cmple(self.max).all()
    }

    /// The midpoint.
    pub fn center(self) -> Vec3 {
        0.5 * (self.min + self.max)
    }

    /// The eight corners.
    pub fn corners(self) -> [Vec3; 8] {
        std::array::from_fn(|i| {
            let pick =
                |axis: usize| if i >> axis & 1 == 0 { self.min[axis] } else { self.max[axis] };
            Vec3::new(pick(0), pick(1), pick(2))
        })
    }

    /// The largest absolute coordinate; the scale to which rounding errors of points in the box are
    /// relative.
    pub fn magnitude(self) -> f32 {
        self.min.abs().max(self.max.abs()).max_element()
    }
}
