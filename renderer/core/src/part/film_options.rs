//! Serialization of [`FilmOptions`] in the header of a part. The extra channels are stored as a
//! flag, since the integrator declares them.

use crate::film::{ComponentLayers, FeatureLayers, FilmOptions, MAX_LIGHT_GROUPS};
use crate::integrator::lightcuts;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
struct FilmJson {
    /// Names of the features.
    features: Vec<Feature>,
    moments: bool,
    /// Whether the film stores [`lightcuts::FILM_CHANNELS`].
    #[serde(default)]
    cuts: bool,
    /// Whether the film stores [`lightcuts::GATHER_CHANNELS`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    gather: bool,
    /// Names of the components by the kind of path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    components: Vec<PathComponent>,
    /// Number of light groups.
    #[serde(default, rename = "lightGroups", skip_serializing_if = "is_zero")]
    light_groups: u32,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Feature {
    Albedo,
    Normal,
    Position,
    Depth,
    Material,
    Object,
    GeometricNormal,
    Uv,
    Motion,
    DepthGradient,
    MaterialMatte,
    ObjectMatte,
}

impl Feature {
    const ALL: [Feature; 12] = [
        Feature::Albedo,
        Feature::Normal,
        Feature::Position,
        Feature::Depth,
        Feature::Material,
        Feature::Object,
        Feature::GeometricNormal,
        Feature::Uv,
        Feature::Motion,
        Feature::DepthGradient,
        Feature::MaterialMatte,
        Feature::ObjectMatte,
    ];

    /// Returns the flag of the feature.
    fn flag(self, layers: &mut FeatureLayers) -> &mut bool {
        match self {
            Feature::Albedo => &mut layers.albedo,
            Feature::Normal => &mut layers.normal,
            Feature::Position => &mut layers.position,
            Feature::Depth => &mut layers.depth,
            Feature::Material => &mut layers.material,
            Feature::Object => &mut layers.object,
            Feature::GeometricNormal => &mut layers.geometric_normal,
            Feature::Uv => &mut layers.uv,
            Feature::Motion => &mut layers.motion,
            Feature::DepthGradient => &mut layers.depth_gradient,
            Feature::MaterialMatte => &mut layers.material_matte,
            Feature::ObjectMatte => &mut layers.object_matte,
        }
    }
}

/// A component by the kind of path.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum PathComponent {
    Emission,
    Direct,
    Indirect,
    Diffuse,
    Specular,
}

impl PathComponent {
    const ALL: [PathComponent; 5] = [
        PathComponent::Emission,
        PathComponent::Direct,
        PathComponent::Indirect,
        PathComponent::Diffuse,
        PathComponent::Specular,
    ];

    /// Returns the flag of the component.
    fn flag(self, layers: &mut ComponentLayers) -> &mut bool {
        match self {
            PathComponent::Emission => &mut layers.emission,
            PathComponent::Direct => &mut layers.direct,
            PathComponent::Indirect => &mut layers.indirect,
            PathComponent::Diffuse => &mut layers.diffuse,
            PathComponent::Specular => &mut layers.specular,
        }
    }
}

pub fn serialize<S: Serializer>(options: &FilmOptions, serializer: S) -> Result<S::Ok, S::Error> {
    let &FilmOptions { features: mut layers, moments, channels, components: mut of_light } =
        options;
    let cuts = channels == lightcuts::FILM_CHANNELS;
    let gather = channels == lightcuts::GATHER_CHANNELS;
    assert!(
        cuts || gather || channels.is_empty(),
        "the header has a flag for each list of channels"
    );
    let features = Feature::ALL.into_iter().filter(|f| *f.flag(&mut layers)).collect();
    let components = PathComponent::ALL.into_iter().filter(|c| *c.flag(&mut of_light)).collect();
    let light_groups = of_light.light_groups;
    FilmJson { features, moments, cuts, gather, components, light_groups }.serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FilmOptions, D::Error> {
    let FilmJson { features, moments, cuts, gather, components, light_groups } =
        FilmJson::deserialize(deserializer)?;
    if light_groups > MAX_LIGHT_GROUPS {
        return Err(D::Error::custom("too many light groups"));
    }
    let channels = match (cuts, gather) {
        (true, _) => lightcuts::FILM_CHANNELS,
        (false, true) => lightcuts::GATHER_CHANNELS,
        (false, false) => &[],
    };
    let mut layers = FeatureLayers::NONE;
    features.into_iter().for_each(|feature| *feature.flag(&mut layers) = true);
    let mut of_light = ComponentLayers { light_groups, ..ComponentLayers::default() };
    components.into_iter().for_each(|component| *component.flag(&mut of_light) = true);
    Ok(FilmOptions { features: layers, moments, channels, components: of_light })
}
