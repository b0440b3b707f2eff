//! Number formatting for human-readable output.

/// Formats a number with six significant digits, without trailing zeros.
pub fn six_digits(x: f64) -> String {
    if !x.is_finite() {
        let infinite = if x > 0.0 { "∞" } else { "−∞" };
        return if x.is_nan() { "NaN" } else { infinite }.into();
    }
    // Round before taking the exponent, since rounding can carry into the next power of 10.
    let scientific = format!("{x:.5e}");
    let (digits, exponent) = scientific.split_once('e').expect("`e` formatting has an exponent");
    let exponent: i32 = exponent.parse().expect("exponents are integers");
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

    #[test]
    fn numbers_have_at_most_six_significant_digits() {
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
            assert_eq!(six_digits(x), text);
        }
    }
}
