//! Quick check of a shader when it is loaded. It detects gross faults: invalid values
//! ([`check_values`]), a `sample` that does not match `pdf` ([`check_sampler`]), a `pdf` that is 0
//! where light is scattered ([`check_coverage`]), and a phase function that is not normalized
//! ([`check_normalization`]). Passing it proves nothing.

mod coverage;
mod normalization;
mod sampler;
mod values;

pub use coverage::{UncoveredLight, check_coverage};
pub use normalization::{NotNormalized, check_normalization};
pub use sampler::{SamplerFault, check_sampler};
pub use values::{InvalidValue, check_values};

use super::{Program, ShaderBinding, ShaderInstance};
use crate::texture::Lookup;
use lightbound_math::sampling::pdf_check::Domain;
use lightbound_math::{Vec2, Vec3, vec2, vec3};
use lightbound_shader::{Batch, Kernel, ShaderKind, SurfaceSides, Texture};

/// Returns the set of directions to which a shader scatters light.
fn domain(sides: SurfaceSides) -> Domain {
    match sides {
        SurfaceSides::One => Domain::UpperHemisphere,
        SurfaceSides::Both => Domain::Sphere,
    }
}

/// cos θ and φ of the checked `wo`.
const VIEWS: [(f32, f32); 4] = [(0.9, 0.7), (0.5, 2.4), (0.2, 4.1), (-0.6, 5.5)];

/// Returns the checked `wo`: for phase functions only the z axis, from below only for two-sided
/// shaders.
fn views(program: &Program) -> impl Iterator<Item = Vec3> {
    let (sides, is_brdf) = (program.sides, program.kind() == ShaderKind::Brdf);
    let views = VIEWS.into_iter().filter(move |&(z, _)| is_brdf && sides.covers(z));
    let view = |(z, phi)| {
        let r = libm::sqrtf(1.0 - z * z);
        vec3(r * libm::cosf(phi), r * libm::sinf(phi), z)
    };
    views.map(view).chain((!is_brdf).then_some(Vec3::Z))
}

/// Centre of the texture coordinates.
const CENTER: Vec2 = vec2(0.5, 0.5);

/// Runs a shader at one shading point.
struct ShaderRunner<'a> {
    program: &'a Program,
    textures: Vec<&'a Texture>,
    /// Material parameters.
    parameters: Vec<u32>,
    inputs: Batch,
    outputs: Batch,
}

impl<'a> ShaderRunner<'a> {
    fn new(binding: &'a ShaderBinding, instance: &ShaderInstance, uv: Vec2) -> ShaderRunner<'a> {
        let program = &*binding.program;
        let textures = binding.textures.iter().map(|texture| &**texture).collect();
        let batch = || Batch::new(program.target(), 0, 0);
        let (inputs, outputs) = (batch(), batch());
        let mut runner =
            ShaderRunner { program, textures, parameters: Vec::new(), inputs, outputs };
        let lookup = Lookup::at_point(Vec3::ZERO, Vec3::Z, uv);
        match &program.setup {
            None => runner.parameters = instance.words(&lookup),
            Some(setup) => {
                let mut words =
                    Program::surface_words(lookup.p, lookup.p, Vec3::Z, lookup.uv).to_vec();
                words.extend(instance.words(&lookup));
                runner.inputs.reshape(words.len(), 1);
                runner.inputs.set_row(0, 0, &words);
                runner.inputs.truncate(1);
                runner.run(setup);
                runner.parameters =
                    (0..program.parameter_words).map(|port| runner.outputs.bits(0, port)).collect();
            }
        }
        runner
    }

    /// Runs a kernel over the inputs.
    fn run(&mut self, kernel: &Kernel) {
        self.outputs.reshape(kernel.outputs().len(), self.inputs.rows());
        kernel.run(&self.textures, &self.inputs, &mut self.outputs);
    }

    /// Runs a kernel over rows of numbers, each followed by the parameters.
    fn run_rows<const N: usize>(&mut self, kernel: &Kernel, rows: impl Iterator<Item = [f32; N]>) {
        let rows: Vec<_> = rows.collect();
        self.inputs.reshape(N + self.parameters.len(), rows.len());
        for (row, numbers) in rows.iter().enumerate() {
            self.inputs.set_row(row, 0, &numbers.map(f32::to_bits));
            self.inputs.set_row(row, N, &self.parameters);
        }
        self.inputs.truncate(rows.len());
        self.run(kernel);
    }

    /// Returns s = BSDF × cosine and the density for each direction.
    fn evaluate(&mut self, directions: &[Vec3], wo: Vec3) -> impl Iterator<Item = [f32; 4]> {
        let program = self.program;
        let row = |wi: &Vec3| [wi.x, wi.y, wi.z, wo.x, wo.y, wo.z];
        self.run_rows(&program.evaluate, directions.iter().map(row));
        (0..directions.len()).map(|row| self.outputs.floats(row, 0))
    }
}

/// Shared code of shader tests.
#[cfg(test)]
pub(crate) mod testing {
    use crate::material::{Program, Setting, ShaderBinding, ShaderInstance};
    use lightbound_math::sampling::{hash, unit_float};
    use lightbound_shader::{Arena, Parameter, Settings, Shader, Target};
    use std::sync::Arc;

