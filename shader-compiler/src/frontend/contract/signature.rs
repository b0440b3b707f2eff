//! Signatures of the functions that a shader may define.

use super::super::diagnostics::type_name;
use super::super::lexer::SourceRange;
use super::super::{ShaderError, Source};
use super::struct_exists;
use naga::{Handle, Module, TypeInner, VectorSize};

/// A type in a required signature.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ExpectedType {
    F32,
    Vec2,
    Vec3,
    /// One value, or one for each colour channel.
    F32OrVec3,
    Struct(&'static str),
}

impl ExpectedType {
    fn name(self) -> &'static str {
        match self {
            ExpectedType::F32 => "f32",
            ExpectedType::Vec2 => "vec2f",
            ExpectedType::Vec3 => "vec3f",
            ExpectedType::F32OrVec3 => "f32` or `vec3f",
            ExpectedType::Struct(name) => name,
        }
    }

    /// Whether a type of the module is this type.
    pub(super) fn matches(self, module: &Module, handle: Handle<naga::Type>) -> bool {
        let ty = &module.types[handle];
        match (self, &ty.inner) {
            (ExpectedType::F32, inner) => *inner == TypeInner::Scalar(naga::Scalar::F32),
            (ExpectedType::Vec2, inner) => {
                *inner == TypeInner::Vector { size: VectorSize::Bi, scalar: naga::Scalar::F32 }
            }
            (ExpectedType::Vec3, inner) => {
                *inner == TypeInner::Vector { size: VectorSize::Tri, scalar: naga::Scalar::F32 }
            }
            (ExpectedType::F32OrVec3, _) => {
                ExpectedType::F32.matches(module, handle)
                    || ExpectedType::Vec3.matches(module, handle)
            }
            (ExpectedType::Struct(name), TypeInner::Struct { .. }) => {
                ty.name.as_deref() == Some(name)
            }
            (ExpectedType::Struct(_), _) => false,
        }
    }
}

/// Signature of a function that a shader may define.
pub(super) struct Signature {
    pub(super) name: &'static str,
    pub(super) parameters: &'static [(&'static str, ExpectedType)],
    pub(super) result: ExpectedType,
}

const MATERIAL: ExpectedType = ExpectedType::Struct("Material");
pub(super) const BRDF: Signature = Signature {
    name: "brdf",
    parameters: &[("wi", ExpectedType::Vec3), ("wo", ExpectedType::Vec3), ("m", MATERIAL)],
    result: ExpectedType::Vec3,
};
pub(super) const PHASE: Signature = Signature {
    name: "phase",
    parameters: &[("wi", ExpectedType::Vec3), ("wo", ExpectedType::Vec3), ("m", MATERIAL)],
    result: ExpectedType::F32,
};
const MEDIUM: ExpectedType = ExpectedType::Struct("Medium");
pub(super) const DENSITY: Signature = Signature {
    name: "density",
    parameters: &[("p", ExpectedType::Vec3), ("m", MEDIUM)],
    result: ExpectedType::F32OrVec3,
};
pub(super) const ALBEDO: Signature = Signature {
    name: "albedo",
    parameters: &[("p", ExpectedType::Vec3), ("m", MEDIUM)],
    result: ExpectedType::Vec3,
};
pub(super) const EMISSION: Signature = Signature {
    name: "emission",
    parameters: &[("p", ExpectedType::Vec3), ("m", MEDIUM)],
    result: ExpectedType::Vec3,
};
const PARAMS: ExpectedType = ExpectedType::Struct("Params");
pub(super) const FIELD: Signature = Signature {
    name: "field",
    parameters: &[("p", ExpectedType::Vec3), ("m", PARAMS)],
    result: ExpectedType::F32,
};
pub(super) const SAMPLE: Signature = Signature {
    name: "sample",
    parameters: &[("u", ExpectedType::Vec2), ("wo", ExpectedType::Vec3), ("m", MATERIAL)],
    result: ExpectedType::Vec3,
};
pub(super) const PDF: Signature = Signature {
    name: "pdf",
    parameters: &[("wi", ExpectedType::Vec3), ("wo", ExpectedType::Vec3), ("m", MATERIAL)],
    result: ExpectedType::F32,
};
pub(super) const SETUP: Signature = Signature {
    name: "material",
    parameters: &[("p", ExpectedType::Struct("SurfacePoint")), ("m", MATERIAL)],
    result: MATERIAL,
};

