//! Checks the requirements on materials beyond valid WGSL: functions with fixed signatures,
//! parameters of plain types, and no graphics-pipeline features.

use super::declarations::Member;
use super::diagnostics::type_name;
use super::lexer::SourceRange;
use super::{Parameter, Scalar, ShaderError, Source, annotations, textures};
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
    /// Members of `SurfacePoint`, if there is `fn material`.
    pub surface: Vec<Parameter>,
    /// Members of `Material`.
    pub members: Vec<Parameter>,
    /// Parameters set by the surface point or by the scene: the inputs of the shader.
    pub parameters: Vec<Parameter>,
    pub overrides: Vec<Parameter>,
    /// Names of the textures.
    pub textures: Vec<String>,
}

/// Types in the required signatures.
#[derive(Clone, Copy, PartialEq)]
enum Expected {
    F32,
    Vec2,
    Vec3,
    Struct(&'static str),
}

impl Expected {
    fn name(self) -> &'static str {
        match self {
            Expected::F32 => "f32",
            Expected::Vec2 => "vec2f",
            Expected::Vec3 => "vec3f",
            Expected::Struct(name) => name,
        }
    }

    fn fits(self, module: &Module, ty: Handle<naga::Type>) -> bool {
        let ty = &module.types[ty];
        match (self, &ty.inner) {
            (Expected::F32, inner) => *inner == TypeInner::Scalar(naga::Scalar::F32),
            (Expected::Vec2, inner) => {
                *inner == TypeInner::Vector { size: VectorSize::Bi, scalar: naga::Scalar::F32 }
            }
            (Expected::Vec3, inner) => {
                *inner == TypeInner::Vector { size: VectorSize::Tri, scalar: naga::Scalar::F32 }
            }
            (Expected::Struct(name), TypeInner::Struct { .. }) => ty.name.as_deref() == Some(name),
            (Expected::Struct(_), _) => false,
        }
    }
}

/// Signature of a function that a material may define.
struct Signature {
    name: &'static str,
    parameters: &'static [(&'static str, Expected)],
    result: Expected,
}

const MATERIAL: Expected = Expected::Struct("Material");
const BRDF: Signature = Signature {
    name: "brdf",
    parameters: &[("wi", Expected::Vec3), ("wo", Expected::Vec3), ("m", MATERIAL)],
    result: Expected::Vec3,
};
const SAMPLE: Signature = Signature {
    name: "sample",
    parameters: &[("u", Expected::Vec2), ("wo", Expected::Vec3), ("m", MATERIAL)],
    result: Expected::Vec3,
};
const PDF: Signature = Signature {
    name: "pdf",
    parameters: &[("wi", Expected::Vec3), ("wo", Expected::Vec3), ("m", MATERIAL)],
    result: Expected::F32,
};
const SETUP: Signature = Signature {
    name: "material",
    parameters: &[("p", Expected::Struct("SurfacePoint")), ("m", MATERIAL)],
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

    /// Minimum number of parameters: `m: Material` is optional.
    fn min_parameters(&self) -> usize {
        self.parameters.iter().filter(|(_, ty)| *ty != MATERIAL).count()
    }

    /// Finds the function of this name, if there is one, and checks its signature.
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
        let parameter = |argument: &naga::FunctionArgument| {
            let found = source.member(span, argument.name.as_deref().unwrap_or(""));
            found.name.start..found.ty.end
        };
        for (k, (argument, (_, expected))) in
            std::iter::zip(&function.arguments, self.parameters).enumerate()
        {
            if !expected.fits(module, argument.ty) {
                let message = format!(
                    "parameter {} of `{}` is `{}`",
                    k + 1,
                    self.name,
                    type_name(module, argument.ty)
                );
                let error =
                    error(message, parameter(argument), format!("expected `{}`", expected.name()));
                return Err(match expected {
                    Expected::Struct("Material") if !struct_exists(module, "Material") => match &module.types[argument.ty] {
                        naga::Type { name: Some(name), inner: TypeInner::Struct { .. } } => {
                            error.help(format!("the struct of parameters must be called `Material`: rename `{name}`"))
                        }
                        _ => error.help("declare the parameters of the material as members of a `struct Material`"),
                    },
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
                    parameter(argument),
                    format!("`{expected}` is passed here"),
                ));
            }
        }
        match &function.result {
            Some(result) if self.result.fits(module, result.ty) => Ok(Some(handle)),
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
            .at(material.map_or(0..0, name), "takes both")
            .help("rename the member of `Material`"));
    }
    let parameters = surface.iter().chain(settable).cloned().collect();
    let overrides = overrides(source, module)?;
    let textures = textures::names(module);
    Ok(Contract { brdf, sample, pdf, material, surface, members, parameters, overrides, textures })
}

/// The error for a missing `brdf`. Suggests to rename a function that looks like one.
fn missing_brdf(source: &Source, module: &Module) -> ShaderError {
    let error = source.error("there is no `fn brdf`");
    let is_similar = |function: &naga::Function| {
        let name = function.name.as_deref().unwrap_or("");
        let named = ["brdf", "bsdf", "eval", "evaluate", "f", "shade", "main"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known));
        let types: Vec<_> = function.arguments.iter().map(|argument| argument.ty).collect();
        let typed = types.len() == 3
            && std::iter::zip(types, BRDF.parameters)
                .all(|(ty, (_, expected))| expected.fits(module, ty));
        (named || typed) && !["sample", "pdf", "material"].contains(&name)
    };
    let found = module.functions.iter().find(|(_, function)| is_similar(function));
    match found {
        Some((handle, function)) => {
            let name = function.name.as_deref().unwrap_or("");
            error
                .at(source.declared_name(module.functions.get_span(handle)), "is this `brdf`?")
                .help(format!("rename `{name}` to `brdf`; {}", BRDF.help()))
        }
        None => error.help(format!("add `{}`", BRDF.text())),
    }
}

