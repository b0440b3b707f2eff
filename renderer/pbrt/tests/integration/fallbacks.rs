//! Unsupported features of pbrt-v4 give one warning with location and fallback, supported features
//! none.

use crate::common::{TestScene, render, write_test_files};
use lightbound_pbrt::build::{LoadedScene, Overrides, load};
use lightbound_pbrt::diagnostics::{Diagnostics, SceneError, Warning};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Unsupported settings => part of the message; part of the fallback.
const UNSUPPORTED_SETTINGS: &str = r#"
Camera "perspective" "float zoom" 3 => "float zoom"; ignored
Camera "realistic" "string lensfile" "doublet.dat" "float aperturediameter" 50 => diameter of 50 mm; 20 mm
Film "spectral" "integer nbuckets" 16 "float lambdamin" 360 => "spectral"; "rgb"
Film "rgb" "float maxcomponentvalue" 10 => "maxcomponentvalue"; unclamped
Integrator "bdpt" "integer maxdepth" 3 "bool visualizestrategies" false => "bdpt"; more noise in caustics
Integrator "mlt" "integer mutationsperpixel" 10 => "mlt"; more noise in caustics
Integrator "sppm" "float radius" 1 => "sppm"; more noise in caustics
Integrator "lightpath" => "lightpath"; "path"
Integrator "simplepath" "bool samplebsdf" true => "simplepath"; less noise
Integrator "randomwalk" => "randomwalk"; less noise, and with mirrors
Integrator "ambientocclusion" "integer maxdepth" 3 => "ambientocclusion"; ignored
Integrator "function" => "function"; "path"
Integrator "path" "bool regularize" true => "regularize"; unbiased
Option "disablepixeljitter" true => disablepixeljitter; ignored
Option "disabletexturefiltering" true => disabletexturefiltering; ignored
Option "disablewavelengthjitter" true => disablewavelengthjitter; ignored
Option "forcediffuse" true => forcediffuse; ignored
Option "rendercoordsys" "world" => rendercoordsys; ignored
Integrator "path" MakeNamedMedium "fog" "string type" "homogeneous" MediumInterface "" "fog" Camera "perspective" => "path" does not render participating media; empty
TransformTimes 1 0 ActiveTransform EndTime Translate 1 0 0 ActiveTransform All Camera "perspective" => the end of TransformTimes; at the start time
Film "rgb" Film "rgb" => Film is given twice; the last
Film "rgb" "float iso" 100 "float iso" 200 => "iso" is given twice; the last
"#;

