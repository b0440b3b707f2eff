//! The engines against brute force, and against each other: random programs run for all inputs of a
//! small domain, and every value is compared with what the solver and symbolic ranges claim.

use super::*;
use crate::interpreter;
use crate::lift::find_clips;

/// Maximum number of combinations of inputs.
const MAX_ROWS: usize = 256;

/// Limit on the iterations of a run. Values until then are checked.
const MAX_ITERATIONS: u64 = 400;

/// Engines whose claims are compared: the solver, symbolic ranges that know nothing of the inputs,
/// and symbolic ranges with the bounds of the solver.
const ENGINES: [&str; 3] = ["solver", "symbolic", "symbolic with bounds"];

/// What a program's runs showed, and how close the engines came.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    checks: usize,
    /// Integers that runs computed, in programs that were run to their end.
    values: usize,
    /// How many of them each engine bounds exactly: the least, and the greatest.
    exact: [[usize; 2]; ENGINES.len()],
    /// Endpoints for which the first of two engines is tighter.
    solver_tighter: usize,
    symbolic_tighter: usize,
    /// Comparisons that symbolic ranges decide, of those that runs show to be constant.
    decided: usize,
    constant: usize,
}

/// All combinations of a few values of each input, and bounds of the inputs.
fn domain(function: &Function, random: &mut Random) -> (Vec<Vec<u32>>, Vec<Bounds>) {
    let mut rows = vec![vec![]];
    let mut bounds = vec![];
    for port in &function.inputs {
        let count = 1 + random.below((MAX_ROWS / rows.len()).clamp(1, 6));
        let first = random.below(8) as i32 - 3;
        let words: Vec<u32> = (0..count as i32)
            .map(|k| match port.ty {
                Type::I32 => (first + k) as u32,
                Type::F32 => (0.5 * (first + k) as f32).to_bits(),
                Type::Bool => [0, !0][k as usize % 2],
            })
            .collect();
        let constants = words.iter().map(|&word| Bounds::constant(port.ty, word));
        bounds.extend(constants.reduce(|a, b| a.join(&b)));
        let with = |row: &Vec<u32>| -> Vec<Vec<u32>> {
            words.iter().map(|&word| [&row[..], &[word]].concat()).collect()
        };
        rows = rows.iter().flat_map(with).collect();
    }
    (rows, bounds)
}

