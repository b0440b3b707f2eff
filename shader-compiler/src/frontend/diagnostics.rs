//! naga's errors in the words of those who write shaders.
//!
//! What the parser rejects comes as finished text; it is told by its wording, and said again where it speaks of naga's inside, leaves
//! out what was found, or names the wrong place. What the validator rejects comes as data with handles into the module, from which
//! names and types are taken. What is not known here is passed on, cleaned of handles.

use super::outline::{Kind, Place};
use super::{ShaderError, Source, contract, locate, names};
use naga::front::Typifier;
use naga::front::wgsl::ParseError;
use naga::proc::ResolveContext;
use naga::valid::{
    CallError, ComposeError, ConstExpressionError, ConstantError, ExpressionError, FunctionError, GlobalVariableError, LiteralError,
    LocalVariableError, OverrideError, TypeError, ValidationError, WidthError,
};
use naga::{BinaryOperator, Expression, Handle, Module, Statement, TypeInner, UnaryOperator, WithSpan};
use std::error::Error;

/// A type as shaders write it.
pub(super) fn type_name(module: &Module, ty: Handle<naga::Type>) -> String {
    plain(&naga::common::DiagnosticDisplay((ty, module.to_ctx())).to_string())
}

fn inner_name(module: &Module, inner: &TypeInner) -> String {
    plain(&naga::common::DiagnosticDisplay((&naga::proc::TypeResolution::Value(inner.clone()), module.to_ctx())).to_string())
}

/// Text of naga's with short names of types, and without handles.
pub(super) fn plain(text: &str) -> String {
    let mut text = text.replace("{AbstractFloat}", "abstract-float").replace("{AbstractInt}", "abstract-int");
    for (long, short) in [("<f32>", "f"), ("<i32>", "i"), ("<u32>", "u")] {
        for n in 2..=4 {
            text = text.replace(&format!("vec{n}{long}"), &format!("vec{n}{short}"));
            if short == "f" {
                for m in 2..=4 {
                    text = text.replace(&format!("mat{n}x{m}{long}"), &format!("mat{n}x{m}f"));
                }
            }
        }
    }
    // `[12]` is a handle, `Some(…)` and `None` are Rust.
    let mut clean = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find('[') {
        let digits = rest[start + 1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
        let end = start + 1 + digits;
        if digits > 0 && rest[end..].starts_with(']') {
            clean += rest[..start].trim_end();
            rest = &rest[end + 1..];
        } else {
            clean += &rest[..end];
            rest = &rest[end..];
        }
    }
    clean + rest
}

/// The text between two others.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let rest = text.split_once(start)?.1;
    if end.is_empty() { Some(rest) } else { Some(rest.split_once(end)?.0) }
}

/// The parts of a text in backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The error for a text that naga's parser rejects.
pub(super) fn parse_error(source: &Source, error: &ParseError) -> ShaderError {
    let labels: Vec<(Place, String)> =
        error.labels().filter_map(|(span, label)| Some((span.to_range()?, plain(label)))).collect();
    let notes: Vec<String> = error.notes().map(plain).collect();
    let rejected = Rejected { source, message: plain(error.message()), labels, notes };
    let known = [Rejected::syntax, Rejected::name, Rejected::types, Rejected::arguments, Rejected::constants, Rejected::declarations];
    known.iter().find_map(|known| known(&rejected)).unwrap_or_else(|| rejected.otherwise(error))
}

/// What the parser says of a text.
struct Rejected<'a> {
    source: &'a Source,
    message: String,
    labels: Vec<(Place, String)>,
    notes: Vec<String>,
}

