//! Loops that are alike: the same statements on the same values, but for the names of what they define.
//!
//! Operations are numbered one by one as they are appended ([`super::builder`]); a loop can be only once it is whole. Functions that are
//! put together of parts repeat loops, since each part computes what it needs.

use super::function::{Block, Function, Loop, Stmt, Value};
use rustc_hash::FxHashMap;

/// What the values of a loop are called in another.
pub(super) struct Alike<'a> {
    function: &'a Function,
    names: FxHashMap<Value, Value>,
}

impl<'a> Alike<'a> {
    /// Compares `new` with `old`, both of `function`; `None` where they are not alike. Results, which say what is used afterwards, may
    /// differ.
    pub fn of(function: &'a Function, new: &Loop, old: &Loop) -> Option<Alike<'a>> {
        let mut alike = Alike { function, names: FxHashMap::default() };
        alike.rounds(new, old).then_some(alike)
    }

    /// The old loop's name of a value.
    pub fn name(&self, value: Value) -> Value {
        self.names.get(&value).copied().unwrap_or(value)
    }

    fn same(&self, new: &[Value], old: &[Value]) -> bool {
        new.len() == old.len() && std::iter::zip(new, old).all(|(&new, &old)| self.name(new) == old)
    }

    fn rename(&mut self, new: &[Value], old: &[Value]) -> bool {
        self.names.extend(std::iter::zip(new, old).map(|(&new, &old)| (new, old)));
        new.len() == old.len()
    }

    /// All but the yields of the head.
    fn rounds(&mut self, new: &Loop, old: &Loop) -> bool {
        self.same(&new.init, &old.init)
            && self.rename(&new.params, &old.params)
            && self.stmts(&new.head.stmts, &old.head.stmts)
            && self.name(new.cond) == old.cond
            && self.block(&new.body, &old.body)
    }

    fn block(&mut self, new: &Block, old: &Block) -> bool {
        self.stmts(&new.stmts, &old.stmts) && self.same(&new.yields, &old.yields)
    }

    fn stmts(&mut self, new: &[Stmt], old: &[Stmt]) -> bool {
        new.len() == old.len() && std::iter::zip(new, old).all(|(new, old)| self.stmt(new, old))
    }

    fn stmt(&mut self, new: &Stmt, old: &Stmt) -> bool {
        match (new, old) {
            (&Stmt::Op(new), &Stmt::Op(old)) => self.operation(new, old) && self.rename(&[new], &[old]),
            (Stmt::If(new), Stmt::If(old)) => {
                self.name(new.cond) == old.cond
                    && self.block(&new.then, &old.then)
                    && self.block(&new.otherwise, &old.otherwise)
                    && self.rename(&new.results, &old.results)
            }
            (Stmt::Loop(new), Stmt::Loop(old)) => {
                self.rounds(new, old)
                    && self.same(&new.head.yields, &old.head.yields)
                    && self.rename(&new.results, &old.results)
            }
            _ => false,
        }
    }

    fn operation(&self, new: Value, old: Value) -> bool {
        let (Some((op, new)), Some((other, old))) = (self.function.operation(new), self.function.operation(old)) else {
            return false;
        };
        // Arguments of commutative operations stand in the order of their names.
        op == other && (self.same(new, old) || op.is_commutative() && self.same(&[new[1], new[0]], &old[..2]))
    }
}
