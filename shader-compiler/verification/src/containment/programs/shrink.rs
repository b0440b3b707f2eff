//! Test-case reduction for programs that show a fault.
//!
//! As in C-Reduce (Regehr et al. 2012), passes propose smaller candidates and keep those that still
//! show the fault, until no pass makes progress. They delete statements or replace them by their
//! nested blocks, replace expressions by subexpressions or constants, inline variables and calls,
//! and delete unused declarations. The front end rejects invalid candidates. Finally, the intervals
//! of the box shrink towards the member that shows the fault. The number of candidates is limited.

use super::ast::{Expr, ExprKind, Function, Global, Module, Stmt, Ty};
use super::trial::{CheckBudget, Trial};
use crate::containment::{Fault, FaultKind, Plan, Sample, Subject};
use lightbound_shader::bounding::{Frame, IntervalInputs, Ranges};
use lightbound_shader::target::Target;

/// Maximum number of candidates to check for the fault.
const MAX_CANDIDATES: usize = 1500;

/// Some random boxes in addition to the fault's: a candidate may show the fault in another box.
const FEW_BOXES: CheckBudget = CheckBudget { checks: 0, boxes: 12, members: 6, steps: 4 };

/// Many random boxes, for candidates with other inputs, since the fault's box may not apply to
/// them.
const MANY_BOXES: CheckBudget = CheckBudget { checks: 0, boxes: 100, members: 8, steps: 8 };

/// The fault's box only.
const FAULT_BOX_ONLY: CheckBudget = CheckBudget { checks: 0, boxes: 0, members: 0, steps: 0 };

/// Reduces a program. Returns the smaller trial and its fault, which is of the same kind.
pub fn shrink(trial: &Trial, fault: &Fault) -> (Trial, Fault) {
    let mut first = trial.clone();
    if !matches!(fault.kind, FaultKind::Panic | FaultKind::Rejected) {
        first.plan = Plan::single(fault.options, fault.parts);
        first.target = fault.target;
    }
    let mut shrinker =
        Shrinker { best: first, fault: fault.clone(), candidates_left: MAX_CANDIDATES };
    if shrinker.reproduce(&shrinker.best, &FAULT_BOX_ONLY).is_none() {
        // The fault depends on the other bounding shaders of the plan.
        shrinker.best = trial.clone();
    }
    shrinker.run();
    (shrinker.best, shrinker.fault)
}

/// State of the reduction.
struct Shrinker {
    best: Trial,
    fault: Fault,
    /// Number of candidates that may still be checked.
    candidates_left: usize,
}

impl Shrinker {
    fn run(&mut self) {
        loop {
            let before = (self.best.module.size(), self.candidates_left);
            self.simplify_settings();
            self.reduce_statements();
            self.reduce_expressions();
            self.inline();
            self.reduce_declarations();
            if self.best.module.size() >= before.0 || self.candidates_left == 0 {
                break;
            }
        }
        self.shrink_box();
    }

    /// Returns the fault of the same kind that a candidate shows, if any.
    fn reproduce(&self, trial: &Trial, budget: &CheckBudget) -> Option<Fault> {
        let tally = trial.run_on(budget, |subject| self.fault_box(subject).into_iter().collect());
        let start = |note: &str| note.chars().take(30).collect::<String>();
        let by_message = matches!(self.fault.kind, FaultKind::Panic | FaultKind::Rejected);
        tally.faults.into_iter().find(|found| {
            found.kind == self.fault.kind
                && (!by_message || start(&found.note) == start(&self.fault.note))
        })
    }

    /// Returns the fault's box, restricted to the inputs of a candidate; `None` if the candidate
    /// has other inputs or if the box is out of their ranges.
    fn fault_box(&self, subject: &Subject) -> Option<Sample> {
        let mut sample = Sample { endpoints: vec![], members: vec![vec![]] };
        for (port, input) in std::iter::zip(&subject.point.inputs, &subject.inputs) {
            let index = self.fault.endpoints.iter().position(|(name, ..)| *name == port.name)?;
            let (_, ty, endpoints) = &self.fault.endpoints[index];
            let word = self.fault.member.as_ref().map_or(endpoints[0], |member| member[index]);
            let fits = *ty == port.ty
                && [endpoints[0], endpoints[1], word]
                    .into_iter()
                    .all(|word| input.bounds.contains(word));
            sample.endpoints.push(if input.interval { *endpoints } else { [word; 2] });
            sample.members[0].push(word);
            fits.then_some(())?;
        }
        Some(sample)
    }

