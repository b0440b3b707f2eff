//! Serialization of [`FilmOptions`] in the header of a part. The extra channels are stored as a
//! flag, since the integrator declares them.

use crate::film::FilmOptions;
use crate::integrator::lightcuts;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
struct FilmJson {
    features: bool,
    moments: bool,
    /// Whether the film stores [`lightcuts::FILM_CHANNELS`].
    #[serde(default)]
    cuts: bool,
}

pub fn serialize<S: Serializer>(options: &FilmOptions, serializer: S) -> Result<S::Ok, S::Error> {
    let &FilmOptions { features, moments, channels } = options;
    let cuts = channels == lightcuts::FILM_CHANNELS;
    assert!(cuts || channels.is_empty(), "the header has a flag for each list of channels");
    FilmJson { features, moments, cuts }.serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FilmOptions, D::Error> {
    let FilmJson { features, moments, cuts } = FilmJson::deserialize(deserializer)?;
    let channels = if cuts { lightcuts::FILM_CHANNELS } else { &[] };
    Ok(FilmOptions { features, moments, channels })
}
