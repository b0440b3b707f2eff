//! `Material "shader"`: a shader from a file or the library, with its own parameters.
//!
//! Parameters of the material set the shader's parameters by name and are checked against its
//! declarations. A mismatch is an error that lists the shader's parameters, because there is no
//! sensible fallback.

use super::Builder;
use super::shaders::{FindError, Variant};
use crate::diagnostics::SceneError;
use crate::file::params::{Param, ParamType, Values};
use crate::file::parse::Entity;
use lightbound::material::{Material, ProgramError, Setting, library, parameters};
use lightbound::suggestion::did_you_mean;
use lightbound_shader::{Parameter, Scalar, Shader, ShaderError};
use std::path::Path;
use std::sync::Arc;

/// Parameter names reserved by the format.
const RESERVED: [&str; 2] = ["filename", "type"];

/// The use of a shader in a material.
pub(super) struct ShaderUse<'a> {
    pub entity: &'a Entity,
    pub shader: Arc<Shader>,
    /// Describes the shader and the material in messages.
    pub label: String,
}

impl ShaderUse<'_> {
    /// An error at a parameter of the material.
    pub fn error(&self, param: &Param, message: &str) -> SceneError {
        SceneError::at(
            &param.location,
            format!("\"{} {}\" {message} ({})", param.kind, param.name, self.label),
        )
    }

    /// A remedy, followed by a table of the shader's parameters.
    pub fn help(&self, remedy: &str) -> String {
        let head = ["name", "type", "range", "default"].map(str::to_owned).to_vec();
        let settable = self.shader.settable().iter().map(parameters::table_row);
        let overrides = self.shader.overrides().iter().map(|declared| {
            let mut row = parameters::table_row(declared);
            row[1] = format!("override {}", row[1]);
            row
        });
        let textures = self.shader.textures().iter().map(|name| vec![name.clone(), "image".into()]);
        let rows: Vec<_> = settable.chain(overrides).chain(textures).collect();
        if rows.is_empty() {
            return format!("{remedy}; the shader takes no parameters");
        }
        let table = parameters::format_table(&[vec![head], rows].concat());
        format!(
            "{remedy}\nthe shader takes\n{}",
            table.lines().map(|line| format!("  {line}\n")).collect::<String>().trim_end()
        )
    }

    /// All parameter names that the shader declares.
    fn names(&self) -> impl Iterator<Item = &str> {
        let declared = self.shader.settable().iter().chain(self.shader.overrides());
        declared
            .map(|parameter| parameter.name.as_str())
            .chain(self.shader.textures().iter().map(String::as_str))
    }

    /// A compile error of the shader, shown with its source lines.
    fn compile_error(&self, error: ShaderError) -> SceneError {
        let remedy = match self.shader.overrides() {
            [] => "correct the shader".into(),
            _ => self.help("correct the shader, or its overrides, which the material can set"),
        };
        shader_error(self.entity, &self.label, error).help(remedy)
    }

    /// Expands a single value to all components, and checks the number and range of values.
    fn check_values(
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
                    &format!("is {}, out of range", parameters::format_number(parameter.scalar, x)),
                );
                Err(error.help(self.help(&format!(
                    "`{}` takes {}",
                    parameter.name,
                    parameters::valid_values(parameter)
                ))))
            }
        }
    }

    /// The error for a parameter whose type differs from the shader's declaration.
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

/// The error for an invalid shader.
fn shader_error(entity: &Entity, label: &str, mut error: ShaderError) -> SceneError {
    let message = error.message.clone();
    if error.labels.is_empty() {
        error.message = format!("{}: {message}", error.source_code.name());
    }
    entity.error(format!("{label} cannot be used: {message}")).shader(error)
}

