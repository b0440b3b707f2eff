//! Effects of statements, determined without translation: which slots a loop may assign, and which
//! statements leave a block.
//!
//! Results are conservative; rewriting removes loop parameters that never change. Traversals stop
//! at [`MAX_DEPTH`], as translation does.

use super::control::Step;
use super::translate::{Frame, MAX_DEPTH, Operand, Slots, Translator};
use naga::{Block, Expression, GlobalVariable, Handle, Module, Statement};

/// Effects of calling a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    /// Globals that the function may assign, sorted.
    globals: Vec<Handle<GlobalVariable>>,
    /// Pointer arguments through which it may assign, sorted.
    params: Vec<u32>,
    /// Whether the function contains loops.
    loops: bool,
}

/// Calls `f` for every statement of a block in preorder.
fn walk<'m>(block: &'m Block, depth: u32, f: &mut dyn FnMut(&'m Statement)) {
    for statement in block {
        walk_statement(statement, depth, f);
    }
}

fn walk_statement<'m>(statement: &'m Statement, depth: u32, f: &mut dyn FnMut(&'m Statement)) {
    f(statement);
    if depth >= MAX_DEPTH {
        return;
    }
    match statement {
        Statement::Block(block) => walk(block, depth + 1, f),
        Statement::If { accept, reject, .. } => {
            walk(accept, depth + 1, f);
            walk(reject, depth + 1, f);
        }
        Statement::Switch { cases, .. } => {
            cases.iter().for_each(|case| walk(&case.body, depth + 1, f))
        }
        Statement::Loop { body, continuing, .. } => {
            walk(body, depth + 1, f);
            walk(continuing, depth + 1, f);
        }
        _ => {}
    }
}

/// The variable or argument that a pointer is derived from.
fn root(expressions: &naga::Arena<Expression>, mut pointer: Handle<Expression>) -> &Expression {
    loop {
        match &expressions[pointer] {
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => {
                pointer = *base
            }
            other => return other,
        }
    }
}

fn effects_of(module: &Module, function: &naga::Function, callees: &[Effects]) -> Effects {
    let mut effects = Effects::default();
    let assign = |effects: &mut Effects, pointer| match root(&function.expressions, pointer) {
        Expression::GlobalVariable(global) => effects.globals.push(*global),
        Expression::FunctionArgument(index) => effects.params.push(*index),
        _ => {}
    };
    walk(&function.body, 0, &mut |statement| match statement {
        Statement::Store { pointer, .. } => assign(&mut effects, *pointer),
        Statement::Call { function, arguments, .. } => {
            let callee = &callees[function.index()];
            effects.globals.extend(&callee.globals);
            effects.loops |= callee.loops;
            for &param in &callee.params {
                assign(&mut effects, arguments[param as usize]);
            }
            if effects.globals.len() > 2 * module.global_variables.len() {
                effects.globals.sort_unstable();
                effects.globals.dedup();
            }
        }
        Statement::Loop { .. } => effects.loops = true,
        _ => {}
    });
    effects.globals.sort_unstable();
    effects.globals.dedup();
    effects.params.sort_unstable();
    effects.params.dedup();
    effects
}

/// Slots that a loop may assign.
pub(crate) struct AssignedSlots {
    /// The slots, sorted, without duplicates.
    pub slots: Vec<u32>,
    /// Whether there are inner loops.
    pub loops: bool,
}

