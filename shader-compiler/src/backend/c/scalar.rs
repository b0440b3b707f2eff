//! Scalar C: a loop over the lanes of a group, in plain C. Compilers may vectorize the loop; the
//! result is a baseline for our machine code.
//!
//! Booleans are the integers 0 and 1. Other integers are unsigned, so that they wrap, and are cast
//! for signed operations. `truncate_to_int` is C's conversion, which is undefined for floats that
//! are out of range; on x86 it compiles to the instruction that defines the operation.

use super::control::{Scope, Syntax, Writer};
use super::{TABLES, identifier, integer, names};
use crate::backend::Backend;
use crate::builder::rewrite::{liveness, remove_dead_code};
use crate::ir::{Function, Op, Type, Value};

/// Scalar C source, as a loop over the lanes of a group.
#[derive(Clone, Copy, Debug)]
pub struct Scalar {
    /// Evaluations per group.
    pub lanes: usize,
}

impl Backend for Scalar {
    type Output = String;

    fn name(&self) -> &'static str {
        "c-scalar"
    }

    fn lanes(&self) -> usize {
        self.lanes
    }

    fn is_available(&self) -> bool {
        true
    }

    fn emit(&self, function: &Function) -> String {
        debug_assert_eq!(crate::ir::verify::verify_lowered(function), Ok(()));
        // Dead code may use values without a name.
        let mut function = function.clone();
        remove_dead_code(&mut function);
        let (function, used) = (&function, liveness(&function));
        let scope = Scope { function, names: names(function, &used), used };
        let text = ScalarSyntax { scope }.text(self.lanes);
        let tables = if text.contains("word_at(") {
            [TABLES, WORD].concat()
        } else {
            "struct table;\n\n".to_owned()
        };
        format!(
            "// {}: {} evaluations, one after the other.\n{HELPERS}{tables}{text}",
            identifier(&function.name),
            self.lanes
        )
    }
}

/// Operations without a C operator, guarded against redefinition, since a file may contain several
/// functions.
const HELPERS: &str = "\
#ifndef HELPERS
#define HELPERS
static inline unsigned bits_of(float x) {
    unsigned bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline float float_of(unsigned bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
#ifndef truncate_to_int
static inline unsigned truncate_to_int(float x) { return (unsigned)(int)x; }
#endif
#endif

";
const WORD: &str = "\
static inline unsigned word_at(const struct table *table, unsigned index) {
    return (unsigned)table->words[index < table->last[0] ? index : table->last[0]];
}
#endif

";

/// Writes a function with values as C scalars.
struct ScalarSyntax<'a> {
    scope: Scope<'a>,
}

/// The C expression of an operation, with `$0`, `$1`, `$2` for its arguments.
fn template(op: Op) -> &'static str {
    match op {
        Op::Add | Op::IAdd => "$0 + $1",
        Op::Sub | Op::ISub => "$0 - $1",
        Op::Mul | Op::IMul => "$0 * $1",
        Op::Div => "$0 / $1",
        Op::Neg => "-($0)",
        Op::Abs => "__builtin_fabsf($0)",
        Op::Sqrt => "__builtin_sqrtf($0)",
        Op::Min => "$1 < $0 ? $1 : $0",
        Op::Max => "$0 < $1 ? $1 : $0",
        Op::Floor => "__builtin_floorf($0)",
        Op::Ceil => "__builtin_ceilf($0)",
        Op::Trunc => "__builtin_truncf($0)",
        Op::Round => "__builtin_rintf($0)",
        Op::Lt | Op::ULt => "$0 < $1",
        Op::Le => "$0 <= $1",
        Op::Eq | Op::IEq => "$0 == $1",
        Op::SMin => "(int)$1 < (int)$0 ? $1 : $0",
        Op::SMax => "(int)$0 < (int)$1 ? $1 : $0",
        Op::UMin => "$1 < $0 ? $1 : $0",
        Op::UMax => "$0 < $1 ? $1 : $0",
        Op::And | Op::BAnd => "$0 & $1",
        Op::Or | Op::BOr => "$0 | $1",
        Op::Xor | Op::BXor => "$0 ^ $1",
        Op::Shl => "$0 << ($1 & 31)",
        Op::LShr => "$0 >> ($1 & 31)",
        Op::AShr => "(unsigned)((int)$0 >> ($1 & 31))",
        Op::SLt => "(int)$0 < (int)$1",
        Op::BNot => "!$0",
        Op::Any => "$0",
        Op::Select => "$0 ? $1 : $2",
        Op::Bits => "bits_of($0)",
        Op::Float => "float_of($0)",
        Op::FromS32 => "(float)(int)$0",
        Op::TruncateToInt => "truncate_to_int($0)",
        Op::Load => "word_at(&tables[$0], $1)",
        _ => unreachable!("`{}` is not basic", op.name()),
    }
}

impl ScalarSyntax<'_> {
    fn text(&self, lanes: usize) -> String {
        let head = format!(
            "void {}(const float *restrict in, float *restrict out, const struct table *tables) {{\n    (void)in;\n    \
             (void)tables;\n    for (int lane = 0; lane < {lanes}; lane++) {{\n",
            identifier(&self.scope.function.name)
        );
        let mut writer = Writer::new(self, head, 2);
        for (value, input) in self.scope.inputs() {
            let word = format!("in[{} + lane]", input * lanes);
            let word = match self.scope.function.ty(value) {
                Type::F32 => word,
                Type::I32 => format!("bits_of({word})"),
                Type::Bool => format!("bits_of({word}) != 0"),
            };
            writer.constant(&self.name(value), value, &word);
        }
        writer.stmts(&self.scope.function.body);
        for (index, &value) in self.scope.function.body.yields.iter().enumerate() {
            let name = self.name(value);
            let word = match self.scope.function.ty(value) {
                Type::F32 => name,
                Type::I32 => format!("float_of({name})"),
                Type::Bool => format!("float_of(-(unsigned)({name}))"),
            };
            writer.line(&format!("out[{} + lane] = {word};", index * lanes));
        }
        writer.text + "    }\n}\n"
    }
}

impl Syntax for ScalarSyntax<'_> {
    fn scope(&self) -> &Scope<'_> {
        &self.scope
    }

    fn type_of(&self, ty: Type) -> &'static str {
        match ty {
            Type::F32 => "float",
            Type::I32 => "unsigned",
            Type::Bool => "int",
        }
    }

    fn constant(&self, ty: Type, bits: u32) -> String {
        let float = f32::from_bits(bits);
        match ty {
            Type::F32 if float.is_finite() => format!("{float:?}f"),
            Type::F32 => format!("float_of({bits:#x}u)"),
            Type::I32 => format!("(unsigned){}", integer(bits)),
            Type::Bool => u8::from(bits != 0).to_string(),
        }
    }

    fn expression(&self, value: Value) -> String {
        let (op, args) =
            self.scope.function.operation(value).expect("statements define operations");
        let fill = |text: String, (k, &arg): (usize, &Value)| {
            text.replace(&format!("${k}"), &self.name(arg))
        };
        args.iter().enumerate().fold(template(op).to_owned(), fill)
    }

    fn condition(&self, cond: Value) -> String {
        self.name(cond)
    }
}
