//! `lightbound shader check`.

use crate::common::lightbound;
use crate::common::shader_dir::{LOBE, ShaderDir, library_files, targets};
use predicates::prelude::*;
use predicates::str::contains;

#[test]
fn check_prints_properties() {
    let dir = ShaderDir::new(LOBE);
    let properties = [
        "A lobe over a tint",
        "Diffuse albedo",
        "vec3f",
        "[0, 1]",
        "u32",
        "0.5",
        "true",
        "instructions",
        "from text to code",
        "bounded",
        "squarings",
    ];
    let output = dir.shader("check", &[]).assert().success().stderr("").get_output().stdout.clone();
    let text = String::from_utf8(output).unwrap();
    for property in properties {
        assert!(text.contains(property), "{property} is missing in:\n{text}");
    }
    for target in targets() {
        dir.shader("check", &["--target", target]).assert().success().stdout(contains(target));
    }
}

#[test]
fn check_validates_values_and_samplers() {
    let shader = |value: &str, pdf: &str| {
        format!(
            "struct Material {{\n/// default: 0.5\nkd: f32\n}}
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{ return vec3f({value}); }}
            fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {{
                return vec3f(sqrt(u.x) * cos(6.2831853 * u.y), sqrt(u.x) * sin(6.2831853 * u.y), sqrt(1.0 - u.x));
            }}
            fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {{ return {pdf}; }}"
        )
    };
    let run = |shader: &str| ShaderDir::new(shader).shader("check", &[]).assert();
    let check = |shader: &str| run(shader).success();
    let cosine = "max(wi.z, 0.0) / 3.14159265";
    let valid = check(&shader("m.kd", cosine)).stderr("");
    valid.stdout(
        contains("sampler    agrees with pdf\n")
            .and(contains("values     finite, none negative\n")),
    );
    let wrong_pdf = run(&shader("m.kd", "0.5 / 3.14159265"))
        .code(1)
        .stdout(contains("sampler    disagrees with pdf\n"));
    wrong_pdf.stderr(contains("warning: `sample` and `pdf` disagree: "));
    let sphere = format!("//! sides: both\n{}", shader("m.kd", cosine));
    run(&sphere).code(1).stdout(contains("sampler    misses light\n")).stderr(contains(
        "warning: `pdf` is 0 for directions that receive 50.0 % of the scattered",
    ));
    let negative = run(&shader("m.kd - 1.0", cosine))
        .code(1)
        .stdout(contains("agrees with pdf").and(contains("none negative").not()));
    negative.stderr(contains("warning: s.r is -0.").and(contains("for wi = (")));
    check(&shader("m.kd - 0.5", cosine))
        .stdout(contains("black"))
        .stderr(contains("warning: s is 0"));
    let required = check(&shader("m.kd", cosine).replace("default: 0.5", "Albedo.")).stderr("");
    required.stdout(contains("sampler    not checked: `kd` has no default\n"));
    check("struct Material { a: f32 }\nfn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.a); }")
        .stdout(contains("sampler    derived from bounds\n"));
}

#[test]
fn check_integrates_phase_functions() {
    let check = |value: &str| {
        let shader = format!("fn phase(wi: vec3f, wo: vec3f) -> f32 {{ return {value}; }}");
        ShaderDir::new(&shader).shader("check", &[]).assert()
    };
    check("0.07957747").success().stderr("");
    let loud = check("1.0").code(1).stdout(contains("integral   12.5664\n"));
    loud.stderr(contains("not normalized: its integral over the sphere is 12.5664, not 1"));
}

#[test]
fn unknown_clauses_are_warnings_with_a_suggestion() {
    let shader = "struct Material {\n    /// Albedo. rnage: [0, 1], default: 0.5\n    kd: f32,\n}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.kd); }";
    let warning =
        "warning: a.wgsl:2: `rnage` is not a clause, so it has no effect; did you mean `range`?";
    ShaderDir::new(shader).shader("check", &[]).assert().success().stderr(contains(warning));
}

