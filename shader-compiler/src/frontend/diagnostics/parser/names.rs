//! Undeclared names and members, and recursion.

use super::ParserError;
use crate::frontend::diagnostics::{images, list};
use crate::frontend::{ShaderError, names};

impl ParserError<'_> {
    /// Describes an undeclared name or member.
    pub(super) fn undeclared(&self) -> Option<ShaderError> {
        let text = self.source.text();
        if self.message.starts_with("no definition in scope") {
            let name = self.text(0);
            let tokens = &self.source.tokens[..self.source.token_at(self.location(0).start)];
            let error = self.error(format!("`{name}` is not declared"), "not found in this scope");
            let suggestion = names::suggestion(name, self.source.names());
            let help = suggestion.or_else(|| images::undeclared(text, tokens, name));
            return Some(ShaderError { help, ..error });
        }
        if self.message.starts_with("invalid field accessor") {
            let name = self.text(0);
            let base = text[..self.location(0).start]
                .trim_end()
                .strip_suffix('.')
                .unwrap_or("")
                .trim_end();
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
            let error = self.error(message, "no such member");
            let help = if let Some(token) = self.struct_type_of(base) {
                let members: Vec<_> = self.source.member_names(token).collect();
                Some(format!("`{}` has {}", self.source.spelling(token), list(&members, "and")))
            } else if images::is_texture(text, &self.source.tokens, base) {
                Some(format!(
                    "sample a texture with `textureSample({base}, s, p.uv)`, where `s` is a sampler"
                ))
            } else if name.chars().all(|c| "xyzwrgba".contains(c)) {
                Some("a vector of n components has the first n of `x`, `y`, `z`, `w`, also called `r`, `g`, `b`, `a`".to_owned())
            } else {
                let structs = (1..self.source.tokens.len())
                    .filter(|&k| self.source.spelling(k - 1) == "struct");
                let members = structs.flat_map(|k| self.source.member_names(k));
                names::closest(name, members).map(|known| format!("did you mean `{known}`?"))
            };
            return Some(ShaderError { help, ..error });
        }
        None
    }

    /// Token index of the name of the struct type of a variable or parameter.
    fn struct_type_of(&self, variable: &str) -> Option<usize> {
        let source = self.source;
        let declared = (0..source.token_at(self.location(0).start))
            .rev()
            .take_while(|&k| source.spelling(k) != "fn")
            .find(|&k| source.spelling(k) == variable && source.spelling(k + 1) == ":")?;
        source.find_declaration("struct", source.spelling(declared + 2))
    }

    /// Describes a function or declaration that refers to itself.
    pub(super) fn recursion(&self) -> ShaderError {
        let name = self.text(0);
        let (message, verb, help) = if self.word_before(&self.location(0)) == "fn" {
            (format!("`{name}` calls itself"), "calls", "WGSL does not allow recursion; use a loop")
        } else {
            (
                format!("`{name}` depends on itself"),
                "depends on",
                "a declaration cannot refer to itself",
            )
        };
        let mut error = self.source.error(message).help(help);
        // Labels of declarations and uses alternate. A cycle of several declarations starts with a
        // use from outside the cycle.
        let outside = usize::from(self.labels.len() > 2);
        for pair in self.labels.chunks(2).skip(outside) {
            if let [_, (location, _)] = pair {
                let used = &self.source.text()[location.clone()];
                let label = if used == name {
                    format!("{verb} `{used}` again")
                } else {
                    format!("{verb} `{used}`")
                };
                error = error.at(location.clone(), label);
            }
        }
        error
    }
}
