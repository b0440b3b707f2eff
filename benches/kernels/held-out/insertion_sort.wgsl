//! Insertion sort of six keys.

struct Medium {
    /// Keys. range: [-100, 100]
    low: vec3i,
    /// Keys. range: [-100, 100]
    high: vec3i,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var keys = array<i32, 6>(m.low.x, m.low.y, m.low.z, m.high.x, m.high.y, m.high.z);
    var moves = 0;
    for (var i = 1; i < 6; i++) {
        let key = keys[i];
        var j = i - 1;
        while j >= 0 && keys[j] > key {
            keys[j + 1] = keys[j];
            j -= 1;
            moves += 1;
        }
        keys[j + 1] = key;
    }
    return f32(moves) + f32(keys[0]);
}
