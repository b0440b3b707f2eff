//! Inputs of `lightbound shader bound`, and errors in them.

use crate::common::assert_input_error;
use crate::common::shader_dir::{ShaderDir, lobe_with_defaults};
use lightbound_shader::relations::Relation;
use predicates::prelude::*;
use predicates::str::contains;

#[test]
fn intervals_are_parsed_from_options_and_tables() {
    let dir = ShaderDir::new(&lobe_with_defaults());
    let bound = |sets: &[&str]| {
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        dir.bound(
            &["--wi", "-0.1..0.1,0.5..0.7,0.7..0.9", "--wo", "0,0,1"]
                .into_iter()
                .chain(sets)
                .collect::<Vec<_>>(),
        )
    };
    let expected = bound(&["kd=0.25..0.75"]);
    assert_eq!(bound(&["kd=0.25..0.75,0.25..0.75,0.25..0.75"]), expected);
    assert_eq!(bound(&["kd = 0.25 .. 0.75"]), expected);
    assert_eq!(
        bound(&[
            "kd=0.5",
            "kd.r=0.25..0.75",
            "kd.y=.25.. .75",
            "kd.b=2.5e-1..7.5e-1",
            "squarings=2"
        ]),
        expected
    );
    assert_ne!(bound(&["kd=0.25..0.75", "squarings=3"]), expected);
    let (mixed, point) = (bound(&["kd=0.25..0.75,0.5,0.25..0.75"]), bound(&["kd=0.5"]));
    assert_eq!([&mixed[0], &mixed[1], &mixed[2]], [&expected[0], &point[1], &expected[2]]);
    let [low, high] = bound(&["lobe=false..true", "rounds=0..3", "shift=-1..1"])[0].1;
    let [some_low, some_high] = bound(&["rounds=2", "shift=1"])[0].1;
    assert!(low < some_low && some_high < high, "{low} {some_low} {some_high} {high}");
}

#[test]
fn tables_match_single_boxes() {
    let dir = ShaderDir::new(&lobe_with_defaults());
    let csv = "# boxes\n\nkd.lo, kd.hi,wi.x,wi.y.lo,wi.y.hi,wi.z,wo.x,wo.y,\"wo.z.lo\",wo.z.hi,shift.lo,shift.hi\n\
               0,0.5,0,0.5,0.7,0.8,0,0,0.5,1,-1,1\n0.25,0.25,-0.1,-0.7,0.7,0.8,0,0,1,1,0,0\n";
    let table = dir.table("bound", csv, &["--set", "ks=1..2"]);
    let single = |wi: &str, wo: &str, kd: &str, shift: &str| {
        let sets = ["--set", "ks=1..2", "--set", kd, "--set", shift];
        dir.bound(&[&["--wi", wi, "--wo", wo], &sets[..]].concat())
            .into_iter()
            .flat_map(|(_, ends)| ends)
            .collect::<Vec<_>>()
    };
    assert_eq!(table.rows[0], single("0,0.5..0.7,0.8", "0,0,0.5..1", "kd=0..0.5", "shift=-1..1"));
    assert_eq!(
        table.rows[1],
        single("-0.1,-0.7..0.7,0.8", "0,0,1..1", "kd=0.25..0.25", "shift=0..0")
    );
    assert!(dir.table("bound", csv.split_once("\n0,0.5").unwrap().0, &[]).rows.is_empty());
    // Many rows, through stdin and stdout.
    let (header, row) = ("wi.x,wi.y,wi.z,wo.x,wo.y,wo.z,kd.lo,kd.hi\n", "0,0,1,0,0,1,0.25,0.5\n");
    let mut command = dir
        .shader("bound", &["--csv", "-", "--set", "ks=0", "--set", "rounds=0", "--sides", "upper"]);
    let done = command.write_stdin(header.to_owned() + &row.repeat(5000)).assert().success();
    let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    assert!(text.starts_with("s.r.hi,s.g.hi,s.b.hi\n") && text.lines().count() == 5001);
    assert!(
        text.lines().skip(1).all(|line| line == "0.15915494,0.15915494,0.15915494"),
        "{:?}",
        text.lines().nth(1)
    );
}

#[test]
fn luminance_gives_a_single_bound() {
    let dir = ShaderDir::new(&lobe_with_defaults());
    let at = ["--wi", "-0.1..0.1,0.5..0.7,0.7..0.9", "--wo", "0,0,1", "--luminance"];
    let [(name, [low, high])] = &dir.bound(&at)[..] else { panic!("there is one line") };
    assert_eq!(name, "s.luminance");
    assert!(0.0 <= *low && low < high && *high < 1.0, "{low} {high}");
    let upper = dir.stdout("bound", &[&at[..], &["--sides", "upper"]].concat());
    assert_eq!(upper, format!("s.luminance  at most {high:?}\n"));
    let lower = dir.stdout("bound", &[&at[..], &["--sides", "lower"]].concat());
    assert_eq!(lower, format!("s.luminance  at least {low:?}\n"));
}