/// Unsupported statements of the world => part of the message; part of the fallback.
const UNSUPPORTED_WORLDS: &str = r#"
ColorSpace "rec2020" Material "diffuse" "rgb reflectance" [0.1 0.9 0.1] => (0.1, 0.9, 0.1) of rec2020; negative components set to 0
ColorSpace "aces2065-1" LightSource "point" "rgb I" [0 1 0] => gamut of sRGB; negative components set to 0
LightSource "infinite" "string filename" "globe.pfm" => globe.pfm has 8 × 4 pixels; latitude
MakeNamedMedium "fog" "string type" "homogeneous" "string preset" "Skin" => unknown preset "Skin"; "sigma_a" and "sigma_s"
MakeNamedMedium "fog" "string type" "homogeneous" "float density" 3 => "float density"; ignored
MakeNamedMedium "fog" "string type" "uniformgrid" "float density" [-1 1] "integer nx" 2 => 1 of 2 values "density" are negative; 0
Material "subsurface" "string name" "Skin1" "float g" 0.5 Shape "sphere" => "g" of a named "subsurface"; 0
Texture "t" "spectrum" "imagemap" "string filename" "good.png" Material "subsurface" "texture reflectance" "t" => texture "reflectance" of "subsurface"; its mean
Material "hair" "float eta" 0.5 Shape "sphere" => index of refraction of 0.5; the index 1
Material "hair" "float beta_m" 1.5 Shape "sphere" => "float beta_m" is 1.5, but a roughness of hair is at most 1; 1
Texture "t" "float" "imagemap" "string filename" "bright.pfm" Material "hair" "texture beta_n" "t" => bright.pfm: 1 of 16 texels is outside the range of the parameter `beta_n`, 0 to 1; nearest
Material "hair" "rgb sigma_a" [1 1 1] "float eumelanin" 1.3 "float beta_m" 0.2 Shape "sphere" => both "sigma_a" and "eumelanin"; "sigma_a"
Material "diffuse" "string normalmap" "normals.pfm" "texture displacement" "grey" Shape "sphere" => both a "normalmap" and a "displacement"; normal map alone
Material "mix" "string materials" ["red" "steel"] "texture displacement" "grey" Shape "sphere" => "texture displacement" of "mix"; ignored
Material "interface" "string normalmap" "normals.pfm" Shape "sphere" => "string normalmap" of "interface"; ignored
Material "conductor" "float thickness" 1 Shape "sphere" => "float thickness"; ignored
Material "coateddiffuse" "rgb albedo" [1 1 1] Shape "sphere" => "rgb albedo"; ignored
Material "coateddiffuse" "integer maxdepth" 9 Shape "sphere" => "maxdepth" 9 of "coateddiffuse"; all reflections
Material "coatedconductor" "integer maxdepth" 1 => "maxdepth" 1 of "coatedconductor"; all reflections
Material "coatedconductor" "float g" 0.5 Shape "sphere" => "float g"; ignored
Material "mix" "string materials" ["red" "steel"] "float weight" 0.9 Shape "sphere" => "float weight"; ignored
Material "" Shape "sphere" => deprecated; "interface"
Material "none" Shape "sphere" => deprecated; "interface"
Shape "implicit" "string filename" "ball.wgsl" "point3 p0" [3 3 3] "point3 p1" [4 4 4] => has no zero in its box; no surface
AreaLightSource "diffuse" Shape "implicit" "string filename" "ball.wgsl" "point3 p0" [-1 -1 -1] => area lights on implicit surfaces are not supported; surfaces without light
AreaLightSource "diffuse" Shape "trianglemesh" "point3 P" [-1 -1 3 1 -1 3 0 1 3] "string displacement" "bumps.wgsl" => area lights on displaced meshes are not supported; meshes without light
Shape "trianglemesh" "point3 P" [-1 -1 3 1 -1 3 0 1 3] "string displacement" "bumps.wgsl" "point3 P1" [-1 -1 4 1 -1 4 0 1 4] => "P1" is not supported with "displacement"; the mesh at the start time
Shape "curve" "point3 P" [0 0 3 0 1 3 1 1 3 1 2 3] "string type" "round" => unknown curve type "round"; "cylinder"
Shape "curve" "point3 P" [0 0 3 0 1 3 1 1 3 1 2 3] "normal N" [0 0 1 0 0 1] => normals "N" are only for curves of type "ribbon"; ignored
Shape "curve" "point3 P" [0 0 3 0 1 3 1 1 3 1 2 3] "integer splitdepth" 20 => "splitdepth" 20; split depth of 10
AreaLightSource "diffuse" Shape "curve" "point3 P" [0 0 3 0 1 3 1 1 3 1 2 3] Shape "curve" "point3 P" [0 0 4 0 1 4 1 1 4 1 2 4] => area lights on curves; without light
Shape "loopsubdiv" "point3 P" [-1 -1 3 1 -1 3 0 1 3 0 0 4] "integer indices" [0 1 2 0 1 3] => triangles 0 and 1 both run from vertex 0 to vertex 1; control mesh
Shape "loopsubdiv" "point3 P" [-1 -1 3 1 -1 3 0 1 3] "point2 uv" [0 0 1 0 0 1] => "point2 uv"; ignored
Texture "t" "spectrum" "attribute" "string attribute" "color" Material "diffuse" "texture reflectance" "t" Shape "sphere" => reads the attribute "color" of vertices; u and v of the surface
AreaLightSource "diffuse" Material "interface" Shape "sphere" => an area light with the material "interface"; it is ignored
ActiveTransform EndTime Rotate 3 0 0 1 ActiveTransform All LightSource "infinite" "string filename" "good.pfm" "point3 portal" [-1 -1 4  -1 1 4  1 1 4  1 -1 4] => motion of this light is not supported behind a portal; start time
Texture "t" "spectrum" "imagemap" "string filename" "good.png" "string filter" "trilinear" Material "shader" "string filename" "lamp.wgsl" "texture map" "t" => trilinear or elliptical filter; bilinear
Texture "t" "spectrum" "ptex" "string filename" "no.ptx" Material "diffuse" "texture reflectance" "t" Shape "sphere" => "ptex"; 0.5
Texture "t" "float" "constant" "float colour" 1 => "float colour"; ignored
Shape "sphere" "string colour" "red" => "string colour"; ignored
LightSource "point" "string colour" "red" => "string colour"; ignored
AreaLightSource "diffuse" "integer nsamples" 3 Shape "sphere" => "integer nsamples"; ignored
Material "conductor" "float rougness" 0.3 => "conductor" has no parameter "float rougness" (did you mean "roughness"?); it is ignored
Material "diffuse" "rgb reflectence" [1 0 0] => (did you mean "reflectance"?); it is ignored
Shape "sphere" "float raduis" 2 => (did you mean "radius"?); it is ignored
LightSource "spot" "float conangle" 2 => (did you mean "coneangle"?); it is ignored
Texture "t" "spectrum" "imagemap" "string filename" "good.png" "string encodin" "linear" => (did you mean "encoding"?); it is ignored
AttributeEnd => AttributeEnd without AttributeBegin; it is ignored
Texture "t" "spectrum" "imagemap" "string filename" "odd.pfm" => odd.pfm: 2 of 16 texels are not finite; 0 for NaN
Material "shader" "string filename" "lamp.wgsl" "string map" "odd.pfm" => odd.pfm: 2 of 16 texels are not finite; 0 for NaN
Texture "t" "spectrum" "imagemap" "string filename" "negative.pfm" Material "diffuse" "texture reflectance" "t" Material "conductor" "texture reflectance" "t" => negative.pfm: 1 of 16 texels is negative; 0
Texture "t" "float" "imagemap" "string filename" "negative.pfm" Material "conductor" "texture roughness" "t" => negative.pfm: 1 of 16 texels is negative; 0
Texture "t" "spectrum" "imagemap" "string filename" "bright.pfm" Material "diffuse" "texture reflectance" "t" Material "coateddiffuse" "texture reflectance" "t" => bright.pfm: 3 of 16 texels are above 1; 1
Texture "t" "spectrum" "imagemap" "string filename" "good.png" "float scale" 1.5 Material "diffuse" "texture reflectance" "t" => texels, times 1.5, are above 1; 1
Texture "t" "spectrum" "imagemap" "string filename" "bright.pfm" Texture "m" "spectrum" "mix" "texture tex1" "t" Texture "s" "spectrum" "scale" "texture tex" "m" "float scale" 0.9 Material "diffuse" "texture reflectance" "s" => bright.pfm: 3 of 16 texels, times 0.9, are above 1; 1
Texture "t" "spectrum" "constant" "rgb value" [0.5 2 0.5] Material "diffuse" "texture reflectance" "t" => the constant (0.5, 2, 0.5) is above 1; 1
Texture "t" "spectrum" "imagemap" "string filename" "bright.pfm" Material "shader" "string filename" "diffuse" "texture kd" "t" => bright.pfm: 3 of 16 texels are outside the range of the parameter `kd`, 0 to 1; nearest
Texture "t" "spectrum" "imagemap" "string filename" "negative.pfm" Material "shader" "string filename" "conductor" "texture excess" "t" => negative.pfm: 1 of 16 texels is negative; 0
Texture "t" "float" "imagemap" "string filename" "negative.pfm" Texture "s" "float" "scale" "texture tex" "t" "float scale" 2 Material "conductor" "texture roughness" "s" => negative.pfm: 1 of 16 texels, times 2, is negative; 0
Material "conductor" "float roughness" -0.5 Shape "sphere" => "float roughness" is -0.5, but cannot be negative; 0
Material "coateddiffuse" "float thickness" -1 Shape "sphere" => "float thickness" is -1, but cannot be negative; 0
Material "diffuse" "rgb reflectance" [1.2 0.5 0.5] => "rgb reflectance" is 1.2, above 1; 1
Material "diffuse" "spectrum reflectance" [300 0.5 900 1.5] => "spectrum reflectance" is; 1
Material "diffusetransmission" "rgb reflectance" [0.8 0.5 0.5] "float scale" 2 => "rgb reflectance", times 2, is 1.6, above 1; 1
LightSource "infinite" "string filename" "negative.pfm" => negative.pfm: 1 of 16 texels is negative; 0
"#;

