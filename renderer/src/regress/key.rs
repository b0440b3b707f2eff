//! Keys of cases: equal as long as the picture of a case must be.
//!
//! A key is a hash of all that a picture depends on: the program, the case as the suite has it, and
//! the files of its scene.

use super::suite::Case;
use crate::scene::inputs::Inputs;

/// Makes keys for one program.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    program: [u8; 32],
}

impl Keys {
    /// For the program that runs. Where it cannot be read, its version has to do.
    pub fn of_this_program() -> Keys {
        let program = std::env::current_exe()
            .and_then(std::fs::read)
            .unwrap_or_else(|_| env!("CARGO_PKG_VERSION").into());
        Keys { program: blake3::hash(&program).into() }
    }

    /// The key of a case that is rendered with `seed`, if that is not the case's own, of a scene
    /// read from `inputs`.
    pub fn of(&self, case: &Case, seed: Option<u32>, inputs: &Inputs) -> String {
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
    fn keys_change_with_whatever_the_picture_depends_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("suite.toml");
        std::fs::write(&path, "[[case]]\nname = \"a\"\nscene = \"suite.toml\"\n").unwrap();
        let case = &Suite::read(&path).unwrap().cases[0];
        let keys = Keys::of_this_program();
        let inputs = |text: &str| {
            let mut inputs = Inputs::new(Path::new(""));
            inputs.add_main(text.as_bytes());
            inputs
        };
        let key = keys.of(case, None, &inputs("one"));
        assert_eq!(Keys::of_this_program().of(case, None, &inputs("one")), key);
        let mut other = case.clone();
        other.settings.spp = Some(9);
        let others = [
            keys.of(case, None, &inputs("two")),
            keys.of(case, Some(1), &inputs("one")),
            keys.of(&other, None, &inputs("one")),
            Keys { program: [0; 32] }.of(case, None, &inputs("one")),
        ];
        assert!(!others.contains(&key));
    }
}
