//! Compares machine code with the interpreter, bit for bit, in cases that stress instruction
//! selection and register allocation, and checks listings. `verification/tests/differential.rs`
//! covers all ops, random functions and shaders.

use super::{Code, Isa};
use crate::Arena;
use crate::builder::{Builder, Rules};
use crate::error::CompileError;
use crate::ir::{Emit, Function, Op, Type, Value};
use crate::kernel::{Batch, InstrumentedKernel, Kernel};
use crate::random::Random;
use crate::target::Target;
use crate::testing::check;
use crate::testing::random::{self, rows, special_rows, word};
use crate::texture::Texture;

const NATIVE: [Target; 3] = [Target::Sse, Target::Avx, Target::Avx2];

fn compile(function: &Function, target: Target) -> Code {
    Code::compile(function, target.isa().expect("it is an x86-64 target"))
}

fn check_native(function: &Function, rows: &[Vec<u32>], context: &str) {
    for target in NATIVE.into_iter().filter(|target| target.is_available()) {
        check(function, function, target, rows)
            .unwrap_or_else(|error| panic!("{context}: {error}\n{function}"));
    }
}

#[test]
fn constants_are_accepted_as_any_argument() {
    let mut random = Random::new(1);
    let is_shift = |op| matches!(op, Op::Shl | Op::LShr | Op::AShr);
    for &op in Op::ALL.iter().filter(|op| !op.is_composite()) {
        for any in [Type::F32, Type::I32, Type::Bool] {
            // Which arguments are constants.
            for constants in 0..1u32 << op.arity() {
                let mut b = Builder::new(op.name(), Rules::Exact);
                let types = op.signature().args.iter().enumerate();
                let args: Vec<_> = types
                    .map(|(k, ty)| {
                        let ty = ty.unwrap_or(any);
                        if op.is_load() && k == 0 {
                            b.i32(2)
                        } else if constants & 1 << k != 0 || (is_shift(op) && k == 1) {
                            let bits = word(&mut random, ty);
                            b.constant(ty, bits)
                        } else {
                            b.input(&k.to_string(), ty)
                        }
                    })
                    .collect();
                let value = b.op(op, &args);
                let function = b.finish([("out".to_owned(), value)]);
                let rows = special_rows(&function.inputs, 1200, u64::from(constants));
                check_native(
                    &function,
                    &rows,
                    &format!("{} of {any} with constants {constants:b}", op.name()),
                );
            }
        }
    }
}

#[test]
fn more_live_values_than_registers_are_spilled() {
    for count in [15, 16, 17, 40, 200] {
        let mut b = Builder::new("sums", Rules::Exact);
        let inputs: Vec<_> = (0..count).map(|k| b.input(&k.to_string(), Type::F32)).collect();
        let roots: Vec<_> = inputs.iter().map(|&x| b.op(Op::Sqrt, &[x])).collect();
        // Uses each value twice, the second time in reverse order.
        let mut sum = roots[0];
        for &root in roots.iter().chain(roots.iter().rev()) {
            sum = b.op(Op::Sub, &[sum, root]);
        }
        let function = b.finish([("sum".to_owned(), sum)]);
        check_native(&function, &rows(&function.inputs, 9, count), &format!("{count} values"));
    }
}

/// A loop of five iterations with `count` parameters; `next` computes their next values.
fn loop_with(count: usize, next: impl Fn(&mut Builder, &[Value]) -> Vec<Value>) -> Function {
    let mut b = Builder::new("rounds", Rules::Exact);
    let inputs: Vec<_> = (0..count).map(|k| b.input(&k.to_string(), Type::F32)).collect();
    let (zero, one, five) = (b.i32(0), b.i32(1), b.i32(5));
    let init: Vec<_> = inputs.into_iter().chain([zero]).collect();
    let params = b.open_loop(&init);
    let counter = params[count];
    let below = b.op(Op::ULt, &[counter, five]);
    let cond = b.op(Op::Any, &[below]);
    b.open_body(cond, &params);
    let mut yields = next(&mut b, &params[..count]);
    yields.push(b.op(Op::IAdd, &[counter, one]));
    let results = b.close_loop(&yields);
    b.finish(results.into_iter().enumerate().map(|(k, result)| (format!("r{k}"), result)))
}

