//! Tests of derivatives against closed forms, finite differences and bounds.

use super::*;
use crate::bounding::{Frame, Integrand, IntervalInputs, Ranges};
use crate::frontend::{Entry, Settings, Shader};
use crate::interpreter;
use crate::ir::text::parse;
use crate::ir::verify::verify;
use crate::lift::{self, Options};
use crate::passes::optimize;
use crate::random::Random;
use crate::relations::Relations;

fn gradient(function: &Function, inputs: &[usize]) -> Function {
    let result = run(function, inputs, &[0]).unwrap_or_else(|error| panic!("{error}"));
    verify(&result).unwrap_or_else(|error| panic!("{error}\n{result}"));
    result
}

fn uniform(random: &mut Random, low: f32, high: f32) -> f32 {
    low + (high - low) * (random.below(1 << 24) as f32 / (1 << 24) as f32)
}

fn of_wgsl(source: &str) -> Function {
    let shader = Shader::parse_function("f.wgsl", source, "f")
        .unwrap_or_else(|error| panic!("{error}: {source}"));
    optimize(&shader.function(Entry::Function, &Settings::default()).expect("it is valid"))
}

fn evaluate(function: &Function, inputs: &[f32]) -> Vec<f32> {
    let words: Vec<_> = inputs.iter().map(|x| x.to_bits()).collect();
    let results = interpreter::run(function, &[], &words, 1 << 20).expect("loops end");
    results.into_iter().map(f32::from_bits).collect()
}

