//! The builder, which constructs all functions and simplifies them on the fly.
//!
//! Each appended operation goes through four steps:
//!
//! 1. Constant folding, if its arguments are constants.
//! 2. Algebraic simplification (`simplify`).
//! 3. Global value numbering by hash-consing. A scoped table suffices, since dominance is nesting.
//! 4. Loop-invariant code motion out of all loops in which it is invariant. This is always legal,
//!    since operations are pure.
//!
//! Ifs with cheap arms become selects, unless the condition is an `any`. A loop that is
//! `isomorphic` to one in scope is merged with it. A pass that rebuilds a function through a
//! builder gets all of this.

mod isomorphic;
pub mod rewrite;
pub(crate) mod simplify;
pub(crate) mod value_tracking;

pub use simplify::Rules;

use crate::ir::function::{Block, Def, Function, If, Loop, Port, Stmt, Value, ValueData};
use crate::ir::op::{Emit, Op};
use crate::ir::types::Type;
use isomorphic::{Correspondence, correspondence};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Key of value numbering: an op and its arguments, in canonical order if the op is commutative.
/// Packed into two words: hashing an array just written element by element causes store-forwarding
/// stalls.
type Key = (u64, u64);

/// Packs a key.
fn key_of(op: Op, [a, b, c]: [Value; 3]) -> Key {
    (op as u64 | u64::from(a.0) << 32, u64::from(b.0) | u64::from(c.0) << 32)
}

/// The role of an open block.
#[derive(Clone, Debug)]
enum ScopeKind {
    /// The function's body, or an arm of an if.
    StraightLine,
    /// Head of a loop.
    Head { init: Vec<Value>, params: Vec<Value> },
    /// Body of a loop, within the scope of its head.
    Body { cond: Value, exits: Vec<Value> },
}

#[derive(Debug)]
struct Scope {
    kind: ScopeKind,
    stmts: Vec<Stmt>,
    /// Keys to remove from the value table when the scope closes.
    keys: Vec<Key>,
}

/// Builds a [`Function`].
#[derive(Debug)]
pub struct Builder {
    function: Function,
    rules: Rules,
    speculation: Option<u32>,
    /// Whether operations move out of loops in which they are invariant.
    hoisting: bool,
    scopes: Vec<Scope>,
    /// Index of the scope in which each value is defined.
    levels: Vec<u32>,
    constants: FxHashMap<(Type, u32), Value>,
    /// Operations in scope.
    value_table: FxHashMap<Key, Value>,
    /// Origin of the next values; see [`ValueData`].
    origin: Option<Value>,
}

/// Default maximum cost of a speculated arm, in cheap basic operations. Ifs with two such arms
/// become selects.
const SPECULATION_LIMIT: u32 = 6;

/// Approximate cost of an operation, in cheap basic operations.
pub(crate) fn cost_of(op: Op) -> u32 {
    op.facts().cost.weight()
}

impl Builder {
    /// Starts an empty function.
    pub fn new(name: &str, rules: Rules) -> Builder {
        let function = Function {
            name: name.to_owned(),
            inputs: vec![],
            outputs: vec![],
            body: Block::default(),
            values: Vec::with_capacity(256),
        };
        let scope = Scope { kind: ScopeKind::StraightLine, stmts: vec![], keys: vec![] };
        Builder {
            function,
            rules,
            speculation: Some(SPECULATION_LIMIT),
            hoisting: true,
            scopes: vec![scope],
            levels: vec![],
            constants: FxHashMap::default(),
            value_table: FxHashMap::default(),
            origin: None,
        }
    }

    /// Sets the maximum cost of speculated arms, in cheap basic operations. `None` keeps all ifs,
    /// which suits conditions that are uniform over the group.
    pub fn set_speculation(&mut self, cost: Option<u32>) {
        self.speculation = cost;
    }

    /// Keeps every operation where control flow reaches it: ifs do not become selects, and nothing
    /// moves out of loops. So an operation runs only if the program runs it.
    pub(crate) fn keep_control_flow(&mut self) {
        self.speculation = None;
        self.hoisting = false;
    }

