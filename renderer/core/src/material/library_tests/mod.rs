//! Tests of the compiled materials of `assets/shaders` and of the shaders of MaterialX's surfaces:
//! sampled directions follow the density, `scatter` and `evaluate` agree, materials are reciprocal and
//! conserve energy, values are finite for all parameters in range, and samplers have lower variance
//! than cosine sampling.

mod cases;
mod energy;
mod gltf;
mod hair;
mod layered;
mod microfacets;
mod openpbr;
mod parameter_ranges;
mod phase;
mod sampling;

use cases::{CASES, Case};
use lightbound_materialx::Document;
use lightbound_math::sampling::{ONE_MINUS_EPSILON, hash, unit_float};
use lightbound_math::{Vec3, vec3};
use lightbound_shader::ir::Function;
use lightbound_shader::scattering::{evaluate, scatter};
use lightbound_shader::{
    Arena, Batch, Kernel, Parameter, Settings, Shader, ShaderKind, SurfaceSides, Target, passes,
};

/// Polar angles and azimuths of `wo` in degrees. Except at normal incidence, no azimuth is aligned
/// with an axis.
const ANGLES: [(f32, f32); 4] = [(0.0, 0.0), (30.0, 20.0), (60.0, 130.0), (85.0, 250.0)];

/// A compiled shader and its parameter words.
struct TestMaterial {
    name: String,
    shader: Shader,
    evaluate: Kernel,
    scatter: Kernel,
    parameters: Vec<u32>,
}

/// The shader of a surface of MaterialX, by its category.
fn surface(category: &str) -> Shader {
    let text = format!("<materialx><{category} name=\"s\" type=\"surfaceshader\"/></materialx>");
    let mut no_files = |_: &str| Err(std::io::Error::other("no files"));
    let document = Document::parse(category, &text, &mut no_files).expect("it is valid");
    document.convert(None).expect("it is a surface").shader
}

/// A direction with BSDF × cosine and the sampling density.
#[derive(Clone, Copy, Debug)]
struct ScatterSample {
    wi: Vec3,
    s: Vec3,
    pdf: f32,
}

impl ScatterSample {
    /// Returns the weight s/pdf; 0 if the density is 0.
    fn weight(&self) -> Vec3 {
        if self.pdf > 0.0 { self.s / self.pdf } else { Vec3::ZERO }
    }

    fn bits(&self) -> [u32; 4] {
        [self.s.x, self.s.y, self.s.z, self.pdf].map(f32::to_bits)
    }
}

impl TestMaterial {
    fn new(case: &Case) -> TestMaterial {
        let path = case.file;
        let shader = match super::library::find(path) {
            Some(found) => Shader::parse(path, found.text).expect("the library is valid"),
            None => surface(path),
        };
        let arena = Arena::new();
        let compile = |function: Function| {
            Kernel::compile(&arena, &passes::lower(&function), Target::best())
                .expect("the target is available")
        };
        let settings = Settings::default();
        let evaluate = compile(evaluate(&shader, &settings).expect("the shader is valid"));
        let scatter = compile(scatter(&shader, &settings).expect("the shader is valid"));
        for (name, _) in case.set {
            assert!(
                shader.members().iter().any(|member| member.name == *name),
                "{path} has no parameter {name}"
            );
        }
        let name = case
            .set
            .iter()
            .fold(case.file.to_owned(), |name, (parameter, x)| format!("{name} {parameter} {x:?}"));
        let mut material = TestMaterial { name, shader, evaluate, scatter, parameters: vec![] };
        material.set(|member| {
            let value =
                case.set.iter().find(|(name, _)| *name == member.name).map(|(_, x)| x.to_vec());
            let value = value.or_else(|| member.default.clone());
            value.unwrap_or_else(|| panic!("{path}: {} has no default and is not set", member.name))
        });
        material
    }

    /// Creates the materials of all cases.
    fn all() -> impl Iterator<Item = (&'static Case, TestMaterial)> {
        CASES.iter().map(|case| (case, TestMaterial::new(case)))
    }

    /// Creates one material per shader, from its first case.
    fn one_per_shader() -> impl Iterator<Item = TestMaterial> {
        let first =
            |&(k, case): &(usize, &Case)| CASES[..k].iter().all(|other| other.file != case.file);
        CASES.iter().enumerate().filter(first).map(|(_, case)| TestMaterial::new(case))
    }

    /// Sets all parameters.
    fn set(&mut self, value: impl Fn(&Parameter) -> Vec<f64>) {
        let words = |member: &Parameter| {
            let values = value(member);
            let bits = |k| member.scalar.bits(values[if values.len() == 1 { 0 } else { k }]);
            (0..member.size).map(bits).collect::<Vec<_>>()
        };
        self.parameters = self.shader.members().iter().flat_map(words).collect();
    }

