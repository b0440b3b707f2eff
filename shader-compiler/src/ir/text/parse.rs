//! Recursive-descent parser for the textual form of a function, with one token of lookahead. It
//! checks names and argument counts. The verifier checks the rest; its line numbers, which refer to
//! the printed form, are mapped back to the text.

use super::lexer::{Lexer, Parsed, SyntaxError, Token, number};
use super::{NAMED_CONSTANTS, quoted};
use crate::ir::function::{Block, Def, Function, If, Loop, Port, Stmt, Value};
use crate::ir::op::Op;
use crate::ir::types::{Type, Word};
use crate::ir::verify::verify;
use rustc_hash::FxHashMap;

/// A syntax or verification error. Lines and columns are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct TextError {
    /// Line of the error.
    pub line: usize,
    /// Column of the error, in characters.
    pub column: usize,
    /// The problem.
    pub message: String,
}

/// Parses a function exactly as written and [verifies](crate::ir::verify) it.
pub fn parse(text: &str) -> Result<Function, TextError> {
    let function = Function {
        name: String::new(),
        inputs: vec![],
        outputs: vec![],
        body: Block::default(),
        values: vec![],
    };
    let mut parser = Parser {
        lexer: Lexer::new(text),
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
        verify(&parser.function).map_err(|error| SyntaxError {
            at: parser.lines.get(error.line - 1).copied().unwrap_or(0),
            message: error.message,
        })
    });
    match parsed {
        Ok(()) => Ok(parser.function),
        Err(SyntaxError { at, message }) => {
            let before = &text[..at];
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
            Err(TextError { line, column, message })
        }
    }
}

/// Maximum nesting depth of blocks, to prevent stack overflow.
const MAX_DEPTH: usize = 200;

