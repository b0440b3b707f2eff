//! `lightbound regress`.

use crate::common::room::room;
#[cfg(unix)]
use crate::common::running::Running;
use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use std::path::PathBuf;
use std::sync::LazyLock;
use tempfile::TempDir;

/// The room at a small size.
static SCENE: LazyLock<String> =
    LazyLock::new(|| room(r#""integer xresolution" 20 "integer yresolution" 16"#, 64));

const SUITE: &str = r#"
[defaults]
scene = "scene.pbrt"

[[case]]
name = "noise"
reference-spp = 512

[[case]]
name = "bits"
kind = "exact"
spp = 2
"#;

/// A temporary folder with a scene and a suite.
struct SuiteDir {
    folder: TempDir,
}

impl SuiteDir {
    fn new() -> SuiteDir {
        let dir = SuiteDir { folder: tempfile::tempdir().unwrap() };
        dir.write("scene.pbrt", &SCENE);
        dir.write("suite.toml", SUITE);
        dir
    }

    /// Also renders references.
    fn with_references() -> SuiteDir {
        let dir = SuiteDir::new();
        dir.regress(&["--update", "noise", "bits"]).assert().code(0);
        dir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Makes the floor darker.
    fn darken(&self) {
        self.write("scene.pbrt", &SCENE.replace("[ 0.5 0.4 0.3 ]", "[ 0.46 0.37 0.27 ]"));
    }

    /// `lightbound regress suite.toml ARGS`, in the folder.
    fn regress(&self, args: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("lightbound"));
        command
            .current_dir(self.folder.path())
            .args(["regress", "suite.toml", "--threads", "2"])
            .args(args);
        command
    }
}

#[test]
fn unchanged_images_pass_with_any_seed() {
    let dir = SuiteDir::with_references();
    let passed =
        contains("passed  noise").and(contains("passed  bits")).and(contains("2 cases: 2 passed"));
    dir.regress(&["--jobs", "2"]).assert().code(0).stderr(passed).stdout("");
    dir.regress(&["--seed", "77"])
        .assert()
        .code(0)
        .stderr(contains("2 passed").and(contains("(last ")));
    dir.regress(&["--quiet"]).assert().code(0).stderr("");
    let one = contains("1 case: 1 passed").and(contains("noise").not());
    dir.regress(&["--filter", "bit"]).assert().code(0).stderr(one);
}

#[test]
fn changed_images_fail_with_location() {
    let dir = SuiteDir::with_references();
    dir.darken();
    let report = dir.path("a/report");
    let assert = dir.regress(&["--report", report.to_str().unwrap(), "--quiet"]).assert().code(1);
    let failures =
        contains("FAILED  noise").and(contains("% too low in the")).and(contains("FAILED  bits"));
    assert.stderr(failures.and(contains("pixels have different bits")));
    assert!(report.join("index.html").is_file());
    // New references: changes are reported, and the case passes afterwards. Only named cases are
    // written.
    let bits = std::fs::read(dir.path("references/bits.exr")).unwrap();
    let changed = contains("a different image").and(contains("mean-error -"));
    dir.regress(&["--update", "noise"]).assert().code(0).stderr(changed);
    assert_eq!(std::fs::read(dir.path("references/bits.exr")).unwrap(), bits);
    dir.regress(&["--filter", "noise"]).assert().code(0);
    // Updating again changes nothing.
    dir.regress(&["--update", "noise"]).assert().code(0).stderr(contains("equal except for noise"));
}

#[test]
fn errors_in_suites_name_the_remedy() {
    let dir = SuiteDir::new();
    let remedy = contains("noise.exr: cannot be read")
        .and(contains("to render it, run again with --update noise"));
    dir.regress(&[]).assert().code(2).stderr(remedy.and(contains("2 cannot be run")));
    dir.regress(&["--filter", "none"])
        .assert()
        .code(2)
        .stderr(contains("the cases are noise, bits"));
    dir.regress(&["--update", "nose"]).assert().code(2).stderr(contains("did you mean \"noise\"?"));
    let dir = SuiteDir::with_references();
    dir.write("scene.pbrt", &SCENE.replace("\"sphere\"", "\"sfere\""));
    let line = 1 + SCENE.lines().position(|l| l.contains("\"sphere\"")).unwrap();
    let location = format!("scene.pbrt:{line}:");
    dir.regress(&[])
        .assert()
        .code(2)
        .stderr(contains("BROKEN  noise").and(contains(location.as_str())).and(contains("sphere")));
    dir.regress(&["--update", "noise"]).assert().code(2).stderr(contains(location.as_str()));
    dir.write(
        "scene.pbrt",
        &SCENE.replace("\"integer xresolution\" 20", "\"integer xresolution\" 21"),
    );
    dir.regress(&[]).assert().code(2).stderr(contains("21 × 16 pixels, the reference 20 × 16"));
    dir.write("suite.toml", &SUITE.replace("spp = 2", "ssp = 2"));
    dir.regress(&[]).assert().code(2).stderr(contains("suite.toml:12:1: unknown field `ssp`"));
    std::fs::remove_file(dir.path("suite.toml")).unwrap();
    dir.regress(&[]).assert().code(2).stderr(contains("suite.toml: cannot be read"));
    let page = "<html>mine</html>";
    dir.write("index.html", page);
    dir.write("suite.toml", SUITE);
    dir.regress(&["--report", "."]).assert().code(2).stderr(contains("is not a report"));
    assert_eq!(std::fs::read_to_string(dir.path("index.html")).unwrap(), page);
}

#[cfg(unix)]
#[test]
fn interrupted_run_resumes() {
    let dir = SuiteDir::with_references();
    // The second case runs forever.
    let endless = SUITE.replace("kind = \"exact\"\nspp = 2", "spp = 10000000");
    dir.write("suite.toml", &endless);
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut running =
            Running::lightbound(dir.folder.path(), "regress suite.toml --jobs 1 --threads 2");
        running.wait_for("passed  noise");
        running.signal("USR1");
        running.wait_for("finished cases are stored already");
        running.signal(signal);
        let stderr = running.finish_with(code);
        assert!(stderr.contains("1 passed, 1 not done"), "{stderr}");
    }
    dir.write("suite.toml", SUITE);
    let assert_kept = |kept: bool| {
        let output = dir.regress(&[]).assert().code(0).get_output().stderr.clone();
        let line = String::from_utf8(output)
            .unwrap()
            .lines()
            .find(|line| line.contains("noise"))
            .unwrap()
            .to_string();
        assert_eq!(line.contains("(kept)"), kept, "{line}");
    };
    assert_kept(true);
    // That run was complete, so the next one starts from the beginning.
    assert_kept(false);
}
