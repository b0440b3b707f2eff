//! Binary search for the root of a square in a sorted sequence of 1000 squares.

struct Medium {
    /// The number to find. range: [0, 998001]
    key: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var low = 0;
    var high = 999;
    while low < high {
        let middle = (low + high + 1) / 2;
        if middle * middle <= m.key {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return f32(low);
}
