//! Prints syntax trees as WGSL. Floats have enough digits to round-trip.

use super::ast::{Expr, ExprKind, Function, Global, Member, Module, Stmt, Ty};
use std::fmt::{self, Display, Formatter, Write};

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.two_sided {
            f.write_str("//! sides: both\n\n")?;
        }
        if !self.members.is_empty() {
            f.write_str("struct Material {\n")?;
            self.members.iter().try_for_each(|member| write_member(f, member))?;
            f.write_str("}\n\n")?;
        }
        for global in &self.globals {
            write_global(f, global)?;
        }
        self.functions.iter().try_for_each(|function| write_function(f, function))
    }
}

fn write_member(
    f: &mut Formatter<'_>,
    Member { name, ty, range, default }: &Member,
) -> fmt::Result {
    let range = range.map(|range| format!("range: {range}"));
    let default = default.map(|default| format!("default: {default}"));
    let attributes: Vec<_> = [range, default].into_iter().flatten().collect();
    if !attributes.is_empty() {
        writeln!(f, "    /// {}", attributes.join(", "))?;
    }
    writeln!(f, "    {name}: {ty},")
}

fn write_global(f: &mut Formatter<'_>, global: &Global) -> fmt::Result {
    match global {
        Global::Const(name, value) => writeln!(f, "const {name} = {};", Unparenthesized(value)),
        Global::Override(name, value) => {
            writeln!(f, "override {name}: {} = {};", value.ty, Unparenthesized(value))
        }
        Global::Private(name, value) => {
            writeln!(f, "var<private> {name}: {} = {};", value.ty, Unparenthesized(value))
        }
        Global::Texture(name) => writeln!(f, "var {name}: {};", Ty::Texture),
        Global::Sampler(name) => writeln!(f, "var {name}: {};", Ty::Sampler),
        Global::Struct(name, members) => {
            writeln!(f, "struct {name} {{")?;
            members.iter().try_for_each(|(name, ty)| writeln!(f, "    {name}: {ty},"))?;
            f.write_str("}\n")
        }
    }
}

fn write_function(f: &mut Formatter<'_>, function: &Function) -> fmt::Result {
    let parameters = function.parameters.iter().map(|parameter| match parameter.is_pointer {
        true => format!("{}: ptr<function, {}>", parameter.name, parameter.ty),
        false => format!("{}: {}", parameter.name, parameter.ty),
    });
    let parameters: Vec<_> = parameters.collect();
    writeln!(f, "\nfn {}({}) -> {} {{", function.name, parameters.join(", "), function.result)?;
    write_block(f, &function.body, 1)?;
    f.write_str("}\n")
}

fn write_block(f: &mut Formatter<'_>, block: &[Stmt], depth: usize) -> fmt::Result {
    block.iter().try_for_each(|stmt| write_stmt(f, stmt, depth))
}

