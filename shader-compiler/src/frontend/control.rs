//! Control flow: statements become structured blocks without early exits.
//!
//! Every list of steps that is translated tells by its [`Flow`] whether, and under which
//! conditions, it was left by `return`, `break` or `continue`. What comes after a step that may
//! leave runs only where it did not: in the arm that goes on, where the other one always leaves
//! (`if c { return a; } rest` is `if c { return a; } else { rest }`), else in an if of its own.
//!
//! An arm is translated on the slots themselves, which are then set back; slots that the arms of an
//! if leave with different values are its results. Loops are in [`super::loops`].

use super::effects::never_ends;
use super::operators::not;
use super::translate::{Fault, Frame, Item, Translator};
use crate::ir::{self, Builder, Emit, Op, Value};
use naga::{Block, Expression, Handle, Span, Statement, SwitchValue};

/// One thing to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'m> {
    /// A statement that is no block.
    Statement(&'m Statement, Span),
    /// Leaves the loop if the condition holds.
    BreakIf(Handle<Expression>),
}

/// Whether something was left in some way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Never,
    Always,
    Where(Value),
}

/// Ways of leaving; no two at a time.
pub(super) const RETURN: usize = 0;
pub(super) const BREAK: usize = 1;
pub(super) const CONTINUE: usize = 2;

/// How steps were left, by way of leaving.
pub(super) type Flow = [Exit; 3];

/// Falls through to what is next.
const FALLS: Flow = [Exit::Never; 3];

fn leaves_by(way: usize) -> Flow {
    let mut flow = FALLS;
    flow[way] = Exit::Always;
    flow
}

/// What was made of an arm of an if.
struct Arm {
    block: ir::Block,
    /// Changed slots, sorted, and what they hold at the end.
    changes: Vec<(u32, Value)>,
    flow: Flow,
    /// What the frame's carried expressions are at the end.
    carried: Vec<Item>,
}

/// Cases of a switch that share steps; the default one comes last and has no test.
struct Cases<'m> {
    steps: Vec<Step<'m>>,
    test: Option<Value>,
}

/// Cases up to which a switch is a chain of ifs, beyond a tree of them.
const CHAIN: usize = 8;

/// Steps of a block, those of blocks within in their place.
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

pub(super) fn or(b: &mut Builder, x: Value, y: Value) -> Value {
    match (b.known_bool(x), b.known_bool(y)) {
        (Some(false), _) | (_, Some(true)) => y,
        (Some(true), _) | (_, Some(false)) => x,
        _ => b.op(Op::BOr, &[x, y]),
    }
}

/// Whether any of some ways was taken.
pub(super) fn left(b: &mut Builder, ways: &[Exit]) -> Exit {
    ways.iter().fold(Exit::Never, |left, &way| match (left, way) {
        (Exit::Always, _) | (_, Exit::Always) => Exit::Always,
        (Exit::Never, other) | (other, Exit::Never) => other,
        (Exit::Where(x), Exit::Where(y)) => Exit::Where(or(b, x, y)),
    })
}

pub(super) fn as_value(b: &mut Builder, exit: Exit) -> Value {
    match exit {
        Exit::Never => b.bool(false),
        Exit::Always => b.bool(true),
        Exit::Where(value) => value,
    }
}

fn as_exit(b: &Builder, value: Value) -> Exit {
    match b.known_bool(value) {
        Some(false) => Exit::Never,
        Some(true) => Exit::Always,
        None => Exit::Where(value),
    }
}

impl<'m> Translator<'m> {
    /// Translates a function's body.
    pub fn body(&mut self, frame: &mut Frame<'m>, block: &'m Block) -> Result<(), Fault> {
        self.sequence(frame, &steps_of(block), true).map(drop)
    }

