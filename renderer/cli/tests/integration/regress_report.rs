//! `lightbound regress --report`: the report folder, and errors.

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A folder with a suite of one exact case. The light of its reference has radiance 1.
fn suite() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let text = "[[case]]\nname = \"ball\"\nabout = \"a <b>ball</b>\"\nscene = \"ball.pbrt\"\nkind = \"exact\"\n";
    fs::write(dir.path().join("suite.toml"), text).unwrap();
    write_scene(dir.path(), 1.0);
    regress(dir.path()).args(["--update", "ball"]).assert().code(0);
    dir
}

fn write_scene(folder: &Path, light: f32) {
    let text = format!(
        "LookAt 0 0 -4  0 0 0  0 1 0\nCamera \"perspective\" \"float fov\" 40\nSampler \"independent\" \"integer pixelsamples\" 2\n\
         Film \"rgb\" \"integer xresolution\" 8 \"integer yresolution\" 6\nIntegrator \"path\" \"integer maxdepth\" 2\nWorldBegin\n\
         LightSource \"infinite\" \"rgb L\" [{light} {light} {light}]\nMaterial \"diffuse\"\nShape \"sphere\" \"float radius\" 1\n"
    );
    fs::write(folder.join("ball.pbrt"), text).unwrap();
}

fn regress(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lightbound"));
    command.current_dir(folder).args(["regress", "suite.toml"]);
    command
}

/// Returns the text of `cases.js`, the list of cases.
fn case_list(report: &Path) -> String {
    let mut folders = fs::read_dir(report)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir());
    let folder = folders.next().unwrap();
    assert_eq!(folders.next(), None, "folders of earlier reports must be removed");
    fs::read_to_string(folder.join("cases.js")).unwrap()
}

#[test]
fn report_lists_outcomes_of_cases() {
    let dir = suite();
    let report = dir.path().join("made/report");
    let run = || regress(dir.path()).args(["--report", "made/report"]).assert();
    run().code(0).stderr(contains("report: made/report/index.html"));
    assert!(report.join("index.html").is_file());
    let passed = case_list(&report);
    for part in [
        "\"suite\":\"suite.toml\"",
        "\"name\":\"ball\"",
        "\"status\":\"passed\"",
        "a <b>ball</b>",
        "\"size\":[8,6]",
    ] {
        assert!(passed.contains(part), "{part} in {passed}");
    }
    // The report of a failure replaces the previous one.
    write_scene(dir.path(), 1.01);
    run().code(1).stderr(contains("report: made/report/index.html"));
    let failed = case_list(&report);
    for part in [
        "\"status\":\"failed\"",
        "\"lastSeconds\":0.",
        "\"passes\":false",
        "\"thumbnail\":\"data:image/png;base64,",
    ] {
        assert!(failed.contains(part), "{part} in {failed}");
    }
}

#[test]
fn unusable_report_folder_is_an_error_before_rendering() {
    let dir = suite();
    let mine = dir.path().join("index.html");
    fs::write(&mine, "<h1>Mine</h1>").unwrap();
    let failed = regress(dir.path()).args(["--report", "."]).assert().code(2);
    failed.stderr(
        contains("index.html: is not a report")
            .and(contains("name another folder"))
            .and(contains("passed").not()),
    );
    assert_eq!(fs::read_to_string(&mine).unwrap(), "<h1>Mine</h1>");
    let failed = regress(dir.path()).args(["--report", "suite.toml"]).assert().code(2);
    failed.stderr(contains("suite.toml: is a file").and(contains("passed").not()));
    let failed = regress(dir.path()).args(["--report", "suite.toml/report"]).assert().code(2);
    failed.stderr(contains("suite.toml/report: cannot be written").and(contains("passed").not()));
}
