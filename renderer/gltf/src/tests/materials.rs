//! Tests of textures whose effect depends on several of them, or on vertices.

use super::{CAMERA, LIT, assert_near, document, mean_pixel, png_of, text, translated};
use crate::Options;

/// A document with the square under a light, with two textures of the same normals.
fn coated(maps: &str, coat: &str, coordinates: usize) -> String {
    let tilted = png_of([180, 150, 230, 255], [180, 150, 230, 255]);
    document(&format!(
        r#""meshes":[{{"primitives":[{{"attributes":{{"POSITION":0,"NORMAL":1,
        "TEXCOORD_0":{coordinates}}},"indices":2,"material":0}}]}}],{CAMERA},{LIT},
        "images":[{{"name":"map","uri":"{tilted}"}}],
        "textures":[{{"source":0}},{{"source":0}}],
        "materials":[{{"name":"m"{maps},"pbrMetallicRoughness":{{"baseColorFactor":[0,0,0,1],
        "metallicFactor":0}},"extensions":{{"KHR_materials_specular":{{"specularFactor":0}},
        "KHR_materials_clearcoat":{{"clearcoatFactor":1,"clearcoatRoughnessFactor":0.6{coat}}}}}}}]"#
    ))
}

#[test]
fn coats_have_normals_of_their_own() {
    let base = r#","normalTexture":{"index":0}"#;
    let own = r#","clearcoatNormalTexture":{"index":1}"#;
    let same = r#","clearcoatNormalTexture":{"index":0}"#;
    for coordinates in [4, 15] {
        let pixel = |maps: &str, coat: &str| {
            mean_pixel(&coated(maps, coat, coordinates), &Options::default())
        };
        let (flat, tilted) = (pixel("", ""), pixel(base, same));
        assert!(flat[0] > 1.1 * tilted[0], "{flat:?} {tilted:?}");
        // A coat is smooth without a map of its own, whatever the base is.
        assert_near(pixel(base, ""), flat, 0.01);
        assert_near(pixel("", own), tilted, 0.01);
        assert_near(pixel(base, own), tilted, 0.01);
    }
    let text = |maps: &str, coat: &str| text(&coated(maps, coat, 4), &Options::default());
    assert!(!text("", "").contains("normalmap"));
    assert!(!text(base, same).contains("clearcoat_normal"), "they have the same frame");
    let declared = "Texture \"m.clearcoat_normal\" \"spectrum\" \"normalmap\"\n";
    assert!(text(base, "").contains(declared), "{}", text(base, ""));
    let scaled = own.replace(":1}", r#":1,"scale":0.5}"#);
    let scaled = text(base, &scaled);
    for part in [
        "Texture \"m.clearcoat_normal_map\" \"spectrum\" \"imagemap\" \"string filename\" \
         \"map-scaled-0.5.png\" \"string encoding\" \"linear\"",
        "\"normalmap\" \"texture tex\" \"m.clearcoat_normal_map\"",
        "\"texture clearcoat_normal\" \"m.clearcoat_normal\"",
    ] {
        assert!(scaled.contains(part), "{part} is missing:\n{scaled}");
    }
    let other = own.replace(":1}", r#":1,"texCoord":1}"#);
    let json =
        coated(base, &other, 4).replace(r#""TEXCOORD_0":4"#, r#""TEXCOORD_0":4,"TEXCOORD_1":12"#);
    let (_, warnings) = translated(&json, &Options::default()).unwrap();
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.contains("a normal map of its coat with coordinates of its own"), "{warning}");
}
