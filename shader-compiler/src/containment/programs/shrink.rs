//! Makes programs that show a fault small enough to be read.
//!
//! As in C-Reduce (Regehr et al. 2012), passes propose smaller variants, and one is kept where the fault is still there, until no pass finds
//! any: statements are dropped or replaced by what is in them, expressions by parts of theirs and by constants, names by what they stand
//! for, declarations that nothing uses go. Variants need not be valid; the front end rejects those that are not. Then the box
//! shrinks to the member where it may. The number of variants that are tried is limited.

use super::ast::{Expr, Function, Global, Kind, Module, Stmt, Ty};
use super::trial::{Effort, Trial};
use crate::bounding::{Frame, Ranges, Spans};
use crate::containment::{Fault, Plan, Sample, Subject, Wrong};
use crate::target::Target;

/// Tries so many variants.
const TRIES: usize = 1500;

/// Boxes that are tried beside the one that showed the fault, for a variant may show it elsewhere.
const ELSEWHERE: Effort = Effort { checks: 0, boxes: 12, members: 6, steps: 4 };

/// The same for variants whose inputs are others.
const ANYWHERE: Effort = Effort { checks: 0, boxes: 100, members: 8, steps: 8 };

const NOWHERE: Effort = Effort { checks: 0, boxes: 0, members: 0, steps: 0 };

/// A smaller program with the same kind of fault, and the fault that it shows.
pub fn shrink(trial: &Trial, fault: &Fault) -> (Trial, Fault) {
    let mut first = trial.clone();
    if !matches!(fault.wrong, Wrong::Panics | Wrong::Rejected) {
        first.plan = Plan::only(fault.options, fault.parts);
        first.target = fault.target;
    }
    let mut shrinker = Shrinker { best: first, fault: fault.clone(), left: TRIES };
    if shrinker.again(&shrinker.best, &NOWHERE).is_none() {
        // It takes the other kinds of bounding shaders to show it.
        shrinker.best = trial.clone();
    }
    shrinker.run();
    (shrinker.best, shrinker.fault)
}

struct Shrinker {
    best: Trial,
    fault: Fault,
    /// Variants that may be tried still.
    left: usize,
}

impl Shrinker {
    fn run(&mut self) {
        loop {
            let before = (self.best.module.size(), self.left);
            self.settings();
            self.statements();
            self.expressions();
            self.inline();
            self.declarations();
            if self.best.module.size() >= before.0 || self.left == 0 {
                break;
            }
        }
        self.shrink_box();
    }

    /// The fault, if a variant has it too.
    fn again(&self, trial: &Trial, effort: &Effort) -> Option<Fault> {
        let tally = trial.run_on(effort, |subject| self.sample(subject).into_iter().collect());
        let start = |note: &str| note.chars().take(30).collect::<String>();
        let by_message = matches!(self.fault.wrong, Wrong::Panics | Wrong::Rejected);
        tally
            .faults
            .into_iter()
            .find(|found| found.wrong == self.fault.wrong && (!by_message || start(&found.note) == start(&self.fault.note)))
    }

    /// The box of the fault, of the inputs that a variant has.
    fn sample(&self, subject: &Subject) -> Option<Sample> {
        let mut sample = Sample { ends: vec![], members: vec![vec![]] };
        for (port, input) in std::iter::zip(&subject.point.inputs, &subject.inputs) {
            let index = self.fault.ends.iter().position(|(name, ..)| *name == port.name)?;
            let (_, ty, ends) = &self.fault.ends[index];
            let word = self.fault.member.as_ref().map_or(ends[0], |member| member[index]);
            let fits = *ty == port.ty && [ends[0], ends[1], word].into_iter().all(|word| input.bounds.contains(word));
            sample.ends.push(if input.interval { *ends } else { [word; 2] });
            sample.members[0].push(word);
            fits.then_some(())?;
        }
        Some(sample)
    }

