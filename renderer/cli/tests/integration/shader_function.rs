//! `lightbound shader --entry`: any function of a file.

use crate::common::assert_input_error;
use crate::common::shader_dir::{ShaderDir, Table, targets};

/// Functions of all kinds of inputs and outputs. In the range of the tests, all of their values are
/// exact.
const FUNCTIONS: &str = "\
struct Shape {
    /// Radius of the tube. range: [0, 10], default: 0.25
    thickness: f32,
    /// Copies. range: [0, 4], default: 1
    copies: i32,
}

struct Result {
    value: f32,
    count: i32,
    inside: bool,
}

fn plane(p: vec3f, /** range: [-4, 4] */ height: f32) -> f32 {
    return p.y - height;
}

fn all(s: Shape, x: f32) -> Result {
    let value = s.thickness * x;
    return Result(value, s.copies - 2, value < 1.0);
}

fn swap(v: vec2f) -> vec2f { return v.yx; }

fn field(p: vec3f) -> f32 { return dot(p, p) - 1.0; }
";

#[test]
fn eval_prints_all_outputs() {
    let dir = ShaderDir::new(FUNCTIONS);
    let eval = |args: &[&str]| dir.stdout("eval", args);
    let plane = ["--entry", "plane", "--set", "p=1,2,3", "--set", "height=0.5"];
    assert_eq!(eval(&plane), "plane  1.5\n");
    for target in targets().chain(["interpreter"]) {
        assert_eq!(eval(&[&plane[..], &["--target", target]].concat()), "plane  1.5\n");
    }
    // `p` has an option of its own, and components have names.
    assert_eq!(eval(&["--entry", "plane", "--p", "1,2,3", "--set", "height=0.5"]), "plane  1.5\n");
    let swap = eval(&["--entry", "swap", "--set", "v.x=1", "--set", "v.y=2"]);
    assert_eq!(swap, "swap.x  2.0\nswap.y  1.0\n");
    let all = eval(&["--entry", "all", "--set", "x=2"]);
    assert_eq!(all, "value   0.5\ncount   -1.0\ninside  1.0\n");
    // A field is found without its name.
    assert_eq!(eval(&["--p", "2,0,0"]), "field  3.0\n");
}

#[test]
fn displacements_are_found_without_their_name() {
    let source = "\
        struct Params { /** default: 0.5 */ height: f32 }\n\
        fn wave(x: f32) -> f32 { return 2.0 * x; }\n\
        fn displace(uv: vec2f, p: vec3f, n: vec3f, m: Params) -> f32 {\n\
            return m.height * wave(p.x) + uv.x + n.z;\n\
        }\n";
    let dir = ShaderDir::new(source);
    let inputs = ["--set", "uv=1,0", "--p", "2,0,0", "--set", "n=0,0,1"];
    assert_eq!(dir.stdout("eval", &inputs), "displace  4.0\n");
    let bound = ["--set", "uv=0..1,0", "--p", "2,0,0", "--set", "n=0,0,1"];
    assert_eq!(dir.stdout("bound", &bound), "displace  3.0 .. 4.0\n");
    let ir = dir.stdout("show", &["--stage", "ir"]);
    assert!(ir.contains("fn displace(uv.x: f32"), "{ir}");
    assert!(dir.stdout("check", &["--target", "sse"]).contains("a function"));
    let other = ShaderDir::new(&source.replace("displace", "shift"));
    let error = other.shader("eval", &inputs).output().unwrap().stderr;
    assert!(String::from_utf8_lossy(&error).contains("there is no `fn brdf`"), "{error:?}");
}

#[test]
fn bound_takes_intervals_of_any_input() {
    let dir = ShaderDir::new(FUNCTIONS);
    let bound = |args: &[&str]| dir.stdout("bound", args);
    let plane = bound(&["--entry", "plane", "--set", "p=0..1,-1..2,0", "--set", "height=0..0.5"]);
    assert_eq!(plane, "plane  -1.5 .. 2.0\n");
    let all = bound(&["--entry", "all", "--set", "x=2..4", "--set", "thickness=0.25..0.5"]);
    assert_eq!(all, "value  0.5 .. 2.0\n");
    assert_eq!(bound(&["--p", "0..1,0,0"]), "field  -1.0 .. 0.0\n");
    let csv = "p.x,p.y.lo,p.y.hi,p.z,height\n0,1,2,0,0.5\n0,-1,1,0,1\n";
    let Table { columns, rows } = dir.table("bound", csv, &["--entry", "plane"]);
    assert_eq!(columns, ["plane.lo", "plane.hi"]);
    assert_eq!(rows, [[0.5, 1.5], [-2.0, 0.0]]);
}

#[test]
fn show_and_check_take_any_function() {
    let dir = ShaderDir::new(FUNCTIONS);
    let ir = dir.stdout("show", &["--entry", "plane", "--stage", "ir"]);
    assert!(ir.contains("fn plane(p.x: f32") && ir.contains("sub p.y, height"), "{ir}");
    let bounds = dir.stdout("show", &["--entry", "plane", "--stage", "bounds"]);
    assert!(bounds.contains("height"), "{bounds}");
    let check = dir.stdout("check", &["--entry", "all", "--target", "sse"]);
    for part in ["a function", "value, count, inside", "thickness", "[0, 10]", "evaluations of all"]
    {
        assert!(check.contains(part), "{part}: {check}");
    }
}

#[test]
fn unusable_options_are_errors() {
    let dir = ShaderDir::new(FUNCTIONS);
    for (args, messages) in [
        (&["--entry", "plain", "--p", "0,0,0"][..], &["no `fn plain`", "`plane`"][..]),
        (
            &["--entry", "swap", "--set", "v=1", "--p", "0,0,0"],
            &["has no input `p: vec3f`", "--set"],
        ),
        (&["--entry", "plane", "--p", "0,0,0"], &["`height` has no value", "--set height="]),
        (
            &["--entry", "plane", "--p", "0,0,0", "--set", "height=5"],
            &["`height`: 5 is out of range", "-4"],
        ),
        (&["--entry", "swap", "--wi", "0,0,1"], &["--wi and --wo do not apply to functions"]),
        (&["--entry", "swap", "--set", "w=1"], &["no parameter `w`", "the names are v"]),
    ] {
        assert_input_error(&mut dir.shader("eval", args), messages);
    }
}
