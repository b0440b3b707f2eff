//! Scattering at one point of a scene, independent of the integrators: evaluates one point at a time
//! and samples mixes and the components of a material with other random numbers than the path tracer.

use lightbound::Scene;
use lightbound::geometry::{Hit, Surface};
use lightbound::material::{Material, Program, ShaderBinding, ShaderInstance, Specular};
use lightbound::texture::Lookup;
use lightbound_math::{Vec3, vec3};
use lightbound_shader::{Batch, Kernel, SurfaceSides, Texture};

/// The BSDF at a point: all surfaces that its mixes may select.
pub struct Bsdf<'a> {
    at: Lookup,
    cases: Vec<Case<'a>>,
}

/// A surface that a mix may select, with its probability.
struct Case<'a> {
    probability: f32,
    specular: Option<&'a Specular>,
    shader: Option<Shader<'a>>,
}

/// A shader with its material parameters.
struct Shader<'a> {
    bound: &'a ShaderBinding,
    members: Vec<u32>,
}

/// A sampled incident direction and the weight of the radiance from there.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub wi: Vec3,
    pub weight: Vec3,
}

impl<'a> Bsdf<'a> {
    /// The BSDF at a hit on `surface`.
    pub fn new(scene: &'a Scene, hit: &Hit, surface: &Surface) -> Bsdf<'a> {
        let mut cases = Vec::new();
        let mut rest = vec![(1.0, scene.geometry.primitives[hit.primitive as usize].material)];
        while let Some((probability, material)) = rest.pop() {
            match &scene.materials[material as usize] {
                Material::Mix { materials: [first, second], amount } => {
                    let amount = amount.float(&surface.lookup()).clamp(0.0, 1.0);
                    rest.extend([
                        (probability * (1.0 - amount), *first),
                        (probability * amount, *second),
                    ]);
                }
                Material::Surface { specular, scattering } => {
                    let shader = scattering
                        .as_ref()
                        .map(|instance| Shader::new(scene, instance, hit, surface));
                    cases.push(Case { probability, specular: specular.as_ref(), shader });
                }
            }
        }
        Bsdf { at: surface.lookup(), cases }
    }

    /// BSDF times |cos θ|, 1/sr, without delta functions.
    pub fn eval(&self, wi: Vec3, wo: Vec3) -> Vec3 {
        self.eval_all(&[wi], wo)[0]
    }

    /// [`Bsdf::eval`] for many directions.
    pub fn eval_all(&self, wi: &[Vec3], wo: Vec3) -> Vec<Vec3> {
        let mut sums = vec![Vec3::ZERO; wi.len()];
        for case in &self.cases {
            if let Some(shader) = &case.shader {
                for (sum, s) in sums.iter_mut().zip(shader.evaluate(wi, wo)) {
                    *sum += case.probability * s;
                }
            }
        }
        sums
    }

    /// Samples a direction; `None` is a path without contribution.
    pub fn sample(&self, [mut pick, lobe, u, v]: [f32; 4], wo: Vec3) -> Option<Sample> {
        let is_picked = |case: &&Case| {
            pick -= case.probability;
            pick < 0.0
        };
        let case = self.cases.iter().find(is_picked).or(self.cases.last())?;
        match (case.specular, &case.shader) {
            (Some(specular), Some(shader)) => {
                // Selects both components with equal probability, regardless of their energy.
                let share = specular.share(wo);
                let (sample, weight) = if lobe < 0.5 {
                    (self.reflect(specular, 2.0 * lobe, wo)?, 2.0 * share)
                } else {
                    (shader.scatter([u, v], wo)?, 2.0)
                };
                Some(Sample { weight: weight * sample.weight, ..sample })
            }
            (Some(specular), None) => self.reflect(specular, lobe, wo),
            (None, Some(shader)) => shader.scatter([u, v], wo),
            (None, None) => None,
        }
    }

    fn reflect(&self, specular: &Specular, lobe: f32, wo: Vec3) -> Option<Sample> {
        specular
            .sample(lobe, wo, &self.at)
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
        let bound = &scene.shaders[instance.shader as usize];
        let mut words = Vec::new();
        words.extend(instance.words(&surface.lookup()));
        let Some(setup) = &bound.program.setup else { return Shader { bound, members: words } };
        let object = scene.geometry.object_position(hit, surface.p);
        let floats = [surface.p, object, surface.frame.n]
            .into_iter()
            .flat_map(|v| v.to_array())
            .chain(surface.uv.to_array());
        let mut row: Vec<u32> = floats.map(f32::to_bits).collect();
        assert_eq!(row.len(), Program::SURFACE_WORDS);
        row.append(&mut words);
        let outputs = run(setup, bound, &[row]);
        Shader {
            bound,
            members: (0..bound.program.parameter_words).map(|port| outputs.bits(0, port)).collect(),
        }
    }

    /// A direction in the frame of the shader. For one-sided shaders it is mirrored so that `wo` is
    /// above.
    fn to_shader(&self, w: Vec3, wo: Vec3) -> Vec3 {
        let mirrored = self.bound.program.sides == SurfaceSides::One && wo.z < 0.0;
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
        let outputs =
            run(&self.bound.program.evaluate, self.bound, &wi.iter().map(row).collect::<Vec<_>>());
        (0..wi.len()).map(|row| Vec3::from(outputs.floats::<3>(row, 0))).collect()
    }

    fn scatter(&self, u: [f32; 2], wo: Vec3) -> Option<Sample> {
        let row = self.row(u.into_iter().chain(self.to_shader(wo, wo).to_array()));
        let outputs = run(&self.bound.program.scatter, self.bound, &[row]);
        let [x, y, z, r, g, b, pdf] = outputs.floats(0, 0);
        (pdf > 0.0)
            .then(|| Sample { wi: self.to_shader(vec3(x, y, z), wo), weight: vec3(r, g, b) / pdf })
    }

    /// Inputs of an evaluation: floats, then material parameters.
    fn row(&self, floats: impl Iterator<Item = f32>) -> Vec<u32> {
        floats.map(f32::to_bits).chain(self.members.iter().copied()).collect()
    }
}

/// Runs a kernel over rows of inputs.
fn run(kernel: &Kernel, bound: &ShaderBinding, rows: &[Vec<u32>]) -> Batch {
    let mut inputs = Batch::new(kernel.target(), kernel.inputs().len(), rows.len());
    for (i, row) in rows.iter().enumerate() {
        inputs.set_row(i, 0, row);
    }
    let mut outputs = Batch::new(kernel.target(), kernel.outputs().len(), rows.len());
    let textures: Vec<&Texture> = bound.textures.iter().map(|texture| &**texture).collect();
    kernel.run(&textures, &inputs, &mut outputs);
    outputs
}
