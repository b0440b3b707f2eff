use super::BindingTime::{Dynamic, Static};
use super::*;
use crate::interval::{Floats, Ints};
use crate::ir::text::parse;
use crate::ir::verify;
use crate::passes;
use crate::random::Random;
use crate::testing::{self, random, same};
use crate::{Target, interpreter};
use std::sync::Arc;

fn any(function: &Function) -> Vec<Input> {
    let bounds = function.inputs.iter().map(|port| Bounds::all(port.ty));
    bounds.map(|bounds| Input { interval: false, bounds, axis: None, sorted: None }).collect()
}

/// The extension of a function of a static `n` and `w` and a dynamic `x`, from -1 to 2. The first
/// table is static.
fn extension(body: &str, budget: Budget) -> GeneratingExtension {
    let text = format!("fn f(n: i32, w: f32, x: f32) -> (r: f32) {{ {body} }}");
    let function = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut inputs = any(&function);
    inputs[1].bounds = Bounds::Float(Floats::between(-10.0, 10.0));
    inputs[2].bounds = Bounds::Float(Floats::between(-1.0, 2.0));
    let times = BindingTimes { inputs: vec![Static, Static, Dynamic], tables: vec![Static] };
    GeneratingExtension::new(&function, &inputs, times, &[false], budget)
}

/// The text of the residual function for `n` and `w`. The table holds 3, 5, 7.
fn residual(body: &str, n: u32, w: f32) -> String {
    let table = Table::new(&[3, 5, 7]);
    let extension = extension(body, Budget::default());
    let function = extension.residual(&[n, w.to_bits()], &[table]);
    assert_eq!(verify::verify(&function), Ok(()), "{function}");
    let text = function.to_string();
    let (_, body) = text.split_once("{\n").expect("functions have a body");
    let lines: Vec<_> = body.trim_end_matches(['}', '\n']).lines().map(str::trim).collect();
    lines.join(" ")
}

#[test]
fn terms_with_weight_zero_disappear_if_they_are_finite() {
    let lobe = "%0 = exp x %1 = mul w, %0 %2 = add x, %1 return %2";
    assert_eq!(residual(lobe, 0, 0.0), "return x");
    assert_eq!(residual(lobe, 0, 1.0), "%0 = exp x %1 = add x, %0 return %1");
    // 0 · exp(200) is not 0.
    let overflow = "%9 = mul x, 100.0 %0 = exp %9 %1 = mul w, %0 %2 = add x, %1 return %2";
    assert!(residual(overflow, 0, 0.0).contains("exp"));
    // 1 ÷ −0 is not 1 ÷ 0.
    let signed = "%0 = mul w, x %1 = div 1.0, %0 return %1";
    assert!(residual(signed, 0, 0.0).contains("mul"));
}

#[test]
fn static_conditions_choose_arms() {
    let body = "%0 = slt n, 3 %1 = if %0 { %2 = sqrt x yield %2 } else { yield x } return %1";
    assert_eq!(residual(body, 2, 0.0), "%0 = sqrt x return %0");
    assert_eq!(residual(body, 3, 0.0), "return x");
}

/// xⁿ · table[n].
const POWER: &str = "%r, %s = loop (%i: i32 = 0, %y: f32 = w) {
    %go = slt %i, n
    while %go else %i, %y
    %j = iadd %i, 1
    %z = mul %y, x
    next %j, %z
} %t = load 0, %r %u = from_s32 %t %v = mul %s, %u return %v";

#[test]
fn static_loops_are_unrolled_and_static_tables_are_read() {
    assert_eq!(residual(POWER, 2, 1.0), "%0 = mul x, x %1 = mul %0, 7.0 return %1");
    assert_eq!(residual(POWER, 0, 2.0), "return 6.0");
}

