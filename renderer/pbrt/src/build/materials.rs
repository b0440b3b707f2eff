//! Builds materials: library shaders and specular BSDFs for the materials of pbrt-v4, and fallbacks
//! for unsupported ones.

use super::Builder;
use super::textures::grey;
use super::value_checks::ValidValues;
use crate::describe::{Description, MaterialEntity, ShapeEntity};
use crate::diagnostics::SceneError;
use crate::file::params::{FloatOrSpectrum, ParamType, SpectrumParam};
use crate::file::parse::Entity;
use lightbound::light::EmissionImage;
use lightbound::material::{Conductor, DispersiveIndex, Material, Specular};
use lightbound::suggestion::did_you_mean;
use lightbound::texture::Param;
use lightbound_math::Vec3;
use lightbound_math::spectrum::{HELIUM_D_NM, Spectrum};
use std::sync::Arc;

/// All materials of a scene.
pub(super) struct Materials {
    pub materials: Vec<Material>,
    /// Name of each material, or its type if it is unnamed.
    pub names: Vec<String>,
    /// Index into `materials` of each material in the description; `None` for `interface`, which
    /// has no surface.
    pub index: Vec<Option<u32>>,
    /// Index of [`Material::Interface`], if an interface separates media.
    pub interface: Option<u32>,
    /// Index of the medium below the surface of each material, for `subsurface` and `materialx`.
    media: Vec<Option<u32>>,
    /// The light that each material emits.
    emissions: Vec<Option<SurfaceEmission>>,
    /// The opacity of shapes with each material; `None` is 1.
    opacities: Vec<Option<Param>>,
}

/// The light that the fronts of surfaces with a material emit.
#[derive(Clone)]
pub(super) struct SurfaceEmission {
    /// Radiance.
    pub le: Vec3,
    /// Factor of the radiance.
    pub image: Option<Arc<EmissionImage>>,
}

/// A material with what else its document describes.
pub(super) struct DocumentMaterial {
    pub material: Material,
    /// Index of the medium below the surface.
    pub medium: Option<u32>,
    pub emission: Option<SurfaceEmission>,
    /// Opacity of shapes; `None` is 1.
    pub opacity: Option<Param>,
}

impl Materials {
    /// Adds a material for `interface`, and returns its index.
    fn add_interface(&mut self, material: Material) -> u32 {
        self.materials.push(material);
        self.names.push("interface".into());
        self.media.push(None);
        self.emissions.push(None);
        self.opacities.push(None);
        self.materials.len() as u32 - 1
    }

    /// Returns the index of the medium below the surface of a material; the first of a mix.
    pub fn medium(&self, material: u32) -> Option<u32> {
        match &self.materials[material as usize] {
            Material::Mix { materials: [a, b], .. } => self.medium(*a).or_else(|| self.medium(*b)),
            _ => self.media[material as usize],
        }
    }

    /// Returns the opacity of shapes with a material; `None` is 1.
    pub fn opacity(&self, material: u32) -> Option<&Param> {
        self.opacities[material as usize].as_ref()
    }

    /// Returns the light that surfaces with a material emit.
    pub fn emission(&self, material: u32) -> Option<&SurfaceEmission> {
        self.emissions[material as usize].as_ref()
    }
}

/// Supported types of materials.
const MATERIALS: [&str; 14] = [
    "diffuse",
    "coateddiffuse",
    "diffusetransmission",
    "conductor",
    "coatedconductor",
    "dielectric",
    "thindielectric",
    "hair",
    "measured",
    "mix",
    "shader",
    "materialx",
    "subsurface",
    "interface",
];

/// Index of refraction without a parameter, as in pbrt-v4.
const GLASS_ETA: f32 = 1.5;

/// Surfaces with a smaller α along both axes are perfectly smooth. Value from pbrt-v4.
const MIN_ALPHA: f32 = 1e-3;

/// Default of `maxdepth` in pbrt-v4: the interactions within a coat after which a walk ends.
const DEFAULT_WALK_DEPTH: i32 = 10;

