//! The compiled field of an implicit surface, and the cells that its surface may cross.
//!
//! One point shader computes the field and its gradient. The kernels for values, for gradients and
//! for bounds are made from it, so the bounds contain the very floats that the ray test sees.

use super::super::input_with_fact;
use super::super::scratch::ScratchId;
use super::search::{Interval, MAX_STEPS, PARTS};
use glam::BVec3;
use lightbound_math::{Aabb, Vec3};
use lightbound_shader::bounding::{
    BoundingKernel, BoundsBatch, BoxBatch, Frame, Integrand, IntervalInputs, Ranges,
};
use lightbound_shader::builder::rewrite::rebuild;
use lightbound_shader::builder::{Builder, Rules};
use lightbound_shader::interval::{Bounds, Floats};
use lightbound_shader::ir::Function;
use lightbound_shader::lift::{self, Options};
use lightbound_shader::passes::derivative::{self, DerivativeError};
use lightbound_shader::relations::Relations;
use lightbound_shader::{
    Arena, Batch, CompileError, Kernel, Settings, Shader, ShaderError, Target, VectorFact, passes,
};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why an implicit surface cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ImplicitError {
    /// The shader is invalid.
    #[error(transparent)]
    Shader(#[from] ShaderError),
    /// The shader cannot be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The field has no derivative, which normals need.
    #[error(transparent)]
    Derivative(#[from] DerivativeError),
    /// The shader is no field.
    #[error("the shader has no `fn field(p: vec3f, m: Params) -> f32`")]
    NoField,
    /// An argument has a fact, which the renderer does not heed.
    #[error("the argument `{name}` of `field` cannot be declared `fact: {}`", fact.name())]
    Fact {
        /// Name of the argument.
        name: String,
        /// The fact.
        fact: VectorFact,
    },
    /// The shader reads textures.
    #[error("the shader reads the texture `{0}`, which implicit surfaces do not support")]
    Texture(String),
}

/// A part of the box in which the field is not proved to have one sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    pub bounds: Aabb,
    /// Where the field stays within ± this number and its slope along a ray may be 0, a ray touches
    /// the surface.
    pub tolerance: f32,
}

/// A field with known parameters in a box, in object space.
#[derive(Debug)]
pub(super) struct Field {
    pub bounds: Aabb,
    pub cells: Vec<Cell>,
    parameters: Box<[u32]>,
    /// Output: the field.
    value: Kernel,
    /// Outputs: the gradient.
    gradient: Kernel,
    /// Outputs: the field and its gradient.
    bounding: BoundingKernel,
    scratch: ScratchId,
    /// Number of ray tests whose hit only touches the surface.
    touching: AtomicU64,
}

/// Bounds on the field and its gradient over a box.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldBounds<'b> {
    pub value: [f32; 2],
    batch: &'b BoundsBatch,
    row: usize,
}

/// Greatest number of cells. With 2¹⁵, a closed surface has about 2⁶ along each axis.
const MAX_CELLS: usize = 1 << 15;

/// Greatest depth of the hierarchy of cells.
const MAX_LEVEL: u32 = 12;

/// [`Cell::tolerance`], relative to the [magnitude](Field::magnitude) of the field in the cell.
const TOLERANCE: f32 = 1.0 / (1 << 20) as f32;

/// Number of boxes that a thread bounds at once.
const CHUNK: usize = 1024;

impl Field {
    /// Compiles the field of a shader for the words of its parameters, and finds its cells.
    ///
    /// # Panics
    /// Unless there is one word for each component of the parameters.
    pub fn new(
        shader: &Shader,
        settings: &Settings,
        parameters: &[u32],
        bounds: Aabb,
    ) -> Result<Field, ImplicitError> {
        if shader.function_name() != "field" || shader.output_names() != ["field"] {
            return Err(ImplicitError::NoField);
        }
        if let Some((argument, fact)) = input_with_fact(shader) {
            return Err(ImplicitError::Fact { name: argument.to_owned(), fact });
        }
        if let Some(texture) = shader.textures().first() {
            return Err(ImplicitError::Texture(texture.clone()));
        }
        let integrand = Integrand::new(shader, settings, Frame::Local)?;
        let ports = &integrand.point.inputs[3..];
        assert_eq!(parameters.len(), ports.len(), "one word for each component of the parameters");
        let known = std::iter::zip(ports, parameters);
        let known: Vec<_> = known.map(|(port, &bits)| Bounds::constant(port.ty, bits)).collect();
        let integrand = integrand.specialize(known);
        let mut inputs = integrand.inputs(IntervalInputs::Light, Ranges::Declared);
        for (axis, input) in inputs[..3].iter_mut().enumerate() {
            input.bounds = Bounds::Float(Floats::between(bounds.min[axis], bounds.max[axis]));
        }
        let point = derivative::run(&integrand.point, &[0, 1, 2], &[0])?;
        let first = integrand.point.outputs.len();
        let (arena, target) = (Arena::new(), Target::best());
        let compile = |outputs: &[usize]| {
            Kernel::compile(&arena, &passes::lower(&restricted(&point, outputs)), target)
        };
        let outputs = [0, first, first + 1, first + 2];
        let options = Options { relations: Relations::all(), ..Options::default() };
        let lifted = lift::run(&point, &inputs, &outputs, &options);
        let field = Field {
            bounds,
            cells: vec![],
            parameters: parameters.into(),
            value: compile(&outputs[..1])?,
            gradient: compile(&outputs[1..])?,
            bounding: BoundingKernel::compile(&arena, &lifted, target)?,
            scratch: ScratchId::new(),
            touching: AtomicU64::new(0),
        };
        let cells = field.find_cells();
        Ok(Field { cells, ..field })
    }

