//! Unexpected tokens, malformed literals and declarations that WGSL does not allow.

use super::{ParserError, between, quoted};
use crate::frontend::lexer::SourceRange;
use crate::frontend::{ShaderError, Source, names};

fn unclosed_comment(source: &Source, location: &SourceRange) -> ShaderError {
    source
        .error("a comment is never closed")
        .at(location.start..location.start + 2, "it starts here")
        .help("close it with `*/`")
}

/// Whether a word starts a declaration in C, GLSL or HLSL.
fn is_c_type(word: &str) -> bool {
    matches!(word, "float" | "double" | "int" | "uint" | "bool" | "void")
        || word.starts_with("vec")
        || word.starts_with("float")
}

impl ParserError<'_> {
    /// Describes an unexpected token.
    pub(super) fn syntax(&self) -> Option<ShaderError> {
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
        let location = self.location(0);
        let before = self.source.tokens[..self.source.token_at(location.start)].last();
        if location.start >= self.source.author_text().trim_end().len() {
            let error =
                self.source.error(format!("expected {expected}, found the end of the file"));
            return Some(match self.source.unclosed() {
                Some(bracket) => error.at(bracket, "this bracket is never closed"),
                None => error.at(location, "the file ends here"),
            });
        }
        if let Some(token) = before.filter(|token| token.range.end > location.start) {
            return Some(self.number_with_suffix(token.range.clone(), location.start));
        }
        let found = self.text(0);
        if found.starts_with("/*") {
            return Some(unclosed_comment(self.source, &location));
        }
        let error = self
            .source
            .error(format!("expected {expected}, found `{}`", found.lines().next().unwrap_or("")));
        let error = match before {
            Some(before)
                if expected == "`;`" && text[before.range.end..location.start].contains('\n') =>
            {
                error
                    .at(before.range.clone(), "`;` is missing after this")
                    .at(location.clone(), "unexpected here")
            }
            _ => error.at(location.clone(), format!("expected {expected}")),
        };
        let word_before = self.word_before(&location);
        let at_module_scope = expected.starts_with("a declaration");
        if let Some(keyword) = self.misspelt_keyword(expected) {
            return Some(error.help(format!("did you mean `{keyword}`?")));
        }
        let help = match found {
            "?" => "WGSL has no `? :`; write `select(if_false, if_true, condition)`",
            "and" => "in WGSL, `and` is written `&&`",
            "or" => "in WGSL, `or` is written `||`",
            "not" => "in WGSL, `not` is written `!`",
            "+" if expected == "an expression" => "WGSL has no unary `+`; remove it",
            "=" if matches!(expected, "`)`" | "`{`") => "values are compared with `==`",
            "return" | "continue" | "break" if expected == "`{`" => {
                "the bodies of `if` and loops need braces, `{ }`"
            }
            "let" if at_module_scope => "at module scope, declare values with `const`",
            "#" if expected != "`;`" => "WGSL has no preprocessor",
            _ if expected == "`:`" && is_c_type(word_before) => {
                &format!("the type follows the name: `{found}: {}`", names::wgsl(word_before))
            }
            _ if at_module_scope && is_c_type(found) => {
                "write `fn f(x: f32) -> f32 { … }` for a function, `const c = …;` for a constant"
            }
            _ if is_c_type(word_before) || is_c_type(found) => {
                "write `let c = …;` for a value and `var c: f32 = …;` for a variable"
            }
            _ => return Some(error),
        };
        Some(error.help(help))
    }

    /// Describes a token such as `2x`: a number up to `end`, with more behind it.
    fn number_with_suffix(&self, token: SourceRange, end: usize) -> ShaderError {
        let text = self.source.text();
        let (number, letters) = (&text[token.start..end], &text[end..token.end]);
        let suffixes = "a number may only end in `i`, `u` or `f`";
        let help = match letters.starts_with(|c: char| c.is_ascii_digit()) {
            true => suffixes.into(),
            false => format!("write `{number} * {letters}` for a product; {suffixes}"),
        };
        self.source
            .error(format!("`{}` is not a number", &text[token.clone()]))
            .at(token, "more follows the number")
            .help(help)
    }

    /// Returns the keyword that is probably meant by the first word of a declaration or statement.
    fn misspelt_keyword(&self, expected: &str) -> Option<&'static str> {
        const DECLARATIONS: [&str; 6] = ["struct", "fn", "const", "var", "override", "alias"];
        const STATEMENTS: [&str; 14] = [
            "return", "let", "var", "const", "if", "else", "for", "while", "loop", "switch",
            "break", "continue", "case", "default",
        ];
        let (source, token) = (self.source, self.source.token_at(self.location(0).start));
        if expected.starts_with("a declaration") {
            let word = source.spelling(token);
            return names::closest(word, DECLARATIONS.into_iter())
                .filter(|_| word != "let" && !is_c_type(word));
        }
        let is_start = |&k: &usize| k == 0 || matches!(source.spelling(k - 1), ";" | "{" | "}");
        let word = source.spelling((0..token).rev().find(is_start)?);
        let is_possible = expected.ends_with("assignment")
            || matches!(
                (expected, source.spelling(token)),
                ("`;`", "{") | ("an expression", "var")
            );
        let is_known = STATEMENTS.contains(&word)
            || is_c_type(word)
            || source.names().any(|name| name == word);
        if is_known || !is_possible {
            return None;
        }
        names::closest(word, STATEMENTS.into_iter())
    }

    /// Describes a malformed token or an invalid declaration.
    pub(super) fn declarations(&self) -> Option<ShaderError> {
        let message = self.message.as_str();
        if message.starts_with("unterminated block comment") {
            return Some(unclosed_comment(self.source, &self.location(0)));
        }
        if message.starts_with("invalid numeric literal") {
            return Some(self.error(
                format!("`{}` is not a number", self.text(0)),
                "expected a number such as `1`, `0.5` or `1e-3`",
            ));
        }
        if message.starts_with("numeric literal not representable") {
            return Some(self.error(
                format!("`{}` is out of range for its type", self.text(0)),
                "this constant",
            ));
        }
        if message.starts_with("unexpected template") {
            return Some(
                self.error(format!("`{}` is not a name", self.text(0)), "a name is expected here"),
            );
        }
        if message.starts_with("unexpected components") {
            return Some(self.error("this has no components", "components are accessed here"));
        }
        if message.starts_with("redefinition of") {
            let name = self.text(0);
            let error = self.source.error(format!("`{name}` is declared twice"));
            return Some(
                error
                    .at(self.location(0), "declared again here")
                    .at(self.location(1), "first declared here"),
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
                self.error("this extension of WGSL is not supported", "enabled here")
                    .help("remove the line"),
            );
        }
        if message.contains("enable extension is not enabled") {
            let extension = quoted(message)[0].trim_start_matches("wgpu_");
            let error = self.error(format!("`{extension}` is not supported"), "used here");
            return Some(match extension {
                "f16" => error.help("use `f32`"),
                "binding_array" => error.help("declare each texture as a separate variable"),
                _ => error,
            });
        }
        if self.notes.iter().any(|note| note.contains("recursion limit"))
            || message.starts_with("brace nesting limit")
        {
            return Some(
                self.error("the shader is nested too deeply", "deepest here")
                    .help("move inner parts into separate functions"),
            );
        }
        None
    }
}
