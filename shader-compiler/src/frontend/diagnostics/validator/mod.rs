//! Errors of naga's validator, which are structured data with handles into the module.

mod expressions;
mod statements;

use super::super::lexer::SourceRange;
use super::super::{ShaderError, Source};
use super::{clean_message, inner_name, presentable, type_name};
use naga::front::Typifier;
use naga::proc::ResolveContext;
use naga::valid::{
    ComposeError, ConstExpressionError, ConstantError, FunctionError, GlobalVariableError,
    LiteralError, LocalVariableError, OverrideError, TypeError, ValidationError, WidthError,
};
use naga::{Expression, Handle, Module, TypeInner, WithSpan};
use std::error::Error;

/// Describes an error of naga's validator.
pub(in crate::frontend) fn validation_error(
    source: &Source,
    module: &Module,
    error: &WithSpan<ValidationError>,
) -> ShaderError {
    let spans: Vec<SourceRange> = error.spans().filter_map(|(span, _)| span.to_range()).collect();
    let location = spans.last().cloned().unwrap_or(0..0);
    match error.as_inner() {
        ValidationError::Function { handle, source: cause, .. } => {
            let function = &module.functions[*handle];
            // The first span is the whole function.
            let span = module.functions.get_span(*handle);
            let function_range = span.to_range().unwrap_or(0..0);
            let locations =
                spans.into_iter().filter(|location| *location != function_range).collect();
            InvalidFunction { source, module, function, span, locations }.error(cause)
        }
        ValidationError::Type { handle, source: cause, .. } => {
            type_error(source, module, *handle, cause)
        }
        ValidationError::Constant { name, source: cause, .. } => {
            let message = match cause {
                ConstantError::InitializerExprType => {
                    format!("the value of `{name}` is not a constant expression")
                }
                ConstantError::InvalidType => {
                    format!("the value of `{name}` does not have the declared type")
                }
                ConstantError::NonConstructibleType => {
                    format!("`{name}` has a type that cannot be constructed")
                }
            };
            source.error(message).at(location, "in this declaration")
        }
        ValidationError::Override { name, source: cause, .. } => {
            let message = match cause {
                OverrideError::TypeNotScalar | OverrideError::NonConstructibleType => {
                    format!("the override `{name}` is not a scalar")
                }
                OverrideError::InvalidType => {
                    format!("the value of `{name}` does not have the declared type")
                }
                OverrideError::DuplicateID => {
                    format!("another override has the same `@id` as `{name}`")
                }
                _ => format!("the value of `{name}` is not a constant expression"),
            };
            source.error(message).at(location, "in this declaration")
        }
        ValidationError::GlobalVariable { handle, name, source: cause } => {
            let message = match cause {
                GlobalVariableError::InitializerType => {
                    format!("the value of `{name}` does not have the declared type")
                }
                GlobalVariableError::InitializerExprType => {
                    format!("the value of `{name}` is not a constant expression")
                }
                _ => format!("`{name}` cannot be a variable of this type"),
            };
            let error = source.error(message).at(location, "in this declaration");
            let ty = module.global_variables[*handle].ty;
            if is_resource(module, ty) {
                error.help(format!(
                    "declare textures and samplers without address space or value: `var {name}: {};`",
                    type_name(module, ty)
                ))
            } else {
                error
            }
        }
        ValidationError::ConstExpression { source: cause, .. } => {
            let message = match cause {
                ConstExpressionError::Literal(literal) => literal_error(literal),
                ConstExpressionError::Compose(ComposeError::ComponentCount { given, expected }) => {
                    format!("expected {expected} components, found {given}")
                }
                ConstExpressionError::Compose(_) => "a component has the wrong type".to_owned(),
                ConstExpressionError::Type(_) => {
                    "the types of these operands do not match".to_owned()
                }
                ConstExpressionError::Width(width) => width_error(width),
                _ => "this is not a constant expression".to_owned(),
            };
            source.error(message).at(location, "in this constant")
        }
        ValidationError::ArraySizeError { .. } => {
            source.error("an array must have at least one element").at(location, "its size")
        }
        other => fallback(source, other, location),
    }
}

