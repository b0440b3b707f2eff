//! `lightbound.compare`: the error metrics of `lightbound compare` for arrays.

use super::arrays::{Rounding, floats};
use super::error::plain;
use lightbound_image::compare::{Metric, Planes, compare as compare_planes};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Measures the error of an image against a reference.
#[pyfunction]
#[pyo3(signature = (image, reference, *, metrics = None, exposure = 0.0))]
pub fn compare<'py>(
    py: Python<'py>,
    image: &Bound<'py, PyAny>,
    reference: &Bound<'py, PyAny>,
    metrics: Option<Vec<String>>,
    exposure: f32,
) -> PyResult<Bound<'py, PyDict>> {
    let (a, b) = (planes("image", image)?, planes("reference", reference)?);
    let shape = |planes: &Planes| (planes.height(), planes.width(), planes.channels().len());
    if shape(&a) != shape(&b) {
        return Err(plain(format!(
            "images of different shapes: {:?} and {:?}",
            shape(&a),
            shape(&b)
        )));
    }
    let is_colour = a.channels().len() == 3;
    let metrics: Vec<Metric> = match metrics {
        Some(names) => {
            let found = names.iter().map(|name| {
                let metric = Metric::ALL.into_iter().find(|metric| metric.name() == name);
                metric.ok_or_else(|| {
                    let known = Metric::ALL.map(Metric::name).join(", ");
                    plain(format!("there is no metric `{name}`: use {known}"))
                })
            });
            found.collect::<PyResult<_>>()?
        }
        None => Metric::ALL.into_iter().filter(|m| is_colour || !m.requires_colour()).collect(),
    };
    if let Some(metric) = metrics.iter().find(|metric| metric.requires_colour() && !is_colour) {
        return Err(plain(format!("the metric `{}` needs images with 3 channels", metric.name())));
    }
    let comparison = py.detach(|| compare_planes(&a, &b, &metrics, exposure));
    let values = PyDict::new(py);
    for metric in metrics {
        let value = comparison.value(metric).map(|value| value.overall);
        values.set_item(metric.name(), value)?;
    }
    Ok(values)
}

/// Converts an image of shape (height, width), or (height, width, channels).
fn planes(name: &str, image: &Bound<'_, PyAny>) -> PyResult<Planes> {
    let values = floats(image, Rounding::Nearest)?;
    let [height, width, channels] = match *values.shape() {
        [height, width] => [height, width, 1],
        [height, width, channels] => [height, width, channels],
        _ => {
            return Err(plain(format!(
                "`{name}`: expected the shape (height, width) or (height, width, channels), found \
                 {:?}",
                values.shape()
            )));
        }
    };
    if values.is_empty() {
        return Err(plain(format!("`{name}` has no pixels")));
    }
    let mut planes = vec![Vec::with_capacity(height * width); channels];
    for (k, &x) in values.iter().enumerate() {
        planes[k % channels].push(x);
    }
    Ok(Planes::new(width, height, planes))
}
