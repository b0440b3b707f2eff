//! The header is up to date, and a program in C compiles and runs.

use std::path::{Path, PathBuf};
use std::process::Command;

// Builds the library, too.
use lightbound_c as _;

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn header_is_that_of_the_source() {
    let path = folder().join("include/lightbound.h");
    let config = cbindgen::Config::from_file(folder().join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new()
        .with_src(folder().join("src/lib.rs"))
        .with_config(config)
        .generate()
        .unwrap();
    let mut text = vec![];
    bindings.write(&mut text);
    if std::env::var_os("LIGHTBOUND_UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let header = std::fs::read(&path).unwrap();
    assert!(header == text, "run this test with LIGHTBOUND_UPDATE=1 to update {}", path.display());
}

/// Compiles a program in C with the library and runs it. Returns what it prints; `None` without a C
/// compiler.
fn run(source: &Path) -> Option<String> {
    let out = tempfile::tempdir().unwrap();
    let program = out.path().join("program");
    let library = library();
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler)
        .args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"])
        .arg(folder().join("include"))
        .arg(source)
        .arg(&library)
        .arg(format!("-Wl,-rpath,{}", library.parent().unwrap().display()))
        .arg("-o")
        .arg(&program)
        .status();
    let Ok(status) = status else {
        eprintln!("skipped: there is no C compiler");
        return None;
    };
    assert!(status.success(), "{} does not compile", source.display());
    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The shared library, beside the tests.
fn library() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let name =
        format!("{}lightbound_c{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    tests.parent().unwrap().join(name)
}

#[test]
fn example_bounds_a_function() {
    let Some(output) = run(&folder().join("examples/sphere.c")) else { return };
    let rows: Vec<Vec<f32>> = output
        .lines()
        .map(|line| line.split(" <= ").map(|x| x.trim().parse().unwrap()).collect())
        .collect();
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert!(row[0] <= row[1] && row[1] <= row[2], "{output}");
    }
    assert!(rows[0][0] > 0.7 && rows[1][0] < 0.0, "{output}");
}

#[test]
fn wrong_calls_are_messages() {
    let Some(output) = run(&folder().join("tests/errors.c")) else { return };
    let expected = [
        "no such function",
        "no value for an input",
        "an unknown input",
        "columns of different lengths",
        "an interval for a scalar",
        "an unknown texture",
        "a null pointer",
    ];
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines, expected, "{output}");
}
