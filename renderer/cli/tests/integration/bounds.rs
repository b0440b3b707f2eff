//! `lightbound bounds`.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// A shader with a texture, a branch and a parameter without a default.
const SHADER: &str = "\
var wood: texture_2d<f32>;
var wood_sampler: sampler;
struct Material {
    /// Albedo. range: [0, 1]
    kd: vec3f,
    /// Texture coordinates. range: [0, 1], default: 0.5
    uv: vec2f,
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    if wi.x < wo.x { return m.kd * textureSampleLevel(wood, wood_sampler, m.uv, 0.0).rgb; }
    return m.kd / (1.0 + wi.z * wi.z);
}
";

/// `lightbound bounds ARGS`, with few rounds.
fn bounds(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("lightbound").unwrap();
    // `--by-relation` measures nothing and rejects `--rounds`.
    let rounds: &[&str] = if args.contains(&"--by-relation") { &[] } else { &["--rounds", "2"] };
    command.arg("bounds").args(rounds).args(args).current_dir(folder);
    command
}

fn stdout(mut command: Command) -> String {
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

fn records(folder: &Path, args: &[&str]) -> Vec<Value> {
    let text = stdout(bounds(folder, &[&["--format", "json"], args].concat()));
    serde_json::from_str::<Vec<Value>>(&text).unwrap()
}

#[test]
fn records_have_documented_keys() {
    let folder = TempDir::new().unwrap();
    let records = records(folder.path(), &["--shader", "diffuse"]);
    // 2 setups × 2 `inputs` × 2 `sides` × 2 `nan`.
    assert_eq!(records.len(), 16);
    assert_eq!(records[0]["nan"], "propagate", "bounds that always hold come first");
    for record in &records {
        assert_eq!((&record["shader"], &record["target"]), (&"diffuse".into(), &"sse".into()));
        for (key, values) in [
            ("inputs", &["light", "all"][..]),
            ("sides", &["upper", "both"]),
            ("nan", &["propagate", "suppress", "ignore"]),
            ("frame", &["world", "local"]),
            ("ranges", &["paper", "declared"]),
        ] {
            assert!(values.iter().any(|&value| record[key] == value), "{key} in {record}");
        }
        let figure = |code: &str, cost: &str| record[code][cost].as_f64().unwrap();
        for which in ["point", "naive", "optimized", "related"] {
            // There are no branches.
            assert_eq!(figure(which, "instructions"), figure(which, "executed"), "{record}");
            assert!(
                figure(which, "cycles") > 0.0 && figure(which, "model_cycles") > 0.0,
                "{record}"
            );
            // Two rounds are too few.
            assert!(record[which]["cycles_interval"].is_null(), "{record}");
        }
        assert_eq!(
            (&record["version"], &record["seed"]),
            (&env!("CARGO_PKG_VERSION").into(), &1.into())
        );
        assert_eq!(record["rounds"], 2);
        assert!(
            record["cpu"].is_null() || record["cpu"].as_str().is_some_and(|name| !name.is_empty()),
            "{record}"
        );
        let clock = record["clock"].as_str().unwrap();
        assert!(
            clock.starts_with("core cycles") || clock.starts_with("time-stamp counter ticks"),
            "{clock}"
        );
        assert!(figure("optimized", "instructions") <= figure("naive", "instructions"), "{record}");
        let world_upper = record["frame"] == "world" && record["sides"] == "upper";
        assert!(
            !world_upper || figure("optimized", "instructions") < figure("naive", "instructions"),
            "{record}"
        );
    }
}

#[test]
fn confidence_intervals_contain_the_cycles() {
    let folder = TempDir::new().unwrap();
    let chosen = [
        "--inputs", "light", "--sides", "upper", "--nan", "ignore", "--frame", "local", "--rounds",
        "40",
    ];
    let records = records(folder.path(), &[&["--shader", "phong"], &chosen[..]].concat());
    for which in ["point", "naive", "optimized", "related"] {
        let figures = &records[0][which];
        let [low, high] = [0, 1].map(|k| figures["cycles_interval"][k].as_f64().unwrap());
        let cycles = figures["cycles"].as_f64().unwrap();
        assert!(0.0 < low && low <= cycles && cycles <= high, "{figures}");
    }
}

#[test]
fn options_select_measurements() {
    let folder = TempDir::new().unwrap();
    let chosen = ["--inputs", "all", "--sides", "both", "--nan", "suppress", "--frame", "local"];
    let records = records(folder.path(), &[&["--shader", "diffuse"], &chosen[..]].concat());
    let [record] = &records[..] else { panic!("{records:?}") };
    let keys =
        ["inputs", "sides", "nan", "frame", "ranges"].map(|key| record[key].as_str().unwrap());
    assert_eq!(keys, ["all", "both", "suppress", "local", "paper"]);
}

#[test]
fn costs_by_relation_match_selected_relations() {
    let folder = TempDir::new().unwrap();
    let chosen = [
        "--shader", "phong", "--inputs", "light", "--sides", "upper", "--nan", "ignore", "--frame",
        "world",
    ];
    let run = |args: &[&str]| records(folder.path(), &[&chosen[..], args].concat());
    let instructions =
        |record: &Value, which: &str| record[which]["instructions"].as_u64().unwrap();
    let [all, unit] = [&[][..], &["--relations", "unit"]].map(|args| run(args).remove(0));
    assert_eq!(instructions(&all, "optimized"), instructions(&unit, "optimized"));
    assert_ne!(instructions(&all, "related"), instructions(&unit, "related"));
    assert_eq!(unit["relations"], serde_json::json!(["unit"]));
    // The cost of each relation equals that of code compiled with the same `--relations`.
    let by_relation = run(&["--by-relation"]).remove(0);
    assert_eq!(by_relation["optimized"], all["optimized"]["instructions"]);
    assert_eq!(by_relation["related"], all["related"]["instructions"]);
    let parts = by_relation["relations"].as_array().unwrap();
    let part = |name: &str| parts.iter().find(|part| part["relation"] == name).unwrap();
    assert_eq!(part("unit")["alone"], unit["related"]["instructions"]);
    let without_dot = run(&["--relations=all,-dot"]).remove(0);
    assert_eq!(part("dot")["without"], without_dot["related"]["instructions"]);
    let text = stdout(bounds(
        folder.path(),
        &[&chosen[..], &["--by-relation", "--relations", "dot,unit"]].concat(),
    ));
    let lines =
        |start: &str| text.lines().filter(|line| line.trim_start().starts_with(start)).count();
    assert_eq!([lines("unit "), lines("dot "), lines("squares ")], [2, 2, 0], "{text}");
}

#[test]
fn tables_compare_with_the_paper() {
    let folder = TempDir::new().unwrap();
    let text = stdout(bounds(folder.path(), &["--shader", "diffuse"]));
    for part in [
        "5.8× → 3.2×",
        "point: cost of 4 evaluations",
        "Median time to compile a bounding shader: ",
        "upper bounds, NaN ignored, cycles predicted by the throughput model: naive → optimized",
        "95 % confidence intervals wider than 2 %: 24 of 24 ratios",
        "Cycles measured: ",
        "Rounds discarded as disturbed: ",
        "±: half of the widest 95 % confidence interval",
        "upper bounds, NaN ignored, instructions executed: the same, since the code has no branches\n",
        "both bounds, NaN propagated",
        "both bounds, NaN ignored",
        "optimized → related",
        "+ bounds analysis",
        "█",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    // A single shader has no average.
    assert!(!text.contains("average"), "{text}");
    // The setup of the second table is not in the paper.
    let (first, second) = text.split_once("shading frame").unwrap();
    assert!(first.contains("paper") && !second.contains("paper"), "{text}");
    let markdown = stdout(bounds(
        folder.path(),
        &["--shader", "diffuse", "--format", "markdown", "--frame", "local"],
    ));
    assert!(
        markdown.contains("\n| diffuse | ")
            && markdown.contains("\n|---|--:|")
            && markdown.contains("```text\n"),
        "{markdown}"
    );
}

/// Costs of point shaders have enough digits to derive the costs of bounding shaders from ratios.
#[test]
fn tables_show_savings_and_costs() {
    let folder = TempDir::new().unwrap();
    let chosen = ["--inputs", "light", "--sides", "upper", "--nan", "ignore", "--frame", "world"];
    let args = [&["--shader", "fractal", "--shader", "phong"], &chosen[..]].concat();
    let (text, records) = (stdout(bounds(folder.path(), &args)), records(folder.path(), &args));
    let row = |title: &str, shader: &str| {
        let (_, table) = text.split_once(&format!("upper bounds, NaN ignored, {title}\n")).unwrap();
        let (head, rows) = table.split_once('\n').unwrap();
        let row = rows.lines().find(|line| line.trim_start().starts_with(shader)).unwrap();
        (
            head.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
            row.split_whitespace().collect::<Vec<_>>(),
        )
    };
    for record in &records {
        let shader = record["shader"].as_str().unwrap();
        let figure = |code: &str, cost: &str| record[code][cost].as_f64().unwrap();
        let [optimized, related] =
            ["optimized", "related"].map(|which| figure(which, "instructions"));
        let (head, cells) = row("instructions: optimized → related", shader);
        assert!(
            head.contains(&"cost".to_owned()) && !head.contains(&"saved".to_owned()),
            "{head:?}"
        );
        let change = format!("{:+.1}", 100.0 * (related / optimized - 1.0));
        assert!(cells.contains(&change.as_str()), "{change} is not in {cells:?}");
        let (head, _) = row("instructions: naive → optimized", shader);
        assert!(head.contains(&"saved".to_owned()), "{head:?}");
        // Fractal has a loop.
        let (_, cells) = row("instructions executed: naive → optimized", shader);
        assert_eq!(cells[1], format!("{:.1}", figure("point", "executed")), "{cells:?}");
        let (_, cells) = row("cycles predicted by the throughput model: naive → optimized", shader);
        assert_eq!(cells[1], format!("{:.1}", figure("point", "model_cycles")), "{cells:?}");
    }
}

#[test]
fn any_shader_can_be_measured() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("mine.wgsl"), SHADER).unwrap();
    let args = [
        "--shader",
        "mine.wgsl",
        "--shader",
        "diffuse",
        "--inputs",
        "light",
        "--frame",
        "local",
        "--svg",
        "a.svg",
    ];
    let text = stdout(bounds(folder.path(), &args));
    assert!(text.contains("\n  mine ") && text.contains("\n  diffuse "), "{text}");
    let svg = std::fs::read_to_string(folder.path().join("a.svg")).unwrap();
    assert!(
        svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains(">mine: s(x, ω̂)<")
    );
}

