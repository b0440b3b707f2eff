//! Materials, and what stands in for those that are not there yet.

use super::Builder;
use crate::material::{Material, Metal, Roughness};
use crate::math::Vec3;
use crate::scene::describe::Description;
use crate::scene::diagnostics::{SceneError, did_you_mean};
use crate::scene::file::params::{ParamType, SpectrumParam};
use crate::scene::file::parse::Entity;
use crate::spectrum::HELIUM_D;
use crate::texture::Param;

/// All materials of a scene, and how to find them.
pub(super) struct Materials {
    pub materials: Vec<Material>,
    pub names: Vec<String>,
    /// For each described material its index; `None` for `interface`, which is not there at all.
    pub index: Vec<Option<u32>>,
}

const MATERIALS: [&str; 5] = ["diffuse", "conductor", "dielectric", "thindielectric", "interface"];

impl Builder<'_> {
    pub(super) fn materials(&mut self, d: &Description) -> Result<Materials, SceneError> {
        let mut all = Materials { materials: Vec::new(), names: Vec::new(), index: Vec::new() };
        for m in &d.materials {
            let material = if m.entity.name == "mix" { None } else { self.material(&m.entity)? };
            all.index.push(material.is_some().then_some(all.materials.len() as u32));
            if let Some(material) = material {
                all.materials.push(material);
                all.names.push(m.name.clone().unwrap_or_else(|| m.entity.name.clone()));
            }
        }
        // A mix may name materials that come later, other mixes among them.
        let chosen = d.materials.iter().map(|m| self.mix(&m.entity, d)).collect::<Result<Vec<_>, _>>()?;
        for i in 0..chosen.len() {
            let (mut end, mut steps) = (i, 0);
            while let Some(next) = chosen[end] {
                (end, steps) = (next, steps + 1);
                if steps > chosen.len() {
                    let error = d.materials[i].entity.error("this \"mix\" leads to itself");
                    return Err(error.help("mixes may name each other, but not in a circle"));
                }
            }
            all.index[i] = all.index[end];
        }
        Ok(all)
    }

    /// The index of the material that stands in for a mix; `None` for other materials.
    fn mix(&mut self, entity: &Entity, d: &Description) -> Result<Option<usize>, SceneError> {
        if entity.name != "mix" {
            return Ok(None);
        }
        self.warn(entity, "material \"mix\" is not supported", "the one of its materials with the larger weight")?;
        let Some([a, b]) = entity.params.strings("materials")? else {
            return Err(entity.error("\"mix\" takes two materials").help("give \"string materials\" [\"a\" \"b\"]"));
        };
        let amount = match self.float(entity, "amount", 0.5)? {
            Param::Constant(amount) => amount.x,
            Param::Texture(_) => 0.5,
        };
        entity.params.mark_all_used();
        let find = |name: &String| {
            d.material(name).ok_or_else(|| {
                let all = d.materials.iter().filter_map(|m| m.name.as_deref());
                let help = did_you_mean(name, all, "define it with MakeNamedMaterial");
                entity.error(format!("no material is named \"{name}\"")).help(help)
            })
        };
        let (a, b) = (find(a)?, find(b)?);
        Ok(Some(if amount > 0.5 { b } else { a }))
    }

    /// One material; `None` for an interface between media, which without media is nothing.
    fn material(&mut self, entity: &Entity) -> Result<Option<Material>, SceneError> {
        let fallback = |name: &str| {
            Some(match name {
                "coateddiffuse" => "\"diffuse\" with its reflectance, without the coat",
                "coatedconductor" => "\"conductor\" without the coat",
                "diffusetransmission" => "\"diffuse\" with its reflectance; nothing is transmitted",
                "subsurface" => "\"diffuse\"",
                "hair" | "measured" => "\"diffuse\" of 0.5",
                _ => return None,
            })
        };
        let supported = self.choose("material", entity, &MATERIALS, fallback)?;
        for name in ["normalmap", "displacement"] {
            if entity.params.find(name).is_some() {
                let _ = (entity.params.string(name).ok(), entity.params.texture(name).ok());
                self.warn(entity, format!("\"{name}\" of materials is not supported"), "the smooth surface")?;
            }
        }
        if !supported {
            let material = self.stand_in(entity)?;
            entity.params.mark_all_used();
            return Ok(Some(material));
        }
        let material = match entity.name.as_str() {
            "diffuse" => Material::Diffuse { reflectance: self.colour(entity, "reflectance", 0.5)? },
            "conductor" => self.conductor(entity, "", 0.0)?,
            "dielectric" => {
                Material::Dielectric { eta: self.refraction(entity, "eta")?, roughness: self.roughness(entity, "", 0.0)? }
            }
            "thindielectric" => Material::ThinDielectric { eta: self.refraction(entity, "eta")? },
            _ => return Ok(None),
        };
        self.warn_unused(entity)?;
        Ok(Some(material))
    }

    /// What is used for a material that is not supported.
    fn stand_in(&mut self, entity: &Entity) -> Result<Material, SceneError> {
        Ok(match entity.name.as_str() {
            "coateddiffuse" => Material::Diffuse { reflectance: self.colour(entity, "reflectance", 0.5)? },
            "diffusetransmission" => Material::Diffuse { reflectance: self.colour(entity, "reflectance", 0.25)? },
            "coatedconductor" => self.conductor(entity, "conductor.", 0.0)?,
            "subsurface" => Material::Diffuse { reflectance: self.colour(entity, "reflectance", 0.5)? },
            _ => Material::diffuse(Vec3::splat(0.5)),
        })
    }

    /// A metal whose `eta`, `k` and roughness carry `prefix`; copper where nothing is said, as in pbrt-v4.
    fn conductor(&mut self, entity: &Entity, prefix: &str, roughness: f32) -> Result<Material, SceneError> {
        let (eta, k) = (format!("{prefix}eta"), format!("{prefix}k"));
        let metal = if entity.params.find("reflectance").is_some() {
            if entity.params.find(&eta).is_some() || entity.params.find(&k).is_some() {
                return Err(entity
                    .error(format!("both \"reflectance\" and \"{eta}\" or \"{k}\" are given"))
                    .help("remove one of them"));
            }
            Metal::Reflectance(self.colour(entity, "reflectance", 0.5)?)
        } else {
            let copper = |which: &str| SpectrumParam::Named(format!("metal-Cu-{which}"));
            Metal::Index { eta: self.spectrum_or(entity, &eta, copper("eta"))?, k: self.spectrum_or(entity, &k, copper("k"))? }
        };
        Ok(Material::Conductor { metal, roughness: self.roughness(entity, prefix, roughness)? })
    }

    /// `roughness`, or `uroughness` and `vroughness`, after `prefix`.
    fn roughness(&mut self, entity: &Entity, prefix: &str, default: f32) -> Result<Roughness, SceneError> {
        let name = |suffix: &str| format!("{prefix}{suffix}");
        let both = self.float(entity, &name("roughness"), default)?;
        let or_both = |p: Option<Param>| p.unwrap_or_else(|| both.clone());
        Ok(Roughness {
            u: or_both(self.optional_float(entity, &name("uroughness"))?),
            v: or_both(self.optional_float(entity, &name("vroughness"))?),
            remap: entity.params.bool("remaproughness")?.unwrap_or(true),
        })
    }

    /// An index of refraction: a number, or a spectrum, of which the value at the helium d line is taken.
    fn refraction(&mut self, entity: &Entity, name: &str) -> Result<f32, SceneError> {
        let good = |eta: f32| eta > 0.0 && eta.is_finite();
        if entity.params.kind(name) != Some(ParamType::Spectrum) {
            let eta = entity.params.float(name)?.unwrap_or(1.5);
            let error = || entity.error(format!("the index of refraction is {eta}"));
            return good(eta).then_some(eta).ok_or_else(|| error().help("give a number above 0, such as 1.5 for glass"));
        }
        let param = entity.params.spectrum(name)?.expect("it is there");
        let eta = self.spectrum(entity, &param)?.expect("parameters of type spectrum are spectra").at(HELIUM_D);
        good(eta).then_some(eta).ok_or_else(|| {
            let error = entity.error(format!("the spectrum \"{name}\" is {eta} at {HELIUM_D} nm, where its index is taken"));
            error.help("give a spectrum that covers visible light, or a \"float\"")
        })
    }
}
