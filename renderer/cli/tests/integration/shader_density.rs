//! `lightbound shader` for densities of media.

use crate::common::shader_dir::{LOBE, ShaderDir, Table, targets};
use crate::common::{assert_input_error, lightbound};
use lightbound_image::Encoding;
use lightbound_image::read::read;
use lightbound_image::write::write_png;
use predicates::prelude::*;
use predicates::str::contains;

/// A density with all properties. In the range of the tests, all of its values are exact.
const FOG: &str = "\
//! Fog on the ground, for tests.

override layers: u32 = 2;

struct Medium {
    /// Height. range: [0, 8], default: 0.5
    height: f32,
    /// Whether it is thicker. default: false
    thick: bool,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < layers; i++) {
        sum += 0.5 * max(m.height - p.y, 0.0);
    }
    return select(1.0, 4.0, m.thick) * sum;
}

fn albedo(p: vec3f) -> vec3f { return vec3f(0.25, p.x, 2.0); }

fn emission(p: vec3f, m: Medium) -> vec3f { return vec3f(p.z, m.height, -1.0); }
";

/// A density and nothing else.
const HAZE: &str = "fn density(p: vec3f) -> f32 { return p.x - p.y * p.y; }";

#[test]
fn eval_prints_all_properties() {
    let dir = ShaderDir::new(FOG);
    let eval = |args: &[&str]| dir.stdout("eval", args);
    let expected = "density   0.25\n          r     g    b\nalbedo    0.25  0.5  1.0\nemission  3.0   0.5  0.0\n";
    assert_eq!(eval(&["--p", "0.5,0.25,3"]), expected);
    for target in targets().chain(["interpreter"]) {
        assert_eq!(eval(&["--p", "0.5,0.25,3", "--target", target]), expected, "{target}");
    }
    let thick =
        eval(&["--p=-0.5,1,3", "--set", "thick=true", "--set", "height=2", "--set", "layers=4"]);
    assert!(thick.starts_with("density   8.0\n") && thick.contains("0.25  0.0  1.0"), "{thick}");
    let haze = ShaderDir::new(HAZE);
    assert_eq!(haze.stdout("eval", &["--p", "0.75,0.5,0"]), "density  0.5\n");
    // Negative densities are 0.
    assert_eq!(haze.stdout("eval", &["--p", "0,1,0"]), "density  0.0\n");
}

#[test]
fn tables_have_a_column_for_each_property() {
    let dir = ShaderDir::new(FOG);
    let csv = "p.z,p.x,p.y,height\n3,0.5,0.25,0.5\n1,2,3,4\n";
    let Table { columns, rows } = dir.table("eval", csv, &["--set", "thick=true"]);
    let names = "density,albedo.r,albedo.g,albedo.b,emission.r,emission.g,emission.b";
    assert_eq!(columns.join(","), names);
    assert_eq!(rows[0], [1.0, 0.25, 0.5, 1.0, 3.0, 0.5, 0.0]);
    assert_eq!(rows[1], [4.0, 0.25, 1.0, 1.0, 1.0, 4.0, 0.0]);
    let Table { columns, rows } =
        dir.table("bound", "p.x,p.y.lo,p.y.hi,p.z,height.lo,height.hi\n0,0.25,1,0,0.5,2\n", &[]);
    assert_eq!(columns, ["density.lo", "density.hi"]);
    assert_eq!(rows, [[0.0, 1.75]]);
    for (csv, messages) in [
        ("p.x,p.y\n0,0\n", &["in.csv:1:", "no column `p.z`", "columns p.x, p.y, p.z"][..]),
        ("wi.x,p.y\n0,0\n", &["unknown column `wi.x`", "p.x"]),
        ("0,1,2\n", &["unknown column `0`", "p.x,p.y,p.z"]),
        ("p.x,p.y,p.z\n0,0,a\n", &["in.csv:2:", "`p.z`: `a` is not a number"]),
    ] {
        dir.write("in.csv", csv);
        assert_input_error(&mut dir.shader("eval", &["--csv", "in.csv"]), messages);
    }
}