/// Parses the figure in the output: its title and the names of its panels.
fn figure(text: &str) -> (String, Vec<&str>) {
    let (_, figure) =
        text.split_once("instructions with one optimization after another: ").unwrap();
    let (subject, rest) = figure.split_once('\n').unwrap();
    (subject.to_owned(), rest.lines().filter(|line| line.starts_with("diffuse ")).collect())
}

#[test]
fn figure_matches_options() {
    let folder = TempDir::new().unwrap();
    let (light, all) = ("diffuse s(x, ω̂)", "diffuse s(x̂, ω̂)");
    let cases: [(&[&str], &str, &[&str]); 5] = [
        (&[], "upper bounds, NaN propagated", &[light, all]),
        (&["--nan", "suppress"], "upper bounds, NaN suppressed", &[light, all]),
        (&["--sides", "both"], "both bounds, NaN propagated", &[light, all]),
        (&["--inputs", "all", "--nan", "ignore"], "upper bounds, NaN ignored", &[all]),
        (
            &["--inputs", "light", "--frame", "local", "--target", "avx2"],
            "upper bounds, NaN propagated",
            &[light],
        ),
    ];
    let mut bars = vec![];
    for (args, subject, panels) in cases {
        let text = stdout(bounds(
            folder.path(),
            &[&["--shader", "diffuse", "--svg", "a.SVG"], args].concat(),
        ));
        assert_eq!(figure(&text), (subject.to_owned(), panels.to_vec()), "{args:?}");
        let svg = std::fs::read_to_string(folder.path().join("a.SVG")).unwrap();
        assert!(svg.contains(&format!(">Instructions of {subject}<")), "{args:?}");
        let handling = !args.contains(&"ignore");
        assert_eq!(
            (text.contains("░ NaN handling"), svg.contains(">NaN handling<")),
            (handling, handling),
            "{args:?}"
        );
        for name in [light, all] {
            assert_eq!(
                svg.contains(&format!(">{}<", name.replace(' ', ": ").replace(",: ", ", "))),
                panels.contains(&name)
            );
        }
        let naive =
            |line: &str| line.split_whitespace().nth(1).and_then(|total| total.parse::<u32>().ok());
        bars.push(
            text.lines()
                .filter(|line| line.starts_with("  naive "))
                .map(|line| naive(line).unwrap())
                .collect::<Vec<_>>(),
        );
    }
    // The cost of suppressing NaN differs from that of propagating it; both sides cost more than
    // one, and `all` inputs more than `light`.
    assert!(
        bars[1][1] != bars[0][1] && bars[2][0] > bars[0][0] && bars[0][1] > bars[0][0],
        "{bars:?}"
    );
    assert!(bars[3][0] < bars[0][1], "{bars:?}");
}

