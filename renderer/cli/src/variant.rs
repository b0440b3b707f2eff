//! Options that select the variant of a material's bounding shader, shared by several commands.

use super::Error;
use clap::ValueEnum;
use lightbound::suggestion::did_you_mean;
use lightbound_shader::bounding::{self, Integrand};
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::{self, Options, Tracking};
use lightbound_shader::relations::{Relation, Relations};
use lightbound_shader::{Settings, Shader, ShaderKind};

/// Help heading of these options.
pub const HEADING: &str = "Options of bounding shaders";

/// Defines a command-line option for a type of the compiler. Values are spelt as in the JSON
/// output.
macro_rules! option {
    ($(#[$doc:meta])* $name:ident = $target:ty { $($(#[$variant_doc:meta])* $variant:ident => $to:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
        pub enum $name { $($(#[$variant_doc])* $variant),* }

        impl $name {
            /// Converts to the compiler's type.
            pub fn compiler_value(self) -> $target {
                match self { $($name::$variant => $to),* }
            }
        }
    };
}

option! {
    /// Frame of directions.
    Frame = bounding::Frame {
        /// World space, with the shading frame as an input
        World => bounding::Frame::World,
        /// Shading frame
        #[default]
        Local => bounding::Frame::Local,
    }
}
option! {
    /// Assumptions about inputs.
    Ranges = bounding::Ranges {
        /// Inputs are finite, and parameters not negative unless declared so (Clarberg et al. 2010)
        Paper => bounding::Ranges::Paper,
        /// Directions are unit vectors, components of positions are from -1e9 to 1e9, and parameters
        /// are in their declared ranges
        #[default]
        Declared => bounding::Ranges::Declared,
    }
}
option! {
    /// Inputs that are intervals.
    Inputs = bounding::IntervalInputs {
        /// The direction to the light, or the position in a density
        #[default]
        Light => bounding::IntervalInputs::Light,
        /// All inputs
        All => bounding::IntervalInputs::All,
    }
}
option! {
    /// Bounds to compute.
    BoundSides = lift::BoundSides {
        /// Upper bounds only
        Upper => lift::BoundSides::Upper,
        /// Lower bounds only
        Lower => lift::BoundSides::Lower,
        /// Both
        #[default]
        Both => lift::BoundSides::Both,
    }
}
option! {
    /// NaN handling.
    NanMode = Nan {
        /// The bound is NaN or infinite if the shader returns NaN anywhere in the box
        Propagate => Nan::Propagate,
        /// The bound holds for all results that are not NaN
        #[default]
        Suppress => Nan::Suppress,
        /// The bound holds if no NaN occurs in the shader or in the arithmetic on endpoints, as in
        /// inf * 0
        Ignore => Nan::Ignore,
    }
}
option! {
    /// Selection of interval lowerings.
    Mode = Tracking {
        /// The general case of each operation
        Naive => Tracking::NONE,
        /// The cheapest case that the known facts about values allow; the same bounds, unless a NaN
        /// occurs with --nan ignore
        #[default]
        Optimized => Tracking::ALL,
        /// As optimized, and uses relations between values: tighter bounds for boxes of unit
        /// vectors
        Related => Tracking::ALL,
    }
}

/// Parses a list of relations, as in `unit,dot` or `all,-monotone`.
pub fn parse_relations(text: &str) -> Result<Relations, String> {
    // A list that begins with an exclusion starts from all relations.
    let begin = if text.trim_start().starts_with('-') { Relations::all() } else { Relations::NONE };
    let relations = text.split(',').map(str::trim).try_fold(begin, |relations, item| {
        match (item, item.strip_prefix('-')) {
            ("all", _) => Ok(Relations::all()),
            (_, Some("all")) => Ok(Relations::NONE),
            (_, Some(name)) => parse_relation(name).map(|relation| relations.without(relation)),
            (name, None) => parse_relation(name).map(|relation| relations.with(relation)),
        }
    })?;
    // Related code needs at least one relation.
    if relations == Relations::NONE {
        Err("no relation is left; name at least one, as in unit,dot".into())
    } else {
        Ok(relations)
    }
}

fn parse_relation(name: &str) -> Result<Relation, String> {
    let found = Relation::ALL.iter().find(|relation| relation.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = std::iter::once("all")
            .chain(Relation::ALL.iter().map(|relation| relation.name()))
            .collect();
        let hint =
            did_you_mean(name, names.iter().copied(), &format!("expected {}", names.join(", ")));
        format!("unknown relation `{name}`: {hint}")
    })
}

/// Short help of `--relations`.
pub const RELATIONS: &str =
    "Relations that mode related uses, as in unit,dot, or -monotone for all others [default: all]";

/// Long help of `--relations`, which lists all names.
pub fn relations_help() -> String {
    let items =
        Relation::ALL.iter().map(|relation| format!("- {}: {}", relation.name(), relation.help()));
    format!("{RELATIONS}\n\nRelations:\n{}", items.collect::<Vec<_>>().join("\n"))
}

/// Options of a bounding shader, optional so that they can be rejected for other functions.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = HEADING)]
pub struct VariantArgs {
    /// Selection of interval lowerings [default: optimized]
    #[arg(long, value_enum)]
    mode: Option<Mode>,

    #[arg(long, value_name = "LIST", value_parser = parse_relations, allow_hyphen_values = true)]
    #[arg(help = RELATIONS, long_help = relations_help())]
    relations: Option<Relations>,

    /// NaN handling [default: suppress]
    #[arg(long, value_enum)]
    nan: Option<NanMode>,

    /// Bounds to compute [default: both]
    #[arg(long, value_enum)]
    sides: Option<BoundSides>,

    /// Assumptions of the compiled code about inputs; values must be in their declared ranges in
    /// any case [default: declared]
    #[arg(long, value_enum)]
    ranges: Option<Ranges>,

    /// Bound the luminance of s instead of its colour channels
    #[arg(long)]
    luminance: bool,
}

impl VariantArgs {
    /// Returns the options of the interval transformation.
    ///
    /// # Errors
    /// If relations are given for another mode than `related`.
    pub fn options(&self) -> Result<Options, Error> {
        let mode = self.mode.unwrap_or_default();
        Ok(Options {
            sides: self.sides.unwrap_or_default().compiler_value(),
            nan: self.nan.unwrap_or_default().compiler_value(),
            tracking: mode.compiler_value(),
            relations: self.relations(Mode::default())?,
            ..Options::default()
        })
    }

    /// The relations of the mode, or of `default` if none is given.
    ///
    /// # Errors
    /// If relations are given for another mode than `related`.
    pub fn relations(&self, default: Mode) -> Result<Relations, Error> {
        let mode = self.mode.unwrap_or(default);
        if self.relations.is_some() && mode != Mode::Related {
            return Err(Error::Option {
                message: "--relations requires --mode related".into(),
                help: "add --mode related".into(),
            });
        }
        Ok(match mode {
            Mode::Related => self.relations.unwrap_or_else(Relations::all),
            Mode::Naive | Mode::Optimized => Relations::NONE,
        })
    }

    /// Assumptions about inputs.
    pub fn ranges(&self) -> bounding::Ranges {
        self.ranges.unwrap_or_default().compiler_value()
    }

    /// The integrand to bound.
    ///
    /// # Errors
    /// If the shader is invalid, or if an option does not apply to its kind.
    pub fn integrand(
        &self,
        shader: &Shader,
        settings: &Settings,
        frame: bounding::Frame,
    ) -> Result<Integrand, Error> {
        let luminance = self.luminance(shader)?;
        let colours = Integrand::new(shader, settings, frame)?;
        Ok(if luminance { colours.with_luminance() } else { colours })
    }

    /// Whether to bound the luminance.
    ///
    /// # Errors
    /// If the shader has no colours.
    pub fn luminance(&self, shader: &Shader) -> Result<bool, Error> {
        let has_colours = matches!(shader.kind(), ShaderKind::Brdf | ShaderKind::Phase);
        if self.luminance && !has_colours {
            let (name, kind) = (shader.name(), shader.kind().name());
            let message = format!("--luminance: {name} is {kind}, which has no colours");
            return Err(Error::option(message, "omit the option"));
        }
        Ok(self.luminance)
    }

    /// Returns the name of an option that was given and that applies to endpoints, if any.
    pub fn first_of_endpoints(&self) -> Option<&'static str> {
        let all = [("--nan", self.nan.is_some()), ("--sides", self.sides.is_some())];
        all.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }

    /// Returns the name of one of these options that was given, if any.
    pub fn first_given(&self) -> Option<&'static str> {
        let all = [
            ("--mode", self.mode.is_some()),
            ("--relations", self.relations.is_some()),
            ("--nan", self.nan.is_some()),
            ("--sides", self.sides.is_some()),
            ("--ranges", self.ranges.is_some()),
            ("--luminance", self.luminance),
        ];
        all.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_relations_include_and_exclude() {
        let all = Relations::all();
        let two = Relations::NONE.with(Relation::Unit).with(Relation::Dot);
        for (text, expected) in [
            ("all", all),
            ("unit,dot", two),
            ("dot, unit", two),
            ("all,-dot", all.without(Relation::Dot)),
            ("-dot,-unit", all.without(Relation::Dot).without(Relation::Unit)),
            ("unit,dot,-dot", Relations::NONE.with(Relation::Unit)),
            ("-all,unit", Relations::NONE.with(Relation::Unit)),
        ] {
            assert_eq!(parse_relations(text), Ok(expected), "{text}");
        }
        for (text, message) in [
            ("unit,dto", "`dto`"),
            ("all,-dto", "`dto`"),
            ("", "``"),
            ("unit,-unit", "no relation is left"),
            ("-all", "no relation is left"),
            ("unit;dot", "expected all, unit, dot, "),
        ] {
            assert!(parse_relations(text).is_err_and(|error| error.contains(message)), "{text}");
        }
        assert!(
            parse_relations("monoton")
                .is_err_and(|error| error.contains("did you mean") && error.contains("monotone"))
        );
    }
}
