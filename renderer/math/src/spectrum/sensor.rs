//! Camera sensors and white balance.
//!
//! A sensor's spectral response is not a linear function of colour, so a renderer that computes in
//! RGB can only apply the 3 × 3 matrix that fits it best. pbrt-v4 (film.h) converts what its
//! sensors record by a matrix that is itself fitted to the true colours of 24 reflectances under
//! the light that the camera is balanced for. Therefore the best matrix is nearly the identity: for
//! the measured curves of all [`SENSORS`], its entries differ from those of the identity by at most
//! 0.003. We apply the white balance alone. The colours of these reflectances then differ from
//! pbrt-v4's as follows, as fractions of white:
//!
//! | light, white balance | RMS | maximum |
//! |---|---|---|
//! | D65, 6500 K | 0.007 to 0.010 | 0.020 to 0.036 |
//! | D50, 5000 K | 0.011 to 0.013 | 0.036 to 0.047 |
//! | D65, 5000 K | 0.012 to 0.017 | 0.033 to 0.047 |
//! | a black body of 2856 K, 6500 K | 0.011 to 0.024 | 0.031 to 0.099 |

use super::primaries::D65;
use super::{Chromaticity, Primaries, blackbody_xyz, illuminants, white_balance, xyz};
use glam::{DMat3, DVec3};

/// The sensors of pbrt-v4 other than `cie1931`, which is the ideal observer.
pub const SENSORS: [&str; 17] = [
    "canon_eos_100d",
    "canon_eos_1dx_mkii",
    "canon_eos_200d",
    "canon_eos_200d_mkii",
    "canon_eos_5d",
    "canon_eos_5d_mkii",
    "canon_eos_5d_mkiii",
    "canon_eos_5d_mkiv",
    "canon_eos_5ds",
    "canon_eos_m",
    "hasselblad_l1d_20c",
    "nikon_d810",
    "nikon_d850",
    "sony_ilce_6400",
    "sony_ilce_7m3",
    "sony_ilce_7rm3",
    "sony_ilce_9",
];

/// Lowest temperature of CIE daylight, kelvin. Whites below are those of black bodies.
const MIN_DAYLIGHT: f64 = 4000.0;

/// Returns the white of a colour temperature, as pbrt-v4 does for white balance: daylight above
/// 4000 K, else a black body. 6500 K is D65.
fn white_of_temperature(kelvin: f64) -> Chromaticity {
    if kelvin == 6500.0 {
        return D65;
    }
    let white = if illuminants::corrected_temperature(kelvin) < MIN_DAYLIGHT {
        blackbody_xyz(illuminants::corrected_temperature(kelvin))
    } else {
        xyz(&illuminants::daylight(kelvin))
    };
    let DVec3 { x, y, .. } = white / white.element_sum();
    [x, y]
}

/// Returns the matrix on light in linear sRGB that makes the white of a colour temperature appear
/// as the white of `image`, by the Bradford transform. `None` if they are the same.
pub fn white_balance_of_camera(kelvin: f64, image: &Primaries) -> Option<DMat3> {
    let from = white_of_temperature(kelvin);
    (from != image.white).then(|| {
        let xyz = Primaries::SRGB.xyz_from_rgb().expect("sRGB has a matrix");
        xyz.inverse() * white_balance(from, image.white) * xyz
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whites_of_temperatures_match_published_chromaticities() {
        // D50, D55, D75 (CIE 15), and black bodies.
        for (kelvin, x, y) in [
            (5000.0, 0.3457, 0.3585),
            (5500.0, 0.3324, 0.3474),
            (6500.0, 0.3127, 0.3290),
            (7500.0, 0.2990, 0.3149),
            (2856.0, 0.4476, 0.4074),
            (2000.0, 0.5267, 0.4133),
        ] {
            let [found_x, found_y] = white_of_temperature(kelvin);
            assert!(
                (found_x - x).abs() < 1e-3 && (found_y - y).abs() < 1e-3,
                "{kelvin}: {found_x} {found_y}"
            );
        }
        // D65 is the daylight of 6500 K.
        let [x, y] = white_of_temperature(6500.1);
        assert!((x - D65[0]).abs() < 1e-4 && (y - D65[1]).abs() < 2e-4, "{x} {y}");
    }

    #[test]
    fn balanced_light_is_white_in_the_image() {
        assert_eq!(white_balance_of_camera(6500.0, &Primaries::SRGB), None);
        for (kelvin, image) in [
            (3200.0, Primaries::SRGB),
            (5000.0, Primaries::REC_2020),
            (6500.0, Primaries::ACES_2065_1),
            (10000.0, Primaries::ACES_CG),
        ] {
            let balance = white_balance_of_camera(kelvin, &image).unwrap();
            let [x, y] = white_of_temperature(kelvin);
            let light = DVec3::new(x, y, 1.0 - x - y) / y;
            let srgb = Primaries::SRGB.xyz_from_rgb().unwrap().inverse() * light;
            let rgb = Primaries::SRGB.light_to(&image).unwrap() * (balance * srgb);
            assert!((rgb - 1.0).abs().max_element() < 1e-9, "{kelvin}: {rgb}");
        }
    }
}
