//! Test-case reduction for programs that exhibit a fault.
//!
//! As in C-Reduce (Regehr et al. 2012), passes propose smaller candidates and keep those that still
//! show the fault, until no pass makes progress. Statements are deleted or replaced by their nested
//! blocks, expressions by subexpressions or constants, variables and calls are inlined, and unused
//! declarations are deleted. Candidates may be invalid; the front end rejects those. Finally,
//! the intervals of the box shrink towards the member that exhibits the fault. The number of
//! candidates is limited.

use super::ast::{Expr, ExprKind, Function, Global, Module, Stmt, Ty};
use super::trial::{Effort, Trial};
use crate::containment::{Fault, FaultKind, Plan, Sample, Subject};
use lightbound_shader::bounding::{Frame, IntervalInputs, Ranges};
use lightbound_shader::target::Target;

/// Maximum number of candidates that are checked for the fault.
const MAX_CANDIDATES: usize = 1500;

/// Random boxes in addition to that of the fault: a candidate may show the fault in another box.
const FEW_BOXES: Effort = Effort { checks: 0, boxes: 12, members: 6, steps: 4 };

/// Boxes for candidates whose inputs differ, so that the box of the fault may not apply.
const MANY_BOXES: Effort = Effort { checks: 0, boxes: 100, members: 8, steps: 8 };

/// The box of the fault alone.
const GIVEN_BOX_ONLY: Effort = Effort { checks: 0, boxes: 0, members: 0, steps: 0 };

/// Reduces a program. Returns the smaller trial and its fault, which is of the same kind.
pub fn shrink(trial: &Trial, fault: &Fault) -> (Trial, Fault) {
    let mut first = trial.clone();
    if !matches!(fault.kind, FaultKind::Panics | FaultKind::Rejected) {
        first.plan = Plan::only(fault.options, fault.parts);
        first.target = fault.target;
    }
    let mut shrinker =
        Shrinker { best: first, fault: fault.clone(), candidates_left: MAX_CANDIDATES };
    if shrinker.reproduce(&shrinker.best, &GIVEN_BOX_ONLY).is_none() {
        // The fault depends on the other bounding shaders of the plan.
        shrinker.best = trial.clone();
    }
    shrinker.run();
    (shrinker.best, shrinker.fault)
}

struct Shrinker {
    best: Trial,
    fault: Fault,
    /// Candidates that may still be checked.
    candidates_left: usize,
}

impl Shrinker {
    fn run(&mut self) {
        loop {
            let before = (self.best.module.size(), self.candidates_left);
            self.settings();
            self.statements();
            self.expressions();
            self.inline();
            self.declarations();
            if self.best.module.size() >= before.0 || self.candidates_left == 0 {
                break;
            }
        }
        self.shrink_box();
    }

    /// The fault that a candidate shows, if it is of the same kind.
    fn reproduce(&self, trial: &Trial, effort: &Effort) -> Option<Fault> {
        let tally = trial.run_on(effort, |subject| self.given_box(subject).into_iter().collect());
        let start = |note: &str| note.chars().take(30).collect::<String>();
        let by_message = matches!(self.fault.kind, FaultKind::Panics | FaultKind::Rejected);
        tally.faults.into_iter().find(|found| {
            found.kind == self.fault.kind
                && (!by_message || start(&found.note) == start(&self.fault.note))
        })
    }

    /// The box of the fault, reduced to the inputs of a candidate; `None` if it is out of their
    /// range.
    fn given_box(&self, subject: &Subject) -> Option<Sample> {
        let mut sample = Sample { ends: vec![], members: vec![vec![]] };
        for (port, input) in std::iter::zip(&subject.point.inputs, &subject.inputs) {
            let index = self.fault.ends.iter().position(|(name, ..)| *name == port.name)?;
            let (_, ty, ends) = &self.fault.ends[index];
            let word = self.fault.member.as_ref().map_or(ends[0], |member| member[index]);
            let fits = *ty == port.ty
                && [ends[0], ends[1], word].into_iter().all(|word| input.bounds.contains(word));
            sample.ends.push(if input.interval { *ends } else { [word; 2] });
            sample.members[0].push(word);
            fits.then_some(())?;
        }
        Some(sample)
    }

