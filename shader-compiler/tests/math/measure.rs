//! Measures errors and violations of monotonicity of functions of one float, over all floats or a
//! sample.
//!
//! Shared by a test, which samples floats, and by `cargo run -p lightbound-benches --release --
//! math`, which covers all of them.

use lightbound_shader::ir::{Emit, Op, Type};
use lightbound_shader::math::eval::ConstantEvaluator;
use lightbound_shader::math::power;
use std::f32::consts::FRAC_1_SQRT_2;
use std::f64::consts::PI;

/// A function of one float and its reference.
#[derive(Clone, Copy)]
pub struct Unary {
    /// The operation.
    pub op: Op,
    /// The correctly rounded result.
    pub rounded: fn(f32) -> f32,
    /// The reference in double precision.
    pub real: fn(f64) -> f64,
    /// Index of the monotone piece that contains an argument.
    pub piece: fn(f64) -> i64,
    /// Description of the pieces.
    pub pieces: &'static str,
    /// Whether the function is decreasing on a piece.
    pub is_decreasing: fn(i64) -> bool,
    /// Relation between f(−x) and f(x).
    pub symmetry: Symmetry,
    /// Largest |x| for which errors are measured in ulps. Beyond it errors are absolute, and
    /// monotonicity is not measured.
    pub limit: f32,
}

/// Relation between f(−x) and f(x).
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Symmetry {
    /// f(x)
    Even,
    /// −f(x)
    Odd,
    /// Neither
    None,
}

/// The functions of the table.
pub fn functions() -> Vec<Unary> {
    use Symmetry::{Even, None, Odd};
    use core_math as c;
    type F = fn(f32) -> f32;
    type R = fn(f64) -> f64;
    let increasing = |op, rounded: F, real: R, symmetry| Unary {
        op,
        rounded,
        real,
        piece: |_| 0,
        pieces: "increasing",
        is_decreasing: |_| false,
        symmetry,
        limit: f32::INFINITY,
    };
    let decreasing = |op, rounded, real| Unary {
        pieces: "decreasing",
        is_decreasing: |_| true,
        ..increasing(op, rounded, real, None)
    };
    let limit = 8192.0;
    vec![
        decreasing(Op::Rsqrt, c::rsqrtf, c::rsqrt),
        increasing(Op::Exp, c::expf, c::exp, None),
        increasing(Op::Exp2, c::exp2f, c::exp2, None),
        increasing(Op::Log, c::logf, c::log, None),
        increasing(Op::Log2, c::log2f, c::log2, None),
        Unary {
            piece: |x| (x / PI).round() as i64,
            is_decreasing: |piece| piece % 2 != 0,
            pieces: "between (k − ½)π and (k + ½)π",
            limit,
            ..increasing(Op::Sin, c::sinf, c::sin, Odd)
        },
        Unary {
            piece: |x| (x / PI).floor() as i64,
            is_decreasing: |piece| piece % 2 == 0,
            pieces: "between kπ and (k + 1)π",
            limit,
            ..increasing(Op::Cos, c::cosf, c::cos, None)
        },
        Unary {
            piece: |x| (x / PI).round() as i64,
            pieces: "increasing between (k − ½)π and (k + ½)π",
            limit,
            ..increasing(Op::Tan, c::tanf, c::tan, Odd)
        },
        increasing(Op::Asin, c::asinf, c::asin, Odd),
        decreasing(Op::Acos, c::acosf, c::acos),
        increasing(Op::Atan, c::atanf, c::atan, Odd),
        increasing(Op::Sinh, c::sinhf, c::sinh, Odd),
        Unary {
            piece: |x| (x > 0.0) as i64,
            is_decreasing: |piece| piece == 0,
            pieces: "decreasing to 0, increasing from 0",
            ..increasing(Op::Cosh, c::coshf, c::cosh, Even)
        },
        increasing(Op::Tanh, c::tanhf, c::tanh, Odd),
        increasing(Op::Asinh, c::asinhf, c::asinh, Odd),
        increasing(Op::Acosh, c::acoshf, c::acosh, None),
        increasing(Op::Atanh, c::atanhf, c::atanh, Odd),
    ]
}

/// Results of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Findings {
    /// Largest error, in ulps of the exact result.
    pub error: f64,
    /// The input with this error.
    pub error_at: f32,
    /// Largest distance between the result and the correctly rounded one, in floats.
    pub distance: u32,
    /// Largest absolute error as a fraction of |x|, beyond the limit.
    pub error_fraction: f64,
    /// Number of inputs with a result below that of a smaller input on an increasing piece, or
    /// above it on a decreasing piece.
    pub violations: u64,
    /// Largest such difference, in ulps.
    pub violation: u32,
    /// The input with this difference.
    pub violation_at: f32,
    /// Smallest k such that widening by the factors 1 ± k · 2⁻²³, as interval lowerings do,
    /// compensates for all violations.
    pub widening: u32,
    /// Smallest result.
    pub low: f32,
    /// Largest result.
    pub high: f32,
    /// Number of inputs with a result that is wrongly NaN, wrongly not NaN, or not symmetric.
    pub faults: u64,
    /// The last of these inputs.
    pub fault_at: f32,
}

