//! Length of a Collatz sequence, of at most 200 steps.

struct Medium {
    /// First number. range: [1, 10000]
    start: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var n = m.start;
    var steps = 0;
    while n != 1 && steps < 200 {
        if (n & 1) == 0 {
            n /= 2;
        } else {
            n = 3 * n + 1;
        }
        steps += 1;
    }
    return f32(steps);
}
