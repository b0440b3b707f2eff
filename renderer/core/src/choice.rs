//! Enumerated settings with named values, for scene files and command-line options.

/// An enumerated setting. Its values are named as in scene files and command-line options.
pub trait Choice: Copy + Default + PartialEq + Send + Sync + 'static {
    /// All values.
    const ALL: &'static [Self];

    /// Their names, in the same order.
    const NAMES: &'static [&'static str];

    /// Returns the value's name.
    fn name(self) -> &'static str;

    /// Returns a one-line description for help texts.
    fn description(self) -> &'static str;

    /// Returns the value with a given name.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|choice| choice.name() == name)
    }
}

/// Defines an enum that implements [`Choice`]: `Name: Default { Value = "name": "description" }`.
macro_rules! choice {
    ($(#[$attribute:meta])* $name:ident: $default:ident {
        $($value:ident = $text:literal: $description:literal,)*
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $(#[doc = $description] $value),* }

        impl Default for $name {
            fn default() -> $name {
                $name::$default
            }
        }

        impl $crate::choice::Choice for $name {
            const ALL: &'static [$name] = &[$($name::$value),*];
            const NAMES: &'static [&'static str] = &[$($text),*];

            fn name(self) -> &'static str {
                match self { $($name::$value => $text),* }
            }

            fn description(self) -> &'static str {
                match self { $($name::$value => $description),* }
            }
        }
    };
}
pub(crate) use choice;

#[cfg(test)]
mod tests {
    use super::*;

    choice! {
        /// A test enumeration.
        Size: Large {
            Small = "small": "Fits a hand",
            Large = "large": "Fits a room",
        }
    }

    #[test]
    fn names_and_descriptions_round_trip() {
        assert_eq!(Size::from_name("large"), Some(Size::Large));
        assert_eq!(Size::from_name("medium"), None);
        assert_eq!((Size::NAMES, Size::default().name()), (&["small", "large"][..], "large"));
        assert_eq!(Size::Large.description(), "Fits a room");
    }
}
