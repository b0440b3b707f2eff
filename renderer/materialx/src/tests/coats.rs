//! Tests of the normals of coats.

use super::{convert, inputs, member};
use crate::Material;

/// A surface with a coat, and maps with the normals (0.6, 0, 0.8) and (0, 0.6, 0.8).
fn surface(category: &str, given: &str, normals: &[(&str, &str)]) -> Material {
    let map = |name: &str, value: &str| {
        let value = inputs(&format!("in:vector3={value}"));
        format!("<normalmap name=\"{name}\" type=\"vector3\">{value}</normalmap>")
    };
    let connections = normals.iter().map(|(input, node)| {
        format!("<input name=\"{input}\" type=\"vector3\" nodename=\"{node}\"/>")
    });
    let connections: String = connections.collect();
    let maps = map("x", "0.8,0.5,0.9") + &map("y", "0.5,0.8,0.9");
    convert(&format!(
        "<materialx>{maps}<{category} name=\"s\" type=\"surfaceshader\">{}{connections}\
         </{category}></materialx>",
        inputs(given)
    ))
    .unwrap()
}

#[test]
fn coats_have_normals_of_their_own() {
    let cases = [
        (
            "open_pbr_surface",
            "coat_weight:float=1",
            ["geometry_coat_normal", "geometry_normal"],
            "geometry_coat_normal",
        ),
        ("standard_surface", "coat:float=1", ["coat_normal", "normal"], "coat_normal"),
        ("gltf_pbr", "clearcoat:float=1", ["clearcoat_normal", "normal"], "clearcoat_normal"),
    ];
    for (category, given, [coat, base], name) in cases {
        let normal = |normals: &[(&str, &str)]| {
            let material = surface(category, given, normals);
            assert_eq!(material.warnings, []);
            material.shader.has_setup().then(|| member(&material, name))
        };
        let close = |found: Option<Vec<f32>>, expected: [f32; 3]| {
            let found = found.expect("it is computed");
            for (a, b) in found.iter().zip(expected) {
                assert!((a - b).abs() < 1e-5, "{category}: {found:?}, expected {expected:?}");
            }
        };
        close(normal(&[(coat, "x")]), [0.6, 0.0, 0.8]);
        // In the frame of the base, whose y axis is (0, 0.8, -0.6).
        close(normal(&[(base, "y")]), [0.0, -0.6, 0.8]);
        close(normal(&[(base, "y"), (coat, "x")]), [0.6, -0.48, 0.64]);
        assert_eq!(normal(&[(base, "y"), (coat, "y")]), None, "they have the same frame");
        assert_eq!(normal(&[]), None);
    }
}
