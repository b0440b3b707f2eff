//! Transfer functions of stored samples: sRGB (IEC 61966-2-1), linear, or gamma.

use std::str::FromStr;

/// The transfer function of 8- and 16-bit samples.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Encoding {
    /// The sRGB curve, the default.
    #[default]
    Srgb,
    /// Linear samples.
    Linear,
    /// The linear value is the stored value raised to this positive power.
    Gamma(f32),
}

/// The name of an unknown encoding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown encoding `{0}`; use `sRGB`, `linear` or `gamma N` with a positive number N")]
pub struct EncodingError(pub String);

impl FromStr for Encoding {
    type Err = EncodingError;

    /// Parses pbrt's names: `sRGB`, `linear`, `gamma 2.2`.
    fn from_str(name: &str) -> Result<Encoding, EncodingError> {
        let words: Vec<&str> = name.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["sRGB"] => Ok(Encoding::Srgb),
            ["linear"] => Ok(Encoding::Linear),
            ["gamma", exponent] => match exponent.parse::<f32>() {
                Ok(x) if x > 0.0 && x.is_finite() => Ok(Encoding::Gamma(x)),
                _ => Err(EncodingError(name.into())),
            },
            _ => Err(EncodingError(name.into())),
        }
    }
}

impl Encoding {
    /// Decodes a stored value in [0, 1] to a linear value in [0, 1].
    pub fn decode(self, x: f32) -> f32 {
        match self {
            Encoding::Linear => x,
            Encoding::Gamma(exponent) => libm::powf(x, exponent),
            Encoding::Srgb if x <= 0.04045 => x / 12.92,
            Encoding::Srgb => libm::powf((x + 0.055) / 1.055, 2.4),
        }
    }
}

/// Encodes a linear value in [0, 1] as an sRGB value in [0, 1].
pub fn linear_to_srgb(x: f32) -> f32 {
    if x <= 0.003_130_8 { x * 12.92 } else { 1.055 * libm::powf(x, 1.0 / 2.4) - 0.055 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_matches_known_values_and_srgb_round_trips() {
        for encoding in [Encoding::Srgb, Encoding::Linear, Encoding::Gamma(2.2)] {
            assert_eq!((encoding.decode(0.0), encoding.decode(1.0)), (0.0, 1.0));
        }
        for code in 0..=255u32 {
            assert_eq!(
                (linear_to_srgb(Encoding::Srgb.decode(code as f32 / 255.0)) * 255.0).round() as u32,
                code
            );
        }
        assert!((Encoding::Srgb.decode(0.5) - 0.214_041_14).abs() < 1e-7);
        assert!((Encoding::Gamma(2.0).decode(0.5) - 0.25).abs() < 1e-7);
    }

    #[test]
    fn valid_names_are_parsed_and_others_rejected() {
        assert_eq!("sRGB".parse(), Ok(Encoding::Srgb));
        assert_eq!("linear".parse(), Ok(Encoding::Linear));
        assert_eq!("gamma 2.2".parse(), Ok(Encoding::Gamma(2.2)));
        for bad in ["", "srgb", "gamma", "gamma -1", "gamma nan", "gamma 1 2"] {
            assert!(bad.parse::<Encoding>().is_err(), "{bad}");
        }
    }
}
