//! Typed syntax trees of WGSL modules, for the subset that random programs use.
//!
//! Expressions store their types, so that the shrinker can replace them by subexpressions and
//! constants of the same type. Trees are not validated: the generator builds valid ones, and the
//! front end rejects invalid candidates of the shrinker.

use std::fmt;

/// A WGSL type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    Bool,
    I32,
    U32,
    F32,
    /// `vecNf`.
    Vec(usize),
    /// `vecNu`.
    UVec(usize),
    /// `vecN<bool>`.
    BVec(usize),
    /// `matNxNf`.
    Mat(usize),
    /// `array<f32, N>`.
    Array(usize),
    /// `texture_2d<f32>`.
    Texture,
    /// `sampler`.
    Sampler,
    /// The structure with this name.
    Struct(&'static str),
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ty::Bool => f.write_str("bool"),
            Ty::I32 => f.write_str("i32"),
            Ty::U32 => f.write_str("u32"),
            Ty::F32 => f.write_str("f32"),
            Ty::Vec(n) => write!(f, "vec{n}f"),
            Ty::UVec(n) => write!(f, "vec{n}u"),
            Ty::BVec(n) => write!(f, "vec{n}<bool>"),
            Ty::Mat(n) => write!(f, "mat{n}x{n}f"),
            Ty::Array(n) => write!(f, "array<f32, {n}>"),
            Ty::Texture => f.write_str("texture_2d<f32>"),
            Ty::Sampler => f.write_str("sampler"),
            Ty::Struct(name) => f.write_str(name),
        }
    }
}

/// An expression with its type.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub ty: Ty,
    pub kind: ExprKind,
}

/// The operator of an expression, or a leaf.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Float(f32),
    Int(i64),
    Bool(bool),
    /// A use of a variable, a parameter or a constant.
    Name(String),
    /// A member of a structure, or a swizzle.
    Member(Box<Expr>, String),
    Index(Box<Expr>, Box<Expr>),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// A call of a function or a constructor.
    Call(String, Vec<Expr>),
}

impl Expr {
    pub fn new(ty: Ty, kind: ExprKind) -> Expr {
        Expr { ty, kind }
    }

    pub fn name(ty: Ty, name: &str) -> Expr {
        Expr::new(ty, ExprKind::Name(name.to_owned()))
    }

    pub fn int(x: i64) -> Expr {
        Expr::new(Ty::I32, ExprKind::Int(x))
    }

    pub fn uint(x: i64) -> Expr {
        Expr::new(Ty::U32, ExprKind::Int(x))
    }

    /// Builds an access to a structure member.
    pub fn member(&self, name: &str, ty: Ty) -> Expr {
        Expr::new(ty, ExprKind::Member(Box::new(self.clone()), name.to_owned()))
    }

    /// Builds a swizzle of a vector.
    pub fn swizzle(&self, letters: &str) -> Expr {
        let ty = match (self.ty, letters.len()) {
            (Ty::UVec(_), 1) => Ty::U32,
            (Ty::UVec(_), n) => Ty::UVec(n),
            (_, 1) => Ty::F32,
            (_, n) => Ty::Vec(n),
        };
        self.member(letters, ty)
    }

    /// Builds an access to an element of an array, a column of a matrix or a component of a vector.
    pub fn at(&self, index: Expr) -> Expr {
        let ty = if let Ty::Mat(n) = self.ty { Ty::Vec(n) } else { Ty::F32 };
        Expr::new(ty, ExprKind::Index(Box::new(self.clone()), Box::new(index)))
    }

    /// Builds a comparison such as `a < b`, componentwise for vectors.
    pub fn compare(op: &'static str, a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
        let (a, b) = (a.into(), b.into());
        let ty = if let Ty::Vec(n) = a.ty { Ty::BVec(n) } else { Ty::Bool };
        Expr::new(ty, ExprKind::Binary(op, Box::new(a), Box::new(b)))
    }

    /// Builds an arithmetic, bitwise or logical operation.
    pub fn binary(op: &'static str, a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
        let (a, b) = (a.into(), b.into());
        let ty = match (a.ty, b.ty) {
            (Ty::Mat(_), Ty::Vec(_)) | (Ty::F32, Ty::Vec(_) | Ty::Mat(_)) => b.ty,
            _ => a.ty,
        };
        Expr::new(ty, ExprKind::Binary(op, Box::new(a), Box::new(b)))
    }

