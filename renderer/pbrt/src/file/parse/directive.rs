//! Parses directives and their arguments.

use super::values::is_numeric;
use super::{ActiveTransform, DIRECTIVES, Directive, Entity, Parser, Setting};
use crate::diagnostics::{Diagnostics, Location, SceneError};
use crate::file::legacy::{self, LegacyContext};
use crate::file::lexer::{Mark, Token};
use crate::file::params::{ParamSet, ParamType, ParamValues};
use crate::file::shorten;
use lightbound::suggestion::did_you_mean;

impl Parser<'_> {
    /// Creates the error for an unknown directive.
    pub(super) fn unknown_directive(&self, bytes: &[u8], mark: Mark) -> SceneError {
        let word = String::from_utf8_lossy(bytes);
        if let Some(remedy) = legacy::directive(&word) {
            return self
                .lexer
                .error(mark, format!("{word} is from an older format, not from pbrt-v4"))
                .help(remedy);
        }
        let error = self.lexer.error(mark, format!("unknown directive \"{}\"", shorten(&word)));
        match is_numeric(bytes) {
            true => error.help("put several values in brackets: [ … ]"),
            false => error.help(did_you_mean(
                &word,
                DIRECTIVES,
                "is this a pbrt-v4 scene? Its directives: https://pbrt.org/fileformat-v4",
            )),
        }
    }

    /// Parses the arguments of a directive.
    pub(super) fn directive(
        &mut self,
        keyword: &str,
        location: &Location,
        diagnostics: &mut Diagnostics,
    ) -> Result<Directive, SceneError> {
        let (setting, context) = match keyword {
            "Camera" => (Setting::Camera, LegacyContext::Camera),
            "Film" => (Setting::Film, LegacyContext::Film),
            "PixelFilter" => (Setting::PixelFilter, LegacyContext::PixelFilter),
            "Sampler" => (Setting::Sampler, LegacyContext::Sampler),
            "Integrator" => (Setting::Integrator, LegacyContext::Integrator),
            "Accelerator" => (Setting::Accelerator, LegacyContext::Accelerator),
            _ => return self.other_directive(keyword, location, diagnostics),
        };
        Ok(Directive::Setting(setting, self.entity(keyword, context, diagnostics)?))
    }

    fn other_directive(
        &mut self,
        keyword: &str,
        location: &Location,
        diagnostics: &mut Diagnostics,
    ) -> Result<Directive, SceneError> {
        Ok(match keyword {
            "Include" => Directive::Include(self.name("Include takes a quoted file name")?),
            "Import" => Directive::Import(self.name("Import takes a quoted file name")?),
            "Option" => self.option()?,
            "ColorSpace" => Directive::ColorSpace(self.name("ColorSpace takes a quoted name")?),
            "WorldBegin" => Directive::WorldBegin,
            "AttributeBegin" => Directive::AttributeBegin,
            "AttributeEnd" => Directive::AttributeEnd,
            "TransformBegin" | "TransformEnd" => {
                let message = "TransformBegin and TransformEnd are deprecated";
                diagnostics.warn(
                    Some(location),
                    message,
                    "AttributeBegin and AttributeEnd, as in pbrt-v4",
                )?;
                if keyword == "TransformBegin" {
                    Directive::AttributeBegin
                } else {
                    Directive::AttributeEnd
                }
            }
            "Attribute" => {
                let target = self.name("Attribute takes a quoted target, such as \"shape\"")?;
                let params = self.params(diagnostics)?;
                match target.text.as_str() {
                    "shape" => check_legacy_params(LegacyContext::Shape, &params)?,
                    "material" => check_legacy_params(LegacyContext::Material, &params)?,
                    "light" => check_legacy_params(LegacyContext::Light, &params)?,
                    "texture" => check_legacy_params(LegacyContext::Texture, &params)?,
                    _ => {}
                }
                Directive::Attribute { target, params }
            }
            "Identity" => Directive::Identity,
            "Translate" => Directive::Translate(self.numbers(keyword)?),
            "Scale" => Directive::Scale(self.numbers(keyword)?),
            "Rotate" => Directive::Rotate(self.numbers(keyword)?),
            "LookAt" => Directive::LookAt(self.numbers(keyword)?),
            "Transform" => Directive::Transform(self.numbers(keyword)?),
            "ConcatTransform" => Directive::ConcatTransform(self.numbers(keyword)?),
            "CoordinateSystem" => {
                Directive::CoordinateSystem(self.name("CoordinateSystem takes a quoted name")?)
            }
            "CoordSysTransform" => {
                Directive::CoordSysTransform(self.name("CoordSysTransform takes a quoted name")?)
            }
            "ActiveTransform" => Directive::ActiveTransform(self.active_transform()?),
            "TransformTimes" => Directive::TransformTimes(self.numbers(keyword)?),
            "ReverseOrientation" => Directive::ReverseOrientation,
            "ObjectBegin" => Directive::ObjectBegin(self.name("ObjectBegin takes a quoted name")?),
            "ObjectEnd" => Directive::ObjectEnd,
            "ObjectInstance" => {
                Directive::ObjectInstance(self.name("ObjectInstance takes a quoted name")?)
            }
            "MediumInterface" => {
                let inside = self.name("MediumInterface takes one or two quoted names")?;
                let second = self.lexer.peek() == Some(b'"');
                let outside = if second {
                    self.name("MediumInterface takes one or two quoted names")?
                } else {
                    inside.clone()
                };
                Directive::MediumInterface { inside, outside }
            }
            "MakeNamedMedium" => {
                let name = self.name("MakeNamedMedium takes a quoted name")?;
                let params = self.params(diagnostics)?;
                check_legacy_typed(LegacyContext::Medium, &params)?;
                Directive::MakeNamedMedium(name, params)
            }
            "Material" => {
                Directive::Material(self.entity(keyword, LegacyContext::Material, diagnostics)?)
            }
            "MakeNamedMaterial" => {
                let name = self.name("MakeNamedMaterial takes a quoted name")?;
                let params = self.params(diagnostics)?;
                check_legacy_typed(LegacyContext::Material, &params)?;
                Directive::MakeNamedMaterial(name, params)
            }
            "NamedMaterial" => {
                Directive::NamedMaterial(self.name("NamedMaterial takes a quoted name")?)
            }
            "Texture" => {
                let name = self.name(
                    "Texture takes a quoted name, a type (\"float\" or \"spectrum\") and a class",
                )?;
                let is_float = self.texture_type()?;
                Directive::Texture {
                    name,
                    is_float,
                    entity: self.entity(keyword, LegacyContext::Texture, diagnostics)?,
                }
            }
            "LightSource" => {
                Directive::LightSource(self.entity(keyword, LegacyContext::Light, diagnostics)?)
            }
            "AreaLightSource" => Directive::AreaLightSource(self.entity(
                keyword,
                LegacyContext::AreaLight,
                diagnostics,
            )?),
            _ => {
                assert_eq!(keyword, "Shape", "unhandled directive");
                Directive::Shape(self.entity(keyword, LegacyContext::Shape, diagnostics)?)
            }
        })
    }

    /// Parses the type and parameters of an entity.
    fn entity(
        &mut self,
        keyword: &str,
        context: LegacyContext,
        diagnostics: &mut Diagnostics,
    ) -> Result<Entity, SceneError> {
        let name = self.name(&format!("{keyword} takes a quoted type"))?;
        let params = self.params(diagnostics)?;
        check_legacy(context, &name.text, &name.location, &params)?;
        Ok(Entity { name: name.text, params, location: name.location })
    }

    /// Parses the type of a texture: true for `float`, false for `spectrum`.
    fn texture_type(&mut self) -> Result<bool, SceneError> {
        let ty = self.name("a texture is of type \"float\" or \"spectrum\"")?;
        match ty.text.as_str() {
            "float" => Ok(true),
            "spectrum" => Ok(false),
            "color" => {
                let error = SceneError::at(&ty.location, "texture type \"color\" is from pbrt-v3");
                Err(error.help("write \"spectrum\""))
            }
            other => {
                let error = SceneError::at(
                    &ty.location,
                    format!("unknown texture type \"{}\"", shorten(other)),
                );
                Err(error.help("write \"float\" or \"spectrum\""))
            }
        }
    }

    fn active_transform(&mut self) -> Result<ActiveTransform, SceneError> {
        let expected = "ActiveTransform takes StartTime, EndTime or All";
        match self.expect(expected)? {
            (Token::Word(b"All"), _) => Ok(ActiveTransform::All),
            (Token::Word(b"StartTime"), _) => Ok(ActiveTransform::StartTime),
            (Token::Word(b"EndTime"), _) => Ok(ActiveTransform::EndTime),
            (token, mark) => {
                let error =
                    self.lexer.error(mark, format!("{expected}; found {}", token.describe()));
                Err(error.help("write one of the three words, without quotes"))
            }
        }
    }

    /// Parses `Option "name" value`. A type before the name, as in parameters, is ignored.
    fn option(&mut self) -> Result<Directive, SceneError> {
        let mut name = self.name("Option takes a quoted name and a value")?;
        if let Some((ty, rest)) = name.text.split_once(' ')
            && ParamType::from_name(ty).is_some()
        {
            name.text = rest.trim().to_string();
        }
        let value = |parser: &Self, token: Token, mark| match token {
            Token::Text(text) => Ok(text.into_owned()),
            Token::Word(word) => Ok(String::from_utf8_lossy(word).into_owned()),
            token => {
                let error = parser
                    .lexer
                    .error(mark, format!("Option takes a value, found {}", token.describe()));
                Err(error.help("write a number, a word or a quoted string"))
            }
        };
        let values = self.values("Option takes one value", |parser, token, mark, _| {
            value(parser, token, mark)
        })?;
        match <[String; 1]>::try_from(values) {
            Ok([value]) => Ok(Directive::Option { name, value }),
            Err(values) => {
                let error = SceneError::at(
                    &name.location,
                    format!("Option takes one value, but has {}", values.len()),
                );
                Err(error.help("give one value"))
            }
        }
    }
}

