//! Fractional Brownian motion: up to 24 octaves of a product of sines.

struct Medium {
    /// Position. range: [-10, 10]
    at: vec3f,
    /// Number of octaves. range: [1, 24]
    octaves: i32,
    /// Ratio of amplitudes. range: [0.25, 0.75]
    gain: f32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var sum = 0.0;
    var amplitude = 0.5;
    var q = m.at;
    for (var octave = 0; octave < m.octaves; octave++) {
        let s = sin(q);
        sum += amplitude * s.x * s.y * s.z;
        amplitude *= m.gain;
        q = 2.0 * q + vec3f(1.7, 9.2, 5.1);
    }
    return clamp(0.5 + sum, 0.0, 1.0);
}
