//! Control flow: statements become structured blocks without early exits.
//!
//! Translating a sequence of steps returns its [`Flow`]: the conditions under which control leaves
//! it by `return`, `break` or `continue`. The steps after an early exit run only if it is not
//! taken. If one arm of an `if` always exits, these steps move into the other arm:
//! `if c { return a; } rest` becomes `if c { return a; } else { rest }`. Otherwise they get an `if`
//! of their own.
//!
//! Arms are merged in [`super::arms`]; loops are in [`super::loops`].

use super::arms::Arm;
use super::effects::never_falls_through;
use super::exits::{
    BREAK, CONTINUE, ExitCondition, Flow, NO_EXIT, RETURN, any_exit, exit_if, unconditional_exit,
};
use super::translate::{Fault, Frame, Operand, Translator};
use crate::ir::{self, Value};
use naga::{Block, Expression, Handle, Span, Statement};

/// One step of a sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'m> {
    /// A statement other than a block.
    Statement(&'m Statement, Span),
    /// Leaves the loop if the condition holds.
    BreakIf(Handle<Expression>),
}

/// Returns the steps of a block, with nested blocks flattened.
pub(super) fn steps_of(block: &Block) -> Vec<Step<'_>> {
    let mut steps = Vec::with_capacity(block.len());
    let mut open = vec![block.span_iter()];
    while let Some(iter) = open.last_mut() {
        match iter.next() {
            Some((Statement::Block(block), _)) => open.push(block.span_iter()),
            Some((statement, &span)) => steps.push(Step::Statement(statement, span)),
            None => {
                open.pop();
            }
        }
    }
    steps
}

impl<'m> Translator<'m> {
    /// Translates a function's body.
    pub fn body(&mut self, frame: &mut Frame<'m>, block: &'m Block) -> Result<(), Fault> {
        self.sequence(frame, &steps_of(block), true).map(drop)
    }

