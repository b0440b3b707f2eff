//! Random boxes with members, from boxes of a single float to unbounded ones. Endpoints and members
//! are often special values, such as zeros, infinities and multiples of π/2.

use super::ascent::between;
use super::directions::UnitVectors;
use lightbound_shader::interval::{Bools, Bounds, Floats, Ints};
use lightbound_shader::ir::Port;
use lightbound_shader::ir::Type;
use lightbound_shader::lift::Input;
use lightbound_shader::random::Random;
use lightbound_shader::testing::random::word;
use std::f32::consts::FRAC_PI_2;

/// A box and some of its members, as bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The two endpoints of each input.
    pub endpoints: Vec<[u32; 2]>,
    /// Rows of inputs. Each word lies between the endpoints, and equals them if the input is not an
    /// interval.
    pub members: Vec<Vec<u32>>,
}

/// Returns a random box of inputs with this number of members. The first two members are usually
/// the lower and the upper corner. Three consecutive inputs named `….x`, `….y` and `….z` are
/// usually a direction. Inputs that are declared to be unit vectors usually are, in all members.
pub fn sample(random: &mut Random, ports: &[Port], inputs: &[Input], members: usize) -> Sample {
    sample_at(random, ports, inputs, &[], members)
}

/// Like [`sample`], with some endpoints and members at or next to kinks: constants where the
/// function may change its behaviour.
pub(super) fn sample_at(
    random: &mut Random,
    ports: &[Port],
    inputs: &[Input],
    kinks: &[f32],
    members: usize,
) -> Sample {
    let full_range = random.once_in(32);
    let mut endpoints: Vec<_> =
        inputs.iter().map(|input| random_endpoints(random, input, full_range)).collect();
    for (endpoints, input) in std::iter::zip(&mut endpoints, inputs).filter(|_| !kinks.is_empty()) {
        if let (Bounds::Float(floats), true, true) =
            (&input.bounds, input.interval, random.once_in(4))
        {
            let kink = at_kink(random, floats, kinks);
            let other = f32::from_bits(*random.pick(endpoints));
            if floats.contains(kink) {
                *endpoints =
                    ordered([kink, if random.once_in(4) { kink } else { other }]).map(f32::to_bits);
            }
        }
    }
    let directions = directions(ports, inputs);
    let log2_narrowing = random.below(20) as i32;
    for &first in directions.iter().filter(|_| !full_range) {
        if !random.once_in(5) {
            let direction = unit(random);
            for k in 0..3 {
                endpoints[first + k] =
                    around_endpoints(random, &inputs[first + k], direction[k], log2_narrowing);
            }
            // All unit vectors of a long box are near one end of it. The bounding shader must then
            // treat a condition as undecided although it is the same for all unit vectors.
            if random.once_in(4) {
                let k = first + random.below(3);
                endpoints[k] = stretched(random, &inputs[k], endpoints[k]);
            }
        }
    }
    let rows = (0..members).map(|row| {
        let corner = (row < 2).then_some(row);
        let mut words: Vec<_> = std::iter::zip(&endpoints, inputs)
            .map(|(endpoints, input)| match corner {
                Some(side) => endpoints[side],
                None => {
                    let word = member(random, input, *endpoints);
                    if kinks.is_empty() || !random.once_in(4) {
                        word
                    } else {
                        nudged(random, input, *endpoints, kinks, word, word)
                    }
                }
            })
            .collect();
        for &first in directions.iter().filter(|_| corner.is_none()) {
            if random.once_in(2) {
                normalize(
                    random,
                    &endpoints[first..first + 3],
                    &inputs[first..first + 3],
                    &mut words[first..first + 3],
                );
            }
        }
        words
    });
    let mut members: Vec<_> = rows.collect();
    let vectors = UnitVectors::from_inputs(inputs);
    if !(vectors.is_empty() || random.once_in(4)) {
        vectors.randomize(random, inputs, kinks, &mut endpoints, &mut members);
    }
    Sample { endpoints, members }
}

/// Returns the indices of the first components of directions.
fn directions(ports: &[Port], inputs: &[Input]) -> Vec<usize> {
    let is_axis = |k: usize, axis: &str| {
        ports[k].name.ends_with(axis)
            && matches!(inputs[k].bounds, Bounds::Float(floats) if floats.low() >= -2.0)
    };
    let all = 0..ports.len().saturating_sub(2);
    all.filter(|&k| is_axis(k, ".x") && is_axis(k + 1, ".y") && is_axis(k + 2, ".z")).collect()
}