#[test]
fn loops_beyond_the_budget_stay_loops() {
    let budgets = [
        Budget { values: 1000, steps: usize::MAX, ..Budget::default() },
        Budget { values: usize::MAX, steps: 1000, ..Budget::default() },
        Budget { values: 0, steps: 0, ..Budget::default() },
    ];
    for budget in budgets {
        let extension = extension(POWER, budget);
        let table = Table::new(&[3, 5, 7]);
        for n in [50, 100_000] {
            let words = [n, 0.5f32.to_bits()];
            let function = extension.residual(&words, &[table]);
            assert_eq!(verify::verify(&function), Ok(()), "{function}");
            let is_unrolled = n == 50 && budget.steps > 0;
            assert_eq!(function.to_string().contains("loop"), !is_unrolled, "{budget:?}, {n}");
            for x in [0.5f32, -1.0, 1.0] {
                let row = [words[0], words[1], x.to_bits()];
                let run = |function| interpreter::run(function, &[table], &row, 1 << 20);
                assert_eq!(run(&function), run(&extension.function));
            }
        }
    }
}

#[test]
fn choices_between_constants_stay_known() {
    let body = "%0 = lt x, 0.5 %1 = select %0, 2, 3 %2 = slt %1, n
        %3 = if %2 { %4 = sqrt x yield %4 } else { yield x } return %3";
    assert_eq!(residual(body, 4, 0.0), "%0 = sqrt x return %0");
    assert_eq!(residual(body, 2, 0.0), "return x");
    assert!(residual(body, 3, 0.0).contains("if"));
}

#[test]
fn parameters_that_keep_their_values_stay_static_in_residual_loops() {
    // %k is 0 in all iterations.
    let body = "%r, %s = loop (%y: f32 = x, %k: i32 = 0) {
        %go = lt %y, 1.0
        while %go else %y, %k
        %is = slt %k, n
        %z = if %is { %a = add %y, 1.0 yield %a } else { %b = sqrt %y yield %b }
        %m = imul %k, 3
        next %z, %m
    } return %r";
    let text = residual(body, 1, 0.0);
    assert!(!text.contains("sqrt") && !text.contains("if"), "{text}");
}

#[test]
fn loops_that_run_at_most_once_are_unrolled() {
    // Whether the loop continues is dynamic in general, but not for n = 0.
    let body = "%r, %s = loop (%y: f32 = x, %done: bool = false) {
        %go = bnot %done
        while %go else %y, %done
        %b = add %y, 1.0
        %small = lt %b, 9.0
        %loops = slt 0, n
        %again = band %small, %loops
        %d = bnot %again
        next %b, %d
    } return %r";
    assert_eq!(residual(body, 0, 0.0), "%0 = add x, 1.0 return %0");
    assert!(residual(body, 1, 0.0).contains("loop"));
}

#[test]
fn conditions_are_known_in_what_they_guard() {
    let body = "%p = lt x, 0.5 %q = lt 0.0, x %both = band %p, %q %not = bnot %both
        %r = if %not { %a = if %both { %c = exp x yield %c } else { yield x } yield %a }
        else { %a1 = if %q { %d = sqrt x yield %d } else { yield w } yield %a1 } return %r";
    let text = residual(body, 0, 0.0);
    assert!(!text.contains("exp") && text.matches("if").count() == 1, "{text}");
}

