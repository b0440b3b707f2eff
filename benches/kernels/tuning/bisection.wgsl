//! The root of a cubic by bisection.

struct Medium {
    /// Constant term. range: [-1, 1]
    c: f32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var low = -2.0;
    var high = 2.0;
    for (var step = 0; step < 30; step++) {
        let middle = 0.5 * (low + high);
        if middle * middle * middle + middle + m.c < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    return 0.5 * (low + high) + 2.0;
}
