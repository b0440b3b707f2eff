//! Statements and calls that naga's validator rejects.

use super::{InvalidFunction, fallback};
use crate::frontend::diagnostics::{conversion, inner_name, type_name};
use crate::frontend::lexer::{SourceRange, TokenKind};
use crate::frontend::{ShaderError, contract};
use naga::valid::CallError;
use naga::{Expression, Handle, Statement, TypeInner};

impl InvalidFunction<'_> {
    /// Location of an expression within the statement that uses it. If the expression is elsewhere,
    /// such as a parameter or a `let` value, the location of the statement.
    fn location_in(
        &self,
        expression: Handle<Expression>,
        uses: &dyn Fn(&Statement) -> bool,
    ) -> SourceRange {
        let location = self.location_of(expression);
        let Some(statement) = statement_of(&self.function.body, uses) else {
            return location.unwrap_or_else(|| self.location());
        };
        let text = self.source.text();
        let head = text[statement.clone()]
            .find(['{', '\n'])
            .map_or(statement.end, |k| statement.start + k);
        let head = statement.start..statement.start + text[statement.start..head].trim_end().len();
        location
            .filter(|location| statement.start <= location.start && location.end <= statement.end)
            .unwrap_or(head)
    }

    pub(super) fn wrong_return(&self, value: Option<Handle<Expression>>) -> ShaderError {
        let name = self.name();
        let declared =
            self.function.result.as_ref().map(|result| type_name(self.module, result.ty));
        let returned = |value| {
            self.location_in(value, &|statement| match statement {
                Statement::Return { value: Some(v) } => *v == value,
                _ => false,
            })
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
                if self.locations.is_empty() {
                    let end = self.function_range().end;
                    let end = end.saturating_sub(1)..end;
                    let error = self
                        .source
                        .error(format!("`{name}` can end without a `return`"))
                        .at(end, "this end is reachable");
                    return error
                        .help(format!("every path through `{name}` must return `{declared}`"));
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

    pub(super) fn wrong_condition(&self, condition: Handle<Expression>) -> ShaderError {
        let found = self.ty(condition);
        let location = self.location_in(condition, &|statement| match statement {
            Statement::If { condition: c, .. } => *c == condition,
            Statement::Loop { break_if, .. } => *break_if == Some(condition),
            _ => false,
        });
        let error = self.source.error(format!("the condition is `{found}`, but must be `bool`"));
        let error = error.at(location, format!("this is `{found}`"));
        if found.starts_with("vec") && found.contains("bool") {
            error.help("write `all(…)` or `any(…)`")
        } else {
            error.help("compare it with a value, as in `x != 0`")
        }
    }

    pub(super) fn conflicting_case(&self, value: &naga::SwitchValue) -> ShaderError {
        let value = match value {
            naga::SwitchValue::I32(x) => x.to_string(),
            naga::SwitchValue::U32(x) => format!("{x}u"),
            naga::SwitchValue::Default => "default".to_owned(),
        };
        let text = self.source.text();
        let (digits, range) = (value.trim_end_matches('u'), self.function_range());
        let tokens = &self.source.tokens;
        let locations: Vec<_> = tokens
            .iter()
            .filter(|token| token.kind == TokenKind::Number && range.contains(&token.range.start))
            .filter(|token| text[token.range.clone()].trim_end_matches(['u', 'i']) == digits)
            .map(|token| token.range.clone())
            .collect();
        let error = self.source.error(format!("the `switch` has two cases for `{value}`"));
        match &locations[..] {
            [first, second] => {
                error.at(second.clone(), "the second").at(first.clone(), "the first")
            }
            _ => error.at(self.location(), "in this function"),
        }
    }

    pub(super) fn wrong_store(
        &self,
        pointer: Handle<Expression>,
        value: Handle<Expression>,
    ) -> ShaderError {
        let found = self.ty(value);
        let expected = match self.inner(pointer) {
            Some(TypeInner::Pointer { base, .. }) => type_name(self.module, base),
            Some(TypeInner::ValuePointer { size, scalar, .. }) => match size {
                Some(size) => inner_name(self.module, &TypeInner::Vector { size, scalar }),
                None => inner_name(self.module, &TypeInner::Scalar(scalar)),
            },
            _ => {
                return self.at_expression("cannot assign to this", pointer, "not a variable");
            }
        };
        let variable = match self.function.expressions[pointer] {
            Expression::LocalVariable(variable) => Some(variable),
            _ => None,
        };
        let name =
            variable.and_then(|variable| self.function.local_variables[variable].name.as_deref());
        let location = self.location_in(value, &|statement| match statement {
            Statement::Store { pointer: p, value: v } => (*p, *v) == (pointer, value),
            _ => false,
        });
        let message = match name {
            Some(name) => format!("cannot assign `{found}` to `{name}`, which is `{expected}`"),
            None => format!("cannot assign `{found}` to a variable of type `{expected}`"),
        };
        let mut error = self.source.error(message).at(location, format!("this is `{found}`"));
        if let Some(location) = variable
            .and_then(|variable| self.function.local_variables.get_span(variable).to_range())
        {
            error = error.at(location, format!("declared here as `{expected}`"));
        }
        ShaderError { help: conversion(&found, &expected), ..error }
    }

    pub(super) fn wrong_call(
        &self,
        callee: Handle<naga::Function>,
        error: &CallError,
    ) -> ShaderError {
        let declared = self.source.signature(self.module.functions.get_span(callee));
        let callee = &self.module.functions[callee];
        let name = callee.name.as_deref().unwrap_or("");
        let call = self.locations.first().cloned().unwrap_or_else(|| self.location());
        let (message, location, label, help) = match error {
            CallError::ArgumentCount { required, seen } => (
                format!(
                    "`{name}` takes {required} {}, but is given {seen}",
                    if *required == 1 { "argument" } else { "arguments" }
                ),
                call,
                "in this call".to_owned(),
                None,
            ),
            CallError::ArgumentType { index, required, seen_expression } => {
                let (found, expected) =
                    (self.ty(*seen_expression), type_name(self.module, *required));
                let parameter = callee
                    .arguments
                    .get(*index)
                    .and_then(|argument| argument.name.as_deref())
                    .unwrap_or("");
                let message = format!(
                    "argument {} of `{name}`, `{parameter}`, must be `{expected}`, but is `{found}`",
                    index + 1
                );
                let argument = self
                    .locations
                    .get(1)
                    .filter(|location| call.start <= location.start && location.end <= call.end);
                let location = argument.unwrap_or(&call).clone();
                (message, location, format!("this is `{found}`"), conversion(&found, &expected))
            }
            _ => return fallback(self.source, error, call),
        };
        let error = self.source.error(message).at(location, label).at(declared, "declared here");
        ShaderError { help, ..error }
    }
}

/// Location of the innermost statement that satisfies a predicate.
fn statement_of(
    block: &naga::Block,
    predicate: &dyn Fn(&Statement) -> bool,
) -> Option<SourceRange> {
    block.span_iter().find_map(|(statement, span)| {
        let any = |block: &naga::Block| block.iter().any(predicate);
        let blocks = contract::nested_blocks(statement);
        let is_match = predicate(statement) || blocks.iter().any(|block| any(block));
        let inner = blocks.into_iter().find_map(|block| statement_of(block, predicate));
        inner.or_else(|| span.to_range().filter(|_| is_match))
    })
}
