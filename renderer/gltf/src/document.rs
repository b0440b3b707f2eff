//! Reads a glTF document: JSON or GLB, and its buffers.

use crate::json;
use crate::schema::{Root, Sampler};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lightbound_pbrt::{Diagnostics, SceneError};
use std::path::{Path, PathBuf};

/// Extensions that are translated, or that do not change the picture.
const SUPPORTED: &[&str] = &[
    "EXT_mesh_gpu_instancing",
    "KHR_lights_punctual",
    "KHR_materials_anisotropy",
    "KHR_materials_clearcoat",
    "KHR_materials_diffuse_transmission",
    "KHR_materials_dispersion",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_iridescence",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_sheen",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_materials_unlit",
    "KHR_materials_variants",
    "KHR_materials_volume",
    "KHR_mesh_quantization",
    "KHR_texture_transform",
    "KHR_xmp_json_ld",
];

/// Extensions that compress data, with the command that decompresses a file.
const COMPRESSION: &[(&str, &str)] = &[
    ("KHR_draco_mesh_compression", "npx @gltf-transform/cli copy in.glb out.glb"),
    ("EXT_meshopt_compression", "npx @gltf-transform/cli copy in.glb out.glb"),
    ("KHR_texture_basisu", "npx @gltf-transform/cli ktxdecompress in.glb out.glb"),
    ("EXT_texture_webp", "npx @gltf-transform/cli png in.glb out.glb"),
    ("EXT_texture_avif", "npx @gltf-transform/cli png in.glb out.glb"),
];

/// Returns what to do about an extension that is not supported.
pub(crate) fn remedy(extension: &str) -> String {
    match COMPRESSION.iter().find(|(name, _)| *name == extension) {
        Some((_, command)) => format!("decompress the file: {command}"),
        None => "export the asset without this extension".into(),
    }
}

/// A document with its buffers.
pub(crate) struct Document {
    /// The file.
    pub path: PathBuf,
    pub root: Root,
    buffers: Vec<Vec<u8>>,
    /// Files that were read.
    pub files: Vec<PathBuf>,
}

/// Where data come from: the folder that URIs are relative to.
struct Reader<'a> {
    path: &'a Path,
    files: Vec<PathBuf>,
}

impl Document {
    /// Reads a file with its buffers.
    pub fn read(path: &Path, diagnostics: &mut Diagnostics) -> Result<Document, SceneError> {
        Document::decode(path, &read(path)?, diagnostics)
    }

    /// Decodes the content of a file, and reads its buffers.
    pub fn decode(
        path: &Path,
        data: &[u8],
        diagnostics: &mut Diagnostics,
    ) -> Result<Document, SceneError> {
        let (root, chunk) = parse(path, data)?;
        check_version(path, &root)?;
        check_extensions(path, &root, diagnostics)?;
        check_alpha_modes(path, &root, diagnostics)?;
        let mut reader = Reader { path, files: vec![path.into()] };
        let mut buffers = Vec::new();
        for (index, buffer) in root.buffers.iter().enumerate() {
            let element = format!("buffer {index}");
            let length = usize::try_from(buffer.byte_length).unwrap_or(usize::MAX);
            let mut content = match (&buffer.uri, chunk) {
                (Some(uri), _) => reader.uri(&element, uri)?,
                (None, Some(chunk)) if index == 0 => chunk.to_vec(),
                // Placeholders of EXT_meshopt_compression; views into them are errors.
                (None, _) => Vec::new(),
            };
            if content.len() < length && !(content.is_empty() && buffer.uri.is_none()) {
                let message = format!("has {} bytes instead of {length}", content.len());
                return Err(error(path, &element, message)
                    .help("the file is truncated or belongs to another asset; copy it again"));
            }
            content.truncate(length);
            buffers.push(content);
        }
        Ok(Document { path: path.into(), root, buffers, files: reader.files })
    }

    /// Returns an error about an element of the document.
    pub fn error(&self, element: &str, problem: impl AsRef<str>) -> SceneError {
        error(&self.path, element, problem)
    }

