//! Compares composite operations with references: elementary functions over a sample of all floats,
//! to the accuracy stated in `TABLE.md`; special values; integer operations.

#[path = "math/measure.rs"]
mod measure;

use lightbound_shader::ir::{Op, Type};
use lightbound_shader::math::power;
use lightbound_shader::random::Random;
use std::collections::HashMap;

/// Evaluates an operation on floats.
fn f(op: Op, args: &[f32]) -> f32 {
    let words: Vec<u32> = args.iter().map(|x| x.to_bits()).collect();
    f32::from_bits(op.eval(&words))
}

/// The cells of each row of the table, by name of the function.
fn table() -> HashMap<&'static str, Vec<&'static str>> {
    let text = include_str!("../src/math/TABLE.md");
    let rows = text
        .lines()
        .filter_map(|line| line.strip_prefix("| "))
        .map(|line| line.split(" | ").map(|cell| cell.trim_matches([' ', '|'])));
    rows.map(Iterator::collect)
        .filter(|cells: &Vec<_>| cells.len() == 12)
        .map(|cells| (cells[0], cells))
        .collect()
}

#[test]
fn sampled_errors_are_within_the_table() {
    let table = table();
    for function in measure::functions() {
        let name = function.op.name();
        let row = &table[name];
        let step = 16_411;
        let measured = measure::measure(&function, step, &mut |inputs, results| {
            for (result, &input) in results.iter_mut().zip(inputs) {
                *result = function.op.eval(&[input]);
            }
        });
        let [error, low, high] =
            [row[3], row[10], row[11]].map(|cell| cell.parse::<f64>().expect("a number"));
        let [violation, widening] =
            [row[7], row[9]].map(|cell| cell.parse::<u32>().expect("a number"));
        // Interval lowerings widen by exactly the amount in the table.
        assert_eq!(u32::from(function.op.facts().widening), widening, "{name}");
        assert!(measured.widening <= widening, "{name}: {measured:?}");
        assert_eq!(row[2].parse(), Ok(measure::cost(function.op)), "{name}");
        assert!(measured.error <= error, "{name}: {measured:?}");
        assert!(measured.violation <= violation, "{name}: {measured:?}");
        assert!(measured.low as f64 >= low && measured.high as f64 <= high, "{name}: {measured:?}");
        assert_eq!(measured.faults, 0, "{name}: {measured:?}");
        assert_eq!(row[1], function.pieces, "{name}");
    }
}

#[test]
fn monotonicity_violations_of_neighboring_floats_are_within_the_table() {
    // Sparse samples miss violations of a few ulps; runs of consecutive floats do not.
    let table = table();
    for function in measure::functions() {
        let name = function.op.name();
        let max_violation: u32 = table[name][7].parse().expect("a number");
        let piece = |x: f32| (function.piece)(x as f64);
        for exponent in -40..40 {
            let start = measure::ordinal(2f32.powi(exponent)) + (exponent * 12_345) % 2_000_000;
            for start in [start, -start] {
                let mut top = (i64::MIN, i64::MIN);
                for ordinal in start..start + 500 {
                    let x = measure::float_at(ordinal);
                    let y = f(function.op, &[x]);
                    if y.is_nan() || x.abs() > function.limit {
                        continue;
                    }
                    let height = if (function.is_decreasing)(piece(x)) {
                        -measure::ordinal(y)
                    } else {
                        measure::ordinal(y)
                    } as i64;
                    top = if top.0 == piece(x) {
                        (top.0, top.1.max(height))
                    } else {
                        (piece(x), height)
                    };
                    assert!(top.1 - height <= max_violation as i64, "{name} at {x:e}");
                }
            }
        }
    }
}

#[test]
fn special_values_match_ieee_754() {
    let specials = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    for function in measure::functions() {
        for x in specials {
            let (actual, expected) = (f(function.op, &[x]), (function.rounded)(x));
            let is_same =
                actual.to_bits() == expected.to_bits() || actual.is_nan() && expected.is_nan();
            let is_close = x != 0.0
                && measure::ordinal(actual).abs_diff(measure::ordinal(expected)) <= 2
                && expected.is_finite()
                && expected != 0.0;
            assert!(is_same || is_close, "{}({x}) = {actual}, not {expected}", function.op.name());
        }
    }
    assert_eq!(f(Op::Exp, &[0.0]), 1.0);
    assert_eq!(f(Op::Log, &[1.0]).to_bits(), 0);
    for n in -149..128 {
        let power = 2f64.powi(n) as f32;
        assert_eq!(f(Op::Exp2, &[n as f32]), power);
        assert_eq!(f(Op::Log2, &[power]), n as f32);
    }
}

#[test]
fn nan_payloads_do_not_affect_results() {
    for &op in
        Op::ALL.iter().filter(|op| op.is_composite() && op.signature().args == [Some(Type::F32)])
    {
        let expected = op.eval(&[f32::NAN.to_bits()]);
        for bits in [0x7f80_0001, 0x7fff_ffff, 0xff81_2345, 0xffc0_0000, 0x7fd5_5555u32] {
            let actual = op.eval(&[bits]);
            let both_nan = f32::from_bits(expected).is_nan() && f32::from_bits(actual).is_nan();
            assert!(
                actual == expected || both_nan && op.signature().result == Some(Type::F32),
                "{}",
                op.name()
            );
        }
    }
}

