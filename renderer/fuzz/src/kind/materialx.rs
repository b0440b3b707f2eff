//! MaterialX documents.

use super::{Reader, files};
use lightbound_materialx::Document;
use std::io;

/// Reads documents, and converts all of their materials.
pub struct Documents;

impl Reader for Documents {
    fn corpus(&self) -> Vec<Vec<u8>> {
        [files("scenes/materialx", "mtlx"), files("renderer/fuzz/corpus", "mtlx")].concat()
    }

    fn read(&mut self, input: &[u8]) -> Result<(), String> {
        let text = str::from_utf8(input).map_err(|error| error.to_string())?;
        let mut no_files = |_: &str| Err(io::Error::other("there are no other files"));
        let document = Document::parse("case.mtlx", text, &mut no_files);
        let document = document.map_err(|error| error.to_string())?;
        for material in document.materials() {
            document.convert(Some(material)).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}