    /// Replaces the best candidate if this one shows the fault.
    fn accept(&mut self, trial: Trial, effort: &Effort) -> bool {
        if self.candidates_left == 0 {
            return false;
        }
        self.candidates_left -= 1;
        let Some(fault) = self.reproduce(&trial, effort) else { return false };
        (self.best, self.fault) = (trial, fault);
        true
    }

    /// Replaces the best module if this one is smaller and shows the fault.
    fn accept_module(&mut self, mut module: Module) -> bool {
        sweep(&mut module);
        module.size() < self.best.module.size()
            && self.accept(Trial { module, ..self.best.clone() }, &FEW_BOXES)
    }

    /// Simplifies the settings of the trial.
    fn settings(&mut self) {
        let simplify: [fn(&mut Trial); 5] = [
            |trial| trial.deep = false,
            |trial| trial.frame = Frame::Local,
            |trial| trial.ranges = Ranges::Declared,
            |trial| trial.spans = IntervalInputs::Light,
            |trial| trial.target = Target::best(),
        ];
        for simplify in simplify {
            let mut next = self.best.clone();
            simplify(&mut next);
            if next.settings() != self.best.settings() {
                self.accept(next, &MANY_BOXES);
            }
        }
    }

    /// Deletes statements, last first, or replaces them by their nested blocks.
    fn statements(&mut self) {
        let mut count = 0;
        self.best.module.walk_blocks(&mut |block| count += block.len());
        for index in (0..count).rev() {
            for edit in 0..4 {
                let mut module = self.best.module.clone();
                if edit_statement(&mut module, index, edit) && self.accept_module(module) {
                    break;
                }
            }
        }
    }

    /// Replaces expressions by constants and subexpressions, outermost first.
    fn expressions(&mut self) {
        let mut index = 0;
        while let Some(expr) = expression(&mut self.best.module, index) {
            let mut replacements = constants(&expr);
            let mut parts = vec![];
            expr.walk(&mut |part| parts.push(part.clone()));
            replacements
                .extend(parts.into_iter().skip(1).filter(|part| part.ty == expr.ty).take(6));
            if let ExprKind::Call(name, args) = &expr.kind
                && matches!(expr.ty, Ty::Vec(_))
                && name.starts_with("vec")
                && args.len() > 1
            {
                let floats = args.iter().filter(|arg| arg.ty == Ty::F32);
                replacements.extend(floats.map(|arg| Expr::call(name, vec![arg.clone()])));
            }
            let changed = replacements.into_iter().any(|replacement| {
                let mut module = self.best.module.clone();
                replace(&mut module, index, replacement);
                self.accept_module(module)
            });
            index += usize::from(!changed);
        }
    }

    /// Inlines variables with one use or a trivial value, and functions that only return a value.
    fn inline(&mut self) {
        let mut names = vec![];
        self.best.module.walk_blocks(&mut |block| {
            names.extend(block.iter().filter_map(|stmt| match stmt {
                Stmt::Let(name, _) | Stmt::Var(name, _) => Some(name.clone()),
                _ => None,
            }));
        });
        for name in names {
            let mut module = self.best.module.clone();
            if inline_value(&mut module, &name) {
                self.accept_module(module);
            }
        }
        let calls: Vec<_> =
            self.best.module.functions.iter().map(|function| function.name.clone()).collect();
        for name in calls {
            let mut module = self.best.module.clone();
            if inline_function(&mut module, &name) {
                self.accept_module(module);
            }
        }
    }

