//! Tests of `lightbound submit`: the jobs are run, with programs that stand for those of Slurm.
#![cfg(unix)]

use crate::common::scene_dir::{SceneDir, channels};
use crate::common::{assert_input_error, lightbound};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_lightbound");

/// Prints a job of three parts to a file. The names need quotes.
fn submit(dir: &SceneDir, kind: &str, file: &str) {
    let mut command = lightbound(&["submit", kind, "scene.pbrt", "--parts", "3"]);
    command.args(["-o", "a \"$b\" 'c'.exr", "--program", PROGRAM, "--", "--spp", "7", "-q"]);
    let output = command.current_dir(dir.root()).assert().success().get_output().stdout.clone();
    fs::write(dir.path(file), output).unwrap();
}

/// Checks the merged image against one that is rendered in one run.
fn assert_merged(dir: &SceneDir) {
    dir.render(&["--spp", "7", "-q", "-o", "direct.exr"]).assert().success();
    let merged = channels(&dir.path("a \"$b\" 'c'.exr"));
    assert_eq!(merged, channels(&dir.path("direct.exr")));
}

fn run(program: &str, arguments: &[&str], dir: &SceneDir, path: &Path) -> String {
    let search = format!("{}:{}", path.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(program);
    let output = command.args(arguments).current_dir(dir.root()).env("PATH", search).output();
    let output = output.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    stdout
}

#[test]
fn commands_render_the_image() {
    let dir = SceneDir::new();
    submit(&dir, "commands", "job");
    let text = fs::read_to_string(dir.path("job")).unwrap();
    assert_eq!(text.lines().count(), 4);
    // Comments are nothing to a shell, and the merge is one.
    run("sh", &["job"], &dir, dir.root());
    assert!(!dir.files().iter().any(|name| name.ends_with("'c'.exr")));
    fs::write(dir.path("merge"), text.lines().last().unwrap().replace("# then: ", "")).unwrap();
    run("sh", &["merge"], &dir, dir.root());
    assert_merged(&dir);
}

/// Runs each task of an array, or one job, and prints its number. A task that asks for it is queued
/// again.
const SBATCH: &str = r#"#!/bin/sh
tasks=0
for option in "$@"; do
    case "$option" in
        --array=1-*) tasks=${option#--array=1-} ;;
        --dependency=afterok:17) ;;
        --dependency=*) exit 1 ;;
    esac
done
cat > job.$$
if [ "$tasks" = 0 ]; then
    sh job.$$ || exit 1
else
    for task in $(seq "$tasks"); do
        while :; do
            SLURM_ARRAY_JOB_ID=17 SLURM_ARRAY_TASK_ID=$task sh job.$$
            [ -e "requeue-17_$task" ] || break
            rm "requeue-17_$task"
        done
    done >> log 2>&1
fi
echo "$@" >> options
echo "17;cluster"
"#;

/// Ends the first run with the code of SIGTERM.
const SRUN: &str = r#"#!/bin/sh
if [ ! -e stopped ]; then
    touch stopped
    exit 143
fi
exec "$@"
"#;

const SCONTROL: &str = r#"#!/bin/sh
[ "$1" = requeue ] && touch "requeue-$2"
"#;

#[test]
fn slurm_jobs_render_the_image() {
    let dir = SceneDir::new();
    submit(&dir, "slurm", "job.sh");
    for (name, text) in [("sbatch", SBATCH), ("srun", SRUN), ("scontrol", SCONTROL)] {
        fs::write(dir.path(name), text).unwrap();
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(dir.path(name), executable).unwrap();
    }
    let stdout = run("sh", &["job.sh"], &dir, dir.root());
    assert_eq!(stdout, "parts: job 17;cluster\nmerge: job 17;cluster\n");
    assert!(dir.path("stopped").exists(), "a part was stopped and queued again");
    let options = fs::read_to_string(dir.path("options")).unwrap();
    for part in ["--requeue", "--signal=TERM@120", "--array=1-3", "--kill-on-invalid-dep=yes"] {
        assert!(options.contains(part), "{part}: {options}");
    }
    assert_merged(&dir);
}

#[test]
fn job_templates_have_the_steps() {
    let dir = SceneDir::new();
    submit(&dir, "openjd", "job.json");
    let text = fs::read_to_string(dir.path("job.json")).unwrap();
    let job: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(job["specificationVersion"], "jobtemplate-2023-09");
    let render = &job["steps"][0];
    let range = &render["parameterSpace"]["taskParameterDefinitions"][0]["range"];
    assert_eq!(range, "1-3");
    let arguments = &render["script"]["actions"]["onRun"]["args"];
    let arguments: Vec<&str> =
        arguments.as_array().unwrap().iter().map(|x| x.as_str().unwrap()).collect();
    assert_eq!(arguments[0], "render");
    assert!(arguments.contains(&"{{Task.Param.Part}}/3"), "{arguments:?}");
    assert_eq!(job["steps"][1]["dependencies"][0]["dependsOn"], "Render");
    // `pip install openjd-cli` provides a program that runs it.
    if Command::new("openjd").arg("--version").output().is_err() {
        eprintln!("skipped: there is no program `openjd`");
        return;
    }
    let arguments = ["run", "job.json", "--step", "Merge", "--run-dependencies"];
    run("openjd", &arguments, &dir, dir.root());
    assert_merged(&dir);
}

#[test]
fn invalid_jobs_are_errors() {
    let dir = SceneDir::new();
    for (arguments, part) in [
        (&["--parts", "2", "-o", "a.png"][..], "parts are merged to an .exr"),
        (&["--parts", "2", "-o", "a.exr", "--", "--bogus"], "unexpected argument '--bogus'"),
        (&["--parts", "2", "-o", "a.exr", "--", "-o", "b.exr"], "-o after --"),
        (&["--parts", "2", "-o", "a.exr", "--", "--denoise"], "cannot be used in parts"),
        (&["--parts", "2", "-o", "a.exr", "--", "--sample-range", "0..1"], "cannot be used with"),
        (&["--parts", "2", "-o", "a.exr", "--", "--stats", "a.json"], "would share the file"),
        (&["--parts", "2", "-o", "a.exr", "--", "--environment", "a.exr"], "a.exr is relative"),
        (
            &["--parts", "9", "-o", "a.exr", "--", "--spp", "8"],
            "9 parts are more than the 8 samples",
        ),
        (&["--parts", "2", "-o", "a.exr", "--", "--tev"], "--tev cannot be used in parts"),
    ] {
        let mut command = lightbound(&["submit", "commands", "scene.pbrt"]);
        assert_input_error(command.args(arguments).current_dir(dir.root()), &[part]);
    }
    let quote = ["submit", "slurm", "scene.pbrt", "--parts", "2", "-o", "a.exr", "--sbatch", "'a"];
    assert_input_error(lightbound(&quote).current_dir(dir.root()), &["an unclosed quote"]);
    let mut command = lightbound(&["submit", "commands", "no.pbrt", "--parts", "2", "-o", "a.exr"]);
    assert_input_error(command.current_dir(dir.root()), &["cannot read the scene no.pbrt"]);
    let mut command = dir.render(&["--part", "3/8", "--spp", "4", "-o", "a.exr"]);
    assert_input_error(&mut command, &["--part 3/8 has no samples", "fewer parts"]);
    let mut command = dir.render(&["--part", "1/2", "-o", "a.png"]);
    assert_input_error(&mut command, &["--part needs an .exr file"]);
}
