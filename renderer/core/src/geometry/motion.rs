//! Transforms that change while the shutter is open.
//!
//! As in pbrt-v4, a motion interpolates between a start and an end transform: translation, rotation
//! and scale separately (Shoemake and Duff 1992, *Matrix Animation and Polar Decomposition*), with
//! spherical interpolation of the rotation. Before the start time and after the end time, nothing
//! moves.
//!
//! Scales are positive definite up to a common sign, so their interpolations are invertible, too.

use glam::{DAffine3, DMat3, DQuat, DVec3};
use lightbound_math::{Aabb, Cone, Transform, Vec3};

/// The motion of an instance, a light or a camera.
#[derive(Clone, Copy, Debug)]
pub struct Motion {
    /// Transforms at the start and end times.
    ends: [Transform; 2],
    times: MotionTimes,
    inner: Interpolation,
    /// The motion of an instance that contains what `inner` moves.
    outer: Option<Interpolation>,
}

/// An interpolation between two transforms.
#[derive(Clone, Copy, Debug)]
struct Interpolation {
    translation: [DVec3; 2],
    rotation: [DQuat; 2],
    /// Angle between the quaternions, in [0, π/2]: half the angle of the rotation.
    half_angle: f64,
    scale: [DMat3; 2],
}

/// When a motion happens.
#[derive(Clone, Copy, Debug)]
pub(super) struct MotionTimes {
    /// Start and end times, seconds.
    times: [f32; 2],
    /// Fractions of the motion when the shutter opens and closes.
    shutter: [f64; 2],
}

impl MotionTimes {
    /// Creates the times of a motion. Rays have times in `shutter`; all times are in seconds.
    pub fn new(times: [f32; 2], shutter: [f32; 2]) -> MotionTimes {
        let times = MotionTimes { times, shutter: [0.0; 2] };
        MotionTimes { shutter: shutter.map(|time| times.fraction(time)), ..times }
    }

    /// Returns the fraction of the motion at `time`, in [0, 1].
    pub fn fraction(&self, time: f32) -> f64 {
        let [start, end] = self.times.map(f64::from);
        if start < end { ((f64::from(time) - start) / (end - start)).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Returns the fractions of the motion when the shutter opens and closes.
    pub fn shutter(&self) -> [f64; 2] {
        self.shutter
    }
}

/// Why there is no motion between two transforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MotionError {
    /// A transform cannot be inverted in single precision.
    #[error("a transform cannot be inverted in single precision")]
    Singular,
    /// A transform mirrors, and the other does not.
    #[error("only one of the transforms at start and end time mirrors")]
    Mirrored,
}

impl Motion {
    /// Creates the motion between `transforms` at the start and end `times`, seconds. Rays have
    /// times in `shutter`.
    ///
    /// # Errors
    /// If a transform cannot be inverted, or only one of them mirrors.
    pub fn new(
        transforms: [DAffine3; 2],
        times: [f32; 2],
        shutter: [f32; 2],
    ) -> Result<Motion, MotionError> {
        let ends = ends(transforms)?;
        let inner = Interpolation::new(transforms);
        Ok(Motion { ends, times: MotionTimes::new(times, shutter), inner, outer: None })
    }

    /// Returns the motion of something that moves inside of something else, which moves between the
    /// `outer` transforms at the same times. It must not be inside of something already.
    ///
    /// # Errors
    /// As for [`Motion::new`].
    pub fn within(self, outer: [DAffine3; 2]) -> Result<Motion, MotionError> {
        debug_assert!(self.outer.is_none(), "motions are nested once");
        ends(outer)?;
        let motion = Motion { outer: Some(Interpolation::new(outer)), ..self };
        let ends = ends([0.0, 1.0].map(|x| motion.interpolate(x)))?;
        Ok(Motion { ends, ..motion })
    }

    /// Returns the transform at the start time.
    pub fn start(&self) -> Transform {
        self.ends[0]
    }

