//! Values of a shader's parameters, as options and columns give them.
//!
//! A parameter goes by its name, which sets all of its components, and each component of a vector
//! by `.r .g .b .a` or `.x .y .z .w`. Where intervals are taken, a value is a number or `LO..HI`.

use crate::cli::console::count;
use crate::cli::numbers::{NoFloat, float};
use lightbound::material::parameters::takes;
use lightbound::scene::diagnostics::did_you_mean;
use lightbound_shader::{Parameter, Scalar};
use std::cmp::Ordering;
use std::ops::Range;

/// A parameter, or a component of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Place<'a> {
    /// Whose.
    pub parameter: &'a Parameter,
    /// Which words, of the words of all parameters.
    pub words: Range<usize>,
}

/// What stands wrong, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What is wrong.
    pub message: String,
    /// The remedy.
    pub help: String,
}

/// Finds what a name stands for.
pub fn find<'a>(parameters: &'a [Parameter], name: &str) -> Option<Place<'a>> {
    let mut first = 0;
    for parameter in parameters {
        if name == parameter.name {
            return Some(Place { parameter, words: first..first + parameter.size });
        }
        let component =
            name.strip_prefix(parameter.name.as_str()).and_then(|rest| rest.strip_prefix('.'));
        let index = component.and_then(|component| {
            ["r x", "g y", "b z", "a w"].iter().position(|s| s.split(' ').any(|s| s == component))
        });
        if let Some(index) = index.filter(|&index| index < parameter.size && parameter.size > 1) {
            return Some(Place { parameter, words: first + index..first + index + 1 });
        }
        first += parameter.size;
    }
    None
}

/// A word, or an interval of words with both ends, by their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Lower and upper end.
    pub ends: [u32; 2],
    /// Whether it was given as an interval; else the ends are equal.
    pub interval: bool,
}

impl From<u32> for Span {
    fn from(bits: u32) -> Span {
        Span { ends: [bits; 2], interval: false }
    }
}

/// The values of all parameters' words, where they have a default.
pub fn defaults<T: From<u32>>(parameters: &[Parameter]) -> Vec<Option<T>> {
    let words = |parameter: &Parameter| {
        let default = |k: usize| {
            parameter.default.as_ref().map(|numbers| parameter.scalar.bits(numbers[k]).into())
        };
        (0..parameter.size).map(default).collect::<Vec<_>>()
    };
    parameters.iter().flat_map(words).collect()
}

/// The values of parameters' words: what is set, by names and by texts that `read` reads, and else
/// their defaults; `overrides` are set elsewhere.
pub fn assign<T: From<u32>>(
    parameters: &[Parameter],
    overrides: &[Parameter],
    assignments: &[&(String, String)],
    read: impl Fn(&Parameter, &str) -> Result<T, Wrong>,
) -> Result<Vec<Option<T>>, Wrong> {
    let mut words = defaults(parameters);
    for (name, text) in assignments {
        let overrides =
            || overrides.iter().map(|declared| declared.name.as_str()).collect::<Vec<_>>();
        let place = find(parameters, name)
            .ok_or_else(|| unknown("parameter", parameters, &overrides(), name))?;
        let texts: Vec<&str> = text.split(',').map(str::trim).collect();
        if texts.len() != 1 && texts.len() != place.words.len() {
            let message = format!(
                "`{name}` takes {}, not {}",
                count(place.words.len() as u64, "number"),
                texts.len()
            );
            return Err(Wrong { message, help: "one number sets all components".into() });
        }
        for (word, text) in place.words.clone().zip(texts.iter().cycle()) {
            words[word] = Some(read(place.parameter, text)?);
        }
    }
    Ok(words)
}

/// The first parameter, or component of one, that has no value yet.
pub fn missing<T>(parameters: &[Parameter], words: &[Option<T>]) -> Option<String> {
    let names = parameters.iter().flat_map(Parameter::words).zip(words);
    let mut missing = names.filter(|(_, word)| word.is_none()).map(|(name, _)| name);
    let name = missing.next()?;
    // One without any is named as a whole.
    let stem = name
        .strip_suffix(".x")
        .filter(|stem| missing.any(|name| name.strip_suffix(".y") == Some(stem)));
    Some(stem.map_or(name.clone(), str::to_owned))
}

/// The values of all words, of which none may be missing.
pub fn all<T>(parameters: &[Parameter], words: Vec<Option<T>>) -> Result<Vec<T>, Wrong> {
    match missing(parameters, &words) {
        Some(name) => Err(no_value(&name)),
        None => Ok(words.into_iter().flatten().collect()),
    }
}

/// What to say of a parameter that is [`missing`].
pub fn no_value(name: &str) -> Wrong {
    let help = format!("it has no default either: give one with --set {name}=…");
    Wrong { message: format!("`{name}` has no value"), help }
}

