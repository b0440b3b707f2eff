//! The IR verifier: checks that every value is defined once and used only in scope, and that types
//! and counts match.

use super::function::{Block, Def, Function, If, Loop, Port, Stmt, Value};
use super::op::Op;
use super::types::Type;
use rustc_hash::FxHashSet;

/// A violated invariant of a function, with its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, `{text}`: {message}")]
pub struct VerifyError {
    /// Line of the function's [text](super::text), from 1.
    pub line: usize,
    /// Text of the line.
    pub text: String,
    /// The problem. Values are named as in the text.
    pub message: String,
}

/// Verifies the invariants of every function.
pub fn verify(function: &Function) -> Result<(), VerifyError> {
    check(function, false)
}

/// Verifies a function returned by [`passes::lower`](crate::passes::lower). In addition to the
/// invariants of every function, operations are basic; conditions of ifs and loops are results of
/// `any`, which are used for nothing else; and shift amounts are constants.
pub fn verify_lowered(function: &Function) -> Result<(), VerifyError> {
    check(function, true)
}

fn check(function: &Function, lowered: bool) -> Result<(), VerifyError> {
    let count = function.len();
    let mut verifier = Verifier {
        function,
        lowered,
        line: 1,
        defined: vec![false; count],
        in_scope: vec![false; count],
        scope: vec![],
    };
    verifier.function().map_err(|message| {
        let text = function.to_string();
        let line = verifier.line;
        VerifyError {
            line,
            text: text.lines().nth(line - 1).unwrap_or_default().trim().to_owned(),
            message,
        }
    })
}

/// Walks a function in the order of its text.
struct Verifier<'a> {
    function: &'a Function,
    lowered: bool,
    /// Current line of the text.
    line: usize,
    defined: Vec<bool>,
    in_scope: Vec<bool>,
    /// Values in scope, in order of definition.
    scope: Vec<Value>,
}

/// `Err` is a message about the violation.
type Check = Result<(), String>;

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(message()) }
}

