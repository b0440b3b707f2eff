//! Where things stand in the text of a shader: its tokens, and the names, types and doc comments of
//! its declarations.
//!
//! naga's module keeps no places of struct members, parameters and comments, and gives none at all
//! for text that it rejects. Messages need both, so the text is read a second time here,
//! superficially: tokens, brackets and the shapes of declarations. Any text has an outline; what
//! makes no sense is passed over, for naga to complain about.

use std::ops::Range;

/// A place in the text, in bytes.
pub(super) type Place = Range<usize>;

/// Kinds of tokens; white space and ordinary comments are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Identifier or keyword.
    Word,
    /// Literal.
    Number,
    /// `->`, or any other single character.
    Symbol,
    /// `/// …` or `/** … */`
    Doc,
    /// `//! …` or `/*! … */`
    ModuleDoc,
}

/// A token and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    pub place: Place,
}

/// A member of a struct, a parameter of a function, or an override.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub name: Place,
    /// The type as written; empty where there is none.
    pub ty: Place,
    pub docs: Vec<Place>,
}

/// A struct.
#[derive(Clone, Debug)]
pub(super) struct Struct {
    pub name: Place,
    pub members: Vec<Member>,
}

/// A function.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub name: Place,
    pub parameters: Vec<Member>,
    /// From `fn` to the end of the result type.
    pub signature: Place,
    /// From `{` to `}`; empty where there is none.
    pub body: Place,
}

/// How deep a text is nested.
#[derive(Clone, Debug, Default)]
pub(super) struct Depth {
    /// Most brackets around any token; `else` counts as one around what follows.
    pub brackets: usize,
    /// Most operators and brackets from the root of an expression to a leaf.
    pub operators: usize,
    /// Where the greater of the two is reached.
    pub place: Place,
}

/// The outline of a shader's text.
#[derive(Clone, Debug, Default)]
pub(super) struct Outline {
    pub tokens: Vec<Token>,
    pub structs: Vec<Struct>,
    pub functions: Vec<Function>,
    pub overrides: Vec<Member>,
    /// `enable …;`
    pub enables: Vec<Place>,
    /// `@compute`, `@vertex`, `@fragment`, …
    pub stages: Vec<Place>,
    /// Module docs at the head of the text.
    pub docs: Vec<Place>,
    /// Module docs elsewhere, where they mean nothing.
    pub stray_docs: Vec<Place>,
    /// Doc comments that are not before what they could describe.
    pub stray_comments: Vec<Place>,
    /// Number of declarations.
    pub declarations: usize,
}

const STAGES: [&str; 8] =
    ["compute", "vertex", "fragment", "task", "mesh", "ray_generation", "any_hit", "closest_hit"];

impl Outline {
    pub fn new(text: &str) -> Outline {
        let mut outline = Outline { tokens: tokens(text), ..Outline::default() };
        let mut docs = outline
            .tokens
            .iter()
            .filter(|token| token.kind == Kind::ModuleDoc)
            .map(|token| token.place.clone());
        let head = outline.tokens.iter().take_while(|token| token.kind == Kind::ModuleDoc).count();
        outline.docs = docs.by_ref().take(head).collect();
        outline.stray_docs = docs.collect();
        let mut reader = Reader { text, tokens: vec![], docs: vec![], next: 0 };
        for token in &outline.tokens {
            match token.kind {
                Kind::ModuleDoc => {}
                Kind::Doc => {
                    let before = reader.tokens.last().map_or(0, |before: &Token| before.place.end);
                    let line = text[..token.place.start].rfind(is_line_end).map_or(0, |k| k + 1);
                    // What stands behind a member on its line would go to the next.
                    if before > line {
                        outline.stray_comments.push(token.place.clone());
                    } else {
                        reader.docs.push((reader.tokens.len(), token.place.clone()));
                    }
                }
                _ => reader.tokens.push(token.clone()),
            }
        }
        reader.declarations(&mut outline);
        outline
    }

