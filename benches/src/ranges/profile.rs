//! A dynamic profiler: runs a function for many inputs, and records the least and the greatest
//! value of each variable.

use lightbound_shader::analysis::Bounds;
use lightbound_shader::interpreter;
use lightbound_shader::ir::{Function, Type, Value};
use lightbound_shader::random::Random;

/// The numbers that an input may be, endpoints included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// Floats.
    Float(f32, f32),
    /// Integers, signed or unsigned.
    Int(i64, i64),
    /// Both booleans.
    Bool,
}

/// What was observed.
pub struct Profile {
    /// The least and the greatest number that each value was, if any.
    pub ranges: Vec<Option<[f64; 2]>>,
    /// Which values were NaN.
    pub nan: Vec<bool>,
    /// Number of evaluations.
    pub runs: u64,
    /// Values outside their static bounds, with their words.
    pub violations: Vec<(Value, u32)>,
}

/// Limit on the iterations of all loops in an evaluation.
const MAX_ITERATIONS: u64 = 1 << 22;

/// Maximum number of combinations of inputs that are enumerated.
const MAX_ENUMERATED: u64 = 1 << 17;

/// Maximum number of corners that are tried.
const MAX_CORNERS: usize = 1 << 10;

/// Maximum number of inputs kept for variants.
const MAX_KEPT: usize = 64;

impl Domain {
    /// Number of members if there are few.
    fn len(self) -> Option<u64> {
        match self {
            Domain::Float(low, high) => (low == high).then_some(1),
            Domain::Int(low, high) => Some((high - low + 1) as u64),
            Domain::Bool => Some(2),
        }
    }

    fn low(self) -> u32 {
        match self {
            Domain::Float(low, _) => low.to_bits(),
            Domain::Int(low, _) => low as u32,
            Domain::Bool => 0,
        }
    }

    fn high(self) -> u32 {
        match self {
            Domain::Float(_, high) => high.to_bits(),
            Domain::Int(_, high) => high as u32,
            Domain::Bool => !0,
        }
    }

    /// The member with an index.
    fn member(self, index: u64) -> u32 {
        match self {
            Domain::Float(low, _) => low.to_bits(),
            Domain::Int(low, _) => (low + index as i64) as u32,
            Domain::Bool => [0, !0][index as usize],
        }
    }

    /// A random member: often an endpoint, a number near one, or a small one.
    fn sample(self, random: &mut Random) -> u32 {
        let fraction = |random: &mut Random| random.below(1 << 24) as f64 / f64::from(1 << 24);
        let exponent = -(random.below(24) as i32);
        let (low, high) = match self {
            Domain::Float(low, high) => (f64::from(low), f64::from(high)),
            Domain::Int(low, high) => (low as f64, high as f64),
            Domain::Bool => return if random.once_in(2) { 0 } else { !0 },
        };
        let x = match random.below(8) {
            0 => low,
            1 => high,
            2 => low + (high - low) * 2f64.powi(exponent) * fraction(random),
            3 => high - (high - low) * 2f64.powi(exponent) * fraction(random),
            4 => random.below(9) as f64 - 4.0,
            _ => low + (high - low) * fraction(random),
        };
        self.nearest(x)
    }

    /// A member near another one.
    fn vary(self, word: u32, random: &mut Random) -> u32 {
        let sign = if random.once_in(2) { 1.0 } else { -1.0 };
        let step = sign * 2f64.powi(-(random.below(24) as i32));
        match self {
            Domain::Float(low, high) => {
                let x = f64::from(f32::from_bits(word));
                self.nearest(x + step * (f64::from(high) - f64::from(low)))
            }
            Domain::Int(low, high) => {
                let x = if high > i64::from(i32::MAX) {
                    i64::from(word)
                } else {
                    i64::from(word as i32)
                };
                let step = step * (high - low) as f64;
                self.nearest(x as f64 + if step.abs() < 1.0 { sign } else { step.round() })
            }
            Domain::Bool => !word,
        }
    }

    fn nearest(self, x: f64) -> u32 {
        match self {
            Domain::Float(low, high) => (x as f32).clamp(low, high).to_bits(),
            Domain::Int(low, high) => (x.round() as i64).clamp(low, high) as u32,
            Domain::Bool => {
                if x == 0.0 {
                    0
                } else {
                    !0
                }
            }
        }
    }
}

