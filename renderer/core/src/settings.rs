//! How to render a [`Scene`](crate::Scene): resolution, samples, and the integrator with its
//! settings.
//!
//! Enumerated settings have the names that scene files and command-line options use. Lightcuts are
//! from Walter et al. 2005, their stochastic mode from Yuksel 2019.

use crate::choice::choice;
use crate::filter::Filter;
use glam::Mat3;
use lightbound_image::Window;
use lightbound_math::Vec3;
use lightbound_math::sampling::SamplerKind;
use lightbound_math::spectrum::Primaries;

/// How to render a scene. The default is a path tracer with 16 samples per pixel.
#[derive(Clone, Debug)]
pub struct RenderSettings {
    /// Width and height of the full image, pixels.
    pub resolution: (u32, u32),
    /// The pixels to render, within the full image.
    pub window: Window,
    /// Factor on radiance: exposure time × ISO / 100, as in pbrt-v4.
    pub gain: f32,
    /// White balance, as a matrix on light in linear sRGB; `None` without.
    pub white_balance: Option<Mat3>,
    /// Space of the layers of positions and normals.
    pub feature_space: FeatureSpace,
    /// Colour space of the image. Light is computed in linear sRGB and converted by the film.
    pub colour_space: ColourSpace,
    /// Pixel reconstruction filter.
    pub filter: Filter,
    /// Type and number of sample points.
    pub sampling: SamplingSettings,
    /// The integrator.
    pub integrator: IntegratorSettings,
}

impl RenderSettings {
    /// Returns the default settings for an image of this size.
    pub fn with_resolution(width: u32, height: u32) -> RenderSettings {
        RenderSettings {
            resolution: (width, height),
            window: Window { x0: 0, y0: 0, x1: width, y1: height },
            ..RenderSettings::default()
        }
    }
}

impl Default for RenderSettings {
    /// 1280 × 720 pixels with pbrt-v4's default Gaussian filter.
    fn default() -> RenderSettings {
        RenderSettings {
            resolution: (1280, 720),
            window: Window { x0: 0, y0: 0, x1: 1280, y1: 720 },
            gain: 1.0,
            white_balance: None,
            feature_space: FeatureSpace::default(),
            colour_space: ColourSpace::default(),
            filter: Filter::default(),
            sampling: SamplingSettings::default(),
            integrator: IntegratorSettings::default(),
        }
    }
}

/// Sample points of a rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplingSettings {
    /// Type of sample sequence.
    pub kind: SamplerKind,
    /// Number of samples per pixel.
    pub spp: u32,
    /// Seed of the sequence. The same seed gives bit-identical images.
    pub seed: u32,
}

impl Default for SamplingSettings {
    /// 16 Sobol' points per pixel.
    fn default() -> SamplingSettings {
        SamplingSettings { kind: SamplerKind::Sobol, spp: 16, seed: 0 }
    }
}

/// The integrator and its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntegratorSettings {
    /// Maximum number of scattering events on a path; 1 is direct light only.
    pub max_depth: u32,
    /// The falloff of light at the shadow terminator.
    pub shadow_terminator: ShadowTerminator,
    /// The algorithm.
    pub method: Method,
}

impl IntegratorSettings {
    /// Returns the number of consecutive samples of a pixel that are rendered together.
    pub fn sample_group(&self) -> u32 {
        match &self.method {
            Method::Lightcuts(settings) => settings.gather,
            Method::Path(_) | Method::AmbientOcclusion(_) => 1,
        }
    }
}

impl Default for IntegratorSettings {
    /// Path tracing with up to five scattering events.
    fn default() -> IntegratorSettings {
        IntegratorSettings {
            max_depth: 5,
            shadow_terminator: ShadowTerminator::default(),
            method: Method::Path(PathSettings::default()),
        }
    }
}

/// An integrator with its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Path tracing.
    Path(PathSettings),
    /// Direct light by cuts through light trees.
    Lightcuts(LightcutsSettings),
    /// Ambient occlusion.
    AmbientOcclusion(AmbientOcclusionSettings),
}

impl Method {
    /// Returns the name of the integrator. The path tracer is `path`, whether the scene has media or
    /// not.
    pub fn name(&self) -> MethodName {
        match self {
            Method::Path(_) => MethodName::Path,
            Method::Lightcuts(_) => MethodName::Lightcuts,
            Method::AmbientOcclusion(_) => MethodName::AmbientOcclusion,
        }
    }
}

/// Settings of the path tracer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathSettings {
    /// How a light is selected at a shading point.
    pub light_sampling: LightSampling,
    /// How a direction is sampled at a surface.
    pub bsdf_sampling: BsdfSampling,
    /// Whether paths are guided.
    pub guiding: Guiding,
}

