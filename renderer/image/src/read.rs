//! Reads image files: EXR, PNG, JPEG, TGA, Radiance HDR and PFM.
//!
//! The format is detected by magic number, except for TGA, which has none and is recognised by its
//! file extension. Sizes are checked before pixels are allocated. Opacity is kept unless it is 1
//! everywhere, also in grey PNG and TGA files. TGA opacity is often invalid: it is ignored if the
//! header does not declare it, or if it is 0 everywhere. Grey EXR images have no opacity, as in
//! pbrt-v4.

use super::exr_blocks::{self, PEDANTIC};
use super::isolation::isolate;
use super::layers::is_tga;
use super::read_exr::chromaticities;
use super::{Channels, Encoding, Image, ImageError, MAX_PIXELS, Problem, read_jpeg};
use exr::image::read::image::LayersReader;
use exr::prelude::{
    AnyChannel, FlatImage, FlatSamples, ImageAttributes, ReadChannels, ReadLayers, f16,
};
use image::{DynamicImage, ImageFormat, ImageReader, Limits, RgbaImage};
use lightbound_math::spectrum::Primaries;
use std::io::Cursor;
use std::path::Path;

/// Reads an image. `encoding` applies to 8- and 16-bit samples; EXR, HDR and PFM are always linear.
pub fn read(path: &Path, encoding: Encoding) -> Result<Image, ImageError> {
    read_with(path, encoding, |path| std::fs::read(path))
}

/// Like [`read()`], with a custom function that reads the file's content.
pub fn read_with(
    path: &Path,
    encoding: Encoding,
    read: impl FnOnce(&Path) -> std::io::Result<Vec<u8>>,
) -> Result<Image, ImageError> {
    let data = read(path).map_err(|e| Problem::Read(e).in_file(path))?;
    decode(&data, is_tga(path), encoding).map_err(|p| p.in_file(path))
}

/// Decodes an image and drops its opacity if it is 1 everywhere.
fn decode(data: &[u8], tga: bool, encoding: Encoding) -> Result<Image, Problem> {
    decode_with_opacity(data, tga, encoding).map(Image::without_opaque_alpha)
}

/// Decodes an image and keeps its opacity even if it is 1 everywhere.
pub(super) fn decode_with_opacity(
    data: &[u8],
    tga: bool,
    encoding: Encoding,
) -> Result<Image, Problem> {
    match data {
        [] => Err(Problem::Empty),
        [0x76, 0x2f, 0x31, 0x01, ..] => decode_exr(data),
        [b'P', b'F' | b'f', space, ..] if space.is_ascii_whitespace() => decode_pfm(data),
        [0x89, b'P', b'N', b'G', ..] => decode_common(data, ImageFormat::Png, "PNG", encoding),
        [0xff, 0xd8, 0xff, ..] => isolate("JPEG", || read_jpeg::decode(data, encoding)),
        [b'#', b'?', ..] => decode_common(data, ImageFormat::Hdr, "HDR", encoding),
        _ if tga => decode_common(data, ImageFormat::Tga, "TGA", encoding),
        _ => Err(Problem::UnknownFormat),
    }
}

/// Checks that the image has between 1 and [`MAX_PIXELS`] pixels.
pub(super) fn check_size(format: &'static str, width: u64, height: u64) -> Result<(), Problem> {
    if width == 0 || height == 0 {
        return Err(Problem::Damaged { format, message: "the image has no pixels".into() });
    }
    match width.checked_mul(height) {
        Some(pixels) if pixels <= MAX_PIXELS => Ok(()),
        _ => Err(Problem::TooLarge { width, height }),
    }
}

