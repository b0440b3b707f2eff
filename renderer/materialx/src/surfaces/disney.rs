//! `disney_principled` as `gltf`.

use super::{Inputs, Surface};
use crate::error::Error;
use crate::values::{Term, Type};

use Type::{Color3, Float};

/// Roughness √α of the sheen of MaterialX's definition, which has α = 0.3.
const SHEEN_ROUGHNESS: f64 = 0.5477;

pub(super) fn surface(i: &mut Inputs) -> Result<Surface, Error> {
    let base = i.get("baseColor", Color3, &[0.16])?;
    let (r, anisotropy) = (i.float("roughness", 0.5)?, i.float("anisotropic", 0.0)?);
    let facets = i.gltf_anisotropy(&r, &anisotropy)?;
    let white = Term::constant(Color3, &[1.0]);
    let (sheen, sheen_tint) = (i.float("sheen", 0.0)?, i.float("sheenTint", 0.5)?);
    let tint = i.mix("sheen_tint", Color3, &white, &base, &sheen_tint)?;
    let sheen = i.product("sheen_color", Color3, &tint, &sheen)?;
    let ior = i.float("ior", 1.5)?;
    // The reflectance at normal incidence is 0.08 specular, for any index.
    let (specular, tint) = (i.float("specular", 0.5)?, i.float("specularTint", 0.0)?);
    let tint = i.mix("specular_tint", Color3, &white, &base, &tint)?;
    let specular_color = i.combine(
        "specular_color",
        Color3,
        &[&tint, &specular, &ior],
        "{0} * (0.08 * {1} / max(pow(({2} - 1.0) / ({2} + 1.0), 2.0), 1e-4))",
        |v| {
            let root = (v[2] - 1.0) / (v[2] + 1.0);
            v[0] * 0.08 * v[1] / (root * root).max(1e-4)
        },
    )?;
    let gloss = i.float("clearcoatGloss", 1.0)?;
    let coat_roughness =
        i.combine("coat_roughness", Float, &[&gloss], "1.0 - {0}", |v| 1.0 - v[0])?;
    let subsurface = i.float("subsurface", 0.0)?;
    i.approximate_subsurface("subsurface", &subsurface);
    let values = vec![
        ("base_color", base),
        ("metallic", i.float("metallic", 0.0)?),
        ("roughness", facets.roughness),
        ("anisotropy", facets.strength),
        ("ior", ior),
        ("specular_color", specular_color),
        ("clearcoat", i.float("clearcoat", 0.0)?),
        ("clearcoat_roughness", coat_roughness),
        ("sheen_color", sheen),
        ("sheen_roughness", Term::float(SHEEN_ROUGHNESS)),
        ("transmission", i.float("specTrans", 0.0)?),
        ("thin_walled", Term::constant(Type::Boolean, &[0.0])),
    ];
    Ok(Surface::of_shader("gltf", values))
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
            Float,
            &operands,
            "{0} * pow(1.0 - min({1}, 0.98), 0.25)",
            |v| v[0] * libm::pow(1.0 - v[1].min(0.98), 0.25),
        )?;
        let strength = self.combine(
            "strength",
            Float,
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
