//! Statements: the directives of a scene file, parsed but not interpreted.

use super::params::ParamSet;
use crate::diagnostics::{Location, SceneError};

/// An entity with a type and parameters: a camera, a shape, a material, …
#[derive(Clone, Debug)]
pub struct Entity {
    /// Type: `perspective`, `sphere`, `diffuse`, …
    pub name: String,
    /// Parameters.
    pub params: ParamSet,
    /// Location of the type.
    pub location: Location,
}

impl Entity {
    /// Creates an error at the location of the entity.
    pub fn error(&self, message: impl Into<String>) -> SceneError {
        SceneError::at(&self.location, message)
    }

    /// Creates an error at the location of a parameter, or of the entity if it is not given.
    pub fn param_error(&self, name: &str, message: impl Into<String>) -> SceneError {
        let location = self.params.find(name).map_or(&self.location, |param| &param.location);
        SceneError::at(location, message)
    }
}

/// A name with its location.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Location of the name.
    pub location: Location,
}

/// A rendering option, set before `WorldBegin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "names from the scene format")]
pub enum Setting {
    Camera,
    Film,
    PixelFilter,
    Sampler,
    Integrator,
    Accelerator,
}

/// The transforms that directives modify: at the start time, at the end time, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "names from the scene format")]
pub enum ActiveTransform {
    All,
    StartTime,
    EndTime,
}

/// One directive with its arguments.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "names from the scene format")]
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
    /// Angle in degrees, then the axis.
    Rotate([f64; 4]),
    /// Eye, target, up.
    LookAt([f64; 9]),
    /// A 4×4 matrix in column-major order.
    Transform([f64; 16]),
    /// A 4×4 matrix in column-major order.
    ConcatTransform([f64; 16]),
    CoordinateSystem(Name),
    CoordSysTransform(Name),
    ActiveTransform(ActiveTransform),
    /// Start and end time, seconds.
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

impl Directive {
    /// Returns the parameters, if the directive takes any.
    pub fn params_mut(&mut self) -> Option<&mut ParamSet> {
        match self {
            Directive::Setting(_, entity)
            | Directive::Material(entity)
            | Directive::Texture { entity, .. }
            | Directive::LightSource(entity)
            | Directive::AreaLightSource(entity)
            | Directive::Shape(entity) => Some(&mut entity.params),
            Directive::Attribute { params, .. }
            | Directive::MakeNamedMedium(_, params)
            | Directive::MakeNamedMaterial(_, params) => Some(params),
            _ => None,
        }
    }
}

/// A directive with keyword and location.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Keyword of the directive.
    pub keyword: &'static str,
    /// The directive.
    pub directive: Directive,
    /// Location of the keyword.
    pub location: Location,
}

/// Keywords of all directives.
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
