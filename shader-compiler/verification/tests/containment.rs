//! Containment tests, without tolerance: the results of members of a box lie within its bounds,
//! optimized bounds equal naive ones, and related bounds are nowhere wider. `cargo run -p
//! lightbound-benches --release -- containment` runs for longer.

use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges};
use lightbound_shader::interval::{Bounds, Floats};
use lightbound_shader::ir::Op;
use lightbound_shader::ir::text::parse;
use lightbound_shader::lift::Input;
use lightbound_shader::relations::Relation;
use lightbound_shader::{Settings, Shader, Target};
use lightbound_verification::containment::{
    Checker, Fault, Sample, Subject, Tally, WindowChecker, unary_ops,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Number of members per box.
const MEMBERS: usize = 12;

/// Loop cap. It is low, so that some loops reach it.
const LOOP_CAP: u32 = 40;

/// Checks a subject on one target, which depends on the seed.
fn check(subject: &Subject, seed: u64, boxes: usize) {
    let targets: Vec<_> = Target::ALL.into_iter().filter(|target| target.is_available()).collect();
    let target = targets[seed as usize % targets.len()];
    let loop_cap = if seed.is_multiple_of(5) { 3 } else { LOOP_CAP };
    let tally = Checker::check(subject, target, loop_cap, seed, boxes, MEMBERS);
    sound(&subject.name, &tally, |fault| {
        let (reduced, found) = Checker::reduced(subject, fault, loop_cap, seed);
        let shown = found.map(|fault| fault.to_string()).unwrap_or_default();
        format!("reduced: {shown}{}", reduced.point)
    });
}

fn sound(name: &str, tally: &Tally, explain: impl Fn(&Fault) -> String) {
    if let Some(fault) = tally.faults.first() {
        panic!("{name}: {fault}\n{}", explain(fault));
    }
    assert!(!tally.is_faulty(), "{name}");
}

#[test]
fn operations() {
    // `any` makes sense only within lowered functions.
    for &op in Op::ALL.iter().filter(|&&op| op != Op::Any) {
        for seed in 0..12 {
            check(&Subject::op(op, seed), seed, 40);
        }
    }
}

#[test]
fn operations_with_one_argument() {
    for op in unary_ops() {
        let (mut windows, mut tally) = (WindowChecker::new(op), Tally::default());
        for place in 0..30 {
            windows.run(windows.words() / 30 * place, 400, 4, &mut tally);
            windows.sweep_block(windows.blocks() / 30 * place, &mut tally);
        }
        sound(op.name(), &tally, |_| String::new());
        assert!(tally.checks > 0, "{}", op.name());
    }
}

#[test]
fn random_functions() {
    for seed in 0..300 {
        let subject = Subject::random(seed);
        check(&if seed.is_multiple_of(3) { subject.deep() } else { subject }, seed, 12);
    }
}

#[test]
fn patterns_of_relations() {
    for seed in 0..120 {
        check(&Subject::patterns(seed), seed, 24);
    }
}

#[test]
fn every_relation_takes_effect() {
    let mut counts = BTreeMap::new();
    for seed in 0..400 {
        for relation in Subject::patterns(seed).effective_relations().iter() {
            *counts.entry(relation).or_insert(0) += 1;
        }
    }
    for relation in Relation::ALL {
        let times = counts.get(relation).copied().unwrap_or(0);
        assert!(times >= 10, "{relation} takes effect {times} times: {counts:?}");
    }
}

/// The `*.wgsl` files of a folder, in order.
fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "wgsl"))
        .collect();
    paths.sort();
    paths
}

/// Checks bounds of a shader for selected combinations of inputs, ranges and frames.
fn check_shader(path: &Path, combinations: impl Iterator<Item = usize>) {
    let name = path.file_name().expect("it is a file").to_string_lossy();
    let source = std::fs::read_to_string(path).expect("the file can be read");
    let shader = Shader::parse(&name, &source).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let settings = Settings { loop_cap: LOOP_CAP, ..Settings::default() };
    for k in combinations {
        let frame = [Frame::Local, Frame::World][k % 2];
        let interval_inputs = [IntervalInputs::Light, IntervalInputs::All][k / 2 % 2];
        let ranges = [Some(Ranges::Declared), Some(Ranges::Paper), None][k / 4 % 3];
        let integrand = Integrand::new(&shader, &settings, frame)
            .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let subject =
            Subject::material(&format!("{name}, {frame:?}"), &integrand, interval_inputs, ranges);
        let (subject, boxes) = if k < 12 { (subject, 32) } else { (subject.deep(), 6) };
        check(&subject, k as u64, boxes);
    }
}

#[test]
fn materials() {
    for (turn, path) in files("../../assets/shaders").iter().enumerate() {
        check_shader(path, (turn % 12..24).step_by(12));
    }
}

#[test]
fn language_features() {
    for (turn, path) in files("../tests/shaders").iter().enumerate() {
        check_shader(path, (turn % 12..24).step_by(12));
    }
}