/// Names from older formats => part of the replacement.
const LEGACY_NAMES: &str = r#"
Material "matte" => "diffuse"
Material "glass" => "dielectric"
Material "metal" => "conductor"
Material "mirror" => "conductor"
Material "uber" => "coateddiffuse"
Material "plastic" => "coateddiffuse"
Material "disney" => "diffuse"
Material "translucent" => "diffusetransmission"
Material "diffuse" "rgb Kd" [1 1 1] => "reflectance"
Material "dielectric" "float index" 1.5 => "eta"
LightSource "infinite" "string mapname" "sky.exr" => "filename"
AreaLightSource "area" => "diffuse"
Shape "cone" => "trianglemesh"
Shape "trianglemesh" "float st" [0 0] => "uv"
Texture "t" "spectrum" "uv" => "checkerboard"
Texture "t" "color" "constant" => "spectrum"
WorldEnd => remove WorldEnd
"#;

/// All supported parameters of all supported entities.
const SUPPORTED: &str = r#"
Option "seed" 7 Option "disablepixeljitter" false ColorSpace "sRGB"
FILM "string filename" "out.exr" "integer xresolution" 20 "integer yresolution" 10 "float cropwindow" [0 1 0 1]
  "float diagonal" 35 "float iso" 200 "bool savefp16" false "string sensor" "canon_eos_5d_mkiv" "float whitebalance" 5000
SAMPLER
FILTER
INTEGRATOR
Accelerator "bvh" "integer maxnodeprims" 4 "string splitmethod" "sah"
TransformTimes 0 1 LookAt 0 0 -5  0 0 0  0 1 0
CAMERA
WorldBegin
LightSource "infinite" "rgb L" [1 1 1] "float scale" 0.5 "float illuminance" 2
LightSource "infinite" "string filename" "good.pfm" "float scale" 0.5 "float illuminance" 2
LightSource "infinite" "string filename" "good.pfm" "point3 portal" [-1 -1 4  -1 1 4  1 1 4  1 -1 4]
LightSource "distant" "blackbody L" 5000 "point3 from" [0 0 0] "point3 to" [0 0 1] "float scale" 1 "float illuminance" 1
LightSource "sky" "float turbidity" 4 "float elevation" 20 "float azimuth" 10 "bool sun" true "float scale" 0.1
Texture "bright" "spectrum" "imagemap" "string filename" "bright.pfm" Texture "halved" "spectrum" "scale" "texture tex" "bright" "float scale" 0.25
Material "diffuse" "texture reflectance" "halved" Material "conductor" "texture eta" "bright" "rgb k" [3 2 2]
Texture "slope" "float" "imagemap" "string filename" "negative.pfm" Texture "steep" "float" "scale" "texture tex" "slope" "float scale" 0.5
Material "shader" "string filename" "conductor" "texture excess" "steep"
Material "diffuse" "spectrum reflectance" [300 1 500 1 501 0 570 0 571 1 900 1]
LightSource "infinite" "string filename" "bright.pfm"
LightSource "point" "spectrum I" "stdillum-D65" "point3 from" [0 3 0] "float scale" 1 "float power" 9
LightSource "goniometric" "string filename" "good.pfm" "rgb I" [1 2 3] "float scale" 2 "float power" 9
LightSource "projection" "string filename" "globe.pfm" "float fov" 40 "float scale" 2 "float power" 9
LightSource "spot" "spectrum I" [400 1 700 2] "point3 from" [0 3 0] "point3 to" [0 0 0] "float coneangle" 40
  "float conedeltaangle" 9 "float scale" 2 "float power" 9
