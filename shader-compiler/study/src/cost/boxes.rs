//! Random boxes to measure bounding shaders on. They resemble the queries of a renderer, and are
//! the same on every machine.
//!
//! - *Light directions* are the bounding boxes of cones about axes in the upper hemisphere, as for
//!   clusters of lights or regions of an environment map. Axes are uniform in solid angle,
//!   half-angles log-uniform from 2° to 20°.
//! - *View directions*, if they are intervals, are bounding boxes of such cones with half-angles
//!   from 1° to 5°, as for the surface that a pixel sees. In world space, so are the normal and the
//!   tangents of a randomly rotated frame.
//! - *Parameters* are within 10 % of their defaults; texture coordinates are anywhere. Intervals
//!   extend by 1 % to 10 % to either side, or by up to 0.01 for texture coordinates and for
//!   defaults of 0. All stay in their declared ranges. Integers and booleans have their defaults.
//!
//! Each box has one member, on which the point shader is measured: directions in the cones, and the
//! axes of the frame.

use lightbound_shader::bounding::hand::tangents;
use lightbound_shader::bounding::{Frame, IntervalInputs};
use lightbound_shader::frontend::{Parameter, Scalar, Shader, SurfaceSides};
use lightbound_shader::random::Random;

/// A box of inputs for a bounding shader, with a member for the point shader.
#[derive(Clone, Debug, PartialEq)]
pub struct InputBox {
    /// The endpoints of each input, as bits.
    pub endpoints: Vec<[u32; 2]>,
    /// The inputs of one member, as bits.
    pub member: Vec<u32>,
}

impl InputBox {
    fn new() -> InputBox {
        InputBox { endpoints: vec![], member: vec![] }
    }

    /// Adds an input: the interval from `low` to `high`, which is extended to contain `x`, or the
    /// value `x`.
    fn push(&mut self, interval: bool, x: f32, [low, high]: [f32; 2]) {
        let endpoints = if interval { [low.min(x), high.max(x)] } else { [x; 2] };
        self.endpoints.push(endpoints.map(f32::to_bits));
        self.member.push(x.to_bits());
    }

    /// Returns the input words for a bounding shader. `intervals` says which inputs are intervals.
    pub fn row(&self, intervals: impl Iterator<Item = bool>) -> Vec<u32> {
        std::iter::zip(&self.endpoints, intervals)
            .flat_map(|(endpoints, interval)| &endpoints[..if interval { 2 } else { 1 }])
            .copied()
            .collect()
    }
}

/// Generates random boxes for a shader.
pub fn random_boxes(
    shader: &Shader,
    frame: Frame,
    interval_inputs: IntervalInputs,
    count: usize,
    seed: u64,
) -> Vec<InputBox> {
    let mut random = Random::new(seed);
    (0..count)
        .map(|_| random_box(&mut random, shader, frame, interval_inputs == IntervalInputs::All))
        .collect()
}

/// Generates a box. `all` means that view directions, frames and parameters are intervals too.
fn random_box(random: &mut Random, shader: &Shader, frame: Frame, all: bool) -> InputBox {
    let mut input_box = InputBox::new();
    let axes = match frame {
        Frame::Local => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        Frame::World => rotation(random),
    };
    // Avoid grazing angles, where results overflow in single precision.
    let [wi, wo] = [0.05, 0.05].map(|min_z| hemisphere(random, min_z));
    let light = log_uniform_angle(random, 2.0, 20.0);
    let view = log_uniform_angle(random, 1.0, 5.0);
    let one_sided = frame == Frame::Local && shader.sides() == SurfaceSides::One;
    push_cone(random, &mut input_box, to_world(axes, wi), light, true, false);
    push_cone(random, &mut input_box, to_world(axes, wo), view, all, one_sided);
    if frame == Frame::World {
        let [t, b, n] = axes;
        for axis in [n, t, b] {
            let endpoints = cone_endpoints(axis, view);
            (0..3).for_each(|k| input_box.push(all, axis[k] as f32, endpoints[k]));
        }
    }
    shader
        .parameters()
        .iter()
        .for_each(|parameter| push_parameter(random, &mut input_box, parameter, all));
    input_box
}

