//! Nested loops; the inner trip count depends on the outer counter.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var sum = 0.0;
    for (var i = 1; i <= 4; i++) {
        var inner = 0.0;
        for (var j = 0; j < i; j++) {
            inner += wi.z * f32(j) + wo.z;
            if inner > m.n * 0.05 { break; }
        }
        sum += inner / f32(i);
    }
    return m.kd * sum * 0.25;
}
