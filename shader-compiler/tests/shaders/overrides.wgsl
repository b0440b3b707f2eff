//! Override declarations.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

override gain: f32 = 0.75;
override steps: i32 = 3;
override both = true;
override half_gain = gain / 2.0;

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var sum = vec3f(0.0);
    for (var i = 0; i < steps; i++) {
        sum += m.kd * half_gain / f32(i + 1);
    }
    if both { sum += wi.z * gain; }
    return sum;
}
