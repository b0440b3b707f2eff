//! `lightbound import`: writes a glTF asset as a pbrt scene with meshes and images.

use super::gltf::GltfArgs;
use super::output::OutputFile;
use super::{Error, Exit, console};
use lightbound_gltf::{check_images, file_name, is_gltf_name, translate};
use lightbound_image::write::save;
use lightbound_pbrt::Diagnostics;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  lightbound import helmet.glb                          writes helmet.pbrt
  lightbound import helmet.gltf -o scenes/helmet.pbrt
  lightbound import robot.glb -o robot.pbrt --time 1.5  the pose at 1.5 s
  lightbound import shoe.glb -o shoe.pbrt --variant beach --camera auto

The scene is text in pbrt-v4's format. Meshes (PLY) and images are in a folder
beside it: helmet-files for helmet.pbrt. Existing files are replaced. The scene
renders like the asset itself: lightbound render helmet.glb.";

/// Options of `import`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct Args {
    /// Asset: glTF 2.0, .gltf or .glb
    #[arg(value_name = "ASSET")]
    pub asset: PathBuf,

    /// Scene to write, .pbrt [default: the asset's name with .pbrt, in the current folder]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Light the scene with an environment map instead of default lights; it is copied
    #[arg(long, value_name = "FILE")]
    pub environment: Option<PathBuf>,

    #[command(flatten)]
    pub gltf: GltfArgs,

    /// Turn warnings into errors
    #[arg(long)]
    pub strict: bool,

    /// Print nothing but warnings and errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    if !is_gltf_name(&args.asset) {
        return Err(Error::option(
            format!("{} is not a glTF asset", args.asset.display()),
            "give a file that ends in .gltf or .glb",
        ));
    }
    let default =
        || PathBuf::from(args.asset.file_name().unwrap_or_default()).with_extension("pbrt");
    let path = args.output.clone().unwrap_or_else(default);
    if path.extension().is_none_or(|extension| extension != "pbrt") {
        return Err(Error::option(
            format!("cannot write `{}`: its name does not end in .pbrt", path.display()),
            "name a scene file",
        ));
    }
    let output = OutputFile::check(&path)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let names = format!("{}-files", file_name(&stem));
    let mut diagnostics = Diagnostics::new(args.strict);
    let options = args.gltf.options(args.environment.clone());
    let translated = check_images(&args.asset, &mut diagnostics)
        .and_then(|()| translate(&args.asset, &options, &names, &mut diagnostics));
    for warning in diagnostics.warnings() {
        console::warn(warning);
    }
    let translation = translated?;

    let folder = path.parent().unwrap_or(Path::new(""));
    let mut text = translation.text();
    let mut files = translation.files;
    if let Some(environment) = &args.environment {
        let (name, bytes) = environment_file(environment, &names)?;
        text += &format!(
            "# As --environment: the zenith of the map is +y.\nAttributeBegin\nRotate -90 1 0 0\n\
             LightSource \"infinite\" \"string filename\" \"{name}\"\nAttributeEnd\n"
        );
        files.insert(name, bytes);
    }
    let names = folder.join(&names);
    let is_new = !names.exists();
    let count = files.len();
    let written =
        write_all(folder, &names, files).and_then(|()| write(output.name(), text.as_bytes()));
    if written.is_err() && is_new {
        // Files without a scene are of no use. What else fails has no remedy here.
        let _ = std::fs::remove_dir_all(&names);
    }
    written?;
    if !args.quiet {
        eprintln!("wrote {} and {count} files in {}", path.display(), names.display());
    }
    Ok(Exit::Success)
}

/// Writes the files of a scene. Their names begin with that of the folder `names`.
fn write_all(folder: &Path, names: &Path, files: BTreeMap<String, Vec<u8>>) -> Result<(), Error> {
    if files.is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(names).map_err(|cause| {
        let help = match names.is_dir() || !names.exists() {
            true => "check the permissions, or name another output",
            false => "it is a file; remove it, or name another output",
        };
        Error::option(format!("cannot create the folder `{}`: {cause}", names.display()), help)
    })?;
    files.iter().try_for_each(|(name, bytes)| write(&folder.join(name), bytes))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    save(path, bytes).map_err(|cause| Error::Write {
        cause,
        help: "the scene was not written; run the command again".into(),
    })
}

/// Reads an environment map, and returns its name in the scene's folder of files.
fn environment_file(path: &Path, folder: &str) -> Result<(String, Vec<u8>), Error> {
    let bytes = std::fs::read(path).map_err(|cause| {
        let message = format!("cannot read the environment map {}: {cause}", path.display());
        Error::option(message, "name an image for --environment: .exr, .hdr or .pfm")
    })?;
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    Ok((format!("{folder}/environment.{extension}"), bytes))
}
