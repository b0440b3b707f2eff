//! `lightbound bounds --tightness`.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// `lightbound bounds --tightness --cases 4 ARGS`.
fn tightness(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("lightbound").unwrap();
    command.args(["bounds", "--tightness", "--cases", "4"]).args(args).current_dir(folder);
    command
}

fn stdout(mut command: Command) -> String {
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

#[test]
fn all_bounds_are_at_least_the_maximum() {
    let folder = TempDir::new().unwrap();
    let text = stdout(tightness(folder.path(), &["--format", "json", "--svg", "a.svg"]));
    let records: Vec<Value> = serde_json::from_str(&text).unwrap();
    let count = |bound: &str| records.iter().filter(|record| record["bound"] == bound).count();
    // 19 materials, 14 with hand-derived bounds, and 6 half-angles.
    let bounds = ["naive", "optimized", "related", "related, 4 parts", "hand"];
    assert_eq!(bounds.map(count), [114, 114, 114, 114, 84]);
    let mut ratio_count = 0;
    for record in &records {
        let cases: u64 =
            ["cases", "zero", "faint"].map(|key| record[key].as_u64().unwrap()).iter().sum();
        assert_eq!(
            (cases, &record["nan"], &record["seed"]),
            (4, &"suppress".into(), &1.into()),
            "{record}"
        );
        assert!(
            record["parameters"].is_object()
                && record["half_angle"].is_number()
                && record["shader"].is_string()
        );
        let ratios =
            ["least", "quartile_1", "median", "quartile_3"].map(|key| record[key].as_f64());
        ratio_count += ratios.iter().flatten().count();
        for pair in ratios.windows(2) {
            assert!(pair[0].is_none_or(|ratio| ratio >= 1.0 - 1e-6), "{record}");
            assert!(pair[0].zip(pair[1]).is_none_or(|(a, b)| a <= b), "{record}");
        }
    }
    assert!(ratio_count > 1000, "{ratio_count}");
    let svg = std::fs::read_to_string(folder.path().join("a.svg")).unwrap();
    assert!(
        svg.starts_with("<svg ")
            && svg.ends_with("</svg>\n")
            && svg.contains(">ward, alpha_x 0.2, alpha_y 0.1<")
    );
}

#[test]
fn tables_follow_options() {
    let folder = TempDir::new().unwrap();
    // The list refers to the library, regardless of files with these names.
    std::fs::write(folder.path().join("diffuse"), "fn brdf(").unwrap();
    let args = ["--shader", "diffuse", "--shader", "ashikhmin.wgsl"];
    let text = stdout(tightness(folder.path(), &args));
    assert!(
        text.contains("\ndiffuse\n  half-angle ")
            && text.contains("\nashikhmin, n_u 1000, n_v 50\n"),
        "{text}"
    );
    assert!(
        !text.contains("ward")
            && text.contains("\n  45° ")
            && text.contains("excluded from 4 cases"),
        "{text}"
    );
    assert_eq!(text, stdout(tightness(folder.path(), &args)));
    assert_ne!(text, stdout(tightness(folder.path(), &[&args[..], &["--seed", "2"]].concat())));
    let unit = stdout(tightness(folder.path(), &[&args[..], &["--relations", "unit"]].concat()));
    assert!(unit.contains("\nrelated: uses only unit\n") && !text.contains("uses only"), "{unit}");
    assert_ne!(unit.replace("related: uses only unit\n", ""), text);
    let markdown =
        stdout(tightness(folder.path(), &[&args[..], &["--format", "markdown"]].concat()));
    assert!(
        markdown.contains("**diffuse**\n\n| half-angle | zero | faint | naive | "),
        "{markdown}"
    );
}

#[test]
fn invalid_and_unused_options_are_rejected() {
    let folder = TempDir::new().unwrap();
    let fails = |args: &[&str]| tightness(folder.path(), args).assert().code(2).stdout("");
    fails(&["--frame", "world"]).stderr(contains("--frame").and(contains("--tightness")));
    fails(&["--target", "avx"]).stderr(contains("--target"));
    for seed in ["-1", "99999999999999999999999"] {
        fails(&["--seed", seed])
            .stderr(contains("expected an integer from 0 to 18446744073709551615"));
    }
    fails(&["--cases", "0"]).stderr(contains("expected an integer from 1 to"));
    fails(&["--shader", "oren_nayar"]).stderr(
        contains("`oren_nayar`")
            .and(contains("diffuse, phong, isoward, ward"))
            .and(contains("ggx, layered")),
    );
    let mut alone = Command::cargo_bin("lightbound").unwrap();
    alone.args(["bounds", "--seed", "2"]).assert().code(2).stderr(contains("--tightness"));
}