    /// Returns an element of an array by its index, which `user` names.
    pub fn get<'a, T>(
        &self,
        array: &'a [T],
        kind: &str,
        index: usize,
        user: &str,
    ) -> Result<&'a T, SceneError> {
        array.get(index).ok_or_else(|| {
            let message =
                format!("refers to {kind} {index}, but there are {} (from 0)", array.len());
            self.error(user, message).help("export the asset again")
        })
    }

    /// Returns the bytes of a buffer view, and the stride of its elements.
    pub fn view(&self, index: usize, user: &str) -> Result<(&[u8], Option<usize>), SceneError> {
        let view = self.get(&self.root.buffer_views, "buffer view", index, user)?;
        let element = format!("buffer view {index}");
        if view.extensions.contains_key("EXT_meshopt_compression") {
            let name = "EXT_meshopt_compression";
            return Err(self.error(user, format!("uses {name}")).help(remedy(name)));
        }
        let buffer = self.get(&self.buffers, "buffer", view.buffer, &element)?;
        let range = usize::try_from(view.byte_offset).ok().and_then(|start| {
            let end = start.checked_add(usize::try_from(view.byte_length).ok()?)?;
            buffer.get(start..end)
        });
        let bytes = range.ok_or_else(|| {
            let message = format!(
                "ends at byte {} of buffer {}, which has {}",
                view.byte_offset.saturating_add(view.byte_length),
                view.buffer,
                buffer.len()
            );
            self.error(&element, message).help("export the asset again")
        })?;
        Ok((bytes, view.byte_stride.map(|stride| stride as usize)))
    }

    /// Returns the encoded bytes of an image.
    pub fn image(&mut self, index: usize, user: &str) -> Result<Vec<u8>, SceneError> {
        let image = self.get(&self.root.images, "image", index, user)?;
        let element = label("image", index, image.name.as_deref());
        match (&image.uri, image.buffer_view) {
            (Some(uri), _) => {
                let mut reader = Reader { path: &self.path, files: Vec::new() };
                let bytes = reader.uri(&element, uri)?;
                self.files.append(&mut reader.files);
                Ok(bytes)
            }
            (None, Some(view)) => Ok(self.view(view, &element)?.0.to_vec()),
            (None, None) => Err(self
                .error(&element, "has neither a URI nor a buffer view")
                .help("export the asset again")),
        }
    }

    /// Returns the sampler of a texture.
    pub fn sampler(&self, index: Option<usize>, user: &str) -> Result<Sampler, SceneError> {
        match index {
            None => Ok(Sampler::default()),
            Some(index) => self.get(&self.root.samplers, "sampler", index, user).cloned(),
        }
    }
}

impl Reader<'_> {
    /// Reads a URI: data, or a file relative to the document.
    fn uri(&mut self, element: &str, uri: &str) -> Result<Vec<u8>, SceneError> {
        if let Some(data) = uri.strip_prefix("data:") {
            let encoded = data.split_once(";base64,").map(|(_, encoded)| encoded);
            let decoded = encoded.and_then(|encoded| STANDARD.decode(encoded).ok());
            return decoded.ok_or_else(|| {
                error(self.path, element, "has a data URI that is not valid base64")
                    .help("export the asset again")
            });
        }
        if uri.contains("://") {
            return Err(error(self.path, element, format!("is at {uri}"))
                .help("download it, and refer to the file"));
        }
        let path = file_of(self.path, uri);
        let bytes = std::fs::read(&path).map_err(|cause| {
            error(self.path, element, format!("cannot be read from {}: {cause}", path.display()))
                .help("keep the files of an asset together; URIs are relative to the glTF file")
        })?;
        self.files.push(path);
        Ok(bytes)
    }
}

/// Reads a file.
fn read(path: &Path) -> Result<Vec<u8>, SceneError> {
    std::fs::read(path).map_err(|cause| {
        SceneError::new(format!("cannot read {}: {cause}", path.display()))
            .help("give the path of a glTF file: .gltf or .glb")
    })
}

/// Parses the content of a file, and returns the binary chunk of a GLB.
fn parse<'a>(path: &Path, data: &'a [u8]) -> Result<(Root, Option<&'a [u8]>), SceneError> {
    let is_glb = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("glb"));
    let (json, chunk) = match data {
        [b'g', b'l', b'T', b'F', ..] => chunks(path, data)?,
        // Text with the extension of GLB is common.
        [first, ..] if !is_glb || b"{ \t\r\n".contains(first) => (data, None),
        _ => {
            let problem = "does not begin with the bytes of a GLB or glTF file";
            let help = "the file is truncated, or of another format; copy or export it again";
            return Err(error(path, "the document", problem).help(help));
        }
    };
    let root = json::parse(json)
        .map_err(|problem| error(path, &problem.element, problem.message).help(problem.remedy))?;
    Ok((root, chunk))
}

