//! Sun and sky of a clear day.
//!
//! Preetham, Shirley and Smits 1999, *A Practical Analytic Model for Daylight*: the sky's luminance
//! and chromaticity by Perez' distribution, fitted to turbidity and solar angle; sunlight
//! attenuated by Rayleigh scattering, aerosols and ozone. Water vapour and mixed gases absorb
//! beyond 690 nm, where the eye sees next to nothing; they are left out. Turbidity is the ratio of
//! the optical depths of the hazy atmosphere and of clean air: 2 is very clear, 10 is hazy. The
//! model has no light from below the horizon. Here, the radiance of the horizon fades to black
//! within 6° below it, because texels show a sharp edge as a row of teeth; surfaces that face down
//! receive less than 1 % of what the ground does. The sky is two to three times as bright as
//! measured clear skies: at turbidity 2.5, the ground receives 23 klx from the sky if the sun is at
//! 30°, and 15 klx at 10°. The colours and the sun are more reliable.
//!
//! *Units*: radiance is relative to 1000 cd/m², so that a white surface in sunlight is about 30.

use super::LightError;
use super::octahedral::square_to_sphere;
use super::point::smoothstep;
use lightbound_math::spectrum::{RGB_FROM_XYZ, Spectrum, illuminant_rgb, photometric};
use lightbound_math::{Vec3, vec2};
use rayon::prelude::*;
use std::f64::consts::{FRAC_PI_2, PI};

/// Number of texels along a side of the sky's map.
const SIDE: usize = 512;

/// Sine of the angle below the horizon, 6°, within which the radiance of the horizon fades to 0.
/// Texels on the horizon are diamonds 0.4° high.
const FADE: f32 = 0.1045;

/// Solid angle of the sun, sr.
const SUN_SOLID_ANGLE: f64 = 6.79e-5;

/// A clear sky with its sun. The zenith is +z.
#[derive(Clone, Copy, Debug)]
pub struct Sky {
    sun: Vec3,
    turbidity: f64,
}

