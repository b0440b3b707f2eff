//! The compiled displacement: from attributes to displaced positions, and bounds on them.
//!
//! The function p + n · displace(uv, p, n) with the unit normal n is composed from the shader's, so
//! that one program gives positions and bounds. The bounds then contain the very floats that
//! vertices have, with the rounding errors of normal and sum.

use super::base::{AttributeBox, Attributes};
use crate::geometry::{MeshError, input_with_fact};
use crate::stopped_loops::{LoopCounter, StoppedLoops};
use lightbound_math::{Aabb, Vec3};
use lightbound_shader::bounding::{
    BoundingKernel, BoundsBatch, BoxBatch, Frame, Integrand, IntervalInputs, Ranges,
};
use lightbound_shader::builder::rewrite::append;
use lightbound_shader::builder::{Builder, Rules};
use lightbound_shader::interval::{Bounds, Floats};
use lightbound_shader::ir::{Emit, Function, Op, Type, Value};
use lightbound_shader::lift::{self, Options};
use lightbound_shader::relations::Relations;
use lightbound_shader::{
    Arena, Batch, CompileError, Kernel, Settings, Shader, ShaderError, Target, Texture, VectorFact,
    passes,
};
use std::sync::{Arc, OnceLock};

/// Why a mesh cannot be displaced by a shader.
#[derive(Debug, thiserror::Error)]
pub enum ShaderDisplacementError {
    /// The shader is invalid.
    #[error(transparent)]
    Shader(#[from] ShaderError),
    /// The shader cannot be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The function has other arguments or results.
    #[error("`fn displace` has other arguments, or another result, than those of displacements")]
    Signature,
    /// An argument has a fact, which the renderer does not heed.
    #[error("the argument `{name}` of `displace` cannot be declared `fact: {}`", fact.name())]
    Fact {
        /// Name of the argument.
        name: String,
        /// The fact.
        fact: VectorFact,
    },
    /// The mesh is invalid.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// Edges would be divided too often.
    #[error("with edges of {edge_length:?}, there would be too many triangles")]
    TooFine {
        /// The greatest length of edges.
        edge_length: f32,
    },
    /// A displaced position is not finite.
    #[error(
        "the displacement at ({}, {}, {}), uv = ({}, {}), is not finite",
        .p.x, .p.y, .p.z, .uv[0], .uv[1]
    )]
    NotFinite {
        /// Position before the displacement.
        p: Vec3,
        /// Texture coordinates.
        uv: [f32; 2],
    },
}

/// Number of inputs of a displacement: `uv`, `p` and `n`.
const ARGUMENTS: usize = 8;

/// A compiled displacement with known parameters.
#[derive(Debug)]
pub(super) struct Program {
    parameters: Box<[u32]>,
    textures: Vec<Arc<Texture>>,
    /// Outputs: the displaced position, the displacement alone, and whether a loop was stopped.
    point: Kernel,
    /// Outputs: the displaced position.
    bounding: BoundingKernel,
    loops: LoopCounter,
    /// Name of the shader's file.
    file: String,
    /// Where a displaced position was not finite first.
    not_finite: OnceLock<NotFinite>,
}

/// A place at which a displacement is not finite.
#[derive(Clone, Debug, PartialEq)]
pub struct NotFinite {
    /// Name of the shader's file.
    pub file: String,
    /// Position before the displacement, in object space.
    pub p: Vec3,
    /// Texture coordinates.
    pub uv: [f32; 2],
}

/// Buffers of a [`Program`], for any number of rows.
#[derive(Debug)]
pub(super) struct ProgramScratch {
    inputs: Batch,
    outputs: Batch,
}

