//! Nested arrays, read and written at constant indices.

struct Material {
    /// Albedo. range: [0, 1], default: 0.5
    kd: vec3f,
    /// Exponent of the lobe. range: [1, 100], default: 8
    n: f32,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var grid: array<array<f32, 3>, 2>;
    grid[0] = array(wi.x, wi.y, wi.z);
    grid[1][2] = m.n;
    grid[1][0] = grid[0][2] * 2.0;
    let copy = grid;
    grid[1][2] = 0.0;
    return m.kd * (copy[1][2] * 0.01 + grid[1][0] + grid[1][2]);
}