/// Settings of ambient occlusion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AmbientOcclusionSettings {
    /// Whether directions are sampled in proportion to the cosine, instead of uniformly.
    pub cosine_sampling: bool,
    /// Distance up to which surfaces occlude; may be infinite.
    pub max_distance: f32,
}

impl Default for AmbientOcclusionSettings {
    /// Cosine sampling, and occlusion at any distance.
    fn default() -> AmbientOcclusionSettings {
        AmbientOcclusionSettings { cosine_sampling: true, max_distance: f32::INFINITY }
    }
}

/// Settings of lightcuts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LightcutsSettings {
    /// How clusters are selected for a shading point.
    pub cut: Cut,
    /// How bounds on materials are computed.
    pub bounds: BoundMode,
    /// Whether each computed bound is checked against the light that it bounds.
    pub check_bounds: bool,
    /// Number of consecutive samples of a pixel that share a cut, a power of two up to
    /// [`Self::MAX_GATHER`]; 1 computes a cut for each shading point.
    pub gather: u32,
    /// Approximate number of points that represent all area lights; each light has at least one.
    pub area_points: u32,
    /// Approximate number of directions that represent all environment lights; each light has at
    /// least one.
    pub environment_points: u32,
    /// Indirect light; `None` for direct light only.
    pub virtual_lights: Option<VirtualLightSettings>,
    /// Whether paths from the camera continue at glossy surfaces, with sampled directions.
    pub glossy_paths: bool,
}

/// Settings of virtual lights, which are the indirect light of lightcuts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VirtualLightSettings {
    /// Number of paths from the lights, at least 1. A path leaves a virtual light at each surface
    /// that it hits, and where a medium scatters it.
    pub paths: u32,
    /// Distance in scene units below which the light of a virtual light does not increase; positive.
    /// `None` selects one by the number of virtual lights.
    pub clamp_distance: Option<f32>,
    /// Whether rays compensate for the light that clamping takes away.
    pub compensation: bool,
}

impl LightcutsSettings {
    /// Maximum number of points or directions. Trees of this size take some gigabytes.
    pub const MAX_POINTS: u32 = 1 << 24;

    /// Maximum number of samples that share a cut. A thread holds those of a tile at a time.
    pub const MAX_GATHER: u32 = 256;

    /// Returns whether `samples` can be the number of samples that share a cut.
    pub fn allows_gather(samples: u32) -> bool {
        samples.is_power_of_two() && samples <= Self::MAX_GATHER
    }
}

impl Default for LightcutsSettings {
    /// Deterministic cuts in which no cluster has an error above 2 %.
    fn default() -> LightcutsSettings {
        LightcutsSettings {
            cut: Cut::Deterministic { error: 0.02, error_mode: ErrorMode::Cluster, max_cut: 1000 },
            bounds: BoundMode::Related,
            check_bounds: false,
            gather: 1,
            area_points: 1024,
            environment_points: 1024,
            virtual_lights: None,
            glossy_paths: false,
        }
    }
}

/// How lightcuts select the clusters of a cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cut {
    /// Clusters are refined until the error is small. The representative of a cluster is the same
    /// for all shading points.
    Deterministic {
        /// Maximum error bound relative to the estimate; at least 0.
        error: f32,
        /// The error that `error` limits.
        error_mode: ErrorMode,
        /// Maximum number of clusters in a cut, at least 1. Refinement stops there whatever the
        /// error. The children of the roots, up to 24, are always in the cut.
        max_cut: u32,
    },
    /// The cut has a fixed size and random representatives. The image is unbiased.
    Stochastic {
        /// Number of clusters in a cut, at least 1.
        size: u32,
    },
}

impl Cut {
    /// Returns the mode.
    pub fn mode(&self) -> CutMode {
        match self {
            Cut::Deterministic { .. } => CutMode::Deterministic,
            Cut::Stochastic { .. } => CutMode::Stochastic,
        }
    }
}

choice! {
    /// Integrators by name.
    MethodName: Path {
        Path = "path": "Path tracing: global illumination, without participating media",
        Volpath = "volpath": "Path tracing: global illumination, with participating media",
        Lightcuts = "lightcuts":
            "Direct light of many lights, and indirect light with light paths, by clusters with \
             bounded errors",
        AmbientOcclusion = "ambientocclusion":
            "How much of the hemisphere above each surface is open, without materials and lights",
    }
}
choice! {
    /// The falloff of light where shading normals differ from the surface.
    ShadowTerminator: Hard {
        Hard = "hard": "At the surface's horizon, abruptly, as in pbrt-v4",
        Soft = "soft":
            "Smoothly towards the surface's horizon, for all materials but mirrors and smooth glass \
             (Chiang et al. 2019)",
    }
}
choice! {
    /// Spaces of the layers of positions and normals.
    FeatureSpace: World {
        World = "world": "World space",
        Camera = "camera": "x to the right, y up, z into the image, with the camera at the origin",
    }
}
choice! {
    /// Linear RGB colour spaces.
    ColourSpace: Srgb {
        Srgb = "srgb": "sRGB, BT.709",
        DciP3 = "dci-p3": "P3 with the white D65",
        Rec2020 = "rec2020": "BT.2020",
        Aces2065 = "aces2065-1": "ACES 2065-1: primaries AP0, white near D60",
        AcesCg = "acescg": "ACEScg: primaries AP1, white near D60",
    }
}