    /// Splits the box into cells, as long as there are few, and drops those in which the field is
    /// proved to be positive or negative everywhere.
    fn find_cells(&self) -> Vec<Cell> {
        let mut cells = self.uncertain(vec![self.bounds]);
        for _ in 0..MAX_LEVEL {
            let children: Vec<_> = cells.iter().flat_map(|cell| children(cell.bounds)).collect();
            let children = self.uncertain(children);
            if children.len() > MAX_CELLS {
                break;
            }
            cells = children;
        }
        cells
    }

    /// The boxes in which the field may have a zero.
    fn uncertain(&self, boxes: Vec<Aabb>) -> Vec<Cell> {
        let cells = boxes.par_chunks(CHUNK).flat_map_iter(|boxes| {
            let mut bounder = Bounder::new(self, boxes.len());
            let bounds = bounder.bound(self, boxes);
            let cells = std::iter::zip(boxes, bounds).filter_map(|(&bounds, of_field)| {
                let tolerance = || TOLERANCE * self.magnitude(bounds);
                of_field.may_be_zero().then(|| Cell { bounds, tolerance: tolerance() })
            });
            cells.collect::<Vec<_>>()
        });
        cells.collect()
    }

    /// Returns the greatest magnitude of the field at the corners and the centre of a box, where it
    /// is finite. Bounds on it may be much wider.
    fn magnitude(&self, b: Aabb) -> f32 {
        let corners = b.corners();
        let points: [Vec3; 9] = std::array::from_fn(|k| match corners.get(k) {
            Some(&corner) => corner,
            None => 0.5 * b.min + 0.5 * b.max,
        });
        let mut values = [0.0; 9];
        self.with_scratch(|scratch| scratch.values.values(self, &points, &mut values));
        let finite = values.into_iter().map(f32::abs).filter(|x| x.is_finite());
        finite.fold(0.0, f32::max)
    }

    /// Calls `f` with the buffers of this thread.
    pub fn with_scratch<R>(&self, f: impl FnOnce(&mut FieldScratch) -> R) -> R {
        let create = || FieldScratch {
            bounder: Bounder::new(self, PARTS),
            values: Evaluator::new(self, &self.value, MAX_STEPS as usize + 1),
            gradient: Evaluator::new(self, &self.gradient, 1),
            intervals: vec![],
        };
        self.scratch.with(create, f)
    }

    /// Counts a hit that only touches the surface.
    pub fn count_touching(&self) {
        self.touching.fetch_add(1, Ordering::Relaxed);
    }

    /// Number of hits so far that only touch the surface.
    pub fn touching(&self) -> u64 {
        self.touching.load(Ordering::Relaxed)
    }

    /// Evaluates the field at any number of points.
    pub fn values(&self, points: &[Vec3], out: &mut [f32]) {
        let mut evaluator = Evaluator::new(self, &self.value, points.len());
        evaluator.values(self, points, out);
    }

    /// Evaluates the gradient at a point.
    pub fn gradient(&self, p: Vec3) -> Vec3 {
        self.with_scratch(|scratch| {
            let outputs = scratch.gradient.run(&self.gradient, &[p]);
            Vec3::from_array(outputs.floats(0, 0))
        })
    }
}

/// Buffers for the ray test.
pub(super) struct FieldScratch {
    /// Bounds up to [`PARTS`] boxes.
    pub bounder: Bounder,
    /// Evaluates the field at up to [`MAX_STEPS`] + 1 points.
    pub values: Evaluator,
    gradient: Evaluator,
    /// Intervals that remain to be searched.
    pub intervals: Vec<Interval>,
}

/// Evaluates a kernel at points.
pub(super) struct Evaluator {
    inputs: Batch,
    outputs: Batch,
}

impl Evaluator {
    /// Allocates buffers for up to `rows` points.
    fn new(field: &Field, kernel: &Kernel, rows: usize) -> Evaluator {
        let mut inputs = Batch::new(kernel.target(), kernel.inputs().len(), rows);
        for (port, &bits) in (3..).zip(&*field.parameters) {
            inputs.fill_port(port, bits);
        }
        Evaluator { inputs, outputs: Batch::new(kernel.target(), kernel.outputs().len(), rows) }
    }

