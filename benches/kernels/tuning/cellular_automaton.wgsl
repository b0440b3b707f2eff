//! A row of 32 cells of an elementary cellular automaton, for up to 40 generations.

struct Medium {
    /// The rule. range: [0, 255]
    rule: u32,
    /// The first generation. range: [0, 4294967295]
    cells: u32,
    /// Number of generations. range: [0, 40]
    generations: i32,
}

fn density(p: vec3f, m: Medium) -> f32 {
    var cells = m.cells;
    var alive = 0u;
    for (var generation = 0; generation < m.generations; generation++) {
        var next = 0u;
        for (var k = 0u; k < 32u; k++) {
            let left = (cells >> ((k + 1u) & 31u)) & 1u;
            let centre = (cells >> k) & 1u;
            let right = (cells >> ((k + 31u) & 31u)) & 1u;
            let pattern = 4u * left + 2u * centre + right;
            next |= ((m.rule >> pattern) & 1u) << k;
        }
        cells = next;
        alive = max(alive, countOneBits(cells));
    }
    return f32(alive);
}
