//! End-to-end tests of `lightbound shader bound`, and of `shader show` for bounding shaders.

mod common;

use common::place::{ENDLESS, LOBE, Place, targets};
use lightbound_shader::relations::Relation;
use predicates::prelude::*;
use predicates::str::contains;
use std::path::Path;

/// [`LOBE`] with a default for each parameter.
fn lobe() -> String {
    LOBE.replace("albedo. range: [0, 1]", "albedo. range: [0, 1], default: 0.5")
}

/// A linear congruential generator.
struct Random {
    state: u32,
}

impl Random {
    fn next(&mut self) -> f32 {
        self.state = self.state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        (self.state >> 8) as f32 / (1 << 24) as f32
    }

    fn between(&mut self, low: f32, high: f32) -> f32 {
        (low + (high - low) * self.next()).clamp(low, high)
    }

    /// A random subinterval: sometimes a point, sometimes the whole interval.
    fn interval(&mut self, low: f32, high: f32) -> [f32; 2] {
        let (a, b) = (self.between(low, high), self.between(low, high));
        match (8.0 * self.next()) as u32 {
            0 => [a, a],
            1 => [low, high],
            _ => [a.min(b), a.max(b)],
        }
    }

    /// A random number in an interval, often an endpoint.
    fn member(&mut self, [low, high]: [f32; 2]) -> f32 {
        match (4.0 * self.next()) as u32 {
            0 => low,
            1 => high,
            _ => self.between(low, high),
        }
    }
}

/// Input columns of [`boxes`], with their ranges.
const INPUTS: [(&str, [f32; 2]); 10] = [
    ("wi.x", [-1.0, 1.0]),
    ("wi.y", [-1.0, 1.0]),
    ("wi.z", [-1.0, 1.0]),
    ("wo.x", [-1.0, 1.0]),
    ("wo.y", [-1.0, 1.0]),
    ("wo.z", [-0.2, 1.0]),
    ("kd.r", [0.0, 1.0]),
    ("kd.g", [0.0, 1.0]),
    ("kd.b", [0.0, 1.0]),
    ("ks", [0.0, 10.0]),
];

/// Random boxes, as a table for `bound`, and `members` points in each of them, as a table for
/// `eval`.
fn boxes(count: usize, members: usize) -> (String, String) {
    let mut random = Random { state: 1 };
    let names = INPUTS.map(|(name, _)| name);
    let mut boxes = names.map(|name| format!("{name}.lo,{name}.hi")).join(",")
        + ",rounds.lo,rounds.hi,lobe.lo,lobe.hi\n";
    let mut points = names.join(",") + ",rounds,lobe\n";
    for _ in 0..count {
        let spans = INPUTS.map(|(_, [low, high])| random.interval(low, high));
        let rounds = random.interval(0.0, 8.99).map(|x| x as u32);
        let lobe = [random.next() < 0.3, random.next() < 0.7];
        let lobe = [lobe[0] && lobe[1], lobe[0] || lobe[1]];
        boxes += &spans.map(|[low, high]| format!("{low:?},{high:?}")).join(",");
        boxes += &format!(",{},{},{},{}\n", rounds[0], rounds[1], lobe[0], lobe[1]);
        for _ in 0..members {
            points += &spans.map(|span| format!("{:?}", random.member(span))).join(",");
            let rounds = random.member(rounds.map(|x| x as f32 + 0.5)) as u32;
            points += &format!(",{rounds},{}\n", lobe[usize::from(random.next() < 0.5)]);
        }
    }
    (boxes, points)
}

#[test]
fn values_are_within_bounds() {
    const MEMBERS: usize = 20;
    let place = Place::new(&lobe());
    let (boxes, points) = boxes(150, MEMBERS);
    let values = place.table("eval", &points, &[]);
    for nan in ["suppress", "propagate", "ignore"] {
        let bounds = place.table("bound", &boxes, &["--nan", nan]);
        assert_eq!(bounds.columns, ["s.r.lo", "s.r.hi", "s.g.lo", "s.g.hi", "s.b.lo", "s.b.hi"]);
        assert_eq!(bounds.rows.len(), 150);
        let mut useful = 0;
        for (bound, values) in bounds.rows.iter().zip(values.rows.chunks(MEMBERS)) {
            for (ends, k) in bound.chunks(2).zip(3..) {
                useful += usize::from(ends[1] < 20.0);
                for value in values {
                    assert!(
                        ends[0] <= value[k] && value[k] <= ends[1],
                        "{nan}: {} in {ends:?}",
                        value[k]
                    );
                }
            }
        }
        assert!(useful > 300, "{useful} of 450 bounds are below 20");
    }
}