impl Rejected<'_> {
    fn place(&self, k: usize) -> Place {
        self.labels.get(k).map_or(0..0, |(place, _)| place.clone())
    }

    fn text(&self, k: usize) -> &str {
        self.source.text().get(self.place(k)).unwrap_or("")
    }

    fn error(&self, message: impl Into<String>, label: impl Into<String>) -> ShaderError {
        let error = self.source.error(message);
        if self.labels.is_empty() { error } else { error.at(self.place(0), label) }
    }

    fn syntax(&self) -> Option<ShaderError> {
        let expected = between(&self.message, "expected ", ", found ").filter(|_| self.message.starts_with("expected "))?;
        let expected = match expected {
            "statement" => "a statement",
            "expression" => "an expression",
            "identifier" => "a name",
            "number" => "a number",
            "->" => "`->`",
            "template args start" => "`<`",
            "template args end" => "`>`",
            "function name" => "the name of a function",
            "variable access" => "a variable",
            "assignment or increment/decrement" => "`=` or another assignment",
            _ if expected.starts_with("global item") => "a declaration (`struct`, `fn`, `const`, `var`, `override` or `alias`)",
            _ if expected.starts_with("LHS expression") => "a variable to assign to",
            _ if expected.starts_with("switch item") => "`case`, `default` or `}`",
            _ if expected.starts_with("for loop init") => "a declaration, an assignment or a call",
            _ if expected.starts_with("for loop update") => "an assignment or a call",
            _ if expected.contains('`') => &between(expected, "`", "`").map(|token| format!("`{token}`"))?,
            _ => &format!("`{expected}`"),
        };
        let text = self.source.text();
        let place = self.place(0);
        let tokens = &self.source.outline.tokens;
        let before = tokens.iter().take_while(|token| token.place.end <= place.start).last();
        if place.start >= self.source.written().trim_end().len() {
            let error = self.source.error(format!("expected {expected}, found the end of the file"));
            return Some(match self.source.outline.unclosed(text) {
                Some(bracket) => error.at(bracket, "this bracket is not closed"),
                None => error.at(place, "the file ends here"),
            });
        }
        let found = self.text(0);
        if found.starts_with("/*") {
            return Some(self.source.error("a comment is not closed").at(place.start..place.start + 2, "it starts here").help("close it with `*/`"));
        }
        let error = self.source.error(format!("expected {expected}, found `{}`", found.lines().next().unwrap_or("")));
        let error = match before {
            Some(before) if expected == "`;`" && text[before.place.end..place.start].contains('\n') => {
                error.at(before.place.clone(), "`;` is missing after this").at(place.clone(), "so that this was not expected")
            }
            _ => error.at(place.clone(), format!("expected {expected}")),
        };
        let word_before = before.map_or("", |token| &text[token.place.clone()]);
        let c_type = |word: &str| matches!(word, "float" | "double" | "int" | "uint" | "bool" | "void") || word.starts_with("vec") || word.starts_with("float");
        let help = match found {
            "?" => Some("WGSL has no `? :`; write `select(otherwise, value, condition)`"),
            "return" | "continue" | "break" if expected == "`{`" => Some("bodies of `if` and of loops stand in `{ }`"),
            _ if c_type(word_before) || c_type(found) => Some("write `let c = …;` for a value and `var c: f32 = …;` for a variable"),
            "#" => Some("WGSL has no preprocessor"),
            _ => None,
        };
        Some(ShaderError { help: help.map(str::to_owned), ..error })
    }

    fn name(&self) -> Option<ShaderError> {
        let text = self.source.text();
        if self.message.starts_with("no definition in scope") {
            let name = self.text(0);
            let error = self.error(format!("`{name}` is not declared"), "not known here");
            let error = ShaderError { help: names::remedy(name, self.source.outline.names(text)), ..error };
            return Some(error);
        }
        if self.message.starts_with("invalid field accessor") {
            let name = self.text(0);
            let base = text[..self.place(0).start].trim_end().strip_suffix('.').unwrap_or("").trim_end();
            let start = base.rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'))).map_or(0, |k| k + 1);
            let base = base.get(start..).or_else(|| base.get(start + 1..)).unwrap_or("").trim_start_matches('.');
            let message = if base.is_empty() { format!("no member or component `{name}`") } else { format!("`{base}` has no member or component `{name}`") };
            let error = self.error(message, "not known here");
            let members = self.source.outline.structs.iter().flat_map(|s| &s.members).map(|member| &text[member.name.clone()]);
            let help = if name.chars().all(|c| "xyzwrgba".contains(c)) {
                Some("a vector of n components has the first n of `x`, `y`, `z`, `w`, alias `r`, `g`, `b`, `a`".to_owned())
            } else {
                names::closest(name, members).map(|known| format!("is `{known}` meant?"))
            };
            return Some(ShaderError { help, ..error });
        }
        None
    }

    fn types(&self) -> Option<ShaderError> {
        let message = self.message.as_str();
        let words = quoted(message);
        if message.starts_with("the type of ") {
            let [name, expected, got] = words[..] else { return None };
            let error = self.error(format!("`{name}` is declared as `{expected}`, but its value is `{got}`"), format!("declared as `{expected}`"));
            return Some(ShaderError { help: conversion(got, expected), ..error });
        }
        if message.starts_with("automatic conversions cannot convert") {
            let [found, wanted] = words[..] else { return None };
            let (found, wanted) = (found.to_owned(), wanted.to_owned());
            let error = self.source.error(format!("expected `{wanted}`, found `{found}`"));
            let error = error.at(self.place(1), format!("this is `{found}`")).at(self.place(0), format!("`{wanted}` is needed for this"));
            return Some(ShaderError { help: conversion(&found, &wanted), ..error });
        }
        if message.starts_with("cannot cast a") {
            return Some(self.error(message.replace("cannot cast a", "cannot convert"), "in this conversion"));
        }
        if message.ends_with("is not constructible") {
            let name = self.text(0);
            let error = self.error(format!("`{name}` cannot be made of these arguments"), "in this constructor");
            let columns = name.strip_prefix("mat").and_then(|rest| rest.chars().next()).filter(char::is_ascii_digit);
            return Some(match columns {
                Some(columns) => error.help(format!("a matrix takes its {columns} columns, or all of its components")),
                None => error,
            });
        }
        if message.starts_with("invalid type for constructor component") {
            return Some(self.error("this cannot be a component of a vector or matrix", "expected a scalar or a vector"));
        }
        if message.starts_with("invalid `switch` selector") {
            return Some(self.error("`switch` works on integers", "expected `i32` or `u32`"));
        }
        if message.starts_with("function does not return any value") {
            return Some(self.error("this function returns nothing", "a value is expected here").help("call it as a statement of its own"));
        }
        if message.starts_with("unused return value") {
            let error = self.error(format!("the result of `{}` is not used", self.text(0)), "called only for its result");
            return Some(error.help("give it a name with `let`, or drop it with `_ = …;`"));
        }
        if message.starts_with("invalid left-hand side of assignment") {
            let error = self.error("this cannot be assigned to", "not a variable");
            return Some(match (self.labels.get(1), self.notes.first()) {
                (Some((place, _)), _) => {
                    let name = &self.source.text()[place.clone()];
                    let error = self.error(format!("`{name}` cannot be changed"), "assigned to here");
                    let parameter = self.source.outline.functions.iter().flat_map(|f| &f.parameters).any(|p| p.name == *place);
                    if parameter {
                        let help = format!("parameters are values: make a variable of it, `var my_{name} = {name};`");
                        error.at(place.clone(), "a parameter").help(help)
                    } else {
                        error.at(place.clone(), "declared with `let`").help(format!("declare it with `var {name}`"))
                    }
                }
                (None, Some(_)) => self.error("several components cannot be assigned to at once", "assigned to here").help("assign them one by one, or build a new vector"),
                (None, None) => error,
            });
        }
        None
    }

    fn arguments(&self) -> Option<ShaderError> {
        let message = self.message.as_str();
        if message.starts_with("wrong number of arguments") {
            let expected = between(message, "expected ", ",")?;
            let found = between(message, "found ", "")?;
            let expected = expected.replace("..", " to ");
            return Some(self.error(format!("`{}` takes {expected} arguments, but is given {found}", self.text(0)), "in this call"));
        }
        if message.starts_with("too many arguments") {
            let most: usize = between(self.notes.first()?, "at most ", " ")?.parse().ok()?;
            let arguments = if most == 1 { "argument" } else { "arguments" };
            let error = self.source.error(format!("`{}` takes {most} {arguments} at most", self.text(0)));
            return Some(error.at(self.place(1), "one too many").at(self.place(0), "in this call"));
        }
        let (wrong, inconsistent) = (message.starts_with("wrong type passed"), message.starts_with("inconsistent type passed"));
        if !wrong && !inconsistent {
            return None;
        }
        let index = between(message, "#", " ")?;
        let (place, label) = self.labels.get(1)?;
        let found = between(label, "has type ", "")?.trim_matches('`');
        let function = self.text(0);
        let allowed: Vec<_> = self.notes.iter().filter_map(|note| note.strip_prefix("allowed type: ")).filter(|ty| is_known(ty)).collect();
        let error = self.source.error(format!("argument {index} of `{function}` cannot be `{found}`"));
        // The place of a name that `let` declares is its value's.
        let here = if place.start >= self.place(0).start { "this is the argument" } else { "this is its value" };
        let mut error = error.at(self.place(0), "in this call").at(place.clone(), format!("{here}, `{found}`"));
        if let (true, Some((other, label))) = (inconsistent, self.labels.get(2)) {
            let ty = between(label, "has type ", ",")?;
            error = error.at(other.clone(), format!("with this one, `{ty}`"));
        }
        Some(match allowed[..] {
            [] => error,
            [wanted] => match conversion(found, wanted) {
                Some(help) => error.help(format!("it must be `{wanted}`: {help}")),
                None => error.help(format!("it must be `{wanted}`")),
            },
            _ => error.help(format!("it may be {}", choice(&allowed))),
        })
    }

    fn constants(&self) -> Option<ShaderError> {
        let message = self.message.as_str();
        if message.starts_with("this operation is not supported in a const context") {
            let error = self.error(format!("`{}` is not known when the shader is compiled", self.text(0)), "a constant is needed here");
            return Some(error.help("`const`, `const_assert`, `case` and sizes of arrays take constants; `let` takes any value"));
        }
        if message.starts_with("failed to convert expression to a concrete type") {
            let reason = self.notes.first().and_then(|note| between(note, "scalar type: ", "")).unwrap_or("");
            let error = match quoted(reason)[..] {
                [ty, value] => self.error(format!("`{value}` is beyond the type `{ty}`"), "this constant"),
                _ => self.error("this constant cannot be computed", "its operands do not go together"),
            };
            return Some(error);
        }
        if let [ty, value] = quoted(message)[..]
            && message.contains("cannot represent the abstract value")
        {
            return Some(self.error(format!("`{value}` cannot be of type `{ty}`"), format!("`{ty}` is needed here")));
        }
        if self.labels.first().is_some_and(|(_, label)| label == "see msg") {
            let message = match message {
                "Division by zero" | "Remainder by zero" => "this constant is a division by zero".to_owned(),
                "Float literal is infinite" | "Float literal is NaN" => "this constant is not finite".to_owned(),
                _ if message.ends_with("operation overflowed") => "this constant overflows".to_owned(),
                _ if message.ends_with("argument is out of valid range") => {
                    format!("`{}` is not defined for this constant", self.text(0))
                }
                _ => lower_first(message),
            };
            return Some(self.error(message, "computed when the shader is compiled"));
        }
        if message.contains("const_assert") {
            return Some(self.error("a `const_assert` does not hold", "this is false"));
        }
        None
    }

    fn declarations(&self) -> Option<ShaderError> {
        let message = self.message.as_str();
        if message.starts_with("redefinition of") {
            let name = self.text(0);
            let error = self.source.error(format!("`{name}` is declared twice"));
            return Some(error.at(self.place(0), "the second time").at(self.place(1), "the first time"));
        }
        if message.ends_with("is recursive") || message.ends_with("is cyclic") {
            return Some(self.recursion());
        }
        if message.ends_with("is a reserved keyword") {
            return Some(self.error(format!("`{}` is a reserved word of WGSL", self.text(0)), "choose another name"));
        }
        if message.contains("enable extension is not enabled") {
            let what = quoted(message)[0];
            return Some(self.error(format!("`{what}` is not supported"), "used here").help("use `f32`"));
        }
        if self.notes.iter().any(|note| note.contains("recursion limit")) || message.starts_with("brace nesting limit") {
            return Some(self.error("the shader is nested too deeply", "deepest here").help("move inner parts into functions of their own"));
        }
        None
    }

    fn recursion(&self) -> ShaderError {
        let name = self.text(0);
        let function = self.source.outline.functions.iter().any(|function| function.name == self.place(0));
        let (message, help) = if function {
            (format!("`{name}` calls itself"), "WGSL has no recursion; write a loop")
        } else {
            (format!("`{name}` is declared by itself"), "a declaration cannot depend on its own name")
        };
        let mut error = self.source.error(message).help(help);
        // Declarations and uses alternate.
        for (k, pair) in self.labels.chunks(2).enumerate() {
            let label = if self.labels.len() <= 2 { "by its own name here" } else if k == 0 { "used here, which closes the circle" } else { "used here" };
            let declared = if k == 0 { format!("`{name}`") } else { "its user".to_owned() };
            let _ = declared;
            if let [_, (place, _)] = pair {
                error = error.at(place.clone(), label);
            }
        }
        error
    }

    /// What is not known here. Type errors without a place are looked for.
    fn otherwise(&self, error: &ParseError) -> ShaderError {
        let message = self.message.as_str();
        let message = if message.starts_with("Invalid access") || message.starts_with("Invalid sub-access") {
            "only arrays, vectors and matrices have elements".to_owned()
        } else if let Some(rest) = message.strip_prefix("Incompatible operands: ") {
            let operation = rest.split('(').next().unwrap_or("");
            match between(rest, "(", ")").map(|types| types.split(", ").collect::<Vec<_>>()).as_deref() {
                Some([left, "_"]) => format!("`{}` does not work on `{left}`", operator(operation)),
                Some([left, right]) => format!("`{}` does not work between `{left}` and `{right}`", operator(operation)),
                _ => "these operands do not go together".to_owned(),
            }
        } else {
            lower_first(message)
        };
        let mut told = self.source.error(message);
        for (place, label) in &self.labels {
            told = told.at(place.clone(), lower_first(label));
        }
        if self.labels.is_empty()
            && let Some(place) = locate::statement(self.source, error.message())
        {
            told = told.at(place, "in this statement");
        }
        let notes: Vec<_> = self.notes.iter().filter(|note| !note.contains("Naga") && !note.contains("http")).cloned().collect();
        if notes.is_empty() { told } else { told.help(notes.join("; ")) }
    }
}