impl Signature {
    /// The declaration in WGSL.
    pub(super) fn text(&self) -> String {
        let parameters: Vec<_> =
            self.parameters.iter().map(|(name, ty)| format!("{name}: {}", ty.name())).collect();
        format!("fn {}({}) -> {}", self.name, parameters.join(", "), self.result.name())
    }

    pub(super) fn help(&self) -> String {
        format!("the signature is `{}`", self.text())
    }

    /// Minimum number of parameters: the structs of parameters are optional.
    fn min_parameters(&self) -> usize {
        self.parameters.iter().filter(|(_, ty)| ![MATERIAL, MEDIUM, PARAMS].contains(ty)).count()
    }

    /// Finds the function with this name and checks its signature; `None` if there is none.
    pub(super) fn find(
        &self,
        source: &Source,
        module: &Module,
    ) -> Result<Option<Handle<naga::Function>>, ShaderError> {
        let Some((handle, function)) = module
            .functions
            .iter()
            .find(|(_, function)| function.name.as_deref() == Some(self.name))
        else {
            return Ok(None);
        };
        let span = module.functions.get_span(handle);
        let signature = source.signature(span);
        let error = |message: String, location: SourceRange, label: String| {
            source.error(message).at(location, label).help(self.help())
        };
        let count = function.arguments.len();
        let (min, max) = (self.min_parameters(), self.parameters.len());
        if !(min..=max).contains(&count) {
            let message = format!("`{}` has {}", self.name, plural(count, "parameter"));
            let label = format!("expected {min} or {max} parameters");
            let help = format!("{}; `m` is optional", self.help());
            return Err(error(message, signature, label).help(help));
        }
        let declaration = |argument: &naga::FunctionArgument| {
            let parameter = source.member(span, argument.name.as_deref().unwrap_or(""));
            parameter.name.start..parameter.ty.end
        };
        for (k, (argument, (_, expected))) in
            std::iter::zip(&function.arguments, self.parameters).enumerate()
        {
            if !expected.matches(module, argument.ty) {
                let message = format!(
                    "parameter {} of `{}` is `{}`",
                    k + 1,
                    self.name,
                    type_name(module, argument.ty)
                );
                let error = error(
                    message,
                    declaration(argument),
                    format!("expected `{}`", expected.name()),
                );
                return Err(match expected {
                    ExpectedType::Struct(expected @ ("Material" | "Medium" | "Params"))
                        if !struct_exists(module, expected) =>
                    {
                        error.help(match &module.types[argument.ty] {
                            naga::Type { name: Some(name), inner: TypeInner::Struct { .. } } => {
                                format!("the struct of parameters must be called `{expected}`: rename `{name}`")
                            }
                            _ if *expected == "Params" => {
                                "declare the parameters of the field as members of a `struct Params`"
                                    .to_owned()
                            }
                            _ => format!(
                                "declare the parameters of the {} as members of a `struct {expected}`",
                                expected.to_lowercase()
                            ),
                        })
                    }
                    _ => error,
                });
            }
        }
        for (k, (argument, (expected, _))) in
            std::iter::zip(&function.arguments, self.parameters).enumerate()
        {
            let name = argument.name.as_deref().unwrap_or("");
            let other = self.parameters.iter().position(|(other, _)| *other == name);
            if other.is_some_and(|other| other != k) {
                let message = format!(
                    "the parameter `{name}` of `{}` is in the position of `{expected}`",
                    self.name
                );
                return Err(error(
                    message,
                    declaration(argument),
                    format!("`{expected}` is passed here"),
                ));
            }
        }
        match &function.result {
            Some(result) if self.result.matches(module, result.ty) => Ok(Some(handle)),
            Some(result) => {
                let message = format!("`{}` returns `{}`", self.name, type_name(module, result.ty));
                Err(error(message, signature, format!("expected `-> {}`", self.result.name())))
            }
            None => {
                let message = format!("`{}` returns nothing", self.name);
                Err(error(message, signature, format!("expected `-> {}`", self.result.name())))
            }
        }
    }
}

fn plural(count: usize, noun: &str) -> String {
    match count {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}
