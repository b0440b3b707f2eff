//! Tests of textures whose effect depends on several of them, or on vertices.

use super::{CAMERA, LIT, MATTE, assert_near, document, mean_pixel, png_of, text, translated};
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
        "KHR_materials_clearcoat":{{"clearcoatFactor":1,
        "clearcoatRoughnessFactor":0.6{coat}}}}}}}]"#
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
    assert!(
        warning.contains("a map of the clearcoat_normal with coordinates of its own"),
        "{warning}"
    );
}

#[test]
fn anisotropy_follows_the_directions_of_a_texture() {
    let mesh = |coordinates: usize, anisotropy: &str, blue: u8| {
        // Directions along y.
        let map = png_of([128, 255, blue, 255], [128, 255, blue, 255]);
        let lit =
            LIT.replace("{\"extensions\":", "{\"rotation\":[-0.2,-0.35,0,0.92],\"extensions\":");
        document(&format!(
            r#""meshes":[{{"primitives":[{{"attributes":{{"POSITION":0,"NORMAL":1,
            "TEXCOORD_0":{coordinates}}},"indices":2,"material":0}}]}}],{CAMERA},{lit},
            "images":[{{"name":"map","uri":"{map}"}}],"textures":[{{"source":0}}],
            "materials":[{{"name":"m","pbrMetallicRoughness":{{"roughnessFactor":0.4}},
            "extensions":{{"KHR_materials_anisotropy":{{"anisotropyStrength":1{anisotropy}}}}}}}]"#
        ))
    };
    let pixel = |coordinates, anisotropy: &str, blue| {
        mean_pixel(&mesh(coordinates, anisotropy, blue), &Options::default())
    };
    let rotated = |degrees: f32| format!(r#","anisotropyRotation":{}"#, degrees.to_radians());
    let map = r#","anisotropyTexture":{"index":0}"#;
    let (along_x, along_y) = (pixel(4, "", 0), pixel(4, &rotated(90.0), 0));
    assert!(along_x[0] > 2.0 * along_y[0], "{along_x:?} {along_y:?}");
    assert_near(pixel(4, map, 255), along_y, 0.02);
    assert_near(pixel(4, &(rotated(90.0) + map), 255), along_x, 0.02);
    // The strength is in blue.
    let strengthless = mesh(4, "", 0).replace(r#"Strength":1"#, r#"Strength":0"#);
    let plain = mean_pixel(&strengthless, &Options::default());
    assert!((plain[0] - along_y[0]).abs() > 0.1 * plain[0], "{plain:?} {along_y:?}");
    assert_near(pixel(4, map, 0), plain, 0.02);
    // With mirrored coordinates, u is along −x: 30° from there towards y is −30°.
    let mirrored = pixel(15, &(rotated(-60.0) + map), 255);
    assert_near(mirrored, pixel(4, &rotated(-30.0), 0), 0.02);
    // So is an angle without a texture, and one of a mirrored node.
    assert_near(pixel(15, &rotated(30.0), 0), pixel(4, &rotated(-30.0), 0), 0.02);
    let node = mesh(4, &rotated(30.0), 0);
    let node = node.replacen("{\"mesh\":0", "{\"scale\":[-1,1,1],\"mesh\":0", 1);
    let reflected = mean_pixel(&node, &Options::default());
    assert_near(reflected, pixel(4, &rotated(-30.0), 0), 0.02);
    let other = pixel(4, &rotated(30.0), 0);
    assert!((mirrored[0] - other[0]).abs() > 0.1 * other[0], "{mirrored:?} {other:?}");
    let text = text(&mesh(4, map, 255), &Options::default());
    assert!(text.contains("\"string filename\" \"map-direction-0.png\""), "{text}");
    assert!(!text.contains("anisotropy_rotation"), "{text}");
}

#[test]
fn opacities_of_vertices_blend_and_mask() {
    let mesh = r#""meshes":[{"primitives":[{"attributes":{"POSITION":0,"TEXCOORD_0":4,
        "COLOR_0":14},"indices":2,"material":0}]}]"#;
    let material = |mode: &str, texture: &str| {
        format!(
            r#""images":[{{"uri":"{}"}}],"textures":[{{"source":0}}],
            "materials":[{{"alphaMode":"{mode}","pbrMetallicRoughness":{{"metallicFactor":0,
            "baseColorFactor":[1,1,1,0.5]{texture}}},{MATTE}}}]"#,
            png_of([255, 255, 255, 255], [255, 255, 255, 0])
        )
    };
    let json = |mode: &str, texture: &str| {
        document(&format!("{mesh},{CAMERA},{LIT},{}", material(mode, texture)))
    };
    // An opacity of x/2 has the mean ¼; the environment is black.
    let plain = json("BLEND", "");
    assert_near(mean_pixel(&plain, &Options::default()), [0.25, 0.125, 0.0625], 0.1);
    // With the texture only for x < ½, where it is 1 in the middle of its texel.
    let textured = json("BLEND", r#","baseColorTexture":{"index":0}"#);
    let text = super::text(&textured, &Options::default());
    assert!(text.contains("\"texture scale\" \"material0.alpha\""), "{text}");
    let [r, g, b] = mean_pixel(&textured, &Options::default());
    assert!(r > 0.03 && r < 0.12 && (g - 0.5 * r).abs() < 0.01 && b < g, "{r} {g} {b}");
    assert!(!super::text(&json("OPAQUE", ""), &Options::default()).contains("alpha"));
    // In the picture, x is from 0.3 to 0.7; x/2 is at least the cutoff in its right half.
    let masked = |texture: &str, cutoff: f32| {
        let mask = format!(r#""alphaMode":"MASK","alphaCutoff":{cutoff}"#);
        json("BLEND", texture).replace(r#""alphaMode":"BLEND""#, &mask)
    };
    let assert_share = |json: &str, share: f32| {
        let expected = [1.0, 0.5, 0.25].map(|x| share * x);
        assert_near(mean_pixel(json, &Options::default()), expected, 0.05);
    };
    assert_share(&masked("", 0.25), 0.5);
    assert_share(&masked("", 0.0), 1.0);
    // Between the centres of its texels, the opacity of the texture falls from 1 to 0: the product
    // is x/2 (3/2 − 2x), which is at least 0.05 up to x = 0.676, and 0.124 up to x = 0.504.
    let texture = r#","baseColorTexture":{"index":0}"#;
    assert_share(&masked(texture, 0.05), 0.939);
    assert_share(&masked(texture, 0.124), 0.51);
    let text = super::text(&masked(texture, 0.25), &Options::default());
    let threshold = "\"threshold\" \"texture tex\" \"material0.opacity\" \"float threshold\" 0.25";
    assert!(text.contains(threshold), "{text}");
    assert!(text.contains("\"texture alpha\" \"material0.mask\""), "{text}");
}

#[test]
fn textures_are_wrapped_along_each_axis() {
    // The square has the coordinates from −1 to 1 along both axes, and the texels red and green.
    let json = |wrap_s: u32, wrap_t: u32| {
        let map = png_of([255, 0, 0, 255], [0, 255, 0, 255]);
        document(&format!(
            r#""meshes":[{{"primitives":[{{"attributes":{{"POSITION":0,"TEXCOORD_0":4}},
            "indices":2,"material":0}}]}}],{CAMERA},{LIT},
            "images":[{{"uri":"{map}"}}],"textures":[{{"source":0,"sampler":0}}],
            "samplers":[{{"magFilter":9728,"wrapS":{wrap_s},"wrapT":{wrap_t}}}],
            "materials":[{{"name":"m","pbrMetallicRoughness":{{"metallicFactor":0,
            "baseColorTexture":{{"index":0,"extensions":{{"KHR_texture_transform":
            {{"offset":[-1,-1],"scale":[2,2]}}}}}}}},{MATTE}}}]"#
        ))
    };
    const REPEAT: u32 = 10497;
    const CLAMP: u32 = 33071;
    // In the picture, u is from −0.4 to 0.4: red for u from 0 on, and to the left of it the
    // neighbour, which is green, or the edge, which is red.
    for (wrap_s, wrap_t, name, red) in [
        (CLAMP, REPEAT, " \"string wrap\" \"clampu\"", 1.0),
        (REPEAT, CLAMP, " \"string wrap\" \"clampv\"", 0.5),
        (CLAMP, CLAMP, " \"string wrap\" \"clamp\"", 1.0),
        (REPEAT, REPEAT, "\"imagemap\"", 0.5),
    ] {
        let json = json(wrap_s, wrap_t);
        assert!(text(&json, &Options::default()).contains(name), "{name}");
        assert_near(mean_pixel(&json, &Options::default()), [red, 1.0 - red, 0.0], 0.03);
    }
}
