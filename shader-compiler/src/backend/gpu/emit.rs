//! A naga function under construction. As an [`Emit`], it takes the expansions of composite
//! operations.

use super::module::{Helper, ModuleBuilder};
use crate::ir::{Emit, Op, Type};
use naga::{
    BinaryOperator, Expression, FunctionArgument, FunctionResult, Handle, Literal, LocalVariable,
    MathFunction, ScalarKind, Span, Statement, UnaryOperator,
};
use rustc_hash::FxHashMap;

/// Maximum number of operations in an expression; texts give the value a name then. It keeps lines
/// short, and the recursion of naga's writers shallow.
const MAX_NESTING: u8 = 4;

/// A value: a constant, or an expression.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// The bits of a constant.
    Constant(Type, u32),
    /// An expression, and how many operations are nested in it.
    Expression(Handle<Expression>, u8),
}

/// A function under construction.
pub struct FunctionBuilder<'m> {
    pub module: &'m mut ModuleBuilder,
    pub function: naga::Function,
    /// Blocks from the body to the innermost one.
    blocks: Vec<naga::Block>,
    literals: FxHashMap<(u8, u32), Handle<Expression>>,
}

impl<'m> FunctionBuilder<'m> {
    /// Creates a function without arguments.
    pub fn new(module: &'m mut ModuleBuilder, name: &str) -> FunctionBuilder<'m> {
        let name = Some(name.to_owned());
        FunctionBuilder {
            module,
            function: naga::Function { name, ..naga::Function::default() },
            blocks: vec![naga::Block::new()],
            literals: FxHashMap::default(),
        }
    }

    /// The finished function.
    pub fn finish(mut self) -> naga::Function {
        self.function.body = self.blocks.pop().expect("the body is a block");
        assert!(self.blocks.is_empty(), "nested blocks have ended");
        self.function
    }

    /// The finished function, which returns a value.
    pub fn finish_with(
        mut self,
        ty: Handle<naga::Type>,
        value: Handle<Expression>,
    ) -> naga::Function {
        self.function.result = Some(FunctionResult { ty, binding: None });
        self.statement(Statement::Return { value: Some(value) });
        self.finish()
    }

    /// Adds an argument.
    pub fn argument(&mut self, name: &str, ty: Handle<naga::Type>) -> Handle<Expression> {
        let index = self.function.arguments.len() as u32;
        let name = Some(name.to_owned());
        self.function.arguments.push(FunctionArgument { name, ty, binding: None });
        self.expression(Expression::FunctionArgument(index))
    }

    /// Adds an argument of an IR type.
    pub fn value_argument(&mut self, name: &str, ty: Type) -> Operand {
        let ty = self.module.value_type(ty);
        Operand::Expression(self.argument(name, ty), 0)
    }

    /// Adds a local variable, and returns a pointer to it.
    pub fn variable(&mut self, name: String, ty: Type) -> Handle<Expression> {
        let ty = self.module.value_type(ty);
        let variable = LocalVariable { name: Some(name), ty, init: None };
        let variable = self.function.local_variables.append(variable, Span::UNDEFINED);
        self.expression(Expression::LocalVariable(variable))
    }

    /// Appends a statement.
    pub fn statement(&mut self, statement: Statement) {
        let block = self.blocks.last_mut().expect("the body is a block");
        block.push(statement, Span::UNDEFINED);
    }

    /// Starts a block, to which statements are appended until [`end`](Self::end).
    pub fn begin(&mut self) {
        self.blocks.push(naga::Block::new());
    }

    /// Ends the innermost block.
    pub fn end(&mut self) -> naga::Block {
        self.blocks.pop().expect("a block has begun")
    }

    /// Adds an expression, evaluated here.
    pub fn expression(&mut self, expression: Expression) -> Handle<Expression> {
        let is_declared =
            expression.needs_pre_emit() || matches!(expression, Expression::CallResult(_));
        let handle = self.function.expressions.append(expression, Span::UNDEFINED);
        if !is_declared {
            self.statement(Statement::Emit(naga::Range::new_from_bounds(handle, handle)));
        }
        handle
    }

    /// Adds the result of an operation on operands.
    pub fn operation(&mut self, expression: Expression, operands: &[Operand]) -> Operand {
        let handle = self.expression(expression);
        let nesting = operands.iter().map(|operand| match operand {
            Operand::Constant(..) => 0,
            Operand::Expression(_, nesting) => *nesting,
        });
        let nesting = nesting.max().unwrap_or(0) + 1;
        if nesting <= MAX_NESTING {
            return Operand::Expression(handle, nesting);
        }
        self.function.named_expressions.insert(handle, "t".to_owned());
        Operand::Expression(handle, 0)
    }

    /// Calls a function that returns a value.
    pub fn call(
        &mut self,
        function: Handle<naga::Function>,
        arguments: Vec<Handle<Expression>>,
    ) -> Handle<Expression> {
        let result = self.expression(Expression::CallResult(function));
        self.statement(Statement::Call { function, arguments, result: Some(result) });
        result
    }

    /// Calls a helper.
    pub fn call_helper(&mut self, helper: Helper, operands: &[Operand]) -> Operand {
        let function = self.module.helper(helper);
        let arguments = operands.iter().map(|&operand| self.handle(operand)).collect();
        Operand::Expression(self.call(function, arguments), 0)
    }

    /// The expression of a value.
    pub fn handle(&mut self, operand: Operand) -> Handle<Expression> {
        match operand {
            Operand::Expression(handle, _) => handle,
            Operand::Constant(Type::F32, bits) => {
                let float = f32::from_bits(bits);
                if float.is_finite() {
                    return self.literal(Literal::F32(float), bits);
                }
                // Languages have no literals for it.
                let bits = Operand::Constant(Type::I32, bits);
                let float = self.call_helper(Helper::FloatFromBits, &[bits]);
                self.handle(float)
            }
            Operand::Constant(Type::I32, bits) => self.literal(Literal::U32(bits), bits),
            Operand::Constant(Type::Bool, bits) => self.literal(Literal::Bool(bits != 0), bits),
        }
    }

    /// An integer as a signed number.
    pub fn signed(&mut self, operand: Operand) -> Handle<Expression> {
        match operand {
            Operand::Constant(_, bits) => self.literal(Literal::I32(bits as i32), bits),
            Operand::Expression(expr, _) => self.bitcast(expr, ScalarKind::Sint),
        }
    }

    fn literal(&mut self, literal: Literal, bits: u32) -> Handle<Expression> {
        let kind = match literal {
            Literal::F32(_) => 0,
            Literal::U32(_) => 1,
            Literal::I32(_) => 2,
            _ => 3,
        };
        if let Some(&handle) = self.literals.get(&(kind, bits)) {
            return handle;
        }
        let handle = self.expression(Expression::Literal(literal));
        self.literals.insert((kind, bits), handle);
        handle
    }

    /// The same bits with another type.
    pub fn bitcast(&mut self, expr: Handle<Expression>, kind: ScalarKind) -> Handle<Expression> {
        self.expression(Expression::As { expr, kind, convert: None })
    }

    /// An operator with two operands.
    pub fn binary(
        &mut self,
        op: BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) -> Handle<Expression> {
        self.expression(Expression::Binary { op, left, right })
    }
}

impl Emit for FunctionBuilder<'_> {
    type Value = Operand;

    fn constant(&mut self, ty: Type, bits: u32) -> Operand {
        Operand::Constant(ty, bits)
    }

    fn op(&mut self, op: Op, args: &[Operand]) -> Operand {
        super::operations::emit(self, op, args)
    }

    fn known(&self, value: Operand) -> Option<u32> {
        match value {
            Operand::Constant(_, bits) => Some(bits),
            Operand::Expression(..) => None,
        }
    }
}

/// A built-in function of one or two arguments.
pub fn math(
    fun: MathFunction,
    arg: Handle<Expression>,
    arg1: Option<Handle<Expression>>,
) -> Expression {
    Expression::Math { fun, arg, arg1, arg2: None, arg3: None }
}

/// An operator with one operand.
pub fn unary(op: UnaryOperator, expr: Handle<Expression>) -> Expression {
    Expression::Unary { op, expr }
}
