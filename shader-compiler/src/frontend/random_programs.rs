//! Tests control flow: compares translated random programs with direct execution of their
//! statements.

use super::testing::{CAP, Numbers, run, translate};
use crate::{passes, testing};
use std::fmt::Write;

/// Local variables, the private variable `p`, and the argument `x`.
const VARIABLES: [&str; 5] = ["a", "b", "c", "p", "x"];
const PRIVATE: usize = 3;
const ARGUMENT: usize = 4;

enum Expr {
    Constant(i32),
    Variable(usize),
    Add(Box<Expr>, Box<Expr>),
    Xor(Box<Expr>, Box<Expr>),
    Triple(Box<Expr>),
}

enum Cond {
    Less(Expr, Expr),
    Bits(Expr, i32),
    And(Box<Cond>, Box<Cond>),
    Or(Box<Cond>, Box<Cond>),
    True,
}

enum Stmt {
    Set(usize, Expr),
    /// Declares a value for later use in the same block.
    Let(u32, Expr),
    /// `v += NAME`
    Use(usize, u32),
    If(Cond, Vec<Stmt>, Vec<Stmt>),
    Switch(Expr, Vec<(Vec<i32>, Vec<Stmt>)>, Vec<Stmt>),
    Loop {
        counter: u32,
        limit: i32,
        body: Vec<Stmt>,
        continuing: Vec<Stmt>,
        break_if: Option<Cond>,
    },
    While(u32, i32, Cond, Vec<Stmt>),
    For(u32, i32, Vec<Stmt>),
    Break,
    Continue,
    Return(Expr),
    /// `v = g(e, &w)`
    Call(usize, Expr, usize),
}

/// The statements that may be generated, and their maximum nesting depth.
#[derive(Clone, Copy)]
struct Context {
    depth: u32,
    breaks: bool,
    continues: bool,
    returns: bool,
    calls: bool,
}

struct Generator {
    numbers: Numbers,
    /// Number of names declared so far.
    names: u32,
    /// Number of statements that may still be generated.
    budget: u32,
}

impl Generator {
    fn expr(&mut self, depth: u32) -> Expr {
        match self.numbers.below(if depth == 0 { 4 } else { 7 }) {
            0 => Expr::Constant(self.numbers.below(9) as i32 - 4),
            1..=3 => Expr::Variable(self.numbers.below(5) as usize),
            4 => Expr::Add(Box::new(self.expr(depth - 1)), Box::new(self.expr(depth - 1))),
            5 => Expr::Xor(Box::new(self.expr(depth - 1)), Box::new(self.expr(depth - 1))),
            _ => Expr::Triple(Box::new(self.expr(depth - 1))),
        }
    }

    fn cond(&mut self, depth: u32) -> Cond {
        match self.numbers.below(if depth == 0 { 6 } else { 10 }) {
            0..=2 => Cond::Less(self.expr(1), self.expr(1)),
            3..=4 => Cond::Bits(self.expr(1), self.numbers.below(4) as i32),
            5 => Cond::True,
            6..=7 => Cond::And(Box::new(self.cond(depth - 1)), Box::new(self.cond(depth - 1))),
            _ => Cond::Or(Box::new(self.cond(depth - 1)), Box::new(self.cond(depth - 1))),
        }
    }

    fn block(&mut self, context: Context) -> Vec<Stmt> {
        let mut block = vec![];
        let mut declared = vec![];
        for _ in 0..self.numbers.below(5) {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            if self.numbers.below(6) == 0 {
                self.names += 1;
                declared.push(self.names);
                block.push(Stmt::Let(self.names, self.expr(2)));
            } else if !declared.is_empty() && self.numbers.below(4) == 0 {
                let name = declared[self.numbers.below(declared.len() as u32) as usize];
                block.push(Stmt::Use(self.numbers.below(4) as usize, name));
            } else {
                let stmt = self.stmt(context);
                let exits = matches!(stmt, Stmt::Break | Stmt::Continue | Stmt::Return(_));
                block.push(stmt);
                if exits {
                    break;
                }
            }
        }
        block
    }

