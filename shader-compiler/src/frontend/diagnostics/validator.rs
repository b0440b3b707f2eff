//! What naga's validator rejects.

use super::super::outline::{Kind, Place};
use super::super::{ShaderError, Source, contract};
use super::{conversion, inner_name, plain, presentable, type_name};
use naga::front::Typifier;
use naga::proc::ResolveContext;
use naga::valid::{
    CallError, ComposeError, ConstExpressionError, ConstantError, ExpressionError, FunctionError,
    GlobalVariableError, LiteralError, LocalVariableError, OverrideError, TypeError,
    ValidationError, WidthError,
};
use naga::{
    BinaryOperator, Expression, Handle, Module, Statement, TypeInner, UnaryOperator, WithSpan,
};
use std::error::Error;

/// The error for a module that naga's validator rejects.
pub(in crate::frontend) fn validation_error(
    source: &Source,
    module: &Module,
    error: &WithSpan<ValidationError>,
) -> ShaderError {
    let spans: Vec<Place> = error.spans().filter_map(|(span, _)| span.to_range()).collect();
    let place = spans.last().cloned().unwrap_or(0..0);
    match error.as_inner() {
        ValidationError::Function { handle, source: wrong, .. } => {
            let function = &module.functions[*handle];
            // The first place is the whole function.
            let whole = module.functions.get_span(*handle).to_range().unwrap_or(0..0);
            let places = spans.into_iter().filter(|place| *place != whole).collect();
            Invalid { source, module, function, whole, places }.error(wrong)
        }
        ValidationError::Type { handle, source: wrong, .. } => {
            type_error(source, module, *handle, wrong)
        }
        ValidationError::Constant { name, source: wrong, .. } => {
            let message = match wrong {
                ConstantError::InitializerExprType => {
                    format!("the value of `{name}` is not known when the shader is compiled")
                }
                ConstantError::InvalidType => format!("the value of `{name}` is not of its type"),
                ConstantError::NonConstructibleType => {
                    format!("`{name}` is of a type that has no values")
                }
            };
            source.error(message).at(place, "in this declaration")
        }
        ValidationError::Override { name, source: wrong, .. } => {
            let message = match wrong {
                OverrideError::TypeNotScalar | OverrideError::NonConstructibleType => {
                    format!("the override `{name}` is not a scalar")
                }
                OverrideError::InvalidType => format!("the value of `{name}` is not of its type"),
                OverrideError::DuplicateID => format!("another override has the `@id` of `{name}`"),
                _ => format!("the value of `{name}` is not known when the shader is compiled"),
            };
            source.error(message).at(place, "in this declaration")
        }
        ValidationError::GlobalVariable { handle, name, source: wrong } => {
            let message = match wrong {
                GlobalVariableError::InitializerType => {
                    format!("the value of `{name}` is not of its type")
                }
                GlobalVariableError::InitializerExprType => {
                    format!("the value of `{name}` is not known when the shader is compiled")
                }
                _ => format!("`{name}` cannot be a variable of this type"),
            };
            let error = source.error(message).at(place, "in this declaration");
            let ty = module.global_variables[*handle].ty;
            if is_resource(module, ty) {
                error.help(format!(
                    "textures and samplers are declared without more: `var {name}: {};`",
                    type_name(module, ty)
                ))
            } else {
                error
            }
        }
        ValidationError::ConstExpression { source: wrong, .. } => {
            let message = match wrong {
                ConstExpressionError::Literal(literal) => literal_error(literal),
                ConstExpressionError::Compose(ComposeError::ComponentCount { given, expected }) => {
                    format!("{expected} components are expected, but {given} are given")
                }
                ConstExpressionError::Compose(_) => {
                    "a component is of another type than expected".to_owned()
                }
                ConstExpressionError::Type(_) => "these operands do not go together".to_owned(),
                ConstExpressionError::Width(width) => width_error(width),
                _ => "this is not known when the shader is compiled".to_owned(),
            };
            source.error(message).at(place, "in this constant")
        }
        ValidationError::ArraySizeError { .. } => {
            source.error("an array has at least one element").at(place, "this is its size")
        }
        other => fallback(source, other, place),
    }
}

/// An error that is not told above: the innermost of naga's, cleaned.
fn fallback(source: &Source, error: &dyn Error, place: Place) -> ShaderError {
    let mut error = error;
    while let Some(inner) = error.source() {
        error = inner;
    }
    source.error(presentable(&plain(&error.to_string()))).at(place, "here")
}

