//! Functions: scalar SSA values in structured control flow.
//!
//! A function is a tree of [`Block`]s. A block is a list of statements, which run in order: an
//! operation, which defines one value; an [`If`] with two arms; or a [`Loop`], which exits between
//! its two blocks, the head and the body. Control flow joins only at the results of an if and at
//! the parameters and results of a loop, which take the place of phis. A value is in scope after
//! its definition in the same block, and in nested blocks. So dominance is nesting, and needs no
//! analysis.
//!
//! The front end converts WGSL's early exits (`return`, `break`, `continue`) to conditions. This
//! costs nothing on a SIMD machine with masks, where lanes that exit are idle while the others
//! continue.

use super::op::Op;
use super::types::Type;

/// Handle of a value of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

impl Value {
    /// Index into arrays with one entry per value.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Definition of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Def {
    /// The argument with this index.
    Input(u32),
    /// A constant with these bits; in scope everywhere.
    Const(u32),
    /// An operation; unused arguments repeat the first.
    Op {
        /// The operation.
        op: Op,
        /// Its arguments; only the first [`Op::arity`] are used.
        args: [Value; 3],
    },
    /// A parameter of a loop.
    Param,
    /// A result of an if or a loop.
    Result,
}

/// A named argument or result of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// `wi.x`, `exponent`, `s.r`, …
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// A list of statements, and the values that it yields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The statements, in order.
    pub stmts: Vec<Stmt>,
    /// The values; their meaning depends on the block's role in [`Function`], [`If`] or [`Loop`].
    pub yields: Vec<Value>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stmt {
    /// Computes the value, which an operation defines.
    Op(Value),
    /// Runs one of two blocks.
    If(Box<If>),
    /// Runs blocks repeatedly.
    Loop(Box<Loop>),
}

/// `results = if cond { then } else { otherwise }`; both arms yield one value for each result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct If {
    /// A bool.
    pub cond: Value,
    /// Runs if `cond` is true.
    pub then: Block,
    /// Runs if `cond` is false.
    pub otherwise: Block,
    /// In scope after the statement.
    pub results: Vec<Value>,
}

/// A loop with one exit, between head and body.
///
/// Initially `params` are `init`. In each iteration the head runs first. If `cond`, a value in
/// scope at its end, is false, the loop exits, and the head's yields become `results`. Otherwise
/// the body runs, in the scope of the head, and its yields become `params`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Initial values of `params`.
    pub init: Vec<Value>,
    /// In scope in head and body.
    pub params: Vec<Value>,
    /// Runs once more than the body.
    pub head: Block,
    /// Whether to continue.
    pub cond: Value,
    /// Runs if `cond` is true.
    pub body: Block,
    /// In scope after the statement.
    pub results: Vec<Value>,
}

/// Type and definition of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// Its definition.
    pub def: Def,
    /// In a bounding shader, the value of the point shader that it was generated for. Where
    /// locations in the text are recorded, the first value of the same expression. Passes preserve it.
    pub origin: Option<Value>,
}

/// A function: named inputs in, named outputs out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Name, for display.
    pub name: String,
    /// Arguments.
    pub inputs: Vec<Port>,
    /// Results; the body yields their values.
    pub outputs: Vec<Port>,
    /// The body; its yields are the outputs.
    pub body: Block,
    /// All values, in the order of their handles.
    pub values: Vec<ValueData>,
}

impl Op {
    /// Number of arguments.
    pub const fn arity(self) -> usize {
        // A lookup table, since this is a hot path.
        const ARITIES: [u8; Op::ALL.len()] = {
            let mut arities = [0; Op::ALL.len()];
            let mut k = 0;
            while k < arities.len() {
                arities[k] = Op::ALL[k].signature().args.len() as u8;
                k += 1;
            }
            arities
        };
        ARITIES[self as usize] as usize
    }
}

impl Function {
    /// Number of values, including unused ones. Handles are below it.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds a value. If it is an operation, parameter or result, a statement must define it.
    pub fn add(&mut self, ty: Type, def: Def) -> Value {
        let value = Value(self.values.len() as u32);
        self.values.push(ValueData { ty, def, origin: None });
        value
    }

    /// Type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.values[value.index()].ty
    }

    /// Definition of a value.
    pub fn def(&self, value: Value) -> Def {
        self.values[value.index()].def
    }

    /// The bits of a value, if it is a constant.
    pub fn constant(&self, value: Value) -> Option<u32> {
        match self.def(value) {
            Def::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// Number of tables that the function may read: one more than the largest table index.
    pub fn tables(&self) -> usize {
        let mut tables = 0;
        for_each_stmt(&self.body, &mut |stmt| {
            if let Stmt::Op(value) = stmt
                && let Some((op, args)) = self.operation(*value)
                && op.is_load()
            {
                let table = self.constant(args[0]).and_then(|first| op.table(first));
                tables =
                    tables.max(table.expect("verified loads identify their tables") as usize + 1);
            }
        });
        tables
    }

    /// Operation and arguments of a value; `None` if something else defines it.
    pub fn operation(&self, value: Value) -> Option<(Op, &[Value])> {
        match &self.values[value.index()].def {
            Def::Op { op, args } => Some((*op, &args[..op.arity()])),
            _ => None,
        }
    }
}

/// Calls `f` for every statement in preorder: nested statements follow the one that contains them.
pub fn for_each_stmt<'a>(block: &'a Block, f: &mut impl FnMut(&'a Stmt)) {
    for stmt in &block.stmts {
        f(stmt);
        match stmt {
            Stmt::Op(_) => {}
            Stmt::If(i) => {
                for_each_stmt(&i.then, f);
                for_each_stmt(&i.otherwise, f);
            }
            Stmt::Loop(l) => {
                for_each_stmt(&l.head, f);
                for_each_stmt(&l.body, f);
            }
        }
    }
}
