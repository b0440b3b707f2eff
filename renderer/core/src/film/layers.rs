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
//! | `geometric_normal.X` … | geometric normal, world space |
//! | `uv.u` `uv.v` | texture coordinates |
//! | `forward.u` `forward.v` | motion while the shutter is open, pixels to the right and upwards |
//! | `depth_gradient.X` `depth_gradient.Y` | change of the depth per pixel to the right and down |
//! | `emission.R` …, `direct.R` …, `indirect.R` …, `diffuse.R` …, `specular.R` … | components of radiance, see [`ComponentLayers`](super::ComponentLayers) |
//! | `light_NAME.R` … | radiance by the lights of the group NAME |
//! | `material.id`, `object.id` | unsigned integers, from 1 |
//! | `CryptoMaterial00.R` … `CryptoObject02.A` | mattes in the layout of Cryptomatte: hashes of names in `R` and `B`, their shares in `G` and `A` |
//!
//! World space is camera space if [`RenderSettings::feature_space`] says so.
//!
//! [`RenderSettings::feature_space`]: crate::RenderSettings::feature_space
//!
//! Each extra channel of the integrator is a layer of its own.

use super::{Film, FilmOptions, MatteKind, MatteNames, RANKS, RenderedImage, column_names};
use crate::choice::Choice;
use crate::light::DEFAULT_GROUP;
use crate::settings::ColourSpace;
use lightbound_image::write::{
    Attribute, CHROMATICITIES, ChannelSamples, ChannelType, ExrImage, ExrRows,
};
use std::ops::Range;

/// Maximum length of a manifest, bytes. A longer one would slow down every reader of the file.
const MAX_MANIFEST: usize = 1 << 16;

/// Name of the attribute with the colour space of an image; sRGB without it.
pub const COLOUR_SPACE: &str = "lightbound/colorSpace";

/// Names of the attributes with the names of ids of materials and of objects, see [`manifest`].
pub const MANIFESTS: [&str; 2] = ["lightbound/materials", "lightbound/objects"];

/// Name of the attribute with the names of the light groups, separated by spaces. Without it, all
/// lights are in one group, `default`.
pub const LIGHT_GROUPS: &str = "lightbound/lightGroups";

/// Returns the names of the light groups of an image with these attributes.
pub fn light_groups(attributes: &[(String, Attribute)]) -> Vec<String> {
    let names = attributes.iter().find_map(|(name, value)| match value {
        Attribute::Text(text) if name == LIGHT_GROUPS => Some(text.as_str()),
        _ => None,
    });
    names.unwrap_or(DEFAULT_GROUP).split(' ').map(str::to_owned).collect()
}

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
    /// Names of the light groups, if the film stores them.
    pub light_groups: &'a [String],
    /// Names of materials and of objects, if the film stores mattes.
    mattes: [MatteNames; 2],
    /// Lengths of the mattes in the sums.
    matte_lengths: [usize; 2],
}

impl<'a> FilmLayers<'a> {
    /// Creates the layers of a film without an image: a checkpoint.
    pub fn checkpoint(film: &'a Film) -> FilmLayers<'a> {
        FilmLayers {
            film,
            image: false,
            variance: false,
            sums: true,
            light_groups: &[],
            mattes: Default::default(),
            matte_lengths: film.matte_lengths(),
        }
    }

    /// Creates the layers of an image. `attributes` have the names of materials and objects; the
    /// other parameters are the fields.
    pub fn image(
        film: &'a Film,
        variance: bool,
        sums: bool,
        light_groups: &'a [String],
        attributes: &[(String, Attribute)],
    ) -> FilmLayers<'a> {
        let mattes = MatteKind::ALL.map(|kind| match film.options().features.has_matte(kind) {
            true => MatteNames::of(kind, attributes),
            false => MatteNames::default(),
        });
        let matte_lengths = if sums { film.matte_lengths() } else { [0; 2] };
        FilmLayers { film, image: true, variance, sums, light_groups, mattes, matte_lengths }
    }

