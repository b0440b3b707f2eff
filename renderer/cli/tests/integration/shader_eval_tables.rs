//! `lightbound shader eval` for tables.

use crate::common::assert_input_error;
use crate::common::shader_dir::{LOBE, ShaderDir, Table, targets};
use crate::common::tables::{DIRECTIONS, eval_table, random_rows};
use predicates::prelude::*;
use predicates::str::contains;

#[test]
fn tables_match_single_evaluations() {
    let dir = ShaderDir::new(LOBE);
    let lines = random_rows(60);
    let csv = format!("{DIRECTIONS},kd.r,kd.g,kd.b,rounds,lobe\n{}\n", lines.join("\n"));
    let table = eval_table(&dir, &csv, &[]);
    assert_eq!(table.len(), lines.len());
    for (line, values) in lines.iter().zip(&table).step_by(9) {
        let cells: Vec<&str> = line.split(',').collect();
        let (wi, wo, kd) =
            (cells[..3].join(","), cells[3..6].join(","), format!("kd={}", cells[6..9].join(",")));
        let (rounds, lobe) = (format!("rounds={}", cells[9]), format!("lobe={}", cells[10]));
        assert_eq!(
            &dir.eval(&["--wi", &wi, "--wo", &wo, "--set", &kd, "--set", &rounds, "--set", &lobe]),
            values,
            "{line}"
        );
    }
    for target in targets() {
        assert_eq!(eval_table(&dir, &csv, &["--target", target]), table, "{target}");
    }
}

#[test]
fn large_tables_keep_their_order() {
    let dir = ShaderDir::new(LOBE);
    let rows = random_rows(500);
    let header = format!("{DIRECTIONS},kd.r,kd.g,kd.b,rounds,lobe");
    let small = eval_table(&dir, &format!("{header}\n{}\n", rows.join("\n")), &[]);
    let large =
        eval_table(&dir, &format!("{header}\n{}\n", vec![rows.join("\n"); 21].join("\n")), &[]);
    assert_eq!(large.len(), 21 * small.len());
    assert!(large.chunks(small.len()).all(|part| part == small));
}

#[test]
fn tables_allow_comments_and_quotes() {
    let dir = ShaderDir::new(LOBE);
    let plain =
        eval_table(&dir, &format!("{DIRECTIONS},kd\n0,0,1,0,0,1,0.5\n0,0.6,0.8,0,0,1,0.25\n"), &[]);
    let spaced = "\u{feff}# by hand\r\n\r\n \"kd\" , wi.x,wi.y,wi.z, wo.x,wo.y,\"wo.z\"\r\n0.5,0,0,1,0,0,1\r\n\r\n# more\r\n 0.25, 0, 0.6, 8e-1, 0, 0, +1";
    assert_eq!(eval_table(&dir, spaced, &[]), plain);
    // Columns override components of an option.
    let set =
        eval_table(&dir, &format!("{DIRECTIONS},kd.x\n0,0,1,0,0,1,0.5\n"), &["--set", "kd=0.5"]);
    assert_eq!(set[0], plain[0]);
    assert!(eval_table(&dir, &format!("{DIRECTIONS},kd\n"), &[]).is_empty());
}

#[test]
fn tables_are_piped_from_stdin_to_stdout() {
    let dir = ShaderDir::new(LOBE);
    let csv = format!("{DIRECTIONS}\n0,0,1,0,0,1\n0,0,1,0,0,-1\n");
    let mut command = dir.shader("eval", &["--csv", "-", "--set", "kd=0", "--set", "ks=0.25"]);
    let done = command.write_stdin(csv).assert().success().stderr(contains("in 1 of 2 rows"));
    done.stdout("brdf.r,brdf.g,brdf.b,s.r,s.g,s.b\n0.25,0.25,0.25,0.25,0.25,0.25\n0.0,0.0,0.0,0.0,0.0,0.0\n");
}

#[test]
fn infinities_and_nans_are_printed() {
    let shader = "struct Material { a: f32 }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.a / wi.x, -1.0 / wi.x, sqrt(wi.x - 1.0)); }";
    let dir = ShaderDir::new(shader);
    let mut command = dir.shader("eval", &["--csv", "-", "--set", "a=1"]);
    let done = command.write_stdin(format!("{DIRECTIONS}\n0,0,1,0,0,1\n")).assert().success();
    done.stdout(contains("\ninf,-inf,NaN,inf,-inf,NaN\n"));
}

