use super::*;
use crate::interpreter;
use crate::ir::text::parse;
use crate::random::Random;
use crate::testing::{self, random, same};
use crate::{Target, passes};

fn input(bounds: Bounds) -> Input {
    Input { interval: false, bounds, axis: None, sorted: None }
}

/// Specializes a function of `w`, the constant `weight`, and `x`, from -1 to 2, and returns its text.
fn specialized(body: &str, weight: f32) -> String {
    let text = format!("fn f(w: f32, x: f32) -> (r: f32) {{ {body} }}");
    let function = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let inputs = [Floats::constant(weight), Floats::between(-1.0, 2.0)];
    let inputs = inputs.map(|floats| input(Bounds::Float(floats)));
    let text = specialize(&function, &inputs, &[false]).to_string();
    let (_, body) = text.split_once("{\n").expect("functions have a body");
    let lines: Vec<_> = body.trim_end_matches(['}', '\n']).lines().map(str::trim).collect();
    lines.join(" ")
}

#[test]
fn terms_with_weight_zero_disappear_if_they_are_finite() {
    let lobe = "%0 = exp x %1 = mul w, %0 %2 = add x, %1 return %2";
    assert_eq!(specialized(lobe, 0.0), "return x");
    // 0 · exp(200) is not 0.
    let overflow = "%9 = mul x, 100.0 %0 = exp %9 %1 = mul w, %0 %2 = add x, %1 return %2";
    assert!(specialized(overflow, 0.0).contains("exp"));
    assert!(specialized(lobe, 0.5).contains("exp"));
}

#[test]
fn ranges_decide_minima_maxima_and_branches() {
    let cases = [
        ("%0 = max x, -2.0 return %0", "return x"),
        ("%0 = max -2.0, x return %0", "return x"),
        ("%0 = min x, 2.0 return %0", "return x"),
        ("%0 = add x, 2.0 %1 = abs %0 return %1", "%0 = add x, 2.0 return %0"),
        ("%0 = sub w, x %1 = mul %0, 3.0 return %1", "%0 = mul x, -3.0 return %0"),
        (
            "%0 = lt x, 3.0 %1 = if %0 { yield w } else { %2 = exp x yield %2 } return %1",
            "return 0.0",
        ),
        (
            "%0 = lt 0.0, x %1 = if %0 { %2 = max x, 0.0 %3 = sin %2 yield %3 } else { yield w }
            return %1",
            "%0 = lt 0.0, x %1 = if %0 { %2 = sin x yield %2 } else { yield 0.0 } return %1",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(specialized(body, 0.0), expected, "{body}");
    }
}

#[test]
fn loops_with_few_iterations_are_unrolled() {
    let powers = "%r = loop (%i: f32 = 0.0, %y: f32 = 1.0) {
            %c = lt %i, w
            while %c else %y
            %z = mul %y, x
            %t = add %z, 1.0
            %k = add %i, 1.0
            next %k, %t
        }
        return %r";
    assert_eq!(specialized(powers, 0.0), "return 1.0");
    let twice = "%0 = add x, 1.0 %1 = mul x, %0 %2 = add %1, 1.0 return %2";
    assert_eq!(specialized(powers, 2.0), twice);
    assert!(specialized(powers, 1000.0).contains("loop"));
}

#[test]
fn signs_of_zeros_stay_where_they_matter() {
    // x · 0 is −0 for negative x, and then its reciprocal is −∞.
    let product = "%0 = mul w, x";
    for (observer, matters) in [
        ("%1 = div 1.0, %0", true),
        ("%1 = atan2 %0, -1.0", true),
        ("%2 = sqrt %0 %1 = div 1.0, %2", true),
        ("%2 = neg %0 %3 = min %2, x %1 = div 1.0, %3", true),
        ("%2 = bits %0 %3 = from_s32 %2 %1 = mul %3, x", true),
        ("%2 = cos %0 %1 = max %2, x", false),
        ("%2 = abs %0 %1 = div 1.0, %2", false),
        ("%2 = add %0, 4.0 %1 = div 1.0, %2", false),
        ("%2 = lt %0, 1.0 %1 = select %2, x, 7.0", false),
        ("%1 = sqrt %0", false),
    ] {
        let text = specialized(&format!("{product} {observer} return %1"), 0.0);
        assert_eq!(text.contains("mul x"), matters, "{text}");
    }
}

