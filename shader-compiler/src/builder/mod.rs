//! The builder, which constructs all functions and simplifies them on the fly.
//!
//! Every operation that is appended is first folded, if its arguments are constants; then
//! simplified (`simplify`); then looked up among the operations in scope (global value numbering by
//! hash-consing; since dominance is nesting, a scoped table suffices); and finally hoisted out of
//! all loops in which it is invariant (loop-invariant code motion, which is always legal because
//! operations are pure). Ifs with cheap arms become selects. A loop that is `isomorphic` to one in
//! scope is merged with it. A pass that rebuilds a function through a builder gets all of this.

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

type Key = (Op, [Value; 3]);

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
    /// Keys of known operations to remove when the scope closes.
    known: Vec<Key>,
}

/// Builds a [`Function`].
#[derive(Debug)]
pub struct Builder {
    function: Function,
    rules: Rules,
    speculation: Option<u32>,
    scopes: Vec<Scope>,
    /// Index of the scope in which each value is defined.
    levels: Vec<u32>,
    constants: FxHashMap<(Type, u32), Value>,
    known: FxHashMap<Key, Value>,
    /// Origin of the next values.
    origin: Option<Value>,
}

/// Default limit on the cost of a speculated arm, in basic operations: cheaper ifs become selects.
const SPECULATION_LIMIT: u32 = 6;

/// Approximate cost of an operation, in cheap basic operations.
pub(crate) fn cost_of(op: Op) -> u32 {
    op.facts().cost.weight()
}

impl Builder {
    /// An empty function.
    pub fn new(name: &str, rules: Rules) -> Builder {
        let function = Function {
            name: name.to_owned(),
            inputs: vec![],
            outputs: vec![],
            body: Block::default(),
            values: Vec::with_capacity(256),
        };
        let scope = Scope { kind: ScopeKind::StraightLine, stmts: vec![], known: vec![] };
        Builder {
            function,
            rules,
            speculation: Some(SPECULATION_LIMIT),
            scopes: vec![scope],
            levels: vec![],
            constants: FxHashMap::default(),
            known: FxHashMap::default(),
            origin: None,
        }
    }

    /// Sets the limit on the cost of speculated arms, in basic operations. `None` keeps all ifs,
    /// for conditions that are uniform over the group.
    pub fn set_speculation(&mut self, cost: Option<u32>) {
        self.speculation = cost;
    }

    /// Which simplifications are enabled.
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

    /// Sets the value of the point shader that the next values are generated for; returns the
    /// previous one.
    pub(crate) fn set_origin(&mut self, origin: Option<Value>) -> Option<Value> {
        std::mem::replace(&mut self.origin, origin)
    }

    /// Reserves space for about `values` values.
    pub(crate) fn reserve(&mut self, values: usize) {
        self.function.values.reserve(values);
        self.levels.reserve(values);
        self.known.reserve(values);
    }

    /// Number of open blocks.
    pub(crate) fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// Index of the scope in which the value is defined: it is invariant in the blocks of deeper
    /// scopes.
    pub(crate) fn level(&self, value: Value) -> usize {
        self.levels[value.index()] as usize
    }

    /// The value of a bool if it is constant.
    pub fn known_bool(&self, value: Value) -> Option<bool> {
        self.function.constant(value).map(|bits| bits != 0)
    }

    /// Adds an argument to the function.
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

    /// Appends an operation, or returns an existing value.
    fn append(&mut self, op: Op, args: &[Value]) -> Value {
        debug_assert_eq!(args.len(), op.arity(), "{} takes {} arguments", op.name(), op.arity());
        debug_assert!(self.types_fit(op, args), "wrong types for {}", op.name());
        if let Some(bits) = self.fold(op, args) {
            return self.constant(self.result_type(op, args), bits);
        }
        let mut key = [args[0]; 3];
        key[..args.len()].copy_from_slice(args);
        if op.is_commutative() && self.order(key[0]) > self.order(key[1]) {
            key.swap(0, 1);
            if args.len() < 3 {
                key[2] = key[0];
            }
        }
        if let Some(value) = simplify::simplify(self, op, &key[..args.len()]) {
            return value;
        }
        if let Some(&value) = self.known.get(&(op, key)) {
            return value;
        }
        let level = self.placement(&key[..args.len()]);
        let value =
            self.define(self.result_type(op, &key[..args.len()]), Def::Op { op, args: key }, level);
        self.scopes[level].stmts.push(Stmt::Op(value));
        self.learn(level, (op, key), value);
        value
    }

    /// Order of commuting arguments: constants come last.
    fn order(&self, value: Value) -> (bool, Value) {
        (self.function.constant(value).is_some(), value)
    }

    fn learn(&mut self, level: usize, key: Key, value: Value) {
        self.known.insert(key, value);
        // The scope of the function's body closes last.
        if level > 0 {
            self.scopes[level].known.push(key);
        }
    }

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

    fn types_fit(&self, op: Op, args: &[Value]) -> bool {
        let mut any = None;
        op.signature().args.iter().zip(args).all(|(want, &arg)| match want {
            Some(ty) => *ty == self.ty(arg),
            None => *any.get_or_insert(self.ty(arg)) == self.ty(arg),
        })
    }

    /// The outermost enclosing scope in which the arguments are defined and from which only loops
    /// are exited.
    fn placement(&self, args: &[Value]) -> usize {
        let needed = args.iter().map(|arg| self.levels[arg.index()]).max().unwrap_or(0) as usize;
        let mut level = self.scopes.len() - 1;
        loop {
            level = match self.scopes[level].kind {
                ScopeKind::Head { .. } if needed < level => level - 1,
                ScopeKind::Body { .. } if needed < level - 1 => level - 2,
                _ => return level,
            };
        }
    }

