//! Emission that colours of vertices scale.
//!
//! It is linear over a triangle, so its mean is that of the vertices, and its maximum is at one of
//! them. Both are exact, and so are powers and the bounds of light trees.

use lightbound_math::{Vec2, Vec3};

/// Factors of the radiance at the vertices of a triangle, at least 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct VertexColours([Vec3; 3]);

impl VertexColours {
    /// Creates colours; what is negative or NaN is 0.
    pub fn new(colours: [Vec3; 3]) -> VertexColours {
        VertexColours(colours.map(|colour| colour.max(Vec3::ZERO)))
    }

    /// Interpolates, for the barycentric weights of vertices 1 and 2. Rounding errors do not exceed
    /// the maximum.
    pub fn at(&self, weights: Vec2) -> Vec3 {
        let [a, b, c] = self.0;
        let Vec2 { x: u, y: v } = weights;
        ((1.0 - u - v) * a + u * b + v * c).clamp(Vec3::ZERO, self.max())
    }

    /// Returns the mean over the triangle.
    pub fn mean(&self) -> Vec3 {
        self.0.iter().sum::<Vec3>() / 3.0
    }

    /// Returns the maximum of each channel.
    pub fn max(&self) -> Vec3 {
        self.0[0].max(self.0[1]).max(self.0[2])
    }
}