/// Functions of x and y in WGSL with their derivatives.
type Case = (&'static str, fn(f64, f64) -> [f64; 2]);

const CASES: &[Case] = &[
    ("x * y + 3.0 * x - y", |x, y| [y + 3.0, x - 1.0]),
    ("x / (y + 3.0)", |x, y| [1.0 / (y + 3.0), -x / (y + 3.0).powi(2)]),
    ("2.0 / y", |_, y| [0.0, -2.0 / (y * y)]),
    ("sqrt(x + 2.0) * inverseSqrt(y + 2.0)", |x, y| {
        [0.5 / ((x + 2.0) * (y + 2.0)).sqrt(), -0.5 * (x + 2.0).sqrt() * (y + 2.0).powf(-1.5)]
    }),
    ("min(x, y) + 2.0 * max(x, y)", |x, y| if x < y { [1.0, 2.0] } else { [2.0, 1.0] }),
    ("abs(x) - abs(y)", |x, y| [x.signum(), -y.signum()]),
    ("select(x * x, y * y, x < y)", |x, y| if x < y { [0.0, 2.0 * y] } else { [2.0 * x, 0.0] }),
    ("floor(x) + ceil(y) + round(x) + trunc(y) + sign(x) + step(x, y)", |_, _| [0.0; 2]),
    ("fract(x) * y", |x, y| [y, x - x.floor()]),
    ("(x + 5.0) % (y + 2.0)", |x, y| [1.0, -((x + 5.0) / (y + 2.0)).trunc()]),
    ("smoothstep(-2.0, y + 3.0, x)", |x, y| {
        let (width, t) = (y + 5.0, ((x + 2.0) / (y + 5.0)).clamp(0.0, 1.0));
        [6.0 * t * (1.0 - t) / width, -6.0 * t * t * (1.0 - t) / width]
    }),
    ("exp(x) * exp2(y)", |x, y| {
        let r = x.exp() * y.exp2();
        [r, r * std::f64::consts::LN_2]
    }),
    ("log(x + 2.0) + log2(y + 2.0)", |x, y| {
        [1.0 / (x + 2.0), std::f64::consts::LOG2_E / (y + 2.0)]
    }),
    ("pow(x + 2.0, y)", |x, y| {
        let a = x + 2.0;
        [y * a.powf(y - 1.0), a.powf(y) * a.ln()]
    }),
    ("sin(x) * cos(y) + tan(x)", |x, y| {
        [x.cos() * y.cos() + 1.0 / x.cos().powi(2), -x.sin() * y.sin()]
    }),
    ("asin(0.5 * x) + acos(0.5 * y) + atan(x * y)", |x, y| {
        let atan = 1.0 / (1.0 + (x * y).powi(2));
        [
            0.5 / (1.0 - 0.25 * x * x).sqrt() + y * atan,
            -0.5 / (1.0 - 0.25 * y * y).sqrt() + x * atan,
        ]
    }),
    ("atan2(x, y)", |x, y| [y / (x * x + y * y), -x / (x * x + y * y)]),
    ("sinh(x) + cosh(y) + tanh(x)", |x, y| [x.cosh() + 1.0 - x.tanh().powi(2), y.sinh()]),
    ("asinh(x) + acosh(y + 3.0) + atanh(0.5 * x)", |x, y| {
        [
            1.0 / (x * x + 1.0).sqrt() + 0.5 / (1.0 - 0.25 * x * x),
            1.0 / ((y + 3.0).powi(2) - 1.0).sqrt(),
        ]
    }),
    ("length(vec2f(x, y))", |x, y| [x / x.hypot(y), y / x.hypot(y)]),
    ("f32(i32(3.0 * x)) * y", |x, _| [0.0, (3.0 * x).trunc()]),
];

fn case(expression: &str) -> Function {
    of_wgsl(&format!("fn f(x: f32, y: f32) -> f32 {{ return {expression}; }}"))
}

#[test]
fn derivatives_match_closed_forms() {
    let mut random = Random::new(1);
    for (expression, expected) in CASES {
        let function = case(expression);
        let derivative = gradient(&function, &[0, 1]);
        assert_eq!(derivative.outputs[1].name, "df/dx");
        for _ in 0..200 {
            let [x, y] = [0, 1].map(|_| uniform(&mut random, -1.4, 1.4));
            let values = evaluate(&derivative, &[x, y]);
            // The outputs keep their bits.
            assert_eq!(values[0].to_bits(), evaluate(&function, &[x, y])[0].to_bits());
            let expected = expected(f64::from(x), f64::from(y));
            for (found, expected) in std::iter::zip(&values[1..], expected) {
                let error = (f64::from(*found) - expected).abs();
                let allowed = 1e-4 * (1.0 + expected.abs());
                assert!(error < allowed, "{expression} at {x}, {y}: {found}, not {expected}");
            }
        }
    }
}

const CONTROL: &[&str] = &[
    "fn f(x: f32, y: f32) -> f32 {
        var s = 0.0;
        var p = 1.0;
        for (var i = 0; i < 20; i++) { if p > 3.0 { break; } s += p * y; p *= 1.0 + x * x; }
        return s;
    }",
    "fn f(x: f32, y: f32) -> f32 {
        var a = vec2f(x, y);
        for (var i = 0; i < 5; i++) {
            a = vec2f(a.x * a.x - a.y * a.y, 2.0 * a.x * a.y) + vec2f(0.25 * x, -0.125);
        }
        return a.x + a.y;
    }",
    "fn f(x: f32, y: f32) -> f32 {
        var r = x;
        if x < y { r = sin(x * y) * exp(y); } else { if x > 0.5 { r = sqrt(x) * y; } }
        switch i32(4.0 * x) { case 1: { return r * y; } case 2: { return r + x; } default: {} }
        return r;
    }",
    "fn f(x: f32, y: f32) -> f32 {
        let cell = vec3f(floor(8.0 * x), floor(8.0 * y), 1.0);
        let n = u32(cell.x + 16.0) * 747796405u + u32(cell.y + 16.0);
        return f32(n >> 16u) / 65536.0 * fract(8.0 * x) + y;
    }",
];

#[test]
fn derivatives_match_finite_differences_in_control_flow() {
    let mut random = Random::new(2);
    for source in CONTROL {
        let function = of_wgsl(source);
        let derivative = gradient(&function, &[0, 1]);
        let mut close = 0;
        for _ in 0..200 {
            let at = [0, 1].map(|_| uniform(&mut random, -0.9, 0.9));
            let values = evaluate(&derivative, &at);
            assert_eq!(values[0].to_bits(), evaluate(&function, &at)[0].to_bits());
            for k in 0..2 {
                const STEP: f32 = 1.0 / 1024.0;
                let [below, above] = [-STEP, STEP].map(|step| {
                    let mut at = at;
                    at[k] += step;
                    evaluate(&function, &at)[0]
                });
                let difference = (above - below) / (2.0 * STEP);
                let error = (difference - values[function.outputs.len() + k]).abs();
                close += usize::from(error < 0.01 * (1.0 + difference.abs()));
            }
        }
        // The others are next to a jump or a kink.
        assert!(close > 370, "{close} of 400 are close: {source}");
    }
}

#[test]
fn second_derivatives_are_derivatives_of_derivatives() {
    let function = case("x * x * x * y");
    let first = gradient(&function, &[0]);
    let second = run(&first, &[0, 1], &[1]).expect("it has derivatives");
    let values = evaluate(&second, &[2.0, 3.0]);
    assert_eq!(second.outputs[2].name, "ddf/dx/dx");
    assert_eq!(values, [24.0, 36.0, 36.0, 12.0]);
}

