//! Parsing of parameter values from options and CSV columns.
//!
//! The name of a parameter sets all of its components; with a suffix `.r .g .b .a` or `.x .y .z .w`
//! it sets one. If intervals are allowed, a value is a number or `LO..HI`.

use crate::console::count;
use crate::numbers::{FloatError, float};
use lightbound::material::parameters::valid_values;
use lightbound::suggestion::did_you_mean;
use lightbound_shader::{Parameter, Scalar};
use std::cmp::Ordering;
use std::ops::Range;

/// A parameter or one of its components.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterWords<'a> {
    /// The parameter.
    pub parameter: &'a Parameter,
    /// Indices among the words of all parameters.
    pub words: Range<usize>,
}

/// An invalid value or name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// Problem.
    pub message: String,
    /// Remedy.
    pub help: String,
}

/// Finds a parameter or component by name.
pub fn find_parameter<'a>(parameters: &'a [Parameter], name: &str) -> Option<ParameterWords<'a>> {
    let mut first = 0;
    for parameter in parameters {
        if name == parameter.name {
            return Some(ParameterWords { parameter, words: first..first + parameter.size });
        }
        let component =
            name.strip_prefix(parameter.name.as_str()).and_then(|rest| rest.strip_prefix('.'));
        let index = component.and_then(|component| {
            ["r x", "g y", "b z", "a w"].iter().position(|s| s.split(' ').any(|s| s == component))
        });
        if let Some(index) = index.filter(|&index| index < parameter.size && parameter.size > 1) {
            return Some(ParameterWords { parameter, words: first + index..first + index + 1 });
        }
        first += parameter.size;
    }
    None
}

/// A value or a closed interval of values, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordRange {
    /// Lower and upper endpoint.
    pub endpoints: [u32; 2],
    /// Whether it was written as an interval; if not, the endpoints are equal.
    pub is_interval: bool,
}

impl From<u32> for WordRange {
    fn from(bits: u32) -> WordRange {
        WordRange { endpoints: [bits; 2], is_interval: false }
    }
}

/// Default values of the words of all parameters.
pub fn defaults<T: From<u32>>(parameters: &[Parameter]) -> Vec<Option<T>> {
    let words = |parameter: &Parameter| {
        let default = |k: usize| {
            parameter.default.as_ref().map(|numbers| parameter.scalar.bits(numbers[k]).into())
        };
        (0..parameter.size).map(default).collect::<Vec<_>>()
    };
    parameters.iter().flat_map(words).collect()
}

/// The values of the words of all parameters: assigned values, parsed by `parse`, or defaults.
/// The names of `overrides` only serve as suggestions in error messages.
pub fn assign<T: From<u32>>(
    parameters: &[Parameter],
    overrides: &[Parameter],
    assignments: &[&(String, String)],
    parse: impl Fn(&Parameter, &str) -> Result<T, ValueError>,
) -> Result<Vec<Option<T>>, ValueError> {
    let mut words = defaults(parameters);
    for (name, text) in assignments {
        let overrides =
            || overrides.iter().map(|declared| declared.name.as_str()).collect::<Vec<_>>();
        let selected = find_parameter(parameters, name)
            .ok_or_else(|| unknown_name("parameter", parameters, &overrides(), name))?;
        let texts: Vec<&str> = text.split(',').map(str::trim).collect();
        if texts.len() != 1 && texts.len() != selected.words.len() {
            let message = format!(
                "`{name}` takes {}, not {}",
                count(selected.words.len() as u64, "number"),
                texts.len()
            );
            return Err(ValueError { message, help: "one number sets all components".into() });
        }
        for (word, text) in selected.words.clone().zip(texts.iter().cycle()) {
            words[word] = Some(parse(selected.parameter, text)?);
        }
    }
    Ok(words)
}

/// The first parameter or component without a value.
pub fn first_missing<T>(parameters: &[Parameter], words: &[Option<T>]) -> Option<String> {
    let names = parameters.iter().flat_map(Parameter::component_names).zip(words);
    let mut missing = names.filter(|(_, word)| word.is_none()).map(|(name, _)| name);
    let name = missing.next()?;
    // If further components are missing, name the parameter without a component.
    let stem = name
        .strip_suffix(".x")
        .filter(|stem| missing.any(|name| name.strip_suffix(".y") == Some(stem)));
    Some(stem.map_or(name.clone(), str::to_owned))
}

/// The values of all words; an error if one is missing.
pub fn require_all<T>(
    parameters: &[Parameter],
    words: Vec<Option<T>>,
) -> Result<Vec<T>, ValueError> {
    match first_missing(parameters, &words) {
        Some(name) => Err(no_value(&name)),
        None => Ok(words.into_iter().flatten().collect()),
    }
}

