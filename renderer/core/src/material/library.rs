//! The material library, embedded in the program.

use crate::suggestion::did_you_mean;

/// A shader of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibraryShader {
    /// File name.
    pub name: &'static str,
    /// WGSL source.
    pub text: &'static str,
}

macro_rules! library {
    ($($name:literal),* $(,)?) => {
        /// All shaders, sorted by name.
        pub const LIBRARY: &[LibraryShader] =
            &[$(LibraryShader { name: $name, text: include_str!(concat!("../../../../assets/shaders/", $name)) }),*];
    };
}

library! {
    "ashikhmin.wgsl",
    "coated_conductor.wgsl",
    "coated_diffuse.wgsl",
    "conductor.wgsl",
    "dielectric.wgsl",
    "diffuse.wgsl",
    "diffuse_transmission.wgsl",
    "fractal.wgsl",
    "gltf.wgsl",
    "hair.wgsl",
    "henyey_greenstein.wgsl",
    "isoward.wgsl",
    "openpbr.wgsl",
    "oren_nayar.wgsl",
    "phong.wgsl",
    "rayleigh.wgsl",
    "ward.wgsl",
}

/// Finds a shader by its file name, with or without `.wgsl`.
pub fn find(name: &str) -> Option<LibraryShader> {
    LIBRARY
        .iter()
        .copied()
        .find(|entry| entry.name == name || entry.name.strip_suffix(".wgsl") == Some(name))
}

/// Returns advice for an unknown shader name: the most similar name, or `otherwise`, and the names
/// of all shaders.
pub fn suggestion(name: &str, otherwise: &str) -> String {
    let names: Vec<&str> = LIBRARY.iter().map(|entry| entry.name).collect();
    let stem = name.strip_suffix(".wgsl").unwrap_or(name);
    let advice = did_you_mean(&format!("{stem}.wgsl"), names.iter().copied(), otherwise);
    format!(
        "{advice}{} the library has {}",
        if advice.ends_with('?') { "" } else { ";" },
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_contains_all_files_of_the_folder() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/shaders");
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        assert_eq!(LIBRARY.iter().map(|entry| entry.name).collect::<Vec<_>>(), files);
        assert_eq!(find("ward.wgsl").unwrap().name, "ward.wgsl");
        assert_eq!((find("ward"), find("nothing.wgsl")), (find("ward.wgsl"), None));
    }

    #[test]
    fn misspelt_names_get_suggestions() {
        assert!(
            suggestion("wrad.wgsl", "look")
                .starts_with("did you mean \"ward.wgsl\"? the library has ashikhmin.wgsl, ")
        );
        assert!(suggestion("wrad", "look").starts_with("did you mean \"ward.wgsl\"? "));
        assert!(suggestion("velvet.wgsl", "look").starts_with("look; the library has "));
    }
}