    /// Returns the transform at `time`, seconds.
    pub fn at(&self, time: f32) -> Transform {
        self.at_fraction(self.times.fraction(time))
    }

    fn at_fraction(&self, x: f64) -> Transform {
        match x {
            0.0 => self.ends[0],
            1.0 => self.ends[1],
            x => Transform::new(self.interpolate(x)).unwrap_or(self.ends[0]),
        }
    }

    fn interpolate(&self, x: f64) -> DAffine3 {
        let inner = self.inner.at(x);
        self.outer.map_or(inner, |outer| outer.at(x) * inner)
    }

    /// Returns a bounding box of everything that the box `b` passes while the shutter is open.
    pub fn aabb(&self, b: Aabb) -> Aabb {
        let shutter = self.times.shutter();
        let inner = self.inner.aabb(b, shutter);
        self.outer.map_or(inner, |outer| outer.aabb(inner, shutter))
    }

    /// Returns a cone that contains all directions of moving cones while the shutter is open. `cone`
    /// returns the one at a transform; all its directions, or normals, must turn with the motion.
    ///
    /// Between two times, a direction turns no further than half their distance times the largest
    /// angular speed from one of them.
    pub(crate) fn sweep(&self, cone: impl Fn(&Transform) -> Cone) -> Cone {
        let [open, close] = self.times.shutter();
        let step = (close - open) / f64::from(STEPS);
        let margin = 0.5 * step * self.max_angular_speed() + ANGULAR_ROUNDING;
        let widened = |k: u32| {
            let Cone { axis, cos } = cone(&self.at_fraction(open + step * f64::from(k)));
            let angle = libm::acos(f64::from(cos).clamp(-1.0, 1.0));
            Cone::from_angle(axis, angle + margin)
        };
        let cones: Vec<Cone> = (0..=STEPS).map(widened).collect();
        let axes = cones.iter().map(|cone| cone.axis.as_dvec3());
        Cone::around(Cone::mean_direction(axes.sum()), cones.into_iter())
    }

    /// Returns an upper bound on the angular speed of directions and normals, radians per motion.
    fn max_angular_speed(&self) -> f64 {
        let inner = self.inner.max_angular_speed();
        // A transform enlarges small angles by no more than its condition number.
        self.outer.map_or(inner, |outer| outer.max_angular_speed() + outer.condition() * inner)
    }
}

/// Converts the transforms at start and end.
fn ends(transforms: [DAffine3; 2]) -> Result<[Transform; 2], MotionError> {
    let [Some(start), Some(end)] = transforms.map(Transform::new) else {
        return Err(MotionError::Singular);
    };
    if start.swaps_handedness() != end.swaps_handedness() {
        return Err(MotionError::Mirrored);
    }
    Ok([start, end])
}

impl Interpolation {
    /// Interpolates between invertible transforms.
    fn new(transforms: [DAffine3; 2]) -> Interpolation {
        let [(r0, s0), (r1, s1)] = transforms.map(|t| polar_decomposition(t.matrix3));
        // Of two quaternions for a rotation, the nearer one.
        let r1 = if r0.dot(r1) < 0.0 { -r1 } else { r1 };
        Interpolation {
            translation: transforms.map(|t| t.translation),
            rotation: [r0, r1],
            half_angle: libm::acos(r0.dot(r1).min(1.0)),
            scale: [s0, s1],
        }
    }

    /// Returns the transform at a fraction of the motion.
    fn at(&self, x: f64) -> DAffine3 {
        let ([t0, t1], [r0, r1], [s0, s1]) = (self.translation, self.rotation, self.scale);
        let sine = libm::sin(self.half_angle);
        let rotation = if sine < 1e-9 {
            r0
        } else {
            let weight = |x: f64| libm::sin(x * self.half_angle) / sine;
            (r0 * weight(1.0 - x) + r1 * weight(x)).normalize()
        };
        DAffine3 {
            matrix3: DMat3::from_quat(rotation) * (s0 * (1.0 - x) + s1 * x),
            translation: t0 * (1.0 - x) + t1 * x,
        }
    }

