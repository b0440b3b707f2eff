//! Containment tests, without tolerance: results for members of a box lie within the bounds,
//! optimized bounds equal naive ones, and related bounds are never wider. `cargo run -p
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

/// Loop cap: low, so that some loops reach it.
const LOOP_CAP: u32 = 40;

/// Checks a subject on one target, which the seed selects.
fn check(subject: &Subject, seed: u64, boxes: usize) {
    let targets: Vec<_> = Target::ALL.into_iter().filter(|target| target.is_available()).collect();
    let target = targets[seed as usize % targets.len()];
    let loop_cap = if seed.is_multiple_of(5) { 3 } else { LOOP_CAP };
    let tally = Checker::check(subject, target, loop_cap, seed, boxes, MEMBERS);
    assert_no_faults(&subject.name, &tally, |fault| {
        let (reduced, found) = Checker::reduced(subject, fault, loop_cap, seed);
        let found = found.map(|fault| fault.to_string()).unwrap_or_default();
        format!("reduced: {found}{}", reduced.point)
    });
}

/// Panics with the first fault and an explanation of it.
fn assert_no_faults(name: &str, tally: &Tally, explain: impl Fn(&Fault) -> String) {
    if let Some(fault) = tally.faults.first() {
        panic!("{name}: {fault}\n{}", explain(fault));
    }
    assert!(!tally.is_faulty(), "{name}");
}

#[test]
fn bounds_of_operations_contain_results() {
    // `any` is valid only in lowered functions.
    for &op in Op::ALL.iter().filter(|&&op| op != Op::Any) {
        for seed in 0..12 {
            check(&Subject::op(op, seed), seed, 40);
        }
    }
}

#[test]
fn bounds_of_unary_operations_contain_all_results_in_windows() {
    for op in unary_ops() {
        let (mut windows, mut tally) = (WindowChecker::new(op), Tally::default());
        for step in 0..30 {
            windows.run(windows.words() / 30 * step, 400, 4, &mut tally);
            windows.sweep_block(windows.blocks() / 30 * step, &mut tally);
        }
        assert_no_faults(op.name(), &tally, |_| String::new());
        assert!(tally.checks > 0, "{}", op.name());
    }
}

#[test]
fn bounds_of_random_functions_contain_results() {
    for seed in 0..300 {
        let subject = Subject::random(seed);
        check(
            &if seed.is_multiple_of(3) { subject.with_intermediate_outputs() } else { subject },
            seed,
            12,
        );
    }
}

#[test]
fn bounds_of_relation_patterns_contain_results() {
    for seed in 0..120 {
        check(&Subject::patterns(seed), seed, 24);
    }
}

#[test]
fn every_relation_changes_some_bounding_shaders() {
    let mut counts = BTreeMap::new();
    for seed in 0..400 {
        for relation in Subject::patterns(seed).effective_relations().iter() {
            *counts.entry(relation).or_insert(0) += 1;
        }
    }
    for relation in Relation::ALL {
        let times = counts.get(relation).copied().unwrap_or(0);
        assert!(times >= 10, "{relation} changes {times} of 400 bounding shaders: {counts:?}");
    }
}

/// Returns the `*.wgsl` files in a folder, in order.
fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(folder).expect("the folder exists");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "wgsl"))
        .collect();
    paths.sort();
    paths
}

/// Checks bounds on a shader for selected combinations of interval inputs, ranges and frames.
fn check_shader(path: &Path, combinations: impl Iterator<Item = usize>) {
    let name = path.file_name().expect("the path names a file").to_string_lossy();
    let source = std::fs::read_to_string(path).expect("the file can be read");
    let shader = Shader::parse(&name, &source).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let settings = Subject::settings(&shader, LOOP_CAP);
    for k in combinations {
        let frame = [Frame::Local, Frame::World][k % 2];
        let interval_inputs = [IntervalInputs::Light, IntervalInputs::All][k / 2 % 2];
        let ranges = [Some(Ranges::Declared), Some(Ranges::Paper), None][k / 4 % 3];
        let integrand = Integrand::new(&shader, &settings, frame)
            .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let subject =
            Subject::material(&format!("{name}, {frame:?}"), &integrand, interval_inputs, ranges);
        let (subject, boxes) =
            if k < 12 { (subject, 32) } else { (subject.with_intermediate_outputs(), 6) };
        check(&subject, k as u64, boxes);
    }
}

