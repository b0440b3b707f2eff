//! Settings of integrators: what scene files and the command line say about how light gets into the
//! picture.
//!
//! Names of values are those that files and options have. Lightcuts: Walter et al. 2005; its
//! stochastic mode: Yuksel 2019.

use clap::ValueEnum;

/// How light gets into the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntegratorSettings {
    /// Most scattering events on a path; 1 is direct light only.
    pub max_depth: u32,
    /// The integrator.
    pub method: Method,
}

/// An integrator, with what is its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Path tracing.
    Path(PathSettings),
    /// Direct light by cuts through trees of lights.
    Lightcuts(LightcutsSettings),
}

impl Method {
    /// Which one it is.
    pub fn name(&self) -> MethodName {
        match self {
            Method::Path(_) => MethodName::Path,
            Method::Lightcuts(_) => MethodName::Lightcuts,
        }
    }
}

/// Settings of the path tracer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathSettings {
    /// How a light is chosen at a point.
    pub light_sampling: LightSampling,
    /// How a direction is drawn at a surface.
    pub bsdf_sampling: BsdfSampling,
    /// How light of a sky is drawn.
    pub sky_sampling: SkySampling,
}

/// Settings of lightcuts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LightcutsSettings {
    /// How clusters are chosen for a point that is shaded.
    pub cut: Cut,
    /// How bounds of materials are compiled.
    pub bounds: BoundMode,
    /// Whether every bound is held against what it bounds.
    pub check_bounds: bool,
    /// About how many points stand for all area lights together; each has one at least.
    pub area_points: u32,
    /// About how many directions stand for all environments together; each has one at least.
    pub sky_points: u32,
}

impl LightcutsSettings {
    /// As many points or directions as can be asked for: some gigabytes of trees.
    pub const MAX_POINTS: u32 = 1 << 24;
}

/// Where a cut ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cut {
    /// Where it is good enough. The representatives of clusters are the same for all points.
    Deterministic {
        /// Share of the estimate that the error's bound may have; 0 and above.
        error: f32,
        /// What the bound is of.
        error_mode: ErrorMode,
        /// Most clusters of a cut, at least 1; a cut ends there whatever its error. Children of the
        /// roots, up to 24, are always in it.
        max_cut: u32,
    },
    /// At a number of clusters, whose representatives are drawn at random: unbiased.
    Stochastic {
        /// Clusters of a cut, at least 1.
        size: u32,
    },
}

impl Cut {
    /// Which of the two it is.
    pub fn mode(&self) -> CutMode {
        match self {
            Cut::Deterministic { .. } => CutMode::Deterministic,
            Cut::Stochastic { .. } => CutMode::Stochastic,
        }
    }
}

/// Defines words that files and options have for a setting.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
        pub enum $name { $($(#[$variant_doc])* #[value(name = $word)] $variant),* }

        impl $name {
            /// All words, in order.
            pub const WORDS: &[&str] = &[$($word),*];

            /// The word for it.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }
        }
    };
}

words! {
    /// Integrators by name.
    MethodName {
        /// Path tracing: light over any number of bounces
        #[default]
        Path = "path",
        /// Direct light of many lights, by clusters with bounded errors
        Lightcuts = "lightcuts",
    }
}
words! {
    /// How the path tracer chooses a light at a point.
    LightSampling {
        /// By the tree, but by power where one thing alone shines
        #[default]
        Auto = "auto",
        /// All lights alike
        Uniform = "uniform",
        /// By their power
        Power = "power",
        /// By a tree of lights: power, distance, and angles to lamps and surface (Conty Estévez &
        /// Kulla 2018)
        Tree = "tree",
        /// By the tree and compiled bounds of the material
        MaterialTree = "material-tree",
    }
}
words! {
    /// How the path tracer draws directions at a surface.
    BsdfSampling {
        /// By the shader's own `sample`, where it has one, else as by bounds
        #[default]
        Shader = "shader",
        /// From compiled bounds of `brdf`, for all shaders (Clarberg et al. 2010 §6.2)
        Bounds = "bounds",
        /// By the cosine
        Cosine = "cosine",
    }
}
words! {
    /// How the path tracer draws light of a sky that is an image.
    SkySampling {
        /// By its radiance
        #[default]
        Map = "map",
        /// By its radiance times the BRDF, from compiled bounds of it (Clarberg &
        /// Akenine-Möller 2008)
        Product = "product",
    }
}
words! {
    /// What an error bound is of.
    ErrorMode {
        /// The error of each cluster (Walter et al. 2005)
        #[default]
        Cluster = "cluster",
        /// The sum over all clusters, so that the whole error is below the limit
        Total = "total",
    }
}
words! {
    /// How representatives of clusters are chosen.
    CutMode {
        /// Once for all, near the centroid; cuts end where the error is below the limit
        #[default]
        Deterministic = "deterministic",
        /// Anew for each sample; cuts have a fixed size, and the picture is unbiased (Yuksel 2019)
        Stochastic = "stochastic",
    }
}
words! {
    /// How bounds of materials are compiled.
    BoundMode {
        /// The general case of each operation
        Naive = "naive",
        /// The cheapest case of each operation that what is known of values allows; the same bounds
        Optimized = "optimized",
        /// The same, with what relations between values tell: tighter bounds
        #[default]
        Related = "related",
        /// Written by hand, for the shaders that have one: diffuse, phong, isoward and ward
        Hand = "hand",
    }
}