/// What to say of the name of a `kind` that there is not; `others` would have been right as well.
pub fn unknown(kind: &str, parameters: &[Parameter], others: &[&str], name: &str) -> Wrong {
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
                format!("there are {}", names.join(", "))
            };
            match did_you_mean(stem, names, "") {
                near if near.is_empty() => all,
                near => format!("{near} {all}"),
            }
        }
    };
    Wrong { message: format!("the shader has no {kind} `{name}`"), help }
}

/// The bits of a value, if it is of the parameter's type and in its range.
pub fn bits(parameter: &Parameter, text: &str) -> Result<u32, Wrong> {
    read(parameter, text).map(|(bits, _)| bits)
}

/// A number or an interval, `LO..HI`, of a parameter.
pub fn span(parameter: &Parameter, text: &str) -> Result<Span, Wrong> {
    interval(&parameter.name, parameter.scalar, text, |text| bits(parameter, text))
}

/// A number or an interval, `LO..HI`, of a component of a direction.
pub fn direction_span(name: &str, text: &str) -> Result<Span, Wrong> {
    interval(name, Scalar::F32, text, |text| direction(name, text))
}

/// The bits of a component of a direction.
pub fn direction(name: &str, text: &str) -> Result<u32, Wrong> {
    float(text.trim()).map(f32::to_bits).map_err(|NoFloat { what, help }| Wrong {
        message: format!("`{name}`: `{text}` {what}"),
        help: help.into(),
    })
}

/// Parses `X,Y,Z`, a direction.
pub fn three_numbers(text: &str) -> Result<[Span; 3], String> {
    three(
        text,
        |name, text| direction(name, text).map(Span::from),
        "three numbers, as in 0,0.6,0.8",
    )
}

/// Parses `X,Y,Z`, directions.
pub fn three_spans(text: &str) -> Result<[Span; 3], String> {
    three(text, direction_span, "three numbers or intervals, as in 0,0.6,0.7..0.8")
}

fn three(
    text: &str,
    read: impl Fn(&str, &str) -> Result<Span, Wrong>,
    expected: &str,
) -> Result<[Span; 3], String> {
    let spans = text.split(',').zip(["x", "y", "z", ""]).map(|(text, name)| read(name, text));
    let spans = spans
        .collect::<Result<Vec<_>, _>>()
        .map_err(|wrong| format!("{}: {}", wrong.message, wrong.help))?;
    spans.try_into().map_err(|_| format!("expected {expected}"))
}

fn interval(
    name: &str,
    scalar: Scalar,
    text: &str,
    read: impl Fn(&str) -> Result<u32, Wrong>,
) -> Result<Span, Wrong> {
    let Some((low, high)) = text.split_once("..") else { return Ok(read(text.trim())?.into()) };
    let (low, high) = (low.trim(), high.trim());
    if low.is_empty() || high.is_empty() {
        let help = "write an interval with both ends, as in 0.2..0.4".into();
        return Err(Wrong { message: format!("`{name}`: `{text}` lacks an end"), help });
    }
    if text.contains("...") {
        let help = "write an interval with two dots, and with a digit on either side of them, as in 0.2..0.4".into();
        return Err(Wrong { message: format!("`{name}`: `{text}` has three dots in a row"), help });
    }
    if high.contains("..") {
        let help = "write an interval with its two ends, as in 0.2..0.4".into();
        return Err(Wrong { message: format!("`{name}`: `{text}` has more than two ends"), help });
    }
    let ends = [read(low)?, read(high)?];
    if !in_order(scalar, ends) {
        return Err(reversed(name, low, high));
    }
    Ok(Span { ends, interval: true })
}

/// Whether the lower end of an interval is not above the upper one; NaN, which is told of
/// elsewhere, is not.
pub fn in_order(scalar: Scalar, [low, high]: [u32; 2]) -> bool {
    match scalar {
        Scalar::F32 => {
            f32::from_bits(low).partial_cmp(&f32::from_bits(high)) != Some(Ordering::Greater)
        }
        Scalar::I32 => low as i32 <= high as i32,
        Scalar::U32 | Scalar::Bool => low <= high,
    }
}

/// What to say of an interval whose lower end is above the upper one.
pub fn reversed(name: &str, low: &str, high: &str) -> Wrong {
    let help = "the lower end of an interval comes first, and is at most the upper one".into();
    Wrong { message: format!("`{name}`: the lower end {low} is above the upper end {high}"), help }
}

