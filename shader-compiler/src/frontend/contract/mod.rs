//! Checks the requirements on materials beyond valid WGSL: functions with fixed signatures
//! (`signature`), parameters of plain types, and no graphics-pipeline features (`unsupported`).

mod signature;
mod unsupported;

pub(super) use unsupported::{check_language, nested_blocks};

use super::declarations::Member;
use super::diagnostics::type_name;
use super::{Parameter, Scalar, ShaderError, Source, annotations, textures};
use naga::{Expression, Handle, Module, ScalarKind, TypeInner};
use signature::{BRDF, PDF, SAMPLE, SETUP};

/// The functions and parameters of a material.
#[derive(Clone, Debug)]
pub(super) struct Contract {
    pub brdf: Handle<naga::Function>,
    pub sample: Option<Handle<naga::Function>>,
    pub pdf: Option<Handle<naga::Function>>,
    pub material: Option<Handle<naga::Function>>,
    /// Members of `SurfacePoint`; empty without `fn material`.
    pub surface: Vec<Parameter>,
    /// Members of `Material`.
    pub members: Vec<Parameter>,
    /// Parameters set by the surface point or by the scene, which are the inputs of the shader.
    pub parameters: Vec<Parameter>,
    pub overrides: Vec<Parameter>,
    /// Names of the textures.
    pub textures: Vec<String>,
}

/// A struct's span and members.
fn find_struct<'a>(
    module: &'a Module,
    name: &str,
) -> Option<(naga::Span, &'a [naga::StructMember])> {
    module.types.iter().find_map(|(handle, ty)| match &ty.inner {
        TypeInner::Struct { members, .. } if ty.name.as_deref() == Some(name) => {
            Some((module.types.get_span(handle), &members[..]))
        }
        _ => None,
    })
}

fn struct_exists(module: &Module, name: &str) -> bool {
    find_struct(module, name).is_some()
}

/// Checks the functions and parameters of a material.
pub(super) fn check(source: &Source, module: &Module) -> Result<Contract, ShaderError> {
    let brdf = BRDF.find(source, module)?.ok_or_else(|| missing_brdf(source, module))?;
    let sample = SAMPLE.find(source, module)?;
    let pdf = PDF.find(source, module)?;
    let material = SETUP.find(source, module)?;
    let name = |function| source.declared_name(module.functions.get_span(function));
    match (sample, pdf) {
        (Some(sample), None) => {
            let error = source
                .error("there is `sample` but no `pdf`")
                .at(name(sample), "its density is unknown");
            return Err(error.help(format!("add `{}`", PDF.text())));
        }
        (None, Some(pdf)) => {
            let error = source
                .error("there is `pdf` but no `sample`")
                .at(name(pdf), "no sampler has this density");
            return Err(error.help(format!("add `{}`", SAMPLE.text())));
        }
        _ => {}
    }
    if let Some(material) = material
        && module.functions[brdf].arguments.len() < BRDF.parameters.len()
    {
        let error = source
            .error("`brdf` does not take the result of `material`")
            .at(name(material), "computes a `Material`");
        return Err(error.at(name(brdf), "takes no `Material`").help(BRDF.help()));
    }
    let members = parameters(source, module, "Material")?;
    let (surface, takes_material) = match material {
        Some(setup) => (
            parameters(source, module, "SurfacePoint")?,
            module.functions[setup].arguments.len() > 1,
        ),
        None => (vec![], true),
    };
    let settable = if takes_material { &members[..] } else { &[] };
    if let Some(duplicate) =
        settable.iter().find(|member| surface.iter().any(|other| other.name == member.name))
    {
        let error = source.error(format!(
            "`Material` and `SurfacePoint` both have a member `{}`",
            duplicate.name
        ));
        return Err(error
            .at(material.map_or(0..0, name), "takes both structs")
            .help("rename the member of `Material`"));
    }
    let parameters = surface.iter().chain(settable).cloned().collect();
    let overrides = overrides(source, module)?;
    let textures = textures::names(module);
    Ok(Contract { brdf, sample, pdf, material, surface, members, parameters, overrides, textures })
}

