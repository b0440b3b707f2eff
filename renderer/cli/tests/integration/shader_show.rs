//! `lightbound shader show`, for point and bounding shaders.

use crate::common::shader_dir::{LOBE, ShaderDir, lobe_of_products, lobe_with_defaults};
use predicates::prelude::*;
use predicates::str::contains;

#[test]
fn show_prints_every_stage() {
    let dir = ShaderDir::new(LOBE);
    let show = |args: &[&str]| {
        let output =
            dir.shader("show", args).assert().success().stderr("").get_output().stdout.clone();
        String::from_utf8(output).unwrap()
    };
    assert!(show(&["--stage", "ir"]).contains("loop"));
    assert!(show(&["--stage", "ir", "--entry", "brdf"]).contains("brdf.r"));
    assert!(show(&["--stage", "lowered"]).contains("any"));
    for target in ["sse", "avx", "avx2"] {
        assert!(show(&["--stage", "asm", "--target", target]).contains("mulps"), "{target}");
        assert!(show(&["--stage", "c", "--target", target]).contains("_mm"), "{target}");
    }
    dir.shader("show", &["--stage", "ir", "-o", "a.ir"]).assert().success().stdout("");
    assert_eq!(std::fs::read_to_string(dir.path("a.ir")).unwrap(), show(&["--stage", "ir"]));
}

#[test]
fn show_writes_programs_for_gpus() {
    let dir = ShaderDir::new(&lobe_with_defaults());
    for (stage, mark) in [
        ("wgsl", "@compute"),
        ("hlsl", "[numthreads(64, 1, 1)]"),
        ("msl", "#include <metal_stdlib>"),
        ("glsl", "#version 450"),
    ] {
        let point = dir.stdout("show", &["--stage", stage]);
        assert!(point.contains(mark) && point.contains("ShadedOutputs"), "{point}");
        let bound =
            |ulps: &str| dir.stdout("show", &["--stage", stage, "--of", "bound", "--ulps", ulps]);
        assert!(bound("1").contains("ShadedBoundOutputs"), "{}", bound("1"));
        assert_ne!(bound("1"), bound("0"));
        assert_eq!(bound("16"), dir.stdout("show", &["--stage", stage, "--of", "bound"]));
        let specialized = dir.stdout("specialize", &["--stage", stage, "--of", "bound"]);
        assert!(specialized.contains("ShadedBoundOutputs"), "{specialized}");
    }
    dir.shader("show", &["--stage", "spirv", "-o", "a.spv"]).assert().success().stdout("");
    let module = std::fs::read(dir.path("a.spv")).unwrap();
    assert_eq!(module[..4], 0x0723_0203_u32.to_le_bytes());
    for args in [&["--stage", "wgsl"][..], &["--stage", "c", "--of", "bound"]] {
        let args = [args, &["--ulps", "1"]].concat();
        dir.shader("show", &args).assert().code(2).stderr(contains("--ulps applies only"));
    }
}

#[test]
fn show_reports_missing_code_functions_and_folders() {
    let dir = ShaderDir::new(LOBE);
    for stage in ["asm", "c"] {
        let interpreter =
            dir.shader("show", &["--stage", stage, "--target", "interpreter"]).assert().code(2);
        interpreter.stderr(contains("interpreter").and(contains("--target")));
    }
    for entry in ["sample", "pdf"] {
        dir.shader("show", &["--stage", "ir", "--entry", entry])
            .assert()
            .code(2)
            .stderr(contains(entry));
    }
    dir.shader("show", &[]).assert().code(2).stderr(contains("--stage"));
    dir.shader("show", &["--stage", "ir", "-o", "no/such/folder/a.ir"])
        .assert()
        .code(2)
        .stderr(contains("no folder"));
}

#[test]
fn show_explains_ranges() {
    let guarded = "fn brdf(wi: vec3f, wo: vec3f) -> vec3f {
        if wi.z <= 0.25 { return vec3f(0.0); }
        return vec3f(1.0 / sqrt(wi.z), 1.0 / wo.z, 0.0);
    }";
    let dir = ShaderDir::new(guarded);
    let show = |args: &[&str]| dir.stdout("show", args);
    let ranges = show(&["--stage", "ranges"]);
    assert!(ranges.contains("// wi.z: [0.25000003, 1.0000002] here"), "{ranges}");
    assert!(ranges.contains("; wo.z may be 0"), "{ranges}");
    let explained = show(&["--explain", "s.g"]);
    assert!(explained.contains("; wo.z may be 0"), "{explained}");
    assert!(explained.contains("wi.z: [-1.0000002, 1.0000002], -0; an input"), "{explained}");
    let rejected = |args: &[&str], message: &'static str| {
        dir.shader("show", args).assert().code(2).stderr(contains(message));
    };
    rejected(&["--explain", "%99"], "the shader has no value `%99`");
    rejected(&["--explain", "0"], "did you mean \"%0\"?");
    rejected(&["--explain", "s.g", "--stage", "ir"], "--explain cannot be used with --stage ir");
    assert_eq!(show(&["--explain", "s.g", "--stage", "ranges"]), explained);
    rejected(&["--stage", "ranges", "--of", "bound"], "use --stage bounds");
}

