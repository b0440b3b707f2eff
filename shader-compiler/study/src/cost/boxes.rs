//! Random boxes to measure bounding shaders on. They resemble the queries of a renderer, and are
//! the same on every machine.
//!
//! - *Light directions* span cones about an axis of the upper hemisphere. Axes are uniform in solid
//!   angle, half-angles log-uniform from 2° to 20°: clusters of lights, parts of an environment
//!   map, pixels of a map of directions. The box of a cone has the minimum and maximum of each
//!   component.
//! - *View directions*, if they are intervals, span such cones with half-angles from 1° to 5°: a
//!   patch seen from a pixel. In world space, so do the normal and the tangents, whose frame is a
//!   random rotation.
//! - *Parameters* are within a tenth of their defaults, texture coordinates anywhere. Intervals
//!   extend by 1 % to 10 % to either side, or by up to 0.01 for texture coordinates and parameters
//!   whose default is 0. All stay in their declared ranges. Integers and booleans have their
//!   defaults.
//!
//! Each box comes with one of its members, on which the point shader is measured: directions in the
//! cones, and the axes of the frame.

use lightbound_shader::bounding::hand::tangents;
use lightbound_shader::bounding::{Frame, IntervalInputs};
use lightbound_shader::frontend::{Parameter, Scalar, Shader, SurfaceSides};
use lightbound_shader::random::Random;

/// A box of inputs of a point shader.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// Bits of the endpoints of each input.
    pub ends: Vec<[u32; 2]>,
    /// Bits of each input of one member.
    pub member: Vec<u32>,
}

impl Drawn {
    fn new() -> Drawn {
        Drawn { ends: vec![], member: vec![] }
    }

    /// Adds an input with the value `x`, or the interval from `low` to `high`.
    fn push(&mut self, interval: bool, x: f32, [low, high]: [f32; 2]) {
        let ends = if interval { [low.min(x), high.max(x)] } else { [x; 2] };
        self.ends.push(ends.map(f32::to_bits));
        self.member.push(x.to_bits());
    }

    /// The input words of a bounding shader, given which inputs are intervals.
    pub fn row(&self, intervals: impl Iterator<Item = bool>) -> Vec<u32> {
        std::iter::zip(&self.ends, intervals)
            .flat_map(|(ends, interval)| &ends[..if interval { 2 } else { 1 }])
            .copied()
            .collect()
    }
}

/// Draws random boxes for a shader.
pub fn draw(
    shader: &Shader,
    frame: Frame,
    spans: IntervalInputs,
    count: usize,
    seed: u64,
) -> Vec<Drawn> {
    let mut random = Random::new(seed);
    (0..count).map(|_| one(&mut random, shader, frame, spans == IntervalInputs::All)).collect()
}

fn one(random: &mut Random, shader: &Shader, frame: Frame, all: bool) -> Drawn {
    let mut drawn = Drawn::new();
    let axes = match frame {
        Frame::Local => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        Frame::World => rotation(random),
    };
    // Away from grazing angles, so that nothing overflows in single precision.
    let [wi, wo] = [0.05, 0.05].map(|least| hemisphere(random, least));
    let light = between(random, 2.0, 20.0);
    let view = between(random, 1.0, 5.0);
    let one_sided = frame == Frame::Local && shader.sides() == SurfaceSides::One;
    cone(random, &mut drawn, to_world(axes, wi), light, true, false);
    cone(random, &mut drawn, to_world(axes, wo), view, all, one_sided);
    if frame == Frame::World {
        let [t, b, n] = axes;
        for axis in [n, t, b] {
            let around = ends_of_cone(axis, view);
            (0..3).for_each(|k| drawn.push(all, axis[k] as f32, around[k]));
        }
    }
    shader
        .parameters()
        .iter()
        .for_each(|parameter| push_parameter(random, &mut drawn, parameter, all));
    drawn
}

/// A uniform number in [0, 1).
pub(crate) fn uniform(random: &mut Random) -> f64 {
    (random.bits() >> 40) as f64 / (1u64 << 24) as f64
}

/// A log-uniform angle in radians between two angles in degrees.
fn between(random: &mut Random, low: f64, high: f64) -> f64 {
    (low * libm::pow(high / low, uniform(random))).to_radians()
}

/// The unit vector with this z and azimuth φ.
pub(crate) fn polar(z: f64, phi: f64) -> [f64; 3] {
    let r = (1.0 - z * z).max(0.0).sqrt();
    [r * libm::cos(phi), r * libm::sin(phi), z]
}

/// A random direction of the upper hemisphere with z of at least `least`.
fn hemisphere(random: &mut Random, least: f64) -> [f64; 3] {
    let z = 1.0 - (1.0 - least) * uniform(random);
    polar(z, std::f64::consts::TAU * uniform(random))
}

/// A random orthonormal frame: tangents and normal.
fn rotation(random: &mut Random) -> [[f64; 3]; 3] {
    let n = polar(1.0 - 2.0 * uniform(random), std::f64::consts::TAU * uniform(random));
    let [t, b] = tangents(n);
    let (sin, cos) = libm::sincos(std::f64::consts::TAU * uniform(random));
    let turned = [0, 1, 2].map(|k| cos * t[k] + sin * b[k]);
    let other = [0, 1, 2].map(|k| cos * b[k] - sin * t[k]);
    [turned, other, n]
}

