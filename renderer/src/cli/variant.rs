//! Which bounding shader of a material is meant: options of `bound` and `show`.

use clap::ValueEnum;
use lightbound_shader::bounding::{Frame, Integrand, Ranges};
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::{Options, Sides, Tracking};
use lightbound_shader::{Settings, Shader, ShaderError};

/// What the help says above these options.
pub const HEADING: &str = "Options of bounding shaders";

/// Options of a bounding shader. Those that are not given are told from those that are, since other functions have none.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = HEADING)]
pub struct Variant {
    /// How cases of operations are selected [default: optimized]
    #[arg(long, value_enum)]
    mode: Option<Mode>,

    /// What is done about NaN [default: suppress]
    #[arg(long, value_enum)]
    nan: Option<NanMode>,

    /// Which bounds [default: both]
    #[arg(long, value_enum)]
    sides: Option<SidesName>,

    /// What is known of inputs [default: declared]
    #[arg(long, value_enum)]
    ranges: Option<RangesName>,

    /// Bound the luminance of s, in place of its colours
    #[arg(long)]
    luminance: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// The general case of each operation
    Naive,
    /// The cheapest case that what is known of values allows; the same bounds
    Optimized,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NanMode {
    /// No bound where the shader gives NaN somewhere in the box
    Propagate,
    /// Bounds of all results that are not NaN
    Suppress,
    /// Bounds that hold if no NaN comes up anywhere
    Ignore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SidesName {
    /// Upper bounds alone
    Upper,
    /// Lower bounds alone
    Lower,
    /// Both
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RangesName {
    /// Directions are unit vectors, and parameters are in their declared ranges
    Declared,
    /// Inputs are finite, and parameters not negative unless declared so (Clarberg et al. 2010)
    Paper,
}

impl Variant {
    /// Options of the lift.
    pub fn options(&self) -> Options {
        let sides = match self.sides {
            Some(SidesName::Upper) => Sides::Upper,
            Some(SidesName::Lower) => Sides::Lower,
            Some(SidesName::Both) | None => Sides::Both,
        };
        let nan = match self.nan {
            Some(NanMode::Propagate) => Nan::Propagate,
            Some(NanMode::Suppress) | None => Nan::Suppress,
            Some(NanMode::Ignore) => Nan::Ignore,
        };
        let tracking = match self.mode {
            Some(Mode::Naive) => Tracking::NONE,
            Some(Mode::Optimized) | None => Tracking::ALL,
        };
        Options { sides, nan, tracking, ..Options::default() }
    }

    /// What is known of inputs.
    pub fn ranges(&self) -> Ranges {
        match self.ranges {
            Some(RangesName::Declared) | None => Ranges::Declared,
            Some(RangesName::Paper) => Ranges::Paper,
        }
    }

    /// What is bounded.
    pub fn integrand(&self, shader: &Shader, settings: &Settings, frame: Frame) -> Result<Integrand, ShaderError> {
        let colours = Integrand::new(shader, settings, frame)?;
        Ok(if self.luminance { colours.with_luminance() } else { colours })
    }

    /// An option that was given, if any was.
    pub fn given(&self) -> Option<&'static str> {
        let all = [
            ("--mode", self.mode.is_some()),
            ("--nan", self.nan.is_some()),
            ("--sides", self.sides.is_some()),
            ("--ranges", self.ranges.is_some()),
            ("--luminance", self.luminance),
        ];
        all.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }
}