/// The first columns of a table.
fn first_columns(csv: &str, count: usize) -> String {
    csv.lines()
        .map(|line| line.split(',').take(count).collect::<Vec<_>>().join(",") + "\n")
        .collect()
}

#[test]
fn library_materials_are_within_their_bounds() {
    const MEMBERS: usize = 10;
    let (boxes, points) = boxes(60, MEMBERS);
    let (boxes, points) = (first_columns(&boxes, 12), first_columns(&points, 6));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/shaders");
    let files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 6, "only {} shaders", files.len());
    for file in files {
        let name = file.display();
        let place = Place::new(&std::fs::read_to_string(&file).unwrap());
        let (values, bounds) =
            (place.table("eval", &points, &[]), place.table("bound", &boxes, &[]));
        assert_eq!(place.table("bound", &boxes, &["--mode", "naive"]), bounds, "{name}");
        for (bound, values) in bounds.rows.iter().zip(values.rows.chunks(MEMBERS)) {
            for (ends, k) in bound.chunks(2).zip(3..) {
                for s in values.iter().map(|value| value[k]).filter(|s| !s.is_nan()) {
                    assert!(ends[0] <= s && s <= ends[1], "{name}: {s} in {ends:?}");
                }
            }
        }
    }
}

#[test]
fn modes_targets_and_sides_give_the_same_bounds() {
    let place = Place::new(&lobe());
    let (boxes, _) = boxes(150, 1);
    for nan in ["suppress", "propagate", "ignore"] {
        let bounds =
            |args: &[&str]| place.table("bound", &boxes, &[args, &["--nan", nan]].concat());
        let expected = bounds(&[]);
        assert_eq!(bounds(&["--mode", "naive"]), expected);
        assert_eq!(bounds(&["--ranges", "paper"]), expected);
        for target in targets() {
            assert_eq!(bounds(&["--target", target]), expected, "{target}");
        }
        for (side, name, first) in [("lower", "lo", 0), ("upper", "hi", 1)] {
            let one = bounds(&["--sides", side]);
            assert_eq!(one.columns, ["r", "g", "b"].map(|c| format!("s.{c}.{name}")));
            for (one, both) in one.rows.iter().zip(&expected.rows) {
                assert_eq!(one[..], [first, first + 2, first + 4].map(|k| both[k]), "{side}");
            }
        }
    }
}

/// [`lobe`], with its cosine written as a difference of products.
fn mirror() -> String {
    lobe().replace("dot(wi, vec3f(-wo.xy, wo.z))", "wi.z * wo.z - wi.x * wo.x - wi.y * wo.y")
}

/// Boxes of light directions, with view directions near their mirror direction, as a table for
/// `bound`, and unit vectors in the boxes, as a table for `eval`.
fn boxes_of_directions(count: usize, members: usize) -> (String, String) {
    let mut random = Random { state: 7 };
    let unit = |v: [f32; 3]| v.map(|x| x / v.iter().map(|x| x * x).sum::<f32>().sqrt());
    let mut boxes = "wi.x.lo,wi.x.hi,wi.y.lo,wi.y.hi,wi.z.lo,wi.z.hi,wo.x,wo.y,wo.z\n".to_owned();
    let mut points = "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z\n".to_owned();
    for _ in 0..count {
        let wi =
            unit([random.between(-1.0, 1.0), random.between(-1.0, 1.0), random.between(0.1, 1.0)]);
        let offset = [0.0; 3].map(|x: f32| x + random.between(-0.1, 0.1));
        let wo = unit([offset[0] - wi[0], offset[1] - wi[1], (offset[2] + wi[2]).max(0.05)]);
        let width = random.between(0.02, 0.3);
        let ends = wi.map(|x| {
            [(x - random.between(0.0, width)).max(-1.0), (x + random.between(0.0, width)).min(1.0)]
        });
        let wo_text = wo.map(|x| format!("{x:?}")).join(",");
        boxes += &format!(
            "{},{wo_text}\n",
            ends.map(|[low, high]| format!("{low:?},{high:?}")).join(",")
        );
        for _ in 0..members {
            let near = unit([0, 1, 2].map(|k| random.between(ends[k][0], ends[k][1])));
            let inside = ends.iter().zip(near).all(|([low, high], x)| *low <= x && x <= *high);
            points += &format!(
                "{},{wo_text}\n",
                if inside { near } else { wi }.map(|x| format!("{x:?}")).join(",")
            );
        }
    }
    (boxes, points)
}