/// Decodes PNG, TGA and HDR files with the `image` crate.
fn decode_common(
    data: &[u8],
    image_format: ImageFormat,
    format: &'static str,
    encoding: Encoding,
) -> Result<Image, Problem> {
    let decoded_image = isolate(format, || decode_dynamic(data, image_format, format))?;
    let (width, height) = (decoded_image.width(), decoded_image.height());
    let from_u8 = |channels, codes| Image::from_u8(width, height, channels, codes, encoding);
    let from_u16 = |channels, codes| Image::from_u16(width, height, channels, codes, encoding);
    let is_tga = image_format == ImageFormat::Tga;
    let decoded_image = match decoded_image {
        // Opaque images stay grey.
        DynamicImage::ImageLumaA8(i) if i.pixels().all(|p| p[1] == u8::MAX) => {
            DynamicImage::from(i).into_luma8().into()
        }
        DynamicImage::ImageLumaA16(i) if i.pixels().all(|p| p[1] == u16::MAX) => {
            DynamicImage::from(i).into_luma16().into()
        }
        i @ DynamicImage::ImageLumaA8(_) => i.into_rgba8().into(),
        i @ DynamicImage::ImageLumaA16(_) => i.into_rgba16().into(),
        i => i,
    };
    Ok(match decoded_image {
        DynamicImage::ImageLuma8(i) => from_u8(Channels::Grey, i.into_raw()),
        DynamicImage::ImageRgb8(i) => from_u8(Channels::Rgb, i.into_raw()),
        DynamicImage::ImageRgba8(i) if is_tga && !has_tga_opacity(data, &i) => {
            from_u8(Channels::Rgb, DynamicImage::from(i).into_rgb8().into_raw())
        }
        DynamicImage::ImageRgba8(i) => from_u8(Channels::Rgba, i.into_raw()),
        DynamicImage::ImageLuma16(i) => from_u16(Channels::Grey, i.into_raw()),
        DynamicImage::ImageRgb16(i) => from_u16(Channels::Rgb, i.into_raw()),
        DynamicImage::ImageRgba16(i) => from_u16(Channels::Rgba, i.into_raw()),
        DynamicImage::ImageRgb32F(i) => Image::from_f32(width, height, Channels::Rgb, i.into_raw()),
        i => from_u8(Channels::Rgb, i.into_rgb8().into_raw()),
    })
}

/// Returns whether the opacity of a TGA file is valid. The low bits of the image descriptor, the
/// last byte of the header, are the number of its bits.
fn has_tga_opacity(data: &[u8], image: &RgbaImage) -> bool {
    data.get(17).is_some_and(|descriptor| descriptor & 0xf != 0)
        && image.pixels().any(|p| p[3] != 0)
}

/// Decodes a file with the `image` crate, after a check of its size.
fn decode_dynamic(
    data: &[u8],
    image_format: ImageFormat,
    format: &'static str,
) -> Result<DynamicImage, Problem> {
    let damaged = |e: image::ImageError| Problem::Damaged { format, message: e.to_string() };
    let reader = || ImageReader::with_format(Cursor::new(data), image_format);
    let (width, height) = reader().into_dimensions().map_err(damaged)?;
    check_size(format, width as u64, height as u64)?;
    let mut limits = Limits::default();
    // Twice the size of the largest 16-bit RGBA image: the decoder needs memory, too.
    limits.max_alloc = Some(MAX_PIXELS * 16);
    let mut reader = reader();
    reader.limits(limits);
    reader.decode().map_err(damaged)
}

/// Decodes all layers of an EXR file at the largest resolution.
pub(super) fn exr_file(data: &[u8]) -> Result<FlatImage, Problem> {
    let reader = exr_blocks::open(Cursor::new(data), data.len() as u64)?;
    let Some(first) = reader.headers().first() else {
        return Err(exr_blocks::damaged("the file has no headers"));
    };
    let attributes = first.shared_attributes.clone();
    let select = || -> exr::error::Result<_> {
        let selection = exr::image::read::read()
            .no_deep_data()
            .largest_resolution_level()
            .all_channels()
            .all_layers();
        let layers = selection.create_layers_reader(reader.headers())?;
        let chunks = reader
            .filter_chunks(PEDANTIC, |meta, tile, block| layers.filter_block(meta, tile, block))?;
        Ok((layers, chunks))
    };
    let (mut layers, chunks) = isolate("EXR", || select().map_err(exr_blocks::problem))?;
    exr_blocks::for_each_block(chunks, |meta, block| {
        isolate("EXR", || layers.read_block(&meta.headers, block).map_err(exr_blocks::problem))
    })?;
    Ok(FlatImage { attributes, layer_data: layers.into_layers() })
}

