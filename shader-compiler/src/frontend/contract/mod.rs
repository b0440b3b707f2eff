//! Checks the requirements on shaders beyond valid WGSL: functions with fixed signatures
//! (`signature`) that tell what the shader describes (`kind`), parameters of plain types, and no
//! graphics-pipeline features (`unsupported`).

pub(super) mod function;
mod kind;
mod signature;
mod unsupported;

pub(super) use unsupported::{check_language, nested_blocks};

use super::declarations::Member;
use super::diagnostics::type_name;
use super::{Parameter, Scalar, ShaderError, ShaderKind, Source, annotations, textures};
use crate::bounding::MAX_POSITION;
use naga::{Expression, Handle, Module, ScalarKind, TypeInner};
use signature::{ALBEDO, BRDF, DENSITY, EMISSION, FIELD, PDF, PHASE, SAMPLE, SETUP, Signature};

/// The functions and parameters of a shader.
#[derive(Clone, Debug)]
pub(super) struct Contract {
    pub kind: ShaderKind,
    /// `brdf`, `phase`, `density`, or the function that was asked for.
    pub main: Handle<naga::Function>,
    /// The inputs of `main` besides its parameters, unless they are directions: the position in a
    /// density, and whatever a function takes apart from structs.
    pub arguments: Vec<Parameter>,
    /// Names of the outputs of a function.
    pub outputs: Vec<String>,
    /// Types of the outputs of a function.
    pub output_scalars: Vec<Scalar>,
    /// `albedo` of a density.
    pub albedo: Option<Handle<naga::Function>>,
    /// `emission` of a density.
    pub emission: Option<Handle<naga::Function>>,
    pub sample: Option<Handle<naga::Function>>,
    pub pdf: Option<Handle<naga::Function>>,
    pub material: Option<Handle<naga::Function>>,
    /// Members of `SurfacePoint`; empty without `fn material`.
    pub surface: Vec<Parameter>,
    /// Members of `Material` or `Medium`.
    pub members: Vec<Parameter>,
    /// Parameters set by the surface point or by the scene, which are the inputs of the shader.
    pub parameters: Vec<Parameter>,
    pub overrides: Vec<Parameter>,
    /// Names of the textures.
    pub textures: Vec<String>,
    /// Declared ranges of their texels.
    pub texel_ranges: Vec<Option<[f64; 2]>>,
}

