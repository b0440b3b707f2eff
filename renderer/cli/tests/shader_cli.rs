//! `lightbound shader` as a user calls it: the program is started, and checked by exit code,
//! messages and files.

mod common;

use common::place::{ENDLESS, LOBE, Place, Table, lightbound, targets};
use lightbound_shader::{Entry, Parameter, Settings, Shader, interpreter, passes};
use predicates::prelude::*;
use predicates::str::contains;
use std::path::{Path, PathBuf};

/// The bits of the rows that `eval --csv` prints for a table.
fn values_of(place: &Place, csv: &str, args: &[&str]) -> Vec<Vec<u32>> {
    let Table { columns, rows } = place.table("eval", csv, args);
    assert_eq!(columns.join(","), "brdf.r,brdf.g,brdf.b,s.r,s.g,s.b");
    rows.into_iter().map(|row| row.into_iter().map(f32::to_bits).collect()).collect()
}

const DIRECTIONS: &str = "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z";

/// Directions over the sphere and parameters, with a fixed seed.
fn some_rows(count: usize) -> Vec<String> {
    let mut state = 1u32;
    let mut random = || {
        state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    let mut direction = || {
        let (z, angle) = (2.0 * random() - 1.0, 6.3 * random());
        let r = (1.0 - z * z).sqrt();
        format!("{:?},{:?},{z:?}", r * angle.cos(), r * angle.sin())
    };
    let directions: Vec<String> =
        (0..count).map(|_| format!("{},{}", direction(), direction())).collect();
    let mut parameters = || {
        format!(
            "{:?},{:?},{:?},{},{}",
            random(),
            random(),
            random(),
            (9.0 * random()) as u32,
            random() < 0.8
        )
    };
    directions.into_iter().map(|directions| format!("{directions},{}", parameters())).collect()
}

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
fn check_prints_properties() {
    let place = Place::new(LOBE);
    let said = [
        "A lobe over a tint",
        "Diffuse albedo",
        "vec3f",
        "[0, 1]",
        "u32",
        "0.5",
        "true",
        "instructions",
        "from text to code",
        "bounded",
        "squarings",
    ];
    let output =
        place.shader("check", &[]).assert().success().stderr("").get_output().stdout.clone();
    let text = String::from_utf8(output).unwrap();
    for said in said {
        assert!(text.contains(said), "{said} is missing in:\n{text}");
    }
    for target in targets() {
        place.shader("check", &["--target", target]).assert().success().stdout(contains(target));
    }
}

#[test]
fn check_validates_values_and_samplers() {
    let shader = |value: &str, pdf: &str| {
        format!(
            "struct Material {{\n/// default: 0.5\nkd: f32\n}}
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{ return vec3f({value}); }}
            fn sample(u: vec2f, wo: vec3f, m: Material) -> vec3f {{
                return vec3f(sqrt(u.x) * cos(6.2831853 * u.y), sqrt(u.x) * sin(6.2831853 * u.y), sqrt(1.0 - u.x));
            }}
            fn pdf(wi: vec3f, wo: vec3f, m: Material) -> f32 {{ return {pdf}; }}"
        )
    };
    let check = |shader: &str| Place::new(shader).shader("check", &[]).assert().success();
    let cosine = "max(wi.z, 0.0) / 3.14159265";
    let sound = check(&shader("m.kd", cosine)).stderr("");
    sound.stdout(
        contains("sampler    agrees with pdf\n")
            .and(contains("values     finite, none negative\n")),
    );
    let lying = check(&shader("m.kd", "0.5 / 3.14159265"))
        .stdout(contains("sampler    disagrees with pdf\n"));
    lying.stderr(contains("warning: `sample` and `pdf` disagree: "));
    let negative = check(&shader("m.kd - 1.0", cosine))
        .stdout(contains("agrees with pdf").and(contains("none negative").not()));
    negative.stderr(contains("warning: s.r is -0.").and(contains("for wi = (")));
    check(&shader("m.kd - 0.5", cosine))
        .stdout(contains("black"))
        .stderr(contains("warning: s is 0"));
    let required = check(&shader("m.kd", cosine).replace("default: 0.5", "Albedo.")).stderr("");
    required.stdout(contains("sampler    not checked: `kd` has no default\n"));
    check("struct Material { a: f32 }\nfn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.a); }")
        .stdout(contains("sampler    derived from bounds\n"));
}