    pub fn unary(op: &'static str, a: impl Into<Expr>) -> Expr {
        let a = a.into();
        Expr::new(a.ty, ExprKind::Unary(op, Box::new(a)))
    }

    /// Builds a call of a built-in function or a constructor.
    pub fn call(name: &str, args: Vec<Expr>) -> Expr {
        let ty = match name {
            "dot" | "length" | "distance" | "determinant" | "f32" | "bitcast<f32>" => Ty::F32,
            "any" | "all" | "bool" => Ty::Bool,
            "i32" | "bitcast<i32>" => Ty::I32,
            "u32" | "bitcast<u32>" | "pack2x16float" | "pack4x8unorm" => Ty::U32,
            "vec2f" | "unpack2x16float" => Ty::Vec(2),
            "vec3f" => Ty::Vec(3),
            "vec4f" | "unpack4x8unorm" | "textureSample" | "textureSampleLevel" | "textureLoad" => {
                Ty::Vec(4)
            }
            "vec2u" => Ty::UVec(2),
            "vec3u" => Ty::UVec(3),
            "mat2x2f" => Ty::Mat(2),
            "mat3x3f" => Ty::Mat(3),
            _ => args[0].ty,
        };
        Expr::new(ty, ExprKind::Call(name.to_owned(), args))
    }

    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Float(_) | ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Name(_) => vec![],
            ExprKind::Member(a, _) | ExprKind::Unary(_, a) => vec![a],
            ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) => vec![a, b],
            ExprKind::Call(_, args) => args.iter().collect(),
        }
    }

    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            ExprKind::Float(_) | ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Name(_) => vec![],
            ExprKind::Member(a, _) | ExprKind::Unary(_, a) => vec![a],
            ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) => vec![a, b],
            ExprKind::Call(_, args) => args.iter_mut().collect(),
        }
    }

    /// Visits the expression and its subexpressions in pre-order.
    pub fn walk_mut(&mut self, f: &mut impl FnMut(&mut Expr)) {
        f(self);
        self.children_mut().into_iter().for_each(|child| child.walk_mut(f));
    }

    /// Visits the expression and its subexpressions in post-order, so that `f` does not visit its
    /// own replacements.
    pub fn rewrite(&mut self, f: &mut impl FnMut(&mut Expr)) {
        self.children_mut().into_iter().for_each(|child| child.rewrite(f));
        f(self);
    }

    /// Visits the expression and its subexpressions in pre-order, without changes.
    pub fn walk(&self, f: &mut impl FnMut(&Expr)) {
        f(self);
        self.children().into_iter().for_each(|child| child.walk(f));
    }
}

impl From<f32> for Expr {
    fn from(x: f32) -> Expr {
        Expr::new(Ty::F32, ExprKind::Float(x))
    }
}

impl From<&Expr> for Expr {
    fn from(expr: &Expr) -> Expr {
        expr.clone()
    }
}

/// Operators build expressions, as in `&a * &b + 1.0`.
macro_rules! operators {
    ($($trait:ident $function:ident $op:literal),*) => {$(
        impl<T: Into<Expr>> std::ops::$trait<T> for Expr {
            type Output = Expr;
            fn $function(self, other: T) -> Expr {
                Expr::binary($op, self, other)
            }
        }
        impl<T: Into<Expr>> std::ops::$trait<T> for &Expr {
            type Output = Expr;
            fn $function(self, other: T) -> Expr {
                Expr::binary($op, self, other)
            }
        }
        impl std::ops::$trait<Expr> for f32 {
            type Output = Expr;
            fn $function(self, other: Expr) -> Expr {
                Expr::binary($op, self, other)
            }
        }
        impl std::ops::$trait<&Expr> for f32 {
            type Output = Expr;
            fn $function(self, other: &Expr) -> Expr {
                Expr::binary($op, self, other)
            }
        }
    )*};
}

operators!(Add add "+", Sub sub "-", Mul mul "*", Div div "/");

impl std::ops::Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        Expr::unary("-", self)
    }
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    Let(String, Expr),
    Var(String, Expr),
    /// `target op value`, where `op` is `=`, `+=` or another assignment operator.
    Assign(Expr, &'static str, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `for (var name = from; condition; name++)`.
    For(String, Expr, Expr, Vec<Stmt>),
    While(Expr, Vec<Stmt>),
    /// `loop { body continuing { statements break if condition; } }`.
    Loop(Vec<Stmt>, Vec<Stmt>, Expr),
    /// Selector, cases with their values, default.
    Switch(Expr, Vec<(Vec<i64>, Vec<Stmt>)>, Vec<Stmt>),
    Return(Expr),
    Break,
    Continue,
}

