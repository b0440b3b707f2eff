//! The table of supported parameters, `docs/pbrt-support.md`, and its test.
//!
//! [`PARAMETERS`] lists the types of pbrt-v4 with their parameters. For each, a scene is loaded
//! that uses it: what causes no warning is supported, and for the rest, the table has the fall-back
//! that the warning names. So the table says what the loader does. The test also compares the names
//! that the loader looks up with the list, so that a parameter cannot be added without it.
//!
//!     LIGHTBOUND_UPDATE=1 cargo test -p lightbound-pbrt --lib support

use super::{Overrides, build_scene};
use crate::describe::{Description, describe};
use crate::diagnostics::{Diagnostics, Source};
use crate::file::parse::{DIRECTIVES, Entity};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

/// Sections of directives, and in each the types with their parameters, separated by semicolons.
/// Parameters with `!` are necessary; what follows `~` says that a parameter is accepted without an
/// effect; `+` marks extensions to pbrt-v4.
const PARAMETERS: &str = r#"
[Camera]
perspective: "float fov" 40; "float lensradius" 0.1; "float focaldistance" 5; "float frameaspectratio" 2; "float screenwindow" [-2 2 -1 1]; "float shutteropen" 0; "float shutterclose" 2
orthographic: "float lensradius" 0.1; "float focaldistance" 5; "float frameaspectratio" 2; "float screenwindow" [-2 2 -1 1]; "float shutteropen" 0; "float shutterclose" 2
spherical: "string mapping" "equirectangular"; "float shutteropen" 0; "float shutterclose" 2; "float lensradius" 0.1 ~ as in pbrt-v4; "float focaldistance" 5 ~ as in pbrt-v4; "float frameaspectratio" 2 ~ as in pbrt-v4; "float screenwindow" [-2 2 -1 1] ~ as in pbrt-v4
realistic: !"string lensfile" "lens.dat"; "float aperturediameter" 8; "float focusdistance" 5; "string aperture" "pentagon"; "float shutteropen" 0; "float shutterclose" 2
[Film]
rgb: "string filename" "a.exr"; "integer xresolution" 20; "integer yresolution" 10; "float cropwindow" [0 1 0 1]; "integer pixelbounds" [0 4 0 4]; "float diagonal" 30; "float iso" 200; "string sensor" "canon_eos_5d_mkiv"; "float whitebalance" 5000; "float maxcomponentvalue" 10; "bool savefp16" false ~ images have 32-bit floats
gbuffer: "string filename" "a.exr"; "integer xresolution" 20; "integer yresolution" 10; "float cropwindow" [0 1 0 1]; "integer pixelbounds" [0 4 0 4]; "float diagonal" 30; "float iso" 200; "string sensor" "canon_eos_5d_mkiv"; "float whitebalance" 5000; "float maxcomponentvalue" 10; "string coordinatesystem" "world"; "string coordinatesystem" "camera"; "bool savefp16" false ~ images have 32-bit floats
spectral: "string filename" "a.exr"; "integer xresolution" 20; "integer yresolution" 10; "float cropwindow" [0 1 0 1]; "integer pixelbounds" [0 4 0 4]; "float diagonal" 30; "float iso" 200; "string sensor" "canon_eos_5d_mkiv"; "float whitebalance" 5000; "float maxcomponentvalue" 10; "bool savefp16" false ~ images have 32-bit floats; "integer nbuckets" 8 ~ there is no spectral film; "float lambdamin" 400 ~ there is no spectral film; "float lambdamax" 700 ~ there is no spectral film
[PixelFilter]
box: "float xradius" 1; "float yradius" 1
triangle: "float xradius" 1; "float yradius" 1
gaussian: "float xradius" 1; "float yradius" 1; "float sigma" 0.4
mitchell: "float xradius" 1; "float yradius" 1; "float B" 0.3; "float C" 0.3
sinc: "float xradius" 1; "float yradius" 1; "float tau" 2
[Sampler]
halton: "integer pixelsamples" 2; "integer seed" 3; "string randomization" "none" ~ always Owen scrambling
paddedsobol: "integer pixelsamples" 2; "integer seed" 3; "string randomization" "none" ~ always Owen scrambling
zsobol: "integer pixelsamples" 2; "integer seed" 3; "string randomization" "none" ~ always Owen scrambling
pmj02bn: "integer pixelsamples" 2; "integer seed" 3
independent: "integer pixelsamples" 2; "integer seed" 3
sobol: "integer pixelsamples" 2; "integer seed" 3; "string randomization" "none" ~ always Owen scrambling
stratified: "integer xsamples" 2; "integer ysamples" 2; "integer seed" 3; "bool jitter" false ~ always Owen-scrambled Sobol' points
[Integrator]
path: "integer maxdepth" 3; "string lightsampler" "power"; "string lightsampler" "exhaustive"; "bool regularize" true; +"string lightsampling" "tree"; +"string bsdfsampling" "bounds"; +"string guiding" "off"; +"string shadowterminator" "soft"
volpath: "integer maxdepth" 3; "string lightsampler" "power"; "bool regularize" true; +"string lightsampling" "tree"; +"string bsdfsampling" "bounds"; +"string guiding" "off"; +"string shadowterminator" "soft"
simplepath:
simplevolpath: "integer maxdepth" 3; +"string lightsampler" "power"; +"string lightsampling" "tree"; +"string bsdfsampling" "bounds"; +"string guiding" "off"; +"string shadowterminator" "soft"
lightpath:
bdpt:
mlt:
sppm:
ambientocclusion: "bool cossample" false; "float maxdistance" 2
randomwalk:
function:
+lightcuts: +"integer maxdepth" 3; +"float error" 0.1; +"string errormode" "total"; +"integer maxcut" 9; +"string mode" "stochastic"; +"integer cutsize" 9; +"integer gather" 2; +"integer areapoints" 9; +"integer skypoints" 9; +"integer lightpaths" 9; +"float clampdistance" 0.1; +"bool compensation" false; +"bool glossypaths" true; +"string shadowterminator" "soft"
[Accelerator]
bvh: "string splitmethod" "hlbvh" ~ --accel selects the structure; "integer maxnodeprims" 4 ~ --accel selects the structure
kdtree: "integer intersectcost" 5 ~ --accel selects the structure; "integer traversalcost" 1 ~ --accel selects the structure; "float emptybonus" 0.5 ~ --accel selects the structure; "integer maxprims" 1 ~ --accel selects the structure; "integer maxdepth" 9 ~ --accel selects the structure
[LightSource]
point: "rgb I" [1 1 1]; "point3 from" [0 0 1]; "float scale" 2; "float power" 5; +"string lightgroup" "key"
spot: "rgb I" [1 1 1]; "point3 from" [0 0 3]; "point3 to" [0 0 2]; "float coneangle" 20; "float conedeltaangle" 3; "float scale" 2; "float power" 5; +"string lightgroup" "key"
goniometric: !"string filename" "square.pfm"; "rgb I" [1 1 1]; "float scale" 2; "float power" 5; +"string lightgroup" "key"
projection: !"string filename" "square.pfm"; "float fov" 40; "float scale" 2; "float power" 5; +"string lightgroup" "key"
distant: "rgb L" [1 1 1]; "point3 from" [0 0 0]; "point3 to" [0 0 2]; "float scale" 2; "float illuminance" 5; +"string lightgroup" "key"
infinite: "rgb L" [1 1 1]; "string filename" "square.pfm"; "float scale" 2; "float illuminance" 5; "point3 portal" [0 0 0 1 0 0 1 1 0 0 1 0]; +"string lightgroup" "key"
+sky: +"float turbidity" 4; +"float elevation" 20; +"float azimuth" 10; +"bool sun" false; +"float scale" 0.1; +"string lightgroup" "key"
[AreaLightSource]
diffuse: "rgb L" [1 1 1]; "string filename" "square.pfm"; "bool twosided" true; "float scale" 2; "float power" 5; +"string attribute" "wear"; +"string lightgroup" "key"
[Shape]
sphere: "float radius" 2; "float zmin" -0.5; "float zmax" 0.5; "float phimax" 300; "texture alpha" "f"; +"string name" "rock"
disk: "float height" 2; "float radius" 2; "float innerradius" 0.5; "float phimax" 300; "texture alpha" "f"; +"string name" "rock"
cylinder: "float radius" 2; "float zmin" -0.5; "float zmax" 0.5; "float phimax" 300; "texture alpha" "f"; +"string name" "rock"
trianglemesh: !"point3 P" [0 0 0 1 0 0 0 1 0]; "integer indices" [0 1 2]; "normal N" [0 0 1 0 0 1 0 0 1]; "vector3 S" [1 0 0 1 0 0 1 0 0]; "point2 uv" [0 0 1 0 0 1]; "texture alpha" "f"; "integer faceIndices" [0] ~ for ptex only; +"string displacement" "bumps.wgsl"; +"float edgelength" 2 "string displacement" "bumps.wgsl"; +"point3 P1" [0 0 1 1 0 0 0 1 0]; +"normal N1" [0 0 1 0 0 1 0 0 1] "point3 P1" [0 0 1 1 0 0 0 1 0] "normal N" [0 0 1 0 0 1 0 0 1]; +"string name" "rock"; +"float vertex_wear" [0 0.5 1]
bilinearmesh: !"point3 P" [0 0 0 1 0 0 0 1 0 1 1 0]; "integer indices" [0 1 2 3]; "normal N" [0 0 1 0 0 1 0 0 1 0 0 1]; "point2 uv" [0 0 1 0 0 1 1 1]; "string emissionfilename" "square.pfm" ~ lights on patches are sampled by their image; "texture alpha" "f"; "integer faceIndices" [0] ~ for ptex only; +"string displacement" "bumps.wgsl"; +"float edgelength" 2 "string displacement" "bumps.wgsl"; +"point3 P1" [0 0 1 1 0 0 0 1 0 1 1 0]; +"normal N1" [0 0 1 0 0 1 0 0 1 0 0 1] "point3 P1" [0 0 1 1 0 0 0 1 0 1 1 0] "normal N" [0 0 1 0 0 1 0 0 1 0 0 1]; +"string name" "rock"
loopsubdiv: !"point3 P" [0 0 0 1 0 0 0 1 0]; "integer indices" [0 1 2]; "integer levels" 2; "texture alpha" "f"; "string scheme" "loop" ~ there is one scheme; +"string displacement" "bumps.wgsl"; +"float edgelength" 2 "string displacement" "bumps.wgsl"; +"string name" "rock"
plymesh: !"string filename" "mesh.ply"; "texture displacement" "f"; "texture alpha" "f"; "float edgelength" 2; +"string filename1" "mesh.ply"; +"string name" "rock"
curve: !"point3 P" [0 0 0 1 0 0 1 1 0 2 1 0]; "string type" "cylinder"; "string basis" "bspline"; "integer degree" 3; "float width" 0.5; "float width0" 0.5; "float width1" 0.5; "normal N" [0 0 1 0 1 0] "string type" "ribbon"; "integer splitdepth" 2; "texture alpha" "f"; +"string name" "rock"
+implicit: !+"string filename" "ball.wgsl"; +"point3 p0" [-2 -2 -2]; +"point3 p1" [2 2 2]; +"texture alpha" "f"; +"string name" "rock"
[Material]
diffuse: "rgb reflectance" [0.1 0.2 0.3]; "string normalmap" "square.pfm"; "texture displacement" "f"
conductor: "spectrum eta" "metal-Au-eta"; "spectrum k" "metal-Au-k"; "rgb reflectance" [0.1 0.2 0.3]; "float roughness" 0.1; "float uroughness" 0.1; "float vroughness" 0.1; "bool remaproughness" false; "string normalmap" "square.pfm"; "texture displacement" "f"
dielectric: "float eta" 1.4; "float roughness" 0.1; "float uroughness" 0.1; "float vroughness" 0.1; "bool remaproughness" false; "string normalmap" "square.pfm"; "texture displacement" "f"
thindielectric: "float eta" 1.4; "string normalmap" "square.pfm"; "texture displacement" "f"
diffusetransmission: "rgb reflectance" [0.1 0.2 0.3]; "rgb transmittance" [0.1 0.2 0.3]; "float scale" 0.5; "string normalmap" "square.pfm"; "texture displacement" "f"
coateddiffuse: "rgb reflectance" [0.1 0.2 0.3]; "float eta" 1.4; "float roughness" 0.1; "float uroughness" 0.1; "float vroughness" 0.1; "float thickness" 0.1; "float g" 0.1; "rgb albedo" [0.1 0.2 0.3]; "bool remaproughness" false; "integer maxdepth" 5; "integer nsamples" 2 ~ the closed form has no noise; "string normalmap" "square.pfm"; "texture displacement" "f"
coatedconductor: "float interface.roughness" 0.1; "float interface.uroughness" 0.1; "float interface.vroughness" 0.1; "float interface.eta" 1.4; "spectrum conductor.eta" "metal-Au-eta"; "spectrum conductor.k" "metal-Au-k"; "rgb reflectance" [0.1 0.2 0.3]; "float conductor.roughness" 0.1; "float conductor.uroughness" 0.1; "float conductor.vroughness" 0.1; "float thickness" 0.1; "float g" 0.1; "rgb albedo" [0.1 0.2 0.3]; "bool remaproughness" false; "integer maxdepth" 5; "integer nsamples" 2 ~ the closed form has no noise; "string normalmap" "square.pfm"; "texture displacement" "f"
mix: !"string materials" ["a" "b"]; "float amount" 0.3
interface:
hair: +"rgb color" [0.1 0.2 0.3]; "spectrum sigma_a" [300 0.1 700 0.5]; "rgb reflectance" [0.1 0.2 0.3]; "float eumelanin" 0.5; "float pheomelanin" 0.5; "float eta" 1.5; "float beta_m" 0.2; "float beta_n" 0.2; "float alpha" 1; "string normalmap" "square.pfm"; "texture displacement" "f"
measured: !"string filename" "bronze.bsdf"; "string normalmap" "square.pfm"; "texture displacement" "f"
subsurface: "rgb sigma_a" [1 2 3] "rgb sigma_s" [1 2 3]; "rgb sigma_s" [1 2 3] "rgb sigma_a" [1 2 3]; "string name" "Skin1"; "rgb reflectance" [0.1 0.2 0.3]; "rgb mfp" [1 2 3] "rgb reflectance" [0.1 0.2 0.3]; "float scale" 2; "float g" 0.3; "float eta" 1.4; "float roughness" 0.1; "float uroughness" 0.1; "float vroughness" 0.1; "bool remaproughness" false; "string normalmap" "square.pfm"; "texture displacement" "f"
+shader: !+"string filename" "diffuse"
+materialx: !+"string filename" "grey.mtlx"; +"string material" "grey"
[Texture float]
constant: "float value" 0.5
imagemap: !"string filename" "square.pfm"; "string wrap" "clamp"; "string wrap" "clampu"; "string filter" "point"; "string filter" "trilinear"; "string filter" "ewa"; "float maxanisotropy" 4; "string encoding" "linear"; "float scale" 0.5; "bool invert" true; MAPPING
checkerboard: "integer dimension" 3; "float tex1" 0.1; "float tex2" 0.2; MAPPING
dots: "float inside" 0.1; "float outside" 0.2; MAPPING
bilerp: "float v00" 0.1; "float v01" 0.1; "float v10" 0.1; "float v11" 0.1; MAPPING
scale: "texture tex" "f"; "float scale" 0.5
mix: "texture tex1" "f"; "float tex2" 0.5; "float amount" 0.5
directionmix: "texture tex1" "f"; "float tex2" 0.5; "vector3 dir" [1 0 0]
fbm: "integer octaves" 3; "float roughness" 0.4
wrinkled: "integer octaves" 3; "float roughness" 0.4
windy:
+attribute: !+"string attribute" "wear"; +"float default" 0.5
+threshold: +"texture tex" "f"; +"float threshold" 0.3
ptex:
[Texture spectrum]
constant: "rgb value" [0.1 0.2 0.3]
imagemap: !"string filename" "square.pfm"; "string wrap" "clamp"; "string wrap" "clampu"; "string filter" "point"; "string filter" "trilinear"; "string filter" "ewa"; "float maxanisotropy" 4; "string encoding" "linear"; "float scale" 0.5; "bool invert" true; MAPPING
checkerboard: "integer dimension" 3; "rgb tex1" [0.1 0.2 0.3]; "texture tex2" "c"; MAPPING
dots: "rgb inside" [0.1 0.2 0.3]; "texture outside" "c"; MAPPING
bilerp: "rgb v00" [0.1 0.2 0.3]; "rgb v01" [0.1 0.2 0.3]; "rgb v10" [0.1 0.2 0.3]; "rgb v11" [0.1 0.2 0.3]; MAPPING
scale: "texture tex" "c"; "float scale" 0.5
mix: "texture tex1" "c"; "rgb tex2" [0.1 0.2 0.3]; "float amount" 0.5
directionmix: "texture tex1" "c"; "rgb tex2" [0.1 0.2 0.3]; "vector3 dir" [1 0 0]
marble: "integer octaves" 3; "float roughness" 0.4; "float scale" 2; "float variation" 0.3
+attribute: !+"string attribute" "color"; +"rgb default" [0.1 0.2 0.3]
+normalmap: +"texture tex" "c"
ptex:
[MakeNamedMedium]
homogeneous: "rgb sigma_a" [1 2 3]; "rgb sigma_s" [1 2 3]; "float scale" 2; "rgb Le" [1 1 1]; "float Lescale" 2; "float g" 0.3; "string preset" "Skin1"; +"string phase" "henyey_greenstein"
uniformgrid: !"float density" 1; "float temperature" 1000; "float temperatureoffset" 10 "float temperature" 1000; "float temperaturecutoff" 10 "float temperature" 1000; "float temperaturescale" 2 "float temperature" 1000; "rgb Le" [1 1 1]; "float Lescale" 2; "rgb sigma_a" [1 2 3]; "rgb sigma_s" [1 2 3]; "float scale" 2; "float g" 0.3; "integer nx" 1; "integer ny" 1; "integer nz" 1; "point3 p0" [0 0 0]; "point3 p1" [2 2 2]; +"string phase" "henyey_greenstein"
rgbgrid: !"rgb sigma_a" [1 2 3]; "rgb sigma_s" [1 2 3]; "rgb Le" [1 1 1]; "float Lescale" 2 "rgb Le" [1 1 1]; "float scale" 2; "float g" 0.3; "integer nx" 1; "integer ny" 1; "integer nz" 1; "point3 p0" [0 0 0]; "point3 p1" [2 2 2]; +"string phase" "henyey_greenstein"
cloud: "float density" 2; "float wispiness" 0.5; "float frequency" 3; "rgb sigma_a" [1 2 3]; "rgb sigma_s" [1 2 3]; "float g" 0.3; "point3 p0" [0 0 0]; "point3 p1" [2 2 2]; +"string phase" "henyey_greenstein"
nanovdb: !"string filename" "smoke.nvdb"; "string gridname" "density"; "string temperaturename" "temperature"; "rgb sigma_a" [1 2 3]; "rgb sigma_s" [1 2 3]; "float scale" 2; "float g" 0.3; "float Lescale" 2; "float temperatureoffset" 10; "float temperaturecutoff" 10; "float temperaturescale" 2; +"string phase" "henyey_greenstein"
+shader: !+"string filename" "haze.wgsl"; +"rgb sigma_a" [1 2 3]; +"rgb sigma_s" [1 2 3]; +"float scale" 2; +"rgb Le" [1 1 1]; +"float Lescale" 2; +"float g" 0.3; +"point3 p0" [0 0 0]; +"point3 p1" [2 2 2]; +"string phase" "henyey_greenstein"
"#;

