use super::*;
use crate::interpreter;
use crate::interval::Floats;
use crate::ir::Type;
use crate::ir::text::parse;
use crate::ir::verify::verify;
use crate::jit::Arena;
use crate::kernel::Kernel;
use crate::passes;
use crate::random::Random;
use crate::target::Target;
use crate::testing::{random, same, targets};

fn input(bounds: Bounds) -> Input {
    Input { interval: false, bounds, axis: None, sorted: None }
}

/// The candidates of a function whose inputs are floats from -1 to 2.
fn candidates(text: &str) -> Candidates {
    let function = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let range = input(Bounds::Float(Floats::between(-1.0, 2.0)));
    let inputs = vec![range; function.inputs.len()];
    let outputs = function.outputs.len();
    Candidates::find(function, &inputs, vec![false; outputs])
}

/// Counts with these fractions of zeros.
fn counts(candidates: &Candidates, probability: impl Fn(&[String]) -> f64) -> Counts {
    let zeros = (0..candidates.len())
        .map(|k| (1000.0 * probability(&candidates.names(k))) as u64)
        .collect();
    Counts { groups: 1000, zeros, ..candidates.counts() }
}

const LOBES: &str =
    "fn f(w: f32, k.x: f32, k.y: f32, k.z: f32, x: f32) -> (r: f32, g: f32, b: f32) {
    %c = max x, 0.0
    %s = sin w
    %a = exp %s
    %p = pow %a, 1.7
    %l = mul %c, %p
    %t = cos x
    %u = exp %t
    %m.x = mul k.x, %u
    %m.y = mul k.y, %u
    %m.z = mul k.z, %u
    %r = add %l, %m.x
    %g = add %l, %m.y
    %b = add %l, %m.z
    return %r, %g, %b
}";

fn names(candidates: &Candidates) -> Vec<Vec<String>> {
    (0..candidates.len()).map(|k| candidates.names(k)).collect()
}

#[test]
fn candidates_are_scalars_and_vectors_that_remove_code() {
    let candidates = candidates(LOBES);
    let names = names(&candidates);
    let has = |name: &[&str]| names.iter().any(|candidate| candidate == name);
    // The weight of a lobe and the colour of the other one. All code of a lobe has run before it is
    // known to be zero, and a component of the colour alone removes little.
    assert!(has(&["%0"]) && !has(&["%4"]), "{names:?}");
    assert!(has(&["k.x", "k.y", "k.z"]) && !has(&["k.x"]), "{names:?}");
}

#[test]
fn frequent_zeros_become_uniform_branches() {
    let candidates = candidates(LOBES);
    let counts = counts(&candidates, |names| if names == ["%0"] { 0.9 } else { 0.0 });
    let versions = candidates.versions(&counts).expect("a test pays");
    let text = versions.function.to_string();
    assert_eq!(versions.tests.len(), 1);
    assert_eq!(verify(&versions.function), Ok(()));
    assert_eq!([text.matches(" any ").count(), text.matches("if ").count()], [1, 1], "{text}");
    // The other lobe is computed before the test, once.
    assert_eq!([text.matches(" cos ").count(), text.matches(" pow ").count()], [1, 1], "{text}");
    assert!(versions.expected_cost[0] < versions.expected_cost[1]);
}

#[test]
fn vectors_are_tested_as_a_whole() {
    let candidates = candidates(LOBES);
    let counts = counts(&candidates, |names| if names.len() == 3 { 0.95 } else { 0.0 });
    let versions = candidates.versions(&counts).expect("a test pays");
    let text = versions.function.to_string();
    let tested = candidates.names(versions.tests[0]);
    assert_eq!(tested, ["k.x", "k.y", "k.z"], "{text}");
    assert_eq!(text.matches(" eq ").count(), 3, "{text}");
}

#[test]
fn tests_nest_until_nothing_is_gained() {
    let candidates = candidates(LOBES);
    let counts = counts(&candidates, |_| 0.8);
    let versions = candidates.versions(&counts).expect("tests pay");
    assert!(versions.tests.len() >= 2, "{}", versions.function);
    assert_eq!(verify(&versions.function), Ok(()));
}

#[test]
fn rare_zeros_are_not_tested() {
    let candidates = candidates(LOBES);
    assert!(candidates.versions(&counts(&candidates, |_| 0.1)).is_none());
    assert!(candidates.versions(&candidates.counts()).is_none());
}

#[test]
fn products_with_possible_infinities_are_not_skipped() {
    let text = "fn f(w: f32, x: f32) -> (r: f32) {
        %a = mul x, 100.0
        %b = exp %a
        %c = exp %b
        %r = mul w, %c
        return %r
    }";
    assert!(names(&candidates(text)).iter().all(|names| names != &["w"]));
}

/// Runs machine code on all rows.
fn run(function: &Function, target: Target, rows: &[Vec<u32>]) -> Batch {
    let lowered = passes::lower(function);
    let kernel = Kernel::compile(&Arena::new(), &lowered, target).expect("it is available");
    let mut inputs = Batch::new(target, function.inputs.len(), rows.len());
    let mut outputs = Batch::new(target, function.outputs.len(), rows.len());
    for (index, row) in rows.iter().enumerate() {
        inputs.set_row(index, 0, row);
    }
    kernel.run_on(&random::tables(), &inputs, &mut outputs);
    outputs
}

