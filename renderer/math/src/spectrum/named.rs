//! The named spectra of pbrt-v4 scenes (util/spectrum.cpp).

use super::illuminants::{
    FLUORESCENT_COUNT, daylight, daylight_of_chromaticity, fluorescent, illuminant_a,
};
use super::metals::METALS;
use super::{Spectrum, cie};

/// Wavelength at which a dielectric's index of refraction is evaluated, nm: the helium d line, at
/// which glass catalogues specify the index.
///
/// pbrt-v4 evaluates the index per wavelength. RGB rendering needs a single index.
pub const HELIUM_D_NM: f32 = 587.56;

/// Looks up a spectrum by name; `None` if the name is unknown.
///
/// The names are `metal-M-eta` and `metal-M-k` (M: Ag, Al, Au, Cu, CuZn, MgO, TiO2), `glass-G` (G:
/// BK7, BAF10, FK51A, LASF9, F5, F10, F11), `stdillum-I` (I: A, D50, D65, F1 to F12) and
/// `illum-acesD60`. pbrt-v4's camera sensors are not supported.
pub fn named(name: &str) -> Option<Spectrum> {
    let (family, rest) = name.split_once('-')?;
    match family {
        "metal" => {
            let (symbol, part) = rest.split_once('-')?;
            let [eta, k] = lookup(&METALS, symbol)?();
            match part {
                "eta" => Some(eta),
                "k" => Some(k),
                _ => None,
            }
        }
        "glass" => lookup(&GLASSES, rest).map(glass),
        "stdillum" => match rest.strip_prefix('F') {
            Some(number) => fluorescent(number.parse().ok()?),
            None => lookup(&ILLUMINANTS, rest).map(|create| create()),
        },
        // The chromaticity of the ACES white point (SMPTE ST 2065-1).
        "illum" if rest == "acesD60" => Some(daylight_of_chromaticity(0.32168, 0.33767)),
        _ => None,
    }
}

/// Returns all names that [`named`] knows.
pub fn names() -> Vec<String> {
    let metals = METALS.iter().flat_map(|(m, _)| ["eta", "k"].map(|p| format!("metal-{m}-{p}")));
    let glasses = GLASSES.iter().map(|(glass, _)| format!("glass-{glass}"));
    let illuminants = ILLUMINANTS.iter().map(|(name, _)| format!("stdillum-{name}"));
    let fluorescent = (1..=FLUORESCENT_COUNT).map(|i| format!("stdillum-F{i}"));
    let others = ["illum-acesD60".to_owned()];
    metals.chain(glasses).chain(illuminants).chain(fluorescent).chain(others).collect()
}

fn lookup<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|entry| entry.0 == name).map(|entry| entry.1)
}

type CreateIlluminant = fn() -> Spectrum;

/// CIE standard illuminants.
const ILLUMINANTS: [(&str, CreateIlluminant); 3] =
    [("A", illuminant_a), ("D50", || daylight(5000.0)), ("D65", || daylight(6500.0))];

/// Coefficients B and C of the Sellmeier equation.
type Sellmeier = [[f64; 3]; 2];

/// SCHOTT glasses, with the coefficients of the catalogue; pbrt-v4's F5, F10 and F11 are the flint
/// glasses SF5, SF10 and SF11.
const GLASSES: [(&str, Sellmeier); 7] = [
    (
        "BK7",
        [
            [1.039_612_12, 0.231_792_344, 1.010_469_45],
            [0.006_000_698_67, 0.020_017_914_4, 103.560_653],
        ],
    ),
    (
        "BAF10",
        [
            [1.585_149_5, 0.143_559_385, 1.085_212_69],
            [0.009_266_812_82, 0.042_448_980_5, 105.613_573],
        ],
    ),
    (
        "FK51A",
        [
            [0.971_247_817, 0.216_901_417, 0.904_651_666],
            [0.004_723_019_95, 0.015_357_561_2, 168.681_33],
        ],
    ),
    (
        "LASF9",
        [
            [2.000_295_47, 0.298_926_886, 1.806_918_43],
            [0.012_142_601_7, 0.053_873_623_6, 156.530_829],
        ],
    ),
    (
        "F5",
        [
            [1.524_818_89, 0.187_085_527, 1.427_290_15],
            [0.011_254_756, 0.058_899_539_2, 129.141_675],
        ],
    ),
    (
        "F10",
        [
            [1.621_539_02, 0.256_287_842, 1.644_475_52],
            [0.012_224_145_7, 0.059_573_677_5, 147.468_793],
        ],
    ),
    (
        "F11",
        [[1.737_596_95, 0.313_747_346, 1.898_781_01], [0.013_188_707, 0.062_306_814_2, 155.236_29]],
    ),
];

