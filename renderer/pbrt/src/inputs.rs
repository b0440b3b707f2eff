//! The input files of a scene, and a hash of them.
//!
//! Every file is recorded when its bytes are read, so the hash covers exactly the bytes that the
//! scene was built from. It covers the files' contents (BLAKE3) and their names relative to the
//! scene's folder, but neither the path of that folder nor the name of the main file. The same
//! scene on another machine has the same hash.
//!
//! Files may be in memory: those of a scene that was translated from another format.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files read for a scene.
#[derive(Clone, Debug, Default)]
pub struct InputFiles {
    /// Folder of the main file.
    folder: PathBuf,
    /// Name and content hash. A file that changed between two reads is listed twice.
    files: BTreeSet<(String, [u8; 32])>,
    /// Paths of these files, except the main one.
    paths: BTreeSet<PathBuf>,
    /// Files in memory by their paths, which are read instead of those on the disk.
    memory: Arc<BTreeMap<PathBuf, Vec<u8>>>,
}

impl InputFiles {
    /// Creates an empty record for a scene in `folder`.
    pub fn new(folder: &Path) -> InputFiles {
        InputFiles { folder: folder.into(), ..InputFiles::default() }
    }

    /// Lets files be read from memory, by their paths.
    pub fn with_memory(self, memory: Arc<BTreeMap<PathBuf, Vec<u8>>>) -> InputFiles {
        InputFiles { memory, ..self }
    }

    /// Records the main file's text.
    pub fn add_main(&mut self, text: &[u8]) {
        self.files.insert((String::new(), blake3::hash(text).into()));
    }

    /// Records the content of a file.
    pub fn add(&mut self, path: &Path, content: &[u8]) {
        let name = path.strip_prefix(&self.folder).unwrap_or(path);
        let hash = blake3::Hasher::new().update_rayon(content).finalize();
        self.files.insert((name.to_string_lossy().into_owned(), hash.into()));
        self.paths.insert(path.into());
    }

    /// Adds the path of a file whose content is part of the others: one that they were made from.
    pub fn add_origin(&mut self, path: PathBuf) {
        self.paths.insert(path);
    }

    /// Iterates over the paths of all recorded files except the main one.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().map(PathBuf::as_path)
    }

    /// Reads a file and records it.
    pub fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        let content = match self.memory.get(path) {
            Some(content) => content.clone(),
            None => std::fs::read(path)?,
        };
        self.add(path, &content);
        Ok(content)
    }

    /// Reads a text file and records it.
    pub fn read_text(&mut self, path: &Path) -> io::Result<String> {
        String::from_utf8(self.read(path)?)
            .map_err(|cause| io::Error::new(io::ErrorKind::InvalidData, cause))
    }

    /// Returns the hash of all files as 64 hexadecimal digits.
    pub fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (name, content) in &self.files {
            // The length prefix separates names from contents.
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
            hasher.update(content);
        }
        hasher.finalize().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_memory_come_first() {
        let files = BTreeMap::from([(PathBuf::from("/no/such"), vec![1, 2])]);
        let mut inputs = InputFiles::new(Path::new("/no")).with_memory(Arc::new(files));
        assert_eq!(inputs.read(Path::new("/no/such")).unwrap(), [1, 2]);
        assert!(inputs.read(Path::new("/no/other")).is_err());
        assert_eq!(inputs.paths().collect::<Vec<_>>(), [Path::new("/no/such")]);
    }

    #[test]
    fn hash_depends_on_relative_names_and_contents_only() {
        let hash = |folder: &str, files: &[(&str, &str)]| {
            let mut inputs = InputFiles::new(Path::new(folder));
            inputs.add_main(b"main");
            files
                .iter()
                .for_each(|(name, content)| inputs.add(Path::new(name), content.as_bytes()));
            inputs.hash()
        };
        let reference = hash("a", &[("a/x.ply", "1"), ("a/y.ply", "2")]);
        assert_eq!(reference.len(), 64);
        assert_eq!(
            reference,
            hash("/b/c", &[("/b/c/y.ply", "2"), ("/b/c/x.ply", "1"), ("/b/c/x.ply", "1")])
        );
        let different = [
            &[("a/x.ply", "2"), ("a/y.ply", "1")][..],
            &[("a/x.ply", "1")],
            &[("a/x.ply", "1"), ("a/y.ply", "2"), ("a/y.ply", "3")],
            &[("a/x.ply", "1"), ("/y.ply", "2")],
        ];
        assert!(different.iter().all(|files| hash("a", files) != reference));
    }
}
