//! Invalid and unusual scenes never panic: each gives an error with message, location and remedy,
//! or an image of finite values.

use crate::common::{TestScene, render, write_test_files};
use lightbound_image::write::write_pfm;
use lightbound_pbrt::build::{LoadedScene, Overrides, load};
use lightbound_pbrt::diagnostics::{Diagnostics, SceneError};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Invalid settings before `WorldBegin` => parts of message and remedy.
const INVALID_SETTINGS: &str = r#"
Film "rgb" "string sensor" "canon_eos_5dd" => unknown sensor "canon_eos_5dd"; did you mean "canon_eos_5d"
Film "rgb" "float whitebalance" 90 => "whitebalance" is 90; from 1000 to 25000
Film "rgb" "integer xresolution" 0 => "xresolution" is 0; from 1
Film "rgb" "integer yresolution" -5 => "yresolution" is -5; from 1
Film "rgb" "integer xresolution" 1000000000 => 1000000000; 65536
Film "rgb" "float xresolution" 8 => float xresolution; wrong type; "integer xresolution"
Film "rgb" "integer xresolution" [8 8] => takes one value, but has 2
Film "rgb" "float cropwindow" [0 1 0] => "cropwindow" takes 4 numbers; give
Film "rgb" "float cropwindow" [0.5 0.5 0 1] => contains no pixel; larger
Film "rgb" "float cropwindow" [2 3 0 1] => contains no pixel; larger
Film "rgb" "integer pixelbounds" [0 4 0] => "pixelbounds" takes 4 integers; give
Film "rgb" "integer pixelbounds" [4 0 0 4] => contains no pixel; larger
Film "rgb" "float iso" 0 => "iso" of 0; above 0
Film "rgb" "float iso" -100 => "iso" of -100; above 0
Film "rgb" "float iso" 3e38 Camera "perspective" "float shutterclose" 1e10 => iso; inf; above 0
Film "rbg" => unknown film "rbg"; the types are rgb, gbuffer
Film "gbuffer" "string coordinatesystem" "object" => "coordinatesystem" is "object"; camera
Film "image" => image; "rgb"
Camera "perspective" "float fov" 0 => "fov" is 0; above 0
Camera "perspective" "float fov" 180 => "fov" is 180; below 180
Camera "perspective" "float fov" -30 => "fov" is -30; above 0
Camera "perspective" "float fov" nan => nan; number
Camera "perspective" "float fov" inf => inf; number
Camera "perspective" "float fov" 1e999 => 1e999
Camera "perspective" "string fov" "wide" => string fov; "float fov"
Camera "perspective" "float lensradius" -1 => "lensradius" is -1; 0 or
Camera "perspective" "float focaldistance" 0 => "focaldistance" is 0; above 0
Camera "perspective" "float frameaspectratio" -2 => "frameaspectratio" is -2; above 0
Camera "perspective" "float screenwindow" [1 -1 -1 1] => "screenwindow"; x0 < x1
Camera "perspective" "float screenwindow" [-1 1] => "screenwindow"; x0 < x1
Camera "perspective" "float shutteropen" 1 "float shutterclose" 1 => open for 0; after
Camera "prespective" => unknown camera; did you mean "perspective"
Camera "environment" => environment; spherical
Camera "spherical" "string mapping" "equirect" => mapping "equirect"; equirectangular
Camera "realistic" => needs a lens; "string lensfile"
Camera "realistic" "string lensfile" "none.dat" => none.dat; cannot be read; check
Camera "realistic" "string lensfile" "good.pfm" => good.pfm
Camera "realistic" "string lensfile" "doublet.dat" "float focusdistance" 0.1 => doublet.dat; focused at a distance of 0.1; greater
Camera "realistic" "string lensfile" "doublet.dat" "float aperturediameter" 0 => "aperturediameter" is 0; above 0
Camera "realistic" "string lensfile" "doublet.dat" "string aperture" "hexagon" => hexagon; cannot be read; pentagon
PixelFilter "box" "float xradius" 0 => xradius is 0; positive
PixelFilter "gaussian" "float yradius" -1 => yradius is -1; positive
PixelFilter "gaussian" "float sigma" 0 => sigma is 0; positive
PixelFilter "sinc" "float tau" -3 => tau is -3; positive
PixelFilter "box" "integer xradius" 1 => integer xradius; "float xradius"
PixelFilter "gausian" => unknown filter; did you mean "gaussian"
Sampler "zsobol" "integer pixelsamples" 0 => 0 samples per pixel; 1 or more
Sampler "halton" "integer pixelsamples" -4 => -4 samples per pixel; 1 or more
Sampler "stratified" "integer xsamples" -4 "integer ysamples" -4 => -4 × -4; 1 or more
Sampler "zsobol" "float pixelsamples" 4 => float pixelsamples; "integer pixelsamples"
Sampler "zsobl" => unknown sampler; did you mean "zsobol"
Sampler "random" => random; "independent"
Option "seed" "many" => seed "many"; integer
Option "sede" 3 => unknown option; did you mean "seed"
Integrator "path" "integer maxdepth" -1 => "maxdepth" is -1; 0 or more
Integrator "path" "string maxdepth" "deep" => string maxdepth; "integer maxdepth"
Integrator "paht" => unknown integrator; did you mean "path"
Integrator "lightcut" => unknown integrator; did you mean "lightcuts"
Integrator "lightcuts" "float error" -0.1 => "error" is -0.1; 0 or
Integrator "lightcuts" "float error" nan => nan; number
Integrator "lightcuts" "integer maxcut" 0 => "maxcut" is 0; 1 or more
Integrator "lightcuts" "string errormode" "clustre" => "errormode" of "lightcuts"; did you mean "cluster"
Integrator "lightcuts" "string errormode" "sum" => unknown; "sum"; the values are cluster, total
Integrator "lightcuts" "string shadowterminator" "sft" => "shadowterminator" of "lightcuts"; did you mean "soft"
Integrator "path" "string bsdfsampling" "boundz" => "bsdfsampling" of "path"; did you mean "bounds"
Integrator "lightcuts" "string mode" "random" => unknown "mode"; "random"; deterministic, stochastic
Integrator "lightcuts" "integer cutsize" 0 => "cutsize" is 0; 1 or more
Integrator "lightcuts" "integer areapoints" -1 => "areapoints" is -1; 1 or more
Integrator "lightcuts" "integer skypoints" 0 => "skypoints" is 0; 1 or more
Integrator "lightcuts" "integer error" 1 => integer error; "float error"
Integrator "lightcuts" "integer maxdepth" -1 => "maxdepth" is -1; 0 or more
Accelerator "bhv" => unknown accelerator; the types are bvh
ColorSpace "srbg" => unknown colour space; did you mean "srgb"
Scale 1 0 1 Camera "perspective" => singular; invertible
LookAt 0 0 0  0 0 0  0 1 0 Camera "perspective" => coincide; invertible
LookAt 0 0 0  0 1 0  0 1 0 Camera "perspective" => up vector; invertible
Scale 1e-60 1e-60 1e-60 Camera "perspective" => camera; cannot be inverted; scale
MakeNamedMedium "fog" "string type" "homogenous" => unknown medium; did you mean "homogeneous"
"#;

