//! Behaviour that the commands of `lightbound shader` share.

use crate::common::lightbound;
use crate::common::shader_dir::{LOBE, ShaderDir};
use predicates::prelude::*;
use predicates::str::contains;

#[test]
fn help_documents_all_commands() {
    lightbound(&["--help"]).assert().success().stdout(contains("shader"));
    for command in ["list", "check", "show", "eval", "bound", "preview"] {
        lightbound(&["shader", "--help"])
            .assert()
            .success()
            .stdout(contains(format!("\n  {command} ")));
        lightbound(&["shader", "list", "--help"]).assert().success().stdout(contains(command));
    }
    for (command, options) in [
        ("check", &["--target", "interpreter", "Examples"][..]),
        (
            "show",
            &[
                "--stage", "--entry", "--target", "--output", "asm", "--of", "--spans", "--frame",
                "--nan", "Examples",
            ],
        ),
        (
            "eval",
            &[
                "--wi",
                "--wo",
                "--set",
                "--texture",
                "--csv",
                "--output",
                "--target",
                "brdf.r",
                "Examples",
            ],
        ),
        (
            "bound",
            &[
                "--wi",
                "--wo",
                "--set",
                "--texture",
                "--csv",
                "--output",
                "--target",
                "--mode",
                "--nan",
                "--sides",
            ],
        ),
        ("bound", &["--ranges", "--luminance", "wi.x.lo", "s.r.hi", "Examples"]),
    ] {
        let help = lightbound(&["shader", command, "--help"]).output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        for option in options {
            assert!(help.contains(option), "{option} is missing in:\n{help}");
        }
    }
    lightbound(&["shader", "--help"])
        .assert()
        .success()
        .stdout(contains("evaluate, bound and preview"));
    lightbound(&["shader", "--help"]).assert().success().stdout(contains("Examples"));
    lightbound(&["--help"])
        .assert()
        .success()
        .stdout(contains("--strict").and(contains("Examples")));
    lightbound(&["shader"]).assert().code(2);
}

#[test]
fn errors_in_shaders_show_the_location() {
    let dir = ShaderDir::new(&LOBE.replace("return tint;", "return tnt;"));
    let line = 1 + LOBE.lines().position(|line| line.contains("return tint;")).unwrap();
    for (command, args) in [
        ("check", &[][..]),
        ("show", &["--stage", "ir"]),
        ("eval", &["--wi", "0,0,1", "--wo", "0,0,1"]),
    ] {
        let failed = dir.shader(command, args).assert().code(2).stdout("");
        failed.stderr(
            contains("error: ").and(contains("tnt")).and(contains(format!("a.wgsl:{line}:"))),
        );
    }
}

#[test]
fn unreadable_files_are_named() {
    lightbound(&["shader", "check", "no-such.wgsl"])
        .assert()
        .code(2)
        .stderr(contains("no-such.wgsl"));
    let dir = ShaderDir::new(LOBE);
    std::fs::write(dir.path("a.wgsl"), b"// \n\xff\xfe").unwrap();
    dir.shader("check", &[]).assert().code(2).stderr(contains("a.wgsl:2:").and(contains("UTF-8")));
    // Without a source excerpt.
    dir.write("a.wgsl", "");
    dir.shader("check", &[]).assert().code(2).stderr(contains("a.wgsl: there is no `fn brdf`"));
    lightbound(&["shader", "check"]).arg(dir.root()).assert().code(2);
}

#[test]
fn shader_is_read_from_stdin() {
    lightbound(&["shader", "check", "-"])
        .write_stdin(LOBE)
        .assert()
        .success()
        .stdout(contains("A lobe over a tint"));
    lightbound(&["shader", "check", "-"])
        .write_stdin("fn")
        .assert()
        .code(2)
        .stderr(contains("stdin:1:"));
    let both =
        lightbound(&["shader", "eval", "-", "--csv", "-"]).write_stdin(LOBE).assert().code(2);
    both.stderr(contains("stdin"));
}

#[test]
fn overrides_change_code_and_parameters_do_not() {
    let dir = ShaderDir::new(LOBE);
    let shown =
        |args: &[&str]| dir.shader("show", &["--stage", "ir"]).args(args).output().unwrap().stdout;
    assert_eq!(shown(&["--set", "squarings=2"]), shown(&[]));
    assert_ne!(shown(&["--set", "squarings=3"]), shown(&[]));
    dir.shader("check", &["--set", "squarings=3"]).assert().success();
    for (set, message) in [
        ("kd=1", "is a parameter"),
        ("squaring=1", "did you mean \"squarings\""),
        ("squarings=-1", "32-bit integer"),
    ] {
        dir.shader("check", &["--set", set]).assert().code(2).stderr(contains(message));
    }
}
