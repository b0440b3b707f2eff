//! Tests of directions of anisotropy.

use super::trees::{LEVEL, reflected, tree};
use super::{convert, evaluate, inputs};
use crate::Material;
use std::f64::consts::{FRAC_PI_2, PI};

const ROTATED: &str = "<tangent name=\"t\" type=\"vector3\"/><normal name=\"n\" type=\"vector3\"/>\
    <rotate3d name=\"r\" type=\"vector3\"><input name=\"in\" type=\"vector3\" nodename=\"t\"/>\
    <input name=\"amount\" type=\"float\" value=\"-90\"/><input name=\"axis\" type=\"vector3\" \
    nodename=\"n\"/></rotate3d>";

fn surface(category: &str, given: &str, connections: &str) -> Material {
    convert(&format!(
        "<materialx>{ROTATED}<noise2d name=\"noise\" type=\"vector3\"/>\
         <{category} name=\"s\" type=\"surfaceshader\">{}{connections}</{category}></materialx>",
        inputs(given)
    ))
    .unwrap()
}

/// The default of the parameter.
fn angle(material: &Material, name: &str) -> f64 {
    assert!(material.warnings.is_empty(), "{:?}", material.warnings);
    assert!(!material.shader.has_setup(), "{}", material.text);
    let mut members = material.shader.settable().iter();
    members.find(|p| p.name == name).unwrap().default.clone().unwrap()[0]
}

fn connected(name: &str, node: &str) -> String {
    format!("<input name=\"{name}\" type=\"vector3\" nodename=\"{node}\"/>")
}

#[test]
fn rotations_are_angles() {
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6, "{found}");
    let of_standard = |given: &str, connections: &str, member: &str| {
        let material = surface("standard_surface", given, connections);
        angle(&material, member)
    };
    // A quarter turn from y to x.
    let (of_base, of_coat) = ("specular_rotation", "coat_rotation");
    let both = "specular_anisotropy:float=0.5 specular_rotation:float=0.25";
    close(of_standard(both, "", of_base), 1.5 * PI);
    let coat = "coat_anisotropy:float=0.5 coat_rotation:float=0.75";
    close(of_standard(coat, "", of_coat), FRAC_PI_2);
    close(of_standard(&format!("{both} {coat}"), "", of_base), 1.5 * PI);
    close(of_standard("specular_rotation:float=0.25", "", of_base), 0.0);
    let tangent = connected("tangent", "r");
    close(of_standard("specular_anisotropy:float=0.5", &tangent, of_base), FRAC_PI_2);
    close(of_standard(both, &tangent, of_base), 0.0);

    let given = "specular_roughness_anisotropy:float=0.5";
    let material = surface("open_pbr_surface", given, &connected("geometry_tangent", "r"));
    close(angle(&material, "geometry_rotation"), FRAC_PI_2);
    let given = "anisotropy_strength:float=0.5 anisotropy_rotation:float=0.5";
    let material = surface("gltf_pbr", given, &tangent);
    close(angle(&material, "anisotropy_rotation"), FRAC_PI_2 + 0.5);
}

#[test]
fn rotations_are_less_than_a_full_turn() {
    let material = convert(&format!(
        "<materialx>{}<open_pbr_surface name=\"s\" type=\"surfaceshader\">{}{}</open_pbr_surface>\
         </materialx>",
        ROTATED.replace("-90", "810"),
        inputs("specular_roughness_anisotropy:float=0.5"),
        connected("geometry_tangent", "r")
    ));
    let found = angle(&material.unwrap(), "geometry_rotation");
    assert!((found + FRAC_PI_2).abs() < 1e-6, "{found}");
}

#[test]
fn computed_tangents_are_in_the_shading_frame() {
    let nodes = "<rotate3d name=\"q\" type=\"vector3\"><input name=\"in\" type=\"vector3\" \
        nodename=\"r\"/><input name=\"amount\" type=\"float\" value=\"30\"/><input name=\"axis\" \
        type=\"vector3\" nodename=\"n\"/></rotate3d>";
    let material = convert(&format!(
        "<materialx>{ROTATED}{nodes}<open_pbr_surface name=\"s\" type=\"surfaceshader\">{}{}\
         </open_pbr_surface></materialx>",
        inputs("specular_roughness_anisotropy:float=0.5"),
        connected("geometry_tangent", "q")
    ))
    .unwrap();
    let outputs = evaluate(&material, "material");
    let (_, angle) = outputs.iter().find(|(name, _)| name == "geometry_rotation").unwrap();
    assert!((angle - 60f32.to_radians()).abs() < 1e-5, "{angle}");
}

#[test]
fn coats_have_directions_of_their_own() {
    let given = "specular_roughness_anisotropy:float=0.5 coat_roughness_anisotropy:float=0.5";
    let material = surface("open_pbr_surface", given, &connected("geometry_tangent", "r"));
    let angles = ["geometry_rotation", "geometry_coat_rotation"].map(|name| angle(&material, name));
    assert!((angles[0] - FRAC_PI_2).abs() < 1e-6 && angles[1] == 0.0, "{angles:?}");
}

#[test]
fn bsdfs_of_trees_have_tangents() {
    let metal = |roughness: &str, tangent: &str| {
        let material = tree(&format!(
            "{ROTATED}<conductor_bsdf name=\"root\" type=\"BSDF\">{}{tangent}</conductor_bsdf>",
            inputs(&format!("roughness:vector2={roughness}"))
        ));
        let [wi, wo] = LEVEL;
        let [wi, wo] = [[wi[0], 0.1, wi[2]], wo];
        reflected(&material.unwrap(), wi, wo)
    };
    let turned = metal("0.5,0.2", &connected("tangent", "r"));
    let swapped = metal("0.2,0.5", "");
    for (a, b) in turned.into_iter().zip(swapped) {
        assert!((a - b).abs() < 1e-5 * b, "{turned:?} {swapped:?}");
    }
    assert!((turned[0] - metal("0.5,0.2", "")[0]).abs() > 0.01 * turned[0]);
}
