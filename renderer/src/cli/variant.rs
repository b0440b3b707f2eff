//! Which bounding shader of a material is meant: options that several commands have.

use super::Error;
use clap::ValueEnum;
use lightbound::scene::diagnostics::did_you_mean;
use lightbound_shader::bounding::{self, Integrand};
use lightbound_shader::interval::Nan;
use lightbound_shader::lift::{self, Options, Tracking};
use lightbound_shader::relations::{Relation, Relations};
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
        /// Bounds that hold if no NaN comes up anywhere: in the shader, or in the arithmetic on
        /// endpoints, as in inf * 0
        Ignore => Nan::Ignore,
    }
}
option! {
    /// How cases of operations are selected.
    Mode = Tracking {
        /// The general case of each operation
        Naive => Tracking::NONE,
        /// The cheapest case that what is known of values allows; the same bounds, unless --nan
        /// ignore meets a NaN
        #[default]
        Optimized => Tracking::ALL,
        /// The same, with what relations between values tell: tighter bounds, for boxes of unit
        /// vectors
        Related => Tracking::ALL,
    }
}

/// Parses a list of relations, as in `unit,dot` or `all,-monotone`.
pub fn relations(text: &str) -> Result<Relations, String> {
    // What begins with one that is left out begins with all.
    let begin = if text.trim_start().starts_with('-') { Relations::all() } else { Relations::NONE };
    let chosen = text.split(',').map(str::trim).try_fold(begin, |relations, item| {
        match (item, item.strip_prefix('-')) {
            ("all", _) => Ok(Relations::all()),
            (_, Some("all")) => Ok(Relations::NONE),
            (_, Some(name)) => relation(name).map(|relation| relations.without(relation)),
            (name, None) => relation(name).map(|relation| relations.with(relation)),
        }
    })?;
    // Without any, code would not be related.
    if chosen == Relations::NONE {
        Err("no relation is left; name one, as in unit,dot".into())
    } else {
        Ok(chosen)
    }
}

/// Names of relations, in order.
pub fn names_of(relations: Relations) -> Vec<&'static str> {
    relations.iter().map(Relation::name).collect()
}

fn relation(name: &str) -> Result<Relation, String> {
    let found = Relation::ALL.iter().find(|relation| relation.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = std::iter::once("all")
            .chain(Relation::ALL.iter().map(|relation| relation.name()))
            .collect();
        let hint =
            did_you_mean(name, names.iter().copied(), &format!("expected {}", names.join(", ")));
        format!("`{name}` is not the name of a relation: {hint}")
    })
}

/// What the short help says of the option.
pub const RELATIONS: &str = "Relations that mode related makes use of, as in unit,dot, or -monotone for all others [default: all]";

/// What the long help says of the option: all names.
pub fn relations_help() -> String {
    let items =
        Relation::ALL.iter().map(|relation| format!("- {}: {}", relation.name(), relation.help()));
    format!("{RELATIONS}\n\nRelations:\n{}", items.collect::<Vec<_>>().join("\n"))
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

/// Options of a bounding shader. Those that are not given are told from those that are, since other
/// functions have none.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = HEADING)]
pub struct VariantArgs {
    /// How cases of operations are selected [default: optimized]
    #[arg(long, value_enum)]
    mode: Option<Mode>,

    #[arg(long, value_name = "LIST", value_parser = relations, allow_hyphen_values = true)]
    #[arg(help = RELATIONS, long_help = relations_help())]
    relations: Option<Relations>,

    /// What is done about NaN [default: suppress]
    #[arg(long, value_enum)]
    nan: Option<NanMode>,

    /// Which bounds [default: both]
    #[arg(long, value_enum)]
    sides: Option<Sides>,

    /// What code may assume of inputs when it is compiled; values that are given must be in their
    /// declared ranges all the same [default: declared]
    #[arg(long, value_enum)]
    ranges: Option<Ranges>,

    /// Bound the luminance of s, in place of its colours
    #[arg(long)]
    luminance: bool,
}

impl VariantArgs {
    /// Options of the lift.
    pub fn options(&self) -> Result<Options, Error> {
        let mode = self.mode.unwrap_or_default();
        if self.relations.is_some() && mode != Mode::Related {
            return Err(Error::Option {
                message: "--relations is an option of related bounding shaders".into(),
                help: "add --mode related".into(),
            });
        }
        Ok(Options {
            sides: self.sides.unwrap_or_default().of(),
            nan: self.nan.unwrap_or_default().of(),
            tracking: mode.of(),
            relations: if mode == Mode::Related {
                self.relations.unwrap_or_else(Relations::all)
            } else {
                Relations::NONE
            },
            ..Options::default()
        })
    }

    /// What is known of inputs.
    pub fn ranges(&self) -> bounding::Ranges {
        self.ranges.unwrap_or_default().of()
    }

    /// What is bounded.
    pub fn integrand(
        &self,
        shader: &Shader,
        settings: &Settings,
        frame: bounding::Frame,
    ) -> Result<Integrand, ShaderError> {
        let colours = Integrand::new(shader, settings, frame)?;
        Ok(if self.luminance { colours.with_luminance() } else { colours })
    }

    /// An option that was given, if any was.
    pub fn given(&self) -> Option<&'static str> {
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
    fn lists_of_relations_add_and_leave_out() {
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
            assert_eq!(relations(text), Ok(expected), "{text}");
        }
        for (text, said) in [
            ("unit,dto", "`dto`"),
            ("all,-dto", "`dto`"),
            ("", "``"),
            ("unit,-unit", "no relation is left"),
            ("-all", "no relation is left"),
            ("unit;dot", "expected all, unit, dot, "),
        ] {
            assert!(relations(text).is_err_and(|error| error.contains(said)), "{text}");
        }
        assert!(
            relations("monoton")
                .is_err_and(|error| error.contains("did you mean") && error.contains("monotone"))
        );
    }
}