impl Program {
    /// Compiles a displacement for the words of its parameters. `domain` contains all attributes.
    ///
    /// # Panics
    /// Unless there is one word for each component of the parameters, and one texture for each of
    /// the shader.
    pub fn new(
        shader: &Shader,
        settings: &Settings,
        parameters: &[u32],
        textures: Vec<Arc<Texture>>,
        domain: AttributeBox,
    ) -> Result<Program, ShaderDisplacementError> {
        let sizes: Vec<_> = shader.arguments().iter().map(|a| (a.size, a.scalar)).collect();
        let float = lightbound_shader::Scalar::F32;
        if shader.function_name() != "displace"
            || sizes != [(2, float), (3, float), (3, float)]
            || !matches!(shader.output_names().len(), 1 | 3)
        {
            return Err(ShaderDisplacementError::Signature);
        }
        if let Some((argument, fact)) = input_with_fact(shader) {
            return Err(ShaderDisplacementError::Fact { name: argument.to_owned(), fact });
        }
        let integrand = Integrand::new(shader, settings, Frame::Local)?;
        let ports = &integrand.point.inputs[ARGUMENTS..];
        assert_eq!(parameters.len(), ports.len(), "one word for each component of the parameters");
        if integrand.point.outputs[..shader.output_names().len()].iter().any(|o| o.ty != Type::F32)
        {
            return Err(ShaderDisplacementError::Signature);
        }
        let known = std::iter::zip(ports, parameters);
        let known: Vec<_> = known.map(|(port, &bits)| Bounds::constant(port.ty, bits)).collect();
        let integrand = integrand.specialize(known);
        let mut inputs = integrand.inputs(IntervalInputs::Light, Ranges::Declared);
        let [low, high] = domain.map(|a| words(&a));
        for (k, input) in inputs[..ARGUMENTS].iter_mut().enumerate() {
            input.bounds = Bounds::Float(Floats::between(low[k], high[k]));
        }
        let point = displaced(&integrand.point, shader.output_names().len());
        let options = Options { relations: Relations::all(), ..Options::default() };
        let lifted = lift::run(&point, &inputs, &[0, 1, 2], &options);
        let (arena, target) = (Arena::new(), Target::best());
        let point = Kernel::compile(&arena, &passes::lower(&point), target)?;
        Ok(Program {
            parameters: parameters.into(),
            textures,
            loops: LoopCounter::new(shader, &point),
            file: shader.name().to_owned(),
            not_finite: OnceLock::new(),
            point,
            bounding: BoundingKernel::compile(&arena, &lifted, target)?,
        })
    }

    /// Allocates buffers.
    pub fn scratch(&self) -> ProgramScratch {
        let batch = |ports: usize| Batch::new(self.point.target(), ports, 0);
        ProgramScratch {
            inputs: batch(self.point.inputs().len()),
            outputs: batch(self.point.outputs().len()),
        }
    }