/// Warns about images of an asset, used or not, whose files do not exist.
///
/// # Errors
/// The file is not an asset; in strict mode, the first warning.
pub fn check_images(path: &Path, diagnostics: &mut Diagnostics) -> Result<(), SceneError> {
    let (root, _) = parse(path, &read(path)?)?;
    for (index, image) in root.images.iter().enumerate() {
        let Some(uri) = image.uri.as_deref().filter(|uri| is_file(uri)) else { continue };
        let file = file_of(path, uri);
        if !file.exists() {
            let image = label("image", index, image.name.as_deref());
            let message = format!(
                "{}: {image} is in {}, which does not exist",
                path.display(),
                file.display()
            );
            let fallback =
                "rendering fails if a material uses it; keep the files of an asset together";
            diagnostics.warn(None, message, fallback)?;
        }
    }
    Ok(())
}

/// Whether a URI is that of a file, not data or an address.
fn is_file(uri: &str) -> bool {
    !uri.starts_with("data:") && !uri.contains("://")
}

/// Returns the file of a URI, which is relative to the document.
fn file_of(document: &Path, uri: &str) -> PathBuf {
    document.parent().unwrap_or(Path::new("")).join(percent_decode(uri))
}

/// Returns an error that names file and element.
fn error(path: &Path, element: &str, problem: impl AsRef<str>) -> SceneError {
    SceneError::new(format!("{}: {element} {}", path.display(), problem.as_ref()))
}

/// Names an element in messages: its kind, index and name.
pub(crate) fn label(kind: &str, index: usize, name: Option<&str>) -> String {
    match name {
        Some(name) if !name.is_empty() => format!("{kind} {index} \"{name}\""),
        _ => format!("{kind} {index}"),
    }
}