/// Returns a random unit vector, sometimes along an axis.
fn unit(random: &mut Random) -> [f32; 3] {
    if random.once_in(8) {
        let mut axis = [0.0; 3];
        axis[random.below(3)] = if random.once_in(3) { -1.0 } else { 1.0 };
        return axis;
    }
    let v = [(); 3].map(|()| uniform(random, -1.0, 1.0));
    let length = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    v.map(|x| x / length)
}

/// Returns endpoints around a component of a direction, within the bounds of the input. The width
/// is proportional to 2 to the power of −`log2_narrowing`.
fn around_endpoints(random: &mut Random, input: &Input, x: f32, log2_narrowing: i32) -> [u32; 2] {
    let floats = input.bounds.floats();
    let step = 0.5_f32.powi(log2_narrowing);
    let [below, above] =
        [(); 2].map(|()| if input.interval { step * uniform(random, 0.0, 2.0) } else { 0.0 });
    // A NaN is clamped to the lower bound.
    let clamp = |x: f32| {
        if x > floats.low() {
            if x < floats.high() { x } else { floats.high() }
        } else {
            floats.low()
        }
    };
    let endpoints =
        [clamp(x - below), clamp(x + above)].map(|end| signed_zero(random, floats, end));
    let endpoints = if input.interval { endpoints } else { [endpoints[0]; 2] };
    if endpoints.iter().all(|&end| floats.contains(end)) {
        ordered(endpoints).map(f32::to_bits)
    } else {
        random_endpoints(random, input, false)
    }
}

/// Extends the interval of a component to another random value.
fn stretched(random: &mut Random, input: &Input, endpoints: [u32; 2]) -> [u32; 2] {
    let floats = input.bounds.floats();
    let far = uniform(random, -1.0, 1.0);
    let far = signed_zero(random, floats, far);
    if !input.interval || !floats.contains(far) {
        return endpoints;
    }
    let [low, high] = endpoints.map(f32::from_bits);
    [ordered([low, far])[0], ordered([high, far])[1]].map(f32::to_bits)
}

/// Replaces the words of a direction by those of a unit vector, where the box allows.
fn normalize(random: &mut Random, endpoints: &[[u32; 2]], inputs: &[Input], words: &mut [u32]) {
    let mut v = [0.0; 3];
    for k in 0..3 {
        let [low, high] = endpoints[k].map(f32::from_bits);
        v[k] = uniform(random, low, high);
    }
    let length = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    for k in 0..3 {
        let (x, [low, high]) = (v[k] / length, endpoints[k].map(f32::from_bits));
        if inputs[k].interval && low <= x && x <= high && inputs[k].bounds.floats().contains(x) {
            words[k] = x.to_bits();
        }
    }
}

fn random_endpoints(random: &mut Random, input: &Input, full_range: bool) -> [u32; 2] {
    match &input.bounds {
        Bounds::Float(floats) => {
            let endpoints = float_endpoints(random, floats, full_range);
            (if input.interval { endpoints } else { [endpoints[0]; 2] }).map(f32::to_bits)
        }
        Bounds::Int(ints) => {
            let [a, b] = int_endpoints(random, ints, full_range);
            (if input.interval { [a, b] } else { [a; 2] }).map(|x| x as u32)
        }
        Bounds::Bool(bools) => {
            let [a, b] = [random_bool(random, *bools), random_bool(random, *bools)];
            (if input.interval { [a & b, a | b] } else { [a; 2] }).map(|x| if x { !0 } else { 0 })
        }
    }
}

fn member(random: &mut Random, input: &Input, endpoints: [u32; 2]) -> u32 {
    if !input.interval {
        return endpoints[0];
    }
    match &input.bounds {
        Bounds::Float(floats) => {
            float_between(random, floats, endpoints.map(f32::from_bits)).to_bits()
        }
        Bounds::Int(ints) => int_between(random, ints, endpoints.map(|end| end as i32)) as u32,
        Bounds::Bool(_) => endpoints[random.below(2)],
    }
}

fn float_endpoints(random: &mut Random, floats: &Floats, full_range: bool) -> [f32; 2] {
    let entire_range =
        ordered([floats.low(), floats.high()].map(|end| signed_zero(random, floats, end)));
    if full_range {
        return entire_range;
    }
    let a = float_between(random, floats, entire_range);
    let b = match random.below(10) {
        0 => a,
        1 | 2 => stepped(random, a),
        3 => -a,
        4 | 5 => a * (1.0 + uniform(random, -1.0, 1.0) * 0.5_f32.powi(random.below(24) as i32)),
        6 => a + uniform(random, -1.0, 1.0) * 0.5_f32.powi(random.below(24) as i32),
        _ => float_between(random, floats, entire_range),
    };
    ordered(if !b.is_nan() && floats.contains(b) { [a, b] } else { [a, a] })
}

