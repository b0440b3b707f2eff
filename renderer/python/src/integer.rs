//! Integers that Python passes. Those out of range are errors that name the argument.

use super::error::plain;
use lightbound::render::RenderOptions;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

/// An integer of any size.
#[derive(Clone, Copy, Debug)]
pub struct Integer {
    /// The number; `None` beyond 64 bits.
    value: Option<i64>,
}

impl<'py> FromPyObject<'_, 'py> for Integer {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Integer> {
        match object.extract::<i64>() {
            Ok(value) => Ok(Integer { value: Some(value) }),
            Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
                Ok(Integer { value: None })
            }
            Err(error) => Err(error),
        }
    }
}

impl Integer {
    /// The value of the argument `name`, which is at least `min`.
    pub fn at_least<T: TryFrom<i64>>(self, name: &str, min: i64) -> PyResult<T> {
        let value = self.value.filter(|&value| value >= min).map(T::try_from);
        match (value, self.value) {
            (Some(Ok(value)), _) => Ok(value),
            (_, Some(value)) if value < min => {
                Err(plain(format!("`{name}` is {value}, but must be at least {min}")))
            }
            _ => Err(plain(format!("`{name}` is too large, or less than {min}"))),
        }
    }
}

/// The value of an optional argument, at least 0.
pub fn optional<T: TryFrom<i64>>(name: &str, value: Option<Integer>) -> PyResult<Option<T>> {
    value.map(|value| value.at_least(name, 0)).transpose()
}

/// A number of threads; all by default.
pub fn threads(value: Option<Integer>) -> PyResult<usize> {
    let threads = optional("threads", value)?.unwrap_or(RenderOptions::default().threads);
    match threads {
        1..=4096 => Ok(threads),
        _ => Err(plain("`threads` is a number from 1 to 4096")),
    }
}

/// A resolution: width and height.
pub fn resolution([width, height]: [Integer; 2]) -> PyResult<(u32, u32)> {
    let [width, height] = [width, height].map(|side| side.at_least::<u32>("resolution", 1));
    let (width, height) = (width?, height?);
    if width.max(height) > 1 << 16 {
        return Err(plain("`resolution` is (width, height), each from 1 to 65536"));
    }
    Ok((width, height))
}
