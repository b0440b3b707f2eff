//! Tone mapping: from scene-linear radiance to the linear light of a display, 0 to 1.
//!
//! Both curves take and return linear sRGB (Rec. 709 primaries). They work on single pixels, so
//! they keep no state and need no statistics of the image.

/// Returns the factor of an exposure in stops: a power of 2.
pub fn exposure_gain(stops: f32) -> f32 {
    libm::exp2f(stops)
}

/// A curve from radiance to display light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToneMap {
    /// The identity; values above 1 clip where the file format has no room for them.
    #[default]
    None,
    /// AgX by Troy Sobotka: bright colours lose saturation as on film, and hues hold. The sigmoid
    /// is the polynomial of Wrensch 2024, "Minimal AgX implementation", which three.js and Filament
    /// also use.
    Agx,
    /// The reference rendering transform of ACES 1.0 with the output transform for sRGB at 100
    /// cd·m⁻², in the fit by Stephen Hill (Pettineo & Hill 2017, `ACES.hlsl` of BakingLab).
    Aces,
}

type Matrix = [[f32; 3]; 3];

/// sRGB to the inset primaries of AgX, row by row (Wrensch 2024).
const AGX_INSET: Matrix = [
    [0.842_479_06, 0.078_433_6, 0.079_223_745],
    [0.042_328_242, 0.878_468_64, 0.079_166_13],
    [0.042_375_655, 0.078_433_6, 0.879_143],
];

/// The inverse of [`AGX_INSET`].
const AGX_OUTSET: Matrix = [
    [1.196_879, -0.098_020_88, -0.099_029_74],
    [-0.052_896_85, 1.151_903_1, -0.098_961_18],
    [-0.052_971_635, -0.098_043_45, 1.151_073_7],
];

/// Binary logarithms of the radiance that AgX maps to 0 and to 1: 10 stops below and 6.5 stops
/// above 0.18.
const AGX_STOPS: [f32; 2] = [-12.473_93, 4.026_069];

/// sRGB to the ACES rendering primaries, with the desaturation of the RRT, row by row.
const ACES_INPUT: Matrix =
    [[0.597_19, 0.354_58, 0.048_23], [0.076, 0.908_34, 0.015_66], [0.028_4, 0.133_83, 0.837_77]];

/// From there back to sRGB, with the desaturation of the output transform.
const ACES_OUTPUT: Matrix = [
    [1.604_75, -0.531_08, -0.073_67],
    [-0.102_08, 1.108_13, -0.006_05],
    [-0.003_27, -0.072_76, 1.076_02],
];

impl ToneMap {
    /// Maps a linear colour; the curves return values from 0 to 1.
    ///
    /// Negative and infinite values are within the domain. A colour with a NaN is NaN.
    pub fn apply(self, rgb: [f32; 3]) -> [f32; 3] {
        // Infinities would cancel in the matrices.
        let finite = || rgb.map(|x| if x.is_nan() { x } else { x.clamp(0.0, 1e30) });
        match self {
            ToneMap::None => rgb,
            ToneMap::Agx => {
                let encoded = transform(&AGX_INSET, finite()).map(|x| agx_sigmoid(agx_log(x)));
                // The curve yields values for a display with the exponent 2.2.
                transform(&AGX_OUTSET, encoded).map(|x| libm::powf(x.clamp(0.0, 1.0), 2.2))
            }
            ToneMap::Aces => {
                let curve = transform(&ACES_INPUT, finite()).map(aces_curve);
                transform(&ACES_OUTPUT, curve).map(|x| x.clamp(0.0, 1.0))
            }
        }
    }
}

fn transform(matrix: &Matrix, v: [f32; 3]) -> [f32; 3] {
    matrix.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}

/// Position of a radiance between [`AGX_STOPS`], from 0 to 1.
fn agx_log(x: f32) -> f32 {
    let [lo, hi] = AGX_STOPS;
    let stops = if x.is_nan() { x } else { libm::log2f(x.max(f32::MIN_POSITIVE)) };
    (stops.clamp(lo, hi) - lo) / (hi - lo)
}

