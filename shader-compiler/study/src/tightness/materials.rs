//! The fixed list: materials, parameters and half-angles for which over-estimation is reported.
//!
//! The list was fixed before any bound was tuned and does not change, so that results for different
//! revisions and for other bounds are comparable. Lobes have no diffuse term, which would hide them
//! at grazing angles. Parameters that are not listed have their defaults.

/// A shader of the library with parameter values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// Name of the shader without its extension.
    pub shader: &'static str,
    /// Parameters that all materials of this shader share.
    pub common: &'static [Setting],
    /// Parameters that distinguish it from the other materials of its shader.
    pub varied: &'static [Setting],
}

/// A parameter and its value, which applies to all components of a vector.
pub type Setting = (&'static str, f64);

impl Material {
    const fn new(
        shader: &'static str,
        common: &'static [Setting],
        varied: &'static [Setting],
    ) -> Material {
        Material { shader, common, varied }
    }

    /// Returns all parameters that the material sets.
    pub fn settings(&self) -> impl Iterator<Item = Setting> {
        self.common.iter().chain(self.varied).copied()
    }

    /// Returns the value of a parameter; `None` if the material does not set it.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.settings().find(|&(parameter, _)| parameter == name).map(|(_, value)| value)
    }

    /// Returns the display name: `ward, alpha_x 0.2, alpha_y 0.1`.
    pub fn title(&self) -> String {
        self.varied
            .iter()
            .fold(self.shader.to_owned(), |title, (name, value)| format!("{title}, {name} {value}"))
    }
}

/// Half-angles of cones, in degrees.
pub const HALF_ANGLES: [f64; 6] = [1.0, 2.0, 5.0, 10.0, 20.0, 45.0];

const DIFFUSE: &[Setting] = &[("kd", 1.0)];
const LOBE: &[Setting] = &[("kd", 0.0), ("ks", 1.0)];
const COATING: &[Setting] = &[("kd", 0.0), ("ks", 0.05)];

/// The materials.
pub const MATERIALS: [Material; 19] = [
    Material::new("diffuse", DIFFUSE, &[]),
    Material::new("phong", LOBE, &[("exponent", 10.0)]),
    Material::new("phong", LOBE, &[("exponent", 100.0)]),
    Material::new("phong", LOBE, &[("exponent", 1000.0)]),
    Material::new("phong", LOBE, &[("exponent", 10000.0)]),
    Material::new("isoward", LOBE, &[("alpha", 0.5)]),
    Material::new("isoward", LOBE, &[("alpha", 0.2)]),
    Material::new("isoward", LOBE, &[("alpha", 0.1)]),
    Material::new("isoward", LOBE, &[("alpha", 0.05)]),
    Material::new("isoward", LOBE, &[("alpha", 0.02)]),
    Material::new("ward", LOBE, &[("alpha_x", 0.5), ("alpha_y", 0.2)]),
    Material::new("ward", LOBE, &[("alpha_x", 0.2), ("alpha_y", 0.1)]),
    Material::new("ward", LOBE, &[("alpha_x", 0.2), ("alpha_y", 0.05)]),
    Material::new("ward", LOBE, &[("alpha_x", 0.05), ("alpha_y", 0.05)]),
    Material::new("ashikhmin", COATING, &[("n_u", 10.0), ("n_v", 10.0)]),
    Material::new("ashikhmin", COATING, &[("n_u", 100.0), ("n_v", 100.0)]),
    Material::new("ashikhmin", COATING, &[("n_u", 1000.0), ("n_v", 50.0)]),
    Material::new("ashikhmin", COATING, &[("n_u", 1000.0), ("n_v", 1000.0)]),
    Material::new("fractal", &[], &[]),
];

const GOLD: &[Setting] = &[("f0", 0.8)];

const PLASTIC: &[Setting] = &[("specular_roughness", 0.2236)];
const BRUSHED: &[Setting] = &[
    ("base_metalness", 1.0),
    ("specular_roughness", 0.4472),
    ("specular_roughness_anisotropy", 0.8),
];
const CAR_PAINT: &[Setting] = &[
    ("base_color", 0.3),
    ("base_metalness", 0.6),
    ("specular_roughness", 0.4472),
    ("coat_weight", 1.0),
    ("coat_roughness", 0.2236),
];
const VELVET: &[Setting] = &[
    ("base_color", 0.2),
    ("base_diffuse_roughness", 0.5),
    ("specular_weight", 0.0),
    ("fuzz_weight", 1.0),
    ("fuzz_roughness", 0.4),
];
const LACQUER: &[Setting] = &[
    ("base_color", 0.4),
    ("specular_roughness", 0.4472),
    ("coat_weight", 0.5),
    ("coat_roughness", 0.2236),
];
const RUBBER: &[Setting] = &[
    ("base_color", 0.1),
    ("base_diffuse_roughness", 0.6),
    ("specular_roughness", 0.707),
    ("specular_ior", 1.4),
];

/// Materials that are measured only if their shader is named: `ggx`, `layered` and `disney`, [which
/// are not in the library](crate::shaders), and looks of `openpbr`: plastic, brushed metal, car
/// paint, velvet, lacquered wood and rubber. Their isotropic lobes have the roughness of a `ggx`.
pub const OPTIONAL_MATERIALS: [Material; 14] = [
    Material::new("ggx", GOLD, &[("alpha", 0.5)]),
    Material::new("ggx", GOLD, &[("alpha", 0.2)]),
    Material::new("ggx", GOLD, &[("alpha", 0.05)]),
    Material::new("layered", &[], &[("base_metalness", 0.0)]),
    Material::new("layered", &[], &[("base_metalness", 1.0)]),
    Material::new("disney", &[], &[("metallic", 0.0)]),
    Material::new("disney", &[], &[("metallic", 1.0)]),
    Material::new("hair", &[], &[]),
    Material::new("openpbr", &[], PLASTIC),
    Material::new("openpbr", &[], BRUSHED),
    Material::new("openpbr", &[], CAR_PAINT),
    Material::new("openpbr", &[], VELVET),
    Material::new("openpbr", &[], LACQUER),
    Material::new("openpbr", &[], RUBBER),
];