Texture "f" "float" "constant" "float value" 0.3
Texture "c" "spectrum" "constant" "rgb value" [0.3 0.4 0.5]
Texture "image" "spectrum" "imagemap" "string filename" "good.png" "string wrap" "clamp" "float scale" 0.9 "bool invert" true
  "string filter" "bilinear" "float maxanisotropy" 8 "string encoding" "gamma 2.2" "string mapping" "uv" "float uscale" 2
  "float vscale" 3 "float udelta" 0.1 "float vdelta" 0.2
Texture "image" "float" "imagemap" "string filename" "good.png" "string wrap" "black" "string filter" "point" "string encoding" "linear"
  "string mapping" "planar" "vector3 v1" [1 0 0] "vector3 v2" [0 1 0] "float udelta" 0.1 "float vdelta" 0.2
Texture "ball" "spectrum" "imagemap" "string filename" "good.png" "string mapping" "spherical" "string wrap" "octahedralsphere"
Texture "soft" "spectrum" "imagemap" "string filename" "good.png" "string filter" "trilinear" "string mapping" "spherical"
Texture "soft" "float" "imagemap" "string filename" "good.png" "string filter" "EWA" "float maxanisotropy" 4 "string wrap" "clamp"
Texture "softest" "spectrum" "imagemap" "string filename" "good.pfm" "string filter" "ewa" "float uscale" 40 "float vscale" 30
MakeNamedMaterial "filtered" "string type" "coateddiffuse" "texture reflectance" "softest" "texture thickness" "soft" "texture displacement" "soft"
MakeNamedMaterial "filtered metal" "string type" "conductor" "texture reflectance" "soft"
MakeNamedMaterial "filtered mix" "string type" "mix" "string materials" ["filtered" "filtered metal"] "texture amount" "soft"
Texture "tube" "spectrum" "imagemap" "string filename" "good.png" "string mapping" "cylindrical" "string wrap" "repeat"
Texture "flat" "spectrum" "checkerboard" "integer dimension" 2 "texture tex1" "image" "rgb tex2" [0 0 1] "float uscale" 9 "float vscale" 9
Texture "solid" "float" "checkerboard" "integer dimension" 3 "texture tex1" "f" "float tex2" 0
Texture "scaled" "spectrum" "scale" "texture tex" "flat" "texture scale" "solid"
Texture "mixed" "spectrum" "mix" "texture tex1" "scaled" "rgb tex2" [1 0 0] "texture amount" "image"
Texture "facing" "spectrum" "directionmix" "texture tex1" "mixed" "rgb tex2" [0 0 1] "vector3 dir" [0 1 1]
Texture "corners" "spectrum" "bilerp" "rgb v00" [0.1 0.2 0.3] "rgb v01" [1 0 0] "spectrum v10" [300 0.5 900 0.5] "rgb v11" [0 1 0] "float uscale" 0.5
Texture "corners" "float" "bilerp" "float v00" 0.1 "float v01" 0.2 "float v10" 0.3 "float v11" 0.4 "string mapping" "spherical"
Texture "polka" "spectrum" "dots" "texture inside" "corners" "texture outside" "facing" "float uscale" 9 "float vscale" 9
Texture "polka" "float" "dots" "texture inside" "corners" "float outside" 0.2 "string mapping" "cylindrical"
Texture "noise" "float" "fbm" "integer octaves" 3 "float roughness" 0.4
Texture "folds" "float" "wrinkled" "integer octaves" 3 "float roughness" 0.4 Texture "waves" "float" "windy"
Texture "veins" "spectrum" "marble" "integer octaves" 4 "float roughness" 0.4 "float scale" 2 "float variation" 0.3
Texture "tilted" "float" "directionmix" "texture tex1" "noise" "texture tex2" "folds"
Texture "blend" "spectrum" "mix" "texture tex1" "veins" "texture tex2" "polka" "texture amount" "waves"
MakeNamedMaterial "procedural" "string type" "coateddiffuse" "texture reflectance" "blend" "texture roughness" "tilted" "texture thickness" "polka"
NamedMaterial "procedural" Shape "sphere" "float radius" 0.7
MakeNamedMaterial "d" "string type" "diffuse" "texture reflectance" "mixed"
MakeNamedMaterial "m" "string type" "conductor" "spectrum eta" "metal-Au-eta" "spectrum k" "metal-Au-k" "texture roughness" "f"
MakeNamedMaterial "n" "string type" "conductor" "rgb eta" [1 2 3] "rgb k" [1 2 3] "float uroughness" 0.1 "texture vroughness" "f"
  "bool remaproughness" false
MakeNamedMaterial "r" "string type" "conductor" "texture reflectance" "tube" "float roughness" 0.3
MakeNamedMaterial "g" "string type" "dielectric" "spectrum eta" [300 1.5 900 1.5] "float uroughness" 0.1 "float vroughness" 0.2 "bool remaproughness" true
MakeNamedMaterial "h" "string type" "dielectric" "spectrum eta" "glass-BK7" "float roughness" 0
MakeNamedMaterial "h2" "string type" "dielectric" "rgb eta" [1.5 1.51 1.53]
MakeNamedMaterial "t" "string type" "thindielectric" "spectrum eta" "good.spd"
MakeNamedMaterial "i" "string type" "interface"
MakeNamedMaterial "x" "string type" "diffusetransmission" "texture reflectance" "mixed" "rgb transmittance" [0.1 0.5 0.2] "float scale" 0.9
MakeNamedMaterial "l" "string type" "coateddiffuse" "texture reflectance" "mixed" "float roughness" 0 "spectrum eta" "glass-BK7" "float thickness" 0.1
  "integer maxdepth" 10 "integer nsamples" 4
