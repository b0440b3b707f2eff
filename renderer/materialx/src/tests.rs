//! Tests of whole documents: what nodes compute, what surfaces become, and errors.
//!
//! Programs are evaluated through the compiler, at points.

mod attributes;
mod coats;
mod films;
mod hair;
mod heights;
mod limits;
mod scene;
mod tangents;
mod trees;

use crate::{Document, Encoding, Error, Material, Wrap};
use lightbound_shader::interpreter;
use lightbound_shader::{Entry, Settings, Shader, passes};
use std::path::Path;

/// Reads a document that includes nothing.
fn parse(text: &str) -> Result<Document, Error> {
    Document::parse("test.mtlx", text, &mut |_| Err(std::io::Error::other("no files")))
}

/// Converts the only material.
fn convert(text: &str) -> Result<Material, Error> {
    parse(text)?.convert(None)
}

/// A document with a material that has a base colour, computed by nodes.
fn document(nodes: &str, connection: &str) -> String {
    format!(
        "<materialx>\n{nodes}\n<open_pbr_surface name=\"s\" type=\"surfaceshader\">\n\
         <input name=\"base_color\" type=\"color3\" \
         {connection}/>\n</open_pbr_surface>\n</materialx>"
    )
}

/// Where programs are evaluated.
const UV: [f32; 2] = [0.3, 0.8];
const POSITION: [f32; 3] = [1.25, -0.5, 3.75];

/// Evaluates a function of a converted material at the point.
fn evaluate(material: &Material, function: &str) -> Vec<(String, f32)> {
    // Clauses for the sides are those of a BRDF.
    let text = material.text.replace("//! sides:", "//").replace("//! cosine:", "//");
    let shader = Shader::parse_function("test.wgsl", &text, function).unwrap();
    let function = shader.function(Entry::Function, &Settings::default()).unwrap();
    let function = passes::optimize(&function);
    let mut words = vec![];
    for parameter in shader.parameters() {
        let values: Vec<f64> = match parameter.name.as_str() {
            "position" | "object_position" => POSITION.map(f64::from).into(),
            "normal" => vec![0.0, 0.6, 0.8],
            "uv" => UV.map(f64::from).into(),
            _ => parameter.default.clone().unwrap(),
        };
        words.extend(values.iter().map(|&x| parameter.scalar.bits(x)));
    }
    let outputs = interpreter::run(&function, &[], &words, 1 << 20).unwrap();
    let names = function.outputs.iter().map(|port| port.name.clone());
    names.zip(outputs.into_iter().map(f32::from_bits)).collect()
}

/// The components of a member that `fn material` computes.
fn member(material: &Material, name: &str) -> Vec<f32> {
    let start = |output: &str| output == name || output.starts_with(&format!("{name}."));
    let outputs = evaluate(material, "material");
    outputs.into_iter().filter(|(output, _)| start(output)).map(|(_, x)| x).collect()
}

/// The value of a node of type color3 with these inputs, and of other types by `convert`.
fn node(category: &str, ty: &str, inputs: &str) -> Vec<f32> {
    let nodes = format!(
        "<{category} name=\"n\" type=\"{ty}\">{inputs}</{category}>\n\
         <convert name=\"c\" type=\"color3\"><input name=\"in\" type=\"{ty}\" nodename=\"n\"/>\
         </convert>"
    );
    let material = convert(&document(&nodes, "nodename=\"c\"")).unwrap();
    member(&material, "base_color")
}

/// An input with a value.
fn input(name: &str, ty: &str, value: &str) -> String {
    format!("<input name=\"{name}\" type=\"{ty}\" value=\"{value}\"/>")
}

/// Inputs in a short form: `in:color3=1,2,3 amount:float=2`.
fn inputs(text: &str) -> String {
    let parse = |part: &str| {
        let (name, rest) = part.split_once(':').unwrap();
        let (ty, value) = rest.split_once('=').unwrap();
        input(name, ty, value)
    };
    text.split_whitespace().map(parse).collect()
}

