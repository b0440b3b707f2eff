//! A power modulo a prime, by squaring.

struct Medium {
    /// Base. range: [0, 30000]
    base: i32,
    /// Exponent. range: [0, 1000]
    exponent: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var result = 1;
    var base = m.base % 32749;
    var exponent = m.exponent;
    while exponent > 0 {
        if (exponent & 1) == 1 {
            result = (result * base) % 32749;
        }
        base = (base * base) % 32749;
        exponent >>= 1u;
    }
    return f32(result);
}
