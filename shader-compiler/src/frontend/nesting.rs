//! Limits on the nesting of a shader, checked before naga runs.
//!
//! naga limits the recursion depth of its parser. But its later passes walk expressions, `else if`
//! chains and chains of declarations recursively, without a limit on their depth.

use super::lexer::{SourceRange, TokenKind};
use super::{ShaderError, Source};
use crate::texture::MAX_TEXTURES;

/// Maximum nesting depth of brackets and chained `else`s.
const MAX_BRACKETS: usize = 100;

/// Maximum depth of an expression.
const MAX_OPERATORS: usize = 500;

/// Maximum number of declarations, since each may refer to the next.
const MAX_DECLARATIONS: usize = 2000;

// A texture is a declaration.
const _: () = assert!(MAX_DECLARATIONS <= MAX_TEXTURES as usize);

const DECLARATIONS: [&str; 7] =
    ["struct", "fn", "const", "var", "override", "alias", "const_assert"];

/// Nesting depths and number of declarations of a shader.
#[derive(Clone, Debug, Default)]
struct Nesting {
    /// Maximum number of brackets around any token; an `else` counts as a bracket around the
    /// code after it.
    brackets: usize,
    /// Maximum number of operators and brackets on the path from an expression's root to a leaf.
    operators: usize,
    /// Last token at which either maximum grew.
    deepest: SourceRange,
    /// Number of declarations at module scope.
    declarations: usize,
}

/// State of an open bracket.
#[derive(Default)]
struct Level {
    /// Operators since the last separator.
    operators: usize,
    /// Depth of the deepest bracket since the last separator.
    inner: usize,
    /// Depth of the deepest element before the last separator.
    deepest: usize,
    /// Number of `else`s since the last separator.
    elses: usize,
}

impl Level {
    /// Depth of the current element.
    fn depth(&self) -> usize {
        self.operators + self.inner
    }

    /// Starts a new element. Returns the number of `else`s in the previous one.
    fn start_element(&mut self) -> usize {
        let elses = self.elses;
        *self = Level { deepest: self.deepest.max(self.depth()), ..Level::default() };
        elses
    }
}

fn top(levels: &mut [Level]) -> &mut Level {
    levels.last_mut().expect("the outermost level is never popped")
}

fn measure(source: &Source) -> Nesting {
    let mut levels = vec![Level::default()];
    let mut nesting = Nesting::default();
    let (mut brackets, mut after_block) = (0, false);
    for (k, token) in source.tokens.iter().enumerate() {
        let spelling = source.spelling(k);
        if after_block && spelling != "else" {
            brackets -= top(&mut levels).start_element();
        }
        after_block = spelling == "}";
        match spelling {
            "(" | "[" | "{" => {
                levels.push(Level::default());
                brackets += 1;
            }
            ")" | "]" | "}" => {
                if levels.len() > 1 {
                    let mut closed = levels.pop().expect("at least two levels are open");
                    brackets -= closed.start_element() + 1;
                    let level = top(&mut levels);
                    level.inner = level.inner.max(closed.deepest + 1);
                    // Indexing is an operator too.
                    level.operators += usize::from(spelling == "]");
                }
            }
            "," | ";" => brackets -= top(&mut levels).start_element(),
            "else" => {
                top(&mut levels).elses += 1;
                brackets += 1;
            }
            ":" | "=" | "@" | "->" => {}
            _ => top(&mut levels).operators += usize::from(token.kind == TokenKind::Symbol),
        }
        nesting.declarations += usize::from(levels.len() == 1 && DECLARATIONS.contains(&spelling));
        let operators = top(&mut levels).depth();
        if operators > nesting.operators || brackets > nesting.brackets {
            nesting.operators = nesting.operators.max(operators);
            nesting.brackets = nesting.brackets.max(brackets);
            nesting.deepest = token.range.clone();
        }
    }
    nesting
}

/// Rejects shaders that could overflow naga's stack.
pub(super) fn check(source: &Source) -> Result<(), ShaderError> {
    let nesting = measure(source);
    let (message, help) = if nesting.brackets > MAX_BRACKETS {
        (
            format!("brackets are nested more than {MAX_BRACKETS} levels deep"),
            "move inner parts into separate functions",
        )
    } else if nesting.operators > MAX_OPERATORS {
        (
            format!("an expression is more than {MAX_OPERATORS} operators deep"),
            "split the expression with `let`",
        )
    } else if nesting.declarations > MAX_DECLARATIONS {
        return Err(
            source.error(format!("the shader has more than {MAX_DECLARATIONS} declarations"))
        );
    } else {
        return Ok(());
    };
    Err(source.error(message).at(nesting.deepest, "deepest here").help(help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_operators_and_elses() {
        for (text, brackets, operators) in [
            ("", 0, 0),
            ("f(a, b, c, d)", 1, 1),
            ("((a))", 2, 2),
            ("a + b + c, d + e", 0, 2),
            ("a = (b + c) * d;", 1, 3),
            ("if a { } else if b { } else { } if c { }", 3, 1),
            ("x[1][2].y", 1, 4),
            ("{ { } } { }", 2, 2),
            (")) ((", 2, 0),
        ] {
            let nesting = measure(&Source::new("test.wgsl", text));
            assert_eq!((nesting.brackets, nesting.operators), (brackets, operators), "{text}");
        }
    }

    #[test]
    fn declarations_in_functions_are_not_counted() {
        let text = "struct S { a: f32 } @id(1) override o = 1; const_assert true; alias T = f32; \
                    fn f(a: f32) { var b = a; const c = 1; } ;";
        assert_eq!(measure(&Source::new("test.wgsl", text)).declarations, 5);
    }
}
