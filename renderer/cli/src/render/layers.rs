//! The option `--layers`: the layers of an EXR file.

use super::Args;
use crate::Error;
use lightbound::film::{ChannelSpec, FeatureLayers, FilmOptions};
use lightbound_pbrt::build::LoadedScene;

/// A layer, or a group of layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LayerName {
    /// Radiance, in every file
    Beauty,
    /// Directional albedo of the first visible surface
    Albedo,
    /// Shading normal in world space
    Normal,
    /// Distance along the viewing axis
    Depth,
    /// Position in world space
    Position,
    /// Ids of materials
    Material,
    /// Ids of objects
    Object,
    /// material and object
    Ids,
    /// Variance of the pixel's mean, as --variance writes it
    Variance,
    /// Integrator lightcuts: cut_size, bound_evaluations, shadow_rays and error_bound
    Cuts,
    /// All of these
    All,
}

/// The layers of a file without `--layers`.
const DEFAULT: &[LayerName] = &[
    LayerName::Beauty,
    LayerName::Albedo,
    LayerName::Normal,
    LayerName::Depth,
    LayerName::Ids,
    LayerName::Cuts,
];

/// The layers of a file without `--layers`, for scenes with the film `gbuffer` of pbrt-v4.
const FEATURE_FILM: &[LayerName] = &[
    LayerName::Beauty,
    LayerName::Albedo,
    LayerName::Normal,
    LayerName::Depth,
    LayerName::Ids,
    LayerName::Position,
    LayerName::Variance,
];

impl Args {
    /// These arguments, with the layers that the film of the scene selects if `--layers` does not.
    pub(super) fn with_layers_of(&self, scene: &LoadedScene) -> Args {
        let mut args = self.clone();
        if args.layers.is_empty() {
            args.layers = film_layers(scene).to_vec();
        }
        args
    }

    /// Whether the image has a layer with the variance.
    pub(super) fn writes_variance(&self) -> bool {
        let is_variance = |name: &LayerName| matches!(name, LayerName::Variance | LayerName::All);
        self.variance || self.layers.iter().any(is_variance)
    }

    /// The data that the film of an EXR file stores. `channels` are those of the integrator.
    ///
    /// # Errors
    /// If `--layers` names layers that the integrator does not have.
    pub(super) fn exr_film(&self, channels: &'static [ChannelSpec]) -> Result<FilmOptions, Error> {
        if self.layers.contains(&LayerName::Cuts) && channels.is_empty() {
            return Err(Error::option(
                "--layers cuts needs the integrator lightcuts",
                "leave `cuts` out, or add --integrator lightcuts",
            ));
        }
        let moments = self.writes_variance() || self.work.noise_threshold.is_some();
        Ok(FilmOptions { moments, ..film_options(&self.layers, channels) })
    }
}

/// The layers that the film of a scene selects; empty for the default ones.
pub fn film_layers(scene: &LoadedScene) -> &'static [LayerName] {
    if scene.has_feature_film { FEATURE_FILM } else { &[] }
}

/// The data that a film stores for some layers, or for the default ones if there are none.
/// `channels` are those of the integrator.
pub fn film_options(layers: &[LayerName], channels: &'static [ChannelSpec]) -> FilmOptions {
    let layers = if layers.is_empty() { DEFAULT } else { layers };
    let has = |names: &[LayerName]| {
        layers.iter().any(|layer| names.contains(layer) || *layer == LayerName::All)
    };
    FilmOptions {
        features: FeatureLayers {
            albedo: has(&[LayerName::Albedo]),
            normal: has(&[LayerName::Normal]),
            position: has(&[LayerName::Position]),
            depth: has(&[LayerName::Depth]),
            material: has(&[LayerName::Material, LayerName::Ids]),
            object: has(&[LayerName::Object, LayerName::Ids]),
        },
        moments: has(&[LayerName::Variance]),
        channels: if has(&[LayerName::Cuts]) { channels } else { &[] },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn film(options: &[&str]) -> FilmOptions {
        let command = ["lightbound", "scene.pbrt"].iter().chain(options);
        Command::parse_from(command).args.exr_film(&[]).unwrap()
    }

    #[test]
    fn layers_select_what_the_film_stores() {
        let default = film(&[]);
        assert!(!default.features.position && !default.moments);
        assert_eq!(default.features, FeatureLayers { position: false, ..FeatureLayers::ALL });
        assert_eq!(film(&["--layers", "beauty"]), FilmOptions::default());
        let depth = FeatureLayers { depth: true, object: true, ..FeatureLayers::NONE };
        assert_eq!(film(&["--layers", "depth,object"]).features, depth);
        let pbrt_film = film_options(FEATURE_FILM, &[]);
        assert_eq!((pbrt_film.features, pbrt_film.moments), (FeatureLayers::ALL, true));
        let all = film(&["--layers", "all"]);
        assert_eq!((all.features, all.moments), (FeatureLayers::ALL, true));
        assert_eq!(
            film(&["--layers", "beauty,variance"]),
            film(&["--layers", "beauty", "--variance"])
        );
        assert!(film(&["--layers", "beauty", "--noise-threshold", "0.1"]).moments);
    }

    #[test]
    fn documented_memory_is_that_of_the_film() {
        let bytes = |layers: &str| film(&["--layers", layers]).bytes_per_pixel();
        assert_eq!(film(&[]).bytes_per_pixel(), 132);
        assert_eq!([bytes("beauty"), bytes("beauty,variance"), bytes("all")], [52, 100, 228]);
    }
}
