//! Six octaves of products of sines, with a dynamic range of 1000: 64 operations without `exp`.

struct Medium {
    /// Waves per unit of length, times 2 pi. range: (0, 1000], default: 3
    frequency: f32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var q = m.frequency * p + vec3f(0.3, 1.1, 2.3);
    var sum = 0.0;
    var amplitude = 0.5;
    for (var octave = 0; octave < 6; octave++) {
        let s = sin(q);
        sum += amplitude * (s.x * s.y * s.z);
        q *= 2.0;
        amplitude *= 0.5;
    }
    // The logarithm of the density is from -6.9 to 0.
    return exp(7.0 * sum - 3.45);
}