/// Invalid statements after `WorldBegin` => parts of message and remedy.
const INVALID_WORLDS: &str = r#"
# Lights.
LightSource "infinte" => unknown light; did you mean "infinite"
LightSource "infinite" "float L" 1 => float L; "rgb L"
LightSource "infinite" "rgb L" [1 1] => rgb L; 2 numbers; 3
LightSource "infinite" "rgb L" [1 1 -1] => negative; 0 or more
LightSource "infinite" "rgb L" [1 1 nan] => nan
LightSource "infinite" "blackbody L" 0 => not above 0; kelvin
LightSource "infinite" "spectrum L" "stdillum-D66" => stdillum-D66; did you mean "stdillum-D65"
LightSource "infinite" "spectrum L" [400 1 500] => 3 numbers; pairs
LightSource "infinite" "spectrum L" [500 1 400 1] => do not increase; sort
LightSource "infinite" "rgb L" [1 1 1] "string filename" "good.pfm" => both "L" and "filename"; remove
Material "dielectric" "spectrum eta" [400 1.5 500 0 700 1.5] => not above 0; above 0
LightSource "sky" "float elevation" -3 => "elevation" is -3; expected 0 to 90
LightSource "sky" "float scale" -1 => "scale" is -1; 0 or more
LightSource "infinite" "float scale" -1 => "scale" is -1; 0 or more
LightSource "infinite" "string filename" "good.pfm" "float scale" -1 => "scale" is -1; 0 or more
LightSource "distant" "float scale" -1e-3 => "scale" is -0.001; 0 or more
AreaLightSource "diffuse" "float scale" -1 Shape "sphere" => "scale" is -1; 0 or more
AreaLightSource "diffuse" "float scale" -1 Shape "cylinder" => "scale" is -1; 0 or more
LightSource "sky" "float turbidity" 1 => "turbidity" is 1; expected 2 to 10
LightSource "infinite" "point3 portal" [0 0 0 1 0 0 1 1 0] => "portal" has 3 points; 4 corners
LightSource "infinite" "point3 portal" [0 0 0 1 0 0 1 1 0 0 2 0] => not a rectangle; 4 corners
LightSource "infinite" "point3 portal" [-1e20 -1e20 0 1e20 -1e20 0 1e20 1e20 0 -1e20 1e20 0] => "portal" has coordinates up to 1e20; closer
LightSource "goniometric" => needs an image; "string filename"
LightSource "goniometric" "string filename" "wide.pfm" => 4 × 3 pixels; square
LightSource "goniometric" "string filename" "nan.pfm" => nan.pfm; texel (1, 1); not finite; export
LightSource "projection" => needs an image; "string filename"
LightSource "projection" "string filename" "good.pfm" "float fov" 180 => "fov" is 180; between 0 and 180
AreaLightSource "diffuse" "string filename" "nan.pfm" Shape "sphere" => nan.pfm; texel (1, 1); not finite; export
LightSource "infinite" "string filename" "wide.pfm" => wide.pfm; 4 × 3; twice as wide; square
LightSource "infinite" "string filename" "nan.pfm" => nan.pfm; texel (1, 1); not finite; fix
LightSource "infinite" "string filename" "good.pfm" "float scale" 3e38 "float illuminance" 1e30 => too bright; smaller
LightSource "point" "float power" 1e38 "float scale" 1e38 => "power"; too bright; smaller
LightSource "point" "float scale" "x" => expected a number; write a number
LightSource "distant" "point3 from" [1 1 1] "point3 to" [1 1 1] => distant; "from" and "to"; different
LightSource "spot" "point3 from" [1 1 1] "point3 to" [1 1 1] => spot; "from" and "to"; different
LightSource "spot" "float coneangle" 0 => "coneangle" is 0; above 0
LightSource "spot" "float coneangle" 10 "float conedeltaangle" 11 => "conedeltaangle" is 11; 0 to coneangle
Scale 1e-60 1e-60 1e-60 LightSource "point" => "point"; cannot be inverted; scale
AreaLightSource "difuse" Shape "sphere" => unknown area light; did you mean "diffuse"
AreaLightSource "diffuse" "rgb L" [1 1 1] "string filename" "good.png" Shape "sphere" => both "L" and "filename"; remove
AreaLightSource "diffuse" "rgb twosided" [1 1 1] Shape "sphere" => rgb twosided; "bool twosided"
# Shapes.
Shape "shpere" => unknown shape; did you mean "sphere"
Shape "cone" => cone; trianglemesh
Shape "sphere" "float radius" 0 => "radius" is 0; above 0
Shape "sphere" "float radius" -1 => "radius" is -1; above 0
Shape "sphere" "float radius" nan => nan
Shape "sphere" "integer radius" 1 => integer radius; "float radius"
Shape "sphere" "float phimax" 0 => "phimax" is 0; above 0
Shape "implicit" => needs a shader; string filename
Shape "implicit" "string filename" "none.wgsl" => none.wgsl; not found; path
Shape "implicit" "string filename" "lamp.wgsl" => lamp.wgsl; is a BRDF, not a function
Shape "implicit" "string filename" "ball.wgsl" "float radius" 11 => radius; is 11, out of range
Shape "implicit" "string filename" "ball.wgsl" "float radios" 1 => radios; did you mean "radius"
Shape "implicit" "string filename" "ball.wgsl" "point3 p1" [1 1 0] => no volume; corners
Texture "f" "float" "constant" Shape "implicit" "string filename" "ball.wgsl" "texture radius" "f" => is a texture; constants
Shape "trianglemesh" "point3 P" [-1 -1 3 1 -1 3 0 1 3] "string displacement" "none.wgsl" => none.wgsl; not found; path
Shape "trianglemesh" "point3 P" [-1 -1 3 1 -1 3 0 1 3] "string displacement" "ball.wgsl" => ball.wgsl; displace
Shape "trianglemesh" "point3 P" [-1 -1 3 1 -1 3 0 1 3] "string displacement" "flat.wgsl" => flat.wgsl; other arguments; the signature is `fn displace(uv: vec2f, p: vec3f, n: vec3f, m: Params) -> f32`
Shape "trianglemesh" "point3 P" [-1 -1 3 1 -1 3 0 1 3] "string displacement" "sorted.wgsl" => sorted.wgsl; `p` of `displace` cannot be declared `fact: sorted`; remove the fact
Shape "trianglemesh" "point3 P" [-1 -1 3 1 -1 3 0 1 3] "string displacement" "bumps.wgsl" "float height" 11 => height; is 11, out of range
Shape "trianglemesh" "point3 P" [-1 -1 3 1 -1 3 0 1 3] "string displacement" "bumps.wgsl" "float hight" 1 => hight; did you mean "height"
Shape "trianglemesh" "point3 P" [-1 -1 3 1 -1 3 0 1 3] "string displacement" "bumps.wgsl" "float edgelength" 0 => "edgelength" is 0; above 0
Shape "trianglemesh" "point3 P" [-1 -1 3 1 -1 3 0 1 3] "string displacement" "bumps.wgsl" "float edgelength" 1e-9 => too many triangles; increase "edgelength"
Texture "f" "float" "constant" Shape "trianglemesh" "point3 P" [-1 -1 3 1 -1 3 0 1 3] "string displacement" "bumps.wgsl" "texture height" "f" => is a texture; constants
Shape "trianglemesh" "point3 P" [-2 -1 3 1 -1 3 0 1 3] "string displacement" "bumps.wgsl" => the displacement at (-2, -1, 3); not finite; divides by zero
Shape "curve" => needs control points; point3 P
Shape "curve" "point3 P" [0 0 0 1 1 1] => 2 control points; degree 3 have 4 + 3 n
Shape "curve" "point3 P" [0 0 0 1 1 1 2 2 2 3 3 3] "integer degree" 4 => degree 4; 2 or 3
Shape "curve" "point3 P" [0 0 0 1 1 1 2 2 2 3 3 3] "string basis" "bezir" => unknown curve basis "bezir"; bezier
Shape "curve" "point3 P" [0 0 0 1 1 1 2 2 2 3 3 3] "float width1" -1 => the width of this curve is -1; 0
Shape "curve" "point3 P" [0 0 0 1 1 1 2 2 2 3 3 3] "string type" "ribbon" => 0 normals; normal N
Shape "curve" "point3 P" [0 0 0 1 1 1 2 2 2 3 3 3] Shape "curve" "point3 P" [0 0 0 1 1 1] => 2 control points; degree 3
Shape "cylinder" "float radius" -1 => "radius" is -1; above 0
Shape "cylinder" "float zmin" 2 "float zmax" 2 => "zmax" is 2; differs from zmin
Shape "disk" "float radius" -1 => "radius" is -1; above 0
Shape "disk" "float radius" 1 "float innerradius" 2 => "innerradius" is 2
Shape "trianglemesh" => needs positions; "point3 P"
Shape "trianglemesh" "point3 P" [] => no values; give
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 1 1] => 8 numbers; 3 numbers for each
Shape "trianglemesh" "point2 P" [0 0 0 1 0 0] => point2 P; "point3 P"
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0 1 1 0] => 4 vertices, but no indices; give
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 3] => vertex 3; 3 vertices
Shape "loopsubdiv" "point3 P" [0 0 0 1 0 0 0 1 0] "integer levels" -1 => "levels" is -1; give 0 or more
Shape "loopsubdiv" "point3 P" [0 0 0 1 0 0 0 1 0] "integer levels" 20 => 20 levels of subdivision of 1 triangles; more than 33554432; lower "levels"
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "point3 P1" [0 0 0 1 0 0 0 1e20 0] => "trianglemesh" has coordinates up to 1.0e20; scale
ActiveTransform EndTime Translate 0 1e20 0 ActiveTransform All Shape "sphere" => this shape has coordinates up to 1.0e20; scale
ObjectBegin "o" Shape "sphere" ObjectEnd Scale 1e20 1e20 1e20 ObjectInstance "o" => this instance has coordinates up to 1.0e20; scale
LightSource "point" "rgb I" [1e38 1e38 1e38] "float scale" 10 => too bright; smaller
LightSource "spot" "rgb I" [1e38 1e38 1e38] "float scale" 10 => too bright; smaller
LightSource "infinite" "rgb L" [1e38 1e38 1e38] "float scale" 10 => too bright; smaller
AreaLightSource "diffuse" "rgb L" [10 10 10] "float scale" 1e38 Shape "sphere" => too bright; smaller
Shape "sphere" "float radius" 1e19 => "sphere" has coordinates up to 1.0e19; scale the scene down
Translate 0 1e20 0 Shape "sphere" => "sphere" has coordinates up to 1.0e20; scale the scene down
Shape "trianglemesh" "point3 P" [0 0 0 1e20 0 0 0 1e20 0] => "trianglemesh" has coordinates up to 1.0e20; scale
Shape "bilinearmesh" "point3 P" [0 0 0 1e20 0 0 0 1e20 0 1 1 0] => "bilinearmesh" has coordinates up to 1.0e20; scale
Shape "curve" "point3 P" [0 0 0 1 1 1 2 2 2 3 3 3] "float width" 1e30 => "curve" has coordinates up to; scale
Shape "loopsubdiv" "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 7] => vertex 7; 3 vertices
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 -2] => -2 is negative; from 0
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 2 0] => 4 indices; multiple of 3
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "float indices" [0 1 2] => float indices; "integer indices"
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "normal N" [0 0 1] => 1 normals for 3 vertices; one per vertex
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "point2 uv" [0 0 1 1] => 2 texture coordinates for 3; one per vertex
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 inf] => inf
Scale 1e30 1e30 1e30 Shape "trianglemesh" "point3 P" [0 0 0 1e30 0 0 0 1e30 0] => not finite
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "vector3 S" [0 0 1] => 1 tangents for 3 vertices; as many as "point3 P"
Texture "t" "float" "attribute" => the name of an attribute of vertices is missing; "string attribute"
Texture "t" "float" "checkerboard" "string mapping" "attribute" => the name of an attribute of vertices is missing; "string attribute"
Texture "t" "float" "attribute" "string attribute" "a" Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "float vertex_a" [1 2] => "vertex_a" has 2 values for 3 vertices; one for each
Texture "t" "float" "attribute" "string attribute" "a" Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "integer vertex_a" [1 2 3] => "integer vertex_a" has the wrong type; "rgb vertex_a"
Texture "f" "float" "constant" Texture "t" "float" "attribute" "string attribute" "a" "texture default" "f" => the default is a texture; constant
Shape "bilinearmesh" "point3 P" [0 0 0 1 0 0 0 1 0 1 1 0] "integer indices" [0 1 2] => 3 indices; multiple of 4
Shape "bilinearmesh" "point3 P" [0 0 0 1 0 0 0 1 0 1 1 0] "integer indices" [0 1 2 9] => vertex 9; 4 vertices
Shape "plymesh" => needs a file; "string filename"
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "normal N1" [0 0 1 0 0 1 0 0 1] => "N1"; no positions; "point3 P1"
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "point3 P1" [0 0 1] => 1 end positions for 3 vertices
Shape "bilinearmesh" "point3 P" [0 0 0 1 0 0 0 1 0 1 1 0] "point3 P1" [0 0 1] => 1 end positions for 4 vertices
Scale 1 1 0 Shape "sphere" => singular; Scale at; invertible
Scale 1 1 0 Texture "t" "float" "checkerboard" "integer dimension" 3 => texture; singular; Scale at
Scale 1e-60 1e-60 1e-60 Shape "sphere" => "sphere"; cannot be inverted; scale
ObjectBegin "o" Shape "sphere" ObjectEnd Scale 1e-60 1e-60 1e-60 ObjectInstance "o" => instance; cannot be inverted; scale
ObjectInstance "o" => "o" is not defined; define
Transform [1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 0] Shape "sphere" => not affine; affine
Translate 1e300 0 0 Translate 1e308 0 0 Scale 1e200 1 1 Scale 1e200 1 1 Shape "sphere" => transform
# Materials.
Material "difuse" => unknown material; did you mean "diffuse"
Material "matte" => matte; "diffuse"
Texture "t" "float" "imagemap" "string filename" "good.png" "float maxanisotropy" 0.5 => "maxanisotropy" is 0.5; 1 to 64
Material "diffuse" "string normalmap" "no.png" => normalmap; no.png; relative
Material "diffuse" "string normalmap" "height.pfm" => normalmap; height.pfm has one channel; "texture displacement"
Material "diffuse" "texture displacement" "missing" => texture "missing" is not defined; define
Material "diffuse" "spectrum displacement" [300 1 900 1] => spectrum displacement; "float displacement"
Texture "f" "float" "constant" Material "diffuse" "texture normalmap" "f" => texture normalmap; "string normalmap"
Material "diffuse" "texture normalmap" "good.png" => texture "good.png" is not defined; write "string normalmap" "good.png"
Material "measured" => needs a file; "string filename"
Material "diffuse" "float reflectance" 0.5 => float reflectance; "rgb reflectance"
Material "diffuse" "texture reflectance" "wod" Texture "wood" "spectrum" "constant" => "wod"; "wood"
Texture "f" "float" "constant" Material "diffuse" "texture reflectance" "f" => type spectrum; "f"; define
Texture "s" "spectrum" "constant" Material "conductor" "texture roughness" "s" => type float; "s"; define
Texture "s" "spectrum" "constant" Shape "sphere" "texture alpha" "s" => type float; "s"; define
Material "conductor" "rgb reflectance" [1 1 1] "rgb eta" [1 1 1] => both "reflectance" and "eta"; remove
Material "coatedconductor" "rgb reflectance" [1 1 1] "rgb conductor.k" [1 1 1] => both "reflectance"; remove
Material "conductor" "spectrum eta" "metal-Xx-eta" => metal-Xx-eta; did you mean "metal-
Material "dielectric" "spectrum eta" "glass-F12" => glass-F12; did you mean "glass-F1
Material "dielectric" "spectrum eta" "unobtainium" => unobtainium; named spectrum
Material "conductor" "float k" 3 => float k; "rgb k" or "spectrum k" or "texture k"
Material "dielectric" "float eta" 0 => index of refraction is 0; above 0
Material "dielectric" "rgb eta" [0 0 0] => refraction is (0, 0, 0); above 0
Material "thindielectric" "float eta" -1.5 => index of refraction is -1.5; above 0
Material "dielectric" "spectrum eta" "blue.spd" => "eta" is 0 at 587.56 nm; covers
Material "dielectric" "bool roughness" true => bool roughness; "float roughness"
NamedMaterial "m" => "m" is not defined; define
Material "mix" => two materials; give
Material "mix" "string materials" ["a" "b"] => no material is named "a"; MakeNamedMaterial
Material "mix" "string materials" ["a" "b" "c"] => two materials; give
MakeNamedMaterial "m" "string type" "mix" "string materials" ["m" "m"] NamedMaterial "m" => contains itself; cycle
MakeNamedMaterial "a" "string type" "mix" "string materials" ["b" "b"] MakeNamedMaterial "b" "string type" "mix" "string materials" ["c" "c"] MakeNamedMaterial "c" "string type" "mix" "string materials" ["d" "a"] MakeNamedMaterial "d" "string type" "diffuse" => contains itself; cycle
Material "mix" "string materials" ["a" "a"] "rgb amount" [1 1 1] MakeNamedMaterial "a" "string type" "diffuse" => rgb amount; "float amount"
Material "coateddiffuse" "float eta" 0 => index of refraction is 0; above 0
Material "coatedconductor" "float interface.eta" -1 => index of refraction is -1; above 0
Material "diffusetransmission" "float transmittance" 0.5 => float transmittance; "rgb transmittance"
# Textures.
Texture "t" "spectrum" "imagmap" => unknown texture; did you mean "imagemap"
Texture "t" "color" "constant" => color; spectrum
Texture "t" "spectrum" "imagemap" => needs a file; "string filename"
Texture "t" "spectrum" "imagemap" "string filename" "good.png" "string wrap" "mirror" => `mirror`; use repeat
Texture "t" "spectrum" "imagemap" "string filename" "good.png" "string filter" "trilnear" => filter; did you mean
Texture "t" "spectrum" "imagemap" "string filename" "good.png" "string encoding" "gamma -1" => gamma -1; positive
Texture "t" "spectrum" "imagemap" "string filename" "good.png" "string mapping" "uvw" => mapping "uvw"; uv
Texture "t" "spectrum" "checkerboard" "integer dimension" 4 => 2 or 3 dimensions, not 4; give
Texture "t" "float" "scale" "texture tex" "t" => "t"; define
Texture "t" "spectrum" "fbm" => "fbm"; "float"
Texture "t" "float" "marble" => "marble"; "spectrum"
Texture "t" "float" "wrinkled" "integer octaves" -1 => "octaves" is -1; 0 to 64
Texture "t" "float" "directionmix" "vector3 dir" [0 0 0] => "vector3 dir"; not zero
Texture "t" "float" "constant" "rgb value" [1 1 1] => rgb value; "float value"
Scale 1e-60 1e-60 1e-60 Texture "t" "float" "checkerboard" "integer dimension" 3 => "checkerboard"; cannot be inverted
"#;

