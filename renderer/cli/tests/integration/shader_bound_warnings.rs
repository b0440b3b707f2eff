//! Warnings and hints of `lightbound shader bound`.

use crate::common::shader_dir::{ENDLESS, ShaderDir, lobe_with_defaults};
use predicates::prelude::*;
use predicates::str::contains;

#[test]
fn one_sided_materials_are_black_from_behind() {
    let dir = ShaderDir::new(&lobe_with_defaults());
    let at = |wo: &'static str| ["--wi", "0,0,1", "--wo", wo, "--set", "shift=1"];
    for wo in ["0,0,-1", "0,0,-1..-0.5", "0,0,-1..0"] {
        assert!(dir.bound(&at(wo)).iter().all(|(_, ends)| *ends == [0.0, 0.0]), "{wo}");
        dir.shader("bound", &at(wo)).assert().success().stderr(contains("one-sided"));
    }
    dir.shader("bound", &at("0,0,-1..1")).assert().success().stderr("");
    let entire = dir.bound(&at("0,0,-1..1"))[0].1;
    let front = dir.bound(&at("0,0,0.5..1"))[0].1;
    assert!(entire[0] == 0.0 && front[0] > 0.5 && front[1] <= entire[1], "{entire:?} {front:?}");
    let both = ShaderDir::new(&format!("//! sides: both\n{}", lobe_with_defaults()));
    assert!(both.bound(&at("0,0,-1..-0.5"))[0].1[0] > 0.5);
}

#[test]
fn boxes_without_unit_vectors_are_reported() {
    let dir = ShaderDir::new(&lobe_with_defaults());
    let bound = |wi: &str| dir.shader("bound", &["--wi", wi, "--wo", "0,0,1"]).assert().success();
    bound("0..1,0..1,0..1").stderr("");
    bound("0..0.5,0..0.5,0..0.5").stderr(contains("no unit vector"));
    bound("0.9..1,0.9..1,0").stderr(contains("no unit vector"));
    bound("-0.1..0.1,-0.1..0.1,0.99..1").stderr("");
}

#[test]
fn stopped_loops_are_reported() {
    let dir = ShaderDir::new(ENDLESS);
    let bound = |a: &str, args: &[&str]| {
        let at = ["--wi", "0,0,0.5..1", "--wo", "0,0,1", "--set", a];
        dir.shader("bound", &[&at[..], args].concat()).assert().success()
    };
    for nan in ["suppress", "propagate", "ignore"] {
        for args in [
            &["--nan", nan][..],
            &["--nan", nan, "--mode", "naive"],
            &["--nan", nan, "--sides", "lower", "--luminance"],
        ] {
            bound("a=0", args).stderr(contains("stopped here"));
            bound("a=0..0.5", args).stderr(contains("stopped here"));
            bound("a=0.25..0.5", args).stderr("");
        }
    }
    // Black rows are not evaluated.
    let behind = ["--wi", "0,0,1", "--wo", "0,0,-1", "--set", "a=0"];
    dir.shader("bound", &behind)
        .assert()
        .success()
        .stderr(contains("one-sided").and(contains("stopped").not()));
    let header = "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z,a.lo,a.hi";
    dir.write("in.csv", &format!("{header}\n0,0,1,0,0,1,0,1\n0,0,1,0,0,1,1,2\n0,0,1,0,0,1,0,0\n"));
    dir.shader("bound", &["--csv", "in.csv"])
        .assert()
        .success()
        .stderr(contains("stopped in 2 of 3 rows"));
}

/// A shader that returns NaN for negative `a`, and has a pole at 0.
const ROOT: &str = "\
struct Material {
    /// range: [-4, 4]
    a: f32,
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(sqrt(m.a), 1.0 / m.a, 1.0); }
";

#[test]
fn missing_bounds_are_reported() {
    let dir = ShaderDir::new(ROOT);
    let at = |a: &'static str| ["--wi", "0,0,1", "--wo", "0,0,1", "--set", a];
    let bound = |a: &'static str, args: &[&str]| {
        dir.shader("bound", &[&at(a)[..], args].concat()).assert().success()
    };
    let hint = "hint: there are no bounds on s.g here; a smaller box may have bounds\n";
    bound("a=1..4", &["--nan", "propagate"])
        .stderr("")
        .stdout("s.r  1.0  .. 2.0\ns.g  0.25 .. 1.0\ns.b  1.0  .. 1.0\n");
    bound("a=1..4", &["--nan", "propagate", "--sides", "upper"])
        .stdout("s.r  at most 2.0\ns.g  at most 1.0\ns.b  at most 1.0\n");
    // By default, NaN is suppressed: the bounds cover only the non-negative part of the box.
    let suppressed = bound("a=-1..4", &[]).stderr(contains(hint));
    suppressed.stdout(contains("s.r  0.0  .. 2.0\ns.g  -inf .. inf\n"));
    let hint = "hint: there are no bounds on s.r, s.g, s.b here; a smaller box may have bounds; NaN is a cause here: --nan suppress";
    let output = bound("a=-1..4", &["--nan", "propagate"])
        .stderr(contains(hint))
        .get_output()
        .stdout
        .clone();
    bound("a=-1..4", &["--sides", "upper"])
        .stderr(contains("hint: there is no upper bound on s.g here;"));
    let text = String::from_utf8(output).unwrap();
    let of = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap().to_owned()
    };
    assert!(["no bound", "-inf .. inf"].contains(&of("s.r").as_str()), "{text}");
    let table = dir.table(
        "bound",
        "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z,a.lo,a.hi\n0,0,1,0,0,1,-4,-1\n",
        &["--nan", "propagate"],
    );
    assert!(!table.rows[0][0].is_finite() && !table.rows[0][1].is_finite(), "{table:?}");
}

