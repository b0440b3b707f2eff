//! The radical inverse in base 3, with integers and with floats.

struct Medium {
    /// Index of the sample. range: [0, 59048]
    index: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var rest = m.index;
    var reversed = 0;
    var scale = 1.0;
    while rest > 0 {
        reversed = 3 * reversed + rest % 3;
        rest /= 3;
        scale /= 3.0;
    }
    return min(f32(reversed) * scale, 1.0);
}
