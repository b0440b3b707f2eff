//! Faults of shaders: what is proved holds for random inputs, and witnesses fail.

use lightbound_shader::faults::{self, Outcome, Report};
use lightbound_shader::random::Random;
use lightbound_shader::texture::{SamplerState, TextureState, Wrap};
use lightbound_shader::{Entry, Settings, Shader, interpreter, passes};

/// A shader with parameters `a`, from -1 to 1, and `b`, from 0 to 2, and this body of `brdf`.
fn shader(body: &str) -> Shader {
    let text = format!(
        "struct Material {{
            /// range: [-1, 1], default: 0.5
            a: f32,
            /// range: [0, 2], default: 1
            b: f32,
        }}
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {{ {body} }}"
    );
    Shader::parse("test.wgsl", &text).unwrap_or_else(|error| panic!("{}", error.one_line()))
}

fn report(shader: &Shader) -> Report {
    faults::find(shader, Entry::Integrand, &Settings::default(), faults::UNIT_CUBE)
        .expect("the shader is valid")
}

/// The expression of the only operation that fails, and how it fails.
fn only_fault(shader: &Shader) -> (&str, Outcome) {
    let mut faults = report(shader).faults;
    faults.retain(|fault| !matches!(fault.outcome, Outcome::Unknown { follows: true }));
    let [fault] = &faults[..] else { panic!("{faults:?}") };
    let location = fault.location.clone().expect("the text has an expression for it");
    (&shader.text()[location], fault.outcome.clone())
}

#[test]
fn faults_have_the_location_of_their_expression() {
    for (body, expression) in [
        ("let x = 2.0 * m.b; return vec3f(0.5 / x + m.a);", "0.5 / x"),
        // The first of two equal operations.
        ("let x = 0.5 / m.b; let y = 0.5 / m.b; return vec3f(x, y, 1.0);", "0.5 / m.b"),
        ("var x = 1.0; if m.a > 0.0 { x /= m.b; } return vec3f(x);", "x /= m.b"),
        (
            "var x = 0.0; for (var i = 0; i < 3; i++) { x = max(x, 1.0 / m.b); } return vec3f(x);",
            "1.0 / m.b",
        ),
        ("return vec3f(select(1.0 / m.b, 0.0, m.a > 0.0));", "1.0 / m.b"),
    ] {
        assert_eq!(only_fault(&shader(body)).0, expression, "{body}");
    }
    let called = Shader::parse(
        "test.wgsl",
        "fn inverse(x: f32) -> f32 { return 1.0 / x; }
        fn brdf(wi: vec3f, wo: vec3f) -> vec3f { return vec3f(inverse(wi.x)); }",
    );
    assert_eq!(only_fault(&called.expect("it is valid")).0, "1.0 / x");
}

#[test]
fn operations_run_only_where_the_program_runs_them() {
    for body in [
        "var x = 0.0; if m.b > 0.5 { x = 1.0 / m.b; } return vec3f(x);",
        "if m.b == 0.0 { return vec3f(0.0); } return vec3f(m.b / m.b + log(1.0 + m.b));",
        "if m.b <= 0.5 || m.a < 0.0 { return vec3f(0.0); } return vec3f(sqrt(m.a) / m.b);",
        "var x = 1.0; while x < m.b { x += 0.5 / m.b; } return vec3f(min(x, 3.0));",
        "return refract(-wi, vec3f(0.0, 0.0, 1.0), 1.5 + m.a);",
    ] {
        let report = report(&shader(body));
        let affected =
            report.faults.iter().any(|fault| matches!(&fault.outcome, Outcome::Happens(_)));
        assert!(!affected, "{body}: {:?}", report.faults);
    }
}

#[test]
fn witnesses_name_only_the_inputs_that_matter() {
    let (_, outcome) = only_fault(&shader("return wi * m.a / m.b;"));
    let Outcome::Happens(witness) = outcome else { panic!("{outcome:?}") };
    let names: Vec<&str> = witness.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!((names, &witness.inputs[0].words[..]), (vec!["b"], &[0][..]));
    assert!(witness.result.is_some());
}

