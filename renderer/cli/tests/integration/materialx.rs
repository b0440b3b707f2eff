//! Tests of MaterialX documents: `material convert`, and the commands of `shader`.

use crate::common::{assert_input_error, lightbound};
use lightbound_image::read_exr;
use lightbound_image::write::ChannelSamples;
use predicates::str::contains;
use std::fs;
use std::path::{Path, PathBuf};

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/materialx/materials.mtlx")
}

#[test]
fn converted_materials_look_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let mut convert =
        lightbound(&["material", "convert", "--material", "tiles", "-o", "tiles.wgsl"]);
    convert.arg(document()).current_dir(here).assert().success().stderr("");
    let text = fs::read_to_string(here.join("tiles.wgsl")).unwrap();
    assert!(text.contains("    let grid = p.uv * m.tiles;\n"), "{text}");
    let preview = |file: &Path, options: &[&str], picture: &str| {
        let mut command = lightbound(&["shader", "preview", "-q", "--size", "24", "--spp", "1"]);
        command.args(["--set", "tiles=9,5", "-o", picture]).args(options).arg(file);
        command.current_dir(here).assert().success().stderr("");
        read_exr(&here.join(picture)).unwrap().channels
    };
    let direct = preview(&document(), &["--material", "tiles"], "direct.exr");
    assert_eq!(direct, preview(&here.join("tiles.wgsl"), &[], "converted.exr"));
}

#[test]
fn previews_set_the_emission_of_documents() {
    let folder = tempfile::tempdir().unwrap();
    let lamp = "<materialx version=\"1.39\"><open_pbr_surface name=\"s\" type=\"surfaceshader\">\
        <input name=\"emission_luminance\" type=\"float\" value=\"3\"/></open_pbr_surface>\
        <surfacematerial name=\"m\" type=\"material\"><input name=\"surfaceshader\" \
        type=\"surfaceshader\" nodename=\"s\"/></surfacematerial></materialx>";
    fs::write(folder.path().join("lamp.mtlx"), lamp).unwrap();
    let mean = |luminance: &str| {
        let mut command = lightbound(&["shader", "preview", "-q", "--size", "16", "--spp", "1"]);
        command.args(["lamp.mtlx", "-o", "lamp.exr", "--set"]);
        command.arg(format!("emission_luminance={luminance}"));
        command.current_dir(folder.path()).assert().success();
        let channels = read_exr(&folder.path().join("lamp.exr")).unwrap().channels;
        let red = channels.iter().find(|channel| channel.name == "R").unwrap();
        let ChannelSamples::F32(values) = &red.samples else { panic!("colours are floats") };
        values.iter().sum::<f32>() / values.len() as f32
    };
    let [none, some] = ["0", "3"].map(mean);
    assert!(none < 0.5 * some, "{none}, {some}");
}

#[test]
fn shader_commands_take_documents() {
    let mut check = lightbound(&["shader", "check", "--material", "marble"]);
    check.arg(document()).assert().success().stdout(contains("Scale of the veins, of the graph."));
    let mut eval = lightbound(&["shader", "eval", "--material", "glass"]);
    eval.args(["--wi", "0,0.6,0.8", "--wo", "0,0,1"]).arg(document()).assert().success();
}

#[test]
fn info_describes_materials() {
    let folder = tempfile::tempdir().unwrap();
    let text = "<materialx><surface_unlit name=\"lamp\" type=\"surfaceshader\"/>\n\
        <standard_surface name=\"bad\" type=\"surfaceshader\"><input name=\"base_color\" \
        type=\"color3\" nodename=\"none\"/></standard_surface></materialx>";
    fs::write(folder.path().join("a.mtlx"), text).unwrap();
    let info = |format: &str| {
        let mut command = lightbound(&["info", "a.mtlx", "--format", format]);
        let output = command.current_dir(folder.path()).assert().success().get_output().clone();
        String::from_utf8(output.stdout).unwrap()
    };
    let text = info("text");
    assert!(text.starts_with("a.mtlx: MaterialX document, 2 materials\n"), "{text}");
    assert!(text.contains("  lamp  surface_unlit, emission\n"), "{text}");
    assert!(text.contains("  bad   standard_surface\n        error: a.mtlx:2: there is"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&info("json")).unwrap();
    let materials = &json[0]["materials"];
    let expected = serde_json::json!(["emission"]);
    assert_eq!((&materials[0]["properties"], &materials[1]["name"]), (&expected, &"bad".into()));
    assert!(materials[1]["error"].as_str().unwrap().contains("no node \"none\""));
}

#[test]
fn images_that_do_not_exist_are_warnings() {
    let folder = tempfile::tempdir().unwrap();
    let image = |name: &str, file: &str| {
        format!(
            "<image name=\"{name}\" type=\"color3\">\n<input name=\"file\" type=\"filename\" \
             value=\"{file}\"/></image>\n"
        )
    };
    let surface = |name: &str, input: &str, node: &str| {
        format!(
            "<open_pbr_surface name=\"{name}\" type=\"surfaceshader\"><input name=\"{input}\" \
             type=\"color3\" nodename=\"{node}\"/><input name=\"emission_luminance\" \
             type=\"float\" value=\"1\"/></open_pbr_surface>"
        )
    };
    let text = [
        image("a", "none.png"),
        image("b", "tiles.&lt;UDIM&gt;.png"),
        image("c", "here.png"),
        surface("one", "base_color", "a"),
        surface("two", "emission_color", "a"),
        surface("three", "base_color", "b"),
        surface("four", "base_color", "c"),
    ];
    let text = format!("<materialx>\n{}</materialx>", text.concat());
    fs::write(folder.path().join("m.mtlx"), text).unwrap();
    fs::write(folder.path().join("here.png"), "").unwrap();
    let output = |args: &[&str]| {
        let mut command = lightbound(args);
        let output = command.current_dir(folder.path()).assert().success().get_output().clone();
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap())
    };
    let [info, _] = output(&["info", "m.mtlx"]);
    let missing = "warning: m.mtlx:3: the image none.png does not exist";
    assert_eq!(info.matches(missing).count(), 1, "{info}");
    let tiles = "warning: m.mtlx:5: the image tiles.<UDIM>.png does not exist";
    assert_eq!(info.matches(tiles).count(), 1, "{info}");
    assert!(!info.contains("here.png"), "{info}");
    let [json, _] = output(&["info", "m.mtlx", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let warnings = |i: usize| json[0]["materials"][i]["warnings"].as_array().unwrap().len();
    assert_eq!([0, 1, 2, 3].map(warnings), [1, 0, 1, 0]);
    for material in ["one", "two"] {
        let [_, warnings] = output(&["material", "convert", "m.mtlx", "--material", material]);
        assert_eq!(warnings.matches(missing).count(), 1, "{warnings}");
    }
    let [_, warnings] = output(&["material", "convert", "m.mtlx", "--material", "four"]);
    assert_eq!(warnings, "");
}

#[test]
fn wrong_options_are_errors() {
    let mut command = lightbound(&["material", "convert", "ward"]);
    assert_input_error(&mut command, &["ward is not a MaterialX document", ".mtlx"]);
    let mut command = lightbound(&["material", "convert"]);
    command.arg(document());
    assert_input_error(&mut command, &["the document has 4 materials", "\"marble\", \"brass\""]);
    let mut command = lightbound(&["shader", "check", "ward", "--material", "a"]);
    assert_input_error(&mut command, &["--material is for MaterialX documents"]);
}
