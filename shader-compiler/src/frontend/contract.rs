//! What a shader must be beyond valid WGSL: the functions of the contract with their signatures,
//! parameters of plain types, and nothing that only a graphics pipeline has.

use super::diagnostics::type_name;
use super::outline::{Member, Place};
use super::{Parameter, Scalar, ShaderError, Source, range, textures};
use naga::{
    AddressSpace, Expression, Handle, Module, ScalarKind, Statement, TypeInner, VectorSize,
};

/// The functions of a material.
#[derive(Clone, Debug)]
pub(super) struct Contract {
    pub brdf: Handle<naga::Function>,
    pub sample: Option<Handle<naga::Function>>,
    pub pdf: Option<Handle<naga::Function>>,
    pub material: Option<Handle<naga::Function>>,
    /// Members of `SurfacePoint`, where there is `fn material`.
    pub surface: Vec<Parameter>,
    /// Members of `Material`.
    pub members: Vec<Parameter>,
    /// What the author of a scene, and the surface, set: the inputs of the shader as a whole.
    pub parameters: Vec<Parameter>,
    pub overrides: Vec<Parameter>,
    /// Names of the textures.
    pub textures: Vec<String>,
}

/// Types of parameters and results that the contract asks for.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    F32,
    Vec2,
    Vec3,
    Struct(&'static str),
}

impl Wanted {
    fn name(self) -> &'static str {
        match self {
            Wanted::F32 => "f32",
            Wanted::Vec2 => "vec2f",
            Wanted::Vec3 => "vec3f",
            Wanted::Struct(name) => name,
        }
    }

    fn fits(self, module: &Module, ty: Handle<naga::Type>) -> bool {
        let ty = &module.types[ty];
        match (self, &ty.inner) {
            (Wanted::F32, inner) => *inner == TypeInner::Scalar(naga::Scalar::F32),
            (Wanted::Vec2, inner) => {
                *inner == TypeInner::Vector { size: VectorSize::Bi, scalar: naga::Scalar::F32 }
            }
            (Wanted::Vec3, inner) => {
                *inner == TypeInner::Vector { size: VectorSize::Tri, scalar: naga::Scalar::F32 }
            }
            (Wanted::Struct(name), TypeInner::Struct { .. }) => ty.name.as_deref() == Some(name),
            (Wanted::Struct(_), _) => false,
        }
    }
}

/// A function of the contract.
struct Signature {
    name: &'static str,
    parameters: &'static [(&'static str, Wanted)],
    result: Wanted,
}

const MATERIAL: Wanted = Wanted::Struct("Material");
const BRDF: Signature = Signature {
    name: "brdf",
    parameters: &[("wi", Wanted::Vec3), ("wo", Wanted::Vec3), ("m", MATERIAL)],
    result: Wanted::Vec3,
};
const SAMPLE: Signature = Signature {
    name: "sample",
    parameters: &[("u", Wanted::Vec2), ("wo", Wanted::Vec3), ("m", MATERIAL)],
    result: Wanted::Vec3,
};
const PDF: Signature = Signature {
    name: "pdf",
    parameters: &[("wi", Wanted::Vec3), ("wo", Wanted::Vec3), ("m", MATERIAL)],
    result: Wanted::F32,
};
const SETUP: Signature = Signature {
    name: "material",
    parameters: &[("p", Wanted::Struct("SurfacePoint")), ("m", MATERIAL)],
    result: MATERIAL,
};

impl Signature {
    fn text(&self) -> String {
        let parameters: Vec<_> =
            self.parameters.iter().map(|(name, ty)| format!("{name}: {}", ty.name())).collect();
        format!("fn {}({}) -> {}", self.name, parameters.join(", "), self.result.name())
    }

    fn help(&self) -> String {
        format!("the signature is `{}`", self.text())
    }

    /// How many parameters there are at least: a material without parameters is not passed.
    fn least(&self) -> usize {
        self.parameters.iter().filter(|(_, ty)| *ty != MATERIAL).count()
    }

