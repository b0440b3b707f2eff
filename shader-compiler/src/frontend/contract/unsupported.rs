//! Rejects features of WGSL that materials cannot use.

use super::super::diagnostics::type_name;
use super::super::lexer::SourceRange;
use super::super::{ShaderError, Source, textures};
use naga::{AddressSpace, Expression, Handle, Module, Statement, TypeInner};

/// Whether this is a texture, a sampler or an array of them.
fn is_resource(ty: &TypeInner) -> bool {
    matches!(
        ty,
        TypeInner::Image { .. } | TypeInner::Sampler { .. } | TypeInner::BindingArray { .. }
    )
}

/// The error for an unsupported type of image or sampler.
fn unsupported_resource(source: &Source, module: &Module, ty: Handle<naga::Type>) -> ShaderError {
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

/// Attributes that make a function a pipeline entry point.
const STAGE_ATTRIBUTES: [&str; 9] = [
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

/// Rejects features of the graphics pipeline, and extensions such as other float precisions.
pub(in crate::frontend) fn check_language(
    source: &Source,
    module: &Module,
) -> Result<(), ShaderError> {
    let find = |matches: &dyn Fn(usize) -> bool| {
        let k = (0..source.tokens.len()).find(|&k| matches(k))?;
        Some((k, source.tokens[k].range.clone()))
    };
    if !module.entry_points.is_empty() {
        let stage = find(&|k| {
            k > 0 && source.spelling(k - 1) == "@" && STAGE_ATTRIBUTES.contains(&source.spelling(k))
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
                return Err(unsupported_resource(source, module, handle));
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
        let keyword = || find(&|k| source.spelling(k).starts_with(name)).map(|(_, range)| range);
        let location = span.or_else(keyword).unwrap_or(0..0);
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
    let unsupported = |feature: &str, span: naga::Span| {
        Err(source.error(format!("{feature} are not supported")).at_span(span, "used here"))
    };
    for (handle, expression) in function.expressions.iter() {
        let feature = match expression {
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
        return unsupported(feature, function.expressions.get_span(handle));
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
        for block in nested_blocks(statement) {
            check_block(block, check)?;
        }
    }
    Ok(())
}

/// Returns the blocks nested directly in a statement.
pub(in crate::frontend) fn nested_blocks(statement: &Statement) -> Vec<&naga::Block> {
    match statement {
        Statement::Block(block) => vec![block],
        Statement::If { accept, reject, .. } => vec![accept, reject],
        Statement::Switch { cases, .. } => cases.iter().map(|case| &case.body).collect(),
        Statement::Loop { body, continuing, .. } => vec![body, continuing],
        _ => vec![],
    }
}
