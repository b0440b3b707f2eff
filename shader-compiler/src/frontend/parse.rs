//! Text to validated naga module, safely.
//!
//! naga descends recursively into what it reads, so that a text can be made to exhaust any stack;
//! that would end the process. The nesting of the text is therefore limited first, and naga runs on
//! a thread with a stack that the limits fit into with room to spare, also where naga was compiled
//! without optimisation. It is a large program, and its authors do not promise that no input makes
//! it panic; what does is an error like any other.

use super::outline::Outline;
use super::{ShaderError, Source, contract, diagnostics, textures};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

/// What shaders may take from the surface, appended to texts that mention it. Default values are
/// those of a point at the origin.
const SURFACE_POINT: &str = "
struct SurfacePoint {
    /// The point in world space, in units of the scene. default: 0
    position: vec3f,
    /// The point in the space of the object that an instance places, so that patterns move with it; elsewhere in world space. default: 0
    object_position: vec3f,
    /// Shading normal in world space, of unit length. range: [-1, 1], default: (0, 0, 1)
    normal: vec3f,
    /// Texture coordinates. default: 0
    uv: vec2f,
}
";

/// Brackets around brackets, and `else` after `else`.
const MAX_BRACKETS: usize = 100;

/// Operators on operators: the depth of an expression.
const MAX_OPERATORS: usize = 500;

/// Declarations, since each may refer to the next.
const MAX_DECLARATIONS: usize = 2000;

/// Measured need of naga without optimisation: 50 KB for a bracket, 10 KB for an operator, 1 KB for
/// a declaration.
const STACK: usize = 32 << 20;

/// The text that naga reads: the shader's, and `SurfacePoint` where it is mentioned.
pub(super) fn complete(source: &mut Source) -> Result<(), ShaderError> {
    let outline = &source.outline;
    let text = source.text();
    if !outline.tokens.iter().any(|token| &text[token.place.clone()] == "SurfacePoint") {
        return Ok(());
    }
    if let Some(declared) = outline.structure(text, "SurfacePoint") {
        let error = source
            .error("`SurfacePoint` is provided")
            .at(declared.name.clone(), "declared here again");
        return Err(error.help("leave the declaration out; the members are `position`, `object_position`, `normal` and `uv`"));
    }
    // Appended to an open bracket or comment it would become a part of that.
    if outline.unclosed(text).is_none() {
        let text = format!("{text}{SURFACE_POINT}");
        source.outline = Outline::new(&text);
        source.text = text;
    }
    Ok(())
}

fn check_depth(source: &Source) -> Result<(), ShaderError> {
    let depth = source.outline.depth(source.text());
    let (message, help) = if depth.brackets > MAX_BRACKETS {
        (
            format!("more than {MAX_BRACKETS} brackets within each other"),
            "move inner parts into functions of their own",
        )
    } else if depth.operators > MAX_OPERATORS {
        (
            format!("more than {MAX_OPERATORS} operators on top of each other"),
            "give parts of the expression a name with `let`",
        )
    } else if source.outline.declarations > MAX_DECLARATIONS {
        return Err(source.error(format!("more than {MAX_DECLARATIONS} declarations")));
    } else {
        return Ok(());
    };
    Err(source.error(message).at(depth.place, "deepest here").help(help))
}

fn validate(source: &Source, module: &naga::Module) -> Result<ModuleInfo, ShaderError> {
    // There are neither derivatives nor barriers, which control flow would have to be uniform for.
    let flags = ValidationFlags::all() - ValidationFlags::CONTROL_FLOW_UNIFORMITY;
    let mut validator = Validator::new(flags, Capabilities::SHADER_FLOAT16_IN_FLOAT32);
    validator
        .validate(module)
        .map_err(|error| diagnostics::validation_error(source, module, &error))
}

/// Checks the types in expressions of overrides. naga's validator takes them on trust in the module
/// (`override x = 1.0 << 2;`), but not in a function.
fn check_overrides(source: &Source, module: &naga::Module) -> Result<(), ShaderError> {
    let mut module = module.clone();
    let function = naga::Function {
        expressions: module.global_expressions.clone(),
        ..naga::Function::default()
    };
    module.functions.append(function, naga::Span::UNDEFINED);
    validate(source, &module)?;
    Ok(())
}

/// Reads the text.
pub(super) fn parse(source: &Source) -> Result<(naga::Module, ModuleInfo), ShaderError> {
    check_depth(source)?;
    let read = || -> Result<(naga::Module, ModuleInfo), ShaderError> {
        let mut module = naga::front::wgsl::parse_str(source.text())
            .map_err(|error| diagnostics::parse_error(source, &error))?;
        contract::check_language(source, &module)?;
        textures::bind(&mut module);
        let info = validate(source, &module)?;
        if !module.overrides.is_empty() {
            check_overrides(source, &module)?;
        }
        Ok((module, info))
    };
    let caught = thread::scope(|scope| {
        let name = "wgsl".to_owned();
        let thread = thread::Builder::new()
            .name(name)
            .stack_size(STACK)
            .spawn_scoped(scope, || catch_unwind(AssertUnwindSafe(read)));
        match thread {
            Ok(thread) => thread
                .join()
                .and_then(|result| result)
                .map_err(|_| "a defect in naga, which reads WGSL, showed up".to_owned()),
            Err(error) => Err(format!("the system gives no thread to read the shader on: {error}")),
        }
    });
    caught.unwrap_or_else(|message| {
        Err(source.error(message).help("simplify the shader until it is read, to find the place"))
    })
}

#[cfg(test)]
mod tests {
    use crate::Shader;

    #[test]
    fn expressions_of_overrides_are_checked() {
        let shader = |case: &str| {
            let overrides = format!("override a = 1.5; override n = 3; override b = {case};");
            Shader::parse(
                "case",
                &format!(
                    "{overrides} fn brdf(wi: vec3f, wo: vec3f) -> vec3f {{ return vec3f(f32(b)); }}"
                ),
            )
        };
        for wrong in
            ["a << 2u", "a & 1.5", "-(a > 1.0)", "~a", "select(a, 2.0, n)", "vec2f(a)[n] + n"]
        {
            assert!(shader(wrong).is_err(), "{wrong}");
        }
        for right in ["a * 2.0", "-n", "select(a, 2.0, n > 1)", "vec2f(a)[n] + 1"] {
            shader(right).unwrap_or_else(|error| panic!("{right}: {error}"));
        }
    }
}