    /// Makes the BRDF one-sided and inlines module-scope constants.
    fn declarations(&mut self) {
        let with = |change: &dyn Fn(&mut Module)| {
            let mut module = self.best.module.clone();
            change(&mut module);
            module
        };
        let mut candidates = vec![with(&|module| module.two_sided = false)];
        for index in 0..self.best.module.globals.len() {
            candidates.push(with(&|module| {
                if let Global::Const(name, value)
                | Global::Override(name, value)
                | Global::Private(name, value) = module.globals[index].clone()
                {
                    replace_name(module, &name, &value);
                }
            }));
        }
        for module in candidates {
            self.accept_module(module);
        }
    }

    /// Replaces intervals by the member's values, and these by simpler ones, as long as the fault
    /// persists.
    fn shrink_box(&mut self) {
        if self.fault.member.is_none() {
            return;
        }
        for index in 0..self.fault.ends.len() {
            let Some(word) = self.fault.member.as_ref().map(|member| member[index]) else { return };
            let [low, high] = self.fault.ends[index].2;
            let simple = [0.0f32, 1.0, 0.5].map(f32::to_bits).into_iter().filter(|_| low == high);
            let ends = [[word; 2], [word, high], [low, word]].map(|ends| (ends, word));
            for (ends, word) in ends.into_iter().chain(simple.map(|bits| ([bits; 2], bits))) {
                let kept = self.fault.clone();
                if ends == [low, high] {
                    continue;
                }
                self.fault.ends[index].2 = ends;
                if let Some(member) = &mut self.fault.member {
                    member[index] = word;
                }
                if self.candidates_left > 0 && self.accept(self.best.clone(), &GIVEN_BOX_ONLY) {
                    break;
                }
                self.fault = kept;
            }
        }
    }
}

/// Constants that may replace an expression; simpler ones if it is a constant itself.
fn constants(expr: &Expr) -> Vec<Expr> {
    let literal = |kind| Expr::new(expr.ty, kind);
    match (expr.ty, &expr.kind) {
        (Ty::F32, ExprKind::Float(x)) if x.fract() != 0.0 => vec![0.5.into(), 1.0.into()],
        (_, ExprKind::Float(_) | ExprKind::Int(_) | ExprKind::Bool(_)) => vec![],
        (Ty::F32, _) => vec![0.0.into(), 1.0.into(), 0.5.into()],
        (Ty::I32 | Ty::U32, _) => vec![literal(ExprKind::Int(0)), literal(ExprKind::Int(1))],
        (Ty::Bool, _) => vec![literal(ExprKind::Bool(false)), literal(ExprKind::Bool(true))],
        (Ty::Vec(n), _) => {
            [0.0, 1.0].map(|x| Expr::call(&format!("vec{n}f"), vec![Expr::from(x)])).into()
        }
        _ => vec![],
    }
}

/// The expression at an index, in the order of [`Module::walk_expressions`].
fn expression(module: &mut Module, index: usize) -> Option<Expr> {
    let (mut next, mut found) = (0, None);
    module.walk_expressions(&mut |expr| {
        if next == index {
            found = Some(expr.clone());
        }
        next += 1;
    });
    found
}

fn replace(module: &mut Module, index: usize, replacement: Expr) {
    let (mut next, mut replacement) = (0, Some(replacement));
    module.walk_expressions(&mut |expr| {
        next += 1;
        if next == index + 1
            && let Some(replacement) = replacement.take()
        {
            *expr = replacement;
        }
    });
}

/// Deletes a statement (`edit` 0) or replaces it by its nested block with index `edit - 1`. Returns
/// whether it did.
fn edit_statement(module: &mut Module, index: usize, edit: usize) -> bool {
    let (mut next, mut done) = (0, false);
    module.walk_blocks(&mut |block| {
        let first = next;
        next += block.len();
        if done || !(first..next).contains(&index) {
            return;
        }
        let at = index - first;
        if edit == 0 {
            block.remove(at);
            done = true;
        } else if let Some(inner) =
            block[at].blocks_mut().into_iter().nth(edit - 1).map(std::mem::take)
            && !inner.is_empty()
        {
            block.splice(at..=at, inner);
            done = true;
        }
    });
    done
}