    /// Keeps a variant if it has the fault.
    fn accept(&mut self, trial: Trial, effort: &Effort) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let Some(fault) = self.again(&trial, effort) else { return false };
        (self.best, self.fault) = (trial, fault);
        true
    }

    /// Keeps a smaller module if it has the fault.
    fn accept_module(&mut self, mut module: Module) -> bool {
        sweep(&mut module);
        module.size() < self.best.module.size() && self.accept(Trial { module, ..self.best.clone() }, &ELSEWHERE)
    }

    /// Simplifies what a program is checked for.
    fn settings(&mut self) {
        let simplify: [fn(&mut Trial); 5] = [
            |trial| trial.deep = false,
            |trial| trial.frame = Frame::Local,
            |trial| trial.ranges = Ranges::Declared,
            |trial| trial.spans = Spans::Light,
            |trial| trial.target = Target::best(),
        ];
        for simplify in simplify {
            let mut next = self.best.clone();
            simplify(&mut next);
            if next.settings() != self.best.settings() {
                self.accept(next, &ANYWHERE);
            }
        }
    }

    /// Drops statements, from the last one, or puts what is in them in their place.
    fn statements(&mut self) {
        let mut count = 0;
        self.best.module.walk_blocks(&mut |block| count += block.len());
        for index in (0..count).rev() {
            for way in 0..4 {
                let mut module = self.best.module.clone();
                if edit_statement(&mut module, index, way) && self.accept_module(module) {
                    break;
                }
            }
        }
    }

    /// Replaces expressions by parts of theirs and by constants, from the outside in.
    fn expressions(&mut self) {
        let mut index = 0;
        while let Some(expr) = expression(&mut self.best.module, index) {
            let mut options = constants(&expr);
            let mut parts = vec![];
            expr.walk(&mut |part| parts.push(part.clone()));
            options.extend(parts.into_iter().skip(1).filter(|part| part.ty == expr.ty).take(6));
            if let Kind::Call(name, args) = &expr.kind
                && matches!(expr.ty, Ty::Vec(_))
                && name.starts_with("vec")
                && args.len() > 1
            {
                let floats = args.iter().filter(|arg| arg.ty == Ty::F32);
                options.extend(floats.map(|arg| Expr::call(name, vec![arg.clone()])));
            }
            let changed = options.into_iter().any(|option| {
                let mut module = self.best.module.clone();
                replace(&mut module, index, option);
                self.accept_module(module)
            });
            index += usize::from(!changed);
        }
    }

    /// Puts values in the place of names that are used once, or that stand for a name or a constant.
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
        let calls: Vec<_> = self.best.module.functions.iter().map(|function| function.name.clone()).collect();
        for name in calls {
            let mut module = self.best.module.clone();
            if inline_function(&mut module, &name) {
                self.accept_module(module);
            }
        }
    }

    /// Simplifies members of the material and what is declared outside of functions.
    fn declarations(&mut self) {
        let with = |change: &dyn Fn(&mut Module)| {
            let mut module = self.best.module.clone();
            change(&mut module);
            module
        };
        let mut variants = vec![with(&|module| module.two_sided = false)];
        for index in 0..self.best.module.globals.len() {
            variants.push(with(&|module| {
                // A constant becomes its value.
                if let Global::Const(name, value) | Global::Override(name, value) | Global::Private(name, value) =
                    module.globals[index].clone()
                {
                    replace_name(module, &name, &value);
                }
            }));
        }
        for module in variants {
            self.accept_module(module);
        }
    }

    /// Replaces intervals by the member's numbers, and numbers by simpler ones, as far as the fault is still there.
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
                if self.left > 0 && self.accept(self.best.clone(), &NOWHERE) {
                    break;
                }
                self.fault = kept;
            }
        }
    }
}

/// Constants of an expression's type, unless it is one.
fn constants(expr: &Expr) -> Vec<Expr> {
    let of = |kind| Expr::new(expr.ty, kind);
    match (expr.ty, &expr.kind) {
        (Ty::F32, Kind::Float(x)) if x.fract() != 0.0 => vec![0.5.into(), 1.0.into()],
        (_, Kind::Float(_) | Kind::Int(_) | Kind::Bool(_)) => vec![],
        (Ty::F32, _) => vec![0.0.into(), 1.0.into(), 0.5.into()],
        (Ty::I32 | Ty::U32, _) => vec![of(Kind::Int(0)), of(Kind::Int(1))],
        (Ty::Bool, _) => vec![of(Kind::Bool(false)), of(Kind::Bool(true))],
        (Ty::Vec(n), _) => [0.0, 1.0].map(|x| Expr::call(&format!("vec{n}f"), vec![Expr::from(x)])).into(),
        _ => vec![],
    }
}

/// The expression of a number, in the order of [`Module::walk_expressions`].
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

fn replace(module: &mut Module, index: usize, by: Expr) {
    let (mut next, mut by) = (0, Some(by));
    module.walk_expressions(&mut |expr| {
        next += 1;
        if next == index + 1
            && let Some(by) = by.take()
        {
            *expr = by;
        }
    });
}

/// Drops a statement, or puts one of its blocks in its place. Says whether there is such a way.
fn edit_statement(module: &mut Module, index: usize, way: usize) -> bool {
    let (mut next, mut done) = (0, false);
    module.walk_blocks(&mut |block| {
        let first = next;
        next += block.len();
        if done || !(first..next).contains(&index) {
            return;
        }
        let at = index - first;
        if way == 0 {
            block.remove(at);
            done = true;
        } else if let Some(inner) = block[at].blocks_mut().into_iter().nth(way - 1).map(std::mem::take)
            && !inner.is_empty()
        {
            block.splice(at..=at, inner);
            done = true;
        }
    });
    done
}

/// Counts the uses of a name.
fn uses(module: &mut Module, name: &str) -> usize {
    let mut count = 0;
    module.walk_expressions(&mut |expr| count += usize::from(matches!(&expr.kind, Kind::Name(found) if found == name)));
    count
}