    /// Returns a bounding box of everything that the box `b` passes between two fractions of the
    /// motion.
    ///
    /// Between two times, a point is nearer to the chord of its path than an eighth of its largest
    /// acceleration, times the square of the interval.
    fn aabb(&self, b: Aabb, [open, close]: [f64; 2]) -> Aabb {
        if b.is_empty() {
            return b;
        }
        let rotation_angle = 2.0 * self.half_angle;
        let acceleration = |p: DVec3| {
            let [p0, p1] = self.scale.map(|scale| scale * p);
            rotation_angle * rotation_angle * p0.length().max(p1.length())
                + 2.0 * rotation_angle * (p1 - p0).length()
        };
        let corners = b.corners().map(Vec3::as_dvec3);
        let largest = corners.map(acceleration).into_iter().fold(0.0, f64::max);
        let step = (close - open) / f64::from(STEPS);
        let margin = largest * step * step / 8.0;
        let (mut min, mut max) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for k in 0..=STEPS {
            let transform = self.at(open + step * f64::from(k));
            for p in corners.map(|p| transform.transform_point3(p)) {
                (min, max) = (min.min(p), max.max(p));
            }
        }
        // Transforms and rays are in single precision.
        let magnitude = min.abs().max(max.abs()).max_element();
        let margin = DVec3::splat(margin + ROUNDING * magnitude);
        Aabb { min: (min - margin).as_vec3(), max: (max + margin).as_vec3() }
    }

    /// Returns an upper bound on the angular speed of directions and normals, radians per motion:
    /// that of the rotation, and that of the scale, ‖S₁ − S₀‖ times the largest ‖S⁻¹‖. Eigenvalues
    /// of interpolated scales are between those at the ends.
    fn max_angular_speed(&self) -> f64 {
        let [s0, s1] = self.scale;
        2.0 * self.half_angle + norm(&(s1 - s0)) * self.max_inverse_norm()
    }

    /// Returns an upper bound on the condition number of the transforms.
    fn condition(&self) -> f64 {
        let [s0, s1] = self.scale;
        norm(&s0).max(norm(&s1)) * self.max_inverse_norm()
    }

    /// Returns an upper bound on ‖S⁻¹‖ of the scales.
    fn max_inverse_norm(&self) -> f64 {
        let [s0, s1] = self.scale.map(|scale| norm(&scale.inverse()));
        s0.max(s1)
    }
}

/// Returns the Frobenius norm, which is at least the spectral norm.
fn norm(m: &DMat3) -> f64 {
    m.to_cols_array().map(|x| x * x).into_iter().sum::<f64>().sqrt()
}

/// Number of intervals of the shutter time for bounds. A quarter turn adds 0.0003 of the radius to a
/// box, and 1.4° to a cone.
const STEPS: u32 = 32;

/// Rounding error of transformed points, relative to the largest coordinate.
const ROUNDING: f64 = 1e-6;

/// Rounding error of transformed directions, radians.
const ANGULAR_ROUNDING: f64 = 4e-6;

/// Decomposes a matrix into a rotation and a scale, `matrix = rotation · scale`, by Higham's
/// iteration: the mean of a matrix and its inverse transpose converges to the rotation. A mirroring
/// matrix has a negative definite scale.
fn polar_decomposition(matrix: DMat3) -> (DQuat, DMat3) {
    let determinant = matrix.determinant();
    let mut rotation = matrix * (1.0 / libm::cbrt(determinant));
    for _ in 0..MAX_ITERATIONS {
        let next = (rotation + rotation.inverse().transpose()) * 0.5;
        let change = (next - rotation).to_cols_array().into_iter().fold(0.0, |a, x| x.abs().max(a));
        rotation = next;
        if change < 1e-14 {
            break;
        }
    }
    (DQuat::from_mat3(&rotation).normalize(), rotation.transpose() * matrix)
}

/// The iteration takes a step for each factor of two between the axes, and five more.
const MAX_ITERATIONS: u32 = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use glam::dvec3;
    use lightbound_math::sampling::{hash, unit_float};
    use lightbound_math::vec3;