impl Sky {
    /// Creates a sky with a turbidity of 2 to 10. The sun is at `elevation` (0 to 90) degrees above
    /// the horizon and at `azimuth` degrees from +x towards +y.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub fn new(turbidity: f32, elevation: f32, azimuth: f32) -> Result<Sky, LightError> {
        let check = |name, value: f32, expected, is_valid| match is_valid {
            true => Ok(()),
            false => Err(LightError::Parameter { light: "sky", name, value, expected }),
        };
        let in_range = (2.0..=10.0).contains(&turbidity);
        check("turbidity", turbidity, "2 to 10", in_range)?;
        check("elevation", elevation, "0 to 90", (0.0..=90.0).contains(&elevation))?;
        check("azimuth", azimuth, "a finite angle", azimuth.is_finite())?;
        let [elevation, azimuth] = [elevation, azimuth].map(|x| f64::from(x).to_radians());
        let sun = glam::dvec3(
            libm::cos(elevation) * libm::cos(azimuth),
            libm::cos(elevation) * libm::sin(azimuth),
            libm::sin(elevation),
        );
        Ok(Sky { sun: sun.as_vec3(), turbidity: turbidity.into() })
    }

    /// Returns the unit direction to the sun.
    pub fn sun(&self) -> Vec3 {
        self.sun
    }

    /// Returns the angle between the sun and the zenith.
    fn solar_angle(&self) -> f64 {
        FRAC_PI_2 - libm::asin(f64::from(self.sun.z).clamp(0.0, 1.0))
    }

    /// Returns the radiance of the sky without the sun from a unit direction, linear sRGB.
    pub fn radiance(&self, direction: Vec3) -> Vec3 {
        let fade = smoothstep(1.0 + direction.z / FADE);
        if fade == 0.0 {
            return Vec3::ZERO;
        }
        let (t, solar) = (self.turbidity, self.solar_angle());
        let cos_gamma = f64::from(direction.dot(self.sun)).clamp(-1.0, 1.0);
        // Near the horizon Perez' function tends to a limit, but its terms overflow.
        let cos_theta = f64::from(direction.z).max(1e-3);
        let value = |coefficients: &Perez, zenith: f64| {
            let [a, b, c, d, e] = coefficients.map(|[slope, constant]| slope * t + constant);
            let perez = |cos_theta: f64, gamma: f64, cos_gamma: f64| {
                (1.0 + a * libm::exp(b / cos_theta))
                    * (1.0 + c * libm::exp(d * gamma) + e * cos_gamma * cos_gamma)
            };
            let above = perez(cos_theta, libm::acos(cos_gamma), cos_gamma);
            zenith * above / perez(1.0, solar, libm::cos(solar))
        };
        let chi = (4.0 / 9.0 - t / 120.0) * (PI - 2.0 * solar);
        let zenith_luminance = (4.0453 * t - 4.9710) * libm::tan(chi) - 0.2155 * t + 2.4192;
        let luminance = value(&PEREZ_LUMINANCE, zenith_luminance.max(0.0));
        let x = value(&PEREZ_X, zenith_chromaticity(&ZENITH_X, t, solar));
        let y = value(&PEREZ_Y, zenith_chromaticity(&ZENITH_Y, t, solar));
        let xyz = glam::dvec3(x / y, 1.0, (1.0 - x - y) / y) * luminance.max(0.0);
        // Colours outside the gamut of sRGB have negative components.
        fade * (RGB_FROM_XYZ * xyz).as_vec3().max(Vec3::ZERO)
    }

    /// Returns the texels of the sky as an equal-area octahedral map, row by row, and their number
    /// along a side. Works in parallel, on the current rayon pool.
    pub fn map(&self) -> (Vec<Vec3>, usize) {
        let texel = |i: usize| {
            let p = vec2((i % SIDE) as f32 + 0.5, (i / SIDE) as f32 + 0.5) / SIDE as f32;
            self.radiance(square_to_sphere(p))
        };
        ((0..SIDE * SIDE).into_par_iter().map(texel).collect(), SIDE)
    }

    /// Returns the irradiance of the sun on a surface that faces it, linear sRGB.
    pub fn sun_irradiance(&self) -> Vec3 {
        let solar = self.solar_angle();
        // Relative optical mass (Kasten 1966).
        let mass = 1.0 / (libm::cos(solar) + 0.15 * libm::pow(93.885 - solar.to_degrees(), -1.253));
        let beta = 0.046_083_658_220_5 * self.turbidity - 0.045_860_259_285;
        let every_10_nm = |values: &[f32]| {
            let points = values.iter().enumerate().flat_map(|(i, &v)| [380.0 + 10.0 * i as f32, v]);
            Spectrum::new(&points.collect::<Vec<_>>()).expect("the wavelengths increase")
        };
        let (above, ozone) = (every_10_nm(&SUN), every_10_nm(&OZONE));
        let radiance = |nm: f32| {
            let um = f64::from(nm) * 1e-3;
            let rayleigh = 0.008_735 * libm::pow(um, -4.08);
            let aerosol = beta * libm::pow(um, -1.3);
            // A layer of 3.5 mm.
            let ozone = 0.35 * f64::from(ozone.at(nm));
            100.0 * f64::from(above.at(nm)) * libm::exp(-(rayleigh + aerosol + ozone) * mass)
        };
        let points: Vec<f32> =
            (380..=750).step_by(5).flat_map(|nm| [nm as f32, radiance(nm as f32) as f32]).collect();
        let spectrum = Spectrum::new(&points).expect("the wavelengths increase");
        let kilolux = 1e-3 * photometric(&spectrum) * SUN_SOLID_ANGLE;
        illuminant_rgb(&spectrum) * kilolux as f32
    }
}

/// Returns a chromaticity of the zenith.
fn zenith_chromaticity(coefficients: &[[f64; 4]; 3], t: f64, solar: f64) -> f64 {
    let polynomial = |[a, b, c, d]: [f64; 4]| ((a * solar + b) * solar + c) * solar + d;
    let [square, linear, constant] = coefficients.map(polynomial);
    (square * t + linear) * t + constant
}

/// Slope and constant of Perez' coefficients A to E over turbidity.
type Perez = [[f64; 2]; 5];

