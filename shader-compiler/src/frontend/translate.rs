//! naga's IR becomes ours: a [`Translator`] runs functions of a module symbolically and writes what
//! they compute into a builder.
//!
//! Calls are inlined. Values are lists of [leaves](super::layout); variables are lists of *slots*,
//! which hold the value that each leaf has at this point of the program, so that stores become
//! definitions; pointers are [places](super::places) and never values; early exits become
//! conditions ([`super::control`]). Expressions are evaluated where naga emits them, constants and
//! the like where they are first used.
//!
//! Bounded: nesting, number of values and work are limited, and what exceeds a limit is a
//! [`Fault`].

use super::Settings;
use super::effects::Effects;
use super::layout::{Layout, MAX_LEAVES};
use super::places::{Index, Place};
use super::textures;
use crate::ir::{Builder, Emit, Op, Value};
use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{AddressSpace, Arena, Expression, Handle, Module, Span, TypeInner};

/// Nesting of blocks, calls and early exits together.
pub(crate) const MAX_DEPTH: u32 = 200;
/// Values of the translated function.
const MAX_VALUES: usize = 200_000;
/// Leaves that are computed or moved.
const MAX_WORK: usize = 8_000_000;
/// Leaves of all variables at a time.
const MAX_SLOTS: usize = 1 << 16;

/// Something that cannot be translated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    /// What.
    pub message: String,
    /// Where; undefined where naga does not know.
    pub span: Span,
    /// The remedy.
    pub help: Option<String>,
}

/// A run of values in the translator's pool.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Leaves {
    start: u32,
    len: u32,
}

impl Leaves {
    /// How many they are.
    pub fn len(self) -> usize {
        self.len as usize
    }
}

/// A run of slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slots {
    pub start: u32,
    pub len: u32,
}

/// What an expression is known to be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    /// Not evaluated.
    Unknown,
    /// A value.
    Leaves(Leaves),
    /// A pointer.
    Place(Place),
    /// The texture of this number.
    Texture(u32),
    /// A sampler, of which nothing is asked.
    Sampler,
}

/// An arena of expressions under evaluation: a function's, during one call of it, or the module's.
pub(crate) struct Frame<'m> {
    pub expressions: &'m Arena<Expression>,
    /// `None` for the module's.
    pub info: Option<&'m FunctionInfo>,
    /// By expression.
    pub items: Vec<Item>,
    pub args: Vec<Item>,
    /// By local variable.
    pub locals: Vec<Slots>,
    /// Where the function's value is put.
    pub result: Slots,
    /// First slot that is of no use when the call is over.
    pub floor: u32,
    /// Expressions to be handed on from arms of ifs; see [`super::control`].
    pub carried: Vec<Handle<Expression>>,
}

/// Translates functions of a module, one after the other, into one builder. Private variables keep
/// their values from call to call.
pub(crate) struct Translator<'m> {
    pub(super) module: &'m Module,
    pub(super) info: &'m ModuleInfo,
    pub(super) layout: Layout<'m>,
    pub(super) builder: Builder,
    pub(super) settings: &'m Settings,
    /// In the order of their numbers.
    pub(super) textures: Vec<Handle<naga::GlobalVariable>>,
    /// The module's own expressions; taken while one of them is evaluated.
    pub(super) constants: Option<Frame<'m>>,
    pub(super) constant_depth: u32,
    pool: Vec<Value>,
    scratch: Vec<Value>,
    /// Dynamic indices of places.
    pub(super) indices: Vec<Index>,
    /// Values of variables.
    pub(super) slots: Vec<Value>,
    /// Slots that were changed, with what they held before.
    pub(super) trail: Vec<(u32, Value)>,
    /// By global variable: what it stands for, or why it cannot be used.
    pub(super) globals: Vec<Result<Item, Fault>>,
    /// By function, as far as they were asked for.
    pub(super) effects: Vec<Effects>,
    pub(super) depth: u32,
    work: usize,
    /// Of the statement under translation, for expressions that have none.
    pub(super) span: Span,
}

/// Slot that holds whether some loop reached the cap.
pub(crate) const CAPPED: u32 = 0;

