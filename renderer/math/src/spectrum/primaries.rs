//! RGB colour spaces: the chromaticities of their primaries and white, and conversions.
//!
//! Light keeps its chromaticity when it is converted: the matrix is that of the XYZ of both spaces,
//! without chromatic adaptation. A *reflectance* is a colour relative to the white of its space, so
//! (1, 1, 1) stays (1, 1, 1): between spaces with different whites it is adapted by the Bradford
//! transform (Lam 1985, *Metamerism and colour constancy*). pbrt-v4 follows the same conventions
//! with spectra: the RGB of a light is multiplied by the illuminant of its colour space, a
//! reflectance is not. Chromaticities are those of pbrt-v4 (util/colorspace.cpp); AP1 is from the
//! Academy's S-2014-004.

use glam::{DMat3, DVec3};

/// A chromaticity: CIE 1931 x and y.
pub type Chromaticity = [f64; 2];

/// CIE illuminant D65.
pub(super) const D65: Chromaticity = [0.3127, 0.3290];

/// The white of the ACES colour spaces, near D60.
const ACES_WHITE: Chromaticity = [0.32168, 0.33767];

/// Primaries count as collinear below this determinant, which is twice the area of their triangle in
/// the chromaticity diagram.
const MIN_DETERMINANT: f64 = 1e-6;

/// The primaries and the white of an RGB colour space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Primaries {
    /// Red.
    pub red: Chromaticity,
    /// Green.
    pub green: Chromaticity,
    /// Blue.
    pub blue: Chromaticity,
    /// The colour of (1, 1, 1).
    pub white: Chromaticity,
}

impl Primaries {
    /// sRGB, BT.709.
    pub const SRGB: Primaries =
        Primaries { red: [0.64, 0.33], green: [0.3, 0.6], blue: [0.15, 0.06], white: D65 };
    /// DCI-P3 with the white of displays, D65.
    pub const DCI_P3: Primaries =
        Primaries { red: [0.68, 0.32], green: [0.265, 0.69], blue: [0.15, 0.06], white: D65 };
    /// BT.2020.
    pub const REC_2020: Primaries =
        Primaries { red: [0.708, 0.292], green: [0.17, 0.797], blue: [0.131, 0.046], white: D65 };
    /// ACES 2065-1, with the primaries AP0 (SMPTE ST 2065-1).
    pub const ACES_2065_1: Primaries = Primaries {
        red: [0.7347, 0.2653],
        green: [0.0, 1.0],
        blue: [0.0001, -0.077],
        white: ACES_WHITE,
    };
    /// ACEScg, with the primaries AP1.
    pub const ACES_CG: Primaries = Primaries {
        red: [0.713, 0.293],
        green: [0.165, 0.83],
        blue: [0.128, 0.044],
        white: ACES_WHITE,
    };

    /// Returns the matrix from RGB to XYZ; (1, 1, 1) has a luminance of 1. `None` if the primaries
    /// are collinear, or white is not a chromaticity.
    pub fn xyz_from_rgb(&self) -> Option<DMat3> {
        let [r, g, b] =
            [self.red, self.green, self.blue].map(|[x, y]| DVec3::new(x, y, 1.0 - x - y));
        let primaries = DMat3::from_cols(r, g, b);
        if primaries.determinant().abs() < MIN_DETERMINANT {
            return None;
        }
        let scale = primaries.inverse() * xyz_of_white(self.white);
        let matrix = primaries * DMat3::from_diagonal(scale);
        (matrix.is_finite() && matrix.inverse().is_finite()).then_some(matrix)
    }

    /// Returns the matrix that converts light from this colour space to another; `None` if either
    /// has no matrix.
    pub fn light_to(&self, other: &Primaries) -> Option<DMat3> {
        Some(other.xyz_from_rgb()?.inverse() * self.xyz_from_rgb()?)
    }

    /// Returns the matrix that converts reflectances from this colour space to another; `None` if
    /// either has no matrix.
    pub fn reflectance_to(&self, other: &Primaries) -> Option<DMat3> {
        let adaptation = white_balance(self.white, other.white);
        Some(other.xyz_from_rgb()?.inverse() * adaptation * self.xyz_from_rgb()?)
    }
}

/// Returns the XYZ of a chromaticity at luminance 1.
fn xyz_of_white([x, y]: Chromaticity) -> DVec3 {
    DVec3::new(x / y, 1.0, (1.0 - x - y) / y)
}

