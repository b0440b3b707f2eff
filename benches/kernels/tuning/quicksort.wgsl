//! Quicksort of eight random keys, with a stack of ranges (Stanford suite, Quick).

struct Medium {
    /// Seed of the keys. range: [0, 65535]
    seed: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var keys: array<i32, 8>;
    var seed = m.seed;
    for (var k = 0; k < 8; k++) {
        seed = (seed * 1309 + 13849) & 65535;
        keys[k] = seed;
    }
    var firsts: array<i32, 8>;
    var lasts: array<i32, 8>;
    var depth = 1;
    lasts[0] = 7;
    while depth > 0 {
        depth -= 1;
        let first = firsts[depth];
        let last = lasts[depth];
        if first >= last {
            continue;
        }
        let pivot = keys[(first + last) / 2];
        var i = first;
        var j = last;
        while i <= j {
            while keys[i] < pivot {
                i += 1;
            }
            while pivot < keys[j] {
                j -= 1;
            }
            if i <= j {
                let key = keys[i];
                keys[i] = keys[j];
                keys[j] = key;
                i += 1;
                j -= 1;
            }
        }
        if depth < 7 {
            firsts[depth] = first;
            lasts[depth] = j;
            depth += 1;
        }
        if depth < 8 {
            firsts[depth] = i;
            lasts[depth] = last;
            depth += 1;
        }
    }
    return f32(keys[4] - keys[0]);
}