/// Returns a uniform random number in [0, 1).
pub(crate) fn uniform(random: &mut Random) -> f64 {
    (random.bits() >> 40) as f64 / (1u64 << 24) as f64
}

/// Returns a log-uniform random angle in radians, between two angles in degrees.
fn log_uniform_angle(random: &mut Random, low: f64, high: f64) -> f64 {
    (low * libm::pow(high / low, uniform(random))).to_radians()
}

/// Returns the unit vector with this z and azimuth φ.
pub(crate) fn polar(z: f64, phi: f64) -> [f64; 3] {
    let r = (1.0 - z * z).max(0.0).sqrt();
    [r * libm::cos(phi), r * libm::sin(phi), z]
}

/// Returns a random direction in the upper hemisphere. Its z is `min_z` or more.
fn hemisphere(random: &mut Random, min_z: f64) -> [f64; 3] {
    let z = 1.0 - (1.0 - min_z) * uniform(random);
    polar(z, std::f64::consts::TAU * uniform(random))
}

/// Returns a random orthonormal frame: two tangents and the normal.
fn rotation(random: &mut Random) -> [[f64; 3]; 3] {
    let n = polar(1.0 - 2.0 * uniform(random), std::f64::consts::TAU * uniform(random));
    let [t, b] = tangents(n);
    let (sin, cos) = libm::sincos(std::f64::consts::TAU * uniform(random));
    let tangent = [0, 1, 2].map(|k| cos * t[k] + sin * b[k]);
    let bitangent = [0, 1, 2].map(|k| cos * b[k] - sin * t[k]);
    [tangent, bitangent, n]
}

