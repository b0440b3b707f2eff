//! The functions that a path tracer calls, assembled from point shaders.
//!
//! Direct lighting needs the integrand s for a given direction, and the density with which the
//! sampler would have generated that direction ([`evaluate`]). To extend a path, the tracer needs a
//! sampled direction with its s and density ([`scatter`]). Each is a single function, so that
//! common subexpressions of s, density and sampler are computed once. Its parts are optimized
//! before they are joined, and joining applies only exact simplifications, so s is bit-identical to
//! the result of the point shader.
//!
//! A shader without `sample` and `pdf` uses cosine sampling: over the hemisphere of the normal, or
//! over both hemispheres with equal probability if it scatters to both sides. A phase function is
//! sampled uniformly over the sphere.

use crate::builder::Builder;
use crate::frontend::{
    Entry, Parameter, Settings, Setup, Shader, ShaderError, ShaderKind, SurfaceSides,
};
use crate::interval::{Bounds, Floats};
use crate::ir::{Emit, Function, Op, Port, Type, Value};
use crate::join::{CAPPED, JoinedFunction};
use crate::lift::Input;
use crate::passes;
use crate::relations::{Axis, MAX_UNIT_COMPONENT};
use crate::specialize::zeros::Candidates;
use crate::specialize::{cost, output_bounds, specialize};
use std::f32::consts::{FRAC_1_PI, TAU};

/// Builds the function that evaluates a given direction.
///
/// Its inputs are `wi.x` … `wo.z` and the [members](Shader::members) of `Material`; its outputs are
/// `s.r`, `s.g`, `s.b`, `pdf` in 1/sr, and `capped` if a loop may reach its cap.
pub fn evaluate(shader: &Shader, settings: &Settings) -> Result<Function, ShaderError> {
    Ok(PointShaders::new(shader, settings)?.evaluate())
}

/// Builds the function that samples a direction.
///
/// Its inputs are `u.x` and `u.y`, uniform in [0, 1), `wo.x` … `wo.z`, and the
/// [members](Shader::members) of `Material`; its outputs are `wi.x`, `wi.y`, `wi.z`, and then the
/// outputs of [`evaluate`]. If `pdf` is not positive, the sample is invalid and ends its path.
pub fn scatter(shader: &Shader, settings: &Settings) -> Result<Function, ShaderError> {
    Ok(PointShaders::new(shader, settings)?.scatter())
}

/// Builds the function that computes the members of `Material` at a surface point: the optimized
/// [`Entry::Setup`]. Returns `None` if the scene sets all members.
pub fn setup(shader: &Shader, settings: &Settings) -> Result<Option<Function>, ShaderError> {
    shader
        .has_setup()
        .then(|| Ok(passes::optimize(&shader.function(Entry::Setup, settings)?)))
        .transpose()
}

/// The functions of a material.
#[derive(Clone, Debug)]
pub struct Functions {
    /// [`setup`].
    pub setup: Option<Function>,
    /// [`evaluate`].
    pub evaluate: Function,
    /// [`scatter`].
    pub scatter: Function,
    /// [`evaluate`] for the specular lobes alone: with 0 for the albedos of diffuse lobes. `None` for
    /// any parameters, where the caller sets them to 0, and without diffuse lobes.
    pub specular: Option<Function>,
    parts: PointShaders,
    /// Indices of the words of [members](Shader::members) that are albedos of diffuse lobes.
    diffuse_words: Vec<usize>,
}

impl Functions {
    /// Builds the functions for any parameters.
    pub fn new(shader: &Shader, settings: &Settings) -> Result<Functions, ShaderError> {
        let parts = PointShaders::new(shader, settings)?;
        Ok(Functions {
            setup: setup(shader, settings)?,
            evaluate: parts.evaluate(),
            scatter: parts.scatter(),
            specular: None,
            parts,
            diffuse_words: diffuse_words(shader.members()),
        })
    }

    /// The approximate cost of a vertex of a path, in cheap operations.
    pub fn cost(&self) -> u32 {
        self.setup.as_ref().map_or(0, cost) + cost(&self.evaluate) + cost(&self.scatter)
    }