/// Rejects names from pbrt-v3 and reports their replacements.
fn check_legacy(
    context: LegacyContext,
    name: &str,
    location: &Location,
    params: &ParamSet,
) -> Result<(), SceneError> {
    if let Some(remedy) = legacy::entity(context, name) {
        let message = format!("\"{name}\" is from an older format, not from pbrt-v4");
        return Err(SceneError::at(location, message).help(remedy));
    }
    if context == LegacyContext::Material && ["shader", "materialx"].contains(&name) {
        return Ok(()); // shaders and documents define their own parameter names
    }
    check_legacy_params(context, params)
}

fn check_legacy_params(context: LegacyContext, params: &ParamSet) -> Result<(), SceneError> {
    for param in params.iter() {
        if let Some(remedy) = legacy::param(context, &param.name) {
            let message = format!("parameter \"{}\" is from pbrt-v3", param.name);
            return Err(SceneError::at(&param.location, message).help(remedy));
        }
    }
    Ok(())
}

/// [`check_legacy`] for entities with a parameter `string type`.
fn check_legacy_typed(context: LegacyContext, params: &ParamSet) -> Result<(), SceneError> {
    if let Some(ty) = params.find("type")
        && let ParamValues::Strings(names) = &ty.values
        && let [name] = names.as_slice()
    {
        check_legacy(context, name, &ty.location, params)?;
    }
    Ok(())
}