/// Returns a float that the bounds contain, between two endpoints that they contain.
fn float_between(random: &mut Random, floats: &Floats, [low, high]: [f32; 2]) -> f32 {
    for _ in 0..4 {
        let x = match random.below(10) {
            0 => low,
            1 => high,
            2 => f32::from_bits(word(random, Type::F32)),
            3 => FRAC_PI_2 * random.below(9) as f32 - 4.0 * FRAC_PI_2,
            4 => 0.0,
            5 | 6 => uniform(random, low, high),
            7 => {
                let [low, high] = [rank(low), rank(high)];
                unrank(low + random.below((high - low) as usize + 1) as i64)
            }
            8 => {
                let end = *random.pick(&[low, high, 1.0, -1.0]);
                stepped(random, end)
            }
            _ => {
                let near = FRAC_PI_2 * random.below(9) as f32 - 4.0 * FRAC_PI_2;
                stepped(random, near)
            }
        };
        let x = signed_zero(random, floats, x);
        if low <= x && x <= high && floats.contains(x) {
            return x;
        }
    }
    *random.pick(&[low, high])
}

/// Returns one of the kinks, or a float up to two ulps away from it.
fn at_kink(random: &mut Random, floats: &Floats, kinks: &[f32]) -> f32 {
    let kink = *random.pick(kinks);
    let kink =
        if random.once_in(2) { kink } else { unrank(rank(kink) + random.below(5) as i64 - 2) };
    signed_zero(random, floats, kink)
}

/// Returns a word near another one between endpoints: some ulps away, a fraction of the interval
/// away, at an endpoint, at a kink, or halfway to `other`. Returns the word itself if the new one
/// is out of bounds, or if the input is not an interval. Integers and booleans become a random
/// member of their interval.
pub(super) fn nudged(
    random: &mut Random,
    input: &Input,
    endpoints: [u32; 2],
    kinks: &[f32],
    word: u32,
    other: u32,
) -> u32 {
    let Bounds::Float(floats) = &input.bounds else { return member(random, input, endpoints) };
    if !input.interval {
        return word;
    }
    let ([low, high], x) = (endpoints.map(f32::from_bits), f32::from_bits(word));
    let moved = match random.below(8) {
        0 | 1 => stepped(random, x),
        2 | 3 => {
            x + (high - low) * uniform(random, -1.0, 1.0) * 0.5_f32.powi(random.below(16) as i32)
        }
        4 => *random.pick(&[low, high]),
        5 if !kinks.is_empty() => at_kink(random, floats, kinks),
        6 if x == 0.0 => -x,
        6 => x * (1.0 + uniform(random, -0.1, 0.1)),
        _ => between(x, f32::from_bits(other)),
    };
    let moved = signed_zero(random, floats, moved);
    if low <= moved && moved <= high && floats.contains(moved) { moved.to_bits() } else { word }
}

/// Gives a zero a random sign that the bounds allow. Returns other floats unchanged.
pub(super) fn signed_zero(random: &mut Random, floats: &Floats, x: f32) -> f32 {
    if x != 0.0 {
        return x;
    }
    match (floats.negative_zero, floats.positive_zero) {
        (true, true) => *random.pick(&[0.0, -0.0]),
        (true, false) => -0.0,
        _ => 0.0,
    }
}

/// Returns a float up to 2²³ ulps away, usually much closer.
fn stepped(random: &mut Random, x: f32) -> f32 {
    let far = if random.once_in(2) { 2 } else { 24 };
    let by = 1_i64 << random.below(far);
    let by = if random.once_in(2) { -by } else { by };
    unrank((rank(x) + by).clamp(rank(f32::NEG_INFINITY), rank(f32::INFINITY)))
}

/// Returns the index of a float in the order of all floats, with −0 below +0.
pub(super) fn rank(x: f32) -> i64 {
    let bits = x.to_bits() as i32;
    i64::from(if bits < 0 { !(bits & i32::MAX) } else { bits })
}

/// Returns the float with a [`rank`].
pub(super) fn unrank(rank: i64) -> f32 {
    f32::from_bits(if rank < 0 { !(rank as u32) | 1 << 31 } else { rank as u32 })
}