/// Number of uses of a name.
fn uses(module: &mut Module, name: &str) -> usize {
    let mut count = 0;
    module.walk_expressions(&mut |expr| {
        count += usize::from(matches!(&expr.kind, ExprKind::Name(found) if found == name))
    });
    count
}

/// Inlines a variable if it has one use or if its value is a leaf. Returns whether it did.
fn inline_value(module: &mut Module, name: &str) -> bool {
    let mut value = None;
    module.walk_blocks(&mut |block| {
        block.retain(|stmt| match stmt {
            Stmt::Let(found, init) | Stmt::Var(found, init) if found == name => {
                value = Some(init.clone());
                false
            }
            _ => true,
        });
    });
    let Some(value) = value else { return false };
    if !value.children().is_empty() && uses(module, name) > 1 {
        return false;
    }
    replace_name(module, name, &value);
    true
}

/// Replaces all uses of a name.
fn replace_name(module: &mut Module, name: &str, value: &Expr) {
    module.rewrite_expressions(&mut |expr| {
        if matches!(&expr.kind, ExprKind::Name(found) if found == name) {
            *expr = value.clone();
        }
    });
}

/// Inlines a function if its body is a single `return`. Returns whether there was a call.
fn inline_function(module: &mut Module, name: &str) -> bool {
    let Some(Function { parameters, body, .. }) =
        module.functions.iter().find(|function| function.name == name).cloned()
    else {
        return false;
    };
    let [Stmt::Return(result)] = &body[..] else { return false };
    let mut found = false;
    module.rewrite_expressions(&mut |expr| {
        let ExprKind::Call(called, args) = &expr.kind else { return };
        if called != name {
            return;
        }
        let mut inlined = result.clone();
        // Post-order, since an argument may contain a variable with the name of a parameter.
        inlined.rewrite(&mut |inner| {
            let ExprKind::Name(used) = &inner.kind else { return };
            if let Some(k) = parameters.iter().position(|parameter| parameter.name == *used) {
                *inner = args[k].clone();
            }
        });
        *expr = inlined;
        found = true;
    });
    found
}