    pub fn function(&self, text: &str, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| &text[function.name.clone()] == name)
    }

    pub fn structure(&self, text: &str, name: &str) -> Option<&Struct> {
        self.structs.iter().find(|s| &text[s.name.clone()] == name)
    }

    pub fn override_(&self, text: &str, name: &str) -> Option<&Member> {
        self.overrides.iter().find(|declared| &text[declared.name.clone()] == name)
    }

    /// Names that the text declares, in any scope.
    pub fn names<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        const KEYWORDS: [&str; 8] =
            ["let", "var", "const", "fn", "struct", "alias", "override", ">"];
        let code: Vec<_> = self
            .tokens
            .iter()
            .filter(|token| !matches!(token.kind, Kind::Doc | Kind::ModuleDoc))
            .collect();
        (0..code.len()).filter_map(move |k| {
            let spelling =
                |token: Option<&&Token>| token.map_or("", |token| &text[token.place.clone()]);
            let before = if k == 0 { "" } else { spelling(code.get(k - 1)) };
            let declared = KEYWORDS.contains(&before) || spelling(code.get(k + 1)) == ":";
            (code[k].kind == Kind::Word && declared).then(|| spelling(code.get(k)))
        })
    }

    /// The innermost bracket that is open where the text ends.
    pub fn unclosed(&self, text: &str) -> Option<Place> {
        let mut open = vec![];
        for token in &self.tokens {
            match &text[token.place.clone()] {
                "(" | "[" | "{" => open.push(token.place.clone()),
                ")" | "]" | "}" => {
                    open.pop();
                }
                _ => {}
            }
        }
        open.pop()
    }

    /// How deep the text is nested.
    pub fn depth(&self, text: &str) -> Depth {
        let mut levels = vec![Level::default()];
        let mut depth = Depth::default();
        let (mut brackets, mut after_block) = (0, false);
        for token in &self.tokens {
            let spelling = &text[token.place.clone()];
            if after_block && spelling != "else" {
                brackets -= top(&mut levels).separate();
            }
            after_block = spelling == "}";
            match spelling {
                "(" | "[" | "{" => {
                    levels.push(Level::default());
                    brackets += 1;
                }
                ")" | "]" | "}" => {
                    if levels.len() > 1 {
                        let mut closed = levels.pop().expect("there are two");
                        brackets -= closed.separate() + 1;
                        let level = top(&mut levels);
                        level.inner = level.inner.max(closed.deepest + 1);
                        // An index is an operator too.
                        level.operators += usize::from(spelling == "]");
                    }
                }
                "," | ";" => brackets -= top(&mut levels).separate(),
                "else" => {
                    top(&mut levels).elses += 1;
                    brackets += 1;
                }
                ":" | "=" | "@" | "->" => {}
                _ => top(&mut levels).operators += usize::from(token.kind == Kind::Symbol),
            }
            let operators = top(&mut levels).depth();
            if operators > depth.operators || brackets > depth.brackets {
                depth.operators = depth.operators.max(operators);
                depth.brackets = depth.brackets.max(brackets);
                depth.place = token.place.clone();
            }
        }
        depth
    }
}

/// What is within an open bracket, up to a token.
#[derive(Default)]
struct Level {
    /// Operators since the last separator.
    operators: usize,
    /// Depth of the deepest bracket since then.
    inner: usize,
    /// Depth of the deepest element before.
    deepest: usize,
    /// Number of `else` since the last separator.
    elses: usize,
}

impl Level {
    /// Depth of the last element.
    fn depth(&self) -> usize {
        self.operators + self.inner
    }

    /// Begins a new element; returns the `else` of the last.
    fn separate(&mut self) -> usize {
        let elses = self.elses;
        *self = Level { deepest: self.deepest.max(self.depth()), ..Level::default() };
        elses
    }
}

fn top(levels: &mut [Level]) -> &mut Level {
    levels.last_mut().expect("the outermost level stays")
}

