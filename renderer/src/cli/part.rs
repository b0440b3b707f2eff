//! Parts of pictures in files: EXR pictures of what was rendered that carry the exact sums, too.
//!
//! Any viewer shows such a file, and other parts can be added to it without loss. Its attribute
//! `lightbound/part` tells which samples of which pixels it has; all other attributes that do not
//! tell of results or time must be the same for parts of one picture.

use super::{Error, layers};
use lightbound::film::{Block, Coverage, Film, FilmOptions, Picture, Window, column_names};
use lightbound::image::write::{Attribute, Channel, ChannelSamples, ExrPicture};
use lightbound::image::{read_exr, read_exr_header};
use lightbound::render::Effort;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Attributes of a picture's file, by name.
pub type Attributes = Vec<(String, Attribute)>;

/// What [`Header::format`] is.
const FORMAT: u32 = 1;

/// Where the header stands.
const HEADER: &str = "lightbound/part";

/// Attributes that differ between parts of one picture.
const RESULTS: [&str; 7] = [
    HEADER,
    "lightbound/scene",
    "lightbound/minSamples",
    "lightbound/maxSamples",
    "lightbound/renderSeconds",
    "lightbound/noiseThreshold",
    "lightbound/noise",
];

/// Whether an attribute tells what a picture is of, so that parts of one picture share it.
fn is_setting((name, _): &(String, Attribute)) -> bool {
    name.starts_with("lightbound/") && !RESULTS.contains(&name.as_str())
}

/// What a part's file tells about it, as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of this structure and of the columns.
    format: u32,
    /// Pixels and samples of the whole picture.
    pub whole: Block,
    /// What the part has of it.
    pub coverage: Coverage,
    /// What is kept of samples.
    pub film: FilmOptions,
    /// Samples that were not finite or beyond the film's range.
    pub invalid_samples: u64,
    /// What it took.
    pub effort: Effort,
    /// Of a checkpoint: what is rendered, and how many jobs of it are done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<(Block, usize)>,
}

impl Header {
    /// The header of what a film holds.
    pub fn new(
        whole: Block,
        coverage: Coverage,
        film: &Film,
        invalid_samples: u64,
        effort: Effort,
    ) -> Header {
        Header {
            format: FORMAT,
            whole,
            coverage,
            film: film.options(),
            invalid_samples,
            effort,
            work: None,
        }
    }
}

/// A part that a file holds; its sums stay there until they are wanted.
#[derive(Clone, Debug)]
pub struct Part {
    /// Size of the whole image.
    pub resolution: [u32; 2],
    /// What is equal for all parts of a picture.
    pub settings: Attributes,
    /// Name of the scene's file.
    pub scene: Option<Attribute>,
    /// Its pixels.
    window: Window,
    /// What the part is.
    pub header: Header,
}

impl Part {
    /// What the header of the file at `path` says.
    pub fn open(path: &Path) -> Result<Part, Error> {
        let file = read_exr_header(path).map_err(|cause| Error::Data {
            message: cause.to_string(),
            help: "parts are .exr files, written by `lightbound render --sample-range` or `--crop`, or by `lightbound merge`"
                .into(),
        })?;
        Part::of(path, &file)
    }

