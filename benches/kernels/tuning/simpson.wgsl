//! Integral of a Gaussian by Simpson's rule.

struct Medium {
    /// Begin of the interval. range: [-3, 0]
    a: f32,
    /// End of the interval. range: [1, 3]
    b: f32,
    /// Number of pairs of intervals. range: [1, 50]
    pairs: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    let intervals = 2 * m.pairs;
    let h = (m.b - m.a) / f32(intervals);
    var sum = exp(-m.a * m.a) + exp(-m.b * m.b);
    for (var k = 1; k < intervals; k++) {
        let x = m.a + h * f32(k);
        let weight = select(2.0, 4.0, (k & 1) == 1);
        sum += weight * exp(-x * x);
    }
    return sum * h / 3.0;
}
