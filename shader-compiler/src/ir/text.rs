//! The textual form of a function, for display, tests and parsing.
//!
//! ```text
//! fn s(wi.x: f32, exponent: f32) -> (s.r: f32) {
//!   %0 = mul wi.x, exponent
//!   %1 = lt %0, 0.5
//!   %2, %3 = if %1 {
//!     %4 = exp %0
//!     yield %4, 1.0
//!   } else {
//!     yield %0, %0
//!   }
//!   %5 = loop (%6: f32 = %2, %7: i32 = 0) {
//!     %8 = slt %7, 64
//!     while %8 else %6
//!     %9 = mul %6, %3
//!     %10 = iadd %7, 1
//!     next %9, %10
//!   }
//!   return %5
//! }
//! ```
//!
//! Inputs appear by name, constants are written inline, and other values are numbered in order of
//! appearance. The spelling of a constant shows its type: floats have a decimal point or an
//! exponent, or are `inf` or `nan`; integers are decimal or hexadecimal; bools are `true` and
//! `false`. The parser also accepts names for values (`%sum`). Port names that are not identifiers
//! are quoted, and `//` starts a comment. The parser does not simplify. Printing a parsed function
//! reproduces its text, except for layout, names, the spelling of constants, and NaN payloads.

mod lexer;
mod parse;

pub use parse::{TextError, parse};

use super::function::{Block, Def, Function, If, Loop, Port, Stmt, Value, ValueData};
use super::types::Type;
use std::borrow::Cow;
use std::fmt::{self, Write};

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Line { text, .. } in lines(self, &NoAnnotations) {
            writeln!(f, "{text}")?;
        }
        Ok(())
    }
}

/// Annotations of the values in a function's text.
pub trait Annotations {
    /// Whether to print the value's name in brackets.
    fn brackets(&self, value: Value) -> bool;
    /// The comment at the value's definition.
    fn comment(&self, value: Value) -> Option<String>;
    /// Comments on values at the start of an arm of the if, or of the body of the loop, with these
    /// results, given the value of its condition.
    fn block_comments(&self, _results: &[Value], _truth: bool) -> Vec<(Value, String)> {
        vec![]
    }
}

struct NoAnnotations;

impl Annotations for NoAnnotations {
    fn brackets(&self, _: Value) -> bool {
        false
    }
    fn comment(&self, _: Value) -> Option<String> {
        None
    }
}

/// The text of a function with annotations. A comment follows the line that defines its value;
/// comments on inputs precede the function. The text parses as the function if no name is in
/// brackets.
pub fn annotated(function: &Function, annotations: &dyn Annotations) -> String {
    /// Maximum column at which comments are aligned; the comment of a longer line follows it.
    const MAX_COMMENT_COLUMN: usize = 48;
    let lines = lines(function, annotations);
    let width = |line: &Line| line.text.chars().count();
    let commented = lines.iter().filter(|line| !line.comments.is_empty());
    let column =
        commented.map(width).filter(|&width| width <= MAX_COMMENT_COLUMN).max().unwrap_or(0);
    let mut text = String::new();
    for (index, data) in function.values.iter().enumerate() {
        let (Def::Input(input), Some(comment)) =
            (data.def, annotations.comment(Value(index as u32)))
        else {
            continue;
        };
        let name = function.inputs.get(input as usize).map_or("?", |port| &port.name);
        text += &format!("// {}: {comment}\n", quoted(name));
    }
    for line in &lines {
        text += &line.text;
        let column = column.max(width(line));
        for (k, comment) in line.comments.iter().enumerate() {
            let (separator, start) = if k == 0 { ("", width(line)) } else { ("\n", 0) };
            text += &format!("{separator}{:1$}  // {comment}", "", column - start);
        }
        text += "\n";
    }
    text
}

/// The name of a value in the text of its function.
pub(crate) fn name(function: &Function, value: Value) -> String {
    Name { function, numbers: &numbers(function), value }.to_string()
}