impl Verifier<'_> {
    fn function(&mut self) -> Check {
        let function = self.function;
        distinct(&function.inputs, "inputs")?;
        distinct(&function.outputs, "outputs")?;
        self.values()?;
        self.line += 1;
        self.stmts(&function.body)?;
        self.count(function.body.yields.len(), function.outputs.len(), "output")?;
        for (&value, port) in std::iter::zip(&function.body.yields, &function.outputs) {
            self.operand(value, port.ty, || format!("output `{}`", port.name))?;
        }
        Ok(())
    }

    /// Checks inputs and constants, which are in scope everywhere.
    fn values(&mut self) -> Check {
        let mut inputs = vec![0; self.function.inputs.len()];
        for (index, data) in self.function.values.iter().enumerate() {
            match data.def {
                Def::Input(input) => {
                    let port = self.function.inputs.get(input as usize);
                    let port = port.ok_or_else(|| {
                        format!("a value refers to input {input}, which does not exist")
                    })?;
                    ensure(port.ty == data.ty, || {
                        format!(
                            "input `{}` of type {} has a value of type {}",
                            port.name, port.ty, data.ty
                        )
                    })?;
                    inputs[input as usize] += 1;
                }
                Def::Const(bits) => {
                    ensure(data.ty != Type::Bool || bits == 0 || bits == !0, || {
                        format!("a bool constant has the bits {bits:#x}")
                    })?;
                }
                Def::Op { .. } | Def::Param | Def::Result => continue,
            }
            self.in_scope[index] = true;
        }
        for (port, &count) in std::iter::zip(&self.function.inputs, &inputs) {
            ensure(count == 1, || {
                format!("input `{}` has {count} values instead of one", port.name)
            })?;
        }
        Ok(())
    }

    fn name(&self, value: Value) -> String {
        super::text::name(self.function, value)
    }

    fn ty(&self, value: Value) -> Result<Type, String> {
        self.function
            .values
            .get(value.index())
            .map(|data| data.ty)
            .ok_or_else(|| format!("value {} does not exist", value.0))
    }

    /// Checks that a value is in scope; returns its type.
    fn use_value(&self, value: Value) -> Result<Type, String> {
        let ty = self.ty(value)?;
        ensure(self.in_scope[value.index()], || format!("{} is not in scope", self.name(value)))?;
        Ok(ty)
    }

    /// Checks the use of a value as an operand, and its type. `role` describes the operand.
    fn operand(&self, value: Value, expected: Type, role: impl Fn() -> String) -> Check {
        let ty = self.use_value(value)?;
        ensure(ty == expected, || {
            format!("{} must be {expected}, but {} is {ty}", role(), self.name(value))
        })?;
        ensure(!(self.lowered && self.is_any(value)), || {
            format!(
                "{} must not be {}: results of `any` may only be conditions",
                role(),
                self.name(value)
            )
        })
    }

    fn is_any(&self, value: Value) -> bool {
        matches!(self.function.operation(value), Some((Op::Any, _)))
    }

    fn condition(&self, value: Value) -> Check {
        let ty = self.use_value(value)?;
        ensure(ty == Type::Bool, || {
            format!("the condition must be bool, but {} is {ty}", self.name(value))
        })?;
        ensure(!self.lowered || self.is_any(value), || {
            format!("the condition {} must be a result of `any`", self.name(value))
        })
    }

    fn count(&self, found: usize, expected: usize, role: &str) -> Check {
        ensure(found == expected, || {
            format!("wrong number of {role}s: expected {expected}, found {found}")
        })
    }

    /// Checks values that flow to parameters or results, which must have the same types.
    fn flow(&self, from: &[Value], to: &[Value], role: &str) -> Check {
        self.count(from.len(), to.len(), role)?;
        for (&from, &to) in std::iter::zip(from, to) {
            let expected = self.ty(to)?;
            self.operand(from, expected, || format!("the value of {role} {}", self.name(to)))?;
        }
        Ok(())
    }

    /// Brings a value into scope, at its definition. `role` names the expected definition.
    fn define(&mut self, value: Value, role: &str, matches: impl Fn(Def) -> bool) -> Check {
        self.ty(value)?;
        ensure(matches(self.function.def(value)), || {
            format!("{} is not {role}", self.name(value))
        })?;
        let defined = std::mem::replace(&mut self.defined[value.index()], true);
        ensure(!defined, || format!("{} is defined twice", self.name(value)))?;
        self.in_scope[value.index()] = true;
        self.scope.push(value);
        Ok(())
    }

    fn stmts(&mut self, block: &Block) -> Check {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => self.op(*value)?,
                Stmt::If(i) => self.if_(i)?,
                Stmt::Loop(l) => self.loop_(l)?,
            }
        }
        Ok(())
    }

    fn op(&mut self, value: Value) -> Check {
        self.ty(value)?;
        let Def::Op { op, args: padded } = self.function.def(value) else {
            return Err(format!("{} is not defined by an operation", self.name(value)));
        };
        ensure(!(self.lowered && op.is_composite()), || {
            format!("`{}` is a composite operation, but the function is lowered", op.name())
        })?;
        let (args, unused) = padded.split_at(op.arity());
        ensure(unused.iter().all(|&arg| arg == args[0]), || {
            format!("unused arguments of `{}` must repeat the first", op.name())
        })?;
        let signature = op.signature();
        let mut any = None;
        for (k, (&arg, ty)) in std::iter::zip(args, signature.args).enumerate() {
            let found = self.use_value(arg)?;
            let expected = ty.unwrap_or_else(|| *any.get_or_insert(found));
            self.operand(arg, expected, || format!("argument {} of `{}`", k + 1, op.name()))?;
        }
        let (expected, found) = (signature.result.or(any), self.ty(value)?);
        ensure(expected == Some(found), || {
            format!(
                "{} is {found}, which is not the result type of `{}`",
                self.name(value),
                op.name()
            )
        })?;
        if op.is_load() {
            let first = self.function.constant(args[0]);
            let first =
                first.ok_or_else(|| format!("the table of `{}` is not a constant", op.name()))?;
            ensure(op.table(first).is_some(), || {
                format!("{first} does not identify a table for `{}`", op.name())
            })?;
        }
        if self.lowered && matches!(op, Op::Shl | Op::LShr | Op::AShr) {
            ensure(self.function.constant(args[1]).is_some(), || {
                format!("the amount of `{}` is not a constant", op.name())
            })?;
        }
        self.define(value, "defined by an operation", |_| true)?;
        self.line += 1;
        Ok(())
    }

    fn if_(&mut self, i: &If) -> Check {
        self.condition(i.cond)?;
        for arm in [&i.then, &i.otherwise] {
            self.line += 1;
            let mark = self.scope.len();
            self.stmts(arm)?;
            self.flow(&arm.yields, &i.results, "result")?;
            self.leave(mark);
            self.line += 1;
        }
        self.results(&i.results)
    }

    fn loop_(&mut self, l: &Loop) -> Check {
        self.flow(&l.init, &l.params, "parameter")?;
        let mark = self.scope.len();
        for &param in &l.params {
            self.define(param, "a parameter", |def| def == Def::Param)?;
        }
        self.line += 1;
        self.stmts(&l.head)?;
        self.condition(l.cond)?;
        self.flow(&l.head.yields, &l.results, "result")?;
        self.line += 1;
        self.stmts(&l.body)?;
        self.flow(&l.body.yields, &l.params, "parameter")?;
        self.leave(mark);
        self.line += 1;
        self.results(&l.results)
    }

    /// Checks results, and advances past the line with the closing brace.
    fn results(&mut self, results: &[Value]) -> Check {
        for &result in results {
            self.define(result, "a result", |def| def == Def::Result)?;
        }
        self.line += 1;
        Ok(())
    }

    /// Removes the values defined since `mark` from the scope.
    fn leave(&mut self, mark: usize) {
        for value in self.scope.drain(mark..) {
            self.in_scope[value.index()] = false;
        }
    }
}