    fn open(&mut self, kind: ScopeKind) {
        self.scopes.push(Scope { kind, stmts: vec![], known: vec![] });
    }

    fn close(&mut self) -> (ScopeKind, Vec<Stmt>) {
        let scope = self.scopes.pop().expect("a block is open");
        for key in &scope.known {
            self.known.remove(key);
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
        debug_assert!(matches!(kind, ScopeKind::StraightLine), "an arm is open");
        Block { stmts, yields: yields.to_vec() }
    }

    /// Appends an if whose arms have just been closed. Returns one value per yield.
    pub fn push_if(&mut self, cond: Value, then: Block, otherwise: Block) -> Vec<Value> {
        debug_assert_eq!(
            then.yields.len(),
            otherwise.yields.len(),
            "arms yield equally many values"
        );
        if let Some((Op::BNot, &[cond])) = self.function.operation(cond) {
            return self.push_if(cond, otherwise, then);
        }
        if self.is_cheap(&then) && self.is_cheap(&otherwise) {
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
            // Results that are equal in both arms need no if, nor do selects between values defined
            // before it.
            if t == e {
                return t;
            }
            if self.speculation.is_some() && self.level(t) <= level && self.level(e) <= level {
                return self.op(Op::Select, &[cond, t, e]);
            }
            let same = |k: &usize| (node.then.yields[*k], node.otherwise.yields[*k]) == (t, e);
            if let Some(k) = (0..node.results.len()).find(same) {
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

    /// Whether an arm is cheap enough to be speculated.
    fn is_cheap(&self, arm: &Block) -> bool {
        let Some(limit) = self.speculation else { return false };
        let cost = arm.stmts.iter().try_fold(0, |cost, stmt| match stmt {
            Stmt::Op(value) => Some(cost + cost_of(self.function.operation(*value)?.0))
                .filter(|&cost| cost <= limit),
            Stmt::If(_) | Stmt::Loop(_) => None,
        });
        cost.is_some()
    }

    /// Moves the operations of a closed arm into the open block, where they may be merged with
    /// existing ones or hoisted out of loops; returns the arm's yields.
    fn splice(&mut self, arm: Block) -> Vec<Value> {
        let mut moved: Vec<(Value, Value)> = vec![];
        let find = |moved: &[(Value, Value)], old: Value| {
            moved.iter().find(|m| m.0 == old).map_or(old, |m| m.1)
        };
        for stmt in &arm.stmts {
            let Stmt::Op(value) = *stmt else {
                unreachable!("arms that are spliced hold operations alone")
            };
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

    /// Closes the body and the loop; `next` are the next values of the parameters. Returns one
    /// value per exit.
    pub fn close_loop(&mut self, next: &[Value]) -> Vec<Value> {
        let (ScopeKind::Body { cond, exits }, body) = self.close() else {
            unreachable!("a body is open")
        };
        let (ScopeKind::Head { init, params }, head) = self.close() else {
            unreachable!("a body is within a head")
        };
        debug_assert_eq!(next.len(), params.len(), "a loop's body yields its parameters");
        let level = self.scopes.len() - 1;
        let node = Loop {
            init,
            params,
            head: Block { stmts: head, yields: vec![] },
            cond,
            body: Block { stmts: body, yields: next.to_vec() },
            results: vec![],
        };
        let (level, index, names) = self.isomorphic_loop(&node).unwrap_or_else(|| {
            self.scopes[level].stmts.push(Stmt::Loop(Box::new(node)));
            (level, self.scopes[level].stmts.len() - 1, Correspondence::default())
        });
        self.exit(level, index, exits, &names)
    }

    /// Finds an isomorphic loop in scope. Returns the level of its block, the index of its
    /// statement, and the correspondence of the values.
    fn isomorphic_loop(&self, node: &Loop) -> Option<(usize, usize, Correspondence)> {
        self.scopes.iter().enumerate().find_map(|(level, scope)| {
            scope.stmts.iter().enumerate().find_map(|(index, stmt)| {
                let Stmt::Loop(known) = stmt else { return None };
                Some((level, index, correspondence(&self.function, node, known)?))
            })
        })
    }

    /// Returns the values of the exits of a loop whose head was closed in the open block. They are
    /// results of the loop at this index, which may be in an outer block; `names` maps values to
    /// those of that loop. A loop without results is removed.
    fn exit(
        &mut self,
        level: usize,
        index: usize,
        exits: Vec<Value>,
        names: &Correspondence,
    ) -> Vec<Value> {
        let Stmt::Loop(mut node) = self.scopes[level].stmts.remove(index) else {
            unreachable!("the statement is a loop")
        };
        let here = self.scopes.len() - 1;
        let results = exits.into_iter().map(|exit| {
            // A value defined before the loop is not a result of it, and cannot be one of a
            // loop further out.
            if self.level(exit) <= here {
                return exit;
            }
            let exit = names.get(&exit).copied().unwrap_or(exit);
            if let Some(k) = node.head.yields.iter().position(|&known| known == exit) {
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
    pub(crate) fn abandon_head(&mut self) {
        let (kind, _) = self.close();
        debug_assert!(matches!(kind, ScopeKind::Head { .. }), "a head is open");
    }

    /// Finishes the function.
    pub fn finish(mut self, outputs: impl IntoIterator<Item = (String, Value)>) -> Function {
        let (_, stmts) = self.close();
        assert!(self.scopes.is_empty(), "all blocks are closed");
        let (ports, yields) = outputs
            .into_iter()
            .map(|(name, value)| (Port { name, ty: self.function.ty(value) }, value))
            .unzip();
        self.function.outputs = ports;
        self.function.body = Block { stmts, yields };
        self.function
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