#[test]
fn proofs_hold_for_random_inputs() {
    let terms = [
        "sqrt(m.a * m.a - 0.1)",
        "1.0 / (m.b + 0.01)",
        "log(m.b + wi.z)",
        "acos(wi.x)",
        "exp(50.0 * m.b)",
        "1.0 / (m.a + 1.5)",
        "pow(m.b, m.a)",
        "sqrt(1.0 - wo.z * wo.z)",
        "acos(dot(wi, wo))",
        "normalize(wi + wo).x",
        "1.0 / (wi.z + wo.z)",
        "log(m.b * m.b + 1e-3)",
        "inverseSqrt(m.b + m.a + 1.0)",
        "m.a / (m.b * m.b - m.b + 0.5)",
        "sqrt(m.b) / (1.0 + m.a)",
        "smoothstep(m.a, 2.0, m.b)",
        "log(m.b - m.a)",
        "1.0 / (m.a - m.b)",
        "sqrt(wi.z - wo.z)",
        "f32(7 / (i32(9.0 * m.a) - i32(9.0 * m.b)))",
    ];
    let guards = [
        "true",
        "m.a > 0.0",
        "m.b >= 0.25",
        "m.a != 0.5",
        "wi.z > wo.z",
        "m.a + m.b < 1.0",
        "m.a < m.b - 0.01",
        "!(m.a < m.b)",
        "abs(m.a - m.b) >= 0.01",
        "i32(9.0 * m.a) < i32(9.0 * m.b)",
    ];
    let mut random = Random::new(7);
    let (mut proved, mut failing) = (0, 0);
    for _ in 0..250 {
        let [x, y] = [0; 2].map(|_| *random.pick(&terms));
        let [p, q] = [0; 2].map(|_| *random.pick(&guards));
        let body =
            format!("var x = 1.0; if {p} {{ x = {x}; }} if {q} {{ x *= {y}; }} return vec3f(x);");
        let shader = shader(&body);
        let report = report(&shader);
        let reaches = |outcome: &Outcome| matches!(outcome, Outcome::Happens(witness) if witness.result.is_some());
        failing += usize::from(report.faults.iter().any(|fault| reaches(&fault.outcome)));
        if !report.faults.is_empty() {
            continue;
        }
        proved += 1;
        let function = shader.function(Entry::Integrand, &Settings::default());
        let point = passes::optimize(&function.expect("it is valid"));
        for _ in 0..500 {
            let mut unit = || {
                let z = 1e-9f64.max(random.below(1000) as f64 / 999.0);
                let angle = random.below(1000) as f64 * 0.00628;
                let r = (1.0 - z * z).sqrt();
                [r * angle.cos(), r * angle.sin(), z].map(|x| x as f32)
            };
            let [wi, wo] = [unit(), unit()];
            let a = random.below(101) as f32 / 50.0 - 1.0;
            let b = random.below(101) as f32 / 50.0;
            let row: Vec<u32> =
                [&wi[..], &wo, &[a, b]].concat().into_iter().map(f32::to_bits).collect();
            let s = interpreter::run(&point, &[], &row, 1 << 20).expect("there are no loops");
            let finite = s.iter().all(|&word| f32::from_bits(word).is_finite());
            assert!(finite, "{body} is not finite for {:?}", [&wi[..], &wo, &[a, b]].concat());
        }
    }
    assert!(proved >= 20 && failing >= 20, "{proved} proofs, {failing} shaders that fail");
}

/// A shader with a texture `t`, whose doc comment is given, and this body of `brdf`.
fn textured(comment: &str, body: &str) -> Shader {
    let text = format!(
        "/// {comment}
        var t: texture_2d<f32>;
        var s: sampler;
        fn at(u: f32, v: f32) -> vec4f {{ return textureSample(t, s, vec2f(u, v)); }}
        fn brdf(wi: vec3f, wo: vec3f) -> vec3f {{ {body} }}"
    );
    Shader::parse("test.wgsl", &text).unwrap_or_else(|error| panic!("{}", error.one_line()))
}

