//! Materials: pbrt-v4's as shaders of the library and delta functions, and what stands in for those
//! that are not there yet.

use super::Builder;
use crate::material::{Material, Metal, Specular};
use crate::math::Vec3;
use crate::scene::describe::{Description, MaterialEntity};
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

const MATERIALS: [&str; 10] = [
    "diffuse",
    "coateddiffuse",
    "diffusetransmission",
    "conductor",
    "coatedconductor",
    "dielectric",
    "thindielectric",
    "mix",
    "shader",
    "interface",
];

/// Below this α on both axes a surface is a mirror; the value is pbrt-v4's.
const SMOOTH: f32 = 1e-3;

/// Indices of refraction that differ less from 1 count as 1: the half vector of refraction is lost
/// in rounding.
const MATCHED: f32 = 1e-4;

impl Builder<'_> {
    pub(super) fn materials(&mut self, d: &Description) -> Result<Materials, SceneError> {
        let mut next = 0;
        let mut number = |m: &MaterialEntity| {
            let there = m.entity.name != "interface";
            next += u32::from(there);
            there.then(|| next - 1)
        };
        let index: Vec<_> = d.materials.iter().map(&mut number).collect();
        let mut all = Materials { materials: Vec::new(), names: Vec::new(), index };
        for m in &d.materials {
            let material = match m.entity.name.as_str() {
                "mix" => Some(self.mix(&m.entity, d, &all.index, next)?),
                "shader" => Some(self.shader_material(&m.entity, m.name.as_deref())?),
                _ => self.material(&m.entity)?,
            };
            if let Some(material) = material {
                all.materials.push(material);
                all.names.push(m.name.clone().unwrap_or_else(|| m.entity.name.clone()));
            }
        }
        if all
            .materials
            .iter()
            .any(|m| matches!(m, Material::Mix { materials, .. } if materials.contains(&next)))
        {
            // What an interface is to a mix: a surface that lets through whatever meets it.
            all.materials.push(Material::specular(Specular::Pane { eta: 1.0 }));
            all.names.push("interface".into());
        }
        for (m, &index) in d.materials.iter().zip(&all.index) {
            if index.is_some_and(|index| leads_to_itself(&all.materials, index)) {
                let error = m.entity.error("this \"mix\" leads to itself");
                return Err(error.help("mixes may name each other, but not in a circle"));
            }
        }
        Ok(all)
    }

    /// One of two materials, drawn by chance at each point; `nothing` is the index of what
    /// interfaces are.
    fn mix(
        &mut self,
        entity: &Entity,
        d: &Description,
        index: &[Option<u32>],
        nothing: u32,
    ) -> Result<Material, SceneError> {
        let Some([a, b]) = entity.params.strings("materials")? else {
            return Err(entity
                .error("\"mix\" takes two materials")
                .help("give \"string materials\" [\"a\" \"b\"]"));
        };
        let amount = self.float(entity, "amount", 0.5)?;
        let find = |name: &String| {
            let found = d.material(name).ok_or_else(|| {
                let all = d.materials.iter().filter_map(|m| m.name.as_deref());
                let help = did_you_mean(name, all, "define it with MakeNamedMaterial");
                entity.error(format!("no material is named \"{name}\"")).help(help)
            })?;
            Ok(index[found].unwrap_or(nothing))
        };
        let materials = [find(a)?, find(b)?];
        self.warn_unused(entity)?;
        Ok(Material::Mix { materials, amount })
    }

    /// One material; `None` for an interface between media, which without media is nothing.
    fn material(&mut self, entity: &Entity) -> Result<Option<Material>, SceneError> {
        let fallback = |name: &str| {
            Some(match name {
                "subsurface" => "\"diffuse\"",
                "hair" | "measured" => "\"diffuse\" of 0.5",
                _ => return None,
            })
        };
        let supported = self.choose("material", entity, &MATERIALS, fallback)?;
        self.bumps(entity, |_| false)?;
        if !supported {
            let kd = match entity.name.as_str() {
                "subsurface" => self.colour(entity, "reflectance", 0.5)?,
                _ => Param::Constant(Vec3::splat(0.5)),
            };
            let stand_in = self.library(entity, "diffuse.wgsl", &[("kd", kd)])?;
            entity.params.mark_all_used();
            return Ok(Some(Material::scattering(stand_in)));
        }
        let material = match entity.name.as_str() {
            "diffuse" => {
                let kd = self.colour(entity, "reflectance", 0.5)?;
                Material::scattering(self.library(entity, "diffuse.wgsl", &[("kd", kd)])?)
            }
            "diffusetransmission" => self.diffuse_transmission(entity)?,
            "conductor" => self.conductor(entity)?,
            "dielectric" => self.dielectric(entity)?,
            "thindielectric" => {
                Material::specular(Specular::Pane { eta: self.refraction(entity, "eta")? })
            }
            "coateddiffuse" => self.coated_diffuse(entity)?,
            "coatedconductor" => self.coated_conductor(entity)?,
            _ => return Ok(None),
        };
        self.warn_unused(entity)?;
        Ok(Some(material))
    }

    /// Warns of what would bend the surface, where its name is not `taken` by something else.
    pub(super) fn bumps(
        &mut self,
        entity: &Entity,
        taken: impl Fn(&str) -> bool,
    ) -> Result<(), SceneError> {
        for name in ["normalmap", "displacement"] {
            if !taken(name) && entity.params.any(name).is_some() {
                self.warn(
                    entity,
                    format!("\"{name}\" of materials is not supported"),
                    "the smooth surface",
                )?;
            }
        }
        Ok(())
    }

    fn diffuse_transmission(&mut self, entity: &Entity) -> Result<Material, SceneError> {
        let scale = entity.params.float("scale")?.unwrap_or(1.0);
        let mut part = |name: &str| {
            Ok::<_, SceneError>(self.colour(entity, name, 0.25)?.map(move |x| x * scale))
        };
        let values = [("kr", part("reflectance")?), ("kt", part("transmittance")?)];
        Ok(Material::scattering(self.library(entity, "diffuse_transmission.wgsl", &values)?))
    }

    fn conductor(&mut self, entity: &Entity) -> Result<Material, SceneError> {
        let metal = self.metal(entity, "")?;
        let alpha = self.roughness(entity, "")?;
        if alpha.is_smooth() {
            return Ok(Material::specular(Specular::Metal(metal)));
        }
        let values =
            [("eta", metal.eta), ("k", metal.k), ("alpha_x", alpha.x), ("alpha_y", alpha.y)];
        Ok(Material::scattering(self.library(entity, "conductor.wgsl", &values)?))
    }

    fn dielectric(&mut self, entity: &Entity) -> Result<Material, SceneError> {
        let (eta, alpha) = (self.refraction(entity, "eta")?, self.roughness(entity, "")?);
        if alpha.is_smooth() || (eta - 1.0).abs() < MATCHED {
            return Ok(Material::specular(Specular::Interface { eta }));
        }
        let values = [("eta", Param::from_float(eta)), ("alpha_x", alpha.x), ("alpha_y", alpha.y)];
        let mut instance = self.library(entity, "dielectric.wgsl", &values)?;
        // As the shader's parameter is cut.
        instance.eta = eta.clamp(1e-4, 1e4);
        Ok(Material::scattering(instance))
    }

    /// A closed form of what pbrt-v4 finds by random walks between the layers; see the shader.
    fn coated_diffuse(&mut self, entity: &Entity) -> Result<Material, SceneError> {
        let kd = self.colour(entity, "reflectance", 0.5)?;
        let (eta, thickness) =
            (self.coat_index(entity, "eta")?, self.float(entity, "thickness", 0.01)?);
        let coat = self.roughness(entity, "")?;
        let [x, y] = coat.clone().of_coat();
        let values = [
            ("kd", kd),
            ("eta", Param::from_float(eta)),
            ("thickness", thickness),
            ("alpha_x", x),
            ("alpha_y", y),
        ];
        let scattering = Some(self.library(entity, "coated_diffuse.wgsl", &values)?);
        Ok(Material::Surface {
            specular: coat.is_smooth().then_some(Specular::Coat { eta }),
            scattering,
        })
    }

    /// The same over a metal.
    fn coated_conductor(&mut self, entity: &Entity) -> Result<Material, SceneError> {
        let metal = self.metal(entity, "conductor.")?;
        let (eta, thickness) =
            (self.coat_index(entity, "interface.eta")?, self.float(entity, "thickness", 0.01)?);
        let (coat, alpha) =
            (self.roughness(entity, "interface.")?, self.roughness(entity, "conductor.")?);
        if coat.is_smooth()
            && alpha.is_smooth()
            && let Param::Constant(thickness) = thickness
        {
            return Ok(Material::specular(Specular::CoatedMetal {
                metal,
                eta,
                thickness: thickness.x,
            }));
        }
        let [x, y] = coat.clone().of_coat();
        // A mirror that is seen through a rough coat is no mirror any more.
        let least = if alpha.is_smooth() { SMOOTH } else { 0.0 };
        let [metal_x, metal_y] =
            [alpha.x, alpha.y].map(|alpha| alpha.map(move |alpha| alpha.max(Vec3::splat(least))));
        let values = [
            ("eta", metal.eta),
            ("k", metal.k),
            ("alpha_x", metal_x),
            ("alpha_y", metal_y),
            ("coat_eta", Param::from_float(eta)),
            ("coat_alpha_x", x),
            ("coat_alpha_y", y),
            ("thickness", thickness),
        ];
        let scattering = Some(self.library(entity, "coated_conductor.wgsl", &values)?);
        Ok(Material::Surface {
            specular: coat.is_smooth().then_some(Specular::Coat { eta }),
            scattering,
        })
    }

    /// The index of refraction of a coat, cut to what the closed forms are for.
    fn coat_index(&mut self, entity: &Entity, name: &str) -> Result<f32, SceneError> {
        let eta = self.refraction(entity, name)?;
        let near = eta.clamp(1.0, 3.0);
        if near != eta {
            self.warn(
                entity,
                format!("a coat with the index of refraction {eta} is not supported"),
                format!("the index {near}"),
            )?;
        }
        Ok(near)
    }

    /// A metal whose `eta` and `k` carry `prefix`; copper where nothing is said, as in pbrt-v4.
    fn metal(&mut self, entity: &Entity, prefix: &str) -> Result<Metal, SceneError> {
        let (eta, k) = (format!("{prefix}eta"), format!("{prefix}k"));
        if entity.params.find("reflectance").is_some() {
            if entity.params.find(&eta).is_some() || entity.params.find(&k).is_some() {
                return Err(entity
                    .error(format!("both \"reflectance\" and \"{eta}\" or \"{k}\" are given"))
                    .help("remove one of them"));
            }
            // η = 1 and k = 2√(r / (1 − r)) reflect r at normal incidence; 1 would need an infinite
            // k, so pbrt-v4 ends at 0.9999.
            let index = |r: Vec3| {
                let r = r.clamp(Vec3::ZERO, Vec3::splat(0.9999));
                2.0 * (r / (1.0 - r)).sqrt()
            };
            let k = self.colour(entity, "reflectance", 0.5)?.map(index);
            return Ok(Metal { eta: Param::from_float(1.0), k });
        }
        let copper = |which: &str| SpectrumParam::Named(format!("metal-Cu-{which}"));
        Ok(Metal {
            eta: self.spectrum_or(entity, &eta, copper("eta"))?,
            k: self.spectrum_or(entity, &k, copper("k"))?,
        })
    }

    /// `roughness`, or `uroughness` and `vroughness`, after `prefix`; a mirror where nothing is
    /// said.
    fn roughness(&mut self, entity: &Entity, prefix: &str) -> Result<Alpha, SceneError> {
        let name = |suffix: &str| format!("{prefix}{suffix}");
        let both = self.float(entity, &name("roughness"), 0.0)?;
        let remap = entity.params.bool("remaproughness")?.unwrap_or(true);
        let alpha = |p: Option<Param>| {
            let roughness = p.unwrap_or_else(|| both.clone());
            if remap { roughness.map(|x| x.max(Vec3::ZERO).sqrt()) } else { roughness }
        };
        let x = alpha(self.optional_float(entity, &name("uroughness"))?);
        Ok(Alpha { x, y: alpha(self.optional_float(entity, &name("vroughness"))?) })
    }

    /// An index of refraction: a number, or a spectrum, of which the value at the helium d line is
    /// taken.
    fn refraction(&mut self, entity: &Entity, name: &str) -> Result<f32, SceneError> {
        let good = |eta: f32| eta > 0.0 && eta.is_finite();
        if entity.params.kind(name) != Some(ParamType::Spectrum) {
            let eta = entity.params.float(name)?.unwrap_or(1.5);
            let error = || entity.error(format!("the index of refraction is {eta}"));
            return good(eta)
                .then_some(eta)
                .ok_or_else(|| error().help("give a number above 0, such as 1.5 for glass"));
        }
        let param = entity.params.spectrum(name)?.expect("it is there");
        let eta = self
            .spectrum(entity, &param)?
            .expect("parameters of type spectrum are spectra")
            .at(HELIUM_D);
        good(eta).then_some(eta).ok_or_else(|| {
            let error = entity.error(format!(
                "the spectrum \"{name}\" is {eta} at {HELIUM_D} nm, where its index is taken"
            ));
            error.help("give a spectrum that covers visible light, or a \"float\"")
        })
    }
}

