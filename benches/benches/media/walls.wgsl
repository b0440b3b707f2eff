//! Walls of a thousandth of their distance, in a thin haze.

struct Medium {
    /// Walls per unit of length. range: (0, 1000], default: 8
    walls: f32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    return select(0.1, 100.0, fract(m.walls * p.z + 0.5) < 0.001);
}
