//! Programs for GPUs: every shader of the library, and one for each feature of the language, in all
//! languages. `lightbound-gpu-tests` runs them.

use lightbound_shader::backend::gpu::{Language, widen, write};
use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges};
use lightbound_shader::ir::Function;
use lightbound_shader::lift::Options;
use lightbound_shader::{Settings, Shader};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use std::path::{Path, PathBuf};

fn shaders(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = folder.read_dir().expect("the folder is readable");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it is readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "wgsl"));
    paths.sort();
    paths
}

/// The point and the bounding shader of a text.
fn functions(name: &str, text: &str) -> [Function; 2] {
    let shader = Shader::parse(name, text).unwrap_or_else(|error| panic!("{error}"));
    let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local)
        .unwrap_or_else(|error| panic!("{error}"));
    let inputs = integrand.inputs(IntervalInputs::Light, Ranges::Declared);
    let lifted = integrand.bound(&inputs, &Options::default());
    let bounding = widen(&lifted.function, 16);
    [lifted.point, Function { name: format!("{}_bound", bounding.name), ..bounding }]
}

fn text(function: &Function, language: Language) -> String {
    let bytes = write(function, language).unwrap_or_else(|error| panic!("{error}\n{function}"));
    String::from_utf8(bytes).expect("it is a text")
}

/// `write` validates the module. A text in WGSL is also read again.
fn check(folder: &str, least: usize) {
    let paths = shaders(folder);
    assert!(paths.len() >= least, "there are only {} shaders", paths.len());
    for path in paths {
        let source = std::fs::read_to_string(&path).expect("shaders are readable");
        for function in functions(&path.display().to_string(), &source) {
            for language in Language::ALL {
                let bytes = write(&function, language);
                let bytes = bytes.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                assert!(bytes.len() > 500, "{}: {language:?} is too short", path.display());
            }
            let text = text(&function, Language::Wgsl);
            let longest = text.lines().map(str::len).max();
            assert!(longest < Some(1000), "{}: a line has {longest:?} bytes", path.display());
            let module = naga::front::wgsl::parse_str(&text)
                .unwrap_or_else(|error| panic!("{}", error.emit_to_string(&text)));
            let validated =
                Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module);
            assert!(validated.is_ok(), "{}: {validated:?}\n{text}", path.display());
        }
    }
}

#[test]
fn library_shaders_are_valid_in_all_languages() {
    check("../assets/shaders", 17);
}

#[test]
fn all_features_are_valid_in_all_languages() {
    check("tests/shaders", 40);
}

/// A branch, a loop with an exit that depends on data, an elementary function and a bool.
const SMALL: &str = "struct Params {
    /// range: [0, 1]
    scale: f32,
    mirrored: bool,
}
fn steps(/** range: [-8, 8] */ x: f32, m: Params) -> f32 {
    var y = x;
    for (var i = 0; i < 12; i++) {
        if y > 3.0 { break; }
        y = y * 1.5 + m.scale;
    }
    if m.mirrored { y = -exp(y); }
    return y;
}
";

#[test]
fn texts_match_snapshots() {
    let shader = Shader::parse_function("steps.wgsl", SMALL, "steps").expect("it is valid");
    let integrand =
        Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
    let inputs = integrand.inputs(IntervalInputs::Light, Ranges::Declared);
    let lifted = integrand.bound(&inputs, &Options::default());
    let bound = Function { name: "steps_bound".to_owned(), ..lifted.function };
    for language in [Language::Wgsl, Language::Hlsl, Language::Msl, Language::Glsl] {
        insta::assert_snapshot!(format!("{language:?}"), text(&lifted.point, language));
    }
    insta::assert_snapshot!("Wgsl_bound", text(&bound, Language::Wgsl));
}

#[test]
fn spirv_forbids_fused_operations() {
    let [point, _] = functions("ward.wgsl", include_str!("../../assets/shaders/ward.wgsl"));
    let bytes = write(&point, Language::SpirV).expect("it is valid");
    let words: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|bytes| u32::from_le_bytes(bytes.try_into().expect("words have four bytes")))
        .collect();
    assert_eq!(words[0], 0x0723_0203);
    let (mut arithmetic, mut decorated, mut at) = (vec![], vec![], 5);
    while at < words.len() {
        match (words[at] & 0xffff, &words[at + 1..]) {
            (127 | 129 | 131 | 133 | 136, &[_, result, ..]) => arithmetic.push(result),
            (71, &[id, 42, ..]) => decorated.push(id),
            _ => {}
        }
        at += (words[at] >> 16) as usize;
    }
    assert_eq!(at, words.len());
    assert!(arithmetic.len() > 40);
    assert_eq!(arithmetic, decorated);
}
