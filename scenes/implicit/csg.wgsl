//! Constructive solid geometry: a cube with round corners, cut by a sphere, without three cylinders
//! and a spherical hollow.

struct Params {
    /// Radius of the sphere that cuts the cube. range: (0, 10], default: 1.25
    radius: f32,
    /// Radius of the cylinders. range: [0, 1], default: 0.42
    bore: f32,
    /// Radius of the hollow. range: [0, 10], default: 0.8
    hollow: f32,
}

fn cube(p: vec3f, half_size: f32, corner: f32) -> f32 {
    let q = abs(p) - vec3f(half_size - corner);
    return length(max(q, vec3f(0.0))) + min(max(q.x, max(q.y, q.z)), 0.0) - corner;
}

fn field(p: vec3f, m: Params) -> f32 {
    let solid = max(cube(p, 0.9, 0.1), length(p) - m.radius);
    let axes = min(length(p.xy), min(length(p.yz), length(p.zx)));
    return max(solid, max(m.bore - axes, m.hollow - length(p)));
}
