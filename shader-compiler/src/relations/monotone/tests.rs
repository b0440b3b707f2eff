//! Tests of refinements: members stay within endpoints, and endpoints are tight.

use super::search::find_within_budget;
use super::*;
use crate::interpreter;
use crate::interval::Nan;
use crate::ir::text::parse;
use crate::ir::{Def, Function};
use crate::lift::{self, Input, Lifted, Options};
use crate::math::eval::ConstantEvaluator;
use crate::random::Random;
use crate::relations::{PointShader, Refinement, Relation, RelationInfo, Relations};

/// A function and a range for each input.
struct Case {
    function: Function,
    inputs: Vec<Input>,
}

impl Case {
    fn new(text: &str, inputs: &[(bool, f32, f32)]) -> Case {
        let input = |&(interval, low, high): &(bool, f32, f32)| Input {
            interval,
            bounds: Bounds::Float(Floats::between(low, high)),
            axis: None,
            sorted: None,
        };
        Case {
            function: parse(text).expect("the text is well formed"),
            inputs: inputs.iter().map(input).collect(),
        }
    }

    fn lifted(&self, nan: Nan, relations: Relations) -> Lifted {
        lift::run(
            &self.function,
            &self.inputs,
            &[0],
            &Options { nan, relations, ..Options::default() },
        )
    }

    /// Endpoints of a random box: of any width, at bounds of inputs, at zeros and across kinks.
    fn endpoints(&self, random: &mut Random) -> Vec<[f32; 2]> {
        let end = |random: &mut Random, input: &Input| {
            let Bounds::Float(floats) = &input.bounds else { unreachable!("inputs are floats") };
            let [low, high] = [floats.low(), floats.high()];
            let unit = random.below(1 << 20) as f32 / (1 << 20) as f32;
            let x = match random.below(8) {
                0 => *random.pick(&[low, high, 0.0, -0.0, 1e-20, 1e-8, 1e-4]),
                1 => high * f32::from_bits((1 + random.below(126) as u32) << 23),
                _ => low + (high - low) * unit,
            };
            if !input.interval {
                return [x.clamp(low, high); 2];
            }
            let wide = match random.below(6) {
                0 => x.next_up(),
                1 => x.next_up().next_up().next_up(),
                2 => x + x.abs() * 1e-6,
                3 => x + x.abs() * 1e-2,
                _ => x + (high - low) * *random.pick(&[1e-6, 1e-3, 0.1, 1.0]) * unit,
            };
            [x.clamp(low, high), wide.clamp(low, high)]
        };
        self.inputs.iter().map(|input| end(random, input)).collect()
    }

    /// Checks results of members against endpoints. Returns the median of the width relative to
    /// the width without relations, over boxes where it is narrower, and the percentage of such
    /// boxes.
    fn check(&self, boxes: usize) -> (f64, usize) {
        let mut random = Random::new(11);
        let mut shares = vec![];
        let only = Relations::NONE.with(Relation::Monotone);
        let modes = [Nan::Ignore, Nan::Suppress, Nan::Propagate]
            .map(|nan| (self.lifted(nan, only), self.lifted(nan, Relations::NONE)));
        for index in 0..boxes {
            let endpoints = self.endpoints(&mut random);
            let run = |function: &Function, words: &[f32]| {
                let words: Vec<_> = words.iter().map(|x| x.to_bits()).collect();
                let results =
                    interpreter::run(function, &[], &words, 1 << 20).expect("there is no loop");
                results.into_iter().map(f32::from_bits).collect::<Vec<_>>()
            };
            let (related, other) = &modes[index % modes.len()];
            let row: Vec<f32> = std::iter::zip(&endpoints, &self.inputs)
                .flat_map(|(endpoints, input)| &endpoints[..1 + usize::from(input.interval)])
                .copied()
                .collect();
            let (found, other) = (run(&related.function, &row), run(&other.function, &row));
            // Bounds may be wider by the absolute error, which is below the smallest normal
            // number.
            assert!(
                other[0] <= found[0] + 1e-30 && found[1] <= other[1] + 1e-30,
                "{found:?} is wider than {other:?} for {endpoints:?}"
            );
            for _ in 0..6 {
                let member: Vec<f32> = endpoints
                    .iter()
                    .map(|endpoints| random_member(&mut random, *endpoints))
                    .collect();
                let value = run(&self.function, &member)[0];
                assert!(
                    found[0] <= value && value <= found[1],
                    "{value} of {member:?} is not in {found:?} for {endpoints:?}"
                );
            }
            let share = f64::from(found[1] - found[0]) / f64::from(other[1] - other[0]);
            if share < 0.99 {
                shares.push(share);
            }
        }
        shares.sort_by(f64::total_cmp);
        (shares.get(shares.len() / 2).copied().unwrap_or(1.0), shares.len() * 100 / boxes)
    }