/// Decodes the first layer with colour channels; the image is its data window.
fn decode_exr(data: &[u8]) -> Result<Image, Problem> {
    let file = exr_file(data)?;
    for layer in &file.layer_data {
        // Looks for channels without a layer prefix in their names.
        let find = |name: &str| layer.channel_data.list.iter().find(|c| c.name.eq(name));
        let channels = match ["R", "G", "B"].map(find) {
            [Some(r), Some(g), Some(b)] => {
                [Some(r), Some(g), Some(b), find("A")].into_iter().flatten().collect()
            }
            _ if find("RY").is_some() || find("BY").is_some() => Vec::new(),
            _ => Vec::from_iter(find("Y")),
        };
        let (width, height) = layer.size.into();
        if !channels.is_empty() && channels.iter().all(|c| c.sampling == exr::math::Vec2(1, 1)) {
            let mut image = interleave(width as u32, height as u32, &channels);
            image.primaries = primaries(&file.attributes);
            return Ok(image);
        }
    }
    let names =
        file.layer_data.iter().flat_map(|l| &l.channel_data.list).map(|c| c.name.to_string());
    Err(Problem::NoColour(names.collect::<Vec<_>>().join(", ")))
}

/// Returns the primaries of an EXR file. Those within 10⁻³ of sRGB's are sRGB's, as in pbrt-v4; so
/// are those that denote no colour space.
pub(super) fn primaries(attributes: &ImageAttributes) -> Primaries {
    let Some(stored) = attributes.chromaticities else { return Primaries::SRGB };
    let [red, green, blue, white] = chromaticities(stored).map(|c| c.map(f64::from));
    let primaries = Primaries { red, green, blue, white };
    let list = |p: &Primaries| [p.red, p.green, p.blue, p.white].concat();
    let is_srgb =
        std::iter::zip(list(&primaries), list(&Primaries::SRGB)).all(|(a, b)| (a - b).abs() < 1e-3);
    if is_srgb || primaries.xyz_from_rgb().is_none() { Primaries::SRGB } else { primaries }
}

/// Interleaves one, three or four channels of an EXR file.
fn interleave(width: u32, height: u32, exr_channels: &[&AnyChannel<FlatSamples>]) -> Image {
    let channels = match exr_channels.len() {
        1 => Channels::Grey,
        3 => Channels::Rgb,
        _ => Channels::Rgba,
    };
    let pixels = width as usize * height as usize;
    let halves: Option<Vec<&[f16]>> = exr_channels
        .iter()
        .map(|channel| match &channel.sample_data {
            FlatSamples::F16(samples) => Some(&samples[..]),
            FlatSamples::F32(_) | FlatSamples::U32(_) => None,
        })
        .collect();
    match halves {
        Some(halves) => {
            let halves = halves.into_iter().map(|samples| samples.iter().copied());
            Image::from_f16(width, height, channels, interleaved(pixels, halves))
        }
        None => {
            let floats = exr_channels.iter().map(|channel| channel.sample_data.values_as_f32());
            Image::from_f32(width, height, channels, interleaved(pixels, floats))
        }
    }
}

/// Interleaves channels of `pixels` samples each.
fn interleaved<T: Copy + Default>(
    pixels: usize,
    channels: impl ExactSizeIterator<Item = impl Iterator<Item = T>>,
) -> Vec<T> {
    let count = channels.len();
    let mut samples = vec![T::default(); pixels * count];
    for (c, channel) in channels.enumerate() {
        for (pixel, value) in samples.chunks_exact_mut(count).zip(channel) {
            pixel[c] = value;
        }
    }
    samples
}

/// Decodes a portable float map (P. Debevec): `PF` or `Pf`, width, height, and a scale. The sign of
/// the scale encodes the byte order. Rows are stored bottom to top.
fn decode_pfm(data: &[u8]) -> Result<Image, Problem> {
    let damaged = |message: String| Problem::Damaged { format: "PFM", message };
    let channels = if data[1] == b'F' { Channels::Rgb } else { Channels::Grey };
    let mut rest = &data[2..];
    let mut token = || {
        let start = rest.iter().position(|b| !b.is_ascii_whitespace())?;
        let length = rest[start..].iter().take(40).position(u8::is_ascii_whitespace)?;
        let text = std::str::from_utf8(&rest[start..start + length]).ok()?;
        // Exactly one whitespace byte ends each token, including the last one before the samples.
        rest = &rest[start + length + 1..];
        Some(text)
    };
    let (width, height, scale) = (token(), token(), token());
    let size = |text: Option<&str>| {
        text.and_then(|t| t.parse::<u32>().ok())
            .ok_or_else(|| damaged("the size is missing".into()))
    };
    let (width, height) = (size(width)?, size(height)?);
    check_size("PFM", width as u64, height as u64)?;
    let scale = scale.and_then(|t| t.parse::<f32>().ok()).filter(|s| s.is_finite() && *s != 0.0);
    let scale = scale.ok_or_else(|| damaged("the scale is missing or 0".into()))?;
    let row = width as usize * channels as usize * 4;
    let expected = row * height as usize;
    let Some(body) = rest.get(..expected) else {
        return Err(damaged(format!("expected {expected} bytes of pixels, found {}", rest.len())));
    };
    let value = |b: &[u8; 4]| {
        scale.abs() * if scale < 0.0 { f32::from_le_bytes(*b) } else { f32::from_be_bytes(*b) }
    };
    let samples =
        body.chunks_exact(row).rev().flat_map(|row| row.as_chunks().0.iter().map(value)).collect();
    Ok(Image::from_f32(width, height, channels, samples))
}