#[test]
fn bounds_of_materials_contain_results() {
    for (index, path) in files("../../assets/shaders").iter().enumerate() {
        check_shader(path, (index % 12..24).step_by(12));
    }
}

#[test]
fn bounds_of_language_features_contain_results() {
    for (index, path) in files("../tests/shaders").iter().enumerate() {
        check_shader(path, (index % 12..24).step_by(12));
    }
}

#[test]
fn bounds_of_capped_loops_contain_results() {
    // 2 x − x ÷ 2 grows for each member, but the lower endpoint of its interval decreases once the
    // interval is wide.
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
        sorted: None,
    };
    // Members leave the loop after at most 60 iterations.
    let subject = Subject::new("loop".to_owned(), point, vec![input(1e-9, 1.0), input(0.0, 1.0)]);
    for cap in [1, 5, 1000] {
        for target in Target::ALL.into_iter().filter(|target| target.is_available()) {
            let tally = Checker::check(&subject, target, cap, 0, 100, MEMBERS);
            assert_no_faults("loop", &tally, |_| String::new());
            assert!(tally.checks > 10_000);
        }
    }
}

#[test]
fn capped_loops_hide_no_nan() {
    // After 6 to 11 iterations, depending on `a`, the root of a negative number is taken.
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
    let input = Input {
        interval: true,
        bounds: Bounds::Float(Floats::between(0.0, 5.0)),
        axis: None,
        sorted: None,
    };
    let subject = Subject::new("loop".to_owned(), point, vec![input]);
    for cap in [1, 3, 1000] {
        let tally = Checker::check(&subject, Target::Interpreter, cap, 0, 200, MEMBERS);
        assert_no_faults("loop", &tally, |_| String::new());
        assert!(tally.checks > 10_000);
    }
}

#[test]
fn nan_tests_do_not_narrow_zero_signs_of_divisors() {
    // A test that a ÷ b is finite must not change which signs a zero quotient may have.
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
        sorted: None,
    };
    let subject = Subject::new(
        "zeros".to_owned(),
        point,
        vec![input(1e-4, 1.0), input(-1.0, 1.0), input(1e-4, 1.0)],
    );
    let tally = Checker::check(&subject, Target::Interpreter, LOOP_CAP, 0, 300, MEMBERS);
    assert_no_faults("zeros", &tally, |_| String::new());
    assert!(tally.checks > 10_000);
}

#[test]
fn divisors_report_nan_with_either_endpoint() {
    // The lower endpoint of the quotient uses the upper endpoint of the divisor, which is infinite
    // because of 0 · ∞, and is 0.
    for divisor in ["%2 = add %1, 0.5", "%2 = sub -0.5, %1"] {
        let text = format!(
            "fn f(a: f32, b: f32) -> (r: f32) {{
                %0 = max a, 0.0
                %1 = mul %0, b
                {divisor}
                %3 = div 0.5, %2
                return %3
            }}"
        );
        let point = parse(&text).expect("the text is well formed");
        let input = |low, high| Input {
            interval: true,
            bounds: Bounds::Float(Floats::between(low, high)),
            axis: None,
            sorted: None,
        };
        let inputs = vec![input(-1.0, 1.0), input(0.0, f32::INFINITY)];
        let subject = Subject::new("divisor".to_owned(), point, inputs);
        let endpoints = [[-1.0, 0.5], [1.0, f32::INFINITY]].map(|e| e.map(f32::to_bits)).to_vec();
        let members = vec![[-1.0, f32::INFINITY].map(f32::to_bits).to_vec()];
        let sample = Sample { endpoints, members };
        for seed in 0..16 {
            let samples = [sample.clone()];
            let tally = Checker::check_on(&subject, Target::Interpreter, LOOP_CAP, seed, &samples);
            assert_no_faults("divisor", &tally, |_| String::new());
        }
    }
}