    /// The function of this name, if there is one, with its signature checked.
    fn find(
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
        let text = source.text();
        let Some(outline) = source.outline.function(text, self.name) else {
            return Err(lost(source, self.name));
        };
        let error = |message: String, place: Place, label: String| {
            source.error(message).at(place, label).help(self.help())
        };
        let count = function.arguments.len();
        if count < self.least() || count > self.parameters.len() {
            let message = format!("`{}` has {}", self.name, plural(count, "parameter"));
            return Err(error(
                message,
                outline.signature.clone(),
                format!("expected {}", plural(self.parameters.len(), "parameter")),
            ));
        }
        let parameter = |k: usize| {
            outline.parameters.get(k).map_or(outline.signature.clone(), |p| p.name.start..p.ty.end)
        };
        for (k, (argument, (_, wanted))) in
            std::iter::zip(&function.arguments, self.parameters).enumerate()
        {
            if !wanted.fits(module, argument.ty) {
                let message = format!(
                    "parameter {} of `{}` is `{}`",
                    k + 1,
                    self.name,
                    type_name(module, argument.ty)
                );
                let error = error(message, parameter(k), format!("expected `{}`", wanted.name()));
                return Err(match wanted {
                    Wanted::Struct("Material") if !struct_exists(module, "Material") => match &module.types[argument.ty] {
                        naga::Type { name: Some(name), inner: TypeInner::Struct { .. } } => {
                            error.help(format!("the struct with the parameters is called `Material`: rename `{name}`"))
                        }
                        _ => error.help("declare the parameters of the material as members of a `struct Material`"),
                    },
                    _ => error,
                });
            }
        }
        for (k, (argument, (wanted, _))) in
            std::iter::zip(&function.arguments, self.parameters).enumerate()
        {
            let name = argument.name.as_deref().unwrap_or("");
            let other = self.parameters.iter().position(|(other, _)| *other == name);
            if other.is_some_and(|other| other != k) {
                let message = format!(
                    "the parameter `{name}` of `{}` stands in the place of `{wanted}`",
                    self.name
                );
                return Err(error(message, parameter(k), format!("`{wanted}` is passed here")));
            }
        }
        match &function.result {
            Some(result) if self.result.fits(module, result.ty) => Ok(Some(handle)),
            Some(result) => {
                let message = format!("`{}` returns `{}`", self.name, type_name(module, result.ty));
                Err(error(
                    message,
                    outline.signature.clone(),
                    format!("expected `-> {}`", self.result.name()),
                ))
            }
            None => {
                let message = format!("`{}` returns nothing", self.name);
                Err(error(
                    message,
                    outline.signature.clone(),
                    format!("expected `-> {}`", self.result.name()),
                ))
            }
        }
    }
}

/// The error that naga knows a declaration which was not found in the text, so that its doc
/// comments are not known.
fn lost(source: &Source, name: &str) -> ShaderError {
    source
        .error(format!("the declaration of `{name}` is not understood"))
        .help("write it without unusual brackets and comments")
}

fn plural(count: usize, noun: &str) -> String {
    match count {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

fn find_struct<'a>(module: &'a Module, name: &str) -> Option<&'a [naga::StructMember]> {
    module.types.iter().find_map(|(_, ty)| match &ty.inner {
        TypeInner::Struct { members, .. } if ty.name.as_deref() == Some(name) => Some(&members[..]),
        _ => None,
    })
}

fn struct_exists(module: &Module, name: &str) -> bool {
    find_struct(module, name).is_some()
}

/// Checks a module against the contract.
pub(super) fn check(source: &Source, module: &Module) -> Result<Contract, ShaderError> {
    let brdf = BRDF.find(source, module)?.ok_or_else(|| missing(source, module))?;
    let sample = SAMPLE.find(source, module)?;
    let pdf = PDF.find(source, module)?;
    let material = SETUP.find(source, module)?;
    let name = |name: &str| {
        source.outline.function(source.text(), name).map_or(0..0, |function| function.name.clone())
    };
    match (sample, pdf) {
        (Some(_), None) => {
            let error = source
                .error("`sample` comes without `pdf`")
                .at(name("sample"), "which density does it have?");
            return Err(error.help(format!("add `{}`", PDF.text())));
        }
        (None, Some(_)) => {
            let error = source
                .error("`pdf` comes without `sample`")
                .at(name("pdf"), "the density of which sampler?");
            return Err(error.help(format!("add `{}`", SAMPLE.text())));
        }
        _ => {}
    }
    if material.is_some() && module.functions[brdf].arguments.len() < BRDF.parameters.len() {
        let error = source
            .error("`brdf` does not take what `material` computes")
            .at(name("material"), "computes a `Material`");
        return Err(error.at(name("brdf"), "takes none").help(BRDF.help()));
    }
    let members = parameters(source, module, "Material")?;
    let (surface, set) = match material {
        Some(setup) => (
            parameters(source, module, "SurfacePoint")?,
            module.functions[setup].arguments.len() > 1,
        ),
        None => (vec![], true),
    };
    let settable = if set { &members[..] } else { &[] };
    if let Some(twice) =
        settable.iter().find(|member| surface.iter().any(|other| other.name == member.name))
    {
        let error = source
            .error(format!("`Material` and `SurfacePoint` both have a member `{}`", twice.name));
        return Err(error
            .at(name("material"), "takes both")
            .help("choose another name in `Material`"));
    }
    let parameters = surface.iter().chain(settable).cloned().collect();
    let overrides = overrides(source, module)?;
    let textures = textures::names(module);
    Ok(Contract { brdf, sample, pdf, material, surface, members, parameters, overrides, textures })
}

