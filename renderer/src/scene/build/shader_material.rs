//! `Material "shader"`: a scene's own shaders, and those of the library by their own parameters.
//!
//! Parameters of the material are the shader's, by name; they are held against its declarations,
//! and what does not fit is an error that lists what the shader takes, since nothing else could
//! stand in for it.

use super::Builder;
use super::shaders::{Missing, Variant};
use crate::material::{Material, ProgramError, Setting, library, parameters};
use crate::scene::diagnostics::{SceneError, did_you_mean};
use crate::scene::file::params::{Param, ParamType, Values};
use crate::scene::file::parse::Entity;
use lightbound_shader::{Parameter, Scalar, Shader, ShaderError};
use std::path::Path;
use std::sync::Arc;

/// Names that the format has taken.
const TAKEN: [&str; 2] = ["filename", "type"];

/// A shader in a material.
pub(super) struct Use<'a> {
    pub entity: &'a Entity,
    pub shader: Arc<Shader>,
    /// The shader and the material, for messages.
    pub who: String,
}

impl Use<'_> {
    /// An error at a parameter of the material.
    pub fn error(&self, param: &Param, message: &str) -> SceneError {
        SceneError::at(
            &param.location,
            format!("\"{} {}\" {message} ({})", param.kind, param.name, self.who),
        )
    }

    /// A remedy, and all that the shader takes.
    pub fn help(&self, remedy: &str) -> String {
        let head = ["name", "type", "range", "default"].map(str::to_owned).to_vec();
        let settable = self.shader.settable().iter().map(parameters::row);
        let overrides = self.shader.overrides().iter().map(|declared| {
            let mut row = parameters::row(declared);
            row[1] = format!("override {}", row[1]);
            row
        });
        let textures = self.shader.textures().iter().map(|name| vec![name.clone(), "image".into()]);
        let rows: Vec<_> = settable.chain(overrides).chain(textures).collect();
        if rows.is_empty() {
            return format!("{remedy}; the shader takes no parameters");
        }
        let table = parameters::columns(&[vec![head], rows].concat());
        format!(
            "{remedy}\nthe shader takes\n{}",
            table.lines().map(|line| format!("  {line}\n")).collect::<String>().trim_end()
        )
    }

    /// All names that parameters of the material may have.
    fn names(&self) -> impl Iterator<Item = &str> {
        let declared = self.shader.settable().iter().chain(self.shader.overrides());
        declared
            .map(|parameter| parameter.name.as_str())
            .chain(self.shader.textures().iter().map(String::as_str))
    }

    /// What is wrong with the shader, shown with its lines.
    fn wrong(&self, error: ShaderError) -> SceneError {
        let remedy = match self.shader.overrides() {
            [] => "correct the shader".into(),
            _ => self.help("correct the shader, or its overrides, which the material can set"),
        };
        shader_error(self.entity, &self.who, error).help(remedy)
    }

    /// The numbers of a constant, one for each component of the parameter and in its range.
    fn checked(
        &self,
        param: &Param,
        parameter: &Parameter,
        numbers: Vec<f64>,
    ) -> Result<Vec<f64>, SceneError> {
        let numbers = match numbers[..] {
            [one] => vec![one; parameter.size],
            _ => numbers,
        };
        if numbers.len() != parameter.size {
            let one = if parameter.size > 1 { ", or one for all" } else { "" };
            let error = self.error(param, &format!("has {} values", numbers.len()));
            return Err(error
                .help(self.help(&format!("`{}` takes {}{one}", parameter.name, parameter.size))));
        }
        let [low, high] = parameter.range;
        match numbers.iter().find(|&&x| !(low..=high).contains(&x)) {
            None => Ok(numbers),
            Some(&x) => {
                let error = self.error(
                    param,
                    &format!("is {}, out of range", parameters::number(parameter.scalar, x)),
                );
                Err(error.help(self.help(&format!(
                    "`{}` takes {}",
                    parameter.name,
                    parameters::takes(parameter)
                ))))
            }
        }
    }

    /// The error that a parameter has another type than the shader declares.
    fn mismatch(&self, param: &Param, parameter: &Parameter, is_override: bool) -> SceneError {
        let name = &parameter.name;
        let mut kinds = match (parameter.scalar, parameter.size) {
            (Scalar::F32, 2) => vec!["float", "vector2", "point2"],
            (Scalar::F32, 3) => vec!["rgb", "spectrum", "float", "vector3"],
            (Scalar::F32, _) => vec!["float"],
            (Scalar::I32 | Scalar::U32, _) => vec!["integer"],
            (Scalar::Bool, _) => vec!["bool"],
        };
        if !is_override && parameter.size <= 3 {
            kinds.push("texture");
        }
        let forms: Vec<_> = kinds.iter().map(|kind| format!("\"{kind} {name}\"")).collect();
        let error = self.error(
            param,
            &format!("has another type than `{name}`, {}", parameters::type_name(parameter)),
        );
        error.help(self.help(&format!("write {}", forms.join(" or "))))
    }
}

