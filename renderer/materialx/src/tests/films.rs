//! Tests of thin films on BSDFs of trees, which are those of surfaces.

use super::trees::{LEVEL, reflected, tree};
use super::{convert, inputs};

#[test]
fn films_of_trees_are_those_of_surfaces() {
    let film = |names: [&str; 2]| inputs(&format!("{}:float=380 {}:float=1.8", names[0], names[1]));
    let of_tree = film(["thinfilm_thickness", "thinfilm_ior"]);
    let of_standard = film(["thin_film_thickness", "thin_film_IOR"]);
    let of_gltf = film(["iridescence_thickness", "iridescence_ior"]);
    let rough = "roughness:vector2=0.25,0.25";
    let cases = [
        (
            "dielectric_bsdf",
            inputs(rough),
            "standard_surface",
            inputs("base:float=0 specular_roughness:float=0.5") + &of_standard,
        ),
        (
            "generalized_schlick_bsdf",
            inputs(&format!("{rough} color0:color3=0.9,0.6,0.3")),
            "gltf_pbr",
            inputs("base_color:color3=0.9,0.6,0.3 roughness:float=0.5 iridescence:float=1")
                + &of_gltf,
        ),
        (
            // With a black edge, the artistic index is real.
            "conductor_bsdf",
            inputs(&format!("{rough} ior:color3=1.5,1.5,1.5 extinction:color3=0,0,0")),
            "standard_surface",
            inputs(
                "metalness:float=1 base:float=1 base_color:color3=0.04,0.04,0.04 \
                 specular:float=0 specular_roughness:float=0.5",
            ) + &of_standard,
        ),
    ];
    let [wi, wo] = LEVEL;
    for (category, given, surface, given_to_surface) in cases {
        let value = |film: &str| {
            let material = tree(&format!(
                "<{category} name=\"root\" type=\"BSDF\">{given}{film}</{category}>"
            ))
            .unwrap();
            assert_eq!(material.warnings, []);
            reflected(&material, wi, wo)
        };
        let expected = convert(&format!(
            "<materialx><{surface} name=\"s\" type=\"surfaceshader\">{given_to_surface}</{surface}>\
             </materialx>"
        ));
        let expected = reflected(&expected.unwrap(), wi, wo);
        let (with, without) = (value(&of_tree), value(""));
        for k in 0..3 {
            assert!((with[k] - expected[k]).abs() < 1e-4 * expected[k], "{with:?} {expected:?}");
        }
        assert!((with[0] - without[0]).abs() > 0.01 * without[0], "{with:?} {without:?}");
    }
}
