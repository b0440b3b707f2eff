//! Text becomes a function: a hand-written parser with one token of look-ahead. It checks what the
//! text alone can tell (names, numbers of arguments); the rest is left to the verifier, whose lines
//! are mapped back to the text.

use super::{CONSTANTS, begins_name, continues_name, quoted};
use crate::ir::function::{Block, Def, Function, If, Loop, Port, Stmt, Value};
use crate::ir::op::Op;
use crate::ir::types::{Type, Word};
use crate::ir::verify::verify;
use rustc_hash::FxHashMap;
use std::fmt;

/// What is wrong with text that should be a function, and where, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct TextError {
    /// Line.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// Reads a function, exactly as it is written, and [verifies](crate::ir::verify) it.
pub fn parse(text: &str) -> Result<Function, TextError> {
    let function = Function {
        name: String::new(),
        inputs: vec![],
        outputs: vec![],
        body: Block::default(),
        values: vec![],
    };
    let mut parser = Parser {
        text,
        at: 0,
        begin: 0,
        token: Token::End,
        function,
        names: FxHashMap::default(),
        inputs: FxHashMap::default(),
        constants: FxHashMap::default(),
        ops: Op::ALL.iter().map(|op| (op.name(), *op)).collect(),
        depth: 0,
        lines: vec![],
    };
    let parsed = parser.function().and_then(|()| {
        verify(&parser.function).map_err(|error| Wrong {
            at: parser.lines.get(error.line - 1).copied().unwrap_or(0),
            message: error.message,
        })
    });
    match parsed {
        Ok(()) => Ok(parser.function),
        Err(Wrong { at, message }) => {
            let before = &text[..at];
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
            Err(TextError { line, column, message })
        }
    }
}

/// What is wrong, and the byte where it shows.
struct Wrong {
    at: usize,
    message: String,
}

type Parsed<T> = Result<T, Wrong>;

#[derive(Clone, Debug, PartialEq)]
enum Token<'t> {
    /// `mul`, `wi.x`
    Name(&'t str),
    /// `"a name"`
    Quoted(String),
    /// `%0`, without the percent sign.
    Value(&'t str),
    /// `1.0`, `-3`
    Number(&'t str),
    /// `->`
    Arrow,
    /// `=`, `{`, …
    Sign(char),
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Name(text) | Token::Number(text) => write!(f, "`{text}`"),
            Token::Quoted(name) => write!(f, "`{}`", quoted(name)),
            Token::Value(name) => write!(f, "`%{name}`"),
            Token::Arrow => f.write_str("`->`"),
            Token::Sign(c) => write!(f, "`{c}`"),
            Token::End => f.write_str("the end"),
        }
    }
}

/// Depth of nested blocks beyond which text is refused, so that it cannot overflow the stack.
const DEPTH: usize = 200;

struct Parser<'t> {
    text: &'t str,
    /// Where the next token begins to be looked for.
    at: usize,
    /// Where the current token begins.
    begin: usize,
    token: Token<'t>,
    function: Function,
    names: FxHashMap<&'t str, Value>,
    inputs: FxHashMap<String, Value>,
    constants: FxHashMap<(Type, u32), Value>,
    ops: FxHashMap<&'static str, Op>,
    depth: usize,
    /// For each line that the function's text will have, where it begins in this text.
    lines: Vec<usize>,
}

impl<'t> Parser<'t> {
    fn function(&mut self) -> Parsed<()> {
        self.advance()?;
        self.lines.push(self.begin);
        self.keyword("fn")?;
        self.function.name = self.port_name("the function's name")?;
        self.function.inputs = self.ports()?;
        for index in 0..self.function.inputs.len() {
            let Port { name, ty } = self.function.inputs[index].clone();
            let value = self.function.add(ty, Def::Input(index as u32));
            self.inputs.insert(name, value);
        }
        self.expect(Token::Arrow)?;
        self.function.outputs = self.ports()?;
        self.expect(Token::Sign('{'))?;
        self.function.body.stmts = self.stmts()?;
        self.lines.push(self.begin);
        self.keyword("return")?;
        self.function.body.yields = self.values()?;
        self.expect(Token::Sign('}'))?;
        self.expect(Token::End)
    }

    // Tokens.

