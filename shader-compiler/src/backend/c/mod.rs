//! C source, with SIMD [intrinsics](Intrinsics) or in [scalar](Scalar) form.
//!
//! The source performs the same operations with the same control flow as our machine code. It makes
//! functions readable, and serves to compare our machine code with that of gcc and clang.
//!
//! Both forms define one function,
//! `void NAME(const float *restrict in, float *restrict out, const struct table *tables)`, which
//! evaluates one group: lane l of port p is at `p * LANES + l`, aligned to the size of a SIMD
//! register, as in a [`Batch`](crate::Batch). Tables have the layout of
//! [`Table`](crate::ir::Table).
//!
//! Some versions of gcc fold out-of-range conversions of constants to 0x7fffffff, whereas the
//! instruction returns 0x80000000. A [`Builder`](crate::builder::Builder) folds such conversions
//! itself, so the functions that it builds do not contain any.

mod control;
mod intrinsics;
mod scalar;

pub use intrinsics::Intrinsics;
pub use scalar::Scalar;

use crate::ir::function::for_each_stmt;
use crate::ir::{Def, Function, Stmt, Value};
use rustc_hash::FxHashSet;

/// Returns a valid C identifier for a name.
pub fn identifier(name: &str) -> String {
    let mut identifier: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let reserved = [
        "auto",
        "bits_of",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "float_of",
        "for",
        "goto",
        "if",
        "in",
        "inline",
        "int",
        "lane",
        "long",
        "main",
        "out",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "TABLES",
        "tables",
        "truncate_to_int",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "word_at",
        "words_at",
    ];
    if identifier.is_empty()
        || identifier.starts_with(|c: char| c.is_ascii_digit() || c == '_')
        || reserved.contains(&identifier.as_str())
    {
        identifier.insert(0, 'f');
    }
    identifier
}

/// An integer literal of C type `int`.
fn integer(bits: u32) -> String {
    if (bits as i32).unsigned_abs() < 1 << 16 {
        format!("{}", bits as i32)
    } else {
        format!("(int){bits:#x}u")
    }
}

/// The table type, guarded against redefinition, since a file may contain several functions. The
/// function that reads tables closes the guard.
const TABLES: &str = "\
#ifndef TABLES
#define TABLES
struct table {
    const int *words;
    const void *reserved[3];
    unsigned last[8];
};

";

/// The C names of values: inputs are named after their ports, other values are numbered in program
/// order. The names of unused operations are empty.
fn names(function: &Function, used: &[bool]) -> Vec<String> {
    let mut names = vec![String::new(); function.len()];
    let mut taken = FxHashSet::default();
    for (index, data) in function.values.iter().enumerate() {
        if let Def::Input(input) = data.def {
            let mut name = identifier(&function.inputs[input as usize].name);
            let numbered = name
                .strip_prefix('v')
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            while numbered && name.starts_with('v')
                || name.starts_with("next_")
                || taken.contains(&name)
            {
                name.insert_str(0, "in_");
            }
            taken.insert(name.clone());
            names[index] = name;
        }
    }
    let mut count = 0;
    let mut number = |value: &Value| {
        names[value.index()] = format!("v{count}");
        count += 1;
    };
    for_each_stmt(&function.body, &mut |stmt| match stmt {
        Stmt::Op(value) if !used[value.index()] => {}
        Stmt::Op(value) => number(value),
        Stmt::If(i) => i.results.iter().for_each(&mut number),
        Stmt::Loop(l) => l.results.iter().chain(&l.params).for_each(&mut number),
    });
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    #[test]
    fn names_are_valid_c_identifiers() {
        for (name, c) in [
            ("s", "s"),
            ("wi.x", "wi_x"),
            ("double", "fdouble"),
            ("", "f"),
            ("3d", "f3d"),
            ("Größe", "Gr__e"),
            ("_x", "f_x"),
        ] {
            assert_eq!(identifier(name), c);
        }
        let text = "fn f(a.b: f32, a_b: f32, v1: f32, in: f32) -> (r: f32) {
          %0 = add a.b, a_b
          %1 = add v1, in
          %2 = add %0, %1
          return %2
        }";
        let function = parse(text).unwrap();
        assert_eq!(
            names(&function, &[true; 7]),
            ["a_b", "in_a_b", "in_v1", "fin", "v0", "v1", "v2"]
        );
    }
}