/// Parameters of 2D textures, for `MAPPING`.
const MAPPING: &str = r#""string mapping" "planar"; "float uscale" 2; "float vscale" 2; "float udelta" 0.5; "float vdelta" 0.5; "vector3 v1" [1 0 0] "string mapping" "planar"; "vector3 v2" [0 1 0] "string mapping" "planar"; +"string attribute" "uv1" "string mapping" "attribute""#;

/// What scenes may use: textures `f` and `c`, and materials `a` and `b`.
const COMMON: &str = r#"LightSource "infinite" Texture "f" "float" "constant" "float value" 0.5
Texture "c" "spectrum" "constant" "rgb value" [0.1 0.2 0.3]
MakeNamedMaterial "a" "string type" "diffuse" MakeNamedMaterial "b" "string type" "conductor""#;

/// A scene for each directive that has no types.
const STATEMENTS: &str = r#"
Include: WorldBegin Include "part.pbrt"
Import: WorldBegin Import "part.pbrt"
Option: Option "seed" 3 WorldBegin
ColorSpace: ColorSpace "rec2020" WorldBegin
WorldBegin: WorldBegin
AttributeBegin: WorldBegin AttributeBegin AttributeEnd
AttributeEnd: WorldBegin AttributeBegin AttributeEnd
TransformBegin: WorldBegin TransformBegin TransformEnd
TransformEnd: WorldBegin TransformBegin TransformEnd
Attribute: WorldBegin Attribute "shape" "float radius" 2 Shape "sphere"
Identity: WorldBegin Identity
Translate: WorldBegin Translate 1 2 3
Scale: WorldBegin Scale 1 2 3
Rotate: WorldBegin Rotate 30 0 0 1
LookAt: LookAt 0 0 -5  0 0 0  0 1 0 Camera "perspective" WorldBegin
Transform: WorldBegin Transform [1 0 0 0 0 1 0 0 0 0 1 0 0 0 3 1]
ConcatTransform: WorldBegin ConcatTransform [1 0 0 0 0 1 0 0 0 0 1 0 0 0 3 1]
CoordinateSystem: WorldBegin CoordinateSystem "here"
CoordSysTransform: WorldBegin CoordinateSystem "here" CoordSysTransform "here"
ActiveTransform: WorldBegin ActiveTransform StartTime Translate 0 0 1 ActiveTransform All Shape "sphere"
TransformTimes: TransformTimes 0 2 WorldBegin
ReverseOrientation: WorldBegin ReverseOrientation
ObjectBegin: WorldBegin ObjectBegin "o" Shape "sphere" ObjectEnd
ObjectEnd: WorldBegin ObjectBegin "o" Shape "sphere" ObjectEnd
ObjectInstance: WorldBegin ObjectBegin "o" Shape "sphere" ObjectEnd ObjectInstance "o"
MediumInterface: WorldBegin MakeNamedMedium "m" "string type" "homogeneous" MediumInterface "m" ""
MakeNamedMaterial: WorldBegin MakeNamedMaterial "m" "string type" "diffuse"
NamedMaterial: WorldBegin MakeNamedMaterial "m" "string type" "diffuse" NamedMaterial "m"
"#;

