//! A medium with all functions: layers with a wave, whose albedo and emission vary with height.

struct Medium {
    /// Height at which the density falls to 37 %. range: (0, 100], default: 0.8
    height: f32,
    /// Waves per 2π units of length. range: [0, 100], default: 3
    frequency: f32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    let wave = sin(m.frequency * p.x) * cos(m.frequency * p.y);
    return exp(-abs(p.z) / m.height) * max(0.0, 0.6 + wave);
}

fn albedo(p: vec3f, m: Medium) -> vec3f {
    return vec3f(0.9, 0.5 + 0.4 * clamp(p.z, -1.0, 1.0), 0.6);
}

fn emission(p: vec3f, m: Medium) -> vec3f {
    return vec3f(0.4, 0.1, 0.02) * max(0.0, 1.0 - p.z * p.z);
}