#[test]
fn texels_are_in_declared_ranges() {
    for (comment, body, fails) in [
        ("Grain.", "return vec3f(1.0 / at(wi.x, wi.y).r);", true),
        ("Grain.", "return vec3f(1.0 / (1.5 - at(wi.x, wi.y).g));", false),
        ("range: [0, 2]", "return vec3f(1.0 / (1.5 - at(wi.x, wi.y).g));", true),
        ("range: [2, 3]", "return sqrt(at(wi.x, wi.y).rgb - 2.0) / at(0.0, 0.0).b;", false),
        // The opacity of an image without one is 1.
        ("range: [2, 3]", "return vec3f(1.0 / (at(wi.x, wi.y).a - 1.0));", true),
        ("range: [2, 3]", "return vec3f(log(at(wi.x, wi.y).a));", false),
        ("Tint.", "let c = at(wi.x, wi.y).rgb; return c / length(c);", true),
        ("Tint.", "let c = at(wi.x, wi.y).rgb + 0.1; return c / length(c);", false),
        ("Grain.", "return vec3f(1.0 / textureLoad(t, vec2(3, 4), 0).r);", true),
        ("Grain.", "return vec3f(1.0 / vec2f(textureDimensions(t)), 1.0);", false),
    ] {
        let shader = textured(comment, body);
        let report = report(&shader);
        let happens = report.faults.iter().any(|fault| match &fault.outcome {
            Outcome::Happens(witness) => {
                witness.result.is_some()
                    && witness.inputs.iter().any(|input| input.name == faults::texels_of("t"))
            }
            Outcome::Unknown { .. } => false,
        });
        assert_eq!(happens, fails, "{comment} {body}: {:?}", report.faults);
        assert!(fails || report.faults.is_empty(), "{comment} {body}: {:?}", report.faults);
    }
}

/// Two lookups are the same number for images of one colour only.
#[test]
fn proofs_hold_for_images_of_many_colours() {
    for body in [
        "return vec3f(1.0 / (1.0 + at(wi.x, 0.0).r - at(wi.y, 0.0).r));",
        "var x = 1.0; var last = at(0.0, 0.0).r; for (var i = 0; i < 40; i++) {
            let next = at(f32(i) * wi.x, 0.0).r; x = min(x, 1.0 + next - last); last = next;
        }
        return vec3f(1.0 / x);",
    ] {
        let faults = report(&textured("Grain.", body)).faults;
        assert!(!faults.is_empty(), "{body}");
    }
}

#[test]
fn black_borders_are_texels() {
    let shader = textured("range: [0.5, 1]", "return vec3f(1.0 / at(wi.x, wi.y).r);");
    let found = [Wrap::Clamp, Wrap::Black].map(|wrap| {
        let state = TextureState {
            sampler: SamplerState { wrap, ..SamplerState::default() },
            ..TextureState::default()
        };
        let settings = Settings { textures: vec![("t".to_owned(), state)], ..Settings::default() };
        let report = faults::find(&shader, Entry::Integrand, &settings, faults::UNIT_CUBE);
        report.expect("the shader is valid").faults.len()
    });
    assert!(found[0] == 0 && found[1] > 0, "{found:?}");
}

/// A function of floats, integers and a bool with this body.
fn function(body: &str) -> Shader {
    let text = format!(
        "fn f(
            /// range: [0, 2]
            a: f32,
            /// range: [-1, 1]
            b: f32,
            /// range: [-1, 1]
            x: f32,
            /// range: [1, 100000]
            n: i32,
            /// range: [-50, 50]
            k: i32,
            /// range: [0, 4294967295]
            u: u32,
            /// range: [0, 4294967295]
            v: u32,
        ) -> f32 {{ {body} }}"
    );
    Shader::parse_function("test.wgsl", &text, "f")
        .unwrap_or_else(|error| panic!("{}", error.one_line()))
}

