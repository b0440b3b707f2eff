//! Reads JPEG files, and refuses incomplete ones.
//!
//! Decoders fill the missing part of a truncated JPEG file with grey, as browsers do. A texture
//! with a grey part would go unnoticed, so a file must have its end marker, and its entropy-coded
//! data must be valid. A truncated file to which an end marker was appended may go unnoticed.

use super::{Channels, Encoding, Image, Problem, read::check_size};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Decodes a JPEG file. CMYK becomes RGB, and grey stays grey.
pub(super) fn decode(data: &[u8], encoding: Encoding) -> Result<Image, Problem> {
    let damaged = |message: &str| Problem::Damaged {
        format: "JPEG",
        // Messages of the decoder may have line breaks.
        message: message.trim_matches('"').split_whitespace().collect::<Vec<_>>().join(" "),
    };
    let options = DecoderOptions::default().set_max_width(usize::MAX).set_max_height(usize::MAX);
    // Stray bytes between headers do no harm.
    let mut decoder =
        JpegDecoder::new_with_options(ZCursor::new(data), options.set_strict_mode(false));
    decoder.decode_headers().map_err(|e| damaged(&e.to_string()))?;
    let (Some((width, height)), Some(stored)) = (decoder.dimensions(), decoder.input_colorspace())
    else {
        return Err(damaged("the headers are incomplete"));
    };
    check_size("JPEG", width as u64, height as u64)?;
    if !has_end_marker(data) {
        return Err(damaged("the file is truncated: it has no end marker"));
    }
    let (channels, decoded) = match stored {
        ColorSpace::Luma => (Channels::Grey, ColorSpace::Luma),
        _ => (Channels::Rgb, ColorSpace::RGB),
    };
    decoder.set_options(options.set_strict_mode(true).jpeg_set_out_colorspace(decoded));
    let codes = decoder.decode().map_err(|e| damaged(&e.to_string()))?;
    if codes.len() != width * height * channels as usize {
        return Err(damaged(&format!("{stored:?} colours are not supported")));
    }
    Ok(Image::from_u8(width as u32, height as u32, channels, codes, encoding))
}

/// Marker codes, which follow a byte 0xFF (ITU-T T.81, table B.1).
const START_OF_IMAGE: u8 = 0xd8;
const END_OF_IMAGE: u8 = 0xd9;
const TEMPORARY: u8 = 0x01;

/// Returns whether the file has an end marker. Walks from segment to segment, since the thumbnail
/// in a segment has an end marker of its own.
fn has_end_marker(data: &[u8]) -> bool {
    let mut rest = data;
    loop {
        // Finds the next marker, also behind entropy-coded data, where 0xFF is followed by 0.
        let is_marker = |pair: &[u8]| pair[0] == 0xff && !matches!(pair[1], 0 | 0xff);
        let Some(at) = rest.windows(2).position(is_marker) else { return false };
        let marker = rest[at + 1];
        rest = &rest[at + 2..];
        match marker {
            END_OF_IMAGE => return true,
            // Markers without a segment; 0xd0 to 0xd7 are restart markers.
            START_OF_IMAGE | TEMPORARY | 0xd0..=0xd7 => {}
            _ => {
                // The length includes its own two bytes.
                let Some(length) = rest.first_chunk().copied().map(u16::from_be_bytes) else {
                    return false;
                };
                let Some(after) = rest.get(usize::from(length.max(2))..) else { return false };
                rest = after;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 40 × 24 pixels, 4:2:0, written by Pillow: progressive, and baseline with restart markers.
    const FILES: [&[u8]; 2] =
        [include_bytes!("../testdata/progressive.jpg"), include_bytes!("../testdata/restarts.jpg")];

    fn baseline(colour_type: image::ExtendedColorType) -> Vec<u8> {
        let mut data = Vec::new();
        let codes: Vec<u8> = (0..33u32 * 17 * 3).map(|i| (i * i % 251) as u8).collect();
        let (width, height) =
            if colour_type == image::ExtendedColorType::L8 { (51, 33) } else { (33, 17) };
        image::codecs::jpeg::JpegEncoder::new_with_quality(&mut data, 60)
            .encode(&codes, width, height, colour_type)
            .unwrap();
        data
    }

    fn files() -> Vec<Vec<u8>> {
        let mut files: Vec<_> = FILES.map(<[u8]>::to_vec).into();
        files.push(baseline(image::ExtendedColorType::Rgb8));
        files.push(baseline(image::ExtendedColorType::L8));
        files
    }

    #[test]
    fn complete_files_decode_as_in_the_image_crate() {
        for data in files() {
            let ours = decode(&data, Encoding::Srgb).unwrap();
            let theirs = image::load_from_memory(&data).unwrap();
            let channels = ours.channels() as usize;
            assert_eq!(channels, usize::from(theirs.color().channel_count()));
            let theirs = Image::from_u8(
                theirs.width(),
                theirs.height(),
                ours.channels(),
                theirs.into_bytes(),
                Encoding::Srgb,
            );
            assert_eq!(ours, theirs);
            let padded = [&data[..], &[0xff, 0xd8, 7, 0]].concat();
            assert_eq!(decode(&padded, Encoding::Srgb).unwrap(), ours);
        }
    }

    #[test]
    fn truncated_files_are_errors_at_any_length() {
        for data in files() {
            for length in 0..data.len() {
                let result = decode(&data[..length], Encoding::Srgb);
                let Err(error) = result else { panic!("{length} of {} bytes", data.len()) };
                assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
    }

    #[test]
    fn end_marker_of_a_thumbnail_does_not_count() {
        let data = &files()[1];
        // A segment APP1 with an embedded image, behind the start marker.
        let thumbnail =
            [&[0xff, 0xe1, 0, 6, 0xff, START_OF_IMAGE, 0xff, END_OF_IMAGE][..]].concat();
        let with_thumbnail = [&data[..2], &thumbnail, &data[2..]].concat();
        assert!(has_end_marker(&with_thumbnail));
        assert!(!has_end_marker(&with_thumbnail[..with_thumbnail.len() - 1]));
        assert!(!has_end_marker(&[]) && !has_end_marker(&[0xff, 0xe1, 0]));
    }
}
