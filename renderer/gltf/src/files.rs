//! The files that a scene consists of, beside its text.

use std::collections::{BTreeMap, BTreeSet};

/// Files by their names relative to the scene.
#[derive(Default)]
pub(crate) struct Files {
    /// Folder of the files, relative to the scene; empty or with a slash at the end.
    folder: String,
    pub files: BTreeMap<String, Vec<u8>>,
    /// Names in use, without folder and extension.
    pub stems: Names,
}

/// Names in use.
#[derive(Default)]
pub(crate) struct Names(BTreeSet<String>);

impl Files {
    /// Creates an empty set of files in a folder.
    pub fn new(folder: &str) -> Files {
        let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        Files { folder, ..Files::default() }
    }

    /// Adds a file, and returns its name with the folder.
    pub fn add(&mut self, name: &str, bytes: Vec<u8>) -> String {
        let name = format!("{}{name}", self.folder);
        self.files.insert(name.clone(), bytes);
        name
    }
}

impl Names {
    /// Returns a name like `stem` that was not used before, also on file systems that ignore case.
    pub fn unique(&mut self, stem: &str) -> String {
        let candidates = (2..).map(|n| format!("{stem}-{n}"));
        let mut candidates = std::iter::once(stem.to_string()).chain(candidates);
        let is_new = |name: &String| self.0.insert(name.to_lowercase());
        candidates.find(is_new).expect("there are infinitely many names")
    }
}

/// Replaces what is unusual in the names of files or would need escapes in a scene.
pub fn file_name(name: &str) -> String {
    let replace = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = name.chars().take(64).map(replace).collect();
    name.trim_start_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_plain() {
        let mut files = Files::new("a-files");
        assert_eq!(files.stems.unique("Box"), "Box");
        assert_eq!(files.stems.unique("box"), "box-2");
        assert_eq!(files.add("x.ply", vec![]), "a-files/x.ply");
        assert_eq!(file_name("../a b\"c/ü"), "_a_b_c_ü");
    }
}