impl<'m> Translator<'m> {
    /// Slots that the blocks may assign.
    pub fn assigned(&mut self, frame: &Frame<'m>, blocks: [&'m Block; 2]) -> AssignedSlots {
        let mut slots: Vec<Slots> = vec![];
        let mut loops = false;
        for block in blocks {
            walk(block, 0, &mut |statement| match statement {
                Statement::Store { pointer, .. } => {
                    slots.extend(self.pointee_slots(frame, *pointer))
                }
                Statement::Call { function, arguments, .. } => {
                    let effects = self.effects(*function);
                    loops |= effects.loops;
                    let params: Vec<_> =
                        effects.params.iter().map(|&param| arguments[param as usize]).collect();
                    let globals = effects.globals.clone();
                    slots.extend(
                        params.into_iter().filter_map(|pointer| self.pointee_slots(frame, pointer)),
                    );
                    slots.extend(
                        globals.into_iter().filter_map(|global| self.private_slots(global)),
                    );
                }
                Statement::Loop { .. } => loops = true,
                _ => {}
            });
        }
        slots.sort_unstable_by_key(|slots| (slots.start, slots.len));
        slots.dedup();
        let mut all: Vec<_> =
            slots.into_iter().flat_map(|slots| slots.start..slots.start + slots.len).collect();
        all.sort_unstable();
        all.dedup();
        AssignedSlots { slots: all, loops }
    }

    /// Effects of calling a function. Callees precede callers, so this does not recurse.
    fn effects(&mut self, function: Handle<naga::Function>) -> &Effects {
        let module = self.module;
        for (_, function) in
            module.functions.iter().take(function.index() + 1).skip(self.effects.len())
        {
            let effects = effects_of(module, function, &self.effects);
            self.effects.push(effects);
        }
        &self.effects[function.index()]
    }

    /// Slots of a private variable.
    fn private_slots(&self, global: Handle<GlobalVariable>) -> Option<Slots> {
        match self.globals[global.index()] {
            Ok(Operand::Pointer(pointer)) => Some(pointer.slots),
            _ => None,
        }
    }

    /// Slots that a pointer may refer to: the part of a variable up to the first dynamic index.
    fn pointee_slots(&self, frame: &Frame<'m>, pointer: Handle<Expression>) -> Option<Slots> {
        let mut chain = vec![];
        let mut root = pointer;
        while let Expression::Access { base, .. } | Expression::AccessIndex { base, .. } =
            frame.expressions[root]
        {
            chain.push(root);
            root = base;
        }
        let mut slots = match frame.expressions[root] {
            Expression::LocalVariable(variable) => frame.locals[variable.index()],
            Expression::GlobalVariable(variable) => self.private_slots(variable)?,
            Expression::FunctionArgument(index) => match frame.args[index as usize] {
                Operand::Pointer(pointer) if pointer.indices.1 == 0 => pointer.slots,
                Operand::Pointer(pointer) => return Some(self.hull(pointer)),
                _ => return None,
            },
            _ => return None,
        };
        for &access in chain.iter().rev() {
            let Expression::AccessIndex { base, index } = frame.expressions[access] else { break };
            let (start, len) = self.layout.part(self.ty(frame, base), index);
            slots = Slots { start: slots.start + start, len };
        }
        Some(slots)
    }
}

/// The innermost construct around a statement in a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Enclosing {
    /// The loop itself.
    Loop,
    /// A `switch` in the loop.
    Switch,
    /// Another loop in the loop.
    InnerLoop,
}

/// Whether a statement of a block may leave the loop, or if `continues`, the iteration.
fn block_exits(block: &Block, enclosing: Enclosing, depth: u32, continues: bool) -> bool {
    block.iter().any(|statement| statement_exits(statement, enclosing, depth, continues))
}

fn statement_exits(
    statement: &Statement,
    enclosing: Enclosing,
    depth: u32,
    continues: bool,
) -> bool {
    let inner = |block: &Block, enclosing| {
        depth < MAX_DEPTH && block_exits(block, enclosing, depth + 1, continues)
    };
    match statement {
        Statement::Return { .. } | Statement::Kill => true,
        Statement::Break => enclosing == Enclosing::Loop,
        Statement::Continue => continues && enclosing != Enclosing::InnerLoop,
        Statement::Block(block) => inner(block, enclosing),
        Statement::If { accept, reject, .. } => {
            inner(accept, enclosing) || inner(reject, enclosing)
        }
        Statement::Switch { cases, .. } => {
            let enclosing =
                if enclosing == Enclosing::Loop { Enclosing::Switch } else { enclosing };
            cases.iter().any(|case| inner(&case.body, enclosing))
        }
        Statement::Loop { body, .. } => inner(body, Enclosing::InnerLoop),
        _ => false,
    }
}