    /// Compiles a shader without textures.
    pub fn compiled(name: &str, text: &str) -> ShaderBinding {
        let shader = Shader::parse(name, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let program =
            Program::compile(&Arena::new(), &shader, &Settings::default(), Target::best()).unwrap();
        ShaderBinding::new(Arc::new(program), vec![])
    }

    /// Creates an instance of a shader with parameter values from `value`.
    pub fn instance(
        binding: &ShaderBinding,
        mut value: impl FnMut(&Parameter) -> Vec<f64>,
    ) -> ShaderInstance {
        ShaderInstance::new(
            0,
            binding.program.settable.iter().map(|p| (p, Setting::Constant(value(p)))),
        )
    }

    /// Returns a random value of a parameter: its default, an endpoint of its range, or a value in
    /// between, distributed uniformly or log-uniformly.
    pub fn any_value(parameter: &Parameter, seed: u32) -> f64 {
        // Roughness beyond 4 has no further effect, and single precision does not suffice if one
        // axis is a billion times as rough as the other.
        let max = if parameter.name.contains("alpha") { 4.0 } else { 1e4 };
        let [low, high] = parameter.range.map(|x| x.clamp(-10.0, max));
        let x = f64::from(unit_float(hash(seed, 1)));
        let value = match hash(seed, 2) % 8 {
            0 => low,
            1 => high,
            2 => parameter.default.as_ref().unwrap()[0],
            3 | 4 => low + x * (high - low),
            _ => high * ((low.max(1e-4) / high).ln() * x).exp(),
        };
        let value = value.clamp(low, high);
        if parameter.scalar == lightbound_shader::Scalar::F32 { value } else { value.round() }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{any_value, compiled, instance};
    use super::{check_coverage, check_normalization, check_sampler, check_values};
    use crate::material::library;
    use lightbound_math::sampling::hash;
    use lightbound_shader::ShaderKind;

    const ROUNDS: u32 = 60;

    #[test]
    fn library_passes_with_any_parameters() {
        for entry in library::LIBRARY {
            let binding = compiled(entry.name, entry.text);
            for seed in 0..ROUNDS {
                let mut settings = Vec::new();
                let mut index = 0;
                let instance = instance(&binding, |parameter| {
                    let values = (0..parameter.size)
                        .map(|_| {
                            index += 1;
                            any_value(parameter, hash(hash(seed, 77), index))
                        })
                        .collect::<Vec<_>>();
                    settings.push((parameter.name.clone(), values.clone()));
                    values
                });
                check_values(&binding, &instance)
                    .unwrap_or_else(|invalid| panic!("{} {settings:?}: {invalid}", entry.name));
                if binding.program.kind() == ShaderKind::Phase {
                    check_normalization(&binding, &instance)
                        .unwrap_or_else(|error| panic!("{} {settings:?}: {error}", entry.name));
                }
                if binding.program.has_sampler {
                    check_sampler(&binding, &instance)
                        .unwrap_or_else(|fault| panic!("{} {settings:?}: {fault}", entry.name));
                    check_coverage(&binding, &instance)
                        .unwrap_or_else(|fault| panic!("{} {settings:?}: {fault}", entry.name));
                }
            }
        }
    }
}