#[test]
fn powers_are_accurate_and_special_cases_exact() {
    let mut random = Random::new(11);
    for _ in 0..200_000 {
        let a = f32::from_bits(random.bits() as u32 & 0x7fff_ffff);
        let b = ((random.bits() % 2_000_001) as f32 - 1e6)
            * 2f32.powi((random.bits() % 40) as i32 - 36);
        let real = core_math::pow(a as f64, b as f64);
        let actual = f(Op::Pow, &[a, b]);
        if a.is_nan() {
            assert!(actual.is_nan());
        } else if real < f32::MIN_POSITIVE as f64 {
            assert!(
                (actual as f64 - real).abs() <= 2f64.powi(-127),
                "{a}^{b} = {actual:e}, not {real:e}"
            );
        } else {
            let t = (b as f64 * (a as f64).log2()).abs().min(140.0);
            assert!(
                measure::error(actual, real) <= 2.5 + 2.71 * t,
                "{a}^{b} = {actual:e}, not {real:e}"
            );
        }
    }
    let infinity = f32::INFINITY;
    for (a, b, expected) in [
        (0.0, 2.0, 0.0),
        (-0.0, 0.5, 0.0),
        (0.0, infinity, 0.0),
        (0.0, -1.0, infinity),
        (0.0, 0.0, 1.0),
        (3.0, 0.0, 1.0),
        (infinity, 0.0, 1.0),
        (infinity, 0.5, infinity),
        (infinity, -0.5, 0.0),
        (1.0, 12345.0, 1.0),
        (2.0, infinity, infinity),
        (2.0, -infinity, 0.0),
        (0.5, infinity, 0.0),
        (0.5, -infinity, infinity),
        (4.0, 0.5, 2.0),
        (2.0, 10.0, 1024.0),
        (2.0, 128.0, infinity),
    ] {
        assert_eq!(f(Op::Pow, &[a, b]), expected, "{a}^{b}");
    }
    for (a, b) in
        [(-1.0, 2.0), (-infinity, 1.0), (f32::NAN, 1.0), (1.0, f32::NAN), (f32::NAN, f32::NAN)]
    {
        assert!(f(Op::Pow, &[a, b]).is_nan(), "{a}^{b}");
    }
}

/// The number that follows a phrase in the table.
fn number_after(phrase: &str) -> f64 {
    let text = include_str!("../src/math/TABLE.md").replace('\n', " ");
    let (_, rest) =
        text.split_once(phrase).unwrap_or_else(|| panic!("the table does not contain {phrase:?}"));
    let number: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    number.trim_end_matches('.').parse().unwrap_or_else(|_| panic!("no number follows {phrase:?}"))
}

#[test]
fn steps_of_pow_are_as_accurate_as_the_proof_assumes() {
    let unit = 1.0 / f64::from(1 << 24);
    let [below, zero, above, absolute] = measure::pow_log2_errors();
    let rows = [("n = −1", below), ("n = 0", zero), ("n = 1", above)];
    for (n, error) in rows {
        // The table rounds up to four decimals.
        let stated = number_after(&format!("| n + log₂ m, {n} | all 2²³ mantissas m | ")) * unit;
        assert!(error <= stated && stated - error <= 1e-3 * unit, "{n}: {} u", error / unit);
        assert!(stated <= power::LOG2_ERROR, "{n}");
    }
    assert!(absolute <= 1.42 * unit, "{} u", absolute / unit);
    // The table covers all floats in [0, 1]; this test samples them.
    let (error, [min, max]) = measure::pow_exp2_errors(257);
    let stated = number_after("all floats x in [0, 1] | ") * unit;
    assert!(error <= stated && stated <= power::EXP2_ERROR, "{} u", error / unit);
    assert!(1.0 <= min && max < 2.0, "{min} to {max}");
}

#[test]
fn monotonicity_violations_of_atan2_are_within_its_facts() {
    let (_, violation, widening) = measure::atan2_monotonicity(1009);
    assert_eq!(
        f64::from(Op::Atan2.facts().widening),
        number_after("the widening that compensates for them is ")
    );
    assert!(widening <= u32::from(Op::Atan2.facts().widening));
    assert!(f64::from(violation) <= number_after("the largest of "));
}

#[test]
fn atan2_matches_ieee_754() {
    let values = [0.0, 1.0, 2.5, 1e-40, 3e38, f32::INFINITY];
    for y in values.iter().flat_map(|&y| [y, -y]) {
        for x in values.iter().flat_map(|&x| [x, -x]) {
            let (actual, expected) = (f(Op::Atan2, &[y, x]), core_math::atan2f(y, x));
            if x.is_infinite() && y.is_infinite() {
                assert!(actual.is_nan(), "atan2({y}, {x}) = {actual}");
                continue;
            }
            assert_eq!(
                actual.is_sign_negative(),
                expected.is_sign_negative(),
                "atan2({y}, {x}) = {actual}, not {expected}"
            );
            assert!(
                measure::ordinal(actual).abs_diff(measure::ordinal(expected)) <= 2,
                "atan2({y}, {x}) = {actual}, not {expected}"
            );
        }
    }
    assert!(f(Op::Atan2, &[f32::NAN, 1.0]).is_nan());
    assert!(f(Op::Atan2, &[1.0, f32::NAN]).is_nan());
}