/// Sorts two floats.
pub(super) fn ordered([a, b]: [f32; 2]) -> [f32; 2] {
    if rank(a) <= rank(b) { [a, b] } else { [b, a] }
}

/// Returns a uniform random number between two floats. Infinities are clamped to finite floats.
fn uniform(random: &mut Random, low: f32, high: f32) -> f32 {
    let [low, high] = [low, high].map(|end| f64::from(end.clamp(f32::MIN, f32::MAX)));
    let x = low + (high - low) * random.below(1 << 24) as f64 / f64::from(1 << 24);
    x as f32
}

fn int_endpoints(random: &mut Random, ints: &Ints, full_range: bool) -> [i32; 2] {
    let [low, high] = ints.hull().expect("bounds of inputs are not empty");
    if full_range {
        return [low, high];
    }
    let a = int_between(random, ints, [low, high]);
    let b = match random.below(6) {
        0 => a,
        1 => a.saturating_add(random.below(9) as i32 - 4),
        2 => a.saturating_add(1 << random.below(31)),
        3 => a.saturating_neg(),
        _ => int_between(random, ints, [low, high]),
    };
    if ints.contains(b) { [a.min(b), a.max(b)] } else { [a, a] }
}

fn int_between(random: &mut Random, ints: &Ints, [low, high]: [i32; 2]) -> i32 {
    for _ in 0..4 {
        let x = match random.below(6) {
            0 => low,
            1 => high,
            2 => low.saturating_add(random.below(4) as i32),
            3 => high.saturating_sub(random.below(4) as i32),
            4 => word(random, Type::I32) as i32,
            _ => {
                let [low, high] = [low, high].map(i64::from);
                (low + random.below((high - low) as usize + 1) as i64) as i32
            }
        };
        if low <= x && x <= high && ints.contains(x) {
            return x;
        }
    }
    *random.pick(&[low, high])
}

fn random_bool(random: &mut Random, bools: Bools) -> bool {
    if bools.may_be_false && bools.may_be_true { random.once_in(2) } else { bools.may_be_true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::interval::Pieces;

    #[test]
    fn members_are_in_their_boxes_and_in_bounds() {
        let random = &mut Random::new(1);
        let mut with_gap = Floats::of(Pieces::one(0.0, 1.0).join(&Pieces::one(5.0, f32::INFINITY)));
        with_gap.negative_zero = false;
        let all = [
            Bounds::all(Type::F32),
            Bounds::Float(with_gap),
            Bounds::all(Type::I32),
            Bounds::all(Type::Bool),
        ];
        let unit = [Bounds::Float(Floats::between(-1.5, 1.5)); 3];
        let inputs: Vec<_> = all
            .iter()
            .chain(&unit)
            .enumerate()
            .map(|(k, &bounds)| Input { interval: k != 4, bounds, axis: None, sorted: None })
            .collect();
        let names = ["a", "b", "c", "d", "w.x", "w.y", "w.z"];
        let ports: Vec<_> = std::iter::zip(names, &inputs)
            .map(|(name, input)| {
                let ty = match input.bounds {
                    Bounds::Float(_) => Type::F32,
                    Bounds::Int(_) => Type::I32,
                    Bounds::Bool(_) => Type::Bool,
                };
                Port { name: name.to_owned(), ty }
            })
            .collect();
        for _ in 0..10_000 {
            let Sample { endpoints, members } = sample(random, &ports, &inputs, 8);
            for (k, input) in inputs.iter().enumerate() {
                let [low, high] = endpoints[k];
                for word in members.iter().map(|member| member[k]) {
                    let number = |bits| super::super::number(ports[k].ty, bits);
                    assert!(
                        number(low) <= number(word) && number(word) <= number(high),
                        "{endpoints:x?} {word:x}"
                    );
                    assert!(
                        [low, high, word].into_iter().all(|bits| input.bounds.contains(bits)),
                        "{endpoints:x?} {word:x}"
                    );
                    assert!(input.interval || (low, high) == (word, word));
                }
            }
        }
    }

    #[test]
    fn ranks_order_floats_and_round_trip() {
        let floats = [f32::NEG_INFINITY, -1.0, -1e-45, -0.0, 0.0, 1e-45, 1.0, f32::INFINITY];
        assert!(floats.windows(2).all(|pair| rank(pair[0]) < rank(pair[1])));
        assert!(floats.iter().all(|&x| unrank(rank(x)).to_bits() == x.to_bits()));
        assert_eq!((rank(-0.0), rank(0.0)), (-1, 0));
    }
}