struct Parser<'t> {
    lexer: Lexer<'t>,
    /// Offset of the current token.
    begin: usize,
    token: Token<'t>,
    function: Function,
    names: FxHashMap<&'t str, Value>,
    inputs: FxHashMap<String, Value>,
    constants: FxHashMap<(Type, u32), Value>,
    ops: FxHashMap<&'static str, Op>,
    depth: usize,
    /// For each line of the printed function, the corresponding offset in the text.
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
        self.expect(Token::Symbol('{'))?;
        self.function.body.stmts = self.stmts()?;
        self.lines.push(self.begin);
        self.keyword("return")?;
        self.function.body.yields = self.values()?;
        self.expect(Token::Symbol('}'))?;
        self.expect(Token::End)
    }

    // Tokens.

    fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(SyntaxError { at: self.begin, message: message.into() })
    }

    fn unexpected<T>(&self, expected: &str) -> Parsed<T> {
        self.error(format!("expected {expected}, found {}", self.token))
    }

    fn advance(&mut self) -> Parsed<()> {
        (self.begin, self.token) = self.lexer.next_token()?;
        Ok(())
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

    /// Consumes the current token if it is `token`; returns whether it was.
    fn accept(&mut self, token: Token<'_>) -> Parsed<bool> {
        let is_match = self.token == token;
        if is_match {
            self.advance()?;
        }
        Ok(is_match)
    }

    // Ports and operands.

    fn port_name(&mut self, expected: &str) -> Parsed<String> {
        let name = match &self.token {
            Token::Name(name) if !NAMED_CONSTANTS.contains(name) => (*name).to_owned(),
            Token::Quoted(name) => name.clone(),
            _ => return self.unexpected(expected),
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
            parser.expect(Token::Symbol(':'))?;
            Ok(Port { name, ty: parser.ty()? })
        })
    }

    /// Items in parentheses, separated by commas.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = vec![];
        self.expect(Token::Symbol('('))?;
        while self.token != Token::Symbol(')') {
            items.push(item(self)?);
            if !self.accept(Token::Symbol(','))? {
                break;
            }
        }
        self.expect(Token::Symbol(')'))?;
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

    /// A value used as an operand.
    fn operand(&mut self) -> Parsed<Value> {
        let value = match &self.token {
            Token::Value(name) => match self.names.get(name) {
                Some(&value) => value,
                None => return self.error(format!("`%{name}` is not defined here")),
            },
            &Token::Name("true") => self.constant(Type::Bool, Word::to_bits(true)),
            &Token::Name("false") => self.constant(Type::Bool, Word::to_bits(false)),
            &Token::Name("inf") => self.constant(Type::F32, f32::INFINITY.to_bits()),
            &Token::Name("nan") => self.constant(Type::F32, f32::NAN.to_bits()),
            &Token::Number(text) => match number(text) {
                Some((ty, bits)) => self.constant(ty, bits),
                None => {
                    return self.error(format!("`{text}` is neither a float nor a 32-bit integer"));
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
            None => self.error(format!("there is no input `{}`", quoted(name))),
        }
    }

    fn starts_operand(&self) -> bool {
        matches!(self.token, Token::Value(_) | Token::Name(_) | Token::Quoted(_) | Token::Number(_))
    }

    /// Any number of values, separated by commas.
    fn values(&mut self) -> Parsed<Vec<Value>> {
        let mut values = vec![];
        if self.starts_operand() {
            values.push(self.operand()?);
            while self.accept(Token::Symbol(','))? {
                values.push(self.operand()?);
            }
        }
        Ok(values)
    }

    /// The name of a new value.
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
            Some(_) => Err(SyntaxError { at, message: format!("`%{name}` is already defined") }),
        }
    }

    // Statements.

    fn stmts(&mut self) -> Parsed<Vec<Stmt>> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.error(format!("blocks are nested more than {MAX_DEPTH} levels deep"));
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
            while self.accept(Token::Symbol(','))? {
                results.push(self.new_name()?);
            }
            self.expect(Token::Symbol('='))?;
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
            return self.error(format!("there is no operation `{name}`"));
        };
        let at = self.begin;
        self.advance()?;
        let args = self.values()?;
        if args.len() != op.arity() {
            return Err(SyntaxError {
                at,
                message: format!("`{name}` takes {} arguments, not {}", op.arity(), args.len()),
            });
        }
        let [result] = results else {
            return Err(SyntaxError {
                at,
                message: format!("`{name}` has one result, not {}", results.len()),
            });
        };
        let mut padded = [args[0]; 3];
        padded[..args.len()].copy_from_slice(&args);
        let ty = op.signature().result.unwrap_or_else(|| self.function.ty(args[args.len() - 1]));
        Ok(Stmt::Op(self.define(*result, ty, Def::Op { op, args: padded })?))
    }

    /// The last line of a block: a keyword and the yields.
    fn yields(&mut self, keyword: &str) -> Parsed<Vec<Value>> {
        self.lines.push(self.begin);
        self.keyword(keyword)?;
        self.values()
    }

    fn brace(&mut self, brace: char) -> Parsed<()> {
        self.lines.push(self.begin);
        self.expect(Token::Symbol(brace))
    }

    fn if_(&mut self, results: &[(usize, &'t str)]) -> Parsed<If> {
        self.keyword("if")?;
        let cond = self.operand()?;
        self.expect(Token::Symbol('{'))?;
        let then = Block { stmts: self.stmts()?, yields: self.yields("yield")? };
        self.brace('}')?;
        self.keyword("else")?;
        self.expect(Token::Symbol('{'))?;
        let otherwise = Block { stmts: self.stmts()?, yields: self.yields("yield")? };
        self.brace('}')?;
        let results = self.results(results, &then.yields)?;
        Ok(If { cond, then, otherwise, results })
    }

    /// Defines results with the types of `yields`. The verifier checks that the counts match.
    fn results(&mut self, results: &[(usize, &'t str)], yields: &[Value]) -> Parsed<Vec<Value>> {
        let types: Vec<_> = yields.iter().map(|&value| self.function.ty(value)).collect();
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
            parser.expect(Token::Symbol(':'))?;
            let ty = parser.ty()?;
            parser.expect(Token::Symbol('='))?;
            Ok((name, ty, parser.operand()?))
        })?;
        for (name, ty, first) in heads {
            init.push(first);
            params.push(self.define(name, ty, Def::Param)?);
        }
        self.expect(Token::Symbol('{'))?;
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

#[cfg(test)]
mod tests {
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

    /// A function with the inputs `a`, `b` and `i`, and these lines as its body.
    fn body(lines: &str) -> String {
        format!("fn f(a: f32, b: f32, i: i32) -> (r: f32) {{\n{lines}\n}}")
    }

    #[test]
    fn printing_and_parsing_round_trips() {
        let function = parse(SAMPLE).unwrap();
        assert_eq!(function.to_string(), SAMPLE);
        assert_eq!(parse(&function.to_string()).unwrap(), function);
    }

    #[test]
    fn layout_names_and_comments_do_not_matter() {
        let text = "fn f(a:f32,)->(r:f32,){%x=add a,-.5e0// to the left\n%y=mul %x,%x return %y}";
        let function = parse(text).unwrap();
        assert_eq!(
            function.to_string(),
            "fn f(a: f32) -> (r: f32) {\n  %0 = add a, -0.5\n  %1 = mul %0, %0\n  return %1\n}\n"
        );
    }

    #[test]
    fn errors_state_position_and_cause() {
        assert_eq!(error(""), "1:1: expected `fn`, found the end of the text");
        assert_eq!(error(&body("  return %0")), "2:10: `%0` is not defined here");
        assert_eq!(error(&body("return c")), "2:8: there is no input `c`");
        assert_eq!(error(&body("%0 = frob a\nreturn %0")), "2:6: there is no operation `frob`");
        assert_eq!(error(&body("%0 = add a\nreturn %0")), "2:6: `add` takes 2 arguments, not 1");
        assert_eq!(
            error(&body("%0, %1 = add a, b\nreturn %0")),
            "2:10: `add` has one result, not 2"
        );
        assert_eq!(
            error(&body("%0 = add a, b\n%0 = add b, b\nreturn %0")),
            "3:1: `%0` is already defined"
        );
        assert_eq!(
            error(&body("%0 = add a, 1\nreturn %0")),
            "2:1: argument 2 of `add` must be f32, but 1 is i32"
        );
        assert_eq!(
            error(&body("%0 = select true, a, i\nreturn a")),
            "2:1: argument 3 of `select` must be f32, but i is i32"
        );
        assert_eq!(error(&body("return i")), "2:1: output `r` must be f32, but i is i32");
        assert_eq!(
            error(&body("return a, b")),
            "2:1: wrong number of outputs: expected 1, found 2"
        );
        assert_eq!(
            error(&body("if a {\n  yield\n} else {\n  yield\n}\nreturn a")),
            "2:1: the condition must be bool, but a is f32"
        );
        assert_eq!(
            error(&body("return 1e99")),
            "2:8: `1e99` is neither a float nor a 32-bit integer"
        );
        assert_eq!(error(&body("return a }")), "3:1: expected the end of the text, found `}`");
        assert_eq!(error(&body("µ ; return a")), "2:1: expected `return`, found `µ`");
        assert_eq!(error(&body("%0 = add a, ;")), "2:13: unexpected character `;`");
        assert_eq!(error("fn f() -> (\"x"), "1:12: the name has no closing quotation mark");
        let scope =
            "%0 = if true {\n  %1 = add a, b\n  yield %1\n} else {\n  yield %1\n}\nreturn a";
        assert_eq!(error(&body(scope)), "6:3: %1 is not in scope");
    }

    #[test]
    fn deep_nesting_is_an_error() {
        assert!(
            error(&body(&"if true { ".repeat(100_000)))
                .ends_with("blocks are nested more than 200 levels deep")
        );
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in ".*") {
            let _ = parse(&text);
        }

        #[test]
        fn mutated_text_does_not_panic(edits in prop::collection::vec((any::<prop::sample::Index>(), 0..8usize, "[%a-z0-9.,{}()=:\" \n-]{0,8}"), 1..4)) {
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