impl Step<'_> {
    /// Whether a step of a loop's body may leave the loop.
    pub fn leaves_loop(&self) -> bool {
        self.exits(false)
    }

    /// Whether a step of a loop's body may skip the steps after it.
    pub fn leaves_iteration(&self) -> bool {
        self.exits(true)
    }

    fn exits(&self, continues: bool) -> bool {
        match self {
            Step::Statement(statement, _) => {
                statement_exits(statement, Enclosing::Loop, 0, continues)
            }
            Step::BreakIf(_) => false,
        }
    }
}

/// Whether control never reaches the end of a block. Loops and switches are not analysed.
pub(crate) fn never_falls_through(block: &Block, depth: u32) -> bool {
    match block.last() {
        Some(
            Statement::Return { .. } | Statement::Break | Statement::Continue | Statement::Kill,
        ) => true,
        Some(Statement::Block(block)) => depth > 0 && never_falls_through(block, depth - 1),
        Some(Statement::If { accept, reject, .. }) => {
            depth > 0
                && never_falls_through(accept, depth - 1)
                && never_falls_through(reject, depth - 1)
        }
        _ => false,
    }
}

/// Marks the operands of steps in `used`, which is indexed by expression.
pub(crate) fn mark_used(frame: &Frame, steps: &[Step], used: &mut [bool]) {
    for step in steps {
        match step {
            Step::BreakIf(condition) => used[condition.index()] = true,
            Step::Statement(statement, _) => walk_statement(statement, 0, &mut |statement| {
                let mut mark = |expression: Handle<Expression>| used[expression.index()] = true;
                match statement {
                    Statement::Emit(range) => {
                        range.clone().for_each(|expression| {
                            for_each_operand(&frame.expressions[expression], &mut mark)
                        });
                    }
                    Statement::If { condition, .. } => mark(*condition),
                    Statement::Switch { selector, .. } => mark(*selector),
                    Statement::Loop { break_if: Some(condition), .. } => mark(*condition),
                    Statement::Return { value: Some(value) } => mark(*value),
                    Statement::Store { pointer, value } => {
                        [*pointer, *value].into_iter().for_each(mark)
                    }
                    Statement::Call { arguments, .. } => arguments.iter().copied().for_each(mark),
                    _ => {}
                }
            }),
        }
    }
}

/// Calls `f` for each operand of a translatable expression.
fn for_each_operand(expression: &Expression, f: &mut impl FnMut(Handle<Expression>)) {
    match *expression {
        Expression::Compose { ref components, .. } => components.iter().copied().for_each(f),
        Expression::Access { base, index } => [base, index].into_iter().for_each(f),
        Expression::AccessIndex { base, .. } => f(base),
        Expression::Splat { value, .. } => f(value),
        Expression::Swizzle { vector, .. } => f(vector),
        Expression::Load { pointer } => f(pointer),
        Expression::Unary { expr, .. } | Expression::As { expr, .. } => f(expr),
        Expression::Binary { left, right, .. } => [left, right].into_iter().for_each(f),
        Expression::Select { condition, accept, reject } => {
            [condition, accept, reject].into_iter().for_each(f)
        }
        Expression::Relational { argument, .. } => f(argument),
        // Textures, samplers and offsets are constant; levels are ignored.
        Expression::ImageSample { coordinate, .. } | Expression::ImageLoad { coordinate, .. } => {
            f(coordinate)
        }
        Expression::Math { arg, arg1, arg2, arg3, .. } => {
            [Some(arg), arg1, arg2, arg3].into_iter().flatten().for_each(f)
        }
        _ => {}
    }
}