#[test]
fn nodes_compute_their_formulas() {
    let [u, v] = UV;
    let cases: &[(&str, &str, &str, [f32; 3])] = &[
        ("add", "color3", "in1:color3=0.1,0.2,0.3 in2:float=0.5", [0.6, 0.7, 0.8]),
        ("subtract", "color3", "in1:color3=0.9,0.8,0.7 in2:color3=0.1,0.2,0.3", [0.8, 0.6, 0.4]),
        ("add", "color3", "in1:float=0.25 in2:float=0.5", [0.75; 3]),
        ("divide", "float", "in1:float=1 in2:float=4", [0.25; 3]),
        ("modulo", "float", "in1:float=-0.25 in2:float=1", [0.75; 3]),
        ("power", "color3", "in1:color3=0.5,0.25,1 in2:float=2", [0.25, 0.0625, 1.0]),
        ("safepower", "float", "in1:float=0.5 in2:float=3", [0.125; 3]),
        ("invert", "color3", "in:color3=0.1,0.2,0.3", [0.9, 0.8, 0.7]),
        ("atan2", "float", "iny:float=0.5 inx:float=0.5", [std::f32::consts::FRAC_PI_4; 3]),
        ("clamp", "float", "in:float=0.9 high:float=0.5", [0.5; 3]),
        ("mix", "color3", "fg:color3=1,0,1 bg:color3=0,1,0.5 mix:float=0.25", [0.25, 0.75, 0.625]),
        ("remap", "float", "in:float=3 inlow:float=2 inhigh:float=4 outhigh:float=0.5", [0.25; 3]),
        ("smoothstep", "float", "in:float=0.25", [0.15625; 3]),
        ("range", "float", "in:float=0.25 gamma:float=2", [0.5; 3]),
        ("contrast", "color3", "in:color3=0.4,0.5,0.6 amount:float=2", [0.3, 0.5, 0.7]),
        ("luminance", "color3", "in:color3=1,0,0", [0.272_228_7; 3]),
        ("saturate", "color3", "in:color3=0,1,0 amount:float=0", [0.674_081_8; 3]),
        ("rgbtohsv", "color3", "in:color3=0.5,0.25,0.25", [0.0, 0.5, 0.5]),
        ("hsvtorgb", "color3", "in:color3=0.5,0.5,0.8", [0.4, 0.8, 0.8]),
        ("hsvadjust", "color3", "in:color3=0.8,0.4,0.4 amount:vector3=0.5,1,1", [0.4, 0.8, 0.8]),
        ("ramplr", "float", "valuel:float=0 valuer:float=1", [u; 3]),
        ("ramptb", "float", "valuet:float=1 valueb:float=0", [v; 3]),
        ("splitlr", "float", "valuel:float=0.2 valuer:float=0.7 center:float=0.4", [0.2; 3]),
        (
            "ramp4",
            "color3",
            "valuetl:color3=0,0,1 valuetr:color3=1,0,1 valuebl:color3=0,1,0 valuebr:color3=1,1,0",
            [u, 1.0 - v, v],
        ),
        ("rotate2d", "vector2", "in:vector2=0,0.5 amount:float=90", [0.5, 0.0, 0.0]),
        ("place2d", "vector2", "pivot:vector2=0.5,0.5 scale:vector2=0.5,0.5", [0.1, 1.1, 0.0]),
        ("checkerboard", "color3", "uvtiling:vector2=2,2", [1.0; 3]),
        ("circle", "float", "radius:float=0.9", [1.0; 3]),
        ("trianglewave", "float", "in:float=1.3", [0.3; 3]),
        (
            "ifgreater",
            "float",
            "value1:float=2 value2:float=1 in1:float=0.1 in2:float=0.9",
            [0.1; 3],
        ),
        (
            "ifequal",
            "float",
            "value1:integer=2 value2:integer=1 in1:float=0.1 in2:float=0.9",
            [0.9; 3],
        ),
        ("switch", "float", "in1:float=0.1 in2:float=0.2 in3:float=0.3 which:integer=1", [0.2; 3]),
        ("combine3", "color3", "in1:float=0.1 in2:float=0.2 in3:float=0.3", [0.1, 0.2, 0.3]),
        ("extract", "float", "in:color3=0.1,0.2,0.3 index:integer=2", [0.3; 3]),
        ("screen", "float", "fg:float=0.5 bg:float=0.5", [0.75; 3]),
        ("overlay", "float", "fg:float=0.5 bg:float=0.25", [0.25; 3]),
        ("premult", "color4", "in:color4=0.5,1,0.2,0.5", [0.25, 0.5, 0.1]),
        ("over", "color4", "fg:color4=0.2,0,0,0.5 bg:color4=0.4,0.4,0.4,1", [0.4, 0.2, 0.2]),
        ("magnitude", "float", "in:vector3=0.3,0,0.4", [0.5; 3]),
        ("normalize", "vector3", "in:vector3=3,0,4", [0.6, 0.0, 0.8]),
        ("crossproduct", "vector3", "in1:vector3=1,0,0 in2:vector3=0,1,0", [0.0, 0.0, 1.0]),
        ("texcoord", "vector2", "", [u, v, 0.0]),
        ("normal", "vector3", "space:string=world", [0.0, 0.6, 0.8]),
        (
            "transformmatrix",
            "vector3",
            "in:vector3=0.1,0.2,0.3 mat:matrix33=0,1,0,0,0,1,1,0,0",
            [0.3, 0.1, 0.2],
        ),
    ];
    for (category, ty, given, expected) in cases {
        let found = node(category, ty, &inputs(given));
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 2e-6, "{category}: {found} instead of {expected}");
        }
    }
}

