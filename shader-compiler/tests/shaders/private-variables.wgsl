//! Private module-scope variables.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

var<private> state: u32 = 12345u;
var<private> calls: i32;

fn random() -> f32 {
    state = state * 747796405u + 2891336453u;
    calls++;
    return f32(state >> 8u) / 16777216.0;
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    state ^= bitcast<u32>(wi.x);
    var sum = 0.0;
    while random() < 0.75 { sum += wi.z * 0.125; }
    return m.kd * sum + f32(calls) * 0.01;
}