MakeNamedMaterial "v" "string type" "coateddiffuse" "rgb reflectance" [0.2 0.3 0.4] "float uroughness" 0.1 "texture vroughness" "f"
  "float eta" 1.4 "texture thickness" "f" "bool remaproughness" false
MakeNamedMaterial "c" "string type" "coatedconductor" "spectrum conductor.eta" "metal-Au-eta" "spectrum conductor.k" "metal-Au-k"
  "float interface.eta" 1.4 "float thickness" 0.1 "integer maxdepth" 100 "integer nsamples" 1
MakeNamedMaterial "p" "string type" "coatedconductor" "rgb reflectance" [0.3 0.4 0.5] "float conductor.roughness" 0.2
  "float interface.uroughness" 0.2 "float interface.vroughness" 0.1 "spectrum interface.eta" "glass-BK7" "texture thickness" "f"
MakeNamedMaterial "q" "string type" "coatedconductor" "float conductor.uroughness" 0.2 "texture conductor.vroughness" "f"
  "float interface.roughness" 0 "bool remaproughness" false
MakeNamedMaterial "e" "string type" "diffuse" "texture displacement" "image"
MakeNamedMaterial "e2" "string type" "coatedconductor" "string normalmap" "normals.pfm"
MakeNamedMaterial "e3" "string type" "shader" "string filename" "conductor" "texture displacement" "solid"
MakeNamedMaterial "e4" "string type" "mix" "string materials" ["e" "e3"]
MakeNamedMaterial "z" "string type" "mix" "string materials" ["y" "l"] "texture amount" "f"
MakeNamedMaterial "y" "string type" "mix" "string materials" ["i" "g"] "float amount" 0.3
MakeNamedMaterial "w" "string type" "mix" "string materials" ["i" "g"] "texture amount" "slope"
MakeNamedMaterial "k" "string type" "hair" "rgb sigma_a" [0.1 0.4 0.9] "float eta" 1.5 "float beta_m" 0.2 "texture beta_n" "f" "float alpha" -2
MakeNamedMaterial "s" "string type" "hair" "texture reflectance" "mixed" "texture eta" "f" "texture beta_m" "f" "texture alpha" "slope"
MakeNamedMaterial "o" "string type" "hair" "rgb color" [0.8 0.6 0.3]
MakeNamedMaterial "dark hair" "string type" "hair" "texture eumelanin" "f" "float pheomelanin" 0.7
NamedMaterial "k" Shape "curve" "string type" "ribbon" "string basis" "bspline" "integer degree" 2 "integer splitdepth" 1
  "point3 P" [0 0 3 0 1 3 1 1 3 1 2 3] "normal N" [0 0 1 0 1 1 0 0 1] "float width0" 0.2 "float width1" 0.1 "texture alpha" "f"
NamedMaterial "s" Shape "curve" "string type" "cylinder" "string basis" "bezier" "integer degree" 2 "float width" 0.1
  "point3 P" [0 0 3 0 1 3 1 1 3] NamedMaterial "o" Shape "disk" NamedMaterial "dark hair" Shape "disk"
NamedMaterial "d" Shape "plymesh" "string filename" "good.ply" "float alpha" 0.9 "float edgelength" 2
NamedMaterial "m" Shape "trianglemesh" "point3 P" [-1 -1 3 1 -1 3 0 1 3] "integer indices" [0 1 2] "normal N" [0 0 1 0 0 1 0 0 1]
  "point2 uv" [0 0 1 0 0 1] "integer faceIndices" [0] "texture alpha" "image"
  "point3 P1" [-1 -1 4 1 -1 3 0 1 3] "normal N1" [0 1 1 0 0 1 0 0 1]
NamedMaterial "n" Shape "loopsubdiv" "integer levels" 2 "string scheme" "loop" "point3 P" [-1 -1 4 1 -1 4 0 1 4] "integer indices" [0 1 2]
NamedMaterial "n" Shape "bilinearmesh" "point3 P" [-1 -1 4 1 -1 4 -1 1 4 1 1 4] "integer indices" [0 1 2 3]
  "normal N" [0 0 1 0 0 1 0 0 1 0 0 1] "point2 uv" [0 0 1 0 0 1 1 1] "integer faceIndices" [0]
NamedMaterial "g" Shape "sphere" "float radius" 2 "float zmin" -1 "float zmax" 1 "float phimax" 300 "float alpha" 1
NamedMaterial "h" Shape "cylinder" "float radius" 2 "float zmin" -1 "float zmax" 1 "float phimax" 300 "float alpha" 1
NamedMaterial "h" Shape "disk" "float height" 1 "float radius" 3 "float innerradius" 1 "float phimax" 200 "texture alpha" "f"
NamedMaterial "t" Shape "disk" NamedMaterial "h2" Shape "sphere" NamedMaterial "i" Shape "sphere"
NamedMaterial "x" Shape "disk" "float height" 5 NamedMaterial "l" Shape "sphere" "float radius" 0.4
NamedMaterial "v" Shape "disk" "float height" 5.5 NamedMaterial "c" Shape "sphere" "float radius" 0.5
NamedMaterial "p" Shape "disk" "float height" 5.7 NamedMaterial "q" Shape "sphere" "float radius" 0.6
NamedMaterial "z" Shape "disk" "float height" 4
NamedMaterial "filtered mix" Shape "disk" "float height" 4.1 NamedMaterial "e4" Shape "disk" "float height" 4.2 NamedMaterial "e2" Shape "sphere" "float radius" 0.7
Attribute "shape" "float radius" 0.3
AttributeBegin ReverseOrientation Translate 0 0 6 Scale 1 2 1 Rotate 30 0 0 1 ConcatTransform [1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1]
  AreaLightSource "diffuse" "rgb L" [1 2 3] "float scale" 2 "bool twosided" true "float power" 9
  NamedMaterial "d" Shape "sphere" CoordinateSystem "here" AttributeEnd