/// Options of pbrt-v4, with a value.
const OPTIONS: &str = r#"seed 3
disablepixeljitter true
disabletexturefiltering true
disablewavelengthjitter true
displacementedgescale 2
forcediffuse true
msereferenceimage "a.exr"
msereferenceout "a.txt"
pixelstats true
rendercoordsys "world"
wavefront true"#;

/// A parameter in the table.
#[derive(Clone, Copy)]
struct Parameter<'a> {
    /// As in a scene file: type, name and value.
    text: &'a str,
    is_necessary: bool,
    is_extension: bool,
    /// Why the parameter has no effect, if it has none.
    no_effect: Option<&'a str>,
}

impl<'a> Parameter<'a> {
    fn parse(text: &'a str) -> Parameter<'a> {
        let (text, no_effect) = match text.split_once(" ~ ") {
            Some((text, reason)) => (text, Some(reason)),
            None => (text, None),
        };
        let (text, is_necessary) = strip(text.trim(), '!');
        let (text, is_extension) = strip(text, '+');
        Parameter { text, is_necessary, is_extension, no_effect }
    }

    fn name(&self) -> &'a str {
        let declaration =
            self.text.split('"').nth(1).expect("parameters have a quoted declaration");
        declaration.split_once(' ').expect("a declaration is a type and a name").1
    }