/// Concentration of eumelanin in hair without other parameters, as in pbrt-v4.
const DEFAULT_EUMELANIN: f32 = 1.3;

/// Rough glass with an index of refraction closer to 1 is smooth, because rounding errors dominate
/// the half vector of refraction: `dielectric.wgsl` scatters nothing (`MIN_INDEX_DIFFERENCE`).
const MIN_ETA_DIFFERENCE: f32 = 1e-4;

/// Dominant wavelengths of the primaries of sRGB (red, green, blue), nm.
const PRIMARY_NM: [f32; 3] = [611.0, 549.0, 464.0];

impl Builder<'_> {
    /// Builds all materials.
    pub(super) fn materials(&mut self, d: &Description) -> Result<Materials, SceneError> {
        let mut next = 0;
        let mut assign_index = |m: &MaterialEntity| {
            let has_surface = m.entity.name != "interface";
            next += u32::from(has_surface);
            has_surface.then(|| next - 1)
        };
        let index: Vec<_> = d.materials.iter().map(&mut assign_index).collect();
        let (materials, names) = (Vec::new(), Vec::new());
        let (media, emissions, opacities) = (Vec::new(), Vec::new(), Vec::new());
        let interface = None;
        let mut all = Materials { materials, names, index, interface, media, emissions, opacities };
        for m in &d.materials {
            let (mut medium, mut emission, mut opacity) = (None, None, None);
            let material = match m.entity.name.as_str() {
                "subsurface" => {
                    let (material, below) = self.subsurface(&m.entity, m.name.as_deref())?;
                    medium = below;
                    Some(material)
                }
                "mix" => Some(self.mix(&m.entity, d, &all.index, next)?),
                "shader" => Some(self.shader_material(&m.entity, m.name.as_deref())?),
                "materialx" => {
                    let found = self.materialx(&m.entity, m.name.as_deref())?;
                    (medium, emission, opacity) = (found.medium, found.emission, found.opacity);
                    Some(found.material)
                }
                _ => self.material(&m.entity)?,
            };
            if let Some(material) = material {
                all.materials.push(material);
                all.media.push(medium);
                all.emissions.push(emission);
                all.opacities.push(opacity);
                let in_document = match m.entity.name.as_str() {
                    "materialx" => m.entity.params.string("material")?,
                    _ => None,
                };
                let name = m.name.as_deref().or(in_document);
                all.names.push(name.unwrap_or(&m.entity.name).to_string());
            }
        }
        if all
            .materials
            .iter()
            .any(|m| matches!(m, Material::Mix { materials, .. } if materials.contains(&next)))
        {
            // In a mix, an interface is a surface that transmits all light unchanged.
            all.add_interface(Material::specular(Specular::ThinDielectric { eta: 1.0 }));
        }
        for (m, &index) in d.materials.iter().zip(&all.index) {
            let Some(Material::Mix { materials, .. }) = index.map(|i| &all.materials[i as usize])
            else {
                continue;
            };
            let is_emitting = |&index: &u32| {
                all.emissions.get(index as usize).is_some_and(|emission| emission.is_some())
            };
            if materials.iter().any(is_emitting) {
                let message = "a \"mix\" does not emit the light of its materials";
                self.warn(&m.entity, message, "no emission; give the shape an AreaLightSource")?;
            }
            let is_clear = |&index: &u32| {
                all.opacities.get(index as usize).is_some_and(|opacity| opacity.is_some())
            };
            if materials.iter().any(is_clear) {
                let message = "a \"mix\" does not have the opacity of its materials";
                self.warn(&m.entity, message, "an opaque surface; give the shape an \"alpha\"")?;
            }
        }
        let separates_media = |shape: &ShapeEntity| {
            all.index[shape.material].is_none() && self.media.interface(shape).is_some()
        };
        if d.all_shapes().any(separates_media) {
            all.interface = Some(all.add_interface(Material::Interface));
        }
        for (m, &index) in d.materials.iter().zip(&all.index) {
            if index.is_some_and(|index| contains_itself(&all.materials, index)) {
                let error = m.entity.error("this \"mix\" contains itself");
                return Err(error.help("mixes may name each other, but not in a cycle"));
            }
        }
        Ok(all)
    }

    /// Builds a stochastic mix of two materials. `interface` is the index of interfaces in mixes.
    fn mix(
        &mut self,
        entity: &Entity,
        d: &Description,
        index: &[Option<u32>],
        interface: u32,
    ) -> Result<Material, SceneError> {
        let Some([a, b]) = entity.params.strings("materials")? else {
            return Err(entity
                .error("\"mix\" takes two materials")
                .help("give \"string materials\" [\"a\" \"b\"]"));
        };
        // Values outside [0, 1] select one of the materials.
        let amount = self.unchecked_float(entity, "amount")?;
        let amount = amount.unwrap_or(Param::from_float(0.5));
        let find = |name: &String| {
            let index_in_description = d.material(name).ok_or_else(|| {
                let all = d.materials.iter().filter_map(|m| m.name.as_deref());
                let help = did_you_mean(name, all, "define it with MakeNamedMaterial");
                entity.error(format!("no material is named \"{name}\"")).help(help)
            })?;
            Ok(index[index_in_description].unwrap_or(interface))
        };
        let materials = [find(a)?, find(b)?];
        self.warn_unused(entity)?;
        Ok(Material::Mix { materials, amount })
    }

    /// Builds a material other than a mix, shader or subsurface; `None` for an interface between media.
    fn material(&mut self, entity: &Entity) -> Result<Option<Material>, SceneError> {
        self.check_supported("material", entity, &MATERIALS, |_| None)?;
        if entity.name == "interface" {
            self.warn_unused(entity)?;
            return Ok(None);
        }
        let bump = self.bump_map(entity, |_| false)?;
        let material = match entity.name.as_str() {
            "diffuse" => {
                let kd = self.reflectance_or(entity, "reflectance", 0.5, 1.0)?;
                Material::scattering(self.library(entity, "diffuse.wgsl", &[("kd", kd)])?)
            }
            "diffusetransmission" => self.diffuse_transmission(entity)?,
            "conductor" => self.conductor(entity)?,
            "dielectric" => self.dielectric(entity)?,
            "thindielectric" => Material::specular(Specular::ThinDielectric {
                eta: self.index_of_refraction(entity, "eta", GLASS_ETA)?,
            }),
            "hair" => self.hair(entity)?,
            "measured" => self.measured(entity)?,
            "coateddiffuse" => self.coated_diffuse(entity)?,
            "coatedconductor" => self.coated_conductor(entity)?,
            other => unreachable!("{other} is not in the list of supported materials"),
        };
        self.warn_unused(entity)?;
        Ok(Some(material.with_bump(bump)))
    }

    fn diffuse_transmission(&mut self, entity: &Entity) -> Result<Material, SceneError> {
        let scale = entity.params.float("scale")?.unwrap_or(1.0);
        let mut scaled = |name: &str| {
            let value = self.reflectance_or(entity, name, 0.25, scale)?;
            Ok::<_, SceneError>(value.map(move |x| x * scale))
        };
        let values = [("kr", scaled("reflectance")?), ("kt", scaled("transmittance")?)];
        Ok(Material::scattering(self.library(entity, "diffuse_transmission.wgsl", &values)?))
    }

    /// Builds hair. As in pbrt-v4, its absorption is given by the first of `sigma_a`,
    /// `reflectance` (or `color`) and pigments; brown hair is the default.
    fn hair(&mut self, entity: &Entity) -> Result<Material, SceneError> {
        let given = |name: &str| entity.params.find(name).is_some();
        let reflectance = if given("reflectance") { "reflectance" } else { "color" };
        let mut values = Vec::new();
        let used = match () {
            () if given("sigma_a") => {
                values.push(("sigma_a", self.spectrum_or(entity, "sigma_a", grey(0.0))?));
                "sigma_a"
            }
            () if given(reflectance) => {
                let value = self.reflectance_or(entity, reflectance, 1.0, 1.0)?;
                values.push(("reflectance", value));
                reflectance
            }
            () => {
                let is_default = !given("eumelanin") && !given("pheomelanin");
                let eumelanin = if is_default { DEFAULT_EUMELANIN } else { 0.0 };
                values.push(("eumelanin", self.float(entity, "eumelanin", eumelanin)?));
                values.push(("pheomelanin", self.float(entity, "pheomelanin", 0.0)?));
                "eumelanin"
            }
        };
        for name in ["reflectance", "color", "eumelanin", "pheomelanin"] {
            let is_pigment = name.ends_with("melanin");
            if name != used
                && !(is_pigment && used == "eumelanin")
                && entity.params.any(name).is_some()
            {
                let message = format!("both \"{used}\" and \"{name}\" of \"hair\" are given");
                self.warn(entity, message, format!("\"{used}\""))?;
            }
        }
        let mut eta = self.float(entity, "eta", 1.55)?;
        if let Param::Constant(x) = eta
            && x.x < 1.0
        {
            let message = format!("hair with an index of refraction of {} is not supported", x.x);
            self.warn(entity, message, "the index 1")?;
            eta = Param::from_float(1.0);
        }
        values.push(("eta", eta));
        values.push(("beta_m", self.hair_roughness(entity, "beta_m")?));
        values.push(("beta_n", self.hair_roughness(entity, "beta_n")?));
        // The tilt of the scales may be negative.
        let alpha = self.unchecked_float(entity, "alpha")?;
        values.push(("alpha", alpha.unwrap_or(Param::from_float(2.0))));
        Ok(Material::scattering(self.library(entity, "hair.wgsl", &values)?))
    }

    /// Reads a roughness of hair, which is at most 1.
    fn hair_roughness(&mut self, entity: &Entity, name: &str) -> Result<Param, SceneError> {
        let value = self.float(entity, name, 0.3)?;
        match &value {
            Param::Constant(x) if x.x > 1.0 => {
                let location = entity.params.find(name).map(|param| &param.location);
                let message =
                    format!("\"float {name}\" is {}, but a roughness of hair is at most 1", x.x);
                self.diagnostics.warn(location, message, "1")?;
            }
            Param::Constant(_) => {}
            texture => self.check_texture(texture, 1.0, ValidValues::Declared(name, [0.0, 1.0]))?,
        }
        Ok(value)
    }

    fn conductor(&mut self, entity: &Entity) -> Result<Material, SceneError> {
        let metal = self.metal(entity, "", 1.0)?;
        let alpha = self.roughness(entity, "")?;
        if alpha.is_smooth() {
            return Ok(Material::specular(Specular::Conductor(metal)));
        }
        let values = [
            ("eta", metal.eta),
            ("k", metal.k),
            ("excess", metal.excess),
            ("alpha_x", alpha.x),
            ("alpha_y", alpha.y),
        ];
        Ok(Material::scattering(self.library(entity, "conductor.wgsl", &values)?))
    }

    fn dielectric(&mut self, entity: &Entity) -> Result<Material, SceneError> {
        let eta = self.index_of_refraction(entity, "eta", GLASS_ETA)?;
        let (alpha, dispersion) = (self.roughness(entity, "")?, self.dispersion(entity, "eta")?);
        self.dielectric_boundary(entity, eta, alpha, dispersion)
    }

    /// Builds the boundary between two dielectrics.
    pub(super) fn dielectric_boundary(
        &mut self,
        entity: &Entity,
        eta: f32,
        alpha: Alpha,
        dispersion: Option<DispersiveIndex>,
    ) -> Result<Material, SceneError> {
        let range = dispersion.as_ref().map_or([eta; 2], DispersiveIndex::range);
        if alpha.is_smooth() || range.into_iter().all(is_near_one) {
            return Ok(Material::specular(match dispersion {
                Some(eta) => Specular::Dispersive { eta: Arc::new(eta) },
                None => Specular::Dielectric { eta },
            }));
        }
        // Only some wavelengths have an index near 1.
        let eta = away_from_one(eta);
        let dispersion = dispersion.map(|index| Arc::new(index.map(away_from_one)));
        let values = [("eta", Param::from_float(eta)), ("alpha_x", alpha.x), ("alpha_y", alpha.y)];
        let mut instance = self.library(entity, "dielectric.wgsl", &values)?;
        // The range of the shader's parameter.
        instance.eta = eta.clamp(1e-4, 1e4);
        Ok(Material::scattering(match dispersion {
            Some(index) => {
                let settable = self.shaders.settable(&instance);
                instance.with_dispersion(settable, "eta", index)
            }
            None => instance,
        }))
    }

    /// Builds a coat over a diffuse base. The shader evaluates in closed form what pbrt-v4
    /// estimates by random walks between the layers.
    fn coated_diffuse(&mut self, entity: &Entity) -> Result<Material, SceneError> {
        self.check_walks(entity)?;
        let kd = self.reflectance_or(entity, "reflectance", 0.5, 1.0)?;
        let (eta, thickness) =
            (self.coat_eta(entity, "eta")?, self.float(entity, "thickness", 0.01)?);
        let coat = self.roughness(entity, "")?;
        let [x, y] = coat.clone().for_coat();
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
            bump: None,
        })
    }

    /// Builds a coat over a conductor.
    fn coated_conductor(&mut self, entity: &Entity) -> Result<Material, SceneError> {
        self.check_walks(entity)?;
        let eta = self.coat_eta(entity, "interface.eta")?;
        let metal = self.metal(entity, "conductor.", eta)?;
        let thickness = self.float(entity, "thickness", 0.01)?;
        let (coat, alpha) =
            (self.roughness(entity, "interface.")?, self.roughness(entity, "conductor.")?);
        if coat.is_smooth()
            && alpha.is_smooth()
            && let Param::Constant(thickness) = thickness
        {
            return Ok(Material::specular(Specular::CoatedConductor {
                conductor: metal,
                eta,
                thickness: thickness.x,
            }));
        }
        let [x, y] = coat.clone().for_coat();
        // A rough coat blurs the reflection of a smooth metal.
        let min_alpha = if alpha.is_smooth() { MIN_ALPHA } else { 0.0 };
        let [metal_x, metal_y] = [alpha.x, alpha.y]
            .map(|alpha| alpha.map(move |alpha| alpha.max(Vec3::splat(min_alpha))));
        let values = [
            ("eta", metal.eta),
            ("k", metal.k),
            ("excess", metal.excess),
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
            bump: None,
        })
    }

    /// Reads the settings of pbrt-v4's random walks between a coat and its base, which the shaders
    /// replace by closed forms: the number of walks, which has no effect, and their length.
    fn check_walks(&mut self, entity: &Entity) -> Result<(), SceneError> {
        entity.params.int("nsamples")?;
        match entity.params.int("maxdepth")? {
            Some(depth) if depth < DEFAULT_WALK_DEPTH => self.warn(
                entity,
                format!("\"maxdepth\" {depth} of \"{}\" is not supported", entity.name),
                "all reflections between the layers",
            ),
            _ => Ok(()),
        }
    }

    /// Reads the index of refraction of a coat and clamps it to the range of the closed forms.
    fn coat_eta(&mut self, entity: &Entity, name: &str) -> Result<f32, SceneError> {
        let eta = self.index_of_refraction(entity, name, GLASS_ETA)?;
        let clamped = eta.clamp(1.0, 3.0);
        if clamped != eta {
            self.warn(
                entity,
                format!("a coat with the index of refraction {eta} is not supported"),
                format!("the index {clamped}"),
            )?;
        }
        Ok(clamped)
    }

    /// Reads η and k of a metal in a medium of refractive index `outside`, with `prefix` before the
    /// parameter names. The default is copper, as in pbrt-v4. If both are spectra, the result
    /// reproduces their reflectance.
    fn metal(
        &mut self,
        entity: &Entity,
        prefix: &str,
        outside: f32,
    ) -> Result<Conductor, SceneError> {
        let no_excess = Param::from_float(0.0);
        let (eta, k) = (format!("{prefix}eta"), format!("{prefix}k"));
        if entity.params.find("reflectance").is_some() {
            if entity.params.find(&eta).is_some() || entity.params.find(&k).is_some() {
                return Err(entity
                    .error(format!("both \"reflectance\" and \"{eta}\" or \"{k}\" are given"))
                    .help("remove one of them"));
            }
            // η = 1 and k = 2√(r / (1 − r)) reflect r at normal incidence. r = 1 needs an infinite
            // k, so r is clamped to 0.9999, as in pbrt-v4.
            let k_from_reflectance = |r: Vec3| {
                let r = r.clamp(Vec3::ZERO, Vec3::splat(0.9999));
                2.0 * (r / (1.0 - r)).sqrt()
            };
            let k = self.reflectance_or(entity, "reflectance", 0.5, 1.0)?.map(k_from_reflectance);
            return Ok(Conductor { eta: Param::from_float(1.0), k, excess: no_excess });
        }
        let copper = |quantity: &str| SpectrumParam::Named(format!("metal-Cu-{quantity}"));
        let spectrum = |b: &mut Self, name: &str, default| {
            let parameter = match entity.params.type_of(name) {
                None => default,
                Some(ParamType::Spectrum) => {
                    entity.params.spectrum(name)?.expect("the parameter exists")
                }
                Some(_) => return Ok(None),
            };
            b.spectrum(entity, &parameter)
        };
        if let Some(eta) = spectrum(self, &eta, copper("eta"))?
            && let Some(k) = spectrum(self, &k, copper("k"))?
        {
            let fit = self.spectra.fit_metal(eta, k, outside);
            return Ok(Conductor {
                eta: Param::Constant(fit.eta * outside),
                k: Param::Constant(fit.k * outside),
                excess: Param::Constant(fit.excess),
            });
        }
        Ok(Conductor {
            eta: self.spectrum_or(entity, &eta, copper("eta"))?,
            k: self.spectrum_or(entity, &k, copper("k"))?,
            excess: no_excess,
        })
    }

    /// Reads `roughness`, or `uroughness` and `vroughness`, with `prefix` before the names; 0 by
    /// default.
    pub(super) fn roughness(&mut self, entity: &Entity, prefix: &str) -> Result<Alpha, SceneError> {
        let name = |suffix: &str| format!("{prefix}{suffix}");
        let isotropic = self.float(entity, &name("roughness"), 0.0)?;
        let remap = entity.params.bool("remaproughness")?.unwrap_or(true);
        let alpha = |p: Option<Param>| {
            let roughness = p.unwrap_or_else(|| isotropic.clone());
            if remap { roughness.map(|x| x.max(Vec3::ZERO).sqrt()) } else { roughness }
        };
        let x = alpha(self.optional_float(entity, &name("uroughness"))?);
        Ok(Alpha { x, y: alpha(self.optional_float(entity, &name("vroughness"))?) })
    }

    /// Reads an index of refraction that depends on the wavelength; `None` if it does not.
    fn dispersion(
        &mut self,
        entity: &Entity,
        name: &str,
    ) -> Result<Option<DispersiveIndex>, SceneError> {
        let Some(FloatOrSpectrum::Spectrum(param)) = entity.params.float_or_spectrum(name)? else {
            return Ok(None);
        };
        let spectrum = self.index_spectrum(entity, &param)?;
        let index = DispersiveIndex::new(&spectrum).ok_or_else(|| {
            entity
                .error(format!("the spectrum \"{name}\" is not above 0 at all wavelengths"))
                .help("give indices of refraction above 0, or a \"float\"")
        })?;
        Ok((!index.is_constant()).then_some(index))
    }

    /// Returns the spectrum of an index of refraction. An RGB index has its components at
    /// [`PRIMARY_NM`], and is linear between.
    fn index_spectrum(
        &mut self,
        entity: &Entity,
        param: &SpectrumParam,
    ) -> Result<Spectrum, SceneError> {
        if let Some(spectrum) = self.spectrum(entity, param)? {
            return Ok(spectrum);
        }
        let SpectrumParam::Rgb([r, g, b], _) = *param else {
            unreachable!("an index is a float, a spectrum or RGB");
        };
        let [red, green, blue] = PRIMARY_NM;
        let samples = [300.0, b, blue, b, green, g, red, r, 900.0, r];
        Spectrum::new(&samples).map_err(|e| entity.error(e.to_string()))
    }

    /// Reads an index of refraction: a float, or the value of a spectrum at the helium d line.
    pub(super) fn index_of_refraction(
        &mut self,
        entity: &Entity,
        name: &str,
        default: f32,
    ) -> Result<f32, SceneError> {
        let is_valid = |eta: f32| eta > 0.0 && eta.is_finite();
        let param = match entity.params.float_or_spectrum(name)? {
            None => return Ok(default),
            Some(FloatOrSpectrum::Float(eta)) => {
                let message = || format!("the index of refraction is {eta}");
                let error = || entity.param_error(name, message());
                return is_valid(eta)
                    .then_some(eta)
                    .ok_or_else(|| error().help("give a number above 0, such as 1.5 for glass"));
            }
            Some(FloatOrSpectrum::Spectrum(param)) => param,
        };
        let eta = self.index_spectrum(entity, &param)?.at(HELIUM_D_NM);
        is_valid(eta).then_some(eta).ok_or_else(|| {
            if let SpectrumParam::Rgb([r, g, b], _) = param {
                let message = format!("the index of refraction is ({r}, {g}, {b})");
                return entity.param_error(name, message).help("give numbers above 0");
            }
            let message = format!(
                "the spectrum \"{name}\" is {eta} at {HELIUM_D_NM} nm, where its index is evaluated"
            );
            let error = entity.param_error(name, message);
            error.help("give a spectrum that covers visible light, or a \"float\"")
        })
    }
}

