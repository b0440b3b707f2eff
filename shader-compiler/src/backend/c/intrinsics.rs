//! C with intrinsics, as a programmer would write it by hand for one instruction set.
//!
//! Selects with a zero arm become bitwise ands, negated comparisons use the opposite predicate, and
//! constants are broadcast where they are used. The C compiler does everything else.

use super::control::{Scope, Syntax, Writer};
use super::{TABLES, identifier, integer, names};
use crate::backend::Backend;
use crate::backend::x86::Isa;
use crate::ir::function::for_each_stmt;
use crate::ir::{Block, Function, Op, Port, Stmt, Type, Value};

/// C source with the SIMD intrinsics of an instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Intrinsics(pub Isa);

impl Backend for Intrinsics {
    type Output = String;

    fn name(&self) -> &'static str {
        "c"
    }

    fn lanes(&self) -> usize {
        self.0.lanes()
    }

    fn is_available(&self) -> bool {
        self.0.is_available()
    }

    fn emit(&self, function: &Function) -> String {
        debug_assert_eq!(crate::ir::verify::verify_lowered(function), Ok(()));
        VectorSyntax::new(function, self.0).text()
    }
}

impl Intrinsics {
    /// The flag of gcc and clang that enables the instruction set.
    pub fn compiler_flag(&self) -> &'static str {
        Dialect::of(self.0).flag
    }
}

/// C names that depend on the instruction set.
struct Dialect {
    lanes: usize,
    header: &'static str,
    flag: &'static str,
    /// Prefix of intrinsics.
    prefix: &'static str,
    /// Suffix of intrinsics for integer vectors.
    integer_suffix: &'static str,
    /// Vector types: of floats and masks, and of integers.
    types: [&'static str; 2],
}

const SSE: Dialect = Dialect {
    lanes: 4,
    header: "smmintrin.h",
    flag: "-msse4.1",
    prefix: "_mm_",
    integer_suffix: "si128",
    types: ["__m128", "__m128i"],
};
const AVX: Dialect = Dialect { header: "immintrin.h", flag: "-mavx", ..SSE };
const AVX2: Dialect = Dialect {
    lanes: 8,
    header: "immintrin.h",
    flag: "-mavx2",
    prefix: "_mm256_",
    integer_suffix: "si256",
    types: ["__m256", "__m256i"],
};

impl Dialect {
    fn of(isa: Isa) -> Dialect {
        match isa {
            Isa::Sse41 => SSE,
            Isa::Avx => AVX,
            Isa::Avx2 => AVX2,
        }
    }

    /// Expands a template: `@` is the prefix of intrinsics, `#` their suffix for integer vectors.
    fn fill(&self, template: &str) -> String {
        template.replace('@', self.prefix).replace('#', self.integer_suffix)
    }

    fn constant(&self, ty: Type, bits: u32) -> String {
        let float = f32::from_bits(bits);
        self.fill(&match ty {
            Type::I32 if bits == 0 => "@setzero_#()".to_owned(),
            Type::I32 => format!("@set1_epi32({})", integer(bits)),
            Type::F32 | Type::Bool if bits == 0 => "@setzero_ps()".to_owned(),
            Type::F32 if float.is_finite() => format!("@set1_ps({float:?}f)"),
            Type::F32 | Type::Bool => format!("@cast#_ps(@set1_epi32({}))", integer(bits)),
        })
    }
}

/// The C expression of an operation: a [template](Dialect::fill) with `$0`, `$1` and `$2` for the
/// operands, and the operands.
type Expression = (&'static str, Vec<Value>);

const WORDS_BY_FOUR: &str = "\
static inline __m128i words_at(const struct table *table, __m128i index) {
    const __m128i i = _mm_min_epu32(index, _mm_load_si128((const __m128i *)table->last));
    const int *words = table->words;
    return _mm_setr_epi32(words[(unsigned)_mm_extract_epi32(i, 0)], words[(unsigned)_mm_extract_epi32(i, 1)],
                          words[(unsigned)_mm_extract_epi32(i, 2)], words[(unsigned)_mm_extract_epi32(i, 3)]);
}
#endif

";
const WORDS_BY_EIGHT: &str = "\
static inline __m256i words_at(const struct table *table, __m256i index) {
    const __m256i i = _mm256_min_epu32(index, _mm256_load_si256((const __m256i *)table->last));
    return _mm256_i32gather_epi32(table->words, i, 4);
}
#endif

