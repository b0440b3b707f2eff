//! What naga's parser rejects.

use super::super::outline::Place;
use super::super::{ShaderError, Source, locate, names};
use super::{conversion, images, list, lower_first, plain, presentable};
use naga::front::wgsl::ParseError;

/// The error for a text that naga's parser rejects.
pub(in crate::frontend) fn parse_error(source: &Source, error: &ParseError) -> ShaderError {
    let labels = error
        .labels()
        .map(|(span, label)| (span.to_range().unwrap_or(0..0), plain(label)))
        .collect();
    let notes: Vec<String> = error.notes().map(plain).collect();
    let rejected = Rejected { source, message: plain(error.message()), labels, notes };
    let known = [
        Rejected::syntax,
        Rejected::name,
        Rejected::types,
        Rejected::arguments,
        Rejected::constants,
        Rejected::declarations,
    ];
    known.iter().find_map(|known| known(&rejected)).unwrap_or_else(|| rejected.otherwise(error))
}

fn unclosed_comment(source: &Source, place: &Place) -> ShaderError {
    source
        .error("a comment is not closed")
        .at(place.start..place.start + 2, "it starts here")
        .help("close it with `*/`")
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
        self.source.error(message).at(self.place(0), label)
    }

    fn syntax(&self) -> Option<ShaderError> {
        let expected = between(&self.message, "expected ", ", found ")
            .filter(|_| self.message.starts_with("expected "))?;
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
            _ if expected.starts_with("global item") => {
                "a declaration (`struct`, `fn`, `const`, `var`, `override` or `alias`)"
            }
            _ if expected.starts_with("LHS expression") => "a variable to assign to",
            _ if expected.starts_with("switch item") => "`case`, `default` or `}`",
            _ if expected.starts_with("for loop init") => "a declaration, an assignment or a call",
            _ if expected.starts_with("for loop update") => "an assignment or a call",
            _ if expected.contains('`') => {
                &between(expected, "`", "`").map(|token| format!("`{token}`"))?
            }
            _ => &format!("`{expected}`"),
        };
        let text = self.source.text();
        let place = self.place(0);
        let tokens = &self.source.outline.tokens;
        let before = tokens.iter().take_while(|token| token.place.end <= place.start).last();
        if place.start >= self.source.written().trim_end().len() {
            let error =
                self.source.error(format!("expected {expected}, found the end of the file"));
            return Some(match self.source.outline.unclosed(text) {
                Some(bracket) => error.at(bracket, "this bracket is not closed"),
                None => error.at(place, "the file ends here"),
            });
        }
        let found = self.text(0);
        if found.starts_with("/*") {
            return Some(unclosed_comment(self.source, &place));
        }
        let error = self
            .source
            .error(format!("expected {expected}, found `{}`", found.lines().next().unwrap_or("")));
        let error = match before {
            Some(before)
                if expected == "`;`" && text[before.place.end..place.start].contains('\n') =>
            {
                error
                    .at(before.place.clone(), "`;` is missing after this")
                    .at(place.clone(), "so that this was not expected")
            }
            _ => error.at(place.clone(), format!("expected {expected}")),
        };
        let word_before = before.map_or("", |token| &text[token.place.clone()]);
        let c_type = |word: &str| {
            matches!(word, "float" | "double" | "int" | "uint" | "bool" | "void")
                || word.starts_with("vec")
                || word.starts_with("float")
        };
        let global = expected.starts_with("a declaration");
        let help = match found {
            "?" => "WGSL has no `? :`; write `select(otherwise, value, condition)`",
            "and" => "in WGSL, `and` is written `&&`",
            "or" => "in WGSL, `or` is written `||`",
            "not" => "in WGSL, `not` is written `!`",
            "+" if expected == "an expression" => {
                "WGSL has no `+` in front of a value; leave it out"
            }
            "=" if matches!(expected, "`)`" | "`{`") => "values are compared with `==`",
            "return" | "continue" | "break" if expected == "`{`" => {
                "bodies of `if` and of loops stand in `{ }`"
            }
            "let" if global => "outside of functions, a value is declared with `const`",
            "#" if expected != "`;`" => "WGSL has no preprocessor",
            _ if expected == "`:`" && c_type(word_before) => {
                &format!("the type follows the name: `{found}: {}`", names::wgsl(word_before))
            }
            _ if global && c_type(found) => {
                "write `fn f(x: f32) -> f32 { … }` for a function, `const c = …;` for a constant"
            }
            _ if c_type(word_before) || c_type(found) => {
                "write `let c = …;` for a value and `var c: f32 = …;` for a variable"
            }
            _ => return Some(error),
        };
        Some(error.help(help))
    }

    fn name(&self) -> Option<ShaderError> {
        let text = self.source.text();
        if self.message.starts_with("no definition in scope") {
            let name = self.text(0);
            let tokens = &self.source.outline.tokens;
            let before = tokens.partition_point(|token| token.place.end <= self.place(0).start);
            let error = self.error(format!("`{name}` is not declared"), "not known here");
            let remedy = names::remedy(name, self.source.outline.names(text));
            let help = remedy.or_else(|| images::undeclared(text, &tokens[..before], name));
            return Some(ShaderError { help, ..error });
        }
        if self.message.starts_with("invalid field accessor") {
            let name = self.text(0);
            let base =
                text[..self.place(0).start].trim_end().strip_suffix('.').unwrap_or("").trim_end();
            let start = base
                .rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.')))
                .map_or(0, |k| k + 1);
            let base = base
                .get(start..)
                .or_else(|| base.get(start + 1..))
                .unwrap_or("")
                .trim_start_matches('.');
            let message = if base.is_empty() {
                format!("no member or component `{name}`")
            } else {
                format!("`{base}` has no member or component `{name}`")
            };
            let error = self.error(message, "not known here");
            let members = self
                .source
                .outline
                .structs
                .iter()
                .flat_map(|s| &s.members)
                .map(|member| &text[member.name.clone()]);
            let function = self
                .source
                .outline
                .functions
                .iter()
                .find(|function| function.body.contains(&self.place(0).start));
            let parameter = function.and_then(|f| {
                f.parameters.iter().find(|parameter| &text[parameter.name.clone()] == base)
            });
            let known = parameter.and_then(|parameter| {
                self.source.outline.structure(text, &text[parameter.ty.clone()])
            });
            let help = if let Some(known) = known {
                let members: Vec<_> =
                    known.members.iter().map(|member| &text[member.name.clone()]).collect();
                Some(format!("`{}` has {}", &text[known.name.clone()], list(&members, "and")))
            } else if images::is_texture(text, &self.source.outline.tokens, base) {
                Some(format!(
                    "values are looked up: `textureSample({base}, s, p.uv)`, where `s` is a sampler"
                ))
            } else if name.chars().all(|c| "xyzwrgba".contains(c)) {
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
            let error = self.error(
                format!("`{name}` is declared as `{expected}`, but its value is `{got}`"),
                format!("declared as `{expected}`"),
            );
            return Some(ShaderError { help: conversion(got, expected), ..error });
        }
        if message.starts_with("automatic conversions cannot convert") {
            let [found, wanted] = words[..] else { return None };
            let (found, mut wanted) = (found.to_owned(), wanted.to_owned());
            // Of scalars, if what is found are several, as many are wanted.
            if let (Some(vector), Some(letter)) = (found.get(..4), wanted.get(..1))
                && vector.starts_with("vec")
                && matches!(&wanted[..], "f32" | "i32" | "u32")
            {
                wanted = format!("{vector}{letter}");
            }
            let error = self.source.error(format!("expected `{wanted}`, found `{found}`"));
            let error = error
                .at(self.place(1), format!("this is `{found}`"))
                .at(self.place(0), format!("`{wanted}` is needed for this"));
            return Some(ShaderError { help: conversion(&found, &wanted), ..error });
        }
        if message.starts_with("cannot cast a") {
            let (from, to) = message.strip_prefix("cannot cast a ")?.split_once(" to a ")?;
            return Some(self.error(
                format!("`{from}` cannot be converted to `{to}`"),
                format!("this is `{from}`"),
            ));
        }
        if message.starts_with("the operand of the `*`") {
            return Some(self.error("`*` works on pointers", "this is no pointer"));
        }
        if message.starts_with("the operand of the `&`") {
            return Some(
                self.error("`&` works on variables", "this is a value")
                    .help("declare it with `var`"),
            );
        }
        if message.starts_with("increment/decrement") {
            return Some(
                self.error("`++` and `--` work on `i32` and `u32`", "of another type")
                    .help("write `x += 1`"),
            );
        }
        if message.ends_with("is not constructible") {
            let name = self.text(0);
            let error = self.error(
                format!("`{name}` cannot be made of these arguments"),
                "in this constructor",
            );
            let columns = name
                .strip_prefix("mat")
                .and_then(|rest| rest.chars().next())
                .filter(char::is_ascii_digit);
            return Some(match columns {
                Some(columns) => error.help(format!(
                    "a matrix takes its {columns} columns, or all of its components"
                )),
                None => error,
            });
        }
        if message.starts_with("invalid type for constructor component") {
            return Some(self.error(
                "this cannot be a component of a vector or matrix",
                "expected a scalar or a vector",
            ));
        }
        if message.starts_with("invalid `switch` selector") {
            return Some(self.error("`switch` works on integers", "expected `i32` or `u32`"));
        }
        if message.starts_with("function does not return any value") {
            return Some(
                self.error("this function returns nothing", "a value is expected here")
                    .help("call it as a statement of its own"),
            );
        }
        if message.starts_with("expected an image, but found") {
            let error = self.error(
                format!("`{}` is not a texture", self.text(0)),
                "a texture is expected here",
            );
            return Some(
                error.help("the texture comes first, then the sampler, then the coordinates"),
            );
        }
        if message.starts_with("textureStore can only") {
            return Some(self.error("images cannot be written", "a texture that is read"));
        }
        if message.starts_with("textureGather component")
            || message.contains("resolves to a concrete integer scalar")
        {
            let error = self
                .error("a constant of type `u32` or `i32` is expected here", "not such a constant");
            let before = self.source.text()[..self.place(0).start].trim_end();
            return Some(if before.trim_end_matches('(').trim_end().ends_with("textureGather") {
                let error =
                    self.error("`textureGather` is not given a channel", "expected 0, 1, 2 or 3");
                error.help(
                    "it takes the number of a channel first, then texture, sampler and coordinates",
                )
            } else {
                error
            });
        }
        if message.ends_with("cannot be called") {
            return Some(
                self.error(format!("`{}` is not a function", self.text(0)), "called here"),
            );
        }
        if message.starts_with("invalid `switch` case") {
            let error = self.error(
                "a case must be a constant of the type of the `switch`",
                "not such a constant",
            );
            return Some(error.help("`0u` is `u32`, `0i` is `i32`, and `0` is what it must be"));
        }
        if message.starts_with("array element count must be positive") {
            return Some(self.error("an array has at least one element", "this is its size"));
        }
        if message.starts_with("unused return value") {
            let error = self.error(
                format!("the result of `{}` is not used", self.text(0)),
                "called only for its result",
            );
            return Some(error.help("give it a name with `let`, or drop it with `_ = …;`"));
        }
        if message.starts_with("invalid left-hand side of assignment") {
            let error = self.error("this cannot be assigned to", "not a variable");
            return Some(match (self.labels.get(1), self.notes.first()) {
                (Some((place, _)), _) => {
                    let name = &self.source.text()[place.clone()];
                    let error =
                        self.error(format!("`{name}` cannot be changed"), "assigned to here");
                    let parameter = self
                        .source
                        .outline
                        .functions
                        .iter()
                        .flat_map(|f| &f.parameters)
                        .any(|p| p.name == *place);
                    if parameter {
                        let help = format!(
                            "parameters are values: make a variable of it, `var my_{name} = {name};`"
                        );
                        error.at(place.clone(), "a parameter").help(help)
                    } else {
                        error
                            .at(place.clone(), "declared with `let`")
                            .help(format!("declare it with `var {name}`"))
                    }
                }
                (None, Some(_)) => self
                    .error("several components cannot be assigned to at once", "assigned to here")
                    .help("assign them one by one, or build a new vector"),
                (None, None) => error.help("only what `var` declares can change"),
            });
        }
        None
    }

    fn arguments(&self) -> Option<ShaderError> {
        let message = self.message.as_str();
        if message.starts_with("wrong number of arguments") {
            let expected = between(message, "expected ", ",")?;
            let found = between(message, "found ", "")?;
            // The end of the range is left out.
            let range = expected
                .split_once("..")
                .and_then(|(least, end)| Some((least, end.parse::<u32>().ok()? - 1)));
            let expected =
                range.map_or(expected.to_owned(), |(least, most)| format!("{least} to {most}"));
            return Some(self.error(
                format!("`{}` takes {expected} arguments, but is given {found}", self.text(0)),
                "in this call",
            ));
        }
        if message.starts_with("too many arguments") {
            let most: usize = between(self.notes.first()?, "at most ", " ")?.parse().ok()?;
            let arguments = if most == 1 { "argument" } else { "arguments" };
            let error =
                self.source.error(format!("`{}` takes {most} {arguments} at most", self.text(0)));
            let error = error.at(self.place(1), "one too many").at(self.place(0), "in this call");
            return Some(if self.text(0) == "atan" {
                error.help("in WGSL, `atan(y, x)` is called `atan2`")
            } else {
                error
            });
        }
        let (wrong, inconsistent) = (
            message.starts_with("wrong type passed"),
            message.starts_with("inconsistent type passed"),
        );
        if !wrong && !inconsistent {
            return None;
        }
        let index = between(message, "#", " ")?;
        let (place, label) = self.labels.get(1)?;
        let found = between(label, "has type ", "")?.trim_matches('`');
        let function = self.text(0);
        let allowed: Vec<_> = self
            .notes
            .iter()
            .filter_map(|note| note.strip_prefix("allowed type: "))
            .filter(|ty| is_known(ty))
            .collect();
        let error =
            self.source.error(format!("argument {index} of `{function}` cannot be `{found}`"));
        // The place of a name that `let` declares is its value's.
        let here = if place.start >= self.place(0).start {
            "this is the argument"
        } else {
            "this is its value"
        };
        let mut error =
            error.at(self.place(0), "in this call").at(place.clone(), format!("{here}, `{found}`"));
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
            _ => {
                let choice = list(&allowed, "or");
                match conversion(found, "f32") {
                    Some(help) if allowed.contains(&"f32") => {
                        error.help(format!("it may be {choice}: {help}"))
                    }
                    _ => error.help(format!("it may be {choice}")),
                }
            }
        })
    }

    fn constants(&self) -> Option<ShaderError> {
        let message = self.message.as_str();
        if message.starts_with("this operation is not supported in a const context") {
            let error = self.error(
                format!("`{}` is not known when the shader is compiled", self.text(0)),
                "a constant is needed here",
            );
            return Some(
                error.help("`const`, `const_assert`, `case` and sizes of arrays take constants; `let` takes any value"),
            );
        }
        if message.starts_with("failed to convert expression to a concrete type") {
            let reason = self
                .notes
                .first()
                .and_then(|note| between(note, "scalar type: ", ""))
                .unwrap_or("");
            let error = match quoted(reason)[..] {
                [ty, value] => {
                    self.error(format!("`{value}` is beyond the type `{ty}`"), "this constant")
                }
                _ => self
                    .error("this constant cannot be computed", "its operands do not go together"),
            };
            return Some(error);
        }
        if let [ty, value] = quoted(message)[..]
            && message.contains("cannot represent the abstract value")
        {
            return Some(self.error(
                format!("`{value}` cannot be of type `{ty}`"),
                format!("`{ty}` is needed here"),
            ));
        }
        if self.labels.first().is_some_and(|(_, label)| label == "see msg") {
            let text = self.text(0);
            if message.contains("Constructor expects")
                && let (Some(expected), Some(found)) =
                    (between(message, "expects ", " "), between(message, "found ", ""))
            {
                let ty = text.split('(').next().unwrap_or("").trim();
                let message = format!("`{ty}` has {expected} components, but is given {found}");
                return Some(self.error(message, "in this constructor"));
            }
            let known = [
                ("by zero", "this constant is a division by zero".to_owned()),
                ("Float literal is", "this constant is not finite".to_owned()),
                ("operation overflowed", "this constant overflows".to_owned()),
                (
                    "argument is out of valid range",
                    format!("`{text}` is not defined for this constant"),
                ),
                ("for clamp", "the bounds of `clamp` are exchanged".to_owned()),
                ("RHS of shift", "a shift by 32 or more".to_owned()),
                ("verrid", "an override is not known when the shader is compiled".to_owned()),
                (
                    "runtime-expression",
                    format!("`{text}` is not known when the shader is compiled"),
                ),
                ("Constants ", format!("`{text}` is not known when the shader is compiled")),
                ("cast scalar components", "this constant cannot be converted".to_owned()),
                ("annot apply", "this operation does not work on these constants".to_owned()),
                (
                    "xpected boolean",
                    "the condition of `select` must be `bool`, or a vector of them".to_owned(),
                ),
                ("accept", "the values for false and for true must be of the same type".to_owned()),
            ];
            let message =
                known.into_iter().find(|(part, _)| message.contains(part)).map(|(_, told)| told);
            let message = message.unwrap_or_else(|| "this constant cannot be computed".to_owned());
            return Some(self.error(message, "computed when the shader is compiled"));
        }
        if message.contains("const_assert") {
            return Some(self.error("a `const_assert` does not hold", "this is false"));
        }
        None
    }

    fn declarations(&self) -> Option<ShaderError> {
        let message = self.message.as_str();
        if message.starts_with("unterminated block comment") {
            return Some(unclosed_comment(self.source, &self.place(0)));
        }
        if message.starts_with("invalid numeric literal") {
            return Some(self.error(
                format!("`{}` is not a number", self.text(0)),
                "expected one as in `1`, `0.5` or `1e-3`",
            ));
        }
        if message.starts_with("numeric literal not representable") {
            return Some(self.error(
                format!("`{}` is beyond the numbers of its type", self.text(0)),
                "this constant",
            ));
        }
        if message.starts_with("unexpected template") {
            return Some(
                self.error(format!("`{}` is not a name", self.text(0)), "a name is expected here"),
            );
        }
        if message.starts_with("unexpected components") {
            return Some(self.error("this has no components", "used as if it had"));
        }
        if message.starts_with("redefinition of") {
            let name = self.text(0);
            let error = self.source.error(format!("`{name}` is declared twice"));
            return Some(
                error.at(self.place(0), "the second time").at(self.place(1), "the first time"),
            );
        }
        if message.ends_with("is recursive") || message.ends_with("is cyclic") {
            return Some(self.recursion());
        }
        if message.ends_with("is a reserved keyword") {
            return Some(self.error(
                format!("`{}` is a reserved word of WGSL", self.text(0)),
                "choose another name",
            ));
        }
        if message.contains("extension") && message.ends_with("is not yet supported") {
            return Some(
                self.error("this extension of WGSL is not supported", "asks for an extension")
                    .help("leave the line out"),
            );
        }
        if message.contains("enable extension is not enabled") {
            let what = quoted(message)[0];
            let what = what.trim_start_matches("wgpu_");
            let error = self.error(format!("`{what}` is not supported"), "used here");
            return Some(match what {
                "f16" => error.help("use `f32`"),
                "binding_array" => error.help("declare each texture as a variable of its own"),
                _ => error,
            });
        }
        if self.notes.iter().any(|note| note.contains("recursion limit"))
            || message.starts_with("brace nesting limit")
        {
            return Some(
                self.error("the shader is nested too deeply", "deepest here")
                    .help("move inner parts into functions of their own"),
            );
        }
        None
    }

    fn recursion(&self) -> ShaderError {
        let name = self.text(0);
        let function =
            self.source.outline.functions.iter().any(|function| function.name == self.place(0));
        let (message, verb, help) = if function {
            (format!("`{name}` calls itself"), "calls", "WGSL has no recursion; write a loop")
        } else {
            (
                format!("`{name}` is declared by itself"),
                "needs",
                "a declaration cannot depend on its own name",
            )
        };
        let mut error = self.source.error(message).help(help);
        // Declarations and uses alternate; a circle of several begins with a use from outside.
        let outside = usize::from(self.labels.len() > 2);
        for pair in self.labels.chunks(2).skip(outside) {
            if let [_, (place, _)] = pair {
                let used = &self.source.text()[place.clone()];
                let label = if used == name {
                    format!("{verb} `{used}` again")
                } else {
                    format!("{verb} `{used}`")
                };
                error = error.at(place.clone(), label);
            }
        }
        error
    }

    /// What is not known here. Type errors without a place are looked for.
    fn otherwise(&self, error: &ParseError) -> ShaderError {
        let message = self.message.as_str();
        let message = if message.starts_with("Invalid access")
            || message.starts_with("Invalid sub-access")
        {
            "only arrays, vectors and matrices have elements".to_owned()
        } else if let Some(rest) = message.strip_prefix("Incompatible operands: ") {
            let operation = operator(rest.split('(').next().unwrap_or(""));
            let types: Vec<_> =
                between(rest, "(", ")").map_or(vec![], |types| types.split(", ").collect());
            match types[..] {
                // Of types that are not plain naga shows the inside.
                _ if rest.contains(" * ") => "`*` does not work on these operands".to_owned(),
                _ if rest.contains(" as ") => "this cannot be converted".to_owned(),
                _ if rest.contains('{') => format!("`{operation}` does not work on these operands"),
                [left, "_"] => format!("`{operation}` works on `bool`, not on `{left}`"),
                [left, right] => {
                    format!("`{operation}` does not work between `{left}` and `{right}`")
                }
                _ => format!("`{operation}` does not work on these operands"),
            }
        } else {
            presentable(message)
        };
        let mut told = self.source.error(message);
        for (place, label) in &self.labels {
            told = told.at(
                place.clone(),
                if label.is_empty() { "here".to_owned() } else { lower_first(label) },
            );
        }
        if told.labels.is_empty()
            && let Some(place) = locate::statement(self.source, error.message())
        {
            told = told.at(place, "in this statement");
        }
        let notes: Vec<_> = self
            .notes
            .iter()
            .filter(|note| !note.contains("Naga") && !note.contains("http"))
            .cloned()
            .collect();
        if notes.is_empty() { told } else { told.help(notes.join("; ")) }
    }
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

/// Whether the compiler has a type that naga offers.
fn is_known(ty: &str) -> bool {
    !["abstract", "16", "64"].iter().any(|part| ty.contains(part))
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