impl Builder<'_> {
    /// A material with a shader; `name` is the name of the material, if any.
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
        let label = match name {
            Some(name) => format!("shader {file} of material \"{name}\""),
            None => format!("shader {file} of a material \"shader\""),
        };
        let index = self.find_shader(entity, file, &label)?;
        let used = ShaderUse { entity, shader: self.shaders.file(index), label };
        if let Some(reserved) = used.names().find(|name| RESERVED.contains(name)) {
            let error = entity.error(format!(
                "{} has a parameter `{reserved}`, which scenes cannot set",
                used.label
            ));
            return Err(error
                .help("give it another name in the shader: the scene format reserves this one"));
        }
        let settings = self.settings(&used)?;
        let overrides = overrides(&used)?;
        let (lookups, textures) = self.shader_textures(&used)?.into_iter().unzip();
        self.warn_of_bump_maps(entity, |name| used.names().any(|own| own == name))?;
        check_unused(&used)?;
        let binding = self
            .shaders
            .bind(Variant::new(index, &overrides, lookups), textures)
            .map_err(|error| match error {
                ProgramError::Shader(error) => used.compile_error(error),
                ProgramError::Compile(error) => entity
                    .error(format!("{} cannot be compiled: {error}", used.label))
                    .help("use fewer and smaller arrays in the shader"),
            })?;
        self.instance(entity, binding, settings).map(Material::scattering)
    }

    /// Finds a shader file relative to the scene, or a library shader, and returns its index.
    fn find_shader(&mut self, entity: &Entity, file: &str, label: &str) -> Result<u32, SceneError> {
        let folder = &self.folder;
        self.shaders.find(file, || folder.join(file), &mut self.inputs).map_err(|error| match error
        {
            FindError::NotFound(path) => {
                let error = entity.error(format!(
                    "{label} was not found; looked for {} and in the library",
                    path.display()
                ));
                let name =
                    Path::new(file).file_name().map_or(file.into(), |name| name.to_string_lossy());
                error.help(library::suggestion(
                    &name,
                    "check the path, which is relative to the scene's folder",
                ))
            }
            FindError::Read(error) => {
                entity.error(format!("{label}: {error}")).help(error.remedy())
            }
            FindError::Shader(error) => {
                shader_error(entity, label, error).help("correct the shader")
            }
        })
    }

    /// The settings of all settable parameters of the shader.
    fn settings(&mut self, used: &ShaderUse) -> Result<Vec<Setting>, SceneError> {
        let shader = used.shader.clone();
        shader.settable().iter().map(|parameter| self.setting(used, parameter)).collect()
    }

    fn setting(&mut self, used: &ShaderUse, parameter: &Parameter) -> Result<Setting, SceneError> {
        let name = &parameter.name;
        match used.entity.params.any(name) {
            None => match &parameter.default {
                Some(default) => Ok(Setting::Constant(default.clone())),
                None => {
                    let error = used
                        .entity
                        .error(format!("parameter \"{name}\" is missing ({})", used.label));
                    Err(error.help(used.help("give it: the shader declares no default")))
                }
            },
            Some(param) if param.kind == ParamType::Texture => {
                self.texture_setting(used, param, parameter)
            }
            Some(param) => self.constant(used, param, parameter).map(Setting::Constant),
        }
    }

    /// Sets a parameter to a texture.
    fn texture_setting(
        &mut self,
        used: &ShaderUse,
        param: &Param,
        parameter: &Parameter,
    ) -> Result<Setting, SceneError> {
        if parameter.size > 3 {
            let error = used.error(param, "has three channels, one too few");
            return Err(
                error.help(used.help(&format!("give `{}` four \"float\"s", parameter.name)))
            );
        }
        let name = used.entity.params.texture(&parameter.name)?.expect("the parameter exists");
        // `describe` has checked that a texture with this name exists.
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
        used: &ShaderUse,
        param: &Param,
        parameter: &Parameter,
    ) -> Result<Vec<f64>, SceneError> {
        if let (Scalar::F32, 3, ParamType::Rgb | ParamType::Spectrum | ParamType::Blackbody) =
            (parameter.scalar, parameter.size, param.kind)
        {
            let spectrum =
                used.entity.params.spectrum(&parameter.name)?.expect("the parameter exists");
            let rgb = self.reflectance(used.entity, &spectrum)?.to_array().map(f64::from);
            let numbers = match param.kind {
                ParamType::Rgb => rgb.to_vec(),
                _ => self.clamp_to_range(used, param, parameter, rgb)?,
            };
            return used.check_values(param, parameter, numbers);
        }
        match numbers(param, parameter) {
            Some(numbers) => used.check_values(param, parameter, numbers),
            None => Err(used.mismatch(param, parameter, false)),
        }
    }

    /// Clamps the colour of a spectrum to the parameter's range. Warns about out-of-gamut colours,
    /// which have negative components, but not about rounding errors.
    fn clamp_to_range(
        &mut self,
        used: &ShaderUse,
        param: &Param,
        parameter: &Parameter,
        rgb: [f64; 3],
    ) -> Result<Vec<f64>, SceneError> {
        const ROUNDING: f64 = 1e-3;
        let [low, high] = parameter.range;
        let clamped = rgb.map(|x| x.max(low).min(high));
        if std::iter::zip(rgb, clamped)
            .any(|(x, clamped)| (x - clamped).abs() > ROUNDING * (1.0 + clamped.abs()))
        {
            let message = format!(
                "\"{} {}\" is the colour {rgb:.3?}, out of range ({})",
                param.kind, param.name, used.label
            );
            self.diagnostics.warn(Some(&param.location), message, format!("{clamped:.3?}"))?;
        }
        Ok(clamped.to_vec())
    }
}

/// Rejects parameters that the shader does not declare.
fn check_unused(used: &ShaderUse) -> Result<(), SceneError> {
    match used.entity.params.unused().next() {
        None => Ok(()),
        Some(param) => {
            let remedy = did_you_mean(&param.name, used.names(), "remove it");
            Err(used.error(param, "is not a parameter of the shader").help(used.help(&remedy)))
        }
    }
}

/// Values of the overrides that the material sets.
fn overrides(used: &ShaderUse) -> Result<Vec<(String, f64)>, SceneError> {
    let mut given = Vec::new();
    for declared in used.shader.overrides() {
        let Some(param) = used.entity.params.any(&declared.name) else { continue };
        let Some(numbers) = numbers(param, declared) else {
            return Err(used.mismatch(param, declared, true));
        };
        given.push((declared.name.clone(), used.check_values(param, declared, numbers)?[0]));
    }
    Ok(given)
}

/// The values of a parameter as numbers, if its type matches the shader's declaration.
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
        Values::Strings(_) => unreachable!("none of the types above has strings"),
    })
}