    /// Returns the name with the value, if that is a string.
    fn name_with_value(&self) -> String {
        let value = self.text.splitn(3, '"').nth(2).unwrap_or_default().trim();
        let is_choice = self.text.starts_with("\"string") && !value.contains('.');
        if is_choice { format!("`{}` {value}", self.name()) } else { format!("`{}`", self.name()) }
    }
}

/// Removes a marker.
fn strip(text: &str, marker: char) -> (&str, bool) {
    text.strip_prefix(marker).map_or((text, false), |rest| (rest, true))
}

/// A type in the table.
struct Type<'a> {
    directive: &'a str,
    /// `float` or `spectrum`, for textures.
    value_type: Option<&'a str>,
    name: &'a str,
    is_extension: bool,
    parameters: Vec<Parameter<'a>>,
}

impl Type<'_> {
    /// Returns a scene that uses the type with some parameters.
    fn scene(&self, parameters: &str) -> String {
        let &Type { directive, name, .. } = self;
        let statement = format!("{directive} \"{name}\" {parameters}");
        match directive {
            "Camera" | "Film" | "PixelFilter" | "Sampler" | "Integrator" | "Accelerator" => {
                format!("{statement}\nWorldBegin\n{COMMON}\nShape \"sphere\"")
            }
            "Texture" => {
                let value_type = self.value_type.expect("textures have a type of values");
                format!(
                    "WorldBegin\n{COMMON}\nTexture \"t\" \"{value_type}\" \"{name}\" {parameters}"
                )
            }
            "MakeNamedMedium" => {
                format!(
                    "WorldBegin\n{COMMON}\nMakeNamedMedium \"m\" \"string type\" \"{name}\" {parameters}"
                )
            }
            "Shape" => format!("WorldBegin\n{COMMON}\n{statement}"),
            "AreaLightSource" => {
                let mesh = "Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \
                            \"float vertex_wear\" [0 0.5 1]";
                format!("WorldBegin\n{COMMON}\n{statement}\n{mesh}")
            }
            _ => format!("WorldBegin\n{COMMON}\n{statement}\nShape \"sphere\""),
        }
    }

    /// Returns the entity of the type in a scene.
    fn entity<'d>(&self, d: &'d Description) -> &'d Entity {
        let found = match self.directive {
            "Camera" => d.camera.as_ref().map(|camera| &camera.entity),
            "Film" => d.film.as_ref(),
            "PixelFilter" => d.filter.as_ref(),
            "Sampler" => d.sampler.as_ref(),
            "Integrator" => d.integrator.as_ref(),
            "Accelerator" => d.accelerator.as_ref(),
            "LightSource" => d.lights.last().map(|light| &light.entity),
            "AreaLightSource" => d.area_lights.last(),
            "Shape" => d.shapes.last().map(|shape| &shape.entity),
            "Material" => d.materials.last().map(|material| &material.entity),
            "Texture" => d.textures.last().map(|texture| &texture.entity),
            _ => d.media.last().map(|medium| &medium.entity),
        };
        found.filter(|entity| entity.name == self.name).expect("the scene uses the type")
    }

    /// Returns the necessary parameters, and one more.
    fn with(&self, parameter: Option<&Parameter<'_>>) -> String {
        let necessary = self.parameters.iter().filter(|p| p.is_necessary).map(|p| p.text);
        let other = parameter.filter(|p| !p.is_necessary).map(|p| p.text);
        necessary.chain(other).collect::<Vec<_>>().join(" ")
    }
}