    /// Returns what the image contains besides radiance.
    fn image_layers(&self) -> FilmOptions {
        image_layers(self.film.options(), self.variance)
    }

    /// Returns the channels of the mattes.
    fn matte_samples(&self, rows: Range<u32>) -> Vec<ChannelSamples> {
        let mattes = self.film.mattes(rows, &self.mattes).into_iter();
        mattes.flat_map(|columns| columns.into_iter().map(ChannelSamples::F32)).collect()
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
        let features = self.film.options().features;
        for (kind, names) in MatteKind::ALL.into_iter().zip(&self.mattes) {
            if self.image && features.has_matte(kind) {
                attributes.extend(names.attributes(kind));
            }
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
            channels.extend(image_channels(self.film.options(), self.variance, self.light_groups));
        }
        if self.sums {
            let names = column_names(self.film.options(), self.matte_lengths).into_iter();
            channels.extend(names.map(|name| (name, ChannelType::U32)));
        }
        channels
    }

    fn rows(&self, rows: Range<u32>) -> Vec<ChannelSamples> {
        let mut channels = Vec::new();
        if self.image {
            let image = self.film.image_rows(rows.clone(), self.image_layers());
            channels.extend(image_samples(image));
            channels.extend(self.matte_samples(rows.clone()));
        }
        if self.sums {
            let columns = self.film.columns(rows, self.matte_lengths).into_iter();
            channels.extend(columns.map(|column| ChannelSamples::U32(column.words)));
        }
        channels
    }
}

const RGB: [&str; 3] = ["R", "G", "B"];
const XYZ: [&str; 3] = ["X", "Y", "Z"];
const UV: [&str; 2] = ["u", "v"];

/// Returns what the image of a film with these options contains besides radiance.
fn image_layers(film: FilmOptions, variance: bool) -> FilmOptions {
    FilmOptions { moments: variance && film.moments, ..film }
}

/// Returns the channels of the image of a film with these options. `variance` is
/// [`FilmLayers::variance`], `light_groups` are the names of the light groups.
pub fn image_channels(
    film: FilmOptions,
    variance: bool,
    light_groups: &[String],
) -> Vec<(String, ChannelType)> {
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
        ("geometric_normal.", &XYZ, f.geometric_normal),
        ("uv.", &UV, f.uv),
        ("forward.", &UV, f.motion),
        ("depth_gradient.", &["X", "Y"], f.depth_gradient),
    ];
    let floats = layers.iter().filter(|layer| layer.2).flat_map(|(layer, axes, _)| {
        axes.iter().map(move |axis| (format!("{layer}{axis}"), ChannelType::F32))
    });
    let components = options.components.iter().flat_map(|component| {
        let layer = component.layer(light_groups);
        RGB.map(|axis| (format!("{layer}.{axis}"), ChannelType::F32))
    });
    let ids = [("material.id", f.material), ("object.id", f.object)];
    let ids = ids.into_iter().filter(|id| id.1).map(|(id, _)| (id.into(), ChannelType::U32));
    let extra = options.channels.iter().map(|c| (c.layer.into(), ChannelType::F32));
    let mattes = MatteKind::ALL.into_iter().filter(|kind| f.has_matte(*kind));
    let mattes = mattes.flat_map(|kind| {
        let layer = move |i| ["R", "G", "B", "A"].map(|c| format!("{}{i:02}.{c}", kind.layer()));
        (0..RANKS / 2).flat_map(layer).map(|name| (name, ChannelType::F32))
    });
    floats.chain(components).chain(ids).chain(extra).chain(mattes).collect()
}

