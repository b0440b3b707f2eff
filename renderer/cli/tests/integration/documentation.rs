//! Tests of the user documentation: its commands run as a reader would run them, shown output
//! equals what the program prints, the manual covers all commands and options, and links and paths
//! are valid.
//!
//! The text after the three backticks says how a block of `README.md` or `docs/*.md` is tested:
//!
//! | | |
//! |---|---|
//! | `sh` | run line by line, in a separate folder for each document, with [`OVERRIDES`] |
//! | `sh exact` | run without them |
//! | `sh with VARIABLE` | run like `sh` where the environment variable is set |
//! | `sh no-test: WHY` | not run |
//! | `text output` | compared with the output of the block before it, stdout first |
//! | `wgsl FILE`, `pbrt FILE`, `toml FILE` | written to a file that later commands use; `wgsl append FILE` appends |
//! | `wgsl` | a shader that must pass `shader check` |
//! | `rust FILE` | lines that must occur, in this order, in the examples in the docs of FILE |
//! | `c FILE` | lines that must occur, in this order, in FILE, which a test compiles and runs |
//! | `python` | run by the tests of the Python package |
//! | `text`, `toml` | not tested |
//!
//! A comment `# exits with N` at the end of a line names an exit code other than 0.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A wrapper of the program that reduces the work of documented commands. Later options win.
const OVERRIDES: &str = r#"#!/bin/sh
case "$EXACT $*" in
  "yes render "*) set -- "$@" --accel builtin ;;
  "no render "*--sample-range* | "no render "*--noise-threshold*) set -- "$@" --resolution 48x32 ;;
  "no render "*"--gather 16"*) set -- "$@" --resolution 48x32 --spp 16 ;;
  "no render "*) set -- "$@" --resolution 48x32 --spp 2 ;;
  "no bench "*) set -- "$@" --resolution 48x32 ;;
  "no shader preview "*) set -- "$@" --size 32 --spp 2 ;;
  "no bounds "*--by-relation*) ;;
  "no bounds "*--tightness*) set -- "$@" --cases 1 ;;
  "no bounds"*) set -- "$@" --rounds 1 ;;
esac
exec "$PROGRAM" "$@"
"#;

/// Maximum number of command blocks that are not run.
const MAX_UNTESTED_BLOCKS: usize = 7;

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().find(|folder| folder.join("docs/README.md").is_file());
    root.expect("the crate is in the repository").to_owned()
}

/// Paths of the README and the manual, relative to the repository.
fn documents() -> Vec<String> {
    let files = fs::read_dir(root().join("docs")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let manual = names.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}"));
    let mut all: Vec<String> = manual.chain(["README.md".to_owned()]).collect();
    all.sort();
    all
}

fn read(document: &str) -> String {
    fs::read_to_string(root().join(document)).unwrap()
}

/// A fenced block.
struct Block {
    /// The text after the backticks.
    info: String,
    text: String,
    /// Number of its first line.
    line: usize,
}

/// The fenced blocks of a document, and its text without them.
fn blocks(text: &str) -> (Vec<Block>, String) {
    let (mut blocks, mut rest, mut open) = (Vec::new(), String::new(), None::<Block>);
    for (line, number) in text.lines().zip(1..) {
        match (line.strip_prefix("```"), open.take()) {
            (Some(info), None) => {
                open = Some(Block { info: info.into(), text: String::new(), line: number + 1 });
            }
            (Some(_), Some(block)) => blocks.push(block),
            (None, Some(mut block)) => {
                block.text += &format!("{line}\n");
                open = Some(block);
            }
            (None, None) => rest += &format!("{line}\n"),
        }
    }
    assert!(open.is_none(), "a block is not closed");
    (blocks, rest)
}

