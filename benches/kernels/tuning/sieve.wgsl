//! The sieve of Eratosthenes up to 63, with a bit for each number.

struct Medium {
    /// Numbers to sieve. range: [2, 63]
    limit: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var composite: array<u32, 2>;
    var count = 0;
    for (var n = 2; n <= m.limit; n++) {
        let word = composite[n >> 5u];
        if ((word >> u32(n & 31)) & 1u) != 0u {
            continue;
        }
        count += 1;
        for (var multiple = n * n; multiple <= m.limit; multiple += n) {
            composite[multiple >> 5u] |= 1u << u32(multiple & 31);
        }
    }
    return f32(count);
}
