//! Parts of a rendering: EXR images that also contain the exact sums of the film.
//!
//! Any viewer can show such a file. [`Parts::merge`] adds parts without loss; a [`Checkpoint`] is a
//! part without its image. The attribute `lightbound/part` lists the samples that the file
//! contains. Other attributes, except for results and times, must be equal in all parts of a
//! rendering.
//!
//! Parts may belong to renderings with different numbers of samples per pixel: no sampler depends
//! on this number, so that a sample with a certain index has the same value in all of them.

mod checkpoint;
mod film_options;
mod merge;

pub use checkpoint::Checkpoint;
pub use merge::{MergedParts, Parts};

use crate::choice::Choice;
use crate::film::layers::COLOUR_SPACE;
use crate::film::{Coverage, Film, FilmOptions, PixelBlock, column_names};
use crate::render::RenderStats;
use crate::settings::ColourSpace;
use lightbound_image::write::{Attribute, ExrImage};
use lightbound_image::{
    ImageError, Problem, Window, read_exr_blocks, read_exr_header, read_remedy,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Why a part cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PartError {
    /// The file and the problem.
    pub message: String,
    /// Advice for the user.
    pub remedy: String,
}

impl PartError {
    fn new(path: &Path, why: &str, remedy: &str) -> PartError {
        PartError { message: format!("{}: {why}", path.display()), remedy: remedy.into() }
    }
}

/// Attributes of an image file, by name.
pub type Attributes = Vec<(String, Attribute)>;

/// Current value of [`PartHeader::format`].
const FORMAT: u32 = 2;

/// Name of the attribute that holds the header.
pub const HEADER: &str = "lightbound/part";

/// Name of the attribute with the number of samples per pixel of the full image.
const SAMPLES: &str = "lightbound/samples";

/// Maximum number of ids of a pixel: that of its samples with features.
const MAX_MATTE_LENGTH: usize = 1 << 16;

/// Attributes that determine which other attributes a rendering has.
const ALGORITHM: [&str; 2] = ["lightbound/integrator", "lightbound/mode"];

/// Attributes that may differ between the parts of an image.
const RESULTS: [&str; 7] = [
    HEADER,
    "lightbound/scene",
    "lightbound/minSamples",
    "lightbound/maxSamples",
    "lightbound/renderSeconds",
    "lightbound/noiseThreshold",
    "lightbound/noise",
];

/// Returns whether an attribute describes the rendering, and not only its result. All of them but
/// [`SAMPLES`] must have the same value in all parts of an image.
fn is_setting((name, _): &(String, Attribute)) -> bool {
    name.starts_with("lightbound/") && !RESULTS.contains(&name.as_str())
}

/// Returns whether two images have the same settings, including the number of samples per pixel.
pub fn have_same_settings(a: &[(String, Attribute)], b: &[(String, Attribute)]) -> bool {
    let settings = |all: &[(String, Attribute)]| {
        let settings = all.iter().filter(|a| is_setting(a));
        settings.map(|(name, value)| (name.clone(), value.to_string())).collect::<BTreeMap<_, _>>()
    };
    settings(a) == settings(b)
}

/// Description of a part, stored as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartHeader {
    /// Version of this structure and of the columns.
    format: u32,
    /// Pixels and samples of the full image.
    #[serde(rename = "whole")]
    pub full_block: PixelBlock,
    /// Pixels and samples that the part contains.
    pub coverage: Coverage,
    /// The data that the film stores.
    #[serde(with = "film_options")]
    pub film: FilmOptions,
    /// Lengths of the mattes, see [`Film::matte_lengths`].
    #[serde(default, skip_serializing_if = "has_no_mattes")]
    mattes: [usize; 2],
    /// Number of samples that were not finite or out of the film's range.
    pub invalid_samples: u64,
    /// Number of samples with features that were NaN or out of the film's range.
    pub clamped_features: u64,
    /// Statistics of the rendering.
    #[serde(rename = "effort")]
    pub stats: RenderStats,
}