/// Returns the matrix on XYZ that makes one white appear as another: the Bradford transform.
pub fn white_balance(from: Chromaticity, to: Chromaticity) -> DMat3 {
    const CONES_FROM_XYZ: DMat3 = DMat3::from_cols(
        DVec3::new(0.8951, -0.7502, 0.0389),
        DVec3::new(0.2664, 1.7135, -0.0685),
        DVec3::new(-0.1614, 0.0367, 1.0296),
    );
    if from == to {
        return DMat3::IDENTITY;
    }
    let cones = |white| CONES_FROM_XYZ * xyz_of_white(white);
    let gain = DMat3::from_diagonal(cones(to) / cones(from));
    CONES_FROM_XYZ.inverse() * gain * CONES_FROM_XYZ
}

#[cfg(test)]
mod tests {
    use super::super::{RGB_FROM_XYZ, Spectrum, cie, illuminants, reflectance_rgb, wavelengths};
    use super::*;

    const ALL: [Primaries; 5] = [
        Primaries::SRGB,
        Primaries::DCI_P3,
        Primaries::REC_2020,
        Primaries::ACES_2065_1,
        Primaries::ACES_CG,
    ];

    fn difference(a: DMat3, b: DMat3) -> f64 {
        (a - b).to_cols_array().into_iter().map(f64::abs).fold(0.0, f64::max)
    }

    #[test]
    fn matrices_match_the_standards() {
        let srgb = Primaries::SRGB.xyz_from_rgb().unwrap();
        assert!(difference(srgb.inverse(), RGB_FROM_XYZ) < 6e-4, "{}", srgb.inverse());
        // SMPTE ST 2065-1, annex; rounded to ten digits there.
        let aces = Primaries::ACES_2065_1.xyz_from_rgb().unwrap();
        let expected = DMat3::from_cols(
            DVec3::new(0.952_552_395_9, 0.343_966_449_8, 0.0),
            DVec3::new(0.0, 0.728_166_096_6, 0.0),
            DVec3::new(0.000_093_678_6, -0.072_132_546_4, 1.008_825_184_4),
        );
        assert!(difference(aces, expected) < 1e-9, "{aces}");
        // BT.2087: BT.2020 from BT.709.
        let rec2020 = Primaries::SRGB.light_to(&Primaries::REC_2020).unwrap();
        let expected = DMat3::from_cols(
            DVec3::new(0.6274, 0.0691, 0.0164),
            DVec3::new(0.3293, 0.9195, 0.0880),
            DVec3::new(0.0433, 0.0114, 0.8956),
        );
        assert!(difference(rec2020, expected) < 1e-4, "{rec2020}");
    }

    #[test]
    fn white_reflectances_stay_white_and_light_keeps_its_chromaticity() {
        for (from, to) in ALL.iter().flat_map(|from| ALL.iter().map(move |to| (from, to))) {
            let white = from.reflectance_to(to).unwrap() * DVec3::ONE;
            assert!((white - 1.0).abs().max_element() < 1e-12, "{from:?} {to:?} {white}");
            let light = from.light_to(to).unwrap();
            assert!(difference(light * to.light_to(from).unwrap(), DMat3::IDENTITY) < 1e-12);
            let xyz = to.xyz_from_rgb().unwrap() * light * DVec3::ONE;
            assert!((xyz - xyz_of_white(from.white)).abs().max_element() < 1e-12);
        }
    }

    #[test]
    fn adapted_reflectances_are_close_to_their_spectra() {
        // Smooth reflectances: seen under the white of ACES, then converted, against seen under
        // D65.
        let aces_from_xyz = Primaries::ACES_2065_1.xyz_from_rgb().unwrap().inverse();
        let to_srgb = Primaries::ACES_2065_1.reflectance_to(&Primaries::SRGB).unwrap();
        let white = illuminants::daylight_of_chromaticity(ACES_WHITE[0], ACES_WHITE[1]);
        let mut worst = 0.0f64;
        for centre in (420..=680).step_by(20) {
            let bump = |nm: f32| {
                let t = (nm - centre as f32) / 60.0;
                0.2 + 0.6 * libm::expf(-t * t)
            };
            let reflectance = Spectrum::tabulate(wavelengths(), bump);
            let seen = |s: &dyn Fn(f32) -> f32| -> DVec3 {
                wavelengths()
                    .map(|nm| cie::colour_matching(f64::from(nm)) * f64::from(white.at(nm) * s(nm)))
                    .sum()
            };
            let rgb = (aces_from_xyz * seen(&bump)) / (aces_from_xyz * seen(&|_| 1.0));
            let error = to_srgb * rgb - reflectance_rgb(&reflectance).as_dvec3();
            worst = worst.max(error.abs().max_element());
        }
        assert!(worst < 0.01, "{worst}");
    }

    #[test]
    fn degenerate_primaries_have_no_matrix() {
        let line = Primaries { blue: [0.47, 0.465], ..Primaries::SRGB };
        assert_eq!(line.xyz_from_rgb(), None);
        let white = Primaries { white: [0.3, 0.0], ..Primaries::SRGB };
        assert_eq!(white.xyz_from_rgb(), None);
    }
}
