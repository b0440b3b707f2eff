//! Serialization of [`FilmOptions`] in the header of a part. The extra channels are stored as a
//! flag, since the integrator declares them.

use crate::film::{FeatureLayers, FilmOptions};
use crate::integrator::lightcuts;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
struct FilmJson {
    /// Names of the features.
    features: Vec<Feature>,
    moments: bool,
    /// Whether the film stores [`lightcuts::FILM_CHANNELS`].
    #[serde(default)]
    cuts: bool,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Feature {
    Albedo,
    Normal,
    Position,
    Depth,
    Material,
    Object,
}

impl Feature {
    const ALL: [Feature; 6] = [
        Feature::Albedo,
        Feature::Normal,
        Feature::Position,
        Feature::Depth,
        Feature::Material,
        Feature::Object,
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
        }
    }
}

pub fn serialize<S: Serializer>(options: &FilmOptions, serializer: S) -> Result<S::Ok, S::Error> {
    let &FilmOptions { features: mut layers, moments, channels } = options;
    let cuts = channels == lightcuts::FILM_CHANNELS;
    assert!(cuts || channels.is_empty(), "the header has a flag for each list of channels");
    let features = Feature::ALL.into_iter().filter(|f| *f.flag(&mut layers)).collect();
    FilmJson { features, moments, cuts }.serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FilmOptions, D::Error> {
    let FilmJson { features, moments, cuts } = FilmJson::deserialize(deserializer)?;
    let channels = if cuts { lightcuts::FILM_CHANNELS } else { &[] };
    let mut layers = FeatureLayers::NONE;
    features.into_iter().for_each(|feature| *feature.flag(&mut layers) = true);
    Ok(FilmOptions { features: layers, moments, channels })
}
