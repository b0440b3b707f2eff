//! Translates naga's IR to ours: a [`Translator`] executes functions of a module symbolically, and
//! appends their operations to a builder.
//!
//! Calls are inlined. Values are lists of [leaves](super::layout). Variables are lists of *slots*,
//! which hold the current SSA value of each leaf, so that stores become definitions.
//! [Pointers](super::pointers) are resolved to slots, and are never values. Early exits become
//! conditions ([`super::control`]). Expressions are evaluated where naga emits them; constants,
//! which it does not emit, at their first use.
//!
//! Nesting, number of values and work are limited; exceeding a limit is a [`Fault`].

use super::Settings;
use super::effects::Effects;
use super::layout::{Layout, MAX_LEAVES};
use super::locations::Locations;
use super::pointers::{Index, Pointer};
use super::textures;
use crate::builder::Builder;
use crate::ir::{Emit, Op, Value};
use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{AddressSpace, Arena, Expression, Handle, Module, Span, TypeInner};

/// Maximum combined nesting depth of blocks, calls and early exits.
pub(crate) const MAX_DEPTH: u32 = 200;
/// Maximum number of values in the translated function.
const MAX_VALUES: usize = 200_000;
/// Maximum number of leaves computed or moved.
const MAX_WORK: usize = 8_000_000;
/// Maximum number of leaves of all live variables.
const MAX_SLOTS: usize = 1 << 16;

/// Explains why something cannot be translated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    /// The problem.
    pub message: String,
    /// Location; undefined if naga has none.
    pub span: Span,
    /// How to fix it.
    pub help: Option<String>,
}

/// Consecutive values in the translator's pool.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Leaves {
    start: u32,
    len: u32,
}

impl Leaves {
    /// Number of leaves.
    pub fn len(self) -> usize {
        self.len as usize
    }
}

/// Consecutive slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slots {
    pub start: u32,
    pub len: u32,
}

/// The result of evaluating an expression.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
    /// Not evaluated.
    Unevaluated,
    /// A value.
    Leaves(Leaves),
    /// A pointer.
    Pointer(Pointer),
    /// A texture, by index.
    Texture(u32),
    /// A sampler; it has no properties.
    Sampler,
}

/// State of expressions under evaluation: those of a function during one call, or the module's.
pub(crate) struct Frame<'m> {
    /// `None` for module-scope expressions.
    pub function: Option<&'m naga::Function>,
    pub expressions: &'m Arena<Expression>,
    /// `None` for module-scope expressions.
    pub info: Option<&'m FunctionInfo>,
    /// Results, indexed by expression.
    pub operands: Vec<Operand>,
    pub args: Vec<Operand>,
    /// Slots, indexed by local variable.
    pub locals: Vec<Slots>,
    /// Slots of the return value.
    pub result: Slots,
    /// The first slot that is dead after the call.
    pub first_dead_slot: u32,
    /// Expressions to carry out of arms; see [`super::loops`].
    pub carried: Vec<Handle<Expression>>,
}

/// Translates a sequence of calls into one builder. Private variables keep their values between
/// calls.
pub(crate) struct Translator<'m> {
    pub(super) module: &'m Module,
    pub(super) info: &'m ModuleInfo,
    pub(super) layout: Layout<'m>,
    pub(super) builder: Builder,
    pub(super) settings: &'m Settings,
    /// Textures, in order of their indices.
    pub(super) textures: Vec<Handle<naga::GlobalVariable>>,
    /// Frame of the module-scope expressions; taken while one of them is evaluated.
    pub(super) constants: Option<Frame<'m>>,
    pub(super) constant_depth: u32,
    pool: Vec<Value>,
    scratch: Vec<Value>,
    /// Dynamic indices that pointers refer to.
    pub(super) indices: Vec<Index>,
    /// Values of variables.
    pub(super) slots: Vec<Value>,
    /// Changed slots with their previous values, oldest first.
    pub(super) undo_log: Vec<(u32, Value)>,
    /// Operand of each global variable, or why it cannot be used.
    pub(super) globals: Vec<Result<Operand, Fault>>,
    /// Effects of each function, computed on demand.
    pub(super) effects: Vec<Effects>,
    pub(super) depth: u32,
    work: usize,
    /// Span of the current statement, for expressions without one.
    pub(super) span: Span,
    /// Where values come from, if that is recorded.
    pub(super) locations: Option<Locations>,
}

