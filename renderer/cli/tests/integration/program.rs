//! The program itself: version, help, completions and manual pages.

use crate::common::{assert_input_error, lightbound};
use predicates::str::contains;

fn stdout(args: &[&str]) -> String {
    let output = lightbound(args).assert().success().get_output().stdout.clone();
    String::from_utf8(output).unwrap()
}

#[test]
fn version_names_commit_targets_and_embree() {
    assert_eq!(stdout(&["-V"]), format!("lightbound {}\n", env!("CARGO_PKG_VERSION")));
    let long = stdout(&["--version"]);
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines[0], format!("lightbound {}", env!("CARGO_PKG_VERSION")));
    let commit = lines[1].strip_prefix("commit   ").unwrap();
    let is_hash = commit.len() >= 7 && commit.chars().all(|c| c.is_ascii_hexdigit());
    assert!(is_hash || commit == "unknown", "{commit}");
    assert!(lines[2].starts_with("targets  ") && lines[2].contains("interpreter"), "{long}");
    assert!(lines[3].starts_with("embree   "), "{long}");
}

#[test]
fn help_fits_the_width_of_the_terminal() {
    for (width, columns) in [("60", 60), ("90", 90), ("300", 100)] {
        for command in ["render", "compare", "regress"] {
            let mut help = lightbound(&["help", command]);
            let output = help.env("COLUMNS", width).assert().success().get_output().stdout.clone();
            let text = String::from_utf8(output).unwrap();
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= columns, "{command}: {longest} columns at {width}");
            assert!(longest > columns - 15, "{command}: {longest} columns at {width}");
        }
    }
}

#[test]
fn completions_know_commands_and_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = stdout(&["completions", shell]);
        for word in ["falsecolor", "noise-threshold", "tonemap"] {
            assert!(text.contains(word), "{shell} lacks {word}");
        }
    }
    assert_input_error(&mut lightbound(&["completions", "tcsh"]), &["possible values", "bash"]);
}

#[test]
fn every_command_gets_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("new/man1");
    lightbound(&["man", pages.to_str().unwrap()]).assert().success().stderr(contains("pages"));
    let read = |name: &str| std::fs::read_to_string(pages.join(name)).expect(name);
    assert!(read("lightbound.1").contains("lightbound\\-render(1)"));
    let page = read("lightbound-shader-bound.1");
    assert!(
        page.starts_with(".ie") && page.contains(".TH") && page.contains("relations"),
        "{page}"
    );
    assert!(read("lightbound-render.1").contains("noise\\-threshold"));
    assert_eq!(std::fs::read_dir(&pages).unwrap().count(), 28);
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    lightbound(&["man", file.to_str().unwrap()]).assert().code(2).stderr(contains("file"));
}