#[test]
fn noise_has_the_values_of_materialx() {
    for (category, ty, given, expected) in NOISE {
        let found = node(category, ty, &inputs(given));
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 3e-6, "{category}: {found} instead of {expected}");
        }
    }
}

/// Values of a transcription of MaterialX's GLSL to Python, at uv (0.3, 0.8) and the position
/// (1.25, −0.5, 3.75).
const NOISE: [(&str, &str, &str, [f32; 3]); 16] = [
    ("noise2d", "float", "amplitude:float=0.5 pivot:float=0.5", [0.4652367, 0.4652367, 0.4652367]),
    ("noise2d", "color3", "amplitude:float=0.5 pivot:float=0.5", [0.4652367, 0.8052327, 0.3296872]),
    ("noise3d", "float", "amplitude:float=0.5 pivot:float=0.5", [0.4189075, 0.4189075, 0.4189075]),
    ("noise3d", "vector3", "amplitude:float=0.5 pivot:float=0.5", [0.4189075, 0.4267995, 0.442571]),
    ("fractal2d", "float", "amplitude:float=-1", [0.3053294, 0.3053294, 0.3053294]),
    ("fractal3d", "float", "amplitude:float=-1", [0.162185, 0.162185, 0.162185]),
    ("fractal3d", "color3", "amplitude:float=-1", [0.162185, 0.269151, 0.176233]),
    ("cellnoise2d", "float", "", [0.8603128, 0.8603128, 0.8603128]),
    ("cellnoise3d", "float", "", [0.5391451, 0.5391451, 0.5391451]),
    ("worleynoise2d", "float", "", [0.6884588, 0.6884588, 0.6884588]),
    ("worleynoise2d", "vector3", "jitter:float=0.7", [0.5894607, 0.7161026, 0.8836327]),
    ("worleynoise2d", "float", "style:integer=1", [0.8603128, 0.8603128, 0.8603128]),
    ("worleynoise3d", "vector3", "", [0.6822697, 0.6850564, 0.8059069]),
    ("worleynoise3d", "vector3", "style:integer=1", [0.8067122, 0.3354707, 0.1084601]),
    (
        "unifiednoise2d",
        "float",
        "freq:vector2=3,3 offset:vector2=0.1,0.2",
        [0.2563618, 0.2563618, 0.2563618],
    ),
    ("unifiednoise2d", "float", "type:integer=1 freq:vector2=7,7", [0.611084, 0.611084, 0.611084]),
];