/// Takes ten seconds, the maximum time for a shader.
#[test]
fn slow_shaders_show_progress() {
    let folder = TempDir::new().unwrap();
    let text = "fn brdf(wi: vec3f, wo: vec3f) -> vec3f { var x = min(wi.x, -0.5); while x < 1.0 { x *= 1.5; } return vec3f(x); }";
    std::fs::write(folder.path().join("endless.wgsl"), text).unwrap();
    let args = [
        "--shader",
        "endless.wgsl",
        "--frame",
        "local",
        "--inputs",
        "light",
        "--sides",
        "upper",
        "--nan",
        "ignore",
    ];
    let progress = contains("measuring ").and(contains(" left\n"));
    bounds(folder.path(), &args).args(["--rounds", "100000"]).assert().success().stderr(progress);
    bounds(folder.path(), &args).arg("--quiet").assert().success().stderr("");
}

/// Shaders with the same file name have separate results. `acos` may be NaN here, which is not an
/// error.
#[test]
fn files_with_equal_names_are_distinguished() {
    let folder = TempDir::new().unwrap();
    for (name, body) in [("a", "0.3"), ("b", "acos(wi.y)")] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        let text = format!("fn brdf(wi: vec3f, wo: vec3f) -> vec3f {{ return vec3f({body}); }}");
        std::fs::write(folder.path().join(name).join("mine.wgsl"), text).unwrap();
    }
    let records = records(
        folder.path(),
        &["--shader", "a/mine.wgsl", "--shader", "b/mine.wgsl", "--shader", "a/mine.wgsl"],
    );
    let count = |name: &str| records.iter().filter(|record| record["shader"] == name).count();
    assert_eq!((count("a/mine.wgsl"), count("b/mine.wgsl"), records.len()), (16, 16, 32));
    let instructions = |record: &Value| record["point"]["instructions"].as_u64().unwrap();
    assert!(instructions(&records[0]) < instructions(&records[8]), "{records:?}");
}

