//! Expressions. Each is evaluated, to leaves or to a pointer, where naga emits it. Constants and
//! other expressions that naga does not emit are evaluated at their first use; they fold to IR
//! constants, which are in scope everywhere.

use super::builtins;
use super::layout::{MAX_LEAVES, scalar_type, unsupported_scalar};
use super::operators;
use super::pointers::{Index, Pointer};
use super::translate::{Fault, Frame, Leaves, Operand, Translator};
use crate::ir::{Emit, Value};
use naga::{Expression, Handle, Literal, Span, TypeInner};

/// Maximum length of a chain of constants that refer to each other.
const MAX_CONSTANT_DEPTH: u32 = 250;

impl<'m> Translator<'m> {
    pub(super) fn ty(&self, frame: &Frame<'m>, expression: Handle<Expression>) -> &'m TypeInner {
        let resolution = match frame.info {
            Some(info) => &info[expression].ty,
            None => &self.info[expression],
        };
        resolution.inner_with(&self.module.types)
    }

    /// A fault at an expression, or at the current statement if the expression has no span.
    pub(super) fn fault(
        &self,
        frame: &Frame<'m>,
        expression: Handle<Expression>,
        message: impl Into<String>,
        help: Option<&str>,
    ) -> Fault {
        Fault {
            message: message.into(),
            span: self.span_of(frame, expression),
            help: help.map(str::to_owned),
        }
    }

    pub(super) fn span_of(&self, frame: &Frame<'m>, expression: Handle<Expression>) -> Span {
        let span = frame.expressions.get_span(expression);
        if span.is_defined() { span } else { self.span }
    }

    /// Returns the result of an expression, which was computed where naga emitted it. Evaluates
    /// constants, which naga does not emit.
    pub(super) fn operand(
        &mut self,
        frame: &mut Frame<'m>,
        expression: Handle<Expression>,
    ) -> Result<Operand, Fault> {
        match frame.operands[expression.index()] {
            Operand::Unevaluated => {
                self.constant_depth += 1;
                if self.constant_depth > MAX_CONSTANT_DEPTH {
                    self.constant_depth -= 1;
                    return Err(self.fault(
                        frame,
                        expression,
                        "the chain of constants that refer to each other is too long",
                        None,
                    ));
                }
                let operand = self.evaluate(frame, expression);
                self.constant_depth -= 1;
                operand
            }
            operand => Ok(operand),
        }
    }

    /// Leaves of an expression that is not a pointer.
    pub(super) fn value(
        &mut self,
        frame: &mut Frame<'m>,
        expression: Handle<Expression>,
    ) -> Result<Leaves, Fault> {
        match self.operand(frame, expression)? {
            Operand::Leaves(leaves) => Ok(leaves),
            Operand::Pointer(_) | Operand::Unevaluated => {
                Err(self.fault(frame, expression, "a pointer cannot be a value", None))
            }
            Operand::Texture(_) | Operand::Sampler => {
                Err(self.fault(frame, expression, "a texture cannot be a value", None))
            }
        }
    }

    /// The single leaf of a scalar.
    pub(super) fn scalar(
        &mut self,
        frame: &mut Frame<'m>,
        expression: Handle<Expression>,
    ) -> Result<Value, Fault> {
        let leaves = self.value(frame, expression)?;
        Ok(self.leaf(leaves, 0))
    }

    /// Value of a module-scope expression.
    pub(super) fn constant(&mut self, expression: Handle<Expression>) -> Result<Leaves, Fault> {
        let mut frame =
            self.constants.take().expect("constants refer to each other within one frame");
        let value = self.value(&mut frame, expression);
        self.constants = Some(frame);
        value
    }

    /// Value of a module-scope expression, for use in any frame.
    pub(super) fn constant_in(
        &mut self,
        frame: &mut Frame<'m>,
        expression: Handle<Expression>,
    ) -> Result<Leaves, Fault> {
        if frame.info.is_none() { self.value(frame, expression) } else { self.constant(expression) }
    }

    /// Evaluates an expression now.
    pub(super) fn evaluate(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
    ) -> Result<Operand, Fault> {
        if self.locations.is_none() {
            return self.evaluate_expression(frame, handle);
        }
        let first = Value(self.builder.function().len() as u32);
        let outer = self.builder.set_origin(Some(first));
        let operand = self.evaluate_expression(frame, handle)?;
        self.builder.set_origin(outer);
        let span = self.span_of(frame, handle);
        let count = self.builder.function().len();
        if let Some(locations) = &mut self.locations
            && first.index() < count
        {
            locations.record(first, span, &frame.expressions[handle]);
        }
        if let Operand::Leaves(leaves) = operand {
            self.record_let(frame, handle, leaves);
        }
        Ok(operand)
    }

    fn evaluate_expression(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
    ) -> Result<Operand, Fault> {
        self.charge(1)?;
        let expressions = frame.expressions;
        let operand = match expressions[handle] {
            Expression::Access { base, index } => self.access(frame, base, index)?,
            Expression::AccessIndex { base, index } => {
                // Evaluated expressions have translatable types.
                let operand = self.operand(frame, base)?;
                let part = self.layout.part(self.ty(frame, base), index);
                match operand {
                    Operand::Leaves(leaves) => Operand::Leaves(self.part(leaves, part)),
                    Operand::Pointer(pointer) => Operand::Pointer(pointer.part(part)),
                    Operand::Texture(_) | Operand::Sampler | Operand::Unevaluated => {
                        unreachable!("only values and pointers have parts")
                    }
                }
            }
            Expression::FunctionArgument(index) => frame.args[index as usize],
            Expression::LocalVariable(variable) => {
                Operand::Pointer(Pointer::to_variable(frame.locals[variable.index()]))
            }
            Expression::GlobalVariable(variable) => match &self.globals[variable.index()] {
                Ok(operand) => *operand,
                Err(fault) => {
                    return Err(Fault { span: self.span_of(frame, handle), ..fault.clone() });
                }
            },
            Expression::Load { pointer } => match self.operand(frame, pointer)? {
                Operand::Pointer(pointer) => Operand::Leaves(self.load(pointer)?),
                _ => {
                    return Err(self.fault(
                        frame,
                        handle,
                        "this cannot be read in a material",
                        None,
                    ));
                }
            },
            ref expression => {
                let leaves = self.value_expression(frame, handle, expression)?;
                self.charge(leaves.len())?;
                Operand::Leaves(leaves)
            }
        };
        frame.operands[handle.index()] = operand;
        Ok(operand)
    }

    /// Evaluates an expression that cannot be a pointer.
    fn value_expression(
        &mut self,
        frame: &mut Frame<'m>,
        handle: Handle<Expression>,
        expression: &Expression,
    ) -> Result<Leaves, Fault> {
        match *expression {
            Expression::Literal(literal) => self.literal(literal, self.span_of(frame, handle)),
            Expression::Constant(constant) => {
                self.constant_in(frame, self.module.constants[constant].init)
            }
            Expression::Override(constant) => self.override_value(frame, handle, constant),
            Expression::ZeroValue(ty) => {
                self.zeros(&self.module.types[ty].inner, self.span_of(frame, handle))
            }
            Expression::Compose { ref components, .. } => {
                let mut parts = Vec::with_capacity(components.len());
                for &component in components {
                    parts.push(self.value(frame, component)?);
                }
                if parts.iter().map(|part| part.len()).sum::<usize>() > MAX_LEAVES as usize {
                    return Err(self
                        .layout
                        .fault(self.ty(frame, handle), self.span_of(frame, handle)));
                }
                Ok(self.concatenate(&parts))
            }
            Expression::Splat { size, value } => {
                let scalar = self.scalar(frame, value)?;
                Ok(self.push(&[scalar; 4][..size as usize]))
            }
            Expression::Swizzle { size, vector, pattern } => {
                let vector = self.value(frame, vector)?;
                let components = pattern
                    .map(|component| self.leaf(vector, (component as usize).min(vector.len() - 1)));
                Ok(self.push(&components[..size as usize]))
            }
            Expression::Unary { op, expr } => {
                let kind =
                    self.ty(frame, expr).scalar_kind().expect("operands are made of scalars");
                let args = [self.value(frame, expr)?];
                Ok(self.compute(args, |b, [a], out| operators::unary(b, op, kind, a, out)).0)
            }
            Expression::Binary { op, left, right } => {
                let (left_type, right_type) = (self.ty(frame, left), self.ty(frame, right));
                let args = [self.value(frame, left)?, self.value(frame, right)?];
                Ok(self
                    .compute(args, |b, [x, y], out| {
                        operators::binary(b, op, (left_type, x), (right_type, y), out)
                    })
                    .0)
            }
            Expression::Select { condition, accept, reject } => {
                let args = [
                    self.value(frame, condition)?,
                    self.value(frame, accept)?,
                    self.value(frame, reject)?,
                ];
                Ok(self.compute(args, |b, [c, x, y], out| operators::select(b, c, x, y, out)).0)
            }
            Expression::Relational { fun, argument } => {
                let args = [self.value(frame, argument)?];
                let (leaves, checked) =
                    self.compute(args, |b, [a], out| operators::relational(b, fun, a, out));
                checked.map(|()| leaves).map_err(|message| self.fault(frame, handle, message, None))
            }
            Expression::As { expr, kind, convert } => {
                let from = self
                    .ty(frame, expr)
                    .scalar()
                    .expect("operands of conversions are made of scalars");
                let to = naga::Scalar { kind, width: convert.unwrap_or(from.width) };
                if scalar_type(to).is_none() {
                    return Err(unsupported_scalar(to, self.span_of(frame, handle)));
                }
                let args = [self.value(frame, expr)?];
                Ok(self
                    .compute(args, |b, [a], out| {
                        operators::convert(b, from.kind, kind, convert.is_none(), a, out)
                    })
                    .0)
            }
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let mut args = [Leaves::default(); 4];
                for (leaves, arg) in args.iter_mut().zip([Some(arg), arg1, arg2, arg3]) {
                    if let Some(arg) = arg {
                        *leaves = self.value(frame, arg)?;
                    }
                }
                let ty = self.ty(frame, arg);
                let (leaves, checked) =
                    self.compute(args, |b, args, out| builtins::math(b, fun, ty, args, out));
                checked.map(|()| leaves).map_err(|message| self.fault(frame, handle, message, None))
            }
            ref other => match self.image(frame, other)? {
                Some(leaves) => Ok(leaves),
                None => {
                    let (message, help) = unsupported(other);
                    Err(self.fault(frame, handle, message, Some(help)))
                }
            },
        }
    }

