//! Numbers that options take, and what is said of others; numbers for readers.

use clap::builder::TypedValueParser;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Parses a whole number in a range.
pub fn whole<T>(range: RangeInclusive<T>) -> impl TypedValueParser<Value = T>
where
    T: FromStr + Display + PartialOrd + Copy + Send + Sync + 'static,
{
    move |text: &str| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            format!("expected a whole number from {} to {}", range.start(), range.end())
        })
    }
}

/// Why a text is no float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoFloat {
    /// What is wrong, to stand behind the text.
    pub what: &'static str,
    /// The remedy.
    pub help: &'static str,
}

/// Parses a float. Infinity is one by its name, but no number that is merely too large is.
pub fn float(text: &str) -> Result<f32, NoFloat> {
    const TEXT: NoFloat =
        NoFloat { what: "is not a number", help: "write it as in 0.5, -1 or 2e-3" };
    const LARGE: NoFloat =
        NoFloat { what: "is too large for a float", help: "the largest is 3.4028235e38" };
    let x: f32 = text.parse().map_err(|_| TEXT)?;
    let is_named = text.contains(['i', 'I']);
    if x.is_infinite() && !is_named { Err(LARGE) } else { Ok(x) }
}

/// Six digits that count, without zeros behind them.
pub fn number(x: f64) -> String {
    if !x.is_finite() {
        let infinite = if x > 0.0 { "∞" } else { "−∞" };
        return if x.is_nan() { "NaN" } else { infinite }.into();
    }
    // Rounded first, so that the exponent is that of what is shown.
    let scientific = format!("{x:.5e}");
    let (digits, exponent) = scientific.split_once('e').expect("it was asked for");
    let exponent: i32 = exponent.parse().expect("exponents are whole");
    let trim = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').into()
        } else {
            text.to_string()
        }
    };
    match exponent {
        _ if x == 0.0 => "0".into(),
        -4..6 => trim(&format!("{x:.*}", (5 - exponent) as usize)),
        _ => format!("{}e{exponent}", trim(digits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command};

    #[test]
    fn whole_numbers_are_in_their_range() {
        let parse = |text: &str| {
            let command = Command::new("a")
                .arg(Arg::new("n").allow_hyphen_values(true).value_parser(whole(1..=4096u16)));
            let matches =
                command.try_get_matches_from(["a", text]).map_err(|error| error.to_string())?;
            Ok::<_, String>(*matches.get_one::<u16>("n").expect("it was given"))
        };
        assert_eq!((parse("1"), parse("4096")), (Ok(1), Ok(4096)));
        for wrong in ["0", "4097", "-1", "65536", "1.5", "many", ""] {
            assert!(
                parse(wrong).unwrap_err().contains("expected a whole number from 1 to 4096"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn floats_have_room_for_what_they_are_given() {
        assert_eq!(float("-2e-3"), Ok(-0.002));
        assert_eq!(float("3.4028235e38"), Ok(f32::MAX));
        assert_eq!((float("inf"), float("-Infinity")), (Ok(f32::INFINITY), Ok(f32::NEG_INFINITY)));
        for large in ["1e60", "-1e39", "3.41e38"] {
            assert_eq!(float(large).unwrap_err().what, "is too large for a float", "{large}");
        }
        assert_eq!(float("x").unwrap_err().what, "is not a number");
        assert!(float("nan").is_ok_and(f32::is_nan));
    }

    #[test]
    fn numbers_have_six_digits() {
        let expected = [
            (0.0, "0"),
            (1.0, "1"),
            (-0.012_345_678, "-0.0123457"),
            (123.456_789, "123.457"),
            (0.000_012_345_67, "1.23457e-5"),
            (1.5e9, "1.5e9"),
            (999_999.0, "999999"),
            (999_999.9, "1e6"),
            (9.999_999, "10"),
            (-0.0, "0"),
            (f64::INFINITY, "∞"),
            (f64::NAN, "NaN"),
        ];
        for (x, text) in expected {
            assert_eq!(number(x), text);
        }
    }
}