/// Replaces escapes such as `%20`.
fn percent_decode(uri: &str) -> String {
    let bytes = uri.as_bytes();
    let (mut decoded, mut i) = (Vec::new(), 0);
    while i < bytes.len() {
        let hex = |k: usize| bytes.get(i + k).and_then(|&b| (b as char).to_digit(16));
        match (bytes[i], hex(1), hex(2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((16 * high + low) as u8);
                i += 3;
            }
            (byte, ..) => {
                decoded.push(byte);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Returns the JSON of a GLB file, and its binary chunk.
fn chunks<'a>(path: &Path, data: &'a [u8]) -> Result<(&'a [u8], Option<&'a [u8]>), SceneError> {
    let fail = |problem: String| {
        error(path, "the GLB", problem).help("the file is truncated or damaged; copy it again")
    };
    let word = |at: usize| {
        let bytes = data.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().expect("there are four")))
    };
    match word(4) {
        Some(2) => {}
        Some(version) => {
            return Err(error(path, "the GLB", format!("has the version {version}, not 2"))
                .help("convert the asset to glTF 2.0"));
        }
        None => return Err(fail("ends within its header".into())),
    }
    let total = word(8).unwrap_or(0) as usize;
    if total > data.len() {
        return Err(fail(format!("has {} bytes instead of {total}", data.len())));
    }
    let (mut at, mut json, mut binary) = (12, None, None);
    while let (Some(length), Some(kind)) = (word(at), word(at + 4)) {
        let chunk = data.get(at + 8..).and_then(|rest| rest.get(..length as usize));
        let chunk = chunk.ok_or_else(|| fail(format!("ends within the chunk at byte {at}")))?;
        match kind {
            0x4e4f_534a if json.is_none() => json = Some(chunk),
            0x004e_4942 if binary.is_none() => binary = Some(chunk),
            _ => {}
        }
        // Chunks are aligned to four bytes.
        at += 8 + (length as usize).next_multiple_of(4);
    }
    let json = json.ok_or_else(|| fail("has no chunk of JSON".into()))?;
    Ok((json, binary))
}

fn check_version(path: &Path, root: &Root) -> Result<(), SceneError> {
    let version = root.asset.min_version.as_ref().unwrap_or(&root.asset.version);
    match version.as_str() {
        "2.0" => Ok(()),
        "" => Err(error(path, "the document", "has no \"asset\" with a version")
            .help("give a glTF 2.0 file")),
        version => Err(error(path, "the document", format!("has the version {version}, not 2.0"))
            .help("convert the asset to glTF 2.0")),
    }
}

/// Fails for required extensions that are not supported, and warns about others that are used.
fn check_extensions(
    path: &Path,
    root: &Root,
    diagnostics: &mut Diagnostics,
) -> Result<(), SceneError> {
    let is_unknown = |name: &&String| !SUPPORTED.contains(&name.as_str());
    if let Some(name) = root.extensions_required.iter().find(is_unknown) {
        let message = format!("requires the extension {name}, which is not supported");
        return Err(error(path, "the document", message).help(remedy(name)));
    }
    for name in root.extensions_used.iter().filter(is_unknown) {
        let message = format!("{}: the extension {name} is not supported", path.display());
        diagnostics.warn(None, message, "the asset without it")?;
    }
    Ok(())
}

/// Warns about alpha modes that the specification does not have.
fn check_alpha_modes(
    path: &Path,
    root: &Root,
    diagnostics: &mut Diagnostics,
) -> Result<(), SceneError> {
    for (index, material) in root.materials.iter().enumerate() {
        let mode = material.alpha_mode.as_deref().unwrap_or("OPAQUE");
        if !matches!(mode, "OPAQUE" | "MASK" | "BLEND") {
            let material = label("material", index, material.name.as_deref());
            let message = format!(
                "{}: {material} has the unknown alphaMode \"{mode}\"; give OPAQUE, MASK or BLEND",
                path.display()
            );
            diagnostics.warn(None, message, "OPAQUE")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(data: &[u8]) -> Result<Document, SceneError> {
        Document::decode(Path::new("a.glb"), data, &mut Diagnostics::default())
    }

    /// Returns a GLB with chunks of JSON and binary data.
    fn glb(json: &str, binary: &[u8]) -> Vec<u8> {
        let mut json = json.as_bytes().to_vec();
        json.resize(json.len().next_multiple_of(4), b' ');
        let mut file = b"glTF".to_vec();
        let total = 12 + 8 + json.len() + 8 + binary.len();
        for word in [2, total as u32, json.len() as u32, 0x4e4f_534a] {
            file.extend(word.to_le_bytes());
        }
        file.extend(json);
        file.extend((binary.len() as u32).to_le_bytes());
        file.extend(0x004e_4942u32.to_le_bytes());
        file.extend(binary);
        file
    }

    const BUFFER: &str = r#"{"asset":{"version":"2.0"},"buffers":[{"byteLength":8}],
        "bufferViews":[{"buffer":0,"byteOffset":4,"byteLength":4},{"buffer":0,"byteLength":9}]}"#;

    #[test]
    fn binary_chunks_are_the_first_buffer() {
        let document = decode(&glb(BUFFER, &[1, 2, 3, 4, 5, 6, 7, 8])).unwrap();
        assert_eq!(document.view(0, "x").unwrap().0, [5, 6, 7, 8]);
        let error = document.view(1, "x").unwrap_err().to_string();
        assert_eq!(error, "a.glb: buffer view 1 ends at byte 9 of buffer 0, which has 8");
        let error = document.view(2, "accessor 7").unwrap_err().to_string();
        assert!(error.contains("accessor 7 refers to buffer view 2, but there are 2"), "{error}");
    }

    #[test]
    fn truncated_files_are_errors() {
        let file = glb(BUFFER, &[0; 8]);
        for length in [4, 7, 11, 12, 19, 40, file.len() - 1] {
            let error = decode(&file[..length]).err().expect("it is truncated");
            assert!(error.to_string().contains("the GLB"), "{length}: {error}");
            assert!(error.remedy().unwrap().contains("copy it again"));
        }
        let other = decode(b"PK\x03\x04").err().expect("it is an archive");
        assert!(other.to_string().contains("does not begin with"), "{other}");
        let short = decode(&glb(BUFFER, &[0; 4])).err().expect("the buffer is too short");
        assert!(short.to_string().contains("buffer 0 has 4 bytes instead of 8"), "{short}");
    }

    #[test]
    fn required_extensions_are_errors_and_used_ones_warnings() {
        let json = |key: &str, name: &str| {
            format!(r#"{{"asset":{{"version":"2.0"}},"{key}":["{name}"]}}"#)
        };
        let draco = json("extensionsRequired", "KHR_draco_mesh_compression");
        let error = decode(draco.as_bytes()).err().expect("it is required");
        assert!(error.to_string().contains("KHR_draco_mesh_compression"), "{error}");
        assert!(error.remedy().unwrap().contains("gltf-transform"));
        let mut diagnostics = Diagnostics::default();
        let used = json("extensionsUsed", "ACME_fog");
        Document::decode(Path::new("a.gltf"), used.as_bytes(), &mut diagnostics).unwrap();
        let [warning] = diagnostics.warnings() else { panic!("one warning") };
        assert!(warning.message.contains("ACME_fog"), "{warning}");
    }

    #[test]
    fn unknown_alpha_modes_are_warnings() {
        let json = |mode: &str| {
            format!(
                r#"{{"asset":{{"version":"2.0"}},"materials":[{{"alphaMode":"MASK"}},
                {{"name":"leaf","alphaMode":"{mode}"}}]}}"#
            )
        };
        let warnings = |mode: &str| {
            let mut diagnostics = Diagnostics::default();
            let json = json(mode);
            Document::decode(Path::new("a.gltf"), json.as_bytes(), &mut diagnostics).unwrap();
            diagnostics.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        for mode in ["OPAQUE", "MASK", "BLEND"] {
            assert!(warnings(mode).is_empty(), "{mode}");
        }
        for mode in ["Blend", "CUTOUT", ""] {
            let expected = format!(
                "a.gltf: material 1 \"leaf\" has the unknown alphaMode \"{mode}\"; \
                 give OPAQUE, MASK or BLEND; instead: OPAQUE"
            );
            assert_eq!(warnings(mode), [expected]);
        }
    }

    #[test]
    fn invalid_values_are_errors_with_their_paths() {
        let json = r#"{"materials":[{"normalTexture":{"index":0,"texCoord":-1}}]}"#;
        let error = decode(json.as_bytes()).err().expect("it is negative");
        assert_eq!(
            error.to_string(),
            "a.glb: materials[0].normalTexture.texCoord is not valid glTF: invalid value: integer `-1`, \
             expected an integer from 0 at line 1 column 55"
        );
        assert!(error.remedy().unwrap().contains("correct the value"));
    }

    #[test]
    fn missing_images_are_warnings_used_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.gltf");
        let json = r#"{"asset":{"version":"2.0"},"images":[{"uri":"here%201.png"},
            {"name":"sky","uri":"gone%201.png"},{"uri":"data:,x"},{"uri":"https://x/y.png"},
            {"bufferView":0}]}"#;
        std::fs::write(&path, json).unwrap();
        std::fs::write(folder.path().join("here 1.png"), "").unwrap();
        let mut diagnostics = Diagnostics::default();
        check_images(&path, &mut diagnostics).unwrap();
        let [warning] = diagnostics.warnings() else { panic!("{:?}", diagnostics.warnings()) };
        let gone = folder.path().join("gone 1.png");
        let expected = format!("image 1 \"sky\" is in {}, which does not exist", gone.display());
        assert_eq!(warning.message, format!("{}: {expected}", path.display()));
        let error = check_images(&path, &mut Diagnostics::new(true)).unwrap_err();
        assert!(error.to_string().contains(&expected), "{error}");
    }

    #[test]
    fn invalid_json_versions_and_uris_are_errors() {
        for (json, part) in [
            ("{", "line 1 column 1"),
            (r#"{"asset":{"version":"1.0"}}"#, "version 1.0"),
            ("{}", "no \"asset\""),
            (
                r#"{"asset":{"version":"2.0"},"buffers":[{"uri":"no.bin","byteLength":1}]}"#,
                "buffer 0 cannot be read from no.bin",
            ),
            (
                r#"{"asset":{"version":"2.0"},"buffers":[{"uri":"data:,x","byteLength":1}]}"#,
                "not valid base64",
            ),
            (
                r#"{"asset":{"version":"2.0"},"buffers":[{"uri":"http://x/y","byteLength":1}]}"#,
                "is at http://x/y",
            ),
        ] {
            let error = decode(json.as_bytes()).err().expect("it is invalid").to_string();
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(percent_decode("a%20b%zz%"), "a b%zz%");
    }
}
