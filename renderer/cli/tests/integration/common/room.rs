//! A small scene that tests of the program share.

/// A sphere on a floor under an area light and an environment light. `film` lists the parameters of
/// the film.
pub fn room(film: &str, spp: u32) -> String {
    format!(
        r#"
Film "rgb" {film}
Sampler "zsobol" "integer pixelsamples" {spp}
Integrator "path" "integer maxdepth" 4
LookAt 0 1 -4  0 0.5 0  0 1 0
Camera "perspective" "float fov" 50
WorldBegin
LightSource "infinite" "rgb L" [ 0.2 0.3 0.4 ]
MakeNamedMaterial "floor" "string type" "diffuse" "rgb reflectance" [ 0.5 0.4 0.3 ]
NamedMaterial "floor"
Shape "trianglemesh" "point3 P" [ -3 0 -3  3 0 -3  3 0 3  -3 0 3 ] "integer indices" [ 0 1 2 0 2 3 ]
AttributeBegin
  Translate 0 0.6 0
  Material "diffuse" "rgb reflectance" [ 0.7 0.7 0.7 ]
  Shape "sphere" "float radius" 0.6
AttributeEnd
AttributeBegin
  AreaLightSource "diffuse" "rgb L" [ 8 8 7 ]
  Shape "trianglemesh" "point3 P" [ -1 3 -1  1 3 -1  0 3 1 ] "integer indices" [ 0 1 2 ]
AttributeEnd
"#
    )
}
