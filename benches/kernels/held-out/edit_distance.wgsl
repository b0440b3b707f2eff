//! The edit distance of two words of four letters.

struct Medium {
    /// Letters of a word. range: [0, 2]
    a: vec4i,
    /// Letters of a word. range: [0, 2]
    b: vec4i,
    /// Length of the first word. range: [1, 4]
    length: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var row = array<i32, 5>(0, 1, 2, 3, 4);
    for (var i = 0; i < m.length; i++) {
        var diagonal = row[0];
        row[0] = i + 1;
        for (var j = 0; j < 4; j++) {
            let cost = select(1, 0, m.a[i] == m.b[j]);
            let replaced = diagonal + cost;
            diagonal = row[j + 1];
            row[j + 1] = min(replaced, 1 + min(row[j], row[j + 1]));
        }
    }
    return f32(row[4]);
}
