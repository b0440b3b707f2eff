//! The option `--layers`: the layers of an EXR file.

use super::Args;
use crate::Error;
use lightbound::Scene;
use lightbound::film::{
    ChannelSpec, ComponentLayers, FeatureLayers, FilmOptions, MAX_LIGHT_GROUPS,
};
use lightbound::integrator::Integrator;
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
    /// Geometric normal in world space
    #[value(name = "geometric_normal")]
    GeometricNormal,
    /// Texture coordinates
    Uv,
    /// Motion in pixels while the shutter is open, as forward.u and .v
    Motion,
    /// Change of the depth per pixel
    #[value(name = "depth_gradient")]
    DepthGradient,
    /// Ids of materials
    Material,
    /// Ids of objects
    Object,
    /// material and object
    Ids,
    /// Variance of the pixel's mean, as --variance writes it
    Variance,
    /// Emitters and environments that the camera sees
    Emission,
    /// Light after one scattering event
    Direct,
    /// Light after more scattering events
    Indirect,
    /// Light that a diffuse lobe scatters to the camera
    Diffuse,
    /// Light that other lobes scatter to the camera
    Specular,
    /// Light of each lightgroup of the scene, as light_NAME
    #[value(name = "lightgroups")]
    LightGroups,
    /// Integrator lightcuts: cut_size (with --gather: gather_points and pairs), bound_evaluations,
    /// shadow_rays and error_bound
    Cuts,
    /// Scenes with participating media: collisions, null_collisions, and medium_cells, the cells
    /// of majorant trees that camera rays cross
    Media,
    /// All of these
    All,
    /// Cryptomattes of materials and objects: masks for compositing; not in `all`
    Cryptomatte,
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
    LayerName::GeometricNormal,
    LayerName::Uv,
    LayerName::DepthGradient,
    LayerName::Variance,
];

impl Args {
    /// These arguments, with the layers that the film of the scene selects if `--layers` does not,
    /// and those that guide the denoiser.
    pub(super) fn with_layers_of(&self, scene: &LoadedScene) -> Args {
        let mut args = self.clone();
        if args.layers.is_empty() {
            args.layers = film_layers(scene).to_vec();
        }
        if args.denoise && !args.layers.is_empty() {
            args.layers.extend([LayerName::Albedo, LayerName::Normal]);
        }
        args
    }

    /// Whether the image has a layer with the variance.
    pub(super) fn writes_variance(&self) -> bool {
        let is_variance = |name: &LayerName| matches!(name, LayerName::Variance | LayerName::All);
        self.variance || self.layers.iter().any(is_variance)
    }

    /// The data that the film of an EXR file stores.
    ///
    /// # Errors
    /// If `--layers` names layers that the integrator does not have, or too many.
    pub(super) fn exr_film(&self, available: AvailableLayers) -> Result<FilmOptions, Error> {
        if self.layers.contains(&LayerName::Cuts) && !available.has_channel("error_bound") {
            return Err(Error::option(
                "--layers cuts needs the integrator lightcuts",
                "leave `cuts` out, or add --integrator lightcuts",
            ));
        }
        if self.layers.contains(&LayerName::Media) && !available.has_channel("collisions") {
            return Err(Error::option(
                "--layers media needs a scene with participating media, and the integrator volpath",
                "leave `media` out, or add --integrator volpath if the scene has media",
            ));
        }
        let component = self.layers.iter().find(|layer| COMPONENTS.contains(layer));
        if let Some(name) = component.and_then(clap::ValueEnum::to_possible_value)
            && !available.components
        {
            let name = name.get_name();
            return Err(Error::option(
                format!("--layers {name} needs the integrator path or volpath"),
                format!(
                    "leave `{name}` out, or add --integrator path, or volpath if the scene has media"
                ),
            ));
        }
        let groups = film_options(&self.layers, available).components.light_groups;
        if groups > MAX_LIGHT_GROUPS {
            return Err(Error::option(
                format!(
                    "the scene has {groups} light groups, but an image has at most \
                     {MAX_LIGHT_GROUPS}"
                ),
                "leave `lightgroups` out of --layers",
            ));
        }
        let moments = self.writes_variance() || self.work.noise_threshold.is_some();
        Ok(FilmOptions { moments, ..film_options(&self.layers, available) })
    }
}

/// The layers that the film of a scene selects; empty for the default ones.
pub fn film_layers(scene: &LoadedScene) -> &'static [LayerName] {
    if scene.has_feature_film { FEATURE_FILM } else { &[] }
}

/// The layers of components.
const COMPONENTS: &[LayerName] = &[
    LayerName::Emission,
    LayerName::Direct,
    LayerName::Indirect,
    LayerName::Diffuse,
    LayerName::Specular,
    LayerName::LightGroups,
];

/// The layers that an integrator has, besides those of first hits.
#[derive(Clone, Copy, Debug, Default)]
pub struct AvailableLayers {
    channels: &'static [ChannelSpec],
    components: bool,
    /// Number of light groups.
    light_groups: u32,
}

impl AvailableLayers {
    /// The layers of an integrator for a scene.
    pub fn new(integrator: &dyn Integrator, scene: &Scene) -> AvailableLayers {
        AvailableLayers {
            channels: integrator.film_channels(),
            components: integrator.has_components(),
            light_groups: scene.lights.groups().names().len() as u32,
        }
    }

