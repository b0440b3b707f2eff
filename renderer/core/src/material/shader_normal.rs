//! Normals that shaders compute: `fn normal(p: SurfacePoint, m: Material) -> vec3f`.
//!
//! The result is a direction in the shading frame, of any length, like a texel of a normal map after
//! decoding. Parameters are those of the material.

use super::values::ParameterValues;
use super::{Program, ProgramError};
use crate::geometry::{ScratchId, Surface};
use crate::texture::{Footprint, Lookup, LookupNeeds};
use lightbound_math::Vec3;
use lightbound_shader::{
    Batch, Entry, Kernel, Settings, Shader, ShaderKind, Target, Texture, passes,
};
use std::sync::Arc;

/// The name of the function.
const FUNCTION: &str = "normal";

/// A compiled function of normals.
#[derive(Debug)]
pub struct ShaderNormal {
    kernel: Kernel,
    values: ParameterValues,
    textures: Vec<Arc<Texture>>,
    scratch: ScratchId,
}

/// Buffers of a thread.
struct NormalScratch {
    inputs: Batch,
    outputs: Batch,
}

impl ShaderNormal {
    /// Finds the function in the file of a material's shader. One with other arguments, or another
    /// result, is an ordinary function.
    pub fn find(shader: &Shader) -> Option<Shader> {
        if shader.kind() != ShaderKind::Brdf || !shader.text().contains("fn normal(") {
            return None;
        }
        let function =
            Shader::parse_function(shader.name(), &without_clauses(shader.text()), FUNCTION)
                .ok()?;
        let words = |parameters: &[lightbound_shader::Parameter]| {
            parameters.iter().map(|parameter| parameter.size).sum::<usize>()
        };
        let inputs = Program::SURFACE_WORDS + words(shader.settable());
        let fits = function.arguments().is_empty()
            && function.output_names().len() == 3
            && function.parameters().first().is_some_and(|first| first.name == "position")
            && words(function.parameters()) == inputs;
        fits.then_some(function)
    }

    /// Compiles a function that [`find`](Self::find) found, for the values of the settable
    /// parameters of its material.
    ///
    /// # Errors
    /// If the function is invalid or cannot be compiled.
    pub fn new(
        function: &Shader,
        settings: &Settings,
        values: ParameterValues,
        textures: Vec<Arc<Texture>>,
    ) -> Result<ShaderNormal, ProgramError> {
        let function = passes::optimize(&function.function(Entry::Function, settings)?);
        let arena = lightbound_shader::Arena::new();
        let kernel = Kernel::compile(&arena, &passes::lower(&function), Target::best())?;
        Ok(ShaderNormal { kernel, values, textures, scratch: ScratchId::new() })
    }

    /// Returns what lookups of textures need.
    pub fn needs(&self) -> LookupNeeds {
        self.values.needs()
    }

    /// Returns the normal at a surface in its shading frame, with the point in world space and in
    /// object space. Textures are looked up without a footprint.
    pub fn at(&self, surface: &Surface, lookup: &Lookup, [world, object]: [Vec3; 2]) -> Vec3 {
        let lookup = Lookup { footprint: Footprint::POINT, ..*lookup };
        let batch = |ports: usize| Batch::new(self.kernel.target(), ports, 1);
        let create = || NormalScratch {
            inputs: batch(self.kernel.inputs().len()),
            outputs: batch(self.kernel.outputs().len()),
        };
        self.scratch.with(create, |NormalScratch { inputs, outputs }| {
            let point = Program::surface_words(world, object, surface.frame.n, surface.uv);
            inputs.set_row(0, 0, &point);
            self.values.write(&lookup, |word, words| {
                inputs.set_row(0, point.len() + word, words);
            });
            let textures: Vec<&Texture> = self.textures.iter().map(|texture| &**texture).collect();
            self.kernel.run(&textures, inputs, outputs);
            Vec3::from_array(outputs.floats(0, 0))
        })
    }
}

/// Removes the clauses of a BRDF, which other functions do not have.
fn without_clauses(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix("//!").map(str::trim_start) {
        Some(rest) if rest.starts_with("sides:") || rest.starts_with("cosine:") => "//!\n".into(),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::Setting;
    use lightbound_math::{Frame, vec2, vec3};

    const SHADER: &str = "//! sides: both
        struct Material {
            /// range: [0, 1]
            slope: f32,
        }
        fn normal(p: SurfacePoint, m: Material) -> vec3f {
            return vec3f(m.slope * p.uv.x, p.object_position.y, 1.0);
        }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.slope); }";

    #[test]
    fn normal_is_computed_from_point_and_parameters() {
        let shader = Shader::parse("normal.wgsl", SHADER).unwrap();
        let function = ShaderNormal::find(&shader).expect("there is a function");
        let setting = Setting::Constant(vec![0.5]);
        let values = ParameterValues::new(std::iter::zip(shader.settable(), [setting]));
        let normal = ShaderNormal::new(&function, &Settings::default(), values, vec![]).unwrap();
        let surface = Surface {
            p: Vec3::ZERO,
            ng: Vec3::Z,
            frame: Frame::from_normal(Vec3::Z),
            uv: vec2(0.25, 0.0),
            offset: 0.0,
        };
        let found = normal.at(&surface, &surface.lookup(), [Vec3::ZERO, vec3(0.0, 3.0, 0.0)]);
        assert_eq!(found, vec3(0.125, 3.0, 1.0));
    }

    #[test]
    fn other_functions_are_ordinary() {
        let other = SHADER.replace("p: SurfacePoint, m: Material", "p: vec3f");
        let other = other.replace("m.slope * p.uv.x, p.object_position.y", "p.xy");
        assert!(ShaderNormal::find(&Shader::parse("a.wgsl", &other).unwrap()).is_none());
    }
}