/// A folder in which the commands of a document run. It contains the repository's scenes and
/// materials, and the program.
struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    fn new() -> Sandbox {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        for name in ["scenes", "assets"] {
            copy(&root().join(name), &here.join(name));
        }
        let program = here.join("target/release/lightbound");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, OVERRIDES).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(here.join("bin")).unwrap();
        symlink(&program, here.join("bin/lightbound")).unwrap();
        Sandbox { folder }
    }

    /// Runs a line of shell.
    fn run(&self, line: &str, exact: bool, input: &str) -> Output {
        let path = std::env::var("PATH").unwrap();
        let mut child = Command::new("sh")
            .args(["-c", line])
            .current_dir(self.folder.path())
            .env("PATH", format!("{}:{path}", self.folder.path().join("bin").display()))
            .env("PROGRAM", env!("CARGO_BIN_EXE_lightbound"))
            .env("EXACT", if exact { "yes" } else { "no" })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    /// Runs the lines of a block; returns their output.
    fn run_all(&self, document: &str, block: &Block) -> String {
        let mut printed = String::new();
        for line in block.text.replace("\\\n", " ").lines() {
            let output = self.run(line, block.info == "sh exact", "");
            let (_, code) = line.split_once("# exits with ").unwrap_or(("", "0"));
            let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
            let code = code.trim().parse().unwrap();
            assert_eq!(output.status.code(), Some(code), "{document}: {line}\n{}", text[1]);
            printed += &text.concat();
        }
        printed
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The lines that depend neither on the machine nor on the code generator.
fn portable_lines(text: &str) -> Vec<&str> {
    let changes =
        |line: &&str| ["sse", "avx", "compiling"].iter().any(|word| line.starts_with(word));
    text.trim_end().lines().filter(|line| !changes(line)).collect()
}

/// The examples in the docs of a Rust file, which rustdoc runs.
fn examples(source: &str) -> String {
    let docs = source.lines().filter_map(|line| line.strip_prefix("//!"));
    let docs: String =
        docs.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect();
    let blocks = blocks(&docs).0.into_iter().filter(|block| block.info.is_empty());
    blocks.map(|block| block.text).collect()
}

/// Returns the first line of the excerpt that does not occur in `all` after the lines before it.
fn first_missing<'a>(excerpt: &'a str, all: &str) -> Option<&'a str> {
    let mut rest = all.lines();
    excerpt.lines().find(|line| !rest.any(|other| other == *line))
}

/// Tests the blocks of a document in order.
fn test_document(document: &str) {
    let (sandbox, mut printed) = (Sandbox::new(), String::new());
    for block in blocks(&read(document)).0 {
        let location = format!("{document}, line {}", block.line);
        let words: Vec<&str> = block.info.split(' ').collect();
        match words[..] {
            ["sh", "no-test:", ..] => {}
            ["sh", "with", variable] if std::env::var_os(variable).is_none() => {
                eprintln!("{location}: skipped, since {variable} is not set");
            }
            ["sh"] | ["sh", "exact"] | ["sh", "with", _] => {
                printed = sandbox.run_all(document, &block)
            }
            ["text", "output"] => {
                assert_eq!(portable_lines(&printed), portable_lines(&block.text), "{location}");
            }
            ["wgsl" | "pbrt" | "toml", file] => {
                fs::write(sandbox.folder.path().join(file), &block.text).unwrap();
            }
            ["wgsl", "append", file] => {
                let mut file = fs::OpenOptions::new()
                    .append(true)
                    .open(sandbox.folder.path().join(file))
                    .unwrap();
                file.write_all(format!("\n{}", block.text).as_bytes()).unwrap();
            }
            ["wgsl"] => {
                let output = sandbox.run("lightbound shader check -", false, &block.text);
                let error = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{location}\n{error}");
            }
            ["rust", file] => {
                let line = first_missing(&block.text, &examples(&read(file)));
                assert_eq!(line, None, "{location}: not in this order in the docs of {file}");
            }
            ["c", file] => {
                let line = first_missing(&block.text, &read(file));
                assert_eq!(line, None, "{location}: not in this order in {file}");
            }
            ["python" | "text" | "toml"] | ["python", "no-test:", ..] => {}
            _ => panic!("{location}: unknown kind of block: `{}`", block.info),
        }
    }
}