/// The example materials of MaterialX, `resources/Materials/Examples` of its repository, in a folder
/// that an environment variable names.
const CORPUS: &str = "LIGHTBOUND_MATERIALX_EXAMPLES";

#[test]
fn examples_of_materialx_convert() {
    let Some(folder) = std::env::var_os(CORPUS) else {
        eprintln!("skipped: {CORPUS} does not name a folder with examples");
        return;
    };
    let mut pending = vec![Path::new(&folder).to_owned()];
    let (mut converted, mut failed) = (0, Vec::new());
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if crate::is_materialx_name(&path) {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let text = std::fs::read_to_string(&path).unwrap();
                let folder = path.parent().unwrap();
                let mut read = |name: &str| std::fs::read_to_string(folder.join(name));
                let document = Document::parse(&name, &text, &mut read).unwrap();
                for material in document.materials() {
                    match document.convert(Some(material)) {
                        Ok(_) => converted += 1,
                        Err(error) => failed.push(format!("{error} ({})", error.help)),
                    }
                }
            }
        }
    }
    eprintln!("{converted} materials convert; the others:\n{}", failed.join("\n"));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn constants_are_defaults_of_parameters() {
    let text = "<materialx colorspace=\"srgb_texture\">\n\
        <standard_surface name=\"s\" type=\"surfaceshader\">\n\
        <input name=\"base_color\" type=\"color3\" value=\"0.5, 1, 0\"/>\n\
        <input name=\"specular_roughness\" type=\"float\" value=\"0.4\"/>\n\
        <input name=\"thin_walled\" type=\"boolean\" value=\"true\"/>\n\
        </standard_surface></materialx>";
    let material = convert(text).unwrap();
    assert!(!material.shader.has_setup() && material.warnings.is_empty());
    let default = |name: &str| {
        let mut members = material.shader.settable().iter();
        members.find(|p| p.name == name).unwrap().default.clone().unwrap()
    };
    assert!((default("base_color")[0] - 0.21404).abs() < 1e-4);
    assert_eq!(default("specular_roughness")[0] as f32, 0.4);
    assert_eq!((default("base")[0] as f32, default("coat")[0]), (0.8, 0.0));
    assert_eq!(default("thin_walled"), [1.0]);
}

#[test]
fn inputs_of_graphs_have_other_names_than_the_surface_point() {
    let text = "<materialx><nodegraph name=\"g\">\
        <input name=\"uv\" type=\"vector2\" value=\"0.25, 0.5\"/>\
        <convert name=\"c\" type=\"color3\"><input name=\"in\" type=\"vector2\" \
        interfacename=\"uv\"/></convert>\
        <output name=\"out\" type=\"color3\" nodename=\"c\"/></nodegraph>\
        <open_pbr_surface name=\"s\" type=\"surfaceshader\">\
        <input name=\"base_color\" type=\"color3\" nodegraph=\"g\"/>\
        </open_pbr_surface></materialx>";
    let material = convert(text).unwrap();
    assert_eq!(member(&material, "base_color"), [0.25, 0.5, 0.0]);
    assert!(material.shader.settable().iter().any(|parameter| parameter.name == "uv_2"));
    assert_eq!(parse(text).unwrap().surface_type("s"), Ok("open_pbr_surface"));
}