#[cfg(test)]
mod tests {
    use super::*;
    use exr::prelude::{SpecificChannels, WritableImage, f16};
    use image::{ExtendedColorType, ImageEncoder};

    fn png(codes: &[u8], width: u32, height: u32, colour_type: ExtendedColorType) -> Vec<u8> {
        let mut data = Vec::new();
        image::codecs::png::PngEncoder::new(&mut data)
            .write_image(codes, width, height, colour_type)
            .unwrap();
        data
    }

    fn decoded(data: &[u8], encoding: Encoding) -> Image {
        decode(data, false, encoding).unwrap()
    }

    #[test]
    fn png_decodes_8_and_16_bits() {
        let decoded_srgb = |code: f32| Encoding::Srgb.decode(code);
        let rgb =
            decoded(&png(&[255, 0, 51, 1, 2, 3], 2, 1, ExtendedColorType::Rgb8), Encoding::Srgb);
        assert_eq!(rgb.rgb(0, 0).to_array(), [1.0, 0.0, decoded_srgb(0.2)]);
        let grey = decoded(&png(&[51, 102], 1, 2, ExtendedColorType::L8), Encoding::Linear);
        assert_eq!((grey.channels(), grey.float(0, 1)), (Channels::Grey, 0.4));
        // The codec takes 16-bit samples in native byte order.
        let words: Vec<u8> =
            [65535u16, 13107, 0, 32768].iter().flat_map(|w| w.to_ne_bytes()).collect();
        let deep = decoded(&png(&words, 1, 1, ExtendedColorType::Rgba16), Encoding::Srgb);
        assert_eq!(deep.rgb(0, 0).to_array(), [1.0, decoded_srgb(0.2), 0.0]);
        assert_eq!(deep.float(0, 0), 32768.0 / 65535.0);
        let deep_grey = decoded(&png(&words, 4, 1, ExtendedColorType::L16), Encoding::Gamma(2.0));
        assert!((deep_grey.float(1, 0) - 0.04).abs() < 1e-7);
    }

    #[test]
    fn opacity_is_dropped_if_1_everywhere() {
        let opaque = decoded(
            &png(&[9, 9, 9, 255, 9, 9, 9, 255], 2, 1, ExtendedColorType::Rgba8),
            Encoding::Srgb,
        );
        assert_eq!(opaque.channels(), Channels::Rgb);
        let translucent = decoded(
            &png(&[9, 9, 9, 255, 9, 9, 9, 51], 2, 1, ExtendedColorType::Rgba8),
            Encoding::Srgb,
        );
        assert_eq!((translucent.channels(), translucent.float(1, 0)), (Channels::Rgba, 0.2));
        let grey = decoded(&png(&[51, 102], 1, 1, ExtendedColorType::La8), Encoding::Linear);
        assert_eq!((grey.rgb(0, 0).to_array(), grey.float(0, 0)), ([0.2; 3], 0.4));
        let opaque = decoded(&png(&[51, 255], 1, 1, ExtendedColorType::La8), Encoding::Linear);
        assert_eq!((opaque.channels(), opaque.float(0, 0)), (Channels::Grey, 0.2));
        let words: Vec<u8> = [13107u16, 26214].iter().flat_map(|w| w.to_ne_bytes()).collect();
        let deep = decoded(&png(&words, 1, 1, ExtendedColorType::La16), Encoding::Linear);
        assert_eq!((deep.rgb(0, 0).to_array(), deep.float(0, 0)), ([0.2; 3], 0.4));
    }