/// The function of a static `w`, a dynamic `n` from 0 to 1000, and a dynamic `s` whose body is a loop
/// over i with a sum; `element` defines %e from %i and w. The table is dynamic.
fn counted(element: &str, width: u32) -> (Function, Function) {
    let text = format!(
        "fn f(w: i32, n: i32, s: i32) -> (r: i32) {{
            %r, %c = loop (%sum: i32 = s, %i: i32 = 0) {{
                %go = slt %i, n
                while %go else %sum, %i
                {element}
                %added = iadd %sum, %e
                %next = iadd %i, 1
                next %added, %next
            }} %out = iadd %r, %c return %out }}"
    );
    let function = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut inputs = any(&function);
    inputs[1].bounds = Bounds::Int(Ints::one(0, 1000));
    let times = BindingTimes { inputs: vec![Static, Dynamic, Dynamic], tables: vec![] };
    let extension = GeneratingExtension::new(&function, &inputs, times, &[true], Budget::default());
    let residual = extension.residual(&[width], &[]);
    assert_eq!(verify::verify(&residual), Ok(()), "{residual}");
    let words: Vec<u32> = (0..64u32).map(|k| k.wrapping_mul(0x9e37_79b9)).collect();
    for n in (0..70).chain([999, 1000]) {
        for s in [0, 7] {
            let row = [width, n, s];
            let run = |f| interpreter::run(f, &[Table::new(&words)], &row, 1 << 20);
            assert_eq!(run(&residual), run(&function), "{width}, {n}, {s}\n{residual}");
        }
    }
    (function, residual)
}

/// A field of `w` bits.
const FIELD: &str = "%bit = imul %i, w %at0 = lshr %bit, 5 %shift = and %bit, 31
    %at = iadd s, %at0 %word = load 0, %at %low = lshr %word, %shift
    %end = iadd %shift, w %over = ult 32, %end
    %field = if %over {
        %at1 = iadd %at, 1 %more = load 0, %at1 %left = isub 32, %shift
        %high = shl %more, %left %both = or %low, %high yield %both
    } else { yield %low }
    %one = shl 1, w %mask = isub %one, 1 %e = and %field, %mask";

#[test]
fn loops_over_packed_elements_become_loops_over_cycles() {
    // Shifts take the low bits of their amount, so that the optimizer removes masks.
    let unmasked = FIELD.replace("lshr %word, %shift", "lshr %word, %bit");
    let cases = [(4, 8), (12, 8), (8, 4), (16, 2), (24, 4), (5, 32)];
    for (k, (width, copies)) in cases.into_iter().cycle().take(2 * cases.len()).enumerate() {
        let field = if k < cases.len() { FIELD } else { &unmasked };
        let (_, residual) = counted(field, width);
        let text = residual.to_string();
        assert_eq!(text.matches("loop").count(), 2, "{text}");
        let (cycles, rest) = text.split_at(text.rfind("loop").expect("there are two loops"));
        // All shifts are by constants; only the rest decides whether a field needs two words.
        assert!(!cycles.contains("if") && cycles.matches("and").count() >= copies, "{text}");
        let is_constant = |line: &&str| {
            line.rsplit(", ").next().is_some_and(|last| last.trim().parse::<i64>().is_ok())
        };
        let mut shifts =
            cycles.lines().filter(|line| line.contains("lshr") || line.contains("shl"));
        assert!(shifts.all(|line| is_constant(&line)), "{text}");
        // The index of a word needs no shift, and the first field none either.
        assert_eq!(cycles.matches("lshr").count(), copies - 1, "{text}");
        assert!(rest.contains("lshr"), "{text}");
    }
}

#[test]
fn loops_without_static_remainders_have_no_cycles() {
    // Whole words, and fields whose cycles would be too long.
    for (element, width) in [(FIELD, 32), ("%e = imul %i, w", 3), ("%e = and %i, w", 0xffff)] {
        let (_, residual) = counted(element, width);
        assert_eq!(residual.to_string().matches("loop").count(), 1, "{residual}");
    }
}

