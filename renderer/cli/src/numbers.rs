//! Parsers for option values.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use lightbound::choice::Choice;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Parses the name of a [`Choice`]; the help text lists all names with their descriptions.
pub fn choice<T: Choice>() -> impl TypedValueParser<Value = T> {
    let values = T::ALL.iter().map(|c| PossibleValue::new(c.name()).help(c.description()));
    PossibleValuesParser::new(values)
        .map(|name| T::from_name(&name).expect("clap accepts only names of choices"))
}

/// Parses an integer in a range.
pub fn integer<T>(range: RangeInclusive<T>) -> impl TypedValueParser<Value = T>
where
    T: FromStr + Display + PartialOrd + Copy + Send + Sync + 'static,
{
    move |text: &str| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number
            .ok_or_else(|| format!("expected an integer from {} to {}", range.start(), range.end()))
    }
}

/// Why a string cannot be parsed as a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatError {
    /// The problem, as a predicate of the quoted string.
    pub problem: &'static str,
    /// Remedy.
    pub help: &'static str,
}

/// Parses a float. Infinity must be given by name; numbers that overflow are errors.
pub fn float(text: &str) -> Result<f32, FloatError> {
    const NOT_A_NUMBER: FloatError =
        FloatError { problem: "is not a number", help: "write it as in 0.5, -1 or 2e-3" };
    const OVERFLOW: FloatError =
        FloatError { problem: "is too large for a float", help: "the largest is 3.4028235e38" };
    let x: f32 = text.parse().map_err(|_| NOT_A_NUMBER)?;
    let is_named = text.contains(['i', 'I']);
    if x.is_infinite() && !is_named { Err(OVERFLOW) } else { Ok(x) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command};

    #[test]
    fn integers_outside_the_range_are_errors() {
        let parse = |text: &str| {
            let command = Command::new("a")
                .arg(Arg::new("n").allow_hyphen_values(true).value_parser(integer(1..=4096u16)));
            let matches =
                command.try_get_matches_from(["a", text]).map_err(|error| error.to_string())?;
            Ok::<_, String>(*matches.get_one::<u16>("n").expect("the option is set"))
        };
        assert_eq!((parse("1"), parse("4096")), (Ok(1), Ok(4096)));
        for wrong in ["0", "4097", "-1", "65536", "1.5", "many", ""] {
            assert!(
                parse(wrong).unwrap_err().contains("expected an integer from 1 to 4096"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn floats_that_overflow_are_errors() {
        assert_eq!(float("-2e-3"), Ok(-0.002));
        assert_eq!(float("3.4028235e38"), Ok(f32::MAX));
        assert_eq!((float("inf"), float("-Infinity")), (Ok(f32::INFINITY), Ok(f32::NEG_INFINITY)));
        for large in ["1e60", "-1e39", "3.41e38"] {
            assert_eq!(float(large).unwrap_err().problem, "is too large for a float", "{large}");
        }
        assert_eq!(float("x").unwrap_err().problem, "is not a number");
        assert!(float("nan").is_ok_and(f32::is_nan));
    }
}