#[test]
fn existing_bounds_are_not_reported_missing() {
    let root = ROOT
        .replace("sqrt(m.a), 1.0 / m.a, 1.0", "sqrt(m.a)")
        .replace("range: [-4, 4]", "a number");
    let dir = ShaderDir::new(&root);
    let stderr = |a: &str, nan: &str| {
        let args = ["--wi", "0,0,1", "--wo", "0,0,1", "--nan", nan, "--set", a];
        String::from_utf8(dir.shader("bound", &args).assert().success().get_output().stderr.clone())
            .unwrap()
    };
    let propagated = stderr("a=-2..-1", "propagate");
    assert!(
        propagated.contains("hint: there are no bounds") && propagated.contains("--nan suppress"),
        "{propagated}"
    );
    // No hint if all results are NaN, or if only one endpoint is infinite.
    for (a, nan) in [("a=-2..-1", "suppress"), ("a=0..inf", "suppress"), ("a=0..inf", "ignore")] {
        let stderr = stderr(a, nan);
        assert!(!stderr.contains("hint") && !stderr.contains("--nan"), "{a} {nan}: {stderr}");
    }
}

/// The bound is missing because of the pole at `a` = 0, not because of NaN.
#[test]
fn nan_is_blamed_only_if_it_causes_a_missing_bound() {
    let dir = ShaderDir::new(
        &ROOT.replace("sqrt(m.a), 1.0 / m.a, 1.0", "1.0 / m.a, sqrt(m.a + 4.0), 1.0"),
    );
    let at = ["--wi", "0,0,1", "--wo", "0,0,1", "--nan", "propagate", "--set", "a=-1..1"];
    let output = dir
        .shader("bound", &at)
        .assert()
        .success()
        .stderr("hint: there are no bounds on s.r here; a smaller box may have bounds\n");
    output.stdout(contains("s.r  -inf      .. inf\n"));
    let header = "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z,a.lo,a.hi";
    let rows = "0,0,1,0,0,1,1,2\n0,0,1,0,0,1,-1,1\n0,0,1,0,0,1,-1,2\n";
    dir.write("in.csv", &format!("{header}\n{rows}"));
    let output = dir.shader("bound", &["--csv", "in.csv", "--nan", "propagate"]).assert().success();
    output.stderr(
        "hint: bounds are missing in 2 of 3 rows (in the first one, there are no bounds on s.r); a smaller box may have bounds\n",
    );
    let dir = ShaderDir::new(ROOT);
    dir.write("in.csv", &format!("{header}\n{rows}"));
    let output = dir.shader("bound", &["--csv", "in.csv", "--nan", "propagate"]).assert().success();
    output.stderr(
        contains("2 of 3 rows").and(contains("NaN is a cause in 2 of 3 rows: --nan suppress")),
    );
}

#[test]
fn bounds_that_ignore_nan_warn_if_they_may_be_wrong() {
    let dir = ShaderDir::new(ROOT);
    let stderr = |a: &str, nan: &str| {
        let args = ["--wi", "0,0,1", "--wo", "0,0,1", "--nan", nan, "--set", a];
        String::from_utf8(dir.shader("bound", &args).assert().success().get_output().stderr.clone())
            .unwrap()
    };
    const WARNING: &str = "the bound may be wrong here";
    assert!(stderr("a=-1..4", "ignore").contains(WARNING));
    for (a, nan) in [("a=1..4", "ignore"), ("a=-1..4", "suppress"), ("a=-1..4", "propagate")] {
        assert!(!stderr(a, nan).contains(WARNING), "{a} {nan}");
    }
    let header = "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z,a.lo,a.hi";
    dir.write("in.csv", &format!("{header}\n0,0,1,0,0,1,-1,1\n0,0,1,0,0,1,1,2\n"));
    let rows = dir.shader("bound", &["--csv", "in.csv", "--nan", "ignore"]).assert().success();
    rows.stderr(contains("may be wrong in 1 of 2 rows"));
}
