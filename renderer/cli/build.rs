//! Tells the program its commit.

use std::path::Path;
use std::process::Command;

/// Written by `git archive` instead of a placeholder, so that tarballs know their commit.
const ARCHIVED: &str = include_str!("commit.txt");

fn main() {
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).or_else(|| {
        let text = ARCHIVED.trim();
        (!text.contains('$')).then(|| text.to_owned())
    });
    println!("cargo::rustc-env=LIGHTBOUND_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    println!("cargo::rerun-if-changed=commit.txt");
    // Both change with every commit and checkout.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name])
            && Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// The output of git in this folder, unless it is not a repository of this project.
fn git(args: &[&str]) -> Option<String> {
    // An unpacked tarball may be inside of another repository.
    let tracked = Command::new("git")
        .args(["ls-files", "--error-unmatch", "build.rs"])
        .output()
        .is_ok_and(|output| output.status.success());
    let output = tracked.then(|| Command::new("git").args(args).output().ok()).flatten()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
}