    /// Returns the refractive index on the side of the surface that `w` points to. Radiance scales
    /// with its square.
    fn refractive_index(&self, w: Vec3) -> f32 {
        let members = self.shader.members();
        let word = |name: &str| -> usize {
            let before = members.iter().take_while(|member| member.name != name);
            before.map(|member| member.size).sum()
        };
        let find = |names: &[&str]| names.iter().map(|name| word(name)).min().expect("names");
        let is = |names: &[&str], test: fn(u32) -> bool| {
            self.parameters.get(find(names)).copied().is_some_and(test)
        };
        let is_thin = is(&["thin_walled", "geometry_thin_walled"], |word| word != 0)
            || is(&["thickness"], |word| word == 0);
        let word = find(&["eta", "ior", "specular_ior", "specular_IOR"]);
        // Hair is outside on both sides: light leaves the fibre again.
        let is_interface = !self.name.starts_with("hair");
        let refracts = self.shader.sides() == SurfaceSides::Both
            && !is_thin
            && word < self.parameters.len()
            && is_interface;
        if refracts && w.z < 0.0 { f32::from_bits(self.parameters[word]) } else { 1.0 }
    }

    /// Returns whether the shader is a phase function.
    fn is_phase(&self) -> bool {
        self.shader.kind() == ShaderKind::Phase
    }

    /// Returns the outgoing directions under test.
    fn outgoing_directions(&self) -> Vec<Vec3> {
        if self.is_phase() {
            return vec![Vec3::Z];
        }
        let above = ANGLES.map(|(angle, azimuth)| {
            let ((s, c), (sp, cp)) = (angle.to_radians().sin_cos(), azimuth.to_radians().sin_cos());
            vec3(s * cp, s * sp, c)
        });
        let below = above
            .iter()
            .map(|wo| vec3(wo.y, -wo.x, -wo.z))
            .filter(|_| self.shader.sides() == SurfaceSides::Both);
        above.iter().copied().chain(below).collect()
    }

    /// Runs a kernel on rows of inputs, each followed by the parameters.
    fn run<const N: usize>(
        &self,
        kernel: &Kernel,
        rows: impl ExactSizeIterator<Item = [f32; N]>,
    ) -> Batch {
        let mut inputs = Batch::new(kernel.target(), kernel.inputs().len(), rows.len());
        let mut outputs = Batch::new(kernel.target(), kernel.outputs().len(), rows.len());
        for (r, row) in rows.enumerate() {
            inputs.set_row(r, 0, &row.map(f32::to_bits));
            inputs.set_row(r, N, &self.parameters);
        }
        kernel.run(&[], &inputs, &mut outputs);
        outputs
    }

    fn evaluate(&self, pairs: &[(Vec3, Vec3)]) -> Vec<ScatterSample> {
        let rows = pairs.iter().map(|(wi, wo)| [wi.x, wi.y, wi.z, wo.x, wo.y, wo.z]);
        let outputs = self.run(&self.evaluate, rows);
        let sample = |(r, &(wi, _)): (usize, &(Vec3, Vec3))| {
            let [x, y, z, pdf] = outputs.floats(r, 0);
            ScatterSample { wi, s: vec3(x, y, z), pdf }
        };
        pairs.iter().enumerate().map(sample).collect()
    }

    fn scatter(&self, points: &[[f32; 2]], wo: Vec3) -> Vec<ScatterSample> {
        let outputs =
            self.run(&self.scatter, points.iter().map(|[x, y]| [*x, *y, wo.x, wo.y, wo.z]));
        let sample = |r| {
            let [wi_x, wi_y, wi_z, x, y, z, pdf] = outputs.floats(r, 0);
            ScatterSample { wi: vec3(wi_x, wi_y, wi_z), s: vec3(x, y, z), pdf }
        };
        (0..points.len()).map(sample).collect()
    }
}

/// Returns uniformly distributed pseudorandom points in the unit square.
fn random_points(count: u32) -> Vec<[f32; 2]> {
    (0..count).map(|i| [0, 1].map(|d| unit_float(hash(hash(0x11b, i), d)))).collect()
}

/// Returns uniformly distributed pseudorandom directions on the unit sphere.
fn random_directions(count: u32) -> Vec<Vec3> {
    let direction = |[x, y]: [f32; 2]| {
        let z = 2.0 * x - 1.0;
        let (s, c) = (std::f32::consts::TAU * y).sin_cos();
        (vec3(c, s, 0.0) * (1.0 - z * z).max(0.0).sqrt()).with_z(z)
    };
    random_points(count).into_iter().map(direction).collect()
}

/// Returns stratified points in the unit square: one jittered point in each of `n` × `n` cells.
fn stratified(n: u32) -> Vec<[f32; 2]> {
    let cell = |i: u32, x: f32| (((i as f32) + x) / n as f32).min(ONE_MINUS_EPSILON);
    let jittered = |(i, [x, y]): (u32, [f32; 2])| [cell(i % n, x), cell(i / n, y)];
    (0..n * n).zip(random_points(n * n)).map(jittered).collect()
}

/// Returns the mean and the standard deviation.
fn mean_and_deviation(x: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = x.clone().count() as f64;
    let mean = x.clone().sum::<f64>() / count;
    (mean, (x.map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt())
}