    /// The name for all extra channels.
    fn channel_layer(&self) -> LayerName {
        if self.has_channel("collisions") { LayerName::Media } else { LayerName::Cuts }
    }

    /// Whether the integrator has an extra channel.
    fn has_channel(&self, layer: &str) -> bool {
        self.channels.iter().any(|channel| channel.layer == layer)
    }
}

/// The data that a film stores for some layers, or for the default ones if there are none.
pub fn film_options(layers: &[LayerName], available: AvailableLayers) -> FilmOptions {
    let AvailableLayers { channels, components, light_groups } = available;
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
            geometric_normal: has(&[LayerName::GeometricNormal]),
            uv: has(&[LayerName::Uv]),
            motion: has(&[LayerName::Motion]),
            depth_gradient: has(&[LayerName::DepthGradient]),
            material_matte: layers.contains(&LayerName::Cryptomatte),
            object_matte: layers.contains(&LayerName::Cryptomatte),
        },
        moments: has(&[LayerName::Variance]),
        channels: if has(&[available.channel_layer()]) { channels } else { &[] },
        components: ComponentLayers {
            emission: components && has(&[LayerName::Emission]),
            direct: components && has(&[LayerName::Direct]),
            indirect: components && has(&[LayerName::Indirect]),
            diffuse: components && has(&[LayerName::Diffuse]),
            specular: components && has(&[LayerName::Specular]),
            light_groups: if components && has(&[LayerName::LightGroups]) {
                light_groups
            } else {
                0
            },
        },
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

    const AVAILABLE: AvailableLayers =
        AvailableLayers { channels: &[], components: true, light_groups: 3 };

    fn film(options: &[&str]) -> FilmOptions {
        let command = ["lightbound", "scene.pbrt"].iter().chain(options);
        Command::parse_from(command).args.exr_film(AVAILABLE).unwrap()
    }

    #[test]
    fn layers_select_what_the_film_stores() {
        let default = film(&[]);
        assert!(!default.features.position && !default.moments);
        let features = FeatureLayers {
            albedo: true,
            normal: true,
            depth: true,
            material: true,
            object: true,
            ..FeatureLayers::NONE
        };
        assert_eq!((default.features, default.components), (features, ComponentLayers::default()));
        assert_eq!(film(&["--layers", "beauty"]), FilmOptions::default());
        let depth = FeatureLayers { depth: true, object: true, ..FeatureLayers::NONE };
        assert_eq!(film(&["--layers", "depth,object"]).features, depth);
        let pbrt_film = film_options(FEATURE_FILM, AVAILABLE);
        let everything =
            FeatureLayers { material_matte: false, object_matte: false, ..FeatureLayers::ALL };
        let without_motion = FeatureLayers { motion: false, ..everything };
        assert_eq!((pbrt_film.features, pbrt_film.moments), (without_motion, true));
        let all = film(&["--layers", "all"]);
        assert_eq!((all.features, all.moments), (everything, true));
        let with_mattes = film(&["--layers", "all,cryptomatte"]);
        assert_eq!(with_mattes.features, FeatureLayers::ALL);
        assert_eq!(all.components, ComponentLayers::all(3));
        let direct = film(&["--layers", "direct,lightgroups"]).components;
        let expected = ComponentLayers { direct: true, light_groups: 3, ..direct };
        assert_eq!((direct, direct.indirect), (expected, false));
        assert_eq!(
            film(&["--layers", "beauty,variance"]),
            film(&["--layers", "beauty", "--variance"])
        );
        assert!(film(&["--layers", "beauty", "--noise-threshold", "0.1"]).moments);
    }

    #[test]
    fn layers_of_another_integrator_are_errors() {
        let error = |layer: &str, available: AvailableLayers| {
            let command = ["lightbound", "scene.pbrt", "--layers", layer];
            let film = Command::parse_from(command).args.exr_film(available);
            film.err().map(|error| error.to_string())
        };
        let lightcuts = AvailableLayers { components: false, ..AVAILABLE };
        assert_eq!(error("specular", AVAILABLE), None);
        assert_eq!(error("all", lightcuts), None);
        assert!(
            error("beauty,lightgroups", lightcuts).unwrap().contains("needs the integrator path")
        );
        assert!(error("cuts", AVAILABLE).unwrap().contains("needs the integrator lightcuts"));
        assert!(error("media", AVAILABLE).unwrap().contains("the integrator volpath"));
        let many = AvailableLayers { light_groups: 5000, ..AVAILABLE };
        assert!(error("lightgroups", many).unwrap().contains("5000 light groups"));
    }

    #[test]
    fn documented_memory_is_that_of_the_film() {
        let bytes = |layers: &str| film(&["--layers", layers]).bytes_per_pixel();
        assert_eq!(film(&[]).bytes_per_pixel(), 132);
        assert_eq!([bytes("beauty"), bytes("beauty,variance")], [52, 100]);
        assert_eq!([bytes("direct,indirect"), bytes("diffuse,specular")], [148, 148]);
        assert_eq!([bytes("lightgroups"), bytes("all")], [148, 588]);
        assert_eq!(bytes("cryptomatte"), 88);
    }
}
