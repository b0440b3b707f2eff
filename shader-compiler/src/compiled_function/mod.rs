//! A function of a shader, compiled to be evaluated and bounded: from WGSL text to bounds in one
//! call, with inputs by name and values in columns that the caller owns.
//!
//! The crate's [documentation](crate#any-function) has an example.

mod error;
mod options;
mod prepared;
mod values;

use self::error::unknown;
use self::values::DeclaredInput;
use crate::bounding::{BoundingKernel, BoundsBatch, BoxBatch};
use crate::compile::Error;
use crate::error::CompileError;
use crate::frontend::Scalar;
use crate::ir::Port;
use crate::jit::Arena;
use crate::kernel::{Batch, Kernel};
use crate::lift;
use crate::passes;
use crate::texture::Texture;
use std::cmp::Ordering;

pub use self::error::InputError;
pub use self::options::FunctionOptions;
pub(crate) use self::prepared::Prepared;

/// A function that can be evaluated and bounded, from any thread.
#[derive(Clone, Debug)]
pub struct CompiledFunction {
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    values: Kernel,
    bounds: BoundingKernel,
    is_interval: Vec<bool>,
    /// Type and default of each input.
    declared: Vec<DeclaredInput>,
    output_scalars: Vec<Scalar>,
}

impl CompiledFunction {
    /// Compiles the function called `function` of a shader. `name` is the file name, for messages.
    ///
    /// # Errors
    /// If the shader is invalid, if an option names an unknown input, or if a derivative does not
    /// exist.
    pub fn compile(
        name: &str,
        source: &str,
        function: &str,
        options: &FunctionOptions,
    ) -> Result<CompiledFunction, Error> {
        Ok(CompiledFunction::new(Prepared::new(name, source, function, options)?, options)?)
    }

    fn new(
        Prepared { point, inputs, outputs, declared, output_scalars }: Prepared,
        options: &FunctionOptions,
    ) -> Result<CompiledFunction, CompileError> {
        let arena = Arena::new();
        let lifted = lift::run(&point, &inputs, &outputs, &options.bounds);
        assert_eq!(declared.len(), inputs.len(), "inputs are components of declared ones");
        Ok(CompiledFunction {
            inputs: lifted.point.inputs.clone(),
            outputs: lifted.point.outputs.clone(),
            values: Kernel::compile(&arena, &passes::lower(&lifted.point), options.target)?,
            bounds: BoundingKernel::compile(&arena, &lifted, options.target)?,
            is_interval: inputs.iter().map(|input| input.interval).collect(),
            declared,
            output_scalars,
        })
    }

