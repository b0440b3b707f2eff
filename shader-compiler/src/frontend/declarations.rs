//! Locations of names, types and doc comments within declarations.
//!
//! naga records spans only for whole declarations, not for struct members, parameters or their
//! types. This module finds these among the tokens within a span. Text that naga rejects has no
//! spans, so messages about it search the tokens by keyword.

use super::Source;
use super::lexer::{DocComment, SourceRange, TokenKind};

/// Locations of the name and type of a struct member or parameter; empty if not found.
#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    pub name: SourceRange,
    pub ty: SourceRange,
}

impl Source {
    /// Text of a token; empty if there is no such token.
    pub fn spelling(&self, token: usize) -> &str {
        self.tokens.get(token).map_or("", |token| &self.text()[token.range.clone()])
    }

    /// Index of the first token at or after a location.
    pub fn token_at(&self, start: usize) -> usize {
        self.tokens.partition_point(|token| token.range.start < start)
    }

    /// Source range of the tokens `first..end`.
    fn range(&self, first: usize, end: usize) -> SourceRange {
        match self.tokens.get(first..end) {
            Some([first, .., last]) => first.range.start..last.range.end,
            Some([only]) => only.range.clone(),
            _ => 0..0,
        }
    }

    /// Location of the name that follows the keyword of a declaration.
    pub fn declared_name(&self, declaration: naga::Span) -> SourceRange {
        declaration.to_range().map_or(0..0, |range| {
            let name = self.token_at(range.start) + 1;
            self.range(name, name + 1)
        })
    }

    /// Range of a function's declaration up to its body.
    pub fn signature(&self, function: naga::Span) -> SourceRange {
        function.to_range().map_or(0..0, |range| {
            let first = self.token_at(range.start);
            let body = (first..self.tokens.len()).find(|&k| self.spelling(k) == "{");
            self.range(first, body.unwrap_or(self.tokens.len()))
        })
    }

    /// Finds a member of a struct or a parameter of a function.
    pub fn member(&self, declaration: naga::Span, name: &str) -> Member {
        let Some(range) = declaration.to_range() else { return Member::default() };
        let token = (self.token_at(range.start)..self.token_at(range.end))
            .find(|&k| self.spelling(k) == name && self.spelling(k + 1) == ":");
        token.map_or(Member::default(), |k| Member {
            name: self.tokens[k].range.clone(),
            ty: self.ty(k + 2),
        })
    }

    /// Range of the type that starts at a token. `<` and `>` enclose template arguments, except in
    /// parentheses.
    fn ty(&self, first: usize) -> SourceRange {
        let (mut parentheses, mut angles) = (0, 0);
        let end = (first..self.tokens.len()).find(|&k| {
            match self.spelling(k) {
                "(" | "[" => parentheses += 1,
                ")" | "]" if parentheses > 0 => parentheses -= 1,
                "<" if parentheses == 0 => angles += 1,
                ">" if parentheses == 0 => angles -= 1,
                "," if parentheses == 0 && angles == 0 => return true,
                ")" | "{" | "}" | ";" => return true,
                _ => {}
            }
            false
        });
        self.range(first, end.unwrap_or(first))
    }

    /// The doc comments of the member or override whose name is at this location: before it, or
    /// from the end of its line on.
    pub fn doc_comments(&self, name: &SourceRange) -> Vec<SourceRange> {
        let name = self.token_at(name.start);
        // Attributes may come between comments and names.
        let mut parentheses = 0;
        let previous = (0..name).rev().find(|&k| {
            match self.spelling(k) {
                ")" => parentheses += 1,
                "(" if parentheses > 0 => parentheses -= 1,
                "," | "(" if parentheses == 0 => return true,
                ";" | "{" | "}" => return true,
                _ => {}
            }
            false
        });
        let first = previous.map_or(0, |k| k + 1);
        let precedes = |doc: &&DocComment| {
            let is_after_brace = doc.next_token == first && self.opens_struct(previous);
            (first..=name).contains(&doc.next_token) && (!doc.is_trailing || is_after_brace)
        };
        let follows = |doc: &&DocComment| self.name_before(doc) == Some(name);
        self.docs
            .iter()
            .filter(|doc| !doc.is_module)
            .filter(|doc| precedes(doc) || follows(doc))
            .map(|doc| doc.range.clone())
            .collect()
    }

