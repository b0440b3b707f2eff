//! Measured scattering properties of named materials, for `preset` of media and `name` of
//! `subsurface`.
//!
//! The first twelve are from Jensen et al. 2001, *A Practical Model for Subsurface Light Transport*,
//! the others from Narasimhan et al. 2006, *Acquiring Scattering Properties of Participating Media
//! by Dilution*. Names and values are those of pbrt-v4 (media.cpp).

use lightbound_math::{Vec3, vec3};

/// Scattering properties in linear sRGB, per millimetre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::build) struct Preset {
    pub name: &'static str,
    /// Reduced scattering coefficient: as if light were scattered equally in all directions.
    pub sigma_s: Vec3,
    /// Absorption coefficient.
    pub sigma_a: Vec3,
}

/// Returns the preset with this name.
pub(in crate::build) fn preset(name: &str) -> Option<Preset> {
    PRESETS.iter().copied().find(|preset| preset.name == name)
}

/// Returns the names of all presets.
pub(in crate::build) fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}

const fn new(name: &'static str, sigma_s: Vec3, sigma_a: Vec3) -> Preset {
    Preset { name, sigma_s, sigma_a }
}

#[rustfmt::skip]
const PRESETS: &[Preset] = &[
    new("Apple", vec3(2.29, 2.39, 1.97), vec3(0.003, 0.0034, 0.046)),
    new("Chicken1", vec3(0.15, 0.21, 0.38), vec3(0.015, 0.077, 0.19)),
    new("Chicken2", vec3(0.19, 0.25, 0.32), vec3(0.018, 0.088, 0.2)),
    new("Cream", vec3(7.38, 5.47, 3.15), vec3(0.0002, 0.0028, 0.0163)),
    new("Ketchup", vec3(0.18, 0.07, 0.03), vec3(0.061, 0.97, 1.45)),
    new("Marble", vec3(2.19, 2.62, 3.0), vec3(0.0021, 0.0041, 0.0071)),
    new("Potato", vec3(0.68, 0.7, 0.55), vec3(0.0024, 0.009, 0.12)),
    new("Skimmilk", vec3(0.7, 1.22, 1.9), vec3(0.0014, 0.0025, 0.0142)),
    new("Skin1", vec3(0.74, 0.88, 1.01), vec3(0.032, 0.17, 0.48)),
    new("Skin2", vec3(1.09, 1.59, 1.79), vec3(0.013, 0.07, 0.145)),
    new("Spectralon", vec3(11.6, 20.4, 14.9), vec3(0.0, 0.0, 0.0)),
    new("Wholemilk", vec3(2.55, 3.21, 3.77), vec3(0.0011, 0.0024, 0.014)),
    new("Lowfat Milk", vec3(0.89187, 1.5136, 2.532), vec3(0.002875, 0.00575, 0.0115)),
    new("Reduced Milk", vec3(2.4858, 3.1669, 4.5214), vec3(0.0025556, 0.0051111, 0.012778)),
    new("Regular Milk", vec3(4.5513, 5.8294, 7.136), vec3(0.0015333, 0.0046, 0.019933)),
    new("Espresso", vec3(0.72378, 0.84557, 1.0247), vec3(4.7984, 6.5751, 8.8493)),
    new("Mint Mocha Coffee", vec3(0.31602, 0.38538, 0.48131), vec3(3.772, 5.8228, 7.82)),
    new("Lowfat Soy Milk", vec3(0.30576, 0.34233, 0.61664), vec3(0.0014375, 0.0071875, 0.035937)),
    new("Regular Soy Milk", vec3(0.59223, 0.73866, 1.4693), vec3(0.0019167, 0.0095833, 0.065167)),
    new("Lowfat Chocolate Milk", vec3(0.64925, 0.83916, 1.1057), vec3(0.0115, 0.0368, 0.1564)),
    new("Regular Chocolate Milk", vec3(1.4585, 2.1289, 2.9527), vec3(0.010063, 0.043125, 0.14375)),
    new("Coke", vec3(8.9053e-5, 8.372e-5, 0.0), vec3(0.10014, 0.16503, 0.2468)),
    new("Pepsi", vec3(6.1697e-5, 4.2564e-5, 0.0), vec3(0.091641, 0.14158, 0.20729)),
    new("Sprite", vec3(6.0306e-6, 6.4139e-6, 6.5504e-6), vec3(0.001886, 0.0018308, 0.0020025)),
    new("Gatorade", vec3(0.0024574, 0.003007, 0.0037325), vec3(0.024794, 0.019289, 0.008878)),
    new("Chardonnay", vec3(1.7982e-5, 1.3758e-5, 1.2023e-5), vec3(0.010782, 0.011855, 0.023997)),
    new("White Zinfandel", vec3(1.7501e-5, 1.9069e-5, 1.288e-5), vec3(0.012072, 0.016184, 0.019843)),
    new("Merlot", vec3(2.1129e-5, 0.0, 0.0), vec3(0.11632, 0.25191, 0.29434)),
    new("Budweiser Beer", vec3(2.4356e-5, 2.4079e-5, 1.0564e-5), vec3(0.011492, 0.024911, 0.057786)),
    new("Coors Light Beer", vec3(5.0922e-5, 4.301e-5, 0.0), vec3(0.006164, 0.013984, 0.034983)),
    new("Clorox", vec3(0.0024035, 0.0031373, 0.003991), vec3(0.0033542, 0.014892, 0.026297)),
    new("Apple Juice", vec3(0.00013612, 0.00015836, 0.000227), vec3(0.012957, 0.023741, 0.052184)),
    new("Cranberry Juice", vec3(0.00010402, 0.00011646, 7.8139e-5), vec3(0.039437, 0.094223, 0.12426)),
    new("Grape Juice", vec3(5.382e-5, 0.0, 0.0), vec3(0.10404, 0.23958, 0.29325)),
    new("Ruby Grapefruit Juice", vec3(0.011002, 0.010927, 0.011036), vec3(0.085867, 0.18314, 0.25262)),
    new("White Grapefruit Juice", vec3(0.22826, 0.23998, 0.32748), vec3(0.0138, 0.018831, 0.056781)),
    new("Shampoo", vec3(0.0007176, 0.0008303, 0.0009016), vec3(0.014107, 0.045693, 0.061717)),
    new("Strawberry Shampoo", vec3(0.00015671, 0.00015947, 1.518e-5), vec3(0.01449, 0.05796, 0.075823)),
    new("Head & Shoulders Shampoo", vec3(0.023805, 0.028804, 0.034306), vec3(0.084621, 0.15688, 0.20365)),
    new("Lemon Tea Powder", vec3(0.040224, 0.045264, 0.051081), vec3(2.4288, 4.5757, 7.2127)),
    new("Orange Powder", vec3(0.00015617, 0.00017482, 0.0001762), vec3(0.001449, 0.003441, 0.007863)),
    new("Pink Lemonade Powder", vec3(0.00012103, 0.00013073, 0.00012528), vec3(0.001165, 0.002366, 0.003195)),
    new("Cappuccino Powder", vec3(1.8436, 2.5851, 2.1662), vec3(35.844, 49.547, 61.084)),
    new("Salt Powder", vec3(0.027333, 0.032451, 0.031979), vec3(0.28415, 0.3257, 0.34148)),
    new("Sugar Powder", vec3(0.00022272, 0.00025513, 0.000271), vec3(0.012638, 0.031051, 0.050124)),
    new("Suisse Mocha Powder", vec3(2.7979, 3.5452, 4.3365), vec3(17.502, 27.004, 35.433)),
    new("Pacific Ocean Surface Water", vec3(0.0001764, 0.00032095, 0.00019617), vec3(0.031845, 0.031324, 0.030147)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_unique_names_and_are_valid() {
        let mut sorted: Vec<_> = names().collect();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), PRESETS.len());
        for preset in PRESETS {
            let (min, sum) = (preset.sigma_s.min(preset.sigma_a), preset.sigma_s + preset.sigma_a);
            assert!(min.min_element() >= 0.0 && sum.min_element() > 0.0, "{}", preset.name);
        }
        let marble = preset("Marble").unwrap();
        assert_eq!(marble.sigma_s, vec3(2.19, 2.62, 3.0));
        assert_eq!(marble.sigma_a, vec3(0.0021, 0.0041, 0.0071));
        assert_eq!(preset("marble"), None);
    }
}
