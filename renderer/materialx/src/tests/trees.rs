//! Tests of trees of BSDFs, and of unlit surfaces.

use super::{convert, inputs};
use crate::{Error, Material};
use lightbound_shader::bounding::{Frame, Integrand};
use lightbound_shader::{Parameter, Settings, SurfaceSides, interpreter};

/// A tree of BSDFs that is the surface of the only material.
pub(super) fn tree(nodes: &str) -> Result<Material, Error> {
    convert(&format!(
        "<materialx>{nodes}<surface name=\"s\" type=\"surfaceshader\">\
         <input name=\"bsdf\" type=\"BSDF\" nodename=\"root\"/></surface></materialx>"
    ))
}

/// s for directions, at the texture coordinates (0.5, 0.5).
pub(super) fn reflected(material: &Material, wi: [f32; 3], wo: [f32; 3]) -> [f32; 3] {
    let shader = &material.shader;
    let integrand = Integrand::new(shader, &Settings::default(), Frame::Local).unwrap().bounded();
    let values = |parameter: &Parameter| match parameter.name.as_str() {
        "uv" => vec![0.5; 2],
        _ => parameter.default.clone().unwrap(),
    };
    let defaults = shader.parameters().iter().flat_map(values);
    let words: Vec<u32> =
        wi.into_iter().chain(wo).chain(defaults.map(|x| x as f32)).map(f32::to_bits).collect();
    let outputs = interpreter::run(&integrand, &[], &words, 1).unwrap();
    [0, 1, 2].map(|k| f32::from_bits(outputs[k]))
}

pub(super) const LEVEL: [[f32; 3]; 2] = [[0.6, 0.0, 0.8], [0.0, 0.6, 0.8]];

#[test]
fn trees_of_bsdfs_are_shaders() {
    let leaf = |name: &str, color: &str| {
        format!(
            "<oren_nayar_diffuse_bsdf name=\"{name}\" type=\"BSDF\"><input name=\"color\" \
             type=\"color3\" value=\"{color}\"/></oren_nayar_diffuse_bsdf>"
        )
    };
    let node = |category: &str, inputs: &[(&str, &str)]| {
        let inputs = inputs.iter().map(|(name, node)| {
            format!("<input name=\"{name}\" type=\"BSDF\" nodename=\"{node}\"/>")
        });
        let inputs: String = inputs.collect();
        format!("<{category} name=\"root\" type=\"BSDF\">{inputs}")
    };
    let (a, b) = (leaf("a", "0.8, 0.4, 0.2"), leaf("b", "0.2, 0.4, 0.6"));
    let [wi, wo] = LEVEL;
    let lambert = |color: [f32; 3]| color.map(|c| c * 0.8 / std::f32::consts::PI);
    let value = |tree_of: String| {
        let material = tree(&format!("{a}{b}{tree_of}")).unwrap();
        assert!(material.warnings.is_empty(), "{:?}", material.warnings);
        reflected(&material, wi, wo)
    };
    let close = |found: [f32; 3], expected: [f32; 3]| {
        for (a, b) in found.into_iter().zip(expected) {
            assert!((a - b).abs() < 1e-6, "{found:?}, expected {expected:?}");
        }
    };
    let mix = node("mix", &[("fg", "a"), ("bg", "b")])
        + "<input name=\"mix\" type=\"float\" value=\"0.25\"/></mix>";
    close(value(mix), lambert([0.35, 0.4, 0.5]));
    let add = node("add", &[("in1", "a"), ("in2", "b")]) + "</add>";
    close(value(add), lambert([1.0, 0.8, 0.8]));
    let multiply = node("multiply", &[("in1", "a")])
        + "<input name=\"in2\" type=\"float\" value=\"0.5\"/></multiply>";
    close(value(multiply), lambert([0.4, 0.2, 0.1]));
    // A diffuse layer of full weight leaves nothing; of half weight, half.
    let layer = node("layer", &[("top", "a"), ("base", "b")]) + "</layer>";
    close(value(layer), lambert([0.8, 0.4, 0.2]));
}

#[test]
fn layers_of_dielectric_and_diffuse_equal_openpbr() {
    let material = tree(
        "<dielectric_bsdf name=\"top\" type=\"BSDF\">\
         <input name=\"roughness\" type=\"vector2\" value=\"0.25, 0.25\"/></dielectric_bsdf>\
         <oren_nayar_diffuse_bsdf name=\"base\" type=\"BSDF\"><input name=\"color\" \
         type=\"color3\" value=\"0.8, 0.8, 0.8\"/></oren_nayar_diffuse_bsdf>\
         <layer name=\"root\" type=\"BSDF\"><input name=\"top\" type=\"BSDF\" \
         nodename=\"top\"/><input name=\"base\" type=\"BSDF\" nodename=\"base\"/></layer>",
    )
    .unwrap();
    assert!(material.warnings.is_empty(), "{:?}", material.warnings);
    let surface = convert(&format!(
        "<materialx><open_pbr_surface name=\"s\" type=\"surfaceshader\">{}\
         </open_pbr_surface></materialx>",
        inputs("specular_roughness:float=0.5")
    ))
    .unwrap();
    let [wi, wo] = LEVEL;
    let (a, b) = (reflected(&material, wi, wo), reflected(&surface, wi, wo));
    for (a, b) in a.into_iter().zip(b) {
        assert!((a - b).abs() < 1e-3 * b, "{a}, {b}");
    }
}

