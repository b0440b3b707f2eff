//! Constants that cannot be evaluated.

use super::{ParserError, between, quoted};
use crate::frontend::ShaderError;

impl ParserError<'_> {
    /// Describes a constant that cannot be evaluated.
    pub(super) fn constants(&self) -> Option<ShaderError> {
        let message = self.message.as_str();
        if message.starts_with("this operation is not supported in a const context") {
            let error = self.error(
                format!("`{}` is not a constant expression", self.text(0)),
                "a constant expression is required here",
            );
            return Some(
                error.help("`const`, `const_assert`, `case` and array sizes need constant expressions; `let` takes any value"),
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
                    self.error(format!("`{value}` is out of range for `{ty}`"), "this constant")
                }
                _ => self.error(
                    "this constant cannot be evaluated",
                    "the types of its operands do not match",
                ),
            };
            return Some(error);
        }
        if let [ty, value] = quoted(message)[..]
            && message.contains("cannot represent the abstract value")
        {
            return Some(self.error(
                format!("`{value}` cannot be represented in `{ty}`"),
                format!("`{ty}` is required here"),
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
            let messages = [
                ("by zero", "this constant is a division by zero".to_owned()),
                ("Float literal is", "this constant is not finite".to_owned()),
                ("operation overflowed", "this constant overflows".to_owned()),
                (
                    "argument is out of valid range",
                    format!("`{text}` is not defined for this constant"),
                ),
                ("for clamp", "the lower bound of `clamp` is above the upper bound".to_owned()),
                ("RHS of shift", "shift by 32 bits or more".to_owned()),
                ("verrid", "an override is not a constant expression".to_owned()),
                ("runtime-expression", format!("`{text}` is not a constant expression")),
                ("Constants ", format!("`{text}` is not a constant expression")),
                ("cast scalar components", "this constant cannot be converted".to_owned()),
                ("annot apply", "this operator does not apply to these constants".to_owned()),
                (
                    "xpected boolean",
                    "the condition of `select` must be `bool`, or a vector of them".to_owned(),
                ),
                ("accept", "the two values of `select` must have the same type".to_owned()),
            ];
            let message = messages
                .into_iter()
                .find(|(part, _)| message.contains(part))
                .map(|(_, message)| message);
            let message = message.unwrap_or_else(|| "this constant cannot be evaluated".to_owned());
            return Some(self.error(message, "evaluated at compile time"));
        }
        if message.contains("const_assert") {
            return Some(self.error("a `const_assert` fails", "this is false"));
        }
        None
    }
}