#[test]
fn inputs_of_graphs_are_parameters() {
    let text = "<materialx><nodegraph name=\"g\">\
        <input name=\"tint\" type=\"color3\" value=\"0.1, 0.2, 0.3\"/>\
        <input name=\"scale\" type=\"float\" value=\"2\" uimin=\"0\" uimax=\"4\" \
        uiname=\"Scale: all\"/>\
        <multiply name=\"product\" type=\"color3\"><input name=\"in1\" type=\"color3\" \
        interfacename=\"tint\"/>\
        <input name=\"in2\" type=\"float\" interfacename=\"scale\"/></multiply>\
        <output name=\"out\" type=\"color3\" nodename=\"product\"/></nodegraph>\
        <open_pbr_surface name=\"s\" type=\"surfaceshader\">\
        <input name=\"base_color\" type=\"color3\" nodegraph=\"g\" output=\"out\"/>\
        </open_pbr_surface></materialx>";
    let material = convert(text).unwrap();
    assert!(material.text.contains("    let product = m.tint * m.scale;"), "{}", material.text);
    let scale = material.shader.settable().iter().find(|p| p.name == "scale").unwrap();
    assert_eq!((scale.range, scale.default.clone()), ([0.0, 4.0], Some(vec![2.0])));
    assert_eq!(member(&material, "base_color"), [0.2, 0.4, 0.6]);
}

#[test]
fn definitions_of_the_document_are_used() {
    let text = document(
        "<nodedef name=\"ND_twice\" node=\"twice\"><input name=\"in\" type=\"float\" \
            value=\"0.2\"/>\
         <input name=\"by\" type=\"float\" value=\"2\"/><output name=\"out\" type=\"float\"/>\
         </nodedef>\
         <nodegraph name=\"NG_twice\" nodedef=\"ND_twice\"><multiply name=\"m\" type=\"float\">\
         <input name=\"in1\" type=\"float\" interfacename=\"in\"/>\
         <input name=\"in2\" type=\"float\" interfacename=\"by\"/></multiply>\
         <output name=\"out\" type=\"float\" nodename=\"m\"/></nodegraph>\
         <twice name=\"a\" type=\"float\"/>\
         <twice name=\"b\" type=\"float\"><input name=\"in\" type=\"float\" nodename=\"a\"/>\
         </twice>",
        "nodename=\"b\"",
    );
    assert_eq!(member(&convert(&text).unwrap(), "base_color"), [0.8; 3]);
}

#[test]
fn images_have_colour_spaces_and_address_modes() {
    let text = "<materialx fileprefix=\"images/\">\
        <image name=\"colour\" type=\"color3\"><input name=\"file\" type=\"filename\" \
        value=\"a.png\" colorspace=\"srgb_texture\"/></image>\
        <tiledimage name=\"rough\" type=\"float\"><input name=\"file\" type=\"filename\" \
        value=\"a.png\"/>\
        <input name=\"uvtiling\" type=\"vector2\" value=\"3, 2\"/></tiledimage>\
        <image name=\"clamped\" type=\"float\"><input name=\"file\" type=\"filename\" \
        value=\"b.png\"/>\
        <input name=\"uaddressmode\" type=\"string\" value=\"constant\"/>\
        <input name=\"vaddressmode\" type=\"string\" value=\"mirror\"/></image>\
        <open_pbr_surface name=\"s\" type=\"surfaceshader\"><input name=\"base_color\" \
        type=\"color3\" nodename=\"colour\"/>\
        <input name=\"specular_roughness\" type=\"float\" nodename=\"rough\"/>\
        <input name=\"coat_roughness\" type=\"float\" nodename=\"clamped\"/></open_pbr_surface>\
        </materialx>";
    let material = convert(text).unwrap();
    let mut found: Vec<_> = material
        .textures
        .iter()
        .map(|t| (t.file.as_str(), t.encoding == Encoding::Srgb, t.wrap == Wrap::Repeat))
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            ("images/a.png", false, true),
            ("images/a.png", true, true),
            ("images/b.png", false, false)
        ]
    );
    assert!(material.text.contains("let rough_uv = p.uv * vec2f(3.0, 2.0);"));
    assert!(material.text.contains("mx_mirror(p.uv.y)"), "{}", material.text);
}

