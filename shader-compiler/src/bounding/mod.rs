//! Bounding shaders: the choice of interval inputs and their static bounds, and
//! compiled code that runs on batches of boxes.
//!
//! ```
//! use lightbound_shader::bounding::{
//!     BoundingKernel, BoxBatch, Frame, Integrand, BoundsBatch, Ranges, IntervalInputs,
//! };
//! use lightbound_shader::lift::{BoundSides, Options};
//! use lightbound_shader::{Arena, Settings, Shader, Target};
//!
//! let shader = Shader::parse(
//!     "phong.wgsl",
//!     "struct Material {
//!          /// Exponent. range: [1, 1000], default: 50
//!          exponent: f32,
//!      }
//!      fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
//!          let c = max(wi.z * wo.z - wi.x * wo.x - wi.y * wo.y, 0.0);
//!          return vec3f((m.exponent + 2.0) * pow(c, m.exponent) / 6.2831853);
//!      }",
//! )?;
//! let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local)?;
//! // Upper bounds over light directions, s(x, ω̂).
//! let inputs = integrand.inputs(IntervalInputs::Light, Ranges::Declared);
//! let options = Options { sides: BoundSides::Upper, ..Options::default() };
//! let lifted = integrand.bound(&inputs, &options);
//! let kernel = BoundingKernel::compile(&Arena::new(), &lifted, Target::best())?;
//!
//! // One box: light directions around the normal with |x|, |y| ≤ 0.1, viewed along the normal,
//! // with an exponent of 10.
//! let mut boxes = BoxBatch::new(&kernel, 1);
//! for (input, endpoints) in [[-0.1, 0.1], [-0.1, 0.1], [0.98, 1.0]].into_iter().enumerate() {
//!     boxes.set(0, input, endpoints);
//! }
//! for (input, x) in [(3, 0.0), (4, 0.0), (5, 1.0), (6, 10.0)] {
//!     boxes.set(0, input, [x, x]);
//! }
//! let mut bounds = BoundsBatch::new(&kernel, 1);
//! kernel.run(&[], &boxes, &mut bounds);
//! let [_, upper] = bounds.get(0, 0);
//! assert!((1.9..2.0).contains(&upper));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod directions;
pub mod hand;
mod kernel;
mod point_ranges;
mod split;

use crate::builder::rewrite::{append, rebuild};
use crate::builder::{Builder, Rules};
use crate::frontend::{
    Entry, Parameter, Scalar, Settings, Setup, Shader, ShaderError, ShaderKind, SurfaceSides,
    VectorFact,
};
use crate::interval::{Bounds, Floats, Pieces};
use crate::ir::{Emit, Function, Op, Type, Value};
use crate::lift::{self, Input, Lifted, Options};
use crate::passes::{self, unroll};
use crate::relations::{Axis, MAX_UNIT_COMPONENT, SortedComponent};
use crate::specialize::specialize;
pub use directions::{Direction, Precondition, PreconditionError};
pub use kernel::{BoundingKernel, BoundsBatch, BoxBatch};
pub use point_ranges::{PointRanges, RangeOptions};
pub use split::SplitKernel;

/// Coordinate system of directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Frame {
    /// The shading frame, as shaders expect.
    #[default]
    Local,
    /// World space, with the shading frame as additional inputs: the normal `n` and the tangents
    /// `t` and `b`.
    World,
}

/// Which inputs are intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IntervalInputs {
    /// The light direction: s(x, ω̂). For densities, the position; for functions, the arguments.
    #[default]
    Light,
    /// All inputs: s(x̂, ω̂).
    All,
}

/// Bound on the magnitude of the components of positions in a density. Multiples of smaller
/// positions do not overflow, so that the compiler can exclude NaNs, as in sin(∞), and integers
/// converted from them do not saturate.
pub const MAX_POSITION: f32 = 1e9;

/// Which static bounds to assume for inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ranges {
    /// Directions are unit vectors, with `wo` above a one-sided surface; components of positions are
    /// within ±[`MAX_POSITION`]; parameters are in their declared ranges.
    #[default]
    Declared,
    /// As in Clarberg et al. 2010 §6.1: inputs are finite. The sign bit of parameters is clear,
    /// which excludes −0, unless their declared range contains negative numbers.
    Paper,
}