#[test]
fn loops_end_at_the_cap() {
    // 2 x − x ÷ 2 grows for each member. The lower endpoint of its interval falls once that is
    // wide.
    let text = "fn f(a: f32, b: f32) -> (r: f32) {
        %0 = loop (%1: f32 = a) {
            %2 = lt %1, b
            while %2 else %1
            %3 = mul %1, 2.0
            %4 = mul %1, 0.5
            %5 = sub %3, %4
            next %5
        }
        return %0
    }";
    let point = parse(text).expect("the text is well formed");
    let input = |low, high| Input {
        interval: true,
        bounds: Bounds::Float(Floats::between(low, high)),
        axis: None,
    };
    // Members leave the loop after at most 60 iterations.
    let subject = Subject::new("loop".to_owned(), point, vec![input(1e-9, 1.0), input(0.0, 1.0)]);
    for cap in [1, 5, 1000] {
        for target in Target::ALL.into_iter().filter(|target| target.is_available()) {
            let tally = Checker::check(&subject, target, cap, 0, 100, MEMBERS);
            sound("loop", &tally, |_| String::new());
            assert!(tally.checks > 10_000);
        }
    }
}

#[test]
fn capped_loops_hide_no_nan() {
    // After ten iterations, members take the root of a negative number.
    let text = "fn f(a: f32) -> (r: f32) {
        %0 = loop (%1: f32 = a, %2: f32 = 0.0) {
            %3 = lt %1, 30.0
            while %3 else %2
            %4 = sub 10.0, %1
            %5 = sqrt %4
            %6 = add %1, 1.0
            next %6, %5
        }
        return %0
    }";
    let point = parse(text).expect("the text is well formed");
    let input =
        Input { interval: true, bounds: Bounds::Float(Floats::between(0.0, 5.0)), axis: None };
    let subject = Subject::new("loop".to_owned(), point, vec![input]);
    for cap in [1, 3, 1000] {
        let tally = Checker::check(&subject, Target::Interpreter, cap, 0, 200, MEMBERS);
        sound("loop", &tally, |_| String::new());
        assert!(tally.checks > 10_000);
    }
}

#[test]
fn nan_tests_keep_possible_zero_signs_of_divisors() {
    // Testing that a ÷ b is finite must leave the possible signs of a zero quotient as they are
    // without tests.
    let text = "fn f(a: f32, b: f32, c: f32) -> (r: f32) {
        %0 = div a, b
        %1 = max %0, 0.0
        %2 = div %0, %1
        %3 = max %2, 0.0
        %4 = div c, %3
        return %4
    }";
    let point = parse(text).expect("the text is well formed");
    let input = |low, high| Input {
        interval: true,
        bounds: Bounds::Float(Floats::between(low, high)),
        axis: None,
    };
    let subject = Subject::new(
        "zeros".to_owned(),
        point,
        vec![input(1e-4, 1.0), input(-1.0, 1.0), input(1e-4, 1.0)],
    );
    let tally = Checker::check(&subject, Target::Interpreter, LOOP_CAP, 0, 300, MEMBERS);
    sound("zeros", &tally, |_| String::new());
    assert!(tally.checks > 10_000);
}

#[test]
fn unions_of_loop_exits_keep_nan() {
    // For members that leave at once the result is ∞ − ∞; for the others it is 1.
    let text = "fn f(a: f32, b: f32, c: f32) -> (r: f32) {
        %0 = sub b, c
        %1 = loop (%2: f32 = a, %3: f32 = %0) {
            %4 = lt %2, 5.0
            while %4 else %3
            %5 = add %2, 1.0
            next %5, 1.0
        }
        return %1
    }";
    let point = parse(text).expect("the text is well formed");
    let input = Input {
        interval: true,
        bounds: Bounds::Float(Floats::between(0.0, f32::INFINITY)),
        axis: None,
    };
    let subject = Subject::new("loop".to_owned(), point, vec![input; 3]);
    let infinity = [f32::INFINITY.to_bits(); 2];
    let members = [7.0f32, 1.0].map(|a| vec![a.to_bits(), infinity[0], infinity[0]]).to_vec();
    let sample =
        Sample { endpoints: vec![[0.0f32, 10.0].map(f32::to_bits), infinity, infinity], members };
    sound("loop", &Checker::check_on(&subject, Target::Interpreter, 100, 0, &[sample]), |_| {
        String::new()
    });
}

/// Checks a material with the given BRDF body in all kinds of code; its local variable `x` is
/// bounded.
fn check_brdf(body: &str, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let subject = subject(body);
        check(&if seed.is_multiple_of(2) { subject.deep() } else { subject }, seed, 64);
    }
}