/// The error for a missing `brdf`. Suggests renaming a function that looks like one.
fn missing_brdf(source: &Source, module: &Module) -> ShaderError {
    let error = source.error("there is no `fn brdf`");
    let is_similar = |function: &naga::Function| {
        let name = function.name.as_deref().unwrap_or("");
        let has_typical_name = ["brdf", "bsdf", "eval", "evaluate", "f", "shade", "main"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known));
        let types: Vec<_> = function.arguments.iter().map(|argument| argument.ty).collect();
        let has_brdf_types = types.len() == 3
            && std::iter::zip(types, BRDF.parameters)
                .all(|(ty, (_, expected))| expected.matches(module, ty));
        (has_typical_name || has_brdf_types) && !["sample", "pdf", "material"].contains(&name)
    };
    match module.functions.iter().find(|(_, function)| is_similar(function)) {
        Some((handle, function)) => {
            let name = function.name.as_deref().unwrap_or("");
            error
                .at(source.declared_name(module.functions.get_span(handle)), "is this `brdf`?")
                .help(format!("rename `{name}` to `brdf`; {}", BRDF.help()))
        }
        None => error.help(format!("add `{}`", BRDF.text())),
    }
}

/// Converts the members of a struct to parameters.
fn parameters(source: &Source, module: &Module, name: &str) -> Result<Vec<Parameter>, ShaderError> {
    let Some((span, members)) = find_struct(module, name) else { return Ok(vec![]) };
    members.iter().map(|member| parameter(source, module, span, member)).collect()
}

fn parameter(
    source: &Source,
    module: &Module,
    declaration: naga::Span,
    member: &naga::StructMember,
) -> Result<Parameter, ShaderError> {
    let name = member.name.as_deref().unwrap_or("");
    let declared = source.member(declaration, name);
    if ["wi", "wo", "u"].contains(&name) {
        let error = source.error(format!("a parameter cannot be called `{name}`"));
        let error = error.at(declared.name, "an argument of `brdf` or `sample` has this name");
        return Err(error.help("choose another name"));
    }
    let (scalar, size) = match module.types[member.ty].inner {
        TypeInner::Scalar(scalar) => (scalar, 1),
        TypeInner::Vector { size, scalar } => (scalar, size as usize),
        _ => return Err(wrong_type(source, module, member, declared)),
    };
    match scalar_type(scalar) {
        Some(scalar) => {
            let docs = source.doc_comments(&declared.name);
            annotations::parameter(source, name, &docs, scalar, size)
        }
        None => Err(wrong_type(source, module, member, declared)),
    }
}

fn scalar_type(scalar: naga::Scalar) -> Option<Scalar> {
    match (scalar.kind, scalar.width) {
        (ScalarKind::Float, 4) => Some(Scalar::F32),
        (ScalarKind::Sint, 4) => Some(Scalar::I32),
        (ScalarKind::Uint, 4) => Some(Scalar::U32),
        (ScalarKind::Bool, _) => Some(Scalar::Bool),
        _ => None,
    }
}

fn wrong_type(
    source: &Source,
    module: &Module,
    member: &naga::StructMember,
    declared: Member,
) -> ShaderError {
    let name = member.name.as_deref().unwrap_or("");
    let error =
        source.error(format!("the parameter `{name}` is `{}`", type_name(module, member.ty)));
    let error = error.at(declared.ty, "expected a scalar or a vector of f32, i32, u32 or bool");
    error.help("split it into several members, and combine them in `brdf`")
}

/// Converts `override` declarations to parameters; literal initializers become defaults.
fn overrides(source: &Source, module: &Module) -> Result<Vec<Parameter>, ShaderError> {
    let mut overrides = vec![];
    for (handle, declared) in module.overrides.iter() {
        let name = declared.name.as_deref().unwrap_or("");
        let docs = source.doc_comments(&source.declared_name(module.overrides.get_span(handle)));
        let TypeInner::Scalar(scalar) = module.types[declared.ty].inner else { continue };
        let Some(scalar) = scalar_type(scalar) else { continue };
        annotations::reject_default(source, &docs)?;
        let parameter = annotations::parameter(source, name, &docs, scalar, 1)?;
        let default = declared.init.and_then(|init| match module.global_expressions[init] {
            Expression::Literal(naga::Literal::F32(x)) => Some(f64::from(x)),
            Expression::Literal(naga::Literal::I32(x)) => Some(f64::from(x)),
            Expression::Literal(naga::Literal::U32(x)) => Some(f64::from(x)),
            Expression::Literal(naga::Literal::Bool(x)) => Some(f64::from(u8::from(x))),
            _ => None,
        });
        overrides.push(Parameter { default: default.map(|x| vec![x]), ..parameter });
    }
    Ok(overrides)
}
