//! Error messages for invalid shaders. Every file in `errors/` is an invalid shader; files with the
//! same first word in their name form a family, and the messages of a family are one snapshot.

mod messages;

use lightbound_shader::texture::TextureState;
use lightbound_shader::{Entry, Settings, Shader, ShaderError};
use messages::{jargon, render};
use std::collections::BTreeMap;
use std::path::Path;

fn parse_error(name: &str, text: &str) -> ShaderError {
    match Shader::parse(name, text) {
        Ok(_) => panic!("{name} is accepted as valid"),
        Err(error) => error,
    }
}

#[test]
fn errors_of_invalid_shaders_match_snapshots() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors");
    let files = folder
        .read_dir()
        .expect("the folder is readable")
        .map(|entry| entry.expect("the entry is readable").path());
    let mut files: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "wgsl"))
        .collect();
    files.sort();
    assert!(files.len() > 100, "there are only {} files", files.len());
    let mut families = BTreeMap::<String, String>::new();
    for path in files {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .expect("file names are UTF-8")
            .to_owned();
        let text = std::fs::read_to_string(&path).expect("shaders are readable");
        let error = parse_error(&name, &text);
        assert_eq!(jargon(&error, &text), None, "{name}");
        let family = name.split(['_', '.']).next().unwrap_or("").to_owned();
        *families.entry(family).or_default() += &format!("{name}\n{}\n", render(&error));
    }
    for (family, text) in families {
        insta::assert_snapshot!(family, text);
    }
}

const BRDF: &str = "fn brdf(wi: vec3f, wo: vec3f) -> vec3f {\n    return vec3f(VALUE);\n}\n";

/// Checks sources that would exhaust stack, memory or time.
#[test]
fn oversized_sources_are_rejected() {
    let brdf = |value: &str| BRDF.replace("VALUE", value);
    let chain =
        |declaration: &dyn Fn(usize) -> String, n| (0..n).map(declaration).collect::<String>();
    let texts = [
        ("parentheses", brdf(&format!("{}wi.z{}", "(".repeat(5000), ")".repeat(5000)))),
        ("calls", brdf(&format!("{}wi.z{}", "sin(".repeat(5000), ")".repeat(5000)))),
        ("open brackets", brdf(&"(".repeat(100_000))),
        ("signs", brdf(&format!("{}wi.z", "- ".repeat(100_000)))),
        ("sum", brdf(&format!("wi.z{}", " + wi.z".repeat(100_000)))),
        ("indices", brdf(&format!("wi{}", "[0]".repeat(100_000)))),
        ("swizzles", brdf(&format!("wi{}", ".xyz".repeat(100_000)))),
        ("conjunction", brdf(&format!("f32(true{})", " && wi.z > 0".repeat(100_000)))),
        (
            "blocks",
            BRDF.replace("return", &format!("{}{} return", "{".repeat(5000), "}".repeat(5000))),
        ),
        (
            "loops",
            BRDF.replace(
                "return",
                &format!("{}{} return", "loop {".repeat(5000), "}".repeat(5000)),
            ),
        ),
        (
            "else",
            BRDF.replace(
                "return",
                &format!("if true {{}} {} return", "else if true {}".repeat(100_000)),
            ),
        ),
        ("types", brdf(&format!("{}f32{}()", "array<".repeat(5000), ", 1>".repeat(5000)))),
        ("constants", brdf("a0") + &chain(&|k| format!("const a{k} = a{};\n", k + 1), 50_000)),
        (
            "functions",
            brdf("a0()")
                + &chain(&|k| format!("fn a{k}() -> f32 {{ return a{}(); }}\n", k + 1), 50_000),
        ),
    ];
    let mut messages = String::new();
    for (name, text) in texts {
        let error = parse_error(name, &text);
        assert_eq!(jargon(&error, &text), None, "{name}");
        messages += &format!("{name}: {}\n", error.message);
    }
    insta::assert_snapshot!("limits", messages);
}

/// Checks sources that parse but cannot be translated.
#[test]
fn translation_errors_match_snapshot() {
    let doubling: String = (1..40)
        .map(|k| {
            format!("fn g{k}(x: f32) -> f32 {{ return g{}(x) + g{}(x + 1); }}\n", k - 1, k - 1)
        })
        .collect();
    let brdf = |value: &str| BRDF.replace("VALUE", value);
    let texts = [
        ("calls", brdf("g39(wi.z)") + "fn g0(x: f32) -> f32 { return sin(x); }\n" + &doubling),
        (
            "array",
            BRDF.replace("return", "var a: array<f32, 100000000>; return")
                .replace("VALUE", "a[u32(wi.z)]"),
        ),
        ("constant", brdf("A[u32(wi.z)]") + "const A = array<f32, N>();\nconst N = 1u << 28u;\n"),
        ("override", brdf("a") + "override a: f32;\n"),
        (
            "offset",
            "var t: texture_2d<f32>;\nvar s: sampler;\n".to_owned()
                + &brdf("textureSample(t, s, wi.xy, vec2(0, 8)).r"),
        ),
    ];
    let mut messages = String::new();
    for (name, text) in texts {
        let shader =
            Shader::parse(name, &text).unwrap_or_else(|error| panic!("{name}: {}", render(&error)));
        let error = shader.function(Entry::Integrand, &Settings::default()).expect_err(name);
        assert_eq!(jargon(&error, &text), None, "{name}");
        messages += &format!("{name}\n{}\n", render(&error));
    }
    insta::assert_snapshot!("translation", messages);
}

#[test]
fn invalid_settings_are_rejected() {
    let text = "/// Lobes. range: [1, 4]\noverride lobes: i32 = 2;\noverride flag = true;\n"
        .to_owned()
        + &BRDF.replace("VALUE", "f32(lobes)");
    let shader = Shader::parse("settings", &text).expect("it is valid");
    let mut messages = String::new();
    let function = |overrides: &[(&str, f64)]| {
        let overrides = overrides.iter().map(|(name, x)| ((*name).to_owned(), *x)).collect();
        shader.function(Entry::Integrand, &Settings { overrides, ..Settings::default() })
    };
    assert!(function(&[("lobes", 3.0), ("flag", 0.0)]).is_ok());
    for overrides in [
        [("lobe", 1.0)],
        [("lobes", 2.5)],
        [("lobes", 5.0)],
        [("flag", 2.0)],
        [("lobes", f64::NAN)],
    ] {
        messages +=
            &format!("{}\n", render(&function(&overrides).expect_err("the value is invalid")));
    }
    let texture = |shader: &Shader| {
        let textures = vec![("wod".to_owned(), TextureState::default())];
        render(
            &shader
                .function(Entry::Integrand, &Settings { textures, ..Settings::default() })
                .expect_err("the shader has no such texture"),
        )
    };
    let textured = "var wood: texture_2d<f32>;\nvar stone: texture_2d<f32>;\n".to_owned()
        + &BRDF.replace("VALUE", "wi.z");
    for text in [&text, &textured] {
        messages +=
            &format!("{}\n", texture(&Shader::parse("settings", text).expect("it is valid")));
    }
    messages += &render(
        &shader
            .function(Entry::Sample, &Settings::default())
            .expect_err("the shader has no sampler"),
    );
    insta::assert_snapshot!("settings", messages);
}