/// The error that a shader is wrong.
fn shader_error(entity: &Entity, who: &str, mut error: ShaderError) -> SceneError {
    let message = error.message.clone();
    if error.labels.is_empty() {
        error.message = format!("{}: {message}", error.source_code.name());
    }
    entity.error(format!("{who} cannot be used: {message}")).shader(error)
}

impl Builder<'_> {
    /// A material of any shader; `name` is the material's, where it has one.
    pub(super) fn shader_material(
        &mut self,
        entity: &Entity,
        name: Option<&str>,
    ) -> Result<Material, SceneError> {
        let Some(file) = entity.params.string("filename")? else {
            let error = entity.error("a material \"shader\" needs a shader");
            return Err(error.help(format!(
                "give \"string filename\": {}",
                library::suggestion("", "a .wgsl file")
            )));
        };
        let who = match name {
            Some(name) => format!("shader {file} of material \"{name}\""),
            None => format!("shader {file} of a material \"shader\""),
        };
        let index = self.find_shader(entity, file, &who)?;
        let used = Use { entity, shader: self.shaders.file(index), who };
        if let Some(taken) = used.names().find(|name| TAKEN.contains(name)) {
            let error = entity
                .error(format!("{} has a parameter `{taken}`, which scenes cannot set", used.who));
            return Err(error
                .help("give it another name in the shader: the scene format has taken this one"));
        }
        let settings = self.settings(&used)?;
        let overrides = overrides(&used)?;
        let (lookups, textures) = self.shader_textures(&used)?.into_iter().unzip();
        self.bumps(entity, |name| used.names().any(|taken| taken == name))?;
        self.no_others(&used)?;
        let bound = self.shaders.bind(Variant::new(index, &overrides, lookups), textures).map_err(
            |error| match error {
                ProgramError::Shader(error) => used.wrong(error),
                ProgramError::Compile(error) => entity
                    .error(format!("{} cannot be compiled: {error}", used.who))
                    .help("use fewer and smaller arrays in the shader"),
            },
        )?;
        self.instance(entity, bound, settings).map(Material::scattering)
    }

    /// The shader of a file, beside the scene or in the library.
    fn find_shader(&mut self, entity: &Entity, file: &str, who: &str) -> Result<u32, SceneError> {
        let folder = &self.folder;
        self.shaders.find(file, || folder.join(file), &mut self.inputs).map_err(|missing| {
            match missing {
                Missing::Nowhere(path) => {
                    let error = entity.error(format!(
                        "{who} is not there; looked for {}, and in the library",
                        path.display()
                    ));
                    let name = Path::new(file)
                        .file_name()
                        .map_or(file.into(), |name| name.to_string_lossy());
                    error.help(library::suggestion(
                        &name,
                        "check the path, which is relative to the scene's folder",
                    ))
                }
                Missing::Read(error) => {
                    entity.error(format!("{who}: {error}")).help(error.remedy())
                }
                Missing::Shader(error) => {
                    shader_error(entity, who, error).help("correct the shader")
                }
            }
        })
    }

    /// What the shader's parameters are set to.
    fn settings(&mut self, used: &Use) -> Result<Vec<Setting>, SceneError> {
        let shader = used.shader.clone();
        shader.settable().iter().map(|parameter| self.setting(used, parameter)).collect()
    }

    fn setting(&mut self, used: &Use, parameter: &Parameter) -> Result<Setting, SceneError> {
        let name = &parameter.name;
        match used.entity.params.any(name) {
            None => match &parameter.default {
                Some(default) => Ok(Setting::Constant(default.clone())),
                None => {
                    let error = used
                        .entity
                        .error(format!("parameter \"{name}\" is missing ({})", used.who));
                    Err(error.help(used.help("give it: the shader declares no default")))
                }
            },
            Some(param) if param.kind == ParamType::Texture => self.varying(used, param, parameter),
            Some(param) => self.constant(used, param, parameter).map(Setting::Constant),
        }
    }

    /// A parameter that is a texture.
    fn varying(
        &mut self,
        used: &Use,
        param: &Param,
        parameter: &Parameter,
    ) -> Result<Setting, SceneError> {
        if parameter.size > 3 {
            let error = used.error(param, "has three channels, one too few");
            return Err(
                error.help(used.help(&format!("give `{}` four \"float\"s", parameter.name)))
            );
        }
        let name = used.entity.params.texture(&parameter.name)?.expect("it is there");
        // That there is a texture of the name was seen when the scene was read.
        self.textures.for_parameter(name, parameter.size > 1).map(Setting::Varying).ok_or_else(
            || {
                let message = format!(
                    "is \"{name}\", a texture of type spectrum, but `{}` is one number",
                    parameter.name
                );
                used.error(param, &message).help(format!(
                    "define \"{name}\" with Texture as a float, or name another texture"
                ))
            },
        )
    }

    fn constant(
        &mut self,
        used: &Use,
        param: &Param,
        parameter: &Parameter,
    ) -> Result<Vec<f64>, SceneError> {
        if let (Scalar::F32, 3, ParamType::Rgb | ParamType::Spectrum | ParamType::Blackbody) =
            (parameter.scalar, parameter.size, param.kind)
        {
            let spectrum = used.entity.params.spectrum(&parameter.name)?.expect("it is there");
            let rgb = self.reflectance(used.entity, &spectrum)?.to_array().map(f64::from);
            let numbers = match param.kind {
                ParamType::Rgb => rgb.to_vec(),
                _ => self.within_gamut(used, param, parameter, rgb)?,
            };
            return used.checked(param, parameter, numbers);
        }
        match numbers(param, parameter) {
            Some(numbers) => used.checked(param, parameter, numbers),
            None => Err(used.mismatch(param, parameter, false)),
        }
    }

    /// A colour that a spectrum became, cut to the parameter's range: saturated ones have negative
    /// components, and rounding takes others beyond an end.
    fn within_gamut(
        &mut self,
        used: &Use,
        param: &Param,
        parameter: &Parameter,
        rgb: [f64; 3],
    ) -> Result<Vec<f64>, SceneError> {
        const ROUNDING: f64 = 1e-3;
        let [low, high] = parameter.range;
        let cut = rgb.map(|x| x.max(low).min(high));
        if std::iter::zip(rgb, cut).any(|(x, cut)| (x - cut).abs() > ROUNDING * (1.0 + cut.abs())) {
            let message = format!(
                "\"{} {}\" is the colour {rgb:.3?}, out of range ({})",
                param.kind, param.name, used.who
            );
            self.diagnostics.warn(Some(&param.location), message, format!("{cut:.3?}"))?;
        }
        Ok(cut.to_vec())
    }

    /// Refuses parameters that are not the shader's.
    fn no_others(&mut self, used: &Use) -> Result<(), SceneError> {
        match used.entity.params.unused().next() {
            None => Ok(()),
            Some(param) => {
                let remedy = did_you_mean(&param.name, used.names(), "remove it");
                Err(used
                    .error(param, "is none of the shader's parameters")
                    .help(used.help(&remedy)))
            }
        }
    }
}

