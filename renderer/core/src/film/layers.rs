//! The layers of an EXR image, with the names that denoisers and compositors expect.
//!
//! | channels | contents |
//! |---|---|
//! | `R` `G` `B` | radiance, in the colour space of the attributes |
//! | `variance.R` `variance.G` `variance.B` | variance of the mean radiance, see [`RenderedImage::variance`] |
//! | `albedo.R` `albedo.G` `albedo.B` | directional albedo of the first visible surface |
//! | `normal.X` `normal.Y` `normal.Z` | shading normal, world space |
//! | `depth.Z` | distance along the viewing axis |
//! | `position.X` `position.Y` `position.Z` | position, world space |
//! | `material.id`, `object.id` | unsigned integers, from 1 |
//!
//! Each extra channel of the integrator is a layer of its own.

use super::{Film, FilmOptions, RenderedImage, column_names};
use crate::choice::Choice;
use crate::settings::ColourSpace;
use lightbound_image::write::{
    Attribute, CHROMATICITIES, ChannelSamples, ChannelType, ExrImage, ExrRows,
};
use std::ops::Range;

/// Maximum length of a manifest, bytes. A longer one would slow down every reader of the file.
const MAX_MANIFEST: usize = 1 << 16;

/// Name of the attribute with the colour space of an image; sRGB without it.
pub const COLOUR_SPACE: &str = "lightbound/colorSpace";

/// The layers of a film, computed while they are written.
pub struct FilmLayers<'a> {
    /// The film.
    pub film: &'a Film,
    /// Whether the image is written; checkpoints have only sums.
    pub image: bool,
    /// Whether the image has the variance, if the film stores it.
    pub variance: bool,
    /// Whether the exact sums are written.
    pub sums: bool,
}

impl FilmLayers<'_> {
    /// Returns what the image contains besides radiance.
    fn image_layers(&self) -> FilmOptions {
        image_layers(self.film.options(), self.variance)
    }

    /// Returns the header of the EXR file. `resolution` is the size of the full image. The
    /// attribute [`COLOUR_SPACE`] determines the chromaticities.
    pub fn header(
        &self,
        resolution: [u32; 2],
        mut attributes: Vec<(String, Attribute)>,
    ) -> ExrImage {
        let space = attributes.iter().find_map(|(name, value)| match value {
            Attribute::Text(text) if name == COLOUR_SPACE => ColourSpace::from_name(text),
            _ => None,
        });
        if let Some(space) = space {
            let p = space.primaries();
            let chromaticities = [p.red, p.green, p.blue, p.white].map(|c| c.map(|x| x as f32));
            attributes.push((CHROMATICITIES.into(), Attribute::Chromaticities(chromaticities)));
        }
        let window = self.film.window();
        ExrImage {
            size: [window.width(), window.height()],
            offset: [window.x0, window.y0],
            full_size: resolution,
            channels: Vec::new(),
            attributes,
        }
    }
}

impl ExrRows for FilmLayers<'_> {
    fn channels(&self) -> Vec<(String, ChannelType)> {
        let mut channels = Vec::new();
        if self.image {
            channels.extend(image_channels(self.film.options(), self.variance));
        }
        if self.sums {
            let names = column_names(self.film.options()).into_iter();
            channels.extend(names.map(|name| (name, ChannelType::U32)));
        }
        channels
    }

    fn rows(&self, rows: Range<u32>) -> Vec<ChannelSamples> {
        let mut channels = Vec::new();
        if self.image {
            let image = self.film.image_rows(rows.clone(), self.image_layers());
            channels.extend(image_samples(image));
        }
        if self.sums {
            let columns = self.film.columns(rows).into_iter();
            channels.extend(columns.map(|column| ChannelSamples::U32(column.words)));
        }
        channels
    }
}

const RGB: [&str; 3] = ["R", "G", "B"];
const XYZ: [&str; 3] = ["X", "Y", "Z"];

/// Returns what the image of a film with these options contains besides radiance.
fn image_layers(film: FilmOptions, variance: bool) -> FilmOptions {
    FilmOptions { moments: variance && film.moments, ..film }
}

