//! The functions of a medium's density, assembled from point shaders.
//!
//! A path tracer needs density, albedo and emission at the same points. [`properties`] joins them
//! into one function, as [`scattering`](crate::scattering) does for materials. The density is
//! bit-identical to the point shader that [`bounding`](crate::bounding) bounds.

use crate::frontend::{Entry, Settings, Shader, ShaderError};
use crate::ir::Function;
use crate::join::JoinedFunction;
use crate::passes;

/// Builds the function that computes all properties of a medium at a point.
///
/// Its inputs are `p.x`, `p.y`, `p.z` and the [members](Shader::members) of `Medium`. Its outputs
/// are `density`, or `density.r`, `density.g` and `density.b`; `albedo.r`, `albedo.g` and
/// `albedo.b` if the shader [has](Shader::has_albedo) them; `emission.r`, `emission.g` and
/// `emission.b` if it [has](Shader::has_emission) them; and `capped` if a loop may reach its cap.
pub fn properties(shader: &Shader, settings: &Settings) -> Result<Function, ShaderError> {
    let function =
        |entry| Ok::<_, ShaderError>(passes::optimize(&shader.function(entry, settings)?));
    let density = function(Entry::Density)?;
    let mut joined = JoinedFunction::new("properties", &density.inputs);
    let mut outputs = Vec::new();
    let mut append = |function: &Function| {
        let inputs = joined.inputs.clone();
        let values = joined.append(function, &inputs);
        let names = function.outputs.iter().map(|port| port.name.clone());
        outputs.extend(names.zip(values));
    };
    append(&density);
    if shader.has_albedo() {
        append(&function(Entry::Albedo)?);
    }
    if shader.has_emission() {
        append(&function(Entry::Emission)?);
    }
    Ok(joined.finish(outputs.into_iter()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;

    const FIRE: &str = "
        struct Medium { k: f32 }
        fn heat(p: vec3f, m: Medium) -> f32 { return sin(p.x * m.k) - p.y; }
        fn density(p: vec3f, m: Medium) -> f32 { return heat(p, m) / p.z; }
        fn albedo(p: vec3f) -> vec3f { return p; }
        fn emission(p: vec3f, m: Medium) -> vec3f { return vec3f(heat(p, m), p.z, sqrt(p.z)); }";

    /// Returns the names and values of the properties at a point, with k = 2.
    fn properties_at(text: &str, p: [f32; 3]) -> Vec<(String, f32)> {
        let shader = Shader::parse("fire.wgsl", text).unwrap_or_else(|error| panic!("{error}"));
        let function = properties(&shader, &Settings::default()).expect("it is valid");
        let words: Vec<_> =
            p.into_iter().chain([2.0]).take(function.inputs.len()).map(f32::to_bits).collect();
        let values = interpreter::run(&function, &[], &words, 1000).expect("there is no loop");
        let names = function.outputs.iter().map(|port| port.name.clone());
        names.zip(values.into_iter().map(f32::from_bits)).collect()
    }

    #[test]
    fn properties_are_clamped() {
        let heat = f32::sin(1.0) + 1.0;
        let values = |p| properties_at(FIRE, p).into_iter().map(|(_, x)| x).collect::<Vec<_>>();
        let at = values([0.5, -1.0, 4.0]);
        assert!((at[0] - heat / 4.0).abs() < 1e-6 && (at[4] - heat).abs() < 1e-6, "{at:?}");
        assert_eq!(at[1..4], [0.5, 0.0, 1.0]);
        assert_eq!(at[5..], [4.0, 2.0]);
        // The density is negative, then 0/0; the root of a negative number is NaN.
        assert_eq!(values([0.5, -1.0, -4.0]), [0.0, 0.5, 0.0, 0.0, at[4], 0.0, 0.0]);
        assert_eq!(values([0.0; 3]), [0.0; 7]);
        assert_eq!(values([f32::NAN, 0.0, 1.0])[1], 0.0);
    }

    #[test]
    fn albedo_and_emission_are_optional() {
        let names = |text: &str| {
            let named = properties_at(text, [1.0; 3]);
            named.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        let (density, emission) = ("density", ["emission.r", "emission.g", "emission.b"]);
        let one = "fn density(p: vec3f) -> f32 { return 1.0; }";
        assert_eq!(names(one), [density]);
        let glow = format!("{one} fn emission(p: vec3f) -> vec3f {{ return p; }}");
        assert_eq!(names(&glow), [&[density][..], &emission].concat());
        let albedo = ["albedo.r", "albedo.g", "albedo.b"];
        assert_eq!(names(FIRE), [&[density][..], &albedo, &emission].concat());
        let coloured = "fn density(p: vec3f) -> vec3f { return p; }";
        assert_eq!(names(coloured), ["density.r", "density.g", "density.b"]);
    }

    #[test]
    fn common_subexpressions_are_computed_once() {
        let shader = Shader::parse("fire.wgsl", FIRE).expect("it is valid");
        let text = properties(&shader, &Settings::default()).expect("it is valid").to_string();
        assert_eq!(text.matches(" sin ").count(), 1, "{text}");
    }
}