/// Returns all types of the table.
fn types(text: &str) -> Vec<Type<'_>> {
    let (mut types, mut section) = (Vec::new(), "");
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
            continue;
        }
        let (name, parameters) = line.split_once(':').expect("a type has a colon");
        let (name, is_extension) = strip(name, '+');
        let (directive, value_type) = match section.split_once(' ') {
            Some((directive, value_type)) => (directive, Some(value_type)),
            None => (section, None),
        };
        let parameters = parameters.split(';').map(str::trim).filter(|text| !text.is_empty());
        let parameters = parameters.map(Parameter::parse).collect();
        types.push(Type { directive, value_type, name, is_extension, parameters });
    }
    types
}

/// A folder of files that the scenes use.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        let write = |name: &str, bytes: &[u8]| {
            std::fs::write(folder.0.path().join(name), bytes).unwrap();
        };
        let texels = [0.5f32; 12].map(f32::to_le_bytes).concat();
        write("square.pfm", &[b"PF\n2 2\n-1.0\n", texels.as_slice()].concat());
        write("lens.dat", b"62.8 6 1.5168 25\n-45.7 2.5 1.6727 25\n-128.2 5 1 25\n0 90 0 20\n");
        write("part.pbrt", b"");
        let ply = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n\
                   property float z\nproperty float u\nproperty float v\nelement face 1\n\
                   property list uchar int vertex_indices\nend_header\n0 0 0 0 0\n1 0 0 1 0\n\
                   0 1 0 0 1\n3 0 1 2\n";
        write("mesh.ply", ply.as_bytes());
        let surface =
            b"<materialx><open_pbr_surface name='grey' type='surfaceshader'/></materialx>";
        write("grey.mtlx", surface);
        write("haze.wgsl", b"fn density(p: vec3f) -> f32 { return p.x; }");
        let bumps = b"fn displace(uv: vec2f, p: vec3f, n: vec3f) -> f32 { return 0.1 * p.x; }";
        write("bumps.wgsl", bumps);
        write("ball.wgsl", b"fn field(p: vec3f) -> f32 { return length(p) - 0.5; }");
        write("smoke.nvdb", &crate::nanovdb::testing::smoke());
        write("bronze.bsdf", include_bytes!("../../../../scenes/suite/bronze.bsdf"));
        folder
    }

    /// Loads a scene; returns the warnings' fall-backs, and the scene's description.
    fn load(&self, text: &str) -> (Vec<String>, Description) {
        let source = Source::memory(self.0.path().join("scene.pbrt"), text);
        let mut diagnostics = Diagnostics::new(false);
        let mut description = describe(&source, &mut diagnostics)
            .unwrap_or_else(|e| panic!("{text}\n{e} {:?}", e.remedy()));
        let overrides = Overrides { resolution: Some((8, 8)), ..Overrides::default() };
        let loaded = build_scene(
            &mut description,
            &source,
            &[],
            &overrides,
            &mut diagnostics,
            Instant::now(),
        );
        if let Err(e) = loaded {
            panic!("{text}\n{e} {:?}", e.remedy());
        }
        let fallbacks =
            diagnostics.warnings().iter().map(|warning| warning.fallback.clone()).collect();
        (fallbacks, description)
    }

    /// Returns the fall-back of a scene that has at most one warning.
    fn fallback(&self, text: &str) -> Option<String> {
        let (fallbacks, _) = self.load(text);
        assert!(fallbacks.len() <= 1, "{text}\n{fallbacks:?}");
        fallbacks.into_iter().next()
    }
}