#[test]
fn bounds_contain_the_density() {
    let dir = ShaderDir::new(FOG);
    let at = |p: &str, args: &[&str]| dir.bound(&[&["--p", p], args].concat());
    let density = |ends: [f32; 2]| vec![("density".to_owned(), ends)];
    assert_eq!(at("0..1,0.25..0.375,-9..9", &[]), density([0.125, 0.25]));
    let thick = ["--set", "thick=false..true", "--set", "height=0.5..0.75"];
    assert_eq!(at("0,0.25..1,0", &thick), density([0.0, 2.0]));
    assert_eq!(at("7,0.25,1e9", &["--ranges", "paper"]), density([0.25; 2]));
    let upper = dir.stdout("bound", &["--p", "0,0..1,0", "--sides", "upper"]);
    assert_eq!(upper, "density  at most 0.5\n");
    // Random boxes, with members.
    const MEMBERS: usize = 9;
    let mut state = 1u32;
    let mut random = || {
        state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    let (mut boxes, mut points) =
        ("p.x.lo,p.x.hi,p.y.lo,p.y.hi,p.z\n".to_owned(), "p.x,p.y,p.z\n".to_owned());
    for _ in 0..50 {
        let [x, y] = [0; 2].map(|_| {
            let (a, b) = (random(), random());
            [a.min(b), a.max(b)]
        });
        boxes += &format!("{:?},{:?},{:?},{:?},0\n", x[0], x[1], y[0], y[1]);
        for _ in 0..MEMBERS {
            let [px, py] = [x, y].map(|[a, b]| (a + (b - a) * random().abs()).clamp(a, b));
            points += &format!("{px:?},{py:?},0\n");
        }
    }
    // Positions are limited, so the compiler excludes sin(∞), which would make the lower bound 0.
    let waves = ShaderDir::new("fn density(p: vec3f) -> f32 { return 2.0 + sin(2.0 * p.x); }");
    let [low, high] = waves.bound(&["--p", "0..0.25,0,0"])[0].1;
    assert!((1.9..=2.0).contains(&low) && (2.4..2.6).contains(&high), "{low} {high}");
    let dir = ShaderDir::new(HAZE);
    let values = dir.table("eval", &points, &[]).rows;
    let optimized = dir.table("bound", &boxes, &[]);
    for (bound, values) in optimized.rows.iter().zip(values.chunks(MEMBERS)) {
        assert!(values.iter().all(|x| bound[0] <= x[0] && x[0] <= bound[1]), "{bound:?}");
    }
    for mode in ["naive", "related"] {
        let bounds = dir.table("bound", &boxes, &["--mode", mode]);
        assert_eq!(bounds, optimized, "{mode}");
    }
}

#[test]
fn missing_upper_bounds_are_reported() {
    let dir = ShaderDir::new("fn density(p: vec3f) -> f32 { return 1.0 / p.x; }");
    let bound = dir.shader("bound", &["--p", "0..1,0,0", "--sides", "upper"]).assert().success();
    bound.stderr(contains("hint: there is no upper bound on density here"));
}

#[test]
fn arguments_depend_on_the_kind() {
    let dir = ShaderDir::new(FOG);
    let at = ["--p", "0,0,0"];
    for command in ["eval", "bound"] {
        for (args, messages) in [
            (&["--wi", "0,0,1", "--wo", "0,0,1"][..], &["a.wgsl is a density", "--p X,Y,Z"][..]),
            (&["--wi", "0,0,1", "--p", "0,0,1"], &["--wi and --wo do not apply", "--p X,Y,Z"]),
            (&[], &["arguments are missing", "a density", "--p X,Y,Z", "--csv"]),
            (&["--p", "0,0"], &["three numbers"]),
            (&["--p", "0,0,1", "--csv", "in.csv"], &["--csv"]),
        ] {
            assert_input_error(&mut dir.shader(command, args), messages);
        }
    }
    for (args, messages) in [
        (&["--split", "2"][..], &["--split", "directions", "--csv"][..]),
        (&["--luminance"], &["--luminance", "no colours"]),
    ] {
        assert_input_error(dir.shader("bound", &at).args(args), messages);
    }
    let range = ["--p", "0,0,0..1e10"];
    let messages =
        ["`p.z`: 0.0..10000000000.0 is out of range", "from -1e9 to 1e9; --ranges paper"];
    assert_input_error(&mut dir.shader("bound", &range), &messages);
    dir.shader("bound", &range).args(["--ranges", "paper"]).assert().success();
    let study = lightbound(&["bounds", "--shader", "a.wgsl"]).current_dir(dir.root()).assert();
    study.code(2).stderr(contains("a.wgsl is a density").and(contains("shader bound")));
    let brdf = ShaderDir::new(LOBE);
    for command in ["eval", "bound"] {
        let messages = ["--p applies only to densities", "is a BRDF", "--wi X,Y,Z and --wo X,Y,Z"];
        assert_input_error(&mut brdf.shader(command, &at), &messages);
        let half = ["--wi", "0,0,1"];
        assert_input_error(&mut brdf.shader(command, &half), &["arguments are missing", "--wo"]);
    }
    let phase = lightbound(&["shader", "eval", "rayleigh", "--p", "0,0,0"]).assert().code(2);
    phase.stderr(contains("is a phase function"));
}

#[test]
fn check_samples_and_bounds_the_unit_cube() {
    let check = |shader: &str| ShaderDir::new(shader).shader("check", &[]).assert();
    let fog = check(FOG).success().stderr("").stdout(contains("Fog on the ground"));
    let text = String::from_utf8(fog.get_output().stdout.clone()).unwrap();
    for line in [
        "kind       the density of a medium",
        "functions  density, albedo, emission",
        "bound      at most 0.5 in the unit cube",
        "loops      none",
        "height     f32   [0, 8]  0.5      Height.",
    ] {
        assert!(text.lines().any(|other| other == line), "{line} is missing in\n{text}");
    }
    assert!(text.contains("values     from 0 to 0.49") && text.contains("positions in the unit"));
    assert!(text.contains("evaluations of density, albedo, emission") && !text.contains("sampler"));
    let empty = check("fn density(p: vec3f) -> f32 { return p.x - 2.0; }").success();
    empty
        .stdout(contains("values     from 0 to 0 at").and(contains("at most 0 in")))
        .stderr(contains("warning: the density is 0 at all sampled positions"));
    let pole = check("fn density(p: vec3f) -> f32 { return 1.0 / p.x; }").success();
    pole.stdout(contains("bound      none in the unit cube"))
        .stderr(contains("warning: the density has no upper bound").and(contains("with min")));
    let infinite = check("fn density(p: vec3f) -> f32 { return 1.0 / max(p.x - 0.5, 0.0); }");
    infinite.code(1).stderr(contains("warning: the density is infinite at a sampled position"));
    let fire = |functions: &str| {
        check(&format!("fn density(p: vec3f) -> f32 {{ return p.x; }} {functions}"))
    };
    let colours = fire(
        "fn albedo(p: vec3f) -> vec3f { return vec3f(p.x, 0.25, 3.0); }
         fn emission(p: vec3f) -> vec3f { return vec3f(1.0 + p.y, 2.0, 2.0 * p.z); }",
    );
    colours
        .success()
        .stderr("")
        .stdout(contains("albedo     from 0 to 1").and(contains("emission   from 0 to 2")));
    let pole = fire("fn emission(p: vec3f) -> vec3f { return vec3f(1.0 / abs(p.x)); }");
    pole.code(1).stderr(contains("warning: the emission is infinite at a sampled position"));
    for dark in ["sqrt(-1.0 - p.x)", "-p.x"] {
        let dark = fire(&format!("fn emission(p: vec3f) -> vec3f {{ return vec3f({dark}); }}"));
        dark.success().stderr(contains("warning: the emission is 0 at all sampled positions"));
    }
    let black = fire("fn albedo(p: vec3f) -> vec3f { return vec3f(-0.5); }");
    black.success().stderr(contains("warning: the albedo is 0 at all sampled positions"));
    // An infinite bound of the cube alone, which smaller cells do not have.
    let cancelled = "fn density(p: vec3f) -> f32 { return 1.0 / (1.0 + p.x - p.y); }";
    check(&cancelled.replace("1.0 + p.x", "1.125 + p.x")).success().stderr("");
    let missing = check(&FOG.replace(", default: 0.5", "")).success().stderr("");
    missing.stdout(contains("bound      not checked: `height` has no default\n"));
}

#[test]
fn show_prints_every_stage() {
    let dir = ShaderDir::new(FOG);
    let show = |args: &[&str]| dir.stdout("show", args);
    let ir = show(&["--stage", "ir"]);
    assert!(ir.starts_with("fn density(p.x: f32, p.y: f32, p.z: f32, height: f32, "), "{ir}");
    assert_eq!(show(&["--stage", "ir", "--entry", "density"]), ir);
    for entry in ["albedo", "emission"] {
        let text = show(&["--stage", "ir", "--entry", entry]);
        assert!(text.contains(&format!("{entry}.g: f32")), "{text}");
    }
    for stage in ["lowered", "asm", "c", "c-scalar"] {
        for of in ["point", "bound"] {
            assert!(!show(&["--stage", stage, "--of", of, "--target", "sse"]).is_empty());
        }
    }
    let interval = show(&["--stage", "interval"]);
    assert!(interval.starts_with("fn density([p.x]: f32, [p.y]: f32, [p.z]: f32, height: f32"));
    assert!(show(&["--stage", "interval", "--spans", "all"]).contains("[height]: f32"));
    assert!(show(&["--stage", "bounds"]).contains("// height: [0, 8]"));
    assert!(show(&["--stage", "ir", "--of", "bound"]).contains("density.hi: f32"));
    let rejected = |dir: &ShaderDir, args: &[&str], messages: &[&str]| {
        assert_input_error(&mut dir.shader("show", args), messages);
    };
    let bounds = ["--stage", "bounds"];
    rejected(&dir, &[&bounds[..], &["--frame", "world"]].concat(), &["--frame", "directions"]);
    rejected(&dir, &[&bounds[..], &["--entry", "albedo"]].concat(), &["only density", "--entry"]);
    rejected(&dir, &[&bounds[..], &["--luminance"]].concat(), &["--luminance", "no colours"]);
    rejected(&dir, &["--stage", "ir", "--entry", "s"], &["no `fn brdf`", "it is a density"]);
    let brdf = ShaderDir::new(LOBE);
    rejected(&brdf, &["--stage", "ir", "--entry", "density"], &["no `fn density`", "a BRDF"]);
}

/// Renders a preview, and returns the mean colour in the middle of the cube.
fn preview(dir: &ShaderDir, args: &[&str]) -> [f32; 3] {
    const SIZE: usize = 24;
    let size = ["--size", "24", "--spp", "8", "-o", "image.pfm"];
    dir.shader("preview", &size).args(args).assert().success();
    let image = read(&dir.path("image.pfm"), Encoding::Srgb).unwrap();
    let pixels: Vec<_> = image.pixels().map(|pixel| pixel.to_array()).collect();
    let middle = SIZE * 2 / 5..SIZE * 3 / 5;
    let block: Vec<_> =
        middle.clone().flat_map(|y| middle.clone().map(move |x| y * SIZE + x)).collect();
    [0, 1, 2].map(|c| block.iter().map(|&i| pixels[i][c]).sum::<f32>() / block.len() as f32)
}

#[test]
fn preview_shows_a_cube_of_the_medium() {
    let density = "struct Medium {
            /// default: 1
            k: f32,
        }
        fn density(p: vec3f, m: Medium) -> f32 { return m.k; }";
    let dir = ShaderDir::new(density);
    let [white, background] = ["k=1", "k=0"].map(|k| preview(&dir, &["--set", k]));
    assert!(white[1] > 1.5 * background[1] && white[1] < 1.0, "{white:?} {background:?}");
    // The red half of the light is absorbed.
    dir.write(
        "a.wgsl",
        &format!("{density} fn albedo(p: vec3f) -> vec3f {{ return vec3f(0.1, 1.0, 1.0); }}"),
    );
    let cyan = preview(&dir, &[]);
    assert!(
        cyan[0] < 0.3 * cyan[1] && (cyan[1] / white[1] - 1.0).abs() < 0.2,
        "{cyan:?} {white:?}"
    );
    dir.write(
        "a.wgsl",
        &format!("{density} fn emission(p: vec3f) -> vec3f {{ return vec3f(9.0, 0.0, 0.0); }}"),
    );
    let red = preview(&dir, &[]);
    assert!(red[0] > 5.0 * red[1] && red[0] > 2.0, "{red:?}");
}