fn literal_error(error: &LiteralError) -> String {
    match error {
        LiteralError::NaN | LiteralError::Infinity => "this constant is not finite".to_owned(),
        LiteralError::Width(width) => width_error(width),
    }
}

fn width_error(error: &WidthError) -> String {
    match error {
        WidthError::MissingCapability { name, .. } => {
            format!("`{name}` is not supported: numbers are `f32`, `i32` or `u32`")
        }
        WidthError::Invalid(..) => {
            "numbers of this width are not supported: there are `f32`, `i32` and `u32`".to_owned()
        }
        WidthError::Abstract => "this constant fits no type here".to_owned(),
    }
}

fn is_resource(module: &Module, ty: Handle<naga::Type>) -> bool {
    matches!(module.types[ty].inner, TypeInner::Image { .. } | TypeInner::Sampler { .. })
}

/// The error for a struct with a member that is a texture or sampler.
fn member_error(source: &Source, module: &Module, ty: Handle<naga::Type>) -> Option<ShaderError> {
    let TypeInner::Struct { ref members, .. } = module.types[ty].inner else { return None };
    let name = type_name(module, ty);
    let k = members.iter().position(|member| is_resource(module, member.ty))?;
    let outline = source.outline.structure(source.text(), &name)?.members.get(k)?;
    let (member, ty) = (&source.text()[outline.name.clone()], type_name(module, members[k].ty));
    let error = source
        .error(format!("`{name}` cannot hold a texture or sampler"))
        .at(outline.ty.clone(), "this type");
    Some(error.help(format!("declare it outside of the struct: `var {member}: {ty};`")))
}

fn type_error(
    source: &Source,
    module: &Module,
    ty: Handle<naga::Type>,
    error: &TypeError,
) -> ShaderError {
    let place = module.types.get_span(ty).to_range().unwrap_or(0..0);
    let name = type_name(module, ty);
    if let Some(error) = member_error(source, module, ty) {
        return error;
    }
    let message = match error {
        TypeError::WidthError(width) => width_error(width),
        TypeError::MissingCapability(_) => format!("`{name}` is not supported"),
        TypeError::InvalidDynamicArray(..)
        | TypeError::InvalidArrayBaseType(_)
        | TypeError::InvalidData(_) => {
            format!(
                "`{name}` holds something of a type without a size, or one that cannot be stored"
            )
        }
        TypeError::EmptyStruct => format!("`{name}` has no members"),
        TypeError::InvalidPointerBase(_) | TypeError::InvalidPointerToUnsized { .. } => {
            format!("there are no pointers `{name}`")
        }
        TypeError::UnresolvedOverride(_) | TypeError::UnsupportedSpecializedArrayLength(_) => {
            format!("the size of `{name}` is not known when the shader is compiled")
        }
        _ => format!("the type `{name}` is not possible here"),
    };
    source.error(message).at(place, "this type")
}

/// A function that the validator rejects.
pub(super) struct Invalid<'a> {
    pub source: &'a Source,
    module: &'a Module,
    pub function: &'a naga::Function,
    whole: Place,
    places: Vec<Place>,
}

