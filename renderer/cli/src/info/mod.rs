//! `lightbound info`: tells what scenes, images and MaterialX documents contain, without rendering.

mod document;
mod image;
mod scene;

use super::output::{ReportFormat, to_stdout};
use super::{Error, Exit, console, input};
use lightbound_image::ImageError;
use lightbound_materialx::is_materialx_name;
use miette::Report;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  lightbound info scene.pbrt                 resolution, lights, triangles, memory, fallbacks
  lightbound info picture.exr                layers, minimum, maximum, mean, attributes
  lightbound info picture.exr.checkpoint     its samples; also of parts
  lightbound info materials.mtlx             its materials, and what is not supported
  lightbound info *.exr --format json

A scene is loaded as for rendering, with all its files, so problems show. Its
memory is measured after loading, for the first file only, plus that of the film
for an .exr with the default layers. Statistics of images are those of linear
values; PNG, JPEG and TGA are decoded from sRGB. NaNs and infinities are
counted, and excluded from the others, as is the depth of pixels without a surface.";

/// Options of `info`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Scenes (.pbrt, .pbrt.gz, .gltf, .glb), images (EXR, PFM, HDR, PNG, JPEG, TGA), parts,
    /// checkpoints and MaterialX documents (.mtlx); - reads stdin
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub format: ReportFormat,
}

/// A description of a file.
enum Info {
    Scene(Box<scene::SceneInfo>),
    Image(Box<image::ImageInfo>),
    Document(Box<document::DocumentInfo>),
}

impl Info {
    /// Describes a file. Memory is measured for the first file only, since later ones reuse what
    /// it has left.
    fn of(path: &Path, is_first: bool) -> Result<Info, Error> {
        let name = input::name(path);
        let load = |source| {
            scene::SceneInfo::load(name, source, is_first).map(|info| Info::Scene(Box::new(info)))
        };
        if input::is_scene_name(path) {
            return load(input::scene(path)?);
        }
        if is_materialx_name(path) {
            let info = document::DocumentInfo::load(path)?;
            return Ok(Info::Document(Box::new(info)));
        }
        let data = input::image_data(path)?;
        match image::ImageInfo::new(name, &data) {
            Ok(info) => Ok(Info::Image(Box::new(info))),
            Err(error) => match input::scene_in(path, name, &data) {
                Some(source) => load(source),
                None => Err(unknown(error)),
            },
        }
    }

    fn text(&self) -> String {
        match self {
            Info::Scene(info) => info.text(),
            Info::Image(info) => info.text(),
            Info::Document(info) => info.text(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Info::Scene(info) => info.json(),
            Info::Image(info) => info.json(),
            Info::Document(info) => info.json(),
        }
    }
}

/// Adds to an error about an unknown format that scenes would do as well.
fn unknown(error: ImageError) -> Error {
    match error.problem {
        lightbound_image::Problem::UnknownFormat => Error::Data {
            message: format!("{}: neither a scene nor an image", error.path.display()),
            help:
                "name a scene that ends in .pbrt, .pbrt.gz, .gltf or .glb, or an image: EXR, PFM, \
                   HDR, PNG, JPEG or TGA"
                    .into(),
        },
        _ => Error::Image(error),
    }
}

/// Runs the command. An unusable file does not keep the others from being described.
pub fn run(args: &Args) -> Result<Exit, Error> {
    input::check_single_stdin(args.files.iter().map(PathBuf::as_path))?;
    let (mut exit, mut list) = (Exit::Success, Vec::new());
    for (i, path) in args.files.iter().enumerate() {
        match Info::of(path, i == 0) {
            Ok(info) if args.format == ReportFormat::Json => list.push(info.json()),
            Ok(info) => {
                let gap = if i > 0 { "\n" } else { "" };
                if !to_stdout(format!("{gap}{}", info.text()).as_bytes())? {
                    return Ok(exit);
                }
            }
            Err(error) => {
                exit = error.exit();
                list.push(json!({
                    "file": input::name(path).display().to_string(),
                    "error": error.to_string(),
                }));
                console::print(&format!("{:?}", Report::new(error)));
            }
        }
    }
    if args.format == ReportFormat::Json {
        to_stdout(format!("{:#}\n", Value::from(list)).as_bytes())?;
    }
    Ok(exit)
}

/// Indented lines of names and values; the names form a column, and further lines of a value are
/// below its first one.
fn lines(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in rows {
        for (i, line) in value.lines().enumerate() {
            let name = if i == 0 { name } else { "" };
            text += format!("  {name:width$}  {line}").trim_end();
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenes_are_recognized_by_their_names() {
        let is = |name: &str| input::is_scene_name(Path::new(name));
        assert!(is("a/b.pbrt") && is("B.PBRT.GZ") && is("a.b.pbrt"));
        assert!(!is("a.exr") && !is("pbrt") && !is("a.pbrt/b.gz"));
    }

    #[test]
    fn values_form_a_column() {
        let rows = [("a", "1".to_string()), ("long", "2\n3".into()), ("b", String::new())];
        assert_eq!(lines(&rows), "  a     1\n  long  2\n        3\n");
    }
}
