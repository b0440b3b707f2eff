//! Parameters of shaders, and what is known of their values.

use crate::ir::Type;

/// A parameter of a shader: a member of `Material` or `Medium`, a member of `SurfacePoint` if the
/// shader has `fn material`, or an `override`.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// `kd`
    pub name: String,
    /// Its doc comment without range and default.
    pub doc: String,
    /// Scalar type.
    pub scalar: Scalar,
    /// Number of components: 1 for scalars, 2 to 4 for vectors.
    pub size: usize,
    /// Minimum and maximum of each component, representable in the scalar type; infinite if a float
    /// is unbounded.
    pub range: [f64; 2],
    /// Default value of each component, representable in the scalar type.
    pub default: Option<Vec<f64>>,
    /// Whether it is an albedo of the diffuse lobe: if all of these are 0, the BRDF is that of the
    /// other lobes.
    pub is_diffuse: bool,
    /// What is known of the vectors that it can be; for functions that are no materials.
    pub fact: Option<VectorFact>,
}

/// A fact about a vector, which [related](crate::relations) bounds use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VectorFact {
    /// A unit vector: [`Axis`](crate::relations::Axis) says how precisely.
    Unit,
    /// Its components ascend: x ≤ y ≤ z ≤ w.
    Sorted,
}

impl VectorFact {
    /// All facts.
    pub const ALL: [VectorFact; 2] = [VectorFact::Unit, VectorFact::Sorted];

    /// The name in doc comments.
    pub const fn name(self) -> &'static str {
        match self {
            VectorFact::Unit => "unit",
            VectorFact::Sorted => "sorted",
        }
    }
}

/// Scalar types of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// `f32`
    F32,
    /// `i32`
    I32,
    /// `u32`
    U32,
    /// `bool`
    Bool,
}

impl Scalar {
    /// Name in WGSL.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::F32 => "f32",
            Scalar::I32 => "i32",
            Scalar::U32 => "u32",
            Scalar::Bool => "bool",
        }
    }

    /// Type in the IR.
    pub fn ty(self) -> Type {
        match self {
            Scalar::F32 => Type::F32,
            Scalar::I32 | Scalar::U32 => Type::I32,
            Scalar::Bool => Type::Bool,
        }
    }

    /// The bits of a number converted to this type, rounded and clamped.
    pub fn bits(self, x: f64) -> u32 {
        match self {
            Scalar::F32 => (x as f32).to_bits(),
            Scalar::I32 => x as i32 as u32,
            Scalar::U32 => x as u32,
            Scalar::Bool => {
                if x != 0.0 {
                    !0
                } else {
                    0
                }
            }
        }
    }
}

impl Parameter {
    /// Names of the parameter's components, which are also names of ports: `exponent`, or `kd.x`,
    /// `kd.y`, `kd.z`.
    pub fn component_names(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.size).map(|k| {
            if self.size == 1 {
                self.name.clone()
            } else {
                format!("{}.{}", self.name, ["x", "y", "z", "w"][k])
            }
        })
    }
}