    /// Whether a token is the opening brace of a struct.
    fn opens_struct(&self, token: Option<usize>) -> bool {
        token.is_some_and(|k| k > 1 && self.spelling(k) == "{" && self.spelling(k - 2) == "struct")
    }

    /// Token index of the name of the struct member or override that a trailing comment documents.
    fn name_before(&self, doc: &DocComment) -> Option<usize> {
        let mut last = doc.next_token.checked_sub(1).filter(|_| doc.is_trailing)?;
        // The declaration is complete: it has its delimiter, or is the last of a struct.
        let ends_declaration = match self.spelling(last) {
            "," | ";" => {
                last = last.checked_sub(1)?;
                true
            }
            _ => matches!(self.spelling(doc.next_token), "," | "}"),
        };
        // Goes back to the beginning of the declaration.
        let (mut brackets, mut name) = (0_usize, None);
        let start = (0..=last).rev().find(|&k| {
            match self.spelling(k) {
                ")" | ">" | "]" => brackets += 1,
                "(" | "<" | "[" => brackets = brackets.saturating_sub(1),
                ":" if brackets == 0 => name = k.checked_sub(1),
                "override" => name = Some(k + 1),
                "," if brackets == 0 => return true,
                ";" | "{" | "}" => return true,
                _ => {}
            }
            false
        });
        let is_override = name.is_some_and(|k| k > 0 && self.spelling(k - 1) == "override");
        let in_struct = || {
            let open = (0..=start?).rev().find(|&k| matches!(self.spelling(k), "{" | "}"));
            self.opens_struct(open).then_some(())
        };
        name.filter(|_| ends_declaration && (is_override || in_struct().is_some()))
    }

    /// The module's doc comments: those at the top of the file, and misplaced ones after the first
    /// token.
    pub fn module_docs(&self) -> [Vec<SourceRange>; 2] {
        let (head, rest): (Vec<_>, Vec<_>) =
            self.docs.iter().filter(|doc| doc.is_module).partition(|doc| doc.next_token == 0);
        [head, rest].map(|docs| docs.into_iter().map(|doc| doc.range.clone()).collect())
    }

    /// Doc comments that are not attached to a declaration: at the end of a line of other code than
    /// members and overrides, in a function body, or within or after a declaration.
    pub fn stray_docs(&self) -> impl Iterator<Item = SourceRange> {
        let bodies = self.bodies();
        self.docs.iter().filter(|doc| !doc.is_module).filter_map(move |doc| {
            let next = doc.next_token;
            let precedes_declaration = self
                .tokens
                .get(next)
                .is_some_and(|token| token.kind == TokenKind::Word || self.spelling(next) == "@");
            let follows_delimiter = next == 0
                || matches!(self.spelling(next - 1), "{" | "}" | "," | ";" | "(" | ")")
                || next > 1 && self.spelling(next - 2) == "@";
            let is_attached = self.name_before(doc).is_some()
                || doc.is_trailing && self.opens_struct(next.checked_sub(1));
            if is_attached {
                return None;
            }
            let in_body = bodies.iter().any(|(open, close)| (open + 1..=*close).contains(&next));
            (doc.is_trailing || in_body || !precedes_declaration || !follows_delimiter)
                .then(|| doc.range.clone())
        })
    }