    #[test]
    fn jpeg_tga_and_hdr_are_decoded() {
        let mut jpeg = Vec::new();
        image::codecs::jpeg::JpegEncoder::new_with_quality(&mut jpeg, 100)
            .write_image(&[128; 8 * 8 * 3], 8, 8, ExtendedColorType::Rgb8)
            .unwrap();
        let mid = decoded(&jpeg, Encoding::Linear).rgb(3, 4);
        assert!((mid - lightbound_math::Vec3::splat(128.0 / 255.0)).abs().max_element() < 0.01);
        let rgba_tga = |opacity| {
            let mut tga = Vec::new();
            let pixels = [10, 20, 30, 0, 255, 51, 0, opacity];
            image::codecs::tga::TgaEncoder::new(&mut tga)
                .write_image(&pixels, 1, 2, ExtendedColorType::Rgba8)
                .unwrap();
            tga
        };
        // Opacity of 0 everywhere is invalid, and so is opacity that the header does not declare.
        let (tga, translucent) = (rgba_tga(0), rgba_tga(102));
        let mut undeclared = translucent.clone();
        undeclared[17] &= 0xf0;
        for (data, channels) in
            [(&tga, Channels::Rgb), (&undeclared, Channels::Rgb), (&translucent, Channels::Rgba)]
        {
            let image = decode(data, true, Encoding::Linear).unwrap();
            assert_eq!((image.channels(), image.rgb(0, 1).to_array()), (channels, [1.0, 0.2, 0.0]));
            assert!(channels == Channels::Rgb || image.float(0, 1) == 0.4);
        }
        assert!(matches!(decode(&tga, false, Encoding::Linear), Err(Problem::UnknownFormat)));
        let mut hdr = Vec::new();
        image::codecs::hdr::HdrEncoder::new(&mut hdr)
            .encode(&[image::Rgb([128f32, 0.0, 1024.0])], 1, 1)
            .unwrap();
        assert_eq!(decoded(&hdr, Encoding::Srgb).rgb(0, 0).to_array(), [128.0, 0.0, 1024.0]);
    }

    fn exr_half_rgba(opacity: f32) -> Vec<u8> {
        let half = f16::from_f32;
        let pixel = move |p: exr::math::Vec2<usize>| {
            (half(p.x() as f32), half(0.5), half(-2.0), half(opacity))
        };
        let channels = SpecificChannels::rgba(pixel);
        let mut data = Vec::new();
        exr::prelude::Image::from_channels((3, 2), channels)
            .write()
            .to_buffered(Cursor::new(&mut data))
            .unwrap();
        data
    }

    fn exr_layers(layers: &[&[&str]]) -> Vec<u8> {
        use exr::prelude::{AnyChannels, Encoding, Layer, LayerAttributes};
        let layer = |(i, names): (usize, &&[&str])| {
            let channel = |&name: &&str| {
                AnyChannel::new(name, FlatSamples::F32(vec![i as f32 + name.len() as f32; 2]))
            };
            let channels = AnyChannels::sort(names.iter().map(channel).collect());
            Layer::new(
                (2, 1),
                LayerAttributes::named(format!("layer{i}").as_str()),
                Encoding::UNCOMPRESSED,
                channels,
            )
        };
        let attributes = exr::prelude::ImageAttributes::with_size((2, 1));
        let image = exr::prelude::Image::from_layers(
            attributes,
            layers.iter().enumerate().map(layer).collect::<Vec<_>>(),
        );
        let mut data = Vec::new();
        image.write().to_buffered(Cursor::new(&mut data)).unwrap();
        data
    }

