//! Steiner's Roman surface, x²y² + y²z² + z²x² + xyz = 0. It lies within ±0.5, and the axes are
//! double lines of it.

fn field(p: vec3f) -> f32 {
    let q = p * p;
    return q.x * q.y + q.y * q.z + q.z * q.x + p.x * p.y * p.z;
}
