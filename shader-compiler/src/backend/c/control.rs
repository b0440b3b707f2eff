//! Writes the control flow of a function as C: operations in order, ifs and loops. Implementations
//! of [`Syntax`] write values and operations.

use crate::ir::{Block, Def, Function, If, Loop, Stmt, Type, Value};
use std::fmt::Write;

/// A function, with the names of its values.
pub struct Scope<'a> {
    pub function: &'a Function,
    /// Name of each value; constants have none.
    pub names: Vec<String>,
    /// Whether each value is used in the output.
    pub used: Vec<bool>,
}

impl Scope<'_> {
    /// Used inputs with their port numbers.
    pub fn inputs(&self) -> impl Iterator<Item = (Value, usize)> {
        let values =
            (0..self.function.len() as u32).map(Value).filter(|value| self.used[value.index()]);
        values.filter_map(|value| match self.function.def(value) {
            Def::Input(input) => Some((value, input as usize)),
            _ => None,
        })
    }
}

/// The C syntax of values and operations, in intrinsics or scalar form.
pub trait Syntax {
    /// The function.
    fn scope(&self) -> &Scope<'_>;

    /// The C type of values.
    fn type_of(&self, ty: Type) -> &'static str;

    /// A constant operand.
    fn constant(&self, ty: Type, bits: u32) -> String;

    /// The C expression of an operation.
    fn expression(&self, value: Value) -> String;

    /// The C expression of a condition, which can be an operand of `!` without parentheses.
    fn condition(&self, cond: Value) -> String;

    /// A value as an operand.
    fn name(&self, value: Value) -> String {
        let Scope { function, names, .. } = self.scope();
        function.constant(value).map_or_else(
            || names[value.index()].clone(),
            |bits| self.constant(function.ty(value), bits),
        )
    }
}

/// Writes C line by line.
pub struct Writer<'a, S> {
    syntax: &'a S,
    /// The text so far.
    pub text: String,
    indent: usize,
}

impl<'a, S: Syntax> Writer<'a, S> {
    /// Appends to `text`, starting at this level of indentation.
    pub fn new(syntax: &'a S, text: String, indent: usize) -> Writer<'a, S> {
        Writer { syntax, text, indent }
    }

    /// Writes a line.
    pub fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:1$}{line}", "", self.indent * 4);
    }

    /// Writes the statements of a block.
    pub fn stmts(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) if !self.syntax.scope().used[value.index()] => {}
                Stmt::Op(value) => {
                    let expression = self.syntax.expression(*value);
                    self.constant(&self.syntax.name(*value), *value, &expression);
                }
                Stmt::If(i) => self.if_(i),
                Stmt::Loop(l) => self.loop_(l),
            }
        }
    }

    /// Defines a constant with the type of `value`.
    pub fn constant(&mut self, name: &str, value: Value, expression: &str) {
        self.line(&format!("const {} {name} = {expression};", self.type_of(value)));
    }

    fn type_of(&self, value: Value) -> &'static str {
        self.syntax.type_of(self.syntax.scope().function.ty(value))
    }

    fn declare(&mut self, values: &[Value]) {
        for &value in values {
            self.line(&format!("{} {};", self.type_of(value), self.syntax.name(value)));
        }
    }

    fn assign(&mut self, to: &[Value], from: &[Value]) {
        for (&to, &from) in std::iter::zip(to, from).filter(|(to, from)| to != from) {
            self.line(&format!("{} = {};", self.syntax.name(to), self.syntax.name(from)));
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
        self.arm(&format!("if ({}) {{", self.syntax.condition(i.cond)), &i.then, &i.results);
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
                self.syntax.name(param),
                self.syntax.name(init)
            ));
        }
        self.declare(&l.results);
        self.line("for (;;) {");
        self.indent += 1;
        self.stmts(&l.head);
        self.line(&format!("if (!{}) {{", self.syntax.condition(l.cond)));
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

    /// Assigns all loop parameters in parallel: reads parameters that are assigned to others first.
    fn next(&mut self, l: &Loop) {
        let is_permuted =
            |k: usize| l.body.yields[k] != l.params[k] && l.params.contains(&l.body.yields[k]);
        for (k, &param) in l.params.iter().enumerate().filter(|&(k, _)| is_permuted(k)) {
            let name = format!("next_{}", self.syntax.name(param));
            self.constant(&name, param, &self.syntax.name(l.body.yields[k]));
        }
        for (k, (&param, &next)) in std::iter::zip(&l.params, &l.body.yields).enumerate() {
            if is_permuted(k) {
                self.line(&format!("{0} = next_{0};", self.syntax.name(param)));
            } else {
                self.assign(&[param], &[next]);
            }
        }
    }
}
