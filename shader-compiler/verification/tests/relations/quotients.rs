//! Bounds with [`Relation::Quotients`].

use crate::case::Case;
use lightbound_shader::interval::Nan;
use lightbound_shader::interval::{Bounds, Floats};
use lightbound_shader::relations::{Relation, Relations};

fn within(lo: f32, hi: f32) -> (bool, Bounds) {
    (true, Bounds::Float(Floats::between(lo, hi)))
}

/// The exponent of an anisotropic lobe, between n_u and n_v.
const EXPONENT: &str = "fn f(x: f32, y: f32, n_u: f32, n_v: f32) -> (r: f32) {
    %0 = mul x, x
    %1 = mul y, y
    %2 = mul n_u, %0
    %3 = mul n_v, %1
    %4 = add %2, %3
    %5 = add %0, %1
    %6 = max %5, 1e-20
    %7 = div %4, %6
    return %7
}";

#[test]
fn weighted_means_are_bounded_by_their_operands() {
    let number = |lo, hi| (false, Bounds::Float(Floats::between(lo, hi)));
    let case = Case::new(
        EXPONENT,
        &[within(-2.0, 2.0), within(-2.0, 2.0), number(1.0, 1e4), number(1.0, 1e4)],
    );
    let endpoints = |relations: Relations, x: [f32; 2]| {
        let lifted = case.lifted(relations, Nan::Ignore);
        case.endpoints(&lifted, &[x, [0.1, 0.2], [1000.0; 2], [50.0; 2]])[0]
    };
    let [lo, hi] = endpoints(Relations::NONE.with(Relation::Quotients), [-0.1, 0.1]);
    assert!((49.999..=50.0).contains(&lo) && (1000.0..1000.001).contains(&hi), "{lo:?} {hi:?}");
    let [lo, hi] = endpoints(Relations::NONE, [-0.1, 0.1]);
    assert!(lo < 11.0 && hi > 1100.0, "{lo:?} {hi:?}");
}

#[test]
fn bounds_of_quotients_contain_results() {
    let all = Floats::between(0.0, f32::MAX);
    let number = |floats| (false, Bounds::Float(floats));
    // Over the full range of exponents, the dividend may overflow.
    for n in [
        Floats::between(1.0, 1e4),
        Floats::between(0.0, 1.0),
        all,
        Floats::between(f32::MIN_POSITIVE, 1e30),
    ] {
        for x in [within(-2.0, 2.0), within(0.0, 1e-18), within(1.0, 1e15)] {
            let case =
                Case::new(EXPONENT, &[x, within(-1.0, 1.0), number(n), (true, Bounds::Float(n))]);
            let counts = case.check(Relation::Quotients, 2000);
            assert!(counts.tighter * 20 > counts.endpoints, "{n:?} {x:?} {counts:?}");
        }
    }
}

#[test]
fn bounds_of_all_quotient_patterns_contain_results() {
    let positive = |hi| within(0.0, hi);
    let shapes: [(&str, &[(bool, Bounds)]); 6] = [
        // (a − b)/(a + b)
        (
            "fn f(a: f32, b: f32) -> (r: f32) { %0 = sub a, b %1 = add b, a %2 = div %0, %1 return %2 }",
            &[positive(1.0), within(1e-30, 2.0)],
        ),
        // b/(a + b)
        (
            "fn f(a: f32, b: f32) -> (r: f32) { %1 = add b, a %2 = div b, %1 return %2 }",
            &[positive(1e30), within(1e-3, 1.0)],
        ),
        // a/max(a, max(b, 1e-4))
        (
            "fn f(a: f32, b: f32) -> (r: f32) { %0 = max b, 1e-4 %1 = max a, %0 %2 = div a, %1 return %2 }",
            &[positive(1.0), within(-1.0, 1.0)],
        ),
        // (x² + y²)/((a x)² + (y b)²), with the factors of products in different orders
        (
            "fn f(x: f32, y: f32, a: f32, b: f32) -> (r: f32) {
                %0 = mul x, x %1 = mul y, y %2 = add %0, %1
                %3 = mul a, x %4 = mul %3, %3 %5 = mul y, b %6 = mul %5, %5 %7 = add %6, %4
                %8 = max %7, 1e-15 %9 = div %2, %8 return %9 }",
            &[within(-1.0, 1.0), within(-3.0, 1e-4), within(1e-3, 1.0), (false, Bounds::Float(Floats::between(0.01, 1.0)))],
        ),
        // (a x² − b y + c·3 z)/(x² + y + z + 1)
        (
            "fn f(x: f32, y: f32, z: f32, a: f32, b: f32, c: f32) -> (r: f32) {
                %0 = mul x, x %1 = mul %0, a %2 = mul b, y %3 = sub %1, %2 %4 = mul c, 3.0 %5 = mul %4, z %6 = add %3, %5
                %7 = add y, 1.0 %8 = add %0, z %9 = add %8, %7 %10 = div %6, %9 return %10 }",
            &[within(-9.0, 9.0), positive(1.0), positive(1e-40), positive(2.0), positive(1.0), within(0.5, 1e9)],
        ),
        // (x³ + y²)/(x² + y) for x ≥ 0
        (
            "fn f(x: f32, y: f32) -> (r: f32) {
                %0 = mul x, x %1 = mul %0, x %2 = mul y, y %3 = add %1, %2 %4 = add %0, y %5 = div %3, %4 return %5 }",
            &[positive(1.0), within(1e-10, 2.0)],
        ),
    ];
    for (text, inputs) in shapes {
        let counts = Case::new(text, inputs).check(Relation::Quotients, 5000);
        assert!(counts.tighter * 50 > counts.endpoints, "{text}: {counts:?}");
    }
}
