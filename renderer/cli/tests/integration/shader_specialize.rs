//! `lightbound shader specialize`.

use crate::common::shader_dir::ShaderDir;
use predicates::prelude::*;
use predicates::str::contains;

const TWO_LOBES: &str = "
    struct Material {
        /// Albedo. range: [0, 1], default: 0.5
        kd: f32,
        /// Weight of the lobe. range: [0, 1], default: 0.5
        weight: f32,
        /// Exponent. range: [1, 100], default: 10
        exponent: f32,
    }
    fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
        let lobe = pow(max(wi.z * wo.z - wi.x * wo.x - wi.y * wo.y, 0.0), m.exponent);
        return vec3f(m.kd + m.weight * lobe * max(m.exponent, 20.0));
    }";

fn specialize(args: &[&str]) -> String {
    let dir = ShaderDir::new(TWO_LOBES);
    let output =
        dir.shader("specialize", args).assert().success().stderr("").get_output().stdout.clone();
    String::from_utf8(output).unwrap()
}

/// The numbers of instructions in the rows of a function.
fn instructions(table: &str, function: &str) -> Vec<usize> {
    let rows = table.lines().skip_while(|line| !line.starts_with(function));
    let (first, rest) = (rows.clone().take(1), rows.skip(1));
    let rows = first.chain(rest.take_while(|line| line.starts_with(' ')));
    let count = |line: &str| {
        let cells: Vec<_> =
            line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let cells = if line.starts_with(' ') { &cells[1..] } else { &cells[2..] };
        cells[0].parse().unwrap_or_else(|_| panic!("{line}"))
    };
    rows.map(count).collect()
}

#[test]
fn each_step_has_a_row_for_each_function() {
    let table = specialize(&["--set", "weight=0", "--assume", "kd=0..0.5", "--target", "sse"]);
    for function in ["s", "s and density", "sample", "upper bound"] {
        let counts = instructions(&table, &format!("{function}  "));
        assert_eq!(counts.len(), 3, "{table}");
        assert!(counts[1] < counts[0] && counts[2] <= counts[1], "{table}");
    }
    assert!(table.contains("  --set ") && table.contains("  --assume "), "{table}");
}

#[test]
fn ranges_decide_minima_and_maxima() {
    let code = |args: &[&str]| specialize(&[args, &["--stage", "ir"]].concat());
    assert!(code(&[]).contains("max exponent, 20.0"));
    assert!(code(&["--assume", "exponent=1..30"]).contains("max exponent, 20.0"));
    assert!(!code(&["--assume", "exponent=20..30"]).contains("max exponent"));
    assert!(!code(&["--set", "weight=0"]).contains("pow"));
    assert!(code(&["--set", "weight=0", "--of", "bound"]).contains("wi.z.hi"));
}

#[test]
fn wrong_options_are_errors() {
    let dir = ShaderDir::new(&format!("override LOBES: i32 = 1;\n{TWO_LOBES}"));
    for (args, message) in [
        (&["--set", "wait=0"][..], "no parameter `wait`"),
        (&["--set", "kd=2"], "`kd` takes"),
        (&["--assume", "kd=0.5..0.2"], "above the upper endpoint"),
        (&["--set", "kd=0.1", "--assume", "kd=0.5..1"], "`kd`: --set and --assume exclude"),
        (&["--target", "interpreter"], "--target avx2"),
        (&["--stage", "bounds"], "invalid value 'bounds'"),
        (&["--of", "bound"], "--stage"),
        (&["--assume", "LOBES=1..2"], "write --set LOBES=VALUE"),
    ] {
        dir.shader("specialize", args).assert().code(2).stdout("").stderr(contains(message));
    }
}

#[test]
fn displacements_are_specialized() {
    let dir = ShaderDir::new(
        "struct Material {
            /// Height. range: [0, 1], default: 0.5
            height: f32,
        }
        fn displace(p: SurfacePoint, m: Material) -> f32 {
            return select(0.0, sin(p.uv.x), m.height > 0.5);
        }",
    );
    let table = dir.stdout("specialize", &["--set", "height=0"]);
    let counts = instructions(&table, "function  ");
    assert!(counts.len() == 2 && counts[1] < counts[0], "{table}");
}

#[test]
fn densities_and_computed_parameters_are_specialized() {
    let density = ShaderDir::new(
        "struct Medium {
            /// Amplitude. range: [0, 1], default: 1
            noise: f32,
        }
        fn density(p: vec3f, m: Medium) -> f32 {
            return 1.0 + m.noise * (1.0 + sin(10.0 * p.x));
        }",
    );
    let args = ["--set", "noise=0", "--stage", "ir"];
    density.shader("specialize", &args).assert().success().stdout(contains("return 1.0"));
    let computed = ShaderDir::new(
        "struct Material {
            /// Albedo. range: [0, 1], default: 0.5
            kd: f32,
            lobe: f32,
        }
        fn material(p: SurfacePoint, m: Material) -> Material {
            return Material(m.kd, select(0.0, p.uv.x, m.kd > 0.5));
        }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
            return vec3f(m.kd + m.lobe * exp(-wi.z));
        }",
    );
    let ir = |set: &str| {
        let args = ["--set", set, "--stage", "ir"];
        computed.shader("specialize", &args).assert().success().stdout(contains("return"))
    };
    ir("kd=0.75").stdout(contains("exp"));
    ir("kd=0.25").stdout(contains("exp").not());
}