fn function_report(body: &str) -> Report {
    let shader = function(body);
    faults::find(&shader, Entry::Function, &Settings::default(), faults::UNIT_CUBE)
        .expect("the shader is valid")
}

#[test]
fn orders_of_operands_are_used_in_proofs() {
    for body in [
        "if (a < b) { return sqrt(b - a); } return 0.0;",
        "if (a > b) { return 0.0; } return sqrt(b - a);",
        "let d = b - a; if (a > b) { return 0.0; } return sqrt(d);",
        "if (n < k) { return f32(10 / (k - n)); } return 0.0;",
        "if (n == k) { return 0.0; } return f32(10 % (k - n));",
        "if (u >= v) { return 0.0; } return f32(10u / (v - u));",
        "var s = 0.0; for (var i = 0; i < n; i++) { s = max(s, 1.0 / f32(n - i)); } return s;",
        "if (b > a + 0.001) { return 1.0 / (b - a); } return 0.0;",
        "if (b - 0.001 > a) { return 1.0 / (a - b); } return 0.0;",
        "if (a >= b) { return 0.0; } return log(b - a);",
        "if (max(a, x) < b) { return log(b - a) + log(b - x); } return 0.0;",
        "if (a == b) { return 0.0; } return log(abs(b - a));",
        "if (a < b) { return inverseSqrt(2.0 * (b - a) + 0.0); } return 0.0;",
        "if (abs(b - a) < 1e-6) { return 0.0; } return 1.0 / (b - a);",
        "if (a < b) { return smoothstep(a, b, x); } return 0.0;",
        "if (x < 1.0 && x > -1.0) { return 1.0 / (1.0 - x) + atanh(x); } return 0.0;",
        "if (k > 2) { return f32(10 / (k - 2)); } return 0.0;",
        "if (u == 0u) { return 0.0; } return f32(10u / u);",
        "if (x < 1.0) { return 1.0 / (1.0 - x); } return 0.0;",
    ] {
        let faults = function_report(body).faults;
        assert!(faults.is_empty(), "{body}: {faults:?}");
    }
}

#[test]
fn proofs_stop_where_orders_allow_faults() {
    for body in [
        // Rounded quotients overflow.
        "if (a < b) { return 1.0 / (b - a); } return 0.0;",
        "if (a >= b) { return 0.0; } return (x - a) / (b - a);",
        "if (a >= 0.0) { return 1.0 / a; } return 0.0;",
        "if (a > 0.0) { return 1.0 / a; } return 0.0;",
        "if (a <= b) { return smoothstep(a, b, x); } return 0.0;",
        "if (a <= b) { return log(b - a); } return 0.0;",
        "if (a <= b) { return sqrt(a - b); } return 0.0;",
        "if (n <= k) { return f32(10 / (k - n)); } return 0.0;",
        "if (k > 2) { return f32(10 / (k - 3)); } return 0.0;",
        "if (u < v) { return f32(10u / (v - u - 1u)); } return 0.0;",
        // Both differences are infinite.
        "return smoothstep(-3e38, 3e38, 3e38 * x);",
        // a + 1e-30 is rounded to a.
        "if (b >= a + 1e-30) { return 1.0 / (b - a); } return 0.0;",
    ] {
        let faults = function_report(body).faults;
        let happens = faults.iter().any(|fault| matches!(fault.outcome, Outcome::Happens(_)));
        assert!(happens, "{body}: {faults:?}");
    }
}

#[test]
fn inputs_matter_if_a_special_value_avoids_the_fault() {
    let body = "var y = a; for (var i = 0; i < 200; i++) { y *= 2.0; } return y;";
    let faults = function_report(body).faults;
    let [fault] = &faults[..] else { panic!("{faults:?}") };
    let Outcome::Happens(witness) = &fault.outcome else { panic!("{faults:?}") };
    let names: Vec<&str> = witness.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["a"]);
}