#[test]
fn normal_maps_become_a_function() {
    let text = "<materialx><normalmap name=\"n\" type=\"vector3\">\
        <input name=\"in\" type=\"vector3\" value=\"1, 0.5, 0.75\"/><input name=\"scale\" \
        type=\"float\" value=\"0.5\"/></normalmap>\
        <standard_surface name=\"s\" type=\"surfaceshader\"><input name=\"normal\" \
        type=\"vector3\" nodename=\"n\"/>\
        </standard_surface></materialx>";
    let outputs = evaluate(&convert(text).unwrap(), "normal");
    let root = std::f32::consts::FRAC_1_SQRT_2;
    for ((_, found), expected) in outputs.iter().zip([root, 0.0, root]) {
        assert!((found - expected).abs() < 1e-6, "{outputs:?}");
    }
}

#[test]
fn transparent_surfaces_transmit() {
    for (surface, expected) in [
        (
            "<open_pbr_surface name=\"s\" type=\"surfaceshader\">\
                <input name=\"transmission_weight\" type=\"float\" value=\"1\"/>\
                </open_pbr_surface>",
            1.0,
        ),
        (
            "<standard_surface name=\"s\" type=\"surfaceshader\"><input name=\"transmission\" \
                type=\"float\" value=\"0.5\"/></standard_surface>",
            0.5,
        ),
        (
            "<UsdPreviewSurface name=\"s\" type=\"surfaceshader\"><input name=\"opacity\" \
                type=\"float\" value=\"0.25\"/></UsdPreviewSurface>",
            0.75,
        ),
        (
            "<disney_principled name=\"s\" type=\"surfaceshader\"><input name=\"specTrans\" \
                type=\"float\" value=\"1\"/></disney_principled>",
            1.0,
        ),
        (
            "<gltf_pbr name=\"s\" type=\"surfaceshader\"><input name=\"transmission\" \
                type=\"float\" value=\"1\"/></gltf_pbr>",
            1.0,
        ),
    ] {
        let material = convert(&format!("<materialx>{surface}</materialx>")).unwrap();
        let names = ["transmission", "transmission_weight", "transparency"];
        let transmission =
            material.shader.settable().iter().find(|p| names.contains(&p.name.as_str()));
        assert_eq!(transmission.unwrap().default, Some(vec![expected]), "{surface}");
    }
}

#[test]
fn unknown_inputs_of_surfaces_are_a_warning() {
    let text = "<materialx>\n<standard_surface name=\"s\" type=\"surfaceshader\">\n\
        <input name=\"base_colour\" type=\"color3\" value=\"1, 0, 0\"/>\n\
        <input name=\"puddle\" type=\"float\" value=\"0.5\"/></standard_surface></materialx>";
    let warnings = convert(text).unwrap().warnings;
    let warnings: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "test.mtlx:3: <standard_surface> \"s\" has no input \"base_colour\" (did you mean \
             \"base_color\"?); fallback: no effect",
            "test.mtlx:4: <standard_surface> \"s\" has no input \"puddle\"; fallback: no effect",
        ]
    );
}

