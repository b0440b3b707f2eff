//! Names from pbrt-v3 and their replacements in pbrt-v4.
//!
//! The two formats look so similar that an old file would render incorrectly rather than fail. Each
//! old name is therefore an error that gives its replacement. Source: pbrt-v4's `--upgrade`
//! conversion (src/pbrt/parser.cpp).

/// The category of a pbrt-v3 name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "names from the scene format")]
pub enum LegacyContext {
    Camera,
    Film,
    PixelFilter,
    Sampler,
    Integrator,
    Accelerator,
    Material,
    Texture,
    Light,
    AreaLight,
    Medium,
    Shape,
}

/// Returns the remedy for a pbrt-v3 directive.
pub fn directive(word: &str) -> Option<&'static str> {
    let remedy = match word {
        "WorldEnd" => "a pbrt-v4 scene ends at the end of its file: remove WorldEnd",
        "SurfaceIntegrator" | "VolumeIntegrator" => "write Integrator \"path\" or \"volpath\"",
        "Volume" => "write MakeNamedMedium and MediumInterface",
        "Renderer" | "SearchPath" => "pbrt-v4 has no such directive: remove it",
        _ => return None,
    };
    Some(remedy)
}

/// Returns the remedy for a pbrt-v3 type of material, film, and so on.
pub fn entity(context: LegacyContext, name: &str) -> Option<&'static str> {
    let remedy = match (context, name) {
        (LegacyContext::Material, "matte") => "write \"diffuse\", with \"reflectance\" for \"Kd\"",
        (LegacyContext::Material, "metal") => "write \"conductor\"",
        (LegacyContext::Material, "mirror") => {
            "write \"conductor\" with \"spectrum eta\" \"metal-Ag-eta\" and \"spectrum k\" \"metal-Ag-k\""
        }
        (LegacyContext::Material, "glass") => "write \"dielectric\", with \"eta\" for \"index\"",
        (LegacyContext::Material, "plastic" | "substrate" | "uber") => {
            "write \"coateddiffuse\", with \"reflectance\" for \"Kd\""
        }
        (LegacyContext::Material, "translucent") => {
            "write \"diffusetransmission\", with \"reflectance\" and \"transmittance\""
        }
        (LegacyContext::Material, "disney") => {
            "write \"diffuse\", \"coateddiffuse\" or \"conductor\", with \"reflectance\" for \"color\""
        }
        (LegacyContext::Material, "kdsubsurface") => {
            "write \"subsurface\", with \"reflectance\" for \"Kd\""
        }
        (LegacyContext::Material, "fourier") => "write \"measured\" with a file of measured data",
        (LegacyContext::Film, "image") => "write \"rgb\"",
        (LegacyContext::Sampler, "lowdiscrepancy" | "02sequence") => "write \"paddedsobol\"",
        (LegacyContext::Sampler, "maxmindist" | "bestcandidate" | "adaptive") => {
            "write \"pmj02bn\""
        }
        (LegacyContext::Sampler, "random") => "write \"independent\"",
        (LegacyContext::Integrator, "directlighting") => {
            "write \"path\" with \"integer maxdepth\" 1"
        }
        (LegacyContext::Integrator, "whitted") => "write \"simplepath\"",
        (LegacyContext::Integrator, "ao") => "write \"ambientocclusion\"",
        (LegacyContext::Camera, "environment") => {
            "write \"spherical\" with \"string mapping\" \"equirectangular\""
        }
        (LegacyContext::AreaLight, "area") => "write \"diffuse\"",
        (LegacyContext::Light, "exinfinite") => "write \"infinite\"",
        (LegacyContext::Medium, "heterogeneous") => "write \"uniformgrid\"",
        (
            LegacyContext::Shape,
            "cone" | "hyperboloid" | "paraboloid" | "heightfield" | "heightfield2" | "nurbs",
        ) => "pbrt-v4 has no such shape: write \"trianglemesh\" or \"plymesh\"",
        (LegacyContext::Texture, "uv") => {
            "pbrt-v4 has no such texture: write \"checkerboard\" or \"imagemap\""
        }
        _ => return None,
    };
    Some(remedy)
}

/// Returns the remedy for a pbrt-v3 parameter name.
pub fn param(context: LegacyContext, name: &str) -> Option<&'static str> {
    let remedy = match (context, name) {
        (LegacyContext::Material, "Kd" | "kd") => "write \"reflectance\"",
        (LegacyContext::Material, "Ks" | "ks") => {
            "pbrt-v4 describes the coat by \"eta\" and \"roughness\": remove it"
        }
        (LegacyContext::Material, "Kr" | "kr") => {
            "write \"reflectance\" of a \"conductor\"; a \"dielectric\" has none: remove it"
        }
        (LegacyContext::Material, "Kt" | "kt") => {
            "write \"transmittance\" of a \"diffusetransmission\"; a \"dielectric\" has none: remove it"
        }
        (LegacyContext::Material, "index") => "write \"eta\"",
        (LegacyContext::Material, "bumpmap") => "write \"displacement\"",
        (LegacyContext::Material, "opacity") => "set \"alpha\" on the shapes",
        (LegacyContext::Material, "namedmaterial1" | "namedmaterial2") => {
            "write \"string materials\" [ \"second\" \"first\" ]: pbrt-v4 takes them in reverse order"
        }
        (LegacyContext::Film, "maxsampleluminance") => "write \"maxcomponentvalue\"",
        (LegacyContext::Film, "scale") => "write \"float iso\" with 100 times the value",
        (LegacyContext::PixelFilter, "xwidth") => "write \"xradius\"",
        (LegacyContext::PixelFilter, "ywidth") => "write \"yradius\"",
        (LegacyContext::PixelFilter, "alpha") => "write \"float sigma\" with 1 / sqrt(2 alpha)",
        (LegacyContext::Integrator, "lightsamplestrategy") => {
            "write \"lightsampler\" (\"uniform\", \"power\" or \"bvh\")"
        }
        (LegacyContext::Integrator, "numiterations") => "set \"pixelsamples\" on the sampler",
        (LegacyContext::Light, "mapname") => "write \"filename\"",
        (LegacyContext::Shape, "st") => "write \"uv\"",
        (LegacyContext::Shape, "nlevels") => "write \"levels\"",
        (LegacyContext::Texture, "trilinear") => "write \"string filter\" \"trilinear\"",
        (LegacyContext::Texture, "gamma") => {
            "write \"string encoding\" with \"sRGB\", \"linear\" or \"gamma 2.2\""
        }
        _ => return None,
    };
    Some(remedy)
}

/// Returns the replacement for a pbrt-v3 parameter type, and whether its values remain valid.
pub fn param_type(name: &str) -> Option<(&'static str, bool)> {
    match name {
        "point" => Some(("point3", true)),
        "vector" => Some(("vector3", true)),
        "normal3" => Some(("normal", true)),
        "color" | "xyz" => Some(("rgb", false)),
        _ => None,
    }
}