/// Returns the row of a type: supported parameters, and the rest with their fall-backs.
fn row(folder: &Folder, ty: &Type<'_>) -> String {
    let of_type = folder.load(&ty.scene(&ty.with(None))).0;
    let (mut supported, mut rest) = (Vec::new(), Vec::new());
    for parameter in &ty.parameters {
        let mut fallbacks = folder.load(&ty.scene(&ty.with(Some(parameter)))).0;
        fallbacks.retain(|fallback| !of_type.contains(fallback));
        let mark = if parameter.is_extension && !ty.is_extension { " (extension)" } else { "" };
        match (fallbacks.first(), parameter.no_effect) {
            (None, None) => {
                let name = format!("`{}`{mark}", parameter.name());
                if !supported.contains(&name) {
                    supported.push(name);
                }
            }
            (None, Some(reason)) => {
                rest.push(format!("`{}`: no effect, {reason}", parameter.name()));
            }
            (Some(fallback), _) => {
                rest.push(format!("{}: {}", parameter.name_with_value(), shown(fallback)));
            }
        }
    }
    let whole = of_type.first().map(|fallback| shown(fallback).to_string());
    let rest = Vec::from_iter(whole.into_iter().chain(rest)).join("; ");
    let mark = if ty.is_extension { " (extension)" } else { "" };
    format!("| `{}`{mark} | {} | {rest} |", ty.name, supported.join(", "))
}

