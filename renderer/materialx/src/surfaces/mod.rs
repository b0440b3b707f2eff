//! Surfaces as parameters of shaders of the library.
//!
//! Light that passes through a surface is scattered by `gltf`, and other surfaces are `openpbr`,
//! unless the document uses the material of glTF or UsdPreviewSurface. Smooth metal is `gltf` as well,
//! since that has a sampler: directions sampled from bounds rarely meet a narrow lobe.

mod disney;
mod gltf;
mod open_pbr;
mod standard;
mod usd;

use crate::document::Id;
use crate::error::Error;
use crate::graph::{Graph, Scope};
use crate::values::{Term, Type};

/// A surface as a shader of the library.
pub(crate) struct Surface {
    /// Name of the shader.
    pub shader: &'static str,
    /// Values of its parameters.
    pub values: Vec<(&'static str, Term)>,
    /// The input that has the normal, if it is connected.
    pub normal: Option<Id>,
}

/// Converts a surface with these inputs.
type Conversion = fn(&mut Inputs) -> Result<Surface, Error>;

/// Surfaces by their category, and the names of their inputs in the definitions of MaterialX 1.39.
const SURFACES: [(&str, Conversion, &str); 5] = [
    (
        "open_pbr_surface",
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
        gltf::surface,
        "base_color metallic roughness normal tangent occlusion transmission specular \
         specular_color ior alpha alpha_mode alpha_cutoff iridescence iridescence_ior \
         iridescence_thickness sheen_color sheen_roughness clearcoat clearcoat_roughness \
         clearcoat_normal emissive emissive_strength thickness attenuation_distance \
         attenuation_color anisotropy_strength anisotropy_rotation dispersion",
    ),
    (
        "UsdPreviewSurface",
        usd::surface,
        "diffuseColor emissiveColor useSpecularWorkflow specularColor metallic roughness \
         clearcoat clearcoatRoughness opacity opacityMode opacityThreshold ior normal \
         displacement occlusion",
    ),
    (
        "disney_principled",
        disney::surface,
        "baseColor metallic roughness anisotropic specular specularTint sheen sheenTint \
         clearcoat clearcoatGloss specTrans ior subsurface subsurfaceDistance",
    ),
];

/// Converts the surface of a node.
pub(crate) fn convert(g: &mut Graph, scope: Scope, node: Id) -> Result<Surface, Error> {
    let document = g.document;
    let category = document.category(node);
    let Some((_, convert, inputs)) = SURFACES.iter().find(|(name, ..)| *name == category) else {
        let names: Vec<&str> = SURFACES.iter().map(|(name, ..)| *name).collect();
        let help = match category {
            "surface_unlit" => {
                "use AreaLightSource for a shape that emits light, and a black diffuse material"
                    .into()
            }
            _ => format!("use {}", names.join(", ")),
        };
        let label = document.label(node);
        return Err(document.error(node, format!("the surface {label} is not supported"), help));
    };
    warn_of_unknown_inputs(g, node, inputs);
    convert(&mut Inputs { g, scope, node })
}

/// Warns about inputs of a surface that are not among those with the given names.
fn warn_of_unknown_inputs(g: &mut Graph, node: Id, names: &str) {
    let document = g.document;
    for input in document.inputs(node) {
        let name = document.name(input);
        if names.split(' ').any(|known| known == name) {
            continue;
        }
        let close = names.split(' ').map(|known| (strsim::levenshtein(name, known), known)).min();
        let suggestion = match close {
            Some((distance, known)) if distance <= name.len().div_ceil(3) => {
                format!(" (did you mean \"{known}\"?)")
            }
            _ => String::new(),
        };
        let label = document.label(node);
        g.warn(input, format!("{label} has no input \"{name}\"{suggestion}"), "no effect");
    }
}

/// The inputs of a surface.
pub(crate) struct Inputs<'g, 'd> {
    g: &'g mut Graph<'d>,
    scope: Scope,
    node: Id,
}

impl Inputs<'_, '_> {
    fn get(&mut self, name: &str, ty: Type, default: &[f64]) -> Result<Term, Error> {
        let given = self.g.input(self.scope, self.node, name, ty)?;
        Ok(given.unwrap_or_else(|| Term::constant(ty, default)))
    }