/// The members of a struct, as parameters.
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

/// The override declarations; the default is the initializer if it is a literal.
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

/// Whether this is a texture, a sampler or an array of them.
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
    // naga does not record spans of most types.
    let tokens = source.tokens.iter().map(|token| &token.range);
    let locations = tokens.filter(|range| text[(*range).clone()] == *word).map(|range| {
        let end = if name.contains('<') { text[range.start..].find('>') } else { None };
        range.start..end.map_or(range.end, |length| range.start + length + 1)
    });
    let matches_type = |location: &SourceRange| {
        text[location.clone()].chars().filter(|c| !c.is_whitespace()).eq(name.chars())
    };
    let location =
        locations.clone().find(matches_type).or_else(|| locations.clone().next()).unwrap_or(0..0);
    let error = source.error(format!("`{name}` is not supported")).at(location, "this type");
    error.help(match module.types[ty].inner {
        TypeInner::Sampler { .. } => "declare it as `sampler`",
        TypeInner::Image { class: naga::ImageClass::Storage { .. }, .. } => {
            "materials cannot write images: declare it as `texture_2d<f32>`"
        }
        _ => "textures are two-dimensional and hold floats: declare it as `texture_2d<f32>`",
    })
}

/// Attributes that make a function an entry point.
const STAGES: [&str; 9] = [
    "compute",
    "vertex",
    "fragment",
    "task",
    "mesh",
    "ray_generation",
    "any_hit",
    "closest_hit",
    "miss",
];

/// Rejects graphics-pipeline features and extensions such as other floating-point precisions.
pub(super) fn check_language(source: &Source, module: &Module) -> Result<(), ShaderError> {
    let find = |matches: &dyn Fn(usize) -> bool| {
        let k = (0..source.tokens.len()).find(|&k| matches(k))?;
        Some((k, source.tokens[k].range.clone()))
    };
    if !module.entry_points.is_empty() {
        let stage = find(&|k| {
            k > 0 && source.spelling(k - 1) == "@" && STAGES.contains(&source.spelling(k))
        });
        let location = stage.map_or(0..0, |(k, stage)| source.tokens[k - 1].range.start..stage.end);
        let error = source
            .error("entry points are not supported")
            .at(location, "makes the function an entry point");
        return Err(error.help("remove the attribute: the renderer calls `brdf`"));
    }
    if let Some((_, enable)) = find(&|k| source.spelling(k) == "enable") {
        let directive = source.text()[enable.start..].find(';').unwrap_or(enable.len()) + 1;
        let error = source
            .error("extensions of WGSL are not supported")
            .at(enable.start..enable.start + directive, "enabled here");
        return Err(error.help("remove the line; all floats are `f32`"));
    }
    for (handle, variable) in module.global_variables.iter() {
        let (message, help) = match variable.space {
            AddressSpace::Private => continue,
            // Unsupported types are rejected below.
            AddressSpace::Handle if is_resource(&module.types[variable.ty].inner) => continue,
            AddressSpace::Handle => (
                "a module-scope variable needs an address space",
                Some("use `const` if it does not change, `var<private>` if it does"),
            ),
            AddressSpace::WorkGroup => {
                ("workgroup variables are not supported", Some("use `var<private>`"))
            }
            AddressSpace::Uniform | AddressSpace::Storage { .. } => (
                "buffers are not supported",
                Some("use a member of `Material` for a parameter, `const` for a constant"),
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
        // naga does not record spans of most types.
        let span = module.types.get_span(handle).to_range();
        let named = || find(&|k| source.spelling(k).starts_with(name)).map(|(_, range)| range);
        let location = span.or_else(named).unwrap_or(0..0);
        return Err(source.error(message).at(location, "this type"));
    }
    module.functions.iter().try_for_each(|(handle, function)| {
        check_function(source, module, function, module.functions.get_span(handle))
    })
}

fn check_function(
    source: &Source,
    module: &Module,
    function: &naga::Function,
    span: naga::Span,
) -> Result<(), ShaderError> {
    for argument in &function.arguments {
        let TypeInner::Pointer { space, .. } = module.types[argument.ty].inner else { continue };
        if !matches!(space, AddressSpace::Function | AddressSpace::Private) {
            let declared = source.member(span, argument.name.as_deref().unwrap_or(""));
            let error = source.error("pointers to memory outside the shader are not supported");
            return Err(error.at(declared.ty, "expected `ptr<function, …>`"));
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
            Err(error.help("return 0 if there is no reflection"))
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

/// The blocks nested in a statement.
pub(super) fn inner_blocks(statement: &Statement) -> Vec<&naga::Block> {
    match statement {
        Statement::Block(block) => vec![block],
        Statement::If { accept, reject, .. } => vec![accept, reject],
        Statement::Switch { cases, .. } => cases.iter().map(|case| &case.body).collect(),
        Statement::Loop { body, continuing, .. } => vec![body, continuing],
        _ => vec![],
    }
}