#[test]
fn check_lists_parameters() {
    let rows = |arguments: &str, ks: &str| {
        let shader = format!(
            "var wood: texture_2d<f32>;
            var smoothly: sampler;
            struct Material {{
                /// Albedo. default: 0.5
                kd: vec3f,
                ks: f32,
            }}
            fn material({arguments}) -> Material {{ return Material(textureSample(wood, smoothly, p.uv).rgb, {ks}); }}
            fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{ return m.kd * m.ks; }}"
        );
        let output = Place::new(&shader).shader("check", &[]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    let computed = rows("p: SurfacePoint", "0.25");
    for row in [
        "kd vec3f - - computed by fn material; Albedo.",
        "ks f32 - - computed by fn material",
        "textures wood",
    ] {
        assert!(computed.iter().any(|line| line == row), "{row} is missing in {computed:?}");
    }
    assert!(
        computed.contains(&"values not checked: `wood` has no image".to_owned()),
        "{computed:?}"
    );
    let settable = rows("p: SurfacePoint, m: Material", "m.ks");
    for row in ["kd vec3f - 0.5 Albedo.", "ks f32 - -"] {
        assert!(settable.iter().any(|line| line == row), "{row} is missing in {settable:?}");
    }
    for row in [computed, settable].concat() {
        let name = row.split(' ').next().unwrap_or("");
        assert!(!["position", "object_position", "normal", "uv"].contains(&name), "{row}");
    }
}

#[test]
fn check_reports_loops() {
    let body = |body: &str| {
        format!(
            "struct Material {{ a: f32 }}\nfn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{ {body} }}"
        )
    };
    let place = Place::new(&body("return vec3f(m.a);"));
    place.shader("check", &[]).assert().success().stdout(contains("none"));
    let place = Place::new(&body("var x = m.a; while x < 1.0 { x *= 1.5; } return vec3f(x);"));
    place
        .shader("check", &[])
        .assert()
        .success()
        .stdout(contains("65536").and(contains("(line 2)")));
    let place = Place::new(&body(
        "var x = m.a;\n  if x > 0.0 {\n for (var i = 0; i < 3; i++) { x += 1.0; }\n }\n while x < 9.0 { x *= 1.5; } return vec3f(x);",
    ));
    place.shader("check", &[]).assert().success().stdout(contains("lines 4, 6"));
    // Parameters are in their ranges.
    let place = Place::new(
        "struct Material {
            /// range: [0, 40]
            n: i32,
            /// range: [0, 40]
            m: u32,
        }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
            var s = 0.0;
            for (var i = 0; i < m.n; i++) { s = s * 0.5 + 1.0; }
            for (var i = 0u; i <= m.m; i++) { s = s * 0.5 + 1.0; }
            return vec3f(s);
        }",
    );
    place
        .shader("check", &[])
        .assert()
        .success()
        .stdout(contains("bounded").and(contains("may reach the cap").not()));
}

