//! Fuses ifs with the same condition: `if c { A }  …  if c { B }` becomes `if c { A; B }`.
//!
//! Shaders guard `brdf` and `pdf` by the same test for directions below the surface. In one arm, value
//! numbering computes the half vector and whatever else both need only once, and one branch is left.
//!
//! The second if moves to the first one, after the operations between them that it needs. It must not
//! depend on the first if, or on other ifs and loops between them. Operations have no side effects, so
//! all values are preserved.

use crate::ir::function::{Block, Def, Function, If, Stmt, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum number of operations to move for an if; keeps the pass linear.
const MAX_MOVED: usize = 1000;

/// Runs the pass. Preserves all values.
pub fn run(function: &Function) -> Function {
    let mut body = function.body.clone();
    Fusion { function, sites: vec![None; function.len()], blocks: 0 }.block(&mut body);
    Function { body, ..function.clone() }
}

/// Where a block defines a value: in the statement at an index, or in an operation that moved before
/// that statement.
#[derive(Clone, Copy)]
struct DefinitionSite {
    block: u32,
    index: usize,
    has_moved: bool,
}

/// A statement, and the operations that moved before it.
struct Slot {
    moved: Vec<Stmt>,
    stmt: Option<Stmt>,
}

struct Fusion<'a> {
    function: &'a Function,
    sites: Vec<Option<DefinitionSite>>,
    /// Number of blocks so far.
    blocks: u32,
}

impl Fusion<'_> {
    fn block(&mut self, block: &mut Block) {
        if block.stmts.iter().filter(|stmt| matches!(stmt, Stmt::If(_))).count() > 1 {
            self.fuse_all(block);
        }
        for stmt in &mut block.stmts {
            match stmt {
                Stmt::Op(_) => {}
                Stmt::If(i) => {
                    self.block(&mut i.then);
                    self.block(&mut i.otherwise);
                }
                Stmt::Loop(l) => {
                    self.block(&mut l.head);
                    self.block(&mut l.body);
                }
            }
        }
    }

    /// Fuses the ifs of a block, but not those of nested blocks.
    fn fuse_all(&mut self, block: &mut Block) {
        self.blocks += 1;
        let mut slots: Vec<Slot> = Vec::with_capacity(block.stmts.len());
        // The last if with each condition.
        let mut last = FxHashMap::default();
        for stmt in std::mem::take(&mut block.stmts) {
            let index = slots.len();
            if let Stmt::If(second) = &stmt {
                let first = last.get(&second.cond).copied();
                if first.is_some_and(|first| self.fuse(&mut slots, first, second)) {
                    continue;
                }
                last.insert(second.cond, index);
            }
            match &stmt {
                Stmt::Op(value) => self.define(&[*value], index, false),
                Stmt::If(i) => self.define(&i.results, index, false),
                Stmt::Loop(l) => self.define(&l.results, index, false),
            }
            slots.push(Slot { moved: vec![], stmt: Some(stmt) });
        }
        block
            .stmts
            .extend(slots.into_iter().flat_map(|slot| slot.moved.into_iter().chain(slot.stmt)));
    }

    fn define(&mut self, values: &[Value], index: usize, has_moved: bool) {
        for value in values {
            self.sites[value.index()] =
                Some(DefinitionSite { block: self.blocks, index, has_moved });
        }
    }

    /// Moves an if into the one at an index, unless it depends on something that cannot move.
    fn fuse(&mut self, slots: &mut [Slot], first: usize, second: &If) -> bool {
        let Some(needed) = self.needed(slots, first, second) else { return false };
        for index in needed {
            let stmt = slots[index].stmt.take();
            if let Some(Stmt::Op(value)) = stmt {
                self.define(&[value], first, true);
            }
            slots[first].moved.extend(stmt);
        }
        let Some(Stmt::If(target)) = &mut slots[first].stmt else {
            unreachable!("the index is that of an if");
        };
        for (to, from) in
            [(&mut target.then, &second.then), (&mut target.otherwise, &second.otherwise)]
        {
            to.stmts.extend(from.stmts.iter().cloned());
            to.yields.extend(&from.yields);
        }
        target.results.extend(&second.results);
        self.define(&second.results, first, false);
        true
    }

    /// Indices of the operations after the if at `first` that another if needs, in order; `None` if it
    /// needs something that cannot move before it.
    fn needed(&self, slots: &[Slot], first: usize, second: &If) -> Option<Vec<usize>> {
        let mut needed = FxHashSet::default();
        let mut work = vec![];
        add_uses(self.function, &second.then, &mut work);
        add_uses(self.function, &second.otherwise, &mut work);
        while let Some(value) = work.pop() {
            let Some(site) = self.sites[value.index()] else { continue };
            if site.block != self.blocks
                || site.index < first
                || (site.index == first && site.has_moved)
                || needed.contains(&site.index)
            {
                continue;
            }
            if site.has_moved
                || !matches!(slots[site.index].stmt, Some(Stmt::Op(_)))
                || needed.len() == MAX_MOVED
            {
                return None;
            }
            needed.insert(site.index);
            if let Some((_, args)) = self.function.operation(value) {
                work.extend(args);
            }
        }
        let mut needed: Vec<usize> = needed.into_iter().collect();
        needed.sort_unstable();
        Some(needed)
    }
}