/// Reads declarations from tokens.
struct Reader<'a> {
    text: &'a str,
    /// Without comments.
    tokens: Vec<Token>,
    /// Doc comments that were not asked for yet, each with the index of the token that it is
    /// before.
    docs: Vec<(usize, Place)>,
    next: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> &'a str {
        self.tokens.get(self.next).map_or("", |token| &self.text[token.place.clone()])
    }

    /// The place of the token at hand; at the end of the text, its end.
    fn place(&self) -> Place {
        self.tokens
            .get(self.next)
            .map_or(self.text.len()..self.text.len(), |token| token.place.clone())
    }

    fn at_end(&self) -> bool {
        self.next >= self.tokens.len()
    }

    fn skip(&mut self, spelling: &str) -> bool {
        let found = self.peek() == spelling;
        self.next += usize::from(found);
        found
    }

    /// The doc comments before the token at hand.
    fn docs(&mut self) -> Vec<Place> {
        let next = self.next;
        let docs = self
            .docs
            .iter()
            .filter(|(before, _)| *before == next)
            .map(|(_, doc)| doc.clone())
            .collect();
        self.docs.retain(|(before, _)| *before != next);
        docs
    }

    fn declarations(mut self, outline: &mut Outline) {
        while !self.at_end() {
            let docs = self.docs();
            self.attributes(Some(outline));
            let start = self.place();
            self.next += 1;
            outline.declarations += 1;
            match &self.text[start.clone()] {
                "struct" => {
                    let name = self.name();
                    if self.skip("{") {
                        outline.structs.push(Struct { name, members: self.members("}") });
                    }
                }
                "fn" => {
                    let function = self.function(start.start);
                    outline.functions.push(function);
                }
                "override" => {
                    let name = self.name();
                    let ty = if self.skip(":") { self.ty(";") } else { name.end..name.end };
                    outline.overrides.push(Member { name, ty, docs });
                    self.until(&[";"]);
                }
                "enable" => {
                    self.until(&[";"]);
                    outline.enables.push(start.start..self.previous_end());
                }
                ";" => {}
                _ => self.until(&[";"]),
            }
        }
        outline.stray_comments.extend(self.docs.into_iter().map(|(_, doc)| doc));
    }

    fn previous_end(&self) -> usize {
        self.next.checked_sub(1).and_then(|k| self.tokens.get(k)).map_or(0, |token| token.place.end)
    }

    fn name(&mut self) -> Place {
        let place = self.place();
        if self.tokens.get(self.next).is_some_and(|token| token.kind == Kind::Word) {
            self.next += 1;
            return place;
        }
        place.start..place.start
    }

    fn attributes(&mut self, mut outline: Option<&mut Outline>) {
        while self.peek() == "@" {
            let start = self.place().start;
            self.next += 1;
            let stage = STAGES.contains(&self.peek());
            self.next += 1;
            if let (true, Some(outline)) = (stage, &mut outline) {
                outline.stages.push(start..self.previous_end());
            }
            if self.skip("(") {
                self.until(&[")"]);
            }
        }
    }

    /// Goes past the next of some tokens that is not in brackets.
    fn until(&mut self, ends: &[&str]) {
        let mut depth = 0_usize;
        while !self.at_end() {
            let spelling = self.peek();
            self.next += 1;
            match spelling {
                _ if depth == 0 && ends.contains(&spelling) => return,
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// A type, up to a comma or the given token, which stays.
    fn ty(&mut self, end: &str) -> Place {
        let start = self.place().start;
        let mut depth = 0_usize;
        while !self.at_end() {
            match self.peek() {
                "," | "=" | "{" if depth == 0 => break,
                spelling if depth == 0 && spelling == end => break,
                "(" | "[" | "<" => depth += 1,
                ")" | "]" | ">" => depth = depth.saturating_sub(1),
                ";" | "{" | "}" => break,
                _ => {}
            }
            self.next += 1;
        }
        start..self.previous_end().max(start)
    }

    /// Members or parameters, and the bracket that closes them.
    fn members(&mut self, end: &str) -> Vec<Member> {
        let mut members = vec![];
        while !self.at_end() && !self.skip(end) {
            let docs = self.docs();
            self.attributes(None);
            let name = self.name();
            if self.skip(":") {
                members.push(Member { name, ty: self.ty(end), docs });
            }
            if self.peek() != end {
                self.next += 1;
            }
        }
        members
    }

    fn function(&mut self, start: usize) -> Function {
        let name = self.name();
        let parameters = if self.skip("(") { self.members(")") } else { vec![] };
        if self.skip("->") {
            self.attributes(None);
            self.ty("{");
        }
        let signature = start..self.previous_end();
        let body = self.place().start;
        if self.skip("{") {
            self.until(&["}"]);
            return Function { name, parameters, signature, body: body..self.previous_end() };
        }
        Function { name, parameters, signature, body: body..body }
    }
}

/// Line ends of WGSL, which end comments.
fn is_line_end(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_space(c: char) -> bool {
    is_line_end(c) || matches!(c, ' ' | '\t' | '\u{200e}' | '\u{200f}')
}

/// Length of the block comment that opens `text`; comments nest, and one that is not closed goes to
/// the end.
fn block_comment(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut k) = (1, 2);
    while k < bytes.len() && depth > 0 {
        match bytes.get(k..k + 2) {
            Some(b"*/") => (depth, k) = (depth - 1, k + 2),
            Some(b"/*") => (depth, k) = (depth + 1, k + 2),
            _ => k += 1,
        }
    }
    k
}

fn number(text: &str) -> usize {
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let mut before = ' ';
    for (k, c) in text.char_indices() {
        let exponent = matches!((hexadecimal, before), (false, 'e' | 'E') | (true, 'p' | 'P'));
        if !(c.is_ascii_alphanumeric() || c == '.' || exponent && matches!(c, '+' | '-')) {
            return k;
        }
        before = c;
    }
    text.len()
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = vec![];
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let word = |c: char| c == '_' || c.is_alphanumeric();
        let (kind, length) = if is_space(c) {
            (None, c.len_utf8())
        } else if rest.starts_with("//") {
            let kind = if rest.starts_with("//!") {
                Some(Kind::ModuleDoc)
            } else if rest.starts_with("///") && !rest.starts_with("////") {
                Some(Kind::Doc)
            } else {
                None
            };
            (kind, rest.find(is_line_end).unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            let length = block_comment(rest);
            let kind = if rest.starts_with("/*!") {
                Some(Kind::ModuleDoc)
            } else if rest.starts_with("/**") && !rest.starts_with("/***") && length > 4 {
                Some(Kind::Doc)
            } else {
                None
            };
            (kind, length)
        } else if c.is_ascii_digit()
            || c == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())
        {
            (Some(Kind::Number), number(rest))
        } else if word(c) {
            (Some(Kind::Word), rest.find(|c| !word(c)).unwrap_or(rest.len()))
        } else if rest.starts_with("->") {
            (Some(Kind::Symbol), 2)
        } else {
            (Some(Kind::Symbol), c.len_utf8())
        };
        if let Some(kind) = kind {
            tokens.push(Token { kind, place: at..at + length });
        }
        at += length;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations() {
        let text = "//! head\n/// a\n/** b */ @align(16)\nstruct S { /* /// no */\n  /// c\n  @size(32) x: array<vec2<f32>, (1 + 2)>, y: f32 }\n\
                    override o: f32 = 1; @id(2) override p = 2;\n\
                    @must_use fn f(a: S, @builtin(position) b: ptr<function, i32>) -> @location(0) vec3<f32> { if a { } else { ; } }\n\
                    enable f16; @compute @workgroup_size(1) fn g() { }";
        let outline = Outline::new(text);
        let spell = |place: &Place| &text[place.clone()];
        let members: Vec<_> = outline.structs[0]
            .members
            .iter()
            .map(|m| (spell(&m.name), spell(&m.ty), m.docs.len()))
            .collect();
        assert_eq!(members, [("x", "array<vec2<f32>, (1 + 2)>", 1), ("y", "f32", 0)]);
        let overrides: Vec<_> =
            outline.overrides.iter().map(|o| (spell(&o.name), spell(&o.ty))).collect();
        assert_eq!(overrides, [("o", "f32"), ("p", "")]);
        let f = outline.function(text, "f").expect("it is there");
        let parameters: Vec<_> =
            f.parameters.iter().map(|p| (spell(&p.name), spell(&p.ty))).collect();
        assert_eq!(parameters, [("a", "S"), ("b", "ptr<function, i32>")]);
        assert!(
            spell(&f.signature).starts_with("fn f(") && spell(&f.signature).ends_with("vec3<f32>")
        );
        assert_eq!(spell(&f.body), "{ if a { } else { ; } }");
        assert_eq!(
            (outline.enables.len(), outline.stages.len(), outline.docs.len(), outline.declarations),
            (1, 1, 1, 6)
        );
    }

    #[test]
    fn depths() {
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
            let depth = Outline::new(text).depth(text);
            assert_eq!((depth.brackets, depth.operators), (brackets, operators), "{text}");
        }
    }
}