    fn stmt(&mut self, context: Context) -> Stmt {
        let inner = Context { depth: context.depth.saturating_sub(1), ..context };
        let loop_body = Context { breaks: true, continues: true, ..inner };
        let kind = self.numbers.below(23);
        match kind {
            0..=2 if context.depth > 0 => Stmt::If(self.cond(1), self.block(inner), vec![]),
            3..=4 if context.depth > 0 => {
                Stmt::If(self.cond(1), self.block(inner), self.block(inner))
            }
            5 if context.depth > 0 => {
                let mut value = -3;
                let mut cases = vec![];
                let max_cases = if self.numbers.below(4) == 0 { 14 } else { 4 };
                for _ in 0..self.numbers.below(max_cases) {
                    let values = (0..=self.numbers.below(2)).map(|_| {
                        value += 1 + (value & 1);
                        value
                    });
                    cases.push((values.collect(), self.block(Context { breaks: true, ..inner })));
                }
                Stmt::Switch(self.expr(1), cases, self.block(Context { breaks: true, ..inner }))
            }
            6..=7 if context.depth > 0 => {
                self.names += 1;
                let counter = self.names;
                // Nothing may leave the loop from `continuing`.
                let continuing_block =
                    Context { breaks: false, continues: false, returns: false, ..inner };
                let break_if = if self.numbers.below(2) == 0 { Some(self.cond(1)) } else { None };
                let limit = self.numbers.below(8) as i32;
                Stmt::Loop {
                    counter,
                    limit,
                    body: self.block(loop_body),
                    continuing: self.block(continuing_block),
                    break_if,
                }
            }
            8 if context.depth > 0 => {
                self.names += 1;
                Stmt::While(
                    self.names,
                    self.numbers.below(8) as i32,
                    self.cond(1),
                    self.block(loop_body),
                )
            }
            9..=10 if context.depth > 0 => {
                self.names += 1;
                Stmt::For(self.names, self.numbers.below(7) as i32, self.block(loop_body))
            }
            11 if context.returns => Stmt::Return(self.expr(1)),
            12..=13 if context.breaks => Stmt::Break,
            14 if context.continues => Stmt::Continue,
            20..=22 => {
                let exits = [
                    (context.breaks, Stmt::Break),
                    (context.continues, Stmt::Continue),
                    (context.returns, Stmt::Return(self.expr(1))),
                ];
                let mut exits: Vec<_> =
                    exits.into_iter().filter(|exit| exit.0).map(|exit| exit.1).collect();
                let exit = exits.drain(..).nth(self.numbers.below(3) as usize);
                Stmt::If(self.cond(1), exit.into_iter().collect(), vec![])
            }
            15..=16 if context.calls => Stmt::Call(
                self.numbers.below(3) as usize,
                self.expr(1),
                self.numbers.below(3) as usize,
            ),
            _ => Stmt::Set(self.numbers.below(4) as usize, self.expr(2)),
        }
    }
}

fn write_expr(out: &mut String, expr: &Expr) {
    match expr {
        Expr::Constant(c) => write!(out, "({c})").unwrap(),
        Expr::Variable(v) => out.push_str(VARIABLES[*v]),
        Expr::Triple(e) => {
            out.push_str("(3 * ");
            write_expr(out, e);
            out.push(')');
        }
        Expr::Add(x, y) | Expr::Xor(x, y) => {
            out.push('(');
            write_expr(out, x);
            out.push_str(if matches!(expr, Expr::Add(..)) { " + " } else { " ^ " });
            write_expr(out, y);
            out.push(')');
        }
    }
}