#[test]
fn operations_that_decide_a_sign_or_a_nan_stay() {
    for (body, operation) in [
        // −0 + 0 is 0, and so is |max(−0, 0)|.
        ("%0 = add x, w %1 = div 1.0, %0 return %1", "add x"),
        ("%0 = max x, 0.0 %2 = abs %0 %1 = div 1.0, %2 return %1", "abs"),
        // √x is NaN for negative x.
        ("%0 = sqrt x %1 = max %0, 3.0 return %1", "max"),
        ("%0 = sqrt x %1 = min %0, -1.0 return %1", "min"),
        ("%0 = sqrt x %1 = mul %0, w return %1", "mul"),
    ] {
        let text = specialized(body, 0.0);
        assert!(text.contains(operation), "{body}: {text}");
    }
}

/// Checks that a function and its specialization, also compiled for a target, return the same for
/// random inputs within random bounds, but for signs of zeros. Returns whether the specialization
/// is shorter.
fn check(seed: u64, rows: usize, target: Target) -> bool {
    let function = random::function(seed, &random::Options::any(seed, false));
    let mut random = Random::new(seed ^ 0x5bec);
    let inputs: Vec<_> =
        function.inputs.iter().map(|port| input(bounds(&mut random, port.ty))).collect();
    let is_signed: Vec<_> = function.outputs.iter().map(|_| random.once_in(2)).collect();
    let special = specialize(&function, &inputs, &is_signed);
    let any: Vec<_> = function.inputs.iter().map(|port| input(Bounds::all(port.ty))).collect();
    let general = specialize(&function, &any, &is_signed);
    let limits = output_bounds(&function, &inputs);
    let mut row = || inputs.iter().map(|input| member(&mut random, &input.bounds)).collect();
    let rows: Vec<Vec<u32>> = (0..rows).map(|_| row()).collect();
    for row in &rows {
        let run = |function| {
            interpreter::run(function, &random::tables(), row, 1 << 22).expect("loops terminate")
        };
        let (expected, actual) = (run(&function), run(&special));
        let is_right = (0..expected.len()).all(|k| {
            let (ty, a, b) = (function.outputs[k].ty, expected[k], actual[k]);
            let are_zeros = ty == Type::F32 && (a | b) << 1 == 0;
            (same(ty, a, b) || are_zeros && !is_signed[k]) && limits[k].contains(a)
        });
        assert!(
            is_right,
            "seed {seed}, {row:x?}: {expected:x?} became {actual:x?}, in {limits:?}\n{function}\n{special}"
        );
    }
    testing::check(&special, &passes::lower(&special), target, &rows)
        .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{special}"));
    cost(&special) < cost(&general)
}

/// A constant, an interval, or everything.
fn bounds(random: &mut Random, ty: Type) -> Bounds {
    match random.below(4) {
        0 => Bounds::all(ty),
        1 if ty == Type::F32 => {
            let ends = [random::word(random, ty), random::word(random, ty)].map(f32::from_bits);
            let [low, high] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
            if low.is_nan() { Bounds::all(ty) } else { Bounds::Float(Floats::between(low, high)) }
        }
        2 if ty == Type::F32 => {
            let x = *random.pick(&[0.0f32, -0.0, 1.0, -1.0, 0.5]);
            Bounds::constant(ty, x.to_bits())
        }
        _ => Bounds::constant(ty, random::word(random, ty)),
    }
}

/// A random member of bounds: an endpoint, a special value within them, or one between.
fn member(random: &mut Random, bounds: &Bounds) -> u32 {
    let bits = random::word(random, bounds.ty());
    match bounds {
        _ if bounds.contains(bits) => bits,
        Bounds::Float(floats) => match floats.pieces.hull() {
            None => f32::NAN.to_bits(),
            Some([low, high]) => {
                let t = random.below(65) as f32 / 64.0;
                let between = (low * (1.0 - t) + high * t).max(low).min(high);
                let x = if between.is_nan() { low } else { between };
                let candidates = [x.to_bits(), low.to_bits(), (-low).to_bits()];
                *candidates.iter().find(|&&bits| bounds.contains(bits)).expect("low is a member")
            }
        },
        Bounds::Int(ints) => ints.hull().expect("it is not empty")[0] as u32,
        Bounds::Bool(bools) => {
            if bools.may_be_true {
                !0
            } else {
                0
            }
        }
    }
}

#[test]
fn random_functions_keep_their_results() {
    let targets = testing::targets();
    let check = |&seed: &u64| check(seed, 40, targets[seed as usize % targets.len()]);
    let shorter = (0..600).filter(check).count();
    assert!(shorter > 200, "{shorter}");
}

#[test]
#[ignore = "10⁷ evaluations, which take minutes: cargo test -p lightbound-shader --release --lib specialize -- --ignored"]
fn many_random_functions_keep_their_results() {
    let targets = testing::targets();
    for seed in 1000..26_000 {
        check(seed, 400, targets[seed as usize % targets.len()]);
    }
}