    /// Finds the [candidates](Candidates) for tests for zero in `evaluate`, for members within bounds,
    /// one for each word.
    ///
    /// # Panics
    ///
    /// Unless there are bounds for each word of the members.
    pub fn zero_candidates(&self, members: &[Bounds]) -> Candidates {
        let directions = direction(0).chain(direction(1));
        let inputs: Vec<_> = directions.chain(unrelated(members.iter().copied())).collect();
        let is_signed = vec![false; self.evaluate.outputs.len()];
        Candidates::find(self.evaluate.clone(), &inputs, is_signed)
    }

    /// The function `scatter` with another function in place of `evaluate`: one with tests for zero,
    /// or instrumented code, whose further outputs it has, too. Samplers return unit vectors.
    pub fn scatter_with(&self, evaluate: &Function) -> Function {
        self.parts.scatter_with(evaluate)
    }

    /// [Specializes](crate::specialize) the functions for [settable](Shader::settable) parameters
    /// within bounds, one for each word, and for samplers that return unit vectors. Also returns
    /// bounds on the words of the members.
    ///
    /// # Panics
    ///
    /// Unless there are bounds for each word of the settable parameters.
    pub fn specialize(&self, settable: &[Bounds]) -> (Functions, Vec<Bounds>) {
        let (setup, members) = self.specialize_setup(settable);
        let specular = (!self.diffuse_words.is_empty()).then(|| {
            let mut members = members.clone();
            for &word in &self.diffuse_words {
                members[word] = Bounds::constant(Type::F32, 0);
            }
            self.parts.specialize(&members).evaluate()
        });
        let parts = self.parts.specialize(&members);
        let functions = Functions {
            setup,
            evaluate: parts.evaluate(),
            scatter: parts.scatter(),
            specular,
            parts,
            diffuse_words: self.diffuse_words.clone(),
        };
        (functions, members)
    }

    /// Computes bounds on the words of the members for settable parameters within bounds.
    ///
    /// # Panics
    ///
    /// Unless there are bounds for each word of the settable parameters.
    pub fn member_bounds(&self, settable: &[Bounds]) -> Vec<Bounds> {
        self.specialize_setup(settable).1
    }

    /// Specializes the function that computes the members, and bounds them.
    fn specialize_setup(&self, settable: &[Bounds]) -> (Option<Function>, Vec<Bounds>) {
        let Some(setup) = &self.setup else { return (None, settable.to_vec()) };
        let surface = setup.inputs.len() - settable.len();
        let ports = setup.inputs[..surface].iter().map(|port| Bounds::all(port.ty));
        let inputs = unrelated(ports.chain(settable.iter().copied()));
        let setup = specialize(setup, &inputs, &vec![true; setup.outputs.len()]);
        let mut members = output_bounds(&setup, &inputs);
        members.truncate(self.evaluate.inputs.len() - 2 * DIRECTION_WORDS);
        (Some(setup), members)
    }
}

/// Number of words of a direction.
const DIRECTION_WORDS: usize = 3;

/// The components of a direction, which is the unit vector with this number.
fn direction(vector: usize) -> impl Iterator<Item = Input> {
    (0..DIRECTION_WORDS).map(move |component| {
        let limits = Floats::between(-MAX_UNIT_COMPONENT, MAX_UNIT_COMPONENT);
        let axis = Some(Axis { vector, component, frame: false, above: false });
        Input { interval: false, bounds: Bounds::Float(limits), axis, sorted: None }
    })
}

/// Inputs that are not components of unit vectors.
fn unrelated(bounds: impl IntoIterator<Item = Bounds>) -> Vec<Input> {
    bounds
        .into_iter()
        .map(|bounds| Input { interval: false, bounds, axis: None, sorted: None })
        .collect()
}

/// The indices of the words of members that are albedos of diffuse lobes.
pub fn diffuse_words(members: &[Parameter]) -> Vec<usize> {
    let mut first = 0;
    let mut words = Vec::new();
    for member in members {
        words.extend((first..first + member.size).filter(|_| member.is_diffuse));
        first += member.size;
    }
    words
}

/// Names of the outputs of the integrand.
const INTEGRAND_OUTPUTS: [&str; 3] = ["s.r", "s.g", "s.b"];

fn named(names: &[&str], values: Vec<Value>) -> impl Iterator<Item = (String, Value)> {
    std::iter::zip(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), values)
}

