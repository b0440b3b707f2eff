//! Tests of values out of range, and of inputs that scenes cannot set.

use super::{convert, document, input, inputs};

/// Warnings, without the file.
fn warnings(text: &str) -> Vec<String> {
    let warnings = convert(text).unwrap().warnings;
    warnings.iter().map(|w| w.to_string().replace("test.mtlx:", "")).collect()
}

#[test]
fn octaves_have_limits() {
    let noise = |octaves: &str| {
        let octaves = input("octaves", "integer", octaves);
        document(
            &format!("<fractal2d name=\"n\" type=\"color3\">\n{octaves}</fractal2d>"),
            "nodename=\"n\"",
        )
    };
    for octaves in ["0", "3", "32"] {
        assert!(warnings(&noise(octaves)).is_empty(), "{octaves}");
    }
    for (octaves, used) in [("-1", "0"), ("1000000", "32")] {
        let expected = format!(
            "3: the octaves of <fractal2d> \"n\" must be from 0 to 32, not {octaves}; fallback: {used}"
        );
        assert_eq!(warnings(&noise(octaves)), [expected]);
        let text = convert(&noise(octaves)).unwrap().text;
        assert!(text.contains(&format!("mx_fractal2d_vec3f(p.uv, {used}, ")));
    }
    // Inputs of graphs have the limits as their range.
    let graph = |octaves: &str| {
        document(
            &format!(
                "<nodegraph name=\"g\">{}<fractal3d name=\"n\" type=\"color3\">\n\
                 <input name=\"octaves\" type=\"integer\" interfacename=\"detail\"/></fractal3d>\
                 <output name=\"out\" type=\"color3\" nodename=\"n\"/></nodegraph>",
                input("detail", "integer", octaves)
            ),
            "nodegraph=\"g\"",
        )
    };
    for (octaves, used) in [("5", 5.0), ("99", 32.0)] {
        let material = convert(&graph(octaves)).unwrap();
        assert_eq!(material.warnings.len(), usize::from(octaves == "99"));
        let settable = material.shader.settable();
        let detail = settable.iter().find(|p| p.name == "detail").unwrap();
        assert_eq!((detail.range, &detail.default), ([0.0, 32.0], &Some(vec![used])));
    }
    // What nodes compute is clamped.
    let computed = graph("5").replace(
        "<fractal3d",
        "<add name=\"a\" type=\"integer\"><input name=\"in1\" type=\"integer\" \
         interfacename=\"detail\"/><input name=\"in2\" type=\"integer\" value=\"1000\"/></add>\
         <fractal3d",
    );
    let computed = computed.replace(
        "<input name=\"octaves\" type=\"integer\" interfacename=\"detail\"/>",
        "<input name=\"octaves\" type=\"integer\" nodename=\"a\"/>",
    );
    let material = convert(&computed).unwrap();
    assert!(material.text.contains("clamp(a, 0, 32)"), "{}", material.text);
}

#[test]
fn unknown_modes_of_opacity_are_warnings() {
    for (surface, name, max, used) in [
        ("gltf_pbr", "alpha_mode", 2, "2, blended"),
        ("UsdPreviewSurface", "opacityMode", 1, "1, presence"),
    ] {
        let of_mode = |mode: i32| {
            warnings(&format!(
                "<materialx><{surface} name=\"s\" type=\"surfaceshader\">\n{}</{surface}>\
                 </materialx>",
                inputs(&format!("{name}:integer={mode}"))
            ))
        };
        for mode in 0..=max {
            assert!(of_mode(mode).is_empty(), "{surface} {mode}");
        }
        for mode in [-1, 7] {
            let expected = format!(
                "2: \"{name}\" is {mode}, but must be an integer from 0 to {max}; fallback: {used}"
            );
            assert_eq!(of_mode(mode), [expected]);
        }
    }
}