impl Stmt {
    /// Returns the nested blocks.
    pub fn blocks_mut(&mut self) -> Vec<&mut Vec<Stmt>> {
        match self {
            Stmt::If(_, a, b) | Stmt::Loop(a, b, _) => vec![a, b],
            Stmt::For(.., body) | Stmt::While(_, body) => vec![body],
            Stmt::Switch(_, cases, default) => {
                cases.iter_mut().map(|(_, body)| body).chain(std::iter::once(default)).collect()
            }
            _ => vec![],
        }
    }

    /// Returns the expressions of this statement, without those in nested blocks.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Stmt::Let(_, e) | Stmt::Var(_, e) | Stmt::If(e, ..) | Stmt::While(e, _) => vec![e],
            Stmt::Loop(.., e) | Stmt::Switch(e, ..) | Stmt::Return(e) => vec![e],
            Stmt::Assign(a, _, b) | Stmt::For(_, a, b, _) => vec![a, b],
            Stmt::Break | Stmt::Continue => vec![],
        }
    }
}

/// Visits a block and the blocks nested in it in pre-order.
pub fn walk_blocks(block: &mut Vec<Stmt>, f: &mut impl FnMut(&mut Vec<Stmt>)) {
    f(block);
    for stmt in block {
        stmt.blocks_mut().into_iter().for_each(|inner| walk_blocks(inner, f));
    }
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub name: String,
    pub parameters: Vec<Parameter>,
    pub result: Ty,
    pub body: Vec<Stmt>,
}

/// A parameter of a function, by value or by pointer to a variable of type `ty`.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub name: String,
    pub ty: Ty,
    pub is_pointer: bool,
}

/// A member of `Material`, with the range and the default in its doc comment.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub name: String,
    pub ty: Ty,
    pub range: Option<&'static str>,
    pub default: Option<&'static str>,
}

/// A declaration at module scope.
#[derive(Clone, Debug, PartialEq)]
pub enum Global {
    Const(String, Expr),
    Override(String, Expr),
    Private(String, Expr),
    Texture(String),
    Sampler(String),
    Struct(&'static str, Vec<(&'static str, Ty)>),
}

/// A WGSL module with a `brdf` function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// Whether the BRDF is evaluated on both sides of the surface.
    pub two_sided: bool,
    pub globals: Vec<Global>,
    /// Members of `Material`. The structure is omitted if it has no members.
    pub members: Vec<Member>,
    /// Functions in declaration order, callees before callers.
    pub functions: Vec<Function>,
}

impl Module {
    /// Visits all expressions of functions in pre-order. The shrinker numbers them in this order.
    pub fn walk_expressions(&mut self, f: &mut impl FnMut(&mut Expr)) {
        self.for_each_root(&mut |expr| expr.walk_mut(f));
    }

    /// Visits all expressions of functions in post-order; see [`Expr::rewrite`].
    pub fn rewrite_expressions(&mut self, f: &mut impl FnMut(&mut Expr)) {
        self.for_each_root(&mut |expr| expr.rewrite(f));
    }

    /// Visits all expressions of statements, without their subexpressions.
    fn for_each_root(&mut self, f: &mut impl FnMut(&mut Expr)) {
        self.walk_blocks(&mut |block| {
            block.iter_mut().flat_map(Stmt::expressions_mut).for_each(&mut *f)
        });
    }

    /// Visits all blocks of functions in pre-order.
    pub fn walk_blocks(&mut self, f: &mut impl FnMut(&mut Vec<Stmt>)) {
        self.functions.iter_mut().for_each(|function| walk_blocks(&mut function.body, f));
    }

    /// Returns the size that the shrinker minimizes. Constants weigh less than names; 0, 0.5 and 1
    /// weigh least.
    pub fn size(&mut self) -> usize {
        let mut size = 8 * (self.members.len() + self.globals.len() + self.functions.len());
        self.walk_expressions(&mut |expr| {
            size += match expr.kind {
                ExprKind::Float(x) if [0.0, 1.0, 0.5].contains(&x) => 1,
                ExprKind::Int(0 | 1) | ExprKind::Bool(_) => 1,
                ExprKind::Float(_) | ExprKind::Int(_) => 2,
                ExprKind::Name(_) => 3,
                _ => 4,
            };
        });
        self.walk_blocks(&mut |block| size += 4 * block.len());
        size + usize::from(self.two_sided)
    }
}