impl Contract {
    /// The parameters that scenes set.
    pub fn settable(&self) -> &[Parameter] {
        &self.parameters[self.surface.len()..]
    }
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

/// Checks the functions and parameters of a shader. `expected` are the kinds that messages mention.
pub(super) fn check(
    source: &Source,
    module: &Module,
    expected: &[ShaderKind],
) -> Result<Contract, ShaderError> {
    let kind = kind::find(source, module, expected)?;
    let signature = main_signature(kind);
    let main = signature.find(source, module)?.expect("the kind is that of an existing function");
    match kind {
        ShaderKind::Density => return density(source, module, main),
        ShaderKind::Function => return function::contract(source, module, main),
        ShaderKind::Brdf | ShaderKind::Phase => {}
    }
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
    if let (Some(material), ShaderKind::Phase) = (material, kind) {
        let error = source
            .error("a phase function cannot have `fn material`")
            .at(name(material), "takes a point of a surface");
        return Err(error.help("remove it: media have no surface"));
    }
    if let Some(material) = material
        && module.functions[main].arguments.len() < BRDF.parameters.len()
    {
        let error = source
            .error("`brdf` does not take the result of `material`")
            .at(name(material), "computes a `Material`");
        return Err(error.at(name(main), "takes no `Material`").help(BRDF.help()));
    }
    let members = parameters(source, module, kind, "Material")?;
    let (surface, takes_material) = match material {
        Some(setup) => (
            parameters(source, module, kind, "SurfacePoint")?,
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
    let texel_ranges = texel_ranges(source, module)?;
    Ok(Contract {
        kind,
        main,
        arguments: vec![],
        outputs: vec![],
        output_scalars: vec![],
        albedo: None,
        emission: None,
        sample,
        pdf,
        material,
        surface,
        members,
        parameters,
        overrides,
        textures,
        texel_ranges,
    })
}

/// Finds a function by name, and checks its inputs and outputs.
pub(super) fn check_function(
    source: &Source,
    module: &Module,
    name: &str,
) -> Result<Contract, ShaderError> {
    function::contract(source, module, function::find(source, module, name)?)
}

/// Checks the other functions and the parameters of a density.
fn density(
    source: &Source,
    module: &Module,
    main: Handle<naga::Function>,
) -> Result<Contract, ShaderError> {
    let kind = ShaderKind::Density;
    let members = parameters(source, module, kind, "Medium")?;
    let limit = f64::from(MAX_POSITION);
    let position = Parameter {
        name: "p".to_owned(),
        doc: String::new(),
        scalar: Scalar::F32,
        size: 3,
        range: [-limit, limit],
        default: None,
        is_diffuse: false,
        fact: None,
    };
    Ok(Contract {
        kind,
        main,
        arguments: vec![position],
        outputs: vec![],
        output_scalars: vec![],
        albedo: ALBEDO.find(source, module)?,
        emission: EMISSION.find(source, module)?,
        sample: None,
        pdf: None,
        material: None,
        surface: vec![],
        parameters: members.clone(),
        members,
        overrides: overrides(source, module)?,
        textures: textures::names(module),
        texel_ranges: texel_ranges(source, module)?,
    })
}

/// The signature of the function that makes a shader this kind.
fn main_signature(kind: ShaderKind) -> &'static Signature {
    match kind {
        ShaderKind::Brdf => &BRDF,
        ShaderKind::Phase => &PHASE,
        ShaderKind::Density => &DENSITY,
        ShaderKind::Function => &FIELD,
    }
}

/// Converts the members of a struct to parameters.
fn parameters(
    source: &Source,
    module: &Module,
    kind: ShaderKind,
    name: &str,
) -> Result<Vec<Parameter>, ShaderError> {
    let Some((span, members)) = find_struct(module, name) else { return Ok(vec![]) };
    members.iter().map(|member| parameter(source, module, kind, span, member)).collect()
}

fn parameter(
    source: &Source,
    module: &Module,
    kind: ShaderKind,
    declaration: naga::Span,
    member: &naga::StructMember,
) -> Result<Parameter, ShaderError> {
    let name = member.name.as_deref().unwrap_or("");
    let declared = source.member(declaration, name);
    let (arguments, functions) = match kind {
        ShaderKind::Brdf => (&["wi", "wo", "u"][..], "`brdf` or `sample`"),
        ShaderKind::Phase => (&["wi", "wo", "u"][..], "`phase` or `sample`"),
        ShaderKind::Density => (&["p"][..], "`density`"),
        // Checked with all inputs.
        ShaderKind::Function => (&[][..], ""),
    };
    if arguments.contains(&name) {
        let error = source.error(format!("a parameter cannot be called `{name}`"));
        let label = format!("an argument of {functions} has this name");
        let error = error.at(declared.name, label);
        return Err(error.help("choose another name"));
    }
    let (scalar, size) = match module.types[member.ty].inner {
        TypeInner::Scalar(scalar) => (scalar, 1),
        TypeInner::Vector { size, scalar } => (scalar, size as usize),
        _ => return Err(wrong_type(source, module, kind, member, declared)),
    };
    let Some(scalar) = scalar_type(scalar) else {
        return Err(wrong_type(source, module, kind, member, declared));
    };
    let docs = source.doc_comments(&declared.name);
    let parameter = annotations::parameter(source, name, &docs, scalar, size)?;
    // A function may be the BRDF of a material.
    if parameter.is_diffuse && !matches!(kind, ShaderKind::Brdf | ShaderKind::Function) {
        let error = source
            .error(format!("the parameter `{name}` cannot be an albedo of a diffuse lobe"))
            .at(declared.name, "declared with `lobe: diffuse`");
        return Err(error.help("remove `lobe: diffuse`, which is for BRDFs"));
    }
    if let Some(fact) = parameter.fact.filter(|_| kind != ShaderKind::Function) {
        let fact = fact.name();
        let error = source
            .error(format!("the parameter `{name}` cannot have a fact"))
            .at(declared.name, format!("declared with `fact: {fact}`"));
        let help = format!("remove `fact: {fact}`, which is for functions that are no materials");
        return Err(error.help(help));
    }
    Ok(parameter)
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
    kind: ShaderKind,
    member: &naga::StructMember,
    declared: Member,
) -> ShaderError {
    let name = member.name.as_deref().unwrap_or("");
    let error =
        source.error(format!("the parameter `{name}` is `{}`", type_name(module, member.ty)));
    let error = error.at(declared.ty, "expected a scalar or a vector of f32, i32, u32 or bool");
    let main = match kind {
        ShaderKind::Function => "the function",
        _ => &format!("`{}`", main_signature(kind).name),
    };
    error.help(format!("split it into several members, and combine them in {main}"))
}

/// The ranges in the doc comments of textures.
fn texel_ranges(source: &Source, module: &Module) -> Result<Vec<Option<[f64; 2]>>, ShaderError> {
    let range = |texture: Handle<naga::GlobalVariable>| {
        let name = source.declared_name(module.global_variables.get_span(texture));
        annotations::texel_range(source, &source.doc_comments(&name))
    };
    textures::declared(module).into_iter().map(range).collect()
}

/// Converts `override` declarations to parameters; literal initializers become defaults.
fn overrides(source: &Source, module: &Module) -> Result<Vec<Parameter>, ShaderError> {
    let mut overrides = vec![];
    for (handle, declared) in module.overrides.iter() {
        let name = declared.name.as_deref().unwrap_or("");
        let docs = source.doc_comments(&source.declared_name(module.overrides.get_span(handle)));
        let TypeInner::Scalar(scalar) = module.types[declared.ty].inner else { continue };
        let Some(scalar) = scalar_type(scalar) else { continue };
        annotations::check_override(source, &docs)?;
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