/// The error for a parameter without a value.
pub fn no_value(name: &str) -> ValueError {
    let help = format!("it has no default: set a value with --set {name}=…");
    ValueError { message: format!("`{name}` has no value"), help }
}

/// The error for an unknown name. `kind` is what it should name, such as a parameter; `others` are
/// valid names besides `parameters`.
pub fn unknown_name(
    kind: &str,
    parameters: &[Parameter],
    others: &[&str],
    name: &str,
) -> ValueError {
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let help = match parameters.iter().find(|parameter| parameter.name == stem) {
        Some(parameter) if parameter.size == 1 => {
            format!("`{stem}` has no components; write `{stem}`")
        }
        Some(parameter) => {
            let letters = |all: &str| {
                all.chars()
                    .take(parameter.size)
                    .map(|c| format!(".{c}"))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            format!("the components of `{stem}` are {} or {}", letters("rgba"), letters("xyzw"))
        }
        None => {
            let names: Vec<&str> = parameters
                .iter()
                .map(|parameter| parameter.name.as_str())
                .chain(others.iter().copied())
                .collect();
            let all = if names.is_empty() {
                format!("the shader has no {kind}s")
            } else {
                format!("the names are {}", names.join(", "))
            };
            match did_you_mean(stem, names, "") {
                near if near.is_empty() => all,
                near => format!("{near} {all}"),
            }
        }
    };
    ValueError { message: format!("the shader has no {kind} `{name}`"), help }
}

/// Parses a value of the parameter's type and range; returns its bits.
pub fn parse_bits(parameter: &Parameter, text: &str) -> Result<u32, ValueError> {
    parse_value(parameter, text).map(|(bits, _)| bits)
}

/// Parses a number or an interval `LO..HI` for a parameter.
pub fn parse_range(parameter: &Parameter, text: &str) -> Result<WordRange, ValueError> {
    parse_interval(&parameter.name, parameter.scalar, text, |text| parse_bits(parameter, text))
}

/// Parses a number or an interval `LO..HI` for a component of an argument.
pub fn parse_component_range(name: &str, text: &str) -> Result<WordRange, ValueError> {
    parse_interval(name, Scalar::F32, text, |text| parse_component(name, text))
}

/// Parses a component of an argument; returns its bits.
pub fn parse_component(name: &str, text: &str) -> Result<u32, ValueError> {
    float(text.trim()).map(f32::to_bits).map_err(|FloatError { problem, help }| ValueError {
        message: format!("`{name}`: `{text}` {problem}"),
        help: help.into(),
    })
}

/// Parses a direction or a position `X,Y,Z`.
pub fn parse_vector(text: &str) -> Result<[WordRange; 3], String> {
    parse_three(
        text,
        |name, text| parse_component(name, text).map(WordRange::from),
        "three numbers, as in 0,0.6,0.8",
    )
}

/// Parses a box of directions or positions `X,Y,Z`.
pub fn parse_box(text: &str) -> Result<[WordRange; 3], String> {
    parse_three(text, parse_component_range, "three numbers or intervals, as in 0,0.6,0.7..0.8")
}

fn parse_three(
    text: &str,
    parse: impl Fn(&str, &str) -> Result<WordRange, ValueError>,
    expected: &str,
) -> Result<[WordRange; 3], String> {
    let ranges = text.split(',').zip(["x", "y", "z", ""]).map(|(text, name)| parse(name, text));
    let ranges = ranges
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("{}: {}", error.message, error.help))?;
    ranges.try_into().map_err(|_| format!("expected {expected}"))
}

fn parse_interval(
    name: &str,
    scalar: Scalar,
    text: &str,
    parse: impl Fn(&str) -> Result<u32, ValueError>,
) -> Result<WordRange, ValueError> {
    let Some((low, high)) = text.split_once("..") else { return Ok(parse(text.trim())?.into()) };
    let (low, high) = (low.trim(), high.trim());
    if low.is_empty() || high.is_empty() {
        let help = "write an interval with both endpoints, as in 0.2..0.4".into();
        return Err(ValueError { message: format!("`{name}`: `{text}` lacks an endpoint"), help });
    }
    if text.contains("...") {
        let help =
            "write an interval with two dots and a digit on both sides, as in 0.2..0.4".into();
        return Err(ValueError {
            message: format!("`{name}`: `{text}` has three dots in a row"),
            help,
        });
    }
    if high.contains("..") {
        let help = "write an interval with two endpoints, as in 0.2..0.4".into();
        return Err(ValueError {
            message: format!("`{name}`: `{text}` has more than two endpoints"),
            help,
        });
    }
    let endpoints = [parse(low), parse(high)];
    let is_reversed = match &endpoints {
        [Ok(lower), Ok(upper)] => !is_ordered(scalar, [*lower, *upper]),
        // Reversed endpoints are the more likely mistake if one is also out of range.
        _ => matches!([low, high].map(str::parse::<f64>), [Ok(lower), Ok(upper)] if lower > upper),
    };
    if is_reversed {
        return Err(reversed_endpoints(name, low, high));
    }
    let [lower, upper] = endpoints;
    Ok(WordRange { endpoints: [lower?, upper?], is_interval: true })
}