impl PartHeader {
    /// Creates the header for a film.
    pub fn new(
        full_block: PixelBlock,
        coverage: Coverage,
        film: &Film,
        stats: RenderStats,
    ) -> PartHeader {
        PartHeader {
            format: FORMAT,
            full_block,
            coverage,
            film: film.options(),
            mattes: film.matte_lengths(),
            invalid_samples: film.invalid_samples(),
            clamped_features: film.clamped_features(),
            stats,
        }
    }

    /// Returns the attribute that makes a file a part.
    pub fn attribute(&self) -> (String, Attribute) {
        let text = serde_json::to_string(self).expect("the header is valid JSON");
        (HEADER.into(), Attribute::Text(text))
    }

    /// Parses the text of the attribute of the file at `path`.
    ///
    /// # Errors
    /// If the text is damaged, or in the format of another version.
    pub fn parse(path: &Path, text: &str) -> Result<PartHeader, PartError> {
        let not_json = |cause: serde_json::Error| damaged(path, &cause.to_string());
        let HeaderFormat { format } = serde_json::from_str(text).map_err(not_json)?;
        if format != FORMAT {
            return Err(PartError {
                message: format!(
                    "{}: has the part format {format}, but this version of lightbound reads format \
                     {FORMAT}",
                    path.display(),
                ),
                remedy: "use the version of lightbound that wrote it, or render it again".into(),
            });
        }
        let header: PartHeader = serde_json::from_str(text).map_err(not_json)?;
        match header.mattes.iter().any(|&length| length > MAX_MATTE_LENGTH) {
            true => Err(damaged(path, "its mattes have more ids than a pixel can have")),
            false => Ok(header),
        }
    }
}

fn has_no_mattes(lengths: &[usize; 2]) -> bool {
    *lengths == [0; 2]
}

/// The version of a header, which is read first: other versions may have other fields.
#[derive(Deserialize)]
struct HeaderFormat {
    format: u32,
}

/// A part in a file. [`Part::add_to`] reads the sums.
#[derive(Clone, Debug)]
pub struct Part {
    /// Size of the full image.
    pub resolution: [u32; 2],
    /// Attributes of the rendering. In all parts of an image, they are equal except for the number
    /// of samples.
    pub settings: Attributes,
    /// Name of the scene file.
    pub scene: Option<Attribute>,
    /// Pixels of the file.
    window: Window,
    /// Description of the part.
    pub header: PartHeader,
}

impl Part {
    /// Reads the header of the file at `path`.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a part.
    pub fn open(path: &Path) -> Result<Part, PartError> {
        Part::from_exr(path, &read_exr_header(path).map_err(unreadable)?)
    }

    /// Returns whether the file at `path` is an image with exact sums.
    pub fn is_part(path: &Path) -> bool {
        let header = |(name, _): &(String, Attribute)| name == HEADER;
        read_exr_header(path).is_ok_and(|file| file.attributes.iter().any(header))
    }

