//! A cumulus cloud: a heap of balls with a flat base, displaced by noise.

struct Medium {
    /// Greatest displacement of the surface, relative to the balls. range: [0, 2], default: 0.9
    roughness: f32,
    /// Noise cells per unit of length. range: (0, 100], default: 1.6
    frequency: f32,
    /// Increase of the density from the surface inwards. range: (0, 1000], default: 6
    sharpness: f32,
}

/// Centres and radii.
const BALLS = array<vec4f, 8>(
    vec4f(-1.6, 0.25, 0.1, 0.85), vec4f(-0.75, 0.65, -0.2, 1.0), vec4f(0.2, 0.95, 0.1, 1.1),
    vec4f(1.1, 0.6, 0.25, 0.95), vec4f(1.9, 0.25, -0.1, 0.75), vec4f(-0.2, 0.3, 0.75, 0.8),
    vec4f(0.55, 1.6, -0.15, 0.7), vec4f(-2.3, 0.1, -0.1, 0.5),
);

fn hash(cell: vec3i) -> u32 {
    var h = bitcast<u32>(cell.x) * 0x9e3779b1u;
    h = (h ^ (h >> 15u)) + bitcast<u32>(cell.y) * 0x85ebca77u;
    h = (h ^ (h >> 13u)) + bitcast<u32>(cell.z) * 0xc2b2ae3du;
    h = (h ^ (h >> 16u)) * 0x27d4eb2fu;
    return h ^ (h >> 15u);
}

/// A value in [0, 1) for each cell.
fn value(cell: vec3i) -> f32 {
    return f32(hash(cell) >> 8u) / 16777216.0;
}

/// Value noise from -1 to 1.
fn noise(p: vec3f) -> f32 {
    let corner = floor(p);
    let cell = vec3i(corner);
    let f = clamp(p - corner, vec3f(0.0), vec3f(1.0));
    let w = f * f * (3.0 - 2.0 * f);
    let x00 = mix(value(cell), value(cell + vec3i(1, 0, 0)), w.x);
    let x10 = mix(value(cell + vec3i(0, 1, 0)), value(cell + vec3i(1, 1, 0)), w.x);
    let x01 = mix(value(cell + vec3i(0, 0, 1)), value(cell + vec3i(1, 0, 1)), w.x);
    let x11 = mix(value(cell + vec3i(0, 1, 1)), value(cell + vec3i(1, 1, 1)), w.x);
    let sum = mix(mix(x00, x10, w.y), mix(x01, x11, w.y), w.z);
    return clamp(2.0 * sum - 1.0, -1.0, 1.0);
}

fn density(p: vec3f, m: Medium) -> f32 {
    var shape = -1.0;
    for (var i = 0; i < 8; i++) {
        let offset = (p - BALLS[i].xyz) / BALLS[i].w;
        shape = max(shape, 1.0 - dot(offset, offset));
    }
    shape = min(shape, 3.0 * (p.y + 0.15));
    var sum = 0.0;
    var amplitude = 0.5;
    var q = m.frequency * p + vec3f(3.1, 7.7, 1.3);
    for (var octave = 0; octave < 6; octave++) {
        // Billows: ridges of the noise point inwards.
        sum += amplitude * (1.0 - 2.0 * abs(noise(q)));
        q = 2.03 * q + vec3f(17.3, 5.7, 11.1);
        amplitude *= 0.55;
    }
    return clamp(m.sharpness * (shape + m.roughness * (sum - 0.45)), 0.0, 1.0);
}