    /// Checks that `refinements` are found, that at least `percent` of boxes have narrower
    /// bounds, and that the median of their relative width is at most `width`.
    fn assert_tightens(&self, refinements: usize, width: f64, percent: usize) {
        let (median, narrower) = self.check(20_000);
        assert_eq!(self.count_refinements(), refinements);
        assert!(
            median <= width && narrower >= percent,
            "median relative width {median}, narrower for {narrower} % of boxes"
        );
    }

    /// Number of refinements found, not counting those that all modes have.
    fn count_refinements(&self) -> usize {
        let related = self.lifted(Nan::Ignore, Relations::NONE.with(Relation::Monotone)).related;
        let is_monotone = |refinement: &&Refinement| matches!(refinement, Refinement::Monotone(_));
        related.refinements.iter().flatten().filter(is_monotone).count()
    }
}

/// A random member of an interval: an endpoint, a neighbour of one, or any.
fn random_member(random: &mut Random, [low, high]: [f32; 2]) -> f32 {
    let x = match random.below(5) {
        0 => low,
        1 => high,
        2 => low.next_up(),
        3 => high.next_down(),
        _ => low + (high - low) * (random.below(1 << 20) as f32 / (1 << 20) as f32),
    };
    x.max(low).min(high)
}

#[test]
fn shares_of_a_sum_are_monotone_in_both_terms() {
    let text = "fn f(a: f32, b: f32) -> (r: f32) {
        %0 = add a, b
        %1 = div a, %0
        return %1
    }";
    let case = Case::new(text, &[(true, 0.0, 4.0), (true, 1e-3, 4.0)]);
    case.assert_tightens(1, 0.45, 38);
}

#[test]
fn components_of_normalized_vectors_are_monotone() {
    // Padding, since such endpoints may only cost a fraction of all operations.
    let padding: String = (0..8)
        .map(|k| format!("%{} = exp %{}\n %{} = log %{}\n", 2 * k + 1, 2 * k, 2 * k + 2, 2 * k + 1))
        .collect();
    let text = format!(
        "fn f(x: f32, y: f32, z: f32) -> (r: f32) {{
            %0 = add y, 0.0
            {padding}
            %20 = mul x, x
            %28 = mul %16, %16
            %21 = mul %28, 0.9
            %22 = mul z, z
            %23 = add %20, %21
            %24 = add %23, %22
            %25 = max %24, 1e-6
            %26 = sqrt %25
            %27 = div %16, %26
            return %27
        }}"
    );
    // The factor 0.9 keeps the component from being clamped to 1 without this relation.
    let case = Case::new(&text, &[(true, -2.0, 2.0), (true, -2.0, 2.0), (true, 0.0, 2.0)]);
    case.assert_tightens(1, 0.6, 30);
}

#[test]
fn cosine_over_its_root_is_monotone() {
    // The last factors of Ward's model, with the lobe as a scalar.
    let text = "fn f(z: f32, w: f32, kd: f32, ks: f32) -> (r: f32) {
        %0 = mul z, w
        %1 = max %0, 1e-8
        %2 = sqrt %1
        %3 = mul %2, 0.04
        %4 = div ks, %3
        %5 = add kd, %4
        %6 = mul %5, 0.31830987
        %7 = max z, 0.0
        %8 = mul %6, %7
        return %8
    }";
    let case = Case::new(
        text,
        &[(true, -1.0, 1.0), (false, 0.0, 1.0), (false, 0.0, 1.0), (true, 0.0, 1.0)],
    );
    case.assert_tightens(1, 0.36, 15);
}

#[test]
fn upper_endpoints_allow_factors_of_unknown_sign() {
    // The factor of unknown sign does not depend on the source.
    let text = "fn f(z: f32, w: f32, f: f32) -> (r: f32) {
        %0 = max z, w
        %1 = max %0, 0.0001
        %2 = div 1.0, %1
        %3 = mul %2, f
        %4 = max z, 0.0
        %5 = mul %3, %4
        return %5
    }";
    let case = Case::new(text, &[(true, -1.0, 1.0), (false, 0.0, 1.0), (true, -0.1, 1.0)]);
    case.assert_tightens(1, 0.15, 12);
}