const PEREZ_LUMINANCE: Perez =
    [[0.1787, -1.4630], [-0.3554, 0.4275], [-0.0227, 5.3251], [0.1206, -2.5771], [-0.0670, 0.3703]];
const PEREZ_X: Perez = [
    [-0.0193, -0.2592],
    [-0.0665, 0.0008],
    [-0.0004, 0.2125],
    [-0.0641, -0.8989],
    [-0.0033, 0.0452],
];
const PEREZ_Y: Perez = [
    [-0.0167, -0.2608],
    [-0.0950, 0.0092],
    [-0.0079, 0.2102],
    [-0.0441, -1.6537],
    [-0.0109, 0.0529],
];

/// Coefficients of T², T and 1, each a cubic polynomial of the solar angle.
const ZENITH_X: [[f64; 4]; 3] = [
    [0.001_66, -0.003_75, 0.002_09, 0.0],
    [-0.029_03, 0.063_77, -0.032_02, 0.003_94],
    [0.116_93, -0.211_96, 0.060_52, 0.258_86],
];
const ZENITH_Y: [[f64; 4]; 3] = [
    [0.002_75, -0.006_10, 0.003_17, 0.0],
    [-0.042_14, 0.089_70, -0.041_53, 0.005_16],
    [0.153_46, -0.267_56, 0.066_70, 0.266_88],
];

/// Radiance of the sun above the atmosphere, 100 W·sr⁻¹·m⁻²·nm⁻¹, every 10 nm from 380 nm.
const SUN: [f32; 38] = [
    165.5, 162.3, 211.2, 258.8, 258.2, 242.3, 267.6, 296.6, 305.4, 300.6, 306.6, 288.3, 287.1,
    278.2, 271.0, 272.3, 263.6, 255.0, 250.6, 253.1, 253.5, 251.3, 246.3, 241.7, 236.8, 232.1,
    228.2, 223.4, 219.7, 215.3, 211.0, 207.3, 202.4, 198.7, 194.3, 190.7, 186.3, 182.6,
];