#[test]
fn shader_is_read_from_stdin() {
    let folder = TempDir::new().unwrap();
    let args = ["--shader", "-", "--frame", "local", "--inputs", "light", "--sides", "upper"];
    let mut command = bounds(folder.path(), &args);
    command.write_stdin("fn brdf(wi: vec3f, wo: vec3f) -> vec3f { return vec3f(0.3); }");
    let text = stdout(command);
    assert!(text.contains("\n  stdin ") && text.contains("\nstdin s(x, ω̂)\n"), "{text}");
}

#[test]
fn tables_are_at_most_100_columns_wide() {
    let text = stdout(bounds(Path::new("."), &[]));
    let width = |line: &str| line.chars().filter(|c| !('\u{300}'..='\u{36f}').contains(c)).count();
    let longest = text.lines().max_by_key(|line| width(line)).unwrap();
    assert!(width(longest) <= 100, "{longest}");
    assert!(text.contains("  saved ") && text.contains(" 41.8 %"), "{text}");
}

#[test]
fn invalid_input_is_an_error() {
    let folder = TempDir::new().unwrap();
    let fails = |args: &[&str]| bounds(folder.path(), args).assert().code(2).stdout("");
    fails(&["--shader", "wrad.wgsl"])
        .stderr(contains("wrad").and(contains("did you mean \"ward.wgsl\"?")));
    fails(&["--target", "interpreter"])
        .stderr(contains("interpreter").and(contains("[possible values: sse, avx, avx2]")));
    assert!(!stdout(bounds(folder.path(), &["--help"])).contains("interpreter"));
    fails(&["--shader", "diffuse", "--svg", "z.png"])
        .stderr(contains("`z.png`").and(contains("--svg z.svg")));
    assert!(!folder.path().join("z.png").exists());
    fails(&["--shader", "diffuse", "--svg", "no/such/folder/a.svg"])
        .stderr(contains("no/such/folder"));
    for rounds in ["0", "-1"] {
        let failed = fails(&["--rounds", rounds]);
        failed
            .stderr(contains("--rounds").and(contains("expected an integer from 1 to 4294967295")));
    }
    fails(&["--by-relation", "--tightness"]).stderr(contains("cannot be used with"));
    fails(&["--by-relation", "--rounds", "3"]).stderr(contains("cannot be used with"));
    fails(&["--relations", "unit,dots"])
        .stderr(contains("`dots`").and(contains("did you mean \"dot\"?")));
    fails(&["--relations", "angles"])
        .stderr(contains("`angles`").and(contains("expected all, unit, dot,")));
    std::fs::write(folder.path().join("broken.wgsl"), "fn brdf(").unwrap();
    fails(&["--shader", "broken.wgsl"]).stderr(contains("broken.wgsl:1:"));
    fails(&["--shader", "broken.wgsl", "--svg", "broken.wgsl"])
        .stderr(contains("--svg would overwrite `broken.wgsl`"));
}