    fn from_exr(path: &Path, file: &ExrImage) -> Result<Part, PartError> {
        let find = |name: &str| {
            file.attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value)
        };
        let Some(Attribute::Text(text)) = find(HEADER) else {
            return Err(PartError {
                message: format!(
                    "{}: contains no exact sums, so it cannot be merged",
                    path.display()
                ),
                remedy: "parts are written by `lightbound render` with --sample-range, --crop or \
                         --keep-sums"
                    .into(),
            });
        };
        let header = PartHeader::parse(path, text)?;
        let window =
            file.window().filter(|w| w.x1 <= file.full_size[0] && w.y1 <= file.full_size[1]);
        let covered = header.coverage.window();
        let Some(window) =
            window.filter(|&window| covered.is_none_or(|covered| covered.union(window) == window))
        else {
            return Err(damaged(path, "its pixels do not match its header"));
        };
        let settings = file.attributes.iter().filter(|a| is_setting(a)).cloned().collect();
        Ok(Part {
            resolution: file.full_size,
            settings,
            scene: find("lightbound/scene").cloned(),
            window,
            header,
        })
    }

    /// Reads the sums from the file and adds them to a film that contains the pixels with samples.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or changed since [`Part::open`]. The film may then
    /// have a part of the sums.
    pub fn add_to(&self, path: &Path, film: &mut Film) -> Result<(), PartError> {
        self.read_sums(path, film).map_err(unreadable)
    }

    /// Like [`Part::add_to`], without advice in errors.
    fn read_sums(&self, path: &Path, film: &mut Film) -> Result<(), ImageError> {
        let damaged = |message: &str| ImageError {
            path: path.into(),
            problem: Problem::Damaged { format: "EXR", message: message.into() },
        };
        let file = read_exr_header(path)?;
        if Part::from_exr(path, &file).map(|part| part.header).as_ref() != Ok(&self.header) {
            return Err(damaged("it changed while it was read"));
        }
        let mattes = self.header.mattes;
        let names = column_names(film.options(), mattes);
        let mut counts_match = true;
        read_exr_blocks(path, &names, |window, columns| {
            // The first column has the sample counts.
            counts_match = counts_match
                && self.window.intersection(window) == Some(window)
                && columns[0] == self.expected_counts(window);
            if counts_match {
                film.add_columns(window, columns, mattes);
            }
        })?;
        if !counts_match {
            return Err(damaged("the sample counts do not match its header"));
        }
        film.add_out_of_range(self.header.invalid_samples, self.header.clamped_features);
        Ok(())
    }

    /// Returns the number of samples of each pixel of `window` according to the header.
    fn expected_counts(&self, window: Window) -> Vec<u32> {
        let mut counts = vec![0u32; window.width() as usize * window.height() as usize];
        for block in self.header.coverage.blocks() {
            let n = block.samples().len() as u32;
            let Some(common) = block.window().intersection(window) else { continue };
            for (x, y) in common.pixels() {
                let count = &mut counts[window.index(x, y)];
                *count = count.saturating_add(n);
            }
        }
        counts
    }

    /// Describes how this part differs from the image given by the other arguments, if it does.
    /// `other` is the name of that image in the message.
    pub fn difference(
        &self,
        resolution: [u32; 2],
        settings: &[(String, Attribute)],
        film: FilmOptions,
        other: &str,
    ) -> Option<String> {
        let value = |all: &[(String, Attribute)], name: &str| {
            all.iter().find(|a| a.0 == name).map(|a| a.1.to_string())
        };
        let differ = |name: &str| {
            let (mine, theirs) = (value(&self.settings, name), value(settings, name));
            let missing = if name == COLOUR_SPACE { ColourSpace::Srgb.name() } else { "nothing" };
            (mine != theirs).then(|| [mine, theirs].map(|value| value.unwrap_or(missing.into())))
        };
        // Report the most fundamental difference; the others follow from it.
        if let Some([mine, theirs]) = differ("lightbound/version") {
            return Some(format!(
                "it was rendered by version {mine} of lightbound, {other} by version {theirs}"
            ));
        }
        if differ("lightbound/sceneHash").is_some() {
            return Some(format!(
                "its scene differs from that of {other}: a scene file was replaced or changed \
                 (--spp changes the number of samples without changing the scene)"
            ));
        }
        if self.resolution != resolution {
            let [[w, h], [w2, h2]] = [self.resolution, resolution];
            return Some(format!("its image has {w} × {h} pixels, but {other} has {w2} × {h2}"));
        }
        let names = self.settings.iter().chain(settings.iter().filter(|a| is_setting(a)));
        let names = ALGORITHM.into_iter().chain(names.map(|a| a.0.as_str()));
        let names = names.filter(|&name| name != SAMPLES);
        let different = names.into_iter().find_map(|name| Some((name, differ(name)?)));
        if let Some((name, [mine, theirs])) = different {
            let name = name.trim_start_matches("lightbound/");
            return Some(format!("its {name} is {mine}, but {other} has {theirs}"));
        }
        if self.header.film.moments != film.moments {
            let (with, without) = if film.moments { (other, "it") } else { ("it", other) };
            return Some(format!("{with} stores variances, but {without} does not"));
        }
        (self.header.film != film).then(|| format!("its layers differ from those of {other}"))
    }
}

