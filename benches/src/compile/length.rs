//! Time to compile shaders with many statements, which should be linear in their number.

use lightbound_shader::backend::x86::{Code, Isa};
use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges};
use lightbound_shader::lift::{BoundSides, Options};
use lightbound_shader::relations::Relations;
use lightbound_shader::{Entry, Settings, Shader, passes};
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// What the statements of a shader are.
#[derive(Clone, Copy)]
pub enum Statements {
    /// Assignments of arithmetic expressions.
    Arithmetic,
    /// Assignments, one in four of them in an `if`, which counts as one statement.
    Conditions,
}

impl Statements {
    pub const ALL: [Statements; 2] = [Statements::Arithmetic, Statements::Conditions];

    pub fn name(self) -> &'static str {
        match self {
            Statements::Arithmetic => "arithmetic",
            Statements::Conditions => "conditions",
        }
    }

    /// The WGSL text of a BRDF with this number of statements. All results depend on all
    /// statements, no two compute the same, and values stay within small ranges.
    pub fn shader(self, count: usize) -> String {
        let mut text = "fn brdf(wi: vec3f, wo: vec3f) -> vec3f {
            var a = wi.x; var b = wi.y; var c = wi.z; var d = wo.z;\n"
            .to_owned();
        for k in 0..count {
            // Constants differ from statement to statement.
            let x = 0.25 + 0.5 * k as f64 / count as f64;
            let statement = match (self, k % 8) {
                (Statements::Conditions, 3) => format!("if (a < {x}) {{ b = b * a + c; }}"),
                (Statements::Conditions, 7) => {
                    format!("if (c > b * {x}) {{ d = sqrt(c - b); }} else {{ a = d * {x}; }}")
                }
                (_, 0) => format!("a = {x} * a - b * c;"),
                (_, 1) => format!("b = clamp(b + a * {x}, -1.0, 1.0);"),
                (_, 2) => format!("c = sqrt(c * c + {x});"),
                (_, 3) => format!("d = max(a * d, b - {x});"),
                (_, 4) => format!("a = mix(a, b, {x}) / (1.0 + d * d);"),
                (_, 5) => format!("b = a * a * {x} + min(b, c);"),
                (_, 6) => format!("c = exp(-{x} * abs(c));"),
                _ => format!("d = (d + a * b) * {x};"),
            };
            writeln!(text, "{statement}").expect("strings can be extended");
        }
        text + "return vec3f(a, b, c * d); }"
    }
}

/// Measures the times to compile a shader: to parse and validate it, from WGSL text to the machine
/// code of the point shader, and from the point shader to that of its optimized and related
/// bounding shaders.
pub fn measure(source: &str, isa: Isa) -> [Duration; 4] {
    let start = Instant::now();
    let shader = Shader::parse("generated.wgsl", source).expect("generated shaders are valid");
    let parse = start.elapsed();
    let function = shader.function(Entry::Integrand, &Settings::default());
    let point = passes::optimize(&function.expect("generated shaders translate"));
    black_box(Code::compile(&passes::lower(&point), isa));
    let point = start.elapsed();
    let integrand = Integrand::new(&shader, &Settings::default(), Frame::Local)
        .expect("generated shaders translate");
    let [optimized, related] = [Relations::NONE, Relations::all()].map(|relations| {
        let start = Instant::now();
        let options = Options { sides: BoundSides::Upper, relations, ..Options::default() };
        let lifted =
            integrand.bound(&integrand.inputs(IntervalInputs::Light, Ranges::Declared), &options);
        black_box(Code::compile(&passes::lower(&lifted.function), isa));
        start.elapsed()
    });
    [parse, point, optimized, related]
}