    fn access(
        &mut self,
        frame: &mut Frame<'m>,
        base: Handle<Expression>,
        index: Handle<Expression>,
    ) -> Result<Operand, Fault> {
        let operand = self.operand(frame, base)?;
        let index = self.scalar(frame, index)?;
        let (count, stride) = self.layout.elements(self.ty(frame, base));
        // Indices out of range, including negative ones, refer to the last element.
        let known = self
            .builder
            .function()
            .constant(index)
            .map(|index| (index.min(count - 1) * stride, stride));
        Ok(match (operand, known) {
            (Operand::Leaves(leaves), Some(part)) => Operand::Leaves(self.part(leaves, part)),
            (Operand::Leaves(leaves), None) => {
                Operand::Leaves(self.select_element(leaves, Index { value: index, count, stride })?)
            }
            (Operand::Pointer(pointer), Some(part)) => Operand::Pointer(pointer.part(part)),
            (Operand::Pointer(pointer), None) => {
                Operand::Pointer(self.index(pointer, Index { value: index, count, stride }))
            }
            (Operand::Texture(_) | Operand::Sampler | Operand::Unevaluated, _) => {
                unreachable!("only values and pointers have elements")
            }
        })
    }

    /// Selects the element of a value at a dynamic index.
    fn select_element(&mut self, leaves: Leaves, index: Index) -> Result<Leaves, Fault> {
        self.charge(leaves.len())?;
        let (leaves, ()) = self.compute([leaves], |b, [values], out| {
            for k in 0..index.stride {
                out.push(index.choose(b, |_, i| values[(i * index.stride + k) as usize]));
            }
        });
        Ok(leaves)
    }

    fn literal(&mut self, literal: Literal, span: Span) -> Result<Leaves, Fault> {
        let value = match literal {
            Literal::F32(x) => self.builder.f32(x),
            Literal::I32(x) => self.builder.i32(x),
            Literal::U32(x) => self.builder.i32(x as i32),
            Literal::Bool(x) => self.builder.bool(x),
            other => return Err(unsupported_scalar(other.scalar(), span)),
        };
        Ok(self.push(&[value]))
    }
}

/// Explains why an expression cannot be translated; also returns help.
fn unsupported(expression: &Expression) -> (&'static str, &'static str) {
    match expression {
        Expression::Derivative { .. } => (
            "derivatives cannot be used in a material",
            "materials are evaluated at points, not on a grid of pixels",
        ),
        Expression::ArrayLength(_) => (
            "arrays without a fixed size cannot be used in a material",
            "give the array a constant size",
        ),
        Expression::AtomicResult { .. } | Expression::WorkGroupUniformLoadResult { .. } => (
            "atomics and workgroup variables cannot be used in a material",
            "evaluations share no memory",
        ),
        _ => ("this cannot be used in a material", "a material depends only on its arguments"),
    }
}