    fn float(&mut self, name: &str, default: f64) -> Result<Term, Error> {
        self.get(name, Type::Float, &[default])
    }

    fn color(&mut self, name: &str, default: f64) -> Result<Term, Error> {
        self.get(name, Type::Color3, &[default])
    }

    fn boolean(&mut self, name: &str) -> Result<Term, Error> {
        self.get(name, Type::Boolean, &[0.0])
    }

    /// The element of an input.
    fn element(&self, name: &str) -> Id {
        self.g.document.input(self.node, name).unwrap_or(self.node)
    }

    /// The input with a normal, unless it is the normal of the geometry.
    fn normal(&self, name: &str) -> Option<Id> {
        let document = self.g.document;
        let input = document.input(self.node, name)?;
        document.attribute(input, "value").is_none().then_some(input)
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

    /// Warns about emission, unless the product of its factors is 0.
    fn ignore_emission(&mut self, factors: &[(&str, &Term)]) {
        if factors.iter().all(|(_, term)| !term.is(0.0)) {
            let message = "a material does not emit light";
            self.ignore(factors[0].0, message, "no emission; give the shape an AreaLightSource");
        }
    }

    /// Warns about an opacity that is not 1.
    fn ignore_opacity(&mut self, name: &str, opacity: &Term) {
        if !opacity.is(1.0) {
            let message = "a material has no opacity";
            self.ignore(name, message, "an opaque surface; give the shape an \"alpha\"");
        }
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
}

/// The greatest roughness √α of metal that is smooth.
const SMOOTH: f64 = 0.1;

impl Inputs<'_, '_> {
    /// Whether inputs describe smooth metal, without the layers of these weights.
    fn is_smooth_metal(
        &mut self,
        [metalness, roughness]: [&str; 2],
        default_roughness: f64,
        layers: &[&str],
    ) -> Result<bool, Error> {
        let roughness = self.float(roughness, default_roughness)?;
        let mut is_smooth = roughness.number().is_some_and(|x| x <= SMOOTH);
        is_smooth &= self.float(metalness, 0.0)?.is(1.0);
        for layer in layers {
            is_smooth &= self.float(layer, 0.0)?.is(0.0);
        }
        Ok(is_smooth)
    }
}

/// The direction of anisotropy as parameters of glTF: the roughness, and the strength.
struct GltfAnisotropy {
    roughness: Term,
    strength: Term,
}

impl Inputs<'_, '_> {
    /// Converts roughness r and anisotropy a of MaterialX, where α is r²/√(1 − a) along the tangent
    /// and r² √(1 − a) across, to glTF, where α is r² across and mix(r², 1, strength²) along.
    fn gltf_anisotropy(
        &mut self,
        roughness: &Term,
        anisotropy: &Term,
    ) -> Result<GltfAnisotropy, Error> {
        if anisotropy.is(0.0) {
            return Ok(GltfAnisotropy {
                roughness: roughness.clone(),
                strength: anisotropy.clone(),
            });
        }
        let operands = [roughness, anisotropy];
        let across = self.combine(
            "roughness",
            Type::Float,
            &operands,
            "{0} * pow(1.0 - min({1}, 0.98), 0.25)",
            |v| v[0] * libm::pow(1.0 - v[1].min(0.98), 0.25),
        )?;
        let strength = self.combine(
            "strength",
            Type::Float,
            &[roughness, anisotropy, &across],
            "sqrt(saturate((min({0} * {0} * inverseSqrt(1.0 - min({1}, 0.98)), 1.0) - {2} * {2}) \
             / max(1.0 - {2} * {2}, 1e-6)))",
            |v| {
                let along = (v[0] * v[0] / libm::sqrt(1.0 - v[1].min(0.98))).min(1.0);
                let across = v[2] * v[2];
                libm::sqrt(((along - across) / (1.0 - across).max(1e-6)).clamp(0.0, 1.0))
            },
        )?;
        Ok(GltfAnisotropy { roughness: across, strength })
    }
}
