//! Files that `eval` and `bound` read and write: tables of inputs, images for textures, results.

use super::{Assignment, Source, assignment, images, is_stdin, output, values};
use crate::cli::Error;
use crate::cli::output::{Output, to_stdout};
use lightbound::image::write::save;
use lightbound::texture::for_shaders::{self, ReadError};
use lightbound_shader::{Shader, Texture};
use std::path::{Path, PathBuf};

/// Options that name files, beside the shader.
#[derive(Debug, clap::Args)]
pub struct Files {
    /// Take the rows of a CSV file instead; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["wi", "wo"])]
    pub csv: Option<PathBuf>,

    /// Image for a texture of the shader: sRGB, repeated, with bilinear look-ups
    #[arg(long, value_name = "NAME=FILE", value_parser = assignment)]
    texture: Vec<Assignment>,

    /// File to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Files {
    /// Where results go, which is none of the files that are read.
    pub fn results(&self, source: &Source) -> Result<Results, Error> {
        let inputs =
            [Some(&source.file), self.csv.as_ref()].into_iter().flatten().map(PathBuf::as_path);
        let inputs = inputs.chain(self.texture.iter().map(|(_, file)| Path::new(file)));
        let output = output(self.output.as_deref(), &inputs.collect::<Vec<_>>())?;
        if is_stdin(&source.file) && self.csv.as_deref().is_some_and(is_stdin) {
            return Err(Error::Option {
                message: "shader and rows cannot both come from stdin".into(),
                help: "name a file for one of them".into(),
            });
        }
        Ok(Results { output, whole: Vec::new() })
    }

    /// The textures of a shader.
    pub fn textures(&self, shader: &Shader) -> Result<Vec<Texture>, Error> {
        let names: Vec<&str> = shader.textures().iter().map(String::as_str).collect();
        if let Some((name, _)) =
            self.texture.iter().find(|(name, _)| !names.contains(&name.as_str()))
        {
            return Err(values::unknown("texture", &[], &names, name).into());
        }
        let read = |file: &str| {
            for_shaders::read(Path::new(file)).map_err(|error| match error {
                ReadError::Image(error) => Error::Data {
                    message: error.to_string(),
                    help: "check the path after --texture".into(),
                },
                ReadError::TooLarge(error) => {
                    Error::Data { message: format!("{file}: {error}"), help: error.remedy() }
                }
            })
        };
        images(shader, &self.texture)?.into_iter().map(read).collect()
    }
}

/// Where results go: stdout, or a file, for which they are held until they are whole, so that they
/// can be saved elsewhere where it cannot be written.
pub struct Results {
    output: Option<Output>,
    whole: Vec<u8>,
}

impl Results {
    /// Takes text, and tells whether anybody wants more of it.
    pub fn write(&mut self, text: &[u8]) -> Result<bool, Error> {
        if self.output.is_none() {
            return to_stdout(text);
        }
        self.whole.extend_from_slice(text);
        Ok(true)
    }

    /// Writes the file, if there is one.
    pub fn finish(self) -> Result<(), Error> {
        let Results { output, whole } = self;
        match output {
            Some(output) => output.write(|path| save(path, &whole)),
            None => Ok(()),
        }
    }
}
