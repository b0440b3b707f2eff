//! The current transformation matrix (CTM): affine transforms at the start and end times of
//! `TransformTimes`, in double precision.
//!
//! As in pbrt, transforms act on column vectors, and directives multiply from the right:
//! `CTM ← CTM · M`. Matrices are in column-major order. The camera looks along +z of a left-handed
//! frame.

use super::diagnostics::{Location, SceneError};
use super::file::parse::ActiveTransform;
use glam::{DAffine3, DMat3, DQuat, DVec3};

/// A transform with an inverse, or why there is none. Faults are errors only where an entity uses
/// the transform: files contain others, such as a scale of 0 around an empty block.
pub type CheckedTransform = Result<DAffine3, TransformFault>;

/// Why a transform cannot be used, and the directive at fault.
#[derive(Clone, Debug)]
pub struct TransformFault {
    reason: &'static str,
    keyword: &'static str,
    location: Location,
}

impl TransformFault {
    /// Creates the error for an entity that uses the transform: `user` describes the entity at
    /// `location`.
    pub fn error(&self, location: &Location, user: &str) -> SceneError {
        let TransformFault { reason, keyword, location: origin } = self;
        SceneError::at(location, format!("the transform of this {user} cannot be used: {reason}"))
            .help(format!(
                "correct {keyword} at {origin}; transforms must be affine, invertible and finite"
            ))
    }
}

/// The current transformation matrix at the start and end times.
#[derive(Clone, Debug)]
pub struct Ctm {
    /// Transforms at the start and end times of `TransformTimes`.
    pub transforms: [CheckedTransform; 2],
    /// The transforms that directives modify.
    pub active: ActiveTransform,
}

impl Default for Ctm {
    fn default() -> Ctm {
        Ctm {
            transforms: [Ok(DAffine3::IDENTITY), Ok(DAffine3::IDENTITY)],
            active: ActiveTransform::All,
        }
    }
}

impl Ctm {
    /// Multiplies the active transforms by `map`, from the directive `keyword` at `location`.
    pub fn concat(
        &mut self,
        map: Result<DAffine3, &'static str>,
        keyword: &'static str,
        location: &Location,
    ) {
        self.update(keyword, location, |m| map.map(|map| m * map));
    }

    /// Replaces the active transforms by `map`, from the directive `keyword` at `location`.
    pub fn replace(
        &mut self,
        map: Result<DAffine3, &'static str>,
        keyword: &'static str,
        location: &Location,
    ) {
        for transform in self.active_transforms() {
            *transform = Ok(DAffine3::IDENTITY);
        }
        self.concat(map, keyword, location);
    }

    /// Applies `change` to the active transforms that can be used.
    fn update(
        &mut self,
        keyword: &'static str,
        location: &Location,
        change: impl Fn(DAffine3) -> Result<DAffine3, &'static str>,
    ) {
        let fault = |reason| TransformFault { reason, keyword, location: location.clone() };
        for transform in self.active_transforms() {
            if let Ok(m) = *transform {
                *transform = change(m).and_then(check_invertible).map_err(fault);
            }
        }
    }

    fn active_transforms(&mut self) -> &mut [CheckedTransform] {
        match self.active {
            ActiveTransform::All => &mut self.transforms,
            ActiveTransform::StartTime => &mut self.transforms[..1],
            ActiveTransform::EndTime => &mut self.transforms[1..],
        }
    }

    /// Whether the two transforms differ.
    pub fn is_animated(&self) -> bool {
        match &self.transforms {
            [Ok(start), Ok(end)] => start != end,
            [start, end] => start.is_ok() || end.is_ok(),
        }
    }
}

