//! Builds `Material "shader"` from a shader file or a library shader.
//!
//! The material sets the parameters of the shader by name. Values that do not match the
//! declarations are errors that list the parameters of the shader, because there is no sensible
//! fallback.

use super::Builder;
use super::shader_textures::ShaderTexture;
use super::shaders::{FindError, Variant};
use super::shape_errors::mesh_error;
use super::value_checks::ValidValues;
use crate::diagnostics::SceneError;
use crate::file::params::{Param, ParamType, ParamValues};
use crate::file::parse::Entity;
use lightbound::geometry::{
    DisplacedMesh, DisplacedSurface, Implicit, ImplicitError, ShaderDisplacementError,
};
use lightbound::material::{
    BumpMap, Material, ParameterValues, ProgramError, Setting, ShaderInstance, ShaderNormal,
    library, parameters,
};
use lightbound::medium::{ShaderField, ShaderFieldError, ShaderFieldSettings};
use lightbound::suggestion::did_you_mean;
use lightbound_math::{Aabb, Transform};
use lightbound_shader::texture::TextureState;
use lightbound_shader::{Parameter, Scalar, Shader, ShaderError, ShaderKind, Texture};
use std::path::Path;
use std::sync::Arc;

/// Parameter names that the scene format reserves.
const RESERVED: [&str; 2] = ["filename", "type"];

/// A shader and the entity that uses it.
pub(super) struct ShaderUse<'a> {
    pub entity: &'a Entity,
    /// Index of the shader.
    index: u32,
    pub shader: Arc<Shader>,
    /// Describes the shader and the entity in messages.
    pub label: String,
}

/// The values that an entity gives the parameters of its shader.
pub(super) struct ShaderValues {
    settings: Vec<Setting>,
    overrides: Vec<(String, f64)>,
    lookups: Vec<TextureState>,
    textures: Vec<Arc<Texture>>,
}

impl ShaderValues {
    /// Returns the components of a parameter that is constant.
    pub fn constant(&self, shader_use: &ShaderUse, name: &str) -> Option<&[f64]> {
        let settable = shader_use.shader.settable();
        let index = settable.iter().position(|parameter| parameter.name == name)?;
        match &self.settings[index] {
            Setting::Constant(components) => Some(components),
            Setting::Varying(_) => None,
        }
    }

    /// Sets a parameter, unless the entity sets it.
    pub fn set_default(&mut self, shader_use: &ShaderUse, name: &str, value: Setting) {
        if shader_use.entity.params.find(name).is_none() {
            self.set(shader_use, name, value);
        }
    }

    /// Sets a parameter.
    pub fn set(&mut self, shader_use: &ShaderUse, name: &str, value: Setting) {
        let settable = shader_use.shader.settable();
        let index = settable.iter().position(|parameter| parameter.name == name);
        self.settings[index.expect("the shader has it")] = value;
    }
}

