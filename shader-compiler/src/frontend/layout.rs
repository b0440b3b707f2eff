//! Layout of WGSL types: every type is flattened to a list of scalar *leaves*.
//!
//! Leaves are in the order of declaration, recursively: components of a vector from x to w; columns
//! of a matrix, each from top to bottom; elements of an array; members of a struct.

use super::translate::Fault;
use crate::ir::Type;
use naga::{ArraySize, Handle, Module, ScalarKind, Span, TypeInner};
use std::borrow::Cow;

/// Maximum number of leaves of a variable: each is an SSA value, and a parameter of every loop that
/// assigns it.
pub(crate) const MAX_LEAVES: u32 = 4096;

/// Number of leaves of each type of a module.
pub(crate) struct Layout<'m> {
    module: &'m Module,
    /// Indexed by type; `None` if values of the type cannot be translated.
    sizes: Vec<Option<u32>>,
}

/// IR type of a scalar; `None` if it is not supported.
pub(crate) fn scalar_type(scalar: naga::Scalar) -> Option<Type> {
    match (scalar.kind, scalar.width) {
        (ScalarKind::Float, 4) => Some(Type::F32),
        (ScalarKind::Sint | ScalarKind::Uint, 4) => Some(Type::I32),
        (ScalarKind::Bool, _) => Some(Type::Bool),
        _ => None,
    }
}

/// The type that a pointer points to, or the type itself if it is not a pointer.
fn pointee<'t>(module: &'t Module, inner: &'t TypeInner) -> Cow<'t, TypeInner> {
    match *inner {
        TypeInner::Pointer { base, .. } => Cow::Borrowed(&module.types[base].inner),
        TypeInner::ValuePointer { size: Some(size), scalar, .. } => {
            Cow::Owned(TypeInner::Vector { size, scalar })
        }
        TypeInner::ValuePointer { size: None, scalar, .. } => Cow::Owned(TypeInner::Scalar(scalar)),
        _ => Cow::Borrowed(inner),
    }
}

impl<'m> Layout<'m> {
    /// Computes the layout of a module's types. naga lists a type after the types that it contains.
    pub fn new(module: &'m Module) -> Layout<'m> {
        let mut layout = Layout { module, sizes: Vec::with_capacity(module.types.len()) };
        for (_, ty) in module.types.iter() {
            let size = layout.size(&ty.inner).filter(|&size| size <= MAX_LEAVES);
            layout.sizes.push(size);
        }
        layout
    }

    /// Number of leaves of a type; `None` if values of the type cannot be translated.
    pub fn size(&self, inner: &TypeInner) -> Option<u32> {
        match *inner {
            TypeInner::Scalar(scalar) => scalar_type(scalar).map(|_| 1),
            TypeInner::Vector { size, scalar } => scalar_type(scalar).map(|_| size as u32),
            TypeInner::Matrix { columns, rows, scalar } => {
                scalar_type(scalar).map(|_| columns as u32 * rows as u32)
            }
            TypeInner::Array { base, size: ArraySize::Constant(count), .. } => {
                self.sizes[base.index()]?.checked_mul(count.get())
            }
            TypeInner::Struct { ref members, .. } => members
                .iter()
                .try_fold(0u32, |sum, member| sum.checked_add(self.sizes[member.ty.index()]?)),
            _ => None,
        }
    }

    /// Number of leaves of a translatable type.
    fn known_size(&self, ty: Handle<naga::Type>) -> u32 {
        self.sizes[ty.index()].expect("parts of translatable types are translatable")
    }

    /// Types of the leaves of a translatable type.
    pub fn leaves(&self, inner: &TypeInner) -> Vec<Type> {
        let mut out = Vec::with_capacity(self.size(inner).unwrap_or(0) as usize);
        // Not recursive, since every declared struct may contain the previous one.
        let mut work = vec![inner];
        while let Some(inner) = work.pop() {
            match *inner {
                TypeInner::Array { base, size: ArraySize::Constant(count), .. } => {
                    work.extend(std::iter::repeat_n(
                        &self.module.types[base].inner,
                        count.get() as usize,
                    ));
                }
                TypeInner::Struct { ref members, .. } => {
                    work.extend(
                        members.iter().rev().map(|member| &self.module.types[member.ty].inner),
                    );
                }
                _ => {
                    let ty = inner
                        .scalar()
                        .and_then(scalar_type)
                        .expect("translatable types are made of scalars");
                    let count =
                        self.size(inner).expect("scalars, vectors and matrices have a size");
                    out.extend(std::iter::repeat_n(ty, count as usize));
                }
            }
        }
        out
    }

    /// First leaf and number of leaves of a member or element, of a type or of a pointer's target.
    pub fn part(&self, inner: &TypeInner, index: u32) -> (u32, u32) {
        match *pointee(self.module, inner) {
            TypeInner::Struct { ref members, .. } => {
                let before =
                    members[..index as usize].iter().map(|member| self.known_size(member.ty)).sum();
                (before, self.known_size(members[index as usize].ty))
            }
            ref other => {
                let (_, stride) = self.elements(other);
                (index * stride, stride)
            }
        }
    }

    /// Number of elements, and number of leaves per element, of an indexable type or of a pointer's
    /// target.
    pub fn elements(&self, inner: &TypeInner) -> (u32, u32) {
        match *pointee(self.module, inner) {
            TypeInner::Vector { size, .. } => (size as u32, 1),
            TypeInner::Matrix { columns, rows, .. } => (columns as u32, rows as u32),
            TypeInner::Array { base, size: ArraySize::Constant(count), .. } => {
                (count.get(), self.known_size(base))
            }
            ref other => unreachable!("{other:?} cannot be indexed"),
        }
    }

    /// Explains why a type cannot be translated.
    pub fn fault(&self, inner: &TypeInner, span: Span) -> Fault {
        let mut inner = inner;
        loop {
            let part = match *inner {
                TypeInner::Array { base, size: ArraySize::Constant(_), .. } => Some(base),
                TypeInner::Struct { ref members, .. } => members
                    .iter()
                    .map(|member| member.ty)
                    .find(|ty| self.sizes[ty.index()].is_none()),
                _ => None,
            };
            match part {
                Some(part) if self.sizes[part.index()].is_none() => {
                    inner = &self.module.types[part].inner
                }
                _ => break,
            }
        }
        let (message, help) = match *inner {
            TypeInner::Array { size: ArraySize::Constant(_), .. } | TypeInner::Struct { .. } => (
                format!("a value of more than {MAX_LEAVES} scalars"),
                "variables are kept in registers: use smaller arrays",
            ),
            TypeInner::Array { .. } => {
                ("an array without a fixed size".to_owned(), "give it a constant size")
            }
            TypeInner::Atomic(_) => {
                ("atomics".to_owned(), "evaluations share no memory: use a plain integer")
            }
            TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. } => {
                ("this pointer".to_owned(), "pass the value")
            }
            TypeInner::Image { .. }
            | TypeInner::Sampler { .. }
            | TypeInner::BindingArray { .. } => (
                "textures and samplers in variables".to_owned(),
                "sample the texture and pass the value",
            ),
            TypeInner::Scalar(s)
            | TypeInner::Vector { scalar: s, .. }
            | TypeInner::Matrix { scalar: s, .. } => {
                return unsupported_scalar(s, span);
            }
            _ => (
                "values of this type".to_owned(),
                "use f32, i32, u32, bool and types composed of them",
            ),
        };
        Fault {
            message: format!("{message} cannot be used in a material"),
            span,
            help: Some(help.to_owned()),
        }
    }
}

