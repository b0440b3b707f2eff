//! Bubble sort of eight keys (Stanford suite, Bubble).

struct Medium {
    /// Keys. range: [-500, 500]
    low: vec4i,
    /// Keys. range: [-500, 500]
    high: vec4i,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var keys = array<i32, 8>(
        m.low.x, m.low.y, m.low.z, m.low.w, m.high.x, m.high.y, m.high.z, m.high.w,
    );
    var top = 7;
    var swaps = 0;
    while top > 0 {
        var i = 0;
        while i < top {
            if keys[i] > keys[i + 1] {
                let key = keys[i];
                keys[i] = keys[i + 1];
                keys[i + 1] = key;
                swaps += 1;
            }
            i += 1;
        }
        top -= 1;
    }
    return f32(swaps) + f32(keys[3]);
}