/// Returns the error for a part that cannot be read.
fn unreadable(cause: ImageError) -> PartError {
    let path = &cause.path;
    match &cause.problem {
        Problem::Read(e) => PartError::new(path, &format!("cannot be read ({e})"), read_remedy(e)),
        Problem::UnknownFormat => PartError::new(
            path,
            "unknown image format",
            "parts are .exr files, written by `lightbound render` with --sample-range, --crop or \
             --keep-sums, or by `lightbound merge`",
        ),
        Problem::Empty => damaged(path, "it is empty"),
        Problem::Damaged { message, .. } => damaged(path, message),
        _ => PartError { message: cause.to_string(), remedy: RENDER_AGAIN.into() },
    }
}

/// Advice for damaged files.
const RENDER_AGAIN: &str = "render it again";

fn damaged(path: &Path, problem: &str) -> PartError {
    PartError {
        message: format!("{}: is damaged ({problem})", path.display()),
        remedy: RENDER_AGAIN.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::film::layers::FilmLayers;
    use crate::film::{ComponentLayers, FeatureLayers};
    use lightbound_image::write::write_exr_rows;

    #[test]
    fn headers_round_trip_through_json() {
        let round_trip = |film: &str| {
            let json = format!(
                r#"{{"format":2,"whole":[0,0,2,2,0,4],"coverage":[],"film":{film},"invalid_samples":0,"clamped_features":1,"effort":{}}}"#,
                serde_json::to_string(&RenderStats::default()).unwrap()
            );
            let header: PartHeader = serde_json::from_str(&json).unwrap();
            (serde_json::to_string(&header).unwrap() == json, header.film)
        };
        let lightcuts = FilmOptions {
            features: FeatureLayers { normal: true, object: true, ..FeatureLayers::NONE },
            moments: false,
            channels: crate::integrator::lightcuts::FILM_CHANNELS,
            ..FilmOptions::default()
        };
        let components = FilmOptions {
            features: FeatureLayers { depth_gradient: true, ..FeatureLayers::NONE },
            components: ComponentLayers {
                indirect: true,
                light_groups: 3,
                ..ComponentLayers::default()
            },
            ..FilmOptions::default()
        };
        assert_eq!(
            round_trip(r#"{"features":["normal","object"],"moments":false,"cuts":true}"#),
            (true, lightcuts)
        );
        let film = r#"{"features":["depthGradient"],"moments":false,"cuts":false,"components":["indirect"],"lightGroups":3}"#;
        assert_eq!(round_trip(film), (true, components));
        let too_many = r#"{"features":[],"moments":false,"lightGroups":4000000000}"#;
        let mut json = serde_json::Deserializer::from_str(too_many);
        assert!(film_options::deserialize(&mut json).is_err());
        assert_eq!(
            round_trip(r#"{"features":[],"moments":false}"#),
            (false, FilmOptions::default())
        );
    }

    #[test]
    fn errors_of_parts_say_whether_the_file_is_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.exr");
        let window = Window { x0: 0, y0: 0, x1: 2, y1: 2 };
        let mut film = Film::new(window, FilmOptions::default());
        let block = PixelBlock::new(window, 0..1).unwrap();
        let header =
            PartHeader::new(block, Coverage::default(), &film, RenderStats::default()).attribute();
        let layers = FilmLayers::checkpoint(&film);
        write_exr_rows(&path, &layers.header([2, 2], vec![header]), &layers).unwrap();
        let data = std::fs::read(&path).unwrap();
        let part = Part::open(&path).unwrap();
        part.add_to(&path, &mut film).unwrap();

        let remedy = |path: &Path, message: &str| {
            let error = Part::open(path).unwrap_err();
            assert!(error.message.contains(message), "{error}");
            error.remedy
        };
        assert_eq!(remedy(&dir.path().join("b.exr"), "cannot be read"), "check the path");
        assert_eq!(remedy(dir.path(), "cannot be read"), "name a file in this folder");
        for (data, message, expected) in [
            (&b"PNG"[..], "a.exr: unknown image format", "parts are .exr files"),
            (b"", "a.exr: is damaged (it is empty)", RENDER_AGAIN),
            (&data[..200], "a.exr: is damaged (", RENDER_AGAIN),
        ] {
            std::fs::write(&path, data).unwrap();
            assert!(remedy(&path, message).starts_with(expected), "{message}");
        }
        std::fs::write(&path, &data[..data.len() - 1]).unwrap();
        let error = part.add_to(&path, &mut film).unwrap_err();
        assert!(error.message.contains("a.exr: is damaged ("), "{error}");
        assert_eq!(error.remedy, RENDER_AGAIN);
        std::fs::remove_file(&path).unwrap();
        let error = part.add_to(&path, &mut film).unwrap_err();
        assert!(error.message.contains("cannot be read"), "{error}");
        assert_eq!(error.remedy, "check the path");
    }

    #[test]
    fn the_most_fundamental_difference_is_reported() {
        let window = Window { x0: 0, y0: 0, x1: 2, y1: 2 };
        let (full_block, options) =
            (PixelBlock::new(window, 0..4).unwrap(), FilmOptions::default());
        let header = PartHeader::new(
            full_block,
            Coverage::default(),
            &Film::new(window, options),
            RenderStats::default(),
        );
        let settings = |version: &str, hash: &str, seed: &str| -> Attributes {
            let pairs = [
                // May differ.
                ("samples", if version == "1" { seed } else { "4" }),
                ("version", version),
                ("sceneHash", hash),
                ("seed", seed),
                ("scene", seed),
                ("noise", seed),
            ];
            pairs.map(|(name, value)| (format!("lightbound/{name}"), Attribute::text(value))).into()
        };
        let mine = settings("1", "a", "7").into_iter().filter(is_setting).collect();
        let part = Part { resolution: [2, 2], settings: mine, scene: None, window, header };
        let difference = |resolution, version: &str, hash: &str, seed: &str, moments| {
            let film = FilmOptions { moments, ..options };
            part.difference(resolution, &settings(version, hash, seed), film, "b.exr")
                .unwrap_or_default()
        };
        assert_eq!(difference([2, 2], "1", "a", "7", false), "");
        assert_eq!(
            difference([2, 2], "2", "b", "8", true),
            "it was rendered by version 1 of lightbound, b.exr by version 2"
        );
        assert!(
            difference([2, 3], "1", "b", "8", true)
                .starts_with("its scene differs from that of b.exr")
        );
        assert_eq!(
            difference([2, 3], "1", "a", "8", true),
            "its image has 2 × 2 pixels, but b.exr has 2 × 3"
        );
        assert_eq!(difference([2, 2], "1", "a", "8", true), "its seed is 7, but b.exr has 8");
        assert_eq!(
            difference([2, 2], "1", "a", "7", true),
            "b.exr stores variances, but it does not"
        );
    }

    #[test]
    fn missing_settings_are_explained() {
        let window = Window { x0: 0, y0: 0, x1: 2, y1: 2 };
        let film = Film::new(window, FilmOptions::default());
        let full_block = PixelBlock::new(window, 0..4).unwrap();
        let header =
            PartHeader::new(full_block, Coverage::default(), &film, RenderStats::default());
        let settings_of = |pairs: &[(&str, &str)]| -> Attributes {
            let attribute = |(name, value): &(&str, &str)| {
                (format!("lightbound/{name}"), Attribute::text(value))
            };
            pairs.iter().map(attribute).collect()
        };
        let difference = |mine: &[(&str, &str)], theirs: &[(&str, &str)]| {
            let (settings, header) = (settings_of(mine), header.clone());
            let part = Part { resolution: [2, 2], settings, scene: None, window, header };
            part.difference([2, 2], &settings_of(theirs), film.options(), "b.exr").unwrap()
        };
        assert_eq!(
            difference(&[("colorSpace", "acescg")], &[]),
            "its colorSpace is acescg, but b.exr has srgb"
        );
        assert_eq!(
            difference(
                &[("bsdfSampling", "shader"), ("integrator", "path")],
                &[("integrator", "lightcuts"), ("mode", "stochastic")]
            ),
            "its integrator is path, but b.exr has lightcuts"
        );
    }
}
