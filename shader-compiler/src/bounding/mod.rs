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
mod split;

use crate::builder::rewrite::{append, rebuild};
use crate::builder::{Builder, Rules};
use crate::error::CompileError;
use crate::frontend::{
    Entry, Parameter, Scalar, Settings, Setup, Shader, ShaderError, ShaderKind, SurfaceSides,
    VectorFact,
};
use crate::interval::{Bounds, Floats, Pieces};
use crate::ir::{Emit, Function, Op, Type, Value};
use crate::jit::Arena;
use crate::kernel::{Batch, HoistedKernel, Kernel};
use crate::lift::{self, BoundSides, Input, Lifted, Options};
use crate::passes::{self, unroll};
use crate::relations::{Axis, MAX_UNIT_COMPONENT, Relations, SortedComponent};
use crate::specialize::specialize;
use crate::target::Target;
use crate::texture::Texture;
pub use directions::{Direction, Precondition, PreconditionError};
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
        let local = passes::optimize(&shader.function(entry, settings)?);
        let point = match frame {
            // Without loops, ranges are known: those of coordinates that grow from octave to octave
            // would be infinite.
            Frame::Local if matches!(entry, Entry::Density | Entry::Function) => {
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
            _ if point.outputs[0].name == "density" => 1,
            _ => 3,
        };
        Ok(Integrand {
            point,
            outputs: (0..outputs).collect(),
            kind: shader.kind(),
            frame,
            sides: shader.sides(),
            arguments: shader.arguments().to_vec(),
            parameters: parameters.to_vec(),
            known: None,
        })
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

/// A compiled bounding shader, callable from any thread.
#[derive(Clone, Debug)]
pub struct BoundingKernel {
    kernel: HoistedKernel,
    /// For each input of the point shader, its first port and whether it is an interval.
    inputs: Vec<(usize, bool)>,
    /// For each input of the point shader, whether its static bounds are a single interval.
    is_contiguous: Vec<bool>,
    /// The bound sides that the code computes.
    sides: BoundSides,
    precondition: Precondition,
    /// Whether the code uses relations, so that bounds depend on the precondition.
    uses_relations: bool,
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

    /// Compiles a bounding shader for batches whose boxes share all scalar inputs. What depends on
    /// these alone is computed by [`hoist`](Self::hoist), which must precede [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// Under the conditions of [`Kernel::compile`].
    pub fn compile_hoisted(
        arena: &Arena,
        lifted: &Lifted,
        target: Target,
    ) -> Result<BoundingKernel, CompileError> {
        let layout = lifted.layout();
        let is_scalar = |port| layout.iter().any(|&(first, interval)| first == port && !interval);
        let function = passes::lower(&lifted.function);
        let kernel = HoistedKernel::compile(arena, &function, target, is_scalar)?;
        Ok(BoundingKernel::with_kernel(kernel, lifted))
    }

    /// Wraps the compiled code of a bounding shader.
    pub fn new(kernel: Kernel, lifted: &Lifted) -> BoundingKernel {
        BoundingKernel::with_kernel(HoistedKernel::from(kernel), lifted)
    }

    fn with_kernel(kernel: HoistedKernel, lifted: &Lifted) -> BoundingKernel {
        let is_contiguous = |input: &Input| match &input.bounds {
            Bounds::Float(floats) => {
                floats.pieces.iter().count() == 1
                    && (floats.positive_zero || !floats.pieces.contains(0.0))
            }
            Bounds::Int(_) | Bounds::Bool(_) => false,
        };
        BoundingKernel {
            kernel,
            inputs: lifted.layout(),
            is_contiguous: lifted.inputs.iter().map(is_contiguous).collect(),
            sides: lifted.sides,
            precondition: Precondition::of(lifted),
            uses_relations: lifted.relations != Relations::NONE,
        }
    }

    /// The compiled code, without what is hoisted.
    pub fn kernel(&self) -> &Kernel {
        self.kernel.rest()
    }

    /// Whether [`hoist`](Self::hoist) computes anything.
    pub fn is_hoisted(&self) -> bool {
        self.kernel.is_hoisted()
    }

    /// Whether the bounds depend on an input of the point shader. Others need not be set, but the
    /// [precondition](Self::precondition) is on all.
    pub fn reads(&self, input: usize) -> bool {
        let (port, interval) = self.inputs[input];
        self.kernel.reads(port) || (interval && self.kernel.reads(port + 1))
    }

    /// Number of bounded outputs.
    fn output_count(&self) -> usize {
        self.kernel().outputs().len() / if self.sides == BoundSides::Both { 2 } else { 1 }
    }

    /// The precondition on boxes; `None` if the code does not depend on it.
    pub fn precondition(&self) -> Option<&Precondition> {
        self.uses_relations.then_some(&self.precondition)
    }

    /// Bounds all boxes. `textures` are in the order in which the shader declares them. If the
    /// kernel [is hoisted](Self::is_hoisted), [`hoist`](Self::hoist) must have run on the boxes
    /// since their scalar inputs changed.
    ///
    /// # Panics
    ///
    /// Panics if there are fewer textures than the shader reads, if `boxes` or `bounds` were
    /// created for another kernel, or if their numbers of rows differ. With debug assertions, also
    /// panics if a box violates the [precondition](Self::precondition), since its bounds would not
    /// be valid.
    pub fn run(&self, textures: &[&Texture], boxes: &BoxBatch, bounds: &mut BoundsBatch) {
        self.check(boxes);
        self.kernel.run(textures, &boxes.batch, &mut bounds.batch);
    }

    /// Bounds boxes of float inputs, given by their endpoints. Returns bounds on each output like
    /// [`BoundsBatch::get`].
    ///
    /// # Panics
    ///
    /// Panics under the conditions of [`run`](Self::run), if values are hoisted, if the shader does
    /// not have I inputs and O outputs, all of them floats, or if the endpoints of a scalar input
    /// differ.
    pub fn bound<const I: usize, const O: usize>(
        &self,
        textures: &[&Texture],
        boxes: &[[[f32; 2]; I]],
    ) -> Vec<[[f32; 2]; O]> {
        assert!(!self.kernel.is_hoisted(), "boxes may have different scalar inputs");
        let mut ports = self.kernel().inputs().iter().chain(self.kernel().outputs());
        assert!(ports.all(|port| port.ty == Type::F32), "an input or output is not a float");
        let mut rows = BoxBatch::new(self, boxes.len());
        let mut bounds = BoundsBatch::new(self, boxes.len());
        assert_eq!(
            (rows.inputs.len(), bounds.ports.len()),
            (I, O),
            "the numbers of inputs and outputs differ from those of the shader"
        );
        for (row, endpoints) in boxes.iter().enumerate() {
            for (input, &[lo, hi]) in endpoints.iter().enumerate() {
                let is_interval = self.inputs[input].1;
                assert!(
                    is_interval || lo == hi,
                    "input {input} of box {row} is a scalar, but its endpoints differ"
                );
                rows.set(row, input, [lo, hi]);
            }
        }
        rows.batch.truncate(boxes.len());
        self.run(textures, &rows, &mut bounds);
        (0..boxes.len()).map(|row| std::array::from_fn(|output| bounds.get(row, output))).collect()
    }

    /// Computes what depends on the scalar inputs alone, if the kernel was compiled for that. They
    /// must be set, and be the same in all boxes. It holds for any number of [`run`](Self::run)s.
    ///
    /// # Panics
    ///
    /// Panics if there are fewer textures than the shader reads, or if `boxes` were created for
    /// another kernel.
    pub fn hoist(&self, textures: &[&Texture], boxes: &mut BoxBatch) {
        self.kernel.hoist(textures, &mut boxes.batch, &mut boxes.hoisted);
    }

    /// Checks the precondition of all boxes, in builds with debug assertions.
    fn check(&self, boxes: &BoxBatch) {
        let Some(precondition) = self.precondition().filter(|_| cfg!(debug_assertions)) else {
            return;
        };
        for row in 0..boxes.batch.rows() {
            if let Err(error) = precondition.check(|input| boxes.endpoints(row, input)) {
                panic!("box {row} violates the precondition of related bounds: {error}");
            }
        }
    }
}

/// A batch of boxes of inputs, one per row.
#[derive(Clone, Debug)]
pub struct BoxBatch {
    batch: Batch,
    /// Buffer for hoisted values.
    hoisted: Batch,
    inputs: Vec<(usize, bool)>,
}

impl BoxBatch {
    /// Allocates `rows` boxes.
    pub fn new(kernel: &BoundingKernel, rows: usize) -> BoxBatch {
        let target = kernel.kernel().target();
        let batch = Batch::new(target, kernel.kernel().inputs().len(), rows);
        BoxBatch { batch, hoisted: Batch::new(target, 0, 0), inputs: kernel.inputs.clone() }
    }

    /// Prepares the boxes for another kernel of a shader with the same inputs. All inputs must be
    /// set again.
    pub fn reshape(&mut self, kernel: &BoundingKernel) {
        self.batch.reshape(kernel.kernel().inputs().len(), self.batch.rows());
    }

    /// Sets an input of the point shader to an interval. The endpoints of a scalar input must be
    /// equal.
    pub fn set(&mut self, row: usize, input: usize, endpoints: [f32; 2]) {
        self.set_bits(row, input, endpoints.map(f32::to_bits));
    }

    /// Sets an input of any type to an interval, given by the bits of its endpoints.
    pub fn set_bits(&mut self, row: usize, input: usize, endpoints: [u32; 2]) {
        let (port, interval) = self.inputs[input];
        self.batch.set_bits(row, port, endpoints[0]);
        if interval {
            self.batch.set_bits(row, port + 1, endpoints[1]);
        }
    }

    /// Sets an interval input in all boxes; `lo` and `hi` have one element for each box.
    ///
    /// # Panics
    ///
    /// Panics if the input is a scalar, or if the number of endpoints differs from the number of
    /// boxes.
    pub fn set_all(&mut self, input: usize, lo: &[f32], hi: &[f32]) {
        let (port, interval) = self.inputs[input];
        assert!(interval, "input {input} is a scalar");
        self.batch.set_port(port, bytemuck::cast_slice(lo));
        self.batch.set_port(port + 1, bytemuck::cast_slice(hi));
    }

    /// Sets a scalar input to the same bits in all boxes.
    ///
    /// # Panics
    ///
    /// Panics if the input is an interval.
    pub fn fill(&mut self, input: usize, bits: u32) {
        let (port, interval) = self.inputs[input];
        assert!(!interval, "input {input} is an interval");
        self.batch.fill_port(port, bits);
    }

    /// Sets an interval input to the same endpoints in all boxes, given by their bits.
    ///
    /// # Panics
    ///
    /// Panics if the input is a scalar.
    pub fn fill_interval(&mut self, input: usize, [lo, hi]: [u32; 2]) {
        let (port, interval) = self.inputs[input];
        assert!(interval, "input {input} is a scalar");
        self.batch.fill_port(port, lo);
        self.batch.fill_port(port + 1, hi);
    }

    /// Wraps a batch in the layout of the kernel's inputs.
    pub fn from_batch(kernel: &BoundingKernel, batch: Batch) -> BoxBatch {
        let hoisted = Batch::new(kernel.kernel().target(), 0, 0);
        BoxBatch { batch, hoisted, inputs: kernel.inputs.clone() }
    }

    /// The endpoints of a float input.
    pub(crate) fn endpoints(&self, row: usize, input: usize) -> [f32; 2] {
        let (port, interval) = self.inputs[input];
        [port, if interval { port + 1 } else { port }].map(|port| self.batch.get(row, port))
    }
}

/// A batch of bounds on outputs, one row for each box.
#[derive(Clone, Debug)]
pub struct BoundsBatch {
    batch: Batch,
    /// For each output, the ports of its lower and its upper bound.
    ports: Vec<[Option<usize>; 2]>,
}

impl BoundsBatch {
    /// Allocates bounds for `rows` boxes.
    pub fn new(kernel: &BoundingKernel, rows: usize) -> BoundsBatch {
        let ports = |k| match kernel.sides {
            BoundSides::Upper => [None, Some(k)],
            BoundSides::Lower => [Some(k), None],
            BoundSides::Both => [2 * k, 2 * k + 1].map(Some),
        };
        BoundsBatch {
            batch: Batch::new(kernel.kernel().target(), kernel.kernel().outputs().len(), rows),
            ports: (0..kernel.output_count()).map(ports).collect(),
        }
    }

    /// Returns the bounds in the layout of the kernel's outputs.
    pub fn into_batch(self) -> Batch {
        self.batch
    }

    /// Bounds on an output; infinite on a side that was not requested. NaN means unbounded.
    pub fn get(&self, row: usize, output: usize) -> [f32; 2] {
        let [lo, hi] = self.ports[output].map(|port| port.map(|port| self.batch.get(row, port)));
        [lo.unwrap_or(f32::NEG_INFINITY), hi.unwrap_or(f32::INFINITY)]
    }

    /// The bits of the bounds on an output of any type; `None` on a side that was not requested.
    pub fn get_bits(&self, row: usize, output: usize) -> [Option<u32>; 2] {
        self.ports[output].map(|port| port.map(|port| self.batch.bits(row, port)))
    }

    /// Copies the upper bounds on an output for all boxes to `out`.
    ///
    /// # Panics
    ///
    /// Panics if upper bounds were not requested, or if `out` does not have one element for each
    /// box.
    pub fn copy_upper(&self, output: usize, out: &mut [f32]) {
        let [_, hi] = self.ports[output];
        self.batch
            .read_port(hi.expect("upper bounds were requested"), bytemuck::cast_slice_mut(out));
    }

    /// Copies the lower bounds on an output for all boxes to `out`.
    ///
    /// # Panics
    ///
    /// Panics if lower bounds were not requested, or if `out` does not have one element for each
    /// box.
    pub fn copy_lower(&self, output: usize, out: &mut [f32]) {
        let [lo, _] = self.ports[output];
        self.batch
            .read_port(lo.expect("lower bounds were requested"), bytemuck::cast_slice_mut(out));
    }

    /// Whether a boolean output may be true, according to its upper bound.
    ///
    /// # Panics
    ///
    /// Panics if upper bounds were not requested.
    pub fn may_be_true(&self, row: usize, output: usize) -> bool {
        let [_, hi] = self.ports[output];
        self.batch.bits(row, hi.expect("upper bounds were requested")) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Nan;

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
    fn bounds_are_infinite_on_sides_that_are_not_requested() {
        let source = "struct Material { k: vec3f }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.k * wi.x; }";
        let shader = Shader::parse("k.wgsl", source).expect("the shader is valid");
        let integrand =
            Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
        let inputs = integrand.inputs(IntervalInputs::Light, Ranges::Paper);
        let bounds = |options: &Options| {
            let lifted = integrand.bound(&inputs, options);
            let kernel = BoundingKernel::compile(&Arena::new(), &lifted, Target::Interpreter)
                .expect("it compiles");
            let (mut boxes, mut bounds) = (BoxBatch::new(&kernel, 1), BoundsBatch::new(&kernel, 1));
            let wi = [[-1.0, 2.0], [0.0, 0.0], [1.0, 1.0]];
            let scalars = [0.0, 0.0, 1.0, 1.0, 2.0, 3.0].map(|x| [x, x]);
            for (input, endpoints) in wi.into_iter().chain(scalars).enumerate() {
                boxes.set(0, input, endpoints);
            }
            kernel.run(&[], &boxes, &mut bounds);
            [0, 1, 2].map(|output| bounds.get(0, output))
        };
        for nan in [Nan::Propagate, Nan::Suppress, Nan::Ignore] {
            let bounds = |sides| bounds(&Options { sides, nan, ..Options::default() });
            let both = [[-1.0, 2.0], [-2.0, 4.0], [-3.0, 6.0]];
            assert_eq!(bounds(BoundSides::Both), both, "{nan:?}");
            assert_eq!(
                bounds(BoundSides::Lower),
                both.map(|[lo, _]| [lo, f32::INFINITY]),
                "{nan:?}"
            );
            assert_eq!(
                bounds(BoundSides::Upper),
                both.map(|[_, hi]| [f32::NEG_INFINITY, hi]),
                "{nan:?}"
            );
        }
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

    /// Runs a kernel on a box that satisfies the precondition, and on the box `wi`.
    fn run_on(wi: [[f32; 2]; 3], relations: Relations) {
        let source = "struct Material { k: f32 }
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
                return vec3f(m.k * dot(wi, wo));
            }";
        let shader = Shader::parse("k.wgsl", source).expect("the shader is valid");
        let integrand =
            Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
        let options = Options { relations, ..Options::default() };
        let lifted =
            integrand.bound(&integrand.inputs(IntervalInputs::Light, Ranges::Paper), &options);
        let kernel =
            BoundingKernel::compile(&Arena::new(), &lifted, Target::best()).expect("it compiles");
        let (mut boxes, mut bounds) = (BoxBatch::new(&kernel, 2), BoundsBatch::new(&kernel, 2));
        for (row, wi) in [[[-0.1, 0.1], [-0.1, 0.1], [0.9, 1.0]], wi].into_iter().enumerate() {
            let scalars = [0.0, 0.6, 0.8, 1.0].map(|x| [x, x]);
            wi.into_iter()
                .chain(scalars)
                .enumerate()
                .for_each(|(input, endpoints)| boxes.set(row, input, endpoints));
        }
        kernel.run(&[], &boxes, &mut bounds);
        assert!(bounds.get(1, 0)[1] > 0.0);
    }

    #[test]
    fn precondition_is_checked_only_for_related_code() {
        run_on([[0.0, 0.0], [0.0, 0.0], [0.5, 2.0]], Relations::NONE);
        run_on([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]], Relations::all());
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(
        expected = "box 1 violates the precondition of related bounds: wi.z is 0.5..2, and"
    )]
    fn out_of_range_components_are_rejected() {
        run_on([[0.0, 0.0], [0.0, 0.0], [0.5, 2.0]], Relations::all());
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(
        expected = "wi contains no unit vector: the square of its length is 0.25..0.765625"
    )]
    fn boxes_without_a_unit_vector_are_rejected() {
        run_on([[0.0, 0.0], [0.0, 0.0], [0.5, 0.875]], Relations::all());
    }
}
