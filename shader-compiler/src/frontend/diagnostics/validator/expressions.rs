//! Expressions that naga's validator rejects.

use super::{InvalidFunction, fallback, literal_error};
use crate::frontend::ShaderError;
use crate::frontend::diagnostics::{conversion, inner_name, type_name};
use crate::frontend::lexer::SourceRange;
use naga::valid::{ComposeError, ExpressionError, LiteralError, WidthError};
use naga::{BinaryOperator, Expression, Handle, TypeInner, UnaryOperator};

impl InvalidFunction<'_> {
    /// Describes operands of types that an operator does not apply to.
    fn wrong_operands(
        &self,
        op: BinaryOperator,
        left: &str,
        right: &str,
        location: SourceRange,
    ) -> ShaderError {
        let op = binary_operator(op);
        let error = self.source.error(format!("`{op}` does not apply to `{left}` and `{right}`"));
        let error = error.at(location, format!("`{left} {op} {right}`"));
        let is_number = |ty: &str| {
            ["f32", "f", "i32", "i", "u32", "u", "abstract-float", "abstract-int"]
                .iter()
                .any(|end| ty.ends_with(end))
        };
        let is_vector = |ty: &str| ty.starts_with("vec");
        if matches!(op, "&&" | "||") {
            error.help("it applies to `bool`")
        } else if is_vector(left) && is_vector(right) && left[..4] != right[..4] {
            error.help("both sides must have the same number of components")
        } else if left.starts_with("mat") || right.starts_with("mat") {
            error.help(
                "the left side must have as many columns as the right side has rows or components",
            )
        } else if matches!(op, "==" | "!=" | "<" | "<=" | ">" | ">=")
            && is_vector(left) != is_vector(right)
        {
            error.help("both sides must have the same type")
        } else if is_number(left) && is_number(right) {
            error.help("WGSL has no implicit conversions: write `f32(…)`, `i32(…)` or `u32(…)` around one side")
        } else {
            error
        }
    }

    /// Describes an invalid expression.
    pub(super) fn expression(
        &self,
        handle: Handle<Expression>,
        error: &ExpressionError,
    ) -> ShaderError {
        use ExpressionError as E;
        let location = self.location_of(handle).unwrap_or_else(|| self.location());
        let here =
            |message: String, label: &str| self.source.error(message).at(location.clone(), label);
        let callee = self.callee(&location);
        match error {
            E::InvalidBinaryOperandTypes { op, lhs_expr, rhs_expr, .. } => {
                self.wrong_operands(*op, &self.ty(*lhs_expr), &self.ty(*rhs_expr), location)
            }
            E::Literal(LiteralError::Width(WidthError::Abstract)) => {
                self.abstract_literal(handle, location)
            }
            E::Literal(literal) => here(literal_error(literal), "this constant"),
            E::InvalidUnaryOperandType(op, operand) => here(
                format!("`{}` does not apply to `{}`", unary_operator(*op), self.ty(*operand)),
                "this operation",
            ),
            E::InvalidIndexType(index) => {
                let found = self.ty(*index);
                let location = self
                    .location_of(*index)
                    .filter(|index| location.start <= index.start && index.end <= location.end)
                    .unwrap_or(location.clone());
                let error =
                    self.source.error(format!("an index must be `i32` or `u32`, but is `{found}`"));
                error
                    .at(location, format!("the index is `{found}`"))
                    .help("write `i32(…)` or `u32(…)`")
            }
            E::NegativeIndex(_) => here("the index is negative".to_owned(), "indices start at 0"),
            E::IndexOutOfBounds(base, index) => {
                let ty = match self.inner(*base) {
                    Some(TypeInner::Pointer { base, .. }) => type_name(self.module, base),
                    _ => self.ty(*base),
                };
                here(format!("the index {index} is out of range for `{ty}`"), "indices start at 0")
            }
            E::InvalidBaseType(base) => {
                here(format!("`{}` has no elements or members", self.ty(*base)), "accessed here")
            }
            E::InvalidPointerType(pointer) => {
                here(format!("`{}` is not a pointer", self.ty(*pointer)), "dereferenced here")
            }
            E::InvalidVectorType(base) => {
                here(format!("`{}` has no components", self.ty(*base)), "accessed here")
            }
            E::InvalidSwizzleComponent(..) => {
                here("the vector has no such component".to_owned(), "used here")
            }
            E::InvalidSplatType(value) => here(
                format!("`{}` cannot be converted to a vector", self.ty(*value)),
                "in this constructor",
            ),
            E::Compose(error) => self.compose(handle, error, location.clone(), callee),
            E::InvalidZeroValue(ty) => here(
                format!("`{}` has no zero value", type_name(self.module, *ty)),
                "in this constructor",
            ),
            E::SelectValuesTypeMismatch { accept, reject } => {
                let (reject, accept) =
                    (inner_name(self.module, reject), inner_name(self.module, accept));
                let error = here(
                    format!("`select` cannot choose between `{reject}` and `{accept}`"),
                    "in this call",
                );
                error.help("the two values of `select` must have the same type")
            }
            E::SelectConditionNotABool { actual } => {
                let actual = inner_name(self.module, actual);
                here(format!("the condition of `select` is `{actual}`"), "in this call")
                    .help("it must be `bool` or a vector of `bool`, and is the last argument")
            }
            E::InvalidBooleanVector(value) => here(
                format!(
                    "`{callee}` applies to `bool` and vectors of `bool`, not to `{}`",
                    self.ty(*value)
                ),
                "in this call",
            ),
            E::InvalidFloatArgument(value) => here(
                format!("`{callee}` applies to floats, not to `{}`", self.ty(*value)),
                "in this call",
            ),
            E::InvalidCastArgument => {
                let found = match self.function.expressions[handle] {
                    Expression::As { expr, .. } => self.ty(expr),
                    _ => String::new(),
                };
                here(format!("`{found}` cannot be converted by `{callee}`"), "in this conversion")
            }
            E::WrongArgumentCount(_) => {
                here(format!("wrong number of arguments for `{callee}`"), "in this call")
            }
            E::InvalidArgumentType(_, index, value) => here(
                format!("argument {} of `{callee}` cannot be `{}`", index + 1, self.ty(*value)),
                "in this call",
            ),
            E::MissingCapabilities(_) | E::UnsupportedWidth(..) => {
                here(format!("`{callee}` is not supported"), "used here")
            }
            E::ShiftAmountTooLarge { .. } => {
                here("shift by 32 bits or more".to_owned(), "integers have 32 bits")
            }
            E::DivideByZero => {
                here("division by zero".to_owned(), "the right side is the constant 0")
            }
            E::Type(_) => here("the types do not match".to_owned(), "in this expression"),
            E::InvalidDerivative => here("derivatives are not supported".to_owned(), "used here"),
            other => self
                .image(handle, other, location.clone())
                .unwrap_or_else(|| fallback(self.source, other, location)),
        }
    }

    /// Describes a constant that has no concrete type, because of the other operand.
    fn abstract_literal(&self, literal: Handle<Expression>, location: SourceRange) -> ShaderError {
        let user =
            self.function.expressions.iter().find_map(|(user, expression)| match *expression {
                Expression::Binary { op, left, right } if left == literal || right == literal => {
                    Some((user, op, left, right))
                }
                _ => None,
            });
        match user {
            Some((user, op, left, right)) => self.wrong_operands(
                op,
                &self.ty(left),
                &self.ty(right),
                self.location_of(user).unwrap_or(location),
            ),
            None => self
                .source
                .error("this constant cannot be converted to a type allowed here")
                .at(location, "used here"),
        }
    }

    /// Describes a constructor with wrong arguments.
    fn compose(
        &self,
        handle: Handle<Expression>,
        error: &ComposeError,
        location: SourceRange,
        callee: &str,
    ) -> ShaderError {
        let Expression::Compose { ty, ref components } = self.function.expressions[handle] else {
            return self
                .source
                .error("this cannot be constructed from these values")
                .at(location, "in this constructor");
        };
        let name = type_name(self.module, ty);
        let parts = match self.module.types[ty].inner {
            TypeInner::Struct { .. } => "members",
            TypeInner::Array { .. } => "elements",
            TypeInner::Matrix { .. } => "columns",
            _ => "components",
        };
        match error {
            ComposeError::ComponentCount { given, expected } => {
                let message = format!("`{name}` has {expected} {parts}, but is given {given}");
                self.source.error(message).at(location, "in this constructor")
            }
            ComposeError::ComponentType { index } => {
                let found = components
                    .get(*index as usize)
                    .map_or(String::new(), |&component| self.ty(component));
                let expected = match &self.module.types[ty].inner {
                    TypeInner::Struct { members, .. } => {
                        members.get(*index as usize).map(|member| type_name(self.module, member.ty))
                    }
                    TypeInner::Array { base, .. } => Some(type_name(self.module, *base)),
                    TypeInner::Matrix { rows, scalar, .. } => Some(inner_name(
                        self.module,
                        &TypeInner::Vector { size: *rows, scalar: *scalar },
                    )),
                    TypeInner::Vector { scalar, .. } => {
                        Some(inner_name(self.module, &TypeInner::Scalar(*scalar)))
                    }
                    _ => None,
                };
                let error = self
                    .source
                    .error(format!("argument {} of `{name}` cannot be `{found}`", index + 1));
                let error = error.at(location, "in this constructor");
                match expected {
                    Some(expected) => match conversion(&found, &expected) {
                        Some(help) => error.help(format!("it must be `{expected}`: {help}")),
                        None => error.help(format!("it must be `{expected}`")),
                    },
                    None => error,
                }
            }
            ComposeError::Type(_) => self
                .source
                .error(format!("`{callee}` has no constructor"))
                .at(location, "in this constructor"),
        }
    }
}

fn binary_operator(op: BinaryOperator) -> &'static str {
    use BinaryOperator as B;
    match op {
        B::Add => "+",
        B::Subtract => "-",
        B::Multiply => "*",
        B::Divide => "/",
        B::Modulo => "%",
        B::Equal => "==",
        B::NotEqual => "!=",
        B::Less => "<",
        B::LessEqual => "<=",
        B::Greater => ">",
        B::GreaterEqual => ">=",
        B::And => "&",
        B::ExclusiveOr => "^",
        B::InclusiveOr => "|",
        B::LogicalAnd => "&&",
        B::LogicalOr => "||",
        B::ShiftLeft => "<<",
        B::ShiftRight => ">>",
    }
}

fn unary_operator(op: UnaryOperator) -> &'static str {
    match op {
        UnaryOperator::Negate => "-",
        UnaryOperator::LogicalNot => "!",
        UnaryOperator::BitwiseNot => "~",
    }
}
