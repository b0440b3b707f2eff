//! Keys of cases: equal as long as the picture of a case must be.
//!
//! A key is a hash of all that a picture depends on: the program, the case, and the scene's files. Which files a scene has is told
//! by its text: every quoted string that is the path of a file counts, so that nothing needs to be loaded. Keys are compared on one
//! machine, within hours; they need to withstand no attack.

use super::suite::Case;
use crate::scene::file::read_bytes;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Makes keys for one program.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    program: u64,
}

impl Keys {
    /// For the program that runs. Where it cannot be read, its version has to do.
    pub fn of_this_program() -> Keys {
        let mut hasher = DefaultHasher::new();
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        std::env::current_exe().and_then(std::fs::read).unwrap_or_default().hash(&mut hasher);
        Keys { program: hasher.finish() }
    }

    /// The key of a case that is rendered with `seed`, if that is not the case's own.
    pub fn of(&self, case: &Case, seed: Option<u32>) -> String {
        let mut hasher = DefaultHasher::new();
        (self.program, format!("{case:?}"), seed).hash(&mut hasher);
        let folder = case.scene.parent().unwrap_or(Path::new(""));
        let (mut open, mut seen) = (vec![case.scene.clone()], BTreeSet::new());
        while let Some(path) = open.pop() {
            if !seen.insert(path.clone()) {
                continue;
            }
            let bytes = read_bytes(&path).unwrap_or_default();
            (&path, &bytes).hash(&mut hasher);
            if is_scene(&path) {
                open.extend(quoted(&bytes).map(|name| folder.join(name)).filter(|path| path.is_file()));
            }
        }
        format!("{:016x}", hasher.finish())
    }
}

/// Whether a file is text that may name others.
fn is_scene(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    name.ends_with(".pbrt") || name.ends_with(".pbrt.gz")
}

/// All that stands between quotes, whether the text is well-formed or not: a quote may open or close.
fn quoted(bytes: &[u8]) -> impl Iterator<Item = PathBuf> {
    bytes
        .split(|&b| b == b'"')
        .skip(1)
        .filter_map(|s| std::str::from_utf8(s).ok())
        .filter(|s| s.len() < 1024)
        .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::super::suite::Suite;
    use super::*;
    use std::fs;

    #[test]
    fn keys_change_with_whatever_the_picture_depends_on() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("suite.toml", "[[case]]\nname = \"a\"\nscene = \"a.pbrt\"\n");
        write("a.pbrt", "# 3\" of snow\nInclude \"b.pbrt\"\n");
        write("b.pbrt", "Texture \"t\" \"spectrum\" \"imagemap\" \"string filename\" \"t.png\"\n");
        write("t.png", "first");
        write("other.png", "first");
        let suite = Suite::read(&folder.path().join("suite.toml")).unwrap();
        let case = &suite.cases[0];
        let keys = Keys::of_this_program();
        let first = keys.of(case, None);
        assert_eq!(keys.of(case, None), first);
        write("other.png", "second");
        assert_eq!(keys.of(case, None), first);
        assert_ne!(keys.of(case, Some(1)), first);
        assert_ne!(Keys { program: !keys.program }.of(case, None), first);
        let mut more = case.clone();
        more.settings.spp = Some(9);
        assert_ne!(keys.of(&more, None), first);
        write("t.png", "second");
        let second = keys.of(case, None);
        assert_ne!(second, first);
        write("b.pbrt", "Texture \"t\" \"float\" \"imagemap\" \"string filename\" \"t.png\"\n");
        assert_ne!(keys.of(case, None), second);
    }
}