impl<'a> ShaderUse<'a> {
    /// Another shader with parameters of the same entity.
    pub fn with_shader(&self, shader: Shader) -> ShaderUse<'a> {
        let ShaderUse { entity, index, ref label, .. } = *self;
        ShaderUse { entity, index, shader: Arc::new(shader), label: label.clone() }
    }

    /// Creates an error at a parameter of the material.
    pub fn error(&self, param: &Param, message: &str) -> SceneError {
        SceneError::at(
            &param.location,
            format!("\"{} {}\" {message} ({})", param.ty, param.name, self.label),
        )
    }

    /// Appends a table of the shader's parameters to a remedy.
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

    /// Iterates over the names of all parameters, overrides and textures of the shader.
    fn names(&self) -> impl Iterator<Item = &str> {
        let declared = self.shader.settable().iter().chain(self.shader.overrides());
        declared
            .map(|parameter| parameter.name.as_str())
            .chain(self.shader.textures().iter().map(String::as_str))
    }

    /// Converts a compile error of the shader, which is shown with source lines.
    fn compile_error(&self, error: ShaderError) -> SceneError {
        let remedy = match self.shader.overrides() {
            [] => "correct the shader".into(),
            _ => self.help("correct the shader, or set its overrides in the material"),
        };
        shader_error(self.entity, &self.label, error).help(remedy)
    }

    /// Converts an error of compiling the shader.
    fn program_error(&self, error: ProgramError) -> SceneError {
        match error {
            ProgramError::Shader(error) => self.compile_error(error),
            ProgramError::Compile(error) => self
                .entity
                .error(format!("{} cannot be compiled: {error}", self.label))
                .help("use fewer and smaller arrays in the shader"),
        }
    }

    /// Compiles the field of an implicit surface, whose parameters must be constant.
    pub fn implicit(
        &self,
        ShaderValues { settings, overrides, .. }: ShaderValues,
        bounds: Aabb,
        render_from_shape: &Transform,
    ) -> Result<Implicit, SceneError> {
        let words = self.constant_words(settings, "implicit surfaces")?;
        let settings = Variant::new(self.index, &overrides, vec![]).settings(&self.shader);
        let implicit = Implicit::new(&self.shader, &settings, &words, bounds, render_from_shape);
        implicit.map_err(|error| match error {
            ImplicitError::Shader(error) => self.program_error(error.into()),
            ImplicitError::Compile(error) => self.program_error(error.into()),
            ImplicitError::Derivative(_) | ImplicitError::NoField | ImplicitError::Texture(_) => {
                self.entity.error(format!("{} cannot be used: {error}", self.label))
            }
            ImplicitError::Fact { .. } => {
                let error = self.entity.error(format!("{} cannot be used: {error}", self.label));
                error.help(REMOVE_FACT)
            }
        })
    }

    /// Displaces a mesh by the shader, whose parameters must be constant.
    pub fn displaced(
        &self,
        ShaderValues { settings, overrides, lookups, textures }: ShaderValues,
        mesh: DisplacedMesh,
        edge_length: f32,
        render_from_shape: &Transform,
    ) -> Result<DisplacedSurface, SceneError> {
        let words = self.constant_words(settings, "displacements")?;
        let settings = Variant::new(self.index, &overrides, lookups).settings(&self.shader);
        let shader = (&*self.shader, &settings);
        let inputs = (&words[..], textures);
        DisplacedSurface::new(mesh, shader, inputs, edge_length, render_from_shape).map_err(|e| {
            let text = e.to_string();
            match e {
                ShaderDisplacementError::Shader(error) => self.program_error(error.into()),
                ShaderDisplacementError::Compile(error) => self.program_error(error.into()),
                ShaderDisplacementError::Signature => {
                    let error = self.entity.error(format!("{} cannot be used: {text}", self.label));
                    error.help(
                        "the signature is `fn displace(uv: vec2f, p: vec3f, n: vec3f, m: Params) -> \
                         f32`, or with the result `vec3f`; `m` is optional",
                    )
                }
                ShaderDisplacementError::Fact { .. } => {
                    let error = self.entity.error(format!("{} cannot be used: {text}", self.label));
                    error.help(REMOVE_FACT)
                }
                ShaderDisplacementError::Mesh(error) => mesh_error(self.entity, &error),
                ShaderDisplacementError::TooFine { .. } => {
                    let error = self.entity.param_error("edgelength", text);
                    error.help("increase \"edgelength\"")
                }
                ShaderDisplacementError::NotFinite { .. } => {
                    let error = self.entity.param_error("displacement", text);
                    error.help("correct the shader, for example where it divides by zero")
                }
            }
        })
    }

    /// Returns the words of parameters, which must be constant; `what` they belong to, for
    /// messages.
    fn constant_words(&self, settings: Vec<Setting>, what: &str) -> Result<Vec<u32>, SceneError> {
        let mut words = Vec::new();
        for (parameter, setting) in std::iter::zip(self.shader.settable(), settings) {
            let Setting::Constant(numbers) = setting else {
                let param = self.entity.params.any(&parameter.name).expect("it is a texture");
                let error = self.error(param, "is a texture");
                return Err(error.help(self.help(&format!("parameters of {what} are constants"))));
            };
            words.extend(numbers.iter().map(|&x| parameter.scalar.bits(x)));
        }
        Ok(words)
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
            let or_single = if parameter.size > 1 { ", or one for all" } else { "" };
            let error = self.error(param, &format!("has {} values", numbers.len()));
            return Err(error.help(
                self.help(&format!("`{}` takes {}{or_single}", parameter.name, parameter.size)),
            ));
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

    /// Creates the error for a parameter that does not match the type in the shader.
    fn mismatch(&self, param: &Param, parameter: &Parameter, is_override: bool) -> SceneError {
        let name = &parameter.name;
        let mut types = match (parameter.scalar, parameter.size) {
            (Scalar::F32, 2) => vec!["float", "vector2", "point2"],
            (Scalar::F32, 3) => vec!["rgb", "spectrum", "float", "vector3"],
            (Scalar::F32, _) => vec!["float"],
            (Scalar::I32 | Scalar::U32, _) => vec!["integer"],
            (Scalar::Bool, _) => vec!["bool"],
        };
        if !is_override && parameter.size <= 3 {
            types.push("texture");
        }
        let declarations: Vec<_> = types.iter().map(|ty| format!("\"{ty} {name}\"")).collect();
        let error = self.error(
            param,
            &format!("does not match the type of `{name}`, {}", parameters::type_name(parameter)),
        );
        error.help(self.help(&format!("write {}", declarations.join(" or "))))
    }
}

