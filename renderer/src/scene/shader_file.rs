//! The text of shaders, from bytes that should be UTF-8.

use super::inputs::Inputs;
use std::io;
use std::path::Path;

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system does not let the file be read.
    #[error("{name}: cannot be read ({cause})")]
    Unreadable {
        /// The file.
        name: String,
        /// What the system says.
        cause: io::Error,
    },
    /// It is no text.
    #[error("{name}:{line}: not text in UTF-8")]
    NotText {
        /// The file.
        name: String,
        /// Where, from 1.
        line: usize,
    },
}

impl ReadError {
    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            ReadError::Unreadable { .. } => "check that the file exists and is readable",
            ReadError::NotText { .. } => "shaders are WGSL text; save the file as UTF-8",
        }
    }
}

/// The text that was read; `name` is the file's.
pub fn text(name: &str, read: io::Result<Vec<u8>>) -> Result<String, ReadError> {
    let name = || name.to_owned();
    let bytes = read.map_err(|cause| ReadError::Unreadable { name: name(), cause })?;
    String::from_utf8(bytes).map_err(|cause| {
        let before = &cause.as_bytes()[..cause.utf8_error().valid_up_to()];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        ReadError::NotText { name: name(), line }
    })
}

/// The text of a file of a scene.
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