/// Defines a test for each document, so that they run in parallel.
macro_rules! document_tests {
    ($($name:ident: $file:literal,)*) => {
        $(#[test] fn $name() { test_document($file) })*

        #[test]
        fn every_document_is_tested() {
            let mut tested = vec![$($file),*];
            tested.sort();
            assert_eq!(tested, documents());
        }
    };
}

document_tests! {
    readme_runs: "README.md",
    table_of_contents_runs: "docs/README.md",
    bounds_runs: "docs/bounds.md",
    comparing_runs: "docs/comparing.md",
    design_notes_run: "docs/design-notes.md",
    file_formats_run: "docs/file-formats.md",
    inspecting_runs: "docs/inspecting.md",
    library_runs: "docs/library.md",
    many_lights_runs: "docs/many-lights.md",
    materials_runs: "docs/materials.md",
    pbrt_runs: "docs/pbrt.md",
    python_runs: "docs/python.md",
    gltf_runs: "docs/gltf.md",
    materialx_runs: "docs/materialx.md",
    parameters_of_pbrt_run: "docs/pbrt-support.md",
    rendering_runs: "docs/rendering.md",
}

#[test]
fn most_commands_are_run() {
    let all: Vec<Block> = documents().iter().flat_map(|name| blocks(&read(name)).0).collect();
    let untested = all.iter().filter(|block| block.info.starts_with("sh no-test"));
    let lines: Vec<&str> = untested.clone().flat_map(|block| block.text.lines()).collect();
    assert!(untested.count() <= MAX_UNTESTED_BLOCKS, "{lines:#?}");
    // The folders in untested commands must exist, too.
    for folder in lines.iter().filter_map(|line| line.split_once(" --path ")) {
        assert!(root().join(folder.1).join("Cargo.toml").is_file(), "{}", folder.1);
    }
}

/// The output of `lightbound help COMMAND`.
fn help(command: &str) -> String {
    let mut help = Command::new(env!("CARGO_BIN_EXE_lightbound"));
    let output = help.arg("help").args(command.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "help {command}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the leaf subcommands of `command` as words, such as `shader eval`.
fn commands(command: &str) -> BTreeSet<String> {
    let text = help(command);
    let Some((_, list)) = text.split_once("\nCommands:\n") else { return [command.into()].into() };
    let names = list.lines().take_while(|line| !line.is_empty());
    let names = names.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names = names.filter(|name| !name.is_empty() && *name != "help");
    names.flat_map(|name| commands(format!("{command} {name}").trim_start())).collect()
}

/// Long options at the beginning of lines of a help text.
fn options(help: &str) -> BTreeSet<String> {
    let lines = help.lines().filter_map(|line| {
        let indented = line.strip_prefix("  ")?;
        let long = indented.strip_prefix("    --");
        long.or_else(|| indented.strip_prefix('-')?.split_once(", --").map(|(_, long)| long))
    });
    let names = lines.map(|line| line.split([' ', '[']).next().unwrap());
    names.filter(|name| !["help", "version"].contains(name)).map(str::to_owned).collect()
}

/// Long options in the first column of the table of a section.
fn documented_options(section: &str) -> BTreeSet<String> {
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let names = cells.flat_map(|cell| cell.split("`--").skip(1));
    names.map(|rest| rest.split([' ', '`']).next().unwrap().to_owned()).collect()
}

#[test]
fn manual_documents_every_command_and_option() {
    let manual: String = documents().iter().map(|name| blocks(&read(name)).1).collect();
    let sections: Vec<(&str, &str)> = manual
        .split("# Options of `lightbound ")
        .skip(1)
        .map(|section| {
            let (command, rest) = section.split_once("`\n").unwrap();
            (command, rest.split("\n#").next().unwrap())
        })
        .collect();
    let covered: BTreeSet<String> =
        sections.iter().map(|(command, _)| command.to_string()).collect();
    assert_eq!(covered, commands(""));
    assert_eq!(covered.len(), sections.len());
    for (command, section) in sections {
        assert_eq!(documented_options(section), options(&help(command)), "{command}");
    }
}

/// Documents with links to test: for users, for developers, and for folders.
fn documents_with_links() -> Vec<PathBuf> {
    let folders = ["", "docs", "assets", "shader-compiler", "scenes"].map(|name| root().join(name));
    let scenes = fs::read_dir(root().join("scenes")).unwrap().map(|entry| entry.unwrap().path());
    let folders = folders.into_iter().chain(scenes.filter(|path| path.is_dir()));
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    let files = files.map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The link anchor of a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    text.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
}

#[test]
fn links_are_valid() {
    for file in documents_with_links() {
        let text = blocks(&fs::read_to_string(&file).unwrap()).1;
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.starts_with("https://") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { file.clone() } else { file.with_file_name(path) };
            assert!(target.exists(), "{}: {link}", file.display());
            if !heading.is_empty() {
                let text = blocks(&fs::read_to_string(&target).unwrap()).1;
                let mut headings = text.lines().filter(|line| line.starts_with('#')).map(anchor);
                assert!(headings.any(|name| name == heading), "{}: {link}", file.display());
            }
        }
    }
}

#[test]
fn paths_in_architecture_exist() {
    let text = read("ARCHITECTURE.md");
    let quoted: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    let paths = || quoted.iter().filter(|quoted| quoted.contains('/'));
    assert!(paths().count() > 0);
    let missing: Vec<_> = paths().filter(|path| !root().join(path).exists()).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn readme_is_short() {
    assert!(read("README.md").lines().count() <= 150);
}

#[test]
fn images_of_the_manual_are_small_and_used() {
    let text: String = documents().iter().map(|name| read(name)).collect();
    for file in fs::read_dir(root().join("docs/images")).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        assert!(file.metadata().unwrap().len() <= 300_000, "{name}");
        assert!(text.contains(&format!("images/{name})")), "no document shows {name}");
    }
}
