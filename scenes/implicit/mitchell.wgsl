//! A quartic of Mitchell 1990, *Robust Ray Intersection with Interval Arithmetic*:
//! 4(x⁴ + (y² + z²)²) + 17x²(y² + z²) − 20(x² + y² + z²) + 17 = 0.

fn field(p: vec3f) -> f32 {
    let x = p.x * p.x;
    let r = p.y * p.y + p.z * p.z;
    return 4.0 * (x * x + r * r) + 17.0 * x * r - 20.0 * (x + r) + 17.0;
}
