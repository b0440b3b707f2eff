//! BSDFs at single points of a scene, independent of the integrators: evaluates one point at a
//! time, and selects mix components and lobes with random numbers of its own.

use lightbound::Scene;
use lightbound::geometry::{Hit, Surface};
use lightbound::material::{
    Material, PathWavelength, Program, ShaderBinding, ShaderInstance, Specular,
};
use lightbound::texture::Lookup;
use lightbound_math::{Vec3, vec3};
use lightbound_shader::{Batch, Kernel, SurfaceSides, Texture};

/// The BSDF at a point: all surface materials that its mixes can select.
pub struct Bsdf<'a> {
    lookup: Lookup<'static>,
    components: Vec<MixComponent<'a>>,
}

/// A surface material that a mix can select, with its probability.
struct MixComponent<'a> {
    probability: f32,
    specular: Option<&'a Specular>,
    shader: Option<Shader<'a>>,
}

/// A shader with its parameters.
struct Shader<'a> {
    binding: &'a ShaderBinding,
    parameters: Vec<u32>,
}

/// A sampled incident direction and the weight of the radiance from that direction.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub wi: Vec3,
    pub weight: Vec3,
}

impl<'a> Bsdf<'a> {
    /// Creates the BSDF at a hit on `surface`.
    pub fn new(scene: &'a Scene, hit: &Hit, surface: &Surface) -> Bsdf<'a> {
        let mut components = Vec::new();
        let mut pending = vec![(1.0, scene.geometry.primitives[hit.primitive as usize].material)];
        while let Some((probability, material)) = pending.pop() {
            match &scene.materials[material as usize] {
                Material::Mix { materials: [first, second], amount } => {
                    let amount = amount.float(&surface.lookup()).clamp(0.0, 1.0);
                    pending.extend([
                        (probability * (1.0 - amount), *first),
                        (probability * amount, *second),
                    ]);
                }
                Material::Interface => {}
                Material::Surface { specular, scattering, .. } => {
                    let shader = scattering
                        .as_ref()
                        .map(|instance| Shader::new(scene, instance, hit, surface));
                    components.push(MixComponent {
                        probability,
                        specular: specular.as_ref(),
                        shader,
                    });
                }
            }
        }
        Bsdf { lookup: surface.lookup(), components }
    }

    /// Evaluates BSDF × |cos θ| (sr⁻¹) without delta distributions.
    pub fn eval(&self, wi: Vec3, wo: Vec3) -> Vec3 {
        self.eval_all(&[wi], wo)[0]
    }

    /// [`Bsdf::eval`] for several directions.
    pub fn eval_all(&self, wi: &[Vec3], wo: Vec3) -> Vec<Vec3> {
        let mut sums = vec![Vec3::ZERO; wi.len()];
        for component in &self.components {
            if let Some(shader) = &component.shader {
                for (sum, s) in sums.iter_mut().zip(shader.evaluate(wi, wo)) {
                    *sum += component.probability * s;
                }
            }
        }
        sums
    }

    /// Samples a direction; `None` for a path without contribution.
    pub fn sample(&self, [mut choice, lobe, u, v]: [f32; 4], wo: Vec3) -> Option<Sample> {
        let is_selected = |component: &&MixComponent| {
            choice -= component.probability;
            choice < 0.0
        };
        let component = self.components.iter().find(is_selected).or(self.components.last())?;
        match (component.specular, &component.shader) {
            (Some(specular), Some(shader)) => {
                // Selects both components with equal probability, regardless of their energy.
                let share = specular.sampling_probability(wo);
                let (sample, weight) = if lobe < 0.5 {
                    (self.sample_specular(specular, 2.0 * lobe, wo)?, 2.0 * share)
                } else {
                    (shader.scatter([u, v], wo)?, 2.0)
                };
                Some(Sample { weight: weight * sample.weight, ..sample })
            }
            (Some(specular), None) => self.sample_specular(specular, lobe, wo),
            (None, Some(shader)) => shader.scatter([u, v], wo),
            (None, None) => None,
        }
    }

    /// Samples the specular component.
    fn sample_specular(&self, specular: &Specular, lobe: f32, wo: Vec3) -> Option<Sample> {
        specular
            .sample(lobe, PathWavelength { nm: None, u: 0.5 }, wo, &self.lookup)
            .map(|sample| Sample { wi: sample.wi, weight: sample.weight })
    }
}

impl<'a> Shader<'a> {
    fn new(
        scene: &'a Scene,
        instance: &ShaderInstance,
        hit: &Hit,
        surface: &Surface,
    ) -> Shader<'a> {
        let binding = &scene.shaders[instance.shader as usize];
        let mut words = Vec::new();
        words.extend(instance.words(&surface.lookup()));
        let Some(setup) = &binding.program.setup else {
            return Shader { binding, parameters: words };
        };
        let [p, object] = scene.geometry.shader_positions(hit, surface.p);
        let floats = [p, object, surface.frame.n]
            .into_iter()
            .flat_map(|v| v.to_array())
            .chain(surface.uv.to_array());
        let mut row: Vec<u32> = floats.map(f32::to_bits).collect();
        assert_eq!(row.len(), Program::SURFACE_WORDS);
        row.append(&mut words);
        let outputs = run(setup, binding, &[row]);
        Shader {
            binding,
            parameters: (0..binding.program.parameter_words)
                .map(|port| outputs.bits(0, port))
                .collect(),
        }
    }

