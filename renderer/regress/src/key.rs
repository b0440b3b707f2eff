//! Cache keys of cases: equal keys imply equal images.
//!
//! A key is a hash of everything that determines an image: the executable, the definition of the
//! case, and the files of its scene.

use super::suite::Case;
use lightbound_pbrt::inputs::InputFiles;

/// Computes the keys of cases for one executable.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    program: [u8; 32],
}

impl Keys {
    /// Keys for the running executable. If its file cannot be read, its version is used instead.
    pub fn for_current_executable() -> Keys {
        let program = std::env::current_exe()
            .and_then(std::fs::read)
            .unwrap_or_else(|_| env!("CARGO_PKG_VERSION").into());
        Keys { program: blake3::hash(&program).into() }
    }

    /// The key of a case with the given scene files. `seed` overrides the seed of the case.
    pub fn key(&self, case: &Case, seed: Option<u32>, inputs: &InputFiles) -> String {
        let mut hasher = blake3::Hasher::new_keyed(&self.program);
        hasher.update(inputs.hash().as_bytes());
        hasher.update(format!("{case:?} {seed:?}").as_bytes());
        hasher.finalize().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::super::suite::Suite;
    use super::*;
    use std::path::Path;

    #[test]
    fn keys_depend_on_everything_that_determines_the_image() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("suite.toml");
        std::fs::write(&path, "[[case]]\nname = \"a\"\nscene = \"suite.toml\"\n").unwrap();
        let case = &Suite::read(&path).unwrap().cases[0];
        let keys = Keys::for_current_executable();
        let inputs = |text: &str| {
            let mut inputs = InputFiles::new(Path::new(""));
            inputs.add_main(text.as_bytes());
            inputs
        };
        let key = keys.key(case, None, &inputs("one"));
        assert_eq!(Keys::for_current_executable().key(case, None, &inputs("one")), key);
        let mut other = case.clone();
        other.settings.spp = Some(9);
        let others = [
            keys.key(case, None, &inputs("two")),
            keys.key(case, Some(1), &inputs("one")),
            keys.key(&other, None, &inputs("one")),
            Keys { program: [0; 32] }.key(case, None, &inputs("one")),
        ];
        assert!(!others.contains(&key));
    }
}