#[test]
fn related_and_split_bounds_are_tighter_and_valid() {
    const MEMBERS: usize = 10;
    let place = Place::new(&mirror());
    let (boxes, points) = boxes_of_directions(120, MEMBERS);
    let set = ["--set", "ks=10", "--set", "squarings=4"];
    let bounds = |args: &[&str]| place.table("bound", &boxes, &[&set[..], args].concat()).rows;
    let values = place.table("eval", &points, &set).rows;
    let related = ["--mode", "related"];
    let kinds: [&[&str]; 5] = [
        &[],
        &["--split", "4"],
        &related,
        &["--mode", "related", "--split", "2"],
        &["--mode", "related", "--split", "4"],
    ];
    let all = kinds.map(bounds);
    // Pairs of modes: the bounds of the first lie within those of the second.
    for (inner, outer) in [(1, 0), (2, 0), (3, 2), (4, 2)] {
        let mut narrower = 0;
        for (row, (a, b)) in all[inner].iter().zip(&all[outer]).enumerate() {
            assert!(
                b[0] <= a[0] && a[1] <= b[1],
                "row {row}: {a:?} of {:?}, {b:?} of {:?}",
                kinds[inner],
                kinds[outer]
            );
            narrower += usize::from(a[1] - a[0] < 0.9 * (b[1] - b[0]));
        }
        assert!(
            narrower > 40,
            "{:?} is narrower than {:?} for {narrower} of 120",
            kinds[inner],
            kinds[outer]
        );
    }
    for (bounds, kind) in all.iter().zip(kinds) {
        for (bound, values) in bounds.iter().zip(values.chunks(MEMBERS)) {
            assert!(
                values.iter().all(|value| bound[0] <= value[3] && value[3] <= bound[1]),
                "{kind:?}: {bound:?}, {values:?}"
            );
        }
    }
    assert_ne!(bounds(&[&related[..], &["--relations", "unit"]].concat()), all[2]);
}