/// Index of a float among all floats in order; −0 has the index of 0.
pub fn ordinal(x: f32) -> i32 {
    let bits = x.to_bits() as i32;
    if bits >= 0 { bits } else { i32::MIN - bits }
}

/// The float at an index.
pub fn float_at(ordinal: i32) -> f32 {
    f32::from_bits(if ordinal >= 0 { ordinal as u32 } else { (i32::MIN - ordinal) as u32 })
}

/// Distance from the exact result, in ulps of the exact result; infinity counts as 2¹²⁸.
pub fn error(result: f32, real: f64) -> f64 {
    let limit = 2f64.powi(128);
    let result = (result as f64).clamp(-limit, limit);
    let real = real.clamp(-limit, limit);
    let exponent = ((real.to_bits() >> 52 & 0x7ff) as i32 - 1023).clamp(-126, 127);
    (result - real).abs() / 2f64.powi(exponent - 23)
}

/// Number of inputs evaluated at once.
pub const BLOCK: usize = 4096;

/// Measures a function at every `step`-th float from −∞ to ∞. `evaluate` computes it for up to
/// [`BLOCK`] inputs, as bits.
pub fn measure(
    function: &Unary,
    step: usize,
    evaluate: &mut dyn FnMut(&[u32], &mut [u32]),
) -> Findings {
    let last = ordinal(f32::INFINITY) as i64;
    let mut scan = Scan::new(function);
    let mut ordinals = (-last..=last).step_by(step);
    let (mut results, mut mirrored) = (vec![0; BLOCK], vec![0; BLOCK]);
    loop {
        let inputs: Vec<u32> =
            ordinals.by_ref().take(BLOCK).map(|k| float_at(k as i32).to_bits()).collect();
        if inputs.is_empty() {
            return scan.findings;
        }
        evaluate(&inputs, &mut results[..inputs.len()]);
        // Negative inputs of symmetric functions are compared with positive ones, not the
        // reference.
        let is_mirrored = |&bits: &u32| (-function.limit..0.0).contains(&f32::from_bits(bits));
        let by_symmetry = function.symmetry != Symmetry::None && inputs.iter().all(is_mirrored);
        if by_symmetry {
            let opposite: Vec<u32> = inputs.iter().map(|bits| bits ^ 1 << 31).collect();
            evaluate(&opposite, &mut mirrored[..inputs.len()]);
        }
        for (i, &bits) in inputs.iter().enumerate() {
            let (x, y) = (f32::from_bits(bits), f32::from_bits(results[i]));
            if by_symmetry {
                scan.mirror(x, y, f32::from_bits(mirrored[i]));
            } else {
                scan.compare(x, y);
            }
            scan.order(x, y);
        }
    }
}

struct Scan<'a> {
    function: &'a Unary,
    findings: Findings,
    piece: i64,
    /// Ordinal of the largest result on the piece; on a decreasing piece, the negated ordinal of
    /// the smallest result.
    top: i64,
}

impl Scan<'_> {
    fn new(function: &Unary) -> Scan<'_> {
        let findings = Findings {
            error: 0.0,
            error_at: 0.0,
            distance: 0,
            error_fraction: 0.0,
            violations: 0,
            violation: 0,
            violation_at: 0.0,
            widening: 0,
            low: f32::INFINITY,
            high: f32::NEG_INFINITY,
            faults: 0,
            fault_at: 0.0,
        };
        Scan { function, findings, piece: i64::MIN, top: i64::MIN }
    }

    fn fault(&mut self, x: f32) {
        self.findings.faults += 1;
        self.findings.fault_at = x;
    }

    fn mirror(&mut self, x: f32, y: f32, opposite: f32) {
        let opposite = if self.function.symmetry == Symmetry::Odd { -opposite } else { opposite };
        if y.to_bits() != opposite.to_bits() && !(y.is_nan() && opposite.is_nan()) {
            self.fault(x);
        }
    }

    fn compare(&mut self, x: f32, y: f32) {
        let rounded = (self.function.rounded)(x);
        if rounded.is_nan() != y.is_nan() {
            self.fault(x);
        }
        let distance = (ordinal(y) as i64 - ordinal(rounded) as i64).abs() as f64;
        if rounded.is_nan() || y.is_nan() || distance == 0.0 {
            return;
        }
        let findings = &mut self.findings;
        if x.abs() > self.function.limit {
            let fraction = (y as f64 - (self.function.real)(x as f64)).abs() / x.abs() as f64;
            findings.error_fraction = findings.error_fraction.max(fraction);
            return;
        }
        findings.distance = findings.distance.max(distance as u32);
        // Otherwise it cannot be the largest error.
        if distance + 0.5 > findings.error {
            let error = error(y, (self.function.real)(x as f64));
            if error > findings.error {
                (findings.error, findings.error_at) = (error, x);
            }
        }
    }

    fn order(&mut self, x: f32, y: f32) {
        if y.is_nan() {
            return;
        }
        let findings = &mut self.findings;
        (findings.low, findings.high) = (findings.low.min(y), findings.high.max(y));
        if x.abs() > self.function.limit {
            return;
        }
        let piece = (self.function.piece)(x as f64);
        let height = if (self.function.is_decreasing)(piece) {
            -(ordinal(y) as i64)
        } else {
            ordinal(y) as i64
        };
        if piece != self.piece {
            self.piece = piece;
            self.top = height;
        }
        self.top = self.top.max(height);
        let violation = (self.top - height) as u32;
        if violation > 0 {
            findings.violations += 1;
            let top =
                float_at(
                    if (self.function.is_decreasing)(piece) { -self.top } else { self.top } as i32
                );
            findings.widening = findings.widening.max(widening(y, top));
        }
        if violation > findings.violation {
            (findings.violation, findings.violation_at) = (violation, x);
        }
    }
}

