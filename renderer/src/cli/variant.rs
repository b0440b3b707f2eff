//! Which bounding shader of a material is meant: options that several commands have.

use clap::ValueEnum;
use lightbound_shader::bounding::{self, Integrand};
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::{self, Options, Tracking};
use lightbound_shader::{Settings, Shader, ShaderError};
use serde::Serialize;

/// What the help says above options of a bounding shader.
pub const HEADING: &str = "Options of bounding shaders";

/// Defines an option whose values have the names that JSON has, for a type of the compiler.
macro_rules! option {
    ($(#[$doc:meta])* $name:ident = $of:ty { $($(#[$variant_doc:meta])* $variant:ident => $to:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $name { $($(#[$variant_doc])* $variant),* }

        impl $name {
            /// What the compiler calls it.
            pub fn of(self) -> $of {
                match self { $($name::$variant => $to),* }
            }
        }
    };
}

option! {
    /// Where directions are given.
    Frame = bounding::Frame {
        /// In the world, the frame being an input
        World => bounding::Frame::World,
        /// In the shading frame
        #[default]
        Local => bounding::Frame::Local,
    }
}
option! {
    /// What is known of inputs.
    Ranges = bounding::Ranges {
        /// Inputs are finite, and parameters not negative unless declared so (Clarberg et al. 2010)
        Paper => bounding::Ranges::Paper,
        /// Directions are unit vectors, and parameters are in their declared ranges
        #[default]
        Declared => bounding::Ranges::Declared,
    }
}
option! {
    /// Which inputs are intervals.
    Inputs = bounding::Spans {
        /// The direction to the light
        #[default]
        Light => bounding::Spans::Light,
        /// All
        All => bounding::Spans::All,
    }
}
option! {
    /// Which bounds are computed.
    Sides = lift::Sides {
        /// Upper bounds alone
        Upper => lift::Sides::Upper,
        /// Lower bounds alone
        Lower => lift::Sides::Lower,
        /// Both
        #[default]
        Both => lift::Sides::Both,
    }
}
option! {
    /// What is done about NaN.
    NanMode = Nan {
        /// No bound, which is NaN or infinite, where the shader gives NaN somewhere in the box
        Propagate => Nan::Propagate,
        /// Bounds of all results that are not NaN
        #[default]
        Suppress => Nan::Suppress,
        /// Bounds that hold if no NaN comes up anywhere
        Ignore => Nan::Ignore,
    }
}
option! {
    /// How cases of operations are selected.
    Mode = Tracking {
        /// The general case of each operation
        Naive => Tracking::NONE,
        /// The cheapest case that what is known of values allows; the same bounds
        #[default]
        Optimized => Tracking::ALL,
    }
}

impl Inputs {
    /// How the paper writes the bounding shader.
    pub fn formula(self) -> &'static str {
        match self {
            Inputs::Light => "s(x, ω̂)",
            Inputs::All => "s(x̂, ω̂)",
        }
    }
}

/// Options of a bounding shader. Those that are not given are told from those that are, since other functions have none.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = HEADING)]
pub struct VariantArgs {
    /// How cases of operations are selected [default: optimized]
    #[arg(long, value_enum)]
    mode: Option<Mode>,

    /// What is done about NaN [default: suppress]
    #[arg(long, value_enum)]
    nan: Option<NanMode>,

    /// Which bounds [default: both]
    #[arg(long, value_enum)]
    sides: Option<Sides>,

    /// What is known of inputs [default: declared]
    #[arg(long, value_enum)]
    ranges: Option<Ranges>,

    /// Bound the luminance of s, in place of its colours
    #[arg(long)]
    luminance: bool,
}

impl VariantArgs {
    /// Options of the lift.
    pub fn options(&self) -> Options {
        Options {
            sides: self.sides.unwrap_or_default().of(),
            nan: self.nan.unwrap_or_default().of(),
            tracking: self.mode.unwrap_or_default().of(),
            ..Options::default()
        }
    }

    /// What is known of inputs.
    pub fn ranges(&self) -> bounding::Ranges {
        self.ranges.unwrap_or_default().of()
    }

    /// What is bounded.
    pub fn integrand(&self, shader: &Shader, settings: &Settings, frame: bounding::Frame) -> Result<Integrand, ShaderError> {
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