#[test]
fn mistakes_in_inputs_are_warnings() {
    let definition = "<nodedef name=\"ND_tint\" node=\"tint\"><input name=\"amount\" \
        type=\"float\" value=\"1\"/><output name=\"out\" type=\"color3\"/></nodedef>\
        <nodegraph name=\"NG_tint\" nodedef=\"ND_tint\"><constant name=\"c\" type=\"color3\"/>\
        <output name=\"out\" type=\"color3\" nodename=\"c\"/></nodegraph>";
    let tint =
        |inputs: &str| format!("{definition}<tint name=\"n\" type=\"color3\">{inputs}</tint>");
    let node = "nodename=\"n\"";
    for (text, message) in [
        (
            document(&tint(&inputs("amuont:float=1")), node),
            "<tint> \"n\" has no input \"amuont\" (did you mean \"amount\"?)",
        ),
        (
            document(&tint(&inputs("amount:color3=1,1,1")), node),
            "input \"amount\" of <tint> \"n\" is of type float, but is declared as color3",
        ),
        (
            document(&tint(&inputs("amount:float=1 amount:float=2")), node),
            "<tint> \"n\" has two inputs \"amount\"",
        ),
        (
            document("", "value=\"0.5\"").replace("color3", "float"),
            "input \"base_color\" of <open_pbr_surface> \"s\" is of type color3, but is declared \
             as float",
        ),
        (
            document("<constant name=\"n\" type=\"color3\"/><noise2d name=\"n\"/>", node),
            "<noise2d> \"n\" has the name of another element; fallback: that in line 2",
        ),
        (
            document(
                &format!("<add name=\"n\" type=\"color3\">{0}{0}</add>", inputs("in1:float=1")),
                node,
            ),
            "<add> \"n\" has two inputs \"in1\"",
        ),
        (
            document("<constant name=\"s\" type=\"float\"/>", "value=\"1,1,1\"")
                .replace("<constant", "<open_pbr_surface name=\"t\"/><constant"),
            "<open_pbr_surface> \"s\" has the name of another element; fallback: that in line 2",
        ),
    ] {
        let warnings = convert(&text).unwrap().warnings;
        assert_eq!(warnings.len(), 1, "{text}: {warnings:?}");
        assert!(warnings[0].to_string().contains(message), "{}", warnings[0]);
    }
}

#[test]
fn what_is_ignored_is_a_warning() {
    let text = "<materialx>\n<open_pbr_surface name=\"s\" type=\"surfaceshader\">\n\
        <input name=\"emission_luminance\" type=\"float\" value=\"10\"/>\n\
        <input name=\"subsurface_weight\" type=\"float\" value=\"0.5\"/>\n\
        <input name=\"specular_ior\" type=\"float\" value=\"0.5\"/></open_pbr_surface></materialx>";
    let material = convert(text).unwrap();
    let warnings: Vec<_> = material.warnings.iter().map(ToString::to_string).collect();
    let expected = [
        "test.mtlx:4: light does not scatter below the surface",
        "the value of `specular_ior` is out of range",
    ];
    assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
    for text in expected {
        assert!(warnings.iter().any(|warning| warning.contains(text)), "{warnings:?}");
    }
}

#[test]
fn errors_name_line_and_remedy() {
    let surface = |input: &str| document("", input);
    let looped = "<add name=\"a\" type=\"color3\"><input name=\"in1\" type=\"color3\" \
        nodename=\"b\"/></add>\n\
        <add name=\"b\" type=\"color3\"><input name=\"in1\" type=\"color3\" nodename=\"a\"/></add>";
    let outputs = "<output name=\"a\" type=\"color3\" output=\"b\"/><output name=\"b\" \
        type=\"color3\" output=\"a\"/>";
    let mut chain = String::new();
    for i in 0..3000 {
        chain += &format!(
            "<dot name=\"n{i}\" type=\"color3\"><input name=\"in\" type=\"color3\" \
                nodename=\"n{}\"/></dot>",
            i + 1
        );
    }
    for (text, message) in [
        ("<materialx/>".to_owned(), "the document has no material"),
        (surface("value=\"1, 2\""), "test.mtlx:4: \"base_color\" is \"1, 2\": expected 3 numbers"),
        (surface("value=\"1, nan, 1\""), "nan is not a finite number"),
        (surface("value=\"1\"").replace("color3", "colour"), "has the type \"colour\""),
        (surface("value=\"1,1,1\" colorspace=\"none of these\""), "unknown colour space"),
        (surface("nodename=\"x\""), "test.mtlx:4: there is no node \"x\""),
        (surface("nodegraph=\"x\""), "there is no nodegraph \"x\""),
        (surface("interfacename=\"x\""), "the graph has no input \"x\""),
        (document(looped, "nodename=\"a\""), "test.mtlx:3: <add> \"a\" depends on itself"),
        (document(outputs, "output=\"a\""), "depends on itself"),
        (document(&chain, "nodename=\"n0\""), "more than 200 nodes are connected in a chain"),
        (
            document("<sparkle name=\"x\" type=\"color3\"/>", "nodename=\"x\""),
            "test.mtlx:2: node <sparkle> \"x\" is not supported",
        ),
        (
            document("<viewdirection name=\"x\" type=\"vector3\"/>", "nodename=\"x\""),
            "is not supported",
        ),
        (document("<image name=\"x\" type=\"color3\"/>", "nodename=\"x\""), "has no file"),
        (
            document("<normalmap name=\"x\" type=\"vector3\"/>", "nodename=\"x\""),
            "is not connected to the normal",
        ),
        (
            document("<constant name=\"x\" type=\"vector2\"/>", "nodename=\"x\""),
            "is of type color3, but gets vector2",
        ),
        (
            "<materialx><lama_surface name=\"s\" type=\"surfaceshader\"/></materialx>".to_owned(),
            "the surface <lama_surface> \"s\" is not supported",
        ),
    ] {
        let error = convert(&text).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert!(!error.help.is_empty());
    }
}

