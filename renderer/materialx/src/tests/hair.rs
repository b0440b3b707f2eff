//! Tests of hair.

use super::trees::{reflected, tree};
use super::{evaluate, inputs, node};
use crate::Material;

/// Hair with a roughness of 0.3 along fibres and 0.4 around them.
fn hair(given: &str) -> Material {
    let output = |name: &str| {
        let (stem, lobe) = ("roughness", name);
        format!(
            "<input name=\"{stem}_{lobe}\" type=\"vector2\" nodename=\"r\" \
             output=\"{stem}_{lobe}\"/>"
        )
    };
    let material = tree(&format!(
        "<chiang_hair_roughness name=\"r\" type=\"multioutput\">{}</chiang_hair_roughness>\
         <chiang_hair_bsdf name=\"root\" type=\"BSDF\">{}{}{}{}</chiang_hair_bsdf>",
        inputs("longitudinal:float=0.3 azimuthal:float=0.4"),
        output("R"),
        output("TT"),
        output("TRT"),
        inputs(&format!("absorption_coefficient:vector3=0.2,0.4,0.8 {given}"))
    ));
    let material = material.unwrap();
    assert!(material.warnings.is_empty(), "{:?}", material.warnings);
    material
}

/// Values of a transcription of MaterialX's GLSL to Python, times π: there, light is divided by π
/// although lobes are normalized. As in pbrt, scales tilt the view direction; MaterialX tilts that
/// of light, which differs by 5 % here.
#[test]
fn hair_has_the_values_of_materialx() {
    let wo = [0.48, 0.0, 0.877_268_5];
    let directions = [[-0.6, 0.0, 0.8], [0.115_470_05, 0.808_290_4, -0.577_350_3]];
    let tints = "tint_R:color3=1,0.5,0.25 tint_TT:color3=0.5,1,1 tint_TRT:color3=1,1,0.5";
    let cases: [(&str, &str, [[f32; 3]; 2]); 4] = [
        (
            "0.5",
            "",
            [
                [0.116_637_55, 0.104_177_22, 0.096_504_88],
                [5.415_249e-5, 1.898_877e-5, 3.996_017e-6],
            ],
        ),
        (
            "0.5",
            tints,
            [
                [0.116_637_4, 0.056_799_08, 0.024_563_411],
                [4.946_096e-5, 1.882_161e-5, 3.242_491e-6],
            ],
        ),
        (
            "0.52",
            "",
            [[0.128_162_5, 0.118_503_8, 0.112_560_1], [9.229_162e-5, 4.393_63e-5, 1.462_682e-5]],
        ),
        (
            "0.52",
            tints,
            [[0.128_162_4, 0.062_900_75, 0.028_478_54], [6.849_202e-5, 4.386_757e-5, 1.401_615e-5]],
        ),
    ];
    for (cuticle, tints, expected) in cases {
        let material = hair(&format!("cuticle_angle:float={cuticle} {tints}"));
        for (wi, expected) in directions.into_iter().zip(expected) {
            let found = reflected(&material, wi, wo);
            for (a, b) in found.into_iter().zip(expected) {
                assert!((a - b).abs() < 2e-3 * b, "{cuticle} {tints}: {found:?}, {expected:?}");
            }
        }
    }
}

#[test]
fn offsets_are_those_of_the_texture_coordinates() {
    let outputs = evaluate(&hair(""), "material");
    let (_, h) = outputs.iter().find(|(name, _)| name == "h").unwrap();
    assert!((h - (1.0 - 2.0 * super::UV[1])).abs() < 1e-6);
}

#[test]
fn variances_are_roughness() {
    let material = tree(&format!(
        "<chiang_hair_bsdf name=\"root\" type=\"BSDF\">{}</chiang_hair_bsdf>",
        inputs("roughness_R:vector2=0.08461117,0.29704")
    ));
    let members = material.unwrap();
    let default = |name: &str| {
        let mut members = members.shader.settable().iter();
        members.find(|p| p.name == name).unwrap().default.clone().unwrap()[0]
    };
    assert!((default("beta_m") - 0.3).abs() < 1e-5 && (default("beta_n") - 0.4).abs() < 1e-5);
    // The defaults of the other roughness are not those that follow from the first one.
    assert_eq!(members.warnings.len(), 1, "{:?}", members.warnings);
    let swapped = tree(
        "<chiang_hair_roughness name=\"r\" type=\"multioutput\"/><chiang_hair_bsdf name=\"root\" \
         type=\"BSDF\"><input name=\"roughness_R\" type=\"vector2\" nodename=\"r\" \
         output=\"roughness_R\"/><input name=\"roughness_TT\" type=\"vector2\" nodename=\"r\" \
         output=\"roughness_TRT\"/><input name=\"roughness_TRT\" type=\"vector2\" nodename=\"r\" \
         output=\"roughness_TT\"/></chiang_hair_bsdf>",
    );
    assert_eq!(swapped.unwrap().warnings.len(), 1);
    let mixed = tree(
        "<chiang_hair_bsdf name=\"h\" type=\"BSDF\"/><add name=\"root\" type=\"BSDF\"><input \
         name=\"in1\" type=\"BSDF\" nodename=\"h\"/></add>",
    );
    assert!(mixed.unwrap_err().help.contains("without other BSDFs"));
}

#[test]
fn absorption_is_that_of_colours_and_pigments() {
    let found =
        node("chiang_hair_absorption_from_color", "vector3", &inputs("color:color3=0.5,1,0"));
    let b: f64 = 0.2;
    let c = 5.969 - 0.215 * b + 2.532 * b.powi(2) - 10.73 * b.powi(3)
        + 5.574 * b.powi(4)
        + 0.245 * b.powi(5);
    for (found, color) in found.iter().zip([0.5, 1.0, 0.001f64]) {
        assert!((f64::from(*found) - (color.ln() / c).powi(2)).abs() < 1e-5);
    }
    let given = "melanin_concentration:float=0.632120559 melanin_redness:float=0.25";
    let found = node("deon_hair_absorption_from_melanin", "vector3", &inputs(given));
    for (found, (e, p)) in found.iter().zip([(0.419, 0.187), (0.697, 0.4), (1.37, 1.05)]) {
        assert!((found - (0.75 * e + 0.25 * p)).abs() < 1e-4, "{found}");
    }
}
