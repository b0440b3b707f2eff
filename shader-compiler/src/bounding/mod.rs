//! Bounding shaders of materials: which inputs a box spans and what they can be, and compiled code
//! to run on many boxes.
//!
//! ```
//! use lightbound_shader::bounding::{Boxes, BoundingKernel, Frame, Integrand, Limits, Ranges, Spans};
//! use lightbound_shader::lift::{Options, Sides};
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
//! let inputs = integrand.inputs(Spans::Light, Ranges::Declared);
//! let options = Options { sides: Sides::Upper, ..Options::default() };
//! let lifted = integrand.bound(&inputs, &options);
//! let kernel = BoundingKernel::compile(&Arena::new(), &lifted, Target::best())?;
//!
//! // One box: all directions around the normal with |x|, |y| ≤ 0.1, seen from the normal, for the exponent 10.
//! let mut boxes = Boxes::new(&kernel, 1);
//! for (input, ends) in [[-0.1, 0.1], [-0.1, 0.1], [0.98, 1.0]].into_iter().enumerate() {
//!     boxes.set(0, input, ends);
//! }
//! for (input, x) in [(3, 0.0), (4, 0.0), (5, 1.0), (6, 10.0)] {
//!     boxes.set(0, input, [x, x]);
//! }
//! let mut limits = Limits::new(&kernel, 1);
//! kernel.run(&[], &boxes, &mut limits);
//! let [_, upper] = limits.get(0, 0);
//! assert!((1.9..2.0).contains(&upper));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod directions;
mod split;

use crate::analysis::{Bounds, Floats, Pieces};
use crate::frontend::{
    Entry, Parameter, Scalar, Settings, Setup, Shader, ShaderError, Sides as Surface,
};
use crate::ir::rewrite::{append, clean};
use crate::ir::{Builder, Emit, Function, Op, Rules, Type, Value};
use crate::jit::Arena;
use crate::kernel::{Batch, CompileError, Kernel};
use crate::lift::{self, Input, Lifted, Options, Sides};
use crate::passes;
use crate::relations::{Axis, Relations, UNIT};
use crate::target::Target;
use crate::texture::Texture;
pub use directions::{Direction, Precondition, Unmet};
pub use split::Split;

/// Where directions are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Frame {
    /// In the shading frame, as the shader takes them.
    #[default]
    Local,
    /// In the world, with the frame as further inputs: `n`, the normal, and the tangents `t` and
    /// `b`.
    World,
}

/// Which inputs boxes span, as intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Spans {
    /// The light direction: s(x, ω̂).
    #[default]
    Light,
    /// All: s(x̂, ω̂).
    All,
}

/// What is known of inputs at compile time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ranges {
    /// Directions are unit vectors, `wo` on the upper side of a surface with one side; parameters
    /// are in their declared ranges.
    #[default]
    Declared,
    /// As Clarberg et al. 2010 §6.1 have it: inputs are finite, and parameters, but for those
    /// declared to be negative as well, have no minus sign, not even that of −0.
    Paper,
}

/// The integrand s of a material as a point shader, and what its inputs are.
#[derive(Clone, Debug)]
pub struct Integrand {
    /// The point shader.
    pub point: Function,
    /// Numbers of its outputs that are bounded: of the colours of s, or of its luminance.
    pub outputs: Vec<usize>,
    frame: Frame,
    sides: Surface,
    parameters: Vec<Parameter>,
}

impl Integrand {
    /// The integrand of a shader.
    pub fn new(
        shader: &Shader,
        settings: &Settings,
        frame: Frame,
    ) -> Result<Integrand, ShaderError> {
        Integrand::of(shader, settings, frame, Entry::Shaded)
    }

    /// The BRDF alone, in the place of s: for those who measure directions by their cosines.
    pub fn without_cosine(
        shader: &Shader,
        settings: &Settings,
        frame: Frame,
    ) -> Result<Integrand, ShaderError> {
        Integrand::of(shader, settings, frame, Entry::Brdf)
    }

