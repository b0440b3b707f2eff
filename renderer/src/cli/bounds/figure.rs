//! What each optimization adds, and what instructions are for (Clarberg et al. 2010, figure 3).
//!
//! Each bar is a bounding shader, by what selection of cases is told: nothing; ranges; also where
//! there can be no NaN; also which zeros there can be. The part of NaN is what goes when NaN is
//! ignored at that stage; the rest is split as [`breakdown`] does.

use super::report::{nan_name, sides_name};
use super::study::{Setup, Variant};
use super::table::pad;
use crate::cli::Error;
use crate::cli::variant::{Inputs, NanMode, Sides};
use lightbound_shader::backend::x86::Code;
use lightbound_shader::bounding::Integrand;
use lightbound_shader::cost::{Breakdown, breakdown};
use lightbound_shader::lift::Tracking;
use lightbound_shader::{Settings, Shader, passes};

/// Bars of several shaders.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub setup: Setup,
    /// Which bounds.
    pub sides: Sides,
    /// What is done about NaN.
    pub nan: NanMode,
    pub panels: Vec<Panel>,
}

/// The bars of a shader and a choice of inputs.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub shader: String,
    pub inputs: Inputs,
    pub bars: [Bar; 4],
}

/// Static instructions of a stage of optimization.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bar {
    /// Without handling of NaN.
    pub parts: Breakdown,
    /// Handling of NaN.
    pub nan: usize,
}

impl Bar {
    /// All instructions.
    pub fn total(&self) -> usize {
        self.parts.total() + self.nan
    }

    /// The parts as they lie on each other, in the order of [`PARTS`].
    pub fn stack(&self) -> [usize; 4] {
        [self.parts.arithmetic, self.parts.elementary, self.nan, self.parts.overhead]
    }
}

/// Names of the parts of a bar.
pub(super) const PARTS: [&str; 4] = ["arithmetic", "maths approximation", NAN_HANDLING, "overhead"];
const NAN_HANDLING: &str = "NaN handling";

/// Names of the stages.
pub(super) const STAGES: [&str; 4] =
    ["naive", "+ bounds analysis", "+ NaN tracking", "+ signs of zero"];

const TRACKED: [Tracking; 4] = [
    Tracking::NONE,
    Tracking { ranges: true, nan: false, zeros: false },
    Tracking { ranges: true, nan: true, zeros: false },
    Tracking::ALL,
];

impl Figure {
    /// Compiles all stages of bounding shaders of these variants, which differ in their inputs.
    pub fn new(
        shaders: &[&(String, Shader)],
        setup: Setup,
        variants: &[Variant],
    ) -> Result<Figure, Error> {
        let mut panels = vec![];
        for (name, shader) in shaders {
            let integrand = Integrand::new(shader, &Settings::default(), setup.frame.of())?;
            for &variant in variants {
                let bars = TRACKED.map(|tracking| bar(&integrand, setup, variant, tracking));
                panels.push(Panel { shader: name.clone(), inputs: variant.inputs, bars });
            }
        }
        Ok(Figure { setup, sides: variants[0].sides, nan: variants[0].nan, panels })
    }

    /// What the bars are of.
    pub fn subject(&self) -> String {
        format!("{}, {}", sides_name(self.sides), nan_name(self.nan))
    }

    /// The length of the longest bar.
    pub fn longest(&self) -> usize {
        self.panels.iter().flat_map(|panel| &panel.bars).map(Bar::total).max().unwrap_or(0).max(1)
    }

    /// Whether a part of this number may be in a bar.
    pub fn has_part(&self, part: usize) -> bool {
        self.nan != NanMode::Ignore || PARTS[part] != NAN_HANDLING
    }
}

fn bar(integrand: &Integrand, setup: Setup, variant: Variant, tracking: Tracking) -> Bar {
    let function =
        |nan| Variant { nan, ..variant }.lift(integrand, setup.ranges, tracking).function;
    let parts = breakdown(&function(NanMode::Ignore), setup.target);
    let whole = Code::compile(&passes::lower(&function(variant.nan)), setup.target).counts().total;
    Bar { parts, nan: whole.saturating_sub(parts.total()) }
}

/// The bars as text.
pub(super) fn text(figure: &Figure, markdown: bool) -> String {
    /// Length of the longest bar.
    const LENGTH: usize = 60;
    const INKS: [char; 4] = ['█', '▓', '░', '·'];
    let longest = figure.longest();
    let parts = INKS.iter().zip(PARTS).enumerate().filter(|&(k, _)| figure.has_part(k));
    let legend: Vec<_> = parts.map(|(_, (ink, part))| format!("{ink} {part}")).collect();
    let title = format!("instructions with one optimization after another: {}", figure.subject());
    let setup = figure.setup.title();
    let mut lines = format!("{}\n", legend.join("   "));
    for panel in &figure.panels {
        lines += &format!("\n{} {}\n", panel.shader, panel.inputs.formula());
        for (stage, bar) in STAGES.iter().zip(&panel.bars) {
            // Ends of parts are rounded, not parts, so that the whole is as long as it should be.
            let ends = bar.stack().into_iter().scan(0, |sum, part| {
                *sum += part;
                Some((*sum * LENGTH + longest / 2) / longest)
            });
            let mut drawn = String::new();
            for (end, ink) in ends.zip(INKS) {
                drawn.extend(std::iter::repeat_n(ink, end - drawn.chars().count()));
            }
            lines += &format!(
                "  {} {}  {drawn}\n",
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
    use crate::cli::variant::{Frame, Ranges};
    use lightbound_shader::Target;

    #[test]
    fn bars_are_as_long_as_their_parts() {
        let bar = |scale: usize| Bar {
            parts: Breakdown { arithmetic: 10 * scale, elementary: 5 * scale, overhead: 5 * scale },
            nan: 10 * scale,
        };
        let panels =
            vec![Panel { shader: "a".into(), inputs: Inputs::Light, bars: [4, 3, 2, 1].map(bar) }];
        let setup = Setup { frame: Frame::Local, ranges: Ranges::Paper, target: Target::Avx2 };
        let text =
            text(&Figure { setup, sides: Sides::Both, nan: NanMode::Suppress, panels }, false);
        assert!(text.contains(": both bounds, NaN suppressed\n"), "{text}");
        let lines: Vec<_> = text.lines().filter(|line| line.contains('░')).skip(1).collect();
        let count = |line: &str, ink| line.chars().filter(|&c| c == ink).count();
        assert_eq!(lines.len(), 4);
        assert_eq!(['█', '▓', '░', '·'].map(|ink| count(lines[0], ink)), [20, 10, 20, 10]);
        assert_eq!(['█', '▓', '░', '·'].map(|ink| count(lines[3], ink)), [5, 3, 5, 2]);
        assert!(lines[0].contains(" 120 ") && lines[3].contains(" 30 "));
    }
}
