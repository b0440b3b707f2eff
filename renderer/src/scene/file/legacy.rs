//! Words of pbrt-v3 and what pbrt-v4 says instead.
//!
//! Files of the old format look much like new ones, and would render wrongly rather than not at
//! all; so each old word is an error that names its successor. The pairs follow pbrt-v4's own
//! `--upgrade` conversion (src/pbrt/parser.cpp).

/// What a word names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in the format")]
pub enum Place {
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

/// The remedy for an old directive.
pub fn directive(word: &str) -> Option<&'static str> {
    let advice = match word {
        "WorldEnd" => "a pbrt-v4 scene ends with its file: remove WorldEnd",
        "SurfaceIntegrator" | "VolumeIntegrator" => "write Integrator \"path\" or \"volpath\"",
        "Volume" => "write MakeNamedMedium and MediumInterface",
        "Renderer" | "SearchPath" => "pbrt-v4 has no such directive: remove it",
        _ => return None,
    };
    Some(advice)
}

/// The remedy for an old name of a kind of material, film, and so on.
pub fn entity(place: Place, name: &str) -> Option<&'static str> {
    let advice = match (place, name) {
        (Place::Material, "matte") => "write \"diffuse\", with \"reflectance\" for \"Kd\"",
        (Place::Material, "metal") => "write \"conductor\"",
        (Place::Material, "mirror") => {
            "write \"conductor\" with \"spectrum eta\" \"metal-Ag-eta\" and \"spectrum k\" \"metal-Ag-k\""
        }
        (Place::Material, "glass") => "write \"dielectric\", with \"eta\" for \"index\"",
        (Place::Material, "plastic" | "substrate" | "uber") => {
            "write \"coateddiffuse\", with \"reflectance\" for \"Kd\""
        }
        (Place::Material, "translucent") => {
            "write \"diffusetransmission\", with \"reflectance\" and \"transmittance\""
        }
        (Place::Material, "disney") => {
            "write \"diffuse\", \"coateddiffuse\" or \"conductor\", with \"reflectance\" for \"color\""
        }
        (Place::Material, "kdsubsurface") => {
            "write \"subsurface\", with \"reflectance\" for \"Kd\""
        }
        (Place::Material, "fourier") => "write \"measured\" with a file of that kind",
        (Place::Film, "image") => "write \"rgb\"",
        (Place::Sampler, "lowdiscrepancy" | "02sequence") => "write \"paddedsobol\"",
        (Place::Sampler, "maxmindist" | "bestcandidate" | "adaptive") => "write \"pmj02bn\"",
        (Place::Sampler, "random") => "write \"independent\"",
        (Place::Integrator, "directlighting") => "write \"path\" with \"integer maxdepth\" 1",
        (Place::Integrator, "whitted") => "write \"simplepath\"",
        (Place::Integrator, "ambientocclusion") => "write \"ao\"",
        (Place::Camera, "environment") => {
            "write \"spherical\" with \"string mapping\" \"equirectangular\""
        }
        (Place::AreaLight, "area") => "write \"diffuse\"",
        (Place::Light, "exinfinite") => "write \"infinite\"",
        (Place::Medium, "heterogeneous") => "write \"uniformgrid\"",
        (
            Place::Shape,
            "cone" | "hyperboloid" | "paraboloid" | "heightfield" | "heightfield2" | "nurbs",
        ) => "pbrt-v4 has no such shape: write \"trianglemesh\" or \"plymesh\"",
        (Place::Texture, "uv") => {
            "pbrt-v4 has no such texture: write \"checkerboard\" or \"imagemap\""
        }
        _ => return None,
    };
    Some(advice)
}

/// The remedy for an old name of a parameter.
pub fn param(place: Place, name: &str) -> Option<&'static str> {
    let advice = match (place, name) {
        (Place::Material, "Kd" | "kd") => "write \"reflectance\"",
        (Place::Material, "Ks" | "ks") => {
            "pbrt-v4 coats with \"eta\" and \"roughness\" instead: remove it"
        }
        (Place::Material, "Kr" | "kr") => {
            "write \"reflectance\" of a \"conductor\"; a \"dielectric\" has none: remove it"
        }
        (Place::Material, "Kt" | "kt") => {
            "write \"transmittance\" of a \"diffusetransmission\"; a \"dielectric\" has none: remove it"
        }
        (Place::Material, "index") => "write \"eta\"",
        (Place::Material, "bumpmap") => "write \"displacement\"",
        (Place::Material, "opacity") => "write \"alpha\" at the shapes",
        (Place::Material, "namedmaterial1" | "namedmaterial2") => {
            "write \"string materials\" [ \"second\" \"first\" ]: pbrt-v4 has them in reverse order"
        }
        (Place::Film, "maxsampleluminance") => "write \"maxcomponentvalue\"",
        (Place::Film, "scale") => "write \"float iso\" with 100 times the value",
        (Place::PixelFilter, "xwidth") => "write \"xradius\"",
        (Place::PixelFilter, "ywidth") => "write \"yradius\"",
        (Place::PixelFilter, "alpha") => "write \"float sigma\" with 1 / sqrt(2 alpha)",
        (Place::Integrator, "lightsamplestrategy") => {
            "write \"lightsampler\" (\"uniform\", \"power\" or \"bvh\")"
        }
        (Place::Integrator, "numiterations") => "write \"pixelsamples\" at the sampler",
        (Place::Light, "mapname") => "write \"filename\"",
        (Place::Shape, "st") => "write \"uv\"",
        (Place::Shape, "nlevels") => "write \"levels\"",
        (Place::Texture, "trilinear") => "write \"string filter\" \"trilinear\"",
        (Place::Texture, "gamma") => {
            "write \"string encoding\" with \"sRGB\", \"linear\" or \"gamma 2.2\""
        }
        _ => return None,
    };
    Some(advice)
}

/// The new word for an old type of a parameter, and whether the values mean the same.
pub fn param_type(word: &str) -> Option<(&'static str, bool)> {
    match word {
        "point" => Some(("point3", true)),
        "vector" => Some(("vector3", true)),
        "normal3" => Some(("normal", true)),
        "color" | "xyz" => Some(("rgb", false)),
        _ => None,
    }
}
