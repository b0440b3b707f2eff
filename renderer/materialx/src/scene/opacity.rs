//! The opacity of shapes with a material.

use crate::document::Id;
use crate::error::Error;
use crate::graph::{Graph, Scope};
use crate::textures::Texture;
use crate::values::{Term, Type};

/// Opacity of the shapes that have a material.
#[derive(Clone, Debug, PartialEq)]
pub struct Opacity {
    /// The value.
    pub value: OpacityValue,
    /// Smaller values are 0, and others are 1.
    pub cutoff: Option<f64>,
}

/// Where an opacity comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum OpacityValue {
    /// A number from 0 to 1.
    Constant(f64),
    /// An image at the texture coordinates of the surface.
    Image(Texture, Channel),
}

/// What is read of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Red, green, blue or alpha. Images without alpha have 1.
    Component(usize),
    /// The mean of red, green and blue.
    Mean,
}

impl Opacity {
    /// The opacity for a constant.
    pub(crate) fn apply_cutoff(x: f64, cutoff: Option<f64>) -> f64 {
        match cutoff {
            Some(cutoff) => f64::from(u8::from(x >= cutoff)),
            None => x.clamp(0.0, 1.0),
        }
    }
}

/// Surfaces with an input that selects the meaning of the opacity, the largest value of it, and what
/// others mean.
const MODES: [(&str, &str, f64, &str); 2] = [
    ("gltf_pbr", "alpha_mode", 2.0, "2, blended"),
    ("UsdPreviewSurface", "opacityMode", 1.0, "1, presence"),
];

/// Warns about an unknown mode of a surface with an opacity.
pub(super) fn check_mode(g: &mut Graph, scope: Scope, node: Id) -> Result<(), Error> {
    let category = g.document.category(node);
    let Some((_, name, max, fallback)) = MODES.iter().find(|(surface, ..)| *surface == category)
    else {
        return Ok(());
    };
    let mode = g.input(scope, node, name, Type::Integer)?.and_then(|term| term.number());
    if let Some(mode) = mode.filter(|mode| !(0.0..=*max).contains(mode)) {
        let at = g.document.input(node, name).expect("it has a value");
        g.warn(
            at,
            format!("\"{name}\" is {mode}, but must be an integer from 0 to {max}"),
            *fallback,
        );
    }
    Ok(())
}

/// The channel of an image that a term is, after a statement that samples the image at the texture
/// coordinates; `None` if it is anything else.
pub(super) fn channel(image: &Texture, statement: &str, term: &Term) -> Option<Channel> {
    let (name, value) = statement.strip_prefix("let ")?.strip_suffix(';')?.split_once(" = ")?;
    let texture = &image.name;
    let lookup = format!("textureSample({texture}, {texture}_sampler, p.uv)");
    let is_number = match value.strip_prefix(&lookup)? {
        ".r" => true,
        "" | ".rg" | ".rgb" => false,
        _ => return None,
    };
    let text = term.text.as_str();
    // The same number in all components.
    let text = text.strip_prefix("vec3f(").and_then(|t| t.strip_suffix(')')).unwrap_or(text);
    match text.strip_prefix(name)? {
        "" if is_number => Some(Channel::Component(0)),
        "" => Some(Channel::Mean),
        component => {
            let index = [".x", ".y", ".z", ".w"].iter().position(|c| *c == component)?;
            Some(Channel::Component(index))
        }
    }
}
