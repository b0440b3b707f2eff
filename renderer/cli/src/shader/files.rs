//! Files of `eval` and `bound`: input tables, images for textures, and results.

use super::{Assignment, SourceArgs, images, is_stdin, output, parse_assignment, values};
use crate::Error;
use crate::output::{OutputFile, to_stdout};
use lightbound::texture::shader_texture::{self, ShaderTextureError};
use lightbound_image::write::save;
use lightbound_shader::{Shader, Texture};
use std::path::{Path, PathBuf};

/// Options with files other than the shader.
#[derive(Debug, clap::Args)]
pub struct FileArgs {
    /// Read inputs from the rows of a CSV file; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["wi", "wo", "p"])]
    pub csv: Option<PathBuf>,

    /// Image for a texture of the shader: sRGB, repeated, with bilinear filtering
    #[arg(long, value_name = "NAME=FILE", value_parser = parse_assignment)]
    texture: Vec<Assignment>,

    /// Output file [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl FileArgs {
    /// Checks the output, which must not be one of the input files.
    pub fn results(&self, source: &SourceArgs) -> Result<Results, Error> {
        let inputs =
            [Some(&source.file), self.csv.as_ref()].into_iter().flatten().map(PathBuf::as_path);
        let inputs = inputs.chain(self.texture.iter().map(|(_, file)| Path::new(file)));
        let output = output(self.output.as_deref(), &inputs.collect::<Vec<_>>())?;
        if is_stdin(&source.file) && self.csv.as_deref().is_some_and(is_stdin) {
            return Err(Error::Option {
                message: "shader and rows cannot both be read from stdin".into(),
                help: "name a file for one of them".into(),
            });
        }
        Ok(Results { output, buffer: Vec::new() })
    }

    /// The textures of a shader.
    pub fn textures(&self, shader: &Shader) -> Result<Vec<Texture>, Error> {
        let names: Vec<&str> = shader.textures().iter().map(String::as_str).collect();
        if let Some((name, _)) =
            self.texture.iter().find(|(name, _)| !names.contains(&name.as_str()))
        {
            return Err(values::unknown_name("texture", &[], &names, name).into());
        }
        let read = |file: &str| {
            shader_texture::read(Path::new(file)).map_err(|error| match error {
                ShaderTextureError::Image(error) => Error::Data {
                    message: error.to_string(),
                    help: "check the path after --texture".into(),
                },
                ShaderTextureError::TooLarge(error) => {
                    Error::Data { message: format!("{file}: {error}"), help: error.remedy() }
                }
            })
        };
        images(shader, &self.texture)?.into_iter().map(read).collect()
    }
}

/// Where results go: stdout or a file. Results for a file are buffered until they are complete, so
/// that they can be saved elsewhere if the file cannot be written.
pub struct Results {
    output: Option<OutputFile>,
    buffer: Vec<u8>,
}

impl Results {
    /// Writes text; returns false if the reader of stdout has closed it.
    pub fn write(&mut self, text: &[u8]) -> Result<bool, Error> {
        if self.output.is_none() {
            return to_stdout(text);
        }
        self.buffer.extend_from_slice(text);
        Ok(true)
    }

    /// Writes the file, if there is one.
    pub fn finish(self) -> Result<(), Error> {
        let Results { output, buffer } = self;
        match output {
            Some(output) => output.write(|path| save(path, &buffer)),
            None => Ok(()),
        }
    }
}