/// A value as bits and as a number.
pub fn read(parameter: &Parameter, text: &str) -> Result<(u32, f64), Wrong> {
    let name = &parameter.name;
    let wrong = |what: &str| Wrong {
        message: format!("`{name}`: `{text}` {what}"),
        help: format!("`{name}` takes {}", takes(parameter)),
    };
    let not = |what: &str| wrong(&format!("is not {what}"));
    // Each type reads its own text: a float by way of a double would be rounded twice.
    let (bits, value) = match parameter.scalar {
        Scalar::F32 => {
            float(text).map(|x| (x.to_bits(), f64::from(x))).map_err(|error| wrong(error.what))
        }
        Scalar::I32 => text
            .parse()
            .map(|i: i32| (i as u32, f64::from(i)))
            .map_err(|_| not("a whole number that 32 bits hold")),
        Scalar::U32 => text
            .parse()
            .map(|i: u32| (i, f64::from(i)))
            .map_err(|_| not("a whole number, 0 or more, that 32 bits hold")),
        Scalar::Bool => match text {
            "true" | "1" => Ok((!0, 1.0)),
            "false" | "0" => Ok((0, 0.0)),
            _ => Err(not("true or false")),
        },
    }?;
    let [low, high] = parameter.range;
    if value.is_nan() {
        return Err(not("a number"));
    }
    if parameter.scalar != Scalar::Bool && !(low <= value && value <= high) {
        return Err(Wrong {
            message: format!("`{name}`: {text} is out of range"),
            help: format!("`{name}` takes {}", takes(parameter)),
        });
    }
    Ok((bits, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(name: &str, scalar: Scalar, size: usize, range: [f64; 2]) -> Parameter {
        Parameter { name: name.into(), doc: String::new(), scalar, size, range, default: None }
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
    fn names_stand_for_words() {
        let parameters = parameters();
        let words = |name: &str| find(&parameters, name).map(|place| place.words);
        assert_eq!(words("kd"), Some(0..3));
        assert_eq!(
            (words("kd.r"), words("kd.y"), words("kd.b")),
            (Some(0..1), Some(1..2), Some(2..3))
        );
        assert_eq!(
            (words("exponent"), words("lobes"), words("offset.y"), words("metal")),
            (Some(3..4), Some(4..5), Some(6..7), Some(7..8))
        );
        for none in ["kd.w", "kd.a", "kd.", "kd.xy", "exponent.x", "k", "", "KD", ".x"] {
            assert_eq!(words(none), None, "{none}");
        }
    }

    #[test]
    fn unknown_names_are_answered_by_known_ones() {
        let parameters = parameters();
        let help = |name: &str| unknown("parameter", &parameters, &["rounds"], name).help;
        assert_eq!(
            help("exponnt"),
            "did you mean \"exponent\"? there are kd, exponent, lobes, offset, metal, rounds"
        );
        assert_eq!(help("kd.w"), "the components of `kd` are .r .g .b or .x .y .z");
        assert_eq!(help("exponent.x"), "`exponent` has no components; write `exponent`");
        assert_eq!(unknown("parameter", &[], &[], "kd").help, "the shader has no parameters");
    }

    #[test]
    fn values_are_read_in_their_own_type() {
        let parameters = parameters();
        let bits = |name: &str, text: &str| {
            bits(find(&parameters, name).unwrap().parameter, text).map_err(|wrong| wrong.message)
        };
        assert_eq!(bits("kd", "0.1"), Ok(0.1f32.to_bits()));
        assert_eq!(bits("kd", "-0"), Ok((-0.0f32).to_bits()));
        assert_eq!(bits("exponent", "inf"), Ok(f32::INFINITY.to_bits()));
        // By way of a double it would be 1.
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
    fn intervals_have_their_ends_in_order() {
        let parameters = parameters();
        let read = |name: &str, text: &str| {
            let span = span(find(&parameters, name).unwrap().parameter, text)
                .map_err(|wrong| wrong.message)?;
            Ok((span.ends, span.interval))
        };
        assert_eq!(read("exponent", "-1..2.5"), Ok(([-1.0f32, 2.5].map(f32::to_bits), true)));
        // Dots without a digit at their side.
        assert_eq!(read("exponent", "1. .. .5e1"), Ok(([1.0f32, 5.0].map(f32::to_bits), true)));
        assert_eq!(read("exponent", ".3.. .5e1"), Ok(([0.3f32, 5.0].map(f32::to_bits), true)));
        assert_eq!(read("kd", "0.1"), Ok(([0.1f32.to_bits(); 2], false)));
        assert_eq!(read("offset", "-2..3"), Ok(([-2i32 as u32, 3], true)));
        assert_eq!(read("metal", "false..true"), Ok(([0, !0], true)));
        for (name, text, said) in [
            ("exponent", "2..1", "`exponent`: the lower end 2 is above the upper end 1"),
            ("metal", "true..false", "`metal`: the lower end true is above the upper end false"),
            ("exponent", "..1", "`exponent`: `..1` lacks an end"),
            ("exponent", "1..", "`exponent`: `1..` lacks an end"),
            ("exponent", "1..nan", "`exponent`: `nan` is not a number"),
            ("exponent", "0...1", "`exponent`: `0...1` has three dots in a row"),
            ("exponent", "0....1", "`exponent`: `0....1` has three dots in a row"),
            ("exponent", "0.1..0.2..0.3", "`exponent`: `0.1..0.2..0.3` has more than two ends"),
            ("kd", "0.05..0.2", "`kd`: 0.2 is out of range"),
        ] {
            assert_eq!(read(name, text), Err(said.to_owned()), "{text}");
        }
        assert!(
            direction_span("wi.x", "-0.5..").is_err()
                && direction_span("wi.x", "0.5..-0.5").is_err()
        );
    }
}
