//! Six octaves of products of sines: 64 operations with a threshold.

struct Medium {
    /// Waves per unit of length, times 2 pi. range: (0, 1000], default: 2
    frequency: f32,
    /// Sum of octaves where the density begins. range: [-1, 1], default: 0
    threshold: f32,
    /// If positive, the density is an exponential of the sum, with this logarithm of the ratio of
    /// its extremes. range: [0, 20], default: 0
    contrast: f32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var q = m.frequency * p;
    var sum = 0.0;
    var amplitude = 0.5;
    for (var octave = 0; octave < 6; octave++) {
        let s = sin(q);
        sum += amplitude * (s.x * s.y * s.z);
        q *= 2.0;
        amplitude *= 0.5;
    }
    if m.contrast > 0.0 {
        return exp(m.contrast * (sum - 0.5));
    }
    return max(0.0, sum - m.threshold);
}
