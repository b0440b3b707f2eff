//! The knapsack problem by dynamic programming: values of up to six items, for capacities up to 9.

struct Medium {
    /// Number of items. range: [1, 6]
    items: i32,
    /// Weight of the first item. range: [1, 4]
    weight: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var best: array<i32, 10>;
    for (var item = 0; item < m.items; item++) {
        let weight = 1 + (m.weight + 3 * item) % 5;
        let value = 3 + (7 * item) % 11;
        for (var capacity = 9; capacity >= weight; capacity--) {
            best[capacity] = max(best[capacity], best[capacity - weight] + value);
        }
    }
    return f32(best[9]);
}