/// Describes any other error by naga's innermost message.
fn fallback(source: &Source, error: &dyn Error, location: SourceRange) -> ShaderError {
    let mut error = error;
    while let Some(inner) = error.source() {
        error = inner;
    }
    source.error(presentable(&clean_message(&error.to_string()))).at(location, "here")
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
            format!("`{name}` is not supported; numbers are `f32`, `i32` or `u32`")
        }
        WidthError::Invalid(..) => {
            "numbers of this width are not supported; there are `f32`, `i32` and `u32`".to_owned()
        }
        WidthError::Abstract => {
            "this constant cannot be converted to a type allowed here".to_owned()
        }
    }
}

fn is_resource(module: &Module, ty: Handle<naga::Type>) -> bool {
    matches!(module.types[ty].inner, TypeInner::Image { .. } | TypeInner::Sampler { .. })
}

/// Describes a struct that has a texture or sampler as a member; `None` for other types.
fn member_error(source: &Source, module: &Module, ty: Handle<naga::Type>) -> Option<ShaderError> {
    let TypeInner::Struct { ref members, .. } = module.types[ty].inner else { return None };
    let member = members.iter().find(|member| is_resource(module, member.ty))?;
    let name = member.name.as_deref().unwrap_or("");
    let declared = source.member(module.types.get_span(ty), name);
    let error = source
        .error(format!("`{}` cannot hold a texture or sampler", type_name(module, ty)))
        .at(declared.ty, "this type");
    let ty = type_name(module, member.ty);
    Some(error.help(format!("declare it outside the struct: `var {name}: {ty};`")))
}

fn type_error(
    source: &Source,
    module: &Module,
    ty: Handle<naga::Type>,
    error: &TypeError,
) -> ShaderError {
    let location = module.types.get_span(ty).to_range().unwrap_or(0..0);
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
            format!("`{name}` contains a type that has no fixed size or cannot be stored")
        }
        TypeError::EmptyStruct => format!("`{name}` has no members"),
        TypeError::InvalidPointerBase(_) | TypeError::InvalidPointerToUnsized { .. } => {
            format!("the pointer type `{name}` is not allowed")
        }
        TypeError::UnresolvedOverride(_) | TypeError::UnsupportedSpecializedArrayLength(_) => {
            format!("the size of `{name}` is not a constant expression")
        }
        _ => format!("the type `{name}` is not allowed here"),
    };
    source.error(message).at(location, "this type")
}

/// A function that the validator rejects.
pub(super) struct InvalidFunction<'a> {
    pub source: &'a Source,
    module: &'a Module,
    pub function: &'a naga::Function,
    span: naga::Span,
    locations: Vec<SourceRange>,
}