/// Returns the index of refraction of a glass: n² = 1 + Σ Bᵢ λ² / (λ² − Cᵢ), λ in µm.
fn glass([b, c]: Sellmeier) -> Spectrum {
    let index = |nm: f32| {
        let l = f64::from(nm * 1e-3);
        let l2 = l * l;
        let n2: f64 = 1.0 + b.iter().zip(c).map(|(b, c)| b * l2 / (l2 - c)).sum::<f64>();
        n2.sqrt() as f32
    };
    let wavelengths = (cie::FIRST_NM as u16..=cie::LAST_NM as u16).step_by(5);
    Spectrum::tabulate(wavelengths.map(f32::from), index)
}

#[cfg(test)]
mod tests {
    use super::super::{illuminant_rgb, luminance, reflectance_rgb};
    use super::*;
    use crate::{Vec3, vec3};

    #[test]
    fn glasses_match_tabulated_indices() {
        // Entries of pbrt-v4's tables: glass, wavelength, n.
        let cases = [
            ("BK7", 586.0, 1.516_866),
            ("BK7", 410.0, 1.529_569),
            ("BAF10", 586.0, 1.670_107),
            ("FK51A", 577.0, 1.486_875),
            ("LASF9", 583.0, 1.850_866),
            ("F5", 583.0, 1.673_193),
            ("F10", 592.0, 1.727_715),
            ("F11", 583.0, 1.785_427),
            ("F11", 433.0, 1.826_232),
        ];
        for (name, nm, n) in cases {
            let found = named(&format!("glass-{name}")).unwrap().at(nm);
            assert!((found - n).abs() < 5e-4, "{name} at {nm} nm: found {found}, expected {n}");
        }
    }

    #[test]
    fn metals_have_known_reflectances() {
        // Reflectance at normal incidence. It is computed below from RGB η and k.
        let cases = [
            ("Au", vec3(1.0, 0.77, 0.34)),
            ("Cu", vec3(0.95, 0.64, 0.54)),
            ("Ag", vec3(0.97, 0.96, 0.91)),
            ("Al", vec3(0.91, 0.92, 0.92)),
            ("CuZn", vec3(0.89, 0.79, 0.43)),
            ("TiO2", vec3(0.23, 0.24, 0.27)),
            ("MgO", vec3(0.07, 0.07, 0.07)),
        ];
        for (symbol, expected) in cases {
            let rgb = |part| reflectance_rgb(&named(&format!("metal-{symbol}-{part}")).unwrap());
            let (eta, k) = (rgb("eta"), rgb("k"));
            let one = Vec3::ONE;
            let f = ((eta - one) * (eta - one) + k * k) / ((eta + one) * (eta + one) + k * k);
            assert!(
                (f - expected).abs().max_element() < 0.06,
                "{symbol}: found {f}, expected {expected}; η {eta}, k {k}"
            );
        }
    }

    #[test]
    fn every_documented_name_is_known_and_covers_the_visible_range() {
        assert_eq!(names().len(), 7 * 2 + 7 + 3 + 12 + 1);
        assert!(names().iter().all(|name| named(name).is_some()));
        for name in names().iter().filter(|n| n.starts_with("metal") || n.starts_with("glass")) {
            let s = named(name).unwrap();
            // Both ends are tested: a table that ended too early would darken the colour.
            let min = if ["metal-MgO-k", "metal-TiO2-k"].contains(&&**name) { 0.0 } else { 0.01 };
            assert!([360.0, 500.0, HELIUM_D_NM, 830.0].iter().all(|&nm| s.at(nm) >= min), "{name}");
        }
        for name in names().iter().filter(|name| name.contains("illum")) {
            let rgb = illuminant_rgb(&named(name).unwrap());
            assert!(
                (luminance(rgb) - 1.0).abs() < 1e-5 && rgb.max_element() < 2.5,
                "{name}: {rgb}"
            );
        }
        for name in [
            "",
            "metal",
            "metal-Au",
            "metal-Au-x",
            "metal-Xx-k",
            "glass-",
            "stdillum-F13",
            "stdillum-F",
            "canon_eos_5d_r",
            "illum-x",
        ] {
            assert_eq!(named(name), None, "{name}");
        }
    }
}
