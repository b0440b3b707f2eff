//! Reads shader text, which must be UTF-8.

use super::inputs::Inputs;
use std::io;
use std::path::Path;

/// Why shader text cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system reports an error.
    #[error("{name}: cannot be read ({cause})")]
    Unreadable {
        /// The file.
        name: String,
        /// The error.
        cause: io::Error,
    },
    /// The bytes are not UTF-8.
    #[error("{name}:{line}: not text in UTF-8")]
    NotText {
        /// The file.
        name: String,
        /// Line of the first invalid byte, from 1.
        line: usize,
    },
}

impl ReadError {
    /// How to fix it.
    pub fn remedy(&self) -> &'static str {
        match self {
            ReadError::Unreadable { .. } => "check that the file exists and is readable",
            ReadError::NotText { .. } => "shaders are WGSL text; save the file as UTF-8",
        }
    }
}

/// Decodes the bytes read from the file `name`.
pub fn text(name: &str, read: io::Result<Vec<u8>>) -> Result<String, ReadError> {
    let name = || name.to_owned();
    let bytes = read.map_err(|cause| ReadError::Unreadable { name: name(), cause })?;
    String::from_utf8(bytes).map_err(|cause| {
        let before = &cause.as_bytes()[..cause.utf8_error().valid_up_to()];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        ReadError::NotText { name: name(), line }
    })
}

/// Reads a shader file of a scene and records it in `inputs`.
pub fn read(path: &Path, inputs: &mut Inputs) -> Result<String, ReadError> {
    text(&path.display().to_string(), inputs.read(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_file_and_line() {
        assert_eq!(text("a.wgsl", Ok(b"fn".to_vec())).unwrap(), "fn");
        let error = text("a.wgsl", Ok(b"one\ntwo\n\xff".to_vec())).unwrap_err();
        assert_eq!(
            (error.to_string(), error.remedy().contains("UTF-8")),
            ("a.wgsl:3: not text in UTF-8".into(), true)
        );
        let error = read(Path::new("/no/such.wgsl"), &mut Inputs::default()).unwrap_err();
        assert!(error.to_string().starts_with("/no/such.wgsl: cannot be read ("), "{error}");
    }
}
