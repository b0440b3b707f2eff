//! Compiled bounding shaders, and batches of their inputs and outputs.

use super::Precondition;
use crate::error::CompileError;
use crate::interval::Bounds;
use crate::ir::Type;
use crate::jit::Arena;
use crate::kernel::{Batch, HoistedKernel, Kernel};
use crate::lift::{BoundSides, Input, Lifted};
use crate::passes;
use crate::relations::Relations;
use crate::target::Target;
use crate::texture::Texture;

/// A compiled bounding shader, callable from any thread.
#[derive(Clone, Debug)]
pub struct BoundingKernel {
    pub(super) kernel: HoistedKernel,
    /// For each input of the point shader, its first port and whether it is an interval.
    pub(super) inputs: Vec<(usize, bool)>,
    /// For each input of the point shader, whether its static bounds are a single interval.
    pub(super) is_contiguous: Vec<bool>,
    /// The bound sides that the code computes.
    sides: BoundSides,
    pub(super) precondition: Precondition,
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
    pub(super) fn check(&self, boxes: &BoxBatch) {
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
    pub(super) batch: Batch,
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
    pub(super) batch: Batch,
    /// For each output, the ports of its lower and its upper bound.
    pub(super) ports: Vec<[Option<usize>; 2]>,
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
    use super::super::{Frame, Integrand, IntervalInputs, Ranges};
    use super::*;
    use crate::frontend::{Settings, Shader};
    use crate::interval::Nan;
    use crate::lift::Options;

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