/// Transforms a vector from a frame of two tangents and a normal to world space.
pub(crate) fn to_world([t, b, n]: [[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|k| v[0] * t[k] + v[1] * b[k] + v[2] * n[k])
}

/// Minimum and maximum of each component over the unit vectors within an angle of an axis.
fn ends_of_cone(axis: [f64; 3], angle: f64) -> [[f32; 2]; 3] {
    axis.map(|x| {
        let from_axis = libm::acos(x.clamp(-1.0, 1.0));
        let end = |angle: f64| libm::cos(angle.clamp(0.0, std::f64::consts::PI)) as f32;
        [end(from_axis + angle), end(from_axis - angle)]
    })
}

/// Adds the directions of a cone; with `above`, only those of the upper hemisphere.
fn cone(
    random: &mut Random,
    drawn: &mut Drawn,
    axis: [f64; 3],
    angle: f64,
    interval: bool,
    above: bool,
) {
    let [t, b] = tangents(axis);
    let height = 1.0 - uniform(random) * (1.0 - libm::cos(angle));
    let member = to_world([t, b, axis], polar(height, std::f64::consts::TAU * uniform(random)));
    // A member below the surface is replaced by the axis.
    let member = if above && member[2] < 0.0 { axis } else { member };
    for (k, [low, high]) in ends_of_cone(axis, angle).into_iter().enumerate() {
        let low = if above && k == 2 { low.max(0.0) } else { low };
        drawn.push(interval, member[k] as f32, [low, high]);
    }
}

fn push_parameter(random: &mut Random, drawn: &mut Drawn, parameter: &Parameter, all: bool) {
    let [least, most] = parameter.range;
    for component in 0..parameter.size {
        let default = parameter
            .default
            .as_ref()
            .map_or_else(|| (0.5f64).clamp(least, most), |values| values[component]);
        let word = match parameter.scalar {
            Scalar::F32 => {
                let anywhere = parameter.name == "uv";
                let u = uniform(random);
                let x = if anywhere {
                    least.max(0.0) + (most.min(1.0) - least.max(0.0)) * u
                } else {
                    default * (0.9 + 0.2 * u)
                };
                let x = x.clamp(least, most);
                let width = match anywhere || default == 0.0 {
                    true => 0.01 * uniform(random),
                    false => x.abs() * (0.01 + 0.09 * uniform(random)),
                };
                let ends = [(x - width).max(least), (x + width).min(most)];
                drawn.push(all, x as f32, ends.map(|end| end as f32));
                continue;
            }
            Scalar::Bool => {
                if default != 0.0 {
                    !0
                } else {
                    0
                }
            }
            Scalar::I32 => default as i32 as u32,
            Scalar::U32 => default as u32,
        };
        drawn.ends.push([word; 2]);
        drawn.member.push(word);
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
    fn boxes_have_their_members_and_fit_the_shader() {
        let shader = Shader::parse("a.wgsl", SHADER).expect("the shader is valid");
        for frame in [Frame::Local, Frame::World] {
            let integrand =
                Integrand::new(&shader, &Settings::default(), frame).expect("the shader is valid");
            for spans in [IntervalInputs::Light, IntervalInputs::All] {
                let inputs = integrand.inputs(spans, Ranges::Declared);
                for drawn in draw(&shader, frame, spans, 200, 7) {
                    assert_eq!(
                        (drawn.ends.len(), drawn.member.len()),
                        (inputs.len(), inputs.len())
                    );
                    let words: usize =
                        inputs.iter().map(|input| if input.interval { 2 } else { 1 }).sum();
                    assert_eq!(drawn.row(inputs.iter().map(|input| input.interval)).len(), words);
                    for (k, (&ends, &x)) in std::iter::zip(&drawn.ends, &drawn.member).enumerate() {
                        let port = &integrand.point.inputs[k];
                        let (floats, x_float) = (ends.map(f32::from_bits), f32::from_bits(x));
                        match port.ty {
                            lightbound_shader::ir::Type::F32 => {
                                assert!(
                                    floats[0] <= x_float && x_float <= floats[1],
                                    "{}: {floats:?}",
                                    port.name
                                )
                            }
                            _ => assert_eq!(ends, [x, x]),
                        }
                        let width = ends[0] != ends[1];
                        let wide =
                            inputs[k].interval && port.ty == lightbound_shader::ir::Type::F32;
                        // Intervals at the end of a range are narrower, and some components of a
                        // frame hardly change.
                        assert!(wide || !width, "{} is no interval", port.name);
                        assert!(!port.name.starts_with("wi") || width);
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
    fn frames_are_orthonormal_and_directions_above() {
        let shader = Shader::parse("a.wgsl", SHADER).expect("the shader is valid");
        let dot = |a: &[f32], b: &[f32]| std::iter::zip(a, b).map(|(a, b)| a * b).sum::<f32>();
        for drawn in draw(&shader, Frame::World, IntervalInputs::All, 200, 8) {
            let x: Vec<f32> = drawn.member.iter().map(|&bits| f32::from_bits(bits)).collect();
            let [wi, wo, n, t, b] = [0, 3, 6, 9, 12].map(|at| &x[at..at + 3]);
            for (u, v) in [(n, t), (t, b), (b, n)] {
                assert!((dot(u, u) - 1.0).abs() < 1e-5 && dot(u, v).abs() < 1e-5, "{x:?}");
            }
            assert!((dot(wi, wi) - 1.0).abs() < 1e-5 && dot(wi, n) > -0.35);
            assert!((dot(wo, wo) - 1.0).abs() < 1e-5 && dot(wo, n) > -0.05);
        }
        assert_eq!(
            draw(&shader, Frame::Local, IntervalInputs::Light, 3, 9),
            draw(&shader, Frame::Local, IntervalInputs::Light, 3, 9)
        );
    }
}
