//! Cubic Bézier curves: subdivision, evaluation and bounds.

use glam::DVec3;

/// The control points of a cubic Bézier curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bezier(pub [DVec3; 4]);

impl Bezier {
    /// Returns the part between two parameters, by its blossom.
    pub(super) fn piece(&self, u0: f64, u1: f64) -> Bezier {
        let blossom = |a: f64, b: f64, c: f64| {
            let [p0, p1, p2, p3] = self.0;
            let [q0, q1, q2] = [p0.lerp(p1, a), p1.lerp(p2, a), p2.lerp(p3, a)];
            q0.lerp(q1, b).lerp(q1.lerp(q2, b), c)
        };
        Bezier([blossom(u0, u0, u0), blossom(u0, u0, u1), blossom(u0, u1, u1), blossom(u1, u1, u1)])
    }

    /// Splits the curve in the middle.
    pub(super) fn halves(&self) -> [Bezier; 2] {
        let [a, b, c, d] = self.0;
        let [ab, bc, cd] = [0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + d)];
        let [abc, bcd] = [0.5 * (ab + bc), 0.5 * (bc + cd)];
        let middle = 0.5 * (abc + bcd);
        [Bezier([a, ab, abc, middle]), Bezier([middle, bcd, cd, d])]
    }

    /// Returns position and derivative.
    pub(super) fn evaluate(&self, u: f64) -> (DVec3, DVec3) {
        let [a, b, c, d] = self.0;
        let [ab, bc, cd] = [a.lerp(b, u), b.lerp(c, u), c.lerp(d, u)];
        let [abc, bcd] = [ab.lerp(bc, u), bc.lerp(cd, u)];
        let derivative = 3.0 * (bcd - abc);
        // At an end where control points coincide, the derivative is zero, and the tangent that of
        // the chord.
        let tangent = if derivative == DVec3::ZERO { d - a } else { derivative };
        (abc.lerp(bcd, u), tangent)
    }

    /// Returns the bounding box of the control points.
    pub(super) fn bounds(&self) -> [DVec3; 2] {
        let [a, b, c, d] = self.0;
        [a.min(b).min(c.min(d)), a.max(b).max(c.max(d))]
    }

    /// Returns the number of subdivisions after which the control polygon differs from its chord by
    /// less than a twentieth of the width.
    pub(super) fn refinement_depth(&self, width: f64) -> u32 {
        let second = |a: DVec3, b: DVec3, c: DVec3| (a - 2.0 * b + c).abs().max_element();
        let [a, b, c, d] = self.0;
        let bend = second(a, b, c).max(second(b, c, d));
        let mut tolerance = 8.0 * 0.05 * width / (6.0 * std::f64::consts::SQRT_2);
        let mut depth = 0;
        while tolerance < bend && depth < MAX_REFINEMENT_DEPTH {
            tolerance *= 4.0;
            depth += 1;
        }
        depth
    }
}

/// Maximum number of subdivisions within an element.
const MAX_REFINEMENT_DEPTH: u32 = 10;