impl<'m> Translator<'m> {
    /// For a valid module.
    pub fn new(
        module: &'m Module,
        info: &'m ModuleInfo,
        mut builder: Builder,
        settings: &'m Settings,
    ) -> Translator<'m> {
        let capped = builder.bool(false);
        let constants = Frame {
            expressions: &module.global_expressions,
            info: None,
            items: vec![Item::Unknown; module.global_expressions.len()],
            args: vec![],
            locals: vec![],
            result: Slots::default(),
            floor: 0,
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
            trail: vec![],
            globals: vec![],
            effects: vec![],
            depth: 0,
            work: 0,
            span: Span::UNDEFINED,
        };
        for (handle, variable) in module.global_variables.iter() {
            let global = match translator.resource(handle) {
                Some(resource) => Ok(resource),
                None => {
                    translator.place_global(variable).map(|slots| Item::Place(Place::whole(slots)))
                }
            };
            translator.globals.push(global);
        }
        translator
    }

    /// Translates a call, with the leaves of each argument; returns the leaves of the result. After
    /// a fault the builder is of no use.
    pub fn call(
        &mut self,
        function: Handle<naga::Function>,
        args: &[Vec<Value>],
    ) -> Result<Vec<Value>, Fault> {
        let args = args.iter().map(|arg| Item::Leaves(self.push(arg))).collect();
        let result = self.inline(function, args)?;
        Ok(self.leaves(result).to_vec())
    }

    /// Whether a loop of the calls so far reached the cap.
    pub fn capped(&self) -> Value {
        self.slots[CAPPED as usize]
    }

    /// Ends translation.
    pub fn into_builder(self) -> Builder {
        self.builder
    }

    // Limits.

    /// Counts work.
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

    /// Goes one level down; the caller comes up again.
    pub(super) fn descend(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth <= MAX_DEPTH {
            return Ok(());
        }
        Err(Fault {
            message: format!("blocks, calls and early exits nest deeper than {MAX_DEPTH}"),
            span: self.span,
            help: Some(
                "every `return`, `break` and `continue` in an `if` nests what comes after it"
                    .to_owned(),
            ),
        })
    }

    // The pool.

    pub(super) fn push(&mut self, values: &[Value]) -> Leaves {
        let start = self.pool.len() as u32;
        self.pool.extend_from_slice(values);
        Leaves { start, len: values.len() as u32 }
    }

    pub(super) fn leaves(&self, leaves: Leaves) -> &[Value] {
        &self.pool[leaves.start as usize..][..leaves.len as usize]
    }

    /// Some leaves and others after them.
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

    /// Part of an aggregate.
    pub(super) fn part(&self, leaves: Leaves, (start, len): (u32, u32)) -> Leaves {
        debug_assert!(start + len <= leaves.len, "parts lie within");
        Leaves { start: leaves.start + start, len }
    }

    /// Computes leaves from leaves; hands on what `f` returns.
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

    /// Zeros of all leaves of a type.
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

    /// New slots, which hold `values`.
    pub(super) fn allocate(&mut self, values: Leaves) -> Result<Slots, Fault> {
        self.charge(values.len as usize)?;
        let slots = Slots { start: self.slots.len() as u32, len: values.len };
        self.slots.extend_from_slice(&self.pool[values.start as usize..][..values.len as usize]);
        Ok(slots)
    }

    /// Makes a private variable; others cannot be had.
    fn place_global(&mut self, variable: &naga::GlobalVariable) -> Result<Slots, Fault> {
        let kind = match variable.space {
            AddressSpace::Private => {
                let values = match variable.init {
                    Some(init) => self.constant(init)?,
                    None => self.zeros(&self.module.types[variable.ty].inner, Span::UNDEFINED)?,
                };
                return self.allocate(values);
            }
            AddressSpace::Handle => {
                "a resource of another kind than `texture_2d<f32>` and `sampler`"
            }
            AddressSpace::Uniform => "a uniform buffer",
            AddressSpace::Storage { .. } => "a storage buffer",
            AddressSpace::WorkGroup => "a workgroup variable",
            _ => "a resource",
        };
        let name = variable.name.as_deref().unwrap_or("this");
        let help = "a material depends on its arguments alone: make it a member of `Material`, or `var<private>`";
        Err(Fault {
            message: format!("`{name}` is {kind}, which materials cannot use"),
            span: Span::UNDEFINED,
            help: Some(help.to_owned()),
        })
    }

    // Calls.

    /// Translates a call in place.
    pub(super) fn inline(
        &mut self,
        handle: Handle<naga::Function>,
        args: Vec<Item>,
    ) -> Result<Leaves, Fault> {
        let module = self.module;
        let function = &module.functions[handle];
        self.charge(8 + function.expressions.len())?;
        let base = self.slots.len();
        let mut frame = Frame {
            expressions: &function.expressions,
            info: Some(&self.info[handle]),
            items: vec![Item::Unknown; function.expressions.len()],
            args,
            locals: Vec::with_capacity(function.local_variables.len()),
            result: Slots::default(),
            floor: 0,
            carried: vec![],
        };
        if let Some(result) = &function.result {
            // What is seen of a result that was not set is seen of lanes alone that do not want it.
            let zeros = self.zeros(&module.types[result.ty].inner, self.span)?;
            frame.result = self.allocate(zeros)?;
        }
        frame.floor = self.slots.len() as u32;
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
    use crate::frontend::testing::{Numbers, check, fault, module, run, translate};
    use crate::ir::{Rules, Type};

    #[test]
    fn constants_and_zero_values() {
        let f = translate(
            "struct S { a: vec2f, b: array<i32, 2>, c: bool }
            const half = 0.5;
            const table = array(S(vec2(half, 2.0), array(1, 2), true), S());
            fn f(x: f32) -> S { var s = table[0]; s.a += vec2f() + x; s.b[1] += table[1].b[0] + 3; return s; }",
        );
        check(&f, &[1.0f32.to_bits()], &[1.5f32.to_bits(), 3.0f32.to_bits(), 1, 5, !0]);
    }

    #[test]
    fn composites() {
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
    fn private_variables_live_as_long_as_the_translator() {
        let source = "var<private> n = 5; fn f(x: i32) -> i32 { n += x; return n; }";
        let (module, info) = module(source);
        let (handle, _) = module.functions.iter().next().expect("there is one");
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
    fn other_types_are_refused() {
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
            let (found, text) = fault(source);
            assert_eq!(found.message, message, "{source}");
            assert!(text.contains(at), "{source}: {text}");
        }
    }

    #[test]
    fn resources_are_refused() {
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
                "`u` is a resource of another kind",
            ),
            (
                "fn f(x: f32) -> f32 { return dpdx(x); }",
                "derivatives have no meaning in a material",
            ),
        ];
        for (source, message) in cases {
            let (found, text) = fault(source);
            assert!(found.message.starts_with(message), "{source}: {found:?}");
            assert!(!text.is_empty() && found.help.is_some(), "{source}: {found:?}");
        }
        // What is not used does not matter.
        translate(
            "@group(0) @binding(0) var<uniform> u: f32; var<private> large: array<f32, 100000>; fn f(x: f32) -> f32 { return x; }",
        );
        let (found, _) = fault(
            "var<private> large: array<f32, 100000>; fn f(x: u32) -> f32 { return large[x]; }",
        );
        assert!(found.message.contains("4096"), "{found:?}");
    }

    #[test]
    fn large_programs_are_refused_in_time() {
        let doubling: String = (1..40)
            .map(|k| format!("fn g{k}(x: f32) -> f32 {{ return g{0}(x) + g{0}(x); }} ", k - 1))
            .collect();
        let (found, _) = fault(&format!(
            "fn g0(x: f32) -> f32 {{ return x; }} {doubling} fn f(x: f32) -> f32 {{ return g39(x); }}"
        ));
        assert_eq!(found.message, "the shader is too large");
        let chain: String = (1..2000)
            .map(|k| format!("fn g{k}(x: f32) -> f32 {{ return g{}(x) * 2.0; }} ", k - 1))
            .collect();
        let (found, _) = fault(&format!(
            "fn g0(x: f32) -> f32 {{ return x; }} {chain} fn f(x: f32) -> f32 {{ return g1999(x); }}"
        ));
        assert!(found.message.contains("nest"), "{found:?}");
        let (found, _) =
            fault("fn f(i: u32) -> f32 { var a: array<array<f32, 5000>, 5000>; return a[i][i]; }");
        assert!(found.message.contains("4096"), "{found:?}");
        let stores: String =
            (0..3000).map(|k| format!("a[(i + {k}u) & 4095u] = f32(i); ")).collect();
        let (found, _) = fault(&format!(
            "fn f(i: u32) -> f32 {{ var a: array<f32, 4000>; {stores} return a[i]; }}"
        ));
        assert_eq!(found.message, "the shader is too large");
    }

    #[test]
    fn a_shader_for_each_feature() {
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
                let mut inputs: Vec<_> = (0..6).map(|_| numbers.tame() / 4.0).collect();
                inputs[5] = inputs[5].abs();
                inputs.extend((0..3).map(|_| numbers.tame().abs() / 4.0));
                inputs.push(1.0 + numbers.tame().abs());
                let inputs: Vec<_> = inputs.into_iter().map(f32::to_bits).collect();
                results.push(run(&f, &inputs));
            }
            results.sort();
            results.dedup();
            assert!(results.len() > 10, "{path:?} gives but {results:?}");
        }
    }
}
