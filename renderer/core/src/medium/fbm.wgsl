//! Fractional Brownian motion: six octaves of gradient noise (Perlin 2002).

struct Medium {
    /// Noise cells per unit of length. range: (0, 1000], default: 1
    frequency: f32,
    /// Noise where the density begins. range: [-1, 1], default: 0
    threshold: f32,
    /// If positive, the density is an exponential of the noise, with this logarithm of the ratio of
    /// its extremes. range: [0, 20], default: 0
    contrast: f32,
}

fn hash(cell: vec3i) -> u32 {
    var h = bitcast<u32>(cell.x) * 0x9e3779b1u;
    h = (h ^ (h >> 15u)) + bitcast<u32>(cell.y) * 0x85ebca77u;
    h = (h ^ (h >> 13u)) + bitcast<u32>(cell.z) * 0xc2b2ae3du;
    h = (h ^ (h >> 16u)) * 0x27d4eb2fu;
    return h ^ (h >> 15u);
}

/// The product of a gradient, one of 16 along the edges of a cube, and an offset.
fn gradient(cell: vec3i, offset: vec3f) -> f32 {
    let h = hash(cell) >> 28u;
    let u = select(offset.y, offset.x, h < 8u);
    let v = select(select(offset.z, offset.x, h == 12u || h == 14u), offset.y, h < 4u);
    return select(u, -u, (h & 1u) != 0u) + select(v, -v, (h & 2u) != 0u);
}

/// Gradient noise, from -1 to 1.
fn noise(p: vec3f) -> f32 {
    let corner = floor(p);
    let cell = vec3i(corner);
    let f = clamp(p - corner, vec3f(0.0), vec3f(1.0));
    let w = f * f * f * (f * (f * 6.0 - 15.0) + 10.0);
    let x00 = mix(gradient(cell, f), gradient(cell + vec3i(1, 0, 0), f - vec3f(1.0, 0.0, 0.0)), w.x);
    let x10 = mix(gradient(cell + vec3i(0, 1, 0), f - vec3f(0.0, 1.0, 0.0)), gradient(cell + vec3i(1, 1, 0), f - vec3f(1.0, 1.0, 0.0)), w.x);
    let x01 = mix(gradient(cell + vec3i(0, 0, 1), f - vec3f(0.0, 0.0, 1.0)), gradient(cell + vec3i(1, 0, 1), f - vec3f(1.0, 0.0, 1.0)), w.x);
    let x11 = mix(gradient(cell + vec3i(0, 1, 1), f - vec3f(0.0, 1.0, 1.0)), gradient(cell + vec3i(1, 1, 1), f - vec3f(1.0)), w.x);
    return clamp(mix(mix(x00, x10, w.y), mix(x01, x11, w.y), w.z), -1.0, 1.0);
}

fn density(p: vec3f, m: Medium) -> f32 {
    var sum = 0.0;
    var amplitude = 0.5;
    var q = m.frequency * p;
    for (var octave = 0; octave < 6; octave++) {
        sum += amplitude * noise(q);
        q = 2.0 * q + vec3f(17.3, 5.7, 11.1);
        amplitude *= 0.5;
    }
    if m.contrast > 0.0 {
        return exp(m.contrast * (clamp(sum, -0.5, 0.5) - 0.5));
    }
    return max(0.0, sum - m.threshold);
}