/// Replaces a variable by its value where that makes nothing longer.
fn inline_value(module: &mut Module, name: &str) -> bool {
    let mut value = None;
    module.walk_blocks(&mut |block| {
        block.retain(|stmt| match stmt {
            Stmt::Let(found, it) | Stmt::Var(found, it) if found == name => {
                value = Some(it.clone());
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

fn replace_name(module: &mut Module, name: &str, value: &Expr) {
    module.rewrite_expressions(&mut |expr| {
        if matches!(&expr.kind, Kind::Name(found) if found == name) {
            *expr = value.clone();
        }
    });
}

/// Replaces calls of a function by what it returns, if that is all it does.
fn inline_function(module: &mut Module, name: &str) -> bool {
    let Some(Function { parameters, body, .. }) = module.functions.iter().find(|function| function.name == name).cloned()
    else {
        return false;
    };
    let [Stmt::Return(result)] = &body[..] else { return false };
    let mut found = false;
    module.rewrite_expressions(&mut |expr| {
        let Kind::Call(called, args) = &expr.kind else { return };
        if called != name {
            return;
        }
        let mut inlined = result.clone();
        // Innermost first, since an argument may itself contain a variable named like a parameter.
        inlined.rewrite(&mut |inner| {
            let Kind::Name(used) = &inner.kind else { return };
            if let Some(k) = parameters.iter().position(|parameter| parameter.name == *used) {
                *inner = args[k].clone();
            }
        });
        *expr = inlined;
        found = true;
    });
    found
}

/// Drops what nothing uses: functions, members of the material, declarations.
fn sweep(module: &mut Module) {
    loop {
        let before = module.functions.len();
        let mut called = vec!["brdf".to_owned(), "material".to_owned()];
        module.walk_expressions(&mut |expr| {
            if let Kind::Call(name, _) = &expr.kind {
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
            Kind::Name(name) => names.push(name.clone()),
            Kind::Member(_, name) => members.push(name.clone()),
            _ => {}
        }
    });
    // `fn material` that only hands on what it was given computes nothing.
    let assigns = |function: &Function| function.body.iter().any(|stmt| matches!(stmt, Stmt::Assign(..)));
    module.functions.retain(|function| function.name != "material" || assigns(function));
    module.members.retain(|member| members.contains(&member.name));
    module.globals.retain(|global| match global {
        Global::Const(name, _) | Global::Override(name, _) | Global::Private(name, _) => names.contains(name),
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
    use crate::containment::Wrong;
    use crate::ir::{Def, Op};
    use crate::lift::Lifted;

    /// Makes bounding shaders round up where they should round down.
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
            let parameters = parameters.iter().map(|&name| Parameter { name: name.into(), ty: Ty::F32, is_pointer: false });
            Function { name: name.into(), parameters: parameters.collect(), result: Ty::F32, body: vec![Stmt::Return(result)] }
        };
        let sum = &x * &x + Expr::name(Ty::F32, "a");
        let call = Expr::new(Ty::F32, Kind::Call("f_1".into(), vec![&x * 0.5, x.clone()]));
        let mut module =
            Module { functions: vec![function("f_1", &["x", "a"], sum), function("f_2", &["x"], call)], ..Module::default() };
        assert!(inline_function(&mut module, "f_1"));
        assert_eq!(module.functions[1].body, [Stmt::Return((&x * 0.5) * (&x * 0.5) + &x)]);
    }

    #[test]
    fn a_fault_shrinks_to_what_shows_it() {
        let effort = Effort { checks: 0, boxes: 40, members: 8, steps: 4 };
        let mut shrunk = 0;
        for seed in 0..200 {
            let mut trial = Trial { change: break_floor, ..Trial::new(seed, &[Target::best()]) };
            let tally = trial.run(&effort);
            let Some(fault) = tally.faults.iter().find(|fault| fault.wrong == Wrong::Escapes) else { continue };
            let (mut small, found) = shrink(&trial, fault);
            assert_eq!(found.wrong, Wrong::Escapes);
            let text = small.module.to_string();
            let told = format!("{}\n{text}", trial.module);
            assert!(small.module.size() <= 90 && text.lines().count() <= 16, "{} {told}", small.module.size());
            assert!(small.module.size() < trial.module.size(), "{told}");
            // It still shows the fault, with its box alone.
            assert!(small.again_alone(&found), "{told}");
            assert!(report(&small, &found).contains("lightbound shader bound"));
            shrunk += 1;
            if shrunk == 4 {
                return;
            }
        }
        panic!("no program shows the fault");
    }

    impl Trial {
        fn again_alone(&self, fault: &Fault) -> bool {
            let shrinker = Shrinker { best: self.clone(), fault: fault.clone(), left: 1 };
            shrinker.again(self, &NOWHERE).is_some()
        }
    }

    #[test]
    fn programs_that_are_rejected_shrink_too() {
        let mut trial = Trial::new(11, &[Target::best()]);
        let unknown = Expr::name(Ty::F32, "unknown");
        let brdf = trial.module.functions.last_mut().expect("there is one");
        brdf.body.insert(0, Stmt::Let("x".into(), unknown * 2.0));
        let tally = trial.run(&NOWHERE);
        assert_eq!(tally.rejected, 1);
        let (mut small, found) = shrink(&trial, &tally.faults[0]);
        assert!(found.note.contains("unknown"), "{found}");
        assert!(small.module.size() < 60, "{}", small.module);
    }
}