fn write_cond(out: &mut String, cond: &Cond) {
    match cond {
        Cond::True => out.push_str("true"),
        Cond::Less(x, y) => {
            out.push('(');
            write_expr(out, x);
            out.push_str(" < ");
            write_expr(out, y);
            out.push(')');
        }
        Cond::Bits(x, k) => {
            out.push_str("((");
            write_expr(out, x);
            write!(out, " & 3) == {k})").unwrap();
        }
        Cond::And(x, y) | Cond::Or(x, y) => {
            out.push('(');
            write_cond(out, x);
            out.push_str(if matches!(cond, Cond::And(..)) { " && " } else { " || " });
            write_cond(out, y);
            out.push(')');
        }
    }
}

fn write_block(out: &mut String, block: &[Stmt]) {
    out.push_str("{ ");
    block.iter().for_each(|stmt| write_stmt(out, stmt));
    out.push_str("} ");
}

fn write_stmt(out: &mut String, stmt: &Stmt) {
    match stmt {
        Stmt::Set(v, e) => {
            write!(out, "{} = ", VARIABLES[*v]).unwrap();
            write_expr(out, e);
            out.push_str("; ");
        }
        Stmt::Let(name, e) => {
            write!(out, "let v{name} = ").unwrap();
            write_expr(out, e);
            out.push_str("; ");
        }
        Stmt::Use(v, name) => write!(out, "{} += v{name}; ", VARIABLES[*v]).unwrap(),
        Stmt::If(c, then, otherwise) => {
            out.push_str("if ");
            write_cond(out, c);
            write_block(out, then);
            if !otherwise.is_empty() {
                out.push_str("else ");
                write_block(out, otherwise);
            }
        }
        Stmt::Switch(e, cases, default) => {
            out.push_str("switch ");
            write_expr(out, e);
            out.push_str(" { ");
            for (values, body) in cases {
                write!(
                    out,
                    "case {}: ",
                    values.iter().map(i32::to_string).collect::<Vec<_>>().join(", ")
                )
                .unwrap();
                write_block(out, body);
            }
            out.push_str("default: ");
            write_block(out, default);
            out.push_str("} ");
        }
        Stmt::Loop { counter, limit, body, continuing, break_if } => {
            write!(
                out,
                "var k{counter} = 0; loop {{ k{counter}++; if k{counter} > {limit} {{ break; }} "
            )
            .unwrap();
            body.iter().for_each(|stmt| write_stmt(out, stmt));
            out.push_str("continuing { ");
            continuing.iter().for_each(|stmt| write_stmt(out, stmt));
            if let Some(cond) = break_if {
                out.push_str("break if ");
                write_cond(out, cond);
                out.push_str("; ");
            }
            out.push_str("} } ");
        }
        Stmt::While(counter, limit, cond, body) => {
            write!(out, "var k{counter} = 0; while k{counter} < {limit} && ").unwrap();
            write_cond(out, cond);
            write!(out, " {{ k{counter}++; ").unwrap();
            body.iter().for_each(|stmt| write_stmt(out, stmt));
            out.push_str("} ");
        }
        Stmt::For(counter, limit, body) => {
            write!(out, "for (var k{counter} = 0; k{counter} < {limit}; k{counter}++) ").unwrap();
            write_block(out, body);
        }
        Stmt::Break => out.push_str("break; "),
        Stmt::Continue => out.push_str("continue; "),
        Stmt::Return(e) => {
            out.push_str("return ");
            write_expr(out, e);
            out.push_str("; ");
        }
        Stmt::Call(v, e, w) => {
            write!(out, "{} = g(", VARIABLES[*v]).unwrap();
            write_expr(out, e);
            writeln!(out, ", &{}); ", VARIABLES[*w]).unwrap();
        }
    }
}

/// How control leaves a statement.
#[derive(PartialEq)]
enum Completion {
    FallsThrough,
    Breaks,
    Continues,
    Returns(i32),
}

/// Executes a function's statements directly.
struct Interpreter<'a> {
    callee: &'a [Stmt],
    values: [i32; 5],
    names: Vec<i32>,
}