/// How to correct an argument with a fact.
const REMOVE_FACT: &str = "remove the fact: the renderer passes any vectors";

/// Creates the error for an invalid shader.
fn shader_error(entity: &Entity, label: &str, mut error: ShaderError) -> SceneError {
    let message = error.message.clone();
    if error.labels.is_empty() {
        error.message = format!("{}: {message}", error.source_code.name());
    }
    entity.error(format!("{label} cannot be used: {message}")).shader(error)
}

/// Creates the error for a shader that was not found or is invalid.
fn find_error(
    entity: &Entity,
    file: &str,
    label: &str,
    kind: ShaderKind,
    error: FindError,
) -> SceneError {
    match error {
        // The library has no functions.
        FindError::NotFound(path) if kind == ShaderKind::Function => {
            let path = path.display();
            let error = entity.error(format!("{label} was not found; looked for {path}"));
            error.help("check the path, which is relative to the scene's folder")
        }
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
        FindError::Read(error) => entity.error(format!("{label}: {error}")).help(error.remedy()),
        FindError::Shader(error) => shader_error(entity, label, error).help("correct the shader"),
    }
}

impl Builder<'_> {
    /// Builds a material with a shader; `name` is the name of the material, if any.
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
        let shader_use = self.shader_use(entity, file, label, ShaderKind::Brdf, &RESERVED)?;
        let values = self.shader_values(&shader_use)?;
        self.finish_material(&shader_use, values, &[])
    }

    /// Builds a material of a shader and its values, with a bump map. `others` are parameters of
    /// the entity itself.
    pub(super) fn finish_material(
        &mut self,
        shader_use: &ShaderUse,
        values: ShaderValues,
        others: &[&str],
    ) -> Result<Material, SceneError> {
        let entity = shader_use.entity;
        let given =
            self.bump_map(entity, |name| shader_use.names().any(|declared| declared == name))?;
        check_unused(&[shader_use], others)?;
        let bump = match (given, self.shader_normal(shader_use, &values)?) {
            (given, None) => given,
            (None, computed) => computed,
            (given, Some(_)) => {
                let message = format!(
                    "{} computes normals, and the material has a bump map",
                    shader_use.label
                );
                self.warn(entity, message, "the bump map")?;
                given
            }
        };
        let instance = self.instantiate(shader_use, values)?;
        Ok(Material::scattering(instance).with_bump(bump))
    }

    /// Compiles `fn normal` of a shader, if there is one.
    fn shader_normal(
        &mut self,
        shader_use: &ShaderUse,
        values: &ShaderValues,
    ) -> Result<Option<BumpMap>, SceneError> {
        let shader = &shader_use.shader;
        let Some(function) = ShaderNormal::find(shader) else { return Ok(None) };
        let ShaderValues { settings, overrides, lookups, textures } = values;
        let parameters =
            ParameterValues::new(std::iter::zip(shader.settable(), settings.iter().cloned()));
        let variant = Variant::new(shader_use.index, overrides, lookups.clone());
        let settings = variant.settings(shader);
        let normal = ShaderNormal::new(&function, &settings, parameters, textures.clone());
        let normal = normal.map_err(|error| shader_use.program_error(error))?;
        Ok(Some(BumpMap::Shader(Arc::new(normal))))
    }

    /// Finds a shader of a kind by its file name. Its parameters cannot have `reserved` names.
    pub(super) fn shader_use<'e>(
        &mut self,
        entity: &'e Entity,
        file: &str,
        label: String,
        kind: ShaderKind,
        reserved: &[&str],
    ) -> Result<ShaderUse<'e>, SceneError> {
        let index = self.find_shader(entity, file, &label, kind)?;
        self.checked_use(entity, index, label, kind, reserved)
    }

    /// Finds a function of a shader file. Its parameters cannot have `reserved` names.
    pub(super) fn function_use<'e>(
        &mut self,
        entity: &'e Entity,
        file: &str,
        label: String,
        function: &'static str,
        reserved: &[&str],
    ) -> Result<ShaderUse<'e>, SceneError> {
        let folder = &self.folder;
        let path = || folder.join(file);
        let found = self.shaders.find_function(file, function, path, &mut self.inputs);
        let kind = ShaderKind::Function;
        let index = found.map_err(|error| find_error(entity, file, &label, kind, error))?;
        self.checked_use(entity, index, label, kind, reserved)
    }

    pub(super) fn checked_use<'e>(
        &self,
        entity: &'e Entity,
        index: u32,
        label: String,
        kind: ShaderKind,
        reserved: &[&str],
    ) -> Result<ShaderUse<'e>, SceneError> {
        let shader_use = ShaderUse { entity, index, shader: self.shaders.get(index), label };
        let found = shader_use.shader.kind();
        if found != kind {
            let (label, found, kind) = (&shader_use.label, found.name(), kind.name());
            let error = entity.error(format!("{label} is {found}, not {kind}"));
            return Err(error.help(format!("name a shader that is {kind}")));
        }
        if let Some(name) = shader_use.names().find(|name| reserved.contains(name)) {
            let error = entity.error(format!(
                "{} has a parameter `{name}`, which scenes cannot set",
                shader_use.label
            ));
            return Err(error
                .help("give it another name in the shader: the scene format reserves this one"));
        }
        Ok(shader_use)
    }

    /// Reads the values of all parameters of a shader.
    pub(super) fn shader_values(
        &mut self,
        shader_use: &ShaderUse,
    ) -> Result<ShaderValues, SceneError> {
        let textures = self.shader_textures(shader_use)?;
        self.shader_values_with(shader_use, textures)
    }

    /// Reads the values of all parameters of a shader with these textures.
    pub(super) fn shader_values_with(
        &mut self,
        shader_use: &ShaderUse,
        textures: Vec<ShaderTexture>,
    ) -> Result<ShaderValues, SceneError> {
        let settings = self.settings(shader_use)?;
        let overrides = overrides(shader_use)?;
        let (lookups, textures) = textures.into_iter().unzip();
        Ok(ShaderValues { settings, overrides, lookups, textures })
    }

    /// Compiles the density of a medium.
    pub(super) fn density(
        &mut self,
        shader_use: &ShaderUse,
        ShaderValues { settings, overrides, lookups, textures }: ShaderValues,
        medium: ShaderFieldSettings,
    ) -> Result<ShaderField, SceneError> {
        let shader = &shader_use.shader;
        let values = ParameterValues::new(std::iter::zip(shader.settable(), settings));
        let options = Variant::new(shader_use.index, &overrides, lookups).settings(shader);
        let field = ShaderField::new(shader, &options, values, textures, medium);
        field.map_err(|error| match error {
            ShaderFieldError::Program(error) => shader_use.program_error(error),
            ShaderFieldError::Texture { word, error } => {
                let mut words = 0;
                let mut parameters = shader.settable().iter();
                let parameter = parameters.find(|parameter| {
                    words += parameter.size;
                    word < words
                });
                let name = &parameter.expect("the word is that of a parameter").name;
                let param = shader_use.entity.params.find(name).expect("it is a texture");
                let message = format!("is a texture that {error}");
                shader_use.error(param, &message).help(error.remedy())
            }
        })
    }

    /// Compiles a shader, unless it is cached, and creates an instance of it.
    pub(super) fn instantiate(
        &mut self,
        shader_use: &ShaderUse,
        ShaderValues { settings, overrides, lookups, textures }: ShaderValues,
    ) -> Result<ShaderInstance, SceneError> {
        let variant = Variant::new(shader_use.index, &overrides, lookups)
            .for_settings(&shader_use.shader, &settings);
        let binding = self.shaders.bind(variant, textures);
        let binding = binding.map_err(|error| shader_use.program_error(error))?;
        self.instance(shader_use.entity, binding, settings)
    }

    /// Finds a shader file relative to the scene, or a library shader, and returns its index. `kind`
    /// is the expected kind, for messages.
    fn find_shader(
        &mut self,
        entity: &Entity,
        file: &str,
        label: &str,
        kind: ShaderKind,
    ) -> Result<u32, SceneError> {
        let folder = &self.folder;
        let found = self.shaders.find(file, kind, || folder.join(file), &mut self.inputs);
        found.map_err(|error| find_error(entity, file, label, kind, error))
    }

    /// Returns the settings of all settable parameters of the shader.
    fn settings(&mut self, shader_use: &ShaderUse) -> Result<Vec<Setting>, SceneError> {
        let shader = shader_use.shader.clone();
        shader.settable().iter().map(|parameter| self.setting(shader_use, parameter)).collect()
    }

    /// Returns the setting of a parameter.
    pub(super) fn setting(
        &mut self,
        shader_use: &ShaderUse,
        parameter: &Parameter,
    ) -> Result<Setting, SceneError> {
        let name = &parameter.name;
        match shader_use.entity.params.any(name) {
            None => match &parameter.default {
                Some(default) => Ok(Setting::Constant(default.clone())),
                None => {
                    let error = shader_use
                        .entity
                        .error(format!("parameter \"{name}\" is missing ({})", shader_use.label));
                    Err(error.help(shader_use.help("set it: the shader declares no default")))
                }
            },
            Some(param) if param.ty == ParamType::Texture => {
                self.texture_setting(shader_use, param, parameter)
            }
            Some(param) => self.constant(shader_use, param, parameter).map(Setting::Constant),
        }
    }

    /// Sets a parameter to a texture.
    fn texture_setting(
        &mut self,
        shader_use: &ShaderUse,
        param: &Param,
        parameter: &Parameter,
    ) -> Result<Setting, SceneError> {
        if parameter.size > 3 {
            let error = shader_use.error(param, "has three channels, one too few");
            return Err(
                error.help(shader_use.help(&format!("give `{}` four \"float\"s", parameter.name)))
            );
        }
        let name =
            shader_use.entity.params.texture(&parameter.name)?.expect("the parameter exists");
        // `describe` checks that a texture with this name exists.
        let Some(texture) = self.textures.for_parameter(name, parameter.size > 1) else {
            let message = format!(
                "is \"{name}\", a texture of type spectrum, but `{}` is one number",
                parameter.name
            );
            return Err(shader_use.error(param, &message).help(format!(
                "define \"{name}\" with Texture as a float, or name another texture"
            )));
        };
        if parameter.scalar != Scalar::Bool {
            let valid = ValidValues::Declared(&parameter.name, parameter.range);
            self.check_texture(&texture, 1.0, valid)?;
        }
        Ok(Setting::Varying(texture))
    }

    /// Reads a constant value of a parameter.
    fn constant(
        &mut self,
        shader_use: &ShaderUse,
        param: &Param,
        parameter: &Parameter,
    ) -> Result<Vec<f64>, SceneError> {
        if let (Scalar::F32, 3, ParamType::Rgb | ParamType::Spectrum | ParamType::Blackbody) =
            (parameter.scalar, parameter.size, param.ty)
        {
            let spectrum =
                shader_use.entity.params.spectrum(&parameter.name)?.expect("the parameter exists");
            let rgb = self.reflectance(shader_use.entity, &spectrum)?.to_array().map(f64::from);
            let numbers = match param.ty {
                ParamType::Rgb => rgb.to_vec(),
                _ => self.clamp_to_range(shader_use, param, parameter, rgb)?,
            };
            return shader_use.check_values(param, parameter, numbers);
        }
        match numbers(param, parameter) {
            Some(numbers) => shader_use.check_values(param, parameter, numbers),
            None => Err(shader_use.mismatch(param, parameter, false)),
        }
    }

    /// Clamps the colour of a spectrum to the range of the parameter. Warns unless the difference
    /// is a rounding error; colours out of gamut have negative components.
    fn clamp_to_range(
        &mut self,
        shader_use: &ShaderUse,
        param: &Param,
        parameter: &Parameter,
        rgb: [f64; 3],
    ) -> Result<Vec<f64>, SceneError> {
        const MAX_ROUNDING_ERROR: f64 = 1e-3;
        let [low, high] = parameter.range;
        let clamped = rgb.map(|x| x.max(low).min(high));
        if std::iter::zip(rgb, clamped)
            .any(|(x, clamped)| (x - clamped).abs() > MAX_ROUNDING_ERROR * (1.0 + clamped.abs()))
        {
            let message = format!(
                "\"{} {}\" is the colour {rgb:.3?}, out of range ({})",
                param.ty, param.name, shader_use.label
            );
            self.diagnostics.warn(Some(&param.location), message, format!("{clamped:.3?}"))?;
        }
        Ok(clamped.to_vec())
    }
}

