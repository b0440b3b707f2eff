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

use crate::choice::Choice;
use crate::film::RenderedImage;
use crate::settings::ColourSpace;
use lightbound_image::write::{Attribute, CHROMATICITIES, Channel, ChannelSamples, ExrImage};

/// Maximum length of a manifest, bytes. A longer one would slow down every reader of the file.
const MAX_MANIFEST: usize = 1 << 16;

/// Name of the attribute with the colour space of an image; sRGB without it.
pub const COLOUR_SPACE: &str = "lightbound/colorSpace";

/// Converts a rendered image to EXR layers. `resolution` is the size of the full image. The
/// attribute [`COLOUR_SPACE`] determines the chromaticities.
pub fn exr_image(
    resolution: (u32, u32),
    image: &RenderedImage,
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
    let mut channels = Vec::new();
    let mut add = |name: String, samples| channels.push(Channel { name, samples });
    let mut vectors = |layer: &str, axes: [&str; 3], data: &[[f32; 3]]| {
        for (i, axis) in axes.into_iter().enumerate() {
            add(format!("{layer}{axis}"), ChannelSamples::F32(data.iter().map(|v| v[i]).collect()));
        }
    };
    vectors("", ["R", "G", "B"], &image.radiance);
    if let Some(variance) = &image.variance {
        vectors("variance.", ["R", "G", "B"], variance);
    }
    if let Some(features) = &image.features {
        vectors("albedo.", ["R", "G", "B"], &features.albedo);
        vectors("normal.", ["X", "Y", "Z"], &features.normal);
        vectors("position.", ["X", "Y", "Z"], &features.position);
        add("depth.Z".into(), ChannelSamples::F32(features.depth.clone()));
        add("material.id".into(), ChannelSamples::U32(features.material.clone()));
        add("object.id".into(), ChannelSamples::U32(features.object.clone()));
    }
    for channel in &image.channels {
        add(channel.layer.into(), ChannelSamples::F32(channel.values.clone()));
    }
    let window = image.window;
    ExrImage {
        size: [window.width(), window.height()],
        offset: [window.x0, window.y0],
        full_size: resolution.into(),
        channels,
        attributes,
    }
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
    use crate::film::{ChannelEncoding, ChannelSpec, Film, FilmOptions};
    use lightbound_image::Window;

    #[test]
    fn layers_match_the_film_options() {
        let names = |options: FilmOptions| -> Vec<String> {
            let film = Film::new(Window { x0: 0, y0: 0, x1: 1, y1: 1 }, options);
            let exr = exr_image((1, 1), &film.image(), Vec::new());
            exr.channels.into_iter().map(|channel| channel.name).collect()
        };
        assert_eq!(names(FilmOptions::default()), ["R", "G", "B"]);
        let channels: &[ChannelSpec] =
            &[ChannelSpec { layer: "steps", sum: "steps", encoding: ChannelEncoding::Count }];
        let extra = names(FilmOptions { channels, ..FilmOptions::default() });
        assert_eq!(extra, ["R", "G", "B", "steps"]);
        let features = names(FilmOptions { features: true, moments: true, channels: &[] });
        assert!(features.contains(&"variance.G".into()) && features.contains(&"depth.Z".into()));
    }

    #[test]
    fn manifests_are_json() {
        let text = manifest(&["floor".into(), "a \"b\"\n".into()]).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["1"], &value["2"]), (&"floor".into(), &"a \"b\"\n".into()));
        assert_eq!(manifest(&vec!["name".into(); 10_000]), None);
    }
}
