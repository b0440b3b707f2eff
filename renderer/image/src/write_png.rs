//! PNG files with 8 or 16 bits per sample, one or three channels, and opacity.

use super::encoding::linear_to_srgb;
use super::srgb_codes::srgb_code;
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};

/// Bits per sample of a PNG.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PngDepth {
    /// 8 bits.
    #[default]
    Eight,
    /// 16 bits.
    Sixteen,
}

/// Encodes a PNG of linear colours, row by row from the top.
///
/// `colour` has one plane, grey, or three: red, green, blue. Colours are clamped to [0, 1] and
/// encoded as sRGB; NaN becomes 0. `opacity` is stored linearly; PNG stores colours that are not
/// multiplied by it, so they are divided by it here.
///
/// # Errors
/// Returns the encoder's message, for example if the width or the height is 0.
///
/// # Panics
/// If the number of planes is neither 1 nor 3, or a plane has a wrong size.
pub fn encode_png_planes(
    [width, height]: [u32; 2],
    colour: &[&[f32]],
    opacity: Option<&[f32]>,
    depth: PngDepth,
) -> Result<Vec<u8>, String> {
    assert!(matches!(colour.len(), 1 | 3), "{} planes", colour.len());
    let pixels = width as usize * height as usize;
    assert!(colour.iter().chain(&opacity).all(|plane| plane.len() == pixels), "wrong plane size");
    let alpha = |i: usize| opacity.map(|plane| unit(plane[i]));
    let colour_values = |i: usize| {
        let factor = alpha(i).filter(|a| *a > 0.0).map_or(1.0, |a| 1.0 / a);
        colour.iter().map(move |plane| plane[i] * factor)
    };
    let code = |x: f32, max: f32| (x * max).round();
    let (bytes, types): (Vec<u8>, _) = match depth {
        PngDepth::Eight => {
            use ExtendedColorType::{L8, La8, Rgb8, Rgba8};
            let pixel = |i| {
                let opacity = alpha(i).map(|x| code(x, 255.0) as u8);
                colour_values(i).map(srgb_code).chain(opacity)
            };
            ((0..pixels).flat_map(pixel).collect(), [[L8, La8], [Rgb8, Rgba8]])
        }
        PngDepth::Sixteen => {
            use ExtendedColorType::{L16, La16, Rgb16, Rgba16};
            // The encoder takes samples in native byte order.
            let values = |i| colour_values(i).map(|x| linear_to_srgb(unit(x))).chain(alpha(i));
            let bytes =
                (0..pixels).flat_map(values).flat_map(|x| (code(x, 65535.0) as u16).to_ne_bytes());
            (bytes.collect(), [[L16, La16], [Rgb16, Rgba16]])
        }
    };
    let ty = types[usize::from(colour.len() == 3)][usize::from(opacity.is_some())];
    let mut file = Vec::new();
    let encoder = PngEncoder::new(&mut file);
    encoder.write_image(&bytes, width, height, ty).map_err(|e| e.to_string())?;
    Ok(file)
}

/// Clamps to [0, 1]; NaN becomes 0.
fn unit(x: f32) -> f32 {
    if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Encoding;
    use crate::layers::decode_layers;
    use crate::read::decode_with_opacity;
    use crate::write::ChannelSamples;
    use std::path::Path;

    /// All planes of a file.
    fn decoded(png: &[u8]) -> Vec<Vec<f32>> {
        let layers = decode_layers(Path::new("a.png"), png).unwrap().layers;
        let channels = layers.into_iter().flat_map(|layer| layer.channels);
        let plane = |samples| match samples {
            ChannelSamples::F32(samples) => samples,
            ChannelSamples::U32(_) => panic!("PNG has no ids"),
        };
        channels.map(|channel| plane(channel.samples)).collect()
    }

    #[test]
    fn all_codes_of_16_bits_round_trip() {
        let codes = 0..=65535u16;
        let plane: Vec<f32> =
            codes.map(|code| Encoding::Srgb.decode(f32::from(code) / 65535.0)).collect();
        let png = encode_png_planes([256, 256], &[&plane], None, PngDepth::Sixteen).unwrap();
        assert_eq!(decoded(&png), [plane]);
    }

    #[test]
    fn eight_bits_round_to_the_nearest_code_and_clamp() {
        let linear = |code: f32| Encoding::Srgb.decode(code / 255.0);
        let [r, g, b] = [[linear(9.49), 2.0], [linear(9.51), -1.0], [linear(254.51), f32::NAN]];
        let png = encode_png_planes([2, 1], &[&r, &g, &b], None, PngDepth::Eight).unwrap();
        let expected = [[9.0, 255.0], [10.0, 0.0], [255.0, 0.0]];
        assert_eq!(decoded(&png), expected.map(|plane| plane.map(linear).to_vec()));
    }

    #[test]
    fn colours_are_divided_by_the_opacity() {
        let (half, alpha) = ([0.1, 0.0, 0.4], [0.2, 0.0, 1.0]);
        let planes: [&[f32]; 3] = [&half; 3];
        for (depth, tolerance) in [(PngDepth::Eight, 5e-3), (PngDepth::Sixteen, 2e-5)] {
            let png = encode_png_planes([3, 1], &planes, Some(&alpha), depth).unwrap();
            let stored = decode_with_opacity(&png, false, Encoding::Srgb).unwrap();
            // Readers of layers multiply again.
            let layers = decoded(&png);
            assert_eq!(layers.len(), 4);
            for c in 0..3 {
                for (x, pixel) in stored.pixels().enumerate() {
                    let colours = [(pixel[c], [0.5, 0.0, 0.4][x]), (layers[c][x], half[x])];
                    assert!(colours.iter().all(|(a, b)| (a - b).abs() < tolerance), "{colours:?}");
                }
            }
            assert!(layers[3].iter().zip(alpha).all(|(a, b)| (a - b).abs() < tolerance));
        }
    }

    #[test]
    fn empty_images_are_errors() {
        assert!(encode_png_planes([0, 3], &[&[]], None, PngDepth::Eight).is_err());
    }
}