/// Compares the engines for a program.
fn compare(function: &Function, random: &mut Random, label: &str) -> Tally {
    let (rows, inputs) = domain(function, random);
    let scalars = vec![false; function.len()];
    let clips = find_clips(function, &scalars, &inputs, Nan::Suppress);
    let facts = solve::Facts { clips: Some(&clips), ..solve::Facts::default() };
    let solved = solve::run(function, &scalars, &inputs, Nan::Suppress, facts);
    let mut engines = [Ranges::new(function), Ranges::with_bounds(function, &solved)];
    let integers = |k: &usize| function.values[*k].ty == Type::I32;
    let claims = engines.each_mut().map(|ranges| {
        let mut claim = |k: usize| {
            let value = Value(k as u32);
            let at = ranges.region_of(value);
            ranges.range_of(value, at)
        };
        let mut claims: Vec<Option<SymbolicRange>> = vec![None; function.len()];
        for k in (0..function.len()).filter(integers) {
            claims[k] = Some(claim(k));
        }
        claims
    });
    let decisions: Vec<Option<bool>> = (0..function.len())
        .map(|k| match function.operation(Value(k as u32)) {
            Some((op @ (Op::SLt | Op::ULt | Op::IEq), &[a, b])) => {
                let at = engines[0].region_of(Value(k as u32));
                engines[0].decide(op, [a, b], at)
            }
            _ => None,
        })
        .collect();

    let tables = random::tables();
    let mut tally = Tally::default();
    let mut observed: Vec<Option<[i64; 2]>> = vec![None; function.len()];
    let mut is_complete = true;
    for row in &rows {
        let mut words: Vec<u32> = (function.values.iter())
            .map(|data| match data.def {
                Def::Input(index) => row[index as usize],
                Def::Const(bits) => bits,
                _ => 0,
            })
            .collect();
        let watch = |value: Value, word: u32| {
            let k = value.index();
            words[k] = word;
            tally.checks += 1;
            let shown = |claim: &dyn std::fmt::Debug, engine: &str| {
                format!(
                    "{label}, {engine}: {claim:?} for {value:?} = {word:x}, {row:x?}\n{function}"
                )
            };
            assert!(solved[k].contains(word), "{}", shown(&solved[k], ENGINES[0]));
            for (claims, engine) in std::iter::zip(&claims, &ENGINES[1..]) {
                if let Some(range) = &claims[k] {
                    tally.checks += 1;
                    // Expressions may mention results and parameters that are set just after.
                    let is_op = matches!(function.def(value), Def::Op { .. });
                    let holds = match is_op {
                        true => Claim::Range(value, Box::new(*range)).holds(function, &words),
                        false => {
                            let numbers = range.number.lo..=range.number.hi;
                            numbers.contains(&i64::from(word as i32))
                        }
                    };
                    assert!(holds, "{}", shown(range, engine));
                }
            }
            if let Some(decision) = decisions[k] {
                tally.checks += 1;
                assert_eq!(word != 0, decision, "{}", shown(&decision, ENGINES[1]));
            }
            let x = i64::from(word as i32);
            let [low, high] = observed[k].get_or_insert([x, x]);
            (*low, *high) = (x.min(*low), x.max(*high));
        };
        let outcome = interpreter::watch(function, &tables, row, MAX_ITERATIONS, watch);
        is_complete &= outcome.is_ok();
    }
    if !is_complete {
        return tally;
    }
    for (k, observed) in observed.iter().enumerate() {
        let Some(observed) = observed else { continue };
        if function.values[k].ty == Type::Bool {
            tally.constant += usize::from(observed[0] == observed[1]);
            tally.decided += usize::from(decisions[k].is_some());
        }
        let (Bounds::Int(ints), [Some(free), Some(bounded)]) =
            (&solved[k], claims.each_ref().map(|claims| claims[k]))
        else {
            continue;
        };
        let solver = ints.hull().expect("the value was computed").map(i64::from);
        let hull = |range: SymbolicRange| [range.number.lo, range.number.hi];
        let ends = [solver, hull(free), hull(bounded)];
        tally.values += 1;
        for side in [0, 1] {
            for (exact, ends) in std::iter::zip(&mut tally.exact, ends) {
                exact[side] += usize::from(ends[side] == observed[side]);
            }
            let excess = |ends: [i64; 2]| (ends[side] - observed[side]).abs();
            tally.solver_tighter += usize::from(excess(ends[0]) < excess(ends[1]));
            tally.symbolic_tighter += usize::from(excess(ends[1]) < excess(ends[0]));
        }
    }
    tally
}

/// Compares the engines for random programs, and returns the sums.
fn compare_all(seeds: std::ops::Range<u64>) -> Tally {
    let mut sum = Tally::default();
    for seed in seeds {
        let function = match seed % 4 {
            0 => random::loop_program(seed),
            1 => random::function(seed, &random::Options::any(seed, false)),
            _ => Writer::program(seed),
        };
        let one = compare(&function, &mut Random::new(!seed), &format!("seed {seed}"));
        sum.checks += one.checks;
        sum.values += one.values;
        for (sum, one) in std::iter::zip(&mut sum.exact, one.exact) {
            (sum[0], sum[1]) = (sum[0] + one[0], sum[1] + one[1]);
        }
        sum.solver_tighter += one.solver_tighter;
        sum.symbolic_tighter += one.symbolic_tighter;
        sum.decided += one.decided;
        sum.constant += one.constant;
    }
    sum
}

#[test]
fn engines_agree_with_brute_force_on_small_domains() {
    let sum = compare_all(0..300);
    println!("{sum:?}");
    assert!(sum.checks >= 1_000_000 && sum.values >= 1000, "{sum:?}");
}

#[test]
#[ignore = "takes minutes: cargo test -p lightbound-shader --lib agreement -- --ignored --nocapture"]
fn engines_agree_with_brute_force_for_many_programs() {
    println!("{:?}", compare_all(1_000_000..1_020_000));
}