/// Roughness of microfacets along ∂p/∂u, the x axis of the shading frame, and across it.
#[derive(Clone)]
struct Alpha {
    x: Param,
    y: Param,
}

impl Alpha {
    /// Whether the surface is as good as a mirror everywhere.
    fn is_smooth(&self) -> bool {
        let smooth = |p: &Param| matches!(p, Param::Constant(alpha) if alpha.x < SMOOTH);
        smooth(&self.x) && smooth(&self.y)
    }

    /// The same for shaders of coated materials, in which 0 stands for a coat whose reflection is
    /// none of theirs.
    fn of_coat(self) -> [Param; 2] {
        let polished = self.is_smooth();
        [self.x, self.y].map(|p| {
            if polished {
                Param::from_float(0.0)
            } else {
                p.map(|alpha| alpha.max(Vec3::splat(SMOOTH)))
            }
        })
    }
}

/// Whether mixes of mixes come back to a material.
fn leads_to_itself(materials: &[Material], start: u32) -> bool {
    let parts = |material: u32| match &materials[material as usize] {
        Material::Mix { materials, .. } => &materials[..],
        Material::Surface { .. } => &[],
    };
    let (mut seen, mut next) = (vec![false; materials.len()], parts(start).to_vec());
    while let Some(material) = next.pop() {
        if material == start {
            return true;
        }
        if !std::mem::replace(&mut seen[material as usize], true) {
            next.extend(parts(material));
        }
    }
    false
}