impl Interpreter<'_> {
    fn eval(&self, expr: &Expr) -> i32 {
        match expr {
            Expr::Constant(c) => *c,
            Expr::Variable(v) => self.values[*v],
            Expr::Add(x, y) => self.eval(x).wrapping_add(self.eval(y)),
            Expr::Xor(x, y) => self.eval(x) ^ self.eval(y),
            Expr::Triple(e) => self.eval(e).wrapping_mul(3),
        }
    }

    fn holds(&self, cond: &Cond) -> bool {
        match cond {
            Cond::True => true,
            Cond::Less(x, y) => self.eval(x) < self.eval(y),
            Cond::Bits(x, k) => self.eval(x) & 3 == *k,
            Cond::And(x, y) => self.holds(x) && self.holds(y),
            Cond::Or(x, y) => self.holds(x) || self.holds(y),
        }
    }

    fn block(&mut self, block: &[Stmt]) -> Completion {
        for stmt in block {
            let completion = self.stmt(stmt);
            if completion != Completion::FallsThrough {
                return completion;
            }
        }
        Completion::FallsThrough
    }

    fn stmt(&mut self, stmt: &Stmt) -> Completion {
        match stmt {
            Stmt::Set(v, e) => self.values[*v] = self.eval(e),
            Stmt::Let(name, e) => self.names[*name as usize] = self.eval(e),
            Stmt::Use(v, name) => {
                self.values[*v] = self.values[*v].wrapping_add(self.names[*name as usize])
            }
            Stmt::If(c, then, otherwise) => {
                return self.block(if self.holds(c) { then } else { otherwise });
            }
            Stmt::Switch(e, cases, default) => {
                let value = self.eval(e);
                let body = cases
                    .iter()
                    .find(|(values, _)| values.contains(&value))
                    .map_or(default, |(_, body)| body);
                let completion = self.block(body);
                return if completion == Completion::Breaks {
                    Completion::FallsThrough
                } else {
                    completion
                };
            }
            Stmt::Loop { limit, body, continuing, break_if, .. } => {
                for _ in 0..*limit {
                    match self.block(body) {
                        Completion::FallsThrough | Completion::Continues => {}
                        Completion::Breaks => break,
                        completion => return completion,
                    }
                    self.block(continuing);
                    if break_if.as_ref().is_some_and(|cond| self.holds(cond)) {
                        break;
                    }
                }
            }
            Stmt::While(_, limit, cond, body) => {
                for _ in 0..*limit {
                    if !self.holds(cond) {
                        break;
                    }
                    match self.block(body) {
                        Completion::FallsThrough | Completion::Continues => {}
                        Completion::Breaks => break,
                        completion => return completion,
                    }
                }
            }
            Stmt::For(_, limit, body) => {
                for _ in 0..*limit {
                    match self.block(body) {
                        Completion::FallsThrough | Completion::Continues => {}
                        Completion::Breaks => break,
                        completion => return completion,
                    }
                }
            }
            Stmt::Break => return Completion::Breaks,
            Stmt::Continue => return Completion::Continues,
            Stmt::Return(e) => return Completion::Returns(self.eval(e)),
            Stmt::Call(v, e, w) => {
                let argument = self.eval(e);
                let values = [self.values[*w], 0, 0, self.values[PRIVATE], argument];
                let mut inner =
                    Interpreter { callee: &[], values, names: std::mem::take(&mut self.names) };
                let completion = inner.block(self.callee);
                self.names = inner.names;
                self.values[PRIVATE] = inner.values[PRIVATE];
                self.values[*w] = inner.values[0];
                let Completion::Returns(value) = completion else {
                    unreachable!("functions return")
                };
                self.values[*v] = value;
            }
        }
        Completion::FallsThrough
    }
}