#[test]
fn unused_and_constant_inputs_have_derivative_zero() {
    let function = case("y * 2.0");
    assert_eq!(evaluate(&gradient(&function, &[0, 1]), &[1.0, 1.0]), [2.0, 0.0, 2.0]);
    let constant = case("7.0");
    assert_eq!(evaluate(&gradient(&constant, &[1]), &[1.0, 1.0]), [7.0, 0.0]);
}

#[test]
fn kinks_have_the_derivative_of_the_chosen_arm() {
    let at_zero = |expression: &str| evaluate(&gradient(&case(expression), &[0]), &[0.0; 2])[1];
    assert_eq!(at_zero("abs(x)"), 1.0);
    assert_eq!(at_zero("min(2.0 * x, 3.0 * x)"), 2.0);
    assert_eq!(at_zero("max(2.0 * x, 3.0 * x)"), 2.0);
    assert_eq!(at_zero("select(2.0 * x, 3.0 * x, x < 0.0)"), 2.0);
    assert_eq!(at_zero("sqrt(x)"), f32::INFINITY);
}

#[test]
fn lookups_and_reassembled_bits_have_no_derivative() {
    let text = "fn f(x: f32, y: f32) -> (r: f32) {
        %b = bits x
        %c = and %b, 255
        %r = float %c
        return %r
    }";
    let function = parse(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(run(&function, &[0], &[0]), Err(DerivativeError::Bits));
    run(&function, &[1], &[0]).expect("it does not depend on y");
    let source = "@group(0) @binding(0) var image: texture_2d<f32>;
        @group(0) @binding(1) var linear: sampler;
        fn f(x: f32, y: f32) -> f32 {
            return y * textureSampleLevel(image, linear, vec2f(x, 0.5), 0.0).x;
        }";
    let function = of_wgsl(source);
    assert_eq!(run(&function, &[0], &[0]), Err(DerivativeError::Texture));
    run(&function, &[1], &[0]).expect("the lookup does not depend on y");
}

/// Bounds on values and derivatives contain those of random members of random boxes, in all
/// modes.
#[test]
fn bounds_contain_values_and_derivatives() {
    let mut random = Random::new(3);
    let sources = CASES
        .iter()
        .map(|(expression, _)| format!("fn f(x: f32, y: f32) -> f32 {{ return {expression}; }}"))
        .chain(CONTROL.iter().map(|source| (*source).to_owned()));
    for source in sources {
        let shader = Shader::parse_function("f.wgsl", &source, "f").expect("it is valid");
        let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local);
        let integrand = integrand.expect("it is valid");
        let inputs = integrand.inputs(IntervalInputs::Light, Ranges::Declared);
        let derivative = gradient(&integrand.point, &[0, 1]);
        let ports = derivative.outputs.iter().enumerate();
        let outputs: Vec<_> =
            ports.filter(|(_, port)| port.ty == Type::F32).map(|(k, _)| k).collect();
        for relations in [Relations::NONE, Relations::all()] {
            let options = Options { relations, ..Options::default() };
            let lifted = lift::run(&derivative, &inputs, &outputs, &options);
            for _ in 0..40 {
                let size = (-8.0 * uniform(&mut random, 0.0, 1.0)).exp2();
                let b = [0, 1].map(|_| {
                    let low = uniform(&mut random, -1.4, 1.4);
                    [low, low + size * uniform(&mut random, 0.0, 1.0)]
                });
                let bounds = evaluate(&lifted.function, b.as_flattened());
                for _ in 0..20 {
                    let at = b.map(|[low, high]| {
                        (low + (high - low) * uniform(&mut random, 0.0, 1.0)).clamp(low, high)
                    });
                    let values = evaluate(&derivative, &at);
                    for (k, &output) in outputs.iter().enumerate() {
                        let (value, low, high) = (values[output], bounds[2 * k], bounds[2 * k + 1]);
                        let is_unbounded = low.is_nan() || high.is_nan();
                        assert!(
                            is_unbounded
                                || value.is_nan()
                                    && (low, high) == (f32::NEG_INFINITY, f32::INFINITY)
                                || low <= value && value <= high,
                            "{source}\n{} at {at:?} in {b:?}: {value} is not in {low}..{high}",
                            derivative.outputs[output].name
                        );
                    }
                }
            }
        }
    }
}
