//! Output of the C back end, compiled by the system's C compiler, must equal the interpreter bit
//! for bit.

use lightbound_shader::backend::Backend;
use lightbound_shader::backend::c::{Intrinsics, Scalar};
use lightbound_shader::backend::x86::Isa;
use lightbound_shader::interpreter;
use lightbound_shader::ir::{Function, Op};
use lightbound_shader::testing::random::{self, Options};
use lightbound_shader::testing::{op_function, same};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// A function and its inputs.
struct Case {
    function: Function,
    rows: Vec<Vec<u32>>,
}

#[test]
fn compiled_c_equals_the_interpreter() {
    // Lowered functions have only shifts by constants. The random functions cover them.
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
    for isa in [Isa::Sse41, Isa::Avx2] {
        if isa.is_available() {
            check(&cases, isa, &Intrinsics(isa));
            check(&cases, isa, &Scalar { lanes: isa.lanes() });
        } else {
            eprintln!("note: this machine has no {}; its C back end is not tested", isa.name());
        }
    }
}

/// Compiles all cases as one program, runs it, and compares its output with the interpreter.
fn check(cases: &[Case], isa: Isa, backend: &impl Backend<Output = String>) {
    let name = format!("{}-{}", backend.name(), isa.name());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (
        folder.join(format!("differential-{name}.c")),
        folder.join(format!("differential-{name}")),
    );
    std::fs::write(&source, program_text(cases, backend)).expect("the folder can be written to");
    let compiler = Command::new("cc")
        .args([
            "-O2",
            Intrinsics(isa).compiler_flag(),
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
    let output = String::from_utf8(output.stdout).expect("the output is ASCII");
    let mut words = output
        .split_whitespace()
        .map(|word| u32::from_str_radix(word, 16).expect("a hexadecimal number"));
    let tables = random::tables();
    for Case { function, rows } in cases {
        for inputs in rows {
            let expected =
                interpreter::run(function, &tables, inputs, 1 << 20).expect("the loops terminate");
            for (port, &expected) in std::iter::zip(&function.outputs, &expected) {
                let (ty, port, found) = (
                    port.ty,
                    &port.name,
                    words.next().expect("the program prints a word for each output"),
                );
                let message = || {
                    format!(
                        "{} in {name}, `{port}` is {found:#x} instead of {expected:#x} for {inputs:#x?}",
                        function.name
                    )
                };
                assert!(same(ty, expected, found), "{}", message());
            }
        }
    }
    assert_eq!(words.next(), None, "the program prints too many words");
}

/// Returns C definitions of the tables of random functions, as an array `tables`.
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

/// Returns the source of a C program that prints all outputs, in the order `[case][row][port]`.
fn program_text(cases: &[Case], backend: &impl Backend<Output = String>) -> String {
    let lanes = backend.lanes();
    // Some versions of gcc fold out-of-range conversions of constants to 0x7fffffff. The builder
    // folds such conversions itself, but random functions contain them: hide the operands from gcc.
    let mut text = String::from(
        "#include <stdio.h>
#include <immintrin.h>
static inline VECTORi opaque(VECTOR x) { __asm__(\"\" : \"+x\"(x)); return PREFIX_cvttps_epi32(x); }
#define PREFIX_cvttps_epi32(x) opaque(x)
static inline unsigned truncated(float x) { __asm__(\"\" : \"+x\"(x)); return (unsigned)(int)x; }
#define truncate_to_int(x) truncated(x)
",
    );
    let (vector, prefix) = if lanes == 8 { ("__m256", "_mm256") } else { ("__m128", "_mm") };
    text = text.replace("VECTOR", vector).replace("PREFIX", prefix);
    for (index, Case { function, .. }) in cases.iter().enumerate() {
        // Rename the function, since operations share names with C library functions.
        let mut function = function.clone();
        function.name = format!("case{index}");
        text += &backend.emit(&function);
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