/// Returns the transform if it and its inverse are finite.
fn check_invertible(transform: DAffine3) -> Result<DAffine3, &'static str> {
    // Columns are scaled to unit length first, so that extreme scales do not look
    // singular.
    let scale = |v: DVec3| if v.length_recip().is_finite() { v / v.length() } else { DVec3::ZERO };
    let m = transform.matrix3;
    let unit = DMat3::from_cols(scale(m.x_axis), scale(m.y_axis), scale(m.z_axis)).determinant();
    match () {
        () if !transform.is_finite() => Err("it is not finite"),
        () if unit.abs() < 1e-12 => Err("it is singular"),
        () if !transform.inverse().is_finite() => Err("it is out of range"),
        () => Ok(transform),
    }
}

/// Converts a 4×4 matrix in column-major order. Fails unless the last row is a multiple of
/// (0, 0, 0, 1) within rounding.
pub fn from_matrix(m: &[f64; 16]) -> Result<DAffine3, &'static str> {
    let w = m[15];
    let largest = m.iter().fold(0.0_f64, |a, x| a.max(x.abs()));
    if w == 0.0 || [m[3], m[7], m[11]].iter().any(|x| x.abs() > 1e-6 * largest.max(w.abs())) {
        return Err("the matrix is not affine: its last row must be 0 0 0 1");
    }
    let column = |i: usize| DVec3::new(m[4 * i], m[4 * i + 1], m[4 * i + 2]) / w;
    Ok(DAffine3 {
        matrix3: DMat3::from_cols(column(0), column(1), column(2)),
        translation: column(3),
    })
}

/// Returns the rotation by `angle` degrees about an axis, by the right-hand rule. Fails if the axis
/// cannot be normalized.
pub fn rotate([angle, x, y, z]: [f64; 4]) -> Result<DAffine3, &'static str> {
    let axis =
        DVec3::new(x, y, z).try_normalize().ok_or("the rotation axis cannot be normalized")?;
    let (sin, cos) = libm::sincos((0.5 * (angle % 360.0)).to_radians());
    Ok(DAffine3::from_quat(DQuat::from_vec4((sin * axis).extend(cos))))
}