#[test]
fn relations_of_discrete_values_hold_for_endpoints_between_them() {
    for body in [
        "let s = step(0.2, wi.x); let q = s * (1.0 - s) - 0.1; return vec3f(1.0 - q * q);",
        "let s = sign(wi.x); let q = s * (0.5 - s); return vec3f(1.0 / (q + 0.1), q, sqrt(q + 0.5));",
        // A condition clamps its operands in the arms.
        "let s = step(0.2, wi.x); if (s < wi.y) { return vec3f(1.0 / (s + 0.5), s * wi.y, sqrt(wi.y - s)); } return vec3f(s);",
        "let s = select(-1.0, 1.0, wi.x > wi.y); let q = s - s * s * 0.5; return vec3f(1.0 / q, q, 2.0 - q);",
        // Clamped at 0, which is not a value of s: a quotient of two zeros, and a product of 0 and
        // ∞.
        "let s = select(-1.0, 1.0, wi.z > wi.y); let t = abs(wi.y);
            if (s < step(0.3, wi.x)) { return vec3f(s / t, s * (1.0 / t), exp(s)); } return vec3f(s);",
        "let s = step(0.1, wi.x) * 0.5; let t = s / (s + 0.25); return vec3f(t, t * t, 1.0 / (t - 0.3));",
    ] {
        check_brdf(body, 0..6);
    }
}

#[test]
fn arms_without_members_hide_no_bound() {
    for body in [
        // Some boxes that cross the horizon contain no unit vectors above it.
        "if (wi.z <= 0.0) { return vec3f(0.0); } return vec3f(log2(0.5 + dot(wi, wi)));",
        "if (wi.z <= 0.0) { return vec3f(0.0); } let t = dot(wi, wi); return vec3f(0.5 * (t * t));",
        "if (wi.z <= 0.0) { return vec3f(0.0); } let t = 1.0 - dot(wi, wi); return vec3f(t * t) * (0.0 / acos(wi.z) + 1.0);",
        "if (wi.x < 0.5) { return vec3f(sqrt(1.0 - wi.x * wi.x), 1.0 / (wi.y * wi.y + wi.z * wi.z), wi.y); } return vec3f(wi.x);",
        "var t = 1.0; for (var k = 0; k < 4 && t > 0.3 * wi.z; k++) { t = t * dot(wi, wi) - 0.25; } return vec3f(t, 1.0 / t, t * t);",
    ] {
        check_brdf(body, 0..6);
    }
}

/// The point shader of a material and its inputs. The light direction is an interval.
fn subject(body: &str) -> Subject {
    let source = format!("fn brdf(wi: vec3f, wo: vec3f) -> vec3f {{ {body} }}");
    let shader =
        Shader::parse("brdf.wgsl", &source).unwrap_or_else(|error| panic!("{body}: {error:?}"));
    let integrand =
        Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
    Subject::material(body, &integrand, IntervalInputs::Light, Some(Ranges::Declared))
}

#[test]
fn conditions_with_crossing_endpoints_leave_empty_results() {
    // For x > 0 there are no unit vectors, and dot(wi, wi) is at least 1 and at most 0.09. Neither
    // arm runs and no member leaves the loop. What follows is joined with the results of members
    // with x < 0.
    let endpoints = [[-1.0f32, 0.1], [0.1, 0.2], [0.1, 0.2], [0.0; 2], [0.0; 2], [1.0; 2]]
        .map(|endpoints| endpoints.map(f32::to_bits));
    let y_and_z = [0.1f32, 0.125, 0.15, 0.2];
    let members = y_and_z.map(|y| {
        let x = -(1.0 - 2.0 * y * y).sqrt();
        [x, y, y, 0.0, 0.0, 1.0].map(f32::to_bits).to_vec()
    });
    let sample = Sample { endpoints: endpoints.to_vec(), members: members.to_vec() };
    for body in [
        "if (wi.x <= 0.0) { return vec3f(0.5); } let s = dot(wi, wi) - wi.y; var y = 0.0;
            if (s < 0.5) { y = 1.0 + exp(-wi.y * wi.y) * exp(-wi.x * wi.z); }
            else { y = 3.0 + exp(-wi.x * wi.x) * exp(-wi.y * wi.z); }
            return vec3f(1.0 + log2(y), log2(y), y);",
        "if (wi.x <= 0.0) { return vec3f(0.5); } var t = dot(wi, wi) - wi.y; var y = 3.0;
            for (var k = 0; k < 8 && t > 0.7; k++) { y = y * 0.75 + exp(-wi.y * t); t = t - 0.1 * wi.z; }
            return vec3f(1.0 + log2(y), 0.5 - y, y);",
    ] {
        for (seed, target) in Target::ALL.into_iter().filter(|target| target.is_available()).enumerate() {
            let tally = Checker::check_on(&subject(body), target, LOOP_CAP, seed as u64, std::slice::from_ref(&sample));
            sound(body, &tally, |_| String::new());
            assert!(tally.related > 0, "{tally:?}");
        }
    }
}

#[test]
fn integers_converted_from_nan_are_in_static_bounds() {
    check_brdf(
        "return vec3f(f32(i32(select(fract(wo.x * 3e38 * 3e38), dot(wi, wi), wo.y > 0.0))));",
        0..12,
    );
}