/// Statements with missing, truncated and invalid files => parts of message and remedy.
const INVALID_FILES: &str = r#"
Shape "plymesh" "string filename" "good.ply" "string filename1" "none.ply" => none.ply; cannot be read; check
Shape "plymesh" "string filename" "good.ply" "string filename1" "turned.ply" => the faces of; turned.ply; good.ply; same order
Shape "plymesh" "string filename" "good.ply" "string filename1" "nan.ply" => nan.ply: the end position of vertex 2 is not finite; check
Shape "plymesh" "string filename" "none.ply" => none.ply; cannot be read; check
Shape "plymesh" "string filename" "empty" => empty; not a PLY; export
Shape "plymesh" "string filename" "junk.bin" => junk.bin; not a PLY; export
Shape "plymesh" "string filename" "cut.ply" => cut.ply; truncated; export
Shape "plymesh" "string filename" "cut.ply.gz" => cut.ply.gz; cannot be read; damaged
Shape "plymesh" "string filename" "index.ply" => index.ply; vertex 7; 3 vertices; export
Shape "plymesh" "string filename" "nan.ply" => nan.ply; vertex 2 is not finite
Shape "plymesh" "string filename" "noface.ply" => noface.ply; faces
Shape "plymesh" "string filename" "." => cannot be read; check
Texture "t" "spectrum" "imagemap" "string filename" "none.png" => none.png; cannot be read; check
Texture "t" "spectrum" "imagemap" "string filename" "empty" => empty; the file is empty; export
Texture "t" "spectrum" "imagemap" "string filename" "junk.bin" => junk.bin; unknown image format; convert
Texture "t" "spectrum" "imagemap" "string filename" "cut.png" => cut.png; PNG; export
Texture "t" "spectrum" "imagemap" "string filename" "cut.pfm" => cut.pfm; PFM; export
Texture "t" "spectrum" "imagemap" "string filename" "cut.exr" => cut.exr; EXR; export
LightSource "infinite" "string filename" "none.exr" => none.exr; cannot be read; check
LightSource "infinite" "string filename" "cut.exr" => cut.exr; EXR; export
Material "dielectric" "spectrum eta" "none.spd" => none.spd; cannot be read; check
Material "measured" "string filename" "none.bsdf" => none.bsdf; cannot be read; check
Material "measured" "string filename" "junk.bin" => junk.bin; not a tensor file; RGL
Material "measured" "string filename" "cut.bsdf" => cut.bsdf; truncated; RGL
Shape "plymesh" "string filename" "good.ply" "float displacement" 1 => without texture coordinates; u and v
Shape "plymesh" "string filename" "square.ply" "float displacement" 1 "float edgelength" 0 => "edgelength" is 0; above 0
Shape "plymesh" "string filename" "square.ply" "float displacement" 1 "float edgelength" 1e-6 => more than 33554432 triangles; increase "edgelength"
Material "dielectric" "spectrum eta" "odd.spd" => odd.spd; odd number of values; pairs
Material "dielectric" "spectrum eta" "word.spd" => word.spd; line 2; green
Material "dielectric" "spectrum eta" "back.spd" => back.spd; 500 nm to 400 nm; sort
Include "none.pbrt" => none.pbrt; cannot read; folder
Include "cut.pbrt.gz" => cut.pbrt.gz; cannot read
Include "scene.pbrt" => scene.pbrt; includes itself; break
"#;

