//! Product of two square matrices of random integers (Stanford suite, Intmm).

struct Medium {
    /// Rows and columns. range: [1, 3]
    size: i32,
    /// Seed of the elements. range: [0, 65535]
    seed: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var seed = m.seed;
    var a: array<i32, 9>;
    var b: array<i32, 9>;
    for (var k = 0; k < m.size * m.size; k++) {
        seed = (seed * 1309 + 13849) & 65535;
        a[k] = seed % 120 - 60;
        seed = (seed * 1309 + 13849) & 65535;
        b[k] = seed % 120 - 60;
    }
    var trace = 0;
    for (var i = 0; i < m.size; i++) {
        for (var j = 0; j < m.size; j++) {
            var dot = 0;
            for (var k = 0; k < m.size; k++) {
                dot += a[m.size * i + k] * b[m.size * k + j];
            }
            if i == j {
                trace += dot;
            }
        }
    }
    return f32(trace);
}