/// Whether the lower endpoint of an interval is not above the upper one; true for NaN, which is
/// reported elsewhere.
pub fn is_ordered(scalar: Scalar, [low, high]: [u32; 2]) -> bool {
    match scalar {
        Scalar::F32 => {
            f32::from_bits(low).partial_cmp(&f32::from_bits(high)) != Some(Ordering::Greater)
        }
        Scalar::I32 => low as i32 <= high as i32,
        Scalar::U32 | Scalar::Bool => low <= high,
    }
}

/// The error for an interval whose lower endpoint is above the upper one.
pub fn reversed_endpoints(name: &str, low: &str, high: &str) -> ValueError {
    let help = "write the lower endpoint of an interval first".into();
    ValueError {
        message: format!("`{name}`: the lower endpoint {low} is above the upper endpoint {high}"),
        help,
    }
}

/// Parses a value; returns its bits and its numerical value.
pub fn parse_value(parameter: &Parameter, text: &str) -> Result<(u32, f64), ValueError> {
    let name = &parameter.name;
    let error = |problem: &str| ValueError {
        message: format!("`{name}`: `{text}` {problem}"),
        help: format!("`{name}` takes {}", valid_values(parameter)),
    };
    let is_not = |expected: &str| error(&format!("is not {expected}"));
    // Parsing floats as doubles first would round twice.
    let (bits, value) = match parameter.scalar {
        Scalar::F32 => {
            float(text).map(|x| (x.to_bits(), f64::from(x))).map_err(|e| error(e.problem))
        }
        Scalar::I32 => text
            .parse()
            .map(|i: i32| (i as u32, f64::from(i)))
            .map_err(|_| is_not("a 32-bit integer")),
        Scalar::U32 => text
            .parse()
            .map(|i: u32| (i, f64::from(i)))
            .map_err(|_| is_not("an unsigned 32-bit integer")),
        Scalar::Bool => match text {
            "true" | "1" => Ok((!0, 1.0)),
            "false" | "0" => Ok((0, 0.0)),
            _ => Err(is_not("true or false")),
        },
    }?;
    let [low, high] = parameter.range;
    if value.is_nan() {
        return Err(is_not("a number"));
    }
    if parameter.scalar != Scalar::Bool && !(low <= value && value <= high) {
        return Err(ValueError {
            message: format!("`{name}`: {text} is out of range"),
            help: format!("`{name}` takes {}", valid_values(parameter)),
        });
    }
    Ok((bits, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(name: &str, scalar: Scalar, size: usize, range: [f64; 2]) -> Parameter {
        Parameter {
            name: name.into(),
            doc: String::new(),
            scalar,
            size,
            range,
            default: None,
            is_diffuse: false,
            fact: None,
        }
    }

    fn parameters() -> Vec<Parameter> {
        const ALL: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
        vec![
            parameter("kd", Scalar::F32, 3, [0.0, f64::from(0.1f32)]),
            parameter("exponent", Scalar::F32, 1, ALL),
            parameter("lobes", Scalar::U32, 1, [0.0, 4.0]),
            parameter("offset", Scalar::I32, 2, [i32::MIN, i32::MAX].map(f64::from)),
            parameter("metal", Scalar::Bool, 1, [0.0, 1.0]),
        ]
    }

    #[test]
    fn names_select_words() {
        let parameters = parameters();
        let words = |name: &str| find_parameter(&parameters, name).map(|parameter| parameter.words);
        assert_eq!(words("kd"), Some(0..3));
        assert_eq!(
            (words("kd.r"), words("kd.y"), words("kd.b")),
            (Some(0..1), Some(1..2), Some(2..3))
        );
        assert_eq!(
            (words("exponent"), words("lobes"), words("offset.y"), words("metal")),
            (Some(3..4), Some(4..5), Some(6..7), Some(7..8))
        );
        for unknown in ["kd.w", "kd.a", "kd.", "kd.xy", "exponent.x", "k", "", "KD", ".x"] {
            assert_eq!(words(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn unknown_names_suggest_known_ones() {
        let parameters = parameters();
        let help = |name: &str| unknown_name("parameter", &parameters, &["rounds"], name).help;
        assert_eq!(
            help("exponnt"),
            "did you mean \"exponent\"? the names are kd, exponent, lobes, offset, metal, rounds"
        );
        assert_eq!(help("kd.w"), "the components of `kd` are .r .g .b or .x .y .z");
        assert_eq!(help("exponent.x"), "`exponent` has no components; write `exponent`");
        assert_eq!(unknown_name("parameter", &[], &[], "kd").help, "the shader has no parameters");
    }

    #[test]
    fn values_are_rounded_once() {
        let parameters = parameters();
        let bits = |name: &str, text: &str| {
            parse_bits(find_parameter(&parameters, name).unwrap().parameter, text)
                .map_err(|error| error.message)
        };
        assert_eq!(bits("kd", "0.1"), Ok(0.1f32.to_bits()));
        assert_eq!(bits("kd", "-0"), Ok((-0.0f32).to_bits()));
        assert_eq!(bits("exponent", "inf"), Ok(f32::INFINITY.to_bits()));
        // Rounding to a double first would give 1.
        assert_eq!(bits("exponent", "1.000000059604644775390625000001"), Ok(0x3f80_0001));
        assert_eq!((bits("lobes", "4"), bits("offset", "-1")), (Ok(4), Ok(!0)));
        assert_eq!((bits("metal", "true"), bits("metal", "0")), (Ok(!0), Ok(0)));
        assert_eq!(bits("kd", "0.2"), Err("`kd`: 0.2 is out of range".into()));
        assert_eq!(bits("lobes", "5"), Err("`lobes`: 5 is out of range".into()));
        for (name, text) in [
            ("kd", "x"),
            ("kd", ""),
            ("exponent", "nan"),
            ("lobes", "1.5"),
            ("lobes", "-1"),
            ("metal", "yes"),
        ] {
            assert!(bits(name, text).unwrap_err().contains("is not"), "{name} {text}");
        }
    }

    #[test]
    fn intervals_have_ordered_endpoints() {
        let parameters = parameters();
        let read = |name: &str, text: &str| {
            let range = parse_range(find_parameter(&parameters, name).unwrap().parameter, text)
                .map_err(|error| error.message)?;
            Ok((range.endpoints, range.is_interval))
        };
        assert_eq!(read("exponent", "-1..2.5"), Ok(([-1.0f32, 2.5].map(f32::to_bits), true)));
        // Dots without a digit on one side.
        assert_eq!(read("exponent", "1. .. .5e1"), Ok(([1.0f32, 5.0].map(f32::to_bits), true)));
        assert_eq!(read("exponent", ".3.. .5e1"), Ok(([0.3f32, 5.0].map(f32::to_bits), true)));
        assert_eq!(read("kd", "0.1"), Ok(([0.1f32.to_bits(); 2], false)));
        assert_eq!(read("offset", "-2..3"), Ok(([-2i32 as u32, 3], true)));
        assert_eq!(read("metal", "false..true"), Ok(([0, !0], true)));
        for (name, text, message) in [
            ("exponent", "2..1", "`exponent`: the lower endpoint 2 is above the upper endpoint 1"),
            // Also out of the range [0, 0.1].
            ("kd", "1..0", "`kd`: the lower endpoint 1 is above the upper endpoint 0"),
            (
                "metal",
                "true..false",
                "`metal`: the lower endpoint true is above the upper endpoint false",
            ),
            ("exponent", "..1", "`exponent`: `..1` lacks an endpoint"),
            ("exponent", "1..", "`exponent`: `1..` lacks an endpoint"),
            ("exponent", "1..nan", "`exponent`: `nan` is not a number"),
            ("exponent", "0...1", "`exponent`: `0...1` has three dots in a row"),
            ("exponent", "0....1", "`exponent`: `0....1` has three dots in a row"),
            (
                "exponent",
                "0.1..0.2..0.3",
                "`exponent`: `0.1..0.2..0.3` has more than two endpoints",
            ),
            ("kd", "0.05..0.2", "`kd`: 0.2 is out of range"),
        ] {
            assert_eq!(read(name, text), Err(message.to_owned()), "{text}");
        }
        assert!(
            parse_component_range("wi.x", "-0.5..").is_err()
                && parse_component_range("wi.x", "0.5..-0.5").is_err()
        );
    }
}