AttributeBegin AreaLightSource "diffuse" "string filename" "good.png" "float scale" 2 "float power" 9
  Shape "disk" "float height" 7 "texture alpha" "f" AttributeEnd
CoordSysTransform "here" ObjectBegin "o" NamedMaterial "r" Shape "sphere" ObjectEnd ObjectInstance "o" Identity
Transform [1 0 0 0 0 1 0 0 0 0 1 0 0 0 3 1] ActiveTransform All ObjectInstance "o"
Shape "plymesh" "string filename" "good.ply" "string filename1" "good.ply"
ActiveTransform EndTime Rotate 9 0 0 1 Translate 0 1 0 ActiveTransform All
LightSource "point" LightSource "spot" LightSource "distant" LightSource "sky" LightSource "infinite" "rgb L" [1 1 1]
LightSource "infinite" "string filename" "good.pfm" LightSource "projection" "string filename" "good.pfm"
LightSource "goniometric" "string filename" "good.pfm"
AttributeBegin AreaLightSource "diffuse" "string filename" "good.png" "bool twosided" true "float power" 9
  Shape "disk" "float height" 7 "texture alpha" "f" ObjectBegin "lamp" Shape "sphere" ObjectEnd AttributeEnd
ObjectInstance "lamp" ObjectBegin "arm" Shape "sphere" Rotate 3 0 0 1 Shape "disk" ObjectEnd ObjectInstance "arm"
"#;

/// Placeholders in [`SUPPORTED`] and the entities to replace them with, one per line.
const VARIANTS: [(&str, &str); 5] = [
    (
        "FILM",
        r#"Film "rgb"
Film "gbuffer"
Film "gbuffer" "string coordinatesystem" "world""#,
    ),
    (
        "INTEGRATOR",
        r#"Integrator "path" "integer maxdepth" 3 "string shadowterminator" "soft" "bool regularize" false "string lightsampler" "bvh"
Integrator "volpath" "integer maxdepth" 3 "bool regularize" false "string lightsampler" "bvh"
Integrator "simplevolpath" "integer maxdepth" 3"#,
    ),
    (
        "SAMPLER",
        r#"Sampler "zsobol" "integer pixelsamples" 2 "string randomization" "owen" "integer seed" 3
Sampler "sobol" "integer pixelsamples" 2 "string randomization" "fastowen"
Sampler "paddedsobol" "integer pixelsamples" 2 "string randomization" "permutedigits"
Sampler "halton" "integer pixelsamples" 2 "string randomization" "none"
Sampler "pmj02bn" "integer pixelsamples" 2 "integer seed" 3
Sampler "independent" "integer pixelsamples" 2 "integer seed" 3
Sampler "stratified" "integer xsamples" 2 "integer ysamples" 1 "bool jitter" true "integer seed" 3"#,
    ),
    (
        "FILTER",
        r#"PixelFilter "box" "float xradius" 1 "float yradius" 2
PixelFilter "triangle" "float xradius" 1 "float yradius" 2
PixelFilter "gaussian" "float xradius" 1 "float yradius" 2 "float sigma" 0.3
PixelFilter "mitchell" "float xradius" 1 "float yradius" 2 "float B" 0.3 "float C" 0.4
PixelFilter "sinc" "float xradius" 1 "float yradius" 2 "float tau" 2"#,
    ),
    (
        "CAMERA",
        r#"Camera "perspective" "float fov" 40 "float lensradius" 0.1 "float focaldistance" 5 "float frameaspectratio" 2 "float shutteropen" 0 "float shutterclose" 1
Camera "orthographic" "float screenwindow" [-2 2 -1 1] "float lensradius" 0.1 "float focaldistance" 5 "float shutteropen" 0 "float shutterclose" 2
Camera "spherical" "string mapping" "equirectangular" "float lensradius" 0.1 "float focaldistance" 5 "float frameaspectratio" 2
Camera "spherical" "string mapping" "equalarea" "float screenwindow" [-2 2 -1 1]
Camera "realistic" "string lensfile" "doublet.dat" "float aperturediameter" 10 "float focusdistance" 5 "string aperture" "pentagon"
Camera "realistic" "string lensfile" "doublet.dat" "string aperture" "good.png""#,
    ),
];

/// A temporary folder with the files that the scenes use.
struct SceneFolder {
    dir: TempDir,
}

/// Definitions that the statements of [`UNSUPPORTED_WORLDS`] may use, on one line.
const COMMON: &str = r#"LightSource "infinite" Texture "grey" "float" "constant" "float value" 0.5 Texture "wood" "spectrum" "constant" MakeNamedMaterial "red" "string type" "diffuse" MakeNamedMaterial "steel" "string type" "conductor" MakeNamedMaterial "void" "string type" "interface""#;

