//! Value parsers for options that several subcommands share.
//!
//! They reject values for which nothing would be measured or checked: a run that does nothing must
//! not succeed.

use crate::materials;
use clap::builder::PossibleValuesParser;

/// Parses a number of repetitions, at least 1.
pub fn positive<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let number = text.parse::<u64>().ok().filter(|&number| number > 0);
    number
        .and_then(|number| N::try_from(number).ok())
        .ok_or_else(|| "expected an integer of at least 1".to_owned())
}

/// Parses a count from 1 to 10¹⁵, possibly in scientific notation, such as 1e9.
pub fn count(text: &str) -> Result<u64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (1.0..=1e15).contains(number));
    number
        .map(|number| number as u64)
        .ok_or_else(|| "expected a number from 1 to 1e15, such as 1000 or 1e9".to_owned())
}

/// Returns a parser for the names of the six materials.
pub fn material() -> PossibleValuesParser {
    PossibleValuesParser::new(materials::ALL.map(|(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_below_one_are_rejected() {
        assert_eq!(
            [count("1"), count("1e9"), count("1000.5")],
            [Ok(1), Ok(1_000_000_000), Ok(1000)]
        );
        assert_eq!((positive::<usize>("1"), positive::<u32>("4294967295")), (Ok(1), Ok(u32::MAX)));
        for text in ["0", "0.5", "-1", "nan", "inf", "1e16", "", "many"] {
            assert!(count(text).is_err_and(|error| error.contains("1 to 1e15")), "{text}");
        }
        for text in ["0", "-1", "1.5", "4294967296", ""] {
            assert!(
                positive::<u32>(text).is_err_and(|error| error.contains("at least 1")),
                "{text}"
            );
        }
    }
}