#[test]
fn definitions_that_multiply_are_limited() {
    let mut text = String::new();
    for i in 0..20 {
        let inner = |name: &str| match i {
            0 => format!("<constant name=\"{name}\" type=\"float\"/>"),
            _ => format!("<n{} name=\"{name}\" type=\"float\"/>", i - 1),
        };
        text += &format!(
            "<nodedef name=\"d{i}\" node=\"n{i}\"><output name=\"out\" type=\"float\"/></nodedef>\
             <nodegraph name=\"g{i}\" nodedef=\"d{i}\">{}{}<add name=\"sum\" type=\"float\">\
             <input name=\"in1\" type=\"float\" nodename=\"a\"/><input name=\"in2\" \
             type=\"float\" nodename=\"b\"/></add>\
             <output name=\"out\" type=\"float\" nodename=\"sum\"/></nodegraph>",
            inner("a"),
            inner("b")
        );
    }
    text += "<n19 name=\"x\" type=\"float\"/>";
    let error = convert(&document(&text, "nodename=\"x\"")).unwrap_err();
    assert!(error.message.contains("more than 10000 nodes"), "{error}");
}

#[test]
fn computed_transmission_is_on_both_sides() {
    let sides = |inputs_of: &str| {
        let surface = format!(
            "<materialx><noise2d name=\"n\" type=\"float\"/><open_pbr_surface name=\"s\" \
             type=\"surfaceshader\">{inputs_of}</open_pbr_surface></materialx>"
        );
        let material = convert(&surface).unwrap();
        material.shader.transmitting().to_vec()
    };
    let members = ["transmission_weight", "geometry_thin_walled"];
    assert_eq!(sides(""), members);
    assert_eq!(sides(&inputs("transmission_weight:float=0.5")), members);
    let computed = "<input name=\"transmission_weight\" type=\"float\" nodename=\"n\"/>";
    assert_eq!(sides(computed), [""; 0]);
}

#[test]
fn tiles_are_one_image() {
    let image = |file: &str| {
        let nodes = format!(
            "<image name=\"i\" type=\"color3\"><input name=\"file\" type=\"filename\" \
             value=\"{file}\"/></image>"
        );
        convert(&document(&nodes, "nodename=\"i\""))
    };
    let material = image("wood.&lt;UDIM>.png").unwrap();
    let [texture] = &material.textures[..] else { panic!("there is one image") };
    assert_eq!(texture.tiles.as_deref(), Some("wood_tiles"));
    assert_eq!((texture.file.as_str(), texture.wrap), ("wood.<UDIM>.png", Wrap::Clamp));
    let lookup =
        "textureSample(wood, wood_sampler, (p.uv - m.wood_tiles.xy) / m.wood_tiles.zw).rgb";
    assert!(material.text.contains(lookup), "{}", material.text);
    let error = image("wood.&lt;UDIM>.&lt;f>.png").unwrap_err();
    assert!(error.message.contains("file names with <f>.png are not supported"), "{error}");
}
