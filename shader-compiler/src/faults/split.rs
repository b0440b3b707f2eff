//! Proofs that an operation does not fail, by branch and bound.

use super::FaultKind;
use super::check::possible_fault;
use super::domain::{Domain, Region};
use super::slice::{Site, Slice};
use crate::analysis::conditions::Clips;
use crate::analysis::solve::{self, Facts, Ranges};
use crate::analysis::{Bounds, Constraint, Floats};
use crate::interval::Nan;
use crate::ir::function::ValueData;
use crate::ir::{Block, Function, Stmt, Type, Value};
use crate::relations::{self, OF_POINTS};
use std::collections::VecDeque;

/// Static bounds of the values of a function, for boxes of inputs.
pub(super) struct Analysis<'a> {
    function: &'a Function,
    domain: &'a Domain,
    clips: Clips,
    constraints: Vec<Constraint>,
    is_interval: Vec<bool>,
    /// Work of one run: the number of operations, counted several times in loops.
    cost: usize,
}

/// The outcome of a proof.
pub(super) enum Proof {
    /// The operation cannot fail.
    Excluded,
    /// It could not be excluded that it fails in this way.
    Undecided(FaultKind),
}

impl<'a> Analysis<'a> {
    /// The analysis of an entire function. Relations between the components of unit vectors, and
    /// between others, constrain its values.
    pub fn new(function: &'a Function, domain: &'a Domain) -> Analysis<'a> {
        let finite = |ty: Type| match ty {
            Type::F32 => Constraint::observe(Bounds::Float(Floats::finite())),
            ty => Constraint::none(ty),
        };
        let known = |(index, data): (usize, &ValueData)| {
            finite(data.ty).and(&domain.constraint(function, Value(index as u32)))
        };
        let constraints = function.values.iter().enumerate().map(known).collect();
        let mut analysis = Analysis::with(function, domain, constraints);
        let inputs = domain.bounds(&domain.hull());
        let solve = |constraints: &[Constraint]| {
            let both = std::iter::zip(constraints, &analysis.constraints);
            let facts = Facts {
                constraints: Some(both.map(|(a, b)| a.and(b)).collect()),
                clips: Some(&analysis.clips),
                ..Facts::default()
            };
            Ranges::solve(function, &analysis.is_interval, &inputs, Nan::Ignore, facts)
        };
        let related = relations::run(
            function,
            &vec![true; function.len()],
            &domain.axes(),
            vec![],
            OF_POINTS.into_iter().collect(),
            Nan::Suppress,
            &analysis.clips,
            solve,
        );
        analysis.constraints = std::iter::zip(&related.constraints, &analysis.constraints)
            .map(|(a, b)| a.and(b))
            .collect();
        analysis
    }

    /// The analysis of a slice of a function with these constraints.
    pub fn of_slice(
        slice: &'a Slice,
        constraints: &[Constraint],
        domain: &'a Domain,
    ) -> Analysis<'a> {
        let function = &slice.function;
        let mut copied: Vec<_> =
            function.values.iter().map(|data| Constraint::none(data.ty)).collect();
        for (constraint, copy) in std::iter::zip(constraints, &slice.copies) {
            if let Some(copy) = copy {
                copied[copy.index()] = *constraint;
            }
        }
        Analysis::with(function, domain, copied)
    }

    fn with(
        function: &'a Function,
        domain: &'a Domain,
        constraints: Vec<Constraint>,
    ) -> Analysis<'a> {
        let mut analysis = Analysis {
            function,
            domain,
            clips: Clips::default(),
            constraints,
            is_interval: vec![false; function.len()],
            cost: 1 + cost(&function.body),
        };
        // Clips of the whole domain hold in each box.
        for _ in 0..2 {
            let bounds = analysis.bounds(&domain.hull());
            let clips = Clips::find(function, &analysis.is_interval, &bounds);
            if !clips.contains(&analysis.clips) {
                break;
            }
            analysis.clips = clips;
        }
        analysis
    }

    /// What is known of the values up to the first fault.
    pub fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }

    /// The bounds of all values, for inputs in a box and up to the first fault.
    pub fn bounds(&self, region: &Region) -> Vec<Bounds> {
        let facts = Facts {
            constraints: Some(self.constraints.clone()),
            clips: Some(&self.clips),
            ..Facts::default()
        };
        let inputs = self.domain.bounds(region);
        solve::run(self.function, &self.is_interval, &inputs, Nan::Ignore, facts)
    }

    /// How a site may fail for inputs in a box, and a measure of how far its operands are from being
    /// known.
    fn fault(&self, site: &Site, region: &Region) -> Option<(FaultKind, f64)> {
        let bounds = self.bounds(region);
        let kind = possible_fault(self.function, site, &bounds)?;
        let (_, args) = self.function.operation(site.value).expect("sites are operations");
        let width = |value: &Value| match &bounds[value.index()] {
            Bounds::Float(floats) => ordinal(floats.high()) - ordinal(floats.low()),
            Bounds::Int(ints) => {
                ints.hull().map_or(0.0, |[low, high]| f64::from(high) - f64::from(low))
            }
            Bounds::Bool(_) => 0.0,
        };
        // Only the divisor decides whether it is zero.
        let decisive = match kind {
            FaultKind::DivisionByZero | FaultKind::IntegerDivisionByZero if args.len() == 2 => {
                &args[1..]
            }
            _ => args,
        };
        Some((kind, decisive.iter().map(width).sum()))
    }

    /// Tries to prove that a site does not fail in the domain, with limited work. `inputs` are those
    /// that it depends on. `visit` is called for each undecided box and ends the search if it returns
    /// true.
    pub fn prove(
        &self,
        site: &Site,
        inputs: &[usize],
        work: &mut usize,
        mut visit: impl FnMut(&Region) -> bool,
    ) -> Proof {
        let mut queue: VecDeque<(Region, FaultKind)> = VecDeque::new();
        for region in &self.domain.regions {
            queue.extend(self.fault(site, region).map(|(kind, _)| (region.clone(), kind)));
        }
        while let Some((region, kind)) = queue.pop_front() {
            if visit(&region) {
                return Proof::Undecided(kind);
            }
            let needed = 2 * inputs.len() * self.cost;
            if *work < needed {
                return Proof::Undecided(kind);
            }
            *work -= needed;
            let mut best: Option<(f64, Vec<(Region, FaultKind)>)> = None;
            for &input in inputs {
                let Some(halves) = self.domain.split(&region, input) else { continue };
                let halves: Vec<_> = halves
                    .into_iter()
                    .filter_map(|half| {
                        self.fault(site, &half).map(|(kind, width)| (half, kind, width))
                    })
                    .collect();
                let width = halves.iter().map(|half| half.2).sum();
                if best.as_ref().is_none_or(|(least, _)| width < *least) {
                    let halves = halves.into_iter().map(|(half, kind, _)| (half, kind)).collect();
                    best = Some((width, halves));
                }
            }
            match best {
                Some((_, halves)) => queue.extend(halves),
                // A single row of inputs.
                None => return Proof::Undecided(kind),
            }
        }
        Proof::Excluded
    }
}

/// The number of operations in a block, counted several times in loops, which are solved by
/// iteration.
fn cost(block: &Block) -> usize {
    const ITERATIONS: usize = 12;
    let of = |stmt: &Stmt| match stmt {
        Stmt::Op(_) => 1,
        Stmt::If(node) => 1 + cost(&node.then) + cost(&node.otherwise),
        Stmt::Loop(node) => ITERATIONS * (1 + cost(&node.head) + cost(&node.body)),
    };
    block.stmts.iter().map(of).sum()
}

/// The position of a float among all floats, so that small ones count as much as large ones.
fn ordinal(x: f32) -> f64 {
    let bits = x.to_bits();
    let magnitude = f64::from(bits & 0x7fff_ffff);
    if x.is_sign_negative() { -magnitude } else { magnitude }
}
