//! The number of prime factors of an integer, by trial division.

struct Medium {
    /// The integer. range: [2, 5000]
    number: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var rest = m.number;
    var factors = 0;
    var divisor = 2;
    while divisor * divisor <= rest {
        if rest % divisor == 0 {
            rest /= divisor;
            factors += 1;
        } else {
            divisor += 1;
        }
    }
    if rest > 1 {
        factors += 1;
    }
    return f32(factors);
}
