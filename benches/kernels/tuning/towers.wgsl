//! The towers of Hanoi, by the parity of moves (Stanford suite, Towers).

struct Medium {
    /// Number of discs. range: [1, 7]
    discs: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var heights = array<i32, 3>(m.discs, 0, 0);
    let moves = (1 << u32(m.discs)) - 1;
    for (var step = 1; step <= moves; step++) {
        let source = (step & (step - 1)) % 3;
        let destination = ((step | (step - 1)) + 1) % 3;
        heights[source] -= 1;
        heights[destination] += 1;
    }
    return f32(heights[1] + 2 * heights[2]);
}
