//! Hand-derived bounds on a few materials: the reference for compiled bounds.
//!
//! The lobes are those of [`lightbound_shader::bounding::hand`], in double precision. This module
//! adds the diffuse term and coloured albedos. Shaders are identified by their text, so only files
//! of the library and copies of them are recognized.
//!
//! `bounding::hand` does not cover all rounding errors of faint lobes. The bounds of this module
//! always hold. Boxes are padded by 2⁻²¹, which exceeds the absolute error of a cosine near 0, as a
//! sum of products of components. Results are scaled by 1 + 2⁻²⁰, which exceeds the rounding error
//! of the products and the sum of both terms. An offset covers powers that underflow.

use crate::material::{Program, library};
use lightbound_math::direction_box::{LANES, Lanes};
use lightbound_math::{DirectionBoxes, Vec3};
use lightbound_shader::bounding::hand::Lobe;

/// A formula for bounds on a library shader. The shader's material parameters begin with kd,
/// followed by ks if it has a lobe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Formula {
    Diffuse,
    Phong,
    Isoward,
    Ward,
}

impl Formula {
    const ALL: [(&str, Formula); 4] = [
        ("diffuse.wgsl", Formula::Diffuse),
        ("isoward.wgsl", Formula::Isoward),
        ("phong.wgsl", Formula::Phong),
        ("ward.wgsl", Formula::Ward),
    ];

    /// Returns the names of the shaders with a formula.
    pub fn names() -> Vec<&'static str> {
        Formula::ALL.iter().map(|(name, _)| *name).collect()
    }

    /// Returns the formula of a program, if there is one.
    pub fn for_program(program: &Program) -> Option<Formula> {
        let has_text_of =
            |name: &str| library::find(name).is_some_and(|entry| entry.text == program.source());
        Formula::ALL.iter().find(|(name, _)| has_text_of(name)).map(|(_, formula)| *formula)
    }

    /// Binds the formula to a shading point. `parameters` are the words of its material parameters.
    pub fn bind(self, wo: Vec3, parameters: &[u32]) -> HandBound {
        let float = |word: usize| f64::from(f32::from_bits(parameters[word]));
        let colour = |first: usize| [0, 1, 2].map(|k| float(first + k));
        let lobe = match self {
            Formula::Diffuse => None,
            Formula::Phong => Some(Lobe::Phong { ks: 1.0, exponent: float(6) }),
            Formula::Isoward => Some(Lobe::Ward { ks: 1.0, alpha: [float(6); 2] }),
            Formula::Ward => Some(Lobe::Ward { ks: 1.0, alpha: [float(6), float(7)] }),
        };
        HandBound { wo: wo.to_array(), kd: colour(0), lobe: lobe.map(|lobe| (colour(3), lobe)) }
    }
}

/// Hand-derived bounds at a shading point.
#[derive(Clone, Copy, Debug)]
pub(super) struct HandBound {
    wo: [f32; 3],
    kd: [f64; 3],
    /// Albedo of the lobe, and the lobe for an albedo of 1.
    lobe: Option<([f64; 3], Lobe)>,
}

/// Padding of boxes on each side.
const BOX_PADDING: f32 = 1.0 / (1 << 21) as f32;

/// Factor and offset that cover rounding and underflow of results.
const ROUNDING_FACTOR: f64 = 1.0 + 1.0 / (1 << 20) as f64;
const UNDERFLOW_OFFSET: f64 = 1e-30;

impl HandBound {
    /// Returns upper bounds on s for red, green and blue.
    pub fn bound(&self, boxes: &DirectionBoxes) -> [Lanes; 3] {
        let mut bounds = [[0.0; LANES]; 3];
        for lane in 0..LANES {
            let endpoints = boxes.get(lane).map(|[lo, hi]| [lo - BOX_PADDING, hi + BOX_PADDING]);
            let diffuse = Lobe::Diffuse { kd: 1.0 }.upper(self.wo, &endpoints);
            let (ks, lobe) = self
                .lobe
                .map_or(([0.0; 3], 0.0), |(ks, lobe)| (ks, lobe.upper(self.wo, &endpoints)));
            for (k, lanes) in bounds.iter_mut().enumerate() {
                let s = ROUNDING_FACTOR * (self.kd[k] * diffuse + ks[k] * lobe) + UNDERFLOW_OFFSET;
                lanes[lane] = if diffuse > 0.0 { (s as f32).next_up() } else { 0.0 };
            }
        }
        bounds
    }
}
