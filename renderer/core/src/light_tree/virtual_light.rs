//! Virtual lights in 64 bytes each, since scenes may have millions of them.
//!
//! Directions have 16 bits for each of two coordinates in the equal-area map of the sphere, an error
//! of up to 8·10⁻⁵. Colours that only scale or bound others have 8 significant bits. Whoever creates
//! a light must compute with the rounded values: then rounding changes the surface slightly, but
//! bounds hold.

use super::point::{Emission, LightPoint};
use crate::light::{sphere_to_square, square_to_sphere};
use lightbound_math::{Cone, Frame, Vec3, vec2};

/// A point that scatters light: on a surface, or in a medium with a frame around the direction back
/// to the light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VirtualLight {
    /// Position in render space.
    pub position: Vec3,
    /// A typical intensity, W·sr⁻¹. Finite and nonzero.
    pub intensity: Vec3,
    /// Offset of shadow rays from the surface.
    pub offset: f32,
    /// Reference to the material, which trees do not interpret.
    pub material: u32,
    /// Frame of the surface.
    pub frame: PackedFrame,
    /// Geometric normal.
    pub ng: PackedDirection,
    /// Direction from which the power arrives, in the frame.
    pub wo: PackedDirection,
    /// The emission is the material's value divided by this.
    pub unit: PackedColour,
    /// Limit of the intensity (see [`Emission::Virtual`]).
    pub bound: PackedColour,
    /// The sides of the surface that emit.
    pub side: EmittingSide,
    /// Whether the frame's normal differs from the geometric normal.
    pub has_shading_normal: bool,
}

/// The sides of a surface that emit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmittingSide {
    /// The side of the frame's normal.
    Front,
    /// The other side. The frame's normal is negated.
    Back,
    /// Both sides.
    Both,
}

impl EmittingSide {
    /// Returns the frame of a surface, with the normal on the side.
    pub fn frame(self, frame: PackedFrame) -> Frame {
        let frame = frame.get();
        match self {
            EmittingSide::Back => Frame { n: -frame.n, ..frame },
            EmittingSide::Front | EmittingSide::Both => frame,
        }
    }
}

impl VirtualLight {
    /// Returns the frame of the surface, with the normal on the emitting side.
    pub fn frame(&self) -> Frame {
        self.side.frame(self.frame)
    }

    /// Returns the axis of the emission; zero if both sides emit.
    fn axis(&self) -> Vec3 {
        match self.side {
            EmittingSide::Front => self.frame.normal.get(),
            EmittingSide::Back => -self.frame.normal.get(),
            EmittingSide::Both => Vec3::ZERO,
        }
    }

    /// Returns the cone of the axis; all directions if both sides emit.
    pub(super) fn cone(&self) -> Cone {
        match self.side {
            EmittingSide::Both => Cone::SPHERE,
            EmittingSide::Front | EmittingSide::Back => Cone::from_direction(self.axis()),
        }
    }

    /// Returns the light as a leaf of a tree, as the light with index `index`. It does not increase
    /// below the distance `min_distance`.
    pub(super) fn point(&self, index: u32, min_distance: f32) -> LightPoint {
        LightPoint {
            position: self.position,
            axis: self.axis(),
            intensity: self.intensity,
            emission: Emission::Virtual { bound: self.bound.get() },
            light: index,
            stratum: 0,
            offset: min_distance,
        }
    }
}

/// A unit vector in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedDirection([u16; 2]);

/// Greatest coordinate of a [`PackedDirection`].
const MAX_COORDINATE: f32 = u16::MAX as f32;

impl PackedDirection {
    /// Rounds a unit vector.
    pub fn new(d: Vec3) -> PackedDirection {
        let square = (sphere_to_square(d) * MAX_COORDINATE).round();
        PackedDirection([square.x as u16, square.y as u16])
    }

