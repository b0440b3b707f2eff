//! naga's IR becomes ours: a [`Translator`] runs functions of a module symbolically and writes what they compute into a builder.
//!
//! Calls are inlined. Values are lists of [leaves](super::layout); variables are lists of *slots*, which hold the value that each
//! leaf has at this point of the program, so that stores become definitions; pointers are [places](super::places) and never values;
//! early exits become conditions ([`super::control`]). Expressions are evaluated where naga emits them, constants and the like
//! where they are first used.
//!
//! Bounded: nesting, number of values and work are limited, and what exceeds a limit is a [`Fault`].

use super::builtins;
use super::effects::Effects;
use super::layout::{Layout, MAX_LEAVES, narrow, scalar_type};
use super::operators;
use super::places::{Index, Place};
use crate::ir::{Builder, Emit, Op, Type, Value};
use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{AddressSpace, Arena, Expression, Handle, Literal, Module, Span, TypeInner};

/// Nesting of blocks, calls and early exits together.
pub(crate) const MAX_DEPTH: u32 = 200;
/// Operands of constants within operands.
const MAX_CONSTANT_DEPTH: u32 = 250;
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

/// Translates functions of a module, one after the other, into one builder. Private variables keep their values from call to call.
pub(crate) struct Translator<'m> {
    pub(super) module: &'m Module,
    info: &'m ModuleInfo,
    pub(super) layout: Layout<'m>,
    pub(super) builder: Builder,
    pub(super) loop_cap: u32,
    overrides: &'m [(String, f64)],
    /// The module's own expressions; taken while one of them is evaluated.
    constants: Option<Frame<'m>>,
    constant_depth: u32,
    pool: Vec<Value>,
    scratch: Vec<Value>,
    /// Dynamic indices of places.
    pub(super) indices: Vec<Index>,
    /// Values of variables.
    pub(super) slots: Vec<Value>,
    /// Slots that were changed, with what they held before.
    pub(super) trail: Vec<(u32, Value)>,
    /// By global variable; `None` for those that have no slots.
    pub(super) globals: Vec<Option<Slots>>,
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
    /// For a valid module. `overrides` are values of `override` declarations by name, the others have their defaults; a loop is left
    /// after `loop_cap` rounds.
    pub fn new(
        module: &'m Module,
        info: &'m ModuleInfo,
        mut builder: Builder,
        loop_cap: u32,
        overrides: &'m [(String, f64)],
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
            loop_cap,
            overrides,
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
        for (_, variable) in module.global_variables.iter() {
            // Those that cannot be had are faults where they are used.
            let slots = match variable.space {
                AddressSpace::Private => translator.private(variable).ok(),
                _ => None,
            };
            translator.globals.push(slots);
        }
        translator
    }

    /// Translates a call, with the leaves of each argument; returns the leaves of the result. After a fault the builder is of no use.
    pub fn call(&mut self, function: Handle<naga::Function>, args: &[Vec<Value>]) -> Result<Vec<Value>, Fault> {
        let args = args.iter().map(|arg| Item::Leaves(self.push(arg))).collect();
        let result = self.inline(function, args)?;
        Ok(self.leaves(result).to_vec())
    }

    /// Whether a loop of the calls so far reached the cap.
    pub fn capped(&self) -> Value {
        self.slots[CAPPED as usize]
    }

    /// Where calls are translated to.
    pub fn builder(&mut self) -> &mut Builder {
        &mut self.builder
    }

    /// Ends translation.
    pub fn into_builder(self) -> Builder {
        self.builder
    }

    // Limits.

    /// Counts work.
    pub(super) fn charge(&mut self, work: usize) -> Result<(), Fault> {
        self.work += work;
        if self.work <= MAX_WORK && self.builder.function().len() <= MAX_VALUES && self.slots.len() <= MAX_SLOTS {
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
            help: Some("every `return`, `break` and `continue` in an `if` nests what comes after it".to_owned()),
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

    pub(super) fn leaf(&self, leaves: Leaves, index: usize) -> Value {
        self.leaves(leaves)[index]
    }

    /// Part of an aggregate.
    fn part(&self, leaves: Leaves, (start, len): (u32, u32)) -> Leaves {
        debug_assert!(start + len <= leaves.len, "parts lie within");
        Leaves { start: leaves.start + start, len }
    }

    /// Computes leaves from leaves.
    fn compute<const N: usize, E>(
        &mut self,
        args: [Leaves; N],
        f: impl FnOnce(&mut Builder, [&[Value]; N], &mut Vec<Value>) -> Result<(), E>,
    ) -> Result<Leaves, E> {
        let slices = args.map(|leaves| &self.pool[leaves.start as usize..][..leaves.len as usize]);
        self.scratch.clear();
        f(&mut self.builder, slices, &mut self.scratch)?;
        let start = self.pool.len() as u32;
        self.pool.append(&mut self.scratch);
        Ok(Leaves { start, len: self.pool.len() as u32 - start })
    }

    /// Zeros of all leaves of a type.
    fn zeros(&mut self, inner: &TypeInner, span: Span) -> Result<Leaves, Fault> {
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

    fn private(&mut self, variable: &naga::GlobalVariable) -> Result<Slots, Fault> {
        let values = match variable.init {
            Some(init) => self.constant(init)?,
            None => self.zeros(&self.module.types[variable.ty].inner, Span::UNDEFINED)?,
        };
        self.allocate(values)
    }

    // Calls.

    /// Translates a call in place.
    pub(super) fn inline(&mut self, handle: Handle<naga::Function>, args: Vec<Item>) -> Result<Leaves, Fault> {
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
                None => self.zeros(&module.types[variable.ty].inner, function.local_variables.get_span(local))?,
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

    // Expressions.

    pub(super) fn ty(&self, frame: &Frame<'m>, expression: Handle<Expression>) -> &'m TypeInner {
        let resolution = match frame.info {
            Some(info) => &info[expression].ty,
            None => &self.info[expression],
        };
        resolution.inner_with(&self.module.types)
    }

    /// A fault at an expression, or at its statement.
    fn fault(
        &self,
        frame: &Frame<'m>,
        expression: Handle<Expression>,
        message: impl Into<String>,
        help: Option<&str>,
    ) -> Fault {
        Fault { message: message.into(), span: self.span_of(frame, expression), help: help.map(str::to_owned) }
    }

    fn span_of(&self, frame: &Frame<'m>, expression: Handle<Expression>) -> Span {
        let span = frame.expressions.get_span(expression);
        if span.is_defined() { span } else { self.span }
    }

    /// What an expression is: as it was when it was emitted, or, if it is none of those that are emitted, as it always is.
    pub(super) fn item(&mut self, frame: &mut Frame<'m>, expression: Handle<Expression>) -> Result<Item, Fault> {
        match frame.items[expression.index()] {
            Item::Unknown => {
                self.constant_depth += 1;
                if self.constant_depth > MAX_CONSTANT_DEPTH {
                    self.constant_depth -= 1;
                    return Err(self.fault(frame, expression, "constants refer to each other in too long a chain", None));
                }
                let item = self.evaluate(frame, expression);
                self.constant_depth -= 1;
                item
            }
            item => Ok(item),
        }
    }

    pub(super) fn value(&mut self, frame: &mut Frame<'m>, expression: Handle<Expression>) -> Result<Leaves, Fault> {
        match self.item(frame, expression)? {
            Item::Leaves(leaves) => Ok(leaves),
            Item::Place(_) | Item::Unknown => Err(self.fault(frame, expression, "a pointer cannot be a value", None)),
        }
    }

    /// The single leaf of a scalar.
    pub(super) fn scalar(&mut self, frame: &mut Frame<'m>, expression: Handle<Expression>) -> Result<Value, Fault> {
        let leaves = self.value(frame, expression)?;
        Ok(self.leaf(leaves, 0))
    }

    /// Value of one of the module's own expressions.
    fn constant(&mut self, expression: Handle<Expression>) -> Result<Leaves, Fault> {
        let mut frame = self.constants.take().expect("constants refer to constants within their own frame");
        let value = self.value(&mut frame, expression);
        self.constants = Some(frame);
        value
    }

    /// Value of one of the module's own expressions, from an expression of any frame.
    fn constant_in(&mut self, frame: &mut Frame<'m>, expression: Handle<Expression>) -> Result<Leaves, Fault> {
        if frame.info.is_none() { self.value(frame, expression) } else { self.constant(expression) }
    }

    /// Evaluates an expression now.
    pub(super) fn evaluate(&mut self, frame: &mut Frame<'m>, handle: Handle<Expression>) -> Result<Item, Fault> {
        self.charge(1)?;
        let expressions = frame.expressions;
        let item = match expressions[handle] {
            Expression::Access { base, index } => self.access(frame, base, index)?,
            Expression::AccessIndex { base, index } => {
                // Types of what was evaluated are translatable.
                let item = self.item(frame, base)?;
                let part = self.layout.part(self.ty(frame, base), index);
                match item {
                    Item::Leaves(leaves) => Item::Leaves(self.part(leaves, part)),
                    Item::Place(place) => Item::Place(place.part(part)),
                    Item::Unknown => unreachable!("operands are evaluated"),
                }
            }
            Expression::FunctionArgument(index) => frame.args[index as usize],
            Expression::LocalVariable(variable) => Item::Place(Place::whole(frame.locals[variable.index()])),
            Expression::GlobalVariable(variable) => Item::Place(self.global(frame, handle, variable)?),
            Expression::Load { pointer } => match self.item(frame, pointer)? {
                Item::Place(place) => Item::Leaves(self.load(place)?),
                _ => return Err(self.fault(frame, handle, "this cannot be read in a material", None)),
            },
            ref expression => {
                let leaves = self.compound(frame, handle, expression)?;
                self.charge(leaves.len as usize)?;
                Item::Leaves(leaves)
            }
        };
        frame.items[handle.index()] = item;
        Ok(item)
    }

    /// Evaluates an expression that is a value whatever its operands are.
    fn compound(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
        expression: &Expression,
    ) -> Result<Leaves, Fault> {
        match *expression {
            Expression::Literal(literal) => self.literal(literal, self.span_of(frame, handle)),
            Expression::Constant(constant) => self.constant_in(frame, self.module.constants[constant].init),
            Expression::Override(constant) => self.override_value(frame, handle, constant),
            Expression::ZeroValue(ty) => self.zeros(&self.module.types[ty].inner, self.span_of(frame, handle)),
            Expression::Compose { ref components, .. } => {
                let mut parts = Vec::with_capacity(components.len());
                for &component in components {
                    parts.push(self.value(frame, component)?);
                }
                let size: u32 = parts.iter().map(|part| part.len).sum();
                if size > MAX_LEAVES {
                    return Err(self.layout.fault(self.ty(frame, handle), self.span_of(frame, handle)));
                }
                let start = self.pool.len() as u32;
                for part in parts {
                    self.pool.extend_from_within(part.start as usize..(part.start + part.len) as usize);
                }
                Ok(Leaves { start, len: size })
            }
            Expression::Splat { size, value } => {
                let scalar = self.scalar(frame, value)?;
                Ok(self.push(&[scalar; 4][..size as usize]))
            }
            Expression::Swizzle { size, vector, pattern } => {
                let vector = self.value(frame, vector)?;
                let components = pattern.map(|component| self.leaf(vector, (component as usize).min(vector.len as usize - 1)));
                Ok(self.push(&components[..size as usize]))
            }
            Expression::Unary { op, expr } => {
                let kind = self.ty(frame, expr).scalar_kind().expect("operands are made of scalars");
                let args = [self.value(frame, expr)?];
                self.compute(args, |b, [a], out| Ok(operators::unary(b, op, kind, a, out)))
            }
            Expression::Binary { op, left, right } => {
                let (left_type, right_type) = (self.ty(frame, left), self.ty(frame, right));
                let args = [self.value(frame, left)?, self.value(frame, right)?];
                self.compute(args, |b, [x, y], out| Ok(operators::binary(b, op, (left_type, x), (right_type, y), out)))
            }
            Expression::Select { condition, accept, reject } => {
                let args = [self.value(frame, condition)?, self.value(frame, accept)?, self.value(frame, reject)?];
                self.compute(args, |b, [c, x, y], out| Ok(operators::select(b, c, x, y, out)))
            }
            Expression::Relational { fun, argument } => {
                let args = [self.value(frame, argument)?];
                self.compute(args, |b, [a], out| Ok(operators::relational(b, fun, a, out)))
            }
            Expression::As { expr, kind, convert } => {
                let from = self.ty(frame, expr).scalar().expect("what is converted is made of scalars");
                let to = naga::Scalar { kind, width: convert.unwrap_or(from.width) };
                if scalar_type(to).is_none() {
                    return Err(narrow(to, self.span_of(frame, handle)));
                }
                let args = [self.value(frame, expr)?];
                self.compute(args, |b, [a], out| Ok(operators::convert(b, from.kind, kind, convert.is_none(), a, out)))
            }
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let mut args = [Leaves::default(); 4];
                for (leaves, arg) in args.iter_mut().zip([Some(arg), arg1, arg2, arg3]) {
                    if let Some(arg) = arg {
                        *leaves = self.value(frame, arg)?;
                    }
                }
                let ty = self.ty(frame, arg);
                let computed = self.compute(args, |b, args, out| builtins::math(b, fun, ty, args, out));
                computed.map_err(|message| self.fault(frame, handle, message, None))
            }
            ref other => {
                let (message, help) = unsupported(other);
                Err(self.fault(frame, handle, message, Some(help)))
            }
        }
    }

    fn access(&mut self, frame: &mut Frame<'m>, base: Handle<Expression>, index: Handle<Expression>) -> Result<Item, Fault> {
        let item = self.item(frame, base)?;
        let index = self.scalar(frame, index)?;
        let (count, stride) = self.layout.parts(self.ty(frame, base));
        // Indices out of range, negative ones among them, mean the last element.
        let known = self.builder.function().constant(index).map(|index| (index.min(count - 1) * stride, stride));
        Ok(match (item, known) {
            (Item::Leaves(leaves), Some(part)) => Item::Leaves(self.part(leaves, part)),
            (Item::Leaves(leaves), None) => Item::Leaves(self.pick(leaves, Index { value: index, count, stride })?),
            (Item::Place(place), Some(part)) => Item::Place(place.part(part)),
            (Item::Place(place), None) => Item::Place(self.index(place, Index { value: index, count, stride })),
            (Item::Unknown, _) => unreachable!("operands are evaluated"),
        })
    }

    /// Chooses an element of a value.
    fn pick(&mut self, leaves: Leaves, index: Index) -> Result<Leaves, Fault> {
        self.charge(leaves.len as usize)?;
        self.compute([leaves], |b, [values], out| {
            for k in 0..index.stride {
                out.push(index.choose(b, |_, i| values[(i * index.stride + k) as usize]));
            }
            Ok(())
        })
    }

    fn global(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
        variable: Handle<naga::GlobalVariable>,
    ) -> Result<Place, Fault> {
        if let Some(slots) = self.globals[variable.index()] {
            return Ok(Place::whole(slots));
        }
        let global = &self.module.global_variables[variable];
        let kind = match global.space {
            // It could not be translated; this tells why.
            AddressSpace::Private => return self.private(global).map(Place::whole),
            AddressSpace::Handle => "a texture or sampler",
            AddressSpace::Uniform => "a uniform buffer",
            AddressSpace::Storage { .. } => "a storage buffer",
            AddressSpace::WorkGroup => "a workgroup variable",
            _ => "a resource",
        };
        let name = global.name.as_deref().unwrap_or("this");
        let help = "a material depends on its arguments alone: make it a member of `Material`, or `var<private>`";
        Err(self.fault(frame, handle, format!("`{name}` is {kind}, which materials cannot use"), Some(help)))
    }

    fn literal(&mut self, literal: Literal, span: Span) -> Result<Leaves, Fault> {
        let value = match literal {
            Literal::F32(x) => self.builder.f32(x),
            Literal::I32(x) => self.builder.i32(x),
            Literal::U32(x) => self.builder.i32(x as i32),
            Literal::Bool(x) => self.builder.bool(x),
            other => return Err(narrow(other.scalar(), span)),
        };
        Ok(self.push(&[value]))
    }

    fn override_value(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
        constant: Handle<naga::Override>,
    ) -> Result<Leaves, Fault> {
        let declared = &self.module.overrides[constant];
        let name = declared.name.as_deref().unwrap_or("");
        let Some(&(_, x)) = self.overrides.iter().rev().find(|(key, _)| key == name) else {
            let Some(init) = declared.init else {
                let message = format!("`{name}` has no value");
                return Err(self.fault(frame, handle, message, Some("give the `override` a default, or pass a value for it")));
            };
            return self.constant_in(frame, init);
        };
        let inner = &self.module.types[declared.ty].inner;
        let scalar = inner.scalar().expect("overrides are scalars");
        let value = match scalar_type(scalar) {
            Some(Type::F32) => self.builder.f32(x as f32),
            Some(Type::I32) if scalar.kind == naga::ScalarKind::Sint => self.builder.i32(x as i32),
            Some(Type::I32) => self.builder.i32(x as u32 as i32),
            Some(Type::Bool) => self.builder.bool(x != 0.0),
            None => return Err(narrow(scalar, self.span_of(frame, handle))),
        };
        Ok(self.push(&[value]))
    }

    /// Appends an operation.
    pub(super) fn op(&mut self, op: Op, args: &[Value]) -> Value {
        self.builder.op(op, args)
    }
}

/// Why an expression cannot be translated, and the remedy.
fn unsupported(expression: &Expression) -> (&'static str, &'static str) {
    match expression {
        Expression::Derivative { .. } => {
            ("derivatives have no meaning in a material", "it is evaluated at points, not on a grid of pixels")
        }
        Expression::ImageSample { .. } | Expression::ImageLoad { .. } | Expression::ImageQuery { .. } => {
            ("textures cannot be used in this function", "pass the value that was looked up as a member of `Material`")
        }
        Expression::ArrayLength(_) => {
            ("arrays without a fixed size cannot be used in a material", "give the array a constant size")
        }
        Expression::AtomicResult { .. } | Expression::WorkGroupUniformLoadResult { .. } => {
            ("atomics and workgroup variables cannot be used in a material", "evaluations share nothing")
        }
        _ => ("this cannot be used in a material", "a material depends on its arguments alone"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::testing::{CAP, Numbers, check, fault, module, run, translate, translate_with};
    use crate::ir::Rules;

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
    fn overrides() {
        let source = "override on = true; override n: i32 = 3; @id(7) override k: u32 = 5; override scale: f32 = 2.0;
            override twice = scale * 2.0;
            fn f(x: f32) -> vec4f { return vec4f(x * scale, twice, f32(n), select(0.0, 1.0, on)) + vec4f(0.0, 0.0, 10.0 * f32(i32(k)), 0.0); }";
        let with = |overrides: &[(&str, f64)]| {
            let overrides: Vec<_> = overrides.iter().map(|&(name, x)| (name.to_owned(), x)).collect();
            let f = translate_with(source, &overrides).expect("it can be translated");
            run(&f, &[1.0f32.to_bits()])[..4].iter().map(|&word| f32::from_bits(word)).collect::<Vec<_>>()
        };
        assert_eq!(with(&[]), [2.0, 4.0, 53.0, 1.0]);
        assert_eq!(with(&[("scale", 3.5), ("n", -2.0), ("on", 0.0), ("k", 1.0)]), [3.5, 7.0, 8.0, 0.0]);
        let (found, text) = fault("override a: f32; fn f(x: f32) -> f32 { return x * a; }");
        assert_eq!((&found.message[..], &text[..]), ("`a` has no value", "a"));
    }

    #[test]
    fn private_variables_live_as_long_as_the_translator() {
        let source = "var<private> n = 5; fn f(x: i32) -> i32 { n += x; return n; }";
        let (module, info) = module(source);
        let (handle, _) = module.functions.iter().next().expect("there is one");
        let mut builder = Builder::new("f", Rules::Relaxed);
        let x = builder.input("x", Type::I32);
        let mut translator = Translator::new(&module, &info, builder, CAP, &[]);
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
            ("enable f16; fn f(x: f32) -> f32 { let h = 1.5h; return x + f32(h); }", "`f16` is not supported", "1.5h"),
            ("enable f16; fn f(x: f32) -> f32 { return f32(f16(x)); }", "`f16` is not supported", "f16(x)"),
            ("fn f(x: f32) -> f32 { return f32(f64(x)); }", "`f64` is not supported", "f64(x)"),
            ("fn f(x: i32) -> i32 { let a = i64(x) + 3li; return x + i32(a); }", "`i64` is not supported", "i64(x)"),
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
            ("@group(0) @binding(0) var<uniform> u: f32; fn f(x: f32) -> f32 { return x * u; }", "`u` is a uniform buffer"),
            ("@group(0) @binding(0) var<storage> u: array<f32>; fn f(x: u32) -> f32 { return u[x]; }", "`u` is a storage buffer"),
            ("var<workgroup> u: f32; fn f(x: f32) -> f32 { return x * u; }", "`u` is a workgroup variable"),
            ("@group(0) @binding(0) var u: texture_2d<f32>; fn f(x: vec2i) -> vec4f { return textureLoad(u, x, 0); }", "textures"),
            ("fn f(x: f32) -> f32 { return dpdx(x); }", "derivatives have no meaning in a material"),
        ];
        for (source, message) in cases {
            let (found, text) = fault(source);
            assert!(found.message.starts_with(message), "{source}: {found:?}");
            assert!(!text.is_empty() && found.help.is_some(), "{source}: {found:?}");
        }
        // What is not used does not matter.
        translate("@group(0) @binding(0) var<uniform> u: f32; var<private> large: array<f32, 100000>; fn f(x: f32) -> f32 { return x; }");
        let (found, _) = fault("var<private> large: array<f32, 100000>; fn f(x: u32) -> f32 { return large[x]; }");
        assert!(found.message.contains("4096"), "{found:?}");
    }

    #[test]
    fn large_programs_are_refused_in_time() {
        let doubling: String =
            (1..40).map(|k| format!("fn g{k}(x: f32) -> f32 {{ return g{0}(x) + g{0}(x); }} ", k - 1)).collect();
        let (found, _) = fault(&format!("fn g0(x: f32) -> f32 {{ return x; }} {doubling} fn f(x: f32) -> f32 {{ return g39(x); }}"));
        assert_eq!(found.message, "the shader is too large");
        let chain: String = (1..2000).map(|k| format!("fn g{k}(x: f32) -> f32 {{ return g{}(x) * 2.0; }} ", k - 1)).collect();
        let (found, _) = fault(&format!("fn g0(x: f32) -> f32 {{ return x; }} {chain} fn f(x: f32) -> f32 {{ return g1999(x); }}"));
        assert!(found.message.contains("nest"), "{found:?}");
        let (found, _) = fault("fn f(i: u32) -> f32 { var a: array<array<f32, 5000>, 5000>; return a[i][i]; }");
        assert!(found.message.contains("4096"), "{found:?}");
        let stores: String = (0..3000).map(|k| format!("a[(i + {k}u) & 4095u] = f32(i); ")).collect();
        let (found, _) = fault(&format!("fn f(i: u32) -> f32 {{ var a: array<f32, 4000>; {stores} return a[i]; }}"));
        assert_eq!(found.message, "the shader is too large");
    }

    #[test]
    fn long_chains_of_constants_are_no_trouble() {
        let chain: String = (1..2000).map(|k| format!("override o{k} = o{} + 1.0; ", k - 1)).collect();
        let (found, _) = fault(&format!("override o0 = 1.0; {chain} fn f(x: f32) -> f32 {{ return x * o1999; }}"));
        assert!(found.message.contains("chain"), "{found:?}");
    }

    #[test]
    fn a_shader_for_each_feature() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shaders");
        let mut paths: Vec<_> = std::fs::read_dir(folder).expect("there is a folder").map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        assert!(paths.len() > 40);
        for path in paths {
            let source = std::fs::read_to_string(&path).expect("it can be read").replace("fn brdf(", "fn f(");
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
