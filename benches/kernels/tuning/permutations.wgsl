//! All permutations of up to five elements, by Heap's method without recursion (Stanford suite,
//! Perm).

struct Medium {
    /// Number of elements. range: [1, 5]
    size: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var elements = array<i32, 5>(1, 2, 3, 4, 5);
    var counters: array<i32, 5>;
    var count = 1;
    var weight = elements[0];
    var k = 1;
    while k < m.size {
        if counters[k] < k {
            let other = select(counters[k], 0, k % 2 == 0);
            let element = elements[other];
            elements[other] = elements[k];
            elements[k] = element;
            counters[k] += 1;
            count += 1;
            weight += elements[0];
            k = 1;
        } else {
            counters[k] = 0;
            k += 1;
        }
    }
    return f32(count) + f32(weight);
}