/// Number of each value, in order of appearance.
pub(crate) fn numbers(function: &Function) -> Vec<Option<u32>> {
    let mut numbers = vec![None; function.len()];
    let mut next = 0;
    let mut define = |value: &Value| {
        if let Some(number @ None) = numbers.get_mut(value.index()) {
            *number = Some(next);
            next += 1;
        }
    };
    super::function::for_each_stmt(&function.body, &mut |stmt| match stmt {
        Stmt::Op(value) => define(value),
        Stmt::If(i) => i.results.iter().for_each(&mut define),
        Stmt::Loop(l) => l.results.iter().chain(&l.params).for_each(&mut define),
    });
    numbers
}

/// Displays a value's name. Never fails, so that invalid functions can be printed.
pub(crate) struct Name<'a> {
    pub(crate) function: &'a Function,
    pub(crate) numbers: &'a [Option<u32>],
    pub(crate) value: Value,
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Name { function, numbers, value } = self;
        match function.values.get(value.index()) {
            Some(ValueData { def: Def::Input(input), .. })
                if (*input as usize) < function.inputs.len() =>
            {
                f.write_str(&quoted(&function.inputs[*input as usize].name))
            }
            Some(ValueData { def: Def::Const(bits), ty, .. }) => f.write_str(&literal(*ty, *bits)),
            _ => match numbers.get(value.index()) {
                Some(Some(number)) => write!(f, "%{number}"),
                _ => write!(f, "%undefined{}", value.0),
            },
        }
    }
}

/// Constants that are spelled like names.
const NAMED_CONSTANTS: [&str; 4] = ["true", "false", "inf", "nan"];

fn begins_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

/// Quotes a name unless it is an identifier.
fn quoted(name: &str) -> Cow<'_, str> {
    let is_identifier = name.starts_with(begins_name)
        && name.chars().all(continues_name)
        && !NAMED_CONSTANTS.contains(&name);
    if is_identifier {
        return name.into();
    }
    let mut text = String::from('"');
    for c in name.chars() {
        if matches!(c, '"' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text.push('"');
    text.into()
}

/// The spelling of a constant.
fn literal(ty: Type, bits: u32) -> String {
    match ty {
        Type::F32 if f32::from_bits(bits).is_nan() => "nan".to_owned(),
        Type::F32 => format!("{:?}", f32::from_bits(bits)),
        Type::I32 if (bits as i32).unsigned_abs() < 1 << 16 => format!("{}", bits as i32),
        Type::I32 => format!("{bits:#x}"),
        Type::Bool => format!("{}", bits != 0),
    }
}

/// A line of text, without the newline.
struct Line {
    text: String,
    /// The first comment follows the text; the others go on lines below.
    comments: Vec<String>,
}

/// The lines of a function's text.
fn lines(function: &Function, annotations: &dyn Annotations) -> Vec<Line> {
    let mut printer =
        Printer { function, annotations, numbers: numbers(function), lines: vec![], indent: 1 };
    printer.function();
    printer.lines
}

struct Printer<'a> {
    function: &'a Function,
    annotations: &'a dyn Annotations,
    numbers: Vec<Option<u32>>,
    lines: Vec<Line>,
    indent: usize,
}