/// Greatest number of operations in an unrolled loop of a density or a function.
const MAX_UNROLLED: usize = 1 << 13;

/// The function to bound, a point shader with descriptions of its inputs: the integrand s of a
/// material, the density of a medium, or any other function.
#[derive(Clone, Debug)]
pub struct Integrand {
    /// The point shader.
    pub point: Function,
    /// Indices of the outputs to bound: the colour channels of s or its luminance, the density, or
    /// all results of a function.
    pub outputs: Vec<usize>,
    kind: ShaderKind,
    entry: Entry,
    frame: Frame,
    sides: SurfaceSides,
    /// Inputs that precede the parameters, unless they are directions.
    arguments: Vec<Parameter>,
    parameters: Vec<Parameter>,
    /// Bounds on each word of the parameters, if it is specialized.
    known: Option<Vec<Bounds>>,
}

impl Integrand {
    /// Creates the integrand of a shader, BRDF × cosine, or its density or function. Densities are
    /// in the medium's own space, whatever the frame.
    pub fn new(
        shader: &Shader,
        settings: &Settings,
        frame: Frame,
    ) -> Result<Integrand, ShaderError> {
        match shader.kind() {
            ShaderKind::Brdf | ShaderKind::Phase => {
                Integrand::with_entry(shader, settings, frame, Entry::Integrand)
            }
            ShaderKind::Density => {
                Integrand::with_entry(shader, settings, Frame::Local, Entry::Density)
            }
            ShaderKind::Function => {
                Integrand::with_entry(shader, settings, Frame::Local, Entry::Function)
            }
        }
    }

    /// Creates the BRDF alone, without the cosine, for integration over projected solid angle.
    pub fn without_cosine(
        shader: &Shader,
        settings: &Settings,
        frame: Frame,
    ) -> Result<Integrand, ShaderError> {
        Integrand::with_entry(shader, settings, frame, Entry::Brdf)
    }

    fn with_entry(
        shader: &Shader,
        settings: &Settings,
        frame: Frame,
        entry: Entry,
    ) -> Result<Integrand, ShaderError> {
        let function = shader.function(entry, settings)?;
        Ok(Integrand::of_function(shader, settings, frame, entry, &function))
    }

    /// Creates the integrand from the function of an entry, which need not be bounded.
    fn of_function(
        shader: &Shader,
        settings: &Settings,
        frame: Frame,
        entry: Entry,
        function: &Function,
    ) -> Integrand {
        let local = passes::optimize(function);
        let point = match frame {
            // Without loops, ranges are known: those of coordinates that grow from octave to octave
            // would be infinite.
            Frame::Local if matches!(shader.kind(), ShaderKind::Density | ShaderKind::Function) => {
                unroll::run_up_to(&local, Rules::Exact, MAX_UNROLLED)
            }
            Frame::Local => local,
            Frame::World => passes::optimize(&to_world(&local)),
        };
        let parameters = match settings.setup {
            Setup::Inlined => shader.parameters(),
            Setup::Precomputed => shader.members(),
        };
        // A density may have one channel; `capped` may follow.
        let outputs = match entry {
            Entry::Function => shader.output_names().len(),
            _ if ["density", "pdf"].contains(&&*point.outputs[0].name) => 1,
            _ => 3,
        };
        Integrand {
            point,
            outputs: (0..outputs).collect(),
            kind: shader.kind(),
            entry,
            frame,
            sides: shader.sides(),
            arguments: shader.arguments().to_vec(),
            parameters: parameters.to_vec(),
            known: None,
        }
    }

