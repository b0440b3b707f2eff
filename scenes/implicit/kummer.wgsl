//! A Kummer surface, x⁴ + y⁴ + z⁴ − x² − y² − z² − x²y² − y²z² − z²x² + 1 = 0, with conical points.
//! It extends to infinity, so the box cuts it.

fn field(p: vec3f) -> f32 {
    let q = p * p;
    return dot(q, q) - (q.x + q.y + q.z) - (q.x * q.y + q.y * q.z + q.z * q.x) + 1.0;
}
