//! Surfaces as parameters of shaders.
//!
//! OpenPBR is `openpbr` of the library, and the material of Disney its `gltf`. Standard surface and the
//! materials of glTF and USD have shaders here, which follow MaterialX's graphs of BSDFs, and have
//! samplers. A tree of BSDFs is a shader of its own.

mod disney;
mod gltf;
mod hair;
mod normals;
mod open_pbr;
mod standard;
mod tangents;
mod tree;
mod unlit;
mod usd;

use crate::document::Id;
use crate::error::Error;
use crate::graph::{Graph, Scope};
use crate::program::SHADERS;
use crate::scene::ClearGlass;
use crate::values::{Term, Type};
use std::borrow::Cow;

/// The shader of a surface.
pub(crate) enum Code {
    /// The name of one in [`SHADERS`].
    Shader(&'static str),
    /// The text of the shader, without the functions that begin with `mx_`.
    Tree(String),
}

/// Names of parameters, and their values.
pub(crate) type Values = Vec<(Cow<'static, str>, Term)>;

/// A surface as a shader.
pub(crate) struct Surface {
    pub code: Code,
    /// Values of its parameters.
    pub values: Values,
    /// The input that has the normal, if it is connected, and its scope.
    pub normal: Option<(Scope, Id)>,
    pub emission: Option<EmissionInputs>,
    pub volume: Option<VolumeInputs>,
    pub opacity: Option<OpacityInputs>,
    pub dispersion: Option<DispersionInputs>,
}

impl Surface {
    /// One of the shaders, without what is optional.
    fn of_shader(name: &'static str, values: Vec<(&'static str, Term)>) -> Surface {
        let values = values.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Surface {
            code: Code::Shader(name),
            values,
            normal: None,
            emission: None,
            volume: None,
            opacity: None,
            dispersion: None,
        }
    }
}

/// The value of a parameter that has one.
fn value(values: &[(&'static str, Term)], name: &str) -> Term {
    let found = values.iter().find(|(other, _)| *other == name);
    found.expect("the parameter has a value").1.clone()
}

/// Converts a surface with these inputs.
type Conversion = fn(&mut Inputs) -> Result<Surface, Error>;

/// Surfaces by their category, with the shader in [`SHADERS`] that they become if it is always the same,
/// and the names of their inputs in the definitions of MaterialX 1.39.
const SURFACES: [(&str, Option<&str>, Conversion, &str); 7] = [
    (
        "open_pbr_surface",
        Some("openpbr"),
        open_pbr::surface,
        "base_weight base_color base_diffuse_roughness base_metalness specular_weight \
         specular_color specular_roughness specular_ior specular_roughness_anisotropy \
         transmission_weight transmission_color transmission_depth transmission_scatter \
         transmission_scatter_anisotropy transmission_dispersion_scale \
         transmission_dispersion_abbe_number subsurface_weight subsurface_color \
         subsurface_radius subsurface_radius_scale subsurface_scatter_anisotropy fuzz_weight \
         fuzz_color fuzz_roughness coat_weight coat_color coat_roughness \
         coat_roughness_anisotropy coat_ior coat_darkening thin_film_weight \
         thin_film_thickness thin_film_ior emission_luminance emission_color geometry_opacity \
         geometry_thin_walled geometry_normal geometry_coat_normal geometry_tangent \
         geometry_coat_tangent",
    ),
    (
        "standard_surface",
        Some("standard_surface"),
        standard::surface,
        "base base_color diffuse_roughness metalness specular specular_color \
         specular_roughness specular_IOR specular_anisotropy specular_rotation transmission \
         transmission_color transmission_depth transmission_scatter \
         transmission_scatter_anisotropy transmission_dispersion transmission_extra_roughness \
         subsurface subsurface_color subsurface_radius subsurface_scale subsurface_anisotropy \
         sheen sheen_color sheen_roughness coat coat_color coat_roughness coat_anisotropy \
         coat_rotation coat_IOR coat_normal coat_affect_color coat_affect_roughness \
         thin_film_thickness thin_film_IOR emission emission_color opacity thin_walled normal \
         tangent",
    ),
    (
        "gltf_pbr",
        Some("gltf_pbr"),
        gltf::surface,
        "base_color metallic roughness normal tangent occlusion transmission specular \
         specular_color ior alpha alpha_mode alpha_cutoff iridescence iridescence_ior \
         iridescence_thickness sheen_color sheen_roughness clearcoat clearcoat_roughness \
         clearcoat_normal emissive emissive_strength thickness attenuation_distance \
         attenuation_color anisotropy_strength anisotropy_rotation dispersion",
    ),
    (
        "UsdPreviewSurface",
        Some("usd_preview_surface"),
        usd::surface,
        "diffuseColor emissiveColor useSpecularWorkflow specularColor metallic roughness \
         clearcoat clearcoatRoughness opacity opacityMode opacityThreshold ior normal \
         displacement occlusion",
    ),
    (
        "disney_principled",
        Some("gltf"),
        disney::surface,
        "baseColor metallic roughness anisotropic specular specularTint sheen sheenTint \
         clearcoat clearcoatGloss specTrans ior subsurface subsurfaceDistance",
    ),
    ("surface", None, tree::surface, "bsdf edf opacity thin_walled"),
    (
        "surface_unlit",
        Some("openpbr"),
        unlit::surface,
        "emission emission_color transmission transmission_color opacity",
    ),
];

/// Converts the surface of a node.
pub(crate) fn convert(g: &mut Graph, scope: Scope, node: Id) -> Result<Surface, Error> {
    let document = g.document;
    let category = document.category(node);
    let found = SURFACES.iter().find(|(name, ..)| *name == category);
    let Some((_, shader, convert, inputs)) = found else {
        let names: Vec<&str> = SURFACES.iter().map(|(name, ..)| *name).collect();
        let help = format!("use {}", names.join(", "));
        let label = document.label(node);
        return Err(document.error(node, format!("the surface {label} is not supported"), help));
    };
    let names: Vec<&str> = inputs.split(' ').collect();
    g.warn_of_unknown_inputs(node, &names);
    for (_, text) in SHADERS.iter().filter(|(name, _)| *shader == Some(*name)) {
        g.names.reserve_members(text);
    }
    convert(&mut Inputs { g, scope, node })
}

/// The inputs of a surface.
pub(crate) struct Inputs<'g, 'd> {
    pub g: &'g mut Graph<'d>,
    pub scope: Scope,
    pub node: Id,
}

impl Inputs<'_, '_> {
    pub fn get(&mut self, name: &str, ty: Type, default: &[f64]) -> Result<Term, Error> {
        self.g.check_type(self.node, name, ty);
        let given = self.g.input(self.scope, self.node, name, ty)?;
        Ok(given.unwrap_or_else(|| Term::constant(ty, default)))
    }

    fn float(&mut self, name: &str, default: f64) -> Result<Term, Error> {
        self.get(name, Type::Float, &[default])
    }

    pub fn color(&mut self, name: &str, default: f64) -> Result<Term, Error> {
        self.get(name, Type::Color3, &[default])
    }

    fn boolean(&mut self, name: &str) -> Result<Term, Error> {
        self.get(name, Type::Boolean, &[0.0])
    }

    /// The element of an input.
    fn element(&self, name: &str) -> Id {
        self.g.document.input(self.node, name).unwrap_or(self.node)
    }

    /// Warns about an input that has no effect.
    fn ignore(&mut self, name: &str, message: impl Into<String>, fallback: &str) {
        let element = self.element(name);
        self.g.warn(element, message, fallback);
    }

    /// Warns if an input that has no effect differs from its default.
    fn ignore_unless(
        &mut self,
        name: &str,
        ty: Type,
        default: f64,
        message: &str,
        fallback: &str,
    ) -> Result<(), Error> {
        let term = self.get(name, ty, &[default])?;
        if !term.is(default) {
            self.ignore(name, message, fallback);
        }
        Ok(())
    }

    /// Emission as the product of a colour and factors, inputs with their defaults.
    fn emission(
        &self,
        color: (&'static str, f64),
        factors: &'static [(&'static str, f64)],
    ) -> EmissionInputs {
        let Inputs { scope, node, .. } = *self;
        EmissionInputs { scope, node, color, factors, has_prefix: false }
    }

    /// The opacity of shapes by the name of its input, with a cutoff if there is one.
    fn opacity(&self, name: &'static str, ty: Type, cutoff: Option<f64>) -> OpacityInputs {
        let Inputs { scope, node, .. } = *self;
        OpacityInputs { scope, node, name, ty, cutoff }
    }

    /// Dispersion. The Abbe number is the first input divided by the second one; without an input,
    /// they are 20 and 1.
    fn dispersion(
        &self,
        numerator: Option<(&'static str, f64)>,
        denominator: Option<(&'static str, f64)>,
        glass: &'static ClearGlass,
    ) -> DispersionInputs {
        let Inputs { scope, node, .. } = *self;
        DispersionInputs { scope, node, numerator, denominator, glass }
    }

    /// A number that must be constant; the default with a warning if it is not.
    fn constant(&mut self, name: &str, ty: Type, default: f64) -> Result<f64, Error> {
        let term = self.get(name, ty, &[default])?;
        Ok(term.number().unwrap_or_else(|| {
            let message = format!("\"{name}\" is not constant");
            self.ignore(name, message, &default.to_string());
            default
        }))
    }

    /// A term of other terms: `formula` computes a constant, and `text` is an expression in which
    /// `{0}` is the first operand.
    fn combine(
        &mut self,
        name: &str,
        ty: Type,
        operands: &[&Term],
        text: &str,
        formula: impl Fn(&[f64]) -> f64,
    ) -> Result<Term, Error> {
        let constants: Option<Vec<&Vec<f64>>> =
            operands.iter().map(|term| term.constant.as_ref()).collect();
        if let Some(constants) = constants {
            let component = |i: usize| {
                let at = |values: &&Vec<f64>| if values.len() == 1 { values[0] } else { values[i] };
                formula(&constants.iter().map(at).collect::<Vec<_>>())
            };
            return Ok(Term::constant(ty, &(0..ty.size()).map(component).collect::<Vec<_>>()));
        }
        let mut text = text.to_owned();
        for (i, operand) in operands.iter().enumerate() {
            text = text.replace(&format!("{{{i}}}"), &operand.text);
        }
        self.g.bind_as(name, self.node, ty, text)
    }

    /// The product of two terms.
    fn product(&mut self, name: &str, ty: Type, a: &Term, b: &Term) -> Result<Term, Error> {
        match (a.is(1.0) && b.ty == ty, b.is(1.0) && a.ty == ty) {
            (true, _) => Ok(b.clone()),
            (_, true) => Ok(a.clone()),
            _ => self.combine(name, ty, &[a, b], "{0} * {1}", |v| v[0] * v[1]),
        }
    }

    /// `a` where `t` is 0, `b` where it is 1.
    fn mix(&mut self, name: &str, ty: Type, a: &Term, b: &Term, t: &Term) -> Result<Term, Error> {
        if t.is(0.0) {
            return Ok(a.clone());
        }
        if t.is(1.0) || a == b {
            return Ok(b.clone());
        }
        self.combine(name, ty, &[a, b, t], "mix({0}, {1}, {2})", |v| v[0] + (v[1] - v[0]) * v[2])
    }

    /// Warns about a subsurface, which is replaced by a diffuse lobe.
    fn approximate_subsurface(&mut self, name: &str, weight: &Term) {
        if !weight.is(0.0) {
            let message = "light does not scatter below the surface";
            self.ignore(name, message, "diffuse reflection of the same colour");
        }
    }

    /// The volume below a surface that transmits light.
    fn volume(&self, names: &'static VolumeNames) -> VolumeInputs {
        let Inputs { scope, node, .. } = *self;
        VolumeInputs { scope, node, names }
    }
}

/// The inputs of a surface, or of an EDF, for the light that it emits.
pub(crate) struct EmissionInputs {
    pub scope: Scope,
    pub node: Id,
    /// Names and defaults of the colour and of its factors.
    pub color: (&'static str, f64),
    pub factors: &'static [(&'static str, f64)],
    /// Whether parameters have the name of the node in theirs.
    pub has_prefix: bool,
}

/// The surface with dispersion, names and defaults of its inputs, and when it has an effect.
pub(crate) struct DispersionInputs {
    pub scope: Scope,
    pub node: Id,
    pub numerator: Option<(&'static str, f64)>,
    pub denominator: Option<(&'static str, f64)>,
    pub glass: &'static ClearGlass,
}

/// The surface with an opacity, and its input.
pub(crate) struct OpacityInputs {
    pub scope: Scope,
    pub node: Id,
    pub name: &'static str,
    /// A float or a colour, whose mean counts.
    pub ty: Type,
    pub cutoff: Option<f64>,
}

/// The surface whose inputs describe a volume.
pub(crate) struct VolumeInputs {
    pub scope: Scope,
    pub node: Id,
    pub names: &'static VolumeNames,
}

/// Names of the inputs of a volume.
#[derive(Debug)]
pub(crate) struct VolumeNames {
    /// The distance in which light gets the colour.
    pub depth: &'static str,
    pub color: &'static str,
    /// Scattering and its anisotropy.
    pub scattering: Option<[&'static str; 2]>,
    /// Whether the surface colours light unless the shader's parameter `depth` is not 0.
    pub colors_surface: bool,
    pub wall: Wall,
}

/// The input that says whether a surface is a thin wall, and has no volume.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wall {
    /// A boolean.
    Flag(&'static str),
    /// A number, which is 0 for a wall.
    NoThickness(&'static str),
}

impl VolumeNames {
    /// The volumes of OpenPBR and standard surface.
    const fn transmission(thin_walled: &'static str) -> VolumeNames {
        VolumeNames {
            depth: "transmission_depth",
            color: "transmission_color",
            scattering: Some(["transmission_scatter", "transmission_scatter_anisotropy"]),
            colors_surface: true,
            wall: Wall::Flag(thin_walled),
        }
    }
}
