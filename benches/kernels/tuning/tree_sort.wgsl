//! Inserts eight random keys into a binary tree, and measures its depth (Stanford suite, Trees).

struct Medium {
    /// Seed of the keys. range: [0, 65535]
    seed: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var keys: array<i32, 8>;
    var left: array<i32, 8>;
    var right: array<i32, 8>;
    var seed = m.seed;
    var deepest = 0;
    for (var node = 0; node < 8; node++) {
        seed = (seed * 1309 + 13849) & 65535;
        keys[node] = seed;
        left[node] = -1;
        right[node] = -1;
        var at = 0;
        var depth = 1;
        while at != node {
            depth += 1;
            let child = select(right[at], left[at], keys[node] < keys[at]);
            if child < 0 {
                if keys[node] < keys[at] {
                    left[at] = node;
                } else {
                    right[at] = node;
                }
                at = node;
            } else {
                at = child;
            }
        }
        deepest = max(deepest, depth);
    }
    return f32(deepest);
}
