//! Reads shader files, which must be UTF-8.

use super::inputs::InputFiles;
use std::io;
use std::path::Path;

/// An error from reading a shader file.
#[derive(Debug, thiserror::Error)]
pub enum ShaderReadError {
    /// An I/O error.
    #[error("{name}: cannot be read ({cause})")]
    Unreadable {
        /// The file.
        name: String,
        /// The I/O error.
        cause: io::Error,
    },
    /// The bytes are not UTF-8.
    #[error("{name}:{line}: not valid UTF-8 text")]
    NotUtf8 {
        /// The file.
        name: String,
        /// Line of the first invalid byte, from 1.
        line: usize,
    },
}

impl ShaderReadError {
    /// Returns a hint for fixing the error.
    pub fn remedy(&self) -> &'static str {
        match self {
            ShaderReadError::Unreadable { .. } => "check that the file exists and is readable",
            ShaderReadError::NotUtf8 { .. } => "shaders are WGSL text; save the file as UTF-8",
        }
    }
}

/// Decodes the bytes read from the file `name` as UTF-8.
pub fn decode(name: &str, read: io::Result<Vec<u8>>) -> Result<String, ShaderReadError> {
    let name = || name.to_owned();
    let bytes = read.map_err(|cause| ShaderReadError::Unreadable { name: name(), cause })?;
    String::from_utf8(bytes).map_err(|cause| {
        let before = &cause.as_bytes()[..cause.utf8_error().valid_up_to()];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        ShaderReadError::NotUtf8 { name: name(), line }
    })
}

/// Reads a shader file of a scene and records it in `inputs`.
pub fn read(path: &Path, inputs: &mut InputFiles) -> Result<String, ShaderReadError> {
    decode(&path.display().to_string(), inputs.read(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_file_and_line() {
        assert_eq!(decode("a.wgsl", Ok(b"fn".to_vec())).unwrap(), "fn");
        let error = decode("a.wgsl", Ok(b"one\ntwo\n\xff".to_vec())).unwrap_err();
        assert_eq!(
            (error.to_string(), error.remedy().contains("UTF-8")),
            ("a.wgsl:3: not valid UTF-8 text".into(), true)
        );
        let error = read(Path::new("/no/such.wgsl"), &mut InputFiles::default()).unwrap_err();
        assert!(error.to_string().starts_with("/no/such.wgsl: cannot be read ("), "{error}");
    }
}