/// The error that there is no `brdf`.
fn missing(source: &Source, module: &Module) -> ShaderError {
    let error = source.error("there is no `fn brdf`");
    let alike = |function: &naga::Function| {
        let name = function.name.as_deref().unwrap_or("");
        let named = ["brdf", "bsdf", "eval", "evaluate", "f", "shade", "main"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known));
        let types: Vec<_> = function.arguments.iter().map(|argument| argument.ty).collect();
        let typed = types.len() == 3
            && std::iter::zip(types, BRDF.parameters)
                .all(|(ty, (_, wanted))| wanted.fits(module, ty));
        (named || typed) && !["sample", "pdf", "material"].contains(&name)
    };
    let found = module
        .functions
        .iter()
        .find(|(_, function)| alike(function))
        .and_then(|(_, function)| function.name.as_deref());
    match found.and_then(|name| source.outline.function(source.text(), name)) {
        Some(function) => {
            let name = &source.text()[function.name.clone()];
            error
                .at(function.name.clone(), "is this the one?")
                .help(format!("call `{name}` `brdf`; {}", BRDF.help()))
        }
        None => error.help(format!("add `{}`", BRDF.text())),
    }
}

/// The members of a struct, as parameters.
fn parameters(source: &Source, module: &Module, name: &str) -> Result<Vec<Parameter>, ShaderError> {
    let Some(members) = find_struct(module, name) else { return Ok(vec![]) };
    let outline = source
        .outline
        .structure(source.text(), name)
        .filter(|outline| outline.members.len() == members.len());
    let Some(outline) = outline else { return Err(lost(source, name)) };
    std::iter::zip(members, &outline.members)
        .map(|(member, outline)| parameter(source, module, member, outline))
        .collect()
}