/// Rejects parameters of an entity that none of its shaders declares. `others` are parameters of
/// the entity itself.
pub(super) fn check_unused(shaders: &[&ShaderUse], others: &[&str]) -> Result<(), SceneError> {
    let [first, ..] = shaders else { return Ok(()) };
    let Some(param) = first.entity.params.unused().next() else { return Ok(()) };
    let names = shaders.iter().flat_map(|shader| shader.names()).chain(others.iter().copied());
    let remedy = did_you_mean(&param.name, names, "remove it");
    let help = shaders.iter().fold(remedy, |remedy, shader| shader.help(&remedy));
    Err(first.error(param, "is not a parameter of the shader").help(help))
}

/// Returns the overrides that the material sets, with their values.
fn overrides(shader_use: &ShaderUse) -> Result<Vec<(String, f64)>, SceneError> {
    let mut overrides = Vec::new();
    for declared in shader_use.shader.overrides() {
        let Some(param) = shader_use.entity.params.any(&declared.name) else { continue };
        let Some(numbers) = numbers(param, declared) else {
            return Err(shader_use.mismatch(param, declared, true));
        };
        overrides
            .push((declared.name.clone(), shader_use.check_values(param, declared, numbers)?[0]));
    }
    Ok(overrides)
}

/// Converts the values of a parameter to numbers; `None` if its type does not match the
/// declaration.
fn numbers(param: &Param, parameter: &Parameter) -> Option<Vec<f64>> {
    use ParamType::{Bool, Float, Integer, Normal, Point2, Point3, Vector2, Vector3};
    let matches = match (parameter.scalar, param.ty) {
        (Scalar::F32, Float | Integer)
        | (Scalar::I32 | Scalar::U32, Integer)
        | (Scalar::Bool, Bool) => true,
        (Scalar::F32, Point2 | Vector2) => parameter.size == 2,
        (Scalar::F32, Point3 | Vector3 | Normal) => parameter.size == 3,
        _ => false,
    };
    matches.then(|| match &param.values {
        ParamValues::Floats(numbers) => numbers.iter().map(|&x| f64::from(x)).collect(),
        ParamValues::Integers(integers) => integers.iter().map(|&x| f64::from(x)).collect(),
        ParamValues::Bools(bools) => bools.iter().map(|&x| f64::from(u8::from(x))).collect(),
        ParamValues::Strings(_) => unreachable!("string types do not match"),
    })
}
