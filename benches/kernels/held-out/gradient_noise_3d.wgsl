//! Turbulence: absolute values of gradient noise in three dimensions, over up to six octaves.

struct Medium {
    /// Position. range: [-20, 20]
    at: vec3f,
    /// Number of octaves. range: [1, 6]
    octaves: i32,
}

fn gradient(cell: vec3i, offset: vec3f) -> f32 {
    var h = bitcast<u32>(cell.x) * 0x8da6b343u + bitcast<u32>(cell.y) * 0xd8163841u;
    h += bitcast<u32>(cell.z) * 0xcb1ab31fu;
    h = (h ^ (h >> 13u)) * 0x5bd1e995u;
    let a = f32((h >> 8u) & 255u) / 127.5 - 1.0;
    let b = f32((h >> 16u) & 255u) / 127.5 - 1.0;
    let c = f32(h >> 24u) / 127.5 - 1.0;
    return dot(vec3f(a, b, c), offset);
}

fn noise(q: vec3f) -> f32 {
    let corner = floor(q);
    let f = fract(q);
    let w = smoothstep(vec3f(0.0), vec3f(1.0), f);
    var layers: array<f32, 2>;
    for (var z = 0; z < 2; z++) {
        let cell = vec3i(corner) + vec3i(0, 0, z);
        let g = f - vec3f(0.0, 0.0, f32(z));
        let low = mix(
            gradient(cell, g), gradient(cell + vec3i(1, 0, 0), g - vec3f(1.0, 0.0, 0.0)), w.x,
        );
        let high = mix(
            gradient(cell + vec3i(0, 1, 0), g - vec3f(0.0, 1.0, 0.0)),
            gradient(cell + vec3i(1, 1, 0), g - vec3f(1.0, 1.0, 0.0)),
            w.x,
        );
        layers[z] = mix(low, high, w.y);
    }
    return mix(layers[0], layers[1], w.z);
}

fn density(p: vec3f, m: Medium) -> f32 {
    var sum = 0.0;
    var amplitude = 1.0;
    var q = m.at;
    for (var octave = 0; octave < m.octaves; octave++) {
        sum += amplitude * abs(noise(q));
        amplitude *= 0.5;
        q = 2.0 * q;
    }
    return sum;
}