    /// Replaces the best candidate if this one shows the fault.
    fn accept(&mut self, trial: Trial, budget: &CheckBudget) -> bool {
        if self.candidates_left == 0 {
            return false;
        }
        self.candidates_left -= 1;
        let Some(fault) = self.reproduce(&trial, budget) else { return false };
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
    fn simplify_settings(&mut self) {
        let simplify: [fn(&mut Trial); 5] = [
            |trial| trial.bounds_all_values = false,
            |trial| trial.frame = Frame::Local,
            |trial| trial.ranges = Ranges::Declared,
            |trial| trial.interval_inputs = IntervalInputs::Light,
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

    /// Deletes statements or replaces them by their nested blocks, last first.
    fn reduce_statements(&mut self) {
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
    fn reduce_expressions(&mut self) {
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
                replace_expression(&mut module, index, replacement);
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
    fn reduce_declarations(&mut self) {
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

    /// Replaces intervals by the member's values, and values by simpler ones, while the fault
    /// persists.
    fn shrink_box(&mut self) {
        if self.fault.member.is_none() {
            return;
        }
        for index in 0..self.fault.endpoints.len() {
            let Some(word) = self.fault.member.as_ref().map(|member| member[index]) else { return };
            let [low, high] = self.fault.endpoints[index].2;
            let simple = [0.0f32, 1.0, 0.5].map(f32::to_bits).into_iter().filter(|_| low == high);
            let endpoints =
                [[word; 2], [word, high], [low, word]].map(|endpoints| (endpoints, word));
            for (endpoints, word) in
                endpoints.into_iter().chain(simple.map(|bits| ([bits; 2], bits)))
            {
                let previous = self.fault.clone();
                if endpoints == [low, high] {
                    continue;
                }
                self.fault.endpoints[index].2 = endpoints;
                if let Some(member) = &mut self.fault.member {
                    member[index] = word;
                }
                if self.candidates_left > 0 && self.accept(self.best.clone(), &FAULT_BOX_ONLY) {
                    break;
                }
                self.fault = previous;
            }
        }
    }
}

/// Returns constants that may replace an expression; if it is a constant itself, simpler ones.
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

/// Returns the expression with an index in the order of [`Module::walk_expressions`].
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

/// Replaces the expression with an index in the order of `Module::walk_expressions`.
fn replace_expression(module: &mut Module, index: usize, replacement: Expr) {
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

/// Returns the number of uses of a name.
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
    // `fn material` without assignments returns its argument.
    let has_assignment =
        |function: &Function| function.body.iter().any(|stmt| matches!(stmt, Stmt::Assign(..)));
    module.functions.retain(|function| function.name != "material" || has_assignment(function));
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

    /// Injects a fault: bounding shaders compute `ceil` instead of `floor`.
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
    fn inlining_keeps_arguments_that_name_parameters_of_the_callee() {
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
    fn program_with_injected_fault_shrinks_to_a_few_lines() {
        let budget = CheckBudget { checks: 0, boxes: 40, members: 8, steps: 4 };
        let mut shrunk = 0;
        for seed in 0..200 {
            let mut trial = Trial { inject: break_floor, ..Trial::new(seed, &[Target::best()]) };
            let tally = trial.run(&budget);
            let Some(fault) =
                tally.faults.iter().find(|fault| fault.kind == FaultKind::OutsideBounds)
            else {
                continue;
            };
            let (mut small, found) = shrink(&trial, fault);
            assert_eq!(found.kind, FaultKind::OutsideBounds);
            let text = small.module.to_string();
            let programs = format!("{}\n{text}", trial.module);
            assert!(
                small.module.size() <= 90 && text.lines().count() <= 16,
                "{} {programs}",
                small.module.size()
            );
            assert!(small.module.size() < trial.module.size(), "{programs}");
            // The fault reproduces from the reported box alone.
            assert!(small.reproduces_alone(&found), "{programs}");
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
            shrinker.reproduce(self, &FAULT_BOX_ONLY).is_some()
        }
    }

    #[test]
    fn rejected_program_shrinks_and_keeps_the_error() {
        let mut trial = Trial::new(11, &[Target::best()]);
        let unknown = Expr::name(Ty::F32, "unknown");
        let brdf = trial.module.functions.last_mut().expect("the module has functions");
        brdf.body.insert(0, Stmt::Let("x".into(), unknown * 2.0));
        let tally = trial.run(&FAULT_BOX_ONLY);
        assert_eq!(tally.rejected, 1);
        let (mut small, found) = shrink(&trial, &tally.faults[0]);
        assert!(found.note.contains("unknown"), "{found}");
        assert!(small.module.size() < 60, "{}", small.module);
    }
}
