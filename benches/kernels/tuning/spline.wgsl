//! A cubic spline through equidistant values: finds the segment, then interpolates.

struct Medium {
    /// Parameter. range: [0, 1]
    t: f32,
    /// Values. range: [-1, 1]
    values: vec4f,
}

fn density(p: vec3f, m: Medium) -> f32 {
    let x = 3.0 * clamp(m.t, 0.0, 1.0);
    let segment = clamp(i32(x), 0, 2);
    let u = x - f32(segment);
    let v0 = m.values[max(segment - 1, 0)];
    let v1 = m.values[segment];
    let v2 = m.values[segment + 1];
    let v3 = m.values[min(segment + 2, 3)];
    let a = 2.0 * v1;
    let b = v2 - v0;
    let c = 2.0 * v0 - 5.0 * v1 + 4.0 * v2 - v3;
    let d = 3.0 * (v1 - v2) + v3 - v0;
    return 0.5 * (a + u * (b + u * (c + u * d)));
}