impl Profile {
    /// Runs a function about `runs` times.
    pub fn record(
        function: &Function,
        domains: &[Domain],
        bounds: &[Bounds],
        runs: usize,
        seed: u64,
    ) -> Profile {
        let mut profile = Profile {
            ranges: vec![None; function.len()],
            nan: vec![false; function.len()],
            runs: 0,
            violations: vec![],
        };
        let size = domains.iter().try_fold(1u64, |size, domain| size.checked_mul(domain.len()?));
        if let Some(size) = size.filter(|&size| size <= MAX_ENUMERATED) {
            for index in 0..size {
                profile.run(function, bounds, &combination(domains, index));
            }
            return profile;
        }
        let random = &mut Random::new(seed);
        for corner in 0..MAX_CORNERS.min(1 << domains.len().min(30)) {
            let bits = if domains.len() <= 10 { corner as u64 } else { random.bits() };
            let row: Vec<_> = domains
                .iter()
                .enumerate()
                .map(|(k, domain)| if bits >> k & 1 == 0 { domain.low() } else { domain.high() })
                .collect();
            profile.run(function, bounds, &row);
        }
        let mut kept: Vec<Vec<u32>> = vec![];
        for _ in 0..runs {
            let row: Vec<u32> = if kept.is_empty() || random.once_in(2) {
                domains.iter().map(|domain| domain.sample(random)).collect()
            } else {
                let mut row = random.pick(&kept).clone();
                let k = random.below(row.len());
                row[k] = domains[k].vary(row[k], random);
                row
            };
            if profile.run(function, bounds, &row) {
                if kept.len() < MAX_KEPT {
                    kept.push(row);
                } else {
                    let k = random.below(MAX_KEPT);
                    kept[k] = row;
                }
            }
        }
        profile
    }

    /// Runs the function once. Returns whether a range grew.
    fn run(&mut self, function: &Function, bounds: &[Bounds], row: &[u32]) -> bool {
        let mut grew = false;
        let watch = |value: Value, word: u32| {
            let k = value.index();
            if !bounds[k].contains(word) {
                self.violations.push((value, word));
            }
            let x = number(function.ty(value), word);
            if x.is_nan() {
                self.nan[k] = true;
                return;
            }
            let range = self.ranges[k].get_or_insert_with(|| {
                grew = true;
                [x, x]
            });
            if x < range[0] || x > range[1] {
                grew = true;
                *range = [range[0].min(x), range[1].max(x)];
            }
        };
        // A run that reaches the limit has shown its values, too.
        let _ = interpreter::watch(function, &[], row, MAX_ITERATIONS, watch);
        self.runs += 1;
        grew
    }
}

/// The combination of members with an index.
fn combination(domains: &[Domain], mut index: u64) -> Vec<u32> {
    let member = |domain: &Domain| {
        let count = domain.len().expect("the domain is small");
        let word = domain.member(index % count);
        index /= count;
        word
    };
    domains.iter().map(member).collect()
}

/// The number that a word represents, integers as signed.
pub fn number(ty: Type, word: u32) -> f64 {
    match ty {
        Type::F32 => f64::from(f32::from_bits(word)),
        Type::I32 => f64::from(word as i32),
        Type::Bool => f64::from(u8::from(word != 0)),
    }
}

/// The endpoints of bounds, integers as signed; `None` if there is no number in them.
pub fn endpoints(bounds: &Bounds) -> Option<[f64; 2]> {
    match bounds {
        Bounds::Float(floats) => floats.pieces.hull().map(|ends| ends.map(f64::from)),
        Bounds::Int(ints) => ints.hull().map(|ends| ends.map(f64::from)),
        Bounds::Bool(bools) => {
            let ends = [bools.may_be_false, bools.may_be_true];
            ends.contains(&true)
                .then(|| [f64::from(u8::from(!ends[0])), f64::from(u8::from(ends[1]))])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::ir::text::parse;

    #[test]
    fn profiles_reach_the_extremes_of_small_and_large_domains() {
        let text = "fn f(a: i32, x: f32) -> (r: i32, s: f32) {
            %0 = imul a, a
            %1 = mul x, x
            return %0, %1
        }";
        let function = parse(text).expect("it is valid");
        let all: Vec<_> = function.values.iter().map(|data| Bounds::all(data.ty)).collect();
        let range = |domains: &[Domain]| {
            let profile = Profile::record(&function, domains, &all, 1000, 1);
            assert!(profile.violations.is_empty());
            let of = |k: usize| profile.ranges[function.body.yields[k].index()].expect("it runs");
            [of(0), of(1)]
        };
        let few = [Domain::Int(-3, 2), Domain::Float(2.0, 2.0)];
        assert_eq!(range(&few), [[0.0, 9.0], [4.0, 4.0]]);
        let many = [Domain::Int(-30000, 20000), Domain::Float(-1.0, 3.0)];
        let [a, x] = range(&many);
        assert_eq!([a[1], x[1]], [9e8, 9.0]);
        assert!(a[0] < 100.0 && x[0] < 1e-3, "{a:?} {x:?}");
    }
}