    fn run<'s>(&self, rows: &[Attributes], scratch: &'s mut ProgramScratch) -> &'s Batch {
        let ProgramScratch { inputs, outputs } = scratch;
        inputs.reshape(self.point.inputs().len(), rows.len());
        outputs.reshape(self.point.outputs().len(), rows.len());
        for (row, attributes) in rows.iter().enumerate() {
            inputs.set_row(row, 0, &words(attributes).map(f32::to_bits));
        }
        for (port, &bits) in (ARGUMENTS..).zip(&*self.parameters) {
            inputs.fill_port(port, bits);
        }
        self.point.run(&self.textures(), inputs, outputs);
        self.loops.count(outputs, rows.len());
        outputs
    }

    fn textures(&self) -> Vec<&Texture> {
        self.textures.iter().map(|texture| &**texture).collect()
    }

    /// Computes displaced positions.
    pub fn positions(
        &self,
        rows: &[Attributes],
        scratch: &mut ProgramScratch,
        out: &mut Vec<Vec3>,
    ) {
        let outputs = self.run(rows, scratch);
        out.clear();
        out.extend((0..rows.len()).map(|row| Vec3::from_array(outputs.floats(row, 0))));
        if let Some(row) = out.iter().position(|p| !p.is_finite()) {
            self.not_finite.get_or_init(|| {
                let Attributes { uv, p, .. } = rows[row];
                NotFinite { file: self.file.clone(), p, uv: uv.into() }
            });
        }
    }

    /// Loops that were stopped in an evaluation so far.
    pub fn stopped_loops(&self) -> Option<StoppedLoops> {
        self.loops.stopped()
    }

    /// A place at which a displaced position was not finite so far.
    pub fn not_finite(&self) -> Option<&NotFinite> {
        self.not_finite.get()
    }

    /// Computes displacements, without the position.
    pub fn offsets<const N: usize>(
        &self,
        rows: &[Attributes; N],
        scratch: &mut ProgramScratch,
    ) -> [Vec3; N] {
        let outputs = self.run(rows, scratch);
        std::array::from_fn(|row| Vec3::from_array(outputs.floats(row, 3)))
    }

    /// Bounds displaced positions over boxes. Without bounds, a box is infinite or NaN.
    pub fn bounds(&self, boxes: &[AttributeBox]) -> Vec<Aabb> {
        let mut batch = BoxBatch::new(&self.bounding, boxes.len());
        for (row, ends) in boxes.iter().enumerate() {
            let [low, high] = ends.map(|a| words(&a));
            (0..ARGUMENTS).for_each(|input| batch.set(row, input, [low[input], high[input]]));
        }
        for (input, &bits) in (ARGUMENTS..).zip(&*self.parameters) {
            batch.fill(input, bits);
        }
        let mut bounds = BoundsBatch::new(&self.bounding, boxes.len());
        self.bounding.run(&self.textures(), &batch, &mut bounds);
        let bounds = (0..boxes.len()).map(|row| {
            let ends = [0, 1, 2].map(|axis| bounds.get(row, axis));
            let [min, max] = [0, 1].map(|side| Vec3::from_array(ends.map(|end| end[side])));
            Aabb { min, max }
        });
        bounds.collect()
    }

    /// Returns the memory use of textures in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.textures.iter().map(|texture| size_of_val(texture.words())).sum()
    }
}

/// Attributes in the order of the inputs.
fn words(&Attributes { uv, p, n }: &Attributes) -> [f32; ARGUMENTS] {
    [uv.x, uv.y, p.x, p.y, p.z, n.x, n.y, n.z]
}

/// The least squared length by which normals are divided, as for `normalize` in shaders: 2⁻¹²⁶.
const MIN_SQUARED_LENGTH: f32 = f32::MIN_POSITIVE;

/// Composes the function of positions from that of displacements, whose results are `results`
/// floats.
fn displaced(displacement: &Function, results: usize) -> Function {
    let mut builder = Builder::new("displaced", Rules::Exact);
    let mut inputs: Vec<Value> =
        displacement.inputs.iter().map(|port| builder.input(&port.name, port.ty)).collect();
    let position: [Value; 3] = std::array::from_fn(|k| inputs[2 + k]);
    let normal: [Value; 3] = std::array::from_fn(|k| inputs[5 + k]);
    let [x, y, z] = normal.map(|n| builder.op(Op::Mul, &[n, n]));
    let sum = builder.op(Op::Add, &[x, y]);
    let sum = builder.op(Op::Add, &[sum, z]);
    let least = builder.f32(MIN_SQUARED_LENGTH);
    let sum = builder.op(Op::Max, &[sum, least]);
    let length = builder.op(Op::Sqrt, &[sum]);
    let unit = normal.map(|n| builder.op(Op::Div, &[n, length]));
    inputs[5..8].copy_from_slice(&unit);
    let copy = |builder: &mut Builder, op: Op, args: &[Value]| builder.op(op, args);
    let (mut builder, values) = append(displacement, builder, &inputs, copy);
    let offset = match results {
        1 => unit.map(|n| builder.op(Op::Mul, &[n, values[0]])),
        _ => [values[0], values[1], values[2]],
    };
    let outputs: Vec<_> =
        (0..3).map(|k| builder.op(Op::Add, &[position[k], offset[k]])).chain(offset).collect();
    let names = ["p.x", "p.y", "p.z", "d.x", "d.y", "d.z"].map(str::to_owned);
    // Whether a loop was stopped may follow.
    let others = std::iter::zip(&displacement.outputs, values).skip(results);
    let others: Vec<_> = others.map(|(port, value)| (port.name.clone(), value)).collect();
    builder.finish(names.into_iter().zip(outputs).chain(others))
}
