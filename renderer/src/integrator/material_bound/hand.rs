//! Bounds that people derive by hand, of the few materials for which they did: what compiled ones
//! are held against.
//!
//! The lobes are those of [`lightbound_shader::tightness::hand`], in double precision; here a
//! diffuse term is added, and light is coloured. A shader is known by its text, so one of the
//! library's own files is meant, or a copy of it.
//!
//! What rounding adds is covered there where lobes are not faint. Here bounds hold without
//! exception: boxes are widened by 2⁻²¹, which is above the absolute error of sums of components,
//! of which a cosine near 0 is made; results by 2⁻²⁰ once more, which is above what the products
//! and the sum of both terms take, and by what is left of powers that underflow.

use crate::material::{Program, library};
use crate::math::direction_box::{LANES, Lanes};
use crate::math::{DirectionBoxes, Vec3};
use lightbound_shader::tightness::hand::Lobe;
use lightbound_shader::tightness::patch::Patch;

/// The formula of a shader of the library. Members of `Material` begin with kd, and ks, if there is
/// a lobe.
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

    /// Names of the shaders that have one.
    pub fn names() -> Vec<&'static str> {
        Formula::ALL.iter().map(|(name, _)| *name).collect()
    }

    /// That of a program, if there is one.
    pub fn of(program: &Program) -> Option<Formula> {
        let is_text =
            |name: &str| library::find(name).is_some_and(|entry| entry.text == program.text());
        Formula::ALL.iter().find(|(name, _)| is_text(name)).map(|(_, formula)| *formula)
    }

    /// The bounds at a point, by the words of the members of `Material`.
    pub fn at(self, wo: Vec3, members: &[u32]) -> Hand {
        let number = |word: usize| f64::from(f32::from_bits(members[word]));
        let colour = |first: usize| [0, 1, 2].map(|k| number(first + k));
        let lobe = match self {
            Formula::Diffuse => None,
            Formula::Phong => Some(Lobe::Phong { ks: 1.0, exponent: number(6) }),
            Formula::Isoward => Some(Lobe::Ward { ks: 1.0, alpha: [number(6); 2] }),
            Formula::Ward => Some(Lobe::Ward { ks: 1.0, alpha: [number(6), number(7)] }),
        };
        Hand { wo: wo.to_array(), kd: colour(0), lobe: lobe.map(|lobe| (colour(3), lobe)) }
    }
}

/// Bounds at a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hand {
    wo: [f32; 3],
    kd: [f64; 3],
    /// Of albedo 1, with its own.
    lobe: Option<([f64; 3], Lobe)>,
}

/// How much boxes are widened.
const WIDER: f32 = 1.0 / (1 << 21) as f32;

/// How much results are, relatively, and at least.
const GREATER: f64 = 1.0 + 1.0 / (1 << 20) as f64;
const FAINT: f64 = 1e-30;

impl Hand {
    /// Upper bounds of s for red, green and blue.
    pub fn bound(&self, boxes: &DirectionBoxes) -> [Lanes; 3] {
        let mut bounds = [[0.0; LANES]; 3];
        for lane in 0..LANES {
            let patch = Patch { ends: boxes.get(lane).map(|[lo, hi]| [lo - WIDER, hi + WIDER]) };
            let diffuse = Lobe::Diffuse { kd: 1.0 }.upper(self.wo, &patch);
            let (ks, lobe) =
                self.lobe.map_or(([0.0; 3], 0.0), |(ks, lobe)| (ks, lobe.upper(self.wo, &patch)));
            for (k, of) in bounds.iter_mut().enumerate() {
                let s = GREATER * (self.kd[k] * diffuse + ks[k] * lobe) + FAINT;
                of[lane] = if diffuse > 0.0 { (s as f32).next_up() } else { 0.0 };
            }
        }
        bounds
    }
}