/// The sigmoid of AgX's default contrast; mean squared error 3.7·10⁻⁶ (Wrensch 2024).
fn agx_sigmoid(x: f32) -> f32 {
    const COEFFICIENTS: [f32; 7] = [15.5, -40.14, 31.96, -6.868, 0.429_8, 0.119_1, -0.002_32];
    COEFFICIENTS.iter().fold(0.0, |sum, c| sum * x + c)
}

/// Hill's rational fit of the RRT and ODT curves.
fn aces_curve(x: f32) -> f32 {
    // Both polynomials overflow above 1e19, where the curve has reached its limit.
    let x = if x.is_nan() { x } else { x.min(1e10) };
    (x * (x + 0.024_578_6) - 0.000_090_537) / (x * (0.983_729 * x + 0.432_951) + 0.238_081)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURVES: [ToneMap; 2] = [ToneMap::Agx, ToneMap::Aces];

    fn grey(map: ToneMap, x: f32) -> f32 {
        let [r, g, b] = map.apply([x; 3]);
        assert!((r - g).abs() < 1e-3 && (r - b).abs() < 1e-3, "{map:?} tints {x}: {r} {g} {b}");
        g
    }

    /// Evaluated in double precision from the published formulas.
    #[test]
    fn curves_have_the_published_values() {
        for (map, x, expected) in [
            (ToneMap::Agx, 0.18, 0.2145),
            (ToneMap::Agx, 1.0, 0.5902),
            (ToneMap::Aces, 0.18, 0.1056),
            (ToneMap::Aces, 1.0, 0.6191),
        ] {
            let y = grey(map, x);
            assert!((y - expected).abs() < 5e-4, "{map:?} {x}: {y}");
        }
    }

    #[test]
    fn greys_stay_grey_and_rise_from_black_to_white() {
        for map in CURVES {
            let values: Vec<f32> =
                (-160..=160).map(|i| grey(map, libm::exp2f(i as f32 / 10.0))).collect();
            assert!(values.windows(2).all(|w| w[0] <= w[1]), "{map:?}");
            assert!(values[0] < 1e-3 && values[320] > 0.99, "{map:?}: {values:?}");
        }
    }

    #[test]
    fn results_are_within_the_display_for_any_input() {
        let inputs = [0.0, -1.0, 1e-30, 0.5, 7.0, 1e20, f32::MAX, f32::INFINITY, -f32::INFINITY];
        for map in CURVES {
            for (r, g) in inputs.into_iter().flat_map(|r| inputs.map(|g| (r, g))) {
                let out = map.apply([r, g, 0.25]);
                assert!(out.iter().all(|x| (0.0..=1.0).contains(x)), "{map:?} {r} {g}: {out:?}");
            }
            assert!(map.apply([1.0, f32::NAN, 0.0]).iter().all(|x| x.is_nan()), "{map:?}");
        }
        assert_eq!(ToneMap::None.apply([-1.0, 2.0, 1e9]), [-1.0, 2.0, 1e9]);
    }

    #[test]
    fn agx_matrices_are_inverses() {
        for (i, unit) in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].iter().enumerate() {
            let back = transform(&AGX_OUTSET, transform(&AGX_INSET, *unit));
            let error = (0..3).map(|c| (back[c] - unit[c]).abs()).fold(0.0, f32::max);
            assert!(error < 1e-5, "column {i}: {back:?}");
        }
    }

    /// A saturated bright red turns lighter instead of clipping to pure red.
    #[test]
    fn bright_colours_lose_saturation() {
        let [r, g, b] = ToneMap::Agx.apply([50.0, 0.5, 0.5]);
        assert!(r > 0.9 && g > 0.2 && b > 0.2, "{r} {g} {b}");
    }
}
