//! Faults that `lightbound shader check` finds: divisions by zero, NaN and infinite values.

use crate::common::lightbound;
use crate::common::shader_dir::{ShaderDir, library_files};
use predicates::prelude::*;
use predicates::str::contains;

/// A shader with this body of `brdf`, and a parameter `a` from 0 to 1 and `n` from 0 to 4.
fn shader(body: &str) -> ShaderDir {
    ShaderDir::new(&format!(
        "struct Material {{
    /// range: [0, 1], default: 0.5
    a: f32,
    /// range: [0, 4], default: 1
    n: u32,
}}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{
    {body}
}}
"
    ))
}

/// What is printed to stderr.
fn stderr(dir: &ShaderDir, arguments: &[&str]) -> String {
    let output = dir.shader("check", arguments).output().unwrap();
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn faults_are_shown_with_line_column_values_and_remedy() {
    let dir = shader("return vec3f(1.0 / m.a);");
    assert_eq!(
        stderr(&dir, &[]),
        "warning: a.wgsl:8:18: division by zero for a = 0: s.r is infinite; keep the divisor away \
         from 0, as in `max(x, 1e-6)`
  8 |     return vec3f(1.0 / m.a);
    |                  ^^^^^^^^^
"
    );
    dir.shader("check", &[])
        .assert()
        .code(1)
        .stdout(contains("faults     brdf: line 8 can fail\n"));
}

#[test]
fn each_kind_of_fault_is_found() {
    for (body, message) in [
        ("return vec3f(m.a / (m.a - 0.25));", "division by zero for a = 0.25"),
        ("return vec3f(1.0 % m.a);", "remainder of a division by zero for a = 0:"),
        ("let v = vec3f(m.a); return v / length(v);", "division by zero for a = 0:"),
        ("return vec3f(sqrt(m.a - 0.5));", "square root of a negative number for a = 0:"),
        ("return vec3f(log(m.a));", "logarithm of 0 for a = 0:"),
        ("return vec3f(inverseSqrt(m.a));", "inverse square root of 0 for a = 0:"),
        ("return vec3f(pow(m.a - 0.5, m.a));", "power of a negative number for a = 0:"),
        ("return vec3f(pow(m.a, -0.3));", "negative power of 0, or overflow for a = 0:"),
        ("return vec3f(acos(0.4 + m.a));", "asin or acos of a number beyond 1 for a = 1:"),
        ("return vec3f(exp(150.0 * m.a));", "overflow for a = 1:"),
        // In floats, the dot product of a unit vector with itself may be more than 1.
        ("return vec3f(acos(dot(wi, wi)));", "asin or acos of a number beyond 1 for wi = ("),
        ("return vec3f(sqrt(1.0 - dot(wo, wo)));", "square root of a negative number for wo = ("),
    ] {
        let dir = shader(body);
        let assert = dir.shader("check", &[]).assert().code(1);
        assert.stderr(contains("a.wgsl:8:").and(contains(message)));
    }
}

#[test]
fn guards_are_proved() {
    for body in [
        "return vec3f(1.0 / max(m.a, 0.01));",
        "if m.a == 0.0 { return vec3f(0.0); } return vec3f(m.a * m.a / m.a);",
        "if m.a < 0.1 { return vec3f(0.0); } return vec3f(1.0 / m.a);",
        "var s = 0.0; if m.a > 0.1 && m.n > 0u { s = abs(log(m.a)) / f32(m.n); } return vec3f(s);",
        "return vec3f(m.a / select(m.a, 1.0, m.a == 0.0));",
        "return vec3f(sqrt(max(m.a - 0.25, 0.0)));",
        "return vec3f(acos(clamp(dot(wi, wo), -1.0, 1.0)));",
        "return abs(normalize(wi + wo));",
        "return vec3f(exp(min(200.0 * m.a, 80.0)));",
        "return vec3f(pow(max(dot(wi, wo), 0.0), 1000.0));",
        // Over a partition of the ranges.
        "return vec3f(1.0 / (wi.z + wo.z - wi.z * wo.z));",
        "return vec3f(1.0 / (1.25 - m.a * (2.0 - m.a)));",
        "return vec3f(sqrt(1.0 + 0.2 * (1.0 - wi.z * wi.z) / (wi.z * wi.z)));",
    ] {
        let dir = shader(body);
        let assert = dir.shader("check", &["--faults"]).assert().success();
        let proved = "faults     brdf: proved that there are none\n";
        assert.stderr("").stdout(contains(proved));
    }
}

#[test]
fn faults_without_effect_are_notes() {
    let dir = shader("return vec3f(select(1.0 / m.a, 0.0, m.a < 0.1));");
    dir.shader("check", &[]).assert().success().stderr("").stdout(contains("line 8"));
    let notes = stderr(&dir, &["--faults"]);
    let note = "note: a.wgsl:8:25: division by zero for a = 0: the results are finite\n";
    assert!(notes.starts_with(note), "{notes}");
    let dir = shader("return vec3f(f32(7u / m.n));");
    dir.shader("check", &[]).assert().success().stderr("");
    let notes = stderr(&dir, &["--faults"]);
    assert!(notes.contains("division of an integer by zero") && notes.contains("x / 0 is x"));
}

#[test]
fn operations_that_are_not_decided_are_listed_on_request() {
    let check = |arguments: &[&str]| {
        let mut command = lightbound(&["shader", "check", "conductor"]);
        command.args(arguments).assert().success()
    };
    check(&[]).stderr("").stdout(contains("brdf: none found; not excluded in line"));
    let note =
        "note: conductor:59:34: overflow could not be excluded\n  59 |     return INV_TWO_PI";
    check(&["--faults"]).stderr(contains(note).and(contains("warning").not()));
}

#[test]
fn parameters_without_a_range_fail_only_with_a_warning() {
    let text = "struct Material {
    /// default: 0.5
    a: f32,
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(1.0 / m.a); }";
    let dir = ShaderDir::new(text);
    let assert = dir.shader("check", &[]).assert().success();
    let unlimited = "a: only from 1e-6 to 1e6 in magnitude, where the range has no limit\n";
    assert.stderr(contains("declare a range for `a`")).stdout(contains(unlimited));
}