impl Printer<'_> {
    fn function(&mut self) {
        let function = self.function;
        let ports = |ports: &[Port], in_brackets: &dyn Fn(usize) -> bool| {
            let port = |(k, port): (usize, &Port)| {
                let name = quoted(&port.name);
                if in_brackets(k) {
                    format!("[{name}]: {}", port.ty)
                } else {
                    format!("{name}: {}", port.ty)
                }
            };
            ports.iter().enumerate().map(port).collect::<Vec<_>>().join(", ")
        };
        let inputs = ports(&function.inputs, &|k| {
            let mut values = function.values.iter().zip(0..);
            values.any(|(data, value)| {
                data.def == Def::Input(k as u32) && self.annotations.brackets(Value(value))
            })
        });
        let yields = &function.body.yields;
        let outputs = ports(&function.outputs, &|k| {
            yields.get(k).is_some_and(|&value| self.annotations.brackets(value))
        });
        let head = format!("fn {}({inputs}) -> ({outputs}) {{", quoted(&function.name));
        self.lines.push(Line { text: head, comments: vec![] });
        self.block(&function.body, "return");
        self.lines.push(Line { text: "}".into(), comments: vec![] });
    }

    fn line(&mut self, text: fmt::Arguments<'_>) {
        self.lines
            .push(Line { text: format!("{:1$}{text}", "", self.indent * 2), comments: vec![] });
    }

    /// Writes a line that defines values.
    fn definition(&mut self, text: fmt::Arguments<'_>, values: &[Value]) {
        self.line(text);
        let comments =
            values.iter().filter_map(|&value| Some((value, self.annotations.comment(value)?)));
        let comments = match values.len() {
            1 => comments.map(|(_, comment)| comment).collect(),
            _ => comments
                .map(|(value, comment)| format!("{}: {comment}", self.name(value)))
                .collect(),
        };
        self.lines.last_mut().expect("`line` has just added a line").comments = comments;
    }

    fn name(&self, value: Value) -> String {
        let name = Name { function: self.function, numbers: &self.numbers, value };
        let in_brackets = value.index() < self.function.len() && self.annotations.brackets(value);
        if in_brackets { format!("[{name}]") } else { name.to_string() }
    }

    /// ` %0, %1`
    fn names(&self, values: &[Value]) -> String {
        let mut text = String::new();
        for (k, &value) in values.iter().enumerate() {
            let _ = write!(text, "{}{}", if k == 0 { " " } else { ", " }, self.name(value));
        }
        text
    }

    /// `%0, %1 = `
    fn results(&self, results: &[Value]) -> String {
        if results.is_empty() {
            String::new()
        } else {
            format!("{} = ", self.names(results).trim_start())
        }
    }

    /// Writes a block; its last line is the keyword `end` with the yields.
    fn block(&mut self, block: &Block, end: &str) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    let (name, args) =
                        match self.function.values.get(value.index()).map(|data| data.def) {
                            Some(Def::Op { op, args }) => {
                                (op.name(), self.names(&args[..op.arity()]))
                            }
                            _ => ("?", String::new()),
                        };
                    let result = self.results(&[*value]);
                    self.definition(format_args!("{result}{name}{args}"), &[*value]);
                }
                Stmt::If(i) => self.if_(i),
                Stmt::Loop(l) => self.loop_(l),
            }
        }
        self.line(format_args!("{end}{}", self.names(&block.yields)));
    }

    /// Writes comments on values in a nested block.
    fn block_comments(&mut self, results: &[Value], truth: bool) {
        for (value, comment) in self.annotations.block_comments(results, truth) {
            let name = self.name(value);
            self.line(format_args!("  // {name}: {comment}"));
        }
    }

    fn nested_block(&mut self, block: &Block, end: &str) {
        self.indent += 1;
        self.block(block, end);
        self.indent -= 1;
    }

    fn if_(&mut self, i: &If) {
        self.definition(
            format_args!("{}if{} {{", self.results(&i.results), self.names(&[i.cond])),
            &i.results,
        );
        self.block_comments(&i.results, true);
        self.nested_block(&i.then, "yield");
        self.line(format_args!("}} else {{"));
        self.block_comments(&i.results, false);
        self.nested_block(&i.otherwise, "yield");
        self.line(format_args!("}}"));
    }

    fn loop_(&mut self, l: &Loop) {
        let params: Vec<_> = std::iter::zip(&l.params, &l.init)
            .map(|(&param, &init)| {
                let ty = self.function.values.get(param.index()).map_or("?", |data| data.ty.name());
                format!("{}: {ty} = {}", self.name(param), self.name(init))
            })
            .collect();
        let defined = [&l.params[..], &l.results].concat();
        self.definition(
            format_args!("{}loop ({}) {{", self.results(&l.results), params.join(", ")),
            &defined,
        );
        let exit = if l.head.yields.is_empty() { "" } else { " else" };
        let exit = format!("while{}{exit}", self.names(&[l.cond]));
        self.nested_block(&l.head, &exit);
        self.block_comments(&l.results, true);
        self.nested_block(&l.body, "next");
        self.line(format_args!("}}"));
    }
}