    /// Specializes the function for parameters within bounds, one for each word. Inputs stay, and
    /// so do results, but for signs of zeros.
    ///
    /// # Panics
    ///
    /// Unless there are bounds for each word of the parameters.
    pub fn specialize(self, parameters: Vec<Bounds>) -> Integrand {
        let limits = match self.kind {
            ShaderKind::Density | ShaderKind::Function => self.argument_bounds(Ranges::Declared),
            ShaderKind::Brdf | ShaderKind::Phase => {
                let unit = Bounds::Float(Floats::between(-MAX_UNIT_COMPONENT, MAX_UNIT_COMPONENT));
                vec![unit; self.point.inputs.len() - parameters.len()]
            }
        };
        let describe = |(input, &bounds): (usize, &Bounds)| {
            // Points may be below a one-sided surface, where boxes are not.
            let axis = self.axis(input).map(|axis| Axis { above: false, ..axis });
            Input { interval: false, bounds, axis, sorted: None }
        };
        let inputs: Vec<_> = limits.iter().chain(&parameters).enumerate().map(describe).collect();
        let is_signed = vec![false; self.point.outputs.len()];
        let point = specialize(&self.point, &inputs, &is_signed);
        Integrand { point, known: Some(parameters), ..self }
    }

    /// Static bounds on each word of the arguments.
    fn argument_bounds(&self, ranges: Ranges) -> Vec<Bounds> {
        let bounds = |argument: &Parameter| match (ranges, argument.scalar) {
            (Ranges::Paper, Scalar::F32) => Bounds::Float(Floats::finite()),
            _ => parameter_bounds(argument, ranges),
        };
        let words = self.arguments.iter().flat_map(|a| std::iter::repeat_n(bounds(a), a.size));
        words.collect()
    }

    /// Replaces the bounded colour by its luminance. Densities and functions stay as they are.
    pub fn with_luminance(self) -> Integrand {
        if matches!(self.kind, ShaderKind::Density | ShaderKind::Function) {
            return self;
        }
        let point = lift::with_luminance(&self.point, [0, 1, 2]);
        Integrand { outputs: vec![point.outputs.len() - 1], point, ..self }
    }

    /// The point shader restricted to the outputs to bound, which stay bit-identical.
    pub fn bounded(&self) -> Function {
        let mut function = self.point.clone();
        function.outputs =
            self.outputs.iter().map(|&output| self.point.outputs[output].clone()).collect();
        function.body.yields =
            self.outputs.iter().map(|&output| self.point.body.yields[output]).collect();
        rebuild(&function, Builder::new(&self.point.name, Rules::Exact))
    }

    /// Describes all inputs.
    pub fn inputs(&self, intervals: IntervalInputs, ranges: Ranges) -> Vec<Input> {
        let mut parameters: Vec<_> = self
            .parameters
            .iter()
            .flat_map(|p| std::iter::repeat_n(parameter_bounds(p, ranges), p.size))
            .collect();
        for (bounds, known) in parameters.iter_mut().zip(self.known.iter().flatten()) {
            let both = bounds.meet(known);
            *bounds = if both.is_empty() { *known } else { both };
        }
        let arguments = self.point.inputs.len() - parameters.len();
        let of_arguments = self.argument_bounds(ranges);
        let bounds_of_arguments =
            self.point.inputs[..arguments].iter().enumerate().map(|(input, port)| {
                match (ranges, &port.name[..]) {
                    _ if !of_arguments.is_empty() => of_arguments[input],
                    (_, "u.x" | "u.y") if self.entry == Entry::Sample => {
                        Bounds::Float(Floats::between(0.0, 1f32.next_down()))
                    }
                    (Ranges::Paper, _) => Bounds::Float(Floats::finite()),
                    (_, "wo.z")
                        if self.frame == Frame::Local && self.sides == SurfaceSides::One =>
                    {
                        Bounds::Float(Floats::between(0.0, MAX_UNIT_COMPONENT))
                    }
                    _ => Bounds::Float(Floats::between(-MAX_UNIT_COMPONENT, MAX_UNIT_COMPONENT)),
                }
            });
        let all = bounds_of_arguments.chain(parameters);
        let descriptions =
            all.zip(&self.point.inputs).enumerate().map(|(input, (bounds, port))| {
                let varies = match self.kind {
                    ShaderKind::Brdf | ShaderKind::Phase => port.name.starts_with("wi."),
                    ShaderKind::Density | ShaderKind::Function => input < arguments,
                };
                let interval = intervals == IntervalInputs::All || varies;
                Input { interval, bounds, axis: self.axis(input), sorted: self.sorted(input) }
            });
        descriptions.collect()
    }