#[test]
fn values_that_are_not_finite_are_reported_once() {
    let dir = shader("return vec3f(sqrt(m.a - 0.75));");
    assert_eq!(stderr(&dir, &[]).matches("warning: ").count(), 1);
    // Negative values have no line.
    let dir = shader("return vec3f(m.a - 0.75);");
    dir.shader("check", &[]).assert().code(1).stderr(contains("s.r is -0."));
}

#[test]
fn densities_and_samplers_are_checked() {
    let density = "fn density(p: vec3f) -> f32 { return 1.0 / (p.x - 0.5); }";
    let dir = ShaderDir::new(density);
    let message = "a.wgsl:1:38: division by zero for p = 0.5: density is infinite";
    dir.shader("check", &[]).assert().stderr(contains(message));
    let sampler = "fn brdf(wi: vec3f, wo: vec3f) -> vec3f { return vec3f(0.3183); }
fn sample(u: vec2f, wo: vec3f) -> vec3f { let v = vec3f(u - 0.25, 0.0); return v / length(v); }
fn pdf(wi: vec3f, wo: vec3f) -> f32 { return max(wi.z, 0.0) / (1.0 - wi.z); }";
    let text = stderr(&ShaderDir::new(sampler), &[]);
    assert!(text.contains("division by zero for u = 0.25: wi.x is NaN"), "{text}");
    assert!(text.contains("a.wgsl:3:46: division by zero for wi = "), "{text}");
}

#[test]
fn no_shader_of_the_library_or_the_scenes_has_a_fault() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/");
    let scenes =
        ["cloud/cloud", "marble/marble", "smoke/plume", "suite/waves", "brushed-metal/brushed"];
    let scenes = scenes.map(|name| format!("{root}{name}.wgsl").into());
    for path in library_files().into_iter().chain(scenes) {
        let check = lightbound(&["shader", "check"]).arg(&path).assert().success().stderr("");
        check.stdout(contains("faults     "));
    }
}

#[test]
fn shaders_without_hidden_correlations_are_proved() {
    for name in ["diffuse", "ward", "isoward", "phong", "ashikhmin", "oren_nayar", "rayleigh"] {
        let check = lightbound(&["shader", "check", name]).assert().success();
        check.stdout(contains(": proved that there are none\n"));
    }
}
