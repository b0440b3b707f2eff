//! WGSL text becomes IR: [`Shader::parse`] reads a file and checks it against the contract of materials, [`Shader::function`]
//! translates one of its functions.

mod bits;
mod builtins;
mod control;
mod effects;
mod expressions;
mod layout;
mod loops;
mod operators;
mod overrides;
mod places;
#[cfg(test)]
mod programs;
#[cfg(test)]
mod testing;
mod translate;

use crate::ir::{Function, Type};

/// A material program that was read and found to keep the contract.
#[derive(Debug)]
pub struct Shader {
    name: String,
    sides: Sides,
    parameters: Vec<Parameter>,
}

/// Where a material sends light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sides {
    /// Reflection on the side of the normal: s = brdf · max(wi.z, 0), used where wo.z > 0.
    #[default]
    One,
    /// Reflection and transmission on the whole sphere (`sides: both`): s = bsdf · |wi.z|.
    Both,
}

/// Something the user of a material can set: a member of its `Material` struct, or of `SurfacePoint` where the shader has
/// `fn material(p: SurfacePoint) -> Material`.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// `kd`
    pub name: String,
    /// The first lines of its doc comment, without range and default.
    pub doc: String,
    /// Scalar type in WGSL.
    pub scalar: Scalar,
    /// Number of components: 1 for scalars, 2 to 4 for vectors.
    pub size: usize,
    /// Least and greatest value of each component; infinite where there is no limit.
    pub range: [f64; 2],
    /// Value of each component where none is given.
    pub default: Option<Vec<f64>>,
}

/// Scalar types of WGSL that parameters have.
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
    /// Type in the IR.
    pub fn ty(self) -> Type {
        match self {
            Scalar::F32 => Type::F32,
            Scalar::I32 | Scalar::U32 => Type::I32,
            Scalar::Bool => Type::Bool,
        }
    }

    /// The bits of a number in this type, rounded to it and cut to its ends.
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
    /// Names of the words that the parameter is: `exponent`, or `kd.x`, `kd.y`, `kd.z`. The ports of functions are named so.
    pub fn words(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.size).map(|k| if self.size == 1 { self.name.clone() } else { format!("{}.{}", self.name, ["x", "y", "z", "w"][k]) })
    }
}

/// Which function of a shader, in which form. All have the inputs `wi.x` … `wo.z` (as far as the function takes directions) and
/// then the words of the [parameters](Shader::parameters).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The integrand: outputs `s.r`, `s.g`, `s.b`, 1/sr.
    Shaded,
    /// BRDF and integrand: outputs `brdf.r`, `brdf.g`, `brdf.b`, `s.r`, `s.g`, `s.b`.
    Brdf,
    /// `fn sample`: inputs `u.x`, `u.y`, `wo.x` …; outputs `wi.x`, `wi.y`, `wi.z`. An error where the shader has none.
    Sample,
    /// `fn pdf`: outputs `pdf`, 1/sr. An error where the shader has none.
    Pdf,
}

/// What translation may be told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Values of `override` declarations, by name.
    pub overrides: Vec<(String, f64)>,
    /// Rounds after which a loop is left. Where it cannot be shown that no loop gets there, the function has one more output,
    /// `capped`, a bool.
    pub loop_cap: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { overrides: vec![], loop_cap: 1 << 16 }
    }
}

/// What is wrong with a shader, with the excerpt of its text that shows it.
#[derive(Clone, Debug, thiserror::Error, miette::Diagnostic)]
#[error("{message}")]
pub struct ShaderError {
    /// What is wrong.
    pub message: String,
    /// File name and text.
    #[source_code]
    pub source_code: miette::NamedSource<String>,
    /// Where, in bytes, and what is there.
    #[label(collection)]
    pub labels: Vec<miette::LabeledSpan>,
    /// The remedy.
    #[help]
    pub help: Option<String>,
}

impl Shader {
    /// Reads a shader; `name` is the file's, for messages.
    pub fn parse(name: &str, source: &str) -> Result<Shader, ShaderError> {
        let _ = source;
        Ok(Shader { name: name.to_owned(), sides: Sides::One, parameters: vec![] })
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the material sends light.
    pub fn sides(&self) -> Sides {
        self.sides
    }

    /// What can be set.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Translates a function of the shader; the result is as the author wrote it, not yet optimized.
    pub fn function(&self, entry: Entry, settings: &Settings) -> Result<Function, ShaderError> {
        todo!("{entry:?} {settings:?}")
    }
}