/// Slot of the bool that is true if any loop reached the cap.
pub(crate) const CAPPED: u32 = 0;

impl<'m> Translator<'m> {
    /// Creates a translator for a valid module.
    pub fn new(
        module: &'m Module,
        info: &'m ModuleInfo,
        mut builder: Builder,
        settings: &'m Settings,
    ) -> Translator<'m> {
        let capped = builder.bool(false);
        let constants = Frame {
            function: None,
            expressions: &module.global_expressions,
            info: None,
            operands: vec![Operand::Unevaluated; module.global_expressions.len()],
            args: vec![],
            locals: vec![],
            result: Slots::default(),
            first_dead_slot: 0,
            carried: vec![],
        };
        let mut translator = Translator {
            module,
            info,
            layout: Layout::new(module),
            builder,
            settings,
            textures: textures::declared(module),
            constants: Some(constants),
            constant_depth: 0,
            pool: vec![],
            scratch: vec![],
            indices: vec![],
            slots: vec![capped],
            undo_log: vec![],
            globals: vec![],
            effects: vec![],
            depth: 0,
            work: 0,
            span: Span::UNDEFINED,
            locations: None,
        };
        for (handle, variable) in module.global_variables.iter() {
            let global = match translator.resource(handle) {
                Some(resource) => Ok(resource),
                None => translator
                    .allocate_private(variable)
                    .map(|slots| Operand::Pointer(Pointer::to_variable(slots))),
            };
            translator.globals.push(global);
        }
        translator
    }

    /// Translates a call, given the leaves of each argument; returns the leaves of the result.
    /// After a fault, the builder must not be used.
    pub fn call(
        &mut self,
        function: Handle<naga::Function>,
        args: &[Vec<Value>],
    ) -> Result<Vec<Value>, Fault> {
        let args = args.iter().map(|arg| Operand::Leaves(self.push(arg))).collect();
        let result = self.inline(function, args)?;
        Ok(self.leaves(result).to_vec())
    }

    /// Whether any loop of the calls so far reached the cap.
    pub fn capped(&self) -> Value {
        self.slots[CAPPED as usize]
    }

    /// Finishes translation.
    pub fn into_builder(self) -> Builder {
        self.builder
    }

    // Limits.

    /// Adds to the work counter, and checks the limits.
    pub(super) fn charge(&mut self, work: usize) -> Result<(), Fault> {
        self.work += work;
        if self.work <= MAX_WORK
            && self.builder.function().len() <= MAX_VALUES
            && self.slots.len() <= MAX_SLOTS
        {
            return Ok(());
        }
        Err(Fault {
            message: "the shader is too large".to_owned(),
            span: self.span,
            help: Some("calls are inlined and arrays are kept in registers: use fewer calls, or smaller arrays".to_owned()),
        })
    }

    /// Enters a level of nesting; the caller leaves it by decrementing `depth`.
    pub(super) fn descend(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth <= MAX_DEPTH {
            return Ok(());
        }
        Err(Fault {
            message: format!(
                "blocks, calls and early exits are nested more than {MAX_DEPTH} levels deep"
            ),
            span: self.span,
            help: Some(
                "every `return`, `break` and `continue` in an `if` nests the code after it"
                    .to_owned(),
            ),
        })
    }

    // The pool.

    /// Adds values to the pool.
    pub(super) fn push(&mut self, values: &[Value]) -> Leaves {
        let start = self.pool.len() as u32;
        self.pool.extend_from_slice(values);
        Leaves { start, len: values.len() as u32 }
    }

    /// The values of leaves.
    pub(super) fn leaves(&self, leaves: Leaves) -> &[Value] {
        &self.pool[leaves.start as usize..][..leaves.len as usize]
    }

    /// Concatenates lists of leaves.
    pub(super) fn concatenate(&mut self, parts: &[Leaves]) -> Leaves {
        let start = self.pool.len() as u32;
        for part in parts {
            self.pool.extend_from_within(part.start as usize..(part.start + part.len) as usize);
        }
        Leaves { start, len: self.pool.len() as u32 - start }
    }

    pub(super) fn leaf(&self, leaves: Leaves, index: usize) -> Value {
        self.leaves(leaves)[index]
    }

    /// A part of an aggregate, given by its first leaf and number of leaves.
    pub(super) fn part(&self, leaves: Leaves, (start, len): (u32, u32)) -> Leaves {
        debug_assert!(start + len <= leaves.len, "a part lies within its aggregate");
        Leaves { start: leaves.start + start, len }
    }

    /// Computes new leaves from others; also returns the result of `f`.
    pub(super) fn compute<const N: usize, R>(
        &mut self,
        args: [Leaves; N],
        f: impl FnOnce(&mut Builder, [&[Value]; N], &mut Vec<Value>) -> R,
    ) -> (Leaves, R) {
        let slices = args.map(|leaves| &self.pool[leaves.start as usize..][..leaves.len as usize]);
        self.scratch.clear();
        let result = f(&mut self.builder, slices, &mut self.scratch);
        let start = self.pool.len() as u32;
        self.pool.append(&mut self.scratch);
        (Leaves { start, len: self.pool.len() as u32 - start }, result)
    }

    /// The zero value of a type.
    pub(super) fn zeros(&mut self, inner: &TypeInner, span: Span) -> Result<Leaves, Fault> {
        if self.layout.size(inner).is_none_or(|size| size > MAX_LEAVES) {
            return Err(self.layout.fault(inner, span));
        }
        let types = self.layout.leaves(inner);
        self.charge(types.len())?;
        let zeros: Vec<_> = types.into_iter().map(|ty| self.builder.constant(ty, 0)).collect();
        Ok(self.push(&zeros))
    }

    // Variables.

    /// Allocates slots with initial values.
    pub(super) fn allocate(&mut self, values: Leaves) -> Result<Slots, Fault> {
        self.charge(values.len as usize)?;
        let slots = Slots { start: self.slots.len() as u32, len: values.len };
        self.slots.extend_from_slice(&self.pool[values.start as usize..][..values.len as usize]);
        Ok(slots)
    }

    /// Allocates slots for a private variable; rejects variables of other address spaces.
    fn allocate_private(&mut self, variable: &naga::GlobalVariable) -> Result<Slots, Fault> {
        let kind = match variable.space {
            AddressSpace::Private => {
                let values = match variable.init {
                    Some(init) => self.constant(init)?,
                    None => self.zeros(&self.module.types[variable.ty].inner, Span::UNDEFINED)?,
                };
                return self.allocate(values);
            }
            AddressSpace::Handle => "a resource other than `texture_2d<f32>` or `sampler`",
            AddressSpace::Uniform => "a uniform buffer",
            AddressSpace::Storage { .. } => "a storage buffer",
            AddressSpace::WorkGroup => "a workgroup variable",
            _ => "a resource",
        };
        let name = variable.name.as_deref().unwrap_or("this");
        let help = "a material depends only on its arguments: make it a member of `Material`, or `var<private>`";
        Err(Fault {
            message: format!("`{name}` is {kind}, which materials cannot use"),
            span: Span::UNDEFINED,
            help: Some(help.to_owned()),
        })
    }

    // Calls.

    /// Inlines a call.
    pub(super) fn inline(
        &mut self,
        handle: Handle<naga::Function>,
        args: Vec<Operand>,
    ) -> Result<Leaves, Fault> {
        let module = self.module;
        let function = &module.functions[handle];
        self.charge(8 + function.expressions.len())?;
        let base = self.slots.len();
        let mut frame = Frame {
            function: Some(function),
            expressions: &function.expressions,
            info: Some(&self.info[handle]),
            operands: vec![Operand::Unevaluated; function.expressions.len()],
            args,
            locals: Vec::with_capacity(function.local_variables.len()),
            result: Slots::default(),
            first_dead_slot: 0,
            carried: vec![],
        };
        if let Some(result) = &function.result {
            // Never observed: only lanes that ignore the result leave it unset.
            let zeros = self.zeros(&module.types[result.ty].inner, self.span)?;
            frame.result = self.allocate(zeros)?;
        }
        frame.first_dead_slot = self.slots.len() as u32;
        for (local, variable) in function.local_variables.iter() {
            let values = match variable.init {
                Some(init) => self.value(&mut frame, init)?,
                None => self.zeros(
                    &module.types[variable.ty].inner,
                    function.local_variables.get_span(local),
                )?,
            };
            let slots = self.allocate(values)?;
            frame.locals.push(slots);
        }
        self.body(&mut frame, &function.body)?;
        let Slots { start, len } = frame.result;
        let result = Leaves { start: self.pool.len() as u32, len };
        self.pool.extend_from_slice(&self.slots[start as usize..][..len as usize]);
        self.slots.truncate(base);
        Ok(result)
    }

    /// Appends an operation.
    pub(super) fn op(&mut self, op: Op, args: &[Value]) -> Value {
        self.builder.op(op, args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Rules;
    use crate::frontend::testing::{Numbers, check, fault, module, run, translate};
    use crate::ir::Type;

    #[test]
    fn constants_and_zero_values_are_evaluated() {
        let f = translate(
            "struct S { a: vec2f, b: array<i32, 2>, c: bool }
            const half = 0.5;
            const table = array(S(vec2(half, 2.0), array(1, 2), true), S());
            fn f(x: f32) -> S { var s = table[0]; s.a += vec2f() + x; s.b[1] += table[1].b[0] + 3; return s; }",
        );
        check(&f, &[1.0f32.to_bits()], &[1.5f32.to_bits(), 3.0f32.to_bits(), 1, 5, !0]);
    }

    #[test]
    fn composites_are_built_from_leaves() {
        let f = translate(
            "fn f(a: vec2i, b: i32) -> array<vec4i, 3> {
                let v = vec4i(b, a, 7);
                let s = vec3(b);
                return array(v, v.wyxz.xyxy, vec4i(s.zz, array(a, a)[1]));
            }",
        );
        check(&f, &[1, 2, 3], &[3, 1, 2, 7, 7, 1, 7, 1, 3, 3, 1, 2]);
    }

    #[test]
    fn private_variables_keep_values_between_calls() {
        let source = "var<private> n = 5; fn f(x: i32) -> i32 { n += x; return n; }";
        let (module, info) = module(source);
        let (handle, _) = module.functions.iter().next().expect("there is a function");
        let mut builder = Builder::new("f", Rules::Relaxed);
        let x = builder.input("x", Type::I32);
        let settings = Settings::default();
        let mut translator = Translator::new(&module, &info, builder, &settings);
        let first = translator.call(handle, &[vec![x]]).expect("it can be translated");
        let second = translator.call(handle, &[vec![x]]).expect("it can be translated");
        let outputs = [first[0], second[0]].map(|value| (String::new(), value));
        assert_eq!(run(&translator.into_builder().finish(outputs), &[3]), [8, 11]);
    }

    #[test]
    fn calls_are_inlined() {
        let f = translate(
            "fn square(x: f32) -> f32 { return x * x; }
            fn sum(v: vec3f) -> f32 { return square(v.x) + square(v.y) + square(v.z); }
            fn nothing() { }
            fn f(v: vec3f) -> f32 { nothing(); return sum(v) + sum(2.0 * v.zyx); }",
        );
        check(&f, &[1.0, 2.0, 3.0].map(f32::to_bits), &[70.0f32.to_bits()]);
    }

    #[test]
    fn unsupported_types_are_rejected() {
        let cases = [
            (
                "enable f16; fn f(x: f32) -> f32 { let h = 1.5h; return x + f32(h); }",
                "`f16` is not supported",
                "1.5h",
            ),
            (
                "enable f16; fn f(x: f32) -> f32 { return f32(f16(x)); }",
                "`f16` is not supported",
                "f16(x)",
            ),
            ("fn f(x: f32) -> f32 { return f32(f64(x)); }", "`f64` is not supported", "f64(x)"),
            (
                "fn f(x: i32) -> i32 { let a = i64(x) + 3li; return x + i32(a); }",
                "`i64` is not supported",
                "i64(x)",
            ),
            ("fn f(x: u32) -> u32 { return u32(u64(x)); }", "`u64` is not supported", "u64(x)"),
        ];
        for (source, message, at) in cases {
            let (error, text) = fault(source);
            assert_eq!(error.message, message, "{source}");
            assert!(text.contains(at), "{source}: {text}");
        }
    }

    #[test]
    fn unsupported_resources_are_rejected() {
        let cases = [
            (
                "@group(0) @binding(0) var<uniform> u: f32; fn f(x: f32) -> f32 { return x * u; }",
                "`u` is a uniform buffer",
            ),
            (
                "@group(0) @binding(0) var<storage> u: array<f32>; fn f(x: u32) -> f32 { return u[x]; }",
                "`u` is a storage buffer",
            ),
            (
                "var<workgroup> u: f32; fn f(x: f32) -> f32 { return x * u; }",
                "`u` is a workgroup variable",
            ),
            (
                "@group(0) @binding(0) var u: texture_3d<f32>; fn f(x: vec3i) -> vec4f { return textureLoad(u, x, 0); }",
                "`u` is a resource other than",
            ),
            ("fn f(x: f32) -> f32 { return dpdx(x); }", "derivatives cannot be used in a material"),
        ];
        for (source, message) in cases {
            let (error, text) = fault(source);
            assert!(error.message.starts_with(message), "{source}: {error:?}");
            assert!(!text.is_empty() && error.help.is_some(), "{source}: {error:?}");
        }
        // Unused variables are allowed.
        translate(
            "@group(0) @binding(0) var<uniform> u: f32; var<private> large: array<f32, 100000>; fn f(x: f32) -> f32 { return x; }",
        );
        let (error, _) = fault(
            "var<private> large: array<f32, 100000>; fn f(x: u32) -> f32 { return large[x]; }",
        );
        assert!(error.message.contains("4096"), "{error:?}");
    }

    #[test]
    fn large_programs_are_rejected_quickly() {
        let doubling: String = (1..40)
            .map(|k| format!("fn g{k}(x: f32) -> f32 {{ return g{0}(x) + g{0}(x); }} ", k - 1))
            .collect();
        let (error, _) = fault(&format!(
            "fn g0(x: f32) -> f32 {{ return x; }} {doubling} fn f(x: f32) -> f32 {{ return g39(x); }}"
        ));
        assert_eq!(error.message, "the shader is too large");
        let chain: String = (1..2000)
            .map(|k| format!("fn g{k}(x: f32) -> f32 {{ return g{}(x) * 2.0; }} ", k - 1))
            .collect();
        let (error, _) = fault(&format!(
            "fn g0(x: f32) -> f32 {{ return x; }} {chain} fn f(x: f32) -> f32 {{ return g1999(x); }}"
        ));
        assert!(error.message.contains("nest"), "{error:?}");
        let (error, _) =
            fault("fn f(i: u32) -> f32 { var a: array<array<f32, 5000>, 5000>; return a[i][i]; }");
        assert!(error.message.contains("4096"), "{error:?}");
        let stores: String =
            (0..3000).map(|k| format!("a[(i + {k}u) & 4095u] = f32(i); ")).collect();
        let (error, _) = fault(&format!(
            "fn f(i: u32) -> f32 {{ var a: array<f32, 4000>; {stores} return a[i]; }}"
        ));
        assert_eq!(error.message, "the shader is too large");
    }

    #[test]
    fn feature_shaders_depend_on_their_inputs() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shaders");
        let mut paths: Vec<_> = std::fs::read_dir(folder)
            .expect("there is a folder")
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        assert!(paths.len() > 40);
        for path in paths {
            let source = std::fs::read_to_string(&path)
                .expect("it can be read")
                .replace("fn brdf(", "fn f(");
            let f = translate(&source);
            let mut numbers = Numbers::new(7);
            let mut results = vec![];
            for _ in 0..20 {
                let mut inputs: Vec<_> = (0..6).map(|_| numbers.moderate() / 4.0).collect();
                inputs[5] = inputs[5].abs();
                inputs.extend((0..3).map(|_| numbers.moderate().abs() / 4.0));
                inputs.push(1.0 + numbers.moderate().abs());
                let inputs: Vec<_> = inputs.into_iter().map(f32::to_bits).collect();
                results.push(run(&f, &inputs));
            }
            results.sort();
            results.dedup();
            assert!(results.len() > 10, "{path:?} returns only {results:?}");
        }
    }
}