/// Smallest k such that widening each of two floats by 1 ± k · 2⁻²³ reaches the other one.
fn widening(x: f32, y: f32) -> u32 {
    let (low, high) = (x.min(y), x.max(y));
    let reaches = |k: &u32| {
        let slack = *k as f32 * f32::EPSILON;
        let factors = [1.0 - slack, 1.0 + slack];
        factors.iter().any(|factor| low * factor >= high)
            && factors.iter().any(|factor| high * factor <= low)
    };
    (0..100).find(reaches).expect("violations are small")
}

/// Violations of monotonicity of atan2 from 0 to π: their number, the largest in ulps, and the
/// widening that compensates for them.
///
/// Samples every `step`-th quotient of the smaller and the larger operand, in each of four octants.
pub fn atan2_monotonicity(step: usize) -> (u64, u32, u32) {
    let one = 1.0f32.to_bits();
    let descending = |bits: u32| f32::from_bits(one - bits);
    let octants: [&dyn Fn(u32) -> [f32; 2]; 4] = [
        &|bits| [f32::from_bits(bits), 1.0],
        &|bits| [1.0, descending(bits)],
        &|bits| [1.0, -f32::from_bits(bits)],
        &|bits| [descending(bits), -1.0],
    ];
    let (mut top, mut violations, mut largest, mut required) = (0.0f32, 0, 0, 0);
    for octant in octants {
        for bits in (0..=one).step_by(step) {
            let angle = f32::from_bits(Op::Atan2.eval(&octant(bits).map(f32::to_bits)));
            if angle < top {
                violations += 1;
                largest = largest.max(ordinal(top).abs_diff(ordinal(angle)));
                required = required.max(widening(angle, top));
            }
            top = top.max(angle);
        }
    }
    (violations, largest, required)
}

/// Largest errors of the logarithm in `pow` over all mantissas m: relative errors of n + log₂ m for
/// n = −1, 0 and 1, and the absolute error of log₂ m.
pub fn pow_log2_errors() -> [f64; 4] {
    let mut max = [0.0f64; 4];
    let first = FRAC_1_SQRT_2.to_bits();
    for bits in first..first + (1 << 23) {
        let log = f32::from_bits(power::log2_of_mantissa(&mut ConstantEvaluator::default(), bits));
        let real = core_math::log2(f32::from_bits(bits) as f64);
        for (max, n) in max.iter_mut().zip([-1.0f32, 0.0, 1.0]) {
            let (sum, real) = ((n + log) as f64, n as f64 + real);
            // log₂ 1 = 0 is exact.
            if sum != real {
                *max = max.max(((sum - real) / real).abs());
            }
        }
        max[3] = max[3].max((log as f64 - real).abs());
    }
    max
}

/// Largest relative error of the power of two in `pow`, and its smallest and largest results, over
/// every `step`-th float in [0, 1].
pub fn pow_exp2_errors(step: usize) -> (f64, [f32; 2]) {
    let (mut max_error, mut range) = (0.0f64, [f32::INFINITY, f32::NEG_INFINITY]);
    for bits in (0..=1.0f32.to_bits()).step_by(step) {
        let power =
            f32::from_bits(power::exp2_of_fraction(&mut ConstantEvaluator::default(), bits));
        let real = core_math::exp2(f32::from_bits(bits) as f64);
        max_error = max_error.max((power as f64 / real - 1.0).abs());
        range = [range[0].min(power), range[1].max(power)];
    }
    (max_error, range)
}

/// Number of basic operations that an operation expands to, without [`Op::Bits`] and [`Op::Float`].
pub fn cost(op: Op) -> usize {
    struct Count(usize);
    impl Emit for Count {
        type Value = ();
        fn constant(&mut self, _: Type, _: u32) {}
        fn op(&mut self, op: Op, args: &[()]) {
            if op.expand(self, args).is_none() && !matches!(op, Op::Bits | Op::Float) {
                self.0 += 1;
            }
        }
        fn known(&self, (): ()) -> Option<u32> {
            None
        }
    }
    let mut count = Count(0);
    count.op(op, &vec![(); op.arity()]);
    count.0
}