    /// Which component of which unit vector an input is, if any. Directions come first, then the
    /// frame.
    fn axis(&self, input: usize) -> Option<Axis> {
        if self.kind == ShaderKind::Function {
            return self.axis_of_fact(input);
        }
        let vectors = match (self.kind, self.frame) {
            (ShaderKind::Density, _) => 0,
            (_, Frame::Local) => 2,
            (_, Frame::World) => 5,
        };
        // A sampler has two random numbers in place of wi.
        let input = match self.entry {
            Entry::Sample if input < 2 => return None,
            Entry::Sample => input + 1,
            _ => input,
        };
        let vector = input / 3;
        (vector < vectors).then_some(Axis {
            vector,
            component: input % 3,
            frame: vector >= 2,
            above: vector == 1 && self.sides == SurfaceSides::One,
        })
    }

    /// The same for an input of a function, whose unit vectors are declared.
    fn axis_of_fact(&self, input: usize) -> Option<Axis> {
        let [vector, component] = self.component_of_fact(input, VectorFact::Unit)?;
        Some(Axis { vector, component, frame: false, above: false })
    }

    /// Which component of which sorted vector an input of a function is, if any.
    fn sorted(&self, input: usize) -> Option<SortedComponent> {
        if self.kind != ShaderKind::Function {
            return None;
        }
        let [vector, component] = self.component_of_fact(input, VectorFact::Sorted)?;
        Some(SortedComponent { vector, component })
    }

    /// The vector with this fact that an input belongs to, counted from 0, and its component.
    fn component_of_fact(&self, input: usize, fact: VectorFact) -> Option<[usize; 2]> {
        let (mut first, mut vector) = (0, 0);
        for parameter in self.arguments.iter().chain(&self.parameters) {
            let component = input - first;
            let has_fact = parameter.fact == Some(fact);
            if component < parameter.size {
                return has_fact.then_some([vector, component]);
            }
            first += parameter.size;
            vector += usize::from(has_fact);
        }
        None
    }

    /// Derives the bounding shader.
    ///
    /// # Panics
    ///
    /// Panics if `inputs` does not have one description for each input.
    pub fn bound(&self, inputs: &[Input], options: &Options) -> Lifted {
        lift::run(&self.point, inputs, &self.outputs, options)
    }
}

/// Static bounds on each word of a parameter.
pub fn parameter_bounds(parameter: &Parameter, ranges: Ranges) -> Bounds {
    let [low, high] = parameter.range;
    match parameter.scalar {
        Scalar::Bool => Bounds::all(Type::Bool),
        Scalar::F32 => Bounds::Float(match ranges {
            Ranges::Declared if low == f64::NEG_INFINITY && high == f64::INFINITY => Floats::all(),
            Ranges::Declared => Floats::between(low as f32, high as f32),
            Ranges::Paper if low < 0.0 && low.is_finite() => Floats::finite(),
            Ranges::Paper => Floats { negative_zero: false, ..Floats::between(0.0, f32::MAX) },
        }),
        Scalar::I32 | Scalar::U32 => {
            let (min, max) = if parameter.scalar == Scalar::I32 {
                (low.max(f64::from(i32::MIN)), high.min(f64::from(i32::MAX)))
            } else {
                (low.max(0.0), high.min(f64::from(u32::MAX)))
            };
            // Bounds on integers are signed.
            let fits = max <= f64::from(i32::MAX);
            Bounds::Int(if fits {
                Pieces::one(min as i32, max as i32)
            } else {
                Pieces::one(i32::MIN, i32::MAX)
            })
        }
    }
}

/// Makes a function take directions in world space: inputs `wi`, `wo`, `n`, `t`, `b`, then the
/// other inputs of `local`.
fn to_world(local: &Function) -> Function {
    let mut builder = Builder::new(&local.name, Rules::Exact);
    let [wi, wo, n, t, b] = ["wi", "wo", "n", "t", "b"].map(|name| {
        ["x", "y", "z"].map(|axis| builder.input(&format!("{name}.{axis}"), Type::F32))
    });
    let directions =
        [wi, wo].into_iter().flat_map(|w| [t, b, n].map(|axis| dot(&mut builder, w, axis)));
    let mut inputs: Vec<_> = directions.collect();
    inputs.extend(local.inputs[6..].iter().map(|port| builder.input(&port.name, port.ty)));
    let (builder, values) =
        append(local, builder, &inputs, |builder: &mut Builder, op: Op, args: &[Value]| {
            builder.op(op, args)
        });
    builder.finish(local.outputs.iter().map(|port| port.name.clone()).zip(values))
}