    /// The enabled simplifications.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// The function so far.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// Type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.function.ty(value)
    }

    /// Sets the [origin](ValueData::origin) of the next values; returns the previous one.
    pub(crate) fn set_origin(&mut self, origin: Option<Value>) -> Option<Value> {
        std::mem::replace(&mut self.origin, origin)
    }

    /// Sets the [origin](ValueData::origin) of a value; returns the previous one.
    pub(crate) fn replace_origin(&mut self, value: Value, origin: Value) -> Option<Value> {
        self.function.values[value.index()].origin.replace(origin)
    }

    /// Reserves space for about `values` values.
    pub(crate) fn reserve(&mut self, values: usize) {
        self.function.values.reserve(values);
        self.levels.reserve(values);
        self.value_table.reserve(values);
    }

    /// Number of open blocks.
    pub(crate) fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// Index of the scope in which a value is defined. The value is invariant in deeper scopes.
    pub(crate) fn level(&self, value: Value) -> usize {
        self.levels[value.index()] as usize
    }

    /// The value of a bool, if it is constant.
    pub fn known_bool(&self, value: Value) -> Option<bool> {
        self.function.constant(value).map(|bits| bits != 0)
    }

    /// Adds an input to the function.
    pub fn input(&mut self, name: &str, ty: Type) -> Value {
        let value = self.define(ty, Def::Input(self.function.inputs.len() as u32), 0);
        self.function.inputs.push(Port { name: name.to_owned(), ty });
        value
    }

    fn define(&mut self, ty: Type, def: Def, level: usize) -> Value {
        let value = Value(self.function.values.len() as u32);
        self.function.values.push(ValueData { ty, def, origin: self.origin });
        self.levels.push(level as u32);
        value
    }

    /// Appends an operation, or returns an existing value that equals its result.
    fn append(&mut self, op: Op, args: &[Value]) -> Value {
        debug_assert_eq!(args.len(), op.arity(), "{} takes {} arguments", op.name(), op.arity());
        debug_assert!(
            self.types_match(op, args),
            "arguments of {} must have the right types",
            op.name()
        );
        if let Some(bits) = self.fold(op, args) {
            return self.constant(self.result_type(op, args), bits);
        }
        let arity = args.len();
        // Missing arguments are the first one.
        let mut args = match *args {
            [a] => [a; 3],
            [a, b] => [a, b, a],
            [a, b, c] => [a, b, c],
            _ => unreachable!("operations have one to three arguments"),
        };
        if op.is_commutative() && self.sort_key(args[0]) > self.sort_key(args[1]) {
            args.swap(0, 1);
            if arity < 3 {
                args[2] = args[0];
            }
        }
        if let Some(value) = simplify::simplify(self, op, &args[..arity]) {
            return value;
        }
        let ty = self.result_type(op, &args[..arity]);
        let key = key_of(op, args);
        let entry = match self.value_table.entry(key) {
            Entry::Occupied(entry) => return *entry.get(),
            Entry::Vacant(entry) => entry,
        };
        let level = match self.hoisting {
            true => placement(&self.scopes, &self.levels, &args[..arity]),
            false => self.scopes.len() - 1,
        };
        let value = Value(self.function.values.len() as u32);
        entry.insert(value);
        self.define(ty, Def::Op { op, args }, level);
        self.scopes[level].stmts.push(Stmt::Op(value));
        // The scope of the function's body closes last.
        if level > 0 {
            self.scopes[level].keys.push(key);
        }
        value
    }

    /// Sort key of the arguments of commutative operations: constants come last.
    fn sort_key(&self, value: Value) -> (bool, Value) {
        (self.function.constant(value).is_some(), value)
    }

    /// Evaluates an operation if its arguments are constants.
    fn fold(&self, op: Op, args: &[Value]) -> Option<u32> {
        if op.is_load() {
            return None;
        }
        let mut words = [0; 3];
        for (word, &arg) in words.iter_mut().zip(args) {
            *word = self.function.constant(arg)?;
        }
        Some(op.eval(&words[..args.len()]))
    }

    fn result_type(&self, op: Op, args: &[Value]) -> Type {
        op.signature().result.unwrap_or_else(|| self.ty(args[args.len() - 1]))
    }

    fn types_match(&self, op: Op, args: &[Value]) -> bool {
        let mut any = None;
        op.signature().args.iter().zip(args).all(|(expected, &arg)| match expected {
            Some(ty) => *ty == self.ty(arg),
            None => *any.get_or_insert(self.ty(arg)) == self.ty(arg),
        })
    }

    fn open(&mut self, kind: ScopeKind) {
        self.scopes.push(Scope { kind, stmts: vec![], keys: vec![] });
    }

    fn close(&mut self) -> (ScopeKind, Vec<Stmt>) {
        let scope = self.scopes.pop().expect("a block is open");
        for key in &scope.keys {
            self.value_table.remove(key);
        }
        (scope.kind, scope.stmts)
    }

    /// Opens the block of an arm of an if.
    pub fn open_arm(&mut self) {
        self.open(ScopeKind::StraightLine);
    }

    /// Closes the innermost block, an arm.
    pub fn close_arm(&mut self, yields: &[Value]) -> Block {
        let (kind, stmts) = self.close();
        debug_assert!(matches!(kind, ScopeKind::StraightLine), "the open block must be an arm");
        Block { stmts, yields: yields.to_vec() }
    }

    /// Appends an if with arms that have just been closed. Returns one value per yield.
    pub fn push_if(&mut self, cond: Value, then: Block, otherwise: Block) -> Vec<Value> {
        debug_assert_eq!(
            then.yields.len(),
            otherwise.yields.len(),
            "both arms must yield the same number of values"
        );
        if let Some((Op::BNot, &[cond])) = self.function.operation(cond) {
            return self.push_if(cond, otherwise, then);
        }
        // An arm that a group skips is not worth computing.
        let is_uniform = matches!(self.function.operation(cond), Some((Op::Any, _)));
        if !is_uniform && self.is_cheap(&then) && self.is_cheap(&otherwise) {
            let (then, otherwise) = (self.splice(then), self.splice(otherwise));
            return std::iter::zip(then, otherwise)
                .map(|(t, e)| self.op(Op::Select, &[cond, t, e]))
                .collect();
        }
        let level = self.scopes.len() - 1;
        let mut node = If { cond, then, otherwise, results: vec![] };
        let yields =
            (std::mem::take(&mut node.then.yields), std::mem::take(&mut node.otherwise.yields));
        let results = std::iter::zip(yields.0, yields.1).map(|(t, e)| {
            // A value that both arms yield needs no result; a choice between values defined before
            // the if becomes a select.
            if t == e {
                return t;
            }
            let are_outside = self.level(t) <= level && self.level(e) <= level;
            if self.speculation.is_some() && !is_uniform && are_outside {
                return self.op(Op::Select, &[cond, t, e]);
            }
            let is_same = |k: &usize| (node.then.yields[*k], node.otherwise.yields[*k]) == (t, e);
            if let Some(k) = (0..node.results.len()).find(is_same) {
                return node.results[k];
            }
            let result = self.define(self.ty(t), Def::Result, level);
            node.then.yields.push(t);
            node.otherwise.yields.push(e);
            node.results.push(result);
            result
        });
        let results = results.collect();
        if !node.results.is_empty() {
            self.scopes[level].stmts.push(Stmt::If(Box::new(node)));
        }
        results
    }

    /// Whether an arm is cheap enough for speculation.
    fn is_cheap(&self, arm: &Block) -> bool {
        let Some(limit) = self.speculation else { return false };
        let cost = arm.stmts.iter().try_fold(0, |cost, stmt| match stmt {
            Stmt::Op(value) => Some(cost + cost_of(self.function.operation(*value)?.0))
                .filter(|&cost| cost <= limit),
            Stmt::If(_) | Stmt::Loop(_) => None,
        });
        cost.is_some()
    }

    /// Moves the operations of a closed arm into the open block, where they may merge with existing
    /// ones or be hoisted out of loops. Returns the arm's yields.
    fn splice(&mut self, arm: Block) -> Vec<Value> {
        let mut moved: Vec<(Value, Value)> = vec![];
        let find = |moved: &[(Value, Value)], old: Value| {
            moved.iter().find(|m| m.0 == old).map_or(old, |m| m.1)
        };
        for stmt in &arm.stmts {
            let Stmt::Op(value) = *stmt else { unreachable!("cheap arms contain only operations") };
            let Def::Op { op, args } = self.function.def(value) else {
                unreachable!("statements define operations")
            };
            let args = args.map(|arg| find(&moved, arg));
            moved.push((value, self.append(op, &args[..op.arity()])));
        }
        arm.yields.into_iter().map(|value| find(&moved, value)).collect()
    }

    /// Opens a loop and its head; returns the parameters, one per initial value.
    pub fn open_loop(&mut self, init: &[Value]) -> Vec<Value> {
        let level = self.scopes.len();
        let params: Vec<_> =
            init.iter().map(|&i| self.define(self.ty(i), Def::Param, level)).collect();
        self.open(ScopeKind::Head { init: init.to_vec(), params: params.clone() });
        params
    }

    /// Closes the head and opens the body, which runs if `cond` holds; otherwise the loop exits
    /// with `exits`.
    pub fn open_body(&mut self, cond: Value, exits: &[Value]) {
        self.open(ScopeKind::Body { cond, exits: exits.to_vec() });
    }

    /// Closes the body and the loop. `next` holds the parameters of the next iteration. Returns one
    /// value per exit.
    pub fn close_loop(&mut self, next: &[Value]) -> Vec<Value> {
        let (ScopeKind::Body { cond, exits }, body) = self.close() else {
            unreachable!("a body is open")
        };
        let (ScopeKind::Head { init, params }, head) = self.close() else {
            unreachable!("a body is within a head")
        };
        debug_assert_eq!(next.len(), params.len(), "the body must yield one value per parameter");
        let level = self.scopes.len() - 1;
        let node = Loop {
            init,
            params,
            head: Block { stmts: head, yields: vec![] },
            cond,
            body: Block { stmts: body, yields: next.to_vec() },
            results: vec![],
        };
        let (level, index, map) = self.isomorphic_loop(&node).unwrap_or_else(|| {
            self.scopes[level].stmts.push(Stmt::Loop(Box::new(node)));
            (level, self.scopes[level].stmts.len() - 1, Correspondence::default())
        });
        self.loop_results(level, index, exits, &map)
    }

    /// Finds an isomorphic loop in scope. Returns the level of its block, the index of its
    /// statement, and the correspondence of values.
    fn isomorphic_loop(&self, node: &Loop) -> Option<(usize, usize, Correspondence)> {
        self.scopes.iter().enumerate().find_map(|(level, scope)| {
            scope.stmts.iter().enumerate().find_map(|(index, stmt)| {
                let Stmt::Loop(existing) = stmt else { return None };
                Some((level, index, correspondence(&self.function, node, existing)?))
            })
        })
    }

    /// Returns the values that a loop exits with. If the loop defines them, they become results of
    /// the loop at this level and index, which is the loop itself or an isomorphic one in an outer
    /// block; `map` maps values to those of the isomorphic loop. A loop without results is
    /// removed.
    fn loop_results(
        &mut self,
        level: usize,
        index: usize,
        exits: Vec<Value>,
        map: &Correspondence,
    ) -> Vec<Value> {
        let Stmt::Loop(mut node) = self.scopes[level].stmts.remove(index) else {
            unreachable!("the statement is a loop")
        };
        let open_level = self.scopes.len() - 1;
        let results = exits.into_iter().map(|exit| {
            // A value defined before the loop is not a result of it. Nor can it be a result of an
            // outer loop, which may precede its definition.
            if self.level(exit) <= open_level {
                return exit;
            }
            let exit = map.get(&exit).copied().unwrap_or(exit);
            if let Some(k) = node.head.yields.iter().position(|&yielded| yielded == exit) {
                return node.results[k];
            }
            let result = self.define(self.ty(exit), Def::Result, level);
            node.head.yields.push(exit);
            node.results.push(result);
            result
        });
        let results = results.collect();
        if !node.results.is_empty() {
            self.scopes[level].stmts.insert(index, Stmt::Loop(node));
        }
        results
    }

    /// Discards a loop whose head is open.
    pub(crate) fn discard_loop(&mut self) {
        let (kind, _) = self.close();
        debug_assert!(
            matches!(kind, ScopeKind::Head { .. }),
            "the open block must be a loop's head"
        );
    }

    /// Finishes the function.
    pub fn finish(mut self, outputs: impl IntoIterator<Item = (String, Value)>) -> Function {
        let (_, stmts) = self.close();
        assert!(self.scopes.is_empty(), "all blocks must be closed");
        let (ports, yields) = outputs
            .into_iter()
            .map(|(name, value)| (Port { name, ty: self.function.ty(value) }, value))
            .unzip();
        self.function.outputs = ports;
        self.function.body = Block { stmts, yields };
        self.function
    }
}