#[test]
fn phase_functions_have_one_value_without_a_cosine() {
    for (command, expected) in
        [("eval", "phase  0.07957747\n"), ("bound", "phase  0.07957747 .. 0.07957747\n")]
    {
        // At wi.z = 0, dividing by the cosine would give infinity.
        let args = ["shader", command, "henyey_greenstein", "--wi", "1,0,0", "--wo", "0,0,1"];
        lightbound(&args).assert().success().stdout(expected).stderr("");
    }
    let dir = ShaderDir::new("fn phase(wi: vec3f, wo: vec3f) -> f32 { return 0.5 * abs(wi.z); }");
    let rows = "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z\n0,0,1,0,0,1\n";
    dir.write("rows.csv", rows);
    assert_eq!(dir.stdout("eval", &["--csv", "rows.csv"]), "phase\n0.5\n");
}

#[test]
fn preview_of_a_phase_function_shows_a_cube() {
    let text = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../assets/shaders/henyey_greenstein.wgsl"),
    );
    let dir = ShaderDir::new(&text.unwrap());
    // Light from the sides reaches the viewer through turns of about 90°.
    let [back, uniform, forward] =
        ["g=-0.8", "g=0", "g=0.8"].map(|g| preview(&dir, &["--set", g])[1]);
    assert!(uniform > 1.2 * back.max(forward), "{back} {uniform} {forward}");
    assert_ne!(back, forward);
}

