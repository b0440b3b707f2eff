//! Samples of an image in memory, as its file has them: codes of 8 or 16 bits, halves, or floats.

use super::Encoding;
use exr::prelude::f16;
use std::sync::{Arc, LazyLock};

/// The samples of an image, interleaved, row by row from the top.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples {
    /// Linear samples.
    F32(Vec<f32>),
    /// Linear samples.
    F16(Vec<f16>),
    /// Encoded samples.
    U16(Codes<u16>),
    /// Encoded samples.
    U8(Codes<u8>),
}

/// Encoded samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Codes<T> {
    /// The codes. Those of opacities are linear (PNG 1.2 §6.2).
    pub codes: Vec<T>,
    /// The linear value of each code of a colour.
    pub decode: Arc<[f32]>,
}

impl Codes<u8> {
    pub(super) fn new(codes: Vec<u8>, encoding: Encoding) -> Codes<u8> {
        Codes { codes, decode: table(encoding, u8::MAX.into()) }
    }
}

impl Codes<u16> {
    pub(super) fn new(codes: Vec<u16>, encoding: Encoding) -> Codes<u16> {
        // Images share the tables of common encodings, of 256 KiB each.
        static SRGB: LazyLock<Arc<[f32]>> = LazyLock::new(|| table(Encoding::Srgb, u16::MAX));
        static LINEAR: LazyLock<Arc<[f32]>> = LazyLock::new(|| table(Encoding::Linear, u16::MAX));
        let decode = match encoding {
            Encoding::Srgb => SRGB.clone(),
            Encoding::Linear => LINEAR.clone(),
            Encoding::Gamma(_) => table(encoding, u16::MAX),
        };
        Codes { codes, decode }
    }
}

/// Returns the values of all codes.
fn table(encoding: Encoding, max: u16) -> Arc<[f32]> {
    (0..=max).map(|code| encoding.decode(f32::from(code) / f32::from(max))).collect()
}

impl<T: Copy + Into<usize> + Into<f32>> Codes<T> {
    /// Returns the linear value of a sample of a colour.
    pub(super) fn colour(&self, index: usize) -> f32 {
        self.decode[Into::<usize>::into(self.codes[index])]
    }

    /// Returns the value of a sample of an opacity.
    pub(super) fn opacity(&self, index: usize) -> f32 {
        let code: f32 = self.codes[index].into();
        code / (self.decode.len() - 1) as f32
    }
}

impl Samples {
    /// Returns the value of a sample of an opacity.
    pub(super) fn opacity(&self, index: usize) -> f32 {
        match self {
            Samples::F32(samples) => samples[index],
            Samples::F16(samples) => samples[index].to_f32(),
            Samples::U16(codes) => codes.opacity(index),
            Samples::U8(codes) => codes.opacity(index),
        }
    }

    /// Returns the memory in bytes, including that of tables unless images share them.
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Samples::F32(samples) => size_of_val(samples.as_slice()),
            Samples::F16(samples) => size_of_val(samples.as_slice()),
            Samples::U16(Codes { codes, decode }) => {
                let is_shared = Arc::strong_count(decode) > 1;
                size_of_val(codes.as_slice()) + if is_shared { 0 } else { size_of_val(&**decode) }
            }
            Samples::U8(Codes { codes, decode }) => codes.len() + size_of_val(&**decode),
        }
    }

    /// Removes the alpha channel of RGBA samples if it is 1 in all pixels; returns whether it is.
    pub(super) fn drop_opaque_alpha(&mut self) -> bool {
        match self {
            Samples::F32(samples) => drop_alpha(samples, 1.0),
            Samples::F16(samples) => drop_alpha(samples, f16::ONE),
            Samples::U16(Codes { codes, .. }) => drop_alpha(codes, u16::MAX),
            Samples::U8(Codes { codes, .. }) => drop_alpha(codes, u8::MAX),
        }
    }
}

/// Removes the alpha channel of RGBA samples if it equals `opaque` in all pixels; returns whether
/// it does.
fn drop_alpha<T: Copy + PartialEq>(samples: &mut Vec<T>, opaque: T) -> bool {
    let is_opaque = samples.chunks_exact(4).all(|pixel| pixel[3] == opaque);
    if is_opaque {
        let pixels = samples.len() / 4;
        // In place, since images are large.
        (0..pixels).for_each(|i| samples.copy_within(4 * i..4 * i + 3, 3 * i));
        samples.truncate(3 * pixels);
        samples.shrink_to_fit();
    }
    is_opaque
}