";

/// Writes a function with values as SIMD vectors.
struct VectorSyntax<'a> {
    scope: Scope<'a>,
    dialect: Dialect,
}

impl<'a> VectorSyntax<'a> {
    fn new(function: &'a Function, isa: Isa) -> VectorSyntax<'a> {
        let used = vec![false; function.len()];
        let mut vectors = VectorSyntax {
            scope: Scope { function, names: vec![], used },
            dialect: Dialect::of(isa),
        };
        vectors.find_used(&function.body);
        vectors.scope.names = names(function, &vectors.scope.used);
        vectors
    }

    // Uses.

    /// Marks the values that a block uses. Walks backwards, so that it sees uses before
    /// definitions.
    fn find_used(&mut self, block: &Block) {
        self.mark(&block.yields);
        for stmt in block.stmts.iter().rev() {
            match stmt {
                Stmt::Op(value) => {
                    if self.scope.used[value.index()] {
                        let (_, operands) = self.operation(*value);
                        self.mark(&operands);
                    }
                }
                Stmt::If(i) => {
                    self.mark(&[self.mask(i.cond)]);
                    self.find_used(&i.otherwise);
                    self.find_used(&i.then);
                }
                Stmt::Loop(l) => {
                    self.find_used(&l.body);
                    self.mark(&[self.mask(l.cond)]);
                    self.find_used(&l.head);
                    self.mark(&l.init);
                }
            }
        }
    }

    fn mark(&mut self, values: &[Value]) {
        for value in values {
            self.scope.used[value.index()] = true;
        }
    }

    /// Whether the output reads tables.
    fn reads_tables(&self) -> bool {
        let mut reads = false;
        for_each_stmt(&self.scope.function.body, &mut |stmt| {
            if let Stmt::Op(value) = stmt {
                let (op, _) =
                    self.scope.function.operation(*value).expect("statements define operations");
                reads |= self.scope.used[value.index()] && op.is_load();
            }
        });
        reads
    }

    // Expressions.

    /// The mask of a condition: the operand of `any`.
    fn mask(&self, cond: Value) -> Value {
        match self.scope.function.operation(cond) {
            Some((Op::Any, args)) => args[0],
            _ => unreachable!("the condition of a lowered function is not a result of `any`"),
        }
    }

    fn operation(&self, value: Value) -> Expression {
        let (op, args) =
            self.scope.function.operation(value).expect("statements define operations");
        let wide = self.dialect.lanes == 8;
        let template = match op {
            Op::Add => "@add_ps($0, $1)",
            Op::Sub => "@sub_ps($0, $1)",
            Op::Mul => "@mul_ps($0, $1)",
            Op::Div => "@div_ps($0, $1)",
            Op::Neg => "@xor_ps($0, @set1_ps(-0.0f))",
            Op::Abs => "@andnot_ps(@set1_ps(-0.0f), $0)",
            Op::Sqrt => "@sqrt_ps($0)",
            // The instructions return their second operand if the comparison fails.
            Op::Min => "@min_ps($1, $0)",
            Op::Max => "@max_ps($1, $0)",
            Op::Floor => "@floor_ps($0)",
            Op::Ceil => "@ceil_ps($0)",
            Op::Trunc => "@round_ps($0, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)",
            Op::Round => "@round_ps($0, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)",
            Op::Lt if wide => "@cmp_ps($0, $1, _CMP_LT_OS)",
            Op::Le if wide => "@cmp_ps($0, $1, _CMP_LE_OS)",
            Op::Eq if wide => "@cmp_ps($0, $1, _CMP_EQ_OQ)",
            Op::Lt => "@cmplt_ps($0, $1)",
            Op::Le => "@cmple_ps($0, $1)",
            Op::Eq => "@cmpeq_ps($0, $1)",
            Op::IAdd => "@add_epi32($0, $1)",
            Op::ISub => "@sub_epi32($0, $1)",
            Op::IMul => "@mullo_epi32($0, $1)",
            Op::SMin => "@min_epi32($0, $1)",
            Op::SMax => "@max_epi32($0, $1)",
            Op::UMin => "@min_epu32($0, $1)",
            Op::UMax => "@max_epu32($0, $1)",
            Op::And => "@and_#($0, $1)",
            Op::Or => "@or_#($0, $1)",
            Op::Xor => "@xor_#($0, $1)",
            Op::Shl => "@slli_epi32($0, $1)",
            Op::LShr => "@srli_epi32($0, $1)",
            Op::AShr => "@srai_epi32($0, $1)",
            Op::SLt => "@cast#_ps(@cmpgt_epi32($1, $0))",
            // SSE and AVX have only signed integer comparisons.
            Op::ULt => {
                "@cast#_ps(@cmpgt_epi32(@xor_#($1, @set1_epi32(INT_MIN)), @xor_#($0, @set1_epi32(INT_MIN))))"
            }
            Op::IEq => "@cast#_ps(@cmpeq_epi32($0, $1))",
            Op::BAnd => return self.mask_and(args[0], args[1]),
            Op::BOr => "@or_ps($0, $1)",
            Op::BXor => "@xor_ps($0, $1)",
            Op::BNot => return self.negated(args[0]),
            // Conditions use the mask itself.
            Op::Any => "$0",
            Op::Select => return self.select(args[0], args[1], args[2]),
            Op::Bits => "@castps_#($0)",
            Op::Float => "@cast#_ps($0)",
            Op::FromS32 => "@cvtepi32_ps($0)",
            Op::TruncateToInt => "@cvttps_epi32($0)",
            Op::Load => "words_at(&tables[$0], $1)",
            _ => unreachable!("`{}` is not basic", op.name()),
        };
        (template, args.to_vec())
    }

    fn negated(&self, value: Value) -> Expression {
        let wide = self.dialect.lanes == 8;
        match self.scope.function.operation(value) {
            Some((op @ (Op::Lt | Op::Le | Op::Eq | Op::ULt), args)) => {
                let template = match op {
                    Op::Lt if wide => "@cmp_ps($0, $1, _CMP_NLT_US)",
                    Op::Le if wide => "@cmp_ps($0, $1, _CMP_NLE_US)",
                    Op::Eq if wide => "@cmp_ps($0, $1, _CMP_NEQ_UQ)",
                    Op::Lt => "@cmpnlt_ps($0, $1)",
                    Op::Le => "@cmpnle_ps($0, $1)",
                    Op::Eq => "@cmpneq_ps($0, $1)",
                    _ => "@cast#_ps(@cmpeq_epi32(@max_epu32($0, $1), $0))",
                };
                (template, args.to_vec())
            }
            _ => ("@xor_ps($0, @cast#_ps(@set1_epi32(-1)))", vec![value]),
        }
    }

    /// The operand of a value that is a negation written as an exclusive or.
    fn inverted_operand(&self, value: Value) -> Option<Value> {
        match self.scope.function.operation(value) {
            Some((Op::BNot, args)) if self.negated(args[0]).1 == [args[0]] => Some(args[0]),
            _ => None,
        }
    }

    fn mask_and(&self, a: Value, b: Value) -> Expression {
        match (self.inverted_operand(a), self.inverted_operand(b)) {
            (Some(a), _) => ("@andnot_ps($0, $1)", vec![a, b]),
            (_, Some(b)) => ("@andnot_ps($0, $1)", vec![b, a]),
            _ => ("@and_ps($0, $1)", vec![a, b]),
        }
    }

    fn select(&self, cond: Value, then: Value, otherwise: Value) -> Expression {
        let integers = self.scope.function.ty(then) == Type::I32;
        let is_const = |value: Value, bits: u32| self.scope.function.constant(value) == Some(bits);
        let (operands, templates) = match integers {
            _ if is_const(otherwise, 0) => {
                (vec![cond, then], ["@and_ps($0, $1)", "@and_#(@castps_#($0), $1)"])
            }
            _ if is_const(then, 0) => {
                (vec![cond, otherwise], ["@andnot_ps($0, $1)", "@andnot_#(@castps_#($0), $1)"])
            }
            _ if is_const(then, !0) => {
                (vec![cond, otherwise], ["@or_ps($0, $1)", "@or_#(@castps_#($0), $1)"])
            }
            _ => (
                vec![cond, then, otherwise],
                ["@blendv_ps($2, $1, $0)", "@blendv_epi8($2, $1, @castps_#($0))"],
            ),
        };
        (templates[usize::from(integers)], operands)
    }

    // Output.

    fn header(&self) -> String {
        let Dialect { lanes, header, flag, .. } = self.dialect;
        let name = identifier(&self.scope.function.name);
        let list = |ports: &[Port]| {
            ports
                .iter()
                .enumerate()
                .map(|(k, port)| format!(" {k} {}", port.name))
                .collect::<Vec<_>>()
                .join(",")
        };
        let (inputs, outputs) =
            (list(&self.scope.function.inputs), list(&self.scope.function.outputs));
        let tables = match (self.reads_tables(), lanes) {
            (false, _) => "struct table;\n\n".to_owned(),
            (true, 4) => [TABLES, WORDS_BY_FOUR].concat(),
            (true, _) => [TABLES, WORDS_BY_EIGHT].concat(),
        };
        format!(
            "// {name}: {lanes} evaluations. Word p of lane l is at p * {lanes} + l, aligned to {} bytes.\n\
             //   in: {inputs}\n\
             //   out:{outputs}\n\
             // cc -O2 {flag} -ffp-contract=off -fno-math-errno -c {name}.c\n\
             #include <limits.h>\n\
             #include <{header}>\n\n\
             {tables}",
            lanes * 4
        )
    }

    fn text(&self) -> String {
        let name = identifier(&self.scope.function.name);
        let arguments = "const float *restrict in, float *restrict out, const struct table *tables";
        let mut writer =
            Writer::new(self, format!("{}void {name}({arguments}) {{\n", self.header()), 1);
        if !self.reads_tables() {
            writer.line("(void)tables;");
        }
        let lanes = self.dialect.lanes;
        for (value, input) in self.scope.inputs() {
            let load = match self.scope.function.ty(value) {
                Type::I32 => format!(
                    "@load_#((const {} *)(in + {}))",
                    self.type_of(Type::I32),
                    input * lanes
                ),
                Type::F32 | Type::Bool => format!("@load_ps(in + {})", input * lanes),
            };
            writer.constant(&self.name(value), value, &self.dialect.fill(&load));
        }
        writer.stmts(&self.scope.function.body);
        for (index, &value) in self.scope.function.body.yields.iter().enumerate() {
            let name = self.name(value);
            let store = match self.scope.function.ty(value) {
                Type::I32 => format!(
                    "@store_#(({} *)(out + {}), {name});",
                    self.type_of(Type::I32),
                    index * lanes
                ),
                Type::F32 | Type::Bool => format!("@store_ps(out + {}, {name});", index * lanes),
            };
            writer.line(&self.dialect.fill(&store));
        }
        writer.text + "}\n"
    }
}

impl Syntax for VectorSyntax<'_> {
    fn scope(&self) -> &Scope<'_> {
        &self.scope
    }

    fn type_of(&self, ty: Type) -> &'static str {
        self.dialect.types[usize::from(ty == Type::I32)]
    }

    fn constant(&self, ty: Type, bits: u32) -> String {
        self.dialect.constant(ty, bits)
    }

    fn expression(&self, value: Value) -> String {
        let (template, operands) = self.operation(value);
        let op = self.scope.function.operation(value).map(|(op, _)| op);
        let mut text = self.dialect.fill(template);
        for (k, &operand) in operands.iter().enumerate() {
            let name = match self.scope.function.constant(operand) {
                Some(bits) if k == 1 && matches!(op, Some(Op::Shl | Op::LShr | Op::AShr)) => {
                    format!("{}", bits & 31)
                }
                Some(bits) if k == 0 && op == Some(Op::Load) => format!("{bits}"),
                _ => self.name(operand),
            };
            text = text.replace(&format!("${k}"), &name);
        }
        text
    }

    fn condition(&self, cond: Value) -> String {
        self.dialect.fill(&format!("@movemask_ps({})", self.name(self.mask(cond))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    #[test]
    fn control_flow_and_masks_match_snapshot() {
        let text = "fn demo(wi.x: f32, n: i32) -> (r: f32, n: i32) {
          %c = lt wi.x, 0.5
          %not = bnot %c
          %any = any %not
          %r = if %any { %s = sqrt wi.x yield %s } else { yield 1.0 }
          %m = select %not, %r, 0.0
          %a, %b = loop (%p: f32 = %m, %q: f32 = wi.x, %k: i32 = 0) {
            %go = ult %k, n
            %some = any %go
            while %some else %p, %k
            %k1 = iadd %k, 1
            %kept = select %go, %k1, %k
            next %q, %p, %kept
          }
          %sh = shl %b, 33
          return %a, %sh
        }";
        insta::assert_snapshot!(Intrinsics(Isa::Sse41).emit(&parse(text).unwrap()), @r"
        // demo: 4 evaluations. Word p of lane l is at p * 4 + l, aligned to 16 bytes.
        //   in:  0 wi.x, 1 n
        //   out: 0 r, 1 n
        // cc -O2 -msse4.1 -ffp-contract=off -fno-math-errno -c demo.c
        #include <limits.h>
        #include <smmintrin.h>

        struct table;

        void demo(const float *restrict in, float *restrict out, const struct table *tables) {
            (void)tables;
            const __m128 wi_x = _mm_load_ps(in + 0);
            const __m128i n = _mm_load_si128((const __m128i *)(in + 4));
            const __m128 v0 = _mm_cmpnlt_ps(wi_x, _mm_set1_ps(0.5f));
            __m128 v1;
            if (_mm_movemask_ps(v0)) {
                const __m128 v2 = _mm_sqrt_ps(wi_x);
                v1 = v2;
            } else {
                v1 = _mm_set1_ps(1.0f);
            }
            const __m128 v3 = _mm_and_ps(v0, v1);
            __m128 v6 = v3;
            __m128 v7 = wi_x;
            __m128i v8 = _mm_setzero_si128();
            __m128 v4;
            __m128i v5;
            for (;;) {
                const __m128 v9 = _mm_castsi128_ps(_mm_cmpgt_epi32(_mm_xor_si128(n, _mm_set1_epi32(INT_MIN)), _mm_xor_si128(v8, _mm_set1_epi32(INT_MIN))));
                if (!_mm_movemask_ps(v9)) {
                    v4 = v6;
                    v5 = v8;
                    break;
                }
                const __m128i v10 = _mm_add_epi32(v8, _mm_set1_epi32(1));
                const __m128i v11 = _mm_blendv_epi8(v8, v10, _mm_castps_si128(v9));
                const __m128 next_v6 = v7;
                const __m128 next_v7 = v6;
                v6 = next_v6;
                v7 = next_v7;
                v8 = v11;
            }
            const __m128i v12 = _mm_slli_epi32(v5, 1);
            _mm_store_ps(out + 0, v4);
            _mm_store_si128((__m128i *)(out + 4), v12);
        }
        ");
    }

    #[test]
    fn loads_call_the_table_helper() {
        let text = "fn read(i: i32) -> (r: i32) {
          %w = load 3, i
          %x = load 0, 7
          %r = iadd %w, %x
          return %r
        }";
        let c = Intrinsics(Isa::Avx2).emit(&parse(text).unwrap());
        let body = &c[c.find("void read").expect("the function is there")..];
        insta::assert_snapshot!(body, @r"
        void read(const float *restrict in, float *restrict out, const struct table *tables) {
            const __m256i i = _mm256_load_si256((const __m256i *)(in + 0));
            const __m256i v0 = words_at(&tables[3], i);
            const __m256i v1 = words_at(&tables[0], _mm256_set1_epi32(7));
            const __m256i v2 = _mm256_add_epi32(v0, v1);
            _mm256_store_si256((__m256i *)(out + 0), v2);
        }
        ");
    }
}
