//! Measured materials: files of the RGL material database, as tables for the shader
//! `measured.wgsl`, which documents the parameterization (Dupuy and Jakob 2018).
//!
//! The file tabulates, over polar angle and azimuth of wo, the density of visible normals and the
//! quotient of the BRDF by that density, at many wavelengths or in linear sRGB. Spectra are
//! converted to linear sRGB when the file is read, like other reflectances. The `luminance` of the
//! file, which only serves sampling, is replaced by that of the converted colours, so that a
//! direction has a positive density if anything is scattered there.

mod tables;
mod tensor;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use super::library::LibraryShader;
use lightbound_math::spectrum::reflectance_sample_weights;
use lightbound_shader::Texture;
use lightbound_shader::texture::{Filter, SamplerState, Wrap};
use std::sync::Arc;
use tables::Slices;
pub use tensor::TensorError;
use tensor::TensorFile;

/// The shader of measured materials. It is not part of the library, since its textures are tables.
pub const SHADER: LibraryShader =
    LibraryShader { name: "measured.wgsl", text: include_str!("measured.wgsl") };

/// Settings of all textures of the shader.
pub const SAMPLER: SamplerState = SamplerState { wrap: Wrap::Clamp, filter: Filter::Bilinear };

/// Maximum number of texels of a table.
const MAX_TEXELS: usize = 1 << 26;

/// A measured material.
#[derive(Clone, Debug)]
pub struct MeasuredBrdf {
    /// Values of the shader's overrides.
    pub overrides: Vec<(String, f64)>,
    /// The shader's textures, in the order of their declarations.
    pub textures: Vec<Arc<Texture>>,
}

/// Why a file is not a measured material.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeasuredError {
    /// The file is not a valid tensor file.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A field has the wrong number of elements along a dimension.
    #[error("its field \"{name}\" has the size {found}, expected {expected}")]
    Shape {
        /// Name of the field.
        name: &'static str,
        /// Size along each dimension.
        found: String,
        /// What is valid.
        expected: String,
    },
    /// A field has invalid values.
    #[error("its field \"{name}\" has values that are {problem}")]
    Values {
        /// Name of the field.
        name: &'static str,
        /// What is wrong with them.
        problem: &'static str,
    },
    /// The azimuths cover another part of a turn.
    #[error("its azimuths \"phi_i\" span {0}°, expected 360, 180 or 90")]
    Azimuths(i32),
    /// The tables are too large.
    #[error("its field \"{0}\" has too many elements")]
    TooLarge(&'static str),
}

impl MeasuredBrdf {
    /// Reads a `.bsdf` file.
    pub fn parse(file: &[u8]) -> Result<MeasuredBrdf, MeasuredError> {
        let file = TensorFile::parse(file)?;
        let phi = axis(&file, "phi_i")?;
        let theta = axis(&file, "theta_i")?;
        let counts = [phi.len(), theta.len()];

        let (shape, data) = file.floats("vndf")?;
        let [.., height, width] =
            sizes("vndf", shape, [Some(counts[0]), Some(counts[1]), None, None])?;
        let vndf = Slices::new("vndf", counts, [width, height], data)?;

        let colours = colours(&file, counts)?;
        let [columns, rows] = [colours[0].width(), colours[0].height()];
        let luminance = Slices::luminance(&colours);

        // Without the Jacobian, the colours are the BRDF times the cosine: D/(4σ) is 1.
        let (_, jacobian) = file.bytes("jacobian")?;
        let has_jacobian = jacobian.first().is_none_or(|&flag| flag != 0);
        let table = |name: &'static str, without: f32| {
            let (shape, data) = file.floats(name)?;
            let [height, width] = sizes(name, shape, [None, None])?;
            check_values(name, &data)?;
            if data.len() > MAX_TEXELS {
                return Err(MeasuredError::TooLarge(name));
            }
            let (data, size) =
                if has_jacobian { (data, [width, height]) } else { (vec![without], [1, 1]) };
            Ok((tables::image(size[0], data.iter().map(|&x| [x; 4])), size))
        };
        let (ndf, [ndf_width, ndf_height]) = table("ndf", 4.0)?;
        let (sigma, [sigma_width, sigma_height]) = table("sigma", 1.0)?;

