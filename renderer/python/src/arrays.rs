//! Numpy arrays as columns of floats.
//!
//! An input with n components is an array whose last axis has n elements; the other axes are those
//! of the batch. A scalar input has the axes of the batch only. Inputs are broadcast as in numpy.

use super::error::plain;
use numpy::ndarray::{ArrayD, IxDyn};
use numpy::{IntoPyArray, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A numpy array of floats.
pub type FloatArray<'py> = Bound<'py, PyArrayDyn<f32>>;

/// How to convert doubles to floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To nearest.
    Nearest,
    /// To the largest float that is not above.
    Down,
    /// To the smallest float that is not below.
    Up,
}

impl Rounding {
    fn to_float(self, x: f64) -> f32 {
        let nearest = x as f32;
        match self {
            Rounding::Down if f64::from(nearest) > x => nearest.next_down(),
            Rounding::Up if f64::from(nearest) < x => nearest.next_up(),
            _ => nearest,
        }
    }
}

/// Converts any array-like object. Only doubles and integers are rounded.
pub fn floats(object: &Bound<'_, PyAny>, rounding: Rounding) -> PyResult<ArrayD<f32>> {
    if let Ok(array) = object.cast::<PyArrayDyn<f32>>() {
        let array = array.readonly();
        let array = array.as_array();
        let values = ArrayD::from_shape_vec(array.shape(), array.iter().copied().collect());
        return Ok(values.expect("there is a value for each element"));
    }
    let options = PyDict::new(object.py());
    options.set_item("dtype", "float64")?;
    let numpy = object.py().import("numpy")?;
    let array: PyReadonlyArrayDyn<f64> =
        numpy.call_method("asarray", (object,), Some(&options))?.extract()?;
    let array = array.as_array();
    let values = array.iter().map(|&x| rounding.to_float(x)).collect();
    let values = ArrayD::from_shape_vec(array.shape(), values);
    Ok(values.expect("there is a value for each element"))
}

/// Values of an input for a batch.
pub struct InputArray {
    values: ArrayD<f32>,
    /// Number of components, which are the last axis if there is more than one.
    size: usize,
}

impl InputArray {
    /// Checks the shape of the values of input `name`, which has `size` components.
    pub fn new(name: &str, size: usize, values: ArrayD<f32>) -> PyResult<InputArray> {
        if size > 1 && values.shape().last() != Some(&size) {
            return Err(plain(format!(
                "`{name}` has {size} components: expected an array of shape (..., {size}), found \
                 {:?}",
                values.shape()
            )));
        }
        Ok(InputArray { values, size })
    }

    /// The axes of the batch.
    pub fn batch_shape(&self) -> &[usize] {
        let axes = self.values.ndim() - usize::from(self.size > 1);
        &self.values.shape()[..axes]
    }

    /// The columns of all components for a batch of this shape, to which the input can be
    /// broadcast. A column with one element is constant.
    pub fn columns(&self, batch: &[usize]) -> Vec<Vec<f32>> {
        if self.batch_shape().iter().all(|&n| n == 1) {
            return self.values.iter().map(|&x| vec![x]).collect();
        }
        let mut shape = batch.to_vec();
        if self.size > 1 {
            shape.push(self.size);
        }
        let all = self.values.broadcast(IxDyn(&shape)).expect("shapes have been broadcast");
        let mut columns = vec![Vec::with_capacity(all.len() / self.size); self.size];
        for (k, &x) in all.iter().enumerate() {
            columns[k % self.size].push(x);
        }
        columns
    }

    /// The vectors, row by row.
    pub fn vectors<const N: usize>(&self) -> Vec<[f32; N]> {
        let values: Vec<f32> = self.values.iter().copied().collect();
        values.as_chunks::<N>().0.to_vec()
    }
}

/// The shape to which all shapes are broadcast.
pub fn broadcast<'s>(
    shapes: impl IntoIterator<Item = (&'s str, &'s [usize])>,
) -> PyResult<Vec<usize>> {
    let mut result: Vec<usize> = vec![];
    for (name, shape) in shapes {
        if shape.len() > result.len() {
            result.splice(0..0, std::iter::repeat_n(1, shape.len() - result.len()));
        }
        let skipped = result.len() - shape.len();
        let before = result.clone();
        for (all, &n) in result[skipped..].iter_mut().zip(shape) {
            match (*all, n) {
                (1, _) => *all = n,
                (a, b) if a == b || b == 1 => (),
                _ => {
                    return Err(plain(format!(
                        "the shape {shape:?} of `{name}` does not match {before:?} of the inputs \
                         before it"
                    )));
                }
            }
        }
    }
    Ok(result)
}

/// Creates a numpy array from the columns of the components, which are the last axis if there is
/// more than one.
pub fn to_numpy<'py>(py: Python<'py>, columns: &[Vec<f32>], batch: &[usize]) -> FloatArray<'py> {
    let mut shape = batch.to_vec();
    let values = match columns {
        [column] => column.clone(),
        _ => {
            shape.push(columns.len());
            let rows = 0..columns[0].len();
            rows.flat_map(|row| columns.iter().map(move |column| column[row])).collect()
        }
    };
    let array = ArrayD::from_shape_vec(IxDyn(&shape), values);
    array.expect("there is a value for each element").into_pyarray(py)
}

/// A vector from an array-like object with three elements.
pub fn vec3(name: &str, object: &Bound<'_, PyAny>) -> PyResult<[f32; 3]> {
    let values = floats(object, Rounding::Nearest)?;
    let vector = values.iter().copied().collect::<Vec<_>>().try_into();
    vector.map_err(|_| {
        plain(format!("`{name}` is a vector: expected 3 numbers, found {:?}", values.shape()))
    })
}

/// Rows of `N` numbers from an array-like object of shape (rows, `N`).
pub fn rows<const N: usize>(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<[f32; N]>> {
    let values = floats(object, Rounding::Nearest)?;
    if values.ndim() != 2 || values.shape()[1] != N {
        return Err(plain(format!(
            "`{name}`: expected an array of shape (n, {N}), found {:?}",
            values.shape()
        )));
    }
    let values: Vec<f32> = values.iter().copied().collect();
    Ok(values.as_chunks::<N>().0.to_vec())
}