/// The optimized point shaders of a shader.
#[derive(Clone, Debug)]
struct PointShaders {
    integrand: Function,
    /// `sample` and `pdf`.
    sampler: Option<(Function, Function)>,
    kind: ShaderKind,
    sides: SurfaceSides,
}

impl PointShaders {
    fn new(shader: &Shader, settings: &Settings) -> Result<PointShaders, ShaderError> {
        let settings = Settings { setup: Setup::Precomputed, ..settings.clone() };
        let function =
            |entry| Ok::<_, ShaderError>(passes::optimize(&shader.function(entry, &settings)?));
        let sampler = shader
            .has_sampler()
            .then(|| Ok::<_, ShaderError>((function(Entry::Sample)?, function(Entry::Pdf)?)));
        Ok(PointShaders {
            integrand: function(Entry::Integrand)?,
            sampler: sampler.transpose()?,
            kind: shader.kind(),
            sides: shader.sides(),
        })
    }

    /// Specializes the shaders for members within bounds.
    fn specialize(&self, members: &[Bounds]) -> PointShaders {
        let members = unrelated(members.iter().copied());
        let with = |function: &Function, arguments: Vec<Input>, is_signed: bool| {
            let inputs = [arguments, members.clone()].concat();
            specialize(function, &inputs, &vec![is_signed; function.outputs.len()])
        };
        let pair = || direction(0).chain(direction(1)).collect();
        let sampler = self.sampler.as_ref().map(|(sample, pdf)| {
            let number = Bounds::Float(Floats::between(0.0, 1.0));
            let arguments = unrelated([number; 2]).into_iter().chain(direction(0)).collect();
            // Directions may become divisors.
            (with(sample, arguments, true), with(pdf, pair(), false))
        });
        let integrand = with(&self.integrand, pair(), false);
        PointShaders { integrand, sampler, ..*self }
    }

    /// [`evaluate`].
    fn evaluate(&self) -> Function {
        let mut joined = JoinedFunction::new("evaluate", &self.integrand.inputs);
        let inputs = joined.inputs.clone();
        let s = joined.append(&self.integrand, &inputs);
        let pdf = self.pdf(&mut joined, &inputs);
        joined.finish(named(&INTEGRAND_OUTPUTS, s).chain([("pdf".to_owned(), pdf)]))
    }

    /// [`scatter`].
    fn scatter(&self) -> Function {
        self.scatter_from(|joined, inputs| {
            let s = joined.append(&self.integrand, inputs);
            let pdf = self.pdf(joined, inputs);
            named(&INTEGRAND_OUTPUTS, s).chain([("pdf".to_owned(), pdf)]).collect()
        })
    }

    /// [`scatter`], with a function in place of [`evaluate`].
    fn scatter_with(&self, evaluate: &Function) -> Function {
        self.scatter_from(|joined, inputs| {
            let outputs = joined.append(evaluate, inputs);
            let names = evaluate.outputs.iter().map(|port| port.name.clone());
            std::iter::zip(names.filter(|name| name != CAPPED), outputs).collect()
        })
    }

    /// [`scatter`], with code that evaluates the sampled direction.
    fn scatter_from(
        &self,
        evaluate: impl FnOnce(&mut JoinedFunction, &[Value]) -> Vec<(String, Value)>,
    ) -> Function {
        let u = ["u.x", "u.y"].map(|name| Port { name: name.to_owned(), ty: Type::F32 });
        let ports: Vec<_> =
            u.into_iter().chain(self.integrand.inputs[3..].iter().cloned()).collect();
        let mut joined = JoinedFunction::new("scatter", &ports);
        let (u, rest) = joined.inputs.split_at(2);
        let (u, rest) = ([u[0], u[1]], rest.to_vec());
        let wi = match &self.sampler {
            Some((sample, _)) => {
                let inputs = joined.inputs.clone();
                joined.append(sample, &inputs)
            }
            None => match self.kind {
                ShaderKind::Brdf => sample_cosine(&mut joined.builder, self.sides, u).to_vec(),
                ShaderKind::Phase | ShaderKind::Density | ShaderKind::Function => {
                    sample_sphere(&mut joined.builder, u).to_vec()
                }
            },
        };
        let inputs = [&wi[..], &rest].concat();
        let evaluated = evaluate(&mut joined, &inputs);
        joined.finish(named(&["wi.x", "wi.y", "wi.z"], wi).chain(evaluated))
    }

