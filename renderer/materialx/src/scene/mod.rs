//! Scene-level properties of a surface: its emission and interior medium.

mod dispersion;
mod opacity;
mod program;

pub use dispersion::ClearGlass;
pub(crate) use dispersion::{GLTF_PBR, OPEN_PBR, STANDARD_SURFACE};
pub use opacity::{Channel, Opacity, OpacityValue};
pub(crate) use program::{SceneInputs, scene_program};
pub use program::{SceneProgram, SceneProperties};

use crate::error::{Location, Warning};
use crate::textures::Texture;

/// Light that a surface emits.
#[derive(Clone, Debug)]
pub struct Emission {
    /// Radiance in linear sRGB.
    pub radiance: [f64; 3],
    /// An image that scales it, at the texture coordinates of the surface.
    pub image: Option<Texture>,
}

/// A parameter that a scene cannot set, because the document connects the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connected {
    /// Name of the parameter.
    pub parameter: String,
    /// The input in the document, or its surface.
    pub location: Location,
}

/// A homogeneous volume.
#[derive(Clone, Debug)]
pub struct Volume {
    /// Coefficients of absorption and of scattering, per unit of length, in linear sRGB.
    pub absorption: [f64; 3],
    /// See `absorption`.
    pub scattering: [f64; 3],
    /// Mean cosine of the scattering angle.
    pub anisotropy: f64,
    /// The member of `Material` with the distance in which light gets the colour of the volume. If
    /// it is not 0, the surface does not colour light. `None` if the shader has no such member.
    pub depth: Option<(&'static str, f64)>,
    /// The warning for integrators without media, for which the surface colours light instead.
    pub warning: Warning,
}

/// How the index of refraction depends on the wavelength.
#[derive(Clone, Debug)]
pub struct Dispersion {
    /// (n − 1) at the helium d line, divided by the difference between the F and C lines.
    pub abbe_number: f64,
    /// When the material is a dielectric that disperses light.
    pub glass: &'static ClearGlass,
    /// The warning where light does not disperse.
    pub warning: Warning,
}

impl Volume {
    /// The volume in which white light has this colour after the distance `depth`, and that
    /// scatters `scatter`/`depth`. If it would absorb a negative amount, it absorbs more of all
    /// colours (OpenPBR Surface 1.1, *Translucent base*). Values are clamped to valid ones.
    pub(crate) fn coefficients(color: &[f64], scatter: &[f64], depth: f64) -> [[f64; 3]; 2] {
        const MIN_COLOR: f64 = 1e-4;
        let scattering = [0, 1, 2].map(|k| scatter[k].max(0.0) / depth);
        let extinction = [0, 1, 2].map(|k| -libm::log(color[k].clamp(MIN_COLOR, 1.0)) / depth);
        let absorption = [0, 1, 2].map(|k| extinction[k] - scattering[k]);
        let least = absorption.into_iter().fold(0.0, f64::min);
        [absorption.map(|x| x - least), scattering]
    }
}

#[cfg(test)]
mod tests {
    use super::Volume;

    #[test]
    fn volumes_have_their_colour_after_the_depth() {
        let color = [0.9, 0.5, 0.1];
        let [absorption, scattering] = Volume::coefficients(&color, &[0.0; 3], 2.0);
        assert_eq!(scattering, [0.0; 3]);
        for (a, c) in absorption.into_iter().zip(color) {
            assert!((libm::exp(-2.0 * a) - c).abs() < 1e-12);
        }
        // −ln 0.5 = 0.69 is less than what the third channel scatters.
        let [absorption, scattering] = Volume::coefficients(&[0.5; 3], &[0.0, 0.5, 1.0], 1.0);
        assert_eq!(scattering, [0.0, 0.5, 1.0]);
        let expected = [1.0, 0.5, 0.0];
        assert!(absorption.into_iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
