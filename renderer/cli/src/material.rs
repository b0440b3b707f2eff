//! `lightbound material`: materials of other programs as WGSL.

use super::output::{OutputFile, is_stream, to_stdout};
use super::{Error, Exit, console};
use lightbound_image::write::save;
use lightbound_materialx::{Document, Material, Warning, is_materialx_name};
use lightbound_pbrt::build::image_exists;
use lightbound_pbrt::shader_file;
use std::io;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  lightbound material convert brass.mtlx -o brass.wgsl
  lightbound material convert chess_set.mtlx --material M_King_B
  lightbound shader preview brass.mtlx -o brass.png

The shader has the values of the document as defaults of its parameters,
and one `let` for each node. Its head lists the images, with paths
relative to the document. Scenes may use the document itself:
  Material \"materialx\" \"string filename\" \"brass.mtlx\"";

/// Subcommands of `material`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Convert a material of a MaterialX document to WGSL
    Convert(Args),
}

/// Options of `material convert`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Document, .mtlx
    #[arg(value_name = "DOCUMENT")]
    document: PathBuf,

    /// Name of the material [default: the only one]
    #[arg(long, value_name = "NAME")]
    material: Option<String>,

    /// Shader to write, .wgsl [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(command: &Command) -> Result<Exit, Error> {
    let Command::Convert(args) = command;
    if !is_materialx_name(&args.document) {
        return Err(Error::option(
            format!("{} is not a MaterialX document", args.document.display()),
            "give a file that ends in .mtlx",
        ));
    }
    let output = args.output.as_deref().filter(|path| !is_stream(path));
    let output = output.map(OutputFile::check).transpose()?;
    if let Some(output) = &output
        && output.is_same_file(&args.document)
    {
        return Err(Error::option("--output would overwrite the document", "name another file"));
    }
    let material = convert(&args.document, args.material.as_deref())?;
    material.warnings.iter().for_each(|warning| console::warn(warning));
    missing_images(&args.document, &material).for_each(|warning| console::warn(&warning));
    match output {
        None => {
            to_stdout(material.text.as_bytes())?;
        }
        Some(output) => output.write(|path| save(path, material.text.as_bytes()))?,
    }
    Ok(Exit::Success)
}

/// Converts a material of a document; without a name, the only one.
pub fn convert(path: &Path, material: Option<&str>) -> Result<Material, Error> {
    read(path)?.convert(material).map_err(document_error)
}

/// Warnings about images of a material that do not exist.
pub fn missing_images<'a>(
    document: &'a Path,
    material: &'a Material,
) -> impl Iterator<Item = Warning> + 'a {
    let folder = document.parent().unwrap_or(Path::new(""));
    let missing = material.files.iter().filter(|image| !image_exists(&folder.join(&image.file)));
    missing.map(|image| Warning {
        location: image.location.clone(),
        message: format!("the image {} does not exist", image.file),
        fallback: "scenes with the material cannot be loaded; paths are relative to the document"
            .into(),
    })
}

fn document_error(error: lightbound_materialx::Error) -> Error {
    Error::Data { message: error.to_string(), help: error.help }
}

/// Reads a document, with the files that it includes.
pub fn read(path: &Path) -> Result<Document, Error> {
    let read = |path: &Path| shader_file::decode(&path.display().to_string(), std::fs::read(path));
    let text = read(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut included = |name: &str| read(&folder.join(name)).map_err(io::Error::other);
    let name = path.display().to_string();
    Document::parse(&name, &text, &mut included).map_err(document_error)
}
