//! The basic operations of the IR as naga expressions.

use super::emit::{FunctionBuilder, Operand, math, unary};
use super::module::Helper;
use crate::ir::{Op, Type};
use naga::{BinaryOperator, Expression, Handle, MathFunction, ScalarKind, UnaryOperator};

/// Appends an operation to a function.
pub fn emit(f: &mut FunctionBuilder<'_>, op: Op, args: &[Operand]) -> Operand {
    let known: Option<Vec<u32>> = args
        .iter()
        .map(|arg| match arg {
            Operand::Constant(_, bits) => Some(*bits),
            Operand::Expression(..) => None,
        })
        .collect();
    // WGSL rejects constant expressions that overflow, and there is nothing to compute.
    if let Some(bits) = &known
        && !op.is_load()
    {
        let ty = op.signature().result.unwrap_or_else(|| ty(args[1]));
        return Operand::Constant(ty, op.eval(bits));
    }
    match (op, args) {
        (Op::Load, &[Operand::Constant(_, table), index]) => {
            f.call_helper(Helper::Word { table }, &[index])
        }
        (op, &[Operand::Constant(_, access), ref rest @ ..]) if op.is_load() => {
            f.call_helper(Helper::Lookup { op, access }, rest)
        }
        (op, args) if op.is_composite() => f.call_helper(Helper::Composite(op), args),
        (Op::TruncateToInt, args) => f.call_helper(Helper::TruncateToInt, args),
        (Op::Any, &[condition]) => condition,
        (Op::Eq, &[a, b]) if is_same(a, b) => f.call_helper(Helper::IsNumber, &[a]),
        _ => {
            let expression = expression(f, op, args);
            f.operation(expression, args)
        }
    }
}

/// The type of a constant.
fn ty(operand: Operand) -> Type {
    match operand {
        Operand::Constant(ty, _) => ty,
        Operand::Expression(..) => unreachable!("all arguments are constants"),
    }
}

fn is_same(a: Operand, b: Operand) -> bool {
    matches!((a, b), (Operand::Expression(a, _), Operand::Expression(b, _)) if a == b)
}

/// The expression of a basic operation.
fn expression(f: &mut FunctionBuilder<'_>, op: Op, args: &[Operand]) -> Expression {
    let handles: Vec<Handle<Expression>> = match op {
        Op::SMin | Op::SMax | Op::SLt | Op::FromS32 => args.iter().map(|&a| f.signed(a)).collect(),
        Op::AShr => vec![f.signed(args[0]), shift_amount(f, args[1])],
        Op::Shl | Op::LShr => vec![f.handle(args[0]), shift_amount(f, args[1])],
        _ => args.iter().map(|&a| f.handle(a)).collect(),
    };
    let binary = |op| Expression::Binary { op, left: handles[0], right: handles[1] };
    let as_unsigned = |f: &mut FunctionBuilder<'_>, expression| {
        let expr = f.expression(expression);
        Expression::As { expr, kind: ScalarKind::Uint, convert: None }
    };
    // `b` if the comparison of two operands holds, else `a`, as min and max are defined.
    let second_if = |f: &mut FunctionBuilder<'_>, [left, right]: [Handle<Expression>; 2]| {
        let condition = f.binary(BinaryOperator::Less, left, right);
        Expression::Select { condition, accept: handles[1], reject: handles[0] }
    };
    match op {
        Op::Add | Op::IAdd => binary(BinaryOperator::Add),
        Op::Sub | Op::ISub => binary(BinaryOperator::Subtract),
        Op::Mul | Op::IMul => binary(BinaryOperator::Multiply),
        Op::Div => binary(BinaryOperator::Divide),
        Op::Neg => unary(UnaryOperator::Negate, handles[0]),
        Op::Abs => math(MathFunction::Abs, handles[0], None),
        Op::Sqrt => math(MathFunction::Sqrt, handles[0], None),
        Op::Floor => math(MathFunction::Floor, handles[0], None),
        Op::Ceil => math(MathFunction::Ceil, handles[0], None),
        Op::Trunc => math(MathFunction::Trunc, handles[0], None),
        Op::Round => math(MathFunction::Round, handles[0], None),
        Op::Min => second_if(f, [handles[1], handles[0]]),
        Op::Max => second_if(f, [handles[0], handles[1]]),
        Op::Lt | Op::SLt | Op::ULt => binary(BinaryOperator::Less),
        Op::Le => binary(BinaryOperator::LessEqual),
        Op::Eq | Op::IEq => binary(BinaryOperator::Equal),
        Op::UMin => math(MathFunction::Min, handles[0], Some(handles[1])),
        Op::UMax => math(MathFunction::Max, handles[0], Some(handles[1])),
        Op::SMin => as_unsigned(f, math(MathFunction::Min, handles[0], Some(handles[1]))),
        Op::SMax => as_unsigned(f, math(MathFunction::Max, handles[0], Some(handles[1]))),
        Op::And => binary(BinaryOperator::And),
        Op::Or => binary(BinaryOperator::InclusiveOr),
        Op::Xor => binary(BinaryOperator::ExclusiveOr),
        Op::Shl => binary(BinaryOperator::ShiftLeft),
        Op::LShr => binary(BinaryOperator::ShiftRight),
        Op::AShr => as_unsigned(f, binary(BinaryOperator::ShiftRight)),
        Op::BAnd => binary(BinaryOperator::LogicalAnd),
        Op::BOr => binary(BinaryOperator::LogicalOr),
        Op::BXor => binary(BinaryOperator::NotEqual),
        Op::BNot => unary(UnaryOperator::LogicalNot, handles[0]),
        Op::Select => {
            let [condition, accept, reject] = handles[..] else {
                unreachable!("a select has three arguments")
            };
            Expression::Select { condition, accept, reject }
        }
        Op::Bits => Expression::As { expr: handles[0], kind: ScalarKind::Uint, convert: None },
        Op::Float => Expression::As { expr: handles[0], kind: ScalarKind::Float, convert: None },
        Op::FromS32 => {
            Expression::As { expr: handles[0], kind: ScalarKind::Float, convert: Some(4) }
        }
        _ => unreachable!("{} is not an expression", op.name()),
    }
}

/// The low five bits of a shift amount.
fn shift_amount(f: &mut FunctionBuilder<'_>, amount: Operand) -> Handle<Expression> {
    if let Operand::Constant(ty, bits) = amount {
        return f.handle(Operand::Constant(ty, bits & 31));
    }
    let mask = Operand::Constant(Type::I32, 31);
    let (amount, mask) = (f.handle(amount), f.handle(mask));
    f.binary(BinaryOperator::And, amount, mask)
}
