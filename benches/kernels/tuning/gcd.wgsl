//! Greatest common divisor of two positive integers, by Euclid's algorithm.

struct Medium {
    /// First number. range: [1, 1000]
    a: i32,
    /// Second number. range: [1, 1000]
    b: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var a = m.a;
    var b = m.b;
    var steps = 0;
    while b != 0 {
        let remainder = a % b;
        a = b;
        b = remainder;
        steps += 1;
    }
    return f32(a) + f32(steps);
}
