//! Input files; `-` is stdin.

use super::output::is_stream;
use super::{Error, console};
use lightbound::film::NO_DEPTH;
use lightbound::film::layers::COLOUR_SPACE;
use lightbound_image::layers::{Layer, Layers, decode_layers, is_exr};
use lightbound_image::write::Channel;
use lightbound_image::{ExrHeader, ImageError, Problem};
use lightbound_pbrt::diagnostics::Source;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// The name of a file in messages.
pub fn name(path: &Path) -> &Path {
    if is_stream(path) { Path::new("stdin") } else { path }
}

/// Reads a file or stdin.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    match is_stream(path) {
        true => {
            let mut data = Vec::new();
            io::stdin().read_to_end(&mut data).map(|_| data)
        }
        false => std::fs::read(path),
    }
}

/// Whether the name of a file is that of a scene.
pub fn is_scene_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    [".pbrt", ".pbrt.gz", ".gltf", ".glb"].iter().any(|end| name.ends_with(end))
}

/// Reads an image file, or an image from stdin, without decoding it.
pub fn image_data(path: &Path) -> Result<Vec<u8>, Error> {
    if is_scene_name(path) {
        return Err(Error::Data {
            message: format!("{}: is a scene, not an image", path.display()),
            help: format!("render it first: lightbound render {}", path.display()),
        });
    }
    read(path).map_err(|cause| {
        Error::Image(ImageError { path: name(path).into(), problem: Problem::Read(cause) })
    })
}

/// Reads all layers of an image.
pub fn layers(path: &Path) -> Result<Layers, Error> {
    decode_layers(name(path), &image_data(path)?).map_err(Error::Image)
}

/// Decodes all layers of the image file `data`, with colours of the `selected` layers in linear
/// sRGB, whatever primaries the file states. Warns about those that cannot be converted.
pub fn srgb_layers(
    path: &Path,
    data: &[u8],
    selected: impl Fn(&Layer) -> bool,
) -> Result<Layers, Error> {
    let mut image = decode_layers(name(path), data).map_err(Error::Image)?;
    if is_exr(data) {
        let header = exr_header(path, data)?;
        for layer in image.layers.iter_mut().filter(|layer| selected(layer)) {
            let name = layer.name.clone();
            convert_to_srgb(layer, &name, &mut header.clone(), path);
        }
    }
    Ok(image)
}

/// Name of the layer with the variance of each pixel's mean.
pub const VARIANCE: &str = "variance";

/// Converts a layer of an EXR file, or one of its channels, to linear sRGB, which the header states
/// from then on. `layer_name` is its name in the file. Warns about colours where that is
/// impossible: single channels, and variances, which are not linear.
pub fn convert_to_srgb(layer: &mut Layer, layer_name: &str, header: &mut ExrHeader, path: &Path) {
    let is_rgb = |channel: &Channel| matches!(channel.name.as_str(), "R" | "G" | "B");
    if header.is_srgb() || !layer.channels.iter().any(is_rgb) || layer.is_matte() {
        return;
    }
    if !layer.is_colour() || layer_name == VARIANCE {
        return console::warn(&format!(
            "{}: the primaries are not those of sRGB, and `{layer_name}` cannot be converted",
            name(path).display()
        ));
    }
    header.convert_to_srgb(layer, layer_name == "albedo");
    header.remove(COLOUR_SPACE);
}

/// Sets the depth of pixels without a surface, which is [`NO_DEPTH`] in files, to infinity.
pub fn set_missing_depths_to_infinity(layer: &mut Layer) {
    let depths = layer.depths_mut().into_iter().flatten();
    depths.filter(|z| **z == NO_DEPTH).for_each(|z| *z = f32::INFINITY);
}

/// Reads the header of the EXR file `data`.
pub fn exr_header(path: &Path, data: &[u8]) -> Result<ExrHeader, Error> {
    ExrHeader::read(data)
        .map_err(|problem| Error::Image(ImageError { path: name(path).into(), problem }))
}

/// A suggestion for a name of `render --layers` that is not the name of a layer in a file.
pub fn layer_suggestion(name: &str) -> &'static str {
    match name {
        "beauty" => "the layer beauty of `render` is called `colour` here; ",
        "ids" => "the ids of `render` are the layers `material.id` and `object.id`; ",
        "motion" => "the layer motion of `render` is called `forward` here; ",
        "lightgroups" => "the lightgroups of `render` are layers called `light_NAME` here; ",
        _ => "",
    }
}

/// The source of a scene. Paths in a scene from stdin are relative to the current folder.
pub fn scene(path: &Path) -> Result<Arc<Source>, Error> {
    if !is_stream(path) {
        return Ok(Source::file(path));
    }
    let text = read(path).and_then(|data| Ok(lightbound_pbrt::decompress(&data)?.into_owned()));
    match text {
        Ok(text) => Ok(Source::memory(name(path), text)),
        Err(cause) => Err(Error::Data {
            message: format!("stdin: the scene cannot be read ({cause})"),
            help: "check the command that writes it".into(),
        }),
    }
}

/// The scene in data from stdin, unless they are binary.
pub fn scene_in(path: &Path, name: &Path, data: &[u8]) -> Option<Arc<Source>> {
    let text = lightbound_pbrt::decompress(data).ok()?;
    let is_scene = is_stream(path) && !text.is_empty() && !text.contains(&0);
    is_scene.then(|| Source::memory(name, text.into_owned()))
}

/// Fails if more than one of the paths is stdin.
pub fn check_single_stdin<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<(), Error> {
    match paths.into_iter().filter(|path| is_stream(path)).count() {
        0 | 1 => Ok(()),
        n => Err(Error::option(
            format!("stdin can be read once, but {n} files are `-`"),
            "name files for all but one",
        )),
    }
}
