//! The six materials of the library, and inputs to evaluate them on.

use lightbound_shader::ir::Function;
use lightbound_shader::{Batch, Entry, Parameter, Settings, Shader, Target, passes};

/// Name and text of each.
pub const ALL: [(&str, &str); 6] = [
    ("diffuse", include_str!("../../assets/shaders/diffuse.wgsl")),
    ("phong", include_str!("../../assets/shaders/phong.wgsl")),
    ("isoward", include_str!("../../assets/shaders/isoward.wgsl")),
    ("ward", include_str!("../../assets/shaders/ward.wgsl")),
    ("ashikhmin", include_str!("../../assets/shaders/ashikhmin.wgsl")),
    ("fractal", include_str!("../../assets/shaders/fractal.wgsl")),
];

/// Reads a material of the library.
pub fn parse(name: &str, source: &str) -> Shader {
    Shader::parse(&format!("{name}.wgsl"), source).unwrap_or_else(|error| panic!("{error}"))
}

/// The integrand s of a material, optimized.
pub fn point_shader(shader: &Shader) -> Function {
    passes::optimize(&shader.function(Entry::Shaded, &Settings::default()).unwrap_or_else(|error| panic!("{error}")))
}

/// Uniform numbers in [0, 1), by SplitMix64 (Steele et al. 2014).
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 24) as f32
    }

    /// A direction of the upper hemisphere, uniform in solid angle.
    fn direction(&mut self) -> [f32; 3] {
        let z = 1.0 - self.next();
        let (sin, cos) = (std::f32::consts::TAU * self.next()).sin_cos();
        let r = (1.0 - z * z).sqrt();
        [r * cos, r * sin, z]
    }

    /// Words of a parameter.
    fn parameter(&mut self, parameter: &Parameter, words: &mut Vec<f32>) {
        let [lo, hi] = parameter.range.map(|end| end as f32);
        for &default in parameter.default.as_ref().expect("parameters of the library have defaults") {
            let u = self.next();
            let x = if parameter.name == "uv" { lo + (hi - lo) * u } else { default as f32 * (0.9 + 0.2 * u) };
            words.push(x.clamp(lo, hi));
        }
    }
}

/// Rows of inputs as a renderer has them: directions all over the hemisphere, parameters within a tenth of their defaults, and texture
/// coordinates anywhere. As many neighbours as `alike` have one surface point and view it from one side, under different lights.
pub fn rows(shader: &Shader, count: usize, alike: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut random = Random::new(seed);
    let mut point = vec![];
    let row = |at: usize| {
        if at.is_multiple_of(alike) {
            point = random.direction().to_vec();
            shader.parameters().iter().for_each(|parameter| random.parameter(parameter, &mut point));
        }
        [&random.direction()[..], &point].concat()
    };
    (0..count).map(row).collect()
}

/// The rows, laid out for a target.
pub fn batch(target: Target, rows: &[Vec<f32>]) -> Batch {
    let mut batch = Batch::new(target, rows[0].len(), rows.len());
    for (r, row) in rows.iter().enumerate() {
        for (port, &x) in row.iter().enumerate() {
            batch.set(r, port, x);
        }
    }
    batch
}