        let overrides = [
            ("phi_count", counts[0]),
            ("theta_count", counts[1]),
            ("symmetry", symmetry(&phi)?),
            ("vndf_width", width),
            ("vndf_height", height),
            ("colour_width", columns),
            ("colour_height", rows),
            ("ndf_width", ndf_width),
            ("ndf_height", ndf_height),
            ("sigma_width", sigma_width),
            ("sigma_height", sigma_height),
        ];
        let textures = [
            tables::axes(&phi, &theta),
            vndf.distribution(),
            luminance.distribution(),
            tables::bordered(&colours),
            ndf,
            sigma,
        ];
        Ok(MeasuredBrdf {
            overrides: overrides.map(|(name, x)| (name.to_owned(), x as f64)).to_vec(),
            textures: textures.map(Arc::new).to_vec(),
        })
    }
}

/// Checks the sizes of a field along all dimensions; `None` accepts any except 0.
fn sizes<const N: usize>(
    name: &'static str,
    shape: &[usize],
    expected: [Option<usize>; N],
) -> Result<[usize; N], MeasuredError> {
    let is_valid = |(&size, expected): (&usize, &Option<usize>)| match expected {
        Some(expected) => size == *expected,
        None => size > 0,
    };
    match shape.try_into() {
        Ok(sizes) if shape.iter().zip(&expected).all(is_valid) => Ok(sizes),
        _ => {
            let text =
                |sizes: &mut dyn Iterator<Item = String>| sizes.collect::<Vec<_>>().join(" × ");
            let size = |expected: &Option<usize>| expected.map_or("n".into(), |n| n.to_string());
            Err(MeasuredError::Shape {
                name,
                found: text(&mut shape.iter().map(usize::to_string)),
                expected: text(&mut expected.iter().map(size)),
            })
        }
    }
}

/// Checks that values are finite and not negative.
fn check_values(name: &'static str, values: &[f32]) -> Result<(), MeasuredError> {
    match values {
        _ if values.iter().any(|x| !x.is_finite()) => {
            Err(MeasuredError::Values { name, problem: "not finite" })
        }
        _ if values.iter().any(|&x| x < 0.0) => {
            Err(MeasuredError::Values { name, problem: "negative" })
        }
        _ => Ok(()),
    }
}

/// Reads angles or wavelengths, which increase.
fn axis(file: &TensorFile, name: &'static str) -> Result<Vec<f32>, MeasuredError> {
    let (shape, values) = file.floats(name)?;
    sizes(name, shape, [None])?;
    let increases = values.iter().all(|x| x.is_finite()) && values.is_sorted_by(|a, b| a < b);
    match increases {
        true => Ok(values),
        false => Err(MeasuredError::Values { name, problem: "not increasing" }),
    }
}

/// Returns the number of times that the azimuths fit into a full turn; 1 if the material is
/// isotropic.
fn symmetry(phi: &[f32]) -> Result<usize, MeasuredError> {
    if phi.len() <= 2 {
        return Ok(1);
    }
    let span = phi[phi.len() - 1] - phi[0];
    match (std::f32::consts::TAU / span).round() {
        1.0 => Ok(1),
        2.0 => Ok(2),
        4.0 => Ok(4),
        _ => Err(MeasuredError::Azimuths(span.to_degrees().round() as i32)),
    }
}

/// Reads the colours in linear sRGB, one table for each channel.
fn colours(file: &TensorFile, counts: [usize; 2]) -> Result<[Slices; 3], MeasuredError> {
    let is_spectral = file.has("wavelengths");
    let name = if is_spectral { "spectra" } else { "rgb" };
    let weights = if is_spectral {
        reflectance_sample_weights(&axis(file, "wavelengths")?)
    } else {
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(Into::into).to_vec()
    };
    let (shape, data) = file.floats(name)?;
    let [phi, theta] = counts.map(Some);
    let [.., height, width] = sizes(name, shape, [phi, theta, Some(weights.len()), None, None])?;
    if data.iter().any(|x| !x.is_finite()) {
        return Err(MeasuredError::Values { name, problem: "not finite" });
    }
    let texels = width * height;
    let mut channels = [(); 3].map(|()| Vec::with_capacity(data.len() / weights.len()));
    for slice in data.chunks_exact(weights.len() * texels) {
        let mut sums = vec![[0.0; 3]; texels];
        for (samples, weight) in slice.chunks_exact(texels).zip(&weights) {
            for (sum, &sample) in sums.iter_mut().zip(samples) {
                for (k, sum) in sum.iter_mut().enumerate() {
                    *sum += weight[k] * f64::from(sample);
                }
            }
        }
        for (k, channel) in channels.iter_mut().enumerate() {
            channel.extend(sums.iter().map(|sum| sum[k].max(0.0) as f32));
        }
    }
    let [r, g, b] = channels;
    let slices = |data| Slices::new(name, counts, [width, height], data);
    Ok([slices(r)?, slices(g)?, slices(b)?])
}