impl SceneFolder {
    fn new() -> SceneFolder {
        let folder = SceneFolder { dir: tempfile::tempdir().unwrap() };
        write_test_files(folder.dir.path());
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn load(&self, text: &str, strict: bool) -> (Result<LoadedScene, SceneError>, Vec<Warning>) {
        let mut diagnostics = Diagnostics::new(strict);
        std::fs::write(self.path("scene.pbrt"), text).unwrap();
        let overrides =
            Overrides { resolution: Some((8, 8)), spp: Some(2), ..Overrides::default() };
        let loaded = load(&self.path("scene.pbrt"), &overrides, &mut diagnostics);
        (loaded, diagnostics.warnings().to_vec())
    }

    /// Checks the warning about an unsupported feature on line `line`. Returns a description of the
    /// failure, if any.
    fn check_fallback(&self, text: &str, line: u32, parts: &str) -> Option<String> {
        let (loaded, warnings) = self.load(text, false);
        let scene = match loaded {
            Ok(loaded) => TestScene::from(loaded),
            Err(e) => return Some(format!("rejected: {} {:?}", e.message(), e.remedy())),
        };
        let [warning] = &warnings[..] else {
            return Some(format!("{} warnings: {warnings:#?}", warnings.len()));
        };
        if warning.to_string().contains("texels") && warning.repeats > 0 {
            return Some(format!("repeated: {warning}"));
        }
        let (message_part, fallback_part) = parts.split_once("; ").unwrap();
        let position = |l: &lightbound_pbrt::diagnostics::Location| {
            (l.path() == self.path("scene.pbrt"), l.line)
        };
        let location = warning.location.as_ref().map(position);
        if !warning.message.contains(message_part)
            || !warning.fallback.contains(fallback_part)
            || location != Some((true, line))
        {
            return Some(format!("warning: {warning}"));
        }
        let image = render(&scene, 1);
        if image.invalid_samples != 0 || !image.radiance.iter().flatten().all(|x| x.is_finite()) {
            return Some("the image has invalid samples".into());
        }
        match self.load(text, true).0 {
            Ok(_) => Some("accepted in strict mode".into()),
            Err(e) if e.message() != warning.message => {
                Some(format!("in strict mode: {}", e.message()))
            }
            Err(e)
                if !e
                    .remedy()
                    .is_some_and(|r| r.contains("strict") && r.contains(fallback_part)) =>
            {
                Some(format!("in strict mode: {:?}", e.remedy()))
            }
            Err(e) => (e.location().map(position) != Some((true, line)))
                .then(|| "in strict mode: wrong location".into()),
        }
    }
}

fn cases(table: &str) -> impl Iterator<Item = (&str, &str)> {
    table.lines().filter(|line| !line.is_empty()).map(|line| line.split_once(" => ").unwrap())
}

/// Panics with a list of all failures, if any.
fn assert_no_failures(failures: impl Iterator<Item = String>) {
    let failures: Vec<String> = failures.collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn unsupported_features_give_one_warning() {
    let folder = SceneFolder::new();
    assert_no_failures(cases(UNSUPPORTED_SETTINGS).filter_map(|(text, parts)| {
        Some(format!(
            "{text}\n  {}",
            folder.check_fallback(&format!("\n{text}\nWorldBegin\n{COMMON}\n"), 2, parts)?
        ))
    }));
    assert_no_failures(cases(UNSUPPORTED_WORLDS).filter_map(|(text, parts)| {
        Some(format!(
            "{text}\n  {}",
            folder.check_fallback(&format!("WorldBegin\n{COMMON}\n{text}\n"), 3, parts)?
        ))
    }));
}

#[test]
fn lights_of_lightcuts_do_not_move() {
    let folder = SceneFolder::new();
    let cases = [
        ("LightSource \"point\"", "motion of this light is not supported by lightcuts"),
        (
            "LightSource \"infinite\" \"string filename\" \"good.pfm\"",
            "motion of this light is not supported by lightcuts",
        ),
        (
            "AreaLightSource \"diffuse\" Shape \"disk\"",
            "motion of this emissive shape is not supported by lightcuts",
        ),
        (
            "ActiveTransform All Identity ObjectBegin \"o\" AreaLightSource \"diffuse\" Shape \"disk\" \
             ObjectEnd ActiveTransform EndTime Translate 1 0 0 ObjectInstance \"o\"",
            "motion of this emissive instance is not supported by lightcuts",
        ),
        (
            "ActiveTransform All Identity AreaLightSource \"diffuse\" Shape \"trianglemesh\" \
             \"point3 P\" [0 0 3 1 0 3 0 1 3] \"point3 P1\" [0 0 4 1 0 3 0 1 3]",
            "moving vertices of this emissive shape are not supported by lightcuts",
        ),
    ];
    let head = "Integrator \"lightcuts\" WorldBegin ActiveTransform EndTime Translate 1 0 0 ActiveTransform All\n";
    assert_no_failures(cases.iter().filter_map(|(world, part)| {
        let parts = format!("{part}; start time");
        folder.check_fallback(&format!("{head}{world}\n"), 2, &parts)
    }));
}

#[test]
fn names_from_older_formats_are_errors_with_the_replacement() {
    let folder = SceneFolder::new();
    assert_no_failures(cases(LEGACY_NAMES).filter_map(|(text, replacement)| {
        let error = folder.load(&format!("WorldBegin\n{COMMON}\n{text}\n"), false).0.err();
        let is_expected = error.as_ref().is_some_and(|e| {
            e.remedy().is_some_and(|r| r.contains(replacement))
                && e.location().is_some_and(|l| l.line == 3 && l.path().is_absolute())
        });
        (!is_expected).then(|| {
            format!(
                "{text}: {:?}",
                error.map(|e| (e.message().to_string(), e.remedy().map(String::from)))
            )
        })
    }));
}

#[test]
fn supported_features_give_no_warning() {
    let folder = SceneFolder::new();
    for (placeholder, variants) in VARIANTS {
        for variant in variants.lines() {
            let substitute = |text: String, (other, variants): (&str, &str)| {
                text.replace(
                    other,
                    if other == placeholder { variant } else { variants.lines().next().unwrap() },
                )
            };
            let text = VARIANTS.into_iter().fold(SUPPORTED.to_string(), substitute);
            let (loaded, _) = folder.load(&text, true);
            let loaded = loaded
                .unwrap_or_else(|e| panic!("{variant}: {e} {:?} {:?}", e.remedy(), e.location()));
            let filename = loaded.filename.clone();
            let scene = TestScene::from(loaded);
            let image = render(&scene, 1);
            assert!(
                image.invalid_samples == 0
                    && image.radiance.iter().flatten().all(|x| x.is_finite()),
                "{variant}"
            );
            assert_eq!(scene.settings.sampling.spp, 2, "{variant}");
            assert_eq!(filename, Path::new("out.exr"));
        }
    }
}

/// Returns the start and end offsets of all numbers in a text.
fn number_spans(text: &str) -> Vec<(usize, usize)> {
    let is_separator = |c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"');
    let mut spans = Vec::new();
    let mut start = 0;
    for (end, c) in text.char_indices().filter(|&(_, c)| is_separator(c)) {
        if text[start..end].parse::<f32>().is_ok() {
            spans.push((start, end));
        }
        start = end + c.len_utf8();
    }
    spans
}

/// Loads and renders the supported features with the number at `span` replaced by `extreme`. Returns
/// whether there was an image.
fn render_with_extreme_number(
    folder: &SceneFolder,
    text: &str,
    (start, end): (usize, usize),
    extreme: &str,
) -> bool {
    let edited = format!("{}{extreme}{}", &text[..start], &text[end..]);
    // Bounds the run time: by the depth, and since skies take most of the time to load.
    let edited = edited.replace("\"integer maxdepth\" 1000000", "\"integer maxdepth\" 100");
    let line_start = text[..start].rfind('\n').unwrap_or(0);
    let is_sky = text[line_start..].trim_start().starts_with(SKY);
    let edited = if is_sky { edited } else { without_line(&edited, SKY) };
    let excerpt = &text[start.saturating_sub(60)..start];
    match folder.load(&edited, false).0 {
        Err(e) => {
            assert!(!e.message().is_empty() && e.location().is_some(), "{excerpt}{extreme}: {e}");
            false
        }
        Ok(loaded) => {
            let image = render(&loaded.into(), 1);
            assert!(image.radiance.iter().flatten().all(|x| x.is_finite()), "{excerpt}{extreme}");
            assert!(extreme == "1e30" || image.invalid_samples == 0, "{excerpt}{extreme}");
            true
        }
    }
}

/// Start of the line of the sky in [`SUPPORTED`].
const SKY: &str = "LightSource \"sky\"";

/// Removes the lines that begin with `start`.
fn without_line(text: &str, start: &str) -> String {
    text.lines().filter(|line| !line.starts_with(start)).flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn extreme_numbers_are_errors_or_render_finite_values() {
    // One extreme for each number; the others need minutes, see below.
    let rendered = render_extreme_numbers(|index| &EXTREME_NUMBERS[index % 5..][..1]);
    assert!(rendered > 200, "only {rendered} scenes rendered");
}

#[test]
#[ignore = "takes ten minutes: cargo test -p lightbound-pbrt --test integration fallbacks -- --ignored"]
fn all_extreme_numbers_are_errors_or_render_finite_values() {
    let rendered = render_extreme_numbers(|_| &EXTREME_NUMBERS);
    assert!(rendered > 1000, "only {rendered} scenes rendered");
}

/// Replaces each number of [`SUPPORTED`] by extremes, which depend on its index, and renders the
/// scenes that are valid. Returns their number.
fn render_extreme_numbers(extremes: impl Fn(usize) -> &'static [&'static str] + Sync) -> usize {
    let folder = SceneFolder::new();
    let substitute = |text: String, (placeholder, variants): (&str, &str)| {
        text.replace(placeholder, variants.lines().next().unwrap())
    };
    let text = VARIANTS.into_iter().fold(SUPPORTED.to_string(), substitute);
    let spans = number_spans(&text);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let run = |first: usize| {
            let (folder, text, spans, extremes) = (&folder, &text, &spans, &extremes);
            scope.spawn(move || {
                let spans = spans.iter().enumerate().skip(first).step_by(threads);
                let numbers =
                    spans.flat_map(|(i, span)| extremes(i).iter().map(|number| (*span, *number)));
                let images = numbers.filter(|&(span, extreme)| {
                    render_with_extreme_number(folder, text, span, extreme)
                });
                images.count()
            })
        };
        let all: Vec<_> = (0..threads).map(run).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

const EXTREME_NUMBERS: [&str; 5] = ["0", "-1", "1000000", "1e30", "-1e-30"];

#[test]
fn views_without_a_camera_give_one_warning() {
    let folder = SceneFolder::new();
    for (settings, count) in [
        ("", 0),
        ("LookAt 0 0 -5  0 0 0  0 1 0", 1),
        ("LookAt 0 0 -5  0 0 0  0 1 0 Camera \"perspective\"", 0),
    ] {
        let (loaded, warnings) = folder.load(&format!("{settings}\nWorldBegin {COMMON}"), false);
        assert!(loaded.is_ok());
        let messages: Vec<_> = warnings.iter().map(|warning| &warning.message).collect();
        assert_eq!(messages.len(), count, "{settings}: {messages:?}");
        assert!(messages.iter().all(|message| message.contains("no Camera")), "{messages:?}");
    }
}