    /// Appends the density for inputs that start with `wi`.
    fn pdf(&self, joined: &mut JoinedFunction, inputs: &[Value]) -> Value {
        match &self.sampler {
            Some((_, pdf)) => joined.append(pdf, inputs)[0],
            None => match self.kind {
                ShaderKind::Brdf => cosine_pdf(&mut joined.builder, self.sides, inputs[2]),
                ShaderKind::Phase | ShaderKind::Density | ShaderKind::Function => {
                    joined.builder.f32(0.25 * FRAC_1_PI)
                }
            },
        }
    }
}

/// Samples a direction with density cos θ/π over the hemisphere, or |cos θ|/(2π) over both
/// hemispheres.
fn sample_cosine(b: &mut Builder, sides: SurfaceSides, [u, v]: [Value; 2]) -> [Value; 3] {
    let one = b.f32(1.0);
    let (u, below) = match sides {
        SurfaceSides::One => (u, None),
        SurfaceSides::Both => {
            // The first random number selects the side, and is then remapped to [0, 1) for reuse.
            let (half, two) = (b.f32(0.5), b.f32(2.0));
            let below = b.op(Op::Lt, &[u, half]);
            let twice = b.op(Op::Mul, &[u, two]);
            let less = b.op(Op::Sub, &[twice, one]);
            (b.op(Op::Select, &[below, twice, less]), Some(below))
        }
    };
    let tau = b.f32(TAU);
    let angle = b.op(Op::Mul, &[v, tau]);
    let (sin, cos) = (b.op(Op::Sin, &[angle]), b.op(Op::Cos, &[angle]));
    let r = b.op(Op::Sqrt, &[u]);
    let z2 = b.op(Op::Sub, &[one, u]);
    let z = b.op(Op::Sqrt, &[z2]);
    let z = match below {
        Some(below) => {
            let down = b.op(Op::Neg, &[z]);
            b.op(Op::Select, &[below, down, z])
        }
        None => z,
    };
    [b.op(Op::Mul, &[r, cos]), b.op(Op::Mul, &[r, sin]), z]
}

/// Density of [`sample_cosine`].
fn cosine_pdf(b: &mut Builder, sides: SurfaceSides, z: Value) -> Value {
    let (cos, scale) = match sides {
        SurfaceSides::One => {
            let zero = b.f32(0.0);
            (b.op(Op::Max, &[z, zero]), FRAC_1_PI)
        }
        SurfaceSides::Both => (b.op(Op::Abs, &[z]), 0.5 * FRAC_1_PI),
    };
    let scale = b.f32(scale);
    b.op(Op::Mul, &[cos, scale])
}