#[test]
fn densities_read_images() {
    let dir = ShaderDir::new(
        "var map: texture_2d<f32>;
        var map_sampler: sampler;
        fn density(p: vec3f) -> f32 { return 4.0 * textureSample(map, map_sampler, p.xy).r; }",
    );
    for (name, value) in [("white.png", 1.0), ("black.png", 0.0)] {
        write_png(&dir.path(name), 1, 1, &[[value; 3]], 0.0).unwrap();
    }
    let white = ["--texture", "map=white.png"];
    assert_eq!(dir.stdout("eval", &[&["--p", "9,0.5,0"], &white[..]].concat()), "density  4.0\n");
    assert_eq!(dir.bound(&[&["--p", "0..9,0.5,0"], &white[..]].concat())[0].1[1], 4.0);
    let [white, black] = ["white", "black"]
        .map(|image| preview(&dir, &["--texture", &format!("map={image}.png")])[1]);
    assert!(white > 1.5 * black, "{white} {black}");
    for (command, args) in [("eval", &["--p", "0,0,0"][..]), ("preview", &[])] {
        let messages = ["`map` has no image", "--texture map=FILE"];
        assert_input_error(&mut dir.shader(command, args), &messages);
    }
    let check = dir.shader("check", &[]).assert().success().stderr("");
    check.stdout(contains("values     not checked: `map` has no image\n"));
}