fn dot(builder: &mut Builder, a: [Value; 3], b: [Value; 3]) -> Value {
    let [x, y, z] = [0, 1, 2].map(|k| builder.op(Op::Mul, &[a[k], b[k]]));
    let sum = builder.op(Op::Add, &[x, y]);
    builder.op(Op::Add, &[sum, z])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jit::Arena;
    use crate::target::Target;

    #[test]
    fn declared_positions_are_limited() {
        let source = "fn density(p: vec3f) -> f32 { return 2.0 + sin(2.0 * p.x); }";
        let shader = Shader::parse("waves.wgsl", source).expect("the shader is valid");
        let density =
            Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
        let bounds = |ranges, x| {
            let inputs = density.inputs(IntervalInputs::Light, ranges);
            let lifted = density.bound(&inputs, &Options::default());
            let kernel = BoundingKernel::compile(&Arena::new(), &lifted, Target::Interpreter)
                .expect("it compiles");
            let [[bounds]] = kernel.bound::<3, 1>(&[], &[[x, [0.0; 2], [0.0; 2]]])[..] else {
                panic!("one box has one bound")
            };
            bounds
        };
        let [low, high] = bounds(Ranges::Declared, [0.0, 0.25]);
        assert!((1.9..=2.0).contains(&low) && (2.4..2.6).contains(&high), "{low} {high}");
        let [low, high] = bounds(Ranges::Declared, [-MAX_POSITION, MAX_POSITION]);
        assert!(low <= 1.0 && high >= 3.0, "{low} {high}");
        // sin(∞) is NaN, and the density 0.
        assert_eq!(bounds(Ranges::Paper, [0.0, f32::MAX])[0], 0.0);
    }

    #[test]
    fn bounds_of_specialized_functions_assume_declared_ranges_too() {
        let source = "struct Material {
                /// range: [0, 2], default: 1
                scale: f32,
                /// range: [0, 1], default: 1
                weight: f32,
            }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
                return vec3f(m.scale + m.weight * exp(wi.x));
            }";
        let shader = Shader::parse("scaled.wgsl", source).expect("the shader is valid");
        let general =
            Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
        let known = [Bounds::all(Type::F32), Bounds::constant(Type::F32, 0)];
        let special = general.specialize(known.to_vec());
        assert!(!special.point.to_string().contains("exp"), "{}", special.point);
        let inputs = special.inputs(IntervalInputs::All, Ranges::Declared);
        let limits: Vec<_> = inputs[6..].iter().map(|input| input.bounds).collect();
        assert_eq!(limits, [Bounds::Float(Floats::between(0.0, 2.0)), known[1]]);
    }

    #[test]
    fn restriction_to_bounded_outputs_preserves_bits() {
        let source = "struct Material { k: vec3f }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.k * (wi.x + 0.25); }";
        let shader = Shader::parse("k.wgsl", source).expect("the shader is valid");
        let settings = Settings::default();
        let [with, without] = [Integrand::new, Integrand::without_cosine].map(|new| {
            new(&shader, &settings, Frame::Local).expect("it compiles").with_luminance()
        });
        let words = [0.5, 0.1, 0.75, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0].map(f32::to_bits);
        let run = |function: &Function| {
            crate::interpreter::run(function, &[], &words, 100).expect("there is no loop")
        };
        for integrand in [&with, &without] {
            let bounded = integrand.bounded();
            assert_eq!(bounded.outputs.len(), 1);
            assert_eq!(run(&bounded), [run(&integrand.point)[integrand.outputs[0]]]);
        }
        let [s, brdf] =
            [&with, &without].map(|integrand| f32::from_bits(run(&integrand.bounded())[0]));
        assert!((s - 0.75 * brdf).abs() < 1e-6 * brdf && brdf > 1.3, "{s} {brdf}");
    }
}