fn parameter(
    source: &Source,
    module: &Module,
    member: &naga::StructMember,
    outline: &Member,
) -> Result<Parameter, ShaderError> {
    let name = member.name.as_deref().unwrap_or("");
    if ["wi", "wo", "u"].contains(&name) {
        let error = source.error(format!("a parameter cannot be called `{name}`"));
        let error = error.at(outline.name.clone(), "an input of the functions has this name");
        return Err(error.help("choose another name"));
    }
    let (scalar, size) = match module.types[member.ty].inner {
        TypeInner::Scalar(scalar) => (scalar, 1),
        TypeInner::Vector { size, scalar } => (scalar, size as usize),
        _ => return Err(wrong_type(source, module, member, outline)),
    };
    match scalar_type(scalar) {
        Some(scalar) => range::parameter(source, name, &outline.docs, scalar, size),
        None => Err(wrong_type(source, module, member, outline)),
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
    outline: &Member,
) -> ShaderError {
    let name = member.name.as_deref().unwrap_or("");
    let error =
        source.error(format!("the parameter `{name}` is `{}`", type_name(module, member.ty)));
    let error =
        error.at(outline.ty.clone(), "expected a scalar or a vector of f32, i32, u32 or bool");
    error.help("make several members of it, and put them together in `brdf`")
}

/// The override declarations; their defaults are their initializers, as far as those are plain
/// numbers.
fn overrides(source: &Source, module: &Module) -> Result<Vec<Parameter>, ShaderError> {
    let mut overrides = vec![];
    for (_, declared) in module.overrides.iter() {
        let name = declared.name.as_deref().unwrap_or("");
        let Some(outline) = source.outline.override_(source.text(), name) else { continue };
        let TypeInner::Scalar(scalar) = module.types[declared.ty].inner else { continue };
        let Some(scalar) = scalar_type(scalar) else { continue };
        range::reject_default(source, &outline.docs)?;
        let parameter = range::parameter(source, name, &outline.docs, scalar, 1)?;
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

/// Whether this is what images are read with, or an array of such things.
fn is_resource(ty: &TypeInner) -> bool {
    matches!(
        ty,
        TypeInner::Image { .. } | TypeInner::Sampler { .. } | TypeInner::BindingArray { .. }
    )
}

/// The error for an image or sampler of a kind that is not supported.
fn wrong_resource(source: &Source, module: &Module, ty: Handle<naga::Type>) -> ShaderError {
    let name = type_name(module, ty);
    let word = name.split('<').next().unwrap_or(&name);
    let text = source.text();
    // naga keeps no place of most types.
    let tokens = &source.outline.tokens;
    let places = tokens.iter().filter(|token| text[token.place.clone()] == *word).map(|token| {
        let end = if name.contains('<') { text[token.place.start..].find('>') } else { None };
        token.place.start..end.map_or(token.place.end, |length| token.place.start + length + 1)
    });
    let is_it =
        |place: &Place| text[place.clone()].chars().filter(|c| !c.is_whitespace()).eq(name.chars());
    let place = places.clone().find(is_it).or_else(|| places.clone().next()).unwrap_or(0..0);
    let error = source.error(format!("`{name}` is not supported")).at(place, "this type");
    error.help(match module.types[ty].inner {
        TypeInner::Sampler { .. } => "declare it as `sampler`",
        TypeInner::Image { class: naga::ImageClass::Storage { .. }, .. } => {
            "materials read images and write none: declare it as `texture_2d<f32>`"
        }
        _ => "images are two-dimensional and hold floats: declare it as `texture_2d<f32>`",
    })
}

/// Rejects what WGSL has for graphics pipelines and for other precisions.
pub(super) fn check_language(source: &Source, module: &Module) -> Result<(), ShaderError> {
    let outline = &source.outline;
    if !module.entry_points.is_empty() {
        let place = outline.stages.first().cloned().unwrap_or(0..0);
        let error = source
            .error("entry points are not supported")
            .at(place, "makes the function an entry point");
        return Err(error.help("leave the attribute out: the renderer calls `brdf`"));
    }
    if let Some(enable) = outline.enables.first() {
        let error = source
            .error("extensions of WGSL are not supported")
            .at(enable.clone(), "asks for an extension");
        return Err(error.help("leave the line out; all floats are `f32`"));
    }
    for (handle, variable) in module.global_variables.iter() {
        let (message, help) = match variable.space {
            AddressSpace::Private => continue,
            // What is not supported is found among the types.
            AddressSpace::Handle if is_resource(&module.types[variable.ty].inner) => continue,
            AddressSpace::Handle => (
                "a variable outside of functions needs an address space",
                Some("write `const` for what does not change, `var<private>` for what does"),
            ),
            AddressSpace::WorkGroup => {
                ("workgroup variables are not supported", Some("use `var<private>`"))
            }
            AddressSpace::Uniform | AddressSpace::Storage { .. } => (
                "buffers are not supported",
                Some(
                    "make a member of `Material` of what comes from outside, a `const` of what does not",
                ),
            ),
            _ => ("variables of this address space are not supported", Some("use `var<private>`")),
        };
        let error = source
            .error(message)
            .at_span(module.global_variables.get_span(handle), "declared here");
        return Err(ShaderError { help: help.map(str::to_owned), ..error });
    }
    for (handle, ty) in module.types.iter() {
        let (message, name) = match ty.inner {
            TypeInner::Image { .. } | TypeInner::Sampler { .. }
                if textures::is_supported(&ty.inner) =>
            {
                continue;
            }
            TypeInner::Image { .. } | TypeInner::Sampler { .. } => {
                return Err(wrong_resource(source, module, handle));
            }
            TypeInner::Atomic(_) => ("atomics are not supported", "atomic"),
            TypeInner::AccelerationStructure { .. } => {
                ("ray queries are not supported", "acceleration_structure")
            }
            TypeInner::RayQuery { .. } => ("ray queries are not supported", "ray_query"),
            TypeInner::BindingArray { .. } => {
                ("arrays of resources are not supported", "binding_array")
            }
            _ => continue,
        };
        // naga keeps no place of most types.
        let span = module.types.get_span(handle).to_range();
        let named = || {
            outline.tokens.iter().find(|token| source.text()[token.place.clone()].starts_with(name))
        };
        let place = span.or_else(|| named().map(|token| token.place.clone())).unwrap_or(0..0);
        return Err(source.error(message).at(place, "this type"));
    }
    module.functions.iter().try_for_each(|(_, function)| check_function(source, module, function))
}

fn check_function(
    source: &Source,
    module: &Module,
    function: &naga::Function,
) -> Result<(), ShaderError> {
    let name = function.name.as_deref().unwrap_or("");
    for (k, argument) in function.arguments.iter().enumerate() {
        let TypeInner::Pointer { space, .. } = module.types[argument.ty].inner else { continue };
        if !matches!(space, AddressSpace::Function | AddressSpace::Private) {
            let outline = source
                .outline
                .function(source.text(), name)
                .and_then(|outline| outline.parameters.get(k));
            let error =
                source.error("pointers into memory outside of the shader are not supported");
            return Err(error.at(
                outline.map_or(0..0, |outline| outline.ty.clone()),
                "expected `ptr<function, …>`",
            ));
        }
    }
    let unsupported = |what: &str, span: naga::Span| {
        Err(source.error(format!("{what} are not supported")).at_span(span, "used here"))
    };
    for (handle, expression) in function.expressions.iter() {
        let what = match expression {
            Expression::Derivative { .. } => "derivatives",
            Expression::AtomicResult { .. } => "atomics",
            Expression::WorkGroupUniformLoadResult { .. } => "workgroup variables",
            Expression::ArrayLength(_) => "arrays without a size",
            Expression::SubgroupBallotResult | Expression::SubgroupOperationResult { .. } => {
                "subgroup operations"
            }
            Expression::RayQueryVertexPositions { .. }
            | Expression::RayQueryProceedResult
            | Expression::RayQueryGetIntersection { .. } => "ray queries",
            Expression::CooperativeLoad { .. } | Expression::CooperativeMultiplyAdd { .. } => {
                "cooperative matrices"
            }
            _ => continue,
        };
        return unsupported(what, function.expressions.get_span(handle));
    }
    check_block(&function.body, &|statement, span| match statement {
        Statement::Kill => {
            let error = source.error("`discard` is not supported").at_span(span, "used here");
            Err(error.help("return 0 where there is no reflection"))
        }
        Statement::ControlBarrier(_) | Statement::MemoryBarrier(_) => unsupported("barriers", span),
        Statement::Atomic { .. } | Statement::ImageAtomic { .. } => unsupported("atomics", span),
        Statement::ImageStore { .. } => unsupported("stores to images", span),
        Statement::WorkGroupUniformLoad { .. } => unsupported("workgroup variables", span),
        Statement::SubgroupBallot { .. }
        | Statement::SubgroupGather { .. }
        | Statement::SubgroupCollectiveOperation { .. } => unsupported("subgroup operations", span),
        Statement::RayQuery { .. } | Statement::RayPipelineFunction(_) => {
            unsupported("ray queries", span)
        }
        _ => Ok(()),
    })
}

fn check_block(
    block: &naga::Block,
    check: &dyn Fn(&Statement, naga::Span) -> Result<(), ShaderError>,
) -> Result<(), ShaderError> {
    for (statement, &span) in block.span_iter() {
        check(statement, span)?;
        for block in inner_blocks(statement) {
            check_block(block, check)?;
        }
    }
    Ok(())
}

/// The blocks within a statement.
pub(super) fn inner_blocks(statement: &Statement) -> Vec<&naga::Block> {
    match statement {
        Statement::Block(block) => vec![block],
        Statement::If { accept, reject, .. } => vec![accept, reject],
        Statement::Switch { cases, .. } => cases.iter().map(|case| &case.body).collect(),
        Statement::Loop { body, continuing, .. } => vec![body, continuing],
        _ => vec![],
    }
}
