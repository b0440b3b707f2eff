//! The six benchmark materials, and inputs for them.

use lightbound_shader::bounding::{Frame, Integrand, IntervalInputs, Ranges};
use lightbound_shader::interval::Nan;
use lightbound_shader::ir::Function;
use lightbound_shader::lift::{BoundSides, Options, Tracking};
use lightbound_shader::random::Random;
use lightbound_shader::{Batch, Entry, Parameter, Settings, Shader, Target, passes};
use lightbound_study::cost::boxes;

/// Name and text of each material.
pub const ALL: [(&str, &str); 6] = [
    ("diffuse", include_str!("../../assets/shaders/diffuse.wgsl")),
    ("phong", include_str!("../../assets/shaders/phong.wgsl")),
    ("isoward", include_str!("../../assets/shaders/isoward.wgsl")),
    ("ward", include_str!("../../assets/shaders/ward.wgsl")),
    ("ashikhmin", include_str!("../../assets/shaders/ashikhmin.wgsl")),
    ("fractal", include_str!("../../assets/shaders/fractal.wgsl")),
];

/// Parses a material of the library.
pub fn parse(name: &str, source: &str) -> Shader {
    Shader::parse(&format!("{name}.wgsl"), source).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the optimized integrand s of a material.
pub fn point_shader(shader: &Shader) -> Function {
    passes::optimize(
        &shader
            .function(Entry::Integrand, &Settings::default())
            .unwrap_or_else(|error| panic!("{error}")),
    )
}

/// Returns a uniform number in [0, 1).
fn uniform(random: &mut Random) -> f32 {
    (random.bits() >> 40) as f32 / (1u64 << 24) as f32
}

/// Returns a direction of the upper hemisphere, uniform in solid angle.
fn direction(random: &mut Random) -> [f32; 3] {
    let z = 1.0 - uniform(random);
    let (sin, cos) = (std::f32::consts::TAU * uniform(random)).sin_cos();
    let r = (1.0 - z * z).sqrt();
    [r * cos, r * sin, z]
}

/// Appends random values of a parameter.
fn push_parameter(random: &mut Random, parameter: &Parameter, values: &mut Vec<f32>) {
    let [lo, hi] = parameter.range.map(|end| end as f32);
    for &default in parameter.default.as_ref().expect("parameters of the library have defaults") {
        let u = uniform(random);
        let x = if parameter.name == "uv" {
            lo + (hi - lo) * u
        } else {
            default as f32 * (0.9 + 0.2 * u)
        };
        values.push(x.clamp(lo, hi));
    }
}

/// Generates rows of typical inputs: directions anywhere on the hemisphere, parameters within a
/// tenth of their defaults, and texture coordinates anywhere. Each group of `rows_per_point`
/// adjacent rows shares the surface point and the view direction, and has different light
/// directions.
pub fn rows(shader: &Shader, count: usize, rows_per_point: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut random = Random::new(seed);
    let mut point = vec![];
    let row = |index: usize| {
        if index.is_multiple_of(rows_per_point) {
            point = direction(&mut random).to_vec();
            shader
                .parameters()
                .iter()
                .for_each(|parameter| push_parameter(&mut random, parameter, &mut point));
        }
        [&direction(&mut random)[..], &point].concat()
    };
    (0..count).map(row).collect()
}

/// Returns the rows as a batch for a target.
pub fn batch(target: Target, rows: &[Vec<f32>]) -> Batch {
    let mut batch = Batch::new(target, rows[0].len(), rows.len());
    for (r, row) in rows.iter().enumerate() {
        for (port, &x) in row.iter().enumerate() {
            batch.set(r, port, x);
        }
    }
    batch
}

/// Number of SIMD groups of boxes that [`bounding_shader`] generates.
pub const GROUPS: usize = 32;

/// A lowered bounding shader with boxes.
pub struct BoundingShader {
    /// The code of the shader.
    pub function: Function,
    /// The boxes.
    pub inputs: Batch,
}

/// Compiles the upper-bound shader of a material in world space, with NaN ignored.
pub fn bounding_shader(
    name: &str,
    source: &str,
    interval_inputs: IntervalInputs,
    tracking: Tracking,
    target: Target,
) -> BoundingShader {
    let shader = parse(name, source);
    let integrand = Integrand::new(&shader, &Settings::default(), Frame::World)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let inputs = integrand.inputs(interval_inputs, Ranges::Paper);
    let options =
        Options { sides: BoundSides::Upper, nan: Nan::Ignore, tracking, ..Options::default() };
    let function = passes::lower(&integrand.bound(&inputs, &options).function);
    let boxes =
        boxes::random_boxes(&shader, Frame::World, interval_inputs, GROUPS * target.lanes(), 1);
    let mut batch = Batch::new(target, function.inputs.len(), boxes.len());
    for (row, input_box) in boxes.iter().enumerate() {
        batch.set_row(row, 0, &input_box.row(inputs.iter().map(|input| input.interval)));
    }
    BoundingShader { function, inputs: batch }
}