    #[test]
    fn exr_chromaticities_are_the_primaries_unless_they_are_close_to_srgb() {
        use crate::write::{
            Attribute, CHROMATICITIES, Channel, ChannelSamples, ExrImage, write_exr,
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.exr");
        let read_with = |chromaticities: [[f32; 2]; 4]| {
            let channel = |(i, name): (u16, &str)| Channel {
                name: name.into(),
                samples: ChannelSamples::F32(vec![f32::from(i)]),
            };
            let image = ExrImage {
                size: [1, 1],
                full_size: [1, 1],
                channels: [(1, "R"), (2, "G"), (3, "B")].map(channel).into(),
                attributes: vec![(
                    CHROMATICITIES.into(),
                    Attribute::Chromaticities(chromaticities),
                )],
                ..ExrImage::default()
            };
            write_exr(&path, &image).unwrap();
            read(&path, Encoding::Srgb).unwrap()
        };
        let white = [0.3127, 0.329];
        let rec2020 = read_with([[0.708, 0.292], [0.17, 0.797], [0.131, 0.046], white]);
        assert_eq!(rec2020.primaries().green.map(|x| x as f32), [0.17, 0.797]);
        let matrix = rec2020.primaries().light_to(&Primaries::SRGB).unwrap().as_mat3();
        let srgb = rec2020.into_srgb(matrix);
        assert_eq!(srgb.rgb(0, 0), matrix * lightbound_math::vec3(1.0, 2.0, 3.0));
        assert_eq!(srgb.primaries(), Primaries::SRGB);
        for same in [
            [[0.6401, 0.33], [0.3, 0.6], [0.15, 0.06], white],
            [[0.64, 0.33], [0.64, 0.33], [0.15, 0.06], white],
        ] {
            assert_eq!(read_with(same).primaries(), Primaries::SRGB);
        }
    }

    #[test]
    fn exr_headers_of_tiny_files_cannot_ask_for_gigabytes() {
        let small = exr_layers(&[&["R", "G", "B"]]);
        assert!(decode(&small, false, Encoding::Linear).is_ok());
        // The header states x_max and y_max as the last 8 of the 16 bytes of the data window.
        let name = b"dataWindow\0box2i\0\x10\0\0\0";
        let at = small.windows(name.len()).position(|bytes| bytes == name).unwrap() + name.len();
        let mut large = small.clone();
        large[at + 8..at + 12].copy_from_slice(&20_000_000u32.to_le_bytes());
        let message = decode(&large, false, Encoding::Linear).unwrap_err().to_string();
        assert!(message.contains("truncated"), "{message}");
    }

    #[test]
    fn exr_decodes_half_floats_opacity_and_layers() {
        let image = decoded(&exr_half_rgba(0.25), Encoding::Srgb);
        assert_eq!((image.channels(), image.float(2, 1)), (Channels::Rgba, 0.25));
        assert_eq!(image.rgb(2, 1).to_array(), [2.0, 0.5, -2.0]);
        assert_eq!(decoded(&exr_half_rgba(1.0), Encoding::Srgb).channels(), Channels::Rgb);
        let second =
            decoded(&exr_layers(&[&["depth.Z"], &["G", "B", "R", "A", "id"]]), Encoding::Srgb);
        assert_eq!((second.channels(), second.rgb(1, 0).x), (Channels::Rgba, 2.0));
        assert_eq!(decoded(&exr_layers(&[&["Y", "Z"]]), Encoding::Srgb).channels(), Channels::Grey);
        let message = decode(&exr_layers(&[&["depth.Z"], &["N.X"]]), false, Encoding::Srgb)
            .unwrap_err()
            .to_string();
        assert!(message.contains("the channels are depth.Z, N.X"), "{message}");
    }

    fn pfm(header: &str, values: &[f32], bytes: fn(f32) -> [u8; 4]) -> Vec<u8> {
        [header.as_bytes(), values.iter().flat_map(|&v| bytes(v)).collect::<Vec<_>>().as_slice()]
            .concat()
    }

    #[test]
    fn pfm_decodes_both_byte_orders_and_flips_rows() {
        let grey =
            decoded(&pfm("Pf\n2 2\n-1\n", &[1.0, 2.0, 3.0, 4.0], f32::to_le_bytes), Encoding::Srgb);
        assert_eq!((grey.float(0, 0), grey.float(1, 1)), (3.0, 2.0));
        let colour = decoded(
            &pfm("PF 1 2 2.0\n", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], f32::to_be_bytes),
            Encoding::Srgb,
        );
        assert!(colour.pixels().map(|p| p.to_array()).eq([[8.0, 10.0, 12.0], [2.0, 4.0, 6.0]]));
    }

    fn tga(pixels: &[u8], rle: bool) -> Vec<u8> {
        let encoder = image::codecs::tga::TgaEncoder::new;
        let mut data = Vec::new();
        let encoder = if rle { encoder(&mut data) } else { encoder(&mut data).disable_rle() };
        encoder.write_image(pixels, 3, 4, ExtendedColorType::Rgb8).unwrap();
        data
    }