/// A random element of a counter and a static w: sums, products, shifts, masks and divisions.
fn random_element(random: &mut Random) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    let mut values = ["%i", "%i", "%i", "w", "s"].map(str::to_owned).to_vec();
    let count = 4 + random.below(8);
    for k in 0..count {
        let op = *random.pick(&[
            "iadd", "isub", "imul", "lshr", "ashr", "shl", "and", "udiv", "urem", "sdiv", "srem",
            "or", "umin",
        ]);
        let constant = ["1", "2", "3", "5", "7", "12", "24", "31", "32", "255", "-4", "-1"];
        let a = values[random.below(values.len())].clone();
        let b = match random.once_in(4) {
            true => values[random.below(values.len())].clone(),
            false => (*random.pick(&constant)).to_owned(),
        };
        let (a, b) = if random.once_in(8) { (b, a) } else { (a, b) };
        write!(text, "%v{k} = {op} {a}, {b} ").expect("strings can be written");
        if random.once_in(3) {
            let compare = *random.pick(&["slt", "ult", "ieq"]);
            let other = *random.pick(&constant);
            write!(
                text,
                "%c{k} = {compare} %v{k}, {other} %w{k} = if %c{k} {{ %x{k} = iadd {a}, {other} \
                 yield %x{k} }} else {{ %y{k} = load 0, %v{k} yield %y{k} }} "
            )
            .expect("strings can be written");
            values.push(format!("%w{k}"));
        }
        values.push(format!("%v{k}"));
    }
    let last = values.last().expect("there are values");
    write!(text, "%e = xor {last}, %v0").expect("strings can be written");
    text
}

#[test]
fn cycles_of_random_loops_equal_them() {
    let random = &mut Random::new(1);
    let mut cycles = 0;
    for _ in 0..500 {
        let width = *random.pick(&[1, 2, 3, 4, 5, 8, 12, 16, 24, 31, 32, 255, u32::MAX]);
        let (_, residual) = counted(&random_element(random), width);
        cycles += usize::from(residual.to_string().matches("loop").count() == 2);
    }
    assert!(cycles > 50, "{cycles}");
}

#[test]
fn cycles_end_before_a_counter_wraps_around() {
    // The limits may be anything, so that nothing is known of the number of iterations.
    for (comparison, step) in [("slt", 3), ("ult", 3), ("slt", 268_435_457), ("ult", 536_870_913)] {
        let text = format!(
            "fn f(first: i32, n: i32, x: i32) -> (r: i32, c: i32) {{
                %r, %c, %k = loop (%sum: i32 = x, %i: i32 = first, %turns: i32 = 0) {{
                    %below = {comparison} %i, n
                    while %below else %sum, %i, %turns
                    %odd = and %i, 3 %e = iadd %odd, %turns %added = imul %sum, 5
                    %total = iadd %added, %e %next = iadd %i, {step} %count = iadd %turns, 1
                    next %total, %next, %count
                }} return %r, %c }}"
        );
        let function = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let times = BindingTimes { inputs: vec![Static, Dynamic, Dynamic], tables: vec![] };
        let inputs = any(&function);
        let extension =
            GeneratingExtension::new(&function, &inputs, times, &[true; 2], Budget::default());
        let max = i32::MAX as u32;
        for first in [0, 5, max - 40, max - 3, -9_i32 as u32, 1 << 31, -40_i32 as u32] {
            let residual = extension.residual(&[first], &[]);
            assert_eq!(verify::verify(&residual), Ok(()), "{residual}");
            let near = [first, first.wrapping_add(30), first.wrapping_add(7 * step), max, u32::MAX];
            for n in near.into_iter().flat_map(|n| [n.wrapping_sub(2), n, n.wrapping_add(1)]) {
                let run = |f| interpreter::run(f, &[], &[first, n, 1], 2000);
                let expected = run(&function);
                // Loops that end too late for the original end too late for both.
                if expected.is_ok() {
                    assert_eq!(run(&residual), expected, "{first}, {n}\n{residual}");
                }
            }
        }
    }
}

#[test]
fn caches_are_bounded_and_drop_what_was_not_used() {
    let mut cache = ResidualCache::new(extension(POWER, Budget::default()), 2);
    assert!(cache.is_empty());
    let tables = [[3, 5, 7], [3, 5, 8]];
    let tables = [Table::new(&tables[0]), Table::new(&tables[1])];
    let mut get = |n, table: usize| cache.residual(&[n, 0], &tables[table..=table]);
    let first = get(1, 0);
    let second = get(2, 0);
    assert!(Arc::ptr_eq(&first, &get(1, 0)) && !Arc::ptr_eq(&first, &second));
    let third = get(2, 1);
    assert_ne!(*third, *second);
    // The second function was dropped, the first was not.
    assert!(Arc::ptr_eq(&first, &get(1, 0)) && !Arc::ptr_eq(&second, &get(2, 0)));
    assert_eq!(cache.len(), 2);
}

