//! Solid textures made of noise: pbrt-v4's `fbm`, `wrinkled`, `windy` and `marble`.
//!
//! They depend on the position in texture space. The order of operations is that of pbrt-v4
//! (`textures.h`, `textures.cpp`), so values agree, except for the rounding of the sine of `marble`.

use super::Lookup;
use super::noise::{fbm, lerp, turbulence};
use lightbound_math::{Transform, Vec3};

/// A pattern in texture space.
#[derive(Clone, Debug)]
pub struct Solid {
    /// From render space to texture space.
    pub texture_from_render: Transform,
    /// The pattern.
    pub pattern: SolidPattern,
}

/// A function of the position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SolidPattern {
    /// Sum of noise; values of both signs.
    Fbm(Octaves),
    /// Sum of absolute values of noise.
    Wrinkled(Octaves),
    /// Waves whose height varies as if by gusts of wind; values of both signs.
    Windy,
    /// Veins across the y axis, coloured, from 0 to 0.9.
    Marble {
        /// Perturbation of the veins.
        octaves: Octaves,
        /// Factor of positions.
        scale: f32,
        /// Factor of the perturbation.
        variation: f32,
    },
}

/// Octaves of noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Octaves {
    /// Number of octaves.
    pub count: u32,
    /// Ratio of the amplitudes of two octaves; pbrt's `roughness`.
    pub roughness: f32,
}

impl Solid {
    /// Evaluates the pattern as linear RGB, or as a float in all channels.
    pub fn eval(&self, lookup: &Lookup) -> Vec3 {
        let p = self.texture_from_render.point(lookup.p);
        match self.pattern {
            SolidPattern::Fbm(Octaves { count, roughness }) => {
                Vec3::splat(fbm(p, roughness, count))
            }
            SolidPattern::Wrinkled(Octaves { count, roughness }) => {
                Vec3::splat(turbulence(p, roughness, count))
            }
            SolidPattern::Windy => {
                let wind = fbm(0.1 * p, 0.5, 3);
                Vec3::splat(wind.abs() * fbm(p, 0.5, 6))
            }
            SolidPattern::Marble { octaves: Octaves { count, roughness }, scale, variation } => {
                let p = p * scale;
                let phase = p.y + variation * fbm(p, roughness, count);
                marble_colour(0.5 + 0.5 * libm::sinf(phase))
            }
        }
    }
}

/// Bounds on the colours of marble: the least and greatest of [`marble_colour`]'s colours, which it
/// blends and multiplies by 1.5, with its rounding errors.
pub(super) const MARBLE_RANGE: [Vec3; 2] =
    [Vec3::new(0.29999, 0.29999, 0.49499), Vec3::new(0.90001, 0.88501, 0.90001)];

/// Returns the colour of marble at `t` from 0 to 1: a sequence of cubic Bézier curves, each of four
/// consecutive colours.
fn marble_colour(t: f32) -> Vec3 {
    const BASE: Vec3 = Vec3::new(0.58, 0.58, 0.6);
    const COLOURS: [Vec3; 9] = [
        BASE,
        BASE,
        BASE,
        Vec3::new(0.5, 0.5, 0.5),
        Vec3::new(0.6, 0.59, 0.58),
        BASE,
        BASE,
        Vec3::new(0.2, 0.2, 0.33),
        BASE,
    ];
    const CURVES: usize = COLOURS.len() - 3;
    let x = t * CURVES as f32;
    // A NaN becomes 0 here, and is a NaN in the result.
    let first = (x.floor() as usize).min(CURVES - 1);
    let t = x - first as f32;
    let blend = |a: Vec3, b: Vec3| {
        Vec3::from_array(std::array::from_fn(|channel| lerp(t, a[channel], b[channel])))
    };
    let [a, b, c, d] = std::array::from_fn(|i| COLOURS[first + i]);
    let (ab, bc, cd) = (blend(a, b), blend(b, c), blend(c, d));
    1.5 * blend(blend(ab, bc), blend(bc, cd))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_math::vec3;

    fn eval(pattern: SolidPattern, p: Vec3) -> Vec3 {
        // Texture space is world space translated by −1 along x.
        let texture_from_render =
            Transform::new(glam::DAffine3::from_translation(glam::dvec3(-1.0, 0.0, 0.0))).unwrap();
        Solid { texture_from_render, pattern }.eval(&Lookup { p, ..Lookup::ORIGIN })
    }

    /// The values are those of pbrt-v4's formulas, evaluated by another compiler.
    #[test]
    fn values_match_those_of_pbrt_in_texture_space() {
        let at = |p: Vec3, pattern| eval(pattern, p + Vec3::X);
        let p = vec3(-12.25, 3.125, 100.6);
        let octaves = |count, roughness| Octaves { count, roughness };
        assert_eq!(at(p, SolidPattern::Fbm(octaves(8, 0.5))), Vec3::splat(-0.43345198));
        assert_eq!(at(p, SolidPattern::Wrinkled(octaves(2, 0.6))), Vec3::splat(0.73323333));
        assert_eq!(at(p, SolidPattern::Windy), Vec3::splat(-0.004659542));
        let marble = SolidPattern::Marble { octaves: octaves(8, 0.5), scale: 2.0, variation: 0.3 };
        let expected = vec3(0.8739244, 0.86992425, 0.88690495);
        assert!((at(p, marble) - expected).abs().max_element() < 1e-6);
        let expected = vec3(0.86993855, 0.86993855, 0.8999232);
        assert!((at(vec3(255.5, 256.75, -0.001), marble) - expected).abs().max_element() < 1e-6);
    }

    #[test]
    fn marble_has_its_darkest_vein_near_the_end_of_its_colours() {
        let (mut darkest, mut at) = (f32::INFINITY, 0.0);
        for i in 0..=1000 {
            let t = i as f32 / 1000.0;
            let colour = marble_colour(t);
            let [lo, hi] = MARBLE_RANGE;
            assert!(colour.cmpge(lo).all() && colour.cmple(hi).all(), "{colour}");
            if colour.x < darkest {
                (darkest, at) = (colour.x, t);
            }
        }
        assert!(darkest < 0.65 && (0.7..0.95).contains(&at), "{darkest} {at}");
        assert!(marble_colour(f32::NAN).is_nan());
    }
}