#[test]
fn related_bounds_require_unit_vectors() {
    let dir = ShaderDir::new(&lobe_with_defaults());
    let bound = |wi: &str, wo: &str, args: &[&str]| {
        dir.shader(
            "bound",
            &[&["--mode", "related", "--wi", wi, "--wo", wo, "--set", "shift=1"], args].concat(),
        )
        .assert()
    };
    let assert_error = |wi: &str, wo: &str, args: &[&str], messages: &[&str]| {
        let failed = bound(wi, wo, args).code(2).stdout("");
        messages.iter().fold(failed, |failed, message| failed.stderr(contains(*message)));
    };
    assert_error(
        "0,0,1",
        "0.1,0.2,0.97",
        &[],
        &[
            "wo is not a unit vector",
            "0.9909",
            "0.10045813,0.20091626,0.97444385",
            "--mode optimized",
        ],
    );
    bound("0,0,1", "0.10045813,0.20091626,0.97444385", &[]).success();
    assert_error(
        "0..0.5,0..0.5,0..0.5",
        "0,0,1",
        &[],
        &["wi contains no unit vector", "0..0.75", "--mode optimized"],
    );
    assert_error(
        "0,0,0.5..1.5",
        "0,0,1",
        &["--ranges", "paper"],
        &["wi.z is 0.5..1.5", "from -1 to 1"],
    );
    // Boxes whose unit vectors all lie behind the surface are black without evaluation.
    for wo in ["0,0,-1", "0,0,-1..-0.5", "0.8..0.9,0,-0.6..0.1"] {
        let output = bound("0,0,1", wo, &[]).success().get_output().stdout.clone();
        assert_eq!(String::from_utf8(output).unwrap().matches("0.0 .. 0.0").count(), 3, "{wo}");
    }
    // Errors in tables name the line.
    dir.write("in.csv", "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z\n0,0,1,0,0,1\n0,0.6,0.7,0,0,1\n");
    let args = ["--mode", "related", "--csv", "in.csv", "-o", "out.csv"];
    let failed = dir.shader("bound", &args).assert().code(2);
    failed.stderr(contains("in.csv:3:").and(contains("wi is not a unit vector")));
    assert!(!dir.path("out.csv").exists());
    // `--relations` requires this mode.
    let failed = |args: &[&str]| {
        dir.shader("bound", &[&["--wi", "0,0,1", "--wo", "0,0,1"], args].concat()).assert().code(2)
    };
    failed(&["--mode", "related", "--relations", "unit,dots"])
        .stderr(contains("`dots`").and(contains("did you mean \"dot\"?")));
    let none: Vec<_> = Relation::ALL.iter().map(|relation| format!("-{relation}")).collect();
    failed(&["--mode", "related", "--relations", &none.join(",")])
        .stderr(contains("no relation is left"));
    failed(&["--relations", "unit"]).stderr(contains("--mode related"));
    failed(&["--split", "3"]).stderr(contains("[possible values: 2, 4]"));
}

#[test]
fn columns_and_options_must_not_set_the_same_value() {
    let dir = ShaderDir::new(&lobe_with_defaults());
    dir.write("in.csv", "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z,kd.r\n0,0,1,0,0,1,0.5\n");
    for command in ["bound", "eval"] {
        for set in ["kd.r=1", "kd.x=0.25"] {
            let failed = dir
                .shader(command, &["--csv", "in.csv", "--set", "ks=0", "--set", set])
                .assert()
                .code(2);
            failed.stderr(contains("column `kd.r`").and(contains(format!("--set {set}"))));
        }
        dir.shader(command, &["--csv", "in.csv", "--set", "ks=0", "--set", "kd=1"])
            .assert()
            .success();
    }
}