    /// Token indices of the opening and closing braces of function bodies.
    pub fn bodies(&self) -> Vec<(usize, usize)> {
        let mut bodies = vec![];
        let (mut depth, mut open) = (0_usize, None);
        for k in 0..self.tokens.len() {
            match self.spelling(k) {
                "{" => {
                    if depth == 0 && self.spelling(k.wrapping_sub(2)) != "struct" {
                        open = Some(k);
                    }
                    depth += 1;
                }
                "}" => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        bodies.extend(open.take().map(|open| (open, k)));
                    }
                }
                _ => {}
            }
        }
        bodies
    }

    /// Token index of the name in a declaration such as `fn NAME`.
    pub fn find_declaration(&self, keyword: &str, name: &str) -> Option<usize> {
        (1..self.tokens.len())
            .find(|&k| self.spelling(k) == name && self.spelling(k - 1) == keyword)
    }

    /// Names of the members of a struct, given the token index of the struct's name.
    pub fn member_names(&self, name: usize) -> impl Iterator<Item = &str> {
        (name..self.tokens.len())
            .take_while(move |&k| self.spelling(k) != "}")
            .filter(move |&k| self.spelling(k + 1) == ":")
            .map(move |k| self.spelling(k))
    }

    /// Names declared in any scope.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        const KEYWORDS: [&str; 8] =
            ["let", "var", "const", "fn", "struct", "alias", "override", ">"];
        (0..self.tokens.len()).filter(move |&k| self.tokens[k].kind == TokenKind::Word).filter_map(
            move |k| {
                let is_declared = k > 0 && KEYWORDS.contains(&self.spelling(k - 1))
                    || self.spelling(k + 1) == ":";
                is_declared.then(|| self.spelling(k))
            },
        )
    }

    /// Location of the innermost unclosed bracket.
    pub fn unclosed(&self) -> Option<SourceRange> {
        let mut open = vec![];
        for (k, token) in self.tokens.iter().enumerate() {
            match self.spelling(k) {
                "(" | "[" | "{" => open.push(token.range.clone()),
                ")" | "]" | "}" => {
                    open.pop();
                }
                _ => {}
            }
        }
        open.pop()
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::Shader;

    const BRDF: &str = "fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return wi; }";

    fn parse(text: &str) -> Shader {
        Shader::parse("test.wgsl", text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    #[test]
    fn annotations_belong_to_the_declaration_that_follows() {
        let inf = f64::INFINITY;
        for (text, expected) in [
            (
                "struct Material { /** range: [0, 1] */ a: f32, /** range: [0, 2] */ b: f32 }",
                [1.0, 2.0],
            ),
            ("struct Material {\n    a: f32,\n    /// range: [0, 2]\n    b: f32\n}", [inf, 2.0]),
            (
                "struct Material {\n    /// range: [0, 1]\n    // note\n    a: f32,\n    // note\n    /// range: [0, 2]\n    b: f32, // note\n}",
                [1.0, 2.0],
            ),
            (
                "struct Material { @align(16) @size(32,)\n/// range: [0, 1]\na /* , */ : /* /* ; */ } */ f32, b: f32, };",
                [1.0, inf],
            ),
            (
                "alias Half = vec2<f32,>; const_assert 1 < 2;\nstruct Table { x: array<f32, u32(1 < 2) + 1u>, a: f32 }\nstruct Material {\n/// range: [0, 1]\na: Half, b: vec3<f32>, }",
                [1.0, inf],
            ),
            (
                "diagnostic(off, derivative_uniformity);\nstruct Material {\n/// range: [0, 1]\nक्षमता: f32,\n/// range: [0, 2]\ne\u{301}: f32 }",
                [1.0, 2.0],
            ),
            ("struct Material { a: f32, b: f32 } //! an ordinary comment here", [inf, inf]),
        ] {
            let shader = parse(&format!("{text}\n@diagnostic(off, derivative_uniformity) {BRDF}"));
            let ranges: Vec<_> = shader.members().iter().map(|member| member.range[1]).collect();
            assert_eq!(ranges, expected, "{text}");
        }
    }

    #[test]
    fn annotations_may_end_the_line_of_a_member_or_of_the_brace() {
        let inf = f64::INFINITY;
        for (text, expected) in [
            ("struct Material { a: f32 /// range: [0, 1]\n}", vec![1.0]),
            ("struct Material { a: f32, /// range: [0, 1]\n}", vec![1.0]),
            ("struct Material { /// range: [0, 1]\n a: f32, b: f32 }", vec![1.0, inf]),
            (
                "struct Material {\n a: f32, /// range: [0, 1]\n b: f32, /** range: [0, 2] */\n}",
                vec![1.0, 2.0],
            ),
            ("struct Material { a: vec2<f32>, /// range: [0, 1]\n b: f32 }", vec![1.0, inf]),
            ("struct Material { a: f32 /// range: [0, 1]\n, b: f32 }", vec![1.0, inf]),
            (
                "struct Material {\n /// range: [0, 1]\n a: f32, /// The first.\n b: f32 }",
                vec![1.0, inf],
            ),
            (
                "struct Material {\n a: f32, /// The first.\n         /// range: [0, 1]\n b: f32 }",
                vec![1.0, inf],
            ),
            (
                "struct Material {\n a: f32, /// The first.\n /// range: [0, 2]\n b: f32 }",
                vec![inf, 2.0],
            ),
        ] {
            let shader = parse(&format!("{text}\n{BRDF}"));
            let ranges: Vec<_> = shader.members().iter().map(|member| member.range[1]).collect();
            assert_eq!(ranges, expected, "{text}");
        }
        let overrides = "override n: i32 = 2; /// Count. range: [0, 3]\noverride m = 1;";
        let shader = parse(&format!("{overrides}\nstruct Material {{ a: f32 }}\n{BRDF}"));
        let ends: Vec<_> =
            shader.overrides().iter().map(|o| (o.doc.as_str(), o.range[1])).collect();
        assert_eq!(ends, [("Count.", 3.0), ("", f64::from(i32::MAX))]);
        // The comments of a member are one text, so clauses may not be repeated.
        let twice = "struct Material {\n /// range: [0, 1]\n a: f32, /// range: [0, 2]\n}";
        let error = Shader::parse("test.wgsl", &format!("{twice}\n{BRDF}")).unwrap_err();
        assert_eq!(error.message, "there are two ranges");
    }

    #[test]
    fn annotations_of_overrides_may_follow_attributes() {
        let text = "/// Count.\n@id(7) /** range: [0, 3] */ override n: i32 = 2; override m = 1;\nstruct Material { a: f32 }";
        let shader = parse(&format!("{text}{BRDF}"));
        let overrides: Vec<_> =
            shader.overrides().iter().map(|o| (o.doc.as_str(), o.range[1])).collect();
        assert_eq!(overrides, [("Count.", 3.0), ("", f64::from(i32::MAX))]);
    }

    #[test]
    fn stray_annotations_are_rejected() {
        for text in [
            "struct Material { a: /// range: [0, 1]\n f32 }",
            "struct Material { a: f32 } fn f(a: f32, /// range: [0, 1]\n b: f32) {}",
            "struct Material { a: f32 } const a: f32 = 1.0; /// range: [0, 1]\n",
            "struct Material { a: f32 } /// range: [0, 1]\n",
            "struct Material { a: f32 } fn f() { /// range: [0, 1]\n let x = 1; }",
            "struct Material { a: f32 }\n/// range: [0, 1]\n",
        ] {
            let error = Shader::parse("test.wgsl", &format!("{BRDF}\n{text}")).expect_err(text);
            assert_eq!(error.message, "this range describes no declaration", "{text}");
        }
    }

    #[test]
    fn member_types_end_at_the_comma() {
        for ty in ["array<f32, u32(1 < 2) + 1u>", "array<vec2<f32>, (1 + 2)>", "mat2x2<f32>"] {
            let text = format!("struct Material {{ a: f32, b: {ty}, c: f32 }}\n{BRDF}");
            let error = Shader::parse("test.wgsl", &text).expect_err(ty);
            let label = error.labels[0].inner();
            assert_eq!(&text[label.offset()..label.offset() + label.len()], ty);
        }
    }
}
