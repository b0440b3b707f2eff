//! Tests of whole documents.

use crate::{Document, Error, Material};
use std::path::Path;

/// Files that include nothing.
pub(crate) fn parse(text: &str) -> Result<Document, Error> {
    Document::parse("test.mtlx", text, &mut |_| Err(std::io::Error::other("no files")))
}

/// Converts the only material.
pub(crate) fn convert(text: &str) -> Result<Material, Error> {
    parse(text)?.convert(None)
}

/// The example materials of MaterialX, `resources/Materials/Examples` of its repository, in a folder
/// that an environment variable names.
const CORPUS: &str = "LIGHTBOUND_MATERIALX_EXAMPLES";

#[test]
fn examples_of_materialx_convert() {
    let Some(folder) = std::env::var_os(CORPUS) else {
        eprintln!("skipped: {CORPUS} does not name a folder with examples");
        return;
    };
    let mut pending = vec![Path::new(&folder).to_owned()];
    let (mut converted, mut failed) = (0, Vec::new());
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if crate::is_materialx_name(&path) {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let text = std::fs::read_to_string(&path).unwrap();
                let folder = path.parent().unwrap();
                let mut read = |name: &str| std::fs::read_to_string(folder.join(name));
                let document = Document::parse(&name, &text, &mut read).unwrap();
                for material in document.materials() {
                    match document.convert(Some(material)) {
                        Ok(_) => converted += 1,
                        Err(error) => failed.push(format!("{error} ({})", error.help)),
                    }
                }
            }
        }
    }
    eprintln!("{converted} materials convert; the others:\n{}", failed.join("\n"));
    assert!(failed.len() <= 1, "{}", failed.join("\n"));
}