/// Checks that the names of ports are distinct.
fn distinct(ports: &[Port], role: &str) -> Check {
    let mut names = FxHashSet::default();
    let duplicate = ports.iter().find(|port| !names.insert(&port.name));
    duplicate.map_or(Ok(()), |port| Err(format!("two {role} are named `{}`", port.name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    /// Values are %0 … %9 in order of appearance.
    const SAMPLE: &str = "fn f(a: f32, i: i32) -> (r: f32, n: i32) {
  %0 = lt a, 0.5
  %1, %2 = if %0 {
    %3 = exp a
    yield %3, 1
  } else {
    yield a, i
  }
  %4 = loop (%5: f32 = %1, %6: i32 = 0) {
    %7 = slt %6, 64
    while %7 else %5
    %8 = mul %5, %5
    %9 = iadd %6, %2
    next %8, %9
  }
  return %4, %2
}
";

    fn value(function: &Function, number: usize) -> Value {
        let value = (0..function.len() as u32)
            .map(Value)
            .find(|&v| super::super::text::name(function, v) == format!("%{number}"));
        value.expect("the sample has the value")
    }

    fn statement(function: &mut Function, index: usize) -> &mut Stmt {
        &mut function.body.stmts[index]
    }

    fn if_(function: &mut Function) -> &mut If {
        let Stmt::If(i) = statement(function, 1) else { unreachable!() };
        i
    }

    fn loop_(function: &mut Function) -> &mut Loop {
        let Stmt::Loop(l) = statement(function, 2) else { unreachable!() };
        l
    }

    /// The verifier's message for the sample after an invalid change.
    fn violation<R>(change: impl FnOnce(&mut Function, &dyn Fn(usize) -> Value) -> R) -> String {
        let original = parse(SAMPLE).unwrap();
        let mut function = original.clone();
        change(&mut function, &|number| value(&original, number));
        verify(&function).expect_err("the change is invalid").to_string()
    }

    fn set_arg(function: &mut Function, value: Value, k: usize, arg: Value) {
        let Def::Op { args, .. } = &mut function.values[value.index()].def else { unreachable!() };
        args[k] = arg;
    }

    #[test]
    fn uses_must_be_in_scope() {
        assert_eq!(
            violation(|f, v| f.body.yields[0] = v(3)),
            "line 16, `return %3, %2`: %3 is not in scope"
        );
        assert_eq!(
            violation(|f, v| f.body.yields[0] = v(5)),
            "line 16, `return %5, %2`: %5 is not in scope"
        );
        assert_eq!(
            violation(|f, v| f.body.yields[0] = v(8)),
            "line 16, `return %8, %2`: %8 is not in scope"
        );
        assert_eq!(
            violation(|f, v| if_(f).otherwise.yields[0] = v(3)),
            "line 7, `yield %3, i`: %3 is not in scope"
        );
        assert_eq!(
            violation(|f, v| loop_(f).head.yields[0] = v(8)),
            "line 11, `while %7 else %8`: %8 is not in scope"
        );
        assert_eq!(
            violation(|f, v| loop_(f).init[0] = v(5)),
            "line 9, `%4 = loop (%5: f32 = %5, %6: i32 = 0) {`: %5 is not in scope"
        );
        assert_eq!(
            violation(|f, v| set_arg(f, v(8), 1, v(4))),
            "line 12, `%8 = mul %5, %4`: %4 is not in scope"
        );
        assert_eq!(
            violation(|f, v| set_arg(f, v(8), 1, v(8))),
            "line 12, `%8 = mul %5, %8`: %8 is not in scope"
        );
        assert_eq!(
            violation(|f, _| f.body.yields[0] = Value(99)),
            "line 16, `return %undefined99, %2`: value 99 does not exist"
        );
        assert_eq!(
            violation(|f, _| f.body.stmts.remove(0)),
            "line 2, `%0, %1 = if %undefined3 {`: %undefined3 is not in scope"
        );
        // The body of a loop is in the scope of its head.
        let mut function = parse(SAMPLE).unwrap();
        let (select, one) = (value(&function, 8), value(&function, 5));
        function.values[select.index()].def =
            Def::Op { op: Op::Select, args: [value(&function, 7), one, one] };
        verify(&function).unwrap();
    }

    #[test]
    fn values_must_be_defined_once() {
        assert_eq!(
            violation(|f, v| f.body.stmts.push(Stmt::Op(v(0)))),
            "line 16, `%0 = lt a, 0.5`: %0 is defined twice"
        );
        assert_eq!(
            violation(|f, v| if_(f).otherwise.stmts.push(Stmt::Op(v(3)))),
            "line 7, `%3 = exp a`: %3 is defined twice"
        );
        assert_eq!(
            violation(|f, v| f.body.stmts.push(Stmt::Op(v(1)))),
            "line 16, `%1 = ?`: %1 is not defined by an operation"
        );
        assert_eq!(
            violation(|f, v| loop_(f).results[0] = v(5)),
            "line 15, `}`: %4 is not a result"
        );
        assert_eq!(
            violation(|f, v| loop_(f).results[0] = v(1)),
            "line 15, `}`: %1 is defined twice"
        );
        assert!(violation(|f, v| loop_(f).params[0] = v(1)).ends_with("%1 is not a parameter"));
        let twice = violation(|f, v| {
            let ty = f.ty(v(6));
            f.values[v(5).index()].ty = ty;
            loop_(f).params[0] = v(6);
            let zero = loop_(f).init[1];
            loop_(f).init[0] = zero;
        });
        assert!(twice.ends_with("%5 is defined twice"), "{twice}");
    }

    #[test]
    fn types_must_match() {
        assert_eq!(
            violation(|f, v| set_arg(f, v(8), 1, v(6))),
            "line 12, `%8 = mul %5, %6`: argument 2 of `mul` must be f32, but %6 is i32"
        );
        assert_eq!(
            violation(|f, v| f.values[v(8).index()].ty = Type::I32),
            "line 12, `%8 = mul %5, %5`: %8 is i32, which is not the result type of `mul`"
        );
        let select = violation(|f, v| {
            f.values[v(8).index()].def = Def::Op { op: Op::Select, args: [v(7), v(5), v(6)] }
        });
        assert_eq!(
            select,
            "line 12, `%8 = select %7, %5, %6`: argument 3 of `select` must be f32, but %6 is i32"
        );
        let select = violation(|f, v| {
            f.values[v(8).index()].def = Def::Op { op: Op::Select, args: [v(7), v(6), v(6)] }
        });
        assert_eq!(
            select,
            "line 12, `%8 = select %7, %6, %6`: %8 is f32, which is not the result type of `select`"
        );
        assert_eq!(
            violation(|f, v| f.body.yields[1] = v(4)),
            "line 16, `return %4, %4`: output `n` must be i32, but %4 is f32"
        );
        assert_eq!(
            violation(|f, v| if_(f).cond = v(4)),
            "line 3, `%1, %2 = if %4 {`: %4 is not in scope"
        );
        assert_eq!(
            violation(|f, _| if_(f).cond = Value(0)),
            "line 3, `%1, %2 = if a {`: the condition must be bool, but a is f32"
        );
        assert_eq!(
            violation(|f, v| loop_(f).cond = v(5)),
            "line 11, `while %5 else %5`: the condition must be bool, but %5 is f32"
        );
        let next = violation(|f, v| loop_(f).body.yields[1] = v(8));
        assert_eq!(
            next,
            "line 14, `next %8, %8`: the value of parameter %6 must be i32, but %8 is f32"
        );
        let arm = violation(|f, _| if_(f).then.yields[0] = Value(1));
        assert_eq!(arm, "line 5, `yield i, 1`: the value of result %1 must be f32, but i is i32");
    }

    #[test]
    fn counts_must_match() {
        assert_eq!(
            violation(|f, _| f.body.yields.pop()),
            "line 16, `return %4`: wrong number of outputs: expected 2, found 1"
        );
        assert_eq!(
            violation(|f, _| if_(f).then.yields.pop()),
            "line 5, `yield %3`: wrong number of results: expected 2, found 1"
        );
        assert_eq!(
            violation(|f, v| if_(f).otherwise.yields.push(v(0))),
            "line 7, `yield a, i, %0`: wrong number of results: expected 2, found 3"
        );
        assert_eq!(
            violation(|f, _| loop_(f).head.yields.pop()),
            "line 11, `while %7`: wrong number of results: expected 1, found 0"
        );
        assert_eq!(
            violation(|f, _| loop_(f).body.yields.pop()),
            "line 14, `next %8`: wrong number of parameters: expected 2, found 1"
        );
        assert!(
            violation(|f, _| loop_(f).init.pop())
                .ends_with("wrong number of parameters: expected 2, found 1")
        );
        let arity = violation(|f, v| set_arg(f, v(8), 2, v(1)));
        assert_eq!(
            arity,
            "line 12, `%8 = mul %5, %5`: unused arguments of `mul` must repeat the first"
        );
    }

    #[test]
    fn ports_must_match() {
        assert!(
            violation(|f, _| f.inputs[1].name = "a".to_owned())
                .ends_with("two inputs are named `a`")
        );
        assert!(
            violation(|f, _| f.outputs[1].name = "r".to_owned())
                .ends_with("two outputs are named `r`")
        );
        assert!(
            violation(|f, _| f.inputs[1].ty = Type::F32)
                .ends_with("input `i` of type f32 has a value of type i32")
        );
        assert!(
            violation(|f, _| f.inputs.pop())
                .ends_with("a value refers to input 1, which does not exist")
        );
        assert!(
            violation(|f, _| f.inputs.push(Port { name: "b".to_owned(), ty: Type::F32 }))
                .ends_with("input `b` has 0 values instead of one")
        );
        let bits = violation(|f, _| {
            f.values.push(super::super::function::ValueData {
                ty: Type::Bool,
                def: Def::Const(1),
                origin: None,
            })
        });
        assert!(bits.ends_with("a bool constant has the bits 0x1"));
    }

    #[test]
    fn lowered_functions_must_consist_of_basic_operations() {
        let lowered = |line: &str| {
            let text = format!(
                "fn f(a: f32, i: i32, c: bool) -> (r: f32, d: bool) {{
                   %any = any c
                   {line}
                   %r = if %any {{ %b = mul a, a yield %b }} else {{ yield a }}
                   return %r, c
                 }}"
            );
            verify_lowered(&parse(&text).unwrap()).map_err(|error| error.message)
        };
        lowered("%x = shl i, 3").unwrap();
        assert_eq!(
            lowered("%x = exp a").unwrap_err(),
            "`exp` is a composite operation, but the function is lowered"
        );
        assert_eq!(lowered("%x = shl i, i").unwrap_err(), "the amount of `shl` is not a constant");
        assert_eq!(
            lowered("%x = bnot %any").unwrap_err(),
            "argument 1 of `bnot` must not be %0: results of `any` may only be conditions"
        );
        assert_eq!(
            lowered("%x = if c { yield a } else { yield a }").unwrap_err(),
            "the condition c must be a result of `any`"
        );
        assert_eq!(
            lowered("loop () { while c next }").unwrap_err(),
            "the condition c must be a result of `any`"
        );
        let yields = "%x = if %any { yield %any } else { yield c }";
        assert_eq!(
            lowered(yields).unwrap_err(),
            "the value of result %1 must not be %0: results of `any` may only be conditions"
        );
    }

    #[test]
    fn tables_must_be_constants() {
        let read = |table: &str| {
            let text = format!(
                "fn f(i: i32) -> (r: i32) {{\n  %word = load {table}, i\n  return %word\n}}"
            );
            parse(&text).map(drop).map_err(|error| error.message)
        };
        let look_up = |access: u32| {
            let text = format!(
                "fn f(u: f32) -> (x: f32) {{\n  %x = texel {access}, u, u\n  return %x\n}}"
            );
            parse(&text).map(drop).map_err(|error| error.message)
        };
        read("0").unwrap();
        assert_eq!(read("i").unwrap_err(), "the table of `load` is not a constant");
        assert_eq!(read("65536").unwrap_err(), "65536 does not identify a table for `load`");
        look_up(65536 + 7).unwrap();
        assert_eq!(look_up(3 << 18).unwrap_err(), "786432 does not identify a table for `texel`");
    }
}