    /// Translates steps one after the other. `tail`: the call ends with them, so that its variables
    /// are of no use afterwards.
    pub(super) fn sequence(
        &mut self,
        frame: &mut Frame<'m>,
        steps: &[Step<'m>],
        tail: bool,
    ) -> Result<Flow, Fault> {
        self.descend()?;
        let flow = self.sequence_here(frame, steps, tail)?;
        self.depth -= 1;
        Ok(flow)
    }

    fn sequence_here(
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
                    [Exit::Never, as_exit(&self.builder, condition), Exit::Never]
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
            if flow != FALLS {
                return self.guarded(frame, flow, rest, tail);
            }
        }
        Ok(FALLS)
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
            Statement::Store { pointer, value } => {
                let value = self.value(frame, *value)?;
                match self.item(frame, *pointer)? {
                    Item::Place(place) => self.store(place, value)?,
                    _ => return Err(self.statement_fault("this cannot be assigned in a material")),
                }
            }
            Statement::Call { function, arguments, result } => {
                let mut args = Vec::with_capacity(arguments.len());
                for &argument in arguments {
                    args.push(self.item(frame, argument)?);
                }
                let span = self.span;
                self.descend()?;
                let value = self.inline(*function, args)?;
                self.depth -= 1;
                self.span = span;
                if let Some(result) = result {
                    frame.items[result.index()] = Item::Leaves(value);
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
                return Ok(leaves_by(RETURN));
            }
            Statement::Break => return Ok(leaves_by(BREAK)),
            Statement::Continue => return Ok(leaves_by(CONTINUE)),
            Statement::Switch { selector, cases } => {
                return self.switch(frame, *selector, cases, tail);
            }
            Statement::Loop { body, continuing, break_if } => {
                return self.repeat(frame, [body, continuing], *break_if);
            }
            Statement::Block(_) | Statement::If { .. } => unreachable!("are no single steps"),
            Statement::Kill => {
                return Err(self.statement_fault("`discard` has no meaning in a material"));
            }
            Statement::ControlBarrier(_) | Statement::MemoryBarrier(_) => {
                return Err(self.statement_fault("barriers have no meaning in a material"));
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
        Ok(FALLS)
    }

    fn statement_fault(&self, message: &str) -> Fault {
        let help = "a material computes a value from its arguments, and nothing else";
        Fault { message: message.to_owned(), span: self.span, help: Some(help.to_owned()) }
    }

    /// Translates `rest` for where `flow` did not leave.
    pub(super) fn guarded(
        &mut self,
        frame: &mut Frame<'m>,
        flow: Flow,
        rest: &[Step<'m>],
        tail: bool,
    ) -> Result<Flow, Fault> {
        let condition = match left(&mut self.builder, &flow) {
            Exit::Never => return self.sequence(frame, rest, tail),
            Exit::Always => return Ok(flow),
            Exit::Where(_) if rest.is_empty() => return Ok(flow),
            Exit::Where(condition) => condition,
        };
        // Where the only way of leaving was taken, it was taken always.
        let flow = flow.map(|way| if way == Exit::Where(condition) { Exit::Always } else { way });
        let gone = Arm {
            block: ir::Block::default(),
            changes: vec![],
            flow,
            carried: vec![Item::Unknown; frame.carried.len()],
        };
        let going = self.arm(frame, |translator, frame| translator.sequence(frame, rest, tail))?;
        Ok(self.join(frame, condition, [gone, going], tail))
    }

    /// Translates an if. Says whether `rest`, the steps after it, went into one of its arms.
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
        let ends = arms.map(|arm| !never_ends(arm, 16));
        let moved = ends[0] != ends[1];
        let tail = tail && (moved || rest.is_empty());
        let mut translate = |block: &'m Block, goes_on: bool| {
            let mut steps = steps_of(block);
            if moved && goes_on {
                steps.extend(rest);
            }
            self.arm(frame, |translator, frame| translator.sequence(frame, &steps, tail))
        };
        let arms = [translate(arms[0], ends[0])?, translate(arms[1], ends[1])?];
        Ok((self.join(frame, condition, arms, tail), moved))
    }

    /// Translates an arm; slots and expressions are as before afterwards.
    fn arm(
        &mut self,
        frame: &mut Frame<'m>,
        translate: impl FnOnce(&mut Self, &mut Frame<'m>) -> Result<Flow, Fault>,
    ) -> Result<Arm, Fault> {
        self.builder.open_arm();
        let mark = self.trail.len();
        let before: Vec<_> =
            frame.carried.iter().map(|expression| frame.items[expression.index()]).collect();
        let flow = translate(self, frame)?;
        let changes = self.changes(mark);
        self.charge(changes.len())?;
        // Slots beyond the end were those of calls.
        while self.trail.len() > mark {
            let (slot, old) = self.trail.pop().expect("the trail grows behind the mark");
            if let Some(value) = self.slots.get_mut(slot as usize) {
                *value = old;
            }
        }
        let mut carried = before;
        for (item, expression) in carried.iter_mut().zip(&frame.carried) {
            // What was known before needs not be handed on.
            let known = std::mem::replace(item, Item::Unknown);
            let now = std::mem::replace(&mut frame.items[expression.index()], known);
            if let Item::Unknown = known {
                *item = now;
            }
        }
        let block = self.builder.close_arm(&[]);
        Ok(Arm { block, changes, flow, carried })
    }

    /// Slots that were changed since the trail was this long, sorted, with what they hold.
    pub(super) fn changes(&self, mark: usize) -> Vec<(u32, Value)> {
        let mut slots: Vec<_> = self.trail[mark..]
            .iter()
            .map(|&(slot, _)| slot)
            .filter(|&s| (s as usize) < self.slots.len())
            .collect();
        slots.sort_unstable();
        slots.dedup();
        slots.into_iter().map(|slot| (slot, self.slots[slot as usize])).collect()
    }

    /// Joins the arms of an if.
    fn join(
        &mut self,
        frame: &mut Frame<'m>,
        condition: Value,
        arms: [Arm; 2],
        tail: bool,
    ) -> Flow {
        let [mut then, mut otherwise] = arms;
        let mut slots = vec![];
        for (slot, t, e) in merged(&self.slots, &then.changes, &otherwise.changes) {
            if tail && slot >= frame.floor {
                continue;
            }
            if t == e {
                self.set(slot, t);
            } else {
                slots.push(slot);
                then.block.yields.push(t);
                otherwise.block.yields.push(e);
            }
        }
        let mut flow = FALLS;
        let mut joined = vec![];
        for way in [RETURN, BREAK, CONTINUE] {
            flow[way] = match (then.flow[way], otherwise.flow[way]) {
                (t, e) if t == e => t,
                (Exit::Always, Exit::Never) => Exit::Where(condition),
                (Exit::Never, Exit::Always) => Exit::Where(not(&mut self.builder, condition)),
                (t, e) => {
                    joined.push(way);
                    then.block.yields.push(as_value(&mut self.builder, t));
                    otherwise.block.yields.push(as_value(&mut self.builder, e));
                    Exit::Never
                }
            };
        }
        let mut carried = vec![];
        for (k, &expression) in frame.carried.iter().enumerate() {
            let (item, from, to) = match (then.carried[k], otherwise.carried[k]) {
                (Item::Unknown, Item::Unknown) => continue,
                (item, Item::Unknown) => {
                    (item, &mut then.block.yields, &mut otherwise.block.yields)
                }
                (_, item) => (item, &mut otherwise.block.yields, &mut then.block.yields),
            };
            for value in self.values_of(item) {
                from.push(value);
                // Never seen: what uses the expression does not run where it was skipped.
                to.push(self.builder.constant(self.builder.ty(value), 0));
            }
            carried.push((expression, item));
        }
        if then.block.yields.is_empty() {
            return flow;
        }
        let mut results = self.builder.push_if(condition, then.block, otherwise.block).into_iter();
        for (slot, value) in slots.into_iter().zip(&mut results) {
            self.set(slot, value);
        }
        for (way, value) in joined.into_iter().zip(&mut results) {
            flow[way] = as_exit(&self.builder, value);
        }
        for (expression, item) in carried {
            frame.items[expression.index()] = self.with_values(item, &mut results);
        }
        flow
    }

    /// Values that an item is made of.
    fn values_of(&self, item: Item) -> Vec<Value> {
        match item {
            Item::Leaves(leaves) => self.leaves(leaves).to_vec(),
            Item::Place(place) => self.indices_of(place).iter().map(|index| index.value).collect(),
            Item::Texture(_) | Item::Sampler | Item::Unknown => vec![],
        }
    }

    /// An item with other values in the place of its own.
    fn with_values(&mut self, item: Item, values: &mut impl Iterator<Item = Value>) -> Item {
        match item {
            Item::Leaves(leaves) => {
                let values: Vec<_> = values.take(self.leaves(leaves).len()).collect();
                Item::Leaves(self.push(&values))
            }
            Item::Place(place) => {
                let start = self.indices.len() as u32;
                for index in self.indices_of(place) {
                    let value = values.next().expect("a value for each index");
                    self.indices.push(super::places::Index { value, ..index });
                }
                Item::Place(super::places::Place { indices: (start, place.indices.1), ..place })
            }
            Item::Texture(_) | Item::Sampler | Item::Unknown => item,
        }
    }

    /// Translates a switch.
    fn switch(
        &mut self,
        frame: &mut Frame<'m>,
        selector: Handle<Expression>,
        cases: &'m [naga::SwitchCase],
        tail: bool,
    ) -> Result<Flow, Fault> {
        let selector = self.scalar(frame, selector)?;
        let (mut groups, mut default) = (vec![], None);
        let (mut test, mut is_default) = (None, false);
        for (k, case) in cases.iter().enumerate() {
            self.charge(1)?;
            let value = match case.value {
                SwitchValue::I32(value) => Some(value),
                SwitchValue::U32(value) => Some(value as i32),
                SwitchValue::Default => None,
            };
            if let Some(value) = value {
                let value = self.builder.i32(value);
                let equal = self.op(Op::IEq, &[selector, value]);
                test = Some(test.map_or(equal, |test| or(&mut self.builder, test, equal)));
            } else {
                is_default = true;
            }
            if case.fall_through && case.body.is_empty() {
                continue;
            }
            let last = cases[k..]
                .iter()
                .position(|case| !case.fall_through)
                .map_or(cases.len() - 1, |more| k + more);
            let steps: Vec<_> =
                cases[k..=last].iter().flat_map(|case| steps_of(&case.body)).collect();
            self.charge(steps.len())?;
            let group = Cases { steps, test: test.take() };
            if std::mem::take(&mut is_default) {
                default = Some(group);
            } else {
                groups.push(group);
            }
        }
        groups.extend(default);
        let mut flow = self.cases(frame, &groups, tail)?;
        flow[BREAK] = Exit::Never;
        Ok(flow)
    }

    /// Translates cases of which one is known to apply, the last if no other does.
    fn cases(
        &mut self,
        frame: &mut Frame<'m>,
        groups: &[Cases<'m>],
        tail: bool,
    ) -> Result<Flow, Fault> {
        let split = match groups {
            [] => return Ok(FALLS),
            [group] => return self.sequence(frame, &group.steps, tail),
            _ if groups.len() <= CHAIN => 1,
            _ => groups.len() / 2,
        };
        let (first, second) = groups.split_at(split);
        let mut test = self.builder.bool(false);
        for group in first {
            test = or(&mut self.builder, test, group.test.expect("only the last case has no test"));
        }
        match self.builder.known_bool(test) {
            Some(true) => return self.cases(frame, first, tail),
            Some(false) => return self.cases(frame, second, tail),
            None => {}
        }
        let arms = [
            self.arm(frame, |translator, frame| translator.cases(frame, first, tail))?,
            self.arm(frame, |translator, frame| translator.cases(frame, second, tail))?,
        ];
        Ok(self.join(frame, test, arms, tail))
    }
}

/// Slots that either arm changed, with what they hold after the one and the other.
fn merged(
    slots: &[Value],
    then: &[(u32, Value)],
    otherwise: &[(u32, Value)],
) -> Vec<(u32, Value, Value)> {
    let (mut t, mut e) = (then.iter().copied().peekable(), otherwise.iter().copied().peekable());
    let mut merged = Vec::with_capacity(then.len() + otherwise.len());
    while let Some(slot) = [t.peek(), e.peek()].into_iter().flatten().map(|change| change.0).min() {
        let old = slots[slot as usize];
        let t = t.next_if(|change| change.0 == slot).map_or(old, |change| change.1);
        let e = e.next_if(|change| change.0 == slot).map_or(old, |change| change.1);
        merged.push((slot, t, e));
    }
    merged
}

#[cfg(test)]
mod tests {
    use crate::frontend::testing::{check, check_all, fault, shape, translate};
    use crate::ir::Function;
    use crate::ir::function::Stmt;

    #[test]
    fn arms_of_ifs_are_joined() {
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
    fn early_returns_leave_no_flags_behind() {
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
        // A choice for each `if`, and nothing else, since the arms are cheap.
        let f = translate(source);
        let selects = |f: &Function| {
            f.body
                .stmts
                .iter()
                .filter(|s| matches!(s, Stmt::Op(v) if f.operation(*v).is_some_and(|(op, _)| op == crate::ir::Op::Select)))
                .count()
        };
        assert_eq!((shape(&f), selects(&f)), ([0; 3], 2));
    }

    #[test]
    fn returns_within_blocks_skip_what_is_after_them() {
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
    fn known_conditions_leave_one_arm() {
        let f = translate(
            "const on = true;
            fn g(x: i32, flag: bool) -> i32 { if flag { return x; } for (var i = 0; i < x; i++) {} return 0; }
            fn f(x: i32) -> i32 { if !on { return 5; } return g(x, on); }",
        );
        assert_eq!(shape(&f), [0; 3]);
        check(&f, &[7], &[7]);
    }

    #[test]
    fn switches() {
        let source = "fn f(x: i32) -> i32 {
            var a = 0;
            switch x {
                case 1 { a = 10; }
                case 2, 3 { if x == 3 { break; } a = 20; }
                case -4: { return -40; }
                case 5, default { a = 50; }
            }
            return a + 1;
        }";
        check_all(source, -6..8, |x| match x {
            1 => 11,
            2 => 21,
            3 => 1,
            -4 => -40,
            _ => 51,
        });
    }

    #[test]
    fn large_switches_are_trees() {
        let cases: String =
            (0..100).map(|k| format!("case {}u: {{ a = {}u; }} ", 3 * k, k * k + 1)).collect();
        let f = translate(&format!(
            "fn f(x: u32) -> u32 {{ var a = 7u; switch x {{ default: {{}} {cases} }} return a; }}"
        ));
        for x in 0..310 {
            let expected = if x % 3 == 0 && x < 300 { (x / 3) * (x / 3) + 1 } else { 7 };
            check(&f, &[x], &[expected]);
        }
    }

    #[test]
    fn switches_in_loops_tell_break_and_continue_apart() {
        let source = "fn f(x: i32) -> i32 {
            var sum = 0;
            for (var i = 0; i < 10; i++) {
                switch i & 3 {
                    case 0 { continue; }
                    case 1 { sum += 1; break; }
                    case 2 { if i > x { return sum; } }
                    default { sum += 100; }
                }
                sum += 1000;
            }
            return sum;
        }";
        check_all(source, -1..12, |x| {
            let mut sum = 0;
            for i in 0..10 {
                match i & 3 {
                    0 => continue,
                    1 => sum += 1,
                    2 if i > x => return sum,
                    2 => {}
                    _ => sum += 100,
                }
                sum += 1000;
            }
            sum
        });
    }

    #[test]
    fn what_has_no_meaning_here_is_refused() {
        let (found, text) = fault("fn f(x: f32) -> f32 { if x > 0.0 { discard; } return x; }");
        assert_eq!(
            (&found.message[..], &text[..]),
            ("`discard` has no meaning in a material", "discard;")
        );
        let (found, _) = fault("fn f(x: f32) -> f32 { workgroupBarrier(); return x; }");
        assert_eq!(found.message, "barriers have no meaning in a material");
        let (found, text) = fault(
            "@group(0) @binding(0) var<storage, read_write> n: atomic<u32>; fn f(x: u32) -> u32 { atomicAdd(&n, x); return x; }",
        );
        assert_eq!(
            (found.message.contains("atomics"), &text[..]),
            (true, "atomicAdd"),
            "{found:?}"
        );
    }

    #[test]
    fn deep_nesting_is_refused() {
        let returns: String =
            (0..400).map(|k| format!("if x == {k} {{ return {k} * 3; }} ")).collect();
        let (found, _) = fault(&format!("fn f(x: i32) -> i32 {{ {returns} return 0; }}"));
        assert!(found.message.contains("nest"), "{found:?}");
        let returns: String =
            (0..150).map(|k| format!("if x == {k} {{ return {k} * 3; }} ")).collect();
        check_all(&format!("fn f(x: i32) -> i32 {{ {returns} return 0; }}"), 0..160, |x| {
            if x < 150 { 3 * x } else { 0 }
        });
        let chain: String =
            (0..400).map(|k| format!("if x == {k} {{ a = {k} * 3; }} else ")).collect();
        let (found, _) =
            fault(&format!("fn f(x: i32) -> i32 {{ var a = 0; {chain} {{ a = 1; }} return a; }}"));
        assert!(found.message.contains("nest"), "{found:?}");
    }
}