/// Generates a program: its text, its two functions, and the number of names that they declare.
fn program(seed: u64) -> (String, [Vec<Stmt>; 2], u32) {
    let mut generator = Generator { numbers: Numbers::new(seed), names: 0, budget: 12 };
    let context =
        Context { depth: 3, breaks: false, continues: false, returns: true, calls: false };
    let [mut callee, mut main] = [false, true].map(|calls| {
        generator.budget += 18;
        generator.block(Context { calls, ..context })
    });
    for body in [&mut callee, &mut main] {
        if !matches!(body.last(), Some(Stmt::Return(_))) {
            body.push(Stmt::Return(generator.expr(2)));
        }
    }
    let mut text =
        "var<private> p: i32; fn g(x: i32, q: ptr<function, i32>) -> i32 { var b = 0; var c = 0; "
            .to_owned();
    // In the callee, the target of the pointer takes the place of `a`.
    let mut body = String::new();
    callee.iter().for_each(|stmt| write_stmt(&mut body, stmt));
    text += &replace_a_by_pointer(&body);
    text += "} fn h(x: i32) -> i32 { var a = 0; var b = 0; var c = 0; ";
    main.iter().for_each(|stmt| write_stmt(&mut text, stmt));
    text += "} fn f(x: i32, y: i32) -> array<i32, 3> { p = y; let r = h(x); let q = p; return array(r, q, h(r)); }";
    (text, [callee, main], generator.names)
}

/// Replaces the variable `a` by `*q`.
fn replace_a_by_pointer(body: &str) -> String {
    let mut out = String::new();
    let bytes = body.as_bytes();
    for (k, c) in body.char_indices() {
        let is_word =
            |k: Option<usize>| k.and_then(|k| bytes.get(k)).is_some_and(u8::is_ascii_alphanumeric);
        if c == 'a' && !is_word(k.checked_sub(1)) && !is_word(Some(k + 1)) {
            out.push_str("(*q)");
        } else {
            out.push(c);
        }
    }
    out
}

/// Executes a program directly: two calls that share the private variable.
fn evaluate([callee, main]: &[Vec<Stmt>; 2], names: u32, [x, y]: [i32; 2]) -> Vec<u32> {
    let mut private = y;
    let mut call = |x: i32| {
        let mut values = [0; 5];
        (values[PRIVATE], values[ARGUMENT]) = (private, x);
        let mut interpreter = Interpreter { callee, values, names: vec![0; names as usize + 1] };
        let Completion::Returns(value) = interpreter.block(main) else {
            unreachable!("functions return")
        };
        private = interpreter.values[PRIVATE];
        (value, private)
    };
    let (r, q) = call(x);
    let (s, _) = call(r);
    [r, q, s, 0].map(|x| x as u32).to_vec()
}

/// Checks programs in the interpreter, after each pass, and as machine code. They compute integers,
/// so that results are exact. The rows differ, so that the lanes of a group diverge.
fn check_programs(seeds: std::ops::Range<u64>) {
    let targets = testing::targets();
    for seed in seeds {
        let mut inputs = Numbers::new(seed ^ 99);
        let (text, blocks, names) = program(seed);
        let function = translate(&text);
        let optimized = passes::optimize(&function);
        let lowered = passes::lower(&optimized);
        let rows: Vec<_> = (0..16).map(|_| [(); 2].map(|()| inputs.below(16) as i32 - 8)).collect();
        let expected: Vec<_> = rows.iter().map(|&row| evaluate(&blocks, names, row)).collect();
        for (row, expected) in std::iter::zip(&rows, &expected) {
            for function in [&function, &optimized, &lowered] {
                let out = run(function, &row.map(|x| x as u32));
                assert_eq!(
                    &out, expected,
                    "seed {seed}, inputs {row:?}, loops capped at {CAP}\n{text}\n{function}"
                );
            }
        }
        let rows: Vec<_> = rows.iter().map(|row| row.map(|x| x as u32).to_vec()).collect();
        for &target in &targets {
            let result = testing::check(&function, &lowered, target, &rows);
            result.unwrap_or_else(|mismatch| panic!("seed {seed}: {mismatch}\n{text}\n{lowered}"));
        }
    }
}

#[test]
fn random_programs_match_direct_execution() {
    check_programs(0..600);
}

#[test]
#[ignore = "takes minutes: cargo test -p lightbound-shader --release -- --ignored many_random_programs"]
fn many_random_programs_match_direct_execution_slow() {
    check_programs(10_000..60_000);
}