/// Returns the channels of the image of a film with these options. `variance` is
/// [`FilmLayers::variance`].
pub fn image_channels(film: FilmOptions, variance: bool) -> Vec<(String, ChannelType)> {
    // In the order of `image_samples`.
    let options = image_layers(film, variance);
    let f = options.features;
    let layers = [
        ("", &RGB[..], true),
        ("variance.", &RGB, options.moments),
        ("albedo.", &RGB, f.albedo),
        ("normal.", &XYZ, f.normal),
        ("position.", &XYZ, f.position),
        ("depth.", &["Z"], f.depth),
    ];
    let floats = layers.iter().filter(|layer| layer.2).flat_map(|(layer, axes, _)| {
        axes.iter().map(move |axis| (format!("{layer}{axis}"), ChannelType::F32))
    });
    let ids = [("material.id", f.material), ("object.id", f.object)];
    let ids = ids.into_iter().filter(|id| id.1).map(|(id, _)| (id.into(), ChannelType::U32));
    let extra = options.channels.iter().map(|c| (c.layer.into(), ChannelType::F32));
    floats.chain(ids).chain(extra).collect()
}

/// Returns the samples of [`image_channels`].
fn image_samples(image: RenderedImage) -> Vec<ChannelSamples> {
    let mut channels = Vec::new();
    let mut add_vectors = |vectors: &[[f32; 3]]| {
        if !vectors.is_empty() {
            let axis = |i| ChannelSamples::F32(vectors.iter().map(|v| v[i]).collect());
            channels.extend([0, 1, 2].map(axis));
        }
    };
    add_vectors(&image.radiance);
    image.variance.iter().for_each(|v| add_vectors(v));
    if let Some(features) = image.features {
        for vectors in [&features.albedo, &features.normal, &features.position] {
            add_vectors(vectors);
        }
        if !features.depth.is_empty() {
            channels.push(ChannelSamples::F32(features.depth));
        }
        let ids = [features.material, features.object].into_iter().filter(|ids| !ids.is_empty());
        channels.extend(ids.map(ChannelSamples::U32));
    }
    channels.extend(image.channels.into_iter().map(|c| ChannelSamples::F32(c.values)));
    channels
}

/// Returns the names of the ids as a JSON object `{"1":"floor",…}`; `None` if it is too long.
pub fn manifest(names: &[String]) -> Option<String> {
    let entry = |(i, name): (usize, &String)| {
        format!("\"{}\":{}", i + 1, serde_json::Value::from(name.as_str()))
    };
    let entries: Vec<String> = names.iter().enumerate().map(entry).collect();
    let text = format!("{{{}}}", entries.join(","));
    (text.len() <= MAX_MANIFEST).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::film::{ChannelEncoding, ChannelSpec, FeatureLayers};
    use lightbound_image::Window;

    #[test]
    fn layers_match_the_film_options() {
        let window = Window { x0: 0, y0: 0, x1: 2, y1: 3 };
        let names = |options: FilmOptions, variance| -> Vec<String> {
            let film = Film::new(window, options);
            for sums in [false, true] {
                let layers = FilmLayers { film: &film, image: true, variance, sums };
                let types: Vec<_> = layers.channels().into_iter().map(|c| c.1).collect();
                let samples = layers.rows(1..3);
                assert_eq!(types.len(), samples.len(), "{options:?}");
                for (ty, samples) in types.into_iter().zip(samples) {
                    let (found, n) = match samples {
                        ChannelSamples::F32(s) => (ChannelType::F32, s.len()),
                        ChannelSamples::U32(s) => (ChannelType::U32, s.len()),
                    };
                    assert_eq!((ty, n), (found, 4));
                }
            }
            let layers = FilmLayers { film: &film, image: true, variance, sums: false };
            layers.channels().into_iter().map(|channel| channel.0).collect()
        };
        assert_eq!(names(FilmOptions::default(), true), ["R", "G", "B"]);
        let channels: &[ChannelSpec] =
            &[ChannelSpec { layer: "steps", sum: "steps", encoding: ChannelEncoding::Count }];
        let extra = names(FilmOptions { channels, ..FilmOptions::default() }, true);
        assert_eq!(extra, ["R", "G", "B", "steps"]);
        let depth = FeatureLayers { depth: true, ..FeatureLayers::NONE };
        let depth = FilmOptions { features: depth, ..FilmOptions::default() };
        assert_eq!(names(depth, true), ["R", "G", "B", "depth.Z"]);
        let all = FilmOptions { features: FeatureLayers::ALL, moments: true, channels: &[] };
        assert_eq!(names(all, false).len(), 15);
        let all = names(all, true);
        assert!(all.contains(&"variance.G".into()) && all.contains(&"depth.Z".into()));
    }

    #[test]
    fn manifests_are_json() {
        let text = manifest(&["floor".into(), "a \"b\"\n".into()]).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["1"], &value["2"]), (&"floor".into(), &"a \"b\"\n".into()));
        assert_eq!(manifest(&vec!["name".into(); 10_000]), None);
    }
}