    /// Names of the inputs: components of the arguments, then of the parameters.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().map(|port| port.name.as_str())
    }

    /// Names of the outputs: the results, then their derivatives.
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|port| port.name.as_str())
    }

    /// Evaluates rows of inputs. Each input has a column with a value for each row, or with one for
    /// all rows; without a column, it has its default. `results` has a column for each output,
    /// whose length is the number of rows.
    ///
    /// Integers and bools are passed as floats, here and in [`bound`](Self::bound).
    ///
    /// # Errors
    /// If the columns do not match the function.
    ///
    /// # Panics
    /// If there are fewer textures than the function reads.
    pub fn evaluate(
        &self,
        textures: &[&Texture],
        inputs: &[(&str, &[f32])],
        results: &mut [&mut [f32]],
    ) -> Result<(), InputError> {
        self.check_outputs(results.len())?;
        let rows = self.rows(results.iter().map(|column| column.len()))?;
        let mut batch = Batch::new(self.values.target(), self.inputs.len(), rows);
        for (port, column) in self.columns(inputs, |&column| column, rows)?.enumerate() {
            if let [x] = column[..] {
                batch.fill_port(port, self.word(port, x)?);
                continue;
            }
            for (row, &x) in column.iter().enumerate() {
                batch.set_bits(row, port, self.word(port, x)?);
            }
        }
        let mut outputs = Batch::new(self.values.target(), self.outputs.len(), rows);
        self.values.run(textures, &batch, &mut outputs);
        for (port, column) in results.iter_mut().enumerate() {
            let scalar = self.output_scalars[port];
            for (row, x) in column.iter_mut().enumerate() {
                *x = scalar.value(outputs.bits(row, port));
            }
        }
        Ok(())
    }

    /// Bounds the function over boxes. Each input has columns of lower and of upper endpoints,
    /// `results` a column of lower and one of upper bounds for each output.
    ///
    /// For each member of a box within the declared ranges, the values of
    /// [`evaluate`](Self::evaluate) lie within the bounds, without tolerance. [`Nan`](crate::interval::Nan) says how NaN is
    /// treated.
    ///
    /// # Errors
    /// If the columns do not match the function, if the endpoints of a scalar input differ, if an
    /// interval is empty, or if a box has no unit vector or sorted vector for an input that is one,
    /// and bounds depend on it.
    ///
    /// # Panics
    /// If there are fewer textures than the function reads.
    pub fn bound(
        &self,
        textures: &[&Texture],
        boxes: &[(&str, [&[f32]; 2])],
        results: &mut [[&mut [f32]; 2]],
    ) -> Result<(), InputError> {
        self.check_outputs(results.len())?;
        let rows = self.rows(results.iter().flatten().map(|column| column.len()))?;
        let mut batch = BoxBatch::new(&self.bounds, rows);
        let (low, high) = (
            self.columns(boxes, |[low, _]| low, rows)?,
            self.columns(boxes, |[_, high]| high, rows)?,
        );
        for (input, (low, high)) in low.zip(high).enumerate() {
            let at = |column: &[f32], row: usize| match column {
                [x] => *x,
                column => column[row],
            };
            for row in 0..rows {
                let (low, high) = (at(low, row), at(high, row));
                batch.set_bits(row, input, self.interval(input, [low, high])?);
            }
        }
        if let Some(precondition) = self.bounds.precondition() {
            for row in 0..rows {
                let ends = |input| batch.endpoints(row, input);
                precondition.check(ends).map_err(|error| InputError::Precondition {
                    row,
                    message: error.to_string(),
                })?;
            }
        }
        let mut bounds = BoundsBatch::new(&self.bounds, rows);
        self.bounds.run(textures, &batch, &mut bounds);
        for (output, [low, high]) in results.iter_mut().enumerate() {
            let scalar = self.output_scalars[output];
            for row in 0..rows {
                [low[row], high[row]] = scalar.endpoints(bounds.get_bits(row, output));
            }
        }
        Ok(())
    }

    /// The word of a value of an input.
    fn word(&self, input: usize, x: f32) -> Result<u32, InputError> {
        self.declared[input].scalar.word(x).ok_or_else(|| self.not_of_type(input, x))
    }

    fn not_of_type(&self, input: usize, value: f32) -> InputError {
        let ty = self.declared[input].scalar.name();
        InputError::NotInteger { name: self.inputs[input].name.clone(), value, ty }
    }

    /// The words of the endpoints of an input.
    fn interval(&self, input: usize, endpoints: [f32; 2]) -> Result<[u32; 2], InputError> {
        let name = || self.inputs[input].name.clone();
        let [low, high] = endpoints;
        if low.to_bits() != high.to_bits() {
            if !self.is_interval[input] {
                return Err(InputError::NotInterval(name()));
            }
            if !matches!(low.partial_cmp(&high), Some(Ordering::Less | Ordering::Equal)) {
                return Err(InputError::Empty { name: name(), endpoints });
            }
        }
        let scalar = self.declared[input].scalar;
        scalar.interval(endpoints).map_err(|value| self.not_of_type(input, value))
    }

    fn check_outputs(&self, found: usize) -> Result<(), InputError> {
        let expected = self.outputs.len();
        if found == expected { Ok(()) } else { Err(InputError::Outputs { found, expected }) }
    }

    /// The length of the columns of results, which must be equal.
    fn rows(&self, mut lengths: impl Iterator<Item = usize>) -> Result<usize, InputError> {
        let rows = lengths.next().unwrap_or(0);
        match lengths.find(|&length| length != rows) {
            None => Ok(rows),
            Some(found) => {
                let name = self.outputs[0].name.clone();
                Err(InputError::Length { name, found, expected: rows })
            }
        }
    }

    /// The column of each input.
    fn columns<'c, C>(
        &'c self,
        named: &'c [(&str, C)],
        column: impl Fn(&'c C) -> &'c [f32],
        rows: usize,
    ) -> Result<impl Iterator<Item = &'c [f32]>, InputError> {
        let inputs = &self.inputs;
        if let Some((name, _)) =
            named.iter().find(|(name, _)| inputs.iter().all(|port| port.name != *name))
        {
            return Err(unknown(name, inputs));
        }
        let find = |(port, declared): (&Port, &'c DeclaredInput)| {
            let found = named.iter().rev().find(|(name, _)| port.name == *name);
            let values = match (found, &declared.default) {
                (Some((_, found)), _) => column(found),
                (None, Some(default)) => default,
                (None, None) => return Err(InputError::Missing(port.name.clone())),
            };
            match values {
                values if values.len() == rows || values.len() == 1 => Ok(values),
                values => Err(InputError::Length {
                    name: port.name.clone(),
                    found: values.len(),
                    expected: rows,
                }),
            }
        };
        let ports = inputs.iter().zip(&self.declared);
        Ok(ports.map(find).collect::<Result<Vec<_>, _>>()?.into_iter())
    }
}

#[cfg(test)]
mod tests;