#[test]
fn errors_in_boxes_name_the_remedy() {
    let dir = ShaderDir::new(&lobe_with_defaults());
    let cases: [(&str, &[&str], &[&str]); 21] = [
        ("0,0,1e60", &[], &["`z`: `1e60` is too large for a float"]),
        ("0,0,0..1e60", &["--ranges", "paper"], &["`z`: `1e60` is too large for a float"]),
        ("0,0,1", &["--set", "ks=0..1e60"], &["`ks`: `1e60` is too large for a float"]),
        (
            "0,0,0.1..0.2..0.3",
            &[],
            &["`z`: `0.1..0.2..0.3` has more than two endpoints", "0.2..0.4"],
        ),
        ("0,0,1", &["--set", "ks=0..1..2"], &["`ks`: `0..1..2` has more than two endpoints"]),
        ("0...1,0,1", &[], &["`x`: `0...1` has three dots in a row", "0.2..0.4"]),
        ("0,0,1", &["--set", "ks=0...1"], &["`ks`: `0...1` has three dots in a row", "0.2..0.4"]),
        ("0,0,0.9..0.8", &[], &["0.9 is above", "0.8", "lower endpoint of an interval first"]),
        ("0,0,0.9..", &[], &["lacks an endpoint", "0.2..0.4"]),
        ("0,0,x..1", &[], &["`z`: `x` is not a number"]),
        ("0,0..1", &[], &["three numbers or intervals"]),
        ("0,0,0.5..1.5", &[], &["`wi.z`: 0.5..1.5 is out of range", "--ranges paper"]),
        ("0,0,nan", &[], &["`wi.z`: NaN is out of range"]),
        ("0,0,nan..1", &["--ranges", "paper"], &["`wi.z`: NaN..1.0", "finite"]),
        ("0,0,1", &["--set", "kd=0.5..2"], &["`kd`: 2 is out of range", "[0, 1]"]),
        (
            "0,0,1",
            &["--set", "kd=0.5..0.25"],
            &["`kd`: the lower endpoint 0.5 is above the upper endpoint 0.25"],
        ),
        ("0,0,1", &["--set", "lobe=true..false"], &["`lobe`: the lower endpoint true is above"]),
        ("0,0,1", &["--set", "rounds=0..1.5"], &["rounds", "32-bit integer"]),
        ("0,0,1", &["--set", "kt=0..1"], &["kt", "did you mean \"kd\""]),
        ("0,0,1", &["--set", "kd=0..1,0..1"], &["3 numbers, not 2"]),
        ("0,0,1", &["--set", "squarings=1..2"], &["squarings", "32-bit integer"]),
    ];
    for (wi, args, messages) in cases {
        let mut command = dir.shader("bound", &["--wi", wi, "--wo", "0,0,1"]);
        assert_input_error(command.args(args), messages);
    }
    dir.shader("bound", &["--wi", "0,0,1"]).assert().code(2).stderr(contains("--wo"));
    dir.shader("bound", &["--wi", "0,0,0.5..3", "--wo", "0,0,1", "--ranges", "paper"])
        .assert()
        .success();
}

#[test]
fn errors_in_tables_name_line_column_and_remedy() {
    let dir = ShaderDir::new(&lobe_with_defaults());
    let header = "wi.x,wi.y,wi.z.lo,wi.z.hi,wo.x,wo.y,wo.z";
    let cases: [(String, &[&str]); 10] = [
        (
            "wi.x,wi.y,wi.z.lo,wo.x,wo.y,wo.z\n".into(),
            &["in.csv:1:", "`wi.z.lo`", "no column `wi.z.hi`", "call the column `wi.z`"],
        ),
        (
            format!("{header},kd.lo,kd.r.hi,kd.g.hi\n"),
            &["in.csv:1:", "`kd.lo`", "no column `kd.hi`"],
        ),
        (format!("{header},wi.z\n"), &["in.csv:1:", "`wi.z`", "earlier column"]),
        (format!("{header},kd.r.lo,kd.lo,kd.hi\n"), &["in.csv:1:", "`kd.lo`", "earlier column"]),
        (
            format!("{header},kt.lo,kt.hi\n"),
            &["in.csv:1:", "unknown column `kt.lo`", "did you mean \"kd\""],
        ),
        (
            format!("{header}\n0,0,0.5,1,0,0,1\n0,0,1,0.5,0,0,1\n"),
            &["in.csv:3:", "column 4", "`wi.z`", "1 is above", "0.5"],
        ),
        (format!("{header}\n0,0,nan,1,0,0,1\n"), &["in.csv:2:", "column 3", "`wi.z`: NaN..1.0"]),
        (
            format!("{header}\n0,7,0,1,0,0,1\n"),
            &["in.csv:2:", "column 2", "`wi.y`: 7.0 is out of range"],
        ),
        (
            format!("{header},kd.lo,kd.hi\n0,0,0,1,0,0,1,0,2\n"),
            &["in.csv:2:", "column 9", "[0, 1]"],
        ),
        (
            format!("{header}\n0,0,0..1,1,0,0,1\n"),
            &["in.csv:2:", "column 3", "`0..1` is not a number"],
        ),
    ];
    for (csv, messages) in &cases {
        dir.write("in.csv", csv);
        let mut command = dir.shader("bound", &["--csv", "in.csv", "-o", "out.csv"]);
        assert_input_error(&mut command, messages);
        assert!(!dir.path("out.csv").exists(), "{csv}");
    }
    dir.write("in.csv", "wi.x.lo,wi.x.hi\n");
    dir.shader("eval", &["--csv", "in.csv"])
        .assert()
        .code(2)
        .stderr(contains("unknown column `wi.x.lo`"));
    dir.shader("bound", &["--csv", "in.csv", "-o", "in.csv"])
        .assert()
        .code(2)
        .stderr(contains("overwrite"));
}