#[test]
fn powers_increase_in_a_value_shared_by_base_and_exponent() {
    // The power in Ashikhmin and Shirley's model: (1 + t/z)^(−e/2t), where e/t is known to be
    // at most 1000.
    let text = "fn f(t: f32, e: f32, z: f32) -> (r: f32) {
        %0 = max t, 1e-20
        %1 = div e, %0
        %2 = mul %1, -0.5
        %3 = div t, z
        %4 = add %3, 1.0
        %5 = pow %4, %2
        return %5
    }";
    let case = Case::new(text, &[(true, 0.0, 8.0), (true, 0.0, 8000.0), (true, 1e-12, 4.0)]);
    let solved = case.lifted(Nan::Ignore, Relations::NONE);
    let mut bounds = solved.bounds;
    let is = |value: &usize, op: Op| {
        solved.point.operation(Value(*value as u32)).is_some_and(|(other, _)| other == op)
    };
    for (op, low, high) in [(Op::Div, 0.0, 1000.0), (Op::Mul, -500.0, 0.0)] {
        let value = (0..solved.point.len()).find(|value| is(value, op)).expect("there is one");
        bounds[value] = bounds[value].meet(&Bounds::Float(Floats::between(low, high)));
    }
    let point = PointShader {
        function: &solved.point,
        is_interval: &solved.is_interval,
        bounds,
        units: vec![],
        orders: vec![],
    };
    let mut related = RelationInfo::empty(&solved.point);
    find_within_budget(&point, u32::MAX, &mut related);
    let result = solved.point.body.yields[0];
    let [refinement] = &related.refinements[result.index()][..] else {
        panic!("{:?}", related.refinements)
    };
    let mut random = Random::new(3);
    let (mut narrow, mut count) = (0, 0);
    for _ in 0..200_000 {
        let mut endpoints = case.endpoints(&mut random);
        let [t, z] = [0, 2].map(|k| random_member(&mut random, endpoints[k]));
        let share =
            [1.0, 50.0, 999.0, 1000.0][random.below(4)] * if random.once_in(2) { 1.0 } else { 0.5 };
        let e = share * t.max(1e-20);
        if e / t.max(1e-20) > 1000.0 || e > 8000.0 {
            continue;
        }
        endpoints[1] = [e * (1.0 - 0.1 * (random.below(3) as f32)), (e * 1.1).min(8000.0)];
        let of = |value: Value| match solved.point.def(value) {
            Def::Input(k) => endpoints[k as usize].map(f32::to_bits),
            Def::Const(bits) => [bits; 2],
            _ => unreachable!("there are only inputs"),
        };
        let [lo, hi] =
            refinement.endpoints(&mut ConstantEvaluator::default(), of).map(f32::from_bits);
        let value = [t, e, z].map(f32::to_bits);
        let value = f32::from_bits(
            interpreter::run(&solved.point, &[], &value, 10).expect("there is no loop")[0],
        );
        assert!(
            lo <= value && value <= hi,
            "{value} of {t} {e} {z} is not in [{lo}, {hi}] for {endpoints:?}"
        );
        count += 1;
        narrow += usize::from(hi < 1.0);
    }
    assert!(count > 50_000 && narrow > count / 4, "{narrow} of {count}");
}

#[test]
fn products_that_do_not_benefit_get_no_refinement() {
    // x (1 − x) is not monotone. For x ≥ 0, the interval lowerings of x (1 + x) and
    // x √(1 / (1 − x²)) are exact.
    for text in ["sub 1.0, x", "add 1.0, x", "rsqrt %9"] {
        let text = format!(
            "fn f(x: f32) -> (r: f32) {{
                %7 = mul x, x
                %8 = sub 1.0, %7
                %9 = max %8, 1e-4
                %0 = {text}
                %1 = mul x, %0
                return %1
            }}"
        );
        for low in [0.0, -1.0] {
            assert!(
                low < 0.0 && !text.contains("rsqrt")
                    || Case::new(&text, &[(true, low, 1.0)]).count_refinements() == 0,
                "{text}"
            );
        }
    }
}

#[test]
fn number_of_visited_operations_is_linear_in_the_length() {
    // Each step uses the value of the step before twice, and x is used everywhere.
    let visited = |steps: usize| {
        let mut text = "fn f(x: f32) -> (r: f32) { %s0 = max x, 0.25 ".to_owned();
        for k in 0..steps {
            let next = k + 1;
            text += &format!(
                "%a{k} = mul %s{k}, %s{k} %b{k} = add %a{k}, x %c{k} = max %b{k}, 1.0
                %s{next} = div %s{k}, %c{k} "
            );
        }
        let case = Case::new(&format!("{text} return %s{steps} }}"), &[(true, 0.5, 1.0)]);
        let lifted = case.lifted(Nan::Ignore, Relations::NONE);
        let point = PointShader {
            function: &lifted.point,
            is_interval: &lifted.is_interval,
            bounds: lifted.bounds,
            units: vec![],
            orders: vec![],
        };
        find_within_budget(&point, u32::MAX, &mut RelationInfo::empty(&lifted.point))
    };
    let counts = [100, 200, 400].map(visited);
    assert!(counts[0] >= 200, "{counts:?}");
    assert_eq!(counts[2] - counts[1], 2 * (counts[1] - counts[0]), "{counts:?}");
}