/// Checks residual functions of a random function for random binding times, budgets and values, in
/// the interpreter and for a target. Returns the number of evaluations.
fn check(seed: u64, patterns: usize, values: usize, rows: usize, target: Option<Target>) -> usize {
    let function = random::function(seed, &random::Options::any(seed, false));
    let mut random = Random::new(seed ^ 0x6e17);
    let tables = random::tables();
    for _ in 0..patterns {
        let mut time = || if random.once_in(2) { Static } else { Dynamic };
        let inputs: Vec<_> = function.inputs.iter().map(|_| time()).collect();
        let times = BindingTimes {
            inputs: inputs.clone(),
            tables: tables.iter().map(|_| time()).collect(),
        };
        let is_signed: Vec<_> = function.outputs.iter().map(|_| random.once_in(2)).collect();
        let budget = *random.pick(&[
            Budget::default(),
            Budget { values: 100, steps: 1000, cycle: 1 },
            Budget { values: 1000, steps: 200, cycle: 8 },
        ]);
        let extension =
            GeneratingExtension::new(&function, &any(&function), times, &is_signed, budget);
        for _ in 0..values {
            let port = |k: usize| &function.inputs[k];
            let base: Vec<_> =
                (0..inputs.len()).map(|k| random::word(&mut random, port(k).ty)).collect();
            let is_static = |k: &usize| inputs[*k] == Static;
            let words: Vec<_> = (0..inputs.len()).filter(is_static).map(|k| base[k]).collect();
            let special = extension.residual(&words, &tables);
            assert_eq!(verify::verify(&special), Ok(()), "seed {seed}\n{special}");
            let all: Vec<Vec<_>> = (0..rows)
                .map(|_| {
                    let word = |k: usize| match inputs[k] {
                        Static => base[k],
                        Dynamic => random::word(&mut random, port(k).ty),
                    };
                    (0..inputs.len()).map(word).collect()
                })
                .collect();
            for row in &all {
                let run = |function| {
                    interpreter::run(function, &tables, row, 1 << 22).expect("loops terminate")
                };
                let (expected, actual) = (run(&function), run(&special));
                let is_right = (0..expected.len()).all(|k| {
                    let (ty, a, b) = (function.outputs[k].ty, expected[k], actual[k]);
                    let are_zeros = ty == Type::F32 && (a | b) << 1 == 0;
                    same(ty, a, b) || are_zeros && !is_signed[k]
                });
                assert!(
                    is_right,
                    "seed {seed}, {inputs:?}, {row:x?}: {expected:x?} became {actual:x?}\n{function}\n{special}"
                );
            }
            if let Some(target) = target {
                testing::check(&special, &passes::lower(&special), target, &all)
                    .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{special}"));
            }
        }
    }
    patterns * values * rows
}

#[test]
fn residuals_of_random_functions_equal_them() {
    (0..250).for_each(|seed| {
        check(seed, 2, 2, 10, None);
    });
    for target in testing::targets() {
        (250..280).for_each(|seed| {
            check(seed, 1, 2, 16, Some(target));
        });
    }
}

#[test]
#[ignore = "10⁷ evaluations, which take minutes: cargo test -p lightbound-shader --lib extension -- --ignored"]
fn residuals_of_many_random_functions_equal_them() {
    let targets = testing::targets();
    let check = |seed: u64| check(seed, 2, 4, 100, Some(targets[seed as usize % targets.len()]));
    let evaluations: usize = (1000..13_600).map(check).sum();
    assert!(evaluations > 10_000_000, "{evaluations}");
}