#[test]
fn smoothstep_is_monotone_between_its_edges() {
    let mut last = 0.0;
    for bits in (0..=1.0f32.to_bits()).step_by(997) {
        let t = f32::from_bits(bits);
        let s = f(Op::Smoothstep, &[0.0, 1.0, t]);
        let real = (t as f64) * (t as f64) * (3.0 - 2.0 * t as f64);
        assert!((last..=1.0).contains(&s) && measure::error(s, real) <= 2.0, "at {t}");
        last = s;
    }
    assert!(f(Op::Smoothstep, &[1.0, 1.0, 1.0]).is_nan());
    assert_eq!(f(Op::Smoothstep, &[1.0, 1.0, 2.0]), 1.0);
}

#[test]
fn numeric_builtins_match_their_definitions() {
    for (x, expected) in
        [(2.5, 1.0), (-1e-45, -1.0), (0.0, 0.0), (f32::NEG_INFINITY, -1.0), (1e-45, 1.0)]
    {
        assert_eq!(f(Op::Sign, &[x]), expected);
    }
    assert!(f(Op::Sign, &[-0.0]).is_sign_negative() && f(Op::Sign, &[f32::NAN]).is_nan());
    assert_eq!(f(Op::Rem, &[5.5, 2.0]), 1.5);
    assert_eq!(f(Op::Rem, &[-5.5, 2.0]), -1.5);
    assert_eq!(f(Op::Fract, &[-0.25]), 0.75);
    assert_eq!(f(Op::Fract, &[-1e-10]), 1.0);
    assert_eq!(f(Op::Step, &[1.0, 1.0]), 1.0);
    assert_eq!(f(Op::Step, &[1.0, 0.5]), 0.0);
    assert_eq!(f(Op::Step, &[f32::NAN, 0.5]), 0.0);
}

/// Special integers, and `random_count` random ones of all magnitudes.
fn integers(random_count: usize) -> Vec<u32> {
    let mut all: Vec<u32> = (0..32)
        .flat_map(|bit| (-2..=2).map(move |d: i32| (1u32 << bit).wrapping_add_signed(d)))
        .collect();
    all.extend([
        0,
        1,
        3,
        5,
        7,
        10,
        100,
        255,
        641,
        65_537,
        6_700_417,
        0x5555_5555,
        0xaaaa_aaaa,
        u32::MAX - 1,
        u32::MAX,
    ]);
    all.extend(all.clone().iter().map(|x| !x));
    let mut random = Random::new(5);
    all.extend((0..random_count).map(|_| random.bits() as u32 >> (random.bits() % 32)));
    all
}

#[test]
fn division_of_integers_is_exact() {
    let check = |a: u32, b: u32| {
        let (sa, sb) = (a as i32, b as i32);
        let expected = [a.checked_div(b).unwrap_or(a), a.checked_rem(b).unwrap_or(0)];
        let signed =
            [sa.checked_div(sb).unwrap_or(sa) as u32, sa.checked_rem(sb).unwrap_or(0) as u32];
        assert_eq!([Op::UDiv, Op::URem].map(|op| op.eval(&[a, b])), expected, "{a} ÷ {b}");
        assert_eq!([Op::SDiv, Op::SRem].map(|op| op.eval(&[a, b])), signed, "{sa} ÷ {sb}");
    };
    let edges = integers(40);
    for &a in &edges {
        for &b in &edges {
            check(a, b);
            // Exact multiples and their neighbors.
            for d in -1..=1 {
                check(a.wrapping_mul(b).wrapping_add_signed(d), b);
            }
        }
    }
    for pair in integers(200_000).windows(2) {
        check(pair[0], pair[1]);
    }
}

#[test]
fn conversions_and_bit_counts_match_rust() {
    for x in integers(100_000) {
        let expected = [
            x.count_ones(),
            x.leading_zeros(),
            x.trailing_zeros(),
            x.reverse_bits(),
            (x as f32).to_bits(),
        ];
        let ops =
            [Op::CountOnes, Op::LeadingZeros, Op::TrailingZeros, Op::ReverseBits, Op::FromU32];
        assert_eq!(ops.map(|op| op.eval(&[x])), expected, "{x}");
        // The integer's bits as a float, and the neighboring float.
        for float in [f32::from_bits(x), x as f32, -(x as f32), x as f32 + 0.5] {
            let bits = float.to_bits();
            assert_eq!(Op::ToS32.eval(&[bits]), float as i32 as u32, "{float}");
            assert_eq!(Op::ToU32.eval(&[bits]), float as u32, "{float}");
        }
    }
}