/// Transforms a vector from a frame of two tangents and a normal to world space.
pub(crate) fn to_world([t, b, n]: [[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|k| v[0] * t[k] + v[1] * b[k] + v[2] * n[k])
}

/// Returns the minimum and maximum of each component over the unit vectors within an angle of an
/// axis.
fn cone_endpoints(axis: [f64; 3], angle: f64) -> [[f32; 2]; 3] {
    axis.map(|x| {
        let from_axis = libm::acos(x.clamp(-1.0, 1.0));
        let end = |angle: f64| libm::cos(angle.clamp(0.0, std::f64::consts::PI)) as f32;
        [end(from_axis + angle), end(from_axis - angle)]
    })
}

/// Adds the bounding box of a cone. With `above`, clips it to the upper hemisphere.
fn push_cone(
    random: &mut Random,
    input_box: &mut InputBox,
    axis: [f64; 3],
    angle: f64,
    interval: bool,
    above: bool,
) {
    let [t, b] = tangents(axis);
    let height = 1.0 - uniform(random) * (1.0 - libm::cos(angle));
    let member = to_world([t, b, axis], polar(height, std::f64::consts::TAU * uniform(random)));
    // Use the axis if the member is below the surface.
    let member = if above && member[2] < 0.0 { axis } else { member };
    for (k, [low, high]) in cone_endpoints(axis, angle).into_iter().enumerate() {
        let low = if above && k == 2 { low.max(0.0) } else { low };
        input_box.push(interval, member[k] as f32, [low, high]);
    }
}

/// Adds a parameter. `all` means that floats are intervals.
fn push_parameter(random: &mut Random, input_box: &mut InputBox, parameter: &Parameter, all: bool) {
    let [min, max] = parameter.range;
    for component in 0..parameter.size {
        let default = parameter
            .default
            .as_ref()
            .map_or_else(|| (0.5f64).clamp(min, max), |values| values[component]);
        let word = match parameter.scalar {
            Scalar::F32 => {
                let anywhere = parameter.name == "uv";
                let u = uniform(random);
                let x = if anywhere {
                    min.max(0.0) + (max.min(1.0) - min.max(0.0)) * u
                } else {
                    default * (0.9 + 0.2 * u)
                };
                let x = x.clamp(min, max);
                let width = match anywhere || default == 0.0 {
                    true => 0.01 * uniform(random),
                    false => x.abs() * (0.01 + 0.09 * uniform(random)),
                };
                let endpoints = [(x - width).max(min), (x + width).min(max)];
                input_box.push(all, x as f32, endpoints.map(|end| end as f32));
                continue;
            }
            scalar => scalar.bits(default),
        };
        input_box.endpoints.push([word; 2]);
        input_box.member.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::bounding::{Integrand, Ranges};
    use lightbound_shader::frontend::Settings;

    const SHADER: &str = "struct Material {
            /// Albedo. range: [0, 1], default: 0.98
            kd: vec3f,
            /// Offset. range: [-2, 2], default: (0, -1.5)
            c: vec2f,
            /// Rounds. range: [0, 8], default: 3
            rounds: i32,
            /// default: true
            lobe: bool,
        }
        fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
            return select(m.kd, m.kd + f32(m.rounds) * m.c.x * m.c.y, m.lobe);
        }";

    #[test]
    fn boxes_contain_their_members_and_match_the_inputs() {
        let shader = Shader::parse("a.wgsl", SHADER).expect("the shader is valid");
        for frame in [Frame::Local, Frame::World] {
            let integrand =
                Integrand::new(&shader, &Settings::default(), frame).expect("the shader is valid");
            for interval_inputs in [IntervalInputs::Light, IntervalInputs::All] {
                let inputs = integrand.inputs(interval_inputs, Ranges::Declared);
                for input_box in random_boxes(&shader, frame, interval_inputs, 200, 7) {
                    assert_eq!(
                        (input_box.endpoints.len(), input_box.member.len()),
                        (inputs.len(), inputs.len())
                    );
                    let words: usize =
                        inputs.iter().map(|input| if input.interval { 2 } else { 1 }).sum();
                    assert_eq!(
                        input_box.row(inputs.iter().map(|input| input.interval)).len(),
                        words
                    );
                    for (k, (&endpoints, &x)) in
                        std::iter::zip(&input_box.endpoints, &input_box.member).enumerate()
                    {
                        let port = &integrand.point.inputs[k];
                        let (floats, x_float) = (endpoints.map(f32::from_bits), f32::from_bits(x));
                        match port.ty {
                            lightbound_shader::ir::Type::F32 => {
                                assert!(
                                    floats[0] <= x_float && x_float <= floats[1],
                                    "{}: {floats:?}",
                                    port.name
                                )
                            }
                            _ => assert_eq!(endpoints, [x, x]),
                        }
                        let varies = endpoints[0] != endpoints[1];
                        let may_vary =
                            inputs[k].interval && port.ty == lightbound_shader::ir::Type::F32;
                        assert!(may_vary || !varies, "{} is not an interval", port.name);
                        assert!(!port.name.starts_with("wi") || varies);
                        assert!(
                            !port.name.starts_with("kd")
                                || (0.0..=1.0).contains(&floats[0]) && floats[1] <= 1.0
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn frames_are_orthonormal_and_directions_face_the_normal() {
        let shader = Shader::parse("a.wgsl", SHADER).expect("the shader is valid");
        let dot = |a: &[f32], b: &[f32]| std::iter::zip(a, b).map(|(a, b)| a * b).sum::<f32>();
        for input_box in random_boxes(&shader, Frame::World, IntervalInputs::All, 200, 8) {
            let x: Vec<f32> = input_box.member.iter().map(|&bits| f32::from_bits(bits)).collect();
            let [wi, wo, n, t, b] = [0, 3, 6, 9, 12].map(|at| &x[at..at + 3]);
            for (u, v) in [(n, t), (t, b), (b, n)] {
                assert!((dot(u, u) - 1.0).abs() < 1e-5 && dot(u, v).abs() < 1e-5, "{x:?}");
            }
            assert!((dot(wi, wi) - 1.0).abs() < 1e-5 && dot(wi, n) > -0.35);
            assert!((dot(wo, wo) - 1.0).abs() < 1e-5 && dot(wo, n) > -0.05);
        }
        assert_eq!(
            random_boxes(&shader, Frame::Local, IntervalInputs::Light, 3, 9),
            random_boxes(&shader, Frame::Local, IntervalInputs::Light, 3, 9)
        );
    }
}
