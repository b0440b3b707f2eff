//! Denoises rendered images with [Intel Open Image Denoise](https://www.openimagedenoise.org), a
//! library of pretrained neural networks (Áfra 2025, version 2.3 or later).
//!
//! The library is loaded at run time, so nothing depends on it: the one that the environment
//! variable `LIGHTBOUND_OIDN` names, or that of the system. Denoising runs on the CPU, so that
//! machines with and without a GPU give the same picture; it may differ between versions of the
//! library and between CPUs, and such pictures are exempt from the promise of equal bits.
//!
//! Albedo and normal are filtered first, and guide the filter of the radiance then. This keeps
//! detail that is sharp in them and noisy in the radiance.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod library;

use library::{Device, Filter, Library};

/// Name of the environment variable with the path of the library.
pub const LIBRARY_VARIABLE: &str = "LIGHTBOUND_OIDN";

/// Why an image was not denoised.
#[derive(Debug, thiserror::Error)]
pub enum DenoiseError {
    /// The library cannot be loaded.
    #[error("Open Image Denoise cannot be loaded: {0}")]
    Missing(String),
    /// The library is too old.
    #[error("Open Image Denoise has no function `{0}`: version 2 is needed")]
    Outdated(&'static str),
    /// The library reports an error.
    #[error("Open Image Denoise failed: {0}")]
    Failed(String),
}

impl DenoiseError {
    /// Returns what to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            DenoiseError::Missing(_) | DenoiseError::Outdated(_) => {
                "install Open Image Denoise 2 (openimagedenoise.org), or set LIGHTBOUND_OIDN to the \
                 path of libOpenImageDenoise.so.2; scripts/prepare-denoiser fetches one"
            }
            DenoiseError::Failed(_) => "free some memory, or denoise a smaller picture",
        }
    }
}

/// Images to denoise, row by row.
#[derive(Clone, Copy, Debug)]
pub struct Images<'a> {
    /// Width and height in pixels.
    pub size: [usize; 2],
    /// Noisy radiance; linear, of any brightness, or from 0 to 1 if it is not `is_hdr`.
    pub colour: &'a [[f32; 3]],
    /// Albedo of the visible surface, from 0 to 1.
    pub albedo: Option<&'a [[f32; 3]]>,
    /// Shading normal in any space; its length is at most 1.
    pub normal: Option<&'a [[f32; 3]]>,
    /// Whether the colour may exceed 1.
    pub is_hdr: bool,
}

/// Open Image Denoise.
pub struct Denoiser {
    library: Library,
    threads: usize,
    version: [u32; 3],
}

impl Denoiser {
    /// Loads the library. It will use this number of threads.
    ///
    /// # Errors
    /// If there is no library, it is too old, or it does not support this CPU.
    pub fn load(threads: usize) -> Result<Denoiser, DenoiseError> {
        let library = Library::load()?;
        let version = Device::new(&library, threads)?.version();
        let version = [version / 10_000, version / 100 % 100, version % 100];
        Ok(Denoiser { library, threads, version })
    }

    /// Returns name and version of the library.
    pub fn name(&self) -> String {
        let [major, minor, patch] = self.version;
        format!("Open Image Denoise {major}.{minor}.{patch}")
    }

    /// Returns the denoised colour. NaN and negative values count as 0.
    ///
    /// # Errors
    /// If the library fails, for lack of memory.
    ///
    /// # Panics
    /// If an image has a wrong number of pixels.
    pub fn denoise(&self, images: &Images) -> Result<Vec<[f32; 3]>, DenoiseError> {
        let [width, height] = images.size;
        let mut output = vec![[0.0; 3]; width * height];
        if output.is_empty() {
            return Ok(output);
        }
        let device = Device::new(&self.library, self.threads)?;
        let prefilter = |name: &str, image: Option<&[[f32; 3]]>| {
            let Some(image) = image else { return Ok(None) };
            let mut clean = vec![[0.0; 3]; image.len()];
            Filter::new(&device, images.size).input(name, image).run(&mut clean)?;
            Ok(Some(clean))
        };
        let albedo = prefilter("albedo", images.albedo)?;
        let normal = prefilter("normal", images.normal)?;
        let mut filter = Filter::new(&device, images.size).input("color", images.colour);
        for (name, image) in [("albedo", &albedo), ("normal", &normal)] {
            if let Some(image) = image {
                filter = filter.input(name, image);
            }
        }
        let is_guided = albedo.is_some() || normal.is_some();
        filter.flag("hdr", images.is_hdr).flag("cleanAux", is_guided).run(&mut output)?;
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a number from 0 to 1 for an index.
    fn noise(i: usize) -> f32 {
        let x = (i as u32).wrapping_mul(0x9e37_79b9);
        let x = (x ^ (x >> 15)).wrapping_mul(0x85eb_ca6b);
        ((x ^ (x >> 13)) >> 8) as f32 / (1 << 24) as f32
    }

    /// Needs the library; `scripts/prepare-denoiser` fetches it.
    #[test]
    fn noise_is_removed_and_edges_of_the_albedo_stay() {
        let denoiser = match Denoiser::load(2) {
            Ok(denoiser) => denoiser,
            Err(error) if std::env::var_os(LIBRARY_VARIABLE).is_none() => {
                eprintln!("skipped: {error}; {}", error.remedy());
                return;
            }
            Err(error) => panic!("{error}"),
        };
        assert!(denoiser.name().starts_with("Open Image Denoise 2."), "{}", denoiser.name());
        let [width, height] = [96, 64];
        let albedo: Vec<[f32; 3]> = (0..width * height)
            .map(|i| if (i % width / 8 + i / width / 8) % 2 == 0 { [0.8; 3] } else { [0.2; 3] })
            .collect();
        // Light of 2, which arrives in every fourth sample.
        let colour: Vec<[f32; 3]> = albedo
            .iter()
            .enumerate()
            .map(|(i, albedo)| albedo.map(|x| if noise(i) < 0.25 { 8.0 * x } else { 0.0 }))
            .collect();
        let error = |image: &[[f32; 3]]| {
            let squares = std::iter::zip(image, &albedo).map(|(x, a)| (x[0] - 2.0 * a[0]).powi(2));
            squares.sum::<f32>() / image.len() as f32
        };
        let normal = vec![[0.0, 0.0, 1.0]; albedo.len()];
        let images = Images {
            size: [width, height],
            colour: &colour,
            albedo: Some(&albedo),
            normal: Some(&normal),
            is_hdr: true,
        };
        let guided = error(&denoiser.denoise(&images).unwrap());
        let alone = Images { albedo: None, normal: None, ..images };
        let alone = error(&denoiser.denoise(&alone).unwrap());
        let before = error(&colour);
        println!("{before}, {alone}, {guided}");
        assert!(guided < 0.02 * before, "{guided} of {before}");
        assert!(guided < 0.5 * alone, "{guided}, without albedo {alone}");
        let empty = Images { size: [0, 5], colour: &[], albedo: None, normal: None, is_hdr: true };
        assert!(denoiser.denoise(&empty).unwrap().is_empty());
    }

    #[test]
    fn errors_have_remedies() {
        let error = DenoiseError::Missing("no such file".into());
        assert!(error.to_string().contains("no such file"));
        assert!(error.remedy().contains(LIBRARY_VARIABLE));
    }
}