    fn hdr(width: usize) -> Vec<u8> {
        let pixels: Vec<_> = (0..width * 3).map(|i| image::Rgb([i as f32, 0.5, 2.0])).collect();
        let mut data = Vec::new();
        image::codecs::hdr::HdrEncoder::new(&mut data).encode(&pixels, width, 3).unwrap();
        data
    }

    #[test]
    fn truncated_tga_and_hdr_files_are_errors_at_any_length() {
        let pixels: Vec<u8> = (0..36).map(|i| i / 5).collect();
        for (data, is_tga) in [
            (tga(&pixels, false), true),
            (tga(&pixels, true), true),
            (hdr(3), false),
            (hdr(9), false),
        ] {
            assert!(decode(&data, is_tga, Encoding::Srgb).is_ok());
            for length in 0..data.len() {
                assert!(
                    decode(&data[..length], is_tga, Encoding::Srgb).is_err(),
                    "{length} of {} bytes, TGA {is_tga}",
                    data.len()
                );
            }
        }
    }

    /// A PNG file of 2 × 1 pixels with 4 bits and a palette of `length` bytes.
    fn png_with_palette(length: u32) -> Vec<u8> {
        let mut data = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut chunk = |name: &[u8], content: &[u8]| {
            let body = [name, content].concat();
            let mut crc = flate2::Crc::new();
            crc.update(&body);
            data.extend((content.len() as u32).to_be_bytes());
            data.extend(&body);
            data.extend(crc.sum().to_be_bytes());
        };
        chunk(b"IHDR", &[0, 0, 0, 2, 0, 0, 0, 1, 4, 3, 0, 0, 0]);
        chunk(b"PLTE", &vec![7; length as usize]);
        // zlib with one stored block: the filter type and two pixels.
        chunk(b"IDAT", &[0x78, 1, 1, 2, 0, 0xfd, 0xff, 0, 0, 0, 2, 0, 1]);
        chunk(b"IEND", &[]);
        data
    }

    #[test]
    fn palettes_with_incomplete_entries_are_errors() {
        assert_eq!(decoded(&png_with_palette(3), Encoding::Linear).rgb(1, 0).x, 7.0 / 255.0);
        for length in [1, 2, 4, 5, 7] {
            let result = decode(&png_with_palette(length), false, Encoding::Srgb);
            assert!(matches!(result, Err(Problem::Damaged { format: "PNG", .. })), "{length}");
        }
    }

    #[test]
    fn damaged_files_are_errors() {
        let files = [
            png_with_palette(6),
            include_bytes!("../testdata/progressive.jpg").to_vec(),
            include_bytes!("../testdata/restarts.jpg").to_vec(),
            hdr(9),
            exr_half_rgba(0.5),
            exr_layers(&[&["depth.Z"], &["R", "G", "B"]]),
            png(&[7; 27], 3, 3, ExtendedColorType::Rgb8),
            pfm("PF 1 2 2.0\n", &[0.0; 6], f32::to_be_bytes),
        ];
        for data in &files {
            assert!(decode(data, false, Encoding::Srgb).is_ok());
            for length in 0..data.len() - 12 {
                assert!(
                    decode(&data[..length], false, Encoding::Srgb).is_err(),
                    "{:?} {length}",
                    &data[..3]
                );
            }
            for at in 0..data.len() {
                for byte in [0, 0x7f, 0xff] {
                    let mut data = data.clone();
                    data[at] = byte;
                    let _ = decode(&data, false, Encoding::Srgb);
                }
            }
        }
        for (data, text) in [
            (&b"PF 4294967295 4294967295 -1 "[..], "4294967295 × 4294967295 pixels are more"),
            (b"PF 0 1 -1 ", "no pixels"),
            (b"PF 1 1 0 0123456789ab", "scale is missing or 0"),
            (b"PF 1 1 -1 0123456789a", "expected 12 bytes of pixels, found 11"),
            (b"GIF89a", "unknown image format; convert"),
            (b"", "the file is empty"),
        ] {
            let message = decode(data, false, Encoding::Srgb).unwrap_err().to_string();
            assert!(message.contains(text), "{message}");
        }
        let message = read(Path::new("/none/sky.exr"), Encoding::Srgb).unwrap_err().to_string();
        assert!(message.contains("/none/sky.exr: cannot be read"), "{message}");
    }
}
