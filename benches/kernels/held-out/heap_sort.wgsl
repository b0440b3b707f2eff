//! Heap sort of eight random keys.

struct Medium {
    /// Seed of the keys. range: [0, 65535]
    seed: i32,
    /// Number of keys. range: [1, 8]
    size: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var heap: array<i32, 8>;
    var seed = m.seed;
    for (var k = 0; k < m.size; k++) {
        seed = (seed * 1309 + 13849) & 65535;
        heap[k] = seed % 1000;
    }
    var root = m.size / 2;
    var end = m.size;
    while end > 1 {
        if root > 0 {
            root -= 1;
        } else {
            end -= 1;
            let key = heap[0];
            heap[0] = heap[end];
            heap[end] = key;
        }
        var parent = root;
        while 2 * parent + 1 < end {
            var child = 2 * parent + 1;
            if child + 1 < end && heap[child] < heap[child + 1] {
                child += 1;
            }
            if heap[parent] >= heap[child] {
                break;
            }
            let key = heap[parent];
            heap[parent] = heap[child];
            heap[child] = key;
            parent = child;
        }
    }
    return f32(heap[7]) + f32(heap[0]);
}
