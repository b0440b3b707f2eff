//! The C that the back end writes, compiled by the system's compiler, against the interpreter, bit
//! for bit.

use lightbound_shader::backend::c;
use lightbound_shader::differential::{op_function, same};
use lightbound_shader::ir::random::{self, Options};
use lightbound_shader::ir::{Function, Op};
use lightbound_shader::{Target, interpreter};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// A function and inputs for it.
struct Case {
    function: Function,
    rows: Vec<Vec<u32>>,
}

#[test]
fn compiled_c_equals_the_interpreter() {
    // The amount of a shift is constant after lowering; random functions have such shifts.
    let basic = Op::ALL
        .iter()
        .filter(|op| !op.is_composite() && !matches!(op, Op::Any | Op::Shl | Op::LShr | Op::AShr));
    let mut cases: Vec<_> = basic
        .map(|&op| {
            let function = op_function(op);
            let rows = random::special_rows(&function.inputs, 400, op as u64);
            Case { function, rows }
        })
        .collect();
    cases.extend((0..40).map(|seed| {
        let function = random::function(
            seed,
            &Options { ops: 1 + seed as usize * 4, ..Options::any(seed, true) },
        );
        let rows = random::rows(&function.inputs, 24, seed);
        Case { function, rows }
    }));
    for target in [Target::Sse, Target::Avx2] {
        if target.is_available() {
            check(&cases, target, &format!("intrinsics-{target}"), |function| {
                c::emit(function, target)
            });
            check(&cases, target, &format!("scalar-{target}"), |function| {
                c::scalar::emit(function, target.lanes())
            });
        } else {
            eprintln!("note: this machine has no {target}; its C is not tested");
        }
    }
}

/// Compiles all cases as one program, runs it, and compares.
fn check(cases: &[Case], target: Target, name: &str, emit: impl Fn(&Function) -> String) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (
        folder.join(format!("differential-{name}.c")),
        folder.join(format!("differential-{name}")),
    );
    std::fs::write(&source, program_text(cases, target, emit))
        .expect("the folder can be written to");
    let flag = if target == Target::Sse { "-msse4.1" } else { "-mavx2" };
    let compiler = Command::new("cc")
        .args([
            "-O2",
            flag,
            "-ffp-contract=off",
            "-fno-math-errno",
            "-Wall",
            "-Wextra",
            "-Wno-unused-but-set-variable",
            "-Wno-type-limits",
            "-Werror",
            "-o",
        ])
        .args([&program, &source])
        .output();
    let compiler = match compiler {
        Ok(compiler) => compiler,
        Err(error) => {
            eprintln!("note: no C compiler ({error}); the C back end is not tested");
            return;
        }
    };
    assert!(
        compiler.status.success(),
        "{}: {}",
        source.display(),
        String::from_utf8_lossy(&compiler.stderr)
    );
    let output = Command::new(&program).output().expect("the program runs");
    assert!(output.status.success(), "{}", program.display());
    let output = String::from_utf8(output.stdout).expect("hexadecimal numbers");
    let mut words = output
        .split_whitespace()
        .map(|word| u32::from_str_radix(word, 16).expect("a hexadecimal number"));
    let tables = random::tables();
    for Case { function, rows } in cases {
        for inputs in rows {
            let expected = interpreter::run(function, &tables, inputs, 1 << 20).expect("loops end");
            for (port, &expected) in std::iter::zip(&function.outputs, &expected) {
                let (ty, port, found) =
                    (port.ty, &port.name, words.next().expect("a word for each output"));
                let message = || {
                    format!(
                        "{} on {target}, `{port}` is {found:#x} instead of {expected:#x} for {inputs:#x?}",
                        function.name
                    )
                };
                assert!(same(ty, expected, found), "{}", message());
            }
        }
    }
    assert_eq!(words.next(), None);
}

/// The tables of random functions, as `tables`.
fn tables_text() -> String {
    let (mut text, mut list) = (String::new(), String::new());
    for (k, table) in random::tables().iter().enumerate() {
        let words: Vec<_> = table.words().iter().map(|&word| (word as i32).to_string()).collect();
        let _ = writeln!(text, "static const int words{k}[] = {{{}}};", words.join(","));
        let _ = writeln!(
            list,
            "    {{words{k}, {{0}}, {{{}}}}},",
            vec![(words.len() - 1).to_string(); 8].join(",")
        );
    }
    format!(
        "{text}static const struct table tables[] __attribute__((aligned(32))) = {{\n{list}}};\n"
    )
}

/// A program that prints all outputs, `[case][row][port]`.
fn program_text(cases: &[Case], target: Target, emit: impl Fn(&Function) -> String) -> String {
    let lanes = target.lanes();
    // Some versions of gcc fold the conversion of constants that do not fit to 0x7fffffff. A
    // builder folds them first, but random functions have them: hide from gcc what it converts.
    let mut text = String::from(
        "#include <stdio.h>
#include <immintrin.h>
static inline VECTORi opaque(VECTOR x) { __asm__(\"\" : \"+x\"(x)); return PREFIX_cvttps_epi32(x); }
#define PREFIX_cvttps_epi32(x) opaque(x)
static inline unsigned chopped(float x) { __asm__(\"\" : \"+x\"(x)); return (unsigned)(int)x; }
#define chop(x) chopped(x)
",
    );
    let (vector, prefix) = if lanes == 8 { ("__m256", "_mm256") } else { ("__m128", "_mm") };
    text = text.replace("VECTOR", vector).replace("PREFIX", prefix);
    for (index, Case { function, .. }) in cases.iter().enumerate() {
        // Names of operations are those of library functions, which are declared otherwise.
        let mut function = function.clone();
        function.name = format!("case{index}");
        text += &emit(&function);
    }
    text += &tables_text();
    text += "
typedef void Function(const float *restrict, float *restrict, const struct table *);
static void run(Function *f, const unsigned *in, int inputs, int outputs, int rows) {
    static float out[4096] __attribute__((aligned(32)));
    for (int group = 0; group < rows; group += LANES) {
        f((const float *)in + group * inputs, out, tables);
        for (int lane = 0; lane < LANES && group + lane < rows; lane++)
            for (int port = 0; port < outputs; port++) {
                unsigned bits;
                __builtin_memcpy(&bits, &out[port * LANES + lane], 4);
                printf(\"%x\\n\", bits);
            }
    }
}
";
    let mut main = String::from("int main(void) {\n");
    for (index, Case { function, rows }) in cases.iter().enumerate() {
        let _ = write!(text, "static const unsigned in{index}[] __attribute__((aligned(32))) = {{");
        for group in rows.chunks(lanes) {
            for port in 0..function.inputs.len() {
                for lane in 0..lanes {
                    let _ = write!(text, "{:#x},", group.get(lane).unwrap_or(&group[0])[port]);
                }
            }
        }
        text += "};\n";
        let (inputs, outputs, rows) = (function.inputs.len(), function.outputs.len(), rows.len());
        let _ = writeln!(main, "    run(case{index}, in{index}, {inputs}, {outputs}, {rows});");
    }
    text.replace("LANES", &lanes.to_string()) + &main + "    return 0;\n}\n"
}