/// Returns the camera-from-world transform of a camera at `eye` that looks at `target` along +z,
/// with `up` towards +y. Fails if `eye` and `target` coincide, or if `up` is parallel to the view
/// direction.
pub fn look_at(v: [f64; 9]) -> Result<DAffine3, &'static str> {
    let [eye, target, up] = [0, 3, 6].map(|i| DVec3::new(v[i], v[i + 1], v[i + 2]));
    let forward = (target - eye).try_normalize().ok_or("eye and target of LookAt coincide")?;
    let up = up.try_normalize().ok_or("the up vector cannot be normalized")?;
    let right = up.cross(forward);
    if right.length() < 1e-9 {
        return Err("the up vector is parallel to the view direction");
    }
    let right = right.normalize();
    let world_from_camera = DAffine3 {
        matrix3: DMat3::from_cols(right, forward.cross(right), forward),
        translation: eye,
    };
    Ok(world_from_camera.inverse())
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::dvec3;

    fn close(a: DVec3, b: DVec3) -> bool {
        (a - b).length() < 1e-12
    }

    #[test]
    fn look_at_is_left_handed_camera_from_world() {
        let m = look_at([0.0, 0.0, -5.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]).unwrap();
        assert!(close(m.transform_point3(dvec3(0.0, 0.0, -5.0)), DVec3::ZERO));
        assert!(close(m.transform_point3(DVec3::ZERO), dvec3(0.0, 0.0, 5.0)));
        assert!(close(m.transform_point3(dvec3(1.0, 2.0, 0.0)), dvec3(1.0, 2.0, 5.0)));
        // A general view: the target is on +z, and the frame is orthonormal.
        let m = look_at([1.0, 2.0, 3.0, -4.0, 0.5, 2.0, 0.2, 1.0, 0.1]).unwrap();
        let distance = (dvec3(1.0, 2.0, 3.0) - dvec3(-4.0, 0.5, 2.0)).length();
        assert!(close(m.transform_point3(dvec3(-4.0, 0.5, 2.0)), dvec3(0.0, 0.0, distance)));
        assert!((m.matrix3.determinant() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn rotation_follows_the_right_hand_rule() {
        let m = rotate([90.0, 0.0, 0.0, 2.0]).unwrap();
        assert!(close(m.transform_vector3(DVec3::X), DVec3::Y));
        assert!(rotate([90.0, 0.0, 0.0, 0.0]).is_err());
        assert!(rotate([1e300, 1.0, 0.0, 0.0]).unwrap().is_finite());
    }

    #[test]
    fn matrix_is_column_major_and_divided_by_w() {
        let mut m =
            [2.0, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 6.0, 0.0, 8.0, 10.0, 12.0, 2.0];
        let a = from_matrix(&m).unwrap();
        assert_eq!((a.translation, a.matrix3.y_axis), (dvec3(4.0, 5.0, 6.0), dvec3(0.0, 2.0, 0.0)));
        m[3] = 0.5;
        assert!(from_matrix(&m).is_err());
        (m[3], m[15]) = (0.0, 0.0);
        assert!(from_matrix(&m).is_err());
    }

    fn location() -> Location {
        Location::new(crate::diagnostics::Source::memory("a.pbrt", ""), 7, 1)
    }

    fn scaled(mut ctm: Ctm, x: f64, y: f64, z: f64) -> Ctm {
        ctm.concat(Ok(DAffine3::from_scale(dvec3(x, y, z))), "Scale", &location());
        ctm
    }

    #[test]
    fn directives_multiply_active_transforms_from_the_right() {
        let mut ctm = Ctm::default();
        let translation = DAffine3::from_translation(dvec3(1.0, 0.0, 0.0));
        ctm.concat(Ok(translation), "Translate", &location());
        assert!(!ctm.is_animated());
        ctm.active = ActiveTransform::EndTime;
        let ctm = scaled(ctm, 2.0, 2.0, 2.0);
        assert!(ctm.is_animated());
        let points = ctm.transforms.map(|m| m.unwrap().transform_point3(DVec3::X));
        assert_eq!(points, [dvec3(2.0, 0.0, 0.0), dvec3(3.0, 0.0, 0.0)]);
    }

    #[test]
    fn singular_and_out_of_range_transforms_are_faults() {
        let is_usable = |x, y, z| scaled(Ctm::default(), x, y, z).transforms[0].is_ok();
        assert!(!is_usable(1.0, 0.0, 1.0) && !is_usable(1e300, 1e300, 1e300));
        assert!(is_usable(1e-30, 1.0, 1e20) && is_usable(-1.0, 1.0, 1.0));
        let shear = DMat3::from_cols(DVec3::X, dvec3(1.0, 1.0, 0.0), dvec3(2.0, 1.0, 0.0));
        let mut sheared = Ctm::default();
        sheared.concat(Ok(DAffine3::from_mat3(shear)), "ConcatTransform", &location());
        assert!(sheared.transforms[0].is_err());
    }

    #[test]
    fn faults_name_the_first_directive_and_end_with_a_replacement() {
        let mut ctm = scaled(Ctm::default(), 0.0, 1.0, 1.0);
        ctm.concat(rotate([90.0, 0.0, 0.0, 0.0]), "Rotate", &location());
        let error = ctm.transforms[0].as_ref().unwrap_err().error(&location(), "sphere");
        assert_eq!(error.message(), "the transform of this sphere cannot be used: it is singular");
        assert!(error.remedy().unwrap().contains("correct Scale at a.pbrt:7:1"));
        assert!(!ctm.is_animated());
        ctm.active = ActiveTransform::StartTime;
        ctm.replace(Ok(DAffine3::IDENTITY), "Identity", &location());
        assert!(ctm.transforms[0].is_ok() && ctm.transforms[1].is_err() && ctm.is_animated());
    }
}