    /// Translates steps in order. `tail` is true if the call ends after them, so that its variables
    /// are dead.
    pub(super) fn sequence(
        &mut self,
        frame: &mut Frame<'m>,
        steps: &[Step<'m>],
        tail: bool,
    ) -> Result<Flow, Fault> {
        self.descend()?;
        let flow = self.sequence_at_depth(frame, steps, tail)?;
        self.depth -= 1;
        Ok(flow)
    }

    fn sequence_at_depth(
        &mut self,
        frame: &mut Frame<'m>,
        steps: &[Step<'m>],
        tail: bool,
    ) -> Result<Flow, Fault> {
        for (k, step) in steps.iter().enumerate() {
            let rest = &steps[k + 1..];
            let flow = match *step {
                Step::BreakIf(condition) => {
                    let condition = self.scalar(frame, condition)?;
                    [ExitCondition::Never, exit_if(&self.builder, condition), ExitCondition::Never]
                }
                Step::Statement(statement, span) => {
                    if span.is_defined() {
                        self.span = span;
                    }
                    self.charge(1)?;
                    match statement {
                        Statement::If { condition, accept, reject } => {
                            let condition = self.scalar(frame, *condition)?;
                            match self.branch(frame, condition, [accept, reject], rest, tail)? {
                                (flow, true) => return Ok(flow),
                                (flow, false) => flow,
                            }
                        }
                        _ => self.statement(frame, statement, tail && rest.is_empty())?,
                    }
                }
            };
            if flow != NO_EXIT {
                return self.guarded(frame, flow, rest, tail);
            }
        }
        Ok(NO_EXIT)
    }

    fn statement(
        &mut self,
        frame: &mut Frame<'m>,
        statement: &'m Statement,
        tail: bool,
    ) -> Result<Flow, Fault> {
        match statement {
            Statement::Emit(range) => {
                for expression in range.clone() {
                    self.evaluate(frame, expression)?;
                }
            }
            Statement::Store { pointer, value: stored } => {
                let value = self.value(frame, *stored)?;
                if let Expression::LocalVariable(variable) = frame.expressions[*pointer]
                    && let Some(function) = frame.function
                    && let Some(name) = &function.local_variables[variable].name
                {
                    self.record_name(frame, *stored, value, name);
                }
                match self.operand(frame, *pointer)? {
                    Operand::Pointer(pointer) => self.store(pointer, value)?,
                    _ => return Err(self.statement_fault("this cannot be assigned in a material")),
                }
            }
            Statement::Call { function, arguments, result } => {
                let mut args = Vec::with_capacity(arguments.len());
                for &argument in arguments {
                    args.push(self.operand(frame, argument)?);
                }
                let span = self.span;
                self.descend()?;
                let value = self.inline(*function, args)?;
                self.depth -= 1;
                self.span = span;
                if let Some(result) = result {
                    self.record_let(frame, *result, value);
                    frame.operands[result.index()] = Operand::Leaves(value);
                }
            }
            Statement::Return { value } => {
                if let Some(value) = *value {
                    let value = self.value(frame, value)?;
                    for k in 0..frame.result.len {
                        let leaf = self.leaf(value, k as usize);
                        self.set(frame.result.start + k, leaf);
                    }
                }
                return Ok(unconditional_exit(RETURN));
            }
            Statement::Break => return Ok(unconditional_exit(BREAK)),
            Statement::Continue => return Ok(unconditional_exit(CONTINUE)),
            Statement::Switch { selector, cases } => {
                return self.switch(frame, *selector, cases, tail);
            }
            Statement::Loop { body, continuing, break_if } => {
                return self.translate_loop(frame, [body, continuing], *break_if);
            }
            Statement::Block(_) | Statement::If { .. } => unreachable!("handled in `sequence`"),
            Statement::Kill => {
                return Err(self.statement_fault("`discard` cannot be used in a material"));
            }
            Statement::ControlBarrier(_) | Statement::MemoryBarrier(_) => {
                return Err(self.statement_fault("barriers cannot be used in a material"));
            }
            Statement::Atomic { .. }
            | Statement::ImageAtomic { .. }
            | Statement::WorkGroupUniformLoad { .. } => {
                return Err(self.statement_fault(
                    "atomics and workgroup variables cannot be used in a material",
                ));
            }
            Statement::ImageStore { .. } => {
                return Err(self.statement_fault("images cannot be written in a material"));
            }
            _ => return Err(self.statement_fault("this statement cannot be used in a material")),
        }
        Ok(NO_EXIT)
    }

    fn statement_fault(&self, message: &str) -> Fault {
        let help = "a material only computes a value from its arguments";
        Fault { message: message.to_owned(), span: self.span, help: Some(help.to_owned()) }
    }

    /// Translates `rest`, which runs only if no exit in `flow` is taken.
    pub(super) fn guarded(
        &mut self,
        frame: &mut Frame<'m>,
        flow: Flow,
        rest: &[Step<'m>],
        tail: bool,
    ) -> Result<Flow, Fault> {
        let condition = match any_exit(&mut self.builder, &flow) {
            ExitCondition::Never => return self.sequence(frame, rest, tail),
            ExitCondition::Always => return Ok(flow),
            ExitCondition::If(_) if rest.is_empty() => return Ok(flow),
            ExitCondition::If(condition) => condition,
        };
        // In the exit's arm, an exit under the same condition is always taken.
        let flow = flow.map(|exit| {
            if exit == ExitCondition::If(condition) { ExitCondition::Always } else { exit }
        });
        let exited = Arm {
            block: ir::Block::default(),
            changes: vec![],
            flow,
            carried: vec![Operand::Unevaluated; frame.carried.len()],
        };
        let rest = self.arm(frame, |translator, frame| translator.sequence(frame, rest, tail))?;
        Ok(self.join(frame, condition, [exited, rest], tail))
    }

    /// Translates an `if`. Also returns whether `rest`, the steps after it, moved into an arm.
    fn branch(
        &mut self,
        frame: &mut Frame<'m>,
        condition: Value,
        arms: [&'m Block; 2],
        rest: &[Step<'m>],
        tail: bool,
    ) -> Result<(Flow, bool), Fault> {
        if let Some(known) = self.builder.known_bool(condition) {
            let arm = if known { arms[0] } else { arms[1] };
            return Ok((self.sequence(frame, &steps_of(arm), tail && rest.is_empty())?, false));
        }
        let falls_through = arms.map(|arm| !never_falls_through(arm, 16));
        let moved = falls_through[0] != falls_through[1];
        let tail = tail && (moved || rest.is_empty());
        let mut translate = |block: &'m Block, falls_through: bool| {
            let mut steps = steps_of(block);
            if moved && falls_through {
                steps.extend(rest);
            }
            self.arm(frame, |translator, frame| translator.sequence(frame, &steps, tail))
        };
        let arms = [translate(arms[0], falls_through[0])?, translate(arms[1], falls_through[1])?];
        Ok((self.join(frame, condition, arms, tail), moved))
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::testing::{check, check_all, fault, shape, translate};
    use crate::ir::{Function, Op, Stmt};

    #[test]
    fn arms_of_ifs_are_merged() {
        let source = "fn f(x: i32) -> i32 {
            var a = 1;
            if x > 3 { a = x; } else if x > 0 { a = 10 * x; } else { }
            return a;
        }";
        check_all(source, -2..8, |x| match x {
            4.. => x,
            1.. => 10 * x,
            _ => 1,
        });
    }

    #[test]
    fn early_returns_become_selects_without_flags() {
        let source = "fn f(x: i32) -> i32 {
            if x < 0 { return -1; }
            if x > 10 { return 11; }
            return x * x;
        }";
        check_all(source, -3..14, |x| match x {
            ..0 => -1,
            11.. => 11,
            _ => x * x,
        });
        // One select for each `if` and nothing else, since the arms are cheap.
        let f = translate(source);
        let selects = |f: &Function| {
            f.body
                .stmts
                .iter()
                .filter(|stmt| match stmt {
                    Stmt::Op(value) => f.operation(*value).is_some_and(|(op, _)| op == Op::Select),
                    _ => false,
                })
                .count()
        };
        assert_eq!((shape(&f), selects(&f)), ([0; 3], 2));
    }

    #[test]
    fn returns_in_blocks_skip_the_rest() {
        let source = "fn f(x: i32) -> i32 {
            var a = x;
            if x > 0 {
                if x > 5 { if x > 7 { return 100; } a += 1; }
                a *= 2;
            }
            a += 3;
            return a;
        }";
        check_all(source, -2..12, |x| match x {
            8.. => 100,
            6.. => (x + 1) * 2 + 3,
            1.. => x * 2 + 3,
            _ => x + 3,
        });
    }

    #[test]
    fn constant_conditions_translate_one_arm() {
        let f = translate(
            "const on = true;
            fn g(x: i32, flag: bool) -> i32 { if flag { return x; } for (var i = 0; i < x; i++) {} return 0; }
            fn f(x: i32) -> i32 { if !on { return 5; } return g(x, on); }",
        );
        assert_eq!(shape(&f), [0; 3]);
        check(&f, &[7], &[7]);
    }

    #[test]
    fn unsupported_statements_are_rejected() {
        let (error, text) = fault("fn f(x: f32) -> f32 { if x > 0.0 { discard; } return x; }");
        assert_eq!(
            (&error.message[..], &text[..]),
            ("`discard` cannot be used in a material", "discard;")
        );
        let (error, _) = fault("fn f(x: f32) -> f32 { workgroupBarrier(); return x; }");
        assert_eq!(error.message, "barriers cannot be used in a material");
        let (error, text) = fault(
            "@group(0) @binding(0) var<storage, read_write> n: atomic<u32>; fn f(x: u32) -> u32 { atomicAdd(&n, x); return x; }",
        );
        assert_eq!(
            (error.message.contains("atomics"), &text[..]),
            (true, "atomicAdd"),
            "{error:?}"
        );
    }

    #[test]
    fn deep_nesting_is_rejected() {
        let returns: String =
            (0..400).map(|k| format!("if x == {k} {{ return {k} * 3; }} ")).collect();
        let (error, _) = fault(&format!("fn f(x: i32) -> i32 {{ {returns} return 0; }}"));
        assert!(error.message.contains("nest"), "{error:?}");
        let returns: String =
            (0..150).map(|k| format!("if x == {k} {{ return {k} * 3; }} ")).collect();
        check_all(&format!("fn f(x: i32) -> i32 {{ {returns} return 0; }}"), 0..160, |x| {
            if x < 150 { 3 * x } else { 0 }
        });
        let chain: String =
            (0..400).map(|k| format!("if x == {k} {{ a = {k} * 3; }} else ")).collect();
        let (error, _) =
            fault(&format!("fn f(x: i32) -> i32 {{ var a = 0; {chain} {{ a = 1; }} return a; }}"));
        assert!(error.message.contains("nest"), "{error:?}");
    }
}