impl ColourSpace {
    /// Returns the primaries and the white.
    pub fn primaries(self) -> Primaries {
        match self {
            ColourSpace::Srgb => Primaries::SRGB,
            ColourSpace::DciP3 => Primaries::DCI_P3,
            ColourSpace::Rec2020 => Primaries::REC_2020,
            ColourSpace::Aces2065 => Primaries::ACES_2065_1,
            ColourSpace::AcesCg => Primaries::ACES_CG,
        }
    }

    /// Returns the matrix that converts light from linear sRGB; `None` for sRGB itself.
    pub fn light_from_srgb(self) -> Option<Mat3> {
        self.converts().then(|| matrix(Primaries::SRGB.light_to(&self.primaries())))
    }

    /// Returns the matrix that converts light to linear sRGB; `None` for sRGB itself.
    pub fn light_to_srgb(self) -> Option<Mat3> {
        self.converts().then(|| matrix(self.primaries().light_to(&Primaries::SRGB)))
    }

    /// Converts light to linear sRGB.
    pub fn to_srgb(self, light: Vec<[f32; 3]>) -> Vec<[f32; 3]> {
        match self.light_to_srgb() {
            None => light,
            Some(matrix) => {
                light.into_iter().map(|rgb| (matrix * Vec3::from(rgb)).into()).collect()
            }
        }
    }

    /// Returns the matrix that converts reflectances from linear sRGB; `None` for sRGB itself.
    pub fn reflectance_from_srgb(self) -> Option<Mat3> {
        self.converts().then(|| matrix(Primaries::SRGB.reflectance_to(&self.primaries())))
    }

    /// Returns the matrix that converts reflectances to linear sRGB; `None` for sRGB itself.
    pub fn reflectance_to_srgb(self) -> Option<Mat3> {
        self.converts().then(|| matrix(self.primaries().reflectance_to(&Primaries::SRGB)))
    }

    fn converts(self) -> bool {
        self != ColourSpace::Srgb
    }
}

/// Rounds a matrix between two of the colour spaces, which always exists.
fn matrix(exact: Option<glam::DMat3>) -> Mat3 {
    exact.expect("the primaries of the colour spaces are not collinear").as_mat3()
}

choice! {
    /// How the path tracer selects a light at a shading point.
    LightSampling: Auto {
        Auto = "auto":
            "`tree`; `power` if the scene has only one emitter; `material-tree` if it has 32 lights \
             or more, and training finds that this pays (see --guiding)",
        Uniform = "uniform": "With equal probabilities",
        Power = "power": "Proportional to power",
        Tree = "tree":
            "By a light tree: power, distance, and cosines at lights and surface (Conty Estévez & \
             Kulla 2018)",
        MaterialTree = "material-tree":
            "By the light tree, including compiled bounds on the material",
    }
}
choice! {
    /// How the path tracer samples directions at a surface.
    BsdfSampling: Shader {
        Shader = "shader": "By the shader's `sample` function if it has one, else as `bounds`",
        Bounds = "bounds":
            "From compiled bounds on `brdf`, for all shaders (Clarberg et al. 2010 §6.2)",
        Cosine = "cosine": "Proportional to the cosine",
    }
}
choice! {
    /// Whether the path tracer guides paths to where training paths found light.
    Guiding: Auto {
        Auto = "auto": "If training paths find that it reduces noise",
        On = "on": "Always",
        Off = "off": "Never, and without training",
    }
}
choice! {
    /// The error that lightcuts limit.
    ErrorMode: Cluster {
        Cluster = "cluster": "The error of each cluster (Walter et al. 2005)",
        Total = "total": "The sum over all clusters, which bounds the total error",
    }
}
choice! {
    /// How lightcuts select the representatives of clusters.
    CutMode: Deterministic {
        Deterministic = "deterministic":
            "Once, near the centroid; cuts are refined until the error is below the limit",
        Stochastic = "stochastic":
            "At random for each sample; cuts have a fixed size, and the image is unbiased (Yuksel \
             2019)",
    }
}
choice! {
    /// How bounds on materials are computed.
    BoundMode: Related {
        Naive = "naive": "The general case of each interval operation",
        Optimized = "optimized":
            "The cheapest case of each operation that static analysis allows; the same bounds",
        Related = "related": "As `optimized`, with relations between values: tighter bounds",
        Hand = "hand":
            "Hand-derived, for the shaders diffuse, phong, isoward and ward",
    }
}