/// Returns a fall-back for the table.
fn shown(fallback: &str) -> &str {
    if fallback == "it is ignored" { "ignored" } else { fallback }
}

/// Returns the table.
fn document() -> String {
    let folder = Folder::new();
    let mut out = String::from(
        "# Parameters of pbrt-v4\n\n\
         These tables list all directives, types and parameters of pbrt-v4, and what Lightbound \
         does with\nthem. A test writes them: it loads a scene with each parameter, and notes the \
         warning.\n[pbrt-v4 support](pbrt.md) explains the differences. The parameters of a type \
         that is replaced are\nignored with it, unless they are listed.\n",
    );
    let list = PARAMETERS.replace("MAPPING", MAPPING);
    let mut section = (String::new(), None);
    for ty in types(&list) {
        if section != (ty.directive.to_string(), ty.value_type) {
            section = (ty.directive.to_string(), ty.value_type);
            let value_type = ty.value_type.map_or(String::new(), |ty| format!(" of type {ty}"));
            let head = "| type | supported | replaced, ignored or without effect |\n|---|---|---|";
            writeln!(out, "\n## {}{value_type}\n\n{head}", ty.directive).unwrap();
        }
        writeln!(out, "{}", row(&folder, &ty)).unwrap();
    }
    out += "\n## Option\n\n| option | |\n|---|---|\n";
    for option in OPTIONS.lines() {
        let (name, value) = option.split_once(' ').expect("an option has a value");
        let fallback = folder.fallback(&format!("Option \"{name}\" {value}\nWorldBegin"));
        let status = fallback.as_deref().map_or("supported", shown);
        writeln!(out, "| `{name}` | {status} |").unwrap();
    }
    out += "\n## Other directives\n\n| directive | |\n|---|---|\n";
    for line in STATEMENTS.lines().filter(|line| !line.is_empty()) {
        let (name, text) = line.split_once(": ").expect("a directive has a scene");
        let status = folder.fallback(text).map_or("supported".into(), |f| shown(&f).to_string());
        writeln!(out, "| `{name}` | {status} |").unwrap();
    }
    out
}