/// Deletes unused functions, members of `Material` and module-scope declarations.
fn sweep(module: &mut Module) {
    loop {
        let before = module.functions.len();
        let mut called = vec!["brdf".to_owned(), "material".to_owned()];
        module.walk_expressions(&mut |expr| {
            if let ExprKind::Call(name, _) = &expr.kind {
                called.push(name.clone());
            }
        });
        module.functions.retain(|function| called.contains(&function.name));
        if module.functions.len() == before {
            break;
        }
    }
    let (mut names, mut members, mut types) = (vec![], vec![], vec![]);
    module.walk_expressions(&mut |expr| {
        types.push(expr.ty);
        match &expr.kind {
            ExprKind::Name(name) => names.push(name.clone()),
            ExprKind::Member(_, name) => members.push(name.clone()),
            _ => {}
        }
    });
    // A `fn material` without assignments returns its argument.
    let assigns =
        |function: &Function| function.body.iter().any(|stmt| matches!(stmt, Stmt::Assign(..)));
    module.functions.retain(|function| function.name != "material" || assigns(function));
    module.members.retain(|member| members.contains(&member.name));
    module.globals.retain(|global| match global {
        Global::Const(name, _) | Global::Override(name, _) | Global::Private(name, _) => {
            names.contains(name)
        }
        Global::Texture(name) | Global::Sampler(name) => names.contains(name),
        Global::Struct(name, _) => types.contains(&Ty::Struct(name)),
    });
    if module.members.is_empty() {
        module.functions.retain(|function| function.name != "material");
        for function in &mut module.functions {
            function.parameters.retain(|parameter| parameter.ty != Ty::Struct("Material"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ast::Parameter;
    use super::super::report;
    use super::*;
    use crate::containment::FaultKind;
    use lightbound_shader::ir::{Def, Op};
    use lightbound_shader::lift::Lifted;

    /// Injects a fault: bounding shaders compute `ceil` for `floor`.
    fn break_floor(lifted: &mut Lifted) {
        for data in &mut lifted.function.values {
            if let Def::Op { op, .. } = &mut data.def
                && *op == Op::Floor
            {
                *op = Op::Ceil;
            }
        }
    }

    #[test]
    fn inlined_arguments_may_name_a_parameter_of_the_callee() {
        // `f_2(x)` returns `f_1(x * 0.5, x)`, where `f_1(x, a)` returns `x * x + a`.
        let x = Expr::name(Ty::F32, "x");
        let function = |name: &str, parameters: &[&str], result: Expr| {
            let parameters = parameters.iter().map(|&name| Parameter {
                name: name.into(),
                ty: Ty::F32,
                is_pointer: false,
            });
            Function {
                name: name.into(),
                parameters: parameters.collect(),
                result: Ty::F32,
                body: vec![Stmt::Return(result)],
            }
        };
        let sum = &x * &x + Expr::name(Ty::F32, "a");
        let call = Expr::new(Ty::F32, ExprKind::Call("f_1".into(), vec![&x * 0.5, x.clone()]));
        let mut module = Module {
            functions: vec![function("f_1", &["x", "a"], sum), function("f_2", &["x"], call)],
            ..Module::default()
        };
        assert!(inline_function(&mut module, "f_1"));
        assert_eq!(module.functions[1].body, [Stmt::Return((&x * 0.5) * (&x * 0.5) + &x)]);
    }

    #[test]
    fn injected_fault_shrinks_to_a_few_lines() {
        let effort = Effort { checks: 0, boxes: 40, members: 8, steps: 4 };
        let mut shrunk = 0;
        for seed in 0..200 {
            let mut trial = Trial { inject: break_floor, ..Trial::new(seed, &[Target::best()]) };
            let tally = trial.run(&effort);
            let Some(fault) = tally.faults.iter().find(|fault| fault.kind == FaultKind::Escapes)
            else {
                continue;
            };
            let (mut small, found) = shrink(&trial, fault);
            assert_eq!(found.kind, FaultKind::Escapes);
            let text = small.module.to_string();
            let both = format!("{}\n{text}", trial.module);
            assert!(
                small.module.size() <= 90 && text.lines().count() <= 16,
                "{} {both}",
                small.module.size()
            );
            assert!(small.module.size() < trial.module.size(), "{both}");
            // The fault reproduces from the reported box alone.
            assert!(small.reproduces_alone(&found), "{both}");
            assert!(report(&small, &found).contains("lightbound shader bound"));
            shrunk += 1;
            if shrunk == 4 {
                return;
            }
        }
        panic!("no program shows the fault");
    }

    impl Trial {
        fn reproduces_alone(&self, fault: &Fault) -> bool {
            let shrinker =
                Shrinker { best: self.clone(), fault: fault.clone(), candidates_left: 1 };
            shrinker.reproduce(self, &GIVEN_BOX_ONLY).is_some()
        }
    }

    #[test]
    fn rejected_program_shrinks_to_the_error() {
        let mut trial = Trial::new(11, &[Target::best()]);
        let unknown = Expr::name(Ty::F32, "unknown");
        let brdf = trial.module.functions.last_mut().expect("the list is not empty");
        brdf.body.insert(0, Stmt::Let("x".into(), unknown * 2.0));
        let tally = trial.run(&GIVEN_BOX_ONLY);
        assert_eq!(tally.rejected, 1);
        let (mut small, found) = shrink(&trial, &tally.faults[0]);
        assert!(found.note.contains("unknown"), "{found}");
        assert!(small.module.size() < 60, "{}", small.module);
    }
}