/// Samples a direction with density 1/(4π).
fn sample_sphere(b: &mut Builder, [u, v]: [Value; 2]) -> [Value; 3] {
    let [one, two, tau] = [1.0, 2.0, TAU].map(|x| b.f32(x));
    let angle = b.op(Op::Mul, &[v, tau]);
    let (sin, cos) = (b.op(Op::Sin, &[angle]), b.op(Op::Cos, &[angle]));
    let twice = b.op(Op::Mul, &[u, two]);
    let z = b.op(Op::Sub, &[one, twice]);
    // 1 − z² = 4u(1 − u), without cancellation.
    let rest = b.op(Op::Sub, &[one, u]);
    let product = b.op(Op::Mul, &[u, rest]);
    let root = b.op(Op::Sqrt, &[product]);
    let r = b.op(Op::Mul, &[root, two]);
    [b.op(Op::Mul, &[r, cos]), b.op(Op::Mul, &[r, sin]), z]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter;

    const SHADER: &str = "
        struct Material { kd: vec3f, lobe: f32 }
        fn material(p: SurfacePoint, m: Material) -> Material { return Material(m.kd * p.uv.x, m.lobe); }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.kd * pow(wi.x + 2.0, m.lobe); }
    ";
    const SAMPLER: &str = "
        fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f { return normalize(vec3f(u - 0.5, m.lobe)); }
        fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 { return pow(wi.x + 2.0, m.lobe) * wi.z; }
    ";

    fn run(function: &Function, inputs: &[f32]) -> Vec<u32> {
        let words: Vec<_> = inputs.iter().map(|x| x.to_bits()).collect();
        interpreter::run(function, &[], &words, 1000).expect("loops terminate")
    }

    fn shader(text: &str) -> Shader {
        Shader::parse("test.wgsl", text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn joined_functions_are_bit_identical_to_their_parts() {
        let settings = Settings { setup: Setup::Precomputed, ..Settings::default() };
        let shader = shader(&[SHADER, SAMPLER].concat());
        let function =
            |entry| passes::optimize(&shader.function(entry, &settings).expect("it is valid"));
        let scatter = scatter(&shader, &settings).expect("it is valid");
        let evaluate = evaluate(&shader, &settings).expect("it is valid");
        let names: Vec<_> = scatter.outputs.iter().map(|port| port.name.as_str()).collect();
        assert_eq!(names, ["wi.x", "wi.y", "wi.z", "s.r", "s.g", "s.b", "pdf"]);
        let rest = [0.6, 0.0, 0.8, 0.1, 0.2, 0.7, 1.7];
        for k in 0..100 {
            let u = [k as f32 * 0.01, (k * 37 % 100) as f32 * 0.01];
            let wi = run(&function(Entry::Sample), &[&u[..], &rest].concat());
            let directions: Vec<f32> =
                wi.iter().map(|&bits| f32::from_bits(bits)).chain(rest).collect();
            let expected = [
                run(&function(Entry::Integrand), &directions),
                run(&function(Entry::Pdf), &directions),
            ]
            .concat();
            assert_eq!(run(&evaluate, &directions), expected);
            assert_eq!(run(&scatter, &[&u[..], &rest].concat()), [wi, expected].concat());
        }
    }

    #[test]
    fn common_subexpressions_of_parts_are_computed_once() {
        let settings = Settings::default();
        let shader = shader(&[SHADER, SAMPLER].concat());
        let text = evaluate(&shader, &settings).expect("it is valid").to_string();
        assert_eq!(text.matches(" pow ").count(), 1, "{text}");
    }

    #[test]
    fn common_loops_of_parts_run_once() {
        let text = "
            struct Material { x: f32, y: f32 }
            fn rounds(m: Material) -> vec2f {
                var x = m.x;
                var n = 0;
                while n < 40 && x < m.y { x = x * x + m.x; n += 1; }
                return vec2f(x, f32(n));
            }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(rounds(m).x, wi.xy); }
            fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f { return vec3f(u, rounds(m).y); }
            fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 { return rounds(m).y * wi.z; }";
        let function = scatter(&shader(text), &Settings::default()).expect("it is valid");
        let printed = function.to_string();
        assert_eq!(printed.matches("loop").count(), 1, "{printed}");
        let results = run(&function, &[0.25, 0.5, 0.0, 0.0, 1.0, 0.5, 2.0]);
        // The orbit of 1/2: 0.75, 1.0625, 1.6289063, 3.1533356.
        assert_eq!(results[2], 4.0_f32.to_bits());
        assert_eq!(results[6], 16.0_f32.to_bits());
        assert_eq!(
            f32::from_bits(results[3]),
            4.0 * ((1.0625_f32 * 1.0625 + 0.5) * (1.0625_f32 * 1.0625 + 0.5) + 0.5)
        );
    }

    #[test]
    fn repeated_loop_with_additional_invariants_is_merged() {
        // Successive passes find that i, then j, then k is invariant. Then r is known before the
        // loop, and the loop is merged with the first one.
        let text = "
            struct Material { x: f32, y: f32 }
            fn rounds(m: Material) -> f32 {
                var x = m.x;
                var n = 0;
                loop { if n >= 40 || x >= 16.0 { break; } x = x * x; n += 1; }
                return x;
            }
            fn rounds_and_power(m: Material, y: f32) -> vec2f {
                var x = m.x;
                var n = 0;
                var i = 0;
                var j = 0;
                var k = y;
                var r = 0.0;
                loop {
                    r = pow(k, 1.3);
                    if n >= 40 || x >= 16.0 { break; }
                    x = x * x;
                    n += 1;
                    k = k * (1.0 + f32(j));
                    j = j + i;
                    i = i;
                }
                return vec2f(x, r);
            }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
                let x = rounds(m);
                if x > 100.0 { return vec3f(x); }
                let both = rounds_and_power(m, m.y + wo.x);
                return vec3f(both, pow(both.y, both.x));
            }";
        let function = evaluate(&shader(text), &Settings::default()).expect("it is valid");
        let printed = function.to_string();
        assert_eq!(printed.matches("loop").count(), 1, "{printed}");
        let results = run(&function, &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 3.0, 1.0]);
        assert_eq!(results[..3], [81.0_f32, 1.0, 1.0].map(f32::to_bits));
    }

    #[test]
    fn setup_inputs_are_the_surface_and_the_parameters() {
        let function = setup(&shader(SHADER), &Settings::default())
            .expect("it is valid")
            .expect("the shader has a setup function");
        let names: Vec<_> = function.inputs.iter().map(|port| port.name.as_str()).collect();
        let members = ["kd.x", "kd.y", "kd.z", "lobe"];
        assert!(names.ends_with(&members) && names[0] == "position.x", "{names:?}");
        assert_eq!(
            function.outputs.iter().map(|port| port.name.as_str()).collect::<Vec<_>>(),
            members
        );
        let mut inputs = vec![0.0; names.len()];
        inputs[9] = 0.5;
        let first = names.len() - 4;
        inputs[first..].copy_from_slice(&[1.0, 2.0, 4.0, 8.0]);
        assert_eq!(run(&function, &inputs), [0.5_f32, 1.0, 2.0, 8.0].map(f32::to_bits));
    }

    #[test]
    fn phase_functions_without_sampler_are_sampled_uniformly() {
        let shader = shader("fn phase(wi: vec3f, wo: vec3f) -> f32 { return 2.0 + wi.z; }");
        let scatter = scatter(&shader, &Settings::default()).expect("it is valid");
        let evaluate = evaluate(&shader, &Settings::default()).expect("it is valid");
        for k in 0..100 {
            let (u, v) = (k as f32 * 0.01, (k * 37 % 100) as f32 * 0.01);
            let results = run(&scatter, &[u, v, 0.0, 0.0, 1.0]);
            let numbers: Vec<_> = results.iter().map(|&bits| f32::from_bits(bits)).collect();
            let [x, y, z, ref s @ .., pdf] = numbers[..] else { panic!("it has seven outputs") };
            assert!((x * x + y * y + z * z - 1.0).abs() < 1e-6 && z == 1.0 - 2.0 * u);
            assert_eq!((s, pdf), (&[2.0 + z; 3][..], 0.25 * FRAC_1_PI));
            assert_eq!(run(&evaluate, &[x, y, z, 0.0, 0.0, 1.0]), results[3..]);
        }
    }

    #[test]
    fn shaders_without_sampler_use_cosine_sampling() {
        for (header, min_z) in [("", 0.0), ("//! sides: both\n", -1.0)] {
            let shader = shader(&[header, SHADER].concat());
            let function = scatter(&shader, &Settings::default()).expect("it is valid");
            let (mut below, count) = (0, 1000);
            for k in 0..count {
                let u = [(k as f32 + 0.5) / count as f32, (k * 377 % count) as f32 / count as f32];
                let results =
                    run(&function, &[&u[..], &[0.0, 0.0, 1.0, 0.1, 0.2, 0.7, 0.0]].concat());
                let results: Vec<_> = results.into_iter().map(f32::from_bits).collect();
                let [x, y, z] = results[..3] else { panic!("there are fewer than three outputs") };
                assert!((x * x + y * y + z * z - 1.0).abs() < 1e-6 && z >= min_z);
                let (fraction, cos) = if min_z < 0.0 { (0.5, z.abs()) } else { (1.0, z.max(0.0)) };
                assert_eq!((results[3], results[6]), (0.1 * cos, cos * FRAC_1_PI * fraction));
                below += i32::from(z < 0.0);
            }
            assert_eq!(below, if min_z < 0.0 { count / 2 } else { 0 });
        }
    }
}
