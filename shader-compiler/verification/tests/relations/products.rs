//! Bounds with [`Relation::Products`].

use crate::case::Case;
use lightbound_shader::interval::Nan;
use lightbound_shader::interval::{Bounds, Floats};
use lightbound_shader::relations::{Relation, Relations};

const SHAPES: [&str; 4] = [
    "fn f(x: f32, c: f32) -> (r: f32) { %0 = sub c, x %1 = mul %0, x return %1 }",
    "fn f(x: f32, c: f32) -> (r: f32) { %0 = sub x, c %1 = mul x, %0 return %1 }",
    "fn f(x: f32, c: f32) -> (r: f32) { %0 = add c, x %1 = mul %0, x return %1 }",
    "fn f(x: f32, c: f32) -> (r: f32) { %0 = sub 1.0, x %1 = mul x, %0 %2 = mul %1, c return %2 }",
];

#[test]
fn bounds_of_products_contain_results() {
    for text in SHAPES {
        let (mut endpoints, mut tighter) = (0, 0);
        for [x, c] in [
            [[0.0, 1.0], [1.0, 1.0]],
            [[-3.0, 2.0], [-1.0, 2.0]],
            [[-1e-20, 1e-22], [0.0, 1e-21]],
            [[-1e18, 1e18], [0.5, 2.0]],
        ] {
            let float = |[lo, hi]: [f32; 2]| Bounds::Float(Floats::between(lo, hi));
            let case = Case::new(text, &[(true, float(x)), (false, float(c))]);
            let counts = case.check(Relation::Products, 5000);
            (endpoints, tighter) = (endpoints + counts.endpoints, tighter + counts.tighter);
        }
        assert!(tighter * 20 > endpoints, "{text}: {tighter} of {endpoints}");
    }
}

#[test]
fn bound_of_x_times_c_minus_x_is_attained_at_half_c() {
    let float = |lo, hi| Bounds::Float(Floats::between(lo, hi));
    let case = Case::new(SHAPES[0], &[(true, float(0.0, 1.0)), (false, float(1.0, 1.0))]);
    let endpoints = |relations| {
        case.endpoints(&case.lifted(relations, Nan::Suppress), &[[0.25, 0.875], [1.0; 2]])[0]
    };
    let [lo, hi] = endpoints(Relations::NONE.with(Relation::Products));
    assert!((0.109374..=0.109375).contains(&lo) && (0.25..0.250001).contains(&hi), "{lo:?} {hi:?}");
    assert_eq!(endpoints(Relations::NONE), [0.03125, 0.65625]);
}