#[test]
fn loop_parameters_can_be_permuted() {
    for count in [2, 3, 8, 14, 15, 16, 17, 30] {
        let rotated =
            loop_with(count, |_, params| (0..count).map(|k| params[(k + 1) % count]).collect());
        let reversed = loop_with(count, |_, params| params.iter().rev().copied().collect());
        let summed = loop_with(count, |b, params| {
            (0..count).map(|k| b.op(Op::Add, &[params[k], params[(k + 1) % count]])).collect()
        });
        // Each arm leaves its results in registers that hold other values in the other arm.
        let crossed = loop_with(count, |b, params| {
            b.set_speculation(None);
            let less = b.op(Op::Lt, &[params[0], params[1]]);
            let cond = b.op(Op::Any, &[less]);
            b.open_arm();
            let roots: Vec<_> = params.iter().map(|&param| b.op(Op::Sqrt, &[param])).collect();
            let kept: Vec<_> = roots
                .iter()
                .zip(params)
                .map(|(&root, &param)| b.op(Op::Select, &[less, root, param]))
                .collect();
            let then = b.close_arm(&kept);
            b.open_arm();
            let otherwise = b.close_arm(params);
            let results = b.push_if(cond, then, otherwise);
            results.iter().rev().copied().collect()
        });
        for function in [rotated, reversed, summed, crossed] {
            check_native(
                &function,
                &rows(&function.inputs, 33, count as u64),
                &format!("{count} parameters"),
            );
        }
    }
}

#[test]
fn more_loaded_words_than_registers_are_spilled() {
    for count in [14, 15, 16, 17, 40] {
        let function = lookups(count);
        check_native(&function, &special_rows(&function.inputs, 200, 5), &format!("{count} words"));
    }
}

#[test]
fn random_functions_under_register_pressure_match_the_interpreter() {
    for seed in 0..200 {
        let options = random::Options {
            ops: 400,
            composite: false,
            ifs: seed % 2 == 0,
            loops: seed % 3 == 0,
            lowered: true,
        };
        let function = random::function(seed, &options);
        check_native(&function, &rows(&function.inputs, 9, seed), &format!("seed {seed}"));
    }
}

#[test]
fn executed_instructions_match_block_sizes_times_counts() {
    let arena = Arena::new();
    let texture = Texture::new(1, &[[1.0; 4]]);
    for target in NATIVE.into_iter().filter(|target| target.is_available()) {
        let executed = |function: &Function, groups: usize| {
            let inputs = Batch::new(target, function.inputs.len(), groups * target.lanes());
            InstrumentedKernel::compile(&arena, function, target)
                .expect("the target is available")
                .executed(&[&texture; 6], &inputs)
        };
        // The second function has a stack frame, and table loads, which use general-purpose
        // registers.
        for function in [small(), lookups(40)] {
            assert_eq!(
                executed(&function, 3),
                3 * compile(&function, target).counts().total as u64
            );
        }
        // The inputs are zero, so z stays within the circle for all 64 iterations.
        let code = compile(&escape_time(), target);
        let [before, body, head, after] = code.block_sizes()[..] else {
            panic!("a function with one loop has four blocks")
        };
        assert_eq!(
            executed(&escape_time(), 1),
            (before + head + after + 64 * (body + head)) as u64
        );
    }
}

/// A function for listings: max(x·y + 0.5, 0)² and a select.
fn small() -> Function {
    let mut b = Builder::new("small", Rules::Exact);
    let [x, y] = ["x", "y"].map(|name| b.input(name, Type::F32));
    let half = b.f32(0.5);
    let zero = b.f32(0.0);
    let product = b.op(Op::Mul, &[x, y]);
    let sum = b.op(Op::Add, &[product, half]);
    let clamped = b.op(Op::Max, &[sum, zero]);
    let square = b.op(Op::Mul, &[clamped, clamped]);
    let less = b.op(Op::Lt, &[sum, x]);
    let chosen = b.op(Op::Select, &[less, sum, square]);
    b.finish([("square".to_owned(), square), ("chosen".to_owned(), chosen)])
}

/// Alternating loads from two tables, at consecutive indices; each result is used twice.
fn lookups(count: u32) -> Function {
    let mut b = Builder::new("lookups", Rules::Exact);
    let index = b.input("index", Type::I32);
    let load = |b: &mut Builder, k| {
        let (k, table) = (b.constant(Type::I32, k), b.constant(Type::I32, 2 + k % 2));
        let index = b.op(Op::IAdd, &[index, k]);
        b.op(Op::Load, &[table, index])
    };
    let words: Vec<_> = (0..count).map(|k| load(&mut b, k)).collect();
    let (mut sum, factor) = (index, b.i32(0x0100_0193));
    for &word in words.iter().chain(words.iter().rev()) {
        let mixed = b.op(Op::IMul, &[sum, factor]);
        sum = b.op(Op::Xor, &[mixed, word]);
    }
    b.finish([("sum".to_owned(), sum)])
}

/// An if with two arms, one of which yields a constant.
fn branching() -> Function {
    let mut b = Builder::new("branching", Rules::Exact);
    b.set_speculation(None);
    let x = b.input("x", Type::F32);
    let zero = b.f32(0.0);
    let positive = b.op(Op::Lt, &[zero, x]);
    let cond = b.op(Op::Any, &[positive]);
    b.open_arm();
    let root = b.op(Op::Sqrt, &[x]);
    let kept = b.op(Op::Select, &[positive, root, zero]);
    let then = b.close_arm(&[kept]);
    b.open_arm();
    let otherwise = b.close_arm(&[zero]);
    let results = b.push_if(cond, then, otherwise);
    b.finish([("root".to_owned(), results[0])])
}