    /// Converts a direction to the frame of the shader. One-sided shaders see `wo` above the
    /// surface, so directions are mirrored if it is below.
    fn to_shader(&self, w: Vec3, wo: Vec3) -> Vec3 {
        let mirrored = self.binding.program.sides == SurfaceSides::One && wo.z < 0.0;
        if mirrored { vec3(w.x, w.y, -w.z) } else { w }
    }

    fn evaluate(&self, wi: &[Vec3], wo: Vec3) -> Vec<Vec3> {
        let row = |&wi: &Vec3| {
            self.row(
                self.to_shader(wi, wo)
                    .to_array()
                    .into_iter()
                    .chain(self.to_shader(wo, wo).to_array()),
            )
        };
        let outputs = run(
            &self.binding.program.evaluate,
            self.binding,
            &wi.iter().map(row).collect::<Vec<_>>(),
        );
        (0..wi.len()).map(|row| Vec3::from(outputs.floats::<3>(row, 0))).collect()
    }

    fn scatter(&self, u: [f32; 2], wo: Vec3) -> Option<Sample> {
        let row = self.row(u.into_iter().chain(self.to_shader(wo, wo).to_array()));
        let outputs = run(&self.binding.program.scatter, self.binding, &[row]);
        let [x, y, z, r, g, b, pdf] = outputs.floats(0, 0);
        (pdf > 0.0)
            .then(|| Sample { wi: self.to_shader(vec3(x, y, z), wo), weight: vec3(r, g, b) / pdf })
    }

    /// Returns a row of kernel inputs: `floats`, then parameters.
    fn row(&self, floats: impl Iterator<Item = f32>) -> Vec<u32> {
        floats.map(f32::to_bits).chain(self.parameters.iter().copied()).collect()
    }
}

/// Runs a kernel on rows of inputs.
fn run(kernel: &Kernel, binding: &ShaderBinding, rows: &[Vec<u32>]) -> Batch {
    let mut inputs = Batch::new(kernel.target(), kernel.inputs().len(), rows.len());
    for (i, row) in rows.iter().enumerate() {
        inputs.set_row(i, 0, row);
    }
    let mut outputs = Batch::new(kernel.target(), kernel.outputs().len(), rows.len());
    let textures: Vec<&Texture> = binding.textures.iter().map(|texture| &**texture).collect();
    kernel.run(&textures, &inputs, &mut outputs);
    outputs
}