/// Adds the values that a block and its nested blocks use.
fn add_uses(function: &Function, block: &Block, uses: &mut Vec<Value>) {
    for stmt in &block.stmts {
        match stmt {
            Stmt::Op(value) => {
                let Def::Op { op, args } = &function.values[value.index()].def else {
                    unreachable!("statements define operations");
                };
                uses.extend(&args[..op.arity()]);
            }
            Stmt::If(i) => {
                uses.push(i.cond);
                add_uses(function, &i.then, uses);
                add_uses(function, &i.otherwise, uses);
            }
            Stmt::Loop(l) => {
                uses.extend(&l.init);
                uses.push(l.cond);
                add_uses(function, &l.head, uses);
                add_uses(function, &l.body, uses);
            }
        }
    }
    uses.extend(&block.yields);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::function::for_each_stmt;
    use crate::passes::lower;
    use crate::scattering::evaluate;
    use crate::testing::random::{self, Options};
    use crate::testing::same;
    use crate::{Settings, Shader, interpreter};

    fn count_ifs(function: &Function) -> usize {
        let mut ifs = 0;
        for_each_stmt(&function.body, &mut |stmt| ifs += usize::from(matches!(stmt, Stmt::If(_))));
        ifs
    }

    /// The function `evaluate` of a shader with these statements in `pdf`.
    fn evaluated(pdf: &str) -> Function {
        let text = format!(
            "fn lobe(wi: vec3f, wo: vec3f) -> f32 {{\n\
                 let h = normalize(wi + wo);\n\
                 return exp(-pow(h.x / h.z, 2.0) - pow(h.y / h.z, 2.0)) / pow(h.z, 4.0);\n\
             }}\n\
             fn brdf(wi: vec3f, wo: vec3f) -> vec3f {{\n\
                 if wi.z <= 0.0 || wo.z <= 0.0 {{ return vec3f(0.0); }}\n\
                 return vec3f(lobe(wi, wo));\n\
             }}\n\
             fn sample(u: vec2f, wo: vec3f) -> vec3f {{ return vec3f(0.0, 0.0, 1.0); }}\n\
             fn pdf(wi: vec3f, wo: vec3f) -> f32 {{ {pdf} }}\n"
        );
        let shader = Shader::parse("test.wgsl", &text).unwrap();
        evaluate(&shader, &Settings::default()).unwrap()
    }

    #[test]
    fn guards_of_value_and_density_are_one() {
        let guarded =
            evaluated("if wi.z <= 0.0 || wo.z <= 0.0 { return 0.0; } return 2.0 * lobe(wi, wo);");
        let fused = run(&guarded);
        assert_eq!((count_ifs(&guarded), count_ifs(&fused)), (2, 1), "{guarded}\n{fused}");
        let lowered = lower(&guarded).to_string();
        assert_eq!(lowered.matches("sqrt").count(), 1, "{lowered}");
        // Another condition.
        let other = evaluated("if wi.z <= 0.5 { return 0.0; } return 2.0 * lobe(wi, wo);");
        assert_eq!(count_ifs(&run(&other)), 2);
    }

    /// Gives all ifs of a block the condition of the first one.
    fn unify_conditions(block: &mut Block) {
        let mut first = None;
        for stmt in &mut block.stmts {
            match stmt {
                Stmt::Op(_) => {}
                Stmt::If(i) => {
                    i.cond = *first.get_or_insert(i.cond);
                    unify_conditions(&mut i.then);
                    unify_conditions(&mut i.otherwise);
                }
                Stmt::Loop(l) => {
                    unify_conditions(&mut l.head);
                    unify_conditions(&mut l.body);
                }
            }
        }
    }

    #[test]
    fn values_are_preserved() {
        let mut fused = 0;
        for seed in 0..2000 {
            let mut before = random::function(seed, &Options::any(seed, false));
            unify_conditions(&mut before.body);
            let after = run(&before);
            crate::ir::verify::verify(&after).unwrap_or_else(|e| panic!("{e}\n{before}\n{after}"));
            fused += count_ifs(&before) - count_ifs(&after);
            for row in random::special_rows(&before.inputs, 4, seed) {
                let [a, b] = [&before, &after].map(|function| {
                    interpreter::run(function, &random::tables(), &row, 1 << 22).unwrap()
                });
                for (port, (a, b)) in before.outputs.iter().zip(a.into_iter().zip(b)) {
                    assert!(same(port.ty, a, b), "seed {seed}\n{before}\n{after}");
                }
            }
        }
        assert!(fused > 50, "{fused} ifs were fused");
    }
}