#[test]
fn types_without_components_have_a_remedy() {
    for (ty, help) in [
        ("vec3", "write `vec3f` for floats, `vec3i` or `vec3u` for integers"),
        ("mat3x3", "write `mat3x3f`"),
        ("array", "`array<f32, 4>`"),
    ] {
        let shader = format!(
            "struct Material {{ k: {ty} }}\nfn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{ return wi; }}"
        );
        let failed = ShaderDir::new(&shader).shader("check", &[]).assert().code(2);
        let message = format!("`{ty}` lacks the type of its components");
        failed.stderr(contains(message).and(contains(help)));
    }
}

#[test]
fn annotations_may_end_a_line() {
    let shader = "struct Material { /// Albedo. range: [0, 1], default: 0.5
    kd: f32,
    ks: f32, /// Gloss. range: [0, 2], default: 0
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.kd + m.ks); }";
    let done = ShaderDir::new(shader).shader("check", &[]).assert().success();
    done.stdout(contains("Albedo.").and(contains("0 to 2").or(contains("[0, 2]"))))
        .stdout(contains("Gloss."));
}

#[test]
fn check_lists_parameters() {
    let rows = |arguments: &str, ks: &str| {
        let shader = format!(
            "var wood: texture_2d<f32>;
            var wood_sampler: sampler;
            struct Material {{
                /// Albedo. default: 0.5
                kd: vec3f,
                ks: f32,
            }}
            fn material({arguments}) -> Material {{ return Material(textureSample(wood, wood_sampler, p.uv).rgb, {ks}); }}
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{ return m.kd * m.ks; }}"
        );
        let output = ShaderDir::new(&shader).shader("check", &[]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    let computed = rows("p: SurfacePoint", "0.25");
    for row in [
        "kd vec3f - - computed by fn material; Albedo.",
        "ks f32 - - computed by fn material",
        "textures wood",
    ] {
        assert!(computed.iter().any(|line| line == row), "{row} is missing in {computed:?}");
    }
    assert!(
        computed.contains(&"values not checked: `wood` has no image".to_owned()),
        "{computed:?}"
    );
    let settable = rows("p: SurfacePoint, m: Material", "m.ks");
    for row in ["kd vec3f - 0.5 Albedo.", "ks f32 - -"] {
        assert!(settable.iter().any(|line| line == row), "{row} is missing in {settable:?}");
    }
    for row in [computed, settable].concat() {
        let name = row.split(' ').next().unwrap_or("");
        assert!(!["position", "object_position", "normal", "uv"].contains(&name), "{row}");
    }
}

#[test]
fn check_reports_loops() {
    let body = |body: &str| {
        format!(
            "struct Material {{ a: f32 }}\nfn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{ {body} }}"
        )
    };
    let dir = ShaderDir::new(&body("return vec3f(m.a);"));
    dir.shader("check", &[]).assert().success().stdout(contains("none"));
    let dir = ShaderDir::new(&body("var x = m.a; while x < 1.0 { x *= 1.5; } return vec3f(x);"));
    dir.shader("check", &[]).assert().success().stdout(contains("65536").and(contains("(line 2)")));
    let dir = ShaderDir::new(&body(
        "var x = m.a;\n  if x > 0.0 {\n for (var i = 0; i < 3; i++) { x += 1.0; }\n }\n while x < 9.0 { x *= 1.5; } return vec3f(x);",
    ));
    dir.shader("check", &[]).assert().success().stdout(contains("lines 4, 6"));
    // Parameter ranges bound the number of iterations.
    let dir = ShaderDir::new(
        "struct Material {
            /// range: [0, 40]
            n: i32,
            /// range: [0, 40]
            m: u32,
        }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
            var s = 0.0;
            for (var i = 0; i < m.n; i++) { s = s * 0.5 + 1.0; }
            for (var i = 0u; i <= m.m; i++) { s = s * 0.5 + 1.0; }
            return vec3f(s);
        }",
    );
    dir.shader("check", &[])
        .assert()
        .success()
        .stdout(contains("bounded").and(contains("may reach the cap").not()));
}

#[test]
fn material_library_passes_checks() {
    for path in library_files() {
        let check = lightbound(&["shader", "check"]).arg(&path).assert().success().stderr("");
        check.stdout(contains("may reach the cap").not());
        // Every parameter has a default.
        let eval = lightbound(&["shader", "eval", "--wi", "0,0.6,0.8", "--wo", "0.6,0,0.8"])
            .arg(&path)
            .assert()
            .success();
        eval.stderr("").stdout(contains("NaN").not());
    }
}