    fn of(path: &Path, file: &ExrPicture) -> Result<Part, Error> {
        let find = |name: &str| {
            file.attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value)
        };
        let Some(Attribute::Text(text)) = find(HEADER) else {
            return Err(Error::Data {
                message: format!(
                    "{}: holds no exact sums, so that nothing can be added to it",
                    path.display()
                ),
                help: "parts are written by `lightbound render` with --sample-range or --crop"
                    .into(),
            });
        };
        let header: Header =
            serde_json::from_str(text).map_err(|cause| damaged(path, &cause.to_string()))?;
        if header.format != FORMAT {
            return Err(Error::Data {
                message: format!(
                    "{}: is a part of format {}, which this version does not know",
                    path.display(),
                    header.format
                ),
                help: "use the version of lightbound that wrote it, or render it again".into(),
            });
        }
        let window =
            file.window().filter(|w| w.x1 <= file.full_size[0] && w.y1 <= file.full_size[1]);
        let covered = header.coverage.window();
        let Some(window) =
            window.filter(|&window| covered.is_none_or(|covered| covered.hull(window) == window))
        else {
            return Err(damaged(path, "its pixels are not those that its header tells of"));
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

    /// Reads the sums from the file, and adds them to a film that has room for them.
    pub fn add_to(&self, path: &Path, film: &mut Film) -> Result<(), Error> {
        let file = read_exr(path)
            .map_err(|cause| Error::Data { message: cause.to_string(), help: AGAIN.into() })?;
        if Part::of(path, &file)?.header != self.header {
            return Err(damaged(path, "it changed while it was read"));
        }
        let column = |name: &String| match file
            .channels
            .iter()
            .find(|channel| channel.name == *name)
            .map(|c| &c.samples)
        {
            Some(ChannelSamples::U32(words)) => Ok(words.as_slice()),
            _ => Err(damaged(path, &format!("there is no channel {name} of integers"))),
        };
        let columns =
            column_names(film.options()).iter().map(column).collect::<Result<Vec<_>, _>>()?;
        if column(&"sums.samples".into())? != self.expected_counts() {
            return Err(damaged(path, "its pixels have not the samples that its header tells of"));
        }
        film.add_columns(self.window, &columns, self.header.invalid_samples);
        Ok(())
    }

    /// How many samples each pixel has, by the header.
    fn expected_counts(&self) -> Vec<u32> {
        let mut counts = vec![0u32; self.window.width() as usize * self.window.height() as usize];
        for block in self.header.coverage.blocks() {
            let n = block.samples().len() as u32;
            for (x, y) in block.window().pixels() {
                let count = &mut counts[self.window.index(x, y)];
                *count = count.saturating_add(n);
            }
        }
        counts
    }

    /// How this part is not of the picture that `settings` describe, if so: a sentence about it, in
    /// terms of `other`.
    pub fn differs(
        &self,
        resolution: [u32; 2],
        settings: &[(String, Attribute)],
        film: FilmOptions,
        other: &str,
    ) -> Option<String> {
        let value = |all: &[(String, Attribute)], name: &str| {
            all.iter().find(|a| a.0 == name).map(|a| said(&a.1))
        };
        let differ = |name: &str| {
            let (mine, theirs) = (value(&self.settings, name), value(settings, name));
            (mine != theirs).then(|| [mine, theirs].map(|value| value.unwrap_or("nothing".into())))
        };
        // The first says most: whatever else differs follows from it.
        if let Some([mine, theirs]) = differ("lightbound/version") {
            return Some(format!(
                "it is of version {mine} of lightbound, {other} of version {theirs}"
            ));
        }
        if differ("lightbound/sceneHash").is_some() {
            return Some(format!(
                "its scene is not that of {other}: a file of the scene is another, or has changed"
            ));
        }
        if self.resolution != resolution {
            let [[w, h], [w2, h2]] = [self.resolution, resolution];
            return Some(format!("its image has {w} × {h} pixels, that of {other} {w2} × {h2}"));
        }
        let names = self
            .settings
            .iter()
            .chain(settings.iter().filter(|a| is_setting(a)))
            .map(|a| a.0.as_str());
        let found = names.into_iter().find_map(|name| Some((name, differ(name)?)));
        if let Some((name, [mine, theirs])) = found {
            let name = match name.trim_start_matches("lightbound/") {
                "samples" => "number of samples",
                name => name,
            };
            return Some(format!("its {name} is {mine}, that of {other} {theirs}"));
        }
        if self.header.film.moments != film.moments {
            let (with, without) = if film.moments { (other, "it") } else { ("it", other) };
            return Some(format!("{with} keeps squares for the variance, {without} does not"));
        }
        (self.header.film != film).then(|| format!("it does not keep the same layers as {other}"))
    }
}

/// The value of an attribute, for readers.
fn said(value: &Attribute) -> String {
    match value {
        Attribute::Text(text) => text.clone(),
        Attribute::Float(x) => x.to_string(),
        Attribute::Int(i) => i.to_string(),
    }
}

/// What helps where a file is not as it was written.
const AGAIN: &str = "render it again";

fn damaged(path: &Path, what: &str) -> Error {
    Error::Data { message: format!("{}: is damaged ({what})", path.display()), help: AGAIN.into() }
}

/// A part as a picture that carries its sums: `picture` is what `film` shows.
pub fn picture(
    resolution: [u32; 2],
    attributes: Attributes,
    header: &Header,
    film: &Film,
    picture: &Picture,
) -> ExrPicture {
    with_sums(layers::exr_picture(resolution.into(), picture, attributes), header, film)
}

/// The sums alone.
pub fn sums(
    resolution: [u32; 2],
    attributes: Attributes,
    header: &Header,
    film: &Film,
) -> ExrPicture {
    let window = film.window();
    let (size, offset) = ([window.width(), window.height()], [window.x0, window.y0]);
    with_sums(
        ExrPicture { size, offset, full_size: resolution, channels: Vec::new(), attributes },
        header,
        film,
    )
}

fn with_sums(mut exr: ExrPicture, header: &Header, film: &Film) -> ExrPicture {
    let columns = film.columns().into_iter();
    exr.channels.extend(
        columns.map(|column| Channel {
            name: column.name,
            samples: ChannelSamples::U32(column.words),
        }),
    );
    let text = serde_json::to_string(header).expect("numbers make JSON");
    exr.attributes.push((HEADER.into(), Attribute::Text(text)));
    exr
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound::film::Window;

    #[test]
    fn differences_are_told_the_weightiest_first() {
        let window = Window { x0: 0, y0: 0, x1: 2, y1: 2 };
        let (whole, options) = (Block::new(window, 0..4).unwrap(), FilmOptions::default());
        let header = Header::new(
            whole,
            Coverage::default(),
            &Film::new(window, options),
            0,
            Effort::default(),
        );
        let settings = |version: &str, hash: &str, seed: &str| -> Attributes {
            let pairs = [
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
        let differs = |resolution, version: &str, hash: &str, seed: &str, moments| {
            let film = FilmOptions { moments, ..options };
            part.differs(resolution, &settings(version, hash, seed), film, "b.exr")
                .unwrap_or_default()
        };
        assert_eq!(differs([2, 2], "1", "a", "7", false), "");
        assert_eq!(
            differs([2, 2], "2", "b", "8", true),
            "it is of version 1 of lightbound, b.exr of version 2"
        );
        assert!(differs([2, 3], "1", "b", "8", true).starts_with("its scene is not that of b.exr"));
        assert_eq!(
            differs([2, 3], "1", "a", "8", true),
            "its image has 2 × 2 pixels, that of b.exr 2 × 3"
        );
        assert_eq!(differs([2, 2], "1", "a", "8", true), "its seed is 7, that of b.exr 8");
        assert_eq!(
            differs([2, 2], "1", "a", "7", true),
            "b.exr keeps squares for the variance, it does not"
        );
    }
}