    /// Returns the rounded unit vector.
    pub fn get(self) -> Vec3 {
        let [x, y] = self.0.map(|x| f32::from(x) / MAX_COORDINATE);
        square_to_sphere(vec2(x, y)).normalize()
    }
}

/// A [`Frame`] in 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedFrame {
    normal: PackedDirection,
    tangent: PackedDirection,
}

impl PackedFrame {
    /// Rounds the normal and the tangent of a frame.
    pub fn new(frame: &Frame) -> PackedFrame {
        let [normal, tangent] = [frame.n, frame.t].map(PackedDirection::new);
        PackedFrame { normal, tangent }
    }

    /// Returns an orthonormal frame with the rounded normal.
    pub fn get(self) -> Frame {
        Frame::from_normal_tangent(self.normal.get(), self.tangent.get())
    }
}

/// A nonnegative colour in 48 bits: floats without the lower half of their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedColour([u16; 3]);

impl PackedColour {
    /// Rounds each channel up. Values above the greatest finite one, and NaN, become infinite.
    pub fn at_least(colour: Vec3) -> PackedColour {
        let round_up = |x: f32| {
            let bits = if x.is_nan() { f32::INFINITY } else { x.max(0.0) }.to_bits();
            (bits >> 16) as u16 + u16::from(bits & 0xffff != 0)
        };
        PackedColour(colour.to_array().map(round_up))
    }

    /// Returns the rounded colour.
    pub fn get(self) -> Vec3 {
        Vec3::from_array(self.0.map(|bits| f32::from_bits(u32::from(bits) << 16)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::sampling::testing::points;
    use lightbound_math::sampling::warp::uniform_sphere;

    #[test]
    fn size_is_that_of_a_cache_line() {
        assert_eq!(size_of::<VirtualLight>(), 64);
    }

    #[test]
    fn directions_are_unit_and_close() {
        let axes = [Vec3::X, Vec3::Y, Vec3::Z].into_iter().flat_map(|axis| [axis, -axis]);
        for d in axes.chain(points(100_000, 1).map(uniform_sphere)) {
            let packed = PackedDirection::new(d);
            let rounded = packed.get();
            assert!((rounded.length_squared() - 1.0).abs() < 4.0 * f32::EPSILON, "{d}");
            assert!((rounded - d).length() < 8e-5, "{d} {rounded}");
        }
    }

    #[test]
    fn frames_are_orthonormal_and_close() {
        for (n, t) in std::iter::zip(points(10_000, 2), points(10_000, 3)) {
            let frame = Frame::from_normal_tangent(uniform_sphere(n), uniform_sphere(t));
            let rounded = PackedFrame::new(&frame).get();
            assert_eq!(rounded.n, PackedDirection::new(frame.n).get());
            assert!(rounded.t.dot(rounded.n).abs() < 1e-6 && rounded.b.dot(rounded.n).abs() < 1e-6);
            assert!((rounded.t - frame.t).length() < 2e-4, "{frame:?}");
            assert!((rounded.b - frame.b).length() < 2e-4, "{frame:?}");
        }
    }

    #[test]
    fn colours_are_rounded_up() {
        for x in [0.0, -0.0, 1.0, 1.0 + f32::EPSILON, 0.3, 1e-45, 1e-38, 3e38, f32::MAX] {
            let rounded = PackedColour::at_least(Vec3::splat(x)).get().x;
            assert!(
                rounded >= x && (x < 1e-37 || rounded <= x * (1.0 + 1.0 / 128.0) || x > 3.38e38)
            );
        }
        let infinite = PackedColour::at_least(Vec3::INFINITY).get();
        assert_eq!(
            (infinite, PackedColour::at_least(Vec3::ONE).get()),
            (Vec3::INFINITY, Vec3::ONE)
        );
        assert_eq!(PackedColour::at_least(Vec3::NAN).get(), Vec3::INFINITY);
        assert_eq!(PackedColour::at_least(Vec3::NEG_INFINITY).get(), Vec3::ZERO);
    }
}