/// Values of those overrides that are given.
fn overrides(used: &Use) -> Result<Vec<(String, f64)>, SceneError> {
    let mut given = Vec::new();
    for declared in used.shader.overrides() {
        let Some(param) = used.entity.params.any(&declared.name) else { continue };
        let Some(numbers) = numbers(param, declared) else {
            return Err(used.mismatch(param, declared, true));
        };
        given.push((declared.name.clone(), used.checked(param, declared, numbers)?[0]));
    }
    Ok(given)
}

/// The numbers of a parameter, if they are of the type that the shader declares.
fn numbers(param: &Param, parameter: &Parameter) -> Option<Vec<f64>> {
    use ParamType::{Bool, Float, Integer, Normal, Point2, Point3, Vector2, Vector3};
    let fits = match (parameter.scalar, param.kind) {
        (Scalar::F32, Float | Integer)
        | (Scalar::I32 | Scalar::U32, Integer)
        | (Scalar::Bool, Bool) => true,
        (Scalar::F32, Point2 | Vector2) => parameter.size == 2,
        (Scalar::F32, Point3 | Vector3 | Normal) => parameter.size == 3,
        _ => false,
    };
    fits.then(|| match &param.values {
        Values::Numbers(numbers) => numbers.iter().map(|&x| f64::from(x)).collect(),
        Values::Integers(integers) => integers.iter().map(|&x| f64::from(x)).collect(),
        Values::Bools(bools) => bools.iter().map(|&x| f64::from(u8::from(x))).collect(),
        Values::Strings(_) => unreachable!("these types have no strings"),
    })
}
