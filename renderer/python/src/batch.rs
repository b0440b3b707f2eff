//! The inputs of a call as columns, and the parallel evaluation of their rows.

use super::arrays::{InputArray, Rounding, broadcast, floats};
use super::error::plain;
use lightbound_shader::{CompiledFunction, InputError, Texture};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use rayon::prelude::*;

/// Rows that a thread computes at a time.
const CHUNK: usize = 1 << 13;

/// An input or output: a scalar or a vector.
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Names of its components.
    pub components: Vec<String>,
    /// Whether it has a value if a call has none.
    pub has_default: bool,
}

/// What a call accepts for an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// An array.
    Values,
    /// An array, or a tuple of two: the endpoints of intervals.
    Intervals,
}

/// The inputs of a call. Lower and upper endpoints of values are equal.
pub struct InputBatch<'f> {
    /// The shape of the batch.
    pub shape: Vec<usize>,
    /// For each component of each input, its name, and its lower and upper endpoints: a value for
    /// each row, or one for all.
    columns: Vec<(&'f str, [Vec<f32>; 2])>,
}

impl<'f> InputBatch<'f> {
    /// Reads the arguments of a call: by position, in the order of `inputs`, or by name.
    pub fn read(
        inputs: &'f [Variable],
        accepts: Accepts,
        args: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<InputBatch<'f>> {
        let names = || inputs.iter().map(|i| i.name.as_str()).collect::<Vec<_>>().join(", ");
        if args.len() > inputs.len() {
            return Err(PyTypeError::new_err(format!(
                "{} arguments, but the inputs are {}",
                args.len(),
                names()
            )));
        }
        for key in named.iter().flat_map(|named| named.keys()) {
            let key: String = key.extract()?;
            match inputs.iter().position(|input| input.name == key) {
                None => {
                    return Err(PyTypeError::new_err(format!(
                        "there is no input `{key}`; the inputs are {}",
                        names()
                    )));
                }
                Some(k) if k < args.len() => {
                    return Err(PyTypeError::new_err(format!("two values for the input `{key}`")));
                }
                Some(_) => (),
            }
        }
        let mut values = Vec::with_capacity(inputs.len());
        for (k, input) in inputs.iter().enumerate() {
            let value = match args.get_item(k) {
                Ok(value) => Some(value),
                Err(_) => named.map(|named| named.get_item(&input.name)).transpose()?.flatten(),
            };
            match value {
                Some(value) => values.push((input, input.read(&value, accepts)?)),
                None if input.has_default => (),
                None => {
                    let message = format!("the input `{}` has no value", input.name);
                    return Err(PyTypeError::new_err(message));
                }
            }
        }
        let shapes = values.iter().flat_map(|(input, ends)| {
            ends.iter().map(|array| (input.name.as_str(), array.batch_shape()))
        });
        let shape = broadcast(shapes)?;
        let mut columns = vec![];
        for (input, [low, high]) in &values {
            let (low, high) = (low.columns(&shape), high.columns(&shape));
            for ((name, low), high) in input.components.iter().zip(low).zip(high) {
                columns.push((name.as_str(), [low, high]));
            }
        }
        Ok(InputBatch { shape, columns })
    }

    fn rows(&self) -> usize {
        self.shape.iter().product()
    }

    /// The part of a column in a chunk.
    fn part(column: &[f32], chunk: usize) -> &[f32] {
        match column {
            [_] => column,
            _ => &column[chunk * CHUNK..column.len().min((chunk + 1) * CHUNK)],
        }
    }

    /// Evaluates a function. Returns a column for each output.
    pub fn evaluate(
        &self,
        function: &CompiledFunction,
        textures: &[&Texture],
    ) -> Result<Vec<Vec<f32>>, InputError> {
        let mut results = vec![vec![0.0; self.rows()]; function.outputs().count()];
        let chunks = split(&mut results).into_par_iter().enumerate();
        chunks.try_for_each(|(chunk, mut results)| {
            let columns = self.columns.iter();
            let inputs: Vec<_> =
                columns.map(|(name, [low, _])| (*name, Self::part(low, chunk))).collect();
            function.evaluate(textures, &inputs, &mut results)
        })?;
        Ok(results)
    }

    /// Bounds a function. Returns columns of lower and of upper bounds.
    pub fn bound(
        &self,
        function: &CompiledFunction,
        textures: &[&Texture],
    ) -> Result<[Vec<Vec<f32>>; 2], InputError> {
        let mut lower = vec![vec![0.0; self.rows()]; function.outputs().count()];
        let mut upper = lower.clone();
        let chunks: Vec<_> = split(&mut lower).into_iter().zip(split(&mut upper)).collect();
        chunks.into_par_iter().enumerate().try_for_each(|(chunk, (lower, upper))| {
            let columns = self.columns.iter();
            let boxes: Vec<_> = columns
                .map(|(name, ends)| (*name, ends.each_ref().map(|x| Self::part(x, chunk))))
                .collect();
            let mut results: Vec<_> = lower.into_iter().zip(upper).map(<[_; 2]>::from).collect();
            function.bound(textures, &boxes, &mut results).map_err(|error| match error {
                InputError::Precondition { row, message } => {
                    InputError::Precondition { row: chunk * CHUNK + row, message }
                }
                other => other,
            })
        })?;
        Ok([lower, upper])
    }
}

impl Variable {
    /// Reads the endpoints of an input.
    fn read(&self, value: &Bound<'_, PyAny>, accepts: Accepts) -> PyResult<[InputArray; 2]> {
        let new = |values| InputArray::new(&self.name, self.components.len(), values);
        match value.cast::<PyTuple>() {
            Ok(ends) if accepts == Accepts::Intervals => {
                let (low, high): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
                    ends.extract().map_err(|_| {
                        plain(format!(
                            "`{}`: expected an array, or a tuple of two for the endpoints of an \
                             interval",
                            self.name
                        ))
                    })?;
                Ok([new(floats(&low, Rounding::Down)?)?, new(floats(&high, Rounding::Up)?)?])
            }
            _ => {
                let array = floats(value, Rounding::Nearest)?;
                Ok([new(array.clone())?, new(array)?])
            }
        }
    }
}

/// Splits columns into chunks of rows.
fn split(columns: &mut [Vec<f32>]) -> Vec<Vec<&mut [f32]>> {
    let mut chunks: Vec<Vec<_>> = vec![];
    for column in columns {
        for (chunk, part) in column.chunks_mut(CHUNK).enumerate() {
            if chunk == chunks.len() {
                chunks.push(vec![]);
            }
            chunks[chunk].push(part);
        }
    }
    chunks
}