    fn of(
        shader: &Shader,
        settings: &Settings,
        frame: Frame,
        entry: Entry,
    ) -> Result<Integrand, ShaderError> {
        let local = passes::optimize(&shader.function(entry, settings)?);
        let point = match frame {
            Frame::Local => local,
            Frame::World => passes::optimize(&in_world(&local)),
        };
        let parameters = match settings.setup {
            Setup::Within => shader.parameters(),
            Setup::Before => shader.members(),
        };
        Ok(Integrand {
            point,
            outputs: vec![0, 1, 2],
            frame,
            sides: shader.sides(),
            parameters: parameters.to_vec(),
        })
    }

    /// The same, of which the luminance is bounded in place of the colours.
    pub fn with_luminance(self) -> Integrand {
        let point = lift::with_luminance(&self.point, [0, 1, 2]);
        Integrand { outputs: vec![point.outputs.len() - 1], point, ..self }
    }

    /// The point shader of the outputs that are bounded, to the bit, and of no others.
    pub fn bounded(&self) -> Function {
        let mut function = self.point.clone();
        function.outputs =
            self.outputs.iter().map(|&output| self.point.outputs[output].clone()).collect();
        function.body.yields =
            self.outputs.iter().map(|&output| self.point.body.yields[output]).collect();
        clean(&function, Builder::new(&self.point.name, Rules::Exact))
    }

    /// A description of all inputs.
    pub fn inputs(&self, spans: Spans, ranges: Ranges) -> Vec<Input> {
        let parameters =
            self.parameters.iter().flat_map(|p| std::iter::repeat_n(known(p, ranges), p.size));
        let directions =
            self.point.inputs.len() - self.parameters.iter().map(|p| p.size).sum::<usize>();
        let directions =
            self.point.inputs[..directions].iter().map(|port| match (ranges, &port.name[..]) {
                (Ranges::Paper, _) => Bounds::Float(Floats::finite()),
                (_, "wo.z") if self.frame == Frame::Local && self.sides == Surface::One => {
                    Bounds::Float(Floats::between(0.0, UNIT))
                }
                _ => Bounds::Float(Floats::between(-UNIT, UNIT)),
            });
        let all = directions.chain(parameters);
        let described = all.zip(&self.point.inputs).enumerate().map(|(input, (bounds, port))| {
            let interval = spans == Spans::All || port.name.starts_with("wi.");
            Input { interval, bounds, axis: self.axis(input) }
        });
        described.collect()
    }

    /// The unit vector that an input is part of: directions come first, then the frame.
    fn axis(&self, input: usize) -> Option<Axis> {
        let vectors = if self.frame == Frame::World { 5 } else { 2 };
        let vector = input / 3;
        (vector < vectors).then_some(Axis {
            vector,
            component: input % 3,
            frame: vector >= 2,
            above: vector == 1 && self.sides == Surface::One,
        })
    }

    /// The bounding shader of s.
    ///
    /// *Panics* if there is not a description of each input.
    pub fn bound(&self, inputs: &[Input], options: &Options) -> Lifted {
        lift::run(&self.point, inputs, &self.outputs, options)
    }

    /// The bounding shader of s, each output on sides of its own, whatever the options tell.
    ///
    /// *Panics* if there is not a description of each input, or if there are more outputs than
    /// sides.
    pub fn bound_by_output(&self, inputs: &[Input], sides: &[Sides], options: &Options) -> Lifted {
        assert!(self.outputs.len() <= sides.len(), "each output has sides");
        let outputs: Vec<_> =
            std::iter::zip(self.outputs.iter().copied(), sides.iter().copied()).collect();
        lift::run_by_output(&self.point, inputs, &outputs, options)
    }
}

/// What a word of a parameter can be.
fn known(parameter: &Parameter, ranges: Ranges) -> Bounds {
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
            let (least, most) = if parameter.scalar == Scalar::I32 {
                (low.max(f64::from(i32::MIN)), high.min(f64::from(i32::MAX)))
            } else {
                (low.max(0.0), high.min(f64::from(u32::MAX)))
            };
            // Integers are ordered as signed.
            let fits = most <= f64::from(i32::MAX);
            Bounds::Int(if fits {
                Pieces::one(least as i32, most as i32)
            } else {
                Pieces::one(i32::MIN, i32::MAX)
            })
        }
    }
}

