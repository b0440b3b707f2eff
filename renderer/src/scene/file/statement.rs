//! Statements: what a scene file says, directive by directive, before anyone acts on it.

use super::params::ParamSet;
use crate::scene::diagnostics::{Location, SceneError};

/// A thing with a kind and parameters: a camera, a shape, a material…
#[derive(Clone, Debug)]
pub struct Entity {
    /// Its kind: `perspective`, `sphere`, `diffuse`…
    pub name: String,
    /// Its parameters.
    pub params: ParamSet,
    /// Where its kind stands.
    pub location: Location,
}

impl Entity {
    /// An error at the place of its kind.
    pub fn error(&self, message: impl Into<String>) -> SceneError {
        SceneError::at(&self.location, message)
    }
}

/// A name and where it stands.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where it stands.
    pub location: Location,
}

/// A setting of the picture as a whole, made before `WorldBegin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in the format")]
pub enum Setting {
    Camera,
    Film,
    PixelFilter,
    Sampler,
    Integrator,
    Accelerator,
}

/// Which of the two transforms, at shutter opening and closing, a directive changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in the format")]
pub enum ActiveTransform {
    All,
    StartTime,
    EndTime,
}

/// One directive with its arguments.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "named as in the format")]
pub enum Directive {
    Include(Name),
    Import(Name),
    Option {
        name: Name,
        value: String,
    },
    ColorSpace(Name),
    Setting(Setting, Entity),
    WorldBegin,
    AttributeBegin,
    AttributeEnd,
    Attribute {
        target: Name,
        params: ParamSet,
    },
    Identity,
    Translate([f64; 3]),
    Scale([f64; 3]),
    /// Degrees, then the axis.
    Rotate([f64; 4]),
    /// Eye, point looked at, up.
    LookAt([f64; 9]),
    /// Columns of a 4×4 matrix.
    Transform([f64; 16]),
    /// Columns of a 4×4 matrix.
    ConcatTransform([f64; 16]),
    CoordinateSystem(Name),
    CoordSysTransform(Name),
    ActiveTransform(ActiveTransform),
    /// Start and end of the motion, seconds.
    TransformTimes([f64; 2]),
    ReverseOrientation,
    ObjectBegin(Name),
    ObjectEnd,
    ObjectInstance(Name),
    MediumInterface {
        inside: Name,
        outside: Name,
    },
    MakeNamedMedium(Name, ParamSet),
    Material(Entity),
    MakeNamedMaterial(Name, ParamSet),
    NamedMaterial(Name),
    Texture {
        name: Name,
        is_float: bool,
        entity: Entity,
    },
    LightSource(Entity),
    AreaLightSource(Entity),
    Shape(Entity),
}

/// A directive and where its word stands.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The word it starts with.
    pub word: &'static str,
    /// The directive.
    pub directive: Directive,
    /// Where it stands.
    pub location: Location,
}

/// All words a statement may start with.
pub const DIRECTIVES: [&str; 40] = [
    "Accelerator",
    "ActiveTransform",
    "AreaLightSource",
    "Attribute",
    "AttributeBegin",
    "AttributeEnd",
    "Camera",
    "ColorSpace",
    "ConcatTransform",
    "CoordSysTransform",
    "CoordinateSystem",
    "Film",
    "Identity",
    "Import",
    "Include",
    "Integrator",
    "LightSource",
    "LookAt",
    "MakeNamedMaterial",
    "MakeNamedMedium",
    "Material",
    "MediumInterface",
    "NamedMaterial",
    "ObjectBegin",
    "ObjectEnd",
    "ObjectInstance",
    "Option",
    "PixelFilter",
    "ReverseOrientation",
    "Rotate",
    "Sampler",
    "Scale",
    "Shape",
    "Texture",
    "Transform",
    "TransformBegin",
    "TransformEnd",
    "TransformTimes",
    "Translate",
    "WorldBegin",
];