/// Iterates over the lines of a table, without comments.
fn lines(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter(|line| !line.is_empty() && !line.starts_with("# "))
}

/// Iterates over the statements of a table and the text expected in their messages.
fn cases(table: &str) -> impl Iterator<Item = (&str, &str)> {
    lines(table).map(|line| line.split_once(" => ").unwrap())
}

/// A temporary folder of valid and invalid files.
struct SceneFolder {
    dir: TempDir,
}

impl SceneFolder {
    fn new() -> SceneFolder {
        let folder = SceneFolder { dir: tempfile::tempdir().unwrap() };
        let file = |name: &str| folder.path(name);
        write_test_files(folder.dir.path());
        let ply = std::fs::read_to_string(file("good.ply")).unwrap();
        folder.write("cut.ply", &ply.as_bytes()[..ply.len() - 12]);
        folder.write("index.ply", ply.replace("3 0 1 2", "3 0 1 7").as_bytes());
        folder.write("turned.ply", ply.replace("3 0 1 2", "3 0 2 1").as_bytes());
        folder.write("nan.ply", ply.replace("0 1 3", "0 nan 3").as_bytes());
        folder.write("flat.ply", ply.replace("0 1 3", "1 -1 3").as_bytes());
        let no_face = ply.replace("face 1", "face 0").replace("3 0 1 2\n", "");
        folder.write("noface.ply", no_face.as_bytes());
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(ply.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        folder.write("good.ply.gz", &gzip);
        folder.write("cut.ply.gz", &gzip[..gzip.len() / 2]);
        folder.write("cut.pbrt.gz", &gzip[..gzip.len() / 2]);
        let square = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\n\
                      property float z\nproperty float u\nproperty float v\nelement face 1\n\
                      property list uchar int vertex_indices\nend_header\n-1 -1 3 0 0\n1 -1 3 1 0\n\
                      1 1 3 1 1\n-1 1 3 0 1\n4 0 1 2 3\n";
        folder.write("square.ply", square.as_bytes());
        folder.truncate("bronze.bsdf", "cut.bsdf");
        folder.truncate("good.png", "cut.png");
        folder.truncate("good.pfm", "cut.pfm");
        write_pfm(&file("wide.pfm"), 4, 3, &[[1.0; 3]; 12]).unwrap();
        write_pfm(&file("black.pfm"), 2, 2, &[[0.0; 3]; 4]).unwrap();
        write_pfm(&file("nan.pfm"), 2, 2, &[[1.0; 3], [1.0; 3], [1.0; 3], [1.0, f32::NAN, 1.0]])
            .unwrap();
        exr::prelude::write_rgb_file(file("good.exr"), 4, 4, |x, y| (x as f32, y as f32, 1.0))
            .unwrap();
        folder.truncate("good.exr", "cut.exr");
        folder.write("junk.bin", b"not a file format");
        folder.write("empty", b"");
        folder.write("blue.spd", b"400 1.6\n500 1.5\n");
        folder.write("odd.spd", b"400 1.6 500\n");
        folder.write("word.spd", b"400 1.6\n500 green\n");
        folder.write("back.spd", b"500 1.6 400 1.5\n");
        folder.write("loop-a.pbrt", b"\nInclude \"loop-b.pbrt\"\n");
        folder.write("loop-b.pbrt", b"Include \"loop-a.pbrt\"\n");
        folder.write("bad.pbrt", b"\n\nShape \"sphere\" \"float radius\" -1\n");
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// Writes the first two thirds of the file `name` to the file `truncated`.
    fn truncate(&self, name: &str, truncated: &str) {
        let bytes = std::fs::read(self.path(name)).unwrap();
        self.write(truncated, &bytes[..bytes.len() * 2 / 3]);
    }

    fn load(&self, head: &str, world: &str) -> Result<LoadedScene, SceneError> {
        self.write("scene.pbrt", format!("{head}\nWorldBegin\n{world}\n").as_bytes());
        let overrides = Overrides { resolution: Some((8, 8)), ..Overrides::default() };
        load(&self.path("scene.pbrt"), &overrides, &mut Diagnostics::new(false))
    }

    /// Checks that each statement is rejected at its line, with all parts in message and remedy.
    fn assert_rejects<'a>(&self, cases: impl Iterator<Item = (&'a str, &'a str)>, in_world: bool) {
        let line = if in_world { 3 } else { 1 };
        let mut failures = String::new();
        for (text, parts) in cases {
            let (head, world) = if in_world { ("", text) } else { (text, "") };
            let Err(error) = self.load(head, world) else {
                failures += &format!("accepted: {text}\n");
                continue;
            };
            let actual = format!("{} | {}", error.message(), error.remedy().unwrap_or_default());
            let location = error.location().map(|l| (l.path().to_path_buf(), l.line));
            let missing: Vec<&str> =
                parts.split("; ").filter(|part| !actual.contains(part)).collect();
            if !missing.is_empty() || location != Some((self.path("scene.pbrt"), line)) {
                failures +=
                    &format!("{text}\n  lacks {missing:?} or location: {location:?} {actual}\n");
            }
        }
        assert!(failures.is_empty(), "{failures}");
    }

    /// Checks that a scene renders to finite values without invalid samples.
    fn assert_renders(&self, head: &str, world: &str) {
        let head = if head.contains("Sampler") {
            head.into()
        } else {
            format!("{head} Sampler \"zsobol\" \"integer pixelsamples\" 2")
        };
        let scene: TestScene = self
            .load(&head, world)
            .unwrap_or_else(|e| panic!("{head} | {world}\n{e}: {:?}", e.remedy()))
            .into();
        let image = render(&scene, 1);
        assert!(image.radiance.iter().flatten().all(|x| x.is_finite()), "{head} | {world}");
        assert_eq!(image.invalid_samples, 0, "{head} | {world}");
        let features = image.features.unwrap();
        let all = [&features.albedo, &features.normal, &features.position]
            .into_iter()
            .flatten()
            .flatten();
        assert!(all.chain(&features.depth).all(|x| x.is_finite()), "{head} | {world}");
    }
}

#[test]
fn invalid_settings_are_errors_with_remedies() {
    let folder = SceneFolder::new();
    folder.assert_rejects(cases(INVALID_SETTINGS), false);
    // Width and height are each in range, but their product is too large.
    folder.write(
        "huge.pbrt",
        b"Film \"rgb\" \"integer xresolution\" 65536 \"integer yresolution\" 65536 WorldBegin",
    );
    let error =
        load(&folder.path("huge.pbrt"), &Overrides::default(), &mut Diagnostics::new(false))
            .err()
            .unwrap();
    assert!(
        error.message().contains("65536 × 65536") && error.remedy().unwrap().contains("lower"),
        "{error}"
    );
}

#[test]
fn invalid_worlds_are_errors_with_remedies() {
    let folder = SceneFolder::new();
    folder.assert_rejects(cases(INVALID_WORLDS), true);
}

#[test]
fn shape_errors_point_at_the_parameter() {
    let folder = SceneFolder::new();
    for (shape, param) in [
        ("sphere", r#""float radius" -1"#),
        ("disk", r#""float innerradius" -1"#),
        ("cylinder", r#""float phimax" 0"#),
        ("loopsubdiv", r#""integer levels" -1"#),
        ("loopsubdiv", r#""integer levels" 30"#),
        ("loopsubdiv", r#""integer indices" [0 1 7]"#),
        ("trianglemesh", r#""integer indices" [0 1 7]"#),
        ("trianglemesh", r#""integer indices" [0 1]"#),
        ("bilinearmesh", r#""normal N" [0 0 1]"#),
        ("trianglemesh", r#""point2 uv" [0 0]"#),
        ("plymesh", r#""string filename" "cut.ply""#),
    ] {
        let positions = match shape {
            "trianglemesh" | "loopsubdiv" => r#""point3 P" [0 0 0 1 0 0 0 1 0]"#,
            "bilinearmesh" => r#""point3 P" [0 0 0 1 0 0 0 1 0 1 1 0]"#,
            _ => "",
        };
        let error = folder.load("", &format!("Shape \"{shape}\" {positions}\n{param}")).err();
        let error = error.unwrap_or_else(|| panic!("{shape} {param}"));
        assert_eq!(error.location().map(|l| l.line), Some(4), "{shape} {param}: {error}");
        // Messages about files contain the remedy.
        assert!(error.remedy().is_some() || shape == "plymesh", "{shape} {param}: {error}");
    }
}

#[test]
fn missing_files_have_one_remedy() {
    let folder = SceneFolder::new();
    for text in [
        r#"Texture "t" "spectrum" "imagemap" "string filename" "none.png""#,
        r#"Material "diffuse" "string normalmap" "none.png""#,
        r#"LightSource "infinite" "string filename" "none.png""#,
    ] {
        let error = folder.load("", text).err().unwrap();
        let text = format!("{} | {}", error.message(), error.remedy().unwrap_or_default());
        assert_eq!(text.matches("check the path").count(), 1, "{text}");
    }
}

#[test]
fn invalid_files_are_errors_with_remedies() {
    let folder = SceneFolder::new();
    let shape = |file: &str| format!("Shape \"plymesh\" \"string filename\" \"{file}\"");
    let texture = |file: &str| {
        format!("Texture \"t\" \"spectrum\" \"imagemap\" \"string filename\" \"{file}\"")
    };
    let environment =
        |file: &str| format!("LightSource \"infinite\" \"string filename\" \"{file}\"");
    let glass = |file: &str| format!("Material \"dielectric\" \"spectrum eta\" \"{file}\"");
    for file in ["good.ply", "good.ply.gz"] {
        folder.assert_renders("", &shape(file));
    }
    for file in ["good.png", "good.pfm", "good.exr"] {
        folder.assert_renders("", &format!("{} {}", texture(file), environment(file)));
    }
    folder.assert_renders("", &glass("good.spd"));
    folder.assert_rejects(cases(INVALID_FILES), true);
    // Errors in included files are located there.
    for (world, file, line, words) in [
        (
            "Include \"loop-a.pbrt\"",
            "loop-b.pbrt",
            1,
            ["loop-a.pbrt includes itself", "break the cycle"],
        ),
        ("Import \"bad.pbrt\"", "bad.pbrt", 3, ["\"radius\" is -1", "above 0"]),
    ] {
        let error = folder.load("", world).err().unwrap();
        let text = format!("{} {}", error.message(), error.remedy().unwrap_or_default());
        assert!(words.iter().all(|w| text.contains(w)), "{text}");
        let location = error.location().unwrap();
        assert_eq!((location.path(), location.line), (folder.path(file).as_path(), line));
    }
    let error =
        load(Path::new("/no/such.pbrt"), &Overrides::default(), &mut Diagnostics::new(false))
            .err()
            .unwrap();
    assert!(error.message().contains("cannot read /no/such.pbrt") && error.remedy().is_some());
}

/// A floor and a light.
const FLOOR: &str = r#"LightSource "infinite" Shape "trianglemesh" "point3 P" [-9 -1 0 9 -1 0 9 -1 9 -9 -1 9] "integer indices" [0 1 2 0 2 3]"#;

/// Unusual but valid settings.
const UNUSUAL_SETTINGS: &str = r#"
Film "rgb" "float cropwindow" [0.8 0.2 1 0]
Film "rgb" "float cropwindow" [-3 0.3 0 7]
Film "rgb" "integer pixelbounds" [-3 2 6 100]
Film "rgb" "float iso" 1e-30
Camera "perspective" "float fov" 179.999
Camera "perspective" "float fov" 1e-40
Camera "perspective" "float lensradius" 1e6 "float focaldistance" 1e-6
Camera "perspective" "float frameaspectratio" 1e30
Camera "perspective" "float frameaspectratio" 1e-30
Camera "orthographic" "float screenwindow" [-1e30 1e30 -1e-30 1e-30]
Scale 1e-6 1e-6 1e-6 Camera "perspective"
Scale -1 1 1 Camera "perspective"
Scale 1e15 1 1e-15 Camera "orthographic"
Translate 1e20 0 0 Camera "perspective"
PixelFilter "box" "float xradius" 1e9 "float yradius" 1e-9
PixelFilter "gaussian" "float xradius" 1e6
PixelFilter "sinc" "float xradius" 100
Sampler "stratified" "integer xsamples" 1 "integer ysamples" 2
Sampler "independent" "integer pixelsamples" 3 "integer seed" -1
Option "seed" 4000000000
Integrator "path" "integer maxdepth" 0
Integrator "path" "integer maxdepth" 2147483647
"#;

/// Unusual but valid worlds.
const UNUSUAL_WORLDS: &str = r#"
LightSource "infinite"
LightSource "infinite" "rgb L" [0 0 0]
LightSource "infinite" "string filename" "good.pfm" "float illuminance" 3
LightSource "infinite" "string filename" "black.pfm" "float illuminance" 3
Scale 1 -1 30 LightSource "infinite" "string filename" "good.pfm"
LightSource "point" "blackbody I" 1e-3
LightSource "point" "blackbody I" 1e9
LightSource "point" "point3 from" [0 -1 3]
LightSource "point" "float power" -3 "float scale" 0
LightSource "point" "spectrum I" [100 1 200 1]
LightSource "spot" "float coneangle" 180 "float conedeltaangle" 180
LightSource "spot" "float coneangle" 1e-30 "float conedeltaangle" 0 "float power" 1
ObjectBegin "o" ObjectEnd ObjectInstance "o"
ObjectBegin "o" Shape "sphere" ObjectEnd Scale 1 -1e6 1e-6 ObjectInstance "o"
ObjectBegin "o" Shape "sphere" "float radius" 1e-3 ObjectEnd Translate 0 0 3 Scale 1e18 1e18 1e18 ObjectInstance "o"
Shape "sphere" "float radius" 1e-30
Shape "sphere" "float radius" 1e15
Shape "sphere" "float zmin" 3 "float zmax" -3 "float phimax" 1e9
Scale 1e-12 1 1e12 Shape "sphere"
Translate 0 0 1e18 Shape "sphere" "float radius" 1e17
Material "diffuse" "rgb reflectance" [9 1e30 0] Shape "sphere" "float radius" 5
Material "conductor" "float roughness" -1 Shape "sphere" "float radius" 5
Material "conductor" "float roughness" 1e30 Shape "sphere" "float radius" 5
Material "conductor" "float uroughness" 0 "float vroughness" 1e30 "bool remaproughness" false Shape "sphere" "float radius" 5
Material "conductor" "rgb reflectance" [7 1 0] Shape "sphere" "float radius" 5
Material "conductor" "rgb eta" [0 0 0] "rgb k" [0 0 0] Shape "sphere" "float radius" 5
Material "conductor" "rgb eta" [1e30 0 1e30] "rgb k" [1e30 1e30 0] Shape "sphere" "float radius" 5
Material "dielectric" "float eta" 1e-30 "float roughness" 0.3 Shape "sphere" "float radius" 5
Material "dielectric" "float eta" 1e30 Shape "sphere" "float radius" 5
Material "dielectric" "float eta" 1 "float roughness" 0.5 Shape "sphere" "float radius" 5
Material "thindielectric" "float eta" 1e30 Shape "sphere" "float radius" 5
Material "diffusetransmission" "rgb reflectance" [9 1e30 0] "rgb transmittance" [1 1 1] Shape "sphere" "float radius" 5
Material "diffusetransmission" "float scale" -1e30 Shape "sphere" "float radius" 5
Material "coateddiffuse" "float eta" 1e-30 "float thickness" -1 Shape "sphere" "float radius" 5
Material "coateddiffuse" "float eta" 1e30 "float thickness" 1e30 "float roughness" 0.3 Shape "sphere" "float radius" 5
Material "coateddiffuse" "rgb reflectance" [9 1 0] "float thickness" 0 "float uroughness" 1e30 "float vroughness" -1 Shape "sphere" "float radius" 5
Material "coatedconductor" "float interface.eta" 1e30 "float thickness" 1e30 Shape "sphere" "float radius" 5
Material "coatedconductor" "rgb reflectance" [7 1 0] "float interface.eta" 1e-30 "float thickness" -1e30 Shape "sphere" "float radius" 5
Material "coatedconductor" "float interface.roughness" 1e30 "float conductor.roughness" -1 "float thickness" 0 Shape "sphere" "float radius" 5
MakeNamedMaterial "a" "string type" "diffuse" Material "mix" "string materials" ["a" "a"] "float amount" -1e30 Shape "sphere" "float radius" 5
MakeNamedMaterial "a" "string type" "dielectric" MakeNamedMaterial "b" "string type" "interface" Material "mix" "string materials" ["a" "b"] "float amount" 1e30 Shape "sphere" "float radius" 5
MakeNamedMaterial "b" "string type" "interface" Material "mix" "string materials" ["b" "b"] Shape "sphere" "float radius" 5
Texture "t" "float" "imagemap" "string filename" "good.png" "float scale" -9 Material "conductor" "texture roughness" "t" Shape "sphere" "float radius" 5
Texture "t" "spectrum" "imagemap" "string filename" "nan.pfm" Material "diffuse" "texture reflectance" "t" Shape "sphere" "float radius" 5
Texture "t" "spectrum" "checkerboard" "float uscale" 1e30 "float vdelta" 1e38 Material "diffuse" "texture reflectance" "t" Shape "sphere" "float radius" 5
Texture "t" "spectrum" "mix" "float amount" -1e30 Material "diffuse" "texture reflectance" "t" Shape "sphere" "float radius" 5
Texture "t" "spectrum" "scale" "float scale" -1 Material "diffuse" "texture reflectance" "t" Shape "sphere" "float radius" 5
Scale 1e-12 1e12 1 Texture "t" "float" "checkerboard" "string mapping" "planar" Shape "sphere" "texture alpha" "t"
Shape "plymesh" "string filename" "flat.ply"
"#;

#[test]
fn unusual_settings_render() {
    let folder = SceneFolder::new();
    for head in lines(UNUSUAL_SETTINGS) {
        folder.assert_renders(head, FLOOR);
    }
    let huge = folder.load(r#"Sampler "zsobol" "integer pixelsamples" 2147483647"#, FLOOR).unwrap();
    assert_eq!(huge.settings.sampling.spp, i32::MAX as u32);
}

#[test]
fn unusual_worlds_render() {
    let folder = SceneFolder::new();
    let flat = r#"Shape "trianglemesh" "point3 P" [0 0 3 0 0 3 0 0 3 1 0 3 2 0 3] "integer indices" [0 1 2 0 3 4 0 3 4]"#;
    let quad = r#"Shape "bilinearmesh" "point3 P" [0 0 3 0 0 3 0 0 3 0 0 3]"#;
    let triangle = r#""point3 P" [-1 -1 3 1 -1 3 0 1 3]"#;
    let light = r#"AreaLightSource "diffuse" "rgb L" [5 5 5]"#;
    let mut worlds: Vec<String> = lines(UNUSUAL_WORLDS).map(String::from).collect();
    for emission in ["", light, r#"AreaLightSource "diffuse" "float power" 100"#] {
        worlds.extend([
            format!("{emission} {flat}"),
            format!("{emission} {quad}"),
            // The camera is inside, on and outside of the shapes.
            format!("{emission} Shape \"sphere\""),
            format!("{emission} Shape \"sphere\" \"float radius\" 1e-12"),
            format!("{emission} ReverseOrientation Shape \"sphere\" \"float zmin\" -0.5"),
            format!("{emission} Shape \"disk\""),
            format!("{emission} Shape \"disk\" \"float innerradius\" 0.999999 \"float height\" 3"),
            format!("{emission} Shape \"disk\" \"float height\" 3 \"float alpha\" 0"),
            format!("{emission} Shape \"disk\" \"float height\" 3 \"float alpha\" -7"),
            format!("{emission} Shape \"disk\" \"float height\" 3 \"float alpha\" 0.5"),
            format!("{emission} Scale 1e-15 1e-15 1 Shape \"trianglemesh\" {triangle}"),
            format!("{emission} Scale 1e12 1e12 1 Shape \"trianglemesh\" {triangle}"),
            format!(
                "{emission} Shape \"trianglemesh\" {triangle} \"normal N\" [0 0 0 0 0 0 0 0 0] \"point2 uv\" [0 0 0 0 0 0]"
            ),
            format!("{emission} Shape \"trianglemesh\" {triangle} \"normal N\" [0 0 1 0 0 -1 1e30 1e30 1e30]"),
            format!("{emission} Shape \"trianglemesh\" {triangle} \"normal N\" [1 0 0 1 0 0 1 0 0]"),
            format!("{emission} Material \"interface\" Shape \"trianglemesh\" {triangle}"),
            format!("{emission} Material \"dielectric\" Shape \"trianglemesh\" {triangle}"),
        ]);
    }
    for world in &worlds {
        folder.assert_renders("", world);
        folder.assert_renders("", &format!("AttributeBegin {world} AttributeEnd {FLOOR}"));
    }
}
