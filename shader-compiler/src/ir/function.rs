//! Functions: scalar SSA values in structured control flow.
//!
//! A function is a tree of [`Block`]s. A block is a list of statements that run in order: an
//! operation, which defines one value; an [`If`] with two arms; or a [`Loop`] whose exit stands
//! between two blocks, its head and its body. Control flow joins only at the results of an if and
//! at the parameters and results of a loop, which take the place of phis. A value may be used where
//! it is in scope: after its definition in the same block, and in blocks inside of that. So
//! dominance is nesting, and needs no analysis.
//!
//! Early exits of WGSL (`return`, `break`, `continue`) have become conditions by the time they are
//! here. That is no loss for a machine with masks, where lanes that leave go idle and the others go
//! on.

use super::op::Op;
use super::types::Type;

/// Handle of a value of one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(crate) u32);

impl Value {
    /// Position in arrays with an entry for each value.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Def {
    /// The argument of this number.
    Input(u32),
    /// A constant of these bits; in scope everywhere.
    Const(u32),
    /// An operation; unused arguments repeat the first.
    Op {
        /// Which.
        op: Op,
        /// Arguments, of which the operation has [arity](Op::arity).
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

/// Statements, and the values that the block hands on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// In order.
    pub stmts: Vec<Stmt>,
    /// What they are for is said where the block stands: [`Function::body`], [`If`], [`Loop`].
    pub yields: Vec<Value>,
}

/// A step of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stmt {
    /// Computes a value that is defined by an operation.
    Op(Value),
    /// Runs one of two blocks.
    If(Box<If>),
    /// Runs blocks over and over.
    Loop(Box<Loop>),
}

/// `results = if cond { then } else { otherwise }`; both arms yield one value for each result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct If {
    /// A bool.
    pub cond: Value,
    /// Runs where `cond` is true.
    pub then: Block,
    /// Runs where it is false.
    pub otherwise: Block,
    /// Defined after the statement.
    pub results: Vec<Value>,
}

/// A loop with one exit, between head and body.
///
/// `params` start as `init`. The head runs; where `cond`, a value in scope at its end, is false,
/// the loop is left with the head's yields as `results`. Else the body runs, in the scope of the
/// head, and its yields are the next `params`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// First values of `params`.
    pub init: Vec<Value>,
    /// Defined in head and body.
    pub params: Vec<Value>,
    /// Runs once more than the body.
    pub head: Block,
    /// Whether to go on.
    pub cond: Value,
    /// Runs where `cond` holds.
    pub body: Block,
    /// Defined after the statement.
    pub results: Vec<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueData {
    pub ty: Type,
    pub def: Def,
    /// In a bounding shader, the value of the point shader for whose sake it is there. Passes hand
    /// it on.
    pub origin: Option<Value>,
}

/// A function: named inputs in, named outputs out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Name, for readers.
    pub name: String,
    /// Arguments.
    pub inputs: Vec<Port>,
    /// Results, whose values the body yields.
    pub outputs: Vec<Port>,
    /// All of the function; its yields are the outputs.
    pub body: Block,
    pub(crate) values: Vec<ValueData>,
}

impl Op {
    /// Number of arguments.
    pub const fn arity(self) -> usize {
        // Asked for at every turn, so looked up.
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
    /// Number of values, reachable or not; handles are below it.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no values at all.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds a value; where it is an operation, parameter or result, a statement has to define it.
    pub(crate) fn add(&mut self, ty: Type, def: Def) -> Value {
        let value = Value(self.values.len() as u32);
        self.values.push(ValueData { ty, def, origin: None });
        value
    }

    /// Type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.values[value.index()].ty
    }

    /// Where a value comes from.
    pub fn def(&self, value: Value) -> Def {
        self.values[value.index()].def
    }

    /// The bits of a constant.
    pub fn constant(&self, value: Value) -> Option<u32> {
        match self.def(value) {
            Def::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// Number of tables of which some may be read: one more than the greatest number of a table.
    pub fn tables(&self) -> usize {
        let mut tables = 0;
        for_each_stmt(&self.body, &mut |stmt| {
            if let Stmt::Op(value) = stmt
                && let Some((op, args)) = self.operation(*value)
                && op.is_reading()
            {
                let table = self.constant(args[0]).and_then(|first| op.table(first));
                tables = tables.max(table.expect("operations tell their tables") as usize + 1);
            }
        });
        tables
    }

    /// Operation and arguments of a value that is defined by one.
    pub fn operation(&self, value: Value) -> Option<(Op, &[Value])> {
        match &self.values[value.index()].def {
            Def::Op { op, args } => Some((*op, &args[..op.arity()])),
            _ => None,
        }
    }
}

/// Calls `f` for every statement, those of inner blocks after the statement that they are in.
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