#[test]
fn related_bounds_require_unit_vectors() {
    let place = Place::new(&lobe());
    let bound = |wi: &str, wo: &str, args: &[&str]| {
        place
            .shader(
                "bound",
                &[&["--mode", "related", "--wi", wi, "--wo", wo, "--set", "shift=1"], args]
                    .concat(),
            )
            .assert()
    };
    let wrong = |wi: &str, wo: &str, args: &[&str], said: &[&str]| {
        let failed = bound(wi, wo, args).code(2).stdout("");
        said.iter().fold(failed, |failed, message| failed.stderr(contains(*message)));
    };
    wrong(
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
    wrong(
        "0..0.5,0..0.5,0..0.5",
        "0,0,1",
        &[],
        &["wi contains no unit vector", "0..0.75", "--mode optimized"],
    );
    wrong("0,0,0.5..1.5", "0,0,1", &["--ranges", "paper"], &["wi.z is 0.5..1.5", "from -1 to 1"]);
    // Boxes whose unit vectors all lie behind the surface are black without evaluation.
    for wo in ["0,0,-1", "0,0,-1..-0.5", "0.8..0.9,0,-0.6..0.1"] {
        let output = bound("0,0,1", wo, &[]).success().get_output().stdout.clone();
        assert_eq!(String::from_utf8(output).unwrap().matches("0.0 .. 0.0").count(), 3, "{wo}");
    }
    // Errors in tables name the line.
    place.write("in.csv", "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z\n0,0,1,0,0,1\n0,0.6,0.7,0,0,1\n");
    let args = ["--mode", "related", "--csv", "in.csv", "-o", "out.csv"];
    let failed = place.shader("bound", &args).assert().code(2);
    failed.stderr(contains("in.csv:3:").and(contains("wi is not a unit vector")));
    assert!(!place.path("out.csv").exists());
    // `--relations` requires this mode.
    let unknown = |args: &[&str]| {
        place
            .shader("bound", &[&["--wi", "0,0,1", "--wo", "0,0,1"], args].concat())
            .assert()
            .code(2)
    };
    unknown(&["--mode", "related", "--relations", "unit,dots"])
        .stderr(contains("`dots`").and(contains("did you mean \"dot\"?")));
    let none: Vec<_> = Relation::ALL.iter().map(|relation| format!("-{relation}")).collect();
    unknown(&["--mode", "related", "--relations", &none.join(",")])
        .stderr(contains("no relation is left"));
    unknown(&["--relations", "unit"]).stderr(contains("--mode related"));
    unknown(&["--split", "3"]).stderr(contains("[possible values: 2, 4]"));
}

#[test]
fn zero_width_boxes_match_point_evaluation() {
    let place = Place::new(&lobe());
    let at = ["--wi", "0,0.6,0.8", "--wo", "0,-0.6,0.8", "--set", "kd=0.1,0.2,0.3"];
    let text = place.stdout("eval", &at);
    let s = text.lines().find(|line| line.starts_with("s ")).unwrap();
    let s: Vec<f32> = s.split_whitespace().skip(1).take(3).map(|x| x.parse().unwrap()).collect();
    let names: Vec<String> = ["s.r", "s.g", "s.b"].map(str::to_owned).into();
    let expected: Vec<_> = names.into_iter().zip(s.iter().map(|&x| [x, x])).collect();
    assert_eq!(place.bound(&at), expected);
    // Also as intervals, whose lowerings are exact for point intervals here.
    assert_eq!(
        place.bound(&[
            "--wi",
            "0..0,0.6..0.6,0.8..0.8",
            "--wo",
            "0,-0.6,0.8",
            "--set",
            "kd=0.1,0.2,0.3"
        ]),
        expected
    );
}

#[test]
fn intervals_are_parsed_from_options_and_tables() {
    let place = Place::new(&lobe());
    let bound = |sets: &[&str]| {
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        place.bound(
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
fn luminance_gives_a_single_bound() {
    let place = Place::new(&lobe());
    let at = ["--wi", "-0.1..0.1,0.5..0.7,0.7..0.9", "--wo", "0,0,1", "--luminance"];
    let [(name, [low, high])] = &place.bound(&at)[..] else { panic!("there is one line") };
    assert_eq!(name, "s.luminance");
    assert!(0.0 <= *low && low < high && *high < 1.0, "{low} {high}");
    let upper = place.stdout("bound", &[&at[..], &["--sides", "upper"]].concat());
    assert_eq!(upper, format!("s.luminance  at most {high:?}\n"));
    let lower = place.stdout("bound", &[&at[..], &["--sides", "lower"]].concat());
    assert_eq!(lower, format!("s.luminance  at least {low:?}\n"));
}

#[test]
fn one_sided_materials_are_black_from_behind() {
    let place = Place::new(&lobe());
    let at = |wo: &'static str| ["--wi", "0,0,1", "--wo", wo, "--set", "shift=1"];
    for wo in ["0,0,-1", "0,0,-1..-0.5", "0,0,-1..0"] {
        assert!(place.bound(&at(wo)).iter().all(|(_, ends)| *ends == [0.0, 0.0]), "{wo}");
        place.shader("bound", &at(wo)).assert().success().stderr(contains("one-sided"));
    }
    place.shader("bound", &at("0,0,-1..1")).assert().success().stderr("");
    let entire = place.bound(&at("0,0,-1..1"))[0].1;
    let front = place.bound(&at("0,0,0.5..1"))[0].1;
    assert!(entire[0] == 0.0 && front[0] > 0.5 && front[1] <= entire[1], "{entire:?} {front:?}");
    let both = Place::new(&format!("//! sides: both\n{}", lobe()));
    assert!(both.bound(&at("0,0,-1..-0.5"))[0].1[0] > 0.5);
}

#[test]
fn boxes_without_unit_vectors_are_reported() {
    let place = Place::new(&lobe());
    let bound = |wi: &str| place.shader("bound", &["--wi", wi, "--wo", "0,0,1"]).assert().success();
    bound("0..1,0..1,0..1").stderr("");
    bound("0..0.5,0..0.5,0..0.5").stderr(contains("no unit vector"));
    bound("0.9..1,0.9..1,0").stderr(contains("no unit vector"));
    bound("-0.1..0.1,-0.1..0.1,0.99..1").stderr("");
}

#[test]
fn stopped_loops_are_reported() {
    let place = Place::new(ENDLESS);
    let bound = |a: &str, args: &[&str]| {
        let at = ["--wi", "0,0,0.5..1", "--wo", "0,0,1", "--set", a];
        place.shader("bound", &[&at[..], args].concat()).assert().success()
    };
    for nan in ["suppress", "propagate", "ignore"] {
        for args in [
            &["--nan", nan][..],
            &["--nan", nan, "--mode", "naive"],
            &["--nan", nan, "--sides", "lower", "--luminance"],
        ] {
            bound("a=0", args).stderr(contains("stopped here"));
            bound("a=0..0.5", args).stderr(contains("stopped here"));
            bound("a=0.25..0.5", args).stderr("");
        }
    }
    // Black rows are not evaluated.
    let behind = ["--wi", "0,0,1", "--wo", "0,0,-1", "--set", "a=0"];
    place
        .shader("bound", &behind)
        .assert()
        .success()
        .stderr(contains("one-sided").and(contains("stopped").not()));
    let header = "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z,a.lo,a.hi";
    place
        .write("in.csv", &format!("{header}\n0,0,1,0,0,1,0,1\n0,0,1,0,0,1,1,2\n0,0,1,0,0,1,0,0\n"));
    place
        .shader("bound", &["--csv", "in.csv"])
        .assert()
        .success()
        .stderr(contains("stopped in 2 of 3 rows"));
}

/// A shader whose value is NaN for negative `a`, with a pole at 0.
const ROOT: &str = "\
struct Material {
    /// range: [-4, 4]
    a: f32,
}
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { return vec3f(sqrt(m.a), 1.0 / m.a, 1.0); }
";

#[test]
fn missing_bounds_are_reported() {
    let place = Place::new(ROOT);
    let at = |a: &'static str| ["--wi", "0,0,1", "--wo", "0,0,1", "--set", a];
    let bound = |a: &'static str, args: &[&str]| {
        place.shader("bound", &[&at(a)[..], args].concat()).assert().success()
    };
    let hint = "hint: nothing is known of s.g here; a smaller box may have bounds\n";
    bound("a=1..4", &["--nan", "propagate"])
        .stderr("")
        .stdout("s.r  1.0  .. 2.0\ns.g  0.25 .. 1.0\ns.b  1.0  .. 1.0\n");
    bound("a=1..4", &["--nan", "propagate", "--sides", "upper"])
        .stdout("s.r  at most 2.0\ns.g  at most 1.0\ns.b  at most 1.0\n");
    // By default, NaN is suppressed: the bounds cover only the non-negative part of the box.
    let some = bound("a=-1..4", &[]).stderr(contains(hint));
    some.stdout(contains("s.r  0.0  .. 2.0\ns.g  -inf .. inf\n"));
    let hint = "hint: nothing is known of s.r, s.g, s.b here; a smaller box may have bounds; NaN is a cause here: --nan suppress";
    let output = bound("a=-1..4", &["--nan", "propagate"])
        .stderr(contains(hint))
        .get_output()
        .stdout
        .clone();
    bound("a=-1..4", &["--sides", "upper"])
        .stderr(contains("hint: there is no upper bound of s.g here;"));
    let text = String::from_utf8(output).unwrap();
    let of = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap().to_owned()
    };
    assert!(["no bound", "-inf .. inf"].contains(&of("s.r").as_str()), "{text}");
    let table = place.table(
        "bound",
        "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z,a.lo,a.hi\n0,0,1,0,0,1,-4,-1\n",
        &["--nan", "propagate"],
    );
    assert!(!table.rows[0][0].is_finite() && !table.rows[0][1].is_finite(), "{table:?}");
}

#[test]
fn existing_bounds_are_not_reported_missing() {
    let root = ROOT
        .replace("sqrt(m.a), 1.0 / m.a, 1.0", "sqrt(m.a)")
        .replace("range: [-4, 4]", "a number");
    let place = Place::new(&root);
    let stderr = |a: &str, nan: &str| {
        let args = ["--wi", "0,0,1", "--wo", "0,0,1", "--nan", nan, "--set", a];
        String::from_utf8(
            place.shader("bound", &args).assert().success().get_output().stderr.clone(),
        )
        .unwrap()
    };
    let propagated = stderr("a=-2..-1", "propagate");
    assert!(
        propagated.contains("hint: nothing is known") && propagated.contains("--nan suppress"),
        "{propagated}"
    );
    // No hint if all results are NaN, or if only one endpoint is infinite.
    for (a, nan) in [("a=-2..-1", "suppress"), ("a=0..inf", "suppress"), ("a=0..inf", "ignore")] {
        let stderr = stderr(a, nan);
        assert!(!stderr.contains("hint") && !stderr.contains("--nan"), "{a} {nan}: {stderr}");
    }
}

/// The bound is missing because of the pole at `a` = 0, not because of NaN.
#[test]
fn nan_is_blamed_only_if_it_causes_a_missing_bound() {
    let place =
        Place::new(&ROOT.replace("sqrt(m.a), 1.0 / m.a, 1.0", "1.0 / m.a, sqrt(m.a + 4.0), 1.0"));
    let at = ["--wi", "0,0,1", "--wo", "0,0,1", "--nan", "propagate", "--set", "a=-1..1"];
    let output = place
        .shader("bound", &at)
        .assert()
        .success()
        .stderr("hint: nothing is known of s.r here; a smaller box may have bounds\n");
    output.stdout(contains("s.r  -inf      .. inf\n"));
    let header = "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z,a.lo,a.hi";
    let rows = "0,0,1,0,0,1,1,2\n0,0,1,0,0,1,-1,1\n0,0,1,0,0,1,-1,2\n";
    place.write("in.csv", &format!("{header}\n{rows}"));
    let output =
        place.shader("bound", &["--csv", "in.csv", "--nan", "propagate"]).assert().success();
    output.stderr(
        "hint: bounds are missing in 2 of 3 rows (in the first one, nothing is known of s.r); a smaller box may have bounds\n",
    );
    let place = Place::new(ROOT);
    place.write("in.csv", &format!("{header}\n{rows}"));
    let output =
        place.shader("bound", &["--csv", "in.csv", "--nan", "propagate"]).assert().success();
    output.stderr(
        contains("2 of 3 rows").and(contains("NaN is a cause in 2 of 3 rows: --nan suppress")),
    );
}

#[test]
fn bounds_that_ignore_nan_warn_if_they_may_be_wrong() {
    let place = Place::new(ROOT);
    let stderr = |a: &str, nan: &str| {
        let args = ["--wi", "0,0,1", "--wo", "0,0,1", "--nan", nan, "--set", a];
        String::from_utf8(
            place.shader("bound", &args).assert().success().get_output().stderr.clone(),
        )
        .unwrap()
    };
    const WARNING: &str = "the bound may be wrong here";
    assert!(stderr("a=-1..4", "ignore").contains(WARNING));
    for (a, nan) in [("a=1..4", "ignore"), ("a=-1..4", "suppress"), ("a=-1..4", "propagate")] {
        assert!(!stderr(a, nan).contains(WARNING), "{a} {nan}");
    }
    let header = "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z,a.lo,a.hi";
    place.write("in.csv", &format!("{header}\n0,0,1,0,0,1,-1,1\n0,0,1,0,0,1,1,2\n"));
    let rows = place.shader("bound", &["--csv", "in.csv", "--nan", "ignore"]).assert().success();
    rows.stderr(contains("may be wrong in 1 of 2 rows"));
}

#[test]
fn columns_and_options_must_not_set_the_same_value() {
    let place = Place::new(&lobe());
    place.write("in.csv", "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z,kd.r\n0,0,1,0,0,1,0.5\n");
    for command in ["bound", "eval"] {
        for set in ["kd.r=1", "kd.x=0.25"] {
            let refused = place
                .shader(command, &["--csv", "in.csv", "--set", "ks=0", "--set", set])
                .assert()
                .code(2);
            refused.stderr(contains("column `kd.r`").and(contains(format!("--set {set}"))));
        }
        place
            .shader(command, &["--csv", "in.csv", "--set", "ks=0", "--set", "kd=1"])
            .assert()
            .success();
    }
}

#[test]
fn tables_match_single_boxes() {
    let place = Place::new(&lobe());
    let csv = "# boxes\n\nkd.lo, kd.hi,wi.x,wi.y.lo,wi.y.hi,wi.z,wo.x,wo.y,\"wo.z.lo\",wo.z.hi,shift.lo,shift.hi\n\
               0,0.5,0,0.5,0.7,0.8,0,0,0.5,1,-1,1\n0.25,0.25,-0.1,-0.7,0.7,0.8,0,0,1,1,0,0\n";
    let table = place.table("bound", csv, &["--set", "ks=1..2"]);
    let single = |wi: &str, wo: &str, kd: &str, shift: &str| {
        let sets = ["--set", "ks=1..2", "--set", kd, "--set", shift];
        place
            .bound(&[&["--wi", wi, "--wo", wo], &sets[..]].concat())
            .into_iter()
            .flat_map(|(_, ends)| ends)
            .collect::<Vec<_>>()
    };
    assert_eq!(table.rows[0], single("0,0.5..0.7,0.8", "0,0,0.5..1", "kd=0..0.5", "shift=-1..1"));
    assert_eq!(
        table.rows[1],
        single("-0.1,-0.7..0.7,0.8", "0,0,1..1", "kd=0.25..0.25", "shift=0..0")
    );
    assert!(place.table("bound", csv.split_once("\n0,0.5").unwrap().0, &[]).rows.is_empty());
    // Many rows, through stdin and stdout.
    let (header, row) = ("wi.x,wi.y,wi.z,wo.x,wo.y,wo.z,kd.lo,kd.hi\n", "0,0,1,0,0,1,0.25,0.5\n");
    let mut command = place
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
fn errors_in_boxes_suggest_a_fix() {
    let place = Place::new(&lobe());
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
        ("0,0,1", &["--set", "rounds=0..1.5"], &["rounds", "whole number"]),
        ("0,0,1", &["--set", "kt=0..1"], &["kt", "did you mean \"kd\""]),
        ("0,0,1", &["--set", "kd=0..1,0..1"], &["3 numbers, not 2"]),
        ("0,0,1", &["--set", "squarings=1..2"], &["squarings", "not a whole number"]),
    ];
    for (wi, args, said) in cases {
        let failed = place
            .shader("bound", &["--wi", wi, "--wo", "0,0,1"])
            .args(args)
            .assert()
            .code(2)
            .stdout("");
        said.iter().fold(failed, |failed, message| failed.stderr(contains(*message)));
    }
    place.shader("bound", &["--wi", "0,0,1"]).assert().code(2).stderr(contains("--wo"));
    place
        .shader("bound", &["--wi", "0,0,0.5..3", "--wo", "0,0,1", "--ranges", "paper"])
        .assert()
        .success();
}

#[test]
fn errors_in_tables_name_line_column_and_fix() {
    let place = Place::new(&lobe());
    let header = "wi.x,wi.y,wi.z.lo,wi.z.hi,wo.x,wo.y,wo.z";
    let cases: [(String, &[&str]); 10] = [
        (
            "wi.x,wi.y,wi.z.lo,wo.x,wo.y,wo.z\n".into(),
            &["in.csv:1:", "`wi.z.lo`", "no column `wi.z.hi`", "a column `wi.z` has numbers"],
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
    for (csv, said) in &cases {
        place.write("in.csv", csv);
        let failed = place.shader("bound", &["--csv", "in.csv", "-o", "out.csv"]).assert().code(2);
        said.iter().fold(failed, |failed, message| failed.stderr(contains(*message)));
        assert!(!place.folder.path().join("out.csv").exists(), "{csv}");
    }
    place.write("in.csv", "wi.x.lo,wi.x.hi\n");
    place
        .shader("eval", &["--csv", "in.csv"])
        .assert()
        .code(2)
        .stderr(contains("unknown column `wi.x.lo`"));
    place
        .shader("bound", &["--csv", "in.csv", "-o", "in.csv"])
        .assert()
        .code(2)
        .stderr(contains("overwrite"));
}

#[test]
fn show_prints_derivation_of_bounding_shader() {
    let place = Place::new(&lobe());
    let show = |args: &[&str]| place.stdout("show", args);
    let interval = show(&["--stage", "interval"]);
    assert!(
        interval.starts_with("fn shaded([wi.x]: f32,") && interval.contains(" wo.x: f32,"),
        "{interval}"
    );
    assert!(interval.contains(" max [") && !interval.contains("//"), "{interval}");
    assert!(show(&["--stage", "interval", "--spans", "all"]).contains("[wo.x]: f32"));
    assert!(show(&["--stage", "interval", "--frame", "world"]).contains("t.x: f32"));
    assert!(show(&["--stage", "interval", "--luminance"]).contains("-> ([s.luminance]: f32)"));
    let bounds = show(&["--stage", "bounds"]);
    assert!(bounds.contains("\n// kd.x: [0, 1]") && bounds.contains(" operations)\n"), "{bounds}");
    let without = |text: &str| {
        let lines = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default().trim_end().to_owned());
        lines.filter(|line| !line.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(without(&bounds), without(&interval));
    assert_ne!(show(&["--stage", "bounds", "--ranges", "paper"]), bounds);
    assert_ne!(show(&["--stage", "bounds", "--mode", "naive"]), bounds);
    let mirror = Place::new(&mirror());
    let related = |args: &[&str]| {
        mirror.stdout("show", &[&["--stage", "bounds", "--mode", "related"], args].concat())
    };
    assert!(related(&[]).contains(", tightened by dot)\n") && !bounds.contains("tightened"));
    assert!(!related(&["--relations=-unit,-dot"]).contains("tightened by dot"));
    let ir = show(&["--stage", "ir", "--of", "bound"]);
    assert!(
        ir.contains("wi.x.lo: f32, wi.x.hi: f32") && ir.contains("-> (s.r.lo: f32, s.r.hi: f32"),
        "{ir}"
    );
    assert!(
        show(&["--stage", "ir", "--of", "bound", "--sides", "upper"])
            .contains("-> (s.r.hi: f32, s.g.hi")
    );
    for stage in ["lowered", "asm", "c"] {
        let [point, bound] =
            ["point", "bound"].map(|of| show(&["--stage", stage, "--of", of, "--target", "sse"]));
        assert_eq!(show(&["--stage", stage, "--target", "sse"]), point);
        assert_ne!(point, bound, "{stage}");
    }
}

#[test]
fn show_rejects_conflicting_options() {
    let place = Place::new(&lobe());
    let wrong = |args: &[&str]| place.shader("show", args).assert().code(2).stdout("");
    wrong(&["--stage", "interval", "--of", "point"])
        .stderr(contains("--of point").and(contains("--stage ir")));
    for option in [
        ["--spans", "all"],
        ["--frame", "world"],
        ["--mode", "naive"],
        ["--nan", "ignore"],
        ["--sides", "upper"],
    ] {
        wrong(&[&["--stage", "ir"], &option[..]].concat())
            .stderr(contains(option[0]).and(contains("--of bound")));
    }
    wrong(&["--stage", "bounds", "--entry", "pdf"])
        .stderr(contains("only s").and(contains("--entry")));
}