#[test]
fn invalid_tables_name_line_column_and_remedy() {
    let dir = ShaderDir::new(LOBE);
    let row = "0,0,1,0,0,1,0.5";
    let cases: [(String, &[&str]); 15] = [
        (String::new(), &["in.csv:1:", "no header"]),
        ("# nothing\n\n".into(), &["in.csv:3:", "no header"]),
        ("wi.x,wi.y,wi.z,wo.x,wo.y,kd\n".into(), &["in.csv:1:", "`wo.z`"]),
        (
            format!("{DIRECTIONS},kt\n"),
            &["in.csv:1:", "unknown column `kt`", "did you mean \"kd\""],
        ),
        (DIRECTIONS.replace(',', ";") + "\n", &["in.csv:1:", "commas"]),
        (format!("{row}\n"), &["in.csv:1:", "first line names the columns"]),
        (format!("{DIRECTIONS},kd,kd.r\n"), &["in.csv:1:", "`kd.r`", "earlier column"]),
        (format!("{DIRECTIONS},kd,wi.x\n"), &["in.csv:1:", "`wi.x`", "earlier column"]),
        (format!("{DIRECTIONS}\n"), &["in.csv:1:", "`kd` has no value", "--set kd="]),
        (
            format!("{DIRECTIONS},kd\n{row}\n# c\n\n0,0,1,0,x,1,0.5\n"),
            &["in.csv:5:", "column 5", "`wo.y`", "`x`"],
        ),
        (
            format!("{DIRECTIONS},kd\n{row}\n{row}\n0,0,1,0,0,1,2\n"),
            &["in.csv:4:", "column 7", "[0, 1]"],
        ),
        (
            format!("{DIRECTIONS},kd\n{row}\n0,0,1,0,0,1,\n"),
            &["in.csv:3:", "column 7", "`kd`", "not a number"],
        ),
        (format!("{DIRECTIONS},kd\n{row},1\n"), &["in.csv:2:", "8 cells", "7"]),
        (format!("{DIRECTIONS},kd\n{row}\n0,0,1\n"), &["in.csv:3:", "3 cells", "7"]),
        (
            format!("{DIRECTIONS},lobe,kd\n0,0,1,0,0,1,maybe,0.5\n"),
            &["in.csv:2:", "column 7", "true or false"],
        ),
    ];
    for (csv, messages) in &cases {
        dir.write("in.csv", csv);
        let mut command = dir.shader("eval", &["--csv", "in.csv", "-o", "out.csv"]);
        assert_input_error(&mut command, messages);
        assert!(!dir.path("out.csv").exists(), "{csv}");
    }
    std::fs::write(dir.path("in.csv"), b"wi.x\xff\n").unwrap();
    dir.shader("eval", &["--csv", "in.csv"])
        .assert()
        .code(2)
        .stderr(contains("in.csv:1:").and(contains("UTF-8")));
    dir.shader("eval", &["--csv", "none.csv"]).assert().code(2).stderr(contains("none.csv"));
    dir.shader("eval", &["--csv", "in.csv", "-o", "no/such/out.csv"])
        .assert()
        .code(2)
        .stderr(contains("no folder"));
}

#[test]
fn failure_keeps_the_earlier_file() {
    let dir = ShaderDir::new(LOBE);
    dir.write("out.csv", "earlier");
    dir.write("in.csv", &format!("{DIRECTIONS},kd\n0,0,1,0,0,1,0.5\n0,0,1,0,0,1,x\n"));
    dir.shader("eval", &["--csv", "in.csv", "-o", "out.csv"]).assert().code(2);
    assert_eq!(std::fs::read_to_string(dir.path("out.csv")).unwrap(), "earlier");
    assert_eq!(std::fs::read_dir(dir.root()).unwrap().count(), 3);
}

#[test]
fn results_overwrite_no_input() {
    let dir = ShaderDir::new(LOBE);
    dir.write("in.csv", &format!("{DIRECTIONS},kd\n"));
    for file in ["a.wgsl", "in.csv", "./in.csv"] {
        dir.shader("eval", &["--csv", "in.csv", "-o", file])
            .assert()
            .code(2)
            .stderr(contains("overwrite").and(contains(file)));
    }
    dir.shader("show", &["--stage", "ir", "-o", "a.wgsl"])
        .assert()
        .code(2)
        .stderr(contains("overwrite"));
    assert_eq!(std::fs::read_to_string(dir.path("a.wgsl")).unwrap(), LOBE);
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_reported() {
    let dir = ShaderDir::new(LOBE);
    dir.write("in.csv", &format!("{DIRECTIONS},kd\n0,0,1,0,0,1,0.5\n"));
    let fallback = dir.path("spare");
    std::fs::create_dir(&fallback).unwrap();
    let mut command = dir.shader("eval", &["--csv", "in.csv", "-o", "/dev/full"]);
    command
        .env("TMPDIR", &fallback)
        .assert()
        .code(3)
        .stderr(contains("/dev/full").and(contains("saved as")));
    assert_eq!(
        Table::parse(&std::fs::read_to_string(fallback.join("full")).unwrap()).rows.len(),
        1
    );
    for args in [&["eval", "--csv", "in.csv"][..], &["check"], &["show", "--stage", "ir"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lightbound"));
        command
            .args(["shader", args[0], "a.wgsl"])
            .args(&args[1..])
            .current_dir(dir.root())
            .stdout(full);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("stdout"), "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn closed_pipe_is_not_an_error() {
    let dir = ShaderDir::new(LOBE);
    let lines = random_rows(20_000);
    dir.write(
        "in.csv",
        &format!("{DIRECTIONS},kd.r,kd.g,kd.b,rounds,lobe\n{}\n", lines.join("\n")),
    );
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_lightbound"))
        .args(["shader", "eval", "a.wgsl", "--csv", "in.csv"])
        .current_dir(dir.root())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}