/// The function with directions in the world: inputs `wi`, `wo`, `n`, `t`, `b`, then the rest.
fn in_world(local: &Function) -> Function {
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

/// Compiled code of a bounding shader, to be run from any thread.
#[derive(Clone, Debug)]
pub struct BoundingKernel {
    kernel: Kernel,
    /// For each input of the point shader, its first port and whether it is an interval.
    inputs: Vec<(usize, bool)>,
    /// For each of them, whether all between two floats that it can be, it can be.
    in_one_piece: Vec<bool>,
    /// Sides of each output.
    sides: Vec<Sides>,
    precondition: Precondition,
    /// Whether bounds depend on the precondition.
    is_related: bool,
}

impl BoundingKernel {
    /// Compiles a bounding shader for a target.
    pub fn compile(
        arena: &Arena,
        lifted: &Lifted,
        target: Target,
    ) -> Result<BoundingKernel, CompileError> {
        Ok(BoundingKernel::new(
            Kernel::compile(arena, &passes::lower(&lifted.function), target)?,
            lifted,
        ))
    }

    /// Compiled code of a bounding shader, with what its inputs are.
    pub(crate) fn new(kernel: Kernel, lifted: &Lifted) -> BoundingKernel {
        let in_one_piece = |input: &Input| match &input.bounds {
            Bounds::Float(floats) => {
                floats.pieces.iter().count() == 1
                    && (floats.positive_zero || !floats.pieces.contains(0.0))
            }
            Bounds::Int(_) | Bounds::Bool(_) => false,
        };
        BoundingKernel {
            kernel,
            inputs: lifted.layout(),
            in_one_piece: lifted.inputs.iter().map(in_one_piece).collect(),
            sides: lifted.sides.clone(),
            precondition: Precondition::new(directions::directions(lifted)),
            is_related: lifted.relations != Relations::NONE,
        }
    }

    /// The code.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// What boxes have to meet, if the bounds of related code depend on it.
    pub fn precondition(&self) -> Option<&Precondition> {
        self.is_related.then_some(&self.precondition)
    }

    /// Bounds all boxes; `textures` are those of the shader, in the order of its declarations.
    ///
    /// *Panics* if there are fewer textures than the shader reads, or if boxes or limits were made
    /// for another kernel or are not equally many. With debug assertions, also if the bounds of a
    /// box are void for not meeting the [precondition](Self::precondition).
    pub fn run(&self, textures: &[&Texture], boxes: &Boxes, limits: &mut Limits) {
        self.check(boxes);
        self.kernel.run(textures, &boxes.batch, &mut limits.batch);
    }

    /// Checks the precondition of all boxes, in builds with debug assertions.
    fn check(&self, boxes: &Boxes) {
        let Some(precondition) = self.precondition().filter(|_| cfg!(debug_assertions)) else {
            return;
        };
        for row in 0..boxes.batch.rows() {
            if let Err(unmet) = precondition.check(|input| boxes.ends(row, input)) {
                panic!("the precondition of related bounds is not met by box {row}: {unmet}");
            }
        }
    }
}

/// Boxes of inputs, one in each row.
#[derive(Clone, Debug)]
pub struct Boxes {
    batch: Batch,
    inputs: Vec<(usize, bool)>,
}

impl Boxes {
    /// Room for so many boxes.
    pub fn new(kernel: &BoundingKernel, rows: usize) -> Boxes {
        let batch = Batch::new(kernel.kernel.target(), kernel.kernel.inputs().len(), rows);
        Boxes { batch, inputs: kernel.inputs.clone() }
    }

    /// Sets an input of the point shader to an interval, whose ends are equal for inputs that are
    /// numbers.
    pub fn set(&mut self, row: usize, input: usize, ends: [f32; 2]) {
        self.set_bits(row, input, ends.map(f32::to_bits));
    }

    /// The same for inputs of any type, by the bits of the ends.
    pub fn set_bits(&mut self, row: usize, input: usize, ends: [u32; 2]) {
        let (port, interval) = self.inputs[input];
        self.batch.set_bits(row, port, ends[0]);
        if interval {
            self.batch.set_bits(row, port + 1, ends[1]);
        }
    }

    /// Sets an input that is an interval in all boxes, each to ends of its own.
    ///
    /// *Panics* if the input is no interval, or if there are not as many ends as boxes.
    pub fn set_all(&mut self, input: usize, lo: &[f32], hi: &[f32]) {
        let (port, interval) = self.inputs[input];
        assert!(interval, "input {input} is a number");
        self.batch.set_port(port, bytemuck::cast_slice(lo));
        self.batch.set_port(port + 1, bytemuck::cast_slice(hi));
    }

    /// Sets an input that is a number to the same bits in all boxes.
    ///
    /// *Panics* if the input is an interval.
    pub fn fill(&mut self, input: usize, bits: u32) {
        let (port, interval) = self.inputs[input];
        assert!(!interval, "input {input} is an interval");
        self.batch.fill_port(port, bits);
    }
}

impl Boxes {
    /// Boxes that are laid out as the kernel takes them.
    pub(crate) fn of(kernel: &BoundingKernel, batch: Batch) -> Boxes {
        Boxes { batch, inputs: kernel.inputs.clone() }
    }

    /// The ends of an input that is a float.
    fn ends(&self, row: usize, input: usize) -> [f32; 2] {
        let (port, interval) = self.inputs[input];
        [port, if interval { port + 1 } else { port }].map(|port| self.batch.get(row, port))
    }

    /// Whether an input is within bounds, in all boxes.
    pub(crate) fn are_within(&self, input: usize, bounds: &Bounds) -> bool {
        let (port, interval) = self.inputs[input];
        (0..self.batch.rows()).all(|row| {
            let lo = self.batch.bits(row, port);
            bounds.holds([lo, if interval { self.batch.bits(row, port + 1) } else { lo }])
        })
    }
}

/// Bounds of outputs, one row for each box.
#[derive(Clone, Debug)]
pub struct Limits {
    batch: Batch,
    /// For each output, where its lower and its upper bound stand.
    ports: Vec<[Option<usize>; 2]>,
}

impl Limits {
    /// Room for the bounds of so many boxes.
    pub fn new(kernel: &BoundingKernel, rows: usize) -> Limits {
        let mut next = 0..;
        let ports = kernel.sides.iter().map(|&sides| {
            let lo = if sides == Sides::Upper { None } else { next.next() };
            [lo, if sides == Sides::Lower { None } else { next.next() }]
        });
        let ports = ports.collect();
        Limits {
            batch: Batch::new(kernel.kernel.target(), kernel.kernel.outputs().len(), rows),
            ports,
        }
    }

    /// The bounds as the kernel lays them out.
    pub(crate) fn into_batch(self) -> Batch {
        self.batch
    }

    /// Bounds of an output: infinite on a side that was not asked for. NaN says that there is no
    /// bound.
    pub fn get(&self, row: usize, output: usize) -> [f32; 2] {
        let [lo, hi] = self.ports[output].map(|port| port.map(|port| self.batch.get(row, port)));
        [lo.unwrap_or(f32::NEG_INFINITY), hi.unwrap_or(f32::INFINITY)]
    }

    /// The upper bounds of an output for all boxes, which must have been asked for, as
    /// [`get`](Self::get) has them.
    ///
    /// *Panics* if there is not one place for each box.
    pub fn upper(&self, output: usize, to: &mut [f32]) {
        let [_, hi] = self.ports[output];
        self.batch
            .read_port(hi.expect("upper bounds were asked for"), bytemuck::cast_slice_mut(to));
    }

    /// The lower bounds of an output for all boxes, likewise.
    ///
    /// *Panics* if there is not one place for each box.
    pub fn lower(&self, output: usize, to: &mut [f32]) {
        let [lo, _] = self.ports[output];
        self.batch
            .read_port(lo.expect("lower bounds were asked for"), bytemuck::cast_slice_mut(to));
    }

    /// Whether an output that is a truth value may be true: so its upper bound says, which must
    /// have been asked for.
    pub fn may_be_true(&self, row: usize, output: usize) -> bool {
        let [_, hi] = self.ports[output];
        self.batch.bits(row, hi.expect("upper bounds were asked for")) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Nan;

    #[test]
    fn outputs_have_sides_of_their_own() {
        let source = "struct Material { k: vec3f }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.k * wi.x; }";
        let shader = Shader::parse("k.wgsl", source).expect("the shader is right");
        let integrand =
            Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
        let inputs = integrand.inputs(Spans::Light, Ranges::Paper);
        let limits = |sides: [Sides; 3], options: &Options| {
            let lifted = integrand.bound_by_output(&inputs, &sides, options);
            let kernel = BoundingKernel::compile(&Arena::new(), &lifted, Target::Interpreter)
                .expect("it compiles");
            let (mut boxes, mut limits) = (Boxes::new(&kernel, 1), Limits::new(&kernel, 1));
            let ends = [
                [-1.0, 2.0],
                [0.0, 0.0],
                [1.0, 1.0],
                [0.0, 0.0],
                [0.0, 0.0],
                [1.0, 1.0],
                [1.0, 1.0],
                [2.0, 2.0],
                [3.0, 3.0],
            ];
            ends.into_iter().enumerate().for_each(|(input, ends)| boxes.set(0, input, ends));
            kernel.run(&[], &boxes, &mut limits);
            [0, 1, 2].map(|output| limits.get(0, output))
        };
        for nan in [Nan::Propagate, Nan::Suppress, Nan::Ignore] {
            let found = limits(
                [Sides::Lower, Sides::Both, Sides::Upper],
                &Options { nan, ..Options::default() },
            );
            assert_eq!(
                found,
                [[-1.0, f32::INFINITY], [-2.0, 4.0], [f32::NEG_INFINITY, 6.0]],
                "{nan:?}"
            );
        }
    }

    #[test]
    fn what_is_bounded_is_evaluated_to_the_bit() {
        let source = "struct Material { k: vec3f }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.k * (wi.x + 0.25); }";
        let shader = Shader::parse("k.wgsl", source).expect("the shader is right");
        let settings = Settings::default();
        let [with, without] = [Integrand::new, Integrand::without_cosine]
            .map(|of| of(&shader, &settings, Frame::Local).expect("it compiles").with_luminance());
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

    /// Runs a related kernel on a box of `wi` for which it was made, and on another one.
    fn run_on(wi: [[f32; 2]; 3], relations: Relations) {
        let source = "struct Material { k: f32 }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.k * dot(wi, wo)); }";
        let shader = Shader::parse("k.wgsl", source).expect("the shader is right");
        let integrand =
            Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
        let options = Options { relations, ..Options::default() };
        let lifted = integrand.bound(&integrand.inputs(Spans::Light, Ranges::Paper), &options);
        let kernel =
            BoundingKernel::compile(&Arena::new(), &lifted, Target::best()).expect("it compiles");
        let (mut boxes, mut limits) = (Boxes::new(&kernel, 2), Limits::new(&kernel, 2));
        for (row, wi) in [[[-0.1, 0.1], [-0.1, 0.1], [0.9, 1.0]], wi].into_iter().enumerate() {
            let numbers = [0.0, 0.6, 0.8, 1.0].map(|x| [x, x]);
            wi.into_iter()
                .chain(numbers)
                .enumerate()
                .for_each(|(input, ends)| boxes.set(row, input, ends));
        }
        kernel.run(&[], &boxes, &mut limits);
        assert!(limits.get(1, 0)[1] > 0.0);
    }

    #[test]
    fn boxes_of_code_that_is_not_related_have_no_precondition() {
        run_on([[0.0, 0.0], [0.0, 0.0], [0.5, 2.0]], Relations::NONE);
        run_on([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]], Relations::all());
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(
        expected = "box 1: wi.z is 0.5..2, and components of unit vectors are from -1 to 1"
    )]
    fn components_beyond_those_of_unit_vectors_are_caught() {
        run_on([[0.0, 0.0], [0.0, 0.0], [0.5, 2.0]], Relations::all());
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(
        expected = "box 1: wi contains no unit vector: the square of its length is 0.25..0.765625"
    )]
    fn boxes_without_a_unit_vector_are_caught() {
        run_on([[0.0, 0.0], [0.0, 0.0], [0.5, 0.875]], Relations::all());
    }
}
