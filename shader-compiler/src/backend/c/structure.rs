//! The structure of a function as C: operations in their order, ifs and loops. It is the same
//! however values are written, which a [`Spelling`] says.

use crate::ir::{Block, Def, Function, If, Loop, Stmt, Type, Value};
use std::fmt::Write;

/// A function, with what is written of it.
pub struct Scope<'a> {
    pub function: &'a Function,
    /// Names of values that are not constants.
    pub names: Vec<String>,
    /// Values that something written uses.
    pub used: Vec<bool>,
}

impl Scope<'_> {
    /// Inputs that are used, with their numbers.
    pub fn inputs(&self) -> impl Iterator<Item = (Value, usize)> {
        let values =
            (0..self.function.len() as u32).map(Value).filter(|value| self.used[value.index()]);
        values.filter_map(|value| match self.function.def(value) {
            Def::Input(input) => Some((value, input as usize)),
            _ => None,
        })
    }
}

/// How values of a function are written.
pub trait Spelling {
    /// The function.
    fn scope(&self) -> &Scope<'_>;

    /// The C type of values.
    fn type_of(&self, ty: Type) -> &'static str;

    /// A constant where it is used.
    fn constant(&self, ty: Type, bits: u32) -> String;

    /// What an operation is in C.
    fn expression(&self, value: Value) -> String;

    /// What C tests for a condition; `!` may stand before it.
    fn condition(&self, cond: Value) -> String;

    /// A value where it is used.
    fn name(&self, value: Value) -> String {
        let Scope { function, names, .. } = self.scope();
        function.constant(value).map_or_else(
            || names[value.index()].clone(),
            |bits| self.constant(function.ty(value), bits),
        )
    }
}

/// Text that grows line by line.
pub struct Writer<'a, S> {
    spelling: &'a S,
    /// What is written so far.
    pub text: String,
    indent: usize,
}

impl<'a, S: Spelling> Writer<'a, S> {
    /// Goes on after `text`, with lines that are so far in.
    pub fn new(spelling: &'a S, text: String, indent: usize) -> Writer<'a, S> {
        Writer { spelling, text, indent }
    }

    /// Writes a line.
    pub fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:1$}{line}", "", self.indent * 4);
    }

    /// Writes the statements of a block.
    pub fn stmts(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) if !self.spelling.scope().used[value.index()] => {}
                Stmt::Op(value) => {
                    let expression = self.spelling.expression(*value);
                    self.constant(&self.spelling.name(*value), *value, &expression);
                }
                Stmt::If(i) => self.if_(i),
                Stmt::Loop(l) => self.loop_(l),
            }
        }
    }

    /// Defines a name of the type of `value`.
    pub fn constant(&mut self, name: &str, value: Value, expression: &str) {
        self.line(&format!("const {} {name} = {expression};", self.type_of(value)));
    }

    fn type_of(&self, value: Value) -> &'static str {
        self.spelling.type_of(self.spelling.scope().function.ty(value))
    }

    fn declare(&mut self, values: &[Value]) {
        for &value in values {
            self.line(&format!("{} {};", self.type_of(value), self.spelling.name(value)));
        }
    }

    fn assign(&mut self, to: &[Value], from: &[Value]) {
        for (&to, &from) in std::iter::zip(to, from).filter(|(to, from)| to != from) {
            self.line(&format!("{} = {};", self.spelling.name(to), self.spelling.name(from)));
        }
    }

    fn arm(&mut self, head: &str, arm: &Block, results: &[Value]) {
        self.line(head);
        self.indent += 1;
        self.stmts(arm);
        self.assign(results, &arm.yields);
        self.indent -= 1;
    }

    fn if_(&mut self, i: &If) {
        self.declare(&i.results);
        self.arm(&format!("if ({}) {{", self.spelling.condition(i.cond)), &i.then, &i.results);
        if !i.otherwise.stmts.is_empty() || !i.results.is_empty() {
            self.arm("} else {", &i.otherwise, &i.results);
        }
        self.line("}");
    }

    fn loop_(&mut self, l: &Loop) {
        for (&param, &init) in std::iter::zip(&l.params, &l.init) {
            self.line(&format!(
                "{} {} = {};",
                self.type_of(param),
                self.spelling.name(param),
                self.spelling.name(init)
            ));
        }
        self.declare(&l.results);
        self.line("for (;;) {");
        self.indent += 1;
        self.stmts(&l.head);
        self.line(&format!("if (!{}) {{", self.spelling.condition(l.cond)));
        self.indent += 1;
        self.assign(&l.results, &l.head.yields);
        self.line("break;");
        self.indent -= 1;
        self.line("}");
        self.stmts(&l.body);
        self.next(l);
        self.indent -= 1;
        self.line("}");
    }

    /// All parameters change at once: those that become other ones are read before any is written.
    fn next(&mut self, l: &Loop) {
        let moved =
            |k: usize| l.body.yields[k] != l.params[k] && l.params.contains(&l.body.yields[k]);
        for (k, &param) in l.params.iter().enumerate().filter(|&(k, _)| moved(k)) {
            let name = format!("next_{}", self.spelling.name(param));
            self.constant(&name, param, &self.spelling.name(l.body.yields[k]));
        }
        for (k, (&param, &next)) in std::iter::zip(&l.params, &l.body.yields).enumerate() {
            if moved(k) {
                self.line(&format!("{0} = next_{0};", self.spelling.name(param)));
            } else {
                self.assign(&[param], &[next]);
            }
        }
    }
}
