//! Dispersion, which clear and smooth glass has as a dielectric of the scene.

use super::{Dispersion, Volume};
use crate::values::Term;
use std::borrow::Cow;

/// Values of parameters with which glass is clear and smooth.
#[derive(Debug)]
pub struct ClearGlass {
    /// The parameter with the index of refraction.
    pub ior: &'static str,
    /// Names and values.
    pub values: &'static [(&'static str, f64)],
    /// The parameter for the colour at the surface, which has no effect with a volume.
    pub color: Option<&'static str>,
}

/// Clear glass of the shader `openpbr`.
pub(crate) static OPEN_PBR: ClearGlass = ClearGlass {
    ior: "specular_ior",
    values: &[
        ("transmission_weight", 1.0),
        ("specular_roughness", 0.0),
        ("base_metalness", 0.0),
        ("specular_weight", 1.0),
        ("specular_color", 1.0),
        ("coat_weight", 0.0),
        ("fuzz_weight", 0.0),
        ("thin_film_weight", 0.0),
        ("geometry_thin_walled", 0.0),
    ],
    color: Some("transmission_color"),
};

/// Clear glass of the shader `standard_surface`.
pub(crate) static STANDARD_SURFACE: ClearGlass = ClearGlass {
    ior: "specular_IOR",
    values: &[
        ("transmission", 1.0),
        ("transmission_extra_roughness", 0.0),
        ("specular_roughness", 0.0),
        ("metalness", 0.0),
        ("specular", 1.0),
        ("specular_color", 1.0),
        ("coat", 0.0),
        ("thin_film_thickness", 0.0),
        ("thin_walled", 0.0),
    ],
    color: Some("transmission_color"),
};

/// Clear glass of the shader `gltf_pbr`, if it is not a thin wall.
pub(crate) static GLTF_PBR: ClearGlass = ClearGlass {
    ior: "ior",
    values: &[
        ("transmission", 1.0),
        ("roughness", 0.0),
        ("metallic", 0.0),
        ("base_color", 1.0),
        ("specular", 1.0),
        ("specular_color", 1.0),
        ("clearcoat", 0.0),
        ("sheen_color", 0.0),
        ("iridescence", 0.0),
    ],
    color: None,
};

impl ClearGlass {
    /// The index of refraction of glass that is clear and smooth, for the components of parameters;
    /// `None` for other materials.
    pub fn index<'a>(
        &self,
        has_volume: bool,
        constant: impl Fn(&str) -> Option<&'a [f64]>,
    ) -> Option<f64> {
        let color = self.color.filter(|_| !has_volume).map(|name| (name, 1.0));
        let mut conditions = self.values.iter().copied().chain(color);
        let is_clear = conditions.all(|(name, value)| {
            constant(name).is_some_and(|components| components.iter().all(|&x| x == value))
        });
        constant(self.ior)?.first().copied().filter(|&index| is_clear && index > 1.0)
    }

    /// The index of a surface with these values.
    pub(crate) fn index_of(
        &self,
        values: &[(Cow<'static, str>, Term)],
        volume: Option<&Volume>,
    ) -> Option<f64> {
        self.index(volume.is_some(), |name| {
            let (_, term) = values.iter().find(|(member, _)| member == name)?;
            term.constant.as_deref()
        })
    }
}

impl Dispersion {
    /// The index of refraction at a wavelength in nanometres, with an index at the helium d line:
    /// Cauchy's formula for the Abbe number.
    pub fn index(&self, index: f64, wavelength: f64) -> f64 {
        // 1/λ² is 1.9097 µm⁻² more at the F line than at the C line, and 1.5168 times that at the
        // d line.
        let slope = (index - 1.0) / self.abbe_number;
        (index + slope * (523655.0 / (wavelength * wavelength) - 1.5168)).max(1.0)
    }

    /// Wavelengths and indices of visible light.
    pub fn spectrum(&self, index: f64) -> Vec<f32> {
        let wavelengths = (360..=830u32).step_by(10).map(f64::from);
        wavelengths.flat_map(|nm| [nm as f32, self.index(index, nm) as f32]).collect()
    }
}