    fn wrong<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(Wrong { at: self.begin, message: message.into() })
    }

    fn unexpected<T>(&self, want: &str) -> Parsed<T> {
        self.wrong(format!("expected {want}, found {}", self.token))
    }

    /// Reads on to the next token.
    fn advance(&mut self) -> Parsed<()> {
        let text: &'t str = self.text;
        loop {
            let rest = &text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                break;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
        self.begin = self.at;
        let rest = &text[self.at..];
        let length = |rest: &str, skip: usize, of: fn(char) -> bool| {
            rest[skip..].find(|c| !of(c)).map_or(rest.len(), |length| length + skip)
        };
        let mut chars = rest.chars();
        let (token, length) = match (chars.next(), chars.next()) {
            (None, _) => (Token::End, 0),
            (Some('-'), Some('>')) => (Token::Arrow, 2),
            (Some('"'), _) => self.string(rest)?,
            (Some('%'), _) => {
                let length = length(rest, 1, continues_name);
                (Token::Value(&rest[1..length]), length)
            }
            (Some('0'..='9' | '-' | '.'), _) => {
                // The sign of an exponent belongs to it.
                let mut end = length(rest, 1, continues_name);
                if rest[..end].ends_with(['e', 'E'])
                    && !rest.starts_with("0x")
                    && rest[end..].starts_with(['+', '-'])
                {
                    end = length(rest, end + 1, continues_name);
                }
                (Token::Number(&rest[..end]), end)
            }
            (Some(c), _) if begins_name(c) => {
                let length = length(rest, 0, continues_name);
                (Token::Name(&rest[..length]), length)
            }
            (Some(c @ ('(' | ')' | '{' | '}' | ',' | ':' | '=')), _) => (Token::Sign(c), 1),
            (Some(c), _) => {
                return self.wrong(format!("unexpected character `{}`", c.escape_debug()));
            }
        };
        self.token = token;
        self.at += length;
        Ok(())
    }

    /// A name in quotation marks, and its length.
    fn string(&self, rest: &str) -> Parsed<(Token<'t>, usize)> {
        let mut name = String::new();
        let mut chars = rest.char_indices().skip(1);
        while let Some((index, c)) = chars.next() {
            match c {
                '"' => return Ok((Token::Quoted(name), index + 1)),
                '\\' => name.extend(chars.next().map(|(_, c)| c)),
                c => name.push(c),
            }
        }
        self.wrong("this name has no closing quotation mark")
    }

    fn expect(&mut self, token: Token<'_>) -> Parsed<()> {
        if self.token != token {
            return self.unexpected(&token.to_string());
        }
        if token == Token::End { Ok(()) } else { self.advance() }
    }

    fn keyword(&mut self, name: &str) -> Parsed<()> {
        self.expect(Token::Name(name))
    }

    /// Whether this token is next, which is then taken.
    fn accept(&mut self, token: Token<'_>) -> Parsed<bool> {
        let found = self.token == token;
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    // Parts.

    fn port_name(&mut self, what: &str) -> Parsed<String> {
        let name = match &self.token {
            Token::Name(name) if !CONSTANTS.contains(name) => (*name).to_owned(),
            Token::Quoted(name) => name.clone(),
            _ => return self.unexpected(what),
        };
        self.advance()?;
        Ok(name)
    }

    fn ty(&mut self) -> Parsed<Type> {
        let ty = [Type::F32, Type::I32, Type::Bool]
            .into_iter()
            .find(|ty| self.token == Token::Name(ty.name()));
        let Some(ty) = ty else { return self.unexpected("`f32`, `i32` or `bool`") };
        self.advance()?;
        Ok(ty)
    }

    /// `(a: f32, b: i32)`
    fn ports(&mut self) -> Parsed<Vec<Port>> {
        self.list(|parser| {
            let name = parser.port_name("a name")?;
            parser.expect(Token::Sign(':'))?;
            Ok(Port { name, ty: parser.ty()? })
        })
    }

    /// Items within parentheses, with commas between them.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = vec![];
        self.expect(Token::Sign('('))?;
        while self.token != Token::Sign(')') {
            items.push(item(self)?);
            if !self.accept(Token::Sign(','))? {
                break;
            }
        }
        self.expect(Token::Sign(')'))?;
        Ok(items)
    }

    fn constant(&mut self, ty: Type, bits: u32) -> Value {
        if let Some(&value) = self.constants.get(&(ty, bits)) {
            return value;
        }
        let value = self.function.add(ty, Def::Const(bits));
        self.constants.insert((ty, bits), value);
        value
    }

    /// A value that is used.
    fn operand(&mut self) -> Parsed<Value> {
        let value = match &self.token {
            Token::Value(name) => match self.names.get(name) {
                Some(&value) => value,
                None => return self.wrong(format!("no value is called `%{name}` here")),
            },
            &Token::Name("true") => self.constant(Type::Bool, Word::to_bits(true)),
            &Token::Name("false") => self.constant(Type::Bool, Word::to_bits(false)),
            &Token::Name("inf") => self.constant(Type::F32, f32::INFINITY.to_bits()),
            &Token::Name("nan") => self.constant(Type::F32, f32::NAN.to_bits()),
            &Token::Number(text) => match number(text) {
                Some((ty, bits)) => self.constant(ty, bits),
                None => {
                    return self
                        .wrong(format!("`{text}` is neither a float nor an integer of 32 bits"));
                }
            },
            &Token::Name(name) => self.input(name)?,
            Token::Quoted(name) => self.input(name)?,
            _ => return self.unexpected("a value"),
        };
        self.advance()?;
        Ok(value)
    }

    fn input(&self, name: &str) -> Parsed<Value> {
        match self.inputs.get(name) {
            Some(&value) => Ok(value),
            None => self.wrong(format!("no input is called `{}`", quoted(name))),
        }
    }

    fn begins_operand(&self) -> bool {
        matches!(self.token, Token::Value(_) | Token::Name(_) | Token::Quoted(_) | Token::Number(_))
    }

    /// Any number of values, with commas between them.
    fn values(&mut self) -> Parsed<Vec<Value>> {
        let mut values = vec![];
        if self.begins_operand() {
            values.push(self.operand()?);
            while self.accept(Token::Sign(','))? {
                values.push(self.operand()?);
            }
        }
        Ok(values)
    }

    /// A name that is given to a value.
    fn new_name(&mut self) -> Parsed<(usize, &'t str)> {
        let Token::Value(name) = self.token else { return self.unexpected("a value such as `%0`") };
        let at = self.begin;
        self.advance()?;
        Ok((at, name))
    }

    fn define(&mut self, (at, name): (usize, &'t str), ty: Type, def: Def) -> Parsed<Value> {
        let value = self.function.add(ty, def);
        match self.names.insert(name, value) {
            None => Ok(value),
            Some(_) => Err(Wrong { at, message: format!("another value is called `%{name}`") }),
        }
    }

    // Statements.

    fn stmts(&mut self) -> Parsed<Vec<Stmt>> {
        self.depth += 1;
        if self.depth > DEPTH {
            return self.wrong(format!("blocks are nested deeper than {DEPTH}"));
        }
        let mut stmts = vec![];
        while matches!(self.token, Token::Value(_) | Token::Name("if" | "loop")) {
            stmts.push(self.stmt()?);
        }
        self.depth -= 1;
        Ok(stmts)
    }

    fn stmt(&mut self) -> Parsed<Stmt> {
        self.lines.push(self.begin);
        let mut results = vec![];
        if matches!(self.token, Token::Value(_)) {
            results.push(self.new_name()?);
            while self.accept(Token::Sign(','))? {
                results.push(self.new_name()?);
            }
            self.expect(Token::Sign('='))?;
        }
        let Token::Name(name) = self.token else { return self.unexpected("an operation") };
        match name {
            "if" => Ok(Stmt::If(Box::new(self.if_(&results)?))),
            "loop" => Ok(Stmt::Loop(Box::new(self.loop_(&results)?))),
            _ => self.op(name, &results),
        }
    }

    fn op(&mut self, name: &str, results: &[(usize, &'t str)]) -> Parsed<Stmt> {
        let Some(&op) = self.ops.get(name) else {
            return self.wrong(format!("no operation is called `{name}`"));
        };
        let at = self.begin;
        self.advance()?;
        let args = self.values()?;
        if args.len() != op.arity() {
            return Err(Wrong {
                at,
                message: format!("`{name}` takes {} arguments, not {}", op.arity(), args.len()),
            });
        }
        let [result] = results else {
            return Err(Wrong {
                at,
                message: format!("`{name}` has one result, not {}", results.len()),
            });
        };
        let mut all = [args[0]; 3];
        all[..args.len()].copy_from_slice(&args);
        let ty = op.signature().result.unwrap_or_else(|| self.function.ty(args[args.len() - 1]));
        Ok(Stmt::Op(self.define(*result, ty, Def::Op { op, args: all })?))
    }

    /// The last line of a block: a keyword and values.
    fn yields(&mut self, keyword: &str) -> Parsed<Vec<Value>> {
        self.lines.push(self.begin);
        self.keyword(keyword)?;
        self.values()
    }

    fn brace(&mut self, brace: char) -> Parsed<()> {
        self.lines.push(self.begin);
        self.expect(Token::Sign(brace))
    }

    fn if_(&mut self, results: &[(usize, &'t str)]) -> Parsed<If> {
        self.keyword("if")?;
        let cond = self.operand()?;
        self.expect(Token::Sign('{'))?;
        let then = Block { stmts: self.stmts()?, yields: self.yields("yield")? };
        self.brace('}')?;
        self.keyword("else")?;
        self.expect(Token::Sign('{'))?;
        let otherwise = Block { stmts: self.stmts()?, yields: self.yields("yield")? };
        self.brace('}')?;
        let results = self.results(results, &then.yields)?;
        Ok(If { cond, then, otherwise, results })
    }

    /// Results, which take their types from values they may come from; counts are verified later.
    fn results(&mut self, results: &[(usize, &'t str)], from: &[Value]) -> Parsed<Vec<Value>> {
        let types: Vec<_> = from.iter().map(|&value| self.function.ty(value)).collect();
        let types = types.into_iter().chain(std::iter::repeat(Type::F32));
        std::iter::zip(results, types)
            .map(|(&result, ty)| self.define(result, ty, Def::Result))
            .collect()
    }

    fn loop_(&mut self, results: &[(usize, &'t str)]) -> Parsed<Loop> {
        self.keyword("loop")?;
        let (mut init, mut params) = (vec![], vec![]);
        let heads = self.list(|parser| {
            let name = parser.new_name()?;
            parser.expect(Token::Sign(':'))?;
            let ty = parser.ty()?;
            parser.expect(Token::Sign('='))?;
            Ok((name, ty, parser.operand()?))
        })?;
        for (name, ty, first) in heads {
            init.push(first);
            params.push(self.define(name, ty, Def::Param)?);
        }
        self.expect(Token::Sign('{'))?;
        let stmts = self.stmts()?;
        self.lines.push(self.begin);
        self.keyword("while")?;
        let cond = self.operand()?;
        let exits = if self.accept(Token::Name("else"))? { self.values()? } else { vec![] };
        let head = Block { stmts, yields: exits };
        let body = Block { stmts: self.stmts()?, yields: self.yields("next")? };
        self.brace('}')?;
        let results = self.results(results, &head.yields)?;
        Ok(Loop { init, params, head, cond, body, results })
    }
}

/// Type and bits of a number.
fn number(text: &str) -> Option<(Type, u32)> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u32::from_str_radix(digits, 16)
            .ok()
            .filter(|_| !digits.starts_with('+'))
            .map(|bits| (Type::I32, bits));
    }
    if matches!(text, "-inf") {
        return Some((Type::F32, f32::NEG_INFINITY.to_bits()));
    }
    if let Ok(integer) = text.parse::<i64>() {
        let fits = (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&integer);
        return fits.then_some((Type::I32, integer as u32));
    }
    // Without this, words such as `-nan` and `-infinity` would be numbers too.
    if !text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'))
        || !text.contains(['.', 'e', 'E'])
    {
        return None;
    }
    text.parse::<f32>().ok().filter(|x| x.is_finite()).map(|x| (Type::F32, x.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::super::literal;
    use super::*;
    use proptest::prelude::*;

    const SAMPLE: &str = r#"fn s(wi.x: f32, "a b": i32, "nan": bool, "q\"": f32) -> (s.r: f32, "": i32, ok: bool) {
  %0 = mul wi.x, -0.0
  %1 = lt %0, 3.4028235e38
  %2, %3 = if %1 {
    %4 = exp 1e-45
    yield %4, "a b"
  } else {
    %5 = select "nan", 0x7f800000, -65535
    yield nan, %5
  }
  if true {
    yield
  } else {
    yield
  }
  %6 = loop (%7: f32 = %2, %8: i32 = 0) {
    %9 = slt %8, 64
    while %9 else %7
    %10 = mul %7, "q\""
    loop () {
      while false
      next
    }
    %11 = iadd %8, 1
    next %10, %11
  }
  return %6, %3, %1
}
"#;

    fn error(text: &str) -> String {
        parse(text).expect_err(text).to_string()
    }

    /// A function of inputs `a` and `b`, floats, and `i`, an integer, with these lines after the
    /// first.
    fn body(lines: &str) -> String {
        format!("fn f(a: f32, b: f32, i: i32) -> (r: f32) {{\n{lines}\n}}")
    }

    #[test]
    fn text_comes_back_as_it_was() {
        let function = parse(SAMPLE).unwrap();
        assert_eq!(function.to_string(), SAMPLE);
        assert_eq!(parse(&function.to_string()).unwrap(), function);
    }

    #[test]
    fn layout_names_and_comments_are_free() {
        let text = "fn f(a:f32,)->(r:f32,){%x=add a,-.5e0// to the left\n%y=mul %x,%x return %y}";
        let function = parse(text).unwrap();
        assert_eq!(
            function.to_string(),
            "fn f(a: f32) -> (r: f32) {\n  %0 = add a, -0.5\n  %1 = mul %0, %0\n  return %1\n}\n"
        );
    }

    #[test]
    fn constants_come_back() {
        for bits in [
            0,
            1,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x3f80_0001,
            0x7f7f_ffff,
            0x0000_0001,
            0x7f80_0000,
            0xff80_0000,
            65535,
            65536,
        ] {
            for ty in [Type::F32, Type::I32] {
                let text = literal(ty, bits);
                let token = match text.as_str() {
                    "nan" => continue,
                    "inf" => Some((Type::F32, f32::INFINITY.to_bits())),
                    _ => number(&text),
                };
                assert_eq!(token, Some((ty, bits)), "{text}");
            }
        }
        for text in [
            "-nan",
            "-infinity",
            "1e40",
            "4294967296",
            "-2147483649",
            "0x123456789",
            "0x",
            "0x+1",
            "1_000",
            "--1",
            "1.0.0",
            "e",
            "-",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn errors_say_where_and_what() {
        assert_eq!(error(""), "1:1: expected `fn`, found the end");
        assert_eq!(error(&body("  return %0")), "2:10: no value is called `%0` here");
        assert_eq!(error(&body("return c")), "2:8: no input is called `c`");
        assert_eq!(error(&body("%0 = frob a\nreturn %0")), "2:6: no operation is called `frob`");
        assert_eq!(error(&body("%0 = add a\nreturn %0")), "2:6: `add` takes 2 arguments, not 1");
        assert_eq!(
            error(&body("%0, %1 = add a, b\nreturn %0")),
            "2:10: `add` has one result, not 2"
        );
        assert_eq!(
            error(&body("%0 = add a, b\n%0 = add b, b\nreturn %0")),
            "3:1: another value is called `%0`"
        );
        assert_eq!(
            error(&body("%0 = add a, 1\nreturn %0")),
            "2:1: 1 is argument 2 of `add`, which must be f32 but is i32"
        );
        assert_eq!(
            error(&body("%0 = select true, a, i\nreturn a")),
            "2:1: i is argument 3 of `select`, which must be f32 but is i32"
        );
        assert_eq!(error(&body("return i")), "2:1: i is output `r`, which must be f32 but is i32");
        assert_eq!(error(&body("return a, b")), "2:1: 2 values for 1 outputs");
        assert_eq!(
            error(&body("if a {\n  yield\n} else {\n  yield\n}\nreturn a")),
            "2:1: the condition a must be bool but is f32"
        );
        assert_eq!(
            error(&body("return 1e99")),
            "2:8: `1e99` is neither a float nor an integer of 32 bits"
        );
        assert_eq!(error(&body("return a }")), "3:1: expected the end, found `}`");
        assert_eq!(error(&body("µ ; return a")), "2:1: expected `return`, found `µ`");
        assert_eq!(error(&body("%0 = add a, ;")), "2:13: unexpected character `;`");
        assert_eq!(error("fn f() -> (\"x"), "1:12: this name has no closing quotation mark");
        let scope =
            "%0 = if true {\n  %1 = add a, b\n  yield %1\n} else {\n  yield %1\n}\nreturn a";
        assert_eq!(error(&body(scope)), "6:3: %1 is not in scope");
    }

    #[test]
    fn deep_nesting_is_an_error() {
        assert!(
            error(&body(&"if true { ".repeat(100_000)))
                .ends_with("blocks are nested deeper than 200")
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse(&text);
        }

        #[test]
        fn no_mutation_panics(edits in prop::collection::vec((any::<prop::sample::Index>(), 0..8usize, "[%a-z0-9.,{}()=:\" \n-]{0,8}"), 1..4)) {
            let mut text: Vec<char> = SAMPLE.chars().collect();
            for (at, length, new) in edits {
                let at = at.index(text.len() + 1);
                let end = (at + length).min(text.len());
                text.splice(at..end, new.chars());
            }
            let text: String = text.into_iter().collect();
            if let Ok(function) = parse(&text) {
                let printed = function.to_string();
                prop_assert_eq!(parse(&printed).unwrap().to_string(), printed);
            }
        }
    }
}
