//! Bounds with [`Relation::Order`].

use crate::case::Case;
use lightbound_shader::interval::Nan;
use lightbound_shader::interval::{Bounds, Floats};
use lightbound_shader::relations::{Relation, Relations};

fn within(lo: f32, hi: f32) -> (bool, Bounds) {
    (true, Bounds::Float(Floats::between(lo, hi)))
}

#[test]
fn bounds_refined_by_order_contain_results() {
    let [any, unit, positive] =
        [[-1e20, 1e20], [0.0, 1.0], [1e-30, 1e20]].map(|[lo, hi]| within(lo, hi));
    let cases: &[(&str, &[(bool, Bounds)])] = &[
        // max(a, b) − a
        ("fn f(a: f32, b: f32) -> (r: f32) { %0 = max a, b %1 = sub %0, a return %1 }", &[any, any]),
        // min(a, b) − (b + c)
        (
            "fn f(a: f32, b: f32, c: f32) -> (r: f32) { %0 = min a, b %1 = add c, b %2 = sub %0, %1 return %2 }",
            &[any, any, unit],
        ),
        // a/(a + b), and √(a c)/√a
        (
            "fn f(a: f32, b: f32, c: f32) -> (r: f32, s: f32) {
                %0 = add a, b %1 = div a, %0 %2 = mul a, c %3 = sqrt %2 %4 = sqrt a %5 = div %3, %4 return %1, %5 }",
            &[positive, unit, unit],
        ),
        // (a + b)/a
        ("fn f(a: f32, b: f32) -> (r: f32) { %0 = add a, b %1 = div %0, a return %1 }", &[positive, unit]),
        // √(c − a c), a select whose condition always holds, and a − ⌊a⌋.
        (
            "fn f(a: f32, c: f32) -> (r: f32, s: f32, t: f32) {
                %0 = mul a, c %1 = sub c, %0 %2 = sqrt %1 %3 = le %0, c %4 = select %3, a, 7.0
                %5 = floor a %6 = sub a, %5 return %2, %4, %6 }",
            &[unit, unit],
        ),
        // A maximum with one of its operands: max(a c, c).
        (
            "fn f(a: f32, b: f32) -> (r: f32) { %0 = max a, b %1 = abs %0 %2 = max %0, %1 %3 = max a, %2 return %3 }",
            &[any, any],
        ),
    ];
    for (k, (text, inputs)) in cases.iter().enumerate() {
        let counts = Case::new(text, inputs).check(Relation::Order, 3000);
        assert!(k == 5 || counts.tighter * 50 > counts.endpoints, "{text}: {counts:?}");
    }
}

/// Returns a function with branches. Expensive arms are skipped if no member of the box takes them;
/// cheap arms always run.
fn function_with_arms(expensive: bool) -> String {
    let rest = if expensive {
        "%12 = sin %11 %13 = mul %12, 0.001 %14 = add %13, %11"
    } else {
        "%14 = add %11, 2.0"
    };
    format!(
        "fn f(a: f32, b: f32, c: f32) -> (r: f32) {{
            %0 = lt a, b
            %1 = lt 0.25, a
            %2 = lt a, c
            %3 = band %1, %2
            %4 = band %3, %0
            %5 = if %4 {{
                %6 = sub b, a
                %7 = sqrt %6
                %8 = log a
                %9 = sub %7, %8
                %10 = div %9, a
                %11 = div %10, b
                {rest}
                yield %14
            }} else {{
                %16 = if %0 {{
                    yield a
                }} else {{
                    %17 = sub a, b
                    %18 = sqrt %17
                    %19 = mul %18, %17
                    %20 = div %19, 3.0
                    yield %20
                }}
                yield %16
            }}
            return %5
        }}"
    )
}

#[test]
fn conditions_tighten_bounds_in_their_arms() {
    for expensive in [false, true] {
        let text = function_with_arms(expensive);
        for [b, c] in
            [[within(-1.0, 2.0), within(0.0, 1.0)], [within(-3.0, 3.0), within(-1.0, 0.5)]]
        {
            let counts = Case::new(&text, &[within(-1.0, 1.0), b, c]).check(Relation::Order, 4000);
            assert!(counts.tighter * 100 > counts.endpoints, "{counts:?}");
        }
        let endpoints = |text: &str, relations| {
            let case = Case::new(text, &[within(-1.0, 1.0), within(-1.0, 2.0), within(0.0, 1.0)]);
            let lifted = case.lifted(relations, Nan::Suppress);
            case.endpoints(&lifted, &[[-0.5, 0.5], [0.5, 0.75], [0.75, 1.0]])[0]
        };
        // A disjunction implies nothing about its operands.
        let hidden = "%both = band %3, %0 %never = lt 100.0, c %4 = bor %both, %never";
        let hidden = text.replace("%4 = band %3, %0", hidden);
        assert_ne!(hidden, text);
        let plain = endpoints(&hidden, Relations::NONE);
        for relations in [Relations::NONE, Relations::NONE.with(Relation::Order)] {
            let tight = endpoints(&text, relations);
            assert!(tight[1] < plain[1] && tight[1] < 20.0, "{plain:?} {tight:?}");
        }
    }
}

#[test]
fn mutually_exclusive_conditions_yield_no_nan() {
    // In a box with a > c, each condition may hold for some members, but not both for one member.
    let text = "fn f(a: f32, b: f32, c: f32) -> (r: f32) {
        %0 = lt a, b
        %1 = lt b, c
        %2 = if %0 {
            %3 = mul a, 2.0
            %4 = mul b, 2.0
            %5 = if %1 {
                %6 = sub c, b
                %7 = sqrt %6
                %8 = sub %4, %3
                %9 = sqrt %8
                %10 = sub c, a
                %11 = sqrt %10
                %12 = div %7, %9
                %13 = div %12, %11
                yield %13
            } else {
                %14 = sub b, c
                %15 = sqrt %14
                %16 = div %15, c
                %17 = sin %16
                yield %17
            }
            yield %5
        } else {
            yield b
        }
        return %2
    }";
    let case = Case::new(text, &[within(-1.0, 1.0), within(-2.0, 2.0), within(-0.5, 0.5)]);
    let counts = case.check(Relation::Order, 4000);
    assert!(counts.endpoints > 10_000, "{counts:?}");
    let lifted = case.lifted(Relations::NONE.with(Relation::Order), Nan::Suppress);
    let [lo, hi] = case.endpoints(&lifted, &[[0.5, 0.75], [0.0, 1.0], [0.1, 0.25]])[0];
    assert!(lo <= hi, "{lo:?} {hi:?}");
}