#[test]
fn broken_shaders_show_the_location() {
    let place = Place::new(&LOBE.replace("return tint;", "return tnt;"));
    let line = 1 + LOBE.lines().position(|line| line.contains("return tint;")).unwrap();
    for (command, args) in [
        ("check", &[][..]),
        ("show", &["--stage", "ir"]),
        ("eval", &["--wi", "0,0,1", "--wo", "0,0,1"]),
    ] {
        let failed = place.shader(command, args).assert().code(2).stdout("");
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
    let place = Place::new(LOBE);
    std::fs::write(place.path("a.wgsl"), b"// \n\xff\xfe").unwrap();
    place
        .shader("check", &[])
        .assert()
        .code(2)
        .stderr(contains("a.wgsl:2:").and(contains("UTF-8")));
    // Without a source excerpt.
    place.write("a.wgsl", "");
    place.shader("check", &[]).assert().code(2).stderr(contains("a.wgsl: there is no `fn brdf`"));
    lightbound(&["shader", "check"]).arg(place.folder.path()).assert().code(2);
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
fn show_prints_every_stage() {
    let place = Place::new(LOBE);
    let show = |args: &[&str]| {
        let output =
            place.shader("show", args).assert().success().stderr("").get_output().stdout.clone();
        String::from_utf8(output).unwrap()
    };
    assert!(show(&["--stage", "ir"]).contains("loop"));
    assert!(show(&["--stage", "ir", "--entry", "brdf"]).contains("brdf.r"));
    assert!(show(&["--stage", "lowered"]).contains("any"));
    for target in ["sse", "avx", "avx2"] {
        assert!(show(&["--stage", "asm", "--target", target]).contains("mulps"), "{target}");
        assert!(show(&["--stage", "c", "--target", target]).contains("_mm"), "{target}");
    }
    place.shader("show", &["--stage", "ir", "-o", "a.ir"]).assert().success().stdout("");
    assert_eq!(std::fs::read_to_string(place.path("a.ir")).unwrap(), show(&["--stage", "ir"]));
}

#[test]
fn overrides_change_code_and_parameters_do_not() {
    let place = Place::new(LOBE);
    let shown = |args: &[&str]| {
        place.shader("show", &["--stage", "ir"]).args(args).output().unwrap().stdout
    };
    assert_eq!(shown(&["--set", "squarings=2"]), shown(&[]));
    assert_ne!(shown(&["--set", "squarings=3"]), shown(&[]));
    place.shader("check", &["--set", "squarings=3"]).assert().success();
    for (set, said) in [
        ("kd=1", "is a parameter"),
        ("squaring=1", "did you mean \"squarings\""),
        ("squarings=-1", "whole number"),
    ] {
        place.shader("check", &["--set", set]).assert().code(2).stderr(contains(said));
    }
}

#[test]
fn show_reports_missing_functions() {
    let place = Place::new(LOBE);
    for stage in ["asm", "c"] {
        let interpreter =
            place.shader("show", &["--stage", stage, "--target", "interpreter"]).assert().code(2);
        interpreter.stderr(contains("interpreter").and(contains("--target")));
    }
    for entry in ["sample", "pdf"] {
        place
            .shader("show", &["--stage", "ir", "--entry", entry])
            .assert()
            .code(2)
            .stderr(contains(entry));
    }
    place.shader("show", &[]).assert().code(2).stderr(contains("--stage"));
    place
        .shader("show", &["--stage", "ir", "-o", "no/such/folder/a.ir"])
        .assert()
        .code(2)
        .stderr(contains("no folder"));
}

#[test]
fn eval_prints_brdf_and_s() {
    let place = Place::new(LOBE);
    let at = ["--wi", "0,0.6,0.8", "--wo", "0,-0.6,0.8"];
    place
        .shader("eval", &[&at[..], &["--set", "kd=0.5"]].concat())
        .assert()
        .success()
        .stderr("")
        .stdout(contains("1/sr"));
    // All floats are exact.
    let values = place.eval(
        &[&at[..], &["--set", "kd=0", "--set", "ks=2", "--set", "shift=1", "--set", "lobe=false"]]
            .concat(),
    );
    assert_eq!(values, [0.75, 0.75, 0.75, 0.6, 0.6, 0.6f32].map(f32::to_bits));
}

#[test]
fn values_are_parsed_from_options_and_tables() {
    let place = Place::new(LOBE);
    let eval = |sets: &[&str]| {
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        place.eval(
            &["--wi", "0,0.6,0.8", "--wo", "0,0,1"].into_iter().chain(sets).collect::<Vec<_>>(),
        )
    };
    assert_eq!(eval(&["kd=0.5"]), eval(&["kd=0.5,0.5,0.5"]));
    let expected = eval(&["kd=0.1,0.2,0.3"]);
    assert_eq!(eval(&["kd.r=0.1", "kd.g=0.2", "kd.b=0.3"]), expected);
    assert_eq!(eval(&["kd.x=0.1", "kd.y=0.2", "kd.z=0.3"]), expected);
    assert_eq!(eval(&["kd=0.3", "kd.r=0.1", "kd.g=0.9", "kd.g=0.2"]), expected);
    assert_eq!(eval(&["kd=0.1,0.2,0.3", "squarings=5", "squarings=2"]), expected);
    assert_eq!(
        eval(&["kd = 0.1, 0.2, 0.3", "ks=0.5", "rounds=1", "shift=0", "lobe=true"]),
        expected
    );
    for other in ["ks=0.25", "rounds=2", "shift=-1", "lobe=false", "squarings=3"] {
        assert_ne!(eval(&["kd=0.1,0.2,0.3", other]), expected, "{other}");
    }
}

#[test]
fn invalid_values_name_the_remedy() {
    let place = Place::new(LOBE);
    let cases: [(&[&str], &[&str]); 16] = [
        (&["--set", "kd=1e60"], &["`kd`: `1e60` is too large for a float", "[0, 1]"]),
        (&[], &["`kd` has no value", "--set kd="]),
        (&["--set", "kd.r=0.5"], &["`kd.y` has no value"]),
        (&["--set", "kd=2"], &["out of range", "[0, 1]"]),
        (&["--set", "kd=0.1,0.2,-1"], &["out of range", "[0, 1]"]),
        (&["--set", "kd=a"], &["`a` is not a number"]),
        (&["--set", "kd=nan"], &["not a number"]),
        (&["--set", "kd=1,1"], &["3 numbers, not 2"]),
        (&["--set", "kd.w=1"], &["kd.w", ".r .g .b"]),
        (&["--set", "kt=1"], &["kt", "did you mean \"kd\"", "rounds"]),
        (&["--set", "rounds=1.5"], &["rounds", "whole number"]),
        (&["--set", "rounds=9"], &["[0, 8]"]),
        (&["--set", "lobe=2"], &["true or false"]),
        (&["--set", "squarings=x"], &["squarings", "not a whole number"]),
        (&["--set", "kd"], &["kd=0.5"]),
        (&["--set", "=1"], &["kd=0.5"]),
    ];
    for (args, said) in cases {
        let failed = place
            .shader("eval", &["--wi", "0,0,1", "--wo", "0,0,1"])
            .args(args)
            .assert()
            .code(2)
            .stdout("");
        said.iter().fold(failed, |failed, said| failed.stderr(contains(*said)));
    }
    for wrong in [
        &["--wi", "0,0,1"][..],
        &["--wi", "0,0", "--wo", "0,0,1"],
        &["--wi", "0,0,x", "--wo", "0,0,1"],
        &[],
    ] {
        place.shader("eval", wrong).assert().code(2);
    }
    let far = place
        .shader("eval", &["--wi", "0,0,1e60", "--wo", "0,0,1", "--set", "kd=0"])
        .assert()
        .code(2);
    far.stderr(contains("`z`: `1e60` is too large for a float"));
    place
        .shader("eval", &["--csv", "a.csv", "--wi", "0,0,1"])
        .assert()
        .code(2)
        .stderr(contains("--csv"));
}

#[test]
fn directions_are_not_normalized() {
    let place = Place::new(LOBE);
    let at = |wi: &'static str, wo: &'static str| ["--wi", wi, "--wo", wo, "--set", "kd=0.5"];
    place
        .shader("eval", &at("0,0.6,0.8", "0.577,0.577,0.577"))
        .assert()
        .success()
        .stderr(contains("unit vector"));
    let long = place.eval(&at("0,1.2,1.6", "0,-0.6,0.8"));
    assert_ne!(long, place.eval(&at("0,0.6,0.8", "0,-0.6,0.8")));
    place.shader("eval", &at("0,-0.6,0.8", "-0.6,0,0.8")).assert().success().stderr("");
}

#[test]
fn one_sided_materials_are_black_from_behind() {
    let place = Place::new(LOBE);
    for wo in ["0,0,-1", "1,0,0"] {
        let args = ["--wi", "0,0,1", "--wo", wo, "--set", "kd=0.5"];
        assert_eq!(place.eval(&args), [0; 6]);
        place.shader("eval", &args).assert().success().stderr(contains("one-sided"));
    }
    // Below the horizon s is 0, regardless of the BRDF.
    assert_eq!(place.eval(&["--wi", "0,0,-1", "--wo", "0,0,1", "--set", "kd=0.5"])[3..], [0; 3]);
    let both = Place::new(&LOBE.replace("for tests.", "for tests.\n//! sides: both"));
    let values = both.eval(&["--wi", "0,0,-1", "--wo", "0,0,-1", "--set", "kd=0.5"]);
    assert!(values.iter().all(|&bits| f32::from_bits(bits) > 0.0), "{values:?}");
}

/// A shader that reads an image.
const TEXTURED: &str = "\
var wood: texture_2d<f32>;
var smoothly: sampler;

struct Material { kd: vec3f }

fn material(p: SurfacePoint) -> Material { return Material(textureSample(wood, smoothly, p.uv).rgb); }

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.kd; }
";

#[test]
fn textures_are_read_from_images() {
    let place = Place::new(TEXTURED);
    // Two linear pixels, sampled between and at their centres, and beyond the edge.
    let pixels = [0.25, 0.5, 1.0, 0.75, 0.5, 0.0f32].map(f32::to_le_bytes).concat();
    std::fs::write(place.path("wood.pfm"), [b"PF\n2 1\n-1\n", &pixels[..]].concat()).unwrap();
    let at = [
        "--wi",
        "0,0,1",
        "--wo",
        "0,0,1",
        "--set",
        "position=0",
        "--set",
        "object_position=0",
        "--set",
        "normal=0,0,1",
    ];
    let eval = |uv: &str, target: &str| {
        place.eval(
            &[
                &at[..],
                &[
                    "--texture",
                    "wood=wood.pfm",
                    "--set",
                    &format!("uv={uv},0.5"),
                    "--target",
                    target,
                ],
            ]
            .concat(),
        )
    };
    for target in targets().chain(["interpreter"]) {
        for (uv, [r, g, b]) in
            [("0.25", [0.25, 0.5, 1.0]), ("0.5", [0.5; 3]), ("1.75", [0.75, 0.5, 0.0f32])]
        {
            assert_eq!(eval(uv, target), [r, g, b, r, g, b].map(f32::to_bits), "{uv} {target}");
        }
    }
    let eval = |args: &[&str]| {
        place
            .shader("eval", &[&at[..], &["--set", "uv=0"], args].concat())
            .assert()
            .code(2)
            .stdout("")
    };
    eval(&[]).stderr(contains("`wood` has no image").and(contains("--texture wood=FILE")));
    eval(&["--texture", "wod=wood.pfm"])
        .stderr(contains("no texture `wod`").and(contains("did you mean \"wood\"")));
    eval(&["--texture", "wood=gone.png"]).stderr(contains("gone.png"));
    eval(&["--texture", "wood=wood.pfm", "-o", "wood.pfm"]).stderr(contains("overwrite"));
    place.shader("check", &[]).assert().success();
    for stage in ["ir", "lowered", "asm", "c"] {
        let target = if stage == "ir" { "interpreter" } else { "sse" };
        place.shader("show", &["--stage", stage, "--target", target]).assert().success();
    }
}

#[test]
fn stopped_loops_are_reported() {
    let place = Place::new(ENDLESS);
    let at = ["--wi", "0,0,1", "--wo", "0,0,1"];
    place.shader("eval", &at).args(["--set", "a=0"]).assert().success().stderr(contains("stopped"));
    place.shader("eval", &at).args(["--set", "a=0.5"]).assert().success().stderr("");
    place.write(
        "in.csv",
        &format!("{DIRECTIONS},a\n0,0,1,0,0,1,0\n0,0,1,0,0,1,1\n0,0,1,0,0,1,0\n0,0,1,0,0,-1,0\n"),
    );
    place
        .shader("eval", &["--csv", "in.csv"])
        .assert()
        .success()
        .stderr(contains("stopped in 2 of 4 rows"));
}

#[test]
fn tables_match_single_evaluations() {
    let place = Place::new(LOBE);
    let lines = some_rows(60);
    let csv = format!("{DIRECTIONS},kd.r,kd.g,kd.b,rounds,lobe\n{}\n", lines.join("\n"));
    let table = values_of(&place, &csv, &[]);
    assert_eq!(table.len(), lines.len());
    for (line, values) in lines.iter().zip(&table).step_by(9) {
        let cells: Vec<&str> = line.split(',').collect();
        let (wi, wo, kd) =
            (cells[..3].join(","), cells[3..6].join(","), format!("kd={}", cells[6..9].join(",")));
        let (rounds, lobe) = (format!("rounds={}", cells[9]), format!("lobe={}", cells[10]));
        assert_eq!(
            &place
                .eval(&["--wi", &wi, "--wo", &wo, "--set", &kd, "--set", &rounds, "--set", &lobe]),
            values,
            "{line}"
        );
    }
    for target in targets() {
        assert_eq!(values_of(&place, &csv, &["--target", target]), table, "{target}");
    }
}

#[test]
fn large_tables_keep_their_order() {
    let place = Place::new(LOBE);
    let rows = some_rows(500);
    let header = format!("{DIRECTIONS},kd.r,kd.g,kd.b,rounds,lobe");
    let small = values_of(&place, &format!("{header}\n{}\n", rows.join("\n")), &[]);
    let large =
        values_of(&place, &format!("{header}\n{}\n", vec![rows.join("\n"); 21].join("\n")), &[]);
    assert_eq!(large.len(), 21 * small.len());
    assert!(large.chunks(small.len()).all(|part| part == small));
}

#[test]
fn tables_allow_comments_and_quotes() {
    let place = Place::new(LOBE);
    let plain = values_of(
        &place,
        &format!("{DIRECTIONS},kd\n0,0,1,0,0,1,0.5\n0,0.6,0.8,0,0,1,0.25\n"),
        &[],
    );
    let spaced = "\u{feff}# by hand\r\n\r\n \"kd\" , wi.x,wi.y,wi.z, wo.x,wo.y,\"wo.z\"\r\n0.5,0,0,1,0,0,1\r\n\r\n# more\r\n 0.25, 0, 0.6, 8e-1, 0, 0, +1";
    assert_eq!(values_of(&place, spaced, &[]), plain);
    // Columns override components of an option.
    let set =
        values_of(&place, &format!("{DIRECTIONS},kd.x\n0,0,1,0,0,1,0.5\n"), &["--set", "kd=0.5"]);
    assert_eq!(set[0], plain[0]);
    assert!(values_of(&place, &format!("{DIRECTIONS},kd\n"), &[]).is_empty());
}

#[test]
fn tables_are_piped_from_stdin_to_stdout() {
    let place = Place::new(LOBE);
    let csv = format!("{DIRECTIONS}\n0,0,1,0,0,1\n0,0,1,0,0,-1\n");
    let mut command = place.shader("eval", &["--csv", "-", "--set", "kd=0", "--set", "ks=0.25"]);
    let done = command.write_stdin(csv).assert().success().stderr(contains("in 1 of 2 rows"));
    done.stdout("brdf.r,brdf.g,brdf.b,s.r,s.g,s.b\n0.25,0.25,0.25,0.25,0.25,0.25\n0.0,0.0,0.0,0.0,0.0,0.0\n");
}

#[test]
fn infinities_and_nans_are_printed() {
    let shader = "struct Material { a: f32 }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(m.a / wi.x, -1.0 / wi.x, sqrt(wi.x - 1.0)); }";
    let place = Place::new(shader);
    let mut command = place.shader("eval", &["--csv", "-", "--set", "a=1"]);
    let done = command.write_stdin(format!("{DIRECTIONS}\n0,0,1,0,0,1\n")).assert().success();
    done.stdout(contains("\ninf,-inf,NaN,inf,-inf,NaN\n"));
}

#[test]
fn invalid_tables_name_line_column_and_remedy() {
    let place = Place::new(LOBE);
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
    for (csv, said) in &cases {
        place.write("in.csv", csv);
        let failed = place.shader("eval", &["--csv", "in.csv", "-o", "out.csv"]).assert().code(2);
        said.iter().fold(failed, |failed, said| failed.stderr(contains(*said)));
        assert!(!place.path("out.csv").exists(), "{csv}");
    }
    std::fs::write(place.path("in.csv"), b"wi.x\xff\n").unwrap();
    place
        .shader("eval", &["--csv", "in.csv"])
        .assert()
        .code(2)
        .stderr(contains("in.csv:1:").and(contains("UTF-8")));
    place.shader("eval", &["--csv", "none.csv"]).assert().code(2).stderr(contains("none.csv"));
    place
        .shader("eval", &["--csv", "in.csv", "-o", "no/such/out.csv"])
        .assert()
        .code(2)
        .stderr(contains("no folder"));
}

#[test]
fn failure_keeps_the_earlier_file() {
    let place = Place::new(LOBE);
    place.write("out.csv", "earlier");
    place.write("in.csv", &format!("{DIRECTIONS},kd\n0,0,1,0,0,1,0.5\n0,0,1,0,0,1,x\n"));
    place.shader("eval", &["--csv", "in.csv", "-o", "out.csv"]).assert().code(2);
    assert_eq!(std::fs::read_to_string(place.path("out.csv")).unwrap(), "earlier");
    assert_eq!(std::fs::read_dir(place.folder.path()).unwrap().count(), 3);
}

#[test]
fn results_overwrite_no_input() {
    let place = Place::new(LOBE);
    place.write("in.csv", &format!("{DIRECTIONS},kd\n"));
    for file in ["a.wgsl", "in.csv", "./in.csv"] {
        place
            .shader("eval", &["--csv", "in.csv", "-o", file])
            .assert()
            .code(2)
            .stderr(contains("overwrite").and(contains(file)));
    }
    place
        .shader("show", &["--stage", "ir", "-o", "a.wgsl"])
        .assert()
        .code(2)
        .stderr(contains("overwrite"));
    assert_eq!(std::fs::read_to_string(place.path("a.wgsl")).unwrap(), LOBE);
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_reported() {
    let place = Place::new(LOBE);
    place.write("in.csv", &format!("{DIRECTIONS},kd\n0,0,1,0,0,1,0.5\n"));
    let spare = place.path("spare");
    std::fs::create_dir(&spare).unwrap();
    let mut command = place.shader("eval", &["--csv", "in.csv", "-o", "/dev/full"]);
    command
        .env("TMPDIR", &spare)
        .assert()
        .code(3)
        .stderr(contains("/dev/full").and(contains("saved as")));
    assert_eq!(Table::parse(&std::fs::read_to_string(spare.join("full")).unwrap()).rows.len(), 1);
    for args in [&["eval", "--csv", "in.csv"][..], &["check"], &["show", "--stage", "ir"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lightbound"));
        command
            .args(["shader", args[0], "a.wgsl"])
            .args(&args[1..])
            .current_dir(place.folder.path())
            .stdout(full);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("stdout"), "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn closed_pipe_is_not_an_error() {
    let place = Place::new(LOBE);
    let lines = some_rows(20_000);
    place.write(
        "in.csv",
        &format!("{DIRECTIONS},kd.r,kd.g,kd.b,rounds,lobe\n{}\n", lines.join("\n")),
    );
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_lightbound"))
        .args(["shader", "eval", "a.wgsl", "--csv", "in.csv"])
        .current_dir(place.folder.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

/// Files of the material library.
fn library() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/shaders");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 6, "only {} shaders", files.len());
    files
}

#[test]
fn material_library_passes_checks() {
    for path in library() {
        let check = lightbound(&["shader", "check"]).arg(&path).assert().success().stderr("");
        check.stdout(contains("may reach the cap").not());
        // Every parameter has a default.
        let eval = lightbound(&["shader", "eval", "--wi", "0,0.6,0.8", "--wo", "0.6,0,0.8"])
            .arg(&path)
            .assert()
            .success();
        eval.stderr("").stdout(contains("NaN").not());
    }
}

#[test]
fn eval_matches_integrators() {
    let place = Place::new(LOBE);
    let rows = some_rows(200)
        .into_iter()
        .map(|row| row.split(',').take(6).collect::<Vec<_>>().join(","))
        .collect::<Vec<_>>();
    for path in library() {
        let text = std::fs::read_to_string(&path).unwrap();
        place.write("a.wgsl", &text);
        let table = values_of(&place, &format!("{DIRECTIONS}\n{}\n", rows.join("\n")), &[]);
        let shader = Shader::parse("a", &text).unwrap();
        let point =
            passes::optimize(&shader.function(Entry::Integrand, &Settings::default()).unwrap());
        let defaults: Vec<u32> = shader.parameters().iter().flat_map(default_words).collect();
        for (row, values) in rows.iter().zip(&table) {
            let directions: Vec<f32> = row.split(',').map(|x| x.parse().unwrap()).collect();
            if directions[5] > 0.0 {
                let words: Vec<u32> = directions
                    .iter()
                    .map(|x| x.to_bits())
                    .chain(defaults.iter().copied())
                    .collect();
                let s = interpreter::run(&point, &[], &words, 1 << 20).unwrap();
                let equal = |a: u32, b: u32| {
                    a == b || f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan()
                };
                assert!((0..3).all(|k| equal(s[k], values[3 + k])), "{} at {row}", path.display());
            }
        }
    }
}

fn default_words(parameter: &Parameter) -> Vec<u32> {
    parameter.default.as_ref().unwrap().iter().map(|&x| parameter.scalar.bits(x)).collect()
}