    fn run(&mut self, kernel: &Kernel, points: &[Vec3]) -> &Batch {
        self.inputs.reshape(kernel.inputs().len(), points.len());
        self.outputs.reshape(kernel.outputs().len(), points.len());
        for (row, p) in points.iter().enumerate() {
            self.inputs.set_row(row, 0, &p.to_array().map(f32::to_bits));
        }
        kernel.run(&[], &self.inputs, &mut self.outputs);
        &self.outputs
    }

    /// Evaluates the field.
    pub fn values(&mut self, field: &Field, points: &[Vec3], out: &mut [f32]) {
        self.run(&field.value, points).read_port(0, bytemuck::cast_slice_mut(out));
    }
}

/// Bounds the field over a few boxes at a time.
pub(super) struct Bounder {
    boxes: BoxBatch,
    bounds: BoundsBatch,
}

impl Bounder {
    /// Allocates a bounder of up to `rows` boxes.
    pub fn new(field: &Field, rows: usize) -> Bounder {
        let mut boxes = BoxBatch::new(&field.bounding, rows);
        for (input, &bits) in (3..).zip(&*field.parameters) {
            boxes.fill(input, bits);
        }
        // Rows that are not set must be boxes of the field, too.
        let everywhere = field.bounds;
        for row in 0..rows {
            for axis in 0..3 {
                boxes.set(row, axis, [everywhere.min[axis], everywhere.max[axis]]);
            }
        }
        Bounder { boxes, bounds: BoundsBatch::new(&field.bounding, rows) }
    }

    /// Bounds the field over a box.
    pub fn bound_one(&mut self, field: &Field, b: Aabb) -> FieldBounds<'_> {
        self.bound(field, &[b]).next().expect("there is one box")
    }

    /// Bounds the field over the boxes between consecutive points. Each coordinate is monotone.
    ///
    /// # Panics
    /// Unless the bounder is for [`PARTS`] boxes.
    pub fn bound_between(
        &mut self,
        field: &Field,
        points: &[Vec3; PARTS + 1],
    ) -> [FieldBounds<'_>; PARTS] {
        for axis in 0..3 {
            let x = points.map(|point| point[axis]);
            let ends: [_; PARTS] = std::array::from_fn(|k| (x[k], x[k + 1]));
            self.boxes.set_all(axis, &ends.map(|(a, b)| a.min(b)), &ends.map(|(a, b)| a.max(b)));
        }
        field.bounding.run(&[], &self.boxes, &mut self.bounds);
        let [mut low, mut high] = [[0.0; PARTS]; 2];
        self.bounds.copy_lower(0, &mut low);
        self.bounds.copy_upper(0, &mut high);
        let batch = &self.bounds;
        std::array::from_fn(|row| FieldBounds { value: [low[row], high[row]], batch, row })
    }

    /// Bounds the field over boxes.
    pub fn bound(
        &mut self,
        field: &Field,
        boxes: &[Aabb],
    ) -> impl Iterator<Item = FieldBounds<'_>> {
        for (row, b) in boxes.iter().enumerate() {
            for axis in 0..3 {
                self.boxes.set(row, axis, [b.min[axis], b.max[axis]]);
            }
        }
        field.bounding.run(&[], &self.boxes, &mut self.bounds);
        let batch = &self.bounds;
        (0..boxes.len()).map(|row| FieldBounds { value: batch.get(row, 0), batch, row })
    }
}

impl FieldBounds<'_> {
    /// Bounds on the components of the gradient.
    pub fn gradient(&self) -> [[f32; 2]; 3] {
        [1, 2, 3].map(|output| self.batch.get(self.row, output))
    }

    /// Whether the field is not proved to be positive or negative. NaN proves nothing.
    pub fn may_be_zero(&self) -> bool {
        let [low, high] = self.value;
        !(low > 0.0 || high < 0.0)
    }

    /// Whether the slope of the field along a direction is not proved to be positive or negative.
    pub fn may_be_level(&self, d: Vec3) -> bool {
        let (mut low, mut high) = (0.0, 0.0);
        for (axis, ends) in self.gradient().iter().enumerate() {
            let [a, b] = ends.map(|end| f64::from(end) * f64::from(d[axis]));
            low += a.min(b);
            high += a.max(b);
        }
        !(low > 0.0 || high < 0.0)
    }
}

/// The octants of a box. Neighbours share the floats of their faces.
fn children(b: Aabb) -> impl Iterator<Item = Aabb> {
    let middle = 0.5 * b.min + 0.5 * b.max;
    (0..8u32).map(move |k| {
        let upper = BVec3::new(k & 1 != 0, k & 2 != 0, k & 4 != 0);
        Aabb { min: Vec3::select(upper, middle, b.min), max: Vec3::select(upper, b.max, middle) }
    })
}

/// The function with only some of its outputs, which keep their bits.
fn restricted(point: &Function, outputs: &[usize]) -> Function {
    let mut function = point.clone();
    function.outputs = outputs.iter().map(|&output| point.outputs[output].clone()).collect();
    function.body.yields = outputs.iter().map(|&output| point.body.yields[output]).collect();
    rebuild(&function, Builder::new(&point.name, Rules::Exact))
}