fn write_stmt(f: &mut Formatter<'_>, stmt: &Stmt, depth: usize) -> fmt::Result {
    let indent = "    ".repeat(depth);
    f.write_str(&indent)?;
    match stmt {
        Stmt::Let(name, value) => writeln!(f, "let {name} = {};", Unparenthesized(value)),
        Stmt::Var(name, value) => {
            writeln!(f, "var {name}: {} = {};", value.ty, Unparenthesized(value))
        }
        Stmt::Assign(target, op, value) => writeln!(f, "{target} {op} {};", Unparenthesized(value)),
        Stmt::Return(value) => writeln!(f, "return {};", Unparenthesized(value)),
        Stmt::Break => f.write_str("break;\n"),
        Stmt::Continue => f.write_str("continue;\n"),
        Stmt::If(condition, then, otherwise) => {
            writeln!(f, "if ({}) {{", Unparenthesized(condition))?;
            write_block(f, then, depth + 1)?;
            if !otherwise.is_empty() {
                writeln!(f, "{indent}}} else {{")?;
                write_block(f, otherwise, depth + 1)?;
            }
            writeln!(f, "{indent}}}")
        }
        Stmt::For(name, from, condition, body) => {
            writeln!(
                f,
                "for (var {name} = {}; {}; {name}++) {{",
                Unparenthesized(from),
                Unparenthesized(condition)
            )?;
            write_block(f, body, depth + 1)?;
            writeln!(f, "{indent}}}")
        }
        Stmt::While(condition, body) => {
            writeln!(f, "while ({}) {{", Unparenthesized(condition))?;
            write_block(f, body, depth + 1)?;
            writeln!(f, "{indent}}}")
        }
        Stmt::Loop(body, continuing, until) => {
            f.write_str("loop {\n")?;
            write_block(f, body, depth + 1)?;
            writeln!(f, "{indent}    continuing {{")?;
            write_block(f, continuing, depth + 2)?;
            writeln!(
                f,
                "{indent}        break if {};\n{indent}    }}\n{indent}}}",
                Unparenthesized(until)
            )
        }
        Stmt::Switch(selector, cases, default) => {
            writeln!(f, "switch {} {{", Unparenthesized(selector))?;
            for (values, body) in cases {
                let values: Vec<_> = values
                    .iter()
                    .map(|&x| Expr::new(selector.ty, ExprKind::Int(x)).to_string())
                    .collect();
                writeln!(f, "{indent}    case {} {{", values.join(", "))?;
                write_block(f, body, depth + 2)?;
                writeln!(f, "{indent}    }}")?;
            }
            writeln!(f, "{indent}    default {{")?;
            write_block(f, default, depth + 2)?;
            writeln!(f, "{indent}    }}\n{indent}}}")
        }
    }
}

/// Displays an expression without parentheses around it.
struct Unparenthesized<'a>(&'a Expr);

impl Display for Unparenthesized<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let ExprKind::Binary(op, a, b) = &self.0.kind else { return self.0.fmt(f) };
        let is_product = |expr: &Expr| matches!(expr.kind, ExprKind::Binary("*" | "/", ..));
        match *op {
            "+" | "-" if matches!(a.kind, ExprKind::Binary("+" | "-" | "*" | "/", ..)) => {
                Unparenthesized(a).fmt(f)?
            }
            "*" if is_product(a) => Unparenthesized(a).fmt(f)?,
            _ => a.fmt(f)?,
        }
        write!(f, " {op} ")?;
        if matches!(*op, "+" | "-") && is_product(b) { Unparenthesized(b).fmt(f) } else { b.fmt(f) }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Float(x) if x.is_sign_negative() => write!(f, "({x:?})"),
            ExprKind::Float(x) => write!(f, "{x:?}"),
            ExprKind::Int(x) if self.ty == Ty::U32 => write!(f, "{x}u"),
            ExprKind::Int(x) if *x < 0 => write!(f, "({x})"),
            ExprKind::Int(x) => write!(f, "{x}"),
            ExprKind::Bool(x) => write!(f, "{x}"),
            ExprKind::Name(name) => f.write_str(name),
            ExprKind::Member(base, name) => match base.kind {
                ExprKind::Unary(..) => write!(f, "({base}).{name}"),
                _ => write!(f, "{base}.{name}"),
            },
            ExprKind::Index(base, index) => match base.kind {
                ExprKind::Unary(..) => write!(f, "({base})[{}]", Unparenthesized(index)),
                _ => write!(f, "{base}[{}]", Unparenthesized(index)),
            },
            ExprKind::Unary(op, operand) => match operand.kind {
                ExprKind::Unary(..) => write!(f, "{op}({operand})"),
                _ => write!(f, "{op}{operand}"),
            },
            ExprKind::Binary(..) => write!(f, "({})", Unparenthesized(self)),
            ExprKind::Call(name, args) => {
                write!(f, "{name}(")?;
                for (k, arg) in args.iter().enumerate() {
                    f.write_str(if k > 0 { ", " } else { "" })?;
                    // The arguments `a < b, c > d` would parse as a template list.
                    if arg.ty == Ty::Bool { arg.fmt(f)? } else { Unparenthesized(arg).fmt(f)? }
                }
                f.write_char(')')
            }
        }
    }
}
