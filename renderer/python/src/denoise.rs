//! `lightbound.denoise`: Intel Open Image Denoise for arrays.

use super::arrays::{FloatArray, Rounding, floats, to_numpy};
use super::error::plain;
use super::integer::{self, Integer};
use super::render::columns;
use lightbound_denoise::{Denoiser, Images};
use pyo3::prelude::*;

/// Removes noise from an image, guided by albedo and normal.
#[pyfunction]
#[pyo3(signature = (image, *, albedo = None, normal = None, hdr = true, threads = None))]
pub fn denoise<'py>(
    py: Python<'py>,
    image: &Bound<'py, PyAny>,
    albedo: Option<&Bound<'py, PyAny>>,
    normal: Option<&Bound<'py, PyAny>>,
    hdr: bool,
    threads: Option<Integer>,
) -> PyResult<FloatArray<'py>> {
    let (size, colour) = pixels("image", image)?;
    let guide = |name: &str, guide: Option<&Bound<'py, PyAny>>| {
        let Some(guide) = guide else { return Ok(None) };
        let (found, pixels) = pixels(name, guide)?;
        let [width, height] = size;
        if found != size {
            return Err(plain(format!(
                "`{name}` has {} × {} pixels, but the image {width} × {height}",
                found[0], found[1]
            )));
        }
        Ok(Some(pixels))
    };
    let (albedo, normal) = (guide("albedo", albedo)?, guide("normal", normal)?);
    let threads = integer::threads(threads)?;
    let denoised = py.detach(|| {
        let (albedo, normal) = (albedo.as_deref(), normal.as_deref());
        let images = Images { size, colour: &colour, albedo, normal, is_hdr: hdr };
        Denoiser::load(threads)?.denoise(&images)
    });
    let denoised = denoised.map_err(|error| plain(format!("{error}: {}", error.remedy())))?;
    Ok(to_numpy(py, &columns(&denoised), &[size[1], size[0]]))
}

/// Width, height and pixels of an image of shape (height, width, 3).
fn pixels(name: &str, image: &Bound<'_, PyAny>) -> PyResult<([usize; 2], Vec<[f32; 3]>)> {
    let values = floats(image, Rounding::Nearest)?;
    let &[height, width, 3] = values.shape() else {
        let found = values.shape();
        let message = format!("`{name}`: expected the shape (height, width, 3), found {found:?}");
        return Err(plain(message));
    };
    let (values, _) = values.into_raw_vec_and_offset();
    Ok(([width, height], values.as_chunks::<3>().0.to_vec()))
}