    /// Returns pseudorandom numbers in [−1, 1).
    fn random(seed: u32) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = hash(state, 0x51ed_270b);
            2.0 * f64::from(unit_float(state)) - 1.0
        }
    }

    fn random_transform(next: &mut impl FnMut() -> f64, mirrors: bool) -> DAffine3 {
        let axis = dvec3(next(), next(), next() + 1.5).normalize();
        let shear = DMat3::from_cols(DVec3::X, dvec3(next(), 1.0, 0.0), dvec3(0.0, next(), 1.0));
        let scale = dvec3(next() + 1.2, next() + 1.2, next() + 1.2);
        let sign = if mirrors { -1.0 } else { 1.0 };
        DAffine3 {
            matrix3: DMat3::from_axis_angle(axis, 3.0 * next())
                * shear
                * DMat3::from_diagonal(sign * scale),
            translation: 5.0 * dvec3(next(), next(), next()),
        }
    }

    #[test]
    fn decompositions_multiply_to_the_matrix() {
        let mut next = random(3);
        for k in 0..200 {
            let matrix = random_transform(&mut next, k % 2 == 0).matrix3;
            let matrix = matrix * 10f64.powi(k / 4 - 25);
            let (rotation, scale) = polar_decomposition(matrix);
            let size = matrix.to_cols_array().into_iter().fold(0.0, |a, x: f64| x.abs().max(a));
            let product = DMat3::from_quat(rotation) * scale;
            assert!(product.abs_diff_eq(matrix, 1e-12 * size), "{matrix}");
            assert!(scale.abs_diff_eq(scale.transpose(), 1e-12 * size), "{scale}");
        }
    }

    #[test]
    fn translation_and_rotation_are_uniform_in_time() {
        let start = DAffine3::from_translation(dvec3(1.0, 0.0, 0.0));
        let end = DAffine3::from_translation(dvec3(1.0, 4.0, 0.0))
            * DAffine3::from_rotation_z(90f64.to_radians());
        let motion = Motion::new([start, end], [1.0, 3.0], [0.0, 4.0]).unwrap();
        let at = |time| motion.at(time).point(Vec3::X);
        assert_eq!((at(0.0), at(1.0)), (vec3(2.0, 0.0, 0.0), vec3(2.0, 0.0, 0.0)));
        let half = vec3(1.0 + 0.5f32.sqrt(), 2.0 + 0.5f32.sqrt(), 0.0);
        assert!((at(2.0) - half).length() < 1e-6, "{}", at(2.0));
        assert!((at(3.0) - vec3(1.0, 5.0, 0.0)).length() < 1e-6 && at(9.0) == at(3.0));
    }

    #[test]
    fn rotations_take_the_shorter_way() {
        let angle = |degrees: f64| DAffine3::from_rotation_z(degrees.to_radians());
        let motion = Motion::new([angle(170.0), angle(-170.0)], [0.0, 1.0], [0.0, 1.0]).unwrap();
        assert!((motion.at(0.5).point(Vec3::X) + Vec3::X).length() < 1e-6);
    }

    #[test]
    fn boxes_contain_all_points_at_all_times() {
        let mut next = random(7);
        for k in 0..100 {
            let transforms = [(); 2].map(|()| random_transform(&mut next, k % 3 == 0));
            let shutter = [0.0, [1.0, 0.3][k as usize % 2]];
            let motion = Motion::new(transforms, [0.0, 1.0], shutter).unwrap();
            let b = Aabb { min: vec3(-0.5, 0.0, 1.0), max: vec3(0.1, 2.0, 1.5) };
            let swept = motion.aabb(b);
            let mut exact = Aabb::EMPTY;
            for i in 0..=200 {
                let transform = motion.at(shutter[1] * i as f32 / 200.0);
                let u = vec3(next() as f32, next() as f32, next() as f32) * 0.5 + 0.5;
                let p = transform.point(b.min + u * (b.max - b.min));
                assert!(swept.min.cmple(p).all() && swept.max.cmpge(p).all(), "{p}: {swept:?}");
                exact = exact.union(transform.aabb(b));
            }
            // Not much larger than necessary.
            let size = (exact.max - exact.min).max_element();
            assert!((exact.min - swept.min).max_element() < 0.02 * size);
            assert!((swept.max - exact.max).max_element() < 0.02 * size);
        }
    }

    #[test]
    fn nested_motions_are_products() {
        let mut next = random(5);
        for k in 0..100 {
            let [inner, outer] =
                [0, 1].map(|i| [(); 2].map(|()| random_transform(&mut next, k % 3 == i)));
            let motion = |transforms| Motion::new(transforms, [0.0, 1.0], [0.0, 1.0]).unwrap();
            let nested = motion(inner).within(outer).unwrap();
            let (inner, outer) = (motion(inner), motion(outer));
            let b = Aabb { min: vec3(-0.5, 0.0, 1.0), max: vec3(0.1, 2.0, 1.5) };
            let swept = nested.aabb(b);
            for time in [0.0, 0.3, 0.8, 1.0] {
                let p = vec3(0.0, 1.0, 1.2);
                let at = nested.at(time).point(p);
                let expected = outer.at(time).point(inner.at(time).point(p));
                assert!((at - expected).length() < 1e-4 * (1.0 + expected.length()));
                assert!(swept.min.cmple(at).all() && swept.max.cmpge(at).all());
            }
        }
    }

    #[test]
    fn swept_cones_contain_directions_and_normals_at_all_times() {
        let mut next = random(11);
        let mut narrow = 0;
        for k in 0..100 {
            let mut transforms = || {
                let start = random_transform(&mut next, k % 3 == 0);
                // Half of the motions are small.
                let turn = DAffine3::from_rotation_y(0.3) * DAffine3::from_scale(DVec3::splat(1.2));
                let end = random_transform(&mut next, k % 3 == 0);
                [start, if k % 2 == 0 { turn * start } else { end }]
            };
            let motion = Motion::new(transforms(), [0.0, 1.0], [0.1, 0.9]).unwrap();
            let motion = if k % 5 == 0 { motion.within(transforms()).unwrap() } else { motion };
            let d = vec3(next() as f32, next() as f32, next() as f32);
            let maps: [fn(&Transform, Vec3) -> Vec3; 2] = [Transform::vector, Transform::normal];
            for map in maps {
                let cone = motion.sweep(|t| Cone::from_direction(map(t, d).normalize()));
                narrow += u32::from(cone.cos > 0.9);
                for i in 0..=100 {
                    let direction = map(&motion.at(0.1 + 0.008 * i as f32), d);
                    assert!(cone.contains(direction), "{cone:?} lacks {direction}");
                }
            }
        }
        assert!(narrow > 60, "{narrow}");
    }

    #[test]
    fn transforms_without_interpolation_are_errors() {
        let error = |end| {
            Motion::new([DAffine3::IDENTITY, end], [0.0, 1.0], [0.0, 1.0]).map(drop).unwrap_err()
        };
        assert_eq!(error(DAffine3::from_scale(dvec3(1.0, -1.0, 1.0))), MotionError::Mirrored);
        assert_eq!(error(DAffine3::from_scale(dvec3(1.0, 0.0, 1.0))), MotionError::Singular);
    }
}