#[test]
fn trees_transmit_and_have_definitions() {
    let glass = tree(
        "<dielectric_bsdf name=\"root\" type=\"BSDF\"><input name=\"scatter_mode\" \
         type=\"string\" value=\"RT\"/></dielectric_bsdf>",
    )
    .unwrap();
    assert_eq!(glass.shader.sides(), SurfaceSides::Both);
    let through = reflected(&glass, [0.0, 0.0, -1.0], [0.0, 0.0, 1.0]);
    assert!(through[0] > 0.1, "{through:?}");
    // A surface that the document defines.
    let defined = convert(
        "<materialx><nodedef name=\"ND_chalk\" node=\"chalk\"><input name=\"tint\" type=\"color3\" \
         value=\"0.5, 0.5, 0.5\"/><output name=\"out\" type=\"surfaceshader\"/></nodedef>\
         <nodegraph name=\"NG_chalk\" nodedef=\"ND_chalk\"><burley_diffuse_bsdf name=\"b\" \
         type=\"BSDF\"><input name=\"color\" type=\"color3\" interfacename=\"tint\"/>\
         </burley_diffuse_bsdf><surface name=\"inner\" type=\"surfaceshader\"><input name=\"bsdf\" \
         type=\"BSDF\" nodename=\"b\"/></surface><output name=\"out\" type=\"surfaceshader\" \
         nodename=\"inner\"/></nodegraph><chalk name=\"white\" type=\"surfaceshader\"><input \
         name=\"tint\" type=\"color3\" value=\"0.9, 0.9, 0.9\"/></chalk><surfacematerial \
         name=\"m\" type=\"material\"><input name=\"surfaceshader\" type=\"surfaceshader\" \
         nodename=\"white\"/></surfacematerial></materialx>",
    )
    .unwrap();
    assert!(defined.text.contains("default: 0.9"), "{}", defined.text);
    for (nodes, message) in [
        ("<absorption_vdf name=\"root\" type=\"BSDF\"/>", "is not supported"),
        (
            "<add name=\"root\" type=\"BSDF\"><input name=\"in1\" type=\"BSDF\" \
             nodename=\"root\"/></add>",
            "depends on itself",
        ),
    ] {
        let error = tree(nodes).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn trees_without_end_are_errors() {
    // Each BSDF of this kind is a layer over another one.
    let recursive = "<nodedef name=\"ND_r\" node=\"r\"><output name=\"out\" type=\"BSDF\"/></nodedef>\
        <nodegraph name=\"NG_r\" nodedef=\"ND_r\"><r name=\"inner\" type=\"BSDF\"/>\
        <sheen_bsdf name=\"top\" type=\"BSDF\"/><layer name=\"l\" type=\"BSDF\"><input name=\"top\" \
        type=\"BSDF\" nodename=\"top\"/><input name=\"base\" type=\"BSDF\" nodename=\"inner\"/></layer>\
        <output name=\"out\" type=\"BSDF\" nodename=\"l\"/></nodegraph><r name=\"root\" type=\"BSDF\"/>";
    let mut chain = "<sheen_bsdf name=\"n5000\" type=\"BSDF\"/>".to_owned();
    for i in 0..5000 {
        let name = if i == 0 { "root".to_owned() } else { format!("n{i}") };
        chain += &format!(
            "<add name=\"{name}\" type=\"BSDF\"><input name=\"in1\" type=\"BSDF\" \
             nodename=\"n{}\"/></add>",
            i + 1
        );
    }
    for nodes in [recursive, &chain] {
        let error = tree(nodes).unwrap_err().to_string();
        assert!(error.contains("a tree has more than 200 BSDFs"), "{error}");
    }
    // Names of nodes are not those of functions.
    let named = tree(
        "<sheen_bsdf name=\"mx_top\" type=\"BSDF\"/><add name=\"root\" type=\"BSDF\"><input \
         name=\"in1\" type=\"BSDF\" nodename=\"mx_top\"/></add>",
    );
    assert!(named.unwrap().text.contains("node_mx_top"));
    let typo = "<nodedef name=\"ND_r\" node=\"r\"><output name=\"out\" type=\"BSDF\"/></nodedef>\
        <nodegraph name=\"NG_r\" nodedef=\"ND_r\"><layer name=\"l\" type=\"BSDF\"><input name=\"top\" \
        type=\"BSDF\" interfacename=\"tpo\"/></layer><output name=\"out\" type=\"BSDF\" \
        nodename=\"l\"/></nodegraph><r name=\"root\" type=\"BSDF\"/>";
    let error = tree(typo).unwrap_err().to_string();
    assert!(error.contains("the graph has no input \"tpo\""), "{error}");
}

/// Reflected and transmitted light for a view direction, by directions that are denser towards the
/// normal.
fn albedo(material: &Material, wo: [f32; 3]) -> f32 {
    let shader = &material.shader;
    let integrand = Integrand::new(shader, &Settings::default(), Frame::Local).unwrap().bounded();
    let defaults = shader.members().iter().flat_map(|member| member.default.clone().unwrap());
    let defaults: Vec<f32> = defaults.map(|x| x as f32).collect();
    let n = 64;
    let mut sum = 0.0;
    for k in 0..n * n {
        let t = (((2 * (k / n) + 1) % n) as f32) / n as f32;
        let z = if 2 * (k / n) < n { 1.0 - t * t } else { t * t - 1.0 };
        let (sin, cos) = (std::f32::consts::TAU * ((k % n) as f32 + 0.5) / n as f32).sin_cos();
        let r = (1.0 - z * z).sqrt();
        let row = [r * cos, r * sin, z].into_iter().chain(wo).chain(defaults.iter().copied());
        let words: Vec<u32> = row.map(f32::to_bits).collect();
        let outputs = interpreter::run(&integrand, &[], &words, 1).unwrap();
        sum += 2.0 * t * f32::from_bits(outputs[0]);
    }
    sum * 4.0 * std::f32::consts::PI / (n * n) as f32
}

#[test]
fn white_trees_reflect_at_most_what_they_receive() {
    let white = "<oren_nayar_diffuse_bsdf name=\"base\" type=\"BSDF\"><input name=\"color\" \
        type=\"color3\" value=\"1, 1, 1\"/></oren_nayar_diffuse_bsdf>";
    let rough = "<input name=\"roughness\" type=\"vector2\" value=\"0.3, 0.3\"/>";
    let color = "<input name=\"color\" type=\"color3\" value=\"1, 1, 1\"/>";
    let schlick = |exponent: &str| {
        format!(
            "{rough}<input name=\"color0\" type=\"color3\" value=\"0.04, 0.04, 0.04\"/>\
             <input name=\"exponent\" type=\"float\" value=\"{exponent}\"/>"
        )
    };
    let mode =
        |mode| format!("{rough}<input name=\"scatter_mode\" type=\"string\" value=\"{mode}\"/>");
    let cases = [
        ("oren_nayar_diffuse_bsdf", color.to_owned(), 0.9),
        ("burley_diffuse_bsdf", color.to_owned(), 0.75),
        ("translucent_bsdf", color.to_owned(), 0.9),
        ("subsurface_bsdf", color.to_owned(), 0.9),
        ("sheen_bsdf", color.to_owned(), 0.9),
        ("dielectric_bsdf", rough.to_owned(), 0.9),
        ("dielectric_bsdf", mode("RT"), 0.85),
        ("conductor_bsdf", rough.to_owned(), 0.85),
        ("generalized_schlick_bsdf", schlick("5"), 0.85),
        ("generalized_schlick_bsdf", schlick("1"), 0.6),
        ("generalized_schlick_bsdf", schlick("0"), 0.85),
    ];
    for (category, inputs, least) in cases {
        let material = tree(&format!(
            "{white}<{category} name=\"top\" type=\"BSDF\">{inputs}</{category}>\
             <layer name=\"root\" type=\"BSDF\"><input name=\"top\" type=\"BSDF\" \
             nodename=\"top\"/><input name=\"base\" type=\"BSDF\" nodename=\"base\"/></layer>"
        ))
        .unwrap();
        let both = material.shader.sides() == SurfaceSides::Both;
        for degrees in [0.0, 40.0, 60.0, 75.0] {
            for side in if both { &[1.0, -1.0][..] } else { &[1.0] } {
                let (sin, cos) = f32::to_radians(degrees).sin_cos();
                // Refracted radiance is scaled by the squared index.
                let is_glass = inputs.contains("RT");
                let found = albedo(&material, [sin, 0.0, side * cos]);
                let most = if is_glass { 1.5 * 1.5 } else { 1.05 };
                let least = if is_glass { 0.4 } else { least };
                assert!(
                    (least..=most).contains(&found),
                    "{category} {inputs}, {degrees}°, side {side}: {found}"
                );
            }
        }
    }
}

#[test]
fn unlit_surfaces_emit() {
    let text = "<materialx><surface_unlit name=\"s\" type=\"surfaceshader\"><input \
        name=\"emission_color\" type=\"color3\" value=\"1, 2, 3\"/></surface_unlit></materialx>";
    let material = convert(text).unwrap();
    assert_eq!(material.emission.as_ref().unwrap().radiance, [1.0, 2.0, 3.0]);
    let [wi, wo] = LEVEL;
    assert!(reflected(&material, wi, wo)[0] < 1e-3);
}
