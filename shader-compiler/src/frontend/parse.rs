//! Parses text into a validated naga module, without stack overflows or panics.
//!
//! naga is recursive, so deeply nested text could overflow its stack and abort the process.
//! [`nesting`] therefore limits the depth first, and naga runs on a thread with a stack large
//! enough for these limits, even if naga was compiled without optimization. Panics in naga become
//! errors.

use super::{ShaderError, Source, contract, diagnostics, nesting, textures};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

/// Surface data that shaders may use; appended to texts that mention it. The defaults describe a
/// point at the origin.
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

/// Stack size of naga's thread, in bytes. Measurements: without optimization, naga needs 50 KB per
/// bracket, 10 KB per operator and 1 KB per declaration.
const STACK_SIZE: usize = 32 << 20;

/// Appends `SurfacePoint` to a text that mentions it.
pub(super) fn add_surface_point(source: &mut Source) -> Result<(), ShaderError> {
    if !(0..source.tokens.len()).any(|k| source.spelling(k) == "SurfacePoint") {
        return Ok(());
    }
    if let Some(declared) = source.find_declaration("struct", "SurfacePoint") {
        let error = source
            .error("`SurfacePoint` is predeclared")
            .at(source.tokens[declared].range.clone(), "declared here again");
        return Err(error.help("remove the declaration; the members are `position`, `object_position`, `normal` and `uv`"));
    }
    // After an unclosed bracket, the declaration would change the error message.
    if source.unclosed().is_none() {
        source.append(SURFACE_POINT);
    }
    Ok(())
}

fn validate(source: &Source, module: &naga::Module) -> Result<ModuleInfo, ShaderError> {
    // Materials have no derivatives and no barriers, which require uniform control flow.
    let flags = ValidationFlags::all() - ValidationFlags::CONTROL_FLOW_UNIFORMITY;
    let mut validator = Validator::new(flags, Capabilities::SHADER_FLOAT16_IN_FLOAT32);
    validator
        .validate(module)
        .map_err(|error| diagnostics::validation_error(source, module, &error))
}

/// Checks the types in initializers of overrides (`override x = 1.0 << 2;`). naga's validator
/// checks expressions in functions, but not at module scope.
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

/// Parses and validates the text.
pub(super) fn parse(source: &Source) -> Result<(naga::Module, ModuleInfo), ShaderError> {
    nesting::check(source)?;
    let parse = || -> Result<(naga::Module, ModuleInfo), ShaderError> {
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
    let result = thread::scope(|scope| {
        let name = "wgsl".to_owned();
        let thread = thread::Builder::new()
            .name(name)
            .stack_size(STACK_SIZE)
            .spawn_scoped(scope, || catch_unwind(AssertUnwindSafe(parse)));
        match thread {
            Ok(thread) => thread
                .join()
                .and_then(|result| result)
                .map_err(|_| "the WGSL parser, naga, failed".to_owned()),
            Err(error) => Err(format!("cannot start a thread to parse the shader: {error}")),
        }
    });
    result.unwrap_or_else(|message| {
        Err(source
            .error(message)
            .help("simplify the shader until it is accepted, to find the cause"))
    })
}

#[cfg(test)]
mod tests {
    use crate::Shader;

    #[test]
    fn override_initializers_are_type_checked() {
        let shader = |initializer: &str| {
            let overrides =
                format!("override a = 1.5; override n = 3; override b = {initializer};");
            Shader::parse(
                "test.wgsl",
                &format!(
                    "{overrides} fn brdf(wi: vec3f, wo: vec3f) -> vec3f {{ return vec3f(f32(b)); }}"
                ),
            )
        };
        for invalid in
            ["a << 2u", "a & 1.5", "-(a > 1.0)", "~a", "select(a, 2.0, n)", "vec2f(a)[n] + n"]
        {
            assert!(shader(invalid).is_err(), "{invalid}");
        }
        for valid in ["a * 2.0", "-n", "select(a, 2.0, n > 1)", "vec2f(a)[n] + 1"] {
            shader(valid).unwrap_or_else(|error| panic!("{valid}: {error}"));
        }
    }
}