/// Escape time of the Mandelbrot set: number of iterations until z leaves the circle of radius 2,
/// in each lane.
fn escape_time() -> Function {
    let mut b = Builder::new("escape_time", Rules::Exact);
    let [x, y] = ["c.x", "c.y"].map(|name| b.input(name, Type::F32));
    let (zero, one, four, limit) = (b.i32(0), b.i32(1), b.f32(4.0), b.i32(64));
    let params = b.open_loop(&[x, y, zero]);
    let [re, im, count] = [params[0], params[1], params[2]];
    let re2 = b.op(Op::Mul, &[re, re]);
    let im2 = b.op(Op::Mul, &[im, im]);
    let norm = b.op(Op::Add, &[re2, im2]);
    let inside = b.op(Op::Lt, &[norm, four]);
    let fewer = b.op(Op::ULt, &[count, limit]);
    let continues = b.op(Op::BAnd, &[inside, fewer]);
    let cond = b.op(Op::Any, &[continues]);
    b.open_body(cond, &[count]);
    let difference = b.op(Op::Sub, &[re2, im2]);
    let next_re = b.op(Op::Add, &[difference, x]);
    let product = b.op(Op::Mul, &[re, im]);
    let twice = b.op(Op::Add, &[product, product]);
    let next_im = b.op(Op::Add, &[twice, y]);
    let next_count = b.op(Op::IAdd, &[count, one]);
    let kept = [(next_re, re), (next_im, im), (next_count, count)]
        .map(|(next, old)| b.op(Op::Select, &[continues, next, old]));
    let results = b.close_loop(&kept);
    b.finish([("count".to_owned(), results[0])])
}

#[test]
fn listings_match_snapshots() {
    for function in [small(), branching(), escape_time(), lookups(2)] {
        check_native(&function, &rows(&function.inputs, 100, 7), &function.name);
        for target in NATIVE {
            let name = format!("{}_{target}", function.name);
            insta::assert_snapshot!(name, compile(&function, target).listing(&function));
        }
    }
}

/// A function with `count` simultaneously live values.
fn sums(count: u32) -> Function {
    let mut b = Builder::new("sums", Rules::Exact);
    let x = b.input("x", Type::F32);
    let root = |b: &mut Builder, k| {
        let k = b.f32(k as f32);
        let sum = b.op(Op::Add, &[x, k]);
        b.op(Op::Sqrt, &[sum])
    };
    let roots: Vec<_> = (0..count).map(|k| root(&mut b, k)).collect();
    let mut sum = x;
    for &root in roots.iter().chain(roots.iter().rev()) {
        sum = b.op(Op::Sub, &[sum, root]);
    }
    b.finish([("sum".to_owned(), sum)])
}

#[test]
fn large_frames_are_rejected() {
    for target in NATIVE.into_iter().filter(|target| target.is_available()) {
        let large = Kernel::compile(&Arena::new(), &sums(20_000), target);
        assert!(matches!(large, Err(CompileError::Stack(300_000..))), "{target}: {large:?}");
        // A few pages, which the prologue probes one by one.
        let function = sums(2000);
        assert!(compile(&function, target).frame() > 20_000);
        check(&function, &function, target, &rows(&function.inputs, 9, 1))
            .unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
#[should_panic(expected = "the function reads an undeclared input")]
fn undeclared_inputs_are_rejected() {
    let mut function = sums(3);
    function.inputs.clear();
    Code::compile(&function, Isa::Sse41);
}

#[test]
#[should_panic(
    expected = "the number of values written differs from the number of declared outputs"
)]
fn undeclared_outputs_are_rejected() {
    let mut function = sums(3);
    function.outputs.clear();
    Code::compile(&function, Isa::Sse41);
}

#[test]
fn two_nan_tests_compile_to_one_instruction() {
    let count = |function: &Function| Code::compile(function, Isa::Sse41).counts().total;
    let function = |merge: Op, complement: bool| {
        let mut b = Builder::new("tests", Rules::Exact);
        let inputs = ["a", "b"].map(|name| b.input(name, Type::F32));
        // Computed values, since only those are tested in practice.
        let [x, y] = inputs.map(|input| b.op(Op::Sqrt, &[input]));
        let tests = [x, y].map(|value| {
            let is_not_nan = b.op(Op::Eq, &[value, value]);
            if complement { b.op(Op::BNot, &[is_not_nan]) } else { is_not_nan }
        });
        let merged = b.op(merge, &tests);
        b.finish([("out".to_owned(), merged)])
    };
    for (merge, complement) in
        [(Op::BOr, true), (Op::BAnd, false), (Op::BOr, false), (Op::BAnd, true)]
    {
        let function = function(merge, complement);
        check_native(&function, &special_rows(&function.inputs, 2000, 5), &format!("{merge:?}"));
    }
    assert_eq!(count(&function(Op::BOr, true)), count(&function(Op::BOr, false)) - 2);
}
