//! Instruction counts by optimization stage and by purpose (Clarberg et al. 2010, figure 3).
//!
//! Each bar is a bounding shader at one optimization stage. The stages differ in the facts that
//! select interval lowerings: none; ranges; also absence of NaN; also signs of zero. The cost of
//! NaN handling is the difference from the same stage with NaN ignored. [`breakdown`] splits the
//! remaining instructions by purpose.

use super::comparison::{Setup, Variant};
use super::table::pad;
use super::{Error, nan_name, notation, sides_name};
use crate::cost::{Breakdown, breakdown};
use lightbound_shader::backend::x86::Code;
use lightbound_shader::bounding::{Integrand, IntervalInputs};
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::{BoundSides, Tracking};
use lightbound_shader::{Settings, Shader, passes};

/// The bars of several shaders.
#[derive(Clone, Debug)]
pub struct Figure {
    pub(super) setup: Setup,
    /// The bound sides that the shaders compute.
    sides: BoundSides,
    /// The shaders' handling of NaN.
    nan: Nan,
    pub(super) panels: Vec<Panel>,
}

/// The bars of a shader for one choice of interval inputs.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub shader: String,
    pub inputs: IntervalInputs,
    pub bars: [Bar; 4],
}

/// Static instruction counts of one optimization stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bar {
    /// Instructions without NaN handling, by purpose.
    pub parts: Breakdown,
    /// Instructions for NaN handling.
    pub nan: usize,
}

impl Bar {
    /// Returns the total instruction count.
    pub fn total(&self) -> usize {
        self.parts.total() + self.nan
    }

    /// Returns the stacked parts from bottom to top, in the order of [`PARTS`].
    pub fn stack(&self) -> [usize; 4] {
        [self.parts.arithmetic, self.parts.elementary, self.nan, self.parts.overhead]
    }
}

/// Names of a bar's parts.
pub(super) const PARTS: [&str; 4] = ["arithmetic", "maths approximation", NAN_HANDLING, "overhead"];
const NAN_HANDLING: &str = "NaN handling";

/// Names of the stages.
pub(super) const STAGES: [&str; 4] =
    ["naive", "+ bounds analysis", "+ NaN tracking", "+ signs of zero"];

/// The facts that the stages track.
const STAGE_TRACKING: [Tracking; 4] = [
    Tracking::NONE,
    Tracking { ranges: true, nan: false, zeros: false },
    Tracking { ranges: true, nan: true, zeros: false },
    Tracking::ALL,
];

impl Figure {
    /// Compiles bounding shaders at every optimization stage. The variants may differ only in their
    /// interval inputs.
    ///
    /// # Panics
    ///
    /// Panics if there are no variants.
    pub fn new(
        shaders: &[&(String, Shader)],
        setup: Setup,
        variants: &[Variant],
    ) -> Result<Figure, Error> {
        let mut panels = vec![];
        for (name, shader) in shaders {
            let integrand = Integrand::new(shader, &Settings::default(), setup.frame)?;
            for &variant in variants {
                let bars = STAGE_TRACKING.map(|tracking| bar(&integrand, setup, variant, tracking));
                panels.push(Panel { shader: name.clone(), inputs: variant.inputs, bars });
            }
        }
        Ok(Figure { setup, sides: variants[0].sides, nan: variants[0].nan, panels })
    }

    /// Describes the sides and the NaN mode, as in "upper bounds, NaN ignored".
    pub fn subject(&self) -> String {
        format!("{}, {}", sides_name(self.sides), nan_name(self.nan))
    }

    /// Returns the largest instruction count of a bar, or 1 if it is 0.
    pub fn max_instructions(&self) -> usize {
        self.panels.iter().flat_map(|panel| &panel.bars).map(Bar::total).max().unwrap_or(0).max(1)
    }

    /// Whether bars can contain the part with this index.
    pub fn has_part(&self, part: usize) -> bool {
        self.nan != Nan::Ignore || PARTS[part] != NAN_HANDLING
    }
}

/// Counts the instructions of one stage.
fn bar(integrand: &Integrand, setup: Setup, variant: Variant, tracking: Tracking) -> Bar {
    let function =
        |nan| Variant { nan, ..variant }.lift(integrand, setup.ranges, tracking).function;
    let parts = breakdown(&function(Nan::Ignore), setup.target);
    let total = Code::compile(&passes::lower(&function(variant.nan)), setup.isa()).counts().total;
    Bar { parts, nan: total.saturating_sub(parts.total()) }
}

/// Prints the bars as text.
pub(super) fn text(figure: &Figure, markdown: bool) -> String {
    /// Length of the longest bar in characters.
    const MAX_BAR_LENGTH: usize = 60;
    const GLYPHS: [char; 4] = ['█', '▓', '░', '·'];
    let longest = figure.max_instructions();
    let parts = GLYPHS.iter().zip(PARTS).enumerate().filter(|&(k, _)| figure.has_part(k));
    let legend: Vec<_> = parts.map(|(_, (glyph, part))| format!("{glyph} {part}")).collect();
    let title = format!("instructions with one optimization after another: {}", figure.subject());
    let setup = figure.setup.title();
    let mut lines = format!("{}\n", legend.join("   "));
    for panel in &figure.panels {
        lines += &format!("\n{} {}\n", panel.shader, notation(panel.inputs));
        for (stage, bar) in STAGES.iter().zip(&panel.bars) {
            // Round the cumulative counts instead of the parts, so that errors do not add up.
            let segment_ends = bar.stack().into_iter().scan(0, |sum, part| {
                *sum += part;
                Some((*sum * MAX_BAR_LENGTH + longest / 2) / longest)
            });
            let mut bar_text = String::new();
            for (end, glyph) in segment_ends.zip(GLYPHS) {
                bar_text.extend(std::iter::repeat_n(glyph, end - bar_text.chars().count()));
            }
            lines += &format!(
                "  {} {}  {bar_text}\n",
                pad(stage, 18, false),
                pad(&bar.total().to_string(), 5, true)
            );
        }
    }
    if markdown {
        format!("**{title}**\n\n{setup}\n\n```text\n{lines}```\n")
    } else {
        format!("{title}\n{setup}\n{lines}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::Target;
    use lightbound_shader::bounding::{Frame, Ranges};

    #[test]
    fn bar_lengths_match_instruction_counts() {
        let bar = |scale: usize| Bar {
            parts: Breakdown { arithmetic: 10 * scale, elementary: 5 * scale, overhead: 5 * scale },
            nan: 10 * scale,
        };
        let panels = vec![Panel {
            shader: "a".into(),
            inputs: IntervalInputs::Light,
            bars: [4, 3, 2, 1].map(bar),
        }];
        let setup = Setup { frame: Frame::Local, ranges: Ranges::Paper, target: Target::Avx2 };
        let text =
            text(&Figure { setup, sides: BoundSides::Both, nan: Nan::Suppress, panels }, false);
        assert!(text.contains(": both bounds, NaN suppressed\n"), "{text}");
        let lines: Vec<_> = text.lines().filter(|line| line.contains('░')).skip(1).collect();
        let count = |line: &str, glyph| line.chars().filter(|&c| c == glyph).count();
        assert_eq!(lines.len(), 4);
        assert_eq!(['█', '▓', '░', '·'].map(|glyph| count(lines[0], glyph)), [20, 10, 20, 10]);
        assert_eq!(['█', '▓', '░', '·'].map(|glyph| count(lines[3], glyph)), [5, 3, 5, 2]);
        assert!(lines[0].contains(" 120 ") && lines[3].contains(" 30 "));
    }
}