#[test]
fn show_explains_variables_and_vectors() {
    let text = "struct Material {
    /// Diffuse albedo. range: [0, 1], default: 0.5
    kd: vec3f,
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let half = normalize(wi + vec3f(0.0, 0.0, 2.0));
    let norm = half.z / 3.14159265;
    return m.kd * norm;
}";
    let dir = ShaderDir::new(text);
    let explain = |name: &str| dir.stdout("show", &["--explain", name]);
    let norm = explain("norm");
    assert!(norm.contains("(line 7, norm)") && norm.contains("tightened by"), "{norm}");
    assert!(!norm.contains("NaN") && !norm.contains('∞'), "{norm}");
    let kd = explain("kd");
    assert!(["kd.x", "kd.y", "kd.z"].iter().all(|name| kd.contains(name)), "{kd}");
    assert_eq!(explain("s").matches("(s.").count(), 3, "{}", explain("s"));
    dir.shader("show", &["--explain", "nrom"])
        .assert()
        .code(2)
        .stderr(contains("did you mean \"norm\"?"));
    dir.shader("show", &["--explain", "%99"])
        .assert()
        .code(2)
        .stderr(contains("one of wi, wo, kd, s, half, norm"));
    let related = dir.stdout("show", &["--stage", "ranges"]);
    assert!(related.contains("tightened by normalize, half"), "{related}");
    let optimized = dir.stdout("show", &["--stage", "ranges", "--mode", "optimized"]);
    assert!(!optimized.contains("tightened by normalize, half"), "{optimized}");
}

#[test]
fn show_prints_ranges_of_every_function() {
    let dir = ShaderDir::new(
        "fn brdf(wi: vec3f, wo: vec3f) -> vec3f { return vec3f(0.25); }
fn sample(u: vec2f, wo: vec3f) -> vec3f { return vec3f(sqrt(u.x), u.y, sqrt(1.0 - u.x)); }
fn pdf(wi: vec3f, wo: vec3f) -> f32 { return max(wi.z, 0.0); }",
    );
    for (entry, output) in [("brdf", "brdf.r"), ("sample", "wi.z"), ("pdf", "pdf")] {
        let ranges = dir.stdout("show", &["--stage", "ranges", "--entry", entry]);
        assert!(ranges.contains(output) && !ranges.contains("NaN"), "{ranges}");
    }
    for option in [["--spans", "all"], ["--sides", "upper"], ["--nan", "ignore"]] {
        let args = [&["--stage", "ranges"][..], &option].concat();
        dir.shader("show", &args).assert().code(2).stderr(contains("makes no difference"));
    }
}

#[test]
fn show_prints_derivation_of_bounding_shader() {
    let dir = ShaderDir::new(&lobe_with_defaults());
    let show = |args: &[&str]| dir.stdout("show", args);
    let interval = show(&["--stage", "interval"]);
    assert!(
        interval.starts_with("fn shaded([wi.x]: f32,") && interval.contains(" wo.x: f32,"),
        "{interval}"
    );
    assert!(interval.contains(" max [") && !interval.contains("//"), "{interval}");
    assert!(show(&["--stage", "interval", "--spans", "all"]).contains("[wo.x]: f32"));
    assert!(show(&["--stage", "interval", "--frame", "world"]).contains("t.x: f32"));
    assert!(show(&["--stage", "interval", "--luminance"]).contains("-> ([s.luminance]: f32)"));
    let bounds = show(&["--stage", "bounds"]);
    assert!(bounds.contains("\n// kd.x: [0, 1]") && bounds.contains(" operations)\n"), "{bounds}");
    let strip_comments = |text: &str| {
        let lines = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default().trim_end().to_owned());
        lines.filter(|line| !line.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(strip_comments(&bounds), strip_comments(&interval));
    assert_ne!(show(&["--stage", "bounds", "--ranges", "paper"]), bounds);
    assert_ne!(show(&["--stage", "bounds", "--mode", "naive"]), bounds);
    let mirror = ShaderDir::new(&lobe_of_products());
    let related = |args: &[&str]| {
        mirror.stdout("show", &[&["--stage", "bounds", "--mode", "related"], args].concat())
    };
    assert!(related(&[]).contains(", tightened by dot)\n") && !bounds.contains("tightened"));
    assert!(!related(&["--relations=-unit,-dot"]).contains("tightened by dot"));
    let ir = show(&["--stage", "ir", "--of", "bound"]);
    assert!(
        ir.contains("wi.x.lo: f32, wi.x.hi: f32") && ir.contains("-> (s.r.lo: f32, s.r.hi: f32"),
        "{ir}"
    );
    assert!(
        show(&["--stage", "ir", "--of", "bound", "--sides", "upper"])
            .contains("-> (s.r.hi: f32, s.g.hi")
    );
    for stage in ["lowered", "asm", "c"] {
        let [point, bound] =
            ["point", "bound"].map(|of| show(&["--stage", stage, "--of", of, "--target", "sse"]));
        assert_eq!(show(&["--stage", stage, "--target", "sse"]), point);
        assert_ne!(point, bound, "{stage}");
    }
}

#[test]
fn show_rejects_conflicting_options() {
    let dir = ShaderDir::new(&lobe_with_defaults());
    let rejected = |args: &[&str]| dir.shader("show", args).assert().code(2).stdout("");
    rejected(&["--stage", "interval", "--of", "point"])
        .stderr(contains("--of point").and(contains("--stage ir")));
    for option in [
        ["--spans", "all"],
        ["--frame", "world"],
        ["--mode", "naive"],
        ["--nan", "ignore"],
        ["--sides", "upper"],
    ] {
        rejected(&[&["--stage", "ir"], &option[..]].concat())
            .stderr(contains(option[0]).and(contains("--of bound")));
    }
    rejected(&["--stage", "bounds", "--entry", "pdf"])
        .stderr(contains("only s").and(contains("--entry")));
}
