//! Textures, and parameters that may be textures.

use super::Builder;
use crate::image::{self, Encoding, Image};
use crate::math::Vec3;
use crate::scene::describe::{Description, TextureEntity};
use crate::scene::diagnostics::{SceneError, did_you_mean};
use crate::scene::file::{Entity, FloatOrTexture, SpectrumOrTexture, SpectrumParam};
use crate::texture::{Param, Texture};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Textures by name, of either kind, and the images they share.
#[derive(Default)]
pub(super) struct Textures {
    float: HashMap<String, Arc<Texture>>,
    spectrum: HashMap<String, Arc<Texture>>,
    images: HashMap<(PathBuf, String), Arc<Image>>,
}
