//! Value noise in three dimensions.

struct Medium {
    /// Position. range: [-50, 50]
    at: vec3f,
}

fn hash(cell: vec3i) -> u32 {
    var h = bitcast<u32>(cell.x * 374761393 + cell.y * 668265263 + cell.z * 1274126177);
    h = (h ^ (h >> 13u)) * 1103515245u;
    return h ^ (h >> 16u);
}

fn value(cell: vec3i) -> f32 {
    return f32(hash(cell) & 65535u) / 65535.0;
}

fn density(p: vec3f, m: Medium) -> f32 {
    let corner = floor(m.at);
    let cell = vec3i(corner);
    let f = m.at - corner;
    let w = f * f * (3.0 - 2.0 * f);
    let x00 = mix(value(cell), value(cell + vec3i(1, 0, 0)), w.x);
    let x10 = mix(value(cell + vec3i(0, 1, 0)), value(cell + vec3i(1, 1, 0)), w.x);
    let x01 = mix(value(cell + vec3i(0, 0, 1)), value(cell + vec3i(1, 0, 1)), w.x);
    let x11 = mix(value(cell + vec3i(0, 1, 1)), value(cell + vec3i(1, 1, 1)), w.x);
    return mix(mix(x00, x10, w.y), mix(x01, x11, w.y), w.z);
}