impl InvalidFunction<'_> {
    fn name(&self) -> &str {
        self.function.name.as_deref().unwrap_or("")
    }

    fn function_range(&self) -> SourceRange {
        self.span.to_range().unwrap_or(0..0)
    }

    /// naga's innermost span, or the location of the function's name.
    fn location(&self) -> SourceRange {
        let location = self.locations.last().cloned();
        location.unwrap_or_else(|| self.source.declared_name(self.span))
    }

    fn error_here(&self, message: impl Into<String>, label: impl Into<String>) -> ShaderError {
        self.source.error(message).at(self.location(), label)
    }

    /// Type of an expression, if it has one.
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
            Err(_) => "an unknown type".to_owned(),
        }
    }

    /// Location of an expression. For a load without a span, the location of its variable.
    fn location_of(&self, expression: Handle<Expression>) -> Option<SourceRange> {
        let location = self.function.expressions.get_span(expression).to_range();
        location.or_else(|| match self.function.expressions[expression] {
            Expression::Load { pointer } => self.location_of(pointer),
            _ => None,
        })
    }

    fn at_expression(
        &self,
        message: impl Into<String>,
        expression: Handle<Expression>,
        label: impl Into<String>,
    ) -> ShaderError {
        let location = self.location_of(expression).unwrap_or_else(|| self.location());
        self.source.error(message).at(location, label)
    }

    /// Text of a call or an operation up to its opening parenthesis.
    pub fn callee(&self, location: &SourceRange) -> &str {
        let text = self.source.text().get(location.clone()).unwrap_or("");
        text.split('(').next().unwrap_or(text).trim()
    }

    /// Describes an error in the function.
    fn error(&self, error: &FunctionError) -> ShaderError {
        let name = self.name();
        match error {
            FunctionError::Expression { handle, source } => self.expression(*handle, source),
            FunctionError::LocalVariable { name, source, .. } => match source {
                LocalVariableError::InvalidType(ty) => {
                    let (problem, help) = match self.module.types[*ty].inner {
                        TypeInner::Array { size: naga::ArraySize::Dynamic, .. } => {
                            ("is an array without a size", "give its size, as in `array<f32, 4>`")
                        }
                        TypeInner::Array { size: naga::ArraySize::Pending(_), .. } => (
                            "is an array sized by an override",
                            "array sizes must be numbers or `const`",
                        ),
                        TypeInner::Image { .. } | TypeInner::Sampler { .. } => (
                            "cannot hold a texture or sampler",
                            "declare it at module scope, or name it with `let`",
                        ),
                        _ => ("has a type that a variable cannot have", "declare it with `let`"),
                    };
                    self.error_here(format!("`{name}` {problem}"), "in this declaration").help(help)
                }
                LocalVariableError::InitializerType => self.error_here(
                    format!("the value of `{name}` does not have the declared type"),
                    "in this declaration",
                ),
                LocalVariableError::NonConstOrOverrideInitializer => self.error_here(
                    format!("the value of `{name}` is not a constant expression"),
                    "in this declaration",
                ),
            },
            FunctionError::InvalidArgumentType { name, .. }
            | FunctionError::InvalidArgumentPointerSpace { name, .. } => self.error_here(
                format!("the parameter `{name}` has a type that cannot be passed"),
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
                    error.help("return the value instead of a pointer to it")
                } else if ty.starts_with("texture") || ty.starts_with("sampler") {
                    error.help(
                        "refer to it by name; functions may take textures and samplers as arguments",
                    )
                } else {
                    error.help("only types with a fixed size can be returned")
                }
            }
            FunctionError::BreakOutsideOfLoopOrSwitch => self.error_here(
                "`break` is outside of a loop or `switch`",
                "no loop or `switch` to leave",
            ),
            FunctionError::ContinueOutsideOfLoop => {
                self.error_here("`continue` is outside of a loop", "no loop to continue")
            }
            FunctionError::InvalidReturnSpot => self.error_here(
                "`return` is not allowed in a `continuing` block",
                "inside `continuing`",
            ),
            FunctionError::InvalidReturnType { expression, .. } => self.wrong_return(*expression),
            FunctionError::InvalidIfType(condition) => self.wrong_condition(*condition),
            FunctionError::InvalidSwitchType(value) => self.at_expression(
                format!("`switch` applies to integers, not to `{}`", self.ty(*value)),
                *value,
                "expected `i32` or `u32`",
            ),
            FunctionError::ConflictingSwitchCase(value) => self.conflicting_case(value),
            FunctionError::ConflictingCaseType => self.error_here(
                "a case does not have the type of the `switch` selector",
                "in this `switch`",
            ),
            FunctionError::MissingDefaultCase => {
                let location = self.location();
                let head = location.start..location.start + "switch".len();
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
                self.at_expression("cannot assign to this", *pointer, "not a variable")
            }
            FunctionError::InvalidCall { function, error } => self.wrong_call(*function, error),
            FunctionError::MissingCapability(_) | FunctionError::InvalidSubgroup(_) => {
                self.error_here("this operation is not supported", "used here")
            }
            FunctionError::PipelineInputRegularFunction { .. }
            | FunctionError::PipelineOutputRegularFunction => self
                .error_here("only entry points have `@location` and `@builtin`", "in this function")
                .help("remove the attribute"),
            other => fallback(self.source, other, self.location()),
        }
    }
}