#[test]
fn unions_of_loop_exits_keep_nan() {
    // For members that leave the loop at once, the result is ∞ − ∞. For the others, it is 1.
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
        sorted: None,
    };
    let subject = Subject::new("loop".to_owned(), point, vec![input; 3]);
    let infinity = [f32::INFINITY.to_bits(); 2];
    let members = [7.0f32, 1.0].map(|a| vec![a.to_bits(), infinity[0], infinity[0]]).to_vec();
    let sample =
        Sample { endpoints: vec![[0.0f32, 10.0].map(f32::to_bits), infinity, infinity], members };
    assert_no_faults(
        "loop",
        &Checker::check_on(&subject, Target::Interpreter, 100, 0, &[sample]),
        |_| String::new(),
    );
}

/// Checks a material with this body of `brdf`.
fn check_brdf(body: &str, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let subject = brdf_subject(body);
        check(
            &if seed.is_multiple_of(2) { subject.with_intermediate_outputs() } else { subject },
            seed,
            64,
        );
    }
}

#[test]
fn relations_of_discrete_values_hold_for_endpoints_between_the_values() {
    for body in [
        "let s = step(0.2, wi.x); let q = s * (1.0 - s) - 0.1; return vec3f(1.0 - q * q);",
        "let s = sign(wi.x); let q = s * (0.5 - s); return vec3f(1.0 / (q + 0.1), q, sqrt(q + 0.5));",
        // The condition clamps the endpoints of its operands in the arms.
        "let s = step(0.2, wi.x); if (s < wi.y) { return vec3f(1.0 / (s + 0.5), s * wi.y, sqrt(wi.y - s)); } return vec3f(s);",
        "let s = select(-1.0, 1.0, wi.x > wi.y); let q = s - s * s * 0.5; return vec3f(1.0 / q, q, 2.0 - q);",
        // s is clamped to 0, which is not one of its values: a quotient 0 ÷ 0, and a product 0 · ∞.
        "let s = select(-1.0, 1.0, wi.z > wi.y); let t = abs(wi.y);
            if (s < step(0.3, wi.x)) { return vec3f(s / t, s * (1.0 / t), exp(s)); } return vec3f(s);",
        "let s = step(0.1, wi.x) * 0.5; let t = s / (s + 0.25); return vec3f(t, t * t, 1.0 / (t - 0.3));",
        // The integer is always even, but the endpoints of its lowest bit are 0 and 1.
        "let t = select(0.5, 0.73, (i32(step(0.5, wi.z) * 2.0) & 1) == 0); let w = t * t; return vec3f(w * (1.0 - w), w, t);",
    ] {
        check_brdf(body, 0..6);
    }
}

#[test]
fn bounds_hold_if_no_member_takes_an_arm() {
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

/// Compiles a material with this body of `brdf`. The light direction is an interval.
fn brdf_subject(body: &str) -> Subject {
    let source = format!("fn brdf(wi: vec3f, wo: vec3f) -> vec3f {{ {body} }}");
    let shader =
        Shader::parse("brdf.wgsl", &source).unwrap_or_else(|error| panic!("{body}: {error:?}"));
    let integrand =
        Integrand::new(&shader, &Settings::default(), Frame::Local).expect("it compiles");
    Subject::material(body, &integrand, IntervalInputs::Light, Some(Ranges::Declared))
}

#[test]
fn branches_on_empty_intervals_do_not_affect_bounds() {
    // There are no unit vectors with x > 0, so the interval of dot(wi, wi) is empty: its lower
    // endpoint is 1, its upper endpoint 0.09. Neither arm runs and no member leaves the loop. The
    // results are merged with those of members with x < 0.
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
        let (subject, samples) = (brdf_subject(body), [sample.clone()]);
        let targets = Target::ALL.into_iter().filter(|target| target.is_available());
        for (seed, target) in targets.enumerate() {
            let tally = Checker::check_on(&subject, target, LOOP_CAP, seed as u64, &samples);
            assert_no_faults(body, &tally, |_| String::new());
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
