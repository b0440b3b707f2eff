//! `lightbound shader bound`: bounds contain the values of the shader.

use crate::common::shader_dir::{
    ShaderDir, library_files, lobe_of_products, lobe_with_defaults, targets,
};

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

    /// A random subinterval: sometimes a point, sometimes the full interval.
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

/// Random boxes as a table for `bound`, and `members` points in each box as a table for `eval`.
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
    let dir = ShaderDir::new(&lobe_with_defaults());
    let (boxes, points) = boxes(150, MEMBERS);
    let values = dir.table("eval", &points, &[]);
    for nan in ["suppress", "propagate", "ignore"] {
        let bounds = dir.table("bound", &boxes, &["--nan", nan]);
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
    for file in library_files() {
        let name = file.display();
        let dir = ShaderDir::new(&std::fs::read_to_string(&file).unwrap());
        let (values, bounds) = (dir.table("eval", &points, &[]), dir.table("bound", &boxes, &[]));
        assert_eq!(dir.table("bound", &boxes, &["--mode", "naive"]), bounds, "{name}");
        for (bound, values) in bounds.rows.iter().zip(values.rows.chunks(MEMBERS)) {
            // The last columns: s.r, s.g and s.b, or a phase function.
            let first = values[0].len() - bound.len() / 2;
            for (ends, k) in bound.chunks(2).zip(first..) {
                for s in values.iter().map(|value| value[k]).filter(|s| !s.is_nan()) {
                    assert!(ends[0] <= s && s <= ends[1], "{name}: {s} in {ends:?}");
                }
            }
        }
    }
}

#[test]
fn modes_targets_and_sides_give_the_same_bounds() {
    let dir = ShaderDir::new(&lobe_with_defaults());
    let (boxes, _) = boxes(150, 1);
    for nan in ["suppress", "propagate", "ignore"] {
        let bounds = |args: &[&str]| dir.table("bound", &boxes, &[args, &["--nan", nan]].concat());
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

/// Boxes of light directions, with view directions near the mirror direction, as a table for
/// `bound`, and unit vectors in the boxes as a table for `eval`.
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
    let dir = ShaderDir::new(&lobe_of_products());
    let (boxes, points) = boxes_of_directions(120, MEMBERS);
    let set = ["--set", "ks=10", "--set", "squarings=4"];
    let bounds = |args: &[&str]| dir.table("bound", &boxes, &[&set[..], args].concat()).rows;
    let values = dir.table("eval", &points, &set).rows;
    let related = ["--mode", "related"];
    let option_sets: [&[&str]; 5] = [
        &[],
        &["--split", "4"],
        &related,
        &["--mode", "related", "--split", "2"],
        &["--mode", "related", "--split", "4"],
    ];
    let all = option_sets.map(bounds);
    // In each pair, the bounds of the first mode lie within those of the second.
    for (inner, outer) in [(1, 0), (2, 0), (3, 2), (4, 2)] {
        let mut narrower = 0;
        for (row, (a, b)) in all[inner].iter().zip(&all[outer]).enumerate() {
            assert!(
                b[0] <= a[0] && a[1] <= b[1],
                "row {row}: {a:?} of {:?}, {b:?} of {:?}",
                option_sets[inner],
                option_sets[outer]
            );
            narrower += usize::from(a[1] - a[0] < 0.9 * (b[1] - b[0]));
        }
        assert!(
            narrower > 40,
            "{:?} is narrower than {:?} for {narrower} of 120",
            option_sets[inner],
            option_sets[outer]
        );
    }
    for (bounds, options) in all.iter().zip(option_sets) {
        for (bound, values) in bounds.iter().zip(values.chunks(MEMBERS)) {
            assert!(
                values.iter().all(|value| bound[0] <= value[3] && value[3] <= bound[1]),
                "{options:?}: {bound:?}, {values:?}"
            );
        }
    }
    assert_ne!(bounds(&[&related[..], &["--relations", "unit"]].concat()), all[2]);
}

#[test]
fn zero_width_boxes_match_point_evaluation() {
    let dir = ShaderDir::new(&lobe_with_defaults());
    let at = ["--wi", "0,0.6,0.8", "--wo", "0,-0.6,0.8", "--set", "kd=0.1,0.2,0.3"];
    let text = dir.stdout("eval", &at);
    let s = text.lines().find(|line| line.starts_with("s ")).unwrap();
    let s: Vec<f32> = s.split_whitespace().skip(1).take(3).map(|x| x.parse().unwrap()).collect();
    let names: Vec<String> = ["s.r", "s.g", "s.b"].map(str::to_owned).into();
    let expected: Vec<_> = names.into_iter().zip(s.iter().map(|&x| [x, x])).collect();
    assert_eq!(dir.bound(&at), expected);
    // Interval lowerings are exact for these point intervals.
    assert_eq!(
        dir.bound(&[
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
