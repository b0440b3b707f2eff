//! Tests of normals of heights.

use super::{UV, convert, document, evaluate, inputs};

/// The normal of a surface for these nodes; the node `n` is its normal.
fn normal(nodes: &str) -> ([f32; 3], usize) {
    let text = format!(
        "<materialx>{nodes}<open_pbr_surface name=\"s\" type=\"surfaceshader\"><input \
         name=\"geometry_normal\" type=\"vector3\" nodename=\"n\"/></open_pbr_surface></materialx>"
    );
    let material = convert(&text).unwrap();
    let outputs = evaluate(&material, "normal");
    ([0, 1, 2].map(|k| outputs[k].1), material.warnings.len())
}

/// u² + 3 v, and a bump of another height.
const HEIGHT: &str = "<texcoord name=\"uv\" type=\"vector2\"/>\
    <multiply name=\"squared\" type=\"vector2\"><input name=\"in1\" type=\"vector2\" \
    nodename=\"uv\"/><input name=\"in2\" type=\"vector2\" nodename=\"uv\"/></multiply>\
    <extract name=\"u2\" type=\"float\"><input name=\"in\" type=\"vector2\" \
    nodename=\"squared\"/></extract><extract name=\"v\" type=\"float\"><input name=\"in\" \
    type=\"vector2\" nodename=\"uv\"/><input name=\"index\" type=\"integer\" value=\"1\"/>\
    </extract>\
    <multiply name=\"v3\" type=\"float\"><input name=\"in1\" type=\"float\" nodename=\"v\"/>\
    <input name=\"in2\" type=\"float\" value=\"3\"/></multiply>\
    <add name=\"h\" type=\"float\"><input name=\"in1\" type=\"float\" nodename=\"u2\"/>\
    <input name=\"in2\" type=\"float\" nodename=\"v3\"/></add>";

fn close(found: [f32; 3], slopes: [f32; 2]) {
    let length = (slopes[0] * slopes[0] + slopes[1] * slopes[1] + 1.0).sqrt();
    let expected = [-slopes[0] / length, -slopes[1] / length, 1.0 / length];
    for (a, b) in found.into_iter().zip(expected) {
        assert!((a - b).abs() < 1e-3, "{found:?}, expected {expected:?}");
    }
}

#[test]
fn slopes_are_those_of_the_height() {
    let [u, _] = UV;
    let height = "<input name=\"height\" type=\"float\" nodename=\"h\"/>";
    let bump = |scale: &str| {
        let node = format!("<bump name=\"n\" type=\"vector3\">{height}{}</bump>", inputs(scale));
        let (normal, warnings) = normal(&format!("{HEIGHT}{node}"));
        assert_eq!(warnings, 0);
        normal
    };
    close(bump(""), [2.0 * u / 16.0, 3.0 / 16.0]);
    close(bump("scale:float=4"), [2.0 * u / 4.0, 3.0 / 4.0]);

    let mapped = |inputs_of: &str| {
        let nodes = format!(
            "{HEIGHT}<heighttonormal name=\"encoded\" type=\"vector3\"><input name=\"in\" \
             type=\"float\" nodename=\"h\"/>{inputs_of}</heighttonormal><normalmap name=\"n\" \
             type=\"vector3\"><input name=\"in\" type=\"vector3\" nodename=\"encoded\"/>\
             </normalmap>"
        );
        normal(&nodes).0
    };
    close(mapped(&inputs("scale:float=8")), [u, 1.5]);
    // Slopes along u² and v².
    let squared = "<input name=\"texcoord\" type=\"vector2\" nodename=\"squared\"/>";
    let [u, v] = UV;
    close(mapped(squared), [2.0 * u / (2.0 * u) / 16.0, 3.0 / (2.0 * v) / 16.0]);
}

#[test]
fn heights_of_positions_are_a_warning() {
    let noise = "<noise3d name=\"h\" type=\"float\"/>";
    let bump = "<bump name=\"n\" type=\"vector3\"><input name=\"height\" type=\"float\" \
        nodename=\"h\"/></bump>";
    let (flat, warnings) = normal(&format!("{noise}{bump}"));
    close(flat, [0.0, 0.0]);
    assert_eq!(warnings, 1);
    assert_eq!(normal(&format!("{}{bump}", noise.replace("3d", "2d"))).1, 0);
}

#[test]
fn heights_of_heights_are_limited() {
    let mut nodes = "<noise2d name=\"h0\" type=\"float\"/>".to_owned();
    for i in 1..20 {
        nodes += &format!(
            "<heighttonormal name=\"n{i}\" type=\"vector3\"><input name=\"in\" type=\"float\" \
             nodename=\"h{}\"/></heighttonormal><extract name=\"h{i}\" type=\"float\"><input \
             name=\"in\" type=\"vector3\" nodename=\"n{i}\"/></extract>",
            i - 1
        );
    }
    let error = convert(&document(&nodes, "nodename=\"n19\"")).unwrap_err();
    assert!(error.message.contains("more than 10000 nodes"), "{error}");
}
