//! Distance to a Julia set, from the derivative along the orbit.

struct Medium {
    /// The point. range: [-1.5, 1.5]
    point: vec2f,
    /// The parameter. range: [-1, 1]
    c: vec2f,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var z = m.point;
    var derivative = 1.0;
    var squared = dot(z, z);
    for (var step = 0; step < 60; step++) {
        if squared > 100.0 {
            break;
        }
        derivative = 2.0 * sqrt(squared) * derivative;
        z = vec2f(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + m.c;
        squared = dot(z, z);
    }
    let r = sqrt(squared);
    return clamp(0.5 * r * log(max(r, 1.0)) / max(derivative, 0.001), 0.0, 1.0);
}