impl Invalid<'_> {
    fn name(&self) -> &str {
        self.function.name.as_deref().unwrap_or("")
    }

    /// The most particular place that naga gives; the function's name where it gives none.
    fn place(&self) -> Place {
        let outline = self.source.outline.function(self.source.text(), self.name());
        self.places
            .last()
            .cloned()
            .or_else(|| outline.map(|function| function.name.clone()))
            .unwrap_or(self.whole.clone())
    }

    fn error_here(&self, message: impl Into<String>, label: impl Into<String>) -> ShaderError {
        self.source.error(message).at(self.place(), label)
    }

    /// Type of an expression, as far as it has one.
    fn inner(&self, expression: Handle<Expression>) -> Option<TypeInner> {
        let context = ResolveContext::with_locals(
            self.module,
            &self.function.local_variables,
            &self.function.arguments,
        );
        let mut typifier = Typifier::new();
        typifier.grow(expression, &self.function.expressions, &context).ok()?;
        Some(typifier.get(expression, &self.module.types).clone())
    }

    /// Name of the type of an expression.
    pub fn ty(&self, expression: Handle<Expression>) -> String {
        let context = ResolveContext::with_locals(
            self.module,
            &self.function.local_variables,
            &self.function.arguments,
        );
        let mut typifier = Typifier::new();
        match typifier.grow(expression, &self.function.expressions, &context) {
            Ok(()) => match &typifier[expression] {
                naga::proc::TypeResolution::Handle(ty) => type_name(self.module, *ty),
                naga::proc::TypeResolution::Value(inner) => inner_name(self.module, inner),
            },
            Err(_) => "something".to_owned(),
        }
    }

    /// Place of an expression: loads of variables have that of the variable, or none.
    fn place_of(&self, expression: Handle<Expression>) -> Option<Place> {
        let place = self.function.expressions.get_span(expression).to_range();
        place.or_else(|| match self.function.expressions[expression] {
            Expression::Load { pointer } => self.place_of(pointer),
            _ => None,
        })
    }

    /// Place of an expression that a statement uses; of the statement, where the expression has its
    /// place elsewhere, as parameters and names that `let` declares have.
    fn place_in(&self, expression: Handle<Expression>, uses: &dyn Fn(&Statement) -> bool) -> Place {
        let place = self.place_of(expression);
        let Some(statement) = statement_of(&self.function.body, uses) else {
            return place.unwrap_or_else(|| self.place());
        };
        let text = self.source.text();
        let head = text[statement.clone()]
            .find(['{', '\n'])
            .map_or(statement.end, |k| statement.start + k);
        let head = statement.start..statement.start + text[statement.start..head].trim_end().len();
        place
            .filter(|place| statement.start <= place.start && place.end <= statement.end)
            .unwrap_or(head)
    }

    fn at_expression(
        &self,
        message: impl Into<String>,
        expression: Handle<Expression>,
        label: impl Into<String>,
    ) -> ShaderError {
        let place = self.place_of(expression).unwrap_or_else(|| self.place());
        self.source.error(message).at(place, label)
    }

    /// Text of a call or an operation up to its bracket.
    pub fn callee(&self, place: &Place) -> &str {
        let text = self.source.text().get(place.clone()).unwrap_or("");
        text.split('(').next().unwrap_or(text).trim()
    }

    fn error(&self, error: &FunctionError) -> ShaderError {
        let name = self.name();
        match error {
            FunctionError::Expression { handle, source } => self.expression(*handle, source),
            FunctionError::LocalVariable { name, source, .. } => match source {
                LocalVariableError::InvalidType(ty) => {
                    let (problem, help) = match self.module.types[*ty].inner {
                        TypeInner::Array { size: naga::ArraySize::Dynamic, .. } => {
                            ("is an array without a size", "write it as in `array<f32, 4>`")
                        }
                        TypeInner::Array { size: naga::ArraySize::Pending(_), .. } => (
                            "is an array whose size is an override",
                            "sizes of arrays are numbers or `const`",
                        ),
                        TypeInner::Image { .. } | TypeInner::Sampler { .. } => (
                            "cannot hold a texture or sampler",
                            "declare it outside of functions, or give another name with `let`",
                        ),
                        _ => ("is of a type that a variable cannot have", "declare it with `let`"),
                    };
                    self.error_here(format!("`{name}` {problem}"), "in this declaration").help(help)
                }
                LocalVariableError::InitializerType => self.error_here(
                    format!("the value of `{name}` is not of its type"),
                    "in this declaration",
                ),
                LocalVariableError::NonConstOrOverrideInitializer => self.error_here(
                    format!("the value of `{name}` is not known when the shader is compiled"),
                    "in this declaration",
                ),
            },
            FunctionError::InvalidArgumentType { name, .. }
            | FunctionError::InvalidArgumentPointerSpace { name, .. } => self.error_here(
                format!("the parameter `{name}` is of a type that cannot be passed"),
                "in this function",
            ),
            FunctionError::NonConstructibleReturnType => {
                let ty = self
                    .function
                    .result
                    .as_ref()
                    .map_or(String::new(), |result| type_name(self.module, result.ty));
                let error =
                    self.error_here(format!("`{name}` cannot return `{ty}`"), "this function");
                if ty.starts_with("ptr") {
                    error.help("return a value instead of a pointer to it")
                } else if ty.starts_with("texture") || ty.starts_with("sampler") {
                    error.help(
                        "use it by its name; functions take textures and samplers as arguments",
                    )
                } else {
                    error.help("only types of a fixed size can be returned")
                }
            }
            FunctionError::BreakOutsideOfLoopOrSwitch => self.error_here(
                "`break` stands outside of loops and `switch`",
                "nothing to leave here",
            ),
            FunctionError::ContinueOutsideOfLoop => {
                self.error_here("`continue` stands outside of loops", "nothing to go on with here")
            }
            FunctionError::InvalidReturnSpot => self
                .error_here("`return` is not possible in a `continuing` block", "in such a block"),
            FunctionError::InvalidReturnType { expression, .. } => self.wrong_return(*expression),
            FunctionError::InvalidIfType(condition) => self.wrong_condition(*condition),
            FunctionError::InvalidSwitchType(value) => self.at_expression(
                format!("`switch` works on integers, not on `{}`", self.ty(*value)),
                *value,
                "expected `i32` or `u32`",
            ),
            FunctionError::ConflictingSwitchCase(value) => self.conflicting_case(value),
            FunctionError::ConflictingCaseType => self.error_here(
                "a case is of another type than the value of the `switch`",
                "in this `switch`",
            ),
            FunctionError::MissingDefaultCase => {
                let place = self.place();
                let head = place.start..place.start + "switch".len();
                self.source
                    .error("the `switch` has no `default`")
                    .at(head, "this `switch`")
                    .help("add `default: { }`")
            }
            FunctionError::MultipleDefaultCases => {
                self.error_here("the `switch` has two `default` cases", "in this `switch`")
            }
            FunctionError::InvalidStoreTypes { pointer, value } => {
                self.wrong_store(*pointer, *value)
            }
            FunctionError::InvalidStorePointer(pointer) => {
                self.at_expression("this cannot be assigned to", *pointer, "not a variable")
            }
            FunctionError::InvalidCall { function, error } => self.wrong_call(*function, error),
            FunctionError::MissingCapability(_) | FunctionError::InvalidSubgroup(_) => {
                self.error_here("this operation is not supported", "used here")
            }
            FunctionError::PipelineInputRegularFunction { .. }
            | FunctionError::PipelineOutputRegularFunction => self
                .error_here("only entry points have `@location` and `@builtin`", "in this function")
                .help("leave the attribute out"),
            other => fallback(self.source, other, self.place()),
        }
    }

    fn wrong_return(&self, value: Option<Handle<Expression>>) -> ShaderError {
        let name = self.name();
        let declared =
            self.function.result.as_ref().map(|result| type_name(self.module, result.ty));
        let returned = |value| {
            self.place_in(value, &|statement| matches!(statement, Statement::Return { value: Some(v) } if *v == value))
        };
        match (value, declared) {
            (Some(value), Some(declared)) => {
                let found = self.ty(value);
                let message = format!(
                    "`{name}` returns `{found}` here, but is declared to return `{declared}`"
                );
                let error =
                    self.source.error(message).at(returned(value), format!("this is `{found}`"));
                ShaderError { help: conversion(&found, &declared), ..error }
            }
            (Some(value), None) => {
                let found = self.ty(value);
                let message =
                    format!("`{name}` returns `{found}` here, but is declared to return nothing");
                let error =
                    self.source.error(message).at(returned(value), format!("this is `{found}`"));
                error.help(format!("declare `{name}` with `-> {found}`"))
            }
            (None, declared) => {
                let declared = declared.unwrap_or_default();
                if self.places.is_empty() {
                    let end = self.whole.end.saturating_sub(1)..self.whole.end;
                    let error = self
                        .source
                        .error(format!("`{name}` can end without a `return`"))
                        .at(end, "reached by some way");
                    return error
                        .help(format!("each way through `{name}` must return `{declared}`"));
                }
                self.error_here(
                    format!(
                        "`{name}` returns nothing here, but is declared to return `{declared}`"
                    ),
                    "a value is missing",
                )
            }
        }
    }

    fn wrong_condition(&self, condition: Handle<Expression>) -> ShaderError {
        let found = self.ty(condition);
        let place = self.place_in(condition, &|statement| match statement {
            Statement::If { condition: c, .. } => *c == condition,
            Statement::Loop { break_if, .. } => *break_if == Some(condition),
            _ => false,
        });
        let error = self.source.error(format!("the condition is `{found}`, but must be `bool`"));
        let error = error.at(place, format!("this is `{found}`"));
        if found.starts_with("vec") && found.contains("bool") {
            error.help("write `all(…)` or `any(…)`")
        } else {
            error.help("compare with something, as in `x != 0`")
        }
    }

    fn conflicting_case(&self, value: &naga::SwitchValue) -> ShaderError {
        let value = match value {
            naga::SwitchValue::I32(x) => x.to_string(),
            naga::SwitchValue::U32(x) => format!("{x}u"),
            naga::SwitchValue::Default => "default".to_owned(),
        };
        let outline = &self.source.outline;
        let text = self.source.text();
        let bare = value.trim_end_matches('u');
        let places: Vec<_> = outline
            .tokens
            .iter()
            .filter(|token| self.whole.contains(&token.place.start) && token.kind == Kind::Number)
            .filter(|token| text[token.place.clone()].trim_end_matches(['u', 'i']) == bare)
            .map(|token| token.place.clone())
            .collect();
        let error = self.source.error(format!("two cases of the `switch` are for `{value}`"));
        match &places[..] {
            [first, second] => {
                error.at(second.clone(), "the second").at(first.clone(), "the first")
            }
            _ => error.at(self.place(), "in this function"),
        }
    }

    fn wrong_store(&self, pointer: Handle<Expression>, value: Handle<Expression>) -> ShaderError {
        let found = self.ty(value);
        let wanted = match self.inner(pointer) {
            Some(TypeInner::Pointer { base, .. }) => type_name(self.module, base),
            Some(TypeInner::ValuePointer { size, scalar, .. }) => match size {
                Some(size) => inner_name(self.module, &TypeInner::Vector { size, scalar }),
                None => inner_name(self.module, &TypeInner::Scalar(scalar)),
            },
            _ => {
                return self.at_expression("this cannot be assigned to", pointer, "not a variable");
            }
        };
        let variable = match self.function.expressions[pointer] {
            Expression::LocalVariable(variable) => Some(variable),
            _ => None,
        };
        let name =
            variable.and_then(|variable| self.function.local_variables[variable].name.as_deref());
        let place = self.place_in(
            value,
            &|statement| matches!(statement, Statement::Store { pointer: p, value: v } if (*p, *v) == (pointer, value)),
        );
        let message = match name {
            Some(name) => format!("`{found}` cannot be assigned to `{name}`, which is `{wanted}`"),
            None => format!("`{found}` cannot be assigned to a place of type `{wanted}`"),
        };
        let mut error = self.source.error(message).at(place, format!("this is `{found}`"));
        if let Some(place) = variable
            .and_then(|variable| self.function.local_variables.get_span(variable).to_range())
        {
            error = error.at(place, format!("declared here, as `{wanted}`"));
        }
        ShaderError { help: conversion(&found, &wanted), ..error }
    }

    fn wrong_call(&self, callee: Handle<naga::Function>, error: &CallError) -> ShaderError {
        let callee = &self.module.functions[callee];
        let name = callee.name.as_deref().unwrap_or("");
        let declared = self
            .source
            .outline
            .function(self.source.text(), name)
            .map(|outline| outline.signature.clone());
        let call = self.places.first().cloned().unwrap_or_else(|| self.place());
        let (message, place, label, help) = match error {
            CallError::ArgumentCount { required, seen } => (
                format!("`{name}` takes {required} arguments, but is given {seen}"),
                call,
                "in this call".to_owned(),
                None,
            ),
            CallError::ArgumentType { index, required, seen_expression } => {
                let (found, wanted) =
                    (self.ty(*seen_expression), type_name(self.module, *required));
                let parameter = callee
                    .arguments
                    .get(*index)
                    .and_then(|argument| argument.name.as_deref())
                    .unwrap_or("");
                let message = format!(
                    "argument {} of `{name}`, `{parameter}`, must be `{wanted}`, but is `{found}`",
                    index + 1
                );
                let argument = self
                    .places
                    .get(1)
                    .filter(|place| call.start <= place.start && place.end <= call.end);
                let place = argument.unwrap_or(&call).clone();
                (message, place, format!("this is `{found}`"), conversion(&found, &wanted))
            }
            _ => return fallback(self.source, error, call),
        };
        let told = self.source.error(message).at(place, label);
        let told = match declared {
            Some(declared) => told.at(declared, "declared here"),
            None => told,
        };
        ShaderError { help, ..told }
    }

    fn operands(&self, op: BinaryOperator, left: &str, right: &str, place: Place) -> ShaderError {
        let op = binary(op);
        let error =
            self.source.error(format!("`{op}` does not work between `{left}` and `{right}`"));
        let error = error.at(place, format!("`{left} {op} {right}`"));
        let number = |ty: &str| {
            ["f32", "f", "i32", "i", "u32", "u", "abstract-float", "abstract-int"]
                .iter()
                .any(|end| ty.ends_with(end))
        };
        let vector = |ty: &str| ty.starts_with("vec");
        if matches!(op, "&&" | "||") {
            error.help("it works on `bool`")
        } else if vector(left) && vector(right) && left[..4] != right[..4] {
            error.help("both sides must have equally many components")
        } else if left.starts_with("mat") || right.starts_with("mat") {
            error.help(
                "columns of the left side must be as many as components or rows of the right side",
            )
        } else if matches!(op, "==" | "!=" | "<" | "<=" | ">" | ">=")
            && vector(left) != vector(right)
        {
            error.help("both sides must be of the same type")
        } else if number(left) && number(right) {
            error.help("WGSL converts nothing by itself: write `f32(…)`, `i32(…)` or `u32(…)` around one side")
        } else {
            error
        }
    }

    fn expression(&self, handle: Handle<Expression>, error: &ExpressionError) -> ShaderError {
        use ExpressionError as E;
        let place = self.place_of(handle).unwrap_or_else(|| self.place());
        let here =
            |message: String, label: &str| self.source.error(message).at(place.clone(), label);
        let callee = self.callee(&place);
        match error {
            E::InvalidBinaryOperandTypes { op, lhs_expr, rhs_expr, .. } => {
                self.operands(*op, &self.ty(*lhs_expr), &self.ty(*rhs_expr), place)
            }
            E::Literal(LiteralError::Width(WidthError::Abstract)) => {
                self.abstract_literal(handle, place)
            }
            E::Literal(literal) => here(literal_error(literal), "this constant"),
            E::InvalidUnaryOperandType(op, operand) => here(
                format!("`{}` does not work on `{}`", unary(*op), self.ty(*operand)),
                "this operation",
            ),
            E::InvalidIndexType(index) => {
                let found = self.ty(*index);
                let place = self
                    .place_of(*index)
                    .filter(|index| place.start <= index.start && index.end <= place.end)
                    .unwrap_or(place.clone());
                let error =
                    self.source.error(format!("an index must be `i32` or `u32`, but is `{found}`"));
                error
                    .at(place, format!("the index is `{found}`"))
                    .help("write `i32(…)` or `u32(…)`")
            }
            E::NegativeIndex(_) => {
                here("the index is below 0".to_owned(), "elements are counted from 0")
            }
            E::IndexOutOfBounds(base, index) => {
                let ty = match self.inner(*base) {
                    Some(TypeInner::Pointer { base, .. }) => type_name(self.module, base),
                    _ => self.ty(*base),
                };
                here(format!("the index {index} is beyond `{ty}`"), "elements are counted from 0")
            }
            E::InvalidBaseType(base) => here(
                format!("`{}` has no elements or members", self.ty(*base)),
                "used as if it had",
            ),
            E::InvalidPointerType(pointer) => {
                here(format!("`{}` is not a pointer", self.ty(*pointer)), "read through here")
            }
            E::InvalidVectorType(base) => {
                here(format!("`{}` has no components", self.ty(*base)), "used as if it had")
            }
            E::InvalidSwizzleComponent(..) => {
                here("the vector has no such component".to_owned(), "used here")
            }
            E::InvalidSplatType(value) => here(
                format!("`{}` cannot be made a vector", self.ty(*value)),
                "in this constructor",
            ),
            E::Compose(error) => self.compose(handle, error, place.clone(), callee),
            E::InvalidZeroValue(ty) => here(
                format!("`{}` has no zero", type_name(self.module, *ty)),
                "in this constructor",
            ),
            E::SelectValuesTypeMismatch { accept, reject } => {
                let (reject, accept) =
                    (inner_name(self.module, reject), inner_name(self.module, accept));
                let error =
                    here(format!("`select` is given `{reject}` and `{accept}`"), "in this call");
                error.help("the values for false and for true must be of the same type")
            }
            E::SelectConditionNotABool { actual } => {
                let actual = inner_name(self.module, actual);
                here(format!("the condition of `select` is `{actual}`"), "in this call")
                    .help("it must be `bool`, or a vector of them; it comes last")
            }
            E::InvalidBooleanVector(value) => here(
                format!(
                    "`{callee}` works on `bool` and vectors of them, not on `{}`",
                    self.ty(*value)
                ),
                "in this call",
            ),
            E::InvalidFloatArgument(value) => here(
                format!("`{callee}` works on floats, not on `{}`", self.ty(*value)),
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
                here(format!("`{callee}` is given too few or too many arguments"), "in this call")
            }
            E::InvalidArgumentType(_, index, value) => here(
                format!("argument {} of `{callee}` cannot be `{}`", index + 1, self.ty(*value)),
                "in this call",
            ),
            E::MissingCapabilities(_) | E::UnsupportedWidth(..) => {
                here(format!("`{callee}` is not supported"), "used here")
            }
            E::ShiftAmountTooLarge { .. } => {
                here("a shift by 32 or more".to_owned(), "integers have 32 bits")
            }
            E::DivideByZero => {
                here("a division by zero".to_owned(), "the right side is the constant 0")
            }
            E::Type(_) => here("the types do not go together".to_owned(), "in this expression"),
            E::InvalidDerivative => here("derivatives are not supported".to_owned(), "used here"),
            other => self
                .image(handle, other, place.clone())
                .unwrap_or_else(|| fallback(self.source, other, place)),
        }
    }

    /// A constant that takes on no type, since the other operand does not let it.
    fn abstract_literal(&self, literal: Handle<Expression>, place: Place) -> ShaderError {
        let user =
            self.function.expressions.iter().find_map(|(user, expression)| match *expression {
                Expression::Binary { op, left, right } if left == literal || right == literal => {
                    Some((user, op, left, right))
                }
                _ => None,
            });
        match user {
            Some((user, op, left, right)) => self.operands(
                op,
                &self.ty(left),
                &self.ty(right),
                self.place_of(user).unwrap_or(place),
            ),
            None => self.source.error("this constant fits no type here").at(place, "used here"),
        }
    }

    fn compose(
        &self,
        handle: Handle<Expression>,
        error: &ComposeError,
        place: Place,
        callee: &str,
    ) -> ShaderError {
        let Expression::Compose { ty, ref components } = self.function.expressions[handle] else {
            return self
                .source
                .error("this cannot be built of these parts")
                .at(place, "in this constructor");
        };
        let name = type_name(self.module, ty);
        let what = match self.module.types[ty].inner {
            TypeInner::Struct { .. } => "members",
            TypeInner::Array { .. } => "elements",
            TypeInner::Matrix { .. } => "columns",
            _ => "components",
        };
        match error {
            ComposeError::ComponentCount { given, expected } => {
                let message = format!("`{name}` has {expected} {what}, but is given {given}");
                self.source.error(message).at(place, "in this constructor")
            }
            ComposeError::ComponentType { index } => {
                let found = components
                    .get(*index as usize)
                    .map_or(String::new(), |&component| self.ty(component));
                let wanted = match &self.module.types[ty].inner {
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
                let error = error.at(place, "in this constructor");
                match wanted {
                    Some(wanted) => match conversion(&found, &wanted) {
                        Some(help) => error.help(format!("it must be `{wanted}`: {help}")),
                        None => error.help(format!("it must be `{wanted}`")),
                    },
                    None => error,
                }
            }
            ComposeError::Type(_) => self
                .source
                .error(format!("`{callee}` cannot be built of parts"))
                .at(place, "in this constructor"),
        }
    }
}

/// Place of the innermost statement that a test holds for.
fn statement_of(block: &naga::Block, wanted: &dyn Fn(&Statement) -> bool) -> Option<Place> {
    block.span_iter().find_map(|(statement, span)| {
        let inside = |block: &naga::Block| block.iter().any(wanted);
        let blocks = contract::inner_blocks(statement);
        let found = wanted(statement) || blocks.iter().any(|block| inside(block));
        let inner = blocks.into_iter().find_map(|block| statement_of(block, wanted));
        inner.or_else(|| span.to_range().filter(|_| found))
    })
}

fn binary(op: BinaryOperator) -> &'static str {
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

fn unary(op: UnaryOperator) -> &'static str {
    match op {
        UnaryOperator::Negate => "-",
        UnaryOperator::LogicalNot => "!",
        UnaryOperator::BitwiseNot => "~",
    }
}
