//! Square root by Newton's iteration, until it changes by less than 10⁻⁵ or for 40 steps.

struct Medium {
    /// The number. range: [0.01, 10000]
    number: f32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var root = 0.5 * (m.number + 1.0);
    for (var step = 0; step < 40; step++) {
        let next = 0.5 * (root + m.number / root);
        let change = abs(next - root);
        root = next;
        if change < 0.00001 * root {
            break;
        }
    }
    return root;
}