#[test]
fn counts_are_of_whole_groups_at_the_edges() {
    let candidates = candidates(LOBES);
    let names = names(&candidates);
    let index = names.iter().position(|names| names == &["%0"]).expect("it is a candidate");
    let versions = candidates
        .versions(&counts(&candidates, |names| if names == ["%0"] { 1.0 } else { 0.0 }))
        .expect("a test pays");
    for target in targets() {
        let lanes = target.lanes();
        // max(x, 0): zero for zeros of both signs and negative numbers, not for denormals or NaN.
        let cases = [(-1.0, true), (0.0, true), (-0.0, true), (1e-45, false), (2.0, false)];
        for (x, is_zero) in cases {
            for odd_lane in 0..lanes {
                let rows: Vec<Vec<u32>> = (0..lanes)
                    .map(|lane| {
                        let x = if lane == odd_lane { x } else { -0.5f32 };
                        [0.3, 0.1, 0.2, 0.3, x].map(f32::to_bits).to_vec()
                    })
                    .collect();
                let results = run(&candidates.instrument(), target, &rows);
                let mut counts = candidates.counts();
                counts.add(&candidates.instrument().outputs, &results);
                assert_eq!((counts.groups, counts.zeros[index]), (1, u64::from(is_zero)));
                let [general, tested] =
                    [candidates.function(), &versions.function].map(|f| run(f, target, &rows));
                for (row, port) in (0..lanes).flat_map(|row| (0..3).map(move |port| (row, port))) {
                    assert_eq!(general.bits(row, port), tested.bits(row, port), "{target}, {x}");
                }
            }
        }
    }
}

/// Inserts tests in a random function for random counts, and compares results on groups in which
/// inputs are often zero. Returns the number of evaluations; 0 if no test pays.
fn check(seed: u64, groups: usize) -> usize {
    let function = random::function(seed, &random::Options::any(seed, false));
    let mut random = Random::new(seed ^ 0xa2b);
    let bounds = |random: &mut Random, ty| match (ty, random.below(3)) {
        (Type::F32, 0 | 1) => Bounds::Float(Floats::between(-2.0, 2.0)),
        _ => Bounds::all(ty),
    };
    let inputs: Vec<_> =
        function.inputs.iter().map(|port| input(bounds(&mut random, port.ty))).collect();
    let is_signed: Vec<_> = function.outputs.iter().map(|_| random.once_in(2)).collect();
    let candidates = Candidates::find(function.clone(), &inputs, is_signed.clone());
    let zeros = (0..candidates.len()).map(|_| random.below(1001) as u64).collect();
    let arms = vec![[1000; 2]; candidates.counts().arms.len()];
    let counts = Counts { groups: 1000, zeros, arms, ..candidates.counts() };
    let Some(versions) = candidates.versions(&counts) else { return 0 };
    assert_eq!(verify(&versions.function), Ok(()), "seed {seed}");
    let mut evaluations = 0;
    for target in targets() {
        let mut rows = vec![];
        for _ in 0..groups {
            // Which inputs are zero in most lanes of the group.
            let zero: Vec<_> = inputs.iter().map(|_| random.once_in(2)).collect();
            rows.extend((0..target.lanes()).map(|_| {
                let word = |(input, &zero): (&Input, &bool)| {
                    let zeros = [0.0f32, -0.0].map(f32::to_bits);
                    let bits = random::word(&mut random, input.bounds.ty());
                    match input.bounds.ty() {
                        Type::F32 if zero && !random.once_in(16) => *random.pick(&zeros),
                        _ if input.bounds.contains(bits) => bits,
                        _ => (random.below(4001) as f32 / 1000.0 - 2.0).to_bits(),
                    }
                };
                std::iter::zip(&inputs, &zero).map(word).collect::<Vec<_>>()
            }));
        }
        let results = run(&versions.function, target, &rows);
        for (index, row) in rows.iter().enumerate() {
            let expected = interpreter::run(&function, &random::tables(), row, 1 << 22)
                .expect("loops terminate");
            for (port, &a) in expected.iter().enumerate() {
                let (ty, b) = (function.outputs[port].ty, results.bits(index, port));
                let are_zeros = ty == Type::F32 && (a | b) << 1 == 0 && !is_signed[port];
                assert!(
                    same(ty, a, b) || are_zeros,
                    "seed {seed} on {target}, {row:x?}: {a:x} became {b:x}\n{function}\n{}",
                    versions.function
                );
            }
        }
        evaluations += rows.len();
    }
    evaluations
}

#[test]
fn random_functions_keep_their_results() {
    let tested = (0..600).filter(|&seed| check(seed, 3) > 0).count();
    assert!(tested > 60, "{tested}");
}

#[test]
#[ignore = "10⁷ evaluations, which take minutes: cargo test -p lightbound-shader --release --lib zeros -- --ignored"]
fn many_random_functions_keep_their_results() {
    let evaluations: usize = (1000..20_000).map(|seed| check(seed, 400)).sum();
    assert!(evaluations >= 10_000_000, "{evaluations}");
}
