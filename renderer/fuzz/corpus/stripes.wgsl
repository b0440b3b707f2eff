/// Stripes of two colours with a glossy coat.
struct Material {
    /// Colour. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Width of a stripe. range: [0.01, 10], default: 1
    width: f32,
    /// Number of octaves. range: [0, 8], default: 2
    octaves: i32,
}

const LIMITS = array<f32, 3>(0.1, 0.5, 0.9);

fn stripe(x: f32, m: Material) -> f32 {
    var sum = 0.0;
    var scale = 1.0 / max(m.width, 0.01);
    for (var i = 0; i < m.octaves; i++) {
        sum += fract(x * scale);
        scale *= 2.0;
        if (sum > LIMITS[i % 3]) {
            break;
        }
    }
    return clamp(sum, 0.0, 1.0);
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    if (wi.z <= 0.0 || wo.z <= 0.0) {
        return vec3f(0.0);
    }
    let h = normalize(wi + wo);
    let gloss = pow(max(h.z, 0.0), 20.0);
    switch (m.octaves) {
        case 0: { return m.kd / 3.14159265; }
        case 1, 2: { return mix(m.kd, vec3f(gloss), stripe(wi.x, m)) * 0.3; }
        default: { return m.kd * stripe(atan2(wi.y, wi.x), m) + select(0.0, gloss, wi.z > 0.5); }
    }
}