#[test]
fn abbe_numbers_are_above_0() {
    let glass = |surface: &str, given: &str| {
        warnings(&format!(
            "<materialx>\n<{surface} name=\"s\" type=\"surfaceshader\">{}</{surface}></materialx>",
            inputs(given)
        ))
    };
    let open_pbr = "transmission_weight:float=1 specular_roughness:float=0 \
        transmission_dispersion_abbe_number:float";
    let standard = "transmission:float=1 specular_roughness:float=0 transmission_dispersion:float";
    let gltf = "transmission:float=1 roughness:float=0 metallic:float=0 thickness:float=1 \
        dispersion:float";
    for (surface, given) in [
        ("open_pbr_surface", format!("{open_pbr}=0 transmission_dispersion_scale:float=1")),
        ("open_pbr_surface", format!("{open_pbr}=-20 transmission_dispersion_scale:float=1")),
        ("open_pbr_surface", format!("{open_pbr}=20 transmission_dispersion_scale:float=-1")),
        ("standard_surface", format!("{standard}=-40")),
        ("gltf_pbr", format!("{gltf}=-0.5")),
    ] {
        let expected = "2: the Abbe number of a material must be positive; fallback: no \
                        dispersion";
        assert_eq!(glass(surface, &given), [expected], "{given}");
    }
    for (surface, given) in [
        ("open_pbr_surface", format!("{open_pbr}=0 transmission_dispersion_scale:float=0")),
        ("open_pbr_surface", format!("{open_pbr}=20")),
        ("standard_surface", format!("{standard}=0")),
        ("gltf_pbr", format!("{gltf}=0")),
    ] {
        assert!(glass(surface, &given).is_empty(), "{given}");
    }
}

#[test]
fn connected_inputs_are_listed() {
    let connected = |nodes: &str, connections: &str| {
        let text = format!(
            "<materialx>{nodes}<open_pbr_surface name=\"s\" type=\"surfaceshader\">{}\n\
             {connections}</open_pbr_surface></materialx>",
            inputs("emission_luminance:float=1 transmission_weight:float=1")
        );
        let connected = convert(&text).unwrap().connected;
        let describe = |c: crate::Connected| format!("{} {}", c.parameter, c.location);
        connected.into_iter().map(describe).collect::<Vec<_>>()
    };
    let to =
        |name: &str, ty: &str| format!("<input name=\"{name}\" type=\"{ty}\" nodename=\"n\"/>");
    assert!(connected("", "").is_empty());
    // A node with a constant result is one.
    let constant = format!(
        "<constant name=\"n\" type=\"color3\">{}</constant>",
        input("value", "color3", "1, 0, 0")
    );
    assert!(connected(&constant, &to("base_color", "color3")).is_empty());
    let image =
        format!("<image name=\"n\" type=\"color3\">{}</image>", input("file", "filename", "a.png"));
    let color = ["base_color", "emission_color", "transmission_color"].map(|n| to(n, "color3"));
    let expected = ["transmission_color", "base_color", "emission_color"];
    let mut found = connected(&image, &color.concat());
    found.sort();
    let mut expected = expected.map(|name| format!("{name} test.mtlx:2"));
    expected.sort();
    assert_eq!(found, expected);
    let mask = image.replace("color3", "float");
    let opacity = connected(&mask, &to("geometry_opacity", "float"));
    assert_eq!(opacity, ["geometry_opacity test.mtlx:2"]);
    let depth = connected(&mask, &to("transmission_depth", "float"));
    assert_eq!(depth, ["transmission_depth test.mtlx:2"]);
    // An input of a graph that has the name of one of the surface is a parameter.
    let surface = |of_graph: &str| {
        let text = format!(
            "<materialx><nodegraph name=\"g\">{}<dot name=\"d\" type=\"color3\"><input name=\"in\" \
             type=\"color3\" interfacename=\"{of_graph}\"/></dot><output name=\"out\" \
             type=\"color3\" nodename=\"d\"/></nodegraph><UsdPreviewSurface name=\"s\" \
             type=\"surfaceshader\"><input name=\"emissiveColor\" type=\"color3\" \
             nodegraph=\"g\"/></UsdPreviewSurface></materialx>",
            input(of_graph, "color3", "1, 0, 0")
        );
        convert(&text).unwrap().connected.into_iter().map(|c| c.parameter).collect::<Vec<_>>()
    };
    assert_eq!(surface("glow"), ["emissiveColor"]);
    assert!(surface("emissiveColor").is_empty());
}