/// Whether the compiler has a type that naga offers.
fn is_known(ty: &str) -> bool {
    !["abstract", "16", "64"].iter().any(|part| ty.contains(part))
}

fn choice(types: &[&str]) -> String {
    let quoted: Vec<_> = types.iter().map(|ty| format!("`{ty}`")).collect();
    match &quoted[..] {
        [init @ .., last] if !init.is_empty() => format!("{} or {last}", init.join(", ")),
        _ => quoted.join(""),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if !chars.as_str().starts_with(char::is_uppercase) => first.to_lowercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

/// How to make a value of one type one of another.
fn conversion(found: &str, wanted: &str) -> Option<String> {
    let scalar = |ty: &str| matches!(ty, "f32" | "i32" | "u32" | "bool" | "abstract-float" | "abstract-int");
    let width = |ty: &str| ty.strip_prefix("vec").and_then(|rest| rest.chars().next());
    if wanted.contains("abstract") {
        return None;
    }
    if scalar(found) && (scalar(wanted) || width(wanted).is_some()) || width(found).is_some() && width(found) == width(wanted) {
        return Some(format!("write `{wanted}(…)`, since WGSL converts nothing by itself"));
    }
    if wanted.starts_with("ptr<") {
        return Some("pass a pointer to a variable, `&name`".to_owned());
    }
    None
}

/// Spelling of an operator, by its name in naga.
fn operator(name: &str) -> &str {
    match name {
        "Add" => "+",
        "Subtract" | "Negate" => "-",
        "Multiply" => "*",
        "Divide" => "/",
        "Modulo" => "%",
        "Equal" => "==",
        "NotEqual" => "!=",
        "Less" => "<",
        "LessEqual" => "<=",
        "Greater" => ">",
        "GreaterEqual" => ">=",
        "And" => "&",
        "ExclusiveOr" => "^",
        "InclusiveOr" => "|",
        "LogicalAnd" => "&&",
        "LogicalOr" => "||",
        "ShiftLeft" => "<<",
        "ShiftRight" => ">>",
        "LogicalNot" => "!",
        "BitwiseNot" => "~",
        other => other,
    }
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

/// The error for a module that naga's validator rejects.
pub(super) fn validation_error(source: &Source, module: &Module, error: &WithSpan<ValidationError>) -> ShaderError {
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
        ValidationError::Type { handle, source: wrong, .. } => type_error(source, module, *handle, wrong),
        ValidationError::Constant { name, source: wrong, .. } => {
            let message = match wrong {
                ConstantError::InitializerExprType => format!("the value of `{name}` is not known when the shader is compiled"),
                ConstantError::InvalidType => format!("the value of `{name}` is not of its type"),
                ConstantError::NonConstructibleType => format!("`{name}` is of a type that has no values"),
            };
            source.error(message).at(place, "in this declaration")
        }
        ValidationError::Override { name, source: wrong, .. } => {
            let message = match wrong {
                OverrideError::TypeNotScalar | OverrideError::NonConstructibleType => format!("the override `{name}` is not a scalar"),
                OverrideError::InvalidType => format!("the value of `{name}` is not of its type"),
                OverrideError::DuplicateID => format!("another override has the `@id` of `{name}`"),
                _ => format!("the value of `{name}` is not known when the shader is compiled"),
            };
            source.error(message).at(place, "in this declaration")
        }
        ValidationError::GlobalVariable { name, source: wrong, .. } => {
            let message = match wrong {
                GlobalVariableError::InitializerType => format!("the value of `{name}` is not of its type"),
                GlobalVariableError::InitializerExprType => format!("the value of `{name}` is not known when the shader is compiled"),
                _ => format!("`{name}` cannot be a variable of this type"),
            };
            source.error(message).at(place, "in this declaration")
        }
        ValidationError::ConstExpression { source: wrong, .. } => {
            let message = match wrong {
                ConstExpressionError::Literal(literal) => literal_error(literal),
                ConstExpressionError::Compose(ComposeError::ComponentCount { given, expected }) => {
                    format!("{expected} components are expected, but {given} are given")
                }
                ConstExpressionError::Compose(_) => "a component is of another type than expected".to_owned(),
                ConstExpressionError::Type(_) => "these operands do not go together".to_owned(),
                ConstExpressionError::Width(width) => width_error(width),
                _ => "this is not known when the shader is compiled".to_owned(),
            };
            source.error(message).at(place, "in this constant")
        }
        ValidationError::ArraySizeError { .. } => source.error("an array has at least one element").at(place, "this is its size"),
        other => fallback(source, other, place),
    }
}

/// An error that is not told above: the innermost of naga's, cleaned.
fn fallback(source: &Source, error: &dyn Error, place: Place) -> ShaderError {
    let mut error = error;
    while let Some(inner) = error.source() {
        error = inner;
    }
    let message = format!("this is not valid WGSL: {}", lower_first(&plain(&error.to_string())));
    source.error(message).at(place, "here")
}

fn literal_error(error: &LiteralError) -> String {
    match error {
        LiteralError::NaN | LiteralError::Infinity => "this constant is not finite".to_owned(),
        LiteralError::Width(width) => width_error(width),
    }
}

fn width_error(error: &WidthError) -> String {
    match error {
        WidthError::MissingCapability { name, .. } => format!("`{name}` is not supported: numbers are `f32`, `i32` or `u32`"),
        WidthError::Invalid(..) => "numbers of this width are not supported: there are `f32`, `i32` and `u32`".to_owned(),
        WidthError::Abstract => "this constant fits no type here".to_owned(),
    }
}

fn type_error(source: &Source, module: &Module, ty: Handle<naga::Type>, error: &TypeError) -> ShaderError {
    let place = module.types.get_span(ty).to_range().unwrap_or(0..0);
    let name = type_name(module, ty);
    let message = match error {
        TypeError::WidthError(width) => width_error(width),
        TypeError::MissingCapability(_) => format!("`{name}` is not supported"),
        TypeError::InvalidDynamicArray(..) | TypeError::InvalidArrayBaseType(_) | TypeError::InvalidData(_) => {
            format!("`{name}` holds something of a type without a size, or one that cannot be stored")
        }
        TypeError::EmptyStruct => format!("`{name}` has no members"),
        TypeError::InvalidPointerBase(_) | TypeError::InvalidPointerToUnsized { .. } => format!("there are no pointers `{name}`"),
        TypeError::UnresolvedOverride(_) | TypeError::UnsupportedSpecializedArrayLength(_) => {
            format!("the size of `{name}` is not known when the shader is compiled")
        }
        _ => format!("the type `{name}` is not possible here"),
    };
    source.error(message).at(place, "this type")
}

/// A function that the validator rejects.
struct Invalid<'a> {
    source: &'a Source,
    module: &'a Module,
    function: &'a naga::Function,
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
        self.places.last().cloned().or_else(|| outline.map(|function| function.name.clone())).unwrap_or(self.whole.clone())
    }

    fn error_here(&self, message: impl Into<String>, label: impl Into<String>) -> ShaderError {
        self.source.error(message).at(self.place(), label)
    }

    /// Type of an expression, as far as it has one.
    fn inner(&self, expression: Handle<Expression>) -> Option<TypeInner> {
        let context = ResolveContext::with_locals(self.module, &self.function.local_variables, &self.function.arguments);
        let mut typifier = Typifier::new();
        typifier.grow(expression, &self.function.expressions, &context).ok()?;
        Some(typifier.get(expression, &self.module.types).clone())
    }

    /// Name of the type of an expression.
    fn ty(&self, expression: Handle<Expression>) -> String {
        let context = ResolveContext::with_locals(self.module, &self.function.local_variables, &self.function.arguments);
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

    fn at_expression(&self, message: impl Into<String>, expression: Handle<Expression>, label: impl Into<String>) -> ShaderError {
        let place = self.place_of(expression).unwrap_or_else(|| self.place());
        self.source.error(message).at(place, label)
    }

    /// Text of a call or an operation up to its bracket.
    fn callee(&self, place: &Place) -> &str {
        let text = self.source.text().get(place.clone()).unwrap_or("");
        text.split('(').next().unwrap_or(text).trim()
    }

    fn error(&self, error: &FunctionError) -> ShaderError {
        let name = self.name();
        match error {
            FunctionError::Expression { handle, source } => self.expression(*handle, source),
            FunctionError::LocalVariable { name, source, .. } => match source {
                LocalVariableError::InvalidType(ty) => {
                    let ty = type_name(self.module, *ty);
                    self.error_here(format!("`{name}` cannot be a variable of type `{ty}`"), "the type has no fixed size, or cannot be stored")
                }
                LocalVariableError::InitializerType => self.error_here(format!("the value of `{name}` is not of its type"), "in this declaration"),
                LocalVariableError::NonConstOrOverrideInitializer => {
                    self.error_here(format!("the value of `{name}` is not known when the shader is compiled"), "in this declaration")
                }
            },
            FunctionError::InvalidArgumentType { name, .. } | FunctionError::InvalidArgumentPointerSpace { name, .. } => {
                self.error_here(format!("the parameter `{name}` is of a type that cannot be passed"), "in this function")
            }
            FunctionError::NonConstructibleReturnType => {
                let ty = self.function.result.as_ref().map_or(String::new(), |result| type_name(self.module, result.ty));
                self.error_here(format!("`{name}` cannot return `{ty}`"), "this function").help("return a value instead of a pointer to it")
            }
            FunctionError::BreakOutsideOfLoopOrSwitch => self.error_here("`break` stands outside of loops and `switch`", "nothing to leave here"),
            FunctionError::ContinueOutsideOfLoop => self.error_here("`continue` stands outside of loops", "nothing to go on with here"),
            FunctionError::InvalidReturnSpot => self.error_here("`return` is not possible in a `continuing` block", "in such a block"),
            FunctionError::InvalidReturnType { expression, .. } => self.wrong_return(*expression),
            FunctionError::InvalidIfType(condition) => self.wrong_condition(*condition),
            FunctionError::InvalidSwitchType(value) => {
                self.at_expression(format!("`switch` works on integers, not on `{}`", self.ty(*value)), *value, "expected `i32` or `u32`")
            }
            FunctionError::ConflictingSwitchCase(value) => self.conflicting_case(value),
            FunctionError::ConflictingCaseType => self.error_here("a case is of another type than the value of the `switch`", "in this `switch`"),
            FunctionError::MissingDefaultCase => {
                let place = self.place();
                let head = place.start..place.start + "switch".len();
                self.source.error("the `switch` has no `default`").at(head, "this `switch`").help("add `default: { }`")
            }
            FunctionError::MultipleDefaultCases => self.error_here("the `switch` has two `default` cases", "in this `switch`"),
            FunctionError::InvalidStoreTypes { pointer, value } => self.wrong_store(*pointer, *value),
            FunctionError::InvalidStorePointer(pointer) => self.at_expression("this cannot be assigned to", *pointer, "not a variable"),
            FunctionError::InvalidCall { function, error } => self.wrong_call(*function, error),
            FunctionError::MissingCapability(_) | FunctionError::InvalidSubgroup(_) => {
                self.error_here("this operation is not supported", "used here")
            }
            FunctionError::PipelineInputRegularFunction { .. } | FunctionError::PipelineOutputRegularFunction => {
                self.error_here("only entry points have `@location` and `@builtin`", "in this function").help("leave the attribute out")
            }
            other => fallback(self.source, other, self.place()),
        }
    }

    fn wrong_return(&self, value: Option<Handle<Expression>>) -> ShaderError {
        let name = self.name();
        let declared = self.function.result.as_ref().map(|result| type_name(self.module, result.ty));
        match (value, declared) {
            (Some(value), Some(declared)) => {
                let found = self.ty(value);
                let message = format!("`{name}` returns `{found}` here, but is declared to return `{declared}`");
                let error = self.at_expression(message, value, format!("this is `{found}`"));
                ShaderError { help: conversion(&found, &declared), ..error }
            }
            (Some(value), None) => {
                let found = self.ty(value);
                let message = format!("`{name}` returns `{found}` here, but is declared to return nothing");
                self.at_expression(message, value, format!("this is `{found}`")).help(format!("declare `{name}` with `-> {found}`"))
            }
            (None, declared) => {
                let declared = declared.unwrap_or_default();
                if self.places.is_empty() {
                    let end = self.whole.end.saturating_sub(1)..self.whole.end;
                    let error = self.source.error(format!("`{name}` can end without a `return`")).at(end, "reached by some way");
                    return error.help(format!("each way through `{name}` must return `{declared}`"));
                }
                self.error_here(format!("`{name}` returns nothing here, but is declared to return `{declared}`"), "a value is missing")
            }
        }
    }

    fn wrong_condition(&self, condition: Handle<Expression>) -> ShaderError {
        let found = self.ty(condition);
        let place = self.place_of(condition).or_else(|| statement_of(&self.function.body, condition));
        let error = self.source.error(format!("the condition is `{found}`, but must be `bool`"));
        let error = error.at(place.unwrap_or_else(|| self.place()), format!("this is `{found}`"));
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
            [first, second] => error.at(second.clone(), "the second").at(first.clone(), "the first"),
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
            _ => return self.at_expression("this cannot be assigned to", pointer, "not a variable"),
        };
        let variable = match self.function.expressions[pointer] {
            Expression::LocalVariable(variable) => Some(variable),
            _ => None,
        };
        let name = variable.and_then(|variable| self.function.local_variables[variable].name.as_deref());
        let place = self.place_of(value).unwrap_or_else(|| self.place());
        let message = match name {
            Some(name) => format!("`{found}` cannot be assigned to `{name}`, which is `{wanted}`"),
            None => format!("`{found}` cannot be assigned to a place of type `{wanted}`"),
        };
        let mut error = self.source.error(message).at(place, format!("this is `{found}`"));
        if let Some(place) = variable.and_then(|variable| self.function.local_variables.get_span(variable).to_range()) {
            error = error.at(place, format!("declared here, as `{wanted}`"));
        }
        ShaderError { help: conversion(&found, &wanted), ..error }
    }

    fn wrong_call(&self, callee: Handle<naga::Function>, error: &CallError) -> ShaderError {
        let callee = &self.module.functions[callee];
        let name = callee.name.as_deref().unwrap_or("");
        let declared = self.source.outline.function(self.source.text(), name).map(|outline| outline.signature.clone());
        let call = self.places.first().cloned().unwrap_or_else(|| self.place());
        let (message, place, label, help) = match error {
            CallError::ArgumentCount { required, seen } => {
                (format!("`{name}` takes {required} arguments, but is given {seen}"), call, "in this call".to_owned(), None)
            }
            CallError::ArgumentType { index, required, seen_expression } => {
                let (found, wanted) = (self.ty(*seen_expression), type_name(self.module, *required));
                let parameter = callee.arguments.get(*index).and_then(|argument| argument.name.as_deref()).unwrap_or("");
                let message = format!("argument {} of `{name}`, `{parameter}`, must be `{wanted}`, but is `{found}`", index + 1);
                let place = self.places.get(1).cloned().unwrap_or(call);
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
        let error = self.source.error(format!("`{op}` does not work between `{left}` and `{right}`"));
        let error = error.at(place, format!("`{left} {op} {right}`"));
        let number = |ty: &str| ["f32", "f", "i32", "i", "u32", "u", "abstract-float", "abstract-int"].iter().any(|end| ty.ends_with(end));
        let vector = |ty: &str| ty.starts_with("vec");
        if matches!(op, "&&" | "||") {
            error.help("it works on `bool`")
        } else if vector(left) && vector(right) && left[..4] != right[..4] {
            error.help("both sides must have equally many components")
        } else if left.starts_with("mat") || right.starts_with("mat") {
            error.help("columns of the left side must be as many as components or rows of the right side")
        } else if matches!(op, "==" | "!=" | "<" | "<=" | ">" | ">=") && vector(left) != vector(right) {
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
        let here = |message: String, label: &str| self.source.error(message).at(place.clone(), label);
        let callee = self.callee(&place);
        match error {
            E::InvalidBinaryOperandTypes { op, lhs_expr, rhs_expr, .. } => {
                self.operands(*op, &self.ty(*lhs_expr), &self.ty(*rhs_expr), place)
            }
            E::Literal(LiteralError::Width(WidthError::Abstract)) => self.abstract_literal(handle, place),
            E::Literal(literal) => here(literal_error(literal), "this constant"),
            E::InvalidUnaryOperandType(op, operand) => {
                here(format!("`{}` does not work on `{}`", unary(*op), self.ty(*operand)), "this operation")
            }
            E::InvalidIndexType(index) => {
                let found = self.ty(*index);
                let place = self.place_of(*index).filter(|index| place.start <= index.start && index.end <= place.end).unwrap_or(place.clone());
                let error = self.source.error(format!("an index must be `i32` or `u32`, but is `{found}`"));
                error.at(place, format!("the index is `{found}`")).help("write `i32(…)` or `u32(…)`")
            }
            E::NegativeIndex(_) => here("the index is below 0".to_owned(), "elements are counted from 0"),
            E::IndexOutOfBounds(base, index) => {
                let message = format!("the index {index} is beyond `{}`", self.ty(*base).replace("ptr<function, ", "").trim_end_matches('>'));
                let message = if message.contains('<') && !message.contains('>') { message.replacen("`", "`", 1) + ">`" } else { message };
                here(message, "elements are counted from 0")
            }
            E::InvalidBaseType(base) => here(format!("`{}` has no elements or members", self.ty(*base)), "used as if it had"),
            E::InvalidPointerType(pointer) => here(format!("`{}` is not a pointer", self.ty(*pointer)), "read through here"),
            E::InvalidVectorType(base) => here(format!("`{}` has no components", self.ty(*base)), "used as if it had"),
            E::InvalidSwizzleComponent(..) => here("the vector has no such component".to_owned(), "used here"),
            E::InvalidSplatType(value) => here(format!("`{}` cannot be made a vector", self.ty(*value)), "in this constructor"),
            E::Compose(error) => self.compose(handle, error, place.clone(), callee),
            E::InvalidZeroValue(ty) => here(format!("`{}` has no zero", type_name(self.module, *ty)), "in this constructor"),
            E::SelectValuesTypeMismatch { accept, reject } => {
                let (reject, accept) = (inner_name(self.module, reject), inner_name(self.module, accept));
                let error = here(format!("`select` is given `{reject}` and `{accept}`"), "in this call");
                error.help("the values for false and for true must be of the same type")
            }
            E::SelectConditionNotABool { actual } => {
                let actual = inner_name(self.module, actual);
                here(format!("the condition of `select` is `{actual}`"), "in this call").help("it must be `bool`, or a vector of them; it comes last")
            }
            E::InvalidBooleanVector(value) => here(format!("`{callee}` works on `bool` and vectors of them, not on `{}`", self.ty(*value)), "in this call"),
            E::InvalidFloatArgument(value) => here(format!("`{callee}` works on floats, not on `{}`", self.ty(*value)), "in this call"),
            E::InvalidCastArgument => {
                let found = match self.function.expressions[handle] {
                    Expression::As { expr, .. } => self.ty(expr),
                    _ => String::new(),
                };
                here(format!("`{found}` cannot be converted by `{callee}`"), "in this conversion")
            }
            E::WrongArgumentCount(_) => here(format!("`{callee}` is given too few or too many arguments"), "in this call"),
            E::InvalidArgumentType(_, index, value) => {
                here(format!("argument {} of `{callee}` cannot be `{}`", index + 1, self.ty(*value)), "in this call")
            }
            E::MissingCapabilities(_) | E::UnsupportedWidth(..) => here(format!("`{callee}` is not supported"), "used here"),
            E::ShiftAmountTooLarge { .. } => here("a shift by 32 or more".to_owned(), "integers have 32 bits"),
            E::DivideByZero => here("a division by zero".to_owned(), "the right side is the constant 0"),
            E::Type(_) => here("the types do not go together".to_owned(), "in this expression"),
            E::InvalidDerivative => here("derivatives are not supported".to_owned(), "used here"),
            other => fallback(self.source, other, place),
        }
    }

    /// A constant that takes on no type, since the other operand does not let it.
    fn abstract_literal(&self, literal: Handle<Expression>, place: Place) -> ShaderError {
        let user = self.function.expressions.iter().find_map(|(user, expression)| match *expression {
            Expression::Binary { op, left, right } if left == literal || right == literal => Some((user, op, left, right)),
            _ => None,
        });
        match user {
            Some((user, op, left, right)) => {
                self.operands(op, &self.ty(left), &self.ty(right), self.place_of(user).unwrap_or(place))
            }
            None => self.source.error("this constant fits no type here").at(place, "used here"),
        }
    }

    fn compose(&self, handle: Handle<Expression>, error: &ComposeError, place: Place, callee: &str) -> ShaderError {
        let Expression::Compose { ty, ref components } = self.function.expressions[handle] else {
            return self.source.error("this cannot be built of these parts").at(place, "in this constructor");
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
                let message = format!("`{name}` has {expected} {what}, but {given} are given");
                self.source.error(message).at(place, "in this constructor")
            }
            ComposeError::ComponentType { index } => {
                let found = components.get(*index as usize).map_or(String::new(), |&component| self.ty(component));
                let wanted = match &self.module.types[ty].inner {
                    TypeInner::Struct { members, .. } => members.get(*index as usize).map(|member| type_name(self.module, member.ty)),
                    TypeInner::Array { base, .. } => Some(type_name(self.module, *base)),
                    TypeInner::Matrix { rows, scalar, .. } => {
                        Some(inner_name(self.module, &TypeInner::Vector { size: *rows, scalar: *scalar }))
                    }
                    _ => None,
                };
                let error = self.source.error(format!("argument {} of `{name}` cannot be `{found}`", index + 1));
                let error = error.at(place, "in this constructor");
                match wanted {
                    Some(wanted) => error.help(format!("it must be `{wanted}`")),
                    None => error,
                }
            }
            ComposeError::Type(_) => self.source.error(format!("`{callee}` cannot be built of parts")).at(place, "in this constructor"),
        }
    }
}

/// Place of the statement that decides by a value.
fn statement_of(block: &naga::Block, condition: Handle<Expression>) -> Option<Place> {
    block.span_iter().find_map(|(statement, span)| {
        let decides = match statement {
            Statement::If { condition: c, .. } => *c == condition,
            Statement::Loop { break_if, .. } => *break_if == Some(condition),
            _ => false,
        };
        let inner = contract::inner_blocks(statement).into_iter().find_map(|block| statement_of(block, condition));
        inner.or_else(|| span.to_range().filter(|_| decides || contains(statement, condition)))
    })
}

fn contains(statement: &Statement, condition: Handle<Expression>) -> bool {
    contract::inner_blocks(statement).into_iter().any(|block| {
        block.iter().any(|inner| matches!(inner, Statement::If { condition: c, .. } if *c == condition) || contains(inner, condition))
    })
}
