//! A plume of smoke: a cone around a line that sways, displaced by noise with cells that grow with it.

struct Medium {
    /// Height of the source. range: [-1000, 1000], default: 0.84
    source: f32,
    /// Radius at the source. range: [0.01, 10], default: 0.085
    radius: f32,
    /// Increase of the radius per unit of height. range: [0.01, 1], default: 0.2
    spread: f32,
    /// Greatest displacement of the surface, relative to the radius. range: [0, 2], default: 1.5
    roughness: f32,
    /// Noise cells per radius. range: (0, 100], default: 1
    frequency: f32,
    /// Increase of the density from the surface inwards. range: (0, 1000], default: 3
    sharpness: f32,
}

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
    let height = p.z - m.source;
    let radius = m.radius + m.spread * max(height, 0.0);
    // The line sways in proportion to the radius.
    let t = log(radius) / m.spread;
    let sway = 0.55 * radius * vec2f(sin(0.9 * t + 0.5), cos(0.67 * t));
    let offset = (p.xy - sway) / radius;
    var shape = 1.0 - dot(offset, offset);
    shape = min(shape, 20.0 * height);
    var sum = 0.0;
    var amplitude = 0.5;
    // Equal steps of t are equal multiples of the radius.
    var q = m.frequency * vec3f(offset, t) + vec3f(3.1, 7.7, 11.3);
    for (var octave = 0; octave < 5; octave++) {
        // Billows: ridges of the noise point inwards.
        sum += amplitude * (1.0 - 2.0 * abs(noise(q)));
        q = 2.03 * q + vec3f(17.3, 5.7, 11.1);
        amplitude *= 0.55;
    }
    let smoke = clamp(m.sharpness * (shape + m.roughness * (sum - 0.45)), 0.0, 1.0);
    // Diluted as it widens.
    return smoke * m.radius / radius;
}