#[test]
fn table_says_what_the_loader_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pbrt-support.md");
    let expected = document();
    if std::env::var_os("LIGHTBOUND_UPDATE").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected, "run the test with LIGHTBOUND_UPDATE=1");
    }
    assert_eq!(found.len(), expected.len(), "run the test with LIGHTBOUND_UPDATE=1");
}

#[test]
fn table_has_every_parameter_that_the_loader_looks_up() {
    let folder = Folder::new();
    let list = PARAMETERS.replace("MAPPING", MAPPING);
    let mut unlisted = Vec::new();
    // Shaders declare their parameters themselves.
    let has_list = |ty: &&Type<'_>| {
        !ty.parameters.is_empty() && !["shader", "materialx", "implicit"].contains(&ty.name)
    };
    for ty in types(&list).iter().filter(has_list) {
        // The unused parameter makes the entity note which names are looked up.
        let text = ty.scene(&format!("{} \"float zzzzzz\" 1", ty.with(None)));
        let (_, description) = folder.load(&text);
        let listed: BTreeSet<&str> = ty.parameters.iter().map(Parameter::name).collect();
        let looked_up = ty.entity(&description).params.missing();
        let of_type = looked_up.iter().filter(|name| !listed.contains(name.as_str()));
        unlisted.extend(of_type.map(|name| format!("{} {}: {name}", ty.directive, ty.name)));
    }
    assert!(unlisted.is_empty(), "{}", unlisted.join("\n"));
}

#[test]
fn table_has_every_directive() {
    let listed: BTreeSet<&str> = STATEMENTS
        .lines()
        .filter_map(|line| Some(line.split_once(": ")?.0))
        .chain(types(PARAMETERS).into_iter().map(|ty| ty.directive))
        .collect();
    assert_eq!(listed, BTreeSet::from(DIRECTIVES));
}

#[test]
fn table_has_every_type_that_the_loader_supports() {
    let folder = Folder::new();
    let types = types(PARAMETERS);
    for Type { directive, value_type, .. } in &types {
        let unknown = Type {
            directive,
            value_type: *value_type,
            name: "qqqqqqqq",
            is_extension: false,
            parameters: Vec::new(),
        };
        let text = unknown.scene("");
        let source = Source::memory(folder.0.path().join("scene.pbrt"), text.as_str());
        let mut diagnostics = Diagnostics::new(false);
        let loaded = super::load_source(&source, &[], &Overrides::default(), &mut diagnostics);
        let error = loaded.err().unwrap_or_else(|| panic!("{text}"));
        let remedy = error.remedy().unwrap_or_default().to_string();
        let supported = remedy.strip_prefix("the types are ");
        let supported = supported.unwrap_or_else(|| panic!("{text}\n{error} {remedy}"));
        for name in supported.split(", ") {
            let is_listed = types.iter().any(|ty| ty.directive == *directive && ty.name == name);
            assert!(is_listed, "{directive} \"{name}\"");
        }
    }
}
