//! Constants of all types, defined in terms of other constants.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

const pi = 3.14159265;
const one_over_pi: f32 = 1.0 / pi;
const axes = mat2x2f(1.0, 0.5, -0.5, 1.0);
const steps = array<i32, 3>(1, 2, 4);
const count = steps[1] + 1;
const_assert count == 3;

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    let v = axes * wi.xy;
    return m.kd * one_over_pi * f32(count) + abs(v.x) * f32(steps[2]) * 0.1;
}