/// Returns whether rough glass with this index of refraction is smooth.
fn is_near_one(eta: f32) -> bool {
    (eta - 1.0).abs() < MIN_ETA_DIFFERENCE
}

/// Moves an index of refraction out of the range where rough glass scatters nothing.
fn away_from_one(eta: f32) -> f32 {
    if is_near_one(eta) { 1.0 + MIN_ETA_DIFFERENCE.copysign(eta - 1.0) } else { eta }
}

/// Microfacet roughness α along ∂p/∂u, the x axis of the shading frame, and along the y axis.
#[derive(Clone)]
pub(super) struct Alpha {
    x: Param,
    y: Param,
}

impl Alpha {
    /// A smooth surface.
    pub const SMOOTH: Alpha =
        Alpha { x: Param::Constant(Vec3::ZERO), y: Param::Constant(Vec3::ZERO) };

    /// Returns whether the surface is perfectly smooth everywhere.
    fn is_smooth(&self) -> bool {
        let smooth = |p: &Param| matches!(p, Param::Constant(alpha) if alpha.x < MIN_ALPHA);
        smooth(&self.x) && smooth(&self.y)
    }

    /// Returns α for the shaders of coated materials. 0 denotes a smooth coat, which the shaders
    /// leave to a specular BSDF.
    fn for_coat(self) -> [Param; 2] {
        let is_smooth = self.is_smooth();
        [self.x, self.y].map(|p| {
            if is_smooth {
                Param::from_float(0.0)
            } else {
                p.map(|alpha| alpha.max(Vec3::splat(MIN_ALPHA)))
            }
        })
    }
}

/// Returns whether a material contains itself through nested mixes.
fn contains_itself(materials: &[Material], start: u32) -> bool {
    let components = |material: u32| match &materials[material as usize] {
        Material::Mix { materials, .. } => &materials[..],
        Material::Surface { .. } | Material::Interface => &[],
    };
    let (mut visited, mut pending) = (vec![false; materials.len()], components(start).to_vec());
    while let Some(material) = pending.pop() {
        if material == start {
            return true;
        }
        if !std::mem::replace(&mut visited[material as usize], true) {
            pending.extend(components(material));
        }
    }
    false
}
