//! `lightbound shader eval` for single rows of inputs.

use crate::common::assert_input_error;
use crate::common::shader_dir::{ENDLESS, LOBE, ShaderDir, Table, library_files, targets};
use crate::common::tables::{DIRECTIONS, random_rows};
use lightbound_shader::{Entry, Parameter, Settings, Shader, interpreter, passes};
use predicates::prelude::*;
use predicates::str::contains;

#[test]
fn eval_prints_brdf_and_s() {
    let dir = ShaderDir::new(LOBE);
    let at = ["--wi", "0,0.6,0.8", "--wo", "0,-0.6,0.8"];
    dir.shader("eval", &[&at[..], &["--set", "kd=0.5"]].concat())
        .assert()
        .success()
        .stderr("")
        .stdout(contains("1/sr"));
    // All floats are exact.
    let values = dir.eval(
        &[&at[..], &["--set", "kd=0", "--set", "ks=2", "--set", "shift=1", "--set", "lobe=false"]]
            .concat(),
    );
    assert_eq!(values, [0.75, 0.75, 0.75, 0.6, 0.6, 0.6f32].map(f32::to_bits));
}

#[test]
fn values_are_parsed_from_options_and_tables() {
    let dir = ShaderDir::new(LOBE);
    let eval = |sets: &[&str]| {
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        dir.eval(
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
fn errors_in_values_name_the_remedy() {
    let dir = ShaderDir::new(LOBE);
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
        (&["--set", "rounds=1.5"], &["rounds", "32-bit integer"]),
        (&["--set", "rounds=9"], &["[0, 8]"]),
        (&["--set", "lobe=2"], &["true or false"]),
        (&["--set", "squarings=x"], &["squarings", "32-bit integer"]),
        (&["--set", "kd"], &["kd=0.5"]),
        (&["--set", "=1"], &["kd=0.5"]),
    ];
    for (args, messages) in cases {
        let mut command = dir.shader("eval", &["--wi", "0,0,1", "--wo", "0,0,1"]);
        assert_input_error(command.args(args), messages);
    }
    for wrong in [
        &["--wi", "0,0,1"][..],
        &["--wi", "0,0", "--wo", "0,0,1"],
        &["--wi", "0,0,x", "--wo", "0,0,1"],
        &[],
    ] {
        dir.shader("eval", wrong).assert().code(2);
    }
    let large = dir
        .shader("eval", &["--wi", "0,0,1e60", "--wo", "0,0,1", "--set", "kd=0"])
        .assert()
        .code(2);
    large.stderr(contains("`z`: `1e60` is too large for a float"));
    dir.shader("eval", &["--csv", "a.csv", "--wi", "0,0,1"])
        .assert()
        .code(2)
        .stderr(contains("--csv"));
}

#[test]
fn directions_are_not_normalized() {
    let dir = ShaderDir::new(LOBE);
    let at = |wi: &'static str, wo: &'static str| ["--wi", wi, "--wo", wo, "--set", "kd=0.5"];
    dir.shader("eval", &at("0,0.6,0.8", "0.577,0.577,0.577"))
        .assert()
        .success()
        .stderr(contains("unit vector"));
    let long = dir.eval(&at("0,1.2,1.6", "0,-0.6,0.8"));
    assert_ne!(long, dir.eval(&at("0,0.6,0.8", "0,-0.6,0.8")));
    dir.shader("eval", &at("0,-0.6,0.8", "-0.6,0,0.8")).assert().success().stderr("");
}

#[test]
fn one_sided_materials_are_black_from_behind() {
    let dir = ShaderDir::new(LOBE);
    for wo in ["0,0,-1", "1,0,0"] {
        let args = ["--wi", "0,0,1", "--wo", wo, "--set", "kd=0.5"];
        assert_eq!(dir.eval(&args), [0; 6]);
        dir.shader("eval", &args).assert().success().stderr(contains("one-sided"));
    }
    // Below the horizon s is 0, regardless of the BRDF.
    assert_eq!(dir.eval(&["--wi", "0,0,-1", "--wo", "0,0,1", "--set", "kd=0.5"])[3..], [0; 3]);
    let both = ShaderDir::new(&LOBE.replace("for tests.", "for tests.\n//! sides: both"));
    let values = both.eval(&["--wi", "0,0,-1", "--wo", "0,0,-1", "--set", "kd=0.5"]);
    assert!(values.iter().all(|&bits| f32::from_bits(bits) > 0.0), "{values:?}");
}

/// A shader with a texture.
const TEXTURED: &str = "\
var wood: texture_2d<f32>;
var wood_sampler: sampler;

struct Material { kd: vec3f }

fn material(p: SurfacePoint) -> Material { return Material(textureSample(wood, wood_sampler, p.uv).rgb); }

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return m.kd; }
";

#[test]
fn textures_are_read_from_images() {
    let dir = ShaderDir::new(TEXTURED);
    // Two pixels, sampled at their centres, halfway between, and beyond the edge.
    let pixels = [0.25, 0.5, 1.0, 0.75, 0.5, 0.0f32].map(f32::to_le_bytes).concat();
    std::fs::write(dir.path("wood.pfm"), [b"PF\n2 1\n-1\n", &pixels[..]].concat()).unwrap();
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
        dir.eval(
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
        dir.shader("eval", &[&at[..], &["--set", "uv=0"], args].concat())
            .assert()
            .code(2)
            .stdout("")
    };
    eval(&[]).stderr(contains("`wood` has no image").and(contains("--texture wood=FILE")));
    eval(&["--texture", "wod=wood.pfm"])
        .stderr(contains("no texture `wod`").and(contains("did you mean \"wood\"")));
    eval(&["--texture", "wood=gone.png"]).stderr(contains("gone.png"));
    eval(&["--texture", "wood=wood.pfm", "-o", "wood.pfm"]).stderr(contains("overwrite"));
    dir.shader("check", &[]).assert().success();
    for stage in ["ir", "lowered", "asm", "c"] {
        let target = if stage == "ir" { "interpreter" } else { "sse" };
        dir.shader("show", &["--stage", stage, "--target", target]).assert().success();
    }
}

#[test]
fn stopped_loops_are_reported() {
    let dir = ShaderDir::new(ENDLESS);
    let at = ["--wi", "0,0,1", "--wo", "0,0,1"];
    dir.shader("eval", &at).args(["--set", "a=0"]).assert().success().stderr(contains("stopped"));
    dir.shader("eval", &at).args(["--set", "a=0.5"]).assert().success().stderr("");
    dir.write(
        "in.csv",
        &format!("{DIRECTIONS},a\n0,0,1,0,0,1,0\n0,0,1,0,0,1,1\n0,0,1,0,0,1,0\n0,0,1,0,0,-1,0\n"),
    );
    dir.shader("eval", &["--csv", "in.csv"])
        .assert()
        .success()
        .stderr(contains("stopped in 2 of 4 rows"));
}

#[test]
fn eval_matches_the_interpreted_point_shader() {
    let dir = ShaderDir::new(LOBE);
    let rows = random_rows(200)
        .into_iter()
        .map(|row| row.split(',').take(6).collect::<Vec<_>>().join(","))
        .collect::<Vec<_>>();
    for path in library_files() {
        let text = std::fs::read_to_string(&path).unwrap();
        dir.write("a.wgsl", &text);
        let Table { columns, rows: table } =
            dir.table("eval", &format!("{DIRECTIONS}\n{}\n", rows.join("\n")), &[]);
        // A BRDF has three more columns before those of the integrand.
        let (first, count) = if columns == ["phase"] { (0, 1) } else { (3, 3) };
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
                let is_equal = (0..count).all(|k| equal(s[k], values[first + k].to_bits()));
                assert!(is_equal, "{} at {row}", path.display());
            }
        }
    }
}

fn default_words(parameter: &Parameter) -> Vec<u32> {
    parameter.default.as_ref().unwrap().iter().map(|&x| parameter.scalar.bits(x)).collect()
}