/// Returns the samples of [`image_channels`].
fn image_samples(image: RenderedImage) -> Vec<ChannelSamples> {
    let mut channels = Vec::new();
    add_vectors(&mut channels, &image.radiance);
    image.variance.iter().for_each(|v| add_vectors(&mut channels, v));
    let mut ids = Vec::new();
    if let Some(features) = image.features {
        for vectors in [&features.albedo, &features.normal, &features.position] {
            add_vectors(&mut channels, vectors);
        }
        if !features.depth.is_empty() {
            channels.push(ChannelSamples::F32(features.depth));
        }
        add_vectors(&mut channels, &features.geometric_normal);
        for vectors in [&features.uv, &features.motion, &features.depth_gradient] {
            add_vectors(&mut channels, vectors);
        }
        ids = vec![features.material, features.object];
    }
    image.components.iter().for_each(|c| add_vectors(&mut channels, &c.radiance));
    channels.extend(ids.into_iter().filter(|ids| !ids.is_empty()).map(ChannelSamples::U32));
    channels.extend(image.channels.into_iter().map(|c| ChannelSamples::F32(c.values)));
    channels
}

/// Adds a channel for each component of vectors, unless there are no vectors.
fn add_vectors<const N: usize>(channels: &mut Vec<ChannelSamples>, vectors: &[[f32; N]]) {
    if !vectors.is_empty() {
        let axis = |i| ChannelSamples::F32(vectors.iter().map(|v| v[i]).collect());
        channels.extend((0..N).map(axis));
    }
}

/// Formats JSON with escapes for characters beyond ASCII, which attributes of EXR files lack.
pub(super) fn ascii_json(value: &serde_json::Value) -> String {
    let mut text = String::new();
    for character in value.to_string().chars() {
        match character.is_ascii() {
            true => text.push(character),
            false => {
                let units = character.encode_utf16(&mut [0; 2]).to_vec();
                text.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
            }
        }
    }
    text
}

/// Returns the names of the ids as a JSON object `{"1":"floor",…}`; `None` if it is too long, unless
/// it is `needed`.
pub fn manifest(names: &[String], needed: bool) -> Option<String> {
    let entry = |(i, name): (usize, &String)| {
        format!("\"{}\":{}", i + 1, ascii_json(&serde_json::Value::from(name.as_str())))
    };
    let entries: Vec<String> = names.iter().enumerate().map(entry).collect();
    let text = format!("{{{}}}", entries.join(","));
    (needed || text.len() <= MAX_MANIFEST).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::film::{ChannelEncoding, ChannelSpec, ComponentLayers, FeatureLayers};
    use lightbound_image::Window;

    #[test]
    fn layers_match_the_film_options() {
        let window = Window { x0: 0, y0: 0, x1: 2, y1: 3 };
        let names = |options: FilmOptions, variance| -> Vec<String> {
            let film = Film::new(window, options);
            let light_groups = &["key".to_owned(), "fill".to_owned()];
            for sums in [false, true] {
                let layers = FilmLayers::image(&film, variance, sums, light_groups, &[]);
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
            let layers = FilmLayers::image(&film, variance, false, light_groups, &[]);
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
        let all = FilmOptions {
            features: FeatureLayers::ALL,
            moments: true,
            channels: &[],
            components: ComponentLayers::all(2),
        };
        assert_eq!(names(all, false).len(), 15 + 9 + 7 * 3 + 24);
        let all = names(all, true);
        for name in ["variance.G", "depth.Z", "uv.v", "forward.u", "indirect.B", "light_fill.R"] {
            assert!(all.contains(&name.into()), "{name}");
        }
    }

    #[test]
    fn manifests_are_json() {
        let names = ["floor", "a \"b\"\n", "Würfel 球 🦀"].map(String::from);
        let text = manifest(&names, false).unwrap();
        assert!(text.is_ascii(), "{text}");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            ["1", "2", "3"].map(|id| value[id].as_str().unwrap()),
            names.each_ref().map(|s| s.as_str())
        );
        let many = vec!["name".into(); 10_000];
        assert!(manifest(&many, false).is_none() && manifest(&many, true).is_some());
    }
}