#[test]
fn errors_of_previews_name_the_remedy() {
    let dir = ShaderDir::new("fn density(p: vec3f) -> f32 { return 1.0 / p.x; }");
    let size = ["--size", "8", "--spp", "1"];
    assert_input_error(&mut dir.shader("preview", &size), &["no upper bound", "`min`"]);
    dir.write(
        "a.wgsl",
        "struct Medium { k: f32 }\nfn density(p: vec3f, m: Medium) -> f32 { return m.k; }",
    );
    assert_input_error(&mut dir.shader("preview", &size), &["`k` has no value", "--set k="]);
}

#[test]
fn densities_are_checked_and_shown_in_a_box() {
    // Dense near the origin only, and infinite at x = 2.
    let dir = ShaderDir::new(
        "fn density(p: vec3f) -> f32 {
            return select(0.0, 4.0, dot(p, p) < 0.25) + 1.0 / abs(p.x - 2.0);
        }",
    );
    let check = |p: &[&str]| dir.shader("check", p).assert();
    let cube = check(&[]).success().stderr("").stdout(contains("at most").and(contains("cube")));
    assert!(!String::from_utf8_lossy(&cube.get_output().stdout).contains("the box"));
    let away = check(&["--p", "5..9,-8..-6,5..9"]).success().stderr("");
    away.stdout(contains("at most 0.333").and(contains("positions in the box")));
    let pole = check(&["--p", "-4..4,0..1,0..1"]).success();
    pole.stderr(
        contains("the density has no upper bound in the box").and(contains("p = (2, 0.5, 0.5)")),
    );
    for (p, message) in [
        ("0..1,0..1,1", "has no volume"),
        ("0..1,0..1,0..2e9", "exceeds 1e9"),
        ("0..1,0..1", "expected three numbers or intervals"),
    ] {
        for command in ["check", "preview"] {
            let rejected = dir.shader(command, &["--p", p]).assert().code(2);
            rejected.stderr(contains(message));
        }
    }
    let brdf = ShaderDir::new(LOBE);
    let rejected = brdf.shader("preview", &["--p", "0..1,0..1,0..1"]).assert().code(2);
    rejected.stderr(contains("--p applies only to densities and fields: a.wgsl is a BRDF"));
    // The ball fills the middle of the larger box, and only a corner of the unit cube.
    dir.write(
        "a.wgsl",
        "fn density(p: vec3f) -> f32 { return select(0.0, 9.0, dot(p, p) < 0.25); }",
    );
    let [cube, whole] =
        [&[][..], &["--p", "-0.5..0.5,-0.5..0.5,-0.5..0.5"]].map(|p| preview(&dir, p));
    assert!(whole[1] > 1.2 * cube[1], "{whole:?} {cube:?}");
}