/// The outermost scope to which an operation with these arguments can be hoisted: the arguments are
/// defined there, and only loops lie between it and the open block.
fn placement(scopes: &[Scope], levels: &[u32], args: &[Value]) -> usize {
    let min_level = args.iter().map(|arg| levels[arg.index()]).max().unwrap_or(0) as usize;
    let mut level = scopes.len() - 1;
    loop {
        level = match scopes[level].kind {
            ScopeKind::Head { .. } if min_level < level => level - 1,
            ScopeKind::Body { .. } if min_level < level - 1 => level - 2,
            _ => return level,
        };
    }
}

impl Emit for Builder {
    type Value = Value;

    fn constant(&mut self, ty: Type, bits: u32) -> Value {
        if let Some(&value) = self.constants.get(&(ty, bits)) {
            return value;
        }
        let value = self.define(ty, Def::Const(bits), 0);
        self.constants.insert((ty, bits), value);
        value
    }

    fn op(&mut self, op: Op, args: &[Value]) -> Value {
        self.append(op, args)
    }

    fn known(&self, value: Value) -> Option<u32> {
        self.function.constant(value)
    }
}

impl simplify::Context for Builder {
    fn function(&self) -> &Function {
        &self.function
    }

    fn rules(&self) -> Rules {
        self.rules
    }
}