/// Absorption of ozone, 1/cm, every 10 nm from 380 nm.
const OZONE: [f32; 38] = [
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.003, 0.006, 0.009, 0.014, 0.021, 0.03, 0.04, 0.048, 0.063,
    0.075, 0.085, 0.103, 0.12, 0.12, 0.115, 0.125, 0.12, 0.105, 0.09, 0.079, 0.067, 0.057, 0.048,
    0.036, 0.028, 0.023, 0.018, 0.014, 0.011, 0.01, 0.009,
];

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::spectrum::luminance;

    /// Returns the illuminances of the sky on horizontal surfaces that face up and down, in kilolux.
    fn sky_illuminances(sky: &Sky) -> [f32; 2] {
        let (texels, side) = sky.map();
        let mut sums = [0.0; 2];
        for (i, texel) in texels.iter().enumerate() {
            let p = vec2((i % side) as f32 + 0.5, (i / side) as f32 + 0.5) / side as f32;
            let z = square_to_sphere(p).z;
            sums[usize::from(z < 0.0)] += f64::from(luminance(*texel) * z.abs());
        }
        sums.map(|sum| (4.0 * PI * sum / texels.len() as f64) as f32)
    }

    #[test]
    fn the_horizon_fades_out_and_the_ground_receives_what_the_model_says() {
        for elevation in [60.0, 30.0, 10.0] {
            let sky = Sky::new(2.5, elevation, 30.0).unwrap();
            // By midpoints of z² and azimuth, above the horizon only.
            const N: u16 = 400;
            let midpoint = |i: u16| (f32::from(i) + 0.5) / f32::from(N);
            let mut expected = 0.0;
            for (z2, turn) in (0..N).flat_map(|i| (0..N).map(move |j| (midpoint(i), midpoint(j)))) {
                let (phi, r) = (2.0 * std::f32::consts::PI * turn, (1.0 - z2).sqrt());
                let direction = Vec3::new(r * phi.cos(), r * phi.sin(), z2.sqrt());
                expected += PI * f64::from(luminance(sky.radiance(direction)));
            }
            expected /= f64::from(N) * f64::from(N);
            let [up, down] = sky_illuminances(&sky).map(f64::from);
            assert!((up / expected - 1.0).abs() < 0.01, "{elevation}: {up}, not {expected}");
            assert!(down > 0.0 && down < 0.01 * up, "{elevation}: {down} from below, {up}");
            // Every 0.1° from 2° above to 8° below the horizon.
            let radiances: Vec<f32> = (-20..=80)
                .map(|i| (0.1 * i as f32).to_radians())
                .map(|angle| luminance(sky.radiance(Vec3::new(angle.cos(), 0.0, -angle.sin()))))
                .collect();
            let largest = radiances.iter().fold(0.0f32, |a, &b| a.max(b));
            for pair in radiances.windows(2) {
                assert!((pair[1] - pair[0]).abs() < 0.04 * largest, "{elevation}: {pair:?}");
            }
            assert_eq!(radiances[80], 0.0);
        }
    }

    #[test]
    fn maps_are_the_same_with_any_number_of_threads() {
        let sky = Sky::new(3.0, 40.0, 70.0).unwrap();
        let map = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| sky.map().0)
        };
        assert!(map(1) == map(3));
    }

    #[test]
    fn illuminances_are_those_of_clear_days() {
        // Sun on a surface that faces it, and sky on the ground, in kilolux. Clear days have 90 to
        // 110 and 5 to 20. The model's sky is too bright.
        for (elevation, sun, sky) in [
            (60.0, 88.0..112.0, 8.0..30.0),
            (30.0, 65.0..90.0, 8.0..26.0),
            (10.0, 20.0..60.0, 2.0..20.0),
        ] {
            let day = Sky::new(2.5, elevation, 30.0).unwrap();
            let found = (luminance(day.sun_irradiance()), sky_illuminances(&day)[0]);
            assert!(sun.contains(&found.0) && sky.contains(&found.1), "{elevation}: {found:?}");
        }
    }

    #[test]
    fn skies_are_blue_and_low_suns_are_red() {
        let ratio = |rgb: Vec3| rgb.z / rgb.x;
        let noon = Sky::new(2.5, 60.0, 0.0).unwrap();
        assert!(ratio(noon.radiance(Vec3::new(-0.6, 0.0, 0.8))) > 1.5);
        let suns =
            [60.0, 20.0, 5.0, 0.0].map(|e| ratio(Sky::new(2.5, e, 0.0).unwrap().sun_irradiance()));
        assert!(suns.is_sorted_by(|a, b| a > b) && suns[0] > 0.7 && suns[3] < 0.05, "{suns:?}");
        let hazy = Sky::new(9.0, 60.0, 0.0).unwrap();
        assert!(luminance(hazy.sun_irradiance()) < 0.7 * luminance(noon.sun_irradiance()));
    }

    #[test]
    fn the_sky_is_brightest_around_the_sun_and_black_below() {
        let sky = Sky::new(3.0, 30.0, 90.0).unwrap();
        let near = sky.radiance((sky.sun() + 0.1 * Vec3::Z).normalize());
        assert!(luminance(near) > 3.0 * luminance(sky.radiance(Vec3::Z)));
        assert!((sky.sun() - Vec3::new(0.0, 0.75f32.sqrt(), 0.5)).length() < 1e-6);
        assert_eq!(sky.radiance(-Vec3::Z), Vec3::ZERO);
        for (elevation, turbidity) in [(0.0, 2.0), (0.0, 10.0), (90.0, 2.0), (90.0, 10.0)] {
            let sky = Sky::new(turbidity, elevation, 0.0).unwrap();
            assert!(sky.map().0.iter().all(|t| t.is_finite() && t.min_element() >= 0.0));
            assert!(sky.sun_irradiance().is_finite());
        }
    }

    #[test]
    fn parameters_out_of_range_are_errors() {
        for (turbidity, elevation, azimuth) in [
            (1.9, 1.0, 0.0),
            (10.1, 1.0, 0.0),
            (3.0, -1.0, 0.0),
            (3.0, 91.0, 0.0),
            (3.0, 1.0, f32::NAN),
        ] {
            assert!(Sky::new(turbidity, elevation, azimuth).is_err());
        }
    }
}