/// The fault for an unsupported scalar type.
pub(crate) fn unsupported_scalar(scalar: naga::Scalar, span: Span) -> Fault {
    let (letter, instead) = match scalar.kind {
        ScalarKind::Float | ScalarKind::AbstractFloat => ('f', "f32"),
        ScalarKind::Uint => ('u', "u32"),
        _ => ('i', "i32"),
    };
    Fault {
        message: format!("`{letter}{}` is not supported", u32::from(scalar.width) * 8),
        span,
        help: Some(format!("use `{instead}`")),
    }
}

#[cfg(test)]
mod tests {
    use crate::frontend::testing::{leaves, module};
    use crate::ir::Type::{self, Bool, F32, I32};

    fn leaves_of(declarations: &str, name: &str) -> Result<Vec<Type>, String> {
        let (module, _) = module(declarations);
        let (ty, _) = module
            .types
            .iter()
            .find(|(_, ty)| ty.name.as_deref() == Some(name))
            .expect("it is declared");
        leaves(&module, ty).map_err(|fault| fault.message)
    }

    #[test]
    fn leaves_are_in_order_of_declaration() {
        let source = "struct A { x: vec2f, n: u32 } struct B { a: array<A, 2>, flag: bool, m: mat2x2f, v: vec3<bool> }";
        let a = [F32, F32, I32];
        let expected = [&a[..], &a, &[Bool], &[F32; 4], &[Bool; 3]].concat();
        assert_eq!(leaves_of(source, "B"), Ok(expected));
    }

    #[test]
    fn faults_name_the_unsupported_type() {
        let nested = |ty: &str| {
            leaves_of(
                &format!(
                    "enable f16; struct A {{ x: {ty} }} struct B {{ y: f32, a: array<A, 2> }}"
                ),
                "B",
            )
        };
        assert_eq!(nested("f16").unwrap_err(), "`f16` is not supported");
        assert_eq!(nested("vec2<u64>").unwrap_err(), "`u64` is not supported");
        assert_eq!(nested("mat2x2<f64>").unwrap_err(), "`f64` is not supported");
        assert_eq!(nested("atomic<u32>").unwrap_err(), "atomics cannot be used in a material");
        assert_eq!(
            nested("array<f32, 5000>").unwrap_err(),
            "a value of more than 4096 scalars cannot be used in a material"
        );
        assert_eq!(
            nested("array<f32, 4000>").unwrap_err(),
            "a value of more than 4096 scalars cannot be used in a material"
        );
        assert_eq!(nested("array<array<f32, 3>, 500>").map(|leaves| leaves.len()), Ok(3001));
    }

    #[test]
    fn deep_and_exponentially_large_types_have_a_layout() {
        let mut source = "struct S0 { x: f32 }".to_owned();
        for k in 1..2000 {
            source += &format!("struct S{k} {{ x: S{} }}", k - 1);
        }
        source += "struct T0 { x: f32, y: f32 }";
        for k in 1..20 {
            source += &format!("struct T{k} {{ x: T{0}, y: T{0} }}", k - 1);
        }
        assert_eq!(leaves_of(&source, "S1999"), Ok(vec![F32]));
        assert!(leaves_of(&source, "T19").unwrap_err().contains("4096"));
    }
}
